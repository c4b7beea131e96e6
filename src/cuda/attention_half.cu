/* Softmax attention in bf16 on tensor cores, after Dao, "FlashAttention-2" (2023): scores are never
 * stored; forward keeps a running maximum and sum, backward forms the probabilities again from lse.
 * Unlike there, q' and (k', v') are two kernels that each own what they write, so that nothing is
 * added atomically and results repeat bit for bit; it costs the scores once more.
 *
 * A block has 4 warps of 16 rows each (queries; keys in the kernel of k' and v') and walks over
 * tiles of the other side, copied ahead by cp.async. Rank masks decide per pair, and per pair of
 * tiles whether there is anything to compute (lowest vis against highest lim) or nothing to mask.
 * Widths up to 128 that 8 divides; they are padded with zeros to 32, 64 or 128.
 */
#include "cuda/attention.cuh"
#include "cuda/mma.cuh"

enum { BLOCK = 128, SIDE = 64 }; /* threads; rows that a block owns */
static constexpr float LOG2_E = 1.4426950408889634F, LN_2 = 0.6931471805599453F;

typedef Attention<bf16> Half;

/* Tile rows of the walked side, and whether a warp keeps the A fragments of its own side. */
template <int WIDE> struct Shape {
    static constexpr int STRIDE = WIDE + 8;
    static constexpr int KEYS = 64;                    /* forward: keys a tile */
    static constexpr int BACK = WIDE == 128 ? 32 : 64; /* backward: rows of the other side */
    static constexpr bool HOLD = WIDE <= 64;           /* k', v': fragments stay in registers */
};

/* --- loading -------------------------------------------------------------------------------------
 */

/* ROWS rows from `first` of a matrix of `rows` rows whose first `width` columns count. */
template <int WIDE, int ROWS>
static __device__ inline void load_tile(bf16 *tile, const bf16 *from, int64_t ld, int first,
                                        int rows, int width)
{
    constexpr int PIECES = WIDE / 8;
    for (int i = (int)threadIdx.x; i < ROWS * PIECES; i += BLOCK) {
        int row = i / PIECES, piece = i % PIECES;
        bool there = first + row < rows && piece * 8 < width;
        copy_async(tile + row * Shape<WIDE>::STRIDE + piece * 8,
                   there ? from + (first + row) * ld + piece * 8 : from, there);
    }
}

/* Lowest and highest over the lanes, the same in all. */
static __device__ inline void warp_bounds(int32_t *low, int32_t *high)
{
#pragma unroll
    for (int step = WARP / 2; step > 0; step /= 2) {
        int32_t other = __shfl_xor_sync(ALL_LANES, *low, step);
        *low = other < *low ? other : *low;
        other = __shfl_xor_sync(ALL_LANES, *high, step);
        *high = other > *high ? other : *high;
    }
}

/* Lowest and highest of tiles of ROWS ranks; a warp a tile. */
template <int ROWS>
static __device__ inline void tile_bounds(const int32_t *rank, int rows, int tiles, int32_t *low,
                                          int32_t *high)
{
    int lane = (int)threadIdx.x % WARP;
    for (int t = (int)threadIdx.x / WARP; t < tiles; t += BLOCK / WARP) {
        int32_t least = INT32_MAX, most = INT32_MIN;
        for (int i = t * ROWS + lane; i < (t + 1) * ROWS && i < rows; i += WARP) {
            least = rank[i] < least ? rank[i] : least;
            most = rank[i] > most ? rank[i] : most;
        }
        warp_bounds(&least, &most);
        if (lane == 0) {
            low[t] = least;
            high[t] = most;
        }
    }
}

/* The biases of a head by distance, in shared memory, times log2 e. */
static __device__ inline void load_biases(const Half &a, int head, float *bias)
{
    for (int d = (int)threadIdx.x; d <= 2 * a.reach; d += BLOCK) {
        bias[d] = a.table[a.map[d] * a.ld_table + head] * LOG2_E;
    }
}

static __device__ inline float bias_at(const float *bias, int32_t reach, int32_t pos_k,
                                       int32_t pos_q)
{
    int64_t d = (int64_t)pos_k - pos_q;
    d = d < -reach ? -reach : d > reach ? reach : d;
    return bias[d + reach];
}

/* --- dropout -------------------------------------------------------------------------------------
 * The four words of a draw serve four neighbouring keys of one query. */

struct Draw {
    cs_run_key key;
    uint32_t purpose, threshold;
};

static __device__ inline Draw draw_of(const Half &a, int head)
{
    Draw d;
    d.key = *a.drop.key;
    d.purpose = a.drop.purpose + (uint32_t)head;
    d.threshold = a.drop.threshold;
    return d;
}

