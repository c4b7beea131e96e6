/* Layer norm with its residual: a warp a row, sums over the row in a fixed butterfly; gain and bias
 * gradients by two-stage column sums. Mean and variance are taken of the sum as it is stored, so
 * that backward sees the same numbers.
 */
#include "cuda/columns.cuh"

enum { WARPS = 4 };

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

template <typename T, int N> static __global__ void norm_grad_kernel(Norm<T> b)
{
    int lane = (int)threadIdx.x % WARP;
    int64_t row = (int64_t)blockIdx.x * WARPS + (int)threadIdx.x / WARP;
    if (row >= b.rows) {
        return;
    }
    float mean = *b.mean.row(row), rstd = *b.rstd.row(row);
    float sum_g = 0.0F, sum_gn = 0.0F;
    for (int64_t pack = lane; pack < b.packs; pack += WARP) {
        float s[N], dy[N], gain[N];
        load<T, N>(b.s.row(row) + pack * N, s);
        load<T, N>(b.dy.row(row) + pack * N, dy);
        load<float, N>(b.gain.x + pack * N, gain);
#pragma unroll
        for (int i = 0; i < N; ++i) {
            float g = dy[i] * gain[i];
            sum_g += g;
            sum_gn += g * ((s[i] - mean) * rstd);
        }
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

template <typename T, int N> static __global__ void gain_grad_kernel(Norm<T> b, float *part)
{
    column_stage<2, N>(b.rows, b.cols, part, [=](int64_t row, int64_t col, float(*out)[N]) {
        float m = *b.mean.row(row), r = *b.rstd.row(row);
        load<T, N>(b.dy.row(row) + col, out[1]);
        load<T, N>(b.s.row(row) + col, out[0]);
#pragma unroll
        for (int n = 0; n < N; ++n) {
            out[0][n] = out[1][n] * ((out[0][n] - m) * r);
        }
    });
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

/* A warp a row; `wide`: 16 bytes at a time. */
template <typename T>
static cs_status by_rows(const cs_run *run, const char *what, void (*kernel)(Norm<T>), Norm<T> f,
                         bool wide)
{
    f.packs = wide ? f.cols / PACK<T> : f.cols;
    return launch(cuda_of(run), what, kernel, dim3((unsigned)ceil_div(f.rows, WARPS)),
                  dim3(WARPS * WARP), 0, f);
}

template <typename T> cs_status layer_norm_forward(const cs_run *run, const cs_op *op)
{
    Norm<T> f = norm_matrices<T>(run, op);
    bool wide = all_wide(f.cols, f.x, f.s, f.y, f.r) && wide_row<T>(f.gain.x, f.cols) &&
                wide_row<T>(f.bias.x, f.cols);
    return by_rows(run, "layer norm", wide ? norm_kernel<T, PACK<T>> : norm_kernel<T, 1>, f, wide);
}

template <typename T>
static cs_status gain_grads(const cs_run *run, const cs_op_layer_norm *o, const Norm<T> &b)
{
    Cuda *c = cuda_of(run);
    int64_t parts = column_parts(b.rows);
    float *part = NULL;
    cs_matrix bias = c->host->matrix(run, o->bias.tensor);
    bool four = wide_rows(b.dy, b.cols, 4 * (int64_t)sizeof(T)) &&
                wide_rows(b.s, b.cols, 4 * (int64_t)sizeof(T));
    cs_status status = cuda_scratch(c, 2 * parts * b.cols, &part);
    if (status == CS_OK)
        status = launch(
            c, "gain and bias gradients", four ? gain_grad_kernel<T, 4> : gain_grad_kernel<T, 1>,
            column_grid(b.rows, b.cols, four ? 4 : 1), dim3(COLUMN_WIDE, COLUMN_DEEP), 0, b, part);
    if (status == CS_OK && o->gain.grad)
        status = column_sum(c, parts, b.cols, part, c->host->matrix(run, o->gain.tensor).grad);
    if (status == CS_OK && bias.grad && o->bias.grad)
        status = column_sum(c, parts, b.cols, part + parts * b.cols, bias.grad);
    return status;
}

template <typename T> cs_status layer_norm_backward(const cs_run *run, const cs_op *op)
{
    const cs_op_layer_norm *o = &op->layer_norm;
    Norm<T> b = norm_matrices<T>(run, op);
    cs_status status = CS_OK;
    if (o->gain.grad || (b.bias.x && o->bias.grad)) {
        status = gain_grads<T>(run, o, b);
    }
    if (status != CS_OK || (!b.dx.x && !b.dr.x)) return status;
    bool wide = all_wide(b.cols, b.s, b.dy, b.ds, b.dx, b.dr) && wide_row<T>(b.gain.x, b.cols);
    return by_rows(run, "layer norm gradient",
                   wide ? norm_grad_kernel<T, PACK<T>> : norm_grad_kernel<T, 1>, b, wide);
}

BY_TYPE(layer_norm)
