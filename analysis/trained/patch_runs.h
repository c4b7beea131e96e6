/* Linear heads on the features of patches (measures/patch_heads.h), one per seed: each draws its
 * pictures and places in them, fits with the folds of its seed, which keep a picture together,
 * and answers the test pictures. */
#pragma once

#include "analysis/measures/patch_heads.h"
#include "analysis/trained/patch_predictions.h"
#include "analysis/trained/predictions.h"

/* The same for all layers. */
typedef struct {
    const char *few; /* of cs_few_shot: pictures, "all", "10%", "16" in all */
    int64_t most;    /* training places (pixels, or patches), drawn of those of these pictures */
    int64_t seeds;
    uint64_t seed;               /* of the first; of the jackknife's blocks */
    cs_linear_probe_options fit; /* but for the seed */
    cs_patch_targets train, test;
    cs_patch_predictions *kept; /* filled with every answer; NULL: not wanted */
} cs_patch_study;

/* CS_ERR_INPUT: pictures without masks or boxes, sides of other classes, a test side without a box. */
cs_status cs_patch_study_targets(const cs_images side[2], int64_t patch, cs_patch_task task,
                                 cs_patch_study *study) CS_MUST_CHECK;
void cs_patch_study_free(cs_patch_study *study);

/* A layer in a record, in the form of cs_probe_layer_record: the scores ("metrics": miou and
 * pixel-accuracy, or ap50), with the jackknife over test pictures, those of each class ("by_class"), of
 * the most frequent class of training pixels ("baseline", of segmentation) and of the test side's own
 * targets, and each run. train, test: a row a patch. *unconverged: seeds are added to it. */
cs_status cs_patch_layer_record(const cs_patch_study *study, const char *layer,
                                const cs_rows *train, const cs_rows *test, cs_item *item,
                                int64_t *unconverged) CS_MUST_CHECK;
