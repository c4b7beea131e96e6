/* Delete-block jackknife (Quenouille 1949, Tukey 1958). */
#include "stats/jackknife.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "stats/moderated.h"

void cs_interval_clip(const char *metric, double *low, double *high)
{
    static const struct {
        const char *begins;
        double least, most;
    } range[] = {{"mass_seen", 0, 1},
                 {"giant_mass", 0, 1},
                 {"gap", 0, 1},
                 {"sigma", 0, 1},
                 {"cheeger_", 0, 1},
                 {"sweep_cut", 0, 1},
                 {"sum_", 0, INFINITY},
                 {"tail_", 0, INFINITY},
                 {"conditional_entropy", 0, INFINITY},
                 {"nll", 0, INFINITY},
                 {"bits_per_byte", 0, INFINITY},
                 {"pseudo_", 0, INFINITY},
                 {"unigram_nll", 0, INFINITY}};
    const bool difference = strstr(metric, "_drift_") != NULL;
    for (size_t i = 0; i < sizeof range / sizeof *range && !difference; ++i) {
        if (strncmp(metric, range[i].begins, strlen(range[i].begins)) == 0 && !isnan(*low)) {
            *low = fmin(fmax(*low, range[i].least), range[i].most);
            *high = fmin(fmax(*high, range[i].least), range[i].most);
        }
    }
}

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

/* theta or its logarithm; NaN where there is none. */
static double scaled(double x, bool logarithm)
{
    return !logarithm ? x : x > 0 ? log(x) : (double)NAN;
}

static double interval(int64_t count, double whole, const double *without, int64_t stride,
                       bool logarithm, double *center)
{
    double mean = 0, square = 0;
    for (int64_t b = 0; b < count; ++b) {
        mean += scaled(without[b * stride], logarithm) / (double)count;
    }
    for (int64_t b = 0; b < count; ++b) {
        const double off = scaled(without[b * stride], logarithm) - mean;
        square += off * off;
    }
    *center = (double)count * scaled(whole, logarithm) - (double)(count - 1) * mean;
    return count > 1 && isfinite(*center) ? cs_student_width(0.95, (double)(count - 1)) *
                                                sqrt((double)(count - 1) / (double)count * square)
                                          : (double)NAN;
}

void cs_jackknife_interval(int64_t count, double whole, const double *without, int64_t stride,
                           bool positive, double *low, double *high)
{
    double center = NAN,
           width = positive ? interval(count, whole, without, stride, true, &center) : (double)NAN;
    const bool logarithm = isfinite(width);
    if (!logarithm) {
        width = interval(count, whole, without, stride, false, &center);
    }
    *low = logarithm ? exp(center - width) : center - width;
    *high = logarithm ? exp(center + width) : center + width;
}

void cs_jackknife_hull(int64_t count, double whole, const double *without, int64_t stride,
                       double *low, double *high)
{
    double center = NAN, width = interval(count, whole, without, stride, false, &center);
    *low = fmin(center, whole) - width;
    *high = fmax(center, whole) + width;
}

/* Without pseudo-value b the mean of the others is center + (theta_b - mean). */
double cs_jackknife_corrected(int64_t count, double whole, const double *without, int64_t stride,
                              bool positive, double *left_out)
{
    double center = NAN;
    const bool logarithm =
        positive && isfinite(interval(count, whole, without, stride, true, &center));
    if (!logarithm && isnan(interval(count, whole, without, stride, false, &center))) {
        center = NAN;
    }
    const double mean = ((double)count * scaled(whole, logarithm) - center) / (double)(count - 1);
    for (int64_t b = 0; left_out && b < count; ++b) {
        const double x = center + scaled(without[b * stride], logarithm) - mean;
        left_out[b] = logarithm ? exp(x) : x;
    }
    return logarithm ? exp(center) : center;
}
