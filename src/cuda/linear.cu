/* Linear layers: products by gemm.cu, bias and activation by cuBLASLt's epilogue where it fits,
 * else by the kernels here; the bias gradient by two-stage column sums, in the pass that takes the
 * activation's slope where there is one. */
#include "cuda/column_sums.cuh"

/* y = act(y + b) in place, or with z: z = z + b stays and y = act(z). b may be NULL. */
template <typename T, int N>
static __global__ void act_kernel(int64_t rows, int64_t packs, Rows<T> z, Rows<T> y, const float *b,
                                  int act)
{
    int64_t row = TILE_ROW, pack = TILE_PACK;
    if (row >= rows || pack >= packs) {
        return;
    }
    float x[N];
    load<T, N>(z.row(row) + pack * N, x);
    if (b) {
        float bias[N];
        load<float, N>(b + pack * N, bias);
#pragma unroll
        for (int i = 0; i < N; ++i) {
            x[i] += bias[i];
        }
        if (z.x != y.x) {
            store<T, N>(z.row(row) + pack * N, x);
        }
    }
#pragma unroll
    for (int i = 0; i < N; ++i) {
        x[i] = activate(act, z.x != y.x ? rounded<T>(x[i]) : x[i]);
    }
    store<T, N>(y.row(row) + pack * N, x);
}

/* dy *= act'(z), in place. */
template <typename T, int N>
static __global__ void slope_kernel(int64_t rows, int64_t packs, Rows<T> dy, Rows<T> z, int act)
{
    int64_t row = TILE_ROW, pack = TILE_PACK;
    if (row >= rows || pack >= packs) {
        return;
    }
    float g[N], x[N];
    load<T, N>(dy.row(row) + pack * N, g);
    load<T, N>(z.row(row) + pack * N, x);
#pragma unroll
    for (int i = 0; i < N; ++i) {
        g[i] *= activate_slope(act, x[i]);
    }
    store<T, N>(dy.row(row) + pack * N, g);
}

/* Column sums of dy; with z of dy *= act'(z), which is left in its place. */
template <typename T, int N>
static __global__ void bias_grad_kernel(int64_t rows, int64_t cols, Rows<T> dy, Rows<const T> z,
                                        int act, float *part)
{
    column_stage<1, N>(rows, cols, part, [=](int64_t row, int64_t col, float(*out)[N]) {
        float *g = out[0];
        load<T, N>(dy.row(row) + col, g);
        if (z.x) {
            float x[N];
            load<T, N>(z.row(row) + col, x);
#pragma unroll
            for (int i = 0; i < N; ++i) {
                g[i] = rounded<T>(g[i] * activate_slope(act, x[i]));
            }
            store<T, N>(dy.row(row) + col, g);
        }
    });
}

/* --- forward ---------------------------------------------------------------------------------- */

template <typename T>
static cs_status finish_forward(Cuda *c, const cs_matrix &z, const cs_matrix &y, const void *bias,
                                int act)
{
    Rows<T> from = rows_of<T>(z), to = rows_of<T>(y);
    const float *b = static_cast<const float *>(bias);
    bool wide = all_wide(y.cols, from, to) && wide_row<T>(b, y.cols);
    return launch_packs(c, "bias and activation", wide ? PACK<T> : 1,
                        wide ? act_kernel<T, PACK<T>> : act_kernel<T, 1>, y.rows, y.cols, from, to,
                        b, act);
}

