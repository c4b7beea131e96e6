/* The Krylov process of the block solver.
 *
 * Method: block Lanczos on A^T A (Golub & Underwood, 1977), or block Golub-Kahan on A, with full
 * orthogonalisation and thick restart (Wu & Simon, 2000; Baglama & Reichel, 2005). The projected
 * matrix is taken from the inner products rather than from the recurrence, so that kept Ritz
 * vectors and fresh random blocks need no case of their own.
 *
 * From the right vectors that the block solver has found to singular triplets: A V = U R by
 * Cholesky of the Gram matrix of normalised columns, then the small SVD of R. */
#include <cblas.h>
#include <float.h>
#include <lapacke.h>
#include <math.h>
#include <string.h>

#include "base/auto.h"
#include "base/ints.h"
#include "base/mem.h"
#include "linalg/svd_block_private.h"

enum { B = CS_BLOCK };

cs_status cs_krylov_open(cs_space *space, bool bidiagonal, int64_t capacity, uint64_t seed,
                         cs_krylov *out)
{
    cs_krylov k = {.space = space,
                   .bidiagonal = bidiagonal,
                   .seed = seed,
                   .scale = 1,
                   .coupled = true,
                   .ld = capacity * B};
    cs_status status = cs_basis_open(space, CS_RIGHT, capacity, &k.v);
    status = status || !bidiagonal ? status : cs_basis_open(space, CS_LEFT, capacity, &k.u);
    status = status ? status : space->create(space, CS_LEFT, &k.half);
    status = status ? status : space->create(space, CS_RIGHT, &k.next);
    if (status == CS_OK) {
        k.m = cs_calloc(k.ld * k.ld, sizeof *k.m);
        k.h = cs_calloc(capacity * CS_SQUARE, sizeof *k.h);
        status = k.m && k.h ? CS_OK : CS_ERR_MEMORY;
    }
    return CS_DELIVER(status, out, k, cs_krylov_free);
}

void cs_krylov_free(cs_krylov *k)
{
    if (k->space) {
        if (k->v.space) {
            cs_basis_free(&k->v);
        }
        if (k->u.space) {
            cs_basis_free(&k->u);
        }
        k->space->destroy(k->half);
        k->space->destroy(k->next);
    }
    CS_FREE_FIELDS(k, m, h);
    *k = (cs_krylov){0};
}

cs_status cs_krylov_fresh(cs_krylov *k)
{
    cs_status status = CS_OK;
    if (!k->next) {
        status = k->space->create(k->space, CS_RIGHT, &k->next);
    }
    status = status ? status
                    : cs_basis_random(&k->v, k->seed, k->blocks, B, k->next, k->h, &k->next_active);
    k->blocks += 1;
    k->coupled = true;
    memset(k->r, 0, sizeof k->r);
    return status;
}

void cs_krylov_lock(cs_krylov *k, cs_panel **w, int active, const double *value)
{
    int64_t from = k->v.panels * B;
    cs_basis_append(&k->v, w, active);
    for (int64_t i = 0; i < from + B; ++i) {
        for (int64_t j = from; j < from + B; ++j) {
            k->m[i + j * k->ld] = k->m[j + i * k->ld] = i == j ? value[j - from] : 0;
        }
    }
}

cs_status cs_krylov_apply(cs_krylov *k, const cs_panel *x, cs_panel *y)
{
    cs_status status = k->space->apply(k->space, x, y);
    k->applications += B;
    if (status == CS_OK && k->scale != 1) {
        double data[CS_SQUARE] = {0};
        cs_dense c = {.rows = B, .cols = B, .ld = B, .data = data};
        for (int j = 0; j < B; ++j) {
            data[j + j * B] = 1 / k->scale;
        }
        status = k->space->rotate(k->space, 1, 1, &y, &c);
    }
    return status;
}

