/* cooc/moments against dense Gram matrices, closed forms and known distributions. */
#include "base/threads.h"
#include "cooc/moments.h"
#include "cooc_matrices.h"
#include "spectrum_support.h"
#include "test.h"
#include "toy_support.h"

static double dense_moment4(const cs_csr *a)
{
    AUTO_OK(cs_dense, d, cs_csr_to_dense(a, &d));
    double sum = 0;
    for (int64_t i = 0; i < d.cols; ++i) {
        for (int64_t j = 0; j < d.cols; ++j) {
            double g = SUM(k, 0, d.rows, d.data[k + i * d.ld] * d.data[k + j * d.ld]);
            sum += g * g;
        }
    }
    return sum;
}

TEST(exact_moments_match_dense_sums)
{
    for (uint64_t seed = 1; seed <= 6; ++seed) {
        /* Wide and tall, so that either side is the cheaper one; some entries negative. */
        CS_AUTO(cs_csr) a = untidy_matrix(2, seed % 2 ? 150 : 30, seed % 2 ? 30 : 150, seed),
                        at = {0};
        double square = 0;
        for (int64_t e = 0; e < cs_csr_nnz(&a); ++e) {
            a.val[e] *= e % 5 == 0 ? -1 : 1;
            square += a.val[e] * a.val[e];
        }
        OK(cs_csr_transpose(&a, &at));
        double expected = dense_moment4(&a), one = 0, three = 0, turned = 0;
        OK(cs_moment4(&a, 1, NULL, &one));
        OK(cs_moment4(&a, 3, NULL, &three));
        OK(cs_moment4(&at, 2, NULL, &turned));
        assert_true(one == three); /* the same bits */
        /* Integers: both sums are exact. */
        assert_true(one == expected && turned == expected);
        assert_true(cs_moment2(&a) == square);
    }
}

/* Zipf's frequencies on both sides, from nearly full to nearly empty: dense corners and long
 * tails. */
static cs_csr zipf_matrix(int64_t rows, int64_t cols, double fill, uint64_t seed)
{
    cs_csr a = {0};
    cs_rng rng = cs_rng_at(seed, CS_STREAM_TEST, 0);
    AUTO_OK(cs_dense, d, cs_dense_init(&d, rows, cols));
    for (int64_t j = 0; j < cols; ++j) {
        for (int64_t i = 0; i < rows; ++i) {
            double p = fill * (double)cols / (double)((i * 7 % rows + 1) * (j * 5 % cols + 1));
            d.data[i + j * d.ld] =
                cs_rng_uniform(&rng) < p ? (double)(1 + cs_rng_below(&rng, 9)) : 0;
        }
    }
    a = csr_of(&d);
    return a;
}

static double moment4(const cs_csr *a)
{
    double one = 0, many = 0;
    OK(cs_moment4(a, 1, NULL, &one));
    OK(cs_moment4(a, 4, NULL, &many));
    assert_true(one == many);
    return one;
}

TEST(any_filling_gives_the_dense_sum)
{
    const double fill[] = {0.02, 0.3, 5, 1e9};
    const int64_t size[][2] = {{97, 61}, {60, 130}, {7, 40}, {40, 5}, {9, 9}};
    for (size_t i = 0; i < sizeof size / sizeof *size; ++i) {
        for (size_t f = 0; f < sizeof fill / sizeof *fill; ++f) {
            CS_AUTO(cs_csr) a = zipf_matrix(size[i][0], size[i][1], fill[f], 10 * i + f);
            assert_true(moment4(&a) == dense_moment4(&a)); /* integers: exact */
        }
    }
}

/* n rows of one entry of their own, d_i = 1 + i % 3, and `hubs` columns of ones in every row and
 * one in every `each`-th: wider than the tile. */
