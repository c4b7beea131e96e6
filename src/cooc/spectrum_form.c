/* A form as an operator, and its sums of powers, from its sparse matrix S and its part of rank one.
 *
 * Method. With z = S^T l - r |l|^2 / 2, (S - l r^T)^T (S - l r^T) = S^T S - z r^T - r z^T, so that
 *
 *   sum sigma^2 = sum over entries of ((S - l r)^2 - (l r)^2) + |l|^2 |r|^2,
 *   sum sigma^4 = ||S^T S||_F^2 - 4 (S z, S r) + 2 |z|^2 |r|^2 + 2 (z, r)^2.
 *
 * Where more than half of the pairs occur, l r^T would cancel most of S, and the matrix is stored
 * whole: it has less than twice the entries.
 *
 * Limits: differences, whose rounding is relative to (||S||_F + |l| |r|)^2, or its square. */
#include <math.h>
#include <string.h>

#include "base/auto.h"
#include "base/mem.h"
#include "cooc/compensated_private.h"
#include "cooc/reduce.h"
#include "cooc/spectrum_stages_private.h"

static double largest_modulus(int64_t n, const double *x)
{
    double largest = 0;
    for (int64_t i = 0; i < n; ++i) {
        largest = fmax(largest, fabs(x[i]));
    }
    return largest;
}

void cs_matrix_form_scale(int exponent, cs_csr *a, double *left)
{
    cs_scale_down(exponent, a);
    for (int64_t i = 0; exponent != 0 && i < a->rows; ++i) {
        left[i] = ldexp(left[i], -exponent);
    }
}

/* Whether more than half of the pairs of contexts and tokens with mass occur. */
static bool most_occur(const cs_system *s, int64_t rows, int64_t cols)
{
    double contexts = 0, tokens = 0;
    for (int64_t i = 0; i < rows; ++i) {
        contexts += s->row_mass[i] > 0;
    }
    for (int64_t j = 0; j < cols; ++j) {
        tokens += s->col_mass[j] > 0;
    }
    return 2 * (double)s->entries.count > contexts * tokens;
}

cs_status cs_system_form(const cs_csr *a, const cs_matrix_form *form, cs_system *s)
{
    bool term = false;
    double *const left = cs_calloc(a->rows, sizeof *left);
    double *const right = cs_calloc(a->cols, sizeof *right);
    s->term[CS_LEFT] = left;
    s->term[CS_RIGHT] = right;
    s->row_mass = cs_alloc(a->rows, sizeof *s->row_mass);
    s->col_mass = cs_alloc(a->cols, sizeof *s->col_mass);
    cs_status status = left && right && s->row_mass && s->col_mass ? CS_OK : CS_ERR_MEMORY;
    if (status == CS_OK) status = cs_masses(a, s->row_mass, s->col_mass);
    if (status == CS_OK) status = cs_csr_copy(a, &s->own);
    if (status == CS_OK) status = cs_matrix_form_apply(form, &s->own, left, right, &term);
    if (status == CS_OK && term && most_occur(s, a->rows, a->cols)) {
        cs_csr_free(&s->own);
        term = false;
        status = cs_matrix_form_whole(form, a, &s->own);
    }
    if (status != CS_OK) return status;
    const cs_csr_entries sparse = cs_csr_entries_of(&s->own);
    double largest = sparse.largest;
    if (term) {
        const double outer = largest_modulus(a->rows, left) * largest_modulus(a->cols, right);
        largest = fmax(largest, outer);
    } else {
        s->entries = sparse;
    }
    if (largest == 0) {
        return cs_fail(CS_ERR_INPUT, "form \"%s\" of the matrix is 0 everywhere",
                       cs_matrix_form_text(form));
    }
    s->exponent = cs_scale_exponent(largest);
    cs_matrix_form_scale(s->exponent, &s->own, left);
    if (!term) {
        s->entries.least = ldexp(s->entries.least, -s->exponent);
        s->entries.largest = ldexp(s->entries.largest, -s->exponent);
        CS_FREE_FIELDS(s, term[CS_LEFT], term[CS_RIGHT]);
        s->term[CS_LEFT] = s->term[CS_RIGHT] = NULL;
    }
    return CS_OK;
}

cs_status cs_matrix_form_operator_open(const cs_csr *a, const cs_csr *at, double *const term[2],
                                       int threads, cs_matrix_form_operator *out)
{
    *out = (cs_matrix_form_operator){0};
    out->sparse = cs_linop_csr(&out->csr, a, at, threads);
    out->op = out->sparse;
    return term[CS_LEFT]
               ? cs_linop_outer(&out->outer, &out->sparse, term[CS_LEFT], term[CS_RIGHT], &out->op)
               : CS_OK;
}

void cs_matrix_form_operator_close(cs_matrix_form_operator *op)
{
    cs_linop_outer_ctx_free(&op->outer);
}

static double square(int64_t n, const double *x)
{
    return cs_dot(n, x, x);
}

double cs_matrix_form_magnitude(const cs_csr *a, double *const term[2])
{
    if (!term[CS_LEFT]) return 0;
    const double outer = square(a->rows, term[CS_LEFT]) * square(a->cols, term[CS_RIGHT]);
    const double norm = sqrt(cs_moment2(a)) + sqrt(outer);
    return norm * norm;
}

double cs_system_moment2(const cs_system *system)
{
    const cs_csr *a = system->abar;
    const double *l = system->term[CS_LEFT], *r = system->term[CS_RIGHT];
    if (!l) return cs_moment2(cs_system_gram(system) ? &system->reduced.a : a);
    double sum = square(a->rows, l) * square(a->cols, r), lost = 0;
    for (int64_t i = 0; i < a->rows; ++i) {
        for (int64_t e = a->ptr[i]; e < a->ptr[i + 1]; ++e) {
            const double x = a->val[e], outer = l[i] * r[a->col[e]];
            cs_add_compensated(&sum, &lost, x * (x - 2 * outer));
        }
    }
    return sum + lost;
}

cs_status cs_matrix_form_moment4(const cs_csr *a, const cs_csr *at, double *const term[2],
                                 int threads, double *sum)
{
    if (!term[CS_LEFT]) return CS_OK;
    cs_matrix_form_operator form = {0};
    CS_AUTO(cs_dense) right = {0}, left = {0};
    const double *r = term[CS_RIGHT], *z = NULL;
    cs_status status = cs_matrix_form_operator_open(a, at, term, threads, &form);
    if (status == CS_OK) status = cs_dense_init(&right, a->cols, 2);
    if (status == CS_OK) status = cs_dense_init(&left, a->rows, 2);
    if (status == CS_OK) {
        z = form.outer.correction[false];
        memcpy(right.data, z, (size_t)a->cols * sizeof *z);
        memcpy(right.data + right.ld, r, (size_t)a->cols * sizeof *r);
        status = cs_linop_apply(&form.sparse, false, &right, &left);
    }
    if (status == CS_OK) {
        const double cross = cs_dot(a->rows, left.data, left.data + left.ld);
        const double along = cs_dot(a->cols, z, r);
        *sum += -4 * cross + 2 * square(a->cols, z) * square(a->cols, r) + 2 * along * along;
    }
    cs_matrix_form_operator_close(&form);
    return status;
}