static __device__ inline uint32_t four_bits(const Draw &d, uint32_t row, uint32_t group)
{
    cs_four_words w = cs_drop_words(d.key.seed, d.key.step, d.key.micro, d.purpose, row, group);
    uint32_t bits = 0;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        bits |= (w.word[i] >= d.threshold ? 1U : 0U) << i;
    }
    return bits;
}

/* Which of a C tile's items are kept, bit i for item i; rows are queries. row: of item 0; col: the
 * tile's first key. Lanes that share a group of four keys draw for one of the two rows each. */
static __device__ inline uint32_t keep_by_query(const Draw &d, uint32_t row, uint32_t col, int lane)
{
    int in = lane % 4, odd = in % 2;
    uint32_t bits = four_bits(d, row + (odd ? 8U : 0U), col / 4 + (uint32_t)in / 2) << (odd * 4);
    bits |= __shfl_xor_sync(ALL_LANES, bits, 1);
    uint32_t low = bits >> (odd * 2) & 3U, high = bits >> (4 + odd * 2) & 3U;
    return low | high << 2;
}

/* The same where rows are keys and columns queries. key: the warp's first; row: query of the tile's
 * first column. Lanes of four neighbouring keys draw for one of two queries and halves each. */
static __device__ inline uint32_t keep_by_key(const Draw &d, uint32_t key, uint32_t row, int lane)
{
    uint32_t group = (uint32_t)lane / 4, in = (uint32_t)lane % 4, sub = group % 4;
    uint32_t bits = four_bits(d, row + in * 2 + sub % 2, (key + sub / 2 * 8) / 4 + group / 4)
                    << (sub * 4);
    bits |= __shfl_xor_sync(ALL_LANES, bits, 4);
    bits |= __shfl_xor_sync(ALL_LANES, bits, 8);
    bits >>= group % 4;
    return (bits & 1U) | (bits >> 3 & 2U) | (bits >> 6 & 4U) | (bits >> 9 & 8U);
}

/* --- products ------------------------------------------------------------------------------------
 */

/* c[n] += A (16 x WIDE, in registers) times B[k][n] = tile[n][k], n = 0 .. N-1. */
template <int WIDE, int N>
static __device__ inline void times_rows(float c[N / 8][4], const uint32_t a[WIDE / 16][4],
                                         const bf16 *tile, int lane)
{
#pragma unroll
    for (int kk = 0; kk < WIDE / 16; ++kk) {
#pragma unroll
        for (int n = 0; n < N / 16; ++n) {
            uint32_t b[4];
            load_b_rows<Shape<WIDE>::STRIDE>(b, tile, n * 16, kk * 16, lane);
            mma(c[2 * n], a[kk], b);
            mma(c[2 * n + 1], a[kk], b + 2);
        }
    }
}

/* The same with A in shared memory, rows from `row` of `own`. */
template <int WIDE, int N>
static __device__ inline void times_rows(float c[N / 8][4], const bf16 *own, int row,
                                         const bf16 *tile, int lane)
{
#pragma unroll
    for (int kk = 0; kk < WIDE / 16; ++kk) {
        uint32_t a[4];
        load_a<Shape<WIDE>::STRIDE>(a, own, row, kk * 16, lane);
#pragma unroll
        for (int n = 0; n < N / 16; ++n) {
            uint32_t b[4];
            load_b_rows<Shape<WIDE>::STRIDE>(b, tile, n * 16, kk * 16, lane);
            mma(c[2 * n], a, b);
            mma(c[2 * n + 1], a, b + 2);
        }
    }
}

/* c (16 x WIDE) += P (16 x K, C tiles rounded to bf16) times tile (K x WIDE). */
template <int WIDE, int K>
static __device__ inline void times_cols(float c[WIDE / 8][4], const float p[K / 8][4],
                                         const bf16 *tile, int lane)
{
#pragma unroll
    for (int kk = 0; kk < K / 16; ++kk) {
        uint32_t a[4] = {pair_half(p[2 * kk][0], p[2 * kk][1]),
                         pair_half(p[2 * kk][2], p[2 * kk][3]),
                         pair_half(p[2 * kk + 1][0], p[2 * kk + 1][1]),
                         pair_half(p[2 * kk + 1][2], p[2 * kk + 1][3])};
#pragma unroll
        for (int n = 0; n < WIDE / 16; ++n) {
            uint32_t b[4];
            load_b_cols<Shape<WIDE>::STRIDE>(b, tile, kk * 16, n * 16, lane);
            mma(c[2 * n], a, b);
            mma(c[2 * n + 1], a, b + 2);
        }
    }
}

template <int WIDE>
static __device__ inline void load_own(uint32_t a[WIDE / 16][4], const bf16 *tile, int row,
                                       int lane)
{
#pragma unroll
    for (int kk = 0; kk < WIDE / 16; ++kk) {
        load_a<Shape<WIDE>::STRIDE>(a[kk], tile, row, kk * 16, lane);
    }
}