static cs_csr hub_matrix(int64_t n, int64_t hubs, int64_t each)
{
    cs_csr a = {0};
    OK(cs_csr_init(&a, n, n + hubs + 1, n * (hubs + 2)));
    int64_t q = 0;
    for (int64_t i = 0; i < n; ++i) {
        for (int64_t h = 0; h < hubs + (i % each == 0); ++h) {
            a.col[q] = (int32_t)h;
            a.val[q++] = 1;
        }
        a.col[q] = (int32_t)(hubs + 1 + i);
        a.val[q++] = (double)(1 + i % 3);
        a.ptr[i + 1] = q;
    }
    return a;
}

TEST(matrices_wider_than_the_tile)
{
    const struct {
        int64_t n, hubs, each;
    } kind[] = {{300000, 1, 300}, {70000, 8, 100}, {300000, 9, 1000}};
    for (size_t k = 0; k < sizeof kind / sizeof *kind; ++k) {
        int64_t n = kind[k].n;
        double h = (double)kind[k].hubs, c = 0, expected = 0;
        CS_AUTO(cs_csr) a = hub_matrix(n, kind[k].hubs, kind[k].each), at = {0};
        for (int64_t i = 0; i < n; ++i) {
            double d = (double)(1 + i % 3), here = i % kind[k].each == 0;
            expected += 2 * (h + here) * d * d + d * d * d * d;
            c += here;
        }
        expected += h * h * (double)n * (double)n + 2 * h * c * c + c * c;
        assert_true(moment4(&a) == expected);
        OK(cs_csr_transpose(&a, &at));
        assert_true(moment4(&at) == expected);
    }
}

/* Spectra known in closed form: cycles, sum cos(pi j / n)^4 = 3 n / 8; the toy model (theorem-4-2.md). */
TEST(closed_forms)
{
    for (int64_t n = 3; n < 200; n += 49) {
        CS_AUTO(cs_csr) a = cycle(n), abar = normalised(&a);
        double expected = 0.375 * (double)n;
        assert_true(fabs(moment4(&abar) - expected) < 1e-13 * expected);
    }
    const struct {
        const char *objective;
        double sum; /* for 3 classes, 5 positions */
    } toy[] = {{"ar", 3 * 4},
               {"masked:unmasked=2", 3 * (1 + 4 * (2.0 / 12) * (2.0 / 12))},
               {"group-ar:t=4", 3 * (1 + 1 / 16.0 + 1 / 81.0 + 1 / 256.0)}};
    for (size_t i = 0; i < sizeof toy / sizeof *toy; ++i) {
        cs_toy model = toy_of(toy[i].objective, 3, 5, 2);
        AUTO_OK(cs_labelled, m, cs_toy_matrix(&model, 0, &m));
        CS_AUTO(cs_csr) abar = normalised(&m.a);
        assert_true(fabs(moment4(&abar) - toy[i].sum) < 1e-12 * toy[i].sum);
    }
}

static double cost_of(const cs_csr *a)
{
    cs_moment4_cost cost = {0};
    OK(cs_moment4_cost_of(a, &cost));
    assert_true(cost.bytes >= 24 * (double)cs_csr_nnz(a));
    return cost.multiply_adds;
}

static double one_sided(const cs_csr *a)
{
    double sum = 0;
    for (int64_t i = 0; i < a->rows; ++i) {
        double d = (double)(a->ptr[i + 1] - a->ptr[i]);
        sum += d * (d + 1) / 2;
    }
    return sum;
}

