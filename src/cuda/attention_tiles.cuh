/* Private to the attention kernels on tensor cores (attention_half_forward.cu,
 * attention_half_backward.cu): how they share out the work, and their routines on tiles.
 *
 * A block has 4 warps of 16 rows each (queries; keys in the kernel of k' and v') and walks over
 * tiles of the other side, two matrices at a time, copied ahead by cp.async into two sets of shared
 * tiles. Rank masks decide per pair, and per pair of tiles whether there is anything to compute
 * (lowest vis against highest lim) or nothing to mask. Widths up to 128 that 8 divides; they are
 * padded with zeros to 32, 64 or 128 (WIDE).
 */
#pragma once

#include "cuda/attention.cuh"
#include "cuda/mma.cuh"

enum { BLOCK = 128, SIDE = 64 }; /* threads; rows that a block owns */
static constexpr float LOG2_E = 1.4426950408889634F;

typedef Attention<bf16> Half;

/* The same with what is decided when kernels are compiled: is there dropout, are there relative
 * positions? */
template <bool DROPS, bool RELATIVE> struct Form : Half {
    static constexpr bool drops = DROPS, relative = RELATIVE;
};

/* run(form) with the form of an operation. */
template <typename Run> static cs_status by_form(const Half *a, Run run)
{
    if (a->drop.scale != 1.0F) {
        return a->positions.table.x ? run(Form<true, true>{*a}) : run(Form<true, false>{*a});
    }
    return a->positions.table.x ? run(Form<false, true>{*a}) : run(Form<false, false>{*a});
}

/* Tile rows of the walked side, and whether a warp keeps the A fragments of the rows that it
 * owns. */
template <int WIDE> struct Shape {
    static constexpr int STRIDE = WIDE + 8;
    static constexpr int KEYS = 64;                    /* forward: keys a tile */
    static constexpr int BACK = WIDE == 128 ? 32 : 64; /* backward: rows of the other side */
    static constexpr bool HOLD = WIDE <= 64;           /* k', v': fragments stay in registers */
};

/* The part of a thread: rows first + warp 16 + group (and 8 more) of one head and sequence. */
struct Place {
    int lane, warp, group, in;
    int head, first;    /* the block's first row */
    int64_t q0, k0, at; /* first rows of the sequence, first column of the head */
};

static __device__ inline Place place_of(const Half &a)
{
    Place p;
    p.lane = (int)threadIdx.x % WARP;
    p.warp = (int)threadIdx.x / WARP;
    p.group = p.lane / 4;
    p.in = p.lane % 4;
    p.head = (int)blockIdx.y;
    p.first = (int)blockIdx.x * SIDE;
    p.q0 = (int64_t)blockIdx.z * a.length_q;
    p.k0 = (int64_t)blockIdx.z * a.length_k;
    p.at = (int64_t)p.head * a.width;
    return p;
}

/* The part of a matrix that belongs to one sequence and head: from its first row and column. */
template <typename T>
static __device__ inline Rows<T> part_of(const Rows<T> &m, int64_t first, const Place &p)
{
    return {m.row(first) + p.at, m.ld};
}

/* --- shared memory ---------------------------------------------------------------------------- */

/* Shared memory of a kernel whose block walks `tiles` tiles. */
struct SharedMemory {
    bf16 *own, *walk;    /* own tiles, then two sets of walked ones */
    float *bias;         /* 2 reach + 1 */
    int32_t *low, *high; /* tiles each */
};

static __device__ inline SharedMemory shared_of(unsigned char *bytes, int64_t own_items,
                                                int64_t walk_items, int biases, int tiles)
{
    SharedMemory r;
    r.own = reinterpret_cast<bf16 *>(bytes);
    r.walk = r.own + own_items;
    r.bias = reinterpret_cast<float *>(r.walk + walk_items);
    r.low = reinterpret_cast<int32_t *>(r.bias + biases);
    r.high = r.low + tiles;
    return r;
}

