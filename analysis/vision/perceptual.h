/* A perceptual distance of images in the features of a classifier.
 *
 * With f_lt(x) the state of patch t after layer l of L, the last one normalised, and u = f / |f| (0
 * if f is):
 *
 *   d(x, y) = 1 / (L T) sum_l sum_t |u_lt(x) - u_lt(y)|^2,  in [0, 4]
 *
 * The form is that of LPIPS (Zhang et al., CVPR 2018, Eq. 1) without its learned weights and its
 * networks: values are comparable for the same classifier, and not with those of LPIPS (LA's Table
 * 8). */
#pragma once

#include "base/status.h"
#include "image/images.h"
#include "infer/model_text.h"

enum { CS_PERCEPTUAL_PASS = 64 }; /* images of a forward pass */

/* CS_ERR_USAGE: a model that does not classify images, or images of other sizes than those of
 * `like`. */
cs_status cs_perceptual_check(const cs_model_text *classifier, const cs_images *like) CS_MUST_CHECK;

/* a, b: `count` images of the sizes of `like`, one after another, height x width x channels values
 * each; distance: count. Memory: the states of 64 images in all layers, twice. Errors as above, and
 * of cs_patch_features. */
cs_status cs_perceptual(cs_model_text *classifier, const cs_images *like, int64_t count,
                        const float *a, const float *b, int threads,
                        double *distance) CS_MUST_CHECK;

/* SSIM of two images of height x width x channels values whose peak is `peak`. */
double cs_ssim(const float *a, const float *b, int64_t height, int64_t width, int64_t channels,
               double peak);
