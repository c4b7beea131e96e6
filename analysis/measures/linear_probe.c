/* From rows and labels to a standardised problem, f and its gradient by runs of rows, L-BFGS, the
 * closed form of a ridge, and from a solution to a probe.
 *
 * L-BFGS begins each search as if f curved alike in all directions, and learns otherwise a
 * direction an iteration: features that go together cost hundreds. So where there are no more
 * features than rows it searches R W in place of W, R^T R = h Z^T Z / n + penalty, which is the
 * second derivative of f if the shares s of all rows and classes had one curvature, h, the mean of
 * w s (1 - s) where the search begins (Boehning, Annals of the Institute of Statistical Mathematics
 * 44, 1992, has the bound h = 1/2). The search stops by the gradient with respect to W and b.
 *
 * Means and deviations are sums over rows in their order, the deviations about the mean and in
 * units of the column's largest entry, so that no square overflows.
 *
 * The tolerance of cs_lbfgs grows with |x|, which says little where weights are large (separable
 * rows): it is 0, and the search ends by |g| alone. Its line search gives up where f no longer changes
 * in double; it is started again from there with its memory empty, a few times, since a path of
 * steepest descent may still shorten the gradient. */
#include "analysis/measures/linear_probe_private.h"
#include "base/auto.h"

#include <cblas.h>
#include <lapacke.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/threads.h"
#include "base/vector_ops.h"
#include "io/rows.h"
#include "linalg/dense.h"
#include "linalg/gram.h"
#include "linalg/lbfgs.h"

enum { SLICES = 4, MEMORY = 10, STARTS = 4, REFINEMENTS = 3 };
static const double FLAT = 0x1p-40; /* of the largest entry: a deviation below it is rounding */

/* --- the objective ---------------------------------------------------------------------------- */

static int64_t variables(const cs_probe_problem *q)
{
    return q->p * q->k + q->k;
}

static int64_t first_of(const cs_probe_problem *q, int64_t run)
{
    return q->n * run / q->runs;
}

/* One row's scores to (gradient of its loss by them) times its weight; returns its loss. */
static double row_loss(const cs_probe_problem *q, int64_t i, double *s, double *curvature)
{
    if (q->regression) {
        s[0] -= q->target[i];
        return 0.5 * s[0] * s[0];
    }
    const int64_t own = (int64_t)q->target[i];
    const double w = q->weight[own], mine = s[own];
    double most = s[0], sum = 0.0;
    for (int64_t c = 1; c < q->k; ++c) {
        most = fmax(most, s[c]);
    }
    for (int64_t c = 0; c < q->k; ++c) {
        s[c] = exp(s[c] - most);
        sum += s[c];
    }
    for (int64_t c = 0; c < q->k; ++c) {
        s[c] /= sum;
        *curvature += w * s[c] * (1.0 - s[c]);
        s[c] *= w;
    }
    s[own] -= w;
    return w * (most + log(sum) - mine);
}

typedef struct {
    cs_probe_problem *q;
    const double *x;
} evaluation;

static cs_status evaluate_run(void *ctx, int64_t run, int worker)
{
    const evaluation *e = ctx;
    const cs_probe_problem *q = e->q;
    const int64_t p = q->p, k = q->k, last = first_of(q, run + 1);
    const double *bias = e->x + p * k;
    double *part = q->partial + run * (variables(q) + 2), *to_bias = part + p * k;
    double *s = q->score + (int64_t)worker * CS_PROBE_BLOCK * k, loss = 0.0, curvature = 0.0;
    memset(part, 0, (size_t)(variables(q) + 2) * sizeof *part);
    for (int64_t from = first_of(q, run); from < last; from += CS_PROBE_BLOCK) {
        const int64_t rows = last - from < CS_PROBE_BLOCK ? last - from : CS_PROBE_BLOCK;
        const double *z = q->z + from * p;
        for (int64_t i = 0; i < rows; ++i) {
            memcpy(s + i * k, bias, (size_t)k * sizeof *s);
        }
        cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)rows, (int)k, (int)p, 1.0, z,
                    (int)p, e->x, (int)k, 1.0, s, (int)k);
        for (int64_t i = 0; i < rows; ++i) {
            loss += row_loss(q, from + i, s + i * k, &curvature);
            for (int64_t c = 0; c < k; ++c) {
                to_bias[c] += s[i * k + c];
            }
        }
        cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, (int)p, (int)k, (int)rows, 1.0, z,
                    (int)p, s, (int)k, 1.0, part, (int)k);
    }
    part[variables(q)] = loss;
    part[variables(q) + 1] = curvature;
    return CS_OK;
}

