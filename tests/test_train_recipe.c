/* A step of training against the same computation by hand: gradients of the same batches, AdamW
 * from the equation of tensor/backend.h in double, evaluation as a sum over the held-out batches.
 * Then values that are read late or not at all: steps that predict nothing, norms that wait, a stop
 * after a skipped step. */
#include "base/threads.h"
#include "io/table.h"
#include "io_support.h"
#include "train/checkpoint.h"
#include "train/trainer_private.h"
#include "train_support.h"

enum { BATCH = 3, MICRO = 2, STEPS = 5, WIDTH = 16 };

static const double CLIP = 1.4;

/* Every number of the recipe away from its default and from what a slip would put there. Of the
 * five norms some are above the clip and some below. */
static training make(void)
{
    recipe r = {.kind = CS_OBJ_MASKED, .arch = CS_ARCH_ROBERTA_PRELAYERNORM, .documents = 40};
    training t = make_training(&r, NULL);
    cs_model_config *c = &t.model.config;
    c->training.dropout = c->training.attention_dropout = c->training.embed_dropout = 0.2;
    t.options.steps = STEPS;
    t.options.data.batch = BATCH;
    t.options.data.accumulate = MICRO;
    t.options.rate.schedule = CS_SCHEDULE_LINEAR;
    t.options.rate.warmup = 2;
    t.options.rate.final_share = 0.1;
    t.options.rate.learning_rate = 0.02;
    t.options.adamw.beta1 = 0.8;
    t.options.adamw.beta2 = 0.95;
    t.options.adamw.adam_eps = 1e-3;
    t.options.adamw.weight_decay = 0.3;
    t.options.adamw.clip = CLIP;
    t.options.intervals.eval_batches = 2;
    return t;
}

static void start(training *t, cs_trainer *run)
{
    *run = (cs_trainer){0};
    OK(cs_trainer_init(&t->model, &t->corpus, t->tokenizer, &t->options, run));
}

/* --- by hand -----------------------------------------------------------------------------------*/

/* A second training of the same recipe whose steps the test takes itself. */
typedef struct {
    training t;
    cs_examples examples;
    cs_network network;
    cs_run *run;
} hand;

static void begin(hand *h, bool held_out)
{
    *h = (hand){.t = make()};
    const cs_train_options *o = &h->t.options;
    const cs_examples_options wanted = {.objective = &o->task.objective,
                                        .length = o->data.length,
                                        .held_out = held_out,
                                        .seed = o->seed};
    cs_network_options sizes = {
        .form = CS_FORM_SINGLE, .loss = CS_LOSS_CROSS_ENTROPY, .training = !held_out};
    OK(cs_examples_of(&h->t.corpus, &wanted, &h->examples));
    OK(cs_task_sizes(&o->task, &h->t.model.config, BATCH, h->examples.longest, &sizes));
    OK(cs_network_build(&h->t.model, &sizes, &h->network));
    OK(cs_run_init(&h->network.graph, &h->t.model.params, &h->run));
}

static void end(hand *h)
{
    cs_run_free(&h->run);
    cs_network_free(&h->network);
    cs_examples_free(&h->examples);
    free_training(&h->t);
}

/* Examples first .. first + count - 1, numbered from `row` within their step. */
static cs_batch batch_of(hand *h, int64_t first, int64_t row, int64_t count, int64_t step)
{
    cs_example example[BATCH];
    cs_batch batch = {0};
    for (int64_t i = 0; i < count; ++i) {
        int64_t at = 0;
        OK(cs_examples_at(&h->examples, first + i, &at));
        example[i] = (cs_example){h->examples.token + h->examples.start[at], h->examples.length[at],
                                  row + i, NULL, NULL};
    }
    OK(cs_batch_build(
        &(cs_batch_order){&h->t.options.task, &h->t.model.config, h->t.options.seed, step, NULL},
        example, count, &batch));
    return batch;
}

static double forward(hand *h, const cs_batch *batch, double scale, uint32_t step, uint32_t micro)
{
    const cs_run_key key = {h->t.options.seed, step, micro};
    double loss = 0;
    OK(cs_batch_load(batch, &h->network, scale, NULL, key, h->run));
    OK(cs_run_forward(h->run));
    OK(cs_run_sum(h->run, h->network.loss.value, &loss));
    return loss;
}

