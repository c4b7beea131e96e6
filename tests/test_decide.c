/* stats/moderated, stats/decide against closed forms and scipy, and the rule itself by
 * simulation. tests/bench/decide_bench.c has the larger one. */
#include "io_support.h"
#include "stats/decide.h"
#include "stats/moderated.h"
#include "stats/rank_correlation.h"

static void near(double got, double want, double tolerance)
{
    if (!(fabs(got - want) <= tolerance * fabs(want))) {
        fail_msg("%.17g is not %.17g", got, want);
    }
}

/* --- Student's distribution ------------------------------------------------------------------- */

/* scipy 1.10.1, 2 t.sf(t, freedom); the last: erfc(t / sqrt 2). */
TEST(tails_of_student)
{
    static const double golden[][3] = {
        {0.5, 0.7, 0.7304016866823302},     {12, 1.5, 0.018042029274027864},
        {2.3, 2.8, 0.11126070604875932},    {4.30265, 2, 0.05000005876450578},
        {40, 3, 3.438068078915854e-05},     {0.001, 5.5, 0.9992373871193494},
        {2.1, 19, 0.049314398243273425},    {6, 63.2, 1.0515833152873883e-07},
        {3, 1000.0, 0.0027667090442381878}, {2.0, INFINITY, 0.04550026389635844}};
    for (size_t i = 0; i < sizeof golden / sizeof *golden; ++i) {
        const double *g = golden[i];
        near(cs_student_beyond(g[0], g[1]), g[2], 1e-12);
        near(cs_student_beyond(cs_student_point(g[2], g[1]), g[1]), g[2], 1e-12);
    }
    /* One degree of freedom: 1 - (2 / pi) atan t; two: 1 - t / sqrt(2 + t^2). */
    near(cs_student_point(1e-4, 1), tan((1 - 1e-4) * M_PI / 2), 1e-9);
    near(cs_student_beyond(3, 2), 1 - 3 / sqrt(11), 1e-13);
    assert_true(cs_student_beyond(0, 3) == 1 && cs_student_point(1, 3) == 0);
    assert_true(isinf(cs_student_point(1e-300, 0.01)));
}

/* --- moderated variances ---------------------------------------------------------------------- */

/* psi(1) = -gamma, psi(1/2) = -gamma - 2 log 2, psi'(1) = pi^2/6, psi'(1/2) = pi^2/2, psi'(40) by
 * scipy 1.10.1. */
TEST(polygamma_in_closed_form)
{
    const double gamma = 0.57721566490153286;
    near(cs_digamma(1), -gamma, 1e-14);
    near(cs_digamma(0.5), -gamma - 2 * log(2), 1e-14);
    near(cs_trigamma(1), M_PI * M_PI / 6, 1e-14);
    near(cs_trigamma(0.5), M_PI * M_PI / 2, 1e-14);
    near(cs_trigamma(40), 0.025315103841291032, 1e-13);
    for (double y = 1e-6; y < 1e7; y *= 7.3) {
        near(cs_trigamma(cs_trigamma_inverse(y)), y, 1e-13);
    }
}

/* Smyth's moments with scipy's digamma, polygamma and brentq. */
TEST(the_prior_of_smyth)
{
    static const struct {
        int count;
        double variance[6], freedom[6], d0, s0;
    } golden[] = {{4,
                   {3.6e-05, 0.007225000000000001, 0.0004, 0.00012099999999999999},
                   {2, 2, 2, 2},
                   1.2253159851597808,
                   0.00021828655609857798},
                  {6,
                   {1.0, 30.0, 4.0, 0.2, 9.0, 2.5},
                   {2, 3, 4, 9, 2, 6},
                   1.5458515034644011,
                   1.8676726622995603},
                  {3, {0.001, 5.0, 7.0}, {5, 5, 5}, 0.41322111700347314, 0.011700390879087096}};
    for (size_t g = 0; g < sizeof golden / sizeof *golden; ++g) {
        cs_prior p = {0};
        OK(cs_prior_of(golden[g].count, golden[g].variance, golden[g].freedom, &p));
        near(p.freedom, golden[g].d0, 1e-10);
        near(p.variance, golden[g].s0, 1e-10);
        const cs_variance own = {golden[g].variance[0], golden[g].freedom[0]};
        const cs_variance m = cs_moderated(&p, own);
        near(m.variance,
             (p.freedom * p.variance + own.freedom * own.variance) / (p.freedom + own.freedom),
             1e-14);
        near(m.freedom, p.freedom + own.freedom, 1e-14);
    }
}

