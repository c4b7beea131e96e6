/* Truncated singular value decomposition of an operator, by a named solver, never trusted: the
 * residuals are recomputed here through the operator, whatever the solver claims.
 *
 *   A v_j = sigma_j u_j,  A^T u_j = sigma_j v_j,
 *   residual_j = max(||A v_j - sigma_j u_j||_2, ||A^T u_j - sigma_j v_j||_2)
 *
 * lapack    dense gesdd, every singular value, floor max(m, n) eps sigma_1; the Gram matrix of the
 *           smaller side when the dense copy is above the limit and that side at most 4,000, floor
 *           sqrt(max(m, n) eps) sigma_1
 * arpack    ARPACK-NG dsaupd on B^T B of the smaller side, then a probe for missed copies of
 *           multiple values; floor sqrt(max(m, n) eps) sigma_1. ARPACK keeps global state: one
 *           caller at a time (a lock inside). k < min(m, n).
 * block     own block Lanczos on B^T B of the smaller side, with fresh random blocks while copies
 *           may be missing (svd_block.c); floor sqrt(max(m, n) eps) sigma_1, but when a wanted
 *           value is below 1e-6, 4 eps / tol or twice the floor (of sigma_1): block Golub-Kahan on
 *           B, floor max(m, n) eps sigma_1. The seed fixes the bits, whatever the threads.
 *           Interrupted, it gives the triplets that have converged.
 * cusolver  on a GPU: dense Xgesvd, or the Gram matrix where that does not fit into its memory
 *           (svd_gpu.c); floors as lapack's. auto, block and cusolver are what a GPU can do.
 * auto      lapack (on a GPU: cusolver) when the copy is allowed and m n min(m, n) <= 4e9 or
 *           k > min(m, n) / 4; lapack by the Gram matrix when the copy is not allowed,
 *           min(m, n) <= 4,000 and k > min(m, n) / 4; otherwise block
 */
#pragma once

#include <stdint.h>

#include "base/progress.h"
#include "base/status.h"
#include "dist/comm.h"
#include "linalg/dense.h"
#include "linalg/linop.h"

typedef enum {
    CS_SOLVER_AUTO,
    CS_SOLVER_LAPACK,
    CS_SOLVER_ARPACK,
    CS_SOLVER_BLOCK,
    CS_SOLVER_CUSOLVER
} cs_solver;

cs_status cs_solver_by_name(const char *name,
                            cs_solver *out) CS_MUST_CHECK; /* "auto", "lapack", "arpack", "block",
                                                              "cusolver" */
const char *cs_solver_name(cs_solver solver);

typedef struct {
    int64_t k; /* triplets wanted, 1..min(rows, cols); fewer come back when the rank is smaller */
    cs_solver solver;
    double tol;             /* wanted residual relative to sigma_1; 0: 1e-12 */
    int64_t max_iterations; /* 0: solver's default */
    uint64_t seed;          /* start vector */
    int64_t dense_limit;    /* most elements of a dense copy; 0: 2^27 (1 GiB) or a quarter of free
                               memory */
    const cs_progress *progress;
    bool unchecked; /* the caller takes the residuals, through an operator of its own, and their
                       verdict: residual stays NULL */

    /* block only */
    int threads;        /* 0: cs_threads(); bits do not depend on it */
    int64_t memory;     /* most bytes of the Krylov basis; 0: 4 GiB or a quarter of free memory */
    struct cs_gpu *gpu; /* where block and cusolver compute (linalg/gpu.h); NULL: on the CPU */
    /* arpack only, through cs_svd_arpack: the operator is a group's. Its sizes are those of the
     * vectors' parts here, rows >= cols together, and so are those of the results; the group's
     * PARPACK runs in the place of ARPACK. NULL: one process. */
    cs_comm *comm;

    const cs_dense *start; /* guess of the singular vectors of the smaller side (right ones when
                              rows >= cols): any number of columns, not 0; NULL: none */
} cs_svd_options;

typedef struct {
    int64_t k;        /* triplets returned */
    double *sigma;    /* k, descending */
    double *residual; /* k, absolute, two-sided, recomputed */
    cs_dense u, v;    /* rows x k, cols x k */
    cs_solver solver; /* the one that ran */
    double floor;     /* singular values below it cannot be told from 0 by this solver */
    bool converged;   /* all wanted triplets reached tol; otherwise these are the best ones known */
    int64_t iterations, applications; /* solver iterations; operator columns applied */
    bool interrupted; /* the block solver was: these, the first that had converged by then */
} cs_svd;

