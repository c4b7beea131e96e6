/* The position kernel of an objective (refinement-and-kernel.md).
 *
 * For event weights w(S, k) that sum to 1, W(S) = sum_k w(S, k):
 *
 *     R_kl = sum_S w(S, k) w(S, l) / W(S)        s x s, positive semidefinite
 *
 * Its row sums are the target weights w(k) = sum_S w(S, k). Where every context of a corpus is seen
 * once, R is all that the matrix keeps of a blind objective:
 *
 *     Abar^T Abar = D^{-1/2} (sum_kl R_kl K_kl) D^{-1/2},    K_kl(u, v) = P(x_k = u, x_l = v),
 *
 * while a model that is told the position it fills has diag(w) in place of R, and Abar^T Abar = I.
 * kappa = tr R = E[sum_k P(k | S)^2] is the probability that two targets of one context collide.
 */
#pragma once

#include "plan/pairs.h"

/* R of a distribution of events, column-major (it is symmetric), into s * s doubles. Cost: O(s^2), and
 * for the listed events the squares of the numbers of targets of each set (of s, where an invariant
 * part has the set too). CS_ERR_MEMORY, CS_ERR_INTERRUPT. */
cs_status cs_kernel_of_pairs(const cs_pairs *pairs, double *r) CS_MUST_CHECK;

/* The same by diagonals: R_{k, k + e} at r[e s + k] for e = 0..reach, 0 for k >= s - e; and the reach
 * beyond which every entry is 0: 0 for `ar`, t - 1 for `diverse-ar`, s - 1 for masks. */
int64_t cs_kernel_reach(const cs_pairs *pairs);
cs_status cs_kernel_diagonals(const cs_pairs *pairs, double *r) CS_MUST_CHECK;

/* What the invariant part gives to R: one number on the diagonal, one off it. */
void cs_kernel_invariant(const cs_pairs *pairs, double *on, double *off);

/* The same by enumeration of all plans, whatever closed form the objective has: the other side of a
 * check. CS_ERR_USAGE names the number of plans where it is above 2^18. */
cs_status cs_kernel_of_plans(const cs_objective *objective, int64_t s, double *r) CS_MUST_CHECK;

/* tr R. */
double cs_kernel_collision(const double *r, int64_t s);
