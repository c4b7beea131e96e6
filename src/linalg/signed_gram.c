/* Sums of outer products with signs: trace, inner product, leading eigenvalues.
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

#include "base/ints.h"
#include "base/mem.h"
#include "base/reals.h"
#include "base/simd.h"
#include "base/threads.h"
#include "linalg/signed_gram_private.h"
#include "linalg/svd.h"

enum {
    LANES = 8,
    MOST_ITEMS = 512,
    LEAST_WORK = 1 << 16, /* multiply-adds of an item */
    FEW = 3,              /* lanes that are filled one by one */
    AHEAD = 8,            /* rows whose entries are prefetched before their turn */
    SPARSE = 8,           /* columns of a pass for each entry that is looked up instead */
    POWERS = 12           /* steps of the bound of Collatz and Wielandt */
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
    double *room;                  /* by worker: two accumulators of LANES x padded */
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

static void fill(const inner *w, int side, int64_t octet, double *to)
{
    const int64_t first = octet * LANES;
    scatter(&w->plus[side], octet, 1, to);
    scatter(&w->minus[side], octet, -1, to);
    for (int64_t lane = 0; lane < LANES && first + lane < w->g[side]->plus.cols; ++lane) {
        to[lane * LANES + lane] += w->g[side]->diagonal[first + lane];
    }
}

/* Adds the products of column v of both accumulators, which become 0. */
static inline void take(const inner *w, int64_t first, int64_t v, double factor, double *p,
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
            take(w, octet * LANES, a->col[e], 2, p, q, s);
        }
    }
}

/* Within the octet each pair of columns is met from both sides, beyond it every pair once. */
CS_CLONES static void take_octet(const inner *w, int64_t octet, double *p, double *q, sums *s)
{
    const int64_t first = octet * LANES;
    fill(w, 0, octet, p);
    fill(w, 1, octet, q);
    for (int64_t v = first; v < first + LANES; ++v) {
        take(w, first, v, 1, p, q, s);
    }
    if (w->work[octet] * SPARSE < (double)(w->padded - first)) {
        for (int side = 0; side < 2; ++side) {
            take_touched(w, &w->plus[side], octet, p, q, s);
            take_touched(w, &w->minus[side], octet, p, q, s);
        }
        return;
    }
    for (int64_t v = first + LANES; v < w->padded; ++v) {
        take(w, first, v, 2, p, q, s);
    }
}

