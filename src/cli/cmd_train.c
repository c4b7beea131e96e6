/* cospec train: pretrains a model of the toolkit on a corpus, under any objective. */

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis/measures/field_optimum.h"
#include "base/auto.h"
#include "base/plugin.h"
#include "cli/commands.h"
#include "cli/groups.h"
#include "cli/model_options.h"
#include "cli/output.h"
#include "cli/train_options.h"
#include "image/augment.h"
#include "image/field.h"
#include "io/file.h"
#include "model/model.h"
#include "train/budgets.h"
#include "train/examples.h"
#include "train/specials.h"
#include "train/trainer.h"

/* --- optimum of a field ----------------------------------------------------------------------- */

/* The floor is of all held-out fields in expectation, under the plans of those evaluated, as far as
 * they are not too many: which plans they are would count for more than the fields, and so the loss
 * is evaluated under the same plans. */

enum { LEAST_PLANS = 8, MOST_PIXELS = 4096 }; /* one plan of that size takes a second */

/* Those evaluated, or what a few seconds are enough for. */
static int64_t plans_of(double pixels, int64_t evaluated)
{
    const double flops = 0x1p39;
    return (int64_t)fmin(fmax(flops / (pixels * pixels * pixels), LEAST_PLANS),
                         (double)(evaluated > 2 ? evaluated : 2));
}

/* Adds to the record of a training on the corpus `field`: optimum, the least evaluation loss of any
 * model under the objective (measures/field_optimum.h, over all plans or those of the fields
 * evaluated, as far as a few seconds allow), optimum_se, and above_optimum = loss / optimum - 1,
 * with the loss measured on held-out fields. Adds nothing for other corpora, if the loss has
 * another target (normalised patches, codes, a schedule of objectives), or if the model reads less
 * or more than its plans show (blind queries, tokens kept or replaced). A note names larger fields. */
static cs_status add_optimum(const cs_args *args, const cs_images *images, const cs_model_config *c,
                             const cs_train_options *o, double loss, cs_item *item)
{
    cs_field_case of = {.height = images->height,
                        .width = images->width,
                        .patch = c->picture.patch,
                        .draws = plans_of((double)(images->height * images->width),
                                          o->data.batch * o->intervals.eval_batches),
                        .seed = o->seed};
    double optimum = 0, se = 0;
    CS_AUTO_FREE int32_t *order = NULL;
    if (images->count == 0 || !cs_field_is(images, &of.rho) || c->head.target != CS_TARGET_PIXELS ||
        c->shape.extra_width > 0 || c->attention.blind_queries || o->phases || o->task.keep > 0 ||
        o->task.random > 0) {
        return CS_OK;
    }
    if (images->height * images->width > MOST_PIXELS) {
        cs_output_note(args, "the optimum is not computed: fields have %lld pixels, more than %d",
                       (long long)(images->height * images->width), MOST_PIXELS);
        return CS_OK;
    }
    cs_status status = cs_model_order(c, &order);
    of.order = order;
    if (status == CS_OK) status = cs_field_optimum(&o->task.objective, &of, &optimum, &se);
    if (status == CS_OK) {
        cs_item_real(item, "optimum", optimum);
        cs_item_real(item, "optimum_se", se);
        cs_item_real(item, "above_optimum", loss / optimum - 1);
    }
    return status;
}

typedef struct {
    cs_args *args; /* for begin_files */
    cs_plan_file plan;
    cs_phases phases;
    bool of_pictures; /* else of text */
    cs_images images; /* of vit, whose patches are the corpus */
    cs_patch_view view;
    cs_codes *codes; /* of --target codes */
    int32_t *order;  /* of patches; NULL: along rows */
    cs_corpus corpus;
    cs_tokenizer *tokenizer;
    cs_backend *backend;
    cs_model model;
    cs_train_options options;
    int64_t *keep; /* --keep-at */
    int64_t budgets;
    cs_train_budget *budget;
} run;

