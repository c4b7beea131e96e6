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
 *
 * Abar = A / sqrt(P_C P_G) and its marginals (LA 3.2).
 *
 * Method: entries are divided by the square roots of their row and column sums one after the other,
 * so that no product overflows; the total mass cancels. Sums are compensated (Neumaier 1974): a
 * column of 500,000 entries keeps its last digits, on which the residual of the closed-form vectors
 * rests.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/auto.h"
#include "base/ints.h"
#include "base/mem.h"
#include "base/threads.h"
#include "base/vector_ops.h"
#include "cooc/compensated_private.h"
#include "cooc/reduce.h"
#include "cooc/spectrum_stages_private.h"

enum { BOUND_STEPS = 30 };

/* Masses, in place, by their sum. */
static void scale_to_one(int64_t n, double *mass)
{
    double sum = cs_sum(n, mass);
    if (sum > 0) cs_divide(n, sum, mass);
}

typedef struct {
    cs_csr *a;
    const double *row; /* sums */
    double *col;       /* roots of sums */
} division;

enum { DIVIDED = 4096 }; /* rows of an item */

static cs_status divide_rows(void *ctx, int64_t item)
{
    const division *d = ctx;
    int64_t first = item * DIVIDED, end = cs_least(first + DIVIDED, d->a->rows);
    for (int64_t i = first; i < end; ++i) {
        const double root = sqrt(d->row[i]);
        for (int64_t e = d->a->ptr[i]; e < d->a->ptr[i + 1]; ++e) {
            double x = d->a->val[e];
            d->a->val[e] = x > 0 ? x / root / d->col[d->a->col[e]] : 0;
        }
    }
    return CS_OK;
}

/* Nonnegative entries divided by the square roots of these sums, one after the other; 0 stays 0. */
static cs_status divide_by_roots(cs_csr *a, const double *row, const double *col)
{
    division d = {a, row, cs_alloc(a->cols, sizeof *d.col)};
    if (!d.col) return CS_ERR_MEMORY;
    for (int64_t j = 0; j < a->cols; ++j) {
        d.col[j] = sqrt(col[j]);
    }
    cs_status status = cs_parallel((a->rows + DIVIDED - 1) / DIVIDED, 0, divide_rows, &d);
    cs_free(d.col);
    return status;
}

/* Abar of a matrix that was checked, and its marginals, not yet scaled to one. */
static cs_status normalise(const cs_csr *a, cs_csr *abar, double *row, double *col)
{
    cs_status status = cs_masses(a, row, col);
    if (status == CS_OK && !isfinite(cs_sum(a->rows, row)))
        status = cs_fail(CS_ERR_INPUT, "the sum of the matrix overflows");
    if (status == CS_OK) status = cs_csr_copy(a, abar);
    return status ? status : divide_by_roots(abar, row, col);
}

cs_status cs_normalise(const cs_csr *a, cs_csr *abar, double *row_mass, double *col_mass)
{
    CS_AUTO(cs_pool) pool = {0};
    double *row = row_mass ? row_mass : cs_pool_take(&pool, a->rows, sizeof *row);
    double *col = col_mass ? col_mass : cs_pool_take(&pool, a->cols, sizeof *col);
    cs_status status = pool.status ? pool.status : cs_csr_check(a, true);
    if (status == CS_OK) status = normalise(a, abar, row, col);
    if (status == CS_OK) {
        scale_to_one(a->rows, row);
        scale_to_one(a->cols, col);
    }
    return status;
}

static void reduction_free(cs_reduction *r)
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
    CS_AUTO(cs_pool) pool = {0};
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
    return status;
}

/* Orders rows and columns by block: both sides but weights and lifts, and `a`, not yet normalised,
 * which takes that of the lumping over; where the input stays as it is, its Abar, if available
 * (`as_it_is`), is shared in place of a copy. A row's columns share its component and a component's
 * columns keep their order, so columns still ascend. */
