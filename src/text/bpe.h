/* Byte pair encoding of one piece of text: first tokens, and merges by rank. */
#pragma once

#include <stdint.h>

#include "base/status.h"
#include "text/vocab.h"

/* One merge: `left` and `right` become `token`. Its rank is its index in the list. */
typedef struct {
    int32_t left, right, token;
} cs_bpe_merge;

typedef struct {
    int32_t byte_token[256];
    cs_bpe_merge *merge; /* merges, by rank */
    int64_t merges;
    int32_t *slot; /* open addressing over (left, right): rank + 1, 0 when free */
    int64_t slots; /* a power of two above 2 * merges */
} cs_bpe;

/* Copies the merges; free it in every case. *twice: the rank of a merge whose pair occurred before,
 * -1 if all are distinct (not an error here). Cost O(merges). */
cs_status cs_bpe_init(cs_bpe *bpe, const int32_t byte_token[256], const cs_bpe_merge *merge,
                      int64_t merges, int64_t *twice) CS_MUST_CHECK;
void cs_bpe_free(cs_bpe *bpe);

/* Memory of cs_bpe_apply, kept between calls. Zero-initialise. */
typedef struct {
    int32_t *token; /* the result, `count` long */
    int64_t count;
    char *key; /* a character with prefix and suffix */
    int64_t key_capacity;
    int32_t *next, *previous;
    struct cs_queued *heap; /* rank, position */
    int64_t heap_size, capacity;
} cs_bpe_scratch;

/* Tokens of the `size` bytes, which start as byte_token[byte] each: applies the merge of lowest
 * rank, at its leftmost position, until none applies. Cost O(size log size). CS_ERR_INPUT for a
 * byte whose byte_token is -1, and above 2^30 bytes. */
cs_status cs_bpe_apply(const cs_bpe *bpe, const char *bytes, int64_t size,
                       cs_bpe_scratch *scratch) CS_MUST_CHECK;
void cs_bpe_scratch_free(cs_bpe_scratch *scratch);

/* How a piece of characters is turned into first tokens. Zeroed: characters without a token are
 * left out. */
typedef struct {
    char *prefix, *suffix; /* of a token within a word, of one that ends it; NULL: none */
    int32_t unknown;       /* -1: none */
    bool fuse_unknown;     /* consecutive unknown characters are one token */
    /* a character without a token becomes the tokens <0x00> .. of its bytes, if all of them exist
     */
    bool byte_fallback;
    int32_t byte[256]; /* these; -1: none */
    int32_t *near;     /* the tokens of characters below 2^16 */
    struct cs_bpe_join {
        int32_t left, right;
    } * join; /* characters that some merge joins: last of its left, first of its right token */
    int64_t joins;
    /* open addressing over them: index + 1, 0 when free; NULL: texts are not divided */
    int32_t *slot;
    int64_t slots;
} cs_bpe_start;

/* Looks up bytes and characters; prefix, suffix and flags are already set. Free it in every case.
 */
cs_status cs_bpe_start_init(cs_bpe_start *start, const cs_word_table *vocabulary) CS_MUST_CHECK;
void cs_bpe_start_free(cs_bpe_start *start);

/* Collects the neighbours that merges join, so that texts can be divided elsewhere; for tokens
 * without prefix and suffix. */
cs_status cs_bpe_start_part(cs_bpe_start *start, const cs_bpe *bpe,
                            const cs_word_table *vocabulary) CS_MUST_CHECK;

/* Bytes of the first part of a piece such that its tokens and those of the rest, encoded
 * separately, are the tokens of the piece: it ends between two characters with tokens that no merge
 * joins. A piece without such a position is one part. */
int64_t cs_bpe_part(const cs_bpe_start *start, const cs_word_table *vocabulary, const char *text,
                    int64_t size);

/* As cs_bpe_apply, for the characters of valid UTF-8; only words with positive count are tokens. */
cs_status cs_bpe_apply_chars(const cs_bpe *bpe, const cs_bpe_start *start,
                             const cs_word_table *vocabulary, const char *text, int64_t size,
                             cs_bpe_scratch *scratch) CS_MUST_CHECK;

/* The character that represents a byte in the spelling of tokens (GPT-2: printable bytes of Latin-1
 * represent themselves, the others are U+0100 and following, in their order), and back: -1 for
 * other characters. */
int32_t cs_byte_char(uint8_t byte);
int cs_char_byte(int32_t c);
