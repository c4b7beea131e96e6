/* Normalisers: each writes the text anew. Those of BERT are Devlin et al. (NAACL 2019), in the steps
 * and the order of the `tokenizers` package; normal forms, categories and lower case are utf8proc's.
 *
 * All see one piece, the whole of a text or what lies between two added tokens. */
#include <string.h>

#include "base/mem.h"
#include "text/steps_private.h"
#include "text/unicode.h"

/* --- characters one by one --- */

/* Puts what becomes of a character. */
typedef cs_status (*mapping)(const cs_text_step *s, int32_t c, cs_pieces *p);

/* The end of a run of characters from `first` to `last`, of ASCII. */
static int64_t run_of(const char *text, int64_t from, int64_t size, int first, int last)
{
    while (from < size && (uint8_t)text[from] >= first && (uint8_t)text[from] <= last) {
        from += 1;
    }
    return from;
}

static int64_t ascii_run(const char *text, int64_t from, int64_t size)
{
    return run_of(text, from, size, 0, 0x7F);
}

/* Every character by `map`, but those from `first` to `last`, of ASCII, which stay. */
static cs_status map_all(const cs_text_step *s, mapping map, int first, int last, cs_pieces *p)
{
    cs_status status = CS_OK;
    int64_t at = run_of(p->text, 0, p->size, first, last);
    if (at == p->size) {
        return CS_OK;
    }
    status = cs_pieces_put(p, p->text, at);
    while (at < p->size && status == CS_OK) {
        int32_t c = 0;
        const int length = cs_char_at((const uint8_t *)p->text + at, &c);
        status = map(s, c, p);
        p->lead = p->lead && p->fresh > 0;
        at += length;
        const int64_t stop = run_of(p->text, at, p->size, first, last);
        if (status == CS_OK) status = cs_pieces_put(p, p->text + at, stop - at);
        at = stop;
    }
    return status == CS_OK ? cs_pieces_turn_whole(p) : status;
}

/* Lower case of U+0130 is two characters, that of all others one. */
static cs_status put_lower(const cs_text_step *s, int32_t c, cs_pieces *p)
{
    (void)s;
    cs_status status = cs_pieces_put_char(p, cs_char_lower(c));
    return status == CS_OK && c == 0x130 ? cs_pieces_put_char(p, 0x307) : status;
}

static cs_status lowercase(const cs_text_step *s, cs_pieces *p)
{
    return map_all(s, put_lower, ' ', '@', p);
}

static cs_status put_unmarked(const cs_text_step *s, int32_t c, cs_pieces *p)
{
    (void)s;
    return cs_char_is_accent(c) ? CS_OK : cs_pieces_put_char(p, c);
}

static cs_status strip_accents(const cs_text_step *s, cs_pieces *p)
{
    return map_all(s, put_unmarked, 0, 0x7F, p);
}

/* The characters that SentencePiece's rules nmt_* remove, and those that become blanks. */
static cs_status put_nmt(const cs_text_step *s, int32_t c, cs_pieces *p)
{
    (void)s;
    const bool removed = (c >= 0x01 && c <= 0x08) || c == 0x0B || (c >= 0x0E && c <= 0x1F) ||
                         c == 0x7F || c == 0x8F || c == 0x9F;
    const bool blank = c == 0x09 || c == 0x0A || c == 0x0C || c == 0x0D || c == 0x1680 ||
                       (c >= 0x200B && c <= 0x200F) || c == 0x2028 || c == 0x2029 || c == 0x2581 ||
                       c == 0xFEFF || c == 0xFFFD;
    return removed ? CS_OK : cs_pieces_put_char(p, blank ? ' ' : c);
}

static cs_status nmt(const cs_text_step *s, cs_pieces *p)
{
    return map_all(s, put_nmt, ' ', '~', p);
}

/* --- normal forms --- */

/* Characters of a part, decomposed and, for NFC and NFKC, composed. */
static cs_status put_form(const char *text, int64_t size, int form, cs_pieces *p)
{
    const utf8proc_option_t options = (utf8proc_option_t)form;
    cs_status status = CS_OK;
    utf8proc_ssize_t count = 0;
    for (;;) {
        count = utf8proc_decompose((const utf8proc_uint8_t *)text, size, p->point,
                                   p->point_capacity, options);
        if (count <= p->point_capacity) {
            break;
        }
        status = cs_reserve(&p->point, &p->point_capacity, count, sizeof *p->point);
        if (status != CS_OK) return status;
    }
    if (count >= 0 && (form & UTF8PROC_COMPOSE)) {
        count = utf8proc_normalize_utf32(p->point, count, options);
    }
    if (count < 0) {
        return cs_fail(CS_ERR_INPUT, "text cannot be normalised: %s", utf8proc_errmsg(count));
    }
    for (utf8proc_ssize_t i = 0; i < count && status == CS_OK; ++i) {
        status = cs_pieces_put_char(p, p->point[i]);
    }
    return status;
}

