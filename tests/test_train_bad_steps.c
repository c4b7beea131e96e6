/* Training: steps without a prediction, gradients and values that are not finite. */
#include "io/file.h"
#include "io/table.h"
#include "io_support.h"
#include "train/checkpoint.h"
#include "train_support.h"

typedef struct {
    training *t;
    int64_t from, to; /* the value is infinite after step `from`, and whole again after `to` */
    float *before, *value;
    bool same;
} poison;

static void corrupt(void *ctx, const char *stage, int64_t done, int64_t total)
{
    poison *p = ctx;
    cs_params *params = &p->t->model.params;
    int64_t number = cs_params_find(params, "final_norm.gain");
    (void)stage;
    (void)total;
    if (done == p->from) {
        OK(cs_params_get(params, number, CS_PARAM_VALUE, p->before));
        p->value[0] = INFINITY;
        memcpy(p->value + 1, p->before + 1, 15 * sizeof *p->value);
        OK(cs_params_set(params, number, CS_PARAM_VALUE, p->value));
    }
    if (done == p->to) {
        float now[16];
        OK(cs_params_get(params, number, CS_PARAM_VALUE, now));
        p->same = memcmp(now, p->value, sizeof now) == 0;
        OK(cs_params_set(params, number, CS_PARAM_VALUE, p->before));
    }
}

/* A run whose share keeps few predictions, up to `steps`. */
static cs_train_result run_thinned(training *t, int64_t steps, bool resume)
{
    t->options.task.objective.share = 0.1;
    t->options.data.batch = 1;
    t->options.rate.schedule = CS_SCHEDULE_CONSTANT;
    t->options.intervals.log_every = 1;
    t->options.steps = steps;
    t->options.start.resume = resume;
    return trained(t);
}

/* Steps without a prediction are counted, also over a resumed run: those without a loss in the log. */
TEST_IN_DIR(test_empty_steps_are_counted)
{
    recipe r = {0};
    enum { STEPS = 24, HALF = 12 };
    int64_t empty[STEPS] = {0}, so_far = 0, at_half = 0;
    CS_AUTO_BY(free_training, training) t = make_training(&r, in_dir(state, "whole"));
    const cs_train_result whole = run_thinned(&t, STEPS, false);
    AUTO_OK(cs_table, table, cs_table_read_csv(in_dir(state, "whole/log.csv"), &table));
    assert_int_equal(table.rows, STEPS);
    for (int64_t i = 0; i < STEPS; ++i) {
        const char *const *row = (const char *const *)table.cell + i * table.columns;
        so_far += empty[i] = row[cs_table_column(&table, "loss")][0] == '\0';
        at_half = i == HALF - 1 ? so_far : at_half;
    }
    assert_true(at_half > 0 && so_far > at_half && so_far < STEPS);
    assert_int_equal(whole.empty_steps, so_far);
    assert_true(whole.skipped == 0 && whole.finished);
    assert_int_equal(isnan(whole.loss), empty[STEPS - 1]);
    CS_AUTO_BY(free_training, training) a = make_training(&r, in_dir(state, "parts"));
    assert_int_equal(run_thinned(&a, HALF, false).empty_steps, at_half);
    CS_AUTO_BY(free_training, training) b = make_training(&r, in_dir(state, "parts"));
    assert_int_equal(run_thinned(&b, STEPS, true).empty_steps, so_far);
    assert_same_file(in_dir(state, "whole"), in_dir(state, "parts"), "model.safetensors");
}

TEST_IN_DIR(test_bad_steps_are_skipped)
{
    recipe r = {0};
    float before[16], value[16];
    CS_AUTO_BY(free_training, training) t = make_training(&r, in_dir(state, "run"));
    poison p = {&t, 3, 5, before, value, false};
    cs_progress progress = {corrupt, &p};
    t.options.progress = &progress;
    cs_train_result result = trained(&t);
    assert_int_equal(result.skipped, 2); /* steps 4 and 5; 4 would have been saved */
    assert_true(p.same);
    assert_true(isfinite(result.loss) && result.finished);
}

