/* Linear layers: products by gemm.cu, bias and activation by cuBLASLt's epilogue where it fits,
 * else by the kernels here; the bias gradient by two-stage column sums in the same pass as the
 * activation's slope. */
#include "cuda/columns.cuh"

/* y = act(y + b) in place, or with z: z = z + b stays and y = act(z). b may be NULL. */
template <typename T>
static __global__ void bias_act_kernel(int64_t rows, int64_t cols, T *z, int64_t ldz, T *y,
                                       int64_t ldy, const float *b, int act)
{
    int64_t row = TILE_ROW, col = TILE_PACK;
    if (row >= rows || col >= cols) {
        return;
    }
    float x = to_float(z[row * ldz + col]) + (b ? b[col] : 0.0F);
    if (b && z != y) {
        z[row * ldz + col] = from_float<T>(x);
    }
    y[row * ldy + col] = from_float<T>(activate(act, z != y ? rounded<T>(x) : x));
}

/* The same for rows of aligned packs, where there is nothing to add. */
template <typename T, int N>
static __global__ void act_kernel(int64_t rows, int64_t packs, const T *z, int64_t ldz, T *y,
                                  int64_t ldy, int act)
{
    int64_t row = TILE_ROW, pack = TILE_PACK;
    if (row >= rows || pack >= packs) {
        return;
    }
    float x[N];
    load<T, N>(z + row * ldz + pack * N, x);
#pragma unroll
    for (int i = 0; i < N; ++i) {
        x[i] = activate(act, x[i]);
    }
    store<T, N>(y + row * ldy + pack * N, x);
}

/* dy *= act'(z), in place. */
template <typename T, int N>
static __global__ void slope_kernel(int64_t rows, int64_t packs, T *dy, int64_t ldy, const T *z,
                                    int64_t ldz, int act)
{
    int64_t row = TILE_ROW, pack = TILE_PACK;
    if (row >= rows || pack >= packs) {
        return;
    }
    float g[N], x[N];
    load<T, N>(dy + row * ldy + pack * N, g);
    load<T, N>(z + row * ldz + pack * N, x);
#pragma unroll
    for (int i = 0; i < N; ++i) {
        g[i] *= activate_slope(act, x[i]);
    }
    store<T, N>(dy + row * ldy + pack * N, g);
}

template <typename T, int N>
static __global__ void bias_grad_kernel(int64_t rows, int64_t cols, const T *dz, int64_t ld,
                                        float *part)
{
    column_stage<1, N>(rows, cols, part, [=](int64_t row, int64_t col, float(*out)[N]) {
        load<T, N>(dz + row * ld + col, out[0]);
    });
}

/* --- forward ---------------------------------------------------------------------------------- */

template <typename T>
static cs_status finish_forward(Cuda *c, const cs_matrix *z, const cs_matrix *y, const void *b,
                                int act)
{
    constexpr int N = 16 / (int)sizeof(T);
    T *from = static_cast<T *>(z->x), *to = static_cast<T *>(y->x);
    const int64_t size = (int64_t)sizeof(T);
    if (!b && aligned(from, z->ld, y->cols, size, 16) && aligned(to, y->ld, y->cols, size, 16)) {
        Tiling t = tile(y->rows, y->cols / N);
        return launch(c, "activation", act_kernel<T, N>, t.grid, t.block, 0, y->rows, y->cols / N,
                      from, z->ld, to, y->ld, act);
    }
    Tiling t = tile(y->rows, y->cols);
    return launch(c, "bias and activation", bias_act_kernel<T>, t.grid, t.block, 0, y->rows,
                  y->cols, from, z->ld, to, y->ld, static_cast<const float *>(b), act);
}

cs_status linear_forward(const cs_run *run, const cs_op *op)
{
    const cs_op_linear *o = &op->linear;
    Cuda *c = cuda_of(run);
    cs_matrix x = c->host->matrix(run, o->x.tensor), w = c->host->matrix(run, o->w.tensor);
    cs_matrix b = c->host->matrix(run, o->b.tensor), y = c->host->matrix(run, o->y);
    cs_matrix z = o->z != CS_NONE ? c->host->matrix(run, o->z) : y;
    const bf16 *half_w = NULL, *half_b = NULL;
    cs_status status = cuda_shadow(run, w.x, &half_w);
    if (status == CS_OK) {
        status = cuda_shadow(run, b.x, &half_b);
    }
    if (status != CS_OK) {
        return status;
    }
    /* y^T = w x^T, seen by columns */
    Product p = {};
    p.transpose_a = true;
    p.m = y.cols;
    p.n = y.rows;
    p.k = x.cols;
    p.a = c->half ? static_cast<const void *>(half_w) : w.x;
    p.lda = w.ld;
    p.b = x.x;
    p.ldb = x.ld;
    p.d = z.x;
    p.ldd = z.ld;
    p.half_in = p.half_out = c->half;
    if (c->half) {
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
            status = gemm_run(c, &fused);
            return status == CS_OK && o->act != CS_ACT_NONE
                       ? finish_forward<bf16>(c, &z, &y, NULL, o->act)
                       : status;
        }
    }
    status = gemm_run(c, &p);
    if (status != CS_OK || (o->act == CS_ACT_NONE && !b.x)) {
        return status;
    }
    return c->half ? finish_forward<bf16>(c, &z, &y, b.x, o->act)
                   : finish_forward<float>(c, &z, &y, b.x, o->act);
}

