/* Tokens of UTF-8 text, one at a time. */
#ifndef CS_TEXT_TOKENIZER_H
#define CS_TEXT_TOKENIZER_H

#include <stdint.h>

#include "base/status.h"
#include "text/corpus.h"

typedef struct {
    cs_tokenizer_kind kind;
    const uint8_t *at, *end; /* text not read yet */
    char *token;             /* the current token, UTF-8, not NUL-terminated */
    int64_t size, room;
} cs_tokenizer;

/* Points the tokenizer at `size` bytes of valid UTF-8 (borrowed); keeps its buffer. Start from a
 * zeroed object with `kind` set. */
void cs_tokenizer_start(cs_tokenizer *tokenizer, const char *text, int64_t size);

/* Reads the next token into token[0 .. size-1]; *found false at the end of the text.
 * CS_ERR_MEMORY only. Amortised cost: one pass over the text. */
cs_status cs_tokenizer_next(cs_tokenizer *tokenizer, bool *found) CS_MUST_CHECK;

/* Frees the buffer; accepts a zeroed object. */
void cs_tokenizer_free(cs_tokenizer *tokenizer);

#endif
