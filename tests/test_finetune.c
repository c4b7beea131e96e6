/* train/finetune: a batch by heart, a task that words decide, chance where there is nothing to
 * learn, values that no prediction may depend on, threads, bad input, every allocation failed. */
#include "base/threads.h"
#include "io/file.h"
#include "io_support.h"
#include "texts_support.h"
#include "train/finetune.h"

enum { POSITIONS = 16 };

/* --- a task and a model for it ---------------------------------------------------------------- */

typedef struct {
    cs_arch arch;
    cs_readout readout;
    bool causal, pairs;
    label_kind kind;
    int64_t classes, count;
    double dropout;
    int threads; /* 0: 1 */
} plan;

typedef struct {
    cs_tokenizer *tokenizer;
    cs_labelled_text text;
    cs_texts ids;
    cs_backend *backend;
    cs_model model;
    cs_finetune_options options;
    double *predicted;
} task;

static cs_model_config encoder_of(const plan *p, const cs_tokenizer *t)
{
    cs_model_config c = {.shape.vocab = cs_tokenizer_vocab(t),
                         .shape.positions = POSITIONS,
                         .shape.width = 16,
                         .shape.layers = 2,
                         .shape.heads = 2,
                         .shape.inner = 32};
    cs_model_config_default(p->arch, &c);
    cs_model_config_ids(&c, (cs_special_ids){.pad = 1, .bos = 0, .eos = 2, .mask = 4, .unk = 3});
    return c;
}

static void encode(const plan *p, const cs_labelled_text *text, const cs_tokenizer *tokenizer,
                   cs_texts *out)
{
    const cs_texts_options o = {.max_length = POSITIONS,
                                .begin = p->readout == CS_READ_FIRST,
                                .token_types = p->arch == CS_ARCH_BERT ? 2 : 1};
    OK(cs_texts_encode(text, tokenizer, &o, out));
}

static task open_task(const plan *p)
{
    task t = {.tokenizer = word_tokenizer(),
              .text = small_texts(p->count, p->kind, p->classes, p->pairs, 1),
              .options = cs_finetune_defaults()};
    cs_model_config encoder = encoder_of(p, t.tokenizer), config;
    encode(p, &t.text, t.tokenizer, &t.ids);
    OK(cs_finetune_config(&encoder, &t.ids, p->readout, p->dropout, &config));
    OK(cs_backend_cpu(p->threads > 0 ? p->threads : 1, &t.backend));
    OK(cs_model_init(&config, t.backend, true, &t.model));
    OK(cs_model_randomise(&t.model, 3));
    t.options.masks.attention = p->causal ? CS_ATTENTION_CAUSAL : CS_ATTENTION_BIDIRECTIONAL;
    t.options.seed = 5;
    assert_non_null(t.predicted = cs_calloc(p->count, sizeof *t.predicted));
    return t;
}

static void close_task(task *t)
{
    cs_model_free(&t->model);
    cs_backend_free(&t->backend);
    cs_texts_free(&t->ids);
    cs_labelled_text_free(&t->text);
    cs_tokenizer_free(&t->tokenizer);
    cs_free(t->predicted);
}

static cs_finetune_result tuned(task *t)
{
    cs_finetune_result result = {0};
    OK(cs_finetune(&t->model, &t->ids, NULL, 0, &t->options, &result));
    return result;
}

static double predicted(task *t)
{
    double loss = 0;
    OK(cs_finetune_predict(&t->model, &t->ids, NULL, 0, &t->options, t->predicted, &loss));
    return loss;
}

static int64_t right(const double *truth, const double *guess, int64_t count)
{
    return COUNT(i, 0, count, (int64_t)truth[i] == (int64_t)guess[i]);
}

/* --- learning --------------------------------------------------------------------------------- */

