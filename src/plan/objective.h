/* Objectives: a name and its parameters. An objective is a distribution over group plans (plan.h);
 * this header is its user-facing form, with one table that says which parameters each objective
 * takes.
 *
 * Objectives of the papers: LA = Look Ahead or Look Around? (Eq. 3, 5, 6), GVP = Bridging
 * autoregressive and masked modeling (3.2, App. B); `offset-ar` and `bernoulli-masked` are ours.
 */
#ifndef CS_PLAN_OBJECTIVE_H
#define CS_PLAN_OBJECTIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

typedef enum {
    CS_OBJ_AR,
    CS_OBJ_MASKED,
    CS_OBJ_VARIABLE_MASKED,
    CS_OBJ_BERNOULLI_MASKED, /* every token masked with probability rho, independently */
    CS_OBJ_DIVERSE_AR,
    CS_OBJ_OFFSET_AR,
    CS_OBJ_GROUP_AR,
    CS_OBJ_PERMUTED_AR,
    CS_OBJ_GVP,
    CS_OBJ_FILE, /* plans from a file (plan_file.h) */
    CS_OBJ_COUNT,
} cs_objective_kind;

typedef enum { CS_EVENT_TOKEN, CS_EVENT_MASK } cs_event_weight; /* theory 1: event weights */
typedef enum { CS_OFFSET_UNIFORM, CS_OFFSET_POWER, CS_OFFSET_MIX } cs_offset_kind;
typedef enum { CS_SEGMENT_FIXED, CS_SEGMENT_RANDOM, CS_SEGMENT_MIXED } cs_segmentation;
typedef enum { CS_PREFIX_NONE, CS_PREFIX_SHARED, CS_PREFIX_CLASS } cs_empty_prefix;

struct cs_plan_file;

typedef struct {
    cs_objective_kind kind;
    cs_event_weight event_weight;
    cs_empty_prefix empty_prefix; /* none: events with an empty conditioning set do not exist */
    /* masked, variable-masked: number of unmasked tokens; -1: use mask_ratio. */
    int64_t unmasked_lo, unmasked_hi;
    /* Resolved per length s: unmasked = s - round(rho s), half away from zero, in 1..s-1. */
    double mask_ratio_lo, mask_ratio_hi;
    int64_t t;                    /* diverse-ar, group-ar */
    cs_offset_kind offset;        /* offset-ar */
    double offset_value;          /* uniform: T, power: A, mix: L */
    cs_segmentation segmentation; /* gvp */
    int64_t groups;               /* gvp: K predicted groups, 1 <= K <= s-1 */
    struct cs_plan_file *file;    /* CS_OBJ_FILE: borrowed */
} cs_objective;

/* What the table says of one objective. */
typedef struct {
    const char *name;           /* "diverse-ar" */
    const char *summary;        /* one line, with the paper and equation */
    bool fixed_order;           /* S is always a prefix */
    bool permutation_invariant; /* S is uniform given its size */
    /* A number of unmasked tokens or a mask ratio; bernoulli-masked: a ratio. */
    bool wants_unmasked;
    bool wants_t, wants_offset, wants_segmentation;
} cs_objective_info;

const cs_objective_info *cs_objective_table(cs_objective_kind kind);

/* Kind by name; CS_ERR_USAGE lists the known names. */
cs_status cs_objective_by_name(const char *name, cs_objective_kind *out) CS_MUST_CHECK;

/* Defaults: token weights, no empty prefix, everything else unset (-1, NaN). */
cs_objective cs_objective_default(cs_objective_kind kind);

/* Parsers of the option values "M" or "LO:HI", "RHO" or "LO:HI", "uniform:T|power:A|mix:L". */
cs_status cs_objective_parse_unmasked(const char *text, cs_objective *objective) CS_MUST_CHECK;
cs_status cs_objective_parse_mask_ratio(const char *text, cs_objective *objective) CS_MUST_CHECK;
cs_status cs_objective_parse_offset(const char *text, cs_objective *objective) CS_MUST_CHECK;

/* Checks the parameters that do not depend on a length: ranges, and that those the objective needs
 * are given. */
cs_status cs_objective_check(const cs_objective *objective) CS_MUST_CHECK;

/* Checks that the objective exists at length s ("masked with 5 unmasked needs length >= 6, got 4").
 */
cs_status cs_objective_check_length(const cs_objective *objective, int64_t s) CS_MUST_CHECK;

/* The range of the number of unmasked tokens at length s, inclusive (masked and variable-masked).
 * For a mask ratio that rounds to 0 or s masked tokens it is clamped into 1..s-1; for `--unmasked`
 * out of range it fails. */
cs_status cs_objective_unmasked(const cs_objective *objective, int64_t s, int64_t *lo,
                                int64_t *hi) CS_MUST_CHECK;

/* Whether cs_objective_unmasked clamps an end of the range at length s: then the number of unmasked
 * tokens is not s - round(rho s). False for `--unmasked` and other objectives. */
bool cs_objective_clamps(const cs_objective *objective, int64_t s);

/* "masked unmasked=2 event-weight=token", in fresh memory. */
char *cs_objective_describe(const cs_objective *objective) CS_MUST_CHECK;

#endif
