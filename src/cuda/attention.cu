/* Softmax attention by rank masks, plain kernels: a warp for each row and head, any width, float or
 * bf16. They are the parity mode; bf16 of usual widths goes to attention_half_forward.cu.
 *
 * Forward keeps a running maximum and sum over pieces of 32 keys, one a lane. Backward forms the
 * probabilities again from lse: one kernel a query for q', one a key for k' and v' (no two warps
 * add to the same place), one for the table of relative positions: the last of them also where
 * tensor cores did the rest and had no memory for the table. */
#include "cuda/attention.cuh"
#include "cuda/column_sums.cuh"

enum { BUCKETS_AT_ONCE = 32, TABLE_ROWS = 32 };

template <typename T>
static __device__ inline float score(const Attention<T> &a, const T *q, const T *k, int64_t i,
                                     int64_t j, int head)
{
    float dot = 0.0F;
    for (int c = 0; c < a.width; ++c) {
        dot += to_float(q[c]) * to_float(k[c]);
    }
    float s = a.scale * dot;
    return a.positions.table.x ? s + a.positions.table.row(bucket_of(a, a.positions.pos_k[j],
                                                                     a.positions.pos_q[i]))[head]
                               : s;
}

/* keep / (1 - p) of query row i and place j in its sequence. */
template <typename T>
static __device__ inline float keep_of(const Attention<T> &a, int64_t i, int64_t j, int head)
{
    float x[1] = {1.0F};
    Drop d = a.drop;
    d.purpose += (uint32_t)head;
    drop<1>(d, (uint32_t)i, (uint32_t)j, x);
    return x[0];
}

/* --- forward ---------------------------------------------------------------------------------- */

template <typename T> static __global__ void attention_kernel(Attention<T> a)
{
    CS_SHARED_BYTES(bytes);
    const WarpPlace p = warp_place(a, a.length_q);
    if (p.sequence >= a.batch) {
        return;
    }
    float *acc = reinterpret_cast<float *>(bytes) + p.warp * (a.width + WARP),
          *share = acc + a.width;
    int64_t first = p.sequence * a.length_k, at = p.at;
    const T *q = a.q.row(p.row) + at;
    int32_t lim = a.lim[p.row];
    float most = -INFINITY, sum = 0.0F;
    for (int c = p.lane; c < a.width; c += WARP) {
        acc[c] = 0.0F;
    }
    for (int j0 = 0; j0 < a.length_k; j0 += WARP) {
        int64_t j = first + j0 + p.lane;
        bool seen = j0 + p.lane < a.length_k && a.vis[j] <= lim;
        float s = seen ? score(a, q, a.k.row(j) + at, p.row, j, p.head) : -INFINITY;
        float peak = fmaxf(most, warp_max(s));
        if (warp_max(seen ? 1.0F : 0.0F) == 0.0F) {
            continue;
        }
        float e = seen ? expf(s - peak) : 0.0F, old = sum > 0.0F ? expf(most - peak) : 0.0F;
        sum = sum * old + warp_sum(e);
        most = peak;
        share[p.lane] = seen ? e * keep_of(a, p.row, j0 + p.lane, p.head) : 0.0F;
        __syncwarp();
        int count = a.length_k - j0 < WARP ? a.length_k - j0 : WARP;
        add_rows(p, acc, old, share, count, a.v, first + j0);
        __syncwarp();
    }
    for (int c = p.lane; c < a.width; c += WARP) {
        a.y.row(p.row)[at + c] = from_float<T>(sum != 0.0F ? acc[c] / sum : 0.0F);
    }
    if (p.lane == 0) {
        a.lse.row(p.row)[p.head] = sum != 0.0F ? most + logf(sum) : -INFINITY;
    }
}

/* --- backward --------------------------------------------------------------------------------- */

