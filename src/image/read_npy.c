/* NPY and NPZ: arrays of pictures and of what is known of each. The members of NPZ are those that
 * cs_images_write writes (docs/reference/image-corpora.md). */
#include <math.h>
#include <string.h>

#include "base/auto.h"
#include "base/hash.h"
#include "base/mem.h"
#include "image/images_private.h"
#include "io/file.h"
#include "io/npz.h"

/* The array's memory becomes the pictures. */
static cs_status take_pixels(const char *path, cs_array *array, cs_images *out)
{
    if (array->dtype != CS_U8 || (array->ndim != 3 && array->ndim != 4)) {
        return cs_fail(CS_ERR_INPUT,
                       "%s: expected pictures as uint8 of 3 or 4 dimensions, found %d-D%s", path,
                       array->ndim, array->dtype == CS_U8 ? "" : " of another type");
    }
    const int64_t *n = array->shape;
    cs_status status = cs_images_allocate(path, n[0], n[1], n[2], array->ndim == 4 ? n[3] : 1, out);
    if (status != CS_OK) return status;
    cs_free(out->pixel);
    out->pixel = array->data;
    array->data = NULL;
    return CS_OK;
}

/* One number in low..high a picture. */
static cs_status take_numbers(const char *path, const char *what, const cs_array *array,
                              int64_t low, int64_t high, int32_t *to, int64_t count)
{
    if (array->ndim != 1 || array->size != count) {
        return cs_fail(
            CS_ERR_INPUT,
            "%s: %s: %lld numbers in %d dimensions, expected one for each of %lld pictures", path,
            what, (long long)array->size, array->ndim, (long long)count);
    }
    for (int64_t i = 0; i < count; ++i) {
        int64_t x = 0;
        cs_status status = cs_array_i64(array, i, &x);
        if (status != CS_OK) return cs_blame(status, "%s: %s", path, what);
        if (x < low || x > high) {
            return cs_fail(CS_ERR_INPUT, "%s: %s: value %lld of picture %lld is not in %lld..%lld",
                           path, what, (long long)x, (long long)i, (long long)low, (long long)high);
        }
        to[i] = (int32_t)x;
    }
    return CS_OK;
}

cs_status cs_images_read_npy(const char *path, const cs_images_options *options, cs_images *out)
{
    cs_array array = {0};
    cs_status status = cs_npy_read(path, 0, &array);
    if (status == CS_OK) status = take_pixels(path, &array, out);
    cs_array_free(&array);
    if (status == CS_OK) status = cs_sha256_file(path, out->sha256);
    if (status != CS_OK) return status;
    const size_t ending = strlen(cs_has_suffix(path, ".gz") ? ".npy.gz" : ".npy");
    CS_AUTO_FREE char *labels = cs_format("%.*s.labels.npy", (int)(strlen(path) - ending), path);
    if (!labels) return CS_ERR_MEMORY;
    if (cs_path_exists(labels)) {
        status = cs_npy_read(labels, 0, &array);
        if (status == CS_OK)
            status =
                take_numbers(labels, "labels", &array, 0, INT32_MAX - 1, out->label, out->count);
        if (status == CS_OK) status = cs_images_number_classes(labels, out);
        cs_array_free(&array);
    }
    if (status == CS_OK) cs_images_hold_out(options, out);
    return status;
}

/* --- NPZ -------------------------------------------------------------------------------------- */

/* Names, one a line of a text, or one an item. */
static cs_status take_names(const char *path, const char *what, const cs_array *array, char ***out,
                            int64_t *count)
{
    int64_t capacity = 0;
    cs_status status = CS_OK;
    for (int64_t i = 0; i < array->size && status == CS_OK; ++i) {
        char *text = NULL, *rest = NULL;
        status = cs_blame(cs_array_text(array, i, &text), "%s: %s", path, what);
        for (char *line = text; status == CS_OK; line = NULL) {
            const char *name = strtok_r(line, "\n", &rest);
            if (!name) {
                break;
            }
            status = cs_reserve(out, &capacity, *count + 1, sizeof **out);
            if (status == CS_OK)
                status = ((*out)[*count] = cs_strdup(name)) ? CS_OK : CS_ERR_MEMORY;
            *count += status == CS_OK;
        }
        cs_free(text);
    }
    return status;
}

