/* model: classification heads. What a text's outputs must not see cannot move one bit; the mean is
 * the mean; the places of dropout; what is refused; encoders that are taken over, files. */
#include "backend_ref.h"
#include "io_support.h"
#include "model_support.h"

enum { OUTPUTS = 3, TEXTS = 2, WIDTH = 8, ROWS = 10 };

/* --- sight ------------------------------------------------------------------------------------ */

static void check_sight(backend_open open, const model_case *what, bool training)
{
    cs_model_config config = case_config(what, training);
    cs_network_options options = case_options(what, training);
    int64_t moved = 0, unseen = 0, n = config.head.classes;
    CS_AUTO_BY(world_close, model_world) world = {0};
    world_open(&world, open, &config, &options);
    for (uint64_t plan = 0; plan < 6; ++plan) {
        model_data data;
        float before[TEXTS * OUTPUTS], after[TEXTS * OUTPUTS];
        data_fill(&data, &world, plan);
        world_load(&world, &data);
        world_logits(&world, before);
        for (int64_t r = 0; r < data.batch * data.length; ++r) {
            int32_t kept = data.token[r];
            data.token[r] = (kept + 1) % (int32_t)config.shape.vocab;
            world_load(&world, &data);
            world_logits(&world, after);
            data.token[r] = kept;
            for (int64_t p = 0; p < TEXTS; ++p) {
                dependence may = data_dependence(&data, &world, p);
                bool sees = may.sequence == r / data.length &&
                            (may.content & (1ULL << (r % data.length))) != 0;
                bool same = memcmp(before + p * n, after + p * n, (size_t)n * sizeof *after) == 0;
                if (!sees && !same) {
                    fail_msg("%s: text %d moved with token %d out of its sight", what->name, (int)p,
                             (int)r);
                }
                moved += !same;
                unseen += !sees;
            }
        }
    }
    assert_true(moved > 6 && unseen > 6);
}

TEST(texts_see_what_they_may)
{
    for (const backend_open *open = model_backends; *open; ++open) {
        for (const model_case *what = classifier_cases; what->name; ++what) {
            check_sight(*open, what, false);
            check_sight(*open, what, true);
        }
    }
}

/* --- the mean --------------------------------------------------------------------------------- */

static void mean_head(cs_model_config *c)
{
    *c = cs_model_config_classifier(c, OUTPUTS, CS_READ_MEAN);
}

/* Logits of gpt2's head, a matrix: of the mean they are the mean of those of the rows, taken here
 * from the top of the same encoder. Double: sums of at most 5 rows of order 10 to a few eps. */
TEST(the_mean_is_the_mean)
{
    const model_case what = {"mean", CS_FORM_SINGLE, CS_ARCH_GPT2, CS_LOSS_CROSS_ENTROPY,
                             mean_head};
    cs_model_config config = case_config(&what, false);
    cs_network_options options = case_options(&what, false), bare = options;
    CS_AUTO_BY(world_close, model_world) head = {0}, encoder = {0};
    model_data data;
    double z[TEXTS * OUTPUTS], top[ROWS * WIDTH], w[OUTPUTS * WIDTH];
    bare.classify = false;
    bare.loss = CS_LOSS_NONE;
    bare.predictions = 0;
    world_open(&head, cs_backend_ref64, &config, &options);
    world_open(&encoder, cs_backend_ref64, &config, &bare);
    data_fill(&data, &head, 4);
    world_load(&head, &data);
    data.predictions = 0;
    world_load(&encoder, &data);
    OK(cs_run_forward(head.run));
    OK(cs_run_forward(encoder.run));
    OK(cs_run_get(head.run, head.net.loss.logits, z));
    OK(cs_run_get(encoder.run, encoder.net.top, top));
    int64_t at = cs_params_find(&head.model.params, "classifier.output.weight");
    OK(cs_params_get64(&head.model.params, at, CS_PARAM_VALUE, w));
    for (int64_t b = 0; b < TEXTS; ++b) {
        for (int64_t o = 0; o < OUTPUTS; ++o) {
            double sum = 0;
            int64_t seen = 0;
            for (int64_t r = b * data.length; r < (b + 1) * data.length; ++r) {
                if (data.vis[r] <= data.readout_lim[b]) {
                    ++seen;
                    sum += SUM(i, 0, WIDTH, top[r * WIDTH + i] * w[o * WIDTH + i]);
                }
            }
            assert_true(seen > 0);
            assert_true(fabs(z[b * OUTPUTS + o] - sum / (double)seen) < 1e-13);
        }
    }
}

