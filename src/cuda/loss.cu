/* The losses: a block a row forward (one pass for the largest logit and the sum together), rows x
 * packs backward over the logits in place.
 */
#include "cuda/state.cuh"

enum { LOSS_BLOCK = 256 };

/* A largest value and a sum of exponentials by it. */
struct Peak {
    float most, sum;
};

static __device__ inline Peak join(Peak a, Peak b)
{
    Peak out;
    out.most = fmaxf(a.most, b.most);
    /* -inf - -inf is not a number: an empty side has sum 0 */
    out.sum = (a.sum > 0.0F ? a.sum * expf(a.most - out.most) : a.sum) +
              (b.sum > 0.0F ? b.sum * expf(b.most - out.most) : b.sum);
    return out;
}

/* Over the block, in a fixed order. */
static __device__ inline Peak block_peak(Peak x, Peak *shared)
{
    int lane = (int)threadIdx.x % WARP, warp = (int)threadIdx.x / WARP;
#pragma unroll
    for (int step = WARP / 2; step > 0; step /= 2) {
        Peak other = {__shfl_xor_sync(ALL_LANES, x.most, step),
                      __shfl_xor_sync(ALL_LANES, x.sum, step)};
        x = lane & step ? join(other, x) : join(x, other); /* the same order in both lanes */
    }
    if (lane == 0) {
        shared[warp] = x;
    }
    __syncthreads();
    Peak all = shared[0];
    for (int w = 1; w < (int)blockDim.x / WARP; ++w) {
        all = join(all, shared[w]);
    }
    return all;
}

template <typename T> struct Loss {
    int64_t rows, cols, classes;
    Rows<T> z;
    Rows<const float> weight, goal;
    Rows<float> lse, loss;
    const int32_t *target;
    float factor;
};

/* log sum exp of a row's classes, by its block. */
template <typename T, int N> static __device__ inline float row_lse(int64_t classes, const T *z)
{
    __shared__ Peak shared[WARP];
    Peak own = {-INFINITY, 0.0F};
    for (int64_t first = (int64_t)threadIdx.x * N; first < classes; first += LOSS_BLOCK * N) {
        float x[N], most = own.most;
        load<T, N>(z + first, x);
#pragma unroll
        for (int i = 0; i < N; ++i) {
            x[i] = first + i < classes ? x[i] : -INFINITY;
            most = fmaxf(most, x[i]);
        }
        own.sum = own.sum > 0.0F ? own.sum * expf(own.most - most) : own.sum;
        own.most = most;
#pragma unroll
        for (int i = 0; i < N; ++i) { /* not-a-number ends up in the sum */
            own.sum += x[i] == -INFINITY ? 0.0F : expf(x[i] - most);
        }
    }
    Peak all = block_peak(own, shared);
    return all.most + logf(all.sum);
}

template <typename T, int N> static __global__ void cross_entropy_kernel(Loss<T> f)
{
    int64_t row = blockIdx.x;
    int32_t goal = f.target[row];
    if (goal < 0) {
        if (threadIdx.x == 0) {
            *f.lse.row(row) = 0.0F;
            *f.loss.row(row) = 0.0F;
        }
        return;
    }
    const T *z = f.z.row(row);
    float value = row_lse<T, N>(f.classes, z);
    if (threadIdx.x == 0) {
        *f.lse.row(row) = value;
        *f.loss.row(row) = *f.weight.row(row) * (value - to_float(z[goal]));
    }
}

template <typename T, int N>
static __global__ void cross_entropy_grad_kernel(int64_t rows, int64_t packs, Loss<T> f)
{
    int64_t row = TILE_ROW, pack = TILE_PACK;
    if (row >= rows || pack >= packs) {
        return;
    }
    int32_t goal = f.target[row];
    float x[N], w = *f.weight.row(row), from = *f.lse.row(row);
    load<T, N>(f.z.row(row) + pack * N, x);
#pragma unroll
    for (int i = 0; i < N; ++i) {
        int64_t col = pack * N + i;
        bool counts = goal >= 0 && col < f.classes;
        x[i] = counts ? w * (expf(x[i] - from) - (col == goal ? 1.0F : 0.0F)) : 0.0F;
    }
    store<T, N>(f.z.row(row) + pack * N, x);
}

template <typename T> static __global__ void soft_kernel(Loss<T> f)
{
    __shared__ float shared[WARP];
    int64_t row = blockIdx.x;
    const T *z = f.z.row(row);
    float value = row_lse<T, 1>(f.classes, z), sum = 0.0F;
    for (int64_t col = threadIdx.x; col < f.classes; col += LOSS_BLOCK) {
        sum += f.goal.row(row)[col] * to_float(z[col]);
    }
    sum = block_sum(sum, shared);
    if (threadIdx.x == 0) {
        *f.lse.row(row) = value;
        *f.loss.row(row) = *f.weight.row(row) * (value - sum);
    }
}

template <typename T> static __global__ void soft_grad_kernel(int64_t rows, int64_t cols, Loss<T> f)
{
    int64_t row = TILE_ROW, col = TILE_PACK;
    if (row >= rows || col >= cols) {
        return;
    }
    T *z = f.z.row(row) + col;
    float p = expf(to_float(*z) - *f.lse.row(row));
    *z = from_float<T>(*f.weight.row(row) * (p - f.goal.row(row)[col]));
}

