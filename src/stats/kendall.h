/** \file
 * Kendall's tau-b of two rankings, and its exact p-value under independence.
 *
 * \f[ \tau_b = \frac{S}{\sqrt{(N - T_1)(N - T_2)}}, \qquad S = C - D, \qquad N = n(n-1)/2, \f]
 *
 * with C concordant and D discordant pairs of objects, and T_1, T_2 pairs tied in the first and in
 * the second ranking (Kendall, Biometrika 33, 1945). Under the null hypothesis all orders of the
 * second ranking are equally likely. D is then the number of inversions of a random permutation of
 * a multiset, whose generating function is the q-multinomial coefficient of the sizes of its ties
 * (MacMahon 1913). With n = 4 a perfect order has p = 2/24, so four objects cannot be significant
 * at 5%.
 */
#pragma once

#include <stdint.h>

#include "base/status.h"

/** The statistic and its p-value. */
typedef struct {
    /** tau_b; NaN if a side is constant or there is one object. */
    double tau;
    /** P(|S'| >= |S|); NaN if tau is NaN or both sides have ties. */
    double p;
} cs_kendall;

/** tau_b and p. O(n^4 / 8) time, O(n^2) memory.
 *
 * \param count n
 * \param first n values, no NaN
 * \param second n values, no NaN
 * \param out receives the result
 * \retval CS_ERR_MEMORY allocation failed
 */
cs_status cs_kendall_of(int64_t count, const double *first, const double *second,
                        cs_kendall *out) CS_MUST_CHECK;

/** tau_b alone. O(n^2). */
double cs_kendall_tau(int64_t count, const double *first, const double *second);
