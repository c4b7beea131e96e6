/* Rows of matrix files in constant memory, and the checks that all readers share. */
#include "linalg/matrix_stream_private.h"

#include <math.h>
#include <string.h>

#include "base/auto.h"
#include "base/ints.h"
#include "base/mem.h"
#include "base/threads.h"
#include "io/file.h"
#include "io/npz.h"
#include "linalg/matrix_file.h"

/* Bytes that the smallest analysis of a matrix takes for each row or column, with or without
 * nonzeros: pointers of the matrix, its transpose and their reduced copies, masses, maps, and a row
 * of one panel. */
enum { SIDE_BYTES = 160 };

cs_status cs_matrix_admit(const char *path, int64_t rows, int64_t cols, int64_t held)
{
    return cols > INT32_MAX /* cs_csr_init says so */
               ? CS_OK
               : cs_mem_check(SIDE_BYTES * ((double)held + (double)cols), NULL,
                              "%s: a matrix of %lld rows and %lld columns takes", path,
                              (long long)rows, (long long)cols);
}

cs_status cs_drop_empty_rows(cs_status status, cs_csr *a, cs_nonempty_rows *set,
                             cs_nonempty_rows *rows, cs_csr *out)
{
    if (status == CS_OK) status = cs_csr_drop_empty(a, set);
    if (status != CS_OK) {
        cs_nonempty_rows_free(set);
        cs_csr_free(a);
        return status;
    }
    *rows = *set;
    *out = *a;
    return CS_OK;
}

cs_status cs_nonempty_from_triplets(const char *path, const cs_triplets *t, cs_nonempty_rows *set,
                                    cs_csr *out)
{
    cs_nonempty_rows filled = {0};
    cs_csr a = {0};
    cs_status status = cs_nonempty_rows_number(t->rows, t->n, t->row, &filled);
    if (status == CS_OK) status = cs_matrix_admit(path, t->rows, t->cols, filled.count);
    if (status == CS_OK)
        status = cs_csr_from_triplets(filled.count, t->cols, t->n, t->row, t->col, t->val, &a);
    return cs_drop_empty_rows(status, &a, &filled, set, out); /* repeats may add up to 0 */
}

cs_status cs_sparse_vector(cs_npz *npz, const char *path, const char *name, cs_array *out)
{
    cs_array a;
    cs_status status = cs_npz_read(npz, name, &a);
    if (status != CS_OK) return status;
    if (a.ndim != 1 || cs_dtype_size(a.dtype) == 0) {
        status = cs_fail(CS_ERR_INPUT, "%s: member %s.npy: %s", path, name,
                         a.ndim != 1 ? "is not one-dimensional" : "is not numeric");
        cs_array_free(&a);
        return status;
    }
    *out = a;
    return CS_OK;
}

cs_status cs_index_at(const cs_index_items *items, int64_t at, int64_t low, int64_t high,
                      int64_t *out)
{
    cs_status status = cs_array_i64(items->a, at - items->first, out);
    if (status == CS_OK && (*out < low || *out > high))
        status = cs_fail(CS_ERR_INPUT, "item %lld is %lld, not in %lld..%lld", (long long)at,
                         (long long)*out, (long long)low, (long long)high);
    return cs_blame(status, "%s: member %s.npy", items->path, items->member);
}

cs_status cs_entry_finite(const char *path, int64_t row, int64_t col, double x)
{
    return isfinite(x) ? CS_OK
                       : cs_fail(CS_ERR_INPUT, "%s: row %lld, column %lld: value %g is not finite",
                                 path, (long long)row, (long long)col, x);
}

cs_status cs_sparse_kind(cs_npz *npz, const char *path, char **format, int64_t shape[2])
{
    CS_AUTO(cs_array) text = {0}, size = {0};
    const cs_index_items items = {path, "shape", &size, 0};
    if (!cs_npz_has(npz, "format")) {
        return cs_fail(CS_ERR_INPUT,
                       "%s: has no member format.npy, so it is not a scipy.sparse file", path);
    }
    cs_status status = cs_npz_read(npz, "format", &text);
    if (status == CS_OK && text.size != 1)
        status = cs_fail(CS_ERR_INPUT, "%s: member format.npy has %lld items", path,
                         (long long)text.size);
    if (status == CS_OK)
        status = cs_blame(cs_array_text(&text, 0, format), "%s: member format.npy", path);
    status = status ? status : cs_sparse_vector(npz, path, "shape", &size);
    if (status == CS_OK && size.size != 2)
        status = cs_fail(CS_ERR_INPUT, "%s: has %lld dimensions; a matrix has two", path,
                         (long long)size.size);
    for (int64_t d = 0; d < 2 && status == CS_OK; ++d) {
        status = cs_index_at(&items, d, 0, INT64_MAX - 1, &shape[d]);
    }
    return status;
}

