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

#include "analysis/measures/population_numbers.h"
#include "io/result.h"

/* The rows of an existing matrix: only of the plug-in, without intervals or documents. */
cs_status cs_population_rows_of_matrix(const cs_csr *a, const cs_connectivity_options *spectrum,
                                       cs_population_rows *out) CS_MUST_CHECK;

/* The rows of a corpus; none, and as_blind, if plan->blind determines them. Cost: one count; B + 1
 * times the passes of cs_population_of and a spectrum, and the same without spectra for every
 * smaller size. CS_ERR_USAGE: B of 1 or above the number of documents that have sequences. Errors
 * of cs_cooc_build, cs_connectivity_of and cs_population_of. */
cs_status cs_population_rows_of(const cs_corpus *corpus, const cs_population_plan *plan,
                                cs_population_rows *out) CS_MUST_CHECK;

/* Of the records, which are stored as JSON between an interrupt and --resume. */
typedef struct {
    const char *series, *objective, *context, *position; /* "" if unknown */
    uint64_t seed;
    const char *form; /* of the spectrum and its sums; NULL: normalised */
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

/* Adds the rows of the matrix of the population (text/synthetic.h), estimate "population", to those of documents from a synthetic
 * language; to others none. *why (fresh memory; else NULL): why there are none: too many
 * contributions, or other words than those of the language. If rows->as_blind is set, no row is
 * added: as_blind remains set if the population also has plan->blind_population contexts, so that
 * the matrices are equal. */
cs_status cs_population_truth(const cs_corpus *corpus, const cs_population_plan *plan,
                              cs_population_rows *rows, char **why) CS_MUST_CHECK;
