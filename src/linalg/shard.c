/* Reading a matrix by parts.
 *
 * Method: the rows of the file pass by once. With the rows dealt out a rank appends those that are
 * its own; with the columns dealt out it keeps its own columns of every row and transposes the part
 * that it has got at the end.
 */
#include "linalg/shard.h"

#include "base/ints.h"
#include "base/mem.h"
#include "linalg/matrix_stream_private.h"

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

static cs_status begin(void *ctx, int64_t rows, int64_t cols, int64_t entries)
{
    (void)entries; /* how many of them are this rank's shows */
    reader *r = ctx;
    cs_shard *s = r->shard;
    s->rows = rows;
    s->cols = cols;
    s->transposed = rows < cols;
    s->length = s->transposed ? cols : rows;
    s->width = s->transposed ? rows : cols;
    if (s->width < s->comm->ranks) {
        return cs_fail(
            CS_ERR_USAGE,
            "%s: %lld x %lld: the smaller side is less than the %d ranks; use fewer ranks", r->path,
            (long long)rows, (long long)cols, s->comm->ranks);
    }
    r->ptr_capacity = 1;
    return s->transposed ? list_own(s) : cs_csr_init(&s->a, 0, cols, 0);
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

static cs_status row(void *ctx, int64_t number, int64_t n, const int32_t *col, const double *val)
{
    reader *r = ctx;
    cs_shard *s = r->shard;
    const int rank = s->comm->rank, ranks = s->comm->ranks;
    for (int64_t e = 0; r->non_negative && e < n; ++e) {
        if (val[e] < 0) {
            return cs_fail(CS_ERR_INPUT, "%s: row %lld, column %d: value %g is negative", r->path,
                           (long long)number, (int)col[e], val[e]);
        }
    }
    if (!s->transposed && owner(number, ranks) != rank) {
        return CS_OK;
    }
    int64_t **index = s->transposed ? &s->kept.row : &s->index; /* of the rows of the part */
    cs_status status = cs_reserve(index, &r->index_capacity, s->a.rows + 1, sizeof **index);
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

cs_status cs_shard_read(cs_comm *comm, const char *path, bool non_negative, cs_shard *out)
{
    cs_shard s = {.comm = comm};
    reader r = {.shard = &s, .path = path, .non_negative = non_negative};
    const cs_row_visitor visitor = {&r, begin, row};
    cs_status status = cs_matrix_stream(path, &visitor);
    status = cs_comm_agree(comm, status ? status : finish(&s));
    return CS_DELIVER(status, out, s, cs_shard_free);
}