/* --- dropout ---------------------------------------------------------------------------------- */

/* transformers: GPT2's, Llama's, EuroBert's and ViT's ...Classification have none, Bert's and ModernBert's one
 * before the outputs, RobertaClassificationHead one before each matrix. */
static int64_t drops_of(cs_arch arch)
{
    switch (arch) {
    case CS_ARCH_GPT2:
    case CS_ARCH_LLAMA:
    case CS_ARCH_EUROBERT:
    case CS_ARCH_VIT:
        return 0;
    case CS_ARCH_BERT:
    case CS_ARCH_MODERNBERT:
    case CS_ARCH_MODERNBERT_DECODER:
        return 1;
    default:
        return 2;
    }
}

TEST(dropout_of_heads)
{
    for (const model_case *what = classifier_cases; what->name; ++what) {
        for (int training = 0; training < 2; ++training) {
            cs_model_config config = case_config(what, true);
            cs_network_options options = case_options(what, training);
            CS_AUTO_BY(world_close, model_world) world = {0};
            int64_t drops = 0;
            const int64_t want = drops_of(config.arch);
            config.training.embed_dropout = 0;
            world_open(&world, cs_backend_ref, &config, &options);
            for (int64_t i = 0; i < world.net.graph.ops; ++i) {
                const cs_op *op = &world.net.graph.op[i];
                drops += op->kind == CS_OP_ADD && op->add.p > 0;
            }
            assert_int_equal(drops, training ? want : 0);
        }
    }
}

/* --- refusals --------------------------------------------------------------------------------- */

static cs_status build(const cs_model_config *config, const cs_network_options *options)
{
    cs_network net;
    AUTO_OK(cs_backend, *backend, cs_backend_ref(&backend));
    AUTO_OK(cs_model, model, cs_model_init(config, backend, options->training, &model));
    cs_status status = cs_network_build(&model, options, &net);
    if (status == CS_OK) cs_network_free(&net);
    return status;
}

TEST(refusals)
{
    const model_case *what = &classifier_cases[0];
    cs_model_config config = case_config(what, false), plain = config, value = config, bad;
    cs_network_options good = case_options(what, true), o;
    plain.head.classes = 0;
    value.head.classes = 1;
    OK(build(&config, &good));
    assert_fails(build(&plain, &good), CS_ERR_USAGE, "no classification head");
    assert_fails(build(&value, &good), CS_ERR_USAGE, "head of 1 output needs a different loss");
    o = good;
    o.loss = CS_LOSS_SQUARED_ERROR;
    assert_fails(build(&config, &o), CS_ERR_USAGE, "head of 3 outputs needs a different loss");
    o.classify = false;
    assert_fails(build(&plain, &o), CS_ERR_USAGE, "squared error needs a classification head");
    o = good;
    o.classify = false;
    assert_fails(build(&config, &o), CS_ERR_USAGE, "predicts classes, not tokens");
    o = good;
    o.predictions = 1;
    assert_fails(build(&config, &o), CS_ERR_USAGE, "1 loss row does not match 2 texts");
    o = good;
    o.training = false;
    o.keep_hidden = true;
    assert_fails(build(&config, &o), CS_ERR_USAGE, "needs the single form alone");
    bad = config;
    bad.head.bias = true;
    assert_fails(cs_model_config_check(&bad), CS_ERR_USAGE,
                 "cannot be combined with bias of the logits");
    bad = config;
    bad.attention.query_vector = true;
    assert_fails(cs_model_config_check(&bad), CS_ERR_USAGE, "cannot be combined with query vector");
    bad = config;
    bad.head.readout = (cs_readout)7;
    assert_fails(cs_model_config_check(&bad), CS_ERR_USAGE, "unknown readout number 7");
    bad = config;
    bad.head.classes = -1;
    assert_fails(cs_model_config_check(&bad), CS_ERR_USAGE, "classes -1 is not in [0");
}

