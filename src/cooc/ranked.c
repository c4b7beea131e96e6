/* The normalised operator over the ranks: marginals, components, products.
 *
 * Components: union-find over the smaller side, each rank over its own rows (reduce.c has the
 * method); then forests are joined up a binomial tree, width x 4 bytes a message, and the result
 * spread.
 *
 * The block solver's vectors: random numbers come from a stream for each rank, since two ranks that
 * drew the same would make vectors that repeat.
 */
#include "cooc/ranked.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/auto.h"
#include "base/mem.h"
#include "base/vector_ops.h"
#include "cooc/compensated_private.h"
#include "cooc/reduce.h"
#include "cooc/spectrum_stages_private.h"

void cs_ranked_free(cs_ranked *r)
{
    cs_csr_free(&r->a);
    cs_csr_free(&r->at);
    cs_pool_free(&r->pool);
    *r = (cs_ranked){0};
}

/* --- components ------------------------------------------------------------------------------- */

static void join(int32_t *parent, int32_t x, int32_t y)
{
    parent[x] = parent[x] < 0 ? x : parent[x];
    parent[y] = parent[y] < 0 ? y : parent[y];
    int32_t a = cs_forest_root(parent, x), b = cs_forest_root(parent, y);
    parent[a < b ? b : a] = a < b ? a : b;
}

/* parent[j]: the forest of all ranks; -1 for a column without entries. */
static cs_status join_all(cs_ranked *r, int32_t *parent)
{
    cs_comm *c = r->comm;
    const int64_t size = r->width * (int64_t)sizeof *parent;
    CS_AUTO_FREE int32_t *other = cs_alloc(r->width, sizeof *other);
    if (!other) return CS_ERR_MEMORY;
    memset(parent, 0xff, (size_t)size);
    for (int64_t i = 0; i < r->held; ++i) {
        for (int64_t e = r->a.ptr[i]; e < r->a.ptr[i + 1]; ++e) {
            join(parent, r->a.col[r->a.ptr[i]], r->a.col[e]);
        }
    }
    for (int s = 1; s < c->ranks; s *= 2) {
        if (c->rank % (2 * s) == s) {
            c->swap(c, c->rank - s, parent, size, -1, NULL, 0);
            break;
        }
        if (c->rank + s < c->ranks) {
            c->swap(c, -1, NULL, 0, c->rank + s, other, size);
            for (int64_t j = 0; j < r->width; ++j) {
                if (other[j] >= 0) {
                    join(parent, (int32_t)j, other[j]);
                }
            }
        }
    }
    cs_comm_spread(c, parent, size);
    return CS_OK;
}

/* Numbers the components by their first column; returns how many. */
static int64_t number_parts(cs_ranked *r, int32_t *parent)
{
    int64_t count = 0;
    for (int64_t j = 0; j < r->width; ++j) { /* a root is the lowest of its tree */
        if (parent[j] < 0) {
            r->short_part[j] = -1;
        } else {
            int32_t root = cs_forest_root(parent, (int32_t)j);
            r->short_part[j] = root == j ? count++ : r->short_part[root];
        }
    }
    for (int64_t i = 0; i < r->held; ++i) {
        bool empty = r->a.ptr[i] == r->a.ptr[i + 1];
        r->long_part[i] = empty ? -1 : r->short_part[r->a.col[r->a.ptr[i]]];
    }
    return count;
}

