/* The folder of a run contains log.csv, run.json and, if requested, the model. run.json comes last: it
 * has the digest of each file and of itself, so that no damaged run is kept. Its key is the SHA-256 of
 * the identity of the run (io/run_id.h), so that a folder of another run is not taken for this one. */
#include "analysis/trained/finetune_runs.h"

#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/vector_ops.h"
#include "image/codes.h"
#include "io/digests.h"
#include "io/file.h"
#include "io/json.h"
#include "io/number.h"
#include "io/result.h"

static void free_run(cs_finetune_run *run)
{
    cs_free(run->predicted);
    *run = (cs_finetune_run){0};
}

static void free_side(cs_finetune_side *side)
{
    cs_labelled_text_free(&side->text);
    cs_texts_free(&side->ids);
}

void cs_finetune_task_free(cs_finetune_task *task)
{
    free_side(&task->train);
    free_side(&task->test);
    json_decref(task->identity);
    *task = (cs_finetune_task){0};
}

void cs_finetune_study_free(cs_finetune_study *study)
{
    for (int64_t i = 0; i < study->runs; ++i) {
        free_run(&study->run[i]);
    }
    CS_FREE_FIELDS(study, run, trial);
    *study = (cs_finetune_study){0};
}

/* --- the key -----------------------------------------------------------------------------------*/

static void hash_texts(cs_hasher *h, const cs_texts *t)
{
    int64_t tokens = t->start[t->count];
    cs_hasher_add(h, t->start, (size_t)(t->count + 1) * sizeof *t->start);
    cs_hasher_add(h, t->token, (size_t)tokens * sizeof *t->token);
    cs_hasher_add(h, t->type, (size_t)tokens * sizeof *t->type);
    cs_hasher_add(h, t->value, (size_t)t->count * sizeof *t->value);
    if (t->place) cs_hasher_add(h, t->place, (size_t)t->count * sizeof *t->place);
    if (t->corpus) {
        cs_hasher_add(h, t->corpus->real_sha256, sizeof t->corpus->real_sha256);
    } else if (t->real) {
        cs_hasher_add(h, t->real, (size_t)((tokens - t->count) * t->real_width) * sizeof *t->real);
    }
}

/* XXH3 of the texts, the tokens of a cloze and the weights that training begins with. */
static cs_status hash_inputs(const cs_finetune_task *task, char hex[33])
{
    CS_AUTO(cs_hasher) h = {0};
    cs_status status = cs_hasher_make(0, &h);
    if (status == CS_OK && task->cloze)
        cs_hasher_add(&h, task->cloze->token,
                      (size_t)task->cloze->classes * sizeof *task->cloze->token);
    if (status == CS_OK) hash_texts(&h, &task->train.ids);
    if (status == CS_OK) hash_texts(&h, &task->test.ids);
    if (status == CS_OK && !task->fresh) status = cs_params_hash(&task->from->params, &h);
    if (status == CS_OK) cs_hash_hex(cs_hasher_value(&h), hex);
    return status;
}

cs_status cs_finetune_task_identify(cs_finetune_task *task)
{
    const cs_finetune_options *o = &task->options;
    char inputs[33] = "";
    CS_AUTO(cs_result) *record = cs_result_new();
    cs_item *run = cs_result_root(record);
    cs_status status = hash_inputs(task, inputs);
    cs_item_text(run, "inputs", inputs);
    (void)cs_item_json(run, "model", cs_model_config_json(&task->config));
    CS_ITEM_FIELDS(run, o, bad_limit, final_share, CS_FINETUNE_SETTINGS);
    CS_ITEM_FIELDS(run, &o->adamw, beta1, beta2, adam_eps, weight_decay, clip);
    CS_ITEM_FIELDS(run, task, fresh, few);
    cs_item_text(run, "schedule", cs_schedule_name(o->schedule));
    cs_item_text(run, "attention", cs_attention_name(o->masks.attention));
    cs_item_int(run, "attention_draws", cs_content_draws(&o->masks));
    return status == CS_OK ? cs_result_json(record, &task->identity) : status;
}

