/* Checkpoints: runs that are interrupted or killed, and are resumed; damaged, foreign and
 * unfinished checkpoints; a full disk. */
#include <signal.h>
#include <sys/stat.h>

#include "base/threads.h"
#include "io/file.h"
#include "io/json.h"
#include "io/table.h"
#include "io_support.h"
#include "train/checkpoint.h"
#include "train/log_private.h"
#include "train_support.h"

static const char *const final_files[] = {
    "model.safetensors",
    "config.json",
    "tokenizer.json",
    "checkpoint-12/model.safetensors",
    "checkpoint-12/config.json",
    "checkpoint-12/optimizer.safetensors",
    "checkpoint-12/trainer.json",
    "checkpoint-8/optimizer.safetensors",
};

/* --- stopping ----------------------------------------------------------------------------------*/

typedef struct {
    int64_t step;
    int signal; /* SIGKILL, or SIGINT: the flag is set as the handler would */
} stop_at;

static void stop(void *ctx, const char *stage, int64_t done, int64_t total)
{
    const stop_at *s = ctx;
    (void)stage;
    (void)total;
    if (done == s->step && s->signal == SIGKILL) {
        (void)raise(SIGKILL);
    } else if (done == s->step) {
        cs_interrupt_set();
    }
}

/* Trains in a child that stops itself; its status, or -signal. */
static int in_child_until(const recipe *r, const char *dir, bool resume, stop_at s)
{
    pid_t child = test_fork();
    if (child == 0) {
        cs_progress progress = {stop, &s};
        cs_train_result result;
        training t = make_training(r, dir);
        t.options.progress = &progress;
        t.options.start.resume = resume;
        cs_status status = cs_train(&t.model, &t.corpus, t.tokenizer, &t.options, &result);
        bool reported =
            status != CS_ERR_INTERRUPT || strstr(cs_reason(), "--resume continues from it");
        _exit(reported ? (int)status : 99);
    }
    return exit_code(child);
}

static void assert_same_log(const char *a, const char *b)
{
    char path[600];
    (void)snprintf(path, sizeof path, "%s/log.csv", a);
    AUTO_OK(cs_table, x, cs_table_read_csv(path, &x));
    (void)snprintf(path, sizeof path, "%s/log.csv", b);
    AUTO_OK(cs_table, y, cs_table_read_csv(path, &y));
    assert_int_equal(x.rows, y.rows);
    assert_true(x.rows > 5);
    for (int64_t i = 0; i < x.rows * x.columns; ++i) {
        const char *name = x.name[i % x.columns];
        if (strcmp(name, "tokens_per_second") != 0 && strcmp(name, "memory_bytes") != 0 &&
            strcmp(name, "data_seconds") != 0) {
            assert_string_equal(x.cell[i], y.cell[i]);
        }
    }
}

static void assert_same_run(const char *a, const char *b)
{
    for (size_t i = 0; i < sizeof final_files / sizeof *final_files; ++i) {
        assert_same_file(a, b, final_files[i]);
    }
    assert_same_log(a, b);
}

static void resume_all(const recipe *r, const char *dir)
{
    CS_AUTO_BY(free_training, training) t = make_training(r, dir);
    t.options.start.resume = true;
    assert_true(trained(&t).finished);
}

/* Stopped at random steps, twice each, by an interrupt or a kill; the rest is trained with another
 * number of threads. */
TEST_IN_DIR(test_resume_equals_uninterrupted)
{
    static const cs_objective_kind kinds[] = {CS_OBJ_AR, CS_OBJ_MASKED, CS_OBJ_DIVERSE_AR};
    cs_rng rng = cs_rng_at(11, CS_STREAM_TEST, 0);
    for (int k = 0; k < 3; ++k) {
        recipe r = {.kind = kinds[k]};
        char name[32];
        (void)snprintf(name, sizeof name, "whole%d", k);
        const char *whole = in_dir(state, name);
        (void)snprintf(name, sizeof name, "torn%d", k);
        const char *torn = in_dir(state, name);
        training t = make_training(&r, whole);
        t.options.intervals.save_every = 4;
        (void)trained(&t);
        free_training(&t);
        int64_t first = 1 + cs_rng_below(&rng, 6), second = 7 + cs_rng_below(&rng, 5);
        stop_at s = {first, k % 2 == 0 ? SIGINT : SIGKILL};
        assert_int_equal(in_child_until(&r, torn, false, s),
                         s.signal == SIGKILL ? -SIGKILL : CS_ERR_INTERRUPT);
        s = (stop_at){second, k % 2 == 0 ? SIGKILL : SIGINT};
        assert_int_equal(in_child_until(&r, torn, true, s),
                         s.signal == SIGKILL ? -SIGKILL : CS_ERR_INTERRUPT);
        r.threads = 2;
        resume_all(&r, torn);
        assert_same_run(whole, torn);
    }
}

