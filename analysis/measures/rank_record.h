/* What every effective rank is reported with. */
#pragma once

#include "analysis/measures/effective_rank.h"
#include "io/result.h"

/* item["metrics"]: name, definition, value and se of every measure, and for tables what
 * cs_item_left_out adds; item["warnings"]: what makes them mean less than it seems to, each headed
 * by `name`. Of g only counts and options are read. */
void cs_item_ranks(cs_item *item, const char *name, const cs_rank_options *options,
                   const cs_gram *g, const cs_effective_rank *r);

/* Names of the measures beside the first ones, parted by commas. */
#define CS_MORE_RANKS                                                                              \
    "rank_tau_interpolated,entropy_rank_squared,rankme,stable_rank,numerical_rank,decay_exponent"

/* All that cospec rank says of one matrix. */
void cs_rank_record(const char *name, const cs_rank_options *options, const cs_gram *g,
                    const cs_effective_rank *r, cs_item *item);

/* metric["~left_out"]: {"block", "value"} of the measure without each block, less that of another
 * matrix with the same blocks (NULL: none); of rank_tau that of the interpolated one, of
 * rank_tau_corrected without each part, and as block 0 the bias left. */
void cs_item_left_out(cs_item *metric, int measure, const cs_effective_rank *r,
                      const cs_effective_rank *less);
