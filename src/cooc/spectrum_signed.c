/* Eigenvalues of a symmetric matrix from its singular triplets.
 *
 * Method. A triplet of a simple sigma has u = v or u = -v, with the eigenvalue sigma or -sigma. Where
 * both are eigenvalues, or several are, u and v are any vectors of the common space. So the
 * eigenvectors come from Rayleigh and Ritz on the span of all v and of what the u add to it: the
 * span of a v and its u is invariant, also where the last of equal values were not requested. The
 * triplets are replaced by (|lambda|, sign(lambda) x, x), and their residuals, |M x - lambda x|, are
 * computed from the matrix.
 *
 * Limits: the k largest moduli among the Ritz values; if a residual then exceeds the tolerance, the
 * triplets stay as they were, without eigenvalues. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/ints.h"
#include "base/mem.h"
#include "base/threads.h"
#include "base/vector_ops.h"
#include "cooc/spectrum_stages_private.h"

static const double SYMMETRIC = 1e-12; /* of the largest entry: the rounding of a form */

/* --- symmetry --------------------------------------------------------------------------------- */

/* The column that stored row i is; -1: none. */
static int64_t column_of(const cs_spectrum_options *o, int64_t i)
{
    const int64_t row = cs_nonempty_rows_at(o->rows, i);
    return o->row_column ? o->row_column[row] : row;
}

/* The stored entry at a place, or NULL. */
static const double *entry_at(const cs_csr *a, int64_t row, int64_t col)
{
    int64_t low = a->ptr[row], high = a->ptr[row + 1];
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (a->col[middle] < col) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < a->ptr[row + 1] && a->col[low] == col ? &a->val[low] : NULL;
}

/* Whether every entry agrees with its mirror, which is 0 where none is stored: rounding may leave one
 * of two entries that cancel. place: the row of each column, or -1. */
static bool entries_symmetric(const cs_csr *a, const cs_spectrum_options *o, const int64_t *place,
                              double largest)
{
    for (int64_t i = 0; i < a->rows; ++i) {
        for (int64_t e = a->ptr[i]; e < a->ptr[i + 1]; ++e) {
            const int64_t j = place[a->col[e]];
            const double *mirror = j < 0 ? NULL : entry_at(a, j, column_of(o, i));
            if (fabs(a->val[e] - (mirror ? *mirror : 0)) > SYMMETRIC * largest) return false;
        }
    }
    return true;
}

/* Whether l r^T = r l^T: the two are multiples of each other. */
static bool outer_symmetric(const cs_spectrum_options *o, int64_t n, const double *l,
                            const double *r)
{
    double largest = 0;
    int64_t at = 0;
    for (int64_t i = 0; i < n; ++i) {
        at = fabs(l[i]) > fabs(l[at]) ? i : at;
        largest = fmax(largest, fabs(r[column_of(o, i)]));
    }
    const double own = r[column_of(o, at)], size = fabs(l[at]) * largest;
    for (int64_t i = 0; i < n; ++i) {
        if (fabs(l[at] * r[column_of(o, i)] - l[i] * own) > SYMMETRIC * size) {
            return false;
        }
    }
    return true;
}

cs_status cs_system_symmetric(const cs_system *system, const cs_spectrum_options *o, bool *out)
{
    const cs_csr *a = system->abar;
    *out = false;
    if (a->gram || (!o->row_column && o->rows->rows != a->cols)) return CS_OK;
    CS_AUTO_FREE int64_t *place = cs_alloc(a->cols, sizeof *place);
    if (!place) return CS_ERR_MEMORY;
    memset(place, 0xff, (size_t)a->cols * sizeof *place); /* -1 */
    for (int64_t i = 0; i < a->rows; ++i) {
        const int64_t column = column_of(o, i);
        if (column < 0 || place[column] >= 0) return CS_OK;
        place[column] = i;
    }
    /* not system->entries, which are the counts where the form has a rank-one part */
    *out = entries_symmetric(a, o, place, cs_csr_entries_of(a).largest) &&
           (!system->term[CS_LEFT] ||
            outer_symmetric(o, a->rows, system->term[CS_LEFT], system->term[CS_RIGHT]));
    return CS_OK;
}

/* --- eigenvectors ----------------------------------------------------------------------------- */

/* Rows of the stored matrix as columns of the whole. */
static void embed(const cs_spectrum_options *o, int64_t n, const double *from, double *to)
{
    for (int64_t i = 0; i < n; ++i) {
        to[column_of(o, i)] = from[i];
    }
}

