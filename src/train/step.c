/* One step of training, and evaluation.
 *
 *   gradient = sum over the step's micro-batches of d/dw sum_r weight[r] loss[r],
 * weights divided by their sum over the whole step, so that accumulation changes nothing but the
 * order of sums (updates: train/updates.h).
 *
 * A step that predicts nothing (its plans are empty, or a share kept no prediction) changes nothing and
 * is counted in empty_steps; its loss and norm are NaN.
 */
#include <math.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/ints.h"
#include "base/mem.h"
#include "base/range.h"
#include "base/threads.h"
#include "train/batch_private.h"
#include "train/trainer_private.h"

/* --- setting up --------------------------------------------------------------------------------*/

static cs_status check_options(const cs_train_options *o)
{
    /* Dropout's counter has 32 bits for the step and 16 for the micro-batch (tensor/dropout.h). */
    const cs_range range[] = {
        {"steps", (double)o->steps, 0, UINT32_MAX},
        {"batch", (double)o->data.batch, 1, 1 << 20},
        {"accumulate", (double)o->data.accumulate, 1, UINT16_MAX},
        {"sequences a step", (double)o->data.batch * (double)o->data.accumulate, 1, (1 << 20) - 1},
        {"max-length", (double)o->data.length, 1, 1 << 20},
        /* The untrained network of a recipe (steps 0) keeps the recipe's other numbers. */
        {"warmup", (double)o->rate.warmup, 0, o->steps > 0 ? (double)o->steps : 1e12},
        {"lr", o->rate.learning_rate, 0, 1e300},
        {"final-share", o->rate.final_share, 0, 1},
        {"cool-down", o->rate.cool_down, 0, 1},
        {"beta1", o->adamw.beta1, 0, 1 - 1e-9},
        {"beta2", o->adamw.beta2, 0, 1 - 1e-9},
        {"adam-eps", o->adamw.adam_eps, 1e-30,
         1}, /* 0 divides by 0, as a float that is less does */
        {"weight-decay", o->adamw.weight_decay, 0, 1e3},
        {"clip", o->adamw.clip, 0, 1e300},
        {"log-every", (double)o->intervals.log_every, 0, 1e12},
        {"eval-every", (double)o->intervals.eval_every, 0, 1e12},
        {"save-every", (double)o->intervals.save_every, 0, 1e12},
        {"eval-batches", (double)o->intervals.eval_batches, 0, 1e6},
        {"evaluated sequences", (double)o->data.batch * (double)o->intervals.eval_batches, 0,
         (1 << 20) - 1},
        {"bad-limit", (double)o->bad_limit, 1, 1e12},
        {"time-limit", o->time_limit, 0, 1e12},
        {"replaced-token", o->replaced_token, 0, 1e6},
    };
    cs_status status = cs_ranges_check(sizeof range / sizeof *range, range);
    if (status == CS_OK && o->phases && o->loss == CS_LOSS_SPECTRAL)
        status = cs_fail(CS_ERR_USAGE, "the spectral loss needs one distribution of targets, but a "
                                       "schedule of objectives has one per phase");
    if (status == CS_OK && o->rate.cool_down > 0 && o->rate.schedule != CS_SCHEDULE_CONSTANT)
        status = cs_fail(CS_ERR_USAGE, "a cool-down needs a constant schedule, not %s",
                         cs_schedule_name(o->rate.schedule));
    return status;
}

int64_t cs_train_cool(const cs_train_options *options)
{
    return llround(options->rate.cool_down * (double)options->steps);
}

double cs_trainer_rate(const cs_train_options *o, int64_t step)
{
    return cs_schedule_rate(o->rate.schedule, o->rate.learning_rate, o->rate.final_share,
                            o->rate.warmup, cs_train_cool(o), o->steps, step);
}

void cs_trainer_phase(cs_trainer *t, int64_t step)
{
    const cs_train_options *o = &t->options;
    t->task = o->phases ? cs_phases_task(o->phases, cs_phases_at(o->phases, o->steps, step),
                                         &o->task, &t->model->config)
                        : o->task;
}

