/* Intervals and tails of sigma^4 in results, shared by cospec svd and cospec density. */
#pragma once

#include "base/status.h"
#include "cli/opt.h"
#include "cooc/spectrum_record.h"
#include "io/result.h"
#include "linalg/density.h"

/* Writes the "tail" of the record as DIR/tail.csv: t,tail,tail_low,tail_high,exact. */
cs_status cs_tails_write(cs_args *args) CS_MUST_CHECK;

/* Notes sum sigma^4 on stderr. */
void cs_sum4_note(const cs_args *args, const cs_sum4 *sum);
