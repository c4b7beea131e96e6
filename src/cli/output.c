/* Results, notes and progress. Files come before standard output, so that a reader who goes away
 * costs no result; every byte of standard output is checked. */
#include "cli/output.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analysis/trained/task_scores.h"
#include "base/auto.h"
#include "base/enum_names.h"
#include "base/plural.h"
#include "base/threads.h"
#include "base/visible.h"
#include "cli/args.h"
#include "cli/in_memory.h"
#include "cli/progress_bar.h"
#include "io/digests.h"
#include "io/file.h"
#include "io/json.h"
#include "io/number.h"

/* --- standard error --------------------------------------------------------------------------- */

const cs_progress *cs_output_progress(const cs_args *args)
{
    return cs_args_flag(args, "quiet") ? NULL
           : args->memory              ? args->memory->progress
                                       : &cs_progress_shown;
}

void cs_output_note(const cs_args *args, const char *format, ...)
{
    if (cs_args_flag(args, "quiet")) return;
    va_list list;
    va_start(list, format);
    CS_AUTO_FREE char *text = cs_format_list(format, list);
    va_end(list);
    if (text) cs_plural_agree(text);
    const char *shown = text ? text : format;
    if (args->memory) {
        if (args->memory->note) args->memory->note(shown);
    } else {
        cs_progress_clear();
        flockfile(stderr); /* a line of progress may come from another thread */
        cs_visible_write(stderr, shown, strlen(shown), "\t"); /* one line, whatever it names */
        (void)putc('\n', stderr);
        funlockfile(stderr);
    }
}

/* The texts of every list "warnings" in the record. */
static void note_warnings(const cs_args *args, const char *key, const json_t *value)
{
    const char *name = NULL;
    json_t *item = NULL;
    size_t i = 0;
    if (json_is_string(value) && strcmp(key, "warnings") == 0) {
        cs_output_note(args, "%s", json_string_value(value));
    }
    json_array_foreach(value, i, item)
    {
        note_warnings(args, key, item);
    }
    json_object_foreach((json_t *)value, name, item)
    {
        note_warnings(args, name, item);
    }
}

/* --- results ---------------------------------------------------------------------------------- */

/* A result in every form that it has. */
typedef struct {
    json_t *json;
    const cs_table *table, *brief; /* brief: what aligned text is a selection of */
    const char *text;              /* verbatim, `size` bytes */
    int64_t size;
} forms;

static cs_status write_form(cs_args *args, const char *name, const char *suffix, const forms *f)
{
    const char *path = NULL;
    const char *file = cs_args_format(args, "%s%s", name, suffix);
    cs_status status = file ? cs_output_path(args, file, &path) : CS_ERR_MEMORY;
    if (status == CS_OK)
        status = f->json    ? cs_json_write(path, f->json)
                 : f->table ? cs_table_write_csv(f->table, path)
                            : cs_file_write(path, f->text, f->size);
    return status;
}

/* Those without have another --metric, or none. */
static bool metric_given(const cs_args *args)
{
    return !cs_command_without(cs_args_command(args), "metric") && cs_args_given(args, "metric");
}

static bool row_is_shown(const cs_args *args, const cs_table *table, int64_t row)
{
    const char *metrics = cs_args_command(args)->metrics, *by = cs_args_command(args)->by;
    int metric = cs_table_column(table, by ? by : "metric");
    const char *name = metric >= 0 ? table->cell[row * table->columns + metric] : "";
    if (metric_given(args)) {
        for (int i = 0; i < cs_args_count(args, "metric"); ++i) {
            if (strcmp(cs_args_text_at(args, "metric", i), name) == 0) {
                return true;
            }
        }
        return false;
    }
    return cs_args_flag(args, "all") || metric < 0 || !metrics || cs_listed(metrics, name);
}

/* Definitions are sentences, the same in many rows; a column that is empty in all shown rows
 * (`rows` of them) is left out. */
static bool column_is_shown(const cs_args *args, const cs_table *table, int column, int64_t rows)
{
    const char *shown = cs_args_command(args)->shown, *name = table->name[column];
    bool empty = rows > 0;
    for (int64_t r = 0; r < table->rows && empty; ++r) {
        empty =
            table->cell[r * table->columns + column][0] == '\0' || !row_is_shown(args, table, r);
    }
    return cs_args_flag(args, "all") ||
           (!empty && (shown ? cs_listed(shown, name) : strcmp(name, "definition") != 0));
}