/* The loss of a step; its gradient is in the parameters. */
static double gradient(hand *h, int64_t step)
{
    cs_batch batch[MICRO];
    double weight = 0, loss = 0;
    for (int64_t m = 0; m < MICRO; ++m) {
        batch[m] = batch_of(h, ((step - 1) * MICRO + m) * BATCH, m * BATCH, BATCH, step);
        weight += batch[m].loss.weight_sum;
    }
    OK(cs_params_zero_grad(&h->t.model.params));
    for (int64_t m = 0; m < MICRO; ++m) {
        loss += forward(h, &batch[m], 1 / weight, (uint32_t)step, (uint32_t)m);
        OK(cs_run_backward(h->run));
        cs_batch_free(&batch[m]);
    }
    return loss;
}

/* All parameters of a model in one array, by their offsets. */
static void get_all(const cs_params *p, cs_param_block what, double *out)
{
    for (int64_t i = 0; i < p->count; ++i) {
        OK(cs_params_get64(p, i, what, out + p->param[i].offset));
    }
}

static void copy_values(const cs_params *from, cs_params *to)
{
    assert_int_equal(from->items, to->items);
    for (int64_t i = 0; i < from->count; ++i) {
        double value[4096];
        assert_true(from->param[i].rows * from->param[i].cols <= 4096);
        OK(cs_params_get64(from, i, CS_PARAM_VALUE, value));
        OK(cs_params_set64(to, i, CS_PARAM_VALUE, value));
    }
}

static bool ends(const char *name, const char *end)
{
    size_t n = strlen(name), m = strlen(end);
    return n >= m && strcmp(name + n - m, end) == 0;
}

static void close_to(const char *what, const char *name, int64_t step, double x, double want,
                     double tolerance)
{
    if (!(fabs(x - want) <= tolerance)) {
        fail_msg("step %lld, %s of %s: %.9g, not %.9g", (long long)step, what, name, x, want);
    }
}

/* --- AdamW -------------------------------------------------------------------------------------*/

/* In double, n items: moments by hand, sums of the magnitudes that went into m, and what the
 * trainer has. */
typedef struct {
    double *m, *v, *size, *grad, *before, *value, *its_m, *its_v;
} moments;

static moments moments_of(int64_t n)
{
    double *all = cs_calloc(8 * n, sizeof *all);
    assert_non_null(all);
    return (moments){all,         all + n,     all + 2 * n, all + 3 * n,
                     all + 4 * n, all + 5 * n, all + 6 * n, all + 7 * n};
}

static double squares(const cs_params *p, const double *x)
{
    double sum = 0;
    for (int64_t i = 0; i < p->count; ++i) {
        const double *at = x + p->param[i].offset;
        sum += SUM(k, 0, p->param[i].rows * p->param[i].cols, at[k] * at[k]);
    }
    return sum;
}

/* Hyperparameters are floats: 1 - 0.95 is off by 2^-24 / 0.05 < 2^-19, and a step multiplies few of
 * them. Five steps stay within 2^-15 of the magnitudes that are summed. */
static void check_update(const cs_params *p, moments *s, int64_t step, double norm)
{
    static const double rate[] = {0, 0.01, 0.02, 0.014, 0.008, 0.002};
    const double b1 = 0.8, b2 = 0.95, eps = 1e-3, decay = 0.3, near = ldexp(1, -15);
    double clip = norm > CLIP ? CLIP / norm : 1;
    double bias1 = 1 - pow(b1, (double)step), bias2 = 1 - pow(b2, (double)step);
    for (int64_t i = 0; i < p->count; ++i) {
        const char *name = p->param[i].name;
        bool decays = !ends(name, ".gain") && !ends(name, "bias");
        int64_t first = p->param[i].offset, n = p->param[i].rows * p->param[i].cols;
        for (int64_t k = first; k < first + n; ++k) {
            double g = clip * s->grad[k];
            s->m[k] = b1 * s->m[k] + (1 - b1) * g;
            s->v[k] = b2 * s->v[k] + (1 - b2) * g * g;
            s->size[k] = b1 * s->size[k] + (1 - b1) * fabs(g);
            double root = sqrt(s->v[k] / bias2) + eps, kept = decays ? decay * s->before[k] : 0;
            double want = s->before[k] - rate[step] * (s->m[k] / bias1 / root + kept);
            double moved = rate[step] * (s->size[k] / bias1 / root + fabs(kept));
            close_to("m", name, step, s->its_m[k], s->m[k], near * s->size[k] + 1e-40);
            close_to("v", name, step, s->its_v[k], s->v[k], near * s->v[k] + 1e-40);
            close_to("value", name, step, s->value[k], want,
                     near * moved + ldexp(fabs(s->before[k]), -23) + 1e-40);
        }
    }
}

