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

/* Multiply-adds that the exact fourth moment costs on the cheaper side. */
double cs_moment4_cost(const cs_csr *abar, const cs_csr *abar_t);

/* Exact, row by row of the Gram matrix with one dense accumulator a thread; same bits for any
 * thread count. */
cs_status cs_moment4(const cs_csr *abar, const cs_csr *abar_t, int threads,
                     const cs_progress *progress, double *out) CS_MUST_CHECK;

/* Hutchinson estimate from `samples` sign vectors and its standard error. */
cs_status cs_moment4_estimate(const cs_csr *abar, const cs_csr *abar_t, int64_t samples,
                              uint64_t seed, int threads, double *mean,
                              double *standard_error) CS_MUST_CHECK;

#endif
