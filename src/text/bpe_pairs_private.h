/* Pairs of adjacent tokens in the pieces of a text: their counts, and where they occur. Used by
 * bpe_train.c. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "text/pair_queue_private.h"

typedef struct {
    int32_t left, right;
    int64_t count; /* occurrences, weighted by the counts of the pieces */
    int32_t place; /* first of its list of places, -1 at the end */
    bool gained;   /* in the list of pairs to be queued */
} cs_bpe_pair;

/* A piece that contains, or once contained, the pair. */
typedef struct {
    int32_t piece, next;
} cs_pair_place;

typedef struct {
    cs_bpe_pair *pair; /* by first appearance */
    int64_t pairs, pair_room;
    int32_t *slot; /* open addressing: pair + 1, 0 when free */
    int64_t slots;
    cs_pair_place *place;
    int64_t places, place_room;
    int32_t free_place; /* list of places that were freed, -1 when empty */
    int32_t *gained;    /* pairs that gained occurrences since the last queueing */
    int64_t gains, gain_room;
    cs_queued *heap;
    int64_t heap_size, heap_room;
} cs_pair_table;

void cs_pair_table_init(cs_pair_table *table);
void cs_pair_table_free(cs_pair_table *table);

/* Adds `change` occurrences of (left, right) in a piece; a positive change also adds the place.
 * CS_ERR_INPUT past 2^31 - 2 pairs or places. */
cs_status cs_pair_table_change(cs_pair_table *table, int32_t left, int32_t right, int32_t piece,
                               int64_t change) CS_MUST_CHECK;

/* Queues the pairs that gained occurrences, with their current counts. */
cs_status cs_pair_table_queue(cs_pair_table *table) CS_MUST_CHECK;

/* Removes the most frequent pair from the queue; -1 when no queued pair has a positive count. */
cs_status cs_pair_table_top(cs_pair_table *table, int32_t *pair) CS_MUST_CHECK;

/* Removes the first place from the list of a pair; -1 when it is empty. */
int32_t cs_pair_table_next_piece(cs_pair_table *table, int32_t pair);