static cs_status open_backend(const cs_args *args, cs_backend **out)
{
    const bool half = cs_args_is(args, "precision", "bf16");
    const cs_device_options options = {.f32 = cs_args_is(args, "precision", "fp32"),
                                       .search_products = cs_args_flag(args, "search-products")};
    const char *only = half ? "precision bf16" : options.search_products ? "search-products" : NULL;
    if (only && !cs_device_is_cuda(cs_args_text(args, "device")))
        return cs_fail(CS_ERR_USAGE, "--%s needs --device cuda", only);
    if (options.search_products && options.f32)
        return cs_fail(CS_ERR_USAGE, "--search-products needs --precision bf16");
    cs_status status = cs_args_backend(args, options, out);
    if (status == CS_OK && !half && !options.f32 && (*out)->activation == CS_REAL_BF16)
        cs_output_note(args,
                       "activations are bf16 on the GPU; give --precision fp32 for 32-bit floats");
    return status;
}

/* The shorthands of --objective name a model too. */
static cs_status check_kind(const cs_args *args, const cs_train_options *options, const char *from,
                            const cs_model_config *config)
{
    const char *name = cs_args_text(args, "objective");
    const char *lacks = strcmp(name, "mae-lm") == 0 && config->decoder.layers == 0
                            ? "no decoder; give --objective masked to train without a decoder"
                        : cs_args_ahead(args, options) > 0 && config->head.offsets == 0
                            ? "no heads for offsets"
                            : NULL;
    if (lacks) {
        return cs_fail(CS_ERR_USAGE,
                       "--objective %s does not match: the model of --init-from %s has %s", name,
                       from, lacks);
    }
    if (strcmp(name, "linear") == 0 && config->arch != CS_ARCH_LINEAR) {
        return cs_fail(CS_ERR_USAGE,
                       "--objective linear: the model of --init-from %s is %s, not linear; give "
                       "--objective masked --loss spectral",
                       from, cs_arch_name(config->arch));
    }
    return CS_OK;
}

static cs_status read_model(const cs_args *args, const char *from, run *r)
{
    cs_status status = cs_args_refuse_model(args);
    if (status == CS_OK && (status = cs_model_read(from, r->backend, true, &r->model)) == CS_OK &&
        (status = cs_train_begin_with(&r->model, &r->options)) == CS_OK) {
        if (r->tokenizer) {
            cs_model_config_complete(&r->model.config, cs_special_ids_of(r->tokenizer));
            cs_model_config_given(&r->model.config, r->tokenizer);
        }
        if (r->options.task.two_stream) {
            r->model.config.attention.blind_queries = cs_args_is(args, "query-position", "off");
        }
        status = check_kind(args, &r->options, from, &r->model.config);
    }
    return status == CS_OK ? cs_args_check_decoder(&r->options.task, &r->model.config) : status;
}

/* --- pictures --------------------------------------------------------------------------------- */

/* Sets the parts of a fresh model that follow from its pictures: its sizes, its input and its
 * predictions. */
static cs_status set_pictures(cs_args *args, const run *r, cs_model_config *c)
{
    const bool codes = cs_args_is(args, "target", "codes");
    cs_status status = cs_args_refuse(
        args, "positions untied post-norm mask-token pad-token unk-token bos-token eos-token",
        "does not apply to --arch vit");
    if (status == CS_OK && !codes)
        status = cs_args_refuse(args, "input codes tokenizer", "needs --target codes");
    c->picture.height = r->images.height;
    c->picture.width = r->images.width;
    c->picture.channels = r->images.channels;
    c->shape.extra_width = r->images.extra_width;
    c->picture.patch = codes ? r->codes->patch : cs_args_int(args, "patch");
    c->picture.sinusoidal = cs_args_is(args, "position-table", "sines");
    if (codes) {
        c->shape.vocab = CS_FIRST_CODE + r->codes->book.codes;
    } else if (status == CS_OK) {
        status = cs_target_by_name(cs_args_text(args, "target"), &c->head.target);
    }
    if (status == CS_OK) status = cs_model_config_pictures(c);
    const char *order = cs_args_text(args, "order");
    if (status == CS_OK && cs_path_exists(order)) status = cs_output_input(args, order);
    if (status == CS_OK) status = cs_model_set_order(order, cs_args_seed(args), c);
    c->shape.real_width = cs_args_is(args, "input", "codes") ? 0 : c->shape.real_width;
    return status;
}