TEST(cost_is_that_of_the_cheapest_order)
{
    /* One full row of 5: columns' Gram 15 products, rows' Gram 5. */
    CS_AUTO(cs_csr) a = matrix_of(1, 5, (double[]){1, 2, 3, 4, 5});
    assert_true(cost_of(&a) == 5);
    assert_true(moment4(&a) == 55.0 * 55.0);
    cs_csr_free(&a);
    a = matrix_of(2, 2, (double[]){0, 0, 0, 0}); /* nothing to walk */
    assert_true(cost_of(&a) == 0 && moment4(&a) == 0);
    cs_csr_free(&a);
    for (uint64_t seed = 1; seed <= 4; ++seed) {
        a = zipf_matrix(80, 120, 0.3, seed);
        AUTO_OK(cs_csr, at, cs_csr_transpose(&a, &at));
        double cost = cost_of(&a);
        assert_true(cost <= one_sided(&a) && cost <= one_sided(&at) && cost > 0);
        cs_csr_free(&a);
    }
    /* A full row and a full column: either Gram matrix costs n^2 / 2, by degree it is linear. By
     * hand: eight columns go before the row, 8 n - 28; it goes before the others, n - 8; n - 1 for
     * the other rows. */
    ARRAY(double, full, (100 * 100), i, i < 100 || i % 100 == 0);
    a = matrix_of(100, 100, full);
    assert_true(cost_of(&a) == 10 * 100 - 37);
    assert_true(moment4(&a) == dense_moment4(&a));
}

/* diag(1, 0.9, 0.9^2, ...) turned by random reflections: nothing diagonal to profit from. */
static cs_csr decaying(int64_t n, double ratio, cs_csr *at, double *truth)
{
    cs_csr a = {0};
    double value = 1;
    AUTO_OK(cs_dense, d, cs_dense_init(&d, n, n));
    *truth = 0;
    for (int64_t i = 0; i < n; ++i, value *= ratio) {
        d.data[i + i * d.ld] = value;
        *truth += pow(value, 4);
    }
    for (int side = 0; side < 2; ++side) {
        cs_rng rng = cs_rng_at(7, CS_STREAM_TEST, (uint64_t)side);
        double h[64], norm = 0;
        assert_true(n <= 64);
        for (int64_t i = 0; i < n; ++i) {
            h[i] = cs_rng_normal(&rng);
            norm += h[i] * h[i];
        }
        for (int64_t j = 0; j < n; ++j) { /* columns, then rows */
            double dot = SUM(i, 0, n, h[i] * d.data[side ? j + i * d.ld : i + j * d.ld]);
            for (int64_t i = 0; i < n; ++i) {
                d.data[side ? j + i * d.ld : i + j * d.ld] -= 2 * dot / norm * h[i];
            }
        }
    }
    a = csr_of(&d);
    OK(cs_csr_transpose(&a, at));
    return a;
}

static cs_sum4 estimate(const cs_csr *a, const cs_csr *at, cs_moment4_sampling sampling)
{
    cs_sum4 sum = {0};
    OK(cs_moment4_estimate(a, at, &sampling, &sum));
    assert_true(sum.low <= sum.value && sum.value <= sum.high);
    assert_int_equal(sum.samples, sampling.samples);
    return sum;
}

/* The interval holds the truth as often as it says. Of 400 seeds at 95%, 380 are expected with a
 * deviation of 4.4; five of them below is 358. Three matrices, with and without a sketch; the
 * decaying one only with it: a single large value is a skewed chi-square. */
TEST(intervals_cover)
{
    enum { SEEDS = 400 };
    cs_csr at[3] = {{0}}, a[3] = {untidy_matrix(2, 150, 60, 3), zipf_matrix(70, 50, 0.3, 1)};
    double truth[3] = {dense_moment4(&a[0]), dense_moment4(&a[1])};
    OK(cs_csr_transpose(&a[0], &at[0]));
    OK(cs_csr_transpose(&a[1], &at[1]));
    a[2] = decaying(60, 0.95, &at[2], &truth[2]);
    for (int m = 0; m < 3; ++m) {
        int held = 0, tight = 0;
        double bias = 0, error = 0;
        for (uint64_t seed = 1; seed <= SEEDS; ++seed) {
            cs_sum4 s = estimate(
                &a[m], &at[m],
                (cs_moment4_sampling){.samples = 32, .sketch = 12, .seed = seed, .threads = 1});
            held += s.low <= truth[m] && truth[m] <= s.high;
            bias += (s.value - truth[m]) / SEEDS;
            error += s.error * s.error / SEEDS;
            cs_sum4 half = estimate(
                &a[m], &at[m],
                (cs_moment4_sampling){
                    .samples = 32, .sketch = 12, .level = 0.5, .seed = seed, .threads = 1});
            assert_true(half.value == s.value && half.high <= s.high);
            tight += half.low <= truth[m] && truth[m] <= half.high;
        }
        assert_in_range(held, 358, SEEDS);
        assert_in_range(tight, 150, 250); /* 200, deviation 10 */
        assert_true(fabs(bias) < 5 * sqrt(error / SEEDS));
        cs_csr_free(&a[m]);
        cs_csr_free(&at[m]);
    }
}

