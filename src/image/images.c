/* Memory of images, their splits and classes, one side of a corpus, extra vectors. */
#include "image/images.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "image/image_stream_private.h"
#include "image/images_private.h"
#include "io/rows.h"

cs_status cs_images_allocate_labels(const char *path, int64_t count, int64_t height, int64_t width,
                                    int64_t channels, cs_images *out)
{
    if (count < 1 || height < 1 || width < 1 || height > 65535 || width > 65535 ||
        (channels != 1 && channels != 3)) {
        return cs_fail(CS_ERR_INPUT,
                       "%s: %lld pictures of %lld x %lld with %lld channels (expected: 1 or more, "
                       "1 to 65535 rows and columns, 1 or 3 channels)",
                       path, (long long)count, (long long)height, (long long)width,
                       (long long)channels);
    }
    out->count = count;
    out->height = height;
    out->width = width;
    out->channels = channels;
    out->label = cs_alloc(count, sizeof *out->label);
    out->held_out = cs_calloc(count, 1);
    if (!out->label || !out->held_out) return CS_ERR_MEMORY;
    memset(out->label, -1, (size_t)count * sizeof *out->label);
    return CS_OK;
}

cs_status cs_images_allocate(const char *path, int64_t count, int64_t height, int64_t width,
                             int64_t channels, cs_images *out)
{
    const double values = (double)count * (double)height * (double)width * (double)channels;
    cs_status status = cs_images_allocate_labels(path, count, height, width, channels, out);
    if (status == CS_OK)
        status = cs_mem_check(values + 16.0 * (double)count, NULL,
                              "%s: %lld pictures of %lld x %lld take", path, (long long)count,
                              (long long)height, (long long)width);
    if (status != CS_OK) return status;
    out->pixel = cs_alloc(count * height * width * channels, 1);
    return out->pixel ? CS_OK : CS_ERR_MEMORY;
}

cs_status cs_images_read(const cs_images *m, int64_t i, uint8_t *to)
{
    const int64_t values = m->height * m->width * m->channels;
    if (m->stream) return cs_image_stream_read(m->stream, i, to);
    memcpy(to, m->pixel + i * values, (size_t)values);
    return CS_OK;
}

void cs_images_free(cs_images *images)
{
    cs_text_list_free(images->label_name, images->labels);
    cs_text_list_free(images->group_name, images->groups);
    cs_image_stream_free(&images->stream);
    CS_FREE_FIELDS(images, name, path, pixel, value, extra, label, held_out, mirror, group, mask,
                   box_ptr, box, skipped_name, unread);
    *images = (cs_images){0};
}

void cs_images_hold_out(const cs_images_options *options, cs_images *images)
{
    for (int64_t i = 0; i < images->count; ++i) {
        images->held_out[i] = cs_hash_below(&i, sizeof i, options->seed, options->test_share);
    }
}

cs_status cs_name_add(const char *name, char ***list, int64_t *count)
{
    char **grown = cs_realloc(*list, *count + 1, sizeof **list);
    if (!grown) return CS_ERR_MEMORY;
    *list = grown;
    grown[*count] = cs_strdup(name);
    if (!grown[*count]) return CS_ERR_MEMORY;
    *count += 1;
    return CS_OK;
}

cs_status cs_images_number_classes(const char *path, cs_images *images)
{
    enum { MOST_CLASSES = 1 << 20 };
    int32_t most = -1;
    for (int64_t i = 0; i < images->count; ++i) {
        if (images->label[i] >= MOST_CLASSES) {
            return cs_fail(CS_ERR_INPUT, "%s: label %d of picture %lld is not in 0..%d", path,
                           images->label[i], (long long)i, MOST_CLASSES - 1);
        }
        most = images->label[i] > most ? images->label[i] : most;
    }
    images->label_name = cs_calloc(most + 1, sizeof *images->label_name);
    if (!images->label_name) return CS_ERR_MEMORY;
    for (images->labels = 0; images->labels <= most; ++images->labels) {
        char *name = cs_format("%lld", (long long)images->labels);
        if (!name) return CS_ERR_MEMORY;
        images->label_name[images->labels] = name;
    }
    return CS_OK;
}

/* --- a side ----------------------------------------------------------------------------------- */

