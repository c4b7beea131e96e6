/* Connectivity against generation (theorem-4-2.md, Heavy-tailed offsets; ours).
 *
 * Two questions on the toy model, per class, at any length s (mixtures of the two kinds are in
 * both):
 *
 *   prefix objectives     how much weight remains on the next token (the task of generation), and
 *                         how large the tail sum_{j>=2} sigma_j^4 of Theorem 4.1 is
 *   invariant objectives  sigma^2 and the mean length misalignment are both linear in q, the
 *                         distribution of |S|: each number m of unmasked tokens gives a point, and
 *                         every objective lies in their convex hull. The best are on its lower
 *                         edge, so a best q has at most two lengths
 *
 * The point of m, with the misalignment against prefixes of l tokens averaged over l = 1..s-1:
 *
 *   sigma^2(m) = m / ((s-m)(s-1)),   misalignment(m) = mean_l [1 - (min(l,m) / max(l,m))^p]
 *
 * p = 2 is the power of the corrected Theorem 4.3, which has l <= m; here it is symmetric, so that
 * longer prefixes count too. */
#pragma once

#include "io/result.h"
#include "plan/objective.h"

typedef struct {
    /* share of event weight on S = {0..k-1}; NaN for objectives that list no prefixes */
    double next_token_weight;
    /* E over events' |S| of the above; NaN for prefix objectives, which train every length they
     * generate from, and when S = {} carries weight. */
    double misalignment;
    /* Second singular value per class (1 counted per multiplicity), 0 if there is none. */
    double sigma2;
    double tail; /* sum_{j>=2} sigma_j^4 per class */
} cs_tradeoff;

/* Of one objective at length s. Cost: that of the position reduction. */
cs_status cs_tradeoff_of(const cs_objective *objective, int64_t s, cs_tradeoff *out) CS_MUST_CHECK;

/* Misalignment of m unmasked tokens at length s, 1 <= m <= s-1. */
double cs_length_misalignment(int64_t s, int64_t m);

/* The lower hull of the points (misalignment(m), sigma^2(m)), m = 1..s-1: m[0..*count-1] by rising
 * misalignment, from the best aligned point down to the best connected one. `m` has a capacity
 * of s-1 values. */
cs_status cs_frontier(int64_t s, int64_t *m, int64_t *count) CS_MUST_CHECK;

/* An item of `points` for an objective; for each vertex of the frontier. */
cs_status cs_tradeoff_add(const cs_objective *objective, int64_t s, cs_item *points) CS_MUST_CHECK;
cs_status cs_frontier_add(int64_t s, cs_item *points) CS_MUST_CHECK;
