/* Child processes, whose tables are read. */
#include "analysis/trained/task_runs.h"

#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "base/child.h"
#include "base/hash.h"
#include "io/file.h"
#include "io/table.h"

enum { MOST_WORDS = 256, NUMBER = 24 };

/* --- one run -----------------------------------------------------------------------------------*/

static cs_status status_of(int code, const char *task)
{
    const cs_status status = code == 2   ? CS_ERR_USAGE
                             : code == 5 ? CS_ERR_DEVICE
                             : code > 5  ? CS_ERR_INTERRUPT
                                         : CS_ERR_INPUT;
    return code == 0 || code == 4
               ? CS_OK
               : cs_fail(status, "task %s ended with exit code %d; its message is above", task,
                         code);
}

/* The words of the command line but --tasks and -o with their values. */
static int shared_words(const cs_task_plan *plan, const char **out)
{
    int n = 0;
    for (int i = 0; i < plan->words; ++i) {
        const char *w = plan->word[i];
        if (strcmp(w, "--tasks") == 0 || strcmp(w, "-o") == 0 || strcmp(w, "--output") == 0) {
            ++i;
        } else if (strncmp(w, "--tasks=", 8) != 0 && strncmp(w, "--output=", 9) != 0 &&
                   strncmp(w, "-o", 2) != 0) {
            out[n++] = w;
        }
    }
    return n;
}

static cs_status run_task(const cs_task_plan *plan, const cs_labelled_task *task,
                          const char *folder, int *code)
{
    const char *argv[MOST_WORDS + 16];
    char number[4][NUMBER], self[4096];
    const struct {
        const char *option;
        int64_t value;
    } column[4] = {{"--label-column", task->label},
                   {"--test-label-column", task->test_label},
                   {"--text-column", task->text},
                   {"--pair-column", task->pair}};
    bool all = false;
    int n = 0;
    if (plan->words > MOST_WORDS - 4) {
        return cs_fail(CS_ERR_USAGE, "more than %d words", MOST_WORDS - 4);
    }
    const ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length < 0) {
        return cs_fail(CS_ERR_IO, "/proc/self/exe cannot be read");
    }
    self[length] = '\0';
    argv[n++] = self;
    argv[n++] = plan->command;
    n += shared_words(plan, argv + n);
    for (int i = 2; i < n; ++i) {
        all = all || strcmp(argv[i], "--all") == 0;
    }
    argv[n++] = task->train;
    if (task->test) {
        argv[n++] = task->test;
    }
    for (int i = 0; i < 4; ++i) {
        const bool wanted = column[i].value > 0 && (i != 1 || task->test);
        (void)snprintf(number[i], NUMBER, "%lld", (long long)column[i].value);
        if (wanted) {
            argv[n++] = column[i].option;
            argv[n++] = number[i];
        }
    }
    if (task->regression) {
        argv[n++] = "--regression";
    }
    if (task->pictures && strcmp(plan->command, "probe") == 0) {
        argv[n++] = "--baselines"; /* one layer, so that a score is the model's */
        argv[n++] = "no";
    }
    if (!all) {
        argv[n++] = "--all"; /* what is printed goes nowhere: no note of what is not shown */
    }
    argv[n++] = "-o";
    argv[n++] = folder;
    argv[n] = NULL;
    const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    const cs_child child = {.argv = argv, .out = nowhere};
    cs_status status = nowhere >= 0 ? cs_child_run(&child, code)
                                    : cs_fail(CS_ERR_IO, "/dev/null cannot be opened");
    if (nowhere >= 0) {
        (void)close(nowhere);
    }
    return status == CS_OK ? status_of(*code, task->name) : status;
}

/* --- its scores --------------------------------------------------------------------------------*/

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

/* Over seeds, of what was fitted: neither a baseline nor one seed. */
static bool is_score(const cs_table *t, int64_t row)
{
    return strcmp(cell(t, row, "probe"), "linear") == 0 ||
           strcmp(cell(t, row, "seed"), "median") == 0;
}

