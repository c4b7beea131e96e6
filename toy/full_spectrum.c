/* The spectrum of the full toy matrix: what Theorem 4.2 is about, with no reduction of any kind.
 *
 * Dense SVD while rows x cols is modest. Beyond, the Gram matrix of the smaller side and its
 * eigenvalues: exact counting all the same, but singular values below about sqrt(4 n eps) drown in
 * rounding; the source line says so.
 */
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/auto.h"
#include "base/mem.h"
#include "base/threads.h"
#include "cooc/spectrum.h"
#include "toy/toy_spectrum_private.h"

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
    cs_labelled full = {0};
    cs_csr abar = {0}, turned = {0};
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
    cs_labelled_free(&full);
    cs_csr_free(&abar);
    cs_csr_free(&turned);
    return status;
}
