/* Listed events are sorted by set. The weight of a prefix {0..n-1} goes to w_0(i, j) for all
 * i, j < n, so that one running sum over n serves all prefixes.
 */
#include "plan/position_weights.h"

#include "base/auto.h"
#include "base/threads.h"

/* The invariant part of both weights. */
static void add_invariant(const cs_pairs *pairs, double *both, double *from)
{
    const int64_t s = pairs->length;
    const double n = (double)s;
    double one = 0, two = 0; /* E[m], E[m (m - 1)] */
    for (int64_t m = 1; pairs->q && m < s; ++m) {
        one += pairs->q[m] * (double)m;
        two += pairs->q[m] * (double)m * (double)(m - 1);
    }
    const double pair = s > 1 ? n * (n - 1) : 1;
    for (int64_t i = 0; i < s; ++i) {
        for (int64_t j = 0; j < s; ++j) {
            both[i + j * s] = i == j ? one / n : two / pair;
            from[i + j * s] = i == j ? 0 : one / pair;
        }
    }
}

/* w_0 of a set that is not a prefix. */
static void add_set(const int32_t *position, int64_t size, double weight, int64_t s, double *both)
{
    for (int64_t a = 0; a < size; ++a) {
        for (int64_t b = 0; b < size; ++b) {
            both[position[a] + position[b] * s] += weight;
        }
    }
}

/* prefix[n]: weight of the prefix of n positions, n = 0..s - 1. */
static void add_prefixes(double *prefix, int64_t s, double *both)
{
    double longer = 0;
    for (int64_t last = s - 1; last >= 0; --last) { /* the larger of i and j */
        for (int64_t i = 0; i < last; ++i) {
            both[i + last * s] += longer;
            both[last + i * s] += longer;
        }
        both[last + last * s] += longer;
        longer += prefix[last];
    }
}

cs_status cs_position_weights(const cs_pairs *pairs, double *both, double *from)
{
    const int64_t s = pairs->length;
    CS_AUTO_FREE double *prefix = cs_calloc(s + 1, sizeof *prefix);
    if (!prefix) return CS_ERR_MEMORY;
    cs_status status = CS_OK;
    add_invariant(pairs, both, from);
    for (int64_t e = 0; e < pairs->events && status == CS_OK;) {
        const int64_t set = pairs->set[e];
        const cs_pairs_set given = cs_pairs_set_of(pairs, e);
        const int32_t *position = cs_pairs_positions(pairs, given);
        double whole = 0;
        for (; e < pairs->events && pairs->set[e] == set; ++e) {
            whole += pairs->weight[e];
            for (int64_t a = 0; a < given.size; ++a) {
                from[position[a] + pairs->target[e] * s] += pairs->weight[e];
            }
        }
        if (cs_pairs_is_prefix(pairs, given))
            prefix[given.size] += whole;
        else
            add_set(position, given.size, whole, s, both);
        status = cs_interrupt_check();
    }
    add_prefixes(prefix, s, both);
    return status;
}
