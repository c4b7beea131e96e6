/* analysis/metrics: scores against counts by hand, jackknife errors against closed forms, order
 * statistics and McNemar's p against sums of binomials. */
#include "io_support.h"
#include "stats/metrics.h"

static double score(cs_metric m, int64_t n, const double *truth, const double *guess,
                    int64_t classes)
{
    double v = NAN;
    OK(cs_metric_of(m, n, truth, guess, classes, &v));
    return v;
}

/* tp 3, fp 1, fn 2, tn 4. */
TEST(two_classes_by_hand)
{
    const double truth[10] = {1, 1, 1, 0, 1, 1, 0, 0, 0, 0},
                 guess[10] = {1, 1, 1, 1, 0, 0, 0, 0, 0, 0};
    assert_true(fabs(score(CS_METRIC_ACCURACY, 10, truth, guess, 2) - 0.7) <= 1e-15);
    assert_true(fabs(score(CS_METRIC_F1, 10, truth, guess, 2) - 6.0 / 9) <= 1e-15);
    double macro = 0.5 * (6.0 / 9 + 8.0 / 11);
    assert_true(fabs(score(CS_METRIC_F1_MACRO, 10, truth, guess, 2) - macro) <= 1e-15);
    double mcc = (3 * 4 - 1 * 2) / sqrt(4.0 * 5 * 5 * 6);
    assert_true(fabs(score(CS_METRIC_MATTHEWS, 10, truth, guess, 2) - mcc) <= 1e-15);
}

TEST(many_classes_by_hand)
{
    const double truth[6] = {0, 1, 2, 2, 1, 0}, guess[6] = {0, 2, 2, 2, 1, 1},
                 turned[6] = {1, 2, 0, 0, 2, 1};
    /* c = 4, s = 6, p = 1 2 3, t = 2 2 2 */
    double r = (4 * 6 - 2 * 6) / sqrt((36.0 - 14) * (36 - 12));
    assert_true(fabs(score(CS_METRIC_MATTHEWS, 6, truth, guess, 3) - r) <= 1e-15);
    double macro = (2.0 / 3 + 2.0 / 4 + 4.0 / 5) / 3;
    assert_true(fabs(score(CS_METRIC_F1_MACRO, 6, truth, guess, 3) - macro) <= 1e-15);
    /* A class that is nowhere counts with 0. */
    assert_true(fabs(score(CS_METRIC_F1_MACRO, 6, truth, guess, 4) - 0.75 * macro) <= 1e-15);
    assert_true(score(CS_METRIC_MATTHEWS, 6, truth, truth, 3) == 1);
    assert_true(score(CS_METRIC_ACCURACY, 6, truth, turned, 3) == 0);
}

TEST(constant_sides_are_zero)
{
    const double truth[4] = {0, 1, 1, 0}, ones[4] = {1, 1, 1, 1}, zeros[4] = {0, 0, 0, 0},
                 tenth[4] = {0.1, 0.1, 0.1, 0.1};
    assert_true(score(CS_METRIC_MATTHEWS, 4, truth, ones, 2) == 0);
    assert_true(score(CS_METRIC_MATTHEWS, 4, ones, truth, 2) == 0);
    assert_true(score(CS_METRIC_F1, 4, truth, zeros, 2) == 0);
    assert_true(score(CS_METRIC_F1, 4, zeros, zeros, 2) == 0);
    assert_true(score(CS_METRIC_PEARSON, 4, truth, tenth, 0) == 0);
    assert_true(score(CS_METRIC_SPEARMAN, 4, tenth, truth, 0) == 0);
}

TEST(correlations_by_hand)
{
    const double a[5] = {1, 2, 3, 4, 5}, b[5] = {2, 1, 4, 3, 5}, cube[5] = {1, 8, 27, 64, 125},
                 ties[5] = {7, 7, 9, 9, 9};
    assert_true(fabs(score(CS_METRIC_PEARSON, 5, a, b, 0) - 0.8) <= 1e-15);
    assert_true(fabs(score(CS_METRIC_SPEARMAN, 5, a, cube, 0) - 1) <= 1e-15);
    assert_true(score(CS_METRIC_PEARSON, 5, a, cube, 0) < 0.95);
    /* Ranks 1.5 1.5 4 4 4: sum of products about the mean 7.5, squares 10 and 7.5. */
    assert_true(fabs(score(CS_METRIC_SPEARMAN, 5, a, ties, 0) - 7.5 / sqrt(75)) <= 1e-15);
    assert_true(fabs(score(CS_METRIC_MSE, 5, a, b, 0) - 0.8) <= 1e-15);
    const double huge[5] = {2e300, 1e300, 4e300, 3e300, 5e300};
    assert_true(fabs(score(CS_METRIC_PEARSON, 5, a, huge, 0) - 0.8) <= 1e-15);
    /* A large mean does not cancel the correlation away: 2^40 + a is exact. */
    ARRAY(double, far, 5, i, ldexp(1, 40) + a[i]);
    assert_true(fabs(score(CS_METRIC_PEARSON, 5, far, b, 0) - 0.8) <=
                1e-3); /* the mean's rounding is 1e-4 */
}

