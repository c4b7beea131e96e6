/* A study: named cospec runs in order, at one of several scales, and claims to hold against them.
 *
 * One JSON file (docs/reference/studies.md has the schema):
 *
 *   {"scales": ["smoke", "cpu", "gpu"],
 *    "variables": {"steps": ["20", "600", "20000"], "arch": "--layers 4 --width 96"},
 *    "steps": [{"about": "models", "run": {"m-ar": "train --objective ar --steps $steps $arch"}}],
 *    "tables": {"models": [{"name": "ar", "label": "autoregressive"}]},         (expand_private.h)
 *    "claims": {"NAME": {...}}}                                                 (claims.h)
 *
 * $NAME in a text is the variable's value at the chosen scale. In a command every `@` becomes the
 * study's folder, so that a step reads what another wrote (@wn-ar/matrix.npz) and runs after it. Each step
 * runs as `cospec COMMAND ARGUMENT... -o DIR/NAME`, its output kept in DIR/NAME/stdout.txt and
 * stderr.txt, its command and outcome in DIR/NAME/step.json (exit -1: begun).
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "base/status.h"

enum {
    CS_STEP_WORDS = 128, /* at most, of a command */
    CS_STEP_NOT_RUN = -1 /* in place of an exit code, also of a run that has not ended */
};

/* What is in the folder of a study beside those of its steps: tables, and the rest. */
#define CS_STUDY_TABLES "claims.csv, scores.csv, models.csv"
#define CS_STUDY_FILES                                                                             \
    CS_STUDY_TABLES                                                                                \
    ", report.html, values.csv, claims-budgets.csv, curves, differences.csv, differences, "        \
    "course, study.json, manifest.json"

typedef struct {
    char *name;
    char *written; /* the command as the study has it */
    char *command; /* as it would be typed, without -o: @ replaced */
    int words;
    char **word;   /* COMMAND ARGUMENT..., @ replaced */
    int exit_code; /* or CS_STEP_NOT_RUN */
    double seconds;
    bool *needs;  /* by step: whether this one reads what that one leaves */
    bool trained; /* it trains a model, or reads what such a step has left */
    bool claimed; /* a claim reads it (cs_claims_read) */
    bool kept;    /* finished by an earlier run of the same version */
} cs_step;

typedef struct {
    char *dir;
    json_t *json;      /* the file with its variables put in; holds the texts */
    const char *scale; /* NULL: the study has none */
    int64_t steps;
    cs_step *step;
    bool any_version; /* finished steps of other versions of the program are kept too */
    bool (*resumes)(const char *command); /* whether the command takes --resume; the caller's */
} cs_study;

/* scale NULL: "cpu" where the file has scales. CS_ERR_USAGE for a scale that the file has not;
 * CS_ERR_INPUT names file and place: what is missing, unknown or of another kind, a name twice or
 * one that is no plain file name, an empty command, one with an -o of its own, steps that wait for
 * each other, a variable that is not known or has neither one value nor one a scale. */
cs_status cs_study_read(const char *path, const char *dir, const char *scale,
                        cs_study *out) CS_MUST_CHECK;
/* The same of a file's content, which is consumed. */
cs_status cs_study_of(json_t **json, const char *dir, const char *scale,
                      cs_study *out) CS_MUST_CHECK;
void cs_study_free(cs_study *study);

/* The words of a variable, parted by blanks; "" without it. `text` in which every mark is a word, in
 * fresh memory: '%' in a step's name stands for one of `budgets`, '#' for one of `seeds`. The steps
 * of a section are in the order of budgets, in it of seeds, in it of the file; without a mark they
 * are of the first round. */
const char *cs_study_list(const cs_study *study, const char *variable);
cs_status cs_study_put(const char *text, char mark, const char *word, char **out) CS_MUST_CHECK;

/* Whether a name can be that of a file: letters, digits, '.', '_' and '-', no '.' first. */
bool cs_study_name_is_good(const char *name);

/* `text` with every $NAME replaced by its value, in fresh memory. CS_ERR_INPUT names a variable
 * that the study has not. */
cs_status cs_study_substitute(const cs_study *study, const char *text, char **out) CS_MUST_CHECK;

/* Leaves out the steps that no claim reads, of itself or by other steps. */
void cs_study_keep_claimed(cs_study *study);

/* The first step, as the file has them, that has not begun and whose needs are done; -1: none. */
int64_t cs_study_ready(const cs_study *study, const bool *begun, const bool *done);

typedef struct {
    const char *program;
    bool
        resume; /* finished steps of the same command, and version unless any_version, are kept, where
                    the steps that they read are and their inputs have not changed */
    int jobs;   /* steps at a time, each with its part of cs_threads(); 0: as many, at most 8 */
    /* Hears of each step before it runs, one at a time; `before` steps were begun or kept. seconds: until all
     * are done, from what steps of the same commands took; NAN where a command has none that is done. */
    void (*announce)(void *ctx, const cs_study *study, int64_t step, int64_t before,
                     double seconds);
    void (*note)(void *ctx, const char *text); /* why a finished step runs again */
    void *ctx;
} cs_study_run_options;

/* Steps that run at a time where `wanted` are (0: as many as threads, at most 8), and the threads of each. */
int cs_study_jobs(int wanted, int *threads);

/* Sets `kept` of the steps that a run with options->resume would keep, and runs nothing. */
cs_status cs_study_find_kept(cs_study *study, const cs_study_run_options *options) CS_MUST_CHECK;

/* Runs the steps, each as soon as there is a place for it and those that it reads have
 * ended. Exit codes 0, 1 (a corrected statement failed) and 4 (inconclusive) are outcomes and go on
 * to the report; any other ends the study with that step's last message, once the steps beside it
 * have ended. CS_ERR_INPUT where studies that run studies are 4 deep already. */
cs_status cs_study_run(cs_study *study, const cs_study_run_options *options) CS_MUST_CHECK;

/* Whether the tables of a finished study, which its own manifest.json has not, are those that its
 * steps have written (cs_digest_check_tables): CS_ERR_INPUT names the first that is not. A step
 * without a manifest.json passes. CS_ERR_IO, CS_ERR_MEMORY, CS_ERR_INTERRUPT. */
cs_status cs_study_check_tables(const char *dir) CS_MUST_CHECK;
