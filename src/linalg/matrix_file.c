/* Matrices from scipy.sparse archives and NPY arrays, and the choice by name.
 *
 * Format: scipy.sparse.save_npz: members format ("csr", "csc", "coo", ...), shape, data, and
 * indices with indptr, or row with col. Rows that are out of order or repeat a column are repaired,
 * as scipy allows both; entries behind the last indptr are ignored, as scipy does. bsr and dia:
 * matrix_blocks.c. Limits: n-dimensional arrays are refused. Integers beyond 2^53 are rounded. A member `gram`, which
 * scipy ignores, marks a Gram form.
 */
#include "linalg/matrix_file.h"

#include <math.h>
#include <string.h>
#include <strings.h>

#include "base/auto.h"
#include "base/ints.h"
#include "base/mem.h"
#include "io/file.h"
#include "io/gzip.h"
#include "io/npy.h"
#include "io/npz.h"
#include "linalg/matrix_index.h"
#include "linalg/matrix_shards_private.h"
#include "linalg/matrix_stream_private.h"

static cs_status same_length(const char *path, const char *left, const cs_array *a,
                             const char *right, const cs_array *b)
{
    return a->size == b->size
               ? CS_OK
               : cs_fail(CS_ERR_INPUT, "%s: member %s.npy has %lld items, but %s.npy has %lld",
                         path, left, (long long)a->size, right, (long long)b->size);
}

typedef struct {
    cs_npz *npz;
    const char *path;
    const int64_t *shape;
} archive;

static cs_status visit_archive(void *ctx, const cs_row_visitor *visitor)
{
    const archive *a = ctx;
    return cs_csr_stream(a->npz, a->path, a->shape[0], a->shape[1], visitor);
}

static cs_status read_csr(cs_npz *npz, const char *path, const int64_t shape[2],
                          cs_nonempty_rows *rows, cs_csr *out)
{
    archive a = {npz, path, shape};
    return cs_rows_collect(path, visit_archive, &a, rows, out);
}

/* --- csc and coo: triplets ---------------------------------------------------------------------- */

typedef struct {
    int64_t *row, *col;
    double *val;
    cs_pool pool;
} triplets;

/* The columns of the entries before the last pointer, which are those that count: *n of them. */
static cs_status read_columns(cs_npz *npz, const char *path, int64_t cols, int64_t entries,
                              triplets *t, int64_t *n)
{
    CS_AUTO(cs_array) indptr = {0};
    const cs_index_items items = {path, "indptr", &indptr, 0};
    int64_t from = 0, to = 0;
    cs_status status = cs_sparse_vector(npz, path, "indptr", &indptr);
    if (status == CS_OK && indptr.size - 1 != cols)
        status = cs_fail(CS_ERR_INPUT, "%s: member indptr.npy has %lld items for %lld columns",
                         path, (long long)indptr.size, (long long)cols);
    /* Pointers begin at 0, never fall and stay within the entries. */
    if (status == CS_OK) status = cs_index_at(&items, 0, 0, 0, &from);
    for (int64_t j = 0; j < cols && status == CS_OK; ++j) {
        status = cs_index_at(&items, j + 1, from, entries, &to);
        for (; status == CS_OK && from < to; ++from) {
            t->col[from] = j;
        }
    }
    *n = from;
    return status;
}

/* The first n of member `name`, which belong to the data, as indices below `size`. */
static cs_status read_indices(cs_npz *npz, const char *path, const char *name, const cs_array *data,
                              int64_t n, int64_t size, int64_t *out)
{
    CS_AUTO(cs_array) index = {0};
    const cs_index_items items = {path, name, &index, 0};
    cs_status status = cs_sparse_vector(npz, path, name, &index);
    status = status ? status : same_length(path, name, &index, "data", data);
    for (int64_t e = 0; status == CS_OK && e < n; ++e) {
        status = cs_index_at(&items, e, 0, size - 1, &out[e]);
    }
    return status;
}

