/* gvp: groups of tokens along a uniform permutation or the sequence's own order. The distribution of
 * its conditioning sizes is summed exactly. Boundaries are drawn by selection sampling (Knuth, TAOCP
 * 2, 3.4.2, Algorithm S): sorted as they come, without scratch, O(s). */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/auto.h"
#include "plan/count.h"
#include "plan/distributions_private.h"

enum { MASK_LENGTH = 10000 }; /* most positions under `mask` weights, which cost O(s^2) */

static const double mixed_mean = 0.5, mixed_sd = 0.1;

/* n_i = floor((i+1) s / (K+1)) of `fixed`, i = 0..K. K <= s-1 makes s / (K+1) >= 1, so that no
 * boundary is 0 and no two are equal: every group has a member. */
static int64_t fixed_boundary(int64_t s, int64_t groups, int64_t i)
{
    return (i + 1) * s / (groups + 1);
}

/* P(a < Z < b), Z standard normal, without cancelling in either tail. */
static long double normal_between(long double a, long double b)
{
    const long double root_half = 0.707106781186547524400844362104849039L;
    a *= root_half;
    b *= root_half;
    if (a > 0) {
        return (erfcl(a) - erfcl(b)) / 2;
    }
    if (b < 0) {
        return (erfcl(-b) - erfcl(-a)) / 2;
    }
    return (erfl(b) - erfl(a)) / 2;
}

/* The standardised upper end of the values that round to n. */
static long double upper_end(int64_t n, int64_t s)
{
    return (((long double)n + 0.5L) / (long double)s - (long double)mixed_mean) /
           (long double)mixed_sd;
}

/* P(n_{K-1} = n); for `random` from that of n + 1 (`above`), for `mixed` before clamping. */
static long double last_at(const cs_objective *o, int64_t s, int64_t n, long double above)
{
    int64_t groups = o->groups;
    if (n < groups || n >= s) {
        return 0;
    }
    if (o->segmentation == CS_SEGMENT_MIXED) {
        return normal_between(upper_end(n - 1, s), upper_end(n, s));
    }
    /* C(n-1, K-1) / C(s-1, K), from n = s-1 down. */
    return n == s - 1 ? (long double)groups / (long double)(s - 1)
                      : above * (long double)(n + 1 - groups) / (long double)n;
}

/* The probabilities that `mixed` clamps to K and to s-1; nothing for `random`. */
static void clamped_ends(const cs_objective *o, int64_t s, long double *below, long double *above)
{
    bool mixed = o->segmentation == CS_SEGMENT_MIXED;
    *below = mixed ? normal_between(-HUGE_VALL, upper_end(o->groups - 1, s)) : 0;
    *above = mixed ? normal_between(upper_end(s - 1, s), HUGE_VALL) : 0;
}

void cs_gvp_last(const cs_objective *objective, int64_t s, long double *last, double *clamped)
{
    long double below, above;
    last[s] = 0;
    for (int64_t n = s - 1; n >= 0; --n) {
        last[n] = last_at(objective, s, n, last[n + 1]);
    }
    clamped_ends(objective, s, &below, &above);
    last[objective->groups] += below;
    last[s - 1] += above;
    *clamped = (double)(below + above);
}

/* round(p s), p ~ N(0.5, sd 0.1), clamped into K..s-1. */
static int64_t draw_last(int64_t s, int64_t groups, cs_rng *rng)
{
    double n = round((mixed_mean + mixed_sd * cs_rng_normal(rng)) * (double)s);
    if (n < (double)groups) {
        return groups;
    }
    return n > (double)(s - 1) ? s - 1 : (int64_t)n;
}

/* Expected number c(m) of tokens predicted from m others in one plan, random and mixed under
 * `token` weights, for m = s-1 down to 1 by a recurrence: start, then m and c are valid after each
 * `next` that is true. After the last, `predicted` is the expected number of predicted tokens (the
 * sum of c) and `clamped` as above. The other members are the state of the recurrence. O(1) a step.
 */
typedef struct {
    const cs_objective *objective;
    int64_t s, m;
    long double c, predicted, clamped;
    long double distribution, below, above, g, tail;
} gvp_draw;

/* c(m) = last(m) (s-m) + sum_{j >= m} G(j),
 * G(j) = C(j-1, K-2) sum_{N > j} last(N) / C(N-1, K-1). */
static gvp_draw sizes_start(const cs_objective *objective, int64_t s)
{
    gvp_draw distribution = {.objective = objective, .s = s, .m = s, .predicted = (long double)s};
    clamped_ends(objective, s, &distribution.below, &distribution.above);
    distribution.clamped = distribution.below + distribution.above;
    return distribution;
}

