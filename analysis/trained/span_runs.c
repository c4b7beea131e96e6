#include "analysis/trained/span_runs.h"

#include <math.h>
#include <string.h>

#include "analysis/measures/answer_scores.h"
#include "base/auto.h"
#include "base/mem.h"
#include "io/file.h"
#include "io/json.h"
#include "stats/jackknife.h"

void cs_span_task_free(cs_span_task *task)
{
    cs_finetune_task_free(&task->run);
    cs_squad_free(&task->train);
    cs_squad_free(&task->test);
    cs_spans_free(&task->train_ids);
    cs_spans_free(&task->test_ids);
    *task = (cs_span_task){0};
}

/* --- scores ----------------------------------------------------------------------------------- */

/* Of questions that have an answer (1), that have none (0), or of all (-1). */
static const struct {
    const char *name, *definition;
    int answered;
    bool f1;
} METRIC[] = {
    {"exact", "share of questions whose normalised answer is correct", -1, false},
    {"f1",
     "mean over questions of 2 c / (p + g) with c words in common, for the best correct answer", -1,
     true},
    {"exact-answered", "exact of the questions that have an answer", 1, false},
    {"f1-answered", "f1 of the questions that have an answer", 1, true},
    {"exact-unanswerable", "share of the unanswerable questions that are predicted unanswerable", 0,
     false},
};
enum { METRICS = sizeof METRIC / sizeof *METRIC };

typedef struct {
    const cs_span_task *task;
    cs_pool pool;
    int64_t blocks;
    int32_t *block;           /* of each context */
    double *exact, *f1;       /* of each question */
    double *scratch[METRICS]; /* of cs_seed_score_made */
    float *logits;
    cs_span_answer *answer;
    const char **right; /* of a question */
} scorer;

static cs_status scorer_make(const cs_span_task *task, scorer *s)
{
    const cs_squad *q = &task->test;
    *s = (scorer){.task = task, .blocks = cs_metric_blocks(q->contexts)};
    const cs_texts *texts = &task->test_ids.texts;
    s->block = cs_pool_take(&s->pool, q->contexts, sizeof *s->block);
    s->exact = cs_pool_take(&s->pool, q->questions, sizeof *s->exact);
    s->f1 = cs_pool_take(&s->pool, q->questions, sizeof *s->f1);
    s->answer = cs_pool_take(&s->pool, q->questions, sizeof *s->answer);
    s->right = cs_pool_take(&s->pool, q->answers + 1, sizeof *s->right);
    s->logits = cs_pool_take(&s->pool, 2 * texts->start[texts->count], sizeof *s->logits);
    for (int m = 0; m < METRICS; ++m) {
        s->scratch[m] = cs_pool_take(&s->pool, cs_seed_score_work_size(task->seeds, q->contexts),
                                     sizeof *s->scratch[m]);
    }
    cs_status status = s->pool.status;
    return status == CS_OK ? cs_metric_deal(q->contexts, s->blocks, task->seed, s->block) : status;
}

/* The mean of a metric over its questions outside a block (-1: all); NaN: there are none. */
static double mean_of(const scorer *s, int metric, int64_t block)
{
    const cs_squad *squad = &s->task->test;
    double sum = 0;
    int64_t count = 0;
    for (int64_t i = 0; i < squad->questions; ++i) {
        const cs_squad_question *q = &squad->question[i];
        const int answered = METRIC[metric].answered;
        if (s->block[q->context] != block && (answered < 0 || answered == (q->answers > 0))) {
            sum += METRIC[metric].f1 ? s->f1[i] : s->exact[i];
            ++count;
        }
    }
    return count > 0 ? sum / (double)count : (double)NAN;
}

static void take_scores(scorer *s, int64_t run)
{
    const int64_t seeds = s->task->seeds;
    for (int m = 0; m < METRICS; ++m) {
        double *left_out = s->scratch[m] + 2 * seeds + run * s->blocks;
        s->scratch[m][run] = mean_of(s, m, -1);
        for (int64_t b = 0; b < s->blocks && s->blocks > 1; ++b) {
            left_out[b] = mean_of(s, m, b);
        }
        s->scratch[m][seeds + run] = cs_jackknife_error(s->blocks > 1 ? s->blocks : 0, left_out, 1);
    }
}

/* --- a run ------------------------------------------------------------------------------------ */

