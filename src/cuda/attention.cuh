/* The shared part of the attention kernels: one description of the operation for all families, the
 * plain ones of softmax (attention.cu: any type and width) and of linear attention
 * (linear_attention.cu), and those on tensor cores (attention_tiles.cuh). */
#pragma once

#include "cuda/state.cuh"

enum { WARPS = 4 }; /* of a block of the plain kernels */

/* Learned scores of relative positions. */
struct RelativePositions {
    const int32_t *pos_q, *pos_k, *map; /* map[distance + reach]: bucket */
    Rows<const float> table;            /* absent: no relative positions */
    int32_t reach, buckets;
    /* Partial sums of the table's gradient, parts x buckets x heads; NULL: not by this kernel. */
    float *table_part;
};

template <typename T> struct Attention {
    Rows<const T> q, k, v, dy;
    Rows<T> y, dq, dk, dv; /* dq, dk, dv: absent unless requested */
    const int32_t *vis, *lim;
    int32_t batch, heads, width, length_q, length_k;
    int32_t add_q, add_k, add_v;
    /* of softmax */
    Rows<float> lse; /* log sum exp, -infinity for a row that sees nothing */
    float *delta;    /* rows of q x heads: sum_c dy y */
    RelativePositions positions;
    float scale;
    Drop drop; /* of head 0: purposes of the others follow */
    /* of linear attention, whose rows of q are keys, and y is as long as the limits */
    Rows<float> sum;      /* of the queries seen */
    float *dsum, *factor; /* scratch, rows of y x cols and x 1 */
    float power;
};

template <typename T> static Attention<T> describe(const cs_run *run, const cs_op *op)
{
    const cs_op_attention *o = &op->attention;
    const cs_plugin_host *host = cuda_of(run)->host;
    cs_matrix q = host->matrix(run, o->q.tensor), k = host->matrix(run, o->k.tensor);
    cs_matrix v = host->matrix(run, o->v.tensor), y = host->matrix(run, o->y);
    Attention<T> a = {};
    a.q = rows_of<const T>(q);
    a.k = rows_of<const T>(k);
    a.v = rows_of<const T>(v);
    a.y = rows_of<T>(y);
    a.dy = grads_of<const T>(y, true);
    a.dq = grads_of<T>(q, o->q.grad);
    a.dk = grads_of<T>(k, o->k.grad);
    a.dv = grads_of<T>(v, o->v.grad);
    a.vis = host->ints(run, o->vis);
    a.lim = host->ints(run, o->lim);
    a.batch = (int32_t)y.batch;
    a.heads = (int32_t)o->heads;
    a.width = (int32_t)(y.cols / o->heads);
    a.length_q = (int32_t)y.length;
    a.length_k = (int32_t)k.length;
    a.add_q = o->q.add;
    a.add_k = o->k.add;
    a.add_v = o->v.add;
    a.lse = rows_of<float>(host->matrix(run, o->lse));
    a.sum = rows_of<float>(host->matrix(run, o->sum));
    a.scale = (float)o->scale;
    a.power = (float)o->power;
    a.drop = drop_of(run, op, 0, o->p);
    return a;
}

/* The work of a warp of the plain kernels: row i of all queries (or j of all keys), head h. */
struct WarpPlace {
    int lane, warp, head, width; /* width: columns of a head */
    int64_t row, sequence, at;   /* at: the head's first column */
};

template <typename T>
static __device__ inline WarpPlace warp_place(const Attention<T> &a, int64_t length)
{
    WarpPlace p;
    p.lane = (int)threadIdx.x % WARP;
    p.warp = (int)threadIdx.x / WARP;
    p.head = (int)blockIdx.y;
    p.width = a.width;
    p.row = (int64_t)blockIdx.x * WARPS + p.warp;
    p.sequence = p.row / length;
    p.at = (int64_t)p.head * a.width;
    return p;
}

/* A warp for each of `length` rows of a sequence and each head, each warp with its own `capacity`
 * floats. */
template <typename T>
static cs_status launch_warps(const cs_run *run, const char *what, void (*kernel)(Attention<T>),
                              const Attention<T> &a, int64_t length, int64_t capacity)
{
    dim3 grid((unsigned)ceil_div(a.batch * length, WARPS), (unsigned)a.heads);
    return launch(cuda_of(run), what, kernel, grid, dim3(WARPS * WARP),
                  WARPS * capacity * (int64_t)sizeof(float), a);
}

/* acc = old acc + sum_i share[i] from[i], `count` rows of the head from `first` on; a lane takes
 * every 32nd column. */
template <typename T>
static __device__ inline void add_rows(const WarpPlace &p, float *acc, float old,
                                       const float *share, int count, const Rows<const T> &from,
                                       int64_t first)
{
    for (int c = p.lane; c < p.width; c += WARP) {
        float x = acc[c] * old;
        for (int i = 0; i < count; ++i) {
            if (share[i] != 0.0F) {
                x += share[i] * to_float(from.row(first + i)[p.at + c]);
            }
        }
        acc[c] = x;
    }
}

template <typename T> static __device__ inline void put(T *to, float x, int32_t add)
{
    *to = from_float<T>(x + (add ? to_float(*to) : 0.0F));
}

/* Bucket of the key at pos_k seen from pos_q. */
template <typename T>
static __device__ inline int32_t bucket_of(const Attention<T> &a, int32_t pos_k, int32_t pos_q)
{
    int64_t d = (int64_t)pos_k - pos_q;
    d = d < -a.positions.reach ? -a.positions.reach : d > a.positions.reach ? a.positions.reach : d;
    return a.positions.map[d + a.positions.reach];
}

/* Does the tensor-core family take this shape, and with it all that must be aligned? */
bool half_attention_fits(const Cuda *c, const Attention<bf16> *a, bool backward);
cs_status half_attention_forward(const Cuda *c, const Attention<bf16> *a);
cs_status half_attention_backward(const Cuda *c, const Attention<bf16> *a); /* delta is there */
/* In how many parts it sums the table's gradient as it forms q'; 0: its memory does not suffice. */
int64_t half_attention_table_parts(const Cuda *c, const Attention<bf16> *a);
