/* cospec rerun: repeats the run that a manifest describes, on inputs whose hashes it checks. */
#include <string.h>

#include "base/auto.h"
#include "base/enum_names.h"
#include "cli/args.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "io/digests.h"
#include "io/file.h"
#include "io/json.h"
#include "io/number.h"
#include "version.h"

/* Options that the repetition does not take from the manifest. */
static const char own_options[] = "output resume force quiet json csv config dry-run help";

static cs_status add_option(cs_words *w, const char *name, const json_t *value)
{
    if (json_is_boolean(value)) {
        return cs_words_take(w, cs_format("--%s=%s", name, json_is_true(value) ? "true" : "false"));
    }
    if (json_is_integer(value)) {
        return cs_words_take(w, cs_format("--%s=%lld", name, (long long)json_integer_value(value)));
    }
    if (json_is_real(value)) {
        char number[CS_REAL_TEXT];
        cs_real_format(json_real_value(value), 17, number);
        return cs_words_take(w, cs_format("--%s=%s", name, number));
    }
    if (json_is_string(value)) {
        return cs_words_take(w, cs_format("--%s=%s", name, json_string_value(value)));
    }
    return cs_fail(CS_ERR_INPUT, "option \"%s\" has no value", name);
}

static cs_status add_given(cs_words *w, const json_t *manifest)
{
    const json_t *options = json_object_get(manifest, "options");
    const json_t *given = json_object_get(manifest, "given");
    cs_status status = json_is_object(options) && json_is_array(given)
                           ? CS_OK
                           : cs_fail(CS_ERR_INPUT, "\"options\" or \"given\" is missing");
    for (size_t i = 0; i < json_array_size(given) && status == CS_OK; ++i) {
        const char *name = json_string_value(json_array_get(given, i));
        json_t *value = name ? json_object_get(options, name) : NULL;
        if (!name) {
            status = cs_fail(CS_ERR_INPUT, "\"given\" contains something other than a name");
        } else if (json_is_array(value)) {
            for (size_t j = 0; j < json_array_size(value) && status == CS_OK; ++j) {
                status = add_option(w, name, json_array_get(value, j));
            }
        } else if (!cs_listed(own_options, name)) {
            status = add_option(w, name, value);
        }
    }
    return status;
}

static cs_status add_own(cs_words *w, const cs_args *args, const json_t *manifest)
{
    const json_t *options = json_object_get(manifest, "options");
    const char *output = cs_args_text(args, "output");
    bool json = cs_args_flag(args, "json"), csv = cs_args_flag(args, "csv");
    if (!json && !csv) {
        json = json_is_true(json_object_get(options, "json"));
        csv = json_is_true(json_object_get(options, "csv"));
    }
    cs_status status = output ? cs_words_take(w, cs_format("--output=%s", output)) : CS_OK;
    const struct {
        const char *word;
        bool on;
    } flags[] = {{"--json", json},
                 {"--csv", csv},
                 {"--force", cs_args_flag(args, "force")},
                 {"--quiet", cs_args_flag(args, "quiet")}};
    for (size_t i = 0; i < sizeof flags / sizeof flags[0] && status == CS_OK; ++i) {
        status = flags[i].on ? cs_words_take(w, cs_strdup(flags[i].word)) : CS_OK;
    }
    if (status == CS_OK) status = cs_words_take(w, cs_strdup("--"));
    const json_t *positional = json_object_get(manifest, "arguments");
    for (size_t i = 0; i < json_array_size(positional) && status == CS_OK; ++i) {
        const char *text = json_string_value(json_array_get(positional, i));
        status =
            text ? cs_words_take(w, cs_strdup(text))
                 : cs_fail(CS_ERR_INPUT, "\"arguments\" contains something other than a string");
    }
    return status;
}

/* The same command on other data would not be the same run. */
static cs_status check_inputs(const cs_args *args, const json_t *manifest)
{
    CS_AUTO_FREE char *change = NULL;
    const char *directory = json_string_value(json_object_get(manifest, "directory"));
    cs_status status = cs_digest_changed_input(manifest, &change);
    if (status == CS_ERR_IO && directory)
        return cs_blame(status, "an input of the run, which was created in %s", directory);
    if (change && !cs_args_flag(args, "force")) {
        status = cs_fail(CS_ERR_INPUT,
                         "an input has changed since the run: %s; give --force to repeat it anyway",
                         change);
    }
    return status;
}

static void note_differences(const cs_args *args, const json_t *manifest)
{
    const char *version = json_string_value(json_object_get(manifest, "version"));
    const char *commit = json_string_value(json_object_get(manifest, "commit"));
    if (!version || !commit || strcmp(version, CS_VERSION) != 0 || strcmp(commit, CS_COMMIT) != 0) {
        cs_output_note(args, "the run was created by cospec %s (%s), but this is %s (%s)",
                       version ? version : "?", commit ? commit : "?", CS_VERSION, CS_COMMIT);
    }
}

static cs_status run_rerun(cs_args *args)
{
    const char *given = cs_args_positional(args, 0);
    const char *path = cs_path_is_dir(given) ? cs_args_join(args, given, "manifest.json") : given;
    json_auto_t *manifest = NULL;
    const cs_command *command = NULL;
    CS_AUTO(cs_words) w = {0};
    bool refuted = false;
    cs_status status = path ? cs_json_read(path, &manifest) : CS_ERR_MEMORY;
    if (status != CS_OK) return status;
    const char *name = json_string_value(json_object_get(manifest, "command"));
    bool whole = true;
    status = name ? cs_blame(cs_command_by_name(name, &command), "%s", path)
                  : cs_fail(CS_ERR_INPUT, "%s: not a manifest (\"command\" is missing)", path);
    if (status == CS_OK) status = cs_digest_is_whole(manifest, &whole);
    if (status == CS_OK && !whole && !cs_args_flag(args, "force"))
        status = cs_fail(
            CS_ERR_INPUT,
            "%s: was changed or damaged after cospec wrote it; give --force to repeat it as it is",
            path);
    if (status == CS_OK) status = cs_blame(add_given(&w, manifest), "%s", path);
    if (status == CS_OK) status = cs_blame(add_own(&w, args, manifest), "%s", path);
    if (status == CS_OK) status = check_inputs(args, manifest);
    if (status == CS_OK) {
        note_differences(args, manifest);
        args->delegated = true;
        status = cs_command_execute(command, w.count, w.text, false, &refuted);
        if (status == CS_ERR_USAGE) status = cs_blame(status, "%s", path);
    }
    if (refuted) {
        cs_output_refuted(args);
    }
    return status;
}

const cs_command cs_cmd_rerun = {
    .name = "rerun",
    .help = &cs_help_rerun,
    .positional = "MANIFEST|DIR",
    .groups = NULL,
    .run = run_rerun,
    .without = "seed threads device config dry-run resume",
};
