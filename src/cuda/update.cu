/* The optimizer: norm of the gradient (two stages, in double) and AdamW with the refresh of the
 * bf16 copy in the same pass. Norm and hyperparameters are read from device memory: nothing waits.
 */
#include "cuda/state.cuh"

enum { NORM_BLOCKS = 512 }; /* at most: a function of n alone */

static __global__ void norm_stage(int64_t n, const float *x, double *part)
{
    __shared__ double shared[WARP];
    double sum = 0.0;
    for (int64_t i = (int64_t)blockIdx.x * MAX_BLOCK + threadIdx.x; i < n;
         i += (int64_t)gridDim.x * MAX_BLOCK) {
        sum += (double)x[i] * (double)x[i];
    }
    sum = block_sum(sum, shared);
    if (threadIdx.x == 0) {
        part[blockIdx.x] = sum;
    }
}

static __global__ void norm_finish(int parts, const double *part, double *out)
{
    __shared__ double shared[WARP];
    double sum = 0.0;
    for (int i = (int)threadIdx.x; i < parts; i += MAX_BLOCK) {
        sum += part[i];
    }
    sum = block_sum(sum, shared);
    if (threadIdx.x == 0) {
        *out = sqrt(sum);
    }
}

cs_status norm_of(cs_backend *backend, int64_t n, const void *x, double *out)
{
    Cuda *c = static_cast<Cuda *>(backend->state);
    double *part = NULL;
    int64_t most = NORM_BLOCKS, wanted = ceil_div(n, MAX_BLOCK);
    int blocks = (int)(wanted < most ? wanted : most);
    cs_status status = cuda_scratch(c, NORM_BLOCKS, &part);
    if (status == CS_OK)
        status = launch(c, "norm", norm_stage, dim3((unsigned)blocks), dim3(MAX_BLOCK), 0, n,
                        static_cast<const float *>(x), part);
    return status ? status
                  : launch(c, "norm", norm_finish, dim3(1), dim3(MAX_BLOCK), 0, blocks, part, out);
}

static __global__ void adamw_kernel(int64_t n, float *value, const float *grad, float *m, float *v,
                                    const uint8_t *decay, const double *norm, const cs_adamw *hyper,
                                    bf16 *copy)
{
    int64_t i = (int64_t)blockIdx.x * MAX_BLOCK + threadIdx.x;
    double size = *norm;
    if (i >= n || !isfinite(size)) {
        return;
    }
    const cs_adamw h = *hyper;
    float clip = h.clip > 0.0F && size > 0.0 ? (float)fmin(1.0, (double)h.clip / size) : 1.0F;
    float g = clip * grad[i];
    float mean = h.beta1 * m[i] + (1.0F - h.beta1) * g;
    float square = h.beta2 * v[i] + (1.0F - h.beta2) * g * g;
    float x = value[i];
    float step = mean / h.bias1 / (sqrtf(square / h.bias2) + h.eps);
    x -= h.learning_rate * (step + (decay[i] ? h.weight_decay * x : 0.0F));
    m[i] = mean;
    v[i] = square;
    value[i] = x;
    if (copy) {
        copy[i] = from_float<bf16>(x);
    }
}

cs_status adamw_update(cs_backend *backend, const cs_update *u)
{
    Cuda *c = static_cast<Cuda *>(backend->state);
    float *value = static_cast<float *>(u->value);
    Shadow *shadow = cuda_find_shadow(c, value);
    bf16 *copy = shadow && !shadow->stale ? shadow->copy + (value - shadow->value) : NULL;
    return launch_items(c, "AdamW", adamw_kernel, u->n, u->n, value,
                        static_cast<const float *>(u->grad), static_cast<float *>(u->m),
                        static_cast<float *>(u->v), u->decay, u->norm, u->hyper, copy);
}

static __global__ void round_kernel(int64_t n, const float *from, bf16 *to)
{
    int64_t i = (int64_t)blockIdx.x * MAX_BLOCK + threadIdx.x;
    if (i < n) {
        to[i] = from_float<bf16>(from[i]);
    }
}

cs_status round_to_half(Cuda *c, int64_t n, const float *from, bf16 *to)
{
    return launch_items(c, "rounding of parameters", round_kernel, n, n, from, to);
}
