/* Post-processors: the tokens around a text and between two. They are kept as JSON, so that
 * writing loses nothing; the form of a pair is read when it is needed. */
#include <string.h>

#include "io/json.h"
#include "text/tokenizer_private.h"

static cs_status put(cs_text_form *f, int64_t token, int64_t type)
{
    if (f->count == CS_TEXT_PIECES) {
        return cs_fail(CS_ERR_INPUT, "post_processor: more than %d pieces", CS_TEXT_PIECES);
    }
    f->piece[f->count++] = (cs_text_piece){(int32_t)token, (int32_t)type};
    return CS_OK;
}

static cs_status check_id(const cs_tokenizer *t, const char *field, const json_t *id)
{
    if (!json_is_integer(id) || json_integer_value(id) < 0 ||
        json_integer_value(id) >= t->table.words) {
        return cs_fail(CS_ERR_INPUT, "post_processor.%s: expected a token id in 0..%lld", field,
                       (long long)t->table.words - 1);
    }
    return CS_OK;
}

/* The ids of the special token that a template's piece names. */
static cs_status put_special(const cs_tokenizer *t, const json_t *post, const char *name,
                             int64_t type, cs_text_form *f)
{
    const json_t *special = json_object_get(post, "special_tokens");
    const json_t *ids = name ? json_object_get(json_object_get(special, name), "ids") : NULL;
    if (!json_is_array(ids)) {
        return cs_fail(CS_ERR_INPUT, "post_processor.special_tokens: no ids of \"%s\"",
                       name ? name : "");
    }
    cs_status status = CS_OK;
    for (size_t i = 0; i < json_array_size(ids) && status == CS_OK; ++i) {
        const json_t *id = json_array_get(ids, i);
        status = check_id(t, "special_tokens", id);
        if (status == CS_OK) status = put(f, json_integer_value(id), type);
    }
    return status;
}

static cs_status take_template(const cs_tokenizer *t, const json_t *post, bool pair,
                               cs_text_form *f)
{
    const char *key = pair ? "pair" : "single";
    const json_t *list = json_object_get(post, key);
    int64_t texts[2] = {0, 0};
    cs_status status = CS_OK;
    for (size_t i = 0; i < json_array_size(list) && status == CS_OK; ++i) {
        const json_t *piece = json_array_get(list, i);
        const json_t *token = json_object_get(piece, "SpecialToken"),
                     *text = json_object_get(piece, "Sequence");
        const char *id = json_string_value(json_object_get(token ? token : text, "id"));
        int64_t type = json_integer_value(json_object_get(token ? token : text, "type_id"));
        const bool first = text && (!pair || (id && strcmp(id, "A") == 0)),
                   second = text && !first && id && strcmp(id, "B") == 0;
        if (pair && (type < 0 || type > 1)) {
            status = cs_fail(CS_ERR_INPUT, "post_processor.pair[%d].type_id: %lld is not 0 or 1",
                             (int)i, (long long)type);
        } else if (token) {
            status = put_special(t, post, id, pair ? type : 0, f);
        } else if (first || second) {
            ++texts[second];
            status = put(f, first ? CS_TEXT_FIRST : CS_TEXT_SECOND, pair ? type : 0);
        } else {
            status = cs_fail(CS_ERR_INPUT,
                             "post_processor.%s[%d]: expected a SpecialToken, or Sequence A%s", key,
                             (int)i, pair ? " or B" : "");
        }
    }
    if (status == CS_OK && (texts[0] != 1 || texts[1] != pair))
        status = cs_fail(CS_ERR_INPUT, "post_processor.%s: expected one Sequence A%s", key,
                         pair ? " and one Sequence B" : "");
    return status;
}

/* [CLS] A [SEP] B [SEP] with types 0 and 1; <s> A </s></s> B </s>. Ids as ["</s>", 2]. */
static cs_status take_named(const cs_tokenizer *t, const json_t *post, bool bert, bool pair,
                            cs_text_form *f)
{
    const json_t *cls = json_array_get(json_object_get(post, "cls"), 1),
                 *sep = json_array_get(json_object_get(post, "sep"), 1);
    cs_status status = check_id(t, "cls", cls);
    if (status == CS_OK) status = check_id(t, "sep", sep);
    if (status != CS_OK) return status;
    const int64_t c = json_integer_value(cls), s = json_integer_value(sep);
    const int64_t piece[][2] = {{c, 0}, {CS_TEXT_FIRST, 0},     {s, 0},
                                {s, 0}, {CS_TEXT_SECOND, bert}, {s, bert}};
    for (int i = 0; i < (pair ? 6 : 3) && status == CS_OK; ++i) {
        status = bert && i == 3 ? CS_OK : put(f, piece[i][0], piece[i][1]);
    }
    return status;
}

