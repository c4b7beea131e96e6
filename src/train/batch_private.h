/* Functions of tasks for batches: private to src/train. */
#pragma once

#include "train/batch.h"

enum { CS_ROW_BITS = 20 }; /* of the number of a sequence in a step */

cs_objective_reading cs_task_reads(const cs_task *task);

/* Offsets that the model predicts from each row, each by its own head: t of diverse-ar in a model with
 * heads of offsets and one stream; else 0. */
int64_t cs_task_offsets(const cs_task *task, const cs_model_config *config);
bool cs_task_masks(const cs_task *task); /* it reads masks */

/* Whether rows of the model may read a masked token: [MASK], or a token kept or put in its place.
 */
bool cs_task_hides(const cs_task *task, const cs_model_config *config);

/* Of `masked` tokens, those that stay in the encoder: halves away from zero. Increases with
 * `masked` by at most as much. */
int64_t cs_task_kept(const cs_task *task, int64_t masked);

/* Whether a sequence is one that the model reads under the task. CS_ERR_USAGE, CS_ERR_INPUT. */
cs_status cs_example_check(const cs_task *task, const cs_model_config *config,
                           const cs_example *example) CS_MUST_CHECK;
