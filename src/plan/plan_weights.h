/* Filling plans: shared by the sampler and the enumeration, private to the plan room. All take an
 * initialised plan and write its groups and weights in place. */
#ifndef CS_PLAN_PLAN_WEIGHTS_H
#define CS_PLAN_PLAN_WEIGHTS_H

#include "plan/plan.h"

/* Weights of groups already filled: every token of a group >= 1 is predicted, with weight 1 or
 * (mask) an equal share of 1. A Bernoulli mask of everything predicts nothing without an empty
 * prefix. */
void cs_plan_weigh(const cs_objective *objective, cs_plan *plan);

/* One target from a prefix: groups 0 | 1, weight 1 on the target alone. */
void cs_plan_one_target(cs_plan *plan, int64_t prefix, int64_t target);

/* Groups of a fixed order: `first` positions, then groups of t (group-ar) or 1; the first group is
 * given, or predicted from an empty prefix. */
void cs_plan_fixed_groups(const cs_objective *objective, int64_t first, cs_plan *plan);

/* diverse-ar as a uniform choice of cs_plan_diverse_firsts() plans, number `choice` of them: groups
 * of t after a first group of choice + 1 (with an empty prefix: choice) given tokens. With F plans,
 * a group of n tokens has weight F, each token F / n. Every prefix ends a group in one plan of the
 * F, where the tokens it predicts are the next n = min(t, s - i): in expectation they weigh 1 / n
 * each, LA Eq. 3. All groups but the last are full; so for F = t tokens count 1 but for the last
 * few. Under `mask` weights are divided by the number of prefixes: then their expected sum is 1. */
int64_t cs_plan_diverse_firsts(const cs_objective *objective, int64_t s);
void cs_plan_diverse(const cs_objective *objective, int64_t choice, cs_plan *plan);

/* A plan of a file, its weights scaled to sum to 1 under `mask`. */
void cs_plan_copy_weighted(const cs_objective *objective, const cs_plan *from, cs_plan *plan);

#endif
