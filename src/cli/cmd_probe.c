/* cospec probe: linear probes on matrices of features, or on the states that a model has of
 * labelled texts. */

#include "analysis/trained/probe_few.h"
#include "analysis/trained/probe_runs.h"
#include "analysis/vision/patch_runs.h"
#include "analysis/vision/picture_features.h"
#include "analysis/vision/probe_choice.h"
#include "base/auto.h"
#include "base/plugin.h"
#include "cli/argument_kind.h"
#include "cli/commands.h"
#include "cli/groups.h"
#include "cli/in_memory.h"
#include "cli/model_options.h"
#include "cli/output.h"
#include "cli/results.h"
#include "image/patches.h"
#include "io/file.h"

enum { MOST_PIXEL_VALUES = 4096 }; /* of an image, without --baselines yes */

/* --- the report of a layer -------------------------------------------------------------------- */

/* `probe` is what predicts: "linear" is the layer's, the baseline and the difference have their
 * own. Only the first has rows about its fits. */
#define COLUMNS                                                                                    \
    "model=/features layer=^layer|^^layer few=^few|^^few probe=^~probe metric=name definition "    \
    "value se low=seed_interval.low high=seed_interval.high coverage=seed_interval.coverage "      \
    "seeds=~seeds|^seeds|^^seeds n=^n|^^n n_test=^n_test|^^n_test d=^d|^^d "                       \
    "classes=^classes|^^classes "                                                                  \
    "penalty=^penalty gradient_norm=^gradient_norm iterations=^iterations"
#define ROWS "metrics[],baseline.metrics[],targets.metrics[],against.metrics[],against.~first[]"

static const cs_view one_layer = {"{" ROWS "}", COLUMNS},
                     several_layers = {"layers[].{" ROWS "}", COLUMNS};

/* The same without each block of test examples. */
#define BLOCK_ROWS                                                                                 \
    "metrics[].~left_out[],baseline.metrics[].~left_out[],targets.metrics[].~left_out[]"
#define BLOCK_COLUMNS                                                                              \
    "model=/features layer=^^layer|^^^layer probe=^^~probe metric=^name block=# value=. "          \
    "partition=/~partition"

static const cs_view one_blocks = {"{" BLOCK_ROWS "}", BLOCK_COLUMNS},
                     several_blocks = {"layers[].{" BLOCK_ROWS "}", BLOCK_COLUMNS};

typedef struct {
    cs_args *args;
    cs_labelled_text train, test;
    double *penalty;
    int64_t *unit;      /* of --groups */
    int32_t *test_unit; /* of --test-groups */
    cs_probe_study study;
    cs_few_read few; /* of the training side */
    cs_table predictions;
    bool dry, keeps_predictions, heads; /* heads: of patches */
    cs_images image[2];                 /* of heads: train, test */
    cs_patch_study patches;
    cs_patch_predictions answers; /* of heads */
    int64_t each;                 /* rows of an example: of heads its patches, else 1 */
    cs_picture_pooling pooling;   /* of heads patches, apart */
    cs_reference reference;
    cs_item *root;
    cs_item *list;       /* the layers; NULL: there is one, which is the result itself */
    cs_item *candidates; /* of --pooling auto */
    int64_t unconverged;
} run;

/* --- before the work ----------------------------------------------------------------------- */

/* Records the members that precede the layers. */
static void begin_result(run *r, int64_t layers)
{
    const int last = cs_args_positionals(r->args) - 1;
    cs_item_text(r->root, "features", cs_args_positional(r->args, 0));
    cs_item_text(r->root, "train", cs_args_positional(r->args, last > 1));
    cs_item_text(r->root, "test", cs_args_positional(r->args, last));
    cs_item *names = cs_item_array(r->root, "class_names");
    for (int64_t c = 0; c < r->train.classes; ++c) {
        cs_item_text(names, NULL, r->train.class_name[c]);
    }
    cs_item_int(r->root, "examples_read", r->few.count);
    r->list = layers > 1 ? cs_item_array(r->root, "layers") : NULL;
}

/* --- one layer -------------------------------------------------------------------------------- */