static cs_status open_pass(const cs_trainer *t, bool training, int64_t longest, cs_pass *out)
{
    const cs_train_options *o = &t->options;
    cs_network_options sizes = {.form = cs_form_of(&t->task, &t->model->config),
                                .loss = o->loss,
                                .spectral_factor = o->spectral_factor,
                                .training = training};
    const cs_model_config *c = &t->model->config;
    cs_status status = o->phases
                           ? cs_phases_sizes(o->phases, &o->task, c, o->data.batch, longest, &sizes)
                           : cs_task_sizes(&o->task, c, o->data.batch, longest, &sizes);
    return status == CS_OK ? cs_pass_open(t->model, &sizes, out) : status;
}

/* The detector's pass, in addition to the step's. */
static cs_status open_detector(const cs_trainer *t, cs_detector *out)
{
    const cs_train_options *o = &t->options;
    if (!(o->replaced_token > 0)) {
        return CS_OK;
    }
    if (o->phases || o->loss != CS_LOSS_CROSS_ENTROPY || !cs_task_masks(&t->task) ||
        cs_task_reads(&t->task) == CS_ROWS_SHIFTED || t->step.sizes.form != CS_FORM_SINGLE ||
        t->model->config.shape.real_width > 0) {
        return cs_fail(CS_ERR_USAGE, "replaced tokens need a single masked objective on text, one "
                                     "stream and the cross-entropy");
    }
    if (t->task.objective.share < 1) {
        return cs_fail(CS_ERR_USAGE, "replaced tokens need share 1: the generator fills every "
                                     "masked token");
    }
    return cs_detector_open(t->model, &t->step.sizes, o->replaced_token, out);
}

/* Why there is no sequence to train on. */
static cs_status nothing(const cs_corpus *corpus, const cs_examples *train, int64_t length)
{
    int64_t held = 0;
    for (int64_t d = 0; d < corpus->documents; ++d) {
        held += corpus->held_out[d] != 0;
    }
    if (held == corpus->documents) {
        return cs_fail(
            CS_ERR_INPUT,
            "nothing to train on: every document (%lld) is held out; give --test-share 0, "
            "unless the corpus defines its own split",
            (long long)held);
    }
    return cs_fail(
        CS_ERR_INPUT,
        "nothing to train on: the objective predicts nothing in any sequence (%lld, of at "
        "most %lld tokens; --test-share holds out %lld of %lld documents)",
        (long long)train->too_short, (long long)length, (long long)held,
        (long long)corpus->documents);
}

static cs_status order_examples(cs_trainer *t, const cs_corpus *corpus,
                                const cs_tokenizer *tokenizer)
{
    const cs_train_options *o = &t->options;
    cs_examples_options wanted = {
        .objective = o->phases ? o->phases->objective : &o->task.objective,
        .objectives = o->phases ? o->phases->count : 1,
        .length = o->data.length,
        .pack = o->data.pack,
        .end_token = tokenizer ? cs_tokenizer_special(tokenizer, CS_TOKEN_EOS) : -1,
        .seed = o->seed,
        .group = o->data.by_length ? o->data.batch : 0};
    cs_status status = cs_examples_of(corpus, &wanted, &t->train);
    if (status == CS_OK && t->train.count == 0) status = nothing(corpus, &t->train, o->data.length);
    if (status == CS_OK) {
        wanted.held_out = true;
        wanted.group = 0; /* the first of a window would be of some lengths only */
        status = cs_examples_of(corpus, &wanted, &t->held);
    }
    return status;
}

