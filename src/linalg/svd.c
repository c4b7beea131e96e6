/* Residuals, and what is common to the solvers. Residuals are recomputed through the operator, so
 * that they hold whatever a solver claims.
 *
 * Dense SVD of an operator.
 *
 * Method: the operator is applied to the identity on its smaller side and the tall dense copy is
 * handed to gesdd (dense.c); every singular value has absolute error O(max(m, n) eps sigma_1),
 * which is the floor. When the copy is above the limit and the smaller side is at most 4,000, the
 * Gram matrix B^T B of the smaller side is formed instead, block by block, its largest eigenvectors
 * (syevd) taken for a basis and Rayleigh-Ritz done on it. Forming the Gram matrix squares the
 * condition: values below sqrt(max(m, n) eps) sigma_1 are lost, and the floor says so.
 * Cost: dense O(m n p) time, 3 copies; Gram O(p) operator columns twice, p^3 time, p^2 + 3 k max(m,
 * n) memory; p = min(m, n). */
#include "linalg/svd.h"

#include <cblas.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/auto.h"
#include "base/enum_names.h"
#include "base/ints.h"
#include "base/mem.h"
#include "base/threads.h"
#include "linalg/svd_private.h"

enum { RESIDUAL_BLOCK = 32 };

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
    CS_AUTO(cs_dense) w = {0}, qt = {0};
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
    if (status == CS_OK) {
        out->k = out->u.cols = out->v.cols = k;
        out->floor = sqrt((double)b->rows * DBL_EPSILON) * out->sigma[0];
        out->applications += p;
    }
    return status;
}

/* residual_j = max(residual_j, ||op(A) x_j - sigma_j y_j||). */
static cs_status one_sided(const cs_linop *a, int64_t k, const double *sigma, const cs_dense *x,
                           const cs_dense *y, double *residual)
{
    int64_t block = cs_least(k, RESIDUAL_BLOCK);
    CS_AUTO(cs_dense) product = {0};
    int rows;
    cs_status status = cs_blas_int(a->rows, "number of rows", &rows);
    if (status == CS_OK) status = cs_dense_init(&product, a->rows, block);
    if (status != CS_OK) return status;
    for (int64_t first = 0; first < k && status == CS_OK; first += block) {
        product.cols = cs_least(k - first, block);
        cs_dense xs = cs_dense_columns(x, first, product.cols);
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

enum { BLOCK = 64 };

/* out = B, or (gram) B^T B: products with blocks of the identity's columns. */
static cs_status spread(const cs_linop *b, bool gram, const cs_progress *progress, cs_dense *out)
{
    int64_t n = b->cols, block = cs_least(n, BLOCK);
    CS_AUTO(cs_pool) pool = {0};
    cs_dense e = cs_dense_in(&pool, n, block), w = cs_dense_in(&pool, gram ? b->rows : 0, block);
    cs_status status = pool.status;
    for (int64_t first = 0; first < n && status == CS_OK; first += block) {
        int64_t count = cs_least(n - first, block);
        cs_dense view = {out->rows, count, out->ld, out->data + first * out->ld};
        memset(e.data, 0, (size_t)(e.ld * count) * sizeof *e.data);
        for (int64_t j = 0; j < count; ++j) {
            e.data[first + j + j * e.ld] = 1;
        }
        e.cols = w.cols = count;
        status = cs_interrupt_check();
        status = status ? status : cs_linop_apply(b, false, &e, gram ? &w : &view);
        if (status == CS_OK && gram) status = cs_linop_apply(b, true, &w, &view);
        cs_progress_report(progress, gram ? "Gram columns" : "dense columns", first + count, n);
    }
    return status;
}

static cs_status by_gesdd(const cs_linop *b, const cs_svd_options *o, cs_svd *svd)
{
    int64_t p = b->cols;
    CS_AUTO(cs_dense) a = {0}, vt = {0};
    cs_status status = cs_dense_init(&a, b->rows, p);
    status = status ? status : spread(b, false, o->progress, &a);
    svd->sigma = status == CS_OK ? cs_alloc(p, sizeof *svd->sigma) : NULL;
    if (status == CS_OK && !svd->sigma) status = CS_ERR_MEMORY;
    status = status ? status : cs_dense_init(&svd->u, b->rows, p);
    status = status ? status : cs_dense_init(&vt, p, p);
    status = status ? status : cs_dense_svd(&a, svd->sigma, &svd->u, &vt);
    status = status ? status : cs_dense_init(&svd->v, p, o->k);
    if (status == CS_OK) {
        for (int64_t j = 0; j < o->k; ++j) {
            for (int64_t i = 0; i < p; ++i) {
                svd->v.data[i + j * svd->v.ld] = vt.data[j + i * vt.ld];
            }
        }
        svd->k = svd->u.cols = o->k;
        svd->applications = p;
        svd->floor = (double)b->rows * DBL_EPSILON * svd->sigma[0];
    }
    return status;
}

static cs_status by_gram(const cs_linop *b, const cs_svd_options *o, cs_svd *svd)
{
    int64_t n = b->cols;
    CS_AUTO(cs_dense) g = {0}, basis = {0};
    CS_AUTO_FREE double *lambda = cs_alloc(n, sizeof *lambda);
    cs_status status = lambda ? CS_OK : CS_ERR_MEMORY;
    status = status ? status : cs_dense_init(&g, n, n);
    status = status ? status : spread(b, true, o->progress, &g);
    for (int64_t j = 0; status == CS_OK && j < n; ++j) {
        for (int64_t i = 0; i < j; ++i) {
            double mean = 0.5 * (g.data[i + j * g.ld] + g.data[j + i * g.ld]);
            g.data[i + j * g.ld] = g.data[j + i * g.ld] = mean;
        }
    }
    status = status ? status : cs_dense_eigh(&g, lambda, false);
    status = status ? status : cs_dense_init(&basis, n, o->k);
    if (status == CS_OK) {
        /* Values ascend: the wanted vectors are the last k. */
        memcpy(basis.data, g.data + (n - o->k) * g.ld, (size_t)(n * o->k) * sizeof *basis.data);
        svd->applications = 2 * n;
    }
    return status ? status : cs_svd_ritz(b, &basis, o->k, svd);
}

cs_status cs_svd_lapack(const cs_linop *a, const cs_svd_options *options, cs_svd *out)
{
    int64_t limit = cs_svd_dense_limit(options);
    bool fits = a->cols == 0 || a->rows <= limit / a->cols;
    if (!fits && a->cols > CS_SVD_GRAM_LIMIT) {
        return cs_fail(CS_ERR_MEMORY,
                       "a dense copy of %lld x %lld exceeds the limit of %lld elements, and the "
                       "smaller side exceeds %d",
                       (long long)a->rows, (long long)a->cols, (long long)limit, CS_SVD_GRAM_LIMIT);
    }
    *out = (cs_svd){.solver = CS_SOLVER_LAPACK, .converged = true};
    return fits ? by_gesdd(a, options, out) : by_gram(a, options, out);
}
