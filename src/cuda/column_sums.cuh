/* Sums over rows, column by column, into gradients of parameters: in two stages of fixed shape, so
 * that the bits do not depend on anything but the sizes. */
#pragma once

#include "cuda/state.cuh"

/* Rows that one block of the first stage sums, columns it covers, threads along the rows. */
enum { COLUMN_CHUNK = 128, COLUMN_WIDE = 32, COLUMN_DEEP = 8 };

static inline int64_t column_parts(int64_t rows)
{
    return ceil_div(rows, COLUMN_CHUNK);
}

/* First stage, called by blocks of COLUMN_WIDE x COLUMN_DEEP threads, blockIdx.x the chunk of rows,
 * blockIdx.y the group of COLUMN_WIDE N columns: sums `SUMS` values a row and column. value(row,
 * col, out) gives N columns from col. cols is a multiple of N. part: SUMS x parts x cols. */
template <int SUMS, int N, typename Value>
static __device__ inline void column_stage(int64_t rows, int64_t cols, float *part, Value value)
{
    __shared__ float shared[SUMS][COLUMN_DEEP][COLUMN_WIDE * N];
    int64_t col = ((int64_t)blockIdx.y * COLUMN_WIDE + threadIdx.x) * N;
    int64_t first = (int64_t)blockIdx.x * COLUMN_CHUNK;
    int64_t end = first + COLUMN_CHUNK < rows ? first + COLUMN_CHUNK : rows;
    float sum[SUMS][N] = {};
    if (col < cols) {
        for (int64_t row = first + threadIdx.y; row < end; row += COLUMN_DEEP) {
            float x[SUMS][N];
            value(row, col, x);
#pragma unroll
            for (int s = 0; s < SUMS; ++s) {
#pragma unroll
                for (int n = 0; n < N; ++n) {
                    sum[s][n] += x[s][n];
                }
            }
        }
    }
#pragma unroll
    for (int s = 0; s < SUMS; ++s) {
#pragma unroll
        for (int n = 0; n < N; ++n) {
            shared[s][threadIdx.y][threadIdx.x * N + n] = sum[s][n];
        }
    }
    __syncthreads();
    /* a warp (one y) takes every COLUMN_DEEP-th run of 32 columns */
    for (int i = (int)(threadIdx.y * COLUMN_WIDE + threadIdx.x); i < SUMS * COLUMN_WIDE * N;
         i += COLUMN_WIDE * COLUMN_DEEP) {
        int s = i / (COLUMN_WIDE * N), in = i % (COLUMN_WIDE * N);
        int64_t to = (int64_t)blockIdx.y * COLUMN_WIDE * N + in;
        if (to < cols) {
            float total = 0.0F;
            for (int deep = 0; deep < COLUMN_DEEP; ++deep) {
                total += shared[s][deep][in];
            }
            part[((int64_t)s * gridDim.x + blockIdx.x) * cols + to] = total;
        }
    }
}

/* Second stage: out += sum over parts, in a fixed order; column col of the sums is item col % wide
 * of row col / wide of out. */
static __global__ void column_finish(int64_t parts, int64_t cols, int64_t wide, const float *part,
                                     float *out, int64_t ld)
{
    __shared__ float shared[COLUMN_DEEP][COLUMN_WIDE];
    int64_t col = (int64_t)blockIdx.x * COLUMN_WIDE + threadIdx.x;
    float sum = 0.0F;
    if (col < cols) {
        for (int64_t p = threadIdx.y; p < parts; p += COLUMN_DEEP) {
            sum += part[p * cols + col];
        }
    }
    shared[threadIdx.y][threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.y == 0 && col < cols) {
        float total = 0.0F;
        for (int deep = 0; deep < COLUMN_DEEP; ++deep) {
            total += shared[deep][threadIdx.x];
        }
        out[col / wide * ld + col % wide] += total;
    }
}

static inline dim3 column_grid(int64_t rows, int64_t cols, int64_t n)
{
    return dim3((unsigned)column_parts(rows), (unsigned)ceil_div(cols, COLUMN_WIDE * n), 1);
}

static inline cs_status column_sum_matrix(const Cuda *c, int64_t parts, int64_t cols, int64_t wide,
                                          const float *part, void *out, int64_t ld)
{
    return launch(c, "column sums", column_finish,
                  dim3((unsigned)ceil_div(cols, COLUMN_WIDE), 1, 1),
                  dim3(COLUMN_WIDE, COLUMN_DEEP, 1), 0, parts, cols, wide, part,
                  static_cast<float *>(out), ld);
}

static inline cs_status column_sum(const Cuda *c, int64_t parts, int64_t cols, const float *part,
                                   void *out)
{
    return column_sum_matrix(c, parts, cols, cols, part, out, cols);
}
