/* Shared by training and application of byte pair encoding: hashing of pairs of tokens, and a
 * queue. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"

/* The slot of the pair in a table with open addressing, or the free one (0) where it is to be
 * inserted: slots hold 1 + the number of an item of `size` bytes, whose first two members are left
 * and right. */
static inline uint64_t cs_pair_slot(const int32_t *slot, int64_t slots, const void *items,
                                    size_t size, int32_t left, int32_t right)
{
    uint64_t mask = (uint64_t)slots - 1, x = (uint64_t)(uint32_t)left << 32 | (uint32_t)right;
    x *= 0x9E3779B97F4A7C15U; /* Fibonacci hashing: the high bits are mixed */
    uint64_t s = (x ^ x >> 32) & mask;
    for (; slot[s] != 0; s = (s + 1) & mask) {
        const int32_t *pair = (const void *)((const char *)items + ((size_t)slot[s] - 1) * size);
        if (pair[0] == left && pair[1] == right) {
            break;
        }
    }
    return s;
}

/* Twice as many slots, at first `first` of them, for `count` items. */
static inline cs_status cs_pair_slots_grow(int32_t **slot, int64_t *slots, int64_t first,
                                           const void *items, size_t size, int64_t count)
{
    const int64_t grown = *slots > 0 ? 2 * *slots : first;
    int32_t *made = cs_calloc(grown, sizeof *made);
    if (!made) return CS_ERR_MEMORY;
    for (int64_t i = 0; i < count; ++i) {
        const int32_t *pair = (const void *)((const char *)items + (size_t)i * size);
        made[cs_pair_slot(made, grown, items, size, pair[0], pair[1])] = (int32_t)i + 1;
    }
    cs_free(*slot);
    *slot = made;
    *slots = grown;
    return CS_OK;
}

/* Entries of a binary heap: the smallest `first` is removed first, the smallest `then` on ties. */
typedef struct cs_queued {
    uint64_t first, then;
} cs_queued;

static inline int cs_queued_before(cs_queued a, cs_queued b)
{
    return a.first != b.first ? a.first < b.first : a.then < b.then;
}

/* The heap must have capacity for one more. */
static inline void cs_queue_push(cs_queued *heap, int64_t *size, cs_queued x)
{
    int64_t i = (*size)++;
    while (i > 0 && cs_queued_before(x, heap[(i - 1) / 2])) {
        heap[i] = heap[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    heap[i] = x;
}

static inline cs_queued cs_queue_pop(cs_queued *heap, int64_t *size)
{
    cs_queued top = heap[0], last = heap[--*size];
    int64_t i = 0;
    for (int64_t child = 1; child < *size; child = 2 * i + 1) {
        child += child + 1 < *size && cs_queued_before(heap[child + 1], heap[child]);
        if (!cs_queued_before(heap[child], last)) {
            break;
        }
        heap[i] = heap[child];
        i = child;
    }
    heap[i] = last;
    return top;
}
