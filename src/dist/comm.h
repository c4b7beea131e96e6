/* A group of processes that work on one problem, whatever carries their messages.
 *
 * A carrier offers one operation, `swap`; sums and gathers are built from it here, in a fixed
 * order, so that the same number of ranks gives the same bits. All ranks call the same operations
 * in the same order with sizes that fit. A carrier that fails ends the program on all ranks: `swap`
 * has no status. A rank that fails by itself must call `end`, or bring its failure to
 * cs_comm_agree: the others would wait for it.
 *
 * Cost in bytes sent by a rank, of R: gather and scattered sum of n bytes n (R - 1) / R, a long sum
 * twice that, in R - 1 messages each; a short sum (below 64 KiB) and agreement at most n log2 R
 * each way.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

typedef struct cs_comm cs_comm;

/* The two steps of PARPACK (dsaupd_c and dseupd_c of arpack.h) over the group's carrier. */
typedef struct {
    void (*dsaupd)(cs_comm *c, int *ido, const char *bmat, int n, const char *which, int nev,
                   double tol, double *resid, int ncv, double *v, int ldv, int *iparam, int *ipntr,
                   double *workd, double *workl, int lworkl, int *info);
    void (*dseupd)(cs_comm *c, int rvec, const char *howmny, const int *select, double *d,
                   double *z, int ldz, double sigma, const char *bmat, int n, const char *which,
                   int nev, double tol, double *resid, int ncv, double *v, int ldv, int *iparam,
                   int *ipntr, double *workd, double *workl, int lworkl, int *info);
} cs_comm_arpack;

struct cs_comm {
    int rank, ranks;
    int neighbours; /* ranks on this machine, this one among them */
    void *ctx;      /* of the carrier */
    int64_t sent;   /* bytes that this rank sent to others */
    double seconds; /* of the processor in swaps: copying, and waiting where the carrier spins */
    bool agreed;    /* a failure is known to all ranks */

    /* Sends to one rank while it receives from another; -1 for neither, 0 bytes for nothing. The
     * sizes are known to both sides. */
    void (*swap)(cs_comm *c, int to, const void *out, int64_t out_bytes, int from, void *in,
                 int64_t in_bytes);
    void (*end)(cs_comm *c, int code); /* ends all ranks now with this exit code */
    void (*close)(cs_comm *c);         /* all ranks together, after the last operation */
    const cs_comm_arpack *arpack;      /* NULL where the carrier has none */
};

/* Slice `rank` of n items: first .. first + count - 1. */
void cs_comm_slice(const cs_comm *c, int rank, int64_t n, int64_t *first, int64_t *count);

/* all (n items of `size` bytes) from the slices of the ranks; `mine` is not within `all`. */
void cs_comm_gather(cs_comm *c, int64_t n, size_t size, const void *mine, void *all);

/* all[r] = what rank r has in `mine`, `size` bytes each. */
void cs_comm_gather_each(cs_comm *c, size_t size, const void *mine, void *all);

/* mine = the sum of all ranks' `partial` (n items of `width` doubles) on this rank's slice, added
 * in the order of the ranks. Scratch of n width doubles; CS_ERR_MEMORY. */
cs_status cs_comm_scatter_sum(cs_comm *c, int64_t n, int64_t width, const double *partial,
                              double *mine) CS_MUST_CHECK;

/* x (n doubles) becomes the sum over all ranks, the same bits on each. CS_ERR_MEMORY. */
cs_status cs_comm_sum(cs_comm *c, int64_t n, double *x) CS_MUST_CHECK;

/* The least of the ranks' values. CS_ERR_MEMORY. */
cs_status cs_comm_least(cs_comm *c, int64_t mine, int64_t *least) CS_MUST_CHECK;

/* The `size` bytes that rank `from` has in `mine` go to `there` on rank 0; collective. */
void cs_comm_bring(cs_comm *c, int from, const void *mine, void *there, int64_t size);

/* What rank 0 has in `bytes` goes to all. */
void cs_comm_spread(cs_comm *c, void *bytes, int64_t size);

/* Brings the ranks' states together: CS_OK when all are. Else every rank returns the failure of the
 * lowest that failed, whose reason says which rank it was unless all say the same, and c->agreed is
 * set. */
cs_status cs_comm_agree(cs_comm *c, cs_status status) CS_MUST_CHECK;