/* The key of one run of the task. */
static cs_status key_of(const cs_finetune_task *task, bool trial, const cs_finetune_run *run,
                        char key[65])
{
    cs_status status = CS_OK;
    json_auto_t *identity = json_copy(task->identity);
    cs_json_put(&status, identity, "learning_rate", cs_json_number(run->rate));
    cs_json_put(&status, identity, "seed", json_integer((json_int_t)run->seed));
    cs_json_put(&status, identity, "trial", json_boolean(trial));
    return status == CS_OK ? cs_digest_json(identity, key) : status;
}

/* --- what is kept ------------------------------------------------------------------------------*/

static const char RUN[] = "run.json";

/* Every other file of a run. */
static cs_status put_files(const char *folder, json_t *outputs)
{
    char **name = NULL;
    int64_t count = 0;
    cs_status status = cs_dir_names(folder, &name, &count);
    for (int64_t i = 0; i < count && status == CS_OK; ++i) {
        if (strcmp(name[i], RUN) != 0) status = cs_digest_put(outputs, folder, name[i]);
    }
    cs_text_list_free(name, count);
    return status;
}

static cs_status write_run(const char *key, const char *folder, int64_t count,
                           const cs_finetune_run *run)
{
    CS_AUTO_FREE char *path = cs_path_join(folder, RUN);
    json_auto_t *outputs = json_array();
    json_auto_t *json =
        json_pack("{s:s, s:o, s:I, s:I, s:I, s:I, s:o, s:o, s:o, s:O}", "key", key, "learning_rate",
                  cs_json_number(run->rate), "seed", (json_int_t)run->seed, "examples",
                  (json_int_t)run->examples, "steps", (json_int_t)run->steps, "skipped",
                  (json_int_t)run->skipped, "train_loss", cs_json_number(run->train_loss),
                  "test_loss", cs_json_number(run->test_loss), "predicted",
                  cs_json_numbers(count, run->predicted), "outputs", outputs);
    cs_status status = path && json ? put_files(folder, outputs)
                                    : cs_fail(CS_ERR_MEMORY, "out of memory for run.json");
    return status == CS_OK ? cs_digest_write(path, json) : status;
}

/* *there: the folder holds this very run, undamaged, which *run then is. */
static cs_status read_run(const char *key, const char *folder, int64_t count, cs_finetune_run *run,
                          bool *there)
{
    CS_AUTO_FREE char *path = cs_path_join(folder, RUN);
    json_auto_t *json = NULL;
    cs_status status = path ? CS_OK : CS_ERR_MEMORY;
    *there = false;
    if (status == CS_OK && cs_path_exists(path)) status = cs_json_read(path, &json);
    const char *recorded = json_string_value(json_object_get(json, "key"));
    const json_t *predicted = json_object_get(json, "predicted");
    if (status == CS_OK && recorded && strcmp(recorded, key) == 0 &&
        (int64_t)json_array_size(predicted) == count) {
        status = cs_digest_check_own(path, json, folder);
        *there = status == CS_OK;
    }
    if (status == CS_ERR_INPUT && json) { /* damaged: the run is repeated */
        cs_reason_clear();
        status = CS_OK;
    }
    if (status == CS_OK && *there) {
        run->examples = json_integer_value(json_object_get(json, "examples"));
        run->steps = json_integer_value(json_object_get(json, "steps"));
        run->skipped = json_integer_value(json_object_get(json, "skipped"));
        run->train_loss = json_number_value(json_object_get(json, "train_loss"));
        run->test_loss = json_number_value(json_object_get(json, "test_loss"));
        for (int64_t i = 0; i < count; ++i) {
            run->predicted[i] = json_number_value(json_array_get(predicted, (size_t)i));
        }
    }
    return status;
}

/* Class names in place of LABEL_0, ... in config.json. */
static cs_status name_classes(const cs_labelled_text *text, const char *folder)
{
    CS_AUTO_FREE char *path = cs_path_join(folder, "config.json");
    json_auto_t *json = NULL, *numbers = json_object();
    cs_status status = path && numbers ? cs_json_read(path, &json) : CS_ERR_MEMORY;
    json_t *names = json_object_get(json, "id2label");
    for (int64_t c = 0; names && c < text->classes && status == CS_OK; ++c) {
        char number[32];
        (void)snprintf(number, sizeof number, "%lld", (long long)c);
        status = cs_json_set(names, number, json_string(text->class_name[c]));
        if (status == CS_OK)
            status = cs_json_set(numbers, text->class_name[c], json_integer((json_int_t)c));
    }
    if (status == CS_OK && names && text->classes > 0 &&
        (status = cs_json_set(json, "label2id", json_incref(numbers))) == CS_OK) {
        status = cs_json_write(path, json);
    }
    return status;
}

