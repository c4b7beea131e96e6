/* manifest.json: what a run was, so that it can be repeated, and recognised as the same run. */
#include <cblas.h>
#include <jansson.h>
#include <nettle/version.h>
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <utf8proc.h>

#include "base/auto.h"
#include "base/build_id.h"
#include "base/clock.h"
#include "base/enum_names.h"
#include "base/hash.h"
#include "base/threads.h"
#include "cli/args.h"
#include "cli/output.h"
#include "io/digests.h"
#include "io/file.h"
#include "io/json.h"
#include "io/run_id.h"
#include "version.h"

static json_t *libraries(void)
{
    unsigned xx = XXH_versionNumber();
    char pcre2[64] = ""; /* "10.42 2022-12-11" */
    (void)pcre2_config(PCRE2_CONFIG_VERSION, pcre2);
    return json_pack("{s:s, s:s, s:s, s:s, s:o, s:s, s:s, s:o}", "openblas", openblas_get_config(),
                     "openblas_kernel", openblas_get_corename(), "arpack", CS_ARPACK_VERSION,
                     "jansson", jansson_version_str(), "xxhash",
                     json_sprintf("%u.%u.%u", xx / 10000, xx / 100 % 100, xx % 100), "utf8proc",
                     utf8proc_version(), "pcre2", pcre2, "nettle",
                     json_sprintf("%d.%d", nettle_version_major(), nettle_version_minor()));
}

static json_t *words(const cs_words *list)
{
    json_t *array = json_array();
    bool ok = array != NULL;
    for (int i = 0; i < list->count && ok; ++i) {
        /* An argument that is not UTF-8 (a file name may be) cannot be JSON. */
        json_t *text = json_string(list->text[i]);
        ok = json_array_append_new(array, text ? text : json_string("(not UTF-8)")) == 0;
    }
    return cs_json_whole(array, ok);
}

/* The command line as a shell would take it. */
static json_t *command_line(const cs_args *args)
{
    json_t *array = words(&args->line);
    bool ok = array && json_array_insert_new(array, 0, json_string(args->command->name)) == 0 &&
              json_array_insert_new(array, 0, json_string("cospec")) == 0;
    return cs_json_whole(array, ok);
}

static json_t *inputs(const cs_args *args)
{
    json_t *array = json_array();
    bool ok = array != NULL;
    for (int i = 0; i < args->inputs && ok; ++i) {
        const cs_opt_input *in = &args->input[i];
        ok = json_array_append_new(array, json_pack("{s:s, s:s, s:I}", "path", in->path, "sha256",
                                                    in->sha256, "bytes", (json_int_t)in->bytes)) ==
             0;
    }
    return cs_json_whole(array, ok);
}

/* The files that this run and other runs have written into the folder. */
static json_t *outputs(const cs_args *args)
{
    const char *dir = cs_args_text(args, "output");
    json_t *array = json_array();
    cs_status status = array ? CS_OK : CS_ERR_MEMORY;
    /* The work is done by now: an interrupt that comes this late loses none of it. */
    cs_interrupt_hold(true);
    for (int i = 0; i < args->outputs - 1 && status == CS_OK; ++i) { /* the last: the manifest */
        status = cs_digest_put(array, dir, args->output[i].path + strlen(dir) + 1);
    }
    for (int i = 0; i < args->claimed.count && status == CS_OK; ++i) {
        const char *name = args->claimed.text[i];
        if (!strchr(name, '/')) status = cs_digest_put(array, dir, name); /* else a study's step */
    }
    if (status == CS_OK) status = cs_digest_keep(array, dir);
    cs_interrupt_hold(false);
    return cs_json_whole(array, status == CS_OK);
}

static json_t *start_time(double wall_seconds)
{
    struct timespec now = {0};
    char text[40] = "";
    (void)clock_gettime(CLOCK_REALTIME, &now);
    time_t start = now.tv_sec - (time_t)wall_seconds;
    struct tm tm;
    if (gmtime_r(&start, &tm)) {
        (void)strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &tm);
    }
    return json_string(text);
}

