/* Building a batch: check, draw every plan, measure, lay out padding, let the form fill.
 *
 * Each sequence draws from generators of its own, indexed by step * 2^20 + row and separate for
 * plan, replacements and kept [MASK]s: nothing depends on which other sequences share the batch.
 */
#include "train/batch.h"

#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "train/batch_private.h"

enum { ROW_BITS = 20, STEP_BITS = 43 };

static const cs_batch_form *form_of(cs_form form)
{
    switch (form) {
    case CS_FORM_SINGLE:
        return &cs_batch_single;
    case CS_FORM_TWO_STREAM:
        return &cs_batch_two_stream;
    case CS_FORM_MAE:
        return &cs_batch_mae;
    default:
        return &cs_batch_linear;
    }
}

/* --- what forms share --- */

cs_rng cs_draft_rng(const cs_draft *draft, cs_stream stream, int64_t b)
{
    uint64_t index = (uint64_t)draft->step << ROW_BITS | (uint64_t)draft->example[b].row;
    return cs_rng_at(draft->seed, stream, index);
}

int32_t cs_draft_position(const cs_draft *draft, int64_t i)
{
    const cs_model_config *config = draft->config;
    bool read = config->positions > 0 || config->relative_buckets > 0;
    return read ? (int32_t)(i + config->position_offset) : -1;
}

bool cs_draft_predicts(const cs_draft *draft, int64_t b, int64_t i)
{
    return draft->plan[b].weight[i] > 0;
}

int64_t cs_draft_predicted(const cs_draft *draft, int64_t b)
{
    int64_t predicted = 0;
    for (int64_t i = 0; i < draft->plan[b].length; ++i) {
        predicted += cs_draft_predicts(draft, b, i);
    }
    return predicted;
}

int64_t cs_draft_first(const cs_draft *draft)
{
    return draft->task->objective.empty_prefix == CS_PREFIX_NONE;
}

double cs_draft_prefix_weight(const cs_draft *draft, int64_t b)
{
    int64_t prefixes = draft->plan[b].length - cs_draft_first(draft);
    return draft->task->objective.event_weight == CS_EVENT_MASK ? 1 / (double)prefixes : 1;
}

void cs_draft_content(cs_draft *draft, int64_t b, int64_t i, int32_t token, int32_t position,
                      int32_t vis, int32_t lim)
{
    cs_batch *batch = draft->batch;
    int64_t row = b * batch->length + i;
    batch->token[row] = token;
    batch->position[row] = position;
    batch->vis[row] = vis;
    batch->lim[row] = lim;
}

int32_t cs_draft_replace(const cs_draft *draft, cs_rng *rng, int32_t token)
{
    const cs_task *task = draft->task;
    double u = task->keep + task->random > 0 ? cs_rng_uniform(rng) : 1;
    if (u < task->keep) {
        return token;
    }
    if (!(u < task->keep + task->random)) {
        return draft->config->mask_id;
    }
    int64_t drawn = cs_rng_below(rng, draft->config->vocab - draft->specials);
    for (int i = 0; i < draft->specials; ++i) {
        drawn += drawn >= draft->special[i];
    }
    return (int32_t)drawn;
}

void cs_draft_predict(cs_draft *draft, int64_t b, int64_t top, int64_t k, double weight)
{
    cs_batch *batch = draft->batch;
    int64_t r = draft->next++;
    batch->predict[r] = (int32_t)top;
    batch->target[r] = draft->example[b].token[k];
    batch->weight[r] = weight;
    batch->weight_sum += weight;
    batch->example[r] = (int32_t)b;
    batch->place[r] = (int32_t)k;
}

void cs_draft_offsets(cs_draft *draft, int64_t b, bool placed)
{
    int64_t length = draft->plan[b].length, first = cs_draft_first(draft);
    cs_rng rng = cs_draft_rng(draft, CS_STREAM_PLAN, b);
    for (int64_t i = 0; i < length; ++i) {
        cs_draft_content(draft, b, i, draft->example[b].token[i], cs_draft_position(draft, i),
                         (int32_t)i, (int32_t)i);
    }
    for (int64_t i = first; i < length; ++i) { /* prefix 0..i-1 */
        int64_t row = b * draft->batch->queries + i - first;
        int64_t k = i - 1 + cs_offsets_draw(&draft->offsets, length - i, &rng);
        if (placed) {
            draft->batch->query_position[row] = cs_draft_position(draft, k);
        }
        draft->batch->query_lim[row] = (int32_t)(i - 1);
        cs_draft_predict(draft, b, row, k, cs_draft_prefix_weight(draft, b));
    }
}