static inline int64_t shared_bytes(int64_t own_items, int64_t walk_items, int64_t biases,
                                   int64_t tiles, int64_t more)
{
    return (own_items + walk_items) * 2 + (biases + 2 * tiles) * 4 + more;
}

template <int WIDE> static inline int64_t forward_bytes(const Half *a)
{
    constexpr int64_t STRIDE = Shape<WIDE>::STRIDE, KEYS = Shape<WIDE>::KEYS;
    return shared_bytes(SIDE * STRIDE, 4 * KEYS * STRIDE,
                        a->positions.table.x ? 2 * a->positions.reach + 1 : 0,
                        ceil_div(a->length_k, KEYS), 0);
}

/* more: bytes in addition to the tiles, their bounds and the biases. */
template <int WIDE>
static inline int64_t backward_bytes(const Half *a, int64_t walked, int64_t more)
{
    constexpr int64_t STRIDE = Shape<WIDE>::STRIDE, ROWS = Shape<WIDE>::BACK;
    return shared_bytes(2 * SIDE * STRIDE, 4 * ROWS * STRIDE,
                        a->positions.table.x ? 2 * a->positions.reach + 1 : 0,
                        ceil_div(walked, ROWS), more);
}

/* Of q': a float for each thread and bucket where the table's gradient is summed on the way. */
template <int WIDE> static inline int64_t query_grad_bytes(const Half *a, bool table)
{
    return backward_bytes<WIDE>(a, a->length_k,
                                table ? (int64_t)a->positions.buckets * BLOCK * 4 : 0);
}

/* Of k' and v': two sets of what they need of a tile's queries. */
template <int WIDE> static inline int64_t key_grad_bytes(const Half *a)
{
    return backward_bytes<WIDE>(a, a->length_q, 2 * 4 * Shape<WIDE>::BACK * 4);
}

static inline dim3 grid_of(int64_t rows, const Half *a)
{
    return dim3((unsigned)ceil_div(rows, SIDE), (unsigned)a->heads, (unsigned)a->batch);
}

/* --- loading ---------------------------------------------------------------------------------- */

/* ROWS rows from `first` of a matrix of `rows` rows whose first `width` columns count. */
template <int WIDE, int ROWS>
static __device__ inline void load_tile(bf16 *tile, const Rows<const bf16> &from, int first,
                                        int rows, int width)
{
    constexpr int PIECES = WIDE / 8;
    for (int i = (int)threadIdx.x; i < ROWS * PIECES; i += BLOCK) {
        int row = i / PIECES, piece = i % PIECES;
        bool there = first + row < rows && piece * 8 < width;
        copy_async(tile + row * Shape<WIDE>::STRIDE + piece * 8,
                   there ? from.row(first + row) + piece * 8 : from.x, there);
    }
}

/* Two matrices of `rows` rows of `width` columns each: those that are walked over, or the block's
 * own. */
struct Walk {
    Rows<const bf16> x, y;
    int rows, width;
};

/* Begins the copies of `ROWS` rows of both from `first` on; to: a set of two tiles. */
template <int WIDE, int ROWS>
static __device__ inline void begin_pair(bf16 *to, const Walk &w, int first)
{
    load_tile<WIDE, ROWS>(to, w.x, first, w.rows, w.width);
    load_tile<WIDE, ROWS>(to + ROWS * Shape<WIDE>::STRIDE, w.y, first, w.rows, w.width);
    copy_commit();
}

/* Waits for all copies but, where there are `more`, those begun last. All threads of the block are
 * here then. */
static __device__ inline void wait_pair(bool more)
{
    if (more) {
        copy_wait<1>();
    } else {
        copy_wait<0>();
    }
    __syncthreads();
}

/* --- ranks and biases ------------------------------------------------------------------------- */

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

/* Takes the tiles that `skip` leaves, one after the other: begin(tile, set) starts the copies of
 * the next one into the other set while body(tile, set) works on one that has arrived. */
