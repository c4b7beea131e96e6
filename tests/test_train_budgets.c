/* A constant rate with a cool-down, checkpoints that are kept, and runs of several lengths that
 * share their first steps: each is, byte for byte, the run by itself, also after interrupts. */
#include <signal.h>

#include "base/threads.h"
#include "io/file.h"
#include "io/table.h"
#include "io_support.h"
#include "train/budgets.h"
#include "train/checkpoint.h"
#include "train_support.h"

/* --- the rate ---------------------------------------------------------------------------------- */

static double rate(int64_t cool, int64_t s)
{
    return cs_schedule_rate(CS_SCHEDULE_CONSTANT, 8, 0.25, 10, cool, 100, s);
}

TEST(the_rate_is_constant_and_falls)
{
    assert_true(rate(20, 5) == 4 && rate(20, 10) == 8 && rate(20, 80) == 8);
    assert_true(fabs(rate(20, 90) - 5) < 1e-14 && fabs(rate(20, 100) - 2) < 1e-14);
    assert_true(rate(0, 100) == 8 && fabs(rate(1, 100) - 2) < 1e-14);
    cs_train_options o = {.steps = 25, .rate.cool_down = 0.1};
    assert_int_equal(cs_train_cool(&o), 3); /* half away from zero */
}

/* A separate folder for each name: those of in_dir are given out in turn. */
static const char *folder(void **state, const char *name)
{
    const char *dir = in_dir(state, name);
    char *own = test_zeros((int64_t)strlen(dir) + 1, 1);
    memcpy(own, dir, strlen(dir));
    return own;
}

/* --- budgets ------------------------------------------------------------------------------------ */

enum { BUDGETS = 3, LONGEST = 15 };
/* Cool-downs of 2, 3 and 5 steps, of a third; the longest is named too. */
static const int64_t budgets[] = {6, 10, LONGEST, LONGEST};

static training make(const recipe *r, const char *dir)
{
    training t = make_training(r, dir);
    t.options.steps = LONGEST;
    t.options.rate.schedule = CS_SCHEDULE_CONSTANT;
    t.options.rate.warmup = 3;
    t.options.rate.cool_down = 1.0 / 3;
    t.options.intervals.log_every = 1;
    return t;
}

static cs_status train_all(training *t, cs_train_budget budget[BUDGETS], cs_train_result *out)
{
    for (int i = 0; i < BUDGETS; ++i) {
        budget[i] = (cs_train_budget){.steps = budgets[i]};
    }
    return cs_train_budgets(&t->model, &t->corpus, t->tokenizer, &t->options, BUDGETS, budget, out);
}

static const char *const parts[] = {"model.safetensors", "config.json", "tokenizer.json",
                                    "tokenizer_config.json"};
static const char *const kept[] = {"model.safetensors", "config.json", "tokenizer.json",
                                   "optimizer.safetensors", "trainer.json"};

/* The last rows of the longer log, without its columns of time and memory. */
static void assert_log_ends(const char *longer, const char *shorter, int64_t rows)
{
    char path[640];
    (void)snprintf(path, sizeof path, "%s/log.csv", longer);
    AUTO_OK(cs_table, x, cs_table_read_csv(path, &x));
    (void)snprintf(path, sizeof path, "%s/log.csv", shorter);
    AUTO_OK(cs_table, y, cs_table_read_csv(path, &y));
    assert_int_equal(y.rows, rows);
    for (int64_t i = 0; i < y.rows * y.columns; ++i) {
        const char *name = y.name[i % y.columns];
        if (strcmp(name, "tokens_per_second") != 0 && strcmp(name, "memory_bytes") != 0 &&
            strcmp(name, "data_seconds") != 0) {
            assert_string_equal(x.cell[(x.rows - y.rows) * x.columns + i], y.cell[i]);
        }
    }
}

