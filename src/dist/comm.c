/* Collective operations from sends and receives.
 *
 * Method: gathers go round a ring; a scattered sum exchanges slices pair by pair and adds them as
 * they arrive, from the next lower rank to the next higher one; a long sum is a scattered one gathered
 * (Rabenseifner, ICCS 2004, without its recursive halving); a short one climbs a binomial tree to
 * rank 0 and comes back down; sums over lower ranks are found by recursive doubling (Hillis and
 * Steele 1986).
 *
 * Nothing here allocates, so no operation fails on one rank while the others wait for it: what
 * arrives and is then added goes through a buffer on the stack, in pieces.
 *
 * Opens the MPI plug-in: from the program's folder, or in the installed lib/cospec. */
#include "dist/comm.h"

#include <assert.h>
#include <cblas.h>
#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "base/mem.h"
#include "base/plugin.h"
#include "dist/carrier.h"

static cs_status load(const char *path, const cs_carrier **out)
{
    if (!*path) {
        return cs_fail(CS_ERR_DEVICE, "--mpi: this build has no MPI: install mpicc (Debian: "
                                      "libopenmpi-dev, libparpack2-dev) and run make again");
    }
    /* Global: Open MPI's own components look for its symbols. */
    void *handle = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    void *symbol = handle ? dlsym(handle, CS_CARRIER_SYMBOL) : NULL;
    if (!symbol) {
        const char *why = dlerror();
        return cs_fail(CS_ERR_DEVICE, "--mpi: cannot load %s: %s", path,
                       why ? why : "it does not export " CS_CARRIER_SYMBOL);
    }
    cs_carrier_entry entry;
    memcpy(&entry, &symbol, sizeof entry);
    const cs_carrier *found = entry();
    if (found->version != CS_CARRIER_VERSION || found->size != (int32_t)sizeof(cs_comm)) {
        return cs_fail(CS_ERR_DEVICE,
                       "--mpi: %s was built for another version of this program (%d, not %d); "
                       "build both together",
                       path, (int)found->version, CS_CARRIER_VERSION);
    }
    *out = found;
    return CS_OK;
}

cs_status cs_comm_open_mpi(cs_comm *out)
{
    const cs_carrier *carrier = NULL;
    static const char *const places[] = {"cospec-mpi.so", "../lib/cospec/cospec-mpi.so"};
    CS_AUTO_FREE char *path = cs_path_near_program(2, places);
    cs_status status = path ? load(path, &carrier) : CS_ERR_MEMORY;
    if (status == CS_OK) {
        cs_comm made = {0};
        const char *why = carrier->open(&made);
        status = why ? cs_fail(CS_ERR_DEVICE, "--mpi: %s (%s)", why, carrier->built) : CS_OK;
        *out = made;
    }
    return status;
}

cs_status cs_comm_check_alike(cs_comm *c, const char *version)
{
    enum { SIZE = 128 };
    char mine[SIZE] = {0}, first[SIZE];
    (void)snprintf(mine, sizeof mine, "cospec %s and OpenBLAS's kernel %s", version,
                   openblas_get_corename());
    memcpy(first, mine, sizeof first);
    cs_comm_spread(c, first, SIZE);
    return cs_comm_agree(c, strcmp(first, mine) == 0
                                ? CS_OK
                                : cs_fail(CS_ERR_DEVICE,
                                          "ranks run different builds or BLAS kernels: rank 0 has "
                                          "%s, this one has %s",
                                          first, mine));
}

enum { BUFFER = CS_COMM_SHORT / sizeof(double), REASON = 1000 };

void cs_comm_slice(const cs_comm *c, int rank, int64_t n, int64_t *first, int64_t *count)
{
    int64_t whole = n / c->ranks, rest = n % c->ranks;
    *first = whole * rank + (rank < rest ? rank : rest);
    *count = whole + (rank < rest);
}

static int step(const cs_comm *c, int by)
{
    return (int)(((int64_t)c->rank + by + c->ranks) % c->ranks);
}