cs_status cs_probe_evaluate(cs_probe_problem *q, const double *x, double *f, double *gradient)
{
    const int64_t all = variables(q);
    const double n = (double)q->n;
    double loss = 0.0, curvature = 0.0, square = 0.0;
    evaluation e = {q, x};
    memset(gradient, 0, (size_t)all * sizeof *gradient);
    cs_status status = cs_parallel_workers(q->runs, q->threads, evaluate_run, &e);
    if (status != CS_OK) return status;
    for (int64_t run = 0; run < q->runs; ++run) {
        const double *part = q->partial + run * (all + 2);
        for (int64_t j = 0; j < all; ++j) {
            gradient[j] += part[j] / n;
        }
        loss += part[all] / n;
        curvature += part[all + 1] / (n * (double)q->k);
    }
    for (int64_t j = 0; j < q->p * q->k; ++j) {
        gradient[j] += q->penalty * x[j];
        square += x[j] * x[j];
    }
    q->curvature = curvature;
    *f = loss + 0.5 * q->penalty * square;
    return CS_OK;
}

static double norm(int64_t n, const double *x)
{
    return sqrt(cs_inner(n, x, x));
}

/* Z^T Z / n, and of a regression Z^T v / n. */
static cs_status make_normal_equations(cs_probe_problem *q)
{
    const cs_gram_options options = {.wide = true, .threads = q->threads};
    cs_rows rows = cs_rows_of_f64(q->n, q->p, q->z, "standardised features");
    CS_AUTO(cs_gram) g = {0};
    int64_t n = 0;
    cs_status status = cs_gram_init(q->p, 1, &options, &g);
    if (status == CS_OK && (status = cs_gram_add(&g, &rows, NULL, &options)) == CS_OK)
        status = cs_gram_total(&g, NULL, false, &q->gram, &n);
    for (int64_t j = 0; j < q->p * q->p && status == CS_OK; ++j) { /* without gaps */
        q->gram.data[j] /= (double)n;
    }
    for (int64_t i = 0; i < q->n && status == CS_OK && q->regression; ++i) {
        for (int64_t j = 0; j < q->p; ++j) {
            q->right[j] += q->z[i * q->p + j] * q->target[i] / (double)q->n;
        }
    }
    return status;
}

/* Allocates the buffers of evaluations and of the closed form; n, p, k, z, target and weight are
 * set. */
static cs_status prepare(cs_probe_problem *q)
{
    int narrow;
    const int workers = q->threads > 0 ? q->threads : cs_threads();
    cs_status status = cs_blas_int(variables(q) + 16, "variables of the probe", &narrow);
    if (status != CS_OK) return status;
    q->threads = workers;
    q->runs = q->n < CS_PROBE_RUNS ? q->n : CS_PROBE_RUNS;
    q->partial = cs_pool_take(&q->pool, q->runs * (variables(q) + 2), sizeof *q->partial);
    q->score = cs_pool_take(&q->pool, (int64_t)workers * CS_PROBE_BLOCK * q->k, sizeof *q->score);
    q->gradient = cs_pool_take(&q->pool, variables(q), sizeof *q->gradient);
    if (!q->regression && q->p > q->n) return q->pool.status; /* R would cost more than it saves */
    if (q->regression) q->right = cs_pool_take(&q->pool, q->p, sizeof *q->right);
    q->factor = cs_pool_take(&q->pool, q->p * q->p, sizeof *q->factor);
    return q->pool.status == CS_OK ? make_normal_equations(q) : q->pool.status;
}

void cs_probe_problem_free(cs_probe_problem *q)
{
    cs_dense_free(&q->gram);
    cs_pool_free(&q->pool);
    memset(q, 0, sizeof *q);
}

