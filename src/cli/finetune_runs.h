/* The runs of cospec finetune: one a seed (and, to choose a learning rate, one a rate), each kept
 * in a folder of its own as soon as it is done, so that --resume makes only those that are missing.
 */
#ifndef CS_CLI_FINETUNE_RUNS_H
#define CS_CLI_FINETUNE_RUNS_H

#include "cli/model_text.h"
#include "train/finetune.h"

typedef struct {
    const char *source; /* as it was named */
    cs_labelled_text text;
    cs_texts ids;
} cs_finetune_side;

typedef struct {
    cs_model_text from; /* the pretrained model */
    bool fresh;         /* its architecture alone: the baseline */
    cs_model_config config;
    cs_finetune_options options; /* but for learning rate, seed, dir, stage */
    cs_finetune_side train, test;
    const char *dir; /* NULL: nothing is kept */
    bool resume, save_model;
    const char *few; /* of cs_few_shot */
    char key[33];    /* of all that the numbers follow from but rate and seed */
} cs_finetune_task;

/* What one run gave. */
typedef struct {
    double rate;
    uint64_t seed;
    int64_t examples, steps, skipped;
    double train_loss, test_loss;
    double *predicted; /* as many as were asked for */
} cs_finetune_run;

void cs_finetune_run_free(cs_finetune_run *run);
void cs_finetune_task_free(cs_finetune_task *task);

/* Fills in task->key. */
cs_status cs_finetune_task_key(cs_finetune_task *task) CS_MUST_CHECK;

/* The training examples of a seed: all, or its draw of few. */
cs_status cs_finetune_draw(const cs_finetune_task *task, uint64_t seed, int64_t *count,
                           int64_t **index) CS_MUST_CHECK;

/* Trains on the seed's draw and predicts the test texts. */
cs_status cs_finetune_test_run(const cs_finetune_task *task, double rate, uint64_t seed,
                               cs_finetune_run *out) CS_MUST_CHECK;

/* The seed's draw with 10 % of each class held out: which examples those are, in fresh memory. */
typedef struct {
    int64_t fits, helds;
    int64_t *fit, *held;
} cs_finetune_split;
cs_status cs_finetune_split_of(const cs_finetune_task *task, uint64_t seed,
                               cs_finetune_split *out) CS_MUST_CHECK;
void cs_finetune_split_free(cs_finetune_split *split);

/* Trains on split->fit and predicts split->held. */
cs_status cs_finetune_trial_run(const cs_finetune_task *task, const cs_finetune_split *split,
                                double rate, uint64_t seed, cs_finetune_run *out) CS_MUST_CHECK;

#endif
