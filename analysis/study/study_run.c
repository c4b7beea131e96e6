/* Runs a study's steps as child processes: each is a plain cospec run that a reader can repeat by
 * hand, and a crash of one loses none of the others' results. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis/study/study.h"
#include "base/auto.h"
#include "base/child.h"
#include "base/clock.h"
#include "base/eta.h"
#include "base/threads.h"
#include "io/digests.h"
#include "io/file.h"
#include "io/json.h"
#include "io/lock.h"
#include "version.h"

enum { LOG_LIMIT = 1 << 20 };

/* 0, 1 and 4 are outcomes of an audit, not failures of the run. */
static bool is_outcome(int exit_code)
{
    return exit_code == 0 || exit_code == 1 || exit_code == 4;
}

/* Whether a file or folder has this hash. known: {path: hash}, since many steps read the same. */
static cs_status is_unchanged(json_t *known, const char *path, const char *sha256, bool *out)
{
    char now[65] = "";
    int64_t bytes = 0;
    cs_status status = CS_OK;
    *out = false;
    if (!json_object_get(known, path)) {
        if (!cs_path_exists(path)) return CS_OK;
        status = cs_path_sha256(path, NULL, now, &bytes);
        if (status == CS_OK) status = cs_json_set(known, path, json_string(now));
    }
    if (status == CS_OK)
        *out = strcmp(json_string_value(json_object_get(known, path)), sha256) == 0;
    return status;
}

/* Visits an input of a step, a file or folder outside the study's folder, with its hash. */
typedef cs_status (*input_fn)(void *ctx, const char *path, const char *sha256);

/* All inputs that the manifest in `folder` names, except those below `own`, the study's folder. */
static cs_status each_input(const char *folder, const char *own, input_fn visit, void *ctx)
{
    json_auto_t *json = NULL;
    json_t *input = NULL;
    CS_AUTO_FREE char *path = cs_path_join(folder, "manifest.json");
    size_t i = 0;
    cs_status status = path ? CS_OK : CS_ERR_MEMORY;
    if (status == CS_OK && cs_path_exists(path)) status = cs_json_read(path, &json);
    json_array_foreach(json_object_get(json, "inputs"), i, input)
    {
        const char *name = json_string_value(json_object_get(input, "path")),
                   *hash = json_string_value(json_object_get(input, "sha256"));
        if (status == CS_OK && name && hash && strncmp(name, own, strlen(own)) != 0)
            status = visit(ctx, name, hash);
    }
    return status;
}

typedef struct {
    json_t *known;
    bool *same;
} unchanged;

static cs_status look_at_input(void *ctx, const char *path, const char *sha256)
{
    const unchanged *u = ctx;
    return *u->same ? is_unchanged(u->known, path, sha256, u->same) : CS_OK;
}

/* Whether the inputs of a step are unchanged: the steps that it reads were kept, and the inputs
 * that its manifest names outside the study's folder, own, have the same hashes. */
static cs_status reads_the_same(const cs_study *study, int64_t of, const char *folder,
                                const char *own, json_t *known, bool *out)
{
    *out = true;
    for (int64_t j = 0; j < study->steps; ++j) {
        *out = *out && (!study->step[of].needs[j] || study->step[j].kept);
    }
    return each_input(folder, own, look_at_input, &(unchanged){known, out});
}

/* An input as the steps before have read it. */
static cs_status compare_input(void *ctx, const char *path, const char *sha256)
{
    json_t *read = ctx;
    const char *first = json_string_value(json_object_get(read, path));
    if (!first) return cs_json_set(read, path, json_string(sha256));
    return strcmp(first, sha256) == 0
               ? CS_OK
               : cs_fail(CS_ERR_INPUT,
                         "%s changed while the study ran; run again with --resume to repeat the "
                         "steps that read the old version",
                         path);
}

/* Checks that all steps have read the same inputs outside the study. */
static cs_status check_inputs(const cs_study *study)
{
    json_auto_t *read = json_object();
    CS_AUTO_FREE char *own = cs_path_join(study->dir, "");
    cs_status status = own && read ? CS_OK : CS_ERR_MEMORY;
    for (int64_t i = 0; i < study->steps && status == CS_OK; ++i) {
        CS_AUTO_FREE char *folder = cs_path_join(study->dir, study->step[i].name);
        status = folder ? each_input(folder, own, compare_input, read) : CS_ERR_MEMORY;
    }
    return status;
}

