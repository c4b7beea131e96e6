/* Exact pair distributions by closed sums over plans.
 *
 * Fixed orders (objectives.md): ar is offset-ar with a window of 1 and diverse-ar with one of t, so
 * one loop over (prefix, distance) serves all three; group-ar counts, for each prefix, the first
 * group sizes that end a group there. Permutation-invariant objectives reduce to c(m), the expected
 * number of tokens of one plan predicted from m others (sizes.c): q(m) = c(m) / sum c.
 *
 * A plan that predicts nothing (group-ar with a first group of s) has no events: it lowers
 * `predicted` and is left out of the normalisation under `mask`. Sums run in long double.
 */
#include "plan/pairs.h"

#include <inttypes.h>
#include <string.h>

#include "base/auto.h"
#include "base/mem.h"
#include "base/vector_ops.h"
#include "plan/count.h"
#include "plan/distributions_private.h"
#include "plan/offsets.h"

enum { PREFIX_EVENTS_LIMIT = 1 << 28, EVENT_BYTES = 20, SMALL_BYTES = 1 << 26 };

void cs_pairs_free(cs_pairs *pairs)
{
    cs_pool_free(&pairs->pool);
    memset(pairs, 0, sizeof *pairs);
}

cs_status cs_pairs_check_memory(int64_t s, double bytes)
{
    double available = bytes > SMALL_BYTES ? (double)cs_mem_available() : 0;
    if (available > 0 && bytes > available / 2) {
        return cs_fail(CS_ERR_MEMORY,
                       "length %" PRId64 " needs %.4g bytes for its pair distribution, more than "
                       "half of the %.4g bytes of free memory",
                       s, bytes, available);
    }
    return CS_OK;
}

cs_status cs_pairs_alloc(cs_pairs *pairs, int64_t sets, int64_t positions, int64_t events)
{
    pairs->conditioning = cs_pool_take(&pairs->pool, sets, sizeof *pairs->conditioning);
    pairs->position = cs_pool_take(&pairs->pool, positions, sizeof *pairs->position);
    CS_POOL_FIELDS(&pairs->pool, events, pairs, set, target, weight);
    return pairs->pool.status;
}

void cs_pairs_put_prefixes(cs_pairs *pairs)
{
    for (int64_t i = 0; i < pairs->length; ++i) {
        pairs->position[i] = (int32_t)i;
    }
}

cs_status cs_pairs_prefix_alloc(cs_pairs *pairs, int64_t s, double events)
{
    if (events > PREFIX_EVENTS_LIMIT) {
        return cs_fail(CS_ERR_USAGE,
                       "length %" PRId64 " needs %.3g events, but at most %d are supported", s,
                       events, PREFIX_EVENTS_LIMIT);
    }
    cs_status status = cs_pairs_check_memory(s, (events + (double)s) * EVENT_BYTES);
    if (status == CS_OK) status = cs_pairs_alloc(pairs, s, s, (int64_t)events);
    if (status == CS_OK) {
        cs_pairs_put_prefixes(pairs);
        pairs->prefixes = true;
    }
    return status;
}

void cs_pairs_add(cs_pairs *pairs, cs_pairs_set set, int64_t target, double weight)
{
    const cs_pairs_set *last = pairs->sets > 0 ? &pairs->conditioning[pairs->sets - 1] : NULL;
    if (weight > 0) {
        if (!last || last->at != set.at || last->size != set.size) {
            pairs->conditioning[pairs->sets++] = set;
        }
        pairs->set[pairs->events] = pairs->sets - 1;
        pairs->target[pairs->events] = (int32_t)target;
        pairs->weight[pairs->events] = weight;
        ++pairs->events;
    }
}

void cs_pairs_targets(const cs_pairs *pairs, double scale, double *p)
{
    cs_fill(pairs->length, scale * pairs->invariant / (double)pairs->length, p);
    for (int64_t e = 0; e < pairs->events; ++e) {
        p[pairs->target[e]] += scale * pairs->weight[e];
    }
}

/* --- one target a prefix: ar, diverse-ar, offset-ar --- */

