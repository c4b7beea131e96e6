/* stats: rank correlations of means over runs, against scipy and in simulation. */
#include "stats/rank_correlation.h"

#include "test.h"

enum { OBJECTS = 26, RUNS = 3 };

/* scipy 1.10: kendalltau, spearmanr of x and the means of y; the partial coefficients and the
 * jackknife by their formulas on these (its quantile of Student has an error of 6e-10); p by all 40320 orders of y, 3216 of them as extreme. */
TEST(as_scipy_has_it)
{
    const double x[16] = {1, 1, 2, 2, 2, 2, 3, 3, 5, 5, 8, 8, 13, 13, 4, 4};
    const double y[16] = {2, 1, 1, 4, 3, 3.5, 5, 4, 4, 7, 9, 6, 3, 3, 0, 7};
    const double z[16] = {3, 3, 1, 1, 4, 4, 1.5, 1.5, 5, 5, 9, 9, 2, 2, 6, 6};
    cs_rank_data data = {.objects = 8, .runs = 2, .x = x, .y = y};
    cs_rank_correlation c;
    OK(cs_rank_correlation_of(&data, &c));
    assert_true(fabs(c.tau - 0.5455447255899809) <= 1e-14);
    assert_true(fabs(c.rho - 0.5988131309566295) <= 1e-14);
    assert_true(fabs(c.p - 3216.0 / 40320) <= 1e-15);
    assert_true(fabs(c.low + 0.8211242983776154) <= 1e-9);
    assert_true(fabs(c.high - 0.9831582093342324) <= 1e-9);
    data.z = z;
    OK(cs_rank_correlation_of(&data, &c));
    assert_true(fabs(c.tau - 0.4666666666666666) <= 1e-14);
    assert_true(fabs(c.rho - 0.4984473896304799) <= 1e-14);
    assert_true(fabs(c.low + 0.8211891647052005) <= 1e-9 && isnan(c.p));
    assert_true(fabs(c.high - 0.9743668932276179) <= 1e-9);
}

TEST(what_is_not_known)
{
    const double up[4] = {1, 2, 3, 4}, flat[4] = {5, 5, 5, 5};
    cs_rank_correlation c;
    OK(cs_rank_correlation_of(&(cs_rank_data){4, 1, up, up, NULL, 0}, &c));
    assert_true(c.tau == 1 && isnan(c.low) && isnan(c.high) && isnan(c.runs_se));
    assert_true(fabs(c.p - 2.0 / 24) <= 1e-15);
    OK(cs_rank_correlation_of(&(cs_rank_data){4, 1, flat, up, NULL, 0}, &c));
    assert_true(isnan(c.tau) && isnan(c.p) && isnan(c.rho) && isnan(c.low));
}

/* Equal runs say nothing beyond one of them: not the ties of x that means of 0.1, three times, would
 * break, and no error of 5e-15. */
TEST(equal_runs_have_no_error)
{
    const double of_x[6] = {0.1, 0.1, 0.7, 0.7, 1.1, 2.3}, of_y[6] = {0.3, 0.6, 0.1, 1.7, 1.1, 4.9};
    cs_rank_correlation one, c;
    ARRAY(double, x, 18, i, of_x[i / 3]);
    ARRAY(double, y, 18, i, of_y[i / 3]);
    OK(cs_rank_correlation_of(&(cs_rank_data){6, 1, of_x, of_y, NULL, 0}, &one));
    OK(cs_rank_correlation_of(&(cs_rank_data){6, 3, x, y, NULL, 0}, &c));
    assert_true(c.tau == one.tau && c.low == one.low && c.runs_se == 0);
    OK(cs_rank_correlation_of(&(cs_rank_data){6, 3, x, y, y, 0}, &c));
    assert_true(isnan(c.tau) || c.runs_se == 0);
}

static double normal(cs_rng *rng)
{
    const double u = cs_rng_uniform(rng);
    return sqrt(-2 * log(1 - u)) * cos(2 * M_PI * cs_rng_uniform(rng));
}

/* Objects and runs as they come: x has no noise, the mean of an object's runs of y has the
 * correlation .6 / sqrt(1 + .5^2 / 3) with it, so that tau is 2 / pi asin of that. */
static void simulate(uint64_t seed, double *x, double *mean, double *y)
{
    cs_rng rng = cs_rng_at(seed, CS_STREAM_TEST, 0);
    for (int i = 0; i < OBJECTS; ++i) {
        const double a = normal(&rng);
        mean[i] = 0.6 * a + 0.8 * normal(&rng);
        for (int r = 0; r < RUNS; ++r) {
            x[i * RUNS + r] = a;
            y[i * RUNS + r] = mean[i] + 0.5 * normal(&rng);
        }
    }
}

/* Of 400 nominal 95 % intervals 367 to 392 cover with a chance of .995 each side where 95 % do. */
TEST(intervals_cover)
{
    const double truth = 2 / M_PI * asin(0.6 / sqrt(1 + 0.25 / 3));
    double x[OBJECTS * RUNS], y[OBJECTS * RUNS], mean[OBJECTS];
    int covered = 0;
    for (uint64_t seed = 0; seed < 400; ++seed) {
        cs_rank_correlation c;
        simulate(seed, x, mean, y);
        OK(cs_rank_correlation_of(&(cs_rank_data){OBJECTS, RUNS, x, y, NULL, seed}, &c));
        covered += c.low <= truth && truth <= c.high;
    }
    assert_in_range(covered, 367, 392);
}

/* The error of the runs is the spread of tau where the same objects are run again: 300 times, the
 * deviation to 4 %; the draws smooth a discrete number, and are of noise upon noise: 15 %. */
TEST(the_error_of_runs)
{
    double x[OBJECTS * RUNS], y[OBJECTS * RUNS], mean[OBJECTS];
    double sum = 0, squares = 0, error = 0;
    const int again = 300;
    simulate(7, x, mean, y);
    for (int a = 0; a < again; ++a) {
        cs_rng rng = cs_rng_at((uint64_t)a, CS_STREAM_TEST, 1);
        cs_rank_correlation c;
        for (int i = 0; i < OBJECTS * RUNS; ++i) {
            y[i] = mean[i / RUNS] + 0.5 * normal(&rng);
        }
        OK(cs_rank_correlation_of(&(cs_rank_data){OBJECTS, RUNS, x, y, NULL, (uint64_t)a}, &c));
        sum += c.tau / again;
        squares += c.tau * c.tau / again;
        error += c.runs_se / again;
    }
    const double spread = sqrt(squares - sum * sum);
    assert_true(fabs(error / spread - 1) <= 0.15);
}
