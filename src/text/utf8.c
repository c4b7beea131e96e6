/* UTF-8 validation by utf8proc (RFC 3629), with the place of the first bad byte. Limit: text is not
 * normalised, so composed and decomposed accents stay different. */
#include "text/utf8.h"

#include <stdio.h>

#include <utf8proc.h>

/* Bytes that a lead byte announces; 0xF8 and above never lead. */
static int announced(uint8_t lead)
{
    return lead >= 0xF8 ? 1 : lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC0 ? 2 : 1;
}

/* The bad sequence in hexadecimal, up to the first byte that does not continue it. */
static void show(const uint8_t *bytes, int64_t size, char *text, size_t room)
{
    int64_t length = announced(bytes[0]);
    size_t used = 0;
    for (int64_t i = 0; i < length && i < size; ++i) {
        used += (size_t)snprintf(text + used, room - used, "%s0x%02X", i > 0 ? " " : "", bytes[i]);
        if (i > 0 && (bytes[i] & 0xC0) != 0x80) {
            break;
        }
    }
}

static cs_status refuse(const char *name, const uint8_t *bytes, int64_t at, int64_t size)
{
    int64_t line = 1, start = 0;
    for (int64_t i = 0; i < at; ++i) {
        if (bytes[i] == '\n') {
            line += 1;
            start = i + 1;
        }
    }
    if (bytes[at] == 0) {
        return cs_fail(CS_ERR_INPUT, "%s:%lld: byte %lld: NUL byte, not text", name,
                       (long long)line, (long long)(at - start) + 1);
    }
    char hex[32];
    show(bytes + at, size - at, hex, sizeof hex);
    return cs_fail(CS_ERR_INPUT, "%s:%lld: byte %lld: invalid UTF-8 (%s)", name, (long long)line,
                   (long long)(at - start) + 1, hex);
}

cs_status cs_utf8_check(const char *name, const char *text, int64_t size)
{
    const uint8_t *bytes = (const uint8_t *)text;
    int64_t i = 0;
    while (i < size) {
        if (bytes[i] > 0 && bytes[i] < 0x80) {
            i += 1;
            continue;
        }
        utf8proc_int32_t point;
        utf8proc_ssize_t length =
            bytes[i] == 0 ? -1 : utf8proc_iterate(bytes + i, (utf8proc_ssize_t)(size - i), &point);
        if (length <= 0) {
            return refuse(name, bytes, i, size);
        }
        i += length;
    }
    return CS_OK;
}
