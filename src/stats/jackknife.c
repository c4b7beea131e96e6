/* Delete-block jackknife (Quenouille 1949, Tukey 1958). */
#include "stats/jackknife.h"

#include <math.h>

double cs_jackknife_error(int64_t count, const double *theta, int64_t stride)
{
    double mean = 0.0, square = 0.0;
    for (int64_t b = 0; b < count; ++b) {
        mean += (theta[b * stride] - theta[0]) / (double)count;
    }
    for (int64_t b = 0; b < count; ++b) {
        double off = theta[b * stride] - theta[0] - mean;
        square += off * off;
    }
    return count > 1 && isfinite(mean) ? sqrt((double)(count - 1) / (double)count * square)
                                       : (double)NAN;
}
