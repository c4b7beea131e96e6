/* cospec data: the corpora known by name, their preparation, and what is in a corpus. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/threads.h"
#include "cli/commands.h"
#include "cli/groups.h"
#include "cli/output.h"
#include "io/file.h"
#include "io/json.h"

static const cs_opt *const data_groups[] = {cs_group_corpus_reading, NULL};

/* Options that say how to read a corpus mean something to `stats` only. */
static cs_status refuse_reading(const cs_args *args, const char *verb)
{
    for (const cs_opt *o = cs_group_corpus_reading; o->name; ++o) {
        if (cs_args_given(args, o->name)) {
            return cs_fail(CS_ERR_USAGE, "--%s has no meaning for 'data %s'", o->name, verb);
        }
    }
    return CS_OK;
}

/* --- list ------------------------------------------------------------------------------------- */

static cs_status list_source(const cs_corpus_source *source, json_t *array, cs_table *table)
{
    char *path = NULL;
    cs_status status = cs_corpus_prepared_path(source->name, &path);
    if (status != CS_OK) {
        return status;
    }
    bool prepared = cs_path_exists(path);
    json_t *item =
        json_pack("{s:s, s:s, s:s, s:b, s:b, s:s, s:s}", "name", source->name, "package",
                  source->package, "licence", source->licence, "labelled", source->labelled,
                  "prepared", prepared, "path", path, "summary", source->summary);
    if (json_array_append_new(array, item) != 0) {
        status = cs_fail(CS_ERR_MEMORY, "out of memory for the list of corpora");
    }
    const char *const cell[][2] = {
        {"name", source->name},       {"package", source->package},
        {"licence", source->licence}, {"labelled", source->labelled ? "yes" : "no"},
        {"summary", source->summary}, {"prepared", prepared ? "yes" : "no"},
    };
    if (status == CS_OK) {
        status = cs_table_row(table);
    }
    for (size_t i = 0; i < sizeof cell / sizeof cell[0] && status == CS_OK; ++i) {
        status = cs_table_text(table, cell[i][0], cell[i][1]);
    }
    cs_free(path);
    return status;
}

static cs_status run_list(cs_args *args)
{
    int count = 0;
    const cs_corpus_source *source = cs_corpus_sources(&count);
    cs_table table = {0};
    json_t *json = json_pack("{s:[]}", "corpora");
    cs_status status = json
                           ? cs_table_init(&table, "name,package,licence,labelled,prepared,summary")
                           : cs_fail(CS_ERR_MEMORY, "out of memory for the list of corpora");
    for (int i = 0; i < count && status == CS_OK; ++i) {
        status = list_source(&source[i], json_object_get(json, "corpora"), &table);
    }
    if (status == CS_OK) {
        status = cs_output_result(args, "corpora", json, &table);
    }
    cs_table_free(&table);
    json_decref(json);
    return status;
}

/* --- prepare ---------------------------------------------------------------------------------- */

static cs_status prepare_one(cs_args *args, const char *name, json_t *array, cs_table *table)
{
    char *note = NULL, *path = NULL;
    cs_status status = cs_corpus_prepare(name, cs_args_flag(args, "force"), &note);
    if (status == CS_OK) {
        status = cs_corpus_prepared_path(name, &path);
    }
    if (status == CS_OK) {
        json_t *item =
            json_pack("{s:s, s:s, s:s}", "name", name, "path", path, "note", note ? note : "");
        status = json_array_append_new(array, item) == 0
                     ? CS_OK
                     : cs_fail(CS_ERR_MEMORY, "out of memory for the list of corpora");
    }
    if (status == CS_OK) {
        status = cs_table_row(table);
    }
    if (status == CS_OK) {
        status = cs_table_text(table, "name", name);
    }
    if (status == CS_OK) {
        status = cs_table_text(table, "path", path);
    }
    if (status == CS_OK) {
        status = cs_table_text(table, "note", note ? note : "");
    }
    cs_free(note);
    cs_free(path);
    return status;
}