/* The training side may be seen augmented. */
static cs_status set_view(cs_args *args, int64_t patch, run *r)
{
    const double least = cs_args_real(args, "least-area");
    const cs_augment augment = {least, least < 1 ? 4.0 / 3 : 1, cs_args_flag(args, "flip")};
    if (least >= 1 && !augment.flip) return CS_OK;
    const char *what = cs_args_format(args, "area %g, flip %d", least, augment.flip);
    cs_status status = what ? CS_OK : CS_ERR_MEMORY;
    r->options.data.view = (cs_train_view){.take = cs_patch_view_take,
                                           .ctx = &r->view,
                                           .what = what,
                                           .held_out = r->images.stream != NULL};
    return status == CS_OK ? cs_patch_view_make(&r->images, patch, r->order, &r->model.processor,
                                                &augment, r->options.seed, &r->view)
                           : status;
}

/* A fresh model, or that of --init-from. */
static cs_status make_model(cs_args *args, run *r)
{
    if (r->model.params.count > 0) { /* read with the pictures */
        return CS_OK;
    }
    const char *from = cs_args_text(args, "init-from");
    cs_model_config config = {0};
    if (from) return read_model(args, from, r);
    cs_status status = cs_args_model(args, &r->options, &config);
    if (r->images.count > 0) {
        status = status == CS_OK ? set_pictures(args, r, &config) : status;
    } else {
        config.shape.vocab = cs_tokenizer_vocab(r->tokenizer);
        cs_model_config_ids(&config, cs_special_ids_of(r->tokenizer));
    }
    if (status == CS_OK && (status = cs_model_config_check(&config)) == CS_OK &&
        (status = cs_args_check_decoder(&r->options.task, &config)) == CS_OK &&
        (status = r->phases.count > 0 ? CS_OK : cs_task_check(&r->options.task, &config)) ==
            CS_OK &&
        (status = cs_model_init(&config, r->backend, true, &r->model)) == CS_OK) {
        status = cs_model_randomise(&r->model, r->options.seed);
    }
    if (status == CS_OK) r->model.codes = cs_codes_share(r->codes);
    if (status == CS_OK && r->images.count > 0)
        status = cs_args_processor(args, config.picture.channels, &r->model.processor);
    return status;
}

/* The patches of --corpus as the model reads them. */
static cs_status read_pictures(cs_args *args, run *r)
{
    const bool from = cs_args_given(args, "init-from");
    cs_status status =
        cs_args_refuse(args, "window max-length pack by-length", "does not apply to --arch vit");
    if (status == CS_OK && from)
        status = cs_args_refuse(args, "patch codes tokenizer target input order position-table",
                                "cannot be combined with --init-from");
    if (status == CS_OK && from) status = make_model(args, r);
    const cs_image_fit fit = cs_model_image_fit(&r->model);
    if (status == CS_OK)
        status = cs_args_load_images(args, cs_args_text(args, "corpus"), from ? &fit : NULL,
                                     cs_args_int(args, "image-memory"), &r->images);
    if (status == CS_OK && r->images.stream)
        cs_output_note(args, "%lld images are decoded while the model trains (--image-memory)",
                       (long long)r->images.count);
    if (status == CS_OK && cs_args_is(args, "target", "codes"))
        status = cs_args_codes(args, &r->images, &r->codes);
    if (status == CS_OK) status = make_model(args, r);
    if (status == CS_OK) status = cs_phases_pictures(&r->model.config, &r->phases);
    if (status == CS_OK) status = cs_task_pictures(&r->model.config, &r->options.task);
    if (status == CS_OK && from && r->model.config.head.target != CS_TARGET_IDS)
        r->options.loss = CS_LOSS_SQUARED_ERROR;
    if (status == CS_OK && r->model.codes)
        status = cs_args_refuse(args, "least-area flip", "needs pixel targets");
    if (status == CS_OK) status = cs_args_model_pictures(args, &r->model, &r->images, &r->corpus);
    if (status == CS_OK) {
        r->options.data.length = r->corpus.doc_ptr[1];
        cs_args_keep_some(args, &r->corpus);
        status = cs_model_order(&r->model.config, &r->order);
    }
    if (status == CS_OK) status = set_view(args, r->model.config.picture.patch, r);
    return status;
}

