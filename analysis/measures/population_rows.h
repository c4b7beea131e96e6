/* What a corpus and its language have, number by number, with intervals, sizes and a null: rows of
 * (metric, estimate, value, interval, documents). Of Gram forms, whose contexts are not at hand, there
 * is the plug-in alone.
 *
 * Intervals: delete-block jackknife over documents of the whole estimator. Documents of the split are put
 * in a random order by the seed, those too short for a sequence too, so that it is the same for all
 * objectives; the r-th is in fold r mod 8 and block floor(r / 8) mod B (r mod B where there are fewer than
 * 8 B); a number of smaller corpora is the mean over those that the order is cut into. 95% by Student's
 * quantile of B - 1 degrees of freedom: of plug-in and cross-fit around the value; of distinct-document
 * numbers around the bias-corrected mean of the pseudo-values (cs_jackknife_interval), of sigma_j and tails
 * both, with what noise may have done (cs_eigenvalue_without_noise; cross-fitted ones have none), those of
 * the sums with P_G from pairs of documents (analysis/measures/population.h), on a logarithmic scale. Their
 * middle is the row sum_sigma2_corrected or sum_sigma4_corrected, whose blocks are its pseudo-values: what
 * is to be compared is this.
 */
#pragma once

#include "analysis/measures/connectivity.h"
#include "analysis/measures/population.h"

typedef struct {
    const char *metric, *estimate, *definition;
    double value, se, low, high; /* NaN: none */
    int64_t documents, blocks;   /* 0: not known; no jackknife */
    bool corrected_interval;     /* the interval is of the bias-corrected value, the value is not */
    double *left_out;            /* the number without each block; NULL: no jackknife */
} cs_population_row;

typedef struct {
    int64_t count, room;
    cs_population_row *row;
    cs_connectivity plug_in;                 /* of the corpus; empty for a null */
    char partition[33];                      /* of the blocks (cs_corpus_partition); "": none */
    double sigma_se[CS_CONNECTIVITY_SIGMAS]; /* of its leading values below 1 */
    bool as_blind; /* nothing was measured: the matrix is that of the blind target position */
} cs_population_rows;

void cs_population_rows_free(cs_population_rows *rows);

typedef struct {
    cs_cooc_options build;
    cs_connectivity_options spectrum; /* of the corpus itself; in the jackknife k is
                                         CS_CONNECTIVITY_SIGMAS and certificates are the cheap ones */
    int64_t blocks;                   /* B; 0: no intervals */
    int64_t sizes;    /* also the corpora of 1/2, 1/4, ... 1/2^sizes of the documents: sums and mass
                       seen, and from the largest two the sums extrapolated to mass seen 1:
                       x(n) + (x(n) - x(n/2)) m(n/2) (1 - m(n)) / (m(n) - m(n/2)); x(n) where
                       m(n) = 1, NaN where else m(n) = m(n/2) */
    bool sums;        /* sums and mass seen alone: no spectra, which take most of the time */
    bool hold_back;   /* also the drift of the sums where contexts of fewer than 4, 8, 16 documents
                         count as not seen: a test that the unseen are like the seen */
    int64_t shuffles; /* of the null */
    int64_t blind; /* contexts with the target position blind, each of which is divided where it is
                         given: as many are the same, and so are the matrices but for the order of
                         rows. 0: not known */
    int64_t blind_population; /* the same of the population of a synthetic corpus; 0: not known */
    uint64_t seed;
} cs_population_plan;

/* The rows of a matrix that is there already: of the plug-in alone, without intervals or documents. */
cs_status cs_population_rows_of_matrix(const cs_csr *a, const cs_connectivity_options *spectrum,
                                       cs_population_rows *out) CS_MUST_CHECK;

/* The rows of a corpus; none, and as_blind, where plan->blind says what they are. Cost: one count; B + 1
 * times the passes of cs_population_of and a spectrum, and as much without spectra for every smaller
 * size. CS_ERR_USAGE: B of 1 or above the number of documents that have sequences. Errors as of cs_cooc_build, cs_connectivity_of and
 * cs_population_of. */
cs_status cs_population_rows_of(const cs_corpus *corpus, const cs_population_plan *plan,
                                cs_population_rows *out) CS_MUST_CHECK;

/* The rows of the null: the same corpus with its tokens shuffled over the documents, whose words
 * are independent, so that every sum of its language is 1, and every sigma_j beyond the first 0.
 * Over the shuffles: value their mean, se their standard deviation, low and high the interval in
 * which another shuffle falls with 95% (of distinct-document sums, with P_G from pairs of documents:
 * it holds 1 where the estimate is without bias); NaN for a single one. Shuffle i is fixed by (seed,
 * i). Sums of the plug-in beyond its moment budget are NaN. */
cs_status cs_population_null(const cs_corpus *corpus, const cs_population_plan *plan,
                             cs_population_rows *out) CS_MUST_CHECK;
