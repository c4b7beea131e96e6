/* Sums over a spectrum: the second moment from the nonzeros, the fourth by samples.
 *
 * Method of the estimate (moments.h). The samples are quadratic forms in signs; their variance is 2
 * (||R||_F^2 - sum R_ii^2), R the remainder. Householder QR keeps the known vectors, which come
 * first, and makes the sketch orthogonal to them.
 *
 * Limits: for the exact fourth moment see moments_exact.c; ask cs_moment4_cost_of first.
 *
 * In which order the exact fourth moment takes rows and columns, and what that costs.
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
#include "cooc/moments.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/auto.h"
#include "base/ints.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/threads.h"
#include "base/vector_ops.h"
#include "cooc/compensated_private.h"
#include "cooc/moments_private.h"
#include "stats/moderated.h"

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
    CS_AUTO_FREE int64_t *place = cs_calloc(most + 2, sizeof *place);
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
    CS_AUTO(cs_pool) pool = {0};
    int64_t nnz = cs_csr_nnz(a);
    *p = (cs_walk_plan){0};
    cs_status status = side_init(&p->row, a->rows, "rows", &p->pool);
    if (status == CS_OK) status = side_init(&p->col, a->cols, "columns", &p->pool);
    if (status != CS_OK) return status;
    double *weight = cs_pool_take(&pool, a->rows + a->cols, sizeof *weight);
    int64_t *work = cs_pool_take(&pool, a->rows + a->cols, sizeof *work);
    if ((status = pool.status) != CS_OK) return status;
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

enum { SAMPLE_BLOCK = CS_PANEL };
static const double LEVEL = 0.95;
static const double DEPENDENT = 1e-14; /* length of what is left of a column, relative to it */

double cs_square_norm(const cs_csr *a)
{
    double sum = 0, lost = 0;
    int64_t nnz = cs_csr_nnz(a);
    for (int64_t e = 0; e < nnz; ++e) {
        cs_add_compensated(&sum, &lost, a->val[e] * a->val[e]);
    }
    return sum + lost;
}

static double trace(const cs_csr *a)
{
    double sum = 0, lost = 0;
    for (int64_t i = 0; i < a->rows; ++i) {
        for (int64_t e = a->ptr[i]; e < a->ptr[i + 1]; ++e) {
            if (a->col[e] == i) {
                cs_add_compensated(&sum, &lost, a->val[e]);
            }
        }
    }
    return sum + lost;
}

double cs_moment2(const cs_csr *abar)
{
    return abar->gram ? trace(abar) : cs_square_norm(abar);
}

/* The input of the estimate: Q (entries here x known + sketched) and the operator. */
typedef struct {
    const cs_moment4_operator *a;
    const cs_moment4_sampling *s;
    int64_t first, held; /* entries of a right vector that are here */
    double *signs;       /* a whole vector, where only part of it is here */
    cs_dense own;        /* holds Q where there is a sketch */
    cs_pool pool;
    const cs_dense *q; /* NULL: nothing is taken out */
    int64_t known, sketch;
    cs_dense y; /* A z; with a product with A^T A the aligned panels below are used instead */
    double *from, *to, *normal_work;
} estimate;

/* x becomes the sum over the processes. */
static void sum_over(const estimate *e, int64_t n, double *x)
{
    if (e->a->comm) cs_comm_sum(e->a->comm, n, x);
}

/* Columns of z become the sign vectors `first`, `first` + 1, ... of a stream. */
static void draw_signs(const estimate *e, cs_stream stream, int64_t first, cs_dense *z)
{
    for (int64_t c = 0; c < z->cols; ++c) {
        cs_rng rng = cs_rng_at(e->s->seed, stream, (uint64_t)(first + c));
        double *to = z->data + c * z->ld;
        cs_rng_signs(&rng, e->a->cols, e->signs ? e->signs : to);
        if (e->signs && e->held > 0) {
            memcpy(to, e->signs + e->first, (size_t)e->held * sizeof *to);
        }
    }
}

