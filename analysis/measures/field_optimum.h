/* The best prediction in the Gaussian fields of image/field.h, in closed form.
 *
 * For positions t given positions s, jointly Gaussian with mean 0: E(x_t | x_s) = W x_s, W = C_ts
 * C_ss^-1, with error covariance C_tt - C_ts C_ss^-1 C_st (the Schur complement). No prediction has
 * a smaller mean squared error, so this is the minimum for every objective with pixel targets; and
 * since E(x_2 | x_s, W x_s) = E(x_2 | x_s), feeding back predicted means cannot reduce it. */
#pragma once

#include <stdint.h>

#include "base/status.h"
#include "plan/objective.h"

/* Target and visible positions, numbered along rows of a field of `width` columns. */
typedef struct {
    double rho;
    int64_t width;
    int64_t count, targets;
    const int64_t *seen, *target; /* count, targets */
} cs_field_places;

/* weights: targets x count, a row for each target, or NULL; error: the mean squared error of each
 * target. count 0: error 1. Cholesky, count^3 / 3 flops, 8 count (count + targets) bytes.
 * CS_ERR_USAGE: a repeated visible position; CS_ERR_MEMORY. */
cs_status cs_field_predict(const cs_field_places *of, double *weights, double *error) CS_MUST_CHECK;

typedef struct {
    double rho;
    int64_t height, width, patch;
    const int32_t *order; /* of the patches (image/patches.h), NULL: along rows */
    /* plans: all if there are no more, else this number is drawn; at least 2 */
    int64_t draws;
    uint64_t seed; /* draw d is the plan of sequence d of an evaluation with this seed */
} cs_field_case;

/* The smallest mean squared error per pixel of a model that predicts the pixels of patches from
 * those that the plans of the objective show: the mean over plans, weighted as events are, and its
 * standard error (0 over all plans). CS_ERR_USAGE if the objective has no plan for this number of
 * patches. A Cholesky factor of all P pixels for each plan: P^3 / 3 flops, 8 P^2 bytes. */
cs_status cs_field_optimum(const cs_objective *objective, const cs_field_case *field, double *mean,
                           double *se) CS_MUST_CHECK;