static cs_status allocate(cs_trainer *t, const cs_corpus *corpus)
{
    const cs_train_options *o = &t->options;
    t->micro = cs_calloc(o->data.accumulate, sizeof *t->micro);
    t->example = cs_calloc(o->data.batch, sizeof *t->example);
    if (!t->micro || !t->example) return CS_ERR_MEMORY;
    if (!o->data.view.take && corpus->vectors) t->options.data.view = cs_ahead_view(corpus);
    if (o->data.view.take) {
        t->wanted.first = cs_alloc(o->data.batch, sizeof *t->wanted.first);
        t->wanted.length = cs_alloc(o->data.batch, sizeof *t->wanted.length);
        if (!t->wanted.first || !t->wanted.length) return CS_ERR_MEMORY;
        const int64_t longest = cs_most(t->train.longest, t->held.longest);
        cs_status status = cs_ahead_open(&t->options.data.view, o->data.batch, longest,
                                         t->train.real_width, &t->ahead);
        if (status != CS_OK) return status;
    }
    cs_status status = cs_updates_init(&t->model->params, &t->updates);
    if (status == CS_OK && o->loss == CS_LOSS_SPECTRAL) {
        t->mass = cs_alloc(t->model->config.shape.vocab, sizeof *t->mass);
        status = t->mass ? cs_examples_mass(&t->train, &o->task.objective,
                                            t->model->config.shape.vocab, t->mass)
                         : CS_ERR_MEMORY;
    }
    return status;
}

cs_status cs_trainer_init(cs_model *model, const cs_corpus *corpus, const cs_tokenizer *tokenizer,
                          const cs_train_options *options, cs_trainer *out)
{
    cs_trainer t = {.model = model,
                    .backend = model->params.backend,
                    .options = *options,
                    .state = {.loss = NAN, .eval_loss = NAN},
                    .norm = NAN};
    if (t.options.rate.warmup < 0) {
        t.options.rate.warmup = cs_schedule_warmup(t.options.rate.schedule, t.options.steps);
    }
    cs_trainer_phase(&t, 1);
    cs_status status = check_options(&t.options);
    if (status == CS_OK && tokenizer && cs_tokenizer_vocab(tokenizer) > model->config.shape.vocab)
        status =
            cs_fail(CS_ERR_INPUT, "the tokenizer has %lld tokens, but the model has %lld",
                    (long long)cs_tokenizer_vocab(tokenizer), (long long)model->config.shape.vocab);
    if (status == CS_OK) status = cs_model_config_reads(&model->config, corpus->real_width);
    *out = t;
    if (status == CS_OK && (status = order_examples(out, corpus, tokenizer)) == CS_OK &&
        (status = allocate(out, corpus)) == CS_OK &&
        (status = open_pass(out, true, out->train.longest, &out->step)) == CS_OK &&
        (status = open_detector(out, &out->detector)) == CS_OK && out->held.count > 0) {
        status = open_pass(out, false, out->held.longest, &out->eval);
    }
    if (status != CS_OK) cs_trainer_free(out);
    return status;
}

void cs_trainer_free(cs_trainer *t)
{
    cs_updates_free(&t->updates);
    for (int64_t i = 0; t->micro && i < t->options.data.accumulate; ++i) {
        cs_batch_free(&t->micro[i]);
    }
    cs_pass_close(&t->step);
    cs_pass_close(&t->eval);
    cs_detector_close(&t->detector);
    cs_examples_free(&t->train);
    cs_examples_free(&t->held);
    cs_ahead_close(&t->ahead);
    CS_FREE_FIELDS(&t->wanted, first, length);
    CS_FREE_FIELDS(t, micro, example, mass);
    *t = (cs_trainer){0};
}

/* --- batches -----------------------------------------------------------------------------------*/

/* Examples first .. first + count - 1 of an order, whose rows in their step start at `row`. */
typedef struct {
    int64_t first, count, row, step;
} slice;

/* Fills a batch of the view with sequences `part`; false if they are of more than one epoch, whose
 * order is not known yet. */
