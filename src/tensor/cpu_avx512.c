/* The vector kernels of the CPU backend for AVX-512 (cpu_simd_private.h); empty on other machines.
 */
#include "tensor/cpu_private.h"

#if defined(__x86_64__)
#include <immintrin.h>
#include <math.h>
#include <string.h>

#define SIMD_AVX512
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f,avx512dq,avx512vl,avx512bw,fma"))),    \
                             apply_to = function)
#else
#pragma GCC target("avx512f,avx512dq,avx512vl,avx512bw,fma")
#endif
#include "tensor/cpu_simd_private.h"
#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif
