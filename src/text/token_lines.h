/* Lines of text as token ids, and back: the output of `cospec tokenize encode` and `decode`. */
#pragma once

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>

#include "base/status.h"
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
