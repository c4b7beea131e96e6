/* f and its gradient by runs of rows, L-BFGS, and the closed form of a ridge.
 *
 * libLBFGS stops at |g| < epsilon max(1, |x|), which says little where weights are large (separable
 * rows): its test is off, ours runs in its progress callback, on |g| alone. Its line search gives
 * up where f no longer changes in double; it is started again from there with its memory empty, a
 * few times, since a path of steepest descent may still shorten the gradient.
 */
#include "analysis/linear_probe_private.h"

#include <assert.h>
#include <cblas.h>
#include <lapacke.h>
#include <lbfgs.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/threads.h"
#include "io/rows.h"
#include "linalg/dense.h"
#include "linalg/gram.h"

enum { MEMORY = 10, STARTS = 4, REFINEMENTS = 3 };

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
static double row_loss(const cs_probe_problem *q, int64_t i, double *s)
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
        s[c] *= w / sum;
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
    double *part = q->partial + run * (variables(q) + 1), *to_bias = part + p * k;
    double *s = q->score + (int64_t)worker * CS_PROBE_BLOCK * k, loss = 0.0;
    memset(part, 0, (size_t)(variables(q) + 1) * sizeof *part);
    for (int64_t from = first_of(q, run); from < last; from += CS_PROBE_BLOCK) {
        const int64_t rows = last - from < CS_PROBE_BLOCK ? last - from : CS_PROBE_BLOCK;
        const double *z = q->z + from * p;
        for (int64_t i = 0; i < rows; ++i) {
            memcpy(s + i * k, bias, (size_t)k * sizeof *s);
        }
        cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)rows, (int)k, (int)p, 1.0, z,
                    (int)p, e->x, (int)k, 1.0, s, (int)k);
        for (int64_t i = 0; i < rows; ++i) {
            loss += row_loss(q, from + i, s + i * k);
            for (int64_t c = 0; c < k; ++c) {
                to_bias[c] += s[i * k + c];
            }
        }
        cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, (int)p, (int)k, (int)rows, 1.0, z,
                    (int)p, s, (int)k, 1.0, part, (int)k);
    }
    part[variables(q)] = loss;
    return CS_OK;
}

cs_status cs_probe_evaluate(cs_probe_problem *q, const double *x, double *f, double *gradient)
{
    const int64_t all = variables(q);
    const double n = (double)q->n;
    double loss = 0.0, square = 0.0;
    evaluation e = {q, x};
    memset(gradient, 0, (size_t)all * sizeof *gradient);
    cs_status status = cs_parallel(q->runs, q->threads, evaluate_run, &e);
    if (status != CS_OK) {
        return status;
    }
    for (int64_t run = 0; run < q->runs; ++run) {
        const double *part = q->partial + run * (all + 1);
        for (int64_t j = 0; j < all; ++j) {
            gradient[j] += part[j] / n;
        }
        loss += part[all] / n;
    }
    for (int64_t j = 0; j < q->p * q->k; ++j) {
        gradient[j] += q->penalty * x[j];
        square += x[j] * x[j];
    }
    *f = loss + 0.5 * q->penalty * square;
    return CS_OK;
}

static double norm(int64_t n, const double *x)
{
    double square = 0.0;
    for (int64_t i = 0; i < n; ++i) {
        square += x[i] * x[i];
    }
    return sqrt(square);
}

/* Z^T Z / n and Z^T v / n. */
static cs_status make_normal_equations(cs_probe_problem *q)
{
    const cs_gram_options options = {.wide = true, .threads = q->threads};
    cs_rows rows = cs_rows_of_f64(q->n, q->p, q->z, "standardised features");
    cs_gram g = {0};
    cs_dense total = {0};
    int64_t n = 0;
    cs_status status = cs_gram_init(q->p, 1, &options, &g);
    if (status == CS_OK && (status = cs_gram_add(&g, &rows, NULL, &options)) == CS_OK) {
        status = cs_gram_total(&g, 0, 1, -1, false, &total, &n);
    }
    for (int64_t j = 0; j < q->p * q->p && status == CS_OK; ++j) {
        total.data[j] /= (double)n;
    }
    q->gram = total.data; /* all q->p x q->p, without gaps */
    for (int64_t i = 0; i < q->n && status == CS_OK; ++i) {
        for (int64_t j = 0; j < q->p; ++j) {
            q->right[j] += q->z[i * q->p + j] * q->target[i] / (double)q->n;
        }
    }
    cs_gram_free(&g);
    return status;
}

cs_status cs_probe_prepare(cs_probe_problem *q)
{
    int narrow;
    const int workers = q->threads > 0 ? q->threads : cs_threads();
    cs_status status = cs_blas_int(variables(q) + 16, "variables of the probe", &narrow);
    if (status != CS_OK) {
        return status;
    }
    q->threads = workers;
    q->runs = q->n < CS_PROBE_RUNS ? q->n : CS_PROBE_RUNS;
    q->partial = cs_alloc(q->runs * (variables(q) + 1), sizeof *q->partial);
    q->score = cs_alloc((int64_t)workers * CS_PROBE_BLOCK * q->k, sizeof *q->score);
    if (!q->partial || !q->score) {
        return CS_ERR_MEMORY;
    }
    if (q->regression) {
        q->right = cs_calloc(q->p, sizeof *q->right);
        status = q->right ? make_normal_equations(q) : CS_ERR_MEMORY;
    }
    return status;
}

void cs_probe_problem_free(cs_probe_problem *q)
{
    cs_free(q->z);
    cs_free(q->target);
    cs_free(q->weight);
    cs_free(q->partial);
    cs_free(q->score);
    cs_free(q->gram);
    cs_free(q->right);
    memset(q, 0, sizeof *q);
}