static cs_status probe_layer(run *r, const char *name, const cs_rows *train, const cs_rows *test)
{
    cs_probe_layer l = {0};
    cs_item *item = r->list ? cs_item_object(r->list, NULL) : r->root;
    if (r->heads) {
        return cs_patch_layer_record(&r->patches, name, train, test, item, &r->unconverged);
    }
    cs_status status = cs_probe_layer_of(&r->study, name, train, test, &l);
    if (status == CS_OK) {
        status = cs_probe_layer_record(&r->study, &r->reference, &l, item);
    }
    if (status == CS_OK && r->keeps_predictions)
        status = cs_predictions_add(&r->study.scoring, name, l.prediction, &r->predictions);
    r->unconverged += l.unconverged;
    cs_probe_layer_free(&r->study, &l);
    return status;
}

/* --- matrices --------------------------------------------------------------------------------- */

static cs_status read_labels(run *r, const char *option, const cs_rows *rows,
                             const cs_labelled_text *classes_of, cs_labelled_text *out)
{
    const char *path = cs_args_text(r->args, option);
    if (!path) {
        return cs_fail(CS_ERR_USAGE, "--%s FILE is missing: give the labels of %s", option,
                       rows->name);
    }
    const cs_array *array = cs_args_array(r->args, option);
    const bool regression = cs_args_flag(r->args, "regression");
    cs_status status = cs_output_input(r->args, path);
    if (status == CS_OK)
        status = array ? cs_labels_of_array(path, array, regression, classes_of, out)
                       : cs_label_file_read(path, regression, classes_of, out);
    if (status == CS_OK && out->count != rows->rows)
        status = cs_fail(CS_ERR_INPUT, "%s: %lld labels, but %lld rows in %s", path,
                         (long long)out->count, (long long)rows->rows, rows->name);
    return status;
}

/* Memory and time of a run: one standardised copy of the training rows and the runs of partial
 * sums. */
static void estimate(run *r, int64_t n, int64_t d, int64_t layers)
{
    const cs_linear_probe_options *fit = &r->study.fit;
    const int64_t classes = r->heads ? r->patches.test.classes : r->train.classes;
    const double k = classes > 0 ? (double)classes : 1.0, cells = (double)n * (double)d;
    const int64_t fits = layers * r->study.scoring.seeds *
                         ((fit->share > 0.0 ? 1 : fit->folds) + 1) *
                         (fit->penalties > 0 ? fit->penalties : 7);
    cs_item_int(r->root, "n", n);
    cs_item_int(r->root, "n_test", r->test.count);
    cs_item_int(r->root, "d", d);
    cs_item_int(r->root, "classes", classes);
    cs_item_int(r->root, "layers", layers);
    cs_item_int(r->root, "fits", fits);
    cs_item_real(r->root, "flops_an_evaluation", 4.0 * cells * k);
    cs_item_real(r->root, "bytes", 8.0 * (cells + 16.0 * (double)d * k));
}

/* --groups and --test-groups. */
static cs_status read_groups(run *r, const cs_rows *train, const cs_rows *test)
{
    cs_scoring *scoring = &r->study.scoring;
    CS_AUTO_FREE int32_t *group = NULL;
    int64_t groups = INT32_MAX;
    scoring->units = INT32_MAX;
    cs_status status = cs_args_group_blocks(r->args, "groups", train->rows, &group, &groups);
    if (status == CS_OK && group && !(r->unit = cs_alloc(train->rows, sizeof *r->unit)))
        status = CS_ERR_MEMORY;
    for (int64_t i = 0; i < train->rows && r->unit; ++i) {
        r->unit[i] = group[i];
    }
    if (status == CS_OK && group && groups < 2)
        status = cs_fail(CS_ERR_INPUT, "%s: all rows are of one group, so none can be held out",
                         cs_args_text(r->args, "groups"));
    if (status == CS_OK)
        status = cs_args_group_blocks(r->args, "test-groups", test->rows, &r->test_unit,
                                      &scoring->units);
    r->study.fit.unit = r->unit;
    scoring->unit = r->test_unit;
    return status;
}

