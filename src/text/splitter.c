/* Three splitters over Unicode characters (unicode.h: general categories and simple lower-casing).
 * Limits: no normalisation and no full case folding (German sharp s, final sigma stay as they are);
 * scripts written without spaces become one word per run: use `char` for them. */
#include "text/splitter.h"

#include <string.h>

#include "base/enum_names.h"
#include "base/mem.h"
#include "text/unicode.h"

static const char *const NAME[] = {[CS_SPLITTER_WORD] = "word",
                                   [CS_SPLITTER_WHITESPACE] = "whitespace",
                                   [CS_SPLITTER_CHAR] = "char"};

cs_status cs_splitter_by_name(const char *name, cs_splitter_kind *out)
{
    return CS_NAME_AMONG("tokenizer", name, NAME, out);
}

static bool belongs(cs_splitter_kind kind, utf8proc_int32_t c)
{
    switch (kind) {
    case CS_SPLITTER_WORD:
        return cs_char_is_wordly(c);
    case CS_SPLITTER_WHITESPACE:
        return !cs_char_is_space(c);
    default:
        return true;
    }
}

void cs_splitter_start(cs_splitter *s, const char *text, int64_t size)
{
    for (int c = 1; s->capacity == 0 && c < 0x80; ++c) {
        const bool upper = s->kind == CS_SPLITTER_WORD && c >= 'A' && c <= 'Z';
        s->ascii[c] = (char)(!belongs(s->kind, c) ? 0 : upper ? c + ('a' - 'A') : c);
    }
    s->at = (const uint8_t *)text;
    s->end = s->at + size;
    s->size = 0;
}

/* Lower-cases for `word`; a character's lower case may be longer in bytes than itself. */
static cs_status append(cs_splitter *s, utf8proc_int32_t c)
{
    enum { LONGEST = 4 }; /* bytes of a character in UTF-8 */
    if (s->size + LONGEST > s->capacity) {
        cs_status status = cs_reserve(&s->token, &s->capacity, s->size + LONGEST, 1);
        if (status != CS_OK) return status;
    }
    if (c < 0x80) {
        s->token[s->size++] = (char)(c > 0 ? s->ascii[c] : c);
        return CS_OK;
    }
    if (s->kind == CS_SPLITTER_WORD) {
        c = cs_char_lower(c);
    }
    s->size += utf8proc_encode_char(c, (utf8proc_uint8_t *)s->token + s->size);
    return CS_OK;
}

cs_status cs_splitter_next(cs_splitter *s, bool *found)
{
    s->size = 0;
    while (s->at < s->end) {
        while (s->kind != CS_SPLITTER_CHAR && s->at < s->end && *s->at < 0x80 && s->ascii[*s->at] &&
               s->size < s->capacity) {
            s->token[s->size++] = s->ascii[*s->at++];
        }
        if (s->at == s->end) {
            break;
        }
        utf8proc_int32_t c = *s->at;
        utf8proc_ssize_t length = 1;
        if (c >= 0x80) {
            length = utf8proc_iterate(s->at, s->end - s->at, &c);
        }
        if (belongs(s->kind, c)) {
            cs_status status = append(s, c);
            if (status != CS_OK) return status;
        } else if (s->size > 0) {
            break;
        }
        s->at += length;
        if (s->kind == CS_SPLITTER_CHAR) {
            break;
        }
    }
    *found = s->size > 0;
    return CS_OK;
}

void cs_splitter_free(cs_splitter *s)
{
    cs_free(s->token);
    memset(s, 0, sizeof *s);
}
