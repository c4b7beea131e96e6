/* Features of pictures: the states of a model, a row a picture.
 *
 *   mean     over all rows that the model reads, the class token among them
 *   first    the first row, the class token
 *   last     the last row
 *   patches  the states of all patches side by side, along rows of the plane
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
    CS_PICTURE_AUTO /* one of them, which is not known yet: no features, and the most columns */
} cs_picture_pooling;

#define CS_PICTURE_POOLINGS "mean|first|last|patches|cells|auto" /* in their order */

/* Columns of a row. */
int64_t cs_picture_width(const cs_model_config *config, cs_picture_pooling pooling);

/* out: options->layers matrices of a row a picture of the corpus (of the model's patches), one after
 * the other, in fresh memory; options->pooling is not used. Memory: of patches and cells that of all
 * patches. Errors as cs_text_features. */
cs_status cs_picture_features(cs_model *model, const cs_corpus *corpus,
                              const cs_hidden_options *options, cs_picture_pooling pooling,
                              float **out) CS_MUST_CHECK;
