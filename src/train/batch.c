/* Building a batch: check, draw every plan, measure, lay out padding, let the form fill rows and
 * attention masks.
 *
 * Each sequence draws from its own generators, indexed by step * 2^20 + row and separate for plan,
 * replacements and kept [MASK]s: nothing depends on which other sequences share the batch. */
#include "train/batch.h"

#include <inttypes.h>
#include <string.h>

#include "base/ints.h"
#include "base/mem.h"
#include "base/rng.h"
#include "plan/offsets.h"
#include "plan/pairs.h"
#include "plan/plan.h"
#include "train/batch_private.h"

enum { STEP_BITS = 43 };

/* Rows of one sequence. */
typedef struct {
    int64_t length, queries, decoder_length, predictions;
} rows_taken;

typedef struct {
    const cs_batch_order *order;
    const cs_task *task; /* of the order, as config */
    const cs_model_config *config;
    const cs_example *example;
    int64_t count;
    const cs_plan *given; /* count, in place of drawn ones; NULL: they are drawn */
    cs_plan *plan;        /* count; length 0: too short. offset-ar: only the length is set */
    cs_offsets offsets;   /* offset-ar */
    int64_t ahead;        /* cs_task_offsets */
    int64_t longest;
    double **factor;  /* longest + 1: of uniform target weights at the lengths that occurred */
    bool *kept;       /* count x longest: predictions that the objective's share keeps; NULL: all */
    int32_t *scratch; /* longest + 2: rows of groups (linear) */
    cs_replacement replacement; /* of masked tokens that the encoder reads */
    int64_t extra;              /* rows before those of a sequence (cs_model_config_extra) */
    cs_batch *batch;
} cs_draft;

/* --- what forms share --- */

static cs_rng draft_rng(const cs_draft *draft, cs_stream stream, int64_t b)
{
    uint64_t index = (uint64_t)draft->order->step << CS_ROW_BITS | (uint64_t)draft->example[b].row;
    return cs_rng_at(draft->order->seed, stream, index);
}

/* Whether the plan of sequence b predicts place i (positive weight). */
static bool draft_predicts(const cs_draft *draft, int64_t b, int64_t i)
{
    return draft->plan[b].weight[i] > 0;
}

/* Whether the loss scores prediction i of sequence b: its share keeps it. Predictions are numbered by
 * the predicted place, in offset-ar by the length of the prefix. A dropped prediction changes nothing
 * that the network reads. */
static bool draft_scores(const cs_draft *draft, int64_t b, int64_t i)
{
    return !draft->kept || draft->kept[b * draft->longest + i];
}

static int64_t draft_predicted(const cs_draft *draft, int64_t b)
{
    int64_t predicted = 0;
    for (int64_t i = 0; i < draft->plan[b].length; ++i) {
        predicted += draft_predicts(draft, b, i);
    }
    return predicted;
}

/* offset-ar: length of the first prefix that predicts (0 or 1). */
static int64_t draft_first(const cs_draft *draft)
{
    return draft->task->objective.empty_prefix == CS_PREFIX_NONE;
}

/* Of the event that a prefix predicts place k. */
static double draft_prefix_weight(const cs_draft *draft, int64_t b, int64_t k)
{
    int64_t prefixes = draft->plan[b].length - draft_first(draft);
    bool mask = draft->task->objective.event_weight == CS_EVENT_MASK;
    const double *factor = draft->plan[b].factor;
    return (mask ? 1 / (double)prefixes : 1) * (factor ? factor[k] : 1);
}

/* The example of sequence b, with a class token before it where the model has one. */
static cs_text_rows draft_text(const cs_draft *draft, int64_t b)
{
    const cs_example *example = &draft->example[b];
    return (cs_text_rows){.batch = draft->batch,
                          .config = draft->config,
                          .b = b,
                          .before = &draft->config->ids.bos,
                          .befores = draft->extra,
                          .token = example->token,
                          .tokens = example->length,
                          .real = example->real,
                          .extra = example->extra};
}

/* Row i of sequence b reads place k of the example, or in its place the id `shown`. */
static void draft_read(const cs_draft *draft, int64_t b, int64_t i, int64_t k, int32_t shown,
                       int64_t place, int32_t rank)
{
    const cs_text_rows text = draft_text(draft, b);
    cs_text_row_shown(&text, i + draft->extra, k + draft->extra, shown, place + draft->extra, rank);
}

