#include "plan/content_masks.h"

#include <string.h>

#include "base/auto.h"
#include "base/enum_names.h"
#include "base/rng.h"
#include "plan/plan.h"

static const char *const NAME[] = {[CS_ATTENTION_BIDIRECTIONAL] = "bidirectional",
                                   [CS_ATTENTION_CAUSAL] = "causal",
                                   [CS_ATTENTION_PLAN] = "plan"};

CS_NAMES(cs_attention, "attention", NAME)

int64_t cs_content_draws(const cs_content_masks *masks)
{
    return masks->attention == CS_ATTENTION_PLAN ? masks->draws : 1;
}

static cs_status draw_ranks(const cs_content_masks *m, uint64_t text, int64_t draw, int64_t n,
                            int32_t *rank)
{
    bool exists = false;
    CS_AUTO(cs_plan) plan = {0};
    cs_status status = cs_objective_exists(m->objective, n, &exists);
    if (!exists) return status;
    cs_rng of_text = cs_rng_at(m->seed, CS_STREAM_CONTENT, text);
    cs_rng rng = cs_rng_at(cs_rng_u64(&of_text), CS_STREAM_CONTENT, (uint64_t)draw);
    status = cs_plan_init(&plan, n);
    if (status == CS_OK) status = cs_plan_sample_training(m->objective, &rng, &plan);
    if (status == CS_OK) memcpy(rank, plan.group, (size_t)n * sizeof *rank);
    return status;
}

cs_status cs_content_ranks(const cs_content_masks *masks, uint64_t text, int64_t draw, int64_t n,
                           int32_t *rank)
{
    const bool causal = masks->attention == CS_ATTENTION_CAUSAL;
    for (int64_t i = 0; i < n; ++i) {
        rank[i] = causal ? (int32_t)i : 0;
    }
    return masks->attention == CS_ATTENTION_PLAN ? draw_ranks(masks, text, draw, n, rank) : CS_OK;
}
