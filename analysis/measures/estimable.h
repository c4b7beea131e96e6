/* Whether a corpus is large enough to estimate a property of its language
 * (docs/explanation/population-estimates.md, "When a corpus is too small").
 *
 * The distinct-document estimate of sum sigma^4 counts as estimable if no check contradicts it by a
 * factor of two or more:
 *
 *   seen      m >= 1/2: contexts of two documents have at least as much mass as the others, about
 *             which nothing is observed
 *   leading   sigma_1^2 <= 2: it is 1 in every language
 *   interval  high <= 4 low: both ends are within a factor of two of the centre
 *   order     cross-fit <= high and low <= plug-in: the first is biased downwards, the second upwards
 *
 * Documents needed: m grows as a power of their number, and n and n/2 documents give the exponent;
 * the excess of sigma_1^2 falls as 1/n, the width of the interval as 1/sqrt(n). The result is the
 * largest of the three, and a lower limit, since the exponent falls as contexts are exhausted. */
#pragma once

#include <stdbool.h>

typedef struct {
    double documents;          /* n */
    double seen, seen_halves;  /* m(n), m(n/2) */
    double sigma_1;            /* NaN: unknown, as each of the following may be */
    double low, high;          /* interval of the corrected sum */
    double cross_fit, plug_in; /* of the same sum */
} cs_estimable_input;

typedef struct {
    bool seen, leading, interval, order; /* result of each check; true if it cannot be made */
    bool all;
    double documents; /* documents needed; NaN: unknown */
} cs_estimable;

cs_estimable cs_estimable_of(const cs_estimable_input *in);
