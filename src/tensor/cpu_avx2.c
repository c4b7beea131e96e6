/* The vector kernels of the CPU backend for AVX2 (cpu_simd_private.h); empty on other machines. */
#include "tensor/cpu_private.h"

#if defined(__x86_64__)
#include <immintrin.h>
#include <math.h>
#include <string.h>

#define SIMD_AVX2
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma GCC target("avx2,fma")
#endif
#include "tensor/cpu_simd_private.h"
#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif
