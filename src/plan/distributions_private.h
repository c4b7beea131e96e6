/* The rows of objectives, and the functions that several of them share. */
#pragma once

#include "plan/pairs.h"
#include "plan/plan.h"
#include "plan/sizes.h"

#define CS_OBJECTIVE_ROW(id, name) extern const cs_objective_row cs_row_##id;
CS_OBJECTIVES(CS_OBJECTIVE_ROW)
#undef CS_OBJECTIVE_ROW

/* The tokens that are given at least: 1 without an empty prefix. */
static inline int64_t cs_least_given(const cs_objective *o)
{
    return o->empty_prefix == CS_PREFIX_NONE;
}

/* Plans visited one after another in `plan`. */
typedef struct cs_enumeration {
    const cs_objective *objective;
    cs_plan plan;
    cs_plan_visit visit;
    void *ctx;
} cs_enumeration;

/* objective.c, parameters.c: parameters and lengths. */
cs_status cs_check_unmasked(const cs_objective *objective) CS_MUST_CHECK;
cs_status cs_check_share(double share);
cs_status cs_check_t(const cs_objective *objective) CS_MUST_CHECK;
cs_status cs_check_offset(const cs_objective *objective) CS_MUST_CHECK;
cs_status cs_check_unmasked_length(const cs_objective *objective, int64_t s) CS_MUST_CHECK;
bool cs_given_unmasked(const cs_objective *objective, int64_t s, int64_t *lo, int64_t *hi);
bool cs_given_any(const cs_objective *objective, int64_t s, int64_t *lo, int64_t *hi);

/* All arrangements of the ascending labels in e->plan, which share `probability` equally; weighted
 * by cs_plan_weigh. */
cs_status cs_visit_arrangements(cs_enumeration *e, double probability) CS_MUST_CHECK;

/* Fills an initialised plan. Weights of groups that are filled already: every token of a group >= 1
 * is predicted, with weight 1 or (mask) an equal share of 1. A plan whose first group is the whole
 * sequence predicts nothing without an empty prefix. */
void cs_plan_weigh(const cs_objective *objective, cs_plan *plan);

/* Groups of a fixed order: `first` positions, then groups of `size`; the first group is given, or
 * predicted from an empty prefix. */
void cs_plan_fixed_groups(const cs_objective *objective, int64_t first, int64_t size,
                          cs_plan *plan);

/* diverse-ar as a uniform choice among F = cs_plan_diverse_firsts() plans; this is number `choice`:
 * groups of t after a first group of choice + 1 (with an empty prefix: choice) given tokens. A
 * group of n tokens has weight F, each token F / n. Every prefix ends a group in one plan of the F,
 * which predicts the next n = min(t, s - i) tokens: in expectation they weigh 1 / n each, LA Eq. 3.
 * All groups but the last are full, so for F = t tokens have weight 1 except the last few. Under
 * `mask` weights are divided by the number of prefixes, so their expected sum is 1. */
int64_t cs_plan_diverse_firsts(const cs_objective *objective, int64_t s);
void cs_plan_diverse(const cs_objective *objective, int64_t choice, cs_plan *plan);

/* pairs.c: exact events into *pairs, whose length is set. The caller frees it, also
 * on failure. Of a plan file; from the distribution of sizes: the invariant form. */
cs_status cs_pairs_of_file(const cs_objective *o, int64_t s, cs_pairs *pairs) CS_MUST_CHECK;
cs_status cs_pairs_of_sizes(const cs_objective *o, int64_t s, cs_pairs *pairs) CS_MUST_CHECK;

/* The sum over all plans, for an objective that has no closed form. CS_ERR_USAGE names the number of
 * plans if it exceeds 2^18. */
cs_status cs_pairs_of_plans(const cs_objective *o, int64_t s, cs_pairs *pairs) CS_MUST_CHECK;

/* A mixture of distributions with weights that are normalised here, into *out, whose length is set:
 * sizes are added to sizes, listed events to listed events. `predicted` and `clamped` are left to
 * the caller; no denominator is known. */
cs_status cs_pairs_mix(const cs_pairs *list, const double *weight, int64_t count,
                       cs_pairs *out) CS_MUST_CHECK;

/* Adds one listed event, in the order of (S, k), if its weight is positive. */
void cs_pairs_add(cs_pairs *pairs, cs_pairs_set set, int64_t target, double weight);

/* Allocates events of prefixes: prefix i is the set {0, i}. Refused beyond 2^28 events or half of free memory. */
cs_status cs_pairs_prefix_alloc(cs_pairs *pairs, int64_t s, double events) CS_MUST_CHECK;

/* sizes.c: distributions of |S|. */
typedef struct cs_size_visitor {
    cs_size_fn visit;
    void *ctx;
} cs_size_visitor;

/* Sizes of no weight are not events. */
static inline bool cs_size_visit(const cs_size_visitor *v, int64_t m, long double c)
{
    return !(c > 0) || v->visit(v->ctx, m, c);
}

cs_status cs_sizes_unmasked(const cs_objective *o, int64_t s, const cs_size_visitor *v,
                            cs_size_facts *facts) CS_MUST_CHECK;

/* Target weights to factors, in place; whether any is not 1. */
bool cs_target_level(int64_t s, double *w);

/* mix.c: shares of the parts at length s, which sum to 1. */
cs_status cs_mix_shares(const cs_objective *o, int64_t s, double *share) CS_MUST_CHECK;

/* A part of positive share, with its parameters at one length and the event weight and empty prefix
 * of the mixture. */
typedef struct cs_mix_at_length {
    double share;
    cs_objective objective;
} cs_mix_at_length;

/* These parts of a mixture that exists at length s. The caller frees *out. */
cs_status cs_mix_at(const cs_objective *o, int64_t s, cs_mix_at_length **out,
                    int64_t *parts) CS_MUST_CHECK;

/* A plan of one target a prefix stands for all prefixes: multiplies its weights by their number. */
void cs_mix_scale(const cs_objective *part, cs_plan *plan);
