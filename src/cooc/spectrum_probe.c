/* The random-start probe: is a singular value above sigma_k missing from the triplets known?
 *
 * Method: Lanczos with full reorthogonalisation (twice) on the doubly deflated Gram operator
 *   (I - V V^T) A^T A (I - V V^T)
 * from a random start of uniform direction. Whatever the triplets claim, a missing right vector is
 * left in that operator.
 *
 * Bound (Kuczynski & Wozniakowski, SIAM J. Matrix Anal. Appl. 13, 1992, Theorem 4.2): the largest
 * Ritz value theta after q steps in n dimensions fails theta > (1 - eps) lambda_1 with probability
 * at most 1.648 sqrt(n) exp(-sqrt(eps) (2 q - 1)), for every positive semidefinite matrix. A missed
 * sigma > 1.01 x has lambda_1 > 1.0201 x^2 and escapes only if theta <= x^2, so eps = 1 - 1/1.0201;
 * x is the bound of the certificate. q is the least that brings this below 1e-6, at most n (then,
 * and when the recurrence breaks down, the Krylov space is invariant and the probability 0).
 *
 * Limits: memory n q doubles; cost 2 q products of one column and 2 n q (q + p) for the
 * projections.
 */
#include <math.h>

#include <cblas.h>

#include "base/mem.h"
#include "base/rng.h"
#include "base/threads.h"
#include "cooc/spectrum_stages.h"

static const double ALLOWED_FAILURE = 1e-6;
static const double BREAKDOWN = 1e-13; /* of the largest Ritz value seen: the space is invariant */

static double failure_bound(int64_t n, int64_t steps)
{
    double gap = 1 - 1 / 1.0201;
    return fmin(1, 1.648 * sqrt((double)n) * exp(-sqrt(gap) * (2 * (double)steps - 1)));
}

static int64_t steps_for(int64_t n)
{
    int64_t steps = 1;
    while (steps < n && failure_bound(n, steps) > ALLOWED_FAILURE) {
        ++steps;
    }
    return steps;
}

/* x -= Q Q^T x for the first `cols` columns of Q; h: scratch of cols values. */
static void project_out(const cs_dense *q, int64_t cols, double *h, double *x)
{
    if (cols > 0) {
        int n = (int)q->rows, p = (int)cols, ld = (int)q->ld;
        cblas_dgemv(CblasColMajor, CblasTrans, n, p, 1, q->data, ld, x, 1, 0, h, 1);
        cblas_dgemv(CblasColMajor, CblasNoTrans, n, p, -1, q->data, ld, h, 1, 1, x, 1);
    }
}

typedef struct {
    const cs_linop *a;
    const cs_dense *v;
    cs_dense basis; /* n x steps */
    cs_dense half;  /* rows x 1 */
    double *h;      /* projections: steps + p */
    double *alpha, *beta;
} krylov;

/* The largest eigenvalue of the leading order x order tridiagonal matrix. */
static cs_status largest_ritz(const krylov *k, int64_t order, double *value)
{
    cs_dense t = {0};
    double *all = cs_alloc(order, sizeof *all);
    cs_status status = all ? cs_dense_init(&t, order, order) : CS_ERR_MEMORY;
    if (status == CS_OK) {
        for (int64_t i = 0; i < order; ++i) {
            t.data[i + i * t.ld] = k->alpha[i];
            if (i + 1 < order) {
                t.data[i + (i + 1) * t.ld] = t.data[i + 1 + i * t.ld] = k->beta[i];
            }
        }
        status = cs_dense_eigh(&t, all, true);
    }
    if (status == CS_OK) {
        *value = all[order - 1];
    }
    cs_free(all);
    cs_dense_free(&t);
    return status;
}