cs_status cs_gram_refuse(const char *path)
{
    return cs_fail(CS_ERR_USAGE,
                   "%s is a Gram form, which cannot be distributed to several processes", path);
}

enum { ROWS = 1 << 14, ENTRIES = 1 << 18 };

typedef struct {
    const char *path;
    const cs_row_visitor *visitor;
    cs_npz *npz;
    cs_npz_items *indptr, *indices, *data;
    int64_t rows, cols, entries; /* entries: of the members */
    int64_t *ptr;                /* ROWS + 1: of the current rows */
    int32_t *col;
    double *val;
    int64_t capacity;
} stream;

static cs_status open_members(stream *s)
{
    int64_t pointers = 0, values = 0;
    cs_status status = cs_npz_items_open(s->npz, "indptr", &s->indptr, &pointers);
    status = status ? status : cs_npz_items_open(s->npz, "indices", &s->indices, &s->entries);
    status = status ? status : cs_npz_items_open(s->npz, "data", &s->data, &values);
    if (status == CS_OK && pointers != s->rows + 1)
        status = cs_fail(CS_ERR_INPUT, "%s: member indptr.npy has %lld items for %lld rows",
                         s->path, (long long)pointers, (long long)s->rows);
    if (status == CS_OK && values != s->entries)
        status =
            cs_fail(CS_ERR_INPUT, "%s: member indices.npy has %lld items, but data.npy has %lld",
                    s->path, (long long)s->entries, (long long)values);
    s->ptr = status == CS_OK ? cs_alloc(ROWS + 1, sizeof *s->ptr) : NULL;
    return status || s->ptr ? status : CS_ERR_MEMORY;
}

/* Checks and copies the columns of nearly all files in one pass; false: not of this type, or not
 * all in its range. */
static bool plain_columns(const cs_array *from, int64_t cols, int32_t *to)
{
    uint32_t most = 0;
    if (from->dtype != CS_I32) {
        return false;
    }
    memcpy(to, from->data, (size_t)from->size * sizeof *to);
    for (int64_t e = 0; e < from->size; ++e) {
        most = most > (uint32_t)to[e] ? most : (uint32_t)to[e]; /* what is negative is large */
    }
    return most < cols;
}

static bool plain_values(const cs_array *from, double *to)
{
    uint64_t infinite = 0;
    if (from->dtype != CS_F64) {
        return false;
    }
    memcpy(to, from->data, (size_t)from->size * sizeof *to);
    for (int64_t e = 0; e < from->size; ++e) {
        const uint64_t exponent = UINT64_C(0x7ff) << 52;
        uint64_t bits;
        memcpy(&bits, &to[e], sizeof bits);
        infinite |= (bits & exponent) == exponent;
    }
    return infinite == 0;
}

/* Reads the entries of the current rows `from` .. `to` - 1 into col and val. The first current row
 * is row `first` of the matrix. */
static cs_status read_entries(stream *s, int64_t first, int64_t from, int64_t to)
{
    const cs_array *indices = NULL, *data = NULL;
    const int64_t begin = s->ptr[from], count = s->ptr[to] - begin;
    if (count > s->capacity) {
        CS_FREE_FIELDS(s, col, val);
        s->col = cs_alloc(count, sizeof *s->col);
        s->val = cs_alloc(count, sizeof *s->val);
        s->capacity = s->col && s->val ? count : 0;
        if (!s->capacity) return CS_ERR_MEMORY;
    }
    cs_status status = cs_npz_items_next(s->indices, count, &indices);
    status = status ? status : cs_npz_items_next(s->data, count, &data);
    if (status != CS_OK || count == 0 ||
        (plain_columns(indices, s->cols, s->col) && plain_values(data, s->val))) {
        return status;
    }
    const cs_index_items items = {s->path, "indices", indices, begin};
    for (int64_t e = 0; status == CS_OK && e < count; ++e) {
        int64_t j = 0;
        while (s->ptr[from + 1] <= begin + e) {
            ++from;
        }
        status = cs_index_at(&items, begin + e, 0, s->cols - 1, &j);
        s->val[e] = cs_array_f64(data, e);
        if (status == CS_OK) status = cs_entry_finite(s->path, first + from, j, s->val[e]);
        s->col[e] = (int32_t)j;
    }
    return status;
}

/* Rows first .. first + count - 1, whose pointers have been read. */
static cs_status visit_rows(stream *s, int64_t first, int64_t count)
{
    cs_status status = CS_OK;
    for (int64_t i = 0; i < count && status == CS_OK;) {
        int64_t end = i + 1;
        while (end < count && s->ptr[end + 1] - s->ptr[i] <= ENTRIES) {
            ++end;
        }
        status = cs_interrupt_check();
        status = status ? status : read_entries(s, first, i, end);
        for (int64_t r = i; r < end && status == CS_OK; ++r) {
            int64_t at = s->ptr[r] - s->ptr[i], n = s->ptr[r + 1] - s->ptr[r];
            if (n > 0)
                status = s->visitor->row(s->visitor->ctx, first + r, n, s->col + at, s->val + at);
        }
        i = end;
    }
    return status;
}