TEST_IN_DIR(test_bad_limit)
{
    recipe r = {0};
    float before[16], value[16];
    int64_t size = 0, again = 0;
    training t = make_training(&r, in_dir(state, "run"));
    poison p = {&t, 7, 1000, before, value, false};
    cs_progress progress = {corrupt, &p};
    cs_train_result result;
    t.options.progress = &progress;
    t.options.intervals.save_every = 2;
    assert_fails(cs_train(&t.model, &t.corpus, t.tokenizer, &t.options, &result), CS_ERR_CONVERGE,
                 "not finite in 3 consecutive steps, up to step 10");
    assert_int_equal(result.skipped, 3);
    assert_false(result.finished);
    free_training(&t);
    assert_true(cs_path_exists(in_dir(state, "run/checkpoint-6/trainer.json")));
    assert_false(cs_path_exists(in_dir(state, "run/checkpoint-8")));
    assert_false(cs_path_exists(in_dir(state, "run/model.safetensors")));
    CS_AUTO_FREE char *kept = bytes_of(in_dir(state, "run/checkpoint-6/model.safetensors"), &size);
    /* It is good: the run goes on from it, and ends as one that was never disturbed. */
    t = make_training(&r, in_dir(state, "run"));
    t.options.intervals.save_every = 6;
    t.options.start.resume = true;
    assert_int_equal(trained(&t).skipped, 0);
    free_training(&t);
    CS_AUTO_FREE char *same = bytes_of(in_dir(state, "run/checkpoint-6/model.safetensors"), &again);
    assert_true(size == again && memcmp(kept, same, (size_t)size) == 0);
    t = make_training(&r, in_dir(state, "whole"));
    (void)trained(&t);
    free_training(&t);
    assert_same_file(in_dir(state, "whole"), in_dir(state, "run"), "model.safetensors");
}

/* Norms that are read late: the steps in a row are found all the same, whatever came after them. */
TEST_IN_DIR(test_bad_limit_read_late)
{
    recipe r = {0};
    cs_train_result result;
    CS_AUTO_BY(free_training, training) t = make_training(&r, in_dir(state, "run"));
    t.backend->asynchronous = true;
    t.options.rate.learning_rate = 1e30;
    t.options.rate.schedule = CS_SCHEDULE_CONSTANT;
    t.options.intervals.log_every = t.options.intervals.eval_every =
        t.options.intervals.save_every = 0;
    assert_fails(cs_train(&t.model, &t.corpus, t.tokenizer, &t.options, &result), CS_ERR_CONVERGE,
                 "not finite in 3 consecutive steps");
    assert_int_equal(result.step, 12);
}

/* A rate so large that values overflow: the run ends, nothing infinite is saved. */
TEST_IN_DIR(test_divergence)
{
    recipe r = {0};
    cs_train_result result;
    CS_AUTO_BY(free_training, training) t = make_training(&r, in_dir(state, "run"));
    t.options.rate.learning_rate = 1e30;
    t.options.rate.schedule = CS_SCHEDULE_CONSTANT;
    t.options.intervals.save_every = 1;
    assert_fails(cs_train(&t.model, &t.corpus, t.tokenizer, &t.options, &result), CS_ERR_CONVERGE,
                 "not finite");
}

/* Too few steps for bad_limit: the last ones were skipped, and no model comes of it. */
TEST_IN_DIR(test_bad_end)
{
    recipe r = {0};
    cs_train_result result;
    CS_AUTO_BY(free_training, training) t = make_training(&r, in_dir(state, "run"));
    t.options.rate.learning_rate = 1e30;
    t.options.adamw.clip = 0;
    t.options.rate.schedule = CS_SCHEDULE_CONSTANT;
    t.options.bad_limit = 20;
    assert_fails(cs_train(&t.model, &t.corpus, t.tokenizer, &t.options, &result), CS_ERR_CONVERGE,
                 "of 12 steps; give a smaller --lr; no checkpoint was written");
    assert_false(result.finished);
    assert_false(cs_path_exists(in_dir(state, "run/model.safetensors")));
}

TEST_IN_DIR(test_infinite_model_is_not_trained)
{
    recipe r = {0};
    cs_train_result result;
    float value[16] = {0};
    value[5] = NAN;
    CS_AUTO_BY(free_training, training) t = make_training(&r, in_dir(state, "run"));
    int64_t number = cs_params_find(&t.model.params, "final_norm.gain");
    OK(cs_params_set(&t.model.params, number, CS_PARAM_VALUE, value));
    assert_fails(cs_train(&t.model, &t.corpus, t.tokenizer, &t.options, &result), CS_ERR_INPUT,
                 "parameter final_norm.gain of the model to be trained has the value nan");
    assert_int_equal(entries(state), 0);
}

TEST_IN_DIR(test_infinite_value_is_not_saved)
{
    recipe r = {0};
    float value[16] = {0};
    value[5] = NAN;
    CS_AUTO_BY(free_training, training) t = make_training(&r, in_dir(state, "run"));
    int64_t number = cs_params_find(&t.model.params, "final_norm.gain");
    OK(cs_params_set(&t.model.params, number, CS_PARAM_VALUE, value));
    json_auto_t *run = json_object();
    cs_train_state s = {.step = 4};
    assert_fails(cs_train_save(*state, &t.model, t.tokenizer, run, &s), CS_ERR_CONVERGE,
                 "after step 4 parameter final_norm.gain has the value nan");
    assert_int_equal(entries(state), 0);
}
