/* Output of `cospec tokenize`: lines of text as token ids, and back; statistics of a tokenizer on a
 * text. */
#pragma once

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>

#include "base/status.h"
#include "io/result.h"
#include "text/bpe_train.h"
#include "text/tokenizer.h"

/* Lines in memory, which end at LF, and the outputs. */
typedef struct {
    const char *name; /* for messages */
    const char *bytes;
    int64_t size;
    FILE *text;   /* a line each */
    json_t *list; /* an array, an item for each line; NULL: not wanted */
} cs_token_lines;

/* The ids of each line, separated by spaces; items {"ids", "tokens"}. A CR before the LF is text.
 * `special` adds the special tokens of the tokenizer. CS_ERR_INPUT "NAME:LINE: ...". */
cs_status cs_encode_lines(const cs_tokenizer *tokenizer, bool special,
                          const cs_token_lines *lines) CS_MUST_CHECK;

/* The text of each line of ids, which are separated by spaces; a CR at its end is ignored. Items
 * are texts. `plain` leaves special tokens out. CS_ERR_INPUT "NAME:LINE: ..." for text that is not
 * a token id. */
cs_status cs_decode_lines(const cs_tokenizer *tokenizer, bool plain,
                          const cs_token_lines *lines) CS_MUST_CHECK;

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
