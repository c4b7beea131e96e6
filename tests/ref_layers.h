/* Part of backend_ref.c: linear maps, embeddings, rows moved, sums and norms. */
#pragma once

#include "tensor/rotate.h"

#include "ref_scalar.h"

/* --- linear: y = act(z), z = x w^T + b -------------------------------------------------------- */

static const cs_real ref_gelu_c = (cs_real)0.79788456080286535588; /* sqrt(2 / pi) */
static const cs_real ref_gelu_a = (cs_real)0.044715;
static const cs_real ref_sqrt_half = (cs_real)0.70710678118654752440;
static const cs_real ref_half = (cs_real)0.5;

/* GELU (Hendrycks and Gimpel 2016): z Phi(z), exactly by erf or by
 * z (1 + tanh(sqrt(2/pi) (z + 0.044715 z^3))) / 2. */
static cs_real ref_activate(cs_activation act, cs_real z)
{
    switch (act) {
    case CS_ACT_GELU_TANH:
        return ref_half * z * (1 + tanh(ref_gelu_c * (z + ref_gelu_a * z * z * z)));
    case CS_ACT_GELU_ERF:
        return ref_half * z * (1 + erf(z * ref_sqrt_half));
    case CS_ACT_RELU: /* NaN is kept */
        return z < 0 ? 0 : z;
    case CS_ACT_TANH:
        return tanh(z);
    case CS_ACT_SILU:
        return z / (1 + exp(-z));
    case CS_ACT_RELU2:
        return z < 0 ? 0 : z * z;
    case CS_ACT_QUICK_GELU:
        return z / (1 + exp(-(cs_real)1.702 * z));
    default:
        return z;
    }
}

/* act'(z); that of ReLU at 0 is 0. */
static cs_real ref_slope(cs_activation act, cs_real z)
{
    cs_real t;
    switch (act) {
    case CS_ACT_GELU_TANH:
        t = tanh(ref_gelu_c * (z + ref_gelu_a * z * z * z));
        return ref_half * (1 + t) +
               ref_half * z * (1 - t * t) * ref_gelu_c * (1 + 3 * ref_gelu_a * z * z);
    case CS_ACT_GELU_ERF: /* Phi(z) + z phi(z) */
        return ref_half * (1 + erf(z * ref_sqrt_half)) +
               z * ref_half * ref_gelu_c * exp(-ref_half * z * z);
    case CS_ACT_RELU:
        return z > 0 ? 1 : 0;
    case CS_ACT_TANH:
        t = tanh(z);
        return 1 - t * t;
    case CS_ACT_SILU: /* s + z s (1 - s) */
        t = 1 / (1 + exp(-z));
        return t + z * t * (1 - t);
    case CS_ACT_RELU2:
        return z > 0 ? 2 * z : 0;
    case CS_ACT_QUICK_GELU:
        t = 1 / (1 + exp(-(cs_real)1.702 * z));
        return t + (cs_real)1.702 * z * t * (1 - t);
    default:
        return 1;
    }
}

static cs_status ref_linear(const cs_run *run, const cs_op *op)
{
    const cs_op_linear *o = &op->linear;
    ref_matrix x = ref_of(run, o->x.tensor), w = ref_of(run, o->w.tensor);
    ref_matrix b = ref_of(run, o->b.tensor), z = ref_of(run, o->z), y = ref_of(run, o->y);
    for (int64_t r = 0; r < y.rows; ++r) {
        for (int64_t c = 0; c < y.cols; ++c) {
            cs_real sum = b.x ? b.x[c] : 0;
            for (int64_t i = 0; i < x.cols; ++i) {
                sum += x.x[r * x.ld + i] * w.x[c * w.ld + i];
            }
            if (z.x) {
                z.x[r * z.ld + c] = sum;
            }
            y.x[r * y.ld + c] = ref_activate(o->act, sum);
        }
    }
    return CS_OK;
}

