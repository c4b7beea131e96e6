/* Vector kernels written once for several instruction sets. A file *_kernels.c is compiled once for
 * each set with CS_SIMD, the bits of a vector: 128 on any machine, 256 for AVX2 with FMA, 512 for
 * AVX-512 (the Makefile has the flags). Each object has a table CS_SIMD_TABLE(name) of its
 * functions, and callers use the table of the widest set that the processor supports. Kernels use
 * the vector types of GCC and clang. Nothing is fused or reordered unless written so; sets differ
 * in bits only where a sum has as many lanes as a vector, or is fused. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The tables of all sets, the simplest first, and the number of them that this processor supports.
 */
#if defined(__x86_64__)
#define CS_SIMD_DECLARE(type, name) extern const type name##_128, name##_256, name##_512
#define CS_SIMD_TABLES(name)                                                                       \
    {                                                                                              \
        &name##_128, &name##_256, &name##_512                                                      \
    }
static inline int cs_simd_sets(void)
{
    __builtin_cpu_init();
    bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                  __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw");
    return !avx2 ? 1 : !avx512 ? 2 : 3;
}
#else
#define CS_SIMD_DECLARE(type, name) extern const type name##_128
#define CS_SIMD_TABLES(name)                                                                       \
    {                                                                                              \
        &name##_128                                                                                \
    }
static inline int cs_simd_sets(void)
{
    return 1;
}
#endif

/* Plain loops that the compiler vectorises, with a clone for each set that is selected at program
 * start. Off under sanitizers, whose runtime is not ready then. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) &&                             \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define CS_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define CS_CLONES
#endif

#if defined(CS_SIMD) /* only in kernels */

#if CS_SIMD > 128
#include <immintrin.h>
#endif

#define CS_SIMD_JOIN(name, bits) name##_##bits
#define CS_SIMD_OF(name, bits) CS_SIMD_JOIN(name, bits)
#define CS_SIMD_TABLE(name) CS_SIMD_OF(name, CS_SIMD)
#define ALWAYS static inline __attribute__((always_inline))

/* Sums stay in registers only if their loops are unrolled. */
#if defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

enum { SIMD_BYTES = CS_SIMD / 8, WF = SIMD_BYTES / 4, WD = SIMD_BYTES / 8 };

typedef float vf __attribute__((vector_size(SIMD_BYTES)));
typedef double vd __attribute__((vector_size(SIMD_BYTES)));
typedef int32_t vi __attribute__((vector_size(SIMD_BYTES)));
typedef uint32_t vu __attribute__((vector_size(SIMD_BYTES)));
typedef uint64_t vw __attribute__((vector_size(SIMD_BYTES)));
/* A vector in memory, aligned as an item. */
typedef float vf_any __attribute__((vector_size(SIMD_BYTES), aligned(4), may_alias));
typedef double vd_any __attribute__((vector_size(SIMD_BYTES), aligned(8), may_alias));

/* fused: a b + c, rounded once where the set can; greater: a > b ? a : b; lesser: a < b ? a : b;
 * root: square roots; signs: a bit for each negative lane; pick: the items of x at the indices i;
 * even_products: of words 0, 2, ..., in full width. */
#if CS_SIMD == 512
#define SIMD_NAME "avx512"
#define fused(a, b, c) ((vf)_mm512_fmadd_ps((__m512)(a), (__m512)(b), (__m512)(c)))
#define fused_wide(a, b, c) ((vd)_mm512_fmadd_pd((__m512d)(a), (__m512d)(b), (__m512d)(c)))
#define greater(a, b) ((vf)_mm512_max_ps((__m512)(a), (__m512)(b)))
#define lesser(a, b) ((vf)_mm512_min_ps((__m512)(a), (__m512)(b)))
#define root(a) ((vf)_mm512_sqrt_ps((__m512)(a)))
#define signs(v) bits_of_mask(_mm512_cmplt_epi32_mask((__m512i)(v), _mm512_setzero_si512()))
/* Without optimisation gcc's header has a macro here, whose own mask changes its sign. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsign-conversion"
ALWAYS vf pick(const float *x, vi at)
{
    return (vf)_mm512_i32gather_ps((__m512i)at, x, 4);
}
#pragma GCC diagnostic pop
#define even_products(a, b) ((vw)_mm512_mul_epu32((__m512i)(a), (__m512i)(b)))
#elif CS_SIMD == 256
#define SIMD_NAME "avx2"
#define fused(a, b, c) ((vf)_mm256_fmadd_ps((__m256)(a), (__m256)(b), (__m256)(c)))
#define fused_wide(a, b, c) ((vd)_mm256_fmadd_pd((__m256d)(a), (__m256d)(b), (__m256d)(c)))
#define greater(a, b) ((vf)_mm256_max_ps((__m256)(a), (__m256)(b)))
#define lesser(a, b) ((vf)_mm256_min_ps((__m256)(a), (__m256)(b)))
#define root(a) ((vf)_mm256_sqrt_ps((__m256)(a)))
#define signs(v) ((uint32_t)_mm256_movemask_ps((__m256)(v)))
#define pick(x, i) ((vf)_mm256_i32gather_ps(x, (__m256i)(i), 4))
#define even_products(a, b) ((vw)_mm256_mul_epu32((__m256i)(a), (__m256i)(b)))
#else
#define SIMD_NAME "base"
#define fused(a, b, c) ((a) * (b) + (c))
#define fused_wide(a, b, c) ((a) * (b) + (c))
#define greater(a, b) choose((a) > (b), (a), (b))
#define lesser(a, b) choose((a) < (b), (a), (b))
#define root(a) root_by_item(a)
#define signs(v) signs_by_item(v)
#define pick(x, i) pick_by_item(x, i)
#define even_products(a, b) (((vw)(a)&0xffffffffU) * ((vw)(b)&0xffffffffU))
#endif

ALWAYS vf all(float x)
{
    return x - (vf){0};
}

ALWAYS vd all_wide(double x)
{
    return x - (vd){0};
}

ALWAYS vf choose(vi mask, vf yes, vf no)
{
    return (vf)(((vi)yes & mask) | ((vi)no & ~mask));
}

#if CS_SIMD == 512
/* Written by hand: when gcc 12 runs out of registers it spills two bytes of a mask and reloads
 * four. */
