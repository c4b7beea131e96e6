/* Principal angles by cosines and sines, each where it is accurate (Bjorck and Golub 1973). */
#include "analysis/measures/subspace.h"

#include <math.h>

#include "base/auto.h"
#include "base/mem.h"

cs_status cs_principal_angles(const cs_dense *a, const cs_dense *b, double *angle)
{
    if (a->rows != b->rows || a->cols > a->rows || b->cols > b->rows) {
        return cs_fail(CS_ERR_INPUT,
                       "principal angles of %lld x %lld and %lld x %lld subspaces: the numbers of "
                       "rows must be equal and at least the numbers of columns",
                       (long long)a->rows, (long long)a->cols, (long long)b->rows,
                       (long long)b->cols);
    }
    const cs_dense *wide = a->cols >= b->cols ? a : b, *narrow = a->cols >= b->cols ? b : a;
    int64_t p = wide->cols, q = narrow->cols;
    CS_AUTO(cs_pool) pool = {0};
    cs_dense q1 = cs_dense_copy_in(&pool, wide), q2 = cs_dense_copy_in(&pool, narrow);
    cs_dense c = cs_dense_in(&pool, p, q);
    double *cosine = cs_pool_take(&pool, q, sizeof *cosine);
    double *sine = cs_pool_take(&pool, q, sizeof *sine);
    cs_status status = pool.status;
    if (status == CS_OK) status = cs_dense_orthonormalise(&q1);
    if (status == CS_OK) status = cs_dense_orthonormalise(&q2);
    if (status == CS_OK) status = cs_gemm(true, false, 1.0, &q1, &q2, 0.0, &c);
    cs_dense copy = cs_dense_copy_in(&pool, &c);
    if (status == CS_OK) status = pool.status;
    if (status == CS_OK) status = cs_dense_svd(&copy, cosine, NULL, NULL);
    if (status == CS_OK) status = cs_gemm(false, false, -1.0, &q1, &c, 1.0, &q2);
    if (status == CS_OK) status = cs_dense_svd(&q2, sine, NULL, NULL);
    /* Cosines descend, sines descend: the largest cosine belongs to the smallest sine. */
    for (int64_t i = 0; i < q && status == CS_OK; ++i) {
        double s = fmin(sine[q - 1 - i], 1.0), x = fmin(cosine[i], 1.0);
        angle[i] = s * s < 0.5 ? asin(s) : acos(x);
    }
    return status;
}
