/** \file
 * Effective ranks of a matrix of hidden states H (n x d), from the eigenvalues
 * \f$\lambda_k = \sigma_k^2\f$ of H^T H, k = 1..min(n, d), descending.
 *
 * - rank_tau: least k with \f$\sum_{i \le k} \lambda_i \ge \tau \sum_i \lambda_i\f$ (MAE-LM,
 *   Figure 1; tau = 0.9)
 * - rank_tau_interpolated: the same, linear between k - 1 and k
 * - entropy_rank: \f$\exp(-\sum p_k \ln p_k)\f$, \f$p_k = \sigma_k / \sum \sigma\f$ (Roy and
 *   Vetterli, EUSIPCO 2007)
 * - entropy_rank_squared: the same with \f$p_k = \lambda_k / \sum \lambda\f$
 * - rankme: the same with \f$p_k = \sigma_k / \sum \sigma + \epsilon\f$, not renormalised
 *   (Garrido, Balestriero, Najman and LeCun, ICML 2023; eps = 1e-7)
 * - participation_ratio: \f$(\sum \lambda)^2 / \sum \lambda^2\f$
 * - stable_rank: \f$\sum \lambda / \lambda_1\f$ (Rudelson and Vershynin, JACM 54(4), 2007)
 * - numerical_rank: number of sigma_k above a tolerance
 * - decay_exponent: alpha of \f$\lambda_k \sim k^{-\alpha}\f$ (analysis/measures/dimension.h)
 * - rank_tau_corrected: \f$B \theta - (B - 1)\, \overline{\theta_b}\f$, theta the interpolated
 *   rank_tau and theta_b that without block b (Quenouille, Biometrika 43, 1956). Ranks grow with
 *   n, and this removes the part of the bias that decreases as 1/n: it estimates the rank of the
 *   population, the others that at n. Clipped to [tau, tau d], the range of the population value.
 *
 * Standard errors: delete-block jackknife over the groups of the Gram blocks. The error of
 * rank_tau is that of the interpolated one; counts have none.
 *
 * The error of rank_tau_corrected is, over P = min(B, 10) parts of consecutive blocks, with
 * theta_pq without the parts p and q,
 *
 * \f[ \mathrm{se}^2 = \frac{P-1}{P} \sum_p (c_p - \bar c)^2 - v + (c'' - c)^2, \qquad c_p = (P-1)\, \theta_p - (P-2)\, t_p, \f]
 * \f[ c'' = \tfrac12 \big( P^2 \theta - 2 (P-1)^2\, \overline{\theta_p} + (P-2)^2\, \overline{t_p} \big), \f]
 *
 * where t_p is the mean of theta_pq over q. With the interaction d_pq = theta_pq - theta_p -
 * theta_q + theta, t_p = theta_p - theta + mean_{q != p} theta_q + mean_q d_pq. Only d_pq needs
 * pairs, and it is small, so its mean is over m of the P - 1 others: the two neighbours of p on a
 * circle of parts, or all others up to P = 5. Sampling adds, in expectation,
 *
 * \f[ v = \frac{(P-1)(P-2)^3}{P} \Big( \frac1m - \frac1{P-1} \Big) s^2, \f]
 *
 * with s^2 the variance of the d_pq that were computed. It is subtracted, but the difference is not
 * taken below the square of the error of the plain rank (or of the first term, if that is less).
 * Source of the sampling: ours.
 *
 * The first term is the jackknife of the corrected rank c, conservative on average (Efron and
 * Stein, Annals of Statistics 9, 1981). The last is the remaining bias by the jackknife of second
 * order (Schucany, Gray and Owen, JASA 66, 1971). For P = 10 that takes 10 eigenproblems for pairs
 * instead of 45; it has P - 1 degrees of freedom, and is NaN for fewer than 3 parts.
 * docs/explanation/effective-rank.md reports its coverage.
 *
 * If products were summed in single precision, all eigenproblems but that of all rows are reduced in
 * single precision as well (cs_symmetric_values_single): errors of a few 2^-24 of the Frobenius
 * norm, where the floor is 162 of them of the trace.
 */
#pragma once

#include <stdint.h>

#include "base/progress.h"
#include "base/status.h"
#include "io/result.h"
#include "linalg/gram.h"

/** Most parts of the jackknife of rank_tau_corrected. */
#define CS_RANK_PARTS 10

/** Measures of rank. */
typedef enum {
    /** rank_tau */
    CS_RANK_TAU,
    /** rank_tau_interpolated */
    CS_RANK_TAU_INTERPOLATED,
    /** entropy_rank */
    CS_RANK_ENTROPY,
    /** entropy_rank_squared */
    CS_RANK_ENTROPY_SQUARED,
    /** rankme */
    CS_RANK_RANKME,
    /** participation_ratio */
    CS_RANK_PARTICIPATION,
    /** stable_rank */
    CS_RANK_STABLE,
    /** numerical_rank */
    CS_RANK_NUMERICAL,
    /** decay_exponent */
    CS_RANK_DECAY,
    /** Number of measures above, which follow from a spectrum alone. */
    CS_RANK_OF_SPECTRUM,
    /** rank_tau_corrected, which needs the blocks. */
    CS_RANK_TAU_CORRECTED = CS_RANK_OF_SPECTRUM,
    /** Number of measures. */
    CS_RANK_MEASURES,
} cs_rank_measure;