void cs_comm_gather(cs_comm *c, int64_t n, size_t size, const void *mine, void *all)
{
    int64_t first = 0, count = 0;
    char *to = all;
    cs_comm_slice(c, c->rank, n, &first, &count);
    if (count > 0 && mine != to + first * (int64_t)size) {
        memcpy(to + first * (int64_t)size, mine, (size_t)count * size);
    }
    /* In round t the slice of the rank t places before goes on. */
    for (int t = 0; t + 1 < c->ranks; ++t) {
        int64_t in_first = 0, in_count = 0;
        cs_comm_slice(c, step(c, -t), n, &first, &count);
        cs_comm_slice(c, step(c, -t - 1), n, &in_first, &in_count);
        c->swap(c, step(c, 1), to + first * (int64_t)size, count * (int64_t)size, step(c, -1),
                to + in_first * (int64_t)size, in_count * (int64_t)size);
    }
}

void cs_comm_gather_each(cs_comm *c, size_t size, const void *mine, void *all)
{
    cs_comm_gather(c, c->ranks, size, mine, all); /* a slice is one item */
}

static int64_t piece_of(int64_t count, int64_t at)
{
    return count <= at ? 0 : count - at < BUFFER ? count - at : BUFFER;
}

void cs_comm_scatter_sum(cs_comm *c, int64_t n, int64_t width, const double *partial, double *mine)
{
    const int64_t size = sizeof(double);
    double other[BUFFER];
    int64_t first = 0, count = 0, out_first = 0, out_count = 0;
    cs_comm_slice(c, c->rank, n, &first, &count);
    const int64_t items = count * width;
    if (items > 0 && mine != partial + first * width) {
        memcpy(mine, partial + first * width, (size_t)items * sizeof *mine);
    }
    for (int t = 1; t < c->ranks; ++t) {
        const int to = step(c, t), from = step(c, -t);
        cs_comm_slice(c, to, n, &out_first, &out_count);
        const int64_t out_items = out_count * width;
        for (int64_t at = 0; at < items || at < out_items; at += BUFFER) {
            const int64_t takes = piece_of(items, at);
            c->swap(c, to, partial + out_first * width + at, piece_of(out_items, at) * size, from,
                    other, takes * size);
            for (int64_t e = 0; e < takes; ++e) {
                mine[at + e] += other[e];
            }
        }
    }
}

void cs_comm_sum_to_first(cs_comm *c, int64_t n, int64_t *x)
{
    const int64_t size = sizeof *x;
    int64_t other[BUFFER];
    int64_t first = 0, count = 0, out_first = 0, out_count = 0;
    cs_comm_slice(c, c->rank, n, &first, &count);
    for (int t = 1; t < c->ranks; ++t) {
        const int to = step(c, t), from = step(c, -t);
        cs_comm_slice(c, to, n, &out_first, &out_count);
        for (int64_t at = 0; at < count || at < out_count; at += BUFFER) {
            const int64_t takes = piece_of(count, at);
            c->swap(c, to, x + out_first + at, piece_of(out_count, at) * size, from, other,
                    takes * size);
            for (int64_t e = 0; e < takes; ++e) {
                x[first + at + e] += other[e];
            }
        }
    }
    for (int r = 1; r < c->ranks; ++r) {
        cs_comm_slice(c, r, n, &first, &count);
        cs_comm_bring(c, r, x + first, x + first, count * size);
    }
}

void cs_comm_bring(cs_comm *c, int from, const void *mine, void *there, int64_t size)
{
    if (c->rank == 0 && from == 0) {
        if (size > 0) {
            memcpy(there, mine, (size_t)size);
        }
    } else if (c->rank == 0) {
        c->swap(c, -1, NULL, 0, from, there, size);
    } else if (c->rank == from) {
        c->swap(c, 0, mine, size, -1, NULL, 0);
    }
}

void cs_comm_spread(cs_comm *c, void *bytes, int64_t size)
{
    int top = 1;
    while (top < c->ranks) {
        top *= 2;
    }
    for (int s = top / 2; s > 0; s /= 2) {
        if (c->rank % (2 * s) == 0 && c->rank + s < c->ranks) {
            c->swap(c, c->rank + s, bytes, size, -1, NULL, 0);
        } else if (c->rank % (2 * s) == s) {
            c->swap(c, -1, NULL, 0, c->rank - s, bytes, size);
        }
    }
}

