/* Characters of UTF-8 and their classes (utf8proc; the version of Unicode is its). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <utf8proc.h>

/* White_Space of Unicode, the \s of regular expressions. */
bool cs_char_is_space(int32_t c);

/* Categories L and M: the characters of a word. */
bool cs_char_is_wordly(int32_t c);

/* Punctuation: category P, and the marks of ASCII that are symbols ($ + < = > ^ ` | ~). */
bool cs_char_is_mark(int32_t c);

/* The \w of regular expressions: letters, marks, numbers but No, connecting punctuation, letters in
 * circles and squares, and the two joiners. */
bool cs_char_is_word(int32_t c);

typedef enum { CS_CHAR_LETTER, CS_CHAR_NUMBER, CS_CHAR_SPACE, CS_CHAR_OTHER } cs_char_class;

/* Categories L and N, white space, and the rest. */
cs_char_class cs_char_class_of(int32_t c);

/* The character at `at` of valid UTF-8, and its bytes. */
static inline int cs_char_at(const uint8_t *at, int32_t *c)
{
    if (at[0] < 0x80) {
        *c = at[0];
        return 1;
    }
    if (at[0] < 0xE0) {
        *c = (at[0] & 0x1F) << 6 | (at[1] & 0x3F);
        return 2;
    }
    if (at[0] < 0xF0) {
        *c = (at[0] & 0x0F) << 12 | (at[1] & 0x3F) << 6 | (at[2] & 0x3F);
        return 3;
    }
    *c = (at[0] & 0x07) << 18 | (at[1] & 0x3F) << 12 | (at[2] & 0x3F) << 6 | (at[3] & 0x3F);
    return 4;
}

/* The last character before `at`, at or after `begin` < at. */
static inline const uint8_t *cs_char_before(const uint8_t *begin, const uint8_t *at)
{
    do {
        at -= 1;
    } while (at > begin && (*at & 0xC0) == 0x80);
    return at;
}
