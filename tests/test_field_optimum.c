/* Best predictions in Gaussian fields against formulas of Markov fields and against elimination. */
#include "analysis/measures/field_optimum.h"
#include "image/field.h"
#include "plan/spec.h"
#include "test.h"

static double error_of(double rho, int64_t width, int64_t count, const int64_t *seen,
                       int64_t target)
{
    const cs_field_places of = {rho, width, count, 1, seen, &target};
    double error = 0;
    OK(cs_field_predict(&of, NULL, &error));
    return error;
}

/* On a line: 1 - rho^2 from the last, (1 - rho^2) / (1 + rho^2) from both sides (its inverse
 * covariance is tridiagonal), whatever else is seen; rho^2 d away 1 - rho^(2 d). In the plane, where
 * the noise factors: (1 - rho^2)^2 from all that is above or to the left, the square of the line's
 * value from all others. */
TEST(markov_fields_have_known_errors)
{
    const double rho = 0.8, one = 1 - rho * rho, two = one / (1 + rho * rho);
    assert_true(fabs(error_of(rho, 9, 0, NULL, 4) - (1)) <= 0);
    assert_true(fabs(error_of(rho, 9, 1, (int64_t[]){3}, 4) - (one)) <= 1e-14);
    assert_true(fabs(error_of(rho, 9, 3, (int64_t[]){1, 3, 2}, 4) - (one)) <= 1e-14);
    assert_true(fabs(error_of(rho, 9, 1, (int64_t[]){8}, 5) - (1 - pow(rho, 6))) <= 1e-14);
    assert_true(fabs(error_of(rho, 9, 4, (int64_t[]){1, 3, 5, 7}, 4) - (two)) <= 1e-14);
    enum { SIDE = 5, HERE = 12 };
    int64_t before[SIDE * SIDE], others[SIDE * SIDE], n = 0, m = 0;
    for (int64_t p = 0; p < SIDE * SIDE; ++p) {
        if (p / SIDE < HERE / SIDE || (p / SIDE == HERE / SIDE && p < HERE)) {
            before[n++] = p;
        }
        if (p != HERE) {
            others[m++] = p;
        }
    }
    assert_true(fabs(error_of(rho, SIDE, n, before, HERE) - (one * one)) <= 1e-14);
    assert_true(fabs(error_of(rho, SIDE, m, others, HERE) - (two * two)) <= 1e-14);
    assert_true(fabs(error_of(rho, SIDE, 1, (int64_t[]){HERE}, HERE) - (0)) <= 1e-15);
    const cs_field_places twice = {rho, 9, 2, 1, (int64_t[]){3, 3}, (int64_t[]){4}};
    double error = 0;
    assert_fails(cs_field_predict(&twice, NULL, &error), CS_ERR_USAGE,
                 "twice among the 2 visible patches");
}

/* Weights solve C_ss w = c_st, here by elimination; the error they give is the one reported. */
TEST(weights_solve_the_normal_equations)
{
    enum { N = 6, T = 2, WIDTH = 4 };
    const int64_t seen[N] = {0, 2, 5, 7, 8, 15}, target[T] = {6, 10};
    double weights[T * N], error[T];
    OK(cs_field_predict(&(cs_field_places){0.6, WIDTH, N, T, seen, target}, weights, error));
    for (int t = 0; t < T; ++t) {
        double a[N][N + 1], w[N], mse = 1;
        for (int i = 0; i < N; ++i) {
            for (int j = 0; j < N; ++j) {
                a[i][j] = cs_field_covariance(0.6, WIDTH, seen[i], seen[j]);
            }
            a[i][N] = cs_field_covariance(0.6, WIDTH, seen[i], target[t]);
        }
        for (int k = 0; k < N; ++k) {
            for (int i = 0; i < N; ++i) {
                const double f = i == k ? 0 : a[i][k] / a[k][k];
                for (int j = k; j <= N; ++j) {
                    a[i][j] -= f * a[k][j];
                }
            }
        }
        for (int i = 0; i < N; ++i) {
            w[i] = a[i][N] / a[i][i];
            mse -= w[i] * cs_field_covariance(0.6, WIDTH, seen[i], target[t]);
            assert_true(fabs(weights[t * N + i] - (w[i])) <= 1e-13);
        }
        assert_true(fabs(error[t] - (mse)) <= 1e-13);
    }
}