static bool sizes_next(gvp_draw *distribution)
{
    int64_t groups = distribution->objective->groups, s = distribution->s, m = --distribution->m;
    if (m < 1) {
        return false;
    }
    distribution->distribution = last_at(distribution->objective, s, m, distribution->distribution);
    long double last = distribution->distribution + (m == groups ? distribution->below : 0) +
                       (m == s - 1 ? distribution->above : 0);
    /* E n_0 = E n_{K-1} / K: the K gaps below n_{K-1} are exchangeable. */
    distribution->predicted -= last * (long double)m / (long double)groups;
    distribution->tail += distribution->g; /* G(m) */
    distribution->c = last * (long double)(s - m) + distribution->tail;
    if (m >= 2 && groups >= 2) {
        long double stay = (long double)(m - groups + 1);
        distribution->g =
            ((stay > 0 ? stay : 0) * distribution->g + (long double)(groups - 1) * last) /
            (long double)(m - 1);
    }
    return true;
}

/* Adds the plans with n_{K-1} = N, K >= 2. P(a) = P(n_0 = a | N) = C(N-1-a, K-2) / C(N-1, K-1).
 * h[m] = sum_{a < m} P(n_0 = a | n_{K-1} = m) / (s - a), known for m < N and found here for N. */
static void add_mask_sizes(int64_t s, int64_t groups, int64_t n, long double weight, long double *h,
                           long double *partial, long double *c)
{
    long double p = (long double)(groups - 1) / (long double)(n - 1);
    partial[1] = 0;
    for (int64_t a = 1; a < n; ++a) {
        /* a itself is a boundary; the gaps up to N share N - a in the mean. */
        c[a] +=
            weight * p * (long double)(n - a) / ((long double)(groups - 1) * (long double)(s - a));
        partial[a + 1] = partial[a] + p / (long double)(s - a);
        if (a + 1 < n) {
            long double left = (long double)(n + 1 - a - groups);
            p = left > 0 ? p * left / (long double)(n - 1 - a) : 0;
        }
    }
    h[n] = partial[n];
    c[n] += weight * (long double)(s - n) * h[n];
    long double ratio = 1; /* C(m-1, K-1) / C(N-1, K-1) */
    for (int64_t m = n - 1; m >= 2; --m) {
        long double stay = (long double)(m + 1 - groups);
        ratio *= (stay > 0 ? stay : 0) / (long double)m;
        long double inside = partial[m] - ratio * h[m];
        c[m] += inside > 0 ? weight * inside : 0;
    }
}

static cs_status mask_sizes(int64_t s, int64_t groups, const long double *last, long double *c)
{
    if (groups == 1) {
        for (int64_t m = 1; m < s; ++m) {
            c[m] = last[m];
        }
        return CS_OK;
    }
    CS_AUTO_FREE long double *work = cs_calloc(2 * (s + 1), sizeof *work);
    if (!work) return CS_ERR_MEMORY;
    for (int64_t n = groups; n < s; ++n) {
        add_mask_sizes(s, groups, n, last[n], work, work + s + 1, c);
    }
    return CS_OK;
}

/* The expected numbers under `mask` weights, where each token of a plan has weight 1 / (s - n_0): c(m) for
 * m = 0..s (s+1 values). O(s^2). */
static cs_status gvp_mask_sizes(const cs_objective *objective, int64_t s, long double *c,
                                long double *predicted, double *clamped)
{
    int64_t groups = objective->groups;
    CS_AUTO_FREE long double *last = cs_alloc(s + 1, sizeof *last);
    if (!last) return CS_ERR_MEMORY;
    memset(c, 0, (size_t)(s + 1) * sizeof *c);
    cs_gvp_last(objective, s, last, clamped);
    long double mean_last = 0;
    for (int64_t n = groups; n < s; ++n) {
        mean_last += last[n] * (long double)n;
    }
    *predicted = (long double)s - mean_last / (long double)groups;
    return mask_sizes(s, groups, last, c);
}

/* --- sizes of conditioning sets --- */

