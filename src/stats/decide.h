/** \file
 * Decisions about the sign of a difference whose error has several independent parts, each with a
 * standard error estimated from few numbers: test documents, seeds of one side, seeds of the other
 * (docs/explanation/decisions.md).
 *
 * With variances v_i of f_i degrees of freedom, a difference d is decided at level alpha if
 *
 * \f[ |d| > m(\alpha), \qquad m(\alpha)^2 = \sum_i t_i^2 v_i, \qquad P(|T_{f_i}| > t_i) = \alpha, \f]
 *
 * T_f Student's distribution. A wrong decision (d has mean 0) has probability at most alpha,
 * whatever the true variances (Banerjee, Sankhya 22, 1960). Proof: given the v_i it is
 * \f$1 - F(m^2/\sigma^2)\f$ with the concave F of chi^2_1; \f$m^2/\sigma^2\f$ is the mean of the
 * ratios \f$t_i^2 v_i / \sigma_i^2\f$ with weights \f$\sigma_i^2/\sigma^2\f$, so
 * \f$E F(m^2/\sigma^2) \ge 1 - \alpha\f$. Satterthwaite's degrees of freedom give no such bound.
 *
 * The part of a side with n seeds of variance s^2, nu = n - 1, is
 *
 * \f[ t_i^2 v_i = \frac{1}{n} \max\Big( t_f^2 \tilde s^2,\; t_\nu^2 \big(s^2 - \tfrac{2}{5} s_0^2 / \nu\big) \Big) \f]
 *
 * with the moderated variance \f$\tilde s^2\f$ of f degrees of freedom and the variance s_0^2 of
 * the prior (stats/moderated.h). The first term alone is right on average over sides whose
 * variances come from the prior, but wrong for a side whose variance does not. The second uses the
 * seeds of the side alone, less a part of the slack of the theorem for two sides with equal
 * numbers of seeds. With it the level holds for every ratio of variances down to alpha = .001 with
 * 3 seeds, and for any alpha from 4 seeds on (docs/results/decisions.md). Nothing is subtracted if
 * the sides have different numbers of seeds, or one has none. Source of the second term: ours.
 */
#pragma once

#include <stdint.h>

#include "stats/moderated.h"

/** One part of an error. */
typedef struct {
    /** v, the squared standard error. */
    double variance;
    /** f, its degrees of freedom. */
    double freedom;
    /** A lower bound of the part: a variance with own_freedom degrees of freedom. */
    double own;
    /** Degrees of freedom of `own`; 0: no lower bound. */
    double own_freedom;
} cs_error_part;

/** The part of a standard error `se`; se 0 means no error. */
cs_error_part cs_error_of(double se, double freedom);

/** The seeds of a side. */
typedef struct {
    /** Number of seeds: 0, or at least 2. */
    int64_t count;
    /** Variance of the values of single seeds. */
    double variance;
} cs_seeds;

/** The part of the seeds of one side; `other` are the seeds of the side that it is compared with.
 */
cs_error_part cs_error_of_seeds(const cs_prior *prior, cs_seeds side, cs_seeds other);

/** m(alpha) of `count` parts, for 0 < alpha <= 1. */
double cs_margin(int count, const cs_error_part *part, double alpha);

/** The least alpha at which d is decided: 0 if d differs from 0 without error, 1 if d is 0, NaN if
 * d or an error is NaN.
 */
double cs_decision_p(int count, const cs_error_part *part, double d);

/** The least level at which a difference as large as `most` > 0 is excluded, by two one-sided tests
 * (Schuirmann, J. Pharmacokinet. Biopharm. 15, 1987): half the p-value of most - |d|; 1 if |d| is
 * not below `most`.
 */
double cs_small_p(int count, const cs_error_part *part, double d, double most);

/** P-values adjusted for a family of tests (Holm, Scand. J. Statist. 6, 1979): for the sorted p,
 * \f$\max_{j \le i} \min(1, (m - j + 1)\, p_{(j)})\f$, m the number of p-values that are not NaN.
 * NaN stays NaN. With probability at least 1 - alpha no decision p_i <= alpha of the family is
 * wrong.
 *
 * \param count number of p-values
 * \param p count values
 * \param adjusted receives count values
 * \retval CS_ERR_MEMORY allocation failed
 */
cs_status cs_holm(int64_t count, const double *p, double *adjusted) CS_MUST_CHECK;

/** The level at which one more test of the family would be decided: alpha / (m - r), r the number
 * decided at alpha.
 */
double cs_holm_level(int64_t count, const double *adjusted, double alpha);

/** A comparison with other numbers of seeds, for planning. */
typedef struct {
    /** Prior of the variances. */
    const cs_prior *prior;
    /** Variance of one seed, of the left and of the right side; 0: the side has no seeds. */
    double variance[2];
    /** Error that seeds do not change; variance 0: none. */
    cs_error_part fixed;
    /** The difference, taken as true. */
    double d;
} cs_plan_of_seeds;

/** Probability that d is decided with its sign at level alpha with n >= 2 seeds on each side. By
 * quadrature over the three estimated variances, with s_0^2 and d_0 fixed; accurate to about 1e-3.
 */
double cs_decision_power(const cs_plan_of_seeds *plan, int64_t n, double alpha);

/** The least n >= 3 with a power of at least .8; 0 if a million seeds do not suffice, so that more
 * documents are needed.
 */
int64_t cs_seeds_needed(const cs_plan_of_seeds *plan, double alpha);
