/* Softmax attention in bf16 on tensor cores, backward, after Dao, "FlashAttention-2" (2023): the
 * probabilities are formed again from lse. Unlike there, q' and (k', v') are two kernels that each
 * own what they write, so that nothing is added atomically and results repeat bit for bit; it costs
 * the scores once more. Tiles and masks as in attention_tiles.cuh.
 *
 * The gradient of relative positions, S' summed by bucket, is taken by the kernel of q' as it forms
 * S': each thread adds to its own floats, one a bucket, neighbouring threads in neighbouring banks.
 * Positions may come in any order. */
#include "cuda/attention_tiles.cuh"

/* --- q': rows are queries --------------------------------------------------------------------- */

/* lse (times log2 e) and delta of a thread's two rows. */
struct RowSums {
    float lse[2], delta[2];
};

static __device__ inline RowSums own_sums(const Half &a, const Place &at)
{
    RowSums r;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
        int row = at.first + at.warp * 16 + at.group + half * 8;
        bool there = row < a.length_q;
        r.lse[half] = there ? a.lse.row(at.q0 + row)[at.head] * LOG2_E : 0.0F;
        r.delta[half] = there ? a.delta[(at.q0 + row) * a.heads + at.head] : 0.0F;
    }
    return r;
}

/* Masked scores s to S' = P (P' - delta), where dp is y' v before dropout. row: the query of item
 * 0. */
template <int KEYS, typename A>
static __device__ inline void score_gradients(const A &a, const Draw &draw, float s[KEYS / 8][4],
                                              const float dp[KEYS / 8][4], const RowSums &own,
                                              uint32_t row, int first_key)
{
    int lane = (int)threadIdx.x % WARP;
#pragma unroll
    for (int n = 0; n < KEYS / 8; ++n) {
        uint32_t keep = 15U;
        if (A::drops) {
            keep = keep_by_query(draw, row, (uint32_t)(first_key + n * 8), lane);
        }
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            /* -infinity less -infinity, in a row that sees nothing, is not a number */
            float p = s[n][i] == -INFINITY ? 0.0F : power_of_2(s[n][i] - own.lse[i / 2]);
            float d = !A::drops ? dp[n][i] : keep >> i & 1U ? dp[n][i] * a.drop.scale : 0.0F;
            s[n][i] = p * (d - own.delta[i / 2]);
        }
    }
}

/* A thread's S' of a tile added to its own sums, BLOCK apart; col: its first key. */
template <int KEYS, typename A>
static __device__ inline void add_to_buckets(const A &a, const float s[KEYS / 8][4],
                                             const Keys &keys, const Queries &queries, int col,
                                             float *sums)
{
#pragma unroll
    for (int n = 0; n < KEYS / 8; ++n) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            int key = col + n * 8 + i % 2;
            if (key < a.length_k) {
                sums[bucket_of(a, keys.pos[key], queries.pos[i / 2]) * BLOCK] += s[n][i];
            }
        }
    }
}

/* The block's sums, threads in a fixed order: a thread a bucket, each from another bank. */
static __device__ inline void write_buckets(const Half &a, const Place &at, const float *sums)
{
    int64_t part = (int64_t)blockIdx.z * gridDim.x + blockIdx.x;
    for (int b = (int)threadIdx.x; b < a.positions.buckets; b += BLOCK) {
        float sum = 0.0F;
        for (int t = 0; t < BLOCK; ++t) {
            sum += sums[b * BLOCK + (b + t) % BLOCK];
        }
        a.positions.table_part[(part * a.positions.buckets + b) * a.heads + at.head] = sum;
    }
}