/* --- L-BFGS ----------------------------------------------------------------------------------- */

typedef struct {
    cs_probe_problem *q;
    double tolerance;
    int64_t iterations, max_iterations;
    cs_status status;
} search;

static lbfgsfloatval_t on_evaluate(void *ctx, const lbfgsfloatval_t *x, lbfgsfloatval_t *g, int n,
                                   lbfgsfloatval_t step)
{
    search *s = ctx;
    double f = 0.0;
    (void)n;
    (void)step;
    if (s->status == CS_OK) {
        s->status = cs_probe_evaluate(s->q, x, &f, g);
    }
    return f;
}

/* Other than 0 stops. */
static int on_progress(void *ctx, const lbfgsfloatval_t *x, const lbfgsfloatval_t *g,
                       lbfgsfloatval_t f, lbfgsfloatval_t x_norm, lbfgsfloatval_t g_norm,
                       lbfgsfloatval_t step, int n, int k, int evaluations)
{
    search *s = ctx;
    (void)x, (void)g, (void)f, (void)x_norm, (void)step, (void)n, (void)k, (void)evaluations;
    s->iterations += 1;
    return s->status != CS_OK || g_norm <= s->tolerance || s->iterations >= s->max_iterations;
}

/* x is of lbfgs_malloc: the library wants room and alignment of its own. */
static cs_status search_from(search *s, lbfgsfloatval_t *x, double *g, cs_probe_fit *fit)
{
    const int n = (int)variables(s->q);
    lbfgs_parameter_t parameters;
    lbfgs_parameter_init(&parameters);
    parameters.m = MEMORY;
    parameters.epsilon = 0.0;
    for (int start = 0;; ++start) {
        cs_status status = cs_probe_evaluate(s->q, x, &fit->loss, g);
        fit->gradient = norm(n, g);
        fit->converged = status == CS_OK && fit->gradient <= s->tolerance;
        if (status != CS_OK || fit->converged || s->iterations >= s->max_iterations ||
            start == STARTS) {
            return status;
        }
        int code = lbfgs(n, x, NULL, on_evaluate, on_progress, s, &parameters);
        if (s->status != CS_OK) {
            return s->status;
        }
        if (code == LBFGSERR_OUTOFMEMORY) {
            return cs_fail(CS_ERR_MEMORY, "L-BFGS of %d variables: out of memory", n);
        }
    }
}

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

static cs_status minimise_classes(cs_probe_problem *q, double tolerance, int64_t max_iterations,
                                  double *x, cs_probe_fit *fit)
{
    const int64_t all = variables(q);
    search s = {.q = q, .tolerance = tolerance, .max_iterations = max_iterations};
    double *g = cs_alloc(all, sizeof *g);
    lbfgsfloatval_t *at = g ? lbfgs_malloc((int)all) : NULL;
    cs_status status = at ? CS_OK : CS_ERR_MEMORY;
    if (g && !at) {
        status = cs_fail(CS_ERR_MEMORY, "out of memory for %lld variables", (long long)all);
    }
    if (status == CS_OK) {
        memcpy(at, x, (size_t)all * sizeof *at);
        status = search_from(&s, at, g, fit);
        fit->iterations = s.iterations;
    }
    if (status == CS_OK) {
        memcpy(x, at, (size_t)all * sizeof *at);
        centre_bias(q, x + q->p * q->k);
    }
    if (at) {
        lbfgs_free(at);
    }
    cs_free(g);
    return status;
}

/* --- closed form ------------------------------------------------------------------------------ */

/* (Z^T Z / n + penalty) w = Z^T v / n; then x less the same inverse of the gradient, while that is
 * too long. */
static cs_status minimise_values(cs_probe_problem *q, double tolerance, double *x,
                                 cs_probe_fit *fit)
{
    const int p = (int)q->p;
    double *a = cs_alloc(q->p * q->p, sizeof *a), *g = cs_alloc(q->p + 1, sizeof *g);
    cs_status status = a && g ? CS_OK : CS_ERR_MEMORY;
    if (status != CS_OK) {
        goto done;
    }
    memcpy(a, q->gram, (size_t)(q->p * q->p) * sizeof *a);
    for (int64_t j = 0; j < q->p; ++j) {
        a[j * q->p + j] += q->penalty;
    }
    if (LAPACKE_dpotrf(LAPACK_COL_MAJOR, 'L', p, a, p) != 0) {
        status = cs_fail(CS_ERR_CONVERGE,
                         "penalty %g is below the rounding of Z^T Z: the ridge has no Cholesky "
                         "factor",
                         q->penalty);
        goto done;
    }
    memcpy(x, q->right, (size_t)q->p * sizeof *x);
    x[p] = 0.0; /* v and the columns of Z have mean 0 */
    (void)LAPACKE_dpotrs(LAPACK_COL_MAJOR, 'L', p, 1, a, p, x, p);
    for (int step = 0; step <= REFINEMENTS; ++step) {
        if ((status = cs_probe_evaluate(q, x, &fit->loss, g)) != CS_OK) {
            goto done;
        }
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
done:
    cs_free(a);
    cs_free(g);
    return status;
}

cs_status cs_probe_minimise(cs_probe_problem *q, double tolerance, int64_t max_iterations,
                            double *x, cs_probe_fit *fit)
{
    *fit = (cs_probe_fit){0};
    int before = openblas_get_num_threads();
    openblas_set_num_threads(1); /* runs of rows are the parallel items */
    cs_status status = q->regression ? minimise_values(q, tolerance, x, fit)
                                     : minimise_classes(q, tolerance, max_iterations, x, fit);
    openblas_set_num_threads(before);
    return status;
}
