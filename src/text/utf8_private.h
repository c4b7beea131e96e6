/* Validation of UTF-8. */
#pragma once

#include <stdint.h>

#include "base/status.h"

/* CS_OK if the `size` bytes are UTF-8 (RFC 3629: no overlong forms, no surrogates) without NUL;
 * else CS_ERR_INPUT "NAME:LINE: byte N: invalid UTF-8 (0xC3 0x28)", line and byte counted from 1,
 * the byte within its line. name NULL: NUL is an ordinary character, and the message is "byte N:
 * ...", counted from 1 in the whole text, so that callers may prefix its place. Cost: one pass, no
 * memory. */
cs_status cs_utf8_check(const char *name, const char *text, int64_t size) CS_MUST_CHECK;

/* Bytes from the first invalid UTF-8, or NUL, to the end: 0 for valid text. */
int64_t cs_utf8_rest(const char *text, int64_t size);

/* Bytes of the longest part of `bytes`, which start with invalid UTF-8, that begins a character; at
 * least 1 (Unicode 15, section 3.9, "maximal subpart"). */
int64_t cs_utf8_bad_part(const uint8_t *bytes, int64_t size);
