/** \file
 * Words of UTF-8 text, one at a time.
 */
#pragma once

#include <stdint.h>

#include "base/status.h"

/** How text is split. */
typedef enum {
    /** Maximal runs of letters and marks, in lower case. */
    CS_SPLITTER_WORD,
    /** Maximal runs of non-space. */
    CS_SPLITTER_WHITESPACE,
    /** Single Unicode characters. */
    CS_SPLITTER_CHAR,
} cs_splitter_kind;

/** Splitter by name: "word", "whitespace" or "char".
 *
 * \retval CS_ERR_USAGE another name
 */
cs_status cs_splitter_by_name(const char *name, cs_splitter_kind *out) CS_MUST_CHECK;

/** The state of a splitter. Start from a zeroed object with `kind` set. For one thread at a time.
 */
typedef struct {
    /** How text is split. */
    cs_splitter_kind kind;
    /** Text that is not read yet; internal. */
    const uint8_t *at;
    /** Its end; internal. */
    const uint8_t *end;
    /** Table of ASCII characters; internal. */
    char ascii[128];
    /** The current token in UTF-8, `size` bytes, without a NUL; owned by the splitter. */
    char *token;
    /** Bytes of the token. */
    int64_t size;
    /** Capacity of `token`. */
    int64_t capacity;
} cs_splitter;

/** Sets the text: `size` bytes of valid UTF-8, borrowed. The buffer of the splitter is reused. */
void cs_splitter_start(cs_splitter *splitter, const char *text, int64_t size);

/** Reads the next token. `*found` is false at the end of the text.
 *
 * \retval CS_ERR_MEMORY allocation failed
 */
cs_status cs_splitter_next(cs_splitter *splitter, bool *found) CS_MUST_CHECK;

/** Frees the buffer; accepts a zeroed object. */
void cs_splitter_free(cs_splitter *splitter);