/* The next loss row: row `top` of the network's top predicts place k of sequence b. */
static void draft_predict(cs_draft *draft, int64_t b, int64_t top, int64_t k, double weight)
{
    const cs_example *example = &draft->example[b];
    const cs_model_config *c = draft->config;
    cs_batch_predict(draft->batch, top, example->token[k], weight, b, k);
    if (c->head.target != CS_TARGET_IDS) {
        cs_batch_values(draft->batch, c->head.target, example->real + k * c->shape.real_width);
    }
}

/* The content row of place i of sequence b. */
static int64_t draft_row(const cs_draft *draft, int64_t b, int64_t i)
{
    return b * draft->batch->length + draft->extra + i;
}

/* --- single: one stream --- */

/* How many places from k on the row before k predicts: with heads of offsets one for each. */
static int64_t row_predicts(const cs_draft *draft, int64_t b, int64_t k)
{
    return cs_most(cs_least(draft->ahead, draft->plan[b].length - k), 1);
}

static rows_taken single_rows(const cs_draft *draft, int64_t b)
{
    const cs_plan *plan = &draft->plan[b];
    const bool begins = plan->masks && draft_first(draft) == 0;
    rows_taken rows = {.length = plan->length + begins};
    for (int64_t k = 0; k < plan->length; ++k) {
        const int64_t t = draft_predicts(draft, b, k) ? row_predicts(draft, b, k) : 0;
        for (int64_t d = 0; d < t; ++d) {
            rows.predictions += draft_scores(draft, b, k + d);
        }
    }
    return rows;
}

/* Sets the targets of row `row` of sequence b: place k or, with heads of offsets, the next ones
 * from k on: the head of each is its offset's, and they share the weight of the prefix (LA Eq.
 * 3). */
static void predict_next(cs_draft *draft, int64_t b, int64_t row, int64_t k)
{
    const cs_plan *plan = &draft->plan[b];
    const int64_t t = row_predicts(draft, b, k);
    for (int64_t d = 0; d < t; ++d) {
        if (!draft_scores(draft, b, k + d)) continue;
        draft->batch->loss.head[draft->batch->events] = (int32_t)d;
        draft_predict(draft, b, row, k + d,
                      draft->ahead > 0 ? draft_prefix_weight(draft, b, k + d) / (double)t
                                       : plan->weight[k]);
    }
}

/* Row i sees what precedes it (in general the groups up to its own). With a shared empty prefix it
 * reads the begin token and all tokens but the last, so that row i predicts token i and texts take
 * no more rows than without. Of a plan that masks every row sees every row, the last token's too. */
static void fill_next(cs_draft *draft, int64_t b)
{
    const cs_plan *plan = &draft->plan[b];
    const int32_t *token = draft->example[b].token;
    const int64_t shift = draft_first(draft), /* row i predicts place i + shift */
        rows = single_rows(draft, b).length;
    cs_rng rng = draft_rng(draft, CS_STREAM_REPLACE, b);
    for (int64_t i = 0; i < rows; ++i) {
        int64_t read = i - 1 + shift;
        if (read < 0) {
            const cs_text_rows text = draft_text(draft, b);
            cs_text_row_shown(&text, i + draft->extra, -1, draft->config->ids.bos, i + draft->extra,
                              0);
        } else {
            const bool hides = plan->masks && draft_predicts(draft, b, read);
            draft_read(draft, b, i, read,
                       hides ? cs_replacement_draw(&draft->replacement, &rng, token[read])
                             : token[read],
                       i, plan->masks ? 0 : plan->group[read]);
        }
        if (i + shift < plan->length && draft_predicts(draft, b, i + shift)) {
            predict_next(draft, b, draft_row(draft, b, i), i + shift);
        }
    }
}

/* Every row sees every row, with [MASK] at the targets. */
static void fill_masked(cs_draft *draft, int64_t b)
{
    const cs_plan *plan = &draft->plan[b];
    cs_rng rng = draft_rng(draft, CS_STREAM_REPLACE, b);
    for (int64_t i = 0; i < plan->length; ++i) {
        int32_t token = draft->example[b].token[i];
        if (draft_predicts(draft, b, i)) {
            if (draft_scores(draft, b, i)) {
                draft_predict(draft, b, draft_row(draft, b, i), i, plan->weight[i]);
            }
            token = cs_replacement_draw(&draft->replacement, &rng, token);
        }
        draft_read(draft, b, i, i, token, i, 0);
    }
}