/* One step: the next basis vector from column j, alpha[j] and beta[j]. next has n values. */
static cs_status step(krylov *k, int64_t j, double *next)
{
    cs_dense q = {k->basis.rows, 1, k->basis.ld, k->basis.data + j * k->basis.ld};
    cs_dense y = {k->basis.rows, 1, k->basis.rows, next};
    int n = (int)k->basis.rows;
    cs_status status = cs_interrupt_check();
    if (status == CS_OK) {
        status = k->a->apply(k->a->ctx, &q, &k->half);
    }
    if (status == CS_OK) {
        status = k->a->apply_t(k->a->ctx, &k->half, &y);
    }
    if (status != CS_OK) {
        return status;
    }
    project_out(k->v, k->v->cols, k->h, next);
    k->alpha[j] = cblas_ddot(n, q.data, 1, next, 1);
    for (int pass = 0; pass < 2; ++pass) {
        project_out(&k->basis, j + 1, k->h, next);
        project_out(k->v, k->v->cols, k->h, next);
    }
    k->beta[j] = cblas_dnrm2(n, next, 1);
    return CS_OK;
}

/* A start of uniform direction in the complement of V; its norm, 0 when there is no complement. */
static double start(const krylov *k, uint64_t seed, double *x)
{
    /* Hutchinson's vectors use the low indices of this stream. */
    cs_rng rng = cs_rng_at(seed, CS_STREAM_PROBE, (uint64_t)1 << 40);
    int n = (int)k->basis.rows;
    for (int i = 0; i < n; ++i) {
        x[i] = cs_rng_normal(&rng);
    }
    double before = cblas_dnrm2(n, x, 1);
    project_out(k->v, k->v->cols, k->h, x);
    project_out(k->v, k->v->cols, k->h, x);
    double norm = cblas_dnrm2(n, x, 1);
    return norm > 1e-10 * before ? norm : 0;
}

/* Runs at most `steps` steps; *order of them were taken, *invariant when the space ended. */
static cs_status run(krylov *k, int64_t steps, uint64_t seed, double *x, int64_t *order,
                     bool *invariant)
{
    int n = (int)k->basis.rows;
    double norm = start(k, seed, x), largest = 0;
    cs_status status = CS_OK;
    *order = 0;
    *invariant = norm == 0;
    while (status == CS_OK && !*invariant && *order < steps) {
        double *column = k->basis.data + *order * k->basis.ld;
        cblas_dcopy(n, x, 1, column, 1);
        cblas_dscal(n, 1 / norm, column, 1);
        status = step(k, *order, x);
        if (status == CS_OK) {
            norm = k->beta[*order];
            largest = fmax(largest, fmax(k->alpha[*order], norm));
            *invariant = norm <= BREAKDOWN * largest;
            ++*order;
        }
    }
    return status;
}

cs_status cs_spectrum_probe(const cs_linop *a, const cs_dense *v, uint64_t seed, double *value,
                            double *failure)
{
    int64_t n = a->cols, steps = steps_for(n), order = 0;
    bool invariant = false;
    int narrow;
    krylov k = {.a = a, .v = v};
    double *x = cs_alloc(n, sizeof *x), theta = 0;
    k.h = cs_alloc(steps + v->cols, sizeof *k.h);
    k.alpha = cs_alloc(steps, sizeof *k.alpha);
    k.beta = cs_alloc(steps, sizeof *k.beta);
    cs_status status = x && k.h && k.alpha && k.beta ? CS_OK : CS_ERR_MEMORY;
    if (status != CS_OK || (status = cs_blas_int(n, "side of the probe", &narrow)) != CS_OK ||
        (status = cs_dense_init(&k.basis, n, steps)) != CS_OK ||
        (status = cs_dense_init(&k.half, a->rows, 1)) != CS_OK ||
        (status = run(&k, steps, seed, x, &order, &invariant)) != CS_OK) {
        goto done;
    }
    if (order > 0 && (status = largest_ritz(&k, order, &theta)) != CS_OK) {
        goto done;
    }
    *value = sqrt(fmax(theta, 0));
    *failure = invariant || order == n ? 0 : failure_bound(n, order);
done:
    cs_free(x);
    cs_free(k.h);
    cs_free(k.alpha);
    cs_free(k.beta);
    cs_dense_free(&k.basis);
    cs_dense_free(&k.half);
    return status;
}