static cs_status interrupt(void *ctx)
{
    (void)ctx;
    cs_interrupt_set();
    return CS_OK;
}

static cs_status resume_into_an_interrupt(const char *dir)
{
    recipe r = {0};
    CS_AUTO_BY(free_training, training) t = make_training(&r, dir);
    cs_train_result result;
    t.options.start.resume = true;
    t.options.begun = interrupt;
    cs_status status = cs_train(&t.model, &t.corpus, t.tokenizer, &t.options, &result);
    return status;
}

/* An interrupt within a step, before its update, takes the step back: the run is at the one before. */
TEST_IN_DIR(test_interrupt_within_a_step)
{
    recipe r = {0};
    const char *dir = in_dir(state, "torn"), *whole = in_dir(state, "whole");
    training t = make_training(&r, whole);
    t.options.intervals.save_every = 4;
    (void)trained(&t);
    free_training(&t);
    assert_int_equal(in_child_until(&r, dir, false, (stop_at){5, SIGINT}), CS_ERR_INTERRUPT);
    assert_int_equal(in_child(resume_into_an_interrupt, dir, "after step 5"), CS_ERR_INTERRUPT);
    assert_false(cs_path_exists(in_dir(state, "torn/checkpoint-6")));
    resume_all(&r, dir);
    assert_same_run(whole, dir);
}

/* Interrupted by a time limit after the first step: no error, and the run is not finished. */
TEST_IN_DIR(test_time_limit)
{
    recipe r = {0};
    const char *dir = in_dir(state, "late"), *whole = in_dir(state, "whole");
    training t = make_training(&r, dir);
    t.options.time_limit = 1e-9;
    cs_train_result result = trained(&t);
    assert_true(!result.finished && result.step == 1);
    free_training(&t);
    assert_false(cs_path_exists(in_dir(state, "late/model.safetensors")));
    assert_true(cs_path_exists(in_dir(state, "late/checkpoint-1/trainer.json")));
    resume_all(&r, dir);
    t = make_training(&r, whole);
    (void)trained(&t);
    free_training(&t);
    assert_same_run(whole, dir);
}

TEST_IN_DIR(test_two_are_kept)
{
    recipe r = {0};
    CS_AUTO_BY(free_training, training) t = make_training(&r, in_dir(state, "run"));
    t.options.intervals.save_every = 3;
    assert_int_equal(mkdir(in_dir(state, "run"), 0777), 0);
    assert_int_equal(mkdir(in_dir(state, "run/checkpoint-99"), 0777), 0); /* no trainer.json */
    assert_int_equal(mkdir(in_dir(state, "run/checkpoint-5.partial"), 0777), 0);
    assert_int_equal(mkdir(in_dir(state, "run/checkpoint-x"), 0777), 0);
    assert_int_equal(mkdir(in_dir(state, "run/checkpoint-03"), 0777), 0);
    assert_int_equal(mkdir(in_dir(state, "run/checkpoint-9999999999999999999"), 0777), 0);
    assert_int_equal(mkdir(in_dir(state, "run/checkpoint-7.old"), 0777), 0);
    OK(cs_file_write(in_dir(state, "run/checkpoint-7.old/config.json"), "{}", (int64_t)2));
    t.options.dir = in_dir(state, "run"); /* of in_dir's few places that it gives out in turn */
    (void)trained(&t);
    int64_t last = 0, before = 0;
    OK(cs_train_last(t.options.dir, &last, &before));
    assert_int_equal(last, 12);
    assert_int_equal(before, 9);
    assert_false(cs_path_exists(in_dir(state, "run/checkpoint-6")));
    assert_false(cs_path_exists(in_dir(state, "run/checkpoint-5.partial")));
    assert_true(cs_path_exists(in_dir(state, "run/checkpoint-x"))); /* not ours */
    assert_false(cs_path_exists(in_dir(state, "run/checkpoint-99")));
    assert_false(cs_path_exists(in_dir(state, "run/checkpoint-7.old")));
    /* A fresh run leaves none of the old ones behind it. */
    free_training(&t);
    t = make_training(&r, in_dir(state, "run"));
    t.options.steps = 2;
    (void)trained(&t);
    OK(cs_train_last(t.options.dir, &last, &before));
    assert_true(last == 2 && before == -1);
}

