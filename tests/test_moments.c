/* cooc/moments against dense Gram matrices and known distributions. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/status.h"
#include "cooc/moments.h"
#include "cooc_matrices.h"

static double dense_moment4(const cs_csr *a)
{
    cs_dense d = {0};
    assert_int_equal(cs_csr_to_dense(a, &d), CS_OK);
    double sum = 0;
    for (int64_t i = 0; i < d.cols; ++i) {
        for (int64_t j = 0; j < d.cols; ++j) {
            double g = 0;
            for (int64_t k = 0; k < d.rows; ++k) {
                g += d.data[k + i * d.ld] * d.data[k + j * d.ld];
            }
            sum += g * g;
        }
    }
    cs_dense_free(&d);
    return sum;
}

static void exact_moments_match_dense_sums(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 6; ++seed) {
        /* Wide and tall, so that either side is the cheaper one; some entries negative. */
        cs_csr a = untidy_matrix(2, seed % 2 ? 150 : 30, seed % 2 ? 30 : 150, seed), at = {0};
        double square = 0;
        for (int64_t e = 0; e < cs_csr_nnz(&a); ++e) {
            a.val[e] *= e % 5 == 0 ? -1 : 1;
            square += a.val[e] * a.val[e];
        }
        assert_int_equal(cs_csr_transpose(&a, &at), CS_OK);
        double expected = dense_moment4(&a), one = 0, three = 0;
        assert_int_equal(cs_moment4(&a, &at, 1, NULL, &one), CS_OK);
        assert_int_equal(cs_moment4(&a, &at, 3, NULL, &three), CS_OK);
        assert_true(one == three); /* the same bits */
        /* Integers: both sums are exact. */
        assert_true(one == expected);
        assert_true(cs_moment2(&a) == square);
        cs_csr_free(&a);
        cs_csr_free(&at);
    }
}

static void cost_is_that_of_the_cheaper_side(void **state)
{
    (void)state;
    /* One full row of 5: columns' Gram 15 products, rows' Gram 5. */
    cs_csr a = matrix_of(1, 5, (double[]){1, 2, 3, 4, 5}), at = {0};
    assert_int_equal(cs_csr_transpose(&a, &at), CS_OK);
    assert_true(cs_moment4_cost(&a, &at) == 5);
    double sum = 0;
    assert_int_equal(cs_moment4(&a, &at, 0, NULL, &sum), CS_OK);
    assert_true(sum == 55.0 * 55.0);
    cs_csr_free(&a);
    cs_csr_free(&at);
}

/* Over 20 seeds the estimate stays within 5 standard errors of the truth, the errors shrink with
 * the square root of the samples, and a diagonal matrix has no variance at all. */
static void hutchinson_is_unbiased_within_its_error(void **state)
{
    (void)state;
    cs_csr a = untidy_matrix(2, 150, 60, 3), at = {0};
    assert_int_equal(cs_csr_transpose(&a, &at), CS_OK);
    double truth = dense_moment4(&a);
    double bias = 0, error_sum = 0;
    for (uint64_t seed = 1; seed <= 20; ++seed) {
        double mean = 0, error = 0, again = 0, same = 0;
        assert_int_equal(
            cs_moment4_estimate(&a, &at,
                                &(cs_moment4_sampling){.samples = 61, .seed = seed, .threads = 1},
                                &mean, &error),
            CS_OK);
        assert_int_equal(
            cs_moment4_estimate(&a, &at,
                                &(cs_moment4_sampling){.samples = 61, .seed = seed, .threads = 2},
                                &again, &same),
            CS_OK);
        assert_true(mean == again && error == same);
        assert_true(error > 0);
        assert_true(fabs(mean - truth) < 5 * error);
        bias += (mean - truth) / 20;
        error_sum += error / 20;
    }
    assert_true(fabs(bias) < 5 * error_sum / sqrt(20));
    cs_csr_free(&a);
    cs_csr_free(&at);
    cs_csr d = matrix_of(3, 3, (double[]){2, 0, 0, 0, 1, 0, 0, 0, 3}), dt = {0};
    double mean = 0, error = 1;
    assert_int_equal(cs_csr_transpose(&d, &dt), CS_OK);
    assert_int_equal(
        cs_moment4_estimate(&d, &dt, &(cs_moment4_sampling){.samples = 4, .seed = 1, .threads = 1},
                            &mean, &error),
        CS_OK);
    assert_true(mean == 16 + 1 + 81 && error == 0);
    cs_csr_free(&d);
    cs_csr_free(&dt);
}

/* With every right vector of the nonzero values known nothing is left to estimate. */
static void known_vectors_take_the_variance_away(void **state)
{
    (void)state;
    cs_csr a = matrix_of(2, 3, (double[]){3, 4, 0, 0, 0, 2}), at = {0};
    assert_int_equal(cs_csr_transpose(&a, &at), CS_OK);
    cs_dense v = {0};
    assert_int_equal(cs_dense_init(&v, 3, 1), CS_OK);
    v.data[0] = 0.6;
    v.data[1] = 0.8;
    double sigma = 5, mean = 0, error = 1;
    assert_int_equal(
        cs_moment4_estimate(&a, &at, &(cs_moment4_sampling){8, 1, 1, &v, &sigma}, &mean, &error),
        CS_OK);
    assert_true(fabs(mean - (625 + 16)) < 1e-12);
    assert_true(error < 1e-12);
    cs_dense_free(&v);
    cs_csr_free(&a);
    cs_csr_free(&at);
}

static void one_sample_is_refused(void **state)
{
    (void)state;
    cs_csr a = matrix_of(1, 1, (double[]){1});
    double mean = 7, error = 7;
    assert_int_equal(
        cs_moment4_estimate(&a, &a, &(cs_moment4_sampling){.samples = 1, .seed = 1, .threads = 1},
                            &mean, &error),
        CS_ERR_USAGE);
    assert_non_null(strstr(cs_reason(), "1 samples"));
    assert_true(mean == 7 && error == 7);
    cs_reason_clear();
    cs_csr_free(&a);
}

static void every_failed_allocation_is_reported(void **state)
{
    (void)state;
    cs_csr a = untidy_matrix(1, 40, 30, 2), at = {0};
    assert_int_equal(cs_csr_transpose(&a, &at), CS_OK);
    cs_status status = CS_ERR_MEMORY;
    for (int64_t n = 1; status != CS_OK; ++n) {
        double sum = 0, mean = 0, error = 0;
        (void)cs_mem_fail_at(n);
        status = cs_moment4(&a, &at, 1, NULL, &sum);
        if (status == CS_OK) {
            status = cs_moment4_estimate(
                &a, &at, &(cs_moment4_sampling){.samples = 3, .seed = 1, .threads = 1}, &mean,
                &error);
        }
        assert_true(n < 50);
        assert_true(status == CS_OK || status == CS_ERR_MEMORY);
        cs_reason_clear();
    }
    (void)cs_mem_fail_at(0);
    cs_csr_free(&a);
    cs_csr_free(&at);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exact_moments_match_dense_sums),
        cmocka_unit_test(cost_is_that_of_the_cheaper_side),
        cmocka_unit_test(hutchinson_is_unbiased_within_its_error),
        cmocka_unit_test(known_vectors_take_the_variance_away),
        cmocka_unit_test(one_sample_is_refused),
        cmocka_unit_test(every_failed_allocation_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
