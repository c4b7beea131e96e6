/* cospec data: the corpora known by name, their preparation, and what is in a corpus.
 *
 * Counts of a corpus as items of a record. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/enum_names.h"
#include "base/ints.h"
#include "base/plural.h"
#include "base/threads.h"
#include "cli/commands.h"
#include "cli/groups.h"
#include "cli/output.h"
#include "image/image_sources.h"
#include "io/file.h"
#include "text/synthetic.h"

static cs_status length_stats(const cs_corpus *c, cs_item *root)
{
    int64_t n = c->documents;
    CS_AUTO_FREE int64_t *length = cs_alloc(n, sizeof *length);
    if (!length) return CS_ERR_MEMORY;
    for (int64_t d = 0; d < n; ++d) {
        length[d] = c->doc_ptr[d + 1] - c->doc_ptr[d];
    }
    qsort(length, (size_t)n, sizeof *length, cs_by_size);
    cs_item *stats = cs_item_object(root, "document_length");
    cs_item_int(stats, "min", n ? length[0] : 0);
    cs_item_int(stats, "median", n ? length[n / 2] : 0);
    cs_item_real(stats, "mean", n ? (double)c->tokens / (double)n : 0.0);
    cs_item_int(stats, "p90", n ? length[(n - 1) * 9 / 10] : 0);
    cs_item_int(stats, "max", n ? length[n - 1] : 0);
    return CS_OK;
}

/* A row a class, and one row "-" for documents without one. */
static cs_status class_stats(const cs_corpus *c, cs_item *root)
{
    cs_item *classes = cs_item_array(root, "classes");
    CS_AUTO_FREE int64_t *count =
        cs_calloc(3 * (c->labels + 1), sizeof *count); /* documents, tokens, held out */
    if (!count) return CS_ERR_MEMORY;
    for (int64_t d = 0; d < c->documents; ++d) {
        int64_t *of = count + 3 * (c->label[d] < 0 ? c->labels : c->label[d]);
        of[0] += 1;
        of[1] += c->doc_ptr[d + 1] - c->doc_ptr[d];
        of[2] += c->held_out[d];
    }
    for (int64_t l = 0; l <= c->labels; ++l) {
        const int64_t *of = count + 3 * l;
        if (of[0] == 0) {
            continue;
        }
        cs_item *item = cs_item_object(classes, NULL);
        cs_item_text(item, "label", l < c->labels ? c->label_name[l] : "-");
        cs_item_int(item, "documents", of[0]);
        cs_item_int(item, "tokens", of[1]);
        cs_item_int(item, "held_out", of[2]);
    }
    return CS_OK;
}

static cs_status synthetic_stats(const cs_corpus *corpus, cs_item *root)
{
    CS_AUTO(cs_synthetic) language = {0};
    if (!cs_synthetic_named(corpus->name)) {
        return CS_OK;
    }
    cs_item *splits = cs_item_array(root, "law");
    cs_status status = cs_synthetic_parse(corpus->name, &language);
    for (int test = 0; test < 2 && status == CS_OK; ++test) {
        cs_synthetic_score score = {0};
        status = cs_synthetic_score_of(&language, corpus, test == 1, &score);
        if (status != CS_OK || score.documents == 0) {
            continue;
        }
        cs_item *item = cs_item_object(splits, NULL);
        cs_item_text(item, "split", test ? "test" : "train");
        CS_ITEM_FIELDS(item, &score, documents, bayes_error, bayes_risk);
        cs_item_real(item, "first_token_nats", score.first);
        cs_item_real(item, "next_token_nats", score.next);
    }
    return status;
}

/* Adds to `root`: name, path, checksum and sizes; "document_length" (min, median, mean, p90, max),
 * "classes", an object for each class with documents, tokens and those held out, and for a
 * synthetic language "law", its score (cs_synthetic_score) on each split that has documents. Errors of
 * cs_synthetic_score_of. */
static cs_status corpus_stats(const cs_corpus *corpus, cs_item *root)
{
    cs_item_text(root, "name", corpus->name ? corpus->name : "");
    cs_item_text(root, "path", corpus->path ? corpus->path : "");
    CS_ITEM_FIELDS(root, corpus, sha256, documents, tokens, labels, dropped_documents,
                   unknown_tokens);
    cs_item_int(root, "vocabulary", corpus->vocab);
    cs_status status = length_stats(corpus, root);
    if (status == CS_OK) status = class_stats(corpus, root);
    return status == CS_OK ? synthetic_stats(corpus, root) : status;
}

/* One line about the content of a corpus, written to `to` of `size` bytes and returned. */
static const char *corpus_totals(const cs_corpus *c, char *to, size_t size)
{
    bool listed = c->word && c->unknown == 0; /* <unk> is an id, but no word */
    int64_t words = listed ? c->vocab - 1 : c->vocab;
    (void)snprintf(to, size,
                   "%lld documents, %lld tokens, %lld distinct %s, %lld tokens unknown, %lld "
                   "documents dropped",
                   (long long)c->documents, (long long)c->tokens, (long long)words,
                   listed ? "words" : "ids", (long long)c->unknown_tokens,
                   (long long)c->dropped_documents);
    cs_plural_agree(to);
    return to;
}

static const cs_opt *const data_groups[] = {cs_group_corpus_reading, cs_group_roles, NULL};

/* --- list ------------------------------------------------------------------------------------- */

