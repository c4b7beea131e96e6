/* A hash table with linear probing (XXH3 of long words), words kept end to end in one block, short
 * ones in their slots as well, where they are compared. Its result does not depend on the hash: words
 * are numbered by first appearance and ranked by count and bytes. */
#include "text/vocab.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/ints.h"
#include "base/mem.h"

enum { FIRST_CAPACITY = 1024 };

static cs_status grow_words(cs_word_table *t)
{
    int64_t capacity = t->capacity > 0 ? 2 * t->capacity : FIRST_CAPACITY;
    int64_t *start = cs_realloc(t->start, capacity + 1, sizeof *start);
    if (!start) return CS_ERR_MEMORY;
    t->start = start;
    int64_t *count = cs_realloc(t->count, capacity, sizeof *count);
    if (!count) return CS_ERR_MEMORY;
    t->count = count;
    t->start[t->words] = t->text_size;
    t->capacity = capacity;
    return CS_OK;
}

/* Four bytes as a number, which compilers make one load of. */
static uint64_t four(const char *text)
{
    const uint8_t *t = (const uint8_t *)text;
    return (uint64_t)t[0] | (uint64_t)t[1] << 8 | (uint64_t)t[2] << 16 | (uint64_t)t[3] << 24;
}

/* Up to 7 bytes as a number, read without a loop: from both ends, which may meet. */
static uint64_t short_spelling(const char *text, int64_t size)
{
    if (size >= 4) {
        return four(text) | four(text + size - 4) << 8 * (size - 4);
    }
    const uint8_t *t = (const uint8_t *)text;
    const int64_t middle = size / 2, last = size - 1;
    return size == 0
               ? 0
               : (uint64_t)t[0] | (uint64_t)t[middle] << 8 * middle | (uint64_t)t[last] << 8 * last;
}

/* Mixes all bits into the lowest (MurmurHash3's finaliser, Appleby). */
static uint64_t mixed(uint64_t x)
{
    x = (x ^ x >> 33) * UINT64_C(0xff51afd7ed558ccd);
    x = (x ^ x >> 33) * UINT64_C(0xc4ceb9fe1a85ec53);
    return x ^ x >> 33;
}

static cs_word_key key_of(const char *word, int64_t size)
{
    enum { SHORT = 7 }; /* the lowest byte has the size, or says that there are more */
    if (size <= SHORT) {
        const uint64_t spelling = short_spelling(word, size) << 8 | (uint64_t)size;
        return (cs_word_key){word, size, mixed(spelling), spelling};
    }
    const uint64_t hash = cs_hash(word, (size_t)size, 0).low;
    return (cs_word_key){word, size, hash, hash | 0xff};
}

/* At most half of the slots are taken: short probes. */
static cs_status grow_slots(cs_word_table *t)
{
    int64_t slots = t->slots > 0 ? 2 * t->slots : (int64_t)2 * FIRST_CAPACITY;
    cs_word_slot *slot = cs_calloc(slots, sizeof *slot);
    if (!slot) return CS_ERR_MEMORY;
    cs_mem_large_pages(slot, slots * (int64_t)sizeof *slot); /* for lookups, which are random */
    uint64_t mask = (uint64_t)slots - 1;
    for (int64_t w = 0; w < t->words; ++w) {
        const int64_t size = t->start[w + 1] - t->start[w];
        const cs_word_key key = key_of(t->text + t->start[w], size);
        uint64_t s = key.hash & mask;
        while (slot[s].word != 0) {
            s = (s + 1) & mask;
        }
        slot[s] = (cs_word_slot){key.spelling, (int32_t)w + 1};
    }
    cs_free(t->slot);
    t->slot = slot;
    t->slots = slots;
    return CS_OK;
}

static cs_status make_space(cs_word_table *t, int64_t size)
{
    cs_status status = CS_OK;
    if (t->words >= INT32_MAX - 1) {
        return cs_fail(CS_ERR_INPUT, "more than %d distinct words", INT32_MAX - 1);
    }
    if (t->words == t->capacity) {
        status = grow_words(t);
    }
    if (status == CS_OK) status = cs_reserve(&t->text, &t->text_capacity, t->text_size + size, 1);
    if (status == CS_OK && 2 * (t->words + 1) > t->slots) status = grow_slots(t);
    return status;
}

static bool same(const cs_word_table *t, int32_t word, const cs_word_key *key)
{
    const int64_t start = t->start[word];
    return (key->spelling & 0xff) != 0xff ||
           (t->start[word + 1] - start == key->size &&
            memcmp(t->text + start, key->text, (size_t)key->size) == 0);
}

/* The slot of the word, or the free one where it belongs. At least one slot is free. */
static cs_word_slot *probe(const cs_word_table *t, const cs_word_key *key)
{
    uint64_t mask = (uint64_t)t->slots - 1;
    uint64_t s = key->hash & mask;
    while (t->slot[s].word != 0 &&
           !(t->slot[s].spelling == key->spelling && same(t, t->slot[s].word - 1, key))) {
        s = (s + 1) & mask;
    }
    return &t->slot[s];
}