static bool list_sequences(const cs_examples *e, slice part, cs_ahead_batch *to)
{
    const int64_t in = e->count > 0 ? part.first % e->count : 0;
    if (e->epoch != part.first / cs_most(e->count, 1) || in + part.count > e->count) return false;
    to->count = part.count;
    to->row = part.row;
    to->step = part.step;
    for (int64_t i = 0; i < part.count; ++i) {
        const int64_t at = e->order[in + i];
        to->first[i] = e->start[at];
        to->length[i] = e->length[at];
    }
    return true;
}

/* The vectors of the batch that is built, by the view; then those of the next are begun. */
static cs_status see(cs_trainer *t, const cs_examples *examples, slice part)
{
    const cs_train_options *o = &t->options;
    const bool training = examples == &t->train;
    float *values = NULL;
    cs_status status = cs_ahead_take(&t->ahead, &t->wanted, &values);
    for (int64_t i = 0; i < part.count && status == CS_OK; ++i) {
        t->example[i].real = values + i * t->ahead.apart;
    }
    slice next = part;
    next.first += o->data.batch;
    next.row = (part.row + o->data.batch) % (o->data.batch * o->data.accumulate);
    next.step += next.row == 0;
    if (status == CS_OK && training && next.step <= o->steps &&
        list_sequences(examples, next, cs_ahead_next(&t->ahead)))
        cs_ahead_start(&t->ahead);
    return status;
}

static cs_status build_batch(cs_trainer *t, cs_examples *examples, slice part, const cs_pass *pass,
                             cs_batch *out)
{
    const cs_train_view *view = &t->options.data.view;
    const bool views = view->take && (examples == &t->train || view->held_out);
    for (int64_t i = 0; i < part.count; ++i) {
        int64_t at = 0;
        cs_status status = cs_examples_at(examples, part.first + i, &at);
        if (status != CS_OK) return status;
        const float *real = examples->real;
        t->example[i] =
            (cs_example){.token = examples->token + examples->start[at],
                         .real = real ? real + examples->start[at] * examples->real_width : NULL,
                         .extra = examples->extra ? examples->extra + examples->document[at] *
                                                                          examples->extra_width
                                                  : NULL,
                         .length = examples->length[at],
                         .row = part.row + i};
        if (views) {
            t->wanted.first[i] = examples->start[at];
            t->wanted.length[i] = examples->length[at];
        }
    }
    if (views) {
        t->wanted.count = part.count;
        t->wanted.row = part.row;
        t->wanted.step = part.step;
        cs_status status = see(t, examples, part);
        if (status != CS_OK) return status;
    }
    cs_task whole = t->task; /* held-out losses score every prediction */
    whole.objective.share = 1;
    const cs_task *task = examples == &t->train ? &t->task : &whole;
    return cs_batch_build(&(cs_batch_order){task, &t->model->config, t->options.seed, part.step,
                                            pass->fixed ? &pass->sizes : NULL},
                          t->example, part.count, out);
}

static cs_status build_step(cs_trainer *t, int64_t step, double *weight)
{
    const cs_train_options *o = &t->options;
    const double before = cs_seconds();
    cs_status status = CS_OK;
    *weight = 0.0;
    t->detector.rows = 0;
    for (int64_t m = 0; m < o->data.accumulate && status == CS_OK; ++m) {
        int64_t row = m * o->data.batch;
        slice part = {(step - 1) * o->data.batch * o->data.accumulate + row, o->data.batch, row,
                      step};
        cs_batch_free(&t->micro[m]);
        status = build_batch(t, &t->train, part, &t->step, &t->micro[m]);
        *weight += t->micro[m].loss.weight_sum;
        t->detector.rows += cs_detector_rows(&t->micro[m]);
        t->state.tokens += t->micro[m].tokens;
    }
    t->data += cs_seconds() - before;
    return status;
}

/* --- a step ------------------------------------------------------------------------------------*/

