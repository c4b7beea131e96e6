/* What the post-processor puts around and between two texts. */
#include <string.h>

#include "text/tokenizer_private.h"

typedef struct {
    cs_pair_piece *piece;
    int64_t count, type; /* type: of the special token at hand */
} form;

static cs_status put(form *f, int64_t token, int64_t type)
{
    if (f->count == CS_PAIR_PIECES) {
        return cs_fail(CS_ERR_INPUT, "post_processor.pair: more than %d pieces", CS_PAIR_PIECES);
    }
    f->piece[f->count++] = (cs_pair_piece){(int32_t)token, (int32_t)type};
    return CS_OK;
}

static cs_status put_special(void *to, int64_t token)
{
    form *f = to;
    return put(f, token, f->type);
}

static cs_status take_template(const cs_tokenizer *t, const json_t *post, form *f)
{
    const json_t *pair = json_object_get(post, "pair");
    cs_status status = CS_OK;
    for (size_t i = 0; i < json_array_size(pair) && status == CS_OK; ++i) {
        const json_t *piece = json_array_get(pair, i);
        const json_t *token = json_object_get(piece, "SpecialToken"),
                     *text = json_object_get(piece, "Sequence");
        const char *id = json_string_value(json_object_get(token ? token : text, "id"));
        int64_t type = json_integer_value(json_object_get(token ? token : text, "type_id"));
        if (type < 0 || type > 1) {
            status = cs_fail(CS_ERR_INPUT, "post_processor.pair[%d].type_id: %lld is not 0 or 1",
                             (int)i, (long long)type);
        } else if (token) {
            f->type = type;
            status = cs_tokenizer_special_ids(t, post, id, put_special, f);
        } else if (id && (strcmp(id, "A") == 0 || strcmp(id, "B") == 0)) {
            status = put(f, *id == 'A' ? CS_PAIR_FIRST : CS_PAIR_SECOND, type);
        } else {
            status = cs_fail(CS_ERR_INPUT,
                             "post_processor.pair[%d]: wanted a SpecialToken, or Sequence A or B",
                             (int)i);
        }
    }
    return status;
}

/* [CLS] A [SEP] B [SEP] with types 0 and 1; <s> A </s></s> B </s>. The ids were checked when the
 * tokenizer was read. */
static cs_status take_named(const cs_tokenizer *t, bool bert, form *f)
{
    int64_t cls = t->before[0], sep = t->after[0];
    const cs_pair_piece piece[] = {{(int32_t)cls, 0}, {CS_PAIR_FIRST, 0},     {(int32_t)sep, 0},
                                   {(int32_t)sep, 0}, {CS_PAIR_SECOND, bert}, {(int32_t)sep, bert}};
    cs_status status = CS_OK;
    for (int i = 0; i < 6 && status == CS_OK; ++i) {
        if (!(bert && i == 3)) {
            status = put(f, piece[i].token, piece[i].type);
        }
    }
    return status;
}

static cs_status check(const form *f)
{
    int first = 0, second = 0;
    for (int64_t i = 0; i < f->count; ++i) {
        first += f->piece[i].token == CS_PAIR_FIRST;
        second += f->piece[i].token == CS_PAIR_SECOND;
    }
    return first == 1 && second == 1
               ? CS_OK
               : cs_fail(CS_ERR_INPUT,
                         "post_processor.pair: wanted one Sequence A and one Sequence B");
}

/* The one that adds tokens: `post` itself or one of a Sequence. */
static const json_t *adder(const json_t *post)
{
    const json_t *inner = json_object_get(post, "processors");
    for (size_t i = 0; i < json_array_size(inner); ++i) {
        const json_t *one = json_array_get(inner, i);
        const char *type = json_string_value(json_object_get(one, "type"));
        if (type && strcmp(type, "ByteLevel") != 0) {
            return one;
        }
    }
    return post;
}

cs_status cs_tokenizer_pair(const cs_tokenizer *t, cs_pair_piece piece[CS_PAIR_PIECES],
                            int64_t *count)
{
    form f = {.piece = piece};
    const json_t *post = adder(t->post);
    const char *type = json_string_value(json_object_get(post, "type"));
    cs_status status = CS_OK;
    *count = 0;
    if (t->befores + t->afters == 0 || !type) {
        return CS_OK;
    }
    if (strcmp(type, "TemplateProcessing") == 0) {
        status = take_template(t, post, &f);
    } else {
        status = take_named(t, strcmp(type, "BertProcessing") == 0, &f);
    }
    if (status == CS_OK) status = check(&f);
    *count = status == CS_OK ? f.count : 0;
    return status;
}
