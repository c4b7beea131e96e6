/* A row's text, recovered from its witness: the part of the sequence that holds the witness is
 * walked again and the contribution with its ordinal written out.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "cooc/build_sequences.h"
#include "cooc/context_private.h"
#include "cooc/store.h"

enum { GAP = 4 }; /* unknown positions written one by one */

typedef struct {
    const cs_cooc_store *store;
    const cs_context_walker *walker;
    int64_t ordinal;
    cs_hash128 key;
    bool found;
    FILE *stream;
} writer;

typedef struct {
    int32_t position, token;
} item;

static int by_position(const void *x, const void *y)
{
    const item *a = x, *b = y;
    return (a->position > b->position) - (a->position < b->position);
}

static void put(writer *w, const char *separator, int32_t token)
{
    char number[24];
    (void)fprintf(w->stream, "%s%s", separator, cs_corpus_word(&w->store->corpus, token, number));
}

static void put_all(writer *w, const item *items, int64_t n)
{
    const char *separator = "";
    int64_t next = 0;
    if (n == 0) {
        bool tagged = w->store->options.objective.empty_prefix == CS_PREFIX_CLASS;
        (void)fprintf(w->stream, tagged ? "(empty: %s)" : "(empty)",
                      cs_corpus_label(&w->store->corpus, w->walker->document));
    }
    for (int64_t i = 0; i < n; ++i) {
        int64_t gap = items[i].position - next;
        if (gap > GAP) {
            (void)fprintf(w->stream, "%s_*%lld", separator, (long long)gap);
            separator = " ";
        }
        for (; gap > 0 && gap <= GAP; --gap) {
            (void)fprintf(w->stream, "%s_", separator);
            separator = " ";
        }
        put(w, separator, items[i].token);
        separator = " ";
        next = items[i].position + 1;
    }
}

/* Marks first, then words; a word carries its offset unless only words stand between it and the
 * target. */
static void put_nearest(writer *w, const item *items, int64_t n)
{
    const char *separator = "";
    int64_t marks = 0, left = 0;
    for (int64_t i = 0; i < n; ++i) {
        marks += items[i].token < 0;
        left += items[i].token >= 0 && items[i].position < 0;
    }
    for (int64_t i = 0; i < marks; ++i) {
        (void)fprintf(w->stream, "%s#", separator);
        separator = " ";
    }
    int64_t seen = 0; /* words written */
    bool target = false;
    for (int64_t i = 0; i <= n; ++i) {
        if (!target && (i == n || items[i].position > 0)) {
            (void)fprintf(w->stream, "%s*", separator);
            separator = " ";
            target = true;
        }
        if (i == n || items[i].token < 0) {
            continue;
        }
        int64_t close = target ? seen - left + 1 : seen - left;
        put(w, separator, items[i].token);
        if (items[i].position != close) {
            (void)fprintf(w->stream, "[%+d]", (int)items[i].position);
        }
        separator = " ";
        ++seen;
    }
}

static cs_status write_row(void *ctx, const cs_contribution *c)
{
    writer *w = ctx;
    const cs_context *context = &w->store->options.context;
    if (w->found || c->ordinal != w->ordinal || cs_hash_compare(c->key, w->key) != 0) {
        return CS_OK;
    }
    item *items = cs_alloc(c->items, sizeof *items);
    if (!items) {
        return CS_ERR_MEMORY;
    }
    for (int64_t i = 0; i < c->items; ++i) {
        items[i] = (item){c->position[i], c->content[i]};
    }
    qsort(items, (size_t)c->items, sizeof *items, by_position);
    switch (context->mode) {
    case CS_CONTEXT_ALL:
        put_all(w, items, c->items);
        break;
    case CS_CONTEXT_NEAREST:
        put_nearest(w, items, c->items);
        break;
    case CS_CONTEXT_EACH:
        put(w, "", items[0].token);
        if (context->given) {
            (void)fprintf(w->stream, "[%+d]", (int)items[0].position);
        }
        break;
    case CS_CONTEXT_DOCUMENT:
        (void)fprintf(w->stream, "document %lld", (long long)w->walker->document);
        break;
    }
    bool marked = context->mode == CS_CONTEXT_ALL || context->mode == CS_CONTEXT_DOCUMENT;
    if (context->given && marked) {
        (void)fprintf(w->stream, " [%d]", (int)c->target + 1);
    }
    w->found = true;
    cs_free(items);
    return CS_OK;
}

/* Walks the outer item that holds the witness. */
static cs_status walk_witness(writer *w, int64_t row)
{
    const cs_cooc_store *store = w->store;
    int64_t sequence = store->cooc.witness_sequence[row];
    cs_sequences one = {.count = 1,
                        .start = store->sequences.start + sequence,
                        .length = store->sequences.length + sequence,
                        .document = store->sequences.document + sequence};
    cs_context_options options = cs_cooc_context_options(&store->options);
    cs_context_plan *plan = NULL;
    cs_context_walker walker = {0};
    cs_status status = cs_context_prepare(&one, &options, &plan);
    if (status == CS_OK) {
        status = cs_context_walker_init(&walker, plan, &store->corpus, write_row, w);
    }
    if (status == CS_OK) {
        int64_t length = one.length[0];
        const cs_context_table *t = cs_context_table_of(plan, length);
        int64_t outer = w->ordinal / (t->inner > 0 ? t->inner : 1);
        outer /= store->options.draws > 0 ? length : 1;
        w->walker = &walker;
        if (outer < t->outer) {
            status = cs_context_walk(&walker, sequence, one.start[0], length, one.document[0],
                                     outer, outer + 1);
        }
    }
    if (status == CS_OK && !w->found) {
        status = cs_fail(CS_ERR_INPUT,
                         "row %lld: its witness, contribution %lld of sequence %lld, "
                         "does not lead to its key",
                         (long long)row, (long long)w->ordinal, (long long)sequence);
    }
    w->walker = NULL;
    cs_context_walker_free(&walker);
    cs_context_plan_free(&plan);
    return status;
}

cs_status cs_cooc_row_text(const cs_cooc_store *store, int64_t row, char **out)
{
    if (row < 0 || row >= store->cooc.matrix.a.rows) {
        return cs_fail(CS_ERR_USAGE, "row %lld of %lld", (long long)row,
                       (long long)store->cooc.matrix.a.rows);
    }
    char *text = NULL;
    size_t size = 0;
    writer w = {.store = store,
                .ordinal = store->cooc.witness_ordinal[row],
                .key = store->cooc.key[row],
                .stream = open_memstream(&text, &size)};
    if (!w.stream) {
        return cs_fail(CS_ERR_MEMORY, "out of memory for the text of row %lld", (long long)row);
    }
    cs_status status = walk_witness(&w, row);
    if (fclose(w.stream) != 0 && status == CS_OK) {
        status = cs_fail(CS_ERR_MEMORY, "out of memory for the text of row %lld", (long long)row);
    }
    if (status == CS_OK) { /* memory streams come from malloc, results from cs_alloc */
        char *copy = cs_strdup(text);
        status = copy ? CS_OK : CS_ERR_MEMORY;
        *out = copy ? copy : *out;
    }
    free(text);
    return status;
}