static cs_status visit_all(stream *s)
{
    const cs_array *piece = NULL;
    cs_status status = s->visitor->begin(s->visitor->ctx, s->rows, s->cols, s->entries);
    status = status ? status : cs_npz_items_next(s->indptr, 1, &piece);
    /* Pointers begin at 0, never fall and stay within the entries. */
    cs_index_items items = {s->path, "indptr", piece, 0};
    status = status ? status : cs_index_at(&items, 0, 0, 0, &s->ptr[0]);
    for (int64_t first = 0; first < s->rows && status == CS_OK; first += ROWS) {
        int64_t count = cs_least(s->rows - first, ROWS);
        status = cs_npz_items_next(s->indptr, count, &piece);
        for (int64_t i = 0; i < count && status == CS_OK; ++i) {
            items = (cs_index_items){s->path, "indptr", piece, first + 1};
            status = cs_index_at(&items, first + i + 1, s->ptr[i], s->entries, &s->ptr[i + 1]);
        }
        status = status ? status : visit_rows(s, first, count);
        s->ptr[0] = s->ptr[count];
    }
    return status;
}

cs_status cs_csr_stream(cs_npz *npz, const char *path, int64_t rows, int64_t cols,
                        const cs_row_visitor *visitor)
{
    stream s = {.path = path, .visitor = visitor, .npz = npz, .rows = rows, .cols = cols};
    cs_status status = open_members(&s);
    status = status ? status : visit_all(&s);
    cs_npz_items_close(s.indptr);
    cs_npz_items_close(s.indices);
    cs_npz_items_close(s.data);
    CS_FREE_FIELDS(&s, ptr, col, val);
    return status;
}

/* --- the matrix of all rows --------------------------------------------------------------------- */

typedef struct {
    const char *path;
    cs_nonempty_rows rows;
    cs_csr a;
    int64_t ptr_capacity, row_capacity;
} collector;

static cs_status collect_begin(void *ctx, int64_t rows, int64_t cols, int64_t entries)
{
    collector *c = ctx;
    c->rows.rows = rows;
    c->ptr_capacity = 1;
    cs_status status = cs_matrix_admit(c->path, rows, cols, 0);
    if (status == CS_OK)
        status = cs_mem_check((double)entries * (sizeof *c->a.col + sizeof *c->a.val), NULL,
                              "%s: %lld entries take", c->path, (long long)entries);
    if (status == CS_OK) status = cs_blame(cs_csr_init(&c->a, 0, cols, entries), "%s", c->path);
    return status ? status : cs_reserve(&c->rows.row, &c->row_capacity, 1, sizeof *c->rows.row);
}

static cs_status collect_row(void *ctx, int64_t row, int64_t n, const int32_t *col,
                             const double *val)
{
    collector *c = ctx;
    const int64_t at = c->a.ptr[c->a.rows];
    cs_status status = cs_reserve(&c->a.ptr, &c->ptr_capacity, c->a.rows + 2, sizeof *c->a.ptr);
    if (status == CS_OK)
        status = cs_reserve(&c->rows.row, &c->row_capacity, c->a.rows + 1, sizeof *c->rows.row);
    if (status != CS_OK) return status;
    memcpy(c->a.col + at, col, (size_t)n * sizeof *col);
    memcpy(c->a.val + at, val, (size_t)n * sizeof *val);
    c->rows.row[c->a.rows++] = row;
    c->a.ptr[c->a.rows] = at + n;
    return CS_OK;
}

cs_status cs_rows_collect(const char *path,
                          cs_status (*visit)(void *ctx, const cs_row_visitor *visitor), void *ctx,
                          cs_nonempty_rows *rows, cs_csr *out)
{
    collector c = {.path = path};
    const cs_row_visitor visitor = {&c, collect_begin, collect_row};
    cs_status status = visit(ctx, &visitor);
    c.rows.count = c.a.rows;
    if (status == CS_OK) status = cs_matrix_admit(path, c.rows.rows, c.a.cols, c.rows.count);
    if (status == CS_OK) status = cs_csr_tidy(&c.a);
    return cs_drop_empty_rows(status, &c.a, &c.rows, rows, out);
}

cs_status cs_rows_spread(cs_status status, const char *path, cs_nonempty_rows *rows, cs_csr *out)
{
    if (status == CS_OK) status = cs_matrix_admit(path, rows->rows, out->cols, rows->rows);
    if (status == CS_OK) status = cs_csr_spread(out, rows);
    if (status != CS_OK) cs_csr_free(out);
    return status;
}
