/* Post-processors: which ids are added around a text. They are kept as JSON, so that writing loses
 * nothing; the form of a pair is read (tokenizer_pair.c) when it is needed. */
#include <string.h>

#include "base/mem.h"
#include "text/tokenizer_private.h"

typedef struct {
    int32_t **id;
    int64_t *count;
} id_list;

static cs_status put(void *to, int64_t id)
{
    const id_list *list = to;
    int32_t *more = cs_realloc(*list->id, *list->count + 1, sizeof *more);
    if (!more) return CS_ERR_MEMORY;
    more[(*list->count)++] = (int32_t)id;
    *list->id = more;
    return CS_OK;
}

static cs_status check_id(const cs_tokenizer *t, const char *field, const json_t *id)
{
    if (!json_is_integer(id) || json_integer_value(id) < 0 ||
        json_integer_value(id) >= t->table.words) {
        return cs_fail(CS_ERR_INPUT, "post_processor.%s: wanted a token id in 0..%lld", field,
                       (long long)t->table.words - 1);
    }
    return CS_OK;
}

/* ["</s>", 2] */
static cs_status put_named(cs_tokenizer *t, const json_t *post, const char *field, id_list list)
{
    const json_t *id = json_array_get(json_object_get(post, field), 1);
    cs_status status = check_id(t, field, id);
    return status == CS_OK ? put(&list, json_integer_value(id)) : status;
}

cs_status cs_tokenizer_special_ids(const cs_tokenizer *t, const json_t *post, const char *name,
                                   cs_status (*take)(void *to, int64_t id), void *to)
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
        if (status == CS_OK) status = take(to, json_integer_value(id));
    }
    return status;
}

static cs_status take_template(cs_tokenizer *t, const json_t *post)
{
    const json_t *single = json_object_get(post, "single");
    id_list before = {&t->before, &t->befores}, after = {&t->after, &t->afters}, *list = &before;
    cs_status status = CS_OK;
    if (!json_is_array(single)) {
        return cs_fail(CS_ERR_INPUT, "post_processor.single: wanted a list");
    }
    for (size_t i = 0; i < json_array_size(single) && status == CS_OK; ++i) {
        const json_t *piece = json_array_get(single, i);
        const json_t *token = json_object_get(piece, "SpecialToken");
        if (token) {
            const char *name = json_string_value(json_object_get(token, "id"));
            status = cs_tokenizer_special_ids(t, post, name, put, list);
        } else if (json_object_get(piece, "Sequence") && list == &before) {
            list = &after;
        } else {
            return cs_fail(CS_ERR_INPUT,
                           "post_processor.single[%d]: wanted a SpecialToken or one Sequence",
                           (int)i);
        }
    }
    return status;
}

static cs_status take(cs_tokenizer *t, const json_t *post)
{
    const char *type = json_string_value(json_object_get(post, "type"));
    cs_status status = CS_OK;
    if (!type) {
        return cs_fail(CS_ERR_INPUT, "post_processor.type: wanted a text");
    }
    if (strcmp(type, "ByteLevel") == 0) { /* offsets only */
        return CS_OK;
    }
    if (strcmp(type, "TemplateProcessing") == 0) {
        return take_template(t, post);
    }
    if (strcmp(type, "RobertaProcessing") == 0 || strcmp(type, "BertProcessing") == 0) {
        status = put_named(t, post, "cls", (id_list){&t->before, &t->befores});
        return status == CS_OK ? put_named(t, post, "sep", (id_list){&t->after, &t->afters})
                               : status;
    }
    return cs_fail(CS_ERR_INPUT,
                   "post_processor.type: \"%s\" is not supported (TemplateProcessing, "
                   "RobertaProcessing, BertProcessing, ByteLevel, or a Sequence in which one "
                   "adds tokens)",
                   type);
}

cs_status cs_tokenizer_take_post(cs_tokenizer *t)
{
    const char *type = json_string_value(json_object_get(t->post, "type"));
    const json_t *inner = json_object_get(t->post, "processors");
    cs_status status = CS_OK;
    if (!t->post) {
        return CS_OK;
    }
    if (!type || strcmp(type, "Sequence") != 0) {
        return take(t, t->post);
    }
    if (!json_is_array(inner)) {
        return cs_fail(CS_ERR_INPUT, "post_processor.processors: wanted a list");
    }
    for (size_t i = 0; i < json_array_size(inner) && status == CS_OK; ++i) {
        int64_t before = t->befores + t->afters;
        status = take(t, json_array_get(inner, i));
        if (status == CS_OK && before > 0 && t->befores + t->afters > before)
            status =
                cs_fail(CS_ERR_INPUT,
                        "post_processor.processors[%d]: a second one that adds tokens", (int)i);
    }
    return status;
}

cs_status cs_tokenizer_surround(cs_tokenizer *t, int32_t before, int32_t after)
{
    const char *b = cs_tokenizer_token(t, before), *a = cs_tokenizer_token(t, after);
    t->post = json_pack(
        "{s:s, s:[{s:{s:s, s:i}}, {s:{s:s, s:i}}, {s:{s:s, s:i}}],"
        " s:[{s:{s:s, s:i}}, {s:{s:s, s:i}}, {s:{s:s, s:i}}, {s:{s:s, s:i}}, {s:{s:s, s:i}}],"
        " s:{s:{s:s, s:[i], s:[s]}, s:{s:s, s:[i], s:[s]}}}",
        "type", "TemplateProcessing", "single", "SpecialToken", "id", b, "type_id", 0, "Sequence",
        "id", "A", "type_id", 0, "SpecialToken", "id", a, "type_id", 0, "pair", "SpecialToken",
        "id", b, "type_id", 0, "Sequence", "id", "A", "type_id", 0, "SpecialToken", "id", a,
        "type_id", 0, "Sequence", "id", "B", "type_id", 1, "SpecialToken", "id", a, "type_id", 1,
        "special_tokens", b, "id", b, "ids", before, "tokens", b, a, "id", a, "ids", after,
        "tokens", a);
    return t->post ? cs_tokenizer_take_post(t)
                   : cs_fail(CS_ERR_MEMORY, "out of memory for the post-processor");
}

void cs_tokenizer_drop_post(cs_tokenizer *t)
{
    if (t->befores + t->afters == 0) {
        return;
    }
    json_decref(t->post);
    cs_free(t->before);
    cs_free(t->after);
    t->post = NULL;
    t->before = NULL;
    t->after = NULL;
    t->befores = 0;
    t->afters = 0;
}

cs_around cs_tokenizer_around(const cs_tokenizer *t)
{
    return (cs_around){t->before, t->after, t->befores, t->afters};
}
