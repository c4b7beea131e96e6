/* Text to ids. The text is cut at added tokens (twice: first at those that are looked for in the
 * text as it is, then, in what is left, at those that are looked for in normalised text), what
 * lies between is cut into pieces, and each piece is handed to the model. Pieces repeat (Zipf), so
 * their ids are kept: the model itself runs on a few per cent of them. */
#include "text/encoder.h"

#include <string.h>

#include "base/mem.h"
#include "text/tokenizer_private.h"
#include "text/unicode.h"
#include "text/utf8_private.h"

/* Longer pieces, and those past the limit, are encoded each time. */
enum { CACHE_PIECES = 1 << 20, CACHE_BYTES = 64 };

void cs_encoder_init(cs_encoder *e, const cs_tokenizer *tokenizer)
{
    *e = (cs_encoder){.tokenizer = tokenizer, .splitter = {.kind = tokenizer->splitter}};
}

void cs_encoder_free(cs_encoder *e)
{
    cs_word_table_free(&e->pieces);
    cs_bpe_scratch_free(&e->bpe);
    cs_wordpiece_scratch_free(&e->wordpiece);
    cs_bert_text_free(&e->normal);
    cs_splitter_free(&e->splitter);
    cs_free(e->id);
    cs_free(e->stored_start);
    cs_free(e->stored);
    cs_free(e->spaced);
    memset(e, 0, sizeof *e);
}

static cs_status append(cs_encoder *e, const int32_t *id, int64_t count)
{
    cs_status status = cs_reserve(&e->id, &e->room, e->count + count, sizeof *e->id);
    if (status == CS_OK && count > 0) {
        memcpy(e->id + e->count, id, (size_t)count * sizeof *id);
        e->count += count;
    }
    return status;
}

/* --- one piece --- */

/* Keeps the ids of a new piece. The arrays grow first, so that a failure leaves them in step. */
static cs_status keep(cs_encoder *e, const char *piece, int64_t size, const int32_t *id,
                      int64_t count)
{
    int64_t words = e->pieces.words, used = words > 0 ? e->stored_start[words] : 0;
    int32_t w = 0;
    cs_status status =
        cs_reserve(&e->stored_start, &e->stored_start_room, words + 2, sizeof *e->stored_start);
    if (status == CS_OK)
        status = cs_reserve(&e->stored, &e->stored_room, used + count, sizeof *e->stored);
    if (status == CS_OK) status = cs_word_table_find(&e->pieces, piece, size, &w);
    if (status == CS_OK) {
        e->stored_start[w] = used;
        e->stored_start[w + 1] = used + count;
        memcpy(e->stored + used, id, (size_t)count * sizeof *id);
    }
    return status;
}

static cs_status encode_piece(cs_encoder *e, const char *piece, int64_t size)
{
    const cs_tokenizer *t = e->tokenizer;
    int32_t w = size <= CACHE_BYTES ? cs_word_table_get(&e->pieces, piece, size) : -1;
    if (w >= 0) {
        int64_t first = e->stored_start[w];
        return append(e, e->stored + first, e->stored_start[w + 1] - first);
    }
    const int32_t *id = NULL;
    int64_t count = 0;
    cs_status status;
    if (t->model == CS_TOKENS_BPE) {
        status = cs_bpe_apply(&t->bpe, piece, size, &e->bpe);
        id = e->bpe.token;
        count = e->bpe.count;
    } else {
        status = cs_wordpiece_apply(&t->wordpiece, &t->table, piece, size, &e->wordpiece);
        id = e->wordpiece.token;
        count = e->wordpiece.count;
    }
    if (status == CS_OK && size <= CACHE_BYTES && e->pieces.words < CACHE_PIECES)
        status = keep(e, piece, size, id, count);
    return status == CS_OK ? append(e, id, count) : status;
}

/* --- a text without added tokens --- */

static cs_status encode_words(cs_encoder *e, const char *text, int64_t size)
{
    const cs_tokenizer *t = e->tokenizer;
    cs_splitter_start(&e->splitter, text, size);
    for (;;) {
        bool found = false;
        cs_status status = cs_splitter_next(&e->splitter, &found);
        if (status != CS_OK || !found) return status;
        int32_t id = cs_word_table_get(&t->table, e->splitter.token, e->splitter.size);
        if (id < 0 || t->table.count[id] == 0) { /* an added token is no word */
            id = t->unknown;
        }
        status = append(e, &id, 1);
        if (status != CS_OK) return status;
    }
}