/* Writes the warp's 16 x width numbers to rows first .. of a matrix of `rows` rows, through the
 * warp's own rows of a shared tile (nobody else reads them any more). */
template <int WIDE>
static __device__ inline void write_rows(const float c[WIDE / 8][4], float factor0, float factor1,
                                         bf16 *tile, int tile_row, bf16 *to, int64_t ld, int first,
                                         int rows, int width, bool add, int lane)
{
    constexpr int STRIDE = Shape<WIDE>::STRIDE, PIECES = WIDE / 8;
    int group = lane / 4, in = lane % 4;
    __syncwarp();
#pragma unroll
    for (int n = 0; n < WIDE / 8; ++n) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            int row = group + half * 8, col = n * 8 + in * 2;
            float factor = half ? factor1 : factor0;
            float x[2] = {c[n][2 * half] * factor, c[n][2 * half + 1] * factor};
            if (add && first + row < rows && col < width) {
                float old[2];
                load<bf16, 2>(to + (first + row) * ld + col, old);
                x[0] += old[0];
                x[1] += old[1];
            }
            *reinterpret_cast<uint32_t *>(tile + (tile_row + row) * STRIDE + col) =
                pair_half(x[0], x[1]);
        }
    }
    __syncwarp();
    for (int i = lane; i < 16 * PIECES; i += WARP) {
        int row = i / PIECES, piece = i % PIECES;
        if (first + row < rows && piece * 8 < width) {
            *reinterpret_cast<Pack<bf16, 8> *>(to + (first + row) * ld + piece * 8) =
                *reinterpret_cast<const Pack<bf16, 8> *>(tile + (tile_row + row) * STRIDE +
                                                         piece * 8);
        }
    }
    __syncwarp();
}

/* --- forward -------------------------------------------------------------------------------------
 */

/* Shared memory of a kernel whose block walks `tiles` tiles. */
struct Room {
    bf16 *own, *walk;    /* own tiles, then two sets of walked ones */
    float *bias;         /* 2 reach + 1 */
    int32_t *low, *high; /* tiles each */
};

static __device__ inline Room room_of(unsigned char *bytes, int64_t own_items, int64_t walk_items,
                                      int biases, int tiles)
{
    Room r;
    r.own = reinterpret_cast<bf16 *>(bytes);
    r.walk = r.own + own_items;
    r.bias = reinterpret_cast<float *>(r.walk + walk_items);
    r.low = reinterpret_cast<int32_t *>(r.bias + biases);
    r.high = r.low + tiles;
    return r;
}

static int64_t room_bytes(int64_t own_items, int64_t walk_items, int64_t biases, int64_t tiles,
                          int64_t more)
{
    return (own_items + walk_items) * 2 + (biases + 2 * tiles) * 4 + more;
}

/* Lowest and highest rank of the block's own rows; every warp finds them for itself. */
static __device__ inline void own_bounds(const int32_t *rank, int first, int rows, int32_t *low,
                                         int32_t *high)
{
    int32_t least = INT32_MAX, most = INT32_MIN;
    for (int i = first + (int)threadIdx.x % WARP; i < first + SIDE && i < rows; i += WARP) {
        least = rank[i] < least ? rank[i] : least;
        most = rank[i] > most ? rank[i] : most;
    }
    warp_bounds(&least, &most);
    *low = least;
    *high = most;
}

/* The next tile with a pair that sees each other. */
static __device__ inline int next_key_tile(int t, int tiles, const int32_t *low, int32_t lim_high)
{
    do {
        ++t;
    } while (t < tiles && low[t] > lim_high);
    return t;
}

/* Scores to exponents of 2, what is not seen to -infinity. col: this lane's first key. */
template <int N>
static __device__ inline void mask_scores(const Half &a, float s[N / 8][4], const float *bias,
                                          const int32_t *vis, const int32_t *pos_k, int col,
                                          const int32_t lim[2], const int32_t pos_q[2], bool whole)
{
    float factor = a.scale * LOG2_E;
#pragma unroll
    for (int n = 0; n < N / 8; ++n) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            int key = col + n * 8 + i % 2;
            float x = s[n][i] * factor;
            if (!whole || a.table) {
                bool there = key < a.length_k;
                if (there && a.table) {
                    x += bias_at(bias, a.reach, pos_k[key], pos_q[i / 2]);
                }
                x = there && (whole || vis[key] <= lim[i / 2]) ? x : -INFINITY;
            }
            s[n][i] = x;
        }
    }
}