/* z' = y' act'(z), x' += z' w, w' += z'^T x, b' += column sums of z' */
static cs_status ref_linear_back(const cs_run *run, const cs_op *op)
{
    const cs_op_linear *o = &op->linear;
    ref_matrix x = ref_operand(run, o->x), w = ref_operand(run, o->w), b = ref_operand(run, o->b);
    ref_matrix z = ref_of(run, o->z), y = ref_of(run, o->y);
    for (int64_t r = 0; r < y.rows; ++r) {
        for (int64_t c = 0; c < y.cols; ++c) {
            cs_real dz = y.grad[r * y.ld + c];
            if (o->act != CS_ACT_NONE) {
                dz *= ref_slope(o->act, z.x[r * z.ld + c]);
            }
            for (int64_t i = 0; i < x.cols; ++i) {
                if (x.grad) {
                    x.grad[r * x.ld + i] += dz * w.x[c * w.ld + i];
                }
                if (w.grad) {
                    w.grad[c * w.ld + i] += dz * x.x[r * x.ld + i];
                }
            }
            if (b.grad) {
                b.grad[c] += dz;
            }
        }
    }
    return CS_OK;
}

/* --- embed: y[r] = x[r] + sum_t table_t[index_t[r]] ------------------------------------------- */

static cs_status ref_embed(const cs_run *run, const cs_op *op)
{
    const cs_op_embed *o = &op->embed;
    ref_matrix x = ref_of(run, o->x.tensor), y = ref_of(run, o->y);
    for (int64_t r = 0; r < y.rows; ++r) {
        for (int64_t c = 0; c < y.cols; ++c) {
            y.x[r * y.ld + c] = x.x ? x.x[r * x.ld + c] : 0;
        }
    }
    for (int t = 0; t < CS_EMBED_TABLES && o->table[t].tensor != CS_NONE; ++t) {
        ref_matrix table = ref_of(run, o->table[t].tensor);
        const int32_t *index = cs_run_ints(run, o->index[t]);
        for (int64_t r = 0; r < y.rows; ++r) {
            for (int64_t c = 0; index[r] >= 0 && c < y.cols; ++c) {
                y.x[r * y.ld + c] += table.x[index[r] * table.ld + c];
            }
        }
    }
    return CS_OK;
}

/* x' += y', table_t'[index_t[r]] += y'[r] */
static cs_status ref_embed_back(const cs_run *run, const cs_op *op)
{
    const cs_op_embed *o = &op->embed;
    ref_matrix x = ref_operand(run, o->x), y = ref_of(run, o->y);
    for (int64_t r = 0; x.grad && r < y.rows; ++r) {
        for (int64_t c = 0; c < y.cols; ++c) {
            x.grad[r * x.ld + c] += y.grad[r * y.ld + c];
        }
    }
    for (int t = 0; t < CS_EMBED_TABLES && o->table[t].tensor != CS_NONE; ++t) {
        ref_matrix table = ref_operand(run, o->table[t]);
        const int32_t *index = cs_run_ints(run, o->index[t]);
        for (int64_t r = 0; table.grad && r < y.rows; ++r) {
            for (int64_t c = 0; index[r] >= 0 && c < y.cols; ++c) {
                table.grad[index[r] * table.ld + c] += y.grad[r * y.ld + c];
            }
        }
    }
    return CS_OK;
}

/* --- gather: y[r] = x[index[r]] --------------------------------------------------------------- */

static cs_status ref_gather(const cs_run *run, const cs_op *op)
{
    const cs_op_gather *o = &op->gather;
    ref_matrix x = ref_of(run, o->x.tensor), y = ref_of(run, o->y);
    const int32_t *index = cs_run_ints(run, o->index);
    for (int64_t r = 0; r < y.rows; ++r) {
        for (int64_t c = 0; c < y.cols; ++c) {
            y.x[r * y.ld + c] = index[r] >= 0 ? x.x[index[r] * x.ld + c] : 0;
        }
    }
    return CS_OK;
}

/* x'[index[r]] += y'[r] */
static cs_status ref_gather_back(const cs_run *run, const cs_op *op)
{
    const cs_op_gather *o = &op->gather;
    ref_matrix x = ref_operand(run, o->x), y = ref_of(run, o->y);
    const int32_t *index = cs_run_ints(run, o->index);
    for (int64_t r = 0; r < y.rows; ++r) {
        for (int64_t c = 0; index[r] >= 0 && c < y.cols; ++c) {
            x.grad[index[r] * x.ld + c] += y.grad[r * y.ld + c];
        }
    }
    return CS_OK;
}

/* --- add: y = a + drop_p(b) ------------------------------------------------------------------- */

