/* Tails of sigma^4 from a truncated SVD and a sum, against full spectra and against the density's.
 */
#include "cooc/moments.h"
#include "cooc/spectrum_density.h"
#include "cooc_matrices.h"
#include "spectrum_support.h"
#include "test.h"
#include "toy_support.h"

enum { MOST = 64 };

static bool holds(const cs_interval *x, double truth)
{
    return x->low <= truth && truth <= x->high && x->low <= x->value && x->value <= x->high;
}

/* All triplets, and the top k with an exact sum: the same tails, each within the other's bounds. */
TEST(truncated_and_full_agree)
{
    for (uint64_t seed = 1; seed <= 4; ++seed) {
        CS_AUTO(cs_csr) a = untidy_matrix(2, seed % 2 ? 200 : 90, seed % 2 ? 90 : 200, seed);
        CS_AUTO(cs_spectrum) full = spectrum_of(&a, (cs_spectrum_options){.moment4 = true});
        CS_AUTO(cs_spectrum) top = spectrum_of(&a, (cs_spectrum_options){.k = 20, .moment4 = true});
        cs_interval whole[1024], part[MOST];
        assert_true(full.rank == full.k && full.k < 1024);
        assert_true(top.rank < 0 && top.k == 20);
        cs_spectrum_tails(&full, 0, whole);
        cs_spectrum_tails(&top, 0, part);
        for (int64_t t = 0; t <= 20; ++t) {
            assert_true(holds(&part[t], whole[t].value));
            assert_true(part[t].high - part[t].low < 1e-9);
            assert_true(t == 0 || whole[t].value < whole[t - 1].value);
        }
        assert_true(whole[full.k].value == 0 && fabs(whole[0].value - full.moments.sum_sigma4) <
                                                    CLOSE * full.moments.sum_sigma4);
    }
}

/* Without the budget for the exact sum: over 60 seeds the interval at 99.73% holds the truth with
 * one or two exceptions, as does that of the density, which knows the same triplets or none; two
 * intervals that hold one number meet. */
TEST(estimates_and_densities_agree)
{
    enum { SEEDS = 60, K = 6 };
    CS_AUTO(cs_csr) a = untidy_matrix(1, 220, 120, 3);
    CS_AUTO(cs_spectrum) full = spectrum_of(&a, (cs_spectrum_options){.moment4 = true});
    cs_interval whole[1024];
    cs_spectrum_tails(&full, 0, whole);
    int missed = 0, by_density = 0, apart = 0;
    for (uint64_t seed = 1; seed <= SEEDS; ++seed) {
        cs_spectrum_options o = {
            .k = K, .moment4 = true, .moment4_budget = 1, .seed = seed, .threads = 1};
        CS_AUTO(cs_spectrum) top = spectrum_of(&a, o);
        cs_interval part[K + 1];
        cs_spectrum_tails(&top, 0.9973, part);
        assert_true(top.moments.sum4.samples > 0 && top.moments.sum4.known == K &&
                    top.moments.sum4.sketch > 0);
        assert_true(top.moments.sum_sigma4 == top.moments.sum4.value &&
                    top.moments.sum_sigma4_error == top.moments.sum4.error);
        for (int64_t known = 0; known <= K; known += K) {
            cs_spectrum_density_options d = {
                .spectrum = o, .samples = 64, .degree = 16, .bins = 4, .level = 0.9973};
            d.spectrum.k = known;
            AUTO_OK(cs_spectrum_density, density, cs_spectrum_density_of(&a, &d, &density));
            assert_null(density.tail_exact);
            for (int64_t t = 0; t <= known; ++t) {
                const cs_interval *x = &density.tail[t];
                by_density += !holds(x, whole[t].value);
                apart += x->high < part[t].low || part[t].high < x->low;
            }
        }
        missed += !holds(&part[K], whole[K].value);
    }
    assert_in_range(missed, 0, 2);
    /* The tails of one run share their error. */
    assert_in_range(by_density, 0, 4 * (K + 2));
    assert_int_equal(apart, 0);
}

/* Golden toy spectrum: masked, 2 of 6 seen, 3 classes: 1 three times, sqrt(1/10) fifteen times. */
TEST(the_toy_model_has_known_tails)
{
    cs_toy toy = toy_of("masked:unmasked=2", 3, 6, 2);
    AUTO_OK(cs_labelled, m, cs_toy_matrix(&toy, 0, &m));
    CS_AUTO(cs_spectrum) s = spectrum_of(&m.a, (cs_spectrum_options){.k = 10, .moment4 = true});
    cs_interval tail[MOST];
    cs_spectrum_tails(&s, 0, tail);
    for (int64_t t = 0; t <= 10; ++t) {
        double truth = t < 3 ? (double)(3 - t) + 0.15 : 0.01 * (double)(18 - t);
        assert_true(holds(&tail[t], truth) && tail[t].high - tail[t].low < 1e-11);
    }
    cs_spectrum_free(&s);
    /* A remainder of nothing: never below 0. */
    s = spectrum_of(&m.a, (cs_spectrum_options){.k = 18, .moment4 = true});
    cs_spectrum_tails(&s, 0, tail);
    assert_true(tail[18].low == 0 && tail[18].value >= 0 && tail[18].high < 1e-11);
}

