/* Statistics of a tokenizer on a text: the output of `cospec tokenize stats`. */
#pragma once

#include <stdint.h>

#include "io/result.h"
#include "text/bpe_train.h"
#include "text/tokenizer.h"

typedef struct {
    int64_t bytes, words, tokens; /* words: runs of non-space */
    /* tokens that are <unk>; number of ids, and of those that occur */
    int64_t unknown, vocabulary, used;
} cs_token_counts;

/* One pass over the documents, in order. */
cs_status cs_token_counts_of(const cs_tokenizer *t, const cs_text_source *source,
                             cs_token_counts *out) CS_MUST_CHECK;

/* The counts, and tokens_per_word, bytes_per_token, unknown_share, used_share; 0 of nothing. */
void cs_token_counts_record(const cs_token_counts *c, cs_item *root);
