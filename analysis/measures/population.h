/* Connectivity of the language that a corpus was drawn from
 * (docs/explanation/population-estimates.md).
 *
 * Documents are independent draws from the language. The matrix of a corpus differs from that of
 * the language: a context that occurs once has one target, which pushes its singular values to 1.
 * There are three estimates of sum sigma^2, sum sigma^4, the leading sigma_j and the tails:
 *
 *   plug-in            the matrix of the corpus: far too large if contexts are rare
 *
 *   cross-fit          A_f[X, v] = 4 c_f(X, v) / sqrt(n_X N P_G(v)) of four quarters of the
 *                      documents, n_X, N and P_G of all of them: sum sigma^2 = tr A_f' A_g,
 *                      sum sigma^4 = tr(A_f' A_g A_h' A_i), the symmetric parts of both products and
 *                      the mean over the three ways to pair them; sigma_j^2 = eigenvalues of Q, the
 *                      mean of A_f' A_g over all pairs of quarters. Contexts of a single quarter add
 *                      nothing: the estimates are too small, except for noise, which raises eigenvalues
 *
 *   distinct-document  M = sum_X w_X (T_X T_X' - sum_d c_d c_d') / sqrt(P_G P_G'), the pairs of
 *                      tokens of a context from two documents (cooc/by_document.h), divided by the
 *                      share m of mass in the contexts of at least two documents: unbiased if the
 *                      other contexts are like these in their second moments.
 *                      sum sigma^2 = tr M / m; sum sigma^4 = tr(M_a M_b) / (m_a m_b) of two halves
 *                      of the documents, the mean over seven balanced splits of eight folds;
 *                      sigma_j^2 = eigenvalues of M / m, which noise raises
 *
 * P_G is estimated from the same documents, which lowers the third estimate by about (sum over both
 * tokens of a pair) 1 / (documents that have the token). `corrected` uses pairs of documents there
 * too: P_G(v)^2 becomes (k_v^2 - sum_d k_vd^2) / (N^2 - sum_d N_d^2), k_vd the mass of v in
 * document d. */
#pragma once

#include "cooc/by_document.h"
#include "cooc/fold_products.h"

enum { CS_LEADING = 8 };

typedef struct {
    double sum_sigma2, sum_sigma4; /* NaN: there is no pair, or not computed */
    double lambda[CS_LEADING];     /* sigma_j^2; NaN if not requested */
} cs_population_sums;

typedef struct {
    cs_population_sums cross_fit, distinct;
    /* minus the smallest eigenvalue of M / m, while the matrix of the language has none below 0;
     * NaN unless requested */
    double noise;
    /* sums of the third estimate, with P_G from pairs of documents */
    double corrected2, corrected4;
    double seen;        /* m: share of mass in contexts of two documents */
    double seen_halves; /* (m_a + m_b) / 2 */
} cs_population;

/* Rows of a corpus by document, and k_vd. */
typedef struct {
    cs_cooc rows; /* (context, document) */
    cs_context_index index;
    cs_cooc words; /* (document) */
    int64_t documents;
} cs_population_counts;

/* Both counted from a corpus; options->by_document is set here. Errors and cost: those of
 * cs_cooc_build, twice. */
cs_status cs_population_count(const cs_corpus *corpus, const cs_cooc_options *options,
                              cs_population_counts *out) CS_MUST_CHECK;
void cs_population_counts_free(cs_population_counts *counts);

typedef struct {
    bool leading; /* also lambda */
    bool noise;   /* and noise */
    /* contexts with fewer documents (of a half, in a half) count as unseen, and the cross-fit
     * estimate is skipped; 0: 2 documents, with it */
    int64_t least;
    uint64_t seed;
    int threads;
    /* leading vectors of M and of Q: guesses or, if empty, capacity for those found; or NULL */
    cs_dense *start;
} cs_population_options;

/* The cross-fit and the distinct-document estimates for the documents that part[] does not leave
 * out: by document of the corpus its fold, 0 .. CS_FOLDS - 1; the quarters are folds 0 and 1, 2 and
 * 3, ... All sums are exact except for rounding, the same bits for any number of threads. Time: two
 * passes over the rows of contexts of two documents for each of 21 sums over pairs, and ten inner
 * products (linalg/signed_gram.h); memory: two such sums. CS_ERR_MEMORY, CS_ERR_CONVERGE (lambda),
 * CS_ERR_INTERRUPT. */
cs_status cs_population_of(const cs_population_counts *counts, const uint8_t *part,
                           const cs_population_options *options, cs_population *out) CS_MUST_CHECK;

/* The eigenvalue of a symmetric matrix without noise that extends to `noise`, from the observed
 * lambda: independent entries move x to x + noise^2 / (4 x) for x above noise / 2, and hide smaller
 * ones (Benaych-Georges and Nadakuditi 2011). 0 if lambda is not above the noise. */
double cs_eigenvalue_without_noise(double lambda, double noise);

typedef enum { CS_DISTINCT_DOCUMENT, CS_CROSS_FIT } cs_population_estimate;

/* The matrix whose eigenvalues estimate sigma_j^2: M / m of the chosen folds (bits; CS_ALL_FOLDS:
 * every one) of the documents that part[] does not leave out, P_G of all of these, or Q, which uses
 * all folds (population-estimates.md). *seen: m, or the share of mass in the contexts of two
 * quarters; scale: 1 / sqrt(P_G(v)), 0 for absent tokens, cols values, NULL: not wanted.
 * CS_ERR_INPUT: no context is in two documents (quarters). */
cs_status cs_population_matrix(const cs_population_counts *counts, const uint8_t *part,
                               cs_population_estimate estimate, unsigned chosen,
                               cs_signed_gram *out, double *seen, double *scale) CS_MUST_CHECK;
