/* Linear attention: a warp for each row and head forward, one for each row (gradient of the sum of
 * queries) and one for each key backward; nothing is added to by two warps. Any width; not tuned.
 */
#include "cuda/state.cuh"

enum { WARPS = 4 };

template <typename T> struct Pooled {
    Rows<const T> q, k, v, dy;
    Rows<T> y, dq, dk, dv;
    Rows<float> sum;
    float *dsum, *factor; /* scratch, rows of y x cols and x 1 */
    const int32_t *vis, *lim;
    int32_t batch, heads, width, length_y, length_k;
    float power;
    int32_t add_q, add_k, add_v;
};

/* Sums over the lanes of what each has at c = lane, lane + 32, ...: a . b over the width. */
template <typename A, typename B>
static __device__ inline float dot(int width, int lane, const A *a, const B *b)
{
    float sum = 0.0F;
    for (int c = lane; c < width; c += WARP) {
        sum += to_float(a[c]) * to_float(b[c]);
    }
    return warp_sum(sum);
}

static __device__ inline float factor_of(int count, float power)
{
    return count == 0 ? 0.0F : power == 0.0F ? 1.0F : powf((float)count, -power);
}

template <typename T> static __global__ void pooled_kernel(Pooled<T> a)
{
    int lane = (int)threadIdx.x % WARP, head = (int)blockIdx.y;
    int64_t row = (int64_t)blockIdx.x * WARPS + (int)threadIdx.x / WARP;
    if (row >= (int64_t)a.batch * a.length_y) {
        return;
    }
    CS_SHARED_BYTES(bytes);
    float *acc = reinterpret_cast<float *>(bytes) + (int)threadIdx.x / WARP * a.width;
    int64_t first = row / a.length_y * a.length_k, at = (int64_t)head * a.width;
    float *sum = a.sum.row(row) + at;
    int32_t lim = a.lim[row];
    int count = 0;
    for (int c = lane; c < a.width; c += WARP) { /* a lane only touches its own columns */
        sum[c] = acc[c] = 0.0F;
    }
    for (int64_t j = first; j < first + a.length_k; ++j) {
        if (a.vis[j] <= lim) {
            ++count;
            for (int c = lane; c < a.width; c += WARP) {
                sum[c] += to_float(a.q.row(j)[at + c]);
            }
        }
    }
    float factor = factor_of(count, a.power);
    for (int64_t j = first; j < first + a.length_k; ++j) {
        if (a.vis[j] <= lim) {
            float w = factor * dot(a.width, lane, sum, a.k.row(j) + at);
            for (int c = lane; c < a.width; c += WARP) {
                acc[c] += w * to_float(a.v.row(j)[at + c]);
            }
        }
    }
    for (int c = lane; c < a.width; c += WARP) {
        a.y.row(row)[at + c] = from_float<T>(acc[c]);
    }
}

/* dsum[i] = sum_j f (y'[i] . v[j]) k[j] over the keys seen */
template <typename T> static __global__ void pooled_sum_grad_kernel(Pooled<T> a)
{
    int lane = (int)threadIdx.x % WARP, head = (int)blockIdx.y;
    int64_t row = (int64_t)blockIdx.x * WARPS + (int)threadIdx.x / WARP;
    if (row >= (int64_t)a.batch * a.length_y) {
        return;
    }
    int64_t first = row / a.length_y * a.length_k, at = (int64_t)head * a.width;
    float *dsum = a.dsum + row * a.heads * a.width + at;
    const T *dy = a.dy.row(row) + at;
    int32_t lim = a.lim[row];
    int count = 0;
    for (int64_t j = first; j < first + a.length_k; ++j) {
        count += a.vis[j] <= lim ? 1 : 0;
    }
    float factor = factor_of(count, a.power);
    for (int c = lane; c < a.width; c += WARP) {
        dsum[c] = 0.0F;
    }
    for (int64_t j = first; j < first + a.length_k; ++j) {
        if (a.vis[j] <= lim) {
            float e = factor * dot(a.width, lane, dy, a.v.row(j) + at);
            for (int c = lane; c < a.width; c += WARP) {
                dsum[c] += e * to_float(a.k.row(j)[at + c]);
            }
        }
    }
    if (lane == 0 && head == 0) {
        a.factor[row] = factor;
    }
}

template <typename T> static __device__ inline void put(T *to, float x, int32_t add)
{
    *to = from_float<T>(x + (add ? to_float(*to) : 0.0F));
}