/* --- rows to a problem, and back --------------------------------------------------------------- */

/* The bias has no penalty and moves freely along (1, ..., 1): the one of sum 0 is taken. */
static void centre_bias(const cs_probe_problem *q, double *bias)
{
    double mean = 0.0;
    for (int64_t c = 0; c < q->k; ++c) {
        mean += bias[c] / (double)q->k;
    }
    for (int64_t c = 0; c < q->k; ++c) {
        bias[c] -= mean;
    }
}

cs_status cs_linear_probe_check(const cs_rows *x)
{
    CS_AUTO_FREE double *row = cs_alloc(x->cols, sizeof *row);
    cs_status status = row ? CS_OK : CS_ERR_MEMORY;
    for (int64_t i = 0; i < x->rows && status == CS_OK; ++i) {
        status = cs_rows_read_finite(x, i, 1, row);
    }
    return status;
}

/* The classes that the sample has, their weights, the targets as outputs. */
static cs_status take_classes(const cs_probe_sample *s, cs_linear_probe *p, cs_probe_problem *q)
{
    int64_t *number = cs_pool_take(&q->pool, s->classes, sizeof *number);
    if (!number) return CS_ERR_MEMORY;
    for (int64_t i = 0; i < s->count; ++i) {
        number[(int64_t)s->y[cs_probe_row(s, i)]] += 1;
    }
    for (int64_t c = 0; c < s->classes; ++c) {
        p->outputs += number[c] > 0;
    }
    if (p->outputs < 2) {
        return cs_fail(CS_ERR_INPUT,
                       "all %lld training rows have class %lld, but a probe needs two classes",
                       (long long)s->count, (long long)s->y[cs_probe_row(s, 0)]);
    }
    p->class_of = cs_pool_take(&p->pool, p->outputs, sizeof *p->class_of);
    q->weight = cs_pool_take(&q->pool, p->outputs, sizeof *q->weight);
    if (!p->class_of || !q->weight) return CS_ERR_MEMORY;
    for (int64_t c = 0, k = 0; c < s->classes; ++c) {
        if (number[c] > 0) {
            p->class_of[k] = c;
            q->weight[k] = s->balanced ? (double)s->count / (double)(p->outputs * number[c]) : 1.0;
            number[c] = k++; /* from here on: its output */
        }
    }
    for (int64_t i = 0; i < s->count; ++i) {
        q->target[i] = (double)number[(int64_t)s->y[cs_probe_row(s, i)]];
    }
    return CS_OK;
}

static cs_status take_values(const cs_probe_sample *s, cs_linear_probe *p, cs_probe_problem *q)
{
    double mean = 0.0, most = 0.0, square = 0.0;
    bool constant = true;
    for (int64_t i = 0; i < s->count; ++i) {
        mean += s->y[cs_probe_row(s, i)];
        constant = constant && s->y[cs_probe_row(s, i)] == s->y[cs_probe_row(s, 0)];
    }
    if (constant) {
        return cs_fail(CS_ERR_INPUT,
                       "all %lld training values are %g, so there is nothing to predict",
                       (long long)s->count, s->y[cs_probe_row(s, 0)]);
    }
    mean /= (double)s->count;
    for (int64_t i = 0; i < s->count; ++i) {
        most = fmax(most, fabs(s->y[cs_probe_row(s, i)] - mean));
    }
    for (int64_t i = 0; i < s->count; ++i) { /* by `most`, so that squares do not overflow */
        double d = (s->y[cs_probe_row(s, i)] - mean) / most;
        square += d * d / (double)s->count;
    }
    p->outputs = 1;
    p->value_mean = mean;
    p->value_scale = most * sqrt(square);
    q->weight = cs_pool_take(&q->pool, 1, sizeof *q->weight);
    for (int64_t i = 0; i < s->count; ++i) {
        q->target[i] = (s->y[cs_probe_row(s, i)] - mean) / p->value_scale;
    }
    return q->pool.status;
}

