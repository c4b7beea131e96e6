/* cospec probe: linear probes on matrices of features, or on the states that a model has of
 * labelled texts. */
#include <string.h>

#include "analysis/text_features.h"
#include "base/mem.h"
#include "base/plugin.h"
#include "cli/commands.h"
#include "cli/groups.h"
#include "cli/model_text.h"
#include "cli/output.h"
#include "cli/probe_options.h"
#include "cli/probe_report.h"
#include "io/file.h"
#include "io/json.h"
#include "io/rows.h"

typedef struct {
    cs_args *args;
    cs_labelled_text train, test;
    cs_linear_probe_options fit;
    double *penalty;
    cs_probe_study study;
    cs_table table, predictions;
    cs_rival rival;
    json_t *list; /* an object a layer */
    int64_t unconverged;
} run;

/* --- before the work ----------------------------------------------------------------------- */

static cs_status open_tables(run *r)
{
    cs_status status = cs_output_claim(r->args, "probe.csv");
    if (status == CS_OK) {
        status = cs_table_init(&r->table, cs_probe_columns);
    }
    r->study.table = &r->table;
    if (status == CS_OK && cs_args_given(r->args, "output")) {
        status = cs_output_claim(r->args, "predictions.csv");
        if (status == CS_OK) {
            status = cs_predictions_init(r->study.judge.seeds, &r->predictions);
        }
        r->study.predictions = &r->predictions;
    }
    return status;
}

/* One class alone leaves nothing to tell: often the first lines of what is sorted by class. */
static cs_status want_classes(const run *r)
{
    const cs_labelled_text *t = &r->train;
    return t->classes != 1
               ? CS_OK
               : cs_fail(CS_ERR_INPUT,
                         "%s: all %lld training rows are of class '%s': a probe needs two "
                         "classes%s",
                         t->path, (long long)t->count, t->class_name[0],
                         cs_args_given(r->args, "limit")
                             ? "; --limit takes the first lines, --few examples of every class"
                             : "");
}

/* --- one layer -------------------------------------------------------------------------------- */

/* A least loss at an end of the grid may not be the least there is. */
static cs_status note_end(const run *r, const cs_probe_layer *l, bool largest)
{
    enum { LISTED = 8 };
    const cs_linear_probe *at = NULL;
    int64_t found = 0;
    char *seeds = cs_strdup("");
    for (int64_t s = 0; s < r->study.judge.seeds && seeds; ++s) {
        const cs_linear_probe *p = &l->probe[s];
        if (p->steps < 2 || p->chosen != (largest ? 0 : p->steps - 1)) {
            continue;
        }
        at = p;
        if (++found <= LISTED) {
            char *longer = cs_format("%s%s%llu", seeds, found > 1 ? ", " : "",
                                     (unsigned long long)r->study.judge.seed + (uint64_t)s);
            cs_free(seeds);
            seeds = longer;
        }
    }
    if (at && seeds) {
        cs_output_note(r->args,
                       "layer %s: the chosen penalty, %g, is the %s of the grid with %lld of %lld "
                       "seeds: %s%s",
                       l->layer, at->step[at->chosen].penalty, largest ? "largest" : "smallest",
                       (long long)found, (long long)r->study.judge.seeds, seeds,
                       found > LISTED ? ", ..." : "");
    }
    cs_status status = seeds ? CS_OK : CS_ERR_MEMORY;
    cs_free(seeds);
    return status;
}

static cs_status probe_seed(run *r, int64_t seed, const cs_rows *train, const cs_rows *test,
                            cs_probe_layer *l)
{
    const int64_t n = r->test.count;
    int64_t count = 0, *row = NULL;
    cs_linear_probe_options fit = r->fit;
    fit.seed = r->study.judge.seed + (uint64_t)seed;
    cs_status status = cs_few_shot(r->study.few, &r->train, fit.seed, &count, &row);
    status = cs_blame(status, "%s", status == CS_ERR_USAGE ? "--few" : r->train.path);
    if (status == CS_OK) {
        status = cs_linear_probe_fit(train, count, row, r->train.value, r->train.classes, &fit,
                                     &l->probe[seed]);
    }
    if (status == CS_OK) {
        r->unconverged += !l->probe[seed].converged;
        status =
            cs_linear_probe_predict(&l->probe[seed], test, fit.threads, l->prediction + seed * n);
    }
    if (status == CS_OK) {
        /* Of all training rows: few drawn evenly have no most frequent class. */
        const double guess = cs_judge_constant(&r->study.judge);
        for (int64_t i = 0; i < n; ++i) {
            l->baseline[seed * n + i] = guess;
        }
    }
    cs_free(row);
    return status;
}

