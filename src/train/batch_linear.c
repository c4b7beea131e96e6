/* Pooled linear attention (Theorem 4.3): a query row is a conditioning set, and what it predicts is
 * read off the pooled features, blind to the target's position.
 *
 * A group that predicts is one query row, which sees all earlier groups. This is every objective:
 * ar's groups are single tokens, a mask's second group is all it hides. offset-ar has a row a
 * prefix.
 */
#include <string.h>

#include "train/batch_private.h"

/* Marks groups that predict, then numbers them in rising order; returns how many. */
static int64_t number_groups(const cs_draft *draft, int64_t b, int32_t *row)
{
    const cs_plan *plan = &draft->plan[b];
    int32_t rows = 0;
    memset(row, 0, (size_t)(plan->groups + 1) * sizeof *row);
    for (int64_t i = 0; i < plan->length; ++i) {
        row[plan->group[i]] |= cs_draft_predicts(draft, b, i);
    }
    for (int64_t g = 0; g <= plan->groups; ++g) {
        row[g] = row[g] ? rows++ : -1;
    }
    return rows;
}

static cs_batch_rows linear_rows(const cs_draft *draft, int64_t b)
{
    int64_t length = draft->plan[b].length;
    if (draft->task->objective.kind == CS_OBJ_OFFSET_AR) {
        int64_t prefixes = length - cs_draft_first(draft);
        return (cs_batch_rows){.length = length, .queries = prefixes, .predictions = prefixes};
    }
    return (cs_batch_rows){.length = length,
                           .queries = number_groups(draft, b, draft->scratch),
                           .predictions = cs_draft_predicted(draft, b)};
}

static void linear_fill(cs_draft *draft, int64_t b)
{
    if (draft->task->objective.kind == CS_OBJ_OFFSET_AR) {
        cs_draft_offsets(draft, b, false);
        return;
    }
    const cs_plan *plan = &draft->plan[b];
    (void)number_groups(draft, b, draft->scratch);
    for (int64_t i = 0; i < plan->length; ++i) {
        int32_t group = plan->group[i];
        cs_draft_content(draft, b, i, draft->example[b].token[i], cs_draft_position(draft, i),
                         group, group);
        if (cs_draft_predicts(draft, b, i)) {
            int64_t row = b * draft->batch->queries + draft->scratch[group];
            draft->batch->query_lim[row] = group - 1;
            cs_draft_predict(draft, b, row, i, plan->weight[i]);
        }
    }
}

const cs_batch_form cs_batch_linear = {linear_rows, linear_fill};
