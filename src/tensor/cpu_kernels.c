/* The vector kernels of the CPU backend, compiled for several instruction sets (base/simd.h). A
 * machine gives the same bits in every run and for any thread count; different vector units round
 * differently (sums run in as many lanes as a vector has). */
#include <math.h>
#include <string.h>

#include "base/simd.h"
#include "tensor/cpu_private.h"

#include "tensor/cpu_math_private.h"

enum { W = WF, TILE_ROWS = CS_SIMD == 512 ? 14 : CS_SIMD == 256 ? 6 : 4, TILE_VECTORS = 2 };
enum { TILE_COLS = W * TILE_VECTORS, TWO = 2 * W, FOUR = 4 * W, FAR = 12 * W };
typedef double vd_all __attribute__((vector_size(8 * W))); /* the lanes of a vf as doubles */

/* --- matrices --------------------------------------------------------------------------------- */

#if CS_SIMD == 512
#define LOW 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23
#define HIGH 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31
#elif CS_SIMD == 256
#define LOW 0, 8, 1, 9, 2, 10, 3, 11
#define HIGH 4, 12, 5, 13, 6, 14, 7, 15
#else
#define LOW 0, 4, 1, 5
#define HIGH 2, 6, 3, 7
#endif

/* One perfect shuffle of the rows with their items; log2 W of them transpose W x W. */
ALWAYS void shuffle_rows(const vf from[W], vf to[W])
{
    UNROLL
    for (int64_t i = 0; i < W / 2; ++i) {
        to[2 * i] = __builtin_shufflevector(from[i], from[i + W / 2], LOW);
        to[2 * i + 1] = __builtin_shufflevector(from[i], from[i + W / 2], HIGH);
    }
}

ALWAYS void transpose(vf row[W])
{
    vf other[W];
    shuffle_rows(row, other);
    shuffle_rows(other, row);
#if CS_SIMD == 512
    shuffle_rows(row, other);
    shuffle_rows(other, row);
#elif CS_SIMD == 256
    shuffle_rows(row, other);
    memcpy(row, other, sizeof other);
#endif
}

static void pack_along(int64_t n, int64_t steps, const float *x, int64_t ld, int64_t width,
                       float *out)
{
    for (int64_t i0 = 0; i0 < width; i0 += W) {
        for (int64_t k = 0; k < steps; k += W) {
            vf row[W];
            UNROLL
            for (int i = 0; i < W; ++i) {
                row[i] = all(0.0F);
                if (i0 + i < n) {
                    row[i] = load(x + (i0 + i) * ld + k, steps - k);
                    __builtin_prefetch(x + (i0 + i) * ld + k + FAR, 0, 2);
                }
            }
            transpose(row);
            for (int i = 0; i < W && k + i < steps; ++i) { /* what spills is written over next */
                *(vf_any *)(out + (k + i) * width + i0) = row[i];
            }
        }
    }
}

static void pack_across(int64_t n, int64_t panels, int64_t steps, int64_t all_steps, const float *x,
                        int64_t ld, float *out)
{
    const int64_t least = n / panels, more = n % panels;
    const int64_t end = (steps - 1) * ld + n; /* before it, reading past n items is reading x */
    for (int64_t k = 0; k < steps; ++k) {
        float *to = out;
        for (int64_t p = 0, i = 0; p < panels; ++p) {
            const int64_t width = least + (p < more);
            for (int64_t j = 0; j < width; j += W) {
                __builtin_prefetch(x + (k + 16) * ld + i + j, 0, 2);
                vf v = load(x + k * ld + i + j, end - k * ld - i - j);
                /* past the panel's end lie its next step, then the next panel's first */
                store(to + k * width + j, k < steps - 1 ? W : width - j, v);
            }
            i += width;
            to += width * all_steps;
        }
    }
}