/* Mean and 1 / sd of each column: two passes over rows in their order. x, most (zeros): of d. */
static cs_status measure_columns(const cs_probe_sample *s, double *x, double *most,
                                 cs_linear_probe *p)
{
    const int64_t d = p->features;
    cs_status status = CS_OK;
    for (int64_t i = 0; i < s->count && status == CS_OK; ++i) {
        status = cs_rows_read_finite(s->x, cs_probe_row(s, i), 1, x);
        for (int64_t j = 0; j < d && status == CS_OK; ++j) {
            p->mean[j] += x[j];
            most[j] = fmax(most[j], fabs(x[j]));
        }
    }
    cs_divide(d, (double)s->count, p->mean);
    for (int64_t i = 0; i < s->count && status == CS_OK; ++i) {
        status = cs_rows_read_finite(s->x, cs_probe_row(s, i), 1, x);
        for (int64_t j = 0; j < d && status == CS_OK; ++j) {
            double dev = most[j] > 0.0 ? (x[j] - p->mean[j]) / most[j] : 0.0;
            p->scale[j] += dev * dev / (double)s->count;
        }
    }
    for (int64_t j = 0; j < d && status == CS_OK; ++j) {
        double sd = sqrt(p->scale[j]); /* in units of `most` */
        p->scale[j] = sd > FLAT && isfinite(1.0 / (sd * most[j])) ? 1.0 / (sd * most[j]) : 0.0;
        p->constant += p->scale[j] == 0.0;
    }
    return status;
}

static cs_status take_features(const cs_probe_sample *s, cs_linear_probe *p, cs_probe_problem *q)
{
    double *x = cs_pool_take(&q->pool, p->features, sizeof *x);
    double *most = cs_pool_take(&q->pool, p->features, sizeof *most);
    cs_status status = most ? measure_columns(s, x, most, p) : CS_ERR_MEMORY;
    q->p = p->features - p->constant;
    if (status == CS_OK && q->p == 0 && q->regression)
        status = cs_fail(CS_ERR_INPUT, "%s: none of the %lld features varies over the %lld rows",
                         s->x->name ? s->x->name : "features", (long long)p->features,
                         (long long)s->count);
    q->p += q->p == 0; /* zeros, so that the intercept alone decides */
    if (status == CS_OK && !(q->z = cs_pool_take(&q->pool, q->n * q->p, sizeof *q->z)))
        status = CS_ERR_MEMORY;
    for (int64_t i = 0, at = 0; i < s->count && status == CS_OK; ++i) {
        status = cs_rows_read_finite(s->x, cs_probe_row(s, i), 1, x);
        for (int64_t j = 0; j < p->features && status == CS_OK; ++j) {
            if (p->scale[j] != 0.0) {
                q->z[at++] = (x[j] - p->mean[j]) * p->scale[j];
            }
        }
    }
    return status;
}

cs_status cs_probe_pose(const cs_probe_sample *s, int threads, cs_linear_probe *p,
                        cs_probe_problem *q)
{
    const int64_t d = s->x->cols;
    p->features = d;
    p->classes = s->classes;
    p->rows = s->count;
    p->value_scale = 1.0;
    q->n = s->count;
    q->regression = s->classes == 0;
    q->threads = threads;
    CS_POOL_FIELDS(&p->pool, d, p, mean, scale);
    q->target = cs_pool_take(&q->pool, s->count, sizeof *q->target);
    cs_status status = p->scale && q->target ? CS_OK : CS_ERR_MEMORY;
    if (status == CS_OK) status = q->regression ? take_values(s, p, q) : take_classes(s, p, q);
    q->k = p->outputs;
    if (status == CS_OK && (status = take_features(s, p, q)) == CS_OK) {
        p->weight = cs_pool_take(&p->pool, d * p->outputs, sizeof *p->weight);
        p->intercept = cs_pool_take(&p->pool, p->outputs, sizeof *p->intercept);
        status = p->intercept ? prepare(q) : CS_ERR_MEMORY;
    }
    return status;
}

cs_status cs_probe_start(cs_probe_problem *q, double **out)
{
    double *x = cs_pool_take(&q->pool, variables(q), sizeof *x);
    if (!x) return CS_ERR_MEMORY;
    double *bias = x + q->p * q->k;
    for (int64_t i = 0; i < q->n && !q->regression; ++i) {
        bias[(int64_t)q->target[i]] += q->weight[(int64_t)q->target[i]];
    }
    for (int64_t c = 0; c < q->k && !q->regression; ++c) {
        bias[c] = log(bias[c]);
    }
    centre_bias(q, bias);
    *out = x;
    return CS_OK;
}

