/* L-BFGS: the direction is -H g, where H is the inverse Hessian that the last pairs s = x' - x and
 * y = g' - g give (two loops, Nocedal 1980, Mathematics of Computation 35). A step along it is taken
 * once it satisfies the strong Wolfe conditions
 *
 *   f(x + t d) <= f(x) + DECREASE t d^T g,   |d^T g(x + t d)| <= CURVATURE |d^T g|,
 *
 * found by the search of Moré and Thuente (1994, ACM Transactions on Mathematical Software 20), whose
 * cases are numbered as there. Constants are those of libLBFGS.
 *
 * A product of vectors is 2 LANES sums, whatever the vectors of the processor. */
#include "linalg/lbfgs.h"

#include <math.h>
#include <string.h>

#include "base/auto.h"
#include "base/ints.h"
#include "base/mem.h"
#include "base/simd.h"
#include "base/threads.h"

enum { LANES = 8, MOST_TRIALS = 40 };
static const double DECREASE = 1e-4, CURVATURE = 0.9, WIDTH = 1e-16;
static const double LEAST_STEP = 1e-20, MOST_STEP = 1e20;

/* --- vectors ---------------------------------------------------------------------------------- */

typedef double lanes __attribute__((vector_size(LANES * sizeof(double)), aligned(8)));

static inline double total(const lanes *sum)
{
    double x[LANES];
    memcpy(x, sum, sizeof x);
    return ((x[0] + x[4]) + (x[2] + x[6])) + ((x[1] + x[5]) + (x[3] + x[7]));
}

CS_CLONES static double inner(int64_t n, const double *x, const double *y)
{
    lanes even = {0}, odd = {0};
    int64_t i = 0;
    for (; i + 2 * LANES <= n; i += 2 * LANES) {
        even += *(const lanes *)(x + i) * *(const lanes *)(y + i);
        odd += *(const lanes *)(x + i + LANES) * *(const lanes *)(y + i + LANES);
    }
    double rest = 0;
    for (; i < n; ++i) {
        rest += x[i] * y[i];
    }
    even += odd;
    return total(&even) + rest;
}

/* y := y + a x; returns y^T z. */
CS_CLONES static double add_inner(int64_t n, double a, const double *x, double *y, const double *z)
{
    lanes even = {0}, odd = {0};
    int64_t i = 0;
    for (; i + 2 * LANES <= n; i += 2 * LANES) {
        const lanes first = *(const lanes *)(y + i) + a * *(const lanes *)(x + i);
        const lanes second = *(const lanes *)(y + i + LANES) + a * *(const lanes *)(x + i + LANES);
        *(lanes *)(y + i) = first;
        *(lanes *)(y + i + LANES) = second;
        even += first * *(const lanes *)(z + i);
        odd += second * *(const lanes *)(z + i + LANES);
    }
    double rest = 0;
    for (; i < n; ++i) {
        y[i] += a * x[i];
        rest += y[i] * z[i];
    }
    even += odd;
    return total(&even) + rest;
}

/* to := x + a y */
CS_CLONES static void combine(int64_t n, const double *x, double a, const double *y, double *to)
{
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        *(lanes *)(to + i) = *(const lanes *)(x + i) + a * *(const lanes *)(y + i);
    }
    for (; i < n; ++i) {
        to[i] = x[i] + a * y[i];
    }
}

/* --- line search ------------------------------------------------------------------------------ */

/* A step, with f and d^T g there. */
typedef struct {
    double t, f, slope;
} trial;

/* The minimum of the cubic through two trials with their slopes; in case 3 (`ahead`) only where it is
 * on the far side of b, and otherwise the end of the interval there. */
static double cubic_step(const trial *a, const trial *b, bool ahead, double least, double most)
{
    const double theta = (a->f - b->f) * 3 / (b->t - a->t) + a->slope + b->slope;
    const double scale = fmax(fmax(fabs(theta), fabs(a->slope)), fabs(b->slope));
    const double root = theta / scale * (theta / scale) - (a->slope / scale) * (b->slope / scale);
    double gamma = scale * sqrt(fmax(root, 0));
    if (!ahead) {
        gamma = b->t < a->t ? -gamma : gamma;
        const double p = gamma - a->slope + theta, q = gamma - a->slope + gamma + b->slope;
        return a->t + p / q * (b->t - a->t);
    }
    gamma = a->t < b->t ? -gamma : gamma;
    const double p = gamma - b->slope + theta, q = gamma - b->slope + gamma + a->slope, r = p / q;
    if (r < 0 && gamma != 0) return b->t + r * (a->t - b->t);
    return a->t < b->t ? most : least;
}

