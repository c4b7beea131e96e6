/* Distinct words with their counts, and their ranking into a vocabulary. */
#pragma once

#include <stdint.h>

#include "base/status.h"

/* Members that a search compares are adjacent, since each further location is a cache miss. */
typedef struct {
    uint64_t spelling; /* as a key's */
    int32_t word;      /* + 1; 0 when free */
} cs_word_slot;

/* The key of a word to look up, borrowed. */
typedef struct {
    const char *text;
    int64_t size;
    uint64_t hash;
    /* of a word of up to 7 bytes all bytes and its size; else its hash */
    uint64_t spelling;
} cs_word_key;

/* Words in order of first appearance. Zero-initialise; the table grows as needed. */
typedef struct {
    char *text; /* the words, end to end */
    int64_t text_size, text_capacity;
    int64_t *start; /* words + 1 offsets into text */
    int64_t *count; /* words */
    int64_t words, capacity;
    cs_word_slot *slot; /* open addressing */
    int64_t slots;      /* a power of two */
} cs_word_table;

/* The number of the word (added when new, with count 0). Words of equal bytes are one. CS_ERR_INPUT
 * past 2^31 - 2 words. Expected cost: O(size). */
cs_status cs_word_table_find(cs_word_table *table, const char *word, int64_t size,
                             int32_t *out) CS_MUST_CHECK;

/* The same in two steps, so that memory of one word is prefetched while others are looked up. */
cs_word_key cs_word_table_fetch(const cs_word_table *table, const char *word, int64_t size);
cs_status cs_word_table_find_key(cs_word_table *table, const cs_word_key *key,
                                 int32_t *out) CS_MUST_CHECK;

/* The number of the word, -1 when the table lacks it. */
int32_t cs_word_table_get(const cs_word_table *table, const char *word, int64_t size);

/* The number of the word if it is a token, whose count is positive; else -1. */
int32_t cs_word_table_token(const cs_word_table *table, const char *word, int64_t size);

/* Word w in fresh memory, NULL when out of memory. */
char *cs_word_table_text(const cs_word_table *table, int64_t w) CS_MUST_CHECK;

/* Order by bytes: <0, 0, >0. */
int cs_word_table_compare(const cs_word_table *table, int64_t a, int64_t b);

/* The words of positive count, by falling count (ties by byte order) or, with by_bytes, by byte
 * order alone: their numbers in fresh memory. Cost O(w log w). */
cs_status cs_word_table_rank(const cs_word_table *table, bool by_bytes, int32_t **out,
                             int64_t *ranked) CS_MUST_CHECK;

void cs_word_table_free(cs_word_table *table);
