/* A sum of outer products with fewer rows.
 *
 * A solver reads B and E some thirty times. Rows of one entry are all on the diagonal. A language
 * has many sums with two entries on few pairs of columns. The rows of two entries on columns u and
 * v become one: with S_uu, S_uv, S_vv the sums of products of their entries, its entries are
 *
 *   p = sqrt(S_uv sqrt(S_uu / S_vv)),   q = sqrt(S_uv sqrt(S_vv / S_uu)),
 *
 * and the diagonal has S_uu - p^2 and S_vv - q^2 besides, which are not negative by Cauchy and
 * Schwarz. The others are sorted by their last column: what a product fetches of a rare column it
 * then fetches once, while the frequent ones stay in the cache.
 *
 * Limits: the same matrix except for rounding of its entries, each some units in the last place. */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "linalg/signed_gram_private.h"

/* Two entries, by the second's column. */
typedef struct {
    int32_t col;
    double x, y;
} pair;

/* Sums over the pairs of one second column, by the first. */
typedef struct {
    double *xx, *xy, *yy;
    int64_t *touched, count;
} pair_sums;

typedef struct {
    const cs_csr *a;
    double sign, *diagonal;
    int64_t *longer,
        *pairs; /* cols + 1: starts by last column, of rows that stay, of those that are added */
    int64_t *order; /* rows that stay */
    pair *pair;
} sorter;

/* Rows of two entries that are added to others: their squares are numbers of full precision. */
static bool is_pair(const cs_csr *a, int64_t begin, int64_t n)
{
    const double least = 0x1p-400, most = 0x1p400, *x = a->val + begin;
    return n == 2 && x[0] > least && x[0] < most && x[1] > least && x[1] < most;
}

static void count_rows(sorter *s, int64_t *entries)
{
    const cs_csr *a = s->a;
    for (int64_t r = 0; r < a->rows; ++r) {
        const int64_t begin = a->ptr[r], n = a->ptr[r + 1] - begin;
        if (n == 1) {
            s->diagonal[a->col[begin]] += s->sign * a->val[begin] * a->val[begin];
        } else if (n > 1) {
            ++(is_pair(a, begin, n) ? s->pairs : s->longer)[a->col[begin + n - 1] + 1];
            *entries += n;
        }
    }
    for (int64_t v = 0; v < a->cols; ++v) {
        s->pairs[v + 1] += s->pairs[v];
        s->longer[v + 1] += s->longer[v];
    }
}

/* Puts each row where the starts say, which become ends. */
static void place_rows(sorter *s)
{
    const cs_csr *a = s->a;
    for (int64_t r = 0; r < a->rows; ++r) {
        const int64_t begin = a->ptr[r], n = a->ptr[r + 1] - begin;
        const int32_t last = n > 1 ? a->col[begin + n - 1] : 0;
        if (is_pair(a, begin, n)) {
            s->pair[s->pairs[last]++] = (pair){a->col[begin], a->val[begin], a->val[begin + 1]};
        } else if (n > 1) {
            s->order[s->longer[last]++] = r;
        }
    }
}

static void add_pair(pair_sums *t, const pair *p)
{
    if (t->xy[p->col] == 0) {
        t->touched[t->count++] = p->col;
    }
    t->xx[p->col] += p->x * p->x;
    t->xy[p->col] += p->x * p->y;
    t->yy[p->col] += p->y * p->y;
}

/* A row for each first column, which are cleared. */
static void put_pairs(sorter *s, pair_sums *t, int64_t v, cs_csr *out)
{
    for (int64_t i = 0; i < t->count; ++i) {
        const int64_t u = t->touched[i], at = out->ptr[out->rows];
        const double ratio = sqrt(t->xx[u] / t->yy[u]), p = sqrt(t->xy[u] * ratio),
                     q = sqrt(t->xy[u] / ratio);
        s->diagonal[u] += s->sign * (t->xx[u] - p * p);
        s->diagonal[v] += s->sign * (t->yy[u] - q * q);
        out->col[at] = (int32_t)u;
        out->val[at] = p;
        out->col[at + 1] = (int32_t)v;
        out->val[at + 1] = q;
        out->ptr[++out->rows] = at + 2;
        t->xx[u] = t->xy[u] = t->yy[u] = 0;
    }
    t->count = 0;
}

static void put_row(const cs_csr *a, int64_t row, cs_csr *out)
{
    const int64_t at = out->ptr[out->rows], begin = a->ptr[row], n = a->ptr[row + 1] - begin;
    memcpy(out->col + at, a->col + begin, (size_t)n * sizeof *a->col);
    memcpy(out->val + at, a->val + begin, (size_t)n * sizeof *a->val);
    out->ptr[++out->rows] = at + n;
}

/* One of B and E; sign: that of its products. */
static cs_status compact(const cs_csr *a, double sign, double *diagonal, cs_csr *out)
{
    cs_pool pool = {0};
    sorter s = {.a = a, .sign = sign, .diagonal = diagonal};
    pair_sums t = {.count = 0};
    int64_t entries = 0;
    CS_POOL_FIELDS(&pool, a->cols, &t, xx, xy, yy, touched);
    CS_POOL_FIELDS(&pool, a->cols + 1, &s, longer, pairs);
    cs_status status = pool.status;
    if (status == CS_OK) {
        count_rows(&s, &entries);
        s.order = cs_pool_take(&pool, s.longer[a->cols], sizeof *s.order);
        s.pair = cs_pool_take(&pool, s.pairs[a->cols], sizeof *s.pair);
        status = pool.status;
    }
    if (status == CS_OK)
        status = cs_csr_init(out, s.longer[a->cols] + s.pairs[a->cols], a->cols, entries);
    if (status == CS_OK) {
        place_rows(&s);
        out->rows = 0; /* which grow */
        for (int64_t v = 0, r = 0, p = 0; v < a->cols; ++v) {
            for (; r < s.longer[v]; ++r) {
                put_row(a, s.order[r], out);
            }
            for (; p < s.pairs[v]; ++p) {
                add_pair(&t, &s.pair[p]);
            }
            put_pairs(&s, &t, v, out);
        }
    }
    cs_pool_free(&pool);
    return status;
}

cs_status cs_signed_gram_compact(const cs_signed_gram *p, cs_signed_gram *out)
{
    const int64_t cols = p->plus.cols;
    cs_signed_gram c = {.diagonal = cs_alloc(cols, sizeof *c.diagonal)};
    if (!c.diagonal) return CS_ERR_MEMORY;
    memcpy(c.diagonal, p->diagonal, (size_t)cols * sizeof *c.diagonal);
    cs_status status = compact(&p->plus, 1, c.diagonal, &c.plus);
    if (status == CS_OK) status = compact(&p->minus, -1, c.diagonal, &c.minus);
    return CS_DELIVER(status, out, c, cs_signed_gram_free);
}
