/* The table of characters that SentencePiece compiles into its models ("precompiled_charsmap").
 * Private to src/text. */
#pragma once

#include <stdint.h>

#include "base/status.h"
#include "text/pieces.h"

/* Zeroed: none. */
typedef struct {
    uint32_t *unit; /* a double array (darts-clone) over the bytes of what is replaced */
    int64_t units;
    char *text; /* what replaces it: texts that end with a NUL, and one NUL more */
    int64_t size;
} cs_charsmap;

/* From base64: the bytes of the double array (4, little endian), the array, the texts. CS_ERR_INPUT
 * says what is wrong, without a place. */
cs_status cs_charsmap_read(const char *base64, int64_t size, cs_charsmap *out) CS_MUST_CHECK;
void cs_charsmap_free(cs_charsmap *map);

/* Writes the text of `p` anew. A grapheme cluster of less than 6 bytes is replaced as a whole by
 * what its shortest beginning in the table stands for, else character by character: so do the
 * `tokenizers` package and the crate spm_precompiled, of which this is the behaviour. */
cs_status cs_charsmap_apply(const cs_charsmap *map, cs_pieces *p) CS_MUST_CHECK;
