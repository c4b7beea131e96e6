/* linalg/inertia: counts against closed forms and eigenvalues, the bound on the backward error
 * against the factors themselves. */
#include "linalg/inertia.h"
#include "linalg_support.h"

/* n x n symmetric: independent normal entries; `sparse`: two in three are 0, which makes 2 x 2
 * pivots. */
static cs_dense symmetric(int64_t n, bool sparse, uint64_t index)
{
    cs_dense a;
    OK(cs_dense_init(&a, n, n));
    fill_normal(&a, index);
    cs_rng rng = cs_rng_at(index, CS_STREAM_TEST, 77);
    for (int64_t j = 0; j < n; ++j) {
        for (int64_t i = 0; i < j; ++i) {
            if (sparse && cs_rng_below(&rng, 3) > 0) {
                a.data[i + j * a.ld] = 0;
            }
            a.data[j + i * a.ld] = a.data[i + j * a.ld];
        }
        a.data[j + j * a.ld] *= sparse ? 0 : 1;
    }
    return a;
}

static cs_dense copy_of(const cs_dense *a)
{
    cs_dense b;
    OK(cs_dense_init(&b, a->rows, a->cols));
    memcpy(b.data, a->data, (size_t)(a->rows * a->cols) * sizeof *b.data);
    return b;
}

TEST(counts_agree_with_eigenvalues)
{
    double lambda[70];
    for (int64_t n = 1; n <= 70; n += n < 8 ? 1 : 9) {
        for (uint64_t t = 0; t < 12; ++t) {
            CS_AUTO(cs_dense) a = symmetric(n, t % 2, 100 * t + (uint64_t)n), b = copy_of(&a);
            OK(cs_dense_eigh(&b, lambda, true));
            int64_t positive = -1, most = 0, least = 0;
            double error = -1;
            OK(cs_inertia(&a, &positive, &error));
            /* Norms below 20, growth of rook pivoting far below 100: (4 n + 400) 1e-16 2000. */
            assert_true(error >= 0 && error < 2e-10);
            for (int64_t i = 0; i < n; ++i) { /* eigenvalues are good to 1e-12 */
                least += lambda[i] > error + 1e-12;
                most += lambda[i] > -error - 1e-12;
            }
            assert_true(positive >= least && positive <= most);
        }
    }
}

/* diag(1, 2, 3) - 2 I has one positive eigenvalue and an exact zero; so has the exchange of two
 * coordinates, with eigenvalues 1 and -1, a 2 x 2 pivot. */
TEST(closed_forms)
{
    int64_t positive = -1;
    double error = -1;
    AUTO_OK(cs_dense, a, cs_dense_init(&a, 3, 3));
    a.data[0] = -1;
    a.data[8] = 1;
    OK(cs_inertia(&a, &positive, &error));
    assert_int_equal(positive, 1);
    /* ||M|| = ||L||D||L^T|| = 1: 412 u each, and what the quotient leaves */
    assert_true(error >= 412 * DBL_EPSILON && error < 413 * DBL_EPSILON);
    memset(a.data, 0, 9 * sizeof *a.data);
    OK(cs_inertia(&a, &positive, &error));
    assert_true(positive == 0 && error == 0);
    cs_dense_free(&a);
    enum { N = 12 };
    OK(cs_dense_init(&a, N, N));
    for (int i = 0; i < N; i += 2) {
        a.data[i + 1 + i * N] = a.data[i + (i + 1) * N] = 1;
    }
    OK(cs_inertia(&a, &positive, &error));
    assert_int_equal(positive, N / 2);
    cs_dense_free(&a);
    OK(cs_dense_init(&a, 0, 0));
    OK(cs_inertia(&a, &positive, &error));
    assert_true(positive == 0 && error == 0);
}

/* (0 1; 1 0) by blocks, and definite ones, where products of two entries leave the range of
 * doubles.
 */