static cs_status probe_matrices(run *r)
{
    CS_AUTO_BY(cs_rows_close, cs_rows) train = {0}, test = {0};
    const cs_opt *const of_texts[] = {cs_group_probe_texts, cs_group_labelled, cs_group_attention,
                                      cs_group_stack};
    cs_status status = CS_OK;
    for (size_t i = 0; i < sizeof of_texts / sizeof *of_texts; ++i) {
        const char *given = cs_args_given_of(r->args, of_texts[i]);
        if (given) {
            return cs_fail(CS_ERR_USAGE, "--%s needs a MODEL and texts", given);
        }
    }
    if (cs_device_is_cuda(cs_args_text(r->args, "device"))) {
        return cs_fail(CS_ERR_DEVICE, "--device cuda needs a MODEL: probes run on the CPU");
    }
    if ((status = cs_output_open_rows(r->args, cs_args_positional(r->args, 0), &train)) != CS_OK ||
        (status = cs_output_open_rows(r->args, cs_args_positional(r->args, 1), &test)) != CS_OK ||
        (status = read_labels(r, "labels", &train, NULL, &r->train)) != CS_OK ||
        (status = cs_labelled_check(&r->train, 0)) != CS_OK ||
        (status = read_labels(r, "test-labels", &test, &r->train, &r->test)) != CS_OK ||
        (status = cs_args_metrics(r->args, r->train.classes, &r->study.scoring.metrics)) != CS_OK) {
        return status;
    }
    if (test.cols != train.cols) {
        return cs_fail(CS_ERR_INPUT, "%s has %lld columns, but %s has %lld", test.name,
                       (long long)test.cols, train.name, (long long)train.cols);
    }
    if ((status = read_groups(r, &train, &test)) != CS_OK) return status;
    if (r->dry) {
        estimate(r, train.rows, train.cols, 1);
        return CS_OK;
    }
    status = cs_linear_probe_check(&test); /* before the training */
    if (status == CS_OK) status = cs_few_read_of(&r->study, &r->few);
    begin_result(r, 1);
    return status == CS_OK ? probe_layer(r, "-", &train, &test) : status;
}

/* --- texts ------------------------------------------------------------------------------------ */

static cs_status read_texts(run *r)
{
    cs_args *args = r->args;
    const int64_t limit = cs_args_int_or(args, "limit", 0);
    cs_labelled_text side[2] = {{0}};
    if (cs_args_given(args, "labels") || cs_args_given(args, "test-labels")) {
        return cs_fail(CS_ERR_USAGE, "--labels needs matrices: texts hold their own");
    }
    cs_status status = cs_args_labelled(args, (int64_t[2]){limit, limit}, side);
    r->train = side[0];
    r->test = side[1];
    return status;
}

static int64_t columns(const run *r, const cs_model_text *m)
{
    return cs_args_flag(r->args, "tokens") ? cs_tokenizer_vocab(m->tokenizer)
                                           : cs_text_features_width(&m->model, &r->train);
}

static cs_status features_of(const run *r, cs_model_text *m, const cs_labelled_text *texts,
                             const cs_hidden_options *o, float **out)
{
    return cs_args_flag(r->args, "tokens")
               ? cs_text_frequencies(m->tokenizer, texts, out)
               : cs_text_features(&m->model, m->tokenizer, texts, o, out);
}

static cs_status features_of_few(const run *r, cs_model_text *m, const cs_hidden_options *o,
                                 float **out)
{
    cs_labelled_text few = {0};
    cs_status status = cs_few_texts(&r->few, &r->train, &few);
    if (status == CS_OK) status = features_of(r, m, &few, o, out);
    cs_few_texts_free(&few);
    return status == CS_OK
               ? cs_few_spread(&r->few, r->train.count, cs_hidden_planes(o), columns(r, m), out)
               : status;
}

/* A layer of features of both sides, `d` columns a row. */
static cs_status probe_floats(run *r, const char *name, int64_t d, const float *train,
                              const float *test)
{
    cs_rows a = cs_rows_of_f32(r->train.count * r->each, d, train, r->train.path),
            b = cs_rows_of_f32(r->test.count * r->each, d, test, r->test.path);
    return cs_blame(probe_layer(r, name, &a, &b), "layer %s", name);
}

static cs_status probe_states(run *r, cs_model_text *m, const cs_hidden_options *o)
{
    const int64_t d = columns(r, m), layers = cs_hidden_planes(o);
    CS_AUTO_FREE float *train = NULL, *test = NULL;
    cs_status status = features_of_few(r, m, o, &train);
    if (status == CS_OK) status = features_of(r, m, &r->test, o, &test);
    for (int64_t l = 0; l < layers && status == CS_OK; ++l) {
        const char *name = cs_args_flag(r->args, "tokens") ? "tokens"
                           : l >= o->layers
                               ? cs_pooling_name((cs_pooling)(CS_POOL_MEAN + l - o->layers))
                               : cs_args_format(r->args, "%lld", (long long)o->layer[l]);
        status = name ? probe_floats(r, name, d, train + l * r->train.count * d,
                                     test + l * r->test.count * d)
                      : CS_ERR_MEMORY;
    }
    return status;
}