/* --- before the forms --- */

static cs_status check_example(const cs_draft *draft, const cs_example *example)
{
    const cs_model_config *config = draft->config;
    if (example->row < 0 || example->row >> ROW_BITS > 0) {
        return cs_fail(CS_ERR_USAGE, "row %" PRId64 " of a step not in 0..%d", example->row,
                       (1 << ROW_BITS) - 1);
    }
    if (config->positions > 0 && example->length > config->positions) {
        return cs_fail(CS_ERR_USAGE,
                       "row %" PRId64 ": length %" PRId64 " exceeds the %" PRId64
                       " positions of the model",
                       example->row, example->length, config->positions);
    }
    for (int64_t i = 0; i < example->length; ++i) {
        if (example->token[i] < 0 || example->token[i] >= config->vocab) {
            return cs_fail(CS_ERR_INPUT,
                           "row %" PRId64 ": token %" PRId32 " at place %" PRId64
                           " not in 0..%" PRId64 ", the vocabulary of the model",
                           example->row, example->token[i], i, config->vocab - 1);
        }
    }
    return CS_OK;
}

static cs_status draw_plan(cs_draft *draft, int64_t b)
{
    const cs_objective *objective = &draft->task->objective;
    int64_t length = draft->example[b].length;
    cs_plan *plan = &draft->plan[b];
    if (cs_objective_check_length(objective, length) != CS_OK) {
        cs_reason_clear();
        ++draft->batch->skipped;
        return CS_OK;
    }
    draft->batch->tokens += length;
    if (objective->kind == CS_OBJ_OFFSET_AR) {
        plan->length = length;
        return CS_OK;
    }
    cs_status status = cs_plan_init(plan, length);
    cs_rng rng = cs_draft_rng(draft, CS_STREAM_PLAN, b);
    return status == CS_OK ? cs_plan_sample_training(objective, &rng, plan) : status;
}

static cs_status draw_plans(cs_draft *draft)
{
    cs_status status = CS_OK;
    int64_t longest = 1;
    for (int64_t b = 0; b < draft->count && status == CS_OK; ++b) {
        int64_t length = draft->example[b].length;
        longest = length > longest ? length : longest;
        status = check_example(draft, &draft->example[b]);
    }
    if (status == CS_OK && draft->task->objective.kind == CS_OBJ_OFFSET_AR) {
        status = cs_offsets_init(&draft->task->objective, longest, &draft->offsets);
    }
    if (status == CS_OK) {
        draft->plan = cs_calloc(draft->count, sizeof *draft->plan);
        draft->scratch = cs_alloc(longest + 2, sizeof *draft->scratch);
        status = draft->plan && draft->scratch ? CS_OK : CS_ERR_MEMORY;
    }
    for (int64_t b = 0; b < draft->count && status == CS_OK; ++b) {
        status = draw_plan(draft, b);
    }
    return status;
}

static int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Present sizes: the largest rows, at least one of each kind that the form has; or pad_to. */
static cs_status size(cs_draft *draft, const cs_network_options *pad_to)
{
    cs_batch *batch = draft->batch;
    bool queries = batch->form == CS_FORM_TWO_STREAM || batch->form == CS_FORM_LINEAR;
    batch->batch = most(draft->count, 1);
    batch->length = 1;
    batch->queries = queries;
    batch->decoder_length = batch->form == CS_FORM_MAE;
    for (int64_t b = 0; b < draft->count; ++b) {
        if (draft->plan[b].length > 0) {
            cs_batch_rows rows = form_of(batch->form)->rows(draft, b);
            batch->length = most(batch->length, rows.length);
            batch->queries = most(batch->queries, rows.queries);
            batch->decoder_length = most(batch->decoder_length, rows.decoder_length);
            batch->events += rows.predictions;
        }
    }
    batch->predictions = most(batch->events, 1);
    int64_t *have[] = {&batch->batch, &batch->length, &batch->queries, &batch->decoder_length,
                       &batch->predictions};
    const char *name[] = {"sequences", "rows", "query rows", "decoder rows", "loss rows"};
    for (int i = 0; i < 5 && pad_to; ++i) {
        int64_t room[] = {pad_to->batch, pad_to->length, pad_to->queries, pad_to->decoder_length,
                          pad_to->predictions};
        if (*have[i] > room[i]) {
            return cs_fail(CS_ERR_USAGE, "a batch needs %" PRId64 " %s where %" PRId64 " fit",
                           *have[i], name[i], room[i]);
        }
        *have[i] = room[i];
    }
    int64_t longest = most(batch->length, most(batch->queries, batch->decoder_length));
    if (longest > INT32_MAX / batch->batch || batch->predictions > INT32_MAX) {
        return cs_fail(CS_ERR_USAGE,
                       "%" PRId64 " sequences of up to %" PRId64 " rows exceed %d rows",
                       batch->batch, longest, INT32_MAX);
    }
    return CS_OK;
}

