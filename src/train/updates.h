/* AdamW updates of one run, counted, and the norms of their gradients, which are read late: on an
 * asynchronous backend reading one waits for the device.
 *
 * Up to CS_NORMS norms are pending on the backend. A step whose norm is not finite changed nothing
 * (tensor/backend.h) and is counted. */
#pragma once

#include <stdint.h>

#include "base/status.h"
#include "tensor/params.h"

enum { CS_NORMS = 64 };

/* Advice after a divergence. */
#define CS_TRY_RATE "; give a smaller --lr"

/* Parameters of all steps. */
typedef struct {
    double beta1, beta2, adam_eps, weight_decay, clip;
} cs_adamw_recipe;

typedef struct {
    cs_params *params;   /* borrowed */
    double *norms, *own; /* CS_NORMS on the backend; the original array of the parameters */
    /* Update i has norm i % CS_NORMS and was made in step `updated`. `unread` of the last ones are
     * pending. */
    int64_t updates, unread;
    int64_t updated[CS_NORMS];
} cs_updates;

cs_status cs_updates_init(cs_params *params, cs_updates *out) CS_MUST_CHECK;
void cs_updates_free(cs_updates *u); /* accepts a zeroed object; the parameters are kept */

/* Step `step` (from 1) of the recipe at a learning rate. Nothing waits. At most CS_NORMS between
 * two calls of cs_updates_read. */
cs_status cs_updates_add(cs_updates *u, const cs_adamw_recipe *recipe, double learning_rate,
                         int64_t step) CS_MUST_CHECK;

/* Reads the pending norms. *norm: of the last update, unchanged if none is pending; *bad: skipped
 * steps in a row up to it; *skipped: all of them (both are added to). CS_ERR_CONVERGE names the
 * step when *bad reaches `limit`. */
cs_status cs_updates_read(cs_updates *u, int64_t limit, double *norm, int64_t *bad,
                          int64_t *skipped) CS_MUST_CHECK;
