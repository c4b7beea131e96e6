/* Scores of predictions against truth, their intervals, and what is said over several seeds.
 *
 *   accuracy   share of equal labels
 *   f1         2 tp / (2 tp + fp + fn) of class 1, two classes (GLUE: MRPC, QQP); 0 where the
 *              denominator is
 *   f1_macro   mean over the classes of each one's f1
 *   matthews   Matthews correlation of two or more classes (Gorodkin 2004); 0 where a side is
 *              constant (GLUE: CoLA)
 *   pearson    correlation of values (GLUE: STS-B); 0 where a side is constant
 *   spearman   the same of ranks, ties at their mean rank
 *   mse        mean squared error: smaller is better
 *
 * Two sources of error are kept apart. The *test-sample* interval is about how the score of this one
 * classifier would move with other test examples: delete-block jackknife over the examples (a
 * permutation of them by the seed, dealt to the blocks in turn: the same for every classifier that
 * is tested on as many; se^2 = (B-1)/B sum_b (theta_b - mean)^2). The *seed* interval is about how
 * it moves with other initial values and orders: the median over seeds and the order statistics
 * that cover it with the coverage stated.
 */
#pragma once

#include <stdint.h>

#include "base/status.h"

typedef enum {
    CS_METRIC_ACCURACY,
    CS_METRIC_F1,
    CS_METRIC_F1_MACRO,
    CS_METRIC_MATTHEWS,
    CS_METRIC_PEARSON,
    CS_METRIC_SPEARMAN,
    CS_METRIC_MSE,
    CS_METRICS
} cs_metric;

/* "accuracy", "f1", "f1-macro", "matthews", "pearson", "spearman", "mse"; CS_ERR_USAGE names
 * another. */
const char *cs_metric_name(cs_metric metric);
cs_status cs_metric_by_name(const char *name, cs_metric *out) CS_MUST_CHECK;
bool cs_metric_of_classes(cs_metric metric); /* else of values */

/* One sentence: the formula, for the `definition` field. */
const char *cs_metric_definition(cs_metric metric);

/* truth, predicted: count; classes as whole numbers 0..classes-1 (classes 0: values). CS_ERR_USAGE:
 * no examples, a metric that does not go with `classes` (f1 with other than two); CS_ERR_INPUT
 * names the place of a number that is not finite or a class out of range. */
cs_status cs_metric_of(cs_metric metric, int64_t count, const double *truth,
                       const double *predicted, int64_t classes, double *out) CS_MUST_CHECK;

/* What is scored: truth as above. */
typedef struct {
    int64_t count;
    const double *truth;
    int64_t classes;
} cs_metric_sample;

/* The blocks that the jackknife takes when none are said: min(count, 200). */
int64_t cs_metric_blocks(int64_t count);

/* The block of each of `count` examples: a permutation of them by the seed, dealt round. CS_ERR_USAGE:
 * more than INT32_MAX examples. */
cs_status cs_metric_deal(int64_t count, int64_t blocks, uint64_t seed,
                         int32_t *block) CS_MUST_CHECK;

/* The score's test-sample standard error; blocks at most the examples (0: cs_metric_blocks). NaN
 * with fewer than two blocks. left_out: the scores without each block; NULL: not wanted. */
cs_status cs_metric_error(cs_metric metric, const cs_metric_sample *what, const double *predicted,
                          int64_t blocks, uint64_t seed, double *se,
                          double *left_out) CS_MUST_CHECK;

/* The score of `a` less that of `b` on the same examples, and the test-sample standard error of
 * this difference: both are left out of together, so that what is hard for both does not count.
 * Blocks and errors as above. */
cs_status cs_metric_difference(cs_metric metric, const cs_metric_sample *what, const double *a,
                               const double *b, uint64_t seed, double *difference,
                               double *se) CS_MUST_CHECK;

/* McNemar's exact test (Psychometrika 12, 1947): of the examples that one of two classifiers alone
 * has right, each is as likely either's. p = min(1, 2 P(Bin(only_a + only_b, 1/2) <= min(only_a,
 * only_b))). CS_ERR_USAGE: no examples. */
typedef struct {
    int64_t only_a, only_b;
    double p;
} cs_mcnemar_result;
cs_status cs_mcnemar(int64_t count, const double *truth, const double *a, const double *b,
                     cs_mcnemar_result *out) CS_MUST_CHECK;

/* Over seeds: median (mean of the middle two of an even number), and the widest pair of order
 * statistics x_(r), x_(n+1-r) with the chance that it covers the median of the distribution, 1 - 2
 * P(Bin(n, 1/2) < r): r the largest with coverage of at least 0.95, else 1. One seed has no
 * interval: low, high and coverage are NaN. */
typedef struct {
    int64_t count;
    double median, low, high, coverage;
} cs_seed_summary;
cs_status cs_seed_summary_of(int64_t count, const double *value,
                             cs_seed_summary *out) CS_MUST_CHECK;