TEST(a_prior_needs_three_groups_and_some_spread)
{
    const double two[] = {1, 4, 9}, freedom[] = {2, 2, 0}, nothing[] = {0, 0, 1, 2};
    const double alike[] = {1, 1.01, 0.99, 1.02}, twos[] = {2, 2, 2, 2};
    const cs_variance own = {0.5, 2};
    cs_prior p = {0};
    OK(cs_prior_of(3, two, freedom, &p)); /* the third has no freedom */
    assert_true(p.freedom == 0 && p.pooled == 4);
    assert_true(cs_moderated(&p, own).variance == 0.5 && cs_moderated(&p, own).freedom == 2);
    OK(cs_prior_of(4, nothing, twos, &p));
    assert_true(p.freedom == 0);
    OK(cs_prior_of(4, alike, twos, &p)); /* nearer to each other than chance has them */
    assert_true(isinf(p.freedom));
    near(cs_moderated(&p, own).variance, 1.005, 1e-14);
    assert_true(cs_moderated(&p, own).freedom == 8);
    OK(cs_prior_of(0, NULL, NULL, &p));
    assert_true(p.freedom == 0 && p.pooled == 0);
}

/* --- margins ---------------------------------------------------------------------------------- */

TEST(margins_by_hand)
{
    const cs_error_part part[] = {cs_error_of(3, 19), cs_error_of(4, INFINITY), cs_error_of(0, 2)};
    const double t = 2.0930240544082634, z = 1.9599639845400545; /* tables */
    near(cs_margin(3, part, 0.05), sqrt(9 * t * t + 16 * z * z), 1e-12);
    near(cs_decision_p(3, part, sqrt(9 * t * t + 16 * z * z)), 0.05, 1e-10);
    near(cs_decision_p(1, part, -6), cs_student_beyond(2, 19), 1e-10);
    assert_true(cs_decision_p(3, part, 0) == 1 && isnan(cs_decision_p(3, part, NAN)));
    assert_true(cs_decision_p(1, &part[2], 1e-9) == 0 && cs_decision_p(1, &part[2], 0) == 1);
    const cs_error_part unknown = cs_error_of(NAN, 19);
    /* ruled out one-sided: P(T_19 > 2) of a difference 2 errors below what matters */
    near(cs_small_p(1, part, -6, 12), 0.5 * cs_student_beyond(2, 19), 1e-10);
    near(cs_small_p(1, part, 6, 12), 0.5 * cs_student_beyond(2, 19), 1e-10);
    assert_true(cs_small_p(1, part, 6, 6) == 1 && cs_small_p(1, part, -7, 6) == 1);
    assert_true(isnan(cs_small_p(1, &unknown, 1, 6)) && isnan(cs_small_p(1, part, NAN, 6)));
    assert_true(isnan(cs_margin(1, &unknown, 0.05)) && isnan(cs_decision_p(1, &unknown, 3)));
}

/* The part of a side: moderated, its own where that says more, less 2/5 of the prior's sum of
 * squares where the other side has as many seeds. */
TEST(parts_of_seeds_by_hand)
{
    const cs_prior prior = {4, 2, 20}, none = {0};
    const cs_seeds few = {3, 1}, wild = {3, 50}, more = {5, 1}, absent = {0, 0};
    cs_error_part p = cs_error_of_seeds(&prior, few, wild);
    near(p.variance, (4 * 2 + 2 * 1) / 6.0 / 3, 1e-14);
    assert_true(p.freedom == 6 && p.own_freedom == 2);
    near(p.own, (1 - 0.4 * 2 / 2) / 3, 1e-14);
    near(cs_error_of_seeds(&prior, few, more).own, 1.0 / 3, 1e-14);
    near(cs_error_of_seeds(&prior, few, absent).own, 1.0 / 3, 1e-14);
    p = cs_error_of_seeds(&prior, wild, few);
    const double own = cs_student_point(0.05, 2) * sqrt(49.6 / 3);
    near(cs_margin(1, &p, 0.05), own, 1e-12); /* 17.5, where the moderated one has 6.0 */
    p = cs_error_of_seeds(&none, wild, few);
    near(cs_margin(1, &p, 0.05), cs_student_point(0.05, 2) * sqrt(50.0 / 3), 1e-12);
    p = cs_error_of_seeds(&prior, absent, few);
    assert_true(cs_margin(1, &p, 0.05) == 0);
}

