/* Reading and running the steps. A key that a kind does not know is refused: a part of a file that
 * were passed over would give other ids without a word. */
#include "base/auto.h"
#include "text/steps_private.h"

#include <stdio.h>
#include <string.h>

#include "base/enum_names.h"
#include "base/mem.h"
#include "io/json.h"
#include "text/bpe.h"
#include "text/unicode.h"

enum { FIELD = 160 };

/* --- fields --- */

cs_status cs_step_flag(const json_t *json, const char *field, const char *key, bool fallback,
                       bool *out)
{
    const json_t *v = json_object_get(json, key);
    if (v && !json_is_null(v) && !json_is_boolean(v)) {
        return cs_fail(CS_ERR_INPUT, "%s.%s: expected true or false", field, key);
    }
    *out = json_is_boolean(v) ? json_is_true(v) : fallback;
    return CS_OK;
}

cs_status cs_step_text(const json_t *json, const char *field, const char *key, const char *fallback,
                       cs_text_step *out)
{
    const json_t *v = json_object_get(json, key);
    const char *text = v ? json_string_value(v) : fallback;
    if (!text) {
        return cs_fail(CS_ERR_INPUT, "%s.%s: expected a string", field, key);
    }
    out->content = cs_strdup(text);
    out->content_size = (int64_t)strlen(text);
    return out->content ? CS_OK : CS_ERR_MEMORY;
}

cs_status cs_step_read_byte_level(const json_t *json, const char *field, cs_text_step *out)
{
    bool offsets = false; /* which we do not give */
    cs_status status = cs_step_flag(json, field, "add_prefix_space", true, &out->prefix_space);
    if (status == CS_OK) status = cs_step_flag(json, field, "use_regex", true, &out->use_regex);
    return status == CS_OK ? cs_step_flag(json, field, "trim_offsets", true, &offsets) : status;
}

/* prepend_scheme of files of today, add_prefix_space of older ones, and a mark for blanks of one
 * character. */
cs_status cs_step_read_metaspace(const json_t *json, const char *field, cs_text_step *out)
{
    static const char *const scheme[] = {"never", "first", "always"};
    const char *given = "always";
    const json_t *v = json_object_get(json, "prepend_scheme");
    bool blank = true;
    int32_t c = 0;
    cs_status status = cs_step_text(json, field, "replacement", NULL, out);
    if (status == CS_OK && (out->content_size == 0 ||
                            cs_char_at((const uint8_t *)out->content, &c) != out->content_size)) {
        status = cs_fail(CS_ERR_INPUT, "%s.replacement: expected one character", field);
    }
    if (status == CS_OK) status = cs_pattern_of_text(out->content, &out->pattern);
    if (status == CS_OK) status = cs_step_flag(json, field, "split", true, &out->split);
    if (status == CS_OK) status = cs_step_flag(json, field, "add_prefix_space", true, &blank);
    if (status != CS_OK) return status;
    if (v && !json_is_string(v)) {
        return cs_fail(CS_ERR_INPUT, "%s.prepend_scheme: expected a string", field);
    }
    given = v ? json_string_value(v) : given;
    status = CS_NAME_AMONG("prepend_scheme", given, scheme, &out->prepend);
    if (status != CS_OK) {
        cs_reason_clear();
        return cs_fail(CS_ERR_INPUT, "%s.prepend_scheme: \"%s\" is not always, first or never",
                       field, given);
    }
    if (!blank && out->prepend != CS_PREPEND_NEVER) {
        return cs_fail(CS_ERR_INPUT, "%s.add_prefix_space: false, but prepend_scheme is \"%s\"",
                       field, given);
    }
    return CS_OK;
}

cs_status cs_step_read_replace(const json_t *json, const char *field, cs_text_step *out)
{
    char inner[FIELD];
    (void)snprintf(inner, sizeof inner, "%s.pattern", field);
    cs_status status = cs_pattern_read(json_object_get(json, "pattern"), inner, &out->pattern);
    return status == CS_OK ? cs_step_text(json, field, "content", NULL, out) : status;
}

/* --- steps of several stages --- */

cs_status cs_step_spell_bytes(const char *bytes, int64_t size, cs_pieces *p)
{
    cs_status status = CS_OK;
    for (int64_t i = 0; i < size && status == CS_OK; ++i) {
        status = cs_pieces_put_char(p, cs_byte_char((uint8_t)bytes[i]));
    }
    return status;
}

