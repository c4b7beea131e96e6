/* Sums over a spectrum: the second moment from the nonzeros, the fourth by samples.
 *
 * Method of the estimate (moments.h). The samples are quadratic forms in signs; their variance is 2
 * (||R||_F^2 - sum R_ii^2), R the remainder. Householder QR keeps the known vectors, which stand
 * first, and makes the sketch orthogonal to them.
 *
 * Limits: for the exact fourth moment see moments_exact.c; ask cs_moment4_cost_of first.
 */
#include "cooc/moments.h"

#include <cblas.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"
#include "base/student.h"
#include "base/threads.h"
#include "cooc/compensated.h"

enum { SAMPLE_BLOCK = 8 };
static const double LEVEL = 0.95;

double cs_moment2(const cs_csr *abar)
{
    double sum = 0, lost = 0;
    int64_t nnz = cs_csr_nnz(abar);
    for (int64_t e = 0; e < nnz; ++e) {
        cs_add_compensated(&sum, &lost, abar->val[e] * abar->val[e]);
    }
    return sum + lost;
}

/* What the estimate works on: Q (cols x known + sketched) and the operator. */
typedef struct {
    const cs_csr *a, *at;
    const cs_moment4_sampling *s;
    cs_dense own;      /* room of Q where there is a sketch */
    const cs_dense *q; /* NULL: nothing is taken out */
    int64_t known, sketch;
} estimate;

/* Columns of z become the sign vectors `first`, `first` + 1, ... of a stream. */
static void draw_signs(cs_stream stream, uint64_t seed, int64_t first, cs_dense *z)
{
    for (int64_t c = 0; c < z->cols; ++c) {
        cs_rng rng = cs_rng_at(seed, stream, (uint64_t)(first + c));
        cs_rng_signs(&rng, z->rows, z->data + c * z->ld);
    }
}