/* Reads the form that one post-processor gives to a text or a pair. */
static cs_status take_form(const cs_tokenizer *t, const json_t *post, bool pair, cs_text_form *f)
{
    const char *type = json_string_value(json_object_get(post, "type"));
    if (!type) {
        return cs_fail(CS_ERR_INPUT, "post_processor.type: expected a string");
    }
    const char *keys =
        strcmp(type, "ByteLevel") == 0 ? "type, add_prefix_space, trim_offsets, use_regex"
        : strcmp(type, "TemplateProcessing") == 0 ? "type, single, pair, special_tokens"
        : strcmp(type, "BertProcessing") == 0     ? "type, sep, cls"
        : strcmp(type, "RobertaProcessing") == 0  ? "type, sep, cls, trim_offsets, add_prefix_space"
                                                  : NULL;
    if (!keys) {
        return cs_fail(CS_ERR_INPUT,
                       "post_processor.type: \"%s\" is not supported (TemplateProcessing, "
                       "RobertaProcessing, BertProcessing, ByteLevel, or a Sequence in which one "
                       "adds tokens)",
                       type);
    }
    cs_status status = cs_blame(cs_json_known(post, keys), "post_processor");
    if (status != CS_OK || strcmp(type, "ByteLevel") == 0) return status; /* offsets only */
    return strcmp(type, "TemplateProcessing") == 0
               ? take_template(t, post, pair, f)
               : take_named(t, post, strcmp(type, "BertProcessing") == 0, pair, f);
}

cs_status cs_tokenizer_form(const cs_tokenizer *t, bool pair, cs_text_form *out)
{
    const char *type = json_string_value(json_object_get(t->part[CS_PART_POST_PROCESSOR], "type"));
    const bool many = type && strcmp(type, "Sequence") == 0;
    const json_t *inner = json_object_get(t->part[CS_PART_POST_PROCESSOR], "processors");
    cs_text_form form = {0};
    cs_status status = CS_OK;
    *out = form;
    if (many && (!json_is_array(inner) || json_object_size(t->part[CS_PART_POST_PROCESSOR]) != 2)) {
        return cs_fail(CS_ERR_INPUT, "post_processor.processors: expected a list and no other key");
    }
    const size_t count = many ? json_array_size(inner) : t->part[CS_PART_POST_PROCESSOR] != NULL;
    for (size_t i = 0; i < count && status == CS_OK; ++i) {
        const json_t *one = many ? json_array_get(inner, i) : t->part[CS_PART_POST_PROCESSOR];
        cs_text_form single = {0};
        status = take_form(t, one, false, &single);
        if (status != CS_OK || single.count <= 1) {
            continue; /* it adds no token */
        }
        if (form.count > 0) {
            status = cs_fail(CS_ERR_INPUT,
                             "post_processor.processors[%d]: a second processor that adds tokens; "
                             "only one is supported",
                             (int)i);
        } else if (pair) {
            status = take_form(t, one, true, &form);
        } else {
            form = single;
        }
    }
    if (status == CS_OK) *out = form;
    return status;
}

cs_status cs_tokenizer_take_post(cs_tokenizer *t)
{
    cs_text_form form;
    int64_t *count = &t->befores, ids = 0;
    cs_status status = cs_tokenizer_form(t, false, &form);
    for (int64_t i = 0; i < form.count; ++i) {
        if (form.piece[i].token == CS_TEXT_FIRST) {
            count = &t->afters;
        } else {
            t->around[ids++] = form.piece[i].token;
            ++*count;
        }
    }
    return status;
}

cs_status cs_tokenizer_surround(cs_tokenizer *t, int32_t before, int32_t after)
{
    const char *b = cs_tokenizer_token(t, before), *a = cs_tokenizer_token(t, after);
    json_t *post = json_pack(
        "{s:s, s:[{s:{s:s, s:i}}, {s:{s:s, s:i}}, {s:{s:s, s:i}}],"
        " s:[{s:{s:s, s:i}}, {s:{s:s, s:i}}, {s:{s:s, s:i}}, {s:{s:s, s:i}}, {s:{s:s, s:i}}],"
        " s:{s:{s:s, s:[i], s:[s]}, s:{s:s, s:[i], s:[s]}}}",
        "type", "TemplateProcessing", "single", "SpecialToken", "id", b, "type_id", 0, "Sequence",
        "id", "A", "type_id", 0, "SpecialToken", "id", a, "type_id", 0, "pair", "SpecialToken",
        "id", b, "type_id", 0, "Sequence", "id", "A", "type_id", 0, "SpecialToken", "id", a,
        "type_id", 0, "Sequence", "id", "B", "type_id", 1, "SpecialToken", "id", a, "type_id", 1,
        "special_tokens", b, "id", b, "ids", before, "tokens", b, a, "id", a, "ids", after,
        "tokens", a);
    return cs_tokenizer_set_part(t, CS_PART_POST_PROCESSOR, post);
}

void cs_tokenizer_drop_post(cs_tokenizer *t)
{
    if (t->befores + t->afters > 0) {
        json_decref(t->part[CS_PART_POST_PROCESSOR]);
        t->part[CS_PART_POST_PROCESSOR] = NULL;
        t->befores = t->afters = 0;
    }
}

cs_special_tokens cs_tokenizer_around(const cs_tokenizer *t)
{
    return (cs_special_tokens){t->around, t->around + t->befores, t->befores, t->afters};
}
