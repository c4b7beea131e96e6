/* analysis: Kendall's tau-b, pairs that errors leave open. */
#include "stats/rank_correlation.h"
#include "test.h"

static cs_ranking ranking_of(int64_t count, const cs_measured *first, const cs_measured *second)
{
    cs_ranking r = {0};
    OK(cs_ranking_of(count, first, second, &r));
    return r;
}

TEST(tau_b_by_hand)
{
    const cs_measured up[4] = {{1, 0, 0}, {2, 0, 0}, {3, 0, 0}, {4, 0, 0}};
    const cs_measured down[4] = {{-1, 0, 0}, {-2, 0, 0}, {-3, 0, 0}, {-4, 0, 0}};
    const cs_measured tied[4] = {{1, 0, 0}, {2, 0, 0}, {2, 0, 0}, {3, 0, 0}};
    const cs_measured mixed[4] = {{1, 0, 0}, {3, 0, 0}, {2, 0, 0}, {4, 0, 0}};
    const cs_measured flat[4] = {{1, 0, 0}, {1, 0, 0}, {1, 0, 0}, {1, 0, 0}};
    cs_ranking r = ranking_of(4, up, up);
    assert_true(r.kendall.tau == 1 && r.agree == 6 && r.disagree == 0 && r.undetermined == 0);
    assert_true(fabs(r.kendall.p - 2.0 / 24) <= 1e-15); /* of 24 orders this one and its reverse */
    r = ranking_of(4, up, down);
    assert_true(r.kendall.tau == -1 && r.agree == 0 && r.disagree == 6);
    r = ranking_of(4, tied, mixed); /* C = 5, D = 0, one tie on the left */
    assert_true(fabs(r.kendall.tau - 5 / sqrt(30)) <= 1e-15 && r.agree == 5 && r.undetermined == 1);
    r = ranking_of(4, up, mixed); /* C = 5, D = 1 */
    assert_true(fabs(r.kendall.tau - 4.0 / 6) <= 1e-15 && r.agree == 5 && r.disagree == 1);
    r = ranking_of(4, up, flat);
    assert_true(isnan(r.kendall.tau) && isnan(r.kendall.p) && r.undetermined == 6 &&
                r.objects == 4);
    r = ranking_of(4, tied, tied);
    assert_true(fabs(r.kendall.tau - 1) <= 1e-15 && isnan(r.kendall.p)); /* ties on both sides */
    r = ranking_of(1, up, up);
    assert_true(isnan(r.kendall.tau) && r.agree + r.disagree + r.undetermined == 0);
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
    cs_ranking r = ranking_of(3, a, b);
    assert_true(r.agree == 1 && r.disagree == 1 && r.undetermined == 1);
    assert_true(fabs(r.kendall.tau - 1.0 / 3) <= 1e-15); /* which takes 2 < 2.1 as exact */
}

/* Student's points of tables: 12.706 (1), 2.262 (9). */
TEST(few_blocks_widen_errors)
{
    const struct {
        cs_measured a;
        double se;
        int64_t freedom;
        double margin;
    } cases[] = {
        {{0, 1, 9}, 0, 9, 2.26216},               /* the other is exact: 9 */
        {{0, 1, 9}, 1, 9, 2.26216 * sqrt(2)},     /* equal errors */
        {{0, 1, 1}, 0, 0, 12.7062},               /* 1 */
        {{0, 3, 9}, 4, 0, 10.36915},              /* sqrt(9 2.26216^2 + 16 1.95996^2) */
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

/* p against all orders, each as likely, with ties on one side and without. */
TEST(p_of_no_association_by_enumeration)
{
    enum { N = 6, ORDERS = 720 };
    static const double tied[][N] = {{0, 1, 2, 3, 4, 5}, {0, 0, 1, 2, 2, 2}, {0, 0, 0, 1, 1, 1}};
    for (size_t t = 0; t < sizeof tied / sizeof *tied; ++t) {
        double tau[ORDERS], p[ORDERS];
        int orders = 0;
        for (int code = 0; code < 46656; ++code) {
            double second[N];
            int used = 0;
            for (int i = 0, rest = code; i < N; ++i, rest /= N) {
                second[i] = rest % N;
                used |= 1 << rest % N;
            }
            if (used == (1 << N) - 1) {
                cs_kendall k = {0};
                OK(orders % 2 ? cs_kendall_of(N, tied[t], second, &k)
                              : cs_kendall_of(N, second, tied[t], &k));
                tau[orders] = k.tau;
                p[orders++] = k.p;
            }
        }
        assert_int_equal(orders, ORDERS);
        for (int i = 0; i < ORDERS; ++i) {
            int beyond = 0;
            for (int j = 0; j < ORDERS; ++j) {
                beyond += fabs(tau[j]) >= fabs(tau[i]) - 1e-12;
            }
            assert_true(fabs(p[i] - (double)beyond / ORDERS) <= 1e-14);
        }
    }
}

/* scipy 1.10.1, kendalltau(..., method="exact").pvalue, of x = 0..n-1 and y = x^3 mod m. */
TEST(p_of_larger_rankings)
{
    static const struct {
        int n, modulus;
        double tau, p;
    } golden[] = {{8, 11, 0.21428571428571427, 0.5484126984126985},
                  {14, 17, 0.2087912087912088, 0.3308114209974329},
                  {23, 29, 0.08300395256916997, 0.6012693639446683},
                  {40, 47, 0.08717948717948719, 0.43750613358676754}};
    for (size_t g = 0; g < sizeof golden / sizeof *golden; ++g) {
        double x[64], y[64];
        for (int i = 0; i < golden[g].n; ++i) {
            x[i] = i;
            y[i] = i * i * i % golden[g].modulus;
        }
        cs_kendall k = {0};
        OK(cs_kendall_of(golden[g].n, x, y, &k));
        assert_true(fabs(k.tau - golden[g].tau) <= 1e-14);
        assert_true(fabs(k.p / golden[g].p - 1) <= 1e-12);
    }
}
