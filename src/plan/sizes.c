/* Permutation-invariant objectives: masked, variable-masked, bernoulli-masked, permuted-ar, diffusion, and
 * the sizes of conditioning sets of such objectives (objectives.md).
 *
 * Each distribution is a formula or a recurrence in m, so that nothing is stored. Under `mask`
 * weights c(m) shares the plan's weight among its tokens. A plan that predicts nothing (a Bernoulli
 * mask of nothing, or of everything without an empty prefix) has no events: it lowers `predicted`
 * and is left out under `mask`. Recurrences of up to 2^31 steps run in long double. */
#include "plan/sizes.h"

#include <math.h>

#include "plan/count.h"
#include "plan/distributions_private.h"

/* lcm over m = lo..hi of C(s, m), or of C(s, m) (s - m): denominators of P(S, k) / c(m). */
static int64_t binomial_lcm(int64_t s, int64_t lo, int64_t hi, bool times_targets)
{
    int64_t lcm = 1;
    for (int64_t m = lo; m <= hi && lcm > 0; ++m) {
        int64_t sets = cs_small_binomial(s, m);
        lcm = cs_small_lcm(lcm, times_targets ? cs_small_product(sets, s - m) : sets);
    }
    return lcm;
}

cs_status cs_sizes_unmasked(const cs_objective *o, int64_t s, const cs_size_visitor *v,
                            cs_size_facts *facts)
{
    int64_t lo, hi;
    cs_status status = cs_objective_unmasked(o, s, &lo, &hi);
    if (status != CS_OK) return status;
    int64_t count = hi - lo + 1;
    bool mask = o->event_weight == CS_EVENT_MASK;
    facts->predicted = (double)s - (double)(lo + hi) / 2;
    bool shared = mask && count > 1;
    int64_t scale = shared ? cs_small_product(count, count) : count;
    facts->denominator = cs_small_product(scale, binomial_lcm(s, lo, hi, shared));
    for (int64_t m = lo; m <= hi && cs_size_visit(v, m, mask ? 1 : (long double)(s - m)); ++m) {
    }
    return CS_OK;
}

/* c(m) from the binomial weight of m; m = s predicts nothing, m = 0 only from an empty prefix. */
static bool describe_bernoulli(const cs_objective *o, int64_t s, const cs_size_visitor *v,
                               int64_t m, long double weight, long double *targets)
{
    if (m == s || (m == 0 && o->empty_prefix == CS_PREFIX_NONE)) {
        return true;
    }
    long double tokens = weight * (long double)(s - m);
    *targets += tokens;
    return cs_size_visit(v, m, o->event_weight == CS_EVENT_MASK ? weight : tokens);
}

/* The binomial distribution of m from its mode outwards, by ratios: no logarithms, no underflow
 * where it matters. */
static cs_status sizes_bernoulli(const cs_objective *o, int64_t s, const cs_size_visitor *v,
                                 cs_size_facts *facts)
{
    long double rho = o->mask_ratio_lo, odds = (1 - rho) / rho, sum = 0, targets = 0, weight = 1;
    int64_t mode = (int64_t)((long double)(s + 1) * (1 - rho));
    bool go_on = true;
    mode = mode > s ? s : mode;
    for (int64_t m = mode; m <= s && weight > 0 && go_on; ++m) {
        sum += weight;
        go_on = describe_bernoulli(o, s, v, m, weight, &targets);
        weight *= odds * (long double)(s - m) / (long double)(m + 1);
    }
    weight = 1;
    for (int64_t m = mode; m > 0 && weight > 0 && go_on; --m) {
        weight *= (long double)m / (odds * (long double)(s - m + 1));
        sum += weight;
        go_on = describe_bernoulli(o, s, v, m - 1, weight, &targets);
    }
    facts->predicted = (double)(targets / sum);
    return CS_OK;
}

static double bernoulli_predict_probability(const cs_objective *o, int64_t s)
{
    double rho = o->mask_ratio_lo,
           all = o->empty_prefix == CS_PREFIX_NONE ? pow(rho, (double)s) : 0;
    return 1 - pow(1 - rho, (double)s) - all;
}

