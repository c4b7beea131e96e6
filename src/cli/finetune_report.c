/* A metric's value is the median over seeds. Its test-sample error is that of the run whose value
 * is nearest the median (the first of equal ones): the two sources of error stay apart. `constant`
 * is the score of the training side's commonest class (mean value), which needs no text at all. */
#include "cli/finetune_report.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "cli/groups.h"
#include "cli/output.h"
#include "io/json.h"

/* --- metrics -----------------------------------------------------------------------------------*/

static cs_status add_metric(const char *name, int64_t classes, cs_metric_list *list)
{
    cs_metric metric = CS_METRIC_ACCURACY;
    cs_status status = cs_metric_by_name(name, &metric);
    if (status != CS_OK) {
        return status;
    }
    if (cs_metric_of_classes(metric) != (classes > 0)) {
        return cs_fail(CS_ERR_USAGE, "--metric %s is for %s", name,
                       classes > 0 ? "regression (--regression)" : "classification");
    }
    if (metric == CS_METRIC_F1 && classes != 2) {
        return cs_fail(CS_ERR_USAGE, "--metric f1 is of two classes, not %lld: f1-macro",
                       (long long)classes);
    }
    for (int i = 0; i < list->count; ++i) {
        if (list->metric[i] == metric) {
            return cs_fail(CS_ERR_USAGE, "--metric names %s twice", name);
        }
    }
    list->metric[list->count++] = metric;
    return CS_OK;
}

cs_status cs_metric_list_parse(const char *text, int64_t classes, cs_metric_list *out)
{
    const char *names = strcmp(text, "auto") != 0 ? text
                        : classes == 0            ? "pearson,spearman,mse"
                        : classes == 2            ? "accuracy,f1,matthews"
                                                  : "accuracy,f1-macro,matthews";
    cs_metric_list list = {0};
    cs_status status = CS_OK;
    while (status == CS_OK) {
        size_t length = strcspn(names, ",");
        char *name = cs_format("%.*s", (int)length, names);
        status = name ? add_metric(name, classes, &list) : CS_ERR_MEMORY;
        cs_free(name);
        if (names[length] == '\0') {
            break;
        }
        names += length + 1;
    }
    if (status == CS_OK) {
        *out = list;
    }
    return status;
}

/* --- scores ------------------------------------------------------------------------------------*/

typedef struct {
    cs_metric metric;
    double *of_seed; /* runs */
    cs_seed_summary seeds;
    int64_t median; /* the run nearest it */
    double se, constant;
} score;

/* The commonest class, the first of equal ones; the mean value. */
static double constant_of(const cs_labelled_text *t)
{
    double sum = 0;
    int64_t best = 0, most = -1;
    for (int64_t i = 0; i < t->count; ++i) {
        sum += t->value[i];
    }
    for (int64_t c = 0; c < t->classes; ++c) {
        int64_t count = 0;
        for (int64_t i = 0; i < t->count; ++i) {
            count += (int64_t)t->value[i] == c;
        }
        best = count > most ? c : best;
        most = count > most ? count : most;
    }
    return t->classes > 0 ? (double)best : sum / (double)t->count;
}

static cs_status score_constant(const cs_finetune_results *r, score *s)
{
    const cs_labelled_text *test = &r->task->test.text;
    double *guess = cs_alloc(test->count, sizeof *guess), value = constant_of(&r->task->train.text);
    if (!guess) {
        return CS_ERR_MEMORY;
    }
    for (int64_t i = 0; i < test->count; ++i) {
        guess[i] = value;
    }
    cs_status status = cs_metric_of(s->metric, test->count, test->value, guess,
                                    r->task->train.text.classes, &s->constant);
    cs_free(guess);
    return status;
}

static cs_status score_of(const cs_finetune_results *r, uint64_t seed, score *s)
{
    const cs_labelled_text *test = &r->task->test.text;
    int64_t classes = r->task->train.text.classes;
    cs_status status = CS_OK;
    s->of_seed = cs_alloc(r->runs, sizeof *s->of_seed);
    if (!s->of_seed) {
        return CS_ERR_MEMORY;
    }
    for (int64_t i = 0; i < r->runs && status == CS_OK; ++i) {
        status = cs_metric_of(s->metric, test->count, test->value, r->run[i].predicted, classes,
                              &s->of_seed[i]);
    }
    if (status == CS_OK) {
        status = cs_seed_summary_of(r->runs, s->of_seed, &s->seeds);
    }
    for (int64_t i = 0; i < r->runs && status == CS_OK; ++i) {
        double here = fabs(s->of_seed[i] - s->seeds.median);
        s->median = here < fabs(s->of_seed[s->median] - s->seeds.median) ? i : s->median;
    }
    if (status == CS_OK) {
        status = cs_metric_error(s->metric, test->count, test->value, r->run[s->median].predicted,
                                 classes, 0, seed, &s->se);
    }
    return status == CS_OK ? score_constant(r, s) : status;
}

