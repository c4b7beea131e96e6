/* The kernels of space_private.h for AVX2 with FMA; empty on other machines. */
#if defined(__x86_64__)
#include <immintrin.h>

#include "linalg/csr.h"
#include "linalg/space_private.h"

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma GCC target("avx2,fma")
#endif
#define WIDTH 32
#define NAME "avx2"
#define KERNELS cs_space_avx2
#define UNROLL _Pragma("GCC unroll 16")
#define FUSED(a, b, c) ((vd)_mm256_fmadd_pd((__m256d)(a), (__m256d)(b), (__m256d)(c)))
#include "linalg/space_kernels_private.h"
#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif
