/** \file
 * Scores of predictions, their intervals and their summary over seeds.
 *
 * - accuracy: share of equal labels
 * - f1: 2 tp / (2 tp + fp + fn) of class 1 of two (GLUE: MRPC, QQP); 0 if the denominator is 0
 * - f1-macro: mean over classes of the f1 of each
 * - matthews: Matthews correlation of two or more classes (Gorodkin 2004; GLUE: CoLA); 0 if a side
 *   is constant
 * - pearson: correlation of values (GLUE: STS-B); 0 if a side is constant
 * - spearman: the same of ranks, ties at their mean rank
 * - mse: mean squared error; smaller is better
 *
 * Two sources of error are separate. The test-sample error is how the score of a classifier varies
 * over test samples: a delete-block jackknife over examples, permuted by the seed and dealt to the
 * blocks, the same for every classifier with the same number of test examples. The seed interval
 * is how the score varies over initial values and data orders: the median over seeds, and order
 * statistics that cover it with the stated coverage.
 */
#pragma once

#include <stdint.h>

#include "base/status.h"

/** A score. */
typedef enum {
    /** accuracy */
    CS_METRIC_ACCURACY,
    /** f1 */
    CS_METRIC_F1,
    /** f1-macro */
    CS_METRIC_F1_MACRO,
    /** matthews */
    CS_METRIC_MATTHEWS,
    /** pearson */
    CS_METRIC_PEARSON,
    /** spearman */
    CS_METRIC_SPEARMAN,
    /** mse */
    CS_METRIC_MSE,
    /** Number of scores. */
    CS_METRICS,
} cs_metric;

/** Name of a score, as listed above. Static text. */
const char *cs_metric_name(cs_metric metric);

/** A score by name.
 *
 * \retval CS_ERR_USAGE unknown name
 */
cs_status cs_metric_by_name(const char *name, cs_metric *out) CS_MUST_CHECK;

/** Whether a score is of classes, else of values. */
bool cs_metric_of_classes(cs_metric metric);

/** The formula in one sentence. Static text. */
const char *cs_metric_definition(cs_metric metric);

/** Computes a score.
 *
 * \param count number of examples
 * \param truth count values; classes as whole numbers 0..classes-1
 * \param predicted count values
 * \param classes number of classes; 0: values
 * \param out receives the score
 * \retval CS_ERR_USAGE no examples, or a score that does not fit `classes` (f1 with other than
 *     two)
 * \retval CS_ERR_INPUT a number that is not finite or a class out of range; names its index
 */
cs_status cs_metric_of(cs_metric metric, int64_t count, const double *truth,
                       const double *predicted, int64_t classes, double *out) CS_MUST_CHECK;

/** A test sample; borrowed. */
typedef struct {
    /** Number of examples. */
    int64_t count;
    /** count values, as for cs_metric_of. */
    const double *truth;
    /** Number of classes; 0: values. */
    int64_t classes;
    /** Unit of each example, below `units`: the jackknife leaves out whole units; NULL: each example
     * is one.
     */
    const int32_t *unit;
    /** Number of units. */
    int64_t units;
} cs_metric_sample;

/** Default number of blocks of the jackknife: min(count, 200). */
int64_t cs_metric_blocks(int64_t count);

/** The block of each example: a permutation of the examples by the seed, dealt round-robin.
 *
 * \param count number of examples
 * \param blocks number of blocks
 * \param seed fixes the permutation
 * \param block receives count numbers 0..blocks-1
 * \retval CS_ERR_USAGE more than 2^31 - 1 examples
 */
cs_status cs_metric_deal(int64_t count, int64_t blocks, uint64_t seed,
                         int32_t *block) CS_MUST_CHECK;

/** The test-sample standard error of a score.
 *
 * \param what the sample
 * \param predicted what->count values
 * \param blocks at most the number of units; 0: cs_metric_blocks
 * \param seed fixes the blocks
 * \param se receives the error; NaN for fewer than two blocks
 * \param left_out receives the scores without each block (blocks values); NULL: not wanted
 */
cs_status cs_metric_error(cs_metric metric, const cs_metric_sample *what, const double *predicted,
                          int64_t blocks, uint64_t seed, double *se,
                          double *left_out) CS_MUST_CHECK;

/** The score of predictions `a` minus that of predictions `b` on the same examples, and the
 * test-sample standard error of the difference. Both leave out the same blocks, so common
 * difficulty cancels. Errors of cs_metric_of.
 */
cs_status cs_metric_difference(cs_metric metric, const cs_metric_sample *what, const double *a,
                               const double *b, uint64_t seed, double *difference,
                               double *se) CS_MUST_CHECK;

/** Result of McNemar's test. */
typedef struct {
    /** Examples that only a predicts correctly. */
    int64_t only_a;
    /** Examples that only b predicts correctly. */
    int64_t only_b;
    /** \f$\min(1,\, 2\, P(\mathrm{Bin}(a + b, 1/2) \le \min(a, b)))\f$ with a = only_a, b = only_b.
     */
    double p;
} cs_mcnemar_result;

/** McNemar's exact test (Psychometrika 12, 1947) of two classifiers on the same examples. `truth`,
 * `a` and `b` have count values.
 *
 * \retval CS_ERR_USAGE no examples
 */
cs_status cs_mcnemar(int64_t count, const double *truth, const double *a, const double *b,
                     cs_mcnemar_result *out) CS_MUST_CHECK;

/** Summary of a score over seeds. */
typedef struct {
    /** Number of seeds n. */
    int64_t count;
    /** Median; of an even number the mean of the middle two. */
    double median;
    /** x_(r), the lower end of the interval; NaN for one seed. */
    double low;
    /** x_(n+1-r), the upper end. */
    double high;
    /** Probability 1 - 2 P(Bin(n, 1/2) < r) that the interval covers the median of the
     * distribution; r is the largest with coverage at least 0.95, else 1.
     */
    double coverage;
} cs_seed_summary;

/** Summarises count values, one for each seed.
 *
 * \retval CS_ERR_USAGE no seeds
 * \retval CS_ERR_MEMORY allocation failed
 */
cs_status cs_seed_summary_of(int64_t count, const double *value,
                             cs_seed_summary *out) CS_MUST_CHECK;
