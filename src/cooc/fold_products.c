/* Inner products of sums over pairs, by lanes.
 *
 * For a token u all sums' entries (u, v), v >= u, are made at once, in 24 lanes a column: half a of
 * the splittings, half b, and the pairs of quarters. A context X that has u adds
 *
 *   w_h(X) T_h(u) T_h(v) to the sum of half h, less w_h(X) c_d(u) c_d(v) of its documents d, and
 *   w(X) (T_f(u) T_g(v) + T_g(u) T_f(v)) to that of quarters f and g;
 *
 * then products of lanes are taken, times the scale, and the lanes cleared: by a pass over the columns
 * or, where few were touched, over the entries that touched them. What makes the sums apart reads each
 * context once a sum, writes it, and meets each pair of entries once a sum. Tokens are dealt to threads in
 * items of about equal work that depend on the rows alone, whose sums are added in order.
 */
#include "cooc/fold_products.h"

#include <math.h>
#include <string.h>

#include "base/auto.h"
#include "base/mem.h"
#include "base/simd.h"
#include "base/threads.h"
#include "base/vector_ops.h"
#include "cooc/fold_runs_private.h"

enum {
    A,
    B,
    C,
    PARTS, /* half a, half b, pairs of quarters */
    STRIDE = PARTS * CS_FOLDS,
    HALVES = 2 * CS_FOLDS,
    HIGH = CS_FOLDS / 2, /* lanes j and HIGH + j of pairs of quarters are those of pairing j */
    MOST_ITEMS = 512,
    LEAST_WORK = 1 << 15, /* pairs of entries of an item */
    SPARSE = 2            /* columns of a pass for each entry that is looked up instead */
};

typedef cs_split_lanes lanes;
static const double QUARTER_WEIGHT = 8;

/* The products of a pattern's counts: a and b by half; left and right so that left(u) right(v) is
 * T_f(u) T_g(v) of pair of quarters j. */
typedef struct {
    lanes half[2], left, right;
} made;

/* Where a list has each column. */
typedef struct {
    const cs_fold_list *list;
    int64_t *start; /* cols + 1 */
    int64_t *at, *run;
} places;

/* Over v, less the factors of u, or over tokens. */
typedef struct {
    double plain[CS_FOLDS], scaled[CS_FOLDS], pairing[CS_FOLDS], trace;
} sums;

typedef struct {
    const cs_fold_options *o;
    const cs_fold_runs *r;
    int64_t cols, items;
    made *pattern;
    places contexts, documents;
    double *work;    /* by column: pairs of entries */
    int64_t *first;  /* items + 1: columns */
    sums *sum;       /* by item */
    double *scratch; /* by worker: cols x STRIDE */
} products;

static cs_status make_patterns(const cs_fold_runs *r, made **out)
{
    static const int left[] = {0, 0, 0, -1, 2, 1, 1, -1}, right[] = {1, 2, 3, -1, 3, 3, 2, -1};
    double in[CS_FOLDS][HALVES];
    made *table = cs_alloc_aligned(r->patterns, sizeof *table);
    if (!table) return CS_ERR_MEMORY;
    cs_fold_membership(in);
    memset(table, 0, (size_t)r->patterns * sizeof *table);
    for (int64_t p = 0; p < r->patterns; ++p) {
        const double *fold = r->fold + p * CS_FOLDS;
        for (int f = 0; f < CS_FOLDS; ++f) {
            for (int i = 0; i < CS_FOLDS; ++i) {
                table[p].half[0][i] += in[f][i] * fold[f];
                table[p].half[1][i] += in[f][CS_FOLDS + i] * fold[f];
            }
        }
        for (int j = 0; j < CS_FOLDS; ++j) {
            const int l = 2 * left[j], g = 2 * right[j];
            table[p].left[j] = l < 0 ? 0 : fold[l] + fold[l + 1];
            table[p].right[j] = g < 0 ? 0 : fold[g] + fold[g + 1];
        }
    }
    *out = table;
    return CS_OK;
}

static cs_status find_places(const cs_fold_list *l, int64_t cols, cs_pool *pool, double *work,
                             places *out)
{
    int64_t *next = cs_pool_take(pool, cols + 1, sizeof *next);
    *out = (places){.list = l, .start = cs_pool_take(pool, cols + 1, sizeof *out->start)};
    CS_POOL_FIELDS(pool, l->entries, out, at, run);
    if (pool->status != CS_OK) return pool->status;
    for (int64_t e = 0; e < l->entries; ++e) {
        ++out->start[l->col[e] + 1];
    }
    for (int64_t v = 0; v < cols; ++v) {
        out->start[v + 1] += out->start[v];
        next[v] = out->start[v];
    }
    for (int64_t r = 0; r < l->runs; ++r) {
        for (int64_t e = l->ptr[r]; e < l->ptr[r + 1]; ++e) {
            const int64_t i = next[l->col[e]]++;
            out->at[i] = e;
            out->run[i] = r;
            work[l->col[e]] += (double)(l->ptr[r + 1] - e);
        }
    }
    return CS_OK;
}