/* Sizes of the components: what is filled, and the rank that Abar can have. */
static cs_status size_parts(cs_ranked *r)
{
    CS_AUTO_FREE double *size =
        cs_calloc(2 * r->components, sizeof *size); /* longer sides, then shorter */
    cs_status status = size ? CS_OK : CS_ERR_MEMORY;
    for (int64_t i = 0; status == CS_OK && i < r->held; ++i) {
        if (r->long_part[i] >= 0) {
            size[r->long_part[i]] += 1;
        }
    }
    if (status == CS_OK) cs_comm_sum(r->comm, r->components, size);
    for (int64_t j = 0; status == CS_OK && j < r->width; ++j) {
        if (r->short_part[j] >= 0) {
            size[r->components + r->short_part[j]] += 1;
        }
    }
    for (int64_t p = 0; status == CS_OK && p < r->components; ++p) {
        r->filled_long += (int64_t)size[p];
        r->filled_short += (int64_t)size[r->components + p];
        r->rank += (int64_t)fmin(size[p], size[r->components + p]);
    }
    return status;
}

cs_status cs_ranked_components(const cs_shard *shard, int64_t *out)
{
    cs_ranked r = {
        .comm = shard->comm, .width = shard->width, .held = shard->a.rows, .a = shard->a};
    CS_AUTO_FREE int32_t *parent = cs_alloc(r.width, sizeof *parent);
    cs_status status = parent ? join_all(&r, parent) : CS_ERR_MEMORY;
    *out = 0;
    for (int64_t j = 0; status == CS_OK && j < r.width; ++j) {
        *out += parent[j] == j; /* the root of a component */
    }
    return status;
}

static cs_status find_parts(cs_ranked *r)
{
    CS_AUTO_FREE int32_t *parent = cs_alloc(r->width, sizeof *parent);
    r->long_part = cs_pool_take(&r->pool, r->held, sizeof *r->long_part);
    r->short_part = cs_pool_take(&r->pool, r->width, sizeof *r->short_part);
    cs_status status = parent ? r->pool.status : CS_ERR_MEMORY;
    if (status == CS_OK) status = join_all(r, parent);
    if (status == CS_OK) {
        r->components = number_parts(r, parent);
        status = size_parts(r);
    }
    return status;
}

/* --- normalisation ---------------------------------------------------------------------------- */

/* Masses to the closed-form vectors: sqrt(mass / mass of the component). */
static cs_status weigh(cs_ranked *r)
{
    CS_AUTO_FREE double *part = cs_calloc(2 * r->components, sizeof *part);
    if (!part) return CS_ERR_MEMORY;
    double *lost = part + r->components;
    for (int64_t j = 0; j < r->width; ++j) {
        if (r->short_part[j] >= 0) {
            cs_add_compensated(&part[r->short_part[j]], &lost[r->short_part[j]],
                               r->short_weight[j]);
        }
    }
    for (int64_t p = 0; p < r->components; ++p) {
        part[p] += lost[p];
    }
    for (int64_t j = 0; j < r->width; ++j) {
        bool empty = r->short_part[j] < 0;
        r->short_weight[j] = empty ? 0 : sqrt(r->short_weight[j] / part[r->short_part[j]]);
    }
    for (int64_t i = 0; i < r->held; ++i) {
        bool empty = r->long_part[i] < 0;
        r->long_weight[i] = empty ? 0 : sqrt(r->long_weight[i] / part[r->long_part[i]]);
    }
    return CS_OK;
}

static cs_status normalise(cs_ranked *r, bool keep_weights)
{
    double *row = cs_pool_take(&r->pool, r->held, sizeof *row);
    double *col = cs_pool_take(&r->pool, r->width, sizeof *col);
    cs_status status = r->pool.status ? r->pool.status : cs_masses(&r->a, row, col);
    if (status == CS_OK) cs_comm_sum(r->comm, r->width, col);
    if (status == CS_OK && !isfinite(cs_total(r->width, col))) {
        r->comm->agreed = true;
        status = cs_fail(CS_ERR_INPUT, "the sum of the matrix overflows");
    }
    for (int64_t i = 0; status == CS_OK && i < r->held; ++i) {
        for (int64_t e = r->a.ptr[i]; e < r->a.ptr[i + 1]; ++e) {
            r->a.val[e] = r->a.val[e] / sqrt(row[i]) / sqrt(col[r->a.col[e]]);
        }
    }
    if (status == CS_OK && keep_weights) {
        r->long_weight = row;
        r->short_weight = col;
        status = weigh(r);
    }
    return status;
}

