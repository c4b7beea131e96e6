/* Control characters of text that is shown; UTF-8 by its definition (RFC 3629). */
#include "base/visible.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* The bytes of a whole character of UTF-8 and its number; 0 if there is none at `at`. */
static size_t character(const uint8_t *at, size_t size, uint32_t *c)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const size_t bytes = at[0] < 0x80   ? 1
                         : at[0] < 0xC0 ? 0
                         : at[0] < 0xE0 ? 2
                         : at[0] < 0xF0 ? 3
                         : at[0] < 0xF8 ? 4
                                        : 0;
    if (bytes == 0 || bytes > size) return 0;
    *c = bytes == 1 ? at[0] : at[0] & (0x7FU >> bytes);
    for (size_t i = 1; i < bytes; ++i) {
        if ((at[i] & 0xC0) != 0x80) return 0;
        *c = *c << 6 | (at[i] & 0x3FU);
    }
    return *c >= least[bytes] && *c < 0x110000 && (*c < 0xD800 || *c > 0xDFFF) ? bytes : 0;
}

static bool commands(uint32_t c)
{
    return c < 0x20 || (c >= 0x7F && c < 0xA0) || c == 0x061C || c == 0x200E || c == 0x200F ||
           (c >= 0x2028 && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069);
}

size_t cs_visible_char(const char *at, size_t size, char text[CS_VISIBLE_TEXT])
{
    uint32_t c = 0;
    const size_t bytes = character((const uint8_t *)at, size, &c);
    if (bytes == 0) {
        (void)snprintf(text, CS_VISIBLE_TEXT, "\\x%02x", (unsigned)(uint8_t)*at);
        return 1;
    }
    if (commands(c)) {
        (void)snprintf(text, CS_VISIBLE_TEXT, "\\u%04x", (unsigned)(c & 0xFFFF));
    } else {
        memcpy(text, at, bytes);
        text[bytes] = '\0';
    }
    return bytes;
}

static bool stays(char c, const char *kept)
{
    return c != '\0' && strchr(kept, c);
}

void cs_visible_write(FILE *out, const char *text, size_t size, const char *kept)
{
    char shown[CS_VISIBLE_TEXT];
    for (size_t i = 0; i < size;) {
        if (stays(text[i], kept)) {
            (void)putc(text[i++], out);
        } else {
            i += cs_visible_char(text + i, size - i, shown);
            (void)fputs(shown, out);
        }
    }
}

void cs_visible_copy(char *to, size_t capacity, const char *text)
{
    char shown[CS_VISIBLE_TEXT];
    size_t used = 0, size = strlen(text);
    for (size_t i = 0; i < size;) {
        if (stays(text[i], "\n\t")) {
            shown[0] = text[i++];
            shown[1] = '\0';
        } else {
            i += cs_visible_char(text + i, size - i, shown);
        }
        const size_t more = strlen(shown);
        if (used + more >= capacity) break;
        memcpy(to + used, shown, more);
        used += more;
    }
    to[used] = '\0';
}
