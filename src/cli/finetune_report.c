/* A metric's value and error are those of cli/predictions.h. `constant` is the score of the
 * training side's commonest class (mean value), which needs no text at all. */
#include "cli/finetune_report.h"

#include <string.h>

#include "base/mem.h"
#include "cli/groups.h"
#include "cli/output.h"
#include "io/json.h"

cs_judge cs_finetune_judge(const cs_finetune_task *task, const cs_metric_list *metrics,
                           int64_t seeds, uint64_t seed)
{
    return (cs_judge){.train = &task->train.text,
                      .test = &task->test.text,
                      .metrics = *metrics,
                      .seeds = seeds,
                      .seed = seed};
}

/* --- scores ------------------------------------------------------------------------------------*/

typedef struct {
    const cs_finetune_results *results;
    cs_judge judge;
    double *prediction, *constant; /* as the judge takes them; constant of one seed */
    double *scratch;
    cs_comparison other; /* where there is a rival */
    cs_table table;
    bool brief;
} report;

typedef struct {
    cs_metric metric;
    const double *of_seed; /* runs */
    cs_seed_score over;
    double constant;
} score;

static cs_status take_results(const cs_finetune_results *r, report *out)
{
    const int64_t n = r->task->test.text.count;
    out->results = r;
    out->judge = cs_finetune_judge(r->task, r->metrics, r->runs, r->run[0].seed);
    out->prediction = cs_alloc(r->runs * n, sizeof *out->prediction);
    out->constant = cs_alloc(n, sizeof *out->constant);
    out->scratch = cs_alloc(2 * r->runs, sizeof *out->scratch);
    if (!out->prediction || !out->constant || !out->scratch) {
        return CS_ERR_MEMORY;
    }
    for (int64_t k = 0; k < r->runs; ++k) {
        memcpy(out->prediction + k * n, r->run[k].predicted, sizeof(double) * (size_t)n);
    }
    for (int64_t i = 0; i < n; ++i) {
        out->constant[i] = cs_judge_constant(&out->judge);
    }
    return r->rival->file
               ? cs_compare(r->rival, &out->judge, CS_FINETUNE_LAYER, out->prediction, &out->other)
               : CS_OK;
}

static cs_status score_of(const report *r, cs_metric metric, score *out)
{
    const cs_judge *j = &r->judge;
    *out = (score){.metric = metric, .of_seed = r->scratch};
    cs_status status = cs_judge_score(j, metric, r->prediction, r->scratch, &out->over);
    return status == CS_OK ? cs_metric_of(metric, j->test->count, j->test->value, r->constant,
                                          j->train->classes, &out->constant)
                           : status;
}

/* --- the table ---------------------------------------------------------------------------------*/

#define SCORE_COLUMNS "low,high,coverage,constant,se,n"
#define COLUMNS "model,layer,metric,definition,value," SCORE_COLUMNS ",seed"
#define BRIEF_COLUMNS "metric,value," SCORE_COLUMNS /* for the eye: medians, in front of others */
#define BRIEF_AGAINST "seed," BRIEF_COLUMNS         /* "median" and "difference" */

static cs_status begin_row(report *r, const char *metric, const char *definition, double value)
{
    const cs_finetune_task *task = r->results->task;
    cs_table *t = &r->table;
    cs_status status = cs_table_row(t);
    if (status == CS_OK && (status = cs_table_text(t, "metric", metric)) == CS_OK &&
        (status = cs_table_int(t, "n", task->test.text.count)) == CS_OK) {
        status = cs_table_real(t, "value", value);
    }
    if (status == CS_OK && !r->brief &&
        (status = cs_table_text(t, "model", task->from.dir)) == CS_OK &&
        (status = cs_table_text(t, "layer", CS_FINETUNE_LAYER)) == CS_OK) {
        status = cs_table_text(t, "definition", definition);
    }
    return status;
}

/* seed: "median" or "difference". */
static cs_status add_row(report *r, const char *metric, const char *definition, const char *seed,
                         const cs_seed_score *v)
{
    cs_table *t = &r->table;
    cs_status status = begin_row(r, metric, definition, v->seeds.median);
    if (status == CS_OK && cs_table_column(t, "seed") >= 0) {
        status = cs_table_text(t, "seed", seed);
    }
    if (status == CS_OK && (status = cs_table_real(t, "low", v->seeds.low)) == CS_OK &&
        (status = cs_table_real(t, "high", v->seeds.high)) == CS_OK &&
        (status = cs_table_real(t, "coverage", v->seeds.coverage)) == CS_OK) {
        status = cs_table_real(t, "se", v->se);
    }
    return status;
}