static void gvp_fixed_sizes(const cs_objective *o, int64_t s, const cs_size_visitor *v,
                            cs_size_facts *facts)
{
    int64_t targets = s - fixed_boundary(s, o->groups, 0);
    bool mask = o->event_weight == CS_EVENT_MASK, go_on = true;
    facts->predicted = (double)targets;
    facts->denominator = 1;
    for (int64_t i = 0; i < o->groups && go_on; ++i) {
        int64_t m = fixed_boundary(s, o->groups, i), gap = fixed_boundary(s, o->groups, i + 1) - m;
        if (facts->denominator > 0) {
            int64_t events = cs_small_product(cs_small_binomial(s, m), s - m);
            int64_t each = events > 0 ? events / cs_gcd(events, gap) : 0;
            facts->denominator = cs_small_lcm(facts->denominator, each);
        }
        go_on = cs_size_visit(v, m, (long double)gap / (mask ? (long double)targets : 1));
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
        gvp_draw distribution = sizes_start(o, s);
        while (sizes_next(&distribution) && cs_size_visit(v, distribution.m, distribution.c)) {
        }
        facts->predicted = (double)distribution.predicted;
        facts->clamped = (double)distribution.clamped;
        return CS_OK;
    }
    long double predicted;
    CS_AUTO_FREE long double *c = cs_alloc(s + 1, sizeof *c);
    cs_status status = c ? gvp_mask_sizes(o, s, c, &predicted, &facts->clamped) : CS_ERR_MEMORY;
    if (status == CS_OK) {
        facts->predicted = (double)predicted;
        for (int64_t m = 0; m < s && cs_size_visit(v, m, c[m]); ++m) {
        }
    }
    return status;
}

static cs_status sizes_of(const cs_objective *o, int64_t s, const cs_size_visitor *v,
                          cs_size_facts *facts)
{
    if (o->segmentation != CS_SEGMENT_FIXED) {
        return gvp_drawn_sizes(o, s, v, facts);
    }
    gvp_fixed_sizes(o, s, v, facts);
    return CS_OK;
}

/* --- along the sequence --- */

/* A chosen size, in the sequence's order: the groups of one plan. */
static cs_status fixed_pairs(const cs_objective *o, int64_t s, cs_pairs *pairs)
{
    const int64_t first = fixed_boundary(s, o->groups, 0);
    cs_status status = cs_pairs_prefix_alloc(pairs, s, (double)(s - first));
    for (int64_t i = 0; i < o->groups && status == CS_OK; ++i) {
        const int64_t m = fixed_boundary(s, o->groups, i),
                      end = fixed_boundary(s, o->groups, i + 1);
        for (int64_t k = m; k < end; ++k) {
            cs_pairs_add(pairs, (cs_pairs_set){0, m}, k, 1 / (double)(s - first));
        }
    }
    pairs->predicted = (double)(s - first);
    pairs->denominator = 1;
    return status;
}

/* w(m, m + d) of all m into w[m + d][m], a triangle by rows: row k has its m at k (k-1) / 2 + m - 1.
 * chance[N] = C(N-2-d, K-2) / C(N-1, K-1), of d = 0 where a row of distances begins. */
static void add_distance(int64_t s, int64_t groups, int64_t d, const long double *last,
                         long double *chance, long double *w)
{
    long double beyond = 0; /* sum of N > k */
    for (int64_t k = s - 1; k > d; --k) {
        const int64_t m = k - d;
        w[k * (k - 1) / 2 + m - 1] = last[m] + beyond;
        beyond += last[k] * chance[k];
    }
    for (int64_t n = d + 3; n < s; ++n) { /* to distance d + 1 */
        const int64_t stay = n - d - groups;
        chance[n] *= (long double)(stay > 0 ? stay : 0) / (long double)(n - 2 - d);
    }
}

static cs_status drawn_pairs(const cs_objective *o, int64_t s, cs_pairs *pairs)
{
    const int64_t groups = o->groups, cells = s * (s - 1) / 2;
    cs_status status = cs_pairs_prefix_alloc(pairs, s, (double)cells * 2); /* and the triangle */
    CS_AUTO_FREE long double *last = status == CS_OK ? cs_alloc(2 * (s + 1), sizeof *last) : NULL;
    CS_AUTO_FREE long double *w = last ? cs_alloc(cells, sizeof *w) : NULL;
    if (!w) return status == CS_OK ? CS_ERR_MEMORY : status;
    long double *chance = last + s + 1, sum = 0;
    cs_gvp_last(o, s, last, &pairs->clamped);
    for (int64_t n = 0; n <= s; ++n) {
        chance[n] = groups > 1 && n >= 2 ? (long double)(groups - 1) / (long double)(n - 1) : 0;
    }
    for (int64_t d = 0; d < s - 1; ++d) {
        add_distance(s, groups, d, last, chance, w);
    }
    for (int64_t i = 0; i < cells; ++i) {
        sum += w[i];
    }
    for (int64_t m = 1; m < s; ++m) {
        for (int64_t k = m; k < s; ++k) {
            cs_pairs_add(pairs, (cs_pairs_set){0, m}, k,
                         (double)(w[k * (k - 1) / 2 + m - 1] / sum));
        }
    }
    pairs->predicted = (double)sum;
    if (o->segmentation == CS_SEGMENT_RANDOM) {
        pairs->denominator = cs_small_binomial(s - 1, groups);
    }
    return CS_OK;
}