template <int WIDE> static __global__ void __launch_bounds__(BLOCK) half_forward_kernel(Half a)
{
    constexpr int STRIDE = Shape<WIDE>::STRIDE, KEYS = Shape<WIDE>::KEYS;
    CS_SHARED_BYTES(bytes);
    int lane = (int)threadIdx.x % WARP, warp = (int)threadIdx.x / WARP;
    int group = lane / 4, in = lane % 4;
    int head = (int)blockIdx.y, sequence = (int)blockIdx.z, first = (int)blockIdx.x * SIDE;
    int tiles = (a.length_k + KEYS - 1) / KEYS;
    Room room =
        room_of(bytes, SIDE * STRIDE, 4 * KEYS * STRIDE, a.table ? 2 * a.reach + 1 : 0, tiles);
    int64_t q0 = (int64_t)sequence * a.length_q, k0 = (int64_t)sequence * a.length_k;
    int64_t at = (int64_t)head * a.width;
    const bf16 *q = a.q + q0 * a.ldq + at, *k = a.k + k0 * a.ldk + at, *v = a.v + k0 * a.ldv + at;
    const int32_t *vis = a.vis + k0, *lims = a.lim + q0;
    const int32_t *pos_k = a.table ? a.pos_k + k0 : NULL;

    load_tile<WIDE, SIDE>(room.own, q, a.ldq, first, a.length_q, a.width);
    copy_commit();
    tile_bounds<KEYS>(vis, a.length_k, tiles, room.low, room.high);
    if (a.table) {
        load_biases(a, head, room.bias);
    }
    int32_t lim_low, lim_high, lim[2], pos_q[2];
    own_bounds(lims, first, a.length_q, &lim_low, &lim_high);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
        int row = first + warp * 16 + group + half * 8;
        lim[half] = row < a.length_q ? lims[row] : INT32_MIN;
        pos_q[half] = a.table && row < a.length_q ? a.pos_q[q0 + row] : 0;
    }
    copy_wait<0>();
    __syncthreads();
    uint32_t own[WIDE / 16][4];
    load_own<WIDE>(own, room.own, warp * 16, lane);

    float acc[WIDE / 8][4] = {}, most[2] = {-INFINITY, -INFINITY}, sum[2] = {0.0F, 0.0F};
    Draw draw = draw_of(a, head);
    int tile = next_key_tile(-1, tiles, room.low, lim_high), set = 0;
    if (tile < tiles) {
        load_tile<WIDE, KEYS>(room.walk, k, a.ldk, tile * KEYS, a.length_k, a.width);
        load_tile<WIDE, KEYS>(room.walk + KEYS * STRIDE, v, a.ldv, tile * KEYS, a.length_k,
                              a.width);
        copy_commit();
    }
    while (tile < tiles) {
        int next = next_key_tile(tile, tiles, room.low, lim_high);
        bf16 *k_tile = room.walk + set * 2 * KEYS * STRIDE, *v_tile = k_tile + KEYS * STRIDE;
        if (next < tiles) {
            bf16 *ahead = room.walk + (1 - set) * 2 * KEYS * STRIDE;
            load_tile<WIDE, KEYS>(ahead, k, a.ldk, next * KEYS, a.length_k, a.width);
            load_tile<WIDE, KEYS>(ahead + KEYS * STRIDE, v, a.ldv, next * KEYS, a.length_k,
                                  a.width);
            copy_commit();
            copy_wait<1>();
        } else {
            copy_wait<0>();
        }
        __syncthreads();
        float s[KEYS / 8][4] = {};
        times_rows<WIDE, KEYS>(s, own, k_tile, lane);
        bool whole = room.high[tile] <= lim_low && (tile + 1) * KEYS <= a.length_k;
        mask_scores<KEYS>(a, s, room.bias, vis, pos_k, tile * KEYS + in * 2, lim, pos_q, whole);
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            float peak = most[half];
#pragma unroll
            for (int n = 0; n < KEYS / 8; ++n) {
                peak = fmaxf(peak, fmaxf(s[n][2 * half], s[n][2 * half + 1]));
            }
            peak = fmaxf(peak, __shfl_xor_sync(ALL_LANES, peak, 1));
            peak = fmaxf(peak, __shfl_xor_sync(ALL_LANES, peak, 2));
            float base = peak == -INFINITY ? 0.0F : peak, old = exp2f(most[half] - base);
            float total = 0.0F;
#pragma unroll
            for (int n = 0; n < KEYS / 8; ++n) {
#pragma unroll
                for (int i = 2 * half; i < 2 * half + 2; ++i) {
                    s[n][i] = exp2f(s[n][i] - base);
                    total += s[n][i];
                }
            }
            most[half] = peak;
            sum[half] = sum[half] * old + total;
#pragma unroll
            for (int n = 0; n < WIDE / 8; ++n) {
                acc[n][2 * half] *= old;
                acc[n][2 * half + 1] *= old;
            }
        }
        if (a.drop.scale != 1.0F) {
            uint32_t row = (uint32_t)(q0 + first + warp * 16 + group);
#pragma unroll
            for (int n = 0; n < KEYS / 8; ++n) {
                uint32_t keep = keep_by_query(draw, row, (uint32_t)(tile * KEYS + n * 8), lane);
#pragma unroll
                for (int i = 0; i < 4; ++i) {
                    s[n][i] = keep >> i & 1U ? s[n][i] : 0.0F;
                }
            }
        }
        times_cols<WIDE, KEYS>(acc, s, v_tile, lane);
        __syncthreads();
        tile = next;
        set = 1 - set;
    }
    float factor[2];
