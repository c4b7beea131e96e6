/* Shared by kernels: items, sums of warps and blocks, dropout, activations. */
#pragma once

#include "cuda/launch.cuh"

extern "C" {
#include "tensor/cuda_plugin.h"
}
#include "tensor/dropout.h"

typedef __nv_bfloat16 bf16;

/* --- items ------------------------------------------------------------------------------------ */

static __device__ inline float to_float(float x)
{
    return x;
}
static __device__ inline float to_float(bf16 x)
{
    return __bfloat162float(x);
}
template <typename T> static __device__ inline T from_float(float x);
template <> __device__ inline float from_float<float>(float x)
{
    return x;
}
template <> __device__ inline bf16 from_float<bf16>(float x)
{
    return __float2bfloat16_rn(x);
}

/* N neighbouring items, read and written at once; memory aligned to sizeof(T) N. */
template <typename T, int N> struct alignas(sizeof(T) * N) Pack {
    T item[N];
};

template <typename T, int N> static __device__ inline void load(const T *from, float out[N])
{
    Pack<T, N> pack = *reinterpret_cast<const Pack<T, N> *>(from);
#pragma unroll
    for (int i = 0; i < N; ++i) {
        out[i] = to_float(pack.item[i]);
    }
}

template <typename T, int N> static __device__ inline void store(T *to, const float x[N])
{
    Pack<T, N> pack;
#pragma unroll
    for (int i = 0; i < N; ++i) {
        pack.item[i] = from_float<T>(x[i]);
    }
    *reinterpret_cast<Pack<T, N> *>(to) = pack;
}

/* x rounded to T, so that computations continue with the stored value. */
template <typename T> static __device__ inline float rounded(float x)
{
    return to_float(from_float<T>(x));
}

/* --- warps ------------------------------------------------------------------------------------ */

static constexpr unsigned ALL_LANES = 0xffffffffU;

template <typename T> static __device__ inline T warp_sum(T x)
{
#pragma unroll
    for (int step = WARP / 2; step > 0; step /= 2) {
        x += __shfl_xor_sync(ALL_LANES, x, step);
    }
    return x;
}

static __device__ inline float warp_max(float x)
{
#pragma unroll
    for (int step = WARP / 2; step > 0; step /= 2) {
        x = fmaxf(x, __shfl_xor_sync(ALL_LANES, x, step));
    }
    return x;
}

/* Sum over the block's threads (a multiple of 32, at most 1024), the same in all of them. `work`
 * has 32 places; free again after the next __syncthreads. */
template <typename T> static __device__ inline T block_sum(T x, T *work)
{
    int lane = (int)threadIdx.x % WARP, warp = (int)threadIdx.x / WARP;
    int warps = (int)blockDim.x / WARP;
    x = warp_sum(x);
    if (lane == 0) {
        work[warp] = x;
    }
    __syncthreads();
    T total = 0;
    for (int w = 0; w < warps; ++w) {
        total += work[w];
    }
    return total;
}

/* --- dropout ---------------------------------------------------------------------------------- */

/* The numbers from which a kernel draws dropout; threshold 0 keeps everything. */
struct Drop {
    const cs_run_key *key;
    uint32_t purpose, threshold;
    float scale; /* 1 / (1 - p) */
};

/* Multiplies N items of a row, columns col .. col+N-1 (col a multiple of N; N 1 or a multiple of
 * 4), by keep / (1 - p). */
template <int N>
static __device__ inline void drop(const Drop &d, uint32_t row, uint32_t col, float x[N])
{
    if (d.threshold == 0 && d.scale == 1.0F) {
        return;
    }
    const cs_run_key key = *d.key;
    if constexpr (N == 1) {
        cs_four_words w = cs_drop_words(key.seed, key.step, key.micro, d.purpose, row, col / 4);
        x[0] = w.word[col % 4] >= d.threshold ? x[0] * d.scale : 0.0F;
    } else {
#pragma unroll
        for (int first = 0; first < N; first += 4) {
            cs_four_words w = cs_drop_words(key.seed, key.step, key.micro, d.purpose, row,
                                            (col + (uint32_t)first) / 4);
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                x[first + i] = w.word[i] >= d.threshold ? x[first + i] * d.scale : 0.0F;
            }
        }
    }
}

/* --- activations (the forms of graph.h) ------------------------------------------------------- */

static __device__ inline float activate(int act, float z)
{
    switch (act) {
    case CS_ACT_GELU_TANH:
        return 0.5F * z * (1.0F + tanhf(0.7978845608028654F * (z + 0.044715F * z * z * z)));
    case CS_ACT_GELU_ERF:
        return 0.5F * z * (1.0F + erff(0.7071067811865476F * z));
    case CS_ACT_RELU:
        return z < 0.0F ? 0.0F : z; /* not-a-number comes through */
    case CS_ACT_TANH:
        return tanhf(z);
    default:
        return z;
    }
}

static __device__ inline float activate_slope(int act, float z)
{
    switch (act) {
    case CS_ACT_GELU_TANH: {
        float t = tanhf(0.7978845608028654F * (z + 0.044715F * z * z * z));
        return 0.5F * (1.0F + t) +
               0.5F * z * (1.0F - t * t) * 0.7978845608028654F * (1.0F + 0.134145F * z * z);
    }
    case CS_ACT_GELU_ERF:
        return 0.5F * (1.0F + erff(0.7071067811865476F * z)) +
               z * 0.3989422804014327F * expf(-0.5F * z * z);
    case CS_ACT_RELU:
        return z > 0.0F ? 1.0F : 0.0F;
    case CS_ACT_TANH: {
        float t = tanhf(z);
        return 1.0F - t * t;
    }
    default:
        return 1.0F;
    }
}
