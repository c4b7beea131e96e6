/* The incomplete beta function by its continued fraction (DLMF 8.17.22), evaluated by Lentz's
 * method as modified by Thompson and Barnett (J. Comput. Phys. 64, 1986); quantiles by Newton's
 * method for the logarithm of the tail as a function of the logarithm of t, within a bracket:
 * nearly linear far out, where the tail is a power of t.
 */
#include "stats/student.h"

#include <assert.h>
#include <math.h>

static const double normal_from = 1e8;

/* log Gamma(a + 1/2) - log Gamma(a): for large a the difference of two large numbers, and then by
 * its expansion, whose next term is below 1e-15 from 30 on. */
static double log_half_step(double a)
{
    if (a < 30) {
        return lgamma(a + 0.5) - lgamma(a);
    }
    const double r = 1 / (a * a);
    return 0.5 * log(a) - (1.0 / 8 - r * (1.0 / 192 - r * (1.0 / 640 - r * (17.0 / 14336)))) / a;
}

/* The fraction that x^a (1 - x)^b / (a B(a, b)) is multiplied with. */
static double beta_fraction(double a, double b, double x)
{
    enum { MOST = 100000 };
    const double tiny = 1e-300;
    double c = 1, d = 1 - (a + b) * x / (a + 1);
    d = 1 / (fabs(d) < tiny ? tiny : d);
    double value = d;
    for (int m = 1; m < MOST; ++m) {
        const double k = m, even = k * (b - k) * x / ((a + 2 * k - 1) * (a + 2 * k));
        const double odd = -(a + k) * (a + b + k) * x / ((a + 2 * k) * (a + 2 * k + 1));
        d = 1 + even * d;
        c = 1 + even / c;
        d = 1 / (fabs(d) < tiny ? tiny : d);
        c = fabs(c) < tiny ? tiny : c;
        value *= d * c;
        d = 1 + odd * d;
        c = 1 + odd / c;
        d = 1 / (fabs(d) < tiny ? tiny : d);
        c = fabs(c) < tiny ? tiny : c;
        value *= d * c;
        if (fabs(d * c - 1) < 1e-16) {
            break;
        }
    }
    return value;
}

/* log of x^a (1 - x)^(1/2) / B(a, 1/2), a = freedom / 2, 1 / x - 1 = t^2 / freedom = e^l. */
static double front_of(double t, double freedom)
{
    const double l = 2 * log(t) - log(freedom), above = l > 40 ? l : log1p(exp(l));
    return log_half_step(freedom / 2) - 0.5 * log(M_PI) - 0.5 * freedom * above + 0.5 * (l - above);
}

double cs_student_beyond(double t, double freedom)
{
    assert(t >= 0 && freedom > 0);
    if (!(freedom < normal_from)) {
        return erfc(t / sqrt(2));
    }
    if (!(t > 0)) {
        return 1;
    }
    const double a = freedom / 2, root = t / sqrt(freedom), front = exp(front_of(t, freedom));
    const double x = 1 / (1 + root * root), y = 1 / (1 + 1 / (root * root));
    return x < (a + 1) / (a + 2.5) ? front * beta_fraction(a, 0.5, x) / a
                                   : 1 - front * beta_fraction(0.5, a, y) / 0.5;
}

/* t times the density of |T| at t: the derivative of the tail by log t. */
static double slope(double t, double freedom)
{
    return freedom < normal_from ? 2 * exp(front_of(t, freedom))
                                 : t * sqrt(2 / M_PI) * exp(-0.5 * t * t);
}

double cs_student_point(double alpha, double freedom)
{
    enum { STEPS = 200 };
    assert(alpha > 0 && alpha <= 1 && freedom > 0);
    double low = -1, high = 1, u = 0; /* logarithms of t */
    while (cs_student_beyond(exp(low), freedom) < alpha && low > -700) {
        low *= 2;
    }
    while (cs_student_beyond(exp(high), freedom) > alpha) {
        if ((high *= 2) > 700) {
            return INFINITY;
        }
    }
    for (int i = 0; i < STEPS && high - low > 1e-16 * fabs(u); ++i) {
        const double tail = cs_student_beyond(exp(u), freedom), miss = log(tail / alpha);
        *(miss > 0 ? &low : &high) = u;
        const double next = u + miss * tail / slope(exp(u), freedom);
        if (fabs(next - u) <= 1e-15) {
            break;
        }
        u = next > low && next < high ? next : 0.5 * (low + high);
    }
    return alpha < 1 ? exp(u) : 0;
}

double cs_student_width(double level, double freedom)
{
    assert(level >= 0 && level < 1);
    return cs_student_point(1 - level, freedom);
}