static cs_status sizes_permuted(const cs_objective *o, int64_t s, const cs_size_visitor *v,
                                cs_size_facts *facts)
{
    int64_t first = o->empty_prefix == CS_PREFIX_NONE ? 1 : 0;
    facts->predicted = (double)(s - first);
    facts->denominator = cs_small_lcm_to(s); /* C(s, m) (s - m) = s C(s-1, m) */
    for (int64_t m = first; m < s && cs_size_visit(v, m, 1); ++m) {
    }
    return CS_OK;
}

/* --- plans --- */

static cs_status count_masks(const cs_objective *o, int64_t s, double *count)
{
    int64_t lo, hi;
    cs_status status = cs_objective_unmasked(o, s, &lo, &hi);
    *count = 0;
    for (int64_t m = lo; status == CS_OK && m <= hi; ++m) {
        *count += cs_binomial(s, m);
    }
    return status;
}

/* Sets of m given positions, of total probability p. */
static cs_status visit_sets(cs_enumeration *e, int64_t m, double p)
{
    e->plan.groups = 1;
    for (int64_t i = 0; i < e->plan.length; ++i) {
        e->plan.group[i] = i >= m;
    }
    return cs_visit_arrangements(e, p);
}

static cs_status visit_masks(cs_enumeration *e)
{
    int64_t lo, hi;
    cs_status status = cs_objective_unmasked(e->objective, e->plan.length, &lo, &hi);
    for (int64_t m = lo; status == CS_OK && m <= hi; ++m) {
        status = visit_sets(e, m, 1 / (double)(hi - lo + 1));
    }
    return status;
}

static cs_status sample_masks(const cs_objective *objective, cs_rng *rng, cs_plan *plan)
{
    int64_t s = plan->length, lo, hi;
    cs_status status = cs_objective_unmasked(objective, s, &lo, &hi);
    if (status != CS_OK) return status;
    int64_t m = lo + cs_rng_below(rng, hi - lo + 1);
    plan->groups = 1;
    for (int64_t i = 0; i < s; ++i) {
        plan->group[i] = i >= m;
    }
    cs_rng_shuffle(rng, s, plan->group);
    return CS_OK;
}

static cs_status count_subsets(const cs_objective *o, int64_t s, double *count)
{
    (void)o;
    *count = exp2((double)s);
    return CS_OK;
}

static cs_status visit_bernoulli(cs_enumeration *e)
{
    int64_t s = e->plan.length;
    double rho = e->objective->mask_ratio_lo;
    cs_status status = CS_OK;
    for (int64_t m = 0; m <= s && status == CS_OK; ++m) {
        double p = cs_binomial(s, m) * pow(rho, (double)(s - m)) * pow(1 - rho, (double)m);
        status = visit_sets(e, m, p);
    }
    return status;
}

/* Every token with one probability. */
static void mask_each(double ratio, cs_rng *rng, cs_plan *plan)
{
    plan->groups = 1;
    for (int64_t i = 0; i < plan->length; ++i) {
        plan->group[i] = cs_rng_uniform(rng) < ratio;
    }
}

static cs_status sample_bernoulli(const cs_objective *objective, cs_rng *rng, cs_plan *plan)
{
    mask_each(objective->mask_ratio_lo, rng, plan);
    return CS_OK;
}

static cs_status count_orders(const cs_objective *o, int64_t s, double *count)
{
    (void)o;
    *count = tgamma((double)s + 1);
    return CS_OK;
}

static cs_status visit_orders(cs_enumeration *e)
{
    cs_plan_fixed_groups(e->objective, 1, 1, &e->plan);
    return cs_visit_arrangements(e, 1);
}

static cs_status sample_order(const cs_objective *objective, cs_rng *rng, cs_plan *plan)
{
    cs_plan_fixed_groups(objective, 1, 1, plan);
    cs_rng_shuffle(rng, plan->length, plan->group);
    return CS_OK;
}

/* --- diffusion --- */

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
static double diffusion_token_weight(int64_t s, int64_t n)
{
    return (double)(s + 1) / (double)n;
}