static cs_status pairs_of(const cs_objective *o, int64_t s, cs_pairs *pairs)
{
    if (o->permutation == CS_PERMUTE_UNIFORM) {
        return cs_pairs_of_sizes(o, s, pairs);
    }
    if (o->segmentation == CS_SEGMENT_FIXED) {
        return fixed_pairs(o, s, pairs);
    }
    return o->event_weight == CS_EVENT_MASK ? cs_pairs_of_plans(o, s, pairs)
                                            : drawn_pairs(o, s, pairs);
}

/* --- plans --- */

/* Ordered partitions of s positions into n non-empty groups: f(s, n) = n (f(s-1, n) + f(s-1, n-1)).
 */
static cs_status ordered_partitions(int64_t s, int64_t n, double *count)
{
    CS_AUTO_FREE double *f = cs_calloc(n + 1, sizeof *f);
    if (!f) return CS_ERR_MEMORY;
    f[0] = 1;
    for (int64_t row = 1; row <= s; ++row) {
        for (int64_t k = n; k >= 1; --k) {
            f[k] = (double)k * (f[k] + f[k - 1]);
        }
        f[0] = 0;
    }
    *count = f[n];
    return CS_OK;
}

static cs_status count_plans(const cs_objective *o, int64_t s, double *count)
{
    if (o->permutation == CS_PERMUTE_NONE) {
        *count = o->segmentation == CS_SEGMENT_FIXED ? 1 : cs_binomial(s - 1, o->groups);
        return CS_OK;
    }
    return ordered_partitions(s, o->groups + 1, count);
}

/* Labels from the ascending boundaries n_0 < ... < n_{K-1}, each one above the stored value. */
static void labels_from(const int32_t *boundary, int64_t groups, cs_plan *plan)
{
    int32_t label = 0;
    for (int64_t j = 0; j < plan->length; ++j) {
        label += label < groups && boundary[label] + 1 == j;
        plan->group[j] = label;
    }
    plan->groups = groups;
}

static cs_status visit(cs_enumeration *e)
{
    const cs_objective *o = e->objective;
    int64_t s = e->plan.length, groups = o->groups;
    double clamped;
    CS_AUTO_FREE int32_t *boundary =
        cs_alloc(groups, sizeof *boundary); /* n_i - 1, a K-subset of 0..s-2 */
    CS_AUTO_FREE long double *last = cs_alloc(s + 1, sizeof *last);
    cs_status status = boundary && last ? CS_OK : CS_ERR_MEMORY;
    bool fixed = o->segmentation == CS_SEGMENT_FIXED;
    for (int64_t i = 0; status == CS_OK && i < groups; ++i) {
        boundary[i] = (int32_t)(fixed ? fixed_boundary(s, groups, i) - 1 : i);
    }
    if (status == CS_OK && !fixed) cs_gvp_last(o, s, last, &clamped);
    for (bool more = status == CS_OK; more && status == CS_OK;) {
        int64_t n = (int64_t)boundary[groups - 1] + 1;
        double p = fixed ? 1 : (double)last[n] / cs_binomial(n - 1, groups - 1);
        labels_from(boundary, groups, &e->plan);
        if (o->permutation == CS_PERMUTE_NONE) {
            cs_plan_weigh(o, &e->plan);
            status = e->visit(e->ctx, &e->plan, p);
        } else {
            status = cs_visit_arrangements(e, p);
        }
        more = !fixed && cs_next_subset(s - 1, groups, boundary);
    }
    return status;
}

/* Labels in order of z: 0 up to n_0 - 1, 1 up to n_1 - 1, ... for boundaries drawn at random. */
static void draw_gvp_labels(const cs_objective *objective, cs_rng *rng, cs_plan *plan)
{
    int64_t s = plan->length, groups = objective->groups;
    bool mixed = objective->segmentation == CS_SEGMENT_MIXED;
    int64_t last = mixed ? draw_last(s, groups, rng) : s;
    int64_t needed = mixed ? groups - 1 : groups; /* distinct draws from 1..last-1 */
    int32_t label = 0;
    plan->group[0] = 0;
    for (int64_t j = 1; j < s; ++j) {
        if (j == last) {
            ++label;
        } else if (j < last && needed > 0 && cs_rng_below(rng, last - j) < needed) {
            ++label;
            --needed;
        }
        plan->group[j] = label;
    }
}