/* Probes the requested layers of a model's states of pictures, or the best; `name` NULL: named by
 * their numbers. */
static cs_status probe_patches(run *r, cs_model *model, const cs_corpus patches[2],
                               cs_hidden_options o, const char *name)
{
    cs_probe_choice choice = {.pooling = r->pooling};
    if (choice.pooling == CS_PICTURE_AUTO) {
        cs_probe_choosing of = {&r->train, r->study.few, &o, r->study.fit};
        of.fit.seed = r->study.scoring.seed;
        cs_status status =
            cs_probe_choose(&of, name ? name : "model", model, &patches[0], r->candidates, &choice);
        if (status != CS_OK) return status;
        cs_output_note(r->args, "%s: layer %lld, %s", name ? name : "model",
                       (long long)choice.layer, choice.pooling_name);
        o.layer = &choice.layer;
        o.layers = 1;
    }
    const int64_t d = cs_picture_width(&model->config, choice.pooling) / r->each;
    float *side[2] = {NULL, NULL};
    cs_status status = CS_OK;
    CS_AUTO(cs_corpus) few = {0};
    const bool all = r->few.count == r->train.count;
    if (!all) status = cs_corpus_select(&patches[0], r->few.keep, &few);
    for (int i = 0; i < 2 && status == CS_OK; ++i) {
        status = cs_picture_features(model, i == 0 && !all ? &few : &patches[i], &o, choice.pooling,
                                     &side[i]);
    }
    if (status == CS_OK)
        status = cs_few_spread(&r->few, r->train.count, o.layers, r->each * d, &side[0]);
    for (int64_t l = 0; l < o.layers && status == CS_OK; ++l) {
        const char *layer = name ? name : cs_args_format(r->args, "%lld", (long long)o.layer[l]);
        status = layer ? probe_floats(r, layer, d, side[0] + l * r->train.count * r->each * d,
                                      side[1] + l * r->test.count * r->each * d)
                       : CS_ERR_MEMORY;
    }
    cs_free(side[0]);
    cs_free(side[1]);
    return status;
}

/* The pixels, or what the codes that a model reads instead stand for; of heads along rows. */
static cs_status probe_pixels(run *r, const cs_model *model, const cs_corpus patches[2])
{
    float *made[2] = {NULL, NULL};
    cs_corpus plane[2] = {{0}};
    CS_AUTO_FREE int32_t *order = NULL;
    const bool codes = patches[0].real_width == 0, later = patches[0].vectors;
    cs_status status = cs_model_order(&model->config, &order);
    for (int i = 0; i < 2 && status == CS_OK && (codes || r->heads || later); ++i) {
        status = codes   ? cs_codes_values(model->codes, &patches[i], order, &made[i])
                 : later ? cs_picture_pixels(&patches[i], i == 0 ? r->few.keep : NULL,
                                             cs_args_threads(r->args), &made[i])
                         : cs_images_patches(&r->image[i], model->config.picture.patch, NULL, NULL,
                                             0, &plane[i]);
    }
    const cs_corpus *pixels = r->heads ? plane : patches;
    if (status == CS_OK)
        status =
            probe_floats(r, codes ? "codes" : "pixels", cs_picture_values(model, patches, r->heads),
                         made[0] ? made[0] : pixels[0].real, made[1] ? made[1] : pixels[1].real);
    for (int i = 0; i < 2; ++i) {
        cs_free(made[i]);
        cs_corpus_free(&plane[i]);
    }
    return status;
}

/* The baselines of a model's states of pictures: the states of its network before training, and the
 * pixels. */
static cs_status probe_baselines(run *r, const cs_model_text *m, const cs_corpus patches[2],
                                 cs_hidden_options o, bool pixels)
{
    const int64_t last = m->model.config.shape.layers;
    const bool chosen = r->pooling == CS_PICTURE_AUTO;
    CS_AUTO(cs_model) fresh = {0};
    cs_status status = cs_model_init(&m->model.config, m->backend, false, &fresh);
    if (status == CS_OK) status = cs_model_randomise(&fresh, r->study.scoring.seed);
    o.layer = chosen ? o.layer : &last;
    o.layers = chosen ? o.layers : 1;
    if (status == CS_OK) status = probe_patches(r, &fresh, patches, o, "untrained");
    return status == CS_OK && pixels ? probe_pixels(r, &m->model, patches) : status;
}

