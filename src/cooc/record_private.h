/* Records: sums of contributions to one entry, in the order of the matrix. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"

/* A sum of contributions to one entry from one class. Records are ordered by key, column, class. */
typedef struct {
    cs_hash128 key;
    int32_t col, label;
    int64_t units;
    int64_t sequence, ordinal; /* lowest that contributed */
} cs_record;

/* A record of this column, after those of all columns, has the units of its row in one class. The
 * entries of the row then come without class (windows_rows.c). */
#define CS_CLASS_COL INT32_MAX

static inline int cs_record_compare(const cs_record *a, const cs_record *b)
{
    int order = cs_hash_compare(a->key, b->key);
    if (order == 0) {
        order = (a->col > b->col) - (a->col < b->col);
    }
    return order != 0 ? order : (a->label > b->label) - (a->label < b->label);
}

static inline bool cs_record_same(const cs_record *a, const cs_record *b)
{
    return ((a->key.high ^ b->key.high) | (a->key.low ^ b->key.low)) == 0 && a->col == b->col &&
           a->label == b->label;
}

/* Units wrap around: their sum over all records is checked where they are made. */
static inline void cs_record_add(cs_record *to, const cs_record *from)
{
    to->units = (int64_t)((uint64_t)to->units + (uint64_t)from->units);
    if (from->sequence < to->sequence ||
        (from->sequence == to->sequence && from->ordinal < to->ordinal)) {
        to->sequence = from->sequence;
        to->ordinal = from->ordinal;
    }
}

/* Keys are uniform, so their top bits divide sorted records into ranges with about equal numbers of
 * rows, which are merged concurrently; a row is never divided. */
enum { CS_RANGE_BITS = 6, CS_RANGES = 1 << CS_RANGE_BITS };

static inline int64_t cs_range_of(const cs_record *r)
{
    return (int64_t)(r->key.high >> (64 - CS_RANGE_BITS));
}
