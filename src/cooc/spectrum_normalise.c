/* Abar = A / sqrt(P_C P_G) and its marginals (LA 3.2).
 *
 * Method: entries are divided by the square roots of their row and column sums one after the other,
 * so that no product overflows; the total mass cancels. Sums are compensated (Neumaier 1974): a
 * column of 500,000 entries keeps its last digits, on which the residual of the closed-form vectors
 * rests.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/ints.h"
#include "base/mem.h"
#include "base/reals.h"
#include "base/threads.h"
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

/* Masses, in place, by their sum. */
static void scale_to_one(int64_t n, double *mass)
{
    double sum = cs_sum(n, mass);
    if (sum > 0) cs_divide(n, sum, mass);
}

typedef struct {
    cs_csr *a;
    const double *row; /* sums */
    double *col;       /* roots of sums */
} division;

enum { DIVIDED = 4096 }; /* rows of an item */

static cs_status divide_rows(void *ctx, int64_t item)
{
    const division *d = ctx;
    int64_t first = item * DIVIDED, end = cs_least(first + DIVIDED, d->a->rows);
    for (int64_t i = first; i < end; ++i) {
        const double root = sqrt(d->row[i]);
        for (int64_t e = d->a->ptr[i]; e < d->a->ptr[i + 1]; ++e) {
            double x = d->a->val[e];
            d->a->val[e] = x > 0 ? x / root / d->col[d->a->col[e]] : 0;
        }
    }
    return CS_OK;
}

cs_status cs_divide_by_roots(cs_csr *a, const double *row, const double *col)
{
    division d = {a, row, cs_alloc(a->cols, sizeof *d.col)};
    if (!d.col) return CS_ERR_MEMORY;
    for (int64_t j = 0; j < a->cols; ++j) {
        d.col[j] = sqrt(col[j]);
    }
    cs_status status = cs_parallel((a->rows + DIVIDED - 1) / DIVIDED, 0, divide_rows, &d);
    cs_free(d.col);
    return status;
}

/* Abar of a matrix that was checked, and its marginals, not yet scaled to one. */
static cs_status normalise(const cs_csr *a, cs_csr *abar, double *row, double *col)
{
    cs_status status = cs_masses(a, row, col);
    if (status == CS_OK && !isfinite(cs_sum(a->rows, row)))
        status = cs_fail(CS_ERR_INPUT, "the sum of the matrix overflows");
    if (status == CS_OK) status = cs_csr_copy(a, abar);
    return status ? status : cs_divide_by_roots(abar, row, col);
}

cs_status cs_normalise(const cs_csr *a, cs_csr *abar, double *row_mass, double *col_mass)
{
    cs_pool pool = {0};
    double *row = row_mass ? row_mass : cs_pool_take(&pool, a->rows, sizeof *row);
    double *col = col_mass ? col_mass : cs_pool_take(&pool, a->cols, sizeof *col);
    cs_status status = pool.status ? pool.status : cs_csr_check(a, true);
    if (status == CS_OK) status = normalise(a, abar, row, col);
    if (status == CS_OK) {
        scale_to_one(a->rows, row);
        scale_to_one(a->cols, col);
    }
    cs_pool_free(&pool);
    return status;
}

void cs_system_free(cs_system *system)
{
    if (!system->abar || system->abar_t.ptr != system->abar->ptr) {
        cs_csr_free(&system->abar_t);
    }
    cs_csr_free(&system->own);
    CS_FREE_FIELDS(system, row_mass, col_mass);
    cs_reduction_free(&system->reduced);
    *system = (cs_system){0};
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
    cs_system s = {0};
    cs_status status = cs_csr_check_rows(a, options->rows, !options->normalised);
    if (status != CS_OK) return status;
    s.entries = cs_csr_entries_of(a);
    if (s.entries.count == 0) {
        return cs_fail(CS_ERR_INPUT, "the matrix (%lld x %lld) has no nonzero entry",
                       (long long)cs_spectrum_rows(a, options), (long long)a->cols);
    }
    if (!options->normalised) {
        s.row_mass = cs_alloc(a->rows, sizeof *s.row_mass);
        s.col_mass = cs_alloc(a->cols, sizeof *s.col_mass);
        status =
            s.row_mass && s.col_mass ? normalise(a, &s.own, s.row_mass, s.col_mass) : CS_ERR_MEMORY;
    } else if (!options->scaled) {
        s.exponent = cs_scale_exponent(s.entries.largest);
        s.exponent += a->gram && s.exponent % 2 != 0; /* its root is a power of two too */
    }
    if (s.exponent != 0 && (status = cs_csr_copy(a, &s.own)) == CS_OK) {
        cs_scale_down(s.exponent, &s.own);
        s.entries.least = ldexp(s.entries.least, -s.exponent);
        s.entries.largest = ldexp(s.entries.largest, -s.exponent);
        if (s.entries.least < DBL_MIN) s.entries = cs_csr_entries_of(&s.own); /* some may be 0 */
    }
    s.own.gram = a->gram;
    bool as_it_is = options->normalised && s.exponent == 0;
    s.abar = as_it_is ? a : &s.own;
    if (status == CS_OK) status = cs_reduce(options->normalised ? s.abar : a, options, &s);
    if (status == CS_OK && !options->normalised) { /* the reduction wants sums */
        scale_to_one(a->rows, s.row_mass);
        scale_to_one(a->cols, s.col_mass);
    }
    if (status == CS_OK && a->gram) status = cs_gram_check(&s.reduced.a);
    if (status == CS_OK) status = cs_reduction_transpose(s.abar, &s.abar_t, &s.reduced);
    s.tol = options->tol;
    if (status == CS_OK && s.tol == 0) status = default_tolerance(&s);
    if (status != CS_OK) {
        cs_system_free(&s);
        return status;
    }
    *out = s;
    out->abar = as_it_is ? a : &out->own; /* `s` goes away */
    return CS_OK;
}
