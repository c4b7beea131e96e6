/* Memory of a corpus, parts of it, its identity, and the texts of its words and classes. */
#include "text/corpus.h"

#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/rng.h"
#include "text/corpus_builder_private.h"
#include "text/synthetic.h"
#include "text/vectors.h"

cs_status cs_corpus_in_memory(cs_status status, const char *name, cs_corpus *made, cs_corpus *out)
{
    made->name = cs_strdup(name);
    made->path = cs_strdup(name);
    if (status == CS_OK && !(made->name && made->path)) status = CS_ERR_MEMORY;
    return CS_DELIVER(status, out, *made, cs_corpus_free);
}

cs_status cs_corpus_allocate(int64_t documents, int64_t tokens, cs_corpus *corpus)
{
    corpus->doc_ptr = cs_calloc(documents + 1, sizeof *corpus->doc_ptr);
    corpus->token = cs_alloc(tokens, sizeof *corpus->token);
    corpus->label = cs_alloc(documents, sizeof *corpus->label);
    corpus->held_out = cs_alloc(documents, sizeof *corpus->held_out);
    return corpus->doc_ptr && corpus->token && corpus->label && corpus->held_out ? CS_OK
                                                                                 : CS_ERR_MEMORY;
}

void cs_corpus_free(cs_corpus *corpus)
{
    cs_text_list_free(corpus->label_name, corpus->labels);
    cs_text_list_free(corpus->word, corpus->vocab);
    if (!corpus->borrowed) cs_free(corpus->token);
    CS_FREE_FIELDS(corpus, name, path, doc_ptr, real, extra, label, held_out, weight);
    cs_vectors_free(&corpus->vectors);
    if (corpus->population) {
        cs_synthetic_free(&corpus->population->language);
        cs_free(corpus->population->start);
        cs_free(corpus->population);
    }
    memset(corpus, 0, sizeof *corpus);
}

/* Everything that does not depend on which documents are kept. */
static cs_status copy_frame(const cs_corpus *corpus, cs_corpus *out)
{
    memcpy(out->sha256, corpus->sha256, sizeof out->sha256);
    out->labels = corpus->labels;
    out->vocab = corpus->vocab;
    out->unknown = corpus->unknown;
    out->dropped_documents = corpus->dropped_documents;
    out->invalid_bytes = corpus->invalid_bytes;
    out->invalid_documents = corpus->invalid_documents;
    out->name = cs_strdup(corpus->name);
    out->path = cs_strdup(corpus->path);
    if (!out->name || !out->path) return CS_ERR_MEMORY;
    cs_status status = cs_text_list_copy(corpus->label_name, corpus->labels, &out->label_name);
    return status == CS_OK ? cs_text_list_copy(corpus->word, corpus->vocab, &out->word) : status;
}

cs_status cs_corpus_select(const cs_corpus *corpus, const uint8_t *keep, cs_corpus *out)
{
    cs_corpus made = {0};
    for (int64_t d = 0; d < corpus->documents; ++d) {
        if (keep[d]) {
            made.documents += 1;
            made.tokens += corpus->doc_ptr[d + 1] - corpus->doc_ptr[d];
        }
    }
    if (made.documents == 0) {
        return cs_fail(CS_ERR_INPUT, "%s: none of the %lld documents is selected", corpus->name,
                       (long long)corpus->documents);
    }
    cs_status status = copy_frame(corpus, &made);
    if (status != CS_OK) goto done;
    status = cs_corpus_allocate(made.documents, made.tokens, &made);
    made.real_width = corpus->real_width;
    made.real = corpus->real ? cs_alloc(made.tokens * made.real_width, sizeof *made.real) : NULL;
    made.extra_width = corpus->extra_width;
    made.extra =
        corpus->extra ? cs_alloc(made.documents * made.extra_width, sizeof *made.extra) : NULL;
    if (status == CS_OK && ((corpus->real && !made.real) || (corpus->extra && !made.extra)))
        status = CS_ERR_MEMORY;
    memcpy(made.real_sha256, corpus->real_sha256, sizeof made.real_sha256);
    if (status == CS_OK && corpus->vectors) status = cs_vectors_select(corpus, keep, &made.vectors);
    if (status != CS_OK) goto done;
    int64_t to = 0, at = 0;
    for (int64_t d = 0; d < corpus->documents; ++d) {
        if (keep[d]) {
            int64_t first = corpus->doc_ptr[d], length = corpus->doc_ptr[d + 1] - first;
            memcpy(made.token + at, corpus->token + first, (size_t)length * sizeof *made.token);
            if (corpus->real) {
                memcpy(made.real + at * made.real_width, corpus->real + first * made.real_width,
                       (size_t)(length * made.real_width) * sizeof *made.real);
            }
            if (corpus->extra) {
                memcpy(made.extra + to * made.extra_width, corpus->extra + d * made.extra_width,
                       (size_t)made.extra_width * sizeof *made.extra);
            }
            at += length;
            made.label[to] = corpus->label[d];
            made.held_out[to] = corpus->held_out[d];
            made.doc_ptr[++to] = at;
        }
    }
    for (int64_t i = 0; corpus->word && i < made.tokens; ++i) {
        made.unknown_tokens += made.token[i] == made.unknown;
    }
done:
    return CS_DELIVER(status, out, made, cs_corpus_free);
}