/* --- products --------------------------------------------------------------------------------- */

/* along[c] (wide values each) = sum over the items of component c of weight x; compensated, since a
 * component may have millions of items. */
static void sum_along(const cs_ranked *r, int64_t n, const int64_t *part, const double *weight,
                      int wide, const double *x)
{
    double *lost = r->along + r->components * CS_PANEL;
    memset(r->along, 0, (size_t)(r->components * CS_PANEL) * sizeof *r->along);
    memset(lost, 0, (size_t)(r->components * CS_PANEL) * sizeof *lost);
    for (int64_t i = 0; i < n; ++i) {
        for (int c = 0; part[i] >= 0 && c < wide; ++c) {
            int64_t at = part[i] * wide + c;
            cs_add_compensated(&r->along[at], &lost[at], weight[i] * x[i * wide + c]);
        }
    }
    for (int64_t e = 0; e < r->components * wide; ++e) {
        r->along[e] += lost[e];
    }
}

static void take_along(const cs_ranked *r, int64_t n, const int64_t *part, const double *weight,
                       int wide, double *y)
{
    for (int64_t i = 0; i < n; ++i) {
        for (int c = 0; part[i] >= 0 && c < wide; ++c) {
            y[i * wide + c] -= weight[i] * r->along[part[i] * wide + c];
        }
    }
}

static cs_status multiply(const cs_csr *a, int wide, const double *x, double *y, int threads)
{
    if (wide == CS_PANEL) {
        return cs_csr_apply_panel(a, x, y, threads);
    }
    cs_dense in = {.rows = a->cols, .cols = 1, .ld = a->cols, .data = (double *)(uintptr_t)x};
    cs_dense out = {.rows = a->rows, .cols = 1, .ld = a->rows, .data = y};
    return cs_csr_apply(a, &in, &out, threads);
}

cs_status cs_ranked_forward(cs_ranked *r, int wide, const double *x, double *y)
{
    cs_comm_gather(r->comm, r->width, (size_t)wide * sizeof *x, x, r->full);
    cs_status status = multiply(&r->a, wide, r->full, y, r->threads);
    if (status == CS_OK && r->deflated) {
        sum_along(r, r->width, r->short_part, r->short_weight, wide, r->full);
        take_along(r, r->held, r->long_part, r->long_weight, wide, y);
    }
    return status;
}

cs_status cs_ranked_backward(cs_ranked *r, int wide, const double *x, double *y)
{
    cs_status status = multiply(&r->at, wide, x, r->partial, r->threads);
    if (status == CS_OK && r->deflated) { /* what is along u_c here; the sum adds the ranks' */
        sum_along(r, r->held, r->long_part, r->long_weight, wide, x);
        take_along(r, r->width, r->short_part, r->short_weight, wide, r->partial);
    }
    if (status == CS_OK) cs_comm_scatter_sum(r->comm, r->width, wide, r->partial, y);
    return status;
}

static cs_status product(void *ctx, bool turn, int wide, const double *x, double *y)
{
    return turn ? cs_ranked_backward(ctx, wide, x, y) : cs_ranked_forward(ctx, wide, x, y);
}

static cs_status apply(void *ctx, bool turn, const cs_dense *x, cs_dense *y)
{
    cs_status status = CS_OK;
    for (int64_t j = 0; j < x->cols && status == CS_OK; ++j) {
        status = product(ctx, turn, 1, x->data + j * x->ld, y->data + j * y->ld);
    }
    return status;
}

static cs_status panel(void *ctx, bool turn, const double *x, double *y)
{
    return product(ctx, turn, CS_PANEL, x, y);
}

