/* Rows of numbers by position: pread on NPY files and safetensors, memory for the rest.
 *
 * pread rather than a mapping: a file cut short while it is open is an error to return and not a
 * signal. An NPY file in Fortran order is read column by column, a piece of each. What is not float
 * or double passes a stage of 16 KB. */
#include "io/rows.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "io/file.h"
#include "io/gzip.h"
#include "io/npy.h"
#include "io/npy_private.h"
#include "io/npz.h"
#include "io/safetensors.h"

enum { STAGE = 1 << 14, LISTED = 8 };

struct cs_rows_store {
    char *name;
    int fd;         /* of an NPY file, else -1 */
    int64_t offset; /* of its data */
    bool fortran;
    cs_dtype kind;
    int64_t item_size; /* bytes */
    cs_safetensors *tensors;
    const cs_safetensors_entry *entry;
    cs_array array; /* of a member */
};

static void store_free(cs_rows_store *s)
{
    if (!s) {
        return;
    }
    if (s->fd >= 0) {
        (void)close(s->fd); /* opened for reading: nothing to lose */
    }
    cs_safetensors_free(s->tensors);
    cs_array_free(&s->array);
    cs_free(s->name);
    cs_free(s);
}

void cs_rows_close(cs_rows *rows)
{
    store_free(rows->store);
    *rows = (cs_rows){0};
}

const char *cs_rows_type_name(cs_rows_type type)
{
    static const char *const name[] = {"float16", "bfloat16", "float32", "float64", "integer"};
    return name[type];
}

cs_rows cs_rows_of_f32(int64_t rows, int64_t cols, const float *data, const char *name)
{
    return (cs_rows){rows, cols, CS_ROWS_F32, name, .f32 = data, .dimensions = 2};
}

cs_rows cs_rows_of_f64(int64_t rows, int64_t cols, const double *data, const char *name)
{
    return (cs_rows){rows, cols, CS_ROWS_F64, name, .f64 = data, .dimensions = 2};
}

/* --- opening ---------------------------------------------------------------------------------- */

static bool holds_many(const char *path)
{
    return cs_has_suffix(path, ".npz") || cs_has_suffix(path, ".safetensors");
}

cs_status cs_rows_split(const char *text, char **path, char **name)
{
    const char *colon = cs_path_exists(text) ? NULL : strrchr(text, ':');
    char *p = cs_strdup(text), *n = NULL;
    if (p && colon) {
        p[colon - text] = '\0';
        if (!holds_many(p)) { /* the ':' belongs to the file's name */
            p[colon - text] = ':';
            colon = NULL;
        }
    }
    if (!p || (colon && !(n = cs_strdup(colon + 1)))) {
        cs_free(p);
        return CS_ERR_MEMORY;
    }
    *path = p;
    *name = n;
    return CS_OK;
}

cs_status cs_rows_check_name(const char *text, const char *path)
{
    const bool there = cs_path_exists(path);
    return cs_npy_named(path) || holds_many(path) || cs_npy_begins(path)
               ? CS_OK
               : cs_fail(there ? CS_ERR_USAGE : CS_ERR_INPUT,
                         "%s: %sexpected a matrix: FILE.npy, FILE.npz[:MEMBER] or "
                         "FILE.safetensors[:TENSOR]",
                         text, there ? "" : "no such file; ");
}

/* Takes shape and kind of what was opened. */
static cs_status describe(cs_rows *rows, cs_rows_store *s, int ndim, const int64_t *shape)
{
    if (s->kind == CS_UNICODE || s->kind == CS_BYTES) {
        return cs_fail(CS_ERR_INPUT, "%s: contains text, not numbers", s->name);
    }
    if (ndim < 2) {
        return cs_fail(CS_ERR_INPUT, "%s: has %d dimension%s; a matrix must have two", s->name,
                       ndim, ndim == 1 ? "" : "s");
    }
    rows->rows = 1;
    for (int d = 0; d + 1 < ndim; ++d) {
        rows->rows *= shape[d];
    }
    rows->cols = shape[ndim - 1];
    rows->dimensions = ndim;
    if (rows->rows == 0 || rows->cols == 0) {
        return cs_fail(CS_ERR_INPUT, "%s: is empty (%" PRId64 " rows of %" PRId64 ")", s->name,
                       rows->rows, rows->cols);
    }
    if (s->fortran && ndim > 2) {
        return cs_fail(CS_ERR_INPUT, "%s: has %d dimensions in Fortran order; save it in C order",
                       s->name, ndim);
    }
    rows->type = s->kind == CS_F16    ? CS_ROWS_F16
                 : s->kind == CS_BF16 ? CS_ROWS_BF16
                 : s->kind == CS_F32  ? CS_ROWS_F32
                 : s->kind == CS_F64  ? CS_ROWS_F64
                                      : CS_ROWS_INT;
    return CS_OK;
}

