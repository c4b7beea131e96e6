/* Top pairs by blocks of X X^T that are searched while they are in cache.
 *
 * Rows are packed as the columns of panels; an item is a block of 192 x 192 inner products above
 * the diagonal. Its values are counted by the upper bits of their keys, and those at least as large
 * as the worker's bound are kept. When its store of 2 K pairs is full, the counts give a new bound
 * that K pairs reach; where ties defeat that, selection does (Hoare, CACM 4(7), 1961). No pair
 * below a bound can be among the K first of all. Order is total (value, then i, then j), so the
 * result does not depend on which worker saw what, nor on when bounds were raised. Ranked on
 * floats: ties are ties of floats.
 */
#include "linalg/top_pairs.h"

#include <inttypes.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/ints.h"
#include "base/mem.h"
#include "base/threads.h"
#include "base/vector_ops.h"
#include "linalg/tile_private.h"

enum {
    PANELS = 12, /* of a block's side */
    BLOCK_ITEMS = PANELS * PANELS * CS_TILE * CS_TILE,
    KEY_SHIFT = 12,
    BINS = 1 << (32 - KEY_SHIFT),
    GROUP = 1 << 10, /* of bins */
    GROUPS = BINS / GROUP,
    LEAST_CAPACITY = 1 << 14, /* pairs kept beyond K before a cut */
    SORTED_PARTS = 8,
};

/* The state of a worker. */
typedef struct {
    float *tiles;   /* BLOCK_ITEMS */
    uint64_t *bins; /* BINS */
    cs_pair *kept;
    int64_t count;
    uint32_t bound; /* key: pairs below it are not wanted */
} worker_state;

typedef struct {
    const cs_rows *rows;
    const cs_top_pairs_options *options;
    const cs_tile_kernels *kernels;
    int64_t n, d, panels;
    int64_t wanted, capacity;
    float *packed;          /* panels x d x CS_TILE */
    double *sum, *square;   /* panels x d: column sums of the panel; panels: sum of squared norms */
    int64_t *zeros;         /* panels */
    _Atomic uint32_t bound; /* the largest of the workers' */
    worker_state *state;
    cs_pool pool; /* of what is not aligned */
} finder;

/* --- order ------------------------------------------------------------------------------------ */

static bool comes_before(const cs_pair *a, const cs_pair *b)
{
    uint32_t ka = cs_tile_key(a->value), kb = cs_tile_key(b->value);
    if (ka != kb) {
        return ka > kb;
    }
    return a->i != b->i ? a->i < b->i : a->j < b->j;
}

static int in_order(const void *a, const void *b)
{
    return comes_before(b, a) - comes_before(a, b);
}

static void swap(cs_pair *a, cs_pair *b)
{
    cs_pair kept = *a;
    *a = *b;
    *b = kept;
}

/* Puts the k first of n pairs first. */
static void select_first(cs_pair *p, int64_t n, int64_t k)
{
    int64_t low = 0, high = n - 1, nth = k - 1;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (comes_before(&p[middle], &p[low])) {
            swap(&p[middle], &p[low]);
        }
        if (comes_before(&p[high], &p[low])) {
            swap(&p[high], &p[low]);
        }
        if (comes_before(&p[high], &p[middle])) {
            swap(&p[high], &p[middle]);
        }
        const cs_pair pivot = p[middle];
        int64_t i = low, j = high;
        while (i <= j) {
            while (comes_before(&p[i], &pivot)) {
                ++i;
            }
            while (comes_before(&pivot, &p[j])) {
                --j;
            }
            if (i <= j) {
                swap(&p[i++], &p[j--]);
            }
        }
        if (nth <= j) {
            high = j;
        } else if (nth >= i) {
            low = i;
        } else {
            return;
        }
    }
}

/* --- packing ---------------------------------------------------------------------------------- */

/* One panel: CS_TILE rows, turned. */
static cs_status pack_rows(void *ctx, int64_t p)
{
    const finder *f = ctx;
    const int64_t d = f->d, count = cs_least(CS_TILE, f->n - p * CS_TILE);
    float *panel = f->packed + p * d * CS_TILE, *x = cs_alloc(d, sizeof *x);
    if (!x) return CS_ERR_MEMORY;
    cs_status status = CS_OK;
    memset(panel, 0, (size_t)(d * CS_TILE) * sizeof *panel);
    for (int64_t i = 0; i < count && status == CS_OK; ++i) {
        const int64_t row = p * CS_TILE + i;
        status = cs_rows_read_f32(f->rows, row, 1, x);
        double square = 0.0, kept = 0.0;
        for (int64_t k = 0; k < d && status == CS_OK; ++k) {
            square += (double)x[k] * (double)x[k];
        }
        if (status == CS_OK && !(square <= 0x1p126)) status = cs_tile_bad_row(f->rows, row, false);
        double scale = f->options->cosine && square > 0.0 ? 1.0 / sqrt(square) : 1.0;
        for (int64_t k = 0; k < d && status == CS_OK; ++k) {
            float y = (float)((double)x[k] * scale);
            panel[k * CS_TILE + i] = y;
            kept += (double)y * (double)y;
            f->sum[p * d + k] += (double)y;
        }
        f->square[p] += kept;
        f->zeros[p] += square == 0.0;
    }
    cs_free(x);
    return status;
}

