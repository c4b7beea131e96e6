/* Checkpoints of a training run.
 *
 *   DIR/checkpoint-STEP/model.safetensors      parameters (model/model.h)
 *                       config.json
 *                       tokenizer.json             not of pictures
 *                       optimizer.safetensors  m.NAME and v.NAME of every parameter, F32
 *                       trainer.json           step and counters, the run's settings, size and
 *                                              SHA-256 of the files above, and of itself
 *
 * A checkpoint is made as checkpoint-STEP.partial and renamed once all of it is on the disk, and
 * renamed to checkpoint-STEP.old before it is removed: a folder checkpoint-STEP without
 * trainer.json is damage.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "base/status.h"
#include "model/model.h"
#include "text/tokenizer.h"

typedef struct {
    int64_t step, tokens, skipped;
    int64_t empty_steps;    /* without a prediction */
    int64_t bad;            /* skipped steps in a row, up to this one */
    double loss, eval_loss; /* measured last; NaN: not yet */
} cs_train_state;

/* Steps whose checkpoints are kept, in any order. */
typedef struct {
    int64_t count;
    const int64_t *step;
} cs_train_steps;

bool cs_train_listed(const cs_train_steps *list, int64_t step);

/* DIR/checkpoint-STEP in fresh memory, NULL when out of memory. */
char *cs_train_folder(const char *dir, int64_t step);

/* Writes DIR/checkpoint-STEP; `run` is the identity of the run (io/run_id.h).
 * CS_ERR_CONVERGE, and nothing is written, if a parameter is not finite; it is named. */
cs_status cs_train_save(const char *dir, const cs_model *model, const cs_tokenizer *tokenizer,
                        const json_t *run, const cs_train_state *state) CS_MUST_CHECK;

/* Whether all values are finite; names the first parameter with another value. CS_ERR_CONVERGE
 * after step `step`, CS_ERR_INPUT before any (0). */
cs_status cs_train_finite(const cs_params *params, int64_t step) CS_MUST_CHECK;

/* The step of the last checkpoint in DIR, and of that before it; -1: none. CS_ERR_INPUT names a
 * folder that lacks its trainer.json. */
cs_status cs_train_last(const char *dir, int64_t *last, int64_t *before) CS_MUST_CHECK;

/* The steps of all checkpoints in DIR, rising, in fresh memory; *count 0: none. */
cs_status cs_train_kept(const char *dir, int64_t *count, int64_t **step) CS_MUST_CHECK;

/* Reads DIR/checkpoint-STEP: the counters, and the recorded run (a new reference). Every file is
 * compared with its recorded SHA-256 first: CS_ERR_INPUT names the file and both, and how to
 * continue from the checkpoint before it. CS_ERR_USAGE: a checkpoint of another version. */
cs_status cs_train_open(const char *dir, int64_t step, cs_train_state *state,
                        json_t **run) CS_MUST_CHECK;

/* Parameters and moments into the model, whose configuration is that of the recorded run.
 * CS_ERR_INPUT if the tokenizer differs, naming a token. */
cs_status cs_train_restore(const char *dir, int64_t step, const cs_tokenizer *tokenizer,
                           cs_model *model) CS_MUST_CHECK;

/* Removes all checkpoints except those of `listed` (NULL: none) and the last `keep` of the others,
 * and remains of incomplete ones. */
cs_status cs_train_prune(const char *dir, int64_t keep, const cs_train_steps *listed) CS_MUST_CHECK;
