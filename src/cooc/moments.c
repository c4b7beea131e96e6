/* Second and fourth moments of a spectrum.
 *
 * Method. The fourth moment is ||G||_F^2 with G = Abar Abar^T or Abar^T Abar, whichever costs fewer
 * multiply-adds. A row of G is scattered into a dense accumulator; only entries up to the diagonal
 * are formed, those below count twice. Rows are grouped into blocks of a fixed size, whose sums are
 * added in block order, so the bits do not depend on the threads.
 *
 * Hutchinson's estimator draws z with independent random signs: E z' M z = tr M with
 * M = (Abar^T Abar)^2. Its variance is 2 (||M||_F^2 - sum M_ii^2).
 *
 * Limits: the exact moment of a matrix with a very full column costs the square of its length; ask
 * cs_moment4_cost first.
 */
#include "cooc/moments.h"

#include <math.h>

#include "base/mem.h"
#include "base/rng.h"
#include "base/threads.h"
#include "cooc/compensated.h"

enum { GRAM_BLOCK = 64, SAMPLE_BLOCK = 8 };

double cs_moment2(const cs_csr *abar)
{
    double sum = 0, lost = 0;
    int64_t nnz = cs_csr_nnz(abar);
    for (int64_t e = 0; e < nnz; ++e) {
        cs_add_compensated(&sum, &lost, abar->val[e] * abar->val[e]);
    }
    return sum + lost;
}

/* Multiply-adds of the lower half of A^T A, whose row lengths are those of `a`. */
static double gram_cost(const cs_csr *a)
{
    double cost = 0;
    for (int64_t i = 0; i < a->rows; ++i) {
        double n = (double)(a->ptr[i + 1] - a->ptr[i]);
        cost += n * (n + 1) / 2;
    }
    return cost;
}

cs_status cs_moment4_cost_of(const cs_csr *a, double *out)
{
    int64_t *count = cs_calloc(a->cols, sizeof *count), nnz = cs_csr_nnz(a);
    if (!count) {
        return CS_ERR_MEMORY;
    }
    double columns = 0;
    for (int64_t e = 0; e < nnz; ++e) {
        ++count[a->col[e]];
    }
    for (int64_t j = 0; j < a->cols; ++j) {
        columns += (double)count[j] * ((double)count[j] + 1) / 2;
    }
    cs_free(count);
    *out = fmin(gram_cost(a), columns);
    return CS_OK;
}

double cs_moment4_cost(const cs_csr *abar, const cs_csr *abar_t)
{
    return fmin(gram_cost(abar), gram_cost(abar_t));
}

typedef struct {
    const cs_csr *a, *at; /* the Gram matrix is A A^T */
    double *sum;          /* by block */
    double *row;          /* by worker: a->rows values, zero between rows */
    uint8_t *mark;        /* by worker: which of them are in `touched` */
    int32_t *touched;     /* by worker */
    int64_t blocks;
    const cs_progress *progress;
} gram_job;

static double gram_row_square(const gram_job *job, int64_t i, double *row, uint8_t *mark,
                              int32_t *touched)
{
    const cs_csr *a = job->a, *at = job->at;
    int64_t n = 0;
    for (int64_t e = a->ptr[i]; e < a->ptr[i + 1]; ++e) {
        double x = a->val[e];
        int64_t end = at->ptr[a->col[e] + 1];
        for (int64_t f = at->ptr[a->col[e]]; f < end; ++f) {
            int32_t j = at->col[f];
            if (j > i) {
                break;
            }
            row[j] += x * at->val[f];
            if (!mark[j]) {
                mark[j] = 1;
                touched[n++] = j;
            }
        }
    }
    double square = 0;
    for (int64_t t = 0; t < n; ++t) {
        int32_t j = touched[t];
        square += (j < i ? 2 : 1) * row[j] * row[j];
        row[j] = 0;
        mark[j] = 0;
    }
    return square;
}

static cs_status gram_block(void *ctx, int64_t item, int worker)
{
    gram_job *job = ctx;
    int64_t n = job->a->rows;
    int64_t end = (item + 1) * GRAM_BLOCK < n ? (item + 1) * GRAM_BLOCK : n;
    double sum = 0, lost = 0;
    for (int64_t i = item * GRAM_BLOCK; i < end; ++i) {
        cs_add_compensated(&sum, &lost,
                           gram_row_square(job, i, job->row + worker * n, job->mark + worker * n,
                                           job->touched + worker * n));
    }
    job->sum[item] = sum + lost;
    if (worker == 0) { /* one reporter; its count stands for all */
        cs_progress_report(job->progress, "fourth moment", item + 1, job->blocks);
    }
    return CS_OK;
}

