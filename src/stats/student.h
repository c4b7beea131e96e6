/* Student's distribution: the width of a confidence interval for a mean whose standard error was estimated.
 * Degrees of freedom are real, since those of a moderated variance (stats/moderated.h) are not
 * integers. From 1e8 on, and where they are infinite, the normal distribution is used, which is
 * within t^4 / 4e8. */
#pragma once

/* P(|T| > t) = I_x(freedom / 2, 1 / 2), x = freedom / (freedom + t^2), for t >= 0 and freedom > 0;
 * to about 1e-12 relative, 1e-8 from a million degrees of freedom on. */
double cs_student_beyond(double t, double freedom);

/* The t with P(|T| > t) = alpha, 0 < alpha <= 1, as accurate. Infinite beyond the largest double.
 */
double cs_student_point(double alpha, double freedom);

/* The t with P(|T| <= t) = level, 0 <= level < 1: half the width of an interval in standard errors.
 */
double cs_student_width(double level, double freedom);