cs_status cs_krylov_apply_normal(cs_krylov *k, const cs_panel *x, cs_panel *y)
{
    if (k->direct) {
        return cs_krylov_apply(k, x, y);
    }
    if (k->space->normal && k->scale == 1) { /* the product unscaled could overflow */
        k->applications += 2 * (int64_t)B;
        return k->space->normal(k->space, x, k->half, y);
    }
    cs_status status = cs_krylov_apply(k, x, k->half);
    return status ? status : cs_krylov_apply(k, k->half, y);
}

/* Squares of h into columns of panel `column` of M. */
static void store(cs_krylov *k, int64_t panels, int64_t column, const double *h)
{
    for (int64_t i = 0; i < panels * B; ++i) {
        for (int64_t j = 0; j < B; ++j) {
            k->m[i + (column * B + j) * k->ld] = h[i * B + j];
        }
    }
}

/* The new row and column of A^T A in the basis: symmetric by construction. */
static void store_symmetric(cs_krylov *k, int64_t column)
{
    store(k, column + 1, column, k->h);
    int64_t ld = k->ld, from = column * B;
    for (int64_t j = from; j < from + B; ++j) {
        for (int64_t i = from; i < j; ++i) {
            k->m[i + j * ld] = k->m[j + i * ld] = 0.5 * (k->m[i + j * ld] + k->m[j + i * ld]);
        }
        for (int64_t i = 0; i < from; ++i) {
            k->m[j + i * ld] = k->m[i + j * ld];
        }
    }
}

/* `half` = A v, its part beyond U becomes the next panel of U. */
static cs_status step_left(cs_krylov *k, int64_t at)
{
    double size = 0, r[CS_SQUARE];
    int active = 0;
    cs_panel *made = NULL;
    cs_status status =
        cs_basis_project(&k->u, k->coupled || at == 0 ? 0 : at - 1, k->half, k->h, &size);
    k->largest = fmax(k->largest, size);
    double noise = 8 * B * DBL_EPSILON * k->largest;
    status = status ? status : cs_basis_orthonormalise(&k->u, noise, k->half, r, &active);
    status = status ? status : k->space->create(k->space, CS_LEFT, &made);
    if (status == CS_OK) {
        store(k, at, at, k->h);
        for (int i = 0; i < B; ++i) {
            for (int j = 0; j < B; ++j) {
                k->m[at * B + i + (at * B + j) * k->ld] = r[i * B + j];
            }
        }
        cs_basis_append(&k->u, &k->half, active);
        k->half = made;
    }
    return status;
}

cs_status cs_krylov_step(cs_krylov *k)
{
    int64_t at = k->v.panels;
    double size = 0, r[CS_SQUARE];
    int active = 0;
    cs_panel *w = NULL;
    cs_status status = k->space->create(k->space, CS_RIGHT, &w);
    if (k->bidiagonal) {
        status = status ? status : cs_krylov_apply(k, k->next, k->half);
        status = status ? status : step_left(k, at);
        status = status ? status : cs_krylov_apply(k, k->u.panel[at], w);
    } else {
        status = status ? status : cs_krylov_apply_normal(k, k->next, w);
    }
    if (status != CS_OK) goto done;
    cs_basis_append(&k->v, &k->next, k->next_active);
    status = cs_basis_project(&k->v,
                              k->bidiagonal           ? at
                              : k->coupled || at == 0 ? 0
                                                      : at - 1,
                              w, k->h, &size);
    k->largest = fmax(k->largest, size);
    double noise = 8 * B * DBL_EPSILON * k->largest;
    status = status ? status : cs_basis_orthonormalise(&k->v, noise, w, r, &active);
    if (status != CS_OK) { /* as before the step */
        k->next = k->v.panel[--k->v.panels];
        goto done;
    }
    if (!k->bidiagonal) {
        store_symmetric(k, at);
    }
    memcpy(k->r, r, sizeof r);
    k->next = w;
    k->next_active = active;
    k->coupled = false;
    return CS_OK;
done:
    if (k->bidiagonal) {
        cs_basis_cut(&k->u, at);
    }
    k->space->destroy(w);
    return status;
}

/* --- Ritz triplets ---------------------------------------------------------------------------- */