void cs_svd_free(cs_svd *svd);

/* The k largest triplets above the solver's floor. Not converged is not a failure: *out holds the
 * triplets that did converge (maybe none) with converged = false, also when a recomputed residual
 * is above tol sigma_1; or when the block solver was interrupted. CS_ERR_USAGE names an option out
 * of range, or k = min(m, n) asked of arpack; CS_ERR_INPUT a value that is not finite;
 * CS_ERR_MEMORY a dense copy or a basis above the limit, or what a GPU has no room for;
 * CS_ERR_DEVICE a GPU that failed; CS_ERR_CONVERGE a solver that broke down; CS_ERR_INTERRUPT. */
cs_status cs_svd_compute(const cs_linop *a, const cs_svd_options *options,
                         cs_svd *out) CS_MUST_CHECK;

/* Recomputes residuals of given triplets (used on merged and lifted results too); u and v hold at
 * least k columns, residual has room for k. 2 k operator columns. */
cs_status cs_svd_residuals(const cs_linop *a, int64_t k, const double *sigma, const cs_dense *u,
                           const cs_dense *v, double *residual) CS_MUST_CHECK;

/* One file per solver, of an operator with rows >= cols (a group's: all of its parts together);
 * called through cs_svd_compute, which drops values below the floor and fills in the residuals. The
 * caller frees what a failure leaves in *out. */
cs_status cs_svd_lapack(const cs_linop *a, const cs_svd_options *options,
                        cs_svd *out) CS_MUST_CHECK;
cs_status cs_svd_arpack(const cs_linop *a, const cs_svd_options *options,
                        cs_svd *out) CS_MUST_CHECK;
cs_status cs_svd_block(const cs_linop *a, const cs_svd_options *options, cs_svd *out) CS_MUST_CHECK;
cs_status cs_svd_cusolver(const cs_linop *a, const cs_svd_options *options,
                          cs_svd *out) CS_MUST_CHECK;

/* The block solver on any space (rows >= cols); vectors as the space's get gives them. Values below
 * the floor stay in, no residuals are taken, and the caller frees what a failure leaves. */
struct cs_space; /* linalg/space.h */
cs_status cs_svd_block_space(struct cs_space *space, const cs_svd_options *options,
                             cs_svd *out) CS_MUST_CHECK;

/* What the probe distinguishes: a missed value from the largest one seen. */
#define CS_PROBE_RATIO 1.01

typedef struct {
    double value; /* square root of the largest Ritz value */
    double reach; /* no singular value above it is left out, but with probability failure */
    double failure;
} cs_probe;

/* Is a singular value missing from what is known? Block Lanczos on (I - V V^T) A^T A (I - V V^T)
 * from a random block of uniform direction, V the known right vectors (cols x p, orthonormal); a:
 * rows >= cols. failure bounds the probability that a singular value above 1.01 x is there but
 * value <= x, for any x: with s the largest value left out, b columns and q steps in n dimensions,
 *
 *   P <= I_{1 / (1 + M^2)}(b / 2, (n - 1) / 2),  M = sinh((2 q - 1) atanh(sqrt(eps))),
 *
 * eps = 1 - 1 / 1.01^2; see svd_block_probe.c. q is the least that brings this below 1e-6; 0 when
 * the space ended before. 2 q b operator columns, cols (p + q b) doubles.
 * bound 0: all q steps, after which reach = 1.01 value. Else the question is asked for x = bound
 * alone: it ends as soon as the value is so far below the bound that a singular value above
 * 1.01 bound is there with probability `failure` at most, that of all q steps or 1e-6; reach is then
 * at most 1.01 bound. */
cs_status cs_svd_probe(const cs_linop *a, const cs_dense *v, double bound, uint64_t seed,
                       int threads, cs_probe *out) CS_MUST_CHECK;
/* The same on any space. */
cs_status cs_svd_probe_space(struct cs_space *space, const cs_dense *v, double bound, uint64_t seed,
                             cs_probe *out) CS_MUST_CHECK;
