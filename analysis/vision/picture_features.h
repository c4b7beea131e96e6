/* Features of images: the states of a model, a row for each image.
 *
 *   mean     over all rows that the model reads, including the class token
 *   first    the first row, the class token
 *   last     the last row
 *   patches  the concatenated states of all patches, along rows of the plane
 *   cells    the same averaged over cells: patch (y, x) of R x C is in cell (floor(r y / R),
 *            floor(c x / C)) of r x c, r = min(4, R), c = min(4, C) (average pooling of feature maps
 *            before a linear classifier: Goyal et al. 2019, App. B)
 */
#pragma once

#include "infer/text_features.h"

enum { CS_PICTURE_SIDE = 4 }; /* cells a side */

typedef enum {
    CS_PICTURE_MEAN,
    CS_PICTURE_FIRST,
    CS_PICTURE_LAST,
    CS_PICTURE_PATCHES,
    CS_PICTURE_CELLS,
    CS_PICTURE_AUTO /* one of them, not yet chosen: no features, and the most columns */
} cs_picture_pooling;

#define CS_PICTURE_POOLINGS "mean|first|last|patches|cells|auto" /* in their order */

/* Columns of a row. */
int64_t cs_picture_width(const cs_model_config *config, cs_picture_pooling pooling);

/* out: options->layers matrices with a row for each image of the corpus (of the model's patches),
 * one after the other, in fresh memory; options->pooling is not used. Memory: for patches and cells
 * that of all patches. Errors as cs_text_features. */
cs_status cs_picture_features(cs_model *model, const cs_corpus *corpus,
                              const cs_hidden_options *options, cs_picture_pooling pooling,
                              float **out) CS_MUST_CHECK;

/** Pixels of an image, or of a patch of it, as numbers; of a model that reads codes, the numbers of
 * their vectors.
 */
int64_t cs_picture_values(const cs_model *model, const cs_corpus *patches, bool of_patch);

/* The vectors of a corpus of images that are decoded when they are read, of the images with keep[i]
 * (NULL: all) and 0 of the others: tokens x real_width, in fresh memory. threads: 0: cs_threads().
 * CS_ERR_MEMORY; errors of cs_images_read. */
cs_status cs_picture_pixels(const cs_corpus *corpus, const uint8_t *keep, int threads,
                            float **out) CS_MUST_CHECK;