/* The targets of --head, and the pictures as the model reads them. */
static cs_status read_heads(run *r, const cs_model *model, const int64_t limit[2],
                            cs_corpus patches[2])
{
    cs_labelled_text *side[2] = {&r->train, &r->test};
    cs_status status = cs_args_refuse(r->args, "metric against pooling max-length",
                                      "cannot be combined with --head");
    if (status == CS_OK) status = cs_args_picture_sides(r->args, model, limit, r->image);
    for (int i = 0; i < 2 && status == CS_OK; ++i) {
        const cs_images *m = &r->image[i];
        const cs_model_config *c = &model->config;
        status = cs_model_config_sees(c, m->name, m->height, m->width, m->channels); /* masks */
        if (status == CS_OK) status = cs_args_model_pictures(r->args, model, m, &patches[i]);
        *side[i] = (cs_labelled_text){.path = cs_strdup(m->name), .count = m->count};
        side[i]->value = cs_calloc(m->count, sizeof *side[i]->value);
        status = status == CS_OK && !(side[i]->path && side[i]->value) ? CS_ERR_MEMORY : status;
    }
    r->each = status == CS_OK ? patches[0].doc_ptr[1] : 1;
    r->patches = (cs_patch_study){.few = r->study.few,
                                  .most = cs_args_int(r->args, "places"),
                                  .seeds = r->study.scoring.seeds,
                                  .seed = r->study.scoring.seed,
                                  .fit = r->study.fit};
    const cs_patch_task task =
        cs_args_is(r->args, "head", "detection") ? CS_HEAD_DETECTION : CS_HEAD_SEGMENTATION;
    return status == CS_OK
               ? cs_patch_study_targets(r->image, model->config.picture.patch, task, &r->patches)
               : status;
}

static cs_status probe_pictures(run *r)
{
    CS_AUTO(cs_model_text) m = {0};
    cs_corpus patches[2] = {{0}};
    cs_labelled_text side[2] = {{0}};
    const bool one = r->pooling == CS_PICTURE_AUTO;
    cs_hidden_options o = {.pooling = CS_POOL_MEAN};
    const int64_t most = cs_args_int_or(r->args, "limit", 0), limit[2] = {most, most};
    cs_status status = cs_args_refuse(r->args, "poolings", "needs texts");
    if (status == CS_OK) status = cs_args_model_open(r->args, cs_args_positional(r->args, 0), &m);
    if (status == CS_OK && r->heads) {
        status = read_heads(r, &m.model, limit, patches);
    } else if (status == CS_OK) {
        status = cs_args_labelled_patches(r->args, &m.model, limit, side, patches);
        r->train = side[0];
        r->test = side[1];
        if (status == CS_OK)
            status = cs_args_metrics(r->args, r->train.classes, &r->study.scoring.metrics);
    }
    if (status == CS_OK) status = cs_few_read_of(&r->study, &r->few);
    if (status == CS_OK) status = cs_args_hidden(r->args, &m, "layer", &o);
    if (status == CS_OK && r->dry) {
        const int64_t rows = r->heads ? r->train.count * r->patches.train.places : r->train.count;
        estimate(r, r->heads && rows > r->patches.most ? r->patches.most : rows,
                 cs_picture_width(&m.model.config, r->pooling) / r->each, o.layers);
    } else if (status == CS_OK) {
        const bool baselines = !cs_args_is(r->args, "baselines", "no");
        const int64_t values = cs_picture_values(&m.model, patches, r->heads);
        const bool pixels =
            baselines && (values <= MOST_PIXEL_VALUES || cs_args_is(r->args, "baselines", "yes"));
        const int64_t layers = (one ? 1 : o.layers) + baselines + pixels;
        if (baselines && !pixels)
            cs_output_note(r->args,
                           "pixels of %lld values an image are not probed (--baselines yes)",
                           (long long)values);
        begin_result(r, layers);
        r->candidates = one ? cs_item_array(r->root, "candidates") : NULL;
        r->patches.kept = r->heads && cs_args_given(r->args, "output") ? &r->answers : NULL;
        if (r->patches.kept)
            status = cs_patch_predictions_make(&r->patches.test, layers, &r->answers);
        if (status == CS_OK) status = probe_patches(r, &m.model, patches, o, NULL);
        if (status == CS_OK && baselines) status = probe_baselines(r, &m, patches, o, pixels);
    }
    cs_corpus_free(&patches[0]);
    cs_corpus_free(&patches[1]);
    return status;
}

