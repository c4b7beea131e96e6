/* Part of backend_ref.c: attention by rank masks, softmax and linear. Key j is visible to row i iff
 * vis[j] <= lim[i] and it is within the window, if there is one; all are indexed by rows of the
 * whole matrices, b * length + i. */
#pragma once

#include <stdlib.h>

#include "ref_scalar.h"
#include "tensor/relative.h"

static inline cs_real ref_dot(int64_t n, const cs_real *a, const cs_real *b)
{
    cs_real sum = 0;
    for (int64_t i = 0; i < n; ++i) {
        sum += a[i] * b[i];
    }
    return sum;
}

static inline void ref_axpy(int64_t n, cs_real a, const cs_real *x, cs_real *y)
{
    for (int64_t i = 0; i < n; ++i) {
        y[i] += a * x[i];
    }
}

/* --- attention -------------------------------------------------------------------------------- */

/* Operands of forward and backward of both kinds; x NULL or NULL if the kind does not have it. */
typedef struct {
    const cs_op_attention *o;
    ref_matrix q, k, v, table, lse, sum, y, place_k, place_q;
    const int32_t *vis, *lim, *pos_q, *pos_k;
    int64_t width; /* of a head */
} ref_attention_view;

static ref_attention_view ref_attention_of(const cs_run *run, const cs_op_attention *o)
{
    return (ref_attention_view){.o = o,
                                .q = ref_of(run, o->q.tensor),
                                .k = ref_of(run, o->k.tensor),
                                .v = ref_of(run, o->v.tensor),
                                .table = ref_of(run, o->table.tensor),
                                .lse = ref_of(run, o->lse),
                                .sum = ref_of(run, o->sum),
                                .y = ref_of(run, o->y),
                                .place_k = ref_of(run, o->place_k.tensor),
                                .place_q = ref_of(run, o->place_q.tensor),
                                .vis = cs_run_ints(run, o->vis),
                                .lim = cs_run_ints(run, o->lim),
                                .pos_q = cs_run_ints(run, o->pos_q),
                                .pos_k = cs_run_ints(run, o->pos_k),
                                .width = ref_of(run, o->y).cols / o->heads};
}

/* Item of the table (and of its gradient) that query row i and key row j share in head h. */
static int64_t ref_attention_bias(const ref_attention_view *t, int64_t i, int64_t j, int64_t h)
{
    int64_t bucket = cs_relative_bucket((int64_t)t->pos_k[j] - t->pos_q[i], t->table.rows,
                                        t->o->max_distance, t->o->bidirectional);
    return bucket * t->table.ld + h;
}

static bool ref_attention_sees(const ref_attention_view *t, int64_t i, int64_t j)
{
    return t->vis[j] <= t->lim[i] &&
           (t->o->window == 0 || labs((long)t->pos_k[j] - t->pos_q[i]) < t->o->window);
}

/* First column of the keys and values that head h reads. */
static int64_t ref_attention_keys(const ref_attention_view *t, int64_t h)
{
    return h * t->o->kv_heads / t->o->heads * t->width;
}

/* First item of the vector for a query at this distance after a key, of head h. */
static int64_t ref_attention_place(const ref_attention_view *t, const ref_matrix *vectors,
                                   int64_t i, int64_t j, int64_t h)
{
    const int64_t rows = vectors->rows,
                  at = rows / 2 + cs_log_bucket((int64_t)t->pos_q[i] - t->pos_k[j], t->o->buckets,
                                                t->o->max_distance),
                  row = at < 0       ? 0
                        : at >= rows ? rows - 1
                                     : at;
    const int64_t w = t->width, col = vectors->cols == w                 ? 0
                                      : vectors->cols == w * t->o->heads ? h * w
                                      : vectors == &t->place_q           ? 2 * h * w
                                                                         : (2 * h + 1) * w;
    return row * vectors->ld + col;
}

/* Before cap and table. */
static cs_real ref_attention_product(const ref_attention_view *t, int64_t i, int64_t j, int64_t h)
{
    cs_real dot = ref_dot(t->width, t->q.x + i * t->q.ld + h * t->width,
                          t->k.x + j * t->k.ld + ref_attention_keys(t, h));
    cs_real score = (cs_real)t->o->scale * dot;
    const cs_real *q = t->q.x + i * t->q.ld + h * t->width,
                  *k = t->k.x + j * t->k.ld + ref_attention_keys(t, h);
    if (t->place_k.x) {
        score += (cs_real)t->o->place_scale *
                 ref_dot(t->width, q, t->place_k.x + ref_attention_place(t, &t->place_k, i, j, h));
    }
    if (t->place_q.x) {
        score += (cs_real)t->o->place_scale *
                 ref_dot(t->width, k, t->place_q.x + ref_attention_place(t, &t->place_q, i, j, h));
    }
    return score;
}

static cs_real ref_attention_score(const ref_attention_view *t, int64_t i, int64_t j, int64_t h)
{
    const cs_real cap = (cs_real)t->o->cap, plain = ref_attention_product(t, i, j, h),
                  score = cap > 0 ? cap * tanh(plain / cap) : plain;
    if (t->o->slopes) {
        return score + (cs_real)(t->pos_k[j] - t->pos_q[i]) * t->table.x[h];
    }
    return t->table.x ? score + t->table.x[ref_attention_bias(t, i, j, h)] : score;
}

