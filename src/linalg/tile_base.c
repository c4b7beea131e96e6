/* The kernels of tile_private.h for any machine, in vectors of 16 bytes. */
#include <stdint.h>

typedef int32_t four __attribute__((vector_size(16)));

static uint32_t signs(four v)
{
    uint32_t bits = 0;
    for (int i = 0; i < 4; ++i) {
        bits |= (uint32_t)(v[i] < 0) << i;
    }
    return bits;
}

enum { GRIP = 4, STRIP = 2 };
#define WIDTH 16
#define NAME "base"
#define KERNELS cs_tile_base
#define UNROLL _Pragma("GCC unroll 16")
#define fused_single(a, b, c) ((a) * (b) + (c))
#define fused_double(a, b, c) ((a) * (b) + (c))
#include "linalg/tile_kernels_private.h"
