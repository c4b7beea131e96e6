/* Distances of offset-ar, drawn for every prefix of a sequence: the trainer's form of the
 * distribution whose exact events are cs_pairs_of() (ar and diverse-ar are its uniform windows,
 * objectives.md). */
#pragma once

#include <stdint.h>

#include "base/rng.h"
#include "base/status.h"
#include "plan/distance.h"
#include "plan/objective.h"

typedef struct {
    cs_distance law;
    int64_t longest;
    long double *below; /* power: below[d] = sum of x^-a over x = 1..d, longest + 1 values; NULL:
                           sums are formed at every draw */
} cs_offsets;

/* For up to `longest` tokens left. O(longest) for power, else O(1). CS_ERR_MEMORY. */
cs_status cs_offsets_init(const cs_objective *objective, int64_t longest,
                          cs_offsets *out) CS_MUST_CHECK;
void cs_offsets_free(cs_offsets *offsets);

/* A distance d in 1..left with probability w(d) normalised over the `left` tokens left, 1 <= left
 * <= longest. One draw (two for mix); O(log left) for power, O(left) without `below`; else O(1). */
int64_t cs_offsets_draw(const cs_offsets *offsets, int64_t left, cs_rng *rng);
