/* Cholesky by one thread: pictures are filled at the same time. */
#include "analysis/vision/linear_fill.h"

#include <cblas.h>
#include <lapacke.h>
#include <string.h>

#include "base/auto.h"
#include "base/ints.h"
#include "base/mem.h"
#include "base/threads.h"
#include "base/vector_ops.h"
#include "linalg/gram.h"

void cs_linear_fill_free(cs_linear_fill *fill)
{
    CS_FREE_FIELDS(fill, mean, rows, inverse);
    cs_dense_free(&fill->covariance);
    *fill = (cs_linear_fill){0};
}

/* --- the fit ---------------------------------------------------------------------------------- */

enum { AT_ONCE = 4096, WIDE_AT_ONCE = 64 }; /* rows of a block; the first is that of Gram sums */

/* The rows that are used, in blocks that are read in parallel. */
typedef struct {
    const cs_fill_rows *rows;
    int64_t used, *row;
    int64_t at_once, first, count; /* of the block */
    float *block;
} reading;

static cs_status read_row(void *ctx, int64_t k)
{
    const reading *r = ctx;
    return r->rows->read(r->rows->ctx, r->row[r->first + k], r->block + k * r->rows->width);
}

static cs_status read_block(reading *r, int64_t first, int threads)
{
    r->first = first;
    r->count = cs_least(r->at_once, r->used - first);
    return cs_parallel(r->count, threads, read_row, r);
}

static cs_status choose_rows(const cs_fill_rows *rows, const uint8_t *left_out, reading *r)
{
    *r = (reading){.rows = rows};
    r->row = cs_alloc(cs_most(rows->count, 1), sizeof *r->row);
    for (int64_t i = 0; r->row && i < rows->count; ++i) {
        if (!left_out || !left_out[i]) r->row[r->used++] = i;
    }
    const int64_t most = rows->width <= CS_LINEAR_FILL_MOST ? AT_ONCE : WIDE_AT_ONCE;
    r->at_once = cs_least(most, cs_most(r->used, 1));
    r->block = cs_alloc(r->at_once * rows->width, sizeof *r->block);
    if (!r->row || !r->block) return CS_ERR_MEMORY;
    return r->used > 0 ? CS_OK : cs_fail(CS_ERR_INPUT, "no picture to average");
}

static void add_to_mean(const reading *r, cs_linear_fill *f)
{
    for (int64_t i = 0; i < r->count; ++i) {
        for (int64_t j = 0; j < f->width; ++j) {
            f->mean[j] += (double)r->block[i * f->width + j];
        }
    }
}

/* Mean and covariance. */
static cs_status fit_narrow(reading *r, int threads, cs_linear_fill *f)
{
    const cs_gram_options options = {.wide = true, .shift = true, .threads = threads};
    CS_AUTO(cs_gram) gram = {0};
    int64_t n = 0;
    cs_status status = cs_gram_init(f->width, 1, &options, &gram);
    for (int64_t at = 0; at < r->used && status == CS_OK; at += r->count) {
        status = read_block(r, at, threads);
        if (status != CS_OK) return status;
        const cs_rows block = cs_rows_of_f32(r->count, f->width, r->block, "pictures");
        add_to_mean(r, f);
        status = cs_gram_add(&gram, &block, NULL, &options);
    }
    cs_divide(f->width, (double)r->used, f->mean);
    if (status == CS_OK) status = cs_gram_total(&gram, NULL, true, &f->covariance, &n);
    for (int64_t j = 0; j < f->width && status == CS_OK; ++j) {
        cs_divide(f->width, (double)n, f->covariance.data + j * f->covariance.ld);
        f->variance += f->covariance.data[j + j * f->covariance.ld] / (double)f->width;
    }
    return status;
}

/* Mean, mean variance, and the rows that stand for all. */
static cs_status fit_wide(reading *r, int threads, cs_linear_fill *f)
{
    int64_t n = 0;
    cs_status status = CS_OK;
    f->sample = cs_least(r->used, CS_LINEAR_FILL_SAMPLE);
    f->rows = cs_alloc(f->sample * f->width, sizeof *f->rows);
    if (!f->rows) return CS_ERR_MEMORY;
    for (int64_t at = 0; at < r->used && status == CS_OK; at += r->count) {
        status = read_block(r, at, threads);
        if (status == CS_OK) add_to_mean(r, f);
    }
    cs_divide(f->width, (double)r->used, f->mean);
    for (int64_t at = 0; at < r->used && status == CS_OK; at += r->count) {
        status = read_block(r, at, threads);
        for (int64_t i = 0; i < r->count && status == CS_OK; ++i) {
            const float *row = r->block + i * f->width;
            if (n < f->sample && at + i == n * r->used / f->sample)
                memcpy(f->rows + n++ * f->width, row, (size_t)f->width * sizeof *row);
            double sum = 0;
            for (int64_t j = 0; j < f->width; ++j) {
                const double e = (double)row[j] - f->mean[j];
                sum += e * e;
            }
            f->variance += sum / (double)f->width / (double)r->used;
        }
    }
    return status;
}

