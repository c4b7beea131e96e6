/* Boxes are drawn as lines of one pixel of the picture, cut at its edges. */
#include "analysis/vision/patch_predictions.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis/vision/average_precision.h"
#include "base/ints.h"

enum { SHOWN = 12, RGB = 3 };

static const char *const COLUMNS[] = {
    [CS_HEAD_SEGMENTATION] = "layer,seed,picture,class,pixels,predicted,both,iou",
    [CS_HEAD_DETECTION] = "layer,seed,picture,class,score,top,left,bottom,right,overlap,hit"};

void cs_patch_predictions_free(cs_patch_predictions *p)
{
    cs_table_free(&p->table);
    cs_picture_free(&p->cells.picture);
    *p = (cs_patch_predictions){0};
}

/* --- the sheet -------------------------------------------------------------------------------- */

static int64_t picture_at(const cs_patch_predictions *p, int64_t row)
{
    return row * p->test->images->count / p->shown;
}

static void draw_picture(int64_t row, cs_patch_predictions *p)
{
    const cs_images *m = p->test->images;
    const int64_t i = picture_at(p, row), scale = p->cells.scale;
    for (int64_t y = 0; y < m->height * scale; ++y) {
        for (int64_t x = 0; x < m->width * scale; ++x) {
            const uint8_t *from =
                m->pixel + ((i * m->height + y / scale) * m->width + x / scale) * m->channels;
            uint8_t *to = cs_cells_at(&p->cells, row, p->columns, y, x);
            for (int64_t c = 0; c < RGB; ++c) {
                to[c] = from[m->channels == 1 ? 0 : c];
            }
        }
    }
}

static void draw_mask(const uint8_t *mask, int64_t row, cs_patch_predictions *p)
{
    const cs_images *m = p->test->images;
    const int64_t i = picture_at(p, row), scale = p->cells.scale;
    for (int64_t y = 0; y < m->height * scale; ++y) {
        for (int64_t x = 0; x < m->width * scale; ++x) {
            cs_class_colour(mask[(i * m->height + y / scale) * m->width + x / scale],
                            cs_cells_at(&p->cells, row, p->columns, y, x));
        }
    }
}

static void draw_box(const cs_detection *d, int64_t row, cs_patch_predictions *p)
{
    const int64_t scale = p->cells.scale, height = p->cells.height * scale,
                  width = p->cells.width * scale, top = llround(d->top * (double)scale),
                  left = llround(d->left * (double)scale),
                  bottom = llround(d->bottom * (double)scale) - 1,
                  right = llround(d->right * (double)scale) - 1;
    for (int64_t y = cs_most(top, 0); y <= cs_least(bottom, height - 1); ++y) {
        for (int64_t x = cs_most(left, 0); x <= cs_least(right, width - 1); ++x) {
            if (y < top + scale || y > bottom - scale || x < left + scale || x > right - scale) {
                cs_class_colour(1 + d->label, cs_cells_at(&p->cells, row, p->columns, y, x));
            }
        }
    }
}

static void draw_truth(int64_t row, cs_patch_predictions *p)
{
    const cs_images *m = p->test->images;
    const int64_t i = picture_at(p, row);
    if (p->test->task == CS_HEAD_SEGMENTATION) {
        draw_mask(m->mask, row, p);
        return;
    }
    draw_picture(row, p);
    for (int64_t b = m->box_ptr[i]; b < m->box_ptr[i + 1]; ++b) {
        const cs_box *box = &m->box[b];
        draw_box(&(cs_detection){.label = box->label,
                                 .top = box->top,
                                 .left = box->left,
                                 .bottom = box->bottom,
                                 .right = box->right},
                 row, p);
    }
}

/* As many detections as there are boxes: they are sorted by score. */
static void draw_answer(const cs_patch_answer *a, int64_t row, cs_patch_predictions *p)
{
    const cs_images *m = p->test->images;
    const int64_t i = picture_at(p, row);
    if (p->test->task == CS_HEAD_SEGMENTATION) {
        draw_mask(a->mask, row, p);
        return;
    }
    int64_t left = m->box_ptr[i + 1] - m->box_ptr[i];
    draw_picture(row, p);
    for (int64_t d = 0; d < a->detections && left > 0; ++d) {
        if (a->detection[d].picture == i) {
            draw_box(&a->detection[d], row, p);
            left -= 1;
        }
    }
}

/* "LAYER 3", "UNTRAINED". */
static void write_heading(const char *layer, cs_patch_predictions *p)
{
    char text[32];
    (void)snprintf(text, sizeof text, "%s%s", isdigit((unsigned char)layer[0]) ? "LAYER " : "",
                   layer);
    for (char *c = text; *c; ++c) {
        *c = (char)toupper((unsigned char)*c);
    }
    cs_cells_heading(&p->cells, p->columns, text);
}

