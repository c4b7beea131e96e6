/* Spectra as (value, multiplicity), and the dense SVD with its residual.
 *
 * The floor of a dense SVD is 4 max(m, n) eps sigma_1: the backward error of gesdd is a modest
 * multiple of eps ||A||, and sigma_1 = 1 here, so a true zero comes out below it. */
#include "base/auto.h"
#include "toy/toy_spectrum_private.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/threads.h"

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