/* Whether the model reads pictures as they are; else their codes are text. */
static cs_status check_pictures(const cs_args *args, bool *of_pictures)
{
    const char *source = cs_args_text(args, "corpus");
    bool are = false;
    cs_status status = source ? cs_images_are(source, &are) : CS_OK;
    if (status != CS_OK) return status;
    are = are && (cs_args_is(args, "arch", "vit") || cs_args_text(args, "init-from"));
    *of_pictures = are;
    if (source && cs_args_is(args, "arch", "vit") && !are) {
        return cs_args_no_pictures("--arch vit reads", source);
    }
    if (are && cs_args_is(args, "arch", "vit") && !cs_args_is(args, "input", "codes") &&
        cs_args_given_in(args, "keep random"))
        return cs_args_refuse(args, "keep random", "needs tokens; patches are not tokens");
    return are ? cs_args_refuse(args, "train-documents", "needs text")
               : cs_args_refuse(args,
                                "target input order position-table least-area flip image-memory "
                                "size crop extra",
                                "needs images and --arch vit");
}

/* --epochs as steps. */
static cs_status count_steps(const cs_args *args, run *r)
{
    CS_AUTO(cs_examples) examples = {0};
    cs_train_options *o = &r->options;
    if (!cs_args_given(args, "epochs")) return CS_OK;
    const cs_examples_options wanted = {
        .objective = o->phases ? o->phases->objective : &o->task.objective,
        .objectives = r->phases.count,
        .length = o->data.length,
        .pack = o->data.pack,
        .end_token = r->tokenizer ? cs_tokenizer_special(r->tokenizer, CS_TOKEN_EOS) : -1};
    cs_status status = cs_examples_of(&r->corpus, &wanted, &examples);
    if (status == CS_OK) {
        double steps = ceil(cs_args_real(args, "epochs") * (double)examples.count /
                            ((double)o->data.batch * (double)o->data.accumulate));
        o->steps = steps > 1.0 ? (int64_t)fmin(steps, 1e12) : 1;
    }
    return status;
}

/* The step of the last checkpoint in DIR, -1 without. */
static int64_t last_checkpoint(const cs_args *args)
{
    int64_t last = -1, before = -1;
    if (cs_train_last(cs_args_text(args, "output"), &last, &before) != CS_OK) {
        cs_reason_clear();
        last = -1;
    }
    return last;
}

/* --keep-at and --budgets; the folders of budgets are the run's. */
static cs_status read_steps(cs_args *args, run *r)
{
    const char *keep = cs_args_text(args, "keep-at"), *budgets = cs_args_text(args, "budgets");
    CS_AUTO_FREE int64_t *steps = NULL;
    cs_status status = CS_OK;
    if (keep) {
        status = cs_parse_int_list(keep, "--keep-at", 1, UINT32_MAX,
                                   &r->options.intervals.keep.count, &r->keep);
        r->options.intervals.keep.step = r->keep;
    }
    if (status == CS_OK && budgets) {
        status = cs_parse_int_list(budgets, "--budgets", 1, UINT32_MAX, &r->budgets, &steps);
        r->budget = status == CS_OK ? cs_calloc(r->budgets, sizeof *r->budget) : NULL;
        if (status == CS_OK && !r->budget) status = CS_ERR_MEMORY;
    }
    for (int64_t i = 0; i < r->budgets && status == CS_OK; ++i) {
        r->budget[i].steps = steps[i];
        const char *folder = cs_args_format(args, "budget-%lld", (long long)steps[i]);
        status = folder ? cs_output_claim(args, folder) : CS_ERR_MEMORY;
    }
    return status;
}

