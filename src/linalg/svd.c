/* Residuals, and what is common to the solvers. Residuals are recomputed through the operator, so
 * that they hold whatever a solver claims. */
#include "linalg/svd.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include <cblas.h>

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