void cs_probe_spread(const cs_probe_problem *q, const double *x, cs_linear_probe *p)
{
    for (int64_t j = 0, at = 0; j < p->features; ++j) {
        if (p->scale[j] != 0.0) {
            memcpy(p->weight + j * q->k, x + q->k * at++, (size_t)q->k * sizeof *x);
        }
    }
    memcpy(p->intercept, x + q->p * q->k, (size_t)q->k * sizeof *x);
}

/* --- L-BFGS ----------------------------------------------------------------------------------- */

typedef struct {
    cs_probe_problem *q;
    double tolerance;
    int64_t iterations, max_iterations;
    double *x;       /* what the variables of the search stand for */
    double root;     /* of the mean curvature h */
    double gradient; /* |grad f| at x */
} search;

/* h Z^T Z / n + penalty = R^T R, h the curvature at the last evaluation; what is added lies above
 * the rounding of its entries, and far below them. */
static cs_status make_metric(search *s)
{
    cs_probe_problem *q = s->q;
    const double h = q->curvature, least = q->penalty + h * (double)q->p * 0x1p-40;
    s->root = 1.0;
    if (!q->factor) return CS_OK;
    for (int64_t j = 0; j < q->p * q->p; ++j) {
        q->factor[j] = h * q->gram.data[j] + (j % (q->p + 1) == 0 ? least : 0.0);
    }
    if (LAPACKE_dpotrf(LAPACK_COL_MAJOR, 'L', (int)q->p, q->factor, (int)q->p) != 0) {
        return cs_fail(CS_ERR_CONVERGE, "the Cholesky factorisation of %g Z^T Z / n + %g failed", h,
                       least);
    }
    s->root = sqrt(h);
    return CS_OK;
}

typedef struct {
    const cs_probe_problem *q;
    CBLAS_TRANSPOSE form;
    double *x;
} division;

static cs_status divide_columns(void *ctx, int64_t slice, int worker)
{
    const division *d = ctx;
    const int64_t k = d->q->k, first = k * slice / SLICES, last = k * (slice + 1) / SLICES;
    (void)worker;
    if (first < last) {
        cblas_dtrsm(CblasRowMajor, CblasLeft, CblasUpper, d->form, CblasNonUnit, (int)d->q->p,
                    (int)(last - first), 1.0, d->q->factor, (int)d->q->p, d->x + first, (int)k);
    }
    return CS_OK;
}

/* x = (W, b) of u = (R W, root b): CblasNoTrans; or the gradient by u of that by x: CblasTrans. */
static cs_status divide(const search *s, CBLAS_TRANSPOSE form, double *x)
{
    const cs_probe_problem *q = s->q;
    division d = {q, form, x};
    cs_divide(q->k, s->root, x + q->p * q->k);
    return q->factor ? cs_parallel_workers(SLICES, q->threads, divide_columns, &d) : CS_OK;
}

static void multiply(const search *s, double *u)
{
    const cs_probe_problem *q = s->q;
    if (q->factor) {
        cblas_dtrmm(CblasRowMajor, CblasLeft, CblasUpper, CblasNoTrans, CblasNonUnit, (int)q->p,
                    (int)q->k, 1.0, q->factor, (int)q->p, u, (int)q->k);
    }
    cblas_dscal((int)q->k, s->root, u + q->p * q->k, 1);
}

static cs_status on_evaluate(void *ctx, int64_t n, const double *u, double *f, double *g)
{
    search *s = ctx;
    memcpy(s->x, u, (size_t)n * sizeof *u);
    cs_status status = divide(s, CblasNoTrans, s->x);
    if (status == CS_OK) status = cs_probe_evaluate(s->q, s->x, f, g);
    if (status != CS_OK) return status;
    s->gradient = norm(n, g);
    return divide(s, CblasTrans, g);
}

static bool on_iteration(void *ctx)
{
    search *s = ctx;
    s->iterations += 1;
    return s->gradient <= s->tolerance;
}