static cs_status order_blocks(cs_lumping *l, const cs_components *c, const cs_csr *as_it_is,
                              cs_reduction *r)
{
    CS_AUTO(cs_pool) pool = {0};
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
    return status;
}

typedef enum { VALUES_COUNTS, VALUES_SQUARES, VALUES_KEPT } value_kind;

/* The part of rank one after the reductions, and, unless it is shared, the sparse matrix. */
static cs_status form_reduced(const cs_matrix_form *form, const cs_system *system, cs_reduction *r)
{
    bool term = false;
    if (r->shared) {
        r->term[CS_LEFT] = system->term[CS_LEFT];
        r->term[CS_RIGHT] = system->term[CS_RIGHT];
        return CS_OK;
    }
    r->term[CS_LEFT] = cs_pool_take(&r->pool, r->a.rows, sizeof **r->term);
    r->term[CS_RIGHT] = cs_pool_take(&r->pool, r->a.cols, sizeof **r->term);
    if (r->pool.status != CS_OK) return r->pool.status;
    cs_status status =
        cs_matrix_form_apply(form, &r->a, r->term[CS_LEFT], r->term[CS_RIGHT], &term);
    if (status == CS_OK) cs_matrix_form_scale(system->exponent, &r->a, r->term[CS_LEFT]);
    return status;
}

/* Turns the ordered lumped matrix into Abar and fills lifts, sqrt(mass / mass of the lump), and
 * weights. w: what was lumped, its masses those of the system where they are counts; VALUES_KEPT:
 * every row and column is its own lump, as it is where the matrix is shared. */
