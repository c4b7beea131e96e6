/* Linear heads on the features of patches (vision/patch_heads.h), one for each seed: each draws
 * its images and positions in them, fits with the folds of its seed, which keep an image together,
 * and predicts the test images. */
#pragma once

#include "analysis/trained/predictions.h"
#include "analysis/vision/patch_heads.h"
#include "image/patches.h"
#include "io/table.h"

/* Predictions of linear heads of patches for the test images, image by image: a table and a sheet.
 *
 * predictions.csv, a row for each
 *   image and class (background too) that truth or prediction has: pixels of the true class, those
 *   predicted, both, and iou = both / (pixels + predicted - both); summed over images they are those of
 *   vision/average_precision.h
 *   detection: class, score, the box, its overlap with the box of its class in the image that it
 *   overlaps most (0: there is none), and whether it hits one (vision/average_precision.h), in the
 *   order of average precision
 * Images are numbered from 0 on the test side, for every layer and seed.
 *
 * The sheet shows some of them, a row each, evenly spaced: the image, the truth, then a column for
 * each layer, of the first seed; classes by colour; of detections those of the highest scores, as
 * many as the image has boxes. */

typedef struct {
    const cs_patch_targets *test; /* borrowed */
    cs_table table;
    cs_cells cells;
    int64_t shown, columns; /* images on the sheet; columns that are drawn */
} cs_patch_predictions;

/* For at most `layers` layers; truth is drawn. */
cs_status cs_patch_predictions_make(const cs_patch_targets *test, int64_t layers,
                                    cs_patch_predictions *out) CS_MUST_CHECK;
void cs_patch_predictions_free(cs_patch_predictions *p);

/* A study of heads: what is the same for all layers. */
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
