/* Quadrature and bounds from the Jacobi matrix of a Lanczos process (Golub and Meurant, Matrices,
 * Moments and Quadrature, 2010).
 *
 * q Lanczos steps with a symmetric matrix from a start of squared norm `mass` determine the measure
 *   mu = sum_j (v_j' z)^2 delta(lambda_j)
 * through its moments up to degree 2 q:
 *
 *       | alpha_0  beta_0                  |
 *   J = | beta_0   alpha_1  beta_1         |   and the norm beta_{q-1} of the remainder
 *       |          beta_1   ...            |
 *
 * If the remainder is zero (beta_{q-1} = 0), the rule of J is mu itself. */
#pragma once

#include <stdint.h>

#include "base/status.h"

typedef struct {
    int64_t order; /* q; 0 for the zero measure */
    double mass;
    double *alpha, *beta; /* q values each */
} cs_jacobi;

/* Doubles of scratch of the functions below. */
static inline int64_t cs_jacobi_work_size(int64_t order)
{
    return 5 * (order + 1) + order * (order + 1);
}

/* The Gauss rule: q nodes ascending and their weights, exact for degree 2 q - 1. O(q^2).
 * CS_ERR_CONVERGE: the iteration stopped, or the matrix is not finite. */
cs_status cs_jacobi_rule(const cs_jacobi *j, double *work, double *node,
                         double *weight) CS_MUST_CHECK;

/* low <= mu((x, inf)) and mu([x, inf)) <= high: the Chebyshev-Markov-Stieltjes inequalities for the
 * rule with a prescribed node at x (Golub, SIAM Rev. 15, 1973; Krein and Nudelman 1977, chapter
 * III): low excludes the weight at x, high includes it. No bounds from the same moments are better.
 * If x is so close to a Gauss node that the prescribed rule cannot be computed, one more Gauss node
 * on either side replaces it. Values within 1e-12 of the norm of the matrix from x count as at x. 0
 * <= low <= high <= mass. O(q^2). CS_ERR_CONVERGE. */
cs_status cs_jacobi_above(const cs_jacobi *j, double x, double *work, double *low,
                          double *high) CS_MUST_CHECK;

/* The Jacobi matrix of lambda^2 mu(d lambda), from the moments that J determines: order q - 2 with
 * its beta, or the order of the measure if J is all of mu. out->alpha and out->beta belong to the
 * caller, q values each. O(q^3). CS_ERR_CONVERGE. */
cs_status cs_jacobi_squared(const cs_jacobi *j, double *work, cs_jacobi *out) CS_MUST_CHECK;
