/* Intervals and tails of sigma^4 in results: what cospec svd and cospec density have in common. */
#pragma once

#include "base/status.h"
#include "cli/opt.h"
#include "cooc/spectrum_record.h"
#include "io/result.h"
#include "linalg/density.h"

/* What the record has under "tail", as DIR/tail.csv: t,tail,tail_low,tail_high,exact. */
cs_status cs_tails_write(cs_args *args) CS_MUST_CHECK;

/* What is known of sum sigma^4, on stderr. */
void cs_sum4_note(const cs_args *args, const cs_sum4 *sum);
