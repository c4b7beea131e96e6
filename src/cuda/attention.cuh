/* What the attention kernels share: one description of the operation for both families, the plain
 * ones (attention.cu: any type and width) and the tiled ones on tensor cores (attention_tiles.cuh).
 */
#pragma once

#include "cuda/state.cuh"

template <typename T> struct Attention {
    const T *q, *k, *v, *y, *dy;
    T *out, *dq, *dk, *dv; /* NULL: not asked for */
    int64_t ldq, ldk, ldv, ldy, ld_lse;
    float *lse;   /* log sum exp, -infinity for a row that sees nothing */
    float *delta; /* rows of q x heads: sum_c dy y */
    const int32_t *vis, *lim;
    const int32_t *pos_q, *pos_k, *map; /* map[distance + reach]: bucket */
    const float *table;                 /* NULL: no relative positions */
    int64_t ld_table;
    int32_t reach;
    int32_t batch, heads, width, length_q, length_k;
    float scale;
    int32_t add_q, add_k, add_v;
    Drop drop; /* of head 0: purposes of the others follow */
};

/* Bucket of the key at pos_k seen from pos_q. */
template <typename T>
static __device__ inline int32_t bucket_of(const Attention<T> &a, int32_t pos_k, int32_t pos_q)
{
    int64_t d = (int64_t)pos_k - pos_q;
    d = d < -a.reach ? -a.reach : d > a.reach ? a.reach : d;
    return a.map[d + a.reach];
}

/* Does the tensor-core family take this shape, and with it all that must be aligned? */
bool half_attention_fits(const Cuda *c, const Attention<bf16> *a, bool backward);
cs_status half_attention_forward(const Cuda *c, const Attention<bf16> *a);
cs_status half_attention_backward(const Cuda *c, const Attention<bf16> *a); /* delta is there */