static cs_status ref_add(const cs_run *run, const cs_op *op)
{
    const cs_op_add *o = &op->add;
    ref_matrix a = ref_of(run, o->a.tensor), b = ref_of(run, o->b.tensor), y = ref_of(run, o->y);
    ref_dropout drop = ref_dropout_of(run, op, 0, o->p);
    for (int64_t r = 0; r < y.rows; ++r) {
        for (int64_t c = 0; c < y.cols; ++c) {
            cs_real sum = a.x ? a.x[r * a.ld + c] : 0;
            y.x[r * y.ld + c] = sum + b.x[r * b.ld + c] * ref_keep(&drop, r, c);
        }
    }
    return CS_OK;
}

/* a' += y', b' += y' keep / (1 - p) */
static cs_status ref_add_back(const cs_run *run, const cs_op *op)
{
    const cs_op_add *o = &op->add;
    ref_matrix a = ref_operand(run, o->a), b = ref_operand(run, o->b), y = ref_of(run, o->y);
    ref_dropout drop = ref_dropout_of(run, op, 0, o->p);
    for (int64_t r = 0; r < y.rows; ++r) {
        for (int64_t c = 0; c < y.cols; ++c) {
            cs_real dy = y.grad[r * y.ld + c];
            if (a.grad) {
                a.grad[r * a.ld + c] += dy;
            }
            if (b.grad) {
                b.grad[r * b.ld + c] += dy * ref_keep(&drop, r, c);
            }
        }
    }
    return CS_OK;
}

/* --- layer norm: s = x + drop_p(r), y = (s - mean) rstd gain + bias, by parts of rows --------- */

static cs_status ref_layer_norm(const cs_run *run, const cs_op *op)
{
    const cs_op_layer_norm *o = &op->layer_norm;
    ref_matrix x = ref_of(run, o->x.tensor), res = ref_of(run, o->r.tensor);
    ref_matrix gain = ref_of(run, o->gain.tensor), bias = ref_of(run, o->bias.tensor);
    ref_matrix s = res.x ? ref_of(run, o->s) : x, y = ref_of(run, o->y);
    ref_matrix mean = ref_of(run, o->mean), rstd = ref_of(run, o->rstd);
    ref_dropout drop = ref_dropout_of(run, op, 0, o->p);
    const int64_t part = x.cols / o->groups;
    cs_real n = (cs_real)part;
    for (int64_t i = 0; i < y.rows * o->groups; ++i) {
        const int64_t r = i / o->groups, g = i % o->groups, first = g * part;
        cs_real *sr = s.x + r * s.ld + first;
        cs_real sum = 0, square = 0;
        for (int64_t c = 0; res.x && c < part; ++c) {
            sr[c] = x.x[r * x.ld + first + c] +
                    res.x[r * res.ld + first + c] * ref_keep(&drop, r, first + c);
        }
        for (int64_t c = 0; c < part; ++c) {
            sum += sr[c];
        }
        cs_real mu = o->rms ? 0 : sum / n;
        for (int64_t c = 0; c < part; ++c) {
            square += (sr[c] - mu) * (sr[c] - mu);
        }
        cs_real rs = 1 / sqrt(square / n + (cs_real)o->eps);
        for (int64_t c = 0; c < part; ++c) {
            const int64_t at = gain.cols > part ? first + c : c;
            y.x[r * y.ld + first + c] = (sr[c] - mu) * rs * gain.x[at] + (bias.x ? bias.x[at] : 0);
        }
        mean.x[r * mean.ld + g] = mu;
        rstd.x[r * rstd.ld + g] = rs;
    }
    return CS_OK;
}

/* With n = (s - mean) rstd and g = y' gain:
 *   s' = rstd (g - mean(g) - n mean(g n)) + (existing s', where s_used); rms: without mean(g),
 *   x' += s', r' += s' keep / (1 - p), gain' += sum_r y' n, bias' += sum_r y'. */