static cs_status probe_texts(run *r)
{
    CS_AUTO(cs_model_text) m = {0};
    cs_hidden_options o = {.poolings = cs_args_flag(r->args, "poolings")};
    o.pooling = (cs_pooling)(CS_POOL_MEAN + cs_args_choice(r->args, "pooling"));
    cs_status status = cs_args_refuse(r->args, "head places baselines", "needs images");
    if (status == CS_OK && o.pooling > CS_POOL_LAST)
        status =
            cs_fail(CS_ERR_USAGE, "--pooling %s needs images", cs_args_text(r->args, "pooling"));
    if (status == CS_OK) status = read_texts(r);
    if (status == CS_OK)
        status = cs_args_metrics(r->args, r->train.classes, &r->study.scoring.metrics);
    if (status == CS_OK) status = cs_few_read_of(&r->study, &r->few);
    if (status == CS_OK) status = cs_args_model_open(r->args, cs_args_positional(r->args, 0), &m);
    if (status == CS_OK) status = cs_model_text_has_states(&m);
    if (status == CS_OK) status = cs_model_text_has_tokenizer(&m);
    if (status == CS_OK) status = cs_args_hidden(r->args, &m, "layer", &o);
    if (status == CS_OK && cs_args_flag(r->args, "tokens"))
        status =
            cs_args_refuse(r->args, "layer stack poolings", "cannot be combined with --tokens");
    if (status == CS_OK && r->dry) {
        estimate(r, r->train.count, columns(r, &m), cs_hidden_planes(&o));
    } else if (status == CS_OK) {
        begin_result(r, cs_hidden_planes(&o));
        status = probe_states(r, &m, &o);
    }
    return status;
}

/* --- the command ------------------------------------------------------------------------------ */

static cs_status report(run *r)
{
    const cs_view *view = r->dry ? NULL : r->list ? &several_layers : &one_layer;
    char partition[33];
    const char *sheet = NULL;
    cs_status status = r->keeps_predictions ? cs_output_predictions(r->args, &r->predictions)
                       : r->patches.kept    ? cs_output_predictions(r->args, &r->answers.table)
                                            : CS_OK;
    if (status == CS_OK && r->patches.kept)
        status = cs_output_path(r->args, "predictions.png", &sheet);
    if (sheet && status == CS_OK) status = cs_png_write(sheet, &r->answers.cells.picture);
    if (status == CS_OK && !r->dry) status = cs_scoring_partition(&r->study.scoring, partition);
    if (status == CS_OK && !r->dry) {
        cs_item_text(r->root, "~partition", partition);
        status =
            cs_output_csv(r->args, "probe-blocks.csv", r->list ? &several_blocks : &one_blocks);
    }
    if (status == CS_OK) status = cs_output_record(r->args, "probe", view);
    if (status == CS_OK && r->unconverged > 0) {
        status = cs_fail(CS_ERR_CONVERGE,
                         "%lld of the probes stopped with a gradient above %g (gradient_norm); "
                         "give more --max-iterations or a larger penalty",
                         (long long)r->unconverged, r->study.fit.tolerance);
    }
    return status;
}

/* Texts, where one of the arguments is a model or text. */
static cs_status check_arguments(const cs_args *args, bool *model)
{
    static const char *const labels[] = {"labels", "test-labels"};
    const int given = cs_args_positionals(args);
    const char *first = given > 0 ? cs_args_positional(args, 0) : "";
    const bool folder = cs_path_is_dir(first);
    *model = folder || given == 3;
    for (int i = 0; i < given; ++i) {
        const cs_path_kind is = cs_path_kind_of(cs_args_positional(args, i));
        *model = *model || is == CS_IS_MODEL || is == CS_IS_CORPUS;
    }
    if (given < 2 || given > 3) {
        return cs_fail(CS_ERR_USAGE,
                       "probe needs the arguments TRAIN TEST, MODEL TRAIN TEST or MODEL TRAIN");
    }
    cs_status status = CS_OK;
    for (int i = 0; i < 2 && !folder && status == CS_OK; ++i) {
        const char *path = cs_args_text(args, labels[i]);
        status = path ? cs_want_labels(labels[i], path) : CS_OK;
    }
    if (status != CS_OK || !*model) return status;
    if (cs_path_kind_of(first) == CS_IS_MATRIX && given == 2 &&
        cs_path_kind_of(cs_args_positional(args, 1)) == CS_IS_CORPUS) {
        return cs_fail(CS_ERR_USAGE,
                       "%s is a matrix, but %s is a corpus; give two matrices (with --labels, "
                       "--test-labels), or a model and texts",
                       first, cs_args_positional(args, 1));
    }
    return cs_require_kind(args, CS_ERR_INPUT, first, CS_IS_MODEL);
}

