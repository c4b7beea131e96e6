/* Objectives of the user's own: plans with probabilities from a JSON file.
 *
 *   {"plans": [{"probability": 0.5, "groups": [0, 0, 1, 2], "weights": [0, 0, 1, 1]}, ...]}
 *
 * `groups` are f(i) >= 0, every group 0..K used (group 0 may be empty only with an empty prefix);
 * `weights` default to 1 for groups >= 1 and 0 for group 0 (a positive weight in group 0 is an
 * error). Plans of several lengths may be in one file; probabilities are normalised per length.
 * Under --event-weight token the weights count as they are; under mask every plan's weights are
 * scaled to sum to 1.
 */
#pragma once

#include "base/status.h"
#include "plan/plan.h"

enum { CS_MIX_PARTS = 1024 }; /* most parts of a mixture */

typedef struct cs_plan_file {
    char *path;
    int64_t plans;
    cs_plan *plan;       /* plans */
    double *probability; /* plans; sums to 1 over the plans of each length */
    int64_t empty_given; /* number (from 1) of the first plan whose group 0 is empty; 0: none */
    /* Of a mixture (spec.h), which has no plans of its own: its objectives and their shares, which
     * sum to 1. */
    int64_t parts;
    cs_objective *part;
    double *share;
} cs_plan_file;

/* CS_ERR_INPUT names the file, the plan, and the value with its position ("plans.json: plan 3:
 * weight -1 of position 2 is negative"); plans and positions are counted from 1 in messages. */
cs_status cs_plan_file_read(const char *path, cs_plan_file *out) CS_MUST_CHECK;
void cs_plan_file_free(cs_plan_file *file);