ALWAYS uint32_t bits_of_mask(__mmask16 mask)
{
    uint32_t bits;
    __asm__("kmovw %1, %0" : "=r"(bits) : "k"(mask));
    return bits;
}
#endif

#if CS_SIMD == 128
ALWAYS vf root_by_item(vf x)
{
    for (int i = 0; i < WF; ++i) {
        x[i] = __builtin_sqrtf(x[i]);
    }
    return x;
}

ALWAYS uint32_t signs_by_item(vi v)
{
    uint32_t bits = 0;
    for (int i = 0; i < WF; ++i) {
        bits |= (uint32_t)(v[i] < 0) << i;
    }
    return bits;
}

ALWAYS vf pick_by_item(const float *x, vi at)
{
    vf v;
    for (int i = 0; i < WF; ++i) {
        v[i] = x[at[i]];
    }
    return v;
}
#endif

/* Rows seldom end at a vector boundary. A masked access takes as long as a full one. A copy of
 * unknown length is a function call, and its partial stores delay the following vector load until
 * they reach the cache. lanes_of: a mask of the first `left` items, left < WF. */
#if CS_SIMD == 512
#define lanes_of(left) ((__mmask16)((1U << (left)) - 1U))
#define load_lanes(x, left) ((vf)_mm512_maskz_loadu_ps(lanes_of(left), x))
#define store_lanes(x, left, v) _mm512_mask_storeu_ps(x, lanes_of(left), (__m512)(v))
#define first_lanes(v, left) ((vf)_mm512_maskz_mov_ps(lanes_of(left), (__m512)(v)))
#elif CS_SIMD == 256
#define lanes_of(left)                                                                             \
    _mm256_cmpgt_epi32(_mm256_set1_epi32((int)(left)), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7))
#define load_lanes(x, left) ((vf)_mm256_maskload_ps(x, lanes_of(left)))
#define store_lanes(x, left, v) _mm256_maskstore_ps(x, lanes_of(left), (__m256)(v))
#define first_lanes(v, left) ((vf)((__m256i)(v)&lanes_of(left)))
#else
ALWAYS vf load_lanes(const float *x, int64_t left)
{
    vf v = {0};
    __builtin_memcpy(&v, x, (size_t)left * sizeof *x);
    return v;
}
#define store_lanes(x, left, v) __builtin_memcpy(x, &(v), (size_t)(left) * sizeof *(x))
#define first_lanes(v, left) load_lanes((const float *)&(v), left)
#endif

/* The first min(WF, left) items, zero beyond. */
ALWAYS vf load(const float *x, int64_t left)
{
    if (left >= WF) {
        return *(const vf_any *)x;
    }
    return load_lanes(x, left);
}

ALWAYS void store(float *x, int64_t left, vf v)
{
    if (left >= WF) {
        *(vf_any *)x = v;
    } else {
        store_lanes(x, left, v);
    }
}

/* Zero beyond the first `left` items. */
ALWAYS vf first(vf v, int64_t left)
{
    return left >= WF ? v : first_lanes(v, left);
}

ALWAYS float total(vf v)
{
    float sum = v[0];
    for (int i = 1; i < WF; ++i) {
        sum += v[i];
    }
    return sum;
}

#endif