cs_status cs_linear_fill_fit(const cs_fill_rows *rows, const uint8_t *left_out, int threads,
                             cs_linear_fill *out)
{
    cs_linear_fill f = {.width = rows->width};
    reading r = {0};
    cs_status status = choose_rows(rows, left_out, &r);
    f.mean = cs_calloc(f.width, sizeof *f.mean);
    if (status == CS_OK && !f.mean) status = CS_ERR_MEMORY;
    if (status == CS_OK)
        status = f.width <= CS_LINEAR_FILL_MOST ? fit_narrow(&r, threads, &f)
                                                : fit_wide(&r, threads, &f);
    CS_FREE_FIELDS(&r, row, block);
    return CS_DELIVER(status, out, f, cs_linear_fill_free);
}

/* --- a filling -------------------------------------------------------------------------------- */

cs_status cs_linear_fill_invert(double ridge, cs_linear_fill *fill)
{
    const int64_t width = fill->width;
    if (fill->rows) return CS_OK;
    if (!fill->inverse) fill->inverse = cs_alloc(width * width, sizeof *fill->inverse);
    double *a = fill->inverse;
    const int n = (int)width;
    if (!a) return CS_ERR_MEMORY;
    for (int64_t j = 0; j < width; ++j) {
        memcpy(a + j * width, fill->covariance.data + j * fill->covariance.ld,
               (size_t)width * sizeof *a);
        a[j * width + j] += ridge * fill->variance;
    }
    if (LAPACKE_dpotrf(LAPACK_COL_MAJOR, 'L', n, a, n) != 0 ||
        LAPACKE_dpotri(LAPACK_COL_MAJOR, 'L', n, a, n) != 0) {
        return cs_fail(CS_ERR_INPUT, "the covariance of %d values is not positive definite", n);
    }
    for (int64_t j = 0; j < width; ++j) {
        for (int64_t i = j + 1; i < width; ++i) {
            a[i * width + j] = a[j * width + i];
        }
    }
    fill->inverse_ridge = ridge;
    return CS_OK;
}

static cs_status fill_by_inverse(const cs_linear_fill *fill, const uint8_t *hidden, const float *x,
                                 float *to)
{
    const int64_t width = fill->width;
    int64_t count = 0;
    CS_AUTO_FREE int64_t *at = cs_alloc(width, sizeof *at);
    CS_AUTO_FREE double *shift = cs_alloc(width, sizeof *shift);
    if (!at || !shift) return CS_ERR_MEMORY;
    for (int64_t j = 0; j < width; ++j) {
        shift[j] = hidden[j] ? 0 : (double)x[j] - fill->mean[j];
        to[j] = x[j];
        if (hidden[j]) at[count++] = j;
    }
    if (count == 0) return CS_OK;
    CS_AUTO_FREE double *a = cs_alloc(count * count, sizeof *a), *b = cs_alloc(count, sizeof *b);
    const int n = (int)count;
    if (!a || !b) return CS_ERR_MEMORY;
    for (int64_t i = 0; i < count; ++i) {
        const double *row = fill->inverse + at[i] * width;
        b[i] = -cblas_ddot((int)width, row, 1, shift, 1);
        for (int64_t j = 0; j <= i; ++j) {
            a[i * count + j] = row[at[j]];
        }
    }
    if (LAPACKE_dposv(LAPACK_COL_MAJOR, 'U', n, 1, a, n, b, n) != 0) {
        return cs_fail(CS_ERR_INPUT,
                       "the inverse covariance of the %d hidden values is not positive definite",
                       n);
    }
    for (int64_t i = 0; i < count; ++i) {
        to[at[i]] = (float)(fill->mean[at[i]] + b[i]);
    }
    return CS_OK;
}

/* By the covariance; at: the `seen` visible values. */
static cs_status fill_by_covariance(const cs_linear_fill *fill, double ridge, int64_t seen,
                                    const int64_t *at, const uint8_t *hidden, const float *x,
                                    float *to)
{
    const int64_t width = fill->width, ld = fill->covariance.ld;
    const int n = (int)seen;
    const double *c = fill->covariance.data;
    CS_AUTO_FREE double *a = cs_alloc(seen * seen, sizeof *a), *b = cs_alloc(width, sizeof *b);
    cs_status status = a && b ? CS_OK : CS_ERR_MEMORY;
    for (int64_t i = 0; i < seen && status == CS_OK; ++i) {
        b[i] = (double)x[at[i]] - fill->mean[at[i]];
        for (int64_t j = 0; j <= i; ++j) {
            a[i * seen + j] = c[at[i] * ld + at[j]] + (i == j ? ridge * fill->variance : 0);
        }
    }
    /* the lower triangle by rows is the upper one by columns */
    if (status == CS_OK && n > 0 && LAPACKE_dposv(LAPACK_COL_MAJOR, 'U', n, 1, a, n, b, n) != 0)
        status = cs_fail(CS_ERR_INPUT,
                         "the covariance of the %lld visible values is not positive definite",
                         (long long)seen);
    for (int64_t j = 0; j < width && status == CS_OK; ++j) {
        double y = fill->mean[j];
        for (int64_t i = 0; i < seen && hidden[j]; ++i) {
            y += c[j * ld + at[i]] * b[i];
        }
        to[j] = hidden[j] ? (float)y : x[j];
    }
    return status;
}

