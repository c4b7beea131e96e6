/* From the input to the reduced matrix: lumping, components, ordering, normalisation, and the way
 * back.
 *
 * Method. For counts the lumped matrix is normalised by its own marginals; Abar of the lumped
 * matrix has the nonzero singular values of Abar (reduce.h). A matrix that comes normalised and
 * non-negative is lumped through its entrywise square W = Abar^2: rows c_i d of Abar are rows
 * c_i^2 d^2 of W, their sum is (sum c_i^2) d^2, and its square root is the one row that keeps
 * Abar^T Abar. So both cases are lifted by sqrt(mass of the row / mass of its lump), with masses
 * summed in A or in W. Signed matrices (and entries whose squares leave
 * the range of doubles) are not lumped; nor are normalised ones without two rows or columns of the
 * same pattern, which saves the square; nor Gram forms, whose rows and columns keep one order.
 */
#include <math.h>
#include <string.h>

#include "base/ints.h"
#include "base/mem.h"
#include "base/reals.h"
#include "cooc/compensated_private.h"
#include "cooc/lump_private.h"
#include "cooc/reduce.h"
#include "cooc/spectrum_private.h"

void cs_reduction_free(cs_reduction *r)
{
    if (!r->shared) {
        if (!r->a.gram) {
            cs_csr_free(&r->at);
        }
        cs_csr_free(&r->a);
    }
    cs_pool_free(&r->pool);
    *r = (cs_reduction){0};
}

/* Whether the entrywise square keeps the matrix: no sign to lose, no overflow or underflow. */
static bool squares_keep(const cs_csr_entries *all)
{
    return !all->negative && all->least >= 1e-140 && all->largest <= 1e140;
}

/* Items 0..n-1 with group[i] >= 0 in the order of their groups (stable): list (at least n items),
 * and the starts of count + 1 groups in `start` (count + 2, zeros). */
static void sort_by_group(const int64_t *group, int64_t n, int64_t count, int64_t *list,
                          int64_t *start)
{
    int64_t *next = start + 1; /* group g is filled at next[g], which ends as start[g + 1] */
    for (int64_t i = 0; i < n; ++i) {
        if (group[i] >= 0) {
            ++next[group[i] + 1];
        }
    }
    cs_starts(count, next);
    for (int64_t i = 0; i < n; ++i) {
        if (group[i] >= 0) {
            list[next[group[i]]++] = i;
        }
    }
}

/* Weights of each block scaled to sum 1. */
static void scale_blocks(double *weight, const int64_t *start, int64_t count)
{
    for (int64_t b = 0; b < count; ++b) {
        double sum = 0, lost = 0; /* rows and columns must agree on the total to the last digits */
        for (int64_t i = start[b]; i < start[b + 1]; ++i) {
            cs_add_compensated(&sum, &lost, weight[i]);
        }
        cs_divide(start[b + 1] - start[b], sum + lost, weight + start[b]);
    }
}

/* Orders the lumps of one side by their components and fills start, of, list and list_start;
 * order[i]: the lump that comes to place i, place[]: the inverse. */
static cs_status order_side(const cs_lumping *l, const cs_components *c, cs_side side,
                            int64_t *order, int32_t *place, cs_reduction *r)
{
    const int64_t *component = side == CS_LEFT ? c->row : c->col, n = l->size[side];
    const int64_t lumps = side == CS_LEFT ? l->a.rows : l->a.cols;
    const int32_t *lump = l->lump[side];
    cs_reduction_side *s = &r->side[side];
    cs_pool pool = {0};
    int64_t *member = cs_pool_take(&pool, n, sizeof *member); /* component of each row */
    s->start = cs_pool_take(&r->pool, r->count + 2, sizeof *s->start);
    CS_POOL_FIELDS(&r->pool, n, s, of, lift, list);
    s->list_start = cs_pool_take(&r->pool, r->count + 2, sizeof *s->list_start);
    cs_status status = pool.status ? pool.status : r->pool.status;
    if (status == CS_OK) {
        sort_by_group(component, lumps, r->count, order, s->start);
        for (int64_t i = 0; i < lumps; ++i) {
            place[order[i]] = (int32_t)i;
        }
        for (int64_t i = 0; i < n; ++i) {
            s->of[i] = lump[i] < 0 ? -1 : place[lump[i]];
            member[i] = lump[i] < 0 ? -1 : component[lump[i]];
        }
        sort_by_group(member, n, r->count, s->list, s->list_start);
    }
    cs_pool_free(&pool);
    return status;
}

