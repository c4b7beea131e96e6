/* Exact pair distributions by closed sums over plans.
 *
 * Fixed orders (theory.md 1): ar is offset-ar with a window of 1 and diverse-ar with one of t, so
 * one loop over (prefix, distance) serves all three; group-ar counts, for each prefix, the first
 * group sizes that end a group there. Permutation-invariant objectives reduce to c(m), the expected
 * number of tokens of one plan predicted from m others: q(m) = c(m) / sum c. Under `mask` weights
 * c(m) shares the plan's weight among its tokens.
 *
 * A plan that predicts nothing (group-ar with a first group of s, a Bernoulli mask of nothing, or
 * of everything without an empty prefix) has no events: it lowers `predicted` and is left out of
 * the normalisation under `mask`. Sums of up to 10^6 terms run in long double.
 */
#include "plan/pairs.h"

#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "plan/count.h"
#include "plan/distance.h"
#include "plan/gvp.h"
#include "plan/pairs_sets.h"

enum { PREFIX_EVENTS_LIMIT = 1 << 28 }; /* events of 20 bytes each */

void cs_pairs_free(cs_pairs *pairs)
{
    cs_free(pairs->set);
    cs_free(pairs->target);
    cs_free(pairs->weight);
    cs_free(pairs->q);
    cs_free(pairs->set_ptr);
    cs_free(pairs->set_pos);
    memset(pairs, 0, sizeof *pairs);
}

cs_status cs_pairs_events_init(cs_pairs *pairs, int64_t events)
{
    pairs->set = cs_alloc(events, sizeof *pairs->set);
    pairs->target = cs_alloc(events, sizeof *pairs->target);
    pairs->weight = cs_alloc(events, sizeof *pairs->weight);
    return pairs->set && pairs->target && pairs->weight ? CS_OK : CS_ERR_MEMORY;
}

static cs_status prefix_room(cs_pairs *pairs, int64_t s, double events)
{
    pairs->form = CS_PAIRS_PREFIX;
    if (events > PREFIX_EVENTS_LIMIT) {
        return cs_fail(CS_ERR_USAGE, "length %" PRId64 " needs %.3g events, more than %d", s,
                       events, PREFIX_EVENTS_LIMIT);
    }
    return cs_pairs_events_init(pairs, (int64_t)events);
}

static void add_prefix_event(cs_pairs *pairs, int64_t prefix, int64_t target, double weight)
{
    if (weight > 0) {
        pairs->set[pairs->events] = prefix;
        pairs->target[pairs->events] = (int32_t)target;
        pairs->weight[pairs->events] = weight;
        ++pairs->events;
    }
}

/* --- one target a prefix: ar, diverse-ar, offset-ar --- */

static cs_status offset_pairs(const cs_objective *o, int64_t s, cs_pairs *pairs)
{
    cs_distance law = cs_distance_of(o, s);
    bool power = law.kind == CS_OFFSET_POWER;
    int64_t first = o->empty_prefix == CS_PREFIX_NONE ? 1 : 0;
    int64_t prefixes = s - first;
    int64_t window = law.window < prefixes ? law.window : prefixes;
    cs_status status = prefix_room(pairs, s, (double)prefixes * (double)window);
    /* d^-a and its running sum: the same for every prefix. */
    long double *raw = status == CS_OK ? cs_calloc(2 * (s + 1), sizeof *raw) : NULL;
    if (!raw) {
        return status == CS_OK ? CS_ERR_MEMORY : status;
    }
    long double *sum = raw + s + 1;
    for (int64_t d = 1; power && d <= s; ++d) {
        raw[d] = cs_distance_raw(&law, s, d);
        sum[d] = sum[d - 1] + raw[d];
    }
    for (int64_t i = first; i < s; ++i) {
        int64_t left = s - i, reach = left < window ? left : window;
        for (int64_t d = 1; d <= reach; ++d) {
            long double w =
                power ? raw[d] / sum[left] : cs_distance_raw(&law, left, d) / (long double)reach;
            add_prefix_event(pairs, i, i + d - 1, (double)(w / (long double)prefixes));
        }
    }
    cs_free(raw);
    pairs->predicted = (double)prefixes;
    pairs->denominator = law.kind == CS_OFFSET_UNIFORM ? cs_small_lcm_to(window) : 0;
    return CS_OK;
}

