/* Reading a matrix by parts.
 *
 * Method, for one file: its rows pass by once on every rank. With the rows dealt out a rank appends
 * those that are its own; with the columns dealt out it keeps its own columns of every row and
 * transposes the part that it has got at the end.
 *
 * A matrix in shards: a rank reads consecutive shards with about its share of the nonzeros, or a part
 * of the rows of one shard if there are fewer shards than ranks (shard_portion.c). With the rows dealt
 * out these are its own. With the columns dealt out each rank sends the others their columns.
 */
#include "linalg/shard.h"

#include <string.h>

#include "base/auto.h"
#include "base/ints.h"
#include "base/mem.h"
#include "io/path.h"
#include "linalg/matrix_shards_private.h"
#include "linalg/matrix_stream_private.h"
#include "linalg/shard_portion_private.h"

/* The rank that holds item `index` of the larger side: a hash, so that neighbouring rows of
 * the file, often alike in size, go to different ranks. */
static int owner(int64_t index, int ranks)
{
    __extension__ typedef unsigned __int128 wide;
    uint64_t x =
        (uint64_t)index + UINT64_C(0x9e3779b97f4a7c15); /* splitmix64 (Steele et al. 2014) */
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    x ^= x >> 31;
    return (int)((wide)x * (unsigned)ranks >> 64);
}

void cs_shard_free(cs_shard *s)
{
    cs_free(s->index);
    cs_nonempty_rows_free(&s->kept);
    cs_csr_free(&s->a);
    *s = (cs_shard){0};
}

typedef struct {
    cs_shard *shard;
    const char *path;
    bool non_negative;
    int64_t index_capacity, ptr_capacity;
    int64_t nnz, capacity; /* entries of the part so far */
} reader;

/* The columns that are this rank's. */
static cs_status list_own(cs_shard *s)
{
    int64_t n = 0;
    for (int64_t j = 0; j < s->cols; ++j) {
        n += owner(j, s->comm->ranks) == s->comm->rank;
    }
    cs_status status = cs_csr_init(&s->a, 0, n, 0);
    s->index = cs_alloc(n, sizeof *s->index);
    n = 0;
    for (int64_t j = 0; s->index && j < s->cols; ++j) {
        if (owner(j, s->comm->ranks) == s->comm->rank) {
            s->index[n++] = j;
        }
    }
    return s->index ? status : CS_ERR_MEMORY;
}

/* The sizes of the matrix, before its entries. */
static cs_status set_sizes(cs_shard *s, const char *path, int64_t rows, int64_t cols)
{
    s->rows = rows;
    s->cols = cols;
    s->transposed = rows < cols;
    s->length = s->transposed ? cols : rows;
    s->width = s->transposed ? rows : cols;
    return s->width >= s->comm->ranks
               ? CS_OK
               : cs_fail(CS_ERR_USAGE,
                         "%s: %lld x %lld: the smaller side is less than the %d ranks; use fewer "
                         "ranks",
                         path, (long long)rows, (long long)cols, s->comm->ranks);
}

static cs_status begin(void *ctx, int64_t rows, int64_t cols, int64_t entries)
{
    (void)entries; /* how many of them are this rank's shows */
    reader *r = ctx;
    cs_shard *s = r->shard;
    cs_status status = set_sizes(s, r->path, rows, cols);
    r->ptr_capacity = 1;
    return status ? status : s->transposed ? list_own(s) : cs_csr_init(&s->a, 0, cols, 0);
}

static cs_status reserve_more(reader *r, int64_t n)
{
    cs_csr *a = &r->shard->a;
    if (r->nnz + n <= r->capacity) {
        return CS_OK;
    }
    int64_t capacity = cs_most(r->capacity + r->capacity / 2, r->nnz + n);
    int32_t *col = cs_realloc(a->col, capacity, sizeof *col);
    if (col) {
        a->col = col;
    }
    double *val = col ? cs_realloc(a->val, capacity, sizeof *val) : NULL;
    if (!val) return CS_ERR_MEMORY;
    a->val = val;
    r->capacity = capacity;
    return CS_OK;
}

