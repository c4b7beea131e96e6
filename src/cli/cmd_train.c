/* cospec train: pretrains a model of the toolkit on a corpus, under any objective. */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/plugin.h"
#include "cli/commands.h"
#include "cli/groups.h"
#include "cli/output.h"
#include "cli/train_corpus.h"
#include "cli/train_options.h"
#include "io/file.h"
#include "io/json.h"
#include "tensor/device.h"
#include "train/checkpoint.h"
#include "train/examples.h"

typedef struct {
    cs_plan_file plan;
    cs_corpus corpus;
    cs_tokenizer *tokenizer;
    cs_backend *backend;
    cs_model model;
    cs_train_options options;
} run;

/* A GPU that was not asked for by name is a matter of taste: only a note says why there is none. */
static cs_status open_backend(const cs_args *args, cs_backend **out)
{
    const char *device = cs_args_text(args, "device");
    bool half = strcmp(cs_args_text(args, "precision"), "bf16") == 0;
    cs_device_options options = {.threads = cs_args_threads(args), .f32 = !half};
    char why[512];
    if (half && !cs_device_is_cuda(device)) {
        return cs_fail(CS_ERR_USAGE, "--precision bf16 needs --device cuda");
    }
    cs_status status = cs_device_open(device, &options, why, sizeof why, out);
    if (status == CS_OK && why[0] != '\0' && cs_args_given(args, "device")) {
        cs_output_note(args, "on the CPU: %s", why);
    }
    return status;
}

static void take_missing(int32_t *id, int32_t found, int64_t vocab)
{
    *id = *id < 0 && found >= 0 && found < vocab ? found : *id;
}

/* config.json of Hugging Face names few special tokens (bert's neither mask nor unknown): the
 * tokenizer knows the others. Positions stay where the model has them. */
static void complete_ids(cs_model_config *config, cs_special_ids found)
{
    take_missing(&config->pad_id, found.pad, config->vocab);
    take_missing(&config->bos_id, found.bos, config->vocab);
    take_missing(&config->eos_id, found.eos, config->vocab);
    take_missing(&config->mask_id, found.mask, config->vocab);
    take_missing(&config->unk_id, found.unk, config->vocab);
}

/* The two shorthands of --objective name a model too. */
static cs_status check_kind(const cs_args *args, const char *from, const cs_model_config *config)
{
    const char *name = cs_args_text(args, "objective");
    if (strcmp(name, "mae-lm") == 0 && config->decoder.layers == 0) {
        return cs_fail(CS_ERR_USAGE,
                       "--objective mae-lm: the model of --init-from %s has no "
                       "decoder (--objective masked goes on without one)",
                       from);
    }
    if (strcmp(name, "linear") == 0 && config->arch != CS_ARCH_LINEAR) {
        return cs_fail(CS_ERR_USAGE,
                       "--objective linear: the model of --init-from %s is %s, not "
                       "linear (--objective masked --loss spectral trains it so)",
                       from, cs_arch_name(config->arch));
    }
    return CS_OK;
}

static cs_status read_model(const cs_args *args, const char *from, run *r)
{
    cs_status status = cs_args_refuse_model(args);
    if (status == CS_OK && (status = cs_model_read(from, r->backend, true, &r->model)) == CS_OK) {
        complete_ids(&r->model.config, cs_special_ids_of(r->tokenizer));
        status = check_kind(args, from, &r->model.config);
    }
    return status == CS_OK ? cs_args_check_decoder(&r->options.task, &r->model.config) : status;
}

/* A fresh model, or that of --init-from. */
static cs_status make_model(const cs_args *args, run *r)
{
    const char *from = cs_args_text(args, "init-from");
    cs_model_config config = {0};
    cs_status status;
    if (from) {
        return read_model(args, from, r);
    }
    status = cs_args_model(args, &r->options, &config);
    config.vocab = cs_tokenizer_vocab(r->tokenizer);
    cs_model_config_ids(&config, cs_special_ids_of(r->tokenizer));
    if (status == CS_OK && (status = cs_model_config_check(&config)) == CS_OK &&
        (status = cs_args_check_decoder(&r->options.task, &config)) == CS_OK &&
        (status = cs_task_check(&r->options.task, &config)) == CS_OK &&
        (status = cs_model_init(&config, r->backend, true, &r->model)) == CS_OK) {
        status = cs_model_randomise(&r->model, r->options.seed);
    }
    return status;
}