static void single_fill(cs_draft *draft, int64_t b)
{
    if (cs_task_reads(draft->task) != CS_ROWS_MASKED) {
        fill_next(draft, b);
    } else {
        fill_masked(draft, b);
    }
}

/* --- two-stream and linear: content rows and query rows --- */

/* Two streams (LA App. B.3, Eq. 24): content row i sees the groups up to its own; a query row a
 * predicted token sees the groups before it and knows its position, not its token.
 *
 * Blind queries, and pooled linear attention (Theorem 4.3): a query row is a conditioning set, and
 * what it predicts is read off it whatever the target's position. A group that predicts is one
 * query row, which sees all earlier groups. This is every objective: ar's groups are single tokens,
 * a mask's second group is all it hides.
 *
 * Of two streams over a mask the hidden tokens have no content row: no query sees them.
 *
 * offset-ar has no plan in which all its prefixes predict: its content is causal, which is what the
 * singletons of ar give, and the query of prefix i sees rows 0..i-1 wherever it sits. */
static bool placed(const cs_draft *draft)
{
    return draft->batch->form == CS_FORM_TWO_STREAM && !draft->config->attention.blind_queries;
}

static bool leaves_out(const cs_draft *draft)
{
    return draft->batch->form == CS_FORM_TWO_STREAM && cs_task_masks(draft->task);
}

/* Where the query of place k sits. */
static int32_t place_of(const cs_draft *draft, int64_t k)
{
    return cs_batch_position(draft->config, k + draft->extra);
}

/* Marks groups that predict, then numbers them in rising order; returns how many. */
static int64_t number_groups(const cs_draft *draft, int64_t b, int32_t *row)
{
    const cs_plan *plan = &draft->plan[b];
    int32_t rows = 0;
    memset(row, 0, (size_t)(plan->groups + 1) * sizeof *row);
    for (int64_t i = 0; i < plan->length; ++i) {
        row[plan->group[i]] |= draft_predicts(draft, b, i);
    }
    for (int64_t g = 0; g <= plan->groups; ++g) {
        row[g] = row[g] ? rows++ : -1;
    }
    return rows;
}

static rows_taken query_rows(const cs_draft *draft, int64_t b)
{
    int64_t length = draft->plan[b].length;
    bool offset = cs_task_reads(draft->task) == CS_ROWS_PREFIXES;
    int64_t events = offset ? length - draft_first(draft) : draft_predicted(draft, b);
    int64_t queries = offset || placed(draft) ? events : number_groups(draft, b, draft->scratch);
    int64_t scored = 0;
    for (int64_t i = offset ? draft_first(draft) : 0; i < length; ++i) {
        scored += (offset || draft_predicts(draft, b, i)) && draft_scores(draft, b, i);
    }
    for (int64_t i = 0; leaves_out(draft) && i < draft->plan[b].length; ++i) {
        length -= draft->plan[b].group[i] > 0;
    }
    return (rows_taken){.length = length, .queries = queries, .predictions = scored};
}

/* offset-ar: causal content, and a query a prefix, which sees the prefix and predicts a token drawn
 * after it. */
static void fill_offsets(cs_draft *draft, int64_t b)
{
    int64_t length = draft->plan[b].length, first = draft_first(draft);
    cs_rng rng = draft_rng(draft, CS_STREAM_PLAN, b);
    for (int64_t i = 0; i < length; ++i) {
        draft_read(draft, b, i, i, draft->example[b].token[i], i, (int32_t)i);
    }
    for (int64_t i = first; i < length; ++i) { /* prefix 0..i-1 */
        int64_t row = b * draft->batch->queries + i - first;
        int64_t k = i - 1 + cs_offsets_draw(&draft->offsets, length - i, &rng);
        cs_batch_query(draft->batch, row, placed(draft) ? place_of(draft, k) : -1,
                       (int32_t)(i - 1));
        if (draft_scores(draft, b, i)) {
            draft_predict(draft, b, row, k, draft_prefix_weight(draft, b, k));
        }
    }
}

