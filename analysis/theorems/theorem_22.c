/* The two sides of Theorem 2.2's residual contraction for one layer; see the header for the
 * statements and the proof. Everything in double and dense: layers here are one head and one piece
 * of text. */
#include "analysis/theorems/theorem_22.h"

#include <float.h>
#include <math.h>

#include "base/auto.h"
#include "base/vector_ops.h"

typedef struct {
    const cs_22_layer *layer;
    cs_pool pool;
    int64_t n, m, k, d, e; /* rows of H_R, of H_M, both; widths */
    double *mean;          /* d: h */
    cs_dense x, y;         /* k x d: [H_R; U H_R], [R; U R] */
    cs_dense weights;      /* n x k: logits, then q_i */
    cs_dense l;            /* n x k */
    cs_dense left;         /* n x d: rows times W^QK */
    cs_dense values, out;  /* k x e: X W^VO; n x e: H_R' */
    double *p, *next;      /* k: p; e: h' */
} work;

static double at(const cs_dense *a, int64_t i, int64_t j)
{
    return a->data[i + j * a->ld];
}

/* fmax drops a NaN; here it stays, and so does the layer that overflowed. */
static double larger(double a, double b)
{
    return isnan(b) || b > a ? b : a;
}

static double largest_row_norm(const cs_dense *a)
{
    double most = 0;
    for (int64_t i = 0; i < a->rows; ++i) {
        double square = 0;
        for (int64_t j = 0; j < a->cols; ++j) {
            square += at(a, i, j) * at(a, i, j);
        }
        most = larger(most, square);
    }
    return sqrt(most);
}

static double frobenius(const cs_dense *a)
{
    return sqrt(cs_dense_squares(a));
}

/* ||A||_1 and ||A||_inf of A less `minus` (cols; NULL: 0) in every row. */
static void sums_of(const cs_dense *a, const double *minus, double *column, double *row)
{
    *column = *row = 0;
    for (int64_t j = 0; j < a->cols; ++j) {
        double sum = 0;
        for (int64_t i = 0; i < a->rows; ++i) {
            sum += fabs(at(a, i, j) - (minus ? minus[j] : 0));
        }
        *column = larger(*column, sum);
    }
    for (int64_t i = 0; i < a->rows; ++i) {
        double sum = 0;
        for (int64_t j = 0; j < a->cols; ++j) {
            sum += fabs(at(a, i, j) - (minus ? minus[j] : 0));
        }
        *row = larger(*row, sum);
    }
}

static void mean_row(const cs_dense *a, double *mean)
{
    for (int64_t j = 0; j < a->cols; ++j) {
        double sum = 0;
        for (int64_t i = 0; i < a->rows; ++i) {
            sum += at(a, i, j);
        }
        mean[j] = sum / (double)a->rows;
    }
}

static cs_status two_norm(const cs_dense *a, double *out)
{
    CS_AUTO(cs_pool) pool = {0};
    double *sigma = cs_pool_take(&pool, a->rows < a->cols ? a->rows : a->cols, sizeof *sigma);
    cs_dense copy = cs_dense_copy_in(&pool, a);
    cs_status status = pool.status;
    if (status == CS_OK) status = cs_dense_svd(&copy, sigma, NULL, NULL);
    if (status == CS_OK) *out = sigma[0];
    return status;
}

static cs_status check_layer(const cs_22_layer *layer)
{
    const cs_dense *h = layer->h, *u = layer->u, *qk = layer->wqk, *vo = layer->wvo;
    if (h->rows < 1 || h->cols < 1 || u->rows < 0 || u->cols != h->rows || qk->rows != h->cols ||
        qk->cols != h->cols || vo->rows != h->cols || vo->cols < 1 ||
        (layer->next && (layer->next->rows != h->rows || layer->next->cols != vo->cols))) {
        return cs_fail(CS_ERR_USAGE,
                       "the shapes of a layer do not match: H_R %lld x %lld, U %lld x %lld, W^QK "
                       "%lld x %lld, W^VO %lld x %lld",
                       (long long)h->rows, (long long)h->cols, (long long)u->rows,
                       (long long)u->cols, (long long)qk->rows, (long long)qk->cols,
                       (long long)vo->rows, (long long)vo->cols);
    }
    const cs_dense *all[] = {h, u, qk, vo};
    static const char *const name[] = {"H_R", "U", "W^QK", "W^VO"};
    for (int k = 0; k < 4; ++k) {
        if (!isfinite(frobenius(all[k]))) {
            return cs_fail(CS_ERR_INPUT, "%s of a layer has a value that is not finite", name[k]);
        }
    }
    return CS_OK;
}

