/* A hash table with linear probing over XXH3, words kept end to end in one block, short ones in their
 * slots as well, where they are compared. Its result does not depend on the hash: words are numbered by first appearance and ranked by count and bytes. */
#include "text/vocab.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"

enum { FIRST_ROOM = 1024 };

static cs_status grow_words(cs_word_table *t)
{
    int64_t room = t->room > 0 ? 2 * t->room : FIRST_ROOM;
    int64_t *start = cs_realloc(t->start, room + 1, sizeof *start);
    if (!start) return CS_ERR_MEMORY;
    t->start = start;
    int64_t *count = cs_realloc(t->count, room, sizeof *count);
    if (!count) return CS_ERR_MEMORY;
    t->count = count;
    uint64_t *hash = cs_realloc(t->hash, room, sizeof *hash);
    if (!hash) return CS_ERR_MEMORY;
    t->hash = hash;
    t->start[t->words] = t->text_size;
    t->room = room;
    return CS_OK;
}

static cs_word_key key_of(const char *word, int64_t size, uint64_t hash)
{
    enum { SHORT = 7 }; /* the eighth byte has the size, or says that there are more */
    uint64_t spelling = 0;
    if (size <= SHORT) {
        memcpy(&spelling, word, (size_t)size);
        spelling = spelling << 8 | (uint64_t)size;
    } else {
        spelling = hash | 0xff;
    }
    return (cs_word_key){word, size, hash, spelling};
}

/* At most half of the slots are taken: short probes. */
static cs_status grow_slots(cs_word_table *t)
{
    int64_t slots = t->slots > 0 ? 2 * t->slots : (int64_t)2 * FIRST_ROOM;
    cs_word_slot *slot = cs_calloc(slots, sizeof *slot);
    if (!slot) return CS_ERR_MEMORY;
    uint64_t mask = (uint64_t)slots - 1;
    for (int64_t w = 0; w < t->words; ++w) {
        const int64_t size = t->start[w + 1] - t->start[w];
        const cs_word_key key = key_of(t->text + t->start[w], size, t->hash[w]);
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

static cs_status make_room(cs_word_table *t, int64_t size)
{
    cs_status status = CS_OK;
    if (t->words >= INT32_MAX - 1) {
        return cs_fail(CS_ERR_INPUT, "more than %d distinct words", INT32_MAX - 1);
    }
    if (t->words == t->room) {
        status = grow_words(t);
    }
    if (status == CS_OK) status = cs_reserve(&t->text, &t->text_room, t->text_size + size, 1);
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
    const cs_word_key key = key_of(word, size, cs_hash(word, (size_t)size, 0).low);
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

cs_status cs_word_table_find_key(cs_word_table *t, const cs_word_key *key, int32_t *out)
{
    /* Room first, so that the free slot found below is the one to fill. */
    cs_status status = make_room(t, key->size);
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
    t->hash[w] = key->hash;
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

static int by_byte_order(const void *a, const void *b, void *table)
{
    return cs_word_table_compare(table, *(const int32_t *)a, *(const int32_t *)b);
}

static int by_falling_count(const void *a, const void *b, void *table)
{
    const cs_word_table *t = table;
    int64_t count_a = t->count[*(const int32_t *)a], count_b = t->count[*(const int32_t *)b];
    return count_a != count_b ? (count_a < count_b ? 1 : -1) : by_byte_order(a, b, table);
}

cs_status cs_word_table_rank(const cs_word_table *t, bool by_bytes, int32_t **out, int64_t *ranked)
{
    int32_t *word = cs_alloc(t->words, sizeof *word);
    if (!word) return CS_ERR_MEMORY;
    int64_t count = 0;
    for (int64_t w = 0; w < t->words; ++w) {
        if (t->count[w] > 0) {
            word[count++] = (int32_t)w;
        }
    }
    /* qsort_r orders distinct words without ties, so an unstable sort gives one result. */
    qsort_r(word, (size_t)count, sizeof *word, by_bytes ? by_byte_order : by_falling_count,
            (void *)(uintptr_t)t);
    *out = word;
    *ranked = count;
    return CS_OK;
}

void cs_word_table_free(cs_word_table *t)
{
    CS_FREE_FIELDS(t, text, start, count, hash, slot);
    memset(t, 0, sizeof *t);
}
