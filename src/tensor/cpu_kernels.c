/* The vector kernels of the CPU backend, compiled for several instruction sets (base/simd.h). A
 * machine gives the same bits in every run and for any thread count; different vector units round
 * differently (sums run in as many lanes as a vector has). */
#include <math.h>
#include <string.h>

#include "base/simd.h"
#include "tensor/cpu_private.h"

#include "tensor/cpu_math_private.h"
#include "tensor/cpu_tile_private.h"

enum { W = WF, TWO = 2 * W, FOUR = 4 * W };
typedef double vd_all __attribute__((vector_size(8 * W))); /* the lanes of a vf as doubles */

/* --- plain loops ------------------------------------------------------------------------------ */

static void copy(int64_t n, const float *x, float *y)
{
    memcpy(y, x, (size_t)n * sizeof *y);
}

static void add(int64_t n, const float *x, float *y)
{
    for (int64_t i = 0; i < n; i += W) {
        store(y + i, n - i, load(y + i, n - i) + load(x + i, n - i));
    }
}

static void scale(int64_t n, float a, const float *x, float *y)
{
    for (int64_t i = 0; i < n; i += W) {
        store(y + i, n - i, all(a) * load(x + i, n - i));
    }
}

static void axpy(int64_t n, float a, const float *x, float *y)
{
    for (int64_t i = 0; i < n; i += W) {
        store(y + i, n - i, fused(all(a), load(x + i, n - i), load(y + i, n - i)));
    }
}

static void multiply(int64_t n, const float *x, float *y)
{
    for (int64_t i = 0; i < n; i += W) {
        store(y + i, n - i, load(y + i, n - i) * load(x + i, n - i));
    }
}

static void gather(int64_t n, int64_t w, const int32_t *index, float a, const float *x, int64_t ld,
                   float *y)
{
    const int64_t wide = (w + W - 1) / W * W;
    for (int64_t r = 0; r < n; ++r, y += wide) {
        const float *from = x + index[r] * ld;
        for (int64_t i = 0; i < w; i += W) {
            store(y + i, W, all(a) * load(from + i, w - i));
        }
    }
}

static void scatter(int64_t n, int64_t w, const int32_t *index, const float *x, float *y,
                    int64_t ld, bool add)
{
    const int64_t wide = (w + W - 1) / W * W;
    for (int64_t r = 0; r < n; ++r, x += wide) {
        float *to = y + index[r] * ld;
        for (int64_t i = 0; i < w; i += W) {
            vf v = load(x + i, w - i);
            store(to + i, w - i, add ? load(to + i, w - i) + v : v);
        }
    }
}

static float dot(int64_t n, const float *x, const float *y)
{
    vf sum = {0};
    for (int64_t i = 0; i < n; i += W) {
        sum = fused(load(x + i, n - i), load(y + i, n - i), sum);
    }
    return total(sum);
}

static double squares(int64_t n, const float *x)
{
    vd_all sum = {0};
    for (int64_t i = 0; i < n; i += W) {
        vd_all v = __builtin_convertvector(load(x + i, n - i), vd_all);
        sum += v * v;
    }
    double s = sum[0];
    for (int i = 1; i < W; ++i) {
        s += sum[i];
    }
    return s;
}

/* --- activations ------------------------------------------------------------------------------ */

ALWAYS void activate_by(cs_activation act, int64_t n, const float *z, float *y)
{
    for (int64_t i = 0; i < n; i += W) {
        store(y + i, n - i, act_of(act, load(z + i, n - i)));
    }
}

ALWAYS void slope_by(cs_activation act, int64_t n, const float *z, float *dy)
{
    for (int64_t i = 0; i < n; i += W) {
        store(dy + i, n - i, load(dy + i, n - i) * slope_of(act, load(z + i, n - i)));
    }
}

#define ACT_CASES(call)                                                                            \
    case CS_ACT_GELU_TANH:                                                                         \
        call(CS_ACT_GELU_TANH);                                                                    \
        break;                                                                                     \
    case CS_ACT_GELU_ERF:                                                                          \
        call(CS_ACT_GELU_ERF);                                                                     \
        break;                                                                                     \
    case CS_ACT_RELU:                                                                              \
        call(CS_ACT_RELU);                                                                         \
        break;                                                                                     \
    case CS_ACT_TANH:                                                                              \
        call(CS_ACT_TANH);                                                                         \
        break;                                                                                     \
    case CS_ACT_SILU:                                                                              \
        call(CS_ACT_SILU);                                                                         \
        break;

