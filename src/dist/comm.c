/* Collective operations from sends and receives.
 *
 * Method: gathers go round a ring; a scattered sum exchanges slices pair by pair and adds them in
 * the order of the ranks; a long sum is a scattered one gathered (Rabenseifner, ICCS 2004, without
 * its recursive halving, whose order of addition would depend on the rank); a short one climbs a
 * binomial tree to rank 0 and comes back down.
 *
 * Opens the MPI plug-in: from the program's folder, or in the installed lib/cospec. */
#include "dist/comm.h"

#include <cblas.h>
#include <dlfcn.h>
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
    char mine[SIZE] = {0};
    (void)snprintf(mine, sizeof mine, "cospec %s and OpenBLAS's kernel %s", version,
                   openblas_get_corename());
    CS_AUTO_FREE char *all = cs_alloc(c->ranks, SIZE);
    cs_status status = all ? CS_OK : CS_ERR_MEMORY;
    if (status == CS_OK) cs_comm_gather_each(c, SIZE, mine, all);
    for (int r = 1; status == CS_OK && r < c->ranks; ++r) {
        if (strcmp(all, all + (ptrdiff_t)r * SIZE) != 0) {
            status =
                cs_fail(CS_ERR_DEVICE,
                        "ranks run different builds or BLAS kernels: rank 0 has %s, rank %d has %s",
                        all, r, all + (ptrdiff_t)r * SIZE);
            c->agreed = true;
        }
    }
    return status;
}

