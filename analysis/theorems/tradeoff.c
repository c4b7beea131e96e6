/* Trade-off between connectivity and generation; hull by Andrew's monotone chain (1979). */
#include "analysis/theorems/tradeoff.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/ints.h"
#include "plan/count.h"
#include "plan/pairs.h"
#include "toy/toy.h"

double cs_length_misalignment(int64_t s, int64_t m)
{
    double sum = 0.0;
    for (int64_t l = 1; l < s; ++l) {
        double ratio = l < m ? (double)l / (double)m : (double)m / (double)l;
        sum += 1.0 - ratio * ratio;
    }
    return sum / (double)(s - 1);
}

static double sigma_squared(int64_t s, int64_t m)
{
    return (double)m / ((double)(s - m) * (double)(s - 1));
}

/* Averages over the events of one length. Prefixes have a next token, distributions of sizes a
 * misalignment, and a mixture of both has both. */
static void average(const cs_pairs *pairs, cs_tradeoff *out)
{
    int64_t s = pairs->length;
    out->next_token_weight = pairs->prefixes ? 0.0 : NAN;
    out->misalignment = pairs->prefixes && !pairs->q ? NAN : 0.0;
    for (int64_t m = 0; m < s && pairs->q; ++m) {
        if (pairs->q[m] > 0.0) {
            out->misalignment += pairs->q[m] * (m > 0 ? cs_length_misalignment(s, m) : NAN);
            out->next_token_weight += pairs->q[m] / (cs_binomial(s, m) * (double)(s - m));
        }
    }
    for (int64_t e = 0; e < pairs->events; ++e) {
        int64_t m = cs_pairs_set_of(pairs, e).size;
        out->misalignment += pairs->weight[e] * (m > 0 ? cs_length_misalignment(s, m) : NAN);
        out->next_token_weight += pairs->target[e] == m ? pairs->weight[e] : 0;
    }
}

cs_status cs_tradeoff_of(const cs_objective *objective, int64_t s, cs_tradeoff *out)
{
    CS_AUTO(cs_pairs) pairs = {0};
    CS_AUTO(cs_toy_spectrum) spectrum = {0};
    cs_toy toy = {.objective = *objective, .classes = 1, .length = s, .tokens = 1};
    cs_tradeoff result = {0};
    cs_status status = cs_pairs_of(objective, s, &pairs);
    if (status == CS_OK) status = cs_toy_reduce(&toy, &spectrum);
    if (status != CS_OK) return status;
    average(&pairs, &result);
    if (spectrum.values > 0 && spectrum.multiplicity[0] > 1) {
        result.sigma2 = spectrum.sigma[0];
    } else if (spectrum.values > 1) {
        result.sigma2 = spectrum.sigma[1];
    }
    result.tail = spectrum.sum_sigma4 - 1.0; /* sigma_1 = 1 exactly */
    *out = result;
    return CS_OK;
}

typedef struct {
    double x, y;
    int64_t m;
} point;

CS_RISING(by_x, point, x, y)

/* Twice the signed area of the triangle: positive when c lies left of a -> b. */
static double turn(const point *a, const point *b, const point *c)
{
    return (b->x - a->x) * (c->y - a->y) - (b->y - a->y) * (c->x - a->x);
}

cs_status cs_frontier(int64_t s, int64_t *m, int64_t *count)
{
    if (s < 2) {
        return cs_fail(CS_ERR_USAGE, "length %lld is too short: the frontier needs at least 2",
                       (long long)s);
    }
    CS_AUTO_FREE point *p = cs_alloc(2 * (s - 1), sizeof *p);
    if (!p) return CS_ERR_MEMORY;
    point *hull = p + (s - 1);
    for (int64_t i = 1; i < s; ++i) {
        p[i - 1] = (point){cs_length_misalignment(s, i), sigma_squared(s, i), i};
    }
    qsort(p, (size_t)(s - 1), sizeof *p, by_x);
    int64_t n = 0;
    for (int64_t i = 0; i < s - 1; ++i) {
        while (n >= 2 && turn(&hull[n - 2], &hull[n - 1], &p[i]) <= 0.0) {
            --n;
        }
        hull[n++] = p[i];
    }
    int64_t kept = 1; /* beyond the lowest point more misalignment buys nothing */
    while (kept < n && hull[kept].y < hull[kept - 1].y) {
        ++kept;
    }
    for (int64_t i = 0; i < kept; ++i) {
        m[i] = hull[i].m;
    }
    *count = kept;
    return CS_OK;
}

/* Of an objective at length s. */
static void add_point(cs_item *points, const char *kind, int64_t s, const cs_objective *objective,
                      const cs_tradeoff *x)
{
    cs_item *item = cs_item_object(points, NULL);
    cs_item_text(item, "kind", kind);
    cs_item_take(item, "series", cs_objective_describe(objective));
    cs_item_take(item, "objective", cs_objective_describe(objective));
    cs_item_int(item, "length", s);
    CS_ITEM_FIELDS(item, x, next_token_weight, misalignment, sigma2, tail);
    if (strcmp(kind, "frontier") == 0) {
        cs_item_int(item, "~unmasked", objective->unmasked_lo);
    }
}

cs_status cs_tradeoff_add(const cs_objective *objective, int64_t s, cs_item *points)
{
    cs_tradeoff x;
    cs_status status = cs_tradeoff_of(objective, s, &x);
    if (status == CS_OK) {
        const char *kind = isnan(x.next_token_weight) ? "invariant"
                           : isnan(x.misalignment)    ? "prefix"
                                                      : "mixture";
        add_point(points, kind, s, objective, &x);
    }
    return status;
}

cs_status cs_frontier_add(int64_t s, cs_item *points)
{
    int64_t count = 0;
    CS_AUTO_FREE int64_t *m = cs_alloc(s, sizeof *m);
    cs_status status = m ? cs_frontier(s, m, &count) : CS_ERR_MEMORY;
    for (int64_t i = 0; i < count && status == CS_OK; ++i) {
        cs_objective objective = cs_objective_default(CS_OBJ_MASKED);
        objective.unmasked_lo = objective.unmasked_hi = m[i];
        cs_tradeoff x;
        status = cs_tradeoff_of(&objective, s, &x);
        if (status == CS_OK) add_point(points, "frontier", s, &objective, &x);
    }
    return status;
}
