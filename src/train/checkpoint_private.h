/* Shared by checkpoint.c and checkpoint_read.c. */
#ifndef CS_TRAIN_CHECKPOINT_PRIVATE_H
#define CS_TRAIN_CHECKPOINT_PRIVATE_H

#include <jansson.h>
#include <stdint.h>

#include "base/status.h"
#include "tensor/params.h"

#define CS_TRAIN_INDEX "trainer.json"
#define CS_TRAIN_FORMAT "cospec-training"
enum { CS_TRAIN_VERSION = 1 };

/* The files that trainer.json has the hashes of; NULL-terminated. */
extern const char *const cs_train_files[];

/* DIR/checkpoint-STEP in fresh memory, NULL when out of memory. */
char *cs_train_folder(const char *dir, int64_t step);

/* Items of the largest matrix, at least 1. */
int64_t cs_train_most_items(const cs_params *params);

/* SHA-256 of trainer.json without its own key "sha256", keys sorted, without blanks. */
cs_status cs_train_digest(json_t *index, char hex[65]) CS_MUST_CHECK;

#endif