static cs_status read_triplets(cs_npz *npz, const char *path, bool by_column,
                               const int64_t shape[2], cs_nonempty_rows *rows, cs_csr *out)
{
    CS_AUTO(cs_array) data = {0};
    triplets t = {0};
    int64_t n = 0;
    cs_status status = cs_matrix_admit(path, shape[0], shape[1], 0);
    status = status ? status : cs_sparse_vector(npz, path, "data", &data);
    if (status == CS_OK) {
        n = data.size;
        CS_POOL_FIELDS(&t.pool, n, &t, row, col, val);
        status = t.pool.status;
    }
    if (status == CS_OK && by_column) status = read_columns(npz, path, shape[1], data.size, &t, &n);
    if (status == CS_OK)
        status = read_indices(npz, path, by_column ? "indices" : "row", &data, n, shape[0], t.row);
    if (status == CS_OK && !by_column)
        status = read_indices(npz, path, "col", &data, n, shape[1], t.col);
    for (int64_t e = 0; status == CS_OK && e < n; ++e) {
        t.val[e] = cs_array_f64(&data, e);
        status = cs_entry_finite(path, t.row[e], t.col[e], t.val[e]);
    }
    if (status == CS_OK)
        status = cs_blame(
            cs_nonempty_from_triplets(
                path, &(cs_triplets){shape[0], shape[1], n, t.row, t.col, t.val}, rows, out),
            "%s", path);
    cs_pool_free(&t.pool);
    return status;
}

static cs_status read_npz(const char *path, cs_nonempty_rows *rows, cs_csr *out)
{
    cs_npz *npz = NULL;
    CS_AUTO_FREE char *format = NULL;
    int64_t shape[2] = {0, 0};
    cs_status status = cs_npz_open(path, 0, &npz);
    status = status ? status : cs_sparse_kind(npz, path, &format, shape);
    if (status == CS_OK) {
        const bool by_column = strcmp(format, "csc") == 0, diagonals = strcmp(format, "dia") == 0;
        status =
            strcmp(format, "csr") == 0 ? read_csr(npz, path, shape, rows, out)
            : by_column || strcmp(format, "coo") == 0
                ? read_triplets(npz, path, by_column, shape, rows, out)
            : diagonals || strcmp(format, "bsr") == 0
                ? cs_blocks_read(npz, path, diagonals, shape, rows, out)
                : cs_fail(CS_ERR_INPUT, "%s: sparse format '%s' is not csr, csc, coo, bsr or dia",
                          path, format);
    }
    out->gram = status == CS_OK && cs_npz_has(npz, "gram");
    cs_npz_close(npz);
    return status;
}

/* Nonzeros of a C-order array, all of them finite. */
static cs_status count_nonzeros(const char *path, const cs_array *array, int64_t *nnz)
{
    int64_t cols = array->shape[1], count = 0;
    cs_status status = CS_OK;
    for (int64_t e = 0; e < array->size && status == CS_OK; ++e) {
        double x = cs_array_f64(array, e);
        count += x != 0;
        status = cs_entry_finite(path, e / cols, e % cols, x);
    }
    *nnz = count;
    return status;
}

/* Appends the nonzeros of a row of n numbers. */
static int64_t append_row(const cs_array *array, int64_t row, int64_t at, cs_csr *a)
{
    for (int64_t j = 0; j < a->cols; ++j) {
        double x = cs_array_f64(array, row * a->cols + j);
        if (x != 0) {
            a->col[at] = (int32_t)j;
            a->val[at++] = x;
        }
    }
    return at;
}

