#include "train/texts.h"

#include <string.h>

#include "base/ints.h"
#include "base/mem.h"
#include "text/encoder.h"

/* Of a tokenizer that says nothing of it. */
static cs_status plain_form(const cs_tokenizer *t, bool begin, bool pair, cs_text_form *f)
{
    int32_t bos = cs_tokenizer_special(t, CS_TOKEN_BOS),
            eos = cs_tokenizer_special(t, CS_TOKEN_EOS);
    if (begin && bos < 0) {
        return cs_fail(
            CS_ERR_USAGE,
            "the tokenizer has no begin token, which a text needs; --bos-token names it");
    }
    if (pair && eos < 0) {
        return cs_fail(
            CS_ERR_USAGE,
            "the tokenizer has no end token to separate the texts of a pair; --eos-token names it");
    }
    if (begin) f->piece[f->count++] = (cs_text_piece){bos, 0};
    f->piece[f->count++] = (cs_text_piece){CS_TEXT_FIRST, 0};
    if (pair) {
        f->piece[f->count++] = (cs_text_piece){eos, 0};
        f->piece[f->count++] = (cs_text_piece){CS_TEXT_SECOND, 1};
    }
    return CS_OK;
}

cs_status cs_texts_form(const cs_tokenizer *t, bool special, bool begin, bool pair,
                        cs_text_form *out)
{
    *out = (cs_text_form){0};
    cs_status status = special ? cs_tokenizer_form(t, pair, out) : CS_OK;
    return status == CS_OK && out->count == 0 ? plain_form(t, begin, pair, out) : status;
}

typedef struct {
    cs_text_piece *piece;
    int64_t pieces, piece_capacity;
    int64_t specials; /* tokens around the texts */
    int64_t gap;      /* the piece that the place is; pieces: the last row */
    cs_encoder encoder;
    int32_t *id; /* of the current texts, one after the other */
    int64_t id_capacity, token_capacity, type_capacity;
} work;

static cs_status add_pieces(work *w, int64_t count, const cs_text_piece *piece)
{
    cs_status status =
        cs_reserve(&w->piece, &w->piece_capacity, w->pieces + count, sizeof *w->piece);
    for (int64_t i = 0; i < count && status == CS_OK; ++i) {
        w->piece[w->pieces++] = piece[i];
    }
    return status;
}

/* A template replaces a single text; a template that ends at the gap has nothing after it. */
static cs_status choose_form(const cs_tokenizer *t, const cs_texts_options *o, bool pair, work *w)
{
    const cs_cloze *cloze = o->cloze;
    const bool two = pair && !cloze, ends = cloze && cloze->gap < 0;
    bool ended = false;
    cs_text_form f;
    cs_status status = cs_texts_form(t, o->special, o->begin, two, &f);
    for (int64_t i = 0; i < f.count && !ended && status == CS_OK; ++i) {
        const bool here = cloze && f.piece[i].token == CS_TEXT_FIRST;
        const int64_t gap = w->pieces + (here ? cloze->gap : 0);
        status = here ? add_pieces(w, cloze->pieces, cloze->piece) : add_pieces(w, 1, &f.piece[i]);
        w->gap = here ? gap : w->gap;
        ended = here && ends;
    }
    w->gap = ends ? w->pieces : w->gap;
    for (int64_t i = 0; i < w->pieces; ++i) {
        w->specials += w->piece[i].token >= 0;
    }
    int64_t least = w->specials + (pair ? 2 : 1);
    return status == CS_OK && o->max_length < least
               ? cs_fail(CS_ERR_USAGE,
                         "length %lld is too short for %lld special tokens and a text",
                         (long long)o->max_length, (long long)w->specials)
               : status;
}

/* Lengths a and b cut to a sum of `capacity`: the longer one first. */
static void cut(int64_t capacity, int64_t *a, int64_t *b)
{
    int64_t *shorter = *a > *b ? b : a, *longer = *a > *b ? a : b;
    *shorter = cs_least(*shorter, capacity / 2);
    *longer = cs_least(*longer, capacity - *shorter);
}

/* Ids of a text behind the first `from`. */
static cs_status encode_one(work *w, const char *text, int64_t from, int64_t *count)
{
    const cs_encoder *e = &w->encoder;
    cs_status status = cs_encoder_encode(&w->encoder, text, (int64_t)strlen(text), false);
    if (status == CS_OK)
        status = cs_reserve(&w->id, &w->id_capacity, from + e->count, sizeof *w->id);
    if (status == CS_OK && e->count > 0) {
        memcpy(w->id + from, e->id, (size_t)e->count * sizeof *w->id);
        *count = e->count;
    }
    return status;
}