/* X and [R; U R]. */
static cs_status stack(work *w)
{
    const cs_dense *h = w->layer->h;
    mean_row(h, w->mean);
    for (int64_t j = 0; j < w->d; ++j) {
        for (int64_t i = 0; i < w->n; ++i) {
            w->x.data[i + j * w->x.ld] = at(h, i, j);
            w->y.data[i + j * w->y.ld] = at(h, i, j) - w->mean[j];
        }
    }
    cs_dense *both[] = {&w->x, &w->y};
    for (int b = 0; b < 2 && w->m > 0; ++b) {
        cs_dense real = {w->n, w->d, both[b]->ld, both[b]->data};
        cs_dense mask = {w->m, w->d, both[b]->ld, both[b]->data + w->n};
        cs_status status = cs_gemm(false, false, 1, w->layer->u, &real, 0, &mask);
        if (status != CS_OK) return status;
    }
    return CS_OK;
}

static void softmax(int64_t count, double *x, int64_t stride)
{
    double most = -INFINITY, sum = 0;
    for (int64_t j = 0; j < count; ++j) {
        most = fmax(most, x[j * stride]);
    }
    for (int64_t j = 0; j < count; ++j) {
        sum += x[j * stride] = exp(x[j * stride] - most);
    }
    for (int64_t j = 0; j < count; ++j) {
        x[j * stride] /= sum;
    }
}

/* A W^QK B^T, A the first n rows of `rows`. */
static cs_status logits_of(work *w, const cs_dense *rows, const cs_dense *columns, cs_dense *out)
{
    const cs_dense first = {w->n, w->d, rows->ld, rows->data};
    cs_status status = cs_gemm(false, false, 1, &first, w->layer->wqk, 0, &w->left);
    return status == CS_OK ? cs_gemm(false, true, 1, &w->left, columns, 0, out) : status;
}

/* p = softmax([R; U R] (W^QK^T h + key)). */
static void middle(work *w)
{
    cs_fill(w->k, 0, w->p);
    for (int64_t c = 0; c < w->d; ++c) {
        double g = w->layer->key ? w->layer->key[c] : 0;
        for (int64_t r = 0; r < w->d; ++r) {
            g += at(w->layer->wqk, r, c) * w->mean[r];
        }
        for (int64_t j = 0; j < w->k; ++j) {
            w->p[j] += g * at(&w->y, j, c);
        }
    }
    softmax(w->k, w->p, 1);
}

/* H_R' and h'. */
static cs_status attend(work *w)
{
    cs_status status = logits_of(w, &w->x, &w->x, &w->weights);
    if (status != CS_OK) return status;
    for (int64_t j = 0; j < w->k && w->layer->key; ++j) {
        double g = 0;
        for (int64_t c = 0; c < w->d; ++c) {
            g += at(&w->x, j, c) * w->layer->key[c];
        }
        for (int64_t i = 0; i < w->n; ++i) {
            w->weights.data[i + j * w->weights.ld] += g;
        }
    }
    for (int64_t i = 0; i < w->n; ++i) {
        softmax(w->k, w->weights.data + i, w->weights.ld);
    }
    if ((status = cs_gemm(false, false, 1, &w->x, w->layer->wvo, 0, &w->values)) != CS_OK ||
        (status = cs_gemm(false, false, 1, &w->weights, &w->values, 0, &w->out)) != CS_OK) {
        return status;
    }
    middle(w);
    cs_fill(w->e, 0, w->next);
    for (int64_t c = 0; c < w->d; ++c) { /* (p^T [R; U R] + h^T) W^VO */
        double x = w->mean[c];
        for (int64_t i = 0; i < w->k; ++i) {
            x += w->p[i] * at(&w->y, i, c);
        }
        for (int64_t j = 0; j < w->e; ++j) {
            w->next[j] += x * at(w->layer->wvo, c, j);
        }
    }
    return CS_OK;
}

static double widest_row(const cs_dense *l)
{
    double widest = 0;
    for (int64_t i = 0; i < l->rows; ++i) {
        double low = INFINITY, high = -INFINITY;
        for (int64_t j = 0; j < l->cols; ++j) {
            low = -larger(-low, -at(l, i, j));
            high = larger(high, at(l, i, j));
        }
        widest = larger(widest, high - low);
    }
    return widest;
}

/* n u / (1 - n u) */
static double gamma_of(int64_t n)
{
    double nu = (double)n * DBL_EPSILON / 2;
    return nu / (1 - nu);
}

/* Rounding of H_R' and h' in any row, to first order: weights err by twice the logits' error and
 * their own sums, values by their products. */
