/* Connected components of the bipartite graph of a matrix, by union-find.
 *
 * Method: a row only joins the columns it holds, so the forest is kept over the columns alone (it
 * stays in cache) and a row's component is that of its first column. Path halving with linking to
 * the lower index: O(nnz log_{1 + nnz/cols} cols) at worst (Tarjan & van Leeuwen, J. ACM 31, 1984),
 * in practice one probe an edge. Stored zeros are no edges.
 */
#include "cooc/reduce.h"

#include <math.h>
#include <string.h>

#include "base/auto.h"
#include "base/mem.h"
#include "cooc/compensated_private.h"

void cs_components_free(cs_components *components)
{
    cs_pool_free(&components->pool);
    *components = (cs_components){0};
}

/* Joins the columns of every row; row[i] receives one column of row i, -1 when it is empty. */
static void join(const cs_csr *a, int32_t *parent, int64_t *row)
{
    for (int64_t i = 0; i < a->rows; ++i) {
        int32_t root = -1;
        for (int64_t e = a->ptr[i]; e < a->ptr[i + 1]; ++e) {
            if (a->val[e] == 0) {
                continue;
            }
            int32_t other = cs_forest_root(parent, a->col[e]);
            if (root < 0 || other == root) {
                root = other;
            } else if (other < root) {
                parent[root] = other;
                root = other;
            } else {
                parent[other] = root;
            }
        }
        row[i] = root;
    }
}

/* Numbers the components by their first row and fills row and col; returns their number. number:
 * scratch, a value a column. */
static int64_t label(int32_t *parent, int64_t *number, cs_components *c, int64_t rows, int64_t cols)
{
    int64_t count = 0;
    memset(number, 0xff, (size_t)cols * sizeof *number); /* -1 */
    for (int64_t i = 0; i < rows; ++i) {
        if (c->row[i] >= 0) {
            int32_t root = cs_forest_root(parent, (int32_t)c->row[i]);
            if (number[root] < 0) {
                number[root] = count++;
            }
            c->row[i] = number[root];
        }
    }
    for (int64_t j = 0; j < cols; ++j) {
        c->col[j] = number[cs_forest_root(parent, (int32_t)j)];
    }
    return count;
}

static void count_sizes(const int64_t *component, int64_t n, int64_t *size)
{
    for (int64_t i = 0; i < n; ++i) {
        if (component[i] >= 0) {
            ++size[component[i]];
        }
    }
}

cs_status cs_components_of(const cs_csr *a, cs_components *out)
{
    cs_components c = {0};
    CS_AUTO(cs_pool) pool = {0};
    int64_t *number = cs_pool_take(&pool, a->cols, sizeof *number);
    int32_t *parent = cs_pool_take(&pool, a->cols, sizeof *parent);
    c.row = cs_pool_take(&c.pool, a->rows, sizeof *c.row);
    c.col = cs_pool_take(&c.pool, a->cols, sizeof *c.col);
    if (pool.status == CS_OK && c.pool.status == CS_OK) {
        for (int64_t j = 0; j < a->cols; ++j) {
            parent[j] = (int32_t)j;
        }
        join(a, parent, c.row);
        c.count = label(parent, number, &c, a->rows, a->cols);
        CS_POOL_FIELDS(&c.pool, c.count, &c, rows, cols);
    }
    if (c.cols) {
        count_sizes(c.row, a->rows, c.rows);
        count_sizes(c.col, a->cols, c.cols);
    }
    return CS_DELIVER(c.cols ? CS_OK : CS_ERR_MEMORY, out, c, cs_components_free);
}

cs_status cs_components_number(const cs_csr *a, int64_t *out)
{
    CS_AUTO(cs_components) parts = {0};
    cs_status status = cs_components_of(a, &parts);
    if (status == CS_OK) *out = parts.count;
    return status;
}

cs_csr_entries cs_csr_entries_of(const cs_csr *a)
{
    cs_csr_entries all = {.least = INFINITY};
    for (int64_t e = 0; e < cs_csr_nnz(a); ++e) {
        double size = fabs(a->val[e]);
        if (size > 0) {
            ++all.count;
            all.negative |= a->val[e] < 0;
            all.least = size < all.least ? size : all.least;
            all.largest = size > all.largest ? size : all.largest;
        }
    }
    return all;
}

cs_status cs_masses(const cs_csr *a, double *row, double *col)
{
    CS_AUTO_FREE double *lost = cs_calloc(a->cols, sizeof *lost);
    if (!lost) return CS_ERR_MEMORY;
    memset(col, 0, (size_t)a->cols * sizeof *col);
    for (int64_t i = 0; i < a->rows; ++i) {
        double sum = 0, rest = 0;
        for (int64_t e = a->ptr[i]; e < a->ptr[i + 1]; ++e) {
            cs_add_compensated(&sum, &rest, a->val[e]);
            cs_add_compensated(&col[a->col[e]], &lost[a->col[e]], a->val[e]);
        }
        row[i] = sum + rest;
    }
    for (int64_t j = 0; j < a->cols; ++j) {
        col[j] += lost[j];
    }
    return CS_OK;
}
