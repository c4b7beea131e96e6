/** \file
 * Variances of several groups, each estimated from few numbers, moderated towards a common prior
 * (Smyth, Stat. Appl. Genet. Mol. Biol. 3, 2004; limma).
 *
 * Model: \f$s_g^2 \sim \sigma_g^2 \chi^2_{\nu_g} / \nu_g\f$ with
 * \f$1/\sigma_g^2 \sim \chi^2_{d_0} / (d_0 s_0^2)\f$. Then
 *
 * \f[ \tilde s_g^2 = \frac{d_0 s_0^2 + \nu_g s_g^2}{d_0 + \nu_g} \f]
 *
 * has d_0 + nu_g degrees of freedom, at most those of all groups together. d_0 and s_0^2 follow
 * from the moments of \f$e_g = \log s_g^2 - \psi(\nu_g/2) + \log(\nu_g/2)\f$, psi the digamma
 * function, over G groups:
 *
 * \f[ \psi'(d_0/2) = \frac{\sum_g (e_g - \bar e)^2}{G - 1} - \overline{\psi'(\nu_g/2)}, \qquad \log s_0^2 = \bar e + \psi(d_0/2) - \log(d_0/2). \f]
 *
 * If the right side of the first equation is not positive, nothing indicates that the variances
 * differ: d_0 is infinite and s_0^2 the pooled variance. As in limma, variances below 1e-5 of
 * their median count as that much in the moments.
 */
#pragma once

#include <stdint.h>

#include "base/status.h"

/** psi(x) for x > 0, accurate to about 1e-14. */
double cs_digamma(double x);

/** psi'(x) for x > 0, accurate to about 1e-14. */
double cs_trigamma(double x);

/** The x > 0 with psi'(x) = y, for y > 0. */
double cs_trigamma_inverse(double y);

/** The prior. */
typedef struct {
    /** d_0: infinite if one variance fits all groups, 0 if there is no prior. */
    double freedom;
    /** s_0^2. */
    double variance;
    /** Sum of nu_g. */
    double pooled;
} cs_prior;

/** Estimates the prior from the groups with positive degrees of freedom. There is none for fewer
 * than three of them, or if at least half of the variances are 0.
 *
 * \param count number of groups
 * \param variance count values s_g^2, not negative
 * \param freedom count values nu_g
 * \param out receives the prior
 * \retval CS_ERR_MEMORY allocation failed
 */
cs_status cs_prior_of(int64_t count, const double *variance, const double *freedom,
                      cs_prior *out) CS_MUST_CHECK;

/** A variance and its degrees of freedom. */
typedef struct {
    /** The estimate. */
    double variance;
    /** Its degrees of freedom. */
    double freedom;
} cs_variance;

/** The moderated variance of a group; `own` itself if there is no prior. */
cs_variance cs_moderated(const cs_prior *prior, cs_variance own);

/** \cond INTERNAL */
/* Student's distribution: the width of a confidence interval for a mean whose standard error was estimated.
 * Degrees of freedom are real, since those of a moderated variance (stats/moderated.h) are not
 * integers. From 1e8 on, and where they are infinite, the normal distribution is used, which is
 * within t^4 / 4e8. */
/* P(|T| > t) = I_x(freedom / 2, 1 / 2), x = freedom / (freedom + t^2), for t >= 0 and freedom > 0;
 * to about 1e-12 relative, 1e-8 from a million degrees of freedom on. */
double cs_student_beyond(double t, double freedom);

/* The t with P(|T| > t) = alpha, 0 < alpha <= 1, as accurate. Infinite beyond the largest double.
 */
double cs_student_point(double alpha, double freedom);

/* The t with P(|T| <= t) = level, 0 <= level < 1: half the width of an interval in standard errors.
 */
double cs_student_width(double level, double freedom);
/** \endcond */