template <typename Skip, typename Begin, typename Body>
static __device__ inline void walk_tiles(int tiles, Skip skip, Begin begin, Body body)
{
    auto after = [&](int t) {
        do {
            ++t;
        } while (t < tiles && skip(t));
        return t;
    };
    int tile = after(-1), set = 0;
    if (tile < tiles) {
        begin(tile, 0);
    }
    while (tile < tiles) {
        int next = after(tile);
        if (next < tiles) {
            begin(next, 1 - set);
        }
        wait_pair(next < tiles);
        body(tile, set);
        __syncthreads();
        tile = next;
        set = 1 - set;
    }
}

/* The biases of a head by distance, in shared memory, times log2 e. */
static __device__ inline void load_biases(const Half &a, int head, float *bias)
{
    for (int d = (int)threadIdx.x; d <= 2 * a.positions.reach; d += BLOCK) {
        bias[d] = a.positions.table.row(a.positions.map[d])[head] * LOG2_E;
    }
}

static __device__ inline float bias_at(const float *bias, int32_t reach, int32_t pos_k,
                                       int32_t pos_q)
{
    int64_t d = (int64_t)pos_k - pos_q;
    d = d < -reach ? -reach : d > reach ? reach : d;
    return bias[d + reach];
}

/* The numbers of the walked keys that masking needs ... */
struct Keys {
    const int32_t *vis, *pos; /* of the sequence; pos NULL: no relative positions */
    const float *bias;        /* shared */
};

/* ... and of the block's own queries: bounds over all of them, and a thread's two rows. */
struct Queries {
    int32_t lim_low, lim_high, lim[2], pos[2];
};

template <typename A> static __device__ inline Queries own_queries(const A &a, const Place &at)
{
    Queries q;
    const int32_t *lims = a.lim + at.q0;
    own_bounds(lims, at.first, a.length_q, &q.lim_low, &q.lim_high);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
        int row = at.first + at.warp * 16 + at.group + half * 8;
        q.lim[half] = row < a.length_q ? lims[row] : INT32_MIN;
        q.pos[half] = A::relative && row < a.length_q ? a.positions.pos_q[at.q0 + row] : 0;
    }
    return q;
}

/* Scores to exponents of 2, what is not seen to -infinity. col: this lane's first key; whole:
 * all pairs are seen. */
template <int N, typename A>
static __device__ inline void mask_scores(const A &a, float s[N / 8][4], const Keys &keys,
                                          const Queries &queries, int col, bool whole)
{
    float factor = a.scale * LOG2_E;
#pragma unroll
    for (int n = 0; n < N / 8; ++n) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            int key = col + n * 8 + i % 2;
            float x = s[n][i] * factor;
            if (!whole || A::relative) {
                bool there = key < a.length_k;
                if (A::relative && there) {
                    x += bias_at(keys.bias, a.positions.reach, keys.pos[key], queries.pos[i / 2]);
                }
                x = there && (whole || keys.vis[key] <= queries.lim[i / 2]) ? x : -INFINITY;
            }
            s[n][i] = x;
        }
    }
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

/* --- products --------------------------------------------------------------------------------- */

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

/* Where a warp's 16 x width numbers go: rows first .. of a matrix of `rows` rows. */
struct Target {
    Rows<bf16> to;
    int first, rows, width;
    bool add;
};

/* Writes them, rows times a factor each, through the warp's own rows of a shared tile (nobody else
 * reads them any more). */
