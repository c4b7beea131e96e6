/** \file
 * Objectives: a name and its parameters. An objective is a distribution over group plans
 * (plan/plan.h). The list of all is in plan/objectives.h, their parameters are in
 * plan/parameters.h.
 *
 * Sources: LA = "Look Ahead or Look Around?" (Eq. 3, 5, 6); GVP = "Bridging autoregressive and
 * masked modeling" (3.2, Appendix B). `offset-ar` and `bernoulli-masked` are ours. The equations
 * are in docs/explanation/objectives.md.
 */
#pragma once

#include <stdint.h>

#include "base/status.h"
#include "plan/objectives.h"
#include "plan/parameters.h"

/** \cond INTERNAL */
#define CS_OBJECTIVE_KIND(id, name) CS_OBJ_##id,
/** \endcond */

/** Kind of an objective: a CS_OBJ_... for each row of CS_OBJECTIVES, and their number CS_OBJ_COUNT.
 */
typedef enum { CS_OBJECTIVES(CS_OBJECTIVE_KIND) CS_OBJ_COUNT } cs_objective_kind;
#undef CS_OBJECTIVE_KIND

/** \cond INTERNAL */
#define CS_OBJECTIVE_BAR_NAME(id, name) "|" name
#define CS_OBJECTIVE_NAMES_AND(more) (&CS_OBJECTIVES(CS_OBJECTIVE_BAR_NAME) more[1]) /* NOLINT */
/** \endcond */

/** The names of all objectives, "ar|masked|...": a constant expression. */
#define CS_OBJECTIVE_NAMES CS_OBJECTIVE_NAMES_AND("")

/** The unit of weight of events. */
typedef enum {
    /** Each predicted token. */
    CS_EVENT_TOKEN,
    /** Each plan, whose predicted tokens share it. */
    CS_EVENT_MASK,
} cs_event_weight;

/** Weights of target positions. */
typedef enum {
    /** As the plans give them. */
    CS_TARGETS_PLAN,
    /** Equal for all target positions. */
    CS_TARGETS_UNIFORM,
} cs_target_weight;

/** Distribution of distances of `offset-ar`. */
typedef enum {
    /** Equal up to T. */
    CS_OFFSET_UNIFORM,
    /** Proportional to \f$d^{-A}\f$. */
    CS_OFFSET_POWER,
    /** L for the next token, and 1 - L spread evenly over all tokens that follow. */
    CS_OFFSET_MIX,
} cs_offset_kind;

/** How `gvp` cuts a sequence into groups. */
typedef enum {
    /** Boundaries floor((i+1) s / (K+1)), i = 0..K. */
    CS_SEGMENT_FIXED,
    /** K distinct boundaries drawn uniformly from 1..s-1. */
    CS_SEGMENT_RANDOM,
    /** The last boundary from a normal distribution of mean s/2 and deviation s/10, rounded and clamped
 * into K..s-1; the other K - 1 distinct and uniform below it (GVP, Appendix B).
 */
    CS_SEGMENT_MIXED,
} cs_segmentation;

/** The order in which `gvp` cuts positions into groups. */
typedef enum {
    /** A new uniform permutation for each plan. */
    CS_PERMUTE_UNIFORM,
    /** The order of the sequence. */
    CS_PERMUTE_NONE,
} cs_permutation;

/** Events with an empty conditioning set. */
typedef enum {
    /** They do not exist; the rest is renormalised. */
    CS_PREFIX_NONE,
    /** They exist, and their context is one empty text. */
    CS_PREFIX_SHARED,
    /** They exist, with one empty text for each class (toy model). */
    CS_PREFIX_CLASS,
} cs_empty_prefix;

/** Form of the exact distribution of events (plan/pairs.h). */
typedef enum {
    /** Listed; every set is a prefix. */
    CS_PAIRS_PREFIX,
    /** By sizes alone. */
    CS_PAIRS_INVARIANT,
    /** Listed sets, or a mixture of forms. */
    CS_PAIRS_SETS,
} cs_pairs_form;

/** How a network reads a plan. */
typedef enum {
    /** One stream: row i attends to the groups up to its own and predicts token i + 1. In plans that
 * mask (cs_plan.masks) it attends to every row, and predicted tokens are [MASK].
 */
    CS_ROWS_SHIFTED,
    /** One stream: predicted tokens are [MASK], and every row attends to every row. */
    CS_ROWS_MASKED,
    /** Two streams: a query attends to the groups before its own. */
    CS_ROWS_GROUPS,
    /** Two streams: one drawn target for every prefix. */
    CS_ROWS_PREFIXES,
} cs_objective_reading;

/** The weights of a drawn plan. */
typedef enum {
    /** One target with weight 1: both event weights coincide. */
    CS_WEIGHTS_ONE,
    /** Every plan predicts the same number of tokens. */
    CS_WEIGHTS_EQUAL,
    /** Numbers of predicted tokens differ: 1 for each token, or 1 for each plan that predicts any. */
    CS_WEIGHTS_TOKENS,
    /** The plan has its own weights. */
    CS_WEIGHTS_OWN,
} cs_plan_weighting;

