/* Fine-tuning on questions whose answers stand in a context (train/spans.h), once for every seed, and what
 * the answers of the test side score (measures/answer_scores.h). */
#pragma once

#include "analysis/trained/finetune_runs.h"
#include "text/squad.h"
#include "train/spans.h"

typedef struct {
    cs_finetune_task
        run; /* but for its sides: model, configuration, recipe with its rate, folder */
    cs_squad train, test;
    cs_spans train_ids, test_ids;
    int64_t seeds;
    uint64_t seed;
    int64_t longest;  /* of an answer, in tokens */
    double threshold; /* of no answer, where training has questions without one */
} cs_span_task;

void cs_span_task_free(cs_span_task *task);

/* Runs all seeds and fills the record: "metrics" (in the form of cs_seed_score_add, errors leave out blocks
 * of contexts), "runs". With a folder each run leaves DIR/runs/seed-N with log.csv, predictions.json and
 * null_odds.json in the form of SQuAD's scorer and, where asked for, the model. Errors name the run. */
cs_status cs_span_study(const cs_span_task *task, cs_item *root) CS_MUST_CHECK;
