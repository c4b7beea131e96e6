/* Predictions of the examples of a test side, one set a seed: their scores, predictions.csv, and
 * the comparison with the predictions.csv of another run (--against). cospec probe and cospec
 * finetune share all of it.
 *
 * A score is the median over seeds with its order statistics; its test-sample error is the median
 * of the seeds' errors (analysis/metrics.h), which are all of about one size.
 */
#ifndef CS_CLI_PREDICTIONS_H
#define CS_CLI_PREDICTIONS_H

#include <jansson.h>
#include <stdint.h>

#include "analysis/metrics.h"
#include "cli/opt.h"
#include "io/table.h"
#include "text/labelled_text.h"

typedef struct {
    cs_metric metric[CS_METRICS];
    int count;
} cs_metric_list;

/* Metrics by their names, parted by commas; "auto": all that go with the task (classes 0:
 * regression). CS_ERR_USAGE names one that is unknown, twice there or not of the task. */
cs_status cs_metric_list_parse(const char *names, int64_t classes,
                               cs_metric_list *out) CS_MUST_CHECK;

/* What predictions are judged by: the classes are those of `train`, the truths those of `test`.
 * `prediction` below is seeds x test->count: class numbers, or values where train->classes is 0. */
typedef struct {
    const cs_labelled_text *train, *test;
    cs_metric_list metrics;
    int64_t seeds;
    uint64_t seed; /* of the first, and of the jackknife's blocks; the others follow it */
} cs_judge;

/* Over the seeds: their interval, and the test-sample error of one. */
typedef struct {
    cs_seed_summary seeds;
    double se;
} cs_seed_score;

/* scratch: 2 seeds; its first half is then the score of each seed. Errors of cs_metric_of. */
cs_status cs_judge_score(const cs_judge *judge, cs_metric metric, const double *prediction,
                         double *scratch, cs_seed_score *out) CS_MUST_CHECK;

/* What a guess without features is: the most frequent class of the training side (the first of
 * equal ones), or the mean of its values. */
double cs_judge_constant(const cs_judge *judge);

/* {"name", "definition", "value", "se", "seed_interval": {"low", "high", "coverage"}}; NULL when
 * out of memory. */
json_t *cs_seed_score_json(const char *name, const char *definition, const cs_seed_score *score);

/* --- predictions.csv ---------------------------------------------------------------------------*/

/* An empty table "layer,example,truth,seed_1,...". */
cs_status cs_predictions_init(int64_t seeds, cs_table *out) CS_MUST_CHECK;

/* Its rows of one layer: examples from 0, classes by name. */
cs_status cs_predictions_add(const cs_judge *judge, const char *layer, const double *prediction,
                             cs_table *table) CS_MUST_CHECK;

/* Writes DIR/predictions.csv. */
cs_status cs_predictions_write(cs_args *args, const cs_table *table) CS_MUST_CHECK;

/* --- another run -------------------------------------------------------------------------------*/

/* Of a command that compares with another run. */
extern const cs_opt cs_group_against[];

typedef struct {
    const char *file; /* NULL: no --against */
    cs_table table;
} cs_rival;

/* Reads the file that --against names. CS_ERR_INPUT when it is no predictions.csv. */
cs_status cs_rival_open(cs_args *args, cs_rival *out) CS_MUST_CHECK;
void cs_rival_free(cs_rival *rival);

/* Whether the rival has predictions of this layer (or of one layer alone, whatever its name) for
 * the very examples of judge->test, in their order: CS_ERR_INPUT names file and line where not.
 * Without --against there is nothing to check. */
cs_status cs_rival_check(const cs_rival *rival, const cs_judge *judge,
                         const char *layer) CS_MUST_CHECK;

/* This run less the other, the k-th seed of one with the k-th of the other as far as both have
 * them. */
typedef struct {
    int64_t seeds;
    cs_seed_score difference[CS_METRICS]; /* judge->metrics, of differences seed by seed */
    cs_mcnemar_result *mcnemar;           /* seeds; NULL: values, not classes */
} cs_comparison;

extern const char cs_difference_definition[], cs_mcnemar_definition[];

/* Errors of cs_rival_check. */
cs_status cs_compare(const cs_rival *rival, const cs_judge *judge, const char *layer,
                     const double *prediction, cs_comparison *out) CS_MUST_CHECK;
void cs_comparison_free(cs_comparison *comparison);

/* McNemar's p of the first seed, as a score of one seed without error or interval: the median of
 * p-values over seeds would be no p-value. Needs comparison->mcnemar. */
cs_seed_score cs_comparison_first_p(const cs_comparison *comparison);

/* Sets json.against = {"file", "seeds", "metrics": [...], "mcnemar": [{"seed", "only_this",
 * "only_other", "p"}, ...]}, mcnemar for classes only. */
cs_status cs_comparison_json(const cs_rival *rival, const cs_judge *judge,
                             const cs_comparison *comparison, json_t *json) CS_MUST_CHECK;

#endif