/* --- group-ar --- */

static cs_status group_pairs(const cs_objective *o, int64_t s, cs_pairs *pairs)
{
    bool empty = o->empty_prefix != CS_PREFIX_NONE, mask = o->event_weight == CS_EVENT_MASK;
    int64_t firsts = o->t < s ? o->t : s; /* first-group sizes 1..firsts */
    cs_status status = prefix_room(pairs, s, (double)s * (double)firsts);
    if (status != CS_OK) {
        return status;
    }
    /* Without an empty prefix the plan of first group j predicts s - j tokens, else all s. */
    double targets = 0;
    int64_t plans = 0, lcm = 1;
    for (int64_t j = 1; j <= firsts; ++j) {
        int64_t predicted = empty ? s : s - j;
        targets += (double)predicted;
        plans += predicted > 0;
        lcm = predicted > 0 ? cs_small_lcm(lcm, predicted) : lcm;
    }
    for (int64_t k = 0; empty && k < firsts; ++k) {
        /* The first group is longer than k in firsts - k plans of s tokens each. */
        add_prefix_event(pairs, 0, k, (double)(firsts - k) / targets);
    }
    for (int64_t i = 1; i < s; ++i) {
        int64_t j = (i - 1) % o->t + 1; /* the one first group after which a group ends at i */
        double share = 1 / targets;
        if (mask && !empty) {
            share = 1 / ((double)(s - j) * (double)plans);
        }
        for (int64_t k = i; k < s && k - i < o->t; ++k) {
            add_prefix_event(pairs, i, k, share);
        }
    }
    pairs->predicted = targets / (double)firsts;
    pairs->denominator =
        mask && !empty ? cs_small_product(cs_small_product(firsts, plans), lcm) : firsts;
    return CS_OK;
}

/* --- permutation-invariant objectives --- */

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

static cs_status unmasked_sizes(const cs_objective *o, int64_t s, long double *c, cs_pairs *pairs)
{
    int64_t lo, hi;
    cs_status status = cs_objective_unmasked(o, s, &lo, &hi);
    if (status != CS_OK) {
        return status;
    }
    int64_t count = hi - lo + 1;
    bool mask = o->event_weight == CS_EVENT_MASK;
    long double targets = 0;
    for (int64_t m = lo; m <= hi; ++m) {
        targets += (long double)(s - m);
        c[m] = mask ? 1 : (long double)(s - m);
    }
    pairs->predicted = (double)(targets / (long double)count);
    bool shared = mask && count > 1;
    int64_t scale = shared ? cs_small_product(count, count) : count;
    pairs->denominator = cs_small_product(scale, binomial_lcm(s, lo, hi, shared));
    return CS_OK;
}

/* The binomial law of m from its mode outwards, by ratios: no logarithms, no underflow where it
 * matters. */
static void bernoulli_sizes(const cs_objective *o, int64_t s, long double *c, cs_pairs *pairs)
{
    long double rho = o->mask_ratio_lo, odds = (1 - rho) / rho, sum = 0, targets = 0;
    int64_t mode = (int64_t)((long double)(s + 1) * (1 - rho));
    mode = mode > s ? s : mode;
    c[mode] = 1;
    for (int64_t m = mode; m < s; ++m) {
        c[m + 1] = c[m] * odds * (long double)(s - m) / (long double)(m + 1);
    }
    for (int64_t m = mode; m > 0; --m) {
        c[m - 1] = c[m] * (long double)m / (odds * (long double)(s - m + 1));
    }
    for (int64_t m = 0; m <= s; ++m) {
        sum += c[m];
    }
    c[s] = 0;
    if (o->empty_prefix == CS_PREFIX_NONE) {
        c[0] = 0;
    }
    for (int64_t m = 0; m < s; ++m) {
        long double tokens = c[m] * (long double)(s - m);
        targets += tokens;
        c[m] = o->event_weight == CS_EVENT_MASK ? c[m] : tokens;
    }
    pairs->predicted = (double)(targets / sum);
}

