/* Networks described in JSON, as the parity checks against other implementations exchange them:
 * tests/oracle writes such cases, tests/golden/trainer_parity.json keeps some with what they gave.
 *
 *   config          as in config.json; or "model": a directory to read
 *   form, loss      "single" "two-stream" "mae" "linear"; "none" "cross-entropy" "spectral"
 *   factor          of the spectral loss; "mass": target masses, one a class
 *   head            without a loss: whether loss rows are read, for logits
 *   evaluate        whether the loss is computed without gradients and dropout
 *   salt            parameters are parity_value of it ("model": those of the directory)
 *   spare           rows that the network has in addition to those present
 *   batch           object of sizes and arrays named as the members of cs_batch; or
 *   objective       (plan/spec.h) with "sequences", "seed", "step", "keep", "random", "delta",
 *                   "decoder_resets", "misaligned": a batch by cs_batch_build, weights summing to
 * 1 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "train/batch.h"

typedef struct {
    cs_backend *backend; /* owned */
    cs_model model;
    cs_batch batch;
    cs_network net;
    cs_run *run;
} parity_world;

/* Item i of the parameter of that name: a dyadic number of 12 bits, the same in every language and
 * in float; |x| < 1/2, gains 1 + x. */
double parity_value(uint32_t salt, const char *name, int64_t i);

/* "ref64", "ref" or "cpu". */
cs_status parity_backend(const char *name, cs_backend **out) CS_MUST_CHECK;

/* Takes the backend; *out stays where it is. Model, network for training (loss "none": for hidden
 * states instead), batch loaded. CS_ERR_INPUT names a member that is missing or of the wrong size.
 */
cs_status parity_open(const json_t *what, cs_backend **backend, parity_world *out) CS_MUST_CHECK;
void parity_close(parity_world *world);

/* Gradients to zero, forward, and backward in training. */
cs_status parity_step(parity_world *world) CS_MUST_CHECK;