/* kernel: the lower triangle of Z_s' Z_s, column-major; product: Z_s' (x_s - mu_s). */
static cs_status find_kernel(const cs_linear_fill *f, int64_t seen, const int64_t *at,
                             const float *x, double *kernel, double *product)
{
    enum { WIDE = 128 };
    const int n = (int)f->sample;
    CS_AUTO_FREE double *panel = cs_alloc(f->sample * WIDE, sizeof *panel);
    if (!panel) return CS_ERR_MEMORY;
    for (int64_t first = 0; first < seen; first += WIDE) {
        const int64_t wide = cs_least(WIDE, seen - first);
        for (int64_t k = 0; k < wide; ++k) {
            const int64_t j = at[first + k];
            const double mean = f->mean[j], shift = (double)x[j] - mean;
            for (int64_t i = 0; i < n; ++i) {
                const double z = (double)f->rows[i * f->width + j] - mean;
                panel[k * n + i] = z;
                product[i] += z * shift;
            }
        }
        cblas_dsyrk(CblasColMajor, CblasLower, CblasNoTrans, n, (int)wide, 1, panel, n, 1, kernel,
                    n);
    }
    return CS_OK;
}

static cs_status fill_by_sample(const cs_linear_fill *f, int64_t ridges, const double *ridge,
                                int64_t seen, const int64_t *at, const uint8_t *hidden,
                                const float *x, float *to)
{
    const int n = (int)f->sample;
    CS_AUTO_FREE double *kernel = cs_calloc(f->sample * f->sample, sizeof *kernel),
                        *product = cs_calloc(f->sample, sizeof *product),
                        *a = cs_alloc(f->sample * f->sample, sizeof *a),
                        *b = cs_alloc(f->sample, sizeof *b), *y = cs_alloc(f->width, sizeof *y);
    cs_status status = kernel && product && a && b && y ? CS_OK : CS_ERR_MEMORY;
    if (status == CS_OK) status = find_kernel(f, seen, at, x, kernel, product);
    for (int64_t k = 0; k < ridges && status == CS_OK; ++k) {
        memcpy(a, kernel, (size_t)n * (size_t)n * sizeof *a);
        memcpy(b, product, (size_t)n * sizeof *b);
        for (int64_t i = 0; i < n; ++i) {
            a[i * n + i] += (double)n * ridge[k] * f->variance;
        }
        if (LAPACKE_dposv(LAPACK_COL_MAJOR, 'L', n, 1, a, n, b, n) != 0) {
            return cs_fail(CS_ERR_INPUT,
                           "the covariance of %d images at the visible values is not positive "
                           "definite",
                           n);
        }
        memcpy(y, f->mean, (size_t)f->width * sizeof *y);
        for (int64_t i = 0; i < n; ++i) {
            const float *row = f->rows + i * f->width;
            for (int64_t j = 0; j < f->width; ++j) {
                y[j] += b[i] * ((double)row[j] - f->mean[j]);
            }
        }
        for (int64_t j = 0; j < f->width; ++j) {
            to[k * f->width + j] = hidden[j] ? (float)y[j] : x[j];
        }
    }
    return status;
}

cs_status cs_linear_fill_of(const cs_linear_fill *fill, int64_t ridges, const double *ridge,
                            const uint8_t *hidden, const float *x, float *to)
{
    int64_t seen = 0;
    CS_AUTO_FREE int64_t *at = cs_alloc(fill->width, sizeof *at);
    for (int64_t j = 0; at && j < fill->width; ++j) {
        if (!hidden[j]) {
            at[seen++] = j;
        }
    }
    if (!at) return CS_ERR_MEMORY;
    if (fill->rows) return fill_by_sample(fill, ridges, ridge, seen, at, hidden, x, to);
    cs_status status = CS_OK;
    for (int64_t k = 0; k < ridges && status == CS_OK; ++k) {
        float *filled = to + k * fill->width;
        const bool invert =
            fill->inverse && fill->inverse_ridge == ridge[k] && 2 * seen > fill->width;
        status = invert ? fill_by_inverse(fill, hidden, x, filled)
                        : fill_by_covariance(fill, ridge[k], seen, at, hidden, x, filled);
    }
    return status;
}
