/** \file
 * The spectrum of the position kernel R of an objective (plan/kernel.h,
 * docs/explanation/refinement-and-kernel.md). Source: ours.
 */
#pragma once

#include "base/mem.h"
#include "plan/kernel.h"

/** The spectrum. Free it with cs_kernel_spectrum_free. */
typedef struct {
    /** tr R. */
    double kappa;
    /** Number of distinct eigenvalues; values closer than rounding are merged. */
    int64_t values;
    /** values eigenvalues, descending. */
    double *value;
    /** values multiplicities. */
    int64_t *multiplicity;
    /** s row sums of R: its eigenvalues for a known target position. */
    double *target_weight;
    /** Owns the arrays. */
    cs_pool pool;
} cs_kernel_spectrum;

/** Frees the arrays; accepts a zeroed object. */
void cs_kernel_spectrum_free(cs_kernel_spectrum *spectrum);

/** The spectrum from the exact distribution of events at length s: O(s^3) time, 16 s^2 bytes.
 * Errors of cs_pairs_of.
 */
cs_status cs_kernel_spectrum_of(const cs_objective *objective, int64_t s,
                                cs_kernel_spectrum *out) CS_MUST_CHECK;

/** The largest difference between the entries of R from that distribution and from the enumeration
 * of all plans. Errors of cs_kernel_of_plans.
 */
cs_status cs_kernel_difference(const cs_objective *objective, int64_t s, double *out) CS_MUST_CHECK;
