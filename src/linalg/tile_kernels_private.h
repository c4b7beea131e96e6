/* The kernels of tile_private.h: one text for AVX-512, AVX2 with FMA and any machine (tile_*.c),
 * which name the width of a vector in bytes, WIDTH, and the fused operations. A tile is computed in
 * strips that the registers hold: GRIP rows of two vectors.
 */
#include "linalg/tile_private.h"

#include <string.h>

typedef float vf __attribute__((vector_size(WIDTH)));
typedef double vd __attribute__((vector_size(WIDTH)));
typedef uint32_t vu __attribute__((vector_size(WIDTH)));
typedef int32_t vi __attribute__((vector_size(WIDTH)));
typedef float vf_any __attribute__((vector_size(WIDTH), aligned(4), may_alias));
typedef double vd_any __attribute__((vector_size(WIDTH), aligned(8), may_alias));

enum {
    WF = WIDTH / 4,
    WD = WIDTH / 8,
    AHEAD = 16, /* rows asked of the caches beforehand */
    LINE = 64,  /* bytes of a line of theirs */
};

#define real float
#define vector vf
#define vector_any vf_any
#define LANES WF
#define FUSED fused_single
#define TYPED(name) name
#include "linalg/tile_typed_private.h"

#define real double
#define vector vd
#define vector_any vd_any
#define LANES WD
#define FUSED fused_double
#define TYPED(name) name##_wide
#include "linalg/tile_typed_private.h"

static void widen(int64_t n, const float *x, double *to)
{
    typedef float half __attribute__((vector_size(WIDTH / 2)));
    int64_t i = 0;
    for (; i + WD <= n; i += WD) {
        half v;
        memcpy(&v, x + i, sizeof v);
        *(vd_any *)(to + i) += __builtin_convertvector(v, vd);
    }
    for (; i < n; ++i) {
        to[i] += (double)x[i];
    }
}

/* Keys of a vector at a time; the counting itself is scalar. */
static bool scan(const float *x, float least, int shift, uint64_t *bins)
{
    vi found = {0};
    uint32_t bin[CS_TILE];
    uint64_t word[WIDTH / 8], any = 0;
    UNROLL for (int64_t i = 0; i < CS_TILE / WF; ++i)
    {
        vf v = *(const vf_any *)(x + i * WF);
        vu key = (vu)v ^ ((vu)((vi)v >> 31) | 0x80000000U);
        key >>= (uint32_t)shift;
        memcpy(bin + i * WF, &key, sizeof key);
        found |= v >= least;
    }
    for (int i = 0; i < CS_TILE; ++i) {
        ++bins[bin[i]];
    }
    memcpy(word, &found, sizeof word);
    UNROLL for (int i = 0; i < WIDTH / 8; ++i)
    {
        any |= word[i];
    }
    return any != 0;
}

const cs_tile_kernels KERNELS = {
    .name = NAME,
    .product = product,
    .product_wide = product_wide,
    .pack = pack,
    .pack_wide = pack_wide,
    .widen = widen,
    .scan = scan,
};