/* The place of a number among this rank's, which it is. */
static int32_t place_of(const cs_shard *s, int64_t held, int64_t index)
{
    int64_t low = 0, high = held - 1;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (s->index[middle] < index) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return (int32_t)low;
}

static cs_status check_signs(const char *path, int64_t row, int64_t n, const int32_t *col,
                             const double *val)
{
    for (int64_t e = 0; e < n; ++e) {
        if (val[e] < 0) {
            return cs_fail(CS_ERR_INPUT, "%s: row %lld, column %d: value %g is negative", path,
                           (long long)row, (int)col[e], val[e]);
        }
    }
    return CS_OK;
}

static cs_status row(void *ctx, int64_t number, int64_t n, const int32_t *col, const double *val)
{
    reader *r = ctx;
    cs_shard *s = r->shard;
    const int rank = s->comm->rank, ranks = s->comm->ranks;
    cs_status status = r->non_negative ? check_signs(r->path, number, n, col, val) : CS_OK;
    if (status != CS_OK) return status;
    if (!s->transposed && owner(number, ranks) != rank) {
        return CS_OK;
    }
    int64_t **index = s->transposed ? &s->kept.row : &s->index; /* of the rows of the part */
    status = cs_reserve(index, &r->index_capacity, s->a.rows + 1, sizeof **index);
    if (status == CS_OK)
        status = cs_reserve(&s->a.ptr, &r->ptr_capacity, s->a.rows + 2, sizeof *s->a.ptr);
    if (status == CS_OK) status = reserve_more(r, n);
    if (status != CS_OK) return status;
    for (int64_t e = 0; e < n; ++e) {
        if (!s->transposed || owner(col[e], ranks) == rank) {
            s->a.col[r->nnz] = s->transposed ? place_of(s, s->a.cols, col[e]) : col[e];
            s->a.val[r->nnz++] = val[e];
        }
    }
    (*index)[s->a.rows++] = number;
    s->a.ptr[s->a.rows] = r->nnz;
    return CS_OK;
}

static cs_status finish(cs_shard *s)
{
    cs_csr turned = {0};
    s->kept.rows = s->rows;
    s->kept.count = s->a.rows;
    cs_status status = cs_csr_tidy(&s->a);
    if (status != CS_OK || !s->transposed) {
        return status;
    }
    if (s->kept.count < s->comm->ranks) {
        status = cs_csr_spread(&s->a, &s->kept);
        s->kept = cs_nonempty_rows_all(s->rows);
    }
    if (status == CS_OK) status = cs_csr_transpose(&s->a, &turned);
    if (status == CS_OK) {
        cs_csr_free(&s->a);
        s->a = turned;
        s->width = s->a.cols;
    }
    return status;
}

/* --- a matrix in shards -------------------------------------------------------------------------- */

static cs_status check_all_signs(const char *path, const cs_nonempty_rows *rows, const cs_csr *a)
{
    cs_status status = CS_OK;
    for (int64_t i = 0; i < a->rows && status == CS_OK; ++i) {
        status = check_signs(path, cs_nonempty_rows_at(rows, i), a->ptr[i + 1] - a->ptr[i],
                             a->col + a->ptr[i], a->val + a->ptr[i]);
    }
    return status;
}

/* The rows that this rank read become its part. */
static cs_status keep_rows(cs_shard *s, const cs_nonempty_rows *rows, cs_csr *part)
{
    s->index = cs_alloc(part->rows, sizeof *s->index);
    if (!s->index) return CS_ERR_MEMORY;
    for (int64_t i = 0; i < part->rows; ++i) {
        s->index[i] = cs_nonempty_rows_at(rows, i);
    }
    s->a = *part;
    *part = (cs_csr){0};
    return finish(s);
}