#pragma unroll
    for (int half = 0; half < 2; ++half) {
        sum[half] += __shfl_xor_sync(ALL_LANES, sum[half], 1);
        sum[half] += __shfl_xor_sync(ALL_LANES, sum[half], 2);
        factor[half] = sum[half] != 0.0F ? a.drop.scale / sum[half] : 0.0F;
        int row = first + warp * 16 + group + half * 8;
        if (in == 0 && row < a.length_q) {
            a.lse[(q0 + row) * a.ld_lse + head] =
                sum[half] != 0.0F ? most[half] * LN_2 + logf(sum[half]) : -INFINITY;
        }
    }
    write_rows<WIDE>(acc, factor[0], factor[1], room.own, warp * 16, a.out + q0 * a.ldy + at, a.ldy,
                     first + warp * 16, a.length_q, a.width, false, lane);
}

/* --- backward ------------------------------------------------------------------------------------
 */

/* q': rows are queries. */
template <int WIDE> static __global__ void __launch_bounds__(BLOCK) half_query_kernel(Half a)
{
    constexpr int STRIDE = Shape<WIDE>::STRIDE, KEYS = Shape<WIDE>::BACK;
    CS_SHARED_BYTES(bytes);
    int lane = (int)threadIdx.x % WARP, warp = (int)threadIdx.x / WARP;
    int group = lane / 4, in = lane % 4;
    int head = (int)blockIdx.y, sequence = (int)blockIdx.z, first = (int)blockIdx.x * SIDE;
    int tiles = (a.length_k + KEYS - 1) / KEYS;
    Room room =
        room_of(bytes, 2 * SIDE * STRIDE, 4 * KEYS * STRIDE, a.table ? 2 * a.reach + 1 : 0, tiles);
    int64_t q0 = (int64_t)sequence * a.length_q, k0 = (int64_t)sequence * a.length_k;
    int64_t at = (int64_t)head * a.width;
    const bf16 *k = a.k + k0 * a.ldk + at, *v = a.v + k0 * a.ldv + at;
    const int32_t *vis = a.vis + k0, *lims = a.lim + q0;
    const int32_t *pos_k = a.table ? a.pos_k + k0 : NULL;

    load_tile<WIDE, SIDE>(room.own, a.q + q0 * a.ldq + at, a.ldq, first, a.length_q, a.width);
    load_tile<WIDE, SIDE>(room.own + SIDE * STRIDE, a.dy + q0 * a.ldy + at, a.ldy, first,
                          a.length_q, a.width);
    copy_commit();
    tile_bounds<KEYS>(vis, a.length_k, tiles, room.low, room.high);
    if (a.table) {
        load_biases(a, head, room.bias);
    }
    int32_t lim_low, lim_high, lim[2], pos_q[2];
    float lse[2], delta[2];
    own_bounds(lims, first, a.length_q, &lim_low, &lim_high);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
        int row = first + warp * 16 + group + half * 8;
        bool there = row < a.length_q;
        lim[half] = there ? lims[row] : INT32_MIN;
        pos_q[half] = a.table && there ? a.pos_q[q0 + row] : 0;
        lse[half] = there ? a.lse[(q0 + row) * a.ld_lse + head] * LOG2_E : 0.0F;
        delta[half] = there ? a.delta[(q0 + row) * a.heads + head] : 0.0F;
    }
    copy_wait<0>();
    __syncthreads();
    uint32_t own_q[WIDE / 16][4], own_dy[WIDE / 16][4];
    load_own<WIDE>(own_q, room.own, warp * 16, lane);
    load_own<WIDE>(own_dy, room.own + SIDE * STRIDE, warp * 16, lane);

    float acc[WIDE / 8][4] = {};
    Draw draw = draw_of(a, head);
    int tile = next_key_tile(-1, tiles, room.low, lim_high), set = 0;
    if (tile < tiles) {
        load_tile<WIDE, KEYS>(room.walk, k, a.ldk, tile * KEYS, a.length_k, a.width);
        load_tile<WIDE, KEYS>(room.walk + KEYS * STRIDE, v, a.ldv, tile * KEYS, a.length_k,
                              a.width);
        copy_commit();
    }
    while (tile < tiles) {
        int next = next_key_tile(tile, tiles, room.low, lim_high);
        bf16 *k_tile = room.walk + set * 2 * KEYS * STRIDE, *v_tile = k_tile + KEYS * STRIDE;
        if (next < tiles) {
            bf16 *ahead = room.walk + (1 - set) * 2 * KEYS * STRIDE;
            load_tile<WIDE, KEYS>(ahead, k, a.ldk, next * KEYS, a.length_k, a.width);
            load_tile<WIDE, KEYS>(ahead + KEYS * STRIDE, v, a.ldv, next * KEYS, a.length_k,
                                  a.width);
            copy_commit();
            copy_wait<1>();
        } else {
            copy_wait<0>();
        }
        __syncthreads();
        float s[KEYS / 8][4] = {}, dp[KEYS / 8][4] = {};
        times_rows<WIDE, KEYS>(s, own_q, k_tile, lane);
        times_rows<WIDE, KEYS>(dp, own_dy, v_tile, lane);
        bool whole = room.high[tile] <= lim_low && (tile + 1) * KEYS <= a.length_k;
        mask_scores<KEYS>(a, s, room.bias, vis, pos_k, tile * KEYS + in * 2, lim, pos_q, whole);
        uint32_t row = (uint32_t)(q0 + first + warp * 16 + group);
#pragma unroll
        for (int n = 0; n < KEYS / 8; ++n) {
            uint32_t keep = 15U;
            if (a.drop.scale != 1.0F) {
                keep = keep_by_query(draw, row, (uint32_t)(tile * KEYS + n * 8), lane);
            }
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                /* -infinity less -infinity, in a row that sees nothing, is not a number */
                float p = s[n][i] == -INFINITY ? 0.0F : exp2f(s[n][i] - lse[i / 2]);
                float d = keep >> i & 1U ? dp[n][i] * a.drop.scale : 0.0F;
                s[n][i] = p * (d - delta[i / 2]);
            }
        }
        times_cols<WIDE, KEYS>(acc, s, k_tile, lane);
        __syncthreads();
        tile = next;
        set = 1 - set;
    }
    write_rows<WIDE>(acc, a.scale, a.scale, room.own, warp * 16, a.dq + q0 * a.ldq + at, a.ldq,
                     first + warp * 16, a.length_q, a.width, a.add_q, lane);
}