/* What the commonest class or the mean scores; of a probe in a row of its own. */
static double constant_of(const cs_table *t, int64_t row)
{
    for (int64_t r = 0; r < t->rows && cs_table_column(t, "constant") < 0; ++r) {
        if (!is_score(t, r) && strcmp(cell(t, r, "metric"), cell(t, row, "metric")) == 0) {
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
static cs_status take_blocks(const cs_table *t, const char *metric, cs_pool *pool, score *s)
{
    s->left_out = cs_pool_take(pool, t->rows, sizeof *s->left_out);
    for (int64_t r = 0; r < t->rows && s->left_out; ++r) {
        if (is_score(t, r) && strcmp(cell(t, r, "metric"), metric) == 0) {
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
    cs_status status = take_blocks(blocks, metric, pool, &s);
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

static cs_status read_scores(const cs_task_plan *plan, const cs_labelled_task *task,
                             const char *folder, cs_pool *pool, cs_item *tasks, score out[2])
{
    cs_table t = {0}, blocks = {0};
    char *path = cs_format("%s/%s.csv", folder, plan->command),
         *beside = cs_format("%s/%s-blocks.csv", folder, plan->command);
    cs_status status = path && beside ? cs_table_read_csv(path, &t) : CS_ERR_MEMORY;
    if (status == CS_OK) status = cs_table_read_csv(beside, &blocks);
    out[0] = out[1] = (score){.value = NAN};
    if (status == CS_OK) {
        cs_item *item = cs_item_object(tasks, NULL);
        cs_item_text(item, "task", task->name);
        cs_item_text(item, "train", task->train);
        cs_item_text(item, "test", task->test ? task->test : task->train);
        cs_item_text(item, "~seed", "median");
        cs_item *metrics = cs_item_array(item, "metrics");
        for (int64_t r = 0; r < t.rows && status == CS_OK; ++r) {
            status = is_score(&t, r) ? add_score(&t, r, &blocks, task, pool, metrics, out) : CS_OK;
        }
        for (int i = 0; i < 2 && status == CS_OK; ++i) {
            const cs_metric wanted = i == 0 ? task->look_ahead : task->mae_lm;
            if (isnan(out[i].value)) {
                status = cs_fail(CS_ERR_INPUT, "%s has no %s, the metric of task %s", path,
                                 cs_metric_name(wanted), task->name);
            }
        }
    }
    cs_table_free(&t);
    cs_table_free(&blocks);
    cs_free(path);
    cs_free(beside);
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

static cs_status add_average(const cs_task_list *list, const score *of, bool by_task, cs_pool *pool,
                             cs_item *averages)
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

cs_status cs_tasks_run(const cs_task_list *list, const cs_task_plan *plan, cs_item *root,
                       int64_t *open)
{
    cs_pool pool = {0};
    score *of = cs_pool_take(&pool, 2 * list->count, sizeof *of);
    cs_item *tasks = cs_item_array(root, "tasks"), *averages = NULL;
    cs_status status = of ? CS_OK : CS_ERR_MEMORY;
    *open = 0;
    for (int64_t i = 0; i < list->count && status == CS_OK; ++i) {
        char *folder = cs_path_join(plan->dir, list->task[i].name);
        int code = 0;
        status = folder ? run_task(plan, &list->task[i], folder, &code) : CS_ERR_MEMORY;
        if (status == CS_OK)
            status = read_scores(plan, &list->task[i], folder, &pool, tasks, of + 2 * i);
        *open += code == 4;
        cs_free(folder);
    }
    if (status == CS_OK) {
        averages = cs_item_array(root, "averages");
        status = add_average(list, of, false, &pool, averages);
        if (status == CS_OK) status = add_average(list, of, true, &pool, averages);
    }
    cs_pool_free(&pool);
    return status;
}
