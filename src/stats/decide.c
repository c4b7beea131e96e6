/* Margins and p by their definitions; p by bisection of its logarithm, in which the margin falls. */
#include "stats/decide.h"

#include <math.h>
#include <stdlib.h>

#include "base/ints.h"
#include "base/mem.h"
#include "stats/student.h"

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
    const double off = side.count == other.count ? given_away * prior->variance / nu : 0;
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

double cs_decision_p(int count, const cs_error_part *part, double d)
{
    enum { STEPS = 70 };
    const double off = fabs(d), any = cs_margin(count, part, 0.5);
    if (isnan(off) || isnan(any)) {
        return NAN;
    }
    if (off == 0 || any == 0) {
        return off == 0;
    }
    double low = -690, high = 0; /* logarithms: undecided at low, decided at high */
    if (off > cs_margin(count, part, exp(low))) {
        return 0;
    }
    for (int i = 0; i < STEPS && high - low > 1e-14 * (1 - low); ++i) {
        const double middle = 0.5 * (low + high);
        *(off > cs_margin(count, part, exp(middle)) ? &high : &low) = middle;
    }
    return exp(high);
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
    ranked *order = cs_alloc(count, sizeof *order);
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
    cs_free(order);
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