static void activate(cs_activation act, int64_t n, const float *z, float *y)
{
#define CALL(kind) activate_by(kind, n, z, y)
    switch (act) {
        ACT_CASES(CALL)
    default:
        activate_by(CS_ACT_NONE, n, z, y);
    }
#undef CALL
}

static void slope(cs_activation act, int64_t n, const float *z, float *dy)
{
#define CALL(kind) slope_by(kind, n, z, dy)
    switch (act) {
        ACT_CASES(CALL)
    default:
        break;
    }
#undef CALL
}

/* --- softmax ---------------------------------------------------------------------------------- */

static float max(int64_t n, const float *x)
{
    vf most = all(x[0]);
    int64_t i = 0;
    for (; i + W <= n; i += W) {
        most = greater(load(x + i, W), most);
    }
    float m = most[0];
    for (int j = 1; j < W; ++j) {
        m = most[j] > m ? most[j] : m;
    }
    for (; i < n; ++i) {
        m = x[i] > m ? x[i] : m;
    }
    return m;
}

static float exp_sum(int64_t n, float shift, const float *x)
{
    vf sum = {0}, other = {0};
    int64_t i = 0;
    for (; i + TWO <= n; i += TWO) {
        sum += exp_of(load(x + i, W) - all(shift));
        other += exp_of(load(x + i + W, W) - all(shift));
    }
    for (; i < n; i += W) {
        sum += first(exp_of(load(x + i, n - i) - all(shift)), n - i);
    }
    return total(sum + other);
}

static float exp_store(int64_t n, float shift, float *x)
{
    vf sum = {0};
    for (int64_t i = 0; i < n; i += W) {
        vf e = first(exp_of(load(x + i, n - i) - all(shift)), n - i);
        store(x + i, n - i, e);
        sum += e;
    }
    return total(sum);
}

static void softmax_back(int64_t n, float lse, float mean, const float *keep, float *p, float *dp)
{
    for (int64_t i = 0; i < n; i += W) {
        vf a = exp_of(load(p + i, n - i) - all(lse)), d = load(dp + i, n - i);
        if (keep) {
            vf k = load(keep + i, n - i);
            store(dp + i, n - i, a * (d * k - all(mean)));
            store(p + i, n - i, a * k);
        } else {
            store(dp + i, n - i, a * (d - all(mean)));
            store(p + i, n - i, a);
        }
    }
}

static void entropy_back(int64_t n, float lse, float weight, float *z)
{
    for (int64_t i = 0; i < n; i += W) {
        store(z + i, n - i, all(weight) * exp_of(load(z + i, n - i) - all(lse)));
    }
}

/* --- layer norm ------------------------------------------------------------------------------- */

static void norm(const cs_cpu_norm_row *row)
{
    const int64_t n = row->n;
    const float *s = row->s;
    vf sum = {0}, square = {0};
    for (int64_t i = 0; i < n && !row->rms; i += W) {
        sum += load(s + i, n - i);
    }
    float mean = total(sum) / (float)n;
    for (int64_t i = 0; i < n; i += W) {
        vf d = first(load(s + i, n - i) - all(mean), n - i);
        square = fused(d, d, square);
    }
    float rstd = 1.0F / sqrtf(total(square) / (float)n + row->eps);
    for (int64_t i = 0; i < n; i += W) {
        vf b = row->bias ? load(row->bias + i, n - i) : all(0.0F);
        vf d = (load(s + i, n - i) - all(mean)) * all(rstd);
        store(row->y + i, n - i, fused(d, load(row->gain + i, n - i), b));
    }
    *row->mean = mean;
    *row->rstd = rstd;
}

