/* Softmax attention in bf16 on tensor cores, forward, after Dao, "FlashAttention-2" (2023): scores
 * are never stored; a running maximum and sum of each row go with the tiles of keys. Also which
 * shapes the family takes (attention_tiles.cuh).
 */
#include "cuda/attention_tiles.cuh"

static constexpr float LN_2 = 0.6931471805599453F;

/* Of a thread's two rows, in exponents of 2; sums over this thread's columns alone. */
struct Running {
    float most[2], sum[2];
};

/* Scores to exp(score - maximum); what was accumulated before is scaled to the new maximum. */
template <int WIDE, int KEYS>
static __device__ inline void exponentials(float s[KEYS / 8][4], float acc[WIDE / 8][4],
                                           Running *row)
{
#pragma unroll
    for (int half = 0; half < 2; ++half) {
        float peak = row->most[half];
#pragma unroll
        for (int n = 0; n < KEYS / 8; ++n) {
            peak = fmaxf(peak, fmaxf(s[n][2 * half], s[n][2 * half + 1]));
        }
        peak = fmaxf(peak, __shfl_xor_sync(ALL_LANES, peak, 1));
        peak = fmaxf(peak, __shfl_xor_sync(ALL_LANES, peak, 2));
        float base = peak == -INFINITY ? 0.0F : peak, old = exp2f(row->most[half] - base);
        float total = 0.0F;
#pragma unroll
        for (int n = 0; n < KEYS / 8; ++n) {
#pragma unroll
            for (int i = 2 * half; i < 2 * half + 2; ++i) {
                s[n][i] = exp2f(s[n][i] - base);
                total += s[n][i];
            }
        }
        row->most[half] = peak;
        row->sum[half] = row->sum[half] * old + total;
#pragma unroll
        for (int n = 0; n < WIDE / 8; ++n) {
            acc[n][2 * half] *= old;
            acc[n][2 * half + 1] *= old;
        }
    }
}

template <int KEYS>
static __device__ inline void drop_scores(const Draw &draw, float s[KEYS / 8][4], uint32_t row,
                                          int first_key, int lane)
{
#pragma unroll
    for (int n = 0; n < KEYS / 8; ++n) {
        uint32_t keep = keep_by_query(draw, row, (uint32_t)(first_key + n * 8), lane);
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            s[n][i] = keep >> i & 1U ? s[n][i] : 0.0F;
        }
    }
}

/* Sums over all columns; lse is written, factor is what rows are multiplied by. */
static __device__ inline void finish_rows(const Half &a, const Place &at, Running *r,
                                          float factor[2])
{
#pragma unroll
    for (int half = 0; half < 2; ++half) {
        r->sum[half] += __shfl_xor_sync(ALL_LANES, r->sum[half], 1);
        r->sum[half] += __shfl_xor_sync(ALL_LANES, r->sum[half], 2);
        factor[half] = r->sum[half] != 0.0F ? a.drop.scale / r->sum[half] : 0.0F;
        int row = at.first + at.warp * 16 + at.group + half * 8;
        if (at.in == 0 && row < a.length_q) {
            a.lse[(at.q0 + row) * a.ld_lse + at.head] =
                r->sum[half] != 0.0F ? r->most[half] * LN_2 + logf(r->sum[half]) : -INFINITY;
        }
    }
}

template <int WIDE> static __global__ void __launch_bounds__(BLOCK) half_forward_kernel(Half a)
{
    constexpr int STRIDE = Shape<WIDE>::STRIDE, KEYS = Shape<WIDE>::KEYS;
    CS_SHARED_BYTES(bytes);
    const Place at = place_of(a);
    int tiles = (a.length_k + KEYS - 1) / KEYS;
    Room room =
        room_of(bytes, SIDE * STRIDE, 4 * KEYS * STRIDE, a.table ? 2 * a.reach + 1 : 0, tiles);
    const Walk walk = {a.k + at.k0 * a.ldk + at.at,
                       a.v + at.k0 * a.ldv + at.at,
                       a.ldk,
                       a.ldv,
                       a.length_k,
                       a.width};
    const Keys keys = {a.vis + at.k0, a.table ? a.pos_k + at.k0 : NULL, room.bias};

    load_tile<WIDE, SIDE>(room.own, a.q + at.q0 * a.ldq + at.at, a.ldq, at.first, a.length_q,
                          a.width);
    copy_commit();
    tile_bounds<KEYS>(keys.vis, a.length_k, tiles, room.low, room.high);
    if (a.table) {
        load_biases(a, at.head, room.bias);
    }
    const Queries queries = own_queries(a, at);
    copy_wait<0>();
    __syncthreads();
    uint32_t own[WIDE / 16][4];
    load_own<WIDE>(own, room.own, at.warp * 16, at.lane);

    float acc[WIDE / 8][4] = {};
    Running running = {{-INFINITY, -INFINITY}, {0.0F, 0.0F}};
    const Draw draw = draw_of(a, at.head);
    int tile = next_key_tile(-1, tiles, room.low, queries.lim_high), set = 0;
    if (tile < tiles) {
        begin_pair<WIDE, KEYS>(room.walk, walk, tile);
    }
    while (tile < tiles) {
        int next = next_key_tile(tile, tiles, room.low, queries.lim_high);
        const bf16 *k_tile = room.walk + set * 2 * KEYS * STRIDE;
        if (next < tiles) {
            begin_pair<WIDE, KEYS>(room.walk + (1 - set) * 2 * KEYS * STRIDE, walk, next);
        }
        wait_pair(next < tiles);
        float s[KEYS / 8][4] = {};
        times_rows<WIDE, KEYS>(s, own, k_tile, at.lane);
        bool whole = room.high[tile] <= queries.lim_low && (tile + 1) * KEYS <= a.length_k;
        mask_scores<KEYS>(a, s, keys, queries, tile * KEYS + at.in * 2, whole);
        exponentials<WIDE, KEYS>(s, acc, &running);
        uint32_t row = (uint32_t)(at.q0 + at.first + at.warp * 16 + at.group);
        if (a.drop.scale != 1.0F) {
            drop_scores<KEYS>(draw, s, row, tile * KEYS, at.lane);
        }
        times_cols<WIDE, KEYS>(acc, s, k_tile + KEYS * STRIDE, at.lane);
        __syncthreads();
        tile = next;
        set = 1 - set;
    }
    float factor[2];
    finish_rows(a, at, &running, factor);
    const Target target = {
        a.out + at.q0 * a.ldy + at.at, a.ldy, at.first + at.warp * 16, a.length_q, a.width, false};
    write_rows<WIDE>(acc, factor[0], factor[1], room.own + at.warp * 16 * STRIDE, target, at.lane);
}

/* --- host ------------------------------------------------------------------------------------- */

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
