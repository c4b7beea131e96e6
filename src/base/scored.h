/* Things listed by a value: the largest first, equal ones by number. */
#pragma once

#include <stdint.h>

typedef struct {
    double value; /* not NaN */
    int64_t index;
} cs_scored;

/* For qsort. */
static inline int cs_scored_compare(const void *pa, const void *pb)
{
    const cs_scored *a = (const cs_scored *)pa, *b = (const cs_scored *)pb;
    if (a->value != b->value) {
        return a->value > b->value ? -1 : 1;
    }
    return a->index < b->index ? -1 : a->index > b->index;
}