template <int WIDE, typename A>
static __global__ void __launch_bounds__(BLOCK) half_query_kernel(A a)
{
    constexpr int STRIDE = Shape<WIDE>::STRIDE, KEYS = Shape<WIDE>::BACK;
    CS_SHARED_BYTES(bytes);
    const QueryBlock<WIDE, KEYS, 2> b = open_queries<WIDE, KEYS, 2>(a, bytes);
    const Place &at = b.at;
    const RowSums sums = own_sums(a, at);
    float *buckets = reinterpret_cast<float *>(b.shared.high + b.tiles);
    if (A::relative && a.positions.table_part) {
        for (int i = 0; i < a.positions.buckets; ++i) {
            buckets[i * BLOCK + (int)threadIdx.x] = 0.0F;
        }
    }
    copy_wait<0>();
    __syncthreads();
    uint32_t own_q[WIDE / 16][4], own_dy[WIDE / 16][4];
    load_own<WIDE>(own_q, b.shared.own, at.warp * 16, at.lane);
    load_own<WIDE>(own_dy, b.shared.own + SIDE * STRIDE, at.warp * 16, at.lane);

    float acc[WIDE / 8][4] = {};
    const Draw draw = draw_of(a, at.head);
    walk_keys(a, b, own_q, [&](float(*s)[4], int tile, const bf16 *k_tile) {
        float dp[KEYS / 8][4] = {};
        times_rows<WIDE, KEYS>(dp, own_dy, k_tile + KEYS * STRIDE, at.lane);
        score_gradients<KEYS>(a, draw, s, dp, sums, b.row, tile * KEYS);
        if (A::relative && a.positions.table_part) {
            add_to_buckets<KEYS>(a, s, b.keys, b.queries, tile * KEYS + at.in * 2,
                                 buckets + threadIdx.x);
        }
        times_cols<WIDE, KEYS>(acc, s, k_tile, at.lane);
    });
    const Target target = {part_of(a.dq, at.q0, at), at.first + at.warp * 16, a.length_q, a.width,
                           a.add_q != 0};
    write_rows<WIDE>(acc, a.scale, a.scale, b.shared.own + at.warp * 16 * STRIDE, target, at.lane);
    if (A::relative && a.positions.table_part) {
        __syncthreads();
        write_buckets(a, at, buckets);
    }
}

/* --- k' and v': rows are keys ----------------------------------------------------------------- */

/* The numbers of a tile of queries that the kernel of k' and v' needs in addition to q and y'. */
struct QueryRows {
    float *lse, *delta; /* lse times log2 e */
    int32_t *lim, *pos;
};

/* One of two sets of ROWS rows. */
template <int ROWS> static __device__ inline QueryRows query_rows(float *sets, int set)
{
    QueryRows q;
    q.lse = sets + set * 4 * ROWS;
    q.delta = q.lse + ROWS;
    q.lim = reinterpret_cast<int32_t *>(q.delta + ROWS);
    q.pos = q.lim + ROWS;
    return q;
}

template <int ROWS, typename A>
static __device__ inline void load_query_rows(const A &a, const QueryRows &to, int64_t q0,
                                              int first, int head)
{
    for (int i = (int)threadIdx.x; i < ROWS; i += BLOCK) {
        int64_t row = q0 + first + i;
        bool there = first + i < a.length_q;
        to.lse[i] = there ? a.lse.row(row)[head] * LOG2_E : 0.0F;
        to.delta[i] = there ? a.delta[row * a.heads + head] : 0.0F;
        to.lim[i] = there ? a.lim[row] : INT32_MIN;
        to.pos[i] = A::relative && there ? a.positions.pos_q[row] : 0;
    }
}

/* The block's own keys: bounds over all of them, and a thread's two rows. */
struct OwnKeys {
    int32_t vis_low, vis_high, vis[2], pos[2];
    bool there[2];
};

template <typename A> static __device__ inline OwnKeys own_keys(const A &a, const Place &at)
{
    OwnKeys k;
    own_bounds(a.vis + at.k0, at.first, a.length_k, &k.vis_low, &k.vis_high);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
        int row = at.first + at.warp * 16 + at.group + half * 8;
        k.there[half] = row < a.length_k;
        k.vis[half] = k.there[half] ? a.vis[at.k0 + row] : INT32_MAX;
        k.pos[half] = A::relative && k.there[half] ? a.positions.pos_k[at.k0 + row] : 0;
    }
    return k;
}

/* One pair of tiles: what the walked queries are, and whether all pairs are seen. */
struct QueryTile {
    QueryRows rows;
    const float *bias; /* shared */
    int first;         /* query */
    bool whole;
};

/* P' out of scores: rows are keys, columns queries. On return s holds what multiplies q (S'), p
 * what multiplies y'. */
