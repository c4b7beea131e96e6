/* The exact fourth moment, sum sigma^4 = ||A^T A||_F^2, by closed walks of length four.
 *
 * Method. ||A^T A||_F^2 = ||A A^T||_F^2 sums a_ij a_kj a_kl a_il over all closed walks i j k l of
 * the bipartite graph. Rows and columns are put in one order (moments.c), and every walk is
 * counted at its first vertex: with g_uw = sum a_uv a_vw over the common neighbours v that come
 * after u,
 *
 *   sum sigma^4 = sum_u ( g_uu^2 + 2 sum_{w after u, on u's side} g_uw^2 ).
 *
 * This is the priority order of counting four-cycles (Wang, Lin, Qin, Zhang and Zhang, Proc. VLDB
 * Endow. 12, 2019) with weights. All terms are squares: nothing cancels. With all columns first it
 * is the Gram matrix of the columns, upper half.
 *
 * A group, eight vertices u that mostly meet the same centres or a single one, adds a stretch of
 * its centres' entries into an accumulator: eight lanes for a group of eight, so that frequent
 * against frequent runs as a dense product. Ranks fall with the degree, so what is hit often lies
 * together and stays in the caches; the accumulator is a tile of TILE doubles, whatever the order
 * of the matrix, beyond which every row is searched for its part: tiles of the L1 or L2
 * cache's size cost more in searches than they save in misses (1.5 times at 2^15, 4.5 times at
 * 2^12). Few entries are squared where they were put, many by a pass over the tile. Walks are dealt
 * to threads in items of about equal work that depend on the matrix alone; their compensated sums
 * are added in order, so the bits do not depend on the threads.
 *
 * Limits: two reordered copies of the matrix are kept where walks begin on both sides. A group is
 * not split: a matrix of a few huge rows and columns runs on few threads.
 */
#include <math.h>
#include <string.h>

#include "base/auto.h"
#include "base/ints.h"
#include "base/mem.h"
#include "base/simd.h"
#include "base/threads.h"
#include "base/vector_ops.h"
#include "cooc/compensated_private.h"
#include "cooc/moments_private.h"

enum {
    PANEL = CS_WALK_PANEL,
    TILE = 1 << 18, /* doubles of an accumulator */
    MOST_ITEMS = 1024,
    LEAST_WORK = 1 << 18, /* multiply-adds of an item */
    STRETCH = 2048,       /* squares added before they join a compensated sum */
    SPARSE = 4, /* a tile is squared in place when it has this many entries for each that is hit */
    AHEAD = 4   /* centres between a request to the caches and its use */
};

typedef double v4 __attribute__((vector_size(32), aligned(8), may_alias));

/* Walks that begin on one side. m: centres x vertices of that side, both by rank. The walks of
 * group g pass centres centre[e], from the entry at[e] of their rows on,
 * start[g] <= e < start[g + 1]. */
typedef struct {
    const cs_walk_side *side, *other;
    bool wins_ties;
    const cs_csr *m;
    int64_t groups;
    int64_t *start;
    int32_t *centre, *at;
    double *work;
} half;

/* Items: runs of groups, those of half 0 first. */
typedef struct {
    half h[2];
    int64_t items, split; /* items below `split` are of half 0 */
    int64_t *first;       /* items + 2: groups, each half's closed by its number */
    double *sum;          /* by item */
    int64_t tile_size;    /* TILE, or less where the matrix has less */
    double *tile;         /* by worker, zero between groups */
    const cs_progress *progress;
    cs_pool *pool;
} walk;

/* The groups that come before centre v and meet it: a prefix of its row. fill: `next` has the place
 * of the next one. */
