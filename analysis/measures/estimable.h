/** \file
 * Whether a corpus is large enough to estimate a property of its language
 * (docs/explanation/population-estimates.md, "When a corpus is too small"). Source: ours.
 *
 * The distinct-document estimate of sum sigma^4 counts as estimable if no check contradicts it by
 * a factor of two or more:
 *
 * - seen: m >= 1/2. Contexts of two documents have at least as much mass as the others, about
 *   which nothing is observed.
 * - leading: sigma_1^2 <= 2. It is 1 in every language.
 * - interval: high <= 4 low. Both ends are within a factor of two of the centre.
 * - order: cross-fit <= high and low <= plug-in. The first is biased downwards, the second
 *   upwards.
 *
 * Documents needed: m grows as a power of their number, and n and n/2 documents give the exponent;
 * the excess of sigma_1^2 falls as 1/n, the width of the interval as \f$1/\sqrt n\f$. The result
 * is the largest of the three, and a lower limit, since the exponent falls as contexts are
 * exhausted.
 */
#pragma once

#include <stdbool.h>

/** Estimates from a corpus; NaN: unknown, except for `documents` and the shares. */
typedef struct {
    /** n. */
    double documents;
    /** m(n), the share of mass in contexts of two documents. */
    double seen;
    /** m(n/2). */
    double seen_halves;
    /** Leading singular value of the distinct-document estimate. */
    double sigma_1;
    /** Lower end of the interval of the corrected sum of sigma^4. */
    double low;
    /** Upper end. */
    double high;
    /** The cross-fit estimate of the same sum. */
    double cross_fit;
    /** The plug-in estimate of the same sum. */
    double plug_in;
} cs_estimable_input;

/** The checks: true if passed, or if they cannot be made. */
typedef struct {
    /** Mass of contexts of two documents. */
    bool seen;
    /** Leading singular value. */
    bool leading;
    /** Width of the interval. */
    bool interval;
    /** Order of the estimates. */
    bool order;
    /** All four. */
    bool all;
    /** Documents needed; NaN: unknown. */
    double documents;
} cs_estimable;

/** Makes the checks. */
cs_estimable cs_estimable_of(const cs_estimable_input *in);