/* Metrics that this result has no rows of. */
static void note_metrics(const cs_args *args, const cs_table *table)
{
    int metric = cs_table_column(table, "metric");
    for (int i = 0; metric_given(args) && i < cs_args_count(args, "metric"); ++i) {
        const char *name = cs_args_text_at(args, "metric", i);
        bool found = false;
        for (int64_t r = 0; r < table->rows && metric >= 0 && !found; ++r) {
            found = strcmp(table->cell[r * table->columns + metric], name) == 0;
        }
        if (!found) {
            cs_output_note(args, "--metric %s: the result has no such metric", name);
        }
    }
}

/* How many rows are printed. 0: all; below 0: the last. */
static int64_t most_rows(const cs_args *args)
{
    const cs_command *command = cs_args_command(args);
    const char *asked = command->rows && cs_args_given(args, command->rows)
                            ? cs_args_text(args, command->rows)
                            : NULL;
    int64_t rows = command->most;
    if (asked && cs_parse_int(asked, command->rows, 1, INT64_MAX, &rows) != CS_OK) {
        cs_reason_clear(); /* "all": --all prints as many */
    }
    return cs_args_flag(args, "all") ? 0 : rows > command->most ? rows : command->most;
}

/* Prints the part of the table that the user asked about. */
static cs_status print_selection(const cs_args *args, const cs_table *table, FILE *out)
{
    cs_table brief = {0}; /* borrows names and cells */
    const int64_t most = most_rows(args);
    int64_t wanted = 0, passed = 0;
    CS_AUTO_FREE int *from = cs_alloc(table->columns, sizeof *from);
    brief.name = cs_alloc(table->columns, sizeof *brief.name);
    brief.cell = cs_alloc(table->columns * table->rows, sizeof *brief.cell);
    cs_status status = from && brief.name && brief.cell ? CS_OK : CS_ERR_MEMORY;
    note_metrics(args, table);
    for (int64_t r = 0; r < table->rows; ++r) {
        wanted += row_is_shown(args, table, r);
    }
    for (int c = 0; c < table->columns && status == CS_OK; ++c) {
        if (column_is_shown(args, table, c, wanted)) {
            brief.name[brief.columns] = table->name[c];
            from[brief.columns++] = c;
        }
    }
    const int64_t first = most < 0 && wanted + most > 0 ? wanted + most : 0;
    const int64_t end = most > 0 && most < wanted ? most : wanted;
    for (int64_t r = 0; r < table->rows && status == CS_OK; ++r) {
        if (!row_is_shown(args, table, r) || passed++ < first || passed > end) {
            continue;
        }
        for (int c = 0; c < brief.columns; ++c) {
            brief.cell[brief.rows * brief.columns + c] = table->cell[r * table->columns + from[c]];
        }
        brief.rows += 1;
    }
    if (status == CS_OK) status = cs_table_print_text(&brief, out);
    if (status == CS_OK && brief.rows < table->rows && !metric_given(args)) {
        cs_output_note(args, "%lld of %lld rows shown; give --all to show all of them",
                       (long long)brief.rows, (long long)table->rows);
    }
    CS_FREE_FIELDS(&brief, name, cell);
    return status;
}

static cs_status print_brief(const cs_args *args, const cs_table *table, FILE *out)
{
    const cs_command *command = cs_args_command(args);
    bool printed = false;
    cs_status status = CS_OK;
    if (command->digest && !cs_args_flag(args, "all") && !metric_given(args))
        status = command->digest(table, out, &printed);
    return status == CS_OK && !printed ? print_selection(args, table, out) : status;
}

/* --- a result without a table ----------------------------------------------------------------- */

static cs_status add_field(cs_table *table, const char *name, const char *value)
{
    cs_status status = cs_table_row(table);
    if (status == CS_OK) status = cs_table_text(table, "field", name);
    return status == CS_OK ? cs_table_text(table, "value", value) : status;
}

static cs_status add_fields(cs_table *table, const char *name, const json_t *value);

/* A member of an object, or an element of an array by its number from 1.
 * NOLINTNEXTLINE(misc-no-recursion) */
static cs_status add_member(cs_table *table, const char *name, const char *key, const json_t *value)
{
    CS_AUTO_FREE char *path = name[0] ? cs_format("%s.%s", name, key) : cs_strdup(key);
    return path ? add_fields(table, path, value) : CS_ERR_MEMORY;
}

