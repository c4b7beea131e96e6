/* log.csv: one row a logged step, appended as it is made, so that a run that dies leaves all but
 * the row it was writing.
 *
 *   step, tokens (content tokens so far), loss (of this step, nats a predicted token),
 *   learning_rate, grad_norm (before clipping), tokens_per_second (since the last row; reading and
 *   writing of checkpoints and evaluation left out), memory_bytes (resident), eval_loss (empty: not
 *   measured), skipped (steps so far whose gradient was not finite), data_seconds (of the steps since
 *   the last row, spent on their batches: reading, augmentation, drawing plans, masks; empty in
 *   fine-tuning, which does not measure them).
 *
 * A step that predicted nothing has neither loss nor grad_norm: they are empty.
 */
#pragma once

#include <stdint.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/status.h"

typedef struct {
    int64_t step, tokens, memory, skipped;
    double loss, learning_rate, grad_norm;
    bool empty;                     /* the step predicted nothing */
    double eval_loss, data_seconds; /* NaN: not measured */
} cs_log_row;

/* The speed of a row is that since `since`, when `tokens` had been read: the time of the previous
 * row, shifted by excluded times. */
typedef struct {
    FILE *stream;
    char *path;
    double since;
    int64_t tokens;
} cs_log;

/* Opens DIR/log.csv with the rows up to `step` (0: none), and removes later ones. CS_ERR_INPUT if
 * the existing file is not such a log. */
cs_status cs_log_open(const char *dir, int64_t step, cs_log *out) CS_MUST_CHECK;

cs_status cs_log_add(cs_log *log, const cs_log_row *row) CS_MUST_CHECK;

/* Rows so far are on the disk when this returns. */
cs_status cs_log_sync(cs_log *log) CS_MUST_CHECK;

void cs_log_close(cs_log *log); /* accepts a zeroed object */
