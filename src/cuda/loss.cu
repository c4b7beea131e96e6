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
static __device__ inline Peak block_peak(Peak x, Peak *room)
{
    int lane = (int)threadIdx.x % WARP, warp = (int)threadIdx.x / WARP;
#pragma unroll
    for (int step = WARP / 2; step > 0; step /= 2) {
        Peak other = {__shfl_xor_sync(ALL_LANES, x.most, step),
                      __shfl_xor_sync(ALL_LANES, x.sum, step)};
        x = lane & step ? join(other, x) : join(x, other); /* the same order in both lanes */
    }
    if (lane == 0) {
        room[warp] = x;
    }
    __syncthreads();
    Peak all = room[0];
    for (int w = 1; w < (int)blockDim.x / WARP; ++w) {
        all = join(all, room[w]);
    }
    return all;
}

template <typename T, int N>
static __global__ void cross_entropy_kernel(int64_t classes, const T *z, int64_t ldz,
                                            const int32_t *target, const float *weight,
                                            int64_t ld_weight, float *lse, int64_t ld_lse,
                                            float *loss, int64_t ld_loss)
{
    __shared__ Peak room[WARP];
    int64_t row = blockIdx.x;
    int32_t goal = target[row];
    if (goal < 0) {
        if (threadIdx.x == 0) {
            lse[row * ld_lse] = 0.0F;
            loss[row * ld_loss] = 0.0F;
        }
        return;
    }
    const T *zr = z + row * ldz;
    Peak own = {-INFINITY, 0.0F};
    for (int64_t first = (int64_t)threadIdx.x * N; first < classes; first += LOSS_BLOCK * N) {
        float x[N], most = own.most;
        load<T, N>(zr + first, x);
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
    Peak all = block_peak(own, room);
    if (threadIdx.x == 0) {
        float value = all.most + logf(all.sum);
        lse[row * ld_lse] = value;
        loss[row * ld_loss] = weight[row * ld_weight] * (value - to_float(zr[goal]));
    }
}

template <typename T, int N>
static __global__ void cross_entropy_grad_kernel(int64_t rows, int64_t packs, int64_t classes, T *z,
                                                 int64_t ldz, const int32_t *target,
                                                 const float *weight, int64_t ld_weight,
                                                 const float *lse, int64_t ld_lse)
{
    int64_t row = TILE_ROW, pack = TILE_PACK;
    if (row >= rows || pack >= packs) {
        return;
    }
    int32_t goal = target[row];
    float x[N], w = weight[row * ld_weight], from = lse[row * ld_lse];
    load<T, N>(z + row * ldz + pack * N, x);
#pragma unroll
    for (int i = 0; i < N; ++i) {
        int64_t col = pack * N + i;
        bool counts = goal >= 0 && col < classes;
        x[i] = counts ? w * (expf(x[i] - from) - (col == goal ? 1.0F : 0.0F)) : 0.0F;
    }
    store<T, N>(z + row * ldz + pack * N, x);
}

template <typename T>
static __global__ void spectral_kernel(int64_t classes, const T *z, int64_t ldz,
                                       const int32_t *target, const float *weight,
                                       int64_t ld_weight, const float *mass, float factor,
                                       float *loss, int64_t ld_loss)
{
    __shared__ float room[WARP];
    int64_t row = blockIdx.x;
    float sum = 0.0F;
    for (int64_t col = threadIdx.x; col < classes; col += LOSS_BLOCK) {
        float x = to_float(z[row * ldz + col]);
        sum += mass[col] * x * x;
    }
    sum = block_sum(sum, room);
    if (threadIdx.x == 0) {
        int32_t goal = target[row];
        loss[row * ld_loss] =
            goal < 0 ? 0.0F
                     : weight[row * ld_weight] * (sum - factor * to_float(z[row * ldz + goal]));
    }
}

template <typename T>
static __global__ void spectral_grad_kernel(int64_t rows, int64_t cols, int64_t classes, T *z,
                                            int64_t ldz, const int32_t *target, const float *weight,
                                            int64_t ld_weight, const float *mass, float factor)
{
    int64_t row = TILE_ROW, col = TILE_PACK;
    if (row >= rows || col >= cols) {
        return;
    }
    int32_t goal = target[row];
    float dz = 0.0F;
    if (goal >= 0 && col < classes) {
        dz = 2.0F * mass[col] * to_float(z[row * ldz + col]) - (col == goal ? factor : 0.0F);
    }
    z[row * ldz + col] = from_float<T>(dz * weight[row * ld_weight]);
}

template <typename T>
static __global__ void squared_kernel(int64_t cols, const T *z, int64_t ldz, const float *goal,
                                      int64_t ld_goal, const float *weight, int64_t ld_weight,
                                      float *loss, int64_t ld_loss)
{
    __shared__ float room[WARP];
    int64_t row = blockIdx.x;
    float sum = 0.0F;
    for (int64_t col = threadIdx.x; col < cols; col += LOSS_BLOCK) {
        float e = to_float(z[row * ldz + col]) - goal[row * ld_goal + col];
        sum += e * e;
    }
    sum = block_sum(sum, room);
    if (threadIdx.x == 0) {
        loss[row * ld_loss] = weight[row * ld_weight] * sum;
    }
}

template <typename T>
static __global__ void squared_grad_kernel(int64_t rows, int64_t cols, T *z, int64_t ldz,
                                           const float *goal, int64_t ld_goal, const float *weight,
                                           int64_t ld_weight)
{
    int64_t row = TILE_ROW, col = TILE_PACK;
    if (row >= rows || col >= cols) {
        return;
    }
    float e = to_float(z[row * ldz + col]) - goal[row * ld_goal + col];
    z[row * ldz + col] = from_float<T>(2.0F * weight[row * ld_weight] * e);
}

/* --- host ------------------------------------------------------------------------------------- */

template <typename T, int N> static cs_status cross_entropy(const cs_run *run, const cs_op *op)
{
    const cs_op_cross_entropy *o = &op->cross_entropy;
    Cuda *c = cuda_of(run);
    cs_matrix z = c->host->matrix(run, o->z.tensor), weight = c->host->matrix(run, o->weight);
    cs_matrix lse = c->host->matrix(run, o->lse), loss = c->host->matrix(run, o->loss);
    return launch(c, "cross-entropy", cross_entropy_kernel<T, N>, dim3((unsigned)z.rows, 1, 1),
                  dim3(LOSS_BLOCK, 1, 1), 0, o->classes, static_cast<const T *>(z.x), z.ld,
                  c->host->ints(run, o->target), static_cast<const float *>(weight.x), weight.ld,
                  static_cast<float *>(lse.x), lse.ld, static_cast<float *>(loss.x), loss.ld);
}

cs_status cross_entropy_forward(const cs_run *run, const cs_op *op)
{
    Cuda *c = cuda_of(run);
    cs_matrix z = c->host->matrix(run, op->cross_entropy.z.tensor);
    if (c->half) {
        return aligned(z.x, z.ld, z.cols, 2, 16) ? cross_entropy<bf16, 8>(run, op)
                                                 : cross_entropy<bf16, 1>(run, op);
    }
    return aligned(z.x, z.ld, z.cols, 4, 16) ? cross_entropy<float, 4>(run, op)
                                             : cross_entropy<float, 1>(run, op);
}

template <typename T, int N> static cs_status cross_entropy_grad(const cs_run *run, const cs_op *op)
{
    const cs_op_cross_entropy *o = &op->cross_entropy;
    Cuda *c = cuda_of(run);
    cs_matrix z = c->host->matrix(run, o->z.tensor), weight = c->host->matrix(run, o->weight);
    cs_matrix lse = c->host->matrix(run, o->lse);
    Tiling t = tile(z.rows, z.cols / N);
    return launch(c, "cross-entropy gradient", cross_entropy_grad_kernel<T, N>, t.grid, t.block, 0,
                  z.rows, z.cols / N, o->classes, static_cast<T *>(z.x), z.ld,
                  c->host->ints(run, o->target), static_cast<const float *>(weight.x), weight.ld,
                  static_cast<const float *>(lse.x), lse.ld);
}

cs_status cross_entropy_backward(const cs_run *run, const cs_op *op)
{
    Cuda *c = cuda_of(run);
    cs_matrix z = c->host->matrix(run, op->cross_entropy.z.tensor);
    if (!op->cross_entropy.z.grad) {
        return CS_OK;
    }
    if (c->half) {
        return aligned(z.x, z.ld, z.cols, 2, 16) ? cross_entropy_grad<bf16, 8>(run, op)
                                                 : cross_entropy_grad<bf16, 1>(run, op);
    }
    return aligned(z.x, z.ld, z.cols, 4, 16) ? cross_entropy_grad<float, 4>(run, op)
                                             : cross_entropy_grad<float, 1>(run, op);
}

template <typename T> static cs_status spectral(const cs_run *run, const cs_op *op, bool back)
{
    const cs_op_spectral_loss *o = &op->spectral_loss;
    Cuda *c = cuda_of(run);
    cs_matrix z = c->host->matrix(run, o->z.tensor), weight = c->host->matrix(run, o->weight);
    cs_matrix mass = c->host->matrix(run, o->mass), loss = c->host->matrix(run, o->loss);
    const int32_t *target = c->host->ints(run, o->target);
    if (back) {
        Tiling t = tile(z.rows, z.cols);
        return launch(c, "spectral loss gradient", spectral_grad_kernel<T>, t.grid, t.block, 0,
                      z.rows, z.cols, o->classes, static_cast<T *>(z.x), z.ld, target,
                      static_cast<const float *>(weight.x), weight.ld,
                      static_cast<const float *>(mass.x), (float)o->factor);
    }
    return launch(c, "spectral loss", spectral_kernel<T>, dim3((unsigned)z.rows, 1, 1),
                  dim3(LOSS_BLOCK, 1, 1), 0, o->classes, static_cast<const T *>(z.x), z.ld, target,
                  static_cast<const float *>(weight.x), weight.ld,
                  static_cast<const float *>(mass.x), (float)o->factor,
                  static_cast<float *>(loss.x), loss.ld);
}

cs_status spectral_loss_forward(const cs_run *run, const cs_op *op)
{
    return cuda_of(run)->half ? spectral<bf16>(run, op, false) : spectral<float>(run, op, false);
}

cs_status spectral_loss_backward(const cs_run *run, const cs_op *op)
{
    if (!op->spectral_loss.z.grad) {
        return CS_OK;
    }
    return cuda_of(run)->half ? spectral<bf16>(run, op, true) : spectral<float>(run, op, true);
}

template <typename T> static cs_status squared(const cs_run *run, const cs_op *op, bool back)
{
    const cs_op_squared_error *o = &op->squared_error;
    Cuda *c = cuda_of(run);
    cs_matrix z = c->host->matrix(run, o->z.tensor), weight = c->host->matrix(run, o->weight);
    cs_matrix goal = c->host->matrix(run, o->goal), loss = c->host->matrix(run, o->loss);
    if (back) {
        Tiling t = tile(z.rows, z.cols);
        return launch(c, "squared error gradient", squared_grad_kernel<T>, t.grid, t.block, 0,
                      z.rows, z.cols, static_cast<T *>(z.x), z.ld,
                      static_cast<const float *>(goal.x), goal.ld,
                      static_cast<const float *>(weight.x), weight.ld);
    }
    return launch(c, "squared error", squared_kernel<T>, dim3((unsigned)z.rows, 1, 1),
                  dim3(LOSS_BLOCK, 1, 1), 0, z.cols, static_cast<const T *>(z.x), z.ld,
                  static_cast<const float *>(goal.x), goal.ld, static_cast<const float *>(weight.x),
                  weight.ld, static_cast<float *>(loss.x), loss.ld);
}

cs_status squared_error_forward(const cs_run *run, const cs_op *op)
{
    return cuda_of(run)->half ? squared<bf16>(run, op, false) : squared<float>(run, op, false);
}

cs_status squared_error_backward(const cs_run *run, const cs_op *op)
{
    if (!op->squared_error.z.grad) {
        return CS_OK;
    }
    return cuda_of(run)->half ? squared<bf16>(run, op, true) : squared<float>(run, op, true);
}
