/* Fine-tuning on extractive question answering (train/spans.h), once for every seed, and the scores
 * of the predictions for the test side (measures/answer_scores.h). */
#pragma once

#include "analysis/trained/finetune_runs.h"
#include "text/squad.h"
#include "train/spans.h"

typedef struct {
    /* except its sides: model, configuration, recipe with its rate, folder */
    cs_finetune_task run;
    cs_squad train, test;
    cs_spans train_ids, test_ids;
    int64_t seeds;
    uint64_t seed;
    int64_t longest;  /* of an answer, in tokens */
    double threshold; /* for unanswerable, if training has unanswerable questions */
} cs_span_task;

void cs_span_task_free(cs_span_task *task);

/* Runs all seeds and fills the record: "metrics" (in the form of cs_seed_score_add, errors leave
 * out blocks of contexts), "runs". With a folder each run writes DIR/runs/seed-N with log.csv,
 * predictions.json and null_odds.json in the form of SQuAD's scorer and, if requested, the model.
 * Errors name the run. */
cs_status cs_span_study(const cs_span_task *task, cs_item *root) CS_MUST_CHECK;
