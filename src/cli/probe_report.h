/* What cospec probe tells of a layer: scores with both intervals, the fits, predictions.csv, and
 * the comparison with predictions of another run. */
#ifndef CS_CLI_PROBE_REPORT_H
#define CS_CLI_PROBE_REPORT_H

#include <jansson.h>
#include <stdint.h>

#include "analysis/linear_probe.h"
#include "cli/predictions.h"

/* The same for all layers. */
typedef struct {
    const char *model;     /* or name of the features */
    const char *few;       /* "all", "10%", "16" */
    cs_judge judge;        /* of predictions */
    const cs_rival *rival; /* the run of --against */
    cs_table *table;       /* of scores */
    cs_table *predictions; /* NULL: not wanted */
} cs_probe_study;

/* One layer: `seeds` probes, and what they say of each test example (seeds x test->count). */
typedef struct {
    const char *layer; /* "last", "3"; "-": a matrix */
    int64_t features;
    cs_linear_probe *probe;
    double *prediction, *baseline;
} cs_probe_layer;

/* Columns of the table of scores. */
extern const char *const cs_probe_columns;

/* Adds the layer's rows to the tables and its results to `json`. CS_ERR_INPUT when the rival's
 * predictions are of other examples. */
cs_status cs_probe_report(const cs_probe_study *s, const cs_probe_layer *l,
                          json_t *json) CS_MUST_CHECK;

#endif
