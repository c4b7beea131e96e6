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
#include "cli/commands.h"
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
    cs_free(study->scale);
    for (int64_t i = 0; i < study->variables; ++i) {
        cs_free(study->variable[i].name);
        cs_free(study->variable[i].value);
    }
    cs_free(study->variable);
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

/* --- variables --- */

/* A steps file being read. */
typedef struct {
    cs_study study;
    const char *wanted; /* scale; NULL: none was asked for */
    int64_t scales, chosen;
} reader;

static size_t name_length(const char *text)
{
    return strspn(text, "abcdefghijklmnopqrstuvwxyz_");
}

/* Value number `number` of "A | B | C", trimmed; NULL when there is none. Cuts the text up. */
static char *value_of(char *text, int64_t number)
{
    for (; number > 0 && text; --number) {
        text = strchr(text, '|');
        text = text ? text + 1 : NULL;
    }
    if (text) {
        text[strcspn(text, "|")] = '\0';
        text += strspn(text, " \t");
        for (size_t n = strlen(text); n > 0 && strchr(" \t", text[n - 1]); --n) {
            text[n - 1] = '\0';
        }
    }
    return text;
}

static int64_t count_values(const char *text)
{
    int64_t count = 1;
    for (; *text; ++text) {
        count += *text == '|';
    }
    return count;
}

/* "$scale = A | B | C": which of them is the wanted one. */
static cs_status choose_scale(reader *r, const char *values)
{
    const char *wanted = r->wanted ? r->wanted : "cpu";
    if (r->scales > 0) {
        return cs_fail(CS_ERR_INPUT, "$scale appears twice");
    }
    r->scales = count_values(values);
    for (int64_t i = 0; i < r->scales; ++i) {
        char *copy = cs_strdup(values);
        if (!copy) {
            return CS_ERR_MEMORY;
        }
        bool same = strcmp(value_of(copy, i), wanted) == 0;
        cs_free(copy);
        if (same) {
            r->chosen = i;
            r->study.scale = cs_strdup(wanted);
            return r->study.scale ? CS_OK : CS_ERR_MEMORY;
        }
    }
    return cs_fail(CS_ERR_USAGE, "no scale %s; there are: %s", wanted, values);
}

/* A line "$NAME = VALUE | VALUE...". */
static cs_status add_variable(reader *r, char *line)
{
    char *name = line + 1, *equals = strchr(line, '=');
    size_t length = name_length(name);
    if (!equals || length == 0 || name + length + strspn(name + length, " \t") != equals) {
        return cs_fail(CS_ERR_INPUT, "want $NAME = VALUE | VALUE..., got \"%s\"", line);
    }
    char *values = equals + 1 + strspn(equals + 1, " \t");
    name[length] = '\0';
    if (strcmp(name, "scale") == 0) {
        return choose_scale(r, values);
    }
    int64_t count = count_values(values);
    if (count != 1 && count != r->scales) {
        return cs_fail(CS_ERR_INPUT, "$%s has %lld values for %lld scales", name, (long long)count,
                       (long long)r->scales);
    }
    cs_study *study = &r->study;
    cs_study_variable *longer = cs_realloc(study->variable, study->variables + 1, sizeof *longer);
    if (!longer) {
        return CS_ERR_MEMORY;
    }
    study->variable = longer;
    cs_study_variable *v = &longer[study->variables++];
    *v = (cs_study_variable){cs_strdup(name),
                             cs_strdup(value_of(values, count == 1 ? 0 : r->chosen))};
    return v->name && v->value ? CS_OK : CS_ERR_MEMORY;
}

cs_status cs_study_substitute(const cs_study *study, const char *text, char **out)
{
    char *done = cs_strdup("");
    for (size_t plain; done; text += plain + 1 + name_length(text + plain + 1)) {
        plain = strcspn(text, "$");
        const char *value = "";
        if (text[plain]) {
            const char *name = text + plain + 1;
            size_t length = name_length(name);
            int64_t i = 0;
            while (i < study->variables && (strncmp(study->variable[i].name, name, length) != 0 ||
                                            study->variable[i].name[length] != '\0')) {
                ++i;
            }
            if (i == study->variables) {
                cs_free(done);
                return cs_fail(CS_ERR_INPUT, "no variable $%.*s", (int)length, name);
            }
            value = study->variable[i].value;
        }
        char *longer = cs_format("%s%.*s%s", done, (int)plain, text, value);
        cs_free(done);
        done = longer;
        if (text[plain] == '\0') {
            break;
        }
    }
    *out = done;
    return done ? CS_OK : CS_ERR_MEMORY;
}

/* --- steps --- */

