/* Frank-Wolfe with pairwise steps and no list of vertices (Garber and Meshi 2016; Bashiri and Zhang
 * 2017): a step moves from the worst vertex of the face that x lies on towards the best vertex of all,
 * as far as the sum falls or a weight reaches 0. On a polytope such steps converge linearly
 * where the sum is strongly convex. x and the two bases are all there is to remember.
 *
 * Bound: the sum is convex, so at every feasible v it is at least sum(x) + <g, v - x>, and the linear
 * programme bounds <g, v> from below (simplex_private.h).
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "analysis/design/sums_private.h"
#include "base/reals.h"
#include "base/threads.h"
#include "plan/kernel.h"

enum { SPREADS = 4, SPREADS_AT_LEAST = 128, SEARCHES = 60, JUMP_EVERY = 16 };

static const double slope_left = 1e-10;

typedef struct {
    const cs_family *family;
    cs_design_sums sums;
    double *x, *y, *of_masses, *gradient, *cost, *toward, *away, *step, *trial;
    int64_t *basis; /* of toward, and of away */
} solver;

void cs_design_free(cs_design *design)
{
    cs_pairs_free(&design->law);
    CS_FREE_FIELDS(design, x, basis);
    memset(design, 0, sizeof *design);
}

static cs_status solver_init(const cs_design_problem *problem, cs_family *family, cs_pool *pool,
                             solver *out)
{
    double **const of_columns[] = {&out->gradient, &out->cost, &out->toward,
                                   &out->away,     &out->step, &out->trial};
    out->family = family;
    out->basis = cs_pool_take(pool, 2 * family->polytope.rows, sizeof(int64_t));
    out->y = cs_pool_take(pool, family->masses, sizeof(double));
    out->of_masses = cs_pool_take(pool, family->masses, sizeof(double));
    for (size_t i = 0; i < sizeof of_columns / sizeof *of_columns; ++i) {
        *of_columns[i] = cs_pool_take(pool, family->columns, sizeof(double));
    }
    return cs_design_sums_init(problem, family, pool, &out->sums);
}

/* The sum at x, its gradient into out->gradient. */
static double sum_at(solver *o, const double *x)
{
    cs_family_masses(o->family, x, o->y);
    const double value = cs_design_sum_at(&o->sums, o->y, o->of_masses);
    cs_family_gradient(o->family, o->of_masses, o->gradient);
    return value;
}

/* Slope of the sum at x + length x step. */
static double slope_at(solver *o, double length)
{
    const int64_t n = o->family->columns;
    for (int64_t j = 0; j < n; ++j) {
        o->trial[j] = fmax(o->x[j] + length * o->step[j], 0);
    }
    (void)sum_at(o, o->trial);
    return cs_inner(n, o->gradient, o->step);
}

/* Where the slope, which rises, is 0 between 0 (slope `here` < 0) and `longest`: regula falsi in which
 * an end that stays twice counts half (Illinois), down to 1e-10 of the first slope. */
static double search(solver *o, double here, double longest)
{
    double low = 0, high = longest, at_low = here, at_high = slope_at(o, longest);
    int stayed = 0; /* -1: the low end did */
    for (int i = 0; i < SEARCHES && at_high > 0; ++i) {
        double middle = low + (high - low) * at_low / (at_low - at_high);
        if (!(middle > low && middle < high)) {
            middle = low + (high - low) / 2;
        }
        const double slope = slope_at(o, middle);
        if (fabs(slope) <= -slope_left * here || middle == low || middle == high) {
            return middle;
        }
        if (slope < 0) {
            low = middle;
            at_low = slope;
            at_high /= stayed > 0 ? 2 : 1;
            stayed = 1;
        } else {
            high = middle;
            at_high = slope;
            at_low /= stayed < 0 ? 2 : 1;
            stayed = -1;
        }
    }
    return at_high > 0 ? low : longest;
}

