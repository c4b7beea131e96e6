/* Spectra as (value, multiplicity), and the dense SVD with its residual.
 *
 * The floor of a dense SVD is 4 max(m, n) eps sigma_1: the backward error of gesdd is a modest
 * multiple of eps ||A||, and sigma_1 = 1 here, so a true zero comes out below it. */
#include "base/auto.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/threads.h"
#include "cooc/spectrum.h"
#include "toy/toy_spectrum_private.h"

static const double same_value = 1e-9;

void cs_toy_spectrum_free(cs_toy_spectrum *spectrum)
{
    CS_FREE_FIELDS(spectrum, sigma, multiplicity);
    memset(spectrum, 0, sizeof *spectrum);
}

void cs_toy_values_add(cs_toy_values *values, double sigma, int64_t multiplicity)
{
    if (multiplicity > 0 && values->status == CS_OK)
        values->status =
            cs_reserve(&values->value, &values->capacity, values->n + 1, sizeof *values->value);
    if (multiplicity > 0 && values->status == CS_OK)
        values->value[values->n++] = (cs_toy_value){sigma, multiplicity};
}

void cs_toy_values_add_ones(cs_toy_values *values, const cs_toy *toy, double empty, int64_t columns)
{
    const bool coupled = toy->objective.empty_prefix == CS_PREFIX_SHARED && empty > 0;
    cs_toy_values_add(values, 1, columns * (coupled ? 1 : toy->classes));
    cs_toy_values_add(values, sqrt(empty < 1 ? 1 - empty : 0),
                      coupled ? columns * (toy->classes - 1) : 0);
}

static int descending(const void *x, const void *y)
{
    double a = ((const cs_toy_value *)x)->sigma, b = ((const cs_toy_value *)y)->sigma;
    return (a < b) - (a > b);
}

cs_status cs_toy_values_group(cs_toy_values *values, cs_toy_spectrum *out)
{
    cs_toy_spectrum local = {.residual = values->residual};
    const cs_toy_value *sorted = values->value;
    if (values->status != CS_OK) return values->status;
    local.sigma = cs_alloc(values->n, sizeof *local.sigma);
    local.multiplicity = cs_alloc(values->n, sizeof *local.multiplicity);
    if (!local.sigma || !local.multiplicity) {
        cs_toy_spectrum_free(&local);
        return CS_ERR_MEMORY;
    }
    if (values->n > 0) qsort(values->value, (size_t)values->n, sizeof *sorted, descending);
    int64_t n = 0;
    while (n < values->n && sorted[n].sigma > values->floor) {
        ++n;
    }
    for (int64_t i = 0; i < n;) {
        double largest = sorted[i].sigma, excess = 0; /* mean = largest - excess / count */
        int64_t count = 0;
        for (; i < n && largest - sorted[i].sigma <= same_value; ++i) {
            double sigma = sorted[i].sigma, times = (double)sorted[i].multiplicity;
            excess += (largest - sigma) * times;
            count += sorted[i].multiplicity;
            local.sum_sigma2 += sigma * sigma * times;
            local.sum_sigma4 += sigma * sigma * sigma * sigma * times;
        }
        local.sigma[local.values] = largest - excess / (double)count;
        local.multiplicity[local.values] = count;
        local.rank += count;
        ++local.values;
    }
    *out = local;
    return CS_OK;
}

/* Largest column norm of x - y diag(sigma). */
static double worst_column(const cs_dense *x, const cs_dense *y, bool y_by_rows,
                           const double *sigma)
{
    double worst = 0;
    for (int64_t j = 0; j < x->cols; ++j) {
        double square = 0;
        for (int64_t i = 0; i < x->rows; ++i) {
            double entry = y_by_rows ? y->data[j + i * y->ld] : y->data[i + j * y->ld];
            double rest = x->data[i + j * x->ld] - sigma[j] * entry;
            square += rest * rest;
        }
        worst = square > worst ? square : worst;
    }
    return sqrt(worst);
}

