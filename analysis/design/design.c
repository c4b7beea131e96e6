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

#include "analysis/design/design.h"
#include "analysis/design/family_private.h"
#include "base/auto.h"
#include "base/threads.h"
#include "base/vector_ops.h"
#include "io/json.h"
#include "plan/kernel.h"
#include "plan/plan_file.h"
#include "plan/spec.h"

enum { SPREADS = 4, SPREADS_AT_LEAST = 128, SEARCHES = 60, JUMP_EVERY = 16 };

static const double slope_left = 1e-10;

/* Largest remainder on artificial columns if the constraints are met. */
static const double met_within = 1e-9;

static cs_status check_problem(const cs_design_problem *problem)
{
    if (problem->reach < 0 || problem->reach >= problem->length) {
        return cs_fail(CS_ERR_USAGE,
                       "distances up to %" PRId64 " need more than %" PRId64 " tokens",
                       problem->reach, problem->length);
    }
    if (!(problem->next_token >= 0 && problem->next_token <= 1)) {
        return cs_fail(CS_ERR_USAGE, "next-token weight %g is not in [0, 1]", problem->next_token);
    }
    if (!(problem->misalignment >= 0)) {
        return cs_fail(CS_ERR_USAGE, "misalignment %g is negative", problem->misalignment);
    }
    if (problem->matrix == CS_DESIGN_TOY && problem->sum == CS_DESIGN_SIGMA2) {
        return cs_fail(CS_ERR_USAGE, "the toy model's sum of sigma^2 is not smooth where targets "
                                     "vanish, so the gap does not close; use a kernel or a stream");
    }
    if (problem->matrix == CS_DESIGN_TOY && problem->fixed == CS_FIX_NONE) {
        return cs_fail(CS_ERR_USAGE,
                       "with the weights of contexts and of targets both free, the toy model's sum "
                       "is not convex and no bound can be given; fix the contexts or the targets");
    }
    return CS_OK;
}

/* The least (sign 1) or largest (-1) next-token weight or misalignment of a problem's
 * distributions. False: it has none. */
static cs_status extreme(const cs_design_problem *problem, bool next, double sign, bool *met,
                         double *out)
{
    CS_AUTO(cs_pool) pool = {0};
    CS_AUTO(cs_family) f = {0};
    cs_status status = cs_family_of(problem, &pool, &f);
    double *cost = cs_pool_take(&pool, f.columns, sizeof *cost);
    double *x = cs_pool_take(&pool, f.columns, sizeof *x), left = 0;
    int64_t *basis = cs_pool_take(&pool, f.polytope.rows, sizeof *basis);
    if (status == CS_OK) status = pool.status;
    if (status != CS_OK) return status;
    for (int64_t j = 0; j < f.variables; ++j) {
        for (int64_t i = f.ptr[j]; i < f.ptr[j + 1]; ++i) {
            cost[j] += sign * f.part[i] *
                       (next ? cs_family_next_token(&f, f.mass[i])
                             : cs_family_misalignment(&f, f.mass[i]));
        }
    }
    cs_simplex_start(&f.polytope, basis);
    (void)cs_simplex_minimise(&f.polytope, NULL, basis, x, &left);
    *met = left <= met_within;
    /* both are shares in [0, 1], which rounding may leave */
    *out = fmin(1, fmax(0, sign * cs_simplex_minimise(&f.polytope, cost, basis, x, &left)));
    return CS_OK;
}

cs_status cs_design_most(const cs_design_problem *problem, double *next_token)
{
    cs_design_problem relaxed = *problem;
    double reached = 0;
    bool met = false;
    relaxed.next_token = 0;
    cs_status status = check_problem(problem);
    if (status == CS_OK) status = extreme(&relaxed, true, -1, &met, next_token);
    if (status != CS_OK || met) return status;
    relaxed.misalignment = INFINITY;
    status = extreme(&relaxed, false, 1, &met, &reached);
    if (status != CS_OK) return status;
    return met ? cs_fail(CS_ERR_USAGE,
                         "misalignment %g is too small: distributions of this family have at least "
                         "%.6g",
                         problem->misalignment, reached)
               : cs_fail(CS_ERR_USAGE, "no distribution of this family has the fixed weights");
}

