/* Instructions of PTX: mma.m16n8k16, mma.m8n8k4, ldmatrix, cp.async, cvt, ex2. Where the fragments of the first
 * two lie: a warp's lane is group * 4 + in, group = lane / 4, in = lane % 4, and
 *
 *   C, D 16 x 8 (float[4]):  item i at row group + 8 (i / 2), column 2 in + i % 2
 *   A 16 x 16 (4 registers): register r at row group + 8 (r % 2), columns 2 in + 8 (r / 2), + 1
 *   B 16 x 8 (2 registers):  register r at rows 2 in + 8 r, + 1, column group
 *
 * So two neighbouring C tiles, rounded, are one A: what is computed as C can be multiplied again
 * without leaving the registers.
 */
#pragma once

#include "cuda/kernels.cuh"

/* d += a b */
static __device__ inline void mma(float d[4], const uint32_t a[4], const uint32_t b[2])
{
#ifdef CS_CUDA_EMULATION
    emulate_mma(d, a, b);
#else
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#endif
}

/* d += a b in double: d 8 x 8 (item i at row group, column 2 in + i), a 8 x 4 (row group, column
 * in), b 4 x 8 (row in, column group). */
static __device__ inline void mma(double d[2], double a, double b)
{
#ifdef CS_CUDA_EMULATION
    emulate_mma_double(d, a, b);
#else
    asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
                 : "+d"(d[0]), "+d"(d[1])
                 : "d"(a), "d"(b));
#endif
}

/* Four 8 x 8 matrices out of shared memory: lane l names row l % 8 of matrix l / 8. */
template <bool TRANSPOSED> static __device__ inline void ldmatrix(uint32_t out[4], const bf16 *row)
{
#ifdef CS_CUDA_EMULATION
    emulate_ldmatrix(out, row, TRANSPOSED);
#else
    unsigned at = (unsigned)__cvta_generic_to_shared(row);
    if (TRANSPOSED) {
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(out[0]), "=r"(out[1]), "=r"(out[2]), "=r"(out[3])
                     : "r"(at)
                     : "memory");
    } else {
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(out[0]), "=r"(out[1]), "=r"(out[2]), "=r"(out[3])
                     : "r"(at)
                     : "memory");
    }
#endif
}

/* 16 bytes to shared memory, zeros where not `there` (from must still be a valid address). */
static __device__ inline void copy_async(bf16 *to, const bf16 *from, bool there)
{
    int bytes = there ? 16 : 0;
#ifdef CS_CUDA_EMULATION
    emulate_copy_async(to, from, bytes);
#else
    unsigned at = (unsigned)__cvta_generic_to_shared(to);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                 :
                 : "r"(at), "l"(from), "r"(bytes)
                 : "memory");
#endif
}

static __device__ inline void copy_commit(void)
{
#ifdef CS_CUDA_EMULATION
    emulate_copy_commit();
#else
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

/* All but the last `LEFT` groups have arrived (for this thread: a barrier must follow). */
template <int LEFT> static __device__ inline void copy_wait(void)
{
#ifdef CS_CUDA_EMULATION
    emulate_copy_wait(LEFT);
#else
    asm volatile("cp.async.wait_group %0;" ::"n"(LEFT) : "memory");
#endif
}

/* Two neighbouring items, the first in the lower half. */
static __device__ inline uint32_t pair_half(float first, float second)
{
#ifdef CS_CUDA_EMULATION
    return (uint32_t)__float2bfloat16_rn(first).bits | (uint32_t)__float2bfloat16_rn(second).bits
                                                           << 16;
#else
    uint32_t out;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(out) : "f"(second), "f"(first));
    return out;
#endif
}

/* 2^x within 2^-22 of itself, zero where it is below 2^-126: exp2f takes three instructions more to
 * keep those. */
static __device__ inline float power_of_2(float x)
{
#ifdef CS_CUDA_EMULATION
    return exp2f(x);
#else
    float out;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(out) : "f"(x));
    return out;
#endif
}

/* --- tiles in shared memory: rows of `STRIDE` items ----------------------------------------------
 * STRIDE = width + 8: the eight rows of a matrix then fall into different banks. */

/* A fragment: rows row .. row+15, columns col .. col+15. */
template <int STRIDE>
static __device__ inline void load_a(uint32_t out[4], const bf16 *tile, int row, int col, int lane)
{
    ldmatrix<false>(out, tile + (row + lane % 16) * STRIDE + col + lane / 16 * 8);
}

/* B fragments of two tiles, B[k][n] = tile[n][k]: n = row .. row+15, k = col .. col+15. out[0..1]
 * belong to the first eight n. */
template <int STRIDE>
static __device__ inline void load_b_rows(uint32_t out[4], const bf16 *tile, int row, int col,
                                          int lane)
{
    ldmatrix<false>(out, tile + (row + lane / 16 * 8 + lane % 8) * STRIDE + col + lane / 8 % 2 * 8);
}

/* B fragments of two tiles, B[k][n] = tile[k][n]: k = row .. row+15, n = col .. col+15. */
template <int STRIDE>
static __device__ inline void load_b_cols(uint32_t out[4], const bf16 *tile, int row, int col,
                                          int lane)
{
    ldmatrix<true>(out, tile + (row + lane % 16) * STRIDE + col + lane / 16 * 8);
}
