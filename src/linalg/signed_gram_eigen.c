/* Leading and least eigenvalues of sums of outer products with signs.
 *
 * A solver reads B and E some thirty times. Rows of one entry are all on the diagonal. A language
 * has many sums with two entries on few pairs of columns. The rows of two entries on columns u and
 * v become one: with S_uu, S_uv, S_vv the sums of products of their entries, its entries are
 *
 *   p = sqrt(S_uv sqrt(S_uu / S_vv)),   q = sqrt(S_uv sqrt(S_vv / S_uu)),
 *
 * and the diagonal has S_uu - p^2 and S_vv - q^2 besides, which are not negative by Cauchy and
 * Schwarz. The others are sorted by their last column: what a product fetches of a rare column it
 * then fetches once, while the frequent ones stay in the cache.
 *
 * Limits: the same matrix except for rounding of its entries, each some units in the last place. */
#include <math.h>
#include <string.h>

#include "base/auto.h"
#include "base/ints.h"
#include "base/mem.h"
#include "base/threads.h"
#include "base/vector_ops.h"
#include "linalg/signed_gram_private.h"
#include "linalg/svd.h"

enum { POWERS = 12 }; /* steps of the bound of Collatz and Wielandt */

/* Two entries, by the second's column. */
typedef struct {
    int32_t col;
    double x, y;
} pair;

/* Sums over the pairs of one second column, by the first. */
typedef struct {
    double *xx, *xy, *yy;
    int64_t *touched, count;
} pair_sums;

typedef struct {
    const cs_csr *a;
    double sign, *diagonal;
    int64_t *longer,
        *pairs; /* cols + 1: starts by last column, of rows that stay, of those that are added */
    int64_t *order; /* rows that stay */
    pair *pair;
} sorter;

/* Rows of two entries that are added to others: their squares are numbers of full precision. */
static bool is_pair(const cs_csr *a, int64_t begin, int64_t n)
{
    const double least = 0x1p-400, most = 0x1p400, *x = a->val + begin;
    return n == 2 && x[0] > least && x[0] < most && x[1] > least && x[1] < most;
}

static void count_rows(sorter *s, int64_t *entries)
{
    const cs_csr *a = s->a;
    for (int64_t r = 0; r < a->rows; ++r) {
        const int64_t begin = a->ptr[r], n = a->ptr[r + 1] - begin;
        if (n == 1) {
            s->diagonal[a->col[begin]] += s->sign * a->val[begin] * a->val[begin];
        } else if (n > 1) {
            ++(is_pair(a, begin, n) ? s->pairs : s->longer)[a->col[begin + n - 1] + 1];
            *entries += n;
        }
    }
    for (int64_t v = 0; v < a->cols; ++v) {
        s->pairs[v + 1] += s->pairs[v];
        s->longer[v + 1] += s->longer[v];
    }
}

/* Puts each row where the starts say, which become ends. */
static void place_rows(sorter *s)
{
    const cs_csr *a = s->a;
    for (int64_t r = 0; r < a->rows; ++r) {
        const int64_t begin = a->ptr[r], n = a->ptr[r + 1] - begin;
        const int32_t last = n > 1 ? a->col[begin + n - 1] : 0;
        if (is_pair(a, begin, n)) {
            s->pair[s->pairs[last]++] = (pair){a->col[begin], a->val[begin], a->val[begin + 1]};
        } else if (n > 1) {
            s->order[s->longer[last]++] = r;
        }
    }
}

static void add_pair(pair_sums *t, const pair *p)
{
    if (t->xy[p->col] == 0) {
        t->touched[t->count++] = p->col;
    }
    t->xx[p->col] += p->x * p->x;
    t->xy[p->col] += p->x * p->y;
    t->yy[p->col] += p->y * p->y;
}

/* A row for each first column, which are cleared. */
static void put_pairs(sorter *s, pair_sums *t, int64_t v, cs_csr *out)
{
    for (int64_t i = 0; i < t->count; ++i) {
        const int64_t u = t->touched[i], at = out->ptr[out->rows];
        const double ratio = sqrt(t->xx[u] / t->yy[u]), p = sqrt(t->xy[u] * ratio),
                     q = sqrt(t->xy[u] / ratio);
        s->diagonal[u] += s->sign * (t->xx[u] - p * p);
        s->diagonal[v] += s->sign * (t->yy[u] - q * q);
        out->col[at] = (int32_t)u;
        out->val[at] = p;
        out->col[at + 1] = (int32_t)v;
        out->val[at + 1] = q;
        out->ptr[++out->rows] = at + 2;
        t->xx[u] = t->xy[u] = t->yy[u] = 0;
    }
    t->count = 0;
}

static void put_row(const cs_csr *a, int64_t row, cs_csr *out)
{
    const int64_t at = out->ptr[out->rows], begin = a->ptr[row], n = a->ptr[row + 1] - begin;
    memcpy(out->col + at, a->col + begin, (size_t)n * sizeof *a->col);
    memcpy(out->val + at, a->val + begin, (size_t)n * sizeof *a->val);
    out->ptr[++out->rows] = at + n;
}

