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

/* Iterative decoding of codes (MaskGIT: Chang et al. 2022, section 3.2; MAGE: Li et al. 2023). In step s
 * of S a code is drawn for each of the hidden patches, N at first, and
 *
 *   n_s = min(max(1, floor(N cos(pi s / 2 S))), hidden - 1)
 *
 * of them stay hidden, n_S = 0: those whose confidence log p(code) + t (1 - s / S) G is least, G of
 * the Gumbel distribution. */
typedef struct {
    int64_t steps;      /* S */
    double temperature; /* logits are divided by it before codes are drawn; 0: the likeliest code */
    double choice;      /* t; 0: no noise */
    uint64_t seed;
} cs_draw_options;

/* As cs_patches_fill, for a model of codes. group: count x patches, 0: visible; all patches of an
 * image may be hidden. number: count, of the images, which fix what is drawn together with the
 * seed; NULL: 0, 1, .... id: codes of the images, and on return also those that were drawn. nll
 * (NULL: not wanted): count, the sum of -log p of the codes when they were kept. CS_ERR_USAGE: no
 * model of codes, steps below 1, a temperature that is negative. */
cs_status cs_patches_draw(cs_patch_reader *reader, int64_t count, const float *real,
                          const float *extra, const int32_t *group, const int64_t *number,
                          const cs_draw_options *options, int32_t *id, double *nll,
                          float *out) CS_MUST_CHECK;
