/* model: initial values, what networks refuse, hidden rows, cost and memory. */
#include "backend_ref.h"
#include "io_support.h"
#include "model_support.h"

enum { VOCAB = 11, WIDTH = 8 };

static const model_case gpt2 = {"gpt2", CS_FORM_SINGLE, CS_ARCH_GPT2, CS_LOSS_CROSS_ENTROPY, NULL};

/* --- initial values --------------------------------------------------------------------------- */

static void values_of(const cs_model *model, const char *name, double *out)
{
    int64_t number = cs_params_find(&model->params, name);
    assert_true(number >= 0);
    OK(cs_params_get64(&model->params, number, CS_PARAM_VALUE, out));
}

static cs_model model_of(const cs_model_config *config, backend_open open, cs_backend **backend,
                         uint64_t seed)
{
    cs_model model;
    OK(open(backend));
    OK(cs_model_init(config, *backend, false, &model));
    OK(cs_model_randomise(&model, seed));
    return model;
}

static void close_model(cs_model *model, cs_backend **backend)
{
    cs_model_free(model);
    cs_backend_free(backend);
}

/* The same values in a model that has other parameters too, on another backend; others with another
 * seed. */
TEST(test_values_by_name)
{
    cs_model_config config = case_config(&gpt2, false), other = config;
    other.attention.query_vector = true;
    other.shape.layers = 3;
    cs_backend *backend[3];
    cs_model a = model_of(&config, cs_backend_ref, &backend[0], 1);
    cs_model b = model_of(&other, cs_backend_ref64, &backend[1], 1);
    cs_model c = model_of(&config, cs_backend_ref, &backend[2], 2);
    double x[3][VOCAB * WIDTH];
    const char *name = "embed.token";
    values_of(&a, name, x[0]);
    values_of(&b, name, x[1]);
    values_of(&c, name, x[2]);
    assert_memory_equal(x[0], x[1], sizeof x[0]);
    assert_each(i, 0, VOCAB * WIDTH, x[0][i] != x[2][i]);
    close_model(&a, &backend[0]);
    close_model(&b, &backend[1]);
    close_model(&c, &backend[2]);
}

/* A config.json may claim more than there is. */
TEST(parameters_beyond_memory_are_refused)
{
    const cs_model_config config = case_config(&gpt2, false);
    cs_backend *backend = NULL;
    cs_model model = {0};
    OK(cs_backend_cpu(1, &backend));
    cs_mem_available_at_most(1 << 10);
    assert_fails(cs_model_init(&config, backend, false, &model), CS_ERR_MEMORY, "parameters take");
    cs_mem_available_at_most(INT64_MAX);
    OK(cs_model_init(&config, backend, false, &model));
    close_model(&model, &backend);
}

static double mean_square(const cs_model *model, const char *name, int64_t n)
{
    double x[8192], sum = 0;
    assert_true(n <= 8192);
    values_of(model, name, x);
    for (int64_t i = 0; i < n; ++i) {
        sum += x[i] * x[i];
    }
    return sum / (double)n;
}

/* n normal draws of variance v have a mean square of v with standard deviation v sqrt(2 / n): six
 * of those. */
static void assert_spread(const cs_model *model, const char *name, int64_t n, double deviation)
{
    double v = deviation * deviation, found = mean_square(model, name, n);
    if (!(fabs(found - v) < 6 * v * sqrt(2 / (double)n))) {
        fail_msg("%s: mean square %g, not %g", name, found, v);
    }
}

TEST(test_initial_values)
{
    cs_model_config config = {.shape.vocab = 64,
                              .shape.positions = 16,
                              .shape.width = 32,
                              .shape.layers = 3,
                              .shape.heads = 4,
                              .shape.inner = 64};
    cs_backend *backend;
    cs_model_config_default(CS_ARCH_GPT2, &config);
    cs_model model = model_of(&config, cs_backend_ref, &backend, 3);
    assert_spread(&model, "embed.token", 64 * 32, 0.02);
    assert_spread(&model, "layer.2.attention.qkv.weight", 3 * 32 * 32, 0.02);
    assert_spread(&model, "layer.2.attention.output.weight", 32 * 32, 0.02 / sqrt(6));
    assert_spread(&model, "layer.0.mlp.out.weight", 32 * 64, 0.02 / sqrt(6));
    assert_true(mean_square(&model, "layer.0.mlp.in.bias", 64) == 0);
    assert_true(mean_square(&model, "final_norm.gain", 32) == 1);
    close_model(&model, &backend);
    cs_model_config_default(CS_ARCH_BERT, &config);
    model = model_of(&config, cs_backend_ref, &backend, 3);
    assert_spread(&model, "layer.0.mlp.out.weight", 32 * 64, 0.02);
    close_model(&model, &backend);
    cs_model_config_default(CS_ARCH_LINEAR, &config);
    config.shape.layers = 1;
    model = model_of(&config, cs_backend_ref, &backend, 3);
    assert_spread(&model, "embed.token", 64 * 32, 1);
    assert_spread(&model, "layer.0.attention.qkv.weight", 3 * 32 * 32, 1 / sqrt(32));
    assert_spread(&model, "output.weight", 64 * 32, 0.02 / sqrt(32));
    close_model(&model, &backend);
}

