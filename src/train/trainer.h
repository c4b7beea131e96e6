/* The training loop: examples in a seeded order, steps of accumulated micro-batches, schedule,
 * clipping, AdamW, log, evaluation, checkpoints.
 *
 * Everything random is a function of (seed, step, row): a run that was interrupted and resumed
 * writes the same bytes as one that was not.
 */
#ifndef CS_TRAIN_TRAINER_H
#define CS_TRAIN_TRAINER_H

#include <stdint.h>

#include "base/progress.h"
#include "base/status.h"
#include "model/model.h"
#include "text/corpus.h"
#include "text/tokenizer.h"
#include "train/batch.h"

typedef enum {
    CS_SCHEDULE_ONE_CYCLE,
    CS_SCHEDULE_COSINE,
    CS_SCHEDULE_LINEAR,
    CS_SCHEDULE_CONSTANT
} cs_schedule;

typedef struct {
    cs_task task;
    cs_loss loss;
    double spectral_factor;
    int64_t steps, batch, accumulate,
        length; /* sequences a micro-batch, micro-batches a step, tokens a sequence */
    bool pack;  /* documents joined by end-of-text and cut; else one document a sequence */
    cs_schedule schedule;
    double learning_rate, final_share; /* peak, and last / peak */
    int64_t warmup;
    double beta1, beta2, adam_eps, weight_decay, clip;
    uint64_t seed;
    int64_t log_every, eval_every, save_every; /* steps; 0: never (the last step always) */
    int64_t eval_batches;
    int64_t bad_limit; /* skipped steps in a row after which the run stops */
    double time_limit; /* seconds; 0: none. Stops as an interrupt does. */
    const char *dir;   /* output; checkpoints in dir/checkpoint-STEP, the model in dir */
    bool resume;
    const cs_progress *progress;
} cs_train_options;

/* Defaults with their sources (cramming: Geiping and Goldstein 2023): one-cycle, peak 1e-3, betas
 * 0.9 0.98, eps 1e-12, decay 0.01, clip 0.5, dropout 0. */
cs_train_options cs_train_defaults(void);

typedef struct {
    int64_t step, tokens, skipped;
    double loss, eval_loss; /* nats a predicted token; NaN: not measured */
    double seconds;
    bool interrupted;
} cs_train_result;

/* Trains on the documents of `corpus` that are not held out; evaluates on those that are. The model
 * is initialised or read already. CS_ERR_INTERRUPT after a checkpoint was written; CS_ERR_CONVERGE
 * when bad_limit was reached (the last good checkpoint stands). */
cs_status cs_train(cs_model *model, const cs_corpus *corpus, const cs_tokenizer *tokenizer,
                   const cs_train_options *options, cs_train_result *out) CS_MUST_CHECK;

#endif
