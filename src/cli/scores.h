/* Shared by the commands that predict labelled examples: probe, finetune. */
#pragma once

#include "analysis/trained/predictions.h"
#include "cli/opt.h"

/* --against */
extern const cs_opt cs_group_against[];

/* cs_metric_list_read of --metric. */
cs_status cs_args_metrics(const cs_args *args, int64_t classes, cs_metric_list *out) CS_MUST_CHECK;

/* The same before anything is read. */
cs_status cs_args_metrics_check(const cs_args *args) CS_MUST_CHECK;

/* The run of --against, whose file becomes an input; zeros without it. */
cs_status cs_args_against(cs_args *args, cs_reference *out) CS_MUST_CHECK;

/* Writes DIR/predictions.csv. */
cs_status cs_output_predictions(cs_args *args, const cs_table *table) CS_MUST_CHECK;

/* --tasks: one run for each task, and the averages over them; the whole run if it is given. */
extern const cs_opt cs_group_tasks[];
cs_status cs_args_tasks(cs_args *args) CS_MUST_CHECK;
