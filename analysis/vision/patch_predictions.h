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
#pragma once

#include "analysis/vision/patch_heads.h"
#include "image/cells.h"
#include "io/table.h"

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

/* draws: also as the next column of the sheet. Detections are matched. */
cs_status cs_patch_predictions_add(const char *layer, uint64_t seed, bool draws,
                                   const cs_patch_answer *answer,
                                   cs_patch_predictions *p) CS_MUST_CHECK;
