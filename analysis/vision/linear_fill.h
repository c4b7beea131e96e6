/* The best linear prediction of some values of a vector from the others, by the mean and covariance
 * of a sample of such vectors:
 *
 *   E(x_h | x_s) = mu_h + C_hs (C_ss + r I)^-1 (x_s - mu_s)
 *
 * which is the conditional mean if the vectors are Gaussian. The ridge r regularises the sample
 * covariance (values that are constant in the sample have no variance). With L = (C + r I)^-1 the
 * same is
 *
 *   mu_h - L_hh^-1 L_hs (x_s - mu_s)
 *
 * which is cheaper where fewer values are hidden than visible. */
#pragma once

#include <stdint.h>

#include "base/status.h"
#include "linalg/dense.h"

/* Above MOST values the covariance is that of at most SAMPLE of the vectors, evenly spaced, and is
 * not formed. With their n centred rows as the columns of Z,
 *
 *   C_hs (C_ss + r I)^-1 = Z_h (Z_s' Z_s + n r I)^-1 Z_s'
 */
enum { CS_LINEAR_FILL_MOST = 4096, CS_LINEAR_FILL_SAMPLE = 1024 };

typedef struct {
    int64_t width;
    double *mean;         /* width */
    cs_dense covariance;  /* width x width; none where width is above CS_LINEAR_FILL_MOST */
    double variance;      /* mean of its diagonal */
    double *inverse;      /* L, width x width; NULL: none (cs_linear_fill_invert) */
    double inverse_ridge; /* its ridge */
    float *rows;          /* sample x width; NULL: the covariance is there */
    int64_t sample;
} cs_linear_fill;

/* Vectors that are read when they are needed: `read` writes the width values of one; several threads
 * call it. */
typedef struct {
    cs_status (*read)(void *ctx, int64_t row, float *to);
    void *ctx;
    int64_t count, width;
} cs_fill_rows;

/* left_out[i] != 0 (NULL: none): row i is not used. Covariance: divided by the number of rows. Bits
 * do not depend on threads. CS_ERR_INPUT: no row; CS_ERR_MEMORY; errors of `read`. Rows are read
 * once: count width^2 flops, 8 width^2 bytes and about the same for scratch; above
 * CS_LINEAR_FILL_MOST values twice: O(count width) and the memory of the sample. */
cs_status cs_linear_fill_fit(const cs_fill_rows *rows, const uint8_t *left_out, int threads,
                             cs_linear_fill *out) CS_MUST_CHECK;
void cs_linear_fill_free(cs_linear_fill *fill);

/* The inverse for r = ridge times the mean variance, in the place of an earlier one: for many
 * fillings with this ridge that hide less than half of the values. width^3 flops, 8 width^2 bytes;
 * nothing above CS_LINEAR_FILL_MOST values. BLAS must be held. CS_ERR_MEMORY; CS_ERR_INPUT if C + r I
 * is not positive definite. */
cs_status cs_linear_fill_invert(double ridge, cs_linear_fill *fill) CS_MUST_CHECK;

/* to: ridges x width: x where hidden[j] is 0, else the prediction with r = ridge[k] times the mean
 * variance. One thread, s^3 / 3 flops a ridge for s visible values, or h^3 / 3 for h < s hidden ones
 * where the inverse is that of the ridge; above CS_LINEAR_FILL_MOST values n^2 s + n^3 / 3 a ridge
 * and 16 n^2 bytes. BLAS must be held (cs_threads_blas_hold). CS_ERR_INPUT if C_ss + r I is not
 * positive definite. */
cs_status cs_linear_fill_of(const cs_linear_fill *fill, int64_t ridges, const double *ridge,
                            const uint8_t *hidden, const float *x, float *to) CS_MUST_CHECK;
