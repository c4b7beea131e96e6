/* Delete-block jackknife (Quenouille 1949, Tukey 1958). */
#include "stats/jackknife.h"

#include <math.h>
#include <stddef.h>

double cs_jackknife_difference(int64_t count, const double *theta, const double *less,
                               int64_t stride)
{
    const double first = count > 0 ? theta[0] - (less ? less[0] : 0.0) : 0.0;
    double mean = 0.0, square = 0.0;
    for (int64_t b = 0; b < count; ++b) {
        mean += (theta[b * stride] - (less ? less[b * stride] : 0.0) - first) / (double)count;
    }
    for (int64_t b = 0; b < count; ++b) {
        double off = theta[b * stride] - (less ? less[b * stride] : 0.0) - first - mean;
        square += off * off;
    }
    return count > 1 && isfinite(mean) ? sqrt((double)(count - 1) / (double)count * square)
                                       : (double)NAN;
}

double cs_jackknife_error(int64_t count, const double *theta, int64_t stride)
{
    return cs_jackknife_difference(count, theta, NULL, stride);
}
