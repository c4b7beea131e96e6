/* Classes by general category, with ASCII decided by comparison: it is most of most texts. */
#include "text/unicode.h"

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
    utf8proc_category_t category = utf8proc_category(c);
    return category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_ME;
}

bool cs_char_is_mark(int32_t c)
{
    if (c < 0x80) {
        return (c >= 33 && c <= 47) || (c >= 58 && c <= 64) || (c >= 91 && c <= 96) ||
               (c >= 123 && c <= 126);
    }
    utf8proc_category_t category = utf8proc_category(c);
    return category >= UTF8PROC_CATEGORY_PC && category <= UTF8PROC_CATEGORY_PO;
}

/* Alphabetic, M, Nd, Pc and Join_Control: what is Alphabetic beside L, Nl and marks are the letters
 * in circles and squares. */
bool cs_char_is_word(int32_t c)
{
    if (c < 0x80) {
        return is_ascii_letter(c) || (c >= '0' && c <= '9') || c == '_';
    }
    utf8proc_category_t category = utf8proc_category(c);
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
    utf8proc_category_t category = utf8proc_category(c);
    if (category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO) {
        return CS_CHAR_LETTER;
    }
    if (category >= UTF8PROC_CATEGORY_ND && category <= UTF8PROC_CATEGORY_NO) {
        return CS_CHAR_NUMBER;
    }
    return cs_char_is_space(c) ? CS_CHAR_SPACE : CS_CHAR_OTHER;
}