static cs_status ref_layer_norm_back(const cs_run *run, const cs_op *op)
{
    const cs_op_layer_norm *o = &op->layer_norm;
    ref_matrix x = ref_operand(run, o->x), res = ref_operand(run, o->r);
    ref_matrix gain = ref_operand(run, o->gain), bias = ref_operand(run, o->bias);
    ref_matrix s = res.x ? ref_of(run, o->s) : x, y = ref_of(run, o->y);
    ref_matrix mean = ref_of(run, o->mean), rstd = ref_of(run, o->rstd);
    ref_dropout drop = ref_dropout_of(run, op, 0, o->p);
    const int64_t part = x.cols / o->groups;
    for (int64_t i = 0; i < y.rows * o->groups; ++i) {
        const int64_t r = i / o->groups, first = i % o->groups * part;
        const cs_real *sr = s.x + r * s.ld + first, *dy = y.grad + r * y.ld + first;
        cs_real mu = mean.x[r * mean.ld + i % o->groups], rs = rstd.x[r * rstd.ld + i % o->groups];
        cs_real mean_g = 0, mean_gn = 0;
        for (int64_t c = 0; c < part; ++c) {
            const int64_t at = gain.cols > part ? first + c : c;
            cs_real n = (sr[c] - mu) * rs, g = dy[c] * gain.x[at];
            mean_g += g;
            mean_gn += g * n;
            if (gain.grad) {
                gain.grad[at] += dy[c] * n;
            }
            if (bias.grad) {
                bias.grad[at] += dy[c];
            }
        }
        mean_g = o->rms ? 0 : mean_g / (cs_real)part;
        mean_gn /= (cs_real)part;
        for (int64_t c = 0; c < part; ++c) {
            cs_real n = (sr[c] - mu) * rs;
            cs_real ds =
                rs * (dy[c] * gain.x[gain.cols > part ? first + c : c] - mean_g - n * mean_gn);
            if (o->s_used) {
                ds += s.grad[r * s.ld + first + c];
            }
            if (x.grad) {
                x.grad[r * x.ld + first + c] += ds;
            }
            if (res.grad) {
                res.grad[r * res.ld + first + c] += ds * ref_keep(&drop, r, first + c);
            }
        }
    }
    return CS_OK;
}

/* --- rotate: pairs of columns by the angle frequency[i] position ------------------------------ */

/* to = row `from` turned by the angle; back: to += row `from` turned by its opposite. */
/* The largest position of the sequence of row r. */
static int64_t ref_last(const cs_op_rotate *o, const cs_run *run, const ref_matrix *y, int64_t r)
{
    const int64_t length = y->length, first = r / length * length;
    int64_t last = 0;
    for (int64_t i = first; i < first + length; ++i) {
        const int32_t at = cs_run_ints(run, o->position)[i];
        last = at > last ? at : last;
    }
    return last;
}

static void ref_turn(const cs_op_rotate *o, const ref_matrix *frequency, int32_t position,
                     int64_t last, int64_t cols, const cs_real *from, bool back, cs_real *to)
{
    const int64_t n = frequency->cols / (o->longer.table ? 2 : 1), width = cols / o->heads;
    for (int64_t c = 0; c < cols; ++c) {
        const int64_t at = c % width, turning = position < 0 ? 0 : 2 * n;
        cs_real y = from[c];
        if (at < turning) {
            const int64_t i = o->pairs ? at / 2 : at % n;
            const bool second = o->pairs ? at % 2 : at >= n;
            const int64_t other = o->pairs ? (second ? c - 1 : c + 1) : (second ? c - n : c + n);
            const double f = (double)frequency->x[i],
                         longer = o->longer.table ? (double)frequency->x[n + i] : f;
            double angle = cs_rotate_frequency(o, n, i, last, f, longer) * position;
            cs_real cosine = (cs_real)cos(angle), sine = (cs_real)sin(back ? -angle : angle);
            y = (cs_real)o->factor * (second ? from[c] * cosine + from[other] * sine
                                             : from[c] * cosine - from[other] * sine);
        }
        to[c] = back ? to[c] + y : y;
    }
}

static cs_status ref_rotate(const cs_run *run, const cs_op *op)
{
    const cs_op_rotate *o = &op->rotate;
    ref_matrix x = ref_of(run, o->x.tensor), f = ref_of(run, o->frequency.tensor),
               y = ref_of(run, o->y);
    const int32_t *position = cs_run_ints(run, o->position);
    for (int64_t r = 0; r < y.rows; ++r) {
        ref_turn(o, &f, position[r], ref_last(o, run, &y, r), y.cols, x.x + r * x.ld, false,
                 y.x + r * y.ld);
    }
    return CS_OK;
}

static cs_status ref_rotate_back(const cs_run *run, const cs_op *op)
{
    const cs_op_rotate *o = &op->rotate;
    ref_matrix x = ref_operand(run, o->x), f = ref_of(run, o->frequency.tensor),
               y = ref_of(run, o->y);
    const int32_t *position = cs_run_ints(run, o->position);
    for (int64_t r = 0; x.grad && r < y.rows; ++r) {
        ref_turn(o, &f, position[r], ref_last(o, run, &y, r), y.cols, y.grad + r * y.ld, true,
                 x.grad + r * x.ld);
    }
    return CS_OK;
}