/* The study adds -o itself: a second one would split a step's files over two folders. */
static cs_status check_words(const cs_step *step)
{
    for (int i = 1; i < step->words; ++i) {
        const char *word = step->word[i];
        if (strncmp(word, "-o", 2) == 0 || strcmp(word, "--output") == 0 ||
            strncmp(word, "--output=", 9) == 0) {
            return cs_fail(CS_ERR_INPUT, "step %s: leave %s out, -o @%s is added to the step",
                           step->name, word, step->name);
        }
    }
    return CS_OK;
}

/* One non-empty line without its comment. */
static cs_status parse_step(const cs_study *study, char *line, cs_step *out)
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
    char *command = NULL;
    cs_status status = cs_study_substitute(study, colon + 1 + strspn(colon + 1, " \t"), &command);
    if (status == CS_OK) {
        out->exit_code = -1;
        out->name = cs_strdup(line);
        out->command = expand(command, study->dir);
        status = out->name && out->command ? split_words(command, study->dir, out) : CS_ERR_MEMORY;
        if (status == CS_OK) {
            status = check_words(out);
        }
    }
    cs_free(command);
    return status;
}

/* Takes a line; empty lines and comments add nothing. */
static cs_status add_line(reader *r, char *line)
{
    line[strcspn(line, "#")] = '\0';
    line += strspn(line, " \t");
    for (size_t n = strlen(line); n > 0 && strchr(" \t\r", line[n - 1]); --n) {
        line[n - 1] = '\0';
    }
    if (*line == '\0' || *line == '$') {
        return *line ? add_variable(r, line) : CS_OK;
    }
    cs_step *longer = cs_realloc(r->study.step, r->study.steps + 1, sizeof *longer);
    if (!longer) {
        return CS_ERR_MEMORY;
    }
    r->study.step = longer;
    cs_step step = {0};
    cs_status status = parse_step(&r->study, line, &step);
    if (status != CS_OK) {
        step_free(&step);
        return status;
    }
    r->study.step[r->study.steps++] = step;
    return CS_OK;
}

cs_status cs_study_read(const char *path, const char *dir, const char *scale, cs_study *out)
{
    reader r = {.study.dir = cs_strdup(dir), .wanted = scale};
    char *text = NULL;
    int64_t size = 0;
    cs_status status = r.study.dir ? cs_file_read(path, STEPS_LIMIT, &text, &size) : CS_ERR_MEMORY;
    int64_t number = 1;
    for (char *line = text; line && status == CS_OK; ++number) {
        char *end = strchr(line, '\n');
        if (end) {
            *end = '\0';
        }
        status = cs_blame(add_line(&r, line), "%s:%lld", path, (long long)number);
        line = end ? end + 1 : NULL;
    }
    if (status == CS_OK && r.study.steps == 0) {
        status = cs_fail(CS_ERR_INPUT, "%s: no steps", path);
    }
    if (status == CS_OK && scale && !r.study.scale) {
        status = cs_fail(CS_ERR_USAGE, "%s has no scales: leave --scale out", path);
    }
    cs_free(text);
    if (status == CS_OK) {
        *out = r.study;
    } else {
        cs_study_free(&r.study);
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

/* Whether the folder holds an unfinished run of this very step, which its command may go on with:
 * without a manifest, or with one that says so. */
static bool goes_on(const cs_step *step, const char *folder)
{
    const cs_command *command = NULL;
    json_t *json = NULL;
    char *path = cs_path_join(folder, "manifest.json");
    bool unfinished = path && !cs_path_exists(path);
    if (path && !unfinished && cs_json_read(path, &json) == CS_OK) {
        unfinished = json_is_false(json_object_get(json, "finished"));
    }
    bool resumes = cs_command_by_name(step->word[0], &command) == CS_OK &&
                   !cs_command_without(command, "resume");
    cs_reason_clear();
    json_decref(json);
    cs_free(path);
    return unfinished && resumes;
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
    argv[n++] = resume && goes_on(step, folder) ? go_on : force;
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

/* The last line of a step's stderr that it begins with its own name, for the reason. */
static void last_message(const char *folder, char *buffer, size_t room)
{
    char *path = cs_path_join(folder, "stderr.txt"), *text = NULL;
    int64_t size = 0;
    buffer[0] = '\0';
    if (path && cs_file_read(path, STEPS_LIMIT, &text, &size) == CS_OK) {
        for (char *line = text; line; line = strchr(line, '\n')) {
            line += *line == '\n';
            if (strncmp(line, "cospec ", 7) == 0) {
                (void)snprintf(buffer, room, "%.*s", (int)strcspn(line, "\n"), line);
            }
        }
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
