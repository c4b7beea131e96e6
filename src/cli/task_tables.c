#include "base/auto.h"
#include "cli/results.h"

#include <string.h>

#include "analysis/trained/task_scores.h"
#include "cli/commands.h"
#include "cli/groups.h"
#include "cli/output.h"

const cs_opt cs_group_tasks[] = {
    CS_HEADING("Several tasks"),
    CS_TEXT(
        "tasks", "LIST", NULL,
        "Replaces TRAIN and TEST: labelled corpora of any kind and folders of tasks, separated by "
        "commas (docs/reference/corpora.md). Each runs in DIR/TASK; tasks.csv has all scores. "
        "Needs -o DIR."),
    {0},
};

static cs_status check_options(const cs_args *args)
{
    const char *none = "cannot be combined with --tasks";
    cs_status status = cs_args_refuse(args, "config dry-run against metric", none);
    if (status == CS_OK)
        status = cs_args_refuse(args, "regression label-column text-column baselines", none);
    if (status == CS_OK) status = cs_args_refuse(args, "pair pair-column test-label-column", none);
    if (status == CS_OK) status = cs_args_refuse(args, "template verbalisers", none);
    if (status == CS_OK && !cs_args_given(args, "output"))
        status = cs_fail(CS_ERR_USAGE, "--tasks needs -o DIR");
    if (status == CS_OK && cs_args_positionals(args) != 1)
        status = cs_fail(CS_ERR_USAGE, "--tasks takes only a MODEL");
    return status;
}

/* --- the run of a task -------------------------------------------------------------------------*/

/* Copies of words that are not NULL. */
static cs_status add_words(cs_words *words, int count, const char *const *word)
{
    cs_status status = CS_OK;
    for (int i = 0; i < count && status == CS_OK; ++i) {
        if (word[i]) status = cs_words_take(words, cs_strdup(word[i]));
    }
    return status;
}

/* The words given, except --tasks and -o with their values, and those of the task. */
static cs_status task_words(const cs_args *args, const cs_labelled_task *task, const char *folder,
                            cs_words *out)
{
    /* The baselines of images are layers, but a score is the model's. What --all prints is not
     * printed here, and neither is a note of what is not shown. */
    const bool layers = task->pictures && strcmp(args->command->name, "probe") == 0;
    const char *const last[] = {layers ? "--baselines" : NULL, layers ? "no" : NULL,
                                cs_args_flag(args, "all") ? NULL : "--all", "-o", folder};
    CS_AUTO_FREE char *columns = cs_task_columns(task);
    char *rest = columns, *word = NULL;
    cs_status status = columns ? CS_OK : CS_ERR_MEMORY;
    for (int i = 0; i < args->line.count && status == CS_OK; ++i) {
        const char *w = args->line.text[i];
        if (strcmp(w, "--tasks") == 0 || strcmp(w, "-o") == 0 || strcmp(w, "--output") == 0) {
            ++i;
        } else if (strncmp(w, "--tasks=", 8) != 0 && strncmp(w, "--output=", 9) != 0 &&
                   strncmp(w, "-o", 2) != 0) {
            status = add_words(out, 1, &w);
        }
    }
    if (status == CS_OK) status = add_words(out, 2, (const char *const[]){task->train, task->test});
    while (status == CS_OK && (word = strsep(&rest, " "))) {
        status = *word ? add_words(out, 1, (const char *const *)&word) : CS_OK;
    }
    return status == CS_OK ? add_words(out, 5, last) : status;
}

/* *open counts the tasks that did not converge, which are results too. */
static cs_status run_task(cs_args *args, const cs_labelled_task *task, cs_task_tables *tables,
                          int64_t *open)
{
    const char *folder = cs_args_join(args, cs_args_text(args, "output"), task->name);
    CS_AUTO(cs_words) words = {0};
    cs_status status = folder ? task_words(args, task, folder, &words) : CS_ERR_MEMORY;
    if (status == CS_OK)
        status = cs_blame(cs_command_task(args->command, words.count, words.text, tables),
                          "task %s", task->name);
    if (status == CS_ERR_CONVERGE) {
        cs_reason_clear();
        status = CS_OK;
        ++*open;
    }
    return status;
}

#define ROWS "tasks[].metrics[] averages[]"
#define COLUMNS "metric=name definition value se low high constant counts_in n seed=~seed|^~seed"
#define BLOCK_ROWS "tasks[].metrics[].~left_out[] averages[].~left_out[]"
#define BLOCK_COLUMNS "metric=^name block=# value=. partition=^~partition"

cs_status cs_args_tasks(cs_args *args)
{
    static const cs_view one = {ROWS, "task=task|^task " COLUMNS},
                         several = {ROWS, "task=task|^task layer=layer|^layer " COLUMNS},
                         one_blocks = {BLOCK_ROWS, "task=^task|^^task " BLOCK_COLUMNS},
                         several_blocks = {BLOCK_ROWS,
                                           "task=^task|^^task layer=^layer|^^layer " BLOCK_COLUMNS};
    CS_AUTO_BY(cs_tasks_free, cs_task_list) list = {0};
    int64_t open = 0;
    bool layers = false;
    cs_status status = check_options(args);
    const cs_corpus_options reading = cs_args_corpus_form(args);
    if (status == CS_OK) status = cs_tasks_find(cs_args_text(args, "tasks"), &reading, &list);
    for (int64_t i = 0; i < list.count && status == CS_OK; ++i) {
        const cs_labelled_task *t = &list.task[i];
        status = t->named ? CS_OK : cs_output_input(args, t->train);
        if (status == CS_OK && !t->named && t->test) status = cs_output_input(args, t->test);
    }
    if (status == CS_OK) status = cs_output_claim(args, "tasks.json tasks.csv tasks-blocks.csv");
    cs_item *root = cs_output_root(args);
    cs_item_text(root, "model", cs_args_positional(args, 0));
    CS_AUTO_FREE cs_task_tables *tables =
        status == CS_OK ? cs_calloc(list.count, sizeof *tables) : NULL;
    if (status == CS_OK && !tables) status = CS_ERR_MEMORY;
    for (int64_t i = 0; i < list.count && status == CS_OK; ++i) {
        status = run_task(args, &list.task[i], &tables[i], &open);
    }
    if (status == CS_OK) status = cs_task_scores_record(&list, tables, root, &layers);
    if (status == CS_OK)
        status = cs_output_csv(args, "tasks-blocks.csv", layers ? &several_blocks : &one_blocks);
    if (status == CS_OK) status = cs_output_record(args, "tasks", layers ? &several : &one);
    if (status == CS_OK && open > 0)
        status = cs_fail(CS_ERR_CONVERGE, "%lld of the tasks did not converge", (long long)open);
    for (int64_t i = 0; tables && i < list.count; ++i) {
        cs_table_free(&tables[i].scores);
        cs_table_free(&tables[i].blocks);
    }
    return status;
}