TEST(pivots_of_any_size)
{
    for (int e = -1000; e <= 1000; e += 100) {
        double x = ldexp(1, e), error = 0;
        int64_t positive = -1;
        AUTO_OK(cs_dense, a, cs_dense_init(&a, 4, 4));
        a.data[1] = a.data[11] = x; /* blocks (0 x; x 0) and (x / 8, x; x, x / 8) */
        a.data[10] = a.data[15] = x / 8;
        OK(cs_inertia(&a, &positive, &error));
        assert_int_equal(positive, 2);
        assert_true(error >= 416 * (DBL_EPSILON / 2) * x && error < 1e-10 * x);
    }
}

/* Only the lower triangle is read, and nothing above it. */
TEST(the_upper_triangle_is_not_read)
{
    CS_AUTO(cs_dense) a = symmetric(20, false, 5), b = copy_of(&a);
    for (int64_t j = 1; j < 20; ++j) {
        for (int64_t i = 0; i < j; ++i) {
            b.data[i + j * b.ld] = NAN;
        }
    }
    int64_t one = 0, two = -1;
    double first = 0, second = -1;
    OK(cs_inertia(&a, &one, &first));
    OK(cs_inertia(&b, &two, &second));
    assert_true(one == two && first == second);
}

/* P L D L^T P^T from what cs_dense_ldl returns. */
static cs_dense product_of(const cs_dense *f, const double *below, const int *pivot)
{
    const int64_t n = f->rows;
    cs_dense out = ldl_product(f, below, false);
    for (int64_t i = n; i-- > 0;) { /* interchanges undone, the last first */
        int64_t with = (pivot[i] < 0 ? -pivot[i] : pivot[i]) - 1;
        for (int64_t j = 0; j < n; ++j) {
            double x = out.data[i + j * n];
            out.data[i + j * n] = out.data[with + j * n];
            out.data[with + j * n] = x;
        }
        for (int64_t j = 0; j < n; ++j) {
            double x = out.data[j + i * n];
            out.data[j + i * n] = out.data[j + with * n];
            out.data[j + with * n] = x;
        }
    }
    return out;
}

/* The error stated covers the difference of the factors' product from the matrix, measured in the
 * largest column sum, which is no less than the 2-norm; and is no more than 1e5 times that. */
TEST(the_error_covers_the_factorisation)
{
    enum { N = 60 };
    for (uint64_t t = 0; t < 10; ++t) {
        double below[N], error = 0, worst = 0;
        int pivot[N];
        CS_AUTO(cs_dense) a = symmetric(N, t % 2, 900 + t), f = copy_of(&a), g = copy_of(&a);
        OK(cs_dense_ldl(&f, below, pivot));
        CS_AUTO(cs_dense) product = product_of(&f, below, pivot);
        for (int j = 0; j < N; ++j) {
            double sum = SUM(i, 0, N, fabs(product.data[i + j * N] - a.data[i + j * N]));
            worst = fmax(worst, sum);
        }
        int64_t positive = 0;
        OK(cs_inertia(&g, &positive, &error));
        assert_true(worst <= error);
        assert_true(worst > 1e-5 * error);
    }
}

TEST(bad_matrices_are_refused)
{
    int64_t positive = 0;
    double error = 0;
    AUTO_OK(cs_dense, a, cs_dense_init(&a, 3, 2));
    assert_fails(cs_inertia(&a, &positive, &error), CS_ERR_USAGE, "3 x 2: not square");
    cs_dense_free(&a);
    OK(cs_dense_init(&a, 3, 3));
    a.data[2] = INFINITY;
    assert_fails(cs_inertia(&a, &positive, &error), CS_ERR_INPUT, "row 2, column 0");
    a.data[2] = 1e308; /* finite, and its norm is not */
    a.data[1] = a.data[0] = 1e308;
    OK(cs_inertia(&a, &positive, &error));
    assert_true(isinf(error));
}

TEST(every_failed_allocation_is_reported)
{
    CS_AUTO(cs_dense) a = symmetric(9, false, 3);
    int64_t positive = 0, n = 0;
    double error = 0;
    cs_status status = CS_ERR_MEMORY;
    while (status != CS_OK) {
        (void)cs_mem_fail_at(++n);
        status = cs_inertia(&a, &positive, &error);
        assert_true(status == CS_OK || status == CS_ERR_MEMORY);
        cs_reason_clear();
    }
    (void)cs_mem_fail_at(0);
    assert_int_equal(n, 6);
}

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
