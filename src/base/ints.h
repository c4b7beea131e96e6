/* Minimum and maximum of two sizes, and orders for qsort. */
#pragma once

#include <stdint.h>

static inline int64_t cs_least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t cs_most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* a / b, rounded up. */
static inline int64_t cs_ceiling(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

/* Negative, 0 or positive as a is less than, equal to or greater than b. */
#define CS_ORDER(a, b) (((a) > (b)) - ((a) < (b)))

static inline int cs_by_size(const void *x, const void *y)
{
    return CS_ORDER(*(const int64_t *)x, *(const int64_t *)y);
}

/* Defines an ascending order of items by one member, and by another member on ties. */
#define CS_RISING(name, type, first, then)                                                         \
    static int name(const void *x, const void *y)                                                  \
    {                                                                                              \
        const type *a = x, *b = y;                                                                 \
        const int order = CS_ORDER(a->first, b->first);                                            \
        return order ? order : CS_ORDER(a->then, b->then);                                         \
    }

/* x[i + 1] += x[i] for i = 0 .. n - 1: counts that are shifted by one become the starts of lists.
 */
static inline void cs_starts(int64_t n, int64_t *x)
{
    for (int64_t i = 0; i < n; ++i) {
        x[i + 1] += x[i];
    }
}
