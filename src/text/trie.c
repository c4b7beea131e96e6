/* All edges in one hash table keyed by (node, byte): 12 bytes an edge and one look a step, without
 * the search for free places that arrays of transitions take when they are made. */
#include "text/trie.h"

#include <string.h>

#include "base/mem.h"
#include "text/pair_queue_private.h"

static uint64_t probe(const cs_trie *t, int32_t node, uint8_t byte)
{
    return cs_pair_slot(t->slot, t->slots, t->edge, sizeof *t->edge, node, byte);
}

static cs_status add_edge(cs_trie *t, int32_t node, uint8_t byte, int32_t *to)
{
    cs_status status = CS_OK;
    if (t->edges >= 1 << 30) {
        return cs_fail(CS_ERR_INPUT, "more than 2^30 prefixes of tokens");
    }
    if (2 * (t->edges + 1) >= t->slots) {
        status = cs_pair_slots_grow(&t->slot, &t->slots, 1024, t->edge, sizeof *t->edge, t->edges);
    }
    if (status == CS_OK)
        status = cs_reserve(&t->edge, &t->edge_capacity, t->edges + 1, sizeof *t->edge);
    if (status == CS_OK)
        status = cs_reserve(&t->value, &t->value_capacity, t->edges + 2, sizeof *t->value);
    if (status != CS_OK) return status;
    if (t->edges == 0) {
        t->value[0] = -1;
    }
    uint64_t s = probe(t, node, byte);
    *to = (int32_t)t->edges + 1;
    t->edge[t->edges++] = (cs_trie_edge){node, byte, *to};
    t->value[*to] = -1;
    t->slot[s] = (int32_t)t->edges;
    return CS_OK;
}

int32_t cs_trie_step(const cs_trie *t, int32_t node, uint8_t byte)
{
    int32_t edge = t->slots > 0 ? t->slot[probe(t, node, byte)] - 1 : -1;
    return edge < 0 ? -1 : edge + 1;
}

cs_status cs_trie_put(cs_trie *t, const char *bytes, int64_t size, int32_t value, int32_t *there)
{
    int32_t node = 0;
    for (int64_t i = 0; i < size; ++i) {
        int32_t next = cs_trie_step(t, node, (uint8_t)bytes[i]);
        if (next < 0) {
            cs_status status = add_edge(t, node, (uint8_t)bytes[i], &next);
            if (status != CS_OK) return status;
        }
        node = next;
    }
    if (size > 0 && t->value[node] < 0) {
        t->value[node] = value;
    }
    *there = size > 0 ? t->value[node] : -1;
    return CS_OK;
}

int32_t cs_trie_longest(const cs_trie *t, const char *text, int64_t size, int64_t *length)
{
    int32_t node = 0, best = -1;
    for (int64_t i = 0; i < size; ++i) {
        node = cs_trie_step(t, node, (uint8_t)text[i]);
        if (node < 0) {
            break;
        }
        if (t->value[node] >= 0) {
            best = t->value[node];
            *length = i + 1;
        }
    }
    return best;
}

void cs_trie_free(cs_trie *t)
{
    CS_FREE_FIELDS(t, edge, value, slot);
    memset(t, 0, sizeof *t);
}