cs_word_key cs_word_table_fetch(const cs_word_table *t, const char *word, int64_t size)
{
    const cs_word_key key = key_of(word, size);
    if (t->slots > 0) {
        __builtin_prefetch(&t->slot[key.hash & ((uint64_t)t->slots - 1)]);
    }
    return key;
}

int32_t cs_word_table_get(const cs_word_table *t, const char *word, int64_t size)
{
    const cs_word_key key = cs_word_table_fetch(t, word, size);
    return t->slots == 0 ? -1 : probe(t, &key)->word - 1;
}

int32_t cs_word_table_token(const cs_word_table *t, const char *word, int64_t size)
{
    const int32_t id = cs_word_table_get(t, word, size);
    return id >= 0 && t->count[id] > 0 ? id : -1;
}

cs_status cs_word_table_find_key(cs_word_table *t, const cs_word_key *key, int32_t *out)
{
    /* Grows the table first, so that the free slot found below is the one to fill. */
    cs_status status = make_space(t, key->size);
    if (status != CS_OK) return status;
    cs_word_slot *slot = probe(t, key);
    if (slot->word != 0) {
        *out = slot->word - 1;
        return CS_OK;
    }
    int32_t w = (int32_t)t->words;
    memcpy(t->text + t->text_size, key->text, (size_t)key->size);
    t->text_size += key->size;
    t->words += 1;
    t->start[t->words] = t->text_size;
    t->count[w] = 0;
    *slot = (cs_word_slot){key->spelling, w + 1};
    *out = w;
    return CS_OK;
}

cs_status cs_word_table_find(cs_word_table *t, const char *word, int64_t size, int32_t *out)
{
    const cs_word_key key = cs_word_table_fetch(t, word, size);
    return cs_word_table_find_key(t, &key, out);
}

char *cs_word_table_text(const cs_word_table *t, int64_t w)
{
    int64_t size = t->start[w + 1] - t->start[w];
    char *text = cs_alloc(size + 1, 1);
    if (text) {
        memcpy(text, t->text + t->start[w], (size_t)size);
        text[size] = '\0';
    }
    return text;
}

int cs_word_table_compare(const cs_word_table *t, int64_t a, int64_t b)
{
    int64_t size_a = t->start[a + 1] - t->start[a], size_b = t->start[b + 1] - t->start[b];
    int order = memcmp(t->text + t->start[a], t->text + t->start[b],
                       (size_t)(size_a < size_b ? size_a : size_b));
    return order != 0 ? order : (size_a > size_b) - (size_a < size_b);
}

/* A word with most of what its place depends on, so that few comparisons read the table. */
typedef struct {
    int64_t count;
    uint64_t start; /* its first bytes, the first one highest */
    int32_t word;
} ranked_word;

static ranked_word ranked_of(const cs_word_table *t, int32_t w, bool by_bytes)
{
    const int64_t from = t->start[w];
    ranked_word r = {.count = by_bytes ? 0 : t->count[w], .word = w};
    for (int64_t i = 0; i < (int64_t)sizeof r.start; ++i) {
        const bool within = from + i < t->start[w + 1];
        r.start = r.start << 8 | (within ? (uint8_t)t->text[from + i] : 0);
    }
    return r;
}

static int by_rank(const void *a, const void *b, void *table)
{
    const ranked_word *x = a, *y = b;
    return x->count != y->count   ? CS_ORDER(y->count, x->count)
           : x->start != y->start ? CS_ORDER(x->start, y->start)
                                  : cs_word_table_compare(table, x->word, y->word);
}

cs_status cs_word_table_rank(const cs_word_table *t, bool by_bytes, int32_t **out, int64_t *ranked)
{
    int32_t *word = cs_alloc(t->words, sizeof *word);
    ranked_word *order = cs_alloc(t->words, sizeof *order);
    if (!word || !order) {
        cs_free(word);
        cs_free(order);
        return CS_ERR_MEMORY;
    }
    int64_t count = 0;
    for (int64_t w = 0; w < t->words; ++w) {
        if (t->count[w] > 0) {
            order[count++] = ranked_of(t, (int32_t)w, by_bytes);
        }
    }
    /* qsort_r orders distinct words without ties, so an unstable sort gives one result. */
    qsort_r(order, (size_t)count, sizeof *order, by_rank, (void *)(uintptr_t)t);
    for (int64_t i = 0; i < count; ++i) {
        word[i] = order[i].word;
    }
    cs_free(order);
    *out = word;
    *ranked = count;
    return CS_OK;
}

void cs_word_table_free(cs_word_table *t)
{
    CS_FREE_FIELDS(t, text, start, count, slot);
    memset(t, 0, sizeof *t);
}
