/* Sums over the spectrum without a spectrum (spectra.md, Moments).
 *
 *   sum sigma^2 = ||Abar||_F^2             exactly, from the nonzeros
 *   sum sigma^4 = ||Abar^T Abar||_F^2      exactly, by walks of length four, where that is cheap
 *                                          enough; else an estimate with its interval
 *
 * and with it the tail of Theorem 4.1 from the top t values alone,
 *
 *   sum_{j>t} sigma_j^4 = sum sigma^4 - sum_{j<=t} sigma_j^4.
 */
#pragma once

#include <stdint.h>

#include "base/progress.h"
#include "base/status.h"
#include "dist/comm.h"
#include "linalg/csr.h"
#include "linalg/linop.h"

/* ||A||_F^2, compensated; `abar` is an already normalised matrix. Of a Gram form of its own order its
 * trace. */
double cs_moment2(const cs_csr *abar);

/* What the exact fourth moment takes. */
typedef struct {
    double multiply_adds; /* those of a sparse walk; frequent tokens go eight at a time, faster */
    double bytes;         /* beside the matrix, at the most; 2 MB a thread come to it */
} cs_moment4_cost;

/* The multiply-adds to the last one, none of a Gram form: at most half of sum d (d + 1) over the degrees d
 * of the rows, or of the columns, and about the sum over the entries of the smaller of their two degrees
 * (moments_plan.c). For a matrix before lumping it is an upper bound, near enough: lumping shortens every
 * walk but may change their order. O(nnz), 64 bytes a row and column. CS_ERR_INPUT beyond 2^31 - 1 rows or
 * columns, CS_ERR_MEMORY. */
cs_status cs_moment4_cost_of(const cs_csr *a, cs_moment4_cost *out) CS_MUST_CHECK;

/* Up to this many multiply-adds (about a minute on one core) the exact sum is taken unless a caller
 * says otherwise. */
static const double CS_MOMENT4_BUDGET = 2e10;

/* And this many (a third of a second) where it is taken sparingly, unless it decides something. */
static const double CS_MOMENT4_CHEAP = 1e8;

/* Exact, in the time and memory of cs_moment4_cost_of; same bits for any thread count. Entries may
 * be negative. Relative rounding error: at most (4 d + 300) units of 1.1e-16 when none is, d the
 * largest degree; about their root in practice. CS_ERR_INPUT as there, CS_ERR_MEMORY,
 * CS_ERR_INTERRUPT. */
cs_status cs_moment4(const cs_csr *a, int threads, const cs_progress *progress,
                     double *out) CS_MUST_CHECK;

/* Samples of an estimate and the vectors that are to be known or sketched beside them, unless a
 * caller says otherwise. */
enum { CS_MOMENT4_SAMPLES = 64, CS_MOMENT4_SKETCH = 32 };

/* The sum and how it was computed. */
typedef struct {
    double value, low, high;        /* exact: low = value = high */
    double error;                   /* standard error; exact: 0 */
    double level;                   /* of the interval */
    int64_t samples, sketch, known; /* random vectors; those sketched and known taken out before;
                                       exact: 0 samples */
    uint64_t seed;
    double spent;      /* multiply-adds that it took */
    bool out_of_range; /* of doubles: the numbers above are NaN */
} cs_sum4;

typedef struct {
    int64_t samples; /* >= 2 */
    int64_t sketch;  /* at most this many vectors are known or sketched in all; 0: no sketch */
    double level;    /* of the interval; 0: 0.95 */
    uint64_t seed;
    int threads;
    const cs_dense *v;   /* known right singular vectors, cols x p orthonormal, or NULL */
    const double *sigma; /* their p singular values */
    const cs_progress *progress;
} cs_moment4_sampling;

/* Estimate from sign vectors z (Hutchinson, Commun. Stat. Simul. 18, 1989) of what a low rank part
 * leaves over (Hutch++: Meyer, Musco, Musco and Woodruff, SOSA 2021). With M = (Abar^T Abar)^2 and
 * any orthonormal Q,
 *
 *   sum sigma^4 = tr M = tr Q^T M Q + E z^T (I - Q Q^T) M (I - Q Q^T) z.
 *
 * Q holds the known vectors and an orthonormal basis of M S beside them, S of random signs; the
 * first term is exact, the second the mean of the samples, its interval Student's. Given Q the mean
 * has no bias and its variance is that of the remainder alone; the interval's level is as good as
 * the samples are normal, which they are the nearer the flatter the remainder: sketching takes away
 * the few large values that would make them skewed. Vector i of either kind depends on (seed, i)
 * alone, and the bits not on the threads.
 *
 * Cost: 2 nnz multiply-adds a sample, 6 nnz a sketched vector, cols (samples + sketch)(p + sketch)
 * for the projections; memory: 24 vectors of the columns' side, 2 (p + sketch) more with a sketch,
 * and the room of the product with A^T A (cs_csr_normal_room; of a group, 8 vectors of the rows').
 * CS_ERR_USAGE for fewer than 2 samples or a level not in (0, 1), CS_ERR_MEMORY, CS_ERR_INTERRUPT.
 */
cs_status cs_moment4_estimate(const cs_csr *abar, const cs_csr *abar_t,
                              const cs_moment4_sampling *sampling, cs_sum4 *out) CS_MUST_CHECK;

/* A matrix by its products. In a group of processes each has what cs_comm_slice gives it of every
 * right vector, so of sampling->v too, and any part of the left ones. */
typedef struct {
    const cs_linop *op; /* between the parts that are here */
    cs_comm *comm;      /* NULL: they are the whole */
    int64_t cols;       /* of all processes */
    double nnz;         /* multiply-adds of a product, of all processes */
} cs_moment4_operator;

/* The same estimate, from the same random vectors: over a group it differs by rounding. Collective;
 * all ranks receive the same bits. Besides, each needs `cols` doubles, and for a sketch p + sketch
 * columns of the whole length; sends 16 cols (samples + 3 sketch) bytes, and with a sketch 8 cols
 * (p + sketch). A failure that is not agreed on is this rank's own. */
cs_status cs_moment4_estimate_over(const cs_moment4_operator *a,
                                   const cs_moment4_sampling *sampling, cs_sum4 *out) CS_MUST_CHECK;

/* `value` as an exact sum that took `spent` multiply-adds. */
cs_sum4 cs_sum4_exact(double value, double spent);
