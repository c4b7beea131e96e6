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
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/threads.h"
#include "linalg/svd_private.h"

enum { BLOCK = 64 };

/* Columns first..first+count-1 of the n x n identity into e (n x >= count). */
static void identity_columns(cs_dense *e, int64_t first, int64_t count)
{
    memset(e->data, 0, (size_t)(e->ld * count) * sizeof *e->data);
    for (int64_t j = 0; j < count; ++j) {
        e->data[first + j + j * e->ld] = 1;
    }
    e->cols = count;
}

static cs_status dense_copy(const cs_linop *b, const cs_progress *progress, cs_dense *out)
{
    int64_t block = b->cols < BLOCK ? b->cols : BLOCK;
    cs_dense e = {0}, d = {0};
    cs_status status = cs_dense_init(&d, b->rows, b->cols);
    status = status ? status : cs_dense_init(&e, b->cols, block);
    for (int64_t first = 0; first < b->cols && status == CS_OK; first += block) {
        int64_t count = b->cols - first < block ? b->cols - first : block;
        identity_columns(&e, first, count);
        cs_dense view = {.rows = d.rows, .cols = count, .ld = d.ld, .data = d.data + first * d.ld};
        status = cs_interrupt_check();
        status = status ? status : cs_linop_apply(b, false, &e, &view);
        cs_progress_report(progress, "dense columns", first + count, b->cols);
    }
    cs_dense_free(&e);
    return CS_DELIVER(status, out, d, cs_dense_free);
}

static cs_status by_gesdd(const cs_linop *b, const cs_svd_options *o, cs_svd *svd)
{
    int64_t p = b->cols;
    cs_dense a = {0}, vt = {0};
    cs_status status = dense_copy(b, o->progress, &a);
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

/* B^T B into g, its upper and lower triangles averaged. */
static cs_status gram_of(const cs_linop *b, const cs_progress *progress, cs_dense *g)
{
    int64_t n = b->cols, block = n < BLOCK ? n : BLOCK;
    cs_dense e = {0}, w = {0};
    cs_status status = cs_dense_init(&e, n, block);
    status = status ? status : cs_dense_init(&w, b->rows, block);
    for (int64_t first = 0; first < n && status == CS_OK; first += block) {
        int64_t count = n - first < block ? n - first : block;
        identity_columns(&e, first, count);
        w.cols = count;
        cs_dense view = {.rows = n, .cols = count, .ld = g->ld, .data = g->data + first * g->ld};
        status = cs_interrupt_check();
        status = status ? status : cs_linop_apply(b, false, &e, &w);
        status = status ? status : cs_linop_apply(b, true, &w, &view);
        cs_progress_report(progress, "Gram columns", first + count, n);
    }
    for (int64_t j = 0; j < n; ++j) {
        for (int64_t i = 0; i < j; ++i) {
            double mean = 0.5 * (g->data[i + j * g->ld] + g->data[j + i * g->ld]);
            g->data[i + j * g->ld] = g->data[j + i * g->ld] = mean;
        }
    }
    cs_dense_free(&e);
    cs_dense_free(&w);
    return status;
}

static cs_status by_gram(const cs_linop *b, const cs_svd_options *o, cs_svd *svd)
{
    int64_t n = b->cols;
    cs_dense g = {0}, basis = {0};
    double *lambda = cs_alloc(n, sizeof *lambda);
    cs_status status = lambda ? CS_OK : CS_ERR_MEMORY;
    status = status ? status : cs_dense_init(&g, n, n);
    status = status ? status : gram_of(b, o->progress, &g);
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
    if (status == CS_OK) {
        svd->floor = sqrt((double)b->rows * DBL_EPSILON) * svd->sigma[0];
    }
    return status;
}

cs_status cs_svd_lapack(const cs_linop *a, const cs_svd_options *options, cs_svd *out)
{
    bool wide = a->rows < a->cols;
    cs_linop b = wide ? cs_linop_transposed(a) : *a;
    int64_t limit = cs_svd_dense_limit(options);
    bool fits = b.cols == 0 || b.rows <= limit / b.cols;
    if (!fits && b.cols > CS_SVD_GRAM_LIMIT) {
        return cs_fail(CS_ERR_MEMORY,
                       "a dense copy of %lld x %lld is above the limit of %lld elements, and its "
                       "smaller side above %d",
                       (long long)a->rows, (long long)a->cols, (long long)limit, CS_SVD_GRAM_LIMIT);
    }
    cs_svd svd = {.solver = CS_SOLVER_LAPACK, .converged = true};
    cs_status status = fits ? by_gesdd(&b, options, &svd) : by_gram(&b, options, &svd);
    return cs_svd_hand_over(status, wide, &svd, out);
}
