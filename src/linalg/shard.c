/* Reading a matrix by parts.
 *
 * Method: the rows of the file pass by once. With the rows dealt out a rank appends those that are
 * its own; with the columns dealt out it keeps its own columns of every row and transposes the part
 * that it has got at the end.
 */
#include "linalg/shard.h"

#include <string.h>

#include "base/mem.h"
#include "linalg/matrix_stream_private.h"

int cs_shard_owner(int64_t index, int ranks)
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
    cs_csr_free(&s->a);
    *s = (cs_shard){0};
}

typedef struct {
    cs_shard *shard;
    const char *path;
    bool non_negative;
    int64_t held, row_room; /* rows of the part so far */
    int64_t nnz, room;
} reader;

/* The numbers of the larger side that are this rank's. */
static cs_status list_own(cs_shard *s, int64_t *held)
{
    int64_t n = 0;
    for (int64_t i = 0; i < s->length; ++i) {
        n += cs_shard_owner(i, s->comm->ranks) == s->comm->rank;
    }
    s->index = cs_alloc(n, sizeof *s->index);
    *held = n;
    n = 0;
    for (int64_t i = 0; s->index && i < s->length; ++i) {
        if (cs_shard_owner(i, s->comm->ranks) == s->comm->rank) {
            s->index[n++] = i;
        }
    }
    return s->index ? CS_OK : CS_ERR_MEMORY;
}

static cs_status begin(void *ctx, int64_t rows, int64_t cols)
{
    reader *r = ctx;
    cs_shard *s = r->shard;
    int64_t held = 0;
    s->rows = rows;
    s->cols = cols;
    s->transposed = rows < cols;
    s->length = s->transposed ? cols : rows;
    s->width = s->transposed ? rows : cols;
    if (s->width < s->comm->ranks) {
        return cs_fail(CS_ERR_USAGE,
                       "%s: %lld x %lld: the smaller side is shorter than the %d ranks: take fewer",
                       r->path, (long long)rows, (long long)cols, s->comm->ranks);
    }
    cs_status status = list_own(s, &held);
    r->room = 1 << 12;
    /* For now rows of the file: those held, or all of them cut to the columns held. */
    status = status ? status
                    : cs_csr_init(&s->a, s->transposed ? rows : held, s->transposed ? held : cols,
                                  r->room);
    return status;
}

static cs_status more_room(reader *r, int64_t n)
{
    cs_csr *a = &r->shard->a;
    if (r->nnz + n <= r->room) {
        return CS_OK;
    }
    int64_t room = r->room + r->room / 2 > r->nnz + n ? r->room + r->room / 2 : r->nnz + n;
    int32_t *col = cs_realloc(a->col, room, sizeof *col);
    if (col) {
        a->col = col;
    }
    double *val = col ? cs_realloc(a->val, room, sizeof *val) : NULL;
    if (!val) return CS_ERR_MEMORY;
    a->val = val;
    r->room = room;
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
    if (!s->transposed && cs_shard_owner(number, ranks) != rank) {
        return CS_OK;
    }
    cs_status status = more_room(r, n);
    for (int64_t e = 0; status == CS_OK && e < n; ++e) {
        if (!s->transposed || cs_shard_owner(col[e], ranks) == rank) {
            s->a.col[r->nnz] = s->transposed ? place_of(s, s->a.cols, col[e]) : col[e];
            s->a.val[r->nnz++] = val[e];
        }
    }
    if (status == CS_OK) s->a.ptr[++r->held] = r->nnz;
    return status;
}

static cs_status finish(cs_shard *s)
{
    cs_csr turned = {0};
    cs_status status = cs_csr_tidy(&s->a);
    if (status == CS_OK && s->transposed) {
        status = cs_csr_transpose(&s->a, &turned);
        if (status == CS_OK) {
            cs_csr_free(&s->a);
            s->a = turned;
        }
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
