/* The kernels of tile_private.h for AVX2 with FMA; empty on other machines. */
#if defined(__x86_64__)
#include <immintrin.h>
#include <string.h>

#include "linalg/tile_private.h"

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma GCC target("avx2,fma")
#endif
enum { GRIP = 6, STRIP = 2 };
#define WIDTH 32
#define NAME "avx2"
#define KERNELS cs_tile_avx2
#define UNROLL _Pragma("GCC unroll 16")
#define fused_single(a, b, c) ((vf)_mm256_fmadd_ps((__m256)(a), (__m256)(b), (__m256)(c)))
#define fused_double(a, b, c) ((vd)_mm256_fmadd_pd((__m256d)(a), (__m256d)(b), (__m256d)(c)))
#define signs(v) ((uint32_t)_mm256_movemask_ps((__m256)(v)))
#include "linalg/tile_kernels_private.h"
#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif
