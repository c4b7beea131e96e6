/* Predictions of hidden patches by an image model, group by group.
 *
 * Every patch of an image has a group. Group 0 is visible. Groups 1, 2, ... are predicted one after
 * the other, each from all groups before it in their current state: predicted patches are shown
 * with their predicted values (LA section 5.2.3, Table 8: token by token; GVP Table 8: group by
 * group). One group is one shot.
 *
 * A model of codes predicts the likeliest code of each hidden patch, which is decoded with those of
 * the whole image (image/codes.h), and then reads that code, or its values. The encoder of a
 * trained tokenizer sees all of an image: codes of visible patches may depend on hidden ones. */
#pragma once

#include "base/status.h"
#include "image/codes.h"
#include "model/pass.h"
#include "train/batch.h"
#include "train/model_kind.h"

typedef struct {
    cs_model *model; /* borrowed */
    cs_task task;
    cs_pass pass;
    int64_t patches, values, batch; /* of an image, of a patch; images a forward pass */
    int32_t *order;                 /* of the model's sequences; NULL: along rows */
} cs_patch_reader;

/* Starts from a zeroed object. CS_ERR_USAGE: a model that predicts neither values nor codes, or
 * only next patches (a causal one, whose rows do not depend on later ones). Visible patches attend
 * to each other, also in models of two streams whose content was causal in training. */
cs_status cs_patch_reader_open(cs_model *model, const cs_model_kind *kind, int64_t batch,
                               cs_patch_reader *out) CS_MUST_CHECK;
void cs_patch_reader_close(cs_patch_reader *reader); /* accepts a zeroed object */

/* real: count images of patches x values, along rows; extra: their vectors, for models that read
 * some, else NULL; id: codes of the same, for models of codes, else not read; group: count x
 * patches, 0..groups; each image has a patch of group 0 and one of group 1. out: as real, with
 * predictions in place of hidden patches (visible patches unchanged). For a model of normalised
 * targets the mean and the standard deviation of each hidden patch are taken from `real`, and more
 * than one group is CS_ERR_USAGE. */
cs_status cs_patches_fill(cs_patch_reader *reader, int64_t count, const float *real,
                          const float *extra, const int32_t *id, const int32_t *group,
                          int64_t groups, float *out) CS_MUST_CHECK;