/* Against runs of each number of steps alone, in separate folders with nothing kept. */
static void assert_budgets(const recipe *r, const char *dir, void **state)
{
    for (int i = 0; i <= BUDGETS; ++i) {
        char name[64];
        const char *alone = folder(state, "alone"), *own;
        CS_AUTO_FREE char *of_budget = cs_train_budget_dir(dir, budgets[i]);
        own = i < BUDGETS ? of_budget : dir;
        CS_AUTO_BY(free_training, training) t = make(r, alone);
        t.options.steps = budgets[i];
        assert_true(trained(&t).finished);
        for (size_t f = 0; f < sizeof parts / sizeof *parts; ++f) {
            assert_same_file(alone, own, parts[f]);
        }
        if (i < BUDGETS && budgets[i] == LONGEST)
            continue; /* the run's model again, nothing else */
        for (size_t f = 0; f < sizeof kept / sizeof *kept; ++f) {
            (void)snprintf(name, sizeof name, "checkpoint-%d/%s", (int)budgets[i], kept[f]);
            assert_same_file(alone, own, name);
        }
        assert_log_ends(alone, own, i < BUDGETS ? cs_train_cool(&t.options) : LONGEST);
    }
}

TEST_IN_DIR(budgets_are_runs_by_themselves)
{
    const recipe recipes[] = {{.kind = CS_OBJ_MASKED, .arch = CS_ARCH_ROBERTA_PRELAYERNORM},
                              {.kind = CS_OBJ_GVP}};
    for (int i = 0; i < 2; ++i) {
        const char *dir = folder(state, i ? "b" : "a");
        CS_AUTO_BY(free_training, training) t = make(&recipes[i], dir);
        cs_train_budget budget[BUDGETS];
        cs_train_result result;
        OK(train_all(&t, budget, &result));
        assert_true(result.finished && result.step == LONGEST);
        assert_each(k, 0, BUDGETS,
                    budget[k].result.finished && budget[k].result.step == budgets[k]);
        assert_int_equal(cs_train_budget_steps(&t.options, BUDGETS, budget), LONGEST + 2 + 3);
        assert_budgets(&recipes[i], dir, state);
    }
}

typedef struct {
    int64_t count;
    int signal;
} stop_after;

/* Stops once this number of steps has been reported, over all of the runs. */
static void stop(void *ctx, const char *stage, int64_t done, int64_t total)
{
    stop_after *s = ctx;
    (void)stage;
    (void)done;
    (void)total;
    if (--s->count == 0 && s->signal == SIGKILL) {
        (void)raise(SIGKILL);
    } else if (s->count == 0) {
        cs_interrupt_set();
    }
}

/* In a child, with --resume; whether it was stopped. */
static bool stopped(const recipe *r, const char *dir, stop_after s)
{
    pid_t child = test_fork();
    if (child == 0) {
        cs_progress progress = {stop, &s};
        cs_train_budget budget[BUDGETS];
        cs_train_result result;
        training t = make(r, dir);
        t.options.progress = &progress;
        t.options.start.resume = true;
        t.options.intervals.save_every = 2;
        _exit((int)train_all(&t, budget, &result));
    }
    int code = exit_code(child);
    assert_true(code == -SIGKILL || code == CS_ERR_INTERRUPT || code == CS_OK);
    return code != CS_OK;
}

/* Interrupted and killed again and again: in the long run, between runs, in each cool-down. */
TEST_IN_DIR(interrupted_budgets_go_on)
{
    const recipe r = {.kind = CS_OBJ_DIVERSE_AR};
    const char *dir = folder(state, "torn");
    int stops = 0;
    for (int n = 0; n < 40 && stopped(&r, dir, (stop_after){1 + n % 4, n % 3 ? SIGINT : SIGKILL});
         ++n) {
        ++stops;
    }
    assert_true(stops > 6 && stops < 40);
    assert_budgets(&r, dir, state);
}

