/* Scores of tasks, read from the tables of their runs, and their averages. */
#include "analysis/trained/task_scores.h"

#include <math.h>
#include <string.h>

#include "base/auto.h"
#include "base/hash.h"

/* --- the scores of a task ----------------------------------------------------------------------*/

static const char *cell(const cs_table *t, int64_t row, const char *column)
{
    const int c = cs_table_column(t, column);
    return c >= 0 ? t->cell[row * t->columns + c] : "";
}

static double number_in(const cs_table *t, int64_t row, const char *column)
{
    const char *text = cell(t, row, column);
    return text[0] ? strtod(text, NULL) : NAN;
}

static bool is_of(const cs_table *t, int64_t row, const char *layer)
{
    return strcmp(cell(t, row, "layer"), layer) == 0;
}

/* Over seeds, of what was fitted: neither a baseline nor one seed. */
static bool is_score(const cs_table *t, int64_t row)
{
    return strcmp(cell(t, row, "probe"), "linear") == 0 ||
           strcmp(cell(t, row, "seed"), "median") == 0;
}

/* The score of the commonest class or of the mean; a probe has it in a separate row. */
static double constant_of(const cs_table *t, int64_t row)
{
    const char *layer = cell(t, row, "layer");
    for (int64_t r = 0; r < t->rows && cs_table_column(t, "constant") < 0; ++r) {
        if (!is_score(t, r) && is_of(t, r, layer) &&
            strcmp(cell(t, r, "metric"), cell(t, row, "metric")) == 0) {
            return number_in(t, r, "value");
        }
    }
    return number_in(t, row, "constant");
}

typedef struct {
    double value, se;
    int64_t blocks;     /* of the jackknife over test examples */
    double *left_out;   /* blocks: the value without each */
    char partition[33]; /* by which examples were dealt to them */
} score;

/* The value without each block, from the rows of the metric in X-blocks.csv. */
static cs_status take_blocks(const cs_table *t, const char *layer, const char *metric,
                             cs_pool *pool, score *s)
{
    s->left_out = cs_pool_take(pool, t->rows, sizeof *s->left_out);
    for (int64_t r = 0; r < t->rows && s->left_out; ++r) {
        if (is_score(t, r) && is_of(t, r, layer) && strcmp(cell(t, r, "metric"), metric) == 0) {
            const double x = number_in(t, r, "value");
            s->left_out[s->blocks++] = isnan(x) ? s->value : x;
            (void)snprintf(s->partition, sizeof s->partition, "%s", cell(t, r, "partition"));
        }
    }
    return pool->status;
}

static cs_status add_score(const cs_table *t, int64_t row, const cs_table *blocks,
                           const cs_labelled_task *task, cs_pool *pool, cs_item *metrics,
                           score out[2])
{
    const char *metric = cell(t, row, "metric");
    const bool counts[2] = {strcmp(metric, cs_metric_name(task->look_ahead)) == 0,
                            strcmp(metric, cs_metric_name(task->mae_lm)) == 0};
    score s = {.value = number_in(t, row, "value"), .se = number_in(t, row, "se")};
    cs_status status = take_blocks(blocks, cell(t, row, "layer"), metric, pool, &s);
    if (status != CS_OK) return status;
    cs_item *m = cs_item_object(metrics, NULL);
    cs_item_text(m, "name", metric);
    cs_item_text(m, "definition", cell(t, row, "definition"));
    CS_ITEM_FIELDS(m, &s, value, se);
    cs_item_real(m, "low", number_in(t, row, "low"));
    cs_item_real(m, "high", number_in(t, row, "high"));
    cs_item_real(m, "constant", constant_of(t, row));
    cs_item_text(m, "counts_in",
                 counts[0] && counts[1] ? "look-ahead mae-lm"
                 : counts[0]            ? "look-ahead"
                 : counts[1]            ? "mae-lm"
                                        : NULL);
    cs_item_reals(m, "~left_out", s.blocks, s.left_out);
    cs_item_text(m, "~partition", s.partition);
    for (int i = 0; i < 2; ++i) {
        if (counts[i]) {
            out[i] = s;
        }
    }
    return CS_OK;
}

/* layer NULL: there is one. */
static cs_status add_scores(const cs_labelled_task *task, const cs_task_tables *tables,
                            const char *layer, cs_pool *pool, cs_item *tasks, score out[2])
{
    const cs_table *t = &tables->scores;
    cs_status status = CS_OK;
    out[0] = out[1] = (score){.value = NAN};
    cs_item *item = cs_item_object(tasks, NULL);
    cs_item_text(item, "task", task->name);
    if (layer) cs_item_text(item, "layer", layer);
    cs_item_text(item, "train", task->train);
    cs_item_text(item, "test", task->test ? task->test : task->train);
    cs_item_text(item, "~seed", "median");
    cs_item *metrics = cs_item_array(item, "metrics");
    for (int64_t r = 0; r < t->rows && status == CS_OK; ++r) {
        if (is_score(t, r) && (!layer || is_of(t, r, layer)))
            status = add_score(t, r, &tables->blocks, task, pool, metrics, out);
    }
    for (int i = 0; i < 2 && status == CS_OK; ++i) {
        const cs_metric wanted = i == 0 ? task->look_ahead : task->mae_lm;
        if (isnan(out[i].value))
            status = cs_fail(CS_ERR_INPUT, "task %s has no %s", task->name, cs_metric_name(wanted));
    }
    return status;
}

