/* Rows of matrix files in constant memory. */
#include "linalg/matrix_stream_private.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/threads.h"
#include "io/file.h"
#include "io/npz.h"
#include "linalg/matrix_file.h"

enum { ROWS = 1 << 14, ENTRIES = 1 << 18 };

typedef struct {
    const char *path;
    const cs_row_visitor *visitor;
    cs_npz *npz;
    cs_npz_items *indptr, *indices, *data;
    int64_t rows, cols, entries; /* entries: of the members */
    int64_t *ptr;                /* ROWS + 1: of the rows at hand */
    int32_t *col;
    double *val;
    int64_t room;
} stream;

/* Its rows are no rows of A. */
static cs_status refuse_gram(const char *path)
{
    return cs_fail(CS_ERR_USAGE, "%s is a Gram form, which is not dealt out to processes", path);
}

/* Whether the archive is of format csr; its shape. */
static cs_status look(stream *s, bool *csr)
{
    char *format = NULL;
    int64_t shape[2] = {0, 0};
    cs_status status = cs_sparse_kind(s->npz, s->path, &format, shape);
    if (status == CS_OK && cs_npz_has(s->npz, "gram")) status = refuse_gram(s->path);
    s->rows = shape[0];
    s->cols = shape[1];
    *csr = status == CS_OK && strcmp(format, "csr") == 0 && s->cols <= INT32_MAX;
    cs_free(format);
    return status;
}

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
        status = cs_fail(CS_ERR_INPUT, "%s: member indices.npy has %lld items, data.npy %lld",
                         s->path, (long long)s->entries, (long long)values);
    s->ptr = status == CS_OK ? cs_alloc(ROWS + 1, sizeof *s->ptr) : NULL;
    return status || s->ptr ? status : CS_ERR_MEMORY;
}

/* The next `count` entries, of rows from `first` on (for messages), into col and val. */
static cs_status read_entries(stream *s, int64_t first, int64_t count)
{
    const cs_array *indices = NULL, *data = NULL;
    if (count > s->room) {
        cs_free(s->col);
        cs_free(s->val);
        s->col = cs_alloc(count, sizeof *s->col);
        s->val = cs_alloc(count, sizeof *s->val);
        s->room = s->col && s->val ? count : 0;
        if (!s->room) return CS_ERR_MEMORY;
    }
    cs_status status = cs_npz_items_next(s->indices, count, &indices);
    status = status ? status : cs_npz_items_next(s->data, count, &data);
    for (int64_t e = 0; status == CS_OK && e < count; ++e) {
        int64_t j = 0;
        status = cs_blame(cs_array_i64(indices, e, &j), "%s: member indices.npy", s->path);
        s->val[e] = cs_array_f64(data, e);
        if (status == CS_OK && (j < 0 || j >= s->cols)) {
            status = cs_fail(CS_ERR_INPUT,
                             "%s: member indices.npy: %lld in row %lld or after is not in 0..%lld",
                             s->path, (long long)j, (long long)first, (long long)s->cols - 1);
        } else if (status == CS_OK && !isfinite(s->val[e])) {
            status =
                cs_fail(CS_ERR_INPUT, "%s: row %lld or after, column %lld: value %g is not finite",
                        s->path, (long long)first, (long long)j, s->val[e]);
        }
        s->col[e] = (int32_t)j;
    }
    return status;
}

/* Rows first .. first + count - 1, whose pointers are at hand. */
static cs_status visit_rows(stream *s, int64_t first, int64_t count)
{
    cs_status status = CS_OK;
    for (int64_t i = 0; i < count && status == CS_OK;) {
        int64_t end = i + 1;
        while (end < count && s->ptr[end + 1] - s->ptr[i] <= ENTRIES) {
            ++end;
        }
        status = cs_interrupt_check();
        status = status ? status : read_entries(s, first + i, s->ptr[end] - s->ptr[i]);
        for (int64_t r = i; r < end && status == CS_OK; ++r) {
            int64_t at = s->ptr[r] - s->ptr[i];
            status = s->visitor->row(s->visitor->ctx, first + r, s->ptr[r + 1] - s->ptr[r],
                                     s->col + at, s->val + at);
        }
        i = end;
    }
    return status;
}

static cs_status visit_all(stream *s)
{
    const cs_array *piece = NULL;
    cs_status status = s->visitor->begin(s->visitor->ctx, s->rows, s->cols);
    s->ptr[0] = 0;
    status = status ? status : cs_npz_items_next(s->indptr, 1, &piece);
    status = status ? status : cs_array_i64(piece, 0, &s->ptr[0]);
    if (status == CS_OK && s->ptr[0] != 0)
        status = cs_fail(CS_ERR_INPUT, "%s: member indptr.npy begins with %lld", s->path,
                         (long long)s->ptr[0]);
    for (int64_t first = 0; first < s->rows && status == CS_OK; first += ROWS) {
        int64_t count = s->rows - first < ROWS ? s->rows - first : ROWS;
        status = cs_npz_items_next(s->indptr, count, &piece);
        for (int64_t i = 0; i < count && status == CS_OK; ++i) {
            status = cs_array_i64(piece, i, &s->ptr[i + 1]);
            if (status == CS_OK && (s->ptr[i + 1] < s->ptr[i] || s->ptr[i + 1] > s->entries))
                status = cs_fail(CS_ERR_INPUT,
                                 "%s: member indptr.npy: item %lld is %lld, not in %lld..%lld",
                                 s->path, (long long)(first + i + 1), (long long)s->ptr[i + 1],
                                 (long long)s->ptr[i], (long long)s->entries);
        }
        status = status ? status : visit_rows(s, first, count);
        s->ptr[0] = s->ptr[count];
    }
    return status;
}

static cs_status stream_npz(const char *path, const cs_row_visitor *visitor, bool *done)
{
    stream s = {.path = path, .visitor = visitor};
    cs_status status = cs_npz_open(path, 0, &s.npz);
    status = status ? status : look(&s, done);
    if (status == CS_OK && *done) {
        status = open_members(&s);
        status = status ? status : visit_all(&s);
    }
    cs_npz_items_close(s.indptr);
    cs_npz_items_close(s.indices);
    cs_npz_items_close(s.data);
    cs_npz_close(s.npz);
    cs_free(s.ptr);
    cs_free(s.col);
    cs_free(s.val);
    return status;
}

static cs_status visit_whole(const char *path, const cs_row_visitor *visitor)
{
    cs_csr a = {0};
    cs_status status = cs_matrix_read(path, &a);
    if (status == CS_OK && a.gram) status = refuse_gram(path);
    status = status ? status : visitor->begin(visitor->ctx, a.rows, a.cols);
    for (int64_t i = 0; status == CS_OK && i < a.rows; ++i) {
        status = visitor->row(visitor->ctx, i, a.ptr[i + 1] - a.ptr[i], a.col + a.ptr[i],
                              a.val + a.ptr[i]);
    }
    cs_csr_free(&a);
    return status;
}

cs_status cs_matrix_stream(const char *path, const cs_row_visitor *visitor)
{
    bool done = false;
    char *file = cs_path_is_dir(path) ? cs_path_join(path, "matrix.npz") : cs_strdup(path);
    cs_status status = file ? CS_OK : CS_ERR_MEMORY;
    if (status == CS_OK && cs_has_suffix(file, ".npz")) status = stream_npz(file, visitor, &done);
    if (status == CS_OK && !done) status = visit_whole(file, visitor);
    cs_free(file);
    return status;
}