/* The next tile of queries one of which sees a key of the block. */
static __device__ inline int next_query_tile(int t, int tiles, const int32_t *high, int32_t vis_low)
{
    do {
        ++t;
    } while (t < tiles && high[t] < vis_low);
    return t;
}

/* What the kernel of k' and v' needs of a tile of queries, beside q and y'. */
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

template <int ROWS>
static __device__ inline void load_query_rows(const Half &a, const QueryRows &to, int64_t q0,
                                              int first, int head)
{
    for (int i = (int)threadIdx.x; i < ROWS; i += BLOCK) {
        int64_t row = q0 + first + i;
        bool there = first + i < a.length_q;
        to.lse[i] = there ? a.lse[row * a.ld_lse + head] * LOG2_E : 0.0F;
        to.delta[i] = there ? a.delta[row * a.heads + head] : 0.0F;
        to.lim[i] = there ? a.lim[row] : INT32_MIN;
        to.pos[i] = there && a.table ? a.pos_q[row] : 0;
    }
}

/* P' out of scores: rows are keys, columns queries. On return s holds what multiplies q (S'), p
 * what multiplies y'. */
template <int N>
static __device__ inline void
transposed_pairs(const Half &a, const Draw &draw, float s[N / 8][4], float dp[N / 8][4],
                 const QueryRows &rows, const float *bias, const int32_t vis[2],
                 const int32_t pos_k[2], const bool there[2], int first_query, uint32_t key,
                 int64_t q0, bool whole, int lane)
{
    int in = lane % 4;
    float factor = a.scale * LOG2_E;
#pragma unroll
    for (int n = 0; n < N / 8; ++n) {
        uint32_t keep = 15U;
        if (a.drop.scale != 1.0F) {
            keep = keep_by_key(draw, key, (uint32_t)(q0 + first_query + n * 8), lane);
        }
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            int query = n * 8 + in * 2 + i % 2;
            float x = s[n][i] * factor;
            if (a.table) {
                x += bias_at(bias, a.reach, pos_k[i / 2], rows.pos[query]);
            }
            bool seen = whole || (there[i / 2] && first_query + query < a.length_q &&
                                  vis[i / 2] <= rows.lim[query]);
            float p = seen ? exp2f(x - rows.lse[query]) : 0.0F;
            float kept = keep >> i & 1U ? a.drop.scale : 0.0F;
            s[n][i] = p * (kept * dp[n][i] - rows.delta[query]);
            dp[n][i] = kept * p;
        }
    }
}

