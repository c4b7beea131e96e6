/* Digamma and trigamma: recurrence up to 12, from there their asymptotic series (Abramowitz and
 * Stegun 6.3.18, 6.4.12), whose first omitted term is below 1e-16. The inverse: Newton's method for
 * 1 / psi', which is convex and nearly linear, from 1/2 + 1/y, which lies below the solution: the
 * steps approach it from one side (Smyth 2004, appendix).
 */
#include "stats/moderated.h"

#include <math.h>
#include <stdlib.h>

#include <assert.h>

#include "base/auto.h"
#include "base/mem.h"
#include "base/sort.h"

static const double series_from = 12;

double cs_digamma(double x)
{
    assert(x > 0);
    double below = 0;
    for (; x < series_from; x += 1) {
        below += 1 / x;
    }
    const double r = 1 / (x * x);
    return log(x) - 0.5 / x - below -
           r * (1.0 / 12 -
                r * (1.0 / 120 -
                     r * (1.0 / 252 - r * (1.0 / 240 - r * (1.0 / 132 - r * (691.0 / 32760))))));
}

double cs_trigamma(double x)
{
    assert(x > 0);
    double below = 0;
    for (; x < series_from; x += 1) {
        below += 1 / (x * x);
    }
    const double r = 1 / (x * x);
    return below + 0.5 * r +
           (1 + r * (1.0 / 6 -
                     r * (1.0 / 30 -
                          r * (1.0 / 42 - r * (1.0 / 30 - r * (5.0 / 66 - r * 691.0 / 2730)))))) /
               x;
}

/* psi''(x), for Newton's method alone. */
static double tetragamma(double x)
{
    double below = 0;
    for (; x < series_from; x += 1) {
        below += 2 / (x * x * x);
    }
    const double r = 1 / (x * x);
    return -below - r * (1 + 1 / x + r * (0.5 - r * (1.0 / 6 - r * (1.0 / 6 - r * 0.3))));
}

double cs_trigamma_inverse(double y)
{
    enum { STEPS = 60 };
    assert(y > 0);
    double x = 0.5 + 1 / y;
    for (int i = 0; i < STEPS; ++i) {
        const double at = cs_trigamma(x), step = at * (1 - at / y) / tetragamma(x);
        x += step;
        if (fabs(step) <= 1e-15 * x) {
            break;
        }
    }
    return x;
}

/* The moments of count >= 3 groups, variances at least `least` > 0. */
static void fit(int64_t count, const double *variance, const double *freedom, double least,
                cs_prior *out)
{
    double groups = 0, mean = 0, square = 0, noise = 0, sum = 0;
    for (int64_t g = 0; g < count; ++g) {
        if (!(freedom[g] > 0)) {
            continue;
        }
        const double half = 0.5 * freedom[g];
        const double e = log(fmax(variance[g], least)) - cs_digamma(half) + log(half),
                     off = e - mean;
        groups += 1;
        mean += off / groups;
        square += off * (e - mean);
        noise += cs_trigamma(half);
        sum += freedom[g] * variance[g];
    }
    const double excess = square / (groups - 1) - noise / groups;
    if (!(excess > 0)) {
        out->freedom = INFINITY;
        out->variance = sum / out->pooled;
        return;
    }
    const double half = cs_trigamma_inverse(excess);
    out->freedom = 2 * half;
    out->variance = exp(mean + cs_digamma(half) - log(half));
}

cs_status cs_prior_of(int64_t count, const double *variance, const double *freedom, cs_prior *out)
{
    cs_prior prior = {0};
    int64_t used = 0;
    CS_AUTO_FREE double *sorted = cs_alloc(count, sizeof *sorted);
    if (!sorted) return CS_ERR_MEMORY;
    for (int64_t g = 0; g < count; ++g) {
        if (freedom[g] > 0) {
            sorted[used++] = variance[g];
            prior.pooled += freedom[g];
        }
    }
    if (used > 0) {
        qsort(sorted, (size_t)used, sizeof *sorted, cs_ascending);
    }
    const double median = used > 0 ? 0.5 * (sorted[(used - 1) / 2] + sorted[used / 2]) : 0;
    if (used >= 3 && sorted[(used - 1) / 2] > 0) {
        fit(count, variance, freedom, 1e-5 * median, &prior);
    }
    *out = prior;
    return CS_OK;
}

