/* Principal angles between subspaces (Bjorck and Golub, Math. Comp. 27, 1973), to compare the
 * directions that two objectives learn.
 *
 *   cos theta_i = sigma_i(Q1^T Q2),   sin theta_i = sigma_i((I - Q1 Q1^T) Q2), ascending
 *
 * Small angles are computed from the sines, since a cosine near 1 loses half the digits. */
#pragma once

#include "base/status.h"
#include "linalg/dense.h"

/* a: n x p, b: n x q of full column rank (orthonormalised here). angle: min(p, q) values in
 * radians, ascending. */
cs_status cs_principal_angles(const cs_dense *a, const cs_dense *b, double *angle) CS_MUST_CHECK;