TEST(a_sketch_takes_the_large_values_away)
{
    double truth = 0;
    CS_AUTO(cs_csr) at = {0}, a = decaying(60, 0.8, &at, &truth);
    const cs_moment4_sampling plain = {.samples = 16, .seed = 4, .threads = 1};
    cs_moment4_sampling sketched = plain;
    sketched.sketch = 12;
    cs_sum4 without = estimate(&a, &at, plain), with = estimate(&a, &at, sketched);
    /* The remainder without 12 of these has 0.8^48 of the sum and less of the error. */
    assert_true(with.error < 1e-3 * without.error && fabs(with.value - truth) < 1e-4);
    assert_true(with.spent > without.spent);
    assert_true(without.spent == 2 * 16 * (double)cs_csr_nnz(&a)); /* A and A^T of each sample */
    assert_int_equal(with.sketch, 12);
    assert_int_equal(without.sketch, 0);
    sketched.threads = 3;
    cs_sum4 again = estimate(&a, &at, sketched);
    assert_true(again.value == with.value && again.error == with.error);
    sketched.sketch = 1000; /* the whole space: nothing is left to sample */
    cs_sum4 all = estimate(&a, &at, sketched);
    assert_int_equal(all.sketch, 60);
    assert_true(all.error < 1e-14 && fabs(all.value - truth) < 1e-13);
    cs_csr_free(&a);
    cs_csr_free(&at);
    /* Fewer values than sketched vectors: a rank of one. */
    a = matrix_of(3, 4, (double[]){1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3});
    OK(cs_csr_transpose(&a, &at));
    all = estimate(&a, &at, (cs_moment4_sampling){.samples = 4, .sketch = 3, .seed = 1});
    assert_true(fabs(all.value - 56.0 * 56.0) < 1e-10);
}

/* Over 20 seeds the estimate stays within 5 standard errors of the truth, the errors shrink with
 * the square root of the samples, and a diagonal matrix has no variance at all. */
TEST(hutchinson_is_unbiased_within_its_error)
{
    CS_AUTO(cs_csr) a = untidy_matrix(2, 150, 60, 3), at = {0};
    OK(cs_csr_transpose(&a, &at));
    double truth = dense_moment4(&a);
    double bias = 0, error_sum = 0;
    for (uint64_t seed = 1; seed <= 20; ++seed) {
        cs_sum4 s =
            estimate(&a, &at, (cs_moment4_sampling){.samples = 61, .seed = seed, .threads = 1});
        cs_sum4 t =
            estimate(&a, &at, (cs_moment4_sampling){.samples = 61, .seed = seed, .threads = 2});
        assert_true(s.value == t.value && s.error == t.error);
        assert_true(s.error > 0);
        assert_true(fabs(s.value - truth) < 5 * s.error);
        bias += (s.value - truth) / 20;
        error_sum += s.error / 20;
    }
    assert_true(fabs(bias) < 5 * error_sum / sqrt(20));
    CS_AUTO(cs_csr) d = matrix_of(3, 3, (double[]){2, 0, 0, 0, 1, 0, 0, 0, 3}), dt = {0};
    OK(cs_csr_transpose(&d, &dt));
    cs_sum4 s = estimate(&d, &dt, (cs_moment4_sampling){.samples = 4, .seed = 1, .threads = 1});
    assert_true(s.value == 16 + 1 + 81 && s.error == 0);
}

/* With every right vector of the nonzero values known nothing is left to estimate; with one of two
 * known and a sketch of one neither. */
