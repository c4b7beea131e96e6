/* Objectives: a name and its parameters. An objective is a distribution over group plans (plan.h);
 * this header is its user-facing form. The list of all is in objectives.h, their parameters in
 * parameters.h.
 *
 * Objectives of the papers: LA = Look Ahead or Look Around? (Eq. 3, 5, 6), GVP = Bridging
 * autoregressive and masked modeling (3.2, App. B); `offset-ar` and `bernoulli-masked` are ours.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "plan/objectives.h"
#include "plan/parameters.h"

#define CS_OBJECTIVE_KIND(id, name) CS_OBJ_##id,
typedef enum { CS_OBJECTIVES(CS_OBJECTIVE_KIND) CS_OBJ_COUNT } cs_objective_kind;
#undef CS_OBJECTIVE_KIND

/* The names "ar|masked|...", and more after them: constant expressions. */
#define CS_OBJECTIVE_BAR_NAME(id, name) "|" name
#define CS_OBJECTIVE_NAMES_AND(more) (&CS_OBJECTIVES(CS_OBJECTIVE_BAR_NAME) more[1]) /* NOLINT */
#define CS_OBJECTIVE_NAMES CS_OBJECTIVE_NAMES_AND("")

typedef enum { CS_EVENT_TOKEN, CS_EVENT_MASK } cs_event_weight;        /* objectives.md */
typedef enum { CS_TARGETS_PLAN, CS_TARGETS_UNIFORM } cs_target_weight; /* objectives.md */
typedef enum { CS_OFFSET_UNIFORM, CS_OFFSET_POWER, CS_OFFSET_MIX } cs_offset_kind;
typedef enum { CS_SEGMENT_FIXED, CS_SEGMENT_RANDOM, CS_SEGMENT_MIXED } cs_segmentation;
typedef enum { CS_PERMUTE_UNIFORM, CS_PERMUTE_NONE } cs_permutation;
typedef enum { CS_PREFIX_NONE, CS_PREFIX_SHARED, CS_PREFIX_CLASS } cs_empty_prefix;

/* The form of the exact event law (pairs.h). */
typedef enum {
    CS_PAIRS_PREFIX,    /* listed, all sets are prefixes */
    CS_PAIRS_INVARIANT, /* sizes alone */
    CS_PAIRS_SETS       /* listed sets, or a mixture of forms */
} cs_pairs_form;

/* How a network reads a plan (train/batch.h). */
typedef enum {
    CS_READS_NEXT,   /* one stream: row i sees the groups up to its own and predicts token i + 1; in
                         plans that mask (cs_plan.masks) it sees every row, and predicted tokens are
                         [MASK] */
    CS_READS_MASKS,  /* one stream: predicted tokens are [MASK], every row sees every row */
    CS_READS_GROUPS, /* two streams: a query sees the groups before its own */
    CS_READS_PREFIXES /* two streams: one drawn target for every prefix (offsets.h) */
} cs_objective_reading;

/* The weights of a drawn plan (plan.h). */
typedef enum {
    CS_WEIGHTS_ONE,    /* one target, of weight 1: both event weights are one */
    CS_WEIGHTS_EQUAL,  /* every plan predicts the same number of tokens */
    CS_WEIGHTS_TOKENS, /* numbers differ: 1 a token, or 1 a plan that predicts anything */
    CS_WEIGHTS_OWN     /* the plan has weights of its own */
} cs_plan_weighting;

struct cs_plan_file;

typedef struct {
    cs_objective_kind kind;
    cs_event_weight event_weight;
    cs_target_weight target_weight; /* uniform: every target position counts alike (targets.c) */
    cs_empty_prefix empty_prefix;   /* none: events with an empty conditioning set do not exist */
    double share; /* of the predicted tokens of a plan that are kept, in (0, 1] (plan.h) */
    /* masked, variable-masked: number of unmasked tokens; -1: use mask_ratio. */
    int64_t unmasked_lo, unmasked_hi;
    /* Resolved per length s: unmasked = s - cs_ratio_masked(rho, s) (ratio.h). */
    double mask_ratio_lo, mask_ratio_hi;
    int64_t t;                    /* diverse-ar, group-ar; square-ar: a side */
    cs_offset_kind offset;        /* offset-ar */
    double offset_value;          /* uniform: T, power: A, mix: L */
    cs_segmentation segmentation; /* gvp */
    int64_t groups;               /* gvp: K predicted groups, 1 <= K <= s-1 */
    cs_permutation permutation;   /* gvp: the order that its groups are cut in */
    int64_t columns;              /* block-masked, square-ar: patches of a row, -1: of a square */
    struct cs_plan_file *file;    /* plans of a file, parts of a mixture: borrowed */
} cs_objective;

struct cs_plan;
struct cs_pairs;
struct cs_rng;
struct cs_enumeration;
struct cs_size_visitor;
struct cs_size_facts;

/* The row of an objective. Functions may take it for granted that the objective is checked and
 * exists at the length; those that are NULL have the default that is said. */