cs_status cs_finetune_keep(const cs_finetune_task *task, const cs_model *model, const char *folder)
{
    CS_AUTO_FREE char *words = cs_path_join(folder, "tokenizer.json"),
                      *config = cs_path_join(folder, "tokenizer_config.json");
    cs_status status = words && config ? cs_model_write(model, folder) : CS_ERR_MEMORY;
    if (status == CS_OK && (status = name_classes(&task->train.text, folder)) == CS_OK &&
        task->tokenizer && (status = cs_tokenizer_write(task->tokenizer, words)) == CS_OK) {
        status = cs_tokenizer_write_config(task->tokenizer,
                                           cs_model_config_length(&task->config, 0), config);
    }
    return status;
}

/* --- a run -------------------------------------------------------------------------------------*/

typedef struct {
    const int64_t *fit; /* of the training side */
    int64_t fits;
    const cs_texts *scored;
    const int64_t *scored_row; /* NULL: all */
    int64_t count;
    bool trial;
} job;

cs_status cs_finetune_start(const cs_finetune_task *task, uint64_t seed, cs_model *out)
{
    cs_model model = {0};
    cs_status status = cs_model_init(&task->config, task->backend, true, &model);
    if (status == CS_OK)
        status = cs_model_kind_record(task->kind, task->options.masks.attention, &model.trained);
    if (status == CS_OK)
        status = task->fresh ? cs_model_randomise(&model, seed)
                             : cs_model_take_encoder(task->from, seed, &model);
    if (status == CS_OK && !task->fresh && task->cloze)
        status = cs_model_take_tokens(task->from, task->cloze->classes, task->cloze->token, &model);
    model.codes = cs_codes_share(task->from->codes);
    return CS_DELIVER(status, out, model, cs_model_free);
}

static cs_status train(const cs_finetune_task *task, const job *j, const char *folder,
                       cs_finetune_run *run)
{
    cs_finetune_options o = task->options;
    cs_finetune_result result = {0};
    CS_AUTO(cs_model) model = {0};
    char stage[96];
    (void)snprintf(stage, sizeof stage, "steps of %slearning rate %g, seed %llu",
                   j->trial ? "the trial of " : "", run->rate, (unsigned long long)run->seed);
    o.learning_rate = run->rate;
    o.seed = run->seed;
    o.dir = folder;
    o.stage = stage;
    cs_status status = cs_finetune_start(task, run->seed, &model);
    if (status == CS_OK && o.epochs > 0) { /* a cloze predicts untrained */
        status = cs_finetune(&model, &task->train.ids, j->fit, j->fits, &o, &result);
        status = status == CS_ERR_INPUT ? cs_blame(status, "%s", task->name) : status;
    }
    if (status == CS_OK &&
        (status = cs_finetune_predict(&model, j->scored, j->scored_row, j->count, &o,
                                      run->predicted, &run->test_loss)) == CS_OK &&
        folder && task->save_model && !j->trial) {
        status = cs_finetune_keep(task, &model, folder);
    }
    run->steps = result.steps;
    run->skipped = result.skipped;
    run->train_loss = result.loss;
    return status;
}

