/* Describes a corpus of images: its numbers for a record, and a contact sheet. */
#include <math.h>
#include <string.h>

#include "base/auto.h"
#include "base/ints.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/threads.h"
#include "image/images.h"
#include "image/patches.h"
#include "image/picture.h"

/* Pictures, and how many are held out, of each of `kinds` numbers in `of`; of[i] < 0 is not counted. */
static cs_status count_kinds(const cs_images *m, const int32_t *of, int64_t kinds,
                             char *const *name, cs_item *list)
{
    CS_AUTO_FREE int64_t *count = cs_calloc(2 * kinds, sizeof *count);
    if (!count) return CS_ERR_MEMORY;
    for (int64_t i = 0; i < m->count; ++i) {
        if (of[i] >= 0) {
            count[2 * of[i]] += 1;
            count[2 * of[i] + 1] += m->held_out[i];
        }
    }
    for (int64_t k = 0; k < kinds; ++k) {
        cs_item *item = cs_item_object(list, NULL);
        cs_item_text(item, "label", name[k]);
        cs_item_int(item, "images", count[2 * k]);
        cs_item_int(item, "held_out", count[2 * k + 1]);
    }
    return CS_OK;
}

typedef struct {
    const cs_images *images;
    int64_t *sums; /* count x 2 */
} adding;

/* The sums of the pixels of an image and of their squares. */
static cs_status add_pixels(void *ctx, int64_t i)
{
    const adding *a = ctx;
    const cs_images *m = a->images;
    const int64_t values = m->height * m->width * m->channels;
    CS_AUTO_FREE uint8_t *pixel = cs_alloc(values, 1);
    cs_status status = pixel ? cs_images_read(m, i, pixel) : CS_ERR_MEMORY;
    int64_t sum = 0, squares = 0;
    for (int64_t v = 0; status == CS_OK && v < values; ++v) {
        sum += pixel[v];
        squares += (int64_t)pixel[v] * pixel[v];
    }
    a->sums[2 * i] = sum;
    a->sums[2 * i + 1] = squares;
    return status;
}

cs_status cs_images_describe(const cs_images *m, int threads, cs_item *root)
{
    const int64_t values = m->count * m->height * m->width * m->channels;
    int64_t sum = 0, squares = 0, out = 0, unlabelled = 0;
    CS_AUTO_FREE int64_t *sums = cs_alloc(2 * m->count, sizeof *sums);
    adding job = {m, sums};
    cs_status status = sums ? cs_parallel(m->count, threads, add_pixels, &job) : CS_ERR_MEMORY;
    if (status != CS_OK) return status;
    for (int64_t i = 0; i < m->count; ++i) {
        sum += sums[2 * i];
        squares += sums[2 * i + 1];
        out += m->held_out[i];
        unlabelled += m->label[i] < 0;
    }
    const double mean = (double)sum / (double)values;
    CS_ITEM_FIELDS(root, m, name, path, sha256, height, width, channels, labels);
    cs_item_int(root, "images", m->count);
    cs_item_int(root, "held_out", out);
    cs_item_int(root, "unlabelled", unlabelled);
    cs_item_int(root, "boxes", m->box_ptr ? m->box_ptr[m->count] : 0);
    cs_item_flag(root, "masks", m->mask != NULL);
    cs_item_real(root, "pixel_mean", mean);
    cs_item_real(root, "pixel_sd", sqrt(fmax((double)squares / (double)values - mean * mean, 0.0)));
    status = count_kinds(m, m->label, m->labels, m->label_name, cs_item_array(root, "classes"));
    cs_item *groups = cs_item_array(root, "groups");
    return status == CS_OK && m->group ? count_kinds(m, m->group, m->groups, m->group_name, groups)
                                       : status;
}

/* --- the sheet -------------------------------------------------------------------------------- */

