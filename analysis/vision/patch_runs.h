/* Linear heads on the features of patches (vision/patch_heads.h), one for each seed: each draws
 * its images and positions in them, fits with the folds of its seed, which keep an image together,
 * and predicts the test images. */
#pragma once

#include "analysis/trained/predictions.h"
#include "analysis/vision/patch_heads.h"
#include "analysis/vision/patch_predictions.h"

/* The same for all layers. */
typedef struct {
    const char *few; /* of cs_few_shot: pictures, "all", "10%", "16" in all */
    /* training positions (pixels, or patches), drawn from these images */
    int64_t most;
    int64_t seeds;
    uint64_t seed;               /* of the first run; of the blocks of the jackknife */
    cs_linear_probe_options fit; /* except the seed */
    cs_patch_targets train, test;
    cs_patch_predictions *kept; /* receives all predictions; NULL: not wanted */
} cs_patch_study;

/* CS_ERR_INPUT: images without masks or boxes, sides with different classes, a test side without a
 * box. */
cs_status cs_patch_study_targets(const cs_images side[2], int64_t patch, cs_patch_task task,
                                 cs_patch_study *study) CS_MUST_CHECK;
void cs_patch_study_free(cs_patch_study *study);

/* A layer in a record, in the form of cs_probe_layer_record: the scores ("metrics": miou and
 * pixel-accuracy, or ap50), with the jackknife over test images, those of each class ("by_class"),
 * of the most frequent class of training pixels ("baseline", of segmentation) and of the targets of
 * the test side, and each run. train, test: a row for each patch. *unconverged: the number of seeds
 * is added to it. */
cs_status cs_patch_layer_record(const cs_patch_study *study, const char *layer,
                                const cs_rows *train, const cs_rows *test, cs_item *item,
                                int64_t *unconverged) CS_MUST_CHECK;
