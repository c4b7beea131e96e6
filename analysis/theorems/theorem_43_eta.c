/* Theorem 4.3: eta, the largest distance of two terms g of a sequence.
 *
 *   ||a v - a' v'||^2 = sum_h (a_h - a'_h)^2 ||v_h||^2 + 2 (a_h - a'_h) a'_h v_h . (v_h - v'_h)
 *                             + a'_h^2 ||v_h - v'_h||^2,   a_h = q_u . k_v
 *
 * (p = 2: v is that of the value; p = 3: any two), which is convex in (a, a') for each head.
 * Differences come first, so that equal rows give exactly 0.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/theorems/theorem_43_private.h"
#include "base/auto.h"
#include "base/ints.h"
#include "base/vector_ops.h"

static const int64_t USUAL_WORK = 1 << 25;

typedef struct {
    double bound; /* each head at its own ends */
    int32_t v, w;
} pair;

typedef struct {
    const cs_generation_bound_rows *r;
    int power;
    double *factor;                 /* n (index of k) x n (of q) x heads: q_u . k_v */
    double *low, *high;             /* n x heads: ends of a_h by the value's index */
    double *square, *cross, *apart; /* heads: ||v||^2, v . (v - v'), ||v - v'||^2 of a pair */
} search;

static double distance2(double a, double b, double square, double cross, double apart)
{
    double d = a - b;
    return d * d * square + 2 * d * b * cross + b * b * apart;
}

static void load_pair(search *s, int64_t v, int64_t w)
{
    const int64_t d = s->r->width, e = d / s->r->heads;
    for (int64_t h = 0; h < s->r->heads; ++h) {
        const double *x = s->r->v + v * d + h * e, *y = s->r->v + w * d + h * e;
        double square = 0, cross = 0, apart = 0;
        for (int64_t j = 0; j < e; ++j) {
            double z = x[j] - y[j];
            square += x[j] * x[j];
            cross += x[j] * z;
            apart += z * z;
        }
        s->square[h] = square;
        s->cross[h] = cross;
        s->apart[h] = apart;
    }
}

/* The largest of the four ends, summed over the heads. */
static double bound_of(const search *s, int64_t v, int64_t w)
{
    const int64_t heads = s->r->heads;
    double sum = 0;
    for (int64_t h = 0; h < heads; ++h) {
        const double a[] = {s->low[v * heads + h], s->high[v * heads + h]};
        const double b[] = {s->low[w * heads + h], s->high[w * heads + h]};
        double largest = 0;
        for (int i = 0; i < 4; ++i) {
            largest = fmax(largest,
                           distance2(a[i / 2], b[i % 2], s->square[h], s->cross[h], s->apart[h]));
        }
        sum += largest;
    }
    return sum;
}

/* Over all factors with the two values. */
static double exact_of(const search *s, int64_t v, int64_t w)
{
    const int64_t n = s->r->n, heads = s->r->heads, count = s->power == 2 ? n : n * n;
    const double *a = s->factor + (s->power == 2 ? v * n * heads : 0);
    const double *b = s->factor + (s->power == 2 ? w * n * heads : 0);
    double largest = 0;
    for (int64_t i = 0; i < count; ++i) {
        for (int64_t j = 0; j < count; ++j) {
            double sum = 0;
            for (int64_t h = 0; h < heads; ++h) {
                sum += distance2(a[i * heads + h], b[j * heads + h], s->square[h], s->cross[h],
                                 s->apart[h]);
            }
            largest = sum > largest ? sum : largest;
        }
    }
    return largest;
}

/* Factors, and the ends of each value's: over u (p = 2), over all pairs (p = 3). */
static void load_factors(search *s)
{
    const int64_t n = s->r->n, d = s->r->width, heads = s->r->heads, e = d / heads;
    for (int64_t i = 0; i < n * heads; ++i) {
        s->low[i] = INFINITY;
        s->high[i] = -INFINITY;
    }
    for (int64_t v = 0; v < n; ++v) {
        for (int64_t u = 0; u < n; ++u) {
            for (int64_t h = 0; h < heads; ++h) {
                double a = cs_inner(e, s->r->q + u * d + h * e, s->r->k + v * d + h * e);
                const int64_t at = (s->power == 2 ? v : 0) * heads + h;
                s->factor[(v * n + u) * heads + h] = a;
                s->low[at] = fmin(s->low[at], a);
                s->high[at] = fmax(s->high[at], a);
            }
        }
    }
    for (int64_t v = 1; s->power == 3 && v < n; ++v) {
        memcpy(s->low + v * heads, s->low, (size_t)heads * sizeof *s->low);
        memcpy(s->high + v * heads, s->high, (size_t)heads * sizeof *s->high);
    }
}

static int by_bound(const void *x, const void *y)
{
    const pair *a = x, *b = y;
    const int bound = CS_ORDER(b->bound, a->bound), v = CS_ORDER(a->v, b->v);
    return bound ? bound : v ? v : CS_ORDER(a->w, b->w);
}

/* Pairs by falling bound, until none can be above what was found; with one head the bound is met.
 * Returns an upper bound of the square and in *found one that is there. */
static double visit(search *s, pair *list, int64_t pairs, int64_t work, double *found)
{
    const int64_t n = s->r->n, count = s->power == 2 ? n : n * n;
    double best = s->r->heads == 1 ? list[0].bound : 0;
    for (int64_t i = 0; i < pairs && list[i].bound > best; ++i) {
        if (count > work / count) {
            *found = best;
            return list[i].bound;
        }
        work -= count * count;
        load_pair(s, list[i].v, list[i].w);
        best = fmax(best, exact_of(s, list[i].v, list[i].w));
    }
    *found = best;
    return best;
}

/* Squares are sums of numbers of at most 16 T^2, T >= ||g||; factors err by gamma_e T / ||v||. */
static double error_of(const cs_generation_bound_rows *r, double value)
{
    const int64_t head = r->width / r->heads;
    const double e = (double)head, heads = (double)r->heads;
    double square = 32 * cs_generation_bound_gamma(4 * e + 2 * heads + 20) * r->term * r->term;
    return square > 0 ? square / fmax(value, sqrt(square)) : 0;
}

cs_status cs_generation_bound_eta_of(const cs_generation_bound_rows *r, int power, int64_t work,
                                     cs_generation_bound_eta *out)
{
    const int64_t n = r->n, heads = r->heads, pairs = n * (n + 1) / 2;
    search s = {.r = r, .power = power};
    CS_AUTO(cs_pool) pool = {0};
    pair *list = cs_pool_take(&pool, pairs, sizeof *list);
    s.factor = cs_pool_take(&pool, n * n * heads, sizeof *s.factor);
    CS_POOL_FIELDS(&pool, n * heads, &s, low, high);
    CS_POOL_FIELDS(&pool, heads, &s, square, cross, apart);
    if (pool.status != CS_OK) return CS_ERR_MEMORY;
    load_factors(&s);
    int64_t at = 0;
    for (int64_t v = 0; v < n; ++v) {
        for (int64_t w = v; w < n; ++w) {
            load_pair(&s, v, w);
            list[at++] = (pair){bound_of(&s, v, w), (int32_t)v, (int32_t)w};
        }
    }
    qsort(list, (size_t)pairs, sizeof *list, by_bound);
    cs_generation_bound_eta eta = {0};
    eta.value = sqrt(visit(&s, list, pairs, work > 0 ? work : USUAL_WORK, &eta.low));
    eta.low = sqrt(eta.low);
    eta.exact = eta.low == eta.value;
    eta.error = r->equal ? 0 : error_of(r, eta.value);
    *out = eta;
    return CS_OK;
}
