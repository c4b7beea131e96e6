/* A drawing cut short, or with a hole where a write failed, is found by the structure of its format. */
#include "analysis/study/drawing.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

static bool ends_with(const char *bytes, int64_t size, const char *end)
{
    const int64_t length = (int64_t)strlen(end);
    while (size > 0 && strchr(" \r\n", bytes[size - 1])) {
        --size;
    }
    return size >= length && memcmp(bytes + size - length, end, (size_t)length) == 0;
}

/* The depth of open elements falls to 0 at the end only; comments, declarations and instructions do not count. */
static bool svg_whole(const char *bytes, int64_t size)
{
    int64_t depth = 0, elements = 0;
    for (const char *at = bytes, *end = bytes + size;
         at < end && (at = memchr(at, '<', (size_t)(end - at)));) {
        const char *close = memchr(at, '>', (size_t)(end - at));
        const bool markup = close && at[1] != '!' && at[1] != '?';
        if (!close || (elements > 0 && depth == 0 && markup)) return false;
        if (markup && at[1] == '/') {
            --depth;
        } else if (markup && close[-1] != '/') {
            ++depth;
            ++elements;
        }
        at = close;
    }
    return elements > 0 && depth == 0 && ends_with(bytes, size, "</svg>");
}

static uint32_t big_endian(const unsigned char *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

/* Chunks: 4 bytes length, 4 bytes type, the data, 4 bytes CRC-32 of type and data. */
static bool png_whole(const unsigned char *bytes, int64_t size)
{
    enum { SIGNATURE = 8, AROUND = 12 };
    int64_t at = SIGNATURE;
    if (size < SIGNATURE || memcmp(bytes, "\x89PNG\r\n\x1a\n", SIGNATURE) != 0) return false;
    while (at + AROUND <= size) {
        const int64_t length = big_endian(bytes + at);
        if (length > size - at - AROUND ||
            crc32(0, bytes + at + 4, (uInt)(length + 4)) != big_endian(bytes + at + 8 + length))
            return false;
        if (memcmp(bytes + at + 4, "IEND", 4) == 0) return at + AROUND + length == size;
        at += AROUND + length;
    }
    return false;
}

/* "startxref\nPLACE\n%%EOF" ends the file; at PLACE is "xref", or the object "N 0 obj" that has the table. */
static bool pdf_whole(const char *bytes, int64_t size)
{
    enum { TAIL = 64 };
    const char *start = NULL, *tail = bytes + (size > TAIL ? size - TAIL : 0);
    for (const char *at = tail; at + 9 < bytes + size; ++at) {
        if (memcmp(at, "startxref", 9) == 0) start = at + 9;
    }
    if (!start || !ends_with(bytes, size, "%%EOF")) return false;
    const int64_t place = strtoll(start, NULL, 10); /* %%EOF stops it within the bytes */
    return place > 0 && place < tail - bytes &&
           (memcmp(bytes + place, "xref", 4) == 0 || strchr("0123456789", bytes[place]));
}

const char *cs_drawing_fault(const char *format, const char *bytes, int64_t size)
{
    const bool whole = strcmp(format, "svg") == 0   ? svg_whole(bytes, size)
                       : strcmp(format, "png") == 0 ? png_whole((const unsigned char *)bytes, size)
                                                    : pdf_whole(bytes, size);
    return whole ? NULL : size == 0 ? "nothing was drawn" : "the drawing is incomplete";
}
