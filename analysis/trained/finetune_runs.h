/* Fine-tuning over seeds: one run for each seed (and, to choose a learning rate, one for each
 * rate), each stored in a separate folder when it is done, so that a resumed study runs only the
 * missing ones. */
#pragma once

#include <jansson.h>

#include "analysis/trained/predictions.h"
#include "model/model.h"
#include "text/tokenizer.h"
#include "train/finetune.h"
#include "train/model_kind.h"

typedef struct {
    const char *source; /* the source as given */
    cs_labelled_text text;
    cs_texts ids;
} cs_finetune_side;

typedef struct {
    const char *name;          /* the pretrained model's, in messages */
    const cs_model *from;      /* borrowed, with its tokenizer */
    const cs_model_kind *kind; /* its; borrowed */
    cs_tokenizer *tokenizer;
    cs_backend *backend;
    bool fresh;            /* only its architecture: the baseline */
    const cs_cloze *cloze; /* NULL: a separate head; borrowed */
    cs_model_config config;
    cs_finetune_options options; /* except learning rate, seed, dir, stage */
    cs_finetune_side train, test;
    const char *dir; /* NULL: nothing is stored */
    bool resume, save_model;
    const char *few; /* of cs_few_shot */
    /* settings and inputs that affect the results (io/run_id.h), except rate and seed; owned */
    json_t *identity;
} cs_finetune_task;

/* Result of one run. */
typedef struct {
    double rate;
    uint64_t seed;
    int64_t examples, steps, skipped;
    double train_loss, test_loss;
    double *predicted; /* one for each test example */
} cs_finetune_run;

/* A learning rate, with its score and mean loss on held-out examples of the training side. */
typedef struct {
    double rate, score, loss;
} cs_finetune_trial;

/* Request: `seeds` runs from `seed` on, at the best of `rates` learning rates. */
typedef struct {
    cs_metric_list metrics; /* a rate is chosen by the first */
    double *rate;           /* borrowed */
    int64_t rates, seeds;
    uint64_t seed;
} cs_finetune_plan;

typedef struct {
    double chosen;
    cs_finetune_run *run; /* seeds */
    int64_t runs;
    cs_finetune_trial *trial; /* trials; none for a single rate */
    int64_t trials;
} cs_finetune_study;

/* Frees the data that the task owns: both sides and the identity. */
void cs_finetune_task_free(cs_finetune_task *task);
void cs_finetune_study_free(cs_finetune_study *study);

/* Sets task->identity. */
cs_status cs_finetune_task_identify(cs_finetune_task *task) CS_MUST_CHECK;

/* The initial model of a run of this seed. */
cs_status cs_finetune_start(const cs_finetune_task *task, uint64_t seed,
                            cs_model *out) CS_MUST_CHECK;
/* Writes a model with the names of the task's classes, and its tokenizer. */
cs_status cs_finetune_keep(const cs_finetune_task *task, const cs_model *model,
                           const char *folder) CS_MUST_CHECK;

/* The layer of its predictions: a fine-tuned model has only this one. */
#define CS_FINETUNE_LAYER "all"

/* The scoring of the predictions of the seeds; borrows the task. */
cs_scoring cs_finetune_scoring(const cs_finetune_task *task, const cs_finetune_plan *plan);

/* Each of several rates trains on the draw of the first seed without 10 % of each class, and the
 * rate with the best score on these is chosen, on ties the one with the smallest loss there. Then
 * every seed trains on its draw and predicts the test examples. Errors name the run. */
cs_status cs_finetune_study_of(const cs_finetune_task *task, const cs_finetune_plan *plan,
                               cs_finetune_study *out) CS_MUST_CHECK;

/* The study in a record: its scores ("metrics"), each run and trial, and against `reference`, the run
 * of --against, whose file may be NULL. predictions (zeroed; NULL: not wanted): a table of them. */
cs_status cs_finetune_record(const cs_finetune_task *task, const cs_finetune_plan *plan,
                             const cs_finetune_study *study, const cs_reference *reference,
                             cs_item *root, cs_table *predictions) CS_MUST_CHECK;
