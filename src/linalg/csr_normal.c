/* A^T A times a panel, and A and A^T times a panel each, the matrix read once.
 *
 * Method: a row a_i of A gives t = a_i X (a line for each nonzero) and, while its indices and
 * values are still in the L1 cache, Y += a_i^T t. Neither A^T nor the tall panel A X is touched:
 * for A of 200,000 rows that panel (12.8 MB) is what the product with A^T fetches at random, where
 * here only the two panels of the smaller side are. Rows are dealt in chunks fixed by the matrix,
 * each with its own Y; these are added in order, so that bits do not depend on threads.
 *
 * Limits: an entry of Y is summed row after row within a chunk, so its error is bounded by
 * (n / chunks + chunks) eps times the sum of magnitudes, n the nonzeros of its column; the products
 * one after the other (csr_apply.c) have (n / 256 + 256) eps. No more threads than chunks.
 */
#include <float.h>
#include <string.h>

#include "base/ints.h"
#include "base/mem.h"
#include "base/threads.h"
#include "linalg/csr_private.h"

enum {
    TILE = CS_PANEL,
    SERIAL_BELOW = 200000, /* multiply-adds that take about as long as starting threads */
    LEAST_CHUNKS = 4,      /* fewer would leave threads idle */
    MOST_CHUNKS = 32,
    /* Nonzeros of a chunk for each of its columns, least: an own Y is cleared and added up, which
     * costs less than a tenth of them. */
    WORK_PER_COLUMN = 32,
    REDUCED_ROWS = 2048 /* of Y, added up at once */
};

typedef struct {
    const cs_csr *a;
    const double *x;
    /* Y of the first chunk is y itself, of chunk c > 0 the (c - 1)-th of this buffer */
    double *y, *work;
    int64_t chunks;
    const double *z; /* of both products: Y = A^T Z, product = A X; NULL: Z = A X */
    double *product;
} normal_product;

/* A function of the matrix alone; 0: not worth it. */
static int64_t chunks_of(const cs_csr *a)
{
    int64_t nnz = cs_csr_nnz(a);
    if ((a->rows + nnz) * TILE < SERIAL_BELOW) {
        return 1;
    }
    int64_t most = nnz / WORK_PER_COLUMN / cs_most(a->cols, 1), chunks = LEAST_CHUNKS;
    while (2 * chunks <= most && chunks < MOST_CHUNKS) {
        chunks *= 2; /* what 2, 4 and 8 threads share evenly */
    }
    return most < LEAST_CHUNKS ? 0 : chunks;
}

bool cs_csr_normal_pays(const cs_csr *a)
{
    return chunks_of(a) > 0;
}

int64_t cs_csr_normal_work_size(const cs_csr *a)
{
    int64_t chunks = chunks_of(a);
    return chunks > 1 ? (chunks - 1) * a->cols * TILE : 0;
}

static inline __attribute__((always_inline)) void rows_of(const cs_csr *a, const double *restrict x,
                                                          double *restrict y, int64_t begin,
                                                          int64_t end, const double *restrict z,
                                                          double *restrict product)
{
    const int64_t last = cs_csr_nnz(a) - 1;
    const int32_t *restrict col = a->col;
    const double *restrict val = a->val;
    for (int64_t i = begin; i < end; ++i) {
        const int64_t start = a->ptr[i], stop = a->ptr[i + 1];
        cs_v8 t = {{0}, {0}};
        for (int64_t p = start; p < stop;) {
            int64_t pause = cs_least(p + CS_CSR_RUN, stop);
            cs_v4 low = {0}, high = {0};
            for (; p < pause; ++p) {
                int64_t at = (int64_t)col[p] * TILE, ahead = p + CS_CSR_AHEAD;
                __builtin_prefetch(x + (int64_t)col[cs_least(ahead, last)] * TILE);
                /* prefetch Y into L2 for the second pass; X needs L1 */
                __builtin_prefetch(y + at, 0, 2);
                low += val[p] * *(const cs_v4 *)(x + at);
                high += val[p] * *(const cs_v4 *)(x + at + 4);
            }
            t.low += low;
            t.high += high;
        }
        if (z) {
            memcpy(product + i * TILE, &t, sizeof t);
            memcpy(&t, z + i * TILE, sizeof t);
        }
        for (int64_t p = start; p < stop; ++p) {
            double *to = y + (int64_t)col[p] * TILE;
            *(cs_v4 *)to += val[p] * t.low;
            *(cs_v4 *)(to + 4) += val[p] * t.high;
        }
    }
}