static void query_fill(cs_draft *draft, int64_t b)
{
    if (cs_task_reads(draft->task) == CS_ROWS_PREFIXES) {
        fill_offsets(draft, b);
        return;
    }
    const cs_plan *plan = &draft->plan[b];
    if (!placed(draft)) {
        (void)number_groups(draft, b, draft->scratch);
    }
    for (int64_t i = 0, row = 0, q = 0; i < plan->length; ++i) {
        int32_t group = plan->group[i];
        if (group == 0 || !leaves_out(draft)) {
            draft_read(draft, b, row++, i, draft->example[b].token[i], i, group);
        }
        if (draft_predicts(draft, b, i)) {
            int64_t top = b * draft->batch->queries + (placed(draft) ? q++ : draft->scratch[group]);
            cs_batch_query(draft->batch, top, placed(draft) ? place_of(draft, i) : -1, group - 1);
            if (draft_scores(draft, b, i)) draft_predict(draft, b, top, i, plan->weight[i]);
        }
    }
}

/* --- mae --- */

/* Masked autoencoding (MAE-LM section 3 and Table 2): the encoder reads the unmasked tokens and a
 * share delta of the masked ones; the decoder has its output and [MASK] vectors at every position.
 *
 *   decoder        rows                 a row starts from               sees
 *   self           all positions        the encoder's row, or [MASK]    all rows
 *   self + cross   all positions        the same                        all rows; all encoder rows
 *   cross          masked positions     [MASK]                          all encoder rows
 *   causal cross   all positions        the token before it             rows up to it; all encoder
 *                                                                       rows
 *
 * The causal decoder predicts every token, as BART does (Table 2, unidirectional self-attention
 * and cross-attention), where its encoder hides some of them: an unmasked token is copied from
 * there. [MASK]s that stay are drawn by selection sampling (Knuth, TAOCP 2, 3.4.2, Algorithm S). */
static rows_taken mae_rows(const cs_draft *draft, int64_t b)
{
    int64_t length = draft->plan[b].length, masked = draft_predicted(draft, b);
    rows_taken rows = {.length = length - masked + cs_task_kept(draft->task, masked),
                       .decoder_length = length};
    const bool all = draft->config->decoder.attention == CS_DECODER_CAUSAL_CROSS && masked > 0;
    for (int64_t k = 0; k < length; ++k) {
        rows.predictions += (all || draft_predicts(draft, b, k)) && draft_scores(draft, b, k);
    }
    if (draft->config->decoder.attention == CS_DECODER_CROSS) {
        rows.decoder_length = masked;
    }
    return rows;
}

static void mae_fill(cs_draft *draft, int64_t b)
{
    const cs_plan *plan = &draft->plan[b];
    const cs_task *task = draft->task;
    const int64_t extra = draft->extra;
    const cs_decoder_attention attention = draft->config->decoder.attention;
    cs_mae_rows rows = {.text = draft_text(draft, b)};
    cs_rng keep = draft_rng(draft, CS_STREAM_KEPT, b);
    cs_rng replace = draft_rng(draft, CS_STREAM_REPLACE, b);
    int64_t masked = draft_predicted(draft, b), kept = cs_task_kept(task, masked);
    double share = task->objective.event_weight == CS_EVENT_MASK ? 1 / (double)plan->length : 1;
    for (int64_t i = 0; i < extra; ++i) {
        (void)cs_mae_row(&rows, i, rows.text.before[i], i, false, attention != CS_DECODER_CROSS);
    }
    for (int64_t k = 0, left = masked; k < plan->length; ++k) {
        bool target = draft_predicts(draft, b, k);
        bool stays = target && kept > 0 && cs_rng_below(&keep, left) < kept;
        int32_t token = draft->example[b].token[k];
        int32_t shown = !target ? token
                        : stays ? cs_replacement_draw(&draft->replacement, &replace, token)
                                : -1;
        left -= target;
        kept -= stays;
        bool reset = stays && task->decoder_resets && shown == draft->config->ids.mask;
        int64_t row =
            cs_mae_row(&rows, k + extra, shown, task->misaligned ? rows.encoded : k + extra, reset,
                       target || attention != CS_DECODER_CROSS);
        bool all = attention == CS_DECODER_CAUSAL_CROSS;
        if ((all ? masked > 0 : target) && draft_scores(draft, b, k)) {
            draft_predict(draft, b, row, k, all ? share : plan->weight[k]);
        }
    }
}

