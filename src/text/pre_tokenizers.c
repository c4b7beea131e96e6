/* Pre-tokenizers: each cuts every piece into smaller ones; ByteLevel and Metaspace write the text
 * anew too. Behaviour as in the `tokenizers` package, where nothing is seen of a piece's
 * neighbours. */
#include <stdio.h>
#include <string.h>

#include "base/enum_names.h"
#include "text/pretokenize.h"
#include "text/steps_private.h"
#include "text/unicode.h"

/* Each piece by one function that appends to the next ones. */
typedef cs_status (*cutting)(const cs_text_step *s, cs_span piece, cs_pieces *p);

static cs_status cut_all(const cs_text_step *s, cutting cut, cs_pieces *p)
{
    cs_status status = CS_OK;
    for (int64_t i = 0; i < p->spans && status == CS_OK; ++i) {
        status = cut(s, p->span[i], p);
    }
    if (status == CS_OK) cs_pieces_turn(p);
    return status;
}

static cs_status cut_each(const cs_text_step *s, cs_pieces *p)
{
    return cut_all(s, s->kind->cut, p);
}

/* The same where the pieces are written anew. */
static cs_status write_all(const cs_text_step *s, cutting write, cs_pieces *p)
{
    cs_status status = CS_OK;
    for (int64_t i = 0; i < p->spans && status == CS_OK; ++i) {
        const int64_t from = p->fresh;
        if (p->span[i].from < p->span[i].to) {
            status = write(s, p->span[i], p);
        }
        if (status == CS_OK) status = cs_pieces_cut(p, from, p->fresh);
    }
    if (status == CS_OK) cs_pieces_turn_text(p);
    return status;
}

/* --- by class --- */

static cs_status cut_white_space(const cs_text_step *s, cs_span piece, cs_pieces *p)
{
    (void)s;
    return cs_class_cut(cs_char_is_space, CS_CUT_REMOVED, piece.from, piece.to, p);
}

static cs_status cut_digits(const cs_text_step *s, cs_span piece, cs_pieces *p)
{
    return cs_class_cut(cs_char_is_number, s->manner, piece.from, piece.to, p);
}

static cs_status read_digits(const json_t *json, const char *field, cs_text_step *out)
{
    bool alone = false;
    cs_status status = cs_step_flag(json, field, "individual_digits", false, &alone);
    out->manner = alone ? CS_CUT_ISOLATED : CS_CUT_CONTIGUOUS;
    return status;
}

static cs_status cut_punctuation(const cs_text_step *s, cs_span piece, cs_pieces *p)
{
    return cs_class_cut(cs_char_is_mark, s->manner, piece.from, piece.to, p);
}

static cs_status read_manner(const json_t *json, const char *field, const char *fallback,
                             cs_text_step *out)
{
    static const char *const name[] = {"Removed", "Isolated", "MergedWithPrevious",
                                       "MergedWithNext", "Contiguous"};
    const json_t *v = json_object_get(json, "behavior");
    const char *given = v ? json_string_value(v) : fallback;
    if (!given || CS_NAME_AMONG("behavior", given, name, &out->manner) != CS_OK) {
        cs_reason_clear();
        return cs_fail(CS_ERR_INPUT,
                       "%s.behavior: expected Removed, Isolated, MergedWithPrevious, "
                       "MergedWithNext or Contiguous, found \"%s\"",
                       field, given ? given : "");
    }
    return CS_OK;
}

static cs_status read_punctuation(const json_t *json, const char *field, cs_text_step *out)
{
    return read_manner(json, field, "Isolated", out);
}

/* Runs of word characters, and runs of what is neither that nor white space. */
static cs_status cut_words(const cs_text_step *s, cs_span piece, cs_pieces *p)
{
    cs_status status = CS_OK;
    int64_t start = piece.from;
    int before = 0; /* 0 white space, 1 a word's, 2 other */
    (void)s;
    for (int64_t at = piece.from; at < piece.to && status == CS_OK;) {
        int32_t c = 0;
        const int length = cs_char_at((const uint8_t *)p->text + at, &c);
        const int kind = cs_char_is_word(c) ? 1 : cs_char_is_space(c) ? 0 : 2;
        if (kind != before) {
            status = before > 0 ? cs_pieces_cut(p, start, at) : CS_OK;
            start = at;
            before = kind;
        }
        at += length;
    }
    return status == CS_OK && before > 0 ? cs_pieces_cut(p, start, piece.to) : status;
}

static cs_status cut_bert(const cs_text_step *s, cs_span piece, cs_pieces *p)
{
    const uint8_t *text = (const uint8_t *)p->text, *at = text + piece.from, *end = text + piece.to;
    cs_status status = CS_OK;
    (void)s;
    while (status == CS_OK) {
        const int64_t size = cs_bert_piece(&at, end);
        if (size == 0) {
            break;
        }
        status = cs_pieces_cut(p, at - text - size, at - text);
    }
    return status;
}

/* --- by pattern --- */

static cs_status cut_pattern(const cs_text_step *s, cs_span piece, cs_pieces *p)
{
    return cs_pattern_cut(&s->pattern, s->manner, s->inverted, piece.from, piece.to, p);
}