cs_status cs_moment4(const cs_csr *abar, const cs_csr *abar_t, int threads,
                     const cs_progress *progress, double *out)
{
    cs_status status = CS_ERR_MEMORY;
    bool columns = gram_cost(abar) < gram_cost(abar_t);
    gram_job job = {.a = columns ? abar_t : abar, .at = columns ? abar : abar_t};
    int workers = threads > 0 ? threads : cs_threads();
    int64_t n = job.a->rows;
    job.blocks = (n + GRAM_BLOCK - 1) / GRAM_BLOCK;
    job.progress = progress;
    job.sum = cs_alloc(job.blocks, sizeof *job.sum);
    job.row = cs_calloc(workers * n, sizeof *job.row);
    job.mark = cs_calloc(workers * n, sizeof *job.mark);
    job.touched = cs_alloc(workers * n, sizeof *job.touched);
    if (!job.sum || !job.row || !job.mark || !job.touched) {
        goto done;
    }
    status = cs_parallel(job.blocks, workers, gram_block, &job);
    if (status != CS_OK) {
        goto done;
    }
    double sum = 0, lost = 0;
    for (int64_t b = 0; b < job.blocks; ++b) {
        cs_add_compensated(&sum, &lost, job.sum[b]);
    }
    *out = sum + lost;
done:
    cs_free(job.sum);
    cs_free(job.row);
    cs_free(job.mark);
    cs_free(job.touched);
    return status;
}

/* Column c of z becomes the sign vector of sample first + c. */
static void draw_signs(cs_dense *z, int64_t first, uint64_t seed)
{
    for (int64_t c = 0; c < z->cols; ++c) {
        cs_rng rng = cs_rng_at(seed, CS_STREAM_PROBE, (uint64_t)(first + c));
        cs_rng_signs(&rng, z->rows, z->data + c * z->ld);
    }
}

/* z := (I - V V^T) z. */
static cs_status project_out(const cs_dense *v, cs_dense *z)
{
    cs_dense inner = {0};
    cs_status status = cs_dense_init(&inner, v->cols, z->cols);
    if (status == CS_OK) {
        status = cs_gemm(true, false, 1, v, z, 0, &inner);
    }
    if (status == CS_OK) {
        status = cs_gemm(false, false, -1, v, &inner, 1, z);
    }
    cs_dense_free(&inner);
    return status;
}

static double column_square(const cs_dense *a, int64_t col)
{
    double sum = 0, lost = 0;
    for (int64_t i = 0; i < a->rows; ++i) {
        double x = a->data[i + col * a->ld];
        cs_add_compensated(&sum, &lost, x * x);
    }
    return sum + lost;
}

/* value[i] = ||Abar^T Abar (I - V V^T) z_i||^2 for samples first .. first + count - 1. */
static cs_status draw_samples(const cs_csr *abar, const cs_csr *abar_t,
                              const cs_moment4_sampling *s, int64_t first, int64_t count,
                              double *value)
{
    cs_dense z = {0}, y = {0};
    cs_status status = cs_dense_init(&z, abar->cols, count);
    if (status == CS_OK) {
        status = cs_dense_init(&y, abar->rows, count);
    }
    if (status != CS_OK) {
        goto done;
    }
    draw_signs(&z, first, s->seed);
    if (s->v && s->v->cols > 0 && (status = project_out(s->v, &z)) != CS_OK) {
        goto done;
    }
    if ((status = cs_csr_apply(abar, &z, &y, s->threads)) != CS_OK ||
        (status = cs_csr_apply(abar_t, &y, &z, s->threads)) != CS_OK) {
        goto done;
    }
    for (int64_t c = 0; c < count; ++c) {
        value[c] = column_square(&z, c);
    }
    status = cs_interrupt_check();
done:
    cs_dense_free(&z);
    cs_dense_free(&y);
    return status;
}

cs_status cs_moment4_estimate(const cs_csr *abar, const cs_csr *abar_t,
                              const cs_moment4_sampling *sampling, double *mean,
                              double *standard_error)
{
    int64_t samples = sampling->samples;
    if (samples < 2) {
        return cs_fail(CS_ERR_USAGE, "%lld samples: an estimate with its error needs 2 or more",
                       (long long)samples);
    }
    double *value = cs_alloc(samples, sizeof *value);
    cs_status status = value ? CS_OK : CS_ERR_MEMORY;
    for (int64_t i = 0; status == CS_OK && i < samples; i += SAMPLE_BLOCK) {
        int64_t count = samples - i < SAMPLE_BLOCK ? samples - i : SAMPLE_BLOCK;
        status = draw_samples(abar, abar_t, sampling, i, count, value + i);
    }
    if (status == CS_OK) {
        double sum = 0, square = 0, known = 0;
        for (int64_t i = 0; i < samples; ++i) {
            sum += value[i];
        }
        double average = sum / (double)samples;
        for (int64_t i = 0; i < samples; ++i) {
            square += (value[i] - average) * (value[i] - average);
        }
        for (int64_t j = 0; sampling->v && j < sampling->v->cols; ++j) {
            known += pow(sampling->sigma[j], 4);
        }
        *mean = known + average;
        *standard_error = sqrt(square / (double)(samples - 1) / (double)samples);
    }
    cs_free(value);
    return status;
}
