/* Student's distribution: the width of an interval for a mean whose standard error was estimated.
 */
#pragma once

#include <stdint.h>

/* The t with P(|T| <= t) = level for Student's T with `freedom` >= 1 degrees of freedom,
 * 0 < level < 1; to about 1e-14 relative. Abramowitz and Stegun 26.7.3 and 26.7.4 (finite sums),
 * inverted by bisection: O(freedom). */
double cs_student_width(double level, int64_t freedom);

/* That of level 0.95 for a freedom as Welch and Satterthwaite have it: rounded down, 1 at least;
 * above 10000, or NaN, the normal distribution's, which is within 2.4e-4 of it. */
double cs_student_95(double freedom);
