/* Parts of results that several commands share: predictions of labelled examples (probe, finetune),
 * verdicts on statements (verify, mask-rank), sums and tails of sigma^4 (svd, density). */
#pragma once

#include "analysis/theorems/statement.h"
#include "analysis/trained/predictions.h"
#include "base/status.h"
#include "cli/opt.h"
#include "cooc/spectrum_record.h"
#include "io/result.h"
#include "linalg/density.h"

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

/* Called when the results are written. A corrected statement that failed makes the exit code 1
 * (cs_output_refuted); else an undecided one is CS_ERR_CONVERGE (exit code 4), whose reason names
 * it, its input, margin and error. An attained one is noted on stderr and has no effect. Printed
 * statements never count. */
cs_status cs_verdicts_report(cs_args *args, const cs_statements *list) CS_MUST_CHECK;

/* Writes the "tail" of the record as DIR/tail.csv: t,tail,tail_low,tail_high,exact. */
cs_status cs_tails_write(cs_args *args) CS_MUST_CHECK;

/* Notes sum sigma^4 on stderr. */
void cs_sum4_note(const cs_args *args, const cs_sum4 *sum);
