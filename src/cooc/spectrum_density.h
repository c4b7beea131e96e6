/* Spectral density of Abar if the full SVD is too expensive (linalg/density.h), on the matrix after
 * the exact reductions (reduce.h), with every known triplet deflated: the closed forms of
 * components and the top k from the solver.
 *
 * The tail of Theorem 4.1 at t <= k is then
 *   sum_{j>t} sigma_j^4 = sum_{known, j>t} sigma_j^4 + (the estimate of the rest),
 * and, if the sparse Gram matrix is within the budget, exact as well. */
#pragma once

#include <stdint.h>

#include "cooc/spectrum.h"
#include "linalg/density.h"

typedef struct {
    /* k is the number of top triplets to compute (0: only the closed forms); values_only, probe and
     * moment4 are ignored. */
    cs_spectrum_options spectrum;
    int64_t samples, degree, bins;
    double width, level; /* 0: the defaults of linalg/density.h */
} cs_spectrum_density_options;

typedef struct {
    int64_t rows, cols, nnz, components, lumped_rows, lumped_cols;
    double top; /* bound on every singular value; the curves run from 0 to it */
    double *x;  /* density.points = bins + 1 values of sigma, 0 .. top */
    /* dimension: the smaller side after lumping; zeros beyond it are not counted */
    cs_density density;
    int64_t k; /* top triplets: sigma[0 .. k - 1], descending; tails exist for t = 0..k */
    double *sigma;
    double residual;        /* their largest residual through the full Abar */
    cs_interval *tail;      /* k + 1: sum_{j>t} sigma_j^4 */
    double *tail_exact;     /* k + 1, NULL when sum_sigma4 is not exact */
    double sum_sigma2;      /* exact */
    double sum_sigma4;      /* exact, NaN above the budget */
    double sum_sigma4_cost; /* multiply-adds of the exact sum */
    cs_interval sum2, sum4; /* estimates, for comparison with the exact ones */
} cs_spectrum_density;

void cs_spectrum_density_free(cs_spectrum_density *density);

/* Computes everything above. A normalised input is bounded by `top` through Collatz and Wielandt:
 * lambda_max(B) <= max_i (B x)_i / x_i for B = |Abar|^T |Abar| and any x > 0. seed fixes the sign
 * vectors and the start of the solver; the bits of estimates do not depend on the threads, those of
 * solved triplets do by rounding.
 *
 * Time: the reductions, the solver for k triplets, cs_density_of, and up to the budget of
 * multiply-adds of the fourth moment. Memory: that of cs_spectrum_of for k, and cs_density_bytes.
 *
 * CS_ERR_USAGE: k negative or above min(rows, cols), bins below 1 or an option of linalg/density.h
 * out of range; CS_ERR_INPUT and CS_ERR_MEMORY as cs_spectrum_of; CS_ERR_CONVERGE if the solver
 * does not reach its tolerance: request fewer triplets; CS_ERR_INTERRUPT. */
cs_status cs_spectrum_density_of(const cs_csr *a, const cs_spectrum_density_options *options,
                                 cs_spectrum_density *out) CS_MUST_CHECK;
