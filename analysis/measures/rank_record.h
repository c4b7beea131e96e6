/* What every effective rank is reported with. */
#pragma once

#include "analysis/measures/effective_rank.h"
#include "io/result.h"

/* item["metrics"]: name, definition, value and se of every measure, and for tables what
 * cs_item_left_out adds. */
void cs_item_ranks(cs_item *item, const cs_rank_options *options, const cs_gram *g,
                   const cs_effective_rank *r);

/* metric["~left_out"]: {"block", "value"} of the measure without each block, less that of another
 * matrix with the same blocks (NULL: none); of rank_tau that of the interpolated one, of
 * rank_tau_corrected without each part, and as block 0 the bias left. */
void cs_item_left_out(cs_item *metric, int measure, const cs_effective_rank *r,
                      const cs_effective_rank *less);
