/* Characters of UTF-8 and their classes, equal to those of the `tokenizers` package, whose parts
 * use different versions of Unicode. Differences from utf8proc are in unicode_tables_private.h. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

#include <utf8proc.h>

typedef struct {
    int32_t first, last;
} cs_char_range;

/* Characters whose category differs from Unicode 14, in order; CN: they are newer still. */
typedef struct {
    cs_char_range range;
    utf8proc_category_t category;
} cs_char_newer;
const cs_char_newer *cs_char_newer_list(int *count);

/* Whether it is in the list with a category; none is below U+0800. */
bool cs_char_is_newer(int32_t c);

/* White_Space of Unicode, the \s of regular expressions. */
bool cs_char_is_space(int32_t c);

/* Categories L and M: the characters of a word. */
bool cs_char_is_wordly(int32_t c);

/* Punctuation: category P of Unicode 8, and the marks of ASCII that are symbols ($ + < = > ^ ` | ~). */
bool cs_char_is_mark(int32_t c);

/* Numbers that are cut as digits: category N of Unicode 17. */
bool cs_char_is_number(int32_t c);

/* Characters removed as accents: category M of Unicode 9, or for BERT Mn of Unicode 8. */
bool cs_char_is_accent(int32_t c);
bool cs_char_is_nonspacing(int32_t c);

/* Other characters removed by BERT's normaliser: Cc, Cf and Co of Unicode 8, and U+FFFD, except
 * tab, line feed and carriage return. */
bool cs_char_is_hidden(int32_t c);

/* Lower case of Unicode 17, one character for one: U+0130 becomes i. */
int32_t cs_char_lower(int32_t c);

/* Whether normal forms (Unicode 9) leave a character unchanged and in its place, though newer
 * versions decompose, compose or reorder it. */
bool cs_char_has_no_form(int32_t c);

/* Marks that extend the grapheme cluster before them in Unicode 17, and not in utf8proc's 15. */
bool cs_char_is_joined(int32_t c);

/* The \w of regular expressions: letters, marks, numbers except No, connecting punctuation, letters
 * in circles and squares, and the two joiners. */
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

/* The text in lower case, character by character, in fresh memory (cs_free); text that is not UTF-8
 * stays as it is. NULL if memory is exhausted. */
char *cs_text_lower(const char *text) CS_MUST_CHECK;

/* The last character before `at`, at or after `begin` < at. */
static inline const uint8_t *cs_char_before(const uint8_t *begin, const uint8_t *at)
{
    do {
        at -= 1;
    } while (at > begin && (*at & 0xC0) == 0x80);
    return at;
}