static cs_status probe_layer(run *r, const char *name, const cs_rows *train, const cs_rows *test)
{
    const int64_t seeds = r->study.judge.seeds, n = r->test.count;
    cs_probe_layer l = {.layer = name, .features = train->cols};
    json_t *json = json_object();
    l.probe = cs_calloc(seeds, sizeof *l.probe);
    l.prediction = cs_alloc(seeds * n, sizeof *l.prediction);
    l.baseline = cs_alloc(seeds * n, sizeof *l.baseline);
    cs_status status =
        l.probe && l.prediction && l.baseline && json_array_append(r->list, json) == 0
            ? CS_OK
            : CS_ERR_MEMORY;
    for (int64_t s = 0; s < seeds && status == CS_OK; ++s) {
        status = probe_seed(r, s, train, test, &l);
    }
    if (status == CS_OK && (status = note_end(r, &l, true)) == CS_OK &&
        (status = note_end(r, &l, false)) == CS_OK) {
        status = cs_probe_report(&r->study, &l, json);
    }
    for (int64_t s = 0; s < seeds && l.probe; ++s) {
        cs_linear_probe_free(&l.probe[s]);
    }
    cs_free(l.probe);
    cs_free(l.prediction);
    cs_free(l.baseline);
    json_decref(json);
    return status;
}

/* --- matrices --------------------------------------------------------------------------------- */

static cs_status open_rows(run *r, int argument, cs_rows *out)
{
    const char *text = cs_args_positional(r->args, argument);
    cs_status status = cs_output_input_rows(r->args, text);
    return status == CS_OK ? cs_rows_open(text, out) : status;
}

static cs_status read_labels(run *r, const char *option, const cs_rows *rows,
                             const cs_labelled_text *classes_of, cs_labelled_text *out)
{
    const char *path = cs_args_text(r->args, option);
    if (!path) {
        return cs_fail(CS_ERR_USAGE, "--%s FILE is missing: the labels of %s", option, rows->name);
    }
    cs_status status = cs_output_input(r->args, path);
    if (status == CS_OK) {
        status = cs_label_file_read(path, cs_args_flag(r->args, "regression"), classes_of, out);
    }
    if (status == CS_OK && out->count != rows->rows) {
        status = cs_fail(CS_ERR_INPUT, "%s: %lld labels for the %lld rows of %s", path,
                         (long long)out->count, (long long)rows->rows, rows->name);
    }
    return status;
}

/* What a run takes: one standardised copy of the training rows and the runs of partial sums. */
static cs_status estimate(run *r, int64_t n, int64_t d, int64_t layers)
{
    const double k = r->train.classes > 0 ? (double)r->train.classes : 1.0,
                 cells = (double)n * (double)d;
    const int64_t fits = layers * r->study.judge.seeds *
                         ((r->fit.share > 0.0 ? 1 : r->fit.folds) + 1) *
                         (r->fit.penalties > 0 ? r->fit.penalties : 7);
    json_t *json =
        json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:o, s:o}", "n", (json_int_t)n, "n_test",
                  (json_int_t)r->test.count, "d", (json_int_t)d, "classes",
                  (json_int_t)r->train.classes, "layers", (json_int_t)layers, "fits",
                  (json_int_t)fits, "flops_an_evaluation", cs_json_number(4.0 * cells * k), "bytes",
                  cs_json_number(8.0 * (cells + 16.0 * (double)d * k)));
    cs_status status = json ? cs_output_result(r->args, "probe", json, NULL) : CS_ERR_MEMORY;
    json_decref(json);
    return status;
}

static bool dry(const run *r)
{
    return cs_args_flag(r->args, "dry-run");
}

