/* One stream: `ar` sees what stands before, `masked` everything, with [MASK] at the targets.
 *
 * With a shared empty prefix, ar reads the begin token and all tokens but the last, so that row i
 * predicts token i and texts take no more rows than without.
 */
#include "train/batch_private.h"

static cs_batch_rows single_rows(const cs_draft *draft, int64_t b)
{
    return (cs_batch_rows){.length = draft->plan[b].length,
                           .predictions = cs_draft_predicted(draft, b)};
}

static void fill_causal(cs_draft *draft, int64_t b)
{
    const cs_plan *plan = &draft->plan[b];
    const int32_t *token = draft->example[b].token;
    int64_t shift = cs_draft_first(draft); /* row i predicts place i + shift */
    for (int64_t i = 0; i < plan->length; ++i) {
        int64_t read = i - 1 + shift;
        cs_draft_content(draft, b, i, read < 0 ? draft->config->bos_id : token[read],
                         cs_draft_position(draft, i), (int32_t)i, (int32_t)i);
        if (i + shift < plan->length) {
            cs_draft_predict(draft, b, b * draft->batch->length + i, i + shift,
                             plan->weight[i + shift]);
        }
    }
}

static void fill_masked(cs_draft *draft, int64_t b)
{
    const cs_plan *plan = &draft->plan[b];
    cs_rng rng = cs_draft_rng(draft, CS_STREAM_REPLACE, b);
    for (int64_t i = 0; i < plan->length; ++i) {
        int32_t token = draft->example[b].token[i];
        if (cs_draft_predicts(draft, b, i)) {
            cs_draft_predict(draft, b, b * draft->batch->length + i, i, plan->weight[i]);
            token = cs_draft_replace(draft, &rng, token);
        }
        cs_draft_content(draft, b, i, token, cs_draft_position(draft, i), 0, 0);
    }
}

static void single_fill(cs_draft *draft, int64_t b)
{
    if (draft->task->objective.kind == CS_OBJ_AR) {
        fill_causal(draft, b);
    } else {
        fill_masked(draft, b);
    }
}

const cs_batch_form cs_batch_single = {single_rows, single_fill};
