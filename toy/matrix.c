/* The full co-occurrence matrix of the toy model, over all contents.
 *
 * A row is a conditioning set S with its tokens (and the target position if `given`, or the
 * position named with probability theta). A content of class y is a tuple of m digits in 0..T-1;
 * its tokens' offsets within their positions are y T + d (disjoint) or (y+1)(d+1) - 1 (literal, LA
 * 4.1.2 as printed). Offsets of different positions never meet, so a row is (S, offsets). With
 * disjoint sets every (class, tuple) is a separate row; with literal sets all (class, tuple) of one
 * S are sorted by their offsets, compared in full: equal contents of different classes become one
 * row, and nothing is left to a hash. Entries of a row are then sums over its classes. Memory: 20
 * bytes a nonzero, known before anything is allocated. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/threads.h"
#include "base/vector_ops.h"
#include "plan/pairs.h"
#include "toy/toy.h"

enum { DEFAULT_LIMIT = 1 << 27 };

typedef struct {
    int64_t tuple;
    int64_t class;
} content;

typedef struct {
    cs_pool pool; /* of all arrays */
    const cs_toy *toy;
    cs_pairs pairs;        /* explicit sets */
    int64_t *target_base;  /* s: first column of the target position, -1 if never predicted */
    int32_t *offset_index; /* r T: index among the offsets in use, -1 if unused */
    int64_t offsets;       /* in use */
    double *weight;        /* of the events: the weights of the current rows */
    content *list;         /* contents of the current set */
    double *sum;           /* r T: a row's entries at one target position, by offset */
    cs_csr a, row_label;
    int64_t rows;
} builder;

/* Order of contents of m positions by their offsets, last position first; 0 iff equal. */
typedef struct {
    const cs_toy *toy;
    int64_t m;
} content_order;

static int compare_tokens(const content *a, const content *b, const content_order *order)
{
    int64_t x = a->tuple, y = b->tuple, tokens = order->toy->tokens;
    for (int64_t i = 0; i < order->m; ++i, x /= tokens, y /= tokens) {
        int64_t p = cs_toy_offset(order->toy, a->class, x % tokens);
        int64_t q = cs_toy_offset(order->toy, b->class, y % tokens);
        if (p != q) {
            return p < q ? -1 : 1;
        }
    }
    return 0;
}

static int compare_contents(const void *x, const void *y, void *order)
{
    const content *a = x, *b = y;
    int by_tokens = compare_tokens(a, b, order);
    return by_tokens != 0 ? by_tokens : (a->class > b->class) - (a->class < b->class);
}

/* Writes the entries of one row at one target position: `classes` contents share the row. */
static void add_entries(builder *b, const content *run, int64_t classes, int64_t target,
                        double weight)
{
    const cs_toy *toy = b->toy;
    int64_t nnz = b->a.ptr[b->rows + 1], base = b->target_base[target];
    for (int64_t c = 0; c < classes; ++c) {
        for (int64_t d = 0; d < toy->tokens; ++d) {
            b->sum[cs_toy_offset(toy, run[c].class, d)] += weight;
        }
    }
    /* One class: its offsets ascend already; several: scan the position. */
    int64_t first = classes == 1 ? cs_toy_offset(toy, run[0].class, 0) : 0;
    int64_t last = classes == 1 ? cs_toy_offset(toy, run[0].class, toy->tokens - 1)
                                : toy->classes * toy->tokens - 1;
    int64_t step = classes == 1 && toy->literal ? run[0].class + 1 : 1;
    for (int64_t o = first; o <= last; o += step) {
        if (b->sum[o] > 0) {
            b->a.col[nnz] = (int32_t)(base + b->offset_index[o]);
            b->a.val[nnz] = b->sum[o];
            b->sum[o] = 0;
            ++nnz;
        }
    }
    b->a.ptr[b->rows + 1] = nnz;
}