enum { SHORT_SUM = 8192 /* doubles */, REASON = 1000 };

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
    if (count > 0) {
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

cs_status cs_comm_scatter_sum(cs_comm *c, int64_t n, int64_t width, const double *partial,
                              double *mine)
{
    int64_t first = 0, count = 0, out_first = 0, out_count = 0;
    cs_comm_slice(c, c->rank, n, &first, &count);
    int64_t items = count * width, size = (int64_t)sizeof(double);
    CS_AUTO_FREE double *work = cs_alloc(items * c->ranks, sizeof *work);
    if (!work) return CS_ERR_MEMORY;
    for (int t = 1; t < c->ranks; ++t) {
        int to = step(c, t), from = step(c, -t);
        cs_comm_slice(c, to, n, &out_first, &out_count);
        c->swap(c, to, partial + out_first * width, out_count * width * size, from,
                work + from * items, items * size);
    }
    for (int r = 0; r < c->ranks; ++r) {
        const double *part = r == c->rank ? partial + first * width : work + r * items;
        for (int64_t e = 0; e < items; ++e) {
            mine[e] = r == 0 ? part[e] : mine[e] + part[e];
        }
    }
    return CS_OK;
}

cs_status cs_comm_sum_to_first(cs_comm *c, int64_t n, int64_t *x)
{
    const int64_t size = (int64_t)sizeof *x;
    int64_t first = 0, count = 0, out_first = 0, out_count = 0;
    cs_comm_slice(c, c->rank, n, &first, &count);
    CS_AUTO_FREE int64_t *work = cs_alloc(count, sizeof *work);
    if (!work) return CS_ERR_MEMORY;
    for (int t = 1; t < c->ranks; ++t) {
        const int to = step(c, t), from = step(c, -t);
        cs_comm_slice(c, to, n, &out_first, &out_count);
        c->swap(c, to, x + out_first, out_count * size, from, work, count * size);
        for (int64_t e = 0; e < count; ++e) {
            x[first + e] += work[e];
        }
    }
    for (int r = 1; r < c->ranks; ++r) {
        cs_comm_slice(c, r, n, &first, &count);
        cs_comm_bring(c, r, x + first, x + first, count * size);
    }
    return CS_OK;
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

cs_status cs_comm_fold(cs_comm *c, void *mine, int64_t size,
                       void (*join)(void *mine, const void *other))
{
    CS_AUTO_FREE void *other = cs_alloc(size, 1);
    if (!other) return CS_ERR_MEMORY;
    for (int s = 1; s < c->ranks; s *= 2) {
        if (c->rank % (2 * s) == s) {
            c->swap(c, c->rank - s, mine, size, -1, NULL, 0);
            break;
        }
        if (c->rank + s < c->ranks) {
            c->swap(c, -1, NULL, 0, c->rank + s, other, size);
            join(mine, other);
        }
    }
    cs_comm_spread(c, mine, size);
    return CS_OK;
}

/* Up the tree; what comes from above is added to what is there. */
static cs_status short_sum(cs_comm *c, int64_t n, double *x)
{
    int64_t size = n * (int64_t)sizeof *x;
    CS_AUTO_FREE double *other = cs_alloc(n, sizeof *other);
    if (!other) return CS_ERR_MEMORY;
    for (int s = 1; s < c->ranks; s *= 2) {
        if (c->rank % (2 * s) == s) {
            c->swap(c, c->rank - s, x, size, -1, NULL, 0);
            break;
        }
        if (c->rank + s < c->ranks) {
            c->swap(c, -1, NULL, 0, c->rank + s, other, size);
            for (int64_t e = 0; e < n; ++e) {
                x[e] += other[e];
            }
        }
    }
    cs_comm_spread(c, x, size);
    return CS_OK;
}

cs_status cs_comm_sum(cs_comm *c, int64_t n, double *x)
{
    if (n <= SHORT_SUM) {
        return short_sum(c, n, x);
    }
    int64_t first = 0, count = 0;
    cs_comm_slice(c, c->rank, n, &first, &count);
    CS_AUTO_FREE double *mine = cs_alloc(count, sizeof *mine);
    cs_status status = mine ? cs_comm_scatter_sum(c, n, 1, x, mine) : CS_ERR_MEMORY;
    if (status == CS_OK) cs_comm_gather(c, n, sizeof *x, mine, x);
    return status;
}

cs_status cs_comm_least(cs_comm *c, int64_t mine, int64_t *least)
{
    CS_AUTO_FREE int64_t *all = cs_alloc(c->ranks, sizeof *all);
    if (!all) return CS_ERR_MEMORY;
    cs_comm_gather_each(c, sizeof mine, &mine, all);
    *least = all[0];
    for (int r = 1; r < c->ranks; ++r) {
        *least = all[r] < *least ? all[r] : *least;
    }
    return CS_OK;
}

/* The state of a rank; of several, that of the lowest that failed. */
typedef struct {
    int code, rank;
    int alike; /* every rank that was asked says the same */
    char reason[REASON];
} state;

static void join(state *mine, const state *other)
{
    bool same = mine->alike && other->alike && mine->code == other->code &&
                strcmp(mine->reason, other->reason) == 0;
    if (mine->code == CS_OK) {
        *mine = *other;
    }
    mine->alike = same;
}

cs_status cs_comm_agree(cs_comm *c, cs_status status)
{
    state mine = {.code = (int)status, .rank = c->rank, .alike = 1}, other;
    if (status != CS_OK) (void)snprintf(mine.reason, sizeof mine.reason, "%s", cs_reason());
    for (int s = 1; s < c->ranks; s *= 2) {
        if (c->rank % (2 * s) == s) {
            c->swap(c, c->rank - s, &mine, (int64_t)sizeof mine, -1, NULL, 0);
            break;
        }
        if (c->rank + s < c->ranks) {
            c->swap(c, -1, NULL, 0, c->rank + s, &other, (int64_t)sizeof other);
            join(&mine, &other);
        }
    }
    cs_comm_spread(c, &mine, (int64_t)sizeof mine);
    if (mine.code == CS_OK) return CS_OK;
    c->agreed = true;
    cs_reason_clear();
    return mine.alike ? cs_fail((cs_status)mine.code, "%s", mine.reason)
                      : cs_fail((cs_status)mine.code, "rank %d of %d: %s", mine.rank, c->ranks,
                                mine.reason);
}
