/* Parts of results that several commands share: predictions of labelled examples (probe, finetune),
 * verdicts on statements (verify, mask-rank), sums and tails of sigma^4 (svd, density). */
#pragma once

#include "analysis/theorems/statement.h"

#include "analysis/measures/language.h"
#include "analysis/trained/predictions.h"
#include "cli/opt.h"
#include "cooc/spectrum_record.h"
#include "dist/comm.h"
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

/* --groups --drop-rows --keep --drop-special --drop-position. */
extern const cs_opt cs_group_rank_rows[];

/* --groups FILE.npy, for commands that take nothing else of that group. */
#define CS_GROUPS(help) CS_TEXT("groups", "FILE.npy", NULL, help)

/* The block of each of `rows` rows by the groups that `option` names, in fresh memory: NULL where it is not
 * given. *blocks: as below; INT32_MAX gives a block for each group. The file becomes an input. */
cs_status cs_args_group_blocks(cs_args *args, const char *option, int64_t rows, int32_t **out,
                               int64_t *blocks) CS_MUST_CHECK;

/* The block of each of `rows` rows, -1 for one left out, in fresh memory: NULL if all rows are used
 * in blocks of consecutive ones. *blocks is the requested number (at least 1) and is reduced to the
 * number of rows used, *kept. Blocks contain whole groups of --groups, in the order of the numbers
 * of the groups. CS_ERR_INPUT names a file that does not fit the rows, or reports that no row is
 * left. Reads the files named, which become inputs of the run. */
cs_status cs_args_rank_blocks(cs_args *args, int64_t rows, int32_t **out, int64_t *blocks,
                              int64_t *kept) CS_MUST_CHECK;

extern const cs_opt cs_group_language[]; /* --estimate --jackknife */
bool cs_args_language(const cs_args *args);
/* Refuses --jackknife for the matrix of the corpus. */
cs_status cs_args_no_language(const cs_args *args) CS_MUST_CHECK;

/* The command on the folder in its argument: k leading eigenpairs (0: 10, or fewer if there are
 * fewer columns) and, with density, the curve of all. */
cs_status cs_language_run(cs_args *args, int64_t k,
                          const cs_spectrum_density_options *density) CS_MUST_CHECK;

/* --mpi */
extern const cs_opt cs_group_ranks[];

/* Joins the group, silences all ranks but the first, and divides the threads of the machine among
 * the ranks on it unless --threads sets the number for each. CS_ERR_DEVICE: no MPI in this build,
 * or processors that compute differently. Call it once. */
cs_status cs_ranks_join(cs_args *args, cs_comm *out) CS_MUST_CHECK;

/* Passes on CS_OK and agreed failures; else reports the failure of this rank and ends all. */
cs_status cs_ranks_alone(const cs_args *args, cs_comm *comm, cs_status status) CS_MUST_CHECK;

/* --resume: rank 0 decides as cs_output_resume does; args->resumed is that of all ranks. */
cs_status cs_ranks_resume(cs_args *args, cs_comm *comm) CS_MUST_CHECK;

/* Collective: notes the number of ranks, the bytes they sent (without PARPACK's own reductions),
 * and the processor seconds of all, with those in messages (waiting included) separate. */
void cs_ranks_note(const cs_args *args, cs_comm *comm);

/* Agrees on the end, then finalises MPI. Rank 0 keeps the reason, the others discard it. */
cs_status cs_ranks_leave(cs_comm *comm, cs_status status) CS_MUST_CHECK;