static void meet(half *h, int64_t v, bool fill, int64_t *next)
{
    const cs_csr *m = h->m;
    int64_t end = m->ptr[v + 1], own = h->other->key[v];
    for (int64_t e = m->ptr[v]; e < end;) {
        int64_t key = h->side->key[m->col[e]], g = cs_walk_group(h->side, m->col[e]);
        int64_t begin = e, last = cs_walk_first(h->side, g + 1);
        if (key < own || (key == own && !h->wins_ties)) {
            return;
        }
        while (e < end && m->col[e] < last) {
            ++e;
        }
        if (fill) {
            int64_t place = next[g]++;
            h->centre[place] = (int32_t)v;
            h->at[place] = (int32_t)(begin - m->ptr[v]);
        } else {
            ++next[g];
            h->work[g] += (double)(end - begin);
        }
    }
}

/* h: side, other, wins_ties and m are set. */
static cs_status half_init(half *h, cs_pool *pool)
{
    h->groups = cs_walk_groups(h->side);
    int64_t *next = cs_pool_take(pool, h->groups, sizeof *next);
    h->start = cs_pool_take(pool, h->groups + 1, sizeof *h->start);
    h->work = cs_pool_take(pool, h->groups, sizeof *h->work);
    for (int64_t v = 0; pool->status == CS_OK && v < h->m->rows; ++v) {
        meet(h, v, false, next);
    }
    for (int64_t g = 0; pool->status == CS_OK && g < h->groups; ++g) {
        h->start[g + 1] = h->start[g] + next[g];
        next[g] = h->start[g];
    }
    int64_t meetings = pool->status == CS_OK ? h->start[h->groups] : 0;
    CS_POOL_FIELDS(pool, meetings, h, centre, at);
    for (int64_t v = 0; pool->status == CS_OK && v < h->m->rows; ++v) {
        meet(h, v, true, next);
    }
    return pool->status;
}

/* One group on the columns [low, high) of its tile; first: its lowest rank. */
typedef struct {
    const half *h;
    int64_t group, first, low, high;
    double *tile;
} strip;

/* Where a row's entries reach `rank`, between begin and end. */
static int64_t reach(const cs_csr *m, int64_t begin, int64_t end, int64_t rank)
{
    while (begin < end) {
        int64_t middle = begin + (end - begin) / 2;
        if (m->col[middle] < rank) {
            begin = middle + 1;
        } else {
            end = middle;
        }
    }
    return begin;
}

/* The entries of the e-th meeting that lie in the strip. */
static inline int64_t entries(const strip *s, int64_t e, int64_t *end)
{
    const cs_csr *m = s->h->m;
    int64_t v = s->h->centre[e], begin = m->ptr[v] + s->h->at[e];
    *end = m->ptr[v + 1];
    if (s->low > s->first) {
        begin = reach(m, begin, *end, s->low);
    }
    if (s->high < m->cols) {
        *end = reach(m, begin, *end, s->high);
    }
    return begin;
}

static inline void ask_for(const strip *s, int64_t e)
{
    if (e < s->h->start[s->group + 1]) {
        const cs_csr *m = s->h->m;
        int64_t at = m->ptr[s->h->centre[e]] + s->h->at[e];
        __builtin_prefetch(m->col + at);
        __builtin_prefetch(m->val + at);
    }
}

static void scatter_one(const strip *s)
{
    const cs_csr *m = s->h->m;
    const int32_t *restrict col = m->col;
    const double *restrict val = m->val;
    double *restrict tile = s->tile;
    for (int64_t i = s->h->start[s->group]; i < s->h->start[s->group + 1]; ++i) {
        int64_t end, e = entries(s, i, &end);
        double x = val[m->ptr[s->h->centre[i]] + s->h->at[i]];
        ask_for(s, i + AHEAD);
        for (; e < end; ++e) {
            tile[col[e] - s->low] += x * val[e];
        }
    }
}