/* --- the table ---------------------------------------------------------------------------------*/

#define COLUMNS "model,layer,metric,definition,value,low,high,coverage,constant,se,n,seed"
#define BRIEF_COLUMNS "metric,value,low,high,coverage,constant,se,n" /* for the eye: medians */

static bool is_brief(const cs_table *table)
{
    return cs_table_column(table, "seed") < 0;
}

static cs_status begin_row(const cs_finetune_results *r, const score *s, double value,
                           cs_table *table)
{
    cs_status status = cs_table_row(table);
    if (status == CS_OK &&
        (status = cs_table_text(table, "metric", cs_metric_name(s->metric))) == CS_OK &&
        (status = cs_table_int(table, "n", r->task->test.text.count)) == CS_OK) {
        status = cs_table_real(table, "value", value);
    }
    if (status == CS_OK && !is_brief(table) &&
        (status = cs_table_text(table, "model", r->task->from.dir)) == CS_OK &&
        (status = cs_table_text(table, "layer", "all")) == CS_OK) {
        status = cs_table_text(table, "definition", cs_metric_definition(s->metric));
    }
    return status;
}

static cs_status add_rows(const cs_finetune_results *r, const score *s, cs_table *table)
{
    cs_status status = begin_row(r, s, s->seeds.median, table);
    if (status == CS_OK && !is_brief(table)) {
        status = cs_table_text(table, "seed", "median");
    }
    if (status == CS_OK && (status = cs_table_real(table, "low", s->seeds.low)) == CS_OK &&
        (status = cs_table_real(table, "high", s->seeds.high)) == CS_OK &&
        (status = cs_table_real(table, "coverage", s->seeds.coverage)) == CS_OK &&
        (status = cs_table_real(table, "constant", s->constant)) == CS_OK) {
        status = cs_table_real(table, "se", s->se);
    }
    for (int64_t i = 0; i < r->runs && status == CS_OK && !is_brief(table); ++i) {
        status = begin_row(r, s, s->of_seed[i], table);
        if (status == CS_OK) {
            status = cs_table_int(table, "seed", (int64_t)r->run[i].seed);
        }
    }
    return status;
}

/* --- JSON --------------------------------------------------------------------------------------*/

static json_t *json_score(const cs_finetune_results *r, const score *s)
{
    return json_pack("{s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:I, s:I, s:o}", "name",
                     cs_metric_name(s->metric), "definition", cs_metric_definition(s->metric),
                     "value", cs_json_number(s->seeds.median), "low", cs_json_number(s->seeds.low),
                     "high", cs_json_number(s->seeds.high), "coverage",
                     cs_json_number(s->seeds.coverage), "se", cs_json_number(s->se), "constant",
                     cs_json_number(s->constant), "n", (json_int_t)r->task->test.text.count,
                     "median_seed", (json_int_t)r->run[s->median].seed, "of_seed",
                     cs_json_numbers(r->runs, s->of_seed));
}

static cs_status append(json_t *list, json_t *item)
{
    return item && json_array_append_new(list, item) == 0
               ? CS_OK
               : cs_fail(CS_ERR_MEMORY, "out of memory for the result");
}

static json_t *json_head(const cs_finetune_results *r)
{
    const cs_finetune_task *t = r->task;
    json_t *json = json_pack(
        "{s:s, s:s, s:s, s:s, s:I, s:s, s:s, s:s, s:b, s:I, s:I, s:I, s:I, s:I, s:o}", "model",
        t->from.dir, "train", t->train.source, "test", t->test.source, "task",
        t->train.text.classes > 0 ? "classification" : "regression", "classes",
        (json_int_t)t->train.text.classes, "init", t->fresh ? "random" : "pretrained", "few",
        t->few, "pooling", cs_readout_name(t->config.readout), "causal", (int)t->options.causal,
        "n", (json_int_t)t->test.text.count, "n_train",
        r->runs > 0 ? (json_int_t)r->run[0].examples : (json_int_t)t->train.text.count, "longest",
        (json_int_t)t->train.ids.longest, "truncated_train", (json_int_t)t->train.ids.truncated,
        "truncated_test", (json_int_t)t->test.ids.truncated, "learning_rate",
        cs_json_number(r->run[0].rate));
    return json;
}