/* Leaving out one at a time: sqrt(p (1 - p) / (n - 1)) of a share, sd / sqrt(n) of a mean. */
TEST(jackknife_of_a_share)
{
    enum { N = 150 };
    double se = NAN, square = 0, mean = 0;
    cs_rng rng = cs_rng_at(5, CS_STREAM_TEST, 0);
    ARRAY(double, truth, N, i, i % 3);
    ARRAY(double, guess, N, i, i % 5 == 0 ? (i + 1) % 3 : i % 3);
    OK(cs_metric_error(CS_METRIC_ACCURACY,
                       &(cs_metric_sample){.count = N, .truth = truth, .classes = 3}, guess, 0, 1,
                       &se, NULL));
    assert_true(fabs(se - sqrt(0.8 * 0.2 / (N - 1))) <= 1e-12);
    for (int i = 0; i < N; ++i) {
        guess[i] = truth[i] + cs_rng_normal(&rng);
        mean += pow(guess[i] - truth[i], 2) / N;
    }
    square += SUM(i, 0, N, pow(pow(guess[i] - truth[i], 2) - mean, 2));
    OK(cs_metric_error(CS_METRIC_MSE, &(cs_metric_sample){.count = N, .truth = truth, .classes = 0},
                       guess, N, 1, &se, NULL));
    assert_true(fabs(se - sqrt(square / N / (N - 1))) <= 1e-12);
}

/* Any metric by the definition, leaving out one at a time by copying. */
TEST(jackknife_by_its_definition)
{
    enum { N = 40 };
    double truth[N], guess[N], t[N], g[N];
    cs_rng rng = cs_rng_at(6, CS_STREAM_TEST, 0);
    for (int i = 0; i < N; ++i) {
        truth[i] = (double)cs_rng_below(&rng, 2);
        guess[i] = cs_rng_below(&rng, 4) > 0 ? truth[i] : 1 - truth[i];
    }
    for (int m = 0; m < CS_METRICS; ++m) {
        int64_t classes = cs_metric_of_classes((cs_metric)m) ? 2 : 0;
        double left[N], mean = 0, square = 0, se = NAN;
        for (int out = 0; out < N; ++out) {
            int n = 0;
            for (int i = 0; i < N; ++i) {
                if (i != out) {
                    t[n] = truth[i];
                    g[n++] = guess[i];
                }
            }
            left[out] = score((cs_metric)m, n, t, g, classes);
            mean += left[out] / N;
        }
        square += SUM(out, 0, N, pow(left[out] - mean, 2));
        OK(cs_metric_error((cs_metric)m,
                           &(cs_metric_sample){.count = N, .truth = truth, .classes = classes},
                           guess, 0, 9, &se, NULL));
        assert_true(fabs(se - sqrt((N - 1.0) / N * square)) <= 1e-12);
    }
}

TEST(blocks_differ_by_one_example)
{
    enum { N = 1000 };
    double a, b, c, few = NAN;
    ARRAY(double, truth, N, i, i % 2);
    ARRAY(double, guess, N, i, i % 7 == 0 ? 1 - truth[i] : truth[i]);
    OK(cs_metric_error(CS_METRIC_ACCURACY,
                       &(cs_metric_sample){.count = N, .truth = truth, .classes = 2}, guess, 0, 1,
                       &a, NULL));
    OK(cs_metric_error(CS_METRIC_ACCURACY,
                       &(cs_metric_sample){.count = N, .truth = truth, .classes = 2}, guess, 200, 1,
                       &b, NULL));
    OK(cs_metric_error(CS_METRIC_ACCURACY,
                       &(cs_metric_sample){.count = N, .truth = truth, .classes = 2}, guess, 0, 2,
                       &c, NULL));
    assert_true(a == b && a != c);
    /* Blocks of 5: near the error of one at a time; its own spread is about 1 / sqrt(2 B). */
    double want = sqrt(1.0 / 7 * 6 / 7 / N);
    assert_true(fabs(a - want) <= 4 * want / sqrt(400) && fabs(c - want) <= 4 * want / sqrt(400));
    OK(cs_metric_error(CS_METRIC_ACCURACY,
                       &(cs_metric_sample){.count = 1, .truth = truth, .classes = 2}, guess, 0, 1,
                       &few, NULL));
    assert_true(isnan(few));
    OK(cs_metric_error(CS_METRIC_ACCURACY,
                       &(cs_metric_sample){.count = 5, .truth = truth, .classes = 2}, guess, 1, 1,
                       &few, NULL));
    assert_true(isnan(few));
}

