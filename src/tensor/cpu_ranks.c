/* Attention masks by rank become prefixes: keys sorted by vis, queries by the number of keys they
 * see.
 *
 * Sorting (value, place) pairs packed in 64 bits gives one order whatever the method; most masks
 * come sorted already (causal: positions; bidirectional: zeros), which is detected in one pass. */
#include <string.h>

#include "base/threads.h"
#include "tensor/cpu_private.h"

typedef struct {
    cs_cpu *cpu;
    cs_cpu_matrix vis, lim; /* for their sizes */
    const int32_t *visible, *limit;
} ranking;

/* Floats (4 bytes each) of one sequence in cpu->ranked: results, then keys of the sort, twice. */
static int64_t capacity(int64_t keys, int64_t queries)
{
    int64_t most = keys > queries ? keys : queries;
    return (keys + 2 * queries + 4 * most + 2 + 15) / 16 * 16;
}

/* Merge sort, from runs of one up; the result is in `a`. */
static void sort(int64_t n, uint64_t *a, uint64_t *b)
{
    bool sorted = true;
    for (int64_t i = 1; i < n && sorted; ++i) {
        sorted = a[i - 1] <= a[i];
    }
    uint64_t *from = a, *to = b;
    for (int64_t run = 1; run < n && !sorted; run *= 2) {
        for (int64_t start = 0; start < n; start += 2 * run) {
            int64_t middle = start + run < n ? start + run : n;
            int64_t end = middle + run < n ? middle + run : n;
            int64_t i = start, j = middle;
            for (int64_t k = start; k < end; ++k) {
                to[k] = j >= end || (i < middle && from[i] <= from[j]) ? from[i++] : from[j++];
            }
        }
        uint64_t *other = from;
        from = to;
        to = other;
    }
    if (from != a) {
        memcpy(a, from, (size_t)n * sizeof *a);
    }
}

/* Signed values in the order of unsigned ones, with the place below. */
static uint64_t pair(int32_t value, int64_t place)
{
    return (uint64_t)((uint32_t)value ^ 0x80000000U) << 32 | (uint64_t)place;
}

/* How many of the sorted pairs have a value of at most `limit`. */
static int32_t count_seen(int64_t n, const uint64_t *sorted, int32_t limit)
{
    const uint64_t most = pair(limit, UINT32_MAX);
    int64_t low = 0, high = n;
    while (low < high) {
        int64_t middle = (low + high) / 2;
        if (sorted[middle] <= most) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return (int32_t)low;
}

static cs_status rank_sequence(void *ctx, int64_t item)
{
    const ranking *t = ctx;
    const int64_t keys = t->vis.length, queries = t->lim.length;
    int32_t *key = (int32_t *)(void *)t->cpu->ranked + item * capacity(keys, queries);
    int32_t *query = key + keys, *seen = query + queries;
    /* the size of the buffer includes this rounding */
    uintptr_t at = ((uintptr_t)(seen + queries) + 7) / 8 * 8;
    uint64_t *a = (uint64_t *)at;
    const int32_t *vis = t->visible + item * keys, *lim = t->limit + item * queries;
    for (int64_t j = 0; j < keys; ++j) {
        a[j] = pair(vis[j], j);
    }
    sort(keys, a, a + keys);
    for (int64_t j = 0; j < keys; ++j) {
        key[j] = (int32_t)(uint32_t)a[j];
    }
    for (int64_t i = 0; i < queries; ++i) {
        query[i] = count_seen(keys, a, lim[i]);
    }
    for (int64_t i = 0; i < queries; ++i) {
        a[i] = pair(query[i], i);
    }
    sort(queries, a, a + queries);
    for (int64_t i = 0; i < queries; ++i) {
        query[i] = (int32_t)(uint32_t)a[i];
        seen[i] = (int32_t)((uint32_t)(a[i] >> 32) ^ 0x80000000U);
    }
    return CS_OK;
}

cs_status cs_cpu_rank(const cs_run *run, int vis, int lim)
{
    ranking t = {.cpu = cs_cpu_of(run),
                 .vis = cs_cpu_tensor(run, vis),
                 .lim = cs_cpu_tensor(run, lim),
                 .visible = cs_run_ints(run, vis),
                 .limit = cs_run_ints(run, lim)};
    cs_status status = cs_cpu_ranked(t.cpu, t.vis.batch * capacity(t.vis.length, t.lim.length));
    return status == CS_OK ? cs_parallel(t.vis.batch, t.cpu->threads, rank_sequence, &t) : status;
}

cs_cpu_ranks cs_cpu_ranks_of(const cs_run *run, int vis, int lim, int64_t sequence)
{
    const int64_t keys = cs_run_matrix(run, vis).length, queries = cs_run_matrix(run, lim).length;
    const int32_t *key =
        (const int32_t *)(const void *)cs_cpu_of(run)->ranked + sequence * capacity(keys, queries);
    return (cs_cpu_ranks){key, key + keys, key + keys + queries};
}
