/* Which reader a source needs, and what every corpus of images has. */
#include "image/images.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "image/draw_private.h"
#include "image/field.h"
#include "image/images_private.h"
#include "image/named_images.h"
#include "io/file.h"
#include "io/gzip.h"
#include "io/rows.h"
#include "text/law.h"

cs_status cs_images_allocate(const char *path, int64_t count, int64_t height, int64_t width,
                             int64_t channels, cs_images *out)
{
    const double values = (double)count * (double)height * (double)width * (double)channels;
    if (count < 1 || height < 1 || width < 1 || height > 65535 || width > 65535 ||
        (channels != 1 && channels != 3)) {
        return cs_fail(CS_ERR_INPUT,
                       "%s: %lld pictures of %lld x %lld with %lld channels (expected: 1 or more, "
                       "1 to 65535 rows and columns, 1 or 3 channels)",
                       path, (long long)count, (long long)height, (long long)width,
                       (long long)channels);
    }
    cs_status status =
        cs_mem_check(values + 16.0 * (double)count, NULL, "%s: %lld pictures of %lld x %lld take",
                     path, (long long)count, (long long)height, (long long)width);
    if (status != CS_OK) return status;
    out->count = count;
    out->height = height;
    out->width = width;
    out->channels = channels;
    out->pixel = cs_alloc(count * height * width * channels, 1);
    out->label = cs_alloc(count, sizeof *out->label);
    out->held_out = cs_calloc(count, 1);
    if (!out->pixel || !out->label || !out->held_out) return CS_ERR_MEMORY;
    memset(out->label, -1, (size_t)count * sizeof *out->label);
    return CS_OK;
}

void cs_images_free(cs_images *images)
{
    cs_text_list_free(images->label_name, images->labels);
    cs_text_list_free(images->group_name, images->groups);
    CS_FREE_FIELDS(images, name, path, pixel, value, extra, label, held_out, mirror, group, mask,
                   box_ptr, box);
    *images = (cs_images){0};
}

