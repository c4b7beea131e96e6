/* Whether a detection hits a box depends on its picture alone, so that pictures can be left out without
 * matching again. */
#include "analysis/vision/average_precision.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/mem.h"
#include "base/sort.h"

enum { RECALLS = 101 };

static const double ENOUGH = 0.5;

double cs_detection_overlap(const cs_detection *a, const cs_detection *b)
{
    const double high = fmin(a->bottom, b->bottom) - fmax(a->top, b->top),
                 wide = fmin(a->right, b->right) - fmax(a->left, b->left);
    const double both = high > 0 && wide > 0 ? high * wide : 0;
    const double any = (a->bottom - a->top) * (a->right - a->left) +
                       (b->bottom - b->top) * (b->right - b->left) - both;
    return any > 0 ? both / any : 0;
}

/* The box that a detection hits, -1: none. */
static int64_t find_box(const cs_images *m, const cs_detection *d, const uint8_t *taken)
{
    double most = ENOUGH;
    int64_t found = -1;
    for (int64_t b = m->box_ptr[d->picture]; b < m->box_ptr[d->picture + 1]; ++b) {
        const cs_box *box = &m->box[b];
        const cs_detection truth = {
            .top = box->top, .left = box->left, .bottom = box->bottom, .right = box->right};
        const double overlap = cs_detection_overlap(d, &truth);
        if (box->label == d->label && !taken[b] && overlap >= most) {
            most = overlap;
            found = b;
        }
    }
    return found;
}

cs_status cs_detections_match(const cs_images *images, int64_t count, cs_detection *detection)
{
    CS_AUTO_FREE uint8_t *taken = cs_calloc(images->box_ptr[images->count] + 1, 1);
    CS_AUTO_FREE cs_scored *order = cs_alloc(count + 1, sizeof *order);
    CS_AUTO_FREE cs_detection *sorted = cs_alloc(count + 1, sizeof *sorted);
    cs_status status = taken && order && sorted ? CS_OK : CS_ERR_MEMORY;
    for (int64_t i = 0; i < count && status == CS_OK; ++i) {
        order[i] = (cs_scored){detection[i].score, i};
    }
    if (status == CS_OK) {
        qsort(order, (size_t)count, sizeof *order, cs_scored_compare);
    }
    for (int64_t i = 0; i < count && status == CS_OK; ++i) {
        sorted[i] = detection[order[i].index];
        const int64_t box = find_box(images, &sorted[i], taken);
        sorted[i].hit = box >= 0;
        if (box >= 0) {
            taken[box] = 1;
        }
    }
    if (status == CS_OK) {
        memcpy(detection, sorted, (size_t)count * sizeof *sorted);
    }
    return status;
}

/* Precision at recall r is the largest at a recall of r or more: from the last detection back. */
static double precision_of(int64_t label, int64_t boxes, int64_t count, const cs_detection *d,
                           const int32_t *block, int64_t without)
{
    int64_t taken = 0, hits = 0;
    for (int64_t i = 0; i < count; ++i) {
        if (d[i].label == label && !(block && block[d[i].picture] == without)) {
            taken += 1;
            hits += d[i].hit;
        }
    }
    double best = 0, sum = 0;
    int r = RECALLS - 1;
    for (int64_t i = count - 1; i >= 0; --i) {
        if (d[i].label != label || (block && block[d[i].picture] == without)) {
            continue;
        }
        /* No more recall than hits / boxes is left: what is above it has the best so far. */
        for (; r >= 0 && r * boxes > hits * (RECALLS - 1); --r) {
            sum += best;
        }
        best = fmax(best, (double)hits / (double)taken);
        taken -= 1;
        hits -= d[i].hit;
    }
    return (sum + (r + 1) * best) / RECALLS;
}

double cs_average_precision(int64_t classes, const cs_images *images, int64_t count,
                            const cs_detection *detection, const int32_t *block, int64_t without,
                            double *each)
{
    double sum = 0;
    int64_t there = 0;
    for (int64_t c = 0; c < classes; ++c) {
        int64_t boxes = 0;
        for (int64_t i = 0; i < images->count; ++i) {
            for (int64_t b = images->box_ptr[i];
                 b < images->box_ptr[i + 1] && !(block && block[i] == without); ++b) {
                boxes += images->box[b].label == c;
            }
        }
        const double value =
            boxes > 0 ? precision_of(c, boxes, count, detection, block, without) : (double)NAN;
        sum += boxes > 0 ? value : 0;
        there += boxes > 0;
        if (each) {
            each[c] = value;
        }
    }
    return there > 0 ? sum / (double)there : (double)NAN;
}

/* --- mean IoU ---------------------------------------------------------------------------------- */

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
