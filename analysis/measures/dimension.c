/* Spectral decay, two-NN dimension, isotropy: by the definitions of dimension.h. */
#include "analysis/measures/dimension.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/measures/row_blocks.h"
#include "base/auto.h"
#include "base/mem.h"
#include "base/sort.h"
#include "base/threads.h"
#include "linalg/dense.h"
#include "linalg/gram.h"
#include "linalg/nearest.h"
#include "stats/jackknife.h"

double cs_spectral_decay(int64_t count, const double *lambda, int64_t first, int64_t last,
                         double *r2)
{
    double n = 0.0, mx = 0.0, my = 0.0, xx = 0.0, xy = 0.0, yy = 0.0;
    for (int64_t k = first; k <= last && k <= count && lambda[k - 1] > 0.0; ++k) {
        double x = log((double)k), y = log(lambda[k - 1]), dx = x - mx, dy = y - my;
        n += 1.0; /* means and moments about them, one value at a time (Welford 1962) */
        mx += dx / n;
        my += dy / n;
        xx += dx * (x - mx);
        xy += dx * (y - my);
        yy += dy * (y - my);
    }
    if (r2) {
        *r2 = n < 2.0 ? NAN : yy > 0.0 ? xy * xy / (xx * yy) : 1.0;
    }
    return n < 2.0 ? NAN : -xy / xx;
}

/* --- two-NN ----------------------------------------------------------------------------------- */

static int by_values(const void *a, const void *b, void *cols)
{
    const double *x = *(const double *const *)a, *y = *(const double *const *)b;
    for (int64_t k = 0; k < *(const int64_t *)cols; ++k) {
        if (x[k] < y[k] || x[k] > y[k]) return x[k] < y[k] ? -1 : 1;
    }
    return (x > y) - (x < y); /* of equal ones the first in the matrix */
}

/* The rows that differ, in their order: a copy would be a neighbour at no distance of its row, and with it
 * two at one distance of every other. */
static cs_status distinct_rows(const cs_rows *rows, cs_pool *pool, cs_rows *out)
{
    int64_t n = rows->rows, d = rows->cols, kept = 0;
    double *x = d > INT64_MAX / 8 / n ? NULL : cs_pool_take(pool, n * d, sizeof *x);
    double **order = cs_pool_take(pool, n, sizeof *order);
    bool *copy = cs_pool_take(pool, n, sizeof *copy);
    cs_status status = x && order && copy ? CS_OK : CS_ERR_MEMORY;
    if (status == CS_OK) status = cs_rows_read_finite(rows, 0, n, x);
    if (status != CS_OK) return status;
    for (int64_t i = 0; i < n; ++i) {
        order[i] = x + i * d;
        copy[i] = false;
    }
    qsort_r(order, (size_t)n, sizeof *order, by_values, &d);
    for (int64_t i = 1; i < n; ++i) {
        int64_t k = 0;
        while (k < d && !(order[i][k] < order[i - 1][k] || order[i][k] > order[i - 1][k])) {
            ++k;
        }
        copy[(order[i] - x) / d] = k == d;
    }
    for (int64_t i = 0; i < n; ++i) {
        if (!copy[i]) memmove(x + kept++ * d, x + i * d, (size_t)d * sizeof *x);
    }
    *out = cs_rows_of_f64(kept, d, x, rows->name);
    return CS_OK;
}

