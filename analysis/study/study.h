/* A study: named cospec runs in order, at one of several scales, and claims to compare with their
 * results.
 *
 * One JSON file (docs/reference/studies.md has the schema):
 *
 *   {"scales": ["smoke", "cpu", "gpu"],
 *    "variables": {"steps": ["20", "600", "20000"], "arch": "--layers 4 --width 96"},
 *    "steps": [{"about": "models", "run": {"m-ar": "train --objective ar --steps $steps $arch"}}],
 *    "tables": {"models": [{"name": "ar", "label": "autoregressive"}]},         (lookup_private.h)
 *    "claims": {"NAME": {...}}}                                                 (claims.h)
 *
 * $NAME in a text is the value of the variable at the chosen scale. In a command every `@` becomes
 * the folder of the study, so that a step can read the output of another (@wn-ar/matrix.npz) and
 * runs after it. Each step runs as `cospec COMMAND ARGUMENT... -o DIR/NAME`, with its output in
 * DIR/NAME/stdout.txt and stderr.txt, and its command and outcome in DIR/NAME/step.json (exit -1:
 * begun). */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "base/status.h"

enum {
    CS_STEP_WORDS = 128, /* at most, of a command */
    CS_STEP_NOT_RUN = -1 /* in place of an exit code, also for a run that has not ended */
};

/* Files in the folder of a study other than those of its steps: tables, and the rest. */
#define CS_STUDY_TABLES "claims.csv, scores.csv, models.csv"
#define CS_STUDY_FILES                                                                             \
    CS_STUDY_TABLES                                                                                \
    ", report.html, values.csv, counts.csv, claims-budgets.csv, curves, differences.csv, "         \
    "differences, "                                                                                \
    "course, study.json, manifest.json"

typedef struct {
    char *name;
    char *written; /* the command as written in the study */
    char *command; /* as it would be typed, without -o: @ replaced */
    int words;
    char **word;   /* COMMAND ARGUMENT..., @ replaced */
    int exit_code; /* or CS_STEP_NOT_RUN */
    double seconds;
    bool *needs;  /* by step: whether this one reads its output */
    bool trained; /* it trains a model, or reads the output of such a step */
    bool claimed; /* a claim reads it (cs_claims_read) */
    bool kept;    /* finished by an earlier run of the same version */
} cs_step;

typedef struct {
    char *dir;
    json_t *json;      /* the file with its variables substituted; holds the texts */
    const char *scale; /* NULL: the study has none */
    int64_t steps;
    int64_t left_out; /* more steps behind these, which no chosen claim reads */
    cs_step *step;
    bool any_version; /* finished steps of other versions of the program are kept too */
    bool (*resumes)(const char *command); /* whether the command takes --resume; the caller's */
} cs_study;

/* scale NULL: "cpu" if the file has scales. CS_ERR_USAGE for a scale that the file does not have;
 * CS_ERR_INPUT names file and place: missing or unknown members or values of another kind, a
 * repeated name or one that is not a plain file name, an empty command, one with an -o, cyclic
 * steps, an unknown variable or one that has neither one value nor one for each scale. */
cs_status cs_study_read(const char *path, const char *dir, const char *scale,
                        cs_study *out) CS_MUST_CHECK;
/* The same for the content of a file, which is consumed. */
cs_status cs_study_of(json_t **json, const char *dir, const char *scale,
                      cs_study *out) CS_MUST_CHECK;
void cs_study_free(cs_study *study);

/* The words of a variable, separated by spaces; "" if absent. `text` in which every mark is
 * replaced by a word, in fresh memory: '%' in the name of a step is one of `budgets`, '#' one of
 * `seeds`. The steps of a section are ordered by budgets, then seeds, then their order in the file;
 * without a mark they are in the first round. */
const char *cs_study_list(const cs_study *study, const char *variable);
cs_status cs_study_put(const char *text, char mark, const char *word, char **out) CS_MUST_CHECK;

/* Whether a name can be a file name: letters, digits, '.', '_' and '-', no '.' first. */
bool cs_study_name_is_good(const char *name);

/* Whether a text stands for itself as a word of a command: no blanks, control characters, quotes,
 * @ and $. */
bool cs_study_word_is_plain(const char *text);

/* `text` with every $NAME replaced by its value, in fresh memory. CS_ERR_INPUT names an unknown
 * variable. */
cs_status cs_study_substitute(const cs_study *study, const char *text, char **out) CS_MUST_CHECK;

/* Leaves out the steps that no claim reads, directly or through other steps. */
void cs_study_keep_claimed(cs_study *study);

/* The first step, in the order of the file, that has not begun and whose needs are done; -1: none.
 */
int64_t cs_study_ready(const cs_study *study, const bool *begun, const bool *done);

typedef struct {
    const char *program;
    /* finished steps of the same command, and version unless any_version, are kept, if the steps
     * that they read are kept and their inputs have not changed */
    bool resume;
    /* concurrent steps, each with its part of cs_threads(); 0: the number of threads, at most 8 */
    int jobs;
    /* Called before each step runs, one at a time; `before` steps have begun or were kept. seconds:
     * estimated time left, from finished steps of the same commands; NAN if a command has none. */
    void (*announce)(void *ctx, const cs_study *study, int64_t step, int64_t before,
                     double seconds);
    void (*note)(void *ctx, const char *text); /* reason why a finished step runs again */
    void *ctx;
} cs_study_run_options;

/* Concurrent steps for `wanted` (0: the number of threads, at most 8), and the threads of each. */
int cs_study_jobs(int wanted, int *threads);

/* Estimated seconds of a step, the mean of those that are done (NULL: kept) of the same command, and of
 * all that are not done, `jobs` at a time; NAN where no step of its command is done. */
double cs_study_step_seconds(const cs_study *study, const bool *done, int64_t step);
double cs_study_seconds_left(const cs_study *study, const bool *done, int jobs);

/* Sets `kept` of the steps that a run with options->resume would keep, and runs nothing. */
cs_status cs_study_find_kept(cs_study *study, const cs_study_run_options *options) CS_MUST_CHECK;

/* Runs the steps, each as soon as a slot is free and the steps that it reads have ended. Exit codes
 * 0, 1 (a corrected statement failed) and 4 (inconclusive) are outcomes and go into the report; any
 * other ends the study with the last message of that step, after the concurrent steps have ended.
 * CS_ERR_INPUT if studies that run studies are already nested 4 deep. */
cs_status cs_study_run(cs_study *study, const cs_study_run_options *options) CS_MUST_CHECK;

/* Whether the tables of a finished study that its own manifest.json does not record are those that
 * its steps have written (cs_digest_check_tables): CS_ERR_INPUT names the first that is not. A step
 * without a manifest.json passes. CS_ERR_IO, CS_ERR_MEMORY, CS_ERR_INTERRUPT. */
cs_status cs_study_check_tables(const char *dir) CS_MUST_CHECK;