/* --- one token -------------------------------------------------------------------------------- */

/* The entries (u, v) of all sums, at to[(v - u) STRIDE]. */
static inline __attribute__((always_inline)) void fill(const products *w, int64_t u, bool quarters,
                                                       double *restrict to)
{
    const cs_fold_list *l = w->contexts.list;
    for (int64_t i = w->contexts.start[u]; i < w->contexts.start[u + 1]; ++i) {
        const int64_t e = w->contexts.at[i], run = w->contexts.run[i], end = l->ptr[run + 1];
        const double *weight = w->r->weight + l->context[run] * HALVES;
        const made *x = &w->pattern[l->pattern[e]];
        const lanes a = *(const lanes *)weight * x->half[0],
                    b = *(const lanes *)(weight + CS_FOLDS) * x->half[1],
                    left = weight[0] * x->left, right = weight[0] * x->right;
        for (int64_t g = e; g < end; ++g) {
            const made *y = &w->pattern[l->pattern[g]];
            lanes *z = (lanes *)(to + (l->col[g] - u) * STRIDE);
            z[A] += a * y->half[0];
            z[B] += b * y->half[1];
            if (quarters) z[C] += left * y->right + right * y->left;
        }
    }
    l = w->documents.list;
    for (int64_t i = w->documents.start[u]; i < w->documents.start[u + 1]; ++i) {
        const int64_t e = w->documents.at[i], run = w->documents.run[i], end = l->ptr[run + 1];
        const double *weight = w->r->weight + l->context[run] * HALVES;
        const made *x = &w->pattern[l->pattern[e]];
        const lanes a = *(const lanes *)weight * x->half[0],
                    b = *(const lanes *)(weight + CS_FOLDS) * x->half[1];
        for (int64_t g = e; g < end; ++g) {
            const made *y = &w->pattern[l->pattern[g]];
            lanes *z = (lanes *)(to + (l->col[g] - u) * STRIDE);
            z[A] -= a * y->half[0];
            z[B] -= b * y->half[1];
        }
    }
    const lanes *d = (const lanes *)(w->r->diagonal + u * HALVES);
    ((lanes *)to)[A] -= d[0];
    ((lanes *)to)[B] -= d[1];
}

/* Adds the products of column v, whose lanes become 0. */
static inline __attribute__((always_inline)) void take(const products *w, int64_t u, int64_t v,
                                                       double factor, bool quarters,
                                                       double *restrict from, sums *restrict s)
{
    lanes *z = (lanes *)(from + (v - u) * STRIDE);
    const double by = factor * w->o->scale[v] * w->o->scale[v];
    const lanes product = by * (z[A] * z[B]);
    *(lanes *)s->plain += product;
    *(lanes *)s->scaled += w->o->f[v] * product;
    z[A] = z[B] = (lanes){0};
    if (quarters) {
        const double *q = from + (v - u) * STRIDE + C * CS_FOLDS;
        for (int j = 0; j < HIGH; ++j) {
            s->pairing[j] += by * (q[j] * q[HIGH + j]);
        }
        z[C] = (lanes){0};
    }
}

/* The same where runs have entries; what was taken once is 0 the next time. */
static inline __attribute__((always_inline)) void take_touched(const products *w, const places *p,
                                                               int64_t u, bool quarters,
                                                               double *restrict from,
                                                               sums *restrict s)
{
    const cs_fold_list *l = p->list;
    for (int64_t i = p->start[u]; i < p->start[u + 1]; ++i) {
        for (int64_t e = p->at[i] + 1, end = l->ptr[p->run[i] + 1]; e < end; ++e) {
            take(w, u, l->col[e], 2, quarters, from, s);
        }
    }
}

static inline __attribute__((always_inline)) void token(const products *w, int64_t u, bool quarters,
                                                        double *restrict scratch, sums *restrict s)
{
    sums row = {.trace = 0};
    fill(w, u, quarters, scratch);
    for (int j = 0; j < CS_FOLDS && quarters; ++j) {
        row.trace += scratch[C * CS_FOLDS + j];
    }
    take(w, u, u, 1, quarters, scratch, &row);
    if (w->work[u] * SPARSE < (double)(w->cols - u)) {
        take_touched(w, &w->contexts, u, quarters, scratch, &row);
        take_touched(w, &w->documents, u, quarters, scratch, &row);
    } else {
        for (int64_t v = u + 1; v < w->cols; ++v) {
            take(w, u, v, 2, quarters, scratch, &row);
        }
    }
    const double square = w->o->scale[u] * w->o->scale[u];
    for (int i = 0; i < CS_FOLDS; ++i) {
        s->plain[i] += square * row.plain[i];
        s->scaled[i] += square * w->o->f[u] * row.scaled[i];
        s->pairing[i] += square * row.pairing[i];
    }
    s->trace += square * row.trace;
}