cs_status cs_toy_values_add_svd(cs_toy_values *values, cs_dense *a, int64_t multiplicity)
{
    int64_t p = a->rows < a->cols ? a->rows : a->cols;
    CS_AUTO(cs_pool) pool = {0};
    cs_dense u = cs_dense_in(&pool, a->rows, p), vt = cs_dense_in(&pool, p, a->cols);
    cs_dense av = cs_dense_in(&pool, a->rows, p), atu = cs_dense_in(&pool, a->cols, p);
    cs_dense copy = cs_dense_copy_in(&pool, a);
    double *sigma = cs_pool_take(&pool, p, sizeof *sigma);
    cs_status status = pool.status;
    if (status == CS_OK) status = cs_interrupt_check();
    if (status == CS_OK) status = cs_dense_svd(a, sigma, &u, &vt);
    if (status == CS_OK) status = cs_gemm(false, true, 1, &copy, &vt, 0, &av);
    if (status == CS_OK) status = cs_gemm(true, false, 1, &copy, &u, 0, &atu);
    if (status == CS_OK) {
        double left = worst_column(&av, &u, false, sigma);
        double right = worst_column(&atu, &vt, true, sigma);
        int64_t side = a->rows > a->cols ? a->rows : a->cols;
        double floor = 4 * (double)side * DBL_EPSILON * (p > 0 ? sigma[0] : 0);
        values->residual = fmax(values->residual, fmax(left, right));
        values->floor = fmax(values->floor, floor);
    }
    for (int64_t j = 0; status == CS_OK && j < p; ++j) {
        cs_toy_values_add(values, sigma[j], multiplicity);
    }
    return status;
}

/* --- the record -------------------------------------------------------------------------------- */

/* The model of a point, in its object and in every row. */
static void add_model(const cs_toy_point *p, cs_item *item)
{
    const cs_toy *toy = p->toy;
    char position[32];
    cs_toy_position(toy, position);
    CS_ITEM_FIELDS(item, p, objective, method);
    CS_ITEM_FIELDS(item, toy, classes, length, tokens);
    cs_item_text(item, "token_sets", toy->literal ? "literal" : "disjoint");
    cs_item_text(item, "empty_prefix", cs_prefix_name(toy->objective.empty_prefix));
    cs_item_text(item, "target_position", position);
}

/* Whole numbers of rows are written as such. */
static void add_number(cs_item *row, const char *key, double x)
{
    if (x == floor(x) && fabs(x) < 1e15) {
        cs_item_int(row, key, (int64_t)x);
    } else {
        cs_item_real(row, key, x);
    }
}

static void add_rows(const cs_toy_point *p, cs_item *rows)
{
    const cs_toy_spectrum *s = &p->spectrum;
    int64_t lo = 0, hi = 0;
    const bool fixed = /* the number of unmasked tokens */
        cs_objective_unmasked(&p->toy->objective, p->toy->length, &lo, &hi) == CS_OK && lo == hi;
    cs_reason_clear();
    for (int64_t i = 0, first = 1; i < s->values; first += s->multiplicity[i++]) {
        cs_item *row = cs_item_object(rows, NULL);
        add_model(p, row);
        if (fixed) {
            cs_item_int(row, "unmasked", lo);
        } else {
            cs_item_text(row, "unmasked", "");
        }
        cs_item_int(row, "position", i + 1);
        cs_item_int(row, "index", first);
        add_number(row, "sigma", s->sigma[i]);
        cs_item_int(row, "multiplicity", s->multiplicity[i]);
        add_number(row, "sum_sigma2", s->sum_sigma2);
        add_number(row, "sum_sigma4", s->sum_sigma4);
        cs_item_int(row, "rank", s->rank);
        add_number(row, "residual", s->residual);
    }
}

void cs_toy_record(const cs_toy_point *p, cs_item *item, cs_item *rows)
{
    const cs_toy_spectrum *s = &p->spectrum;
    add_model(p, item);
    CS_ITEM_FIELDS(item, p, rows, cols, nnz);
    if (!s->sigma) {
        return;
    }
    cs_item *pairs = cs_item_array(item, "spectrum");
    for (int64_t i = 0; i < s->values; ++i) {
        cs_item *pair = cs_item_array(pairs, NULL);
        cs_item_real(pair, NULL, s->sigma[i]);
        cs_item_int(pair, NULL, s->multiplicity[i]);
    }
    CS_ITEM_FIELDS(item, s, sum_sigma2, sum_sigma4, rank, residual, source);
    add_rows(p, rows);
}

/* The spectrum of the full toy matrix: what Theorem 4.2 is about, with no reduction of any kind.
 *
 * Dense SVD while rows x cols is modest. Beyond, the Gram matrix of the smaller side and its
 * eigenvalues: exact counting all the same, but singular values below about sqrt(4 n eps) drown in
 * rounding; the source line says so.
 */
enum { DENSE_LIMIT = 1 << 22, GRAM_LIMIT = 4000 };

static cs_status by_svd(const cs_csr *abar, cs_toy_values *values, cs_toy_spectrum *out)
{
    CS_AUTO(cs_dense) dense = {0};
    cs_status status = cs_csr_to_dense(abar, &dense);
    if (status == CS_OK) status = cs_toy_values_add_svd(values, &dense, 1);
    if (status == CS_OK) status = cs_toy_values_group(values, out);
    if (status == CS_OK)
        (void)snprintf(out->source, sizeof out->source,
                       "enumeration: dense SVD of the full matrix, %" PRId64 " x %" PRId64,
                       abar->rows, abar->cols);
    return status;
}

