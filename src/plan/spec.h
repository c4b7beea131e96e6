/* An objective in one word, for lists of objectives on a command line and in figures:
 *
 *   NAME[:KEY=VALUE[,KEY=VALUE...]]      "ar", "masked:unmasked=2",
 * "variable-masked:unmasked=1:3,event-weight=mask"
 *
 * Keys are the option names of the command line: unmasked, mask-ratio, t, offset-weights,
 * segmentation, groups, event-weight, empty-prefix.
 */
#ifndef CS_PLAN_SPEC_H
#define CS_PLAN_SPEC_H

#include "base/status.h"
#include "plan/objective.h"

/* Sets one parameter from text; CS_ERR_USAGE names key and value. */
cs_status cs_objective_set(cs_objective *objective, const char *key,
                           const char *value) CS_MUST_CHECK;

/* Parses and checks a whole specification. */
cs_status cs_objective_parse(const char *spec, cs_objective *out) CS_MUST_CHECK;

#endif
