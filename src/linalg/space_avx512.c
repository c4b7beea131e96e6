/* The kernels of space_private.h for AVX-512; empty on other machines. */
#if defined(__x86_64__)
#include <immintrin.h>

#include "linalg/csr.h"
#include "linalg/space_private.h"

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f"))), apply_to = function)
#else
#pragma GCC target("avx512f")
#endif
#define WIDTH 64
#define NAME "avx512"
#define KERNELS cs_space_avx512
#define UNROLL _Pragma("GCC unroll 16")
#define FUSED(a, b, c) ((vd)_mm512_fmadd_pd((__m512d)(a), (__m512d)(b), (__m512d)(c)))
#include "linalg/space_kernels_private.h"
#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif
