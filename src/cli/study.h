/* A study: named cospec runs in order.
 *
 * Steps file, one step a line ("#" starts a comment):    NAME: COMMAND ARGUMENT...
 * Every `@` becomes the study's folder, so that a step reads what an earlier one wrote
 * (@wn-ar/matrix.npz). A study of several scales begins with their names and says what differs:
 *
 *   $scale = smoke | cpu | gpu
 *   $steps = 20 | 600 | 20000      then $steps in a command is the value of the chosen scale
 *   $arch = --layers 4 --width 96  one value: the same at every scale
 * Each step runs as `cospec COMMAND ARGUMENT... -o DIR/NAME`, its output kept
 * in DIR/NAME/stdout.txt and stderr.txt, its outcome in DIR/NAME/step.json.
 */
#ifndef CS_CLI_STUDY_H
#define CS_CLI_STUDY_H

#include <stdint.h>

#include "base/status.h"

typedef struct {
    char *name;
    char *command; /* as it would be typed, without -o */
    int words;
    char **word;   /* COMMAND ARGUMENT..., @ replaced */
    int exit_code; /* -1: not run */
    double seconds;
    bool kept; /* finished by an earlier run of the same version */
} cs_step;

typedef struct {
    char *name, *value;
} cs_study_variable;

typedef struct {
    char *dir;
    int64_t variables;
    cs_study_variable *variable;
    char *scale; /* NULL: the study has none */
    int64_t steps;
    cs_step *step;
} cs_study;

/* scale NULL: "cpu" where the file has scales. CS_ERR_USAGE for a scale that the file has not;
 * CS_ERR_INPUT names file and line: a missing colon, a repeated name, an empty command, one with an
 * -o of its own, a variable that is not known or has neither one value nor one a scale. */
cs_status cs_study_read(const char *path, const char *dir, const char *scale,
                        cs_study *out) CS_MUST_CHECK;
void cs_study_free(cs_study *study);

/* `text` with every $NAME replaced by its value, in fresh memory. CS_ERR_INPUT names a variable
 * that the study has not. */
cs_status cs_study_substitute(const cs_study *study, const char *text, char **out) CS_MUST_CHECK;

/* Runs the steps with `program`; with `resume`, finished ones of the same version and command are
 * kept. `announce` hears of each step before it runs. Exit codes 0, 1 (a corrected statement
 * failed) and 4 (inconclusive) are outcomes and go on to the report; any other ends the study with
 * that step's last message. */
typedef void (*cs_study_announce)(void *ctx, const cs_study *study, int64_t step);
cs_status cs_study_run(cs_study *study, const char *program, bool resume,
                       cs_study_announce announce, void *ctx) CS_MUST_CHECK;

#endif
