/* Eigenvalues of symmetric matrices without vectors, for many small problems of which each has a thread.
 *
 * The tridiagonal eigenproblem is solved by counting signs of leading minors: every value comes with an
 * interval at whose ends the numbers of eigenvalues below were counted. With u = 2^-53 and N = max_i
 * (|e_{i-1}| + |d_i| + |e_i|), a count is that of a matrix within 12 u 2^ceil(log2 N) of T, and an
 * interval is 8 u 2^ceil(log2 N) wide, so that
 *
 *   |value_k - lambda_k(T)| <= 16 u 2^ceil(log2 N) <= 32 u N
 *
 * however the eigenvalues lie.
 */
#pragma once

#include "base/status.h"
#include "linalg/dense.h"

/* All n eigenvalues, ascending, of the tridiagonal matrix with diagonal d (n) and off-diagonal e (n - 1);
 * both finite. About 12 n^2 steps of four operations, 50 n^2 where all values lie in pairs that are closer
 * than rounding. CS_ERR_MEMORY. */
cs_status cs_tridiagonal_values(int64_t n, const double *d, const double *e,
                                double *values) CS_MUST_CHECK;

/* Eigenvalues, ascending, of a symmetric matrix, of which the lower triangle is read and destroyed:
 * Householder's reduction (dsytrd), whose error is that of cs_dense_eigh, then the above. Bits depend
 * on the number of BLAS threads. CS_ERR_USAGE: not square; CS_ERR_INPUT names an entry that is not
 * finite; CS_ERR_MEMORY. */
cs_status cs_symmetric_values(cs_dense *a, double *values) CS_MUST_CHECK;
