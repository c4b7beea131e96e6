/* Plans, and visiting every plan of an objective with its probability, by brute force: the
 * definition that the closed sums of pairs.c are tested against.
 *
 * A permutation-invariant plan is its group labels in order of z (0..0 1..1 2..2), shuffled: a
 * uniform permutation of the labels over the positions is a uniform order z. So all distinct
 * arrangements of given labels are equally likely. They are visited in lexicographic order by the
 * usual next-permutation step.
 */
#include "plan/plan.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/auto.h"
#include "plan/count.h"
#include "plan/distributions_private.h"

cs_status cs_plan_init(cs_plan *plan, int64_t length)
{
    if (length < 1 || length > INT32_MAX) {
        return cs_fail(CS_ERR_USAGE, "plan length %" PRId64 " not in 1..%d", length, INT32_MAX);
    }
    cs_plan local = {.length = length};
    local.group = cs_calloc(length, sizeof *local.group);
    local.weight = cs_calloc(length, sizeof *local.weight);
    if (!local.group || !local.weight) {
        cs_plan_free(&local);
        return CS_ERR_MEMORY;
    }
    *plan = local;
    return CS_OK;
}

void cs_plan_free(cs_plan *plan)
{
    CS_FREE_FIELDS(plan, group, weight);
    memset(plan, 0, sizeof *plan);
}

void cs_plan_weigh(const cs_objective *objective, cs_plan *plan)
{
    int64_t predicted = 0;
    for (int64_t i = 0; i < plan->length; ++i) {
        predicted += plan->group[i] > 0;
    }
    bool none = objective->empty_prefix == CS_PREFIX_NONE && predicted == plan->length;
    double (*token_weight)(int64_t, int64_t) = cs_objective_table(objective->kind)->token_weight;
    double weight = token_weight ? token_weight(plan->length, predicted) : 1;
    if (none || predicted == 0) {
        weight = 0;
    } else if (objective->event_weight == CS_EVENT_MASK) {
        weight = 1 / (double)predicted;
    }
    for (int64_t i = 0; i < plan->length; ++i) {
        plan->weight[i] = plan->group[i] > 0 ? weight : 0;
    }
}

void cs_plan_fixed_groups(const cs_objective *objective, int64_t first, int64_t size, cs_plan *plan)
{
    int64_t start = objective->empty_prefix != CS_PREFIX_NONE; /* group of position 0 */
    for (int64_t i = 0; i < plan->length; ++i) {
        plan->group[i] = (int32_t)(i < first ? start : start + 1 + (i - first) / size);
    }
    plan->groups = plan->group[plan->length - 1];
}

/* --- all plans, one after another --- */

/* s! / prod sizes!, from the group sizes of a plan's labels. */
static double arrangements(const cs_plan *plan)
{
    double count = 1;
    for (int64_t i = 0, run = 0; i < plan->length; ++i) {
        run = i > 0 && plan->group[i] == plan->group[i - 1] ? run + 1 : 1;
        count = count * (double)(i + 1) / (double)run;
    }
    return count;
}

cs_status cs_visit_arrangements(cs_enumeration *e, double probability)
{
    double each = probability / arrangements(&e->plan);
    cs_status status = CS_OK;
    do {
        cs_plan_weigh(e->objective, &e->plan);
        status = e->visit(e->ctx, &e->plan, each);
    } while (status == CS_OK && cs_next_arrangement(e->plan.length, e->plan.group));
    return status;
}

/* --- uniform target weights: sums over all plans --- */

bool cs_target_level(int64_t s, double *w)
{
    const double rounding = 1e-12;
    double sum = 0, low = INFINITY, high = 0;
    int64_t n = 0;
    for (int64_t k = 0; k < s; ++k) {
        sum += w[k];
        n += w[k] > 0;
        low = w[k] > 0 ? fmin(low, w[k]) : low;
        high = fmax(high, w[k]);
    }
    bool level = high - low <= rounding * high;
    for (int64_t k = 0; k < s; ++k) {
        w[k] = level ? 1 : w[k] > 0 ? sum / (double)n / w[k] : 0;
    }
    return !level;
}

typedef struct {
    double *factor;
    double *weight; /* of the current plan, which is filled anew each time */
    cs_plan_visit visit;
    void *ctx;
} leveling;

static cs_status add_targets(void *ctx, const cs_plan *plan, double probability)
{
    const leveling *level = ctx;
    for (int64_t k = 0; k < plan->length; ++k) {
        level->factor[k] += probability * plan->weight[k];
    }
    return CS_OK;
}

static cs_status visit_leveled(void *ctx, const cs_plan *plan, double probability)
{
    const leveling *level = ctx;
    for (int64_t k = 0; k < plan->length; ++k) {
        level->weight[k] *= level->factor[k];
    }
    return level->visit(level->ctx, plan, probability);
}

static cs_status visit_all_leveled(cs_enumeration *e)
{
    const cs_objective_row *row = cs_objective_table(e->objective->kind);
    cs_objective plain = *e->objective;
    CS_AUTO_FREE double *factor = cs_calloc(e->plan.length, sizeof *factor);
    leveling level = {factor, e->plan.weight, e->visit, e->ctx};
    cs_enumeration inner = {
        .objective = &plain, .plan = e->plan, .visit = add_targets, .ctx = &level};
    plain.target_weight = CS_TARGETS_PLAN;
    cs_status status = factor ? row->visit(&inner) : CS_ERR_MEMORY;
    if (status == CS_OK) {
        (void)cs_target_level(e->plan.length, factor);
        inner.visit = visit_leveled;
        inner.plan = e->plan;
        status = row->visit(&inner);
    }
    return status;
}

cs_status cs_plan_enumerate(const cs_objective *objective, int64_t length, int64_t limit,
                            cs_plan_visit visit, void *ctx)
{
    const cs_objective_row *row;
    double count = 0;
    cs_enumeration e = {.objective = objective, .visit = visit, .ctx = ctx};
    cs_status status = cs_objective_check(objective);
    if (status == CS_OK) status = cs_objective_check_length(objective, length);
    if (status != CS_OK) return status;
    row = cs_objective_table(objective->kind);
    status = row->count(objective, length, &count);
    if (status == CS_OK && count > (double)limit)
        status = cs_fail(CS_ERR_USAGE,
                         "%s at length %" PRId64 " has %.15g plans, but at most %" PRId64
                         " can be enumerated",
                         cs_objective_name(objective->kind), length, count, limit);
    if (status == CS_OK && (status = cs_plan_init(&e.plan, length)) == CS_OK) {
        status =
            objective->target_weight == CS_TARGETS_UNIFORM ? visit_all_leveled(&e) : row->visit(&e);
        cs_plan_free(&e.plan);
    }
    return status;
}