static cs_status run_job(const cs_finetune_task *task, const job *j, double rate, uint64_t seed,
                         cs_finetune_run *out)
{
    cs_finetune_run run = {.rate = rate, .seed = seed, .examples = j->fits};
    bool there = false;
    char *folder = NULL, key[65] = "", number[CS_REAL_TEXT];
    cs_real_shortest(rate, number);
    if (task->dir)
        folder = cs_format("%s/runs/%s%s-seed-%llu", task->dir, j->trial ? "trial-" : "lr-", number,
                           (unsigned long long)seed);
    run.predicted = cs_alloc(j->count, sizeof *run.predicted);
    cs_status status = run.predicted && (folder || !task->dir) ? CS_OK : CS_ERR_MEMORY;
    if (status == CS_OK && folder) status = key_of(task, j->trial, &run, key);
    if (status == CS_OK && folder) status = cs_dir_make(folder);
    if (status == CS_OK && folder && task->resume)
        status = read_run(key, folder, j->count, &run, &there);
    if (status == CS_OK && !there && (status = train(task, j, folder, &run)) == CS_OK && folder)
        status = write_run(key, folder, j->count, &run);
    if (status == CS_OK) {
        *out = run;
        run = (cs_finetune_run){0};
    } else if (status != CS_ERR_MEMORY) {
        status = cs_blame(status, "learning rate %g, seed %llu", rate, (unsigned long long)seed);
    }
    free_run(&run);
    cs_free(folder);
    return status;
}

static cs_status test_run(const cs_finetune_task *task, double rate, uint64_t seed,
                          cs_finetune_run *out)
{
    int64_t *index = NULL, count = 0;
    cs_status status = cs_few_shot(task->few, &task->train.text, seed, &count, &index);
    if (status == CS_OK) {
        const job j = {
            .fit = index, .fits = count, .scored = &task->test.ids, .count = task->test.ids.count};
        status = run_job(task, &j, rate, seed, out);
    }
    cs_free(index);
    return status;
}

/* --- the choice of a rate ----------------------------------------------------------------------*/

/* A seed's draw with a tenth of each class held out: which examples those are. */
typedef struct {
    int64_t fits, helds;
    int64_t *fit, *held;
} split;

/* Free both lists after any outcome. */
static cs_status split_draw(const cs_finetune_task *task, uint64_t seed, split *s)
{
    int64_t count = 0, next = 0;
    CS_AUTO_FREE double *value = NULL;
    cs_labelled_text drawn = {.classes = task->train.text.classes,
                              .class_name = task->train.text.class_name};
    cs_status status = cs_few_shot(task->few, &task->train.text, seed, &count, &s->fit);
    if (status == CS_OK && !(value = cs_alloc(count, sizeof *value))) status = CS_ERR_MEMORY;
    for (int64_t i = 0; i < count && status == CS_OK; ++i) {
        value[i] = task->train.text.value[s->fit[i]];
    }
    if (status == CS_OK) {
        drawn.count = count;
        drawn.value = value;
        status = cs_few_shot("10%", &drawn, seed, &s->helds, &s->held);
    }
    for (int64_t i = 0; i < count && status == CS_OK; ++i) { /* both rise */
        if (next < s->helds && s->held[next] == i) {
            s->held[next++] = s->fit[i];
        } else {
            s->fit[s->fits++] = s->fit[i];
        }
    }
    if (status == CS_OK && s->fits == 0)
        status = cs_fail(CS_ERR_INPUT,
                         "%lld examples are too few: none is left for training after those that "
                         "choose the learning rate",
                         (long long)count);
    return status;
}

/* Errors are better when smaller, scores when larger. */
static bool better(cs_metric metric, const cs_finetune_trial *a, const cs_finetune_trial *b)
{
    double by = metric == CS_METRIC_MSE ? b->score - a->score : a->score - b->score;
    return by > 0 || (by >= 0 && a->loss < b->loss);
}

static cs_status try_rate(const cs_finetune_task *task, const cs_finetune_plan *plan,
                          const split *s, cs_finetune_trial *trial)
{
    const cs_labelled_text *t = &task->train.text;
    const job j = {.fit = s->fit,
                   .fits = s->fits,
                   .scored = &task->train.ids,
                   .scored_row = s->held,
                   .count = s->helds,
                   .trial = true};
    cs_finetune_run run = {0};
    CS_AUTO_FREE double *truth = cs_alloc(s->helds, sizeof *truth);
    cs_status status = truth ? run_job(task, &j, trial->rate, plan->seed, &run) : CS_ERR_MEMORY;
    for (int64_t k = 0; k < s->helds && status == CS_OK; ++k) {
        truth[k] = t->value[s->held[k]];
    }
    if (status == CS_OK) {
        trial->loss = run.test_loss;
        status = cs_metric_of(plan->metrics.metric[0], s->helds, truth, run.predicted, t->classes,
                              &trial->score);
    }
    free_run(&run);
    return status;
}

