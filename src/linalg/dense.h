/** \file
 * Dense column-major matrices and calls of LAPACK and BLAS with int64 sizes. Entry (i, j) is
 * data[i + j * ld].
 */
#pragma once

#include <stdint.h>

#include "base/mem.h"
#include "base/status.h"

/** A dense matrix, rows x cols, column-major. */
typedef struct {
    /** Number of rows. */
    int64_t rows;
    /** Number of columns. */
    int64_t cols;
    /** Distance of two columns, at least max(rows, 1). */
    int64_t ld;
    /** The entries. */
    double *data;
} cs_dense;

/** A zero matrix with ld = max(rows, 1). Free it with cs_dense_free.
 *
 * \retval CS_ERR_USAGE a negative size
 * \retval CS_ERR_MEMORY memory is exhausted
 */
cs_status cs_dense_init(cs_dense *a, int64_t rows, int64_t cols) CS_MUST_CHECK;

/** Frees a matrix; accepts a zeroed object. */
void cs_dense_free(cs_dense *a);

/** A zero matrix in memory of a pool, which frees it; data NULL after a failure of the pool. */
cs_dense cs_dense_in(cs_pool *pool, int64_t rows, int64_t cols);

/** Copies `from` to `to`, which has the same size. */
void cs_dense_copy(const cs_dense *from, cs_dense *to);

/** A copy in memory of a pool. */
cs_dense cs_dense_copy_in(cs_pool *pool, const cs_dense *a);

/** \f$\|A\|_F^2\f$, summed column by column. */
double cs_dense_squares(const cs_dense *a);

/** Converts a size to the integer of BLAS.
 *
 * \retval CS_ERR_INPUT it does not fit; names `what`
 */
cs_status cs_blas_int(int64_t value, const char *what, int *out) CS_MUST_CHECK;

/** C = alpha op(A) op(B) + beta C, op the identity or the transpose.
 *
 * \param trans_a transpose A
 * \param trans_b transpose B
 * \param alpha factor
 * \param a m x n, or n x m if transposed
 * \param b n x k, or k x n if transposed
 * \param beta factor
 * \param c m x k, allocated by the caller
 * \retval CS_ERR_USAGE the shapes do not match
 */
cs_status cs_gemm(bool trans_a, bool trans_b, double alpha, const cs_dense *a, const cs_dense *b,
                  double beta, cs_dense *c) CS_MUST_CHECK;

/** Columns first .. first + count - 1, which remain those of A. */
static inline cs_dense cs_dense_columns(const cs_dense *a, int64_t first, int64_t count)
{
    return (cs_dense){.rows = a->rows, .cols = count, .ld = a->ld, .data = a->data + first * a->ld};
}

/** Thin SVD A = U diag(sigma) V^T, p = min(rows, cols), by LAPACK's gesdd, and by gesvd if gesdd
 * does not converge. Memory: 2 rows cols + 4 p^2 doubles.
 *
 * \param a rows x cols, destroyed
 * \param sigma receives p values, descending
 * \param u rows x p, allocated by the caller; NULL, as vt, for values only
 * \param vt p x cols, allocated by the caller; or NULL
 * \retval CS_ERR_USAGE only one of u and vt is NULL
 * \retval CS_ERR_INPUT an entry is not finite, or a size exceeds LAPACK's integer (p about 23,000)
 * \retval CS_ERR_CONVERGE neither routine converged
 * \retval CS_ERR_MEMORY memory is exhausted
 */
cs_status cs_dense_svd(cs_dense *a, double *sigma, cs_dense *u, cs_dense *vt) CS_MUST_CHECK;

/** Eigenvalues, ascending, of a symmetric matrix by LAPACK's syevd.
 *
 * \param a n x n; becomes the eigenvectors in its columns, or is destroyed with values_only
 * \param values receives n values
 * \param values_only no vectors
 * \retval CS_ERR_USAGE not square
 * \retval CS_ERR_CONVERGE the routine did not converge
 */
cs_status cs_dense_eigh(cs_dense *a, double *values, bool values_only) CS_MUST_CHECK;

/** A = Q T Q^T of a symmetric matrix by LAPACK's sytrd; 4/3 n^3 flops.
 *
 * \param a n x n; the lower triangle is read and destroyed
 * \param d receives the diagonal of T, n values
 * \param e receives the off-diagonal, n - 1 values; of size n
 * \retval CS_ERR_USAGE not square
 * \retval CS_ERR_INPUT an entry is not finite
 */
cs_status cs_dense_tridiagonalise(cs_dense *a, double *d, double *e) CS_MUST_CHECK;

/** As cs_dense_tridiagonalise in single precision, two thirds of its time: the lower triangle,
 * divided by a power of two so that no entry exceeds 1, is rounded to float and reduced by ssytrd.
 * With u = 2^-24 the eigenvalues of T differ from those of A by a few u ||A||_F.
 *
 * \param a n x n; the lower triangle is read
 * \param d receives the diagonal of T, n values
 * \param e receives the off-diagonal, n - 1 values; of size n
 * \retval CS_ERR_USAGE not square
 * \retval CS_ERR_INPUT an entry is not finite
 * \retval CS_ERR_MEMORY memory is exhausted
 */
cs_status cs_dense_tridiagonalise_single(const cs_dense *a, double *d, double *e) CS_MUST_CHECK;

/** A = P L D L^T P^T of a symmetric matrix by bounded Bunch-Kaufman ("rook") pivoting, LAPACK's
 * dsytrf_rk; n^3 / 3 flops. A singular D is no failure.
 *
 * \param a n x n; the lower triangle is read. On return it holds the unit lower triangular L below
 *     the diagonal of D
 * \param below receives D(i + 1, i), n values
 * \param pivot receives n numbers, negative on both rows of a 2 x 2 block of D
 * \retval CS_ERR_USAGE not square
 * \retval CS_ERR_INPUT an entry is not finite
 * \retval CS_ERR_MEMORY memory is exhausted
 */
cs_status cs_dense_ldl(cs_dense *a, double *below, int *pivot) CS_MUST_CHECK;

/** Replaces A (rows >= cols) by an orthonormal basis of its columns, by Householder QR. The columns
 * are orthonormal whatever the rank of A, and span its range if the rank is full.
 *
 * \retval CS_ERR_USAGE more columns than rows
 * \retval CS_ERR_MEMORY memory is exhausted
 */
cs_status cs_dense_orthonormalise(cs_dense *a) CS_MUST_CHECK;
