/* Counts are integers: the order of pictures does not matter. */
#include "analysis/measures/mean_iou.h"

#include <math.h>

void cs_confusion_add(int64_t classes, int64_t pixels, const uint8_t *truth,
                      const uint8_t *predicted, int64_t *confusion)
{
    for (int64_t i = 0; i < pixels; ++i) {
        confusion[truth[i] * classes + predicted[i]] += 1;
    }
}

double cs_mean_iou(int64_t classes, const int64_t *confusion, double *each)
{
    double sum = 0;
    int64_t there = 0;
    for (int64_t c = 0; c < classes; ++c) {
        int64_t any = -confusion[c * classes + c];
        for (int64_t k = 0; k < classes; ++k) {
            any += confusion[c * classes + k] + confusion[k * classes + c];
        }
        const double iou = any > 0 ? (double)confusion[c * classes + c] / (double)any : (double)NAN;
        sum += any > 0 ? iou : 0;
        there += any > 0;
        if (each) {
            each[c] = iou;
        }
    }
    return there > 0 ? sum / (double)there : (double)NAN;
}

double cs_pixel_accuracy(int64_t classes, const int64_t *confusion)
{
    int64_t all = 0, right = 0;
    for (int64_t c = 0; c < classes; ++c) {
        right += confusion[c * classes + c];
        for (int64_t k = 0; k < classes; ++k) {
            all += confusion[c * classes + k];
        }
    }
    return all > 0 ? (double)right / (double)all : (double)NAN;
}