/* --epochs as steps. */
static cs_status count_steps(const cs_args *args, run *r)
{
    cs_examples examples = {0};
    cs_train_options *o = &r->options;
    if (!cs_args_given(args, "epochs")) {
        return CS_OK;
    }
    const cs_examples_options wanted = {.objective = &o->task.objective,
                                        .length = o->length,
                                        .pack = o->pack,
                                        .end_token =
                                            cs_tokenizer_special(r->tokenizer, CS_TOKEN_EOS)};
    cs_status status = cs_examples_of(&r->corpus, &wanted, &examples);
    if (status == CS_OK) {
        double steps = ceil(cs_args_real(args, "epochs") * (double)examples.count /
                            ((double)o->batch * (double)o->accumulate));
        o->steps = steps > 1.0 ? (int64_t)fmin(steps, 1e12) : 1;
    }
    cs_examples_free(&examples);
    return status;
}

/* To a refusal to overwrite a run: that it can go on. */
static cs_status offer_resume(const cs_args *args, cs_status status)
{
    char reason[1024];
    int64_t last = -1, before = -1;
    (void)snprintf(reason, sizeof reason, "%s", cs_reason());
    cs_reason_clear();
    if (cs_train_last(cs_args_text(args, "output"), &last, &before) != CS_OK) {
        cs_reason_clear();
        last = -1;
    }
    return last >= 0 ? cs_fail(status, "%s; --resume goes on from checkpoint-%lld", reason,
                               (long long)last)
                     : cs_fail(status, "%s", reason);
}

static cs_status claim(cs_args *args)
{
    static const char *const file[] = {"log.csv", "model.safetensors", "train.json"};
    cs_status status = CS_OK;
    if (cs_args_flag(args, "dry-run")) {
        return CS_OK;
    }
    if (!cs_args_given(args, "output")) {
        return cs_fail(CS_ERR_USAGE, "train needs -o DIR");
    }
    for (size_t i = 0; i < sizeof file / sizeof *file && status == CS_OK; ++i) {
        status = cs_output_claim(args, file[i]);
    }
    return status == CS_ERR_USAGE ? offer_resume(args, status) : status;
}

static cs_status prepare(cs_args *args, run *r)
{
    cs_status status = cs_args_train(args, &r->plan, &r->options);
    if (status == CS_OK && (status = claim(args)) == CS_OK && r->plan.path) {
        status = cs_output_input(args, r->plan.path);
    }
    if (status == CS_OK && (status = open_backend(args, &r->backend)) == CS_OK &&
        (status = cs_args_train_corpus(args, &r->corpus, &r->tokenizer)) == CS_OK &&
        (status = count_steps(args, r)) == CS_OK) {
        status = make_model(args, r);
    }
    return status;
}

static int64_t parameters(const cs_model *model)
{
    int64_t count = 0;
    for (int64_t i = 0; i < model->params.count; ++i) {
        count += model->params.param[i].rows * model->params.param[i].cols;
    }
    return count;
}

/* What is known before the first step. */
static json_t *describe(const cs_args *args, const run *r)
{
    char *objective = cs_objective_describe(&r->options.task.objective);
    json_t *o =
        objective
            ? json_pack("{s:s, s:s, s:s, s:s, s:s, s:I, s:I, s:I}", "objective", objective,
                        "loss_kind",
                        r->options.loss == CS_LOSS_SPECTRAL ? "spectral" : "cross-entropy",
                        "corpus", cs_args_text(args, "corpus"), "arch",
                        cs_arch_name(r->model.config.arch), "device", r->backend->name,
                        "parameters", (json_int_t)parameters(&r->model), "vocabulary",
                        (json_int_t)r->model.config.vocab, "steps", (json_int_t)r->options.steps)
            : NULL;
    cs_free(objective);
    return o;
}

static cs_status add(json_t *object, json_t *more)
{
    bool ok = object && more && json_object_update(object, more) == 0;
    json_decref(more);
    return ok ? CS_OK : cs_fail(CS_ERR_MEMORY, "out of memory for the result");
}

static cs_status estimate(cs_args *args, run *r)
{
    cs_train_estimate e = {0};
    cs_status status = cs_train_dry_run(&r->model, &r->corpus, r->tokenizer, &r->options, &e);
    if (status != CS_OK) {
        return status;
    }
    json_t *json = describe(args, r);
    status =
        add(json, json_pack("{s:I, s:I, s:I, s:I, s:I, s:o, s:o, s:o}", "sequences",
                            (json_int_t)e.sequences, "held_out_sequences", (json_int_t)e.held_out,
                            "too_short", (json_int_t)e.too_short, "tokens", (json_int_t)e.tokens,
                            "bytes", (json_int_t)e.bytes, "flops_per_step", cs_json_number(e.flops),
                            "seconds_per_step", cs_json_number(e.step_seconds), "seconds",
                            cs_json_number(e.step_seconds * (double)r->options.steps)));
    if (status == CS_OK) {
        status = cs_output_result(args, "train", json, NULL);
    }
    json_decref(json);
    return status;
}