static cs_status add_score(report *r, const score *s)
{
    const char *metric = cs_metric_name(s->metric), *definition = cs_metric_definition(s->metric);
    cs_status status = add_row(r, metric, definition, "median", &s->over);
    if (status == CS_OK) {
        status = cs_table_real(&r->table, "constant", s->constant);
    }
    for (int64_t i = 0; i < r->judge.seeds && status == CS_OK && !r->brief; ++i) {
        status = begin_row(r, metric, definition, s->of_seed[i]);
        if (status == CS_OK) {
            status = cs_table_int(&r->table, "seed", (int64_t)r->results->run[i].seed);
        }
    }
    return status;
}

static cs_status add_comparison(report *r, json_t *json)
{
    const cs_judge *j = &r->judge;
    cs_status status = CS_OK;
    for (int64_t m = 0; m < j->metrics.count && status == CS_OK; ++m) {
        status = add_row(r, cs_metric_name(j->metrics.metric[m]), cs_difference_definition,
                         "difference", &r->other.difference[m]);
    }
    if (status == CS_OK && r->other.mcnemar) {
        const cs_seed_score p = cs_comparison_first_p(&r->other);
        status = add_row(r, "mcnemar_p", cs_mcnemar_definition, "difference", &p);
    }
    return status == CS_OK ? cs_comparison_json(r->results->rival, j, &r->other, json) : status;
}

/* --- JSON --------------------------------------------------------------------------------------*/

static json_t *json_score(const report *r, const score *s)
{
    const cs_seed_summary *over = &s->over.seeds;
    return json_pack("{s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:I, s:o}", "name",
                     cs_metric_name(s->metric), "definition", cs_metric_definition(s->metric),
                     "value", cs_json_number(over->median), "low", cs_json_number(over->low),
                     "high", cs_json_number(over->high), "coverage", cs_json_number(over->coverage),
                     "se", cs_json_number(s->over.se), "constant", cs_json_number(s->constant), "n",
                     (json_int_t)r->judge.test->count, "of_seed",
                     cs_json_numbers(over->count, s->of_seed));
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

/* --- all of it ---------------------------------------------------------------------------------*/

static cs_status write_predictions(cs_args *args, const report *r)
{
    cs_table table = {0};
    cs_status status = cs_predictions_init(r->judge.seeds, &table);
    if (status == CS_OK && (status = cs_predictions_add(&r->judge, CS_FINETUNE_LAYER, r->prediction,
                                                        &table)) == CS_OK) {
        status = cs_predictions_write(args, &table);
    }
    cs_table_free(&table);
    return status;
}

static cs_status add_scores(report *r, json_t *json)
{
    json_t *scores = json_array();
    cs_status status = cs_json_set(json, "metrics", json_incref(scores));
    for (int64_t m = 0; m < r->judge.metrics.count && status == CS_OK; ++m) {
        score s;
        status = score_of(r, r->judge.metrics.metric[m], &s);
        if (status == CS_OK && (status = add_score(r, &s)) == CS_OK) {
            status = append(scores, json_score(r, &s));
        }
    }
    json_decref(scores);
    return status;
}

cs_status cs_finetune_report(cs_args *args, const cs_finetune_results *results)
{
    report r = {.brief = !cs_args_flag(args, "csv") && !cs_args_given(args, "output")};
    const char *brief = results->rival->file ? BRIEF_AGAINST : BRIEF_COLUMNS;
    json_t *json = json_head(results);
    cs_status status =
        json ? take_results(results, &r) : cs_fail(CS_ERR_MEMORY, "out of memory for the result");
    if (status == CS_OK && (status = cs_table_init(&r.table, r.brief ? brief : COLUMNS)) == CS_OK &&
        (status = add_scores(&r, json)) == CS_OK && results->rival->file) {
        status = add_comparison(&r, json);
    }
    if (status == CS_OK && (status = add_runs(results, json)) == CS_OK && results->task->dir) {
        status = write_predictions(args, &r);
    }
    if (status == CS_OK) {
        status = cs_output_result(args, "finetune", json, &r.table);
    }
    cs_comparison_free(&r.other);
    cs_table_free(&r.table);
    cs_free(r.prediction);
    cs_free(r.constant);
    cs_free(r.scratch);
    json_decref(json);
    return status;
}
