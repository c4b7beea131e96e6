/* Linear heads on frozen features of patches for segmentation and detection: small analogues of
 * GVP's Tables 6 and 9 (UperNet on ADE20K, Mask R-CNN on COCO, both fine-tuned).
 *
 * A head maps the features z of a patch, standardised, linearly (measures/linear_probe.h). The
 * classes are those of the images after background, K = 1 + classes.
 *
 *   segmentation  the scores W^T z + b of the patches are a grid whose bilinear interpolation (from the
 *                 centres of patches, constant beyond the outermost: torch's interpolate without
 *                 align_corners) is the score of a pixel, whose class is the largest: the linear decoder
 *                 of Segmenter (Strudel et al., ICCV 2021). As interpolation is linear, W and b are
 *                 the multinomial logistic regression of pixels on interpolated features
 *   detection     the same regression of patches on the class of the smallest box that contains the
 *                 centre (y, x) of the patch, background if there is none, and four ridge regressions, on
 *                 the patches in a box, on y - top, x - left, bottom - y, right - x in pixels (FCOS: Tian
 *                 et al., ICCV 2019, without its pyramid and its centre-ness). A patch has a detection
 *                 of each class whose probability is at least 0.05, its score; in each image and class,
 *                 those that overlap one of a higher score by more than 1/2 are removed
 */
#pragma once

#include "analysis/measures/linear_probe.h"
#include "analysis/vision/average_precision.h"
#include "base/mem.h"
#include "base/status.h"
#include "image/images.h"

typedef enum { CS_HEAD_SEGMENTATION, CS_HEAD_DETECTION } cs_patch_task;

enum { CS_BOX_SIDES = 4 }; /* top, left, bottom, right */

/* Training targets from images. */
typedef struct {
    cs_pool pool;
    cs_patch_task task;
    const cs_images *images;                        /* borrowed */
    int64_t patch, rows, columns, patches, classes; /* patches: of a picture; classes: K */
    /* classified positions of an image: its pixels, or its patches, along rows */
    int64_t places;
    double *label;              /* images->count x places: 0 background */
    double *side[CS_BOX_SIDES]; /* detection: the same positions, 0 in the background; else NULL */
} cs_patch_targets;

/* CS_ERR_INPUT: no masks, or no boxes, or more than 255 classes; CS_ERR_USAGE: as cs_patch_check. */
cs_status cs_patch_targets_of(const cs_images *images, int64_t patch, cs_patch_task task,
                              cs_patch_targets *out) CS_MUST_CHECK;
void cs_patch_targets_free(cs_patch_targets *targets);

typedef struct {
    cs_linear_probe label, side[CS_BOX_SIDES];
    int sides; /* 0 or 4 */
} cs_patch_head;

/* x: a row for each patch of targets->images, along rows; place: `count` of their positions,
 * ascending. Positions of an image are held out together. Errors of cs_linear_probe_fit. Memory:
 * that of cs_linear_probe_fit, and for segmentation 4 bytes a position and feature. */
cs_status cs_patch_head_fit(const cs_patch_targets *targets, const cs_rows *x, int64_t count,
                            const int64_t *place, const cs_linear_probe_options *options,
                            cs_patch_head *out) CS_MUST_CHECK;
void cs_patch_head_free(cs_patch_head *head);

/* Predictions for images. */
typedef struct {
    uint8_t *mask; /* segmentation: of every pixel, count x height x width, as cs_images has them */
    int64_t detections;
    cs_detection *detection; /* by picture */
} cs_patch_answer;

/* For all images of the targets, from the features x of their patches. head NULL: from the targets:
 * scores that are each class's share of the pixels of the patch, or the boxes of the patches. */
cs_status cs_patch_head_answer(const cs_patch_targets *targets, const cs_patch_head *head,
                               const cs_rows *x, int threads, cs_patch_answer *out) CS_MUST_CHECK;
void cs_patch_answer_free(cs_patch_answer *answer);
