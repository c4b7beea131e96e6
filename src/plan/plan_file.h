/* Objectives of the user's own, from a JSON file: plans with their probabilities, or a mixture of
 * objectives whose shares and parameters are expressions in the length (docs/reference/plan-files.md).
 *
 *   {"plans": [{"probability": 0.5, "groups": [0, 0, 1, 2], "weights": [0, 0, 1, 1]}, ...]}
 *   {"mixture": [{"share": "1/s", "objective": "masked", "parameters": {"mask-ratio": "2/s"}}, ...]}
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

enum { CS_MIX_PARTS = 1024 }; /* most parts of a mixture, groups of them included */

typedef struct cs_plan_file {
    char *path;
    int64_t plans;
    cs_plan *plan;       /* plans */
    double *probability; /* plans; sums to 1 over the plans of each length */
    int64_t empty_given; /* number (from 1) of the first plan whose group 0 is empty; 0: none */
    /* Of a mixture, which has no plans of its own (mix_private.h). */
    int64_t parts, room;
    struct cs_mix_part *part;
    bool varies; /* with the length, beyond what its objectives do */
    /* All files that were read for it. */
    int64_t inputs, input_room;
    char **input;
    struct json_t *source; /* the object, the contents of files within it included */
} cs_plan_file;

/* CS_ERR_INPUT names the file, the plan, and the value with its position ("plans.json: plan 3:
 * weight -1 of position 2 is negative"); plans and positions are counted from 1 in messages. */
cs_status cs_plan_file_read(const char *path, cs_plan_file *out) CS_MUST_CHECK;
void cs_plan_file_free(cs_plan_file *file);

/* A mixture from its array "mixture" (json_t), which is kept and receives the contents of the files
 * in it, so that it holds all. `path` is that of the file that it is from, which is not read; NULL:
 * of a command line, whose defects are CS_ERR_USAGE. */
cs_status cs_plan_file_mixture(struct json_t *parts, const char *path,
                               cs_plan_file *out) CS_MUST_CHECK;

/* The same array, borrowed; NULL of a list of plans. */
struct json_t *cs_plan_file_parts(const cs_plan_file *file);

/* The sum of the shares of a mixture's parts within part `above` (-1: of the whole), before they are
 * divided by it; NaN where one varies with the length. */
double cs_plan_file_sum(const cs_plan_file *file, int64_t above);

/* The plans of an objective `file`, which becomes `mix` where the file holds a mixture. What was
 * read before (file->source) is not read again. */
cs_status cs_objective_of_file(const char *path, cs_plan_file *file,
                               cs_objective *objective) CS_MUST_CHECK;

/* A digest of all that was read from files, "" where nothing was. */
cs_status cs_plan_file_digest(const cs_plan_file *file, char hex[65]) CS_MUST_CHECK;