static cs_status micro_step(cs_trainer *t, int64_t m, int64_t step, double scale, bool read)
{
    cs_run_key key = {.seed = t->options.seed, .step = (uint32_t)step, .micro = (uint32_t)m};
    double loss = 0.0;
    cs_run *run = t->step.run;
    cs_status status = cs_batch_load(&t->micro[m], &t->step.network, scale, t->mass, key, run);
    if (status == CS_OK) status = cs_run_forward(run);
    if (status == CS_OK && read) {
        status = cs_run_sum(run, t->step.network.loss.value, &loss);
        t->state.loss += loss;
    }
    const bool detects = t->detector.weight > 0;
    if (status == CS_OK && detects)
        status = cs_detector_draw(&t->detector, &t->micro[m], &t->step, key);
    if (status == CS_OK) status = cs_run_backward(run);
    return status == CS_OK && detects
               ? cs_detector_step(&t->detector, &t->micro[m], t->detector.rows, key, read)
               : status;
}

static cs_status update(cs_trainer *t, int64_t step)
{
    const cs_train_options *o = &t->options;
    return cs_updates_add(&t->updates, &o->adamw, cs_trainer_rate(o, step), step);
}

cs_status cs_trainer_step(cs_trainer *t, bool read)
{
    const cs_train_state before = t->state;
    const bool waits =
        !t->backend->asynchronous; /* what is queued on a device is not called back */
    int64_t step = t->state.step + 1;
    double weight = 0.0;
    cs_trainer_phase(t, step);
    if (waits) cs_interrupt_hold(false);
    cs_status status = build_step(t, step, &weight);
    bool some = weight > 0.0;
    if (read) {
        t->state.loss = some ? 0.0 : NAN;
        t->detector.loss = 0;
    }
    if (status == CS_OK && some) status = cs_params_zero_grad(&t->model->params);
    for (int64_t m = 0; m < t->options.data.accumulate && some && status == CS_OK; ++m) {
        status = micro_step(t, m, step, 1.0 / weight, read);
    }
    if (waits) cs_interrupt_hold(true);
    if (status == CS_ERR_INTERRUPT) {
        t->state = before;
        return status;
    }
    if (status == CS_OK && some) status = update(t, step);
    t->state.step = step;
    t->empty = !some;
    t->state.empty_steps += t->empty;
    int64_t unread = t->updates.unread;
    if (status == CS_OK && unread > 0 && (read || unread == CS_NORMS))
        status = cs_updates_read(&t->updates, t->options.bad_limit, &t->norm, &t->state.bad,
                                 &t->state.skipped);
    if (t->empty) {
        t->norm = NAN;
    }
    return status;
}

/* --- evaluation --------------------------------------------------------------------------------*/

static cs_status eval_batch(cs_trainer *t, int64_t first, int64_t count, double *loss,
                            double *weight)
{
    cs_batch *batch = &t->eval.batch;
    cs_run_key key = {.seed = t->options.seed};
    double sum = 0.0;
    cs_batch_free(batch);
    /* Step 0: plans that no step of training draws. */
    cs_status status = build_batch(t, &t->held, (slice){first, count, first, 0}, &t->eval, batch);
    if (status == CS_OK && batch->loss.weight_sum > 0.0 &&
        (status = cs_batch_load(batch, &t->eval.network, 1.0, t->mass, key, t->eval.run)) ==
            CS_OK &&
        (status = cs_run_forward(t->eval.run)) == CS_OK) {
        status = cs_run_sum(t->eval.run, t->eval.network.loss.value, &sum);
    }
    *loss += sum;
    *weight += batch->loss.weight_sum;
    return status;
}

cs_status cs_trainer_evaluate(cs_trainer *t, double *out)
{
    const int64_t batch = t->options.data.batch;
    const int64_t count = cs_least(t->held.count, batch * t->options.intervals.eval_batches);
    double loss = 0.0, weight = 0.0;
    cs_status status = CS_OK;
    for (int64_t at = 0; at < count && status == CS_OK; at += batch) {
        status = eval_batch(t, at, cs_least(count - at, batch), &loss, &weight);
    }
    *out = weight > 0.0 ? loss / weight : NAN;
    return status;
}