template <typename T> cs_status linear_forward(const cs_run *run, const cs_op *op)
{
    constexpr bool HALF = sizeof(T) == sizeof(bf16);
    const cs_op_linear *o = &op->linear;
    Cuda *c = cuda_of(run);
    cs_matrix x = c->host->matrix(run, o->x.tensor), w = c->host->matrix(run, o->w.tensor);
    cs_matrix b = c->host->matrix(run, o->b.tensor), y = c->host->matrix(run, o->y);
    cs_matrix z = o->z != CS_NONE ? c->host->matrix(run, o->z) : y;
    const bf16 *half_w = NULL, *half_b = NULL;
    cs_status status = cuda_shadow(run, w.x, &half_w);
    if (status == CS_OK) status = cuda_shadow(run, b.x, &half_b);
    if (status != CS_OK) return status;
    const void *weights = HALF ? static_cast<const void *>(half_w) : w.x;
    /* y^T = w x^T, seen by columns */
    Product p = {true, false, y.cols, y.rows, x.cols, weights, w.ld,
                 x.x,  x.ld,  z.x,    z.ld,   HALF,   HALF};
    if (HALF) {
        Product fused = p;
        fused.bias = half_b;
        if (o->act == CS_ACT_GELU_TANH && o->z != CS_NONE) {
            fused.before = static_cast<bf16 *>(z.x);
            fused.ld_before = z.ld;
            fused.d = y.x;
            fused.ldd = y.ld;
            if (z.ld % 8 == 0 && gemm_fuses(c, &fused)) {
                return gemm_run(c, &fused);
            }
            fused.before = NULL;
            fused.d = z.x;
            fused.ldd = z.ld;
        }
        if (half_b && gemm_fuses(c, &fused)) {
            p = fused;
            b.x = NULL; /* done by the product */
        }
    }
    status = gemm_run(c, &p);
    return status != CS_OK || (o->act == CS_ACT_NONE && !b.x)
               ? status
               : finish_forward<T>(c, z, y, b.x, o->act);
}

/* --- backward --------------------------------------------------------------------------------- */

template <typename T>
static cs_status slope(Cuda *c, const cs_matrix &y, const cs_matrix &z, int act)
{
    Rows<T> dy = grads_of<T>(y, true), before = rows_of<T>(z);
    bool wide = all_wide(y.cols, dy, before);
    return launch_packs(c, "slope", wide ? PACK<T> : 1,
                        wide ? slope_kernel<T, PACK<T>> : slope_kernel<T, 1>, y.rows, y.cols, dy,
                        before, act);
}

/* b' += column sums of z' = y' act'(z), which takes the place of y'; z absent: of y'. */
template <typename T>
static cs_status bias_grad(Cuda *c, const cs_matrix &y, const cs_matrix &z, int act,
                           const cs_matrix &b)
{
    Rows<T> dy = grads_of<T>(y, true);
    Rows<const T> before = rows_of<const T>(z);
    bool four = wide_rows(dy, y.cols, 4 * (int64_t)sizeof(T)) &&
                wide_rows(before, y.cols, 4 * (int64_t)sizeof(T));
    float *part = NULL;
    cs_status status = cuda_scratch(c, column_parts(y.rows) * y.cols, &part);
    if (status == CS_OK)
        status = launch(c, z.x ? "slope and bias gradient" : "bias gradient",
                        four ? bias_grad_kernel<T, 4> : bias_grad_kernel<T, 1>,
                        column_grid(y.rows, y.cols, four ? 4 : 1), dim3(COLUMN_WIDE, COLUMN_DEEP),
                        0, y.rows, y.cols, dy, before, act, part);
    return status ? status : column_sum(c, column_parts(y.rows), y.cols, part, b.grad);
}

template <typename T> cs_status linear_backward(const cs_run *run, const cs_op *op)
{
    constexpr bool HALF = sizeof(T) == sizeof(bf16);
    const cs_op_linear *o = &op->linear;
    Cuda *c = cuda_of(run);
    cs_matrix x = c->host->matrix(run, o->x.tensor), w = c->host->matrix(run, o->w.tensor);
    cs_matrix b = c->host->matrix(run, o->b.tensor), y = c->host->matrix(run, o->y);
    cs_matrix z = c->host->matrix(run, o->act != CS_ACT_NONE ? o->z : CS_NONE);
    cs_status status = CS_OK;
    if (o->b.grad) {
        status = bias_grad<T>(c, y, z, o->act, b);
    } else if (z.x) {
        status = slope<T>(c, y, z, o->act);
    }
    if (status == CS_OK && o->w.grad) {
        /* w'^T += x^T z', seen by columns */
        Product p = {false,  true, x.cols, y.cols, y.rows, x.x,   x.ld,
                     y.grad, y.ld, w.grad, w.ld,   HALF,   false, true};
        status = gemm_run(c, &p);
    }
    if (status == CS_OK && o->x.grad) {
        const bf16 *half_w = NULL;
        status = cuda_shadow(run, w.x, &half_w);
        const void *weights = HALF ? static_cast<const void *>(half_w) : w.x;
        Product p = {false,  false, x.cols, y.rows, y.cols, weights, w.ld,
                     y.grad, y.ld,  x.grad, x.ld,   HALF,   HALF,    o->x.add};
        status = status ? status : gemm_run(c, &p);
    }
    return status;
}

BY_TYPE(linear)
