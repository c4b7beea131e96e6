/* cospec verify: the statements as a page that a person reads. */
#pragma once

#include <stdio.h>

#include "cli/opt.h"
#include "io/table.h"

/* Prints how many statements have which verdict, by paper, then one line for each form of each
 * theorem: paper, statement in words, number of cases, worst margin and verdict. `rows` is the table
 * of statements, evaluated just now or read from a finished run. *printed is false, and nothing is
 * printed, where the table has no column "theorem" (--list, and runs of older versions). */
cs_status cs_verify_digest(const cs_table *rows, FILE *out, bool *printed) CS_MUST_CHECK;
