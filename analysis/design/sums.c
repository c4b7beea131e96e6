/* With p_S = w(S, .) / W(S), R = sum_S W(S) p_S p_S', G = df/dR entry by entry and h = df/dw(.), the
 * derivative with respect to w(S, k) is
 *
 *     2 (G p_S)_k - p_S' G p_S + h_k
 *
 * (W(S) and w(k) are sums of the w(S, k), so that no marginal has to be fixed for it to be right).
 *
 *     toy       sum_kl R_kl^2 / (w_k w_l)    G_kl = 2 R_kl / (w_k w_l), h_k = -sum_l 2 R_kl^2 / (w_k^2 w_l)
 *     kernel    sum_kl R_kl^2; sum_k R_kk    G = 2 R; I
 *     stream    r' Gram r; (Gram r)_0        G_kl = 2 (Gram r)_|k-l|; Gram_0|k-l|
 *
 * with r_e the sum of R over |k - l| = e. Where a context or a target has no weight the sum has a kink;
 * the gradient at masses of 1e-100 is one of the limits from within, hence a subgradient there,
 * and all that the bound needs.
 */
#include "analysis/design/family_private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double no_mass = 1e-100;

cs_status cs_design_sums_init(const cs_design_problem *problem, const cs_family *family,
                              cs_pool *pool, cs_design_sums *out)
{
    const int64_t s = family->s;
    *out = (cs_design_sums){.problem = problem,
                            .family = family,
                            .inner = cs_pool_take(pool, family->masses, sizeof(double)),
                            .context = cs_pool_take(pool, family->events.sets, sizeof(double)),
                            .target = cs_pool_take(pool, s, sizeof(double)),
                            .kernel = cs_pool_take(pool, s * s, sizeof(double)),
                            .slope = cs_pool_take(pool, s * s, sizeof(double)),
                            .by_target = cs_pool_take(pool, 2 * s, sizeof(double))};
    return pool->status;
}

/* R, W and w of the masses. */
static void form_kernel(cs_design_sums *sums)
{
    const cs_family *f = sums->family;
    const cs_pairs *p = &f->events;
    const int64_t s = f->s;
    const double *y = sums->inner;
    double *r = sums->kernel, on = 0, off = 0, shared = 0;
    for (int64_t e = p->events; e < f->masses; ++e) { /* every set of m = e - events as often */
        const double n = (double)(s - (e - p->events));
        on += y[e] / n / (double)s;
        off += s > 1 ? y[e] * (1 - 1 / n) / (double)(s * (s - 1)) : 0;
        shared += y[e] / (double)s;
    }
    for (int64_t k = 0; k < s; ++k) {
        sums->target[k] = shared;
        for (int64_t l = 0; l < s; ++l) {
            r[k * s + l] = k == l ? on : off;
        }
    }
    for (int64_t c = 0; c < p->sets; ++c) {
        sums->context[c] = 0;
        for (int64_t a = f->first[c]; a < f->first[c + 1]; ++a) {
            sums->context[c] += y[a];
            sums->target[p->target[a]] += y[a];
        }
        for (int64_t a = f->first[c]; a < f->first[c + 1]; ++a) {
            double *to = r + p->target[a] * s;
            const double factor = y[a] / sums->context[c];
            for (int64_t b = f->first[c]; b < f->first[c + 1]; ++b) {
                to[p->target[b]] += factor * y[b];
            }
        }
    }
}

/* h into by_target. Positions that are never a target have no part in it. */
static double toy(int64_t s, const double *r, const double *w, double *slope, double *by_target)
{
    double value = 0;
    for (int64_t k = 0; k < s; ++k) {
        by_target[k] = 0;
        for (int64_t l = 0; l < s; ++l) {
            const bool none = !(w[k] > 0 && w[l] > 0);
            const double share = none ? 0 : r[k * s + l] / w[k];
            const double term = none ? 0 : share * (r[k * s + l] / w[l]);
            slope[k * s + l] = none ? 0 : 2 * share / w[l];
            by_target[k] -= none ? 0 : 2 * term / w[k];
            value += term;
        }
    }
    return value;
}

