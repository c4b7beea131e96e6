/* Does one quantity rank objects as another does, within the errors of both?
 *
 *   tau_b = (C - D) / sqrt((N - T_1) (N - T_2)),   N = n (n - 1) / 2
 *
 * over pairs of objects: C concordant, D discordant, T_1 and T_2 tied in either quantity (Kendall
 * 1945). It takes values as exact. The counts do not: a quantity tells two objects apart when they
 * differ by more than 1.96 sqrt(se_1^2 + se_2^2), as if their errors were independent; measured on
 * the same inputs these mostly go together, so that more pairs than that could be told apart.
 */
#ifndef CS_ANALYSIS_RANKING_H
#define CS_ANALYSIS_RANKING_H

#include <stdint.h>

typedef struct {
    double value, se; /* se NaN: not known, nothing can be told */
} cs_measured;

typedef struct {
    int64_t objects;
    double tau_b;                         /* NaN when a side is constant or has one object */
    int64_t agree, disagree, cannot_tell; /* pairs; the last where either quantity does not */
} cs_ranking;

/* 1 when a is above b, -1 below, 0 when they cannot be told apart. */
int cs_ranking_order(cs_measured a, cs_measured b);

/* count objects under two quantities, larger is better in both; values are no NaN. O(count^2). */
cs_ranking cs_ranking_of(int64_t count, const cs_measured *first, const cs_measured *second);

#endif