/* Scores that are the same without any block have no error, not that of a sum's rounding. */
TEST(perfect_scores_have_no_error)
{
    enum { N = 1003 };
    static const cs_metric metric[] = {CS_METRIC_ACCURACY, CS_METRIC_F1,      CS_METRIC_F1_MACRO,
                                       CS_METRIC_MATTHEWS, CS_METRIC_PEARSON, CS_METRIC_SPEARMAN,
                                       CS_METRIC_MSE};
    double truth[N], score = NAN, se = NAN;
    cs_rng rng = cs_rng_at(3, CS_STREAM_TEST, 40);
    for (size_t m = 0; m < sizeof metric / sizeof metric[0]; ++m) {
        const bool classes = cs_metric_of_classes(metric[m]);
        for (int i = 0; i < N; ++i) {
            truth[i] = classes ? (double)cs_rng_below(&rng, 2) : cs_rng_normal(&rng);
        }
        OK(cs_metric_of(metric[m], N, truth, truth, classes ? 2 : 0, &score));
        OK(cs_metric_error(
            metric[m], &(cs_metric_sample){.count = N, .truth = truth, .classes = classes ? 2 : 0},
            truth, 0, 3, &se, NULL));
        assert_true(score == (metric[m] == CS_METRIC_MSE ? 0 : 1) && se == 0);
    }
}

/* One at a time: the difference of two accuracies is a mean of values in {-1, 0, 1}. */
TEST(paired_differences)
{
    enum { N = 100 };
    double truth[N], a[N], b[N], d = NAN, se = NAN;
    for (int i = 0; i < N; ++i) {
        truth[i] = i % 2;
        a[i] = i < 10 ? 1 - truth[i] : truth[i];           /* wrong: 0..9 */
        b[i] = i >= 4 && i < 20 ? 1 - truth[i] : truth[i]; /* wrong: 4..19 */
    }
    OK(cs_metric_difference(CS_METRIC_ACCURACY,
                            &(cs_metric_sample){.count = N, .truth = truth, .classes = 2}, a, b, 3,
                            &d, &se));
    assert_true(fabs(d - 0.06) <= 1e-15);
    double variance = 14.0 / N - 0.06 * 0.06; /* 10 times 1, 4 times -1 */
    assert_true(fabs(se - sqrt(variance / (N - 1))) <= 1e-12);
    OK(cs_metric_difference(CS_METRIC_ACCURACY,
                            &(cs_metric_sample){.count = N, .truth = truth, .classes = 2}, a, a, 3,
                            &d, &se));
    assert_true(d == 0 && se == 0);
    cs_mcnemar_result m;
    OK(cs_mcnemar(N, truth, a, b, &m));
    assert_int_equal(m.only_a, 10);
    assert_int_equal(m.only_b, 4);
    /* 2 (1 + 14 + 91 + 364 + 1001) / 2^14 */
    assert_true(fabs(m.p - 2 * 1471.0 / 16384) <= 1e-14);
    OK(cs_mcnemar(N, truth, a, a, &m));
    assert_true(m.p == 1);
    OK(cs_mcnemar(2, truth, a, truth, &m));
    assert_true(m.p == 0.5); /* 0 against 2 */
    assert_fails(cs_mcnemar(0, truth, a, b, &m), CS_ERR_USAGE, "no examples");
}

TEST(seeds)
{
    cs_seed_summary s;
    double v[2000];
    for (int i = 0; i < 2000; ++i) {
        v[i] = (i * 7919) % 2000; /* a permutation of 0..1999 */
    }
    OK(cs_seed_summary_of(1, v + 3, &s));
    assert_true(s.median == v[3] && isnan(s.low) && isnan(s.high) && isnan(s.coverage));
    const double five[5] = {3, 1, 2, 5, 4}, six[6] = {3, 1, 2, 5, 4, 9};
    OK(cs_seed_summary_of(5, five, &s));
    assert_true(s.median == 3 && s.low == 1 && s.high == 5 && fabs(s.coverage - 0.9375) <= 1e-15);
    OK(cs_seed_summary_of(6, six, &s));
    assert_true(s.median == 3.5 && s.low == 1 && s.high == 9 &&
                fabs(s.coverage - 0.96875) <= 1e-15);
    /* n = 20, tables: (6, 15) with coverage 0.9586. */
    ARRAY(double, twenty, 20, i, i + 1);
    OK(cs_seed_summary_of(20, twenty, &s));
    assert_true(s.low == 6 && s.high == 15 && fabs(s.coverage - 0.9586) <= 1e-4);
    /* 2^-2000 underflows; the normal approximation with continuity is good to 1e-4 here. */
    OK(cs_seed_summary_of(2000, v, &s));
    assert_true(s.median == 999.5 && s.low + s.high == 1999);
    double z = (1000 - s.low - 0.5) / sqrt(500);
    assert_true(fabs(s.coverage - erf(z / sqrt(2))) <= 1e-4 && s.coverage >= 0.95);
    v[7] = NAN;
    assert_fails(cs_seed_summary_of(9, v, &s), CS_ERR_INPUT, "score of example 7: nan");
    assert_fails(cs_seed_summary_of(0, v, &s), CS_ERR_USAGE, "no seeds");
}

