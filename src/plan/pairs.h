/* The exact distribution of prediction events (S, k): conditioning set S, target position k.
 *
 * This is what a distribution over plans says to the co-occurrence matrix. For one length s it is
 * the sum of two parts, so that no objective pays for what it does not need:
 *
 *   listed      events (S, k, w) with explicit sets; prefixes {0..i-1} are one array of positions
 *               (fixed orders; spans; plan files; any law by cs_pairs_expand at small s)
 *   invariant   S uniform given its size m, k uniform in the complement: only q(m) is kept,
 *               P(S, k) = q(m) / (C(s, m) (s - m)), for any s
 *               (uniform masks and orders)
 *
 * A mixture has what its parts have: an event may then have weight in both. The weights of both
 * parts sum to 1 together. Positions are 0-based. objectives.md.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/mem.h"
#include "base/status.h"
#include "plan/objective.h"

/* `size` ascending positions, from number `at` of the law's array. */
typedef struct {
    int64_t at, size;
} cs_pairs_set;

typedef struct cs_pairs {
    int64_t length;      /* s */
    double predicted;    /* expected number of predicted tokens of one sequence: its weight under
                            --weight token. ar, diverse-ar, offset-ar: one a prefix; plan files:
                            the sum of the weights. Plans that predict nothing count as 0 */
    int64_t denominator; /* D > 0: weight x predicted x D is an integer for every event, up to
                            rounding of the double; 0 when no D below 2^40 is known */
    double clamped;      /* gvp mixed: probability that n_{K-1} was clamped into K..s-1 */

    /* Listed: distinct (S, k) pairs with positive weight, sorted by (S, k), sets by their size,
     * then lexicographically. */
    int64_t events;
    int64_t *set;               /* events: index of the set */
    int32_t *target;            /* events: k */
    double *weight;             /* events */
    int64_t sets;               /* number of distinct sets */
    cs_pairs_set *conditioning; /* sets */
    int32_t *position;
    bool prefixes; /* the objective lists nothing but prefixes */

    /* Invariant: */
    double *q;        /* s+1 values q(0..s), q(s) = 0; NULL: no such part */
    double invariant; /* sum of q: exactly 1 where nothing is listed, 0 where q is NULL */
    cs_pool pool;     /* of all arrays */
} cs_pairs;

/* The set of event number e, and its positions. */
static inline cs_pairs_set cs_pairs_set_of(const cs_pairs *pairs, int64_t e)
{
    return pairs->conditioning[pairs->set[e]];
}

static inline const int32_t *cs_pairs_positions(const cs_pairs *pairs, cs_pairs_set set)
{
    return pairs->position + set.at;
}

/* Whether a set is {0..size-1}. */
static inline bool cs_pairs_is_prefix(const cs_pairs *pairs, cs_pairs_set set)
{
    return set.size == 0 || pairs->position[set.at + set.size - 1] == set.size - 1;
}

void cs_pairs_free(cs_pairs *pairs);

/* The exact distribution at length s. Events with an empty S appear iff objective->empty_prefix !=
 * none; without them the rest is renormalised to sum 1. Cost: O(s t) prefix forms, O(s) invariant
 * ones, O(s^2) for gvp random and mixed under `mask` weights (s <= 10,000). CS_ERR_USAGE when the
 * objective does not exist at this length; CS_ERR_MEMORY, before anything is allocated when the
 * arrays would take more than half of the free memory (8 bytes a size; 20 an event and a prefix). */
cs_status cs_pairs_of(const cs_objective *objective, int64_t s, cs_pairs *out) CS_MUST_CHECK;

/* The expected number of predicted tokens (cs_pairs.predicted), also where the exact distribution
 * is out of reach. */
cs_status cs_objective_predicted(const cs_objective *objective, int64_t s,
                                 double *out) CS_MUST_CHECK;

/* Uniform target weights: what the weights of the events that predict each position are multiplied
 * by, s values in fresh memory; all 1 where every target counts alike already, and NULL where the
 * objective has the target weights of its plans. Errors as cs_pairs_of. */
cs_status cs_target_factors(const cs_objective *objective, int64_t s, double **out) CS_MUST_CHECK;

/* Probability that position k is the target, times `scale`: s values. */
void cs_pairs_targets(const cs_pairs *pairs, double scale, double *p);

/* Writes the invariant part out as listed sets. Refuses more than `limit` events in all
 * (CS_ERR_USAGE naming the number that would be needed). */
cs_status cs_pairs_expand(cs_pairs *pairs, int64_t limit) CS_MUST_CHECK;

/* Number of events after cs_pairs_expand, as a double (it may be astronomic). */
double cs_pairs_expand_count(const cs_pairs *pairs);
