/* A trained model and a text for it: what everything that asks a model about a corpus has in common. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "infer/hidden_states.h"
#include "model/model.h"
#include "plan/content_masks.h"
#include "text/corpus.h"
#include "text/tokenizer.h"
#include "train/model_kind.h"

typedef struct {
    const char *dir; /* borrowed */
    cs_backend *backend;
    cs_model model;
    cs_tokenizer *tokenizer; /* NULL: DIR has none */
    cs_model_kind kind;
    bool decoder;    /* of two stacks the second is asked (cs_model_text_decoder) */
    cs_corpus given; /* what its encoder reads; no documents: the same text. The caller's to read */
    int64_t *layer;  /* set by cs_model_text_layers */
    /* set by cs_model_text_attention, where it is by plans */
    cs_objective objective;
    cs_plan_file plans;
    cs_corpus corpus; /* in the model's tokens; the caller's to read */
    /* set by cs_model_text_choose */
    uint8_t *keep;             /* documents wanted */
    int64_t documents, tokens; /* of those */
} cs_model_text;

void cs_model_text_free(cs_model_text *t); /* accepts a zeroed object */

/* Weights, kind and, where it has one, tokenizer of the model in DIR, for t->backend. Errors of
 * cs_model_read, cs_model_kind_read and cs_tokenizer_read. */
cs_status cs_model_text_read(const char *dir, cs_model_text *t) CS_MUST_CHECK;

/* From here on the model is its second stack (t5), causal. CS_ERR_USAGE: it has none. */
cs_status cs_model_text_decoder(cs_model_text *t) CS_MUST_CHECK;

/* Has the encoder read this text for every document. CS_ERR_INPUT: no tokenizer.json. */
cs_status cs_model_text_given(cs_model_text *t, const char *text) CS_MUST_CHECK;

/* What the encoder of two stacks reads; NULL: the text itself. */
const cs_corpus *cs_model_text_sources(const cs_model_text *t);

/* CS_ERR_USAGE names a model that has no hidden states: linear attention. */
cs_status cs_model_text_has_states(const cs_model_text *t) CS_MUST_CHECK;

/* CS_ERR_INPUT where the model has no tokenizer.json. */
cs_status cs_model_text_has_tokenizer(const cs_model_text *t) CS_MUST_CHECK;

/* Marks the documents of t->corpus that are wanted: "all", those of "train" or of "test", the first
 * `documents` of these, and whole ones until they have `tokens` tokens. CS_ERR_INPUT when nothing is left. */
cs_status cs_model_text_choose(cs_model_text *t, const char *split, int64_t documents,
                               int64_t tokens) CS_MUST_CHECK;

/* What rows see: "auto" as the model was trained or fine-tuned last, "plan" as it was pretrained, "full"
 * and "bidirectional", or "causal". *out borrows the objective of `t`. CS_ERR_USAGE when the model does
 * not say its plans; those of a file as cs_plan_file_read. */
cs_status cs_model_text_attention(cs_model_text *t, const char *asked, int64_t draws, uint64_t seed,
                                  cs_content_masks *out) CS_MUST_CHECK;

/* The ids around every piece, those of the tokenizer's post-processor: with "yes" and "no" as they say;
 * "auto": of models that were not trained by this program, which uses none, and of fine-tuned ones the
 * begin token that was read. CS_ERR_USAGE: "yes" without any. */
cs_status cs_model_text_around(const cs_model_text *t, const char *special,
                               cs_around *out) CS_MUST_CHECK;

/* The same for what does not ask for the first token: with "auto" a model that was trained here to predict
 * it from its begin token (from_nothing) has that before a piece, where perplexity and generate put it. */
cs_status cs_model_text_begun(const cs_model_text *t, const char *special,
                              cs_around *out) CS_MUST_CHECK;

/* "all" layers, the "last", or a list 0,3,6 of 0..layers, into t->layer; `what` names the text in
 * CS_ERR_USAGE. */
cs_status cs_model_text_layers(cs_model_text *t, const char *text, const char *what,
                               int64_t *count) CS_MUST_CHECK;