/* The functions of a form: rows of sequence b, and its values over the padding. Neither fails. */
static const struct {
    rows_taken (*rows)(const cs_draft *draft, int64_t b);
    void (*fill)(cs_draft *draft, int64_t b);
} FORM[] = {[CS_FORM_SINGLE] = {single_rows, single_fill},
            [CS_FORM_TWO_STREAM] = {query_rows, query_fill},
            [CS_FORM_MAE] = {mae_rows, mae_fill},
            [CS_FORM_LINEAR] = {query_rows, query_fill}};

/* --- before the forms --- */

/* A given plan as it is. */
static cs_status take_plan(const cs_plan *given, cs_plan *plan)
{
    if (given->length != plan->length) {
        return cs_fail(CS_ERR_USAGE,
                       "the plan has %" PRId64 " positions, but the text has %" PRId64,
                       given->length, plan->length);
    }
    plan->groups = given->groups;
    plan->masks = given->masks;
    memcpy(plan->group, given->group, (size_t)plan->length * sizeof *plan->group);
    memcpy(plan->weight, given->weight, (size_t)plan->length * sizeof *plan->weight);
    return CS_OK;
}

static cs_status draw_plan(cs_draft *draft, int64_t b)
{
    const cs_objective *objective = &draft->task->objective;
    int64_t length = draft->example[b].length;
    cs_plan *plan = &draft->plan[b];
    bool exists = false;
    cs_status status = cs_objective_exists(objective, length, &exists);
    if (!exists) {
        ++draft->batch->skipped;
        return status;
    }
    draft->batch->tokens += length;
    if (!draft->factor[length]) {
        status = cs_target_factors(objective, length, &draft->factor[length]);
    }
    if (status == CS_OK && cs_task_reads(draft->task) == CS_ROWS_PREFIXES) {
        plan->length = length;
        plan->factor = draft->factor[length];
        return CS_OK;
    }
    if (status == CS_OK) status = cs_plan_init(plan, length);
    if (status == CS_OK && draft->given) {
        return take_plan(&draft->given[b], plan);
    }
    plan->factor = draft->factor[length];
    cs_rng rng = draft_rng(draft, CS_STREAM_PLAN, b);
    cs_objective next = cs_objective_default(CS_OBJ_AR); /* the rows of all heads are prefixes */
    next.empty_prefix = objective->empty_prefix;
    return status == CS_OK
               ? cs_plan_sample_training(draft->ahead > 0 ? &next : objective, &rng, plan)
               : status;
}

static cs_status draw_kept(cs_draft *draft)
{
    const double share = draft->task->objective.share;
    if (share == 1) return CS_OK;
    draft->kept = cs_calloc(draft->count * draft->longest, sizeof *draft->kept);
    for (int64_t b = 0; draft->kept && b < draft->count; ++b) {
        cs_rng rng = draft_rng(draft, CS_STREAM_SHARE, b);
        for (int64_t i = 0; i < draft->plan[b].length; ++i) {
            draft->kept[b * draft->longest + i] = cs_rng_uniform(&rng) < share;
        }
    }
    return draft->kept ? CS_OK : CS_ERR_MEMORY;
}

static cs_status draw_plans(cs_draft *draft)
{
    cs_status status = CS_OK;
    int64_t longest = 1;
    for (int64_t b = 0; b < draft->count && status == CS_OK; ++b) {
        int64_t length = draft->example[b].length;
        longest = length > longest ? length : longest;
        status = cs_example_check(draft->task, draft->config, &draft->example[b]);
    }
    if (status == CS_OK && cs_task_reads(draft->task) == CS_ROWS_PREFIXES)
        status = cs_offsets_init(&draft->task->objective, longest, &draft->offsets);
    if (status == CS_OK) {
        draft->plan = cs_calloc(draft->count, sizeof *draft->plan);
        draft->scratch = cs_alloc(longest + 2, sizeof *draft->scratch);
        draft->factor = cs_calloc(longest + 1, sizeof *draft->factor);
        draft->longest = longest;
        status = draft->plan && draft->scratch && draft->factor ? CS_OK : CS_ERR_MEMORY;
    }
    for (int64_t b = 0; b < draft->count && status == CS_OK; ++b) {
        status = draw_plan(draft, b);
    }
    return status == CS_OK && !draft->given ? draw_kept(draft) : status;
}

