/* Control characters of text that is shown. */
#include "base/visible.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <utf8proc.h>

static bool commands(int32_t c)
{
    return c < 0x20 || (c >= 0x7F && c < 0xA0) || c == 0x061C || c == 0x200E || c == 0x200F ||
           (c >= 0x2028 && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069);
}

size_t cs_visible_char(const char *at, size_t size, char text[CS_VISIBLE_TEXT])
{
    utf8proc_int32_t c = 0;
    const utf8proc_ssize_t bytes =
        utf8proc_iterate((const uint8_t *)at, (utf8proc_ssize_t)size, &c);
    if (bytes <= 0) {
        (void)snprintf(text, CS_VISIBLE_TEXT, "\\x%02x", (unsigned)(uint8_t)*at);
        return 1;
    }
    if (commands(c)) {
        (void)snprintf(text, CS_VISIBLE_TEXT, "\\u%04x", (unsigned)(c & 0xFFFF));
    } else {
        memcpy(text, at, (size_t)bytes);
        text[bytes] = '\0';
    }
    return (size_t)bytes;
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

void cs_visible_copy(char *to, size_t capacity, const char *text, const char *kept)
{
    char shown[CS_VISIBLE_TEXT];
    size_t used = 0, size = strlen(text);
    for (size_t i = 0; i < size;) {
        if (stays(text[i], kept)) {
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