/* Sums of squares of the columns over all ranks. */
static void squares_of(cs_ranked *r, int64_t n, int64_t cols, const cs_dense *x, int64_t first,
                       double *square)
{
    for (int64_t j = 0; j < cols; ++j) {
        const double *y = x->data + (first + j) * x->ld;
        square[j] = cs_dot(n, y, y);
    }
    cs_comm_sum(r->comm, cols, square);
}

static void divide(int64_t n, double square, double *y)
{
    if (square > 0) cs_divide(n, sqrt(square), y);
}

/* As in one process (spectrum_solve.c): what was taken out of two columns leaves an inner product,
 * of as much as both were along it; these are projected again, larger values first, twice. */
static void reorthogonalise(cs_ranked *r, int64_t n, const double *along, double *dot, cs_dense *x)
{
    for (int64_t j = 1; j < x->cols; ++j) {
        double *y = x->data + j * x->ld;
        if (along[j] * cs_largest(j, along) <= DBL_EPSILON) {
            continue;
        }
        for (int pass = 0; pass < 2; ++pass) {
            for (int64_t i = 0; i < j; ++i) {
                const double *z = x->data + i * x->ld;
                dot[i] = along[i] * along[j] > DBL_EPSILON ? cs_dot(n, z, y) : 0;
            }
            cs_comm_sum(r->comm, j, dot);
            for (int64_t i = 0; i < j; ++i) {
                cs_add_multiple(dot[i] != 0 ? n : 0, -dot[i], x->data + i * x->ld, y);
            }
        }
        squares_of(r, n, 1, x, j, dot);
        divide(n, dot[0], y);
    }
}

cs_status cs_ranked_project(cs_ranked *r, cs_side side, cs_dense *x)
{
    bool left = side == CS_LEFT;
    int64_t n = left ? r->held : r->slice;
    const int64_t *part = left ? r->long_part : r->short_part + r->first;
    const double *weight = left ? r->long_weight : r->short_weight + r->first;
    CS_AUTO(cs_pool) pool = {0};
    double *square = cs_pool_take(&pool, x->cols, sizeof *square);
    double *along = cs_pool_take(&pool, x->cols, sizeof *along);
    if (pool.status != CS_OK) return pool.status;
    for (int64_t j = 0; j < x->cols; ++j) {
        double *y = x->data + j * x->ld;
        sum_along(r, n, part, weight, 1, y);
        cs_comm_sum(r->comm, r->components, r->along);
        for (int64_t c = 0; c < r->components; ++c) {
            along[j] = hypot(along[j], r->along[c]);
        }
        take_along(r, n, part, weight, 1, y);
    }
    squares_of(r, n, x->cols, x, 0, square);
    for (int64_t j = 0; j < x->cols; ++j) {
        divide(n, square[j], x->data + j * x->ld);
    }
    reorthogonalise(r, n, along, square, x);
    return CS_OK;
}

/* --- vectors of the block solver -------------------------------------------------------------- */

static const cs_ranked_space *vectors(const cs_space *s)
{
    return (const cs_ranked_space *)s;
}

static cs_status create(cs_space *s, cs_side side, cs_panel **out)
{
    cs_space here = vectors(s)->here;
    return here.create(&here, side, out);
}

static cs_status random_panel(cs_space *s, uint64_t seed, uint64_t index, cs_panel *x)
{
    const cs_comm *c = vectors(s)->comm;
    uint64_t of_rank = index * (uint64_t)c->ranks + (uint64_t)c->rank;
    return vectors(s)->here.random(s, seed, of_rank, x);
}

static cs_status gram(cs_space *s, int64_t p, cs_panel *const *panels, const cs_panel *w, double *h)
{
    cs_status status = vectors(s)->here.gram(s, p, panels, w, h);
    if (status == CS_OK) cs_comm_sum(vectors(s)->comm, p * s->block * s->block, h);
    return status;
}