cs_variance cs_moderated(const cs_prior *prior, cs_variance own)
{
    const double d0 = prior->freedom, freedom = fmin(d0 + own.freedom, prior->pooled);
    if (!(d0 > 0)) {
        return own;
    }
    return (cs_variance){isinf(d0) ? prior->variance
                                   : (d0 * prior->variance + own.freedom * own.variance) /
                                         (d0 + own.freedom),
                         freedom};
}

/* The incomplete beta function by its continued fraction (DLMF 8.17.22), evaluated by Lentz's
 * method as modified by Thompson and Barnett (J. Comput. Phys. 64, 1986); quantiles by Newton's
 * method for the logarithm of the tail as a function of the logarithm of t, within a bracket:
 * nearly linear far out, where the tail is a power of t.
 */
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

typedef struct {
    double freedom, root, shift; /* its square root; log of 1 / B(freedom / 2, 1/2) */
} student;

static student student_of(double freedom)
{
    const bool normal = !(freedom < normal_from);
    return (student){freedom, sqrt(freedom),
                     normal ? 0 : log_half_step(freedom / 2) - 0.5 * log(M_PI)};
}

/* P(|T| > t), and minus its derivative by log t: t times the density of |T|. */
static double tail_of(const student *s, double t, double *slope)
{
    if (!(s->freedom < normal_from)) {
        *slope = t * sqrt(2 / M_PI) * exp(-0.5 * t * t);
        return erfc(t / sqrt(2));
    }
    if (!(t > 0)) {
        *slope = 0;
        return 1;
    }
    /* x^a (1 - x)^(1/2) / B(a, 1/2), where 1 / x - 1 = t^2 / freedom = e^l */
    const double a = s->freedom / 2, ratio = t / s->root, l = 2 * log(ratio);
    const double above = l > 40 ? l : log1p(exp(l));
    const double front = exp(s->shift - a * above + 0.5 * (l - above));
    const double x = 1 / (1 + ratio * ratio), y = 1 / (1 + 1 / (ratio * ratio));
    *slope = 2 * front;
    return x < (a + 1) / (a + 2.5) ? front * beta_fraction(a, 0.5, x) / a
                                   : 1 - front * beta_fraction(0.5, a, y) / 0.5;
}

double cs_student_beyond(double t, double freedom)
{
    assert(t >= 0 && freedom > 0);
    const student s = student_of(freedom);
    double slope;
    return tail_of(&s, t, &slope);
}

/* Logarithm of the t with P(|T| > t) near alpha: the normal distribution's by Abramowitz and Stegun
 * (26.2.23, within 4.5e-4), and Student's from it by Wallace (Ann. Math. Statist. 30, 1959). */
static double guess_point(double alpha, double freedom)
{
    const double w = sqrt(-2 * log(alpha / 2));
    const double z = w - (2.515517 + w * (0.802853 + w * 0.010328)) /
                             (1 + w * (1.432788 + w * (0.189269 + w * 0.001308)));
    const double scaled = fmax(z, 1e-3) * (8 * freedom + 3) / (8 * freedom + 1);
    return freedom < normal_from ? 0.5 * log(freedom * expm1(scaled * scaled / freedom))
                                 : log(fmax(z, 1e-3));
}

double cs_student_point(double alpha, double freedom)
{
    enum { STEPS = 200, MOST = 512 };
    assert(alpha > 0 && alpha <= 1 && freedom > 0);
    const student s = student_of(freedom);
    double low = -700, high = MOST, slope; /* logarithms of t */
    if (freedom < 2 && tail_of(&s, exp(high), &slope) > alpha) {
        return INFINITY; /* the tail is about t^-freedom */
    }
    double u = fmin(guess_point(alpha, freedom), MOST - 1);
    for (int i = 0; i < STEPS && high - low > 1e-16 * fabs(u); ++i) {
        const double tail = tail_of(&s, exp(u), &slope), miss = log(tail / alpha);
        *(miss > 0 ? &low : &high) = u;
        const double next = u + miss * tail / slope;
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
