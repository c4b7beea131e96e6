/* BERT's normaliser (Devlin et al., NAACL 2019; the steps and their order are those of
 * BertNormalizer in the `tokenizers` package). A step is a pass over the text; the passes that only
 * concern characters above ASCII leave ASCII alone. */
#include <string.h>

#include "base/mem.h"
#include "text/pretokenize.h"
#include "text/unicode.h"

void cs_bert_text_free(cs_bert_text *text)
{
    cs_free(text->text);
    cs_free(text->point);
    memset(text, 0, sizeof *text);
}

static void put(cs_bert_text *t, int32_t c)
{
    t->size += utf8proc_encode_char(c, (utf8proc_uint8_t *)t->text + t->size);
}

static bool is_removed(int32_t c)
{
    if (c == '\t' || c == '\n' || c == '\r') {
        return false;
    }
    if (c < 0x80) {
        return c < 0x20 || c == 0x7F;
    }
    utf8proc_category_t category = utf8proc_category(c);
    return c == 0xFFFD || category == UTF8PROC_CATEGORY_CC || category == UTF8PROC_CATEGORY_CF ||
           category == UTF8PROC_CATEGORY_CO;
}

/* The blocks of ideographs, with the gap before U+2B920 that the package has. */
static bool is_ideograph(int32_t c)
{
    return (c >= 0x4E00 && c <= 0x9FFF) || (c >= 0x3400 && c <= 0x4DBF) ||
           (c >= 0x20000 && c <= 0x2A6DF) || (c >= 0x2A700 && c <= 0x2B73F) ||
           (c >= 0x2B740 && c <= 0x2B81F) || (c >= 0x2B920 && c <= 0x2CEAF) ||
           (c >= 0xF900 && c <= 0xFAFF) || (c >= 0x2F800 && c <= 0x2FA1F);
}

/* Cleaning and blanks around ideographs, from the text into *out: at most 5 bytes for 3. */
static cs_status clean(const cs_bert_steps *steps, const char *text, int64_t size,
                       cs_bert_text *out)
{
    cs_status status = cs_reserve(&out->text, &out->room, 2 * size, 1);
    if (status != CS_OK) return status;
    out->size = 0;
    const uint8_t *at = (const uint8_t *)text, *end = at + size;
    while (at < end) {
        int32_t c = 0;
        at += cs_char_at(at, &c);
        if (steps->clean_text && is_removed(c)) {
            continue;
        }
        if (steps->clean_text && cs_char_is_space(c)) {
            c = ' ';
        }
        if (steps->chinese && is_ideograph(c)) {
            put(out, ' ');
            put(out, c);
            put(out, ' ');
        } else {
            put(out, c);
        }
    }
    return CS_OK;
}

static bool is_ascii(const cs_bert_text *t)
{
    for (int64_t i = 0; i < t->size; ++i) {
        if ((uint8_t)t->text[i] >= 0x80) {
            return false;
        }
    }
    return true;
}

/* The text's characters, decomposed when asked, in point[0 .. *points-1]. */
static cs_status points_of(cs_bert_text *t, bool decomposed, int64_t *points)
{
    utf8proc_option_t options = decomposed ? UTF8PROC_STABLE | UTF8PROC_DECOMPOSE : 0;
    for (;;) {
        utf8proc_ssize_t count = utf8proc_decompose((const utf8proc_uint8_t *)t->text, t->size,
                                                    t->point, t->point_room, options);
        if (count < 0) {
            return cs_fail(CS_ERR_INPUT, "text cannot be decomposed: %s", utf8proc_errmsg(count));
        }
        if (count <= t->point_room) {
            *points = count;
            return CS_OK;
        }
        cs_free(t->point);
        t->point_room = 0;
        t->point = cs_alloc(2 * count, sizeof *t->point);
        if (!t->point) return CS_ERR_MEMORY;
        t->point_room = 2 * count;
    }
}

/* Lower case of U+0130 is two characters, that of all others one. */
static void put_lower(cs_bert_text *t, int32_t c)
{
    put(t, utf8proc_tolower(c));
    if (c == 0x130) {
        put(t, 0x307);
    }
}

static cs_status fold(const cs_bert_steps *steps, cs_bert_text *t)
{
    int64_t points = 0;
    cs_status status = points_of(t, steps->strip_accents, &points);
    if (status == CS_OK) {
        /* two characters of four bytes each */
        status = cs_reserve(&t->text, &t->room, 4 * points + 4 * points, 1);
    }
    if (status != CS_OK) return status;
    t->size = 0;
    for (int64_t i = 0; i < points; ++i) {
        int32_t c = t->point[i];
        if (steps->strip_accents && utf8proc_category(c) == UTF8PROC_CATEGORY_MN) {
            continue;
        }
        if (steps->lowercase) {
            put_lower(t, c);
        } else {
            put(t, c);
        }
    }
    return CS_OK;
}

cs_status cs_bert_normalise(const cs_bert_steps *steps, const char *text, int64_t size,
                            cs_bert_text *out)
{
    cs_status status = clean(steps, text, size, out);
    if (status != CS_OK || (!steps->strip_accents && !steps->lowercase)) return status;
    if (!is_ascii(out)) {
        return fold(steps, out);
    }
    for (int64_t i = 0; steps->lowercase && i < out->size; ++i) {
        char c = out->text[i];
        out->text[i] = (char)(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
    }
    return CS_OK;
}
