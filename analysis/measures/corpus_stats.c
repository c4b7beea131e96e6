/* Counts of a corpus as items of a record. */
#include "analysis/measures/corpus_stats.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/ints.h"
#include "base/mem.h"
#include "base/plural.h"
#include "text/synthetic.h"

static cs_status length_stats(const cs_corpus *c, cs_item *root)
{
    int64_t n = c->documents;
    int64_t *length = cs_alloc(n, sizeof *length);
    if (!length) return CS_ERR_MEMORY;
    for (int64_t d = 0; d < n; ++d) {
        length[d] = c->doc_ptr[d + 1] - c->doc_ptr[d];
    }
    qsort(length, (size_t)n, sizeof *length, cs_by_size);
    cs_item *stats = cs_item_object(root, "document_length");
    cs_item_int(stats, "min", n ? length[0] : 0);
    cs_item_int(stats, "median", n ? length[n / 2] : 0);
    cs_item_real(stats, "mean", n ? (double)c->tokens / (double)n : 0.0);
    cs_item_int(stats, "p90", n ? length[(n - 1) * 9 / 10] : 0);
    cs_item_int(stats, "max", n ? length[n - 1] : 0);
    cs_free(length);
    return CS_OK;
}

/* A row a class, and one row "-" for documents without one. */
static cs_status class_stats(const cs_corpus *c, cs_item *root)
{
    cs_item *classes = cs_item_array(root, "classes");
    int64_t *count =
        cs_calloc(3 * (c->labels + 1), sizeof *count); /* documents, tokens, held out */
    if (!count) return CS_ERR_MEMORY;
    for (int64_t d = 0; d < c->documents; ++d) {
        int64_t *of = count + 3 * (c->label[d] < 0 ? c->labels : c->label[d]);
        of[0] += 1;
        of[1] += c->doc_ptr[d + 1] - c->doc_ptr[d];
        of[2] += c->held_out[d];
    }
    for (int64_t l = 0; l <= c->labels; ++l) {
        const int64_t *of = count + 3 * l;
        if (of[0] == 0) {
            continue;
        }
        cs_item *item = cs_item_object(classes, NULL);
        cs_item_text(item, "label", l < c->labels ? c->label_name[l] : "-");
        cs_item_int(item, "documents", of[0]);
        cs_item_int(item, "tokens", of[1]);
        cs_item_int(item, "held_out", of[2]);
    }
    cs_free(count);
    return CS_OK;
}

static cs_status synthetic_stats(const cs_corpus *corpus, cs_item *root)
{
    cs_synthetic language = {0};
    if (!cs_synthetic_named(corpus->name)) {
        return CS_OK;
    }
    cs_item *splits = cs_item_array(root, "law");
    cs_status status = cs_synthetic_parse(corpus->name, &language);
    for (int test = 0; test < 2 && status == CS_OK; ++test) {
        cs_synthetic_score score = {0};
        status = cs_synthetic_score_of(&language, corpus, test == 1, &score);
        if (status != CS_OK || score.documents == 0) {
            continue;
        }
        cs_item *item = cs_item_object(splits, NULL);
        cs_item_text(item, "split", test ? "test" : "train");
        CS_ITEM_FIELDS(item, &score, documents, bayes_error, bayes_risk);
        cs_item_real(item, "first_token_nats", score.first);
        cs_item_real(item, "next_token_nats", score.next);
    }
    cs_synthetic_free(&language);
    return status;
}

cs_status cs_corpus_stats(const cs_corpus *corpus, cs_item *root)
{
    cs_item_text(root, "name", corpus->name ? corpus->name : "");
    cs_item_text(root, "path", corpus->path ? corpus->path : "");
    CS_ITEM_FIELDS(root, corpus, sha256, documents, tokens, labels, dropped_documents,
                   unknown_tokens);
    cs_item_int(root, "vocabulary", corpus->vocab);
    cs_status status = length_stats(corpus, root);
    if (status == CS_OK) status = class_stats(corpus, root);
    return status == CS_OK ? synthetic_stats(corpus, root) : status;
}

const char *cs_corpus_totals(const cs_corpus *c, char *to, size_t size)
{
    bool listed = c->word && c->unknown == 0; /* <unk> is an id, but no word */
    int64_t words = listed ? c->vocab - 1 : c->vocab;
    (void)snprintf(to, size,
                   "%lld documents, %lld tokens, %lld distinct %s, %lld tokens unknown, %lld "
                   "documents dropped",
                   (long long)c->documents, (long long)c->tokens, (long long)words,
                   listed ? "words" : "ids", (long long)c->unknown_tokens,
                   (long long)c->dropped_documents);
    cs_plural_agree(to);
    return to;
}
