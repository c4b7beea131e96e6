/** \file
 * Connectivity of the language that a corpus was drawn from
 * (docs/explanation/population-estimates.md). Source: ours.
 *
 * Documents are independent draws from the language. The matrix of a corpus differs from that of
 * the language: a context that occurs once has one target, which pushes its singular values to 1.
 * There are three estimates of sum sigma^2, sum sigma^4, the leading sigma_j and the tails.
 *
 * Plug-in: the matrix of the corpus; far too large if contexts are rare.
 *
 * Cross-fit, from four quarters f of the documents, with n_X, N and P_G of all of them:
 *
 * \f[ A_f[X, v] = \frac{4\, c_f(X, v)}{\sqrt{n_X\, N\, P_G(v)}}, \qquad \sum \sigma^2 = \mathrm{tr}\, A_f^T A_g, \qquad \sum \sigma^4 = \mathrm{tr}(A_f^T A_g A_h^T A_i), \f]
 *
 * with the symmetric parts of both products and the mean over the three pairings. sigma_j^2 are
 * eigenvalues of Q, the mean of A_f^T A_g over all pairs of quarters. Contexts of a single quarter
 * add nothing: the estimates are too small, except for noise, which raises eigenvalues.
 *
 * Distinct-document, from pairs of tokens of a context in two documents (cooc/by_document.h):
 *
 * \f[ M = \sum_X w_X \Big( T_X T_X^T - \sum_d c_d c_d^T \Big) \Big/ \sqrt{P_G P_G^T}, \qquad \sum \sigma^2 = \mathrm{tr} M / m, \qquad \sum \sigma^4 = \mathrm{tr}(M_a M_b) / (m_a m_b), \f]
 *
 * m the share of mass in the contexts of at least two documents, a and b two halves of the
 * documents; the mean over seven balanced splits of eight folds. sigma_j^2 are eigenvalues of M /
 * m, which noise raises. Unbiased if the other contexts are like these in their second moments.
 * P_G is estimated from the same documents, which lowers the estimate by about (sum over both
 * tokens of a pair) 1 / (documents that have the token). The corrected sums use pairs of documents
 * there too: P_G(v)^2 becomes \f$(k_v^2 - \sum_d k_{vd}^2) / (N^2 - \sum_d N_d^2)\f$, k_vd the
 * mass of v in document d.
 */
#pragma once

#include "cooc/by_document.h"

enum {
    /** Number of leading eigenvalues. */
    CS_LEADING = 8,
};

/** One estimate. */
typedef struct {
    /** Sum of sigma^2; NaN: there is no pair, or it was not computed. */
    double sum_sigma2;
    /** Sum of sigma^4; NaN: there is no pair, or it was not computed. */
    double sum_sigma4;
    /** Estimates of sigma_j^2, j = 1..CS_LEADING; NaN if not requested. */
    double lambda[CS_LEADING];
} cs_population_sums;

/** The estimates. */
typedef struct {
    /** Cross-fit. */
    cs_population_sums cross_fit;
    /** Distinct-document. */
    cs_population_sums distinct;
    /** Minus the smallest eigenvalue of M / m; that of the language is at least 0. NaN if not
     * requested.
     */
    double noise;
    /** Distinct-document sum of sigma^2, with P_G from pairs of documents. */
    double corrected2;
    /** Distinct-document sum of sigma^4, with P_G from pairs of documents. */
    double corrected4;
    /** m: share of mass in contexts of two documents. */
    double seen;
    /** (m_a + m_b) / 2. */
    double seen_halves;
} cs_population;

/** Counts of a corpus by document. Free them with cs_population_counts_free. */
typedef struct {
    /** Rows by (context, document). */
    cs_cooc rows;
    /** Index of `rows`. */
    cs_context_index index;
    /** Rows by document: k_vd. */
    cs_cooc words;
    /** Number of documents of the corpus. */
    int64_t documents;
} cs_population_counts;

/** Counts a corpus by document; options->by_document is set here. Errors and cost of cs_cooc_build,
 * twice.
 */
cs_status cs_population_count(const cs_corpus *corpus, const cs_cooc_options *options,
                              cs_population_counts *out) CS_MUST_CHECK;

/** Frees the counts; accepts a zeroed object. */
void cs_population_counts_free(cs_population_counts *counts);

/** Options of cs_population_of. */
typedef struct {
    /** Also compute lambda. */
    bool leading;
    /** Also compute the noise. */
    bool noise;
    /** Contexts with fewer documents (of a half, in a half) count as unseen, and the cross-fit
     * estimate is skipped; 0: 2 documents, with it.
     */
    int64_t least;
    /** Seed of the solvers. */
    uint64_t seed;
    /** 0: cs_threads(). Bits do not depend on it. */
    int threads;
    /** Leading vectors of M and of Q, two matrices: guesses or, if empty, they receive those found;
     * NULL: none.
     */
    cs_dense *start;
} cs_population_options;

/** Computes the estimates. All sums are exact except for rounding. Time: two passes over the rows
 * of contexts of two documents for each of 21 sums over pairs, and ten inner products
 * (linalg/signed_gram.h); memory: two such sums.
 *
 * \param counts the counts
 * \param part by document of the corpus: its fold, 0 .. CS_FOLDS - 1, or CS_LEFT_OUT; the quarters
 *     are folds 0 and 1, 2 and 3, ...
 * \param options options of the estimates
 * \param out receives the estimates
 * \retval CS_ERR_MEMORY memory is exhausted
 * \retval CS_ERR_CONVERGE a solver did not converge (lambda)
 * \retval CS_ERR_INTERRUPT the interrupt flag is set
 */
cs_status cs_population_of(const cs_population_counts *counts, const uint8_t *part,
                           const cs_population_options *options, cs_population *out) CS_MUST_CHECK;

/** The eigenvalue of a symmetric matrix without noise that extends to `noise`, from the observed
 * lambda: independent entries move x to x + noise^2 / (4 x) for x above noise / 2, and hide
 * smaller ones (Benaych-Georges and Nadakuditi 2011). 0 if lambda is not above the noise.
 */
double cs_eigenvalue_without_noise(double lambda, double noise);

/** Estimates with a matrix. */
typedef enum {
    /** M / m. */
    CS_DISTINCT_DOCUMENT,
    /** Q. */
    CS_CROSS_FIT,
} cs_population_estimate;

/** The matrix whose eigenvalues estimate sigma_j^2.
 *
 * \param counts the counts
 * \param part as for cs_population_of
 * \param estimate M / m, or Q, which uses all folds
 * \param chosen bits of the folds of M; CS_ALL_FOLDS: all
 * \param out receives the matrix (cs_signed_gram_free)
 * \param seen receives m, or the share of mass in the contexts of two quarters
 * \param scale receives 1 / sqrt(P_G(v)), 0 for absent tokens, one value for each column; NULL:
 *     not wanted
 * \retval CS_ERR_INPUT no context is in two documents (quarters)
 * \retval CS_ERR_MEMORY memory is exhausted
 * \retval CS_ERR_INTERRUPT the interrupt flag is set
 */
cs_status cs_population_matrix(const cs_population_counts *counts, const uint8_t *part,
                               cs_population_estimate estimate, unsigned chosen,
                               cs_signed_gram *out, double *seen, double *scale) CS_MUST_CHECK;