cs_status cs_two_nn_of(const cs_rows *all, double discard, int threads, const cs_progress *progress,
                       cs_two_nn *out)
{
    if (!(discard >= 0.0 && discard < 1.0)) {
        return cs_fail(CS_ERR_USAGE, "discarded share %g is not in [0, 1)", discard);
    }
    const int64_t n = all->rows;
    CS_AUTO(cs_pool) pool = {0};
    cs_rows rows = *all;
    double *first = cs_pool_take(&pool, n, sizeof *first);
    double *second = cs_pool_take(&pool, n, sizeof *second);
    cs_status status = second ? CS_OK : CS_ERR_MEMORY;
    if (status == CS_OK && n >= 3) status = distinct_rows(all, &pool, &rows);
    if (status == CS_OK && n >= 3 && rows.rows < 3) {
        *out = (cs_two_nn){.dimension = NAN, .duplicates = n - rows.rows};
        return status;
    }
    if (status == CS_OK) status = cs_nearest_two(&rows, threads, progress, first, second);
    if (status != CS_OK) return status;
    int64_t kept = 0;
    for (int64_t i = 0; i < rows.rows; ++i) {
        if (first[i] > 0.0) { /* not if it has drowned in rounding */
            first[kept++] = second[i] / first[i];
        }
    }
    int64_t used = (int64_t)floor((1.0 - discard) * (double)kept);
    used -= used == kept && kept > 0; /* F = 1 at the last */
    qsort(first, (size_t)kept, sizeof *first, cs_ascending);
    double xx = 0.0, xy = 0.0;
    for (int64_t i = 0; i < used; ++i) {
        double x = log(first[i]), y = -log1p(-(double)(i + 1) / (double)kept);
        xx += x * x;
        xy += x * y;
    }
    double dimension = xx > 0.0 ? xy / xx : NAN; /* all ratios are 1: no scale */
    *out = (cs_two_nn){.dimension = dimension, .used = used, .duplicates = n - rows.rows};
    return status;
}

/* --- isotropy --------------------------------------------------------------------------------- */

enum { CHUNK = 512 };

typedef struct {
    const cs_rows *rows;
    const cs_dense *vectors;
    double scale;
    double *part; /* a chunk: Z(v), Z(-v) of d vectors, sum of unit rows; then how many of them */
    int64_t stride;
} partition;

static cs_status partition_chunk(void *ctx, int64_t item)
{
    const partition *p = ctx;
    const int64_t d = p->rows->cols, first = item * CHUNK, left = p->rows->rows - first;
    const int64_t count = left < CHUNK ? left : CHUNK;
    double *part = p->part + item * p->stride, *unit = part + 2 * d;
    CS_AUTO(cs_pool) pool = {0};
    cs_dense x = cs_dense_in(&pool, d, count), y = cs_dense_in(&pool, d, count); /* columns: rows */
    cs_status status = pool.status;
    if (status == CS_OK) status = cs_rows_read_f64(p->rows, first, count, x.data);
    if (status == CS_OK) status = cs_gemm(true, false, 1.0 / p->scale, p->vectors, &x, 0.0, &y);
    for (int64_t i = 0; i < count && status == CS_OK; ++i) {
        double square = 0.0;
        for (int64_t j = 0; j < d; ++j) {
            double z = y.data[i * d + j], v = x.data[i * d + j];
            part[j] += exp(z);
            part[d + j] += exp(-z);
            square += v * v;
        }
        for (int64_t j = 0; j < d && square > 0.0; ++j) {
            unit[j] += x.data[i * d + j] / sqrt(square);
        }
        unit[d] += square > 0.0;
    }
    return status;
}

/* Sums of the chunks, in order. */
static void combine(const partition *p, int64_t chunks, cs_isotropy *out)
{
    const int64_t d = p->rows->cols;
    for (int64_t c = 1; c < chunks; ++c) {
        for (int64_t j = 0; j < p->stride; ++j) {
            p->part[j] += p->part[c * p->stride + j];
        }
    }
    double low = INFINITY, high = 0.0, square = 0.0, n = p->part[3 * d];
    for (int64_t j = 0; j < 2 * d; ++j) {
        low = fmin(low, p->part[j]);
        high = fmax(high, p->part[j]);
    }
    for (int64_t j = 0; j < d; ++j) {
        square += p->part[2 * d + j] * p->part[2 * d + j];
    }
    out->partition = isfinite(high) && low > 0.0 ? low / high : NAN;
    out->mean_cosine = n > 1.0 ? (square - n) / (n * (n - 1.0)) : NAN;
    out->scale = p->scale;
}