/** Options of ranks. */
typedef struct {
    /** tau, in (0, 1]. */
    double tau;
    /** eps of rankme; negative: 1e-7. */
    double eps;
    /** Tolerance of numerical_rank relative to sigma_1; 0: max(n, d) 2^-52, or the floor of the
     * eigenvalues if that is larger.
     */
    double tolerance;
    /** First rank of decay_exponent; 0: 11. */
    int64_t decay_first;
    /** Last rank of decay_exponent; 0: 500. */
    int64_t decay_last;
    /** Subtract the mean row. */
    bool centred;
    /** Compute standard errors: B further eigenproblems, P for pairs of parts (P (P - 1) / 2 up to
     * P = 5), and P for the parts if B is above 10.
     */
    bool jackknife;
    /** The curve has a point at every block, not only at doublings. */
    bool every_block;
    /** 0: cs_threads(). */
    int threads;
    /** Callback, or NULL. */
    const cs_progress *progress;
} cs_rank_options;

/** A point of the curve of rank over rows. */
typedef struct {
    /** Rows used. */
    int64_t rows;
    /** Eigenvalues above the floor. */
    int64_t above;
    /** Bound of the error of the eigenvalues (cs_gram_floor). */
    double floor;
    /** The measures of the spectrum; rank_tau_corrected is NaN. */
    double value[CS_RANK_MEASURES];
} cs_rank_point;

/** Effective ranks. Free them with cs_effective_rank_free. */
typedef struct {
    /** n. */
    int64_t rows;
    /** d. */
    int64_t cols;
    /** B. */
    int64_t blocks;
    /** Number of eigenvalues: min(n, d). */
    int64_t count;
    /** count eigenvalues, descending; those below the floor are 0. */
    double *lambda;
    /** Bound of their error (cs_gram_floor); that of the last point of the curve. */
    double floor;
    /** Number of eigenvalues below the floor. */
    int64_t below;
    /** The measures. */
    double value[CS_RANK_MEASURES];
    /** Standard errors; NaN if there is none. */
    double se[CS_RANK_MEASURES];
    /** blocks x CS_RANK_MEASURES, row-major: the measures without each block, for errors of
     * functions of several matrices with the same blocks; NULL without jackknife.
     */
    double *left_out;
    /** P; 0: none. */
    int64_t parts;
    /** P values: rank_tau_corrected without each part, about their mean so that their jackknife
     * error is the root of the first two terms of se^2; NULL if there is none.
     */
    double *part_out;
    /** rank_tau_corrected before clipping. */
    double unclipped;
    /** c'' - c; NaN without part_out. */
    double bias_left;
    /** Number of points of the curve over increasing numbers of blocks; the last one has all rows.
     */
    int64_t points;
    /** points points. */
    cs_rank_point *point;
    /** lambda_1 / sum lambda. */
    double first_share;
    /** Row with the largest norm, before shift and normalisation. */
    int64_t heaviest;
    /** Its share of the sum of squared norms. */
    double heaviest_share;
} cs_effective_rank;

/** Name of a measure, as listed above. Static text. */
const char *cs_rank_name(cs_rank_measure measure);

/** The computation of a measure at one point of the curve (the last point is the whole), in one
 * sentence: formula with its numbers, sigma or sigma^2, centred or not, normalised or not, rows
 * used. Free it with cs_free; NULL if memory is exhausted.
 */
char *cs_rank_definition(cs_rank_measure measure, const cs_rank_options *options, const cs_gram *g,
                         const cs_effective_rank *result, const cs_rank_point *point) CS_MUST_CHECK;

/** The measures of a spectrum. All are 0 for a zero spectrum. NaN: decay_exponent with fewer than
 * two values in its range, and rank_tau_corrected.
 *
 * \param count number of eigenvalues
 * \param lambda count eigenvalues, descending, not negative
 * \param tolerance for numerical_rank, relative to sigma_1
 * \param options tau, eps and the range of the decay
 * \param value receives CS_RANK_MEASURES values
 */
void cs_rank_measures(int64_t count, const double *lambda, double tolerance,
                      const cs_rank_options *options, double value[CS_RANK_MEASURES]);

/** All ranks of Gram blocks: the eigenproblems of `jackknife` and about log2 B + 1 more, of d x d,
 * 4/3 d^3 flops each; 8 d^2 bytes in addition to the blocks, and 12 d^2 for each thread.
 *
 * \param g the Gram blocks
 * \param out receives the ranks
 * \retval CS_ERR_USAGE tau is outside (0, 1]
 * \retval CS_ERR_INPUT no rows, or a single row with `centred`
 * \retval CS_ERR_MEMORY memory is exhausted
 * \retval CS_ERR_INTERRUPT the interrupt flag is set
 */
cs_status cs_effective_rank_of(const cs_gram *g, const cs_rank_options *options,
                               cs_effective_rank *out) CS_MUST_CHECK;

/** Frees the ranks; accepts a zeroed object. */
void cs_effective_rank_free(cs_effective_rank *r);

/** \cond INTERNAL */
/** item["metrics"]: name, definition, value and se of every measure, and for tables the result of
 * cs_item_left_out; item["warnings"]: limits of their interpretation, each prefixed with `name`. Of
 * g only counts and options are read. */
void cs_item_ranks(cs_item *item, const char *name, const cs_rank_options *options,
                   const cs_gram *g, const cs_effective_rank *r);

/** Names of the other measures, separated by commas. */
#define CS_MORE_RANKS                                                                              \
    "rank_tau_interpolated,entropy_rank_squared,rankme,stable_rank,numerical_rank,decay_exponent"

/** All results of cospec rank for one matrix. */
void cs_rank_record(const char *name, const cs_rank_options *options, const cs_gram *g,
                    const cs_effective_rank *r, cs_item *item);

/** metric["~left_out"]: {"block", "value"} of the measure without each block, minus that of another
 * matrix with the same blocks (NULL: none); for rank_tau that of the interpolated one, for
 * rank_tau_corrected without each part, and as block 0 the remaining bias. */
void cs_item_left_out(cs_item *metric, int measure, const cs_effective_rank *r,
                      const cs_effective_rank *less);
/** \endcond */
