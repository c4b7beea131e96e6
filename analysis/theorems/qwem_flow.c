/* Gradient flow of QWEM and its closed form (qwem_flow.h has equations and sources).
 *
 * The flow reads M and W alone; the closed form reads eigenvalues, eigenvectors and W_0 alone. So a
 * comparison of the two is one of different computations. Limit: dense matrices, O(n^2 d) a step. */
#include "analysis/theorems/qwem_flow.h"

#include <math.h>

#include "analysis/measures/similarity.h"
#include "base/auto.h"
#include "base/threads.h"
#include "base/vector_ops.h"

cs_qwem_path cs_qwem_path_in(cs_pool *pool, const cs_qwem_problem *p)
{
    return (cs_qwem_path){
        .share = cs_pool_take(pool, (p->samples + 1) * p->width, sizeof(double)),
        .tangent = cs_pool_take(pool, p->samples + 1, sizeof(double)),
    };
}

double cs_qwem_sigmoid(double lambda, double s, double t)
{
    return lambda / (1 + (lambda / s - 1) * exp(-2 * lambda * t));
}

double cs_qwem_half_time(double lambda, double s)
{
    return log(lambda / s - 1) / (2 * lambda);
}

/* An interpolated half time is within this times the change with half of the samples, for all but
 * one in a thousand of 20,000 random starts. */
static const double CHANGES = 4;

/* The half time from every `stride`-th sample. */
static double half_of(const cs_qwem_problem *p, const double *share, int64_t k, int64_t stride)
{
    const double lambda = p->lambda[k];
    int64_t t = 0;
    while (t <= p->samples && share[t * p->width + k] < lambda / 2) {
        t += stride;
    }
    if (t == 0 || t > p->samples) {
        return t == 0 ? 0 : INFINITY;
    }
    const double before = share[(t - stride) * p->width + k];
    const double after = fmin(share[t * p->width + k], lambda * (1 - 1e-12));
    const double low = log(before / (lambda - before)), high = log(after / (lambda - after));
    return p->interval * ((double)t - (double)stride * high / (high - low));
}

double cs_qwem_half(const cs_qwem_problem *p, const double *share, int64_t k)
{
    return half_of(p, share, k, 1);
}

double cs_qwem_half_error(const cs_qwem_problem *p, const double *share, int64_t k)
{
    const double time = half_of(p, share, k, 1);
    return isfinite(time) ? fmin(p->interval, CHANGES * fabs(time - half_of(p, share, k, 2))) : 0;
}

cs_qwem_pair cs_qwem_nearest(const cs_qwem_problem *p, const double *share)
{
    cs_qwem_pair out = {.first = -1, .second = -1};
    for (int64_t k = 1; k < p->width; ++k) {
        for (int64_t j = 0; j < k; ++j) {
            if (p->lambda[j] - p->lambda[k] <= CS_QWEM_EQUAL * p->lambda[0]) continue;
            const double x = cs_qwem_half(p, share, j), y = cs_qwem_half(p, share, k);
            const double now = y - x, best = out.after - out.before; /* NaN: neither is reached */
            if (out.first < 0 || (isnan(best) && !isnan(now)) || now < best)
                out = (cs_qwem_pair){.first = j, .second = k, .before = x, .after = y};
        }
    }
    if (out.first >= 0)
        out.error =
            cs_qwem_half_error(p, share, out.first) + cs_qwem_half_error(p, share, out.second);
    return out;
}

/* y += a x, entry by entry. */
static void add(double a, const cs_dense *x, cs_dense *y)
{
    for (int64_t j = 0; j < x->cols; ++j) {
        cs_add_multiple(x->rows, a, x->data + j * x->ld, y->data + j * y->ld);
    }
}

/* --- the flow --------------------------------------------------------------------------------- */

typedef struct {
    cs_dense w, point, slope, sum, gram;
} flow;

/* slope = (M - W W^T) W at the point. */
static cs_status slope_at(const cs_qwem_problem *p, flow *f)
{
    cs_status status = cs_gemm(true, false, 1, &f->point, &f->point, 0, &f->gram);
    if (status == CS_OK) status = cs_gemm(false, false, 1, p->m, &f->point, 0, &f->slope);
    return status == CS_OK ? cs_gemm(false, false, -1, &f->point, &f->gram, 1, &f->slope) : status;
}

static cs_status runge_kutta(const cs_qwem_problem *p, double h, flow *f)
{
    static const double reach[] = {0, 0.5, 0.5, 1}, weight[] = {1.0 / 6, 1.0 / 3, 1.0 / 3, 1.0 / 6};
    cs_status status = CS_OK;
    cs_dense_copy(&f->w, &f->sum);
    for (int i = 0; i < 4 && status == CS_OK; ++i) {
        cs_dense_copy(&f->w, &f->point);
        if (i > 0) add(h * reach[i], &f->slope, &f->point);
        status = slope_at(p, f);
        if (status == CS_OK) add(h * weight[i], &f->slope, &f->sum);
    }
    cs_dense_copy(&f->sum, &f->w);
    return status;
}

cs_status cs_qwem_measure(const cs_qwem_problem *p, const cs_dense *w, int64_t sample,
                          cs_qwem_path *out)
{
    const cs_dense top = cs_dense_columns(p->vectors, 0, p->width);
    CS_AUTO_FREE double *angle = cs_alloc(p->width, sizeof *angle);
    if (!angle) return CS_ERR_MEMORY;
    for (int64_t k = 0; k < p->width; ++k) {
        double sum = 0;
        for (int64_t j = 0; j < p->width; ++j) {
            const double x = cs_inner(w->rows, top.data + k * top.ld, w->data + j * w->ld);
            sum += x * x;
        }
        out->share[sample * p->width + k] = sum;
    }
    cs_status status = cs_principal_angles(&top, w, angle);
    if (status == CS_OK) out->tangent[sample] = tan(angle[p->width - 1]);
    return status;
}

