/* What cospec connectivity reports of a matrix: a JSON object, and the tables that follow from it.
 *
 * The object is the record: it is what an interrupted study keeps, and the rows of connectivity.csv
 * and spectrum.csv are made from it alone.
 */
#ifndef CS_CLI_CONNECTIVITY_RECORD_H
#define CS_CLI_CONNECTIVITY_RECORD_H

#include <jansson.h>
#include <stdint.h>

#include "analysis/connectivity.h"
#include "base/status.h"
#include "io/table.h"

enum {
    CS_RECORD_SIGMAS = 8,  /* leading values below 1 that get an interval */
    CS_RECORD_VALUES = 26, /* metrics and those values: what the jackknife measures */
};

/* The metrics of one matrix, then its leading values below 1 (NaN where there are fewer).
 * resampled: for the jackknife, whose errors would be those of the samples where sum sigma^4 is an
 * estimate: that value is then NaN. */
void cs_record_values(const cs_connectivity *c, double values[CS_RECORD_VALUES], bool resampled);

/* {"series", "target_position", "context", <metric>: {"value", "se"}, ..., "sigma": [...],
 * "sigma_se": [...], "residual": [...]}; se: CS_RECORD_VALUES standard errors or NULL. NULL when
 * out of memory. */
json_t *cs_record_of(const char *series, const char *position, const char *context,
                     const cs_connectivity *c, const double *se);

/* Empty tables with their columns. */
cs_status cs_record_tables(cs_table *metrics, cs_table *spectrum) CS_MUST_CHECK;

/* Appends the rows of a record; blocks and seed are those of the jackknife. CS_ERR_INPUT when the
 * record lacks a member. */
cs_status cs_record_rows(const json_t *record, int64_t blocks, uint64_t seed, cs_table *metrics,
                         cs_table *spectrum) CS_MUST_CHECK;

#endif
