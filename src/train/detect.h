/* Replaced-token detection (ELECTRA: Clark et al. 2020) as a second loss of masked training.
 *
 * After the forward pass of a masked batch every masked token is drawn from its predicted
 * distribution, and the same encoder reads the filled text. Its detector predicts for every row,
 * special tokens included, whether its token differs from the original one:
 *   loss = masked loss + weight (1 / rows) sum over the step's rows of -ln p(original or replaced).
 * No gradient flows through the draw. ELECTRA has a separate network for the masks, discarded
 * later; here one network does both, with shared weights.
 *
 * Draws are a function of (seed, step, micro-batch, row). */
#pragma once

#include "model/pass.h"

typedef struct {
    cs_pass pass;
    double weight; /* 0: no detection */
    int64_t rows;  /* of the current step */
    double loss;   /* of it, when read: nats a row */
    float *logits; /* of the masked pass */
    double *u;     /* predictions: uniform draws */
    int32_t *drawn;
} cs_detector;

/* For batches of the sizes of the masked pass. Starts from a zeroed object, which must be closed in
 * every case. CS_ERR_USAGE: a model without a detector; an asynchronous device. */
cs_status cs_detector_open(cs_model *model, const cs_network_options *masked, double weight,
                           cs_detector *out) CS_MUST_CHECK;
void cs_detector_close(cs_detector *detector);

/* Rows that detection reads in a batch of the masked pass. */
int64_t cs_detector_rows(const cs_batch *masked);

/* Draws, after the forward pass over `masked` and before the backward pass, which overwrites the
 * logits. */
cs_status cs_detector_draw(cs_detector *detector, const cs_batch *masked, const cs_pass *from,
                           cs_run_key key) CS_MUST_CHECK;

/* Both passes over the filled text; adds to the gradients, weights divided by the `rows` of the
 * whole step. read: adds to the loss. */
cs_status cs_detector_step(cs_detector *detector, const cs_batch *masked, int64_t rows,
                           cs_run_key key, bool read) CS_MUST_CHECK;
