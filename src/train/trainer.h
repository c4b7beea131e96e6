/* The training loop: examples in a seeded order, steps of accumulated micro-batches, schedule,
 * clipping, AdamW, log, evaluation, checkpoints.
 *
 * Everything random is a function of (seed, step, row): a run that was interrupted and resumed
 * writes the same bytes as one that was not.
 *
 *   DIR/log.csv           a row every log_every steps (train/log.h)
 *   DIR/checkpoint-STEP/  the last two and those of `intervals.keep`: model, configuration, tokenizer,
 *                         moments, trainer.json (train/checkpoint.h)
 *   DIR/model.safetensors, config.json, tokenizer.json, tokenizer_config.json
 *                         when all steps are done
 */
#pragma once

#include <stdint.h>

#include "base/progress.h"
#include "base/status.h"
#include "model/model.h"
#include "text/corpus.h"
#include "text/tokenizer.h"
#include "train/batch.h"
#include "train/checkpoint.h"
#include "train/phases.h"
#include "train/schedule.h"
#include "train/updates.h"

/* Input of training in place of the vectors of the corpus: augmented images, or images that are
 * decoded when they are read. `take` writes the vectors of tokens first .. first + count - 1, for row
 * `row` of step `step` (from 1); several threads call it, also for the next batch while a step is
 * computed. held_out: also those of held-out documents (step 0); without it they are unchanged.
 * `what` goes into the record of the run; take NULL: the vectors of the corpus. */
typedef struct {
    cs_status (*take)(void *ctx, int64_t first, int64_t count, int64_t step, int64_t row,
                      float *to);
    void *ctx;
    const char *what;
    bool held_out;
} cs_train_view;

/* Sequences of a step: sequences a micro-batch, micro-batches a step, tokens a sequence. */
typedef struct {
    int64_t batch, accumulate, length;
    /* Documents joined by end-of-text and cut; else one document a sequence. */
    bool pack;
    /* Micro-batches of similar lengths (train/examples.h). */
    bool by_length;
    cs_train_view view;
} cs_train_data;

typedef struct {
    cs_schedule schedule;
    /* The peak. */
    double learning_rate;
    /* The last rate as a share of the peak. */
    double final_share;
    /* Steps; -1: cs_schedule_warmup. */
    int64_t warmup;
    /* Constant schedule: share of the steps over which the rate falls at the end. */
    double cool_down;
} cs_train_rate;

/* Steps between two records; 0: never (the last step always). */
typedef struct {
    int64_t log_every, eval_every, save_every;
    int64_t eval_batches;
    /* Steps whose checkpoints are kept; borrowed. */
    cs_train_steps keep;
} cs_train_intervals;

typedef struct {
    /* Of cs_train_begin_with; "": a new model. */
    char from[33];
    /* From the last checkpoint in dir, if there is one. */
    bool resume;
    /* Else from checkpoint-`trunk_step` of the run in this directory, which shares its first steps;
     * NULL: from the given model. */
    const char *trunk;
    int64_t trunk_step;
} cs_train_start;

typedef struct {
    cs_task task;
    /* Phases of alternating or successive objectives; borrowed. NULL: the objective of the task. */
    const cs_phases *phases;
    cs_loss loss;
    double spectral_factor;
    /* Weight of the detector's loss (train/detect.h); 0: none. */
    double replaced_token;
    int64_t steps;
    uint64_t seed;
    cs_train_data data;
    cs_train_rate rate;
    cs_adamw_recipe adamw;
    cs_train_intervals intervals;
    cs_train_start start;
    /* Skipped steps in a row that stop the run. */
    int64_t bad_limit;
    /* Seconds; 0: none. Stops like an interrupt, but with CS_OK. */
    double time_limit;
    /* Output: checkpoints in dir/checkpoint-STEP, the model in dir; NULL: nothing is written. */
    const char *dir;
    /* Called once, after all checks and the removal of older checkpoints from dir, before the first
     * byte is written; its failure ends the run. NULL: nothing. */
    cs_status (*begun)(void *ctx);
    void *begun_ctx;
    const cs_progress *progress;
} cs_train_options;