CS_CLONES static void scatter_panel(const strip *s)
{
    const cs_csr *m = s->h->m;
    const int32_t *restrict col = m->col;
    const double *restrict val = m->val;
    for (int64_t i = s->h->start[s->group]; i < s->h->start[s->group + 1]; ++i) {
        int64_t end, e = entries(s, i, &end), v = s->h->centre[i];
        double weight[PANEL] = {0};
        for (int64_t f = m->ptr[v] + s->h->at[i]; f < m->ptr[v + 1] && col[f] < s->first + PANEL;
             ++f) {
            weight[col[f] - s->first] = val[f];
        }
        ask_for(s, i + AHEAD);
        v4 low = *(const v4 *)weight, high = *(const v4 *)(weight + 4);
        for (; e < end; ++e) {
            double *at = s->tile + (col[e] - s->low) * PANEL;
            *(v4 *)at += val[e] * low;
            *(v4 *)(at + 4) += val[e] * high;
        }
    }
}

/* Squares of n numbers, which become 0. */
CS_CLONES static double take_squares(double *x, int64_t n)
{
    v4 a = {0}, b = {0};
    int64_t i = 0;
    for (; i + 8 <= n; i += 8) {
        v4 *low = (v4 *)(x + i), *high = (v4 *)(x + i + 4);
        a += *low * *low;
        b += *high * *high;
        *low = *high = (v4){0};
    }
    a += b;
    double sum = (a[0] + a[1]) + (a[2] + a[3]);
    for (; i < n; ++i) {
        sum += x[i] * x[i];
        x[i] = 0;
    }
    return sum;
}

static void take_all(double *x, int64_t n, double factor, double *sum, double *lost)
{
    for (int64_t i = 0; i < n; i += STRETCH) {
        cs_add_compensated(sum, lost, factor * take_squares(x + i, cs_least(n - i, STRETCH)));
    }
}

/* The same where the group's entries fell; what was taken once is 0 the next time. */
static void take_hit(const strip *s, double *sum, double *lost)
{
    const int32_t *col = s->h->m->col;
    for (int64_t i = s->h->start[s->group]; i < s->h->start[s->group + 1]; ++i) {
        int64_t end, e = entries(s, i, &end);
        double even = 0, odd = 0;
        for (; e + 2 <= end; e += 2) {
            double *x = s->tile + (col[e] - s->low), *y = s->tile + (col[e + 1] - s->low);
            even += *x * *x;
            odd += *y * *y;
            *x = *y = 0;
        }
        if (e < end) {
            double *x = s->tile + (col[e] - s->low);
            even += *x * *x;
            *x = 0;
        }
        cs_add_compensated(sum, lost, 2 * (even + odd));
    }
}

/* Adds the walks that begin in one group. Each pair within the group is met from both sides, every
 * other pair once. */
static void walk_group(const half *h, int64_t group, double *tile, double *sum, double *lost)
{
    int64_t width = group < h->side->panels ? PANEL : 1, first = cs_walk_first(h->side, group);
    int64_t n = h->side->n, step = TILE / width;
    bool sparse = width == 1 && h->work[group] * SPARSE < (double)(n - first);
    for (int64_t low = first; low < n && h->start[group] < h->start[group + 1]; low += step) {
        int64_t high = n - low < step ? n : low + step, own = low == first ? width : 0;
        strip s = {h, group, first, low, high, tile};
        if (width == PANEL) {
            scatter_panel(&s);
        } else {
            scatter_one(&s);
        }
        take_all(tile, own * width, 1, sum, lost);
        if (sparse) {
            take_hit(&s, sum, lost);
        } else {
            take_all(tile + own * width, (high - low - own) * width, 2, sum, lost);
        }
    }
}

static cs_status walk_item(void *ctx, int64_t item, int worker)
{
    walk *w = ctx;
    const half *h = &w->h[item >= w->split];
    int64_t at = item + (item >= w->split);
    double sum = 0, lost = 0, *tile = w->tile + worker * w->tile_size;
    cs_status status = CS_OK;
    for (int64_t g = w->first[at]; g < w->first[at + 1] && status == CS_OK; ++g) {
        walk_group(h, g, tile, &sum, &lost);
        status = cs_interrupt_check(); /* an item may take a second */
    }
    if (status != CS_OK) return status;
    w->sum[item] = sum + lost;
    if (worker == 0) { /* one reporter; its count is taken for all */
        cs_progress_report(w->progress, "fourth moment", item + 1, w->items);
    }
    return CS_OK;
}

