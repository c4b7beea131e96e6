/* UTF-8 validation by utf8proc (RFC 3629), with the place of the first bad byte. Limit: text is not
 * normalised, so composed and decomposed accents stay different. */
#include "text/utf8_private.h"

#include <stdio.h>
#include <string.h>

#include <utf8proc.h>

/* Bytes that a lead byte announces; 0xF8 and above never lead. */
static int announced(uint8_t lead)
{
    return lead >= 0xF8 ? 1 : lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC0 ? 2 : 1;
}

/* The bad sequence in hexadecimal, up to the first byte that does not continue it. */
static void show(const uint8_t *bytes, int64_t size, char *text, size_t capacity)
{
    int64_t length = announced(bytes[0]);
    size_t used = 0;
    for (int64_t i = 0; i < length && i < size; ++i) {
        used +=
            (size_t)snprintf(text + used, capacity - used, "%s0x%02X", i > 0 ? " " : "", bytes[i]);
        if (i > 0 && (bytes[i] & 0xC0) != 0x80) {
            break;
        }
    }
}

/* Without a name the text is its own place: bytes are counted from its start. */
static cs_status refuse(const char *name, const uint8_t *bytes, int64_t at, int64_t size)
{
    int64_t line = 1, start = 0;
    char hex[32];
    show(bytes + at, size - at, hex, sizeof hex);
    if (!name) {
        return cs_fail(CS_ERR_INPUT, "byte %lld: invalid UTF-8 (%s)", (long long)at + 1, hex);
    }
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
    return cs_fail(CS_ERR_INPUT, "%s:%lld: byte %lld: invalid UTF-8 (%s)", name, (long long)line,
                   (long long)(at - start) + 1, hex);
}

/* Where the text stops being UTF-8; size: nowhere. */
static int64_t first_bad(const uint8_t *bytes, int64_t size, bool nul_too)
{
    const uint64_t ones = UINT64_C(0x0101010101010101), tops = ones << 7;
    int64_t i = 0;
    while (i < size) {
        uint64_t eight = 0;
        if (size - i >= 8) { /* all of them 1 to 127 */
            memcpy(&eight, bytes + i, sizeof eight);
            if (((eight | (eight - ones)) & tops) == 0) {
                i += 8;
                continue;
            }
        }
        if (bytes[i] < 0x80 && (bytes[i] > 0 || nul_too)) {
            i += 1;
            continue;
        }
        utf8proc_int32_t point;
        utf8proc_ssize_t length =
            bytes[i] == 0 ? -1 : utf8proc_iterate(bytes + i, (utf8proc_ssize_t)(size - i), &point);
        if (length <= 0) {
            return i;
        }
        i += length;
    }
    return size;
}

int64_t cs_utf8_rest(const char *text, int64_t size)
{
    return size - first_bad((const uint8_t *)text, size, false);
}

cs_status cs_utf8_check(const char *name, const char *text, int64_t size)
{
    const uint8_t *bytes = (const uint8_t *)text;
    const int64_t at = first_bad(bytes, size, !name);
    return at < size ? refuse(name, bytes, at, size) : CS_OK;
}

int64_t cs_utf8_bad_part(const uint8_t *bytes, int64_t size)
{
    uint8_t lead = bytes[0], low = 0x80, high = 0xBF;
    if (lead < 0xC2 || lead > 0xF4) {
        return 1;
    }
    low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : low;   /* no overlong forms */
    high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : high; /* no surrogates, U+10FFFF at most */
    int64_t length = 1;
    while (length < announced(lead) && length < size && bytes[length] >= low &&
           bytes[length] <= high) {
        length += 1;
        low = 0x80;
        high = 0xBF;
    }
    return length;
}