/* Members that have the names of their options; the results of a run depend on all of them. */
#define CS_TRAIN_SETTINGS(FIELDS, to, options)                                                     \
    FIELDS(to, options, steps);                                                                    \
    FIELDS(to, &(options)->data, batch, accumulate, pack, by_length);                              \
    FIELDS(to, &(options)->rate, final_share, cool_down);                                          \
    FIELDS(to, options, replaced_token);                                                           \
    FIELDS(to, &(options)->adamw, beta1, beta2, adam_eps, weight_decay, clip)

/* Steps over which the rate falls at the end, and those before them. */
int64_t cs_train_cool(const cs_train_options *options);

/* Defaults with their sources in docs/reference/training-options.md: the recipe of Geiping and Goldstein (2023,
 * "cramming"): one-cycle, peak 1e-3, betas 0.9 and 0.98, eps 1e-12, decay 0.01, clip 0.5. The
 * objective is ar. */
cs_train_options cs_train_defaults(void);

typedef struct {
    int64_t step, tokens, skipped;
    /* Steps without a prediction: they changed nothing and have no loss. */
    int64_t empty_steps;
    /* Of the last step; nats per predicted token, squared error per predicted value; NaN: not
     * measured, or an empty step. */
    double loss, eval_loss;
    /* Of the first step of the run; NaN: not a step of this call. */
    double first_loss;
    /* Cross-entropy of the training tokens' frequencies on the sequences of eval_loss; NaN: for an
     * incomplete run or the spectral loss. */
    double unigram_loss;
    /* Of the detector, for the last step that was read; NaN: there is none. */
    double detect_loss;
    /* Of this call. */
    double seconds;
    /* All steps are done. */
    bool finished;
} cs_train_result;

/* Records the trained model that the run starts from: its checkpoints resume with no other. */
cs_status cs_train_begin_with(const cs_model *model, cs_train_options *options) CS_MUST_CHECK;

/* tokenizer NULL: documents are pictures, and nothing is written of one.
 *
 * Trains on the documents of `corpus` that are not held out; evaluates on those that are: the same
 * sequences and plans every time, mean loss a predicted token. The model is initialised or read
 * already; with `start.resume` its parameters and moments are overwritten by those of the checkpoint.
 *
 * A step whose gradient has no finite norm changes nothing and is counted. On an asynchronous
 * backend norms and losses are read at log points only, so that bad_limit may be seen later.
 *
 * CS_ERR_INTERRUPT after an interrupt: a checkpoint of the last step that was completed is written.
 * CS_ERR_CONVERGE when bad_limit was reached, the last step was skipped, or a parameter is not finite: the
 * last good checkpoint remains, no final model is written, *out is filled. CS_ERR_INPUT: nothing to train
 * on, a parameter of the model given that is not finite, a token id out of range; resuming, a checkpoint
 * that is damaged, of another corpus or tokenizer. CS_ERR_USAGE: an option out of range; resuming, one that
 * is not as recorded (`steps` and `cool_down` may change under a constant schedule before either cool-down
 * has begun). CS_ERR_IO: what was written before remains. */
cs_status cs_train(cs_model *model, const cs_corpus *corpus, const cs_tokenizer *tokenizer,
                   const cs_train_options *options, cs_train_result *out) CS_MUST_CHECK;

typedef struct {
    /* Of an epoch. */
    int64_t sequences, held_out, too_short, tokens;
    /* Parameters, moments, activations. */
    int64_t bytes;
    /* A step, at most (padding counts). */
    double flops;
    /* Measured on the first steps. */
    double step_seconds;
} cs_train_estimate;

/* Estimates a run: builds everything and times some steps. Writes nothing; the parameters of the
 * model are changed. Errors as cs_train. */
cs_status cs_train_dry_run(cs_model *model, const cs_corpus *corpus, const cs_tokenizer *tokenizer,
                           const cs_train_options *options, cs_train_estimate *out) CS_MUST_CHECK;
