/* What a problem must be, why it cannot be met, and the plan file of its solution. */
#include <inttypes.h>
#include <math.h>

#include "analysis/design/sums_private.h"
#include "io/json.h"
#include "plan/kernel.h"
#include "plan/plan_file.h"

cs_status cs_design_check(const cs_design_problem *problem)
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

/* The least (sign 1) or largest (-1) next-token weight or misalignment of a problem's laws. False:
 * it has none. */
static cs_status extreme(const cs_design_problem *problem, bool next, double sign, bool *met,
                         double *out)
{
    cs_pool pool = {0};
    cs_family f = {0};
    cs_status status = cs_family_of(problem, &pool, &f);
    double *cost = cs_pool_take(&pool, f.columns, sizeof *cost);
    double *x = cs_pool_take(&pool, f.columns, sizeof *x), left = 0;
    int64_t *basis = cs_pool_take(&pool, f.polytope.rows, sizeof *basis);
    if (status == CS_OK) status = pool.status;
    if (status != CS_OK) goto done;
    for (int64_t j = 0; j < f.variables; ++j) {
        for (int64_t i = f.ptr[j]; i < f.ptr[j + 1]; ++i) {
            cost[j] += sign * f.part[i] *
                       (next ? cs_family_next_token(&f, f.mass[i])
                             : cs_family_misalignment(&f, f.mass[i]));
        }
    }
    cs_simplex_start(&f.polytope, basis);
    (void)cs_simplex_minimise(&f.polytope, NULL, basis, x, &left);
    *met = left <= cs_design_met;
    /* both are shares in [0, 1], which rounding may leave */
    *out = fmin(1, fmax(0, sign * cs_simplex_minimise(&f.polytope, cost, basis, x, &left)));
done:
    cs_family_free(&f);
    cs_pool_free(&pool);
    return status;
}

cs_status cs_design_most(const cs_design_problem *problem, double *next_token)
{
    cs_design_problem relaxed = *problem;
    double reached = 0;
    bool met = false;
    relaxed.next_token = 0;
    cs_status status = cs_design_check(problem);
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

cs_status cs_design_unmet(const cs_design_problem *problem)
{
    double reached = 0;
    cs_status status = cs_design_most(problem, &reached);
    return status != CS_OK ? status
                           : cs_fail(CS_ERR_USAGE,
                                     "next-token weight %g is too large: distributions of this "
                                     "family have at most %.6g",
                                     problem->next_token, reached);
}

cs_status cs_design_of(const cs_design_problem *problem, cs_design *out)
{
    const int64_t s = problem->length;
    cs_pool pool = {0};
    cs_family f = {.s = s};
    cs_design d = {.known = problem->matrix == CS_DESIGN_KERNEL ? 0 : 1, .bound = NAN};
    cs_status status = cs_pairs_of(&problem->objective, s, &f.events);
    double *r = cs_pool_take(&pool, 2 * s * s, sizeof *r);
    double *target = cs_pool_take(&pool, 3 * s, sizeof *target);
    if (status == CS_OK) status = pool.status;
    if (status == CS_OK) status = cs_kernel_of_pairs(&f.events, r);
    if (status != CS_OK) goto done;
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
    d.law = f.events;
    f.events = (cs_pairs){0};
    *out = d;
done:
    cs_pool_free(&pool);
    cs_family_free(&f);
    return status;
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
static json_t *plan_of(const cs_pairs *law, int64_t *e)
{
    const cs_pairs_set set = cs_pairs_set_of(law, *e);
    const int32_t *given = cs_pairs_positions(law, set);
    const int64_t c = law->set[*e];
    json_t *groups = json_array(), *weights = json_array();
    double whole = 0;
    int64_t end = *e;
    for (; end < law->events && law->set[end] == c; ++end) {
        whole += law->weight[end];
    }
    for (int64_t k = 0, i = 0; k < law->length; ++k) {
        const bool is_given = i < set.size && given[i] == k;
        const bool is_target = *e < end && law->target[*e] == k;
        i += is_given;
        (void)json_array_append_new(groups, json_integer(!is_given));
        (void)json_array_append_new(weights,
                                    cs_json_number(is_target ? law->weight[*e] / whole : 0));
        *e += is_target;
    }
    return json_pack("{s:o, s:o, s:o}", "probability", cs_json_number(whole), "groups", groups,
                     "weights", weights);
}

/* x is of masses; a share is of plans. */
static cs_status new_shares(const cs_design_problem *problem, const cs_design *design, json_t **out)
{
    double *share = cs_calloc(design->variables, sizeof *share);
    cs_status status =
        share ? cs_family_weights(&problem->objective, problem->length, share) : CS_ERR_MEMORY;
    const int64_t parts = (int64_t)json_array_size(cs_plan_file_parts(problem->objective.file));
    for (int64_t j = 0; j < parts && status == CS_OK; ++j) {
        share[j] = share[j] > 0 ? design->x[j] / share[j] : 0;
    }
    if (status == CS_OK) status = cs_family_parts(&problem->objective, share, out);
    cs_free(share);
    return status;
}

cs_status cs_design_plans(const cs_design_problem *problem, const cs_design *design, json_t **out)
{
    const bool mixture = problem->reach == 0 && problem->objective.kind == CS_OBJ_MIX;
    json_t *list = mixture ? NULL : json_array();
    cs_status status = mixture ? new_shares(problem, design, &list) : CS_OK;
    for (int64_t e = 0; e < design->law.events && !mixture;) {
        (void)json_array_append_new(list, plan_of(&design->law, &e));
    }
    *out = json_pack("{s:o}", mixture ? "mixture" : "plans", list);
    if (status == CS_OK) status = cs_json_check();
    return status == CS_OK && !*out ? CS_ERR_MEMORY : status;
}
