/* Expands a study: rows of its tables become steps and claims. */
#pragma once

#include <jansson.h>

#include "base/status.h"

/* Expands the sections and claims with "each" once for every row of their table (of those that
 * match "where"), in place; a variable with "each" becomes one text of all rows. A table is a
 * variable too: the names of its rows. CS_ERR_INPUT names the place of a missing table, row or
 * field, of a row without a name, and of duplicates. */
cs_status cs_study_expand(json_t *study) CS_MUST_CHECK;

/* The row of that name among the rows of a table; NULL: none. */
const json_t *cs_study_row(const json_t *rows, const char *name);

/* Replaces every text in a value by the result of `put`, in fresh memory. */
typedef cs_status cs_put_text(const void *ctx, const char *text, char **out);
cs_status cs_study_put_texts(json_t *value, cs_put_text *put, const void *ctx) CS_MUST_CHECK;