/* --- looking through -------------------------------------------------------------------------- */

static void raise_bound(finder *f, worker_state *w, uint32_t key)
{
    uint32_t known = atomic_load(&f->bound);
    w->bound = key > w->bound ? key : w->bound;
    while (known < w->bound && !atomic_compare_exchange_weak(&f->bound, &known, w->bound)) {
    }
}

/* Frees space in the store. The worker's own counts say how many of its values lie in a bin or
 * above: the lower edge of the bin that holds the K-th is a bound. Where ties in that bin would
 * leave the store more than three quarters full, the K first are selected. */
static void cut(finder *f, worker_state *w)
{
    uint64_t above = 0;
    uint32_t bin = BINS;
    while (bin > 0 && above < (uint64_t)f->wanted) {
        above += w->bins[--bin];
    }
    raise_bound(f, w, bin << KEY_SHIFT);
    int64_t count = 0;
    for (int64_t i = 0; i < w->count; ++i) {
        w->kept[count] = w->kept[i];
        count += cs_tile_key(w->kept[i].value) >= w->bound;
    }
    if (count > f->wanted + (f->capacity - f->wanted) / 2) {
        select_first(w->kept, count, f->wanted);
        count = f->wanted;
        raise_bound(f, w, cs_tile_key(w->kept[f->wanted - 1].value));
    }
    w->count = count;
}

static void keep(finder *f, worker_state *w, float value, int64_t i, int64_t j)
{
    if (f->wanted == 0 || cs_tile_key(value) < w->bound) {
        return;
    }
    if (w->count == f->capacity) {
        cut(f, w);
        if (cs_tile_key(value) < w->bound) {
            return;
        }
    }
    w->kept[w->count++] = (cs_pair){value, (int32_t)i, (int32_t)j};
}

/* A tile on the diagonal or at the edge: entry by entry. */
static void look_through_part(finder *f, worker_state *w, int64_t p, int64_t q, const float *tile)
{
    for (int64_t i = 0; i < cs_least(CS_TILE, f->n - p * CS_TILE); ++i) {
        int64_t from = p < q ? 0 : f->options->self ? i : i + 1;
        for (int64_t j = from; j < cs_least(CS_TILE, f->n - q * CS_TILE); ++j) {
            const float x = tile[i * CS_TILE + j];
            ++w->bins[cs_tile_key(x) >> KEY_SHIFT];
            keep(f, w, x, p * CS_TILE + i, q * CS_TILE + j);
        }
    }
}

/* The tile of panels (p, q). */
static void look_through(finder *f, worker_state *w, int64_t p, int64_t q, const float *tile)
{
    uint32_t found[CS_TILE];
    if (p == q || (q + 1) * CS_TILE > f->n) {
        look_through_part(f, w, p, q, tile);
        return;
    }
    if (!f->kernels->scan(tile, cs_tile_value(w->bound), KEY_SHIFT, w->bins, found)) {
        return;
    }
    for (int64_t i = 0; i < CS_TILE; ++i) {
        for (uint32_t bits = found[i]; bits; bits &= bits - 1) {
            const int64_t j = __builtin_ctz(bits);
            keep(f, w, tile[i * CS_TILE + j], p * CS_TILE + i, q * CS_TILE + j);
        }
    }
}

static cs_status search_block(void *ctx, int64_t item, int worker)
{
    finder *f = ctx;
    worker_state *w = &f->state[worker];
    /* The jb-th column of blocks holds items jb (jb + 1) / 2 and on. */
    int64_t jb = (int64_t)((sqrt(8.0 * (double)item + 1.0) - 1.0) / 2.0);
    jb += (jb + 1) * (jb + 2) / 2 <= item;
    jb -= jb * (jb + 1) / 2 > item;
    const int64_t ib = item - jb * (jb + 1) / 2;
    const int64_t p0 = ib * PANELS, q0 = jb * PANELS;
    const int64_t ps = cs_least(PANELS, f->panels - p0), qs = cs_least(PANELS, f->panels - q0);
    uint32_t known = atomic_load(&f->bound);
    w->bound = known > w->bound ? known : w->bound;
    memset(w->tiles, 0, BLOCK_ITEMS * sizeof *w->tiles);
    for (int64_t k = 0; k < f->d; k += CS_TILE_STEPS) {
        for (int64_t q = 0; q < qs; ++q) {
            for (int64_t p = 0; p < (ib == jb ? q + 1 : ps); ++p) {
                f->kernels->product[0](cs_least(CS_TILE_STEPS, f->d - k),
                                       f->packed + ((p0 + p) * f->d + k) * CS_TILE,
                                       f->packed + ((q0 + q) * f->d + k) * CS_TILE,
                                       w->tiles + (p * PANELS + q) * CS_TILE * CS_TILE);
            }
        }
    }
    for (int64_t p = 0; p < ps; ++p) {
        for (int64_t q = ib == jb ? p : 0; q < qs; ++q) {
            look_through(f, w, p0 + p, q0 + q, w->tiles + (p * PANELS + q) * CS_TILE * CS_TILE);
        }
    }
    return CS_OK;
}