/* G += x x^T over the rows x. */
static cs_status add_outer_products(const cs_csr *a, cs_dense *gram)
{
    cs_status status = CS_OK;
    for (int64_t i = 0; i < a->rows && status == CS_OK; ++i) {
        for (int64_t e = a->ptr[i]; e < a->ptr[i + 1]; ++e) {
            double *column = gram->data + (int64_t)a->col[e] * gram->ld;
            for (int64_t f = a->ptr[i]; f < a->ptr[i + 1]; ++f) {
                column[a->col[f]] += a->val[e] * a->val[f];
            }
        }
        status = cs_interrupt_check();
    }
    return status;
}

/* Largest ||G v - lambda v|| / sqrt(lambda) over lambda above the floor: with u = A v / sigma, the
 * residual of the singular triplet. */
static double gram_residual(const cs_dense *gv, const cs_dense *v, const double *lambda,
                            double floor)
{
    double worst = 0;
    for (int64_t j = 0; j < v->cols; ++j) {
        double square = 0;
        for (int64_t i = 0; i < v->rows && lambda[j] > floor; ++i) {
            double rest = gv->data[i + j * gv->ld] - lambda[j] * v->data[i + j * v->ld];
            square += rest * rest / lambda[j];
        }
        worst = square > worst ? square : worst;
    }
    return sqrt(worst);
}

static cs_status by_gram(const cs_csr *narrow, cs_toy_values *values, cs_toy_spectrum *out)
{
    int64_t n = narrow->cols;
    CS_AUTO(cs_pool) pool = {0};
    cs_dense gram = cs_dense_in(&pool, n, n), gv = cs_dense_in(&pool, n, n);
    double *lambda = cs_pool_take(&pool, n, sizeof *lambda);
    cs_status status = gram.data ? add_outer_products(narrow, &gram) : CS_OK;
    cs_dense v = cs_dense_copy_in(&pool, &gram);
    status = status ? status : pool.status;
    status = status == CS_OK ? cs_dense_eigh(&v, lambda, false) : status;
    status = status == CS_OK ? cs_gemm(false, false, 1, &gram, &v, 0, &gv) : status;
    double floor = 4 * (double)n * DBL_EPSILON; /* of lambda; lambda_1 = 1 */
    if (status == CS_OK) {
        values->residual = gram_residual(&gv, &v, lambda, floor);
        values->floor = sqrt(floor);
        for (int64_t j = 0; j < n; ++j) {
            cs_toy_values_add(values, lambda[j] > 0 ? sqrt(lambda[j]) : 0, 1);
        }
        status = cs_toy_values_group(values, out);
    }
    if (status == CS_OK) {
        (void)snprintf(out->source, sizeof out->source,
                       "enumeration: eigenvalues of the Gram matrix of the full matrix's smaller "
                       "side, %" PRId64 " of %" PRId64 "; sigma below %.1g is lost",
                       n, narrow->rows, values->floor);
    }
    return status;
}

cs_status cs_toy_enumerate(const cs_toy *toy, int64_t limit, cs_toy_spectrum *out)
{
    CS_AUTO(cs_labelled) full = {0};
    CS_AUTO(cs_csr) abar = {0}, turned = {0};
    cs_toy_values values = {0};
    cs_status status = cs_toy_matrix(toy, limit, &full);
    status = status == CS_OK ? cs_normalise(&full.a, &abar, NULL, NULL) : status;
    status = status == CS_OK ? cs_interrupt_check() : status;
    if (status != CS_OK) goto done;
    const cs_csr *a = &abar;
    int64_t side = a->rows < a->cols ? a->rows : a->cols;
    if ((double)a->rows * (double)a->cols <= DENSE_LIMIT) {
        status = by_svd(a, &values, out);
    } else if (side > GRAM_LIMIT) {
        status = cs_fail(CS_ERR_MEMORY,
                         "enumeration of the toy model: %" PRId64 " x %" PRId64
                         " is too large for a full spectrum (the smaller side must be at most %d)",
                         a->rows, a->cols, GRAM_LIMIT);
    } else if (a->rows < a->cols) {
        status = cs_csr_transpose(a, &turned);
        status = status == CS_OK ? by_gram(&turned, &values, out) : status;
    } else {
        status = by_gram(a, &values, out);
    }
done:
    cs_free(values.value);
    return status;
}