/* One of B and E; sign: that of its products. */
static cs_status compact(const cs_csr *a, double sign, double *diagonal, cs_csr *out)
{
    CS_AUTO(cs_pool) pool = {0};
    sorter s = {.a = a, .sign = sign, .diagonal = diagonal};
    pair_sums t = {.count = 0};
    int64_t entries = 0;
    CS_POOL_FIELDS(&pool, a->cols, &t, xx, xy, yy, touched);
    CS_POOL_FIELDS(&pool, a->cols + 1, &s, longer, pairs);
    cs_status status = pool.status;
    if (status == CS_OK) {
        count_rows(&s, &entries);
        s.order = cs_pool_take(&pool, s.longer[a->cols], sizeof *s.order);
        s.pair = cs_pool_take(&pool, s.pairs[a->cols], sizeof *s.pair);
        status = pool.status;
    }
    if (status == CS_OK)
        status = cs_csr_init(out, s.longer[a->cols] + s.pairs[a->cols], a->cols, entries);
    if (status == CS_OK) {
        place_rows(&s);
        out->rows = 0; /* which grow */
        for (int64_t v = 0, r = 0, p = 0; v < a->cols; ++v) {
            for (; r < s.longer[v]; ++r) {
                put_row(a, s.order[r], out);
            }
            for (; p < s.pairs[v]; ++p) {
                add_pair(&t, &s.pair[p]);
            }
            put_pairs(&s, &t, v, out);
        }
    }
    return status;
}

cs_status cs_signed_gram_compact(const cs_signed_gram *p, cs_signed_gram *out)
{
    const int64_t cols = p->plus.cols;
    cs_signed_gram c = {.diagonal = cs_alloc(cols, sizeof *c.diagonal)};
    if (!c.diagonal) return CS_ERR_MEMORY;
    memcpy(c.diagonal, p->diagonal, (size_t)cols * sizeof *c.diagonal);
    cs_status status = compact(&p->plus, 1, c.diagonal, &c.plus);
    if (status == CS_OK) status = compact(&p->minus, -1, c.diagonal, &c.minus);
    return CS_DELIVER(status, out, c, cs_signed_gram_free);
}

/* P + shift I. */
typedef struct cs_signed_gram_shifted {
    const cs_signed_gram *p;
    cs_signed_gram own; /* where p is this */
    double shift;
    int threads;
    double *x, *y, *minus; /* panels */
    double *work;
} shifted;

static void shifted_free(shifted *s)
{
    cs_free_aligned(s->x);
    cs_free_aligned(s->y);
    cs_free_aligned(s->minus);
    cs_free_aligned(s->work);
    cs_signed_gram_free(&s->own);
}

static cs_status shifted_of(const cs_signed_gram *p, int threads, shifted *out)
{
    const int64_t plus = cs_csr_normal_work_size(&p->plus),
                  minus = cs_csr_normal_work_size(&p->minus);
    shifted s = {.p = p,
                 .threads = threads,
                 .x = cs_csr_panel_alloc(p->plus.cols),
                 .y = cs_csr_panel_alloc(p->plus.cols),
                 .minus = cs_csr_panel_alloc(p->plus.cols),
                 .work = cs_alloc_aligned(cs_most(plus, minus), sizeof(double))};
    cs_status status = s.x && s.y && s.minus && s.work ? CS_OK : CS_ERR_MEMORY;
    return CS_DELIVER(status, out, s, shifted_free);
}

static cs_status apply_panel(void *ctx, bool turn, const double *x, double *y)
{
    (void)turn; /* symmetric */
    const shifted *s = ctx;
    const cs_signed_gram *p = s->p;
    cs_status status = cs_csr_apply_normal(&p->plus, x, y, s->work, s->threads);
    if (status == CS_OK) status = cs_csr_apply_normal(&p->minus, x, s->minus, s->work, s->threads);
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
    CS_AUTO(shifted) s = {0};
    cs_status status = shifted_of(p, threads, &s);
    return status == CS_OK ? apply(&s, false, x, y) : status;
}

/* y = (E^T E - min(diag(d), 0)) x. One vector, which the L2 cache holds with its product: a panel
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
    CS_AUTO(cs_pool) pool = {0};
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
                      .work_size = -1,
                      .work_size_t = -1,
                      .semidefinite = true};
    return CS_DELIVER(status, out, s, cs_signed_gram_shift_free);
}

cs_status cs_signed_gram_leading(const cs_signed_gram *p, int64_t k,
                                 const cs_signed_gram_options *options, double *values,
                                 cs_dense *vectors)
{
    const int64_t n = p->plus.cols, wanted = cs_least(k, n);
    CS_AUTO(cs_signed_gram_shift) s = {0};
    CS_AUTO(cs_svd) svd = {0};
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
