/* The largest inner products among all pairs of rows, and how all of them are distributed.
 *
 *   s_ij = <x_i, x_j>, i < j (i <= j with self-pairs); cosine: of x_i / |x_i|, 0 for a row of zeros
 *
 * Products are summed in float, at most d + 1 roundings: |error| <= gamma_{d+1} |x_i| |x_j|,
 * gamma_m = m u / (1 - m u), u = 2^-24; rows divided by their norms carry one rounding each more.
 * The mean is exact algebra in double, (|sum_i x_i|^2 - sum_i |x_i|^2) / 2 over the number of
 * pairs. Quantiles come from a count in bins of relative width 2^-11, interpolated: within 2^-11 of
 * the order statistic's size.
 *
 * Ties are in the order of i, then j. Bits depend on the data and the processor's vector unit,
 * never on the number of threads. Time n^2 d flops; memory 4 n d bytes, and 8 MB and 24 `count`
 * bytes a thread.
 */
#pragma once

#include <stdint.h>

#include "base/status.h"
#include "io/rows.h"

typedef struct {
    int64_t count; /* pairs wanted; all when there are fewer */
    bool cosine, self;
    int quantiles;          /* wanted of all pairs */
    const double *quantile; /* in [0, 1] */
    int threads;            /* 0: cs_threads() */
} cs_top_pairs_options;

typedef struct {
    float value;
    int32_t i, j; /* i <= j */
} cs_pair;

typedef struct {
    int64_t count;
    cs_pair *pair;    /* count: values descend, then i, j ascend */
    int64_t total;    /* pairs in all */
    int64_t zeros;    /* rows that are 0 */
    double mean;      /* of all pairs; NaN when there is none, as the quantiles */
    double *quantile; /* as wanted: the order statistic at p (total - 1), rounded down */
} cs_top_pairs;

void cs_top_pairs_free(cs_top_pairs *t);

/* CS_ERR_USAGE names a count below 0 or a quantile outside [0, 1]; CS_ERR_INPUT a value that is not
 * finite by row and column, squares beyond the float range, or more than 2^31 - 1 rows. */
cs_status cs_top_pairs_of(const cs_rows *rows, const cs_top_pairs_options *options,
                          cs_top_pairs *out) CS_MUST_CHECK;
