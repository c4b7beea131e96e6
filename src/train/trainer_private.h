/* The state of a training run, shared by trainer.c and step.c. */
#pragma once

#include "model/pass.h"
#include "train/ahead.h"
#include "train/checkpoint.h"
#include "train/detect.h"
#include "train/examples.h"
#include "train/trainer.h"
#include "train/updates.h"

typedef struct {
    cs_model *model;
    cs_backend *backend;
    cs_train_options options; /* warm-up resolved */
    cs_task task;             /* of the current step, by its phase */
    cs_examples train, held;
    cs_pass step, eval; /* batches of a step: micro */
    cs_detector detector;
    double *mass;          /* vocab, spectral loss; else NULL */
    cs_batch *micro;       /* accumulate */
    cs_example *example;   /* batch */
    cs_ahead ahead;        /* with a view */
    cs_ahead_batch wanted; /* with a view: the batch that is built */
    cs_updates updates;    /* of steps with predictions */
    bool empty;            /* the last step predicted nothing */
    cs_train_state state;
    double data; /* seconds spent on batches since the last row of the log */
    double norm; /* of the last step that was read, NaN when it was empty; its loss: state.loss */
} cs_trainer;

/* Starts from a zeroed object. Checks the options, orders the examples, builds both networks. */
cs_status cs_trainer_init(cs_model *model, const cs_corpus *corpus, const cs_tokenizer *tokenizer,
                          const cs_train_options *options, cs_trainer *out) CS_MUST_CHECK;
void cs_trainer_free(cs_trainer *t);

/* The next step: batches, forward, backward, update. read: wait for its loss and all unread norms,
 * and count the skipped steps. CS_ERR_CONVERGE if there were too many in a row. CS_ERR_INTERRUPT,
 * except on an asynchronous device: before the update, only gradients have changed. Call it under
 * cs_interrupt_hold, or if an interrupt ends the result anyway. */
cs_status cs_trainer_step(cs_trainer *t, bool read) CS_MUST_CHECK;

/* Selects the task of step `step`. */
void cs_trainer_phase(cs_trainer *t, int64_t step);

/* The learning rate of a step. */
double cs_trainer_rate(const cs_train_options *options, int64_t step);

/* Mean loss per predicted token of the fixed held-out sequences; NaN if there are none. */
cs_status cs_trainer_evaluate(cs_trainer *t, double *out) CS_MUST_CHECK;

/* On the same predictions, the mean of -ln (n_v + 1) / (n + V): n_v of the n training tokens are v,
 * V the size of the vocabulary. NaN if there are none. */
cs_status cs_trainer_unigram(cs_trainer *t, double *out) CS_MUST_CHECK;
