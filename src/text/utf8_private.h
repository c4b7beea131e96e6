/* Checking that bytes are UTF-8 text. */
#pragma once

#include <stdint.h>

#include "base/status.h"

/* CS_OK when the `size` bytes are UTF-8 (RFC 3629: no overlong forms, no surrogates) without NUL;
 * else CS_ERR_INPUT "NAME:LINE: byte N: invalid UTF-8 (0xC3 0x28)", line and byte counted from 1,
 * the byte within its line. name NULL: NUL is a character like others, and it says "byte N: ...",
 * counted from 1 in the whole text, so that callers may put its place before it. Cost: one pass, no
 * memory. */
cs_status cs_utf8_check(const char *name, const char *text, int64_t size) CS_MUST_CHECK;

/* Bytes from the first that is no UTF-8, or NUL, to the end: 0 for text. */
int64_t cs_utf8_rest(const char *text, int64_t size);

/* Bytes of the longest part of `bytes`, which is no UTF-8 at its start, that begins a character; at
 * least 1 (Unicode 15, section 3.9, "maximal subpart"). */
int64_t cs_utf8_bad_part(const uint8_t *bytes, int64_t size);