static cs_status read_npy(const char *path, cs_nonempty_rows *rows, cs_csr *out)
{
    CS_AUTO(cs_array) array = {0};
    cs_csr a = {0};
    int64_t nnz = 0;
    cs_status status = cs_npy_read(path, 0, &array);
    if (status == CS_OK && (array.ndim != 2 || cs_dtype_size(array.dtype) == 0))
        status = array.ndim != 2 ? cs_fail(CS_ERR_INPUT, "%s: has %d dimensions; a matrix has two",
                                           path, array.ndim)
                                 : cs_fail(CS_ERR_INPUT, "%s: contains text, not numbers", path);
    status = status ? status : count_nonzeros(path, &array, &nnz);
    if (status == CS_OK) status = cs_matrix_admit(path, array.shape[0], array.shape[1], 0);
    if (status == CS_OK && nnz == 0) { /* the rows of an array without columns cost nothing */
        const cs_triplets none = {.rows = array.shape[0], .cols = array.shape[1]};
        status = cs_nonempty_from_triplets(path, &none, rows, out);
    } else if (status == CS_OK) {
        cs_nonempty_rows set = cs_nonempty_rows_all(array.shape[0]);
        status = cs_blame(cs_csr_init(&a, array.shape[0], array.shape[1], nnz), "%s", path);
        for (int64_t i = 0; i < a.rows; ++i) {
            a.ptr[i + 1] = append_row(&array, i, a.ptr[i], &a);
        }
        status = cs_drop_empty_rows(status, &a, &set, rows, out);
    }
    return status;
}

static bool begins_as_mtx(const char *path)
{
    static const char banner[] = "%%MatrixMarket";
    char head[sizeof banner - 1];
    int64_t size = 0;
    const bool read = cs_stream_head(path, head, sizeof head, &size) == CS_OK;
    if (!read) cs_reason_clear(); /* whoever reads all of it will report it */
    return read && size == sizeof head && strncasecmp(head, banner, sizeof head) == 0;
}

bool cs_matrix_begins(const char *path)
{
    return begins_as_mtx(path) || cs_npy_begins(path);
}

cs_status cs_matrix_read_filled(const char *path, cs_nonempty_rows *rows, cs_csr *out)
{
    *rows = (cs_nonempty_rows){0};
    *out = (cs_csr){0};
    if (cs_path_is_dir(path)) {
        CS_AUTO_FREE char *inside = cs_path_join(path, cs_matrix_name(path));
        cs_status status = inside ? cs_matrix_read_filled(inside, rows, out) : CS_ERR_MEMORY;
        return status;
    }
    if (cs_matrix_is_index(path)) {
        return cs_index_read_filled(path, rows, out);
    }
    if (cs_has_suffix(path, ".npz")) {
        return read_npz(path, rows, out);
    }
    const bool mtx = cs_has_suffix(path, ".mtx") || cs_has_suffix(path, ".mtx.gz");
    if (cs_npy_named(path) || (!mtx && cs_npy_begins(path))) {
        return read_npy(path, rows, out);
    }
    if (mtx || begins_as_mtx(path)) {
        return cs_mtx_read(path, rows, out);
    }
    return cs_fail(CS_ERR_USAGE, "%s: not a .npz, .npy or .mtx file and not a directory", path);
}

cs_status cs_matrix_read(const char *path, cs_csr *out)
{
    CS_AUTO(cs_nonempty_rows) rows = {0};
    return cs_rows_spread(cs_matrix_read_filled(path, &rows, out), path, &rows, out);
}

/* *done: the file is of format csr, and was visited. */
static cs_status stream_npz(const char *path, const cs_row_visitor *visitor, bool *done)
{
    cs_npz *npz = NULL;
    CS_AUTO_FREE char *format = NULL;
    int64_t shape[2] = {0, 0};
    cs_status status = cs_npz_open(path, 0, &npz);
    status = status ? status : cs_sparse_kind(npz, path, &format, shape);
    if (status == CS_OK && cs_npz_has(npz, "gram")) status = cs_gram_refuse(path);
    *done = status == CS_OK && strcmp(format, "csr") == 0 && shape[1] <= INT32_MAX;
    if (*done) status = cs_csr_stream(npz, path, shape[0], shape[1], visitor);
    cs_npz_close(npz);
    return status;
}

