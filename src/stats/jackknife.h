/** \file
 * Delete-block jackknife (Quenouille 1949, Tukey 1958). Arrays hold one value for each block, at
 * b * stride, b = 0..count-1. All functions are pure.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/** The standard error of a statistic whose value without block b is theta_b:
 *
 * \f[ \mathrm{se}^2 = \frac{B - 1}{B} \sum_b (\theta_b - \bar\theta)^2, \qquad B = \mathrm{count}. \f]
 *
 * Two passes over the differences from the first value, so equal values give exactly 0. Leave out
 * blocks without data.
 *
 * \return the error; NaN for fewer than two blocks, or if any theta_b is not finite
 */
double cs_jackknife_error(int64_t count, const double *theta, int64_t stride);

/** The same for the differences theta_b - less_b of two statistics with the same blocks; `less`
 * NULL: 0.
 */
double cs_jackknife_difference(int64_t count, const double *theta, const double *less,
                               int64_t stride);

/** The 95% confidence interval (Student's, B - 1 degrees of freedom) around the mean of the pseudo-values
 * \f$B\,\theta - (B - 1)\, \overline{\theta_b}\f$, which removes a bias that decreases as 1 /
 * documents.
 *
 * \param count B
 * \param whole theta, the statistic with all blocks
 * \param without theta_b, at b * stride
 * \param stride distance of two values
 * \param positive form the interval of log theta, if all values are positive
 * \param low receives the lower end; NaN where cs_jackknife_error is NaN
 * \param high receives the upper end
 */
void cs_jackknife_interval(int64_t count, double whole, const double *without, int64_t stride,
                           bool positive, double *low, double *high);

/** The smallest interval that contains both that of cs_jackknife_interval and the interval of the
 * same width around `whole`. For statistics whose bias the correction may overshoot.
 */
void cs_jackknife_hull(int64_t count, double whole, const double *without, int64_t stride,
                       double *low, double *high);

/** Clips an interval to the range of a metric, by the name of the metric: shares of mass, sigma_j,
 * the gap and Cheeger constants are in [0, 1]; sums and tails of powers, entropies, nats and bits
 * are at least 0. Other metrics are unchanged. The true value is in the range, so coverage is not
 * reduced.
 */
void cs_interval_clip(const char *metric, double *low, double *high);

/** The centre of the interval of cs_jackknife_interval, on its scale: the bias-corrected statistic.
 *
 * \param count B
 * \param whole the statistic with all blocks
 * \param without theta_b, at b * stride
 * \param stride distance of two values
 * \param positive as for cs_jackknife_interval
 * \param left_out receives count values, the centre without the pseudo-value of each block, whose
 *     jackknife error is that of the centre; NULL: not wanted
 * \return the centre; NaN where there is no interval
 */
double cs_jackknife_corrected(int64_t count, double whole, const double *without, int64_t stride,
                              bool positive, double *left_out);
