/* linalg: L-BFGS against closed forms and known minima, from starts that need every case of the line
 * search, and its ends: tolerance, iterations, errors and memory. */
#include <string.h>

#include "base/threads.h"
#include "linalg/lbfgs.h"
#include "test.h"

enum { MOST = 1003, MEMORY = 10, ITERATIONS = 2000 };
static const double TOLERANCE = 1e-10;

/* The function of a test, its calls, and the call that fails (0: none). */
typedef struct {
    double (*f)(int64_t n, const double *x, double *g);
    int64_t calls, fails_at, iterations;
    double gradient;   /* norm, of the last call */
    double last[MOST]; /* point of the last call */
} problem;

static cs_status on_evaluate(void *ctx, int64_t n, const double *x, double *f, double *g)
{
    problem *p = ctx;
    *f = p->f(n, x, g);
    memcpy(p->last, x, (size_t)n * sizeof *x);
    p->gradient = 0;
    for (int64_t i = 0; i < n; ++i) {
        p->gradient += g[i] * g[i];
    }
    p->gradient = sqrt(p->gradient);
    return ++p->calls == p->fails_at ? cs_fail(CS_ERR_INPUT, "call %d", (int)p->calls) : CS_OK;
}

static cs_lbfgs options(problem *p, int64_t n)
{
    return (cs_lbfgs){.evaluate = on_evaluate,
                      .ctx = p,
                      .n = n,
                      .memory = MEMORY,
                      .max_iterations = ITERATIONS,
                      .tolerance = TOLERANCE};
}

/* sum_i (i + 1) (x_i - i)^2 / 2 */
static double quadratic(int64_t n, const double *x, double *g)
{
    double f = 0;
    for (int64_t i = 0; i < n; ++i) {
        const double c = (double)(i + 1), d = x[i] - (double)i;
        f += c * d * d / 2;
        g[i] = c * d;
    }
    return f;
}

/* Rosenbrock's function of pairs: minimum 0 at ones, at the end of a curved valley. */
static double rosenbrock(int64_t n, const double *x, double *g)
{
    double f = 0;
    for (int64_t i = 0; i + 1 < n; i += 2) {
        const double a = 1 - x[i], b = x[i + 1] - x[i] * x[i];
        f += a * a + 100 * b * b;
        g[i] = -2 * a - 400 * x[i] * b;
        g[i + 1] = 200 * b;
    }
    return f;
}

/* More and Thuente's functions of one variable (1 to 3 of their tables), which try line searches:
 * concave at the start, nearly flat with a narrow minimum, and with many local minima. */
static double concave_start(int64_t n, const double *x, double *g)
{
    const double a = x[0], b = 2;
    g[0] = -(b - a * a) / ((a * a + b) * (a * a + b));
    return n > 0 ? -a / (a * a + b) : 0;
}

static double narrow_minimum(int64_t n, const double *x, double *g)
{
    const double a = x[0] + 0.004;
    g[0] = 5 * pow(a, 4) - 8 * pow(a, 3);
    return n > 0 ? pow(a, 5) - 2 * pow(a, 4) : 0;
}

static double oscillating(int64_t n, const double *x, double *g)
{
    const double pi = acos(-1), b = 0.01, l = 39, a = x[0];
    const double phi = a <= 1 - b ? 1 - a : a >= 1 + b ? a - 1 : (a - 1) * (a - 1) / 2 / b + b / 2;
    const double slope = a <= 1 - b ? -1 : a >= 1 + b ? 1 : (a - 1) / b;
    g[0] = slope + (1 - b) * cos(l * pi / 2 * a);
    return n > 0 ? phi + 2 * (1 - b) / (l * pi) * sin(l * pi / 2 * a) : 0;
}

/* No minimum: falls for ever. */
static double unbounded(int64_t n, const double *x, double *g)
{
    g[0] = -1;
    return n > 0 ? -x[0] : 0;
}

/* The gradient has the wrong sign: no step along it is better. */
static double wrong_gradient(int64_t n, const double *x, double *g)
{
    const double f = quadratic(n, x, g);
    for (int64_t i = 0; i < n; ++i) {
        g[i] = -g[i];
    }
    return f;
}

/* Sizes around the width of vectors, whose remainders are summed apart. */
TEST(closed_form)
{
    for (int64_t n = 1; n <= MOST; n += n < 40 ? 1 : 321) {
        double x[MOST] = {0};
        problem p = {.f = quadratic};
        const cs_lbfgs o = options(&p, n);
        OK(cs_lbfgs_minimise(&o, x));
        assert_each(i, 0, n, fabs(x[i] - (double)i) < 1e-6);
    }
}

