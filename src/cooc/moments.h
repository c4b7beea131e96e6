/* Sums over the spectrum without a spectrum (theory 2, moment certificates).
 *
 *   sum sigma^2 = ||Abar||_F^2             exactly, from the nonzeros
 *   sum sigma^4 = ||Abar^T Abar||_F^2      exactly, from the sparse Gram matrix of the cheaper
 * side, or by Hutchinson: E_z ||Abar^T Abar z||^2 with z of random signs
 */
#ifndef CS_COOC_MOMENTS_H
#define CS_COOC_MOMENTS_H

#include <stdint.h>

#include "base/progress.h"
#include "base/status.h"
#include "linalg/csr.h"

/* ||A||_F^2, compensated; `abar` is an already normalised matrix. */
double cs_moment2(const cs_csr *abar);

/* Multiply-adds that the exact fourth moment costs on the cheaper side: half of sum_j d_j (d_j + 1)
 * over the columns (Gram matrix of the rows) or over the rows (Gram matrix of the columns), d_j the
 * number of entries. */
double cs_moment4_cost(const cs_csr *abar, const cs_csr *abar_t);

/* The same from a matrix alone, by counting its columns: what a run may cost, told before it. For
 * the matrix before lumping it is an upper bound. O(nnz), cols int64. CS_ERR_MEMORY. */
cs_status cs_moment4_cost_of(const cs_csr *a, double *out) CS_MUST_CHECK;

/* Up to this many multiply-adds (a minute on one core) the exact sum is taken unless a caller says
 * otherwise. */
static const double CS_MOMENT4_BUDGET = 2e10;

/* Exact, row by row of the Gram matrix with one dense accumulator a thread (9 bytes x the Gram
 * matrix' order); same bits for any thread count. abar_t is the transpose. Entries may be negative.
 * CS_ERR_MEMORY, CS_ERR_INTERRUPT. */
cs_status cs_moment4(const cs_csr *abar, const cs_csr *abar_t, int threads,
                     const cs_progress *progress, double *out) CS_MUST_CHECK;

typedef struct {
    int64_t samples; /* >= 2 */
    uint64_t seed;
    int threads;
    const cs_dense *v;   /* known right singular vectors, cols x p orthonormal, or NULL */
    const double *sigma; /* their p singular values */
} cs_moment4_sampling;

/* Hutchinson estimate from sign vectors and its standard error (Hutchinson, Commun. Stat. Simul.
 * 18, 1989). Known vectors are taken out of the samples:
 *   sum sigma^4 = sum_known sigma_j^4 + E ||Abar^T Abar (I - V V^T) z||^2,
 * whose variance is that of the unknown tail alone; the mean includes the known part. Sample i
 * depends on (seed, i) alone. Cost 2 nnz multiply-adds a sample; memory 16 vectors of either side.
 * CS_ERR_USAGE for fewer than 2 samples, CS_ERR_MEMORY. */
cs_status cs_moment4_estimate(const cs_csr *abar, const cs_csr *abar_t,
                              const cs_moment4_sampling *sampling, double *mean,
                              double *standard_error) CS_MUST_CHECK;

#endif