/* z := (I - Q Q^T) z. */
static cs_status project_out(const estimate *e, const cs_dense *q, cs_dense *z)
{
    CS_AUTO(cs_dense) inner = {0};
    cs_status status = cs_dense_init(&inner, q->cols, z->cols);
    if (status == CS_OK) status = cs_gemm(true, false, 1, q, z, 0, &inner);
    if (status != CS_OK) return status;
    sum_over(e, inner.rows * inner.cols, inner.data);
    return cs_gemm(false, false, -1, q, &inner, 1, z);
}

/* out[c] = || column c ||^2, over all processes. */
static void column_squares(const estimate *e, const cs_dense *a, double *out)
{
    for (int64_t c = 0; c < a->cols; ++c) {
        double sum = 0, lost = 0;
        for (int64_t i = 0; i < a->rows; ++i) {
            double x = a->data[i + c * a->ld];
            cs_add_compensated(&sum, &lost, x * x);
        }
        out[c] = sum + lost;
    }
    sum_over(e, a->cols, out);
}

/* Whether A^T A z is one product: of a matrix that is here. */
static bool multiplies_at_once(const estimate *e)
{
    return !e->a->comm && e->a->op->normal && e->a->op->work_size >= 0;
}

/* Allocates A^T A z; released by release_work, also after a failure. */
static cs_status take_work(estimate *e)
{
    const cs_linop *op = e->a->op;
    if (!multiplies_at_once(e)) {
        e->y = cs_dense_in(&e->pool, op->rows, SAMPLE_BLOCK);
        return e->pool.status;
    }
    e->from = cs_csr_panel_alloc(op->cols);
    e->to = cs_csr_panel_alloc(op->cols);
    e->normal_work = cs_csr_panel_alloc((op->work_size + CS_PANEL - 1) / CS_PANEL);
    return e->from && e->to && e->normal_work ? CS_OK : CS_ERR_MEMORY;
}

static void release_work(const estimate *e)
{
    cs_free_aligned(e->from);
    cs_free_aligned(e->to);
    cs_free_aligned(e->normal_work);
}

/* z := A^T A z, at most SAMPLE_BLOCK columns. */
static cs_status apply_gram(const estimate *e, cs_dense *z)
{
    const cs_linop *op = e->a->op;
    cs_dense part = {.rows = e->y.rows, .cols = z->cols, .ld = e->y.ld, .data = e->y.data};
    cs_status status = CS_OK;
    if (multiplies_at_once(e)) {
        cs_csr_panel_put(z, 0, z->cols, e->from);
        status = cs_linop_normal(op, e->from, e->to, e->normal_work);
        if (status == CS_OK) cs_csr_panel_get(e->to, 0, z->cols, z);
    } else {
        status = cs_linop_apply(op, false, z, &part);
        if (status == CS_OK) status = cs_linop_apply(op, true, &part, z);
    }
    return status == CS_OK ? cs_interrupt_check() : status;
}

static int64_t block_at(int64_t first, int64_t all)
{
    return cs_least(all - first, SAMPLE_BLOCK);
}

/* Column j becomes orthogonal to those before it and of length 1, over all processes; 0, which takes
 * nothing out, if it depends on them. Classical Gram-Schmidt, repeated until little is left to take
 * out. dot: scratch of j + 1. */
static cs_status orthonormalise_one(const estimate *e, int64_t j, cs_dense *q, double *dot)
{
    enum { MOST_PASSES = 5 };
    double *x = q->data + j * q->ld, before = 0;
    bool again = true;
    for (int pass = 0; pass < MOST_PASSES && again; ++pass) {
        for (int64_t i = 0; i <= j; ++i) {
            dot[i] = cs_dot(e->held, q->data + i * q->ld, x);
        }
        sum_over(e, j + 1, dot);
        if (!isfinite(dot[j])) {
            e->a->comm->agreed = true;
            return cs_fail(CS_ERR_INPUT, "a sketched vector of the matrix has squared norm %g",
                           dot[j]);
        }
        double taken = 0;
        for (int64_t i = 0; i < j; ++i) {
            taken += dot[i] * dot[i];
            cs_add_multiple(e->held, -dot[i], q->data + i * q->ld, x);
        }
        before = pass == 0 ? dot[j] : before;
        again = taken > 0.01 * dot[j];
    }
    dot[j] = cs_dot(e->held, x, x);
    sum_over(e, 1, &dot[j]);
    if (dot[j] > DEPENDENT * DEPENDENT * before) {
        cs_divide(e->held, sqrt(dot[j]), x);
    } else if (e->held > 0) {
        memset(x, 0, (size_t)e->held * sizeof *x);
    }
    return CS_OK;
}

