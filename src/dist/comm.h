/** \file
 * A group of processes that work on one problem, independent of the transport of their messages.
 *
 * A transport provides one operation, `swap`. Sums and gathers are built on it in a fixed order,
 * so the same number of ranks gives the same bits. All ranks call the same operations in the same
 * order with matching sizes. If the transport fails, it ends the program on all ranks, for `swap`
 * returns no status. No operation allocates, so none fails on one rank alone. A rank that fails by
 * itself calls `end` or brings its failure to cs_comm_agree, because the others wait for it: to the
 * call of cs_comm_agree that they come to next, with no other operation before it.
 *
 * Cost in bytes that a rank of R sends, for n bytes: gather and scattered sum n (R - 1) / R, a
 * long sum twice that, in R - 1 messages each (of at most 64 KiB where something is added); a short
 * sum (up to 64 KiB) and cs_comm_agree at most n log2 R each way.
 *
 * Programs of one process pass NULL.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

typedef struct cs_comm cs_comm;

/** The two steps of PARPACK over the transport of a group (dsaupd_c and dseupd_c of arpack.h). */
typedef struct {
    /** The reverse-communication iteration. */
    void (*dsaupd)(cs_comm *c, int *ido, const char *bmat, int n, const char *which, int nev,
                   double tol, double *resid, int ncv, double *v, int ldv, int *iparam, int *ipntr,
                   double *workd, double *workl, int lworkl, int *info);
    /** The extraction of the eigenvectors. */
    void (*dseupd)(cs_comm *c, int rvec, const char *howmny, const int *select, double *d,
                   double *z, int ldz, double sigma, const char *bmat, int n, const char *which,
                   int nev, double tol, double *resid, int ncv, double *v, int ldv, int *iparam,
                   int *ipntr, double *workd, double *workl, int lworkl, int *info);
} cs_comm_arpack;

/** A group of processes, as one of its ranks has it. */
struct cs_comm {
    /** The number of this process, 0..ranks-1. */
    int rank;
    /** The number of processes. */
    int ranks;
    /** Ranks on this machine, this one included. */
    int neighbours;
    /** Belongs to the transport. */
    void *ctx;
    /** Bytes that this rank has sent to others. */
    int64_t sent;
    /** Messages that they were in: calls of `swap` that sent something. */
    int64_t messages;
    /** Processor time in `swap`, in seconds: copying, and waiting if the transport spins. */
    double seconds;
    /** A failure is known to all ranks. */
    bool agreed;
    /** Sends to one rank while it receives from another. A rank of -1 means neither, a size of 0
     * bytes sends nothing. Both sides know the sizes.
     */
    void (*swap)(cs_comm *c, int to, const void *out, int64_t out_bytes, int from, void *in,
                 int64_t in_bytes);
    /** Ends all ranks at once with this exit code. */
    void (*end)(cs_comm *c, int code);
    /** Closes the group; all ranks together, after the last operation. */
    void (*close)(cs_comm *c);
    /** NULL if the transport has no PARPACK. */
    const cs_comm_arpack *arpack;
};

/** The slice of n items that belongs to `rank`: first .. first + count - 1. */
void cs_comm_slice(const cs_comm *c, int rank, int64_t n, int64_t *first, int64_t *count);

/** Collects the slices of all ranks: `all` receives n items of `size` bytes. `mine` is the slice
 * within `all`, or does not overlap `all`.
 */
void cs_comm_gather(cs_comm *c, int64_t n, size_t size, const void *mine, void *all);

/** Collects `size` bytes from each rank: item r of `all` is that of rank r. */
void cs_comm_gather_each(cs_comm *c, size_t size, const void *mine, void *all);

/** Sums `partial` (n items of `width` doubles) over the ranks; `mine` receives the slice of this
 * rank. The order of the sum is fixed: from the rank of the slice down, and then from the last rank
 * down. `mine` is the slice within `partial`, or does not overlap `partial`.
 */
void cs_comm_scatter_sum(cs_comm *c, int64_t n, int64_t width, const double *partial, double *mine);

/** Replaces the n doubles of `x` by their sums over all ranks, the same bits on each. */
void cs_comm_sum(cs_comm *c, int64_t n, double *x);

/** Replaces the n integers of `x` by their sums over all ranks, for n up to 8,192. */
void cs_comm_add(cs_comm *c, int64_t n, int64_t *x);

/** `before` receives the sums of the n integers of `x` over the lower ranks, for n up to 16. Each
 * rank sends at most log2 R messages.
 */
void cs_comm_before(cs_comm *c, int64_t n, const int64_t *x, int64_t *before);

/** Replaces the n integers of `x` on rank 0 by their sums over all ranks; elsewhere `x` is left with
 * partial sums. Each rank sends n (R - 1) / R integers, and then its n / R sums to rank 0.
 */
void cs_comm_sum_to_first(cs_comm *c, int64_t n, int64_t *x);

/** The minimum of `mine` over the ranks. */
int64_t cs_comm_least(cs_comm *c, int64_t mine);

/** Copies `size` bytes from `mine` on rank `from` to `there` on rank 0. All ranks call it. */
void cs_comm_bring(cs_comm *c, int from, const void *mine, void *there, int64_t size);

/** Copies `size` bytes from rank 0 to all ranks. */
void cs_comm_spread(cs_comm *c, void *bytes, int64_t size);

/** Bytes of a message that is combined on its way. */
enum { CS_COMM_SHORT = 1 << 16 };

/** Adds `size` bytes of a higher rank to those of a lower one. */
typedef void (*cs_comm_join)(void *mine, const void *other, int64_t size);

/** Combines at most CS_COMM_SHORT bytes of all ranks up a binomial tree. All ranks receive the
 * result.
 */
void cs_comm_fold(cs_comm *c, void *mine, int64_t size, cs_comm_join join);

/** Combines the statuses of all ranks.
 *
 * \return CS_OK if all are CS_OK; else, on every rank, the failure of the lowest rank that failed.
 *     Its reason names that rank unless all ranks give the same one, and cs_comm.agreed is set.
 */
cs_status cs_comm_agree(cs_comm *c, cs_status status) CS_MUST_CHECK;