/* Orders rows and columns by block: both sides but weights and lifts, and `a`, not yet normalised,
 * which takes that of the lumping over; where the input stays as it is, its Abar, if available
 * (`as_it_is`), is shared in place of a copy. A row's columns share its component and a component's
 * columns keep their order, so columns still ascend. */
static cs_status order_blocks(cs_lumping *l, const cs_components *c, const cs_csr *as_it_is,
                              cs_reduction *r)
{
    cs_pool pool = {0};
    const int64_t lumps[] = {l->a.rows, l->a.cols};
    int64_t *order[2];
    int32_t *place[2];
    cs_status status = CS_OK;
    r->count = c->count;
    for (cs_side t = CS_LEFT; t <= CS_RIGHT && status == CS_OK; ++t) {
        order[t] = cs_pool_take(&pool, lumps[t], sizeof *order[t]);
        place[t] = cs_pool_take(&pool, lumps[t], sizeof *place[t]);
        status = pool.status ? pool.status : order_side(l, c, t, order[t], place[t], r);
    }
    const bool in_order = c->count == 1;
    if (status == CS_OK && in_order && l->same && as_it_is) {
        r->shared = true;
        r->a = *as_it_is;
    } else if (status == CS_OK && in_order && l->same) {
        status = cs_csr_copy(&l->a, &r->a);
    } else if (status == CS_OK && in_order) {
        r->a = l->a;
        l->a = (cs_csr){0};
    } else if (status == CS_OK) {
        status = cs_csr_select(&l->a, l->a.rows, order[CS_LEFT], place[CS_RIGHT], l->a.cols, &r->a);
    }
    cs_pool_free(&pool);
    return status;
}

typedef enum { VALUES_COUNTS, VALUES_SQUARES, VALUES_KEPT } value_kind;

/* Turns the ordered lumped matrix into Abar and fills lifts, sqrt(mass / mass of the lump), and
 * weights. w: what was lumped, its masses those of the system where they are counts; VALUES_KEPT:
 * every row and column is its own lump, as it is where the matrix is shared. */
static cs_status normalise_reduced(const cs_csr *w, value_kind kind, const cs_system *system,
                                   cs_reduction *r)
{
    cs_pool pool = {0};
    const int64_t size[] = {w->rows, w->cols}, lumps[] = {r->a.rows, r->a.cols};
    const bool alone = kind == VALUES_KEPT || r->shared;
    const double *mass[2] = {system->row_mass, system->col_mass};
    double *weight[2], *square[2];
    for (int t = 0; t < 2; ++t) {
        weight[t] = cs_pool_take(r->known ? &r->pool : &pool, lumps[t], sizeof *weight[t]);
        square[t] = kind == VALUES_SQUARES ? cs_pool_take(&pool, size[t], sizeof *square[t]) : NULL;
    }
    cs_status status = pool.status ? pool.status : r->pool.status;
    if (status == CS_OK && kind == VALUES_SQUARES) {
        status = cs_masses(w, square[0], square[1]);
        mass[0] = square[0];
        mass[1] = square[1];
    }
    if (status == CS_OK && !alone) status = cs_masses(&r->a, weight[0], weight[1]);
    for (int t = 0; t < 2 && status == CS_OK; ++t) {
        cs_reduction_side *s = &r->side[t];
        for (int64_t i = 0; i < size[t]; ++i) {
            s->lift[i] = s->of[i] < 0 ? 0 : alone ? 1 : sqrt(mass[t][i] / weight[t][s->of[i]]);
        }
        if (kind == VALUES_COUNTS && r->shared) {
            memcpy(weight[t], mass[t], (size_t)size[t] * sizeof *weight[t]);
        }
    }
    if (status == CS_OK && !alone && kind == VALUES_COUNTS)
        status = cs_divide_by_roots(&r->a, weight[0], weight[1]);
    for (int64_t e = 0;
         status == CS_OK && !alone && kind == VALUES_SQUARES && e < cs_csr_nnz(&r->a); ++e) {
        r->a.val[e] = sqrt(r->a.val[e]);
    }
    for (int t = 0; t < 2 && status == CS_OK && r->known; ++t) {
        r->side[t].weight = weight[t];
        scale_blocks(weight[t], r->side[t].start, r->count);
    }
    cs_pool_free(&pool);
    return status;
}

