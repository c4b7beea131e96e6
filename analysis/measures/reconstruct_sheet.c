/* Small pictures are enlarged to about 64 pixels, a white line between them, below a heading a column. */
#include <math.h>
#include <string.h>

#include "analysis/measures/reconstruct_private.h"
#include "base/ints.h"
#include "base/mem.h"
#include "image/patches.h"
#include "image/picture.h"

enum { SMALL = 64, KINDS = 5, GREY = 110, LETTER = 6, TALL = 7, HEAD = TALL + 4 };

/* Columns of a row and their headings; letters of 5 x 7 dots, the highest bit of five on the left. */
static const char *const HEADING[KINDS] = {"ORIGINAL", "SHOWN", "MODEL", "MEAN", "LINEAR"};
static const char LETTERS[] = "ADEGHILMNORSW";
static const uint8_t DOTS[sizeof LETTERS - 1][TALL] = {
    {14, 17, 17, 31, 17, 17, 17}, {30, 17, 17, 17, 17, 17, 30}, {31, 16, 16, 30, 16, 16, 31},
    {14, 17, 16, 23, 17, 17, 15}, {17, 17, 17, 31, 17, 17, 17}, {14, 4, 4, 4, 4, 4, 14},
    {16, 16, 16, 16, 16, 16, 31}, {17, 27, 21, 21, 17, 17, 17}, {17, 25, 21, 19, 17, 17, 17},
    {14, 17, 17, 17, 17, 17, 14}, {30, 17, 17, 30, 20, 18, 17}, {15, 16, 16, 14, 1, 1, 30},
    {17, 17, 17, 21, 21, 27, 17}};

typedef struct {
    cs_picture picture;
    int64_t scale;
    double from, step; /* pixel 0, and pixels a unit of value */
} sheet;

static uint8_t pixel_of(const sheet *s, float value)
{
    return (uint8_t)lround(fmin(fmax(s->from + s->step * (double)value, 0), 255));
}

/* The line from values to pixels. */
static void find_line(const cs_images *m, sheet *s)
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
                 int64_t column, sheet *s)
{
    const cs_images *m = f->images;
    const int64_t across = m->width / f->patch;
    for (int64_t y = 0; y < m->height * s->scale; ++y) {
        for (int64_t x = 0; x < m->width * s->scale; ++x) {
            const int64_t v = y / s->scale, u = x / s->scale;
            const bool hidden = group && group[v / f->patch * across + u / f->patch] > 0;
            uint8_t *to = s->picture.pixel +
                          ((HEAD + row * (m->height * s->scale + 2) + y) * s->picture.width +
                           column * (m->width * s->scale + 2) + x) *
                              m->channels;
            for (int64_t c = 0; c < m->channels; ++c) {
                to[c] = hidden ? GREY : pixel_of(s, values[(v * m->width + u) * m->channels + c]);
            }
        }
    }
}

/* As many letters as a column has room for. */
static void write_heading(const char *text, int64_t left, int64_t room, sheet *s)
{
    const int64_t letters = cs_least((int64_t)strlen(text), room / LETTER);
    for (int64_t i = 0; i < letters * LETTER * TALL; ++i) {
        const int64_t x = i / TALL % LETTER, y = i % TALL;
        const char *letter = strchr(LETTERS, text[i / TALL / LETTER]);
        uint8_t *to =
            s->picture.pixel + ((y + 1) * s->picture.width + left + i / TALL) * s->picture.channels;
        if (x < LETTER - 1 && DOTS[letter - LETTERS][y] >> (LETTER - 2 - x) & 1) {
            memset(to, 0, (size_t)s->picture.channels);
        }
    }
}

cs_status cs_fillings_sheet(const cs_fillings *f, const char *path)
{
    const cs_images *m = f->images;
    sheet s = {.scale = cs_most(1, SMALL / cs_most(m->height, m->width))};
    const int64_t kinds = f->made[2] ? KINDS : KINDS - 1;
    s.picture = (cs_picture){.height = HEAD + f->pictures * (m->height * s.scale + 2) - 2,
                             .width = kinds * (m->width * s.scale + 2) - 2,
                             .channels = m->channels};
    const int64_t all = s.picture.height * s.picture.width * m->channels;
    float *joined = cs_alloc(f->width, sizeof *joined);
    s.picture.pixel = cs_alloc(all, 1);
    cs_status status = joined && s.picture.pixel ? CS_OK : CS_ERR_MEMORY;
    if (status == CS_OK) {
        memset(s.picture.pixel, 255, (size_t)all);
        find_line(m, &s);
        for (int64_t k = 0; k < kinds; ++k) {
            write_heading(HEADING[k], k * (m->width * s.scale + 2), m->width * s.scale, &s);
        }
    }
    for (int64_t i = 0; i < f->pictures && status == CS_OK; ++i) {
        for (int64_t k = 0; k < kinds; ++k) {
            const float *from = k < 2 ? f->truth : f->made[k - 2];
            const int64_t at = i * f->among / f->pictures;
            cs_patches_join(from + at * f->width, m->height, m->width, m->channels, f->patch, NULL,
                            joined);
            draw(f, joined, k == 1 ? f->group + at * f->patches : NULL, i, k, &s);
        }
    }
    if (status == CS_OK) status = cs_png_write(path, &s.picture);
    cs_picture_free(&s.picture);
    cs_free(joined);
    return status;
}