CS_CLONES static void normal_rows(const cs_csr *a, const double *x, double *y, int64_t begin,
                                  int64_t end)
{
    rows_of(a, x, y, begin, end, NULL, NULL);
}

CS_CLONES static void both_rows(const cs_csr *a, const double *x, double *y, int64_t begin,
                                int64_t end, const double *z, double *product)
{
    rows_of(a, x, y, begin, end, z, product);
}

static cs_status normal_chunk(void *ctx, int64_t chunk)
{
    const normal_product *t = ctx;
    int64_t size = t->a->cols * TILE;
    double *y = chunk == 0 ? t->y : t->work + (chunk - 1) * size;
    memset(y, 0, (size_t)size * sizeof *y);
    int64_t begin = cs_csr_chunk_start(t->a, chunk, t->chunks);
    int64_t end = cs_csr_chunk_end(t->a, chunk, t->chunks);
    if (t->z) {
        both_rows(t->a, t->x, y, begin, end, t->z, t->product);
    } else {
        normal_rows(t->a, t->x, y, begin, end);
    }
    return CS_OK;
}

static cs_status reduce_rows(void *ctx, int64_t item)
{
    const normal_product *t = ctx;
    const int64_t reduced = (int64_t)REDUCED_ROWS * TILE, size = t->a->cols * TILE;
    int64_t begin = item * reduced, end = cs_least(begin + reduced, size);
    for (int64_t c = 0; c + 1 < t->chunks; ++c) {
        const double *part = t->work + c * size;
        for (int64_t e = begin; e < end; ++e) {
            t->y[e] += part[e];
        }
    }
    return CS_OK;
}

static cs_status multiply(normal_product *t, int threads)
{
    int64_t chunks = chunks_of(t->a), items = (t->a->cols + REDUCED_ROWS - 1) / REDUCED_ROWS;
    t->chunks = cs_most(chunks, 1);
    cs_status status = cs_parallel(t->chunks, threads, normal_chunk, t);
    return status || t->chunks == 1 ? status : cs_parallel(items, threads, reduce_rows, t);
}

/* The arrays are written through a normal_product. NOLINTBEGIN(readability-non-const-parameter) */
cs_status cs_csr_apply_normal(const cs_csr *a, const double *x, double *y, double *work,
                              int threads)
{
    normal_product t = {.a = a, .x = x, .y = y, .work = work};
    return multiply(&t, threads);
}

cs_status cs_csr_apply_both(const cs_csr *a, const double *x, const double *z, double *ax,
                            double *atz, double *work, int threads)
{
    normal_product t = {.a = a, .x = x, .y = atz, .work = work, .z = z, .product = ax};
    return multiply(&t, threads);
}
/* NOLINTEND(readability-non-const-parameter) */

/* --- rounding --------------------------------------------------------------------------------- */

/* Additions that an entry of A X goes through (csr_apply.c). */
static int64_t row_additions(const cs_csr *a)
{
    int64_t longest = 0;
    for (int64_t i = 0; i < a->rows; ++i) {
        int64_t n = a->ptr[i + 1] - a->ptr[i];
        longest = cs_most(longest, n);
    }
    return longest > CS_CSR_RUN ? CS_CSR_RUN + longest / CS_CSR_RUN + 1 : longest;
}

/* The same of A^T Z in one pass: the entries of a column in one chunk, and the chunks. */
static cs_status column_additions(const cs_csr *a, int64_t *most)
{
    int64_t chunks = chunks_of(a), *count = cs_calloc(a->cols, sizeof *count);
    if (!count) return CS_ERR_MEMORY;
    *most = 0;
    for (int64_t c = 0; c < chunks; ++c) {
        const int64_t begin = cs_csr_chunk_start(a, c, chunks),
                      end = cs_csr_chunk_end(a, c, chunks);
        memset(count, 0, (size_t)a->cols * sizeof *count);
        for (int64_t p = a->ptr[begin]; p < a->ptr[end]; ++p) {
            int64_t n = ++count[a->col[p]];
            *most = cs_most(*most, n);
        }
    }
    *most += chunks;
    cs_free(count);
    return CS_OK;
}

cs_status cs_csr_rounding(const cs_csr *a, const cs_csr *at, double *out)
{
    int64_t forward = row_additions(a), back = at ? row_additions(at) : 0;
    cs_status status = at ? CS_OK : column_additions(a, &back);
    *out = (double)(cs_most(forward, back) + 1) * (DBL_EPSILON / 2);
    return status;
}
