/** \file
 * Weights of pairs of positions: all that sums of products over the events of an objective need.
 *
 * For event weights w(S, k) that sum to 1:
 *
 * \f[ w_0(i, j) = P(i \in S, j \in S) = \sum_{S \ni i, j,\; k} w(S, k), \qquad w_1(i, k) = P(i \in S, k) = \sum_{S \ni i} w(S, k) \f]
 *
 * So with \f$b_S = \sum_{i \in S} h_i\f$ for vectors h_i of the positions,
 *
 * \f[ \sum w\, b_S b_S^T = \sum_{ij} w_0(i, j)\, h_i h_j^T, \qquad \sum w\, b_S h_k^T = \sum_{ik} w_1(i, k)\, h_i h_k^T. \f]
 *
 * Source: ours (docs/explanation/alignment.md).
 */
#pragma once

#include "plan/pairs.h"

/** Both weights of a distribution of events. Of an invariant part,
 * \f$w_0(i, i) = \sum_m q(m) m / s\f$,
 * \f$w_0(i, j) = \sum_m q(m) m (m - 1) / (s (s - 1))\f$ and
 * \f$w_1(i, k) = \sum_m q(m) m / (s (s - 1))\f$ off the diagonal.
 *
 * Cost: O(s^2) and, for listed events, |S| each and |S|^2 for each set that is not a prefix.
 *
 * \param pairs the events
 * \param both receives w_0, s x s values; it is symmetric
 * \param from receives w_1, s x s values: w_1(i, k) at i + k s, 0 on the diagonal
 * \retval CS_ERR_MEMORY allocation failed
 * \retval CS_ERR_INTERRUPT the interrupt flag is set
 */
cs_status cs_position_weights(const cs_pairs *pairs, double *both, double *from) CS_MUST_CHECK;
