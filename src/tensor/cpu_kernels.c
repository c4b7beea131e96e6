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
typedef uint8_t vb __attribute__((vector_size(W)));        /* and as bytes */

/* --- plain loops ------------------------------------------------------------------------------ */

static void copy(int64_t n, const float *x, float *y)
{
    memcpy(y, x, (size_t)n * sizeof *y);
}

static void add_vectors(int64_t n, const float *x, float *y)
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

static void add_by_distance(int64_t n, const float *by_distance, int32_t most, const int32_t *at,
                            int32_t from, float *y)
{
    const vi far = most - (vi){0}, near = -most - (vi){0};
    for (int64_t i = 0; i < n; i += W) {
        vi d = (vi)load((const float *)(const void *)(at + i), n - i) - from;
        const vi beyond = d > far;
        d = (far & beyond) | (d & ~beyond);
        const vi before = d < near;
        d = (near & before) | (d & ~before);
        store(y + i, n - i, load(y + i, n - i) + pick(by_distance, d));
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
        break;                                                                                     \
    case CS_ACT_RELU2:                                                                             \
        call(CS_ACT_RELU2);                                                                        \
        break;                                                                                     \
    case CS_ACT_QUICK_GELU:                                                                        \
        call(CS_ACT_QUICK_GELU);                                                                   \
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
        if (row->held) {
            ds += load(row->held + i, n - i);
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
        vb decays = {0};
        memcpy(&decays, part->decay + i, n - i < W ? (size_t)(n - i) : sizeof decays);
        vf decay = all(h->weight_decay) * __builtin_convertvector(decays, vf);
        store(part->m + i, n - i, m);
        store(part->v + i, n - i, v);
        store(part->value + i, n - i, value - all(h->learning_rate) * (step + decay * value));
    }
}

/* --- dropout ---------------------------------------------------------------------------------- */

/* The upper and the lower words of m a. */
ALWAYS vu whole_products(vu a, uint32_t m, vu *low)
{
    const vu by = m - (vu){0};
    const vw even = even_products(a, by), odd = even_products((vw)a >> 32, by);
    const vw lower = 0xffffffffU - (vw){0};
    *low = (vu)((even & lower) | odd << 32);
    return (vu)(even >> 32 | (odd & ~lower));
}

/* Of words: 0 below the threshold. */
ALWAYS vf factors_of(const cs_cpu_drop *d, vu word)
{
    return choose((vi)(word >= d->threshold), all(d->scale), all(0.0F));
}

/* W groups of four columns at a time, as cs_drop_words. */
static void drop(const cs_cpu_drop *d, int64_t n, float *keep)
{
    vu group = {0};
    for (int j = 0; j < W; ++j) {
        group[j] = (uint32_t)j;
    }
    for (int64_t i = 0; i < n; i += FOUR) {
        vu c0 = group + (uint32_t)(i / 4), c1 = d->row - (vu){0};
        vu c2 = (d->purpose ^ (d->micro << 16)) - (vu){0}, c3 = d->step - (vu){0};
        uint32_t k0 = (uint32_t)d->seed ^ 0x44524f50U, k1 = (uint32_t)(d->seed >> 32);
        UNROLL
        for (int round = 0; round < 10; ++round) {
            vu low0, low1;
            const vu high0 = whole_products(c0, 0xD2511F53U, &low0);
            const vu high1 = whole_products(c2, 0xCD9E8D57U, &low1);
            c0 = high1 ^ c1 ^ k0;
            c1 = low1;
            c2 = high0 ^ c3 ^ k1;
            c3 = low0;
            k0 += 0x9E3779B9U;
            k1 += 0xBB67AE85U;
        }
        const vf f0 = factors_of(d, c0), f1 = factors_of(d, c1);
        const vf f2 = factors_of(d, c2), f3 = factors_of(d, c3);
        const vf even[2] = {__builtin_shufflevector(f0, f2, LOW),
                            __builtin_shufflevector(f0, f2, HIGH)};
        const vf odd[2] = {__builtin_shufflevector(f1, f3, LOW),
                           __builtin_shufflevector(f1, f3, HIGH)};
        for (int64_t half = 0, at = i; half < 2; ++half, at += TWO) { /* column by column */
            const vf low = __builtin_shufflevector(even[half], odd[half], LOW);
            const vf high = __builtin_shufflevector(even[half], odd[half], HIGH);
            if (at < n) store(keep + at, n - at, low);
            if (at + W < n) store(keep + at + W, n - at - W, high);
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
    .add = add_vectors,
    .scale = scale,
    .axpy = axpy,
    .multiply = multiply,
    .gather = gather,
    .scatter = scatter,
    .add_by_distance = add_by_distance,
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
