/* The spectrum of the position kernel R of an objective (plan/kernel.h, refinement-and-kernel.md). */
#pragma once

#include "base/mem.h"
#include "plan/kernel.h"

typedef struct {
    double kappa; /* tr R */
    /* distinct eigenvalues, descending; values closer than rounding are merged */
    int64_t values;
    double *value;         /* values */
    int64_t *multiplicity; /* values */
    double *target_weight; /* s row sums of R: its eigenvalues for a known position */
    cs_pool pool;          /* of the arrays */
} cs_kernel_spectrum;

void cs_kernel_spectrum_free(cs_kernel_spectrum *spectrum);

/* From the exact distribution of events at length s: O(s^3) time, 16 s^2 bytes. Errors of
 * cs_pairs_of, and CS_ERR_MEMORY. */
cs_status cs_kernel_spectrum_of(const cs_objective *objective, int64_t s,
                                cs_kernel_spectrum *out) CS_MUST_CHECK;

/* The largest difference between the entries of R from that distribution and from all plans. Errors
 * of cs_kernel_of_plans. */
cs_status cs_kernel_difference(const cs_objective *objective, int64_t s, double *out) CS_MUST_CHECK;
