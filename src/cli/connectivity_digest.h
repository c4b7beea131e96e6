/* cospec connectivity: a summary of the results about the language, above the table of all numbers.
 */
#pragma once

#include <stdio.h>

#include "base/status.h"
#include "io/table.h"

/* Prints a line for each series of a corpus: sum sigma^4 of the language, bias-corrected, with its
 * interval, or that this corpus is too small for it, why, and the required size. *printed is false:
 * the table follows. Nothing is printed for a table without such numbers. */
cs_status cs_connectivity_digest(const cs_table *rows, FILE *out, bool *printed) CS_MUST_CHECK;
