/* What makes an effective rank mean less than it seems to. */
#ifndef CS_CLI_RANK_WARNINGS_H
#define CS_CLI_RANK_WARNINGS_H

#include <jansson.h>

#include "analysis/effective_rank.h"
#include "cli/opt.h"

/* The outlier guard: a row or a direction with more than half of the sum of squares, fewer rows
 * than columns, eigenvalues below the floor of single precision, rows of zeros. Each is a line on
 * stderr, headed by `name`, and a text of json["warnings"]. Of g only counts and options are read.
 */
cs_status cs_rank_warnings(const cs_args *args, const char *name, const cs_gram *g,
                           const cs_effective_rank *r, bool centred, json_t *json) CS_MUST_CHECK;

#endif
