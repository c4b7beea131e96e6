/* A trained model and a text for it: shared by all measurements of a model on a corpus. */
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
    /* roles of its tokens for cs_model_text_read (cs_tokenizer_give_roles) */
    const char *role[CS_TOKEN_ROLES];
    cs_model_kind kind;
    bool decoder; /* the second of two stacks is used (cs_model_text_decoder) */
    /* input of its encoder; no documents: the same text. Read by the caller */
    cs_corpus given;
    int64_t *layer; /* set by cs_model_text_layers */
    /* set by cs_model_text_attention for plans */
    cs_objective objective;
    cs_plan_file plans;
    cs_corpus corpus; /* in the tokens of the model; read by the caller */
    /* set by cs_model_text_choose */
    uint8_t *keep;             /* selected documents */
    int64_t documents, tokens; /* of those */
} cs_model_text;

void cs_model_text_free(cs_model_text *t); /* accepts a zeroed object */

/* Weights, kind and, if it has one, tokenizer of the model in DIR, for t->backend. Errors of
 * cs_model_read, cs_model_kind_read and cs_tokenizer_read. */
cs_status cs_model_text_read(const char *dir, cs_model_text *t) CS_MUST_CHECK;

/* Selects the second stack of the model (t5), causal. CS_ERR_USAGE: it has none. */
cs_status cs_model_text_decoder(cs_model_text *t) CS_MUST_CHECK;

/* Sets a text that the encoder reads for every document. CS_ERR_INPUT: no tokenizer.json. */
cs_status cs_model_text_given(cs_model_text *t, const char *text) CS_MUST_CHECK;

/* Input of the encoder of two stacks; NULL: the text itself. */
const cs_corpus *cs_model_text_sources(const cs_model_text *t);

/* CS_ERR_USAGE names a model that has no hidden states: linear attention. */
cs_status cs_model_text_has_states(const cs_model_text *t) CS_MUST_CHECK;

/* CS_ERR_INPUT if the model has no tokenizer.json. */
cs_status cs_model_text_has_tokenizer(const cs_model_text *t) CS_MUST_CHECK;

/* Selects documents of t->corpus: "all", those of "train" or of "test", the first `documents` of
 * these, and whole ones until they have `tokens` tokens. CS_ERR_INPUT if nothing is left. */
cs_status cs_model_text_choose(cs_model_text *t, const char *split, int64_t documents,
                               int64_t tokens) CS_MUST_CHECK;

/* Attention masks of rows: "auto" as in the last training or fine-tuning, "plan" as in pretraining,
 * "full" and "bidirectional", or "causal". *out borrows the objective of `t`. CS_ERR_USAGE if the
 * plans of the model are unknown; for those of a file as cs_plan_file_read. */
cs_status cs_model_text_attention(cs_model_text *t, const char *asked, int64_t draws, uint64_t seed,
                                  cs_content_masks *out) CS_MUST_CHECK;

/* The ids around every piece, those of the post-processor of the tokenizer: "yes" or "no"; "auto":
 * for models not trained by this program, which adds none, and for fine-tuned ones the begin token
 * that they were trained with. CS_ERR_USAGE: "yes" without any. */
cs_status cs_model_text_around(const cs_model_text *t, const char *special,
                               cs_special_tokens *out) CS_MUST_CHECK;

/* The same for uses that do not predict the first token: with "auto" a model that was trained here
 * to predict it from its begin token (from_nothing) has that before a piece, where perplexity and
 * generate put it. */
cs_status cs_model_text_begun(const cs_model_text *t, const char *special,
                              cs_special_tokens *out) CS_MUST_CHECK;

/* "all" layers, the "last", or a list 0,3,6 of 0..layers, into t->layer; `what` names the text in
 * CS_ERR_USAGE. */
cs_status cs_model_text_layers(cs_model_text *t, const char *text, const char *what,
                               int64_t *count) CS_MUST_CHECK;
