/* Ridge by the eigenvectors of Z^T Z, which serve every penalty: with Z^T Z = Q diag(w) Q^T, the
 * fit is ybar + Z Q diag(1 / (w + penalty)) Q^T Z^T (Y - ybar) and
 * h_ii = 1/n + sum_j (Z Q)_ij^2 / (w_j + penalty). Golub, Heath, Wahba, Technometrics 21 (1979).
 * Eigenvalues below 1e-12 of the largest are rounding and dropped.
 */
#include "analysis/measures/ridge_private.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"

enum { PENALTIES = 17 };
static const double FLOOR = 1e-12;

typedef struct {
    cs_pool pool; /* of all below */
    int64_t n;
    cs_dense z;     /* n x features, then Z Q */
    cs_dense q;     /* eigenvectors */
    cs_dense c;     /* Q^T Z^T (Y - ybar): features x classes */
    double *w;      /* eigenvalues */
    int32_t *label; /* n */
    double *fitted; /* classes */
} work;

void cs_ridge_free(cs_ridge *ridge)
{
    cs_pool_free(&ridge->pool);
    memset(ridge, 0, sizeof *ridge);
}

/* Rows with features into w->z, standardised; class shares into the intercept. */
static cs_status standardise(const cs_dense *x, const int32_t *label, cs_ridge *r, work *w)
{
    for (int64_t i = 0; i < x->rows; ++i) {
        if (label[i] < 0 || label[i] >= r->classes) {
            return cs_fail(CS_ERR_INPUT, "row %lld: label %d is not in 0..%lld", (long long)i,
                           (int)label[i], (long long)r->classes - 1);
        }
        w->n += !isnan(x->data[i]);
    }
    if (w->n < 2) {
        return cs_fail(CS_ERR_INPUT, "%lld training rows have features, but at least 2 are needed",
                       (long long)w->n);
    }
    w->z = cs_dense_in(&w->pool, w->n, r->features);
    w->label = cs_pool_take(&w->pool, w->n, sizeof *w->label);
    if (!w->label) return CS_ERR_MEMORY;
    for (int64_t i = 0, k = 0; i < x->rows; ++i) {
        if (!isnan(x->data[i])) {
            r->intercept[label[i]] += 1 / (double)w->n;
            w->label[k++] = label[i];
        }
    }
    for (int64_t j = 0; j < r->features; ++j) {
        double *z = w->z.data + j * w->z.ld, sum = 0, square = 0, largest = 0;
        for (int64_t i = 0, k = 0; i < x->rows; ++i) {
            if (!isnan(x->data[i])) {
                z[k] = x->data[i + j * x->ld];
                largest = fmax(largest, fabs(z[k]));
                sum += z[k++];
            }
        }
        r->mean[j] = sum / (double)w->n;
        for (int64_t k = 0; k < w->n; ++k) {
            z[k] -= r->mean[j];
            square += z[k] * z[k];
        }
        double deviation = sqrt(square / (double)w->n);
        r->scale[j] = deviation > FLOOR * largest ? 1 / deviation : 0;
        for (int64_t k = 0; k < w->n; ++k) {
            z[k] *= r->scale[j];
        }
    }
    return CS_OK;
}

/* Q, w, Z Q in z, and c. */
static cs_status decompose(const cs_ridge *r, work *w)
{
    cs_dense zq = cs_dense_in(&w->pool, w->n, r->features);
    w->q = cs_dense_in(&w->pool, r->features, r->features);
    w->c = cs_dense_in(&w->pool, r->features, r->classes);
    w->w = cs_pool_take(&w->pool, r->features, sizeof *w->w);
    w->fitted = cs_pool_take(&w->pool, r->classes, sizeof *w->fitted);
    cs_status status = w->pool.status;
    if (status == CS_OK) status = cs_gemm(true, false, 1, &w->z, &w->z, 0, &w->q);
    if (status == CS_OK) status = cs_dense_eigh(&w->q, w->w, false);
    if (status == CS_OK) status = cs_gemm(false, false, 1, &w->z, &w->q, 0, &zq);
    if (status != CS_OK) return status;
    w->z = zq;
    for (int64_t j = 0; j < r->features; ++j) {
        const double *z = w->z.data + j * w->z.ld;
        for (int64_t i = 0; i < w->n; ++i) { /* Z is centred: Z^T ybar = 0 */
            w->c.data[j + w->label[i] * w->c.ld] += z[i];
        }
    }
    return CS_OK;
}

