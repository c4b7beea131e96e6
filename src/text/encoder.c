/* Text to ids. The text is cut at the added tokens that are looked for in it as it is; what lies
 * between is normalised and cut at those that are looked for in normalised text; what lies between
 * these is cut into pieces, and each piece is handed to the model. Pieces repeat (Zipf), so their
 * ids are kept: the model itself runs on a few per cent of them. */
#include "text/encoder.h"

#include <string.h>

#include "base/mem.h"
#include "base/threads.h"
#include "text/tokenizer_private.h"
#include "text/unicode.h"
#include "text/utf8_private.h"

/* Longer pieces, and those past the limit, are encoded each time. */
enum { CACHE_PIECES = 1 << 20, CACHE_BYTES = 64, CHECKED = 1 << 16 };

void cs_encoder_init(cs_encoder *e, const cs_tokenizer *tokenizer)
{
    *e = (cs_encoder){.tokenizer = tokenizer};
}

void cs_encoder_free(cs_encoder *e)
{
    cs_word_table_free(&e->pieces);
    cs_bpe_scratch_free(&e->bpe);
    cs_wordpiece_scratch_free(&e->wordpiece);
    cs_unigram_scratch_free(&e->unigram);
    cs_pieces_free(&e->normal);
    cs_pieces_free(&e->cut);
    cs_pieces_free(&e->spelling);
    CS_FREE_FIELDS(e, id, stored_start, stored);
    memset(e, 0, sizeof *e);
}

static cs_status append(cs_encoder *e, const int32_t *id, int64_t count)
{
    cs_status status = cs_reserve(&e->id, &e->capacity, e->count + count, sizeof *e->id);
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
        cs_reserve(&e->stored_start, &e->stored_start_capacity, words + 2, sizeof *e->stored_start);
    if (status == CS_OK)
        status = cs_reserve(&e->stored, &e->stored_capacity, used + count, sizeof *e->stored);
    if (status == CS_OK) status = cs_word_table_find(&e->pieces, piece, size, &w);
    if (status == CS_OK) {
        e->stored_start[w] = used;
        e->stored_start[w + 1] = used + count;
        for (int64_t i = 0; i < count; ++i) { /* none where a model leaves unknown characters out */
            e->stored[used + i] = id[i];
        }
    }
    return status;
}

/* The token of the model's vocabulary that a piece is, -1: none. */
static int32_t whole_token(const cs_tokenizer *t, const char *piece, int64_t size)
{
    const int32_t id = cs_word_table_get(&t->table, piece, size);
    return id >= 0 && t->table.count[id] > 0 ? id : -1;
}

static cs_status apply_bpe(cs_encoder *e, const char *piece, int64_t size)
{
    const cs_tokenizer *t = e->tokenizer;
    cs_pieces *p = &e->spelling;
    e->whole = -1;
    if (t->ignore_merges && t->spelled) {
        p->fresh = 0;
        cs_status status = cs_step_spell_bytes(piece, size, p);
        if (status != CS_OK) return status;
        e->whole = whole_token(t, p->made, p->fresh);
    } else if (t->ignore_merges) {
        e->whole = whole_token(t, piece, size);
    }
    if (e->whole >= 0) {
        return CS_OK;
    }
    return t->spelled ? cs_bpe_apply(&t->bpe, piece, size, &e->bpe)
                      : cs_bpe_apply_chars(&t->bpe, &t->bpe_start, &t->table, piece, size, &e->bpe);
}

/* The ids that the model gives a piece, where the model's memory has them. */
static cs_status apply_model(cs_encoder *e, const char *piece, int64_t size, const int32_t **id,
                             int64_t *count)
{
    const cs_tokenizer *t = e->tokenizer;
    cs_status status = CS_OK;
    switch (t->model) {
    case CS_TOKENS_WORD:
        e->whole = whole_token(t, piece, size);
        e->whole = e->whole < 0 ? t->unknown : e->whole;
        break;
    case CS_TOKENS_BPE:
        status = apply_bpe(e, piece, size);
        *id = e->bpe.token;
        *count = e->bpe.count;
        break;
    case CS_TOKENS_WORDPIECE:
        e->whole = -1;
        status = cs_wordpiece_apply(&t->wordpiece, &t->table, piece, size, &e->wordpiece);
        *id = e->wordpiece.token;
        *count = e->wordpiece.count;
        break;
    case CS_TOKENS_UNIGRAM:
        e->whole = -1;
        status = cs_unigram_apply(&t->unigram, &t->table, piece, size, &e->unigram);
        *id = e->unigram.token;
        *count = e->unigram.count;
        break;
    }
    if (e->whole >= 0) {
        *id = &e->whole;
        *count = 1;
    }
    return status;
}

