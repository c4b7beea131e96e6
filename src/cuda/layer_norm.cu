/* Layer norm with its residual: a warp a row, sums over the row in a fixed butterfly; backward sums
 * the gradients of gain and bias block by block on the way, and a second stage adds the blocks. Mean
 * and variance are taken of the sum as it is stored, so that backward sees the same numbers.
 */
#include "cuda/column_sums.cuh"

/* Warps of a block forward and backward; rows that a block of backward sums, and columns that it
 * sums at once (64 KiB of shared memory). */
enum { WARPS = 4, GRAD_WARPS = 8, GRAD_ROWS = 64 };
static constexpr int64_t WINDOW = 1024;

/* Columns first .. first + cols - 1, none: no sums; width: floats that cols take in shared memory.
 */
struct Window {
    int64_t first, cols, width;
};

/* Forward and backward; s is x where there is no residual. */
template <typename T> struct Norm {
    int64_t rows, packs, cols;
    Rows<T> x, r, s, y; /* r absent: no residual */
    Rows<T> dx, dr, dy; /* dx, dr: absent where not wanted */
    Rows<T> ds;         /* what later operations left, or absent */
    Rows<const float> gain, bias;
    Rows<float> mean, rstd;
    double eps;
    int add_x, add_r;
    Drop drop;
};

template <typename T, int N> static __global__ void norm_kernel(Norm<T> f)
{
    int lane = (int)threadIdx.x % WARP;
    int64_t row = (int64_t)blockIdx.x * WARPS + (int)threadIdx.x / WARP;
    if (row >= f.rows) {
        return; /* whole warps */
    }
    T *s = f.s.row(row);
    float sum = 0.0F;
    for (int64_t pack = lane; pack < f.packs; pack += WARP) {
        float x[N];
        load<T, N>(f.x.row(row) + pack * N, x);
        if (f.r.x) {
            float r[N];
            load<T, N>(f.r.row(row) + pack * N, r);
            drop<N>(f.drop, (uint32_t)row, (uint32_t)pack * N, r);
#pragma unroll
            for (int i = 0; i < N; ++i) {
                x[i] = rounded<T>(x[i] + r[i]);
            }
            store<T, N>(s + pack * N, x);
        }
#pragma unroll
        for (int i = 0; i < N; ++i) {
            sum += x[i];
        }
    }
    float mean = warp_sum(sum) / (float)f.cols, square = 0.0F;
    for (int64_t pack = lane; pack < f.packs; pack += WARP) { /* what this lane itself wrote */
        float x[N];
        load<T, N>(s + pack * N, x);
#pragma unroll
        for (int i = 0; i < N; ++i) {
            square += (x[i] - mean) * (x[i] - mean);
        }
    }
    float rstd = (float)(1.0 / sqrt((double)(warp_sum(square) / (float)f.cols) + f.eps));
    for (int64_t pack = lane; pack < f.packs; pack += WARP) {
        float x[N], gain[N], bias[N] = {};
        load<T, N>(s + pack * N, x);
        load<float, N>(f.gain.x + pack * N, gain);
        if (f.bias.x) {
            load<float, N>(f.bias.x + pack * N, bias);
        }
#pragma unroll
        for (int i = 0; i < N; ++i) {
            x[i] = (x[i] - mean) * rstd * gain[i] + bias[i];
        }
        store<T, N>(f.y.row(row) + pack * N, x);
    }
    if (lane == 0) {
        *f.mean.row(row) = mean;
        *f.rstd.row(row) = rstd;
    }
}

template <typename T, int N>
static __device__ inline void put_gradient(T *to, const float x[N], int add)
{
    float out[N] = {};
    if (add) {
        load<T, N>(to, out);
    }
#pragma unroll
    for (int i = 0; i < N; ++i) {
        out[i] += x[i];
    }
    store<T, N>(to, out);
}

/* Where a lane adds what column i of its pack has: neighbouring lanes in neighbouring banks. `pack`
 * is one of this lane's. */
template <int N> static __device__ inline int64_t own_place(int64_t pack, int i)
{
    return (pack / WARP * N + i) * WARP + pack % WARP;
}

