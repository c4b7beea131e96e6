/* What a command leaves behind: data on stdout, files in -o DIR, manifest.json, progress on stderr.
 *
 * A run is all or nothing: files first, then the manifest, then standard output. A run that fails
 * before its manifest is written prints nothing and removes the files it wrote; one that failed under
 * --force or --resume also removes the manifest of the run whose files it had begun to replace. A
 * result that did not converge is a result.
 */
#pragma once

#include <jansson.h>

#include "base/progress.h"
#include "base/status.h"
#include "cli/opt.h"
#include "io/result.h"
#include "io/rows.h"
#include "io/table.h"

/* Progress on stderr, with the time that is left: a bar on a terminal, a line a minute elsewhere.
 * Static lifetime; NULL under --quiet. */
const cs_progress *cs_output_progress(const cs_args *args);

/* A line on stderr, unless --quiet. */
void cs_output_note(const cs_args *args, const char *format, ...) CS_PRINTF(2, 3);

/* The record that the command fills: one a run, which args hold. NULL when memory is exhausted, as
 * the functions of io/result.h take it. */
cs_item *cs_output_root(cs_args *args);

/* Sets what is printed once the run is complete: the record with --json; the table of `view` (NULL:
 * it has none, asking for it is CS_ERR_USAGE, and a table of the record's fields and values is
 * printed) as CSV with --csv, else the command's selection of that table as aligned text (cs_command.shown, brief). With -o DIR writes DIR/<name>.json and
 * DIR/<name>.csv (refusing to overwrite without --force). Call it once: --resume prints the result
 * again from these files. What lists "warnings" of the record hold is said on stderr. */
cs_status cs_output_record(cs_args *args, const char *name, const cs_view *view) CS_MUST_CHECK;

/* Another table of the record, as DIR/<file>; nothing without -o. */
cs_status cs_output_csv(cs_args *args, const char *file, const cs_view *view) CS_MUST_CHECK;

/* The same for a result that is text, `size` bytes with their line ends: printed
 * unless --json asks for `json` (NULL: it has none). With -o DIR writes DIR/<name>.txt, and
 * <name>.json when there is one. There is no CSV. For commands without --resume. */
cs_status cs_output_text(cs_args *args, const char *name, json_t *json, const char *text,
                         int64_t size) CS_MUST_CHECK;

/* Closes a memory stream of text to be printed: CS_ERR_MEMORY, all that one can lack, in place of
 * `status`. */
cs_status cs_memory_close(FILE *out, cs_status status) CS_MUST_CHECK;

/* Before the work: the files of -o DIR that the run may write (names parted by blanks), and the
 * manifest. CS_ERR_USAGE when one exists and neither --force nor --resume is given, or when a
 * symbolic link is in its place. Makes DIR and locks it (not under --dry-run): CS_ERR_IO when
 * another run has. Does nothing without -o. Those of cs_command.files are claimed already. */
cs_status cs_output_claim(cs_args *args, const char *files) CS_MUST_CHECK;

/* Writes into `dir` as if -o had named it. */
cs_status cs_output_into(cs_args *args, const char *dir) CS_MUST_CHECK;

/* Under --resume: what is in DIR is of an earlier run of this command, though no manifest says
 * so; its files are this run's too. */
void cs_output_takes_over(cs_args *args);

/* Gives the lock back, and removes a folder that was made for nothing. */
void cs_output_release(cs_args *args);

/* Remembers an input file or directory; its SHA-256 goes into the manifest. */
cs_status cs_output_input(cs_args *args, const char *path) CS_MUST_CHECK;
/* The same of the file of FILE or FILE:NAME (io/rows.h); and its rows as well. */
cs_status cs_output_input_rows(cs_args *args, const char *text) CS_MUST_CHECK;
cs_status cs_output_open_rows(cs_args *args, const char *text, cs_rows *out) CS_MUST_CHECK;
/* cs_output_input (of rows: cs_output_input_rows), and `work`, which reads the same, at once on two
 * threads or more: a hash is one thread's. Where both fail the failure is the hash's, as if that had
 * come first. */
typedef cs_status (*cs_output_work)(void *ctx);
cs_status cs_output_input_beside(cs_args *args, const char *path, int threads, cs_output_work work,
                                 void *ctx) CS_MUST_CHECK;
cs_status cs_output_rows_beside(cs_args *args, const char *text, int threads, cs_output_work work,
                                void *ctx) CS_MUST_CHECK;

/* A corrected statement failed: the run is complete and the program exits with 1. */
void cs_output_refuted(cs_args *args);

/* The run is complete but stopped before its end (a time limit): --resume runs the command again
 * rather than keep its result. With CS_ERR_INTERRUPT: what was written stays and is printed. */
void cs_output_unfinished(cs_args *args);

/* Another process writes and prints the result, notes and reason of the run and ends with its exit
 * code. This one prints nothing and ends with 0. */
void cs_output_elsewhere(cs_args *args);

/* DIR/<file>, claimed, which args hold (out NULL: it is not wanted yet); CS_ERR_USAGE when -o is
 * not given. The caller writes the file: should the run fail afterwards, it is removed. */
cs_status cs_output_path(cs_args *args, const char *file, const char **out) CS_MUST_CHECK;

/* The same for a file at `path`, which a library function writes. */
cs_status cs_output_begin(cs_args *args, const char *path) CS_MUST_CHECK;

/* --resume: whether DIR/manifest.json is of a finished run with the same program, options,
 * arguments and inputs; its result is then printed again. CS_ERR_USAGE, naming the option, when it
 * is of another run (unless --force). */
cs_status cs_output_resume(cs_args *args, bool *kept) CS_MUST_CHECK;

/* Writes DIR/manifest.json (command, resolved options, version, commit, libraries and OpenBLAS
 * kernel, threads, seed, inputs, wall time); called by main() after a
 * complete run with -o. */
cs_status cs_output_manifest(cs_args *args, double wall_seconds) CS_MUST_CHECK;

/* Writes it before the work, "finished": false, for a command whose checkpoints outlive a failure:
 * it stays until cs_output_manifest replaces it. -o is given, its folder made. */
cs_status cs_output_start(cs_args *args) CS_MUST_CHECK;

/* Prints what cs_output_record set; CS_ERR_IO when standard output does not take it. */
cs_status cs_output_print(cs_args *args) CS_MUST_CHECK;

/* Removes the files that a failed run wrote. */
void cs_output_discard(cs_args *args);