/* --- averages ----------------------------------------------------------------------------------*/

/* How many test sets a task's training side has: each of them counts as a share of one task. */
static double test_sets(const cs_task_list *list, int64_t task)
{
    double same = 0.0;
    for (int64_t i = 0; i < list->count; ++i) {
        same += strcmp(list->task[i].train, list->task[task].train) == 0;
    }
    return same;
}

/* Adds w times what task i varies by without each of its blocks to `left_out`, B numbers: scaled so
 * that the jackknife's variance of the B, (B-1)/B sum_b, is that of the task's own B_i <= B. The map is
 * linear: a difference of two averages has the blocks of the difference. */
static void add_variation(const score *s, double w, int64_t most, double *left_out)
{
    double mean = 0.0;
    for (int64_t b = 0; b < s->blocks; ++b) {
        mean += s->left_out[b] / (double)s->blocks;
    }
    const double own = (double)(s->blocks - 1) / (double)s->blocks,
                 all = (double)(most - 1) / (double)most;
    for (int64_t b = 0; b < s->blocks && s->blocks > 1; ++b) {
        left_out[b] += w * (s->left_out[b] - mean) * sqrt(own / all);
    }
}

static cs_status add_average(const cs_task_list *list, const score *of, bool by_task,
                             const char *layer, cs_pool *pool, cs_item *averages)
{
    double sum = 0.0, weights = 0.0, variance = 0.0;
    int64_t blocks = 0;
    char hex[33];
    cs_hasher hasher = {0};
    cs_status status = cs_hasher_make(0, &hasher);
    if (status != CS_OK) return status;
    for (int64_t i = 0; i < list->count; ++i) {
        const double w = by_task ? 1.0 / test_sets(list, i) : 1.0;
        const score *s = &of[2 * i + by_task];
        sum += w * s->value;
        variance += w * w * s->se * s->se;
        weights += w;
        blocks = s->blocks > blocks ? s->blocks : blocks;
        cs_hasher_add(&hasher, s->partition, strlen(s->partition));
    }
    cs_hash_hex(cs_hasher_value(&hasher), hex);
    cs_hasher_free(&hasher);
    double *left_out = cs_pool_take(pool, blocks, sizeof *left_out);
    if (!left_out) return CS_ERR_MEMORY;
    for (int64_t b = 0; b < blocks; ++b) {
        left_out[b] = sum / weights;
    }
    for (int64_t i = 0; i < list->count; ++i) {
        const double w = by_task ? 1.0 / test_sets(list, i) : 1.0;
        add_variation(&of[2 * i + by_task], w / weights, blocks, left_out);
    }
    cs_item *a = cs_item_object(averages, NULL);
    cs_item_text(a, "task", "average");
    if (layer) cs_item_text(a, "layer", layer);
    cs_item_text(a, "name", by_task ? "mae-lm" : "look-ahead");
    cs_item_text(a, "definition",
                 by_task ? "mean over tasks (MAE-LM, Table 1): accuracy of MRPC and QQP, Spearman "
                           "of STS-B, Matthews of CoLA"
                         : "mean over test sets (LA, Table 2): F1 of MRPC and QQP, Pearson of "
                           "STS-B, Matthews of CoLA");
    cs_item_real(a, "value", sum / weights);
    cs_item_real(a, "se", sqrt(variance) / weights);
    cs_item_real(a, "n", weights);
    cs_item_text(a, "~seed", "median");
    cs_item_reals(a, "~left_out", blocks, left_out);
    cs_item_text(a, "~partition", hex);
    return CS_OK;
}

static cs_status record_layer(const cs_task_list *list, const cs_task_tables *tables,
                              const char *layer, cs_item *tasks, cs_item *averages)
{
    CS_AUTO(cs_pool) pool = {0};
    score *of = cs_pool_take(&pool, 2 * list->count, sizeof *of);
    cs_status status = pool.status;
    for (int64_t i = 0; i < list->count && status == CS_OK; ++i) {
        status = add_scores(&list->task[i], &tables[i], layer, &pool, tasks, of + 2 * i);
    }
    if (status == CS_OK) status = add_average(list, of, false, layer, &pool, averages);
    return status == CS_OK ? add_average(list, of, true, layer, &pool, averages) : status;
}

cs_status cs_task_scores_record(const cs_task_list *list, const cs_task_tables *tables,
                                cs_item *root, bool *layers)
{
    cs_item *tasks = cs_item_array(root, "tasks"), *averages = cs_item_array(root, "averages");
    const cs_table *t = &tables[0].scores; /* rows of a layer follow one another */
    *layers = t->rows > 0 && !is_of(t, t->rows - 1, cell(t, 0, "layer"));
    if (!*layers) return record_layer(list, tables, NULL, tasks, averages);
    cs_status status = CS_OK;
    for (int64_t r = 0; r < t->rows && status == CS_OK; ++r) {
        const char *layer = cell(t, r, "layer");
        if (r == 0 || !is_of(t, r - 1, layer))
            status = record_layer(list, tables, layer, tasks, averages);
    }
    return status;
}