/* One row: contents `run` of the set, events first..last-1. */
static void add_row(builder *b, const content *run, int64_t classes, int64_t m, int64_t first,
                    int64_t last)
{
    double share = 1 / ((double)b->toy->classes * (double)cs_toy_power(b->toy->tokens, m));
    double mass = 0;
    b->a.ptr[b->rows + 1] = b->a.ptr[b->rows];
    for (int64_t e = first; e < last; ++e) {
        double weight = b->weight[e] * share;
        mass += weight;
        add_entries(b, run, classes, b->pairs.target[e], weight / (double)b->toy->tokens);
    }
    int64_t label = b->row_label.ptr[b->rows];
    for (int64_t c = 0; c < classes; ++c) {
        b->row_label.col[label] = (int32_t)run[c].class;
        b->row_label.val[label] = mass;
        ++label;
    }
    b->row_label.ptr[b->rows + 1] = label;
    ++b->rows;
}

/* All rows of the set of events first..last-1 (one event if `given`). */
static void add_set(builder *b, int64_t first, int64_t last)
{
    const cs_toy *toy = b->toy;
    int64_t m = cs_pairs_set_of(&b->pairs, first).size;
    int64_t tuples = cs_toy_power(toy->tokens, m), count = 0;
    content_order order = {.toy = toy, .m = m};
    for (int64_t y = 0; y < toy->classes; ++y) {
        for (int64_t tuple = 0; tuple < tuples; ++tuple) {
            b->list[count++] = (content){.tuple = tuple, .class = y};
        }
    }
    bool merge = m == 0 ? toy->objective.empty_prefix == CS_PREFIX_SHARED : toy->literal;
    if (merge && m > 0) {
        qsort_r(b->list, (size_t)count, sizeof *b->list, compare_contents, &order);
    }
    for (int64_t i = 0, next; i < count; i = next) {
        next = i + 1;
        while (merge && next < count && compare_tokens(&b->list[i], &b->list[next], &order) == 0) {
            ++next;
        }
        add_row(b, b->list + i, next - i, m, first, last);
    }
}

/* The rows of a set by the named position: that of event t, where the target is that of e, with
 * probability theta [t = e] + (1 - theta) P(t | S). */
static void add_position_known(builder *b, int64_t first, int64_t last)
{
    const double theta = b->toy->position_known, *w = b->pairs.weight;
    const double sum = cs_total(last - first, w + first);
    for (int64_t t = first; t < last; ++t) {
        for (int64_t e = first; e < last; ++e) {
            b->weight[e] = w[e] * ((e == t ? theta : 0) + (1 - theta) * w[t] / sum);
        }
        add_set(b, first, last);
    }
}

/* Columns: target positions in order, and within each the offsets in use. */
static cs_status number_columns(builder *b, int64_t *cols)
{
    const cs_toy *toy = b->toy;
    int64_t width = toy->classes * toy->tokens, base = 0;
    b->target_base = cs_pool_take(&b->pool, toy->length, sizeof *b->target_base);
    CS_POOL_FIELDS(&b->pool, width, b, offset_index, sum);
    if (!b->sum) return CS_ERR_MEMORY;
    for (int64_t y = 0; y < toy->classes; ++y) {
        for (int64_t d = 0; d < toy->tokens; ++d) {
            b->offset_index[cs_toy_offset(toy, y, d)] = 1;
        }
    }
    for (int64_t o = 0; o < width; ++o) {
        b->offset_index[o] = b->offset_index[o] ? (int32_t)b->offsets++ : -1;
    }
    for (int64_t k = 0; k < toy->length; ++k) {
        b->target_base[k] = -1;
    }
    for (int64_t e = 0; e < b->pairs.events; ++e) {
        b->target_base[b->pairs.target[e]] = 0;
    }
    for (int64_t k = 0; k < toy->length; ++k) {
        if (b->target_base[k] == 0) {
            b->target_base[k] = base;
            base += b->offsets;
        }
    }
    *cols = base;
    return CS_OK;
}

