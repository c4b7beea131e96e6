/* A row's text, recovered from its witness: the part of the sequence that holds the witness is walked
 * again and the contribution with its ordinal written out.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/auto.h"
#include "base/mem.h"
#include "cooc/build_sequences.h"
#include "cooc/context_private.h"
#include "cooc/store.h"

typedef struct {
    const cs_cooc_store *store;
    const cs_context_walker *walker;
    int64_t ordinal;
    cs_hash128 key;
    bool found;
    FILE *stream;
} writer;

static int by_position(const void *x, const void *y)
{
    const cs_context_item *a = x, *b = y;
    return (a->position > b->position) - (a->position < b->position);
}

static cs_status write_row(void *ctx, const cs_contribution *c)
{
    writer *w = ctx;
    if (w->found || c->ordinal != w->ordinal || cs_hash_compare(c->key, w->key) != 0) {
        return CS_OK;
    }
    CS_AUTO_FREE cs_context_item *items = cs_alloc(c->items, sizeof *items);
    if (!items) return CS_ERR_MEMORY;
    for (int64_t i = 0; i < c->items; ++i) {
        items[i] = (cs_context_item){c->position[i], c->content[i]};
    }
    qsort(items, (size_t)c->items, sizeof *items, by_position);
    w->walker->plan->kind->text(w->walker, c, items, w->stream);
    w->found = true;
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
    CS_AUTO(cs_context_plan) *plan = NULL;
    CS_AUTO(cs_context_walker) walker = {0};
    cs_status status = cs_context_prepare(&one, &options, &plan);
    if (status == CS_OK)
        status = cs_context_walker_init(&walker, plan, &store->corpus, write_row, w);
    if (status == CS_OK) {
        int64_t length = one.length[0];
        const cs_context_table *t = cs_context_table_of(plan, length);
        int64_t outer = w->ordinal / (t->inner > 0 ? t->inner : 1);
        outer /= store->options.draws > 0 ? length : 1;
        w->walker = &walker;
        if (outer < cs_context_outer(plan, length)) {
            status = cs_context_walk(&walker, sequence, one.start[0], length, one.document[0],
                                     outer, outer + 1);
        }
    }
    if (status == CS_OK && !w->found)
        status = cs_fail(
            CS_ERR_INPUT,
            "row %lld: its witness, contribution %lld of sequence %lld, does not produce its key",
            (long long)row, (long long)w->ordinal, (long long)sequence);
    w->walker = NULL;
    return status;
}

cs_status cs_cooc_row_text(const cs_cooc_store *store, int64_t row, char **out)
{
    if (row < 0 || row >= store->cooc.matrix.a.rows) {
        return cs_fail(CS_ERR_USAGE, "row %lld does not exist: the matrix has %lld rows",
                       (long long)row, (long long)store->cooc.matrix.a.rows);
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
    if (fclose(w.stream) != 0 && status == CS_OK)
        status = cs_fail(CS_ERR_MEMORY, "out of memory for the text of row %lld", (long long)row);
    if (status == CS_OK) { /* memory streams come from malloc, results from cs_alloc */
        char *copy = cs_strdup(text);
        status = copy ? CS_OK : CS_ERR_MEMORY;
        *out = copy ? copy : *out;
    }
    free(text);
    return status;
}
