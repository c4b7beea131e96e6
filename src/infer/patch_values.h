/* Patches that are hidden from a model of pictures, group by group.
 *
 * Every patch of a picture has a group. Those of group 0 are shown. Groups 1, 2, ... are predicted one
 * after the other, each from all groups before it as they are then: what was predicted is shown with
 * its predicted values (LA section 5.2.3, Table 8: token by token; GVP Table 8: group by group). One
 * group is one shot.
 *
 * A model that predicts codes is taken at the likeliest code of each hidden patch, decoded with those of
 * the whole picture (model/codes.h), and is shown that code, or the values that it stands for. The
 * encoder of a trained tokenizer sees all of a picture: codes of shown patches may tell of hidden ones.
 */
#pragma once

#include "base/status.h"
#include "model/codes.h"
#include "model/pass.h"
#include "train/batch.h"
#include "train/model_kind.h"

typedef struct {
    cs_model *model; /* borrowed */
    cs_task task;
    cs_pass pass;
    int64_t patches, values, batch; /* of a picture, of a patch; pictures a forward pass */
    int32_t *order;                 /* of the model's sequences; NULL: along rows */
} cs_patch_reader;

/* Starts from a zeroed object. CS_ERR_USAGE: a model that predicts neither values nor codes, or of next
 * patches alone (a causal one, whose rows know nothing of what comes later). Shown patches see each other,
 * also in models of two streams whose content was causal in training. */
cs_status cs_patch_reader_open(cs_model *model, const cs_model_kind *kind, int64_t batch,
                               cs_patch_reader *out) CS_MUST_CHECK;
void cs_patch_reader_close(cs_patch_reader *reader); /* accepts a zeroed object */

/* real: count pictures of patches x values, along rows; extra: their vectors, for models that read some,
 * else NULL; id: of codes of the same, for models of codes, else not read; group: count x patches,
 * 0..groups; each picture has a patch of group 0 and one of group 1. out: as real, with what is predicted
 * in place of what is hidden (shown patches as they are). Of a model of normalised targets the mean and the
 * standard deviation of each hidden patch are taken from `real`, and more than one group is CS_ERR_USAGE. */
cs_status cs_patches_fill(cs_patch_reader *reader, int64_t count, const float *real,
                          const float *extra, const int32_t *id, const int32_t *group,
                          int64_t groups, float *out) CS_MUST_CHECK;