template <typename T> static __global__ void pooled_key_grad_kernel(Pooled<T> a)
{
    int lane = (int)threadIdx.x % WARP, head = (int)blockIdx.y;
    int64_t key = (int64_t)blockIdx.x * WARPS + (int)threadIdx.x / WARP;
    if (key >= (int64_t)a.batch * a.length_k) {
        return;
    }
    CS_SHARED_BYTES(bytes);
    float *dq = reinterpret_cast<float *>(bytes) + (int)threadIdx.x / WARP * 3 * a.width;
    float *dk = dq + a.width, *dv = dk + a.width;
    int64_t first = key / a.length_k * a.length_y, at = (int64_t)head * a.width;
    const T *k = a.k.row(key) + at, *v = a.v.row(key) + at;
    int32_t vis = a.vis[key];
    for (int c = lane; c < a.width; c += WARP) {
        dq[c] = dk[c] = dv[c] = 0.0F;
    }
    for (int64_t i = first; i < first + a.length_y; ++i) {
        if (vis > a.lim[i]) {
            continue;
        }
        const T *dy = a.dy.row(i) + at;
        const float *sum = a.sum.row(i) + at;
        const float *dsum = a.dsum + i * a.heads * a.width + at;
        float e = a.factor[i] * dot(a.width, lane, dy, v);
        float w = a.factor[i] * dot(a.width, lane, sum, k);
        for (int c = lane; c < a.width; c += WARP) {
            dq[c] += dsum[c];
            dk[c] += e * sum[c];
            dv[c] += w * to_float(dy[c]);
        }
    }
    for (int c = lane; c < a.width; c += WARP) { /* in this order: they may be one tensor */
        if (a.dq.x) {
            put(a.dq.row(key) + at + c, dq[c], a.add_q);
        }
        if (a.dk.x) {
            put(a.dk.row(key) + at + c, dk[c], a.add_k);
        }
        if (a.dv.x) {
            put(a.dv.row(key) + at + c, dv[c], a.add_v);
        }
    }
}

template <typename T>
static Pooled<T> describe(const cs_run *run, const cs_op_linear_attention *o, bool backward)
{
    const cs_plugin_host *host = cuda_of(run)->host;
    cs_matrix q = host->matrix(run, o->q.tensor), k = host->matrix(run, o->k.tensor);
    cs_matrix v = host->matrix(run, o->v.tensor), sum = host->matrix(run, o->sum);
    cs_matrix y = host->matrix(run, o->y);
    Pooled<T> a = {};
    a.q = rows_of<const T>(q);
    a.k = rows_of<const T>(k);
    a.v = rows_of<const T>(v);
    a.y = rows_of<T>(y);
    a.sum = rows_of<float>(sum);
    if (backward) {
        a.dy = grads_of<const T>(y, true);
        a.dq = grads_of<T>(q, o->q.grad);
        a.dk = grads_of<T>(k, o->k.grad);
        a.dv = grads_of<T>(v, o->v.grad);
    }
    a.vis = host->ints(run, o->vis);
    a.lim = host->ints(run, o->lim);
    a.batch = (int32_t)y.batch;
    a.heads = (int32_t)o->heads;
    a.width = (int32_t)(q.cols / o->heads);
    a.length_y = (int32_t)y.length;
    a.length_k = (int32_t)k.length;
    a.power = (float)o->power;
    a.add_q = o->q.add;
    a.add_k = o->k.add;
    a.add_v = o->v.add;
    return a;
}

static dim3 grid_of(int64_t rows, int64_t heads)
{
    return dim3((unsigned)ceil_div(rows, WARPS), (unsigned)heads, 1);
}

template <typename T> static cs_status forward(const cs_run *run, const cs_op *op)
{
    Pooled<T> a = describe<T>(run, &op->linear_attention, false);
    return launch(cuda_of(run), "linear attention", pooled_kernel<T>,
                  grid_of((int64_t)a.batch * a.length_y, a.heads), dim3(WARPS * WARP, 1, 1),
                  (int64_t)WARPS * a.width * (int64_t)sizeof(float), a);
}

cs_status linear_attention_forward(const cs_run *run, const cs_op *op)
{
    return cuda_of(run)->half ? forward<bf16>(run, op) : forward<float>(run, op);
}

template <typename T> static cs_status backward(const cs_run *run, const cs_op *op)
{
    Cuda *c = cuda_of(run);
    Pooled<T> a = describe<T>(run, &op->linear_attention, true);
    int64_t rows = (int64_t)a.batch * a.length_y, keys = (int64_t)a.batch * a.length_k;
    void *room = NULL;
    cs_status status =
        cuda_scratch(c, rows * ((int64_t)a.heads * a.width + 1) * (int64_t)sizeof(float), &room);
    if (status != CS_OK) {
        return status;
    }
    a.dsum = static_cast<float *>(room);
    a.factor = a.dsum + rows * a.heads * a.width;
    status = launch(c, "gradient of the sum of queries", pooled_sum_grad_kernel<T>,
                    grid_of(rows, a.heads), dim3(WARPS * WARP, 1, 1), 0, a);
    if (status == CS_OK) {
        status = launch(c, "linear attention gradient", pooled_key_grad_kernel<T>,
                        grid_of(keys, a.heads), dim3(WARPS * WARP, 1, 1),
                        (int64_t)WARPS * 3 * a.width * (int64_t)sizeof(float), a);
    }
    return status;
}

cs_status linear_attention_backward(const cs_run *run, const cs_op *op)
{
    return cuda_of(run)->half ? backward<bf16>(run, op) : backward<float>(run, op);
}