/* Item (i, k) of A is a[i * row + k * step]. */
ALWAYS void tile_of(const int rows, int64_t steps, const float *a, int64_t row, int64_t step,
                    const float *b, float *c, int64_t ldc, bool add)
{
    vf sum[TILE_ROWS][TILE_VECTORS];
    UNROLL
    for (int i = 0; i < rows; ++i) {
        UNROLL
        for (int64_t j = 0; j < TILE_VECTORS; ++j) {
            sum[i][j] = all(0.0F);
            __builtin_prefetch(c + i * ldc + j * W, 1);
        }
    }
    for (int64_t k = 0; k < steps; ++k) {
        vf bk[TILE_VECTORS];
        UNROLL
        for (int64_t j = 0; j < TILE_VECTORS; ++j) {
            bk[j] = *(const vf_any *)(b + k * TILE_COLS + j * W);
            __builtin_prefetch(b + (k + 16) * TILE_COLS + j * W);
        }
        UNROLL
        for (int i = 0; i < rows; ++i) {
            vf aik = all(a[i * row + k * step]);
            UNROLL
            for (int64_t j = 0; j < TILE_VECTORS; ++j) {
                sum[i][j] = fused(aik, bk[j], sum[i][j]);
            }
        }
    }
    UNROLL
    for (int i = 0; i < rows; ++i) {
        UNROLL
        for (int64_t j = 0; j < TILE_VECTORS; ++j) {
            vf_any *at = (vf_any *)(c + i * ldc + j * W);
            vf now = sum[i][j];
            if (add) {
                now += *at;
            }
            *at = now;
        }
    }
}

#define TILE_CASE(r)                                                                               \
    case r:                                                                                        \
        tile_of(r, steps, a, row, step, b, c, ldc, add);                                           \
        break;

/* row is 1, or step is: known where it is inlined. */
ALWAYS void tile_by(int64_t rows, int64_t steps, const float *a, int64_t row, int64_t step,
                    const float *b, float *c, int64_t ldc, bool add)
{
    switch (rows) {
        TILE_CASE(1)
        TILE_CASE(2)
        TILE_CASE(3)
        TILE_CASE(4)
#if CS_SIMD > 128
        TILE_CASE(5)
        TILE_CASE(6)
#endif
#if CS_SIMD == 512
        TILE_CASE(7)
        TILE_CASE(8)
        TILE_CASE(9)
        TILE_CASE(10)
        TILE_CASE(11)
        TILE_CASE(12)
        TILE_CASE(13)
        TILE_CASE(14)
#endif
    default:
        break;
    }
}

static void tile(int64_t rows, int64_t steps, const float *a, int64_t lda, bool along,
                 const float *b, float *c, int64_t ldc, bool add)
{
    if (along) {
        tile_by(rows, steps, a, lda, 1, b, c, ldc, add);
    } else {
        tile_by(rows, steps, a, 1, lda, b, c, ldc, add);
    }
}

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

ALWAYS void activate_by(cs_activation act, int64_t n, const float *b, float *z, float *y)
{
    for (int64_t i = 0; i < n; i += W) {
        vf v = load(z + i, n - i);
        if (b) {
            v += load(b + i, n - i);
            store(z + i, n - i, v);
        }
        store(y + i, n - i, act_of(act, v));
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

static void activate(cs_activation act, int64_t n, const float *b, float *z, float *y)
{
#define CALL(kind) activate_by(kind, n, b, z, y)
    switch (act) {
        ACT_CASES(CALL)
    default:
        activate_by(CS_ACT_NONE, n, b, z, y);
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

static void softmax_back(int64_t n, float mean, const float *p, float *dp)
{
    for (int64_t i = 0; i < n; i += W) {
        store(dp + i, n - i, load(p + i, n - i) * (load(dp + i, n - i) - all(mean)));
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
    .tile = tile,
    .copy = copy,
    .add = add,
    .scale = scale,
    .axpy = axpy,
    .multiply = multiply,
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