/* k' and v': rows are keys. */
template <int WIDE> static __global__ void __launch_bounds__(BLOCK) half_key_kernel(Half a)
{
    constexpr int STRIDE = Shape<WIDE>::STRIDE, QUERIES = Shape<WIDE>::BACK;
    constexpr bool HOLD = Shape<WIDE>::HOLD;
    CS_SHARED_BYTES(bytes);
    int lane = (int)threadIdx.x % WARP, warp = (int)threadIdx.x / WARP, group = lane / 4;
    int head = (int)blockIdx.y, sequence = (int)blockIdx.z, first = (int)blockIdx.x * SIDE;
    int tiles = (a.length_q + QUERIES - 1) / QUERIES;
    Room room = room_of(bytes, 2 * SIDE * STRIDE, 4 * QUERIES * STRIDE,
                        a.table ? 2 * a.reach + 1 : 0, tiles);
    float *row_sets = reinterpret_cast<float *>(room.high + tiles);
    int64_t q0 = (int64_t)sequence * a.length_q, k0 = (int64_t)sequence * a.length_k;
    int64_t at = (int64_t)head * a.width;
    const bf16 *q = a.q + q0 * a.ldq + at, *dy = a.dy + q0 * a.ldy + at;
    bf16 *own_k = room.own, *own_v = room.own + SIDE * STRIDE;

    load_tile<WIDE, SIDE>(own_k, a.k + k0 * a.ldk + at, a.ldk, first, a.length_k, a.width);
    load_tile<WIDE, SIDE>(own_v, a.v + k0 * a.ldv + at, a.ldv, first, a.length_k, a.width);
    copy_commit();
    tile_bounds<QUERIES>(a.lim + q0, a.length_q, tiles, room.low, room.high);
    if (a.table) {
        load_biases(a, head, room.bias);
    }
    int32_t vis_low, vis_high, vis[2], pos_k[2];
    bool there[2];
    own_bounds(a.vis + k0, first, a.length_k, &vis_low, &vis_high);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
        int row = first + warp * 16 + group + half * 8;
        there[half] = row < a.length_k;
        vis[half] = there[half] ? a.vis[k0 + row] : INT32_MAX;
        pos_k[half] = there[half] && a.table ? a.pos_k[k0 + row] : 0;
    }
    copy_wait<0>();
    __syncthreads();
    uint32_t frag_k[HOLD ? WIDE / 16 : 1][4], frag_v[HOLD ? WIDE / 16 : 1][4];
    if constexpr (HOLD) {
        load_own<WIDE>(frag_k, own_k, warp * 16, lane);
        load_own<WIDE>(frag_v, own_v, warp * 16, lane);
    }

    float acc_k[WIDE / 8][4] = {}, acc_v[WIDE / 8][4] = {};
    Draw draw = draw_of(a, head);
    int tile = next_query_tile(-1, tiles, room.high, vis_low), set = 0;
    if (tile < tiles) {
        load_tile<WIDE, QUERIES>(room.walk, q, a.ldq, tile * QUERIES, a.length_q, a.width);
        load_tile<WIDE, QUERIES>(room.walk + QUERIES * STRIDE, dy, a.ldy, tile * QUERIES,
                                 a.length_q, a.width);
        copy_commit();
        load_query_rows<QUERIES>(a, query_rows<QUERIES>(row_sets, 0), q0, tile * QUERIES, head);
    }
    while (tile < tiles) {
        int next = next_query_tile(tile, tiles, room.high, vis_low);
        bf16 *q_tile = room.walk + set * 2 * QUERIES * STRIDE, *dy_tile = q_tile + QUERIES * STRIDE;
        if (next < tiles) {
            bf16 *ahead = room.walk + (1 - set) * 2 * QUERIES * STRIDE;
            load_tile<WIDE, QUERIES>(ahead, q, a.ldq, next * QUERIES, a.length_q, a.width);
            load_tile<WIDE, QUERIES>(ahead + QUERIES * STRIDE, dy, a.ldy, next * QUERIES,
                                     a.length_q, a.width);
            copy_commit();
            load_query_rows<QUERIES>(a, query_rows<QUERIES>(row_sets, 1 - set), q0, next * QUERIES,
                                     head);
            copy_wait<1>();
        } else {
            copy_wait<0>();
        }
        __syncthreads();
        float s[QUERIES / 8][4] = {}, dp[QUERIES / 8][4] = {};
        if constexpr (HOLD) {
            times_rows<WIDE, QUERIES>(s, frag_k, q_tile, lane);
            times_rows<WIDE, QUERIES>(dp, frag_v, dy_tile, lane);
        } else {
            times_rows<WIDE, QUERIES>(s, own_k, warp * 16, q_tile, lane);
            times_rows<WIDE, QUERIES>(dp, own_v, warp * 16, dy_tile, lane);
        }
        bool whole = room.low[tile] >= vis_high && first + SIDE <= a.length_k &&
                     (tile + 1) * QUERIES <= a.length_q;
        transposed_pairs<QUERIES>(a, draw, s, dp, query_rows<QUERIES>(row_sets, set), room.bias,
                                  vis, pos_k, there, tile * QUERIES, (uint32_t)(first + warp * 16),
                                  q0, whole, lane);
        times_cols<WIDE, QUERIES>(acc_v, dp, dy_tile, lane);
        times_cols<WIDE, QUERIES>(acc_k, s, q_tile, lane);
        __syncthreads();
        tile = next;
        set = 1 - set;
    }
    if (a.dk) { /* before v': they may be one tensor */
        write_rows<WIDE>(acc_k, a.scale, a.scale, own_k, warp * 16, a.dk + k0 * a.ldk + at, a.ldk,
                         first + warp * 16, a.length_k, a.width, a.add_k, lane);
    }
    if (a.dv) {
        write_rows<WIDE>(acc_v, 1.0F, 1.0F, own_v, warp * 16, a.dv + k0 * a.ldv + at, a.ldv,
                         first + warp * 16, a.length_k, a.width, a.add_v, lane);
    }
}