/* An array that was read whole. */
static cs_status take_array(cs_rows_store *s, cs_rows *rows)
{
    s->kind = s->array.dtype;
    s->item_size = s->array.item_size;
    cs_status status = describe(rows, s, s->array.ndim, s->array.shape);
    rows->f32 = s->kind == CS_F32 ? s->array.data : NULL;
    rows->f64 = s->kind == CS_F64 ? s->array.data : NULL;
    return status;
}

static cs_status open_npy(const char *path, cs_rows_store *s, cs_rows *rows)
{
    cs_npy_info info = {0};
    int64_t size = 0;
    bool packed = false;
    cs_status status = cs_file_open(path, &s->fd, &size);
    if (status == CS_OK) status = cs_gzip_begins(s->fd, path, &packed);
    cs_npy_file file = {path, s->fd};
    cs_npy_source source = {path, size, &file, cs_npy_read_file};
    if (status == CS_OK && !packed) status = cs_npy_load_header(&source, &info, &s->offset);
    if (status == CS_OK && (packed || info.swapped)) {
        (void)close(s->fd); /* opened for reading: nothing to lose */
        s->fd = -1;
        status = cs_npy_read(path, 0, &s->array);
        return status == CS_OK ? take_array(s, rows) : status;
    }
    if (status == CS_OK) status = cs_npy_check_size(&source, &info, s->offset);
    if (status != CS_OK) return status;
    s->kind = info.dtype;
    s->item_size = info.item_size;
    s->fortran = info.fortran && info.ndim > 1;
    return describe(rows, s, info.ndim, info.shape);
}

/* Collects names for a message: "a, b, ... (12 in all)". */
typedef struct {
    char text[256];
    int64_t count;
} name_list;

static void list_name(name_list *list, const char *name, int64_t length)
{
    size_t used = strlen(list->text), capacity = sizeof list->text - used;
    if (list->count++ < LISTED && (size_t)length + 3 < capacity) {
        const char *comma = used > 0 ? ", " : "";
        memcpy(list->text + used, comma, strlen(comma));
        used += strlen(comma);
        memcpy(list->text + used, name, (size_t)length);
        list->text[used + (size_t)length] = '\0';
    }
}

/* No member or tensor of that name, or none named where there is not one alone. */
static cs_status not_chosen(const char *path, const char *what, const char *name,
                            const name_list *list)
{
    return name ? cs_fail(CS_ERR_INPUT, "%s: has no %s '%s'; available: %s", path, what, name,
                          list->count > 0 ? list->text : "none")
                : cs_fail(CS_ERR_INPUT, "%s: has %" PRId64 " %ss%s%s; choose one as %s:NAME", path,
                          list->count, what, list->count > 0 ? ": " : "", list->text, path);
}

static cs_status open_npz(const char *path, const char *name, cs_rows_store *s, cs_rows *rows)
{
    cs_npz *npz = NULL;
    name_list list = {"", 0};
    char only[256] = "";
    cs_status status = cs_npz_open(path, 0, &npz);
    if (status != CS_OK) return status;
    for (int64_t i = 0; i < cs_npz_count(npz); ++i) {
        const char *member = cs_npz_member(npz, i);
        if (cs_has_suffix(member, ".npy")) {
            int64_t length = (int64_t)strlen(member) - 4;
            list_name(&list, member, length);
            if (length < (int64_t)sizeof only) {
                memcpy(only, member, (size_t)length);
                only[length] = '\0';
            }
        }
    }
    if (name ? !cs_npz_has(npz, name) : list.count != 1)
        status = not_chosen(path, "member", name, &list);
    if (status == CS_OK) status = cs_npz_read(npz, name ? name : only, &s->array);
    cs_npz_close(npz);
    return status == CS_OK ? take_array(s, rows) : status;
}

static cs_status open_tensor(const char *path, const char *name, cs_rows_store *s, cs_rows *rows)
{
    cs_status status = cs_safetensors_open(path, &s->tensors);
    if (status == CS_OK) status = cs_safetensors_verify(s->tensors);
    if (status != CS_OK) return status;
    name_list list = {"", 0};
    int64_t count = cs_safetensors_count(s->tensors);
    for (int64_t i = 0; i < count; ++i) {
        const char *each = cs_safetensors_at(s->tensors, i)->name;
        list_name(&list, each, (int64_t)strlen(each));
    }
    s->entry = name         ? cs_safetensors_find(s->tensors, name)
               : count == 1 ? cs_safetensors_at(s->tensors, 0)
                            : NULL;
    if (!s->entry) {
        return not_chosen(path, "tensor", name, &list);
    }
    s->kind = s->entry->dtype;
    s->item_size = cs_dtype_size(s->kind);
    return describe(rows, s, s->entry->ndim, s->entry->shape);
}