template <typename T> static __global__ void delta_kernel(Attention<T> a)
{
    const WarpPlace p = warp_place(a, a.length_q);
    if (p.sequence >= a.batch) {
        return;
    }
    const T *dy = a.dy.row(p.row) + p.at, *y = a.y.row(p.row) + p.at;
    float sum = 0.0F;
    for (int c = p.lane; c < a.width; c += WARP) {
        sum += to_float(dy[c]) * to_float(y[c]);
    }
    sum = warp_sum(sum);
    if (p.lane == 0) {
        a.delta[p.row * a.heads + p.head] = sum;
    }
}

/* Probability (after dropout) and S' = P (P' - delta) of a pair that sees each other. */
struct Pair {
    float kept, ds;
};

template <typename T>
static __device__ inline Pair pair_of(const Attention<T> &a, int64_t i, int64_t first, int64_t j,
                                      int head, float delta)
{
    int64_t at = (int64_t)head * a.width;
    const T *dy = a.dy.row(i) + at, *v = a.v.row(j) + at;
    float s = score(a, a.q.row(i) + at, a.k.row(j) + at, i, j, head);
    float e = expf(s - a.lse.row(i)[head]), keep = keep_of(a, i, j - first, head);
    float dp = 0.0F;
    for (int c = 0; c < a.width; ++c) {
        dp += to_float(dy[c]) * to_float(v[c]);
    }
    Pair out = {e * keep, e * (keep * dp - delta)};
    return out;
}

/* delta as sum_j P P' instead: what y was rounded to does not enter. A warp a row. */
template <typename T> static __global__ void delta_of_pairs_kernel(Attention<T> a)
{
    const WarpPlace p = warp_place(a, a.length_q);
    if (p.sequence >= a.batch) {
        return;
    }
    int64_t first = p.sequence * a.length_k;
    int32_t lim = a.lim[p.row];
    float sum = 0.0F;
    for (int64_t j = first + p.lane; j < first + a.length_k; j += WARP) {
        if (a.vis[j] <= lim) {
            sum += pair_of(a, p.row, first, j, p.head, 0.0F).ds;
        }
    }
    sum = warp_sum(sum);
    if (p.lane == 0) {
        a.delta[p.row * a.heads + p.head] = sum;
    }
}

template <typename T> static __global__ void query_grad_kernel(Attention<T> a)
{
    CS_SHARED_BYTES(bytes);
    const WarpPlace p = warp_place(a, a.length_q);
    if (p.sequence >= a.batch) {
        return;
    }
    float *acc = reinterpret_cast<float *>(bytes) + p.warp * (a.width + WARP),
          *share = acc + a.width;
    int64_t first = p.sequence * a.length_k, at = p.at;
    float delta = a.delta[p.row * a.heads + p.head];
    int32_t lim = a.lim[p.row];
    for (int c = p.lane; c < a.width; c += WARP) {
        acc[c] = 0.0F;
    }
    for (int j0 = 0; j0 < a.length_k; j0 += WARP) {
        int64_t j = first + j0 + p.lane;
        bool seen = j0 + p.lane < a.length_k && a.vis[j] <= lim;
        share[p.lane] = seen ? pair_of(a, p.row, first, j, p.head, delta).ds : 0.0F;
        __syncwarp();
        int count = a.length_k - j0 < WARP ? a.length_k - j0 : WARP;
        add_rows(p, acc, 1.0F, share, count, a.k, first + j0);
        __syncwarp();
    }
    for (int c = p.lane; c < a.width; c += WARP) {
        put(a.dq.row(p.row) + at + c, a.scale * acc[c], a.add_q);
    }
}

