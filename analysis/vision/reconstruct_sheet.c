/* The sheet of reconstructed images. */
#include <math.h>

#include "analysis/vision/reconstruct_private.h"
#include "base/auto.h"
#include "image/patches.h"

enum { KINDS = 5, GREY = 110 };

typedef struct {
    cs_cells cells;
    double from, step; /* pixel 0, and pixels a unit of value */
} drawn_sheet;

static uint8_t pixel_of(const drawn_sheet *s, float value)
{
    return (uint8_t)lround(fmin(fmax(s->from + s->step * (double)value, 0), 255));
}

/* The line from values to pixels. */
static void find_line(const cs_images *m, drawn_sheet *s)
{
    const int64_t all = m->count * m->height * m->width * m->channels;
    int64_t low = 0, high = 0;
    s->from = 0;
    s->step = 255;
    for (int64_t i = 0; m->value && i < all; ++i) {
        low = m->pixel[i] < m->pixel[low] ? i : low;
        high = m->pixel[i] > m->pixel[high] ? i : high;
    }
    if (m->value && m->value[high] > m->value[low]) {
        s->step = (double)(m->pixel[high] - m->pixel[low]) /
                  ((double)m->value[high] - (double)m->value[low]);
        s->from = (double)m->pixel[low] - s->step * (double)m->value[low];
    }
}

/* A picture of joined values; group (NULL: all is shown): hidden patches are grey. */
static void draw(const cs_fillings *f, const float *values, const int32_t *group, int64_t row,
                 int64_t column, drawn_sheet *s)
{
    const cs_images *m = f->images;
    const int64_t across = m->width / f->patch;
    const int64_t scale = s->cells.scale;
    for (int64_t y = 0; y < m->height * scale; ++y) {
        for (int64_t x = 0; x < m->width * scale; ++x) {
            const int64_t v = y / scale, u = x / scale;
            const bool hidden = group && group[v / f->patch * across + u / f->patch] > 0;
            uint8_t *to = cs_cells_at(&s->cells, row, column, y, x);
            for (int64_t c = 0; c < m->channels; ++c) {
                to[c] = hidden ? GREY : pixel_of(s, values[(v * m->width + u) * m->channels + c]);
            }
        }
    }
}

cs_status cs_fillings_sheet(const cs_fillings *f, const char *path)
{
    const cs_images *m = f->images;
    const char *const heading[KINDS] = {"original", "shown", f->model, "mean", "linear"};
    drawn_sheet s = {.from = 0};
    const int64_t kinds = f->made[2] ? KINDS : KINDS - 1;
    const cs_picture like = {.height = m->height, .width = m->width, .channels = m->channels};
    CS_AUTO_FREE float *joined = cs_alloc(f->width, sizeof *joined);
    cs_status status = joined ? cs_cells_make(f->pictures, kinds, &like, &s.cells) : CS_ERR_MEMORY;
    if (status == CS_OK) {
        find_line(m, &s);
    }
    for (int64_t k = 0; k < kinds && status == CS_OK; ++k) {
        cs_cells_heading(&s.cells, k, heading[k]);
    }
    for (int64_t i = 0; i < f->pictures && status == CS_OK; ++i) {
        for (int64_t k = 0; k < kinds; ++k) {
            const float *from = k < 2 ? f->truth : f->made[k - 2];
            cs_patches_join(from + i * f->width, m->height, m->width, m->channels, f->patch, NULL,
                            joined);
            draw(f, joined, k == 1 ? f->group + i * f->patches : NULL, i, k, &s);
        }
    }
    if (status == CS_OK) status = cs_png_write(path, &s.cells.picture);
    cs_picture_free(&s.cells.picture);
    return status;
}
