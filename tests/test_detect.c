/* Replaced-token detection: the draws are the model's own probabilities, the second pass reads them
 * and is given the replaced tokens, its gradient is that of its loss, and runs keep their bytes. */
#include "backend_ref.h"
#include "io_support.h"
#include "train/detect.h"
#include "train_support.h"

enum { BATCH = 4, TIMES = 6000 };

static const recipe masked = {.kind = CS_OBJ_MASKED, .arch = CS_ARCH_GPT2, .replaced_token = 3};

/* A masked batch of the first documents, in a model in double. */
typedef struct {
    training t;
    cs_backend *backend;
    cs_model model;
    cs_pass pass;
    cs_batch batch;
    cs_detector detector;
} world;

static void world_open(world *w)
{
    cs_example example[BATCH];
    cs_network_options sizes = {.loss = CS_LOSS_CROSS_ENTROPY, .training = true};
    memset(w, 0, sizeof *w);
    w->t = make_training(&masked, "");
    OK(cs_backend_ref64(&w->backend));
    OK(cs_model_init(&w->t.model.config, w->backend, true, &w->model));
    OK(cs_model_randomise(&w->model, 3));
    for (int64_t d = 0; d < BATCH; ++d) {
        const int64_t first = w->t.corpus.doc_ptr[d];
        example[d] = (cs_example){.token = w->t.corpus.token + first,
                                  .length = w->t.corpus.doc_ptr[d + 1] - first,
                                  .row = d};
    }
    OK(cs_task_sizes(&w->t.options.task, &w->model.config, BATCH, w->t.options.data.length,
                     &sizes));
    OK(cs_pass_open(&w->model, &sizes, &w->pass));
    OK(cs_detector_open(&w->model, &sizes, masked.replaced_token, &w->detector));
    OK(cs_batch_build(&(cs_batch_order){&w->t.options.task, &w->model.config, 1, 1, NULL}, example,
                      BATCH, &w->batch));
    assert_true(w->batch.events > BATCH);
}

static void world_close(world *w)
{
    cs_batch_free(&w->batch);
    cs_detector_close(&w->detector);
    cs_pass_close(&w->pass);
    cs_model_free(&w->model);
    cs_backend_free(&w->backend);
    free_training(&w->t);
}

/* Of each masked token every word comes up as often as its probability p says: with a chance of at
 * least 1 - 1e-6, all shares of n draws are within sqrt(2 p x / n) + 2 x / 3 n of it, x the
 * logarithm of two million times the shares (Bernstein). */
TEST(draws_are_from_the_predictions)
{
    CS_AUTO_BY(world_close, world) w = {0};
    world_open(&w);
    const int64_t vocab = w.model.config.shape.vocab, events = w.batch.events;
    const int64_t table = cs_params_find(&w.model.params, "embed.token");
    const int64_t items = vocab * w.model.config.shape.width;
    double *z = test_zeros(w.batch.predictions * vocab, sizeof *z);
    double *x = test_zeros(items, sizeof *x);
    int64_t *times = test_zeros(events * vocab, sizeof *times);
    memset(times, 0, (size_t)(events * vocab) * sizeof *times);
    OK(cs_params_get64(&w.model.params, table, CS_PARAM_VALUE, x));
    for (int64_t k = 0; k < items; ++k) { /* far from uniform */
        x[k] *= 30;
    }
    OK(cs_params_set64(&w.model.params, table, CS_PARAM_VALUE, x));
    OK(cs_batch_load(&w.batch, &w.pass.network, 1, NULL, (cs_run_key){0}, w.pass.run));
    OK(cs_run_forward(w.pass.run));
    OK(cs_run_get(w.pass.run, w.pass.network.loss.logits, z));
    for (uint32_t k = 0; k < TIMES; ++k) {
        OK(cs_detector_draw(&w.detector, &w.batch, &w.pass, (cs_run_key){.seed = 5, .step = k}));
        for (int64_t r = 0; r < events; ++r) {
            times[r * vocab + w.detector.drawn[r]] += 1;
        }
    }
    const double x_of = log(2e6 * (double)(events * vocab));
    double most = 0;
    for (int64_t r = 0; r < events; ++r) {
        double sum = SUM(v, 0, vocab, exp(z[r * vocab + v]));
        for (int64_t v = 0; v < vocab; ++v) {
            const double p = exp(z[r * vocab + v]) / sum;
            const double share = (double)times[r * vocab + v] / TIMES;
            assert_true(fabs(share - p) < sqrt(2 * p * x_of / TIMES) + 2 * x_of / (3.0 * TIMES));
            most = fmax(most, p);
        }
    }
    assert_true(most > 0.2);
}