cs_status cs_ranked_space_open(cs_ranked *r, cs_ranked_space *out)
{
    *out = (cs_ranked_space){.comm = r->comm, .held = {[CS_LEFT] = r->held, [CS_RIGHT] = r->slice}};
    cs_status status = cs_space_cpu(&r->op, r->threads, &out->here);
    out->space = out->here;
    out->space.rows = r->length;
    out->space.cols = r->width;
    out->space.held = out->held;
    out->space.create = create;
    out->space.random = random_panel;
    out->space.gram = gram;
    out->space.normal = NULL;
    return status;
}

/* --- sizes ------------------------------------------------------------------------------------- */

double cs_ranked_gram_cost(cs_comm *c, const cs_csr *a)
{
    double sum = 0;
    for (int64_t i = 0; i < a->rows; ++i) {
        double d = (double)(a->ptr[i + 1] - a->ptr[i]);
        sum += d * (d + 1) / 2;
    }
    cs_comm_sum(c, 1, &sum);
    return sum;
}

/* --- open ------------------------------------------------------------------------------------- */

static cs_status describe(cs_ranked *r)
{
    double totals[2] = {0, (double)cs_csr_nnz(&r->a)}, lost = 0;
    for (int64_t e = 0; e < cs_csr_nnz(&r->a); ++e) {
        cs_add_compensated(&totals[0], &lost, r->a.val[e]);
    }
    totals[0] += lost;
    cs_comm_sum(r->comm, 2, totals);
    r->mass = totals[0];
    r->nnz = (int64_t)totals[1];
    if (r->nnz > 0) {
        return CS_OK;
    }
    r->comm->agreed = true;
    return cs_fail(CS_ERR_INPUT, "the matrix has no nonzero entry");
}

/* The power of two that one process would take out, from the largest entry of all. */
static void scale(cs_ranked *r)
{
    enum { NONE = -4096 };
    double largest = cs_csr_entries_of(&r->a).largest;
    int exponent = NONE;
    if (largest > 0) {
        (void)frexp(largest, &exponent);
    }
    const int64_t least = cs_comm_least(r->comm, -exponent);
    if (least < -NONE) {
        r->exponent = cs_scale_exponent(ldexp(0.5, (int)-least));
        cs_scale_down(r->exponent, &r->a);
    }
}

static cs_status make_scratch(cs_ranked *r)
{
    int64_t panel_size = r->width * CS_PANEL;
    r->along = cs_pool_take(&r->pool, 2 * r->components * CS_PANEL, sizeof *r->along);
    double *work = cs_pool_take(&r->pool, 2 * panel_size + CS_PANEL, sizeof *work);
    if (!work) return CS_ERR_MEMORY;
    r->full = (double *)(((uintptr_t)work + 63) & ~(uintptr_t)63); /* rows on cache lines */
    r->partial = r->full + panel_size;
    return CS_OK;
}

cs_status cs_ranked_open(cs_shard *shard, const cs_spectrum_options *options, cs_ranked *out)
{
    cs_ranked r = {.comm = shard->comm,
                   .length = shard->length,
                   .width = shard->width,
                   .held = shard->a.rows,
                   .threads = options->threads,
                   .a = shard->a};
    shard->a = (cs_csr){0};
    cs_comm_slice(r.comm, r.comm->rank, r.width, &r.first, &r.slice);
    cs_status status = describe(&r);
    if (status == CS_OK) status = find_parts(&r);
    if (status == CS_OK && options->normalised) scale(&r);
    if (status == CS_OK && !options->normalised) status = normalise(&r, !options->no_reduction);
    if (status == CS_OK) status = cs_csr_transpose(&r.a, &r.at);
    if (status == CS_OK) status = make_scratch(&r);
    if (status != CS_OK) {
        cs_ranked_free(&r);
        return status;
    }
    *out = r;
    out->op =
        (cs_linop){.rows = r.held, .cols = r.slice, .ctx = out, .apply = apply, .panel = panel};
    return CS_OK;
}
