/* Group plans: the one idea behind all objectives.
 *
 * A plan gives each position i of a sequence of length s a group f(i) in 0..K, and each position a
 * weight (0: not predicted). Group 0 is given; a token of group k >= 1 is predicted from all
 * earlier groups, tokens of one group independently of each other (GVP Eq. 5 with z_{<=n_{k-1}}; LA
 * Eq. 6). objectives.md.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/rng.h"
#include "base/status.h"
#include "plan/objective.h"

typedef struct cs_plan {
    int64_t length;
    int64_t groups;       /* K: groups are 0..K */
    int32_t *group;       /* f(i), length values */
    double *weight;       /* weight of the event "position i is predicted", length values */
    bool masks;           /* a network of next tokens reads it as mntp (cs_objective_row.masks) */
    const double *factor; /* of uniform target weights (cs_target_factors), by which drawn weights
                             are multiplied: length values, borrowed; NULL: 1 */
} cs_plan;

cs_status cs_plan_init(cs_plan *plan, int64_t length) CS_MUST_CHECK;
void cs_plan_free(cs_plan *plan);

/* Draws a plan of the objective at plan->length into an initialised plan. Under `token` weights
 * every predicted token has weight 1 (batch mean divides by their number), under `mask` the weights
 * sum to 1; one-token-a-prefix objectives (diverse-ar, offset-ar) draw the prefix uniformly and one
 * target by its weight. A plan that predicts nothing (a first group of the whole sequence in
 * group-ar, a Bernoulli mask of nothing, or of everything without an empty prefix) has weights 0.
 * With a share below 1, each weight is set to 0 with probability 1 - share, independently.
 * The expected weight of each (S, k), normalised, is cs_pairs_of(). O(s), no allocation. */
cs_status cs_plan_sample(const cs_objective *objective, cs_rng *rng, cs_plan *plan) CS_MUST_CHECK;

/* The same for training, where one plan should hold as many events as it can: diverse-ar draws a
 * plan of groups of t that serves every t-th prefix at once (plan_weights.h); other objectives are
 * as above. Expected weights of the events (S, k) are cs_pairs_of() times the expected number of
 * predicted tokens (cs_pairs.predicted) under `token` weights. The share is not applied here: a batch
 * must know all masked tokens, and drops predictions itself. CS_ERR_USAGE for offset-ar, whose
 * events are of no such plan: see offsets.h. O(s), no allocation. */
cs_status cs_plan_sample_training(const cs_objective *objective, cs_rng *rng,
                                  cs_plan *plan) CS_MUST_CHECK;

/* Every plan of the objective with its probability, for small lengths: calls visit(ctx, plan,
 * probability). Refuses more than `limit` plans (CS_ERR_USAGE with the number). Probabilities sum
 * to 1. */
typedef cs_status (*cs_plan_visit)(void *ctx, const cs_plan *plan, double probability);
cs_status cs_plan_enumerate(const cs_objective *objective, int64_t length, int64_t limit,
                            cs_plan_visit visit, void *ctx) CS_MUST_CHECK;
