/** \file
 * Truncated singular value decomposition of an operator by a named solver. Residuals are
 * recomputed through the operator, whatever the solver reports:
 *
 * \f[ A v_j = \sigma_j u_j, \quad A^T u_j = \sigma_j v_j, \quad \mathrm{residual}_j = \max\big( \|A v_j - \sigma_j u_j\|_2,\ \|A^T u_j - \sigma_j v_j\|_2 \big). \f]
 *
 * Each solver has a floor: it cannot distinguish smaller singular values from 0. m x n is the size
 * of the operator, eps = 2^-52.
 */
#pragma once

#include <stdint.h>

#include "base/progress.h"
#include "base/status.h"
#include "dist/comm.h"
#include "linalg/dense.h"
#include "linalg/linop.h"

/** Solvers. */
typedef enum {
    /** lapack (on a GPU: cusolver) if a dense copy is allowed and m n min(m, n) <= 4e9 or k > min(m, n)
 * / 4; lapack by the Gram matrix if the copy is not allowed, min(m, n) <= 4,000 and k > min(m, n)
 * / 4; else block.
 */
    CS_SOLVER_AUTO,
    /** Dense gesdd, all singular values; floor max(m, n) eps sigma_1. The Gram matrix of the smaller
 * side if the dense copy exceeds the limit and that side is at most 4,000; floor sqrt(max(m, n)
 * eps) sigma_1.
 */
    CS_SOLVER_LAPACK,
    /** ARPACK-NG on A^T A of the smaller side, then a probe for missed copies of multiple values; floor
 * sqrt(max(m, n) eps) sigma_1. k < min(m, n). ARPACK keeps global state, so a lock admits one
 * caller at a time.
 */
    CS_SOLVER_ARPACK,
    /** Block Lanczos (ours) on A^T A of the smaller side, with new random blocks while copies may be
 * missing; floor sqrt(max(m, n) eps) sigma_1. If a requested value is below 1e-6, 4 eps / tol or
 * twice the floor (relative to sigma_1): block Golub-Kahan, floor max(m, n) eps sigma_1. The seed
 * fixes the bits. If interrupted, it returns the triplets that have converged.
 */
    CS_SOLVER_BLOCK,
    /** On a GPU: dense Xgesvd, or the Gram matrix if that does not fit its memory; floors of lapack. A
 * GPU supports auto, block and cusolver.
 */
    CS_SOLVER_CUSOLVER,
} cs_solver;

/** A solver by name: "auto", "lapack", "arpack", "block", "cusolver".
 *
 * \retval CS_ERR_USAGE unknown name
 */
cs_status cs_solver_by_name(const char *name, cs_solver *out) CS_MUST_CHECK;

/** Name of a solver. Static text. */
const char *cs_solver_name(cs_solver solver);

/** Options of cs_svd_compute; zeros are defaults except k. */
typedef struct {
    /** Number of triplets, 1..min(rows, cols). Fewer are returned if the rank is smaller. */
    int64_t k;
    /** The solver. */
    cs_solver solver;
    /** Residual relative to sigma_1; 0: 1e-12. */
    double tol;
    /** 0: the default of the solver. */
    int64_t max_iterations;
    /** Seed of the start vectors. */
    uint64_t seed;
    /** Most elements of a dense copy; 0: 2^27 (1 GiB), or a quarter of free memory if that is less.
     */
    int64_t dense_limit;
    /** Callback, or NULL. */
    const cs_progress *progress;
    /** The caller computes residuals itself; `residual` stays NULL. */
    bool unchecked;
    /** block: 0: cs_threads(). Bits do not depend on it. */
    int threads;
    /** block: most bytes of the Krylov basis; 0: 4 GiB, or a quarter of free memory if that is
     * less.
     */
    int64_t memory;
    /** Device of block and cusolver; NULL: the CPU. */
    struct cs_gpu *gpu;
    /** arpack, internal: the group of processes of the operator; NULL: one process. */
    cs_comm *comm;
    /** block: a guess of the singular vectors of the smaller side (the right ones if rows >= cols),
     * any number of nonzero columns; NULL: none. Borrowed.
     */
    const cs_dense *start;
} cs_svd_options;

/** Triplets. Free them with cs_svd_free. */
typedef struct {
    /** Number of triplets returned. */
    int64_t k;
    /** k values, descending. */
    double *sigma;
    /** k residuals, absolute. */
    double *residual;
    /** rows x k. */
    cs_dense u;
    /** cols x k. */
    cs_dense v;
    /** The solver that ran. */
    cs_solver solver;
    /** Singular values below it are not distinguished from 0. */
    double floor;
    /** All requested triplets reached tol; otherwise these are the best known ones. */
    bool converged;
    /** Iterations of the solver. */
    int64_t iterations;
    /** Columns that the operator was applied to. */
    int64_t applications;
    /** The block solver was interrupted: these are the leading triplets that had converged. */
    bool interrupted;
} cs_svd;

/** Frees the triplets; accepts a zeroed object. */
void cs_svd_free(cs_svd *svd);

