/* Sums of outer products with signs: trace and inner product.
 *
 * Inner product. Columns are taken in octets. For each octet the rows of A that meet it, weighted,
 * are added into an accumulator of eight lanes a column, from the octet's first column on: eight
 * rows of the upper half of P at once, and so of Q; then the two are multiplied and cleared, by a
 * pass over the columns or, where few were touched, over the entries that touched them. Octets are
 * dealt to threads in items of about equal work that depend on the matrices alone, and their
 * compensated sums are added in order.
 */
#include "linalg/signed_gram.h"

#include <math.h>
#include <string.h>

#include "base/auto.h"
#include "base/ints.h"
#include "base/mem.h"
#include "base/simd.h"
#include "base/threads.h"
#include "base/vector_ops.h"

enum {
    LANES = 8,
    MOST_ITEMS = 512,
    LEAST_WORK = 1 << 16, /* multiply-adds of an item */
    FEW = 3,              /* lanes that are filled one by one */
    AHEAD = 8,            /* rows whose entries are prefetched before their turn */
    SPARSE = 8,           /* columns of a pass for each entry that is looked up instead */
};

typedef double v4 __attribute__((vector_size(32), aligned(8), may_alias));

void cs_signed_gram_free(cs_signed_gram *p)
{
    cs_csr_free(&p->plus);
    cs_csr_free(&p->minus);
    cs_free(p->diagonal);
    memset(p, 0, sizeof *p);
}

/* sum f_j a_ij^2 */
static double squares(const cs_csr *a, const double *f)
{
    double sum = 0;
    for (int64_t r = 0; r < a->rows; ++r) {
        double of_row = 0;
        for (int64_t e = a->ptr[r]; e < a->ptr[r + 1]; ++e) {
            of_row += (f ? f[a->col[e]] : 1) * a->val[e] * a->val[e];
        }
        sum += of_row;
    }
    return sum;
}

double cs_signed_gram_trace(const cs_signed_gram *p, const double *f)
{
    double sum = squares(&p->plus, f) - squares(&p->minus, f);
    for (int64_t j = 0; j < p->plus.cols; ++j) {
        sum += (f ? f[j] : 1) * p->diagonal[j];
    }
    return sum;
}

/* --- inner product ---------------------------------------------------------------------------- */

/* The rows of a matrix that meet each octet: their first entry there and their end. */
typedef struct {
    const cs_csr *a;
    int64_t *start; /* octets + 1 */
    int64_t *at;
    int32_t *length; /* from there on */
} meetings;

typedef struct {
    double plain, scaled;
} sums;

typedef struct {
    const cs_signed_gram *g[2];
    meetings plus[2], minus[2];
    int64_t octets, items, padded; /* padded: columns of whole octets */
    double *f;                     /* padded, or NULL */
    double *work;                  /* by octet: multiply-adds of both sides */
    int64_t *first;                /* items + 1: octets */
    sums *sum;                     /* by item */
    double *buffer;                /* by worker: two accumulators of LANES x padded */
} inner;

/* Counts the meetings of each octet in next[], or puts them where next[] says. */
static void pass_over(const meetings *m, bool put, int64_t *next, double *work)
{
    const cs_csr *a = m->a;
    for (int64_t r = 0; r < a->rows; ++r) {
        int64_t last = -1;
        for (int64_t e = a->ptr[r]; e < a->ptr[r + 1]; ++e) {
            const int64_t octet = a->col[e] / LANES;
            if (octet != last && put) {
                m->length[next[octet]] = (int32_t)(a->ptr[r + 1] - e);
                m->at[next[octet]++] = e;
            } else if (octet != last) {
                ++next[octet];
                work[octet] += (double)(a->ptr[r + 1] - e);
            }
            last = octet;
        }
    }
}

static cs_status meet(const cs_csr *a, int64_t octets, cs_pool *pool, double *work, meetings *out)
{
    int64_t *next = cs_pool_take(pool, octets, sizeof *next);
    *out = (meetings){.a = a, .start = cs_pool_take(pool, octets + 1, sizeof *out->start)};
    if (pool->status != CS_OK) return pool->status;
    pass_over(out, false, next, work);
    for (int64_t o = 0; o < octets; ++o) {
        out->start[o + 1] = out->start[o] + next[o];
        next[o] = out->start[o];
    }
    CS_POOL_FIELDS(pool, out->start[octets], out, at, length);
    if (pool->status == CS_OK) pass_over(out, true, next, work);
    return pool->status;
}

/* Adds the octet's rows of the Gram matrix, times sign, from its first column on. */
CS_CLONES static void scatter(const meetings *m, int64_t octet, double sign, double *restrict to)
{
    const cs_csr *a = m->a;
    const int64_t first = octet * LANES;
    const int32_t *restrict col = a->col;
    const double *restrict val = a->val;
    const int64_t last = m->start[octet + 1];
    for (int64_t i = m->start[octet]; i < last; ++i) {
        const int64_t begin = m->at[i], end = begin + m->length[i];
        const int64_t ahead = m->at[i + AHEAD < last ? i + AHEAD : i];
        __builtin_prefetch(col + ahead);
        __builtin_prefetch(val + ahead);
        double x[LANES] = {0};
        int64_t f = begin;
        for (; f < end && col[f] < first + LANES; ++f) {
            x[col[f] - first] = sign * val[f];
        }
        for (int64_t g = begin; g < f && f - begin < FEW; ++g) {
            const int64_t lane = col[g] - first;
            for (int64_t e = begin; e < end; ++e) {
                to[(col[e] - first) * LANES + lane] += x[lane] * val[e];
            }
        }
        const v4 low = *(const v4 *)x, high = *(const v4 *)(x + 4);
        for (int64_t e = begin; e < end && f - begin >= FEW; ++e) {
            double *at = to + (col[e] - first) * LANES;
            *(v4 *)at += val[e] * low;
            *(v4 *)(at + 4) += val[e] * high;
        }
    }
}

