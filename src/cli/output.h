/* The output of a command: data on stdout, files in -o DIR, manifest.json, progress on stderr.
 *
 * A run is all or nothing: files first, then the manifest, then standard output. A run that fails
 * before its manifest is written prints nothing and removes the files it wrote; one that failed
 * under --force or --resume also removes the manifest of the run whose files it had begun to
 * replace. A result that did not converge is a result. */
#pragma once

#include "base/progress.h"
#include "cli/opt.h"
#include "io/rows.h"

/* Progress on stderr, with the estimated time left: a bar on a terminal, a line a minute elsewhere.
 * Static lifetime; NULL under --quiet. */
const cs_progress *cs_output_progress(const cs_args *args);

/* A line on stderr, unless --quiet. */
void cs_output_note(const cs_args *args, const char *format, ...) CS_PRINTF(2, 3);

/* The record that the command fills: one for each run, held by args. NULL when memory is exhausted,
 * which the functions of io/result.h accept. */
cs_item *cs_output_root(cs_args *args);

/* Sets the output of the complete run: the record with --json; the table of `view` (NULL: it has
 * none, requesting it is CS_ERR_USAGE, and a table of the record's fields and values is printed) as
 * CSV with --csv, else the command's selection of that table as aligned text (cs_command.shown,
 * brief). With -o DIR writes DIR/<name>.json and DIR/<name>.csv (refusing to overwrite without
 * --force). Call it once: --resume prints the result again from these files. The "warnings" of the
 * record are printed on stderr. */
cs_status cs_output_record(cs_args *args, const char *name, const cs_view *view) CS_MUST_CHECK;

/* Another table of the record, as DIR/<file>; nothing without -o. */
cs_status cs_output_csv(cs_args *args, const char *file, const cs_view *view) CS_MUST_CHECK;

/* The same for a result that is text, `size` bytes with their line ends: printed unless --json
 * requests `json` (NULL: it has none). With -o DIR writes DIR/<name>.txt, and <name>.json if there
 * is one. There is no CSV. For commands without --resume. */
cs_status cs_output_text(cs_args *args, const char *name, json_t *json, const char *text,
                         int64_t size) CS_MUST_CHECK;

/* Closes a memory stream of text to be printed: CS_ERR_MEMORY, its only possible failure, in place
 * of `status`. */
cs_status cs_memory_close(FILE *out, cs_status status) CS_MUST_CHECK;

/* Before the work: claims the files of -o DIR that the run may write (names separated by spaces),
 * and the manifest. CS_ERR_USAGE if one exists and neither --force nor --resume is given, or if a
 * symbolic link has its name. Makes DIR and locks it (not under --dry-run): CS_ERR_IO if another
 * run holds the lock. Does nothing without -o. The files of cs_command.files are claimed already.
 */
cs_status cs_output_claim(cs_args *args, const char *files) CS_MUST_CHECK;

/* Writes into `dir` as if -o had named it. */
cs_status cs_output_into(cs_args *args, const char *dir) CS_MUST_CHECK;

/* Under --resume: the content of DIR is of an earlier run of this command, though no manifest
 * records it; its files belong to this run too. */
void cs_output_takes_over(cs_args *args);

/* Whether another run is writing to the folder at or around `path`. */
bool cs_output_foreign_lock(const cs_args *args, const char *path);
/* After a failure that names an input's folder to which another run is writing: says so instead. */
cs_status cs_output_blame_writer(const cs_args *args, cs_status status) CS_MUST_CHECK;

/* Releases the lock, and removes a folder that was created for nothing. */
void cs_output_release(cs_args *args);

/* Records an input file or directory; its SHA-256 goes into the manifest. */
cs_status cs_output_input(cs_args *args, const char *path) CS_MUST_CHECK;
/* The same for a file or pattern whose hash is known, as it was read in parts. If the file is read
 * first, "" records it and a second call adds the hash. */
cs_status cs_output_input_known(cs_args *args, const char *path,
                                const char sha256[65]) CS_MUST_CHECK;
