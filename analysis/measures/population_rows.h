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

#include <jansson.h>

#include "analysis/measures/connectivity.h"
#include "analysis/measures/population.h"
#include "io/result.h"

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

/* Of the records, which are stored as JSON between an interrupt and --resume. */
typedef struct {
    const char *series, *objective, *context, *position; /* "" if unknown */
    int64_t uncovered; /* tokens of the corpus in no sequence; -1: no corpus */
    uint64_t seed;
} cs_population_source;

/* {"series", "objective", "context", "target_position", "numbers": the rows of connectivity.csv,
 * each with "left_out"} and, unless it is a null, <metric>: {"value", "se"} of the matrix, "sigma",
 * "sigma_se", "residual", for a corpus also "partition" and "uncovered_tokens". CS_ERR_MEMORY. */
cs_status cs_population_record(const cs_population_source *source, const cs_population_rows *rows,
                               json_t **out) CS_MUST_CHECK;

/* The record of the same matrix under another target position. CS_ERR_MEMORY. */
cs_status cs_population_record_as(const json_t *same, const char *position,
                                  json_t **out) CS_MUST_CHECK;

/* Moves the numbers of a record to the rows of a result, and the rest, unless it is a null, to the
 * matrices, with its name in spectrum.csv as "~name". CS_ERR_INPUT: a record from a file that was
 * edited. */
cs_status cs_population_record_add(json_t *record, cs_item *rows, cs_item *matrices) CS_MUST_CHECK;

/* The verdicts of an array of records on corpora, in which a series "S shuffled" is the null of S:
 * of every series against the first, blind and given, and blind against given of each. They are
 * about sum sigma^4; smaller is better connected.
 *
 *   corpus    the plug-in sums are exact for the corpus, and their order decides; if they are
 *             estimated, their intervals do
 *   language  log of the ratio of the corrected distinct-document sums, 95% by its jackknife, paired
 *             if both leave out the same documents; decided only if the interval of the null of
 *             both contains 1, and the difference has one sign at every size of the curve
 *
 * An item each: series, target_position, against, against_position, of ("corpus", "language" and,
 * for documents of a synthetic language, "population"), ratio of the sums with low and high,
 * verdict ("more connected": the first; "less connected", "undetermined"), reason, withheld (1: for
 * another reason than the error of the ratio). CS_ERR_MEMORY. */
cs_status cs_population_verdicts(const json_t *records, cs_item *out) CS_MUST_CHECK;

/* Adds the rows of the matrix of the population (text/law.h), estimate "population", to those of documents from a synthetic
 * language; to others none. *why (fresh memory; else NULL): why there are none: too many
 * contributions, or other words than those of the language. If rows->as_blind is set, no row is
 * added: as_blind remains set if the population also has plan->blind_population contexts, so that
 * the matrices are equal. */
cs_status cs_population_truth(const cs_corpus *corpus, const cs_population_plan *plan,
                              cs_population_rows *rows, char **why) CS_MUST_CHECK;