cs_status cs_corpus_select_train(const cs_corpus *corpus, int64_t count, cs_corpus *out)
{
    int64_t there = 0;
    CS_AUTO_FREE uint8_t *keep = cs_calloc(corpus->documents, sizeof *keep);
    CS_AUTO_FREE int32_t *document = cs_alloc(corpus->documents, sizeof *document);
    cs_status status = keep && document ? CS_OK : CS_ERR_MEMORY;
    for (int64_t d = 0; d < corpus->documents && status == CS_OK; ++d) {
        keep[d] = corpus->held_out[d] != 0;
        document[there] = (int32_t)d;
        there += corpus->held_out[d] == 0;
    }
    if (status == CS_OK && there < count)
        status =
            cs_fail(CS_ERR_INPUT, "%s: %lld documents to train on, but at least %lld are needed",
                    corpus->name, (long long)there, (long long)count);
    if (status == CS_OK) {
        cs_rng rng = cs_rng_at(0, CS_STREAM_FEW, 0);
        cs_rng_shuffle(&rng, there, document);
        for (int64_t i = 0; i < count; ++i) {
            keep[document[i]] = 1;
        }
        status = cs_corpus_select(corpus, keep, out);
    }
    return status;
}

cs_status cs_corpus_name_numbers(cs_corpus *corpus, int64_t vocab)
{
    for (int64_t i = 0; i < corpus->tokens; ++i) {
        if (corpus->token[i] >= vocab) {
            return cs_fail(CS_ERR_INPUT, "%s: token id %d is not in 0..%lld (--vocab %lld)",
                           corpus->path, corpus->token[i], (long long)vocab - 1, (long long)vocab);
        }
    }
    corpus->vocab = vocab;
    corpus->word = cs_calloc(vocab, sizeof *corpus->word);
    for (int64_t v = 0; corpus->word && v < vocab; ++v) {
        if (!(corpus->word[v] = cs_format("%lld", (long long)v))) return CS_ERR_MEMORY;
    }
    return corpus->word ? CS_OK : CS_ERR_MEMORY;
}

cs_status cs_corpus_hash(const cs_corpus *corpus, char hex[33])
{
    CS_AUTO(cs_hasher) hasher = {0};
    cs_status status = cs_hasher_make(0, &hasher);
    if (status == CS_OK) {
        cs_hasher_add(&hasher, corpus->token, (size_t)corpus->tokens * sizeof *corpus->token);
        cs_hasher_add(&hasher, corpus->doc_ptr,
                      (size_t)(corpus->documents + 1) * sizeof *corpus->doc_ptr);
        cs_hasher_add(&hasher, corpus->held_out, corpus->held_out ? (size_t)corpus->documents : 0);
        if (corpus->real_sha256[0]) {
            cs_hasher_add(&hasher, corpus->real_sha256, sizeof corpus->real_sha256);
        } else {
            cs_hasher_add(&hasher, corpus->real,
                          (size_t)(corpus->tokens * corpus->real_width) * sizeof *corpus->real);
        }
        cs_hasher_add(&hasher, corpus->extra,
                      (size_t)(corpus->documents * corpus->extra_width) * sizeof *corpus->extra);
        cs_hash_hex(cs_hasher_value(&hasher), hex);
    }
    return status;
}

cs_status cs_corpus_partition(const cs_corpus *corpus, const uint8_t *keep, int64_t blocks,
                              uint64_t seed, char hex[33])
{
    const size_t documents = (size_t)corpus->documents;
    CS_AUTO(cs_hasher) h = {0};
    cs_status status = cs_hasher_make(seed, &h);
    if (status != CS_OK) return status;
    cs_hasher_add(&h, &blocks, sizeof blocks);
    if (corpus->sha256[0]) {
        cs_hasher_add(&h, corpus->sha256, sizeof corpus->sha256);
        cs_hasher_add(&h, corpus->held_out, documents);
    } else {
        cs_hasher_add(&h, corpus->doc_ptr, (documents + 1) * sizeof *corpus->doc_ptr);
        cs_hasher_add(&h, corpus->token, (size_t)corpus->tokens * sizeof *corpus->token);
    }
    if (keep) {
        cs_hasher_add(&h, keep, documents);
    }
    cs_hash_hex(cs_hasher_value(&h), hex);
    return CS_OK;
}

const char *cs_corpus_label(const cs_corpus *corpus, int64_t document)
{
    int32_t label = corpus->label[document];
    return label < 0 ? "-" : corpus->label_name[label];
}

const char *cs_corpus_word(const cs_corpus *corpus, int32_t token, char *buffer)
{
    if (corpus->word) {
        return corpus->word[token];
    }
    (void)snprintf(buffer, 24, "%d", token);
    return buffer;
}
