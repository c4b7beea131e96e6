/* What cospec finetune reports of its runs: scores, their two intervals, every prediction, and the
 * comparison with another run. */
#ifndef CS_CLI_FINETUNE_REPORT_H
#define CS_CLI_FINETUNE_REPORT_H

#include "analysis/metrics.h"
#include "cli/finetune_runs.h"
#include "cli/predictions.h"

/* The layer of its predictions: a fine-tuned model has no other. */
#define CS_FINETUNE_LAYER "all"

/* By what the predictions of the task's seeds seed, seed + 1, ... are judged; borrows the task. */
cs_judge cs_finetune_judge(const cs_finetune_task *task, const cs_metric_list *metrics,
                           int64_t seeds, uint64_t seed);

/* A learning rate tried, its score and mean loss on the examples held out of the training side. */
typedef struct {
    double rate, score, loss;
} cs_finetune_trial;

typedef struct {
    const cs_finetune_task *task;
    const cs_metric_list *metrics;
    const cs_finetune_run *run; /* runs, one a seed */
    int64_t runs;
    const cs_finetune_trial *trial; /* trials; none where one rate was given */
    int64_t trials;
    const cs_rival *rival; /* the run of --against */
} cs_finetune_results;

/* Sets the command's result: finetune.json, finetune.csv (or standard output), predictions.csv. */
cs_status cs_finetune_report(cs_args *args, const cs_finetune_results *results) CS_MUST_CHECK;

#endif