static cs_status choose_rate(const cs_finetune_task *task, const cs_finetune_plan *plan,
                             cs_finetune_study *out)
{
    split s = {0};
    out->chosen = plan->rate[0];
    if (plan->rates == 1) {
        return CS_OK;
    }
    out->trials = plan->rates;
    out->trial = cs_calloc(plan->rates, sizeof *out->trial);
    cs_status status = out->trial ? split_draw(task, plan->seed, &s) : CS_ERR_MEMORY;
    int64_t best = 0;
    for (int64_t i = 0; i < plan->rates && status == CS_OK; ++i) {
        out->trial[i].rate = plan->rate[i];
        status = try_rate(task, plan, &s, &out->trial[i]);
        if (better(plan->metrics.metric[0], &out->trial[i], &out->trial[best])) {
            best = i;
        }
    }
    out->chosen = plan->rate[best];
    CS_FREE_FIELDS(&s, fit, held);
    return status;
}

/* --- the study ---------------------------------------------------------------------------------*/

cs_scoring cs_finetune_scoring(const cs_finetune_task *task, const cs_finetune_plan *plan)
{
    return (cs_scoring){.train = &task->train.text,
                        .test = &task->test.text,
                        .metrics = plan->metrics,
                        .seeds = plan->seeds,
                        .seed = plan->seed};
}

cs_status cs_finetune_study_of(const cs_finetune_task *task, const cs_finetune_plan *plan,
                               cs_finetune_study *out)
{
    cs_finetune_study s = {0};
    cs_status status = choose_rate(task, plan, &s);
    if (status == CS_OK && !(s.run = cs_calloc(plan->seeds, sizeof *s.run))) status = CS_ERR_MEMORY;
    s.runs = s.run ? plan->seeds : 0;
    for (int64_t i = 0; i < s.runs && status == CS_OK; ++i) {
        status = test_run(task, s.chosen, plan->seed + (uint64_t)i, &s.run[i]);
    }
    return CS_DELIVER(status, out, s, cs_finetune_study_free);
}

/* The record of fine-tuning runs. */
typedef struct {
    const cs_finetune_task *task;
    const cs_finetune_study *study;
    cs_scoring scoring;
    double *prediction, *constant; /* as cs_seed_score_of takes them; constant of one seed */
    double *scratch;
} report;

static cs_status take_results(report *r)
{
    const int64_t n = r->scoring.test->count, runs = r->study->runs;
    r->prediction = cs_alloc(runs * n, sizeof *r->prediction);
    r->constant = cs_alloc(n, sizeof *r->constant);
    r->scratch = cs_alloc(cs_scoring_work_size(&r->scoring), sizeof *r->scratch);
    if (!r->prediction || !r->constant || !r->scratch) return CS_ERR_MEMORY;
    for (int64_t k = 0; k < runs; ++k) {
        memcpy(r->prediction + k * n, r->study->run[k].predicted, sizeof(double) * (size_t)n);
    }
    cs_fill(n, cs_scoring_constant(&r->scoring), r->constant);
    return CS_OK;
}

static void add_head(const report *r, cs_item *root)
{
    const cs_finetune_task *t = r->task;
    cs_item_text(root, "model", t->name);
    cs_item_text(root, "train", t->train.source);
    cs_item_text(root, "test", t->test.source);
    cs_item_text(root, "task", t->train.text.classes > 0 ? "classification" : "regression");
    cs_item_int(root, "classes", t->train.text.classes);
    cs_item_text(root, "init", t->fresh ? "random" : "pretrained");
    cs_item_text(root, "few", t->few);
    cs_item_text(root, "pooling",
                 t->config.head.cloze ? "cloze" : cs_readout_name(t->config.head.readout));
    cs_item_flag(root, "causal", t->options.masks.attention == CS_ATTENTION_CAUSAL);
    cs_item_int(root, "n", t->test.text.count);
    cs_item_int(root, "n_train", r->study->run[0].examples);
    cs_item_int(root, "longest", t->train.ids.longest);
    cs_item_int(root, "truncated_train", t->train.ids.truncated);
    cs_item_int(root, "truncated_test", t->test.ids.truncated);
    cs_item_real(root, "learning_rate", r->study->chosen);
    cs_item_text(root, "~layer", CS_FINETUNE_LAYER);
}

