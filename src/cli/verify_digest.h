/* cospec verify: a readable summary of the statements. */
#pragma once

#include <stdio.h>

#include "cli/opt.h"
#include "io/table.h"

/* Prints the number of statements with each verdict, by paper, then one line for each form of each
 * theorem: paper, statement in words, number of cases, worst margin and verdict. `rows` is the
 * table of statements, evaluated just now or read from a finished run. *printed is false, and
 * nothing is printed, if the table has no column "theorem" (--list, and runs of older versions). */
cs_status cs_verify_digest(const cs_table *rows, FILE *out, bool *printed) CS_MUST_CHECK;