/* A removal that ends halfway (here: at a file that is none) leaves no checkpoint without files. */
TEST_IN_DIR(test_torn_removal)
{
    int64_t last = 0, before = 0;
    assert_int_equal(mkdir(in_dir(state, "checkpoint-3"), 0777), 0);
    assert_int_equal(mkdir(in_dir(state, "checkpoint-3/trainer.json"), 0777), 0);
    assert_fails(cs_train_prune(*state, 0, NULL), CS_ERR_IO, "checkpoint-3.old/trainer.json");
    OK(cs_train_last(*state, &last, &before));
    assert_int_equal(last, -1);
}

/* Under a constant rate a finished run may be given more steps, and is then a longer run. */
TEST_IN_DIR(test_more_steps)
{
    recipe r = {0};
    for (int i = 0; i < 3; ++i) {
        CS_AUTO_BY(free_training, training) t =
            make_training(&r, in_dir(state, i == 0 ? "long" : "grown"));
        t.options.rate.schedule = CS_SCHEDULE_CONSTANT;
        t.options.steps = i == 1 ? 6 : 12;
        t.options.start.resume = i == 2;
        (void)trained(&t);
    }
    assert_same_file(in_dir(state, "long"), in_dir(state, "grown"), "model.safetensors");
    assert_same_file(in_dir(state, "long"), in_dir(state, "grown"),
                     "checkpoint-12/optimizer.safetensors");
    CS_AUTO_BY(free_training, training) t = make_training(&r, in_dir(state, "grown"));
    t.options.rate.schedule = CS_SCHEDULE_CONSTANT;
    t.options.steps = 11;
    t.options.start.resume = true;
    cs_train_result result;
    assert_fails(cs_train(&t.model, &t.corpus, t.tokenizer, &t.options, &result), CS_ERR_USAGE,
                 "checkpoint-12 is already at step 12, beyond --steps 11");
}

/* --- what cannot be resumed --------------------------------------------------------------------*/

/* Resumes the finished run in "run" after `change`; asserts the failure. */
static void refuse(void **state, void (*change)(training *t), cs_status code, const char *part)
{
    recipe r = {0};
    cs_train_result result;
    CS_AUTO_BY(free_training, training) t = make_training(&r, in_dir(state, "run"));
    t.options.start.resume = true;
    change(&t);
    assert_fails(cs_train(&t.model, &t.corpus, t.tokenizer, &t.options, &result), code, part);
}

static void other_rate(training *t)
{
    t->options.rate.learning_rate = 0.002;
}
static void no_eps(training *t)
{
    t->options.adamw.adam_eps = 0;
}
static void large_batch(training *t)
{
    t->options.data.batch = 1 << 21;
}
static void by_clock(training *t)
{
    t->model.params.backend->by_clock = true;
}

static void other_seed(training *t)
{
    t->options.seed = 8;
}
static void other_objective(training *t)
{
    t->options.task.objective.event_weight = CS_EVENT_MASK;
}
static void more_steps(training *t)
{
    t->options.steps = 13;
}
static void other_text(training *t)
{
    t->corpus.token[3] = 6;
}
static void other_words(training *t)
{
    cs_free(t->corpus.word[9]);
    t->corpus.word[9] = cs_strdup("changed");
    cs_tokenizer_free(&t->tokenizer);
    OK(cs_tokenizer_of_corpus(&t->corpus, CS_SPLITTER_WHITESPACE, &t->tokenizer));
}
static void other_model(training *t)
{
    cs_model_config config = t->model.config;
    config.shape.inner = 40;
    cs_model_free(&t->model);
    OK(cs_model_init(&config, t->backend, true, &t->model));
}

