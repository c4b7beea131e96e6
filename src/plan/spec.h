/** \file
 * Specifications: an objective in one word, for command lines and figures.
 *
 * \code
 * NAME    NAME(KEY=VALUE, ...)    NAME:KEY=VALUE,...
 * mix:SHARE*SPEC+SHARE*SPEC...[,KEY=VALUE...]
 * \endcode
 *
 * Examples: "ar", "masked(unmasked=2)", "variable-masked:unmasked=1:3,event-weight=mask". NAME may
 * be an alias; keys are the options of the command line (plan/parameters.h). In a mixture SPEC is
 * NAME or NAME(...). Shares are divided by their sum. Shares and numbers may be expressions in the
 * length s; a share that contains + needs parentheses.
 */
#pragma once

#include <jansson.h>

#include "plan/plan_file.h"

/** Sets one parameter from text.
 *
 * \retval CS_ERR_USAGE an invalid value, or a parameter that the objective does not take; lists
 *     those that it takes
 */
cs_status cs_objective_set(cs_objective *objective, const char *name,
                           const char *value) CS_MUST_CHECK;

/** Index of a parameter in plan/parameters.h. Errors of cs_objective_set. */
cs_status cs_objective_parameter(cs_objective_kind kind, const char *name, const char *value,
                                 int *index) CS_MUST_CHECK;

/** Parses a specification without checking ranges.
 *
 * \param spec the text
 * \param set receives a bit for each parameter that the text sets, by its index in
 *     plan/parameters.h
 * \param file receives the content of file(plan-file=FILE) or of a mixture; zeroed or filled by an
 *     earlier call, borrowed by `*out`, freed by the caller. NULL: such objectives are refused
 * \param out receives the objective
 * \retval CS_ERR_USAGE the text is no specification
 */
cs_status cs_objective_read(const char *spec, unsigned *set, cs_plan_file *file,
                            cs_objective *out) CS_MUST_CHECK;

/** Gives the parameters whose bits are not set in `set` their defaults of training; in a mixture,
 * those that its parts do not set.
 */
cs_status cs_objective_complete(cs_objective *objective, unsigned set) CS_MUST_CHECK;

/** Parses a specification and checks it. The message names the whole specification. `file` as for
 * cs_objective_read.
 *
 * \retval CS_ERR_USAGE the text is no specification, or a parameter is out of range or missing
 */
cs_status cs_objective_parse_held(const char *spec, cs_plan_file *file,
                                  cs_objective *out) CS_MUST_CHECK;

/** As cs_objective_parse_held; refuses mixtures and plan files. */
cs_status cs_objective_parse(const char *spec, cs_objective *out) CS_MUST_CHECK;

/** As cs_objective_parse_held for text in a file of cospec: the form of cs_objective_describe, or
 * that of older versions, "masked unmasked=2 event-weight=token".
 */
cs_status cs_objective_parse_described(const char *text, cs_plan_file *file,
                                       cs_objective *out) CS_MUST_CHECK;

/** The specification, in the form of cs_objective_describe, of text in either form; the text itself
 * if it is none. Free it with cs_free.
 */
char *cs_objective_form(const char *text) CS_MUST_CHECK;
