/* Drawing plans of an objective, which is checked once for all that are drawn at one length. */
#include <assert.h>
#include <string.h>

#include "base/auto.h"
#include "plan/distributions_private.h"
#include "plan/plan.h"

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

cs_status cs_plan_sampler_init(const cs_objective *objective, int64_t length, cs_plan_sampler *out)
{
    cs_plan_sampler made = {.objective = *objective, .length = length};
    cs_status status = cs_objective_check(objective);
    if (status == CS_OK) status = cs_objective_check_length(objective, length);
    if (status == CS_OK && objective->kind == CS_OBJ_MIX)
        status = cs_mix_at(objective, length, &made.part, &made.parts);
    return CS_DELIVER(status, out, made, cs_plan_sampler_free);
}

void cs_plan_sampler_free(cs_plan_sampler *sampler)
{
    cs_free(sampler->part);
    memset(sampler, 0, sizeof *sampler);
}

/* A part with the probability of its share; the last one where shares sum to just below 1. */
static const cs_objective *draw_part(const cs_plan_sampler *sampler, cs_rng *rng)
{
    const cs_mix_at_length *part = sampler->part, *last = part + sampler->parts - 1;
    const double u = cs_rng_uniform(rng);
    for (double below = part->share; below <= u && part < last; below += part->share) {
        ++part;
    }
    return &part->objective;
}

/* In training the weights of a plan are those of all its events; else one of one target a prefix
 * stands for all prefixes. */
static cs_status draw(const cs_plan_sampler *sampler, bool training, cs_rng *rng, cs_plan *plan)
{
    const cs_objective *whole = &sampler->objective, *o = whole;
    assert(plan->length == sampler->length);
    if (sampler->parts > 0) o = draw_part(sampler, rng);
    const cs_objective_row *row = cs_objective_table(o->kind);
    const bool train = training && row->train;
    const bool own = row->weighting == CS_WEIGHTS_ONE || row->weighting == CS_WEIGHTS_OWN;
    plan->masks = row->masks;
    cs_status status = train ? row->train(o, rng, plan) : row->sample(o, rng, plan);
    if (status != CS_OK) return status;
    if (!train && (!own || row->token_weight)) cs_plan_weigh(o, plan);
    if (!train && sampler->parts > 0) cs_mix_scale(o, plan);
    level(whole, plan);
    return CS_OK;
}

cs_status cs_plan_draw(const cs_plan_sampler *sampler, cs_rng *rng, cs_plan *plan)
{
    cs_status status = draw(sampler, false, rng, plan);
    if (status == CS_OK) thin(&sampler->objective, rng, plan);
    return status;
}

cs_status cs_plan_sample(const cs_objective *objective, cs_rng *rng, cs_plan *plan)
{
    CS_AUTO(cs_plan_sampler) sampler = {0};
    cs_status status = cs_plan_sampler_init(objective, plan->length, &sampler);
    return status == CS_OK ? cs_plan_draw(&sampler, rng, plan) : status;
}

cs_status cs_plan_sample_training(const cs_objective *objective, cs_rng *rng, cs_plan *plan)
{
    const cs_objective_row *row = cs_objective_table(objective->kind);
    if (row->reads == CS_ROWS_PREFIXES) {
        return cs_fail(CS_ERR_USAGE, "%s has no plan that contains all prefixes",
                       cs_objective_name(objective->kind));
    }
    CS_AUTO(cs_plan_sampler) sampler = {0};
    cs_status status = cs_plan_sampler_init(objective, plan->length, &sampler);
    return status == CS_OK ? draw(&sampler, true, rng, plan) : status;
}