/* A row for each value, named by its path; what is null has none. NOLINTNEXTLINE(misc-no-recursion) */
static cs_status add_fields(cs_table *table, const char *name, const json_t *value)
{
    char text[CS_REAL_TEXT];
    const char *key = NULL;
    json_t *member = NULL;
    size_t i = 0;
    cs_status status = CS_OK;
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        json_object_foreach((json_t *)value, key, member)
        {
            if (status == CS_OK) status = add_member(table, name, key, member);
        }
        return status;
    case JSON_ARRAY:
        json_array_foreach(value, i, member)
        {
            (void)snprintf(text, sizeof text, "%zu", i + 1);
            if (status == CS_OK) status = add_member(table, name, text, member);
        }
        return status;
    case JSON_STRING:
        return add_field(table, name, json_string_value(value));
    case JSON_INTEGER:
        (void)snprintf(text, sizeof text, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
        return add_field(table, name, text);
    case JSON_REAL:
        cs_real_format(json_real_value(value), 6, text);
        return add_field(table, name, text);
    case JSON_TRUE:
    case JSON_FALSE:
        return add_field(table, name, json_is_true(value) ? "true" : "false");
    case JSON_NULL:
        break;
    }
    return CS_OK;
}

static cs_status print_fields(const json_t *json, FILE *out)
{
    CS_AUTO(cs_table) table = {0};
    cs_status status = cs_table_init(&table, "field,value");
    const char *key = NULL;
    json_t *value = NULL;
    json_object_foreach((json_t *)json, key, value)
    {
        if (status == CS_OK && !cs_listed("schema data", key))
            status = add_fields(&table, key, value);
    }
    return status == CS_OK ? cs_table_print_text(&table, out) : status;
}

cs_status cs_memory_close(FILE *out, cs_status status)
{
    bool bad = ferror(out) != 0;
    bad = fclose(out) != 0 || bad;
    if (bad) {
        cs_reason_clear();
        status = cs_fail(CS_ERR_MEMORY, "out of memory for the printed result");
    }
    return status;
}

/* Writes the requested form to memory: standard output waits until the run is complete. */
static cs_status set_printed(cs_args *args, const forms *f)
{
    assert(!args->printed);
    cs_status status = CS_OK;
    FILE *out = open_memstream(&args->printed, &args->printed_size);
    if (!out) {
        return cs_fail(CS_ERR_MEMORY, "out of memory for the printed result");
    }
    args->data = cs_args_flag(args, "json") || cs_args_flag(args, "csv") || f->text;
    if (cs_args_flag(args, "json")) {
        status = cs_json_print(out, f->json);
    } else if (cs_args_flag(args, "csv")) {
        status = cs_table_print_csv(f->table, out);
    } else if (f->text) {
        (void)fwrite(f->text, 1, (size_t)f->size, out);
    } else {
        status = f->table ? print_brief(args, f->brief, out) : print_fields(f->json, out);
    }
    return cs_memory_close(out, status);
}

cs_status cs_output_print(cs_args *args)
{
    cs_progress_clear();
    size_t size = args->tables ? 0 : args->printed_size;
    errno = 0;
    if (args->data && !isatty(STDOUT_FILENO)) {
        (void)fwrite(args->printed, 1, size, stdout);
    } else {
        cs_visible_write(stdout, args->printed, size, "\n\t");
    }
    if ((ferror(stdout) || fflush(stdout) != 0) &&
        errno != EPIPE) { /* else the reader has enough */
        return cs_fail(CS_ERR_IO, "standard output: %s", strerror(errno));
    }
    return CS_OK;
}

/* Leaves a table to the caller that has the arguments in memory. */
static cs_status keep_table(cs_args *args, const char *file, const cs_table *table)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out) return cs_fail(CS_ERR_MEMORY, "out of memory for %s", file);
    cs_status status = cs_memory_close(out, cs_table_print_csv(table, out));
    if (status == CS_OK && !args->memory->tables) args->memory->tables = json_object();
    if (status == CS_OK &&
        json_object_set_new(args->memory->tables, file, json_stringn(text, size)) != 0)
        status = cs_fail(CS_ERR_MEMORY, "out of memory for %s", file);
    free(text);
    return status;
}

static cs_status set_result(cs_args *args, const char *name, const forms *f)
{
    const bool csv = cs_args_flag(args, "csv") && !f->table;
    if (csv || (cs_args_flag(args, "json") && !f->json)) {
        return cs_fail(CS_ERR_USAGE, "%s has no %s form", cs_args_command(args)->name,
                       csv ? "CSV" : "JSON");
    }
    cs_status status = CS_OK;
    if (cs_args_given(args, "output") && !cs_args_flag(args, "dry-run")) {
        const forms json = {.json = f->json}, table = {.table = f->table};
        if (f->text)
            status = write_form(args, name, ".txt", &(forms){.text = f->text, .size = f->size});
        if (status == CS_OK && f->json) status = write_form(args, name, ".json", &json);
        if (status == CS_OK && f->table) status = write_form(args, name, ".csv", &table);
    }
    if (status == CS_OK && args->memory && f->table) {
        const char *file = cs_args_format(args, "%s.csv", name);
        status = file ? keep_table(args, file, f->table) : CS_ERR_MEMORY;
    }
    return status == CS_OK ? set_printed(args, f) : status;
}

