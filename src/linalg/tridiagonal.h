/* Eigenvalues of symmetric matrices without vectors, for many small problems on one thread each.
 *
 * The tridiagonal eigenproblem is solved by counting signs of leading minors: every value has an
 * interval at whose ends the numbers of smaller eigenvalues were counted. With u = 2^-53 and N =
 * max_i (|e_{i-1}| + |d_i| + |e_i|), a count is that of a matrix within 12 u 2^ceil(log2 N) of T,
 * and an interval is 8 u 2^ceil(log2 N) wide, so that
 *
 *   |value_k - lambda_k(T)| <= 16 u 2^ceil(log2 N) <= 32 u N
 *
 * for any distribution of the eigenvalues. */
#pragma once

#include "base/status.h"
#include "linalg/dense.h"

/* All n eigenvalues, ascending, of the tridiagonal matrix with diagonal d (n) and off-diagonal e
 * (n - 1); both finite. About 12 n^2 steps of four operations, 50 n^2 if all values are in pairs
 * that are closer than rounding. CS_ERR_MEMORY. */
cs_status cs_tridiagonal_values(int64_t n, const double *d, const double *e,
                                double *values) CS_MUST_CHECK;

/* Eigenvalues, ascending, of a symmetric matrix, whose lower triangle is read and destroyed:
 * Householder reduction (dsytrd), whose error is that of cs_dense_eigh, then the function above.
 * Bits depend on the number of BLAS threads. CS_ERR_USAGE: not square; CS_ERR_INPUT names an entry
 * that is not finite; CS_ERR_MEMORY. */
cs_status cs_symmetric_values(cs_dense *a, double *values) CS_MUST_CHECK;

/* As cs_symmetric_values with the reduction in single precision: within a few 2^-24 ||A||_F of the
 * eigenvalues of A (cs_dense_tridiagonalise_single). */
cs_status cs_symmetric_values_single(const cs_dense *a, double *values) CS_MUST_CHECK;