/** The k largest triplets above the floor of the solver. Incomplete convergence is not a failure:
 * `out` holds the triplets that did converge (perhaps none) with converged = false. The same holds
 * if a recomputed residual exceeds tol sigma_1, and if the block solver is interrupted.
 *
 * \param out receives the triplets
 * \retval CS_ERR_USAGE an option is out of range, or arpack with k = min(m, n)
 * \retval CS_ERR_INPUT a value is not finite
 * \retval CS_ERR_MEMORY a dense copy or a basis exceeds the limit, or GPU memory is too small
 * \retval CS_ERR_DEVICE the GPU failed
 * \retval CS_ERR_CONVERGE the solver broke down
 * \retval CS_ERR_INTERRUPT the interrupt flag is set
 */
cs_status cs_svd_compute(const cs_linop *a, const cs_svd_options *options,
                         cs_svd *out) CS_MUST_CHECK;

/** Residuals of given triplets; 2 k operator columns.
 *
 * \param k number of triplets
 * \param sigma k values
 * \param u rows x k or more columns
 * \param v cols x k or more columns
 * \param residual receives k values
 */
cs_status cs_svd_residuals(const cs_linop *a, int64_t k, const double *sigma, const cs_dense *u,
                           const cs_dense *v, double *residual) CS_MUST_CHECK;

/** Columns of the largest basis of the block solver for k triplets of a matrix with n columns, where
 * no limit of memory makes it smaller; `direct`: of a semidefinite matrix, not of A^T A.
 */
int64_t cs_svd_block_columns(int64_t k, int64_t n, bool direct);

/** \cond INTERNAL */
/* Bytes, at most, of the block solver and of the probe for k triplets of a matrix with n columns in
 * all, on a process that has `left` and `right` entries of each vector. memory: of this process's
 * part of the basis, 0 for no limit; the probe has none. The triplets themselves are left out. */
double cs_svd_block_bytes(int64_t k, int64_t n, int64_t memory, double left, double right);
double cs_svd_probe_bytes(int64_t k, int64_t n, double left, double right);

/* One function for each solver, called by cs_svd_compute, for an operator with rows >= cols (of a
 * group: of all parts together). cs_svd_compute drops values below the floor and computes the
 * residuals. The caller frees what a failure leaves in *out.
 */
cs_status cs_svd_lapack(const cs_linop *a, const cs_svd_options *options,
                        cs_svd *out) CS_MUST_CHECK;
cs_status cs_svd_arpack(const cs_linop *a, const cs_svd_options *options,
                        cs_svd *out) CS_MUST_CHECK;
cs_status cs_svd_block(const cs_linop *a, const cs_svd_options *options, cs_svd *out) CS_MUST_CHECK;
cs_status cs_svd_cusolver(const cs_linop *a, const cs_svd_options *options,
                          cs_svd *out) CS_MUST_CHECK;

struct cs_space;

/* The block solver on any space (linalg/space.h), rows >= cols; vectors are as the space's get
 * returns them. Values below the floor remain, residuals are not computed, and the caller frees
 * what a failure leaves.
 */
cs_status cs_svd_block_space(struct cs_space *space, const cs_svd_options *options,
                             cs_svd *out) CS_MUST_CHECK;
/** \endcond */

/** The probe distinguishes a missed value from the largest one found if it exceeds it by this
 * factor.
 */
#define CS_PROBE_RATIO 1.01

/** Result of a probe. */
typedef struct {
    /** Square root of the largest Ritz value. */
    double value;
    /** No singular value above it is missing, except with probability `failure`. */
    double reach;
    /** That probability. */
    double failure;
} cs_probe;

/** Tests whether a singular value is missing from known ones: block Lanczos on
 * \f$(I - V V^T) A^T A (I - V V^T)\f$ from a random block. For any x, `failure` bounds the
 * probability that a singular value above 1.01 x exists although value <= x. With b columns and q
 * steps in n dimensions,
 *
 * \f[ P \le I_{1/(1 + M^2)}\big( b/2, (n - 1)/2 \big), \qquad M = \sinh\big( (2q - 1) \operatorname{artanh} \sqrt{\epsilon} \big), \qquad \epsilon = 1 - 1/1.01^2, \f]
 *
 * I the regularised incomplete beta function. q is the least number that makes this less than
 * 1e-6; the bound is 0 if the Krylov space ended before. Cost: 2 q b operator columns, cols (p + q
 * b) doubles. Source: ours (svd_block_start.c).
 *
 * \param a the operator, rows >= cols
 * \param v known right singular vectors, cols x p, orthonormal
 * \param bound 0: run all q steps, then reach = 1.01 value. Else the probe stops as soon as the
 *     value is so far below `bound` that a value above 1.01 bound exists with probability at most
 *     `failure`; reach is then at most 1.01 bound
 * \param seed seed of the block
 * \param threads 0: cs_threads()
 * \param out receives the result
 * \retval CS_ERR_MEMORY memory is exhausted
 * \retval CS_ERR_INTERRUPT the interrupt flag is set
 */
cs_status cs_svd_probe(const cs_linop *a, const cs_dense *v, double bound, uint64_t seed,
                       int threads, cs_probe *out) CS_MUST_CHECK;

/** \cond INTERNAL */
/* The same on any space. */
cs_status cs_svd_probe_space(struct cs_space *space, const cs_dense *v, double bound, uint64_t seed,
                             cs_probe *out) CS_MUST_CHECK;
/** \endcond */