cs_status cs_rows_open(const char *text, cs_rows *out)
{
    cs_rows rows = {0};
    CS_AUTO_FREE char *path = NULL, *name = NULL;
    cs_rows_store *s = cs_calloc(1, sizeof *s);
    if (!s) return CS_ERR_MEMORY;
    s->fd = -1;
    s->name = cs_strdup(text);
    cs_status status = s->name ? cs_rows_split(text, &path, &name) : CS_ERR_MEMORY;
    if (status != CS_OK) goto done;
    if (cs_npy_named(path) || (!holds_many(path) && cs_npy_begins(path))) {
        status = open_npy(path, s, &rows);
    } else if (cs_has_suffix(path, ".npz")) {
        status = open_npz(path, name, s, &rows);
    } else if ((status = cs_rows_check_name(text, path)) == CS_OK) {
        status = open_tensor(path, name, s, &rows);
    }
    if (status == CS_OK) {
        rows.name = s->name;
        rows.store = s;
        *out = rows;
        s = NULL;
    }
done:
    store_free(s);
    return status;
}

/* --- reading ---------------------------------------------------------------------------------- */

/* Stored items first..first+count-1 as they are. */
static cs_status raw_items(const cs_rows_store *s, int64_t first, int64_t count, void *out)
{
    return s->tensors ? cs_safetensors_read(s->tensors, s->entry, first, count, out)
                      : cs_file_read_at(s->fd, s->name, s->offset + first * s->item_size,
                                        count * s->item_size, out);
}

/* Items first.. in stored order into every stride-th place from `at`, through the stage. */
static cs_status staged(const cs_rows_store *s, int64_t first, int64_t count, int64_t at,
                        int64_t stride, cs_real_target to)
{
    char stage[STAGE];
    cs_status status = CS_OK;
    while (count > 0 && status == CS_OK) {
        int64_t step = STAGE / s->item_size < count ? STAGE / s->item_size : count;
        status = raw_items(s, first, step, stage);
        if (status == CS_OK) cs_items_decode(s->kind, step, stage, at, stride, to);
        first += step;
        count -= step;
        at += step * stride;
    }
    return status;
}

static cs_status read_store(const cs_rows *rows, int64_t first, int64_t count, cs_real_target to)
{
    const cs_rows_store *s = rows->store;
    const int64_t d = rows->cols;
    cs_status status = CS_OK;
    if (s->array.data) {
        cs_items_decode(s->kind, count * d, (const char *)s->array.data + first * d * s->item_size,
                        0, 1, to);
    } else if (s->fortran) {
        for (int64_t j = 0; j < d && status == CS_OK; ++j) {
            status = staged(s, j * rows->rows + first, count, j, d, to);
        }
    } else if (s->kind == (to.wide ? CS_F64 : CS_F32)) {
        status = raw_items(s, first * d, count * d, to.items);
    } else {
        status = staged(s, first * d, count * d, 0, 1, to);
    }
    return status;
}

static cs_status read_rows(const cs_rows *rows, int64_t first, int64_t count, cs_real_target to)
{
    const int64_t at = first * rows->cols, items = count * rows->cols;
    const void *memory = rows->f32   ? (const void *)(rows->f32 + at)
                         : rows->f64 ? (const void *)(rows->f64 + at)
                                     : NULL;
    if (first < 0 || count < 0 || first > rows->rows - count) {
        return cs_fail(CS_ERR_USAGE,
                       "%s: rows %" PRId64 " to %" PRId64 " requested, but it has only %" PRId64,
                       rows->name ? rows->name : "matrix", first, first + count - 1, rows->rows);
    }
    if (!memory) return read_store(rows, first, count, to);
    if (to.wide == !rows->f32) {
        memcpy(to.items, memory, (size_t)items * (to.wide ? sizeof(double) : sizeof(float)));
    } else {
        cs_items_decode(rows->f32 ? CS_F32 : CS_F64, items, memory, 0, 1, to);
    }
    return CS_OK;
}

cs_status cs_rows_read_f32(const cs_rows *rows, int64_t first, int64_t count, float *out)
{
    return read_rows(rows, first, count, (cs_real_target){false, out});
}

cs_status cs_rows_read_f64(const cs_rows *rows, int64_t first, int64_t count, double *out)
{
    return read_rows(rows, first, count, (cs_real_target){true, out});
}

cs_status cs_rows_read_finite(const cs_rows *rows, int64_t first, int64_t count, double *out)
{
    cs_status status = cs_rows_read_f64(rows, first, count, out);
    for (int64_t i = 0; i < count * rows->cols && status == CS_OK; ++i) {
        if (!isfinite(out[i])) {
            status = cs_fail(
                CS_ERR_INPUT, "%s: row %" PRId64 ", column %" PRId64 ": value %g is not finite",
                rows->name ? rows->name : "matrix", first + i / rows->cols, i % rows->cols, out[i]);
        }
    }
    return status;
}