/* A warp a row, GRAD_ROWS rows a block. Of the columns of `window`, the block's sums of dy n (gain)
 * and dy (bias) go into part, 2 x blocks x cols: lanes add up columns of their own in shared memory,
 * 2 x width floats a warp. */
template <typename T, int N>
static __global__ void norm_grad_kernel(Norm<T> b, Window window, float *part)
{
    CS_SHARED_BYTES(bytes);
    float *sums = reinterpret_cast<float *>(bytes);
    int lane = (int)threadIdx.x % WARP, warp = (int)threadIdx.x / WARP;
    float *gains = sums + 2 * warp * window.width, *biases = gains + window.width;
    int64_t low = window.first / N, high = (window.first + window.cols) / N;
    for (int64_t i = lane; i < 2 * window.width; i += WARP) {
        gains[i] = 0.0F;
    }
    __syncwarp();
    int64_t end = ((int64_t)blockIdx.x + 1) * GRAD_ROWS;
    for (int64_t row = end - GRAD_ROWS + warp; row < end && row < b.rows; row += GRAD_WARPS) {
        float mean = *b.mean.row(row), rstd = *b.rstd.row(row);
        float sum_g = 0.0F, sum_gn = 0.0F;
        for (int64_t pack = lane; pack < b.packs; pack += WARP) {
            float s[N], dy[N], gain[N];
            load<T, N>(b.s.row(row) + pack * N, s);
            load<T, N>(b.dy.row(row) + pack * N, dy);
            load<float, N>(b.gain.x + pack * N, gain);
            bool own = pack >= low && pack < high;
#pragma unroll
            for (int i = 0; i < N; ++i) {
                float g = dy[i] * gain[i], n = (s[i] - mean) * rstd;
                sum_g += g;
                sum_gn += g * n;
                if (own) {
                    gains[own_place<N>(pack - low, i)] += dy[i] * n;
                    biases[own_place<N>(pack - low, i)] += dy[i];
                }
            }
        }
        if (!b.dx.x && !b.dr.x) {
            continue;
        }
        float mean_g = warp_sum(sum_g) / (float)b.cols, mean_gn = warp_sum(sum_gn) / (float)b.cols;
        for (int64_t pack = lane; pack < b.packs; pack += WARP) {
            float s[N], dy[N], gain[N], left[N] = {};
            load<T, N>(b.s.row(row) + pack * N, s);
            load<T, N>(b.dy.row(row) + pack * N, dy);
            load<float, N>(b.gain.x + pack * N, gain);
            if (b.ds.x) {
                load<T, N>(b.ds.row(row) + pack * N, left);
            }
#pragma unroll
            for (int i = 0; i < N; ++i) {
                float n = (s[i] - mean) * rstd;
                s[i] = rstd * (dy[i] * gain[i] - mean_g - n * mean_gn) + left[i];
            }
            if (b.dx.x) {
                put_gradient<T, N>(b.dx.row(row) + pack * N, s, b.add_x);
            }
            if (b.dr.x) {
                drop<N>(b.drop, (uint32_t)row, (uint32_t)pack * N, s);
                put_gradient<T, N>(b.dr.row(row) + pack * N, s, b.add_r);
            }
        }
    }
    __syncthreads();
    for (int64_t i = threadIdx.x; i < 2 * window.cols; i += blockDim.x) {
        int64_t which = i / window.cols, col = i % window.cols;
        const float *from = sums + which * window.width + own_place<N>(col / N, (int)(col % N));
        float sum = 0.0F;
        for (int w = 0; w < GRAD_WARPS; ++w) {
            sum += from[2 * w * window.width];
        }
        part[(which * gridDim.x + blockIdx.x) * b.cols + window.first + col] = sum;
    }
}

/* --- host ------------------------------------------------------------------------------------- */

