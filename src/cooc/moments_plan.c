/* In which order the exact fourth moment takes rows and columns, and what that costs.
 *
 * Method. A vertex v with d entries, k of them on vertices before it, is the centre of
 *
 *   k d - k (k - 1) / 2
 *
 * wedges (u, v, w), u before v, w on u's side and not before u: the multiply-adds of the walk.
 * Three orders are compared: all columns first, which is the Gram matrix of the columns, sum_X r (r
 * + 1) / 2; all rows first, that of the rows; and by falling degree, at most the sum over the
 * entries of the smaller of their two degrees (Chiba and Nishizeki, SIAM J. Comput. 14, 1985), so
 * that neither a token in most rows nor a row of most tokens costs its square.
 *
 * Eight neighbours in rank share a walk where they mostly meet the same centres: where the share of
 * all wedge ends that they lie on, sum_v d_v over their centres v in units of nnz, is a quarter. */
#include "base/ints.h"
#include "base/mem.h"
#include "cooc/moments_private.h"

static cs_status side_init(cs_walk_side *s, int64_t n, const char *what, cs_pool *pool)
{
    if (n > INT32_MAX) {
        return cs_fail(CS_ERR_INPUT, "%lld %s exceed 2^31 - 1, the limit of the fourth moment",
                       (long long)n, what);
    }
    *s = (cs_walk_side){.n = n,
                        .degree = cs_pool_take(pool, n, sizeof *s->degree),
                        .vertex = cs_pool_take(pool, n, sizeof *s->vertex),
                        .rank = cs_pool_take(pool, n, sizeof *s->rank),
                        .key = cs_pool_take(pool, n, sizeof *s->key)};
    return pool->status;
}

/* Ranks by falling degree, equal ones in their own order: a counting sort. */
static cs_status rank_by_degree(cs_walk_side *s)
{
    int64_t most = 0;
    for (int64_t i = 0; i < s->n; ++i) {
        most = s->degree[i] > most ? s->degree[i] : most;
    }
    int64_t *place = cs_calloc(most + 2, sizeof *place);
    if (!place) return CS_ERR_MEMORY;
    for (int64_t i = 0; i < s->n; ++i) {
        ++place[most - s->degree[i] + 1];
    }
    cs_starts(most + 1, place);
    for (int64_t i = 0; i < s->n; ++i) {
        int64_t at = place[most - s->degree[i]]++;
        s->vertex[at] = i;
        s->rank[i] = (int32_t)at;
    }
    cs_free(place);
    return CS_OK;
}

/* Panels and keys; weight: sum of the degrees of a vertex' neighbours. */
static void group_side(cs_walk_side *s, const double *weight, double nnz)
{
    while ((s->panels + 1) * CS_WALK_PANEL <= s->n) {
        double share = 0;
        for (int64_t i = 0; i < CS_WALK_PANEL; ++i) {
            share += weight[s->vertex[s->panels * CS_WALK_PANEL + i]];
        }
        if (share < 0.25 * CS_WALK_PANEL * nnz) {
            break;
        }
        ++s->panels;
    }
    for (int64_t r = 0; r < s->n; ++r) {
        s->key[r] = s->degree[s->vertex[cs_walk_first(s, cs_walk_group(s, r))]];
    }
}

static double wedges(int64_t before, int64_t degree)
{
    double k = (double)before;
    return k * (double)degree - k * (k - 1) / 2;
}

/* Chooses among the three orders; work: rows + cols zeros. */
static void choose(const cs_csr *a, cs_walk_plan *p, int64_t *work)
{
    int64_t *row = work, *col = work + a->rows;
    double rows_first = 0, cols_first = 0, by_degree = 0, nnz = (double)cs_csr_nnz(a);
    for (int64_t i = 0; i < a->rows; ++i) {
        int64_t key = p->row.key[p->row.rank[i]], before = 0;
        for (int64_t e = a->ptr[i]; e < a->ptr[i + 1]; ++e) {
            int32_t j = a->col[e];
            bool row_first = key > p->col.key[p->col.rank[j]];
            before += !row_first;
            col[j] += row_first;
        }
        row[i] = before;
    }
    for (int64_t i = 0; i < a->rows; ++i) {
        by_degree += wedges(row[i], p->row.degree[i]);
        cols_first += wedges(p->row.degree[i], p->row.degree[i]);
    }
    for (int64_t j = 0; j < a->cols; ++j) {
        by_degree += wedges(col[j], p->col.degree[j]);
        rows_first += wedges(p->col.degree[j], p->col.degree[j]);
    }
    p->from_cols = p->from_rows = true; /* else by_degree were the sum of one side */
    p->cost.multiply_adds = by_degree;
    bool rows = rows_first <= cols_first;
    if ((rows ? rows_first : cols_first) <= by_degree) { /* one list of walks instead of two */
        p->cost.multiply_adds = rows ? rows_first : cols_first;
        p->from_rows = rows && nnz > 0;
        p->from_cols = !rows && nnz > 0;
        for (int64_t r = 0; r < a->rows; ++r) {
            p->row.key[r] = rows ? INT64_MAX : -1;
        }
    }
    double lists = p->from_rows && p->from_cols ? 8 : 0;
    p->cost.bytes = (24 + lists) * nnz + 64 * ((double)a->rows + (double)a->cols);
}

cs_status cs_walk_plan_of(const cs_csr *a, cs_walk_plan *p)
{
    cs_pool pool = {0};
    int64_t nnz = cs_csr_nnz(a);
    *p = (cs_walk_plan){0};
    cs_status status = side_init(&p->row, a->rows, "rows", &p->pool);
    if (status == CS_OK) status = side_init(&p->col, a->cols, "columns", &p->pool);
    if (status != CS_OK) return status;
    double *weight = cs_pool_take(&pool, a->rows + a->cols, sizeof *weight);
    int64_t *work = cs_pool_take(&pool, a->rows + a->cols, sizeof *work);
    if ((status = pool.status) != CS_OK) goto done;
    for (int64_t i = 0; i < a->rows; ++i) {
        p->row.degree[i] = a->ptr[i + 1] - a->ptr[i];
    }
    for (int64_t e = 0; e < nnz; ++e) {
        ++p->col.degree[a->col[e]];
    }
    double *col_weight = weight + a->rows;
    for (int64_t i = 0; i < a->rows; ++i) {
        const double degree = (double)p->row.degree[i];
        int64_t sum = 0;
        for (int64_t e = a->ptr[i]; e < a->ptr[i + 1]; ++e) {
            sum += p->col.degree[a->col[e]];
            col_weight[a->col[e]] += degree;
        }
        weight[i] = (double)sum;
    }
    status = rank_by_degree(&p->row);
    if (status == CS_OK) status = rank_by_degree(&p->col);
    if (status == CS_OK) {
        group_side(&p->row, weight, (double)nnz);
        group_side(&p->col, col_weight, (double)nnz);
        choose(a, p, work);
    }
done:
    cs_pool_free(&pool);
    return status;
}

cs_status cs_moment4_cost_of(const cs_csr *a, cs_moment4_cost *out)
{
    cs_walk_plan plan;
    if (a->gram) {
        *out = (cs_moment4_cost){0};
        return CS_OK;
    }
    cs_status status = cs_walk_plan_of(a, &plan);
    if (status == CS_OK) *out = plan.cost;
    cs_pool_free(&plan.pool);
    return status;
}
