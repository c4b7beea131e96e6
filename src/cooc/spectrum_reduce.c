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
 * same pattern, which saves the square.
 */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "cooc/compensated_private.h"
#include "cooc/lump_private.h"
#include "cooc/reduce.h"
#include "cooc/spectrum_private.h"

void cs_reduction_free(cs_reduction *r)
{
    cs_free(r->row_start);
    cs_free(r->col_start);
    if (!r->shared) {
        cs_csr_free(&r->a);
        cs_csr_free(&r->at);
    }
    cs_free(r->row_weight);
    cs_free(r->col_weight);
    cs_free(r->row_of);
    cs_free(r->col_of);
    cs_free(r->row_lift);
    cs_free(r->col_lift);
    cs_free(r->row_list);
    cs_free(r->row_list_start);
    cs_free(r->col_list);
    cs_free(r->col_list_start);
    *r = (cs_reduction){0};
}

/* Numbers what is marked >= 0 in order; returns how many. */
static int64_t number_marked(int64_t *mark, int64_t n)
{
    int64_t count = 0;
    for (int64_t i = 0; i < n; ++i) {
        mark[i] = mark[i] < 0 ? -1 : count++;
    }
    return count;
}

/* Every nonempty row and column its own lump; stored zeros are dropped. */
static cs_status lump_nothing(const cs_csr *a, cs_lumping *out)
{
    cs_status status = CS_ERR_MEMORY;
    cs_lumping l = {.rows = a->rows, .cols = a->cols};
    l.row_lump = cs_alloc(a->rows, sizeof *l.row_lump);
    l.col_lump = cs_alloc(a->cols, sizeof *l.col_lump);
    if (!l.row_lump || !l.col_lump) {
        goto done;
    }
    memset(l.row_lump, 0xff, (size_t)a->rows * sizeof *l.row_lump); /* -1 */
    memset(l.col_lump, 0xff, (size_t)a->cols * sizeof *l.col_lump);
    int64_t nnz = 0;
    for (int64_t i = 0; i < a->rows; ++i) {
        for (int64_t e = a->ptr[i]; e < a->ptr[i + 1]; ++e) {
            if (a->val[e] != 0) {
                l.row_lump[i] = l.col_lump[a->col[e]] = 0;
                ++nnz;
            }
        }
    }
    int64_t rows = number_marked(l.row_lump, a->rows), cols = number_marked(l.col_lump, a->cols);
    if ((status = cs_csr_init(&l.a, rows, cols, nnz)) != CS_OK) goto done;
    int64_t n = 0;
    for (int64_t i = 0; i < a->rows; ++i) {
        for (int64_t e = a->ptr[i]; e < a->ptr[i + 1]; ++e) {
            if (a->val[e] != 0) {
                l.a.col[n] = (int32_t)l.col_lump[a->col[e]];
                l.a.val[n++] = a->val[e];
            }
        }
        if (l.row_lump[i] >= 0) {
            l.a.ptr[l.row_lump[i] + 1] = n;
        }
    }
    *out = l;
    l = (cs_lumping){0};
done:
    cs_lumping_free(&l);
    return status;
}

/* Whether the entrywise square keeps the matrix: no sign to lose, no overflow or underflow. */
static bool squares_keep(const cs_csr *a)
{
    int64_t nnz = cs_csr_nnz(a);
    for (int64_t e = 0; e < nnz; ++e) {
        double x = a->val[e];
        if (x != 0 && !(x >= 1e-140 && x <= 1e140)) {
            return false;
        }
    }
    return true;
}

/* The entrywise square. */
static cs_status square_entries(const cs_csr *a, cs_csr *out)
{
    int64_t nnz = cs_csr_nnz(a);
    cs_status status = cs_csr_init(out, a->rows, a->cols, nnz);
    if (status != CS_OK) return status;
    memcpy(out->ptr, a->ptr, (size_t)(a->rows + 1) * sizeof *a->ptr);
    memcpy(out->col, a->col, (size_t)nnz * sizeof *a->col);
    for (int64_t e = 0; e < nnz; ++e) {
        out->val[e] = a->val[e] * a->val[e];
    }
    return CS_OK;
}

/* Items 0..n-1 with group[i] >= 0 in the order of their groups (stable): list, and starts of
 * count + 1 groups. */
static cs_status sort_by_group(const int64_t *group, int64_t n, int64_t count, int64_t **list,
                               int64_t **start)
{
    *list = cs_alloc(n, sizeof **list);
    *start = cs_calloc(count + 2, sizeof **start);
    if (!*list || !*start) return CS_ERR_MEMORY;
    int64_t *next = *start + 1; /* group g is filled at next[g], which ends as start[g + 1] */
    for (int64_t i = 0; i < n; ++i) {
        if (group[i] >= 0) {
            ++next[group[i] + 1];
        }
    }
    for (int64_t g = 0; g < count; ++g) {
        next[g + 1] += next[g];
    }
    for (int64_t i = 0; i < n; ++i) {
        if (group[i] >= 0) {
            (*list)[next[group[i]]++] = i;
        }
    }
    return CS_OK;
}