/* --- what is refused -------------------------------------------------------------------------- */

TEST(test_refused)
{
    cs_model_config config = case_config(&gpt2, false);
    cs_network_options good = case_options(&gpt2, false), o;
    CS_AUTO(cs_backend) *backend = NULL;
    cs_network net;
    cs_model model = model_of(&config, cs_backend_ref, &backend, 1);
    o = good;
    o.form = CS_FORM_TWO_STREAM;
    assert_fails(cs_network_build(&model, &o, &net), CS_ERR_USAGE, "query vector");
    o.form = CS_FORM_MAE;
    assert_fails(cs_network_build(&model, &o, &net), CS_ERR_USAGE, "no decoder");
    o.form = CS_FORM_LINEAR;
    assert_fails(cs_network_build(&model, &o, &net), CS_ERR_USAGE, "architecture gpt2");
    o = good;
    o.length = 10;
    assert_fails(cs_network_build(&model, &o, &net), CS_ERR_USAGE,
                 "10 tokens are too long for a model of 9 positions");
    o = good;
    o.predictions = 0;
    assert_fails(cs_network_build(&model, &o, &net), CS_ERR_USAGE, "predictions 0");
    o = good;
    o.training = o.keep_hidden = true;
    assert_fails(cs_network_build(&model, &o, &net), CS_ERR_USAGE, "hidden rows");
    o = good;
    o.loss = CS_LOSS_SPECTRAL;
    o.spectral_factor = 0;
    assert_fails(cs_network_build(&model, &o, &net), CS_ERR_USAGE, "factor 0");
    close_model(&model, &backend);
    config.shape.heads = 3;
    OK(cs_backend_ref(&backend));
    assert_fails(cs_model_init(&config, backend, false, &model), CS_ERR_USAGE,
                 "3 heads do not divide width 8");
}

static cs_status build_all(const char *unused)
{
    (void)unused;
    const model_case what = {"mae", CS_FORM_MAE, CS_ARCH_ROBERTA_PRELAYERNORM,
                             CS_LOSS_CROSS_ENTROPY, NULL};
    cs_model_config config = case_config(&what, false);
    cs_network_options options = case_options(&what, false);
    options.keep_hidden = true;
    CS_AUTO(cs_backend) *backend = NULL;
    CS_AUTO(cs_model) model = {0};
    CS_AUTO(cs_network) net = {0};
    cs_status status = cs_backend_ref(&backend);
    if (status == CS_OK) status = cs_model_init(&config, backend, true, &model);
    if (status == CS_OK) status = cs_model_randomise(&model, 1);
    if (status == CS_OK) status = cs_network_build(&model, &options, &net);
    return status;
}

TEST(test_each_allocation)
{
    fail_each_allocation(build_all, NULL);
}

/* --- hidden rows ------------------------------------------------------------------------------ */

/* Kept rows change no bit of the logits; the top without loss rows is what the output matrix reads;
 * the first hidden rows are the embeddings. */
