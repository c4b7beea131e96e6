/** \file
 * Principal angles between subspaces (Bjorck and Golub, Math. Comp. 27, 1973), to compare the
 * directions that two objectives learn:
 *
 * \f[ \cos \theta_i = \sigma_i(Q_1^T Q_2), \qquad \sin \theta_i = \sigma_i((I - Q_1 Q_1^T) Q_2). \f]
 *
 * Small angles are computed from the sines, since a cosine near 1 loses half the digits.
 */
#pragma once

#include "base/status.h"
#include "linalg/dense.h"

/** The angles between the column spaces of two matrices.
 *
 * \param a n x p, of full column rank; it need not be orthonormal
 * \param b n x q, of full column rank
 * \param angle receives min(p, q) values in radians, ascending
 * \retval CS_ERR_INPUT the numbers of rows differ, or a matrix has more columns than rows
 * \retval CS_ERR_MEMORY memory is exhausted
 */
cs_status cs_principal_angles(const cs_dense *a, const cs_dense *b, double *angle) CS_MUST_CHECK;
