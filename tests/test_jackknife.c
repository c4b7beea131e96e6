/* The delete-block jackknife's formula: the error of a mean in closed form, strides, what leaves no
 * error. */
#include "stats/jackknife.h"
#include "test.h"

enum { N = 9, STRIDE = 3 };

/* Of the mean of x_1..x_N, one left out at a time, it is the standard error s / sqrt(N): for 1..N
 * the sum of squares about the mean is N (N^2 - 1) / 12. */
TEST(error_of_a_mean)
{
    double theta[N], strided[N * STRIDE];
    for (int i = 0; i < N * STRIDE; ++i) {
        strided[i] = NAN; /* what lies between is not read */
    }
    for (int b = 0; b < N; ++b) {
        theta[b] = strided[b * STRIDE] = (N * (N + 1) / 2.0 - (b + 1)) / (N - 1);
    }
    const double want = sqrt(N * (N * N - 1) / 12.0 / (N - 1) / N);
    const double got = cs_jackknife_error(N, theta, 1);
    assert_true(fabs(got - want) <= 32 * DBL_EPSILON * want);
    assert_true(cs_jackknife_error(N, strided, STRIDE) == got);
    /* an offset of 2^30 costs its own rounding, not digits of the squares */
    for (int b = 0; b < N; ++b) {
        theta[b] += 0x1p30;
    }
    assert_true(fabs(cs_jackknife_error(N, theta, 1) - want) <= N * 0x1p30 * DBL_EPSILON);
}

TEST(an_interval_stays_in_the_range_of_its_metric)
{
    const struct {
        const char *metric;
        double low, high;
    } cut[] = {{"mass_seen_halves", 0, 1},    {"sigma_3", 0, 1},      {"sum_sigma4", 0, 2},
               {"sum_sigma4_drift_8", -2, 2}, {"nll", 0, 2},          {"bits_per_byte", 0, 2},
               {"unigram_difference", -2, 2}, {"cheeger_upper", 0, 1}};
    for (size_t i = 0; i < sizeof cut / sizeof *cut; ++i) {
        double low = -2, high = 2, none = NAN, infinite = INFINITY;
        cs_interval_clip(cut[i].metric, &low, &high);
        assert_true(low == cut[i].low && high == cut[i].high);
        low = high = -1;
        cs_interval_clip(cut[i].metric, &low, &high);
        assert_true(low == fmax(-1, cut[i].low) && high == low);
        cs_interval_clip(cut[i].metric, &none, &none);
        cs_interval_clip(cut[i].metric, &low, &infinite);
        assert_true(isnan(none) && infinite >= cut[i].high);
    }
}

TEST(no_error)
{
    const double odd[] = {NAN, INFINITY, -INFINITY};
    double theta[3] = {0.1, 0.1, 0.1}; /* their mean, summed, is not 0.1 */
    assert_true(cs_jackknife_error(3, theta, 1) == 0);
    assert_true(isnan(cs_jackknife_error(1, theta, 1)) && isnan(cs_jackknife_error(0, theta, 1)));
    for (int k = 0; k < 9; ++k) {
        theta[k % 3] = odd[k / 3];
        assert_true(isnan(cs_jackknife_error(3, theta, 1)));
        theta[k % 3] = 0.1;
    }
}

/* Of a mean there is no bias, and the interval is Student's about it; of the square of a mean the
 * bias is the variance of the mean, which the pseudo-values take out exactly. */
TEST(interval_without_its_bias)
{
    double mean = 0, variance = 0, without[2 * N], low, high;
    mean += SUM(i, 0, N, i * i / (double)N);
    for (int i = 0; i < N; ++i) {
        variance += (i * i - mean) * (i * i - mean) / (N - 1);
        without[2 * i] = (N * mean - i * i) / (N - 1);
        without[2 * i + 1] = without[2 * i] * without[2 * i];
    }
    const double quantile =
        2.306004135204166; /* 8 degrees of freedom: scipy.stats.t.ppf(.975, 8) */
    cs_jackknife_interval(N, mean, without, 2, false, &low, &high);
    assert_true(fabs(low - (mean - quantile * sqrt(variance / N))) < 1e-11 &&
                fabs(high - (mean + quantile * sqrt(variance / N))) < 1e-11);
    cs_jackknife_interval(N, mean * mean, without + 1, 2, false, &low, &high);
    assert_true(fabs((low + high) / 2 - (mean * mean - variance / N)) < 1e-9);
    cs_jackknife_interval(N, mean, without, 2, true, &low, &high);
    double log_mean = SUM(i, 0, N, log(without[2 * i]) / N);
    double square =
        SUM(i, 0, N, (log(without[2 * i]) - log_mean) * (log(without[2 * i]) - log_mean));
    const double center = N * log(mean) - (N - 1) * log_mean,
                 width = quantile * sqrt(square * (N - 1) / N);
    assert_true(fabs(log(low) - (center - width)) < 1e-11 &&
                fabs(log(high) - (center + width)) < 1e-11);
    /* its middle, and what that is without each pseudo-value: their mean over the others */
    double left_out[N];
    assert_true(fabs(cs_jackknife_corrected(N, mean, without, 2, true, left_out) - exp(center)) <
                1e-11);
    for (int b = 0; b < N; ++b) {
        double others =
            SUM(i, 0, N, i == b ? 0 : (N * log(mean) - (N - 1) * log(without[2 * i])) / (N - 1));
        assert_true(fabs(log(left_out[b]) - others) < 1e-11);
    }
    assert_true(fabs(cs_jackknife_corrected(N, mean * mean, without + 1, 2, false, NULL) -
                     (mean * mean - variance / N)) < 1e-9);
}

/* A number that is not above 0 has no logarithm; one that is no number has no interval. */
TEST(interval_of_what_has_no_logarithm)
{
    double without[] = {1, -0.5, 2, 1.5}, low, high, plain_low, plain_high;
    cs_jackknife_interval(4, 1, without, 1, true, &low, &high);
    cs_jackknife_interval(4, 1, without, 1, false, &plain_low, &plain_high);
    assert_true(low == plain_low && high == plain_high && low < high);
    const double middle = cs_jackknife_corrected(4, 1, without, 1, true, NULL);
    assert_true(fabs(middle - (low + high) / 2) < 1e-12);
    without[2] = NAN;
    assert_true(isnan(cs_jackknife_corrected(4, 1, without, 1, true, NULL)));
    cs_jackknife_interval(4, 1, without, 1, true, &low, &high);
    assert_true(isnan(low) && isnan(high));
    cs_jackknife_interval(1, 1, without, 1, true, &low, &high);
    assert_true(isnan(low) && isnan(high));
}
