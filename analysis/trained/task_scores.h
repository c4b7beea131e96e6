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

/* The tables of a run: those of cospec probe or finetune and of its blocks. */
typedef struct cs_task_tables {
    cs_table scores, blocks;
} cs_task_tables;

/* Fills `root`: "tasks", each with its metrics, and "averages"; of a probe of several layers both
 * once for each, with "layer". tables: list->count, of the same layers. CS_ERR_INPUT: a task without
 * the metric that counts. */
cs_status cs_task_scores_record(const cs_task_list *list, const cs_task_tables *tables,
                                cs_item *root, bool *layers) CS_MUST_CHECK;