/* The minimum of the parabola through a, its slope and b; and that of two slopes. */
static double parabola_step(const trial *a, const trial *b)
{
    const double width = b->t - a->t;
    return a->t + a->slope / ((a->f - b->f) / width + a->slope) / 2 * width;
}

static double secant_step(const trial *a, const trial *b)
{
    return b->t + b->slope / (b->slope - a->slope) * (a->t - b->t);
}

/* The interval of the search: its best step and its other end. */
typedef struct {
    trial best, other;
    bool bracketed; /* a minimum is between them */
} interval;

/* Takes a trial into the interval, which is within [least, most]; returns the next step to try. */
static double shrink(interval *i, const trial *at, double least, double most)
{
    const trial *x = &i->best, *y = &i->other;
    const bool opposite = at->slope * (x->slope / fabs(x->slope)) < 0;
    bool bounded = false;
    double next = 0;
    if (x->f < at->f) { /* case 1 */
        const double cubic = cubic_step(x, at, false, 0, 0), parabola = parabola_step(x, at);
        i->bracketed = bounded = true;
        next = fabs(cubic - x->t) < fabs(parabola - x->t) ? cubic : cubic + (parabola - cubic) / 2;
    } else if (opposite) { /* case 2 */
        const double cubic = cubic_step(x, at, false, 0, 0), secant = secant_step(x, at);
        i->bracketed = true;
        next = fabs(cubic - at->t) > fabs(secant - at->t) ? cubic : secant;
    } else if (fabs(at->slope) < fabs(x->slope)) { /* case 3 */
        const double cubic = cubic_step(x, at, true, least, most), secant = secant_step(x, at);
        const bool cubic_nearer = fabs(at->t - cubic) < fabs(at->t - secant);
        bounded = true;
        next = cubic_nearer == i->bracketed ? cubic : secant;
    } else if (i->bracketed) { /* case 4 */
        next = cubic_step(at, y, false, 0, 0);
    } else {
        next = x->t < at->t ? most : least;
    }
    if (x->f < at->f) {
        i->other = *at;
    } else {
        i->other = opposite ? *x : i->other;
        i->best = *at;
    }
    next = fmin(fmax(next, least), most);
    if (i->bracketed && bounded) {
        const double end = x->t + 0.66 * (y->t - x->t);
        next = x->t < y->t ? fmin(next, end) : fmax(next, end);
    }
    return next;
}

/* A trial of the auxiliary function f(t) - slope t. */
static trial tilted(const trial *a, double slope)
{
    return (trial){a->t, a->f - slope * a->t, a->slope - slope};
}

typedef struct {
    const cs_lbfgs *p;
    double *x, *g, *d;           /* point, gradient, direction */
    double *from, *from_g;       /* of the iteration before */
    double *s, *y, *ys, *weight; /* `memory` pairs, s^T y, and factors of the two loops */
    double f;
} search;

static cs_status try_step(search *q, trial *at)
{
    combine(q->p->n, q->from, at->t, q->d, q->x);
    cs_status status = q->p->evaluate(q->p->ctx, q->p->n, q->x, &at->f, q->g);
    at->slope = inner(q->p->n, q->g, q->d);
    return status;
}

/* Moves x, g and f along d, first by *step; *found: the conditions hold there. */
static cs_status search_line(search *q, double step, bool *found)
{
    const trial start = {0, q->f, inner(q->p->n, q->g, q->d)};
    const double tilt = DECREASE * start.slope;
    interval i = {start, start, false};
    double width = MOST_STEP - LEAST_STEP, width_before = 2 * width;
    bool first_stage = true;
    *found = false;
    if (!(start.slope < 0)) return CS_OK;
    for (int count = 1; count <= MOST_TRIALS; ++count) {
        trial at = {.t = fmax(LEAST_STEP, fmin(step, MOST_STEP))};
        const double least = i.bracketed ? fmin(i.best.t, i.other.t) : i.best.t;
        const double most = i.bracketed ? fmax(i.best.t, i.other.t) : step + 4 * (step - i.best.t);
        /* nothing is left between the ends: the best step is the last one */
        const bool narrow = i.bracketed && most - least <= WIDTH * most;
        const bool last =
            narrow || count == MOST_TRIALS || (i.bracketed && (at.t <= least || most <= at.t));
        if (last && i.bracketed) at.t = i.best.t;
        cs_status status = try_step(q, &at);
        if (status != CS_OK) return status;
        q->f = at.f;
        const bool enough = at.f <= start.f + at.t * tilt;
        if (last || !isfinite(at.f)) return CS_OK;
        *found = enough && fabs(at.slope) <= -CURVATURE * start.slope;
        if (*found || at.t == MOST_STEP || at.t == LEAST_STEP) return CS_OK;
        if (first_stage && enough && tilt <= at.slope) first_stage = false;
        if (first_stage && !enough && at.f <= i.best.f) {
            interval t = {tilted(&i.best, tilt), tilted(&i.other, tilt), i.bracketed};
            const trial tilted_at = tilted(&at, tilt);
            step = shrink(&t, &tilted_at, least, most);
            i = (interval){tilted(&t.best, -tilt), tilted(&t.other, -tilt), t.bracketed};
        } else {
            step = shrink(&i, &at, least, most);
        }
        if (i.bracketed) {
            const double now = fabs(i.other.t - i.best.t);
            if (now >= 0.66 * width_before) step = i.best.t + (i.other.t - i.best.t) / 2;
            width_before = width;
            width = now;
        }
    }
    return CS_OK;
}

