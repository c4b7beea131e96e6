/* Two streams (LA App. B.3, Eq. 24): content row i sees the groups up to its own; a query row a
 * predicted token sees the groups before it and knows its position, not its token.
 *
 * offset-ar has no plan in which all its prefixes predict: its content is causal, which is what the
 * singletons of ar give, and the query of prefix i sees rows 0..i-1 wherever it sits.
 */
#include "train/batch_private.h"

static cs_batch_rows two_stream_rows(const cs_draft *draft, int64_t b)
{
    int64_t length = draft->plan[b].length;
    bool offset = draft->task->objective.kind == CS_OBJ_OFFSET_AR;
    int64_t queries = offset ? length - cs_draft_first(draft) : cs_draft_predicted(draft, b);
    return (cs_batch_rows){.length = length, .queries = queries, .predictions = queries};
}

/* Query row q, which sees ranks up to lim, predicts place k. */
static void add_query(cs_draft *draft, int64_t b, int64_t q, int64_t k, int32_t lim, double weight)
{
    int64_t row = b * draft->batch->queries + q;
    draft->batch->query_position[row] = cs_draft_position(draft, k);
    draft->batch->query_lim[row] = lim;
    cs_draft_predict(draft, b, row, k, weight);
}

static void two_stream_fill(cs_draft *draft, int64_t b)
{
    if (draft->task->objective.kind == CS_OBJ_OFFSET_AR) {
        cs_draft_offsets(draft, b, true);
        return;
    }
    const cs_plan *plan = &draft->plan[b];
    for (int64_t i = 0, q = 0; i < plan->length; ++i) {
        int32_t group = plan->group[i];
        cs_draft_content(draft, b, i, draft->example[b].token[i], cs_draft_position(draft, i),
                         group, group);
        if (cs_draft_predicts(draft, b, i)) {
            add_query(draft, b, q++, i, group - 1, plan->weight[i]);
        }
    }
}

const cs_batch_form cs_batch_two_stream = {two_stream_rows, two_stream_fill};
