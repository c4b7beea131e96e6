/* The table of commands, and how one is run. */
#include "cli/commands.h"
#include "base/auto.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/enum_names.h"
#include "base/plugin.h"
#include "base/threads.h"
#include "cli/args.h"
#include "cli/in_memory.h"
#include "cli/output.h"
#include "cli/progress_bar.h"
#include "image/image_sources.h"
#include "io/file.h"
#include "text/corpus.h"

#define CS_ENTER_COMMAND(name) &cs_cmd_##name,
const cs_command *const cs_commands[] = {CS_COMMANDS(CS_ENTER_COMMAND) NULL};

cs_status cs_command_by_name(const char *name, const cs_command **out)
{
    cs_hint hint = {0};
    cs_hint_consider(name, "--version", &hint);
    cs_hint_consider(name, "--help", &hint);
    char dashed[64];
    (void)snprintf(dashed, sizeof dashed, "%s", name);
    for (char *p = dashed; *p; ++p) {
        *p = (char)(*p == '_' ? '-' : *p);
    }
    for (int i = 0; cs_commands[i]; ++i) {
        if (strcmp(dashed, cs_commands[i]->name) == 0) {
            *out = cs_commands[i];
            return CS_OK;
        }
        cs_hint_consider(name, cs_commands[i]->name, &hint);
    }
    return cs_fail(CS_ERR_USAGE, "unknown command '%s'%s", name,
                   hint.name[0] ? cs_hint_text("", &hint) : "; 'cospec help' lists the commands");
}

int cs_exit_code(cs_status status)
{
    switch (status) {
    case CS_OK:
        return 0;
    case CS_ERR_USAGE:
        return 2;
    case CS_ERR_INPUT:
    case CS_ERR_IO:
    case CS_ERR_MEMORY:
        return 3;
    case CS_ERR_CONVERGE:
        return 4;
    case CS_ERR_DEVICE:
        return 5;
    case CS_ERR_INTERRUPT:
        return 130;
    }
    return 3;
}

cs_status cs_show(cs_opt_writer *write, const cs_command *const *commands)
{
    write(commands, stdout);
    return ferror(stdout) ? cs_fail(CS_ERR_IO, "standard output cannot be written") : CS_OK;
}

/* --dry-run prepares nothing, so a corpus that a first run would make has no documents yet. */
static cs_status check_prepared(const char *sources)
{
    cs_status status = CS_OK;
    for (bool more = !cs_path_exists(sources); more && status == CS_OK;) {
        const char *side = NULL;
        CS_AUTO_FREE char *source = NULL, *path = NULL;
        if (cs_corpus_next_source(&sources, &source) != CS_OK) cs_reason_clear();
        const cs_corpus_source *named = source ? cs_corpus_named(source, &side) : NULL;
        const char *name = named ? named->name : source;
        if (named || (source && cs_images_named(source))) status = cs_source_path(name, &path);
        if (status == CS_OK && path && !cs_path_exists(path))
            status =
                cs_fail(CS_ERR_INPUT,
                        "--dry-run: %s has not been prepared; cospec data prepare %s does that",
                        name, name);
        more = source;
    }
    return status;
}

static cs_status check_all_prepared(const cs_args *args)
{
    static const char *const option[] = {"corpus", "tasks"};
    cs_status status = CS_OK;
    for (int i = 0; i < cs_args_positionals(args) && status == CS_OK; ++i) {
        status = check_prepared(cs_args_positional(args, i));
    }
    for (size_t i = 0; i < sizeof option / sizeof *option && status == CS_OK; ++i) {
        const cs_opt_value *v = cs_args_find(args, option[i], strlen(option[i]));
        if (v && v->given) status = check_prepared(cs_args_text(args, option[i]));
    }
    return status;
}

static cs_status apply_common(const cs_args *args)
{
    const char *device = cs_args_text(args, "device");
    const cs_command *command = cs_args_command(args);
    if (device && cs_device_is_cuda(device) && !command->gpu) {
        return cs_fail(CS_ERR_DEVICE, "--device %s: %s runs on the CPU only", device,
                       command->name);
    }
    if (cs_args_flag(args, "json") && cs_args_flag(args, "csv")) {
        return cs_fail(CS_ERR_USAGE, "--json and --csv exclude each other");
    }
    if (cs_args_flag(args, "resume") && !cs_args_given(args, "output")) {
        return cs_fail(CS_ERR_USAGE, "--resume needs -o DIR");
    }
    const cs_opt_value *mpi = cs_args_find(args, "mpi", strlen("mpi"));
    bool gpu = device && cs_device_is_cuda(device);
    if (mpi && mpi->flag && gpu) {
        return cs_fail(CS_ERR_USAGE, "--device cuda works in a single process; leave --mpi out");
    }
    if (cs_args_flag(args, "dry-run")) {
        cs_status status = check_all_prepared(args);
        if (status != CS_OK) return status;
    }
    if (cs_args_given(args, "threads")) {
        cs_threads_set((int)cs_args_int(args, "threads"));
    }
    return cs_threads_blas_check();
}

/* The manifest, which hashes the inputs whatever signal comes, then standard output. A run that did
 * not converge is a complete run too, and one that was interrupted with a partial result; their
 * reason gives way to that of a file that cannot be written. */
