/* Shared by the tests of linear probes. */
#pragma once

#include <stdint.h>

#include "analysis/measures/linear_probe.h"
#include "io/rows.h"

enum { PROBE_N = 300, PROBE_D = 7, PROBE_K = 3 };

typedef struct {
    double x[PROBE_N * PROBE_D], y[PROBE_N];
} probe_data;

/* Three noisy classes, unequally many, with columns of unequal scale and offset. */
void probe_fill(probe_data *s, uint64_t index);
cs_rows probe_rows(const probe_data *s);

/* A fit to all rows that must succeed. */
cs_linear_probe probe_fitted(const cs_rows *x, const double *y, int64_t classes,
                             const cs_linear_probe_options *o);