/* --- results ---------------------------------------------------------------------------------- */

/* Adds the counts of all workers to those of the first, and sums them over groups of bins: of few
 * values most groups are empty. */
static void merge_bins(const finder *f, int threads, uint64_t *group)
{
    for (int64_t g = 0; g < GROUPS; ++g) {
        uint64_t *bins = f->state[0].bins + g * GROUP;
        for (int t = 0; t < threads; ++t) {
            const uint64_t *own = f->state[t].bins + g * GROUP;
            uint64_t count = 0;
            for (int64_t i = 0; i < GROUP; ++i) {
                count += own[i];
            }
            for (int64_t i = 0; i < GROUP && t > 0 && count > 0; ++i) {
                bins[i] += own[i];
            }
            group[g] += count;
        }
    }
}

/* The value at rank `rank` (0 is the smallest): its bin's, at its share of the bin's count. */
static double value_at(const uint64_t *bins, const uint64_t *group, uint64_t rank)
{
    uint64_t before = 0;
    uint32_t g = 0;
    while (g < GROUPS - 1 && before + group[g] <= rank) {
        before += group[g++];
    }
    uint32_t b = g * GROUP;
    while (b < BINS - 1 && before + bins[b] <= rank) {
        before += bins[b++];
    }
    double low = (double)cs_tile_value(b << KEY_SHIFT);
    double high = (double)cs_tile_value((b << KEY_SHIFT) + ((1U << KEY_SHIFT) - 1));
    double share = bins[b] > 1 ? (double)(rank - before) / (double)(bins[b] - 1) : 0.5;
    return low + share * (high - low);
}

static cs_status fill_mean_and_quantiles(const finder *f, int threads, cs_top_pairs *out)
{
    double *sum = cs_calloc(f->d, sizeof *sum), squares = 0.0, whole = 0.0;
    out->quantile = cs_alloc(f->options->quantiles, sizeof *out->quantile);
    if (!sum || !out->quantile) {
        cs_free(sum);
        return CS_ERR_MEMORY;
    }
    for (int64_t p = 0; p < f->panels; ++p) {
        for (int64_t k = 0; k < f->d; ++k) {
            sum[k] += f->sum[p * f->d + k];
        }
        squares += f->square[p];
        out->zeros += f->zeros[p];
    }
    whole = cs_inner(f->d, sum, sum);
    cs_free(sum);
    out->mean = out->total > 0 ? 0.5 * (f->options->self ? whole + squares : whole - squares) /
                                     (double)out->total
                               : NAN;
    uint64_t group[GROUPS] = {0};
    merge_bins(f, threads, group);
    for (int i = 0; i < f->options->quantiles; ++i) {
        double at = f->options->quantile[i] * (double)(out->total - 1);
        out->quantile[i] = out->total > 0 ? value_at(f->state[0].bins, group, (uint64_t)at) : NAN;
    }
    return CS_OK;
}

/* Parts of the first pairs, each the best of what the parts before it left. */
typedef struct {
    cs_pair *pair;
    int64_t count, part; /* pairs in all, in a part */
} sorter;

static cs_status sort_part(void *ctx, int64_t item)
{
    const sorter *s = ctx;
    const int64_t from = item * s->part;
    qsort(s->pair + from, (size_t)cs_least(s->part, s->count - from), sizeof *s->pair, in_order);
    return CS_OK;
}

/* The first of what all workers kept. */
static cs_status fill_pairs(const finder *f, int threads, cs_top_pairs *out)
{
    int64_t all = 0;
    for (int t = 0; t < threads; ++t) {
        all += f->state[t].count;
    }
    cs_pair *pair = cs_alloc(all, sizeof *pair);
    if (!pair) return CS_ERR_MEMORY;
    int64_t at = 0;
    for (int t = 0; t < threads; ++t) {
        memcpy(pair + at, f->state[t].kept, (size_t)f->state[t].count * sizeof *pair);
        at += f->state[t].count;
    }
    out->count = cs_least(f->wanted, all);
    sorter s = {pair, out->count, out->count / SORTED_PARTS + 1};
    int64_t size = all, parts = 0;
    for (int64_t end = out->count; end > 0; end = (end - 1) / s.part * s.part, ++parts) {
        if (end < size) {
            select_first(pair, size, end);
        }
        size = end;
    }
    cs_status status = cs_parallel(parts, threads, sort_part, &s);
    cs_pair *fitted = status == CS_OK ? cs_realloc(pair, out->count, sizeof *pair) : NULL;
    if (!fitted) {
        cs_free(pair);
        return status == CS_OK ? CS_ERR_MEMORY : status;
    }
    out->pair = fitted;
    return CS_OK;
}