static cs_status finish(cs_args *args, cs_status status, double wall_seconds)
{
    char reason[1024];
    (void)snprintf(reason, sizeof reason, "%s", cs_reason());
    cs_reason_clear();
    cs_status written = CS_OK;
    cs_interrupt_hold(true);
    if (cs_args_given(args, "output") && !cs_args_flag(args, "dry-run")) {
        written = cs_output_manifest(args, wall_seconds);
    }
    if (written != CS_OK) {
        cs_output_discard(args);
    } else {
        written = cs_output_print(args);
    }
    cs_interrupt_hold(false);
    if (written == CS_OK && status == CS_OK && cs_interrupted())
        return cs_fail(CS_ERR_INTERRUPT,
                       "interrupted after everything was computed: the result is complete%s",
                       cs_args_given(args, "output") && !cs_command_without(args->command, "resume")
                           ? ", and --resume keeps it"
                           : "");
    return written == CS_OK && status != CS_OK ? cs_fail(status, "%s", reason) : written;
}

static cs_status run_command(const cs_command *command, cs_args *args)
{
    const cs_opt_value *mpi = cs_args_find(args, "mpi", strlen("mpi"));
    double start = cs_seconds();
    cs_status status = apply_common(args);
    /* Ranks agree on it when they have joined (cs_ranks_resume). */
    if (status == CS_OK && cs_args_flag(args, "resume") && !(mpi && mpi->flag))
        status = cs_output_resume(args);
    if (args->resumed) {
        return status == CS_OK ? cs_output_print(args) : status;
    }
    if (status == CS_OK && command->files && !cs_args_flag(args, "dry-run"))
        status = cs_output_claim(args, command->files);
    if (status != CS_OK) return status;
    if (!cs_args_flag(args, "quiet")) cs_progress_start(60);
    status = command->run(args);
    cs_progress_stop();
    args->exit_code = status == CS_OK && args->refuted ? 1 : cs_exit_code(status);
    if (args->delegated) {
        return status;
    }
    if (args->resumed) {
        return status == CS_OK ? cs_output_print(args) : status;
    }
    bool partial = status == CS_ERR_INTERRUPT && args->unfinished;
    if (status != CS_OK && status != CS_ERR_CONVERGE && !partial) {
        cs_output_discard(args);
        return cs_output_blame_writer(args, status);
    }
    return finish(args, status, cs_seconds() - start);
}

/* Counts a run inside another one, or takes it off the count. Studies and manifests may run commands, and so may
 * run themselves; child processes inherit the count. */
static cs_status count_run(int change)
{
    enum { DEEPEST = 8 };
    const char name[] = "COSPEC_DEPTH", *text = getenv(name);
    char next[24];
    const long depth = (text ? strtol(text, NULL, 10) : 0) + change;
    if (depth < 0 || depth > DEEPEST)
        return cs_fail(CS_ERR_INPUT,
                       "runs are nested more than %d deep; check that no study or manifest runs "
                       "itself",
                       DEEPEST);
    (void)snprintf(next, sizeof next, "%ld", depth);
    return setenv(name, next, 1) == 0 ? CS_OK : cs_fail(CS_ERR_MEMORY, "out of memory");
}

cs_status cs_command_execute(const cs_command *command, int argc, char **argv, bool part,
                             bool *refuted)
{
    CS_AUTO(cs_args) *args = NULL;
    *refuted = false;
    cs_status status = cs_args_parse(command, argc, argv, &args);
    if (status == CS_OK && cs_args_flag(args, "help-all")) {
        status = cs_show(cs_opt_help_all, &command);
    } else if (status == CS_OK && cs_args_flag(args, "help")) {
        status = cs_show(cs_opt_help, &command);
    } else if (status == CS_OK) {
        args->part = part;
        status = count_run(1);
        if (status == CS_OK && (status = run_command(command, args)) == CS_OK)
            status = count_run(-1);
        *refuted = args->refuted;
        /* mpirun kills all ranks when one ends with a code, and rank 0 may not have printed yet. */
        if (args->follows) status = CS_OK;
        cs_output_release(args);
    }
    return status;
}

cs_status cs_command_task(const cs_command *command, int argc, char **argv,
                          struct cs_task_tables *tables)
{
    CS_AUTO(cs_args) *args = NULL;
    cs_status status = cs_args_parse(command, argc, argv, &args);
    if (status == CS_OK) {
        args->tables = tables;
        status = run_command(command, args);
        cs_output_release(args);
    }
    return status;
}

cs_status cs_command_in_memory(const cs_command *command, int argc, char **argv,
                               cs_in_memory *memory, char **json)
{
    CS_AUTO(cs_args) *args = NULL;
    cs_status status = cs_args_parse(command, argc, argv, &args);
    if (status == CS_OK) {
        args->memory = memory;
        cs_args_find(args, "json", strlen("json"))->flag = true;
        cs_threads_set(0); /* the default, whatever an earlier call took */
        status = apply_common(args);
    }
    if (status == CS_OK)
        status = cs_args_refuse(args, "output config resume force mpi",
                                "needs files, but arguments are in memory");
    if (status == CS_OK) status = command->run(args);
    if (status == CS_OK || status == CS_ERR_CONVERGE) {
        *json = args->printed;
        args->printed = NULL;
    }
    return status;
}

int cs_command_run(const cs_command *command, int argc, char **argv)
{
    bool refuted = false;
    cs_status status = cs_command_execute(command, argc, argv, false, &refuted);
    return status == CS_OK && refuted ? 1 : cs_exit_code(status);
}