typedef struct {
    cs_picture picture;
    int64_t scale, cell_height, cell_width; /* of a cell with the line after it */
    uint8_t *pixel;                         /* of the picture that is drawn */
} sheet;

/* Draws picture i (mask: what its pixels belong to) into a cell. */
static cs_status draw(const cs_images *m, int64_t i, bool mask, int64_t row, int64_t column,
                      sheet *s)
{
    cs_status status = mask ? CS_OK : cs_images_read(m, i, s->pixel);
    if (status != CS_OK) return status;
    for (int64_t y = 0; y < m->height * s->scale; ++y) {
        for (int64_t x = 0; x < m->width * s->scale; ++x) {
            const int64_t at = y / s->scale * m->width + x / s->scale;
            uint8_t *to = s->picture.pixel + ((row * s->cell_height + y) * s->picture.width +
                                              column * s->cell_width + x) *
                                                 s->picture.channels;
            if (mask) {
                cs_class_colour(m->mask[i * m->height * m->width + at], to);
            } else {
                for (int64_t c = 0; c < s->picture.channels; ++c) {
                    to[c] = s->pixel[at * m->channels + (m->channels == 1 ? 0 : c)];
                }
            }
        }
    }
    return CS_OK;
}

/* The pictures of one class (kind -1: all), `columns` of them at random, in order. */
static cs_status draw_row(const cs_images *m, int64_t kind, int64_t row, int64_t columns,
                          uint64_t seed, sheet *s)
{
    cs_status status = CS_OK;
    int64_t left = 0, wanted = columns, column = 0;
    for (int64_t i = 0; i < m->count; ++i) {
        left += kind < 0 || m->label[i] == kind;
    }
    cs_rng rng = cs_rng_at(seed, CS_STREAM_SHOWN, (uint64_t)row);
    for (int64_t i = 0; i < m->count && wanted > 0 && status == CS_OK; ++i) {
        if ((kind < 0 || m->label[i] == kind) && cs_rng_selects(&rng, &left, &wanted)) {
            status = draw(m, i, false, row, column++, s);
            if (status == CS_OK && m->mask) status = draw(m, i, true, row, column++, s);
        }
    }
    return status;
}

cs_status cs_images_sheet(const cs_images *m, int64_t rows, int64_t columns, uint64_t seed,
                          const char *path)
{
    enum { SMALL = 64 }; /* smaller pictures are enlarged to about this */
    if (rows < 1 || columns < 1) {
        return cs_fail(CS_ERR_USAGE, "a sheet cannot have %lld x %lld pictures", (long long)rows,
                       (long long)columns);
    }
    sheet s = {.scale = cs_most(1, SMALL / cs_most(m->height, m->width))};
    s.cell_height = m->height * s.scale + 1;
    s.cell_width = m->width * s.scale + 1;
    rows = m->labels > 0 ? cs_least(rows, m->labels) : rows;
    s.picture = (cs_picture){.height = rows * s.cell_height,
                             .width = columns * (m->mask ? 2 : 1) * s.cell_width,
                             .channels = m->mask ? 3 : m->channels};
    const int64_t values = s.picture.height * s.picture.width * s.picture.channels;
    CS_AUTO_FREE uint8_t *pixel = s.pixel = cs_alloc(m->height * m->width * m->channels, 1);
    if (!pixel) return CS_ERR_MEMORY;
    s.picture.pixel = cs_alloc(values, 1);
    if (!s.picture.pixel) return CS_ERR_MEMORY;
    memset(s.picture.pixel, 255, (size_t)values);
    cs_status status = CS_OK;
    for (int64_t r = 0; r < rows && status == CS_OK; ++r) {
        /* Of more classes than rows, those at equal distances. */
        status = draw_row(m, m->labels > 0 ? r * m->labels / rows : -1, r, columns, seed, &s);
    }
    if (status == CS_OK) status = cs_png_write(path, &s.picture);
    cs_picture_free(&s.picture);
    return status;
}