/* place[list[i]] = i. */
static void invert(const int64_t *list, int64_t n, int64_t *place)
{
    for (int64_t i = 0; i < n; ++i) {
        place[list[i]] = i;
    }
}

/* The lumped matrix with its rows and columns in the given orders. A row's columns share its
 * component and a component's columns keep their order, so columns still ascend. */
static cs_status reorder(const cs_csr *a, const int64_t *row_order, const int64_t *col_place,
                         cs_csr *out)
{
    cs_status status = cs_csr_init(out, a->rows, a->cols, cs_csr_nnz(a));
    int64_t n = 0;
    for (int64_t i = 0; status == CS_OK && i < a->rows; ++i) {
        int64_t from = row_order[i];
        for (int64_t e = a->ptr[from]; e < a->ptr[from + 1]; ++e) {
            out->col[n] = (int32_t)col_place[a->col[e]];
            out->val[n++] = a->val[e];
        }
        out->ptr[i + 1] = n;
    }
    return status;
}

/* lift[X] = sqrt(mass[X] / lump_mass[of[X]]). */
static void fill_lift(const int64_t *of, const double *mass, const double *lump_mass, int64_t n,
                      double *lift)
{
    for (int64_t i = 0; i < n; ++i) {
        lift[i] = of[i] < 0 ? 0 : sqrt(mass[i] / lump_mass[of[i]]);
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
        for (int64_t i = start[b]; i < start[b + 1]; ++i) {
            weight[i] /= sum + lost;
        }
    }
}

/* From lumps to places in the reduced matrix. */
static void compose(int64_t *of, int64_t n, const int64_t *place)
{
    for (int64_t i = 0; i < n; ++i) {
        of[i] = of[i] < 0 ? -1 : place[of[i]];
    }
}

/* Orders rows and columns by block and fills a (not yet normalised), row_start, col_start, row_of,
 * col_of. Takes the lumping's maps over. */
static cs_status order_blocks(cs_lumping *l, const cs_components *c, cs_reduction *r)
{
    cs_status status = CS_ERR_MEMORY;
    int64_t *row_order = NULL, *col_order = NULL;
    int64_t *row_place = cs_alloc(l->a.rows, sizeof *row_place);
    int64_t *col_place = cs_alloc(l->a.cols, sizeof *col_place);
    if (!row_place || !col_place) {
        goto done;
    }
    if ((status = sort_by_group(c->row, l->a.rows, c->count, &row_order, &r->row_start)) != CS_OK ||
        (status = sort_by_group(c->col, l->a.cols, c->count, &col_order, &r->col_start)) != CS_OK) {
        goto done;
    }
    invert(row_order, l->a.rows, row_place);
    invert(col_order, l->a.cols, col_place);
    if (c->count == 1) { /* all in order */
        r->a = l->a;
        l->a = (cs_csr){0};
    } else if ((status = reorder(&l->a, row_order, col_place, &r->a)) != CS_OK) {
        goto done;
    }
    r->count = c->count;
    compose(l->row_lump, l->rows, row_place);
    compose(l->col_lump, l->cols, col_place);
    r->row_of = l->row_lump;
    r->col_of = l->col_lump;
    l->row_lump = l->col_lump = NULL;
done:
    cs_free(row_order);
    cs_free(col_order);
    cs_free(row_place);
    cs_free(col_place);
    return status;
}

/* The rows (columns) of the input in each block. */
static cs_status list_members(const int64_t *of, int64_t n, const int64_t *start, int64_t count,
                              int64_t reduced, int64_t **list, int64_t **list_start)
{
    int64_t *block = cs_alloc(reduced, sizeof *block), *member = cs_alloc(n, sizeof *member);
    cs_status status = block && member ? CS_OK : CS_ERR_MEMORY;
    if (status == CS_OK) {
        for (int64_t b = 0; b < count; ++b) {
            for (int64_t i = start[b]; i < start[b + 1]; ++i) {
                block[i] = b;
            }
        }
        for (int64_t i = 0; i < n; ++i) {
            member[i] = of[i] < 0 ? -1 : block[of[i]];
        }
        status = sort_by_group(member, n, count, list, list_start);
    }
    cs_free(block);
    cs_free(member);
    return status;
}

typedef enum { VALUES_COUNTS, VALUES_SQUARES, VALUES_KEPT } value_kind;

/* Lifts of 1: every row and column is its own lump. */
static cs_status keep_values(const cs_csr *a, cs_reduction *r)
{
    r->row_lift = cs_alloc(a->rows, sizeof *r->row_lift);
    r->col_lift = cs_alloc(a->cols, sizeof *r->col_lift);
    if (!r->row_lift || !r->col_lift) return CS_ERR_MEMORY;
    for (int64_t i = 0; i < a->rows; ++i) {
        r->row_lift[i] = r->row_of[i] >= 0;
    }
    for (int64_t j = 0; j < a->cols; ++j) {
        r->col_lift[j] = r->col_of[j] >= 0;
    }
    return CS_OK;
}

