/* The loop around the steps: log, evaluation, checkpoints, interrupts.
 *
 * Interrupts are held while it runs, so that no parallel loop of a step stops halfway; the flag is
 * checked between steps. A checkpoint is written after its step's log row, so that the log of a
 * resumed run has every row once. */
#include "train/trainer.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/threads.h"
#include "io/file.h"
#include "io/json.h"
#include "io/result.h"
#include "io/run_id.h"
#include "train/log_private.h"
#include "train/model_kind.h"
#include "train/trainer_private.h"
#include "train/updates.h"

enum { KEPT = 2 }; /* checkpoints */

cs_train_options cs_train_defaults(void)
{
    return (cs_train_options){
        .task = {.objective = cs_objective_default(CS_OBJ_AR)},
        .loss = CS_LOSS_CROSS_ENTROPY,
        .spectral_factor = 2,
        .steps = 1000,
        .data.batch = 64,
        .data.accumulate = 1,
        .data.length = 128,
        .rate.schedule = CS_SCHEDULE_ONE_CYCLE,
        .rate.learning_rate = 1e-3,
        .rate.warmup = -1,
        .adamw.beta1 = 0.9,
        .adamw.beta2 = 0.98,
        .adamw.adam_eps = 1e-12,
        .adamw.weight_decay = 0.01,
        .adamw.clip = 0.5,
        .intervals.log_every = 10,
        .intervals.eval_every = 100,
        .intervals.save_every = 500,
        .intervals.eval_batches = 16,
        .bad_limit = 20,
    };
}

typedef struct {
    cs_trainer t;
    const cs_tokenizer *tokenizer;
    json_t *record;
    cs_log log;
    int64_t saved; /* step of the last checkpoint, -1: none */
    double first;  /* loss of step 1; NaN: not taken by this call */
    double start;  /* of this call */
} session;

/* --- the record --------------------------------------------------------------------------------*/

cs_status cs_train_begin_with(const cs_model *model, cs_train_options *options)
{
    CS_AUTO(cs_hasher) h = {0};
    cs_status status = cs_hasher_make(0, &h);
    if (status == CS_OK && (status = cs_params_hash(&model->params, &h)) == CS_OK)
        cs_hash_hex(cs_hasher_value(&h), options->start.from);
    return status;
}

/* The SHA-256 of all plan files of the objectives, one after the other. */
static cs_status hash_plans(const cs_train_options *o, char hex[65 * CS_PHASES_MOST])
{
    cs_status status = CS_OK;
    for (int64_t i = 0; i < (o->phases ? o->phases->count : 1) && status == CS_OK; ++i) {
        const cs_objective *each = o->phases ? &o->phases->objective[i] : &o->task.objective;
        if (each->file) status = cs_plan_file_digest(each->file, hex + strlen(hex));
    }
    return status;
}

/* The identity of the run (io/run_id.h), by the names of options. How often a run logs, evaluates and
 * saves is not in it. */
static cs_status make_record(const cs_trainer *t, const cs_corpus *corpus, json_t **out)
{
    static const char *const precision[] = {
        [CS_REAL_F32] = "fp32", [CS_REAL_F64] = "fp64", [CS_REAL_BF16] = "bf16"};
    const cs_train_options *o = &t->options;
    const cs_backend *backend = t->backend;
    char text[33] = "", plans[65 * CS_PHASES_MOST] = "";
    CS_AUTO(cs_result) *record = cs_result_new();
    cs_item *run = cs_result_root(record), *inputs = cs_item_object(run, "inputs");
    cs_status status = cs_corpus_hash(corpus, text);
    if (status == CS_OK) status = hash_plans(o, plans);
    cs_item_text(inputs, "corpus", text);
    cs_item_text(inputs, "init-from", o->start.from);
    cs_item_take(run, "objective",
                 o->phases ? cs_phases_describe(o->phases)
                           : cs_objective_describe(&o->task.objective));
    cs_item_text(run, "plan_file", plans);
    cs_item_text(run, "query_position", cs_task_query_position(&o->task, &t->model->config));
    CS_ITEM_FIELDS(run, &o->task, CS_TASK_SETTINGS);
    cs_item_text(run, "loss", cs_loss_name(o->loss));
    cs_item_text(run, "augmentation", o->data.view.what);
    cs_item_text(run, "device", backend->name);
    cs_item_text(run, "precision", precision[backend->activation]);
    cs_item_flag(run, "search_products", backend->by_clock);
    cs_item_int(run, "max_length", o->data.length);
    cs_item_text(run, "schedule", cs_schedule_name(o->rate.schedule));
    cs_item_real(run, "lr", o->rate.learning_rate);
    cs_item_int(run, "seed", (int64_t)o->seed);
    CS_ITEM_FIELDS(run, o, spectral_factor);
    CS_ITEM_FIELDS(run, &o->rate, warmup);
    CS_TRAIN_SETTINGS(CS_ITEM_FIELDS, run, o);
    (void)cs_item_json(run, "model", cs_model_config_json(&t->model->config));
    return status == CS_OK ? cs_result_json(record, out) : status;
}