static cs_status read_metrics(run *r)
{
    return cs_metric_list_parse(cs_args_text(r->args, "metric"), r->study.judge.train->classes,
                                &r->study.judge.metrics);
}

static cs_status probe_matrices(run *r)
{
    static const char *const of_texts[] = {"pair",        "layer",        "pooling", "pair-column",
                                           "text-column", "label-column", "limit",   "special",
                                           "max-length",  "batch"};
    cs_rows train = {0}, test = {0};
    cs_status status = CS_OK;
    for (size_t i = 0; i < sizeof of_texts / sizeof *of_texts; ++i) {
        if (cs_args_given(r->args, of_texts[i])) {
            return cs_fail(CS_ERR_USAGE, "--%s goes with a MODEL and texts", of_texts[i]);
        }
    }
    if (cs_device_is_cuda(cs_args_text(r->args, "device"))) {
        return cs_fail(CS_ERR_DEVICE, "--device cuda goes with a MODEL: probes run on the CPU");
    }
    if ((status = open_rows(r, 0, &train)) != CS_OK || (status = open_rows(r, 1, &test)) != CS_OK ||
        (status = read_labels(r, "labels", &train, NULL, &r->train)) != CS_OK ||
        (status = want_classes(r)) != CS_OK ||
        (status = read_labels(r, "test-labels", &test, &r->train, &r->test)) != CS_OK ||
        (status = read_metrics(r)) != CS_OK) {
        goto done;
    }
    if (test.cols != train.cols) {
        status = cs_fail(CS_ERR_INPUT, "%s: %lld columns, %s has %lld", test.name,
                         (long long)test.cols, train.name, (long long)train.cols);
        goto done;
    }
    r->study.model = cs_args_positional(r->args, 0);
    if (dry(r)) {
        status = estimate(r, train.rows, train.cols, 1);
    } else if ((status = cs_linear_probe_check(&test)) == CS_OK) { /* before the training */
        status = probe_layer(r, "-", &train, &test);
    }
done:
    cs_rows_close(&train);
    cs_rows_close(&test);
    return status;
}

/* --- texts ------------------------------------------------------------------------------------ */

static cs_status read_texts(run *r)
{
    cs_args *args = r->args;
    const int last = cs_args_positionals(args) - 1;
    const bool pair = cs_args_flag(args, "pair") || cs_args_given(args, "pair-column");
    const cs_labelled_options options = {
        .label_column = cs_args_int(args, "label-column"),
        .text_column = cs_args_int(args, "text-column"),
        .pair_column = pair ? cs_args_int(args, "pair-column") : 0,
        .regression = cs_args_flag(args, "regression"),
        .limit = cs_args_given(args, "limit") ? cs_args_int(args, "limit") : 0,
    };
    const char *train = cs_args_positional(args, 1), *test = cs_args_positional(args, last);
    if (cs_args_given(args, "labels") || cs_args_given(args, "test-labels")) {
        return cs_fail(CS_ERR_USAGE, "--labels goes with matrices: texts hold their own");
    }
    if (last == 1 && strcmp(train, "wordnet") != 0) {
        return cs_fail(CS_ERR_USAGE, "probe takes MODEL TRAIN TEST: '%s' has no split of its own",
                       train);
    }
    cs_status status = cs_labelled_text_read(train, &options, NULL, &r->train);
    if (status == CS_OK && (status = cs_output_input(args, r->train.path)) == CS_OK &&
        (status = want_classes(r)) == CS_OK &&
        (status = cs_labelled_text_read(test, &options, &r->train, &r->test)) == CS_OK) {
        status = cs_output_input(args, r->test.path);
    }
    return status;
}