static void check_hidden(cs_arch arch)
{
    const model_case what = {"hidden", CS_FORM_SINGLE, arch, CS_LOSS_NONE, NULL};
    cs_model_config config = case_config(&what, false);
    config.head.transform = false;
    float logits[2][7 * VOCAB], features[7 * WIDTH], top[10 * WIDTH], hidden[10 * WIDTH];
    model_data data;
    for (int kept = 0; kept < 3; ++kept) {
        cs_network_options options = case_options(&what, false);
        CS_AUTO_BY(world_close, model_world) world = {0};
        options.keep_hidden = kept > 0;
        options.predictions = kept == 2 ? 0 : 7;
        world_open(&world, cs_backend_ref, &config, &options);
        if (kept == 0) {
            data_fill(&data, &world, 1);
        }
        world_load(&world, &data);
        assert_int_equal(world.net.hiddens, kept ? 3 : 0);
        if (kept < 2) {
            world_logits(&world, logits[kept]);
            OK(cs_run_get_f32(world.run, world.net.loss.features, features));
        } else {
            OK(cs_run_forward(world.run));
            OK(cs_run_get_f32(world.run, world.net.top, top));
            OK(cs_run_get_f32(world.run, world.net.hidden[2], hidden));
        }
    }
    assert_memory_equal(logits[0], logits[1], sizeof logits[0]);
    assert_each(p, 0, 7,
                memcmp(features + (ptrdiff_t)p * WIDTH, top + (ptrdiff_t)data.predict[p] * WIDTH,
                       WIDTH * sizeof *top) == 0);
    assert_int_equal(memcmp(top, hidden, sizeof top) == 0, config.layer.post_norm);
}

TEST(test_hidden)
{
    check_hidden(CS_ARCH_GPT2);
    check_hidden(CS_ARCH_BERT);
}

/* The content stream of two-stream attention is the single form under the same masks. */
TEST(test_content_stream)
{
    const model_case what = {"content", CS_FORM_TWO_STREAM, CS_ARCH_GPT2, CS_LOSS_NONE, NULL};
    cs_model_config config = case_config(&what, false);
    float hidden[2][3][10 * WIDTH];
    model_data data;
    for (int form = 0; form < 2; ++form) {
        cs_network_options options = case_options(&what, false);
        CS_AUTO_BY(world_close, model_world) world = {0};
        options.form = form == 0 ? CS_FORM_TWO_STREAM : CS_FORM_SINGLE;
        options.keep_hidden = true;
        world_open(&world, cs_backend_ref, &config, &options);
        if (form == 0) {
            data_fill(&data, &world, 1);
        }
        world_load(&world, &data);
        OK(cs_run_forward(world.run));
        for (int l = 0; l < 3; ++l) {
            OK(cs_run_get_f32(world.run, world.net.hidden[l], hidden[form][l]));
        }
    }
    assert_memory_equal(hidden[0], hidden[1], sizeof hidden[0]);
}

/* --- cost and memory -------------------------------------------------------------------------- */

TEST(test_flops)
{
    cs_model_config config = case_config(&gpt2, false);
    cs_network_options o = case_options(&gpt2, true);
    CS_AUTO_BY(world_close, model_world) world = {0};
    world_open(&world, cs_backend_ref, &config, &o);
    double d = WIDTH, f = 10, rows = 10, top = 7, s = 5;
    double layer = 2 * rows * d * 3 * d + 4 * rows * s * d; /* projections, attention */
    double above = 2 * d * d + 2 * 2 * d * f;               /* a row of output and mlp */
    double expected = 2 * layer + (rows + top) * above + 2 * top * d * VOCAB;
    assert_true(cs_network_flops(&world.net) == expected);
}

static int64_t bytes_of(int64_t batch, int64_t layers, bool training)
{
    cs_model_config config = case_config(&gpt2, false);
    cs_network_options options = case_options(&gpt2, training);
    config.shape.layers = layers;
    config.shape.width = 64; /* so large that alignment is small against it */
    options.batch = batch;
    options.predictions = batch * options.length;
    CS_AUTO_BY(world_close, model_world) world = {0};
    world_open(&world, cs_backend_ref, &config, &options);
    int64_t bytes = cs_run_bytes(&world.net.graph, world.backend);
    return bytes;
}

/* Memory grows with rows, in training with layers too; without training layers share it except for
 * their row statistics (at most 64 bytes a row and matrix of them, of four a layer). */
TEST(test_memory)
{
    for (int training = 0; training < 2; ++training) {
        int64_t one = bytes_of(8, 2, training), two = bytes_of(16, 2, training);
        assert_true(two > one + one * 9 / 10 && two <= 2 * one);
    }
    int64_t rows = 8 * 5;
    assert_true(bytes_of(8, 6, false) <= bytes_of(8, 2, false) + 4 * 4 * rows * 64);
    assert_true(bytes_of(8, 6, true) > bytes_of(8, 2, true) + 4 * rows * 64 * 4 * 6);
}
