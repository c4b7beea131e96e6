/* Theorem 4.3: one prefix and its unmasked sets: both sides of every statement.
 *
 * Errors: f^ is a mean of terms of norm T at most, formed with at most 4 s + width operations, so
 * it errs by gamma_m T; z^ = W f^ by ||W||_F gamma_{m + width} T. Sums f are the means times |X|^p.
 */
#include <float.h>
#include <math.h>

#include "analysis/theorems/theorem_43_private.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/vector_ops.h"

enum { FORMS = CS_BOUND_FORMS };

cs_generation_bound_column cs_generation_bound_read(const cs_generation_bound_walk *w,
                                                    const double *z, double own)
{
    cs_generation_bound_column c = {.z = z, .low = INFINITY, .high = -INFINITY};
    double largest = -INFINITY, sum = 0;
    for (int64_t y = 0; y < w->m->vocab; ++y) {
        c.square += z[y] * z[y];
        if (w->negative[y] > 0) {
            c.negative += w->negative[y] * z[y] * z[y];
            c.most = fmax(c.most, z[y] * z[y]);
            c.low = fmin(c.low, z[y]);
            c.high = fmax(c.high, z[y]);
        }
    }
    if (w->o.loss == CS_BOUND_CROSS_ENTROPY) {
        for (int64_t y = 0; y < w->m->vocab; ++y) {
            largest = fmax(largest, own * z[y]);
        }
        for (int64_t y = 0; y < w->m->vocab; ++y) {
            sum += exp(own * z[y] - largest);
        }
        c.entropy_term = largest + log(sum);
    }
    return c;
}

double cs_generation_bound_error(const cs_generation_bound_model *m,
                                 const cs_generation_bound_rows *r)
{
    return cs_generation_bound_gamma(8 * (double)r->n + 4 * (double)m->width + 32) * r->term *
           m->frobenius;
}

/* The model's own loss of predicting a token from a set of n: its z is n^(2 - pooling) z^. */
static double loss_of(const cs_generation_bound_walk *w, const cs_generation_bound_column *c,
                      int32_t target, double own)
{
    double plus = own * c->z[target];
    return w->o.loss == CS_BOUND_CROSS_ENTROPY ? c->entropy_term - plus
                                               : -w->o.factor * plus + own * own * c->negative;
}

void cs_generation_bound_take_delta(cs_generation_bound_walk *w, const cs_generation_bound_rows *r,
                                    const int32_t *token, const int32_t *set, int64_t n, int p,
                                    const cs_generation_bound_column *c)
{
    cs_generation_bound_form *f = &w->a->form[p];
    const double error = cs_generation_bound_error(w->m, r);
    const double scale = pow((double)n, p + 2);
    double low = INFINITY, high = -INFINITY;
    for (int64_t i = 0, at = 0; i < r->n; ++i) {
        if (at < n && set[at] == i) {
            ++at;
            continue;
        }
        low = fmin(low, c->z[token[i]]);
        high = fmax(high, c->z[token[i]]);
    }
    double delta = -scale * low + scale * scale * c->most;
    if (delta > f->delta.seen) {
        f->delta.seen = delta;
        f->delta.error = 8 * DBL_EPSILON * (scale * fabs(low) + scale * scale * c->most) +
                         scale * error * (1 + 2 * scale * sqrt(c->most) + scale * error);
    }
    f->delta.largest_plus = fmax(f->delta.largest_plus, -scale * low);
    double apart = fmax(fabs(c->high - low), fabs(high - c->low));
    f->delta.literal = fmax(f->delta.literal, scale * scale * apart * apart);
}

void cs_generation_bound_keep(cs_generation_bound_case *worst, double lhs, double rhs, double error,
                              int64_t sequence, int64_t k)
{
    cs_claim_state now = cs_claim_state_of(lhs, rhs, error);
    cs_claim_state before = cs_claim_state_of(worst->lhs, worst->rhs, worst->error);
    double size = fmax(fabs(lhs), fabs(rhs)), old = fmax(fabs(worst->lhs), fabs(worst->rhs));
    bool worse = worst->count == 0 || now < before ||
                 (now == before && (rhs - lhs) * old < (worst->rhs - worst->lhs) * size);
    worst->count += 1;
    if (worse) {
        worst->lhs = lhs;
        worst->rhs = rhs;
        worst->error = error;
        worst->sequence = sequence;
        worst->k = k;
    }
}