/* A folder with checkpoints is a run's, to go on with. */
static cs_status claim(cs_args *args)
{
    if (cs_args_flag(args, "dry-run")) return CS_OK;
    if (!cs_args_given(args, "output")) return cs_fail(CS_ERR_USAGE, "train needs -o DIR");
    const int64_t last = last_checkpoint(args);
    if (last >= 0 && cs_args_flag(args, "resume")) {
        cs_output_takes_over(args);
    }
    const char *held = last < 0 ? "" : cs_args_format(args, "checkpoint-%lld", (long long)last);
    cs_status status = held ? cs_output_claim(args, held) : CS_ERR_MEMORY;
    if (status != CS_OK)
        return cs_blame(status, "give --resume to continue from the last checkpoint");
    return cs_output_claim(args, "log.csv model.safetensors codes.safetensors train.json "
                                 "losses.csv config.json tokenizer.json tokenizer_config.json "
                                 "preprocessor_config.json");
}

/* The effective mask ratios of the training side. */
static void note_masked(const cs_args *args, const run *r)
{
    const cs_train_options *o = &r->options;
    const int64_t phases = r->phases.count;
    for (int64_t i = 0; i < (phases > 0 ? phases : 1); ++i) {
        const cs_cooc_options build = {.objective =
                                           phases > 0 ? r->phases.objective[i] : o->task.objective,
                                       .max_length = o->data.length,
                                       .split = CS_SPLIT_TRAIN};
        if (o->data.pack) {
            cs_args_note_share_of_length(args, &build.objective, o->data.length);
        } else {
            cs_args_note_masked(args, &r->corpus, &build);
        }
    }
}

static cs_status prepare(cs_args *args, run *r)
{
    cs_status status = cs_args_is(args, "arch", "vit") ? cs_args_picture_recipe(args) : CS_OK;
    if (status == CS_OK) status = cs_args_train(args, &r->plan, &r->phases, &r->options);
    if (status == CS_OK) status = check_pictures(args, &r->of_pictures);
    if (status == CS_OK && (status = claim(args)) == CS_OK) status = read_steps(args, r);
    if (status == CS_OK) status = cs_args_plan_inputs(args, &r->plan);
    for (int64_t i = 0; i < r->phases.count && status == CS_OK; ++i) {
        status = cs_args_plan_inputs(args, &r->phases.file[i]);
    }
    const char *from = cs_args_text(args, "init-from");
    if (status == CS_OK && from) status = cs_args_model_inputs(args, from);
    if (status == CS_OK && (status = open_backend(args, &r->backend)) == CS_OK &&
        (status = r->of_pictures
                      ? read_pictures(args, r)
                      : cs_args_train_corpus(args, &r->corpus, &r->tokenizer)) == CS_OK &&
        (status = count_steps(args, r)) == CS_OK) {
        status = make_model(args, r);
    }
    if (status == CS_OK) note_masked(args, r);
    const int64_t steps = r->options.steps;
    for (int64_t i = 0; i < r->phases.count && status == CS_OK && steps > 0; ++i) {
        if (!cs_phases_reached(&r->phases, steps, i))
            cs_output_note(args, "phase %lld (%s) of --objective gets 0 of the %lld steps",
                           (long long)i + 1, cs_objective_name(r->phases.objective[i].kind),
                           (long long)steps);
    }
    return status;
}