/* The worst vertex of the face of x into o->away; false where rounding kept it from being found. */
static bool face_vertex(solver *o, cs_simplex *lp, int64_t *basis)
{
    double left = 0;
    for (int64_t j = 0; j < lp->columns; ++j) {
        o->cost[j] = o->x[j] > 0 ? -o->gradient[j] : INFINITY;
    }
    (void)cs_simplex_minimise(lp, o->cost, basis, o->away, &left);
    for (int64_t j = 0; j < lp->columns; ++j) {
        left += o->x[j] > 0 ? 0 : o->away[j];
    }
    return left <= 1e-12;
}

/* The step into o->step; its slope, and how far it can go. */
static double direction(solver *o, const double *from, double *longest)
{
    const int64_t n = o->family->columns;
    *longest = INFINITY;
    for (int64_t j = 0; j < n; ++j) {
        o->step[j] = o->toward[j] - from[j];
        if (o->step[j] < 0) *longest = fmin(*longest, o->x[j] / -o->step[j]);
    }
    return cs_inner(n, o->gradient, o->step);
}

/* One step; false where no direction leads down. away: it may come from o->away. */
static bool move(solver *o, bool away)
{
    double longest = 0, slope = away ? direction(o, o->away, &longest) : 0;
    if (!(slope < 0 && longest > 0)) slope = direction(o, o->x, &longest);
    if (!(slope < 0 && longest > 0 && longest < INFINITY)) {
        return false;
    }
    const double length = search(o, slope, longest);
    for (int64_t j = 0; j < o->family->columns; ++j) {
        const bool reaches_0 =
            length == longest && o->step[j] < 0 && o->x[j] / -o->step[j] == longest;
        o->x[j] = reaches_0 ? 0 : fmax(o->x[j] + length * o->step[j], 0);
    }
    return true;
}

/* To the vertex itself, where that is better: an optimum in which nearly all targets have lost their
 * weight is at the end of ever shorter steps. Else nothing is changed. */
static bool jump(solver *o, double sum)
{
    const bool better = sum_at(o, o->toward) < sum;
    if (better) memcpy(o->x, o->toward, (size_t)o->family->columns * sizeof *o->x);
    (void)sum_at(o, o->x);
    return better;
}

/* Any point that meets the constraints, then towards the one of least norm. left: what cannot be met. */
static void start(solver *o, cs_simplex *lp, int64_t *basis, double *left)
{
    const int64_t vertices = SPREADS_AT_LEAST + SPREADS * lp->columns / lp->rows;
    cs_simplex_start(lp, basis);
    (void)cs_simplex_minimise(lp, NULL, basis, o->x, left);
    for (int64_t k = 1; *left <= cs_design_met && k <= vertices && !cs_interrupted(); ++k) {
        (void)cs_simplex_minimise(lp, o->x, basis, o->toward, left);
        for (int64_t j = 0; j < lp->columns; ++j) {
            o->x[j] += (o->toward[j] - o->x[j]) / (double)(k + 1);
        }
    }
    memcpy(basis + lp->rows, basis, (size_t)lp->rows * sizeof *basis);
}

static cs_status iterate(solver *o, cs_simplex *lp, const cs_design_options *options,
                         cs_design *design)
{
    const size_t bases = 2 * (size_t)lp->rows * sizeof *o->basis;
    for (;; ++design->steps) { /* up to move() *design is as the step began */
        double left = 0;
        const double sum = sum_at(o, o->x), here = cs_inner(lp->columns, o->gradient, o->x);
        memcpy(o->basis, design->basis, bases);
        const double least = cs_simplex_minimise(lp, o->gradient, o->basis, o->toward, &left);
        const bool away = face_vertex(o, lp, o->basis + lp->rows);
        cs_status status = cs_interrupt_check(); /* it ends linear programmes early */
        if (status != CS_OK) return status;
        design->value = sum - design->known;
        design->bound = fmax(design->bound, design->value - here + least);
        design->converged = design->value - design->bound <= options->gap * sum;
        if (design->converged || design->steps >= options->max_steps) {
            return CS_OK;
        }
        if (!(design->steps % JUMP_EVERY == 0 && jump(o, sum)) && !move(o, away)) {
            return CS_OK;
        }
        memcpy(design->basis, o->basis, bases);
        cs_progress_report(options->progress, "steps", design->steps, 0);
    }
}

