/* Schedules of objectives: one after another, or alternating.
 *
 *   "ar until 0.4, masked(mask-ratio=0.4)"   step n of N has the first phase with n <= round(SHARE N);
 *                                            the last one has no share (CLM then MLM: arXiv 2507.00994)
 *   "ar for 4, masked for 8"                 that number of steps each, repeated (AntLM, arXiv 2412.03275)
 *
 * A phase is a specification (plan/spec.h), with the values of training for parameters that are not
 * given, or multi-token(t=4): diverse-ar with one head for each offset, for a model that has these
 * heads (cs_model_config). A schedule is not a distribution of events, and only training accepts
 * one: evaluation of a model, and the limit of its outputs, use the objective of its last phase;
 * mix:... is the distribution of both. */
#pragma once

#include "base/status.h"
#include "plan/plan_file.h"
#include "train/batch.h"

enum { CS_PHASES_MOST = 16 };

typedef struct cs_phases {
    int64_t count;           /* 0: no schedule */
    cs_objective *objective; /* count */
    cs_plan_file *file;      /* count: parts of mixtures, plans of files */
    double *until;           /* count: shares of the steps, rising, the last 1 */
    int64_t *steps;          /* count: steps of alternation; all 0 if there are shares */
    int64_t *heads;          /* count: offsets of multi-token; else 0 */
    int64_t ahead;           /* the largest number of them */
} cs_phases;

/* Whether a text contains " until " or " for ", which no specification does, or is
 * multi-token(...). */
bool cs_phases_are(const char *text);

/* CS_ERR_USAGE names the phase: a missing or unknown objective, shares that do not ascend within
 * (0, 1), a last one with a share or another without, both words, more than CS_PHASES_MOST,
 * diverse-ar without heads together with multi-token. */
cs_status cs_phases_read(const char *text, cs_phases *out) CS_MUST_CHECK;
void cs_phases_free(cs_phases *phases); /* accepts a zeroed object */

/* For an image model, as cs_task_pictures; CS_ERR_USAGE names the phase. */
cs_status cs_phases_pictures(const cs_model_config *config, cs_phases *phases) CS_MUST_CHECK;

/* The phase of step `step` (from 1) of `steps`. */
int64_t cs_phases_at(const cs_phases *phases, int64_t steps, int64_t step);

/* Whether any of `steps` steps is of phase `at`. */
bool cs_phases_reached(const cs_phases *phases, int64_t steps, int64_t at);

/* The task with the objective of phase `at`. Shares of masked tokens kept and replaced apply to the
 * phases that read some. */
cs_task cs_phases_task(const cs_phases *phases, int64_t at, const cs_task *task,
                       const cs_model_config *config);

/* The text in the form of cs_phases_read, in fresh memory; NULL when out of memory. */
char *cs_phases_describe(const cs_phases *phases) CS_MUST_CHECK;

/* Sizes of the tasks of all phases: the largest. CS_ERR_USAGE as cs_task_sizes, naming the phase;
 * if they are of different forms; shares of masked tokens that no phase reads. */
cs_status cs_phases_sizes(const cs_phases *phases, const cs_task *task,
                          const cs_model_config *config, int64_t batch, int64_t length,
                          cs_network_options *out) CS_MUST_CHECK;
