/* What a run is, as a JSON object: everything that its numbers follow from but the model's own
 * configuration. Keys are the names of the command's options. */
#ifndef CS_TRAIN_RECORD_H
#define CS_TRAIN_RECORD_H

#include <jansson.h>

#include "base/status.h"
#include "tensor/backend.h"
#include "text/corpus.h"
#include "train/trainer.h"

/* Objective, loss, sizes, schedule, optimizer, seed, device, and a hash of the corpus's tokens and
 * split. How often a run logs, evaluates and saves is not in it. options->warmup must be resolved.
 */
cs_status cs_train_record(const cs_train_options *options, const cs_backend *backend,
                          const cs_corpus *corpus, json_t **out) CS_MUST_CHECK;

/* CS_ERR_USAGE names the option that is not as recorded; `steps` may have grown where the schedule
 * is constant. CS_ERR_INPUT: another corpus. */
cs_status cs_train_record_match(const char *where, const json_t *recorded,
                                const json_t *now) CS_MUST_CHECK;

#endif