/* Query row i, keys first .. first + keys - 1: lse = max + log sum_j exp(score_j - max). */
static cs_real ref_attention_lse(const ref_attention_view *t, int64_t i, int64_t first, int64_t h)
{
    cs_real most = -(cs_real)INFINITY, sum = 0;
    for (int64_t j = first; j < first + t->k.length; ++j) {
        if (ref_attention_sees(t, i, j)) {
            most = fmax(most, ref_attention_score(t, i, j, h));
        }
    }
    for (int64_t j = first; j < first + t->k.length; ++j) {
        if (ref_attention_sees(t, i, j)) {
            sum += exp(ref_attention_score(t, i, j, h) - most);
        }
    }
    return sum == 0 ? -(cs_real)INFINITY : most + log(sum);
}

/* y[i] = sum_j keep_ij exp(score_ij - lse_i) v[j] over the keys seen */
static cs_status ref_attention(const cs_run *run, const cs_op *op)
{
    ref_attention_view t = ref_attention_of(run, &op->attention);
    for (int64_t h = 0; h < t.o->heads; ++h) {
        ref_dropout drop = ref_dropout_of(run, op, h, t.o->p);
        for (int64_t i = 0; i < t.q.rows; ++i) {
            int64_t first = i / t.q.length * t.k.length;
            cs_real lse = ref_attention_lse(&t, i, first, h);
            cs_real *y = t.y.x + i * t.y.ld + h * t.width;
            memset(y, 0, (size_t)t.width * sizeof *y);
            for (int64_t j = first; j < first + t.k.length; ++j) {
                if (ref_attention_sees(&t, i, j)) {
                    cs_real a = exp(ref_attention_score(&t, i, j, h) - lse);
                    ref_axpy(t.width, a * ref_keep(&drop, i, j - first),
                             t.v.x + j * t.v.ld + ref_attention_keys(&t, h), y);
                }
            }
            t.lse.x[i * t.lse.ld + h] = lse;
        }
    }
    return CS_OK;
}

/* With P = softmax, A = keep P: v'[j] += A_ij y'[i], P'_ij = keep (y'[i] . v[j]),
 * S'_ij = P_ij (P'_ij - sum_j P_ij P'_ij), q'[i] += scale S'_ij k[j], k'[j] += scale S'_ij q[i],
 * table'[bucket, h] += S'_ij; of vectors of distances q'[i] += place_scale S'_ij place_k[d],
 * place_k'[d] += place_scale S'_ij q[i], and so of keys. */
static void ref_attention_place_back(const ref_attention_view *t, cs_real ds, int64_t i, int64_t j,
                                     int64_t h, cs_real *dq, cs_real *dk)
{
    const int64_t at = i * t->q.ld + h * t->width, to = j * t->k.ld + ref_attention_keys(t, h);
    ds *= (cs_real)t->o->place_scale;
    if (t->place_k.x) {
        const int64_t place = ref_attention_place(t, &t->place_k, i, j, h);
        if (dq) {
            ref_axpy(t->width, ds, t->place_k.x + place, dq + at);
        }
        if (t->place_k.grad) {
            ref_axpy(t->width, ds, t->q.x + at, t->place_k.grad + place);
        }
    }
    if (t->place_q.x) {
        const int64_t place = ref_attention_place(t, &t->place_q, i, j, h);
        if (dk) {
            ref_axpy(t->width, ds, t->place_q.x + place, dk + to);
        }
        if (t->place_q.grad) {
            ref_axpy(t->width, ds, t->k.x + to, t->place_q.grad + place);
        }
    }
}

static cs_status ref_attention_back(const cs_run *run, const cs_op *op)
{
    ref_attention_view t = ref_attention_of(run, &op->attention);
    cs_real *dq = ref_operand(run, t.o->q).grad, *dk = ref_operand(run, t.o->k).grad;
    cs_real *dv = ref_operand(run, t.o->v).grad, *dtable = ref_operand(run, t.o->table).grad;
    t.place_k.grad = ref_operand(run, t.o->place_k).grad;
    t.place_q.grad = ref_operand(run, t.o->place_q).grad;
    cs_real scale = (cs_real)t.o->scale;
    for (int64_t h = 0; h < t.o->heads; ++h) {
        ref_dropout drop = ref_dropout_of(run, op, h, t.o->p);
        for (int64_t i = 0; i < t.q.rows; ++i) {
            int64_t first = i / t.q.length * t.k.length, qi = i * t.q.ld + h * t.width;
            cs_real lse = t.lse.x[i * t.lse.ld + h], mean = 0;
            const cs_real *dy = t.y.grad + i * t.y.ld + h * t.width;
            for (int pass = 0; pass < 2; ++pass) { /* first the mean of P', then its use */
                for (int64_t j = first; j < first + t.k.length; ++j) {
                    if (!ref_attention_sees(&t, i, j)) {
                        continue;
                    }
                    const int64_t col = ref_attention_keys(&t, h);
                    const int64_t kj = j * t.k.ld + col, vj = j * t.v.ld + col;
                    cs_real keep = ref_keep(&drop, i, j - first);
                    cs_real p = exp(ref_attention_score(&t, i, j, h) - lse);
                    cs_real dp = keep * ref_dot(t.width, dy, t.v.x + vj);
                    if (pass == 0) {
                        mean += p * dp;
                        continue;
                    }
                    cs_real ds = p * (dp - mean);
                    if (dv) {
                        ref_axpy(t.width, keep * p, dy, dv + vj);
                    }
                    if (dtable) {
                        dtable[ref_attention_bias(&t, i, j, h)] += ds;
                    }
                    if (t.o->cap > 0) {
                        const cs_real capped =
                            tanh(ref_attention_product(&t, i, j, h) / (cs_real)t.o->cap);
                        ds *= 1 - capped * capped;
                    }
                    if (dq) {
                        ref_axpy(t.width, scale * ds, t.k.x + kj, dq + qi);
                    }
                    if (dk) {
                        ref_axpy(t.width, scale * ds, t.q.x + qi, dk + kj);
                    }
                    ref_attention_place_back(&t, ds, i, j, h, dq, dk);
                }
            }
        }
    }
    return CS_OK;
}