/* --- arrays, filled with padding --- */

static cs_status fill_new(int64_t count, int32_t value, int32_t **out)
{
    *out = cs_alloc(count, sizeof **out);
    for (int64_t i = 0; *out && i < count; ++i) {
        (*out)[i] = value;
    }
    return *out ? CS_OK : CS_ERR_MEMORY;
}

static cs_status lay_out(cs_batch *b)
{
    int64_t rows = b->batch * b->length, queries = b->batch * b->queries;
    int64_t decoder = b->batch * b->decoder_length;
    const struct {
        int32_t **array;
        int64_t count;
        int32_t padding;
    } part[] = {
        {&b->token, rows, -1},
        {&b->position, rows, -1},
        {&b->vis, rows, INT32_MAX},
        {&b->lim, rows, -1},
        {&b->query_position, queries, -1},
        {&b->query_lim, queries, -1},
        {&b->decoder_from, decoder, -1},
        {&b->decoder_token, decoder, -1},
        {&b->decoder_position, decoder, -1},
        {&b->decoder_vis, decoder, INT32_MAX},
        {&b->decoder_lim, decoder, -1},
        {&b->decoder_cross_lim, decoder, -1},
        {&b->predict, b->predictions, -1},
        {&b->target, b->predictions, -1},
        {&b->example, b->predictions, -1},
        {&b->place, b->predictions, -1},
    };
    cs_status status = CS_OK;
    for (size_t i = 0; i < sizeof part / sizeof *part && status == CS_OK; ++i) {
        if (part[i].count > 0) {
            status = fill_new(part[i].count, part[i].padding, part[i].array);
        }
    }
    b->weight = status == CS_OK ? cs_calloc(b->predictions, sizeof *b->weight) : NULL;
    return status == CS_OK && !b->weight ? CS_ERR_MEMORY : status;
}

void cs_batch_free(cs_batch *batch)
{
    int32_t *array[] = {batch->token,        batch->position,       batch->vis,
                        batch->lim,          batch->query_position, batch->query_lim,
                        batch->decoder_from, batch->decoder_token,  batch->decoder_position,
                        batch->decoder_vis,  batch->decoder_lim,    batch->decoder_cross_lim,
                        batch->predict,      batch->target,         batch->example,
                        batch->place,        batch->type,           batch->readout_lim};
    for (size_t i = 0; i < sizeof array / sizeof *array; ++i) {
        cs_free(array[i]);
    }
    cs_free(batch->weight);
    cs_free(batch->goal);
    memset(batch, 0, sizeof *batch);
}

cs_status cs_batch_build(const cs_task *task, const cs_model_config *config,
                         const cs_example *example, int64_t count, uint64_t seed, int64_t step,
                         const cs_network_options *pad_to, cs_batch *out)
{
    cs_batch batch = {.form = cs_form_of(task, config)};
    cs_draft draft = {.task = task,
                      .config = config,
                      .example = example,
                      .count = count,
                      .seed = seed,
                      .step = step,
                      .batch = &batch};
    cs_status status = cs_task_check(task, config);
    if (status == CS_OK && (step < 0 || step >> STEP_BITS > 0)) {
        status = cs_fail(CS_ERR_USAGE, "step %" PRId64 " not in 0..2^%d - 1", step, STEP_BITS);
    }
    if (status != CS_OK || (status = draw_plans(&draft)) != CS_OK ||
        (status = size(&draft, pad_to)) != CS_OK || (status = lay_out(&batch)) != CS_OK) {
        goto done;
    }
    draft.specials = cs_task_specials(config, draft.special);
    for (int64_t b = 0; b < count; ++b) {
        if (draft.plan[b].length > 0) {
            form_of(batch.form)->fill(&draft, b);
        }
    }
    *out = batch;
    memset(&batch, 0, sizeof batch);
done:
    for (int64_t b = 0; b < count && draft.plan; ++b) {
        cs_plan_free(&draft.plan[b]);
    }
    cs_free(draft.plan);
    cs_free(draft.scratch);
    cs_offsets_free(&draft.offsets);
    cs_batch_free(&batch);
    return status;
}