static cs_status encode_piece(cs_encoder *e, const char *piece, int64_t size)
{
    const bool kept = size <= CACHE_BYTES && e->tokenizer->model != CS_TOKENS_WORD;
    const int32_t w = kept ? cs_word_table_get(&e->pieces, piece, size) : -1;
    if (w >= 0) {
        const int64_t first = e->stored_start[w];
        return append(e, e->stored + first, e->stored_start[w + 1] - first);
    }
    const int32_t *id = NULL;
    int64_t count = 0;
    cs_status status = apply_model(e, piece, size, &id, &count);
    if (status == CS_OK && kept && e->pieces.words < CACHE_PIECES)
        status = keep(e, piece, size, id, count);
    return status == CS_OK ? append(e, id, count) : status;
}

/* A piece of BPE by its parts: where a file has no pre-tokenizer they are what comes again. */
static cs_status encode_parts(cs_encoder *e, const char *piece, int64_t size)
{
    const cs_tokenizer *t = e->tokenizer;
    cs_status status = CS_OK;
    while (size > 0 && status == CS_OK) {
        const int64_t part =
            t->bpe_start.slot ? cs_bpe_part(&t->bpe_start, &t->table, piece, size) : size;
        status = encode_piece(e, piece, part);
        piece += part;
        size -= part;
    }
    return status;
}

/* --- a text without added tokens --- */

static cs_status encode_plain(cs_encoder *e, const char *text, int64_t size, bool lead)
{
    cs_pieces *p = &e->cut;
    cs_status status = cs_pieces_start(p, text, size, lead);
    if (status == CS_OK) status = cs_steps_run(&e->tokenizer->pre_tokenizer, p);
    for (int64_t i = 0; i < p->spans && status == CS_OK; ++i) {
        const cs_span piece = p->span[i];
        status = encode_parts(e, p->text + piece.from, piece.to - piece.from);
        if (status == CS_OK && i % CHECKED == 0) status = cs_interrupt_check();
    }
    return status;
}

/* --- added tokens --- */

/* The longest added token of one kind at text[at], NULL when there is none. */
static const cs_added_token *match(const cs_tokenizer *t, bool normalized, const char *at,
                                   int64_t size, int64_t *length)
{
    const int32_t index = cs_trie_longest(&t->find[normalized], at, size, length);
    return index < 0 ? NULL : &t->added[index];
}

/* Whether neither neighbour of text[from .. to-1] is a character of a word. */
static bool is_single(const char *text, int64_t size, int64_t from, int64_t to)
{
    const uint8_t *bytes = (const uint8_t *)text;
    int32_t before = ' ', after = ' ';
    if (from > 0) {
        (void)cs_char_at(cs_char_before(bytes, bytes + from), &before);
    }
    if (to < size) {
        (void)cs_char_at(bytes + to, &after);
    }
    return !cs_char_is_word(before) && !cs_char_is_word(after);
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

/* Encodes the text between added tokens; `lead`: it begins with the first character of the whole
 * input. */
typedef cs_status (*between)(cs_encoder *e, const char *text, int64_t size, bool lead);

/* Cuts a text at the added tokens of one kind: the next is looked for where the last one ended,
 * before the blanks that it takes. */
static cs_status cut_added(cs_encoder *e, bool normalized, const char *text, int64_t size,
                           bool lead, between encode)
{
    const cs_tokenizer *t = e->tokenizer;
    int64_t rest = 0;
    cs_status status = CS_OK;
    for (int64_t at = 0; at < size && status == CS_OK;) {
        int64_t length = 0;
        const cs_added_token *a = NULL;
        if (t->begins[normalized][(uint8_t)text[at]]) {
            a = match(t, normalized, text + at, size - at, &length);
        }
        if (!a || (a->single_word && !is_single(text, size, at, at + length))) {
            at += a ? length : 1;
            continue;
        }
        const int64_t stop = a->lstrip ? blanks_before(text, rest, at) : at;
        if (stop > rest) {
            status = encode(e, text + rest, stop - rest, lead && rest == 0);
        }
        if (status == CS_OK) status = append(e, &a->id, 1);
        at += length;
        rest = a->rstrip ? blanks_after(text, at, size) : at;
    }
    return status == CS_OK && size > rest ? encode(e, text + rest, size - rest, lead && rest == 0)
                                          : status;
}

static cs_status encode_normalised(cs_encoder *e, const char *text, int64_t size, bool lead)
{
    const cs_steps *steps = &e->tokenizer->normalizer;
    cs_pieces *p = &e->normal;
    if (steps->steps == 0) {
        return cut_added(e, true, text, size, lead, encode_plain);
    }
    cs_status status = cs_pieces_start(p, text, size, lead);
    if (status == CS_OK) status = cs_steps_run(steps, p);
    return status == CS_OK ? cut_added(e, true, p->text, p->size, p->lead, encode_plain) : status;
}

cs_status cs_encoder_encode(cs_encoder *e, const char *text, int64_t size, bool add_special)
{
    const cs_tokenizer *t = e->tokenizer;
    e->count = 0;
    cs_status status = cs_utf8_check(NULL, text, size);
    if (status == CS_OK && add_special) status = append(e, t->around, t->befores);
    if (status == CS_OK) status = cut_added(e, false, text, size, true, encode_normalised);
    if (status == CS_OK && add_special) status = append(e, t->around + t->befores, t->afters);
    return status;
}
