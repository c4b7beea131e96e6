/* Does one quantity rank objects as another does, within the errors of both?
 *
 * By Kendall's tau-b with its exact p (stats/kendall.h), which takes values as exact, and by counts
 * that take errors into account: a quantity distinguishes two objects when they differ by more than
 *
 *   sqrt(t_1^2 se_1^2 + t_2^2 se_2^2),   t_i the 97.5% point of Student's distribution
 *
 * with the degrees of freedom of each error (stats/decide.h), as if the errors were independent;
 * measured on the same inputs these mostly go together, so that more pairs than that could be
 * distinguished.
 */
#pragma once

#include <stdint.h>

#include "stats/kendall.h"

typedef struct {
    double value, se; /* se NaN: not known, no pair is distinguished */
    int64_t freedom;  /* degrees of freedom of se; 0: not known, taken as infinite */
} cs_measured;

typedef struct {
    int64_t objects;
    cs_kendall kendall;
    int64_t agree, disagree, cannot_tell; /* pairs; the last where either quantity does not */
} cs_ranking;

/* 1 when a is above b, -1 below, 0 when they are not distinguished. */
int cs_ranking_order(cs_measured a, cs_measured b);

/* count objects under two quantities, larger is better in both; values are no NaN. Cost and errors of
 * cs_kendall_of. */
cs_status cs_ranking_of(int64_t count, const cs_measured *first, const cs_measured *second,
                        cs_ranking *out) CS_MUST_CHECK;
