/* Does one quantity rank objects as another does, within the errors of both?
 *
 *   tau_b = (C - D) / sqrt((N - T_1) (N - T_2)),   N = n (n - 1) / 2
 *
 * over pairs of objects: C concordant, D discordant, T_1 and T_2 tied in either quantity (Kendall
 * 1945). It takes values as exact. Its standard deviation when the quantities have nothing to do
 * with each other, ties left out of account (Kendall 1938):
 *
 *   sqrt(2 (2 n + 5) / (9 n (n - 1)))
 *
 * The counts take errors into account: a quantity distinguishes two objects when they differ by
 * more than t sqrt(se_1^2 + se_2^2), as if their errors were independent; measured on the same
 * inputs these mostly go together, so that more pairs than that could be distinguished. t is the 97.5%
 * point of Student's distribution with
 *
 *   nu = (se_1^2 + se_2^2)^2 / (se_1^4 / nu_1 + se_2^4 / nu_2)
 *
 * degrees of freedom (Satterthwaite, Biometrics 2, 1946; Welch 1947), rounded down: B - 1 to 2
 * (B - 1) where both errors are jackknifed over B blocks. Above 10000, the normal distribution's
 * 1.96.
 */
#pragma once

#include <stdint.h>

typedef struct {
    double value, se; /* se NaN: not known, no pair is distinguished */
    int64_t freedom;  /* degrees of freedom of se; 0: not known, taken as infinite */
} cs_measured;

typedef struct {
    int64_t objects;
    double tau_b;                         /* NaN when a side is constant or has one object */
    double tau_sd;                        /* of no association; NaN where tau_b is */
    int64_t agree, disagree, cannot_tell; /* pairs; the last where either quantity does not */
} cs_ranking;

/* 1 when a is above b, -1 below, 0 when they are not distinguished. */
int cs_ranking_order(cs_measured a, cs_measured b);

/* count objects under two quantities, larger is better in both; values are no NaN. O(count^2). */
cs_ranking cs_ranking_of(int64_t count, const cs_measured *first, const cs_measured *second);
