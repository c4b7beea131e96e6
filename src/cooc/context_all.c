/* Contexts `all` (the whole conditioning set with its positions) and `document` (theory 2).
 *
 * Under `all` the source has already summed the items' hashes, prefix by prefix or set by set, so
 * an event costs one addition. Exact on short windows; on whole documents nearly every row is
 * unique.
 */
#include "cooc/context_private.h"

cs_status cs_context_all_event(cs_context_walker *w, const cs_context_event *e)
{
    cs_hash128 key = e->size > 0 ? e->sum : cs_key_empty(w);
    if (w->plan->context.given) {
        key = cs_key_add(key, cs_key_of(CS_KEY_TARGET, e->target, 0));
    }
    cs_contribution c = {.key = key,
                         .token = w->token[e->target],
                         .target = (int32_t)e->target,
                         .weight = e->weight,
                         .ordinal = e->ordinal,
                         .items = e->size,
                         .position = e->position,
                         .content = e->content};
    return w->visit(w->ctx, &c);
}

static cs_status visit_document(cs_context_walker *w, int64_t target, double weight,
                                int64_t ordinal)
{
    cs_hash128 key = cs_key_of(CS_KEY_DOCUMENT, w->document, 0);
    if (w->plan->context.given) {
        key = cs_key_add(key, cs_key_of(CS_KEY_TARGET, target, 0));
    }
    cs_contribution c = {.key = key,
                         .token = w->token[target],
                         .target = (int32_t)target,
                         .weight = weight,
                         .ordinal = ordinal,
                         .position = w->row_position,
                         .content = w->row_content};
    return w->visit(w->ctx, &c);
}

cs_status cs_context_document_event(cs_context_walker *w, const cs_context_event *e)
{
    return visit_document(w, e->target, e->weight, e->ordinal);
}

/* An invariant objective predicts every position with probability 1/s. */
cs_status cs_context_document_targets(cs_context_walker *w, int64_t first, int64_t last)
{
    cs_status status = CS_OK;
    for (int64_t k = first; k < last && status == CS_OK; ++k) {
        status = visit_document(w, k, 1.0 / (double)w->length, k);
    }
    return status;
}
