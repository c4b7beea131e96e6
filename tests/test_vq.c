/* The tokenizer of pictures: gradients by central differences, its start as k-means, training, files. */
#include "analysis/vision/vq_train.h"
#include "io_support.h"
#include "vit_support.h"

static const cs_vq_options options = {.patch = PATCH,
                                      .codes = 12,
                                      .width = 16,
                                      .layers = 1,
                                      .heads = 2,
                                      .steps = 1500,
                                      .batch = 16,
                                      .learning_rate = 3e-3,
                                      .seed = 3,
                                      .threads = 1};

/* As make_pictures, but too many to be learned by heart: waves of SIDE x SIDE, across or along,
 * every fifth held out. */
static cs_images many_pictures(int64_t count)
{
    cs_images m = {.count = count, .height = SIDE, .width = SIDE, .channels = 1};
    m.name = cs_strdup("waves");
    m.path = cs_strdup("waves");
    m.pixel = cs_alloc(count * SIDE * SIDE, 1);
    m.label = cs_alloc(count, sizeof *m.label);
    m.held_out = cs_calloc(count, 1);
    assert_true(m.name && m.path && m.pixel && m.label && m.held_out);
    cs_rng rng = cs_rng_at(11, CS_STREAM_TEST, 0);
    for (int64_t i = 0; i < count; ++i) {
        const double phase = 6.3 * cs_rng_uniform(&rng), speed = 0.5 + cs_rng_uniform(&rng);
        m.label[i] = -1;
        m.held_out[i] = i % 5 == 4;
        for (int64_t p = 0; p < SIDE * SIDE; ++p) {
            const double at = (double)(i % 2 ? p % SIDE : p / SIDE);
            m.pixel[i * SIDE * SIDE + p] = (uint8_t)lround(127 + 100 * sin(phase + speed * at));
        }
    }
    return m;
}

/* --- gradients --- */

enum { N = 2, T = 3, V = 4 };

static double loss_of(cs_vq_pass *p)
{
    double error = 0, commitment = 0;
    OK(cs_run_upload(p->run, (cs_run_key){0}));
    OK(cs_run_forward(p->run));
    OK(cs_run_sum(p->run, p->error, &error));
    OK(cs_run_sum(p->run, p->commitment, &commitment));
    return error + commitment;
}

/* The difference between z and its vectors is an input, so that differences of the loss see the
 * straight-through gradient and nothing else. Floats: steps of 1e-2 leave a relative 1e-7 / 1e-2 of
 * rounding and 1e-4 of curvature. */
TEST(gradients)
{
    const cs_vq_sizes sizes = {T, V, 8, 1, 2};
    float x[N * T * V], to[N * T * V];
    cs_rng rng = cs_rng_at(4, CS_STREAM_TEST, 0);
    AUTO_OK(cs_vq, vq, cs_vq_init(&sizes, 1, true, &vq));
    CS_AUTO_BY(cs_vq_close, cs_vq_pass) p = {0};
    for (int64_t i = 0; i < vq.params.count; ++i) { /* away from the zeros of the start */
        float value[512];
        const int64_t n = vq.params.param[i].rows * vq.params.param[i].cols;
        assert_true(n <= 512);
        for (int64_t k = 0; k < n; ++k) {
            value[k] = (float)(0.5 * cs_rng_normal(&rng) +
                               (strstr(vq.params.param[i].name, "gain") ? 1 : 0));
        }
        OK(cs_params_set(&vq.params, i, CS_PARAM_VALUE, value));
    }
    for (int i = 0; i < N * T * V; ++i) {
        x[i] = (float)cs_rng_normal(&rng);
        to[i] = (float)cs_rng_normal(&rng);
    }
    OK(cs_vq_open(&vq, CS_VQ_BOTH, N, true, &p));
    OK(cs_vq_begin(&p, N));
    cs_vq_put(&p, p.x, N, x);
    cs_vq_put(&p, p.to, N, to);
    cs_vq_put(&p, p.y, N, to);
    for (int64_t r = 0; r < N * T; ++r) {
        cs_run_input(p.run, p.weight, r, 0, 0.5 + 0.1 * (double)r);
        cs_run_input(p.run, p.pull, r, 0, 0.3);
    }
    (void)loss_of(&p);
    OK(cs_params_zero_grad(&vq.params));
    OK(cs_run_backward(p.run));
    for (int64_t i = 0; i < vq.params.count; ++i) {
        float value[512], grad[512];
        const int64_t n = vq.params.param[i].rows * vq.params.param[i].cols;
        OK(cs_params_get(&vq.params, i, CS_PARAM_VALUE, value));
        OK(cs_params_get(&vq.params, i, CS_PARAM_GRAD, grad));
        for (int64_t k = 0; k < n; k += 1 + n / 7) {
            const float kept = value[k], h = 1e-2F;
            double side[2];
            for (int s = 0; s < 2; ++s) {
                value[k] = kept + (s == 0 ? h : -h);
                OK(cs_params_set(&vq.params, i, CS_PARAM_VALUE, value));
                side[s] = loss_of(&p);
            }
            value[k] = kept;
            OK(cs_params_set(&vq.params, i, CS_PARAM_VALUE, value));
            const double wanted = (side[0] - side[1]) / (2 * (double)h);
            if (!(fabs(wanted - (double)grad[k]) <= 2e-3 * (fabs(wanted) + 1))) {
                fail_msg("%s, %d: gradient %g, differences %g", vq.params.param[i].name, (int)k,
                         (double)grad[k], wanted);
            }
        }
    }
}

/* --- training --- */

static double error_of(const cs_codes *codes, const cs_images *m, bool held_out)
{
    cs_codes_score s = {0};
    OK(cs_codes_compare(codes, m, held_out, 1, &s));
    return s.error;
}