/* The steps of a constant rate before the cool-down, and of objectives that do not depend on the number
 * of steps, as phases by shares do; else 0. */
static int64_t flat_steps(const json_t *run)
{
    const char *schedule = json_string_value(json_object_get(run, "schedule"));
    const cs_train_options o = {.steps = json_integer_value(json_object_get(run, "steps")),
                                .rate.cool_down =
                                    json_number_value(json_object_get(run, "cool_down"))};
    const char *objective = json_string_value(json_object_get(run, "objective"));
    bool constant = schedule && strcmp(schedule, "constant") == 0 &&
                    !(objective && strstr(objective, " until "));
    return constant ? o.steps - cs_train_cool(&o) : 0;
}

/* At a constant rate the first steps of runs of different lengths are one run's: there the recorded
 * length is made that of now. */
static cs_status match_record(const char *where, json_t *recorded, const json_t *now, int64_t step)
{
    json_int_t was = json_integer_value(json_object_get(recorded, "steps")),
               is = json_integer_value(json_object_get(now, "steps"));
    cs_status status = CS_OK;
    if (step <= flat_steps(recorded) && step <= flat_steps(now)) {
        cs_json_put(&status, recorded, "steps", json_integer(is));
        cs_json_put(&status, recorded, "cool_down", json_incref(json_object_get(now, "cool_down")));
    } else if (was != is) {
        status = cs_fail(CS_ERR_USAGE,
                         "%s belongs to a run with --steps %lld, not %lld: learning rates "
                         "and phases \"until\" a share depend on it (with --schedule "
                         "constant, steps may be added before the cool-down)",
                         where, (long long)was, (long long)is);
    }
    return status == CS_OK ? cs_run_same(where, "run with --", recorded, now) : status;
}

/* --- beginning ---------------------------------------------------------------------------------*/

static cs_status resume(session *s)
{
    const cs_train_options *o = &s->t.options;
    const char *dir = o->dir;
    int64_t last = -1, before = -1;
    json_auto_t *recorded = NULL;
    CS_AUTO_FREE char *folder = NULL;
    cs_status status = o->start.resume ? cs_train_last(dir, &last, &before) : CS_OK;
    if (status == CS_OK && last < 0 && o->start.trunk) {
        dir = o->start.trunk;
        last = o->start.trunk_step;
    }
    if (status != CS_OK || last < 0) return status;
    if ((status = cs_train_open(dir, last, &s->t.state, &recorded)) == CS_OK) {
        folder = cs_train_folder(dir, last);
        status = folder ? CS_OK : CS_ERR_MEMORY;
    }
    if (status == CS_OK && last > o->steps)
        status = cs_fail(CS_ERR_USAGE, "%s is already at step %lld, beyond --steps %lld", folder,
                         (long long)last, (long long)o->steps);
    if (status == CS_OK) status = match_record(folder, recorded, s->record, last);
    if (status == CS_OK) status = cs_train_restore(dir, last, s->tokenizer, s->t.model);
    s->saved = dir == o->dir ? last : -1;
    return status;
}

/* The kind of the model in the current phase. */
static cs_status describe(const cs_trainer *t)
{
    cs_model *model = t->model;
    const cs_train_options *o = &t->options;
    CS_AUTO(cs_model_kind) kind = {0};
    json_t *record = NULL;
    cs_status status =
        cs_model_kind_of(&t->task, &model->config, o->loss, o->spectral_factor, &kind);
    if (status == CS_OK) status = cs_model_kind_record(&kind, kind.attention, &record);
    if (status == CS_OK) {
        json_decref(model->trained);
        model->trained = record;
    }
    return status;
}

