/* cospec connectivity: its mode that estimates connectivity from features (--pairs), and the summary
 * of results about the language, above the table of all numbers. */
#pragma once

#include "cli/opt.h"

/* --pairs --features --similarity --self --center --truth --force-unequal. */
extern const cs_opt cs_group_features[];

/* Measures the features that the arguments [NAME=]FILE name; --jackknife and the options of
 * cs_group_rank_rows apply. CS_ERR_USAGE names a repeated NAME. */
cs_status cs_connectivity_features(cs_args *args) CS_MUST_CHECK;

/* Prints a line for each series of a corpus: sum sigma^4 of the language, bias-corrected, with its
 * interval, or that this corpus is too small for it, why, and the required size. *printed is false:
 * the table follows. Nothing is printed for a table without such numbers. */
cs_status cs_connectivity_digest(const cs_table *rows, FILE *out, bool *printed) CS_MUST_CHECK;