/* The error of k-means is that of its fit; a tokenizer of no rate is k-means to the bit except for
 * its means; trained, it leaves less than k-means of the same size, whose patches know of no
 * other. */
TEST(less_than_k_means)
{
    CS_AUTO(cs_images) m = many_pictures(800);
    cs_vq_result r = {0};
    cs_vq_options o = options;
    AUTO_OK(cs_codes, *plain, cs_codes_fit(&m, PATCH, o.codes, o.seed, 1, &plain));
    assert_true(fabs(error_of(plain, &m, false) - plain->book.error) < 1e-7);
    o.steps = 1;
    o.learning_rate = 0;
    AUTO_OK(cs_codes, *made, cs_vq_train(&m, &o, &made, &r));
    assert_true(fabs(error_of(made, &m, true) / error_of(plain, &m, true) - 1) < 0.05);
    cs_codes_free(&made);
    OK(cs_vq_train(&m, &options, &made, &r));
    cs_codes_score s = {0};
    OK(cs_codes_compare(made, &m, true, 1, &s));
    if (!(s.error < 0.85 * error_of(plain, &m, true) && s.used >= options.codes / 2)) {
        fail_msg("error %g with %d of %d codes, k-means %g", s.error, (int)s.used,
                 (int)options.codes, error_of(plain, &m, true));
    }
}

TEST_IN_DIR(threads_and_files)
{
    CS_AUTO(cs_images) m = make_pictures();
    cs_codes *made[2] = {NULL, NULL}, *back = NULL;
    cs_vq_options o = options;
    cs_vq_result r[2] = {{0}};
    const char *path = in_dir(state, "q.safetensors");
    o.steps = 20;
    for (int i = 0; i < 2; ++i) {
        o.threads = 1 + i;
        OK(cs_vq_train(&m, &o, &made[i], &r[i]));
    }
    assert_memory_equal(&r[0], &r[1], sizeof r[0]);
    OK(cs_codes_write(made[1], path));
    OK(cs_codes_read(path, 2, &back));
    CS_AUTO_FREE float *x = NULL, *y = NULL;
    AUTO_OK(cs_corpus, a, cs_codes_corpus(made[0], &m, NULL, 1, &a));
    AUTO_OK(cs_corpus, b, cs_codes_corpus(back, &m, NULL, 2, &b));
    assert_memory_equal(a.token, b.token, (size_t)a.tokens * sizeof *a.token);
    for (int64_t i = 0; i < a.tokens; ++i) {
        a.token[i] += CS_FIRST_CODE;
    }
    OK(cs_codes_values(made[0], &a, NULL, &x));
    OK(cs_codes_values(back, &a, NULL, &y));
    assert_memory_equal(x, y, (size_t)(a.tokens * VALUES) * sizeof *x);
    a.token[5] = 1;
    assert_fails(cs_codes_values(back, &a, NULL, &y), CS_ERR_INPUT, "patch 5: id 1 is not a code");
    m.height = SIDE / 2;
    assert_fails(cs_codes_corpus(back, &m, NULL, 1, &b), CS_ERR_USAGE, "the codes are for 8 x 8");
    m.height = SIDE;
    back->vq->sizes.heads = 3;
    OK(cs_codes_write(back, path));
    assert_fails(cs_codes_read(path, 1, &made[0]), CS_ERR_INPUT, "3 heads do not divide width 16");
    back->vq->sizes.heads = 2;
    back->width = 7;
    OK(cs_codes_write(back, path));
    assert_fails(cs_codes_read(path, 1, &made[0]), CS_ERR_INPUT, "pictures of 8 x 7");
    for (int i = 0; i < 2; ++i) {
        cs_codes_free(&made[i]);
    }
    cs_codes_free(&back);
}

TEST(bad_options)
{
    CS_AUTO(cs_images) m = make_pictures();
    cs_codes *made = NULL;
    cs_vq_result r = {0};
    cs_vq_options o = options;
    o.heads = 3;
    assert_fails(cs_vq_train(&m, &o, &made, &r), CS_ERR_USAGE, "3 heads do not divide width 16");
    o = options;
    o.batch = 0;
    assert_fails(cs_vq_train(&m, &o, &made, &r), CS_ERR_USAGE, "batch");
    o = options;
    o.learning_rate = 1e30;
    assert_fails(cs_vq_train(&m, &o, &made, &r), CS_ERR_CONVERGE, "not finite");
    memset(m.held_out, 1, (size_t)m.count);
    assert_fails(cs_vq_train(&m, &options, &made, &r), CS_ERR_INPUT,
                 "no picture is in the training");
}

static cs_images waves;

/* A step of training, its file, and pictures coded by what is read of it. */
static cs_status all_at_once(const char *path)
{
    static const cs_vq_options o = {.patch = PATCH,
                                    .codes = 3,
                                    .width = 4,
                                    .layers = 1,
                                    .heads = 2,
                                    .steps = 1,
                                    .batch = 2,
                                    .learning_rate = 1e-3,
                                    .threads = 1};
    CS_AUTO(cs_codes) *made = NULL, *back = NULL;
    cs_vq_result r = {0};
    cs_codes_score score = {0};
    cs_status status = cs_vq_train(&waves, &o, &made, &r);
    if (status == CS_OK) status = cs_codes_write(made, path);
    if (status == CS_OK) status = cs_codes_read(path, 1, &back);
    if (status == CS_OK) status = cs_codes_compare(back, &waves, true, 1, &score);
    return status;
}

TEST_IN_DIR(allocations)
{
    waves = make_pictures();
    fail_each_allocation(all_at_once, in_dir(state, "q.safetensors"));
    cs_images_free(&waves);
}