/* Twelve texts whose labels follow from nothing: every head and readout learns them by heart. */
TEST(learns_by_heart)
{
    const plan plans[] = {
        {CS_ARCH_GPT2, CS_READ_LAST, true, false, LABEL_BY_CHANCE, 3, 12, 0, 0},
        {CS_ARCH_GPT2, CS_READ_MEAN, true, true, LABEL_BY_CHANCE, 2, 12, 0, 0},
        {CS_ARCH_BERT, CS_READ_FIRST, false, true, LABEL_BY_CHANCE, 3, 12, 0, 0},
        {CS_ARCH_ROBERTA, CS_READ_FIRST, false, false, LABEL_BY_CHANCE, 2, 12, 0, 0},
        {CS_ARCH_ROBERTA_PRELAYERNORM, CS_READ_MEAN, false, false, LABEL_BY_CHANCE, 4, 12, 0, 0},
        {CS_ARCH_ROBERTA_PRELAYERNORM, CS_READ_FIRST, false, false, LABEL_NUMBER, 0, 12, 0, 0},
        {CS_ARCH_GPT2, CS_READ_LAST, true, true, LABEL_NUMBER, 0, 12, 0, 0},
    };
    for (size_t i = 0; i < sizeof plans / sizeof *plans; ++i) {
        CS_AUTO_BY(close_task, task) t = open_task(&plans[i]);
        t.options.epochs = 150;
        t.options.batch = 4;
        t.options.learning_rate = 5e-3;
        double before = predicted(&t);
        cs_finetune_result result = tuned(&t);
        double after = predicted(&t);
        assert_int_equal(result.steps, 450);
        assert_int_equal(result.skipped, 0);
        assert_int_equal(result.tokens, 150 * t.ids.start[12]);
        if (!(after < 0.02 && after < before / 10)) {
            fail_msg("plan %d: loss %g, at first %g", (int)i, after, before);
        }
        if (plans[i].classes > 0) {
            assert_int_equal(right(t.text.value, t.predicted, 12), 12);
        }
    }
}

/* A word decides: all texts that were not trained on are put right. */
TEST(learns_what_words_decide)
{
    const plan p = {
        CS_ARCH_ROBERTA_PRELAYERNORM, CS_READ_MEAN, false, false, LABEL_BY_WORD, 3, 1500, 0, 0};
    CS_AUTO_BY(close_task, task) t = open_task(&p);
    CS_AUTO(cs_labelled_text) other = small_texts(200, LABEL_BY_WORD, 3, false, 2);
    CS_AUTO(cs_texts) ids = {0};
    double guess[200];
    encode(&p, &other, t.tokenizer, &ids);
    t.options.epochs = 30;
    t.options.learning_rate = 5e-3;
    (void)tuned(&t);
    OK(cs_finetune_predict(&t.model, &ids, NULL, 0, &t.options, guess, NULL));
    assert_int_equal(right(other.value, guess, 200), 200);
}

/* At a rate of zero the model stays as it was drawn. Labels drawn apart from the texts: the share
 * it gets right is that of 400 fair coins, within five standard deviations. */
TEST(untrained_is_chance)
{
    const plan p = {CS_ARCH_GPT2, CS_READ_LAST, true, false, LABEL_BY_CHANCE, 2, 400, 0, 0};
    CS_AUTO_BY(close_task, task) t = open_task(&p);
    t.options.epochs = 1;
    t.options.learning_rate = 0;
    double loss = predicted(&t);
    cs_finetune_result result = tuned(&t);
    /* the same texts in other batches, in float */
    assert_true(fabs(result.loss - loss) < 1e-5 * loss);
    (void)predicted(&t);
    assert_true(fabs((double)right(t.text.value, t.predicted, 400) - 200) <= 5 * sqrt(100));
}

/* --- what must not matter --------------------------------------------------------------------- */