/* Columns made orthonormal; those that are known are so already. Over a group no process has the
 * whole of them. */
static cs_status orthonormalise(const estimate *e, cs_dense *q)
{
    if (!e->a->comm) {
        return cs_dense_orthonormalise(q);
    }
    CS_AUTO_FREE double *dot = cs_calloc(q->cols, sizeof *dot);
    cs_status status = dot ? CS_OK : CS_ERR_MEMORY;
    for (int64_t j = e->known; status == CS_OK && j < q->cols; ++j) {
        status = orthonormalise_one(e, j, q, dot);
    }
    return status;
}

/* Q = [V, W]: W is a basis of M S, orthogonal to V. */
static cs_status sketch(estimate *e)
{
    const cs_moment4_sampling *s = e->s;
    e->own = cs_dense_in(&e->pool, e->held, e->known + e->sketch);
    cs_status status = e->pool.status;
    if (status != CS_OK) return status;
    if (e->known > 0) {
        cs_dense_copy(s->v, &e->own);
    }
    for (int64_t i = 0; i < e->sketch && status == CS_OK; i += SAMPLE_BLOCK) {
        cs_dense z = cs_dense_columns(&e->own, e->known + i, block_at(i, e->sketch));
        draw_signs(e, CS_STREAM_SKETCH, i, &z);
        if (e->known > 0) {
            status = project_out(e, s->v, &z);
        }
        if (status == CS_OK) status = apply_gram(e, &z);
        if (status == CS_OK) status = apply_gram(e, &z);
    }
    e->q = &e->own;
    return status ? status : orthonormalise(e, &e->own);
}

/* tr Q^T M Q: the known values, and ||A^T A q||^2 for the sketched vectors. */
static cs_status low_rank(const estimate *e, cs_dense *z, double *out)
{
    double sum = 0, square[SAMPLE_BLOCK];
    cs_status status = CS_OK;
    for (int64_t i = 0; i < e->sketch && status == CS_OK; i += SAMPLE_BLOCK) {
        cs_dense q = cs_dense_columns(&e->own, e->known + i, block_at(i, e->sketch));
        cs_dense part = cs_dense_columns(z, 0, q.cols);
        memcpy(part.data, q.data, (size_t)(q.ld * q.cols) * sizeof *q.data);
        status = apply_gram(e, &part);
        if (status == CS_OK) column_squares(e, &part, square);
        for (int64_t c = 0; c < part.cols && status == CS_OK; ++c) {
            sum += square[c];
        }
    }
    for (int64_t j = e->known - 1; j >= 0; --j) {
        sum += pow(e->s->sigma[j], 4);
    }
    *out = sum;
    return status;
}

/* value[i] = ||A^T A (I - Q Q^T) z_i||^2. */
static cs_status draw_samples(const estimate *e, cs_dense *z, double *value)
{
    const cs_moment4_sampling *s = e->s;
    cs_status status = CS_OK;
    for (int64_t i = 0; i < s->samples && status == CS_OK; i += SAMPLE_BLOCK) {
        cs_dense part = cs_dense_columns(z, 0, block_at(i, s->samples));
        draw_signs(e, CS_STREAM_PROBE, i, &part);
        if (e->q) {
            status = project_out(e, e->q, &part);
        }
        if (status == CS_OK) status = apply_gram(e, &part);
        if (status == CS_OK) column_squares(e, &part, value + i);
        cs_progress_report(s->progress, "fourth moment, samples", i + part.cols, s->samples);
    }
    return status;
}

/* A part known exactly and the samples of the rest, which is no less than 0. Where Q spans every
 * direction the samples have no spread, so the interval is never narrower than the rounding of a
 * sum over rows and columns. */
