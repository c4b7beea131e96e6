/** \file
 * Measures of the shape of a cloud of rows.
 *
 * - Spectral decay: alpha of \f$\lambda_k = c\, k^{-\alpha}\f$ by least squares of ln lambda_k on
 *   ln k over a range of k (Stringer et al., Nature 571, 2019, ranks 11 to 500; alpha-ReQ,
 *   Agrawal, Mondal, Ghosh and Richards, NeurIPS 2022). The slope of the raw spectrum, not
 *   cross-validated as Stringer's.
 * - Two-NN intrinsic dimension (Facco, d'Errico, Rodriguez and Laio, Sci. Rep. 7, 2017): with mu_i
 *   the ratio of the distances of row i to its second and first nearest rows,
 *   \f$-\ln(1 - F(\mu)) = \dim \cdot \ln \mu\f$ is fitted through the origin over the smallest
 *   share 1 - discard of the N ratios, F(mu_(i)) = i / N. Of equal rows only one is used. The
 *   method assumes constant density out to the second neighbour and underestimates high dimensions
 *   at small N.
 * - Isotropy: the mean cosine of all pairs of rows (Ethayarajh, EMNLP 2019), 0 when directions
 *   cancel; and \f$I = \min_c Z(c) / \max_c Z(c)\f$,
 *   \f$Z(c) = \sum_i \exp\langle c, x_i \rangle\f$ over the unit eigenvectors c of X^T X and their
 *   negatives (Mu and Viswanath, ICLR 2018), 1 when isotropic. Z is not scale-free: rows are
 *   divided by their root mean square norm unless `raw`.
 */
#pragma once

#include <stdint.h>

#include "base/progress.h"
#include "base/status.h"
#include "io/result.h"
#include "io/rows.h"

enum {
    /** Default first rank of the decay. */
    CS_DECAY_FIRST = 11,
    /** Default last rank of the decay. */
    CS_DECAY_LAST = 500,
};

/** alpha of the spectral decay.
 *
 * \param count number of eigenvalues
 * \param lambda count eigenvalues, descending
 * \param first first rank, from 1
 * \param last last rank, as far as lambda is positive
 * \param r2 receives the share of variance explained; may be NULL
 * \return alpha; NaN for fewer than two values
 */
double cs_spectral_decay(int64_t count, const double *lambda, int64_t first, int64_t last,
                         double *r2);

/** Two-NN dimension. */
typedef struct {
    /** The dimension; NaN if no ratio differs from 1. */
    double dimension;
    /** Ratios fitted. */
    int64_t used;
    /** Rows left out because they repeat an earlier one. */
    int64_t duplicates;
} cs_two_nn;

/** Two-NN dimension, with distances in double. n^2 d flops, 24 n d bytes.
 *
 * \param rows n x d, n at least 3
 * \param discard share of the largest ratios left out, in [0, 1); 0.1 in the paper
 * \param threads 0: cs_threads()
 * \param progress NULL: none
 * \param out receives the dimension
 * \retval CS_ERR_USAGE discard is out of range
 * \retval CS_ERR_INPUT fewer than 3 rows, or a value that is not finite
 * \retval CS_ERR_MEMORY memory is exhausted
 * \retval CS_ERR_INTERRUPT the interrupt flag is set
 */
cs_status cs_two_nn_of(const cs_rows *rows, double discard, int threads,
                       const cs_progress *progress, cs_two_nn *out) CS_MUST_CHECK;

/** Measures of isotropy. */
typedef struct {
    /** Mean cosine of pairs i < j of nonzero rows; NaN for fewer than two. */
    double mean_cosine;
    /** min Z / max Z, in [0, 1]. */
    double partition;
    /** Divisor of the rows for Z. */
    double scale;
} cs_isotropy;

/** Isotropy of n x d rows; `raw`: rows are not scaled for Z. 2 n d^2 flops, streaming. Bits do not
 * depend on the number of threads.
 *
 * \retval CS_ERR_INPUT a value is not finite
 * \retval CS_ERR_MEMORY memory is exhausted
 * \retval CS_ERR_INTERRUPT the interrupt flag is set
 */
cs_status cs_isotropy_of(const cs_rows *rows, bool raw, int threads,
                         cs_isotropy *out) CS_MUST_CHECK;

enum {
    /** Index of the two-NN dimension in a cs_shape. */
    CS_SHAPE_DIMENSION,
    /** Index of the mean cosine. */
    CS_SHAPE_COSINE,
    /** Index of min Z / max Z. */
    CS_SHAPE_PARTITION,
    /** Number of measures. */
    CS_SHAPE_MEASURES,
};

/** Options of cs_shape_of. */
typedef struct {
    /** As for cs_two_nn_of. */
    double discard;
    /** Most rows of two-NN, evenly spaced, since its time grows with their square. */
    int64_t sample;
    /** Blocks of the jackknife; 1: no errors. */
    int64_t blocks;
    /** Block of each row, below `blocks`; NULL: consecutive rows. */
    const int32_t *block;
    /** 0: cs_threads(). */
    int threads;
    /** NULL: none. */
    const cs_progress *progress;
} cs_shape_options;

/** All measures with errors. Free them with cs_shape_free. */
typedef struct {
    /** Rows used, for each measure. */
    int64_t rows[CS_SHAPE_MEASURES];
    /** Rows of two-NN. */
    int64_t sampled;
    /** Sampled rows that repeat an earlier one. */
    int64_t duplicates;
    /** The measures. */
    double value[CS_SHAPE_MEASURES];
    /** Standard errors; NaN without blocks. */
    double se[CS_SHAPE_MEASURES];
    /** Number of blocks. */
    int64_t blocks;
    /** blocks x CS_SHAPE_MEASURES, row-major: the measures without each block. */
    double *left_out;
    /** Partition of the sampled rows into blocks (cs_row_partition). */
    char partition[33];
} cs_shape;

/** Computes all measures. With blocks all of them use the sampled rows and take blocks + 1 times as
 * long. Errors of cs_two_nn_of and cs_isotropy_of.
 *
 * \retval CS_ERR_USAGE an option is out of range
 * \retval CS_ERR_INPUT fewer than three rows are left without a block
 */
cs_status cs_shape_of(const cs_rows *rows, const cs_shape_options *options,
                      cs_shape *out) CS_MUST_CHECK;

/** Frees the measures; accepts a zeroed object. */
void cs_shape_free(cs_shape *shape);

/** Appends an object for each measure to the array `metrics`: of, name, definition, n, value, se,
 * and for tables the values without each block.
 */
void cs_shape_record(const cs_shape *shape, const cs_shape_options *options, const char *of,
                     cs_item *metrics);
