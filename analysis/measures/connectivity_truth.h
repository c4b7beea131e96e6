/* Compares the estimate of connectivity from features with the co-occurrence matrices.
 *
 * Truth is connectivity.csv, the output of cospec connectivity for the matrices of the same corpus:
 * sum_sigma4 (smaller is better connected) and gap (larger is), target position blind and given. A
 * higher similarity predicts better connectivity. If the file has other estimates and smaller
 * corpora, the matrix of the whole corpus (plug-in) is used; for documents of a synthetic language
 * that of the language (population), which has no error. */
#pragma once

#include <stdint.h>

#include "base/status.h"
#include "io/result.h"
#include "stats/rank_correlation.h"

enum { CS_TRUTH_CLAIMS = 2, CS_TRUTH_QUANTITIES = 4 };

/* Predictions from the features of one model. */
typedef struct {
    const char *series;
    cs_measured claim[CS_TRUTH_CLAIMS];     /* as in cs_truth_claim */
    bool known;                             /* the file has this series */
    cs_measured truth[CS_TRUTH_QUANTITIES]; /* value NaN: not in the file, or not a number */
} cs_truth_model;

/* "top_mean", "mean"; and the true quantities: {metric, target position}. */
extern const char *const cs_truth_claim[CS_TRUTH_CLAIMS];
extern const char *const cs_truth_quantity[CS_TRUTH_QUANTITIES][2];

/* Fills `known` and `truth` of the models. CS_ERR_INPUT: a missing column, a value that is not a
 * number (with its line), a repeated series, fewer than two of the models (its series are listed).
 */
cs_status cs_truth_read(const char *path, int64_t count, cs_truth_model *models) CS_MUST_CHECK;

/* Agreement of the ranking by features with that by a quantity; NaN values are left out. first and
 * second have a capacity of `count`. Errors of cs_ranking_of. */
cs_status cs_truth_rank(int64_t count, const cs_truth_model *models, int claim, int quantity,
                        cs_measured *first, cs_measured *second, cs_ranking *out) CS_MUST_CHECK;

/* Every feature measure against every true quantity: an object each in `list`, and the rows of a
 * table. `work`: 2 count values of scratch. Errors of cs_truth_rank. */
cs_status cs_truth_record(int count, const cs_truth_model *models, cs_measured *work, cs_item *list,
                          cs_item *rows) CS_MUST_CHECK;