/* Boxes: n x 5, those of picture i from box_ptr[i] on. */
static cs_status take_boxes(const char *path, const cs_array *box, const cs_array *ptr,
                            cs_images *out)
{
    if (box->ndim != 2 || box->shape[1] != 5 || ptr->ndim != 1 || ptr->size != out->count + 1) {
        return cs_fail(CS_ERR_INPUT,
                       "%s: box, box_ptr: expected an array of boxes x 5, and %lld numbers that "
                       "say where the boxes of each picture begin",
                       path, (long long)out->count + 1);
    }
    const int64_t boxes = box->shape[0];
    out->box = cs_alloc(boxes, sizeof *out->box);
    out->box_ptr = cs_alloc(ptr->size, sizeof *out->box_ptr);
    if (!out->box || !out->box_ptr) return CS_ERR_MEMORY;
    for (int64_t i = 0; i < ptr->size; ++i) {
        cs_status status = cs_array_i64(ptr, i, &out->box_ptr[i]);
        if (status != CS_OK) return cs_blame(status, "%s: box_ptr", path);
        const int64_t at = out->box_ptr[i];
        if (at < (i ? out->box_ptr[i - 1] : 0) || at > boxes || (i == 0 && at != 0) ||
            (i == out->count && at != boxes)) {
            return cs_fail(CS_ERR_INPUT,
                           "%s: box_ptr: value %lld at index %lld does not ascend within 0..%lld, "
                           "the number of boxes",
                           path, (long long)at, (long long)i, (long long)boxes);
        }
    }
    for (int64_t b = 0; b < boxes; ++b) {
        int64_t v[5] = {0};
        cs_status status = CS_OK;
        for (int k = 0; k < 5 && status == CS_OK; ++k) {
            status = cs_array_i64(box, 5 * b + k, &v[k]);
        }
        if (status != CS_OK) return cs_blame(status, "%s: box", path);
        if (v[0] < 0 || v[0] >= out->labels || v[1] < 0 || v[1] >= v[3] || v[3] > out->height ||
            v[2] < 0 || v[2] >= v[4] || v[4] > out->width) {
            return cs_fail(
                CS_ERR_INPUT,
                "%s: box %lld is invalid: class %lld of %lld, rows %lld..%lld, columns %lld..%lld",
                path, (long long)b, (long long)v[0], (long long)out->labels, (long long)v[1],
                (long long)v[3], (long long)v[2], (long long)v[4]);
        }
        out->box[b] =
            (cs_box){(int32_t)v[0], (int32_t)v[1], (int32_t)v[2], (int32_t)v[3], (int32_t)v[4]};
    }
    return CS_OK;
}

/* An array of a number a pixel (of each channel), whose memory is taken over. */
static cs_status take_plane(const char *path, const char *what, cs_array *array, cs_dtype dtype,
                            int64_t size, void *to)
{
    if (array->dtype != dtype || array->size != size) {
        return cs_fail(CS_ERR_INPUT, "%s: %s: %lld numbers, expected %lld of type %s", path, what,
                       (long long)array->size, (long long)size,
                       dtype == CS_U8 ? "uint8" : "float32");
    }
    memcpy(to, &array->data, sizeof array->data);
    array->data = NULL;
    return CS_OK;
}

static cs_status check_mask(const char *path, const cs_images *images)
{
    const int64_t pixels = images->height * images->width;
    for (int64_t i = 0; i < images->count * pixels; ++i) {
        if (images->mask[i] > images->labels) {
            return cs_fail(
                CS_ERR_INPUT, "%s: mask: class %d in picture %lld is not one of the %lld classes",
                path, images->mask[i], (long long)(i / pixels), (long long)images->labels);
        }
    }
    return CS_OK;
}

static cs_status check_value(const char *path, const cs_images *images)
{
    const int64_t numbers = images->height * images->width * images->channels;
    for (int64_t i = 0; i < images->count * numbers; ++i) {
        if (!isfinite(images->value[i])) {
            return cs_fail(CS_ERR_INPUT, "%s: value: number %g in picture %lld is not finite", path,
                           (double)images->value[i], (long long)(i / numbers));
        }
    }
    return CS_OK;
}

static cs_status check_mirror(const char *path, const cs_images *images)
{
    for (int64_t c = 0; c < images->labels; ++c) {
        if (images->mirror[c] > 1) {
            return cs_fail(CS_ERR_INPUT, "%s: mirror: value %d of class %lld is neither 0 nor 1",
                           path, images->mirror[c], (long long)c);
        }
    }
    return CS_OK;
}

/* One member, where it is there. Names come before what refers to them. */
static cs_status take_member(const char *path, const char *what, cs_array *array, cs_npz *npz,
                             cs_images *out)
{
    const int64_t pixels = out->count * out->height * out->width;
    cs_status status = CS_OK;
    if (strcmp(what, "label_name") == 0) {
        return take_names(path, what, array, &out->label_name, &out->labels);
    }
    if (strcmp(what, "group_name") == 0) {
        return take_names(path, what, array, &out->group_name, &out->groups);
    }
    if (strcmp(what, "label") == 0) {
        status = take_numbers(path, what, array, -1, out->labels ? out->labels - 1 : INT32_MAX - 1,
                              out->label, out->count);
        return status != CS_OK || out->labels ? status : cs_images_number_classes(path, out);
    }
    if (strcmp(what, "group") == 0) {
        if (out->groups == 0) {
            return cs_fail(CS_ERR_INPUT, "%s: has a member group.npy, but no group_name.npy", path);
        }
        out->group = cs_alloc(out->count, sizeof *out->group);
        return out->group
                   ? take_numbers(path, what, array, 0, out->groups - 1, out->group, out->count)
                   : CS_ERR_MEMORY;
    }
    if (strcmp(what, "value") == 0) {
        status = take_plane(path, what, array, CS_F32, pixels * out->channels, &out->value);
        return status == CS_OK ? check_value(path, out) : status;
    }
    if (strcmp(what, "mirror") == 0) {
        status = take_plane(path, what, array, CS_U8, out->labels, &out->mirror);
        return status == CS_OK ? check_mirror(path, out) : status;
    }
    if (strcmp(what, "mask") == 0) {
        status = take_plane(path, what, array, CS_U8, pixels, &out->mask);
        return status == CS_OK ? check_mask(path, out) : status;
    }
    CS_AUTO(cs_array) ptr = {0}; /* box */
    status = cs_npz_read(npz, "box_ptr", &ptr);
    return status == CS_OK ? take_boxes(path, array, &ptr, out) : status;
}