/* The slips of the printed proof, on sums: c (k-1)^p, C N^p. */
static void slips(cs_generation_bound_walk *w, const cs_generation_bound_place *at, int p,
                  const cs_generation_bound_column *pre, const cs_generation_bound_column *full,
                  double apart_f)
{
    cs_generation_bound_form *f = &w->a->form[p];
    const cs_generation_bound_eta *eta = &w->eta[at->sequence][p];
    const double c = pow((double)(at->k - 1), p + 2), n = pow((double)at->n, p + 2), wk = n - c;
    const double e = n * at->gamma_z, plus = pre->z[at->token[at->k - 1]],
                 full_plus = full->z[at->token[at->k - 1]];
    double between = 0;
    for (int64_t y = 0; y < w->m->vocab; ++y) {
        double d = n * full->z[y] - c * pre->z[y];
        between += d * d;
    }
    double lhs = (c * c * pre->square - 2 * c * plus + 1) / 2, half = between / 2;
    double rest = (n * n * full->square - 2 * n * full_plus + 1) / 2, sum = lhs + half + rest;
    double error = 4 * e * (3 * sqrt(2 * sum) + 3 * e) +
                   cs_generation_bound_gamma((double)w->m->vocab + 16) * 4 *
                       (sum + c * fabs(plus) + n * fabs(full_plus) + 1);
    cs_generation_bound_keep(&f->worst.triangle, lhs, half + rest, error, at->sequence, at->k);
    cs_generation_bound_keep(&f->worst.triangle_two, lhs, 2 * (half + rest), 2 * error,
                             at->sequence, at->k);
    double eps = n * apart_f, eps_error = 2 * n * at->gamma_f + 8 * DBL_EPSILON * eps;
    if (at->r->equal && eps <= eps_error) { /* both sides are 0 */
        return;
    }
    cs_generation_bound_keep(&f->worst.epsilon, eps * eps, wk * f->eta.value,
                             eps_error * (2 * eps + eps_error) + wk * f->eta.error, at->sequence,
                             at->k);
    cs_generation_bound_keep(&f->worst.epsilon_norm, eps, wk * eta->value,
                             eps_error + wk * (eta->error + 8 * DBL_EPSILON * eta->value),
                             at->sequence, at->k);
}

/* Both sides of the sharpened bound, and the right side that follows for a term of L_gen. */
typedef struct {
    double distance, delta, rhs, rhs_error;
} bound;

static bound sharpened(cs_generation_bound_walk *w, const cs_generation_bound_place *at, int p,
                       const cs_generation_bound_column *pre,
                       const cs_generation_bound_column *full)
{
    cs_generation_bound_form *f = &w->a->form[p];
    const cs_generation_bound_eta *eta = &w->eta[at->sequence][p];
    const int32_t target = at->token[at->k - 1];
    const double v = cs_generation_bound_gamma((double)w->m->vocab + 16);
    const double gap = 1 - pow((double)(at->k - 1) / (double)at->n, p + 2);
    const double delta = w->m->norm * eta->value * gap;
    const double delta_error = (w->m->norm_error * eta->value + w->m->norm * eta->error) * gap +
                               16 * DBL_EPSILON * w->m->norm * eta->value;
    double square = 0, worst = -INFINITY, mean = 0, most = 0, left = 0, right = 0;
    for (int64_t y = 0; y < w->m->vocab; ++y) {
        double d = full->z[y] - pre->z[y], a = fabs(full->z[y]) + delta;
        square += d * d;
        if (w->negative[y] > 0) {
            if (pre->z[y] * pre->z[y] - a * a > worst) {
                left = pre->z[y] * pre->z[y];
                right = a * a;
                worst = left - right;
            }
            mean += w->negative[y] * a * a;
            most = fmax(most, a);
        }
    }
    bound b = {.distance = sqrt(square), .delta = delta};
    double error = 2 * at->gamma_z + delta_error;
    b.rhs = -full->z[target] + delta + mean;
    b.rhs_error = error * (2 + 2 * most) + v * (fabs(full->z[target]) + delta + mean);
    double sharp = error + v * b.distance;
    if (at->k - 1 < at->n && !(at->r->equal && b.distance <= sharp)) {
        cs_generation_bound_keep(&f->worst.sharp, b.distance, delta, sharp, at->sequence, at->k);
        cs_generation_bound_keep(&f->worst.sharp_loss, -pre->z[target] + full->z[target] + left,
                                 delta + right,
                                 error * (2 + 4 * (most + sqrt(pre->most))) +
                                     8 * DBL_EPSILON * (most * most + pre->most),
                                 at->sequence, at->k);
    }
    return b;
}