/* Scores every answer; the two files of the scorer, where there is a folder. */
static cs_status take_answers(scorer *s, const char *folder)
{
    const cs_squad *squad = &s->task->test;
    json_auto_t *texts = json_object(), *odds = json_object();
    cs_status status = texts && odds ? CS_OK : CS_ERR_MEMORY;
    for (int64_t i = 0; i < squad->questions && status == CS_OK; ++i) {
        const cs_squad_question *q = &squad->question[i];
        const cs_span_answer *a = &s->answer[i];
        CS_AUTO_FREE char *text =
            cs_format("%.*s", (int)(a->to - a->from), squad->context[q->context] + a->from);
        for (int64_t k = 0; k < q->answers; ++k) {
            s->right[k] = squad->answer[q->first + k].text;
        }
        status = text ? cs_answer_score(text, q->answers, s->right, &s->exact[i], &s->f1[i])
                      : CS_ERR_MEMORY;
        cs_json_put(&status, texts, q->id, json_string(text ? text : ""));
        cs_json_put(&status, odds, q->id, cs_json_number(a->null));
    }
    const char *const name[] = {"predictions.json", "null_odds.json"};
    for (int f = 0; f < 2 && folder && status == CS_OK; ++f) {
        CS_AUTO_FREE char *path = cs_path_join(folder, name[f]);
        status = path ? cs_json_write(path, f == 0 ? texts : odds) : CS_ERR_MEMORY;
    }
    return status;
}

static cs_status run_seed(scorer *s, int64_t run, const char *folder, cs_item *runs)
{
    const cs_span_task *t = s->task;
    const uint64_t seed = t->seed + (uint64_t)run;
    bool none = false;
    cs_finetune_options o = t->run.options;
    cs_finetune_result result = {0};
    CS_AUTO(cs_model) model = {0};
    double test_loss = 0;
    char stage[64];
    (void)snprintf(stage, sizeof stage, "steps of seed %llu", (unsigned long long)seed);
    o.seed = seed;
    o.dir = folder;
    o.stage = stage;
    for (int64_t i = 0; i < t->train.questions; ++i) {
        none = none || t->train.question[i].answers == 0;
    }
    cs_status status = cs_finetune_start(&t->run, seed, &model);
    if (status == CS_OK && o.epochs > 0)
        status = cs_finetune(&model, &t->train_ids.texts, NULL, 0, &o, &result);
    if (status == CS_OK)
        status = cs_finetune_rows(&model, &t->test_ids.texts, &o, s->logits, &test_loss);
    if (status == CS_OK) {
        cs_spans_answer(&t->test, &t->test_ids, s->logits, t->longest, none, t->threshold,
                        s->answer);
        status = take_answers(s, folder);
    }
    if (status == CS_OK) {
        take_scores(s, run);
        cs_item *item = cs_item_object(runs, NULL);
        cs_item_int(item, "seed", (int64_t)seed);
        CS_ITEM_FIELDS(item, &result, steps, skipped);
        cs_item_real(item, "train_loss", result.loss);
        cs_item_real(item, "test_loss", test_loss);
    }
    if (status == CS_OK && folder && t->run.save_model)
        status = cs_finetune_keep(&t->run, &model, folder);
    return status;
}

static cs_status run_all(scorer *s, cs_item *root)
{
    const cs_span_task *t = s->task;
    cs_item *runs = cs_item_array(root, "runs");
    cs_status status = CS_OK;
    for (int64_t i = 0; i < t->seeds && status == CS_OK; ++i) {
        const unsigned long long seed = t->seed + (uint64_t)i;
        CS_AUTO_FREE char *folder =
            t->run.dir ? cs_format("%s/runs/seed-%llu", t->run.dir, seed) : NULL;
        status = folder || !t->run.dir ? CS_OK : CS_ERR_MEMORY;
        if (status == CS_OK && folder) status = cs_dir_make(folder);
        if (status == CS_OK) status = cs_blame(run_seed(s, i, folder, runs), "seed %llu", seed);
    }
    return status;
}

cs_status cs_span_study(const cs_span_task *task, cs_item *root)
{
    scorer s = {0};
    cs_status status = scorer_make(task, &s);
    cs_item *list = cs_item_array(root, "metrics");
    if (status == CS_OK) status = run_all(&s, root);
    for (int m = 0; m < METRICS && status == CS_OK; ++m) {
        cs_seed_score v = {0};
        if (isnan(s.scratch[m][0])) {
            continue; /* no such question */
        }
        const bool error = !isnan(s.scratch[m][task->seeds]);
        status = cs_seed_score_made(task->seeds, error ? s.blocks : 0, s.scratch[m], &v);
        if (status == CS_OK) cs_seed_score_add(list, METRIC[m].name, METRIC[m].definition, &v);
    }
    cs_pool_free(&s.pool);
    return status;
}