TEST(test_steps_by_hand)
{
    CS_AUTO_BY(free_training, training) t = make();
    CS_AUTO(cs_trainer) run = {0};
    hand h;
    start(&t, &run);
    begin(&h, false);
    cs_params *p = &t.model.params, *mine = &h.t.model.params;
    moments s = moments_of(p->items);
    int clipped = 0;
    for (int64_t step = 1; step <= STEPS; ++step) {
        copy_values(p, mine);
        get_all(mine, CS_PARAM_VALUE, s.before);
        double loss = gradient(&h, step);
        get_all(mine, CS_PARAM_GRAD, s.grad);
        double norm = sqrt(squares(mine, s.grad));
        OK(cs_trainer_step(&run, true));
        close_to("norm", "all", step, run.norm, norm, 1e-12 * norm);
        close_to("loss", "all", step, run.state.loss, loss, 1e-12 * loss);
        get_all(p, CS_PARAM_VALUE, s.value);
        get_all(p, CS_PARAM_M, s.its_m);
        get_all(p, CS_PARAM_V, s.its_v);
        check_update(p, &s, step, norm);
        clipped += norm > CLIP;
    }
    if (clipped == 0 || clipped == STEPS) {
        fail_msg("%d of %d steps are clipped: one kind is not tried", clipped, STEPS);
    }
    cs_free(s.m);
    end(&h);
}

/* The references of the steps above do differ from step to step and from micro-batch to
 * micro-batch. */
TEST(test_plans_and_dropout_differ)
{
    hand h;
    begin(&h, false);
    CS_AUTO(cs_batch) one = batch_of(&h, 0, 0, BATCH, 1), two = batch_of(&h, 0, 0, BATCH, 2),
                      row = batch_of(&h, 0, BATCH, BATCH, 1);
    size_t bytes = (size_t)(one.batch * one.length) * sizeof *one.token;
    assert_int_equal(one.length, two.length);
    assert_memory_not_equal(one.token, two.token, bytes);
    assert_memory_not_equal(one.token, row.token, bytes);
    double loss = forward(&h, &one, 1, 1, 0);
    assert_true(loss == forward(&h, &one, 1, 1, 0));
    assert_true(loss != forward(&h, &one, 1, 2, 0));
    assert_true(loss != forward(&h, &one, 1, 1, 1));
    end(&h);
}

/* --- evaluation --------------------------------------------------------------------------------*/

/* Two whole batches and what is left, up to eval_batches of them. */
TEST(test_evaluation_by_hand)
{
    CS_AUTO_BY(free_training, training) t = make();
    hand h;
    begin(&h, true);
    double sum = 0, weight = 0, seen[4] = {0};
    assert_int_equal(h.examples.count, 8);
    for (int64_t at = 0, k = 1; at < 8; at += BATCH, ++k) {
        CS_AUTO(cs_batch) batch = batch_of(&h, at, at, at + BATCH > 8 ? 8 - at : BATCH, 0);
        sum += forward(&h, &batch, 1, 9, 9); /* nothing is dropped, whatever the key */
        weight += batch.loss.weight_sum;
        seen[k] = sum / weight;
    }
    for (int64_t k = 1; k <= 3; ++k) {
        CS_AUTO(cs_trainer) run = {0};
        double loss = 0;
        t.options.intervals.eval_batches = k;
        start(&t, &run);
        OK(cs_trainer_evaluate(&run, &loss));
        close_to("held-out loss", "all", 0, loss, seen[k], 1e-12 * seen[k]);
        OK(cs_trainer_evaluate(&run, &loss));
        close_to("second held-out loss", "all", 0, loss, seen[k], 1e-12 * seen[k]);
    }
    end(&h);
}

/* --- order of like lengths ---------------------------------------------------------------------*/

/* Groups of like lengths do not come shortest first: their order is that of a shuffle, another in
 * another epoch. */
TEST(test_groups_are_shuffled)
{
    recipe r = {.documents = 60};
    CS_AUTO_BY(free_training, training) t = make_training(&r, NULL);
    const cs_examples_options wanted = {
        .objective = &t.options.task.objective, .length = 9, .seed = 3, .group = 4};
    AUTO_OK(cs_examples, e, cs_examples_of(&t.corpus, &wanted, &e));
    assert_int_equal(e.count, 48);
    int falls = 0, changed = 0;
    int64_t longest[2][12] = {{0}};
    for (int64_t n = 0; n < 96; ++n) {
        int64_t at = 0, *group = &longest[n / 48][n % 48 / 4];
        OK(cs_examples_at(&e, n, &at));
        *group = e.length[at] > *group ? e.length[at] : *group;
    }
    for (int g = 0; g < 12; ++g) {
        falls += g > 0 && longest[0][g] < longest[0][g - 1];
        changed += longest[0][g] != longest[1][g];
    }
    assert_true(falls > 0);
    assert_true(changed > 0);
}

