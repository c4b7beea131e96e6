/* Runs a study's steps as child processes: each is a plain cospec run that a reader can repeat by
 * hand, and a crash of one loses none of the others' results. */
#include "analysis/study/study.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/child.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/names.h"
#include "base/threads.h"
#include "io/file.h"
#include "io/json.h"
#include "version.h"

enum { MOST_WORDS = 128, LOG_LIMIT = 1 << 20, MOST_NAME = 100 };

void cs_study_free(cs_study *study)
{
    for (int64_t i = 0; i < study->steps; ++i) {
        cs_step *step = &study->step[i];
        cs_free(step->command);
        cs_free(step->name);
        for (int w = 0; w < step->words; ++w) {
            cs_free(step->word[w]);
        }
        cs_free(step->word);
    }
    cs_free(study->step);
    cs_free(study->dir);
    json_decref(study->json);
    *study = (cs_study){0};
}

bool cs_study_name_is_good(const char *name)
{
    size_t length = strlen(name);
    return length > 0 && length <= MOST_NAME && name[0] != '.' &&
           strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-") ==
               length;
}

/* --- variables --- */

static size_t name_length(const char *text)
{
    return strspn(text, "abcdefghijklmnopqrstuvwxyz_");
}

cs_status cs_study_substitute(const cs_study *study, const char *text, char **out)
{
    const json_t *variables = json_object_get(study->json, "variables");
    char *done = cs_strdup("");
    while (done) {
        size_t plain = strcspn(text, "$"), length = 0;
        const char *name = text + plain + 1, *value = "";
        if (text[plain]) {
            length = name_length(name);
            value = json_string_value(json_object_getn(variables, name, length));
        }
        if (!value) {
            cs_free(done);
            return cs_fail(CS_ERR_INPUT, "no variable $%.*s", (int)length, name);
        }
        cs_append(&done, "%.*s%s", (int)plain, text, value);
        if (!text[plain]) {
            break;
        }
        text = name + length;
    }
    *out = done;
    return done ? CS_OK : CS_ERR_MEMORY;
}

/* Which of the scales is the wanted one. */
static cs_status choose_scale(cs_study *study, const char *wanted, size_t *chosen)
{
    const json_t *scales = json_object_get(study->json, "scales");
    size_t i = 0;
    json_t *scale = NULL;
    cs_hint hint = {0};
    if (!scales) {
        return wanted ? cs_fail(CS_ERR_USAGE, "no scales: leave --scale out") : CS_OK;
    }
    wanted = wanted ? wanted : "cpu";
    json_array_foreach(scales, i, scale)
    {
        const char *name = json_string_value(scale);
        if (name && strcmp(name, wanted) == 0) {
            *chosen = i;
            study->scale = name;
            return CS_OK;
        }
        cs_hint_consider(wanted, name ? name : "", &hint);
    }
    char *names = json_dumps(scales, 0);
    cs_status status = cs_fail(CS_ERR_USAGE, "no scale %s; there are: %s%s", wanted,
                               names ? names : "?", cs_hint_text("", &hint));
    free(names);
    return status;
}

/* Leaves of every variable its value at the chosen scale. */
static cs_status choose_values(cs_study *study, size_t chosen)
{
    json_t *variables = json_object_get(study->json, "variables"), *value = NULL;
    const size_t scales = json_array_size(json_object_get(study->json, "scales"));
    const char *name = NULL;
    json_object_foreach(variables, name, value)
    {
        if (json_is_array(value) && json_array_size(value) != scales) {
            return cs_fail(CS_ERR_INPUT, "variables: %s has %zu values for %zu scales", name,
                           json_array_size(value), scales);
        }
        json_t *one = json_is_array(value) ? json_array_get(value, chosen) : value;
        if (!json_is_string(one) || name_length(name) != strlen(name)) {
            return cs_fail(CS_ERR_INPUT,
                           "variables: %s: want a name in small letters and _, and a text, or one "
                           "for each scale",
                           name);
        }
        if (one != value && json_object_iter_set(variables, json_object_key_to_iter(name), one)) {
            return CS_ERR_MEMORY;
        }
    }
    return CS_OK;
}