TEST(known_vectors_take_the_variance_away)
{
    CS_AUTO(cs_csr) a = matrix_of(2, 3, (double[]){3, 4, 0, 0, 0, 2}), at = {0};
    OK(cs_csr_transpose(&a, &at));
    AUTO_OK(cs_dense, v, cs_dense_init(&v, 3, 1));
    v.data[0] = 0.6;
    v.data[1] = 0.8;
    double sigma = 5;
    for (int64_t sketch = 0; sketch <= 2; ++sketch) {
        cs_sum4 s = estimate(
            &a, &at,
            (cs_moment4_sampling){
                .samples = 8, .sketch = sketch, .seed = 1, .threads = 1, .v = &v, .sigma = &sigma});
        assert_true(fabs(s.value - (625 + 16)) < 1e-12);
        assert_true(s.error < 1e-12);
        assert_int_equal(s.known, 1);
        assert_int_equal(s.sketch, sketch > 1);
    }
}

TEST(bad_options_are_named)
{
    cs_csr a = matrix_of(1, 1, (double[]){1});
    const struct {
        cs_moment4_sampling sampling;
        const char *reason;
    } bad[] = {{{.samples = 1, .seed = 1}, "1 sample is"},
               {{.samples = 2, .level = 1}, "level 1"},
               {{.samples = 2, .level = -0.5}, "level -0.5"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
        cs_sum4 sum = {.value = 7};
        assert_fails(cs_moment4_estimate(&a, &a, &bad[i].sampling, &sum), CS_ERR_USAGE,
                     bad[i].reason);
        assert_true(sum.value == 7);
        cs_reason_clear();
    }
    cs_csr_free(&a);
    a = (cs_csr){.rows = (int64_t)1 << 31, .cols = 1};
    cs_moment4_cost cost = {.bytes = 7};
    assert_fails(cs_moment4_cost_of(&a, &cost), CS_ERR_INPUT, "2147483648 rows");
    assert_true(cost.bytes == 7);
    cs_reason_clear();
}

TEST(every_failed_allocation_is_reported)
{
    CS_AUTO(cs_csr) a = zipf_matrix(40, 30, 0.5, 2), at = {0};
    OK(cs_csr_transpose(&a, &at));
    int failures = 0;
    EACH_ALLOCATION_FAILS(n) {
        double exact = 7;
        cs_sum4 sum = {.value = 7};
        cs_status status = cs_moment4(&a, 1, NULL, &exact);
        if (status == CS_OK) {
            status = cs_moment4_estimate(
                &a, &at, &(cs_moment4_sampling){.samples = 3, .sketch = 4, .seed = 1, .threads = 1},
                &sum);
        } else {
            assert_true(exact == 7);
        }
        const bool failed = out_of_memory(status);
        assert_true(!failed || sum.value == 7);
        failures += failed;
    }
    assert_true(failures >= 19);
}

/* Last: the flag cannot be taken back. */
TEST(an_interrupt_stops_both)
{
    cs_csr a = zipf_matrix(40, 30, 0.5, 2), at = {0}, other = {0};
    double exact = 7;
    cs_sum4 sum = {.value = 7};
    OK(cs_csr_transpose(&a, &at));
    cs_interrupt_set();
    assert_int_equal(cs_csr_transpose(&a, &other), CS_ERR_INTERRUPT); /* what comes before them */
    assert_int_equal(cs_csr_select(&a, a.rows, NULL, NULL, a.cols, &other), CS_ERR_INTERRUPT);
    assert_int_equal(cs_moment4(&a, 1, NULL, &exact), CS_ERR_INTERRUPT);
    assert_int_equal(
        cs_moment4_estimate(&a, &at, &(cs_moment4_sampling){.samples = 3, .seed = 1}, &sum),
        CS_ERR_INTERRUPT);
    assert_true(exact == 7 && sum.value == 7);
    cs_csr_free(&a);
    cs_csr_free(&at);
}
