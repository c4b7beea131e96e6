/* analysis/linear_probe: bad input of every kind, failed allocations, interrupts. */
#include "base/threads.h"
#include "io_support.h"
#include "linear_probe_support.h"

enum { N = PROBE_N, D = PROBE_D, K = PROBE_K };

TEST(bad_input)
{
    static probe_data s;
    probe_fill(&s, 11);
    cs_rows rows = probe_rows(&s);
    const double rising[2] = {1, 2}, zero[1] = {0};
    const int64_t far[2] = {0, N};
    CS_AUTO(cs_linear_probe) p = {0};
    cs_linear_probe_options o = {.penalties = 2, .penalty = rising};
#define FIT(count, row, y, classes) cs_linear_probe_fit(&rows, count, row, y, classes, &o, &p)
    assert_fails(FIT(N, NULL, s.y, K), CS_ERR_USAGE, "penalty 2: penalties must be");
    o = (cs_linear_probe_options){.penalties = 1, .penalty = zero};
    assert_fails(FIT(N, NULL, s.y, K), CS_ERR_USAGE, "penalty 0");
    o = (cs_linear_probe_options){.folds = 1};
    assert_fails(FIT(N, NULL, s.y, K), CS_ERR_USAGE, "1 fold ");
    o = (cs_linear_probe_options){.share = 1};
    assert_fails(FIT(N, NULL, s.y, K), CS_ERR_USAGE, "share 1");
    o = (cs_linear_probe_options){0};
    assert_fails(FIT(1, NULL, s.y, K), CS_ERR_INPUT, "1 training row,");
    assert_fails(FIT(2, far, s.y, K), CS_ERR_INPUT, "row 300 does not exist: there are 300");
    double y[N] = {0};
    assert_fails(FIT(N, NULL, y, 2), CS_ERR_INPUT, "all 300 training rows have class 0");
    assert_fails(FIT(N, NULL, y, 0), CS_ERR_INPUT, "all 300 training values are 0");
    y[5] = 2;
    assert_fails(FIT(N, NULL, y, 2), CS_ERR_INPUT, "row 5: label 2 is not in 0..1");
    y[5] = 0.5;
    assert_fails(FIT(N, NULL, y, 2), CS_ERR_INPUT, "row 5: label 0.5");
    y[5] = NAN;
    assert_fails(FIT(N, NULL, y, 0), CS_ERR_INPUT, "row 5: value nan is not finite");
    y[5] = 1;
    y[4] = 1;
    assert_fails(FIT(5, NULL, s.x, K), CS_ERR_INPUT, "label");
    const int64_t two[2] = {4, 6};
    assert_fails(FIT(2, two, y, 2), CS_ERR_INPUT, "2 training rows are too few to hold any out");
    s.x[3 * D + 2] = INFINITY;
    assert_fails(FIT(N, NULL, s.y, K), CS_ERR_INPUT, "x: row 3, column 2: value inf");
    static double flat[N * D];
    rows = cs_rows_of_f64(N, D, flat, "flat");
    assert_fails(FIT(N, NULL, s.y, 0), CS_ERR_INPUT, "flat: none of the 7 features varies");
#undef FIT
    probe_fill(&s, 11);
    rows = probe_rows(&s);
    p = probe_fitted(&rows, s.y, K, &o);
    double guess[N];
    cs_rows narrow = cs_rows_of_f64(N, D - 1, s.x, "narrow");
    assert_fails(cs_linear_probe_predict(&p, &narrow, 1, guess), CS_ERR_INPUT,
                 "narrow: 6 columns, but the probe was trained on 7");
    s.x[290 * D + 6] = NAN;
    assert_fails(cs_linear_probe_predict(&p, &rows, 2, guess), CS_ERR_INPUT,
                 "x: row 290, column 6: value nan");
}

/* If no feature varies the probe predicts the shares of the classes: the largest one is the
 * guess. */
TEST(constant_features)
{
    enum { ROWS = 60 };
    double flat[ROWS * 3], y[ROWS], guess[ROWS];
    for (int64_t i = 0; i < ROWS; ++i) {
        y[i] = i % 6 == 0 ? 0 : i % 3 == 1 ? 2 : 1; /* 10, 30 and 20 of each */
        flat[3 * i] = 4, flat[3 * i + 1] = -0.1, flat[3 * i + 2] = 0;
    }
    const double penalties[2] = {0.1, 1e-3};
    const cs_linear_probe_options o = {.penalties = 2, .penalty = penalties, .folds = 3};
    cs_rows rows = cs_rows_of_f64(ROWS, 3, flat, "flat");
    AUTO_OK(cs_linear_probe, p, cs_linear_probe_fit(&rows, ROWS, NULL, y, 3, &o, &p));
    assert_int_equal(p.constant, 3);
    OK(cs_linear_probe_predict(&p, &rows, 1, guess));
    double share[3] = {0}, sum = 0;
    for (int64_t i = 0; i < ROWS; ++i) {
        share[(int)y[i]] += 1.0 / ROWS;
    }
    assert_each(i, 0, ROWS, guess[i] == (share[1] > share[2] ? 1 : 2));
    sum += SUM(c, 0, 3, log(share[c]) / 3);
    for (int c = 0; c < 3; ++c) { /* the intercepts sum to 0 */
        assert_true(fabs(p.intercept[c] - (log(share[c]) - sum)) < 1e-7);
    }
}

static cs_status whole_of(int64_t classes)
{
    const double x[16] = {0, 1, 3, 4.5, 1, 2, 1, 0, 5, 4, 2, 2, 7, 1, 3, 8},
                 y[8] = {0, 1, 1, 0, 1, 0, 0, 1}, penalties[2] = {1, 0.1};
    cs_rows rows = cs_rows_of_f64(8, 2, x, "x");
    const cs_linear_probe_options o = {
        .penalties = 2, .penalty = penalties, .folds = 2, .threads = 1};
    CS_AUTO(cs_linear_probe) p = {0};
    double guess[8];
    cs_status status = cs_linear_probe_fit(&rows, 8, NULL, y, classes, &o, &p);
    if (status == CS_OK) status = cs_linear_probe_predict(&p, &rows, 1, guess);
    return status;
}

static cs_status whole_classes(const char *path)
{
    (void)path;
    return whole_of(2);
}

static cs_status whole_values(const char *path)
{
    (void)path;
    return whole_of(0);
}

TEST(every_allocation_may_fail)
{
    fail_each_allocation(whole_classes, "");
    fail_each_allocation(whole_values, "");
}

static cs_status interrupted(const char *path)
{
    (void)path;
    cs_interrupt_set();
    return whole_of(2);
}

TEST(interrupts_end_it)
{
    assert_int_equal(in_child(interrupted, "", "interrupted"), CS_ERR_INTERRUPT);
}