TEST(the_second_pass_reads_the_draws)
{
    CS_AUTO_BY(world_close, world) w = {0};
    world_open(&w);
    const int64_t rows = w.batch.batch * w.batch.length;
    int64_t at = 0, replaced = 0;
    for (int64_t r = 0; r < w.batch.events; ++r) { /* every second as it was */
        const int32_t was = w.batch.loss.target[r];
        w.detector.drawn[r] = r % 2 == 0 ? was : was == 7 ? 8 : 7;
    }
    OK(cs_params_zero_grad(&w.model.params));
    OK(cs_detector_step(&w.detector, &w.batch, 1, (cs_run_key){0}, false));
    const cs_batch *read = &w.detector.pass.batch;
    for (int64_t r = 0; r < rows; ++r) {
        int64_t event = 0;
        while (event < w.batch.events && w.batch.loss.predict[event] != r) {
            ++event;
        }
        const bool was_masked = event < w.batch.events;
        assert_int_equal(read->token[r], was_masked ? w.detector.drawn[event] : w.batch.token[r]);
        assert_int_equal(read->vis[r], w.batch.vis[r]);
        assert_int_equal(read->lim[r], w.batch.lim[r]);
        assert_int_equal(read->position[r], w.batch.position[r]);
        if (w.batch.token[r] >= 0) {
            assert_int_equal(read->loss.predict[at], r);
            assert_int_equal(read->loss.target[at], was_masked && event % 2 == 1);
            assert_true(read->loss.weight[at] == masked.replaced_token);
            replaced += read->loss.target[at++];
        }
    }
    assert_int_equal(read->events, at);
    assert_int_equal(cs_detector_rows(&w.batch), at);
    assert_int_equal(replaced, w.batch.events / 2);
}

/* The loss of the second pass, a row. */
static double loss_of(world *w)
{
    w->detector.loss = 0;
    OK(cs_params_zero_grad(&w->model.params));
    OK(cs_detector_step(&w->detector, &w->batch, cs_detector_rows(&w->batch), (cs_run_key){0},
                        true));
    return w->detector.loss;
}

/* Weight times the derivative of the loss along a random direction, of norm 1 and half along the
 * gradient, by central differences of order two with h = 1e-4: truncation h^2 / 6 of the third
 * derivative, some 1e-8 of it; rounding eps L / h, 1e-12. */
TEST(the_gradient_is_that_of_the_loss)
{
    enum { MOST = 64 };
    CS_AUTO_BY(world_close, world) w = {0};
    world_open(&w);
    const cs_params *params = &w.model.params;
    const double h = 1e-4;
    double exact = 0, random = 0, whole = 0, side[2];
    double *value[MOST] = {NULL}, *along[MOST] = {NULL}, *grad[MOST] = {NULL};
    for (int64_t r = 0; r < w.batch.events; ++r) {
        w.detector.drawn[r] = (int32_t)(5 + r % 9);
    }
    (void)loss_of(&w);
    assert_true(params->count <= MOST);
    cs_rng rng = cs_rng_at(9, CS_STREAM_TEST, 0);
    for (int64_t i = 0; i < params->count; ++i) {
        const int64_t n = params->param[i].rows * params->param[i].cols;
        grad[i] = test_zeros(n, sizeof **grad);
        value[i] = test_zeros(n, sizeof **value);
        along[i] = test_zeros(n, sizeof **along);
        OK(cs_params_get64(params, i, CS_PARAM_VALUE, value[i]));
        OK(cs_params_get64(params, i, CS_PARAM_GRAD, grad[i]));
        for (int64_t k = 0; k < n; ++k) {
            along[i][k] = cs_rng_normal(&rng);
            random += along[i][k] * along[i][k];
            whole += grad[i][k] * grad[i][k];
        }
    }
    assert_true(whole > 1e-6);
    for (int64_t i = 0; i < params->count; ++i) {
        for (int64_t k = 0; k < params->param[i].rows * params->param[i].cols; ++k) {
            along[i][k] = (along[i][k] / sqrt(random) + grad[i][k] / sqrt(whole)) / sqrt(2);
            exact += grad[i][k] * along[i][k];
        }
    }
    for (int s = 0; s < 2; ++s) {
        for (int64_t i = 0; i < params->count; ++i) {
            const int64_t n = params->param[i].rows * params->param[i].cols;
            ARRAY(double, moved, n, k, value[i][k] + (s ? h : -h) * along[i][k]);
            OK(cs_params_set64(&w.model.params, i, CS_PARAM_VALUE, moved));
        }
        side[s] = loss_of(&w);
    }
    const double found = masked.replaced_token * (side[1] - side[0]) / (2 * h);
    if (!(fabs(exact - found) < 1e-6 * fabs(exact))) {
        fail_msg("%.12g, by differences %.12g", exact, found);
    }
}

static training in_folder(const recipe *r, void **state, const char *name)
{
    return make_training(r, in_dir(state, name));
}