/* --- linear attention ------------------------------------------------------------------------- */

/* n^-power of the n keys that row i sees; 0 for none. */
static cs_real ref_pooled_factor(const ref_attention_view *t, int64_t i, int64_t first)
{
    int64_t n = 0;
    for (int64_t j = first; j < first + t->k.length; ++j) {
        n += t->vis[j] <= t->lim[i];
    }
    return n > 0 ? pow((cs_real)n, -(cs_real)t->o->power) : 0;
}

/* Q[i] = sum_u q[u], y[i] = n^-power sum_v (Q[i] . k[v]) v[v], u and v over the keys seen: the
 * double sum of the definition with its inner sum taken first. */
static cs_status ref_linear_attention(const cs_run *run, const cs_op *op)
{
    ref_attention_view t = ref_attention_of(run, &op->attention);
    for (int64_t h = 0; h < t.o->heads; ++h) {
        for (int64_t i = 0; i < t.y.rows; ++i) {
            int64_t first = i / t.y.length * t.k.length, at = h * t.width;
            cs_real factor = ref_pooled_factor(&t, i, first);
            cs_real *sum = t.sum.x + i * t.sum.ld + at, *y = t.y.x + i * t.y.ld + at;
            memset(sum, 0, (size_t)t.width * sizeof *sum);
            memset(y, 0, (size_t)t.width * sizeof *y);
            for (int64_t j = first; j < first + t.k.length; ++j) {
                if (t.vis[j] <= t.lim[i]) {
                    ref_axpy(t.width, 1, t.q.x + j * t.q.ld + at, sum);
                }
            }
            for (int64_t j = first; j < first + t.k.length; ++j) {
                if (t.vis[j] <= t.lim[i]) {
                    cs_real dot = ref_dot(t.width, sum, t.k.x + j * t.k.ld + at);
                    ref_axpy(t.width, factor * dot, t.v.x + j * t.v.ld + at, y);
                }
            }
        }
    }
    return CS_OK;
}

/* With f = n^-power and e_j = f (y'[i] . v[j]):  Q'[i] = sum_j e_j k[j], q'[j] += Q'[i],
 * k'[j] += e_j Q[i], v'[j] += f (Q[i] . k[j]) y'[i], over the keys j that row i sees. */
static cs_status ref_linear_attention_back(const cs_run *run, const cs_op *op)
{
    ref_attention_view t = ref_attention_of(run, &op->attention);
    cs_real *dq = ref_operand(run, t.o->q).grad, *dk = ref_operand(run, t.o->k).grad;
    cs_real *dv = ref_operand(run, t.o->v).grad;
    for (int64_t h = 0; h < t.o->heads; ++h) {
        for (int64_t i = 0; i < t.y.rows; ++i) {
            int64_t first = i / t.y.length * t.k.length, at = h * t.width;
            cs_real factor = ref_pooled_factor(&t, i, first);
            const cs_real *sum = t.sum.x + i * t.sum.ld + at, *dy = t.y.grad + i * t.y.ld + at;
            for (int64_t j = first; j < first + t.k.length; ++j) {
                if (t.vis[j] > t.lim[i]) {
                    continue;
                }
                const cs_real *kj = t.k.x + j * t.k.ld + at;
                cs_real e = factor * ref_dot(t.width, dy, t.v.x + j * t.v.ld + at);
                if (dk) {
                    ref_axpy(t.width, e, sum, dk + j * t.k.ld + at);
                }
                if (dv) {
                    ref_axpy(t.width, factor * ref_dot(t.width, sum, kj), dy, dv + j * t.v.ld + at);
                }
                for (int64_t u = first; dq && u < first + t.k.length; ++u) {
                    if (t.vis[u] <= t.lim[i]) {
                        ref_axpy(t.width, e, kj, dq + u * t.q.ld + at);
                    }
                }
            }
        }
    }
    return CS_OK;
}