/* From products of width d. */
cs_status cs_qwem_distance(const cs_qwem_problem *p, const cs_dense *w, cs_qwem_path *out)
{
    CS_AUTO(cs_pool) pool = {0};
    cs_dense gram = cs_dense_in(&pool, p->width, p->width);
    cs_status status = pool.status;
    if (status == CS_OK) status = cs_gemm(true, false, 1, w, w, 0, &gram);
    double square = status == CS_OK ? cs_dense_squares(&gram) : 0;
    for (int64_t k = 0; k < p->width; ++k) {
        const double s = out->share[p->samples * p->width + k];
        square += p->lambda[k] * (p->lambda[k] - 2 * s);
    }
    out->distance = sqrt(fmax(0, square));
    return status;
}

cs_status cs_qwem_flow(const cs_qwem_problem *p, const cs_dense *start, int64_t steps,
                       cs_qwem_path *out)
{
    const int64_t n = p->m->rows, d = p->width;
    CS_AUTO(cs_pool) pool = {0};
    flow f = {cs_dense_copy_in(&pool, start), cs_dense_in(&pool, n, d), cs_dense_in(&pool, n, d),
              cs_dense_in(&pool, n, d), cs_dense_in(&pool, d, d)};
    cs_status status = pool.status;
    if (status == CS_OK) status = cs_qwem_measure(p, &f.w, 0, out);
    for (int64_t t = 1; t <= p->samples && status == CS_OK; ++t) {
        for (int64_t i = 0; i < steps && status == CS_OK; ++i) {
            status = runge_kutta(p, p->interval / (double)steps, &f);
        }
        if (status == CS_OK && cs_interrupted()) status = cs_fail(CS_ERR_INTERRUPT, "interrupted");
        if (status == CS_OK) status = cs_qwem_measure(p, &f.w, t, out);
    }
    return status == CS_OK ? cs_qwem_distance(p, &f.w, out) : status;
}

/* --- the closed form -------------------------------------------------------------------------- */

/* X = Y Y^T is kept as C = V^T Y, r x d, and the Gram matrix of what Y has outside of V. */
typedef struct {
    cs_dense c, outside, next, root, half;
    double *value;
} solution;

/* root = Q (I + beta)^-1/2 for the eigenvalues beta and eigenvectors Q of Y^T K Y over one
 * interval. */
static cs_status root_of(const cs_qwem_problem *p, solution *s)
{
    const int64_t d = p->width;
    for (int64_t i = 0; i < d; ++i) {
        for (int64_t j = 0; j < d; ++j) {
            double sum = 2 * p->interval * s->outside.data[i + j * s->outside.ld];
            for (int64_t k = 0; k < s->c.rows; ++k) {
                const double weight = expm1(2 * p->lambda[k] * p->interval) / p->lambda[k];
                sum += weight * s->c.data[k + i * s->c.ld] * s->c.data[k + j * s->c.ld];
            }
            s->root.data[i + j * s->root.ld] = sum;
        }
    }
    cs_status status = cs_dense_eigh(&s->root, s->value, false);
    for (int64_t j = 0; j < d && status == CS_OK; ++j) {
        cs_divide(d, sqrt(1 + s->value[j]), s->root.data + j * s->root.ld);
    }
    return status;
}

static cs_status next_interval(const cs_qwem_problem *p, solution *s)
{
    cs_status status = root_of(p, s);
    if (status == CS_OK) status = cs_gemm(false, false, 1, &s->c, &s->root, 0, &s->next);
    if (status == CS_OK) status = cs_gemm(false, false, 1, &s->outside, &s->root, 0, &s->half);
    if (status == CS_OK) status = cs_gemm(true, false, 1, &s->root, &s->half, 0, &s->outside);
    for (int64_t j = 0; j < p->width && status == CS_OK; ++j) {
        for (int64_t k = 0; k < s->c.rows; ++k) {
            s->c.data[k + j * s->c.ld] =
                exp(p->lambda[k] * p->interval) * s->next.data[k + j * s->next.ld];
        }
    }
    return status;
}

cs_status cs_qwem_solution(const cs_qwem_problem *p, const cs_dense *start, cs_qwem_path *out)
{
    const int64_t d = p->width, r = p->vectors->cols;
    CS_AUTO(cs_pool) pool = {0};
    cs_dense rest = cs_dense_copy_in(&pool, start);
    solution s = {.c = cs_dense_in(&pool, r, d),
                  .outside = cs_dense_in(&pool, d, d),
                  .next = cs_dense_in(&pool, r, d),
                  .root = cs_dense_in(&pool, d, d),
                  .half = cs_dense_in(&pool, d, d),
                  .value = cs_pool_take(&pool, d, sizeof *s.value)};
    cs_status status = pool.status;
    if (status == CS_OK) status = cs_gemm(true, false, 1, p->vectors, start, 0, &s.c);
    if (status == CS_OK) status = cs_gemm(false, false, -1, p->vectors, &s.c, 1, &rest);
    if (status == CS_OK) status = cs_gemm(true, false, 1, &rest, &rest, 0, &s.outside);
    for (int64_t t = 0; t <= p->samples && status == CS_OK; ++t) {
        if (t > 0) status = next_interval(p, &s);
        for (int64_t k = 0; k < d; ++k) {
            double sum = 0;
            for (int64_t j = 0; j < d; ++j) {
                sum += s.c.data[k + j * s.c.ld] * s.c.data[k + j * s.c.ld];
            }
            out->share[t * d + k] = sum;
        }
    }
    return status;
}
