/* Deciding the sign of a difference whose error has several independent parts, each with a standard
 * error estimated from few numbers: the test documents, the seeds of one side, those of the other.
 *
 * With variances v_i of f_i degrees of freedom, d is decided at level alpha when
 *
 *   |d| > m(alpha),   m(alpha)^2 = sum_i t_i^2 v_i,   t_i = Student's point: P(|T_{f_i}| > t_i) = alpha.
 *
 * A wrong decision (d of mean 0) has a probability of at most alpha, whatever the true variances
 * (Banerjee, Sankhya 22, 1960): given the v_i it is 1 - F(m^2 / sigma^2), F that of chi^2_1, which is
 * concave; m^2 / sigma^2 is the mean of the ratios t_i^2 v_i / sigma_i^2 with weights sigma_i^2 /
 * sigma^2, so that E F(m^2 / sigma^2) is at least the mean of the E F(t_i^2 v_i / sigma_i^2) = 1 -
 * alpha. A quantile for the sum with Satterthwaite's degrees of freedom has no such bound.
 *
 * Of a side with n seeds, nu = n - 1, of variance s^2, its part is that of a mean,
 *
 *   t_i^2 v_i = max( t_f^2 s~^2,  t_nu^2 (s^2 - (2 / 5) s0^2 / nu) ) / n
 *
 * with the moderated variance s~^2 of f degrees of freedom and the prior's s0^2 (stats/moderated.h).
 * The first term alone is right on average over sides whose variances are drawn from the prior, and
 * wrong for each that is not: an objective whose seeds differ by 5 times what those of others do is
 * decided wrongly in .1 to .3 of cases (docs/results/decisions.md). The second is what the side's own
 * seeds say, less a part of what the theorem gives away when two sides of as many seeds are compared;
 * with it the level holds for every ratio of variances down to alpha = .001 (3 seeds; any alpha from 4
 * on). Nothing is taken off where one side has other seeds than the other, or none.
 */
#pragma once

#include <stdint.h>

#include "stats/moderated.h"

/* A part: v and f, and what it is not below: own, of own_freedom degrees (0: no such bound). */
typedef struct {
    double variance, freedom;
    double own, own_freedom;
} cs_error_part;

/* That of a standard error; se 0: none. */
cs_error_part cs_error_of(double se, double freedom);

/* The seeds of a side: their number and variance. 0: the side has none, and 2 at least otherwise. */
typedef struct {
    int64_t count;
    double variance;
} cs_seeds;

/* The part of a side's seeds; other: those of the side that it is compared with. */
cs_error_part cs_error_of_seeds(const cs_prior *prior, cs_seeds side, cs_seeds other);

/* m(alpha), 0 < alpha <= 1. */
double cs_margin(int count, const cs_error_part *part, double alpha);

/* The least alpha at which d is decided: 0 where d differs from 0 without error, 1 where d is 0, NaN
 * where d or an error is. */
double cs_decision_p(int count, const cs_error_part *part, double d);

/* The least level at which a difference as large as `most` > 0 is ruled out, by two one-sided tests
 * (Schuirmann, J. Pharmacokinet. Biopharm. 15, 1987): half the p of most - |d|, 1 where |d| is not
 * below `most`. The errors are symmetric, so that where the mean of d is -+ most, or beyond, d is
 * wrongly found small with probability alpha at most. */
double cs_small_p(int count, const cs_error_part *part, double d, double most);

/* Adjusted for a family (Holm, Scand. J. Statist. 6, 1979): of the sorted p, max_{j <= i} min(1, (m -
 * j + 1) p_(j)), m the number of those that are not NaN, which stay. All decisions p_i <= alpha
 * together are wrong anywhere with probability alpha at most. CS_ERR_MEMORY is all that can fail. */
cs_status cs_holm(int64_t count, const double *p, double *adjusted) CS_MUST_CHECK;

/* The level at which one more of the family would be decided: alpha / (m - r), r those decided. */
double cs_holm_level(int64_t count, const double *adjusted, double alpha);

/* --- planning --------------------------------------------------------------------------------- */

/* A comparison as it would be with other numbers of seeds: the variances as the truth, d their
 * difference, `fixed` what seeds do not change (0: none). */
typedef struct {
    const cs_prior *prior;
    double variance[2]; /* of one seed, sides left and right; 0: the side has none */
    cs_error_part fixed;
    double d;
} cs_plan_of_seeds;

/* The chance that d is decided, with its sign, at level alpha with n >= 2 seeds a side. By
 * quadrature over the three estimated variances, s0^2 and d0 as they are; to about 1e-3. */
double cs_decision_power(const cs_plan_of_seeds *plan, int64_t n, double alpha);

/* The least n >= 3 with a power of .8 or more; 0 where a million are too few: more documents would
 * be needed. */
int64_t cs_seeds_needed(const cs_plan_of_seeds *plan, double alpha);