/* Holm 1979; R's p.adjust(c(.01, .04, .03, .005), "holm") is .03 .06 .06 .02. */
TEST(holm_adjusts)
{
    const double p[] = {0.01, NAN, 0.04, 0.03, 0.005}, want[] = {0.03, NAN, 0.06, 0.06, 0.02};
    double adjusted[5];
    OK(cs_holm(5, p, adjusted));
    assert_each(i, 0, 5, isnan(want[i]) ? isnan(adjusted[i]) : fabs(adjusted[i] - want[i]) < 1e-15);
    near(cs_holm_level(5, adjusted, 0.05), 0.05 / 2, 1e-15); /* two of four are decided */
    const double lower[] = {0.01, NAN, 0.024, 0.03, 0.005};  /* the third at that level */
    OK(cs_holm(5, lower, adjusted));
    assert_true(adjusted[2] <= 0.05);
    near(cs_holm_level(0, NULL, 0.05), 0.05, 1e-15);
}

/* --- the rule, simulated ---------------------------------------------------------------------- */

enum { MOST_SIDES = 14, REPETITIONS = 20000 };

typedef struct {
    const char *name;
    int seeds, sides;
    double sd[MOST_SIDES]; /* of one seed; the first two sides are compared, the rest is 1 */
    double documents;      /* standard error of the test documents, 20 blocks; 0: none */
} row;

/* The first side is 5 times the others, as it would be were it no part of the pool; variances that
 * differ by 14, as those of AR's and masked models' fine-tuning; three seeds. */
static const row rows[] = {
    {"equal variances", 3, 8, {1, 1}, 0},
    {"a side outside the pool", 3, 8, {5, 1}, 0},
    {"both outside", 3, 8, {3, 3}, 0},
    {"14 times", 3, 4, {14, 1}, 0},
    {"14 times, the smaller ones elsewhere", 5, 14, {1, 14}, 0},
    {"five seeds, 3 times", 5, 14, {3, 1}, 0},
    {"with documents", 3, 8, {2, 1}, 1},
};

static double chi_square(cs_rng *rng, int freedom)
{
    double sum = 0;
    for (int i = 0; i < freedom; ++i) {
        const double z = cs_rng_normal(rng);
        sum += z * z;
    }
    return sum;
}

static double sd_of(const row *r, int side)
{
    return r->sd[side] > 0 ? r->sd[side] : 1;
}

/* The margin at `alpha` of one repetition, and d less its mean. */
static double draw(const row *r, int number, double alpha, double *d)
{
    cs_rng rng = cs_rng_at(11, CS_STREAM_TEST, (uint64_t)number);
    double variance[MOST_SIDES], freedom[MOST_SIDES];
    const int nu = r->seeds - 1;
    for (int i = 0; i < r->sides; ++i) {
        variance[i] = sd_of(r, i) * sd_of(r, i) * chi_square(&rng, nu) / nu;
        freedom[i] = nu;
    }
    cs_prior prior = {0};
    OK(cs_prior_of(r->sides, variance, freedom, &prior));
    const cs_seeds left = {r->seeds, variance[0]}, right = {r->seeds, variance[1]};
    const cs_error_part part[] = {cs_error_of(r->documents * sqrt(chi_square(&rng, 19) / 19), 19),
                                  cs_error_of_seeds(&prior, left, right),
                                  cs_error_of_seeds(&prior, right, left)};
    *d = cs_rng_normal(&rng) *
         sqrt((sd_of(r, 0) * sd_of(r, 0) + sd_of(r, 1) * sd_of(r, 1)) / r->seeds +
              r->documents * r->documents);
    return cs_margin(3, part, alpha);
}

/* False decisions are at most 5 %, beyond what 4 standard deviations of their count allow; so are
 * differences as large as what matters that are found small: d below it by more than the margin of
 * twice the level. */