CS_CLONES static void take_halves(const products *w, int64_t u, double *scratch, sums *s)
{
    token(w, u, false, scratch, s);
}

CS_CLONES static void take_all(const products *w, int64_t u, double *scratch, sums *s)
{
    token(w, u, true, scratch, s);
}

static cs_status take_item(void *ctx, int64_t item, int worker)
{
    const products *w = ctx;
    sums s = {.trace = 0};
    double *scratch = w->scratch + (int64_t)worker * w->cols * STRIDE;
    for (int64_t u = w->first[item]; u < w->first[item + 1]; ++u) {
        (w->o->quarters ? take_all : take_halves)(w, u, scratch, &s);
    }
    w->sum[item] = s;
    return CS_OK;
}

/* --- all -------------------------------------------------------------------------------------- */

/* Weights of halves have 1 / N to come, those of pairs of quarters QUARTER_WEIGHT / N of all. */
static void summarise(const products *w, cs_fold_products *out)
{
    double in[CS_FOLDS][HALVES], n[HALVES] = {0};
    sums s = {.trace = 0};
    const double all = cs_total(CS_FOLDS, w->r->mass);
    const double quarters = all > 0 && w->o->quarters ? QUARTER_WEIGHT / all : 0;
    cs_fold_membership(in);
    for (int l = 0; l < HALVES; ++l) {
        for (int f = 0; f < CS_FOLDS; ++f) {
            n[l] += in[f][l] * w->r->mass[f];
        }
    }
    for (int64_t t = 0; t < w->items; ++t) {
        for (int i = 0; i < CS_FOLDS; ++i) {
            s.plain[i] += w->sum[t].plain[i];
            s.scaled[i] += w->sum[t].scaled[i];
            s.pairing[i] += w->sum[t].pairing[i];
        }
        s.trace += w->sum[t].trace;
    }
    for (int i = 1; i < CS_FOLDS; ++i) {
        const double a = n[i], b = n[CS_FOLDS + i], both = a > 0 && b > 0 ? 1 / (a * b) : 0;
        out->plain[i] = both * s.plain[i];
        out->scaled[i] = both * s.scaled[i];
        out->seen[i][0] = a > 0 ? w->r->held[i] / a : 0;
        out->seen[i][1] = b > 0 ? w->r->held[CS_FOLDS + i] / b : 0;
    }
    for (int j = 0; j < CS_PAIRINGS; ++j) {
        out->pairing[j] = quarters * quarters * s.pairing[j];
    }
    out->trace = quarters * s.trace;
}

static cs_status multiply(products *w, cs_fold_products *out)
{
    const int workers = w->o->threads > 0 ? w->o->threads : cs_threads();
    CS_AUTO(cs_pool) pool = {0};
    CS_POOL_FIELDS(&pool, w->cols, w, work, sum);
    w->first = cs_pool_take(&pool, w->cols + 1, sizeof *w->first);
    cs_status status = pool.status;
    if (status == CS_OK) status = make_patterns(w->r, &w->pattern);
    if (status == CS_OK)
        status = find_places(&w->r->contexts, w->cols, &pool, w->work, &w->contexts);
    if (status == CS_OK)
        status = find_places(&w->r->documents, w->cols, &pool, w->work, &w->documents);
    const int64_t scratch = (int64_t)workers * w->cols * STRIDE;
    if (status == CS_OK && !(w->scratch = cs_alloc_aligned(scratch, sizeof *w->scratch)))
        status = CS_ERR_MEMORY;
    if (status == CS_OK) {
        memset(w->scratch, 0, (size_t)scratch * sizeof *w->scratch);
        w->items =
            cs_cut_runs(w->cols, w->work, fmax(cs_total(w->cols, w->work) / MOST_ITEMS, LEAST_WORK),
                        w->first + 1);
        status = cs_parallel_workers(w->items, workers, take_item, w);
    }
    if (status == CS_OK) summarise(w, out);
    cs_free_aligned(w->pattern);
    cs_free_aligned(w->scratch);
    return status;
}

cs_status cs_fold_products_of(const cs_cooc *rows, const cs_context_index *index,
                              const cs_fold_options *options, cs_fold_products *out)
{
    CS_AUTO(cs_fold_runs) runs = {0};
    cs_fold_products result = {.trace = 0};
    cs_status status = cs_fold_runs_of(rows, index, options, &runs);
    products w = {.o = options, .r = &runs, .cols = rows->matrix.a.cols};
    if (status == CS_OK) status = multiply(&w, &result);
    if (status != CS_OK) return status;
    *out = result;
    return CS_OK;
}
