/* Features of labelled texts: states of a model, pooled to one row a text.
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

/* out: options->layers matrices of a row a document and width columns, of a corpus whose rows are the
 * model's, as those of pictures. Errors as cs_text_features. */
cs_status cs_document_features(cs_model *model, const cs_corpus *corpus,
                               const cs_hidden_options *options, float **out) CS_MUST_CHECK;

/* Those of the patches of pictures: options->layers matrices of a row a patch, along rows of the plane
 * whatever the order of the model's sequence is. max_length and pooling of the options are not used. */
cs_status cs_patch_features(cs_model *model, const cs_corpus *corpus,
                            const cs_hidden_options *options, float **out) CS_MUST_CHECK;

/* out: options->layers matrices of texts->count rows in fresh memory, one after the other. `keep`
 * of the options is not used, pooling must be one. A text of which the tokenizer makes
 * no token is read as its unknown one. CS_ERR_INPUT names such a text when there is none; other
 * errors as cs_hidden_states. */
cs_status cs_text_features(cs_model *model, const cs_tokenizer *tokenizer,
                           const cs_labelled_text *texts, const cs_hidden_options *options,
                           float **out) CS_MUST_CHECK;

/* What a text is without a model: out[i V + v] the share of token v among those of text i, in fresh
 * memory, V the tokenizer's vocabulary. Of single texts (CS_ERR_USAGE for pairs); errors of texts
 * as above. */
cs_status cs_text_frequencies(const cs_tokenizer *tokenizer, const cs_labelled_text *texts,
                              float **out) CS_MUST_CHECK;
