/* A network in use: one form of a model, with its memory and the batch that it reads.
 *
 *   cs_pass_open; then per batch: cs_pass_begin, rows into pass.batch (model/network_input.h),
 *   cs_pass_forward, numbers out of pass.run.
 */
#pragma once

#include "base/status.h"
#include "model/network.h"
#include "model/network_input.h"
#include "tensor/run.h"

typedef struct {
    const cs_model *model;    /* borrowed */
    cs_network_options sizes; /* the largest */
    bool fixed;               /* a device that replays one shape: every batch is padded to it */
    cs_network network;
    cs_run *run;
    cs_batch batch;
} cs_pass;

/* Starts from a zeroed object. Errors as cs_network_build and cs_run_init. */
cs_status cs_pass_open(cs_model *model, const cs_network_options *sizes,
                       cs_pass *out) CS_MUST_CHECK;
void cs_pass_close(cs_pass *pass); /* accepts a zeroed object */

/* An empty batch of `batch` sequences with `length` rows of each kind of the form (linear networks
 * of fewer queries: those) and `predictions` loss rows. */
cs_status cs_pass_begin(cs_pass *pass, int64_t batch, int64_t length,
                        int64_t predictions) CS_MUST_CHECK;

/* Loads the batch (weights times `scale`) and runs the network forward. */
cs_status cs_pass_forward(cs_pass *pass, double scale, cs_run_key key) CS_MUST_CHECK;
