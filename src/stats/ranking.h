/** \file
 * Agreement of two quantities on the ranking of objects, with the errors of both.
 *
 * Kendall's tau-b with its exact p-value (stats/kendall.h) takes values as exact. Counts of pairs
 * take errors into account: a quantity distinguishes two objects if they differ by more than
 *
 * \f[ \sqrt{t_1^2\, \mathrm{se}_1^2 + t_2^2\, \mathrm{se}_2^2}, \f]
 *
 * t_i the 97.5% point of Student's distribution with the degrees of freedom of each error
 * (stats/decide.h), as if the errors were independent. Errors measured on the same inputs are
 * mostly positively correlated, so this is conservative.
 */
#pragma once

#include <stdint.h>

#include "stats/kendall.h"

/** A value with its error. */
typedef struct {
    /** The value. */
    double value;
    /** Standard error; NaN: unknown, and no pair is distinguished. */
    double se;
    /** Degrees of freedom of `se`; 0: unknown, taken as infinite. */
    int64_t freedom;
} cs_measured;

/** The agreement. */
typedef struct {
    /** Number of objects. */
    int64_t objects;
    /** tau_b and p of the values. */
    cs_kendall kendall;
    /** Pairs that both quantities distinguish, in the same order. */
    int64_t agree;
    /** Pairs that both distinguish, in opposite orders. */
    int64_t disagree;
    /** Pairs that at least one quantity does not distinguish. */
    int64_t undetermined;
} cs_ranking;

/** 1 if a is above b, -1 if below, 0 if they are not distinguished. */
int cs_ranking_order(cs_measured a, cs_measured b);

/** Compares two quantities on the same objects; in both, larger is better.
 *
 * \param count number of objects
 * \param first count values, no NaN
 * \param second count values, no NaN
 * \param out receives the agreement
 * \retval CS_ERR_MEMORY allocation failed
 */
cs_status cs_ranking_of(int64_t count, const cs_measured *first, const cs_measured *second,
                        cs_ranking *out) CS_MUST_CHECK;
