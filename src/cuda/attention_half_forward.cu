/* Softmax attention in bf16 on tensor cores, forward, after Dao, "FlashAttention-2" (2023): scores
 * are never stored; a running maximum and sum of each row are updated for each tile of keys. Also
 * which shapes the family takes (attention_tiles.cuh). */
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
        float base = peak == -INFINITY ? 0.0F : peak, old = power_of_2(row->most[half] - base);
        float total = 0.0F;
#pragma unroll
        for (int n = 0; n < KEYS / 8; ++n) {
#pragma unroll
            for (int i = 2 * half; i < 2 * half + 2; ++i) {
                s[n][i] = power_of_2(s[n][i] - base);
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
            a.lse.row(at.q0 + row)[at.head] =
                r->sum[half] != 0.0F ? r->most[half] * LN_2 + logf(r->sum[half]) : -INFINITY;
        }
    }
}

template <int WIDE, typename A>
static __global__ void __launch_bounds__(BLOCK) half_forward_kernel(A a)
{
    constexpr int STRIDE = Shape<WIDE>::STRIDE, KEYS = Shape<WIDE>::KEYS;
    CS_SHARED_BYTES(bytes);
    const QueryBlock<WIDE, KEYS, 1> b = open_queries<WIDE, KEYS, 1>(a, bytes);
    const Place &at = b.at;
    copy_wait<0>();
    __syncthreads();
    uint32_t own[WIDE / 16][4];
    load_own<WIDE>(own, b.shared.own, at.warp * 16, at.lane);

    float acc[WIDE / 8][4] = {};
    Running running = {{-INFINITY, -INFINITY}, {0.0F, 0.0F}};
    const Draw draw = draw_of(a, at.head);
    walk_keys(a, b, own, [&](float(*s)[4], int tile, const bf16 *k_tile) {
        exponentials<WIDE, KEYS>(s, acc, &running);
        if (A::drops) {
            drop_scores<KEYS>(draw, s, b.row, tile * KEYS, at.lane);
        }
        times_cols<WIDE, KEYS>(acc, s, k_tile + KEYS * STRIDE, at.lane);
    });
    float factor[2];
    finish_rows(a, at, &running, factor);
    const Target target = {part_of(a.y, at.q0, at), at.first + at.warp * 16, a.length_q, a.width,
                           false};
    write_rows<WIDE>(acc, factor[0], factor[1], b.shared.own + at.warp * 16 * STRIDE, target,
                     at.lane);
}

/* --- host ------------------------------------------------------------------------------------- */

bool half_attention_fits(const Cuda *c, const Half *a, bool backward)
{
    bool fits = a->width % 8 == 0 && a->width <= 128 && all_wide(0, a->q, a->k, a->v, a->y) &&
                a->batch <= 65535;
    if (fits && backward) {
        fits = all_wide(0, a->dy, a->dq, a->dk, a->dv) &&
               query_grad_bytes<128>(a, false) <= c->shared_limit &&
               key_grad_bytes<128>(a) <= c->shared_limit;
    }
    return fits && forward_bytes<128>(a) <= c->shared_limit;
}

template <int WIDE> static cs_status forward(const Cuda *c, const Half *a)
{
    return by_form(a, [=](auto form) {
        return launch(c, "attention on tensor cores", half_forward_kernel<WIDE, decltype(form)>,
                      grid_of(a->length_q, a), dim3(BLOCK, 1, 1), forward_bytes<WIDE>(a), form);
    });
}

cs_status half_attention_forward(const Cuda *c, const Half *a)
{
    return a->width <= 32   ? forward<32>(c, a)
           : a->width <= 64 ? forward<64>(c, a)
                            : forward<128>(c, a);
}