static cs_status replace_in(const cs_text_step *s, cs_span piece, cs_pieces *p)
{
    const char *text = p->text + piece.from;
    const int64_t size = piece.to - piece.from;
    int64_t start = 0, end = 0, past = -1, rest = 0;
    cs_status status = CS_OK;
    while (status == CS_OK) {
        status = cs_pattern_find(&s->pattern, p, text, size, past, &start, &end);
        if (status != CS_OK || start < 0) {
            break;
        }
        if (start == 0 && piece.from == 0) { /* what is put there comes from the last character */
            int32_t c = 0;
            p->lead = p->lead && s->content_size > 0 &&
                      (end == 0 || cs_char_at((const uint8_t *)text, &c) == end);
        }
        status = cs_pieces_put(p, text + rest, start - rest);
        if (status == CS_OK) status = cs_pieces_put(p, s->content, s->content_size);
        rest = past = end;
    }
    return status == CS_OK ? cs_pieces_put(p, text + rest, size - rest) : status;
}

cs_status cs_step_replace(const cs_text_step *s, cs_pieces *p)
{
    cs_status status = CS_OK;
    for (int64_t i = 0; i < p->spans && status == CS_OK; ++i) {
        const int64_t from = p->fresh;
        status = replace_in(s, p->span[i], p);
        if (status == CS_OK) status = cs_pieces_cut(p, from, p->fresh);
    }
    if (status == CS_OK) cs_pieces_turn_text(p);
    return status;
}

/* --- reading --- */

static void step_free(cs_text_step *s)
{
    cs_pattern_free(&s->pattern);
    cs_free(s->content);
    cs_charsmap_free(&s->charsmap);
}

void cs_steps_free(cs_steps *steps)
{
    for (int64_t i = 0; i < steps->steps; ++i) {
        step_free(&steps->step[i]);
    }
    cs_free(steps->step);
    *steps = (cs_steps){0};
}

static cs_status unknown_kind(const cs_stage *stage, const char *field, const char *type)
{
    CS_AUTO_FREE char *known = cs_strdup("");
    for (int i = 0; i < stage->kinds; ++i) {
        cs_append(&known, "%s, ", stage->kind[i].type);
    }
    cs_status status = known
                           ? cs_fail(CS_ERR_INPUT, "%s.type: \"%s\" is not supported (%sSequence)",
                                     field, type, known)
                           : CS_ERR_MEMORY;
    return status;
}

static cs_status read_one(const json_t *json, const cs_stage *stage, const char *field,
                          cs_steps *out)
{
    const char *type = json_string_value(json_object_get(json, "type"));
    const cs_step_kind *kind = NULL;
    if (!type) {
        return cs_fail(CS_ERR_INPUT, "%s.type: expected a string", field);
    }
    for (int i = 0; i < stage->kinds && !kind; ++i) {
        kind = strcmp(stage->kind[i].type, type) == 0 ? &stage->kind[i] : NULL;
    }
    if (!kind) {
        return unknown_kind(stage, field, type);
    }
    cs_status status = cs_blame(cs_json_known(json, kind->keys), "%s", field);
    if (status == CS_OK)
        status = cs_reserve(&out->step, &out->capacity, out->steps + 1, sizeof *out->step);
    if (status != CS_OK) return status;
    cs_text_step *step = &out->step[out->steps++];
    *step = (cs_text_step){.kind = kind};
    return kind->read ? kind->read(json, field, step) : CS_OK;
}

/* A Sequence within a Sequence is read too, as deep as `depth`.
 * NOLINTBEGIN(misc-no-recursion) */
static cs_status read_any(const json_t *json, const cs_stage *stage, const char *field, int depth,
                          cs_steps *out)
{
    const char *type = json_string_value(json_object_get(json, "type"));
    const json_t *list = json_object_get(json, stage->list);
    cs_status status = CS_OK;
    if (!type || strcmp(type, "Sequence") != 0) {
        return read_one(json, stage, field, out);
    }
    if (!json_is_array(list) || json_object_size(json) != 2 || depth == 0) {
        return cs_fail(CS_ERR_INPUT, "%s.%s: expected a list and no other key", field, stage->list);
    }
    for (size_t i = 0; i < json_array_size(list) && status == CS_OK; ++i) {
        char inner[FIELD];
        (void)snprintf(inner, sizeof inner, "%s.%s[%zu]", field, stage->list, i);
        status = read_any(json_array_get(list, i), stage, inner, depth - 1, out);
    }
    return status;
}
/* NOLINTEND(misc-no-recursion) */

cs_status cs_steps_read(const json_t *json, const cs_stage *stage, cs_steps *out)
{
    *out = (cs_steps){0};
    return !json || json_is_null(json) ? CS_OK : read_any(json, stage, stage->field, 3, out);
}

cs_status cs_steps_run(const cs_steps *steps, cs_pieces *p)
{
    cs_status status = CS_OK;
    for (int64_t i = 0; i < steps->steps && status == CS_OK; ++i) {
        status = steps->step[i].kind->run(&steps->step[i], p);
    }
    return status;
}
