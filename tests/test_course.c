/* Phases of a curve: margins by hand, depths against all turning points, a curve with three phases, and
 * the level of the decision on curves without them. */
#include "analysis/measures/course.h"

#include "test.h"

static const int THREE[] = {-1, 1, -1};

/* With two runs and no blocks the margin is Student's with one degree of freedom, whose point is a
 * cotangent. */
TEST(margin_of_two_runs)
{
    const double value[] = {1, 2, 8, 1, 4, 2};
    const cs_course c = {.runs = 2, .steps = 3, .value = value};
    CS_AUTO(cs_course_changes) d = {0};
    OK(cs_course_changes_of(&c, &d));
    assert_near(d.change[1], 1.5 * M_LN2, 1e-12);
    assert_near(d.change[2], 2 * M_LN2, 1e-12);
    assert_near(d.change[3 + 2], 0.5 * M_LN2, 1e-12);
    const double point = 1 / tan(M_PI * 0.05 / 3 / 2); /* three differences */
    assert_near(d.margin[1], point * 0.5 * M_LN2, 1e-9);
    assert_near(d.margin[3 + 2], point * 1.5 * M_LN2, 1e-9);
    cs_course_point mean;
    OK(cs_course_mean(&c, 2, &mean));
    assert_near(mean.value, 4, 1e-12);
    assert_near(log(mean.high / mean.value), M_LN2 / tan(M_PI * 0.05 / 2), 1e-9);
    assert_near(mean.low * mean.high, 16, 1e-9);
}

/* Blocks add their jackknife of the difference: here without block b both ends have the factor e^b, so
 * that it is 0, or one of them has, so that it is not. */
TEST(margin_of_documents)
{
    const double value[] = {1, 1}, both[] = {1, exp(1), 1, exp(1)}, one[] = {1, 1, 1, exp(1)};
    cs_course c = {.runs = 1, .steps = 2, .blocks = 2, .value = value, .left_out = both};
    cs_course_changes d = {0};
    OK(cs_course_changes_of(&c, &d));
    assert_near(d.margin[1], 0, 1e-12);
    cs_course_changes_free(&d);
    c.left_out = one;
    OK(cs_course_changes_of(&c, &d));
    assert_near(d.margin[1], 0.5 / tan(M_PI * 0.05 / 2), 1e-9); /* se 1/2, one degree of freedom */
    cs_course_changes_free(&d);
    c.blocks = 1;
    OK(cs_course_changes_of(&c, &d));
    assert_true(isnan(d.margin[1]));
    cs_course_changes_free(&d);
}

TEST(depth_by_all_turning_points)
{
    enum { T = 9 };
    for (uint64_t i = 0; i < 50; ++i) {
        double change[T * T] = {0}, margin[T * T] = {0},
                          worst[3] = {-INFINITY, -INFINITY, -INFINITY};
        cs_rng rng = cs_rng_at(1, CS_STREAM_TEST, i);
        for (int k = 0; k < T * T; ++k) {
            change[k] = cs_rng_normal(&rng);
            margin[k] = cs_rng_uniform(&rng);
        }
        const cs_course_changes c = {T, change, margin};
        cs_course_depth f;
        OK(cs_course_depth_of(&c, 3, THREE, &f));
        for (int a = 0; a < T; ++a) {
            for (int b = a + 1; b < T; ++b) {
                for (int k = b + 1; k < T; ++k) {
                    for (int l = k + 1; l < T; ++l) {
                        for (int s = -1; s <= 1; ++s) {
                            const double x = -change[a * T + b] + s * margin[a * T + b],
                                         y = change[b * T + k] + s * margin[b * T + k],
                                         z = -change[k * T + l] + s * margin[k * T + l];
                            worst[s + 1] = fmax(worst[s + 1], fmin(x, fmin(y, z)));
                        }
                    }
                }
            }
        }
        assert_near(f.low, worst[0], 1e-14);
        assert_near(f.depth, worst[1], 1e-14);
        assert_near(f.high, worst[2], 1e-14);
        assert_true(f.turn[0] < f.turn[1] && f.turn[1] < f.turn[2] && f.turn[2] < f.turn[3]);
    }
}

