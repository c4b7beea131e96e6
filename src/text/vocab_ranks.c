/* A distributed count of words.
 *
 * Method: a hash of its bytes gives each word an owner. Every rank sends each owner its words with
 * their counts, and the owner adds them. The owners rank their words and send the first `most` up a
 * binomial tree, in which two lists at a time are merged and cut to `most`; rank 0 has the
 * vocabulary and sends it back down. Owners have disjoint words, so the merge only compares.
 *
 * Bytes that a rank sends: its distinct words (12 and their text each) times (R - 1) / R, then at
 * most one list of `most` words up and, on rank 0, log2 R lists down; 2 (R - 1) + 4 log2 R messages
 * at most. Memory: a copy of the words of this rank, and its share of all. */
#include "text/vocab_ranks_private.h"

#include <string.h>

#include "base/auto.h"
#include "base/hash.h"
#include "base/mem.h"

/* Words end to end: count, size, text. */
typedef struct {
    char *bytes;
    int64_t size, capacity, words;
} word_list;

enum { HEAD = sizeof(int64_t) + sizeof(int32_t) };

typedef struct {
    int64_t count;
    int32_t size;
    const char *text;
} list_item;

static void word_list_free(word_list *l)
{
    cs_free(l->bytes);
    *l = (word_list){0};
}

static list_item item_at(const char *at)
{
    list_item i = {0};
    memcpy(&i.count, at, sizeof i.count);
    memcpy(&i.size, at + sizeof i.count, sizeof i.size);
    i.text = at + HEAD;
    return i;
}

static void put_item(char *at, const list_item *i)
{
    memcpy(at, &i->count, sizeof i->count);
    memcpy(at + sizeof i->count, &i->size, sizeof i->size);
    memcpy(at + HEAD, i->text, (size_t)i->size);
}

static cs_status append(word_list *l, const list_item *i)
{
    cs_status status = cs_reserve(&l->bytes, &l->capacity, l->size + HEAD + i->size, 1);
    if (status != CS_OK) return status;
    put_item(l->bytes + l->size, i);
    l->size += HEAD + i->size;
    l->words += 1;
    return CS_OK;
}

static list_item item_of(const cs_word_table *t, int64_t w)
{
    return (list_item){.count = t->count[w],
                       .size = (int32_t)(t->start[w + 1] - t->start[w]),
                       .text = t->text + t->start[w]};
}

/* --- to the owners ---------------------------------------------------------------------------- */

static int owner_of(const list_item *i, int ranks)
{
    __extension__ typedef unsigned __int128 wide;
    const cs_hash128 h = cs_hash(i->text, (size_t)i->size, UINT64_C(0x766f636162));
    return (int)((wide)h.high * (unsigned)ranks >> 64);
}

/* All words with a positive count in the order of their owners; begin: ranks + 1 offsets. */
static cs_status sort_by_owner(const cs_word_table *t, int ranks, int64_t *begin, char **out)
{
    CS_AUTO_FREE int64_t *next = cs_calloc(ranks + 1, sizeof *next);
    if (!next) return CS_ERR_MEMORY;
    for (int64_t w = 0; w < t->words; ++w) {
        const list_item i = item_of(t, w);
        next[owner_of(&i, ranks) + 1] += i.count > 0 ? HEAD + i.size : 0;
    }
    for (int r = 0; r < ranks; ++r) {
        next[r + 1] += next[r];
    }
    memcpy(begin, next, (size_t)(ranks + 1) * sizeof *begin);
    char *bytes = cs_alloc(begin[ranks], 1);
    if (!bytes) return CS_ERR_MEMORY;
    for (int64_t w = 0; w < t->words; ++w) {
        const list_item i = item_of(t, w);
        if (i.count > 0) {
            int64_t *at = &next[owner_of(&i, ranks)];
            put_item(bytes + *at, &i);
            *at += HEAD + i.size;
        }
    }
    *out = bytes;
    return CS_OK;
}

static cs_status add_items(cs_word_table *to, const char *bytes, int64_t size)
{
    cs_status status = CS_OK;
    for (int64_t at = 0; at < size && status == CS_OK;) {
        const list_item i = item_at(bytes + at);
        int32_t w = 0;
        status = cs_word_table_find(to, i.text, i.size, &w);
        if (status == CS_OK) to->count[w] += i.count;
        at += HEAD + i.size;
    }
    return status;
}

/* The words that this rank owns, with the counts of all ranks. */
static cs_status exchange(cs_comm *c, const cs_word_table *words, cs_word_table *owned)
{
    CS_AUTO_FREE int64_t *begin = cs_alloc(c->ranks + 1, sizeof *begin);
    CS_AUTO_FREE char *bytes = NULL, *in = NULL;
    cs_status status = begin ? sort_by_owner(words, c->ranks, begin, &bytes) : CS_ERR_MEMORY;
    if (status == CS_OK)
        status = add_items(owned, bytes + begin[c->rank], begin[c->rank + 1] - begin[c->rank]);
    for (int t = 1; t < c->ranks && status == CS_OK; ++t) {
        const int to = (c->rank + t) % c->ranks, from = (c->rank - t + c->ranks) % c->ranks;
        const int64_t sends = begin[to + 1] - begin[to];
        int64_t takes = 0;
        c->swap(c, to, &sends, sizeof sends, from, &takes, sizeof takes);
        cs_free(in);
        in = cs_alloc(takes, 1);
        if (!in) return CS_ERR_MEMORY;
        c->swap(c, to, bytes + begin[to], sends, from, in, takes);
        status = add_items(owned, in, takes);
    }
    return status;
}