static double diffusion_predict_probability(const cs_objective *o, int64_t s)
{
    int64_t silent = o->empty_prefix == CS_PREFIX_NONE ? 2 : 1; /* all masked, none masked */
    return 1 - (double)silent / (double)(s + 1);
}

static cs_status visit_diffusion(cs_enumeration *e)
{
    int64_t s = e->plan.length;
    cs_status status = CS_OK;
    for (int64_t m = 0; m <= s && status == CS_OK; ++m) {
        status = visit_sets(e, m, 1 / (double)(s + 1));
    }
    return status;
}

static cs_status sample_diffusion(const cs_objective *o, cs_rng *rng, cs_plan *plan)
{
    (void)o;
    mask_each(cs_rng_uniform(rng), rng, plan);
    return CS_OK;
}

/* --- rows --- */

const cs_objective_row cs_row_MASKED = {
    .aliases = "mlm bert",
    .summary = "masked tokens from a fixed number of unmasked ones (BERT; LA 3.1)",
    .plans = "uniform order, one predicted group; S uniform of size m",
    .source = "LA 3.1",
    .takes = "unmasked mask-ratio",
    .trained = "mask-ratio=0.15",
    .shape = CS_PAIRS_INVARIANT,
    .reads = CS_ROWS_MASKED,
    .weighting = CS_WEIGHTS_EQUAL,
    .check = cs_check_unmasked,
    .check_length = cs_check_unmasked_length,
    .given = cs_given_unmasked,
    .count = count_masks,
    .visit = visit_masks,
    .sample = sample_masks,
    .sizes = cs_sizes_unmasked,
    .examples = "masked:unmasked=1 masked:unmasked=3 masked:mask-ratio=0.4",
};

const cs_objective_row cs_row_VARIABLE_MASKED = {
    .summary = "masked, the number unmasked uniform in a range (LA Eq. 5)",
    .plans = "the same, m uniform in LO..HI",
    .source = "LA Eq. 5",
    .takes = "unmasked mask-ratio",
    .trained = "mask-ratio=0.15:0.3",
    .range = true,
    .shape = CS_PAIRS_INVARIANT,
    .reads = CS_ROWS_MASKED,
    .weighting = CS_WEIGHTS_TOKENS,
    .check = cs_check_unmasked,
    .check_length = cs_check_unmasked_length,
    .given = cs_given_unmasked,
    .count = count_masks,
    .visit = visit_masks,
    .sample = sample_masks,
    .sizes = cs_sizes_unmasked,
    .examples = "variable-masked:unmasked=1:3 variable-masked:mask-ratio=0.15:0.7",
};

const cs_objective_row cs_row_BERNOULLI_MASKED = {
    .summary = "every token masked independently with one probability",
    .plans = "every token masked with probability rho",
    .source = "ours",
    .takes = "mask-ratio",
    .trained = "mask-ratio=0.15",
    .shape = CS_PAIRS_INVARIANT,
    .reads = CS_ROWS_MASKED,
    .weighting = CS_WEIGHTS_TOKENS,
    .check = cs_check_unmasked,
    .given = cs_given_any,
    .count = count_subsets,
    .visit = visit_bernoulli,
    .sample = sample_bernoulli,
    .sizes = sizes_bernoulli,
    .predict_probability = bernoulli_predict_probability,
    .examples = "bernoulli-masked:mask-ratio=0.3 bernoulli-masked:mask-ratio=0.8",
};

const cs_objective_row cs_row_PERMUTED_AR = {
    .aliases = "xlnet plm",
    .summary = "autoregressive along a uniform permutation (XLNet)",
    .plans = "uniform order, singletons",
    .source = "XLNet",
    .shape = CS_PAIRS_INVARIANT,
    .reads = CS_ROWS_GROUPS,
    .weighting = CS_WEIGHTS_EQUAL,
    .count = count_orders,
    .visit = visit_orders,
    .sample = sample_order,
    .sizes = sizes_permuted,
    .examples = "permuted-ar",
};

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
    .count = count_subsets,
    .visit = visit_diffusion,
    .sample = sample_diffusion,
    .token_weight = diffusion_token_weight,
    .sizes = sizes_permuted,
    .predict_probability = diffusion_predict_probability,
    .examples = "diffusion",
};
