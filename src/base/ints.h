/* The smaller and the larger of two sizes. */
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
