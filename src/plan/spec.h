/* An objective in one word, on a command line and in figures:
 *
 *   NAME, NAME(KEY=VALUE, ...) or NAME:KEY=VALUE,...
 *
 * or mix:SHARE*SPEC+SHARE*SPEC...[,KEY=VALUE...], where SPEC is NAME or NAME(...) and shares are weights,
 * divided by their sum to sum to 1; shares and numbers in it may be expressions in the length s
 * (expression.h), shares with a + in parentheses. "ar", "masked(unmasked=2)",
 * "variable-masked:unmasked=1:3,event-weight=mask". NAME may be an alias; keys are the option names of the
 * command line (parameters.h). cs_objective_describe writes the form with parentheses.
 */
#pragma once

#include <jansson.h>

#include "base/status.h"
#include "plan/objective.h"
#include "plan/plan_file.h"

/* Sets one parameter from text; CS_ERR_USAGE names it and its value, and for a parameter that the
 * objective does not take those that do. */
cs_status cs_objective_set(cs_objective *objective, const char *name,
                           const char *value) CS_MUST_CHECK;

/* The number of a parameter in parameters.h; refuses as above what the objective does not take. */
cs_status cs_objective_parameter(cs_objective_kind kind, const char *name, const char *value,
                                 int *index) CS_MUST_CHECK;

/* Parses a whole specification, unchecked; *set receives a bit for each parameter it sets, by its
 * number in parameters.h. A mixture or the plans of file(plan-file=FILE) are put into *file, which
 * must be zeroed or so filled, is borrowed by *out and freed by the caller; NULL: they are refused. */
cs_status cs_objective_read(const char *spec, unsigned *set, cs_plan_file *file,
                            cs_objective *out) CS_MUST_CHECK;

/* Gives parameters whose bits are not set the values of training (cs_objective_row.trained); of a
 * mixture those that its parts were not given. */
cs_status cs_objective_complete(cs_objective *objective, unsigned set) CS_MUST_CHECK;

/* Parses and checks; the reason names the whole specification. The second refuses mixtures. */
cs_status cs_objective_parse_held(const char *spec, cs_plan_file *file,
                                  cs_objective *out) CS_MUST_CHECK;
cs_status cs_objective_parse(const char *spec, cs_objective *out) CS_MUST_CHECK;

/* The same of what a file of cospec says an objective was: cs_objective_describe, or its form of
 * before, "masked unmasked=2 event-weight=token". */
cs_status cs_objective_parse_described(const char *text, cs_plan_file *file,
                                       cs_objective *out) CS_MUST_CHECK;

/* What cs_objective_describe says of a specification in either form, the text itself where it is none,
 * in fresh memory. */
char *cs_objective_form(const char *text) CS_MUST_CHECK;

/* Puts that in the place of the text under `key`, if there is one. */
cs_status cs_objective_renew(json_t *object, const char *key) CS_MUST_CHECK;