/* From s->x to the minimum; u holds the variables of the search. */
static cs_status search_from(search *s, double *u, cs_probe_fit *fit)
{
    double *g = s->q->gradient;
    const int64_t n = variables(s->q);
    for (int start = 0;; ++start) {
        cs_status status = cs_probe_evaluate(s->q, s->x, &fit->loss, g);
        fit->gradient = norm(n, g);
        fit->converged = status == CS_OK && fit->gradient <= s->tolerance;
        if (status != CS_OK || fit->converged || s->iterations >= s->max_iterations ||
            start == STARTS || (status = make_metric(s)) != CS_OK) {
            return status;
        }
        memcpy(u, s->x, (size_t)n * sizeof *u);
        multiply(s, u);
        status = cs_lbfgs_minimise(&(cs_lbfgs){.evaluate = on_evaluate,
                                               .enough = on_iteration,
                                               .ctx = s,
                                               .n = n,
                                               .memory = MEMORY,
                                               .max_iterations = s->max_iterations - s->iterations},
                                   u);
        if (status != CS_OK) return status;
        memcpy(s->x, u, (size_t)n * sizeof *u);
        if ((status = divide(s, CblasNoTrans, s->x)) != CS_OK) return status;
    }
}

static cs_status minimise_classes(cs_probe_problem *q, double tolerance, int64_t max_iterations,
                                  double *x, cs_probe_fit *fit)
{
    search s = {.q = q, .tolerance = tolerance, .max_iterations = max_iterations, .x = x};
    CS_AUTO_FREE double *u = cs_alloc(variables(q), sizeof *u);
    if (!u) return CS_ERR_MEMORY;
    cs_status status = search_from(&s, u, fit);
    fit->iterations = s.iterations;
    if (status == CS_OK) centre_bias(q, x + q->p * q->k);
    return status;
}

/* --- closed form ------------------------------------------------------------------------------ */

/* (Z^T Z / n + penalty) w = Z^T v / n; then x less the same inverse of the gradient, while that is
 * too long. */
static cs_status minimise_values(cs_probe_problem *q, double tolerance, double *x,
                                 cs_probe_fit *fit)
{
    const int p = (int)q->p;
    double *a = q->factor, *g = q->gradient;
    memcpy(a, q->gram.data, (size_t)(q->p * q->p) * sizeof *a);
    for (int64_t j = 0; j < q->p; ++j) {
        a[j * q->p + j] += q->penalty;
    }
    if (LAPACKE_dpotrf(LAPACK_COL_MAJOR, 'L', p, a, p) != 0) {
        return cs_fail(CS_ERR_CONVERGE,
                       "penalty %g is below the rounding error of Z^T Z; give a larger penalty",
                       q->penalty);
    }
    memcpy(x, q->right, (size_t)q->p * sizeof *x);
    x[p] = 0.0; /* v and the columns of Z have mean 0 */
    (void)LAPACKE_dpotrs(LAPACK_COL_MAJOR, 'L', p, 1, a, p, x, p);
    for (int step = 0; step <= REFINEMENTS; ++step) {
        cs_status status = cs_probe_evaluate(q, x, &fit->loss, g);
        if (status != CS_OK) return status;
        fit->gradient = norm(q->p + 1, g);
        fit->iterations = step;
        fit->converged = fit->gradient <= tolerance;
        if (fit->converged || step == REFINEMENTS) {
            break;
        }
        (void)LAPACKE_dpotrs(LAPACK_COL_MAJOR, 'L', p, 1, a, p, g, p);
        for (int64_t j = 0; j < q->p; ++j) {
            x[j] -= g[j];
        }
        x[p] -= g[p];
    }
    return CS_OK;
}

cs_status cs_probe_minimise(cs_probe_problem *q, double tolerance, int64_t max_iterations,
                            double *x, cs_probe_fit *fit)
{
    *fit = (cs_probe_fit){0};
    cs_threads_blas_hold(true); /* runs of rows are the parallel items */
    cs_status status = q->regression ? minimise_values(q, tolerance, x, fit)
                                     : minimise_classes(q, tolerance, max_iterations, x, fit);
    cs_threads_blas_hold(false);
    return status;
}
