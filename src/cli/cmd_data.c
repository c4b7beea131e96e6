/* cospec data: the corpora known by name, their preparation, and what is in a corpus. */
#include <string.h>

#include "analysis/measures/corpus_stats.h"
#include "base/enum_names.h"
#include "base/mem.h"
#include "base/threads.h"
#include "cli/commands.h"
#include "cli/groups.h"
#include "cli/output.h"
#include "image/image_sources.h"
#include "image/images.h"
#include "io/file.h"
#include "io/result.h"

static const cs_opt *const data_groups[] = {cs_group_corpus_reading, cs_group_roles, NULL};

/* --- list ------------------------------------------------------------------------------------- */

static cs_status list_source(const cs_corpus_source *source, cs_item *list)
{
    char *path = NULL;
    cs_status status = cs_source_path(source->name, &path);
    if (status != CS_OK) return status;
    bool prepared = cs_path_exists(path);
    cs_item *item = cs_item_object(list, NULL);
    CS_ITEM_FIELDS(item, source, name, package, licence, labelled, summary);
    cs_item_flag(item, "prepared", prepared);
    cs_item_text(item, "path", path);
    cs_item_text(item, "~labelled", source->labelled ? "yes" : "no");
    cs_item_text(item, "~prepared", prepared ? "yes" : "no");
    cs_free(path);
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
    char *note = NULL, *path = NULL;
    cs_status status = cs_source_prepare(name, cs_args_flag(args, "force"), &note);
    if (status == CS_OK) status = cs_source_path(name, &path);
    if (status == CS_OK) {
        cs_item *item = cs_item_object(list, NULL);
        cs_item_text(item, "name", name);
        cs_item_text(item, "path", path);
        cs_item_text(item, "note", note ? note : "");
    }
    cs_free(note);
    cs_free(path);
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
    cs_images m = {0};
    cs_status status = cs_args_load_images(args, source, &m);
    if (status == CS_OK) status = cs_images_describe(&m, cs_output_root(args));
    if (status == CS_OK && cs_args_given(args, "output")) {
        status = cs_output_path(args, "contact.png", &sheet);
        if (status == CS_OK) status = cs_images_sheet(&m, ROWS, COLUMNS, cs_args_seed(args), sheet);
    }
    if (status == CS_OK) {
        cs_output_note(args, "%lld images of %lld x %lld x %lld", (long long)m.count,
                       (long long)m.height, (long long)m.width, (long long)m.channels);
        status = cs_output_record(args, "stats", &view);
    }
    cs_images_free(&m);
    return status;
}

static cs_status run_stats(cs_args *args)
{
    const char *source = cs_args_positional(args, 1);
    if (cs_images_are(source) && !cs_args_given_in(args, "patch codes window")) {
        return image_stats(args, source);
    }
    static const cs_view view = {"classes[]", "label documents tokens held_out"};
    char totals[256];
    cs_corpus c = {0};
    cs_status status = cs_args_load_corpus(args, source, &c);
    if (status != CS_OK) return status;
    status = cs_corpus_stats(&c, cs_output_root(args));
    if (status == CS_OK) {
        cs_output_note(args, "%s", cs_corpus_totals(&c, totals, sizeof totals));
        status = cs_output_record(args, "stats", &view);
    }
    cs_corpus_free(&c);
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