static double kernel(bool fourth, int64_t s, const double *r, double *slope)
{
    double value = 0;
    for (int64_t i = 0; i < s * s; ++i) {
        const double one = i % (s + 1) == 0;
        value += fourth ? r[i] * r[i] : one * r[i];
        slope[i] = fourth ? 2 * r[i] : one;
    }
    return value;
}

/* work: 2 s numbers. */
static double stream(bool fourth, int64_t s, const double *gram, const double *r, double *work,
                     double *slope)
{
    double *lag = work, *image = work + s, value = 0;
    memset(work, 0, (size_t)(2 * s) * sizeof *work);
    for (int64_t i = 0; i < s * s; ++i) {
        lag[labs(i / s - i % s)] += r[i];
    }
    for (int64_t i = 0; i < s * s; ++i) {
        image[i / s] += gram[i] * lag[i % s];
    }
    for (int64_t e = 0; e < s; ++e) {
        value += fourth ? lag[e] * image[e] : gram[e] * lag[e];
    }
    for (int64_t i = 0; i < s * s; ++i) {
        const int64_t e = labs(i / s - i % s);
        slope[i] = fourth ? 2 * image[e] : gram[e];
    }
    return value;
}

double cs_design_sum_of(const cs_design_problem *problem, const double *kernel_of,
                        const double *target, double *slope, double *by_target)
{
    const bool fourth = problem->sum == CS_DESIGN_SIGMA4;
    const int64_t s = problem->length;
    double value = 0;
    switch (problem->matrix) {
    case CS_DESIGN_TOY:
        return toy(s, kernel_of, target, slope, by_target);
    case CS_DESIGN_KERNEL:
        value = kernel(fourth, s, kernel_of, slope);
        break;
    case CS_DESIGN_STREAM:
        value = stream(fourth, s, problem->gram, kernel_of, by_target, slope);
        break;
    }
    memset(by_target, 0, (size_t)s * sizeof *by_target);
    return value;
}

/* The derivative with respect to the masses of context c from its run. */
static void differentiate(const cs_design_sums *sums, const double *by_target, int64_t c,
                          double *gradient)
{
    const cs_family *f = sums->family;
    const int32_t *target = f->events.target;
    double form = 0;
    for (int64_t a = f->first[c]; a < f->first[c + 1]; ++a) {
        const double *slope = sums->slope + target[a] * f->s;
        double sum = 0;
        for (int64_t b = f->first[c]; b < f->first[c + 1]; ++b) {
            sum += slope[target[b]] * sums->inner[b];
        }
        sum /= sums->context[c];
        form += sum * sums->inner[a] / sums->context[c];
        gradient[a] = 2 * sum + by_target[target[a]];
    }
    for (int64_t a = f->first[c]; a < f->first[c + 1]; ++a) {
        gradient[a] -= form;
    }
}

double cs_design_sum_at(cs_design_sums *sums, const double *y, double *gradient)
{
    const cs_family *f = sums->family;
    const int64_t s = f->s, events = f->events.events;
    double *by_target = sums->by_target, on = 0, all = 0, shared = 0;
    for (int64_t i = 0; i < f->masses; ++i) {
        sums->inner[i] = fmax(y[i], no_mass);
    }
    form_kernel(sums);
    const double value =
        cs_design_sum_of(sums->problem, sums->kernel, sums->target, sums->slope, by_target);
    for (int64_t c = 0; c < f->events.sets; ++c) {
        differentiate(sums, by_target, c, gradient);
    }
    for (int64_t i = 0; i < s * s; ++i) {
        all += sums->slope[i];
        on += i % (s + 1) == 0 ? sums->slope[i] : 0;
    }
    for (int64_t k = 0; k < s; ++k) {
        shared += by_target[k] / (double)s;
    }
    for (int64_t e = events; e < f->masses; ++e) {
        const double n = (double)(s - (e - events));
        gradient[e] = on / n / (double)s + shared +
                      (s > 1 ? (all - on) * (1 - 1 / n) / (double)(s * (s - 1)) : 0);
    }
    return value;
}
