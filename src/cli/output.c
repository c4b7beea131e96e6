/* Results, notes and progress. Files come before standard output, so that a reader who goes away
 * costs no result; every byte of standard output is checked.
 *
 * A file written by a run is told from one that stood there before by inode and time of change (a
 * removed file's inode may be given out again). Limit: what a killed program leaves stays, and
 * --force overwrites it. */
#include "cli/output.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/threads.h"
#include "cli/args.h"
#include "cli/manifest.h"
#include "io/file.h"
#include "io/json.h"
#include "io/rows.h"

/* --- standard error --------------------------------------------------------------------------- */

static bool bar_shown; /* a progress line stands unfinished on the terminal */

static void clear_bar(void)
{
    if (bar_shown) {
        (void)fputs("\r\033[K", stderr);
        bar_shown = false;
    }
}

static void draw_bar(void *ctx, const char *stage, int64_t done, int64_t total)
{
    enum { CELLS = 30, PERIOD_MS = 100 };
    static int64_t shown;
    (void)ctx;
    struct timespec now = {0};
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    int64_t ms = (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
    bool last = total > 0 && done >= total;
    if (last) {
        clear_bar();
        return;
    }
    if (ms - shown < PERIOD_MS) {
        return;
    }
    shown = ms;
    char cells[CELLS + 1];
    int full = total > 0 ? (int)(CELLS * ((double)done / (double)total)) : 0;
    for (int i = 0; i < CELLS; ++i) {
        cells[i] = i < full ? '#' : '.';
    }
    cells[CELLS] = '\0';
    if (total > 0) {
        (void)fprintf(stderr, "\r\033[K[%s] %lld/%lld %s", cells, (long long)done, (long long)total,
                      stage);
    } else {
        (void)fprintf(stderr, "\r\033[K%lld %s", (long long)done, stage);
    }
    bar_shown = true;
}

const cs_progress *cs_output_progress(const cs_args *args)
{
    static const cs_progress bar = {draw_bar, NULL};
    return isatty(STDERR_FILENO) && !cs_args_flag(args, "quiet") ? &bar : NULL;
}

void cs_output_note(const cs_args *args, const char *format, ...)
{
    if (cs_args_flag(args, "quiet")) {
        return;
    }
    clear_bar();
    va_list list;
    va_start(list, format);
    (void)vfprintf(stderr, format, list);
    va_end(list);
    (void)fputc('\n', stderr);
}

/* --- files ------------------------------------------------------------------------------------ */

static void look(cs_opt_output *output)
{
    struct stat st;
    bool found = lstat(output->path, &st) == 0;
    output->inode = found ? (uint64_t)st.st_ino : 0;
    output->changed = found ? st.st_ctim : (struct timespec){0};
}

cs_status cs_output_begin(cs_args *args, const char *path)
{
    cs_opt_output *grown = cs_realloc(args->output, args->outputs + 1, sizeof *grown);
    if (!grown) {
        return CS_ERR_MEMORY;
    }
    args->output = grown;
    cs_opt_output output = {.path = cs_strdup(path)};
    if (!output.path) {
        return CS_ERR_MEMORY;
    }
    look(&output);
    args->output[args->outputs++] = output;
    return CS_OK;
}

void cs_output_discard(cs_args *args)
{
    bool replaced = false;
    for (int i = 0; i < args->outputs; ++i) {
        const cs_opt_output *before = &args->output[i];
        cs_opt_output now = {.path = before->path};
        look(&now);
        if (now.inode != before->inode || now.changed.tv_sec != before->changed.tv_sec ||
            now.changed.tv_nsec != before->changed.tv_nsec) {
            (void)unlink(now.path);
            replaced = replaced || before->inode != 0;
        }
    }
    const char *dir = replaced && !args->started ? cs_args_text(args, "output") : NULL;
    char *manifest = dir ? cs_path_join(dir, "manifest.json") : NULL;
    if (manifest) {
        (void)unlink(manifest);
    }
    cs_free(manifest);
}

cs_status cs_output_path(cs_args *args, const char *file, char **out)
{
    const char *dir = cs_args_text(args, "output");
    if (!dir) {
        return cs_fail(CS_ERR_USAGE, "%s needs -o DIR", cs_args_command(args)->name);
    }
    cs_status status = cs_dir_make(dir);
    char *path = status == CS_OK ? cs_path_join(dir, file) : NULL;
    if (status == CS_OK) {
        status = path ? cs_output_begin(args, path) : CS_ERR_MEMORY;
    }
    if (status != CS_OK) {
        cs_free(path);
        return status;
    }
    *out = path;
    return CS_OK;
}

cs_status cs_output_claim(const cs_args *args, const char *file)
{
    const char *dir = cs_args_text(args, "output");
    if (dir && cs_path_exists(dir) && !cs_path_is_dir(dir)) {
        return cs_fail(CS_ERR_USAGE, "-o %s: no directory", dir);
    }
    if (!dir || cs_args_flag(args, "force") || cs_args_flag(args, "resume")) {
        return CS_OK;
    }
    char *path = cs_path_join(dir, file);
    if (!path) {
        return CS_ERR_MEMORY;
    }
    cs_status status = CS_OK;
    if (cs_path_exists(path)) {
        status = cs_fail(CS_ERR_USAGE, "%s exists; --force overwrites it", path);
    }
    cs_free(path);
    return status;
}

static cs_status write_form(cs_args *args, const char *name, const char *suffix, json_t *json,
                            const cs_table *table)
{
    char *file = cs_format("%s%s", name, suffix), *path = NULL;
    cs_status status = file ? cs_output_claim(args, file) : CS_ERR_MEMORY;
    if (status == CS_OK) {
        status = cs_output_path(args, file, &path);
    }
    if (status == CS_OK) {
        status = json ? cs_json_write(path, json) : cs_table_write_csv(table, path);
    }
    cs_free(path);
    cs_free(file);
    return status;
}

/* Definitions are sentences, the same in many rows; a column of nothing tells nothing. */
static bool for_the_eye(const cs_table *table, int column)
{
    bool empty = table->rows > 0;
    for (int64_t r = 0; r < table->rows && empty; ++r) {
        empty = table->cell[r * table->columns + column][0] == '\0';
    }
    return !empty && strcmp(table->name[column], "definition") != 0;
}

static cs_status print_brief(const cs_table *table, FILE *out)
{
    cs_table brief = {.rows = table->rows}; /* borrows names and cells */
    int *from = cs_alloc(table->columns, sizeof *from);
    brief.name = cs_alloc(table->columns, sizeof *brief.name);
    brief.cell = cs_alloc(table->columns * table->rows, sizeof *brief.cell);
    cs_status status = from && brief.name && brief.cell ? CS_OK : CS_ERR_MEMORY;
    for (int c = 0; c < table->columns && status == CS_OK; ++c) {
        if (for_the_eye(table, c)) {
            brief.name[brief.columns] = table->name[c];
            from[brief.columns++] = c;
        }
    }
    for (int64_t i = 0; i < brief.rows * brief.columns && status == CS_OK; ++i) {
        brief.cell[i] = table->cell[i / brief.columns * table->columns + from[i % brief.columns]];
    }
    if (status == CS_OK) {
        status = cs_table_print_text(&brief, out);
    }
    cs_free(from);
    cs_free(brief.name);
    cs_free(brief.cell);
    return status;
}

/* Closes a memory stream; memory is all that one can lack. */
static cs_status close_memory(FILE *out, cs_status status)
{
    bool bad = ferror(out) != 0;
    bad = fclose(out) != 0 || bad;
    if (bad) {
        cs_reason_clear();
        status = cs_fail(CS_ERR_MEMORY, "out of memory for the printed result");
    }
    return status;
}

cs_status cs_output_show(cs_args *args, int count, const cs_table *const *table)
{
    assert(!args->shown);
    cs_status status = CS_OK;
    FILE *out = open_memstream(&args->shown, &args->shown_size);
    if (!out) {
        return cs_fail(CS_ERR_MEMORY, "out of memory for the printed result");
    }
    for (int i = 0; i < count && status == CS_OK; ++i) {
        if (i > 0) {
            (void)fputc('\n', out);
        }
        status = print_brief(table[i], out);
    }
    return close_memory(out, status);
}

/* Puts the form asked for into memory: standard output waits until the run is complete. */
static cs_status set_printed(cs_args *args, json_t *json, const cs_table *table)
{
    assert(!args->printed);
    cs_status status = CS_OK;
    FILE *out = open_memstream(&args->printed, &args->printed_size);
    if (!out) {
        return cs_fail(CS_ERR_MEMORY, "out of memory for the printed result");
    }
    bool as_csv = cs_args_flag(args, "csv");
    if (cs_args_flag(args, "json") || (!table && !as_csv)) {
        status = cs_json_print(out, json);
    } else if (as_csv) {
        status = cs_table_print_csv(table, out);
    } else if (args->shown) {
        (void)fwrite(args->shown, 1, args->shown_size, out);
    } else {
        status = print_brief(table, out);
    }
    return close_memory(out, status);
}

cs_status cs_output_print(cs_args *args)
{
    clear_bar();
    size_t size = args->printed_size;
    bool ok = size == 0 || fwrite(args->printed, 1, size, stdout) == size;
    if (!ok || fflush(stdout) != 0) {
        return cs_fail(CS_ERR_IO, "standard output: %s", strerror(errno));
    }
    return CS_OK;
}

cs_status cs_output_result(cs_args *args, const char *name, json_t *json, const cs_table *table)
{
    if ((cs_args_flag(args, "json") && !json) || (cs_args_flag(args, "csv") && !table)) {
        return cs_fail(CS_ERR_USAGE, "%s has no %s form", cs_args_command(args)->name,
                       json ? "CSV" : "JSON");
    }
    cs_status status = CS_OK;
    if (cs_args_given(args, "output") && !cs_args_flag(args, "dry-run")) {
        args->result = cs_strdup(name);
        status = args->result ? CS_OK : CS_ERR_MEMORY;
        if (status == CS_OK && json) {
            status = write_form(args, name, ".json", json, NULL);
        }
        if (status == CS_OK && table) {
            status = write_form(args, name, ".csv", NULL, table);
        }
    }
    return status == CS_OK ? set_printed(args, json, table) : status;
}

static cs_status write_text(cs_args *args, const char *name, const char *text, int64_t size)
{
    char *file = cs_format("%s.txt", name), *path = NULL;
    cs_status status = file ? cs_output_claim(args, file) : CS_ERR_MEMORY;
    if (status == CS_OK) {
        status = cs_output_path(args, file, &path);
    }
    if (status == CS_OK) {
        status = cs_file_write(path, text, size);
    }
    cs_free(path);
    cs_free(file);
    return status;
}

cs_status cs_output_text(cs_args *args, const char *name, json_t *json, const char *text,
                         int64_t size)
{
    bool as_json = cs_args_flag(args, "json");
    if ((as_json && !json) || cs_args_flag(args, "csv")) {
        return cs_fail(CS_ERR_USAGE, "%s has no %s form", cs_args_command(args)->name,
                       as_json ? "JSON" : "CSV");
    }
    cs_status status = CS_OK;
    if (cs_args_given(args, "output")) {
        status = write_text(args, name, text, size);
        if (status == CS_OK && json) {
            status = write_form(args, name, ".json", json, NULL);
        }
    }
    if (status != CS_OK || as_json) {
        return status == CS_OK ? set_printed(args, json, NULL) : status;
    }
    assert(!args->printed);
    args->printed = malloc((size_t)size + 1); /* freed with free, as a stream's buffer is */
    if (!args->printed) {
        return cs_fail(CS_ERR_MEMORY, "out of memory for the printed result");
    }
    memcpy(args->printed, text, (size_t)size);
    args->printed_size = (size_t)size;
    return CS_OK;
}

cs_status cs_output_again(cs_args *args, const char *name)
{
    const char *dir = cs_args_text(args, "output");
    json_t *json = NULL;
    cs_table table = {0};
    char *json_path = cs_format("%s/%s.json", dir, name);
    char *csv_path = cs_format("%s/%s.csv", dir, name);
    cs_status status = json_path && csv_path ? CS_OK : CS_ERR_MEMORY;
    if (status == CS_OK && cs_path_exists(json_path)) {
        status = cs_json_read(json_path, &json);
    }
    bool has_table = csv_path && cs_path_exists(csv_path);
    if (status == CS_OK && has_table) {
        status = cs_table_read_csv(csv_path, &table);
    }
    bool as_json = cs_args_flag(args, "json"), as_csv = cs_args_flag(args, "csv");
    if (status == CS_OK && (as_json ? !json : as_csv ? !has_table : !json && !has_table)) {
        status =
            cs_fail(CS_ERR_INPUT,
                    "%s: the finished run has no %s.%s to print; --resume --force runs it anew",
                    dir, name, as_csv ? "csv" : "json");
    }
    if (status == CS_OK) {
        status = set_printed(args, json, has_table ? &table : NULL);
    }
    json_decref(json);
    cs_table_free(&table);
    cs_free(json_path);
    cs_free(csv_path);
    return status;
}

void cs_output_refuted(cs_args *args)
{
    args->refuted = true;
}

void cs_output_unfinished(cs_args *args)
{
    args->unfinished = true;
}

void cs_output_elsewhere(cs_args *args)
{
    args->delegated = true;
    cs_args_find(args, "quiet", strlen("quiet"))->flag = true;
}

bool cs_output_is_refuted(const cs_args *args)
{
    return args->refuted;
}

/* --- inputs ----------------------------------------------------------------------------------- */

/* Calls list_directory: as deep as the folders, which list_tree bounds.
 * NOLINTBEGIN(misc-no-recursion) */
static cs_status list_tree(FILE *list, const char *path, int depth, int64_t *bytes);

/* One line "<sha256>  <path below the root>" a file, in byte order of names. */
static cs_status list_directory(FILE *list, const char *dir, int depth, int64_t *bytes)
{
    struct dirent **entry = NULL;
    int count = scandir(dir, &entry, NULL, alphasort);
    if (count < 0) {
        return cs_fail(CS_ERR_IO, "%s: %s", dir, strerror(errno));
    }
    cs_status status = CS_OK;
    for (int i = 0; i < count; ++i) {
        const char *name = entry[i]->d_name;
        if (status == CS_OK && strcmp(name, ".") != 0 && strcmp(name, "..") != 0) {
            char *path = cs_path_join(dir, name);
            (void)fprintf(list, "%d %s\n", depth, name);
            status = path ? list_tree(list, path, depth + 1, bytes) : CS_ERR_MEMORY;
            cs_free(path);
        }
        free(entry[i]);
    }
    free(entry);
    return status;
}

static cs_status list_tree(FILE *list, const char *path, int depth, int64_t *bytes)
{
    enum { DEEPEST = 64 };
    struct stat st;
    cs_status status = cs_interrupt_check();
    if (status != CS_OK) {
        return status;
    }
    if (stat(path, &st) != 0) {
        return cs_fail(CS_ERR_IO, "%s: %s", path, strerror(errno));
    }
    if (S_ISDIR(st.st_mode)) {
        return depth < DEEPEST
                   ? list_directory(list, path, depth, bytes)
                   : cs_fail(CS_ERR_INPUT, "%s: more than %d folders deep", path, DEEPEST);
    }
    if (!S_ISREG(st.st_mode)) {
        return CS_OK;
    }
    char hex[65];
    status = cs_sha256_file(path, hex);
    if (status == CS_OK) {
        (void)fprintf(list, "%s\n", hex);
        *bytes += st.st_size;
    }
    return status;
}
/* NOLINTEND(misc-no-recursion) */

cs_status cs_output_hash(const char *path, char hex[65], int64_t *bytes)
{
    *bytes = 0;
    if (!cs_path_is_dir(path)) {
        struct stat st;
        cs_status status = cs_sha256_file(path, hex);
        *bytes = status == CS_OK && stat(path, &st) == 0 ? (int64_t)st.st_size : 0;
        return status;
    }
    char *text = NULL;
    size_t size = 0;
    FILE *list = open_memstream(&text, &size);
    if (!list) {
        return cs_fail(CS_ERR_MEMORY, "out of memory for the file list of %s", path);
    }
    cs_status status = list_tree(list, path, 0, bytes);
    bool bad = ferror(list) != 0;
    bad = fclose(list) != 0 || bad;
    if (status == CS_OK && bad) {
        status = cs_fail(CS_ERR_MEMORY, "out of memory for the file list of %s", path);
    }
    if (status == CS_OK) {
        cs_sha256(text, size, hex);
    }
    free(text);
    return status;
}

cs_status cs_output_input(cs_args *args, const char *path)
{
    for (int i = 0; i < args->inputs; ++i) {
        if (strcmp(args->input[i].path, path) == 0) {
            return CS_OK;
        }
    }
    cs_opt_input *grown = cs_realloc(args->input, args->inputs + 1, sizeof *grown);
    if (!grown) {
        return CS_ERR_MEMORY;
    }
    args->input = grown;
    cs_opt_input input = {0};
    cs_status status = cs_output_hash(path, input.sha256, &input.bytes);
    if (status == CS_OK) {
        input.path = cs_strdup(path);
        status = input.path ? CS_OK : CS_ERR_MEMORY;
    }
    if (status == CS_OK) {
        args->input[args->inputs++] = input;
    }
    return status;
}

cs_status cs_output_input_rows(cs_args *args, const char *text)
{
    char *path = NULL, *name = NULL;
    cs_status status = cs_rows_split(text, &path, &name);
    if (status == CS_OK && (status = cs_rows_check_name(text, path)) == CS_OK) {
        status = cs_output_input(args, path);
    }
    cs_free(path);
    cs_free(name);
    return status;
}
