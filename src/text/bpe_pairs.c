/* Counts change far more often than the most frequent pair is asked for, so the queue holds counts
 * as they were when queued: an entry whose pair has lost occurrences since goes back with its
 * present count when it comes up, and a pair that gains some is queued again. Places are linked
 * lists in one block; a place whose pair has gone from the piece is found out when it is used. */
#include "text/bpe_pairs_private.h"

#include <string.h>

#include "base/mem.h"

void cs_pair_table_init(cs_pair_table *t)
{
    *t = (cs_pair_table){.free_place = -1};
}

void cs_pair_table_free(cs_pair_table *t)
{
    CS_FREE_FIELDS(t, pair, slot, place, gained, heap);
    memset(t, 0, sizeof *t);
}

static cs_status reserve(void *array, int64_t *room, int64_t wanted, size_t size)
{
    return wanted < INT32_MAX ? cs_reserve(array, room, wanted, size)
                              : cs_fail(CS_ERR_INPUT,
                                        "the training text has more than %d pairs or occurrences "
                                        "of pairs; train on less text",
                                        INT32_MAX - 1);
}

/* --- pairs --- */

static uint64_t probe(const cs_pair_table *t, int32_t left, int32_t right)
{
    return cs_pair_slot(t->slot, t->slots, t->pair, sizeof *t->pair, left, right);
}

/* At most half of the slots are taken. */
static cs_status grow_slots(cs_pair_table *t)
{
    int64_t slots = t->slots > 0 ? 2 * t->slots : 8192;
    int32_t *slot = cs_calloc(slots, sizeof *slot);
    if (!slot) return CS_ERR_MEMORY;
    cs_free(t->slot);
    t->slot = slot;
    t->slots = slots;
    for (int64_t i = 0; i < t->pairs; ++i) {
        slot[probe(t, t->pair[i].left, t->pair[i].right)] = (int32_t)i + 1;
    }
    return CS_OK;
}

static cs_status find(cs_pair_table *t, int32_t left, int32_t right, int32_t *out)
{
    cs_status status = reserve(&t->pair, &t->pair_room, t->pairs + 1, sizeof *t->pair);
    if (status == CS_OK && 2 * (t->pairs + 1) > t->slots) status = grow_slots(t);
    if (status != CS_OK) return status;
    uint64_t s = probe(t, left, right);
    if (t->slot[s] == 0) {
        t->pair[t->pairs] = (cs_bpe_pair){left, right, 0, -1, false};
        t->pairs += 1;
        t->slot[s] = (int32_t)t->pairs;
    }
    *out = t->slot[s] - 1;
    return CS_OK;
}

static cs_status new_place(cs_pair_table *t, int32_t *out)
{
    if (t->free_place >= 0) {
        *out = t->free_place;
        t->free_place = t->place[t->free_place].next;
        return CS_OK;
    }
    cs_status status = reserve(&t->place, &t->place_room, t->places + 1, sizeof *t->place);
    if (status == CS_OK) *out = (int32_t)t->places++;
    return status;
}

cs_status cs_pair_table_change(cs_pair_table *t, int32_t left, int32_t right, int32_t piece,
                               int64_t change)
{
    int32_t p = 0, place = 0;
    cs_status status = find(t, left, right, &p);
    if (status != CS_OK) return status;
    cs_bpe_pair *pair = &t->pair[p];
    pair->count += change;
    if (change < 0) {
        return CS_OK;
    }
    if (!pair->gained) {
        status = reserve(&t->gained, &t->gain_room, t->gains + 1, sizeof *t->gained);
        if (status != CS_OK) return status;
        t->gained[t->gains++] = p;
        pair->gained = true;
    }
    /* Places of one piece are added together: one of them is enough. */
    if (pair->place >= 0 && t->place[pair->place].piece == piece) {
        return CS_OK;
    }
    status = new_place(t, &place);
    if (status == CS_OK) {
        t->place[place] = (cs_pair_place){piece, pair->place};
        pair->place = place;
    }
    return status;
}

int32_t cs_pair_table_next_piece(cs_pair_table *t, int32_t pair)
{
    int32_t place = t->pair[pair].place;
    if (place < 0) {
        return -1;
    }
    t->pair[pair].place = t->place[place].next;
    t->place[place].next = t->free_place;
    t->free_place = place;
    return t->place[place].piece;
}

/* --- queue --- */

/* The largest count first, ties by smaller ids. */
static cs_status push(cs_pair_table *t, int32_t number)
{
    const cs_bpe_pair *pair = &t->pair[number];
    cs_status status = reserve(&t->heap, &t->heap_room, t->heap_size + 1, sizeof *t->heap);
    if (status == CS_OK && pair->count > 0) {
        const uint64_t ids = (uint64_t)(uint32_t)pair->left << 32 | (uint32_t)pair->right;
        cs_queue_push(t->heap, &t->heap_size, (cs_queued){~(uint64_t)pair->count, ids});
    }
    return status;
}

cs_status cs_pair_table_queue(cs_pair_table *t)
{
    cs_status status = CS_OK;
    for (int64_t i = 0; i < t->gains && status == CS_OK; ++i) {
        t->pair[t->gained[i]].gained = false;
        status = push(t, t->gained[i]);
    }
    t->gains = 0;
    return status;
}

cs_status cs_pair_table_top(cs_pair_table *t, int32_t *pair)
{
    cs_status status = CS_OK;
    while (t->heap_size > 0 && status == CS_OK) {
        const cs_queued top = cs_queue_pop(t->heap, &t->heap_size);
        const int64_t count = (int64_t)~top.first;
        *pair = t->slot[probe(t, (int32_t)(top.then >> 32), (int32_t)(top.then & UINT32_MAX))] - 1;
        if (count == t->pair[*pair].count) {
            return CS_OK;
        }
        /* A larger count has an entry of its own. */
        if (t->pair[*pair].count < count) {
            status = push(t, *pair);
        }
    }
    *pair = -1;
    return status;
}