cs_item *cs_output_root(cs_args *args)
{
    args->record = args->record ? args->record : cs_result_new();
    return cs_result_root(args->record);
}

/* To the command that runs this one as a task. */
static void give_table(cs_table *table, cs_table *out)
{
    *out = *table;
    *table = (cs_table){0};
}

cs_status cs_output_record(cs_args *args, const char *name, const cs_view *view)
{
    json_auto_t *json = NULL;
    CS_AUTO(cs_table) table = {0}, brief = {0};
    const cs_view *other = cs_args_command(args)->brief;
    other = view && !cs_args_flag(args, "all") && !metric_given(args) ? other : NULL;
    args->result = cs_args_keep(args, cs_strdup(name));
    cs_status status = args->result ? cs_result_json(args->record, &json) : CS_ERR_MEMORY;
    if (status == CS_OK) note_warnings(args, "", json);
    if (status == CS_OK && view) status = cs_result_table(args->record, view, &table);
    if (status == CS_OK && (cs_args_flag(args, "json") || cs_args_given(args, "output")))
        status = cs_result_add_table(args->record, view, json);
    if (status == CS_OK && other) status = cs_result_table(args->record, other, &brief);
    if (status == CS_OK)
        status = set_result(args, name,
                            &(forms){.json = json,
                                     .table = view ? &table : NULL,
                                     .brief = other ? &brief : &table});
    if (status == CS_OK && args->tables) give_table(&table, &args->tables->scores);
    return status;
}

cs_status cs_output_csv(cs_args *args, const char *file, const cs_view *view)
{
    const char *path = NULL;
    CS_AUTO(cs_table) table = {0};
    if ((!args->memory && !cs_args_given(args, "output")) || cs_args_flag(args, "dry-run"))
        return CS_OK;
    cs_status status = args->memory ? CS_OK : cs_output_path(args, file, &path);
    if (status == CS_OK) status = cs_result_table(args->record, view, &table);
    if (status == CS_OK)
        status = args->memory ? keep_table(args, file, &table) : cs_table_write_csv(&table, path);
    if (status == CS_OK && args->tables) give_table(&table, &args->tables->blocks);
    return status;
}

cs_status cs_output_text(cs_args *args, const char *name, json_t *json, const char *text,
                         int64_t size)
{
    return set_result(args, name, &(forms){.json = json, .text = text, .size = size});
}

cs_status cs_output_again(cs_args *args, const char *name)
{
    const char *dir = cs_args_text(args, "output");
    json_auto_t *json = NULL;
    CS_AUTO(cs_table) table = {0};
    const char *json_path = cs_args_format(args, "%s/%s.json", dir, name);
    const char *csv_path = cs_args_format(args, "%s/%s.csv", dir, name);
    cs_status status = json_path && csv_path ? CS_OK : CS_ERR_MEMORY;
    if (status == CS_OK && cs_path_exists(json_path)) status = cs_json_read(json_path, &json);
    bool has_table = csv_path && cs_path_exists(csv_path);
    if (status == CS_OK && has_table) status = cs_table_read_csv(csv_path, &table);
    bool as_json = cs_args_flag(args, "json"), as_csv = cs_args_flag(args, "csv");
    if (status == CS_OK && (as_json ? !json : as_csv ? !has_table : !json && !has_table)) {
        status = cs_fail(
            CS_ERR_INPUT,
            "%s: the finished run has no %s.%s to print; give --resume --force to run it again",
            dir, name, as_csv ? "csv" : "json");
    }
    if (status == CS_OK)
        status = set_printed(
            args, &(forms){.json = json, .table = has_table ? &table : NULL, .brief = &table});
    if (status == CS_OK && args->tables) {
        const char *blocks = cs_args_format(args, "%s/%s-blocks.csv", dir, name);
        give_table(&table, &args->tables->scores);
        status = blocks ? cs_table_read_csv(blocks, &args->tables->blocks) : CS_ERR_MEMORY;
    }
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
    args->follows = true;
    cs_progress_stop();
    cs_args_find(args, "quiet", strlen("quiet"))->flag = true;
}

/* --- inputs ----------------------------------------------------------------------------------- */

/* NULL: the path is no input yet. */
static cs_opt_input *find_input(const cs_args *args, const char *path)
{
    int i = args->inputs;
    while (i > 0 && strcmp(args->input[i - 1].path, path) != 0) {
        --i;
    }
    return i > 0 ? &args->input[i - 1] : NULL;
}

