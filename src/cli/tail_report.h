/* Intervals and tails of sigma^4 in results: what cospec svd and cospec density have in common. */
#pragma once

#include "base/status.h"
#include "cli/opt.h"
#include "cooc/spectrum_record.h"
#include "io/result.h"
#include "linalg/density.h"

/* What the record has under "tail", as DIR/tail.csv: t,tail,tail_low,tail_high,exact. */
cs_status cs_tails_write(cs_args *args) CS_MUST_CHECK;

/* Everything that a spectrum says of sum sigma^4: a line on stderr; in the object "tail" and
 * sum_sigma4_method, _low, _high, _level, _samples, _known, _sketched, _spent (multiply-adds).
 * *tails: "tail" is known, not null. */
cs_status cs_sum4_report(cs_args *args, const cs_spectrum *spectrum, cs_item *object,
                         bool *tails) CS_MUST_CHECK;

/* The line alone. */
void cs_sum4_note(const cs_args *args, const cs_sum4 *sum);