static cs_status write_manifest(const cs_args *args, bool finished, double wall_seconds,
                                json_t *written, const char *path)
{
    const int64_t seed = cs_args_int(args, "seed");
    char *directory = getcwd(NULL, 0);
    json_auto_t *m = json_object();
    cs_status status = m ? CS_OK : CS_ERR_MEMORY;
    const struct {
        const char *key;
        json_t *value;
    } field[] = {
        {"command", json_string(args->command->name)},
        {"arguments", words(&args->positional)},
        {"options", cs_args_json(args)},
        {"given", cs_args_names_json(args, false)},
        {"supposed", cs_args_names_json(args, true)},
        {"argv", command_line(args)},
        {"directory", directory ? json_string(directory) : json_null()},
        {"version", json_string(CS_VERSION)},
        {"commit", json_string(CS_COMMIT)},
        {"program_build_id", json_string(cs_build_id())},
        {"libraries", libraries()},
        {"threads", json_integer(cs_threads())},
        {"seed", seed == INT64_MIN ? json_null() : json_integer(seed)},
        {"inputs", inputs(args)},
        {"outputs", written},
        {"result", args->result ? json_string(args->result) : json_null()},
        {"exit_code", json_integer(args->exit_code)},
        {"finished", json_boolean(finished)},
        {"started", start_time(wall_seconds)},
        {"wall_seconds", cs_json_number(wall_seconds)},
        {"processor_seconds", cs_json_number(cs_processor_seconds())},
    };
    for (size_t i = 0; i < sizeof field / sizeof field[0]; ++i) {
        cs_status set = m ? cs_json_set(m, field[i].key, field[i].value) : CS_ERR_MEMORY;
        status = status == CS_OK ? set : status;
    }
    if (status == CS_OK) status = cs_digest_write(path, m);
    free(directory);
    return status;
}

cs_status cs_output_manifest(cs_args *args, double wall_seconds)
{
    const char *path = NULL;
    cs_status status = cs_output_path(args, "manifest.json", &path);
    return status != CS_OK
               ? status
               : write_manifest(args, !args->unfinished, wall_seconds, outputs(args), path);
}

cs_status cs_output_start(cs_args *args)
{
    const char *path = cs_args_join(args, cs_args_text(args, "output"), "manifest.json");
    cs_status status = path ? write_manifest(args, false, 0.0, json_array(), path) : CS_ERR_MEMORY;
    args->started = status == CS_OK;
    return status;
}

/* --- resume ----------------------------------------------------------------------------------- */

/* Options that change where or how a result appears, not what it is. */
static const char manner[] =
    "output json csv all threads resume force quiet config dry-run help device "
    "memory scratch";

static bool is_manner(const cs_args *args, const char *option)
{
    const bool shows = !cs_command_without(args->command, "metric"); /* else it computes others */
    return cs_listed(manner, option) || (shows && strcmp(option, "metric") == 0);
}

static bool has_name(const json_t *names, const char *name)
{
    size_t i;
    const json_t *item = NULL;
    json_array_foreach(names, i, item)
    {
        if (json_is_string(item) && strcmp(json_string_value(item), name) == 0) {
            return true;
        }
    }
    return false;
}

/* CS_ERR_USAGE, naming the first option that differs with both values, if `then` ("options" and
 * "supposed" as in a manifest) is of another run. Options that change only where or how a result
 * appears may differ, and so may those that the command continues with, which sets *go_on. */
static cs_status same_options(const cs_args *args, const char *where, const json_t *then,
                              bool *go_on)
{
    const char *continues = args->command->continues, *key = NULL;
    const json_t *options = json_object_get(then, "options"),
                 *supposed = json_object_get(then, "supposed");
    json_auto_t *now = cs_args_json(args), *was = json_object();
    json_t *value = NULL;
    cs_status status = now && was ? CS_OK : CS_ERR_MEMORY;
    json_object_foreach(now, key, value)
    {
        /* An option added later than the run had its default; a value that the command had chosen is
         * chosen again. */
        json_t *old = json_object_get(options, key);
        const bool open = (!old || has_name(supposed, key)) && !cs_args_given(args, key),
                   listed = cs_listed(continues, key);
        *go_on = *go_on || (listed && !open && !json_equal(old, value));
        if (open || listed || is_manner(args, key)) old = value;
        if (old) cs_json_put(&status, was, key, json_incref(old));
    }
    return status == CS_OK ? cs_run_same(where, "run with --", was, now) : status;
}

