/* The record of fine-tuning runs. */
#include <string.h>

#include "analysis/trained/finetune_runs.h"
#include "base/auto.h"
#include "base/mem.h"
#include "base/vector_ops.h"

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
