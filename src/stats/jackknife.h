/* Delete-block jackknife (Quenouille 1949, Tukey 1958). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* The standard error of a number that is theta[b stride] without block b, b = 0 .. count - 1:
 *
 *   se^2 = (count - 1) / count sum_b (theta_b - mean)^2, mean that of the theta_b
 *
 * Two passes, sums in the order of b, of what differs from the first, so that equal numbers give 0.
 * NaN with fewer than two blocks, or where any theta_b is not finite: a block without which the
 * number does not exist leaves no error. Blocks that hold nothing are the caller's to
 * leave out. */
double cs_jackknife_error(int64_t count, const double *theta, int64_t stride);

/* The same of theta[b stride] less `less`[b stride] (NULL: 0): of a difference of two numbers that
 * leave the same blocks out. */
double cs_jackknife_difference(int64_t count, const double *theta, const double *less,
                               int64_t stride);

/* The interval of 95% (Student's, count - 1 degrees of freedom) around the mean of the pseudo-values
 *
 *   count whole - (count - 1) mean_b without[b stride]
 *
 * of a number that is `whole` with all blocks, which takes out a bias that falls as 1 / documents.
 * `positive`: that of the number's logarithm, where all are above 0. NaN where there is no error
 * (cs_jackknife_error). */
void cs_jackknife_interval(int64_t count, double whole, const double *without, int64_t stride,
                           bool positive, double *low, double *high);

/* What both intervals hold: that around the mean of the pseudo-values, and of the same width around
 * `whole`. For a number whose bias the correction may overshoot. */
void cs_jackknife_hull(int64_t count, double whole, const double *without, int64_t stride,
                       double *low, double *high);

/* Cuts an interval to the range that a quantity has, by its metric's name: a share of mass, sigma_j,
 * the gap and Cheeger's numbers are in [0, 1]; sums and tails of powers, entropies and numbers of nats
 * and bits are not below 0; of another nothing is known. What is true is in that range, so that this
 * loses no coverage; the estimate itself may lie outside. */
void cs_interval_clip(const char *metric, double *low, double *high);

/* The middle of that interval, on its scale, and what it is without the pseudo-value of each block
 * (left_out, count values, NULL: not wanted): the corrected number, with blocks whose jackknife error
 * is its own. NaN where there is no interval. */
double cs_jackknife_corrected(int64_t count, double whole, const double *without, int64_t stride,
                              bool positive, double *left_out);
