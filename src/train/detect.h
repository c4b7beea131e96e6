/* Replaced-token detection (ELECTRA: Clark et al. 2020) as a second loss of masked training.
 *
 * After the forward pass of a masked batch every masked token is drawn from what the model says of
 * it, and the same encoder reads the text so filled in. Its detector says of every row, special
 * tokens among them, whether its token is another than the one that stood there:
 *   loss = masked loss + weight (1 / rows) sum over the step's rows of -ln p(as it was or replaced).
 * Nothing flows through the draw. ELECTRA has a network of its own for the masks, thrown away later;
 * here one network does both, with shared weights.
 *
 * Draws are a function of (seed, step, micro-batch, row).
 */
#pragma once

#include "model/pass.h"

typedef struct {
    cs_pass pass;
    double weight; /* 0: there is no detection */
    int64_t rows;  /* of the step at hand */
    double loss;   /* of it, when read: nats a row */
    float *logits; /* of the masked pass */
    double *u;     /* predictions: uniform draws */
    int32_t *drawn;
} cs_detector;

/* For batches of the sizes of the masked pass. Starts from a zeroed object, which is to be closed in
 * any case. CS_ERR_USAGE: a model without a detector; a device that is asynchronous. */
cs_status cs_detector_open(cs_model *model, const cs_network_options *masked, double weight,
                           cs_detector *out) CS_MUST_CHECK;
void cs_detector_close(cs_detector *detector);

/* Rows that detection reads in a batch of the masked pass. */
int64_t cs_detector_rows(const cs_batch *masked);

/* Draws, after the forward pass over `masked` and before the backward pass, which writes over the
 * logits. */
cs_status cs_detector_draw(cs_detector *detector, const cs_batch *masked, const cs_pass *from,
                           cs_run_key key) CS_MUST_CHECK;

/* Both passes over the text filled in; adds to the gradients, weights divided by the `rows` of the
 * whole step. read: adds to the loss. */
cs_status cs_detector_step(cs_detector *detector, const cs_batch *masked, int64_t rows,
                           cs_run_key key, bool read) CS_MUST_CHECK;
