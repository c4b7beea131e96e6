/* Power of the rule of decide.h: the mean over what the variances may be estimated as. x = s^2 /
 * sigma^2 is chi^2_nu / nu; the logarithm of x has the density exp(nu / 2 (y - e^y)), up to a
 * constant, and is taken at points equally far apart, which for so smooth a density is exact to many
 * digits.
 */
#include <math.h>

#include "base/reals.h"
#include "stats/decide.h"

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

/* What is known exactly, or of no variance, has one point. */
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
