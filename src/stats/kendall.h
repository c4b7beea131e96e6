/* Kendall's tau-b of two rankings, and its exact distribution when they have nothing to do with each
 * other.
 *
 *   tau_b = S / sqrt((N - T_1) (N - T_2)),   S = C - D,   N = n (n - 1) / 2
 *
 * over pairs of objects: C concordant, D discordant, T_1 and T_2 tied in the one and the other
 * (Kendall, Biometrika 33, 1945). Under the null hypothesis every order of the second is as likely;
 * D is then the number of inversions of a random permutation of a multiset, whose generating
 * function is the q-multinomial coefficient of the sizes of its ties (MacMahon 1913): a product of
 * polynomials with positive coefficients, formed here as probabilities. With n = 4 a perfect order
 * has p = 2/24: four objects cannot be told to be in order.
 */
#pragma once

#include <stdint.h>

#include "base/status.h"

typedef struct {
    double tau; /* tau_b; NaN when a side is constant or there is one object */
    double p;   /* P(|S'| >= |S|); NaN where tau is, and where both sides have ties */
} cs_kendall;

/* Values are no NaN. O(n^4 / 8) time, O(n^2) memory: CS_ERR_MEMORY is all that can fail. */
cs_status cs_kendall_of(int64_t count, const double *first, const double *second,
                        cs_kendall *out) CS_MUST_CHECK;

/* tau alone, O(n^2). */
double cs_kendall_tau(int64_t count, const double *first, const double *second);
