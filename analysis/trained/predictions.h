/* Predictions for the examples of a test side, one set for each seed: their scores,
 * predictions.csv, and the comparison with the predictions.csv of another run. Shared by probes and
 * fine-tuning.
 *
 * A score is the median over seeds with its order statistics; its test-sample error is the median
 * of the errors of the seeds (stats/metrics.h), which are all of about one size. */
#pragma once

#include <stdint.h>

#include "base/mem.h"
#include "io/result.h"
#include "io/table.h"
#include "stats/metrics.h"
#include "text/labelled_text.h"

typedef struct {
    cs_metric metric[CS_METRICS];
    int count;
} cs_metric_list;

/* Reads names separated by commas; "auto": all that fit the task (classes 0: regression).
 * CS_ERR_USAGE names one that is unknown, repeated or not of the task. */
cs_status cs_metric_list_read(const char *names, int64_t classes,
                              cs_metric_list *out) CS_MUST_CHECK;

/* The scoring of predictions: the classes are those of `train`, the truths those of `test`.
 * `prediction` below is seeds x test->count: class numbers, or values if train->classes is 0. */
typedef struct {
    const cs_labelled_text *train, *test;
    cs_metric_list metrics;
    int64_t seeds;
    /* of the first run, and of the blocks of the jackknife; the others follow it */
    uint64_t seed;
    /* unit of each test example, as in cs_metric_sample; NULL: each example is one */
    const int32_t *unit;
    int64_t units;
} cs_scoring;

/* Over the seeds: their interval, and the test-sample error of one; the median without each block
 * of test examples (NULL: unknown). */
typedef struct {
    cs_seed_summary seeds;
    double se;
    int64_t blocks;
    const double *left_out;
} cs_seed_score;

/* The scratch of cs_seed_score_of, in numbers. */
int64_t cs_scoring_work_size(const cs_scoring *scoring);

/* The first numbers of the scratch are then the scores of the seeds; left_out is in it too. Errors
 * of cs_metric_of. */
cs_status cs_seed_score_of(const cs_scoring *scoring, cs_metric metric, const double *prediction,
                           double *scratch, cs_seed_score *out) CS_MUST_CHECK;

/* The same for scores computed elsewhere: the scratch, of cs_seed_score_work_size numbers, holds the
 * score of each seed, its test-sample error, and its seeds x blocks scores without each block of
 * test examples (cs_metric_deal). */
int64_t cs_seed_score_work_size(int64_t seeds, int64_t examples);
cs_status cs_seed_score_made(int64_t seeds, int64_t blocks, double *scratch,
                             cs_seed_score *out) CS_MUST_CHECK;

/* The constant prediction without features: the most frequent class of the training side (the first
 * of equal ones), or the mean of its values. */
double cs_scoring_constant(const cs_scoring *scoring);

/* 32 hex digits and a NUL: equal for two scorings whose blocks contain the same examples. */
cs_status cs_scoring_partition(const cs_scoring *scoring, char hex[33]) CS_MUST_CHECK;

/* Adds {"name", "definition", "value", "se", "seed_interval": {"low", "high", "coverage"}}; for
 * tables "~left_out". */
void cs_seed_score_add(cs_item *list, const char *name, const char *definition,
                       const cs_seed_score *score);

/* --- predictions.csv ---------------------------------------------------------------------------*/

/* An empty table "layer,example,truth,seed_1,...". */
cs_status cs_predictions_init(int64_t seeds, cs_table *out) CS_MUST_CHECK;

/* Its rows of one layer: examples from 0, classes by name. */
cs_status cs_predictions_add(const cs_scoring *scoring, const char *layer, const double *prediction,
                             cs_table *table) CS_MUST_CHECK;

/* --- another run -------------------------------------------------------------------------------*/

typedef struct {
    const char *file; /* borrowed; NULL: there is none */
    cs_table table;
} cs_reference;

/* CS_ERR_INPUT if the file is not a predictions.csv. */
cs_status cs_reference_open(const char *file, cs_reference *out) CS_MUST_CHECK;
void cs_reference_free(cs_reference *reference);

/* Whether the other run has predictions of this layer (or of only one layer, whatever its name) for
 * the same examples of scoring->test, in their order: CS_ERR_INPUT names file and line otherwise.
 * Without another run there is nothing to check. */
cs_status cs_reference_check(const cs_reference *reference, const cs_scoring *scoring,
                             const char *layer) CS_MUST_CHECK;

/* This run minus the other, paired by the numbers of seeds as far as both have them. */
typedef struct {
    cs_pool pool; /* of mcnemar */
    int64_t seeds;
    cs_seed_score difference[CS_METRICS]; /* scoring->metrics, of differences seed by seed */
    cs_mcnemar_result *mcnemar;           /* seeds; NULL: values, not classes */
} cs_comparison;

/* Errors of cs_reference_check. */
cs_status cs_compare(const cs_reference *reference, const cs_scoring *scoring, const char *layer,
                     const double *prediction, cs_comparison *out) CS_MUST_CHECK;
void cs_comparison_free(cs_comparison *comparison);

/* McNemar's p of the first seed, as a score of one seed without error or interval: a median of
 * p-values over seeds would not be a p-value. Needs comparison->mcnemar. */
cs_seed_score cs_comparison_first_p(const cs_comparison *comparison);

/* Adds, and returns, "against": {"file", "seeds", "metrics": [...], "mcnemar": [{"seed",
 * "only_this", "only_other", "p"}, ...]}, mcnemar for classes only; in tables "~first" is the row
 * of cs_comparison_first_p. */
cs_item *cs_comparison_add(const cs_reference *reference, const cs_scoring *scoring,
                           const cs_comparison *comparison, cs_item *item);