static cs_status add_score(const report *r, cs_metric metric, cs_item *list)
{
    const cs_scoring *j = &r->scoring;
    cs_seed_score over = {0};
    double constant = 0.0;
    cs_status status = cs_seed_score_of(j, metric, r->prediction, r->scratch, &over);
    if (status == CS_OK)
        status = cs_metric_of(metric, j->test->count, j->test->value, r->constant,
                              j->train->classes, &constant);
    if (status != CS_OK) return status;
    cs_item *item = cs_item_object(list, NULL);
    cs_item_text(item, "name", cs_metric_name(metric));
    cs_item_text(item, "definition", cs_metric_definition(metric));
    cs_item_real(item, "value", over.seeds.median);
    CS_ITEM_FIELDS(item, &over.seeds, low, high, coverage);
    cs_item_real(item, "se", over.se);
    cs_item_real(item, "constant", constant);
    cs_item_int(item, "n", j->test->count);
    cs_item_text(item, "~seed", "median");
    cs_item_reals(item, "of_seed", over.seeds.count, r->scratch);
    cs_item_reals(item, "~left_out", over.blocks, over.left_out);
    return CS_OK;
}

static cs_status add_comparison(const report *r, const cs_reference *reference, cs_item *root)
{
    CS_AUTO(cs_comparison) c = {0};
    cs_status status = cs_compare(reference, &r->scoring, CS_FINETUNE_LAYER, r->prediction, &c);
    if (status == CS_OK)
        cs_item_text(cs_comparison_add(reference, &r->scoring, &c, root), "~of", "difference");
    return status;
}

static void add_runs(const report *r, cs_item *root)
{
    const cs_finetune_study *s = r->study;
    cs_item *runs = cs_item_array(root, "runs");
    for (int64_t i = 0; i < s->runs; ++i) {
        const cs_finetune_run *run = &s->run[i];
        cs_item *item = cs_item_object(runs, NULL);
        cs_item_int(item, "seed", (int64_t)run->seed);
        CS_ITEM_FIELDS(item, run, examples, steps, skipped, train_loss, test_loss);
    }
    cs_item *trials = s->trials > 0 ? cs_item_array(root, "trials") : NULL;
    for (int64_t i = 0; i < s->trials; ++i) {
        cs_item *item = cs_item_object(trials, NULL);
        cs_item_real(item, "learning_rate", s->trial[i].rate);
        cs_item_text(item, "metric", cs_metric_name(r->scoring.metrics.metric[0]));
        cs_item_real(item, "value", s->trial[i].score);
        cs_item_real(item, "loss", s->trial[i].loss);
    }
}

static cs_status add_all(const report *r, const cs_metric_list *metrics,
                         const cs_reference *reference, cs_item *root, cs_table *predictions)
{
    char partition[33];
    cs_status status = cs_scoring_partition(&r->scoring, partition);
    if (status != CS_OK) return status;
    cs_item_text(root, "~partition", partition);
    add_head(r, root);
    cs_item *scores = cs_item_array(root, "metrics");
    for (int64_t m = 0; m < metrics->count && status == CS_OK; ++m) {
        status = add_score(r, metrics->metric[m], scores);
    }
    if (status == CS_OK && reference->file) status = add_comparison(r, reference, root);
    add_runs(r, root);
    if (status == CS_OK && predictions) status = cs_predictions_init(r->scoring.seeds, predictions);
    return status == CS_OK && predictions
               ? cs_predictions_add(&r->scoring, CS_FINETUNE_LAYER, r->prediction, predictions)
               : status;
}

cs_status cs_finetune_record(const cs_finetune_task *task, const cs_finetune_plan *plan,
                             const cs_finetune_study *study, const cs_reference *reference,
                             cs_item *root, cs_table *predictions)
{
    report r = {.task = task, .study = study, .scoring = cs_finetune_scoring(task, plan)};
    cs_status status = take_results(&r);
    if (status == CS_OK) status = add_all(&r, &plan->metrics, reference, root, predictions);
    CS_FREE_FIELDS(&r, prediction, constant, scratch);
    return status;
}