/* Records the members that are known before the first step. */
static void describe(const cs_args *args, const run *r, cs_item *root)
{
    cs_item_take(root, "objective",
                 r->phases.count > 0 ? cs_phases_describe(&r->phases)
                                     : cs_objective_describe(&r->options.task.objective));
    cs_item_text(root, "loss_kind", cs_loss_name(r->options.loss));
    cs_item_text(root, "query_position",
                 cs_task_query_position(&r->options.task, &r->model.config));
    cs_item_text(root, "corpus", cs_args_text(args, "corpus"));
    cs_item_text(root, "arch", cs_arch_name(r->model.config.arch));
    cs_item_text(root, "device", r->backend->name);
    cs_item_int(root, "parameters", cs_params_trained(&r->model.params));
    cs_item_int(root, "vocabulary", r->model.config.shape.vocab);
    cs_item_int(root, "steps", r->options.steps);
}

static cs_status estimate(cs_args *args, run *r)
{
    cs_train_estimate e = {0};
    cs_status status = cs_train_dry_run(&r->model, &r->corpus, r->tokenizer, &r->options, &e);
    if (status != CS_OK) return status;
    cs_item *root = cs_output_root(args);
    describe(args, r, root);
    CS_ITEM_FIELDS(root, &e, sequences, too_short, tokens, bytes);
    cs_item_int(root, "held_out_sequences", e.held_out);
    cs_item_real(root, "flops_per_step", e.flops);
    cs_item_real(root, "seconds_per_step", e.step_seconds);
    cs_item_real(root, "seconds",
                 e.step_seconds *
                     (double)cs_train_budget_steps(&r->options, r->budgets, r->budget));
    return cs_output_record(args, "train", NULL);
}

static void put_result(cs_item *item, const cs_train_result *trained)
{
    CS_ITEM_FIELDS(item, trained, step, finished, tokens, skipped, empty_steps, loss, eval_loss,
                   unigram_loss, seconds);
    cs_item_real(item, "unigram_difference", trained->eval_loss - trained->unigram_loss);
    if (!isnan(trained->detect_loss)) {
        cs_item_real(item, "detect_loss", trained->detect_loss);
    }
}

static cs_status write_result(cs_args *args, const run *r, const cs_train_result *trained)
{
    static const cs_view view = {"{.,budgets[]}",
                                 "folder steps=step tokens loss eval_loss unigram_loss "
                                 "unigram_difference"};
    cs_item *root = cs_output_root(args);
    describe(args, r, root);
    put_result(root, trained);
    cs_item *budgets = r->budgets > 0 ? cs_item_array(root, "budgets") : NULL;
    for (int64_t i = 0; i < r->budgets; ++i) {
        cs_item *budget = cs_item_object(budgets, NULL);
        cs_item_int(budget, "steps", r->budget[i].steps);
        cs_item_take(budget, "folder", cs_format("budget-%lld", (long long)r->budget[i].steps));
        put_result(budget, &r->budget[i].result);
    }
    cs_status status =
        add_optimum(args, &r->images, &r->model.config, &r->options, trained->eval_loss, root);
    if (status == CS_OK) status = cs_output_csv(args, "losses.csv", &view);
    return status == CS_OK ? cs_output_record(args, "train", NULL) : status;
}

/* The manifest is there from the first step on, whatever ends the run: its checkpoints are of these
 * options. Files of a finished run are begun now, so that a failure removes what it wrote of them.
 */
static cs_status begin_files(void *ctx)
{
    static const char *const text[] = {"model.safetensors", "config.json", "tokenizer.json",
                                       "tokenizer_config.json", NULL};
    static const char *const images[] = {"model.safetensors", "config.json",
                                         "preprocessor_config.json", NULL};
    const run *r = ctx;
    cs_args *args = r->args;
    const char *const *file = r->of_pictures ? images : text;
    cs_status status = cs_output_start(args);
    for (; *file && status == CS_OK; ++file) {
        status = cs_output_path(args, *file, NULL);
    }
    return status;
}

