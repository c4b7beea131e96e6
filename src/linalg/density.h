/* Spectral density of an operator too large for an SVD, with error bars: stochastic Lanczos
 * quadrature (Ubaru, Chen and Saad, SIAM J. Matrix Anal. Appl. 38, 2017) on A^T A.
 *
 * With the p known right singular vectors V taken out of independent sign vectors z,
 *
 *   sum_j f(sigma_j^2) = sum_known f + E z' P f(A^T A) P z,      P = I - V V^T,
 *
 * over all singular values on A's column side, zeros included. q Lanczos steps from P z give the
 * measure of one sample through its moments to degree 2 q. Two errors remain, and every
 * interval includes both:
 *
 * sampling    The mean of the samples with its standard error s / sqrt(samples) and Student's
 *             factor t for the level: about the level when the samples are near normal. A count of
 *             one or two values, not deflated, is a skewed chi-square and covered a few per cent
 *             less often; known vectors take it away.
 * quadrature  Never estimated, but bounded sample by sample:
 *             - polynomials in sigma^2 up to degree 2 q - 1, so sum sigma^2 and sum sigma^4: exact;
 *             - counts and partial sums of sigma^4: the Chebyshev-Markov-Stieltjes inequalities
 *               (jacobi.h), the best bounds there are from the moments known;
 *             - the smoothed density: 2 mu(R) E, E the error of the best polynomial of degree
 *               2 q - 1 in sigma^2 to the kernel g(sigma) = G(sigma - x) + G(sigma + x), G normal
 *               with deviation h. On the ellipse with half axis T sinh u, |g| <= 2 G(0)
 *               exp(T^2 sinh(u)^2 / (2 h^2)), and g is even, so for every u > 0
 *                 E <= 4 G(0) exp(T^2 sinh(u)^2 / (2 h^2) - 4 q u) / (1 - exp(-2 u)),
 *               about exp(-8 (q h / T)^2) at the best u; T bounds every value not known.
 *             All three vanish for a sample whose Krylov space ended (q at least the number of
 *             distinct values): its rule is the measure itself.
 *
 * Rounding is allowed for with 1e-12 of each sample's mass.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/mem.h"
#include "base/progress.h"
#include "base/status.h"
#include "linalg/dense.h"
#include "linalg/linop.h"

/* Known right singular vectors, orthonormal, in blocks: v[b], start[b + 1] - start[b] rows, holds
 * columns of V that are zero but in the entries start[b] .. start[b + 1] - 1 (one block: all of V).
 * sigma: the values of all blocks' columns in any order. */
typedef struct {
    int64_t blocks, count;
    const int64_t *start;
    const cs_dense *v;
    const double *sigma;
} cs_density_known;

typedef struct {
    int64_t samples;               /* >= 2 */
    int64_t degree;                /* Lanczos steps q, >= 4 */
    double top;                    /* T: no value that is not known is larger; > 0 */
    bool gram;                     /* the operator is A^T A itself, symmetric */
    double width;                  /* h; 0: 1.5 T / q */
    double level;                  /* of the intervals; 0: 0.95 */
    const cs_density_known *known; /* or NULL */
    int64_t points;
    const double *x; /* points values >= 0 of sigma at which the curves are wanted */
    uint64_t seed;
    int threads;
    const cs_progress *progress;
} cs_density_options;

/* low <= high; value lies between. */
typedef struct {
    double value, low, high;
} cs_interval;

typedef struct {
    int64_t dimension, known; /* singular values in all (A's columns), and those known */
    int64_t points;
    cs_interval *density;      /* of all values, per unit of sigma, smoothed with h */
    cs_interval *above;        /* N(sigma > x) */
    cs_interval *fourth_below; /* sum of sigma^4 over sigma <= x */
    cs_interval rest2, rest4;  /* sum sigma^2, sum sigma^4 of the values not known */
    double rest4_error;        /* standard error of rest4.value */
    double width, bias;        /* h; the bound on the density's quadrature error */
    double factor;             /* Student's t */
    int64_t ended; /* samples whose Krylov space ended: no quadrature error is left in them */
    cs_pool pool;  /* of the arrays */
} cs_density;

void cs_density_free(cs_density *density);

/* Doubles of scratch beside the operator's own: what one group of samples takes. */
double cs_density_room(int64_t rows, int64_t cols, int64_t degree);

/* The curves, counts and sums above for A's column side: give the transpose where rows are fewer.
 * Sample i depends on (seed, i) alone, and the bits on nothing else: not on the threads, nor, up to
 * rounding of the means, on how many samples are drawn.
 *
 * Cost: 2 samples q operator columns, 2 samples cols q (q + p) multiply-adds for the
 * orthogonalisation, samples points q^2 for the bounds. Memory: cs_density_room.
 * CS_ERR_USAGE names a sample count, degree, top, width, level or point out of range, or known
 * vectors that do not fit; CS_ERR_INPUT a product that is not finite; CS_ERR_MEMORY,
 * CS_ERR_INTERRUPT. */
cs_status cs_density_of(const cs_linop *a, const cs_density_options *options,
                        cs_density *out) CS_MUST_CHECK;
