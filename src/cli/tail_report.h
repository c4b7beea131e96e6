/* Intervals and tails of sigma^4 in results: what cospec svd and cospec density have in common. */
#ifndef CS_CLI_TAIL_REPORT_H
#define CS_CLI_TAIL_REPORT_H

#include <jansson.h>
#include <stdint.h>

#include "base/status.h"
#include "cli/opt.h"
#include "cooc/spectrum.h"
#include "io/table.h"
#include "linalg/density.h"

/* {"value", "low", "high"}; NULL when out of memory. */
json_t *cs_interval_json(const cs_interval *x);

/* Fills the columns NAME, NAME_low and NAME_high of the last row. */
cs_status cs_interval_cells(cs_table *table, const char *name, const cs_interval *x) CS_MUST_CHECK;

/* Tails sum_{j>t} sigma_j^4 for t = 0..k: [{"t", "value", "low", "high", "exact"}, ...]; exact: k +
 * 1 values, or NULL where there are none (null). NULL when out of memory. */
json_t *cs_tails_json(int64_t k, const cs_interval *tail, const double *exact);

/* The same as DIR/tail.csv: t,tail,tail_low,tail_high,exact. */
cs_status cs_tails_write(cs_args *args, int64_t k, const cs_interval *tail,
                         const double *exact) CS_MUST_CHECK;

/* Everything that a spectrum says of sum sigma^4: a line on stderr; in the object "tail" and
 * sum_sigma4_method, _low, _high, _level, _samples, _known, _sketched, _spent (multiply-adds); with
 * -o DIR/tail.csv. */
cs_status cs_sum4_report(cs_args *args, const cs_spectrum *spectrum, json_t *object) CS_MUST_CHECK;

/* The line alone. */
void cs_sum4_note(const cs_args *args, const cs_sum4 *sum);

#endif
