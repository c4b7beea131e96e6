/* One target for each prefix: the distribution of its distance, for ar, diverse-ar and offset-ar.
 */
#pragma once

#include <stdint.h>

#include "plan/objective.h"

/* uniform: d = 1..window (at most the tokens left); power: d^-exponent; mix: `next` on d = 1, the
 * rest spread over all tokens left. */
typedef struct {
    cs_offset_kind kind;
    int64_t window; /* largest distance, at most s */
    double exponent, next;
} cs_distance;

/* ar is uniform:1, diverse-ar uniform:t; power:0 and mix:0 are uniform without a bound, mix:1 is
 * uniform:1. */
cs_distance cs_distance_of(const cs_objective *objective, int64_t s);

/* Weight of distance d if `left` tokens are left, before normalisation over d = 1..min(left,
 * window); for uniform and mix the sum is min(left, window). */
long double cs_distance_raw(const cs_distance *law, int64_t left, int64_t d);
