/* Compensated summation (Neumaier, ZAMM 54, 1974): sum + lost is the sum of the terms to about two
 * units in the last place, whatever their number (and n^2 eps^2 of the sum of their moduli).
 * Private to src/cooc. */
#pragma once

#include <math.h>
#include <stdint.h>

static inline void cs_add_compensated(double *sum, double *lost, double x)
{
    double next = *sum + x;
    *lost += fabs(*sum) >= fabs(x) ? (*sum - next) + x : (x - next) + *sum;
    *sum = next;
}

static inline double cs_sum(int64_t n, const double *x)
{
    double sum = 0, lost = 0;
    for (int64_t i = 0; i < n; ++i) {
        cs_add_compensated(&sum, &lost, x[i]);
    }
    return sum + lost;
}

/* <x, y> to 260 units of rounding of sum |x_i y_i|, whatever n: a plain sum of 10^6 squares changes
 * the length of a unit vector by more than the residuals. Blocks of 256, whose sums are
 * compensated. */
static inline double cs_dot(int64_t n, const double *x, const double *y)
{
    double sum = 0, lost = 0;
    for (int64_t i = 0; i < n;) {
        double run = 0;
        for (int64_t end = n - i > 256 ? i + 256 : n; i < end; ++i) {
            run += x[i] * y[i];
        }
        cs_add_compensated(&sum, &lost, run);
    }
    return sum + lost;
}
