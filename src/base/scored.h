/* Things listed by a value: the largest first, equal ones by number; and plain values, for qsort. */
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

/* The same order for many, by a radix sort: what has equal values stays in the order that it comes in,
 * which is to be by number. Memory: 16 bytes each. CS_ERR_MEMORY. */
cs_status cs_scored_sort(int64_t n, cs_scored *list) CS_MUST_CHECK;

/* Doubles that are not NaN, the smallest first. */
static inline int cs_ascending(const void *pa, const void *pb)
{
    const double a = *(const double *)pa, b = *(const double *)pb;
    return (a > b) - (a < b);
}
