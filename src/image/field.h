/* The toy model of images: Gaussian random fields with known covariance, so that the best
 * prediction of any pixel from any others has a closed form.
 *
 *     E x(y, u) = 0,   E x(y, u) x(y', u') = rho^|y - y'| rho^|u - u'|
 *
 * (a stationary first-order Markov field in each direction: Habibi, Proc. IEEE 60, 1972). Sampled
 * exactly: white noise through x_t = rho x_(t-1) + sqrt(1 - rho^2) e_t, begun with x_0 = e_0, along
 * rows and then along columns.
 *
 * The corpus `field` has 8,000 of 32 x 32 with rho = 0.9; "field:KEY=VALUE,..." draws others: side,
 * correlation (rho, in [0, 1)), fields, seed. Values are multiples of 2^-12 (an error of sd 7e-5,
 * so that the bits do not depend on the mathematics library); pixels show 128 + 32 x. */
#pragma once

#include <stdint.h>

#include "image/images.h"

/* x: height x width values of sample `index`; rho in (-1, 1). */
void cs_field_sample(uint64_t seed, int64_t index, double rho, int64_t height, int64_t width,
                     double *x);

/* The covariance of positions a and b of a field of `width` columns, numbered along rows. */
double cs_field_covariance(double rho, int64_t width, int64_t a, int64_t b);

bool cs_field_named(const char *source); /* "field:..." */

/* The fields of such a source, unlabelled, split by `options`, which are resolved. name and path
 * are left to the caller, as is *out in every case. CS_ERR_USAGE: an unknown key, a value out of
 * range. */
cs_status cs_field_read(const char *source, const cs_images_options *options,
                        cs_images *out) CS_MUST_CHECK;

/* Whether images are of `field` or "field:..."; then *rho is the correlation. */
bool cs_field_is(const cs_images *images, double *rho);