/* --- up and down the tree --------------------------------------------------------------------- */

/* The order of the vocabulary: <0, 0, >0. Names have no counts. */
static int compare(const list_item *a, const list_item *b)
{
    if (a->count != b->count) {
        return a->count > b->count ? -1 : 1;
    }
    const int32_t size = a->size < b->size ? a->size : b->size;
    const int order = memcmp(a->text, b->text, (size_t)size);
    return order != 0 ? order : (a->size > b->size) - (a->size < b->size);
}

/* The first `most` (-1: all) of two lists; equal items are one. */
static cs_status merge(const word_list *a, const word_list *b, int64_t most, word_list *out)
{
    cs_status status = CS_OK;
    int64_t i = 0, j = 0;
    while (status == CS_OK && (i < a->size || j < b->size) && (most < 0 || out->words < most)) {
        const list_item x = i < a->size ? item_at(a->bytes + i) : (list_item){0};
        const list_item y = j < b->size ? item_at(b->bytes + j) : (list_item){0};
        const int order = i == a->size ? 1 : j == b->size ? -1 : compare(&x, &y);
        status = append(out, order <= 0 ? &x : &y);
        i += order <= 0 ? HEAD + x.size : 0;
        j += order >= 0 ? HEAD + y.size : 0;
    }
    return status;
}

static cs_status receive(cs_comm *c, int from, word_list *out)
{
    int64_t head[2] = {0};
    c->swap(c, -1, NULL, 0, from, head, sizeof head);
    out->words = head[0];
    out->size = out->capacity = head[1];
    out->bytes = cs_alloc(out->size, 1);
    if (!out->bytes) return CS_ERR_MEMORY;
    c->swap(c, -1, NULL, 0, from, out->bytes, out->size);
    return CS_OK;
}

static void send(cs_comm *c, int to, const word_list *l)
{
    const int64_t head[2] = {l->words, l->size};
    c->swap(c, to, head, sizeof head, -1, NULL, 0);
    c->swap(c, to, l->bytes, l->size, -1, NULL, 0);
}

/* The list of rank 0 to all. */
static cs_status spread(cs_comm *c, word_list *l)
{
    int64_t head[2] = {l->words, l->size};
    cs_comm_spread(c, head, sizeof head);
    if (c->rank > 0) {
        word_list_free(l);
        l->words = head[0];
        l->size = l->capacity = head[1];
        l->bytes = cs_alloc(l->size, 1);
        if (!l->bytes) return CS_ERR_MEMORY;
    }
    cs_comm_spread(c, l->bytes, l->size);
    return CS_OK;
}

/* Merges the lists of all ranks, and makes a table of the result on each. */
static cs_status join(cs_comm *c, word_list *l, int64_t most, cs_word_table *out)
{
    cs_status status = CS_OK;
    for (int s = 1; s < c->ranks && status == CS_OK; s *= 2) {
        CS_AUTO(word_list) other = {0}, merged = {0};
        if (c->rank % (2 * s) == s) {
            send(c, c->rank - s, l);
            break;
        }
        if (c->rank + s < c->ranks) {
            status = receive(c, c->rank + s, &other);
            if (status == CS_OK) status = merge(l, &other, most, &merged);
            if (status == CS_OK) {
                word_list_free(l);
                *l = merged;
                merged = (word_list){0};
            }
        }
    }
    if (status == CS_OK) status = spread(c, l);
    return status == CS_OK ? add_items(out, l->bytes, l->size) : status;
}

/* The ranked words of a table, without <unk>. */
static cs_status list_ranked(const cs_word_table *t, bool names, int64_t most, word_list *out)
{
    static const char unknown[] = "<unk>";
    CS_AUTO_FREE int32_t *ranked = NULL;
    int64_t count = 0;
    cs_status status = cs_word_table_rank(t, names, &ranked, &count);
    for (int64_t r = 0; r < count && status == CS_OK && (most < 0 || out->words < most); ++r) {
        list_item i = item_of(t, ranked[r]);
        const bool skip = !names && i.size == (int32_t)sizeof unknown - 1 &&
                          memcmp(i.text, unknown, sizeof unknown - 1) == 0;
        i.count = names ? 0 : i.count;
        if (!skip) status = append(out, &i);
    }
    return status;
}

cs_status cs_vocabulary_join(cs_comm *c, const cs_word_table *words, int64_t most,
                             cs_word_table *out)
{
    CS_AUTO(cs_word_table) owned = {0};
    CS_AUTO(word_list) list = {0};
    cs_status status = exchange(c, words, &owned);
    if (status == CS_OK) status = list_ranked(&owned, false, most, &list);
    cs_word_table_free(&owned);
    return status == CS_OK ? join(c, &list, most, out) : status;
}

cs_status cs_names_join(cs_comm *c, const cs_word_table *names, cs_word_table *out)
{
    CS_AUTO(word_list) list = {0};
    cs_status status = list_ranked(names, true, -1, &list);
    return status == CS_OK ? join(c, &list, -1, out) : status;
}