/* Texts of their own words: what was replaced can be known. */
TEST_IN_DIR(a_detector_learns)
{
    recipe r = masked;
    double loss[2];
    r.distinct = true;
    r.documents = 4;
    for (int i = 0; i < 2; ++i) {
        CS_AUTO_BY(free_training, training) t = in_folder(&r, state, i == 0 ? "short" : "long");
        t.options.steps = i == 0 ? 1 : 400;
        t.options.rate.learning_rate = 1e-2;
        t.options.intervals.eval_every = t.options.intervals.save_every = 0;
        loss[i] = trained(&t).detect_loss;
    }
    assert_true(loss[0] > 0.6 && loss[0] < 0.8); /* near log 2 */
    assert_true(loss[1] < 0.2);
    CS_AUTO_BY(free_training, training) plain =
        in_folder(&(recipe){.kind = CS_OBJ_MASKED}, state, "plain");
    assert_true(isnan(trained(&plain).detect_loss));
}

TEST_IN_DIR(threads_change_no_byte)
{
    char one[512];
    for (int threads = 1; threads <= 3; threads += 2) {
        recipe r = masked;
        r.threads = threads;
        CS_AUTO_BY(free_training, training) t =
            in_folder(&r, state, threads == 1 ? "one" : "three");
        t.options.data.accumulate = 2;
        (void)trained(&t);
    }
    assert_true(snprintf(one, sizeof one, "%s", in_dir(state, "one")) > 0);
    assert_same_file(one, in_dir(state, "three"), "model.safetensors");
}

TEST(what_has_no_replaced_tokens_is_refused)
{
    const cs_objective_kind kind[] = {CS_OBJ_AR, CS_OBJ_MNTP, CS_OBJ_GVP};
    cs_train_result result;
    for (size_t i = 0; i < sizeof kind / sizeof *kind; ++i) {
        recipe r = masked;
        r.kind = kind[i];
        CS_AUTO_BY(free_training, training) t = make_training(&r, NULL);
        assert_fails(cs_train(&t.model, &t.corpus, t.tokenizer, &t.options, &result), CS_ERR_USAGE,
                     "replaced tokens need a single masked objective on text");
    }
    CS_AUTO_BY(free_training, training) t = make_training(&(recipe){.kind = CS_OBJ_MASKED}, NULL);
    t.options.replaced_token = 1;
    assert_fails(cs_train(&t.model, &t.corpus, t.tokenizer, &t.options, &result), CS_ERR_USAGE,
                 "no detector of replaced tokens");
}

/* The matrix of detection, (text, position) against replaced or not, of two independent tokens of
 * distribution q. A share rho of the tokens is drawn anew from q: by enumeration of originals,
 * masks and draws, in plain sums. One singular value other than 1, rho sd q(v) / sqrt(p (1 - p)); 0
 * where q is uniform. */
TEST(detection_has_one_singular_value)
{
    enum { V = 4, TEXTS = V * V };
    const double distribution[2][V] = {{.25, .25, .25, .25}, {.5, .3, .15, .05}}, rho = 0.3;
    for (int l = 0; l < 2; ++l) {
        const double *q = distribution[l];
        double data[TEXTS * 2 * 2] = {0}, value[2], p = 0, squares = 0, cubes = 0;
        for (int64_t i = 0; i < (int64_t)TEXTS * TEXTS * 4; ++i) { /* original, draws, mask */
            const int64_t was[2] = {i % V, i / V % V},
                          drawn[2] = {i / TEXTS % V, i / TEXTS / V % V}, mask = i / TEXTS / TEXTS;
            double chance = q[was[0]] * q[was[1]] * q[drawn[0]] * q[drawn[1]];
            int64_t now[2];
            for (int k = 0; k < 2; ++k) {
                chance *= mask >> k & 1 ? rho : 1 - rho;
                now[k] = mask >> k & 1 ? drawn[k] : was[k];
            }
            for (int k = 0; k < 2; ++k) { /* columns are replaced or not */
                const int64_t row = (now[0] * V + now[1]) * 2 + k;
                data[(now[k] != was[k]) * 2 * TEXTS + row] += chance / 2;
            }
        }
        p += SUM(row, 0, 2 * TEXTS, data[2 * TEXTS + row]);
        for (int64_t row = 0; row < 2 * TEXTS; ++row) {
            const double mass = data[row] + data[2 * TEXTS + row];
            data[row] /= sqrt(mass * (1 - p));
            data[2 * TEXTS + row] /= sqrt(mass * p);
        }
        double gram[4] = {0};
        for (int64_t row = 0; row < 2 * TEXTS; ++row) {
            for (int k = 0; k < 4; ++k) {
                gram[k] += data[k / 2 * 2 * TEXTS + row] * data[k % 2 * 2 * TEXTS + row];
            }
        }
        const double half = (gram[0] + gram[3]) / 2,
                     apart = hypot((gram[0] - gram[3]) / 2, gram[1]);
        value[0] = half + apart;
        value[1] = half - apart;
        squares += SUM(v, 0, V, q[v] * q[v]);
        cubes += SUM(v, 0, V, q[v] * q[v] * q[v]);
        assert_true(fabs(p - rho * (1 - squares)) < 1e-14 && fabs(value[0] - 1) < 1e-13);
        const double expected = rho * rho * (cubes - squares * squares) / (p * (1 - p));
        assert_true(fabs(value[1] - expected) < 1e-13);
        assert_true(l == 0 ? expected < 1e-16 : expected > 0.005);
    }
}
