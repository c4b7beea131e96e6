/* The atlas of a study: whether a known quantity of each object (the matrix of an objective)
 * predicts a measured one (of its models).
 *
 * Objects have names whose parts are joined by '.'. A quantity is
 * "NAME=FILE,COLUMN,COLUMN:VALUE,...": the number in COLUMN of the row of FILE that has every VALUE
 * (or of several that agree). In it
 *
 *   *    is the object, *1, *2, ... its first, second, ... part
 *   %    each of the budgets
 *   #    each of the runs (seeds); without it the quantity is exact
 *
 * so that for the objects ar.given and offset.blind "@m-*-%-#/log.csv,eval_loss,step:%" is a loss
 * of every model and "@c-*1/connectivity.csv,value,target_position:*2,metric:sum_sigma4" a number
 * of every matrix. At each budget, and at the best of every run (the one of least loss), every
 * prediction is correlated with every outcome: stats/rank_correlation.h, unconditionally and at
 * constant loss. Objects with equal exact predictions (to 1e-9) are merged there, with the mean of
 * their outcomes run by run: networks of one matrix are not independent trials of a prediction from
 * the matrix. */
#pragma once

#include "io/result.h"

typedef struct {
    int objects, predictions, outcomes;
    const char *const *object, *const *prediction, *const *outcome;
    const char *loss;           /* NULL: none, and no best budget */
    const char *budgets, *runs; /* words separated by commas */
    uint64_t seed;
} cs_correlate_options;

/* Fills a record: `correlations` (prediction, outcome, budget, given, objects: distinct ones, runs,
 * tau, p, low, high, runs_se, rho); `values` (object, budget, quantity, value, sd, runs), the
 * means; `pairs` (prediction, outcome, budget, object, x, y, y_sd) of the first outcome, for
 * figures; and `runs` (role: prediction, outcome or loss, quantity, object, budget, run, value),
 * everything that was read. CS_ERR_USAGE: a quantity of another form; fewer than three objects.
 * CS_ERR_INPUT names the quantity, and the file, column or row that is missing, several matching
 * rows, a cell that is not a number. */
cs_status cs_correlate(const cs_correlate_options *options, cs_item *root) CS_MUST_CHECK;
