/* Number of positive eigenvalues of a symmetric matrix, with a bound on the effect of rounding. */
#pragma once

#include <stdint.h>

#include "base/status.h"
#include "linalg/dense.h"

/* The lower triangle of m (n x n) is read and overwritten. *positive is the number of positive
 * eigenvalues of M + E for some symmetric E with ||E||_2 <= *error, so that
 *
 *   #{eigenvalues of M > *error} <= *positive <= #{eigenvalues of M > -*error}.
 *
 * By Sylvester's law it is that of D in M + E = P L D L^T P^T. Backward error (Higham, Accuracy and
 * Stability of Numerical Algorithms, 2nd ed., Theorem 11.3): |E| <= p(n) u (|M| + P |L||D||L^T|
 * P^T), here with p(n) = 4 n + 400, u = 2^-53; the norms of these two matrices are bounded from the
 * factors themselves, so that no growth is assumed. *error is infinite when they overflow.
 *
 * n^3 / 3 flops, 3 n values. Errors as cs_dense_ldl. */
cs_status cs_inertia(cs_dense *m, int64_t *positive, double *error) CS_MUST_CHECK;
