/* From sequences to what a network reads: tokens, positions, masks, targets and weights, drawn from
 * the objective's plan. Built on the host, the same for every backend, and a function of (seed,
 * step, row) for each sequence, whatever else is in the batch.
 *
 *   ar                        single      row i sees 0..i and predicts token i + 1. With a shared
 *                                         empty prefix a begin token comes first and the last token
 *                                         is only a target
 *   mntp                      single      the same rows, masked tokens as [MASK], every row sees every
 *                                         row; with ar and prefix-lm in one network, by the plan that
 *                                         is drawn. With a shared empty prefix the last token is read
 *                                         too, one row more
 *   masked, variable-masked,  single      masked tokens become [MASK] (or keep / random shares);
 *   bernoulli-masked                      every row sees every row
 *   group-ar, permuted-ar,    two-stream  content rows see groups <= f(i); one query row a
 *   gvp, file                             predicted token, at its position, sees groups < f(i)
 *   diverse-ar t              two-stream  the same: first group 1..t, groups of t, events weighted
 *                                         as LA Eq. 3 (plan.h, cs_plan_sample_training)
 *   diverse-ar t, in a model  single      the rows of ar; row i predicts the next t tokens, each by the
 *   with heads of offsets                 head of its offset, which share its weight (LA Eq. 3)
 *   offset-ar w               two-stream  causal content; for each prefix one distance d ~ w: a
 *                                         query row at the d-th position after it that sees it
 *   any, if requested         two-stream  the same over the groups of its plans; of masked
 *                                         objectives the content rows are the unmasked tokens
 *   masked with a decoder     mae         encoder rows: the unmasked tokens and a share delta of
 *                                         the [MASK]s; decoder rows by its kind of attention
 *   any, architecture linear  linear      one query row a conditioning set (group with predicted
 *                                         tokens; offset-ar: prefix), read by all its events
 *
 * Queries of a blind model (cs_model_config.blind_queries) have no position: there, as in the linear
 * form, a conditioning set is one query row.
 *
 * An empty conditioning set (shared empty prefix) is a query row that sees nothing.
 *
 * Event weights: `token`, each predicted token counts 1 (offset-ar and diverse-ar: each prefix
 * counts 1); `mask`, the expected weights of one sequence sum to 1 (objectives.md). Up to a factor a
 * sequence, the expected weight of (S, k) is cs_pairs_of().
 */
#pragma once

#include <stdint.h>

#include "base/status.h"
#include "model/network_input.h"
#include "plan/objective.h"

/* Shares of the masked tokens that a model reads: single and mae forms of the masked family. */
typedef struct {
    cs_objective objective;
    bool two_stream; /* also if the objective has a form of one stream */
    /* Left as they are, replaced by random tokens (BERT 0.1, 0.1); the others become [MASK]. */
    double keep, random;
    /* mae only; 0 and false elsewhere. */
    double delta; /* share of masked tokens kept in the encoder */
    /* The decoder takes its mask vector, not the encoder's row, at those that are [MASK]. */
    bool decoder_resets;
    bool misaligned; /* encoder positions 0, 1, 2, ... over the rows that are left */
} cs_task;

/* Members that have the names of their options. */
#define CS_TASK_SETTINGS keep, random, delta, decoder_resets, misaligned

/* One training sequence, borrowed. `row` is its number within the step (over all micro-batches). */
typedef struct {
    const int32_t *token; /* targets and, without `real`, the input */
    int64_t length, row;
    const float *real; /* length x real_width: read in place of the ids; NULL: the ids */
    /* extra_width: also read by the class token, for models that need it */
    const float *extra;
} cs_example;

/* The form of an objective in a model. */
cs_form cs_form_of(const cs_task *task, const cs_model_config *config);

/* 1 if a text may take one row more than it has tokens: a begin token before one that is read to
 * its end (mntp with an empty prefix); else 0. */
int64_t cs_task_begins(const cs_task *task, const cs_model_config *config);

/* "on" or "off": whether the queries of two streams know their positions; NULL: no two streams. */
const char *cs_task_query_position(const cs_task *task, const cs_model_config *config);

/* Whether the model can be trained so. CS_ERR_USAGE: an objective out of its range; an empty prefix
 * of class; a decoder with an objective that does not mask; two streams requested for a model with
 * a decoder or linear attention; shares outside [0, 1], or given without effect; a special token
 * that the model needs and lacks. */
cs_status cs_task_check(const cs_task *task, const cs_model_config *config) CS_MUST_CHECK;

/* For an image model: block masks use its grid. CS_ERR_USAGE: another grid was requested, or its
 * patches are not in the order of rows (which is irrelevant for masks). */
cs_status cs_task_pictures(const cs_model_config *config, cs_task *task) CS_MUST_CHECK;

/* Sizes that hold any batch of `batch` sequences of at most `length` tokens; the other members of
 * *out (loss, training, ...) are left as they are. CS_ERR_USAGE as cs_task_check, and when `length`
 * exceeds the model's positions. */
cs_status cs_task_sizes(const cs_task *task, const cs_model_config *config, int64_t batch,
                        int64_t length, cs_network_options *out) CS_MUST_CHECK;

/* Identity of a batch. pad_to: sizes of cs_task_sizes, for a device that replays one shape; NULL:
 * the largest of the batch. `step` below 2^43. */
typedef struct {
    const cs_task *task;
    const cs_model_config *config;
    uint64_t seed;
    int64_t step;
    const cs_network_options *pad_to;
} cs_batch_order;

/* Draws plans and builds. An example too short for the objective, or whose plan predicts nothing,
 * has no loss rows; there is at least one row of each kind, padding if need be. Rows of examples
 * are below 2^20. O(tokens) time and memory except for the drawing of offsets (plan/offsets.h).
 * CS_ERR_USAGE as cs_task_check; a length beyond the model's positions; more than pad_to holds; a
 * step or row out of range. CS_ERR_INPUT names a token out of range. CS_ERR_MEMORY. */
cs_status cs_batch_build(const cs_batch_order *order, const cs_example *example, int64_t count,
                         cs_batch *out) CS_MUST_CHECK;

/* The same with given plans, one for each example of its length, in place of drawn ones. */
struct cs_plan;
cs_status cs_batch_of_plans(const cs_batch_order *order, const struct cs_plan *plan,
                            const cs_example *example, int64_t count, cs_batch *out) CS_MUST_CHECK;