/* --- encoders and files ----------------------------------------------------------------------- */

static float *value_of(const cs_model *model, const char *name, int64_t *items)
{
    int64_t at = cs_params_find(&model->params, name);
    assert_true(at >= 0);
    *items = model->params.param[at].rows * model->params.param[at].cols;
    float *value = test_zeros(*items, sizeof *value);
    OK(cs_params_get(&model->params, at, CS_PARAM_VALUE, value));
    return value;
}

static bool same(const cs_model *a, const cs_model *b, const char *name)
{
    int64_t n = 0, m = 0;
    float *x = value_of(a, name, &n), *y = value_of(b, name, &m);
    bool equal = n == m && memcmp(x, y, (size_t)n * sizeof *x) == 0;
    return equal;
}

/* Of a two-stream model with the parameters of a decoder too: the encoder moves, the head keeps its
 * own values, also where both have one. */
TEST(encoders_are_taken)
{
    const model_case two = {"two", CS_FORM_TWO_STREAM, CS_ARCH_BERT, CS_LOSS_NONE, NULL};
    AUTO_OK(cs_backend, *backend, cs_backend_ref(&backend));
    cs_model_config config = case_config(&two, false);
    AUTO_OK(cs_model, from, cs_model_init(&config, backend, false, &from));
    OK(cs_model_randomise(&from, 1));
    config = cs_model_config_classifier(&config, 3, CS_READ_FIRST);
    assert_false(config.attention.query_vector);
    AUTO_OK(cs_model, to, cs_model_init(&config, backend, true, &to));
    AUTO_OK(cs_model, again, cs_model_init(&config, backend, true, &again));
    AUTO_OK(cs_model, fresh, cs_model_init(&config, backend, true, &fresh));
    OK(cs_model_randomise(&fresh, 2));
    assert_false(same(&from, &fresh, "embed.token"));
    OK(cs_model_take_encoder(&from, 2, &to));
    assert_true(same(&fresh, &to, "classifier.output.weight"));
    assert_true(same(&from, &to, "embed.token"));
    assert_true(same(&from, &to, "layer.1.mlp.out.weight"));
    OK(cs_model_take_encoder(&to, 3, &again));
    assert_true(same(&to, &again, "layer.0.attention.qkv.weight"));
    assert_false(same(&to, &again, "classifier.output.weight"));
    assert_false(same(&to, &again, "classifier.dense.weight"));
    assert_int_equal(cs_params_find(&to.params, "head.dense.weight"), -1);
}

TEST_IN_DIR(files_keep_all)
{
    for (const model_case *what = classifier_cases; what->name; ++what) {
        cs_model_config config = case_config(what, false);
        AUTO_OK(cs_backend, *backend, cs_backend_ref(&backend));
        const char *dir = in_dir(state, what->name);
        AUTO_OK(cs_model, model, cs_model_init(&config, backend, false, &model));
        OK(cs_model_randomise(&model, 1));
        OK(cs_model_write(&model, dir));
        AUTO_OK(cs_model, back, cs_model_read(dir, backend, false, &back));
        assert_int_equal(back.params.count, model.params.count);
        assert_each(i, 0, model.params.count, same(&model, &back, model.params.param[i].name));
        const bool either = config.arch == CS_ARCH_EUROBERT || config.arch == CS_ARCH_MODERNBERT;
        assert_int_equal(cs_model_config_exchangeable(&config),
                         either || config.head.readout != CS_READ_MEAN);
    }
}