/* Turns the ordered lumped matrix into Abar and fills lifts and weights. w: what was lumped. */
static cs_status normalise_reduced(const cs_csr *w, value_kind kind, bool weights, cs_reduction *r)
{
    if (kind == VALUES_KEPT) {
        return keep_values(w, r);
    }
    cs_status status = CS_ERR_MEMORY;
    double *row = cs_alloc(w->rows, sizeof *row), *col = cs_alloc(w->cols, sizeof *col);
    r->row_weight = cs_alloc(r->a.rows, sizeof *r->row_weight);
    r->col_weight = cs_alloc(r->a.cols, sizeof *r->col_weight);
    r->row_lift = cs_alloc(w->rows, sizeof *r->row_lift);
    r->col_lift = cs_alloc(w->cols, sizeof *r->col_lift);
    if (!row || !col || !r->row_weight || !r->col_weight || !r->row_lift || !r->col_lift) {
        goto done;
    }
    if ((status = cs_masses(w, row, col)) != CS_OK ||
        (status = cs_masses(&r->a, r->row_weight, r->col_weight)) != CS_OK) {
        goto done;
    }
    fill_lift(r->row_of, row, r->row_weight, w->rows, r->row_lift);
    fill_lift(r->col_of, col, r->col_weight, w->cols, r->col_lift);
    for (int64_t i = 0; i < r->a.rows; ++i) {
        for (int64_t e = r->a.ptr[i]; e < r->a.ptr[i + 1]; ++e) {
            double x = r->a.val[e];
            r->a.val[e] = kind == VALUES_SQUARES
                              ? sqrt(x)
                              : x / sqrt(r->row_weight[i]) / sqrt(r->col_weight[r->a.col[e]]);
        }
    }
    if (weights) {
        scale_blocks(r->row_weight, r->row_start, r->count);
        scale_blocks(r->col_weight, r->col_start, r->count);
    } else {
        cs_free(r->row_weight);
        cs_free(r->col_weight);
        r->row_weight = r->col_weight = NULL;
    }
done:
    cs_free(row);
    cs_free(col);
    return status;
}

/* Whether the reduced matrix has the entries of Abar in their places. */
static bool same_pattern(const cs_csr *a, const cs_csr *b)
{
    return a->rows == b->rows && a->cols == b->cols && cs_csr_nnz(a) == cs_csr_nnz(b) &&
           memcmp(a->ptr, b->ptr, (size_t)(a->rows + 1) * sizeof *a->ptr) == 0 &&
           memcmp(a->col, b->col, (size_t)cs_csr_nnz(a) * sizeof *a->col) == 0;
}

static bool all_in_place(const int64_t *of, int64_t n)
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
    r->shared = all_in_place(r->row_of, abar->rows) && all_in_place(r->col_of, abar->cols) &&
                same_pattern(abar, &r->a);
    if (r->shared) { /* one matrix in memory, not two that differ by rounding */
        cs_csr_free(&r->a);
    } else {
        status = cs_csr_transpose(&r->a, &r->at);
    }
    status = status ? status : cs_csr_transpose(abar, abar_t);
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

cs_status cs_reduce(const cs_csr *a, const cs_spectrum_options *options, int64_t *components,
                    cs_reduction *out)
{
    cs_reduction r = {0};
    cs_lumping l = {0};
    cs_components c = {0};
    cs_csr squares = {0};
    const cs_csr *w = a;
    cs_status status = CS_OK;
    value_kind kind = !options->normalised                        ? VALUES_COUNTS
                      : !options->no_reduction && squares_keep(a) ? VALUES_SQUARES
                                                                  : VALUES_KEPT;
    if (kind == VALUES_SQUARES) {
        bool any = true;
        status = cs_lump_may_find(a, &any);
        kind = any ? kind : VALUES_KEPT;
    }
    if (status == CS_OK && kind == VALUES_SQUARES) {
        status = square_entries(a, &squares);
        w = &squares;
    }
    if (status == CS_OK)
        status = kind == VALUES_KEPT || options->no_reduction ? lump_nothing(w, &l)
                                                              : cs_lump_checked(w, 0, &l);
    if (status != CS_OK || (status = cs_components_of(&l.a, &c)) != CS_OK) goto done;
    *components = c.count;
    if (options->no_reduction) {
        join_blocks(&c, l.a.rows, l.a.cols);
    }
    bool weights = kind == VALUES_COUNTS && !options->no_reduction;
    if ((status = order_blocks(&l, &c, &r)) != CS_OK ||
        (status = normalise_reduced(w, kind, weights, &r)) != CS_OK ||
        (status = list_members(r.row_of, a->rows, r.row_start, r.count, r.a.rows, &r.row_list,
                               &r.row_list_start)) != CS_OK ||
        (status = list_members(r.col_of, a->cols, r.col_start, r.count, r.a.cols, &r.col_list,
                               &r.col_list_start)) != CS_OK) {
        goto done;
    }
    *out = r;
    r = (cs_reduction){0};
done:
    cs_reduction_free(&r);
    cs_lumping_free(&l);
    cs_components_free(&c);
    cs_csr_free(&squares);
    return status;
}
