/* Augmentation of pictures: a resized crop and a mirror image, both functions of (seed, step, row),
 * so that a resumed run sees the pictures of an uninterrupted one.
 *
 * The crop covers a share of the picture's area that is uniform in [least_area, 1], with a ratio of
 * width to height whose logarithm is uniform in +-log(most_ratio), at a uniform place; it is brought
 * back to the size of the picture by bilinear interpolation, which only enlarges. Where a drawn crop
 * does not fit, others are drawn; after ten it is the whole picture. (RandomResizedCrop of the MAE
 * and GVP recipes: areas from 0.2, ratios to 4/3.) A picture is mirrored with probability 1/2 where
 * its class allows: what is mirrored is of the class again (`mirror` of a corpus).
 */
#pragma once

#include "image/images.h"

typedef struct {
    double least_area; /* in (0, 1]; 1 with most_ratio 1: the whole picture */
    double most_ratio; /* >= 1 */
    bool flip;         /* where the class allows */
} cs_augment;

/* Rows top .. top + height and columns left .. left + width, in pixels, not whole ones. */
typedef struct {
    double top, left, height, width;
    bool mirrored;
} cs_crop;

/* CS_ERR_USAGE for a number out of its range. */
cs_status cs_augment_check(const cs_augment *augment) CS_MUST_CHECK;

/* Of picture i in row `row` of step `step`. */
cs_crop cs_augment_draw(const cs_augment *augment, const cs_images *images, int64_t i,
                        uint64_t seed, int64_t step, int64_t row);

/* The crop of picture i at the size of the picture: height x width x channels values, `value` of the
 * corpus or pixel / 255. The whole picture comes out as it is. */
void cs_crop_read(const cs_crop *crop, const cs_images *images, int64_t i, float *to);

/* Augmented pictures as patches, for training. */
typedef struct {
    const cs_images *images;
    int64_t patch;
    const int32_t *order; /* of patches, borrowed; NULL: along rows */
    cs_augment augment;
    uint64_t seed;
    float *whole; /* values of a picture */
} cs_patch_view;

/* The vectors of patches first .. first + count - 1, whole pictures, of cs_images_patches, as row `row`
 * of step `step` sees them; ctx: a cs_patch_view. CS_ERR_USAGE: not whole pictures. */
cs_status cs_patch_view_take(void *ctx, int64_t first, int64_t count, int64_t step, int64_t row,
                             float *to) CS_MUST_CHECK;

/* Checks the options and takes memory; images and order are borrowed. */
cs_status cs_patch_view_make(const cs_images *images, int64_t patch, const int32_t *order,
                             const cs_augment *augment, uint64_t seed,
                             cs_patch_view *out) CS_MUST_CHECK;
void cs_patch_view_free(cs_patch_view *view);
