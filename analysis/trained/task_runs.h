/* An evaluation over several tasks: each task is a separate run of a cospec command (probe,
 * finetune) in a separate folder, which can be repeated by hand, and their scores are averaged as
 * in the tables of the papers.
 *
 *   LA, Table 2      mean over test sets (MNLI's two count as two); F1 of MRPC and QQP, Pearson of
 *                    STS-B, Matthews of CoLA, accuracy of the others
 *   MAE-LM, Table 1  mean over tasks (MNLI's two test sets count as one, their mean); accuracy of
 *                    MRPC and QQP, Spearman of STS-B, Matthews of CoLA, accuracy of the others
 *
 * (both printed averages follow from the printed rows with these definitions, and not with the
 * other). Other tasks count by accuracy, regression by Pearson and by Spearman. A value is that of
 * the command, a median over its seeds; the standard error of an average is that of independent
 * test sets, sqrt(sum (w_i se_i)^2); its values without blocks of test examples ("~left_out") vary
 * by the same. */
#pragma once

#include "analysis/trained/tasks.h"
#include "io/result.h"

typedef struct {
    const char *command; /* "probe", "finetune" */
    char *const *word;   /* the rest of the command line, except --tasks and -o */
    int words;
    const char *dir; /* contains the folders of the tasks */
} cs_task_plan;

/* Runs the tasks one by one and fills `root`: "tasks", each with its metrics, and "averages". *open
 * counts the tasks that did not converge, which are results too. A command that fails ends it, with
 * the status of its exit code; its message is on stderr. */
cs_status cs_tasks_run(const cs_task_list *list, const cs_task_plan *plan, cs_item *root,
                       int64_t *open) CS_MUST_CHECK;
