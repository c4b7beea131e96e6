/* Byte strings as a tree of their prefixes, to find those that begin at a position of a text. */
#pragma once

#include <stdint.h>

#include "base/status.h"

typedef struct {
    int32_t node, byte, to;
} cs_trie_edge;

/* Node 0 is the root, node i + 1 the end of edge i. Zeroed: empty. */
typedef struct {
    cs_trie_edge *edge;
    int64_t edges, edge_capacity;
    int32_t *value; /* of a node: the stored value, -1 for none */
    int64_t value_capacity;
    int32_t *slot; /* open addressing over (node, byte): edge + 1, 0 when free */
    int64_t slots; /* a power of two above 2 * edges */
} cs_trie;

/* Stores a value >= 0 at a string; *there: the value that it has (an earlier one is kept).
 * CS_ERR_INPUT past 2^30 nodes. Cost: linear in the string, amortised. */
cs_status cs_trie_put(cs_trie *trie, const char *bytes, int64_t size, int32_t value,
                      int32_t *there) CS_MUST_CHECK;

/* The node that a byte leads to, -1 if no string continues so. */
int32_t cs_trie_step(const cs_trie *trie, int32_t node, uint8_t byte);

/* The value of the longest string that begins the text, and its bytes; -1 for none. */
int32_t cs_trie_longest(const cs_trie *trie, const char *text, int64_t size, int64_t *length);

void cs_trie_free(cs_trie *trie);