/* Values of texts that are predicted, or not trained on, move no bit of a prediction. */
TEST(values_do_not_leak)
{
    double guess[2][40], loss[2];
    const int64_t fit[] = {3, 1, 17, 20, 21, 30, 8, 9, 12, 13}, scored[] = {0, 2, 4, 5, 6, 7};
    for (int changed = 0; changed < 2; ++changed) {
        const plan p = {CS_ARCH_BERT, CS_READ_FIRST, false, true, LABEL_BY_CHANCE, 3, 40, 0.1, 0};
        CS_AUTO_BY(close_task, task) t = open_task(&p);
        t.options.epochs = 3;
        t.options.batch = 4;
        t.options.learning_rate = 1e-3;
        cs_finetune_result result = {0};
        for (int64_t i = 0; i < 40 && changed; ++i) {
            bool trained = ANY(k, 0, sizeof fit / sizeof *fit, fit[k] == i);
            t.ids.value[i] = trained ? t.ids.value[i] : (double)(((int)t.ids.value[i] + 1) % 3);
        }
        OK(cs_finetune(&t.model, &t.ids, fit, 10, &t.options, &result));
        OK(cs_finetune_predict(&t.model, &t.ids, scored, 6, &t.options, guess[changed],
                               &loss[changed]));
    }
    assert_memory_equal(guess[0], guess[1], 6 * sizeof **guess);
    assert_true(loss[0] < loss[1] || loss[0] > loss[1]);
}

static float *parameters(const cs_model *m, int64_t *count)
{
    float *all = test_zeros(m->params.items, sizeof *all);
    for (int64_t i = 0; i < m->params.count; ++i) {
        OK(cs_params_get(&m->params, i, CS_PARAM_VALUE, all + m->params.param[i].offset));
    }
    *count = m->params.items;
    return all;
}

TEST(threads_do_not_matter)
{
    float *first = NULL;
    double guess[30];
    for (int threads = 1; threads <= 4; ++threads) {
        const plan p = {CS_ARCH_ROBERTA, CS_READ_MEAN, false, true, LABEL_NUMBER, 0, 30, 0.1,
                        threads};
        CS_AUTO_BY(close_task, task) t = open_task(&p);
        int64_t count = 0;
        t.options.epochs = 2;
        t.options.learning_rate = 1e-3;
        (void)tuned(&t);
        (void)predicted(&t);
        float *values = parameters(&t.model, &count);
        if (first) {
            assert_memory_equal(first, values, (size_t)count * sizeof *values);
            assert_memory_equal(guess, t.predicted, sizeof guess);
        } else {
            first = values;
            memcpy(guess, t.predicted, sizeof guess);
        }
    }
}

/* As on a GPU, batches padded to one shape: the same up to rounding. Adam divides a gradient by its
 * size, so that rounding of the smallest ones counts as a share of the rate: 24 steps of 1e-4 on
 * outputs of order one. */
TEST(padding_does_not_matter)
{
    double guess[2][30];
    for (int padded = 0; padded < 2; ++padded) {
        const plan p = {CS_ARCH_GPT2, CS_READ_MEAN, true, false, LABEL_NUMBER, 0, 30, 0, 0};
        CS_AUTO_BY(close_task, task) t = open_task(&p);
        t.backend->asynchronous = padded;
        t.options.epochs = 3;
        t.options.batch = 4; /* the last of an epoch has 2 */
        t.options.learning_rate = 1e-4;
        (void)tuned(&t);
        (void)predicted(&t);
        memcpy(guess[padded], t.predicted, sizeof guess[padded]);
        t.backend->asynchronous = false;
    }
    assert_each(i, 0, 30, fabs(guess[0][i] - guess[1][i]) < 1e-4);
}

/* Seeds are other orders and dropout; the same one repeats itself. */
TEST(seeds)
{
    double loss[3];
    for (int run = 0; run < 3; ++run) {
        const plan p = {CS_ARCH_GPT2, CS_READ_LAST, true, false, LABEL_BY_WORD, 3, 40, 0.1, 0};
        CS_AUTO_BY(close_task, task) t = open_task(&p);
        t.options.seed = run == 1 ? 8 : 5;
        t.options.epochs = 2;
        t.options.learning_rate = 1e-3;
        loss[run] = tuned(&t).loss;
    }
    assert_memory_equal(&loss[0], &loss[2], sizeof *loss);
    assert_true(loss[0] < loss[1] || loss[0] > loss[1]);
}

/* --- the log ---------------------------------------------------------------------------------- */