static cs_status visit_whole(const char *path, const cs_row_visitor *visitor)
{
    CS_AUTO(cs_csr) a = {0};
    CS_AUTO(cs_nonempty_rows) rows = {0};
    cs_status status = cs_matrix_read_filled(path, &rows, &a);
    if (status == CS_OK && a.gram) status = cs_gram_refuse(path);
    status = status ? status : visitor->begin(visitor->ctx, rows.rows, a.cols, cs_csr_nnz(&a));
    for (int64_t i = 0; status == CS_OK && i < a.rows; ++i) {
        status = visitor->row(visitor->ctx, cs_nonempty_rows_at(&rows, i), a.ptr[i + 1] - a.ptr[i],
                              a.col + a.ptr[i], a.val + a.ptr[i]);
    }
    return status;
}

cs_status cs_matrix_stream(const char *path, const cs_row_visitor *visitor)
{
    bool done = false;
    CS_AUTO_FREE char *file =
        cs_path_is_dir(path) ? cs_path_join(path, cs_matrix_name(path)) : cs_strdup(path);
    cs_status status = file ? CS_OK : CS_ERR_MEMORY;
    if (status == CS_OK && cs_matrix_is_index(file)) {
        return cs_index_stream(file, visitor);
    }
    if (status == CS_OK && cs_has_suffix(file, ".npz")) status = stream_npz(file, visitor, &done);
    if (status == CS_OK && !done) status = visit_whole(file, visitor);
    return status;
}

/* Values and pointers of rows from..to-1, whose pointers begin at 0 in the file. */
typedef struct {
    const double *val;
    const int64_t *ptr;
} part;

static void to_integers(const void *ctx, int64_t first, int64_t count, void *to)
{
    const double *from = ((const part *)ctx)->val + first;
    int64_t *out = to;
    for (int64_t i = 0; i < count; ++i) {
        out[i] = (int64_t)from[i];
    }
}

static void to_pointers(const void *ctx, int64_t first, int64_t count, void *to)
{
    const int64_t *ptr = ((const part *)ctx)->ptr;
    int64_t *out = to;
    for (int64_t i = 0; i < count; ++i) {
        out[i] = ptr[first + i] - ptr[0];
    }
}

cs_status cs_matrix_write_rows(const char *path, const cs_csr *a, int64_t from, int64_t to,
                               bool integers, const cs_made_entries *made)
{
    const int64_t begin = a->ptr[from], nnz = a->ptr[to] - begin, one = 1, two = 2;
    const int64_t shape[] = {to - from, a->cols};
    const uint8_t gram = 1;
    const part rows = {made ? NULL : a->val + begin, a->ptr + from};
    cs_npz_writer *w = NULL;
    cs_status status = cs_npz_create(path, &w);
    if (status == CS_OK)
        status = made ? cs_npz_add_made(w, "indices", CS_I32, nnz, made->columns,
                                        made->columns_written, made->ctx)
                      : cs_npz_add(w, "indices", CS_I32, 1, &nnz, a->col + begin);
    if (status == CS_OK)
        status = cs_npz_add_made(w, "indptr", CS_I64, to - from + 1, to_pointers, NULL, &rows);
    status = status ? status : cs_npz_add_text(w, "format", "csr");
    status = status ? status : cs_npz_add(w, "shape", CS_I64, 1, &two, shape);
    if (status == CS_OK && a->gram) status = cs_npz_add(w, "gram", CS_U8, 1, &one, &gram);
    if (status == CS_OK)
        status = made ? cs_npz_add_made(w, "data", integers ? CS_I64 : CS_F64, nnz, made->values,
                                        made->values_written, made->ctx)
                 : integers ? cs_npz_add_made(w, "data", CS_I64, nnz, to_integers, NULL, &rows)
                            : cs_npz_add(w, "data", CS_F64, 1, &nnz, rows.val);
    status = status ? status : cs_npz_commit(&w);
    cs_npz_abort(&w);
    return status;
}

