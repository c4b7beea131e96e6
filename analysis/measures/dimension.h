/* Measures of the shape of a cloud of rows, beside its ranks.
 *
 * Spectral decay: alpha of lambda_k = c k^-alpha, least squares of ln lambda_k on ln k over a range
 * of k (Stringer et al., Nature 571, 2019: ranks 11 to 500 of neural responses; alpha-ReQ, Agrawal,
 * Mondal, Ghosh and Richards, NeurIPS 2022, uses it to compare representations; alpha near 1 is
 * their mark of a good one). Slope of the raw spectrum, not cross-validated as Stringer's.
 *
 * Two-NN intrinsic dimension (Facco, d'Errico, Rodriguez and Laio, Sci. Rep. 7, 2017): mu_i = ratio
 * of the distances of row i to its second and first nearest rows; -ln(1 - F(mu)) = dim ln mu,
 * fitted through the origin over the smallest share 1 - discard of the N ratios, F(mu_(i)) = i / N.
 * N counts the distinct rows: of those that are equal one alone is taken, as centre and as neighbour
 * (with a copy beside it a row would be two neighbours at one distance, mu = 1). Constant density out to
 * the second neighbour is assumed; underestimates high dimensions at small N.
 *
 * Isotropy: mean cosine of all pairs of rows (Ethayarajh, EMNLP 2019), 0 when directions cancel,
 * and Mu and Viswanath's I = min_c Z(c) / max_c Z(c), Z(c) = sum_i exp(<c, x_i>) over the unit
 * eigenvectors c of X^T X (All-but-the-Top, ICLR 2018, after Arora et al. 2016), 1 when isotropic.
 * The sign of an eigenvector is free, so both c and -c are taken; Z is not scale-free: rows are
 * taken divided by their root mean square norm unless `raw`.
 */
#pragma once

#include <stdint.h>

#include "base/status.h"
#include "io/result.h"
#include "io/rows.h"

enum { CS_DECAY_FIRST = 11, CS_DECAY_LAST = 500 };

/* Over k = first..last (counted from 1) as far as lambda is positive; *r2 (may be NULL) the share
 * of variance explained. NaN for fewer than two values. */
double cs_spectral_decay(int64_t count, const double *lambda, int64_t first, int64_t last,
                         double *r2);

typedef struct {
    double dimension;   /* NaN when no ratio differs from 1 */
    int64_t used;       /* ratios fitted */
    int64_t duplicates; /* rows left out since they repeat one before them */
} cs_two_nn;

/* rows: at least 3; discard in [0, 1), 0.1 in the paper. Distances in double. n^2 d
 * flops, memory 24 n d bytes. CS_ERR_INPUT for fewer rows, values not finite. */
cs_status cs_two_nn_of(const cs_rows *rows, double discard, int threads,
                       cs_two_nn *out) CS_MUST_CHECK;

typedef struct {
    double mean_cosine; /* of pairs i < j of rows that are not 0; NaN for fewer than two */
    double partition;   /* min Z / max Z */
    double scale;       /* by which rows were divided for Z */
} cs_isotropy;

/* raw: rows as they are for Z. 2 n d^2 flops, streaming. Bits do not depend on threads: BLAS is
 * given one meanwhile. */
cs_status cs_isotropy_of(const cs_rows *rows, bool raw, int threads,
                         cs_isotropy *out) CS_MUST_CHECK;

/* The measures of a shape together. */
enum { CS_SHAPE_DIMENSION, CS_SHAPE_COSINE, CS_SHAPE_PARTITION, CS_SHAPE_MEASURES };

typedef struct {
    double discard; /* two-NN */
    int64_t
        sample; /* rows at most, evenly spaced, that two-NN takes: its time grows with their square */
    int64_t blocks; /* of the jackknife, of consecutive rows; 1: none */
    int threads;
} cs_shape_options;

typedef struct {
    int64_t rows[CS_SHAPE_MEASURES]; /* measured */
    int64_t sampled, duplicates;     /* rows that repeat one before them, of those sampled */
    double value[CS_SHAPE_MEASURES], se[CS_SHAPE_MEASURES]; /* se: NaN without blocks */
    int64_t blocks;
    double *left_out; /* blocks x CS_SHAPE_MEASURES: everything anew without each block */
} cs_shape;

/* With blocks all measures are of the sampled rows, and take B + 1 times as long. Errors of cs_two_nn_of
 * and cs_isotropy_of. */
cs_status cs_shape_of(const cs_rows *rows, const cs_shape_options *options,
                      cs_shape *out) CS_MUST_CHECK;
void cs_shape_free(cs_shape *shape);

/* A row a measure into `metrics`: of, name, definition, n, value, se, and for tables what is left without
 * each block. */
void cs_shape_record(const cs_shape *shape, const cs_shape_options *options, const char *of,
                     cs_item *metrics);