static cs_status normalise_reduced(const cs_csr *w, value_kind kind,
                                   const cs_spectrum_options *options, const cs_system *system,
                                   cs_reduction *r)
{
    CS_AUTO(cs_pool) pool = {0};
    const int64_t size[] = {w->rows, w->cols}, lumps[] = {r->a.rows, r->a.cols};
    const bool alone = kind == VALUES_KEPT || r->shared;
    const bool formed = system->term[CS_LEFT] != NULL;
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
    if (status == CS_OK && formed) status = form_reduced(options->form, system, r);
    if (status == CS_OK && !alone && !formed && kind == VALUES_COUNTS)
        status = divide_by_roots(&r->a, weight[0], weight[1]);
    for (int64_t e = 0;
         status == CS_OK && !alone && kind == VALUES_SQUARES && e < cs_csr_nnz(&r->a); ++e) {
        r->a.val[e] = sqrt(r->a.val[e]);
    }
    for (int t = 0; t < 2 && status == CS_OK && r->known; ++t) {
        r->side[t].weight = weight[t];
        scale_blocks(weight[t], r->side[t].start, r->count);
    }
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

/* The transposes of Abar and of the reduced matrix, which becomes Abar if it is the same. For a
 * Gram form `at` is `a`, and *abar_t equals *abar if it has no empty rows or columns. */
static cs_status transpose(const cs_csr *abar, cs_csr *abar_t, cs_reduction *r)
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

/* Fills `components` and `reduced`, `at` left empty, from A (Abar if normalised, S of a form without
 * a part of rank one), whose entries are known; for counts also Abar and the sums of rows and
 * columns, not yet scaled to one. */
static cs_status reduce(const cs_csr *a, const cs_spectrum_options *options, cs_system *system)
{
    cs_reduction r = {0};
    CS_AUTO(cs_lumping) l = {0};
    CS_AUTO(cs_components) c = {0};
    CS_AUTO(cs_csr) squares = {0};
    const cs_csr *w = a;
    cs_status status = CS_OK;
    bool zeros = system->entries.count < cs_csr_nnz(a);
    const bool formed = system->term[CS_LEFT] != NULL;
    const bool known = cs_spectrum_normalises(options);
    bool lumps =
        !options->no_reduction && !a->gram && (!formed || cs_matrix_form_lumps(options->form));
    value_kind kind = known || formed                           ? VALUES_COUNTS
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
    r.known = known && !options->no_reduction;
    if (status == CS_OK)
        status = cs_lump_checked(w, zeros, lumped ? CS_LUMP_TOLERANCE : CS_LUMP_NOTHING, &l);
    if (status == CS_OK) status = cs_components_of(&l.a, &c);
    system->components = c.count;
    if (status == CS_OK && (options->no_reduction || formed)) join_blocks(&c, l.a.rows, l.a.cols);
    const cs_csr *as_it_is = kind == VALUES_COUNTS ? &system->own : kind == VALUES_KEPT ? a : NULL;
    if (status == CS_OK) status = order_blocks(&l, &c, as_it_is, &r);
    if (status == CS_OK) status = normalise_reduced(w, kind, options, system, &r);
    if (status != CS_OK) reduction_free(&r);
    system->reduced = r;
    return status;
}

/* y := |A| x. */
static void absolute_product(const cs_csr *a, const double *x, double *y)
{
    for (int64_t i = 0; i < a->rows; ++i) {
        y[i] = 0;
        for (int64_t e = a->ptr[i]; e < a->ptr[i + 1]; ++e) {
            y[i] += fabs(a->val[e]) * x[a->col[e]];
        }
    }
}

/* Bound on the largest singular value: Collatz and Wielandt on a few steps of the power method. No
 * row or column of the reduced matrix is empty, so x stays positive until it underflows. */
cs_status cs_reduction_bound(const cs_reduction *r, double *top)
{
    CS_AUTO(cs_pool) pool = {0};
    double *x = cs_pool_take(&pool, r->a.cols, sizeof *x), best = INFINITY;
    double *w = cs_pool_take(&pool, r->a.cols, sizeof *w);
    double *y = cs_pool_take(&pool, r->a.rows, sizeof *y);
    cs_status status = pool.status;
    if (status == CS_OK) cs_fill(r->a.cols, 1, x);
    for (int step = 0; status == CS_OK && step < BOUND_STEPS; ++step) {
        double largest = 0, norm = 0;
        absolute_product(&r->a, x, y);
        absolute_product(&r->at, y, w);
        for (int64_t j = 0; j < r->a.cols; ++j) {
            largest = fmax(largest, x[j] > 0 ? w[j] / x[j] : INFINITY);
            norm = fmax(norm, w[j]);
        }
        best = fmin(best, largest);
        for (int64_t j = 0; j < r->a.cols; ++j) {
            x[j] = w[j] / norm;
        }
    }
    if (status == CS_OK) *top = sqrt(best) * (1 + 1e-9); /* sums of many terms */
    if (status == CS_OK && r->term[CS_LEFT]) {
        *top += sqrt(cs_inner(r->a.rows, r->term[CS_LEFT], r->term[CS_LEFT]) *
                     cs_inner(r->a.cols, r->term[CS_RIGHT], r->term[CS_RIGHT]));
    }
    return status;
}

cs_certificate_facts cs_reduction_facts(const cs_reduction *r)
{
    cs_certificate_facts facts = {.lumped = !r->shared};
    const cs_csr *side[] = {&r->a, &r->at};
    for (int t = 0; t < 2; ++t) {
        for (int64_t i = 0; i < side[t]->rows; ++i) {
            int64_t n = side[t]->ptr[i + 1] - side[t]->ptr[i];
            facts.longest = cs_most(facts.longest, n);
        }
    }
    for (int64_t b = 0; b < r->count; ++b) {
        facts.rank += cs_block_rank(r, b);
    }
    return facts;
}

const cs_csr *cs_system_one_pass(const cs_system *system)
{
    const cs_csr *a = system->abar, *at = &system->abar_t;
    const cs_csr *tall = a->cols <= a->rows ? a : at;
    return cs_csr_normal_pays(tall) ? tall : NULL;
}

void cs_system_free(cs_system *system)
{
    if (!system->abar || system->abar_t.ptr != system->abar->ptr) {
        cs_csr_free(&system->abar_t);
    }
    cs_csr_free(&system->own);
    CS_FREE_FIELDS(system, row_mass, col_mass, term[CS_LEFT], term[CS_RIGHT]);
    reduction_free(&system->reduced);
    *system = (cs_system){0};
}

static cs_status default_tolerance(cs_system *s)
{
    const cs_csr *tall = cs_system_one_pass(s);
    double rounding = 0;
    cs_status status = tall ? cs_csr_rounding(tall, NULL, &rounding)
                            : cs_csr_rounding(s->abar, &s->abar_t, &rounding);
    s->tol = cs_default_tolerance(rounding);
    return status;
}

/* Refuses what a form other than the normalised one excludes. */
static cs_status check_form(const cs_csr *a, const cs_spectrum_options *o)
{
    const char *why = a->gram         ? "a Gram form has only the normalised matrix"
                      : o->normalised ? "the matrix was given normalised, so its counts are unknown"
                                      : NULL;
    return why ? cs_fail(CS_ERR_USAGE, "form %s: %s", cs_matrix_form_text(o->form), why) : CS_OK;
}

cs_status cs_system_of(const cs_csr *a, const cs_spectrum_options *options, bool scaled,
                       cs_system *out)
{
    cs_system s = {0};
    const bool formed = !cs_matrix_form_is_normalised(options->form);
    cs_status status = formed ? check_form(a, options) : CS_OK;
    if (status == CS_OK) status = cs_csr_check_rows(a, options->rows, !options->normalised);
    if (status != CS_OK) return status;
    s.entries = cs_csr_entries_of(a);
    if (s.entries.count == 0) {
        return cs_fail(CS_ERR_INPUT, "the matrix (%lld x %lld) has no nonzero entry",
                       (long long)cs_spectrum_rows(a, options), (long long)a->cols);
    }
    if (formed) {
        status = cs_system_form(a, options->form, &s);
    } else if (!options->normalised) {
        s.row_mass = cs_alloc(a->rows, sizeof *s.row_mass);
        s.col_mass = cs_alloc(a->cols, sizeof *s.col_mass);
        status =
            s.row_mass && s.col_mass ? normalise(a, &s.own, s.row_mass, s.col_mass) : CS_ERR_MEMORY;
    } else if (!scaled) {
        s.exponent = cs_scale_exponent(s.entries.largest);
        s.exponent += a->gram && s.exponent % 2 != 0; /* its root is a power of two too */
    }
    if (!formed && s.exponent != 0 && (status = cs_csr_copy(a, &s.own)) == CS_OK) {
        cs_scale_down(s.exponent, &s.own);
        s.entries.least = ldexp(s.entries.least, -s.exponent);
        s.entries.largest = ldexp(s.entries.largest, -s.exponent);
        if (s.entries.least < DBL_MIN) s.entries = cs_csr_entries_of(&s.own); /* some may be 0 */
    }
    s.own.gram = a->gram;
    bool as_it_is = options->normalised && s.exponent == 0;
    s.abar = as_it_is ? a : &s.own;
    const bool counts = s.term[CS_LEFT] || cs_spectrum_normalises(options);
    if (status == CS_OK) status = reduce(counts ? a : s.abar, options, &s);
    if (status == CS_OK && !options->normalised) { /* the reduction wants sums */
        scale_to_one(a->rows, s.row_mass);
        scale_to_one(a->cols, s.col_mass);
    }
    if (status == CS_OK && a->gram) status = cs_gram_check(&s.reduced.a);
    if (status == CS_OK) status = transpose(s.abar, &s.abar_t, &s.reduced);
    s.tol = options->tol;
    if (status == CS_OK && s.tol == 0) status = default_tolerance(&s);
    if (status != CS_OK) {
        cs_system_free(&s);
        return status;
    }
    *out = s;
    out->abar = as_it_is ? a : &out->own; /* `s` goes away */
    return CS_OK;
}
