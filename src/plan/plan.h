/** \file
 * Group plans. Every objective is a distribution over them.
 *
 * A plan gives each position i of a sequence of length s a group f(i) in 0..K and a weight (0: not
 * predicted). Group 0 is given. A token of group k >= 1 is predicted from all earlier groups, and
 * tokens of one group are predicted independently (GVP Eq. 5; LA Eq. 6).
 * docs/explanation/objectives.md.
 */
#pragma once

#include "base/rng.h"
#include "plan/objective.h"

/** A plan of one length. */
typedef struct cs_plan {
    /** Length s. */
    int64_t length;
    /** K: groups are 0..K. */
    int64_t groups;
    /** length values f(i), owned. */
    int32_t *group;
    /** length values: weight of the event "position i is predicted", owned. */
    double *weight;
    /** A next-token network reads the plan as masked (mntp). */
    bool masks;
    /** Factors for uniform target weights (cs_target_factors), by which drawn weights are
     * multiplied: length values, borrowed; NULL: 1.
     */
    const double *factor;
} cs_plan;

/** Allocates the arrays of a plan. Free it with cs_plan_free.
 *
 * \retval CS_ERR_MEMORY allocation failed
 */
cs_status cs_plan_init(cs_plan *plan, int64_t length) CS_MUST_CHECK;

/** Frees the arrays; accepts a zeroed object. */
void cs_plan_free(cs_plan *plan);

struct cs_mix_at_length;

/** An objective that is checked at one length, with the values of its expressions there. Drawing
 * does not change it, so that threads may share it.
 */
typedef struct cs_plan_sampler {
    /** The objective; its file is borrowed. */
    cs_objective objective;
    /** Length s of its plans. */
    int64_t length;
    /** Number of parts of a mixture with a positive share at this length; else 0. */
    int64_t parts;
    /** These parts, owned; opaque. */
    struct cs_mix_at_length *part;
} cs_plan_sampler;

/** Prepares an objective for drawing. Free it with cs_plan_sampler_free.
 *
 * \retval CS_ERR_USAGE the objective does not exist at this length
 * \retval CS_ERR_INPUT an expression of a plan file is out of range at this length
 * \retval CS_ERR_MEMORY allocation failed
 */
cs_status cs_plan_sampler_init(const cs_objective *objective, int64_t length,
                               cs_plan_sampler *out) CS_MUST_CHECK;

/** Frees the parts; accepts a zeroed object. */
void cs_plan_sampler_free(cs_plan_sampler *sampler);

/** Draws a plan into one of the sampler's length. Under `token` weights every predicted
 * token has weight 1; under `mask` weights the weights sum to 1. diverse-ar and offset-ar draw a
 * prefix uniformly and one target by its weight. A plan that predicts nothing has weights 0. With
 * a share below 1, each weight becomes 0 with probability 1 - share, independently.
 *
 * The expected weight of each (S, k), normalised, is that of cs_pairs_of. O(s), no allocation.
 *
 * \param sampler the prepared objective
 * \param rng generator, usually of CS_STREAM_PLAN
 * \param plan changed in place
 */
cs_status cs_plan_draw(const cs_plan_sampler *sampler, cs_rng *rng, cs_plan *plan) CS_MUST_CHECK;

/** Prepares an objective at plan->length and draws one plan: the same plan as cs_plan_draw, which
 * is faster for several. Errors of cs_plan_sampler_init.
 */
cs_status cs_plan_sample(const cs_objective *objective, cs_rng *rng, cs_plan *plan) CS_MUST_CHECK;

/** As cs_plan_sample for training, where a plan should hold as many events as possible: diverse-ar
 * draws a plan of groups of t that contains every t-th prefix at once. The expected weights of the
 * events are those of cs_pairs_of times cs_pairs.predicted under `token` weights. The share is not
 * applied.
 *
 * \retval CS_ERR_USAGE offset-ar, whose events do not form such a plan
 */
cs_status cs_plan_sample_training(const cs_objective *objective, cs_rng *rng,
                                  cs_plan *plan) CS_MUST_CHECK;

/** Receives a plan, borrowed, and its probability. */
typedef cs_status (*cs_plan_visit)(void *ctx, const cs_plan *plan, double probability);

/** Calls `visit` for every plan of the objective, for small lengths. Probabilities sum to 1. A
 * failure of `visit` ends the enumeration and is returned.
 *
 * \retval CS_ERR_USAGE more than `limit` plans; names the number
 */
cs_status cs_plan_enumerate(const cs_objective *objective, int64_t length, int64_t limit,
                            cs_plan_visit visit, void *ctx) CS_MUST_CHECK;
