/* The character map that SentencePiece compiles into its models ("precompiled_charsmap"). Private
 * to src/text. */
#pragma once

#include <stdint.h>

#include "base/status.h"
#include "text/pieces.h"

/* Zeroed: none. */
typedef struct {
    /* a double array (darts-clone) over the bytes of the replaced text */
    uint32_t *unit;
    int64_t units;
    char *text; /* the replacements: texts that end with a NUL, and one more NUL */
    int64_t size;
} cs_charsmap;

/* From base64: the bytes of the double array (4, little endian), the array, the texts. CS_ERR_INPUT
 * states the fault, without a place. */
cs_status cs_charsmap_read(const char *base64, int64_t size, cs_charsmap *out) CS_MUST_CHECK;
void cs_charsmap_free(cs_charsmap *map);

/* Rewrites the text of `p`. A grapheme cluster of less than 6 bytes is replaced as a whole by the
 * replacement of its shortest prefix in the map, else character by character, as in the
 * `tokenizers` package and the crate spm_precompiled. */
cs_status cs_charsmap_apply(const cs_charsmap *map, cs_pieces *p) CS_MUST_CHECK;