void cs_comm_fold(cs_comm *c, void *mine, int64_t size, cs_comm_join join)
{
    _Alignas(max_align_t) char other[CS_COMM_SHORT];
    assert(size <= CS_COMM_SHORT);
    for (int s = 1; s < c->ranks; s *= 2) {
        if (c->rank % (2 * s) == s) {
            c->swap(c, c->rank - s, mine, size, -1, NULL, 0);
            break;
        }
        if (c->rank + s < c->ranks) {
            c->swap(c, -1, NULL, 0, c->rank + s, other, size);
            join(mine, other, size);
        }
    }
    cs_comm_spread(c, mine, size);
}

static void add_doubles(void *mine, const void *other, int64_t size)
{
    double *x = mine;
    const double *more = other;
    for (int64_t e = 0; e < size / (int64_t)sizeof *x; ++e) {
        x[e] += more[e];
    }
}

static void add_integers(void *mine, const void *other, int64_t size)
{
    int64_t *x = mine;
    const int64_t *more = other;
    for (int64_t e = 0; e < size / (int64_t)sizeof *x; ++e) {
        x[e] += more[e];
    }
}

static void take_least(void *mine, const void *other, int64_t size)
{
    int64_t *x = mine;
    const int64_t *more = other;
    (void)size;
    *x = *more < *x ? *more : *x;
}

void cs_comm_sum(cs_comm *c, int64_t n, double *x)
{
    if (n <= BUFFER) {
        cs_comm_fold(c, x, n * (int64_t)sizeof *x, add_doubles);
        return;
    }
    int64_t first = 0, count = 0;
    cs_comm_slice(c, c->rank, n, &first, &count);
    cs_comm_scatter_sum(c, n, 1, x, x + first);
    cs_comm_gather(c, n, sizeof *x, x + first, x);
}

void cs_comm_add(cs_comm *c, int64_t n, int64_t *x)
{
    cs_comm_fold(c, x, n * (int64_t)sizeof *x, add_integers);
}

void cs_comm_before(cs_comm *c, int64_t n, const int64_t *x, int64_t *before)
{
    enum { MOST = 16 };
    const int64_t size = n * (int64_t)sizeof *x;
    int64_t sum[MOST], other[MOST];
    assert(n <= MOST);
    for (int64_t e = 0; e < n; ++e) {
        sum[e] = x[e];
        before[e] = 0;
    }
    for (int s = 1; s < c->ranks; s *= 2) { /* `sum` is of this rank and the s - 1 before it */
        const int to = c->rank + s < c->ranks ? c->rank + s : -1;
        const int from = c->rank >= s ? c->rank - s : -1;
        c->swap(c, to, sum, size, from, other, size);
        if (from >= 0) {
            add_integers(sum, other, size);
            add_integers(before, other, size);
        }
    }
}

int64_t cs_comm_least(cs_comm *c, int64_t mine)
{
    cs_comm_fold(c, &mine, sizeof mine, take_least);
    return mine;
}

/* The state of a rank; of several, that of the lowest that failed. */
typedef struct {
    int code, rank;
    int alike; /* every rank that was asked says the same */
    char reason[REASON];
} state;

static void join(void *to, const void *from, int64_t size)
{
    state *mine = to;
    const state *other = from;
    (void)size;
    bool same = mine->alike && other->alike && mine->code == other->code &&
                strcmp(mine->reason, other->reason) == 0;
    if (mine->code == CS_OK) {
        *mine = *other;
    }
    mine->alike = same;
}

cs_status cs_comm_agree(cs_comm *c, cs_status status)
{
    state mine = {.code = (int)status, .rank = c->rank, .alike = 1};
    if (status != CS_OK) (void)snprintf(mine.reason, sizeof mine.reason, "%s", cs_reason());
    cs_comm_fold(c, &mine, sizeof mine, join);
    if (mine.code == CS_OK) return CS_OK;
    c->agreed = true;
    cs_reason_clear();
    return mine.alike ? cs_fail((cs_status)mine.code, "%s", mine.reason)
                      : cs_fail((cs_status)mine.code, "rank %d of %d: %s", mine.rank, c->ranks,
                                mine.reason);
}
