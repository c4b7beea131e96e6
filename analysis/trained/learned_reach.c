/* The least loss that pooled linear attention can reach on a toy model (learned_factors.h).
 *
 * F with columns in the span of features Phi (rows scaled by sqrt(P_C)): the best M of rank d is
 * the rank d truncation of Q Q^T Abar, Q an orthonormal basis of the span, so that min L_2 = -(sum
 * of the d largest sigma_i(Q^T Abar)^2). Q comes from the eigenvectors of Phi Phi^T, a kernel of
 * the number of tokens that two contexts share: with c common tokens, n^(1-p) [token in X] has
 * n_X^(1-p) n_Y^(1-p) c, and n^-p [tokens a and b in X] over all ordered pairs has n_X^-p n_Y^-p
 * c^2. Quadratic forms never need the features themselves. */
#include <math.h>

#include "analysis/trained/learned_factors.h"
#include "base/mem.h"

enum { MOST_CONTEXTS = 1500 };
static const double DEPENDENT = 1e-10; /* eigenvalues below, relative, are rounding */

static int64_t common(const cs_toy_contexts *c, int64_t x, int64_t y)
{
    int64_t i = c->ptr[x], j = c->ptr[y], count = 0;
    while (i < c->ptr[x + 1] && j < c->ptr[y + 1]) {
        int32_t a = c->token[i], b = c->token[j];
        count += a == b;
        i += a <= b;
        j += b <= a;
    }
    return count;
}

/* sqrt(P_C) n^-power, 0 for no token. */
static double row_scale(const cs_learned_target *t, const cs_toy_contexts *c, int64_t x,
                        double power)
{
    int64_t n = c->ptr[x + 1] - c->ptr[x];
    return n > 0 ? t->problem.root_row[x] * pow((double)n, -power) : 0.0;
}

static cs_status kernel(const cs_learned_target *t, const cs_toy_contexts *c, double pooling,
                        bool pairs, cs_dense *out)
{
    cs_status status = cs_dense_init(out, c->a.rows, c->a.rows);
    double power = pairs ? pooling : pooling - 1.0;
    for (int64_t y = 0; status == CS_OK && y < out->cols; ++y) {
        double scale = row_scale(t, c, y, power);
        for (int64_t x = 0; x < out->rows; ++x) {
            double shared = (double)common(c, x, y);
            out->data[x + y * out->ld] =
                row_scale(t, c, x, power) * scale * (pairs ? shared * shared : shared);
        }
    }
    return status;
}

static cs_status least(const cs_learned_target *t, cs_dense *gram, int64_t width, double *out)
{
    int64_t n = gram->rows, first = 0;
    cs_dense abar = {0};
    cs_pool pool = {0};
    double *values = cs_pool_take(&pool, n, sizeof *values);
    double *sigma = cs_pool_take(&pool, t->problem.abar.cols, sizeof *sigma);
    cs_status status = pool.status;
    if (status == CS_OK) status = cs_dense_eigh(gram, values, false);
    while (status == CS_OK && first < n && values[first] <= DEPENDENT * values[n - 1]) {
        ++first;
    }
    if (status == CS_OK) status = cs_csr_to_dense(&t->problem.abar, &abar);
    *out = 0.0;
    if (status == CS_OK && first < n) {
        cs_dense q = {n, n - first, gram->ld, gram->data + first * gram->ld};
        cs_dense inside = cs_dense_in(&pool, q.cols, abar.cols);
        status = pool.status;
        if (status == CS_OK) status = cs_gemm(true, false, 1.0, &q, &abar, 0.0, &inside);
        if (status == CS_OK) status = cs_dense_svd(&inside, sigma, NULL, NULL);
        for (int64_t i = 0; status == CS_OK && i < width && i < q.cols && i < abar.cols; ++i) {
            *out -= sigma[i] * sigma[i];
        }
    }
    cs_dense_free(&abar);
    cs_pool_free(&pool);
    return status;
}

cs_status cs_linear_reach_of(const cs_learned_target *target, const cs_toy_contexts *contexts,
                             int64_t width, double pooling, cs_linear_reach *out)
{
    *out = (cs_linear_reach){NAN, NAN};
    double *value[] = {&out->uniform, &out->any};
    cs_status status = CS_OK;
    for (int i = 0; i < 2 && status == CS_OK && contexts->a.rows <= MOST_CONTEXTS; ++i) {
        cs_dense gram = {0};
        status = kernel(target, contexts, pooling, i == 1, &gram);
        if (status == CS_OK) status = least(target, &gram, width, value[i]);
        cs_dense_free(&gram);
    }
    return status;
}