static cs_status read_split(const json_t *json, const char *field, cs_text_step *out)
{
    char inner[160];
    (void)snprintf(inner, sizeof inner, "%s.pattern", field);
    cs_status status = cs_pattern_read(json_object_get(json, "pattern"), inner, &out->pattern);
    if (status == CS_OK) status = read_manner(json, field, NULL, out);
    return status == CS_OK ? cs_step_flag(json, field, "invert", false, &out->inverted) : status;
}

static cs_status read_delimiter(const json_t *json, const char *field, cs_text_step *out)
{
    int32_t c = 0;
    cs_status status = cs_step_text(json, field, "delimiter", NULL, out);
    if (status == CS_OK && (out->content_size == 0 ||
                            cs_char_at((const uint8_t *)out->content, &c) != out->content_size)) {
        status = cs_fail(CS_ERR_INPUT, "%s.delimiter: expected one character", field);
    }
    out->manner = CS_CUT_REMOVED;
    return status == CS_OK ? cs_pattern_of_text(out->content, &out->pattern) : status;
}

/* --- Metaspace --- */

/* Blanks become the mark, which is put before a piece that does not begin with it. */
static cs_status write_marked(const cs_text_step *s, cs_span piece, cs_pieces *p)
{
    const char *text = p->text + piece.from, *end = p->text + piece.to;
    const bool first = p->lead && piece.from == 0;
    const bool begins = *text == ' ' || (end - text >= s->content_size &&
                                         memcmp(text, s->content, (size_t)s->content_size) == 0);
    cs_status status = CS_OK;
    if (!begins && (s->prepend == CS_PREPEND_ALWAYS || (first && s->prepend == CS_PREPEND_FIRST))) {
        status = cs_pieces_put(p, s->content, s->content_size);
    }
    while (text < end && status == CS_OK) {
        const char *blank = memchr(text, ' ', (size_t)(end - text));
        status = cs_pieces_put(p, text, (blank ? blank : end) - text);
        if (status == CS_OK && blank) status = cs_pieces_put(p, s->content, s->content_size);
        text = blank ? blank + 1 : end;
    }
    return status;
}

static cs_status cut_marked(const cs_text_step *s, cs_span piece, cs_pieces *p)
{
    return cs_pattern_cut(&s->pattern, CS_CUT_MERGED_WITH_NEXT, false, piece.from, piece.to, p);
}

static cs_status metaspace(const cs_text_step *s, cs_pieces *p)
{
    cs_status status = write_all(s, write_marked, p);
    return status == CS_OK && s->split ? cut_all(s, cut_marked, p) : status;
}

/* --- bytes --- */

static cs_status write_prefixed(const cs_text_step *s, cs_span piece, cs_pieces *p)
{
    cs_status status = CS_OK;
    (void)s;
    if (p->text[piece.from] != ' ') {
        status = cs_pieces_put(p, " ", 1);
    }
    return status == CS_OK ? cs_pieces_put(p, p->text + piece.from, piece.to - piece.from) : status;
}

static cs_status cut_gpt2(const cs_text_step *s, cs_span piece, cs_pieces *p)
{
    const uint8_t *text = (const uint8_t *)p->text;
    cs_status status = CS_OK;
    (void)s;
    for (int64_t at = piece.from; at < piece.to && status == CS_OK;) {
        const int64_t size = cs_gpt2_piece(text + at, text + piece.to);
        status = cs_pieces_cut(p, at, at + size);
        at += size;
    }
    return status;
}

static cs_status write_spelled(const cs_text_step *s, cs_span piece, cs_pieces *p)
{
    (void)s;
    return cs_step_spell_bytes(p->text + piece.from, piece.to - piece.from, p);
}

static cs_status byte_level(const cs_text_step *s, cs_pieces *p)
{
    cs_status status = s->prefix_space ? write_all(s, write_prefixed, p) : CS_OK;
    if (status == CS_OK && s->use_regex) status = cut_all(s, cut_gpt2, p);
    return status == CS_OK && !s->spelled ? write_all(s, write_spelled, p) : status;
}

static const cs_step_kind KINDS[] = {
    {"ByteLevel", "type, add_prefix_space, trim_offsets, use_regex", cs_step_read_byte_level,
     byte_level, NULL},
    {"Metaspace", "type, replacement, add_prefix_space, prepend_scheme, split, str_rep",
     cs_step_read_metaspace, metaspace, NULL},
    {"Split", "type, pattern, behavior, invert", read_split, cut_each, cut_pattern},
    {"Digits", "type, individual_digits", read_digits, cut_each, cut_digits},
    {"Punctuation", "type, behavior", read_punctuation, cut_each, cut_punctuation},
    {"WhitespaceSplit", "type", NULL, cut_each, cut_white_space},
    {"Whitespace", "type", NULL, cut_each, cut_words},
    {"BertPreTokenizer", "type", NULL, cut_each, cut_bert},
    {"CharDelimiterSplit", "type, delimiter", read_delimiter, cut_each, cut_pattern},
};
const cs_stage cs_stage_pre_tokenizer = {"pre_tokenizer", "pretokenizers", KINDS,
                                         sizeof KINDS / sizeof KINDS[0]};
