/* The kernels of tile_private.h. A tile is computed in pieces that the registers hold: GRIP rows of
 * STRIP vectors.
 */
#include "linalg/tile_private.h"

#include <string.h>

enum {
    GRIP = CS_SIMD == 512   ? 16
           : CS_SIMD == 256 ? 6
                            : 4,
    STRIP = CS_SIMD == 512 ? 1 : 2,
};

#define real float
#define vector vf
#define vector_any vf_any
#define LANES WF
#define FUSED fused
#define ALL all
#define TYPED(name) name
#include "linalg/tile_typed_private.h"

#define real double
#define vector vd
#define vector_any vd_any
#define LANES WD
#define FUSED fused_wide
#define ALL all_wide
#define TYPED(name) name##_wide
#include "linalg/tile_typed_private.h"

typedef float half __attribute__((vector_size(SIMD_BYTES / 2)));

static void widen(const float *tile, double *to, int64_t ld)
{
    for (int64_t i = 0; i < CS_TILE; ++i, tile += CS_TILE, to += ld) {
        UNROLL for (int64_t j = 0; j < CS_TILE; j += WD)
        {
            half v;
            memcpy(&v, tile + j, sizeof v);
            *(vd_any *)(to + j) += __builtin_convertvector(v, vd);
        }
    }
}

/* Through the panel, whose lines the packer then finds in the first level cache. */
static void pack_widened(int64_t rows, int64_t cols, const void *items, int64_t ld, void *packed,
                         void *sum, void *square)
{
    const float *x = items;
    double *to = packed;
    for (int64_t k = 0; k < rows; ++k, x += ld, to += CS_TILE) {
        float row[CS_TILE] = {0};
        const float *from = cols < CS_TILE ? memcpy(row, x, (size_t)cols * sizeof *x) : x;
        UNROLL for (int64_t j = 0; j < CS_TILE; j += WD)
        {
            half v;
            memcpy(&v, from + j, sizeof v);
            *(vd_any *)(to + j) = __builtin_convertvector(v, vd);
        }
    }
    pack_wide(rows, CS_TILE, packed, CS_TILE, packed, sum, square);
}

/* Keys of a vector at a time; the counting itself is scalar. */
static bool scan(const float *tile, float least, int shift, uint64_t *bins, uint32_t *found)
{
    uint32_t any = 0;
    for (int i = 0; i < CS_TILE; ++i, tile += CS_TILE) {
        uint32_t bin[CS_TILE], bits = 0;
        UNROLL for (int64_t j = 0; j < CS_TILE / WF; ++j)
        {
            vf v = *(const vf_any *)(tile + j * WF);
            vu key = (vu)v ^ ((vu)((vi)v >> 31) | 0x80000000U);
            key >>= (uint32_t)shift;
            memcpy(bin + j * WF, &key, sizeof key);
            bits |= signs(v >= least) << (j * WF);
        }
        for (int j = 0; j < CS_TILE; ++j) {
            ++bins[bin[j]];
        }
        any |= found[i] = bits;
    }
    return any != 0;
}

const cs_tile_kernels CS_SIMD_TABLE(cs_tile_kernels) = {
    .name = SIMD_NAME,
    .product = {product, product_wide},
    .pack = {pack, pack_wide, pack_widened},
    .widen = widen,
    .scan = scan,
};
