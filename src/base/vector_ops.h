/* Vectors of doubles, processed in order of their entries, so that bits do not depend on the
 * caller. (The sums of cooc/compensated_private.h also compensate for rounding.) */
#pragma once

#include <math.h>
#include <stdint.h>

/* sum_i x_i */
static inline double cs_total(int64_t n, const double *x)
{
    double sum = 0;
    for (int64_t i = 0; i < n; ++i) {
        sum += x[i];
    }
    return sum;
}

/* sum_i x_i y_i */
static inline double cs_inner(int64_t n, const double *x, const double *y)
{
    double sum = 0;
    for (int64_t i = 0; i < n; ++i) {
        sum += x[i] * y[i];
    }
    return sum;
}

/* The maximum of the entries and 0; NaN are ignored. */
static inline double cs_largest(int64_t n, const double *x)
{
    double most = 0;
    for (int64_t i = 0; i < n; ++i) {
        most = fmax(most, x[i]);
    }
    return most;
}

static inline void cs_fill(int64_t n, double value, double *x)
{
    for (int64_t i = 0; i < n; ++i) {
        x[i] = value;
    }
}

/* x := x / by */
static inline void cs_divide(int64_t n, double by, double *x)
{
    for (int64_t i = 0; i < n; ++i) {
        x[i] /= by;
    }
}

/* y := y + a x */
static inline void cs_add_multiple(int64_t n, double a, const double *x, double *y)
{
    for (int64_t i = 0; i < n; ++i) {
        y[i] += a * x[i];
    }
}

/* x := x / sum(x); returns the sum. */
static inline double cs_to_one(int64_t n, double *x)
{
    const double sum = cs_total(n, x);
    cs_divide(n, sum, x);
    return sum;
}

/* Cuts items 0 .. n - 1 into runs that reach `share` of the work; run i ends before item end[i].
 * Returns the number of runs. */
static inline int64_t cs_cut_runs(int64_t n, const double *work, double share, int64_t *end)
{
    int64_t runs = 0;
    double held = 0;
    for (int64_t i = 0; i < n; ++i) {
        held += work[i];
        if (held >= share || i + 1 == n) {
            end[runs++] = i + 1;
            held = 0;
        }
    }
    return runs;
}

/* x^4 */
static inline double cs_fourth(double x)
{
    return x * x * x * x;
}
