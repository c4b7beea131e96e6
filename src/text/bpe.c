/* Merges as a hash table from pairs to ranks; a piece as a linked list of tokens, and a heap of the
 * merges that may apply to it. Joining two tokens makes up to two new candidates, and candidates
 * whose pair has changed since are passed over when they come up.
 *
 * Sennrich, Haddow, Birch: Neural machine translation of rare words with subword units, ACL 2016;
 * bytes as characters: Radford et al., Language models are unsupervised multitask learners, 2019.
 */
#include "text/bpe.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "text/pair_queue_private.h"
#include "text/unicode.h"

/* --- bytes as characters --- */

static bool is_shown(int byte)
{
    return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

/* Bytes that are not shown: 0x00-0x20 are U+0100-U+0120, 0x7F-0xA0 U+0121-U+0142, 0xAD U+0143. */
int32_t cs_byte_char(uint8_t byte)
{
    if (is_shown(byte)) {
        return byte;
    }
    return byte <= 0x20 ? 0x100 + byte : byte == 0xAD ? 0x143 : 0x121 + (byte - 0x7F);
}

int cs_char_byte(int32_t c)
{
    if (c >= 0 && c < 0x100) {
        return is_shown(c) ? c : -1;
    }
    if (c < 0x100 || c > 0x143) {
        return -1;
    }
    return c <= 0x120 ? c - 0x100 : c == 0x143 ? 0xAD : 0x7F + (c - 0x121);
}

/* --- merges --- */

static uint64_t probe(const cs_bpe *bpe, int32_t left, int32_t right)
{
    return cs_pair_slot(bpe->slot, bpe->slots, bpe->merge, sizeof *bpe->merge, left, right);
}

static int32_t rank_of(const cs_bpe *bpe, int32_t left, int32_t right)
{
    return bpe->slot[probe(bpe, left, right)] - 1;
}

cs_status cs_bpe_init(cs_bpe *bpe, const int32_t byte_token[256], const cs_bpe_merge *merge,
                      int64_t merges, int64_t *twice)
{
    *bpe = (cs_bpe){.merges = merges, .slots = 16};
    *twice = -1;
    while (bpe->slots <= 2 * merges) {
        bpe->slots *= 2;
    }
    memcpy(bpe->byte_token, byte_token, sizeof bpe->byte_token);
    bpe->merge = cs_alloc(merges, sizeof *bpe->merge);
    bpe->slot = cs_calloc(bpe->slots, sizeof *bpe->slot);
    if (!bpe->merge || !bpe->slot) return CS_ERR_MEMORY;
    if (merges > 0) {
        memcpy(bpe->merge, merge, (size_t)merges * sizeof *merge);
    }
    for (int64_t i = 0; i < merges; ++i) {
        uint64_t s = probe(bpe, merge[i].left, merge[i].right);
        if (bpe->slot[s] == 0) {
            bpe->slot[s] = (int32_t)i + 1;
        } else if (*twice < 0) {
            *twice = i;
        }
    }
    return CS_OK;
}

void cs_bpe_free(cs_bpe *bpe)
{
    CS_FREE_FIELDS(bpe, merge, slot);
    memset(bpe, 0, sizeof *bpe);
}

/* --- one piece --- */

static cs_status grow(cs_bpe_scratch *s, int64_t size)
{
    int64_t capacity = s->capacity > 0 ? s->capacity : 64;
    while (capacity < size) {
        capacity *= 2;
    }
    cs_bpe_scratch_free(s);
    s->token = cs_alloc(capacity, sizeof *s->token);
    s->next = cs_alloc(capacity, sizeof *s->next);
    s->previous = cs_alloc(capacity, sizeof *s->previous);
    s->heap = cs_alloc(3 * capacity, sizeof *s->heap); /* size - 1 pairs at first, then 2 a merge */
    if (!s->token || !s->next || !s->previous || !s->heap) return CS_ERR_MEMORY;
    s->capacity = capacity;
    return CS_OK;
}

void cs_bpe_scratch_free(cs_bpe_scratch *s)
{
    CS_FREE_FIELDS(s, token, next, previous, heap, key);
    memset(s, 0, sizeof *s);
}

/* Pushes the merge of the token at `position` with the one after it, if there is one. */
static void consider(const cs_bpe *bpe, cs_bpe_scratch *s, int32_t position)
{
    int32_t next = position < 0 ? -1 : s->next[position];
    int32_t rank = next < 0 ? -1 : rank_of(bpe, s->token[position], s->token[next]);
    if (rank >= 0) {
        cs_queue_push(s->heap, &s->heap_size, (cs_queued){(uint64_t)rank, (uint64_t)position});
    }
}

static void merge_all(const cs_bpe *bpe, cs_bpe_scratch *s)
{
    while (s->heap_size > 0) {
        const cs_queued top = cs_queue_pop(s->heap, &s->heap_size);
        const int32_t at = (int32_t)top.then;
        int32_t next = s->token[at] < 0 ? -1 : s->next[at];
        const cs_bpe_merge *m = &bpe->merge[top.first];
        if (next < 0 || s->token[at] != m->left || s->token[next] != m->right) {
            continue; /* joined with something else since */
        }
        s->token[at] = m->token;
        s->token[next] = -1;
        s->next[at] = s->next[next];
        if (s->next[at] >= 0) {
            s->previous[s->next[at]] = at;
        }
        consider(bpe, s, s->previous[at]);
        consider(bpe, s, at);
    }
}

/* Makes the buffers large enough for `size` first tokens. */
static cs_status make_space(cs_bpe_scratch *s, int64_t size)
{
    if (size > 1 << 30) {
        return cs_fail(CS_ERR_INPUT,
                       "a piece of %lld bytes without a break exceeds the limit of 2^30 bytes",
                       (long long)size);
    }
    return size > s->capacity ? grow(s, size) : CS_OK;
}

/* Merges the first tokens token[0 .. count-1]. */
static void join(const cs_bpe *bpe, cs_bpe_scratch *s, int64_t count)
{
    s->heap_size = 0;
    for (int64_t i = 0; i < count; ++i) {
        s->next[i] = i + 1 < count ? (int32_t)i + 1 : -1;
        s->previous[i] = (int32_t)i - 1;
    }
    for (int64_t i = 0; i + 1 < count; ++i) {
        consider(bpe, s, (int32_t)i);
    }
    merge_all(bpe, s);
    s->count = 0;
    for (int64_t i = 0; i < count; ++i) {
        if (s->token[i] >= 0) {
            s->token[s->count++] = s->token[i];
        }
    }
}

cs_status cs_bpe_apply(const cs_bpe *bpe, const char *bytes, int64_t size, cs_bpe_scratch *s)
{
    cs_status status = make_space(s, size);
    if (status != CS_OK) return status;
    for (int64_t i = 0; i < size; ++i) {
        s->token[i] = bpe->byte_token[(uint8_t)bytes[i]];
        if (s->token[i] < 0) {
            return cs_fail(
                CS_ERR_INPUT,
                "the tokenizer has no token for the byte 0x%02X, and no unk_token; leave "
                "the character out of the text, or use another tokenizer",
                (unsigned)(uint8_t)bytes[i]);
        }
    }
    join(bpe, s, size);
    return CS_OK;
}

/* --- characters --- */

cs_status cs_bpe_start_init(cs_bpe_start *start, const cs_word_table *v)
{
    enum { NEAR = 1 << 16 };
    char name[8];
    for (int b = 0; b < 256; ++b) {
        (void)snprintf(name, sizeof name, "<0x%02X>", (unsigned)b);
        start->byte[b] = cs_word_table_token(v, name, 6);
    }
    start->near = cs_alloc(NEAR, sizeof *start->near);
    if (!start->near) return CS_ERR_MEMORY;
    for (int32_t c = 0; c < NEAR; ++c) {
        start->near[c] = -1;
    }
    for (int64_t w = 0; w < v->words; ++w) { /* those of one character */
        const utf8proc_uint8_t *word = (const utf8proc_uint8_t *)v->text + v->start[w];
        const int64_t size = v->start[w + 1] - v->start[w];
        utf8proc_int32_t c = -1;
        if (size > 0 && size <= 3 && v->count[w] > 0 && utf8proc_iterate(word, size, &c) == size &&
            c >= 0 && c < NEAR) {
            start->near[c] = (int32_t)w;
        }
    }
    return CS_OK;
}

void cs_bpe_start_free(cs_bpe_start *start)
{
    CS_FREE_FIELDS(start, prefix, suffix, near, join, slot);
    memset(start, 0, sizeof *start);
}

/* --- parts --- */

static void add_join(cs_bpe_start *b, int32_t left, int32_t right)
{
    const uint64_t s = cs_pair_slot(b->slot, b->slots, b->join, sizeof *b->join, left, right);
    if (b->slot[s] == 0) {
        b->join[b->joins] = (struct cs_bpe_join){left, right};
        b->slot[s] = (int32_t)++b->joins;
    }
}

/* A merge that reaches over a place has characters on both sides: the last of its left token, the
 * first of its right one. */
cs_status cs_bpe_start_part(cs_bpe_start *b, const cs_bpe *bpe, const cs_word_table *v)
{
    const uint8_t *text = (const uint8_t *)v->text;
    b->slots = bpe->slots;
    b->slot = cs_calloc(b->slots, sizeof *b->slot);
    b->join = cs_alloc(bpe->merges, sizeof *b->join);
    if (!b->slot || !b->join) return CS_ERR_MEMORY;
    for (int64_t i = 0; i < bpe->merges; ++i) {
        const int64_t *left = v->start + bpe->merge[i].left,
                      *right = v->start + bpe->merge[i].right;
        int32_t last = 0, first = 0;
        if (left[0] < left[1] && right[0] < right[1]) {
            (void)cs_char_at(cs_char_before(text + left[0], text + left[1]), &last);
            (void)cs_char_at(text + right[0], &first);
            add_join(b, last, first);
        }
    }
    return CS_OK;
}

static bool has_token(const cs_bpe_start *b, const cs_word_table *v, const char *at, int length,
                      int32_t c)
{
    return (c < 1 << 16 ? b->near[c] : cs_word_table_token(v, at, length)) >= 0;
}

int64_t cs_bpe_part(const cs_bpe_start *b, const cs_word_table *v, const char *text, int64_t size)
{
    int32_t before = 0, c = 0;
    bool known = false;
    for (int64_t at = 0; at < size && b->slot;) {
        const int length = cs_char_at((const uint8_t *)text + at, &c);
        const bool now = has_token(b, v, text + at, length, c);
        if (at > 0 && known && now &&
            b->slot[cs_pair_slot(b->slot, b->slots, b->join, sizeof *b->join, before, c)] == 0) {
            return at;
        }
        before = c;
        known = now;
        at += length;
    }
    return size;
}

/* The token of the character at text[at], with what it has before and behind it; *length: its
 * bytes. */
static int32_t first_token(const cs_bpe_start *b, const cs_word_table *v, const char *text,
                           int64_t at, int64_t size, cs_bpe_scratch *s, int *length)
{
    int32_t c = 0;
    *length = cs_char_at((const uint8_t *)text + at, &c);
    const char *prefix = at > 0 ? b->prefix : NULL;
    const char *suffix = at + *length == size ? b->suffix : NULL;
    if (!prefix && !suffix) {
        return c < 1 << 16 ? b->near[c] : cs_word_table_token(v, text + at, *length);
    }
    char *to = prefix ? stpcpy(s->key, prefix) : s->key;
    memcpy(to, text + at, (size_t)*length);
    to += *length;
    to = suffix ? stpcpy(to, suffix) : to;
    return cs_word_table_token(v, s->key, to - s->key);
}

/* The tokens of a character's bytes to token[*count ..]; false: one has none. */
static bool put_bytes(const cs_bpe_start *b, const char *bytes, int64_t size, cs_bpe_scratch *s,
                      int64_t *count)
{
    for (int64_t i = 0; i < size; ++i) {
        if (b->byte[(uint8_t)bytes[i]] < 0) {
            return false;
        }
    }
    for (int64_t i = 0; i < size; ++i) {
        s->token[(*count)++] = b->byte[(uint8_t)bytes[i]];
    }
    return true;
}

/* An unknown character waits for the next character that has a token, or another unknown one with
 * which it is not fused: bytes of a fallback come before it, as in the `tokenizers` package. */
static int64_t start_chars(const cs_bpe_start *b, const cs_word_table *v, const char *text,
                           int64_t size, cs_bpe_scratch *s)
{
    int64_t count = 0;
    bool waiting = false;
    for (int64_t at = 0; at < size;) {
        int length = 0;
        const int32_t token = first_token(b, v, text, at, size, s, &length);
        if (token >= 0) {
            if (waiting) {
                s->token[count++] = b->unknown;
            }
            waiting = false;
            s->token[count++] = token;
        } else if ((!b->byte_fallback || !put_bytes(b, text + at, length, s, &count)) &&
                   b->unknown >= 0) {
            if (waiting && !b->fuse_unknown) {
                s->token[count++] = b->unknown;
            }
            waiting = true;
        }
        at += length;
    }
    if (waiting) {
        s->token[count++] = b->unknown;
    }
    return count;
}

cs_status cs_bpe_apply_chars(const cs_bpe *bpe, const cs_bpe_start *start, const cs_word_table *v,
                             const char *text, int64_t size, cs_bpe_scratch *s)
{
    const size_t more =
        (start->prefix ? strlen(start->prefix) : 0) + (start->suffix ? strlen(start->suffix) : 0);
    cs_status status = make_space(s, size);
    if (status == CS_OK) status = cs_reserve(&s->key, &s->key_capacity, (int64_t)more + 8, 1);
    if (status == CS_OK) join(bpe, s, start_chars(start, v, text, size, s));
    return status;
}
