/* Margins and p by their definitions; p by regula falsi with halved weights (Illinois;
 * tridiagonal.c), within a factor of two of its logarithm. */
#include "stats/decide.h"

#include <math.h>
#include <stdlib.h>

#include "base/auto.h"
#include "base/ints.h"
#include "base/mem.h"
#include "base/vector_ops.h"
#include "stats/moderated.h"

static const double given_away = 0.4; /* of s0^2: see the header */

cs_error_part cs_error_of(double se, double freedom)
{
    return (cs_error_part){.variance = se * se, .freedom = freedom};
}

cs_error_part cs_error_of_seeds(const cs_prior *prior, cs_seeds side, cs_seeds other)
{
    if (side.count == 0) {
        return (cs_error_part){0};
    }
    const double n = (double)side.count, nu = n - 1;
    const cs_variance m = cs_moderated(prior, (cs_variance){side.variance, nu});
    /* one seed has no variance */
    const double off = side.count == other.count && nu > 0 ? given_away * prior->variance / nu : 0;
    return (cs_error_part){m.variance / n, m.freedom, fmax(0, side.variance - off) / n, nu};
}

static double square_of_part(const cs_error_part *p, double alpha)
{
    double most = 0, t;
    if (!(p->variance <= 0)) { /* NaN goes on */
        t = cs_student_point(alpha, p->freedom);
        most = t * t * p->variance;
    }
    if (p->own > 0) {
        t = cs_student_point(alpha, p->own_freedom);
        most = t * t * p->own > most ? t * t * p->own : most;
    }
    return most;
}

double cs_margin(int count, const cs_error_part *part, double alpha)
{
    double square = 0;
    for (int i = 0; i < count; ++i) {
        square += square_of_part(&part[i], alpha);
    }
    return sqrt(square);
}

/* The logarithm of the margin over |d| at the level exp(-e^v): it rises with v. */
static double excess(int count, const cs_error_part *part, double off, double v)
{
    return log(cs_margin(count, part, exp(-exp(v))) / off);
}

double cs_decision_p(int count, const cs_error_part *part, double d)
{
    enum { STEPS = 100 };
    static const double most = 6.53669159759130; /* log 690: exp(-690) is above the least double */
    const double off = fabs(d), any = cs_margin(count, part, 0.5);
    if (isnan(off) || isnan(any)) {
        return NAN;
    }
    if (off == 0 || any == 0) {
        return off == 0;
    }
    /* decided at v[0], undecided at v[1] */
    double v[2] = {0, 0}, y[2];
    y[0] = y[1] = excess(count, part, off, 0);
    const int side = y[0] < 0; /* the end that moves until the root is between them */
    while ((y[side] < 0) == side) {
        if (side ? v[1] >= most : v[0] < -37) {
            return !side; /* -37: the level is 1 within rounding */
        }
        v[!side] = v[side];
        y[!side] = y[side];
        v[side] = side ? fmin(v[1] + M_LN2, most) : v[0] - M_LN2;
        y[side] = excess(count, part, off, v[side]);
    }
    int kept = -1;
    for (int i = 0; i < STEPS && v[1] - v[0] > 1e-15 * fmax(1, fabs(v[0])); ++i) {
        double next = (v[0] * y[1] - v[1] * y[0]) / (y[1] - y[0]);
        if (!(next > v[0] && next < v[1])) {
            next = 0.5 * (v[0] + v[1]);
        }
        const double at = excess(count, part, off, next);
        const int end = !(at < 0);
        v[end] = next;
        y[end] = at;
        if (fabs(at) < 1e-15) {
            return exp(-exp(next));
        }
        if (kept == !end) {
            y[kept] *= 0.5; /* kept twice: halve its weight (Illinois rule) */
        }
        kept = !end;
    }
    return exp(-exp(v[0]));
}

double cs_small_p(int count, const cs_error_part *part, double d, double most)
{
    const double p = cs_decision_p(count, part, most - fabs(d));
    return isnan(p) || fabs(d) < most ? 0.5 * p : 1;
}

/* --- families --- */

typedef struct {
    double p;
    int64_t index;
} ranked;

CS_RISING(by_p, ranked, p, index)

cs_status cs_holm(int64_t count, const double *p, double *adjusted)
{
    CS_AUTO_FREE ranked *order = cs_alloc(count, sizeof *order);
    if (!order) return CS_ERR_MEMORY;
    int64_t known = 0;
    for (int64_t i = 0; i < count; ++i) {
        adjusted[i] = p[i];
        if (!isnan(p[i])) {
            order[known++] = (ranked){p[i], i};
        }
    }
    if (known > 0) {
        qsort(order, (size_t)known, sizeof *order, by_p);
    }
    double most = 0;
    for (int64_t i = 0; i < known; ++i) {
        most = fmax(most, fmin(1, (double)(known - i) * order[i].p));
        adjusted[order[i].index] = most;
    }
    return CS_OK;
}