/* Puts the variables' values into every text below. As deep as the file, which the reader bounds.
 * NOLINTBEGIN(misc-no-recursion) */
static cs_status put_values(const cs_study *study, json_t *value)
{
    const char *key = NULL;
    size_t i = 0;
    json_t *item = NULL;
    cs_status status = CS_OK;
    if (json_is_string(value)) {
        char *text = NULL;
        status = cs_study_substitute(study, json_string_value(value), &text);
        if (status == CS_OK && json_string_set(value, text) != 0) status = CS_ERR_MEMORY;
        cs_free(text);
        return status;
    }
    json_object_foreach(value, key, item)
    {
        if (status == CS_OK) status = cs_blame(put_values(study, item), "%s", key);
    }
    json_array_foreach(value, i, item)
    {
        if (status == CS_OK) status = put_values(study, item);
    }
    return status;
}
/* NOLINTEND(misc-no-recursion) */

/* --- steps --- */

/* `text` with `by` and `then` in place of every `mark`. */
static char *replace(const char *text, char mark, const char *by, const char *then)
{
    char *out = cs_strdup("");
    for (const char *at = strchr(text, mark); at; at = strchr(text, mark)) {
        cs_append(&out, "%.*s%s%s", (int)(at - text), text, by, then);
        text = at + 1;
    }
    cs_append(&out, "%s", text);
    return out;
}

/* Splits "COMMAND ARGUMENT..." at blanks. */
static cs_status split_words(char *text, const char *dir, cs_step *step)
{
    step->word = cs_calloc(MOST_WORDS, sizeof *step->word);
    if (!step->word) return CS_ERR_MEMORY;
    char *save = NULL;
    for (char *word = strtok_r(text, " \t", &save); word; word = strtok_r(NULL, " \t", &save)) {
        if (step->words == MOST_WORDS) {
            return cs_fail(CS_ERR_INPUT, "more than %d words", MOST_WORDS);
        }
        if (!(step->word[step->words] = replace(word, '@', dir, "/"))) return CS_ERR_MEMORY;
        step->words += 1;
    }
    return step->words > 0 ? CS_OK : cs_fail(CS_ERR_INPUT, "no command after the colon");
}

/* The study adds -o itself: a second one would split a step's files over two folders. */
static cs_status check_words(const cs_step *step)
{
    for (int i = 1; i < step->words; ++i) {
        const char *word = step->word[i];
        if (strncmp(word, "-o", 2) == 0 || strcmp(word, "--output") == 0 ||
            strncmp(word, "--output=", 9) == 0) {
            return cs_fail(CS_ERR_INPUT, "leave %s out, -o @%s is added to the step", word,
                           step->name);
        }
    }
    return CS_OK;
}

/* Whether a step trains a model or reads what one that does has left. */
static cs_status mark_trained(const cs_study *study, cs_step *step)
{
    char *folder = cs_path_join(study->dir, "");
    if (!folder) return CS_ERR_MEMORY;
    step->trained = strcmp(step->word[0], "train") == 0;
    for (int w = 1; w < step->words; ++w) {
        for (char *at = strstr(step->word[w], folder); at; at = strstr(at + 1, folder)) {
            const char *name = at + strlen(folder);
            const size_t length = strcspn(name, "/");
            for (int64_t i = 0; i + 1 < study->steps && !step->trained; ++i) {
                const cs_step *s = &study->step[i];
                step->trained =
                    s->trained && strncmp(s->name, name, length) == 0 && s->name[length] == '\0';
            }
        }
    }
    cs_free(folder);
    return CS_OK;
}

