/* analysis: Kendall's tau-b, pairs that errors leave open. */
#include <math.h>

#include "stats/ranking.h"
#include "test.h"

TEST(tau_b_by_hand)
{
    const cs_measured up[4] = {{1, 0, 0}, {2, 0, 0}, {3, 0, 0}, {4, 0, 0}};
    const cs_measured down[4] = {{-1, 0, 0}, {-2, 0, 0}, {-3, 0, 0}, {-4, 0, 0}};
    const cs_measured tied[4] = {{1, 0, 0}, {2, 0, 0}, {2, 0, 0}, {3, 0, 0}};
    const cs_measured mixed[4] = {{1, 0, 0}, {3, 0, 0}, {2, 0, 0}, {4, 0, 0}};
    const cs_measured flat[4] = {{1, 0, 0}, {1, 0, 0}, {1, 0, 0}, {1, 0, 0}};
    cs_ranking r = cs_ranking_of(4, up, up);
    assert_true(fabs(r.tau_sd - sqrt(2.0 * 13 / (9 * 4 * 3))) <= 1e-15);
    assert_true(r.tau_b == 1 && r.agree == 6 && r.disagree == 0 && r.cannot_tell == 0);
    r = cs_ranking_of(4, up, down);
    assert_true(r.tau_b == -1 && r.agree == 0 && r.disagree == 6);
    r = cs_ranking_of(4, tied, mixed); /* C = 5, D = 0, one tie on the left */
    assert_true(fabs(r.tau_b - 5 / sqrt(30)) <= 1e-15 && r.agree == 5 && r.cannot_tell == 1);
    r = cs_ranking_of(4, up, mixed); /* C = 5, D = 1 */
    assert_true(fabs(r.tau_b - 4.0 / 6) <= 1e-15 && r.agree == 5 && r.disagree == 1);
    r = cs_ranking_of(4, up, flat);
    assert_true(isnan(r.tau_b) && isnan(r.tau_sd) && r.cannot_tell == 6 && r.objects == 4);
    r = cs_ranking_of(1, up, up);
    assert_true(isnan(r.tau_b) && r.agree + r.disagree + r.cannot_tell == 0);
}

TEST(errors_leave_pairs_open)
{
    /* 1.96 sqrt(0.3^2 + 0.4^2) = 0.98. */
    assert_int_equal(cs_ranking_order((cs_measured){1, 0.3, 0}, (cs_measured){0.021, 0.4, 0}), 0);
    assert_int_equal(cs_ranking_order((cs_measured){1, 0.3, 0}, (cs_measured){0.019, 0.4, 0}), 1);
    assert_int_equal(cs_ranking_order((cs_measured){0, 0.3, 0}, (cs_measured){0.981, 0.4, 0}), -1);
    assert_int_equal(cs_ranking_order((cs_measured){1, NAN, 0}, (cs_measured){9, 0, 0}), 0);
    assert_int_equal(cs_ranking_order((cs_measured){2, 0, 0}, (cs_measured){2, 0, 0}), 0);
    const cs_measured a[3] = {{1, 0.1, 0}, {2, 0.1, 0}, {2.1, 0.1, 0}},
                      b[3] = {{5, 0.1, 0}, {4, 0.1, 0}, {9, 0.1, 0}};
    cs_ranking r = cs_ranking_of(3, a, b);
    assert_true(r.agree == 1 && r.disagree == 1 && r.cannot_tell == 1);
    assert_true(fabs(r.tau_b - 1.0 / 3) <= 1e-15); /* which takes 2 < 2.1 as exact */
}

/* Student's points of tables: 12.706 (1), 2.262 (9), 2.101 (18). */
TEST(few_blocks_widen_errors)
{
    const struct {
        cs_measured a;
        double se;
        int64_t freedom;
        double margin;
    } cases[] = {
        {{0, 1, 9}, 0, 9, 2.26216},               /* the other is exact: 9 */
        {{0, 1, 9}, 1, 9, 2.10092 * sqrt(2)},     /* equal errors: 18 */
        {{0, 1, 1}, 0, 0, 12.7062},               /* 1 */
        {{0, 3, 9}, 4, 0, 1.99495 * 5},           /* 625 / (81 / 9) = 69.4: 69 */
        {{0, 3, 0}, 4, 0, 1.95996 * 5},           /* not known: normal */
        {{0, 1e-120, 4}, 0, 0, 2.77645 * 1e-120}, /* squares would vanish */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        for (int above = 0; above < 2; ++above) {
            double value = cases[i].margin * (above ? 1.0001 : 0.9999);
            cs_measured b = {value, cases[i].se, cases[i].freedom};
            assert_int_equal(cs_ranking_order(b, cases[i].a), above);
            assert_int_equal(cs_ranking_order(cases[i].a, b), -above);
        }
    }
}

/* sqrt(2 (2 n + 5) / (9 n (n - 1))) is the standard deviation over all orders, each as likely. */
TEST(tau_of_no_association)
{
    enum { N = 5 };
    cs_measured first[N], second[N];
    double squares = 0, orders = 0, sd = 0;
    for (int code = 0; code < 3125; ++code) {
        int used = 0;
        for (int i = 0, rest = code; i < N; ++i, rest /= N) {
            first[i] = (cs_measured){i, 0, 0};
            second[i] = (cs_measured){rest % N, 0, 0};
            used |= 1 << rest % N;
        }
        if (used == (1 << N) - 1) {
            cs_ranking r = cs_ranking_of(N, first, second);
            squares += r.tau_b * r.tau_b;
            orders += 1;
            sd = r.tau_sd;
        }
    }
    assert_true(orders == 120 && fabs(sd - sqrt(squares / orders)) <= 1e-14);
}
