/* The training loop: examples in a seeded order, steps of accumulated micro-batches, schedule,
 * clipping, AdamW, log, evaluation, checkpoints.
 *
 * Everything random is a function of (seed, step, row): a run that was interrupted and resumed
 * writes the same bytes as one that was not.
 *
 *   DIR/log.csv           a row every log_every steps (train/log.h)
 *   DIR/checkpoint-STEP/  the last two and those of `keep`: model, configuration, tokenizer,
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

/* Input of training in place of the vectors of the corpus: augmented images. `take` writes the
 * vectors of tokens first .. first + count - 1, for row `row` of step `step` (from 1). Held-out
 * documents are unchanged. `what` goes into the record of the run; take NULL: the vectors of the
 * corpus. */
typedef struct {
    cs_status (*take)(void *ctx, int64_t first, int64_t count, int64_t step, int64_t row,
                      float *to);
    void *ctx;
    const char *what;
} cs_train_view;

typedef struct {
    cs_task task;
    /* phases of alternating or successive objectives; borrowed. NULL: the objective of the task */
    const cs_phases *phases;
    cs_loss loss;
    double spectral_factor;
    double replaced_token; /* weight of the detector's loss (train/detect.h); 0: none */
    /* sequences a micro-batch, micro-batches a step, tokens a sequence */
    int64_t steps, batch, accumulate, length;
    bool pack;      /* documents joined by end-of-text and cut; else one document a sequence */
    bool by_length; /* micro-batches of similar lengths (train/examples.h) */
    char from[33];  /* of cs_train_begin_with; "": a new model */
    cs_schedule schedule;
    double learning_rate, final_share; /* peak, and last / peak */
    int64_t warmup;                    /* steps; -1: cs_schedule_warmup */
    double cool_down; /* constant: share of the steps over which the rate falls at the end */
    double beta1, beta2, adam_eps, weight_decay, clip; /* clip 0: none */
    uint64_t seed;
    int64_t log_every, eval_every, save_every; /* steps; 0: never (the last step always) */
    cs_train_steps keep;                       /* steps whose checkpoints are kept; borrowed */
    int64_t eval_batches;
    int64_t bad_limit; /* skipped steps in a row that stop the run */
    double time_limit; /* seconds; 0: none. Stops like an interrupt, but with CS_OK. */
    /* output; checkpoints in dir/checkpoint-STEP, the model in dir; NULL: nothing is written */
    const char *dir;
    bool resume; /* from the last checkpoint in dir, if there is one */
    /* else from checkpoint-`trunk_step` of the run in this directory, which shares its first steps;
     * NULL: from the given model */
    const char *trunk;
    int64_t trunk_step;
    /* Called once, after all checks and the removal of older checkpoints from dir, before the first
     * byte is written; its failure ends the run. NULL: nothing. */
    cs_status (*begun)(void *ctx);
    void *begun_ctx;
    const cs_progress *progress;
    cs_train_view view;
} cs_train_options;

/* Members that have the names of their options; the results of a run depend on all of them. */
#define CS_TRAIN_SETTINGS                                                                          \
    steps, batch, accumulate, pack, by_length, final_share, cool_down, replaced_token, beta1,      \
        beta2, adam_eps, weight_decay, clip

/* Steps over which the rate falls at the end, and those before them. */
int64_t cs_train_cool(const cs_train_options *options);

/* Defaults with their sources in docs/reference/training-options.md: the recipe of Geiping and Goldstein (2023,
 * "cramming"): one-cycle, peak 1e-3, betas 0.9 and 0.98, eps 1e-12, decay 0.01, clip 0.5. The
 * objective is ar. */
cs_train_options cs_train_defaults(void);

typedef struct {
    int64_t step, tokens, skipped;
    /* of the last step; nats per predicted token, squared error per predicted value; NaN: not
     * measured */
    double loss, eval_loss;
    double first_loss; /* of the first step of the run; NaN: not a step of this call */
    /* cross-entropy of the training tokens' frequencies on the sequences of eval_loss; NaN: for an
     * incomplete run or the spectral loss */
    double unigram_loss;
    /* of the detector, for the last step that was read; NaN: there is none */
    double detect_loss;
    double seconds; /* of this call */
    bool finished;  /* all steps are done */
} cs_train_result;

/* Records the trained model that the run starts from: its checkpoints resume with no other. */
cs_status cs_train_begin_with(const cs_model *model, cs_train_options *options) CS_MUST_CHECK;

/* tokenizer NULL: documents are pictures, and nothing is written of one.
 *
 * Trains on the documents of `corpus` that are not held out; evaluates on those that are: the same
 * sequences and plans every time, mean loss a predicted token. The model is initialised or read
 * already; with `resume` its parameters and moments are overwritten by those of the checkpoint.
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
    int64_t sequences, held_out, too_short, tokens; /* of an epoch */
    int64_t bytes;                                  /* parameters, moments, activations */
    double flops;                                   /* a step, at most (padding counts) */
    double step_seconds;                            /* measured on the first steps */
} cs_train_estimate;

/* Estimates a run: builds everything and times some steps. Writes nothing; the parameters of the
 * model are changed. Errors as cs_train. */
cs_status cs_train_dry_run(cs_model *model, const cs_corpus *corpus, const cs_tokenizer *tokenizer,
                           const cs_train_options *options, cs_train_estimate *out) CS_MUST_CHECK;
