/* Items sorted by a value, the largest first and ties by number; and plain values, for qsort. */
#pragma once

#include <stdint.h>

#include "base/status.h"

typedef struct {
    double value; /* not NaN */
    int64_t index;
} cs_scored;

static inline int cs_scored_compare(const void *pa, const void *pb)
{
    const cs_scored *a = (const cs_scored *)pa, *b = (const cs_scored *)pb;
    if (a->value != b->value) {
        return a->value > b->value ? -1 : 1;
    }
    return a->index < b->index ? -1 : a->index > b->index;
}

/* The same order for many items, by a stable radix sort: items with equal values must be given in
 * the order of their numbers. Memory: 16 bytes an item. CS_ERR_MEMORY. */
cs_status cs_scored_sort(int64_t n, cs_scored *list) CS_MUST_CHECK;

/* Doubles that are not NaN, in ascending order. */
static inline int cs_ascending(const void *pa, const void *pb)
{
    const double a = *(const double *)pa, b = *(const double *)pb;
    return (a > b) - (a < b);
}