/* z := (I - Q Q^T) z. */
static cs_status project_out(const cs_dense *q, cs_dense *z)
{
    cs_dense inner = {0};
    cs_status status = cs_dense_init(&inner, q->cols, z->cols);
    if (status == CS_OK) {
        status = cs_gemm(true, false, 1, q, z, 0, &inner);
    }
    if (status == CS_OK) {
        status = cs_gemm(false, false, -1, q, &inner, 1, z);
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

/* z := A^T A z, at most SAMPLE_BLOCK columns; y has room for as many of A's rows. */
static cs_status apply_gram(const estimate *e, cs_dense *z, const cs_dense *y)
{
    cs_dense part = {.rows = y->rows, .cols = z->cols, .ld = y->ld, .data = y->data};
    cs_status status = cs_csr_apply(e->a, z, &part, e->s->threads);
    if (status == CS_OK) {
        status = cs_csr_apply(e->at, &part, z, e->s->threads);
    }
    return status == CS_OK ? cs_interrupt_check() : status;
}

static cs_dense columns_of(const cs_dense *a, int64_t first, int64_t count)
{
    return (cs_dense){.rows = a->rows, .cols = count, .ld = a->ld, .data = a->data + first * a->ld};
}

static int64_t block_at(int64_t first, int64_t all)
{
    return all - first < SAMPLE_BLOCK ? all - first : SAMPLE_BLOCK;
}

/* Q = [V, a basis of M S beside it]. */
static cs_status sketch(estimate *e, const cs_dense *y)
{
    const cs_moment4_sampling *s = e->s;
    cs_status status = cs_dense_init(&e->own, e->a->cols, e->known + e->sketch);
    if (status != CS_OK) {
        return status;
    }
    for (int64_t j = 0; j < e->known; ++j) {
        memcpy(e->own.data + j * e->own.ld, s->v->data + j * s->v->ld,
               (size_t)s->v->rows * sizeof *s->v->data);
    }
    for (int64_t i = 0; i < e->sketch && status == CS_OK; i += SAMPLE_BLOCK) {
        cs_dense z = columns_of(&e->own, e->known + i, block_at(i, e->sketch));
        draw_signs(CS_STREAM_SKETCH, s->seed, i, &z);
        if (e->known > 0) {
            status = project_out(s->v, &z);
        }
        status = status ? status : apply_gram(e, &z, y);
        status = status ? status : apply_gram(e, &z, y);
    }
    e->q = &e->own;
    return status ? status : cs_dense_orthonormalise(&e->own);
}

/* tr Q^T M Q: the known values, and ||A^T A q||^2 for the sketched vectors. */
static cs_status low_rank(const estimate *e, cs_dense *z, const cs_dense *y, double *out)
{
    double sum = 0;
    cs_status status = CS_OK;
    for (int64_t i = 0; i < e->sketch && status == CS_OK; i += SAMPLE_BLOCK) {
        cs_dense q = columns_of(&e->own, e->known + i, block_at(i, e->sketch));
        cs_dense part = columns_of(z, 0, q.cols);
        memcpy(part.data, q.data, (size_t)(q.ld * q.cols) * sizeof *q.data);
        status = apply_gram(e, &part, y);
        for (int64_t c = 0; c < part.cols && status == CS_OK; ++c) {
            sum += column_square(&part, c);
        }
    }
    for (int64_t j = e->known - 1; j >= 0; --j) {
        sum += pow(e->s->sigma[j], 4);
    }
    *out = sum;
    return status;
}

/* value[i] = ||A^T A (I - Q Q^T) z_i||^2. */
static cs_status draw_samples(const estimate *e, cs_dense *z, const cs_dense *y, double *value)
{
    const cs_moment4_sampling *s = e->s;
    cs_status status = CS_OK;
    for (int64_t i = 0; i < s->samples && status == CS_OK; i += SAMPLE_BLOCK) {
        cs_dense part = columns_of(z, 0, block_at(i, s->samples));
        draw_signs(CS_STREAM_PROBE, s->seed, i, &part);
        if (e->q) {
            status = project_out(e->q, &part);
        }
        status = status ? status : apply_gram(e, &part, y);
        for (int64_t c = 0; c < part.cols && status == CS_OK; ++c) {
            value[i + c] = column_square(&part, c);
        }
        cs_progress_report(s->progress, "fourth moment, samples", i + part.cols, s->samples);
    }
    return status;
}

cs_sum4 cs_sum4_of_samples(double part, int64_t n, const double *value, double level)
{
    double sum = 0, square = 0, count = (double)n;
    for (int64_t i = 0; i < n; ++i) {
        sum += value[i];
    }
    for (int64_t i = 0; i < n; ++i) {
        square += (value[i] - sum / count) * (value[i] - sum / count);
    }
    cs_sum4 s = {.level = level > 0 ? level : LEVEL, .samples = n};
    s.error = sqrt(square / (count - 1) / count);
    double width = cs_student_width(s.level, n - 1) * s.error;
    s.value = part + sum / count;
    s.low = part + fmax(0, sum / count - width);
    s.high = part + sum / count + width;
    return s;
}

static cs_sum4 summary(const estimate *e, double part, const double *value)
{
    const cs_moment4_sampling *s = e->s;
    double n = (double)s->samples, q = (double)(e->known + e->sketch), cols = (double)e->a->cols;
    cs_sum4 sum = cs_sum4_of_samples(part, s->samples, value, s->level);
    sum.sketch = e->sketch;
    sum.known = e->known;
    sum.seed = s->seed;
    sum.spent = (2 * n + 6 * (double)e->sketch) * (double)cs_csr_nnz(e->a) +
                2 * cols * q * (n + (e->sketch > 0 ? q : 0));
    return sum;
}

cs_status cs_moment4_estimate(const cs_csr *abar, const cs_csr *abar_t,
                              const cs_moment4_sampling *s, cs_sum4 *out)
{
    estimate e = {.a = abar, .at = abar_t, .s = s, .known = s->v ? s->v->cols : 0};
    cs_dense z = {0}, y = {0};
    double *value = NULL, part = 0;
    if (s->samples < 2) {
        return cs_fail(CS_ERR_USAGE, "%lld samples: an estimate with its error needs 2 or more",
                       (long long)s->samples);
    }
    if (!(s->level >= 0 && s->level < 1)) {
        return cs_fail(CS_ERR_USAGE, "level %g not in (0, 1)", s->level);
    }
    e.q = e.known > 0 ? s->v : NULL;
    int64_t room = s->sketch < abar->cols ? s->sketch : abar->cols;
    e.sketch = room > e.known ? room - e.known : 0;
    int blas = openblas_get_num_threads();
    openblas_set_num_threads(1); /* its bits depend on its threads */
    value = cs_alloc(s->samples, sizeof *value);
    cs_status status = value ? cs_dense_init(&z, abar->cols, SAMPLE_BLOCK) : CS_ERR_MEMORY;
    status = status ? status : cs_dense_init(&y, abar->rows, SAMPLE_BLOCK);
    if (status == CS_OK && e.sketch > 0) {
        status = sketch(&e, &y);
    }
    status = status ? status : low_rank(&e, &z, &y, &part);
    status = status ? status : draw_samples(&e, &z, &y, value);
    if (status == CS_OK) {
        *out = summary(&e, part, value);
    }
    openblas_set_num_threads(blas);
    cs_dense_free(&e.own);
    cs_dense_free(&z);
    cs_dense_free(&y);
    cs_free(value);
    return status;
}

cs_sum4 cs_sum4_exact(double value, double spent)
{
    return (cs_sum4){.value = value, .low = value, .high = value, .level = 1, .spent = spent};
}
