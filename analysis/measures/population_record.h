/* Numbers of corpora and matrices as records: stored as JSON between an interrupt and --resume, and
 * put into a result; and comparisons of two of them.
 *
 * Verdicts are about sum sigma^4; smaller is better connected.
 *
 *   corpus    the plug-in sums are exact for the corpus, and their order decides; if they are
 *             estimated, their intervals do
 *   language  log of the ratio of the corrected distinct-document sums, 95% by its jackknife, paired
 *             if both leave out the same documents; decided only if the interval of the null of
 *             both contains 1, and the difference has one sign at every size of the curve
 */
#pragma once

#include <jansson.h>

#include "analysis/measures/population_rows.h"
#include "io/result.h"

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
 * of every series against the first, blind and given, and blind against given of each.
 *
 * An item each: series, target_position, against, against_position, of ("corpus", "language" and,
 * for documents of a synthetic language, "population"), ratio of the sums with low and high,
 * verdict ("more connected": the first; "less connected", "undetermined"), reason, withheld (1: for
 * another reason than the error of the ratio). CS_ERR_MEMORY. */
cs_status cs_population_verdicts(const json_t *records, cs_item *out) CS_MUST_CHECK;
