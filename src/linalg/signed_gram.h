/** \file
 * Symmetric matrices \f$P = B^T B - E^T E + \mathrm{diag}(d)\f$ of sparse B and E without negative
 * entries, such as sums of outer products minus others. No function needs cols x cols memory.
 */
#pragma once

#include "base/progress.h"
#include "linalg/csr.h"
#include "linalg/linop.h"

/** Such a matrix, cols x cols. Free it with cs_signed_gram_free. */
typedef struct {
    /** B. */
    cs_csr plus;
    /** E, with as many columns as B. */
    cs_csr minus;
    /** cols: d. */
    double *diagonal;
} cs_signed_gram;

/** Frees the matrix; accepts a zeroed object. */
void cs_signed_gram_free(cs_signed_gram *p);

/** tr diag(f) P; f has cols values, NULL: ones. */
double cs_signed_gram_trace(const cs_signed_gram *p, const double *f);

/** y = P x. 2 nnz multiply-adds a column; memory of cs_csr_apply_normal.
 *
 * \param p the matrix P
 * \param x cols x k; shapes are not checked
 * \param threads 0: cs_threads()
 * \param y cols x k, allocated by the caller
 * \retval CS_ERR_MEMORY memory is exhausted
 * \retval CS_ERR_INTERRUPT the interrupt flag is set
 */
cs_status cs_signed_gram_apply(const cs_signed_gram *p, const cs_dense *x, int threads,
                               cs_dense *y) CS_MUST_CHECK;

/** Inner products of two matrices. Rows are computed eight at a time and not stored. Bits do not
 * depend on the number of threads. Memory: 12 bytes an entry, 128 bytes a column and thread.
 *
 * \param p the matrix P
 * \param q the matrix Q
 * \param f cols values; NULL: none
 * \param threads 0: cs_threads()
 * \param plain receives \f$\mathrm{tr}\, P Q = \sum_{uv} P_{uv} Q_{uv}\f$
 * \param scaled receives \f$\sum_{uv} f_u f_v P_{uv} Q_{uv}\f$, unless f is NULL
 * \retval CS_ERR_MEMORY memory is exhausted
 * \retval CS_ERR_INTERRUPT the interrupt flag is set
 */
cs_status cs_signed_gram_inner(const cs_signed_gram *p, const cs_signed_gram *q, const double *f,
                               int threads, double *plain, double *scaled) CS_MUST_CHECK;

/** Options of the eigenvalue solvers. */
typedef struct {
    /** Seed of the start vectors. */
    uint64_t seed;
    /** 0: cs_threads(). */
    int threads;
    /** Guess of the vectors, cols x any; NULL: none. Borrowed. */
    const cs_dense *start;
    /** Callback, or NULL. */
    const cs_progress *progress;
} cs_signed_gram_options;

/** The k algebraically largest eigenvalues, to 1e-9 of the largest modulus, by the solvers of
 * linalg/svd.h on P + c I, where c bounds -lambda_min: it bounds the largest eigenvalue of E^T E -
 * min(diag(d), 0), which has no negative entry, by Collatz and Wielandt.
 *
 * \param p the matrix P
 * \param k number of eigenvalues
 * \param options options of the solver
 * \param values receives k values, descending; NaN beyond cols
 * \param vectors receives eigenvectors: cols x k, allocated by the caller; columns without an
 *     eigenvector are left as they are; NULL: not wanted
 * \retval CS_ERR_USAGE k < 1 or P has no columns
 * \retval CS_ERR_CONVERGE the solver did not converge
 * \retval CS_ERR_MEMORY memory is exhausted
 * \retval CS_ERR_INTERRUPT the interrupt flag is set
 */
cs_status cs_signed_gram_leading(const cs_signed_gram *p, int64_t k,
                                 const cs_signed_gram_options *options, double *values,
                                 cs_dense *vectors) CS_MUST_CHECK;

/** The algebraically smallest eigenvalue of P, as the largest of -P. Errors of
 * cs_signed_gram_leading.
 */
cs_status cs_signed_gram_least(const cs_signed_gram *p, const cs_signed_gram_options *options,
                               double *value) CS_MUST_CHECK;

/** P + c I as a symmetric positive semidefinite operator, c as in cs_signed_gram_leading. Free it
 * with cs_signed_gram_shift_free, before P.
 */
typedef struct {
    /** Its memory; internal. */
    struct cs_signed_gram_shifted *held;
    /** The operator. */
    cs_linop op;
    /** The shift. */
    double c;
} cs_signed_gram_shift;

/** Makes the operator.
 *
 * \retval CS_ERR_MEMORY memory is exhausted
 * \retval CS_ERR_INTERRUPT the interrupt flag is set
 */
cs_status cs_signed_gram_shift_of(const cs_signed_gram *p, int threads,
                                  cs_signed_gram_shift *out) CS_MUST_CHECK;

/** Frees the operator; accepts a zeroed object. */
void cs_signed_gram_shift_free(cs_signed_gram_shift *shift);