/* The same in a separate thread while the caller reads the file, one at a time; on one thread it is
 * done before. cs_output_input_end follows a success and takes the status of the reading; a failure
 * of the hash takes precedence, as if it had come first. */
cs_status cs_output_input_begin(cs_args *args, const char *path, int threads) CS_MUST_CHECK;
/* The same for the file of FILE or FILE:NAME (io/rows.h); the second function also opens its rows, on
 * one thread. Without -o there is no manifest: the file is hashed only where its folder has a record
 * of it, which finds damage. */
cs_status cs_output_rows_begin(cs_args *args, const char *text, int threads) CS_MUST_CHECK;
cs_status cs_output_open_rows(cs_args *args, const char *text, cs_rows *out) CS_MUST_CHECK;
cs_status cs_output_input_end(cs_args *args, cs_status status) CS_MUST_CHECK;

/* The SHA-256 of a recorded input; "" for an argument in memory. */
const char *cs_output_sha256(const cs_args *args, const char *path);

/* A corrected statement failed: the run is complete and the program exits with 1. */
void cs_output_refuted(cs_args *args);

/* The run is complete but stopped before its end (a time limit): --resume runs the command again
 * rather than keep its result. With CS_ERR_INTERRUPT: files that were written are kept and the
 * result is printed. */
void cs_output_unfinished(cs_args *args);

/* Another process writes and prints the result, notes and reason of the run and ends with its exit
 * code. This one prints nothing and exits with 0. */
void cs_output_elsewhere(cs_args *args);

/* DIR/<file>, claimed, held by args (out NULL: not wanted yet); CS_ERR_USAGE if -o is not given.
 * The caller writes the file: if the run fails afterwards, it is removed. */
cs_status cs_output_path(cs_args *args, const char *file, const char **out) CS_MUST_CHECK;

/* The same for a file at `path`, which a library function writes. */
cs_status cs_output_begin(cs_args *args, const char *path) CS_MUST_CHECK;

/* --resume: args->resumed says whether DIR/manifest.json is of a finished run with the same program, options,
 * arguments and inputs; its result is then printed again. CS_ERR_USAGE, naming the option, if it is
 * of another run (unless --force). */
cs_status cs_output_resume(cs_args *args) CS_MUST_CHECK;

/* The state of an incomplete run in DIR/unfinished.json, so that --resume continues after an
 * interrupt: one object, into which the command puts its partial results. It exists until the
 * result replaces it. */
typedef struct {
    const char *path; /* NULL without -o: nothing is stored */
    json_t *kept;     /* the object; "options" are those of this run */
} cs_partial_run;

/* Claims the file and makes DIR; under --resume takes over the state of an interrupted run:
 * CS_ERR_USAGE names an option that differs. Call it after the claims of the other files of the
 * command. */
cs_status cs_partial_run_begin(cs_args *args, cs_partial_run *out) CS_MUST_CHECK;

/* Writes the object as it is. */
cs_status cs_partial_run_save(const cs_partial_run *u) CS_MUST_CHECK;

/* Frees it, and removes the file if status is CS_OK. */
void cs_partial_run_end(cs_partial_run *u, cs_status status);

/* Writes DIR/manifest.json (command, resolved options, version, commit, libraries and OpenBLAS
 * kernel, threads, seed, inputs, wall time); called by main() after a
 * complete run with -o. */
cs_status cs_output_manifest(cs_args *args, double wall_seconds) CS_MUST_CHECK;

/* Writes it before the work, "finished": false, for a command whose checkpoints outlive a failure:
 * it is kept until cs_output_manifest replaces it. -o is given, its folder exists. */
cs_status cs_output_start(cs_args *args) CS_MUST_CHECK;

/* Prints the output of cs_output_record; CS_ERR_IO if standard output fails. */
cs_status cs_output_print(cs_args *args) CS_MUST_CHECK;

/* Removes the files that a failed run wrote. */
void cs_output_discard(cs_args *args);

/* Prints the stored result <name> of DIR (-o) in the requested form. */
cs_status cs_output_again(cs_args *args, const char *name) CS_MUST_CHECK;
