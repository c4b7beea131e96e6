/* Numbers of a corpus and of its language, with intervals, sizes and a null: rows of (metric,
 * estimate, value, interval, documents). Gram forms, whose contexts are not stored, have only the
 * plug-in.
 *
 * Intervals: delete-block jackknife over documents of the whole estimator. Documents of the split
 * are put in a random order by the seed, including those too short for a sequence, so that the
 * order is the same for all objectives; number r is in fold r mod 8 and block floor(r / 8) mod B (r
 * mod B if there are fewer than 8 B); a number of smaller corpora is the mean over those that the
 * order is cut into. 95% by Student's quantile of B - 1 degrees of freedom. Plug-in and cross-fit:
 * around the value. Distinct-document numbers: around the bias-corrected mean of the pseudo-values
 * (cs_jackknife_interval); sigma_j and tails: the hull of both, extended for noise
 * (cs_eigenvalue_without_noise; cross-fitted ones have none); sums: with P_G from pairs of
 * documents (analysis/measures/population.h), on a logarithmic scale. Their centre is the row
 * sum_sigma2_corrected or sum_sigma4_corrected, whose blocks are its pseudo-values; compare these
 * rows. */
#pragma once

#include "analysis/measures/connectivity.h"
#include "analysis/measures/population.h"

typedef struct {
    const char *metric, *estimate, *definition;
    double value, se, low, high; /* NaN: none */
    int64_t documents, blocks;   /* 0: unknown; no jackknife */
    bool corrected_interval;     /* the interval is of the bias-corrected value, the value is not */
    double *left_out;            /* the number without each block; NULL: no jackknife */
} cs_population_row;

typedef struct {
    int64_t count, room;
    cs_population_row *row;
    cs_connectivity plug_in;                 /* of the corpus; empty for a null */
    char partition[33];                      /* of the blocks (cs_corpus_partition); "": none */
    double sigma_se[CS_CONNECTIVITY_SIGMAS]; /* of its leading values below 1 */
    /* nothing was measured: the matrix equals that of the blind target position */
    bool as_blind;
} cs_population_rows;

void cs_population_rows_free(cs_population_rows *rows);

typedef struct {
    cs_cooc_options build;
    /* for the corpus; in the jackknife k is CS_CONNECTIVITY_SIGMAS and only cheap certificates run
     */
    cs_connectivity_options spectrum;
    int64_t blocks; /* B; 0: no intervals */
    /* also the corpora of 1/2, 1/4, ... 1/2^sizes of the documents: sums and mass seen, and from
     * the largest two the sums extrapolated to mass seen 1: x(n) + (x(n) - x(n/2)) m(n/2) (1 -
     * m(n)) / (m(n) - m(n/2)); x(n) if m(n) = 1, NaN if otherwise m(n) = m(n/2) */
    int64_t sizes;
    /* only sums and mass seen: no spectra, which take most of the time */
    bool sums;
    /* also the drift of the sums if contexts of fewer than 4, 8, 16 documents count as unseen: a
     * test that the unseen are like the seen */
    bool hold_back;
    int64_t shuffles; /* of the null */
    /* contexts with the target position blind, which a known position subdivides: if the numbers
     * are equal, so are the matrices except for the order of rows. 0: unknown */
    int64_t blind;
    int64_t blind_population; /* the same for the population of a synthetic corpus; 0: unknown */
    uint64_t seed;
} cs_population_plan;

/* The rows of an existing matrix: only of the plug-in, without intervals or documents. */
cs_status cs_population_rows_of_matrix(const cs_csr *a, const cs_connectivity_options *spectrum,
                                       cs_population_rows *out) CS_MUST_CHECK;

/* The rows of a corpus; none, and as_blind, if plan->blind determines them. Cost: one count; B + 1
 * times the passes of cs_population_of and a spectrum, and the same without spectra for every
 * smaller size. CS_ERR_USAGE: B of 1 or above the number of documents that have sequences. Errors
 * of cs_cooc_build, cs_connectivity_of and cs_population_of. */
cs_status cs_population_rows_of(const cs_corpus *corpus, const cs_population_plan *plan,
                                cs_population_rows *out) CS_MUST_CHECK;

/* The rows of the null: the same corpus with its tokens permuted over the documents, so that words
 * are independent, every sum of its language is 1, and every sigma_j beyond the first is 0. Over
 * the shuffles: value is their mean, se their standard deviation, low and high the 95% prediction
 * interval of another shuffle (of distinct-document sums, with P_G from pairs of documents: it
 * contains 1 if the estimate is unbiased); NaN for a single one. Shuffle i is a function of (seed,
 * i). Sums of the plug-in beyond its moment budget are NaN. */
cs_status cs_population_null(const cs_corpus *corpus, const cs_population_plan *plan,
                             cs_population_rows *out) CS_MUST_CHECK;