static cs_status check_options(const cs_rows *rows, const cs_top_pairs_options *options)
{
    if (options->count < 0) {
        return cs_fail(CS_ERR_USAGE, "the number of pairs, %" PRId64 ", must not be negative",
                       options->count);
    }
    for (int i = 0; i < options->quantiles; ++i) {
        if (!(options->quantile[i] >= 0.0 && options->quantile[i] <= 1.0)) {
            return cs_fail(CS_ERR_USAGE, "quantile %g is not in [0, 1]", options->quantile[i]);
        }
    }
    if (rows->rows > INT32_MAX) {
        return cs_fail(CS_ERR_INPUT, "%s: the pairs of %" PRId64 " rows exceed 2^31 - 1",
                       rows->name ? rows->name : "matrix", rows->rows);
    }
    return CS_OK;
}

static void finder_free(finder *f, int threads)
{
    for (int t = 0; f->state && t < threads; ++t) {
        cs_free_aligned(f->state[t].tiles);
    }
    cs_free_aligned(f->packed);
    cs_pool_free(&f->pool);
}

static cs_status finder_init(const cs_rows *rows, const cs_top_pairs_options *options, int threads,
                             int64_t total, finder *f)
{
    int64_t n = rows->rows, d = rows->cols, panels = (n + CS_TILE - 1) / CS_TILE;
    *f = (finder){.rows = rows,
                  .options = options,
                  .kernels = cs_tile_kernels_here(),
                  .n = n,
                  .d = d,
                  .panels = panels,
                  .wanted = cs_least(options->count, total)};
    f->capacity = f->wanted + (f->wanted > LEAST_CAPACITY ? f->wanted : LEAST_CAPACITY);
    f->capacity = cs_least(f->capacity, total);
    f->packed = cs_alloc_aligned(panels * CS_TILE, d * (int64_t)sizeof *f->packed);
    f->sum = cs_pool_take(&f->pool, panels * d, sizeof *f->sum);
    CS_POOL_FIELDS(&f->pool, panels, f, square, zeros);
    f->state = cs_pool_take(&f->pool, threads, sizeof *f->state);
    bool complete = f->packed && f->state;
    for (int t = 0; complete && t < threads; ++t) {
        worker_state *w = &f->state[t];
        w->tiles = cs_alloc_aligned(BLOCK_ITEMS, sizeof *w->tiles);
        w->bins = cs_pool_take(&f->pool, BINS, sizeof *w->bins);
        w->kept = cs_pool_take(&f->pool, f->capacity, sizeof *w->kept);
        w->bound = cs_tile_key(f->wanted > 0 ? -INFINITY : INFINITY);
        complete = w->tiles && w->kept;
    }
    atomic_init(&f->bound, cs_tile_key(-INFINITY));
    return complete ? CS_OK : CS_ERR_MEMORY;
}

void cs_top_pairs_free(cs_top_pairs *t)
{
    CS_FREE_FIELDS(t, pair, quantile);
    *t = (cs_top_pairs){0};
}

cs_status cs_top_pairs_of(const cs_rows *rows, const cs_top_pairs_options *options,
                          cs_top_pairs *out)
{
    cs_status status = check_options(rows, options);
    if (status != CS_OK) return status;
    const int64_t n = rows->rows, side = (n + PANELS * CS_TILE - 1) / (PANELS * CS_TILE);
    const int64_t items = cs_most(side * (side + 1) / 2, 1);
    const int threads =
        (int)cs_least(options->threads > 0 ? options->threads : cs_threads(), items);
    finder f;
    cs_top_pairs top = {.total = options->self ? n * (n + 1) / 2 : n * (n - 1) / 2};
    status = finder_init(rows, options, threads, top.total, &f);
    if (status == CS_OK) status = cs_parallel(f.panels, threads, pack_rows, &f);
    if (status == CS_OK) status = cs_parallel_workers(items, threads, search_block, &f);
    if (status == CS_OK) status = fill_mean_and_quantiles(&f, threads, &top);
    if (status == CS_OK) status = fill_pairs(&f, threads, &top);
    finder_free(&f, threads);
    return CS_DELIVER(status, out, top, cs_top_pairs_free);
}
