/* Feeding back what was predicted (LA, Table 8: pictures filled one patch by one, each from those
 * seen and those filled before, are said to come nearer in L2).
 *
 * x is predicted from u at once by E(x_2 | u); fed back, by g(u, E(x_1 | u)) with g(u, x_1) = E(x_2
 * | u, x_1). Both are functions of u, and E(x_2 | u) has the least mean squared error of all
 * functions of u, for every distribution. So the best model cannot gain. Of Gaussian x, g is linear
 * and the tower property makes the two the same,
 *
 *     E(x_2 | u, E(x_1 | u)) = E(x_2 | u),
 *
 * which is evaluated on fields of covariance rho^(|dy| + |dx|): g from cs_field_predict at every
 * step, composed step by step, and the error of the linear map that comes out from the covariance.
 * Of binary x in two classes g is not linear, and feeding back means counts one guess as evidence
 * for the next: by a sum over all values the error is larger. The true x_1 in place of the guess
 * does lower it. */
#include <float.h>
#include <math.h>
#include <stdio.h>

#include "analysis/measures/field_optimum.h"
#include "analysis/theorems/registry.h"
#include "base/auto.h"
#include "base/rng.h"

enum { SIDE = 8, PLACES = SIDE * SIDE, SEEN_BITS = 4 };

/* --- Gaussian fields --- */

static double covariance(double rho, int64_t a, int64_t b)
{
    const int64_t dy = a / SIDE - b / SIDE, dx = a % SIDE - b % SIDE;
    return pow(rho, (double)(llabs(dy) + llabs(dx)));
}

typedef struct {
    double rho;
    int64_t seen, group; /* of `order`: the first are seen, the rest is filled `group` at a time */
    int64_t order[PLACES];
    double *map;     /* PLACES x seen: of each filled place the weights of those seen */
    double *weights; /* group x PLACES */
} filling;

/* The mean squared error of x_p - sum_a m_a x_a. */
static double error_of(const filling *f, int64_t p, const double *m)
{
    double error = 1;
    for (int64_t a = 0; a < f->seen; ++a) {
        error -= 2 * m[a] * covariance(f->rho, p, f->order[a]);
        for (int64_t b = 0; b < f->seen; ++b) {
            error += m[a] * m[b] * covariance(f->rho, f->order[a], f->order[b]);
        }
    }
    return error;
}

/* Places first..first + count - 1 of the order from all before them, in terms of those seen. */
static cs_status fill_group(filling *f, int64_t first, int64_t count)
{
    double error[PLACES];
    const cs_field_places of = {f->rho, SIDE, first, count, f->order, f->order + first};
    cs_status status = cs_field_predict(&of, f->weights, error);
    for (int64_t t = 0; t < count && status == CS_OK; ++t) {
        const double *w = f->weights + t * first;
        double *m = f->map + (first + t) * f->seen;
        for (int64_t a = 0; a < f->seen; ++a) {
            m[a] = w[a];
            for (int64_t b = f->seen; b < first; ++b) { /* a guess in the place of a value */
                m[a] += w[b] * f->map[b * f->seen + a];
            }
        }
    }
    return status;
}

/* Means over the filled places: fed back, and at once (the Schur complement). */
static cs_status fill_places(filling *f, double *back, double *once)
{
    const int64_t hidden = PLACES - f->seen;
    double error[PLACES];
    const cs_field_places all = {f->rho, SIDE, f->seen, hidden, f->order, f->order + f->seen};
    cs_status status = cs_field_predict(&all, NULL, error);
    for (int64_t i = f->seen; i < PLACES && status == CS_OK; i += f->group) {
        status = fill_group(f, i, i + f->group < PLACES ? f->group : PLACES - i);
    }
    *back = *once = 0;
    for (int64_t i = f->seen; i < PLACES && status == CS_OK; ++i) {
        *back += error_of(f, f->order[i], f->map + i * f->seen) / (double)hidden;
        *once += error[i - f->seen] / (double)hidden;
    }
    return status;
}

/* Cholesky: relative n eps of the condition of C, at most ((1 + rho) / (1 - rho))^2 of a field (the
 * product of two chains); a step adds its own to those of the steps before it. */
static double rounding(double rho)
{
    const double chain = (1 + rho) / (1 - rho);
    return 4.0 * PLACES * PLACES * DBL_EPSILON * chain * chain;
}