template <int N, typename A>
static __device__ inline void transposed_pairs(const A &a, const Place &at, const Draw &draw,
                                               float s[N / 8][4], float dp[N / 8][4],
                                               const OwnKeys &own, const QueryTile &tile)
{
    const QueryRows rows = tile.rows;
    uint32_t key = (uint32_t)(at.first + at.warp * 16);
    float factor = a.scale * LOG2_E;
#pragma unroll
    for (int n = 0; n < N / 8; ++n) {
        uint32_t keep = 15U;
        if (A::drops) {
            keep = keep_by_key(draw, key, (uint32_t)(at.q0 + tile.first + n * 8), at.lane);
        }
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            int query = n * 8 + at.in * 2 + i % 2;
            float x = s[n][i] * factor;
            if (A::relative) {
                x += bias_at(tile.bias, a.positions.reach, own.pos[i / 2], rows.pos[query]);
            }
            bool seen = tile.whole || (own.there[i / 2] && tile.first + query < a.length_q &&
                                       own.vis[i / 2] <= rows.lim[query]);
            float p = seen ? power_of_2(x - rows.lse[query]) : 0.0F;
            float kept = !A::drops ? 1.0F : keep >> i & 1U ? a.drop.scale : 0.0F;
            s[n][i] = p * (kept * dp[n][i] - rows.delta[query]);
            dp[n][i] = kept * p;
        }
    }
}

/* A fragments of the warp's own k and v, where there are registers for them. */
template <int WIDE> struct KeyFragments {
    static constexpr bool HOLD = Shape<WIDE>::HOLD;
    uint32_t k[HOLD ? WIDE / 16 : 1][4], v[HOLD ? WIDE / 16 : 1][4];
};

template <int WIDE>
static __device__ inline void hold_keys(KeyFragments<WIDE> *f, const bf16 *own, const Place &at)
{
    if constexpr (Shape<WIDE>::HOLD) {
        load_own<WIDE>(f->k, own, at.warp * 16, at.lane);
        load_own<WIDE>(f->v, own + SIDE * Shape<WIDE>::STRIDE, at.warp * 16, at.lane);
    }
}

/* s = k q and dp = v y' of the warp's keys and a tile of queries; what is not held is read out of
 * shared memory each time. */
template <int WIDE, int N>
static __device__ inline void key_products(float s[N / 8][4], float dp[N / 8][4],
                                           const KeyFragments<WIDE> &f, const bf16 *own,
                                           const bf16 *q_tile, const Place &at)
{
    constexpr int STRIDE = Shape<WIDE>::STRIDE;
    const bf16 *dy_tile = q_tile + N * STRIDE;
    if constexpr (Shape<WIDE>::HOLD) {
        times_rows<WIDE, N>(s, f.k, q_tile, at.lane);
        times_rows<WIDE, N>(dp, f.v, dy_tile, at.lane);
    } else {
        times_rows<WIDE, N>(s, own, at.warp * 16, q_tile, at.lane);
        times_rows<WIDE, N>(dp, own + SIDE * STRIDE, at.warp * 16, dy_tile, at.lane);
    }
}

template <int WIDE>
static __device__ inline void write_keys(const Half &a, const Place &at, bf16 *own,
                                         const float acc_k[WIDE / 8][4],
                                         const float acc_v[WIDE / 8][4])
{
    constexpr int STRIDE = Shape<WIDE>::STRIDE;
    bf16 *rows = own + at.warp * 16 * STRIDE;
    int first = at.first + at.warp * 16;
    if (a.dk.x) { /* before v': they may be one tensor */
        const Target target = {part_of(a.dk, at.k0, at), first, a.length_k, a.width, a.add_k != 0};
        write_rows<WIDE>(acc_k, a.scale, a.scale, rows, target, at.lane);
    }
    if (a.dv.x) {
        const Target target = {part_of(a.dv, at.k0, at), first, a.length_k, a.width, a.add_v != 0};
        write_rows<WIDE>(acc_v, 1.0F, 1.0F, rows + SIDE * STRIDE, target, at.lane);
    }
}