TEST_IN_DIR(writes_a_log)
{
    const plan p = {CS_ARCH_GPT2, CS_READ_LAST, true, false, LABEL_BY_WORD, 2, 20, 0, 0};
    CS_AUTO_BY(close_task, task) t = open_task(&p);
    CS_AUTO_FREE char *text = NULL;
    int64_t size = 0;
    t.options.dir = in_dir(state, "run");
    OK(cs_dir_make(t.options.dir));
    t.options.epochs = 2;
    t.options.batch = 4;
    t.options.log_every = 4;
    (void)tuned(&t);
    OK(cs_file_read(in_dir(state, "run/log.csv"), 1 << 20, &text, &size));
    int64_t lines = COUNT(i, 0, size, text[i] == '\n');
    assert_int_equal(lines, 1 + 3); /* the header, steps 4, 8 and the last, 10 */
    assert_non_null(strstr(text, "\n10,"));
}

/* --- what goes wrong -------------------------------------------------------------------------- */

TEST(bad_input)
{
    const plan p = {CS_ARCH_GPT2, CS_READ_LAST, true, false, LABEL_BY_WORD, 2, 20, 0, 0};
    CS_AUTO_BY(close_task, task) t = open_task(&p);
    cs_finetune_result r;
    cs_finetune_options good = t.options, o;
    const int64_t none = 0;
    o = good;
    o.epochs = 0;
    assert_fails(cs_finetune(&t.model, &t.ids, NULL, 0, &o, &r), CS_ERR_USAGE, "epochs 0 is not");
    o = good;
    o.batch = 0;
    assert_fails(cs_finetune(&t.model, &t.ids, NULL, 0, &o, &r), CS_ERR_USAGE, "batch 0 is not");
    assert_fails(cs_finetune_predict(&t.model, &t.ids, NULL, 0, &o, t.predicted, NULL),
                 CS_ERR_USAGE, "batch 0");
    o = good;
    o.learning_rate = (double)NAN;
    assert_fails(cs_finetune(&t.model, &t.ids, NULL, 0, &o, &r), CS_ERR_USAGE, "lr nan is not");
    o = good;
    o.warmup = 1.5;
    assert_fails(cs_finetune(&t.model, &t.ids, NULL, 0, &o, &r), CS_ERR_USAGE, "warmup 1.5");
    assert_fails(cs_finetune(&t.model, &t.ids, &none, 0, &good, &r), CS_ERR_INPUT, "no texts");
    t.ids.token[t.ids.start[7]] = 99;
    assert_fails(cs_finetune(&t.model, &t.ids, NULL, 0, &good, &r), CS_ERR_INPUT,
                 "text 8: token 99 is not in 0..34");
    t.ids.token[t.ids.start[7]] = 9;
    t.ids.classes = 3;
    assert_fails(cs_finetune(&t.model, &t.ids, NULL, 0, &good, &r), CS_ERR_USAGE,
                 "the model has 2 outputs, but the task needs 3");
    t.ids.classes = 2;
    t.ids.longest = 17;
    assert_fails(cs_finetune(&t.model, &t.ids, NULL, 0, &good, &r), CS_ERR_USAGE,
                 "17 tokens are too long for a model of 16 positions");
}

TEST(bad_models)
{
    const plan p = {CS_ARCH_GPT2, CS_READ_LAST, true, false, LABEL_BY_WORD, 2, 4, 0, 0};
    CS_AUTO_BY(close_task, task) t = open_task(&p);
    cs_model_config linear = {.shape.width = 8, .shape.layers = 1, .shape.heads = 1},
                    config = t.model.config, out;
    cs_model_config_default(CS_ARCH_LINEAR, &linear);
    assert_fails(cs_finetune_config(&linear, &t.ids, CS_READ_LAST, 0, &out), CS_ERR_USAGE,
                 "linear has no encoder");
    assert_fails(cs_finetune_config(&config, &t.ids, CS_READ_LAST, 1, &out), CS_ERR_USAGE,
                 "dropout 1 is not in");
    t.ids.classes = 1;
    assert_fails(cs_finetune_config(&config, &t.ids, CS_READ_LAST, 0, &out), CS_ERR_USAGE,
                 "at least two");
}