enum { ADDED = 64 }; /* most columns that the u add: copies of the smallest modulus */
enum { PANEL = 64 };

/* An orthonormal basis that grows by panels. */
typedef struct {
    cs_dense b;   /* the first `count` columns are the basis; at most `most`, and one panel more */
    double *part; /* most x PANEL */
    int64_t count, most;
    double least; /* shorter remainders are dependent */
} basis;

/* y without its part along the basis. */
static cs_status project(const basis *s, cs_dense *y)
{
    if (s->count == 0) return CS_OK;
    const cs_dense b = cs_dense_columns(&s->b, 0, s->count);
    cs_dense part = {.rows = s->count, .cols = y->cols, .ld = s->count, .data = s->part};
    cs_status status = cs_gemm(true, false, 1, &b, y, 0, &part);
    return status == CS_OK ? cs_gemm(false, false, -1, &b, &part, 1, y) : status;
}

/* Makes the columns of y orthonormal, by modified Gram-Schmidt, twice. Columns with a remainder of at
 * most `least` are left out; returns the number of the others. */
static int64_t orthonormalise(double least, cs_dense *y)
{
    int64_t kept = 0;
    for (int64_t j = 0; j < y->cols; ++j) {
        double *to = y->data + kept * y->ld;
        memmove(to, y->data + j * y->ld, (size_t)y->rows * sizeof *to);
        for (int pass = 0; pass < 2; ++pass) {
            for (int64_t i = 0; i < kept; ++i) {
                const double *x = y->data + i * y->ld;
                cs_add_multiple(y->rows, -cs_inner(y->rows, x, to), x, to);
            }
        }
        const double norm = sqrt(cs_inner(y->rows, to, to));
        if (norm > least) {
            cs_divide(y->rows, norm, to);
            ++kept;
        }
    }
    return kept;
}

/* Adds the panel behind the basis. The second round removes what dividing by a short remainder has
 * brought out of the basis. */
static cs_status add_panel(basis *s, int64_t width)
{
    cs_dense y = cs_dense_columns(&s->b, s->count, width);
    cs_status status = project(s, &y);
    if (status == CS_OK) y.cols = orthonormalise(s->least, &y);
    if (status == CS_OK && y.cols > 0) status = project(s, &y);
    if (status == CS_OK) s->count += orthonormalise(0, &y);
    return status;
}

/* An orthonormal basis of the v and of what the u add. */
static cs_status basis_of(const cs_spectrum *s, const cs_spectrum_options *o, double least,
                          cs_dense *out)
{
    basis b = {.most = s->k + cs_least(s->k, ADDED), .least = least};
    CS_AUTO_FREE double *part = b.part = cs_alloc(b.most * PANEL, sizeof *part);
    cs_status status = part ? cs_dense_init(&b.b, s->v.rows, b.most + PANEL) : CS_ERR_MEMORY;
    for (int64_t j = 0; status == CS_OK && j < 2 * s->k && b.count < b.most; j += PANEL) {
        const int64_t width = cs_least(PANEL, 2 * s->k - j);
        for (int64_t c = 0; c < width; ++c) {
            double *y = b.b.data + (b.count + c) * b.b.ld;
            const cs_dense *from = j + c < s->k ? &s->v : &s->u;
            const double *x = from->data + ((j + c) % s->k) * from->ld;
            if (j + c < s->k) {
                memcpy(y, x, (size_t)from->rows * sizeof *y);
            } else {
                cs_fill(s->v.rows, 0, y);
                embed(o, from->rows, x, y);
            }
        }
        status = cs_interrupt_check();
        if (status == CS_OK) status = add_panel(&b, width);
    }
    b.b.cols = cs_least(b.count, b.most);
    return CS_DELIVER(status, out, b.b, cs_dense_free);
}

typedef struct {
    double value;
    int64_t index;
} ritz;

static int larger_modulus(const void *x, const void *y)
{
    const ritz *a = x, *b = y;
    const int modulus = CS_ORDER(fabs(b->value), fabs(a->value));
    return modulus ? modulus : CS_ORDER(b->value, a->value);
}

/* *w = M b in the numbering of columns. */
static cs_status product_of(const cs_system *system, const cs_spectrum_options *o,
                            const cs_dense *b, cs_dense *w)
{
    cs_matrix_form_operator m = {0};
    CS_AUTO(cs_dense) stored = {0};
    cs_status status =
        cs_matrix_form_operator_open(system->abar, &system->abar_t, system->term, o->threads, &m);
    if (status == CS_OK) status = cs_dense_init(&stored, m.op.rows, b->cols);
    if (status == CS_OK) status = cs_dense_init(w, b->rows, b->cols);
    if (status == CS_OK) status = cs_linop_apply(&m.op, false, b, &stored);
    for (int64_t j = 0; status == CS_OK && j < b->cols; ++j) {
        embed(o, stored.rows, stored.data + j * stored.ld, w->data + j * w->ld);
    }
    cs_matrix_form_operator_close(&m);
    return status;
}

