/* Matches one after the other, and the pieces that they make. The expressions that our own
 * tokenizers are written with are scanned by hand, over the same classes as elsewhere (PCRE2 may
 * know another version of Unicode, and a corpus and its word list must agree). */
#include "text/pattern_private.h"

#include <string.h>

#include "base/mem.h"
#include "text/pretokenize.h"
#include "text/unicode.h"

/* --- scanned by hand --- */

static void find_gpt2(const char *text, int64_t size, int64_t from, int64_t *start, int64_t *end)
{
    *start = from;
    *end = from + cs_gpt2_piece((const uint8_t *)text + from, (const uint8_t *)text + size);
}

/* A run of characters that are no letters or marks. */
static void find_no_word(const char *text, int64_t size, int64_t from, int64_t *start, int64_t *end)
{
    *start = -1;
    for (int64_t at = from; at < size;) {
        int32_t c = 0;
        int length = cs_char_at((const uint8_t *)text + at, &c);
        if (cs_char_is_wordly(c)) {
            if (*start >= 0) {
                break;
            }
        } else if (*start < 0) {
            *start = at;
        }
        at += length;
        *end = at;
    }
}

static void find_any(const char *text, int64_t size, int64_t from, int64_t *start, int64_t *end)
{
    int32_t c = 0;
    (void)size;
    *start = from;
    *end = from + cs_char_at((const uint8_t *)text + from, &c);
}

static const struct {
    const char *expression;
    cs_finder finder;
} SCANNED[] = {
    {"'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+",
     find_gpt2},
    {"[^\\p{L}\\p{M}]+", find_no_word},
    {"[\\s\\S]", find_any},
};

/* --- reading --- */

cs_status cs_pattern_of_text(const char *text, cs_pattern *out)
{
    *out = (cs_pattern){.literal = cs_strdup(text), .literal_size = (int64_t)strlen(text)};
    return out->literal ? CS_OK : CS_ERR_MEMORY;
}

static cs_status read_regex(const char *expression, const char *field, cs_pattern *out)
{
    for (size_t i = 0; i < sizeof SCANNED / sizeof SCANNED[0]; ++i) {
        if (strcmp(expression, SCANNED[i].expression) == 0) {
            out->finder = SCANNED[i].finder;
            return CS_OK;
        }
    }
    return cs_blame(cs_regex_compile(expression, &out->regex), "%s.Regex", field);
}

cs_status cs_pattern_read(const json_t *json, const char *field, cs_pattern *out)
{
    const char *text = json_string_value(json_object_get(json, "String"));
    const char *expression = json_string_value(json_object_get(json, "Regex"));
    *out = (cs_pattern){0};
    if (json_object_size(json) != 1 || (!text && !expression) || (text && !*text)) {
        return cs_fail(CS_ERR_INPUT,
                       "%s: expected {\"String\": a nonempty string} or {\"Regex\": an expression}",
                       field);
    }
    return text ? cs_pattern_of_text(text, out) : read_regex(expression, field, out);
}

void cs_pattern_free(cs_pattern *pattern)
{
    cs_free(pattern->literal);
    cs_regex_free(pattern->regex);
    *pattern = (cs_pattern){0};
}

/* --- finding --- */

static void find_literal(const cs_pattern *p, const char *text, int64_t size, int64_t from,
                         int64_t *start, int64_t *end)
{
    const char *at =
        memmem(text + from, (size_t)(size - from), p->literal, (size_t)p->literal_size);
    *start = at ? at - text : -1;
    *end = at ? *start + p->literal_size : -1;
}

cs_status cs_pattern_find(const cs_pattern *p, cs_pieces *scratch, const char *text, int64_t size,
                          int64_t past, int64_t *start, int64_t *end)
{
    int64_t from = past < 0 ? 0 : past;
    *start = *end = -1;
    if (!p->regex) {
        if (from < size && p->finder) {
            p->finder(text, size, from, start, end);
        } else if (from < size) {
            find_literal(p, text, size, from, start, end);
        }
        return CS_OK;
    }
    cs_status status = cs_regex_scratch_make(&scratch->regex);
    while (status == CS_OK && from <= size) {
        status = cs_regex_find(p->regex, scratch->regex, text, size, from, start, end);
        if (status != CS_OK || *start < 0 || *end > *start || *start != past) return status;
        int32_t c = 0; /* empty, and another ended here: look from the next character on */
        from += from < size ? cs_char_at((const uint8_t *)text + from, &c) : 1;
        *start = *end = -1;
    }
    return status;
}

/* --- cutting --- */

typedef struct {
    cs_pieces *p;
    cs_cut_manner manner;
    bool any, matched; /* whether there was a part before, and whether it was a match */
} cutter;

/* The next part, a match or what lies before one. */
static cs_status part(cutter *c, int64_t from, int64_t to, bool match)
{
    bool join = false;
    switch (c->manner) {
    case CS_CUT_REMOVED:
        if (match) {
            return CS_OK;
        }
        break;
    case CS_CUT_MERGED_WITH_PREVIOUS:
        join = match && !c->matched;
        break;
    case CS_CUT_MERGED_WITH_NEXT:
        join = !match && c->matched;
        break;
    case CS_CUT_CONTIGUOUS:
        join = match == c->matched;
        break;
    default:
        break;
    }
    join = join && c->any;
    c->any = true;
    c->matched = match;
    if (join) {
        c->p->cut[c->p->cuts - 1].to = to;
        return CS_OK;
    }
    return cs_pieces_cut(c->p, from, to);
}

cs_status cs_pattern_cut(const cs_pattern *pattern, cs_cut_manner manner, bool inverted,
                         int64_t from, int64_t to, cs_pieces *p)
{
    cutter c = {.p = p, .manner = manner};
    const char *text = p->text + from;
    const int64_t size = to - from;
    int64_t start = 0, end = 0, past = -1, rest = 0;
    cs_status status = CS_OK;
    while (status == CS_OK) {
        status = cs_pattern_find(pattern, p, text, size, past, &start, &end);
        if (status != CS_OK || start < 0) {
            break;
        }
        if (rest < start) {
            status = part(&c, from + rest, from + start, inverted);
        }
        if (status == CS_OK) status = part(&c, from + start, from + end, !inverted);
        rest = past = end;
    }
    return status == CS_OK && rest < size ? part(&c, from + rest, to, inverted) : status;
}

cs_status cs_class_cut(bool (*is_in)(int32_t c), cs_cut_manner manner, int64_t from, int64_t to,
                       cs_pieces *p)
{
    cutter c = {.p = p, .manner = manner};
    int64_t rest = from;
    cs_status status = CS_OK;
    for (int64_t at = from; at < to && status == CS_OK;) {
        int32_t point = 0;
        int length = cs_char_at((const uint8_t *)p->text + at, &point);
        if (is_in(point)) {
            if (rest < at) {
                status = part(&c, rest, at, false);
            }
            if (status == CS_OK) status = part(&c, at, at + length, true);
            rest = at + length;
        }
        at += length;
    }
    return status == CS_OK && rest < to ? part(&c, rest, to, false) : status;
}
