#include "spectrum_support.h"
#include "test.h"

cs_spectrum spectrum_of(const cs_csr *a, cs_spectrum_options options)
{
    cs_spectrum s = {0};
    OK(cs_spectrum_of(a, &options, &s));
    return s;
}

cs_csr normalised(const cs_csr *a)
{
    cs_csr abar = {0};
    OK(cs_normalise(a, &abar, NULL, NULL));
    return abar;
}

cs_csr cycle(int64_t n)
{
    cs_csr a = {0};
    OK(cs_csr_init(&a, n, n, 2 * n));
    for (int64_t i = 0; i < n; ++i) {
        int64_t low = i + 1 < n ? i : 0, high = i + 1 < n ? i + 1 : n - 1;
        a.col[2 * i] = (int32_t)low;
        a.col[2 * i + 1] = (int32_t)high;
        a.val[2 * i] = a.val[2 * i + 1] = 3;
        a.ptr[i + 1] = 2 * (i + 1);
    }
    return a;
}

void forget_triplet(cs_spectrum *s, int64_t j)
{
    for (int64_t t = j; t + 1 < s->k; ++t) {
        s->sigma[t] = s->sigma[t + 1];
        s->residual[t] = s->residual[t + 1];
        memcpy(s->u.data + t * s->u.ld, s->u.data + (t + 1) * s->u.ld,
               (size_t)s->u.rows * sizeof(double));
        memcpy(s->v.data + t * s->v.ld, s->v.data + (t + 1) * s->v.ld,
               (size_t)s->v.rows * sizeof(double));
    }
    s->u.cols = s->v.cols = --s->k;
}