TEST(without_a_sum_there_are_none)
{
    CS_AUTO(cs_csr) a = untidy_matrix(1, 60, 40, 2);
    CS_AUTO(cs_spectrum) s = spectrum_of(&a, (cs_spectrum_options){.k = 3});
    cs_interval tail[MOST];
    cs_spectrum_tails(&s, 0, tail);
    for (int64_t t = 0; t <= 3; ++t) {
        assert_true(isnan(tail[t].value) && isnan(tail[t].low) && isnan(tail[t].high));
    }
}

/* Of no values the only tail is 0; sums that no double holds are not said. */
TEST(the_ends_of_doubles)
{
    double huge = 1e80, tiny = 1e-90;
    cs_interval tail[2];
    cs_spectrum_tails(&(cs_spectrum){.k = 0, .rank = 0}, 0, tail);
    assert_true(tail[0].value == 0 && tail[0].low == 0 && tail[0].high == 0);
    double *const beyond[] = {&huge, &tiny};
    for (int i = 0; i < 2; ++i) {
        double residual = 0;
        cs_spectrum_tails(
            &(cs_spectrum){.k = 1, .rank = 1, .sigma = beyond[i], .residual = &residual}, 0, tail);
        assert_true(isnan(tail[0].value) && isnan(tail[1].value));
    }
}

/* Exactly the cost is within the budget, one less is not, and neither is nothing. */
TEST(the_edges_of_the_budget)
{
    CS_AUTO(cs_csr) a = untidy_matrix(1, 150, 100, 3);
    cs_spectrum_options o = {.k = 4, .moment4 = true, .seed = 1};
    cs_spectrum s = spectrum_of(&a, o);
    double cost = s.moments.sum_sigma4_cost, sum = s.moments.sum_sigma4;
    assert_true(cost > 1 && s.moments.sum4.samples == 0 && s.moments.sum4.low == sum &&
                s.moments.sum4.high == sum);
    cs_spectrum_free(&s);
    const double budget[] = {1e-300, 0.5, cost - 1, cost, cost + 1};
    for (int i = 0; i < 5; ++i) {
        o.moment4_budget = budget[i];
        s = spectrum_of(&a, o);
        assert_true(s.moments.sum_sigma4_cost == cost);
        assert_int_equal(s.moments.sum4.samples == 0, i >= 3);
        assert_true(i < 3
                        ? s.moments.sum_sigma4_error > 0 && s.moments.sum4.low < s.moments.sum4.high
                        : s.moments.sum_sigma4 == sum && s.moments.sum_sigma4_error == 0);
        cs_spectrum_free(&s);
    }
}

/* 700 x 700, 1 +- 0.2 in a chessboard and uniform noise of +- spread: sigma = 1, about 0.2, and the
 * noise's, whose root mean square is spread / sqrt(3 700). */
static cs_csr two_and_noise(double spread)
{
    enum { SIDE = 700 };
    cs_csr a = {0};
    cs_rng rng = cs_rng_at(5, CS_STREAM_TEST, 0);
    OK(cs_csr_init(&a, SIDE, SIDE, SIDE * SIDE));
    for (int64_t i = 0; i < SIDE; ++i) {
        a.ptr[i + 1] = (i + 1) * SIDE;
        for (int64_t j = 0; j < SIDE; ++j) {
            a.col[i * SIDE + j] = (int32_t)j;
            a.val[i * SIDE + j] =
                1 + ((i + j) % 2 ? -0.2 : 0.2) + spread * (2 * cs_rng_uniform(&rng) - 1);
        }
    }
    return a;
}

/* Spared, the exact sum is bought where it proves that nothing is missing: with noise of .4 the 698
 * others, rms .0087, could hold a value of .2 by their squares and not by their fourth powers. Of
 * four triplets two are noise's, and as large are more than the sum can exclude. */
TEST(the_exact_sum_is_spared_where_it_proves_nothing)
{
    for (int64_t k = 2; k <= 4; k += 2) {
        const bool passes = k == 2;
        CS_AUTO(cs_csr) a = two_and_noise(0.4);
        cs_spectrum_options o = {
            .k = k, .moment4 = true, .certify = CS_CERTIFY_USUAL, .threads = 1};
        CS_AUTO(cs_spectrum) whole = spectrum_of(&a, o);
        o.moment4_sparing = true;
        CS_AUTO(cs_spectrum) spared = spectrum_of(&a, o);
        assert_true(whole.moments.sum_sigma4_cost > CS_MOMENT4_CHEAP);
        assert_int_equal(whole.cert.moments.state, passes ? CS_CERT_PASSED : CS_CERT_INCONCLUSIVE);
        assert_int_equal(spared.cert.moments.state, whole.cert.moments.state);
        assert_int_equal(spared.moments.sum4.samples == 0, passes);
        assert_true(fabs(spared.moments.sum_sigma4 - whole.moments.sum_sigma4) <=
                    5 * spared.moments.sum_sigma4_error);
        o.k = 0; /* all of them: the sums are what the values give */
        CS_AUTO(cs_spectrum) all = spectrum_of(&a, o);
        assert_true(all.moments.sum4.samples == 0);
    }
    CS_AUTO(cs_csr) a = untidy_matrix(1, 150, 100, 3); /* cheap: exact all the same */
    CS_AUTO(cs_spectrum) s =
        spectrum_of(&a, (cs_spectrum_options){.k = 4, .moment4 = true, .moment4_sparing = true});
    assert_true(s.moments.sum_sigma4_cost <= CS_MOMENT4_CHEAP && s.moments.sum4.samples == 0);
}
