/* Average precision of detections at an overlap of one half: AP50 as COCO has it (Lin et al., 2014;
 * cocoeval.py of pycocotools at iouThr 0.5, without crowds, areas and a limit of detections; GVP's
 * Table 9 has its mean over overlaps .5 to .95).
 *
 *   overlap(a, b) = area(a and b) / area(a or b)
 *
 * Detections of a class in a picture are taken from the highest score down; each hits the box of its
 * class that it overlaps most, of those that none before it has hit and that it overlaps by at least
 * 1/2 (the last of equal ones). Then over all pictures, from the highest score down (equal ones in the
 * order given): with h_k hits among the first k detections and n boxes, recall r_k = h_k / n and
 * precision p_k = h_k / k,
 *
 *   AP50 = mean over r = 0, 0.01, ..., 1 of max {p_k : r_k >= r}, 0 where no r_k reaches r
 *
 * and the mean of AP50 over the classes that have a box.
 */
#pragma once

#include <stdint.h>

#include "base/status.h"
#include "image/images.h"

typedef struct {
    int64_t picture;
    int32_t label;
    double top, left, bottom,
        right;    /* rows and columns; right and bottom are outside, as of cs_box */
    double score; /* not NaN */
    bool hit;
} cs_detection;

double cs_detection_overlap(const cs_detection *a, const cs_detection *b);

/* Sorts detections by score, the highest first, equal ones as they stood, and tells which hit a box.
 * Boxes of `images` as those of picture 0, 1, ...; detection[].picture is one of them. */
cs_status cs_detections_match(const cs_images *images, int64_t count,
                              cs_detection *detection) CS_MUST_CHECK;

/* The mean AP50 of matched detections, over the pictures with block[picture] != without (block NULL:
 * all). each (NULL: not wanted): classes, NaN of one without a box; NaN where no class has one. Cost:
 * classes x detections. */
double cs_average_precision(int64_t classes, const cs_images *images, int64_t count,
                            const cs_detection *detection, const int32_t *block, int64_t without,
                            double *each);
