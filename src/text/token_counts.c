#include "text/token_counts.h"

#include "base/mem.h"
#include "text/encoder.h"
#include "text/unicode.h"

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