cs_status cs_pairs_of_offsets(const cs_objective *o, int64_t s, cs_pairs *pairs)
{
    cs_distance distribution = cs_distance_of(o, s);
    bool power = distribution.kind == CS_OFFSET_POWER;
    int64_t first = o->empty_prefix == CS_PREFIX_NONE ? 1 : 0;
    int64_t prefixes = s - first;
    int64_t window = distribution.window < prefixes ? distribution.window : prefixes;
    cs_status status = cs_pairs_prefix_alloc(pairs, s, (double)prefixes * (double)window);
    /* d^-a and its running sum: the same for every prefix. */
    CS_AUTO_FREE long double *raw = status == CS_OK ? cs_calloc(2 * (s + 1), sizeof *raw) : NULL;
    if (!raw) {
        return status == CS_OK ? CS_ERR_MEMORY : status;
    }
    long double *sum = raw + s + 1;
    for (int64_t d = 1; power && d <= s; ++d) {
        raw[d] = cs_distance_raw(&distribution, s, d);
        sum[d] = sum[d - 1] + raw[d];
    }
    for (int64_t i = first; i < s; ++i) {
        int64_t left = s - i, reach = left < window ? left : window;
        for (int64_t d = 1; d <= reach; ++d) {
            long double w = power ? raw[d] / sum[left]
                                  : cs_distance_raw(&distribution, left, d) / (long double)reach;
            cs_pairs_add(pairs, (cs_pairs_set){0, i}, i + d - 1,
                         (double)(w / (long double)prefixes));
        }
    }
    pairs->predicted = (double)prefixes;
    pairs->denominator = distribution.kind == CS_OFFSET_UNIFORM ? cs_small_lcm_to(window) : 0;
    return CS_OK;
}

/* --- group-ar --- */

cs_status cs_pairs_of_groups(const cs_objective *o, int64_t s, cs_pairs *pairs)
{
    bool empty = o->empty_prefix != CS_PREFIX_NONE, mask = o->event_weight == CS_EVENT_MASK;
    int64_t firsts = o->t < s ? o->t : s; /* first-group sizes 1..firsts */
    cs_status status = cs_pairs_prefix_alloc(pairs, s, (double)s * (double)firsts);
    if (status != CS_OK) return status;
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
        cs_pairs_add(pairs, (cs_pairs_set){0}, k, (double)(firsts - k) / targets);
    }
    for (int64_t i = 1; i < s; ++i) {
        int64_t j = (i - 1) % o->t + 1; /* the one first group after which a group ends at i */
        double share = 1 / targets;
        if (mask && !empty) {
            share = 1 / ((double)(s - j) * (double)plans);
        }
        for (int64_t k = i; k < s && k - i < o->t; ++k) {
            cs_pairs_add(pairs, (cs_pairs_set){0, i}, k, share);
        }
    }
    pairs->predicted = targets / (double)firsts;
    pairs->denominator =
        mask && !empty ? cs_small_product(cs_small_product(firsts, plans), lcm) : firsts;
    return CS_OK;
}

double cs_group_predict_probability(const cs_objective *o, int64_t s)
{
    /* a first group of s leaves nothing to predict */
    bool silent = o->t >= s && o->empty_prefix == CS_PREFIX_NONE;
    return silent ? (double)(s - 1) / (double)s : 1;
}

/* --- permutation-invariant objectives --- */

typedef struct {
    double *q;
    long double sum;
} size_table;

static bool store_size(void *ctx, int64_t m, long double c)
{
    size_table *table = ctx;
    table->q[m] = (double)c;
    table->sum += c;
    return true;
}

cs_status cs_pairs_of_sizes(const cs_objective *o, int64_t s, cs_pairs *pairs)
{
    cs_size_facts facts = {0};
    cs_status status = cs_pairs_check_memory(s, (double)(s + 1) * sizeof *pairs->q);
    if (status != CS_OK) return status;
    pairs->q = cs_pool_take(&pairs->pool, s + 1, sizeof *pairs->q);
    size_table table = {.q = pairs->q};
    status = pairs->q ? cs_sizes_visit(o, s, store_size, &table, &facts) : CS_ERR_MEMORY;
    for (int64_t m = 0; m < s && status == CS_OK; ++m) {
        pairs->q[m] = (double)((long double)pairs->q[m] / table.sum);
    }
    pairs->invariant = 1;
    pairs->predicted = facts.predicted;
    pairs->denominator = facts.denominator;
    pairs->clamped = facts.clamped;
    return status;
}

cs_status cs_predicted_by_row(const cs_objective *objective, int64_t s, double *out)
{
    int64_t lo, hi;
    const cs_objective_row *row = cs_objective_table(objective->kind);
    if (row->predicted) {
        return row->predicted(objective, s, out);
    }
    if (cs_objective_given(objective, s, &lo, &hi) && lo == hi) *out = (double)(s - lo);
    return CS_OK;
}
