/* One-vs-all ridge regression with the penalty chosen by leave-one-out error in closed form.
 *
 *   min_{B, b} sum_i || y_i - b - B^T z_i ||^2 + penalty ||B||_F^2
 *
 * y_i = one-hot label, z_i = features standardised to mean 0 and variance 1 over the training rows
 * (constant features are dropped). No class weights. The penalty is the one of n x 10^{-6, -5.5,
 * ..., 2} with the least leave-one-out squared error sum_i ||y_i - yhat_i||^2 / (1 - h_ii)^2
 * (Allen's PRESS), the larger one on ties. A row whose first feature is NaN counts as missing: it
 * is the training mean in prediction, and left out of the fit. */
#pragma once

#include <stdint.h>

#include "base/mem.h"
#include "base/status.h"
#include "linalg/dense.h"

typedef struct {
    cs_pool pool; /* of all below */
    int64_t features, classes;
    double *mean, *scale; /* features: z = (x - mean) * scale */
    double *intercept;    /* classes */
    cs_dense weight;      /* features x classes */
    double penalty;
    double loo; /* leave-one-out squared error a row at this penalty */
} cs_ridge;

/* x: rows x features; label: rows in 0..classes-1. O(rows features^2 + 17 rows features classes)
 * time, one copy of x. CS_ERR_INPUT for fewer than 2 rows with features, a label out of range. */
cs_status cs_ridge_fit(const cs_dense *x, const int32_t *label, int64_t classes,
                       cs_ridge *out) CS_MUST_CHECK;
void cs_ridge_free(cs_ridge *ridge);

/* The class of row i of x: the largest score, the lowest class on ties. */
int32_t cs_ridge_predict(const cs_ridge *ridge, const cs_dense *x, int64_t i);
