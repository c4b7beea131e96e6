/* What every effective rank is reported with: its measures, and what makes it mean less than it
 * seems to. */
#pragma once

#include "analysis/measures/rank_record.h"
#include "cli/opt.h"
#include "io/result.h"

/* Those of a command's metrics that cs_command.metrics does not show. */
#define CS_MORE_RANKS                                                                              \
    "rank_tau_interpolated,entropy_rank_squared,rankme,stable_rank,numerical_rank,decay_exponent"

/* The outlier guard: a row or a direction with more than half of the sum of squares, fewer rows
 * than columns, eigenvalues below the floor of single precision, rows of zeros. Each is a line on
 * stderr, headed by `name`, and a text of item["warnings"]. Of g only counts and options are read.
 */
void cs_rank_warnings(const cs_args *args, const char *name, const cs_gram *g,
                      const cs_effective_rank *r, bool centred, cs_item *item);
