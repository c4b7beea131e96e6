/* Choice of a solver, residuals, and what is common to the solvers.
 *
 * auto: dense when the copy is allowed and either cheap (rows cols min(rows, cols) below 4e9, a
 * second or two of LAPACK) or the better deal (k above a quarter of the smaller side, where a
 * Krylov basis of 2 k vectors stops paying); the Gram matrix when the copy is not allowed but the
 * smaller side is at most 4,000 and k is that large (see svd_lapack.c); the block solver otherwise.
 * Residuals are recomputed through the operator, so that they hold whatever a solver claims.
 */
#include "linalg/svd.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include <cblas.h>

#include "base/ints.h"
#include "base/mem.h"
#include "base/names.h"
#include "base/threads.h"
#include "linalg/svd_private.h"

enum { RESIDUAL_BLOCK = 32 };
static const double CHEAP_DENSE_WORK = 4e9;

static const char *const solver_name[] = {"auto", "lapack", "arpack", "block", "cusolver"};

CS_NAMES(cs_solver, "solver", solver_name)

void cs_svd_free(cs_svd *svd)
{
    CS_FREE_FIELDS(svd, sigma, residual);
    cs_dense_free(&svd->u);
    cs_dense_free(&svd->v);
    *svd = (cs_svd){0};
}

int64_t cs_svd_dense_limit(const cs_svd_options *options)
{
    const int64_t item = sizeof(double);
    return options->dense_limit > 0 ? options->dense_limit : cs_mem_quarter(item << 27) / item;
}

cs_status cs_svd_ritz(const cs_linop *b, cs_dense *v, int64_t k, cs_svd *out)
{
    int64_t p = v->cols;
    cs_dense w = {0}, qt = {0};
    out->sigma = cs_alloc(p, sizeof *out->sigma);
    cs_status status = out->sigma ? CS_OK : CS_ERR_MEMORY;
    status = status ? status : cs_dense_orthonormalise(v);
    status = status ? status : cs_dense_init(&w, b->rows, p);
    status = status ? status : cs_linop_apply(b, false, v, &w);
    status = status ? status : cs_dense_init(&out->u, b->rows, p);
    status = status ? status : cs_dense_init(&qt, p, p);
    status = status ? status : cs_dense_svd(&w, out->sigma, &out->u, &qt);
    status = status ? status : cs_dense_init(&out->v, b->cols, p);
    status = status ? status : cs_gemm(false, true, 1, v, &qt, 0, &out->v);
    cs_dense_free(v);
    cs_dense_free(&w);
    cs_dense_free(&qt);
    if (status == CS_OK) {
        out->k = out->u.cols = out->v.cols = k;
        out->floor = sqrt((double)b->rows * DBL_EPSILON) * out->sigma[0];
        out->applications += p;
    }
    return status;
}

static cs_dense columns_of(const cs_dense *a, int64_t first, int64_t count)
{
    return (cs_dense){.rows = a->rows, .cols = count, .ld = a->ld, .data = a->data + first * a->ld};
}

/* residual_j = max(residual_j, ||op(A) x_j - sigma_j y_j||). */
static cs_status one_sided(const cs_linop *a, int64_t k, const double *sigma, const cs_dense *x,
                           const cs_dense *y, double *residual)
{
    int64_t block = cs_least(k, RESIDUAL_BLOCK);
    cs_dense product;
    int rows;
    cs_status status = cs_blas_int(a->rows, "number of rows", &rows);
    if (status == CS_OK) status = cs_dense_init(&product, a->rows, block);
    if (status != CS_OK) return status;
    for (int64_t first = 0; first < k && status == CS_OK; first += block) {
        product.cols = cs_least(k - first, block);
        cs_dense xs = columns_of(x, first, product.cols);
        status = cs_linop_apply(a, false, &xs, &product);
        for (int64_t j = 0; j < product.cols && status == CS_OK; ++j) {
            double *column = product.data + j * product.ld;
            cblas_daxpy(rows, -sigma[first + j], y->data + (first + j) * y->ld, 1, column, 1);
            double norm = cblas_dnrm2(rows, column, 1);
            if (!(norm <= residual[first + j])) { /* also when it is NaN */
                residual[first + j] = norm;
            }
        }
    }
    cs_dense_free(&product);
    return status;
}

cs_status cs_svd_residuals(const cs_linop *a, int64_t k, const double *sigma, const cs_dense *u,
                           const cs_dense *v, double *residual)
{
    if (k < 0 || u->rows != a->rows || v->rows != a->cols || u->cols < k || v->cols < k) {
        return cs_fail(CS_ERR_USAGE,
                       "residuals of %lld triplets of %lld x %lld: the vectors are %lld x %lld and "
                       "%lld x %lld",
                       (long long)k, (long long)a->rows, (long long)a->cols, (long long)u->rows,
                       (long long)u->cols, (long long)v->rows, (long long)v->cols);
    }
    memset(residual, 0, (size_t)k * sizeof *residual);
    cs_linop transposed = cs_linop_transposed(a);
    cs_status status = one_sided(a, k, sigma, v, u, residual);
    return status == CS_OK ? one_sided(&transposed, k, sigma, u, v, residual) : status;
}

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