/* --- directions ------------------------------------------------------------------------------- */

/* d = -H g from the last `kept` pairs, the newest at place `newest`. */
static void direct(search *q, int64_t kept, int64_t newest)
{
    const int64_t n = q->p->n, m = q->p->memory;
    const double *s = q->s + newest * n, *y = q->y + newest * n;
    const double scale = q->ys[newest] / inner(n, y, y);
    for (int64_t i = 0; i < n; ++i) {
        q->d[i] = -q->g[i];
    }
    double sd = inner(n, s, q->d);
    int64_t at = newest;
    for (int64_t k = 0; k < kept; ++k) {
        const int64_t older = (at + m - 1) % m;
        q->weight[at] = sd / q->ys[at];
        sd = add_inner(n, -q->weight[at], q->y + at * n, q->d,
                       k + 1 < kept ? q->s + older * n : q->d);
        at = older;
    }
    for (int64_t i = 0; i < n; ++i) {
        q->d[i] *= scale;
    }
    at = (at + 1) % m; /* the oldest */
    double yd = inner(n, q->y + at * n, q->d);
    for (int64_t k = 0; k < kept; ++k) {
        const int64_t newer = (at + 1) % m;
        yd = add_inner(n, q->weight[at] - yd / q->ys[at], q->s + at * n, q->d,
                       k + 1 < kept ? q->y + newer * n : q->d);
        at = newer;
    }
}

static bool converged(const search *q)
{
    const double length = sqrt(inner(q->p->n, q->x, q->x));
    return sqrt(inner(q->p->n, q->g, q->g)) <= q->p->tolerance * fmax(1, length);
}

static cs_status iterate(search *q)
{
    const int64_t n = q->p->n, m = q->p->memory;
    const size_t bytes = (size_t)n * sizeof(double);
    cs_status status = q->p->evaluate(q->p->ctx, n, q->x, &q->f, q->g);
    for (int64_t k = 0; status == CS_OK && k < q->p->max_iterations && !converged(q); ++k) {
        double step = 1;
        bool found = false;
        if ((status = cs_interrupt_check()) != CS_OK) return status;
        if (k > 0) {
            direct(q, cs_least(k, m), (k - 1) % m);
        } else {
            step = 1 / sqrt(inner(n, q->g, q->g));
            for (int64_t i = 0; i < n; ++i) {
                q->d[i] = -q->g[i];
            }
        }
        memcpy(q->from, q->x, bytes);
        memcpy(q->from_g, q->g, bytes);
        status = search_line(q, step, &found);
        if (status == CS_OK && !found) {
            memcpy(q->x, q->from, bytes);
            return CS_OK;
        }
        double *s = q->s + k % m * n, *y = q->y + k % m * n;
        combine(n, q->x, -1, q->from, s);
        combine(n, q->g, -1, q->from_g, y);
        q->ys[k % m] = inner(n, y, s);
        if (q->p->enough && q->p->enough(q->p->ctx)) return CS_OK;
    }
    return status;
}

cs_status cs_lbfgs_minimise(const cs_lbfgs *problem, double *x)
{
    CS_AUTO(cs_pool) pool = {0};
    const int64_t n = problem->n, m = problem->memory;
    search q = {.p = problem, .x = x};
    double **const vector[] = {&q.g, &q.d, &q.from, &q.from_g};
    for (int i = 0; i < 4; ++i) {
        *vector[i] = cs_pool_take(&pool, n, sizeof(double));
    }
    q.s = cs_pool_take(&pool, m * n, sizeof *q.s);
    q.y = cs_pool_take(&pool, m * n, sizeof *q.y);
    q.ys = cs_pool_take(&pool, m, sizeof *q.ys);
    q.weight = cs_pool_take(&pool, m, sizeof *q.weight);
    return pool.status == CS_OK ? iterate(&q) : pool.status;
}