/* A character that has no form is kept alone, and nothing joins it. */
static cs_status put_known(const char *text, int64_t size, int form, cs_pieces *p)
{
    cs_status status = CS_OK;
    int64_t rest = 0;
    for (int64_t at = 0; at < size && status == CS_OK;) {
        int32_t c = 0;
        const int length = cs_char_at((const uint8_t *)text + at, &c);
        if (cs_char_has_no_form(c)) {
            status = put_form(text + rest, at - rest, form, p);
            if (status == CS_OK) status = cs_pieces_put(p, text + at, length);
            rest = at + length;
        }
        at += length;
    }
    return status == CS_OK && rest < size ? put_form(text + rest, size - rest, form, p) : status;
}

/* A character of ASCII begins anew: it joins nothing before it. So the parts between such
 * characters, each with the one that it may join, are taken by themselves. */
static cs_status to_form(int form, cs_pieces *p)
{
    int64_t at = ascii_run(p->text, 0, p->size);
    cs_status status = CS_OK;
    if (at == p->size) {
        return CS_OK;
    }
    status = at > 0 ? cs_pieces_put(p, p->text, at - 1) : CS_OK;
    at -= at > 0;
    while (at < p->size && status == CS_OK) {
        int64_t stop = at + ((uint8_t)p->text[at] < 0x80);
        while (stop < p->size && (uint8_t)p->text[stop] >= 0x80) {
            stop += 1;
        }
        status = put_known(p->text + at, stop - at, form, p);
        at = ascii_run(p->text, stop, p->size);
        at -= at < p->size && at > stop;
        if (status == CS_OK) status = cs_pieces_put(p, p->text + stop, at - stop);
    }
    return status == CS_OK ? cs_pieces_turn_whole(p) : status;
}

static cs_status normal_form(const cs_text_step *s, cs_pieces *p)
{
    return to_form(s->form, p);
}

#define FORM(name, options)                                                                        \
    static cs_status read_##name(const json_t *json, const char *field, cs_text_step *out)         \
    {                                                                                              \
        (void)json;                                                                                \
        (void)field;                                                                               \
        out->form = UTF8PROC_STABLE | (options);                                                   \
        return CS_OK;                                                                              \
    }
FORM(nfc, UTF8PROC_COMPOSE)
FORM(nfd, UTF8PROC_DECOMPOSE)
FORM(nfkc, UTF8PROC_COMPOSE | UTF8PROC_COMPAT)
FORM(nfkd, UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT)

/* --- BERT --- */

/* The blocks of ideographs, with the gap before U+2B920 that the package has. */
static bool is_ideograph(int32_t c)
{
    return (c >= 0x4E00 && c <= 0x9FFF) || (c >= 0x3400 && c <= 0x4DBF) ||
           (c >= 0x20000 && c <= 0x2A6DF) || (c >= 0x2A700 && c <= 0x2B73F) ||
           (c >= 0x2B740 && c <= 0x2B81F) || (c >= 0x2B920 && c <= 0x2CEAF) ||
           (c >= 0xF900 && c <= 0xFAFF) || (c >= 0x2F800 && c <= 0x2FA1F);
}

/* Control characters out, white space to blanks, blanks around ideographs. */
static cs_status put_clean(const cs_text_step *s, int32_t c, cs_pieces *p)
{
    cs_status status = CS_OK;
    if (s->clean_text && cs_char_is_hidden(c)) {
        return CS_OK;
    }
    if (s->clean_text && cs_char_is_space(c)) {
        c = ' ';
    }
    const bool apart = s->chinese && is_ideograph(c);
    if (apart) {
        status = cs_pieces_put_char(p, ' ');
    }
    if (status == CS_OK) status = cs_pieces_put_char(p, c);
    return status == CS_OK && apart ? cs_pieces_put_char(p, ' ') : status;
}

static cs_status put_no_nonspacing(const cs_text_step *s, int32_t c, cs_pieces *p)
{
    (void)s;
    return cs_char_is_nonspacing(c) ? CS_OK : cs_pieces_put_char(p, c);
}