/* --- host ----------------------------------------------------------------------------------------
 */

template <int WIDE> static int64_t forward_bytes(const Half *a)
{
    constexpr int64_t STRIDE = Shape<WIDE>::STRIDE, KEYS = Shape<WIDE>::KEYS;
    return room_bytes(SIDE * STRIDE, 4 * KEYS * STRIDE, a->table ? 2 * a->reach + 1 : 0,
                      ceil_div(a->length_k, KEYS), 0);
}

template <int WIDE> static int64_t backward_bytes(const Half *a, int64_t walked)
{
    constexpr int64_t STRIDE = Shape<WIDE>::STRIDE, ROWS = Shape<WIDE>::BACK;
    return room_bytes(2 * SIDE * STRIDE, 4 * ROWS * STRIDE, a->table ? 2 * a->reach + 1 : 0,
                      ceil_div(walked, ROWS), 2 * 4 * ROWS * 4);
}

static bool row_fits(const void *x, int64_t ld)
{
    return reinterpret_cast<uintptr_t>(x) % 16 == 0 && ld % 8 == 0;
}

bool half_attention_fits(const Cuda *c, const Half *a, bool backward)
{
    bool fits = a->width % 8 == 0 && a->width <= 128 && row_fits(a->q, a->ldq) &&
                row_fits(a->k, a->ldk) && row_fits(a->v, a->ldv) && row_fits(a->y, a->ldy) &&
                a->batch <= 65535;
    if (fits && backward) {
        fits = row_fits(a->dy, a->ldy) && row_fits(a->dq, a->ldq) && row_fits(a->dk, a->ldk) &&
               row_fits(a->dv, a->ldv);
        fits = fits && backward_bytes<128>(a, a->length_k) <= c->shared_limit &&
               backward_bytes<128>(a, a->length_q) <= c->shared_limit;
    }
    return fits && forward_bytes<128>(a) <= c->shared_limit;
}

static dim3 grid_of(int64_t rows, const Half *a)
{
    return dim3((unsigned)ceil_div(rows, SIDE), (unsigned)a->heads, (unsigned)a->batch);
}

template <int WIDE> static cs_status forward(const Cuda *c, const Half *a)
{
    return launch(c, "attention on tensor cores", half_forward_kernel<WIDE>,
                  grid_of(a->length_q, a), dim3(BLOCK, 1, 1), forward_bytes<WIDE>(a), *a);
}

cs_status half_attention_forward(const Cuda *c, const Half *a)
{
    return a->width <= 32   ? forward<32>(c, a)
           : a->width <= 64 ? forward<64>(c, a)
                            : forward<128>(c, a);
}

template <int WIDE> static cs_status backward(const Cuda *c, const Half *a)
{
    cs_status status = CS_OK;
    if (a->dq) {
        status = launch(c, "query gradient on tensor cores", half_query_kernel<WIDE>,
                        grid_of(a->length_q, a), dim3(BLOCK, 1, 1),
                        backward_bytes<WIDE>(a, a->length_k), *a);
    }
    if (status == CS_OK && (a->dk || a->dv)) {
        status = launch(c, "key gradient on tensor cores", half_key_kernel<WIDE>,
                        grid_of(a->length_k, a), dim3(BLOCK, 1, 1),
                        backward_bytes<WIDE>(a, a->length_q), *a);
    }
    return status;
}

cs_status half_attention_backward(const Cuda *c, const Half *a)
{
    return a->width <= 32   ? backward<32>(c, a)
           : a->width <= 64 ? backward<64>(c, a)
                            : backward<128>(c, a);
}
