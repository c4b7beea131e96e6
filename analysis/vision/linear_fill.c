/* Cholesky, row by row, by one thread: pictures are filled at the same time. */
#include "analysis/vision/linear_fill.h"

#include <math.h>

#include "base/auto.h"
#include "base/mem.h"
#include "base/vector_ops.h"
#include "linalg/gram.h"

void cs_linear_fill_free(cs_linear_fill *fill)
{
    cs_free(fill->mean);
    cs_dense_free(&fill->covariance);
    *fill = (cs_linear_fill){0};
}

static cs_status find_mean(const float *rows, int64_t count, const uint8_t *left_out,
                           cs_linear_fill *f, int64_t *used)
{
    f->mean = cs_calloc(f->width, sizeof *f->mean);
    if (!f->mean) return CS_ERR_MEMORY;
    *used = 0;
    for (int64_t i = 0; i < count; ++i) {
        if (left_out && left_out[i]) {
            continue;
        }
        *used += 1;
        for (int64_t j = 0; j < f->width; ++j) {
            f->mean[j] += (double)rows[i * f->width + j];
        }
    }
    if (*used == 0) {
        return cs_fail(CS_ERR_INPUT, "no picture to average");
    }
    cs_divide(f->width, (double)*used, f->mean);
    return CS_OK;
}

static cs_status find_covariance(const float *rows, int64_t count, const uint8_t *left_out,
                                 int threads, cs_linear_fill *f)
{
    const cs_gram_options options = {.wide = true, .shift = true, .threads = threads};
    const cs_rows all = cs_rows_of_f32(count, f->width, rows, "pictures");
    CS_AUTO(cs_gram) gram = {0};
    int64_t n = 0;
    CS_AUTO_FREE int32_t *group = cs_alloc(count, sizeof *group);
    cs_status status = group ? cs_gram_init(f->width, 1, &options, &gram) : CS_ERR_MEMORY;
    for (int64_t i = 0; group && i < count; ++i) {
        group[i] = left_out && left_out[i] ? -1 : 0;
    }
    if (status == CS_OK) status = cs_gram_add(&gram, &all, group, &options);
    if (status == CS_OK) status = cs_gram_total(&gram, NULL, true, &f->covariance, &n);
    for (int64_t j = 0; j < f->width && status == CS_OK; ++j) {
        cs_divide(f->width, (double)n, f->covariance.data + j * f->covariance.ld);
        f->variance += f->covariance.data[j + j * f->covariance.ld] / (double)f->width;
    }
    return status;
}

cs_status cs_linear_fill_fit(const float *rows, int64_t count, int64_t width,
                             const uint8_t *left_out, int threads, cs_linear_fill *out)
{
    cs_linear_fill f = {.width = width};
    int64_t used = 0;
    cs_status status = find_mean(rows, count, left_out, &f, &used);
    if (status == CS_OK && width <= CS_LINEAR_FILL_MOST)
        status = find_covariance(rows, count, left_out, threads, &f);
    return CS_DELIVER(status, out, f, cs_linear_fill_free);
}

/* The lower factor of an n x n matrix over its lower triangle, by rows. */
static bool factor(int64_t n, double *a)
{
    for (int64_t i = 0; i < n; ++i) {
        for (int64_t j = 0; j <= i; ++j) {
            const double rest = a[i * n + j] - cs_inner(j, a + i * n, a + j * n);
            if (i == j && !(rest > 0)) {
                return false;
            }
            a[i * n + j] = i == j ? sqrt(rest) : rest / a[j * n + j];
        }
    }
    return true;
}

/* b := (L L')^-1 b */
static void solve(int64_t n, const double *l, double *b)
{
    for (int64_t i = 0; i < n; ++i) {
        b[i] = (b[i] - cs_inner(i, l + i * n, b)) / l[i * n + i];
    }
    for (int64_t i = n - 1; i >= 0; --i) {
        b[i] /= l[i * n + i];
        cs_add_multiple(i, -b[i], l + i * n, b);
    }
}

cs_status cs_linear_fill_of(const cs_linear_fill *fill, double ridge, const uint8_t *hidden,
                            const float *x, float *to)
{
    const int64_t width = fill->width, ld = fill->covariance.ld;
    const double *c = fill->covariance.data;
    int64_t seen = 0;
    CS_AUTO_FREE int64_t *at = cs_alloc(width, sizeof *at);
    for (int64_t j = 0; at && j < width; ++j) {
        if (!hidden[j]) {
            at[seen++] = j;
        }
    }
    CS_AUTO_FREE double *a = at ? cs_alloc(seen * seen, sizeof *a) : NULL,
                        *b = cs_alloc(width, sizeof *b);
    cs_status status = at && a && b ? CS_OK : CS_ERR_MEMORY;
    for (int64_t i = 0; i < seen && status == CS_OK; ++i) {
        b[i] = (double)x[at[i]] - fill->mean[at[i]];
        for (int64_t j = 0; j <= i; ++j) {
            a[i * seen + j] = c[at[i] * ld + at[j]] + (i == j ? ridge * fill->variance : 0);
        }
    }
    if (status == CS_OK && !factor(seen, a))
        status = cs_fail(CS_ERR_INPUT,
                         "the covariance of the %lld visible values is not positive definite",
                         (long long)seen);
    if (status == CS_OK) solve(seen, a, b);
    for (int64_t j = 0; j < width && status == CS_OK; ++j) {
        double y = fill->mean[j];
        for (int64_t i = 0; i < seen && hidden[j]; ++i) {
            y += c[j * ld + at[i]] * b[i];
        }
        to[j] = hidden[j] ? (float)y : x[j];
    }
    return status;
}