static cs_status take_hidden(const run *r, const cs_model_text *m, int64_t **layer,
                             cs_hidden_options *o)
{
    const char *pooling = cs_args_text(r->args, "pooling");
    cs_around around = {0};
    *o = (cs_hidden_options){
        .pooling = strcmp(pooling, "mean") == 0    ? CS_POOL_MEAN
                   : strcmp(pooling, "first") == 0 ? CS_POOL_FIRST
                                                   : CS_POOL_LAST,
        .causal = cs_kind_is_causal(m->kind.kind),
        .max_length = cs_args_given(r->args, "max-length") ? cs_args_int(r->args, "max-length") : 0,
        .batch = cs_args_int(r->args, "batch"),
        .progress = cs_output_progress(r->args)};
    cs_status status = cs_args_layers(r->args, "layer", m->model.config.layers, &o->layers, layer);
    o->layer = *layer;
    if (status == CS_OK && !m->tokenizer) {
        status = cs_fail(CS_ERR_INPUT, "%s/tokenizer.json: not there, and texts need it", m->dir);
    }
    if (status == CS_OK && (status = cs_args_around(r->args, m, &around)) == CS_OK) {
        o->before = around.before;
        o->befores = around.befores;
        o->after = around.after;
        o->afters = around.afters;
    }
    return status;
}

static cs_status probe_states(run *r, cs_model_text *m, const cs_hidden_options *o)
{
    const int64_t d = cs_text_features_width(&m->model, &r->train);
    float *train = NULL, *test = NULL;
    cs_status status = cs_text_features(&m->model, m->tokenizer, &r->train, o, &train);
    if (status == CS_OK) {
        status = cs_text_features(&m->model, m->tokenizer, &r->test, o, &test);
    }
    for (int64_t l = 0; l < o->layers && status == CS_OK; ++l) {
        char *name = cs_format("%lld", (long long)o->layer[l]);
        cs_rows a =
            cs_rows_of_f32(r->train.count, d, train + l * r->train.count * d, r->train.path);
        cs_rows b = cs_rows_of_f32(r->test.count, d, test + l * r->test.count * d, r->test.path);
        status = name ? cs_blame(probe_layer(r, name, &a, &b), "layer %s", name) : CS_ERR_MEMORY;
        cs_free(name);
    }
    cs_free(train);
    cs_free(test);
    return status;
}

static cs_status probe_texts(run *r)
{
    cs_model_text m = {0};
    cs_hidden_options o = {0};
    int64_t *layer = NULL;
    r->study.model = cs_args_positional(r->args, 0);
    cs_status status = read_texts(r);
    if (status == CS_OK && (status = read_metrics(r)) == CS_OK &&
        (status = cs_args_model_open(r->args, r->study.model, &m)) == CS_OK &&
        (status = cs_model_text_has_states(&m)) == CS_OK &&
        (status = take_hidden(r, &m, &layer, &o)) == CS_OK) {
        status = dry(r) ? estimate(r, r->train.count, cs_text_features_width(&m.model, &r->train),
                                   o.layers)
                        : probe_states(r, &m, &o);
    }
    cs_free(layer);
    cs_model_text_free(&m);
    return status;
}

/* --- the command ------------------------------------------------------------------------------ */

/* One layer stands at the top of the object, several in a list. */
static cs_status report(run *r)
{
    const int last = cs_args_positionals(r->args) - 1;
    json_t *names = json_array(), *root = NULL;
    for (int64_t c = 0; c < r->train.classes && names; ++c) {
        (void)json_array_append_new(names, json_string(r->train.class_name[c]));
    }
    root = json_pack("{s:s, s:s, s:s, s:O}", "features", cs_args_positional(r->args, 0), "train",
                     cs_args_positional(r->args, last > 1), "test",
                     cs_args_positional(r->args, last), "class_names", names);
    cs_status status = root ? CS_OK : CS_ERR_MEMORY;
    if (status == CS_OK && json_array_size(r->list) == 1) {
        status = json_object_update(root, json_array_get(r->list, 0)) == 0 ? CS_OK : CS_ERR_MEMORY;
    } else if (status == CS_OK) {
        status = cs_json_set(root, "layers", json_incref(r->list));
    }
    if (status == CS_OK) {
        status = cs_output_result(r->args, "probe", root, &r->table);
    }
    json_decref(names);
    json_decref(root);
    if (status == CS_OK && r->unconverged > 0) {
        status = cs_fail(CS_ERR_CONVERGE,
                         "%lld of the probes stopped with a gradient above %g (gradient_norm); "
                         "more --max-iterations or a larger penalty may help",
                         (long long)r->unconverged, r->fit.tolerance);
    }
    return status;
}

