/* Uniform target weights: the weights of the events that predict position k are multiplied by
 *
 *     u(k) = (1 / n) / w(k),      w(k) = sum_S w(S, k),  n positions with w(k) > 0
 *
 * so that every position that is ever a target has the same weight. What an event is and how likely
 * its context is among those of its target stay as they are. u is exactly 1 where all w(k) are one
 * number already, up to rounding: ar, permutation-invariant objectives.
 */
#include <math.h>

#include "base/mem.h"
#include "plan/laws_private.h"

enum { MOST_EVENTS = 1 << 20 };

/* Target weights to factors, in place; whether any is not 1. */
static bool factors_of(int64_t s, double *w)
{
    const double rounding = 1e-12;
    double sum = 0, low = INFINITY, high = 0;
    int64_t n = 0;
    for (int64_t k = 0; k < s; ++k) {
        sum += w[k];
        n += w[k] > 0;
        low = w[k] > 0 ? fmin(low, w[k]) : low;
        high = fmax(high, w[k]);
    }
    bool level = high - low <= rounding * high;
    for (int64_t k = 0; k < s; ++k) {
        w[k] = level ? 1 : w[k] > 0 ? sum / (double)n / w[k] : 0;
    }
    return !level;
}

cs_status cs_target_factors(const cs_objective *objective, int64_t s, double **out)
{
    cs_objective plain = *objective;
    cs_pairs pairs = {0};
    *out = NULL;
    plain.target_weight = CS_TARGETS_PLAN;
    if (objective->target_weight == CS_TARGETS_PLAN) {
        return CS_OK;
    }
    cs_status status = cs_blame(cs_pairs_of(&plain, s, &pairs), "target-weight=uniform");
    double *factor = status == CS_OK ? cs_alloc(s, sizeof *factor) : NULL;
    if (status == CS_OK && !factor) status = CS_ERR_MEMORY;
    if (status == CS_OK) {
        cs_pairs_targets(&pairs, 1, factor);
        (void)factors_of(s, factor);
    }
    cs_pairs_free(&pairs);
    *out = factor;
    return status;
}

cs_status cs_pairs_level(cs_pairs *pairs)
{
    double *factor = cs_alloc(pairs->length, sizeof *factor);
    cs_status status = factor ? CS_OK : CS_ERR_MEMORY;
    if (status == CS_OK) cs_pairs_targets(pairs, 1, factor);
    if (status == CS_OK && factors_of(pairs->length, factor)) {
        status = cs_blame(cs_pairs_expand(pairs, MOST_EVENTS),
                          "target-weight=uniform must list the sets of each part");
        for (int64_t e = 0; status == CS_OK && e < pairs->events; ++e) {
            pairs->weight[e] *= factor[pairs->target[e]];
        }
        pairs->denominator = 0;
    }
    cs_free(factor);
    return status;
}

/* --- all plans: the target weights are sums over them --- */

typedef struct {
    double *factor;
    double *weight; /* of the current plan, which is filled anew each time */
    cs_plan_visit visit;
    void *ctx;
} leveling;

static cs_status add_targets(void *ctx, const cs_plan *plan, double probability)
{
    const leveling *level = ctx;
    for (int64_t k = 0; k < plan->length; ++k) {
        level->factor[k] += probability * plan->weight[k];
    }
    return CS_OK;
}

static cs_status visit_leveled(void *ctx, const cs_plan *plan, double probability)
{
    const leveling *level = ctx;
    for (int64_t k = 0; k < plan->length; ++k) {
        level->weight[k] *= level->factor[k];
    }
    return level->visit(level->ctx, plan, probability);
}

cs_status cs_visit_leveled(cs_enumeration *e)
{
    const cs_objective_row *row = cs_objective_table(e->objective->kind);
    cs_objective plain = *e->objective;
    double *factor = cs_calloc(e->plan.length, sizeof *factor);
    leveling level = {factor, e->plan.weight, e->visit, e->ctx};
    cs_enumeration inner = {
        .objective = &plain, .plan = e->plan, .visit = add_targets, .ctx = &level};
    plain.target_weight = CS_TARGETS_PLAN;
    cs_status status = factor ? row->visit(&inner) : CS_ERR_MEMORY;
    if (status == CS_OK) {
        (void)factors_of(e->plan.length, factor);
        inner.visit = visit_leveled;
        inner.plan = e->plan;
        status = row->visit(&inner);
    }
    cs_free(factor);
    return status;
}