static void fill_octet(const inner *w, int side, int64_t octet, double *to)
{
    const int64_t first = octet * LANES;
    scatter(&w->plus[side], octet, 1, to);
    scatter(&w->minus[side], octet, -1, to);
    for (int64_t lane = 0; lane < LANES && first + lane < w->g[side]->plus.cols; ++lane) {
        to[lane * LANES + lane] += w->g[side]->diagonal[first + lane];
    }
}

/* Adds the products of column v of both accumulators, which become 0. */
static inline void take_products(const inner *w, int64_t first, int64_t v, double factor, double *p,
                                 double *q, sums *s)
{
    v4 *x = (v4 *)(p + (v - first) * LANES), *y = (v4 *)(q + (v - first) * LANES);
    const v4 low = x[0] * y[0], high = x[1] * y[1], both = low + high;
    s->plain += factor * ((both[0] + both[1]) + (both[2] + both[3]));
    if (w->f) {
        const v4 *f = (const v4 *)(w->f + first), part = low * f[0] + high * f[1];
        s->scaled += factor * w->f[v] * ((part[0] + part[1]) + (part[2] + part[3]));
    }
    x[0] = x[1] = y[0] = y[1] = (v4){0};
}

/* The same where the rows of one side have fallen; what was taken once is 0 the next time. */
static void take_touched(const inner *w, const meetings *m, int64_t octet, double *p, double *q,
                         sums *s)
{
    const cs_csr *a = m->a;
    for (int64_t i = m->start[octet]; i < m->start[octet + 1]; ++i) {
        for (int64_t e = m->at[i]; e < m->at[i] + m->length[i]; ++e) {
            take_products(w, octet * LANES, a->col[e], 2, p, q, s);
        }
    }
}

/* Within the octet each pair of columns is met from both sides, beyond it every pair once. */
CS_CLONES static void take_octet(const inner *w, int64_t octet, double *p, double *q, sums *s)
{
    const int64_t first = octet * LANES;
    fill_octet(w, 0, octet, p);
    fill_octet(w, 1, octet, q);
    for (int64_t v = first; v < first + LANES; ++v) {
        take_products(w, first, v, 1, p, q, s);
    }
    if (w->work[octet] * SPARSE < (double)(w->padded - first)) {
        for (int side = 0; side < 2; ++side) {
            take_touched(w, &w->plus[side], octet, p, q, s);
            take_touched(w, &w->minus[side], octet, p, q, s);
        }
        return;
    }
    for (int64_t v = first + LANES; v < w->padded; ++v) {
        take_products(w, first, v, 2, p, q, s);
    }
}

static cs_status take_item(void *ctx, int64_t item, int worker)
{
    const inner *w = ctx;
    double *p = w->buffer + (int64_t)worker * 2 * LANES * w->padded, *q = p + LANES * w->padded;
    sums s = {0};
    for (int64_t o = w->first[item]; o < w->first[item + 1]; ++o) {
        sums of_octet = {0};
        take_octet(w, o, p, q, &of_octet);
        s.plain += of_octet.plain;
        s.scaled += of_octet.scaled;
    }
    w->sum[item] = s;
    return CS_OK;
}

cs_status cs_signed_gram_inner(const cs_signed_gram *p, const cs_signed_gram *q, const double *f,
                               int threads, double *plain, double *scaled)
{
    const int workers = threads > 0 ? threads : cs_threads();
    CS_AUTO(cs_pool) pool = {0};
    const int64_t cols = p->plus.cols;
    inner w = {.g = {p, q}, .octets = (cols + LANES - 1) / LANES};
    w.padded = w.octets * LANES;
    w.work = cs_pool_take(&pool, w.octets, sizeof *w.work);
    w.first = cs_pool_take(&pool, w.octets + 1, sizeof *w.first);
    w.sum = cs_pool_take(&pool, w.octets, sizeof *w.sum);
    w.buffer = cs_pool_take(&pool, (int64_t)workers * 2 * LANES * w.padded, sizeof *w.buffer);
    w.f = f ? cs_pool_take(&pool, w.padded, sizeof *w.f) : NULL;
    cs_status status = pool.status;
    for (int i = 0; i < 2 && status == CS_OK; ++i) {
        status = meet(&w.g[i]->plus, w.octets, &pool, w.work, &w.plus[i]);
        if (status == CS_OK) status = meet(&w.g[i]->minus, w.octets, &pool, w.work, &w.minus[i]);
    }
    if (status == CS_OK && f) memcpy(w.f, f, (size_t)cols * sizeof *f);
    if (status == CS_OK) {
        w.items =
            cs_cut_runs(w.octets, w.work, fmax(cs_total(w.octets, w.work) / MOST_ITEMS, LEAST_WORK),
                        w.first + 1);
        status = cs_parallel_workers(w.items, workers, take_item, &w);
    }
    sums s = {0};
    for (int64_t i = 0; i < w.items && status == CS_OK; ++i) {
        s.plain += w.sum[i].plain;
        s.scaled += w.sum[i].scaled;
    }
    if (status != CS_OK) return status;
    *plain = s.plain;
    if (f) {
        *scaled = s.scaled;
    }
    return CS_OK;
}