static cs_status write_result(cs_args *args, const run *r, const cs_train_result *result)
{
    json_t *json = describe(args, r);
    cs_status status =
        add(json,
            json_pack("{s:I, s:b, s:I, s:I, s:o, s:o, s:o}", "step", (json_int_t)result->step,
                      "finished", (int)result->finished, "tokens", (json_int_t)result->tokens,
                      "skipped", (json_int_t)result->skipped, "loss", cs_json_number(result->loss),
                      "eval_loss", cs_json_number(result->eval_loss), "seconds",
                      cs_json_number(result->seconds)));
    if (status == CS_OK) {
        status = cs_output_result(args, "train", json, NULL);
    }
    json_decref(json);
    return status;
}

/* The manifest stands from the first step on, whatever ends the run: its checkpoints are of these
 * options. Files of a finished run are begun now, so that a failure removes what it wrote of them.
 */
static cs_status begin_files(void *ctx)
{
    static const char *const file[] = {"model.safetensors", "config.json", "tokenizer.json",
                                       "tokenizer_config.json"};
    cs_args *args = ctx;
    cs_status status = cs_output_start(args);
    for (size_t i = 0; i < sizeof file / sizeof *file && status == CS_OK; ++i) {
        char *path = NULL;
        status = cs_output_path(args, file[i], &path);
        cs_free(path);
    }
    return status;
}

static cs_status train(cs_args *args, run *r)
{
    cs_train_result result = {0};
    char reason[1024];
    r->options.begun = begin_files;
    r->options.begun_ctx = args;
    cs_status status = cs_train(&r->model, &r->corpus, r->tokenizer, &r->options, &result);
    if (status != CS_OK && status != CS_ERR_CONVERGE) {
        return status;
    }
    (void)snprintf(reason, sizeof reason, "%s", cs_reason());
    cs_reason_clear();
    if (!result.finished) {
        cs_output_unfinished(args);
    }
    if (status == CS_OK && !result.finished) {
        cs_output_note(args, "stopped after step %lld of %lld; --resume goes on",
                       (long long)result.step, (long long)r->options.steps);
    }
    cs_status written = write_result(args, r, &result);
    return written == CS_OK && status != CS_OK ? cs_fail(status, "%s", reason) : written;
}

static cs_status run_train(cs_args *args)
{
    run r = {0};
    cs_status status = prepare(args, &r);
    if (status == CS_OK) {
        status = cs_args_flag(args, "dry-run") ? estimate(args, &r) : train(args, &r);
    }
    cs_model_free(&r.model);
    cs_backend_free(&r.backend);
    cs_tokenizer_free(&r.tokenizer);
    cs_corpus_free(&r.corpus);
    cs_plan_file_free(&r.plan);
    return status;
}

static const cs_opt *const train_groups[] = {cs_group_corpus,       cs_group_train_task,
                                             cs_group_plan_numbers, cs_group_train_model,
                                             cs_group_train_recipe, NULL};

const cs_command cs_cmd_train = {
    .name = "train",
    .gpu = true,
    .summary = "Pretrain a Transformer on a corpus under any objective",
    .description =
        "One network serves every objective, so that models differ in what they were trained on "
        "and nothing else. Defaults are small (a minute or two on two cores) and follow the "
        "recipe of Geiping and Goldstein (2023); docs/training.md has all of them with their "
        "sources.\n\n"
        "DIR receives model.safetensors, config.json and tokenizer.json, which the Hugging Face "
        "libraries load (gpt2, roberta-prelayernorm, roberta, bert without the options those "
        "classes lack); log.csv (cospec plot training); and the last two checkpoints.\n\n"
        "An interrupt (Ctrl-C, SIGTERM) ends the step, writes a checkpoint and exits with 130; "
        "--time-limit does the same and exits with 0. The same command with --resume goes on and "
        "writes the same bytes as a run that was left alone, on one machine and any --threads. "
        "Under --schedule constant --steps may be raised.\n\n"
        "A step whose gradient is not finite is skipped and counted; --bad-limit of them in a row "
        "end the run with 4, and the last good checkpoint stands.\n\n"
        "--dry-run times some steps and tells parameters, memory and operations.",
    .groups = train_groups,
    .examples =
        "# a small GPT on verses of one's own, then the same with two tokens ahead\n"
        "cospec train --corpus verses.txt --objective ar --steps 20 --width 32 --layers 2 "
        "--batch 8 -o ar\n"
        "cospec train --corpus verses.txt --objective diverse-ar --steps 20 --width 32 --layers 2 "
        "--batch 8 -o diverse\n"
        "# their curves\n"
        "cospec plot training ar=ar/log.csv diverse=diverse/log.csv -o figures\n"
        "# what a BERT of 85M parameters would take\n"
        "cospec train --corpus verses.txt --objective masked --keep 0.1 --random 0.1 --preset 4m "
        "--batch 4 --dry-run",
    .run = run_train,
    .without = "csv",
    .continues = "steps epochs time-limit log-every eval-every save-every",
};
