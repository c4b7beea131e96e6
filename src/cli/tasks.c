#include "cli/results.h"

#include <string.h>

#include "analysis/trained/task_runs.h"
#include "cli/args.h"
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

static cs_status check(const cs_args *args)
{
    const char *none = "cannot be combined with --tasks", *layer = "layer";
    cs_status status = cs_args_refuse(args, "config dry-run against metric", none);
    if (status == CS_OK)
        status = cs_args_refuse(args, "regression label-column text-column baselines", none);
    if (status == CS_OK) status = cs_args_refuse(args, "pair pair-column test-label-column", none);
    if (status == CS_OK) status = cs_args_refuse(args, "template verbalisers", none);
    if (status == CS_OK && !cs_args_given(args, "output"))
        status = cs_fail(CS_ERR_USAGE, "--tasks needs -o DIR");
    if (status == CS_OK && cs_args_positionals(args) != 1)
        status = cs_fail(CS_ERR_USAGE, "--tasks takes only a MODEL");
    if (status == CS_OK && cs_args_find(args, layer, strlen(layer)) &&
        (strchr(cs_args_text(args, layer), ',') || cs_args_is(args, layer, "all")))
        status = cs_fail(CS_ERR_USAGE, "--layer must be a single layer with --tasks");
    return status;
}

cs_status cs_args_tasks(cs_args *args)
{
    static const cs_view
        view = {"tasks[].metrics[] averages[]",
                "task=task|^task metric=name definition value se low high constant counts_in n "
                "seed=~seed|^~seed"},
        blocks = {"tasks[].metrics[].~left_out[] averages[].~left_out[]",
                  "task=^task|^^task metric=^name block=# value=. partition=^~partition"};
    cs_task_list list = {0};
    int64_t open = 0;
    cs_status status = check(args);
    const cs_corpus_options reading = cs_args_corpus_form(args);
    if (status == CS_OK) status = cs_tasks_find(cs_args_text(args, "tasks"), &reading, &list);
    for (int64_t i = 0; i < list.count && status == CS_OK; ++i) {
        const cs_labelled_task *t = &list.task[i];
        status = t->named ? CS_OK : cs_output_input(args, t->train);
        if (status == CS_OK && !t->named && t->test) status = cs_output_input(args, t->test);
    }
    if (status == CS_OK) status = cs_output_claim(args, "tasks.json tasks.csv tasks-blocks.csv");
    cs_item *root = cs_output_root(args);
    const cs_task_plan plan = {.command = cs_args_command(args)->name,
                               .word = args->line.text,
                               .words = args->line.count,
                               .dir = cs_args_text(args, "output")};
    cs_item_text(root, "model", cs_args_positional(args, 0));
    if (status == CS_OK) status = cs_tasks_run(&list, &plan, root, &open);
    if (status == CS_OK) status = cs_output_csv(args, "tasks-blocks.csv", &blocks);
    if (status == CS_OK) status = cs_output_record(args, "tasks", &view);
    if (status == CS_OK && open > 0)
        status = cs_fail(CS_ERR_CONVERGE, "%lld of the tasks did not converge", (long long)open);
    cs_tasks_free(&list);
    return status;
}