template <typename T> static Norm<T> norm_matrices(const cs_run *run, const cs_op *op)
{
    const cs_op_layer_norm *o = &op->layer_norm;
    const cs_plugin_host *host = cuda_of(run)->host;
    cs_matrix x = host->matrix(run, o->x.tensor), r = host->matrix(run, o->r.tensor);
    cs_matrix s = r.x ? host->matrix(run, o->s) : x, y = host->matrix(run, o->y);
    Norm<T> f = {};
    f.rows = y.rows;
    f.cols = x.cols;
    f.x = rows_of<T>(x);
    f.r = rows_of<T>(r);
    f.s = rows_of<T>(s);
    f.y = rows_of<T>(y);
    f.dx = grads_of<T>(x, o->x.grad);
    f.dr = grads_of<T>(r, r.x && o->r.grad);
    f.ds = grads_of<T>(s, o->s_used);
    f.dy = grads_of<T>(y, true);
    f.gain = rows_of<const float>(host->matrix(run, o->gain.tensor));
    f.bias = rows_of<const float>(host->matrix(run, o->bias.tensor));
    f.mean = rows_of<float>(host->matrix(run, o->mean));
    f.rstd = rows_of<float>(host->matrix(run, o->rstd));
    f.eps = o->eps;
    f.add_x = o->x.add;
    f.add_r = o->r.add;
    f.drop = drop_of(run, op, 0, o->p);
    return f;
}

template <typename T> cs_status layer_norm_forward(const cs_run *run, const cs_op *op)
{
    Norm<T> f = norm_matrices<T>(run, op);
    bool wide = all_wide(f.cols, f.x, f.s, f.y, f.r) && wide_row<T>(f.gain.x, f.cols) &&
                wide_row<T>(f.bias.x, f.cols);
    f.packs = wide ? f.cols / PACK<T> : f.cols;
    return launch(cuda_of(run), "layer norm", wide ? norm_kernel<T, PACK<T>> : norm_kernel<T, 1>,
                  dim3((unsigned)ceil_div(f.rows, WARPS)), dim3(WARPS * WARP), 0, f);
}

/* Columns beyond the first window take a pass each for their sums alone, before anything is written.
 */
template <typename T> cs_status layer_norm_backward(const cs_run *run, const cs_op *op)
{
    const cs_op_layer_norm *o = &op->layer_norm;
    Cuda *c = cuda_of(run);
    Norm<T> b = norm_matrices<T>(run, op);
    cs_matrix gain = c->host->matrix(run, o->gain.tensor),
              bias = c->host->matrix(run, o->bias.tensor);
    const bool gain_wanted = o->gain.grad, bias_wanted = bias.grad && o->bias.grad;
    const bool sums = gain_wanted || bias_wanted;
    const bool wide =
        all_wide(b.cols, b.s, b.dy, b.ds, b.dx, b.dr) && wide_row<T>(b.gain.x, b.cols);
    const int64_t n = wide ? (int64_t)PACK<T> : 1, parts = ceil_div(b.rows, GRAD_ROWS);
    b.packs = b.cols / n;
    float *part = NULL;
    cs_status status = sums ? cuda_scratch(c, 2 * parts * b.cols, &part) : CS_OK;
    if (!sums && !b.dx.x && !b.dr.x) return status;
    for (int64_t first = sums ? (b.cols - 1) / WINDOW * WINDOW : 0; status == CS_OK && first >= 0;
         first -= WINDOW) {
        Window window = {first, 0, 0};
        Norm<T> now = b;
        if (sums) {
            window.cols = b.cols - first < WINDOW ? b.cols - first : WINDOW;
            window.width = ceil_div(window.cols, n * WARP) * n * WARP;
        }
        if (first > 0) {
            now.dx.x = now.dr.x = NULL;
        }
        status = launch(c, first > 0 ? "gain and bias gradients" : "layer norm gradient",
                        wide ? norm_grad_kernel<T, PACK<T>> : norm_grad_kernel<T, 1>,
                        dim3((unsigned)parts), dim3(GRAD_WARPS * WARP),
                        GRAD_WARPS * 2 * window.width * (int64_t)sizeof(float), now, window, part);
    }
    if (status == CS_OK && gain_wanted) status = column_sum(c, parts, b.cols, part, gain.grad);
    if (status == CS_OK && bias_wanted)
        status = column_sum(c, parts, b.cols, part + parts * b.cols, bias.grad);
    return status;
}

BY_TYPE(layer_norm)