template <int WIDE>
static __device__ inline void write_rows(const float c[WIDE / 8][4], float factor0, float factor1,
                                         bf16 *own, const Target &t, int lane)
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
            if (t.add && t.first + row < t.rows && col < t.width) {
                float old[2];
                load<bf16, 2>(t.to.row(t.first + row) + col, old);
                x[0] += old[0];
                x[1] += old[1];
            }
            *reinterpret_cast<uint32_t *>(own + row * STRIDE + col) = pair_half(x[0], x[1]);
        }
    }
    __syncwarp();
    for (int i = lane; i < 16 * PIECES; i += WARP) {
        int row = i / PIECES, piece = i % PIECES;
        if (t.first + row < t.rows && piece * 8 < t.width) {
            *reinterpret_cast<Pack<bf16, 8> *>(t.to.row(t.first + row) + piece * 8) =
                *reinterpret_cast<const Pack<bf16, 8> *>(own + row * STRIDE + piece * 8);
        }
    }
    __syncwarp();
}

/* --- kernels whose rows are queries ----------------------------------------------------------- */

/* The queries of a block, which walks over keys: OWN tiles of its queries (q, and y' backward) are
 * on their way into shared memory. */
template <int WIDE, int KEYS, int OWN> struct QueryBlock {
    Place at;
    int tiles;
    SharedMemory shared;
    Keys keys;
    Queries queries;
    uint32_t row; /* the query of a thread's item 0, among all */
};

template <int WIDE, int KEYS, int OWN, typename A>
static __device__ inline QueryBlock<WIDE, KEYS, OWN> open_queries(const A &a, unsigned char *bytes)
{
    constexpr int STRIDE = Shape<WIDE>::STRIDE;
    QueryBlock<WIDE, KEYS, OWN> b;
    b.at = place_of(a);
    b.tiles = (a.length_k + KEYS - 1) / KEYS;
    b.shared = shared_of(bytes, OWN * SIDE * STRIDE, 4 * KEYS * STRIDE,
                         A::relative ? 2 * a.positions.reach + 1 : 0, b.tiles);
    b.keys = {a.vis + b.at.k0, A::relative ? a.positions.pos_k + b.at.k0 : NULL, b.shared.bias};
    load_tile<WIDE, SIDE>(b.shared.own, part_of(a.q, b.at.q0, b.at), b.at.first, a.length_q,
                          a.width);
    if (OWN == 2) {
        load_tile<WIDE, SIDE>(b.shared.own + SIDE * STRIDE, part_of(a.dy, b.at.q0, b.at),
                              b.at.first, a.length_q, a.width);
    }
    copy_commit();
    tile_bounds<KEYS>(b.keys.vis, a.length_k, b.tiles, b.shared.low, b.shared.high);
    if (A::relative) {
        load_biases(a, b.at.head, b.shared.bias);
    }
    b.queries = own_queries(a, b.at);
    b.row = (uint32_t)(b.at.q0 + b.at.first + b.at.warp * 16 + b.at.group);
    return b;
}

/* body(s, tile, k_tile) for each tile of keys that the block sees: masked scores, in exponents of
 * 2, and the tile's k, which its v follows. */
template <int WIDE, int KEYS, int OWN, typename A, typename Body>
static __device__ inline void walk_keys(const A &a, const QueryBlock<WIDE, KEYS, OWN> &b,
                                        const uint32_t own[WIDE / 16][4], Body body)
{
    constexpr int SET = 2 * KEYS * Shape<WIDE>::STRIDE;
    const Walk walk = {part_of(a.k, b.at.k0, b.at), part_of(a.v, b.at.k0, b.at), a.length_k,
                       a.width};
    walk_tiles(
        b.tiles, [&](int t) { return b.shared.low[t] > b.queries.lim_high; },
        [&](int t, int set) { begin_pair<WIDE, KEYS>(b.shared.walk + set * SET, walk, t * KEYS); },
        [&](int t, int set) {
            float s[KEYS / 8][4] = {};
            times_rows<WIDE, KEYS>(s, own, b.shared.walk + set * SET, b.at.lane);
            bool whole = b.shared.high[t] <= b.queries.lim_low && (t + 1) * KEYS <= a.length_k;
            mask_scores<KEYS>(a, s, b.keys, b.queries, t * KEYS + b.at.in * 2, whole);
            body(s, t, b.shared.walk + set * SET);
        });
}
