/* Layer norm with its residual: a warp a row, sums over the row in a fixed butterfly; gain and bias
 * gradients by two-stage column sums. Mean and variance are taken of the sum as it is stored, so
 * that backward sees the same numbers.
 */
#include "cuda/columns.cuh"

enum { WARPS = 4 };

template <typename T> struct NormForward {
    int64_t rows, packs, cols;
    const T *x, *r;
    T *s, *y;
    int64_t ldx, ldr, lds, ldy, ld_mean, ld_rstd;
    const float *gain, *bias;
    float *mean, *rstd;
    double eps;
    Drop drop;
};

/* s == x where there is no residual. */
template <typename T, int N> static __global__ void norm_kernel(NormForward<T> f)
{
    int lane = (int)threadIdx.x % WARP;
    int64_t row = (int64_t)blockIdx.x * WARPS + (int)threadIdx.x / WARP;
    if (row >= f.rows) {
        return; /* whole warps */
    }
    const T *s = f.r ? f.s + row * f.lds : f.x + row * f.ldx;
    float sum = 0.0F;
    for (int64_t pack = lane; pack < f.packs; pack += WARP) {
        float x[N];
        load<T, N>(f.x + row * f.ldx + pack * N, x);
        if (f.r) {
            float r[N];
            load<T, N>(f.r + row * f.ldr + pack * N, r);
            drop<N>(f.drop, (uint32_t)row, (uint32_t)pack * N, r);
#pragma unroll
            for (int i = 0; i < N; ++i) {
                x[i] = rounded<T>(x[i] + r[i]);
            }
            store<T, N>(f.s + row * f.lds + pack * N, x);
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
        load<float, N>(f.gain + pack * N, gain);
        if (f.bias) {
            load<float, N>(f.bias + pack * N, bias);
        }
#pragma unroll
        for (int i = 0; i < N; ++i) {
            x[i] = (x[i] - mean) * rstd * gain[i] + bias[i];
        }
        store<T, N>(f.y + row * f.ldy + pack * N, x);
    }
    if (lane == 0) {
        f.mean[row * f.ld_mean] = mean;
        f.rstd[row * f.ld_rstd] = rstd;
    }
}

template <typename T> struct NormBackward {
    int64_t rows, packs, cols;
    const T *s, *dy, *ds; /* ds: what later operations left, or NULL */
    T *dx, *dr;           /* either may be NULL */
    int64_t lds, ldy, ldx, ldr, ld_mean, ld_rstd;
    const float *gain, *mean, *rstd;
    int add_x, add_r;
    Drop drop;
};

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

template <typename T, int N> static __global__ void norm_grad_kernel(NormBackward<T> b)
{
    int lane = (int)threadIdx.x % WARP;
    int64_t row = (int64_t)blockIdx.x * WARPS + (int)threadIdx.x / WARP;
    if (row >= b.rows) {
        return;
    }
    float mean = b.mean[row * b.ld_mean], rstd = b.rstd[row * b.ld_rstd];
    float sum_g = 0.0F, sum_gn = 0.0F;
    for (int64_t pack = lane; pack < b.packs; pack += WARP) {
        float s[N], dy[N], gain[N];
        load<T, N>(b.s + row * b.lds + pack * N, s);
        load<T, N>(b.dy + row * b.ldy + pack * N, dy);
        load<float, N>(b.gain + pack * N, gain);
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
        load<T, N>(b.s + row * b.lds + pack * N, s);
        load<T, N>(b.dy + row * b.ldy + pack * N, dy);
        load<float, N>(b.gain + pack * N, gain);
        if (b.ds) {
            load<T, N>(b.ds + row * b.lds + pack * N, left);
        }
#pragma unroll
        for (int i = 0; i < N; ++i) {
            float n = (s[i] - mean) * rstd;
            s[i] = rstd * (dy[i] * gain[i] - mean_g - n * mean_gn) + left[i];
        }
        if (b.dx) {
            put_gradient<T, N>(b.dx + row * b.ldx + pack * N, s, b.add_x);
        }
        if (b.dr) {
            drop<N>(b.drop, (uint32_t)row, (uint32_t)pack * N, s);
            put_gradient<T, N>(b.dr + row * b.ldr + pack * N, s, b.add_r);
        }
    }
}

template <typename T, int N>
static __global__ void gain_grad_kernel(int64_t rows, int64_t cols, const T *dy, int64_t ldy,
                                        const T *s, int64_t lds, const float *mean, int64_t ld_mean,
                                        const float *rstd, int64_t ld_rstd, float *part)
{
    column_stage<2, N>(rows, cols, part, [=](int64_t row, int64_t col, float(*out)[N]) {
        float m = mean[row * ld_mean], r = rstd[row * ld_rstd];
        load<T, N>(dy + row * ldy + col, out[1]);
        load<T, N>(s + row * lds + col, out[0]);
#pragma unroll
        for (int n = 0; n < N; ++n) {
            out[0][n] = out[1][n] * ((out[0][n] - m) * r);
        }
    });
}

/* --- host ------------------------------------------------------------------------------------- */

template <typename T> static cs_status forward(const cs_run *run, const cs_op *op)
{
    constexpr int N = 16 / (int)sizeof(T);
    const int64_t size = (int64_t)sizeof(T);
    const cs_op_layer_norm *o = &op->layer_norm;
    Cuda *c = cuda_of(run);
    cs_matrix x = c->host->matrix(run, o->x.tensor), r = c->host->matrix(run, o->r.tensor);
    cs_matrix s = r.x ? c->host->matrix(run, o->s) : x, y = c->host->matrix(run, o->y);
    cs_matrix gain = c->host->matrix(run, o->gain.tensor);
    cs_matrix bias = c->host->matrix(run, o->bias.tensor);
    cs_matrix mean = c->host->matrix(run, o->mean), rstd = c->host->matrix(run, o->rstd);
    bool wide = aligned(x.x, x.ld, x.cols, size, 16) && aligned(s.x, s.ld, x.cols, size, 16) &&
                aligned(y.x, y.ld, x.cols, size, 16) &&
                (!r.x || aligned(r.x, r.ld, x.cols, size, 16)) &&
                aligned(gain.x, 4 * N, x.cols, 4, 4 * N) &&
                (!bias.x || aligned(bias.x, 4 * N, x.cols, 4, 4 * N));
    NormForward<T> f = {};
    f.rows = y.rows;
    f.cols = x.cols;
    f.packs = wide ? x.cols / N : x.cols;
    f.x = static_cast<const T *>(x.x);
    f.r = static_cast<const T *>(r.x);
    f.s = static_cast<T *>(s.x);
    f.y = static_cast<T *>(y.x);
    f.ldx = x.ld;
    f.ldr = r.ld;
    f.lds = s.ld;
    f.ldy = y.ld;
    f.ld_mean = mean.ld;
    f.ld_rstd = rstd.ld;
    f.gain = static_cast<const float *>(gain.x);
    f.bias = static_cast<const float *>(bias.x);
    f.mean = static_cast<float *>(mean.x);
    f.rstd = static_cast<float *>(rstd.x);
    f.eps = o->eps;
    f.drop = drop_of(run, op, 0, o->p);
    return launch(c, "layer norm", wide ? norm_kernel<T, N> : norm_kernel<T, 1>,
                  dim3((unsigned)ceil_div(y.rows, WARPS), 1, 1), dim3(WARPS * WARP, 1, 1), 0, f);
}

cs_status layer_norm_forward(const cs_run *run, const cs_op *op)
{
    return cuda_of(run)->half ? forward<bf16>(run, op) : forward<float>(run, op);
}

template <typename T, int N>
static cs_status gain_grads(Cuda *c, const cs_op_layer_norm *o, const cs_matrix *y,
                            const cs_matrix *s, const cs_matrix *mean, const cs_matrix *rstd,
                            float *gain, float *bias)
{
    int64_t parts = column_parts(y->rows), cols = y->cols;
    void *room = NULL;
    cs_status status = cuda_scratch(c, 2 * parts * cols * (int64_t)sizeof(float), &room);
    float *part = static_cast<float *>(room);
    if (status == CS_OK) {
        status = launch(c, "gain and bias gradients", gain_grad_kernel<T, N>,
                        column_grid(y->rows, cols, N), dim3(COLUMN_WIDE, COLUMN_DEEP, 1), 0,
                        y->rows, cols, static_cast<const T *>(y->grad), y->ld,
                        static_cast<const T *>(s->x), s->ld, static_cast<const float *>(mean->x),
                        mean->ld, static_cast<const float *>(rstd->x), rstd->ld, part);
    }
    if (status == CS_OK && o->gain.grad) {
        status = column_sum(c, parts, cols, part, gain);
    }
    if (status == CS_OK && bias && o->bias.grad) {
        status = column_sum(c, parts, cols, part + parts * cols, bias);
    }
    return status;
}

template <typename T> static cs_status backward(const cs_run *run, const cs_op *op)
{
    constexpr int N = 16 / (int)sizeof(T);
    const int64_t size = (int64_t)sizeof(T);
    const cs_op_layer_norm *o = &op->layer_norm;
    Cuda *c = cuda_of(run);
    cs_matrix x = c->host->matrix(run, o->x.tensor), r = c->host->matrix(run, o->r.tensor);
    cs_matrix s = r.x ? c->host->matrix(run, o->s) : x, y = c->host->matrix(run, o->y);
    cs_matrix gain = c->host->matrix(run, o->gain.tensor);
    cs_matrix bias = c->host->matrix(run, o->bias.tensor);
    cs_matrix mean = c->host->matrix(run, o->mean), rstd = c->host->matrix(run, o->rstd);
    cs_status status = CS_OK;
    if (o->gain.grad || (bias.x && o->bias.grad)) {
        bool packs = aligned(y.grad, y.ld, y.cols, size, 4 * size) &&
                     aligned(s.x, s.ld, y.cols, size, 4 * size);
        status = packs
                     ? gain_grads<T, 4>(c, o, &y, &s, &mean, &rstd, static_cast<float *>(gain.grad),
                                        static_cast<float *>(bias.grad))
                     : gain_grads<T, 1>(c, o, &y, &s, &mean, &rstd, static_cast<float *>(gain.grad),
                                        static_cast<float *>(bias.grad));
    }
    NormBackward<T> b = {};
    b.dx = o->x.grad ? static_cast<T *>(x.grad) : NULL;
    b.dr = r.x && o->r.grad ? static_cast<T *>(r.grad) : NULL;
    if (status != CS_OK || (!b.dx && !b.dr)) {
        return status;
    }
    b.ds = o->s_used ? static_cast<const T *>(s.grad) : NULL;
    bool wide = aligned(s.x, s.ld, x.cols, size, 16) && aligned(y.grad, y.ld, x.cols, size, 16) &&
                (!b.ds || aligned(b.ds, s.ld, x.cols, size, 16)) &&
                (!b.dx || aligned(b.dx, x.ld, x.cols, size, 16)) &&
                (!b.dr || aligned(b.dr, r.ld, x.cols, size, 16)) &&
                aligned(gain.x, 4 * N, x.cols, 4, 4 * N);
    b.rows = y.rows;
    b.cols = x.cols;
    b.packs = wide ? x.cols / N : x.cols;
    b.s = static_cast<const T *>(s.x);
    b.dy = static_cast<const T *>(y.grad);
    b.lds = s.ld;
    b.ldy = y.ld;
    b.ldx = x.ld;
    b.ldr = r.ld;
    b.ld_mean = mean.ld;
    b.ld_rstd = rstd.ld;
    b.gain = static_cast<const float *>(gain.x);
    b.mean = static_cast<const float *>(mean.x);
    b.rstd = static_cast<const float *>(rstd.x);
    b.add_x = o->x.add;
    b.add_r = o->r.add;
    b.drop = drop_of(run, op, 0, o->p);
    return launch(c, "layer norm gradient", wide ? norm_grad_kernel<T, N> : norm_grad_kernel<T, 1>,
                  dim3((unsigned)ceil_div(y.rows, WARPS), 1, 1), dim3(WARPS * WARP, 1, 1), 0, b);
}

cs_status layer_norm_backward(const cs_run *run, const cs_op *op)
{
    return cuda_of(run)->half ? backward<bf16>(run, op) : backward<float>(run, op);
}