struct cs_plan_file;

/** An objective. Start from cs_objective_default and set the members that it needs. */
typedef struct {
    /** Kind. */
    cs_objective_kind kind;
    /** Unit of weight of events. */
    cs_event_weight event_weight;
    /** Weights of target positions. */
    cs_target_weight target_weight;
    /** Events with an empty conditioning set. */
    cs_empty_prefix empty_prefix;
    /** Share of the predicted tokens of a plan that are kept, in (0, 1]; default 1. */
    double share;
    /** masked, variable-masked: least number of unmasked tokens; -1: by the mask ratio. */
    int64_t unmasked_lo;
    /** The largest number of unmasked tokens. */
    int64_t unmasked_hi;
    /** Least mask ratio rho, in (0, 1); at length s, s - round(rho s) tokens are unmasked, halves
     * rounded up, clamped into 1..s-1. bernoulli-masked: the probability.
     */
    double mask_ratio_lo;
    /** The largest mask ratio. */
    double mask_ratio_hi;
    /** diverse-ar: tokens ahead; group-ar: tokens predicted at once; span-masked: mean length of a
     * span; square-ar: side of a square.
     */
    int64_t t;
    /** offset-ar: the distribution of distances. */
    cs_offset_kind offset;
    /** offset-ar: its parameter T, A or L. */
    double offset_value;
    /** gvp: how groups are cut. */
    cs_segmentation segmentation;
    /** gvp: number K of predicted groups, 1..s-1. */
    int64_t groups;
    /** gvp: the order in which groups are cut. */
    cs_permutation permutation;
    /** block-masked, square-ar: patches in a row of the image; -1: the side of a square. */
    int64_t columns;
    /** file, mix: plans, or parts of the mixture; borrowed. */
    struct cs_plan_file *file;
} cs_objective;

/** \cond INTERNAL */
struct cs_plan;
struct cs_pairs;
struct cs_rng;
struct cs_enumeration;
struct cs_size_visitor;
struct cs_size_facts;

/* The row of an objective. Its functions may assume that the objective is checked and exists at
 * the length; NULL means the stated default.
 */
typedef struct {
    /* Other names, separated by spaces, or NULL. */
    const char *aliases;
    /* One line, with the paper and the equation. */
    const char *summary;
    /* The distribution over plans, in words. */
    const char *plans;
    /* Sentences with details, or NULL. */
    const char *note;
    /* The paper and the equation. */
    const char *source;
    /* Parameters except event-weight and empty-prefix, separated by spaces. */
    const char *takes;
    /* "mask-ratio=0.15": default values in training. */
    const char *trained;
    /* Specifications that exist at some length up to 6, separated by spaces; tests use them. */
    const char *examples;
    /* `unmasked` and `mask-ratio` may be LO:HI. */
    bool range;
    /* Form of the distribution of events. */
    cs_pairs_form shape;
    /* NULL: `shape`, whatever the parameters. */
    cs_pairs_form (*form)(const cs_objective *objective);
    /* How a network reads a plan. */
    cs_objective_reading reads;
    /* With CS_ROWS_SHIFTED: its plans mask. */
    bool masks;
    cs_plan_weighting weighting;
    /* Checks the parameters. */
    cs_status (*check)(const cs_objective *objective);
    /* Checks that the objective exists at length s >= 1. NULL: length >= 2, with an empty prefix
     * >= 1.
     */
    cs_status (*check_length)(const cs_objective *objective, int64_t s);
    /* Fewest and most given tokens of a plan of length s; false: there is no plan. NULL: none or
     * one, by the empty prefix, up to s.
     */
    bool (*given)(const cs_objective *objective, int64_t s, int64_t *lo, int64_t *hi);
    /* Number of plans. */
    cs_status (*count)(const cs_objective *objective, int64_t s, double *count);
    /* All plans, one after another (distributions_private.h). */
    cs_status (*visit)(struct cs_enumeration *e);
    /* Draws the groups of a plan, and its weights where weighting is one, or own without a
     * token_weight. NULL for a mixture: a part is drawn.
     */
    cs_status (*sample)(const cs_objective *objective, struct cs_rng *rng, struct cs_plan *plan);
    /* The same for training. NULL: sample. */
    cs_status (*train)(const cs_objective *objective, struct cs_rng *rng, struct cs_plan *plan);
    /* Weight of each of the n predicted tokens of a plan under `token` weights. NULL: 1. */
    double (*token_weight)(int64_t s, int64_t n);
    /* The exact distribution of events. */
    cs_status (*pairs)(const cs_objective *objective, int64_t s, struct cs_pairs *pairs);
    /* For an invariant shape: the exact distribution of sizes (sizes.h). If both are NULL: the sum
     * over all plans.
     */
    cs_status (*sizes)(const cs_objective *objective, int64_t s,
                       const struct cs_size_visitor *visitor, struct cs_size_facts *facts);
    /* Expected number of predicted tokens, without the share. NULL: the number of tokens that are
     * not given where it is constant, else from the exact distribution.
     */
    cs_status (*predicted)(const cs_objective *objective, int64_t s, double *out);
    /* Probability that a plan predicts any token. NULL: 1. */
    double (*predict_probability)(const cs_objective *objective, int64_t s);
} cs_objective_row;