/* Adds a step, which is the study's to free whatever is wrong with it. */
static cs_status add_step(cs_study *study, const char *name, const char *command)
{
    if (!cs_study_name_is_good(name)) {
        return cs_fail(CS_ERR_INPUT,
                       "want a name of letters, digits, '.', '_' and '-', no '.' first");
    }
    if (cs_listed("report.html, claims.csv, claims-budgets.csv, curves, manifest.json", name)) {
        return cs_fail(CS_ERR_INPUT, "a file of the study has that name");
    }
    for (int64_t i = 0; i < study->steps; ++i) {
        if (strcmp(study->step[i].name, name) == 0) {
            return cs_fail(CS_ERR_INPUT, "a name given twice");
        }
    }
    if (!command) {
        return cs_fail(CS_ERR_INPUT, "want \"COMMAND ARGUMENT...\"");
    }
    cs_step *longer = cs_realloc(study->step, study->steps + 1, sizeof *longer);
    if (!longer) return CS_ERR_MEMORY;
    study->step = longer;
    cs_step *step = &longer[study->steps++];
    *step = (cs_step){.name = cs_strdup(name),
                      .exit_code = -1,
                      .command = replace(command, '@', study->dir, "/")};
    char *text = cs_strdup(command);
    cs_status status =
        step->name && step->command && text ? split_words(text, study->dir, step) : CS_ERR_MEMORY;
    if (status == CS_OK) status = check_words(step);
    if (status == CS_OK) status = mark_trained(study, step);
    cs_free(text);
    return status;
}

const char *cs_study_list(const cs_study *study, const char *variable)
{
    const json_t *variables = json_object_get(study->json, "variables");
    const char *words = json_string_value(json_object_get(variables, variable));
    return words ? words : "";
}

cs_status cs_study_put(const char *text, char mark, const char *word, char **out)
{
    *out = replace(text, mark, word, "");
    return *out ? CS_OK : CS_ERR_MEMORY;
}

/* The words that a mark stands for; one, NULL, where the variable is not there. */
typedef struct {
    char *text, *word[MOST_WORDS];
    int count;
} mark_words;