/* Whether the reduced matrix has the entries of Abar in their places. */
static bool same_pattern(const cs_csr *a, const cs_csr *b)
{
    return a->rows == b->rows && a->cols == b->cols && cs_csr_nnz(a) == cs_csr_nnz(b) &&
           memcmp(a->ptr, b->ptr, (size_t)(a->rows + 1) * sizeof *a->ptr) == 0 &&
           memcmp(a->col, b->col, (size_t)cs_csr_nnz(a) * sizeof *a->col) == 0;
}

static bool all_in_place(const int32_t *of, int64_t n)
{
    for (int64_t i = 0; i < n; ++i) {
        if (of[i] != i) {
            return false;
        }
    }
    return true;
}

cs_status cs_reduction_transpose(const cs_csr *abar, cs_csr *abar_t, cs_reduction *r)
{
    cs_status status = CS_OK;
    const bool own = !r->shared;
    r->shared =
        !own || (all_in_place(r->side[CS_LEFT].of, abar->rows) &&
                 all_in_place(r->side[CS_RIGHT].of, abar->cols) && same_pattern(abar, &r->a));
    r->a.gram = abar->gram;
    if (r->shared && own) { /* one matrix in memory, not two that differ by rounding */
        cs_csr_free(&r->a);
    } else if (!r->shared && abar->gram) {
        r->at = r->a;
    } else if (!r->shared) {
        status = cs_csr_transpose(&r->a, &r->at);
    }
    if (r->shared && abar->gram) {
        *abar_t = *abar;
    } else if (status == CS_OK) {
        status = cs_csr_transpose(abar, abar_t);
    }
    if (r->shared) {
        r->a = *abar;
        r->at = status == CS_OK ? *abar_t : (cs_csr){0};
    }
    return status;
}

/* One block holding everything. */
static void join_blocks(cs_components *c, int64_t rows, int64_t cols)
{
    memset(c->row, 0, (size_t)rows * sizeof *c->row);
    memset(c->col, 0, (size_t)cols * sizeof *c->col);
    c->count = 1;
}

cs_status cs_reduce(const cs_csr *a, const cs_spectrum_options *options, cs_system *system)
{
    cs_reduction r = {0};
    cs_lumping l = {0};
    cs_components c = {0};
    cs_csr squares = {0};
    const cs_csr *w = a;
    cs_status status = CS_OK;
    bool zeros = system->entries.count < cs_csr_nnz(a);
    bool lumps = !options->no_reduction && !a->gram;
    value_kind kind = !options->normalised                      ? VALUES_COUNTS
                      : lumps && squares_keep(&system->entries) ? VALUES_SQUARES
                                                                : VALUES_KEPT;
    if (kind == VALUES_SQUARES && !zeros) {
        bool any = true;
        status = cs_lump_may_find(a, &any);
        kind = any ? kind : VALUES_KEPT;
    }
    if (status == CS_OK && kind == VALUES_SQUARES) {
        status = cs_csr_copy(a, &squares);
        for (int64_t e = 0; e < cs_csr_nnz(&squares); ++e) {
            squares.val[e] *= squares.val[e];
        }
        w = &squares;
    }
    bool lumped = kind != VALUES_KEPT && lumps;
    r.known = kind == VALUES_COUNTS && !options->no_reduction;
    if (status == CS_OK)
        status = cs_lump_checked(w, zeros, lumped ? CS_LUMP_TOLERANCE : CS_LUMP_NOTHING, &l);
    if (status == CS_OK) status = cs_components_of(&l.a, &c);
    system->components = c.count;
    if (status == CS_OK && options->no_reduction) join_blocks(&c, l.a.rows, l.a.cols);
    const cs_csr *as_it_is = kind == VALUES_COUNTS ? &system->own : kind == VALUES_KEPT ? a : NULL;
    if (status == CS_OK) status = order_blocks(&l, &c, as_it_is, &r);
    if (status == CS_OK) status = normalise_reduced(w, kind, system, &r);
    if (status != CS_OK) cs_reduction_free(&r);
    system->reduced = r;
    cs_lumping_free(&l);
    cs_components_free(&c);
    cs_csr_free(&squares);
    return status;
}
