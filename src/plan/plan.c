/* Drawing plans, and their attention masks.
 *
 * A permutation-invariant plan is its group labels in order of z, shuffled: a uniform permutation
 * of the labels over the positions is a uniform order z. Boundaries are drawn by selection
 * sampling (Knuth, TAOCP 2, 3.4.2, Algorithm S): sorted as they come, without scratch, O(s).
 */
#include "plan/plan.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "base/vector_ops.h"
#include "plan/distributions_private.h"
#include "plan/gvp.h"
#include "plan/offsets.h"
#include "plan/plan_file.h"

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

void cs_plan_one_target(cs_plan *plan, int64_t prefix, int64_t target)
{
    plan->groups = 1;
    for (int64_t i = 0; i < plan->length; ++i) {
        plan->group[i] = i >= prefix;
        plan->weight[i] = i == target;
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

int64_t cs_plan_diverse_firsts(const cs_objective *objective, int64_t s)
{
    int64_t prefixes = objective->empty_prefix == CS_PREFIX_NONE ? s - 1 : s;
    return objective->t < prefixes ? objective->t : prefixes;
}

void cs_plan_diverse(const cs_objective *objective, int64_t choice, cs_plan *plan)
{
    int64_t s = plan->length, t = objective->t;
    int64_t none = objective->empty_prefix == CS_PREFIX_NONE; /* no prefix of length 0 */
    double group_weight = (double)cs_plan_diverse_firsts(objective, s);
    if (objective->event_weight == CS_EVENT_MASK) {
        group_weight /= (double)(s - none);
    }
    for (int64_t i = 0, first = choice + none; i < s; ++i) {
        int64_t before = i < first ? 0 : (i - first) / t; /* full groups before that of i */
        int64_t left = s - first - before * t;
        plan->group[i] = (int32_t)(i < first ? 0 : before + 1);
        plan->weight[i] = i < first ? 0 : group_weight / (double)(left < t ? left : t);
    }
    plan->groups = plan->group[s - 1];
}

cs_status cs_sample_offset(const cs_objective *objective, cs_rng *rng, cs_plan *plan)
{
    int64_t s = plan->length, first = objective->empty_prefix == CS_PREFIX_NONE ? 1 : 0;
    const cs_offsets offsets = {.distribution = cs_distance_of(objective, s), .longest = s};
    int64_t prefix = first + cs_rng_below(rng, s - first);
    int64_t d = cs_offsets_draw(&offsets, s - prefix, rng);
    cs_plan_one_target(plan, prefix, prefix + d - 1);
    return CS_OK;
}

/* ar: groups of one after a first of one; group-ar: groups of t after a first of 1..t. */
cs_status cs_sample_groups(const cs_objective *objective, cs_rng *rng, cs_plan *plan)
{
    if (objective->kind == CS_OBJ_AR) {
        cs_plan_fixed_groups(objective, 1, 1, plan);
        return CS_OK;
    }
    int64_t firsts = objective->t < plan->length ? objective->t : plan->length;
    cs_plan_fixed_groups(objective, 1 + cs_rng_below(rng, firsts), objective->t, plan);
    return CS_OK;
}

/* Labels in order of z: 0 up to n_0 - 1, 1 up to n_1 - 1, ... for boundaries drawn at random. */
static void draw_gvp_labels(const cs_objective *objective, cs_rng *rng, cs_plan *plan)
{
    int64_t s = plan->length, groups = objective->groups;
    bool mixed = objective->segmentation == CS_SEGMENT_MIXED;
    int64_t last = mixed ? cs_gvp_draw_last(s, groups, rng) : s;
    int64_t needed = mixed ? groups - 1 : groups; /* distinct draws from 1..last-1 */
    int32_t label = 0;
    plan->group[0] = 0;
    for (int64_t j = 1; j < s; ++j) {
        if (j == last) {
            ++label;
        } else if (j < last && needed > 0 && cs_rng_below(rng, last - j) < needed) {
            ++label;
            --needed;
        }
        plan->group[j] = label;
    }
}

static void fixed_gvp_labels(int64_t groups, cs_plan *plan)
{
    int32_t label = 0;
    for (int64_t j = 0; j < plan->length; ++j) {
        label += j == cs_gvp_fixed(plan->length, groups, label);
        plan->group[j] = label;
    }
}

cs_status cs_sample_bernoulli(const cs_objective *objective, cs_rng *rng, cs_plan *plan)
{
    plan->groups = 1;
    for (int64_t i = 0; i < plan->length; ++i) {
        plan->group[i] = cs_rng_uniform(rng) < objective->mask_ratio_lo;
    }
    return CS_OK;
}

cs_status cs_sample_order(const cs_objective *objective, cs_rng *rng, cs_plan *plan)
{
    cs_plan_fixed_groups(objective, 1, 1, plan);
    cs_rng_shuffle(rng, plan->length, plan->group);
    return CS_OK;
}

cs_status cs_sample_gvp(const cs_objective *objective, cs_rng *rng, cs_plan *plan)
{
    plan->groups = objective->groups;
    if (objective->segmentation == CS_SEGMENT_FIXED) {
        fixed_gvp_labels(objective->groups, plan);
    } else {
        draw_gvp_labels(objective, rng, plan);
    }
    if (objective->permutation == CS_PERMUTE_UNIFORM) {
        cs_rng_shuffle(rng, plan->length, plan->group);
    }
    return CS_OK;
}

cs_status cs_sample_masks(const cs_objective *objective, cs_rng *rng, cs_plan *plan)
{
    int64_t s = plan->length, lo, hi;
    cs_status status = cs_objective_unmasked(objective, s, &lo, &hi);
    if (status != CS_OK) return status;
    int64_t m = lo + cs_rng_below(rng, hi - lo + 1);
    plan->groups = 1;
    for (int64_t i = 0; i < s; ++i) {
        plan->group[i] = i >= m;
    }
    cs_rng_shuffle(rng, s, plan->group);
    return CS_OK;
}

cs_status cs_sample_file(const cs_objective *objective, cs_rng *rng, cs_plan *plan)
{
    const cs_plan_file *file = objective->file;
    double u = cs_rng_uniform(rng), below = 0;
    const cs_plan *drawn = NULL;
    for (int64_t p = 0; p < file->plans && below <= u; ++p) {
        if (file->plan[p].length == plan->length) {
            below += file->probability[p];
            drawn = &file->plan[p]; /* the last one when probabilities sum to just below 1 */
        }
    }
    assert(drawn); /* the objective exists at this length */
    cs_plan_copy_weighted(objective, drawn, plan);
    return CS_OK;
}

void cs_plan_copy_weighted(const cs_objective *objective, const cs_plan *from, cs_plan *plan)
{
    const double sum = cs_total(plan->length, from->weight);
    plan->groups = from->groups;
    for (int64_t i = 0; i < plan->length; ++i) {
        plan->group[i] = from->group[i];
        plan->weight[i] =
            objective->event_weight == CS_EVENT_MASK ? from->weight[i] / sum : from->weight[i];
    }
}

cs_status cs_train_diverse(const cs_objective *objective, cs_rng *rng, cs_plan *plan)
{
    cs_plan_diverse(objective, cs_rng_below(rng, cs_plan_diverse_firsts(objective, plan->length)),
                    plan);
    return CS_OK;
}

/* Of the whole objective, not again of a part of a mixture. */
static void level(const cs_objective *objective, cs_plan *plan)
{
    bool uniform = objective->target_weight == CS_TARGETS_UNIFORM;
    for (int64_t i = 0; uniform && plan->factor && i < plan->length; ++i) {
        plan->weight[i] *= plan->factor[i];
    }
}

/* Predictions that the share drops have the weight 0 and stay in their groups: no context changes. */
static void thin(const cs_objective *objective, cs_rng *rng, cs_plan *plan)
{
    for (int64_t i = 0; objective->share < 1 && i < plan->length; ++i) {
        if (!(cs_rng_uniform(rng) < objective->share)) plan->weight[i] = 0;
    }
}

static cs_status check_plan(const cs_objective *objective, const cs_plan *plan)
{
    cs_status status = cs_objective_check(objective);
    return status == CS_OK ? cs_objective_check_length(objective, plan->length) : status;
}

static cs_status draw(const cs_objective *objective, cs_rng *rng, cs_plan *plan)
{
    cs_status status = check_plan(objective, plan);
    if (status != CS_OK) return status;
    const cs_objective_row *row = cs_objective_table(objective->kind);
    plan->masks = row->masks; /* of a mixture that of the part, which is drawn next */
    status = row->sample(objective, rng, plan);
    bool own = row->weighting == CS_WEIGHTS_ONE || row->weighting == CS_WEIGHTS_OWN;
    if (status == CS_OK && (!own || row->token_weight)) cs_plan_weigh(objective, plan);
    if (status == CS_OK) level(objective, plan);
    return status;
}

cs_status cs_plan_sample(const cs_objective *objective, cs_rng *rng, cs_plan *plan)
{
    cs_status status = draw(objective, rng, plan);
    if (status == CS_OK) thin(objective, rng, plan);
    return status;
}

cs_status cs_plan_sample_training(const cs_objective *objective, cs_rng *rng, cs_plan *plan)
{
    const cs_objective_row *row = cs_objective_table(objective->kind);
    if (row->reads == CS_ROWS_PREFIXES) {
        return cs_fail(CS_ERR_USAGE, "%s has no plan that contains all prefixes",
                       cs_objective_name(objective->kind));
    }
    if (!row->train) {
        return draw(objective, rng, plan);
    }
    cs_status status = check_plan(objective, plan);
    if (status == CS_OK) status = row->train(objective, rng, plan);
    if (status == CS_OK) level(objective, plan);
    return status;
}
