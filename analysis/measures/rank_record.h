/* Records of effective ranks. */
#pragma once

#include "analysis/measures/effective_rank.h"
#include "io/result.h"

/* item["metrics"]: name, definition, value and se of every measure, and for tables the result of
 * cs_item_left_out; item["warnings"]: limits of their interpretation, each prefixed with `name`. Of
 * g only counts and options are read. */
void cs_item_ranks(cs_item *item, const char *name, const cs_rank_options *options,
                   const cs_gram *g, const cs_effective_rank *r);

/* Names of the other measures, separated by commas. */
#define CS_MORE_RANKS                                                                              \
    "rank_tau_interpolated,entropy_rank_squared,rankme,stable_rank,numerical_rank,decay_exponent"

/* All results of cospec rank for one matrix. */
void cs_rank_record(const char *name, const cs_rank_options *options, const cs_gram *g,
                    const cs_effective_rank *r, cs_item *item);

/* metric["~left_out"]: {"block", "value"} of the measure without each block, minus that of another
 * matrix with the same blocks (NULL: none); for rank_tau that of the interpolated one, for
 * rank_tau_corrected without each part, and as block 0 the remaining bias. */
void cs_item_left_out(cs_item *metric, int measure, const cs_effective_rank *r,
                      const cs_effective_rank *less);