/* Padding of the largest rows, at least one of each kind that the form has; or of pad_to. */
static cs_status lay_out(cs_draft *draft)
{
    const cs_network_options *pad_to = draft->order->pad_to;
    cs_batch *batch = draft->batch;
    const int64_t tokens = batch->tokens, skipped = batch->skipped;
    cs_network_options o = {.form = batch->form, .batch = cs_most(draft->count, 1), .length = 1};
    o.queries = o.form == CS_FORM_TWO_STREAM || o.form == CS_FORM_LINEAR;
    o.decoder_length = o.form == CS_FORM_MAE;
    for (int64_t b = 0; b < draft->count; ++b) {
        if (draft->plan[b].length > 0) {
            rows_taken rows = FORM[o.form].rows(draft, b);
            const bool all = draft->config->decoder.attention != CS_DECODER_CROSS;
            o.length = cs_most(o.length, rows.length + draft->extra);
            o.queries = cs_most(o.queries, rows.queries);
            rows.decoder_length += o.form == CS_FORM_MAE && all ? draft->extra : 0;
            o.decoder_length = cs_most(o.decoder_length, rows.decoder_length);
            o.predictions += rows.predictions;
        }
    }
    o.predictions = cs_most(o.predictions, 1);
    int64_t *have[] = {&o.batch, &o.length, &o.queries, &o.decoder_length, &o.predictions};
    const char *name[] = {"sequences", "rows", "query rows", "decoder rows", "loss rows"};
    for (int i = 0; i < 5 && pad_to; ++i) {
        int64_t capacity[] = {pad_to->batch, pad_to->length, pad_to->queries,
                              pad_to->decoder_length, pad_to->predictions};
        if (*have[i] > capacity[i]) {
            return cs_fail(CS_ERR_USAGE,
                           "the batch needs %" PRId64 " %s, but its capacity is %" PRId64, *have[i],
                           name[i], capacity[i]);
        }
        *have[i] = capacity[i];
    }
    cs_status status = cs_batch_shape(&o, draft->config, batch);
    batch->tokens = tokens;
    batch->skipped = skipped;
    return status;
}

cs_status cs_batch_build(const cs_batch_order *order, const cs_example *example, int64_t count,
                         cs_batch *out)
{
    return cs_batch_of_plans(order, NULL, example, count, out);
}

cs_status cs_batch_of_plans(const cs_batch_order *order, const cs_plan *plan,
                            const cs_example *example, int64_t count, cs_batch *out)
{
    const cs_task *task = order->task;
    const cs_model_config *config = order->config;
    const int64_t step = order->step;
    cs_batch batch = {.form = cs_form_of(task, config)};
    cs_draft draft = {.order = order,
                      .task = task,
                      .config = config,
                      .given = plan,
                      .example = example,
                      .count = count,
                      .extra = cs_model_config_extra(config),
                      .ahead = cs_task_offsets(task, config),
                      .replacement = cs_replacement_of(config, task->keep, task->random),
                      .batch = &batch};
    cs_status status = cs_task_check(task, config);
    if (status == CS_OK && (step < 0 || step >> STEP_BITS > 0))
        status = cs_fail(CS_ERR_USAGE, "step %" PRId64 " is not in 0..2^%d - 1", step, STEP_BITS);
    if (status != CS_OK || (status = draw_plans(&draft)) != CS_OK ||
        (status = lay_out(&draft)) != CS_OK) {
        goto done;
    }
    for (int64_t b = 0; b < count; ++b) {
        if (draft.plan[b].length > 0) {
            const cs_text_rows text = draft_text(&draft, b); /* the class token first */
            cs_text_rows_fill(&text, draft.extra, false);
            FORM[batch.form].fill(&draft, b);
        }
    }
done:
    for (int64_t b = 0; b < count && draft.plan; ++b) {
        cs_plan_free(&draft.plan[b]);
    }
    for (int64_t l = 0; l <= draft.longest && draft.factor; ++l) {
        cs_free(draft.factor[l]);
    }
    CS_FREE_FIELDS(&draft, plan, factor, scratch, kept);
    cs_offsets_free(&draft.offsets);
    return CS_DELIVER(status, out, batch, cs_batch_free);
}