/* Of pictures the best states, whose probe is wide: a fifth held out once costs what one fold would, and
 * the least penalties more than all others. */
static cs_status suppose_best(const run *r)
{
    const bool open = !r->heads && !cs_args_given(r->args, "layer");
    cs_status status = open ? cs_args_suppose(r->args, "pooling", "auto") : CS_OK;
    if (status != CS_OK || !cs_args_is(r->args, "pooling", "auto")) return status;
    status = cs_args_suppose(r->args, "layer", "all");
    if (status == CS_OK) status = cs_args_suppose(r->args, "penalties", "0.1,0.01,1e-3,1e-4");
    if (status == CS_OK && !cs_args_given(r->args, "folds"))
        status = cs_args_suppose(r->args, "validation-share", "0.2");
    return status == CS_OK ? cs_args_suppose(r->args, "tolerance", "1e-4") : status;
}

static cs_status run_probe(cs_args *args)
{
    if (cs_args_given(args, "tasks")) return cs_args_tasks(args);
    bool model = false;
    run r = {.args = args,
             .root = cs_output_root(args),
             .dry = cs_args_flag(args, "dry-run"),
             .heads = !cs_args_is(args, "head", "class"),
             .each = 1};
    r.study.scoring.train = &r.train;
    r.study.scoring.test = &r.test;
    cs_status status = check_arguments(args, &model);
    if (status == CS_OK) status = cs_args_metrics_check(args);
    if (status == CS_OK && model)
        status = cs_args_refuse(args, "groups test-groups", "needs matrices of features");
    bool pictures = false;
    if (status == CS_OK && model) status = cs_images_are(cs_args_positional(args, 1), &pictures);
    if (pictures) status = suppose_best(&r);
    r.pooling = r.heads ? CS_PICTURE_PATCHES : (cs_picture_pooling)cs_args_choice(args, "pooling");
    if (status == CS_OK) status = cs_args_probe(args, &r.study, &r.penalty);
    if (status == CS_OK) status = cs_args_against(args, &r.reference);
    r.keeps_predictions = cs_args_given(args, "output") && !r.dry && !r.heads;
    if (status == CS_OK && r.keeps_predictions)
        status = cs_predictions_init(r.study.scoring.seeds, &r.predictions);
    if (status == CS_OK)
        status = pictures ? probe_pictures(&r) : model ? probe_texts(&r) : probe_matrices(&r);
    if (status == CS_OK) status = report(&r);
    cs_labelled_text_free(&r.train);
    cs_labelled_text_free(&r.test);
    cs_few_read_free(&r.few);
    cs_table_free(&r.predictions);
    cs_reference_free(&r.reference);
    cs_patch_predictions_free(&r.answers);
    cs_patch_study_free(&r.patches);
    cs_images_free(&r.image[0]);
    cs_images_free(&r.image[1]);
    cs_free(r.penalty);
    cs_free(r.unit);
    cs_free(r.test_unit);
    return status;
}

const cs_command cs_cmd_probe = {
    .name = "probe",
    .help = &cs_help_probe,
    .positional = "TRAIN|MODEL [TEST|TRAIN] [TEST]",
    .main = "labels test-labels layer pooling few seeds penalties tasks against output",
    .groups = (const cs_opt *const[]){cs_group_probe, cs_group_against, cs_group_probe_texts,
                                      cs_group_stack, cs_group_labelled, cs_group_roles,
                                      cs_group_attention, cs_group_tasks, NULL},
    .run = run_probe,
    .files = "probe.json probe.csv probe-blocks.csv predictions.csv predictions.png",
    .without = "metric",
    .gpu = true,
    .shown = "task layer probe metric value se low high seeds n",
};
