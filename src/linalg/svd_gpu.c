/* Dense SVD on a GPU by cuSOLVER.
 *
 * Method: the operator's matrix is laid out on the device and handed to Xgesvd (gesvdj where that
 * does not converge); every singular value has absolute error O(max(m, n) eps sigma_1), which is
 * the floor. When it does not fit into free device memory (or the copy is above the given limit)
 * and the smaller side is at most 4,000, the Gram matrix of that side is summed over runs of rows
 * and its largest eigenvectors (Xsyevd) taken for a basis, on which Rayleigh-Ritz is done on the
 * CPU, as in svd.c and with its floor, sqrt(max(m, n) eps) sigma_1. All singular values of a
 * dense solve are there, so that their squares must add up to the matrix's; a library that is
 * silently wrong does not pass, also where it leaves values out. Cost: dense O(m n p) time, 2 m p +
 * p^2 doubles of device memory and cuSOLVER's workspace; Gram m p^2 + p^3 on the device and m k^2
 * on the CPU; p = min(m, n). */
#include <float.h>
#include <math.h>

#include "base/auto.h"
#include "base/mem.h"
#include "base/threads.h"
#include "base/vector_ops.h"
#include "linalg/gpu.h"
#include "linalg/svd_private.h"

static const double MIB = 1024.0 * 1024.0;

/* ||A - U diag(s) V^T||_F^2. */
static double squared_norm(const cs_linop *b)
{
    const cs_csr *a = b->data.a;
    const cs_dense *u = b->data.u, *v = b->data.v;
    double norm = 0;
    for (int64_t i = 0; i < a->rows; ++i) {
        double row = 0;
        for (int64_t e = a->ptr[i]; e < a->ptr[i + 1]; ++e) {
            double known = 0;
            for (int64_t q = 0; u && q < u->cols; ++q) {
                known += u->data[i + q * u->ld] * b->data.s[q] * v->data[a->col[e] + q * v->ld];
            }
            row += a->val[e] * (a->val[e] - 2 * known);
        }
        norm += row;
    }
    for (int64_t q = 0; u && q < u->cols * u->cols; ++q) {
        int64_t x = q / u->cols, y = q % u->cols;
        double left = 0, right = 0;
        for (int64_t i = 0; i < u->rows; ++i) {
            left += u->data[i + x * u->ld] * u->data[i + y * u->ld];
        }
        for (int64_t j = 0; j < v->rows; ++j) {
            right += v->data[j + x * v->ld] * v->data[j + y * v->ld];
        }
        norm += b->data.s[x] * b->data.s[y] * left * right;
    }
    return norm;
}

/* Each value has error m eps sigma_1 at most, so that their squares have 2 m eps sigma_1 sum sigma,
 * which is at most 2 m eps sqrt(n) ||A||^2; as much again for the sums, and for what a deflation
 * cancels of the larger ||A|| before it. */
static cs_status check_values(const cs_linop *b, const double *sigma)
{
    const double sum = cs_inner(b->cols, sigma, sigma), norm = squared_norm(b);
    double scale = norm;
    for (int64_t q = 0; b->data.u && q < b->data.u->cols; ++q) {
        const double *u = b->data.u->data + q * b->data.u->ld;
        const double *v = b->data.v->data + q * b->data.v->ld;
        scale += b->data.s[q] * b->data.s[q] * cs_inner(b->rows, u, u) * cs_inner(b->cols, v, v);
    }
    double most = 4 * (double)b->rows * DBL_EPSILON * sqrt((double)b->cols) * scale;
    if (!(fabs(sum - norm) <= most)) {
        return cs_fail(CS_ERR_DEVICE,
                       "cuSOLVER's result is wrong: the squares of the singular values of %lld x "
                       "%lld sum to %.17g, but the squares of the entries sum to %.17g",
                       (long long)b->rows, (long long)b->cols, sum, norm);
    }
    return CS_OK;
}

static cs_status by_gesvd(const cs_linop *b, const cs_svd_options *o, cs_svd *svd)
{
    svd->sigma = cs_alloc(b->cols, sizeof *svd->sigma);
    cs_status status = svd->sigma ? CS_OK : CS_ERR_MEMORY;
    status = status ? status : cs_dense_init(&svd->u, b->rows, o->k);
    status = status ? status : cs_dense_init(&svd->v, b->cols, o->k);
    status = status ? status
                    : o->gpu->dense(o->gpu, CS_GPU_GESVD, b, o->k, svd->sigma, &svd->u, &svd->v);
    status = status ? status : check_values(b, svd->sigma);
    if (status == CS_OK) {
        svd->k = o->k;
        svd->floor = (double)b->rows * DBL_EPSILON * svd->sigma[0];
    }
    return status;
}

static cs_status by_gram(const cs_linop *b, const cs_svd_options *o, cs_svd *svd)
{
    CS_AUTO(cs_dense) basis = {0};
    cs_status status = cs_dense_init(&basis, b->cols, o->k);
    status = status ? status : o->gpu->eigen(o->gpu, b, o->k, &basis);
    return status ? status : cs_svd_ritz(b, &basis, o->k, svd);
}

/* Whether all of it may be laid out; `need` and `available` bytes. */
static cs_status fits(const cs_linop *b, const cs_svd_options *o, int64_t *need, int64_t *available,
                      bool *yes)
{
    int64_t all = 0;
    cs_status status = o->gpu->need(o->gpu, CS_GPU_GESVD, b, need);
    status = status ? status : o->gpu->memory(o->gpu, available, &all);
    *yes = *need <= *available &&
           (o->dense_limit == 0 || b->cols == 0 || b->rows <= o->dense_limit / b->cols);
    return status;
}

cs_status cs_svd_cusolver(const cs_linop *a, const cs_svd_options *options, cs_svd *out)
{
    bool yes = false;
    int64_t need = 0, available = 0;
    *out = (cs_svd){.solver = CS_SOLVER_CUSOLVER, .converged = true};
    cs_status status = cs_csr_check(a->data.a, false);
    status = status ? status : fits(a, options, &need, &available, &yes);
    if (status != CS_OK) return status;
    if (need == CS_GPU_REFUSED && a->cols > CS_SVD_GRAM_LIMIT) {
        return cs_fail(CS_ERR_MEMORY,
                       "cuSOLVER refuses a dense SVD of %lld x %lld, and the smaller side exceeds "
                       "%d: give --solver block",
                       (long long)a->rows, (long long)a->cols, CS_SVD_GRAM_LIMIT);
    }
    if (!yes && a->cols > CS_SVD_GRAM_LIMIT) {
        return cs_fail(CS_ERR_MEMORY,
                       "GPU memory: a dense SVD of %lld x %lld needs %.1f MiB, but only %.1f MiB "
                       "are free, and the smaller side exceeds %d",
                       (long long)a->rows, (long long)a->cols, (double)need / MIB,
                       (double)available / MIB, CS_SVD_GRAM_LIMIT);
    }
    cs_progress_report(options->progress, yes ? "dense SVD on the GPU" : "Gram matrix on the GPU",
                       0, 0);
    status = cs_interrupt_check();
    return status ? status : (yes ? by_gesvd : by_gram)(a, options, out);
}