/* --- gate: y = outer act(inner x) g ----------------------------------------------------------- */

static cs_status ref_gate(const cs_run *run, const cs_op *op)
{
    const cs_op_gate *o = &op->gate;
    ref_matrix x = ref_of(run, o->x.tensor), g = ref_of(run, o->g.tensor), y = ref_of(run, o->y);
    for (int64_t r = 0; r < y.rows; ++r) {
        for (int64_t c = 0; c < y.cols; ++c) {
            cs_real a =
                (cs_real)o->outer * ref_activate(o->act, (cs_real)o->inner * x.x[r * x.ld + c]);
            y.x[r * y.ld + c] = g.x ? a * g.x[r * g.ld + c] : a;
        }
    }
    return CS_OK;
}

/* x' += outer inner act'(inner x) g y', g' += outer act(inner x) y' */
static cs_status ref_gate_back(const cs_run *run, const cs_op *op)
{
    const cs_op_gate *o = &op->gate;
    ref_matrix x = ref_operand(run, o->x), g = ref_operand(run, o->g), y = ref_of(run, o->y);
    const cs_real inner = (cs_real)o->inner, outer = (cs_real)o->outer;
    for (int64_t r = 0; r < y.rows; ++r) {
        for (int64_t c = 0; c < y.cols; ++c) {
            cs_real z = inner * x.x[r * x.ld + c], dy = outer * y.grad[r * y.ld + c];
            if (x.grad) {
                x.grad[r * x.ld + c] +=
                    inner * ref_slope(o->act, z) * dy * (g.x ? g.x[r * g.ld + c] : 1);
            }
            if (g.grad) {
                g.grad[r * g.ld + c] += ref_activate(o->act, z) * dy;
            }
        }
    }
    return CS_OK;
}

/* --- experts ---------------------------------------------------------------------------------- */

/* The number of experts before e in the order of their scores. */
static int64_t ref_experts_before(const cs_real *score, int64_t experts, int64_t e)
{
    int64_t before = 0;
    for (int64_t i = 0; i < experts; ++i) {
        before += score[i] > score[e] || (i < e && !(score[i] < score[e]));
    }
    return before;
}

static cs_status ref_experts(const cs_run *run, const cs_op *op)
{
    const cs_op_experts *o = &op->experts;
    const ref_matrix x = ref_of(run, o->x.tensor), z = ref_of(run, o->scores.tensor),
                     in = ref_of(run, o->in.tensor), out = ref_of(run, o->out.tensor),
                     y = ref_of(run, o->y);
    for (int64_t r = 0; r < x.rows; ++r) {
        const cs_real *row = x.x + r * x.ld, *score = z.x + r * z.ld;
        cs_real sum = 0;
        for (int64_t e = 0; e < z.cols; ++e) {
            const bool counts = !o->normalised || ref_experts_before(score, z.cols, e) < o->chosen;
            sum += counts ? (cs_real)exp(score[e]) : 0;
        }
        for (int64_t c = 0; c < y.cols; ++c) {
            y.x[r * y.ld + c] = 0;
        }
        for (int64_t e = 0; e < z.cols; ++e) {
            for (int64_t u = 0; u < out.cols && ref_experts_before(score, z.cols, e) < o->chosen;
                 ++u) {
                const cs_real *a = in.x + (2 * e * out.cols + u) * in.ld, *b = a + out.cols * in.ld;
                cs_real of_a = 0, of_b = 0;
                for (int64_t i = 0; i < x.cols; ++i) {
                    of_a += a[i] * row[i];
                    of_b += b[i] * row[i];
                }
                const cs_real unit =
                    (cs_real)exp(score[e]) / sum * ref_activate(o->act, of_a) * of_b;
                for (int64_t c = 0; c < y.cols; ++c) {
                    y.x[r * y.ld + c] += unit * out.x[(e * y.cols + c) * out.ld + u];
                }
            }
        }
    }
    return CS_OK;
}

/* No graph with experts is trained. */
static cs_status ref_experts_back(const cs_run *run, const cs_op *op)
{
    (void)run;
    (void)op;
    return cs_fail(CS_ERR_USAGE, "experts have no gradient");
}
