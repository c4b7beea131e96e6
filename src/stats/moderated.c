/* Digamma and trigamma: recurrence up to 12, from there their asymptotic series (Abramowitz and
 * Stegun 6.3.18, 6.4.12), whose first omitted term is below 1e-16. The inverse: Newton's method for
 * 1 / psi', which is convex and nearly linear, from 1/2 + 1/y, which lies below the solution: the
 * steps approach it from one side (Smyth 2004, appendix).
 */
#include "stats/moderated.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

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