/* Runs of groups that reach their share of the work. */
static cs_status deal(walk *w)
{
    double total = 0;
    for (int i = 0; i < 2; ++i) {
        for (int64_t g = 0; g < w->h[i].groups; ++g) {
            total += w->h[i].work[g];
        }
    }
    double share = fmax(total / MOST_ITEMS, LEAST_WORK);
    int64_t used = 0;
    w->first = cs_pool_take(w->pool, 2 * MOST_ITEMS + 6, sizeof *w->first);
    if (!w->first) return CS_ERR_MEMORY;
    for (int i = 0; i < 2; ++i) {
        w->first[used++] = 0;
        used += cs_cut_runs(w->h[i].groups, w->h[i].work, share, w->first + used);
        w->split = i == 0 ? used - 1 : w->split;
    }
    w->items = used - 2;
    return CS_OK;
}

static cs_status run_walks(walk *w, int threads, double *out)
{
    int workers = threads > 0 ? threads : cs_threads();
    cs_status status = deal(w);
    if (status != CS_OK) return status;
    w->sum = cs_pool_take(w->pool, w->items, sizeof *w->sum);
    w->tile_size = cs_least(TILE, PANEL * cs_most(w->h[0].side->n, w->h[1].side->n));
    w->tile = cs_pool_take(w->pool, workers * w->tile_size, sizeof *w->tile);
    if (w->pool->status != CS_OK) return w->pool->status;
    status = cs_parallel_workers(w->items, workers, walk_item, w);
    *out = status == CS_OK ? cs_sum(w->items, w->sum) : *out;
    return status;
}

/* A by ranks: rows x columns and its transpose, each with its entries in order of rank. */
static cs_status reorder(const cs_csr *a, const cs_walk_plan *p, cs_csr *by_row, cs_csr *by_col)
{
    cs_csr b = {0};
    cs_status status = cs_csr_init(&b, a->rows, a->cols, cs_csr_nnz(a));
    if (status != CS_OK) return status;
    for (int64_t r = 0, q = 0; r < a->rows; ++r) {
        int64_t i = p->row.vertex[r];
        for (int64_t e = a->ptr[i]; e < a->ptr[i + 1]; ++e) {
            b.col[q] = p->col.rank[a->col[e]];
            b.val[q++] = a->val[e];
        }
        b.ptr[r + 1] = q;
    }
    status = cs_csr_transpose(&b, by_col); /* rows arrive in order, so it comes out sorted */
    cs_csr_free(&b);
    if (status == CS_OK && p->from_cols) status = cs_csr_transpose(by_col, by_row);
    if (!p->from_rows) {
        cs_csr_free(by_col);
    }
    return status;
}

cs_status cs_moment4(const cs_csr *a, int threads, const cs_progress *progress, double *out)
{
    cs_walk_plan plan;
    CS_AUTO(cs_csr) by_row = {0}, by_col = {0};
    walk w = {.h = {{.side = &plan.row, .other = &plan.col, .m = &by_col},
                    {.side = &plan.col, .other = &plan.row, .wins_ties = true, .m = &by_row}},
              .progress = progress,
              .pool = &plan.pool};
    if (a->gram) {
        *out = cs_square_norm(a);
        return CS_OK;
    }
    cs_status status = cs_walk_plan_of(a, &plan);
    if (status == CS_OK) status = reorder(a, &plan, &by_row, &by_col);
    if (status == CS_OK && plan.from_rows) status = half_init(&w.h[0], &plan.pool);
    if (status == CS_OK && plan.from_cols) status = half_init(&w.h[1], &plan.pool);
    if (status == CS_OK) status = run_walks(&w, threads, out);
    cs_pool_free(&plan.pool);
    return status;
}
