/* Average precision of detections at an overlap of one half: AP50 of COCO (Lin et al., 2014;
 * cocoeval.py of pycocotools at iouThr 0.5, without crowds, areas and a limit on detections; GVP's
 * Table 9 has its mean over overlaps .5 to .95).
 *
 *   overlap(a, b) = area(a and b) / area(a or b)
 *
 * Detections of a class in an image are processed in order of falling score. Each hits the box of
 * its class that it overlaps most, among those not hit before and overlapped by at least 1/2 (the
 * last of equal ones). Then over all images, from the highest score down (equal ones in the order
 * given): with h_k hits among the first k detections and n boxes, recall r_k = h_k / n and
 * precision p_k = h_k / k,
 *
 *   AP50 = mean over r = 0, 0.01, ..., 1 of max {p_k : r_k >= r}, 0 if no r_k reaches r
 *
 * and the mean of AP50 over the classes that have a box. */
#pragma once

#include <stdint.h>

#include "base/status.h"
#include "image/images.h"

typedef struct {
    int64_t picture;
    int32_t label;
    double top, left, bottom,
        right;    /* rows and columns; right and bottom are exclusive, as in cs_box */
    double score; /* not NaN */
    bool hit;
} cs_detection;

double cs_detection_overlap(const cs_detection *a, const cs_detection *b);

/* Sorts detections by score, the highest first, ties in the given order, and marks those that hit a
 * box. Boxes of `images` are those of image 0, 1, ...; detection[].picture is one of them. */
cs_status cs_detections_match(const cs_images *images, int64_t count,
                              cs_detection *detection) CS_MUST_CHECK;

/* The mean AP50 of matched detections, over the images with block[picture] != without (block NULL:
 * all). each (NULL: not wanted): classes, NaN for a class without a box; NaN if no class has one.
 * Cost: classes x detections. */
double cs_average_precision(int64_t classes, const cs_images *images, int64_t count,
                            const cs_detection *detection, const int32_t *block, int64_t without,
                            double *each);

/* Intersection over union of a segmentation (the measure of PASCAL VOC and ADE20K; GVP's Table 6).
 *
 * With n_tp the pixels of class t that are predicted as p, over all pixels of all images:
 *
 *   IoU_c = n_cc / (sum_p n_cp + sum_t n_tc - n_cc)
 *   mIoU  = the mean over the classes, including background, that truth or prediction has
 *
 * Images are summed before the quotient, so that mIoU is not a mean over images.
 *
 * confusion: classes x classes, [truth][prediction]; the pixels are added to it. */
void cs_confusion_add(int64_t classes, int64_t pixels, const uint8_t *truth,
                      const uint8_t *predicted, int64_t *confusion);

/* mIoU; NaN without pixels. each (NULL: not wanted): IoU of the classes, NaN for a class that
 * neither truth nor prediction has. */
double cs_mean_iou(int64_t classes, const int64_t *confusion, double *each);

/* The share of pixels whose class is correct; NaN without pixels. */
double cs_pixel_accuracy(int64_t classes, const int64_t *confusion);