/* The logarithms of the frequencies. */
static cs_status unigram_of(const cs_examples *train, int64_t vocab, double **out)
{
    double *log_share = cs_calloc(vocab, sizeof *log_share), tokens = 0;
    if (!log_share) return CS_ERR_MEMORY;
    for (int64_t i = 0; i < train->count; ++i) {
        const int32_t *token = train->token + train->start[i];
        for (int64_t k = 0; k < train->length[i]; ++k) {
            if (token[k] >= 0 && token[k] < vocab) {
                log_share[token[k]] += 1;
                tokens += 1;
            }
        }
    }
    for (int64_t v = 0; v < vocab; ++v) {
        log_share[v] = log((log_share[v] + 1) / (tokens + (double)vocab));
    }
    *out = log_share;
    return CS_OK;
}

cs_status cs_trainer_unigram(cs_trainer *t, double *out)
{
    const int64_t size = t->options.data.batch;
    const int64_t count = cs_least(t->held.count, size * t->options.intervals.eval_batches);
    double loss = 0.0, weight = 0.0, *log_share = NULL;
    cs_batch *batch = &t->eval.batch;
    cs_status status = unigram_of(&t->train, t->model->config.shape.vocab, &log_share);
    for (int64_t at = 0; at < count && status == CS_OK; at += size) {
        const slice part = {at, cs_least(count - at, size), at, 0};
        cs_batch_free(batch);
        status = build_batch(t, &t->held, part, &t->eval, batch);
        for (int64_t i = 0; i < batch->predictions && status == CS_OK; ++i) {
            loss -= batch->loss.target[i] < 0
                        ? 0.0
                        : batch->loss.weight[i] * log_share[batch->loss.target[i]];
        }
        weight += batch->loss.weight_sum;
    }
    cs_free(log_share);
    *out = weight > 0.0 ? loss / weight : NAN;
    return status;
}

/* --- what a run would take ----------------------------------------------------------------------*/

/* The first step pays for pages that are touched for the first time and is left out. */
static cs_status time_steps(cs_trainer *t, double *seconds)
{
    enum { TIMED = 3 };
    cs_status status = cs_trainer_step(t, true);
    double start = cs_seconds();
    for (int i = 0; i < TIMED && status == CS_OK; ++i) {
        status = cs_trainer_step(t, true);
    }
    *seconds = (cs_seconds() - start) / TIMED;
    return status;
}

static void count(const cs_trainer *t, cs_train_estimate *e)
{
    const cs_params *params = &t->model->params;
    for (int64_t i = 0; i < t->train.count; ++i) {
        e->tokens += t->train.length[i];
    }
    e->sequences = t->train.count;
    e->held_out = t->held.count;
    e->too_short = t->train.too_short;
    e->bytes = 4 * params->items * cs_real_size(t->backend->parameter) + params->items;
    e->bytes += cs_run_bytes(&t->step.network.graph, t->backend);
    if (t->eval.run) {
        e->bytes += cs_run_bytes(&t->eval.network.graph, t->backend);
    }
    e->flops = 3.0 * (double)t->options.data.accumulate * cs_network_flops(&t->step.network);
    if (t->detector.weight > 0) {
        const cs_network *second = &t->detector.pass.network;
        e->bytes += cs_run_bytes(&second->graph, t->backend);
        e->flops += 3.0 * (double)t->options.data.accumulate * cs_network_flops(second);
    }
}

cs_status cs_train_dry_run(cs_model *model, const cs_corpus *corpus, const cs_tokenizer *tokenizer,
                           const cs_train_options *options, cs_train_estimate *out)
{
    CS_AUTO(cs_trainer) t = {0};
    cs_train_estimate e = {0};
    cs_status status = cs_trainer_init(model, corpus, tokenizer, options, &t);
    if (status == CS_OK) {
        count(&t, &e);
        status = time_steps(&t, &e.step_seconds);
    }
    if (status == CS_OK) *out = e;
    return status;
}