template <int WIDE, typename A> static __global__ void __launch_bounds__(BLOCK) half_key_kernel(A a)
{
    constexpr int STRIDE = Shape<WIDE>::STRIDE, QUERIES = Shape<WIDE>::BACK;
    CS_SHARED_BYTES(bytes);
    const Place at = place_of(a);
    int tiles = (a.length_q + QUERIES - 1) / QUERIES;
    SharedMemory shared = shared_of(bytes, 2 * SIDE * STRIDE, 4 * QUERIES * STRIDE,
                                    A::relative ? 2 * a.positions.reach + 1 : 0, tiles);
    float *row_sets = reinterpret_cast<float *>(shared.high + tiles);
    const Walk keys = {part_of(a.k, at.k0, at), part_of(a.v, at.k0, at), a.length_k, a.width};
    const Walk walk = {part_of(a.q, at.q0, at), part_of(a.dy, at.q0, at), a.length_q, a.width};

    begin_pair<WIDE, SIDE>(shared.own, keys, at.first);
    tile_bounds<QUERIES>(a.lim + at.q0, a.length_q, tiles, shared.low, shared.high);
    if (A::relative) {
        load_biases(a, at.head, shared.bias);
    }
    const OwnKeys own = own_keys(a, at);
    copy_wait<0>();
    __syncthreads();
    KeyFragments<WIDE> held;
    hold_keys<WIDE>(&held, shared.own, at);

    float acc_k[WIDE / 8][4] = {}, acc_v[WIDE / 8][4] = {};
    const Draw draw = draw_of(a, at.head);
    walk_tiles(
        tiles, [&](int t) { return shared.high[t] < own.vis_low; },
        [&](int t, int set) {
            begin_pair<WIDE, QUERIES>(shared.walk + set * 2 * QUERIES * STRIDE, walk, t * QUERIES);
            load_query_rows<QUERIES>(a, query_rows<QUERIES>(row_sets, set), at.q0, t * QUERIES,
                                     at.head);
        },
        [&](int t, int set) {
            const bf16 *q_tile = shared.walk + set * 2 * QUERIES * STRIDE;
            float s[QUERIES / 8][4] = {}, dp[QUERIES / 8][4] = {};
            key_products<WIDE, QUERIES>(s, dp, held, shared.own, q_tile, at);
            bool whole = shared.low[t] >= own.vis_high && at.first + SIDE <= a.length_k &&
                         (t + 1) * QUERIES <= a.length_q;
            const QueryTile pairs = {query_rows<QUERIES>(row_sets, set), shared.bias, t * QUERIES,
                                     whole};
            transposed_pairs<QUERIES>(a, at, draw, s, dp, own, pairs);
            times_cols<WIDE, QUERIES>(acc_v, dp, q_tile + QUERIES * STRIDE, at.lane);
            times_cols<WIDE, QUERIES>(acc_k, s, q_tile, at.lane);
        });
    write_keys<WIDE>(a, at, shared.own, acc_k, acc_v);
}

/* --- host ------------------------------------------------------------------------------------- */

template <int WIDE> static cs_status backward(const Cuda *c, const Half *a)
{
    return by_form(a, [=](auto form) {
        cs_status status = CS_OK;
        if (a->dq.x) {
            status =
                launch(c, "query gradient on tensor cores", half_query_kernel<WIDE, decltype(form)>,
                       grid_of(a->length_q, a), dim3(BLOCK, 1, 1),
                       query_grad_bytes<WIDE>(a, a->positions.table_part), form);
        }
        if (status == CS_OK && (a->dk.x || a->dv.x))
            status =
                launch(c, "key gradient on tensor cores", half_key_kernel<WIDE, decltype(form)>,
                       grid_of(a->length_k, a), dim3(BLOCK, 1, 1), key_grad_bytes<WIDE>(a), form);
        return status;
    });
}

cs_status half_attention_backward(const Cuda *c, const Half *a)
{
    return a->width <= 32   ? backward<32>(c, a)
           : a->width <= 64 ? backward<64>(c, a)
                            : backward<128>(c, a);
}

int64_t half_attention_table_parts(const Cuda *c, const Half *a)
{
    return a->dq.x && query_grad_bytes<128>(a, true) <= c->shared_limit
               ? a->batch * ceil_div(a->length_q, SIDE)
               : 0;
}
