/* cooc/spectrum_density against full spectra and the toy model's closed forms. */
#include "cooc/moments.h"
#include "cooc/spectrum_density.h"
#include "cooc_matrices.h"
#include "spectrum_support.h"
#include "test.h"
#include "toy_support.h"

static cs_spectrum_density_options options_of(int64_t k, uint64_t seed)
{
    return (cs_spectrum_density_options){
        .spectrum = {.k = k, .seed = seed, .threads = 1}, .samples = 24, .degree = 24, .bins = 20};
}

static cs_spectrum_density density_of(const cs_csr *a, cs_spectrum_density_options o)
{
    cs_spectrum_density d = {0};
    OK(cs_spectrum_density_of(a, &o, &d));
    return d;
}

static bool holds(const cs_interval *x, double truth)
{
    double slack = 1e-9 * (1 + fabs(truth)); /* of sums of some hundred rounded values */
    return x->low - slack <= truth && truth <= x->high + slack;
}

/* How many of the curves' points and tails miss the truth, and how many there are. */
static void compare(const cs_spectrum_density *d, const cs_spectrum *s, int *missed, int *all)
{
    for (int64_t i = 0; i < d->density.points; ++i) {
        double above = 0, fourth = 0;
        for (int64_t k = 0; k < s->k; ++k) {
            /* A value at the point itself (1, at the end) is on neither side for certain. */
            above += s->sigma[k] > d->x[i] + 1e-9;
            fourth += s->sigma[k] > d->x[i] + 1e-9 ? 0 : pow(s->sigma[k], 4);
        }
        *missed += !holds(&d->density.above[i], above);
        *missed += !holds(&d->density.fourth_below[i], fourth);
        *all += 2;
    }
    double tail = s->moments.sum_sigma4;
    for (int64_t t = 0; t <= d->k; ++t) {
        *missed += !holds(&d->tail[t], tail);
        *all += 1;
        if (d->tail_exact) {
            assert_true(fabs(d->tail_exact[t] - tail) < 1e-10);
        }
        tail -= t < s->k ? pow(s->sigma[t], 4) : 0;
    }
}

/* Components, lumps, empty rows, wide and tall, known triplets or none, reduced or not: at 95% some
 * points may be missed; points of one run are correlated, so the mean of the seeds counts: 10% and
 * no more. */
TEST(curves_and_tails_hold_the_full_spectrum)
{
    int missed = 0, all = 0;
    for (uint64_t seed = 1; seed <= 8; ++seed) {
        CS_AUTO(cs_csr) a = untidy_matrix(3, seed % 2 ? 300 : 120, seed % 2 ? 120 : 300, seed);
        CS_AUTO(cs_spectrum) s = spectrum_of(&a, (cs_spectrum_options){.moment4 = true});
        for (int64_t k = 0; k <= 12; k += 6) {
            cs_spectrum_density_options o = options_of(k, seed);
            o.spectrum.no_reduction = seed > 6;
            o.spectrum.solver = seed > 6 ? CS_SOLVER_LAPACK : CS_SOLVER_AUTO;
            CS_AUTO(cs_spectrum_density) d = density_of(&a, o);
            assert_true(d.top == 1);
            assert_int_equal(d.k, k);
            assert_int_equal(d.components, 3);
            assert_true(d.density.known >= k && (o.spectrum.no_reduction || d.density.known >= 3));
            assert_true(fabs(d.sum_sigma2 - s.moments.sum_sigma2) < CLOSE * s.moments.sum_sigma2);
            assert_true(fabs(d.sum_sigma4 - s.moments.sum_sigma4) < CLOSE * s.moments.sum_sigma4);
            assert_true(d.sum_sigma4_cost == s.moments.sum_sigma4_cost || o.spectrum.no_reduction);
            assert_each(j, 0, k, fabs(d.sigma[j] - s.sigma[j]) < 1e-10);
            compare(&d, &s, &missed, &all);
        }
    }
    assert_true(missed <= all / 10);
}

/* Ones of many blocks are taken out whole: the tail beyond them has their variance no more. */
TEST(copies_of_one_are_known_in_closed_form)
{
    CS_AUTO(cs_csr) a = multiplicity_matrix(true, 16, 2); /* rank one each: nothing but the ones */
    CS_AUTO(cs_spectrum_density) d = density_of(&a, options_of(16, 1));
    assert_true(d.sum4.low == 16 && d.sum4.high == 16);
    assert_true(d.tail[16].high == 0 && d.tail[15].low == 1 && d.tail[0].value == 16);
    assert_true(d.density.above[10].low == 16 && d.density.above[10].high == 16);
    assert_int_equal(d.density.ended, 24);
    cs_spectrum_density_free(&d);
    cs_csr_free(&a);

    a = multiplicity_matrix(false, 16, 2);
    CS_AUTO(cs_spectrum) s = spectrum_of(&a, (cs_spectrum_options){.moment4 = true});
    d = density_of(&a, options_of(0, 1));
    assert_int_equal(d.density.known, 16);
    assert_true(holds(&d.tail[0], s.moments.sum_sigma4) && d.tail[0].low >= 16);
}

/* Golden toy spectrum of masked, 2 of 6 seen, 3 classes: 1 and sqrt(2 / (4 * 5)), 15 times, so the
 * Krylov space ends at once and counts carry only the noise of a projected vector's length. */