/* A new input, with no hash yet; NULL where it is one already. */
static cs_status add_input(cs_args *args, const char *path, cs_opt_input **out)
{
    *out = NULL;
    if (cs_args_item(args, path) || find_input(args, path)) {
        return CS_OK;
    }
    cs_opt_input *grown = cs_realloc(args->input, args->inputs + 1, sizeof *grown);
    if (!grown) return CS_ERR_MEMORY;
    args->input = grown;
    if (!args->digests) args->digests = json_object();
    cs_opt_input input = {.path = cs_args_keep(args, cs_strdup(path)),
                          .being_written = cs_output_foreign_lock(args, path)};
    if (!input.path) return CS_ERR_MEMORY;
    *out = &args->input[args->inputs++];
    **out = input;
    return CS_OK;
}

cs_status cs_output_input(cs_args *args, const char *path)
{
    cs_opt_input *input = NULL;
    cs_status status = add_input(args, path, &input);
    return input ? cs_path_sha256(path, args->digests, input->sha256, &input->bytes) : status;
}

cs_status cs_output_input_known(cs_args *args, const char *path, const char sha256[65])
{
    cs_opt_input *input = NULL;
    char **file = NULL;
    int64_t files = 0;
    cs_status status = add_input(args, path, &input);
    if (status == CS_OK && !input) input = find_input(args, path);
    if (!input || input->sha256[0]) return status;
    memcpy(input->sha256, sha256, sizeof input->sha256);
    input->bytes = 0;
    status = cs_path_is_pattern(path) ? cs_pattern_paths(path, &file, &files) : CS_OK;
    for (int64_t i = 0; status == CS_OK && i < (file ? files : 1); ++i) {
        struct stat st;
        input->bytes += stat(file ? file[i] : path, &st) == 0 ? (int64_t)st.st_size : 0;
    }
    cs_text_list_free(file, files);
    return status;
}

const char *cs_output_sha256(const cs_args *args, const char *path)
{
    const cs_opt_input *input = find_input(args, path);
    return input ? input->sha256 : "";
}

static void *hash_input(void *ctx)
{
    cs_input_hash *h = ctx;
    cs_opt_input *input = &h->input;
    h->status = cs_path_sha256(input->path, h->digests, input->sha256, &input->bytes);
    if (h->status != CS_OK) h->reason = cs_strdup(cs_reason()); /* of this thread */
    return NULL;
}

cs_status cs_output_input_begin(cs_args *args, const char *path, int threads)
{
    cs_input_hash *h = &args->hash;
    cs_opt_input *input = NULL;
    if ((threads > 0 ? threads : cs_threads()) == 1) return cs_output_input(args, path);
    cs_status status = add_input(args, path, &input);
    if (!input) return status;
    *h = (cs_input_hash){.input = *input, .digests = args->digests};
    h->running = pthread_create(&h->thread, NULL, hash_input, h) == 0;
    return h->running ? CS_OK : cs_path_sha256(path, args->digests, input->sha256, &input->bytes);
}

cs_status cs_output_input_end(cs_args *args, cs_status status)
{
    cs_input_hash *h = &args->hash;
    if (!h->running) return status;
    (void)pthread_join(h->thread, NULL);
    h->running = false;
    *find_input(args, h->input.path) = h->input;
    if (h->status != CS_OK) {
        cs_reason_clear();
        status = cs_fail(h->status, "%s", h->reason ? h->reason : "out of memory");
    }
    cs_free(h->reason);
    return status;
}

cs_status cs_output_rows_begin(cs_args *args, const char *text, int threads)
{
    CS_AUTO_FREE char *path = NULL, *name = NULL;
    cs_opt_input *input = NULL;
    struct stat st;
    bool hashed = true;
    if (cs_args_item(args, text)) return CS_OK;
    cs_status status = cs_rows_split(text, &path, &name);
    if (status == CS_OK) status = cs_rows_check_name(text, path);
    if (status == CS_OK && !cs_args_given(args, "output") && stat(path, &st) == 0 &&
        S_ISREG(st.st_mode))
        status = cs_digest_lists(path, &hashed);
    if (status != CS_OK) return status;
    return hashed ? cs_output_input_begin(args, path, threads) : add_input(args, path, &input);
}

cs_status cs_output_open_rows(cs_args *args, const char *text, cs_rows *out)
{
    cs_status status = cs_output_rows_begin(args, text, 1);
    return status == CS_OK ? cs_args_rows(args, text, out) : status;
}
