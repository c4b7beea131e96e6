/** \file
 * Sums over the spectrum without a spectrum (docs/explanation/spectra.md, "Moments"):
 *
 * \f[ \sum_j \sigma_j^2 = \|\bar A\|_F^2, \qquad \sum_j \sigma_j^4 = \|\bar A^T \bar A\|_F^2. \f]
 *
 * The first is exact from the nonzeros. The second is exact by walks of length four if that is
 * cheap enough, else an estimate with its interval. With it the tail in Theorem 4.1 follows from
 * the largest t values:
 *
 * \f[ \sum_{j > t} \sigma_j^4 = \sum_j \sigma_j^4 - \sum_{j \le t} \sigma_j^4. \f]
 */
#pragma once

#include <stdint.h>

#include "base/progress.h"
#include "base/status.h"
#include "dist/comm.h"
#include "linalg/csr.h"
#include "linalg/linop.h"

/** \f$\|\bar A\|_F^2\f$ of a normalised matrix, with compensated summation; of a Gram form its
 * trace.
 */
double cs_moment2(const cs_csr *abar);

/** Cost of the exact fourth moment. */
typedef struct {
    /** Multiply-adds of a sparse walk; frequent tokens are processed eight at a time, faster. */
    double multiply_adds;
    /** Most bytes in addition to the matrix, without 2 MB for each thread. */
    double bytes;
} cs_moment4_cost;

/** The cost, exact in multiply-adds and 0 for a Gram form. It is at most half of the sum of d (d +
 * 1) over the degrees d of rows, or of columns. For a matrix before lumping it is nearly an upper
 * bound. O(nnz), 64 bytes for each row and column.
 *
 * \retval CS_ERR_INPUT more than 2^31 - 1 rows or columns
 * \retval CS_ERR_MEMORY memory is exhausted
 */
cs_status cs_moment4_cost_of(const cs_csr *a, cs_moment4_cost *out) CS_MUST_CHECK;

/** Default limit of multiply-adds of the exact sum: about a minute on one core. */
static const double CS_MOMENT4_BUDGET = 2e10;

/** Limit of multiply-adds of the exact sum where it is used sparingly, unless it decides a
 * certificate: about a third of a second.
 */
static const double CS_MOMENT4_CHEAP = 1e8;

/** The exact fourth moment, within cs_moment4_cost_of. The bits do not depend on the number of
 * threads. Entries may be negative. Relative rounding error: at most (4 d + 300) 1.1e-16 for
 * nonnegative entries, d the largest degree; in practice about the root of that factor.
 *
 * \param a the normalised matrix
 * \param threads 0: cs_threads()
 * \param progress callback, or NULL
 * \param out receives the sum
 * \retval CS_ERR_INPUT more than 2^31 - 1 rows or columns
 * \retval CS_ERR_MEMORY memory is exhausted
 * \retval CS_ERR_INTERRUPT the interrupt flag is set
 */
cs_status cs_moment4(const cs_csr *a, int threads, const cs_progress *progress,
                     double *out) CS_MUST_CHECK;

enum {
    /** Default number of samples of an estimate. */
    CS_MOMENT4_SAMPLES = 64,
    /** Default number of vectors that are known or sketched. */
    CS_MOMENT4_SKETCH = 32,
};

/** The sum of sigma^4 and how it was computed. */
typedef struct {
    /** The sum. */
    double value;
    /** Lower end of its interval; exact: the value. */
    double low;
    /** Upper end. */
    double high;
    /** Standard error; exact: 0. */
    double error;
    /** Level of the interval. */
    double level;
    /** Random vectors; exact: 0. */
    int64_t samples;
    /** Sketched vectors that were projected out. */
    int64_t sketch;
    /** Known vectors that were projected out. */
    int64_t known;
    /** Seed of the vectors. */
    uint64_t seed;
    /** Multiply-adds used. */
    double spent;
    /** The sum exceeds the range of double, and the numbers above are NaN. */
    bool out_of_range;
} cs_sum4;