/* Stopped by the clock, which all share: what is left is not begun, and nothing failed. */
TEST_IN_DIR(a_time_limit_is_of_all)
{
    const recipe r = {0};
    cs_train_budget budget[BUDGETS];
    cs_train_result result;
    CS_AUTO_BY(free_training, training) t = make(&r, folder(state, "late"));
    t.options.time_limit = 1e-9;
    OK(train_all(&t, budget, &result));
    assert_true(!result.finished && result.step == 1 && budget[0].result.step == 0);
    assert_true(!budget[0].result.finished && !budget[1].result.finished);
    t.options.time_limit = 0;
    t.options.start.resume = true;
    OK(train_all(&t, budget, &result));
    assert_true(result.finished && budget[1].result.finished);
}

TEST_IN_DIR(bad_budgets_are_refused)
{
    const recipe r = {0};
    cs_train_budget budget[BUDGETS];
    cs_train_result result;
    CS_AUTO_BY(free_training, training) t = make(&r, folder(state, "no"));
    t.options.steps = 9;
    assert_fails(train_all(&t, budget, &result), CS_ERR_USAGE, "budget 10 is not in 1..9");
    t.options.steps = LONGEST;
    t.options.rate.cool_down = 0.95;
    assert_fails(train_all(&t, budget, &result), CS_ERR_USAGE, "budget 6 consists of cool-down");
    t.options.rate.cool_down = 0;
    assert_fails(train_all(&t, budget, &result), CS_ERR_USAGE, "cool-down");
    t.options.rate.cool_down = 0.3;
    t.options.rate.schedule = CS_SCHEDULE_COSINE;
    assert_fails(train_all(&t, budget, &result), CS_ERR_USAGE, "constant schedule");
    assert_fails(cs_train(&t.model, &t.corpus, t.tokenizer, &t.options, &result), CS_ERR_USAGE,
                 "constant schedule, not cosine");
    assert_false(cs_path_exists(in_dir(state, "no/log.csv")));
}

/* --- what is kept ------------------------------------------------------------------------------- */

static bool is_kept(void **state, const char *dir, int step)
{
    char name[64];
    (void)snprintf(name, sizeof name, "%s/checkpoint-%d/trainer.json", dir, step);
    return cs_path_exists(in_dir(state, name));
}

/* Named checkpoints are kept in addition to the last two, over interrupts too; a run begun anew
 * leaves none, nor logs of its budgets. */
TEST_IN_DIR(named_checkpoints_stay)
{
    static const int64_t steps[] = {9, 2, 3};
    const recipe r = {0};
    cs_train_result result;
    const char *dir = folder(state, "run");
    for (int turn = 0; turn < 2; ++turn) {
        CS_AUTO_BY(free_training, training) t = make(&r, dir);
        t.options.intervals.keep = (cs_train_steps){3, steps};
        t.options.intervals.save_every = 4;
        t.options.start.resume = turn > 0;
        t.options.time_limit = turn ? 0 : 1e-9;
        OK(cs_train(&t.model, &t.corpus, t.tokenizer, &t.options, &result));
    }
    for (int s = 1; s <= LONGEST; ++s) {
        bool named = s == 2 || s == 3 || s == 9;
        assert_int_equal(is_kept(state, "run", s), named || s == 12 || s == LONGEST);
    }
    training t = make(&r, in_dir(state, "short"));
    t.options.steps = 9;
    t.options.rate.cool_down = 0;
    (void)trained(&t);
    /* what is kept is the model after that many steps */
    assert_same_file(in_dir(state, "short"), in_dir(state, "run/checkpoint-9"),
                     "model.safetensors");
    free_training(&t);
    cs_train_budget budget[BUDGETS];
    for (int turn = 0; turn < 2; ++turn) { /* the second over what the first left */
        t = make(&r, dir);
        OK(train_all(&t, budget, &result));
        free_training(&t);
        assert_true(!is_kept(state, "run", 9) && !is_kept(state, "run", 2));
    }
    assert_budgets(&r, dir, state);
}