static void permuted_sizes(const cs_objective *o, int64_t s, long double *c, cs_pairs *pairs)
{
    int64_t first = o->empty_prefix == CS_PREFIX_NONE ? 1 : 0;
    for (int64_t m = first; m < s; ++m) {
        c[m] = 1;
    }
    pairs->predicted = (double)(s - first);
    pairs->denominator = cs_small_lcm_to(s); /* C(s, m) (s - m) = s C(s-1, m) */
}

static cs_status gvp_sizes(const cs_objective *o, int64_t s, long double *c, cs_pairs *pairs)
{
    long double predicted;
    cs_status status = cs_gvp_sizes(o, s, c, &predicted, &pairs->clamped);
    pairs->predicted = (double)predicted;
    if (status != CS_OK) {
        return status;
    }
    if (o->segmentation == CS_SEGMENT_FIXED) {
        pairs->denominator = 1;
        for (int64_t i = 0; i < o->groups && pairs->denominator > 0; ++i) {
            int64_t m = cs_gvp_fixed(s, o->groups, i), gap = cs_gvp_fixed(s, o->groups, i + 1) - m;
            int64_t events = cs_small_product(cs_small_binomial(s, m), s - m);
            int64_t each = events > 0 ? events / cs_gcd(events, gap) : 0;
            pairs->denominator = cs_small_lcm(pairs->denominator, each);
        }
    } else if (o->segmentation == CS_SEGMENT_RANDOM && o->event_weight == CS_EVENT_TOKEN) {
        pairs->denominator =
            cs_small_product(cs_small_binomial(s - 1, o->groups), cs_small_lcm_to(s));
    }
    return CS_OK;
}

static cs_status invariant_pairs(const cs_objective *o, int64_t s, cs_pairs *pairs)
{
    cs_status status = CS_OK;
    pairs->form = CS_PAIRS_INVARIANT;
    pairs->q = cs_calloc(s + 1, sizeof *pairs->q);
    long double *c = cs_calloc(s + 1, sizeof *c);
    if (!pairs->q || !c) {
        status = CS_ERR_MEMORY;
        goto done;
    }
    if (o->kind == CS_OBJ_PERMUTED_AR) {
        permuted_sizes(o, s, c, pairs);
    } else if (o->kind == CS_OBJ_BERNOULLI_MASKED) {
        bernoulli_sizes(o, s, c, pairs);
    } else if (o->kind == CS_OBJ_GVP) {
        status = gvp_sizes(o, s, c, pairs);
    } else {
        status = unmasked_sizes(o, s, c, pairs);
    }
    long double sum = 0;
    for (int64_t m = 0; m < s; ++m) {
        sum += c[m];
    }
    for (int64_t m = 0; m < s; ++m) {
        pairs->q[m] = (double)(c[m] / sum);
    }
done:
    cs_free(c);
    return status;
}

cs_status cs_pairs_of(const cs_objective *objective, int64_t s, cs_pairs *out)
{
    cs_status status = cs_objective_check(objective);
    if (status == CS_OK) {
        status = cs_objective_check_length(objective, s);
    }
    if (status != CS_OK) {
        return status;
    }
    cs_pairs pairs = {.length = s};
    if (objective->kind == CS_OBJ_FILE) {
        status = cs_pairs_of_file(objective, s, &pairs);
    } else if (objective->kind == CS_OBJ_GROUP_AR) {
        status = group_pairs(objective, s, &pairs);
    } else if (cs_objective_table(objective->kind)->fixed_order) {
        status = offset_pairs(objective, s, &pairs);
    } else {
        status = invariant_pairs(objective, s, &pairs);
    }
    if (status != CS_OK) {
        cs_pairs_free(&pairs);
        return status;
    }
    *out = pairs;
    return CS_OK;
}