typedef struct {
    const char *aliases; /* other names, separated by blanks, or NULL */
    const char *summary; /* one line, with the paper and equation */
    const char *plans;   /* the distribution over plans, in some words */
    const char *note;    /* sentences with its details, or NULL */
    const char *source;
    const char *takes;   /* parameters except event-weight and empty-prefix, separated by blanks */
    const char *trained; /* "mask-ratio=0.15": their values in training where none are given */
    const char
        *examples; /* specifications that exist at some length up to 6, parted by blanks: what
                             reads objectives is tested on them */
    bool range;    /* unmasked and mask-ratio may be LO:HI */
    cs_pairs_form shape;
    cs_pairs_form (*form)(const cs_objective *objective); /* NULL: shape, whatever the parameters */
    cs_objective_reading reads;
    bool masks; /* CS_READS_NEXT: its plans mask */
    cs_plan_weighting weighting;
    /* Parameters; those that the objective exists with at length s >= 1 (NULL: length >= 2, with an
     * empty prefix 1). */
    cs_status (*check)(const cs_objective *objective);
    cs_status (*check_length)(const cs_objective *objective, int64_t s);
    /* Fewest and most given tokens of a plan of length s; false: there is none. NULL: none or one,
     * by the empty prefix, up to s. */
    bool (*given)(const cs_objective *objective, int64_t s, int64_t *lo, int64_t *hi);
    /* Number of plans, and all of them one after another (laws_private.h). */
    cs_status (*count)(const cs_objective *objective, int64_t s, double *count);
    cs_status (*visit)(struct cs_enumeration *e);
    /* Groups of a plan (weights too where weighting is one, or own without a token_weight); for
     * training (NULL: sample). */
    cs_status (*sample)(const cs_objective *objective, struct cs_rng *rng, struct cs_plan *plan);
    cs_status (*train)(const cs_objective *objective, struct cs_rng *rng, struct cs_plan *plan);
    /* Weight of each of the n predicted tokens of a plan under `token` weights. NULL: 1. */
    double (*token_weight)(int64_t s, int64_t n);
    /* The exact law: of events, or for an invariant shape of sizes (sizes.h); neither: the sum over
     * all plans. */
    cs_status (*pairs)(const cs_objective *objective, int64_t s, struct cs_pairs *pairs);
    cs_status (*sizes)(const cs_objective *objective, int64_t s,
                       const struct cs_size_visitor *visitor, struct cs_size_facts *facts);
    /* Expected number of predicted tokens. NULL: what is not given where that is one number, else
     * from the exact law. */
    cs_status (*predicted)(const cs_objective *objective, int64_t s, double *out);
    /* Probability that a plan predicts anything. NULL: 1. */
    double (*speaks)(const cs_objective *objective, int64_t s);
} cs_objective_row;

const cs_objective_row *cs_objective_table(cs_objective_kind kind);
const char *cs_objective_name(cs_objective_kind kind); /* "diverse-ar" */

/* Kind by name or alias; CS_ERR_USAGE suggests the nearest name and lists the known ones. */
cs_status cs_objective_by_name(const char *name, cs_objective_kind *out) CS_MUST_CHECK;

/* Defaults: token weights, target weights of the plans, no empty prefix, everything else unset (-1, NaN). */
cs_objective cs_objective_default(cs_objective_kind kind);

/* Checks the parameters that do not depend on a length: ranges, and that those the objective needs
 * are given. */
cs_status cs_objective_check(const cs_objective *objective) CS_MUST_CHECK;

/* Checks that the objective exists at length s ("masked with 5 unmasked needs length >= 6, got 4"):
 * CS_ERR_USAGE where it does not, so that a text of this length is left out; CS_ERR_INPUT where a
 * plan file has an expression that is out of range there. */
cs_status cs_objective_check_length(const cs_objective *objective, int64_t s) CS_MUST_CHECK;

/* The same as an answer: false where it does not exist, and on failure. */
cs_status cs_objective_exists(const cs_objective *objective, int64_t s, bool *out) CS_MUST_CHECK;

/* The range of the number of unmasked tokens at length s, inclusive, for objectives that fix it by
 * --unmasked or a mask ratio. For a ratio that rounds to 0 or s masked tokens it is clamped into
 * 1..s-1; for `--unmasked` out of range it fails. */
cs_status cs_objective_unmasked(const cs_objective *objective, int64_t s, int64_t *lo,
                                int64_t *hi) CS_MUST_CHECK;

/* Part j of a mixture; NULL behind the last, and for other objectives. */
const cs_objective *cs_objective_part(const cs_objective *objective, int64_t j);

/* Whether the number of masked tokens follows from a mask ratio; false for a mixture. */
bool cs_objective_has_ratio(const cs_objective *objective);

/* Whether cs_objective_unmasked clamps an end of the range at length s: then the number of unmasked
 * tokens is not s - round(rho s). False for `--unmasked` and other objectives. *which receives the
 * objective, or of a mixture the first part that does. */
bool cs_objective_clamps(const cs_objective *objective, int64_t s, cs_objective *which);

/* Fewest and most given tokens of any plan of length s; false where the objective does not exist.
 */
bool cs_objective_given(const cs_objective *objective, int64_t s, int64_t *lo, int64_t *hi);

/* cs_objective_row.form or .shape, and .reads; of a mixture, what its parts have in common. */
cs_pairs_form cs_objective_shape(const cs_objective *objective);
cs_objective_reading cs_objective_reads(const cs_objective *objective);

/* cs_objective_row.masks: of no part, of some parts of a mixture, of all. */
typedef enum { CS_MASKS_NONE, CS_MASKS_SOME, CS_MASKS_ALL } cs_objective_masking;
cs_objective_masking cs_objective_masks(const cs_objective *objective);

/* Gives what has its groups in the plane (`columns`), the objective or parts of a mixture (in its
 * file), the grid of pictures with so many patches a row; *planar: the name of such a one, NULL: there
 * is none. CS_ERR_USAGE: another grid was asked for. */
cs_status cs_objective_grid(cs_objective *objective, int64_t columns,
                            const char **planar) CS_MUST_CHECK;

/* Probability that a plan of length s predicts anything. */
double cs_objective_speaks(const cs_objective *objective, int64_t s);

/* "masked(unmasked=2)", as spec.h reads it, in fresh memory: all parameters, and of event-weight,
 * target-weight, empty-prefix, permutation and share those that are not the default. */
char *cs_objective_describe(const cs_objective *objective) CS_MUST_CHECK;