double cs_holm_level(int64_t count, const double *adjusted, double alpha)
{
    int64_t known = 0, decided = 0;
    for (int64_t i = 0; i < count; ++i) {
        known += !isnan(adjusted[i]);
        decided += adjusted[i] <= alpha;
    }
    return alpha / (double)(known > decided ? known - decided : 1);
}

/* --- power ------------------------------------------------------------------------------------- */

/* The mean over what the variances may be estimated as. x = s^2 / sigma^2 is chi^2_nu / nu; the
 * logarithm of x has the density exp(nu / 2 (y - e^y)), up to a constant, and is taken at points
 * equally far apart, which for so smooth a density is exact to many digits. */

enum { POINTS = 48, MOST_SEEDS = 1000000 };

typedef struct {
    int count;
    double at[POINTS], weight[POINTS]; /* x and its probability */
} estimates;

/* The y on one side of 0 where the density has fallen by e^-16. */
static double end_of(double freedom, double step)
{
    double inner = 0, outer = step;
    while (0.5 * freedom * (exp(outer) - outer - 1) < 16) {
        inner = outer;
        outer *= 2;
    }
    for (int i = 0; i < 40; ++i) {
        const double middle = 0.5 * (inner + outer);
        *(0.5 * freedom * (exp(middle) - middle - 1) < 16 ? &inner : &outer) = middle;
    }
    return outer;
}

/* A quantity that is known exactly, or has no variance, has one point. */
static void estimate(double variance, double freedom, estimates *out)
{
    *out = (estimates){.count = 1, .at = {1}, .weight = {1}};
    if (!(variance > 0) || isinf(freedom)) {
        return;
    }
    const double low = end_of(freedom, -1e-4), high = end_of(freedom, 1e-4);
    out->count = POINTS;
    for (int i = 0; i < POINTS; ++i) {
        const double y = low + (high - low) * i / (POINTS - 1);
        out->at[i] = exp(y);
        out->weight[i] = exp(-0.5 * freedom * (exp(y) - y - 1));
    }
    (void)cs_to_one(POINTS, out->weight);
}

/* Squares of a side's part of the margin, by what its variance is estimated as. */
static void squares_of(const cs_prior *prior, double variance, const cs_seeds side[2], double alpha,
                       const estimates *e, double square[POINTS])
{
    for (int i = 0; i < e->count; ++i) {
        const cs_seeds seen = {variance > 0 ? side[0].count : 0, e->at[i] * variance};
        const cs_error_part part = cs_error_of_seeds(prior, seen, side[1]);
        const double margin = cs_margin(1, &part, alpha);
        square[i] = margin * margin;
    }
}

double cs_decision_power(const cs_plan_of_seeds *plan, int64_t n, double alpha)
{
    const double nu = (double)n - 1, d = fabs(plan->d);
    cs_prior prior = *plan->prior;
    prior.pooled = fmax(prior.pooled, 2 * nu); /* more seeds are in the pool too */
    const cs_seeds side[2] = {{plan->variance[0] > 0 ? n : 0, 0},
                              {plan->variance[1] > 0 ? n : 0, 0}};
    estimates e[3];
    double square[2][POINTS], sum = 0;
    for (int s = 0; s < 2; ++s) {
        estimate(plan->variance[s], nu, &e[s]);
        squares_of(&prior, plan->variance[s], (const cs_seeds[]){side[s], side[1 - s]}, alpha,
                   &e[s], square[s]);
    }
    estimate(plan->fixed.variance, plan->fixed.freedom, &e[2]);
    const double fixed = cs_margin(1, &plan->fixed, alpha);
    const double sigma =
        sqrt((plan->variance[0] + plan->variance[1]) / (double)n + plan->fixed.variance);
    for (int i = 0; i < e[0].count; ++i) {
        for (int j = 0; j < e[1].count; ++j) {
            for (int k = 0; k < e[2].count; ++k) {
                const double margin =
                    sqrt(square[0][i] + square[1][j] + fixed * fixed * e[2].at[k]);
                const double chance =
                    sigma > 0 ? 0.5 * erfc((margin - d) / sigma / sqrt(2)) : (double)(d > margin);
                sum += e[0].weight[i] * e[1].weight[j] * e[2].weight[k] * chance;
            }
        }
    }
    return sum;
}

int64_t cs_seeds_needed(const cs_plan_of_seeds *plan, double alpha)
{
    const double wanted = 0.8;
    int64_t low = 2, high = 3; /* too few, perhaps enough */
    if (!(cs_decision_power(plan, MOST_SEEDS, alpha) >= wanted)) {
        return 0;
    }
    while (high < MOST_SEEDS && cs_decision_power(plan, high, alpha) < wanted) {
        low = high;
        high = 2 * high < MOST_SEEDS ? 2 * high : MOST_SEEDS;
    }
    while (high - low > 1) {
        const int64_t middle = low + (high - low) / 2;
        *(cs_decision_power(plan, middle, alpha) < wanted ? &low : &high) = middle;
    }
    return high;
}
