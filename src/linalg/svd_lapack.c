/* Dense SVD of an operator.
 *
 * Method: the operator is applied to the identity on its smaller side and the tall dense copy is
 * handed to gesdd (dense.c); every singular value has absolute error O(max(m, n) eps sigma_1),
 * which is the floor. When the copy is above the limit and the smaller side is at most 4,000, the
 * Gram matrix B^T B of the smaller side is formed instead, block by block, its largest eigenvectors
 * (syevd) taken for a basis and Rayleigh-Ritz done on it. Forming the Gram matrix squares the
 * condition: values below sqrt(max(m, n) eps) sigma_1 are lost, and the floor says so.
 * Cost: dense O(m n p) time, 3 copies; Gram O(p) operator columns twice, p^3 time, p^2 + 3 k max(m,
 * n) memory; p = min(m, n).
 */
#include <float.h>
#include <string.h>

#include "base/ints.h"
#include "base/mem.h"
#include "base/threads.h"
#include "linalg/svd_private.h"

enum { BLOCK = 64 };

/* out = B, or (gram) B^T B: products with blocks of the identity's columns. */
static cs_status spread(const cs_linop *b, bool gram, const cs_progress *progress, cs_dense *out)
{
    int64_t n = b->cols, block = cs_least(n, BLOCK);
    cs_pool pool = {0};
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
    cs_pool_free(&pool);
    return status;
}

static cs_status by_gesdd(const cs_linop *b, const cs_svd_options *o, cs_svd *svd)
{
    int64_t p = b->cols;
    cs_dense a = {0}, vt = {0};
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
    cs_dense_free(&a);
    cs_dense_free(&vt);
    return status;
}

static cs_status by_gram(const cs_linop *b, const cs_svd_options *o, cs_svd *svd)
{
    int64_t n = b->cols;
    cs_dense g = {0}, basis = {0};
    double *lambda = cs_alloc(n, sizeof *lambda);
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
    cs_dense_free(&g);
    cs_free(lambda);
    status = status ? status : cs_svd_ritz(b, &basis, o->k, svd);
    cs_dense_free(&basis);
    return status;
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