void cs_ritz_free(cs_ritz *ritz)
{
    CS_FREE_FIELDS(ritz, value, estimate);
    cs_dense_free(&ritz->y);
    cs_dense_free(&ritz->x);
    *ritz = (cs_ritz){0};
}

/* Rows of M that stand for columns of the basis, from panel `first` on; freed by the caller. */
static int64_t *places(const cs_basis *b, int64_t first, int64_t *count)
{
    int64_t n = 0, *place = cs_alloc(b->panels * B, sizeof *place);
    for (int64_t q = first; place && q < b->panels; ++q) {
        for (int j = 0; j < b->active[q]; ++j) {
            place[n++] = q * B + j;
        }
    }
    *count = n;
    return place;
}

/* to(place[i], j) = from(i, column j). */
static cs_status spread(const cs_dense *from, bool transposed, const int64_t *place, int64_t count,
                        int64_t panels, cs_dense *to)
{
    cs_status status = cs_dense_init(to, panels * B, count);
    for (int64_t j = 0; status == CS_OK && j < count; ++j) {
        for (int64_t i = 0, n = transposed ? from->cols : from->rows; i < n; ++i) {
            to->data[place[i] + j * to->ld] =
                from->data[transposed ? j + i * from->ld : i + j * from->ld];
        }
    }
    return status;
}

/* || r z ||, z the entries of a Ritz vector in the last panel. */
static double estimate_of(const cs_krylov *k, const cs_dense *vectors, int64_t column)
{
    const double *z = vectors->data + column * vectors->ld + vectors->rows - B;
    double sum = 0;
    for (int i = 0; i < B; ++i) {
        double entry = 0;
        for (int j = 0; j < B; ++j) {
            entry += k->r[i * B + j] * z[j];
        }
        sum += entry * entry;
    }
    return sqrt(sum);
}

static cs_status ritz_symmetric(const cs_krylov *k, const int64_t *place, int64_t n, cs_ritz *out)
{
    CS_AUTO(cs_dense) t = {0};
    cs_status status = cs_dense_init(&t, n, n);
    for (int64_t j = 0; status == CS_OK && j < n; ++j) {
        for (int64_t i = 0; i < n; ++i) {
            t.data[i + j * t.ld] = k->m[place[i] + place[j] * k->ld];
        }
    }
    status = status ? status : cs_dense_eigh(&t, out->value, false);
    for (int64_t j = 0; status == CS_OK && j < n / 2; ++j) { /* descending */
        double value = out->value[j];
        out->value[j] = out->value[n - 1 - j];
        out->value[n - 1 - j] = value;
        for (int64_t i = 0; i < n; ++i) {
            double entry = t.data[i + j * t.ld];
            t.data[i + j * t.ld] = t.data[i + (n - 1 - j) * t.ld];
            t.data[i + (n - 1 - j) * t.ld] = entry;
        }
    }
    for (int64_t j = 0; status == CS_OK && j < n; ++j) {
        out->value[j] = sqrt(fmax(out->value[j], 0));
    }
    return status ? status : spread(&t, false, place, n, k->v.panels, &out->y);
}

static cs_status ritz_bidiagonal(const cs_krylov *k, const int64_t *place, int64_t n,
                                 const int64_t *row, int64_t m, cs_ritz *out)
{
    int64_t p = cs_least(m, n);
    CS_AUTO(cs_pool) pool = {0};
    cs_dense a = cs_dense_in(&pool, m, n), x = cs_dense_in(&pool, m, p);
    cs_dense yt = cs_dense_in(&pool, p, n);
    cs_status status = pool.status;
    for (int64_t j = 0; status == CS_OK && j < n; ++j) {
        for (int64_t i = 0; i < m; ++i) {
            a.data[i + j * a.ld] = k->m[row[i] + place[j] * k->ld];
        }
    }
    status = status ? status : cs_dense_svd(&a, out->value, &x, &yt);
    status = status ? status : spread(&x, false, row, p, k->u.panels, &out->x);
    status = status ? status : spread(&yt, true, place, p, k->v.panels, &out->y);
    out->count = p;
    return status;
}