static cs_status add_ratio(cs_generation_bound_walk *w, double two, double three)
{
    const double both[FORMS] = {two, three};
    for (int p = 0; p < FORMS; ++p) {
        cs_status status =
            cs_reserve(&w->ratio[p], &w->capacity[p], w->ratios + 1, sizeof *w->ratio[p]);
        if (status != CS_OK) return status;
        w->ratio[p][w->ratios] = both[p];
    }
    w->ratios += 1;
    return CS_OK;
}

static double apart(const cs_generation_bound_walk *w, int64_t a, int64_t b)
{
    const double *x = w->f.data + a * w->f.ld, *y = w->f.data + b * w->f.ld;
    double sum = 0;
    for (int64_t j = 0; j < w->m->width; ++j) {
        sum += (x[j] - y[j]) * (x[j] - y[j]);
    }
    return sqrt(sum);
}

static void widen(cs_generation_bound_form *f, double norm, double error)
{
    f->norm.error = fmax(f->norm.error, error);
    f->norm.low = fmin(f->norm.low, norm);
    f->norm.high = fmax(f->norm.high, norm);
}

/* L_gen's term for one prefix, of sums and of means. */
static void generation(cs_generation_bound_walk *w, const cs_generation_bound_place *at, int p,
                       const cs_generation_bound_column *pre)
{
    cs_generation_bound_form *f = &w->a->form[p];
    const double c = pow((double)(at->k - 1), p + 2), e = c * at->gamma_z, most = sqrt(pre->most);
    const double mean_plus = pre->z[at->token[at->k - 1]], plus = c * mean_plus;
    const double v = cs_generation_bound_gamma((double)w->m->vocab + 16), z = at->gamma_z;
    f->sums.gen += at->weight * (-plus + c * c * pre->negative);
    f->sums.error +=
        at->weight * (e * (1 + 2 * c * most + e) + v * (fabs(plus) + c * c * pre->negative));
    f->means.gen += at->weight * (-mean_plus + pre->negative);
    f->means.error += at->weight * (z * (1 + 2 * most + z) + v * (fabs(mean_plus) + pre->negative));
    widen(f, c * sqrt(pre->square), e + c * v * sqrt(pre->square));
    cs_generation_bound_keep(&f->worst.negative, c * c * pre->most, 1,
                             2 * e * c * most + e * e + 4 * DBL_EPSILON, at->sequence, at->k);
    double apart = fmax(fabs(c * pre->high - plus), fabs(plus - c * pre->low));
    f->delta.ar_literal = fmax(f->delta.ar_literal, apart * apart);
}

static void to_curve(cs_generation_bound_walk *w, const cs_generation_bound_place *at,
                     const double x[CS_BOUND_CURVE])
{
    int64_t document = w->text->document ? w->text->document[at->sequence] : at->sequence;
    cs_rng rng = cs_rng_at(w->o.seed, CS_STREAM_SPLIT, (uint64_t)document);
    int64_t block = cs_rng_below(&rng, w->o.blocks);
    cs_add_multiple(CS_BOUND_CURVE, 1, x,
                    w->a->curve + (block * w->a->lengths + at->k) * CS_BOUND_CURVE);
}

