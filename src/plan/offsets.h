/* One target for each prefix of a sequence: the distribution of its distance, for ar, diverse-ar and
 * offset-ar (ar and diverse-ar are its uniform windows, objectives.md). The trainer draws distances
 * from it; cs_pairs_of() has its exact events. */
#pragma once

#include "base/rng.h"
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
long double cs_distance_raw(const cs_distance *distribution, int64_t left, int64_t d);

typedef struct {
    cs_distance distribution;
    int64_t longest;
    /* power: below[d] = sum of x^-a over x = 1..d, longest + 1 values; NULL: sums are formed at
     * every draw. */
    long double *below;
} cs_offsets;

/* For up to `longest` tokens left. O(longest) for power, else O(1). CS_ERR_MEMORY. */
cs_status cs_offsets_init(const cs_objective *objective, int64_t longest,
                          cs_offsets *out) CS_MUST_CHECK;
void cs_offsets_free(cs_offsets *offsets);

/* A distance d in 1..left with probability w(d) normalised over the `left` tokens left, 1 <= left
 * <= longest. One draw (two for mix); O(log left) for power, O(left) without `below`; else O(1). */
int64_t cs_offsets_draw(const cs_offsets *offsets, int64_t left, cs_rng *rng);