TEST(false_decisions_are_at_most_nominal)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        int wrong = 0, found = 0, small = 0;
        const double truth = 4 * hypot(sd_of(&rows[i], 0), sd_of(&rows[i], 1)) / sqrt(2);
        for (int k = 0; k < REPETITIONS; ++k) {
            double d = 0, margin = draw(&rows[i], k, 0.05, &d);
            wrong += fabs(d) > margin;
            found += d + truth > margin;
            small += d > draw(&rows[i], k, 0.1, &d);
        }
        print_message("%s: %.4f false, power %.2f at 4 seed sd, %.4f found small\n", rows[i].name,
                      (double)wrong / REPETITIONS, (double)found / REPETITIONS,
                      (double)small / REPETITIONS);
        const double most = 0.05 * REPETITIONS + 4 * sqrt(0.05 * 0.95 * REPETITIONS);
        assert_true(wrong <= most && small <= most);
        assert_true(found > wrong);
    }
}

/* --- planning --------------------------------------------------------------------------------- */

/* The quadrature against a simulation of what it integrates. */
TEST(power_is_that_of_a_simulation)
{
    const cs_prior prior = {6, 1, 16};
    const cs_plan_of_seeds plan = {
        .prior = &prior, .variance = {1.5, 0.5}, .fixed = cs_error_of(0.3, 19), .d = 2.2};
    const int n = 5;
    int found = 0;
    for (int k = 0; k < REPETITIONS; ++k) {
        cs_rng rng = cs_rng_at(5, CS_STREAM_TEST, (uint64_t)k);
        const cs_seeds left = {n, 1.5 * chi_square(&rng, n - 1) / (n - 1)};
        const cs_seeds right = {n, 0.5 * chi_square(&rng, n - 1) / (n - 1)};
        const cs_error_part part[] = {cs_error_of(0.3 * sqrt(chi_square(&rng, 19) / 19), 19),
                                      cs_error_of_seeds(&prior, left, right),
                                      cs_error_of_seeds(&prior, right, left)};
        found += plan.d + sqrt(2.0 / n + 0.09) * cs_rng_normal(&rng) > cs_margin(3, part, 0.05);
    }
    const double share = (double)found / REPETITIONS, power = cs_decision_power(&plan, n, 0.05);
    assert_true(share > 0.2 && share < 0.95);
    if (!(fabs(power - share) <= 4 * sqrt(share * (1 - share) / REPETITIONS) + 2e-3)) {
        fail_msg("power %.4f, simulated %.4f", power, share);
    }
}

/* Two samples of n with known and equal variances would take 4, 6, 9, 17 by the pooled test; here the
 * variances are not known to be equal. */
TEST(seeds_needed_at_differences_of_some_sd)
{
    static const double d[] = {3, 2, 1.5, 1};
    static const int least[] = {4, 6, 9, 17};
    const cs_prior none = {0};
    for (int i = 0; i < 4; ++i) {
        cs_plan_of_seeds plan = {.prior = &none, .variance = {1, 1}, .d = -d[i]};
        const int64_t n = cs_seeds_needed(&plan, 0.05);
        assert_true(n >= least[i] && n <= least[i] + 1);
        assert_true(cs_decision_power(&plan, n, 0.05) >= 0.8);
        assert_true(cs_decision_power(&plan, n - 1, 0.05) < 0.8);
        plan.fixed = cs_error_of(d[i], 19); /* documents that no seeds make more */
        assert_int_equal(cs_seeds_needed(&plan, 0.05), 0);
    }
}

static cs_status allocating(const char *unused)
{
    const double value[] = {3, 1, 2, 2, 5}, other[] = {1, 2, 3, 4, 5}, freedom[] = {2, 2, 2, 2, 2};
    double adjusted[5];
    cs_prior prior;
    cs_kendall kendall;
    (void)unused;
    cs_status status = cs_prior_of(5, value, freedom, &prior);
    if (status == CS_OK) status = cs_holm(5, freedom, adjusted);
    return status ? status : cs_kendall_of(5, value, other, &kendall);
}

TEST(every_allocation_may_fail)
{
    fail_each_allocation(allocating, NULL);
}
