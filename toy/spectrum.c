/* Spectra as (value, multiplicity), and the dense SVD with its residual.
 *
 * The floor of a dense SVD is 4 max(m, n) eps sigma_1: the backward error of gesdd is a modest
 * multiple of eps ||A||, and sigma_1 = 1 here, so a true zero comes out below it. */
#include "toy/spectrum.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static const double same_value = 1e-9;

void cs_toy_spectrum_free(cs_toy_spectrum *spectrum)
{
    cs_free(spectrum->sigma);
    cs_free(spectrum->multiplicity);
    memset(spectrum, 0, sizeof *spectrum);
}

cs_status cs_toy_values_init(cs_toy_values *values, int64_t room)
{
    cs_toy_values local = {.room = room};
    local.sigma = cs_alloc(room, sizeof *local.sigma);
    local.multiplicity = cs_alloc(room, sizeof *local.multiplicity);
    *values = local;
    return local.sigma && local.multiplicity ? CS_OK : CS_ERR_MEMORY;
}

void cs_toy_values_free(cs_toy_values *values)
{
    cs_free(values->sigma);
    cs_free(values->multiplicity);
    memset(values, 0, sizeof *values);
}

void cs_toy_values_add(cs_toy_values *values, double sigma, int64_t multiplicity)
{
    if (multiplicity > 0) {
        values->sigma[values->n] = sigma;
        values->multiplicity[values->n] = multiplicity;
        ++values->n;
    }
}

typedef struct {
    double sigma;
    int64_t multiplicity;
} item;

static int descending(const void *x, const void *y)
{
    double a = ((const item *)x)->sigma, b = ((const item *)y)->sigma;
    return (a < b) - (a > b);
}

cs_status cs_toy_values_group(cs_toy_values *values, double floor, cs_toy_spectrum *out)
{
    cs_toy_spectrum local = {0};
    item *sorted = cs_alloc(values->n, sizeof *sorted);
    local.sigma = cs_alloc(values->n, sizeof *local.sigma);
    local.multiplicity = cs_alloc(values->n, sizeof *local.multiplicity);
    if (!sorted || !local.sigma || !local.multiplicity) {
        cs_free(sorted);
        cs_toy_spectrum_free(&local);
        return CS_ERR_MEMORY;
    }
    int64_t n = 0;
    for (int64_t i = 0; i < values->n; ++i) {
        if (values->sigma[i] > floor) {
            sorted[n++] = (item){values->sigma[i], values->multiplicity[i]};
        }
    }
    qsort(sorted, (size_t)n, sizeof *sorted, descending);
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
    cs_free(sorted);
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

cs_status cs_toy_svd(cs_dense *a, double *sigma, double *residual, double *floor)
{
    int64_t p = a->rows < a->cols ? a->rows : a->cols;
    cs_dense u = {0}, vt = {0}, copy = {0}, av = {0}, atu = {0};
    cs_status status = cs_dense_init(&u, a->rows, p);
    status = status == CS_OK ? cs_dense_init(&vt, p, a->cols) : status;
    status = status == CS_OK ? cs_dense_init(&copy, a->rows, a->cols) : status;
    status = status == CS_OK ? cs_dense_init(&av, a->rows, p) : status;
    status = status == CS_OK ? cs_dense_init(&atu, a->cols, p) : status;
    for (int64_t j = 0; status == CS_OK && j < a->cols; ++j) {
        memcpy(copy.data + j * copy.ld, a->data + j * a->ld, (size_t)a->rows * sizeof *a->data);
    }
    status = status == CS_OK ? cs_dense_svd(a, sigma, &u, &vt) : status;
    status = status == CS_OK ? cs_gemm(false, true, 1, &copy, &vt, 0, &av) : status;
    status = status == CS_OK ? cs_gemm(true, false, 1, &copy, &u, 0, &atu) : status;
    if (status == CS_OK) {
        double left = worst_column(&av, &u, false, sigma);
        double right = worst_column(&atu, &vt, true, sigma);
        *residual = left > right ? left : right;
        int64_t side = a->rows > a->cols ? a->rows : a->cols;
        *floor = 4 * (double)side * DBL_EPSILON * (p > 0 ? sigma[0] : 0);
    }
    cs_dense_free(&u);
    cs_dense_free(&vt);
    cs_dense_free(&copy);
    cs_dense_free(&av);
    cs_dense_free(&atu);
    return status;
}
