/* Classes by general category, with ASCII decided by comparison: it is most of most texts. The
 * lists of what utf8proc has otherwise are searched only where it can matter. */
#include "text/unicode.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "text/unicode_tables_private.h"
#include "text/utf8_private.h"

#define LENGTH(list) (sizeof(list) / sizeof(list)[0])
#define AMONG(list, c)                                                                             \
    ((c) >= (list)[0].first && find((list), LENGTH(list), sizeof(list)[0], (c)) != NULL)

/* Every list begins its items with a range. */
static int compare(const void *key, const void *item)
{
    const int32_t c = *(const int32_t *)key;
    const cs_char_range *r = item;
    return c < r->first ? -1 : c > r->last;
}

static const void *find(const void *list, size_t count, size_t size, int32_t c)
{
    return bsearch(&c, list, count, size, compare);
}

/* The general category used by regular expressions of the package (Unicode 16).
 * utf8proc 2.8 is Unicode 15: what is in the list and has a category there has the same. */
static utf8proc_category_t char_category(int32_t c)
{
    const bool later = UTF8PROC_VERSION_MAJOR > 2 || UTF8PROC_VERSION_MINOR > 8;
    const utf8proc_category_t category = utf8proc_category(c);
    if (category != UTF8PROC_CATEGORY_CN && !later) {
        return category;
    }
    const cs_char_newer *newer = find(NEWER, LENGTH(NEWER), sizeof *NEWER, c);
    return newer ? newer->category : category;
}

const cs_char_newer *cs_char_newer_list(int *count)
{
    *count = LENGTH(NEWER);
    return NEWER;
}

/* Planes 2 and 3 have no pages. */
static bool in_pages(const uint64_t pages[8], int32_t c)
{
    return c >= 1 << 17 || (pages[c >> 14] >> (c >> 8 & 63) & 1);
}

bool cs_char_is_newer(int32_t c)
{
    const cs_char_newer *newer =
        in_pages(NEWER_PAGES, c) ? find(NEWER, LENGTH(NEWER), sizeof *NEWER, c) : NULL;
    return newer && newer->category != UTF8PROC_CATEGORY_CN;
}

bool cs_char_is_space(int32_t c)
{
    if (c < 0x80) {
        return c == ' ' || (c >= '\t' && c <= '\r');
    }
    utf8proc_category_t category = utf8proc_category(c);
    return c == 0x85 || category == UTF8PROC_CATEGORY_ZS || category == UTF8PROC_CATEGORY_ZL ||
           category == UTF8PROC_CATEGORY_ZP;
}

static bool is_ascii_letter(int32_t c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool cs_char_is_wordly(int32_t c)
{
    if (c < 0x80) {
        return is_ascii_letter(c);
    }
    utf8proc_category_t category = char_category(c);
    return category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_ME;
}

bool cs_char_is_mark(int32_t c)
{
    if (c < 0x80) {
        return (c >= 33 && c <= 47) || (c >= 58 && c <= 64) || (c >= 91 && c <= 96) ||
               (c >= 123 && c <= 126);
    }
    const utf8proc_category_t category = utf8proc_category(c);
    return (category >= UTF8PROC_CATEGORY_PC && category <= UTF8PROC_CATEGORY_PO &&
            !AMONG(NO_MARK, c)) ||
           AMONG(EXTRA_MARK, c);
}

bool cs_char_is_number(int32_t c)
{
    return cs_char_class_of(c) == CS_CHAR_NUMBER || AMONG(LATER_NUMBERS, c);
}

bool cs_char_is_accent(int32_t c)
{
    const utf8proc_category_t category = utf8proc_category(c);
    return (category >= UTF8PROC_CATEGORY_MN && category <= UTF8PROC_CATEGORY_ME &&
            !AMONG(NO_ACCENT, c)) ||
           AMONG(EXTRA_ACCENT, c);
}

bool cs_char_is_nonspacing(int32_t c)
{
    return (utf8proc_category(c) == UTF8PROC_CATEGORY_MN && !AMONG(NO_NONSPACING, c)) ||
           AMONG(EXTRA_NONSPACING, c);
}

bool cs_char_is_hidden(int32_t c)
{
    if (c < 0x80) {
        return (c < 0x20 && c != '\t' && c != '\n' && c != '\r') || c == 0x7F;
    }
    const utf8proc_category_t category = utf8proc_category(c);
    return ((category == UTF8PROC_CATEGORY_CC || category == UTF8PROC_CATEGORY_CF ||
             category == UTF8PROC_CATEGORY_CO) &&
            !AMONG(NO_HIDDEN, c)) ||
           AMONG(EXTRA_HIDDEN, c);
}

int32_t cs_char_lower(int32_t c)
{
    if (c < 0x80) {
        return c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c;
    }
    const int32_t lower = utf8proc_tolower(c);
    if (lower != c || !in_pages(LOWER_PAGES, c)) {
        return lower;
    }
    const struct cs_char_shift *s = find(LOWER, LENGTH(LOWER), sizeof *LOWER, c);
    return s ? c + s->shift : c;
}

char *cs_text_lower(const char *text)
{
    enum { GROWTH = 2 }; /* two bytes may become three, and three at most four */
    const int64_t size = (int64_t)strlen(text);
    const bool valid = cs_utf8_rest(text, size) == 0;
    char *lower = cs_calloc(GROWTH * size + 4, 1);
    int64_t used = 0;
    for (const uint8_t *at = (const uint8_t *)text; lower && *at;) {
        int32_t c = *at;
        at += valid ? cs_char_at(at, &c) : 1;
        if (valid) {
            used += utf8proc_encode_char(cs_char_lower(c), (utf8proc_uint8_t *)lower + used);
        } else {
            lower[used++] = (char)c;
        }
    }
    return lower;
}

bool cs_char_is_joined(int32_t c)
{
    return utf8proc_category(c) == UTF8PROC_CATEGORY_CN && AMONG(JOINED, c);
}

bool cs_char_has_no_form(int32_t c)
{
    return in_pages(FORM_PAGES, c) && AMONG(WITHOUT_FORM, c);
}

/* Alphabetic, M, Nd, Pc and Join_Control: Alphabetic has the letters in circles and squares in
 * addition to L, Nl and marks. */
bool cs_char_is_word(int32_t c)
{
    if (c < 0x80) {
        return is_ascii_letter(c) || (c >= '0' && c <= '9') || c == '_';
    }
    utf8proc_category_t category = char_category(c);
    return (category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_NL) ||
           category == UTF8PROC_CATEGORY_PC || (c >= 0x24B6 && c <= 0x24E9) ||
           (c >= 0x1F130 && c <= 0x1F149) || (c >= 0x1F150 && c <= 0x1F169) ||
           (c >= 0x1F170 && c <= 0x1F189) || c == 0x200C || c == 0x200D;
}

cs_char_class cs_char_class_of(int32_t c)
{
    if (c < 0x80) {
        return is_ascii_letter(c)     ? CS_CHAR_LETTER
               : c >= '0' && c <= '9' ? CS_CHAR_NUMBER
               : cs_char_is_space(c)  ? CS_CHAR_SPACE
                                      : CS_CHAR_OTHER;
    }
    utf8proc_category_t category = char_category(c);
    if (category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO) {
        return CS_CHAR_LETTER;
    }
    if (category >= UTF8PROC_CATEGORY_ND && category <= UTF8PROC_CATEGORY_NO) {
        return CS_CHAR_NUMBER;
    }
    return cs_char_is_space(c) ? CS_CHAR_SPACE : CS_CHAR_OTHER;
}