TEST_IN_DIR(test_other_settings)
{
    recipe r = {0};
    training t = make_training(&r, in_dir(state, "run"));
    (void)trained(&t);
    free_training(&t);
    refuse(state, other_rate, CS_ERR_USAGE, "--lr 0.001, not 0.002");
    refuse(state, no_eps, CS_ERR_USAGE, "adam-eps 0 is not in [1e-30, 1]");
    refuse(state, large_batch, CS_ERR_USAGE, "batch 2097152 is not in [1, 1048576]");
    refuse(state, other_seed, CS_ERR_USAGE, "--seed 7, not 8");
    refuse(state, by_clock, CS_ERR_USAGE, "--search-products false, not true");
    refuse(state, other_objective, CS_ERR_USAGE, "--objective");
    refuse(state, more_steps, CS_ERR_USAGE, "with --schedule constant");
    refuse(state, other_text, CS_ERR_INPUT, "a run with inputs: corpus \"");
    refuse(state, other_words, CS_ERR_INPUT, "token 9 is 'w4' there and 'changed' here");
    refuse(state, other_model, CS_ERR_USAGE, "a run with model: n_inner 32, not 40");
}

/* Flips one bit in the middle of a file, or cuts its end. */
static void damage(const char *path, const char *bytes, int64_t size, bool cut)
{
    char *bad = test_zeros(size, 1);
    memcpy(bad, bytes, (size_t)size);
    bad[size / 2] = (char)(bad[size / 2] ^ (cut ? 0 : 1));
    OK(cs_file_write(path, bad, cut ? size - 2 : size));
}

static void unchanged(training *t)
{
    (void)t;
}

TEST_IN_DIR(test_damage)
{
    static const char *const name[] = {"model.safetensors", "config.json", "tokenizer.json",
                                       "optimizer.safetensors", "trainer.json"};
    recipe r = {0};
    training t = make_training(&r, in_dir(state, "run"));
    (void)trained(&t);
    free_training(&t);
    for (int i = 0; i < 10; ++i) {
        char part[64];
        int64_t size = 0;
        bool index = i % 5 == 4;
        (void)snprintf(part, sizeof part, "run/checkpoint-12/%s", name[i % 5]);
        CS_AUTO_FREE char *path = cs_strdup(in_dir(state, part));
        CS_AUTO_FREE char *bytes = bytes_of(path, &size);
        damage(path, bytes, size, i >= 5);
        refuse(state, unchanged, CS_ERR_INPUT, part);
        refuse(state, unchanged, CS_ERR_INPUT,
               "to resume from checkpoint-8 (4 steps must be repeated)");
        if (!index) {
            refuse(state, unchanged, CS_ERR_INPUT, "its SHA-256 is");
            assert_int_equal(unlink(path), 0);
            refuse(state, unchanged, CS_ERR_INPUT, "is missing");
        }
        OK(cs_file_write(path, bytes, size));
    }
    /* Without its index it is no checkpoint, and no earlier one is taken in silence. */
    assert_int_equal(unlink(in_dir(state, "run/checkpoint-12/trainer.json")), 0);
    refuse(state, unchanged, CS_ERR_INPUT, "checkpoint-12 is not a checkpoint; remove the folder");
    assert_int_equal(rename(in_dir(state, "run/checkpoint-12"), in_dir(state, "run/moved")), 0);
    resume_all(&r, in_dir(state, "run"));
    assert_true(cs_path_exists(in_dir(state, "run/checkpoint-12/trainer.json")));
}

