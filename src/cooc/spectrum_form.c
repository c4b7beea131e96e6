/* A form as an operator, and its sums of powers, from its sparse matrix S and its part of rank one.
 *
 * Method. With z = S^T l - r |l|^2 / 2, (S - l r^T)^T (S - l r^T) = S^T S - z r^T - r z^T, so that
 *
 *   sum sigma^2 = sum over entries of ((S - l r)^2 - (l r)^2) + |l|^2 |r|^2,
 *   sum sigma^4 = ||S^T S||_F^2 - 4 (S z, S r) + 2 |z|^2 |r|^2 + 2 (z, r)^2.
 *
 * Limits: differences, whose rounding is relative to (||S||_F + |l| |r|)^2, or its square. */
#include <math.h>
#include <string.h>

#include "base/auto.h"
#include "cooc/compensated_private.h"
#include "cooc/spectrum_stages_private.h"

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
