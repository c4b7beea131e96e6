/* The optimisation problem of a linear probe. */
#pragma once

#include <stdint.h>

#include "analysis/measures/linear_probe.h"
#include "base/status.h"
#include "io/rows.h"
#include "linalg/dense.h"

enum { CS_PROBE_RUNS = 16, CS_PROBE_BLOCK = 256 };

typedef struct {
    cs_pool pool;    /* owns all except gram */
    int64_t n, p, k; /* rows, features that vary, outputs */
    bool regression; /* k = 1 */
    double *z;       /* n x p, row-major */
    double *target;  /* n: output 0..k-1, or value */
    double *weight;  /* k: w_i of the rows of that output */
    double penalty;
    int threads;
    /* Memory for evaluations, and the equations of a closed form or of the metric of a search. */
    int64_t runs;
    double *partial;  /* runs x (p k + k + 2): gradient of W, of b, loss, curvature */
    double *score;    /* for each worker: CS_PROBE_BLOCK x k */
    double *gradient; /* p k + k */
    double curvature; /* classes: mean over rows and outputs of w_i s (1 - s), s the softmax */
    cs_dense gram;    /* Z^T Z / n, p x p */
    double *right;    /* regression: Z^T v / n, p */
    double *factor;   /* p x p, a Cholesky factor of gram; NULL: classes with p > n */
} cs_probe_problem;

void cs_probe_problem_free(cs_probe_problem *q);

/* f at x = (W row-major p x k, b) and its gradient (p k + k). */
cs_status cs_probe_evaluate(cs_probe_problem *q, const double *x, double *f,
                            double *gradient) CS_MUST_CHECK;

typedef struct {
    double loss, gradient; /* at x, recomputed */
    int64_t iterations;
    bool converged;
} cs_probe_fit;

/* Minimises f from x, in place; `tolerance` on |grad f|. Stopping before it is CS_OK. */
cs_status cs_probe_minimise(cs_probe_problem *q, double tolerance, int64_t max_iterations,
                            double *x, cs_probe_fit *fit) CS_MUST_CHECK;

/* Rows of x and their targets. */
typedef struct {
    const cs_rows *x;
    int64_t count;
    const int64_t *row; /* count; NULL: 0..count-1 */
    const double *y;    /* of all rows of x */
    int64_t classes;
    bool balanced;
} cs_probe_sample;

static inline int64_t cs_probe_row(const cs_probe_sample *s, int64_t i)
{
    return s->row ? s->row[i] : i;
}

/* The problem of a sample, prepared; *p receives the standardisation, and memory for weights. Free
 * both in every case. */
cs_status cs_probe_pose(const cs_probe_sample *s, int threads, cs_linear_probe *p,
                        cs_probe_problem *q) CS_MUST_CHECK;

/* W = 0, b = logarithms of the weighted class shares, minus their mean: the minimum at an infinite
 * penalty. In memory of the problem. */
cs_status cs_probe_start(cs_probe_problem *q, double **out) CS_MUST_CHECK;

/* The solution x as weights of all features. */
void cs_probe_spread(const cs_probe_problem *q, const double *x, cs_linear_probe *p);