/* Noise of `sd` a run on the logarithms of a curve. */
static void draw(uint64_t index, int runs, int steps, const double *curve, double sd, double *value)
{
    cs_rng rng = cs_rng_at(2, CS_STREAM_TEST, index);
    for (int i = 0; i < runs * steps; ++i) {
        value[i] = exp(curve[i % steps] + sd * cs_rng_normal(&rng));
    }
}

TEST(three_phases_are_found)
{
    enum { R = 6, T = 7 };
    const double curve[T] = {4, 3, 1, 2, 3, 2.5, 2};
    double value[R * T];
    draw(0, R, T, curve, 0.02, value);
    CS_AUTO(cs_course_changes) d = {0};
    OK(cs_course_changes_of(&(cs_course){.runs = R, .steps = T, .value = value}, &d));
    cs_course_depth f;
    OK(cs_course_depth_of(&d, 3, THREE, &f));
    assert_true(f.low > 0.5 && f.depth < 1.1 && f.high < 1.5);
    assert_int_equal(f.turn[0], 0);
    assert_int_equal(f.turn[1], 2);
    assert_int_equal(f.turn[2], 4);
    assert_int_equal(f.turn[3], 6);
    assert_string_equal(cs_course_verdict(&f, 0.05), "found");
    assert_string_equal(cs_course_verdict(&f, 2), "absent"); /* too small to matter */
    assert_near(f.depth - cs_course_error(&f, 19) * 2.093024, f.low, 1e-4);
    /* the same curve has no rise, fall and rise */
    const int other[] = {1, -1, 1};
    OK(cs_course_depth_of(&d, 3, other, &f));
    assert_true(f.depth < 0 && f.low < 0);
}

/* The null: monotone curves, and a flat one, on which every phase is noise. */
TEST(monotone_curves_have_no_phases)
{
    enum { R = 4, T = 8, DRAWS = 400, CURVES = 4 };
    const double slope[CURVES] = {0, 0.01, 0.3, -0.3};
    for (int k = 0; k < CURVES; ++k) {
        int found = 0, absent = 0;
        for (uint64_t i = 0; i < DRAWS; ++i) {
            double curve[T], value[R * T];
            for (int t = 0; t < T; ++t) {
                curve[t] = slope[k] * t;
            }
            draw(1 + i + DRAWS * (uint64_t)k, R, T, curve, 0.03, value);
            CS_AUTO(cs_course_changes) d = {0};
            OK(cs_course_changes_of(&(cs_course){.runs = R, .steps = T, .value = value}, &d));
            cs_course_depth f;
            OK(cs_course_depth_of(&d, 3, THREE, &f));
            found += f.low > 0;
            absent += f.high < 0.05;
        }
        assert_true(found <= 0.05 * DRAWS);
        if (fabs(slope[k]) > 0.1) assert_true(found == 0 && absent > DRAWS / 2);
    }
}

TEST(what_cannot_be_decided)
{
    const double value[] = {1, 0, 2, 3};
    CS_AUTO(cs_course_changes) d = {0};
    OK(cs_course_changes_of(&(cs_course){.runs = 1, .steps = 4, .value = value}, &d));
    cs_course_depth f;
    OK(cs_course_depth_of(&d, 3, THREE, &f));
    assert_true(isnan(f.depth) && isnan(f.low) && isnan(f.high) && f.found);
    assert_string_equal(cs_course_verdict(&f, 0.05), "undetermined");
    d.steps = 3;
    OK(cs_course_depth_of(&d, 3, THREE, &f));
    assert_false(f.found);
    assert_int_equal(cs_course_depth_of(&d, 4, THREE, &f), CS_ERR_USAGE);
    cs_course_changes none = {0};
    assert_int_equal(cs_course_changes_of(&(cs_course){.runs = 0, .steps = 4}, &none),
                     CS_ERR_USAGE);
    EACH_ALLOCATION_FAILS(n) {
        CS_AUTO(cs_course_changes) c = {0};
        if (out_of_memory(
                cs_course_changes_of(&(cs_course){.runs = 1, .steps = 4, .value = value}, &c))) {
            assert_null(c.change);
        }
    }
}
