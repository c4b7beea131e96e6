/* Reads shards one after the other. Each is checked against the index before its rows are visited. */
#include "linalg/matrix_shards.h"

#include <string.h>

#include "base/auto.h"
#include "base/mem.h"
#include "io/file.h"
#include "linalg/matrix_shards_private.h"

/* The visitor of one shard: numbers its rows as those of the matrix. */
typedef struct {
    const cs_row_visitor *to;
    const char *path;
    int64_t first, nonzeros;
} renumbering;

static cs_status begin_shard(void *ctx, int64_t rows, int64_t cols, int64_t entries)
{
    const renumbering *r = ctx;
    (void)rows;
    (void)cols;
    return entries == r->nonzeros
               ? CS_OK
               : cs_fail(CS_ERR_INPUT,
                         "%s: has %lld entries, but " CS_MATRIX_INDEX " says %lld; the index is of "
                         "another run",
                         r->path, (long long)entries, (long long)r->nonzeros);
}

static cs_status visit_row(void *ctx, int64_t row, int64_t n, const int32_t *col, const double *val)
{
    const renumbering *r = ctx;
    return r->to->row(r->to->ctx, r->first + row, n, col, val);
}

static cs_status check_shard(const char *path, const char *format, const int64_t shape[2],
                             const int64_t listed[2], bool gram, bool gram_listed)
{
    if (strcmp(format, "csr") != 0) {
        return cs_fail(CS_ERR_INPUT, "%s: sparse format '%s' is not csr", path, format);
    }
    if (shape[0] != listed[0] || shape[1] != listed[1]) {
        return cs_fail(CS_ERR_INPUT,
                       "%s: is %lld x %lld, but " CS_MATRIX_INDEX
                       " says %lld x %lld; the index is of another run",
                       path, (long long)shape[0], (long long)shape[1], (long long)listed[0],
                       (long long)listed[1]);
    }
    return gram == gram_listed
               ? CS_OK
               : cs_fail(CS_ERR_INPUT,
                         "%s: is %s Gram form, but " CS_MATRIX_INDEX " says that it is %s", path,
                         gram ? "a" : "no", gram ? "not" : "one");
}

cs_status cs_shard_stream(const char *dir, const cs_matrix_index *x, int kind, int64_t number,
                          const cs_row_visitor *visitor)
{
    const cs_shard_record *s = &x->shard[number];
    const bool whole = kind == CS_SHARD_MATRIX;
    const int64_t listed[2] = {s->rows, whole ? x->cols : x->labels};
    CS_AUTO_FREE char *path = NULL, *format = NULL;
    int64_t shape[2] = {0, 0};
    cs_npz *npz = NULL;
    cs_status status = cs_matrix_index_open(dir, x, kind, number, &path, &npz);
    status = status ? status : cs_sparse_kind(npz, path, &format, shape);
    if (status == CS_OK)
        status =
            check_shard(path, format, shape, listed, cs_npz_has(npz, "gram"), whole && x->gram);
    renumbering r = {visitor, path, s->first_row, whole ? s->nonzeros : s->label_nonzeros};
    const cs_row_visitor renumbered = {&r, begin_shard, visit_row};
    status = status ? status : cs_csr_stream(npz, path, shape[0], shape[1], &renumbered);
    cs_npz_close(npz);
    return status;
}

static cs_status visit_shards(const char *dir, const cs_matrix_index *x, int kind,
                              const cs_row_visitor *visitor)
{
    const bool whole = kind == CS_SHARD_MATRIX;
    int64_t entries = 0;
    for (int64_t i = 0; i < x->shards; ++i) {
        entries += whole ? x->shard[i].nonzeros : x->shard[i].label_nonzeros;
    }
    cs_status status = visitor->begin(visitor->ctx, x->rows, whole ? x->cols : x->labels, entries);
    for (int64_t i = 0; i < x->shards && status == CS_OK; ++i) {
        status = cs_shard_stream(dir, x, kind, i, visitor);
    }
    return status;
}

/* The folder of an index. */
static char *folder_of(const char *index)
{
    char *dir = cs_path_folder(index);
    size_t length = dir ? strlen(dir) : 0;
    while (length > 1 && dir[length - 1] == '/') {
        dir[--length] = '\0';
    }
    return dir;
}

cs_status cs_index_stream(const char *path, const cs_row_visitor *visitor)
{
    CS_AUTO(cs_matrix_index) x = {0};
    CS_AUTO_FREE char *dir = folder_of(path);
    cs_status status = dir ? cs_matrix_index_read(dir, &x) : CS_ERR_MEMORY;
    if (status == CS_OK && x.gram) status = cs_gram_refuse(path);
    return status == CS_OK ? visit_shards(dir, &x, CS_SHARD_MATRIX, visitor) : status;
}

char *cs_index_folder(const char *path)
{
    const bool folder = cs_path_is_dir(path);
    return folder && strcmp(cs_matrix_name(path), CS_MATRIX_INDEX) == 0 ? cs_strdup(path)
           : !folder && cs_matrix_is_index(path)                        ? folder_of(path)
                                                                        : cs_strdup("");
}

/* --- the concatenated shards -------------------------------------------------------------------- */

typedef struct {
    const char *dir;
    const cs_matrix_index *index;
    int kind;
} shards;

static cs_status visit_kind(void *ctx, const cs_row_visitor *visitor)
{
    const shards *s = ctx;
    return visit_shards(s->dir, s->index, s->kind, visitor);
}

static cs_status collect(const char *dir, const cs_matrix_index *x, int kind,
                         cs_nonempty_rows *rows, cs_csr *out)
{
    shards s = {dir, x, kind};
    *rows = (cs_nonempty_rows){0};
    *out = (cs_csr){0};
    CS_AUTO_FREE char *path = cs_path_join(dir, CS_MATRIX_INDEX);
    cs_status status = path ? cs_rows_collect(path, visit_kind, &s, rows, out) : CS_ERR_MEMORY;
    out->gram = status == CS_OK && kind == CS_SHARD_MATRIX && x->gram;
    return status;
}

cs_status cs_index_read_filled(const char *path, cs_nonempty_rows *rows, cs_csr *out)
{
    CS_AUTO(cs_matrix_index) x = {0};
    CS_AUTO_FREE char *dir = folder_of(path);
    cs_status status = dir ? cs_matrix_index_read(dir, &x) : CS_ERR_MEMORY;
    return status == CS_OK ? collect(dir, &x, CS_SHARD_MATRIX, rows, out) : status;
}

cs_status cs_shards_read(const char *dir, const cs_matrix_index *index, int kind, cs_csr *out)
{
    CS_AUTO(cs_nonempty_rows) rows = {0};
    return cs_rows_spread(collect(dir, index, kind, &rows, out), dir, &rows, out);
}
