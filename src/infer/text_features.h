/* Features of labelled texts: states of a model, pooled to one row for each text.
 *
 *   single texts  u, the pooled state of the text
 *   pairs         (u, v, |u - v|, u * v): of both texts, entry by entry (Conneau, Kiela, Schwenk,
 *                 Barrault and Bordes, EMNLP 2017)
 */
#pragma once

#include <stdint.h>

#include "base/status.h"
#include "infer/hidden_states.h"
#include "model/model.h"
#include "text/labelled_text.h"
#include "text/tokenizer.h"

/* Columns of a row. */
int64_t cs_text_features_width(const cs_model *model, const cs_labelled_text *texts);

/* out: options->layers matrices with a row for each document and width columns, for a corpus in the
 * rows of the model, such as images. Errors as cs_text_features. */
cs_status cs_document_features(cs_model *model, const cs_corpus *corpus,
                               const cs_hidden_options *options, float **out) CS_MUST_CHECK;

/* Those of the patches of images: options->layers matrices with a row for each patch, along rows of
 * the plane whatever the order of the model's sequence. max_length and pooling of the options are
 * not used. */
cs_status cs_patch_features(cs_model *model, const cs_corpus *corpus,
                            const cs_hidden_options *options, float **out) CS_MUST_CHECK;

/* out: cs_hidden_planes(options) matrices of texts->count rows in fresh memory, one after the other.
 * `keep` of the options is not used, pooling must be set. A text without tokens is read as the
 * unknown token. CS_ERR_INPUT names such a text if there is no unknown token; other errors as
 * cs_hidden_states. */
cs_status cs_text_features(cs_model *model, const cs_tokenizer *tokenizer,
                           const cs_labelled_text *texts, const cs_hidden_options *options,
                           float **out) CS_MUST_CHECK;

/* Bag-of-words features: out[i V + v] is the share of token v in text i, in fresh memory, V the
 * vocabulary of the tokenizer. Only single texts (CS_ERR_USAGE for pairs); errors of texts as
 * above. */
cs_status cs_text_frequencies(const cs_tokenizer *tokenizer, const cs_labelled_text *texts,
                              float **out) CS_MUST_CHECK;