cs_status cs_isotropy_of(const cs_rows *rows, bool raw, int threads, cs_isotropy *out)
{
    const int64_t d = rows->cols, n = rows->rows, chunks = (n + CHUNK - 1) / CHUNK;
    const cs_gram_options options = {.wide = true, .threads = threads};
    CS_AUTO(cs_gram) g = {0};
    CS_AUTO(cs_dense) vectors = {0};
    CS_AUTO(cs_pool) pool = {0};
    partition p = {.rows = rows, .scale = 1.0, .stride = 3 * d + 1};
    int64_t counted;
    cs_threads_blas_hold(true); /* its bits depend on them; chunks are the parallel items */
    double *values = cs_pool_take(&pool, d, sizeof *values);
    p.part = cs_pool_take(&pool, chunks * p.stride, sizeof *p.part);
    cs_status status = p.part ? cs_gram_init(d, 1, &options, &g) : CS_ERR_MEMORY;
    if (status != CS_OK || (status = cs_gram_add(&g, rows, NULL, &options)) != CS_OK ||
        (status = cs_gram_total(&g, NULL, false, &vectors, &counted)) != CS_OK ||
        (status = cs_dense_eigh(&vectors, values, false)) != CS_OK) {
        goto done;
    }
    if (!raw && g.square > 0.0) {
        p.scale = sqrt(g.square / (double)n);
    }
    p.vectors = &vectors;
    status = cs_parallel(chunks, threads, partition_chunk, &p);
    if (status == CS_OK) combine(&p, chunks, out);
done:
    cs_threads_blas_hold(false);
    return status;
}

/* --- together --------------------------------------------------------------------------------- */

void cs_shape_free(cs_shape *shape)
{
    cs_free(shape->left_out);
    shape->left_out = NULL;
}

/* Rows of the sample, block after block: block b begins at start[b]. */
typedef struct {
    cs_rows rows;
    int64_t blocks, *start;
    const int32_t *block; /* of each, before; NULL: consecutive rows */
} sampled;

/* Blocks in which no sampled row is are closed up. */
static void close_up(int64_t n, int64_t *blocks, int32_t *block, int32_t *number)
{
    int32_t used = 0;
    for (int64_t b = 0; b < *blocks; ++b) {
        number[b] = -1;
    }
    for (int64_t i = 0; i < n; ++i) {
        number[block[i]] = 0;
    }
    for (int64_t b = 0; b < *blocks; ++b) {
        number[b] = number[b] < 0 ? -1 : used++;
    }
    for (int64_t i = 0; i < n; ++i) {
        block[i] = number[block[i]];
    }
    *blocks = used;
}

/* At most o->sample rows, evenly spaced. */
static cs_status sample(const cs_rows *rows, const cs_shape_options *o, cs_pool *pool, sampled *out)
{
    const int64_t n = rows->rows < o->sample ? rows->rows : o->sample, d = rows->cols;
    double *x = d > INT64_MAX / 8 / n ? NULL : cs_pool_take(pool, n * d, sizeof *x);
    int64_t *order = cs_pool_take(pool, n, sizeof *order),
            *start = cs_pool_take(pool, o->blocks + 1, sizeof *start);
    int32_t *block = cs_pool_take(pool, n, sizeof *block),
            *number = cs_pool_take(pool, o->blocks, sizeof *number);
    cs_status status = x ? pool->status : CS_ERR_MEMORY;
    if (status != CS_OK) return status;
    int64_t blocks = o->blocks < n ? o->blocks : n;
    for (int64_t i = 0; i < n && o->block; ++i) {
        block[i] = o->block[i * (rows->rows / n) + i * (rows->rows % n) / n];
    }
    if (o->block) {
        blocks = o->blocks;
        close_up(n, &blocks, block, number);
    }
    cs_row_order(o->block ? block : NULL, n, blocks, order, start);
    for (int64_t i = 0; i < n && status == CS_OK; ++i) {
        const int64_t k = order[i], row = k * (rows->rows / n) + k * (rows->rows % n) / n;
        status = cs_rows_read_f64(rows, row, 1, x + i * d);
    }
    *out = (sampled){cs_rows_of_f64(n, d, x, rows->name), blocks, start, o->block ? block : NULL};
    return status;
}