static cs_status begin(session *s, const cs_corpus *corpus)
{
    const cs_train_options *o = &s->t.options;
    if (!o->dir) {
        return o->start.resume ? cs_fail(CS_ERR_USAGE, "nothing to resume: give a directory")
                               : CS_OK;
    }
    cs_status status = make_record(&s->t, corpus, &s->record);
    if (status == CS_OK && (o->start.resume || o->start.trunk)) status = resume(s);
    if (status == CS_OK) status = cs_dir_make(o->dir);
    /* A fresh run does not leave checkpoints of an older one behind it, nor anything at all where
     * one is refused. */
    if (status == CS_OK) {
        status = cs_train_prune(o->dir, o->start.resume ? KEPT : 0,
                                o->start.resume ? &o->intervals.keep : NULL);
    }
    if (status == CS_OK && o->begun) status = o->begun(o->begun_ctx);
    if (status == CS_OK)
        status = cs_log_open(o->dir, o->start.resume ? s->t.state.step : 0, &s->log);
    s->log.tokens = s->t.state.tokens;
    return status;
}

/* --- between steps -----------------------------------------------------------------------------*/

static bool due(int64_t every, int64_t step, int64_t steps)
{
    return step == steps || (every > 0 && step % every == 0);
}

static void report(const session *s)
{
    char stage[64];
    (void)snprintf(stage, sizeof stage, "steps, loss %.4f", s->t.state.loss);
    cs_progress_report(s->t.options.progress, stage, s->t.state.step, s->t.options.steps);
}

/* The row of this step, with the held-out loss when it is time for it. */
static cs_status log_step(session *s)
{
    cs_trainer *t = &s->t;
    const cs_train_options *o = &t->options;
    int64_t step = t->state.step;
    cs_log_row row = {.step = step,
                      .tokens = t->state.tokens,
                      .memory = cs_mem_resident(),
                      .skipped = t->state.skipped,
                      .loss = t->state.loss,
                      .empty = t->empty,
                      .learning_rate = cs_trainer_rate(o, step),
                      .grad_norm = t->norm,
                      .eval_loss = NAN,
                      .data_seconds = t->data};
    cs_status status = CS_OK;
    t->data = 0;
    if (due(o->intervals.eval_every, step, o->steps)) {
        double before = cs_seconds();
        status = cs_trainer_evaluate(t, &row.eval_loss);
        s->log.since += cs_seconds() - before;
        t->state.eval_loss = row.eval_loss;
    }
    if (status == CS_OK && o->dir) status = cs_log_add(&s->log, &row);
    report(s);
    return status;
}

/* Not after a skipped step, unless the run stops there or the checkpoint is one to be kept: what was
 * good is kept until a step is good again. */
static cs_status save(session *s, bool stop)
{
    const cs_train_options *o = &s->t.options;
    double before = cs_seconds();
    bool listed = cs_train_listed(&o->intervals.keep, s->t.state.step);
    if (!o->dir || (s->t.state.bad > 0 && !stop && !listed) || s->saved == s->t.state.step) {
        return CS_OK;
    }
    cs_status status = describe(&s->t);
    if (status == CS_OK) status = cs_log_sync(&s->log);
    if (status == CS_OK)
        status = cs_train_save(o->dir, s->t.model, s->tokenizer, s->record, &s->t.state);
    if (status == CS_OK) {
        s->saved = s->t.state.step;
        status = cs_train_prune(o->dir, KEPT, &o->intervals.keep);
    }
    s->log.since += cs_seconds() - before;
    return status;
}

static cs_status one_step(session *s, bool *stop)
{
    const cs_train_options *o = &s->t.options;
    int64_t step = s->t.state.step + 1;
    bool late = o->time_limit > 0.0 && cs_seconds() - s->start > o->time_limit;
    bool log =
        due(o->intervals.log_every, step, o->steps) || due(o->intervals.eval_every, step, o->steps);
    bool keep =
        due(o->intervals.save_every, step, o->steps) || cs_train_listed(&o->intervals.keep, step);
    *stop = late || cs_interrupted();
    cs_status status =
        cs_trainer_step(&s->t, log || keep || *stop || step == 1 || !s->t.backend->asynchronous);
    if (status == CS_ERR_INTERRUPT) { /* before its update: the step was not taken */
        cs_reason_clear();
        *stop = true;
        return s->t.state.step > 0 ? save(s, true) : CS_OK;
    }
    if (step == 1) s->first = s->t.state.loss;
    if (status == CS_OK && log) {
        status = log_step(s);
    } else if (status == CS_OK && !s->t.backend->asynchronous) {
        report(s);
    }
    *stop = *stop || cs_interrupted();
    if (status == CS_OK && *stop && s->t.updates.unread > 0) {
        *stop = false; /* the next step is read */
    }
    return status == CS_OK && (keep || *stop) ? save(s, *stop) : status;
}