/* ar along rows, patches of one pixel: each pixel of the first row and of the
 * first column has the error 1 - r^2, each inside (1 - r^2)^2. Fewer masked is better, and nothing is
 * better than all others seen. */
TEST(optimum_of_objectives)
{
    enum { SIDE = 4 };
    const double rho = 0.7, one = 1 - rho * rho;
    cs_field_case f = {
        .rho = rho, .height = SIDE, .width = SIDE, .patch = 1, .draws = 4, .seed = 1};
    cs_objective o = {0};
    double mean = 0, se = 0, masked[2];
    OK(cs_objective_parse("ar", &o));
    OK(cs_field_optimum(&o, &f, &mean, &se));
    /* The first is predicted from nothing, which this objective leaves out. */
    const double others = 2 * (SIDE - 1) * one + (SIDE - 1) * (SIDE - 1) * one * one;
    assert_true(fabs(mean * (SIDE * SIDE - 1) - others) <= 1e-12);
    assert_true(fabs(se - (0)) <= 1e-12);
    f.draws = 200;
    for (int k = 0; k < 2; ++k) {
        OK(cs_objective_parse(k ? "masked(mask-ratio=0.75)" : "masked(mask-ratio=0.25)", &o));
        OK(cs_field_optimum(&o, &f, &masked[k], &se));
        assert_true(se > 0 && se < 0.05);
    }
    assert_true(masked[0] < masked[1] - 0.05);
    assert_true(masked[0] > pow(one / (1 + rho * rho), 2));
    /* Patches of 4 of 16 x 16 in raster order: numpy.linalg.solve on the 256 x 256 covariance. */
    cs_field_case large = {.rho = 0.9, .height = 16, .width = 16, .patch = 4, .draws = 2};
    OK(cs_objective_parse("ar", &o));
    OK(cs_field_optimum(&o, &large, &mean, &se));
    assert_true(fabs(mean - 0.24986761104352753) <= 1e-12);
    f.patch = 3;
    assert_fails(cs_field_optimum(&o, &f, &mean, &se), CS_ERR_USAGE, "4 x 4 in patches of 3");
}

/* Against numpy, which counts every mask (tests/oracle/field_oracle.py): the same of plans that are
 * listed; of drawn ones within five standard errors, which a mean of drawn values leaves once in two
 * million times. */
TEST(optimum_is_that_of_all_masks)
{
    static const int32_t squares[16] = {0, 1, 4, 5, 2, 3, 6, 7, 8, 9, 12, 13, 10, 11, 14, 15};
    static const struct {
        const char *objective;
        const int32_t *order;
        int64_t draws;
        bool drawn;
        double mean;
    } known[] = {{"masked(unmasked=4)", NULL, 400, true, 0.2662229184395996},
                 {"masked(mask-ratio=0.75)", squares, 1820, false, 0.2662229184395996},
                 {"gvp(groups=2,segmentation=fixed)", NULL, 400, true, 0.14927215069637156},
                 {"group-ar(t=4)", squares, 4, false, 0.24568966929629338},
                 {"ar", NULL, 2, false, 0.1495373814999999}};
    for (size_t i = 0; i < sizeof known / sizeof *known; ++i) {
        const cs_field_case f = {.rho = 0.9,
                                 .height = 8,
                                 .width = 8,
                                 .patch = 2,
                                 .order = known[i].order,
                                 .draws = known[i].draws,
                                 .seed = 3};
        cs_objective o = {0};
        double mean = 0, se = 0;
        OK(cs_objective_parse(known[i].objective, &o));
        OK(cs_field_optimum(&o, &f, &mean, &se));
        const double off = fabs(mean - known[i].mean);
        assert_true(known[i].drawn ? off < 5 * se && se > 0 && se < 0.005
                                   : off <= 1e-12 && se <= 0);
    }
}
