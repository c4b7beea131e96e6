/* Sparse matrix times a block of vectors.
 *
 * Method: columns of X are taken in tiles of 8 (the last of 2, 4 or 6), packed as panels with their
 * columns interleaved, so that a nonzero of A costs one contiguous read of X, a cache line; rows are
 * dealt to threads in chunks of about equal work. Each entry of Y is summed in the order of its row
 * by one thread, so the bits depend neither on threads nor on chunks, nor on the tile a column
 * falls in, except that a column left over by itself sums each row in four interleaved
 * parts, to hide the latency of the addition. Long rows are summed in runs of 256, which bounds the
 * error of a row of n nonzeros by (256 + n / 256) eps instead of n eps: residuals of matrices with
 * a million entries a column are not limited by their own rounding.
 * Limits: a row is never split, so one row that holds most of the matrix runs on one thread. No
 * fused multiply-add is used (-ffp-contract=off), hence the same bits on every x86-64 machine.
 */
#include <string.h>

#include "base/auto.h"
#include "base/ints.h"
#include "base/mem.h"
#include "base/threads.h"
#include "linalg/csr_private.h"

enum {
    TILE = CS_PANEL, /* doubles of one 64-byte cache line */
    /* Nonzeros and rows, times the tile's width, that make a chunk: more than starting threads
     * takes. */
    CHUNK_WORK = 1 << 17,
    MAX_CHUNKS = 256,
    RUN = CS_CSR_RUN,
    AHEAD = CS_CSR_AHEAD
};

typedef cs_v4 v4;
typedef cs_v8 v8;

typedef struct {
    const cs_csr *a;
    const cs_dense *x;
    cs_dense *y;
    const double *packed; /* cols x TILE, a row of the tile contiguous */
    double *buffer;       /* where x is packed */
    double *panel;        /* takes the place of y: rows x TILE, stored as packed is */
    int64_t first;        /* column of X and Y the tile begins with */
    int64_t width, chunks;
} product;

/* One row of A times a tile of eight. The lines of the tile are prefetched AHEAD nonzeros before
 * their turn, and so are those of the next rows (x may be larger than the L2 cache). */
static inline __attribute__((always_inline)) v8 row_of_8(const cs_csr *a, const double *x,
                                                         int64_t i, int64_t last)
{
    const int32_t *restrict col = a->col;
    const double *restrict val = a->val;
    v8 sum = {{0}, {0}};
    for (int64_t p = a->ptr[i], stop = a->ptr[i + 1]; p < stop;) {
        int64_t pause = cs_least(p + RUN, stop);
        v4 low = {0}, high = {0};
        for (; p < pause; ++p) {
            const double *at = x + (int64_t)col[p] * TILE;
            __builtin_prefetch(x + (int64_t)col[cs_least(p + AHEAD, last)] * TILE);
            low += val[p] * *(const v4 *)at;
            high += val[p] * *(const v4 *)(at + 4);
        }
        sum.low += low;
        sum.high += high;
    }
    return sum;
}

CS_CLONES static void rows_of_tile(const product *t, double *restrict y, int64_t begin, int64_t end)
{
    const int64_t last = cs_csr_nnz(t->a) - 1, ld = t->y->ld, width = t->width;
    for (int64_t i = begin; i < end; ++i) {
        v8 sum = row_of_8(t->a, t->packed, i, last);
        double line[TILE];
        memcpy(line, &sum, sizeof line);
        for (int64_t j = 0; j < width; ++j) {
            y[i + j * ld] = line[j];
        }
    }
}

/* The same with Y stored as X is. */
CS_CLONES static void panel_rows(const cs_csr *a, const double *restrict x, double *restrict y,
                                 int64_t begin, int64_t end)
{
    const int64_t last = cs_csr_nnz(a) - 1;
    for (int64_t i = begin; i < end; ++i) {
        v8 sum = row_of_8(a, x, i, last);
        memcpy(y + i * TILE, &sum, sizeof sum);
    }
}

static void rows_of_1(const cs_csr *a, const double *restrict x, double *restrict y, int64_t begin,
                      int64_t end)
{
    const int32_t *restrict col = a->col;
    const double *restrict val = a->val;
    for (int64_t i = begin; i < end; ++i) {
        double sum = 0;
        for (int64_t p = a->ptr[i], stop = a->ptr[i + 1]; p < stop;) {
            int64_t pause = cs_least(p + RUN, stop);
            double s0 = 0, s1 = 0, s2 = 0, s3 = 0;
            for (; p + 4 <= pause; p += 4) {
                s0 += val[p] * x[col[p]];
                s1 += val[p + 1] * x[col[p + 1]];
                s2 += val[p + 2] * x[col[p + 2]];
                s3 += val[p + 3] * x[col[p + 3]];
            }
            for (; p < pause; ++p) {
                s0 += val[p] * x[col[p]];
            }
            sum += (s0 + s1) + (s2 + s3);
        }
        y[i] = sum;
    }
}

