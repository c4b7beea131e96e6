/* Dense column-major matrices and the few LAPACK/BLAS calls the toolkit needs, with int64 sizes
 * checked once against the library's int. Entry (i, j) is data[i + j * ld].
 */
#pragma once

#include <stdint.h>

#include "base/mem.h"
#include "base/status.h"

typedef struct {
    int64_t rows, cols, ld;
    double *data;
} cs_dense;

/* rows x cols zeros, ld = max(rows, 1). */
cs_status cs_dense_init(cs_dense *a, int64_t rows, int64_t cols) CS_MUST_CHECK;
void cs_dense_free(cs_dense *a);

/* The same of a pool's memory (base/mem.h), which frees it; data NULL once the pool failed. */
cs_dense cs_dense_in(cs_pool *pool, int64_t rows, int64_t cols);

/* to := from, of its size. */
void cs_dense_copy(const cs_dense *from, cs_dense *to);

/* A copy in a pool's memory. */
cs_dense cs_dense_copy_in(cs_pool *pool, const cs_dense *a);

/* ||A||_F^2, summed column by column. */
double cs_dense_squares(const cs_dense *a);

/* Narrowing to a BLAS int, in one place: CS_ERR_INPUT names `what` when it does not fit. */
cs_status cs_blas_int(int64_t value, const char *what, int *out) CS_MUST_CHECK;

/* C = alpha op(A) op(B) + beta C; room made by the caller. CS_ERR_USAGE names shapes that do not
 * fit.
 */
cs_status cs_gemm(bool trans_a, bool trans_b, double alpha, const cs_dense *a, const cs_dense *b,
                  double beta, cs_dense *c) CS_MUST_CHECK;

/* Thin SVD A = U diag(s) V^T by gesdd, gesvd when gesdd fails to converge; A is destroyed (a copy
 * is kept for gesvd: memory 2 rows cols + 4 p^2). p = min(rows, cols); u rows x p and vt p x cols,
 * whose room the caller made (cs_dense_init), or both NULL for values only; sigma p values,
 * descending. CS_ERR_INPUT names an entry that is not finite, or a size beyond LAPACK's int (p
 * about 23,000); CS_ERR_CONVERGE when both fail. */
cs_status cs_dense_svd(cs_dense *a, double *sigma, cs_dense *u, cs_dense *vt) CS_MUST_CHECK;

/* Symmetric eigenproblem by syevd: values ascending; a becomes the vectors (or is destroyed when
 * values_only). */
cs_status cs_dense_eigh(cs_dense *a, double *values, bool values_only) CS_MUST_CHECK;

/* A = Q T Q^T of a symmetric matrix by sytrd, whose lower triangle is read and destroyed: T's diagonal
 * d, n values, and what is beside it, e, n - 1 of n. 4/3 n^3 flops. CS_ERR_USAGE: not square;
 * CS_ERR_INPUT names an entry that is not finite. */
cs_status cs_dense_tridiagonalise(cs_dense *a, double *d, double *e) CS_MUST_CHECK;

/* A = P L D L^T P^T of a symmetric matrix by bounded Bunch-Kaufman ("rook") pivoting, dsytrf_rk;
 * the lower triangle is read. On return it holds the unit lower triangular L below the diagonal of
 * D; below[i] = D(i + 1, i), n values; pivot[i] < 0 on both rows of a 2 x 2 block of D, n values.
 * An exactly singular D is no failure. n^3 / 3 flops. CS_ERR_USAGE: not square; CS_ERR_INPUT names
 * an entry that is not finite; CS_ERR_MEMORY. */
cs_status cs_dense_ldl(cs_dense *a, double *below, int *pivot) CS_MUST_CHECK;

/* Orthonormal basis of the columns of A (rows >= cols) in place, Householder QR: the columns come
 * out orthonormal whatever A's rank, and span its range when the rank is full. */
cs_status cs_dense_orthonormalise(cs_dense *a) CS_MUST_CHECK;
