/* Bytes of text for each token, to compare models with different tokenizers (bits per byte). */
#pragma once

#include "text/corpus.h"
#include "text/tokenizer.h"

/* Bytes of each token of byte-level BPE, which spells every byte as one character, in fresh memory:
 * the number of tokens in the vocabulary or `least`, whichever is larger; 0 beyond the vocabulary.
 */
cs_status cs_token_bytes(const cs_tokenizer *tokenizer, int64_t least, int32_t **out) CS_MUST_CHECK;

/* Bytes of the text of `source` divided by its tokens, for one side of the split ("all", "train",
 * "test"). `corpus` was loaded from it with the same options. *out is unchanged if there are no
 * tokens. Reads the text again. */
cs_status cs_bytes_a_token(const cs_corpus *corpus, const char *source,
                           const cs_corpus_options *options, const char *split,
                           double *out) CS_MUST_CHECK;
