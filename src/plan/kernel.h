/** \file
 * The position kernel of an objective (docs/explanation/refinement-and-kernel.md).
 *
 * For event weights w(S, k) that sum to 1 and \f$W(S) = \sum_k w(S, k)\f$:
 *
 * \f[ R_{kl} = \sum_S \frac{w(S, k)\, w(S, l)}{W(S)} \f]
 *
 * R is s x s and positive semidefinite, and its row sums are the target weights
 * \f$w(k) = \sum_S w(S, k)\f$. Where every context of a corpus occurs once, R is all that the
 * co-occurrence matrix keeps of an objective with unknown target positions:
 *
 * \f[ \bar A^T \bar A = D^{-1/2} \Big( \sum_{kl} R_{kl} K_{kl} \Big) D^{-1/2}, \qquad K_{kl}(u, v) = P(x_k = u, x_l = v). \f]
 *
 * With known target positions diag(w) takes the place of R, and \f$\bar A^T \bar A = I\f$.
 * \f$\kappa = \mathrm{tr}\, R = E[\sum_k P(k \mid S)^2]\f$ is the probability that two targets of
 * one context coincide. Source: ours.
 */
#pragma once

#include "plan/pairs.h"

/** R of a distribution of events. Cost: O(s^2) and, for listed events, the square of the number of
 * targets of each set (s^2 where an invariant part has the set too).
 *
 * \param pairs the events
 * \param r receives s x s values, column-major (R is symmetric)
 * \retval CS_ERR_MEMORY allocation failed
 * \retval CS_ERR_INTERRUPT the interrupt flag is set
 */
cs_status cs_kernel_of_pairs(const cs_pairs *pairs, double *r) CS_MUST_CHECK;

/** The reach of R: the largest |k - l| with an entry that may be nonzero. 0 for `ar`, t - 1 for
 * `diverse-ar`, s - 1 for masks.
 */
int64_t cs_kernel_reach(const cs_pairs *pairs);

/** R by diagonals: `r[e * s + k]` receives \f$R_{k,k+e}\f$ for e = 0..reach, and 0 for k >= s - e.
 * Errors of cs_kernel_of_pairs.
 */
cs_status cs_kernel_diagonals(const cs_pairs *pairs, double *r) CS_MUST_CHECK;

/** The contribution of the invariant part to R: one number on the diagonal and one off it. */
void cs_kernel_invariant(const cs_pairs *pairs, double *on, double *off);

/** R by enumeration of all plans, without closed forms: an independent check of cs_kernel_of_pairs.
 *
 * \retval CS_ERR_USAGE there are more than 2^18 plans; names their number
 */
cs_status cs_kernel_of_plans(const cs_objective *objective, int64_t s, double *r) CS_MUST_CHECK;

/** tr R of an s x s matrix. */
double cs_kernel_collision(const double *r, int64_t s);