static void fixed_gvp_labels(int64_t groups, cs_plan *plan)
{
    int32_t label = 0;
    for (int64_t j = 0; j < plan->length; ++j) {
        label += j == fixed_boundary(plan->length, groups, label);
        plan->group[j] = label;
    }
}

static cs_status sample(const cs_objective *objective, cs_rng *rng, cs_plan *plan)
{
    plan->groups = objective->groups;
    if (objective->segmentation == CS_SEGMENT_FIXED) {
        fixed_gvp_labels(objective->groups, plan);
    } else {
        draw_gvp_labels(objective, rng, plan);
    }
    if (objective->permutation == CS_PERMUTE_UNIFORM) {
        cs_rng_shuffle(rng, plan->length, plan->group);
    }
    return CS_OK;
}

/* --- the row --- */

static cs_status check(const cs_objective *o)
{
    if (o->groups >= 1) {
        return CS_OK;
    }
    return o->groups == -1 ? cs_fail(CS_ERR_USAGE, "gvp needs a number of groups (groups), for "
                                                   "example gvp(segmentation=mixed,groups=2)")
                           : cs_fail(CS_ERR_USAGE, "gvp: groups %" PRId64 " is below 1", o->groups);
}

/* s - E n_0, whatever the order and the weights. */
static cs_status predicted_of(const cs_objective *o, int64_t s, double *out)
{
    if (o->segmentation == CS_SEGMENT_FIXED) {
        *out = (double)(s - fixed_boundary(s, o->groups, 0));
        return CS_OK;
    }
    gvp_draw distribution = sizes_start(o, s);
    while (sizes_next(&distribution)) {
    }
    *out = (double)distribution.predicted;
    return CS_OK;
}

static cs_pairs_form form(const cs_objective *o)
{
    return o->permutation == CS_PERMUTE_NONE ? CS_PAIRS_SETS : CS_PAIRS_INVARIANT;
}

static cs_status check_length(const cs_objective *o, int64_t s)
{
    if (s <= o->groups) {
        return cs_fail(CS_ERR_USAGE,
                       "gvp with %" PRId64 " groups needs length >= %" PRId64 ", got %" PRId64,
                       o->groups, o->groups + 1, s);
    }
    if (o->event_weight == CS_EVENT_MASK && o->segmentation != CS_SEGMENT_FIXED &&
        s > MASK_LENGTH) {
        return cs_fail(CS_ERR_USAGE,
                       "gvp with mask weights costs O(s^2): length %" PRId64 " exceeds %d", s,
                       MASK_LENGTH);
    }
    return CS_OK;
}

static bool given(const cs_objective *o, int64_t s, int64_t *lo, int64_t *hi)
{
    *lo = o->segmentation == CS_SEGMENT_FIXED ? fixed_boundary(s, o->groups, 0)
                                              : o->empty_prefix == CS_PREFIX_NONE;
    *hi = s;
    return true;
}

const cs_objective_row cs_row_GVP = {
    .summary = "K groups along a uniform permutation (GVP 3.2, App. B)",
    .plans = "uniform order or the sequence's own (permutation=none, GVP Table 3), K predicted "
             "groups, three segmentations",
    .source = "GVP 3.2, App. B",
    .takes = "segmentation groups permutation",
    .trained = "segmentation=mixed,groups=2",
    .form = form,
    .reads = CS_ROWS_GROUPS,
    .weighting = CS_WEIGHTS_TOKENS,
    .check = check,
    .check_length = check_length,
    .given = given,
    .count = count_plans,
    .visit = visit,
    .sample = sample,
    .pairs = pairs_of,
    .sizes = sizes_of,
    .predicted = predicted_of,
    .examples = "gvp:segmentation=fixed,groups=1 gvp:segmentation=fixed,groups=2 "
                "gvp:segmentation=fixed,groups=5 gvp:segmentation=random,groups=1 "
                "gvp:segmentation=random,groups=2 gvp:segmentation=random,groups=3 "
                "gvp:segmentation=random,groups=5 gvp:segmentation=mixed,groups=1 "
                "gvp:segmentation=mixed,groups=2 gvp:segmentation=mixed,groups=4 "
                "gvp:segmentation=fixed,groups=2,permutation=none "
                "gvp:segmentation=mixed,groups=3,permutation=none",
};