TEST(the_toy_model_has_one_value_left)
{
    cs_toy toy = toy_of("masked:unmasked=2", 3, 6, 2);
    AUTO_OK(cs_labelled, m, cs_toy_matrix(&toy, 0, &m));
    CS_AUTO(cs_spectrum_density) d = density_of(&m.a, options_of(3, 1));
    double value = sqrt(0.1);
    assert_int_equal(d.density.ended, 24);
    assert_true(d.density.bias == 0);
    for (int64_t i = 1; i < d.density.points; ++i) {
        bool above = value > d.x[i];
        double sum = (above ? 0 : 15 * 0.01) + (i == 20 ? 3 : 0);
        assert_true(holds(&d.density.above[i], (above ? 15 : 0) + (i == 20 ? 0 : 3)));
        assert_true(holds(&d.density.fourth_below[i], sum));
    }
    assert_true(holds(&d.tail[3], 0.15) && fabs(d.tail_exact[3] - 0.15) < CLOSE);
    assert_true(d.tail[3].high - d.tail[3].low < 0.05);
}

/* A matrix that comes normalised is bounded; with other entries the bound still holds. */
TEST(what_comes_normalised_is_bounded)
{
    int missed = 0, all = 0;
    for (uint64_t seed = 1; seed <= 4; ++seed) {
        CS_AUTO(cs_csr) a = untidy_matrix(1, 150, 100, seed), abar = normalised(&a);
        for (int kind = 0; kind < 3; ++kind) {
            for (int64_t e = 0; e < cs_csr_nnz(&abar); ++e) {
                abar.val[e] *= kind == 1 ? 3 : kind == 2 && e % 3 == 0 ? -1 : 1;
            }
            CS_AUTO(cs_spectrum) s =
                spectrum_of(&abar, (cs_spectrum_options){.normalised = true, .moment4 = true});
            for (int64_t k = 0; k <= 5; k += 5) {
                cs_spectrum_density_options o = options_of(k, seed);
                o.spectrum.normalised = true;
                CS_AUTO(cs_spectrum_density) d = density_of(&abar, o);
                assert_true(d.top >= s.sigma[0]);
                assert_true(kind == 2 || d.top < 1.01 * s.sigma[0]);
                compare(&d, &s, &missed, &all);
            }
        }
    }
    assert_true(missed <= all / 10);
}

/* Above its budget the fourth moment is an estimate, here and in cs_spectrum_of. */
TEST(the_budget_decides)
{
    CS_AUTO(cs_csr) a = untidy_matrix(1, 150, 100, 3);
    cs_spectrum_density d = density_of(&a, options_of(2, 1));
    double cost = d.sum_sigma4_cost;
    cs_moment4_cost most = {0};
    OK(cs_moment4_cost_of(&a, &most));
    assert_true(cost <= most.multiply_adds); /* before lumping */
    assert_non_null(d.tail_exact);
    cs_spectrum_density_free(&d);
    for (int within = 0; within < 2; ++within) {
        cs_spectrum_density_options o = options_of(2, 1);
        o.spectrum.moment4_budget = within ? cost : cost - 1;
        o.spectrum.moment4 = true;
        d = density_of(&a, o);
        assert_int_equal(!isnan(d.sum_sigma4), within);
        assert_int_equal(d.tail_exact != NULL, within);
        CS_AUTO(cs_spectrum) s = spectrum_of(&a, o.spectrum);
        assert_int_equal(s.moments.sum_sigma4_error == 0, within);
        assert_true(s.moments.sum_sigma4_cost == cost);
        cs_spectrum_density_free(&d);
    }
}

TEST(bad_input_is_named)
{
    CS_AUTO(cs_csr) a = untidy_matrix(1, 40, 30, 2);
    cs_spectrum_density d = {0};
    cs_spectrum_density_options o = options_of(-1, 1);
    int64_t side = a.rows < a.cols ? a.rows : a.cols;
    assert_fails(cs_spectrum_density_of(&a, &o, &d), CS_ERR_USAGE, "-1 known triplets");
    o.spectrum.k = side + 1;
    assert_int_equal(cs_spectrum_density_of(&a, &o, &d), CS_ERR_USAGE);
    cs_reason_clear();
    o = options_of(0, 1);
    o.bins = 0;
    assert_fails(cs_spectrum_density_of(&a, &o, &d), CS_ERR_USAGE, "0 bins");
    o = options_of(0, 1);
    o.samples = 1;
    assert_fails(cs_spectrum_density_of(&a, &o, &d), CS_ERR_USAGE, "1 sample is");
    a.val[0] = -2;
    o = options_of(0, 1);
    assert_fails(cs_spectrum_density_of(&a, &o, &d), CS_ERR_INPUT, "-2");
    cs_csr_free(&a);

    a = cycle(700);
    o = options_of(10, 1);
    o.spectrum.solver = CS_SOLVER_ARPACK;
    o.spectrum.max_iterations = 1;
    assert_fails(cs_spectrum_density_of(&a, &o, &d), CS_ERR_CONVERGE, "did not converge");
    assert_null(d.x);
}

TEST(every_failed_allocation_is_reported)
{
    CS_AUTO(cs_csr) a = untidy_matrix(2, 20, 15, 2), abar = normalised(&a);
    for (int kind = 0; kind < 2; ++kind) {
        cs_spectrum_density_options o = options_of(3, 1);
        o.samples = 2;
        o.degree = 4;
        o.bins = 2;
        o.spectrum.normalised = kind == 1;
        EACH_ALLOCATION_FAILS(n) {
            CS_AUTO(cs_spectrum_density) d = {0};
            (void)out_of_memory(cs_spectrum_density_of(kind == 1 ? &abar : &a, &o, &d));
        }
    }
}
