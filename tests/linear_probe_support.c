#include "linear_probe_support.h"

#include "test.h"

void probe_fill(probe_data *s, uint64_t index)
{
    cs_rng rng = cs_rng_at(3, CS_STREAM_TEST, index);
    for (int i = 0; i < PROBE_N; ++i) {
        int64_t c = cs_rng_below(&rng, 6);
        s->y[i] = c < 3 ? 0 : c < 5 ? 1 : 2;
        for (int j = 0; j < PROBE_D; ++j) {
            double mean = j == (int)s->y[i] ? 1.0 : 0.0;
            s->x[i * PROBE_D + j] = 100 * j + pow(10, j - 3) * (mean + cs_rng_normal(&rng));
        }
    }
}

cs_rows probe_rows(const probe_data *s)
{
    return cs_rows_of_f64(PROBE_N, PROBE_D, s->x, "x");
}

cs_linear_probe probe_fitted(const cs_rows *x, const double *y, int64_t classes,
                             const cs_linear_probe_options *o)
{
    cs_linear_probe p = {0};
    OK(cs_linear_probe_fit(x, x->rows, NULL, y, classes, o, &p));
    return p;
}
