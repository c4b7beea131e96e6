/* Shared by the tests of batches: small models and texts, and the set that a loss row sees, derived
 * from the arrays alone. */
#pragma once

#include "plan/objective.h"
#include "test.h"
#include "train/batch.h"

/* Special tokens 0..4, then text. */
enum { PAD, BOS, EOS, MASK, UNK, TEXT, VOCAB = 40, PLACES = 24 };

/* A small model of the form: gpt2 for one and two streams, roberta-prelayernorm with a decoder,
 * linear. */
cs_model_config batch_config(cs_form form);

/* The task of an objective's specification, nothing else set. */
cs_task batch_task(const char *spec);

/* A text whose token at place i is TEXT + i, so that a token determines its place. */
extern const int32_t batch_text[PLACES];

/* The form that a specification takes in such a model, by name of the objective. */
cs_form batch_form_of(const cs_task *task);

/* Bit i set: the token at place i of batch_text can reach loss row r through any number of layers.
 * Follows vis, lim, decoder_from and the tokens that rows show; knows nothing of plans. */
uint64_t batch_sees(const cs_batch *batch, const cs_model_config *config, int64_t r);