void cs_images_hold_out(const cs_images_options *options, cs_images *images)
{
    for (int64_t i = 0; i < images->count; ++i) {
        images->held_out[i] = cs_hash_below(&i, sizeof i, options->seed, options->test_share);
    }
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
static cs_status make_room(const cs_images *m, int64_t count, int64_t boxes, cs_images *out)
{
    const int64_t pixels = count * m->height * m->width;
    out->name = cs_strdup(m->name);
    out->path = cs_strdup(m->path);
    memcpy(out->sha256, m->sha256, sizeof out->sha256);
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
    memcpy(out->pixel + to * values, m->pixel + i * values, (size_t)values);
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
        status = cs_images_allocate(images->path, count, images->height, images->width,
                                    images->channels, &part);
    if (status == CS_OK)
        status =
            make_room(images, count, images->box_ptr ? images->box_ptr[images->count] : 0, &part);
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

/* --- which reader ----------------------------------------------------------------------------- */

typedef enum {
    NO_IMAGES,
    IS_IDX,
    IS_CIFAR,
    IS_CIFAR_DIRECTORY,
    IS_NPY,
    IS_NPZ,
    IS_DIRECTORY,
    IS_FIELD
} kind;

/* A file of IDX by its first bytes, unpacked where its name says that it is packed. */
static bool begins_as_idx(const char *path)
{
    uint8_t first[4] = {0};
    return cs_file_head(path, first, sizeof first) == sizeof first &&
           ((first[0] == 0x1F && first[1] == 0x8B && cs_has_suffix(path, "-ubyte.gz")) ||
            cs_idx_is(first, sizeof first));
}

/* An array of three dimensions or more: fewer are token ids. */
static bool is_npy_of_pictures(const char *path)
{
    char head[256] = "";
    const int64_t size = cs_file_head(path, head, sizeof head - 1);
    for (int64_t i = 0; i < size; ++i) {
        head[i] = head[i] ? head[i] : ' '; /* the version has zeros */
    }
    const char *shape = strstr(head, "'shape': (");
    int commas = 0;
    for (const char *c = shape; c && *c && *c != ')'; ++c) {
        commas += *c == ',' && c[1] == ' ';
    }
    return commas >= 2;
}

static cs_status kind_of(const char *path, kind *out)
{
    if (cs_field_named(path)) {
        *out = IS_FIELD;
        return CS_OK;
    }
    char *batch = cs_path_join(path, "test_batch.bin");
    if (!batch) return CS_ERR_MEMORY;
    const bool cifar = cs_path_exists(batch);
    bool pictures = false;
    cs_free(batch);
    if (cs_path_is_dir(path)) {
        cs_status status = cifar ? CS_OK : cs_images_directory_is(path, &pictures);
        *out = cifar ? IS_CIFAR_DIRECTORY : pictures ? IS_DIRECTORY : NO_IMAGES;
        return status;
    }
    *out = cs_has_suffix(path, ".npz")   ? IS_NPZ
           : cs_has_suffix(path, ".bin") ? IS_CIFAR
           : cs_has_suffix(path, ".npy") ? (is_npy_of_pictures(path) ? IS_NPY : NO_IMAGES)
           : begins_as_idx(path)         ? IS_IDX
                                         : NO_IMAGES;
    return CS_OK;
}

bool cs_images_are(const char *source)
{
    kind found = NO_IMAGES;
    if (cs_corpus_named(source, NULL) || cs_law_named(source)) {
        return false;
    }
    if (kind_of(source, &found) != CS_OK) {
        cs_reason_clear(); /* whoever reads it will report it */
    }
    return cs_images_named(source) || found == IS_FIELD ||
           (found != NO_IMAGES && cs_path_exists(source));
}

static cs_status read_idx(const char *path, cs_images *out)
{
    char *bytes = NULL;
    int64_t size = 0;
    cs_status status = cs_file_unpacked(path, &bytes, &size, out->sha256, NULL);
    if (status == CS_OK) status = cs_idx_read(path, (const uint8_t *)bytes, size, out);
    cs_free(bytes);
    return status;
}

/* Readers of whole files leave the split to be made here. */
static cs_status read_kind(kind what, const char *path, const cs_images_options *options,
                           cs_images *out)
{
    cs_status status = CS_OK;
    switch (what) {
    case IS_IDX:
        status = read_idx(path, out);
        break;
    case IS_CIFAR:
        status = cs_cifar_read(path, out);
        break;
    case IS_NPY:
        status = cs_images_read_npy(path, out);
        break;
    case IS_CIFAR_DIRECTORY:
        return cs_cifar_read_directory(path, out);
    case IS_NPZ:
        return cs_images_read_npz(path, options, out);
    case IS_FIELD:
        return cs_field_read(path, options, out);
    case IS_DIRECTORY:
        return cs_images_read_directory(path, options, out);
    case NO_IMAGES:
        return cs_fail(
            CS_ERR_INPUT,
            "%s: not pictures (expected IDX, CIFAR's .bin, .npy of 3 or 4 dimensions, .npz, or a "
            "directory of PNG, JPEG, PGM or PPM files, or of one directory per class)",
            path);
    }
    if (status == CS_OK) cs_images_hold_out(options, out);
    return status;
}

/* Where a named corpus is, prepared now when it is not there; *path is the caller's. */
static cs_status ready(const char *name, char **path)
{
    cs_status status = cs_images_prepared_path(name, path);
    return status == CS_OK && !cs_path_exists(*path) ? cs_images_prepare(name, false, NULL)
                                                     : status;
}

cs_status cs_images_load(const char *source, const cs_images_options *options, cs_images *out)
{
    cs_images made = {0};
    kind found = NO_IMAGES;
    cs_images_options resolved = options ? *options : (cs_images_options){.test_share = -1};
    if (resolved.test_share < 0) {
        resolved.test_share = 0.2;
    }
    const bool named = cs_images_named(source) != NULL;
    char *path = NULL;
    cs_status status =
        resolved.test_share < 1
            ? CS_OK
            : cs_fail(CS_ERR_USAGE, "test share %g is not below 1", resolved.test_share);
    if (status == CS_OK) status = named ? ready(source, &path) : kind_of(source, &found);
    if (status == CS_OK)
        status = read_kind(named ? IS_NPZ : found, named ? path : source, &resolved, &made);
    if (status == CS_OK) {
        const char *slash = strrchr(source, '/');
        made.name = cs_strdup(slash && slash[1] ? slash + 1 : source);
        made.path = named ? path : cs_strdup(source);
        path = NULL;
        status = made.name && made.path ? CS_OK : CS_ERR_MEMORY;
    }
    cs_free(path);
    return CS_DELIVER(status, out, made, cs_images_free);
}