cs_status cs_matrix_write_npz(const char *path, const cs_csr *a, bool integers)
{
    return cs_matrix_write_rows(path, a, 0, a->rows, integers && cs_csr_is_integer(a), NULL);
}

/* --- singular vectors -------------------------------------------------------------------------- */

static cs_status put_zeros(cs_outfile *out, int64_t bytes)
{
    static const char zeros[1 << 16];
    const int64_t capacity = (int64_t)sizeof zeros;
    cs_status status = CS_OK;
    for (; bytes > 0 && status == CS_OK; bytes -= capacity) {
        status = cs_outfile_put(out, zeros, cs_least(bytes, capacity));
    }
    return status;
}

/* A run of kept rows that follow each other at a time. */
static cs_status put_column(const cs_nonempty_rows *rows, const double *x, cs_outfile *out)
{
    const int64_t size = (int64_t)sizeof *x;
    int64_t next = 0; /* row of the file */
    cs_status status = CS_OK;
    for (int64_t i = 0, n = 0; i < rows->count && status == CS_OK; i += n) {
        const int64_t row = cs_nonempty_rows_at(rows, i);
        n = rows->row ? 1 : rows->count;
        while (i + n < rows->count && rows->row[i + n] == row + n) {
            ++n;
        }
        status = put_zeros(out, (row - next) * size);
        if (status == CS_OK) status = cs_outfile_put(out, x + i, n * size);
        next = row + n;
    }
    return status == CS_OK ? put_zeros(out, (rows->rows - next) * size) : status;
}

cs_status cs_vectors_write(const char *path, const cs_nonempty_rows *rows, const cs_dense *a)
{
    const int64_t shape[2] = {rows->rows, a->cols};
    CS_AUTO_FREE char *header = NULL;
    int64_t size = 0;
    cs_outfile out = {0};
    cs_status status = cs_npy_header(CS_F64, true, 2, shape, &header, &size);
    if (status == CS_OK) status = cs_outfile_open(path, &out);
    if (status == CS_OK) status = cs_outfile_put(&out, header, size);
    for (int64_t j = 0; j < a->cols && status == CS_OK; ++j) {
        status = put_column(rows, a->data + j * a->ld, &out);
    }
    if (status == CS_OK) status = cs_outfile_commit(&out);
    cs_outfile_abort(&out);
    return status;
}

cs_status cs_vectors_read(const char *path, const cs_nonempty_rows *rows, cs_dense *out)
{
    CS_AUTO(cs_array) x = {0};
    cs_dense a = {0};
    cs_status status = cs_npy_read(path, 0, &x);
    bool fits = x.ndim == 2 && x.shape[0] == rows->rows && x.shape[1] > 0 &&
                (x.dtype == CS_F32 || x.dtype == CS_F64);
    if (status == CS_OK && !fits)
        status = cs_fail(CS_ERR_INPUT, "%s: expected vectors of %lld floats, one per column", path,
                         (long long)rows->rows);
    if (status == CS_OK) status = cs_dense_init(&a, rows->count, x.shape[1]);
    for (int64_t e = 0; status == CS_OK && e < a.rows * a.cols; ++e) {
        const int64_t i = e / a.cols, j = e % a.cols, row = cs_nonempty_rows_at(rows, i);
        const double value = cs_array_f64(&x, row * a.cols + j);
        if (!isfinite(value))
            status = cs_fail(CS_ERR_INPUT, "%s: row %lld, column %lld is not finite: %g", path,
                             (long long)row, (long long)j, value);
        a.data[i + j * a.ld] = value;
    }
    return CS_DELIVER(status, out, a, cs_dense_free);
}