static cs_status words_of(const cs_study *study, const char *variable, mark_words *out)
{
    char *save = NULL;
    *out = (mark_words){.text = cs_strdup(cs_study_list(study, variable))};
    if (!out->text) return CS_ERR_MEMORY;
    for (char *word = strtok_r(out->text, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
        if (out->count == MOST_WORDS) {
            return cs_fail(CS_ERR_INPUT, "variables: %s has more than %d words", variable,
                           MOST_WORDS);
        }
        out->word[out->count++] = word;
    }
    out->count += out->count == 0;
    return CS_OK;
}

/* The step in round `round` of a mark, whose word then stands for it; without the mark it is of the
 * first round alone, and *out stays NULL in others. */
static cs_status put_round(const char *text, const char *name, char mark, const mark_words *words,
                           int round, char **out)
{
    if (!strchr(name, mark)) {
        *out = round == 0 ? cs_strdup(text) : NULL;
        return *out || round > 0 ? CS_OK : CS_ERR_MEMORY;
    }
    return words->word[round] ? cs_study_put(text, mark, words->word[round], out)
                              : cs_fail(CS_ERR_INPUT, "no variable %s for the %c",
                                        mark == '%' ? "budgets" : "seeds", mark);
}

static cs_status put_both(const char *text, const char *name, const mark_words words[2], int budget,
                          int seed, char **out)
{
    char *half = NULL;
    cs_status status = put_round(text, name, '%', &words[0], budget, &half);
    if (status == CS_OK && half) status = put_round(half, name, '#', &words[1], seed, out);
    cs_free(half);
    return status;
}

/* The steps of a section: budget by budget, in each seed by seed, so that a run that is interrupted
 * has all of the small models before any of the large ones. */
static cs_status add_section(cs_study *study, json_t *run)
{
    mark_words words[2] = {{0}};
    json_t *command = NULL;
    const char *name = NULL;
    cs_status status = words_of(study, "budgets", &words[0]);
    if (status == CS_OK) status = words_of(study, "seeds", &words[1]);
    const int seeds = words[1].count, rounds = words[0].count * seeds;
    for (int round = 0; round < rounds && status == CS_OK; ++round) {
        json_object_foreach(run, name, command)
        {
            const char *text = json_string_value(command);
            char *own_name = NULL, *own = NULL;
            const int budget = round / seeds, seed = round % seeds;
            status = put_both(name, name, words, budget, seed, &own_name);
            if (status == CS_OK && text) status = put_both(text, name, words, budget, seed, &own);
            if (status == CS_OK && own_name) status = add_step(study, own_name, own);
            status = cs_blame(status, "step %s", name);
            cs_free(own_name);
            cs_free(own);
            if (status != CS_OK) break;
        }
    }
    cs_free(words[0].text);
    cs_free(words[1].text);
    return status;
}

/* [{"about": TEXT, "run": {NAME: COMMAND, ...}}, ...] */
static cs_status add_steps(cs_study *study)
{
    json_t *section = NULL;
    size_t i = 0;
    json_array_foreach(json_object_get(study->json, "steps"), i, section)
    {
        json_t *run = NULL;
        const char *about = NULL;
        cs_status status = cs_json_unpack(section, "s?m", "about", &about, "run", &run);
        if (status != CS_OK) return cs_blame(status, "steps %zu", i + 1);
        status = add_section(study, run);
        if (status != CS_OK) return status;
    }
    return study->steps > 0 ? CS_OK : cs_fail(CS_ERR_INPUT, "no steps");
}

static cs_status read_study(cs_study *study, const char *scale)
{
    const char *about = NULL;
    json_t *scales = NULL, *variables = NULL, *steps = NULL, *claims = NULL;
    size_t chosen = 0;
    cs_status status = cs_json_unpack(study->json, "s?l?m?lm?", "about", &about, "scales", &scales,
                                      "variables", &variables, "steps", &steps, "claims", &claims);
    if (status == CS_OK) status = choose_scale(study, scale, &chosen);
    if (status == CS_OK) status = choose_values(study, chosen);
    if (status == CS_OK) status = put_values(study, steps);
    if (status == CS_OK) status = cs_blame(put_values(study, claims), "claims");
    return status == CS_OK ? add_steps(study) : status;
}

cs_status cs_study_read(const char *path, const char *dir, const char *scale, cs_study *out)
{
    cs_study study = {.dir = cs_strdup(dir)};
    cs_status status = study.dir ? cs_json_read(path, &study.json) : CS_ERR_MEMORY;
    if (status == CS_OK) status = cs_blame(read_study(&study, scale), "%s", path);
    return CS_DELIVER(status, out, study, cs_study_free);
}

/* --- running --- */

/* A study may run studies, which may be itself: the children inherit the depth. */
static cs_status go_deeper(void)
{
    enum { DEEPEST = 4 };
    const char name[] = "COSPEC_STUDY_DEPTH", *text = getenv(name);
    char next[24];
    long depth = text ? strtol(text, NULL, 10) : 0;
    if (depth < 0 || depth >= DEEPEST) {
        return cs_fail(CS_ERR_INPUT, "studies run studies %d deep: does one run itself?", DEEPEST);
    }
    (void)snprintf(next, sizeof next, "%ld", depth + 1);
    return setenv(name, next, 1) == 0 ? CS_OK : cs_fail(CS_ERR_MEMORY, "out of memory");
}

/* 0, 1 and 4 are outcomes of an audit, not failures of the run. */
static bool is_outcome(int exit_code)
{
    return exit_code == 0 || exit_code == 1 || exit_code == 4;
}

/* Keeps a step that an earlier run of the same version, or of any, finished. */
static bool finished_before(const cs_study *study, const char *record, cs_step *step)
{
    json_t *json = NULL;
    if (!cs_path_exists(record) || cs_json_read(record, &json) != CS_OK) {
        cs_reason_clear();
        return false;
    }
    const char *command = NULL, *commit = NULL;
    int exit_code = 0;
    double seconds = 0.0;
    bool same = json_unpack(json, "{s:s, s:s, s:i, s:F}", "command", &command, "commit", &commit,
                            "exit", &exit_code, "seconds", &seconds) == 0 &&
                strcmp(command, step->command) == 0 &&
                (study->any_version || strcmp(commit, CS_VERSION " " CS_COMMIT) == 0) &&
                is_outcome(exit_code);
    if (same) {
        step->exit_code = exit_code;
        step->seconds = seconds;
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
static bool goes_on(const char *folder)
{
    json_t *json = NULL;
    char *path = cs_path_join(folder, "manifest.json");
    bool unfinished = path && !cs_path_exists(path);
    if (path && !unfinished && cs_json_read(path, &json) == CS_OK) {
        unfinished = json_is_false(json_object_get(json, "finished"));
    }
    cs_reason_clear();
    json_decref(json);
    cs_free(path);
    return unfinished;
}

static int open_log(const char *folder, const char *name)
{
    char *path = cs_path_join(folder, name);
    int fd = path ? open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666) : -1;
    if (path && fd < 0) {
        (void)cs_fail(CS_ERR_IO, "%s: %s", path, strerror(errno));
    }
    cs_free(path);
    return fd;
}

/* Runs the child with its output in files. */
static cs_status spawn_step(const char *program, const cs_step *step, const char *folder,
                            bool resume, int *exit_code)
{
    const char *argv[MOST_WORDS + 5];
    int n = 0, out = open_log(folder, "stdout.txt"), err = open_log(folder, "stderr.txt");
    argv[n++] = program;
    for (int i = 0; i < step->words; ++i) {
        argv[n++] = step->word[i];
    }
    argv[n++] = "-o";
    argv[n++] = folder;
    argv[n++] = resume && goes_on(folder) ? "--resume" : "--force";
    argv[n] = NULL;
    const cs_child child = {.argv = argv, .out = out, .err = err};
    cs_status status = out >= 0 && err >= 0 ? cs_child_run(&child, exit_code) : CS_ERR_IO;
    if (status == CS_ERR_INTERRUPT) { /* the message of the study says how to resume */
        cs_reason_clear();
        status = CS_OK;
    }
    if (out >= 0) {
        (void)close(out);
    }
    if (err >= 0) {
        (void)close(err);
    }
    return status;
}

/* The last line of a step's stderr that it begins with its own name, for the reason. */
static void last_message(const char *folder, char *buffer, size_t room)
{
    char *path = cs_path_join(folder, "stderr.txt"), *text = NULL;
    int64_t size = 0;
    buffer[0] = '\0';
    if (path && cs_file_read(path, LOG_LIMIT, &text, &size) == CS_OK) {
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
    const double from = cs_seconds();
    int exit_code = 0;
    cs_status status = spawn_step(program, step, folder, resume, &exit_code);
    if (status != CS_OK) return status;
    step->exit_code = exit_code;
    step->seconds = cs_seconds() - from;
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

/* The folder of a step: a new one, or one in which a step was run. */
static cs_status take_folder(const char *folder)
{
    const bool there = cs_path_exists(folder);
    char *out = cs_path_join(folder, "stdout.txt");
    cs_status status = out ? cs_dir_make_own(folder) : CS_ERR_MEMORY;
    if (status == CS_OK && there && !cs_path_exists(out) && rmdir(folder) != 0) { /* not empty */
        status = cs_fail(CS_ERR_USAGE, "%s holds files that no study has written", folder);
    } else if (status == CS_OK && there) {
        status = cs_dir_make_own(folder);
    }
    cs_free(out);
    return status;
}

cs_status cs_study_run(cs_study *study, const char *program, bool resume,
                       cs_study_announce announce, void *ctx)
{
    cs_status status = go_deeper();
    for (int64_t i = 0; i < study->steps && status == CS_OK; ++i) {
        cs_step *step = &study->step[i];
        char *folder = cs_path_join(study->dir, step->name);
        char *record = folder ? cs_path_join(folder, "step.json") : NULL;
        status = record ? cs_interrupt_check() : CS_ERR_MEMORY;
        if (status == CS_OK && !(resume && finished_before(study, record, step))) {
            announce(ctx, study, i);
            if ((status = take_folder(folder)) == CS_OK) {
                status = run_step(step, program, folder, record,
                                  resume && study->resumes(step->word[0]));
            }
        }
        cs_free(folder);
        cs_free(record);
    }
    return status;
}
