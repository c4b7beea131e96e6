/* prefix-lm: a prefix of n_0 tokens is given and read in both directions, the rest is predicted one
 * token after another; n_0 is uniform in 1..s-1 (with an empty prefix in 0..s-1: F values).
 *
 * Token i is predicted from the i tokens before it wherever the prefix ends at or before i: under
 * `token` weights P(S = {0..i-1}, k = i) is proportional to the number of such n_0, under `mask` to
 * the sum of 1 / (s - n_0) over them.
 */
#include "plan/distributions_private.h"

static void fill_groups(int64_t given, cs_plan *plan)
{
    for (int64_t i = 0; i < plan->length; ++i) {
        plan->group[i] = (int32_t)(i < given ? 0 : i - given + 1);
    }
    plan->groups = plan->length - given;
}

static cs_status count_plans(const cs_objective *o, int64_t s, double *count)
{
    *count = (double)(s - cs_least_given(o));
    return CS_OK;
}

static cs_status visit(cs_enumeration *e)
{
    int64_t s = e->plan.length, first = cs_least_given(e->objective);
    cs_status status = CS_OK;
    for (int64_t given = first; given < s && status == CS_OK; ++given) {
        fill_groups(given, &e->plan);
        cs_plan_weigh(e->objective, &e->plan);
        status = e->visit(e->ctx, &e->plan, 1 / (double)(s - first));
    }
    return status;
}

static cs_status sample(const cs_objective *o, cs_rng *rng, cs_plan *plan)
{
    int64_t first = cs_least_given(o);
    fill_groups(first + cs_rng_below(rng, plan->length - first), plan);
    return CS_OK;
}

static cs_status pairs_of(const cs_objective *o, int64_t s, cs_pairs *pairs)
{
    bool mask = o->event_weight == CS_EVENT_MASK;
    int64_t first = cs_least_given(o);
    double plans = (double)(s - first);
    cs_status status = cs_pairs_prefix_alloc(pairs, s, plans);
    long double share = 0;
    for (int64_t i = first; i < s && status == CS_OK; ++i) {
        share += mask ? 1 / (long double)(s - i) : 1;
        /* Sum of the shares: each prefix adds 1 (mask), or its s - n_0 tokens. */
        long double total = mask ? plans : plans * (plans + 1) / 2;
        cs_pairs_add(pairs, (cs_pairs_set){0, i}, i, (double)(share / total));
    }
    pairs->predicted = (plans + 1) / 2;
    pairs->denominator = mask ? 0 : s - first;
    return status;
}

const cs_objective_row cs_row_PREFIX_LM = {
    .summary = "a prefix read in both directions, the rest autoregressively (UniLM, T5)",
    .plans = "identity order, a prefix of n_0 tokens, n_0 uniform in 1..s-1, then singletons",
    .note = "With --event-weight token the event S = {0..i-1}, k = i has weight proportional to i. "
            "On the toy model the spectrum equals the one of `ar`.",
    .source = "Dong et al. 2019",
    .shape = CS_PAIRS_PREFIX,
    .reads = CS_ROWS_SHIFTED,
    .weighting = CS_WEIGHTS_TOKENS,
    .count = count_plans,
    .visit = visit,
    .sample = sample,
    .pairs = pairs_of,
    .examples = "prefix-lm",
};