/* How far an earlier run of the study came with a step; *own: the study's folder as that run named
 * it, with a slash. Two command lines are equal if they are equal with that folder in them, since a
 * study may be resumed elsewhere. (Records older than 24 November 2026 name no folder: it is this
 * one.) */
typedef enum { NOT_BEGUN, OTHER_WORDS, BEGUN, FINISHED } past;

static past past_of(const cs_study *study, const char *record, cs_step *step, char **own)
{
    json_auto_t *json = NULL;
    if (!cs_path_exists(record)) return NOT_BEGUN;
    if (cs_json_read(record, &json) != CS_OK) {
        cs_reason_clear();
        return OTHER_WORDS;
    }
    const char *command = NULL, *commit = NULL, *then = study->dir;
    CS_AUTO_FREE char *expected = NULL;
    int exit_code = 0;
    double seconds = 0.0;
    past is = OTHER_WORDS;
    if (json_unpack(json, "{s:s, s:s, s:i, s:F, s?s}", "command", &command, "commit", &commit,
                    "exit", &exit_code, "seconds", &seconds, "folder", &then) == 0 &&
        (*own = cs_path_join(then, "")) &&
        cs_study_put(step->written, '@', *own, &expected) == CS_OK &&
        strcmp(command, expected) == 0 &&
        (study->any_version || strcmp(commit, CS_VERSION " " CS_COMMIT) == 0))
        is = is_outcome(exit_code) ? FINISHED : BEGUN;
    if (is == FINISHED) {
        step->exit_code = exit_code;
        step->seconds = seconds;
    }
    return is;
}

/* A damaged step runs again, with a note. */
static bool is_whole(const cs_study_run_options *options, const char *folder)
{
    const bool whole = cs_digest_check_all(folder) == CS_OK;
    if (!whole) {
        options->note(options->ctx, cs_reason());
        cs_reason_clear();
    }
    return whole;
}

/* The folders that a study has recorded as steps, whether they are of this one or of one with others. */
cs_status cs_study_check_tables(const char *dir)
{
    char **name = NULL;
    int64_t count = 0;
    cs_status status = cs_dir_names(dir, &name, &count);
    for (int64_t i = 0; i < count && status == CS_OK; ++i) {
        CS_AUTO_FREE char *folder = cs_path_join(dir, name[i]);
        CS_AUTO_FREE char *record = folder ? cs_path_join(folder, "step.json") : NULL;
        status = record ? CS_OK : CS_ERR_MEMORY;
        if (record && cs_path_exists(record)) status = cs_digest_check_tables(folder);
    }
    cs_text_list_free(name, count);
    return status;
}

static cs_status write_record(const char *record, const char *dir, const cs_step *step)
{
    json_auto_t *json =
        json_pack("{s:s, s:s, s:s, s:i, s:f}", "command", step->command, "folder", dir, "commit",
                  CS_VERSION " " CS_COMMIT, "exit", step->exit_code, "seconds", step->seconds);
    return json ? cs_json_write(record, json) : CS_ERR_MEMORY;
}

/* Whether the folder holds a run that its command may go on with: its manifest says so, or it was killed
 * before it had one and has left its lock. Tables alone are an archive's. */
static bool goes_on(const char *folder)
{
    json_auto_t *json = NULL;
    CS_AUTO_FREE char *path = cs_path_join(folder, "manifest.json"),
                      *lock = cs_path_join(folder, CS_LOCK_NAME);
    const bool there = path && cs_path_exists(path);
    bool unfinished = path && !there && lock && cs_path_exists(lock);
    if (there && cs_json_read(path, &json) == CS_OK) {
        unfinished = json_is_false(json_object_get(json, "finished"));
    }
    cs_reason_clear();
    return unfinished;
}

/* A new file: what an earlier run of the step left may still be written to by one that is ending. */
static int open_log(const char *folder, const char *name)
{
    CS_AUTO_FREE char *path = cs_path_join(folder, name);
    if (path) (void)unlink(path);
    int fd = path ? open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666) : -1;
    if (path && fd < 0) {
        (void)cs_fail(CS_ERR_IO, "%s: %s", path, strerror(errno));
    }
    return fd;
}

