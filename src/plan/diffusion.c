/* diffusion: absorbing-state masked diffusion (Sahoo et al. 2024; Shi et al. 2024). A ratio t is
 * uniform in (0, 1), every token is masked with probability t, and the masked ones are predicted
 * with weight 1 / t.
 *
 * A mask of n of s tokens has probability B(n+1, s-n+1) = 1 / ((s+1) C(s, n)) over t, and given it
 * the mean of 1 / t is B(n, s-n+1) / B(n+1, s-n+1) = (s+1) / n. That mean is the weight of its
 * tokens here: the same expected loss, and bounded where 1 / t has no variance. So n tokens weigh s
 * + 1 together, and every number of unmasked tokens has the weight 1: the distribution of sizes,
 * hence the matrix, of permuted-ar (theorem-4-2.md). Under `mask` weights too, where every n is as
 * probable. */
#include "plan/distributions_private.h"

static double token_weight(int64_t s, int64_t n)
{
    return (double)(s + 1) / (double)n;
}

static double predict_probability(const cs_objective *o, int64_t s)
{
    int64_t silent = o->empty_prefix == CS_PREFIX_NONE ? 2 : 1; /* all masked, none masked */
    return 1 - (double)silent / (double)(s + 1);
}

static cs_status visit(cs_enumeration *e)
{
    int64_t s = e->plan.length;
    cs_status status = CS_OK;
    e->plan.groups = 1;
    for (int64_t m = 0; m <= s && status == CS_OK; ++m) {
        for (int64_t i = 0; i < s; ++i) {
            e->plan.group[i] = i >= m;
        }
        status = cs_visit_arrangements(e, 1 / (double)(s + 1));
    }
    return status;
}

static cs_status sample(const cs_objective *o, cs_rng *rng, cs_plan *plan)
{
    (void)o;
    double ratio = cs_rng_uniform(rng);
    plan->groups = 1;
    for (int64_t i = 0; i < plan->length; ++i) {
        plan->group[i] = cs_rng_uniform(rng) < ratio;
    }
    return CS_OK;
}

const cs_objective_row cs_row_DIFFUSION = {
    .aliases = "mdlm",
    .summary = "masked at a uniform ratio, weight 1 over it (absorbing-state diffusion)",
    .plans = "every token masked with probability t, t uniform, weight 1/t",
    .note =
        "Given n masked tokens the weight is its mean (s+1)/n, so that every number of unmasked "
        "tokens has weight 1, as in `permuted-ar`. A sequence has weight s - 1, with an empty "
        "prefix s.",
    .source = "Sahoo et al. 2024",
    .shape = CS_PAIRS_INVARIANT,
    .reads = CS_ROWS_MASKED,
    .weighting = CS_WEIGHTS_OWN,
    .given = cs_given_any,
    .count = cs_count_subsets,
    .visit = visit,
    .sample = sample,
    .token_weight = token_weight,
    .sizes = cs_sizes_permuted,
    .predict_probability = predict_probability,
    .examples = "diffusion",
};