static cs_status take_split(const char *path, cs_npz *npz, const cs_images_options *options,
                            cs_images *out)
{
    if (!cs_npz_has(npz, "held_out")) {
        cs_images_hold_out(options, out);
        return CS_OK;
    }
    CS_AUTO(cs_array) array = {0};
    CS_AUTO_FREE int32_t *side = cs_alloc(out->count, sizeof *side);
    cs_status status = side ? cs_npz_read(npz, "held_out", &array) : CS_ERR_MEMORY;
    if (status == CS_OK) status = take_numbers(path, "held_out", &array, 0, 1, side, out->count);
    for (int64_t i = 0; status == CS_OK && i < out->count; ++i) {
        out->held_out[i] = (uint8_t)side[i];
    }
    return status;
}

cs_status cs_images_read_npz(const char *path, const cs_images_options *options, cs_images *out)
{
    static const char *const members[] = {"label_name", "label", "mirror", "group_name",
                                          "group",      "value", "mask",   "box"};
    cs_npz *npz = NULL;
    cs_array array = {0};
    cs_status status = cs_npz_open(path, 0, &npz);
    if (status == CS_OK) status = cs_npz_read(npz, "image", &array);
    if (status == CS_OK) status = take_pixels(path, &array, out);
    cs_array_free(&array);
    for (size_t m = 0; m < sizeof members / sizeof *members && status == CS_OK; ++m) {
        if (cs_npz_has(npz, members[m])) {
            status = cs_npz_read(npz, members[m], &array);
            if (status == CS_OK) status = take_member(path, members[m], &array, npz, out);
            cs_array_free(&array);
        }
    }
    if (status == CS_OK) status = take_split(path, npz, options, out);
    cs_npz_close(npz);
    return status == CS_OK ? cs_sha256_file(path, out->sha256) : status;
}

/* --- writing ---------------------------------------------------------------------------------- */

static cs_status add_names(cs_npz_writer *w, const char *what, char *const *name, int64_t count)
{
    char *all = cs_strdup("");
    for (int64_t i = 0; all && i < count; ++i) {
        char *longer = cs_format("%s%s%s", all, i ? "\n" : "", name[i]);
        cs_free(all);
        all = longer;
    }
    cs_status status = all ? cs_npz_add_text(w, what, all) : CS_ERR_MEMORY;
    cs_free(all);
    return status;
}

cs_status cs_images_write(const char *path, const cs_images *images)
{
    const int64_t shape[4] = {images->count, images->height, images->width, images->channels};
    const int64_t ends = images->count + 1;
    const int64_t boxes[2] = {images->box_ptr ? images->box_ptr[images->count] : 0, 5};
    cs_npz_writer *w = NULL;
    cs_status status = cs_npz_create(path, &w);
    if (status == CS_OK)
        status = cs_npz_add(w, "image", CS_U8, images->channels == 1 ? 3 : 4, shape, images->pixel);
    if (status == CS_OK) status = cs_npz_add(w, "label", CS_I32, 1, shape, images->label);
    if (status == CS_OK) status = cs_npz_add(w, "held_out", CS_U8, 1, shape, images->held_out);
    if (status == CS_OK && images->labels)
        status = add_names(w, "label_name", images->label_name, images->labels);
    if (status == CS_OK && images->mirror)
        status = cs_npz_add(w, "mirror", CS_U8, 1, &images->labels, images->mirror);
    if (status == CS_OK && images->group)
        status = cs_npz_add(w, "group", CS_I32, 1, shape, images->group);
    if (status == CS_OK && images->group)
        status = add_names(w, "group_name", images->group_name, images->groups);
    if (status == CS_OK && images->value)
        status =
            cs_npz_add(w, "value", CS_F32, images->channels == 1 ? 3 : 4, shape, images->value);
    if (status == CS_OK && images->mask)
        status = cs_npz_add(w, "mask", CS_U8, 3, shape, images->mask);
    if (status == CS_OK && images->box_ptr)
        status = cs_npz_add(w, "box_ptr", CS_I64, 1, &ends, images->box_ptr);
    if (status == CS_OK && images->box_ptr)
        status = cs_npz_add(w, "box", CS_I32, 2, boxes, images->box);
    if (status == CS_OK) return cs_npz_commit(&w);
    cs_npz_abort(&w);
    return status;
}