/* Mass of each column by class: P(k) / (r T) for each of the T tokens of a class. */
static cs_status label_columns(builder *b, int64_t cols, cs_csr *out)
{
    const cs_toy *toy = b->toy;
    int64_t n = cols / b->offsets * toy->classes * toy->tokens, at = 0;
    int64_t *row = cs_pool_take(&b->pool, n, sizeof *row);
    int64_t *col = cs_pool_take(&b->pool, n, sizeof *col);
    double *val = cs_pool_take(&b->pool, n, sizeof *val);
    double *p = cs_pool_take(&b->pool, toy->length, sizeof *p);
    if (!p) return CS_ERR_MEMORY;
    cs_pairs_targets(&b->pairs, 1, p);
    for (int64_t k = 0; k < toy->length; ++k) {
        for (int64_t i = 0; b->target_base[k] >= 0 && i < toy->classes * toy->tokens; ++i) {
            int64_t y = i / toy->tokens;
            row[at] = b->target_base[k] + b->offset_index[cs_toy_offset(toy, y, i % toy->tokens)];
            col[at] = y;
            val[at++] = p[k] / ((double)toy->classes * (double)toy->tokens);
        }
    }
    return cs_csr_from_triplets(cols, toy->classes, at, row, col, val, out);
}

/* Allocates the matrix, its row labels and the contents of the largest set, all bounded by the
 * limit on nonzeros. */
static cs_status make_space(builder *b, int64_t cols, double rows, double nnz)
{
    int64_t most = 0, contents = 0;
    for (int64_t e = 0; e < b->pairs.events; ++e) {
        if (b->toy->given || b->toy->position_known > 0 || e == 0 ||
            b->pairs.set[e] != b->pairs.set[e - 1]) {
            int64_t m = cs_pairs_set_of(&b->pairs, e).size;
            int64_t count = b->toy->classes * cs_toy_power(b->toy->tokens, m);
            most = count > most ? count : most;
            contents += count;
        }
    }
    b->list = cs_pool_take(&b->pool, most, sizeof *b->list);
    b->weight = cs_pool_take(&b->pool, b->pairs.events, sizeof *b->weight);
    if (b->weight) memcpy(b->weight, b->pairs.weight, (size_t)b->pairs.events * sizeof *b->weight);
    cs_status status = b->pool.status;
    if (status == CS_OK) status = cs_csr_init(&b->a, (int64_t)rows, cols, (int64_t)nnz);
    if (status == CS_OK)
        status = cs_csr_init(&b->row_label, (int64_t)rows, b->toy->classes, contents);
    return status;
}

static cs_status build(builder *b, double rows, double nnz, cs_labelled *out)
{
    int64_t cols;
    cs_labelled local = {.labels = b->toy->classes};
    cs_status status = number_columns(b, &cols);
    if (status == CS_OK) status = make_space(b, cols, rows, nnz);
    for (int64_t e = 0, next; status == CS_OK && e < b->pairs.events; e = next) {
        next = e + 1;
        while (!b->toy->given && next < b->pairs.events && b->pairs.set[next] == b->pairs.set[e]) {
            ++next;
        }
        if (b->toy->position_known > 0) {
            add_position_known(b, e, next);
        } else {
            add_set(b, e, next);
        }
        status = cs_interrupt_check();
    }
    if (status == CS_OK) {
        b->a.rows = b->row_label.rows = b->rows; /* merged contents leave capacity unused */
        status = label_columns(b, cols, &local.col_label);
    }
    if (status == CS_OK) {
        local.a = b->a;
        local.row_label = b->row_label;
        b->a = b->row_label = (cs_csr){0};
        *out = local;
    }
    return status;
}

cs_status cs_toy_matrix(const cs_toy *toy, int64_t limit, cs_labelled *out)
{
    double rows, cols, nnz;
    builder b = {.toy = toy};
    int64_t most = limit > 0 ? limit : DEFAULT_LIMIT;
    cs_status status = cs_toy_size(toy, &rows, &cols, &nnz);
    if (status != CS_OK) return status;
    if (!(nnz <= (double)most)) {
        return cs_fail(CS_ERR_MEMORY,
                       "enumeration of the toy model needs %.15g rows, %.15g columns and %.15g "
                       "nonzeros; the limit is %" PRId64,
                       rows, cols, nnz, most);
    }
    status = cs_pairs_of(&toy->objective, toy->length, &b.pairs);
    if (status == CS_OK) status = cs_pairs_expand(&b.pairs, most);
    if (status == CS_OK) status = build(&b, rows, nnz, out);
    cs_pairs_free(&b.pairs);
    cs_pool_free(&b.pool);
    cs_csr_free(&b.a);
    cs_csr_free(&b.row_label);
    return status;
}