/* An earlier run of this step that is still ending may finish it: its files are examined after
 * that. */
static cs_status wait_for_earlier(const char *folder)
{
    int lock = -1;
    cs_status status = cs_dir_lock(folder, false, &lock);
    if (lock >= 0) (void)close(lock);
    return status;
}

/* Runs the child with its output in files. */
static cs_status spawn_step(const char *program, const cs_step *step, const char *folder,
                            bool resume, int *exit_code)
{
    const char *argv[CS_STEP_WORDS + 5];
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

/* The last line of a step's stderr that it begins with its own name, for the reason; where there is
 * none and the disk is full, the error of the disk. "" else. */
static void last_message(const char *folder, char *buffer, size_t capacity)
{
    enum { MESSAGE_BYTES = 4096 }; /* a page */
    CS_AUTO_FREE char *path = cs_path_join(folder, "stderr.txt"), *text = NULL;
    int64_t size = 0;
    buffer[0] = '\0';
    if (path && cs_file_read(path, LOG_LIMIT, &text, &size) == CS_OK) {
        for (char *line = text; line; line = strchr(line, '\n')) {
            line += *line == '\n';
            if (strncmp(line, "cospec ", 7) == 0) {
                (void)snprintf(buffer, capacity, "%.*s", (int)strcspn(line, "\n"), line);
            }
        }
    }
    cs_reason_clear();
    if (!buffer[0] && cs_disk_check(folder, MESSAGE_BYTES, NULL, "its messages") != CS_OK) {
        (void)snprintf(buffer, capacity, "no space is left on its disk");
        cs_reason_clear();
    }
}

static cs_status run_step(cs_step *step, const char *program, const char *dir, const char *folder,
                          const char *record, bool resume)
{
    const double from = cs_seconds();
    int exit_code = 0;
    step->exit_code = CS_STEP_NOT_RUN;
    cs_status status = write_record(record, dir, step); /* of what has begun */
    if (status == CS_OK) status = spawn_step(program, step, folder, resume, &exit_code);
    if (status != CS_OK) return status;
    step->exit_code = exit_code;
    step->seconds = cs_seconds() - from;
    if (is_outcome(exit_code)) {
        return write_record(record, dir, step);
    }
    if (exit_code == 130 || cs_interrupted()) {
        return cs_fail(CS_ERR_INTERRUPT,
                       "interrupted in step %s; run again with --resume to continue", step->name);
    }
    char message[512];
    last_message(folder, message, sizeof message);
    return cs_fail(CS_ERR_INPUT, "step %s ended with exit code %d%s%s (see %s/stderr.txt)",
                   step->name, exit_code, message[0] ? ": " : "", message, folder);
}

/* The folder of a step: a new one, or one with the record of a run of the step, or the output of an
 * interrupted one. A study that was killed may have written no more than its record. */
static cs_status take_folder(const char *folder, const char *record)
{
    const bool there = cs_path_exists(folder);
    CS_AUTO_FREE char *out = cs_path_join(folder, "stdout.txt");
    cs_status status = out ? cs_dir_make_own(folder) : CS_ERR_MEMORY;
    if (status == CS_OK && there) status = cs_partials_sweep(record, true);
    if (status == CS_OK && there && !cs_path_exists(out) && !cs_path_exists(record) &&
        rmdir(folder) != 0) { /* not empty */
        status = cs_fail(
            CS_ERR_USAGE,
            "%s contains files that were not written by a study; choose another folder", folder);
    } else if (status == CS_OK && there) {
        status = cs_dir_make_own(folder);
    }
    return status;
}

double cs_study_step_seconds(const cs_study *study, const bool *done, int64_t step)
{
    double seconds = 0.0, count = 0.0;
    for (int64_t j = 0; j < study->steps; ++j) {
        const bool alike = strcmp(study->step[j].word[0], study->step[step].word[0]) == 0;
        if (!alike || !(done ? done[j] : study->step[j].kept)) continue;
        seconds += study->step[j].seconds;
        count += 1.0;
    }
    return count > 0.0 ? seconds / count : NAN;
}

double cs_study_seconds_left(const cs_study *study, const bool *done, int jobs)
{
    double rest = 0.0, longest = 0.0;
    for (int64_t i = 0; i < study->steps; ++i) {
        if (done ? done[i] : study->step[i].kept) continue;
        const double seconds = cs_study_step_seconds(study, done, i);
        rest += seconds; /* NAN stays */
        longest = fmax(longest, seconds);
    }
    return isnan(rest) ? NAN : fmax(rest / jobs, longest);
}

/* --- steps, several at a time --- */

typedef struct {
    cs_study *study;
    const cs_study_run_options *options;
    pthread_mutex_t lock; /* what follows, and announcements */
    pthread_cond_t ended;
    bool *begun, *done; /* by step */
    past *was;
    int64_t begun_count;
    bool failed;
    json_t *known; /* hashes of inputs */
    int jobs;
} schedule;

/* Decides whether a finished step is kept, those that it reads having been decided. */
static cs_status look_at(schedule *s, int64_t i)
{
    cs_step *step = &s->study->step[i];
    CS_AUTO_FREE char *folder = cs_path_join(s->study->dir, step->name);
    CS_AUTO_FREE char *record = folder ? cs_path_join(folder, "step.json") : NULL;
    CS_AUTO_FREE char *own = NULL;
    cs_status status = record ? cs_interrupt_check() : CS_ERR_MEMORY;
    if (status == CS_OK) s->was[i] = past_of(s->study, record, step, &own);
    step->kept = s->was[i] == FINISHED && is_whole(s->options, folder);
    if (step->kept) status = reads_the_same(s->study, i, folder, own, s->known, &step->kept);
    return status;
}

/* Whether an archive of a study lacks files that a step reads: a step without a manifest may have
 * tables alone, so a step that is to run can read only the files that exist, by their names. */
static cs_status leaves_what_is_read(const cs_study *study, int64_t reader, int64_t read, bool *out)
{
    CS_AUTO_FREE char *folder = cs_path_join(study->dir, study->step[read].name);
    CS_AUTO_FREE char *manifest = folder ? cs_path_join(folder, "manifest.json") : NULL;
    const cs_step *step = &study->step[reader];
    const size_t length = folder ? strlen(folder) : 0;
    cs_status status = manifest ? CS_OK : CS_ERR_MEMORY;
    *out = true;
    for (int w = 1; status == CS_OK && !cs_path_exists(manifest) && w < step->words; ++w) {
        for (const char *at = strstr(step->word[w], folder); at; at = strstr(at + 1, folder)) {
            if (at[length] && !strchr("/,", at[length])) continue; /* a longer name */
            CS_AUTO_FREE char *path = cs_format("%.*s", (int)strcspn(at, ","), at);
            if (!path) status = CS_ERR_MEMORY;
            *out = *out && path && path[length] == '/' && cs_path_exists(path);
        }
    }
    return status;
}

/* Which steps are kept: finished ones, except those whose files a step that is to run needs and an
 * archive lacks. Other readers of such steps are kept. */
static cs_status decide_kept(schedule *s)
{
    cs_study *study = s->study;
    CS_AUTO_FREE bool *seen = cs_calloc(study->steps, sizeof *seen);
    bool more = true;
    cs_status status = seen ? CS_OK : CS_ERR_MEMORY;
    for (int64_t n = 0; n < study->steps && status == CS_OK; ++n) {
        const int64_t i = cs_study_ready(study, seen, seen);
        status = look_at(s, i);
        seen[i] = true;
    }
    while (more && status == CS_OK) {
        more = false;
        for (int64_t i = 0; i < study->steps; ++i) {
            for (int64_t j = 0; j < study->steps && !study->step[i].kept; ++j) {
                bool there = true;
                if (!study->step[i].needs[j] || !study->step[j].kept || status != CS_OK) continue;
                status = leaves_what_is_read(study, i, j, &there);
                study->step[j].kept = there;
                more = more || !there;
            }
        }
    }
    return status;
}

static cs_status do_step(schedule *s, int64_t i, int64_t before)
{
    const cs_study_run_options *options = s->options;
    cs_step *step = &s->study->step[i];
    if (step->kept) return CS_OK;
    CS_AUTO_FREE char *folder = cs_path_join(s->study->dir, step->name);
    CS_AUTO_FREE char *record = folder ? cs_path_join(folder, "step.json") : NULL;
    cs_status status = record ? cs_interrupt_check() : CS_ERR_MEMORY;
    if (status == CS_OK) status = wait_for_earlier(folder);
    if (status == CS_OK) {
        (void)pthread_mutex_lock(&s->lock);
        options->announce(options->ctx, s->study, i, before,
                          cs_study_seconds_left(s->study, s->done, s->jobs));
        (void)pthread_mutex_unlock(&s->lock);
        status = take_folder(folder, record);
    }
    /* neither a finished run is one to go on with nor one of other words */
    const bool goes_on = s->was[i] == BEGUN || s->was[i] == NOT_BEGUN;
    if (status == CS_OK)
        status = run_step(step, options->program, s->study->dir, folder, record,
                          options->resume && goes_on && s->study->resumes(step->word[0]));
    return status;
}

/* One step, whichever is ready first: a worker's item is a turn, not a step. */
static cs_status take_turn(void *ctx, int64_t turn)
{
    schedule *s = ctx;
    int64_t i = -1;
    (void)turn;
    (void)pthread_mutex_lock(&s->lock);
    while (!s->failed && (i = cs_study_ready(s->study, s->begun, s->done)) < 0)
        (void)pthread_cond_wait(&s->ended, &s->lock);
    if (i >= 0) s->begun[i] = true;
    const int64_t before = s->begun_count++;
    const bool idle = s->failed;
    (void)pthread_mutex_unlock(&s->lock);
    if (idle) return CS_OK;
    cs_status status = do_step(s, i, before);
    (void)pthread_mutex_lock(&s->lock);
    s->done[i] = status == CS_OK;
    s->failed = s->failed || status != CS_OK;
    (void)pthread_cond_broadcast(&s->ended);
    (void)pthread_mutex_unlock(&s->lock);
    return status;
}

static void note_missing(const schedule *s)
{
    int64_t missing = 0;
    char left[CS_ETA_LEFT], text[96];
    for (int64_t i = 0; i < s->study->steps; ++i) {
        missing += !s->study->step[i].kept;
    }
    cs_eta_seconds(cs_study_seconds_left(s->study, NULL, s->jobs), left);
    (void)snprintf(text, sizeof text, "--resume: %lld of %lld steps to run%s", (long long)missing,
                   (long long)s->study->steps, left);
    if (missing > 0) s->options->note(s->options->ctx, text);
}

int cs_study_jobs(int wanted, int *threads)
{
    enum { MOST_BY_DEFAULT = 8 };
    const int all = cs_threads(), usual = all < MOST_BY_DEFAULT ? all : MOST_BY_DEFAULT,
              jobs = wanted > 0 ? wanted : usual;
    *threads = all > jobs ? all / jobs : 1;
    return jobs;
}

cs_status cs_study_find_kept(cs_study *study, const cs_study_run_options *options)
{
    schedule s = {.study = study,
                  .options = options,
                  .was = cs_calloc(study->steps, sizeof *s.was),
                  .known = json_object()};
    cs_status status = s.was && s.known ? decide_kept(&s) : CS_ERR_MEMORY;
    cs_free(s.was);
    json_decref(s.known);
    return status;
}

cs_status cs_study_run(cs_study *study, const cs_study_run_options *options)
{
    int threads = 1;
    const int jobs = cs_study_jobs(options->jobs, &threads);
    schedule s = {.study = study,
                  .options = options,
                  .lock = PTHREAD_MUTEX_INITIALIZER,
                  .ended = PTHREAD_COND_INITIALIZER,
                  .begun = cs_calloc(study->steps, sizeof *s.begun),
                  .done = cs_calloc(study->steps, sizeof *s.done),
                  .was = cs_calloc(study->steps, sizeof *s.was),
                  .known = json_object(),
                  .jobs = jobs};
    char share[24];
    (void)snprintf(share, sizeof share, "%d", threads);
    cs_status status = s.begun && s.done && s.was && s.known ? CS_OK : CS_ERR_MEMORY;
    if (status == CS_OK && setenv("OMP_NUM_THREADS", share, 1) != 0)
        status = cs_fail(CS_ERR_MEMORY, "out of memory");
    if (status == CS_OK && options->resume) status = decide_kept(&s);
    if (status == CS_OK && options->resume) note_missing(&s);
    if (status == CS_OK) status = cs_parallel(study->steps, jobs, take_turn, &s);
    if (status == CS_OK) status = check_inputs(study);
    CS_FREE_FIELDS(&s, begun, done, was);
    json_decref(s.known);
    return status;
}
