/* Vectors of batches by a view (train/trainer.h), those of the next batch while a step is computed. The
 * rows of a batch are items of a parallel loop, so the vectors depend neither on threads nor on
 * what was computed ahead. */
#pragma once

#include <pthread.h>

#include "train/trainer.h"

/* The sequences of a batch: the first token of each and its length; row and step of the first. */
typedef struct {
    int64_t count, row, step;
    int64_t *first, *length; /* count */
} cs_ahead_batch;

typedef struct {
    const cs_train_view *view;
    int64_t batch, apart; /* most sequences; values between two of them */
    float *values[2];     /* batch x apart: of this batch, of the next */
    cs_ahead_batch of[2]; /* what is in them */
    bool running;         /* the thread that fills values[1] */
    pthread_t thread;
    cs_status status; /* its, and its reason */
    char *reason;
} cs_ahead;

/* A view of the vectors of a corpus that are read when they are needed; borrows the corpus. */
cs_train_view cs_ahead_view(const cs_corpus *corpus);

/* longest: tokens of a sequence; width: values of a token. view is borrowed. CS_ERR_MEMORY. */
cs_status cs_ahead_open(const cs_train_view *view, int64_t batch, int64_t longest, int64_t width,
                        cs_ahead *out) CS_MUST_CHECK;
void cs_ahead_close(cs_ahead *a);

/* The batch to ask for next, to be filled: `first` and `length` of its sequences. */
cs_ahead_batch *cs_ahead_next(cs_ahead *a);

/* Begins to compute the batch of cs_ahead_next; nothing happens where the system has no thread. */
void cs_ahead_start(cs_ahead *a);

/* The vectors of a batch, of sequence i at values[i * apart], which stay until the next call.
 * CS_ERR_INTERRUPT; errors of the view. */
cs_status cs_ahead_take(cs_ahead *a, const cs_ahead_batch *wanted, float **values) CS_MUST_CHECK;
