/* Principal angles by cosines and sines, each where it is accurate (Bjorck and Golub 1973). */
#include "analysis/measures/subspace.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"

static cs_status orthonormal_copy(const cs_dense *a, cs_dense *out)
{
    cs_status status = cs_dense_init(out, a->rows, a->cols);
    if (status != CS_OK) return status;
    for (int64_t j = 0; j < a->cols; ++j) {
        memcpy(out->data + j * out->ld, a->data + j * a->ld, (size_t)a->rows * sizeof(double));
    }
    return cs_dense_orthonormalise(out);
}

cs_status cs_principal_angles(const cs_dense *a, const cs_dense *b, double *angle)
{
    if (a->rows != b->rows || a->cols > a->rows || b->cols > b->rows) {
        return cs_fail(CS_ERR_INPUT,
                       "principal angles of %lld x %lld and %lld x %lld subspaces: rows must agree "
                       "and be no fewer than columns",
                       (long long)a->rows, (long long)a->cols, (long long)b->rows,
                       (long long)b->cols);
    }
    const cs_dense *wide = a->cols >= b->cols ? a : b, *narrow = a->cols >= b->cols ? b : a;
    int64_t p = wide->cols, q = narrow->cols;
    cs_dense q1 = {0}, q2 = {0}, c = {0}, copy = {0};
    double *cosine = cs_alloc(q, sizeof *cosine), *sine = cs_alloc(q, sizeof *sine);
    cs_status status = cosine && sine ? CS_OK : CS_ERR_MEMORY;
    if (status != CS_OK || (status = orthonormal_copy(wide, &q1)) != CS_OK ||
        (status = orthonormal_copy(narrow, &q2)) != CS_OK ||
        (status = cs_dense_init(&c, p, q)) != CS_OK ||
        (status = cs_dense_init(&copy, p, q)) != CS_OK ||
        (status = cs_gemm(true, false, 1.0, &q1, &q2, 0.0, &c)) != CS_OK) {
        goto done;
    }
    memcpy(copy.data, c.data, (size_t)(p * q) * sizeof(double));
    if ((status = cs_dense_svd(&copy, cosine, NULL, NULL)) != CS_OK ||
        (status = cs_gemm(false, false, -1.0, &q1, &c, 1.0, &q2)) != CS_OK ||
        (status = cs_dense_svd(&q2, sine, NULL, NULL)) != CS_OK) {
        goto done;
    }
    for (int64_t i = 0; i < q;
         ++i) { /* cosines descend, sines descend: pair largest cosine with smallest sine */
        double s = fmin(sine[q - 1 - i], 1.0), x = fmin(cosine[i], 1.0);
        angle[i] = s * s < 0.5 ? asin(s) : acos(x);
    }
done:
    cs_free(cosine);
    cs_free(sine);
    cs_dense_free(&q1);
    cs_dense_free(&q2);
    cs_dense_free(&c);
    cs_dense_free(&copy);
    return status;
}
