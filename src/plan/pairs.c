/* Lists of exact events. Permutation-invariant objectives reduce to c(m), the expected number of tokens
 * of one plan predicted from m others (sizes.c): q(m) = c(m) / sum c. Sums run in long double. */
#include "plan/pairs.h"

#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "base/vector_ops.h"
#include "plan/distributions_private.h"

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

cs_status cs_sizes_visit(const cs_objective *o, int64_t s, cs_size_fn visit, void *ctx,
                         cs_size_facts *facts)
{
    cs_size_visitor v = {visit, ctx};
    cs_size_facts local = {0};
    cs_status status = cs_objective_table(o->kind)->sizes(o, s, &v, &local);
    if (status == CS_OK && facts) *facts = local;
    return status;
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