/* --- taking up --------------------------------------------------------------------------------- */

static cs_status resume(const char *dir, int64_t steps, double cool_down)
{
    const recipe r = {0};
    cs_train_result result;
    CS_AUTO_BY(free_training, training) t = make(&r, dir);
    t.options.steps = steps;
    t.options.rate.cool_down = cool_down;
    t.options.start.resume = true;
    cs_status status = cs_train(&t.model, &t.corpus, t.tokenizer, &t.options, &result);
    return status;
}

/* Leaves the checkpoint of step 4 of a run of LONGEST. */
static void begin(const char *dir)
{
    static const int64_t four = 4;
    const recipe r = {0};
    training t = make(&r, dir);
    t.options.intervals.keep = (cs_train_steps){1, &four};
    t.options.intervals.save_every = 0;
    (void)trained(&t);
    free_training(&t);
    CS_AUTO_FREE char *last = cs_train_folder(dir, LONGEST),
                      *command = cs_format("rm -r '%s'", last);
    assert_int_equal(system(command), 0);
}

/* Before the cool-down of either, a run may become one of another length or cool-down; within it,
 * it may not. */
TEST_IN_DIR(lengths_change_before_the_cool_down)
{
    const recipe r = {0};
    const char *dir = folder(state, "run"), *alone = folder(state, "alone");
    const struct {
        int64_t steps;
        double cool_down;
    } other[] = {{20, 1.0 / 3}, {6, 0.3}, {8, 0}};
    for (int i = 0; i < 3; ++i) {
        begin(dir);
        OK(resume(dir, other[i].steps, other[i].cool_down));
        training t = make(&r, alone);
        t.options.steps = other[i].steps;
        t.options.rate.cool_down = other[i].cool_down;
        (void)trained(&t);
        free_training(&t);
        assert_same_file(dir, alone, "model.safetensors");
    }
    begin(dir);
    assert_fails(resume(dir, 5, 0.4), CS_ERR_USAGE, "--steps 15, not 5");
    assert_fails(resume(dir, LONGEST, 0.9), CS_ERR_USAGE, "--cool-down 0.33");
    OK(resume(dir, LONGEST, 1.0 / 3));
    assert_fails(resume(dir, 20, 1.0 / 3), CS_ERR_USAGE, "before the cool-down");
}

/* --- the unigram ------------------------------------------------------------------------------- */

/* Under ar every token but the first of a held-out document is predicted once. */
TEST_IN_DIR(the_unigram_is_of_the_same_predictions)
{
    const recipe r = {.documents = 40};
    CS_AUTO_BY(free_training, training) t = make(&r, folder(state, "unigram"));
    t.options.intervals.eval_batches = 16; /* all of them */
    const cs_corpus *c = &t.corpus;
    double count[64] = {0}, n = 0, sum = 0, predicted = 0;
    const double vocab = (double)t.model.config.shape.vocab;
    for (int64_t d = 0; d < c->documents; ++d) {
        for (int64_t i = c->doc_ptr[d]; i < c->doc_ptr[d + 1] && !c->held_out[d]; ++i, ++n) {
            count[c->token[i]] += 1;
        }
    }
    for (int64_t d = 0; d < c->documents; ++d) {
        for (int64_t i = c->doc_ptr[d] + 1; i < c->doc_ptr[d + 1] && c->held_out[d]; ++i) {
            sum -= log((count[c->token[i]] + 1) / (n + vocab));
            predicted += 1;
        }
    }
    const cs_train_result result = trained(&t);
    assert_true(predicted > 10 && vocab <= 64);
    assert_true(fabs(result.unigram_loss - sum / predicted) < 1e-12);
    free_training(&t);
    const recipe spectral = {.loss = CS_LOSS_SPECTRAL};
    t = make(&spectral, folder(state, "spectral"));
    assert_true(isnan(trained(&t).unigram_loss));
}
