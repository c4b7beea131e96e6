/** \file
 * The largest inner products among all pairs of rows, and quantiles of all of them:
 *
 * \f[ s_{ij} = \langle x_i, x_j \rangle, \quad i < j \quad (i \le j \text{ with self-pairs}); \f]
 *
 * with `cosine` of x_i / |x_i|, and 0 for a zero row.
 *
 * Products are summed in float with at most d + 1 roundings:
 * \f$|\mathrm{error}| \le \gamma_{d+1} |x_i| |x_j|\f$, \f$\gamma_m = m u / (1 - m u)\f$, u =
 * 2^-24; normalised rows add one rounding each. The mean is computed in double as
 * \f$(|\sum_i x_i|^2 - \sum_i |x_i|^2) / 2\f$ over the number of pairs. Quantiles are interpolated
 * from counts in bins of relative width 2^-11.
 *
 * Bits depend on the data and the vector unit of the processor, not on the number of threads. Time
 * n^2 d flops; memory 4 n d bytes, and 8 MB and 24 count bytes a thread.
 */
#pragma once

#include <stdint.h>

#include "base/status.h"
#include "io/rows.h"

/** Options of cs_top_pairs_of. */
typedef struct {
    /** Number of pairs; all pairs if there are fewer. */
    int64_t count;
    /** Cosines in place of inner products. */
    bool cosine;
    /** Include pairs i = j. */
    bool self;
    /** Number of quantiles of all pairs. */
    int quantiles;
    /** quantiles probabilities in [0, 1]; borrowed. */
    const double *quantile;
    /** 0: cs_threads(). */
    int threads;
} cs_top_pairs_options;

/** A pair of rows, i <= j. */
typedef struct {
    /** Inner product or cosine. */
    float value;
    /** First row. */
    int32_t i;
    /** Second row. */
    int32_t j;
} cs_pair;

/** The result. Free it with cs_top_pairs_free. */
typedef struct {
    /** Number of pairs returned. */
    int64_t count;
    /** count pairs: values descend; ties by i, then j. */
    cs_pair *pair;
    /** Number of all pairs. */
    int64_t total;
    /** Number of zero rows. */
    int64_t zeros;
    /** Mean over all pairs; NaN if there is none. */
    double mean;
    /** The order statistics at index floor(p (total - 1)); NaN if there is no pair. */
    double *quantile;
} cs_top_pairs;

/** Frees the result; accepts a zeroed object. */
void cs_top_pairs_free(cs_top_pairs *t);

/** Computes the pairs and quantiles.
 *
 * \retval CS_ERR_USAGE a negative count, or a quantile outside [0, 1]
 * \retval CS_ERR_INPUT a value that is not finite (row and column), squares beyond the range of
 *     float, or more than 2^31 - 1 rows
 * \retval CS_ERR_MEMORY memory is exhausted
 * \retval CS_ERR_INTERRUPT the interrupt flag is set
 */
cs_status cs_top_pairs_of(const cs_rows *rows, const cs_top_pairs_options *options,
                          cs_top_pairs *out) CS_MUST_CHECK;
