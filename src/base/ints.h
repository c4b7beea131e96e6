/* The smaller and the larger of two sizes, and their order for qsort. */
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

static inline int cs_by_size(const void *x, const void *y)
{
    const int64_t a = *(const int64_t *)x, b = *(const int64_t *)y;
    return (a > b) - (a < b);
}
