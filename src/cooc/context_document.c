/* Context `document`: the document of the target (spectra.md). */
#include "cooc/context_private.h"

static cs_status visit(cs_context_walker *w, int64_t target, double weight, int64_t ordinal)
{
    cs_hash128 key = cs_key_given(w, cs_key_of(CS_KEY_DOCUMENT, w->document, 0), target);
    cs_contribution c = cs_contribution_of(w, target, key, weight, ordinal, 0);
    return w->visit(w->ctx, &c);
}

static cs_status event(cs_context_walker *w, const cs_context_event *e)
{
    return visit(w, e->target, e->weight, e->ordinal);
}

/* A permutation-invariant objective predicts every position with the same probability. */
static double of_target(const cs_context_table *t)
{
    return t->pairs.invariant / (double)t->pairs.length;
}

static cs_status targets(cs_context_walker *w, int64_t first, int64_t last)
{
    cs_status status = CS_OK;
    for (int64_t k = first; k < last && status == CS_OK; ++k) {
        status = visit(w, k, of_target(w->table), cs_context_ordinal(w->table, k));
    }
    return status;
}

static void weights(const cs_context_plan *plan, const cs_context_table *t, cs_divisors *d)
{
    (void)plan;
    cs_divisors_take(d, of_target(t));
}

static void text(const cs_context_walker *w, const cs_contribution *c, const cs_context_item *item,
                 FILE *to)
{
    (void)item;
    (void)fprintf(to, "document %lld", (long long)w->document);
    cs_context_put_target(w, c, to);
}

const cs_context_kind cs_context_document = {
    .event = event, .weights = weights, .targets = targets, .text = text};