static cs_status encode_bytes(cs_encoder *e, const char *text, int64_t size)
{
    const cs_tokenizer *t = e->tokenizer;
    cs_status status = CS_OK;
    if (t->add_prefix_space && text[0] != ' ') {
        status = cs_reserve(&e->spaced, &e->spaced_room, size + 1, 1);
        if (status != CS_OK) return status;
        e->spaced[0] = ' ';
        memcpy(e->spaced + 1, text, (size_t)size);
        text = e->spaced;
        size += 1;
    }
    const char *end = text + size;
    while (text < end && status == CS_OK) {
        int64_t piece =
            t->use_regex ? cs_gpt2_piece((const uint8_t *)text, (const uint8_t *)end) : size;
        status = encode_piece(e, text, piece);
        text += piece;
    }
    return status;
}

static cs_status encode_bert(cs_encoder *e, const char *text, int64_t size)
{
    const cs_tokenizer *t = e->tokenizer;
    cs_status status = CS_OK;
    if (t->normalise) {
        status = cs_bert_normalise(&t->bert, text, size, &e->normal);
        text = e->normal.text;
        size = e->normal.size;
    }
    const uint8_t *at = (const uint8_t *)text, *end = at + size;
    while (status == CS_OK) {
        int64_t piece = cs_bert_piece(&at, end);
        if (piece == 0) {
            break;
        }
        status = encode_piece(e, (const char *)at - piece, piece);
    }
    return status;
}

static cs_status encode_plain(cs_encoder *e, const char *text, int64_t size)
{
    if (size == 0) {
        return CS_OK;
    }
    switch (e->tokenizer->model) {
    case CS_TOKENS_WORD:
        return encode_words(e, text, size);
    case CS_TOKENS_BPE:
        return encode_bytes(e, text, size);
    default:
        return encode_bert(e, text, size);
    }
}

/* --- added tokens --- */

/* The longest added token of one kind at text[at], NULL when there is none. */
static const cs_added_token *match(const cs_tokenizer *t, bool normalized, const char *at,
                                   int64_t size, int64_t *length)
{
    const cs_added_token *best = NULL;
    for (int64_t i = 0; i < t->addeds; ++i) {
        const cs_added_token *a = &t->added[i];
        const int64_t *start = t->table.start + a->id;
        int64_t own = start[1] - start[0];
        if (a->normalized == normalized && own <= size && (!best || own > *length) &&
            memcmp(t->table.text + start[0], at, (size_t)own) == 0) {
            best = a;
            *length = own;
        }
    }
    return best;
}

static int64_t blanks_before(const char *text, int64_t from, int64_t at)
{
    while (at > from) {
        int32_t c = 0;
        const uint8_t *p = cs_char_before((const uint8_t *)text + from, (const uint8_t *)text + at);
        (void)cs_char_at(p, &c);
        if (!cs_char_is_space(c)) {
            break;
        }
        at = p - (const uint8_t *)text;
    }
    return at;
}

static int64_t blanks_after(const char *text, int64_t at, int64_t size)
{
    while (at < size) {
        int32_t c = 0;
        int length = cs_char_at((const uint8_t *)text + at, &c);
        if (!cs_char_is_space(c)) {
            break;
        }
        at += length;
    }
    return at;
}

/* Cuts at the added tokens of one kind; what lies between goes to the next kind, then to the
 * model: calls itself twice at most.
 * NOLINTBEGIN(misc-no-recursion) */
static cs_status encode_between(cs_encoder *e, int kind, const char *text, int64_t size)
{
    const cs_tokenizer *t = e->tokenizer;
    if (kind == 2) {
        return encode_plain(e, text, size);
    }
    int64_t rest = 0;
    cs_status status = CS_OK;
    for (int64_t at = 0; at < size && status == CS_OK;) {
        int64_t length = 0;
        const cs_added_token *a = NULL;
        if (t->begins[kind][(uint8_t)text[at]]) {
            a = match(t, kind == 1, text + at, size - at, &length);
        }
        if (!a) {
            at += 1;
            continue;
        }
        int64_t stop = a->lstrip ? blanks_before(text, rest, at) : at;
        status = encode_between(e, kind + 1, text + rest, stop - rest);
        if (status == CS_OK) status = append(e, &a->id, 1);
        at = a->rstrip ? blanks_after(text, at + length, size) : at + length;
        rest = at;
    }
    return status == CS_OK ? encode_between(e, kind + 1, text + rest, size - rest) : status;
}
/* NOLINTEND(misc-no-recursion) */

cs_status cs_encoder_encode(cs_encoder *e, const char *text, int64_t size, bool add_special)
{
    const cs_tokenizer *t = e->tokenizer;
    e->count = 0;
    cs_status status = cs_utf8_check(NULL, text, size);
    if (status == CS_OK && add_special) status = append(e, t->around, t->befores);
    if (status == CS_OK) status = encode_between(e, 0, text, size);
    if (status == CS_OK && add_special) status = append(e, t->around + t->befores, t->afters);
    return status;
}
