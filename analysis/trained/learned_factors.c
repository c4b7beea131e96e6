/* Factors of a trained model against the singular triplets of Abar: loss, minimum, distance and
 * angles (learned_factors.h has equations and proofs).
 *
 * The loss is the expectation over all contexts (theorem_31_sides.c), nothing is sampled. Singular
 * vectors of M = F W'^T come from the d x d core of M between orthonormal bases of F and W', small
 * angles from sines (cs_principal_angles). Limit: dense factors, so matrices of toy size.
 */
#include "analysis/trained/learned_factors.h"

#include <float.h>
#include <math.h>

#include "analysis/measures/similarity.h"
#include "base/auto.h"
#include "base/mem.h"
#include "base/vector_ops.h"

/* --- the target --------------------------------------------------------------------------------*/

void cs_learned_target_free(cs_learned_target *target)
{
    cs_31_problem_free(&target->problem);
    cs_spectrum_free(&target->spectrum);
}

cs_status cs_learned_target_of(const cs_csr *a, const cs_spectrum_options *options,
                               cs_learned_target *out)
{
    cs_learned_target local = {0};
    cs_spectrum_options all = options ? *options : (cs_spectrum_options){0};
    all.k = 0;
    all.normalised = all.values_only = all.moment4 = false;
    cs_status status = cs_31_problem_of(a, &local.problem);
    if (status == CS_OK && (local.problem.a.rows != a->rows || local.problem.a.cols != a->cols))
        status = cs_fail(CS_ERR_INPUT, "%lld of %lld rows and %lld of %lld columns are empty",
                         (long long)(a->rows - local.problem.a.rows), (long long)a->rows,
                         (long long)(a->cols - local.problem.a.cols), (long long)a->cols);
    if (status == CS_OK && (status = cs_spectrum_of(a, &all, &local.spectrum)) == CS_OK)
        status = cs_spectrum_require(&local.spectrum);
    return CS_DELIVER(status, out, local, cs_learned_target_free);
}

static double sigma2(const cs_spectrum *s, int64_t i) /* 0-based; 0 beyond the rank */
{
    return i < s->k ? s->sigma[i] * s->sigma[i] : 0.0;
}

int64_t cs_learned_gap(const cs_spectrum *spectrum, int64_t most)
{
    int64_t t = most < spectrum->k ? most : spectrum->k;
    while (t > 0 && sigma2(spectrum, t - 1) - sigma2(spectrum, t) < CS_LEARNED_GAP) {
        --t;
    }
    return t;
}

/* --- dense pieces ------------------------------------------------------------------------------*/

/* The first `cols` columns. */
static cs_dense head(const cs_dense *a, int64_t cols)
{
    return (cs_dense){.rows = a->rows, .cols = cols, .ld = a->ld, .data = a->data};
}

/* --- M = F W'^T between orthonormal bases ------------------------------------------------------*/

typedef struct {
    cs_pool pool;
    cs_dense f, w;        /* F, W' */
    cs_dense qf, qw;      /* orthonormal bases of their ranges */
    cs_dense left, right; /* all d singular vectors of M */
} product;

/* q: a copy of A, which becomes a basis of its range. */
static cs_status basis(const cs_dense *a, cs_dense *q, cs_dense *core)
{
    cs_status status = cs_dense_orthonormalise(q);
    return status == CS_OK ? cs_gemm(true, false, 1.0, q, a, 0.0, core) : status;
}