/* Memory for what `count` pictures and `boxes` have beyond cs_images_allocate, and the classes. */
static cs_status make_space(const cs_images *m, int64_t count, int64_t boxes, cs_images *out)
{
    const int64_t pixels = count * m->height * m->width;
    out->name = cs_strdup(m->name);
    out->path = cs_strdup(m->path);
    memcpy(out->sha256, m->sha256, sizeof out->sha256);
    memcpy(out->content_sha256, m->content_sha256, sizeof out->content_sha256);
    out->fitted = m->fitted;
    out->file_height = m->file_height;
    out->file_width = m->file_width;
    out->value = m->value ? cs_alloc(pixels * m->channels, sizeof *out->value) : NULL;
    out->extra_width = m->extra_width;
    out->extra = m->extra ? cs_alloc(count * m->extra_width, sizeof *out->extra) : NULL;
    out->mask = m->mask ? cs_alloc(pixels, 1) : NULL;
    out->box_ptr = m->box_ptr ? cs_calloc(count + 1, sizeof *out->box_ptr) : NULL;
    out->box = m->box_ptr ? cs_alloc(boxes + 1, sizeof *out->box) : NULL;
    if (!out->name || !out->path || (m->value && !out->value) || (m->mask && !out->mask) ||
        (m->extra && !out->extra) || (m->box_ptr && (!out->box_ptr || !out->box))) {
        return CS_ERR_MEMORY;
    }
    cs_status status = CS_OK;
    for (int64_t c = 0; c < m->labels && status == CS_OK; ++c) {
        status = cs_name_add(m->label_name[c], &out->label_name, &out->labels);
    }
    return status;
}

static void take_picture(const cs_images *m, int64_t i, int64_t to, cs_images *out)
{
    const int64_t pixels = m->height * m->width, values = pixels * m->channels;
    if (m->pixel) memcpy(out->pixel + to * values, m->pixel + i * values, (size_t)values);
    out->label[to] = m->label[i];
    out->held_out[to] = m->held_out[i];
    if (m->value) {
        memcpy(out->value + to * values, m->value + i * values,
               (size_t)values * sizeof *out->value);
    }
    if (m->extra) {
        memcpy(out->extra + to * m->extra_width, m->extra + i * m->extra_width,
               (size_t)m->extra_width * sizeof *out->extra);
    }
    if (m->mask) {
        memcpy(out->mask + to * pixels, m->mask + i * pixels, (size_t)pixels);
    }
    if (m->box_ptr) {
        const int64_t boxes = m->box_ptr[i + 1] - m->box_ptr[i];
        memcpy(out->box + out->box_ptr[to], m->box + m->box_ptr[i],
               (size_t)boxes * sizeof *out->box);
        out->box_ptr[to + 1] = out->box_ptr[to] + boxes;
    }
}

cs_status cs_images_side(const cs_images *images, int side, int64_t limit, cs_images *out)
{
    cs_images part = {0};
    int64_t *chosen = cs_alloc(images->count, sizeof *chosen), count = 0;
    if (!chosen) return CS_ERR_MEMORY;
    for (int64_t i = 0; i < images->count && (limit == 0 || count < limit); ++i) {
        if (side < 0 || (images->held_out[i] != 0) == (side == 1)) {
            chosen[count++] = i;
        }
    }
    cs_status status = count > 0 ? CS_OK
                                 : cs_fail(CS_ERR_INPUT, "%s: no picture is in the %s split",
                                           images->name, side == 1 ? "test" : "training");
    if (status == CS_OK)
        status = (images->stream ? cs_images_allocate_labels : cs_images_allocate)(
            images->path, count, images->height, images->width, images->channels, &part);
    if (status == CS_OK && images->stream)
        status = cs_image_stream_select(images->stream, chosen, count, &part.stream);
    if (status == CS_OK)
        status =
            make_space(images, count, images->box_ptr ? images->box_ptr[images->count] : 0, &part);
    for (int64_t k = 0; k < count && status == CS_OK; ++k) {
        take_picture(images, chosen[k], k, &part);
    }
    cs_free(chosen);
    return CS_DELIVER(status, out, part, cs_images_free);
}

cs_status cs_images_extra(const char *path, cs_images *images)
{
    cs_rows rows = {0};
    cs_status status = cs_rows_open(path, &rows);
    if (status == CS_OK && rows.rows != images->count)
        status = cs_fail(CS_ERR_INPUT, "%s: %lld rows, but %lld pictures in %s", path,
                         (long long)rows.rows, (long long)images->count, images->name);
    if (status == CS_OK)
        status = cs_mem_check(4.0 * (double)rows.rows * (double)rows.cols, NULL, "%s takes", path);
    if (status == CS_OK) {
        cs_free(images->extra);
        images->extra_width = rows.cols;
        images->extra = cs_alloc(images->count * rows.cols, sizeof *images->extra);
        status = images->extra ? cs_rows_read_f32(&rows, 0, images->count, images->extra)
                               : CS_ERR_MEMORY;
    }
    for (int64_t i = 0; status == CS_OK && i < images->count * images->extra_width; ++i) {
        if (!isfinite(images->extra[i]))
            status = cs_fail(CS_ERR_INPUT, "%s: row %lld, column %lld: value %g is not finite",
                             path, (long long)(i / images->extra_width),
                             (long long)(i % images->extra_width), (double)images->extra[i]);
    }
    cs_rows_close(&rows);
    return status;
}
