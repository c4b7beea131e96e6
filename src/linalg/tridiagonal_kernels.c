/* The kernel of tridiagonal_private.h: leading minors of T - x, GRIP vectors of points at once, since a
 * step waits for the one before.
 *
 *   p_k = (d_k - x) p_{k-1} - e2_k p_{k-2},   p_0 = 1, p_{-1} = 0
 *
 * A sign change from p_{k-1} to p_k is an eigenvalue below x (Givens 1954), 0 counting as positive. After
 * some steps both terms are divided by the power of two that the larger has.
 */
#include "linalg/tridiagonal_private.h"

#include <string.h>

enum { GRIP = CS_SIMD == 128 ? 2 : 4 };

typedef int64_t vl __attribute__((vector_size(SIMD_BYTES)));
typedef uint64_t vul __attribute__((vector_size(SIMD_BYTES)));

static const uint64_t EXPONENT = 0x7ffULL << 52, TWICE_ONE = 2046ULL << 52;

/* Several vectors of points: their last and next-to-last terms. */
typedef struct {
    vd x[GRIP], last[GRIP], before[GRIP];
    vul changes[GRIP], exponent[GRIP];
} points;

ALWAYS void scale(points *s)
{
    UNROLL for (int i = 0; i < GRIP; ++i)
    {
        const vul a = (vul)s->last[i] & EXPONENT, b = (vul)s->before[i] & EXPONENT;
        const vul more = (vul)((vl)a > (vl)b), most = (a & more) | (b & ~more);
        const vd by = (vd)(TWICE_ONE - most);
        s->last[i] *= by;
        s->before[i] *= by;
        s->exponent[i] += most >> 52;
    }
}

ALWAYS void step(points *s, double d, double e2)
{
    const vd diagonal = all_wide(d), square = all_wide(e2);
    UNROLL for (int i = 0; i < GRIP; ++i)
    {
        const vd next = fused_wide(diagonal - s->x[i], s->last[i], -(square * s->before[i]));
        s->changes[i] += ((vul)next ^ (vul)s->last[i]) >> 63;
        s->before[i] = s->last[i];
        s->last[i] = next;
    }
}

static void count(int64_t n, const double *d, const double *e2, cs_sturm_batch *batch)
{
    for (int64_t at = 0; at < CS_STURM_POINTS; at += (int64_t)GRIP * WD) {
        points s = {0};
        memcpy(s.x, batch->x + at, sizeof s.x);
        UNROLL for (int i = 0; i < GRIP; ++i)
        {
            s.last[i] = all_wide(1.0);
        }
        int64_t k = 0;
        for (; k + CS_STURM_STEPS <= n; k += CS_STURM_STEPS) {
            for (int64_t j = k; j < k + CS_STURM_STEPS; ++j) {
                step(&s, d[j], e2[j]);
            }
            scale(&s);
        }
        for (; k < n; ++k) {
            step(&s, d[k], e2[k]);
        }
        memcpy(batch->value + at, s.last, sizeof s.last);
        memcpy(batch->below + at, s.changes, sizeof s.changes);
        memcpy(batch->exponent + at, s.exponent, sizeof s.exponent);
    }
}

const cs_sturm_kernels CS_SIMD_TABLE(cs_sturm_kernels) = {.count = count};