static cs_status product_of(const cs_31_problem *p, const cs_dense *f, const cs_dense *w,
                            product *m)
{
    const int64_t d = f->cols;
    cs_pool *pool = &m->pool;
    cs_dense rf = cs_dense_in(pool, d, d), rw = cs_dense_in(pool, d, d);
    cs_dense core = cs_dense_in(pool, d, d), u = cs_dense_in(pool, d, d);
    cs_dense vt = cs_dense_in(pool, d, d);
    double *sigma = cs_pool_take(pool, d, sizeof *sigma);
    m->f = cs_31_scaled(pool, f, p->root_row);
    m->w = cs_31_scaled(pool, w, p->root_col);
    m->qf = cs_dense_copy_in(pool, &m->f);
    m->qw = cs_dense_copy_in(pool, &m->w);
    m->left = cs_dense_in(pool, f->rows, d);
    m->right = cs_dense_in(pool, w->rows, d);
    cs_status status = pool->status;
    if (status == CS_OK) status = basis(&m->f, &m->qf, &rf);
    if (status == CS_OK) status = basis(&m->w, &m->qw, &rw);
    if (status == CS_OK) status = cs_gemm(false, true, 1.0, &rf, &rw, 0.0, &core);
    if (status == CS_OK) status = cs_dense_svd(&core, sigma, &u, &vt);
    if (status == CS_OK) status = cs_gemm(false, false, 1.0, &m->qf, &u, 0.0, &m->left);
    return status == CS_OK ? cs_gemm(false, true, 1.0, &m->qw, &vt, 0.0, &m->right) : status;
}

/* --- evaluation --------------------------------------------------------------------------------*/

static cs_status check_factors(const cs_learned_target *target, const cs_dense *f,
                               const cs_dense *w, double factor)
{
    const cs_csr *a = &target->problem.a;
    if (f->rows != a->rows || w->rows != a->cols || f->cols != w->cols || f->cols < 1 ||
        f->cols > a->rows || f->cols > a->cols) {
        return cs_fail(CS_ERR_USAGE,
                       "factors %lld x %lld and %lld x %lld do not match a %lld x %lld matrix",
                       (long long)f->rows, (long long)f->cols, (long long)w->rows,
                       (long long)w->cols, (long long)a->rows, (long long)a->cols);
    }
    if (!(factor > 0 && isfinite(factor))) {
        return cs_fail(CS_ERR_USAGE, "factor %g of the spectral loss is not positive", factor);
    }
    if (!isfinite(cs_dense_squares(f)) || !isfinite(cs_dense_squares(w))) {
        return cs_fail(CS_ERR_INPUT, "a factor has a value that is not finite or too large");
    }
    return CS_OK;
}

/* L_b and its minimum. A triplet with residual r moves sigma^2 by at most 2 sigma r + r^2. */
static cs_status losses(const cs_learned_target *target, const cs_dense *f, const cs_dense *w,
                        int threads, cs_learned *out)
{
    const cs_spectrum *s = &target->spectrum;
    cs_31_evaluation e;
    double half2 = out->factor * out->factor / 4, shift = 0.0;
    cs_status status = cs_31_evaluate(&target->problem, f, w, threads, &e);
    if (status != CS_OK) return status;
    out->loss = -out->factor * e.first + e.second;
    for (int64_t i = 0; i < out->width && i < s->k; ++i) {
        out->minimum -= half2 * sigma2(s, i);
        shift += 4 * half2 * s->residual[i] * (s->sigma[i] + s->residual[i]);
    }
    out->excess = out->loss - out->minimum;
    out->error =
        fmax(1.0, out->factor / 2) * e.loss_error + shift + 8 * DBL_EPSILON * fabs(out->minimum);
    return CS_OK;
}

/* ||(b/2) Abar_d - M||_F, entry by entry. */
static cs_status distance(const cs_learned_target *target, const product *m, cs_learned *out)
{
    const cs_spectrum *s = &target->spectrum;
    int64_t d = out->width < s->k ? out->width : s->k;
    const cs_dense u = head(&s->u, d), v = head(&s->v, d);
    CS_AUTO(cs_pool) pool = {0};
    cs_dense left = cs_dense_copy_in(&pool, &u), rest = cs_dense_in(&pool, u.rows, v.rows);
    cs_status status = pool.status;
    for (int64_t j = 0; status == CS_OK && j < d; ++j) {
        for (int64_t i = 0; i < left.rows; ++i) {
            left.data[i + j * left.ld] *= s->sigma[j] * out->factor / 2;
        }
    }
    if (status == CS_OK) status = cs_gemm(false, true, 1.0, &left, &v, 0.0, &rest);
    if (status == CS_OK) status = cs_gemm(false, true, -1.0, &m->f, &m->w, 1.0, &rest);
    if (status == CS_OK) out->distance = sqrt(cs_dense_squares(&rest));
    return status;
}