static cs_status list_source(const cs_corpus_source *source, cs_item *list)
{
    CS_AUTO_FREE char *path = NULL;
    cs_status status = cs_source_path(source->name, &path);
    if (status != CS_OK) return status;
    bool prepared = cs_path_exists(path);
    cs_item *item = cs_item_object(list, NULL);
    CS_ITEM_FIELDS(item, source, name, package, licence, labelled, summary);
    cs_item_flag(item, "prepared", prepared);
    cs_item_text(item, "path", path);
    cs_item_text(item, "~labelled", source->labelled ? "yes" : "no");
    cs_item_text(item, "~prepared", prepared ? "yes" : "no");
    return CS_OK;
}

static cs_status run_list(cs_args *args)
{
    static const cs_view view = {
        "corpora[]", "name package licence labelled=~labelled prepared=~prepared summary"};
    cs_item *list = cs_item_array(cs_output_root(args), "corpora");
    cs_status status = CS_OK;
    for (int i = 0; cs_source_at(i) && status == CS_OK; ++i) {
        status = list_source(cs_source_at(i), list);
    }
    return status == CS_OK ? cs_output_record(args, "corpora", &view) : status;
}

/* --- prepare ---------------------------------------------------------------------------------- */

static cs_status prepare_one(cs_args *args, const char *name, cs_item *list)
{
    CS_AUTO_FREE char *note = NULL, *path = NULL;
    cs_status status = cs_source_prepare(name, cs_args_flag(args, "force"), &note);
    if (status == CS_OK) status = cs_source_path(name, &path);
    if (status == CS_OK) {
        cs_item *item = cs_item_object(list, NULL);
        cs_item_text(item, "name", name);
        cs_item_text(item, "path", path);
        cs_item_text(item, "note", note ? note : "");
    }
    return status;
}

static cs_status run_prepare(cs_args *args)
{
    static const cs_view view = {"prepared[]", "name path note"};
    const int named = cs_args_positionals(args) - 1;
    cs_item *list = cs_item_array(cs_output_root(args), "prepared");
    cs_status status = CS_OK;
    for (int i = 0; (named > 0 ? i < named : cs_source_at(i) != NULL) && status == CS_OK; ++i) {
        const char *name = named > 0 ? cs_args_positional(args, i + 1) : cs_source_at(i)->name;
        status = cs_interrupt_check();
        if (status == CS_OK) status = prepare_one(args, name, list);
    }
    return status == CS_OK ? cs_output_record(args, "prepared", &view) : status;
}

/* --- stats ------------------------------------------------------------------------------------ */

static cs_status image_stats(cs_args *args, const char *source)
{
    static const cs_view view = {"classes[]", "label images held_out"};
    enum { ROWS = 16, COLUMNS = 12 };
    const char *sheet = NULL;
    CS_AUTO(cs_images) m = {0};
    cs_status status = cs_args_load_images(args, source, NULL, 1, &m);
    if (status == CS_OK)
        status = cs_images_describe(&m, cs_args_threads(args), cs_output_root(args));
    if (status == CS_OK && cs_args_given(args, "output")) {
        status = cs_output_path(args, "contact.png", &sheet);
        if (status == CS_OK) status = cs_images_sheet(&m, ROWS, COLUMNS, cs_args_seed(args), sheet);
    }
    if (status == CS_OK) {
        cs_output_note(args, "%lld images of %lld x %lld x %lld", (long long)m.count,
                       (long long)m.height, (long long)m.width, (long long)m.channels);
        status = cs_output_record(args, "stats", &view);
    }
    return status;
}

static cs_status run_stats(cs_args *args)
{
    const char *source = cs_args_positional(args, 1);
    bool images = false;
    cs_status status = cs_images_are(source, &images);
    if (status != CS_OK) return status;
    if (images && !cs_args_given_in(args, "patch codes window")) {
        return image_stats(args, source);
    }
    static const cs_view view = {"classes[]", "label documents tokens held_out"};
    char totals[256];
    CS_AUTO(cs_corpus) c = {0};
    status = cs_args_load_corpus(args, source, &c);
    if (status != CS_OK) return status;
    status = corpus_stats(&c, cs_output_root(args));
    if (status == CS_OK) {
        cs_output_note(args, "%s", corpus_totals(&c, totals, sizeof totals));
        status = cs_output_record(args, "stats", &view);
    }
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
        return cs_fail(CS_ERR_USAGE, "unknown action '%s' (list, prepare, stats)%s", verb,
                       cs_choice_hint(verb, "list|prepare|stats", &(cs_hint){0}));
    }
    if (list && words > 1) {
        return cs_fail(CS_ERR_USAGE, "data list takes no argument, got '%s'",
                       cs_args_positional(args, 1));
    }
    const char *reading = cs_args_given_of(args, cs_group_corpus_reading);
    reading = reading ? reading : cs_args_given_of(args, cs_group_roles);
    if (reading) {
        return cs_fail(CS_ERR_USAGE, "--%s does not apply to 'data %s'", reading, verb);
    }
    return list ? run_list(args) : run_prepare(args);
}

const cs_command cs_cmd_data = {
    .name = "data",
    .help = &cs_help_data,
    .positional = "list|prepare|stats [NAME|FILE|DIR...]",
    .groups = data_groups,
    .run = run_data,
    .without = "dry-run",
};
