/* Sizes of conditioning sets of permutation-invariant objectives (objectives.md).
 *
 * Each distribution is a formula or a recurrence in m, so that nothing is stored. Under `mask`
 * weights c(m) shares the plan's weight among its tokens. A plan that predicts nothing (a Bernoulli
 * mask of nothing, or of everything without an empty prefix) has no events: it lowers `predicted`
 * and is left out under `mask`. Recurrences of up to 2^31 steps run in long double. */
#include "plan/sizes.h"

#include <math.h>

#include "base/mem.h"
#include "plan/count.h"
#include "plan/distributions_private.h"
#include "plan/gvp.h"

/* Sizes of no weight are not events. */
static bool visit_size(const cs_size_visitor *v, int64_t m, long double c)
{
    return !(c > 0) || v->visit(v->ctx, m, c);
}

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
    for (int64_t m = lo; m <= hi && visit_size(v, m, mask ? 1 : (long double)(s - m)); ++m) {
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
    return visit_size(v, m, o->event_weight == CS_EVENT_MASK ? weight : tokens);
}

/* The binomial distribution of m from its mode outwards, by ratios: no logarithms, no underflow
 * where it matters. */
cs_status cs_sizes_bernoulli(const cs_objective *o, int64_t s, const cs_size_visitor *v,
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

double cs_bernoulli_predict_probability(const cs_objective *o, int64_t s)
{
    double rho = o->mask_ratio_lo,
           all = o->empty_prefix == CS_PREFIX_NONE ? pow(rho, (double)s) : 0;
    return 1 - pow(1 - rho, (double)s) - all;
}

cs_status cs_sizes_permuted(const cs_objective *o, int64_t s, const cs_size_visitor *v,
                            cs_size_facts *facts)
{
    int64_t first = o->empty_prefix == CS_PREFIX_NONE ? 1 : 0;
    facts->predicted = (double)(s - first);
    facts->denominator = cs_small_lcm_to(s); /* C(s, m) (s - m) = s C(s-1, m) */
    for (int64_t m = first; m < s && visit_size(v, m, 1); ++m) {
    }
    return CS_OK;
}

static void gvp_fixed_sizes(const cs_objective *o, int64_t s, const cs_size_visitor *v,
                            cs_size_facts *facts)
{
    int64_t targets = s - cs_gvp_fixed(s, o->groups, 0);
    bool mask = o->event_weight == CS_EVENT_MASK, go_on = true;
    facts->predicted = (double)targets;
    facts->denominator = 1;
    for (int64_t i = 0; i < o->groups && go_on; ++i) {
        int64_t m = cs_gvp_fixed(s, o->groups, i), gap = cs_gvp_fixed(s, o->groups, i + 1) - m;
        if (facts->denominator > 0) {
            int64_t events = cs_small_product(cs_small_binomial(s, m), s - m);
            int64_t each = events > 0 ? events / cs_gcd(events, gap) : 0;
            facts->denominator = cs_small_lcm(facts->denominator, each);
        }
        go_on = visit_size(v, m, (long double)gap / (mask ? (long double)targets : 1));
    }
}

/* Random and mixed. */
static cs_status gvp_drawn_sizes(const cs_objective *o, int64_t s, const cs_size_visitor *v,
                                 cs_size_facts *facts)
{
    if (o->event_weight == CS_EVENT_TOKEN) {
        if (o->segmentation == CS_SEGMENT_RANDOM) {
            facts->denominator =
                cs_small_product(cs_small_binomial(s - 1, o->groups), cs_small_lcm_to(s));
        }
        cs_gvp_draw distribution = cs_gvp_draw_start(o, s);
        while (cs_gvp_draw_next(&distribution) && visit_size(v, distribution.m, distribution.c)) {
        }
        facts->predicted = (double)distribution.predicted;
        facts->clamped = (double)distribution.clamped;
        return CS_OK;
    }
    long double predicted, *c = cs_alloc(s + 1, sizeof *c);
    cs_status status = c ? cs_gvp_mask_sizes(o, s, c, &predicted, &facts->clamped) : CS_ERR_MEMORY;
    if (status == CS_OK) {
        facts->predicted = (double)predicted;
        for (int64_t m = 0; m < s && visit_size(v, m, c[m]); ++m) {
        }
    }
    cs_free(c);
    return status;
}

cs_status cs_sizes_gvp(const cs_objective *o, int64_t s, const cs_size_visitor *v,
                       cs_size_facts *facts)
{
    if (o->segmentation != CS_SEGMENT_FIXED) {
        return gvp_drawn_sizes(o, s, v, facts);
    }
    gvp_fixed_sizes(o, s, v, facts);
    return CS_OK;
}

cs_status cs_sizes_visit(const cs_objective *o, int64_t s, cs_size_fn visit, void *ctx,
                         cs_size_facts *facts)
{
    cs_size_visitor v = {visit, ctx};
    cs_size_facts local = {0};
    cs_status status = cs_objective_table(o->kind)->sizes(o, s, &v, &local);
    if (status == CS_OK && facts) *facts = local;
    return status;
}