/* A gradient without a finite norm changes nothing; too many of them end the run. */
TEST(numbers_that_are_none)
{
    const plan p = {CS_ARCH_GPT2, CS_READ_LAST, true, false, LABEL_BY_WORD, 2, 20, 0, 0};
    CS_AUTO_BY(close_task, task) t = open_task(&p);
    cs_finetune_result r;
    float gain[16];
    int64_t at = cs_params_find(&t.model.params, "final_norm.gain");
    for (int i = 0; i < 16; ++i) {
        gain[i] = i == 5 ? (float)NAN : 1.0F;
    }
    OK(cs_params_set(&t.model.params, at, CS_PARAM_VALUE, gain));
    assert_fails(cs_finetune(&t.model, &t.ids, NULL, 0, &t.options, &r), CS_ERR_INPUT,
                 "parameter final_norm.gain of the model to be trained has the value nan");
    for (int i = 0; i < 16; ++i) { /* finite itself, its products are not */
        gain[i] = FLT_MAX;
    }
    OK(cs_params_set(&t.model.params, at, CS_PARAM_VALUE, gain));
    t.options.bad_limit = 4;
    assert_fails(cs_finetune(&t.model, &t.ids, NULL, 0, &t.options, &r), CS_ERR_CONVERGE,
                 "not finite in 4 consecutive steps, up to step 4");
    t.options.bad_limit = 100;
    assert_fails(cs_finetune(&t.model, &t.ids, NULL, 0, &t.options, &r), CS_ERR_CONVERGE,
                 "not finite in the last 10 of 10 steps");
    assert_fails(cs_finetune_predict(&t.model, &t.ids, NULL, 0, &t.options, t.predicted, NULL),
                 CS_ERR_CONVERGE, "is not finite");
}

static cs_status interrupted(const char *path)
{
    (void)path;
    const plan p = {CS_ARCH_GPT2, CS_READ_LAST, true, false, LABEL_BY_WORD, 2, 20, 0, 0};
    CS_AUTO_BY(close_task, task) t = open_task(&p);
    cs_finetune_result r;
    cs_interrupt_set();
    cs_status status = cs_finetune(&t.model, &t.ids, NULL, 0, &t.options, &r);
    return status;
}

TEST(interrupts)
{
    assert_int_equal(in_child(interrupted, "", "interrupted after step 0 of 10"), CS_ERR_INTERRUPT);
}

static task *shared;

static cs_status everything(const char *path)
{
    task *t = shared;
    const cs_texts_options o = {.max_length = POSITIONS, .begin = true, .token_types = 2};
    cs_model_config config;
    CS_AUTO(cs_model) model = {0};
    CS_AUTO(cs_texts) ids = {0};
    cs_finetune_result r;
    t->options.dir = path;
    cs_status status = cs_texts_encode(&t->text, t->tokenizer, &o, &ids);
    if (status == CS_OK &&
        (status = cs_finetune_config(&t->model.config, &ids, CS_READ_FIRST, 0.1, &config)) ==
            CS_OK &&
        (status = cs_model_init(&config, t->backend, true, &model)) == CS_OK &&
        (status = cs_model_take_encoder(&t->model, 0, &model)) == CS_OK &&
        (status = cs_finetune(&model, &ids, NULL, 0, &t->options, &r)) == CS_OK) {
        status = cs_finetune_predict(&model, &ids, NULL, 0, &t->options, t->predicted, NULL);
    }
    return status;
}

TEST_IN_DIR(allocations)
{
    const plan p = {CS_ARCH_BERT, CS_READ_FIRST, false, true, LABEL_BY_WORD, 2, 5, 0, 0};
    CS_AUTO_BY(close_task, task) t = open_task(&p);
    t.options.epochs = 1;
    OK(cs_dir_make(in_dir(state, "run")));
    shared = &t;
    fail_each_allocation(everything, in_dir(state, "run"));
}
