/* Reconstruction of images with hidden patches, by a model and by two predictors without a network,
 * and their distance from the truth.
 *
 * In image i a share of its T patches is hidden, drawn by (seed, i): n = round(ratio T), uniformly
 * or in blocks, as in training. Predictors:
 *   model          analysis/vision/patch_values.h
 *   mean           the mean of the training images
 *   gaussian       E(x_h | x_s) = mu_h + C_hs (C_ss + r I)^-1 (x_s - mu_s), the best linear predictor
 *                  of pixels by the covariance C of the training images; the ridge r is the one of
 *                  10^-4 .. 10 times the mean variance with the least l2 on 1 / 8 (at most 64) of
 *                  them, which mu and C leave out. Above 4096 values C is that of at most 1024 of
 *                  them (linear_fill.h).
 * Scores of an image, in units of its values. Predictions of pixels are clipped to [0, 1], in scores
 * and on the sheet; those of a corpus of real values are not clipped in scores:
 *   l2             mean squared error of the values of hidden patches
 *   psnr           10 log10(peak^2 / l2), peak 1, or the range of the training values for a
 *                  real-valued corpus; infinite if l2 is 0
 *   ssim           of the whole image with its visible patches: the mean of the index of Wang et al.
 *                  (2004) over all windows of a Gaussian of sd 1.5, 11 x 11 (or the image, if it
 *                  is smaller), K1 .01, K2 .03, over channels
 *   perceptual     of the whole image likewise, in the features of a classifier (perceptual.h), if
 *                  one is given
 */
#pragma once

#include "analysis/vision/patch_values.h"
#include "base/progress.h"
#include "image/images.h"
#include "infer/model_text.h"
#include "io/result.h"

enum { CS_FILLERS = 3, CS_PICTURE_SCORES = 4 };

typedef struct {
    double mask_ratio; /* in (0, 1); n is clamped into 1..T-1 */
    bool blocks;       /* masks of block-masked (plan/block_masked.c), not uniform */
    /* 1: at once; K: hidden patches in K groups of a drawn order, sizes that differ by at most one;
     * 0: patch by patch. */
    int64_t groups;
    int64_t draws; /* of codes: steps of iterative decoding, likeliest codes; 0: by groups */
    /* images, drawn from the held-out ones (all if there are none); 0: all */
    int64_t limit;
    int64_t shown; /* images on the sheet */
    const char
        *objective; /* of the model, which heads its column there unless that is MAE or MAGE (a
                              masked model with a decoder); NULL: unknown */
    int64_t batch;
    cs_model_text *classifier; /* of the perceptual distance; NULL: none */
    uint64_t seed;
    int threads;
    const cs_progress *progress;
} cs_reconstruct_options;

typedef struct {
    int64_t pictures, hidden, patches; /* hidden patches of each image */
    int64_t *picture;                  /* pictures: numbers in the corpus, ascending */
    bool there[CS_FILLERS];
    double ridge;  /* over the mean variance; NaN: none */
    int scores;    /* available scores: all, or without the last */
    double *score; /* pictures x CS_FILLERS x CS_PICTURE_SCORES; NaN: not there */
} cs_reconstruction;

/* train: its images that are not held out fit mean and covariance; NULL: those of `images`. images:
 * the whole corpus; its held-out images are reconstructed, or all if none is held out; sheet (NULL: none): a PNG with the rows original, visible part, model,
 * mean, gaussian. The same for any number of threads. CS_ERR_USAGE: images of other sizes than
 * those of the model, a ratio out of range, more groups than hidden patches; CS_ERR_INPUT: no
 * image. */
cs_status cs_reconstruct(cs_patch_reader *reader, const cs_images *train, const cs_images *images,
                         const cs_reconstruct_options *options, const char *sheet,
                         cs_reconstruction *out) CS_MUST_CHECK;
void cs_reconstruction_free(cs_reconstruction *r);

/* Means over images with standard errors (of the mean, images independent), and every image. */
void cs_reconstruction_record(const cs_reconstruction *r, const cs_images *images, cs_item *root);
