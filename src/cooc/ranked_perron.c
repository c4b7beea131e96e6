/* Whether every component of a matrix that came normalised has a singular value 1.
 *
 * Method. Components have no common entries, so one vector carries a Lanczos run on A^T A for each
 * of them, with inner products by component. Started from positive entries, which no largest
 * singular vector of a non-negative matrix is orthogonal to, the largest eigenvalue of the
 * tridiagonal matrix T_j climbs to sigma_1^2 from below. By Sylvester's law it has reached t when
 * the recurrence of the pivots of T_j - t I,
 *
 *   d_1 = alpha_1 - t,   d_j = alpha_j - t - beta_{j-1}^2 / d_{j-1},
 *
 * leaves the negative numbers; so nothing of T is kept. Lost orthogonality repeats eigenvalues and
 * makes none (Paige, Linear Algebra Appl. 34, 1980).
 *
 * Limits: a component that has not reached it within STEPS products counts as one without: values
 * that crowd just below 1 - 1e-9 can need more.
 */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/threads.h"
#include "cooc/ranked.h"
#include "cooc/reduce.h"

enum { STEPS = 300 };
static const double LEAST = 1 - 1e-9; /* singular value */

typedef struct {
    cs_ranked *r;
    double *now, *before, *next;    /* slice */
    double *left;                   /* held */
    double *along, *square, *pivot; /* by component: alpha, beta^2, d */
    bool *reached;
    int64_t left_over; /* components that have not */
} run;

/* out[c] = <x, y> over the columns of component c. */
static cs_status inner_products(const run *l, const double *x, const double *y, double *out)
{
    const int64_t *part = l->r->short_part + l->r->first;
    memset(out, 0, (size_t)l->r->components * sizeof *out);
    for (int64_t i = 0; i < l->r->slice; ++i) {
        if (part[i] >= 0) {
            out[part[i]] += x[i] * y[i];
        }
    }
    return cs_comm_sum(l->r->comm, l->r->components, out);
}

/* `next` becomes the unit vectors of the components that go on; false: one of them has come to its
 * end below. */
static bool normalise(run *l)
{
    const int64_t *part = l->r->short_part + l->r->first;
    const double end = ldexp(1e-28, -4 * l->r->exponent);
    for (int64_t c = 0; c < l->r->components; ++c) {
        if (!l->reached[c] && !(l->square[c] > end)) {
            return false;
        }
    }
    for (int64_t i = 0; i < l->r->slice; ++i) {
        bool goes_on = part[i] >= 0 && !l->reached[part[i]];
        l->next[i] = goes_on ? l->next[i] / sqrt(l->square[part[i]]) : 0;
    }
    return true;
}

/* One step of all runs; `square` is the last beta^2, 0 at first. */
static cs_status step(run *l)
{
    const int64_t *part = l->r->short_part + l->r->first;
    const double least = ldexp(LEAST * LEAST, -2 * l->r->exponent);
    cs_status status = cs_interrupt_check();
    if (status == CS_OK) status = cs_ranked_forward(l->r, 1, l->now, l->left);
    if (status == CS_OK) status = cs_ranked_backward(l->r, 1, l->left, l->next);
    if (status == CS_OK) status = inner_products(l, l->now, l->next, l->along);
    if (status != CS_OK) return status;
    for (int64_t c = 0; c < l->r->components; ++c) {
        if (!l->reached[c]) {
            double from = l->square[c] > 0 ? l->square[c] / l->pivot[c] : 0;
            l->pivot[c] = l->along[c] - least - from;
            l->reached[c] = !(l->pivot[c] < 0);
            l->left_over -= l->reached[c];
        }
    }
    for (int64_t i = 0; i < l->r->slice; ++i) {
        if (part[i] >= 0) {
            double beta = sqrt(l->square[part[i]]);
            l->next[i] -= l->along[part[i]] * l->now[i] + beta * l->before[i];
        }
    }
    return inner_products(l, l->next, l->next, l->square);
}

static cs_status run_all(run *l, bool *all)
{
    const int64_t *part = l->r->short_part + l->r->first;
    cs_status status = CS_OK;
    for (int64_t i = 0; i < l->r->slice; ++i) {
        l->next[i] = part[i] >= 0;
    }
    l->left_over = l->r->components;
    status = inner_products(l, l->next, l->next, l->square);
    *all = status == CS_OK && normalise(l);
    memset(l->square, 0, (size_t)l->r->components * sizeof *l->square);
    for (int j = 0; status == CS_OK && *all && l->left_over > 0; ++j) {
        double *oldest = l->before;
        l->before = l->now;
        l->now = l->next;
        l->next = oldest;
        status = step(l);
        *all = status == CS_OK && j + 1 < STEPS && normalise(l);
    }
    *all = *all && l->left_over == 0;
    return status;
}

cs_status cs_ranked_perron(cs_ranked *r, double largest, bool *out)
{
    double negative = 0; /* ranks that have such an entry */
    cs_status status = CS_OK;
    *out = fabs(ldexp(largest, r->exponent) - 1) <= 1 - LEAST;
    if (*out) {
        negative = cs_csr_entries_of(&r->a).negative;
        status = cs_comm_sum(r->comm, 1, &negative);
    }
    *out = *out && negative == 0;
    if (status != CS_OK || !*out || r->components == 1) return status;
    cs_pool pool = {0};
    run l = {.r = r,
             .now = cs_pool_take(&pool, r->slice, sizeof *l.now),
             .before = cs_pool_take(&pool, r->slice, sizeof *l.before),
             .next = cs_pool_take(&pool, r->slice, sizeof *l.next),
             .left = cs_pool_take(&pool, r->held, sizeof *l.left),
             .along = cs_pool_take(&pool, r->components, sizeof *l.along),
             .square = cs_pool_take(&pool, r->components, sizeof *l.square),
             .pivot = cs_pool_take(&pool, r->components, sizeof *l.pivot),
             .reached = cs_pool_take(&pool, r->components, sizeof *l.reached)};
    status = pool.status ? pool.status : run_all(&l, out);
    cs_pool_free(&pool);
    return status;
}
