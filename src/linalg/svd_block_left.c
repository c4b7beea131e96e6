/* From the right vectors that the block solver has found to singular triplets: A V = U R by
 * Cholesky of the Gram matrix of normalised columns, then the small SVD of R.
 */
#include <math.h>

#include <cblas.h>
#include <lapacke.h>

#include "base/ints.h"
#include "base/mem.h"
#include "linalg/svd_block_private.h"

enum { B = CS_BLOCK };

/* R upper, its columns scaled as A V's were: W D^-1 = Q L^T, L L^T = D^-1 W^T W D^-1. c = D^-1 L^-T
 * X and q = Z from the SVD L^T D = X S Z^T: W c = U, V q the right vectors. */
static cs_status small_svd(int64_t n, cs_dense *g, double *sigma, cs_dense *c, cs_dense *q)
{
    cs_pool pool = {0};
    cs_dense r = cs_dense_in(&pool, n, n), x = cs_dense_in(&pool, n, n);
    cs_dense zt = cs_dense_in(&pool, n, n);
    double *d = cs_pool_take(&pool, n, sizeof *d);
    cs_status status = pool.status;
    for (int64_t j = 0; status == CS_OK && j < n; ++j) {
        d[j] = sqrt(g->data[j + j * g->ld]);
        if (!(d[j] > 0)) {
            status = cs_fail(CS_ERR_CONVERGE, "a computed singular vector is mapped to zero");
        }
    }
    for (int64_t j = 0; status == CS_OK && j < n; ++j) {
        for (int64_t i = 0; i < n; ++i) {
            g->data[i + j * g->ld] = i == j ? 1 : g->data[i + j * g->ld] / d[i] / d[j];
        }
    }
    if (status == CS_OK &&
        LAPACKE_dpotrf(LAPACK_COL_MAJOR, 'U', (int)n, g->data, (int)g->ld) != 0) {
        status = cs_fail(CS_ERR_CONVERGE, "the computed singular vectors are linearly dependent");
    }
    for (int64_t j = 0; status == CS_OK && j < n; ++j) {
        for (int64_t i = 0; i <= j; ++i) {
            r.data[i + j * r.ld] = g->data[i + j * g->ld] * d[j];
        }
    }
    status = status ? status : cs_dense_svd(&r, sigma, &x, &zt);
    if (status == CS_OK)
        cblas_dtrsm(CblasColMajor, CblasLeft, CblasUpper, CblasNoTrans, CblasNonUnit, (int)n,
                    (int)n, 1, g->data, (int)g->ld, x.data, (int)x.ld);
    for (int64_t j = 0; status == CS_OK && j < n; ++j) {
        for (int64_t i = 0; i < n; ++i) {
            c->data[i + j * c->ld] = x.data[i + j * x.ld] / d[i];
            q->data[i + j * q->ld] = zt.data[j + i * zt.ld];
        }
    }
    cs_pool_free(&pool);
    return status;
}

/* The Gram matrix of n columns in panels. */
static cs_status gram_of(const cs_basis *b, int64_t n, cs_dense *g)
{
    double *h = cs_alloc(b->panels * CS_SQUARE, sizeof *h);
    cs_status status = h ? CS_OK : CS_ERR_MEMORY;
    for (int64_t o = 0; status == CS_OK && o < b->panels; ++o) {
        status = b->space->gram(b->space, o + 1, b->panel, b->panel[o], h);
        for (int64_t j = 0; status == CS_OK && j < B && o * B + j < n; ++j) {
            for (int64_t i = 0; i <= o * B + j; ++i) {
                g->data[i + (o * B + j) * g->ld] = h[i * B + j];
                g->data[o * B + j + i * g->ld] = h[i * B + j];
            }
        }
    }
    cs_free(h);
    return status;
}

cs_status cs_krylov_left(cs_krylov *k, int64_t n, double *sigma)
{
    cs_space *space = k->space;
    cs_pool pool = {0};
    int64_t wide = k->v.panels * B;
    cs_dense g = cs_dense_in(&pool, n, n), c = cs_dense_in(&pool, wide, wide);
    cs_dense q = cs_dense_in(&pool, wide, wide);
    cs_status status = pool.status;
    status = status ? status : cs_basis_open(space, CS_LEFT, k->v.panels, &k->u);
    for (int64_t o = 0; status == CS_OK && o < k->v.panels; ++o) {
        cs_panel *panel = NULL;
        status = space->create(space, CS_LEFT, &panel);
        if (status == CS_OK) {
            cs_basis_append(&k->u, &panel, k->v.active[o]);
            status = cs_krylov_apply(k, k->v.panel[o], k->u.panel[o]);
        }
    }
    status = status ? status : gram_of(&k->u, n, &g);
    status = status ? status : small_svd(n, &g, sigma, &c, &q);
    status = status ? status : space->rotate(space, k->u.panels, k->u.panels, k->u.panel, &c);
    status = status ? status : space->rotate(space, k->v.panels, k->v.panels, k->v.panel, &q);
    for (int64_t j = 0; status == CS_OK && j < n; ++j) {
        sigma[j] *= k->scale;
    }
    cs_pool_free(&pool);
    return status;
}

cs_status cs_basis_export(cs_basis *b, int64_t length, int64_t n, cs_dense *out)
{
    cs_status status = cs_dense_init(out, length, n);
    for (int64_t o = b->panels; status == CS_OK && o-- > 0;) {
        int64_t count = cs_least(n - o * B, B);
        status = b->space->get(b->space, b->panel[o], count, o * B, out);
        cs_basis_cut(b, o);
    }
    return status;
}