template <typename T> static __global__ void key_grad_kernel(Attention<T> a)
{
    CS_SHARED_BYTES(bytes);
    const WarpPlace p = warp_place(a, a.length_k);
    if (p.sequence >= a.batch) {
        return;
    }
    float *acc_k = reinterpret_cast<float *>(bytes) + p.warp * (2 * a.width + 2 * WARP);
    float *acc_v = acc_k + a.width, *share_ds = acc_v + a.width, *share_p = share_ds + WARP;
    int64_t first_q = p.sequence * a.length_q, first_k = p.sequence * a.length_k;
    int64_t at = p.at;
    int32_t vis = a.vis[p.row];
    for (int c = p.lane; c < a.width; c += WARP) {
        acc_k[c] = acc_v[c] = 0.0F;
    }
    for (int i0 = 0; i0 < a.length_q; i0 += WARP) {
        int64_t i = first_q + i0 + p.lane;
        Pair pair = {0.0F, 0.0F};
        if (i0 + p.lane < a.length_q && vis <= a.lim[i]) {
            pair = pair_of(a, i, first_k, p.row, p.head, a.delta[i * a.heads + p.head]);
        }
        share_ds[p.lane] = pair.ds;
        share_p[p.lane] = pair.kept;
        __syncwarp();
        int count = a.length_q - i0 < WARP ? a.length_q - i0 : WARP;
        add_rows(p, acc_k, 1.0F, share_ds, count, a.q, first_q + i0);
        add_rows(p, acc_v, 1.0F, share_p, count, a.dy, first_q + i0);
        __syncwarp();
    }
    for (int c = p.lane; c < a.width; c += WARP) { /* k' before v': they may be one tensor */
        if (a.dk.x) {
            put(a.dk.row(p.row) + at + c, a.scale * acc_k[c], a.add_k);
        }
        if (a.dv.x) {
            put(a.dv.row(p.row) + at + c, acc_v[c], a.add_v);
        }
    }
}

/* part[blockIdx.x][bucket][head]: S' summed by bucket over TABLE_ROWS rows. Each lane has its own
 * place for each bucket; blockIdx.z picks BUCKETS_AT_ONCE of them. */
template <typename T> static __global__ void table_grad_kernel(Attention<T> a, float *part)
{
    __shared__ float shared[WARPS][BUCKETS_AT_ONCE][WARP];
    int lane = (int)threadIdx.x % WARP, warp = (int)threadIdx.x / WARP, head = (int)blockIdx.y;
    int32_t low = (int32_t)blockIdx.z * BUCKETS_AT_ONCE;
    int64_t rows = (int64_t)a.batch * a.length_q;
    for (int b = 0; b < BUCKETS_AT_ONCE; ++b) {
        shared[warp][b][lane] = 0.0F;
    }
    for (int r = warp; r < TABLE_ROWS; r += WARPS) {
        int64_t i = (int64_t)blockIdx.x * TABLE_ROWS + r;
        if (i >= rows) {
            break;
        }
        int64_t first = i / a.length_q * a.length_k;
        for (int64_t j = first + lane; j < first + a.length_k; j += WARP) {
            int32_t bucket = a.vis[j] <= a.lim[i]
                                 ? bucket_of(a, a.positions.pos_k[j], a.positions.pos_q[i])
                                 : -1;
            if (bucket >= low && bucket < low + BUCKETS_AT_ONCE) {
                shared[warp][bucket - low][lane] +=
                    pair_of(a, i, first, j, head, a.delta[i * a.heads + head]).ds;
            }
        }
    }
    __syncthreads();
    if (threadIdx.x < BUCKETS_AT_ONCE && low + (int32_t)threadIdx.x < a.positions.buckets) {
        float sum = 0.0F;
        for (int w = 0; w < WARPS; ++w) {
            for (int l = 0; l < WARP; ++l) {
                sum += shared[w][threadIdx.x][l];
            }
        }
        int64_t bucket = low + (int64_t)threadIdx.x;
        part[((int64_t)blockIdx.x * a.positions.buckets + bucket) * a.heads + head] = sum;
    }
}

/* --- host ------------------------------------------------------------------------------------- */

