/* The bytes behind tokens, by which models with different tokenizers are compared (bits per
 * byte). */
#pragma once

#include "text/corpus.h"
#include "text/tokenizer.h"

/* Bytes of each token of byte-level BPE, which spells every byte as one character, in fresh memory:
 * as many as the vocabulary or `least`, whichever is more; 0 beyond the vocabulary. */
cs_status cs_token_bytes(const cs_tokenizer *tokenizer, int64_t least, int32_t **out) CS_MUST_CHECK;

/* Bytes of the text of `source` over its tokens, of one side of the split ("all", "train", "test").
 * `corpus` was loaded from it with the same options. *out stays where there are no tokens. Reads
 * the text again. */
cs_status cs_bytes_a_token(const cs_corpus *corpus, const char *source,
                           const cs_corpus_options *options, const char *split,
                           double *out) CS_MUST_CHECK;