/* *go_on: an option with which the command goes on from a finished run has changed. */
static cs_status compare(const cs_args *args, const json_t *manifest, const char *dir, bool *go_on)
{
    json_auto_t *position = words(&args->positional);
    const char *command = json_string_value(json_object_get(manifest, "command"));
    cs_status status = position ? CS_OK : CS_ERR_MEMORY;
    if (status == CS_OK && (!command || strcmp(command, args->command->name) != 0))
        status = cs_fail(CS_ERR_USAGE, "--resume: %s contains a run of '%s'", dir,
                         command ? command : "?");
    if (status == CS_OK && !json_equal(position, json_object_get(manifest, "arguments"))) {
        *go_on = cs_listed(args->command->continues, "arguments");
        if (!*go_on)
            status = cs_fail(CS_ERR_USAGE, "--resume: %s contains a run with other arguments", dir);
    }
    return status == CS_OK ? same_options(args, dir, manifest, go_on) : status;
}

static cs_status same_run(const cs_args *args, const json_t *manifest, const char *dir, bool *same)
{
    const char *recorded = json_string_value(json_object_get(manifest, "program_build_id"));
    json_int_t code = json_integer_value(json_object_get(manifest, "exit_code"));
    bool go_on = json_is_false(json_object_get(manifest, "finished"));
    cs_status status = cs_args_flag(args, "force") ? CS_OK : compare(args, manifest, dir, &go_on);
    if (status != CS_OK) return status;
    *same = false;
    if (cs_args_flag(args, "force") || go_on || code > 1 || !recorded || !*recorded ||
        strcmp(recorded, cs_build_id()) != 0) {
        return CS_OK;
    }
    CS_AUTO_FREE char *change = NULL;
    status = cs_digest_changed_input(manifest, &change);
    *same = status == CS_OK && !change;
    if (*same && cs_digest_check_all(dir) != CS_OK) { /* what is damaged is made anew */
        cs_output_note(args, "%s", cs_reason());
        cs_reason_clear();
        *same = false;
    }
    if (*same && args->command->whole && args->command->whole(dir) != CS_OK) {
        cs_reason_clear(); /* the command says what it does about it */
        *same = false;
    }
    if (status == CS_ERR_IO) { /* an input that is gone is for the command to name */
        cs_reason_clear();
        status = CS_OK;
    }
    return status;
}

cs_status cs_output_resume(cs_args *args)
{
    const char *dir = cs_args_text(args, "output");
    json_auto_t *manifest = NULL;
    const char *path = cs_args_join(args, dir, "manifest.json");
    if (!path || !cs_path_exists(path)) {
        return path ? CS_OK : CS_ERR_MEMORY;
    }
    cs_status status = cs_json_read(path, &manifest);
    if (status == CS_OK) status = same_run(args, manifest, dir, &args->resumed);
    if (status == CS_OK) cs_output_takes_over(args);
    if (status == CS_OK && args->resumed) {
        const char *name = json_string_value(json_object_get(manifest, "result"));
        cs_output_note(args, "%s: already finished; kept", dir);
        args->refuted = json_integer_value(json_object_get(manifest, "exit_code")) == 1;
        status = name ? cs_output_again(args, name) : CS_OK;
    }
    return status;
}

/* --- unfinished runs -------------------------------------------------------------------------- */

cs_status cs_partial_run_begin(cs_args *args, cs_partial_run *out)
{
    const char *dir = cs_args_text(args, "output");
    const bool resume = cs_args_flag(args, "resume");
    bool go_on = false;
    cs_partial_run u = {.path = dir ? cs_args_join(args, dir, "unfinished.json") : NULL};
    cs_status status = !dir || u.path ? CS_OK : CS_ERR_MEMORY;
    if (status == CS_OK && !resume) status = cs_output_claim(args, "unfinished.json");
    if (status == CS_OK && dir) status = cs_dir_make(dir);
    if (status == CS_OK && dir && resume && cs_path_exists(u.path)) {
        status = cs_json_read(u.path, &u.kept);
        if (status == CS_OK) status = same_options(args, u.path, u.kept, &go_on);
    } else if (status == CS_OK) {
        u.kept = json_pack("{s:o, s:o}", "options", cs_args_json(args), "supposed",
                           cs_args_names_json(args, true));
        status = u.kept ? CS_OK : CS_ERR_MEMORY;
    }
    if (status != CS_OK) json_decref(u.kept);
    if (status == CS_OK) *out = u;
    return status;
}

cs_status cs_partial_run_save(const cs_partial_run *u)
{
    return u->path ? cs_json_write(u->path, u->kept) : CS_OK;
}

void cs_partial_run_end(cs_partial_run *u, cs_status status)
{
    if (u->path && status == CS_OK) (void)unlink(u->path);
    json_decref(u->kept);
    *u = (cs_partial_run){0};
}
