/* Abar = A / sqrt(P_C P_G) and its marginals (LA 3.2).
 *
 * Method: entries are divided by the square roots of their row and column sums one after the other,
 * so that no product overflows; the total mass cancels. Sums are compensated (Neumaier 1974): a
 * column of 500,000 entries keeps its last digits, on which the residual of the closed-form vectors
 * rests.
 */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "cooc/compensated_private.h"
#include "cooc/spectrum_private.h"

cs_status cs_masses(const cs_csr *a, double *row, double *col)
{
    double *lost = cs_calloc(a->cols, sizeof *lost);
    if (!lost) return CS_ERR_MEMORY;
    memset(col, 0, (size_t)a->cols * sizeof *col);
    for (int64_t i = 0; i < a->rows; ++i) {
        double sum = 0, rest = 0;
        for (int64_t e = a->ptr[i]; e < a->ptr[i + 1]; ++e) {
            cs_add_compensated(&sum, &rest, a->val[e]);
            cs_add_compensated(&col[a->col[e]], &lost[a->col[e]], a->val[e]);
        }
        row[i] = sum + rest;
    }
    for (int64_t j = 0; j < a->cols; ++j) {
        col[j] += lost[j];
    }
    cs_free(lost);
    return CS_OK;
}

static double total(const double *mass, int64_t n)
{
    double sum = 0, lost = 0;
    for (int64_t i = 0; i < n; ++i) {
        cs_add_compensated(&sum, &lost, mass[i]);
    }
    return sum + lost;
}

/* Masses to probabilities. */
static void scale_to_one(double *mass, int64_t n)
{
    double sum = total(mass, n);
    for (int64_t i = 0; i < n && sum > 0; ++i) {
        mass[i] /= sum;
    }
}

static cs_status copy_pattern(const cs_csr *a, cs_csr *out)
{
    int64_t nnz = cs_csr_nnz(a);
    cs_status status = cs_csr_init(out, a->rows, a->cols, nnz);
    if (status == CS_OK && nnz > 0) {
        memcpy(out->ptr, a->ptr, (size_t)(a->rows + 1) * sizeof *a->ptr);
        memcpy(out->col, a->col, (size_t)nnz * sizeof *a->col);
    }
    return status;
}

/* cs_normalise of a matrix that was checked. */
static cs_status normalise(const cs_csr *a, cs_csr *abar, double *row_mass, double *col_mass)
{
    cs_status status = CS_OK;
    cs_csr b = {0};
    double *row = cs_alloc(a->rows, sizeof *row), *col = cs_alloc(a->cols, sizeof *col);
    if (!row || !col) {
        status = CS_ERR_MEMORY;
        goto done;
    }
    if ((status = cs_masses(a, row, col)) != CS_OK) goto done;
    if (!isfinite(total(row, a->rows))) {
        status = cs_fail(CS_ERR_INPUT, "the sum of the matrix overflows");
        goto done;
    }
    if ((status = copy_pattern(a, &b)) != CS_OK) goto done;
    for (int64_t i = 0; i < a->rows; ++i) {
        for (int64_t e = a->ptr[i]; e < a->ptr[i + 1]; ++e) {
            double x = a->val[e];
            b.val[e] = x > 0 ? x / sqrt(row[i]) / sqrt(col[a->col[e]]) : 0;
        }
    }
    if (row_mass) {
        memcpy(row_mass, row, (size_t)a->rows * sizeof *row);
        scale_to_one(row_mass, a->rows);
    }
    if (col_mass) {
        memcpy(col_mass, col, (size_t)a->cols * sizeof *col);
        scale_to_one(col_mass, a->cols);
    }
    *abar = b;
    b = (cs_csr){0};
done:
    cs_csr_free(&b);
    cs_free(row);
    cs_free(col);
    return status;
}

cs_status cs_normalise(const cs_csr *a, cs_csr *abar, double *row_mass, double *col_mass)
{
    cs_status status = cs_csr_check(a, true);
    return status == CS_OK ? normalise(a, abar, row_mass, col_mass) : status;
}

void cs_system_free(cs_system *system)
{
    cs_csr_free(&system->own);
    cs_csr_free(&system->abar_t);
    cs_free(system->row_mass);
    cs_free(system->col_mass);
    cs_reduction_free(&system->reduced);
    *system = (cs_system){0};
}

static bool any_nonzero(const cs_csr *a)
{
    int64_t nnz = cs_csr_nnz(a);
    for (int64_t e = 0; e < nnz; ++e) {
        if (a->val[e] != 0) {
            return true;
        }
    }
    return false;
}

static cs_status default_tolerance(cs_system *s)
{
    const cs_csr *tall = cs_system_one_pass(s);
    double rounding = 0;
    cs_status status = tall ? cs_csr_rounding(tall, NULL, &rounding)
                            : cs_csr_rounding(s->abar, &s->abar_t, &rounding);
    s->tol = cs_default_tolerance(rounding);
    return status;
}

cs_status cs_system_of(const cs_csr *a, const cs_spectrum_options *options, cs_system *out)
{
    bool any_scale = options->normalised && !options->scaled;
    cs_system s = {0};
    cs_status status = cs_csr_check(a, !options->normalised);
    if (status != CS_OK) return status;
    if (!any_nonzero(a)) {
        return cs_fail(CS_ERR_INPUT, "the matrix (%lld x %lld) has no nonzero entry",
                       (long long)a->rows, (long long)a->cols);
    }
    if (!options->normalised) {
        s.row_mass = cs_alloc(a->rows, sizeof *s.row_mass);
        s.col_mass = cs_alloc(a->cols, sizeof *s.col_mass);
        status =
            s.row_mass && s.col_mass ? normalise(a, &s.own, s.row_mass, s.col_mass) : CS_ERR_MEMORY;
    }
    s.exponent = any_scale ? cs_scale_exponent(cs_csr_largest(a)) : 0;
    if (s.exponent != 0 && (status = copy_pattern(a, &s.own)) == CS_OK) {
        memcpy(s.own.val, a->val, (size_t)cs_csr_nnz(a) * sizeof *a->val);
        cs_scale_down(s.exponent, &s.own);
    }
    bool as_it_stands = options->normalised && s.exponent == 0;
    s.abar = as_it_stands ? a : &s.own;
    if (status == CS_OK)
        status = cs_reduce(options->normalised ? s.abar : a, options, &s.components, &s.reduced);
    if (status == CS_OK) status = cs_reduction_transpose(s.abar, &s.abar_t, &s.reduced);
    s.tol = options->tol;
    if (status == CS_OK && s.tol == 0) status = default_tolerance(&s);
    if (status != CS_OK) {
        cs_system_free(&s);
        return status;
    }
    *out = s;
    out->abar = as_it_stands ? a : &out->own; /* `s` goes away */
    return CS_OK;
}