static cs_sum4 summary(const estimate *e, double part, const double *value)
{
    const cs_moment4_sampling *s = e->s;
    double n = (double)s->samples, q = (double)(e->known + e->sketch), cols = (double)e->a->cols;
    double sum = cs_total(s->samples, value), square = 0;
    for (int64_t i = 0; i < s->samples; ++i) {
        square += (value[i] - sum / n) * (value[i] - sum / n);
    }
    double error = sqrt(square / (n - 1) / n), level = s->level > 0 ? s->level : LEVEL;
    double width = cs_student_width(level, (double)(s->samples - 1)) * error;
    double rounding = ((double)e->a->op->rows + cols) * DBL_EPSILON * (part + sum / n);
    return (cs_sum4){.value = part + sum / n,
                     .low = fmax(0, part + fmax(0, sum / n - width) - rounding),
                     .high = part + sum / n + width + rounding,
                     .error = error,
                     .level = level,
                     .samples = s->samples,
                     .sketch = e->sketch,
                     .known = e->known,
                     .seed = s->seed,
                     .spent = (2 * n + 6 * (double)e->sketch) * e->a->nnz +
                              2 * cols * q * (n + (e->sketch > 0 ? q : 0))};
}

/* The number of sketched columns, in addition to those that are known. */
static int64_t sketched(const cs_moment4_sampling *s, int64_t cols, int64_t known)
{
    const int64_t columns = cs_least(s->sketch, cols);
    return columns > known ? columns - known : 0;
}

double cs_moment4_estimate_bytes(const cs_moment4_sampling *s, int64_t cols, int64_t known,
                                 double left, double right)
{
    const int64_t sketch = sketched(s, cols, known);
    const double own = sketch > 0 ? (double)(known + sketch) : 0;
    return sizeof(double) *
           ((double)cols + own * right + SAMPLE_BLOCK * (left + right) + (double)s->samples);
}

cs_status cs_moment4_estimate_over(const cs_moment4_operator *a, const cs_moment4_sampling *s,
                                   cs_sum4 *out)
{
    estimate e = {.a = a, .s = s, .held = a->op->cols, .known = s->v ? s->v->cols : 0};
    double part = 0;
    if (s->samples < 2) {
        return cs_fail(CS_ERR_USAGE,
                       "%lld samples are too few: an estimate with its error needs at least 2",
                       (long long)s->samples);
    }
    if (!(s->level >= 0 && s->level < 1)) {
        return cs_fail(CS_ERR_USAGE, "confidence level %g is not in (0, 1)", s->level);
    }
    e.q = e.known > 0 ? s->v : NULL;
    e.sketch = sketched(s, a->cols, e.known);
    cs_threads_blas_hold(true); /* its bits depend on its threads */
    double *value = cs_pool_take(&e.pool, s->samples, sizeof *value);
    cs_dense z = cs_dense_in(&e.pool, e.held, SAMPLE_BLOCK);
    if (a->comm) {
        cs_comm_slice(a->comm, a->comm->rank, a->cols, &e.first, &e.held);
        e.signs = cs_pool_take(&e.pool, a->cols, sizeof *e.signs);
    }
    cs_status status = e.pool.status ? e.pool.status : take_work(&e);
    if (status == CS_OK && e.sketch > 0) status = sketch(&e);
    if (status == CS_OK) status = low_rank(&e, &z, &part);
    if (status == CS_OK) status = draw_samples(&e, &z, value);
    if (status == CS_OK) *out = summary(&e, part, value);
    cs_threads_blas_hold(false);
    release_work(&e);
    cs_pool_free(&e.pool);
    return status;
}

cs_status cs_moment4_estimate(const cs_csr *abar, const cs_csr *abar_t,
                              const cs_moment4_sampling *s, cs_sum4 *out)
{
    cs_linop_csr_ctx ctx;
    const cs_linop op = cs_linop_csr(&ctx, abar, abar_t, s->threads);
    const cs_moment4_operator a = {.op = &op, .cols = abar->cols, .nnz = (double)cs_csr_nnz(abar)};
    return cs_moment4_estimate_over(&a, s, out);
}

cs_sum4 cs_sum4_exact(double value, double spent)
{
    return (cs_sum4){.value = value, .low = value, .high = value, .level = 1, .spent = spent};
}
