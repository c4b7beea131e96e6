/* The items that dropout keeps: a function of (seed, step, micro-batch, operation, row, column), so
 * that there is no generator state to save and every backend drops the same items.
 *
 * Philox 4x32-10 (Salmon et al., SC 2011) gives four words for four neighbouring columns. The CUDA
 * compiler reads this header too. */
#pragma once

#include "base/philox.h"

/* The purpose of a draw: an operation by its number in the graph, and a head of attention (0
 * elsewhere). Distinct for 1024 operations and 64 heads. */
static inline CS_HOST_DEVICE uint32_t cs_drop_purpose(int64_t op, int64_t head)
{
    return (uint32_t)(op * 64 + head);
}

/* The words of columns 4c .. 4c+3 of a row (attention: the row of the query among all rows, and the
 * position of the key in its sequence as column). */
static inline CS_HOST_DEVICE cs_four_words cs_drop_words(uint64_t seed, uint32_t step,
                                                         uint32_t micro, uint32_t purpose,
                                                         uint32_t row, uint32_t c)
{
    return cs_philox(c, row, purpose ^ (micro << 16), step, (uint32_t)seed ^ 0x44524f50U,
                     (uint32_t)(seed >> 32));
}

/* An item is kept when its word is at least this: p in [0, 1). */
static inline CS_HOST_DEVICE uint32_t cs_drop_threshold(double p)
{
    return (uint32_t)(p * 4294967296.0);
}