static cs_status add_text(work *w, const cs_labelled_text *text, int64_t i,
                          const cs_texts_options *o, cs_texts *out)
{
    int64_t a = 0, b = 0, at = out->start[i];
    cs_status status = encode_one(w, text->text[i], 0, &a);
    const int64_t behind = a;
    if (status == CS_OK && text->pair) status = encode_one(w, text->pair[i], behind, &b);
    if (status == CS_OK && a + b + w->specials == 0)
        status = cs_fail(CS_ERR_INPUT, "the text has no tokens");
    if (status != CS_OK) return cs_blame(status, "%s, example %lld", text->path, (long long)i + 1);
    if (a + b > o->max_length - w->specials) {
        cut(o->max_length - w->specials, &a, &b);
        ++out->truncated;
    }
    const int64_t need = at + a + b + w->specials;
    status = cs_reserve(&out->token, &w->token_capacity, need, sizeof *out->token);
    if (status == CS_OK)
        status = cs_reserve(&out->type, &w->type_capacity, need, sizeof *out->type);
    if (status != CS_OK) return status;
    for (int64_t p = 0; p < w->pieces; ++p) {
        const cs_text_piece *piece = &w->piece[p];
        const bool first = piece->token == CS_TEXT_FIRST, second = piece->token == CS_TEXT_SECOND;
        const int32_t *id = first ? w->id : second ? w->id + behind : &piece->token;
        if (out->place && p == w->gap) out->place[i] = (int32_t)(at - out->start[i]);
        for (int64_t n = first ? a : second ? b : 1; n > 0; --n) {
            out->token[at] = *id++;
            out->type[at++] = piece->type < o->token_types ? piece->type : 0;
        }
    }
    if (out->place && w->gap == w->pieces) out->place[i] = (int32_t)(at - out->start[i]) - 1;
    if (out->place && o->cloze->shifts && --out->place[i] < 0)
        return cs_fail(CS_ERR_USAGE,
                       "%s, example %lld: no token precedes the gap to predict it from", text->path,
                       (long long)i + 1);
    out->start[i + 1] = at;
    out->longest = cs_most(out->longest, at - out->start[i]);
    return CS_OK;
}

cs_status cs_texts_encode(const cs_labelled_text *text, const cs_tokenizer *tokenizer,
                          const cs_texts_options *options, cs_texts *out)
{
    cs_texts t = {.count = text->count, .classes = text->classes};
    work w = {0};
    cs_status status = choose_form(tokenizer, options, text->pair != NULL, &w);
    cs_encoder_init(&w.encoder, tokenizer);
    t.start = cs_calloc(text->count + 1, sizeof *t.start);
    t.value = cs_alloc(text->count, sizeof *t.value);
    t.place = options->cloze ? cs_alloc(text->count, sizeof *t.place) : NULL;
    if (status == CS_OK && (!t.start || !t.value || (options->cloze && !t.place)))
        status = CS_ERR_MEMORY;
    for (int64_t i = 0; i < text->count && status == CS_OK; ++i) {
        t.value[i] = text->value[i];
        status = add_text(&w, text, i, options, &t);
    }
    cs_encoder_free(&w.encoder);
    CS_FREE_FIELDS(&w, id, piece);
    return CS_DELIVER(status, out, t, cs_texts_free);
}

cs_status cs_texts_of_rows(const cs_corpus *corpus, const cs_labelled_text *labels, int32_t before,
                           cs_texts *out)
{
    const int64_t count = corpus->documents, tokens = corpus->tokens + count;
    cs_texts t = {.count = count,
                  .classes = labels->classes,
                  .real = corpus->real,
                  .corpus = corpus->vectors ? corpus : NULL,
                  .real_width = corpus->real_width,
                  .extra = corpus->extra,
                  .extra_width = corpus->extra_width};
    t.start = cs_calloc(count + 1, sizeof *t.start);
    t.token = cs_calloc(tokens, sizeof *t.token);
    t.type = cs_calloc(tokens, sizeof *t.type);
    t.value = cs_alloc(count, sizeof *t.value);
    cs_status status = t.start && t.token && t.type && t.value ? CS_OK : CS_ERR_MEMORY;
    for (int64_t d = 0; d < count && status == CS_OK; ++d) {
        const int64_t length = corpus->doc_ptr[d + 1] - corpus->doc_ptr[d];
        t.token[t.start[d]] = before;
        memcpy(t.token + t.start[d] + 1, corpus->token + corpus->doc_ptr[d],
               (size_t)length * sizeof *t.token);
        t.start[d + 1] = t.start[d] + 1 + length;
        t.longest = cs_most(t.longest, 1 + length);
        t.value[d] = labels->value[d];
    }
    return CS_DELIVER(status, out, t, cs_texts_free);
}

void cs_texts_free(cs_texts *texts)
{
    CS_FREE_FIELDS(texts, start, token, type, place, span, value);
    *texts = (cs_texts){0};
}