/* A checkpoint of an earlier version is refused with its version, and not taken for damage. */
TEST_IN_DIR(test_other_version)
{
    recipe r = {0};
    training t = make_training(&r, in_dir(state, "run"));
    (void)trained(&t);
    free_training(&t);
    json_auto_t *index = NULL;
    const char *path = in_dir(state, "run/checkpoint-12/trainer.json");
    OK(cs_json_read(path, &index));
    OK(cs_json_set(index, "version", json_integer(1)));
    assert_int_equal(json_object_del(index, "program"), 0);
    OK(cs_json_write(path, index));
    refuse(
        state, unchanged, CS_ERR_USAGE,
        "trainer.json is a checkpoint of version 1, written by cospec 0.2.0 or earlier, but this");
    refuse(state, unchanged, CS_ERR_USAGE, "with the program that wrote it, or give --force");
}

/* --- disk and memory ---------------------------------------------------------------------------*/

static cs_status train_there(const char *path)
{
    recipe r = {0};
    cs_train_result result;
    CS_AUTO_BY(free_training, training) t = make_training(&r, path);
    cs_status status = cs_train(&t.model, &t.corpus, t.tokenizer, &t.options, &result);
    return status;
}

TEST_IN_DIR(test_full_disk)
{
    const char *dir = in_dir(state, "run");
    assert_int_equal(on_full_disk(train_there, dir, "checkpoint-4.partial"), CS_ERR_IO);
    assert_int_equal(on_full_disk(train_there, dir, "no checkpoint was written"), CS_ERR_IO);
    int64_t last = 0, before = 0;
    OK(cs_train_last(dir, &last, &before));
    assert_int_equal(last, -1);
    assert_true(cs_path_exists(in_dir(state, "run/log.csv")));
    assert_false(cs_path_exists(in_dir(state, "run/checkpoint-4.partial")));
    assert_false(cs_path_exists(in_dir(state, "run/model.safetensors")));
}

static training *held; /* made once: what is tried is saving and restoring */

static cs_status save_and_restore(const char *path)
{
    json_auto_t *run = json_object(), *read = NULL;
    cs_train_state s = {.step = 4}, found = {0};
    int64_t last = 0, before = 0;
    cs_status status = cs_train_save(path, &held->model, held->tokenizer, run, &s);
    if (status == CS_OK && (status = cs_train_last(path, &last, &before)) == CS_OK &&
        (status = cs_train_open(path, 4, &found, &read)) == CS_OK &&
        (status = cs_train_restore(path, 4, held->tokenizer, &held->model)) == CS_OK) {
        status = cs_train_prune(path, 0, NULL);
    }
    return status;
}

/* In memory where there is such a folder: each of some hundred failures syncs what was written. */
TEST_IN_DIR(test_memory)
{
    recipe r = {0};
    char folder[] = "/dev/shm/cospec-train-XXXXXX";
    bool fast = access("/dev/shm", W_OK) == 0 && mkdtemp(folder);
    CS_AUTO_BY(free_training, training) t = make_training(&r, NULL);
    held = &t;
    fail_each_allocation(save_and_restore, fast ? folder : *state);
    held = NULL;
    assert_int_equal(entries(state), 0);
    if (fast) {
        assert_int_equal(rmdir(folder), 0); /* empty: nothing is left behind */
    }
}

TEST_IN_DIR(test_foreign_log)
{
    CS_AUTO_BY(cs_log_close, cs_log) log = {0};
    (void)put(state, "log.csv", "time,value\n1,2\n");
    assert_fails(cs_log_open(*state, 5, &log), CS_ERR_INPUT, "header");
}

/* A kill in the middle of a row, and rows behind the checkpoint. */
TEST_IN_DIR(test_torn_log)
{
    cs_log log = {0};
    OK(cs_log_open(*state, 0, &log));
    for (int64_t step = 2; step <= 8; step += 2) {
        cs_log_row row = {.step = step, .loss = 1, .eval_loss = NAN, .data_seconds = 0.25};
        OK(cs_log_add(&log, &row));
    }
    assert_int_equal(fputs("10,3", log.stream) >= 0, 1);
    cs_log_close(&log);
    OK(cs_log_open(*state, 4, &log));
    cs_log_close(&log);
    assert_content(
        in_dir(state, "log.csv"),
        "step,tokens,loss,learning_rate,grad_norm,tokens_per_second,memory_bytes,"
        "eval_loss,skipped,data_seconds\n2,0,1,0,0,0,0,,0,0.25\n4,0,1,0,0,0,0,,0,0.25\n");
}