/** Options of an estimate. */
typedef struct {
    /** At least 2. */
    int64_t samples;
    /** Most vectors that are known or sketched, in total; 0: no sketch. */
    int64_t sketch;
    /** Level of the interval, in (0, 1); 0: 0.95. */
    double level;
    /** Seed of the vectors. */
    uint64_t seed;
    /** 0: cs_threads(). */
    int threads;
    /** Known right singular vectors, cols x p, orthonormal; or NULL. Borrowed. */
    const cs_dense *v;
    /** Their p singular values. */
    const double *sigma;
    /** Callback, or NULL. */
    const cs_progress *progress;
} cs_moment4_sampling;

/** Estimates the fourth moment from sign vectors z (Hutchinson, Commun. Stat. Simul. 18, 1989)
 * after a low-rank part is projected out (Hutch++: Meyer, Musco, Musco and Woodruff, SOSA 2021).
 * With \f$M = (\bar A^T \bar A)^2\f$ and any orthonormal Q,
 *
 * \f[ \sum_j \sigma_j^4 = \mathrm{tr}\, M = \mathrm{tr}\, Q^T M Q + E\, z^T (I - Q Q^T) M (I - Q Q^T) z. \f]
 *
 * Q holds the known vectors and an orthonormal basis of M S, S random signs. The first term is
 * exact; the second is the mean of the samples with Student's interval. Given Q the mean is
 * unbiased. The level is accurate for nearly normal samples, and sketching removes the large
 * values that would make them skewed. Vector i depends only on (seed, i), and bits do not depend
 * on the number of threads.
 *
 * Cost: 2 nnz multiply-adds a sample, 6 nnz a sketched vector, cols (samples + sketch)(p + sketch)
 * for the projections. Memory: 24 vectors of length cols, 2 (p + sketch) more with a sketch, and
 * cs_csr_normal_work_size doubles.
 *
 * \param abar the normalised matrix
 * \param abar_t its transpose
 * \param out receives the estimate
 * \retval CS_ERR_USAGE fewer than 2 samples, or a level outside (0, 1)
 * \retval CS_ERR_MEMORY memory is exhausted
 * \retval CS_ERR_INTERRUPT the interrupt flag is set
 */
cs_status cs_moment4_estimate(const cs_csr *abar, const cs_csr *abar_t,
                              const cs_moment4_sampling *sampling, cs_sum4 *out) CS_MUST_CHECK;

/** A matrix given by its products. In a group of processes each holds its cs_comm_slice of every
 * right vector, also of cs_moment4_sampling.v, and any part of the left ones.
 */
typedef struct {
    /** The operator between the local parts. */
    const cs_linop *op;
    /** The group; NULL: one process. */
    cs_comm *comm;
    /** Columns over all processes. */
    int64_t cols;
    /** Multiply-adds of a product over all processes. */
    double nnz;
} cs_moment4_operator;

/** The same estimate for an operator, from the same random vectors; over a group it differs by
 * rounding. All ranks call it and receive the same bits. Each needs `cols` doubles more and sends 16
 * cols (samples + 3 sketch) bytes. A failure that was not agreed on belongs to this rank.
 */
cs_status cs_moment4_estimate_over(const cs_moment4_operator *a,
                                   const cs_moment4_sampling *sampling, cs_sum4 *out) CS_MUST_CHECK;

/** Bytes, at most, that it takes on a process of a group: `known` of the sampling's vectors, of `cols`
 * entries in all, are known, and `left` and `right` entries of a vector are here.
 */
double cs_moment4_estimate_bytes(const cs_moment4_sampling *sampling, int64_t cols, int64_t known,
                                 double left, double right);

/** `value` as an exact sum that took `spent` multiply-adds. */
cs_sum4 cs_sum4_exact(double value, double spent);
