/* linalg/inertia: how tight the bound on the rounding of a factorisation is. */
#include "linalg/inertia.h"
#include "linalg_support.h"

/* The largest eigenvalue of a symmetric matrix without negative entries. */
static double perron(cs_dense *a)
{
    double *value = test_zeros(a->rows, sizeof *value);
    OK(cs_dense_eigh(a, value, true));
    return value[a->rows - 1];
}

/* (4 n + 400) u (|| |A| || + || |L| |D| |L^T| ||), the norms from above and within a hundredth. */
TEST(the_error_is_that_of_two_norms)
{
    for (int64_t n = 1; n <= 65; n += 8) {
        CS_AUTO(cs_dense) a = {0}, b = {0}, absolute = {0}, product = {0};
        int64_t positive;
        double error, *below = test_zeros(n, sizeof *below);
        int *pivot = test_zeros(n, sizeof *pivot);
        OK(cs_dense_init(&a, n, n));
        OK(cs_dense_init(&b, n, n));
        OK(cs_dense_init(&absolute, n, n));
        fill_normal(&a, (uint64_t)n);
        for (int64_t j = 0; j < n; ++j) {
            for (int64_t i = 0; i <= j; ++i) {
                a.data[j + i * n] = a.data[i + j * n];
                absolute.data[i + j * n] = absolute.data[j + i * n] = fabs(a.data[i + j * n]);
            }
        }
        cs_dense_copy(&a, &b);
        OK(cs_dense_ldl(&b, below, pivot));
        product = ldl_product(&b, below, true);
        const double size = perron(&absolute) + perron(&product);
        OK(cs_inertia(&a, &positive, &error));
        const double ratio = error / ((4 * (double)n + 400) * (DBL_EPSILON / 2) * size);
        assert_true(ratio >= 1 - 1e-12 && ratio <= 1.01);
    }
}
