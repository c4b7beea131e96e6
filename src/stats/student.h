/* Student's distribution: the width of an interval for a mean whose standard error was estimated.
 */
#pragma once

#include <stdint.h>

/* The t with P(|T| <= t) = level for Student's T with `freedom` >= 1 degrees of freedom,
 * 0 < level < 1; to about 1e-14 relative. Abramowitz and Stegun 26.7.3 and 26.7.4 (finite sums),
 * inverted by bisection: O(freedom). */
double cs_student_width(double level, int64_t freedom);

/* That of level 0.95 for the sum of independent terms with these standard errors of so many degrees
 * of freedom each (Satterthwaite, Biometrics 2, 1946; Welch 1947):
 *
 *   nu = (sum se_i^2)^2 / sum se_i^4 / nu_i   over se_i > 0,
 *
 * rounded down, 1 at least; above 10000, or NaN, the normal distribution's, which is within 2.4e-4
 * of it. */
double cs_student_of_sum(int count, const double *se, const double *freedom);