static cs_status run_probe(cs_args *args)
{
    run r = {.args = args, .list = json_array()};
    const int given = cs_args_positionals(args);
    const bool model = given > 0 && cs_path_is_dir(cs_args_positional(args, 0));
    r.study.judge.train = &r.train;
    r.study.judge.test = &r.test;
    r.study.rival = &r.rival;
    cs_status status = r.list ? CS_OK : CS_ERR_MEMORY;
    if (status == CS_OK && (given < 2 || given > (model ? 3 : 2))) {
        status = given == 3 ? cs_fail(CS_ERR_USAGE, "%s: no directory of a model",
                                      cs_args_positional(args, 0))
                            : cs_fail(CS_ERR_USAGE, "probe takes TRAIN TEST, MODEL TRAIN TEST or "
                                                    "MODEL wordnet");
    }
    if (status == CS_OK && (status = cs_args_probe(args, &r.study, &r.fit, &r.penalty)) == CS_OK &&
        (status = cs_rival_open(args, &r.rival)) == CS_OK && (status = open_tables(&r)) == CS_OK &&
        (status = model ? probe_texts(&r) : probe_matrices(&r)) == CS_OK && !dry(&r) &&
        (!r.study.predictions || (status = cs_predictions_write(args, &r.predictions)) == CS_OK)) {
        status = report(&r);
    }
    cs_labelled_text_free(&r.train);
    cs_labelled_text_free(&r.test);
    cs_table_free(&r.table);
    cs_table_free(&r.predictions);
    cs_rival_free(&r.rival);
    cs_free(r.penalty);
    json_decref(r.list);
    return status;
}

const cs_command cs_cmd_probe = {
    .name = "probe",
    .summary = "Linear probes: what a linear function of frozen features tells of labels",
    .description =
        "TRAIN and TEST are matrices of features (FILE.npy, FILE.npz:MEMBER, "
        "FILE.safetensors:TENSOR) with --labels and --test-labels. Or MODEL is a directory of "
        "cospec train or of Hugging Face, and TRAIN and TEST are TSV files of a label and a text "
        "(or two, --pair) a line, whose features are the model's pooled states; TRAIN wordnet has "
        "a test side of its own.\n\n"
        "Classes are told by multinomial logistic regression on features standardised over the "
        "training examples (those that are constant are left out):\n\n"
        "  mean_i w_i [-log softmax(W z_i + b)_(y_i)] + (penalty / 2) |W|^2\n\n"
        "by L-BFGS; numbers by ridge regression in closed form. The penalty is the one of least "
        "mean loss on held-out training examples. Convergence is judged by the norm of the "
        "gradient, computed anew (gradient_norm): where it is above --tolerance the program says "
        "so and exits with 4.\n\n"
        "Values are medians over seeds. Two intervals are kept apart: se is the test-sample "
        "standard error of one probe (delete-block jackknife over test examples, the median of the "
        "seeds' errors), low and high are "
        "order statistics over seeds that cover the median with the chance coverage. Beside each "
        "score stands that of the majority class, or of the mean.\n\n"
        "With -o DIR: probe.csv, probe.json and predictions.csv (layer, example, truth, the "
        "prediction of each seed), which --against of another run compares with, example by "
        "example.",
    .positional = "TRAIN|MODEL TEST|TRAIN [TEST]",
    .groups = (const cs_opt *const[]){cs_group_probe, cs_group_against, cs_group_probe_texts, NULL},
    .examples =
        "# classes of texts from the states of a small model, in every layer\n"
        "cospec train --corpus verses.txt --objective masked --steps 5 --width 32 --layers 2 "
        "--batch 8 -o small\n"
        "cospec probe small labelled.tsv labelled.tsv --layer all -o probed\n"
        "# another pooling, compared with that run on the same examples\n"
        "cospec probe small labelled.tsv labelled.tsv --pooling last --against "
        "probed/predictions.csv\n"
        "# the same from states in files\n"
        "cospec features small labelled.tsv --layers last -o states\n"
        "cospec probe states/layer-2.npy states/layer-2.npy --labels states/labels.npy "
        "--test-labels states/labels.npy --json",
    .run = run_probe,
    .gpu = true,
};