static cs_status bert(const cs_text_step *s, cs_pieces *p)
{
    cs_status status = map_all(s, put_clean, ' ', '~', p);
    if (status == CS_OK && s->strip_accents) {
        status = to_form(UTF8PROC_STABLE | UTF8PROC_DECOMPOSE, p);
        if (status == CS_OK) status = map_all(s, put_no_nonspacing, 0, 0x7F, p);
    }
    return status == CS_OK && s->lowercase ? lowercase(s, p) : status;
}

static cs_status read_bert(const json_t *json, const char *field, cs_text_step *out)
{
    cs_status status;
    if ((status = cs_step_flag(json, field, "clean_text", true, &out->clean_text)) != CS_OK ||
        (status = cs_step_flag(json, field, "handle_chinese_chars", true, &out->chinese)) !=
            CS_OK ||
        (status = cs_step_flag(json, field, "lowercase", true, &out->lowercase)) != CS_OK) {
        return status;
    }
    return cs_step_flag(json, field, "strip_accents", out->lowercase, &out->strip_accents);
}

/* --- texts --- */

static cs_status strip(const cs_text_step *s, cs_pieces *p)
{
    const uint8_t *text = (const uint8_t *)p->text, *at = text, *end = text + p->size;
    int32_t c = 0;
    while (s->left && at < end) {
        const int length = cs_char_at(at, &c);
        if (!cs_char_is_space(c)) {
            break;
        }
        at += length;
    }
    while (s->right && end > at) {
        const uint8_t *before = cs_char_before(at, end);
        (void)cs_char_at(before, &c);
        if (!cs_char_is_space(c)) {
            break;
        }
        end = before;
    }
    p->lead = p->lead && at == text;
    cs_status status = cs_pieces_put(p, (const char *)at, end - at);
    return status == CS_OK ? cs_pieces_turn_whole(p) : status;
}

static cs_status read_strip(const json_t *json, const char *field, cs_text_step *out)
{
    cs_status status = cs_step_flag(json, field, "strip_left", true, &out->left);
    return status == CS_OK ? cs_step_flag(json, field, "strip_right", true, &out->right) : status;
}

static cs_status prepend(const cs_text_step *s, cs_pieces *p)
{
    if (p->size == 0) {
        return CS_OK;
    }
    cs_status status = cs_pieces_put(p, s->content, s->content_size);
    if (status == CS_OK) status = cs_pieces_put(p, p->text, p->size);
    return status == CS_OK ? cs_pieces_turn_whole(p) : status;
}

static cs_status read_prepend(const json_t *json, const char *field, cs_text_step *out)
{
    return cs_step_text(json, field, "prepend", NULL, out);
}

static cs_status precompiled(const cs_text_step *s, cs_pieces *p)
{
    return cs_charsmap_apply(&s->charsmap, p);
}

static cs_status read_precompiled(const json_t *json, const char *field, cs_text_step *out)
{
    const json_t *map = json_object_get(json, "precompiled_charsmap");
    if (!json_is_string(map)) {
        return cs_fail(CS_ERR_INPUT, "%s.precompiled_charsmap: expected a string", field);
    }
    return cs_blame(
        cs_charsmap_read(json_string_value(map), (int64_t)json_string_length(map), &out->charsmap),
        "%s.precompiled_charsmap", field);
}

static cs_status byte_level(const cs_text_step *s, cs_pieces *p)
{
    (void)s;
    cs_status status = cs_step_spell_bytes(p->text, p->size, p);
    return status == CS_OK ? cs_pieces_turn_whole(p) : status;
}

static const cs_step_kind KINDS[] = {
    {"NFC", "type", read_nfc, normal_form, NULL},
    {"NFD", "type", read_nfd, normal_form, NULL},
    {"NFKC", "type", read_nfkc, normal_form, NULL},
    {"NFKD", "type", read_nfkd, normal_form, NULL},
    {"Lowercase", "type", NULL, lowercase, NULL},
    {"StripAccents", "type", NULL, strip_accents, NULL},
    {"BertNormalizer", "type, clean_text, handle_chinese_chars, strip_accents, lowercase",
     read_bert, bert, NULL},
    {"Replace", "type, pattern, content", cs_step_read_replace, cs_step_replace, NULL},
    {"Prepend", "type, prepend", read_prepend, prepend, NULL},
    {"Strip", "type, strip_left, strip_right", read_strip, strip, NULL},
    {"Precompiled", "type, precompiled_charsmap", read_precompiled, precompiled, NULL},
    {"Nmt", "type", NULL, nmt, NULL},
    {"ByteLevel", "type", NULL, byte_level, NULL},
};
const cs_stage cs_stage_normalizer = {"normalizer", "normalizers", KINDS,
                                      sizeof KINDS / sizeof KINDS[0]};
