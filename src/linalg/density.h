/** \file
 * Spectral density of an operator that is too large for an SVD, with error bars: stochastic
 * Lanczos quadrature on A^T A (Ubaru, Chen and Saad, SIAM J. Matrix Anal. Appl. 38, 2017).
 *
 * With p known right singular vectors V projected out of independent sign vectors z,
 *
 * \f[ \sum_j f(\sigma_j^2) = \sum_{\mathrm{known}} f + E\, z^T P f(A^T A) P z, \qquad P = I - V V^T, \f]
 *
 * over all singular values on the column side of A, zeros included. q Lanczos steps from P z give
 * the measure of a sample through its moments to degree 2 q. Every interval includes two errors:
 *
 * - Sampling: the standard error of the mean and Student's factor for the level. The level is
 *   accurate for nearly normal samples. A count of one or two values is a skewed chi-square and is
 *   covered a few per cent less often; known vectors remove it.
 * - Quadrature, bounded for each sample. Polynomials in sigma^2 up to degree 2 q - 1, so sums of
 *   sigma^2 and sigma^4, are exact. Counts and partial sums of sigma^4 use the
 *   Chebyshev-Markov-Stieltjes inequalities, the best bounds from known moments. The smoothed
 *   density has the error 2 mu(R) E, where E bounds the best polynomial approximation, of degree 2
 *   q - 1 in sigma^2, to \f$g(\sigma) = G(\sigma - x) + G(\sigma + x)\f$, G normal with deviation
 *   h: for every u > 0
 *
 * \f[ E \le \frac{4\, G(0) \exp\big( T^2 \sinh^2 u / (2 h^2) - 4 q u \big)}{1 - \exp(-2u)}, \f]
 *
 * about \f$\exp(-8 (q h / T)^2)\f$ at the best u; T bounds every value that is not known. The
 * quadrature error vanishes for a sample whose Krylov space is exhausted.
 *
 * Rounding is included as 1e-12 of the mass of each sample.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/mem.h"
#include "base/progress.h"
#include "base/status.h"
#include "linalg/dense.h"
#include "linalg/linop.h"

/** Known right singular vectors, orthonormal, in blocks: v[b] has start[b + 1] - start[b] rows and
 * holds columns of V that are zero outside the entries start[b] .. start[b + 1] - 1. One block:
 * all of V. Borrowed.
 */
typedef struct {
    /** Number of blocks. */
    int64_t blocks;
    /** Number of vectors. */
    int64_t count;
    /** blocks + 1 entries. */
    const int64_t *start;
    /** blocks matrices. */
    const cs_dense *v;
    /** count singular values, in any order. */
    const double *sigma;
} cs_density_known;

/** Options of cs_density_of. */
typedef struct {
    /** Number of sign vectors, at least 2. */
    int64_t samples;
    /** Lanczos steps q, at least 4. */
    int64_t degree;
    /** T > 0: no singular value that is not known is larger. */
    double top;
    /** The operator is A^T A itself, symmetric. */
    bool gram;
    /** h > 0; 0: 1.5 T / q. */
    double width;
    /** Level of the intervals, in (0, 1); 0: 0.95. */
    double level;
    /** Known vectors, or NULL. */
    const cs_density_known *known;
    /** Number of points. */
    int64_t points;
    /** points values >= 0 of sigma at which the curves are evaluated; borrowed. */
    const double *x;
    /** Seed of the sign vectors. */
    uint64_t seed;
    /** 0: cs_threads(). */
    int threads;
    /** Callback, or NULL. */
    const cs_progress *progress;
} cs_density_options;

/** An estimate with its interval: low <= value <= high. */
typedef struct {
    /** The estimate. */
    double value;
    /** Lower end. */
    double low;
    /** Upper end. */
    double high;
} cs_interval;

/** A spectral density. Free it with cs_density_free. */
typedef struct {
    /** Number of singular values: columns of A. */
    int64_t dimension;
    /** Number of known ones. */
    int64_t known;
    /** Number of points. */
    int64_t points;
    /** points: density of all values per unit of sigma, smoothed with h. */
    cs_interval *density;
    /** points: number of values above x. */
    cs_interval *above;
    /** points: sum of sigma^4 over sigma <= x. */
    cs_interval *fourth_below;
    /** Sum of sigma^2 of the values that are not known. */
    cs_interval rest2;
    /** Sum of sigma^4 of the values that are not known. */
    cs_interval rest4;
    /** Standard error of rest4.value. */
    double rest4_error;
    /** h. */
    double width;
    /** Bound on the quadrature error of the density. */
    double bias;
    /** Student's factor. */
    double factor;
    /** Samples whose Krylov space was exhausted, without quadrature error. */
    int64_t ended;
    /** Owns the arrays. */
    cs_pool pool;
} cs_density;

/** Frees a density; accepts a zeroed object. */
void cs_density_free(cs_density *density);

/** Doubles of scratch of cs_density_of in addition to those of the operator. */
double cs_density_bytes(int64_t rows, int64_t cols, int64_t degree);

/** Curves, counts and sums for the column side of A; pass the transpose if it has fewer rows than
 * columns. Sample i depends only on (seed, i); bits do not depend on the number of threads.
 *
 * Cost: 2 samples q operator columns, 2 samples cols q (q + p) multiply-adds of orthogonalisation,
 * samples points q^2 for the bounds.
 *
 * \param out receives the density
 * \retval CS_ERR_USAGE an option is out of range, or known vectors do not match
 * \retval CS_ERR_INPUT a product is not finite
 * \retval CS_ERR_MEMORY memory is exhausted
 * \retval CS_ERR_INTERRUPT the interrupt flag is set
 */
cs_status cs_density_of(const cs_linop *a, const cs_density_options *options,
                        cs_density *out) CS_MUST_CHECK;