static cs_status run_prepare(cs_args *args)
{
    int known = 0, named = cs_args_positionals(args) - 1;
    const cs_corpus_source *source = cs_corpus_sources(&known);
    cs_table table = {0};
    json_t *json = json_pack("{s:[]}", "prepared");
    cs_status status = json ? cs_table_init(&table, "name,path,note")
                            : cs_fail(CS_ERR_MEMORY, "out of memory for the list of corpora");
    for (int i = 0; i < (named > 0 ? named : known) && status == CS_OK; ++i) {
        const char *name = named > 0 ? cs_args_positional(args, i + 1) : source[i].name;
        status = cs_interrupt_check();
        if (status == CS_OK) {
            status = prepare_one(args, name, json_object_get(json, "prepared"), &table);
        }
    }
    if (status == CS_OK) {
        status = cs_output_result(args, "prepared", json, &table);
    }
    cs_table_free(&table);
    json_decref(json);
    return status;
}

/* --- stats ------------------------------------------------------------------------------------ */

static int compare_lengths(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

static cs_status length_stats(const cs_corpus *c, json_t *json)
{
    int64_t n = c->documents;
    int64_t *length = cs_alloc(n, sizeof *length);
    if (!length) {
        return CS_ERR_MEMORY;
    }
    for (int64_t d = 0; d < n; ++d) {
        length[d] = c->doc_ptr[d + 1] - c->doc_ptr[d];
    }
    qsort(length, (size_t)n, sizeof *length, compare_lengths);
    json_t *stats = json_pack("{s:I, s:I, s:o, s:I, s:I}", "min", (json_int_t)(n ? length[0] : 0),
                              "median", (json_int_t)(n ? length[n / 2] : 0), "mean",
                              cs_json_number(n ? (double)c->tokens / (double)n : 0.0), "p90",
                              (json_int_t)(n ? length[(n - 1) * 9 / 10] : 0), "max",
                              (json_int_t)(n ? length[n - 1] : 0));
    cs_free(length);
    return cs_json_set(json, "document_length", stats);
}

/* A row a class, and one row "-" for documents without one. */
static cs_status class_stats(const cs_corpus *c, json_t *json, cs_table *table)
{
    cs_status status = CS_OK;
    json_t *array = json_array();
    int64_t *count =
        cs_calloc(3 * (c->labels + 1), sizeof *count); /* documents, tokens, held out */
    if (!count || !array) {
        status = CS_ERR_MEMORY;
        goto done;
    }
    for (int64_t d = 0; d < c->documents; ++d) {
        int64_t *of = count + 3 * (c->label[d] < 0 ? c->labels : c->label[d]);
        of[0] += 1;
        of[1] += c->doc_ptr[d + 1] - c->doc_ptr[d];
        of[2] += c->held_out[d];
    }
    for (int64_t l = 0; l <= c->labels && status == CS_OK; ++l) {
        const char *name = l < c->labels ? c->label_name[l] : "-";
        const int64_t *of = count + 3 * l;
        if (of[0] == 0) {
            continue;
        }
        json_t *item =
            json_pack("{s:s, s:I, s:I, s:I}", "label", name, "documents", (json_int_t)of[0],
                      "tokens", (json_int_t)of[1], "held_out", (json_int_t)of[2]);
        if (json_array_append_new(array, item) != 0) {
            status = cs_fail(CS_ERR_MEMORY, "out of memory for the classes");
        }
        if (status == CS_OK) {
            status = cs_table_row(table);
        }
        if (status == CS_OK) {
            status = cs_table_text(table, "label", name);
        }
        if (status == CS_OK) {
            status = cs_table_int(table, "documents", of[0]);
        }
        if (status == CS_OK) {
            status = cs_table_int(table, "tokens", of[1]);
        }
        if (status == CS_OK) {
            status = cs_table_int(table, "held_out", of[2]);
        }
    }
    if (status == CS_OK) {
        status = cs_json_set(json, "classes", json_incref(array));
    }
done:
    json_decref(array);
    cs_free(count);
    return status;
}

static const char *plural(int64_t count)
{
    return count == 1 ? "" : "s";
}

static void note_totals(const cs_args *args, const cs_corpus *c)
{
    bool listed = c->word && c->unknown == 0; /* <unk> is an id, but no word */
    int64_t words = listed ? c->vocab - 1 : c->vocab;
    cs_output_note(args,
                   "%lld document%s, %lld token%s, %lld %s%s, %lld token%s unknown, %lld "
                   "document%s dropped",
                   (long long)c->documents, plural(c->documents), (long long)c->tokens,
                   plural(c->tokens), (long long)words, listed ? "distinct word" : "token id",
                   plural(words), (long long)c->unknown_tokens, plural(c->unknown_tokens),
                   (long long)c->dropped_documents, plural(c->dropped_documents));
}

static cs_status run_stats(cs_args *args)
{
    cs_corpus corpus = {0};
    cs_table table = {0};
    json_t *json = NULL;
    cs_status status = cs_args_load_corpus(args, cs_args_positional(args, 1), &corpus);
    if (status == CS_OK) {
        json = json_pack("{s:s, s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:I}", "name",
                         corpus.name ? corpus.name : "", "path", corpus.path ? corpus.path : "",
                         "sha256", corpus.sha256, "documents", (json_int_t)corpus.documents,
                         "tokens", (json_int_t)corpus.tokens, "vocabulary",
                         (json_int_t)corpus.vocab, "labels", (json_int_t)corpus.labels,
                         "dropped_documents", (json_int_t)corpus.dropped_documents,
                         "unknown_tokens", (json_int_t)corpus.unknown_tokens);
        status = json ? CS_OK : cs_fail(CS_ERR_MEMORY, "out of memory for the statistics");
    }
    if (status == CS_OK) {
        status = cs_table_init(&table, "label,documents,tokens,held_out");
    }
    if (status == CS_OK) {
        status = length_stats(&corpus, json);
    }
    if (status == CS_OK) {
        status = class_stats(&corpus, json, &table);
    }
    if (status == CS_OK) {
        note_totals(args, &corpus);
        status = cs_output_result(args, "stats", json, &table);
    }
    json_decref(json);
    cs_table_free(&table);
    cs_corpus_free(&corpus);
    return status;
}

static cs_status run_data(cs_args *args)
{
    const char *verb = cs_args_positional(args, 0);
    int words = cs_args_positionals(args);
    if (strcmp(verb, "stats") == 0) {
        return words == 2 ? run_stats(args)
                          : cs_fail(CS_ERR_USAGE, "data stats takes one NAME, FILE or DIR");
    }
    bool list = strcmp(verb, "list") == 0;
    if (!list && strcmp(verb, "prepare") != 0) {
        return cs_fail(CS_ERR_USAGE, "data '%s': list, prepare or stats", verb);
    }
    if (list && words > 1) {
        return cs_fail(CS_ERR_USAGE, "data list takes no argument, got '%s'",
                       cs_args_positional(args, 1));
    }
    cs_status status = refuse_reading(args, verb);
    return status != CS_OK ? status : list ? run_list(args) : run_prepare(args);
}

const cs_command cs_cmd_data = {
    .name = "data",
    .summary = "List, prepare and describe corpora",
    .description =
        "  cospec data list\n"
        "  cospec data prepare [NAME...]\n"
        "  cospec data stats NAME|FILE|DIR\n\n"
        "Named corpora are made from Debian packages by the scripts in data/, checked against a "
        "recorded checksum, and kept in the cache; --force makes them again. Other corpora are "
        "files: .tsv (label, TAB, text), .txt (a document a line), .npy (token ids), or a "
        "directory with a folder a class. Text must be UTF-8.",
    .positional = "list|prepare|stats [NAME|FILE|DIR...]",
    .groups = data_groups,
    .examples = "# what there is\n"
                "cospec data list\n"
                "# make one of them\n"
                "cospec data prepare wordnet\n"
                "# classes, lengths and vocabulary\n"
                "cospec data stats wordnet --json",
    .run = run_data,
    .without = "dry-run",
};