/* Before the first step: the model, and a checkpoint of it with both moments of AdamW. */
static cs_status check_disk(const cs_args *args, const run *r)
{
    const double model = (double)cs_params_trained(&r->model.params) * sizeof(float);
    return last_checkpoint(args) >= 0
               ? CS_OK
               : cs_disk_check(cs_args_text(args, "output"), 4 * model,
                               "give -o DIR on a larger disk, or a smaller model",
                               "the model and one checkpoint");
}

static void note_empty(const cs_args *args, const cs_train_result *trained)
{
    if (trained->empty_steps > 0)
        cs_output_note(args, "%lld of %lld steps predicted nothing and changed nothing%s",
                       (long long)trained->empty_steps, (long long)trained->step,
                       isnan(trained->loss) ? "; the last is one of them, so it has no loss" : "");
}

static cs_status train(cs_args *args, run *r)
{
    cs_train_result result = {0};
    char reason[1024];
    r->options.begun = begin_files;
    r->args = args;
    r->options.begun_ctx = r;
    cs_status status = check_disk(args, r);
    if (status == CS_OK)
        status = cs_train_budgets(&r->model, &r->corpus, r->tokenizer, &r->options, r->budgets,
                                  r->budget, &result);
    if (status == CS_OK) status = cs_args_note_refused(args, r->backend);
    if (status != CS_OK && status != CS_ERR_CONVERGE) return status;
    (void)snprintf(reason, sizeof reason, "%s", cs_reason());
    cs_reason_clear();
    const cs_train_result *stopped = result.finished ? NULL : &result;
    int64_t steps = r->options.steps;
    for (int64_t i = 0; i < r->budgets && !stopped; ++i) {
        stopped = r->budget[i].result.finished ? NULL : &r->budget[i].result;
        steps = r->budget[i].steps;
    }
    if (stopped) cs_output_unfinished(args);
    if (status == CS_OK)
        cs_args_note_divergence(args, &r->options, r->model.config.shape.vocab, &result);
    note_empty(args, &result);
    if (status == CS_OK && stopped) {
        cs_output_note(args, "stopped after step %lld of %lld; give --resume to continue",
                       (long long)stopped->step, (long long)steps);
    }
    cs_status written = write_result(args, r, &result);
    return written == CS_OK && status != CS_OK ? cs_fail(status, "%s", reason) : written;
}

static cs_status run_train(cs_args *args)
{
    run r = {0};
    cs_status status = prepare(args, &r);
    if (status == CS_OK)
        status = cs_args_flag(args, "dry-run") ? estimate(args, &r) : train(args, &r);
    cs_model_free(&r.model);
    cs_backend_free(&r.backend);
    cs_tokenizer_free(&r.tokenizer);
    cs_codes_free(&r.codes);
    cs_free(r.order);
    cs_images_free(&r.images);
    cs_corpus_free(&r.corpus);
    cs_plan_file_free(&r.plan);
    cs_phases_free(&r.phases);
    CS_FREE_FIELDS(&r, keep, budget);
    return status;
}

static const cs_opt *const train_groups[] = {cs_group_corpus,          cs_group_roles,
                                             cs_group_train_objective, cs_group_plan,
                                             cs_group_plan_numbers,    cs_group_train_task,
                                             cs_group_train_model,     cs_group_train_pictures,
                                             cs_group_train_recipe,    NULL};

const cs_command cs_cmd_train = {
    .name = "train",
    .gpu = true,
    .help = &cs_help_train,
    .main = "corpus objective arch preset steps batch lr max-length device output",
    .groups = train_groups,
    .run = run_train,
    .without = "csv",
    .continues = "steps epochs cool-down budgets image-memory time-limit log-every eval-every "
                 "save-every keep-at",
};