/* Pairs of M in the span of b, where w = M b, with the largest moduli: vectors x, values and
 * residuals. */
static cs_status ritz_pairs(const cs_dense *b, const cs_dense *w, int64_t k, cs_dense *x,
                            double *value, double *residual)
{
    const int64_t n = b->cols;
    CS_AUTO(cs_dense) h = {0}, q = {0}, product = {0};
    CS_AUTO_FREE double *all = cs_alloc(n, sizeof *all);
    CS_AUTO_FREE ritz *order = cs_alloc(n, sizeof *order);
    cs_status status = all && order ? cs_dense_init(&h, n, n) : CS_ERR_MEMORY;
    if (status == CS_OK) status = cs_dense_init(&q, n, k);
    if (status == CS_OK) status = cs_dense_init(&product, b->rows, k);
    if (status == CS_OK) status = cs_gemm(true, false, 1, b, w, 0, &h);
    for (int64_t j = 0; status == CS_OK && j < n; ++j) {
        for (int64_t i = 0; i < j; ++i) {
            double *above = &h.data[i + j * h.ld], *below = &h.data[j + i * h.ld];
            *above = *below = (*above + *below) / 2;
        }
    }
    if (status == CS_OK) status = cs_dense_eigh(&h, all, false);
    for (int64_t j = 0; status == CS_OK && j < n; ++j) {
        order[j] = (ritz){all[j], j};
    }
    if (status == CS_OK) qsort(order, (size_t)n, sizeof *order, larger_modulus);
    for (int64_t j = 0; status == CS_OK && j < k; ++j) {
        value[j] = order[j].value;
        memcpy(q.data + j * q.ld, h.data + order[j].index * h.ld, (size_t)n * sizeof *q.data);
    }
    if (status == CS_OK) status = cs_gemm(false, false, 1, b, &q, 0, x);
    if (status == CS_OK) status = cs_gemm(false, false, 1, w, &q, 0, &product);
    for (int64_t j = 0; status == CS_OK && j < k; ++j) {
        double *y = product.data + j * product.ld;
        cs_add_multiple(x->rows, -value[j], x->data + j * x->ld, y);
        residual[j] = sqrt(cs_inner(x->rows, y, y));
    }
    return status;
}

/* Replaces the triplets; the arrays are moved. */
static void replace(const cs_spectrum_options *o, cs_dense *x, double **value, double **residual,
                    cs_spectrum *s)
{
    for (int64_t j = 0; j < s->k; ++j) {
        const double sign = (*value)[j] < 0 ? -1 : 1;
        s->sigma[j] = fabs((*value)[j]);
        for (int64_t i = 0; i < s->u.rows; ++i) {
            s->u.data[i + j * s->u.ld] = sign * x->data[column_of(o, i) + j * x->ld];
        }
    }
    cs_dense_free(&s->v);
    s->v = *x;
    *x = (cs_dense){0};
    cs_free(s->residual);
    s->residual = *residual;
    s->eigenvalue = *value;
    *residual = *value = NULL;
}

cs_status cs_spectrum_signed(const cs_system *system, const cs_spectrum_options *o, cs_spectrum *s)
{
    CS_AUTO(cs_dense) b = {0}, w = {0}, x = {0};
    CS_AUTO_FREE double *value = cs_alloc(s->k, sizeof *value);
    CS_AUTO_FREE double *residual = cs_alloc(s->k, sizeof *residual);
    cs_status status = value && residual ? CS_OK : CS_ERR_MEMORY;
    if (status == CS_OK) status = basis_of(s, o, system->tol, &b);
    if (status == CS_OK && b.cols < s->k) return CS_OK; /* the v are not independent */
    if (status == CS_OK) status = product_of(system, o, &b, &w);
    if (status == CS_OK) status = cs_dense_init(&x, b.rows, s->k);
    if (status == CS_OK) status = ritz_pairs(&b, &w, s->k, &x, value, residual);
    if (status == CS_OK && s->k > 0 && cs_largest(s->k, residual) <= system->tol * fabs(value[0])) {
        replace(o, &x, &value, &residual, s);
        cs_certificate_residual(system->tol, s);
    }
    return status;
}
