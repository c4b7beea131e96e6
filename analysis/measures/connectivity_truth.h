/* The estimate of connectivity from features beside the co-occurrence matrices themselves.
 *
 * Truth is connectivity.csv, which cospec connectivity wrote of the matrices of the same corpus:
 * sum_sigma4 (smaller is better connected) and gap (larger is), target position blind and given. A
 * higher similarity claims better connectivity. Where the file has other estimates and smaller
 * corpora, the matrix of the whole corpus (plug-in) is taken; of documents of a law that of the law
 * itself (population), which has no error.
 */
#pragma once

#include <stdint.h>

#include "base/status.h"
#include "io/result.h"
#include "stats/ranking.h"

enum { CS_TRUTH_CLAIMS = 2, CS_TRUTH_QUANTITIES = 4 };

/* What the features of one model claim. */
typedef struct {
    const char *series;
    cs_measured claim[CS_TRUTH_CLAIMS];     /* as in cs_truth_claim */
    bool known;                             /* the file has this series */
    cs_measured truth[CS_TRUTH_QUANTITIES]; /* value NaN: not in the file, or not a number */
} cs_truth_model;

/* "top_mean", "mean"; and the true quantities: {metric, target position}. */
extern const char *const cs_truth_claim[CS_TRUTH_CLAIMS];
extern const char *const cs_truth_quantity[CS_TRUTH_QUANTITIES][2];

/* Fills `known` and `truth` of the models. CS_ERR_INPUT: a column that the file lacks, a value that
 * is no number by line, a series twice, fewer than two of the models in it (its series are listed).
 */
cs_status cs_truth_read(const char *path, int64_t count, cs_truth_model *models) CS_MUST_CHECK;

/* How a claim ranks the models against a quantity; those whose value is NaN are left out. `count`
 * of room in first and second. Errors of cs_ranking_of. */
cs_status cs_truth_rank(int64_t count, const cs_truth_model *models, int claim, int quantity,
                        cs_measured *first, cs_measured *second, cs_ranking *out) CS_MUST_CHECK;

/* Every claim under every true quantity: an object each in `list`, and the rows of a table. room: 2
 * count. Errors of cs_truth_rank. */
cs_status cs_truth_record(int count, const cs_truth_model *models, cs_measured *room, cs_item *list,
                          cs_item *rows) CS_MUST_CHECK;
