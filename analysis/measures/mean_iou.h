/* Intersection over union of a segmentation (the measure of PASCAL VOC and ADE20K; GVP's Table 6).
 *
 * With n_tp the pixels of class t that are predicted as p, over all pixels of all images:
 *
 *   IoU_c = n_cc / (sum_p n_cp + sum_t n_tc - n_cc)
 *   mIoU  = the mean over the classes, including background, that truth or prediction has
 *
 * Images are summed before the quotient, so that mIoU is not a mean over images. */
#pragma once

#include <stdint.h>

/* confusion: classes x classes, [truth][prediction]; the pixels are added to it. */
void cs_confusion_add(int64_t classes, int64_t pixels, const uint8_t *truth,
                      const uint8_t *predicted, int64_t *confusion);

/* mIoU; NaN without pixels. each (NULL: not wanted): IoU of the classes, NaN for a class that
 * neither truth nor prediction has. */
double cs_mean_iou(int64_t classes, const int64_t *confusion, double *each);

/* The share of pixels whose class is correct; NaN without pixels. */
double cs_pixel_accuracy(int64_t classes, const int64_t *confusion);