/* --- steps that predict nothing ----------------------------------------------------------------*/

/* Batches of one sequence in which a token is rarely masked. */
static training make_rare(const char *dir)
{
    recipe r = {.kind = CS_OBJ_BERNOULLI_MASKED, .arch = CS_ARCH_ROBERTA_PRELAYERNORM};
    training t = make_training(&r, dir);
    cs_objective *o = &t.options.task.objective;
    o->mask_ratio_lo = o->mask_ratio_hi = 0.1;
    t.options.steps = 60;
    t.options.data.batch = 1;
    t.options.intervals.log_every = 1;
    t.options.bad_limit = 1;
    return t;
}

/* Norms that no step wrote are read by none: they are not-a-number here. */
TEST(test_unwritten_norms)
{
    double poison[CS_NORMS];
    int64_t steps = 0, empty = 0;
    CS_AUTO_BY(free_training, training) t = make_rare(NULL);
    CS_AUTO(cs_trainer) run = {0};
    t.backend->asynchronous = true;
    start(&t, &run);
    for (int i = 0; i < CS_NORMS; ++i) {
        poison[i] = NAN;
    }
    OK(t.backend->put(t.backend, run.updates.norms, poison, (int64_t)sizeof poison));
    for (; steps < 50; ++steps) {
        bool read = steps % 9 == 8;
        OK(cs_trainer_step(&run, read));
        empty += run.empty;
        if (read) {
            assert_true(isfinite(run.norm) == !run.empty);
            assert_true(isfinite(run.state.loss) == !run.empty);
        }
    }
    assert_true(empty > 5 && empty < 45);
    assert_int_equal(run.state.skipped, 0);
}

/* The log of a run now and of one whose batches keep one shape: empty cells in the same rows, the
 * same numbers in the others up to the order of sums. */
TEST_IN_DIR(test_log_of_empty_steps)
{
    cs_table log[2] = {{0}};
    int empty = 0;
    for (int i = 0; i < 2; ++i) {
        training t = make_rare(in_dir(state, i == 0 ? "now" : "later"));
        t.backend->asynchronous = i == 1;
        assert_int_equal(trained(&t).skipped, 0);
        free_training(&t);
        OK(cs_table_read_csv(in_dir(state, i == 0 ? "now/log.csv" : "later/log.csv"), &log[i]));
        assert_int_equal(log[i].rows, 60);
    }
    for (int64_t row = 0; row < 60; ++row) {
        static const char *const column[] = {"loss", "grad_norm"};
        bool none[2];
        for (int c = 0; c < 2; ++c) {
            int64_t at = row * log[0].columns + cs_table_column(&log[0], column[c]);
            const char *now = log[0].cell[at], *later = log[1].cell[at];
            none[c] = now[0] == '\0';
            assert_int_equal(none[c], later[0] == '\0');
            close_to(column[c], "all", row + 1, strtod(later, NULL), strtod(now, NULL), 1e-3);
        }
        assert_int_equal(none[0], none[1]);
        empty += none[0];
    }
    assert_true(empty > 5 && empty < 55);
    cs_table_free(&log[0]);
    cs_table_free(&log[1]);
}

/* --- norms that wait ---------------------------------------------------------------------------*/

static void set_gain(training *t, float first)
{
    float value[WIDTH];
    int64_t number = cs_params_find(&t->model.params, "final_norm.gain");
    OK(cs_params_get(&t->model.params, number, CS_PARAM_VALUE, value));
    value[0] = first;
    OK(cs_params_set(&t->model.params, number, CS_PARAM_VALUE, value));
}

/* Nothing asks for numbers in 150 steps: two bad ones early are counted all the same, before 64
 * others have taken their places. */
