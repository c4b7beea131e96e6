/* Does one quantity of objects rise with another, where each was measured in several runs?
 *
 * With x_i, y_i, z_i the means of object i over its runs, i = 1..n:
 *
 *   tau    Kendall's tau_b of x and y (stats/kendall.h), p its exact chance where they have nothing
 *          to do with each other; at constant z the partial tau of Kendall (Biometrika 32, 1942),
 *          (t_xy - t_xz t_yz) / sqrt((1 - t_xz^2) (1 - t_yz^2)), of which no exact p is known
 *   rho    Spearman's, the correlation of mid-ranks; at constant z by the same formula
 *
 * Two errors. Other objects, each with its own runs: the delete-one jackknife over objects of
 * atanh(tau), a smooth function of U-statistics, whose interval has n - 1 degrees of freedom. An
 * object's runs are left out with it, so that their noise is in it (as the variance between clusters
 * has that within). The same objects, other runs: the deviation of tau over draws of as many runs
 * of each object with replacement, the deviations from their mean times sqrt(r / (r - 1)), since r
 * runs spread by that much less around their own mean.
 */
#pragma once

#include <stdint.h>

#include "base/status.h"

typedef struct {
    int64_t objects, runs;   /* n, r */
    const double *x, *y, *z; /* n x r, row-major, no NaN; z NULL: nothing is held constant */
    uint64_t seed;           /* of the draws of runs */
} cs_rank_data;

typedef struct {
    double tau, p; /* p NaN with z, and where x and y both have ties; both where one is constant */
    double low, high; /* 95 % for tau; NaN with fewer than 3 objects, or where |tau| is 1 */
    double runs_se;   /* NaN with one run */
    double rho;
} cs_rank_correlation;

/* O(n^4 / 8) time, O(n^2 + n r) memory: CS_ERR_MEMORY is all that can fail. */
cs_status cs_rank_correlation_of(const cs_rank_data *data, cs_rank_correlation *out) CS_MUST_CHECK;