static cs_status add_runs(const cs_finetune_results *r, json_t *json)
{
    json_t *runs = json_array(), *trials = json_array();
    cs_status status = runs && trials ? CS_OK : cs_fail(CS_ERR_MEMORY, "out of memory");
    for (int64_t i = 0; i < r->runs && status == CS_OK; ++i) {
        const cs_finetune_run *run = &r->run[i];
        status =
            append(runs, json_pack("{s:I, s:I, s:I, s:I, s:o, s:o}", "seed", (json_int_t)run->seed,
                                   "examples", (json_int_t)run->examples, "steps",
                                   (json_int_t)run->steps, "skipped", (json_int_t)run->skipped,
                                   "train_loss", cs_json_number(run->train_loss), "test_loss",
                                   cs_json_number(run->test_loss)));
    }
    for (int64_t i = 0; i < r->trials && status == CS_OK; ++i) {
        status = append(trials, json_pack("{s:o, s:s, s:o, s:o}", "learning_rate",
                                          cs_json_number(r->trial[i].rate), "metric",
                                          cs_metric_name(r->metrics->metric[0]), "value",
                                          cs_json_number(r->trial[i].score), "loss",
                                          cs_json_number(r->trial[i].loss)));
    }
    if (status == CS_OK && (status = cs_json_set(json, "runs", json_incref(runs))) == CS_OK &&
        r->trials > 0) {
        status = cs_json_set(json, "trials", json_incref(trials));
    }
    json_decref(runs);
    json_decref(trials);
    return status;
}

/* --- predictions -------------------------------------------------------------------------------*/

static cs_status put_value(const cs_finetune_results *r, cs_table *table, const char *column,
                           double value)
{
    const cs_labelled_text *t = &r->task->train.text;
    return t->classes > 0 ? cs_table_text(table, column, t->class_name[(int64_t)value])
                          : cs_table_real(table, column, value);
}

/* "layer,example,truth,seed_1,...": as cospec probe writes and compares them. */
static char *prediction_columns(int64_t runs)
{
    char *text = cs_strdup("layer,example,truth");
    for (int64_t k = 1; k <= runs && text; ++k) {
        char *longer = cs_format("%s,seed_%lld", text, (long long)k);
        cs_free(text);
        text = longer;
    }
    return text;
}

static cs_status add_predictions(const cs_finetune_results *r, int64_t example, cs_table *table)
{
    cs_status status = cs_table_row(table);
    if (status == CS_OK && (status = cs_table_text(table, "layer", "all")) == CS_OK &&
        (status = cs_table_int(table, "example", example)) == CS_OK) {
        status = put_value(r, table, "truth", r->task->test.text.value[example]);
    }
    for (int64_t k = 0; k < r->runs && status == CS_OK; ++k) {
        status = put_value(r, table, table->name[3 + k], r->run[k].predicted[example]);
    }
    return status;
}

static cs_status write_predictions(cs_args *args, const cs_finetune_results *r)
{
    cs_table table = {0};
    char *path = NULL, *columns = prediction_columns(r->runs);
    cs_status status = columns ? cs_table_init(&table, columns) : CS_ERR_MEMORY;
    for (int64_t i = 0; i < r->task->test.text.count && status == CS_OK; ++i) {
        status = add_predictions(r, i, &table);
    }
    if (status == CS_OK && (status = cs_output_path(args, "predictions.csv", &path)) == CS_OK) {
        status = cs_table_write_csv(&table, path);
    }
    cs_table_free(&table);
    cs_free(columns);
    cs_free(path);
    return status;
}

cs_status cs_finetune_report(cs_args *args, const cs_finetune_results *results)
{
    json_t *json = json_head(results), *scores = json_array();
    cs_table table = {0};
    bool brief = !cs_args_flag(args, "csv") && !cs_args_given(args, "output");
    cs_status status = json && scores ? cs_table_init(&table, brief ? BRIEF_COLUMNS : COLUMNS)
                                      : cs_fail(CS_ERR_MEMORY, "out of memory for the result");
    for (int i = 0; i < results->metrics->count && status == CS_OK; ++i) {
        score s = {.metric = results->metrics->metric[i]};
        status = score_of(results, cs_args_seed(args), &s);
        if (status == CS_OK && (status = add_rows(results, &s, &table)) == CS_OK) {
            status = append(scores, json_score(results, &s));
        }
        cs_free(s.of_seed);
    }
    if (status == CS_OK && (status = cs_json_set(json, "metrics", json_incref(scores))) == CS_OK &&
        (status = add_runs(results, json)) == CS_OK && results->task->dir) {
        status = write_predictions(args, results);
    }
    if (status == CS_OK) {
        status = cs_output_result(args, "finetune", json, &table);
    }
    cs_table_free(&table);
    json_decref(scores);
    json_decref(json);
    return status;
}
