/* Choice of a solver, and the check of its results.
 *
 * auto: dense when the copy is allowed and either cheap (rows cols min(rows, cols) below 4e9, a
 * second or two of LAPACK) or the better deal (k above a quarter of the smaller side, where a
 * Krylov basis of 2 k vectors stops paying); the Gram matrix when the copy is not allowed but the
 * smaller side is at most 4,000 and k is that large (see svd.c); the block solver otherwise.
 */
#include "base/ints.h"
#include "base/mem.h"
#include "base/threads.h"
#include "linalg/svd_private.h"

static const double CHEAP_DENSE_WORK = 4e9;

static cs_status check_options(const cs_linop *a, const cs_svd_options *o)
{
    int64_t p = cs_least(a->rows, a->cols);
    if (o->k < 1 || o->k > p) {
        return cs_fail(CS_ERR_USAGE,
                       "%lld singular triplets of %lld x %lld requested, which is not in 1..%lld",
                       (long long)o->k, (long long)a->rows, (long long)a->cols, (long long)p);
    }
    if (!(o->tol >= 0 && o->tol < 1)) {
        return cs_fail(CS_ERR_USAGE, "tolerance %g is not in [0, 1)", o->tol);
    }
    if (o->max_iterations < 0) {
        return cs_fail(CS_ERR_USAGE, "iteration limit %lld is negative",
                       (long long)o->max_iterations);
    }
    if (o->memory < 0) {
        return cs_fail(CS_ERR_USAGE, "memory limit of %lld bytes is negative",
                       (long long)o->memory);
    }
    if (o->start && (o->start->rows != p || o->start->cols < 1)) {
        return cs_fail(CS_ERR_USAGE,
                       "start vectors are %lld x %lld, not %lld (the smaller side) x at least 1",
                       (long long)o->start->rows, (long long)o->start->cols, (long long)p);
    }
    if (o->dense_limit < 0) {
        return cs_fail(CS_ERR_USAGE, "dense limit %lld is negative", (long long)o->dense_limit);
    }
    bool cusolver = o->solver == CS_SOLVER_CUSOLVER, block = o->solver == CS_SOLVER_BLOCK;
    if (o->gpu ? !(cusolver || block || o->solver == CS_SOLVER_AUTO) : cusolver) {
        return cs_fail(CS_ERR_USAGE, "solver %s %s", cs_solver_name(o->solver),
                       o->gpu ? "computes on the CPU only; give --device cpu" : "needs a GPU");
    }
    if (o->gpu && !a->data.a) {
        return cs_fail(CS_ERR_USAGE, "a GPU needs the matrix itself, not only its products");
    }
    return CS_OK;
}

static cs_solver choose(const cs_linop *a, const cs_svd_options *o)
{
    if (o->solver != CS_SOLVER_AUTO) {
        return o->solver;
    }
    int64_t p = cs_least(a->rows, a->cols);
    double elements = (double)a->rows * (double)a->cols;
    bool many = o->k > p / 4;
    if (o->gpu) {
        return many || elements * (double)p <= CHEAP_DENSE_WORK ? CS_SOLVER_CUSOLVER
                                                                : CS_SOLVER_BLOCK;
    }
    bool dense_allowed = elements <= (double)cs_svd_dense_limit(o);
    if (dense_allowed ? many || elements * (double)p <= CHEAP_DENSE_WORK
                      : many && p <= CS_SVD_GRAM_LIMIT) {
        return CS_SOLVER_LAPACK;
    }
    return CS_SOLVER_BLOCK;
}

/* Drops values that are zero to this solver, recomputes residuals and holds them against the tolerance. */
static cs_status finish(const cs_linop *a, const cs_svd_options *o, cs_svd *svd)
{
    while (svd->k > 0 && !(svd->sigma[svd->k - 1] > svd->floor)) {
        svd->k -= 1;
    }
    svd->u.cols = svd->v.cols = svd->k;
    if (o->unchecked) {
        return CS_OK;
    }
    svd->residual = cs_alloc(svd->k, sizeof *svd->residual);
    if (!svd->residual) return CS_ERR_MEMORY;
    cs_status status = cs_svd_residuals(a, svd->k, svd->sigma, &svd->u, &svd->v, svd->residual);
    svd->applications += 2 * svd->k;
    double tol = o->tol > 0 ? o->tol : 1e-12;
    for (int64_t j = 0; j < svd->k; ++j) {
        svd->converged = svd->converged && svd->residual[j] <= tol * svd->sigma[0];
    }
    return status;
}

cs_status cs_svd_compute(const cs_linop *a, const cs_svd_options *options, cs_svd *out)
{
    bool wide = a->rows < a->cols;
    cs_linop tall = wide ? cs_linop_transposed(a) : *a;
    cs_svd svd = {0};
    *out = svd;
    cs_status status = check_options(a, options);
    if (status == CS_OK) {
        cs_solver solver = choose(a, options);
        status = solver == CS_SOLVER_LAPACK   ? cs_svd_lapack(&tall, options, &svd)
                 : solver == CS_SOLVER_ARPACK ? cs_svd_arpack(&tall, options, &svd)
                 : solver == CS_SOLVER_BLOCK  ? cs_svd_block(&tall, options, &svd)
                                              : cs_svd_cusolver(&tall, options, &svd);
    }
    if (status == CS_OK) {
        bool held = svd.interrupted; /* what is known is still to be checked */
        if (held) {
            cs_interrupt_hold(true);
        }
        status = finish(&tall, options, &svd);
        if (held) {
            cs_interrupt_hold(false);
        }
    }
    if (wide) {
        cs_dense left = svd.v;
        svd.v = svd.u;
        svd.u = left;
    }
    return CS_DELIVER(status, out, svd, cs_svd_free);
}
