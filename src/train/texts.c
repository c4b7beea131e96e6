#include "train/texts.h"

#include <assert.h>
#include <string.h>

#include "base/mem.h"
#include "text/encoder.h"

/* What stands around the texts. */
typedef struct {
    cs_pair_piece piece[CS_PAIR_PIECES];
    int64_t count, specials;
} form;

static cs_status put(form *f, int32_t token, int32_t type)
{
    if (f->count == CS_PAIR_PIECES) {
        return cs_fail(CS_ERR_USAGE, "more than %d tokens around a text", CS_PAIR_PIECES);
    }
    f->piece[f->count++] = (cs_pair_piece){token, type};
    return CS_OK;
}

static cs_status single_form(const cs_tokenizer *t, form *f)
{
    const cs_around around = cs_tokenizer_around(t);
    cs_status status = CS_OK;
    for (int64_t i = 0; i < around.befores && status == CS_OK; ++i) {
        status = put(f, around.before[i], 0);
    }
    if (status == CS_OK) status = put(f, CS_PAIR_FIRST, 0);
    for (int64_t i = 0; i < around.afters && status == CS_OK; ++i) {
        status = put(f, around.after[i], 0);
    }
    return status;
}

/* Of a tokenizer that says nothing of it. */
static cs_status plain_form(const cs_tokenizer *t, bool begin, bool pair, form *f)
{
    int32_t bos = cs_tokenizer_special(t, CS_TOKEN_BOS),
            eos = cs_tokenizer_special(t, CS_TOKEN_EOS);
    f->count = 0;
    if (begin && bos < 0) {
        return cs_fail(CS_ERR_USAGE, "the tokenizer has no begin token to read a text from");
    }
    if (pair && eos < 0) {
        return cs_fail(CS_ERR_USAGE, "the tokenizer has no end token to part the texts of a pair");
    }
    cs_status status = begin ? put(f, bos, 0) : CS_OK;
    if (status == CS_OK && (status = put(f, CS_PAIR_FIRST, 0)) == CS_OK && pair &&
        (status = put(f, eos, 0)) == CS_OK) {
        status = put(f, CS_PAIR_SECOND, 1);
    }
    return status;
}

static cs_status choose_form(const cs_tokenizer *t, const cs_texts_options *o, bool pair, form *f)
{
    cs_status status = CS_OK;
    if (o->special) {
        status = pair ? cs_tokenizer_pair(t, f->piece, &f->count) : single_form(t, f);
    }
    if (status == CS_OK && f->count <= (pair ? 0 : 1)) status = plain_form(t, o->begin, pair, f);
    for (int64_t i = 0; i < f->count; ++i) {
        f->specials += f->piece[i].token >= 0;
    }
    int64_t least = f->specials + (pair ? 2 : 1);
    return status == CS_OK && o->max_length < least
               ? cs_fail(CS_ERR_USAGE, "a length of %lld leaves no room beside %lld special tokens",
                         (long long)o->max_length, (long long)f->specials)
               : status;
}

/* Lengths a and b cut to a sum of `room`: the longer one first. */
static void cut(int64_t room, int64_t *a, int64_t *b)
{
    int64_t *shorter = *a > *b ? b : a, *longer = *a > *b ? a : b;
    int64_t half = room / 2;
    *shorter = *shorter < half ? *shorter : half;
    *longer = *longer < room - *shorter ? *longer : room - *shorter;
}

typedef struct {
    form form;
    cs_encoder encoder;
    int32_t *first, *second; /* ids of the texts at hand */
    int64_t first_room, second_room, room;
} work;

static cs_status grow(int32_t **array, int64_t *room, int64_t count)
{
    if (count <= *room) {
        return CS_OK;
    }
    int64_t more = *room * 2 > count ? *room * 2 : count;
    int32_t *grown = cs_realloc(*array, more, sizeof *grown);
    if (!grown) return CS_ERR_MEMORY;
    *array = grown;
    *room = more;
    return CS_OK;
}

static cs_status encode_one(work *w, const char *text, int32_t **ids, int64_t *room, int64_t *count)
{
    cs_status status = cs_encoder_encode(&w->encoder, text, (int64_t)strlen(text), false);
    if (status == CS_OK && (status = grow(ids, room, w->encoder.count)) == CS_OK) {
        *count = w->encoder.count;
        if (*count > 0) {
            memcpy(*ids, w->encoder.id, (size_t)*count * sizeof **ids);
        }
    }
    return status;
}

static void append(cs_texts *out, int64_t *at, const int32_t *ids, int64_t count, int32_t type)
{
    assert(out->token && out->type); /* room was made */
    for (int64_t i = 0; i < count; ++i) {
        out->token[*at] = ids[i];
        out->type[(*at)++] = type;
    }
}

static cs_status add(work *w, const cs_labelled_text *text, int64_t i, const cs_texts_options *o,
                     cs_texts *out)
{
    int64_t a = 0, b = 0, at = out->start[i], rooms = w->room;
    cs_status status = encode_one(w, text->text[i], &w->first, &w->first_room, &a);
    if (status == CS_OK && text->pair)
        status = encode_one(w, text->pair[i], &w->second, &w->second_room, &b);
    if (status == CS_OK && a + b + w->form.specials == 0)
        status = cs_fail(CS_ERR_INPUT, "a text without a token");
    if (status != CS_OK) {
        return cs_blame(status, "%s, example %lld", text->path, (long long)i + 1);
    }
    if (a + b > o->max_length - w->form.specials) {
        cut(o->max_length - w->form.specials, &a, &b);
        ++out->truncated;
    }
    int64_t need = at + a + b + w->form.specials;
    if ((status = grow(&out->token, &rooms, need)) != CS_OK ||
        (status = grow(&out->type, &w->room, need)) != CS_OK) {
        return status;
    }
    for (int64_t p = 0; p < w->form.count; ++p) {
        cs_pair_piece piece = w->form.piece[p];
        int32_t type = piece.type < o->token_types ? piece.type : 0;
        bool first = piece.token == CS_PAIR_FIRST, second = piece.token == CS_PAIR_SECOND;
        append(out, &at,
               first    ? w->first
               : second ? w->second
                        : &piece.token,
               first    ? a
               : second ? b
                        : 1,
               type);
    }
    out->start[i + 1] = at;
    int64_t length = at - out->start[i];
    out->longest = length > out->longest ? length : out->longest;
    return CS_OK;
}

cs_status cs_texts_encode(const cs_labelled_text *text, const cs_tokenizer *tokenizer,
                          const cs_texts_options *options, cs_texts *out)
{
    cs_texts t = {.count = text->count, .classes = text->classes};
    work w = {0};
    cs_status status = choose_form(tokenizer, options, text->pair != NULL, &w.form);
    cs_encoder_init(&w.encoder, tokenizer);
    t.start = cs_calloc(text->count + 1, sizeof *t.start);
    t.value = cs_alloc(text->count, sizeof *t.value);
    if (status == CS_OK && (!t.start || !t.value)) status = CS_ERR_MEMORY;
    for (int64_t i = 0; i < text->count && status == CS_OK; ++i) {
        t.value[i] = text->value[i];
        status = add(&w, text, i, options, &t);
    }
    cs_encoder_free(&w.encoder);
    cs_free(w.first);
    cs_free(w.second);
    if (status != CS_OK) {
        cs_texts_free(&t);
        return status;
    }
    *out = t;
    return CS_OK;
}

void cs_texts_free(cs_texts *texts)
{
    cs_free(texts->start);
    cs_free(texts->token);
    cs_free(texts->type);
    cs_free(texts->value);
    *texts = (cs_texts){0};
}
