/* The distribution of GVP's conditioning sizes, summed exactly. */
#include "plan/gvp.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/auto.h"
#include "base/mem.h"
#include "plan/count.h"
#include "plan/distributions_private.h"

static const double mixed_mean = 0.5, mixed_sd = 0.1;

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

int64_t cs_gvp_draw_last(int64_t s, int64_t groups, cs_rng *rng)
{
    double n = round((mixed_mean + mixed_sd * cs_rng_normal(rng)) * (double)s);
    if (n < (double)groups) {
        return groups;
    }
    return n > (double)(s - 1) ? s - 1 : (int64_t)n;
}

/* c(m) = last(m) (s-m) + sum_{j >= m} G(j),
 * G(j) = C(j-1, K-2) sum_{N > j} last(N) / C(N-1, K-1). */
cs_gvp_draw cs_gvp_draw_start(const cs_objective *objective, int64_t s)
{
    cs_gvp_draw distribution = {
        .objective = objective, .s = s, .m = s, .predicted = (long double)s};
    clamped_ends(objective, s, &distribution.below, &distribution.above);
    distribution.clamped = distribution.below + distribution.above;
    return distribution;
}

bool cs_gvp_draw_next(cs_gvp_draw *distribution)
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

cs_status cs_gvp_mask_sizes(const cs_objective *objective, int64_t s, long double *c,
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

/* s - E n_0, whatever the order and the weights. */
cs_status cs_predicted_gvp(const cs_objective *o, int64_t s, double *out)
{
    if (o->segmentation == CS_SEGMENT_FIXED) {
        *out = (double)(s - cs_gvp_fixed(s, o->groups, 0));
        return CS_OK;
    }
    cs_gvp_draw distribution = cs_gvp_draw_start(o, s);
    while (cs_gvp_draw_next(&distribution)) {
    }
    *out = (double)distribution.predicted;
    return CS_OK;
}

cs_pairs_form cs_form_gvp(const cs_objective *o)
{
    return o->permutation == CS_PERMUTE_NONE ? CS_PAIRS_SETS : CS_PAIRS_INVARIANT;
}

cs_status cs_check_gvp_length(const cs_objective *o, int64_t s)
{
    if (s <= o->groups) {
        return cs_fail(CS_ERR_USAGE,
                       "gvp with %" PRId64 " groups needs length >= %" PRId64 ", got %" PRId64,
                       o->groups, o->groups + 1, s);
    }
    if (o->event_weight == CS_EVENT_MASK && o->segmentation != CS_SEGMENT_FIXED &&
        s > CS_GVP_MASK_LENGTH) {
        return cs_fail(CS_ERR_USAGE,
                       "gvp with mask weights costs O(s^2): length %" PRId64 " exceeds %d", s,
                       CS_GVP_MASK_LENGTH);
    }
    return CS_OK;
}

bool cs_given_gvp(const cs_objective *o, int64_t s, int64_t *lo, int64_t *hi)
{
    *lo = o->segmentation == CS_SEGMENT_FIXED ? cs_gvp_fixed(s, o->groups, 0)
                                              : o->empty_prefix == CS_PREFIX_NONE;
    *hi = s;
    return true;
}