cs_status cs_krylov_ritz(const cs_krylov *k, int64_t first, cs_ritz *out)
{
    cs_ritz ritz = {0};
    int64_t n = 0, m = 0;
    CS_AUTO_FREE int64_t *place = places(&k->v, first, &n);
    CS_AUTO_FREE int64_t *row = k->bidiagonal ? places(&k->u, first, &m) : NULL;
    ritz.value = cs_calloc(n, sizeof *ritz.value);
    ritz.estimate = cs_calloc(n, sizeof *ritz.estimate);
    ritz.count = n;
    bool made = place && (row || !k->bidiagonal) && ritz.value && ritz.estimate;
    cs_status status = made ? CS_OK : CS_ERR_MEMORY;
    if (status == CS_OK)
        status = k->bidiagonal ? ritz_bidiagonal(k, place, n, row, m, &ritz)
                               : ritz_symmetric(k, place, n, &ritz);
    for (int64_t j = 0; status == CS_OK && j < ritz.count; ++j) {
        ritz.estimate[j] = estimate_of(k, k->bidiagonal ? &ritz.x : &ritz.y, j);
    }
    return CS_DELIVER(status, out, ritz, cs_ritz_free);
}

/* Columns `which` of c, zero-padded to whole panels, turn the basis from panel `first` on. */
static cs_status turn_basis(cs_basis *b, const cs_dense *c, int64_t first, int64_t count,
                            const int64_t *which)
{
    int64_t panels = (count + B - 1) / B, rows = c->rows - first * B;
    CS_AUTO(cs_dense) chosen = {0};
    cs_status status = cs_dense_init(&chosen, rows, panels * B);
    for (int64_t j = 0; status == CS_OK && j < count; ++j) {
        memcpy(chosen.data + j * chosen.ld, c->data + first * B + which[j] * c->ld,
               (size_t)rows * sizeof *c->data);
    }
    status = status
                 ? status
                 : b->space->rotate(b->space, b->panels - first, panels, b->panel + first, &chosen);
    if (status == CS_OK) {
        cs_basis_cut(b, first + panels);
        for (int64_t q = 0; q < panels; ++q) {
            b->active[first + q] = (int)(count - q * B < B ? count - q * B : B);
        }
    }
    return status;
}

cs_status cs_krylov_keep(cs_krylov *k, const cs_ritz *ritz, int64_t first, int64_t count,
                         const int64_t *which)
{
    cs_status status = turn_basis(&k->v, &ritz->y, first, count, which);
    if (status == CS_OK && k->bidiagonal) status = turn_basis(&k->u, &ritz->x, first, count, which);
    if (status == CS_OK) {
        int64_t from = first * B, ld = k->ld;
        for (int64_t j = 0; j < ld; ++j) { /* what is before `first` stays diagonal */
            int64_t top = j < from ? from : 0;
            memset(k->m + top + j * ld, 0, (size_t)(ld - top) * sizeof *k->m);
        }
        for (int64_t j = 0; j < count; ++j) {
            double value = ritz->value[which[j]];
            k->m[from + j + (from + j) * ld] = k->bidiagonal ? value : value * value;
        }
        k->coupled = true;
    }
    return status;
}

/* R upper, its columns scaled as A V's were: W D^-1 = Q L^T, L L^T = D^-1 W^T W D^-1. c = D^-1 L^-T
 * X and q = Z from the SVD L^T D = X S Z^T: W c = U, V q the right vectors. */
static cs_status small_svd(int64_t n, cs_dense *g, double *sigma, cs_dense *c, cs_dense *q)
{
    CS_AUTO(cs_pool) pool = {0};
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
    return status;
}

/* The Gram matrix of n columns in panels. */
static cs_status gram_of(const cs_basis *b, int64_t n, cs_dense *g)
{
    CS_AUTO_FREE double *h = cs_alloc(b->panels * CS_SQUARE, sizeof *h);
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
    return status;
}

cs_status cs_krylov_left(cs_krylov *k, int64_t n, double *sigma)
{
    cs_space *space = k->space;
    CS_AUTO(cs_pool) pool = {0};
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
