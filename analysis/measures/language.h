/* The leading spectrum of the language of a corpus, from pairs of documents or of quarters of them:
 * eigenvalues of M / m or Q (population.h), which estimate sigma_j^2, with vectors, sums, tails and
 * their errors; and the density of all its eigenvalues, which are mostly noise about 0.
 *
 * Both matrices are symmetric and indefinite: their positive part is signal and noise, their
 * negative part is noise, so that the negative end of the density shows the size of the noise.
 * Definitions and biases: docs/explanation/population-estimates.md. */
#pragma once

#include "analysis/measures/population.h"
#include "cooc/spectrum_density.h"
#include "io/result.h"

typedef struct {
    cs_population_estimate estimate;
    int64_t k;      /* eigenpairs, 1 .. columns; tails for t = 0 .. k */
    int64_t blocks; /* of documents, for the delete-block jackknife of everything; 0: no errors */
    uint64_t seed;
    int threads;
    const cs_progress *progress;
} cs_language_options;

/* low, high: 95%; NaN: none. Sums are corrected for the bias that falls as 1 / documents
 * (cs_jackknife_interval). Intervals of eigenvalues and tails of distinct documents cover both the
 * corrected and the uncorrected value (cs_jackknife_hull), and are extended for noise
 * (cs_eigenvalue_without_noise), downwards for eigenvalues and upwards for tails; cross-fitted ones
 * have none. */
typedef struct {
    double value, se, low, high;
} cs_language_number;

typedef struct {
    cs_population_estimate estimate;
    int64_t documents, blocks, k;
    cs_signed_gram m;           /* M / m, or Q, of all documents */
    cs_dense v;                 /* columns x k */
    double noise;               /* minus the smallest eigenvalue of M / m */
    double *residual;           /* k: ||m v - lambda v|| */
    cs_language_number *lambda; /* k, descending */
    cs_language_number *tail;   /* k + 1: sum sigma^4 minus the first t of max(lambda, 0)^2 */
    cs_language_number seen, sum2, sum4; /* m; sums as in analysis/measures/population_rows.h */
    double *list;                        /* values of cs_language_lambda */
} cs_language;

void cs_language_free(cs_language *language);

/* Computes all of this for the documents of a corpus under the options of a build (by_document is
 * set here). CS_ERR_USAGE: k or blocks out of range, or a context without stored rows (unique);
 * CS_ERR_INPUT: no context is in two documents (quarters). Cost: (blocks + 1) times
 * cs_population_of and eigenvalues. */
cs_status cs_language_of(const cs_corpus *corpus, const cs_cooc_options *build,
                         const cs_language_options *options, cs_language *out) CS_MUST_CHECK;

/* lambda_1 .. lambda_k, and behind them the k + 1 tails, without block b; b = -1: of all documents. Blocks are
 * those of cs_language_labels_of by the same seed. */
const double *cs_language_lambda(const cs_language *language, int64_t b);

/* {"estimate", "documents", "blocks", "mass_seen", "sum_sigma2", "sum_sigma4": {"value", "se",
 * "low", "high"}, "spectrum": [{"index", "sigma", "sigma_low", "sigma_high", "lambda", "lambda_se",
 * "lambda_low", "lambda_high", "residual", "tail", "tail_low", "tail_high"}, ...]}; sigma and the
 * ends of its interval are sqrt(max(x, 0)) of those of lambda, at most 1; tail is the one after it.
 * cs_language_view is its table. */
void cs_language_record(const cs_language *language, cs_item *root);
extern const cs_view cs_language_view;

/* Adds to a record "shift" (c: no eigenvalue is below -c), "sum_lambda" and "sum_lambda2" (exact,
 * noise included) and "curve": [{"lambda", "density", "density_low", "density_high", "above",
 * "above_low", "above_high"}, ...], by stochastic Lanczos quadrature on M / m + c I with the known
 * eigenpairs deflated: counts are bounded, the density is that of sqrt(lambda + c), smoothed there,
 * per unit of lambda. Of options: samples, degree, bins, width (of sqrt(lambda + c)), level;
 * spectrum.seed, .threads, .progress. Errors of cs_density_of. */
cs_status cs_language_density(const cs_language *language,
                              const cs_spectrum_density_options *options,
                              cs_item *root) CS_MUST_CHECK;
extern const cs_view cs_language_density_view;