static void norm_back(const cs_cpu_norm_back_row *row)
{
    const int64_t n = row->n;
    vf sum_g = {0}, sum_gn = {0};
    for (int64_t i = 0; i < n; i += W) {
        vf dy = load(row->dy + i, n - i);
        vf d = (load(row->s + i, n - i) - all(row->mean)) * all(row->rstd);
        vf g = dy * load(row->gain + i, n - i);
        sum_g += g;
        sum_gn = fused(g, d, sum_gn); /* g is 0 beyond n */
        if (row->dgain) {
            store(row->dgain + i, n - i, fused(dy, d, load(row->dgain + i, n - i)));
        }
        if (row->dbias) {
            store(row->dbias + i, n - i, dy + load(row->dbias + i, n - i));
        }
    }
    if (!row->ds) {
        return;
    }
    float mean_g = row->rms ? 0.0F : total(sum_g) / (float)n, mean_gn = total(sum_gn) / (float)n;
    for (int64_t i = 0; i < n; i += W) {
        vf d = (load(row->s + i, n - i) - all(row->mean)) * all(row->rstd);
        vf g = load(row->dy + i, n - i) * load(row->gain + i, n - i);
        vf ds = all(row->rstd) * (g - all(mean_g) - d * all(mean_gn));
        if (row->stands) {
            ds += load(row->stands + i, n - i);
        }
        store(row->ds + i, n - i, ds);
    }
}

/* --- the optimizer ---------------------------------------------------------------------------- */

static void adamw(const cs_cpu_adamw *part)
{
    const cs_adamw *h = &part->hyper;
    const float unbias1 = 1.0F / h->bias1, unbias2 = 1.0F / h->bias2;
    for (int64_t i = 0, n = part->n; i < n; i += W) {
        vf g = all(part->c) * load(part->grad + i, n - i);
        vf m = all(h->beta1) * load(part->m + i, n - i) + all(1.0F - h->beta1) * g;
        vf v = all(h->beta2) * load(part->v + i, n - i) + all(1.0F - h->beta2) * g * g;
        vf value = load(part->value + i, n - i);
        vf step = m * all(unbias1) / (root(v * all(unbias2)) + all(h->eps));
        vf decay = {0};
        for (int j = 0; j < W && i + j < n; ++j) {
            decay[j] = part->decay[i + j] ? h->weight_decay : 0.0F;
        }
        store(part->m + i, n - i, m);
        store(part->v + i, n - i, v);
        store(part->value + i, n - i, value - all(h->learning_rate) * (step + decay * value));
    }
}

/* --- dropout ---------------------------------------------------------------------------------- */

/* W groups of four columns at a time, as cs_drop_words. */
static void drop(const cs_cpu_drop *d, int64_t n, float *keep)
{
    for (int64_t i = 0; i < n; i += FOUR) {
        uint32_t c0[W], c1[W], c2[W], c3[W];
        uint32_t k0 = (uint32_t)d->seed ^ 0x44524f50U, k1 = (uint32_t)(d->seed >> 32);
        for (int j = 0; j < W; ++j) {
            c0[j] = (uint32_t)(i / 4 + j);
            c1[j] = d->row;
            c2[j] = d->purpose ^ (d->micro << 16);
            c3[j] = d->step;
        }
        for (int round = 0; round < 10; ++round) {
            for (int j = 0; j < W; ++j) {
                uint64_t p0 = (uint64_t)0xD2511F53U * c0[j], p1 = (uint64_t)0xCD9E8D57U * c2[j];
                c0[j] = (uint32_t)(p1 >> 32) ^ c1[j] ^ k0;
                c1[j] = (uint32_t)p1;
                c2[j] = (uint32_t)(p0 >> 32) ^ c3[j] ^ k1;
                c3[j] = (uint32_t)p0;
            }
            k0 += 0x9E3779B9U;
            k1 += 0xBB67AE85U;
        }
        for (int64_t j = 0; j < W; ++j) {
            const uint32_t word[4] = {c0[j], c1[j], c2[j], c3[j]};
            for (int q = 0; q < 4 && i + 4 * j + q < n; ++q) {
                keep[i + 4 * j + q] = word[q] >= d->threshold ? d->scale : 0.0F;
            }
        }
    }
}

const cs_cpu_kernels CS_SIMD_TABLE(cs_cpu_kernels) = {
    .name = SIMD_NAME,
    .rows = TILE_ROWS,
    .cols = TILE_COLS,
    .pack_along = pack_along,
    .pack_across = pack_across,
    .product = product,
    .copy = copy,
    .add = add,
    .scale = scale,
    .axpy = axpy,
    .multiply = multiply,
    .gather = gather,
    .scatter = scatter,
    .dot = dot,
    .squares = squares,
    .activate = activate,
    .slope = slope,
    .max = max,
    .exp_sum = exp_sum,
    .exp_store = exp_store,
    .softmax_back = softmax_back,
    .entropy_back = entropy_back,
    .norm = norm,
    .norm_back = norm_back,
    .adamw = adamw,
    .drop = drop,
};