template <typename T> static __global__ void spectral_kernel(Loss<T> f)
{
    __shared__ float shared[WARP];
    int64_t row = blockIdx.x;
    const T *z = f.z.row(row);
    float sum = 0.0F;
    for (int64_t col = threadIdx.x; col < f.classes; col += LOSS_BLOCK) {
        float x = to_float(z[col]);
        sum += f.goal.x[col] * x * x;
    }
    sum = block_sum(sum, shared);
    if (threadIdx.x == 0) {
        int32_t goal = f.target[row];
        *f.loss.row(row) =
            goal < 0 ? 0.0F : *f.weight.row(row) * (sum - f.factor * to_float(z[goal]));
    }
}

template <typename T>
static __global__ void spectral_grad_kernel(int64_t rows, int64_t cols, Loss<T> f)
{
    int64_t row = TILE_ROW, col = TILE_PACK;
    if (row >= rows || col >= cols) {
        return;
    }
    int32_t goal = f.target[row];
    T *z = f.z.row(row) + col;
    float dz = 0.0F;
    if (goal >= 0 && col < f.classes) {
        dz = 2.0F * f.goal.x[col] * to_float(*z) - (col == goal ? f.factor : 0.0F);
    }
    *z = from_float<T>(dz * *f.weight.row(row));
}

template <typename T> static __global__ void squared_kernel(Loss<T> f)
{
    __shared__ float shared[WARP];
    int64_t row = blockIdx.x;
    float sum = 0.0F;
    for (int64_t col = threadIdx.x; col < f.cols; col += LOSS_BLOCK) {
        float e = to_float(f.z.row(row)[col]) - f.goal.row(row)[col];
        sum += e * e;
    }
    sum = block_sum(sum, shared);
    if (threadIdx.x == 0) {
        *f.loss.row(row) = *f.weight.row(row) * sum;
    }
}

template <typename T>
static __global__ void squared_grad_kernel(int64_t rows, int64_t cols, Loss<T> f)
{
    int64_t row = TILE_ROW, col = TILE_PACK;
    if (row >= rows || col >= cols) {
        return;
    }
    T *z = f.z.row(row) + col;
    float e = to_float(*z) - f.goal.row(row)[col];
    *z = from_float<T>(2.0F * *f.weight.row(row) * e);
}

/* --- host ------------------------------------------------------------------------------------- */

template <typename T> static Loss<T> loss_of(const cs_run *run, const cs_op *op)
{
    const cs_op_loss *o = &op->loss;
    const cs_plugin_host *host = cuda_of(run)->host;
    cs_matrix z = host->matrix(run, o->z.tensor), weight = host->matrix(run, o->weight);
    cs_matrix goal = host->matrix(run, o->goal), lse = host->matrix(run, o->lse);
    cs_matrix loss = host->matrix(run, o->loss);
    Loss<T> f = {};
    f.rows = z.rows;
    f.cols = z.cols;
    f.classes = o->classes;
    f.z = rows_of<T>(z);
    f.weight = rows_of<const float>(weight);
    f.goal = rows_of<const float>(goal);
    f.lse = rows_of<float>(lse);
    f.loss = rows_of<float>(loss);
    f.target = host->ints(run, o->target);
    f.factor = (float)o->factor;
    return f;
}

/* A block a row. */
template <typename T>
static cs_status by_rows(const cs_run *run, const char *what, void (*kernel)(Loss<T>),
                         const Loss<T> &f)
{
    return launch(cuda_of(run), what, kernel, dim3((unsigned)f.rows), dim3(LOSS_BLOCK), 0, f);
}

/* The last pack of a row may reach into its padding, which belongs to nobody (graph.h): logits have
 * no views. What is read there does not count, what is written is zero. */
template <typename T> static bool padded(const Loss<T> &f)
{
    return all_wide(f.z.ld, f.z);
}

template <typename T> cs_status cross_entropy_forward(const cs_run *run, const cs_op *op)
{
    Loss<T> f = loss_of<T>(run, op);
    return by_rows(run, "cross-entropy",
                   padded(f) ? cross_entropy_kernel<T, PACK<T>> : cross_entropy_kernel<T, 1>, f);
}

template <typename T> cs_status cross_entropy_backward(const cs_run *run, const cs_op *op)
{
    Loss<T> f = loss_of<T>(run, op);
    bool wide = padded(f);
    int64_t cols = wide ? ceil_div(f.cols, PACK<T>) * PACK<T> : f.cols;
    return launch_packs(cuda_of(run), "cross-entropy gradient", wide ? PACK<T> : 1,
                        wide ? cross_entropy_grad_kernel<T, PACK<T>>
                             : cross_entropy_grad_kernel<T, 1>,
                        f.rows, cols, f);
}

BY_TYPE(cross_entropy)

/* A loss by rows, whose gradient is by items. */
#define ROW_LOSS(loss, name, kernel, grad_kernel)                                                  \
    template <typename T> cs_status loss##_forward(const cs_run *run, const cs_op *op)             \
    {                                                                                              \
        return by_rows(run, name, kernel<T>, loss_of<T>(run, op));                                 \
    }                                                                                              \
    template <typename T> cs_status loss##_backward(const cs_run *run, const cs_op *op)            \
    {                                                                                              \
        Loss<T> f = loss_of<T>(run, op);                                                           \
        return launch_packs(cuda_of(run), name " gradient", 1, grad_kernel<T>, f.rows, f.cols, f); \
    }                                                                                              \
    BY_TYPE(loss)

ROW_LOSS(soft_cross_entropy, "soft cross-entropy", soft_kernel, soft_grad_kernel)
ROW_LOSS(spectral_loss, "spectral loss", spectral_kernel, spectral_grad_kernel)
ROW_LOSS(squared_error, "squared error", squared_kernel, squared_grad_kernel)
