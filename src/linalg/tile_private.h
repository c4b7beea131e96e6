/* Products of packed panels, one 16 x 16 tile of the result at a time, for the Gram matrix and the
 * top pairs. Private to src/linalg.
 *
 * A panel holds 16 columns of a matrix over some rows, row by row: panel[k * 16 + i]. A tile c[i *
 * 16 + j] gains sum_k a[k * 16 + i] b[k * 16 + j], k in order, one fused multiply-add a term (a
 * product and a sum on machines without): at most k + 1 roundings. The order is fixed, so bits do
 * not depend on which thread computes which tile. */
#pragma once

#include <stdint.h>

#include "base/ints.h"
#include "base/simd.h"
#include "base/status.h"
#include "io/rows.h"

enum {
    CS_TILE = 16, /* columns of a panel: a cache line of floats a row */
    /* rows of a panel: 8 KB of floats, so that two fit in the L1 cache */
    CS_TILE_STEPS = 128,
    CS_TILE_LANES = 16, /* partial sums of a row's squares */
};

/* The vector kernels of one instruction set; all sizes are whole panels. */
typedef struct {
    const char *name; /* "avx512", "avx2", "base" */
    /* [0] of floats, [1] of doubles */
    void (*product[2])(int64_t steps, const void *a, const void *b, void *c);

    /* Packs columns 0..cols-1 (at most 16, zeros beyond) of `rows` rows of x, adds their sums over
     * the rows to sum[16], and their squares to square[row * CS_TILE_LANES + lane]; [2] takes
     * floats and treats them as [1] treats the equal doubles. */
    void (*pack[3])(int64_t rows, int64_t cols, const void *x, int64_t ld, void *panel, void *sum,
                    void *square);

    /* to[i * ld + j] += tile[i * 16 + j] */
    void (*widen)(const float *tile, double *to, int64_t ld);

    /* Counts each of the 256 values of a tile in bins[cs_tile_key(x) >> shift]. Bit j of found[i]:
     * entry (i, j) is at least `least`; returns whether any is. */
    bool (*scan)(const float *tile, float least, int shift, uint64_t *bins, uint32_t *found);
} cs_tile_kernels;

CS_SIMD_DECLARE(cs_tile_kernels, cs_tile_kernels);

/* CS_ERR_INPUT: names the first value of the row that is not finite in the type (double if wide,
 * else float), or, if all are finite, says that its squares are not. */
cs_status cs_tile_bad_row(const cs_rows *rows, int64_t row, bool wide) CS_MUST_CHECK;

/* The best kernels that this processor supports. */
static inline const cs_tile_kernels *cs_tile_kernels_here(void)
{
    const cs_tile_kernels *const sets[] = CS_SIMD_TABLES(cs_tile_kernels);
    return sets[cs_simd_sets() - 1];
}

/* An unsigned integer in the order of the floats (-0 just below 0), and back. */
static inline uint32_t cs_tile_key(float x)
{
    union {
        float value;
        uint32_t bits;
    } u = {x};
    return u.bits & 0x80000000U ? ~u.bits : u.bits | 0x80000000U;
}

static inline float cs_tile_value(uint32_t key)
{
    union {
        uint32_t bits;
        float value;
    } u = {key & 0x80000000U ? key & 0x7fffffffU : ~key};
    return u.value;
}
