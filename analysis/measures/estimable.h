/* Whether a corpus is large enough for a number of its language (docs/explanation/population-estimates.md,
 * "When a corpus is too small").
 *
 * The distinct-document estimate of sum sigma^4 is held for good where nothing that is known
 * contradicts it by a factor of two or more:
 *
 *   seen      m >= 1/2: contexts that two documents have hold no less mass than the others, about
 *             which nothing is observed
 *   leading   sigma_1^2 <= 2: it is 1 in every language
 *   interval  high <= 4 low: both ends are within a factor of two of the middle
 *   order     cross-fit <= high and low <= plug-in: the one is biased downwards, the other upwards
 *
 * Documents that would do: m grows as a power of their number, of which n and n/2 documents give the
 * exponent; the excess of sigma_1^2 falls as 1/n, the width of the interval as 1/sqrt(n). It is the
 * largest of the three, and a lower limit: the exponent falls as contexts run out.
 */
#pragma once

#include <stdbool.h>

typedef struct {
    double documents;          /* n */
    double seen, seen_halves;  /* m(n), m(n/2) */
    double sigma_1;            /* NaN: not known, as each of the following may be */
    double low, high;          /* interval of the corrected sum */
    double cross_fit, plug_in; /* of the same sum */
} cs_estimable_input;

typedef struct {
    bool seen, leading, interval,
        order; /* whether each check holds; true where it cannot be made */
    bool all;
    double documents; /* that would do; NaN: not known */
} cs_estimable;

cs_estimable cs_estimable_of(const cs_estimable_input *in);