cs_status cs_patch_predictions_make(const cs_patch_targets *test, int64_t layers,
                                    cs_patch_predictions *out)
{
    const cs_images *m = test->images;
    cs_patch_predictions p = {.test = test, .shown = cs_least(SHOWN, m->count)};
    const cs_picture like = {.height = m->height, .width = m->width, .channels = RGB};
    cs_status status = cs_table_init(&p.table, COLUMNS[test->task]);
    if (status == CS_OK) status = cs_cells_make(p.shown, 2 + layers, &like, &p.cells);
    for (; p.columns < 2 && status == CS_OK; ++p.columns) {
        write_heading(p.columns == 0 ? "picture" : "truth", &p);
        for (int64_t row = 0; row < p.shown; ++row) {
            (p.columns == 0 ? draw_picture : draw_truth)(row, &p);
        }
    }
    return CS_DELIVER(status, out, p, cs_patch_predictions_free);
}

/* --- the table -------------------------------------------------------------------------------- */

static cs_status begin_row(const char *layer, uint64_t seed, int64_t picture, int64_t label,
                           cs_patch_predictions *p)
{
    cs_table *t = &p->table;
    cs_status status = cs_table_row(t);
    if (status == CS_OK) status = cs_table_text(t, "layer", layer);
    if (status == CS_OK) status = cs_table_int(t, "seed", (int64_t)seed);
    if (status == CS_OK) status = cs_table_int(t, "picture", picture);
    return status == CS_OK
               ? cs_table_text(t, "class",
                               label < 0 ? "background" : p->test->images->label_name[label])
               : status;
}

static cs_status add_masks(const char *layer, uint64_t seed, const cs_patch_answer *a,
                           cs_patch_predictions *p)
{
    const cs_images *m = p->test->images;
    const int64_t pixels = m->height * m->width, classes = p->test->classes;
    cs_table *t = &p->table;
    cs_status status = CS_OK;
    for (int64_t i = 0; i < m->count && status == CS_OK; ++i) {
        int64_t true_ones[UINT8_MAX + 1] = {0}, said[UINT8_MAX + 1] = {0},
                                      both[UINT8_MAX + 1] = {0};
        for (int64_t k = i * pixels; k < (i + 1) * pixels; ++k) {
            true_ones[m->mask[k]] += 1;
            said[a->mask[k]] += 1;
            both[m->mask[k]] += m->mask[k] == a->mask[k];
        }
        for (int64_t c = 0; c < classes && status == CS_OK; ++c) {
            const int64_t any = true_ones[c] + said[c] - both[c];
            if (any == 0) {
                continue;
            }
            status = begin_row(layer, seed, i, c - 1, p);
            if (status == CS_OK) status = cs_table_int(t, "pixels", true_ones[c]);
            if (status == CS_OK) status = cs_table_int(t, "predicted", said[c]);
            if (status == CS_OK) status = cs_table_int(t, "both", both[c]);
            if (status == CS_OK) status = cs_table_real(t, "iou", (double)both[c] / (double)any);
        }
    }
    return status;
}

static double best_overlap(const cs_images *m, const cs_detection *d)
{
    double best = 0;
    for (int64_t b = m->box_ptr[d->picture]; b < m->box_ptr[d->picture + 1]; ++b) {
        const cs_box *box = &m->box[b];
        const cs_detection truth = {
            .top = box->top, .left = box->left, .bottom = box->bottom, .right = box->right};
        best = box->label == d->label ? fmax(best, cs_detection_overlap(d, &truth)) : best;
    }
    return best;
}

static cs_status add_boxes(const char *layer, uint64_t seed, const cs_patch_answer *a,
                           cs_patch_predictions *p)
{
    cs_table *t = &p->table;
    cs_status status = CS_OK;
    for (int64_t i = 0; i < a->detections && status == CS_OK; ++i) {
        const cs_detection *d = &a->detection[i];
        const struct {
            const char *name;
            double value;
        } cell[] = {{"score", d->score}, {"top", d->top},
                    {"left", d->left},   {"bottom", d->bottom},
                    {"right", d->right}, {"overlap", best_overlap(p->test->images, d)}};
        status = begin_row(layer, seed, d->picture, d->label, p);
        for (size_t c = 0; c < sizeof cell / sizeof *cell && status == CS_OK; ++c) {
            status = cs_table_real(t, cell[c].name, cell[c].value);
        }
        if (status == CS_OK) status = cs_table_int(t, "hit", d->hit);
    }
    return status;
}

cs_status cs_patch_predictions_add(const char *layer, uint64_t seed, bool draws,
                                   const cs_patch_answer *a, cs_patch_predictions *p)
{
    if (draws) {
        write_heading(layer, p);
        for (int64_t row = 0; row < p->shown; ++row) {
            draw_answer(a, row, p);
        }
        p->columns += 1;
    }
    return (p->test->task == CS_HEAD_SEGMENTATION ? add_masks : add_boxes)(layer, seed, a, p);
}