/* --- backward --------------------------------------------------------------------------------- */

template <typename T>
static cs_status slope(Cuda *c, const cs_matrix *y, const cs_matrix *z, int act)
{
    constexpr int N = 16 / (int)sizeof(T);
    T *dy = static_cast<T *>(y->grad);
    const T *before = static_cast<const T *>(z->x);
    const int64_t size = (int64_t)sizeof(T);
    if (aligned(dy, y->ld, y->cols, size, 16) && aligned(before, z->ld, y->cols, size, 16)) {
        Tiling t = tile(y->rows, y->cols / N);
        return launch(c, "slope", slope_kernel<T, N>, t.grid, t.block, 0, y->rows, y->cols / N, dy,
                      y->ld, before, z->ld, act);
    }
    Tiling t = tile(y->rows, y->cols);
    return launch(c, "slope", slope_kernel<T, 1>, t.grid, t.block, 0, y->rows, y->cols, dy, y->ld,
                  before, z->ld, act);
}

template <typename T, int N>
static cs_status bias_grad(Cuda *c, const cs_matrix *y, const cs_matrix *b)
{
    void *part = NULL;
    cs_status status =
        cuda_scratch(c, column_parts(y->rows) * y->cols * (int64_t)sizeof(float), &part);
    if (status == CS_OK) {
        status =
            launch(c, "bias gradient", bias_grad_kernel<T, N>, column_grid(y->rows, y->cols, N),
                   dim3(COLUMN_WIDE, COLUMN_DEEP, 1), 0, y->rows, y->cols,
                   static_cast<const T *>(y->grad), y->ld, static_cast<float *>(part));
    }
    return status == CS_OK ? column_sum(c, column_parts(y->rows), y->cols,
                                        static_cast<const float *>(part), b->grad)
                           : status;
}

template <typename T>
static cs_status bias_grad_any(Cuda *c, const cs_matrix *y, const cs_matrix *b)
{
    const int64_t size = (int64_t)sizeof(T);
    return aligned(y->grad, y->ld, y->cols, size, 4 * size) ? bias_grad<T, 4>(c, y, b)
                                                            : bias_grad<T, 1>(c, y, b);
}

cs_status linear_backward(const cs_run *run, const cs_op *op)
{
    const cs_op_linear *o = &op->linear;
    Cuda *c = cuda_of(run);
    cs_matrix x = c->host->matrix(run, o->x.tensor), w = c->host->matrix(run, o->w.tensor);
    cs_matrix b = c->host->matrix(run, o->b.tensor), y = c->host->matrix(run, o->y);
    cs_status status = CS_OK;
    if (!y.grad) {
        return CS_OK;
    }
    if (o->act != CS_ACT_NONE) {
        cs_matrix z = c->host->matrix(run, o->z);
        status = c->half ? slope<bf16>(c, &y, &z, o->act) : slope<float>(c, &y, &z, o->act);
    }
    if (status == CS_OK && o->b.grad) {
        status = c->half ? bias_grad_any<bf16>(c, &y, &b) : bias_grad_any<float>(c, &y, &b);
    }
    if (status == CS_OK && o->w.grad) {
        /* w'^T += x^T z', seen by columns */
        Product p = {};
        p.transpose_b = true;
        p.m = x.cols;
        p.n = y.cols;
        p.k = y.rows;
        p.a = x.x;
        p.lda = x.ld;
        p.b = y.grad;
        p.ldb = y.ld;
        p.d = w.grad;
        p.ldd = w.ld;
        p.half_in = c->half;
        p.add = true;
        status = gemm_run(c, &p);
    }
    if (status == CS_OK && o->x.grad) {
        const bf16 *half_w = NULL;
        status = cuda_shadow(run, w.x, &half_w);
        Product p = {};
        p.m = x.cols;
        p.n = y.rows;
        p.k = y.cols;
        p.a = c->half ? static_cast<const void *>(half_w) : w.x;
        p.lda = w.ld;
        p.b = y.grad;
        p.ldb = y.ld;
        p.d = x.grad;
        p.ldd = x.ld;
        p.half_in = p.half_out = c->half;
        p.add = o->x.add;
        status = status == CS_OK ? gemm_run(c, &p) : status;
    }
    return status;
}
