/** \file
 * Rank correlation of two quantities over objects that were each measured in several runs.
 *
 * With x_i, y_i, z_i the means of object i over its runs, i = 1..n:
 *
 * - tau: Kendall's tau_b of x and y (stats/kendall.h) with its exact p-value. At constant z the
 *   partial tau of Kendall (Biometrika 32, 1942),
 *   \f$(t_{xy} - t_{xz} t_{yz}) / \sqrt{(1 - t_{xz}^2)(1 - t_{yz}^2)}\f$, for which no exact
 *   p-value is known.
 * - rho: Spearman's correlation of mid-ranks; at constant z by the same formula.
 *
 * Two errors. Over objects, each with its runs: the delete-one jackknife of atanh(tau), whose
 * interval has n - 1 degrees of freedom and includes the noise of runs. Over runs of the same
 * objects: the deviation of tau over bootstrap draws of the r runs of each object, with deviations
 * from the mean multiplied by \f$\sqrt{r/(r-1)}\f$.
 */
#pragma once

#include <stdint.h>

#include "base/status.h"

/** The data; borrowed. */
typedef struct {
    /** n. */
    int64_t objects;
    /** r, the number of runs of each object. */
    int64_t runs;
    /** n x r, row-major, no NaN. */
    const double *x;
    /** n x r, row-major, no NaN. */
    const double *y;
    /** n x r, row-major, no NaN; NULL: nothing is held constant. */
    const double *z;
    /** Seed of the bootstrap draws. */
    uint64_t seed;
} cs_rank_data;

/** The result. */
typedef struct {
    /** tau; NaN if x or y is constant. */
    double tau;
    /** p-value; NaN if tau is NaN, with z, and if both x and y have ties. */
    double p;
    /** Lower end of the 95% interval of tau; NaN for fewer than 3 objects, or if |tau| is 1. */
    double low;
    /** Upper end. */
    double high;
    /** Error over runs; NaN for one run. */
    double runs_se;
    /** rho. */
    double rho;
} cs_rank_correlation;

/** Computes all of them. O(n^4 / 8) time, O(n^2 + n r) memory.
 *
 * \retval CS_ERR_MEMORY allocation failed
 */
cs_status cs_rank_correlation_of(const cs_rank_data *data, cs_rank_correlation *out) CS_MUST_CHECK;