TEST(test_norms_are_read_in_time)
{
    recipe r = {0};
    CS_AUTO_BY(free_training, training) t = make_training(&r, NULL);
    CS_AUTO(cs_trainer) run = {0};
    t.backend->asynchronous = true;
    t.options.steps = 200;
    start(&t, &run);
    for (int step = 1; step <= 150; ++step) {
        if (step == 3 || step == 5) {
            set_gain(&t, step == 3 ? INFINITY : 1);
        }
        OK(cs_trainer_step(&run, false));
        assert_int_equal(run.updates.unread, step % CS_NORMS);
        assert_int_equal(run.state.skipped, step < CS_NORMS ? 0 : 2);
    }
    OK(cs_trainer_step(&run, true));
    assert_int_equal(run.state.skipped, 2);
}

/* The same through the loop, with a row of the log every 70 steps. The norm of step 1 is read at once. */
TEST_IN_DIR(test_rare_log)
{
    recipe r = {0};
    CS_AUTO_BY(free_training, training) t = make_training(&r, in_dir(state, "run"));
    t.backend->asynchronous = true;
    t.options.steps = 140;
    t.options.intervals.log_every = 70;
    t.options.intervals.eval_every = t.options.intervals.save_every = 0;
    t.options.rate.learning_rate = 1e30;
    t.options.rate.schedule = CS_SCHEDULE_CONSTANT;
    t.options.bad_limit = 60;
    cs_train_result result;
    assert_fails(cs_train(&t.model, &t.corpus, t.tokenizer, &t.options, &result), CS_ERR_CONVERGE,
                 "not finite in 60 consecutive steps, up to step 6");
    assert_int_equal(result.step, CS_NORMS + 1);
}

/* --- a stop after a skipped step ---------------------------------------------------------------*/

typedef struct {
    training *t;
    float before;
} stop;

/* Step 7 has no finite gradient; the value that did it is whole again when the run is stopped. */
static void stop_after_7(void *ctx, const char *stage, int64_t done, int64_t total)
{
    training *t = ((stop *)ctx)->t;
    (void)stage;
    (void)total;
    if (done == 6) {
        float value[WIDTH];
        OK(cs_params_get(&t->model.params, cs_params_find(&t->model.params, "final_norm.gain"),
                         CS_PARAM_VALUE, value));
        ((stop *)ctx)->before = value[0];
        set_gain(t, INFINITY);
    } else if (done == 7) {
        set_gain(t, ((stop *)ctx)->before);
        cs_interrupt_set();
    }
}

static cs_status train_and_stop(const char *path)
{
    recipe r = {0};
    CS_AUTO_BY(free_training, training) t = make_training(&r, path);
    stop s = {&t, 0};
    cs_progress progress = {stop_after_7, &s};
    cs_train_result result;
    t.options.progress = &progress;
    cs_status status = cs_train(&t.model, &t.corpus, t.tokenizer, &t.options, &result);
    return status;
}

TEST_IN_DIR(test_stop_after_a_skipped_step)
{
    recipe r = {0};
    cs_train_state kept = {0};
    json_auto_t *record = NULL;
    const char *dir = in_dir(state, "run");
    assert_int_equal(in_child(train_and_stop, dir, "checkpoint-7 is kept"), CS_ERR_INTERRUPT);
    OK(cs_train_open(dir, 7, &kept, &record));
    assert_int_equal(kept.bad, 1);
    assert_int_equal(kept.skipped, 1);
    CS_AUTO_BY(free_training, training) t = make_training(&r, dir);
    t.options.start.resume = true;
    cs_train_result result = trained(&t);
    assert_true(result.finished && result.step == 12 && result.skipped == 1);
}

/* --- limits ------------------------------------------------------------------------------------*/

static void refused(int64_t steps, int64_t accumulate, const char *reason)
{
    recipe r = {0};
    CS_AUTO_BY(free_training, training) t = make_training(&r, NULL);
    cs_trainer run = {0};
    t.options.steps = steps;
    t.options.data.accumulate = accumulate;
    t.options.rate.schedule = CS_SCHEDULE_CONSTANT;
    assert_fails(cs_trainer_init(&t.model, &t.corpus, t.tokenizer, &t.options, &run), CS_ERR_USAGE,
                 reason);
}

/* Beyond them the key of dropout would repeat. */
TEST(test_limits)
{
    refused((int64_t)1 << 32, 1, "steps 4294967296 is not in [0, 4294967295]");
    refused(12, 65536, "accumulate 65536 is not in [1, 65535]");
    recipe r = {0};
    CS_AUTO_BY(free_training, training) t = make_training(&r, NULL);
    CS_AUTO(cs_trainer) run = {0};
    t.options.steps = UINT32_MAX;
    t.options.data.accumulate = UINT16_MAX;
    start(&t, &run);
}