/* Loss of the other model on the prefix, which is in w->set. */
static double other_loss(cs_generation_bound_walk *w, const cs_generation_bound_place *at)
{
    const cs_generation_bound_model *m = w->o.against;
    const double own = pow((double)(at->k - 1), 2 - m->pooling);
    cs_generation_bound_features(at->other, w->set, at->k - 1, 2, w->scratch);
    cs_generation_bound_apply(m, w->scratch, w->other.data);
    cs_generation_bound_column c = cs_generation_bound_read(w, w->other.data, own);
    return loss_of(w, &c, at->token[at->k - 1], own);
}

/* Set number j of the prefix, in columns (j + 1) FORMS and after; `share` of the masks. */
static cs_status one_set(cs_generation_bound_walk *w, const cs_generation_bound_place *at,
                         int64_t j, double share,
                         const cs_generation_bound_column pre[CS_BOUND_FORMS],
                         double x[CS_BOUND_CURVE])
{
    const double own = pow((double)at->n, 2 - w->m->pooling);
    double ratio[FORMS] = {0};
    for (int p = 0; p < FORMS; ++p) {
        const int64_t col = (j + 1) * FORMS + p;
        const double sum = pow((double)at->n, p + 2), e = sum * at->gamma_z;
        cs_generation_bound_column full =
            cs_generation_bound_read(w, w->z.data + col * w->z.ld, own);
        bound b = sharpened(w, at, p, &pre[p], &full);
        w->a->form[p].means.rhs += at->weight * share * b.rhs;
        w->a->form[p].means.error += at->weight * share * b.rhs_error;
        widen(&w->a->form[p], sum * sqrt(full.square),
              e + cs_generation_bound_gamma((double)w->m->vocab) * sum * sqrt(full.square));
        ratio[p] = b.distance / b.delta;
        cs_generation_bound_take_delta(w, at->r, at->token, w->sets + j * w->longest, at->n, p,
                                       &full);
        if (at->k - 1 < at->n) {
            slips(w, at, p, &pre[p], &full, apart(w, col, p));
        }
        if (p == 0) {
            x[CS_BOUND_FULL_LOSS] += share * loss_of(w, &full, at->token[at->k - 1], own);
            x[CS_BOUND_DISTANCE] += share * b.distance;
            x[CS_BOUND_DELTA] = b.delta;
        }
    }
    w->a->cases += 1;
    w->a->whole += at->k - 1 == at->n;
    return at->k - 1 < at->n && !at->r->equal ? add_ratio(w, ratio[0], ratio[1]) : CS_OK;
}

cs_status cs_generation_bound_prefix(cs_generation_bound_walk *w,
                                     const cs_generation_bound_place *at, int64_t masks)
{
    const double own = pow((double)(at->k - 1), 2 - w->m->pooling);
    const double r = (double)(at->k - 1) / (double)at->n, n = (double)at->n;
    double x[CS_BOUND_CURVE] = {[CS_BOUND_N] = 1, [CS_BOUND_OTHER] = NAN};
    cs_generation_bound_column pre[FORMS];
    cs_status status = CS_OK;
    for (int p = 0; p < FORMS; ++p) {
        pre[p] = cs_generation_bound_read(w, w->z.data + p * w->z.ld, own);
        generation(w, at, p, &pre[p]);
    }
    for (int64_t j = 0; j < masks && status == CS_OK; ++j) {
        status = one_set(w, at, j, 1 / (double)masks, pre, x);
    }
    x[CS_BOUND_MISALIGNMENT] = 1 - r * r;
    x[CS_BOUND_W] = n * n * (1 - r * r);
    x[CS_BOUND_LOSS] = loss_of(w, &pre[0], at->token[at->k - 1], own);
    if (at->other) {
        x[CS_BOUND_OTHER] = other_loss(w, at);
    }
    x[CS_BOUND_GAP] = x[CS_BOUND_LOSS] - (at->other ? x[CS_BOUND_OTHER] : x[CS_BOUND_FULL_LOSS]);
    to_curve(w, at, x);
    return status;
}