/* Angles of one side: vectors (U or V), top singular vectors of M, and the range of its factor. */
static cs_status side(const cs_dense *vectors, const cs_dense *found, const cs_dense *range,
                      int64_t t, double *angle, double *sin2)
{
    cs_dense goal = head(vectors, t), top = head(found, t);
    CS_AUTO_FREE double *inside = cs_alloc(t, sizeof *inside);
    cs_status status = inside ? cs_principal_angles(&goal, &top, angle) : CS_ERR_MEMORY;
    if (status == CS_OK) status = cs_principal_angles(&goal, range, inside);
    *sin2 = 0.0;
    for (int64_t i = 0; status == CS_OK && i < t; ++i) {
        *sin2 += sin(inside[i]) * sin(inside[i]);
    }
    return status;
}

static cs_status angles(const cs_learned_target *target, const product *m, cs_learned *out)
{
    const cs_spectrum *s = &target->spectrum;
    int64_t t = out->t;
    if (t == 0) {
        return CS_OK;
    }
    out->left = cs_alloc(t, sizeof *out->left);
    out->right = cs_alloc(t, sizeof *out->right);
    cs_status status = out->left && out->right ? CS_OK : CS_ERR_MEMORY;
    if (status == CS_OK) status = side(&s->u, &m->left, &m->qf, t, out->left, &out->left_range);
    if (status == CS_OK) status = side(&s->v, &m->right, &m->qw, t, out->right, &out->right_range);
    double gap = sigma2(s, t - 1) - sigma2(s, out->width), residual = cs_largest(t, s->residual);
    double half2 = out->factor * out->factor / 4;
    /* A subspace that is off by delta moves the sum of squares by 2 sqrt(t sum) delta + t delta^2
     * at most. U_t is off by residual / (sigma_t - sigma_{t+1}), and that is at least half the gap
     * of the squares; Householder bases are orthonormal to a small multiple of n u. */
    double delta =
        2 * residual / CS_LEARNED_GAP + 16 * (double)(m->f.rows + m->w.rows) * DBL_EPSILON;
    double sum = fmax(out->left_range, out->right_range);
    out->range_bound = (fmax(out->excess, 0.0) + out->error) / (half2 * gap);
    out->range_error = 2 * sqrt((double)t * sum) * delta + (double)t * delta * delta;
    return status;
}

void cs_learned_free(cs_learned *learned)
{
    CS_FREE_FIELDS(learned, left, right);
    *learned = (cs_learned){0};
}

cs_status cs_learned_of(const cs_learned_target *target, const cs_dense *f, const cs_dense *w,
                        double factor, int threads, cs_learned *out)
{
    product m = {0};
    cs_learned local = {.width = f->cols, .factor = factor};
    cs_status status = check_factors(target, f, w, factor);
    if (status == CS_OK) {
        local.t = cs_learned_gap(&target->spectrum, f->cols);
        status = product_of(&target->problem, f, w, &m);
    }
    if (status == CS_OK && (status = losses(target, f, w, threads, &local)) == CS_OK &&
        (status = distance(target, &m, &local)) == CS_OK) {
        status = angles(target, &m, &local);
    }
    cs_pool_free(&m.pool);
    return CS_DELIVER(status, out, local, cs_learned_free);
}

/* --- columns reached -------------------------------------------------------------------------- */

/* The least loss that pooled linear attention can reach on a toy model.
 *
 * F with columns in the span of features Phi (rows scaled by sqrt(P_C)): the best M of rank d is
 * the rank d truncation of Q Q^T Abar, Q an orthonormal basis of the span, so that min L_2 = -(sum
 * of the d largest sigma_i(Q^T Abar)^2). Q comes from the eigenvectors of Phi Phi^T, a kernel of
 * the number of tokens that two contexts share: with c common tokens, n^(1-p) [token in X] has
 * n_X^(1-p) n_Y^(1-p) c, and n^-p [tokens a and b in X] over all ordered pairs has n_X^-p n_Y^-p
 * c^2. Quadratic forms never need the features themselves. */

