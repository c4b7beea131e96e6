/* The items that dropout keeps: a function of (seed, step, micro-batch, operation, row, column), so
 * that there is no generator state to save and every backend drops the same items.
 *
 * Philox 4x32-10 (Salmon et al., SC 2011) gives four words for four neighbouring columns. The CUDA
 * compiler reads this header too. */
#pragma once

#include <stdint.h>

#ifdef __CUDACC__
#define CS_HOST_DEVICE __host__ __device__
#else
#define CS_HOST_DEVICE
#endif

typedef struct {
    uint32_t word[4];
} cs_four_words;

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
    uint32_t c0 = c, c1 = row, c2 = purpose ^ (micro << 16), c3 = step;
    uint32_t k0 = (uint32_t)seed ^ 0x44524f50U, k1 = (uint32_t)(seed >> 32);
    for (int round = 0; round < 10; ++round) {
        uint64_t p0 = (uint64_t)0xD2511F53U * c0;
        uint64_t p1 = (uint64_t)0xCD9E8D57U * c2;
        c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
        c1 = (uint32_t)p1;
        c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c3 = (uint32_t)p0;
        k0 += 0x9E3779B9U;
        k1 += 0xBB67AE85U;
    }
    cs_four_words w = {{c0, c1, c2, c3}};
    return w;
}

/* An item is kept when its word is at least this: p in [0, 1). */
static inline CS_HOST_DEVICE uint32_t cs_drop_threshold(double p)
{
    return (uint32_t)(p * 4294967296.0);
}
