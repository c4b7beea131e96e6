/* Intersection over union of a segmentation (the measure of PASCAL VOC and ADE20K; GVP's Table 6).
 *
 * With n_tp the pixels of class t that are predicted as p, over all pixels of all pictures:
 *
 *   IoU_c = n_cc / (sum_p n_cp + sum_t n_tc - n_cc)
 *   mIoU  = the mean over the classes, background among them, that truth or prediction has
 *
 * Pictures are summed before the quotient, so that mIoU is no mean over pictures.
 */
#pragma once

#include <stdint.h>

/* confusion: classes x classes, [truth][prediction]; the pixels are added to it. */
void cs_confusion_add(int64_t classes, int64_t pixels, const uint8_t *truth,
                      const uint8_t *predicted, int64_t *confusion);

/* mIoU; NaN of no pixel. each (NULL: not wanted): IoU of the classes, NaN where neither truth nor
 * prediction has it. */
double cs_mean_iou(int64_t classes, const int64_t *confusion, double *each);

/* The share of pixels whose class is the true one; NaN of no pixel. */
double cs_pixel_accuracy(int64_t classes, const int64_t *confusion);