const cs_objective_row *cs_objective_table(cs_objective_kind kind);
/** \endcond */

/** Name of a kind: "diverse-ar". Static text. */
const char *cs_objective_name(cs_objective_kind kind);

/** Kind by name or alias.
 *
 * \retval CS_ERR_USAGE unknown; suggests the most similar name and lists all
 */
cs_status cs_objective_by_name(const char *name, cs_objective_kind *out) CS_MUST_CHECK;

/** An objective with default parameters: event weights by token, target weights of the plans, no
 * empty prefix, share 1, all else unset (-1, NaN).
 */
cs_objective cs_objective_default(cs_objective_kind kind);

/** Checks the parameters that do not depend on a length.
 *
 * \retval CS_ERR_USAGE a parameter is out of range or missing
 */
cs_status cs_objective_check(const cs_objective *objective) CS_MUST_CHECK;

/** Checks that the objective exists at length s.
 *
 * \retval CS_ERR_USAGE it does not: "masked with 5 unmasked needs length >= 6, got 4". Builders
 *     skip sequences of such a length
 * \retval CS_ERR_INPUT an expression of a plan file is out of range at this length
 */
cs_status cs_objective_check_length(const cs_objective *objective, int64_t s) CS_MUST_CHECK;

/** The same as a truth value: `*out` is false if the objective does not exist at length s, and on
 * failure.
 */
cs_status cs_objective_exists(const cs_objective *objective, int64_t s, bool *out) CS_MUST_CHECK;

/** The inclusive range of the number of unmasked tokens at length s, for objectives with `unmasked`
 * or a mask ratio. A ratio that rounds to 0 or s masked tokens is clamped into 1..s-1.
 *
 * \retval CS_ERR_USAGE `unmasked` is out of range at this length
 */
cs_status cs_objective_unmasked(const cs_objective *objective, int64_t s, int64_t *lo,
                                int64_t *hi) CS_MUST_CHECK;

/** Part j of a mixture, borrowed; NULL after the last part, and for other objectives. */
const cs_objective *cs_objective_part(const cs_objective *objective, int64_t j);

/** Whether the number of masked tokens follows from a mask ratio that is the same at every length;
 * false for a mixture, and for a part of it whose ratio is an expression of the length. */
bool cs_objective_has_ratio(const cs_objective *objective);

/** Whether cs_objective_unmasked clamps an end of the range at length s, so that the number of
 * unmasked tokens is not s - round(rho s). False for `unmasked` and other objectives. `*which`
 * receives the objective, or the first part of a mixture that is clamped.
 */
bool cs_objective_clamps(const cs_objective *objective, int64_t s, cs_objective *which);

/** Fewest and most given tokens of any plan of length s; false if the objective does not exist
 * there.
 */
bool cs_objective_given(const cs_objective *objective, int64_t s, int64_t *lo, int64_t *hi);

/** Form of the distribution of events; of a mixture, the form that its parts have in common. */
cs_pairs_form cs_objective_shape(const cs_objective *objective);

/** How a network reads plans of the objective; of a mixture, the reading that its parts have in
 * common.
 */
cs_objective_reading cs_objective_reads(const cs_objective *objective);

/** How many parts of an objective have plans that mask. */
typedef enum {
    /** None. */
    CS_MASKS_NONE,
    /** Some parts of a mixture. */
    CS_MASKS_SOME,
    /** All. */
    CS_MASKS_ALL,
} cs_objective_masking;

/** Whether plans of the objective mask, with CS_ROWS_SHIFTED. */
cs_objective_masking cs_objective_masks(const cs_objective *objective);

/** Sets the number of patches in a row of the image for an objective, or parts of a mixture (in its
 * file), that is defined in the plane.
 *
 * \param objective changed in place
 * \param columns patches in a row
 * \param planar receives the name of such an objective; NULL if there is none
 * \retval CS_ERR_USAGE the objective requests another number
 */
cs_status cs_objective_grid(cs_objective *objective, int64_t columns,
                            const char **planar) CS_MUST_CHECK;

/** Probability that a plan of length s predicts any token. */
double cs_objective_predict_probability(const cs_objective *objective, int64_t s);

/** The specification of an objective, "masked(unmasked=2)", as plan/spec.h reads it: all
 * parameters, but event-weight, target-weight, empty-prefix, permutation and share only where they
 * differ from the default. Free it with cs_free; NULL if memory is exhausted.
 */
char *cs_objective_describe(const cs_objective *objective) CS_MUST_CHECK;
