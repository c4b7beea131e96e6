/** \file
 * User-defined objectives from a JSON file: plans with probabilities, or a mixture of objectives
 * whose shares and parameters are expressions in the length (docs/reference/plan-files.md).
 *
 * \code
 * {"plans": [{"probability": 0.5, "groups": [0, 0, 1, 2], "weights": [0, 0, 1, 1]}, ...]}
 * {"mixture": [{"share": "1/s", "objective": "masked", "parameters": {"mask-ratio": "2/s"}}, ...]}
 * \endcode
 *
 * `groups` are f(i) >= 0, and every group 0..K occurs (group 0 may be empty only with an empty
 * prefix). `weights` default to 1 for groups >= 1 and to 0 for group 0; a positive weight in group
 * 0 is an error. A file may hold plans of several lengths; probabilities are normalised for each
 * length. With event weights by token the weights count as they are; with weights by mask those of
 * every plan are scaled to sum to 1.
 */
#pragma once

#include "plan/plan.h"

enum {
    /** Most parts of a mixture, nested ones included. */
    CS_MIX_PARTS = 1024,
};

/** The content of a plan file. Free it with cs_plan_file_free. */
typedef struct cs_plan_file {
    /** Path of the file, owned. */
    char *path;
    /** Number of plans; 0 for a mixture. */
    int64_t plans;
    /** plans: the plans. */
    cs_plan *plan;
    /** plans: probabilities, which sum to 1 over the plans of each length. */
    double *probability;
    /** Number (from 1) of the first plan whose group 0 is empty; 0: none. */
    int64_t empty_given;
    /** Number of parts of a mixture. */
    int64_t parts;
    /** Capacity of `part`. */
    int64_t capacity;
    /** The parts; opaque. */
    struct cs_mix_part *part;
    /** The mixture depends on the length beyond what its objectives do. */
    bool varies;
    /** Number of files that were read for it. */
    int64_t inputs;
    /** Capacity of `input`. */
    int64_t input_capacity;
    /** Their paths. */
    char **input;
    /** The JSON object, with the contents of the files it refers to. */
    struct json_t *source;
} cs_plan_file;

/** Reads a plan file.
 *
 * \retval CS_ERR_INPUT invalid; names file, plan and value with its position ("plans.json: plan 3:
 *     weight -1 of position 2 is negative"), counted from 1
 * \retval CS_ERR_IO the file cannot be read
 */
cs_status cs_plan_file_read(const char *path, cs_plan_file *out) CS_MUST_CHECK;

/** Frees the content; accepts a zeroed object. */
void cs_plan_file_free(cs_plan_file *file);

/** A mixture from its JSON array "mixture". The array is kept, and the contents of the files it
 * refers to are added to it.
 *
 * \param parts the array
 * \param path the file it comes from, for messages; NULL: a command line, whose faults are
 *     CS_ERR_USAGE
 * \param out receives the mixture
 */
cs_status cs_plan_file_mixture(struct json_t *parts, const char *path,
                               cs_plan_file *out) CS_MUST_CHECK;

/** The JSON array of a mixture, borrowed; NULL for a list of plans. */
struct json_t *cs_plan_file_parts(const cs_plan_file *file);

/** Sum of the shares of the parts within part `above` of a mixture (-1: within the whole) before
 * they are divided by it; NaN if a share varies with the length.
 */
double cs_plan_file_sum(const cs_plan_file *file, int64_t above);

/** Attaches a plan file to an objective of kind `file`, which becomes `mix` if the file holds a
 * mixture. A file whose content is in file->source is not read again. Errors of cs_plan_file_read.
 */
cs_status cs_objective_of_file(const char *path, cs_plan_file *file,
                               cs_objective *objective) CS_MUST_CHECK;

/** SHA-256, as 64 hexadecimal digits and a NUL, of all files that were read; "" if there were none.
 */
cs_status cs_plan_file_digest(const cs_plan_file *file, char hex[65]) CS_MUST_CHECK;
