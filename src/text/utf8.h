/* Checking that bytes are UTF-8 text. */
#ifndef CS_TEXT_UTF8_H
#define CS_TEXT_UTF8_H

#include <stdint.h>

#include "base/status.h"

/* CS_OK when the `size` bytes are UTF-8 (RFC 3629: no overlong forms, no surrogates) without NUL;
 * else CS_ERR_INPUT "NAME:LINE: byte N: invalid UTF-8 (0xC3 0x28)", line and byte counted from 1,
 * the byte within its line. Cost: one pass, no memory. */
cs_status cs_utf8_check(const char *name, const char *text, int64_t size) CS_MUST_CHECK;

#endif