static double rounding(const work *w)
{
    double longest = larger(largest_row_norm(&w->x), largest_row_norm(&w->y));
    double key = w->layer->key ? cs_inner(w->d, w->layer->key, w->layer->key) : 0;
    double u_error = gamma_of(w->n + 1) * (1 + frobenius(w->layer->u)) * longest; /* of U H_R */
    double qk = frobenius(w->layer->wqk);
    double logit = (gamma_of(2 * w->d + 4) * longest + u_error) * (qk * longest + sqrt(key));
    double value = longest * frobenius(w->layer->wvo);
    double weight = 2 * logit + gamma_of(w->k + 4);
    return 2 * value * (weight + gamma_of(w->k + 2 * w->d)) +
           2 * u_error * frobenius(w->layer->wvo);
}

static cs_status sides(work *w, cs_22_sides *s)
{
    const cs_22_layer *layer = w->layer;
    double qk = layer->norm_qk, vo = layer->norm_vo, column, row, r1, rinf, v1, vinf, unused;
    cs_status status = qk > 0 ? CS_OK : two_norm(layer->wqk, &qk);
    if (status == CS_OK && !(vo > 0)) status = two_norm(layer->wvo, &vo);
    if (status != CS_OK || (status = logits_of(w, &w->y, &w->y, &w->l)) != CS_OK) return status;
    const cs_dense r = {w->n, w->d, w->y.ld, w->y.data};
    s->residual = largest_row_norm(&r);
    sums_of(layer->u, NULL, &unused, &s->u_norm);
    for (int64_t i = 0; i < w->m; ++i) {
        double sum = -1;
        for (int64_t j = 0; j < w->n; ++j) {
            sum += at(layer->u, i, j);
        }
        s->u_sum = larger(s->u_sum, fabs(sum));
    }
    s->delta = widest_row(&w->l);
    double u = larger(1, s->u_norm); /* without [MASK] rows: the rows of R themselves */
    s->trivial = 2 * u * s->residual * vo;
    s->tight = tanh(s->delta / 4) * s->trivial;
    s->cubic = qk * vo * u * u * s->residual * s->residual * s->residual;
    double moved = rounding(w);
    double relative = gamma_of(16 * (w->d + w->k)) * (s->tight + s->cubic);
    double of_delta = gamma_of(2 * w->d + w->n + 4) * frobenius(layer->wqk) * u * s->residual *
                      s->residual * (double)(w->n + 1);
    s->error = moved + relative + of_delta * s->trivial / 2;

    /* printed */
    sums_of(&r, NULL, &r1, &rinf);
    sums_of(layer->wqk, NULL, &column, &row);
    sums_of(layer->wvo, NULL, &v1, &vinf);
    double epsilon = column * sqrt(v1 * vinf) * s->u_norm * (1 + s->u_norm);
    s->contraction = 4 * epsilon * r1 * rinf;
    s->printed_residual = sqrt(r1 * rinf);
    s->printed_rhs = s->contraction * s->printed_residual;
    for (int64_t i = 0; i < w->n; ++i) {
        double square = 0;
        for (int64_t j = 0; j < w->e; ++j) {
            double x = at(&w->out, i, j) - w->next[j];
            square += x * x;
        }
        s->lhs = larger(s->lhs, sqrt(square));
    }
    mean_row(&w->out, w->next);
    sums_of(&w->out, w->next, &column, &row);
    s->printed_lhs = sqrt(column * row);
    s->printed_error = 2 * sqrt((double)(w->n * w->e)) * moved +
                       gamma_of(16 * (w->d + w->k)) * (s->printed_rhs + s->printed_lhs);
    return CS_OK;
}

cs_status cs_22_evaluate(const cs_22_layer *layer, cs_22_sides *out)
{
    cs_status status = check_layer(layer);
    if (status != CS_OK) return status;
    work w = {.layer = layer,
              .n = layer->h->rows,
              .m = layer->u->rows,
              .k = layer->h->rows + layer->u->rows,
              .d = layer->h->cols,
              .e = layer->wvo->cols};
    w.mean = cs_pool_take(&w.pool, w.d, sizeof *w.mean);
    w.p = cs_pool_take(&w.pool, w.k, sizeof *w.p);
    w.next = cs_pool_take(&w.pool, w.e, sizeof *w.next);
    w.x = cs_dense_in(&w.pool, w.k, w.d);
    w.y = cs_dense_in(&w.pool, w.k, w.d);
    w.weights = cs_dense_in(&w.pool, w.n, w.k);
    w.l = cs_dense_in(&w.pool, w.n, w.k);
    w.left = cs_dense_in(&w.pool, w.n, w.d);
    w.values = cs_dense_in(&w.pool, w.k, w.e);
    w.out = cs_dense_in(&w.pool, w.n, w.e);
    cs_22_sides s = {0};
    status = w.pool.status;
    if (status == CS_OK) status = stack(&w);
    if (status == CS_OK) status = attend(&w);
    if (status == CS_OK) status = sides(&w, &s);
    if (status == CS_OK && layer->next) cs_dense_copy(&w.out, layer->next);
    if (status == CS_OK) *out = s;
    cs_pool_free(&w.pool);
    return status;
}
