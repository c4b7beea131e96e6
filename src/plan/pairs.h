/* The exact distribution of prediction events (S, k): conditioning set S, target position k.
 *
 * This is what a distribution over plans says to the co-occurrence matrix. For one length s it
 * takes one of three forms, so that no objective pays for what it does not need:
 *
 *   prefix      S = {0..i-1}; events (i, k, w), at most s of them a prefix
 *               (ar, diverse-ar, offset-ar, group-ar)
 *   invariant   S uniform given its size m, k uniform in the complement: only q(m) = P(|S| = m) is
 *               kept, P(S, k) = q(m) / (C(s, m) (s - m)), for any s
 *               (masked, variable-masked, bernoulli-masked, permuted-ar, gvp)
 *   sets        explicit sets (plan files; any of the above by cs_pairs_expand at small s)
 *
 * Weights sum to 1. Positions are 0-based. theory.md 1 and 5.
 */
#pragma once

#include <stdint.h>

#include "base/status.h"
#include "plan/objective.h"

typedef struct cs_pairs {
    cs_pairs_form form;
    int64_t length;      /* s */
    double predicted;    /* expected number of predicted tokens of one sequence: its weight under
                            --weight token. ar, diverse-ar, offset-ar: one a prefix; plan files:
                            the sum of the weights. Plans that predict nothing count as 0 */
    int64_t denominator; /* D > 0: weight x predicted x D is an integer for every event, up to
                            rounding of the double; 0 when no D below 2^40 is known */
    double clamped;      /* gvp mixed: probability that n_{K-1} was clamped into K..s-1 */

    /* prefix and sets: distinct (S, k) pairs with positive weight, sorted by (S, k). */
    int64_t events;
    int64_t *set;    /* events: prefix: |S|; sets: index of the set */
    int32_t *target; /* events: k */
    double *weight;  /* events */

    double *q; /* invariant: s+1 values q(0..s), q(s) = 0 */

    int64_t sets;     /* sets form: number of distinct sets */
    int64_t *set_ptr; /* sets + 1 */
    int32_t *set_pos; /* set_ptr[sets]: ascending positions of each set */
} cs_pairs;

void cs_pairs_free(cs_pairs *pairs);

/* The exact distribution at length s. Events with an empty S appear iff objective->empty_prefix !=
 * none; without them the rest is renormalised to sum 1. Cost: O(s t) prefix forms, O(s) invariant
 * ones, O(s^2) for gvp random and mixed under `mask` weights (s <= 10,000). CS_ERR_USAGE when the
 * objective does not exist at this length; CS_ERR_MEMORY, before anything is allocated when the
 * arrays would take more than half of the free memory (8 bytes a position, 20 an event). */
cs_status cs_pairs_of(const cs_objective *objective, int64_t s, cs_pairs *out) CS_MUST_CHECK;

/* The expected number of predicted tokens (cs_pairs.predicted), also where the exact distribution
 * is out of reach. */
cs_status cs_objective_predicted(const cs_objective *objective, int64_t s,
                                 double *out) CS_MUST_CHECK;

/* The same distribution with explicit sets. Refuses more than `limit` events (CS_ERR_USAGE naming
 * the number that would be needed). */
cs_status cs_pairs_expand(const cs_pairs *pairs, int64_t limit, cs_pairs *out) CS_MUST_CHECK;

/* Number of events that cs_pairs_expand would write, as a double (it may be astronomic). */
double cs_pairs_expand_count(const cs_pairs *pairs);
