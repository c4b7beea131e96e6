/* Words of UTF-8 text, one at a time. */
#pragma once

#include <stdint.h>

#include "base/status.h"

typedef enum { CS_SPLITTER_WORD, CS_SPLITTER_WHITESPACE, CS_SPLITTER_CHAR } cs_splitter_kind;

/* "word", "whitespace" or "char"; CS_ERR_USAGE names another. */
cs_status cs_splitter_by_name(const char *name, cs_splitter_kind *out) CS_MUST_CHECK;

typedef struct {
    cs_splitter_kind kind;
    const uint8_t *at, *end; /* text not read yet */
    char ascii[128];         /* what a token has of each: lower case for `word`; 0: look closer */
    char *token;             /* the current token, UTF-8, not NUL-terminated */
    int64_t size, room;
} cs_splitter;

/* Points the splitter at `size` bytes of valid UTF-8 (borrowed); keeps its buffer. Start from a
 * zeroed object with `kind` set. */
void cs_splitter_start(cs_splitter *splitter, const char *text, int64_t size);

/* Reads the next token into token[0 .. size-1]; *found false at the end of the text.
 * CS_ERR_MEMORY only. Amortised cost: one pass over the text. */
cs_status cs_splitter_next(cs_splitter *splitter, bool *found) CS_MUST_CHECK;

/* Frees the buffer; accepts a zeroed object. */
void cs_splitter_free(cs_splitter *splitter);