/* CS_ERR_USAGE that names the constraint that cannot be met, and the best possible value. */
static cs_status refuse_unmet(const cs_design_problem *problem)
{
    double reached = 0;
    cs_status status = cs_design_most(problem, &reached);
    return status != CS_OK ? status
                           : cs_fail(CS_ERR_USAGE,
                                     "next-token weight %g is too large: distributions of this "
                                     "family have at most %.6g",
                                     problem->next_token, reached);
}

typedef struct {
    const cs_family *family;
    cs_design_sums sums;
    double *x, *y, *of_masses, *gradient, *cost, *toward, *away, *step, *trial;
    int64_t *basis; /* of toward, and of away */
} solver;

void cs_design_free(cs_design *design)
{
    cs_pairs_free(&design->distribution);
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
    for (int64_t k = 1; *left <= met_within && k <= vertices && !cs_interrupted(); ++k) {
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

/* The numbers of the distribution x other than its sum; the family's events move to the design. */
static cs_status deliver(solver *o, cs_family *family, cs_design *design)
{
    cs_pairs *distribution = &family->events;
    const int64_t events = distribution->events, sets = distribution->sets;
    design->next_token = design->misalignment = 0;
    (void)sum_at(o, o->x);
    design->kappa = cs_kernel_collision(o->sums.kernel, family->s);
    for (int64_t i = 0; i < family->masses; ++i) {
        design->next_token += o->y[i] > 0 ? o->y[i] * cs_family_next_token(family, i) : 0;
        design->misalignment += o->y[i] > 0 ? o->y[i] * cs_family_misalignment(family, i) : 0;
    }
    distribution->q = family->masses > events
                          ? cs_pool_take(&distribution->pool, family->s + 1, sizeof(double))
                          : NULL;
    if (distribution->pool.status != CS_OK) return distribution->pool.status;
    distribution->events = distribution->sets = 0;
    distribution->invariant = 0;
    for (int64_t c = 0; c < sets; ++c) {
        const int64_t before = distribution->events;
        for (int64_t e = family->first[c]; e < family->first[c + 1]; ++e) {
            if (o->y[e] > 0) {
                distribution->set[distribution->events] = distribution->sets;
                distribution->target[distribution->events] = distribution->target[e];
                distribution->weight[distribution->events++] = o->y[e];
            }
        }
        distribution->conditioning[distribution->sets] = distribution->conditioning[c];
        distribution->sets += distribution->events > before;
    }
    for (int64_t i = events; i < family->masses; ++i) {
        distribution->q[i - events] = o->y[i];
        distribution->invariant += o->y[i];
    }
    distribution->predicted = 1;
    distribution->denominator = 0;
    cs_pairs_free(&design->distribution);
    design->distribution = *distribution;
    *distribution = (cs_pairs){0};
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
    return left <= met_within ? CS_OK : refuse_unmet(problem);
}

cs_status cs_design_solve(const cs_design_problem *problem, const cs_design_options *options,
                          cs_design *design)
{
    CS_AUTO(cs_pool) pool = {0};
    CS_AUTO(cs_family) family = {0};
    solver o = {0};
    cs_status status = check_problem(problem);
    if (status == CS_OK) status = cs_family_of(problem, &pool, &family);
    if (status == CS_OK) status = solver_init(problem, &family, &pool, &o);
    if (status == CS_OK) status = begin(problem, &o, &family.polytope, design);
    if (status == CS_OK) status = iterate(&o, &family.polytope, options, design);
    return status == CS_OK ? deliver(&o, &family, design) : status;
}

cs_status cs_design_of(const cs_design_problem *problem, cs_design *out)
{
    const int64_t s = problem->length;
    CS_AUTO(cs_pool) pool = {0};
    CS_AUTO(cs_family) f = {.s = s};
    cs_design d = {.known = problem->matrix == CS_DESIGN_KERNEL ? 0 : 1, .bound = NAN};
    cs_status status = cs_pairs_of(&problem->objective, s, &f.events);
    double *r = cs_pool_take(&pool, 2 * s * s, sizeof *r);
    double *target = cs_pool_take(&pool, 3 * s, sizeof *target);
    if (status == CS_OK) status = pool.status;
    if (status == CS_OK) status = cs_kernel_of_pairs(&f.events, r);
    if (status != CS_OK) return status;
    cs_pairs_targets(&f.events, 1, target);
    d.value = cs_design_sum_of(problem, r, target, r + s * s, target + s) - d.known;
    d.kappa = cs_kernel_collision(r, s);
    f.masses = f.events.events + (f.events.q ? s : 0);
    for (int64_t i = 0; i < f.masses; ++i) {
        const bool event = i < f.events.events;
        const double y = event ? f.events.weight[i] : f.events.q[i - f.events.events];
        d.next_token += y > 0 ? y * cs_family_next_token(&f, i) : 0;
        d.misalignment += y > 0 ? y * cs_family_misalignment(&f, i) : 0;
    }
    d.distribution = f.events;
    f.events = (cs_pairs){0};
    *out = d;
    return CS_OK;
}

cs_status cs_design_state(const cs_design *design, json_t **out)
{
    json_t *basis = json_array();
    for (int64_t i = 0; i < 2 * design->rows; ++i) {
        (void)json_array_append_new(basis, json_integer(design->basis[i]));
    }
    *out = json_pack("{s:I, s:o, s:o, s:o}", "steps", (json_int_t)design->steps, "bound",
                     cs_json_number(design->bound), "basis", basis, "weights",
                     cs_json_numbers(design->variables, design->x));
    return cs_json_check();
}

cs_status cs_design_continue(const json_t *state, cs_design *out)
{
    const json_t *basis = json_object_get(state, "basis"), *x = json_object_get(state, "weights");
    cs_design d = {.variables = (int64_t)json_array_size(x),
                   .rows = (int64_t)json_array_size(basis) / 2,
                   .steps = json_integer_value(json_object_get(state, "steps")),
                   .bound = json_number_value(json_object_get(state, "bound"))};
    d.x = cs_alloc(d.variables, sizeof *d.x);
    d.basis = cs_alloc(2 * d.rows, sizeof *d.basis);
    cs_status status = d.x && d.basis ? CS_OK : CS_ERR_MEMORY;
    for (int64_t j = 0; j < d.variables && status == CS_OK; ++j) {
        d.x[j] = json_number_value(json_array_get(x, (size_t)j));
    }
    for (int64_t i = 0; i < 2 * d.rows && status == CS_OK; ++i) {
        d.basis[i] = json_integer_value(json_array_get(basis, (size_t)i));
        if (d.basis[i] < 0 || d.basis[i] >= d.variables + d.rows)
            status = cs_fail(CS_ERR_INPUT, "column %" PRId64 " of a basis is not in 0..%" PRId64,
                             d.basis[i], d.variables + d.rows - 1);
    }
    return CS_DELIVER(status, out, d, cs_design_free);
}

/* {"probability", "groups", "weights"} of the context whose events begin at *e. */
static json_t *plan_of(const cs_pairs *distribution, int64_t *e)
{
    const cs_pairs_set set = cs_pairs_set_of(distribution, *e);
    const int32_t *given = cs_pairs_positions(distribution, set);
    const int64_t c = distribution->set[*e];
    json_t *groups = json_array(), *weights = json_array();
    double whole = 0;
    int64_t end = *e;
    for (; end < distribution->events && distribution->set[end] == c; ++end) {
        whole += distribution->weight[end];
    }
    for (int64_t k = 0, i = 0; k < distribution->length; ++k) {
        const bool is_given = i < set.size && given[i] == k;
        const bool is_target = *e < end && distribution->target[*e] == k;
        i += is_given;
        (void)json_array_append_new(groups, json_integer(!is_given));
        (void)json_array_append_new(
            weights, cs_json_number(is_target ? distribution->weight[*e] / whole : 0));
        *e += is_target;
    }
    return json_pack("{s:o, s:o, s:o}", "probability", cs_json_number(whole), "groups", groups,
                     "weights", weights);
}

/* x is of masses; a share is of plans. */
static cs_status new_shares(const cs_design_problem *problem, const cs_design *design, json_t **out)
{
    CS_AUTO_FREE double *share = cs_calloc(design->variables, sizeof *share);
    cs_status status =
        share ? cs_family_weights(&problem->objective, problem->length, share) : CS_ERR_MEMORY;
    const int64_t parts = (int64_t)json_array_size(cs_plan_file_parts(problem->objective.file));
    for (int64_t j = 0; j < parts && status == CS_OK; ++j) {
        share[j] = share[j] > 0 ? design->x[j] / share[j] : 0;
    }
    return status == CS_OK ? cs_family_parts(&problem->objective, share, out) : status;
}

cs_status cs_design_plans(const cs_design_problem *problem, const cs_design *design, json_t **out)
{
    const bool mixture = problem->reach == 0 && problem->objective.kind == CS_OBJ_MIX;
    json_t *list = mixture ? NULL : json_array();
    cs_status status = mixture ? new_shares(problem, design, &list) : CS_OK;
    for (int64_t e = 0; e < design->distribution.events && !mixture;) {
        (void)json_array_append_new(list, plan_of(&design->distribution, &e));
    }
    *out = json_pack("{s:o}", mixture ? "mixture" : "plans", list);
    if (status == CS_OK) status = cs_json_check();
    return status == CS_OK && !*out ? CS_ERR_MEMORY : status;
}

/* In addition to every objective with its parameters of training. */
static const char *const variants[] = {"diverse-ar(t=4)",
                                       "diverse-ar(t=16)",
                                       "offset-ar(offset-weights=mix:0.25)",
                                       "offset-ar(offset-weights=mix:0.5)",
                                       "offset-ar(offset-weights=mix:0.75)",
                                       "offset-ar(offset-weights=power:1)",
                                       "offset-ar(offset-weights=power:0.5)",
                                       "offset-ar(offset-weights=mix:0)",
                                       "masked(mask-ratio=0.3)",
                                       "masked(mask-ratio=0.5)",
                                       "masked(mask-ratio=0.75)"};

cs_status cs_design_row(const char *kind, const char *series, const cs_design *d, json_t *rows)
{
    json_t *row =
        json_pack("{s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:I, s:o}", "kind", kind, "series",
                  series, "next_token_weight", cs_json_number(d->next_token), "misalignment",
                  cs_json_number(d->misalignment), "kappa", cs_json_number(d->kappa), "value",
                  cs_json_number(d->value), "bound", cs_json_number(d->bound), "gap",
                  cs_json_number(d->value - d->bound), "steps", (json_int_t)d->steps, "reached",
                  isnan(d->bound) ? json_null() : json_boolean(d->converged));
    return json_array_append_new(rows, row) == 0 ? cs_json_check() : CS_ERR_MEMORY;
}

cs_status cs_design_compare(const cs_design_problem *problem, const char *spec, json_t *rows)
{
    cs_design_problem of = *problem;
    CS_AUTO(cs_plan_file) parts = {0};
    CS_AUTO(cs_design) d = {0};
    cs_status status = cs_objective_parse_held(spec, &parts, &of.objective);
    if (status == CS_OK) status = cs_design_of(&of, &d);
    CS_AUTO_FREE char *series = status == CS_OK ? cs_objective_describe(&of.objective) : NULL;
    if (status == CS_OK)
        status = series ? cs_design_row("objective", series, &d, rows) : CS_ERR_MEMORY;
    return status;
}

cs_status cs_design_compare_all(const cs_design_problem *problem, json_t *rows)
{
    const int others = (int)(sizeof variants / sizeof *variants);
    cs_status status = CS_OK;
    for (int i = 0; i < CS_OBJ_COUNT + others && status == CS_OK; ++i) {
        const cs_objective_kind kind = (cs_objective_kind)i;
        const char *trained = i < CS_OBJ_COUNT ? cs_objective_table(kind)->trained : NULL;
        CS_AUTO_FREE char *spec = i >= CS_OBJ_COUNT ? cs_strdup(variants[i - CS_OBJ_COUNT])
                                  : trained ? cs_format("%s(%s)", cs_objective_name(kind), trained)
                                            : cs_strdup(cs_objective_name(kind));
        const bool has_plans = i == CS_OBJ_FILE || i == CS_OBJ_MIX;
        status = !spec ? CS_ERR_MEMORY : has_plans ? CS_OK : cs_design_compare(problem, spec, rows);
        if (status == CS_ERR_USAGE) { /* it does not exist at this length */
            cs_reason_clear();
            status = CS_OK;
        }
    }
    return status;
}