/* Enough rows are left without any block. */
static cs_status check_blocks(const sampled *s)
{
    const int64_t n = s->rows.rows;
    int64_t largest = 0;
    for (int64_t b = 0; b < s->blocks; ++b) {
        const int64_t size = s->start[b + 1] - s->start[b];
        largest = size > largest ? size : largest;
    }
    return s->blocks < 2 || n < 3 || n - largest >= 3
               ? CS_OK
               : cs_fail(CS_ERR_INPUT,
                         "%lld rows in %lld blocks: leaving out one block leaves %lld rows, but "
                         "the intrinsic dimension needs at least 3",
                         (long long)n, (long long)s->blocks, (long long)(n - largest));
}

static cs_status measure_shape(const cs_rows *all, const cs_rows *some, const cs_shape_options *o,
                               double value[CS_SHAPE_MEASURES], int64_t *duplicates)
{
    cs_two_nn near = {0};
    cs_isotropy iso = {0};
    cs_status status = cs_isotropy_of(all, false, o->threads, &iso);
    if (status == CS_OK) status = cs_two_nn_of(some, o->discard, o->threads, o->progress, &near);
    value[CS_SHAPE_DIMENSION] = near.dimension;
    value[CS_SHAPE_COSINE] = iso.mean_cosine;
    value[CS_SHAPE_PARTITION] = iso.partition;
    *duplicates = near.duplicates;
    return status;
}

/* The rows x (n x d) without those of each block. */
static cs_status jackknife_shape(const sampled *all, const cs_shape_options *o, cs_pool *pool,
                                 cs_shape *s)
{
    enum { M = CS_SHAPE_MEASURES };
    const cs_rows *rows = &all->rows;
    const int64_t n = rows->rows, d = rows->cols, size = d * (int64_t)sizeof(double);
    cs_shape_options alone = *o; /* of a block nothing is reported */
    int64_t duplicates = 0;
    alone.progress = NULL;
    double *y = cs_pool_take(pool, n * d, sizeof *y);
    s->blocks = all->blocks;
    s->left_out = cs_alloc(s->blocks * M, sizeof *s->left_out);
    cs_status status = y && s->left_out ? CS_OK : CS_ERR_MEMORY;
    for (int64_t b = 0; b < s->blocks && status == CS_OK; ++b) {
        const int64_t from = all->start[b], to = all->start[b + 1];
        memcpy(y, rows->f64, (size_t)(from * size));
        memcpy(y + from * d, rows->f64 + to * d, (size_t)((n - to) * size));
        const cs_rows left = cs_rows_of_f64(n - (to - from), d, y, rows->name);
        status = measure_shape(&left, &left, &alone, s->left_out + b * M, &duplicates);
        cs_progress_report(o->progress, "blocks", b + 1, s->blocks);
    }
    for (int m = 0; m < M && status == CS_OK; ++m) {
        s->se[m] = cs_jackknife_error(s->blocks, s->left_out + m, M);
    }
    return status;
}

cs_status cs_shape_of(const cs_rows *rows, const cs_shape_options *options, cs_shape *out)
{
    CS_AUTO(cs_pool) pool = {0};
    sampled some = {0};
    const bool errors = options->blocks > 1;
    cs_shape s = {.se = {NAN, NAN, NAN}};
    if (options->sample < 3 || options->blocks < 1) {
        return cs_fail(CS_ERR_USAGE,
                       "a sample of %lld rows (at least 3) in %lld blocks (at least 1)",
                       (long long)options->sample, (long long)options->blocks);
    }
    cs_status status = sample(rows, options, &pool, &some);
    const cs_rows *all = errors ? &some.rows : rows;
    s.sampled = some.rows.rows;
    if (status == CS_OK && errors) status = check_blocks(&some);
    if (status == CS_OK) status = measure_shape(all, &some.rows, options, s.value, &s.duplicates);
    for (int m = 0; m < CS_SHAPE_MEASURES; ++m) {
        s.rows[m] = m == CS_SHAPE_DIMENSION ? s.sampled - s.duplicates : all->rows;
    }
    if (status == CS_OK && errors) status = jackknife_shape(&some, options, &pool, &s);
    cs_row_partition(some.block, s.sampled, s.blocks, s.partition);
    return CS_DELIVER(status, out, s, cs_shape_free);
}