static cs_status multiply_chunk(void *ctx, int64_t chunk)
{
    const product *t = ctx;
    int64_t begin = cs_csr_chunk_start(t->a, chunk, t->chunks);
    int64_t end = cs_csr_chunk_end(t->a, chunk, t->chunks);
    if (t->panel) {
        panel_rows(t->a, t->packed, t->panel, begin, end);
    } else if (t->width > 1) {
        rows_of_tile(t, t->y->data + t->first * t->y->ld, begin, end);
    } else {
        rows_of_1(t->a, t->x->data + t->first * t->x->ld, t->y->data + t->first * t->y->ld, begin,
                  end);
    }
    return CS_OK;
}

static cs_status pack_chunk(void *ctx, int64_t chunk)
{
    const product *t = ctx;
    int64_t cols = t->a->cols;
    int64_t begin = cols / t->chunks * chunk + cols % t->chunks * chunk / t->chunks;
    int64_t end = cols / t->chunks * (chunk + 1) + cols % t->chunks * (chunk + 1) / t->chunks;
    const double *x = t->x->data + t->first * t->x->ld;
    for (int64_t i = begin; i < end; ++i) {
        for (int64_t j = 0; j < TILE; ++j) {
            t->buffer[i * TILE + j] = j < t->width ? x[i + j * t->x->ld] : 0;
        }
    }
    return CS_OK;
}

static int64_t chunks_for(int64_t work, int64_t width)
{
    int64_t chunks = work / (CHUNK_WORK / width);
    return cs_most(1, cs_least(chunks, MAX_CHUNKS));
}

static cs_status multiply_tile(product *t, int threads)
{
    cs_status status = CS_OK;
    if (t->width > 1) {
        t->chunks = chunks_for(t->a->cols, t->width);
        status = cs_parallel(t->chunks, threads, pack_chunk, t);
    }
    t->chunks = chunks_for(t->a->rows + cs_csr_nnz(t->a), t->width);
    return status ? status : cs_parallel(t->chunks, threads, multiply_chunk, t);
}

cs_status cs_csr_apply(const cs_csr *a, const cs_dense *x, cs_dense *y, int threads)
{
    if (x->rows != a->cols || y->rows != a->rows || x->cols != y->cols) {
        return cs_fail(CS_ERR_USAGE, "%lld x %lld times %lld x %lld does not give %lld x %lld",
                       (long long)a->rows, (long long)a->cols, (long long)x->rows,
                       (long long)x->cols, (long long)y->rows, (long long)y->cols);
    }
    product t = {.a = a, .x = x, .y = y};
    CS_AUTO_FREE void *buffer = NULL;
    if (x->cols > 1) {
        buffer = cs_alloc(a->cols + 1, TILE * sizeof(double));
        if (!buffer) return CS_ERR_MEMORY;
        /* Rows of the tile on cache lines: the item added pays for moving up to the next one. */
        t.packed = t.buffer = (double *)(((uintptr_t)buffer + 63) & ~(uintptr_t)63);
    }
    cs_status status = CS_OK;
    for (int64_t left = x->cols; left > 0 && status == CS_OK; left -= t.width) {
        t.width = left >= TILE ? TILE : left >= 2 ? left / 2 * 2 : 1;
        status = multiply_tile(&t, threads);
        t.first += t.width;
    }
    return status;
}

/* --- panels ----------------------------------------------------------------------------------- */

/* In large pages: products read rows of a panel at random, and small pages would be looked up anew
 * for many of them (a tenth to a quarter of the time at 200,000 rows). */
double *cs_csr_panel_alloc(int64_t rows)
{
    const int64_t row = TILE * (int64_t)sizeof(double);
    double *panel = cs_alloc_aligned(rows, row);
    if (panel) {
        memset(panel, 0, (size_t)(rows * row));
    }
    return panel;
}

void cs_csr_panel_put(const cs_dense *from, int64_t first, int64_t count, double *panel)
{
    for (int64_t i = 0; i < from->rows; ++i) {
        for (int64_t c = 0; c < TILE; ++c) {
            panel[i * TILE + c] = c < count ? from->data[i + (first + c) * from->ld] : 0;
        }
    }
}

void cs_csr_panel_get(const double *panel, int64_t first, int64_t count, cs_dense *to)
{
    for (int64_t i = 0; i < to->rows; ++i) {
        for (int64_t c = 0; c < count; ++c) {
            to->data[i + (first + c) * to->ld] = panel[i * TILE + c];
        }
    }
}

cs_status cs_csr_apply_panel(const cs_csr *a, const double *x, double *y, int threads)
{
    product t = {
        .a = a, .packed = x, .panel = y, .chunks = chunks_for(a->rows + cs_csr_nnz(a), TILE)};
    return cs_parallel(t.chunks, threads, multiply_chunk, &t);
}
