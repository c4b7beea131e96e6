/** \file
 * The exact distribution of prediction events (S, k): conditioning set S, target position k. The
 * co-occurrence matrix depends on an objective only through it.
 *
 * For a length s it is the sum of two parts:
 *
 * - listed: events (S, k, w) with explicit sets; the prefixes {0..i-1} share one array of
 *   positions. For fixed orders, spans, plan files, and any distribution at small s
 *   (cs_pairs_expand).
 * - invariant: S is uniform given its size m, and k is uniform in the complement. Only q(m) is
 *   stored, \f$P(S, k) = q(m) / \big( \binom{s}{m} (s - m) \big)\f$. For uniform masks and orders,
 *   at any s.
 *
 * A mixture has the parts of its components, so an event may have weight in both. The weights of
 * both parts sum to 1. Positions count from 0. docs/explanation/objectives.md.
 */
#pragma once

#include "base/mem.h"
#include "plan/objective.h"

/** A set of positions. */
typedef struct {
    /** Index of its first position in cs_pairs.position. */
    int64_t at;
    /** Number of positions, which ascend. */
    int64_t size;
} cs_pairs_set;

/** The distribution at one length. Free it with cs_pairs_free. */
typedef struct cs_pairs {
    /** Length s. */
    int64_t length;
    /** Expected number of predicted tokens of a sequence. One for each prefix of ar, diverse-ar and
     * offset-ar; the sum of the weights of plan files. Plans that predict nothing count as 0.
     */
    double predicted;
    /** D > 0: weight x predicted x D is an integer for every event, up to rounding; 0: no D below
     * 2^40 is known.
     */
    int64_t denominator;
    /** gvp mixed: probability that \f$n_{K-1}\f$ was clamped into K..s-1. */
    double clamped;
    /** Number of listed events: distinct (S, k) with positive weight, sorted by S, then k; sets by
     * size, then lexicographically.
     */
    int64_t events;
    /** events: index of S in `conditioning`. */
    int64_t *set;
    /** events: k. */
    int32_t *target;
    /** events: probability. */
    double *weight;
    /** Number of distinct sets. */
    int64_t sets;
    /** sets: the sets. */
    cs_pairs_set *conditioning;
    /** Positions of all sets. */
    int32_t *position;
    /** The objective lists only prefixes. */
    bool prefixes;
    /** s + 1 values q(0..s), q(s) = 0; NULL: no invariant part. */
    double *q;
    /** Sum of q: exactly 1 if nothing is listed, 0 if q is NULL. */
    double invariant;
    /** Owns all arrays. */
    cs_pool pool;
} cs_pairs;

/** The set S of listed event e. */
static inline cs_pairs_set cs_pairs_set_of(const cs_pairs *pairs, int64_t e)
{
    return pairs->conditioning[pairs->set[e]];
}

/** The `set.size` positions of a set, borrowed. */
static inline const int32_t *cs_pairs_positions(const cs_pairs *pairs, cs_pairs_set set)
{
    return pairs->position + set.at;
}

/** Whether a set is {0..size-1}. */
static inline bool cs_pairs_is_prefix(const cs_pairs *pairs, cs_pairs_set set)
{
    return set.size == 0 || pairs->position[set.at + set.size - 1] == set.size - 1;
}

/** Frees all arrays; accepts a zeroed object. */
void cs_pairs_free(cs_pairs *pairs);

/** The exact distribution at length s. Events with an empty S appear only if the objective has an
 * empty prefix; without them the rest is renormalised to sum 1.
 *
 * Cost: O(s t) for prefix forms, O(s) for invariant ones, O(s^2) for gvp random and mixed under
 * `mask` weights (s at most 10,000). Memory: 8 bytes for each size, 20 for each event and prefix.
 *
 * \param objective checked by cs_objective_check
 * \param s length
 * \param out receives the distribution
 * \retval CS_ERR_USAGE the objective does not exist at this length
 * \retval CS_ERR_MEMORY the arrays would take more than half of the free memory; checked before
 *     anything is allocated
 */
cs_status cs_pairs_of(const cs_objective *objective, int64_t s, cs_pairs *out) CS_MUST_CHECK;

/** Expected number of predicted tokens (cs_pairs.predicted), also where the exact distribution is
 * too large.
 */
cs_status cs_objective_predicted(const cs_objective *objective, int64_t s,
                                 double *out) CS_MUST_CHECK;

/** For uniform target weights: the factors of the weights of the events that predict each position.
 * `*out` receives s values (cs_free), all 1 if all targets already have equal weight, and NULL if
 * the objective has the target weights of its plans. Errors of cs_pairs_of.
 */
cs_status cs_target_factors(const cs_objective *objective, int64_t s, double **out) CS_MUST_CHECK;

/** Probability that position k is the target, times `scale`, into s values. */
void cs_pairs_targets(const cs_pairs *pairs, double scale, double *p);

/** Writes the invariant part as listed sets.
 *
 * \retval CS_ERR_USAGE more than `limit` events in total; names the number
 */
cs_status cs_pairs_expand(cs_pairs *pairs, int64_t limit) CS_MUST_CHECK;

/** Number of events after cs_pairs_expand; a double, since it may be very large. */
double cs_pairs_expand_count(const cs_pairs *pairs);