static bool kept(const cs_ridge *r, const work *w, int64_t j)
{
    return w->w[j] > FLOOR * fmax(w->w[r->features - 1], 0);
}

/* PRESS a row; infinite when a row determines its own fit. */
static double leave_one_out(const cs_ridge *r, const work *w, double penalty)
{
    double total = 0;
    for (int64_t i = 0; i < w->n; ++i) {
        double h = 1 / (double)w->n, square = 0;
        memcpy(w->fitted, r->intercept, (size_t)r->classes * sizeof *w->fitted);
        for (int64_t j = 0; j < r->features; ++j) {
            if (!kept(r, w, j)) {
                continue;
            }
            double z = w->z.data[i + j * w->z.ld], share = z / (w->w[j] + penalty);
            h += z * share;
            for (int64_t c = 0; c < r->classes; ++c) {
                w->fitted[c] += share * w->c.data[j + c * w->c.ld];
            }
        }
        for (int64_t c = 0; c < r->classes; ++c) {
            double e = (c == w->label[i]) - w->fitted[c];
            square += e * e;
        }
        if (!(1 - h > FLOOR)) {
            return INFINITY;
        }
        total += square / ((1 - h) * (1 - h));
    }
    return total / (double)w->n;
}

/* weight = Q diag(1 / (w + penalty)) c. */
static cs_status solve(cs_ridge *r, work *w)
{
    for (int64_t j = 0; j < r->features; ++j) {
        double share = kept(r, w, j) ? 1 / (w->w[j] + r->penalty) : 0;
        for (int64_t c = 0; c < r->classes; ++c) {
            w->c.data[j + c * w->c.ld] *= share;
        }
    }
    return cs_gemm(false, false, 1, &w->q, &w->c, 0, &r->weight);
}

cs_status cs_ridge_fit(const cs_dense *x, const int32_t *label, int64_t classes, cs_ridge *out)
{
    cs_ridge r = {.features = x->cols, .classes = classes, .loo = INFINITY};
    work w = {0};
    r.weight = cs_dense_in(&r.pool, r.features, classes);
    CS_POOL_FIELDS(&r.pool, r.features, &r, mean, scale);
    r.intercept = cs_pool_take(&r.pool, classes, sizeof *r.intercept);
    cs_status status = r.pool.status;
    if (status == CS_OK) status = standardise(x, label, &r, &w);
    if (status == CS_OK) status = decompose(&r, &w);
    for (int i = PENALTIES - 1; i >= 0 && status == CS_OK; --i) {
        double penalty = (double)w.n * pow(10, -6 + 0.5 * i);
        double loo = leave_one_out(&r, &w, penalty);
        if (loo < r.loo || i == PENALTIES - 1) {
            r.loo = loo;
            r.penalty = penalty;
        }
    }
    if (status == CS_OK) status = solve(&r, &w);
    cs_pool_free(&w.pool);
    return CS_DELIVER(status, out, r, cs_ridge_free);
}

int32_t cs_ridge_predict(const cs_ridge *r, const cs_dense *x, int64_t i)
{
    bool missing = isnan(x->data[i]);
    int32_t best = 0;
    double most = -INFINITY;
    for (int64_t c = 0; c < r->classes; ++c) {
        double score = r->intercept[c];
        for (int64_t j = 0; j < r->features && !missing; ++j) {
            double z = (x->data[i + j * x->ld] - r->mean[j]) * r->scale[j];
            score += z * r->weight.data[j + c * r->weight.ld];
        }
        if (score > most) {
            most = score;
            best = (int32_t)c;
        }
    }
    return best;
}