TEST(names)
{
    for (int m = 0; m < CS_METRICS; ++m) {
        cs_metric back = CS_METRICS;
        OK(cs_metric_by_name(cs_metric_name((cs_metric)m), &back));
        assert_int_equal(back, m);
        assert_true(strlen(cs_metric_definition((cs_metric)m)) > 10);
    }
    cs_metric none;
    assert_fails(cs_metric_by_name("recall", &none), CS_ERR_USAGE,
                 "unknown metric 'recall' (accuracy, f1");
}

TEST(bad_input)
{
    double truth[3] = {0, 1, 2}, guess[3] = {0, 1, 1}, v;
    assert_fails(cs_metric_of(CS_METRIC_ACCURACY, 0, truth, guess, 3, &v), CS_ERR_USAGE,
                 "no examples");
    assert_fails(cs_metric_of(CS_METRIC_F1, 3, truth, guess, 3, &v), CS_ERR_USAGE,
                 "f1 needs 2 classes, not 3");
    assert_fails(cs_metric_of(CS_METRIC_F1, 3, truth, guess, 0, &v), CS_ERR_USAGE,
                 "f1 cannot score values");
    assert_fails(cs_metric_of(CS_METRIC_PEARSON, 3, truth, guess, 3, &v), CS_ERR_USAGE,
                 "pearson cannot score classes");
    assert_fails(cs_metric_of(CS_METRIC_ACCURACY, 3, truth, guess, 2, &v), CS_ERR_INPUT,
                 "truth of example 2: 2 is not a class in 0..1");
    guess[1] = 0.5;
    assert_fails(cs_metric_of(CS_METRIC_ACCURACY, 3, truth, guess, 3, &v), CS_ERR_INPUT,
                 "prediction of example 1: 0.5 is not a class");
    guess[1] = -1;
    assert_fails(cs_metric_of(CS_METRIC_ACCURACY, 3, truth, guess, 3, &v), CS_ERR_INPUT,
                 "-1 is no");
    guess[1] = INFINITY;
    assert_fails(cs_metric_of(CS_METRIC_MSE, 3, truth, guess, 0, &v), CS_ERR_INPUT,
                 "prediction of example 1: inf is not finite");
    assert_fails(cs_metric_error(CS_METRIC_MSE,
                                 &(cs_metric_sample){.count = 3, .truth = truth, .classes = 0},
                                 truth, 4, 1, &v, NULL),
                 CS_ERR_USAGE, "4 jackknife blocks are not in 0..3, the number of examples");
    assert_fails(cs_metric_error(CS_METRIC_MSE,
                                 &(cs_metric_sample){.count = 3, .truth = truth, .classes = 0},
                                 truth, -1, 1, &v, NULL),
                 CS_ERR_USAGE, "-1 jackknife blocks");
    assert_fails(cs_metric_of(CS_METRIC_ACCURACY, 3, truth, truth, (int64_t)1 << 40, &v),
                 CS_ERR_MEMORY, "");
}

static cs_status whole(const char *path)
{
    (void)path;
    const double truth[4] = {0, 1, 1, 0}, a[4] = {0, 1, 0, 0}, b[4] = {1, 1, 1, 0};
    double v, se;
    cs_seed_summary s;
    cs_status status = cs_metric_of(CS_METRIC_F1, 4, truth, a, 2, &v);
    if (status == CS_OK) {
        status = cs_metric_error(CS_METRIC_SPEARMAN,
                                 &(cs_metric_sample){.count = 4, .truth = truth, .classes = 0}, a,
                                 0, 1, &se, NULL);
    }
    if (status == CS_OK) {
        status = cs_metric_difference(CS_METRIC_MATTHEWS,
                                      &(cs_metric_sample){.count = 4, .truth = truth, .classes = 2},
                                      a, b, 1, &v, &se);
    }
    return status == CS_OK ? cs_seed_summary_of(4, a, &s) : status;
}

TEST(every_allocation_may_fail)
{
    fail_each_allocation(whole, "");
}
