/* The kernels of tile_private.h for AVX-512; empty on other machines. */
#if defined(__x86_64__)
#include <immintrin.h>
#include <string.h>

#include "linalg/tile_private.h"

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f"))), apply_to = function)
#else
#pragma GCC target("avx512f")
#endif
enum { GRIP = 16, STRIP = 1 };
#define WIDTH 64
#define NAME "avx512"
#define KERNELS cs_tile_avx512
#define UNROLL _Pragma("GCC unroll 16")
#define fused_single(a, b, c) ((vf)_mm512_fmadd_ps((__m512)(a), (__m512)(b), (__m512)(c)))
#define fused_double(a, b, c) ((vd)_mm512_fmadd_pd((__m512d)(a), (__m512d)(b), (__m512d)(c)))
#define signs(v) ((uint32_t)_mm512_cmplt_epi32_mask((__m512i)(v), _mm512_setzero_si512()))
#include "linalg/tile_kernels_private.h"
#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif
