/* Runs a study's steps as child processes: each is a plain cospec run that a reader can repeat by
 * hand, and a crash of one loses none of the others' results. */
#include "cli/study.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/threads.h"
#include "io/file.h"
#include "io/json.h"
#include "version.h"

enum { MOST_WORDS = 128, STEPS_LIMIT = 1 << 20 };

static void step_free(cs_step *step)
{
    cs_free(step->name);
    cs_free(step->command);
    for (int i = 0; i < step->words; ++i) {
        cs_free(step->word[i]);
    }
    cs_free(step->word);
}

void cs_study_free(cs_study *study)
{
    for (int64_t i = 0; i < study->steps; ++i) {
        step_free(&study->step[i]);
    }
    cs_free(study->step);
    cs_free(study->dir);
    memset(study, 0, sizeof *study);
}

/* `text` with every @ replaced by "dir/". */
static char *expand(const char *text, const char *dir)
{
    char *out = cs_strdup("");
    while (out) {
        size_t plain = strcspn(text, "@");
        char *longer = cs_format("%s%.*s%s%s", out, (int)plain, text, text[plain] ? dir : "",
                                 text[plain] ? "/" : "");
        cs_free(out);
        out = longer;
        if (text[plain] == '\0') {
            break;
        }
        text += plain + 1;
    }
    return out;
}

/* Splits "COMMAND ARGUMENT..." at blanks. */
static cs_status split_words(char *text, const char *dir, cs_step *step)
{
    step->word = cs_calloc(MOST_WORDS, sizeof *step->word);
    if (!step->word) {
        return CS_ERR_MEMORY;
    }
    char *save = NULL;
    for (char *word = strtok_r(text, " \t", &save); word; word = strtok_r(NULL, " \t", &save)) {
        if (step->words == MOST_WORDS) {
            return cs_fail(CS_ERR_INPUT, "more than %d words", MOST_WORDS);
        }
        if (!(step->word[step->words] = expand(word, dir))) {
            return CS_ERR_MEMORY;
        }
        step->words += 1;
    }
    return step->words > 0 ? CS_OK : cs_fail(CS_ERR_INPUT, "no command after the colon");
}

/* One non-empty line without its comment. */
static cs_status parse_step(char *line, const cs_study *study, cs_step *out)
{
    char *colon = strchr(line, ':');
    if (!colon || colon == line) {
        return cs_fail(CS_ERR_INPUT, "want NAME: COMMAND ARGUMENT..., got \"%s\"", line);
    }
    *colon = '\0';
    for (int64_t i = 0; i < study->steps; ++i) {
        if (strcmp(study->step[i].name, line) == 0) {
            return cs_fail(CS_ERR_INPUT, "step %s appears twice", line);
        }
    }
    char *command = colon + 1 + strspn(colon + 1, " \t");
    out->exit_code = -1;
    out->name = cs_strdup(line);
    out->command = expand(command, study->dir);
    return out->name && out->command ? split_words(command, study->dir, out) : CS_ERR_MEMORY;
}

/* Appends a parsed line; empty lines and comments add nothing. */
static cs_status add_line(cs_study *study, char *line)
{
    line[strcspn(line, "#")] = '\0';
    line += strspn(line, " \t");
    for (size_t n = strlen(line); n > 0 && strchr(" \t\r", line[n - 1]); --n) {
        line[n - 1] = '\0';
    }
    if (*line == '\0') {
        return CS_OK;
    }
    cs_step *longer = cs_realloc(study->step, study->steps + 1, sizeof *longer);
    if (!longer) {
        return CS_ERR_MEMORY;
    }
    study->step = longer;
    cs_step step = {0};
    cs_status status = parse_step(line, study, &step);
    if (status != CS_OK) {
        step_free(&step);
        return status;
    }
    study->step[study->steps++] = step;
    return CS_OK;
}

cs_status cs_study_read(const char *path, const char *dir, cs_study *out)
{
    cs_study study = {.dir = cs_strdup(dir)};
    char *text = NULL;
    int64_t size = 0;
    cs_status status = study.dir ? cs_file_read(path, STEPS_LIMIT, &text, &size) : CS_ERR_MEMORY;
    int64_t number = 1;
    for (char *line = text; line && status == CS_OK; ++number) {
        char *end = strchr(line, '\n');
        if (end) {
            *end = '\0';
        }
        status = cs_blame(add_line(&study, line), "%s:%lld", path, (long long)number);
        line = end ? end + 1 : NULL;
    }
    if (status == CS_OK && study.steps == 0) {
        status = cs_fail(CS_ERR_INPUT, "%s: no steps", path);
    }
    cs_free(text);
    if (status == CS_OK) {
        *out = study;
    } else {
        cs_study_free(&study);
    }
    return status;
}

/* 0, 1 and 4 are outcomes of an audit, not failures of the run. */
static bool is_outcome(int exit_code)
{
    return exit_code == 0 || exit_code == 1 || exit_code == 4;
}

/* Keeps a step that an earlier run of the same version finished. */
static bool finished_before(const char *record, cs_step *step)
{
    json_t *json = NULL;
    if (!cs_path_exists(record) || cs_json_read(record, &json) != CS_OK) {
        cs_reason_clear();
        return false;
    }
    const char *command = json_string_value(json_object_get(json, "command"));
    const char *commit = json_string_value(json_object_get(json, "commit"));
    int exit_code = (int)json_integer_value(json_object_get(json, "exit"));
    bool same = command && commit && strcmp(command, step->command) == 0 &&
                strcmp(commit, CS_VERSION " " CS_COMMIT) == 0 && is_outcome(exit_code);
    if (same) {
        step->exit_code = exit_code;
        step->seconds = json_number_value(json_object_get(json, "seconds"));
        step->kept = true;
    }
    json_decref(json);
    return same;
}

static cs_status write_record(const char *record, const cs_step *step)
{
    json_t *json =
        json_pack("{s:s, s:s, s:i, s:f}", "command", step->command, "commit",
                  CS_VERSION " " CS_COMMIT, "exit", step->exit_code, "seconds", step->seconds);
    cs_status status = json ? cs_json_write(record, json) : CS_ERR_MEMORY;
    json_decref(json);
    return status;
}

/* Spawns the child with its output in files and waits for it. */
static cs_status spawn_step(const char *program, const cs_step *step, const char *folder,
                            bool resume, int *exit_code)
{
    char *out = cs_path_join(folder, "stdout.txt"), *err = cs_path_join(folder, "stderr.txt");
    char *argv[MOST_WORDS + 6];
    cs_status status = out && err ? CS_OK : CS_ERR_MEMORY;
    char dash_o[] = "-o", force[] = "--force", go_on[] = "--resume";
    char *self = cs_strdup(program), *where = cs_strdup(folder);
    int n = 0;
    argv[n++] = self;
    for (int i = 0; i < step->words; ++i) {
        argv[n++] = step->word[i];
    }
    argv[n++] = dash_o;
    argv[n++] = where;
    /* A folder without a manifest holds an unfinished run of this very step: its command may go on
     * where it stopped. */
    char *manifest = cs_path_join(folder, "manifest.json");
    argv[n++] = resume && manifest && !cs_path_exists(manifest) ? go_on : force;
    cs_free(manifest);
    argv[n] = NULL;
    if (status == CS_OK && self && where) {
        posix_spawn_file_actions_t actions;
        (void)posix_spawn_file_actions_init(&actions);
        int code = posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, out,
                                                    O_WRONLY | O_CREAT | O_TRUNC, 0666);
        code = code ? code
                    : posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, err,
                                                       O_WRONLY | O_CREAT | O_TRUNC, 0666);
        pid_t pid = 0;
        code = code ? code : posix_spawn(&pid, program, &actions, NULL, argv, environ);
        (void)posix_spawn_file_actions_destroy(&actions);
        int wait_status = 0;
        if (code != 0) {
            status = cs_fail(CS_ERR_IO, "%s: %s", program, strerror(code));
        } else {
            while (waitpid(pid, &wait_status, 0) < 0 && errno == EINTR) {
            }
            *exit_code =
                WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 128 + WTERMSIG(wait_status);
        }
    }
    cs_free(self);
    cs_free(where);
    cs_free(out);
    cs_free(err);
    return status;
}

/* The last line of a step's stderr, for the reason. */
static void last_message(const char *folder, char *buffer, size_t room)
{
    char *path = cs_path_join(folder, "stderr.txt"), *text = NULL;
    int64_t size = 0;
    buffer[0] = '\0';
    if (path && cs_file_read(path, STEPS_LIMIT, &text, &size) == CS_OK) {
        while (size > 0 && text[size - 1] == '\n') {
            text[--size] = '\0';
        }
        char *line = strrchr(text, '\n');
        (void)snprintf(buffer, room, "%s", line ? line + 1 : text);
    }
    cs_reason_clear();
    cs_free(path);
    cs_free(text);
}

static cs_status run_step(cs_step *step, const char *program, const char *folder,
                          const char *record, bool resume)
{
    struct timespec from, to;
    (void)clock_gettime(CLOCK_MONOTONIC, &from);
    int exit_code = 0;
    cs_status status = spawn_step(program, step, folder, resume, &exit_code);
    (void)clock_gettime(CLOCK_MONOTONIC, &to);
    if (status != CS_OK) {
        return status;
    }
    step->exit_code = exit_code;
    step->seconds = (double)(to.tv_sec - from.tv_sec) + 1e-9 * (double)(to.tv_nsec - from.tv_nsec);
    if (is_outcome(exit_code)) {
        return write_record(record, step);
    }
    if (exit_code == 130 || cs_interrupted()) {
        return cs_fail(CS_ERR_INTERRUPT, "interrupted in step %s; run again with --resume to go on",
                       step->name);
    }
    char message[512];
    last_message(folder, message, sizeof message);
    return cs_fail(CS_ERR_INPUT, "step %s ended with exit code %d: %s (see %s/stderr.txt)",
                   step->name, exit_code, message, folder);
}

cs_status cs_study_run(cs_study *study, const char *program, bool resume,
                       cs_study_announce announce, void *ctx)
{
    cs_status status = CS_OK;
    for (int64_t i = 0; i < study->steps && status == CS_OK; ++i) {
        cs_step *step = &study->step[i];
        char *folder = cs_path_join(study->dir, step->name);
        char *record = folder ? cs_path_join(folder, "step.json") : NULL;
        status = record ? cs_interrupt_check() : CS_ERR_MEMORY;
        if (status == CS_OK && !(resume && finished_before(record, step))) {
            announce(ctx, study, i);
            if ((status = cs_dir_make(folder)) == CS_OK) {
                status = run_step(step, program, folder, record, resume);
            }
        }
        cs_free(folder);
        cs_free(record);
    }
    return status;
}