/* What the law of x is beside its sum; the family's events become its own. */
static cs_status deliver(solver *o, cs_family *family, cs_design *design)
{
    cs_pairs *law = &family->events;
    const int64_t events = law->events, sets = law->sets;
    design->next_token = design->misalignment = 0;
    (void)sum_at(o, o->x);
    design->kappa = cs_kernel_collision(o->sums.kernel, family->s);
    for (int64_t i = 0; i < family->masses; ++i) {
        design->next_token += o->y[i] > 0 ? o->y[i] * cs_family_next_token(family, i) : 0;
        design->misalignment += o->y[i] > 0 ? o->y[i] * cs_family_misalignment(family, i) : 0;
    }
    law->q =
        family->masses > events ? cs_pool_take(&law->pool, family->s + 1, sizeof(double)) : NULL;
    if (law->pool.status != CS_OK) return law->pool.status;
    law->events = law->sets = 0;
    law->invariant = 0;
    for (int64_t c = 0; c < sets; ++c) {
        const int64_t before = law->events;
        for (int64_t e = family->first[c]; e < family->first[c + 1]; ++e) {
            if (o->y[e] > 0) {
                law->set[law->events] = law->sets;
                law->target[law->events] = law->target[e];
                law->weight[law->events++] = o->y[e];
            }
        }
        law->conditioning[law->sets] = law->conditioning[c];
        law->sets += law->events > before;
    }
    for (int64_t i = events; i < family->masses; ++i) {
        law->q[i - events] = o->y[i];
        law->invariant += o->y[i];
    }
    law->predicted = 1;
    law->denominator = 0;
    cs_pairs_free(&design->law);
    design->law = *law;
    *law = (cs_pairs){0};
    return CS_OK;
}

/* Memory of what outlives the solver; x where it was not there, as far from every wall as is easy. */
static cs_status begin(const cs_design_problem *problem, solver *o, cs_simplex *lp,
                       cs_design *design)
{
    double left = 0;
    design->known = problem->matrix == CS_DESIGN_KERNEL ? 0 : 1;
    if (design->x && (design->variables != lp->columns || design->rows != lp->rows)) {
        return cs_fail(CS_ERR_INPUT,
                       "cannot continue from %" PRId64 " weights and %" PRId64
                       " rows: the problem has %" PRId64 " and %" PRId64,
                       design->variables, design->rows, lp->columns, lp->rows);
    }
    o->x = design->x;
    if (design->x) {
        return CS_OK;
    }
    design->variables = lp->columns;
    design->rows = lp->rows;
    design->x = o->x = cs_calloc(lp->columns, sizeof(double));
    design->basis = cs_calloc(2 * lp->rows, sizeof(int64_t));
    if (!design->x || !design->basis) return CS_ERR_MEMORY;
    start(o, lp, design->basis, &left);
    cs_status status = cs_interrupt_check();
    if (status != CS_OK) { /* there is nothing to go on from */
        cs_design_free(design);
        return status;
    }
    return left <= cs_design_met ? CS_OK : cs_design_unmet(problem);
}

cs_status cs_design_solve(const cs_design_problem *problem, const cs_design_options *options,
                          cs_design *design)
{
    cs_pool pool = {0};
    cs_family family = {0};
    solver o = {0};
    cs_status status = cs_design_check(problem);
    if (status == CS_OK) status = cs_family_of(problem, &pool, &family);
    if (status == CS_OK) status = solver_init(problem, &family, &pool, &o);
    if (status == CS_OK) status = begin(problem, &o, &family.polytope, design);
    if (status == CS_OK) status = iterate(&o, &family.polytope, options, design);
    if (status == CS_OK) status = deliver(&o, &family, design);
    cs_family_free(&family);
    cs_pool_free(&pool);
    return status;
}
