/* Linear attention: a warp for each row and head forward, one for each row (gradient of the sum of
 * queries) and one for each key backward; nothing is added to by two warps. Any width; not tuned.
 */
#include "cuda/attention.cuh"

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

template <typename T> static __global__ void pooled_kernel(Attention<T> a)
{
    const WarpPlace p = warp_place(a, a.length_q);
    if (p.sequence >= a.batch) {
        return;
    }
    CS_SHARED_BYTES(bytes);
    float *acc = reinterpret_cast<float *>(bytes) + p.warp * a.width;
    int64_t first = p.sequence * a.length_k, at = p.at;
    float *sum = a.sum.row(p.row) + at;
    int32_t lim = a.lim[p.row];
    int count = 0;
    for (int c = p.lane; c < a.width; c += WARP) { /* a lane only touches its own columns */
        sum[c] = acc[c] = 0.0F;
    }
    for (int64_t j = first; j < first + a.length_k; ++j) {
        if (a.vis[j] <= lim) {
            ++count;
            for (int c = p.lane; c < a.width; c += WARP) {
                sum[c] += to_float(a.q.row(j)[at + c]);
            }
        }
    }
    float factor = factor_of(count, a.power);
    for (int64_t j = first; j < first + a.length_k; ++j) {
        if (a.vis[j] <= lim) {
            float w = factor * dot(a.width, p.lane, sum, a.k.row(j) + at);
            for (int c = p.lane; c < a.width; c += WARP) {
                acc[c] += w * to_float(a.v.row(j)[at + c]);
            }
        }
    }
    for (int c = p.lane; c < a.width; c += WARP) {
        a.y.row(p.row)[at + c] = from_float<T>(acc[c]);
    }
}

/* dsum[i] = sum_j f (y'[i] . v[j]) k[j] over the keys seen */
template <typename T> static __global__ void pooled_sum_grad_kernel(Attention<T> a)
{
    const WarpPlace p = warp_place(a, a.length_q);
    if (p.sequence >= a.batch) {
        return;
    }
    int64_t first = p.sequence * a.length_k, at = p.at;
    float *dsum = a.dsum + p.row * a.heads * a.width + at;
    const T *dy = a.dy.row(p.row) + at;
    int32_t lim = a.lim[p.row];
    int count = 0;
    for (int64_t j = first; j < first + a.length_k; ++j) {
        count += a.vis[j] <= lim ? 1 : 0;
    }
    float factor = factor_of(count, a.power);
    for (int c = p.lane; c < a.width; c += WARP) {
        dsum[c] = 0.0F;
    }
    for (int64_t j = first; j < first + a.length_k; ++j) {
        if (a.vis[j] <= lim) {
            float e = factor * dot(a.width, p.lane, dy, a.v.row(j) + at);
            for (int c = p.lane; c < a.width; c += WARP) {
                dsum[c] += e * to_float(a.k.row(j)[at + c]);
            }
        }
    }
    if (p.lane == 0 && p.head == 0) {
        a.factor[p.row] = factor;
    }
}

template <typename T> static __global__ void pooled_key_grad_kernel(Attention<T> a)
{
    const WarpPlace p = warp_place(a, a.length_k);
    if (p.sequence >= a.batch) {
        return;
    }
    CS_SHARED_BYTES(bytes);
    float *dq = reinterpret_cast<float *>(bytes) + p.warp * 3 * a.width;
    float *dk = dq + a.width, *dv = dk + a.width;
    int64_t first = p.sequence * a.length_q, at = p.at;
    const T *k = a.k.row(p.row) + at, *v = a.v.row(p.row) + at;
    int32_t vis = a.vis[p.row];
    for (int c = p.lane; c < a.width; c += WARP) {
        dq[c] = dk[c] = dv[c] = 0.0F;
    }
    for (int64_t i = first; i < first + a.length_q; ++i) {
        if (vis > a.lim[i]) {
            continue;
        }
        const T *dy = a.dy.row(i) + at;
        const float *sum = a.sum.row(i) + at;
        const float *dsum = a.dsum + i * a.heads * a.width + at;
        float e = a.factor[i] * dot(a.width, p.lane, dy, v);
        float w = a.factor[i] * dot(a.width, p.lane, sum, k);
        for (int c = p.lane; c < a.width; c += WARP) {
            dq[c] += dsum[c];
            dk[c] += e * sum[c];
            dv[c] += w * to_float(dy[c]);
        }
    }
    for (int c = p.lane; c < a.width; c += WARP) { /* in this order: they may be one tensor */
        if (a.dq.x) {
            put(a.dq.row(p.row) + at + c, dq[c], a.add_q);
        }
        if (a.dk.x) {
            put(a.dk.row(p.row) + at + c, dk[c], a.add_k);
        }
        if (a.dv.x) {
            put(a.dv.row(p.row) + at + c, dv[c], a.add_v);
        }
    }
}

template <typename T> cs_status linear_attention_forward(const cs_run *run, const cs_op *op)
{
    Attention<T> a = describe<T>(run, op);
    return launch_warps(run, "linear attention", pooled_kernel<T>, a, a.length_q, a.width);
}

template <typename T> cs_status linear_attention_backward(const cs_run *run, const cs_op *op)
{
    Attention<T> a = describe<T>(run, op);
    int64_t rows = (int64_t)a.batch * a.length_q;
    cs_status status = cuda_scratch(cuda_of(run), rows * (a.heads * a.width + 1), &a.dsum);
    a.factor = a.dsum + rows * a.heads * a.width;
    if (status == CS_OK)
        status = launch_warps(run, "gradient of the sum of queries", pooled_sum_grad_kernel<T>, a,
                              a.length_q, 0);
    return status ? status
                  : launch_warps(run, "linear attention gradient", pooled_key_grad_kernel<T>, a,
                                 a.length_k, 3 * a.width);
}

BY_TYPE(linear_attention)