static cs_status loop(session *s)
{
    cs_status status = CS_OK;
    bool stop = s->t.state.step == 0 && cs_interrupted();
    while (status == CS_OK && !stop && s->t.state.step < s->t.options.steps) {
        status = one_step(s, &stop);
    }
    return status;
}

/* --- ending ------------------------------------------------------------------------------------*/

/* Fails if the last steps changed nothing, since the model is then not the requested one. */
static cs_status finish(const session *s)
{
    const char *dir = s->t.options.dir;
    const cs_train_state *state = &s->t.state;
    if (state->bad > 0) {
        return cs_fail(CS_ERR_CONVERGE,
                       "the gradient was not finite in the last %lld of %lld steps" CS_TRY_RATE,
                       (long long)state->bad, (long long)state->step);
    }
    cs_status status = cs_train_finite(&s->t.model->params, state->step);
    if (status == CS_OK) status = describe(&s->t);
    if (status != CS_OK) return status;
    if (!dir) {
        return CS_OK;
    }
    if (!s->tokenizer) {
        return cs_model_write(s->t.model, dir);
    }
    CS_AUTO_FREE char *words = cs_path_join(dir, "tokenizer.json"),
                      *config = cs_path_join(dir, "tokenizer_config.json");
    status = words && config ? cs_model_write(s->t.model, dir) : CS_ERR_MEMORY;
    if (status == CS_OK) status = cs_tokenizer_write(s->tokenizer, words);
    if (status == CS_OK)
        status = cs_tokenizer_write_config(s->tokenizer,
                                           cs_model_config_length(&s->t.model->config, 0), config);
    return status;
}

/* Says where a run that stopped can be taken up again. */
static cs_status stopped(const session *s, cs_status status)
{
    char reason[512];
    (void)snprintf(reason, sizeof reason, "%s", cs_reason());
    cs_reason_clear();
    if (s->saved < 0) {
        return cs_fail(status, "%s; no checkpoint was written", reason);
    }
    return cs_fail(status, "%s; %s/checkpoint-%lld is kept, and --resume continues from it", reason,
                   s->t.options.dir, (long long)s->saved);
}

cs_status cs_train(cs_model *model, const cs_corpus *corpus, const cs_tokenizer *tokenizer,
                   const cs_train_options *options, cs_train_result *out)
{
    session s = {.tokenizer = tokenizer, .saved = -1, .first = NAN, .start = cs_seconds()};
    cs_interrupt_hold(true);
    cs_status status = cs_trainer_init(model, corpus, tokenizer, options, &s.t);
    if (status == CS_OK && (status = cs_train_finite(&model->params, 0)) == CS_OK)
        status = begin(&s, corpus);
    if (status ==
        CS_OK) { /* a run of no steps is of the first phase, one that is done of its last */
        cs_trainer_phase(&s.t, s.t.state.step);
        status = describe(&s.t);
    }
    bool begun = status == CS_OK;
    if (begun) {
        status = loop(&s);
    }
    bool done = s.t.state.step >= s.t.options.steps;
    double unigram = NAN;
    if (begun && status == CS_OK && done) {
        if (options->loss == CS_LOSS_CROSS_ENTROPY) status = cs_trainer_unigram(&s.t, &unigram);
        if (status == CS_OK) status = finish(&s);
    } else if (begun && status == CS_OK && cs_interrupted()) {
        status =
            cs_fail(CS_ERR_INTERRUPT, "interrupted after step %lld", (long long)s.t.state.step);
    }
    if (begun && (status == CS_ERR_INTERRUPT || status == CS_ERR_CONVERGE || status == CS_ERR_IO))
        status = stopped(&s, status);
    *out = (cs_train_result){.step = s.t.state.step,
                             .tokens = s.t.state.tokens,
                             .skipped = s.t.state.skipped,
                             .empty_steps = s.t.state.empty_steps,
                             .loss = s.t.state.loss,
                             .eval_loss = s.t.state.eval_loss,
                             .first_loss = s.first,
                             .unigram_loss = unigram,
                             .detect_loss = s.t.detector.weight > 0 ? s.t.detector.loss : NAN,
                             .seconds = cs_seconds() - s.start,
                             .finished = status == CS_OK && done};
    cs_interrupt_hold(false);
    cs_log_close(&s.log);
    json_decref(s.record);
    cs_trainer_free(&s.t);
    return status;
}