static cs_status gaussian(uint64_t seed, cs_statements *out)
{
    static const double rhos[] = {0.5, 0.9, 0.99};
    static const int64_t seen[] = {PLACES / 4, 3 * PLACES / 4}, group[] = {1, 5};
    CS_AUTO(cs_pool) pool = {0};
    filling f = {.map = cs_pool_take(&pool, PLACES * PLACES, sizeof *f.map),
                 .weights = cs_pool_take(&pool, PLACES * PLACES, sizeof *f.weights)};
    cs_status status = pool.status;
    double worst = -1;
    cs_claim claim = {.id = "feedback-gaussian",
                      .form = CS_CORRECTED,
                      .relation = CS_RELATION_EQUAL,
                      .text = "Gaussian: E(x_2 | u, E(x_1 | u)) = E(x_2 | u), the same error"};
    char input[96] = "";
    for (int i = 0; i < 12 && status == CS_OK; ++i) {
        int32_t order[PLACES];
        double back = 0, once = 0;
        cs_rng rng = cs_rng_at(seed, CS_STREAM_AUDIT, (uint64_t)i);
        cs_rng_permutation(&rng, PLACES, order);
        for (int64_t p = 0; p < PLACES; ++p) {
            f.order[p] = order[p];
        }
        f.rho = rhos[i / 4];
        f.seen = seen[i / 2 % 2];
        f.group = group[i % 2];
        status = fill_places(&f, &back, &once);
        const double by = fabs(back - once) / rounding(f.rho);
        if (status == CS_OK && by > worst) {
            worst = by;
            claim.lhs = back;
            claim.rhs = once;
            claim.error = rounding(f.rho);
            (void)snprintf(input, sizeof input,
                           "field of %d x %d, rho %g, %lld seen, by %lld (worst of 12)", SIDE, SIDE,
                           f.rho, (long long)f.seen, (long long)f.group);
        }
    }
    claim.input = input;
    if (status == CS_OK) cs_statements_claim(out, &claim);
    return status;
}

/* --- two classes of binary pixels --- */

static const double ONE = 0.8; /* P(x = 1) in one class; 1 - ONE in the other */

/* E(x | sum of n values, which may be guesses): the log odds of the class are linear in them. */
static double mean_given(double sum, double n)
{
    const double odds = exp((2 * sum - n) * log(ONE / (1 - ONE)));
    return (ONE * odds + (1 - ONE)) / (1 + odds);
}

/* Mean squared errors of x_2, x_1 and x_2 unseen: at once, with the guess of x_1, with x_1. */
static void two_classes(double error[3])
{
    error[0] = error[1] = error[2] = 0;
    for (int bits = 0; bits < 1 << (SEEN_BITS + 2); ++bits) {
        int sum = 0, ones = 0;
        for (int i = 0; i < SEEN_BITS + 2; ++i) {
            ones += bits >> i & 1;
            sum += i < SEEN_BITS ? bits >> i & 1 : 0;
        }
        const double x1 = bits >> SEEN_BITS & 1, x2 = bits >> (SEEN_BITS + 1) & 1;
        const int n = SEEN_BITS + 2;
        const double p =
            (pow(ONE, ones) * pow(1 - ONE, n - ones) + pow(1 - ONE, ones) * pow(ONE, n - ones)) / 2;
        const double guess = mean_given(sum, SEEN_BITS);
        const double said[] = {guess, mean_given(sum + guess, SEEN_BITS + 1),
                               mean_given(sum + x1, SEEN_BITS + 1)};
        for (int i = 0; i < 3; ++i) {
            error[i] += p * (x2 - said[i]) * (x2 - said[i]);
        }
    }
}

static cs_status on_nothing(const cs_theorem_input *in, cs_theorem_report *report)
{
    enum { CASES = 1 << (SEEN_BITS + 2) };
    const int64_t first = report->statements.count;
    const double error = CASES * 16 * DBL_EPSILON; /* sums of CASES terms below 1 */
    const char *input = "two classes of binary pixels, P(x = 1) = .8 and .2, 4 of 6 seen";
    double of[3];
    two_classes(of);
    cs_statements *list = &report->statements;
    cs_statements_claim(list, &(cs_claim){"feedback", CS_PRINTED, CS_RELATION_LESS,
                                          "fed back < at once: predicted values fed back lower L2",
                                          input, of[1], of[0], error});
    cs_statements_claim(list, &(cs_claim){"feedback", CS_CORRECTED, CS_RELATION_AT_MOST,
                                          "at once <= fed back: E(x_2 | u) is the best in L2",
                                          input, of[0], of[1], error});
    cs_statements_claim(list, &(cs_claim){"feedback-truth", CS_CORRECTED, CS_RELATION_LESS,
                                          "with x_1 itself < at once", input, of[2], of[0], error});
    cs_status status = gaussian(in->seed, list);
    cs_statements_mark(list, first);
    return status == CS_OK ? cs_statements_status(list) : status;
}

const cs_theorem cs_entry_feedback = {
    .id = "feedback",
    .about = "LA's Table 8 is about what a model feeds back to itself",
    .paper = "LA",
    .printed_words = "filling images step by step lowers the L2 error",
    .corrected_words = "feeding predictions back cannot lower the L2 error",
    .printed = "pictures filled one by one, each from what was filled before, come nearer in L2",
    .corrected = "E(x_2 | u, E(x_1 | u)) has no smaller error than E(x_2 | u); Gaussian: the same",
    .run = {[CS_ON_NOTHING] = on_nothing}};