/* The start that the method is known for, and others that are farther. */
TEST(curved_valley)
{
    static const double start[][2] = {{-1.2, 1}, {6.39, -0.221}, {-50, 700}};
    static const int64_t most_calls[] = {60, 35, 300}; /* libLBFGS: 50, 28, 228 */
    for (size_t s = 0; s < sizeof start / sizeof *start; ++s) {
        double x[20];
        for (int i = 0; i < 20; ++i) {
            x[i] = start[s][i % 2];
        }
        problem p = {.f = rosenbrock};
        const cs_lbfgs o = options(&p, 20);
        OK(cs_lbfgs_minimise(&o, x));
        assert_each(i, 0, 20, fabs(x[i] - 1) < 1e-8);
        assert_true(p.calls < most_calls[s]);
    }
}

/* Few trials are needed from starts that are too small and too large by orders of magnitude. */
TEST(line_search)
{
    static double (*const function[])(int64_t, const double *,
                                      double *) = {concave_start, narrow_minimum, oscillating};
    static const double at[] = {M_SQRT2, 1.596, 1};
    for (int f = 0; f < 3; ++f) {
        double x[1] = {0};
        problem p = {.f = function[f]};
        const cs_lbfgs o = options(&p, 1);
        OK(cs_lbfgs_minimise(&o, x));
        assert_near(x[0], at[f], f == 2 ? 0.05 : 1e-6);
        assert_true(p.gradient < 1e-6 && p.calls < 40);
    }
}

/* Any memory gives the minimum, also of one pair. */
TEST(memory)
{
    for (int64_t memory = 1; memory <= 30; memory += 7) {
        double x[50] = {0};
        problem p = {.f = quadratic};
        cs_lbfgs o = options(&p, 50);
        o.memory = memory;
        OK(cs_lbfgs_minimise(&o, x));
        assert_each(i, 0, 50, fabs(x[i] - (double)i) < 1e-6);
    }
}

TEST(ends)
{
    double x[5] = {3, 1, 4, 1, 5}, same[5], fewer[5] = {0};
    problem p = {.f = quadratic};
    cs_lbfgs o = options(&p, 5);
    memcpy(same, x, sizeof x);
    o.max_iterations = 0;
    OK(cs_lbfgs_minimise(&o, x));
    assert_memory_equal(x, same, sizeof x);
    /* the first step has the length 1 */
    o.max_iterations = 1;
    OK(cs_lbfgs_minimise(&o, fewer));
    double square = 0;
    for (int i = 0; i < 5; ++i) {
        square += fewer[i] * fewer[i];
    }
    assert_near(square, 1, 1e-12);
    /* a start within the tolerance is left */
    o = options(&p, 5);
    o.tolerance = 1e9;
    OK(cs_lbfgs_minimise(&o, x));
    assert_memory_equal(x, same, sizeof x);
    /* a search without result leaves x */
    p = (problem){.f = wrong_gradient};
    o = options(&p, 5);
    OK(cs_lbfgs_minimise(&o, x));
    assert_memory_equal(x, same, sizeof x);
    p = (problem){.f = unbounded};
    o = options(&p, 1);
    OK(cs_lbfgs_minimise(&o, x));
    assert_true(p.calls < 2000);
}

static bool third_is_enough(void *ctx)
{
    problem *p = ctx;
    return ++p->iterations == 3;
}

/* The search ends after the iteration that is enough, at the point that was evaluated last. */
TEST(the_caller_ends_a_search)
{
    double x[20], same[20];
    problem p = {.f = rosenbrock};
    cs_lbfgs o = options(&p, 20);
    o.enough = third_is_enough;
    memset(x, 0, sizeof x);
    OK(cs_lbfgs_minimise(&o, x));
    assert_int_equal(p.iterations, 3);
    assert_memory_equal(x, p.last, sizeof x);
    o.enough = NULL;
    o.max_iterations = 3;
    memset(same, 0, sizeof same);
    OK(cs_lbfgs_minimise(&o, same));
    assert_memory_equal(x, same, sizeof x);
}

TEST(failures)
{
    for (int64_t call = 1; call < 6; ++call) {
        double x[5] = {0};
        problem p = {.f = quadratic, .fails_at = call};
        const cs_lbfgs o = options(&p, 5);
        assert_int_equal(cs_lbfgs_minimise(&o, x), CS_ERR_INPUT);
        assert_int_equal(p.calls, call);
    }
    EACH_ALLOCATION_FAILS(n) {
        double x[5] = {0};
        problem p = {.f = quadratic};
        const cs_lbfgs o = options(&p, 5);
        (void)out_of_memory(cs_lbfgs_minimise(&o, x));
    }
    double x[5] = {0};
    problem p = {.f = quadratic};
    const cs_lbfgs o = options(&p, 5);
    cs_interrupt_set();
    assert_int_equal(cs_lbfgs_minimise(&o, x), CS_ERR_INTERRUPT);
    cs_interrupt_clear();
}