enum { MOST_CONTEXTS = 1500 };
static const double DEPENDENT = 1e-10; /* eigenvalues below, relative, are rounding */

static int64_t common(const cs_toy_contexts *c, int64_t x, int64_t y)
{
    int64_t i = c->ptr[x], j = c->ptr[y], count = 0;
    while (i < c->ptr[x + 1] && j < c->ptr[y + 1]) {
        int32_t a = c->token[i], b = c->token[j];
        count += a == b;
        i += a <= b;
        j += b <= a;
    }
    return count;
}

/* sqrt(P_C) n^-power, 0 for no token. */
static double row_scale(const cs_learned_target *t, const cs_toy_contexts *c, int64_t x,
                        double power)
{
    int64_t n = c->ptr[x + 1] - c->ptr[x];
    return n > 0 ? t->problem.root_row[x] * pow((double)n, -power) : 0.0;
}

static cs_status kernel(const cs_learned_target *t, const cs_toy_contexts *c, double pooling,
                        bool pairs, cs_dense *out)
{
    cs_status status = cs_dense_init(out, c->a.rows, c->a.rows);
    double power = pairs ? pooling : pooling - 1.0;
    for (int64_t y = 0; status == CS_OK && y < out->cols; ++y) {
        double scale = row_scale(t, c, y, power);
        for (int64_t x = 0; x < out->rows; ++x) {
            double shared = (double)common(c, x, y);
            out->data[x + y * out->ld] =
                row_scale(t, c, x, power) * scale * (pairs ? shared * shared : shared);
        }
    }
    return status;
}

static cs_status least(const cs_learned_target *t, cs_dense *gram, int64_t width, double *out)
{
    int64_t n = gram->rows, first = 0;
    CS_AUTO(cs_dense) abar = {0};
    CS_AUTO(cs_pool) pool = {0};
    double *values = cs_pool_take(&pool, n, sizeof *values);
    double *sigma = cs_pool_take(&pool, t->problem.abar.cols, sizeof *sigma);
    cs_status status = pool.status;
    if (status == CS_OK) status = cs_dense_eigh(gram, values, false);
    while (status == CS_OK && first < n && values[first] <= DEPENDENT * values[n - 1]) {
        ++first;
    }
    if (status == CS_OK) status = cs_csr_to_dense(&t->problem.abar, &abar);
    *out = 0.0;
    if (status == CS_OK && first < n) {
        cs_dense q = {n, n - first, gram->ld, gram->data + first * gram->ld};
        cs_dense inside = cs_dense_in(&pool, q.cols, abar.cols);
        status = pool.status;
        if (status == CS_OK) status = cs_gemm(true, false, 1.0, &q, &abar, 0.0, &inside);
        if (status == CS_OK) status = cs_dense_svd(&inside, sigma, NULL, NULL);
        for (int64_t i = 0; status == CS_OK && i < width && i < q.cols && i < abar.cols; ++i) {
            *out -= sigma[i] * sigma[i];
        }
    }
    return status;
}

cs_status cs_linear_reach_of(const cs_learned_target *target, const cs_toy_contexts *contexts,
                             int64_t width, double pooling, cs_linear_reach *out)
{
    *out = (cs_linear_reach){NAN, NAN};
    double *value[] = {&out->uniform, &out->any};
    cs_status status = CS_OK;
    for (int i = 0; i < 2 && status == CS_OK && contexts->a.rows <= MOST_CONTEXTS; ++i) {
        CS_AUTO(cs_dense) gram = {0};
        status = kernel(target, contexts, pooling, i == 1, &gram);
        if (status == CS_OK) status = least(target, &gram, width, value[i]);
    }
    return status;
}
