/* Augmentation of images: a resized crop and a mirror image, both functions of (seed, step, row),
 * so that a resumed run uses the images of an uninterrupted one.
 *
 * The crop covers a share of the area that is uniform in [least_area, 1], with an aspect ratio
 * whose logarithm is uniform in +-log(most_ratio), at a uniform position. It is resized to the size
 * of the image by bilinear interpolation, which only enlarges. If a crop does not fit, others are
 * drawn; after ten it is the whole image. (RandomResizedCrop of the MAE and GVP recipes: areas from
 * 0.2, ratios to 4/3.) An image is mirrored with probability 1/2 if its class allows it: the mirror
 * image belongs to the class (`mirror` of a corpus). */
#pragma once

#include "image/images.h"
#include "image/processor.h"
#include "text/vectors.h"

typedef struct {
    double least_area; /* in (0, 1]; 1 with most_ratio 1: the whole image */
    double most_ratio; /* >= 1 */
    bool flip;         /* if the class allows */
} cs_augment;

/* Rows top .. top + height and columns left .. left + width, in fractional pixels. */
typedef struct {
    double top, left, height, width;
    bool mirrored;
} cs_crop;

/* CS_ERR_USAGE for a number out of its range. */
cs_status cs_augment_check(const cs_augment *augment) CS_MUST_CHECK;

/* The crop of image i in row `row` of step `step`. */
cs_crop cs_augment_draw(const cs_augment *augment, const cs_images *images, int64_t i,
                        uint64_t seed, int64_t step, int64_t row);

/* The crop of image i, resized to the size of the image: height x width x channels values, `value`
 * of the corpus or pixel / 255. The whole image is unchanged. */
void cs_crop_read(const cs_crop *crop, const cs_images *images, int64_t i, float *to);

/* Images as patches, for training: augmented, or decoded when they are read. */
typedef struct {
    const cs_images *images;
    int64_t patch;
    const int32_t *order;          /* of patches, borrowed; NULL: along rows */
    const cs_processor *processor; /* of the model: applied to values */
    bool augments;
    cs_augment augment;
    uint64_t seed;
} cs_patch_view;

/* The vectors of patches first .. first + count - 1, a whole image, of cs_images_patches, for row
 * `row` of step `step`, augmented unless step is 0; ctx: a cs_patch_view. Several threads may call
 * it. CS_ERR_USAGE: not a whole image; CS_ERR_MEMORY; errors of cs_images_read. */
cs_status cs_patch_view_take(void *ctx, int64_t first, int64_t count, int64_t step, int64_t row,
                             float *to) CS_MUST_CHECK;

/* augment NULL: images as they are. Checks the options; all is borrowed. */
cs_status cs_patch_view_make(const cs_images *images, int64_t patch, const int32_t *order,
                             const cs_processor *processor, const cs_augment *augment,
                             uint64_t seed, cs_patch_view *out) CS_MUST_CHECK;

/* The vectors of cs_images_patches for images that are decoded when they are read, by the processor
 * of a model. Copies what they need. CS_ERR_MEMORY. */
cs_status cs_patch_vectors(const cs_images *images, int64_t patch, const int32_t *order,
                           const cs_processor *processor, cs_vectors **out) CS_MUST_CHECK;
