/* Variances of several groups, each known from few numbers, moderated towards what they have in
 * common (Smyth, Stat. Appl. Genet. Mol. Biol. 3, 2004; limma).
 *
 * Model: s_g^2 ~ sigma_g^2 chi^2_(nu_g) / nu_g with 1 / sigma_g^2 ~ chi^2_(d0) / (d0 s0^2). Then
 *
 *   s~_g^2 = (d0 s0^2 + nu_g s_g^2) / (d0 + nu_g)
 *
 * has d0 + nu_g degrees of freedom, at most those of all groups together. d0 and s0^2 by the moments
 * of e_g = log s_g^2 - psi(nu_g / 2) + log(nu_g / 2), psi the digamma function:
 *
 *   psi'(d0 / 2) = sum (e_g - mean e)^2 / (G - 1) - mean psi'(nu_g / 2)
 *   log s0^2 = mean e + psi(d0 / 2) - log(d0 / 2)
 *
 * Where the right side of the first is not positive, nothing says that the variances differ: d0 is
 * infinite and s0^2 = sum nu_g s_g^2 / sum nu_g. As in limma, variances below 1e-5 of their median
 * count as that much in the moments.
 */
#pragma once

#include <stdint.h>

#include "base/status.h"

/* psi(x) and psi'(x) for x > 0, to about 1e-14; and the x > 0 with psi'(x) = y, y > 0. */
double cs_digamma(double x);
double cs_trigamma(double x);
double cs_trigamma_inverse(double y);

typedef struct {
    double freedom; /* d0: infinite where one variance will do for all, 0 where there is no prior */
    double variance; /* s0^2 */
    double pooled;   /* sum nu_g */
} cs_prior;

/* Of the groups with freedom above 0. No prior with fewer than three of them, or where half of the
 * variances or more are 0. Variances are not negative. CS_ERR_MEMORY is all that can fail. */
cs_status cs_prior_of(int64_t count, const double *variance, const double *freedom,
                      cs_prior *out) CS_MUST_CHECK;

typedef struct {
    double variance, freedom;
} cs_variance;

/* s~_g^2 and its degrees of freedom; what is given where there is no prior. */
cs_variance cs_moderated(const cs_prior *prior, cs_variance own);
