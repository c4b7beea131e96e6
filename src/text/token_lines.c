/* One pass over the lines; the encoder's memory serves all of them. */
#include "text/token_lines.h"

#include <string.h>

#include "base/auto.h"
#include "base/mem.h"
#include "base/threads.h"
#include "io/number.h"
#include "text/encoder.h"
#include "text/unicode.h"

/* Called with one line without its end. */
typedef cs_status (*line_fn)(void *ctx, const cs_token_lines *j, const char *line, int64_t size);

static cs_status each_line(const cs_token_lines *j, line_fn fn, void *ctx)
{
    const char *at = j->bytes, *end = j->bytes + j->size;
    cs_status status = CS_OK;
    for (int64_t number = 1; at < end && status == CS_OK; ++number) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        status = fn(ctx, j, at, (stop ? stop : end) - at);
        if (status == CS_ERR_INPUT) return cs_blame(status, "%s:%lld", j->name, (long long)number);
        if (status == CS_OK) status = cs_interrupt_check();
        at = stop ? stop + 1 : end;
    }
    return status;
}

static cs_status append_json(json_t *list, json_t *item)
{
    return json_array_append_new(list, item) == 0
               ? CS_OK
               : cs_fail(CS_ERR_MEMORY, "out of memory for JSON");
}

typedef struct {
    cs_encoder encoder;
    bool special;
} encoding;

static cs_status encode_line(void *ctx, const cs_token_lines *j, const char *line, int64_t size)
{
    encoding *with = ctx;
    cs_encoder *e = &with->encoder;
    cs_status status = cs_encoder_encode(e, line, size, with->special);
    if (status != CS_OK) return status;
    for (int64_t i = 0; i < e->count; ++i) {
        (void)fprintf(j->text, i > 0 ? " %d" : "%d", e->id[i]);
    }
    (void)fputc('\n', j->text);
    if (!j->list) {
        return CS_OK;
    }
    json_t *ids = json_array(), *tokens = json_array();
    for (int64_t i = 0; i < e->count && status == CS_OK; ++i) {
        status = append_json(ids, json_integer(e->id[i]));
        if (status == CS_OK)
            status = append_json(tokens, json_string(cs_tokenizer_token(e->tokenizer, e->id[i])));
    }
    json_t *item = json_pack("{s:o, s:o}", "ids", ids, "tokens", tokens); /* takes both over */
    return status == CS_OK ? append_json(j->list, item) : (json_decref(item), status);
}

typedef struct {
    const cs_tokenizer *tokenizer;
    bool plain;
    int32_t *id;
    int64_t capacity;
} decoder;

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* The ids of a line, separated by blanks; a CR at its end is passed over. */
static cs_status read_ids(decoder *d, const char *line, int64_t size, int64_t *count)
{
    const char *at = line, *end = line + size;
    *count = 0;
    for (;;) {
        while (at < end && is_blank(*at)) {
            at += 1;
        }
        if (at == end) {
            return CS_OK;
        }
        const char *start = at;
        while (at < end && !is_blank(*at)) {
            at += 1;
        }
        char word[24];
        int64_t id = 0, length = at - start;
        (void)snprintf(word, sizeof word, "%.*s", (int)(length < 23 ? length : 23), start);
        cs_status status = cs_reserve(&d->id, &d->capacity, *count + 1, sizeof *d->id);
        if (status != CS_OK) return status;
        status = cs_int_parse(word, &id);
        if (status != CS_OK || id < INT32_MIN || id > INT32_MAX) {
            cs_reason_clear();
            return cs_fail(CS_ERR_INPUT, "\"%s\" at index %lld is not a token id", word,
                           (long long)*count);
        }
        d->id[(*count)++] = (int32_t)id;
    }
}

static cs_status decode_line(void *ctx, const cs_token_lines *j, const char *line, int64_t size)
{
    decoder *d = ctx;
    int64_t count = 0, length = 0;
    CS_AUTO_FREE char *text = NULL;
    cs_status status = read_ids(d, line, size, &count);
    if (status == CS_OK)
        status = cs_tokenizer_decode(d->tokenizer, d->id, count, d->plain, &text, &length);
    if (status == CS_OK) {
        (void)fwrite(text, 1, (size_t)length, j->text);
        (void)fputc('\n', j->text);
    }
    if (status == CS_OK && j->list)
        status = append_json(j->list, json_stringn(text, (size_t)length));
    return status;
}

cs_status cs_encode_lines(const cs_tokenizer *tokenizer, bool special, const cs_token_lines *lines)
{
    encoding e = {.special = special};
    cs_encoder_init(&e.encoder, tokenizer);
    cs_status status = each_line(lines, encode_line, &e);
    cs_encoder_free(&e.encoder);
    return status;
}

cs_status cs_decode_lines(const cs_tokenizer *tokenizer, bool plain, const cs_token_lines *lines)
{
    decoder d = {.tokenizer = tokenizer, .plain = plain};
    cs_status status = each_line(lines, decode_line, &d);
    cs_free(d.id);
    return status;
}

/* --- counts ------------------------------------------------------------------------------------ */

typedef struct {
    cs_encoder encoder;
    uint8_t *seen; /* ids */
    cs_token_counts *counts;
} counting;

static cs_status count_document(void *to, const char *text, int64_t size)
{
    counting *with = to;
    cs_token_counts *c = with->counts;
    bool inside = false;
    for (const uint8_t *at = (const uint8_t *)text, *end = at + size; at < end;) {
        int32_t point = 0;
        at += cs_char_at(at, &point);
        bool space = cs_char_is_space(point);
        c->words += !space && !inside;
        inside = !space;
    }
    c->bytes += size;
    cs_status status = cs_encoder_encode(&with->encoder, text, size, false);
    if (status != CS_OK) return status;
    int32_t unknown = cs_tokenizer_special(with->encoder.tokenizer, CS_TOKEN_UNK);
    for (int64_t i = 0; i < with->encoder.count; ++i) {
        int32_t id = with->encoder.id[i];
        c->unknown += id == unknown;
        c->used += !with->seen[id];
        with->seen[id] = 1;
    }
    c->tokens += with->encoder.count;
    return CS_OK;
}

cs_status cs_token_counts_of(const cs_tokenizer *t, const cs_text_source *source,
                             cs_token_counts *out)
{
    *out = (cs_token_counts){.vocabulary = cs_tokenizer_vocab(t)};
    counting with = {.seen = cs_calloc(out->vocabulary, 1), .counts = out};
    cs_encoder_init(&with.encoder, t);
    cs_status status =
        with.seen ? source->each(source->from, count_document, &with) : CS_ERR_MEMORY;
    cs_encoder_free(&with.encoder);
    cs_free(with.seen);
    return status;
}

static double share(int64_t part, int64_t whole)
{
    return whole > 0 ? (double)part / (double)whole : 0.0;
}

void cs_token_counts_record(const cs_token_counts *c, cs_item *root)
{
    CS_ITEM_FIELDS(root, c, bytes, words, tokens, unknown, vocabulary, used);
    cs_item_real(root, "tokens_per_word", share(c->tokens, c->words));
    cs_item_real(root, "bytes_per_token", share(c->bytes, c->tokens));
    cs_item_real(root, "unknown_share", share(c->unknown, c->tokens));
    cs_item_real(root, "used_share", share(c->used, c->vocabulary));
}
