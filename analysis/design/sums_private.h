/* The minimised sum of a design, with its gradient, as a function of the masses y of a family. */
#pragma once

#include "analysis/design/family_private.h"

typedef struct {
    const cs_design_problem *problem;
    const cs_family *family;
    double *inner;            /* masses, none of them 0 */
    double *context, *target; /* W(S), w(k) */
    double *kernel, *slope;   /* R, and the derivative with respect to its entries: s x s */
    double *by_target;        /* the derivative with respect to the w(k); capacity 2 s */
} cs_design_sums;

cs_status cs_design_sums_init(const cs_design_problem *problem, const cs_family *family,
                              cs_pool *pool, cs_design_sums *out) CS_MUST_CHECK;

/* The sum, including its known part, from R and w; its derivatives with respect to both (s x s, and
 * an array of 2 s, of these s are used). */
double cs_design_sum_of(const cs_design_problem *problem, const double *kernel,
                        const double *target, double *slope, double *by_target);

/* The value at y; its gradient into `gradient` (masses). Leaves R in sums->kernel. */
double cs_design_sum_at(cs_design_sums *sums, const double *y, double *gradient);