static cs_status take_item(void *ctx, int64_t item, int worker)
{
    const inner *w = ctx;
    double *p = w->room + (int64_t)worker * 2 * LANES * w->padded, *q = p + LANES * w->padded;
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

/* Runs of octets that reach their share of the work. */
static void deal(inner *w)
{
    double held = 0;
    const double share = fmax(cs_total(w->octets, w->work) / MOST_ITEMS, LEAST_WORK);
    for (int64_t o = 0; o < w->octets; ++o) {
        held += w->work[o];
        if (held >= share || o + 1 == w->octets) {
            w->first[++w->items] = o + 1;
            held = 0;
        }
    }
}

cs_status cs_signed_gram_inner(const cs_signed_gram *p, const cs_signed_gram *q, const double *f,
                               int threads, double *plain, double *scaled)
{
    const int workers = threads > 0 ? threads : cs_threads();
    cs_pool pool = {0};
    const int64_t cols = p->plus.cols;
    inner w = {.g = {p, q}, .octets = (cols + LANES - 1) / LANES};
    w.padded = w.octets * LANES;
    w.work = cs_pool_take(&pool, w.octets, sizeof *w.work);
    w.first = cs_pool_take(&pool, w.octets + 1, sizeof *w.first);
    w.sum = cs_pool_take(&pool, w.octets, sizeof *w.sum);
    w.room = cs_pool_take(&pool, (int64_t)workers * 2 * LANES * w.padded, sizeof *w.room);
    w.f = f ? cs_pool_take(&pool, w.padded, sizeof *w.f) : NULL;
    cs_status status = pool.status;
    for (int i = 0; i < 2 && status == CS_OK; ++i) {
        status = meet(&w.g[i]->plus, w.octets, &pool, w.work, &w.plus[i]);
        if (status == CS_OK) status = meet(&w.g[i]->minus, w.octets, &pool, w.work, &w.minus[i]);
    }
    if (status == CS_OK && f) memcpy(w.f, f, (size_t)cols * sizeof *f);
    if (status == CS_OK) {
        deal(&w);
        status = cs_parallel_workers(w.items, workers, take_item, &w);
    }
    sums s = {0};
    for (int64_t i = 0; i < w.items && status == CS_OK; ++i) {
        s.plain += w.sum[i].plain;
        s.scaled += w.sum[i].scaled;
    }
    cs_pool_free(&pool);
    if (status != CS_OK) return status;
    *plain = s.plain;
    if (f) {
        *scaled = s.scaled;
    }
    return CS_OK;
}

/* --- eigenvalues ------------------------------------------------------------------------------ */

/* P + shift I. */
typedef struct cs_signed_gram_shifted {
    const cs_signed_gram *p;
    cs_signed_gram own; /* where p is this */
    double shift;
    int threads;
    double *x, *y, *minus; /* panels */
    double *room;
} shifted;

static void shifted_free(shifted *s)
{
    cs_free_aligned(s->x);
    cs_free_aligned(s->y);
    cs_free_aligned(s->minus);
    cs_free_aligned(s->room);
    cs_signed_gram_free(&s->own);
}

static cs_status shifted_of(const cs_signed_gram *p, int threads, shifted *out)
{
    const int64_t plus = cs_csr_normal_room(&p->plus), minus = cs_csr_normal_room(&p->minus);
    shifted s = {.p = p,
                 .threads = threads,
                 .x = cs_csr_panel_alloc(p->plus.cols),
                 .y = cs_csr_panel_alloc(p->plus.cols),
                 .minus = cs_csr_panel_alloc(p->plus.cols),
                 .room = cs_alloc_aligned(cs_most(plus, minus), sizeof(double))};
    cs_status status = s.x && s.y && s.minus && s.room ? CS_OK : CS_ERR_MEMORY;
    return CS_DELIVER(status, out, s, shifted_free);
}

static cs_status apply_panel(void *ctx, bool turn, const double *x, double *y)
{
    (void)turn; /* symmetric */
    const shifted *s = ctx;
    const cs_signed_gram *p = s->p;
    cs_status status = cs_csr_apply_normal(&p->plus, x, y, s->room, s->threads);
    if (status == CS_OK) status = cs_csr_apply_normal(&p->minus, x, s->minus, s->room, s->threads);
    for (int64_t j = 0; j < p->plus.cols && status == CS_OK; ++j) {
        const double d = p->diagonal[j] + s->shift;
        for (int64_t c = j * CS_PANEL; c < (j + 1) * CS_PANEL; ++c) {
            y[c] += d * x[c] - s->minus[c];
        }
    }
    return status;
}

static cs_status apply(void *ctx, bool turn, const cs_dense *x, cs_dense *y)
{
    const shifted *s = ctx;
    cs_status status = CS_OK;
    for (int64_t first = 0; first < x->cols && status == CS_OK; first += CS_PANEL) {
        const int64_t count = x->cols - first < CS_PANEL ? x->cols - first : CS_PANEL;
        cs_csr_panel_put(x, first, count, s->x);
        status = apply_panel(ctx, turn, s->x, s->y);
        if (status == CS_OK) cs_csr_panel_get(s->y, first, count, y);
    }
    return status;
}

cs_status cs_signed_gram_apply(const cs_signed_gram *p, const cs_dense *x, int threads, cs_dense *y)
{
    shifted s = {0};
    cs_status status = shifted_of(p, threads, &s);
    if (status == CS_OK) status = apply(&s, false, x, y);
    shifted_free(&s);
    return status;
}

/* y = (E^T E - min(diag(d), 0)) x. One vector, which the second cache holds with its product: a panel
 * would fetch eight times as much. */
static void apply_negative(const cs_signed_gram *p, const double *restrict x, double *restrict y)
{
    const cs_csr *a = &p->minus;
    for (int64_t j = 0; j < a->cols; ++j) {
        y[j] = fmax(-p->diagonal[j], 0) * x[j];
    }
    for (int64_t r = 0; r < a->rows; ++r) {
        double along = 0;
        for (int64_t e = a->ptr[r]; e < a->ptr[r + 1]; ++e) {
            along += a->val[e] * x[a->col[e]];
        }
        for (int64_t e = a->ptr[r]; e < a->ptr[r + 1]; ++e) {
            y[a->col[e]] += a->val[e] * along;
        }
    }
}

/* Any positive x has lambda_max <= max_i (N x)_i / x_i of a matrix N without negative entries; its
 * powers bring the two together. */
static cs_status bound_negative(const cs_signed_gram *p, double *out)
{
    const int64_t n = p->plus.cols;
    cs_pool pool = {0};
    double *x = cs_pool_take(&pool, n, sizeof *x), *y = cs_pool_take(&pool, n, sizeof *y);
    cs_status status = pool.status;
    if (status == CS_OK) cs_fill(n, 1, x);
    *out = INFINITY;
    for (int step = 0; step < POWERS && status == CS_OK; ++step) {
        double bound = 0;
        apply_negative(p, x, y);
        for (int64_t i = 0; i < n; ++i) {
            bound = fmax(bound, y[i] / x[i]);
        }
        const double largest = cs_largest(n, y);
        for (int64_t i = 0; i < n; ++i) {
            x[i] = largest > 0 ? fmax(y[i] / largest, 0x1p-40) : 1;
        }
        *out = fmin(*out, bound);
        status = cs_interrupt_check();
    }
    cs_pool_free(&pool);
    return status;
}

void cs_signed_gram_shift_free(cs_signed_gram_shift *shift)
{
    if (shift->held) {
        shifted_free(shift->held);
        cs_free(shift->held);
    }
    *shift = (cs_signed_gram_shift){0};
}

cs_status cs_signed_gram_shift_of(const cs_signed_gram *p, int threads, cs_signed_gram_shift *out)
{
    const int64_t n = p->plus.cols;
    cs_signed_gram_shift s = {.held = cs_calloc(1, sizeof *s.held)};
    if (!s.held) return CS_ERR_MEMORY;
    cs_signed_gram compact = {.diagonal = NULL};
    cs_status status = cs_signed_gram_compact(p, &compact);
    if (status == CS_OK) status = shifted_of(&compact, threads, s.held);
    s.held->own = compact;
    s.held->p = &s.held->own;
    if (status == CS_OK) status = bound_negative(s.held->p, &s.held->shift);
    s.c = s.held->shift;
    s.op = (cs_linop){.rows = n,
                      .cols = n,
                      .ctx = s.held,
                      .apply = apply,
                      .panel = apply_panel,
                      .room = -1,
                      .room_t = -1,
                      .semidefinite = true};
    return CS_DELIVER(status, out, s, cs_signed_gram_shift_free);
}

cs_status cs_signed_gram_leading(const cs_signed_gram *p, int64_t k,
                                 const cs_signed_gram_options *options, double *values,
                                 cs_dense *vectors)
{
    const int64_t n = p->plus.cols, wanted = cs_least(k, n);
    cs_signed_gram_shift s = {0};
    cs_svd svd = {0};
    cs_status status = cs_signed_gram_shift_of(p, options->threads, &s);
    const cs_svd_options solver = {.k = wanted,
                                   .tol = 1e-9,
                                   .seed = options->seed,
                                   .threads = options->threads,
                                   .start = options->start,
                                   .progress = options->progress};
    if (status == CS_OK) status = cs_svd_compute(&s.op, &solver, &svd);
    if (status == CS_OK && svd.interrupted) status = cs_interrupt_check();
    if (status == CS_OK && !svd.converged)
        status = cs_fail(CS_ERR_CONVERGE, "only %lld of %lld eigenvalues converged",
                         (long long)svd.k, (long long)wanted);
    for (int64_t j = 0; j < k && status == CS_OK; ++j) {
        /* fewer come where P + c I is singular: the others are -c */
        values[j] = j < svd.k ? svd.sigma[j] - s.c : j < n ? -s.c : (double)NAN;
    }
    for (int64_t j = 0; vectors && j < svd.k && status == CS_OK; ++j) {
        memcpy(vectors->data + j * vectors->ld, svd.v.data + j * svd.v.ld,
               (size_t)n * sizeof(double));
    }
    cs_svd_free(&svd);
    cs_signed_gram_shift_free(&s);
    return status;
}

cs_status cs_signed_gram_least(const cs_signed_gram *p, const cs_signed_gram_options *options,
                               double *value)
{
    const int64_t n = p->plus.cols;
    const cs_signed_gram negative = {
        .plus = p->minus, .minus = p->plus, .diagonal = cs_alloc(n, sizeof(double))};
    if (!negative.diagonal) return CS_ERR_MEMORY;
    for (int64_t v = 0; v < n; ++v) {
        negative.diagonal[v] = -p->diagonal[v];
    }
    cs_status status = cs_signed_gram_leading(&negative, 1, options, value, NULL);
    *value = -*value;
    cs_free(negative.diagonal);
    return status;
}