/* The entries for rank `to`: the number of each row, columns and values. */
static int64_t pick(const cs_csr *part, int to, int ranks, cs_message *out)
{
    int64_t n = 0;
    for (int64_t i = 0; i < part->rows; ++i) {
        const int64_t before = n;
        for (int64_t e = part->ptr[i]; e < part->ptr[i + 1]; ++e) {
            if (owner(part->col[e], ranks) == to) {
                out->col[n] = part->col[e];
                out->val[n++] = part->val[e];
            }
        }
        out->count[i] = (int32_t)(n - before);
    }
    return n;
}

/* Takes the columns of this rank from the rows of all ranks. */
static cs_status exchange_columns(cs_shard *s, const cs_nonempty_rows *rows, const cs_csr *part)
{
    cs_comm *c = s->comm;
    CS_AUTO(cs_column_swap) x = {0};
    CS_AUTO_FREE int64_t *to = cs_calloc(c->ranks, sizeof *to);
    cs_status status = to ? list_own(s) : CS_ERR_MEMORY;
    const int64_t own = s->a.cols;
    cs_csr_free(&s->a);
    for (int64_t e = 0; status == CS_OK && e < cs_csr_nnz(part); ++e) {
        ++to[owner(part->col[e], c->ranks)];
    }
    status = cs_column_swap_open(c, status, rows, to, &x);
    for (int step = 0; status == CS_OK && step < c->ranks; ++step) {
        const int target = (c->rank + step) % c->ranks;
        const int64_t n = pick(part, target, c->ranks, &x.out);
        cs_column_swap_step(c, step, n, &x);
    }
    if (status != CS_OK) return status;
    s->a = x.all;
    s->a.cols = own;
    s->kept.row = x.row;
    x.all = (cs_csr){0};
    x.row = NULL;
    for (int64_t e = 0; e < cs_csr_nnz(&s->a); ++e) {
        s->a.col[e] = place_of(s, own, s->a.col[e]);
    }
    return finish(s);
}

static cs_status read_index(cs_shard *s, const char *dir, bool non_negative)
{
    CS_AUTO(cs_matrix_index) x = {0};
    CS_AUTO(cs_nonempty_rows) rows = {0};
    CS_AUTO(cs_csr) part = {0};
    CS_AUTO_FREE char *path = cs_path_join(dir, CS_MATRIX_INDEX);
    cs_status status = path ? cs_matrix_index_read(dir, &x) : CS_ERR_MEMORY;
    if (status == CS_OK && x.gram) status = cs_gram_refuse(path);
    if (status == CS_OK) status = set_sizes(s, path, x.rows, x.cols);
    if (status == CS_OK)
        status = cs_portion_read(dir, &x, s->comm->rank, s->comm->ranks, &rows, &part);
    if (status == CS_OK && non_negative) status = check_all_signs(path, &rows, &part);
    status = cs_comm_agree(s->comm, status);
    if (status != CS_OK) return status;
    return s->transposed ? exchange_columns(s, &rows, &part) : keep_rows(s, &rows, &part);
}

static cs_status read_file(cs_shard *s, const char *path, bool non_negative)
{
    reader r = {.shard = s, .path = path, .non_negative = non_negative};
    const cs_row_visitor visitor = {&r, begin, row};
    cs_status status = cs_matrix_stream(path, &visitor);
    return status ? status : finish(s);
}

cs_status cs_shard_read(cs_comm *comm, const char *path, bool non_negative, cs_shard *out)
{
    cs_shard s = {.comm = comm};
    CS_AUTO_FREE char *dir = cs_index_folder(path);
    cs_status status = dir ? CS_OK : CS_ERR_MEMORY;
    if (status == CS_OK)
        status = *dir ? read_index(&s, dir, non_negative) : read_file(&s, path, non_negative);
    if (!comm->agreed) status = cs_comm_agree(comm, status);
    return CS_DELIVER(status, out, s, cs_shard_free);
}