/* With the buckets of relative positions, where there are any. */
template <typename T>
static cs_status describe_softmax(const cs_run *run, const cs_op *op, Attention<T> *a)
{
    const cs_op_attention *o = &op->attention;
    Cuda *c = cuda_of(run);
    cs_matrix table = c->host->matrix(run, o->table.tensor);
    const Buckets *buckets = NULL;
    *a = describe<T>(run, op);
    if (!table.x) {
        return CS_OK;
    }
    cs_status status = cuda_buckets(c, table.rows, o->max_distance, o->bidirectional, &buckets);
    if (status != CS_OK) return status;
    a->positions.table = rows_of<const float>(table);
    a->positions.pos_q = c->host->ints(run, o->pos_q);
    a->positions.pos_k = c->host->ints(run, o->pos_k);
    a->positions.map = buckets->map;
    a->positions.reach = (int32_t)buckets->reach;
    a->positions.buckets = (int32_t)buckets->buckets;
    return CS_OK;
}

template <typename T> cs_status attention_forward(const cs_run *run, const cs_op *op)
{
    Attention<T> a;
    cs_status status = describe_softmax(run, op, &a);
    if (status != CS_OK) return status;
    if constexpr (sizeof(T) == sizeof(bf16)) {
        if (half_attention_fits(cuda_of(run), &a, false)) {
            return half_attention_forward(cuda_of(run), &a);
        }
    }
    return launch_warps(run, "attention", attention_kernel<T>, a, a.length_q, a.width + WARP);
}

template <typename T> static cs_status table_grad(Cuda *c, const Attention<T> *a, float *part)
{
    dim3 grid((unsigned)ceil_div((int64_t)a->batch * a->length_q, TABLE_ROWS), (unsigned)a->heads,
              (unsigned)ceil_div(a->positions.buckets, BUCKETS_AT_ONCE));
    return launch(c, "table gradient", table_grad_kernel<T>, grid, dim3(WARPS * WARP), 0, *a, part);
}

template <typename T> cs_status attention_backward(const cs_run *run, const cs_op *op)
{
    Cuda *c = cuda_of(run);
    Attention<T> a;
    cs_matrix table = c->host->matrix(run, op->attention.table.tensor);
    cs_status status = describe_softmax(run, op, &a);
    if (status != CS_OK) return status;
    const bool table_wanted = table.x && op->attention.table.grad;
    bool half = false;
    int64_t rows = (int64_t)a.batch * a.length_q, parts = 0; /* of the table's gradient */
    if constexpr (sizeof(T) == sizeof(bf16)) {
        half = half_attention_fits(c, &a, true);
        parts = half && table_wanted ? half_attention_table_parts(c, &a) : 0;
    }
    const bool on_the_way = parts > 0;
    parts = table_wanted && !on_the_way ? ceil_div(rows, TABLE_ROWS) : parts;
    status = cuda_scratch(c, rows * a.heads + parts * table.rows * a.heads, &a.delta);
    if (status != CS_OK) return status;
    float *part = a.delta + rows * a.heads;
    a.positions.table_part = on_the_way ? part : NULL;
    status = launch_warps(run, "attention delta", half ? delta_kernel<T> : delta_of_pairs_kernel<T>,
                          a, a.length_q, 0);
    if constexpr (sizeof(T) == sizeof(bf16)) {
        if (status == CS_OK && half) status = half_attention_backward(c, &a);
    }
    if (status == CS_OK && !half && a.dq.x)
        status = launch_warps(run, "query gradient", query_grad_kernel<T>, a, a.length_q,
                              a.width + WARP);
    if (status == CS_OK && !half && (a.dk.x || a.dv.x))
        status = launch_warps(run, "key gradient", key_grad_kernel<T>, a, a.length_k,
                              2 * (a.width + WARP));
    if (status == CS_OK && table_wanted && !on_the_way) status = table_grad(c, &a, part);
    return status || !table_wanted ? status
                                   : column_sum_matrix(c, parts, table.rows * a.heads, a.heads,
                                                       part, table.grad, table.ld);
}

BY_TYPE(attention)
