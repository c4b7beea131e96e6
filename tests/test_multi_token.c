/* Multi-token prediction: what its rows predict with what weight, against the exact events of
 * diverse-ar; every head against the plain network with that head as its last layer; the loss by hand;
 * what a prediction must not see, in bits; one offset is ar, to the bit; the first head is the model. */
#include "backend_ref.h"
#include "batch_support.h"
#include "io_support.h"
#include "model/pass.h"
#include "perplexity_support.h"
#include "plan/pairs.h"
#include "train/model_kind.h"

enum { LENGTH = 6, HEADS = 3 };

static const recipe ahead = {.kind = CS_OBJ_DIVERSE_AR, .arch = CS_ARCH_GPT2, .ahead = HEADS};

/* --- rows and weights ------------------------------------------------------------------------- */

/* The weight that the batch gives the event (prefix of i tokens, place k), over the sum of all. */
static double share_of(const cs_batch *batch, int64_t begins, int64_t prefix, int64_t k)
{
    double weight = 0;
    for (int64_t r = 0; r < batch->events; ++r) {
        const bool it = batch->loss.predict[r] + 1 - begins == prefix && batch->loss.place[r] == k;
        weight += it ? batch->loss.weight[r] : 0;
        assert_true(!it || batch->loss.head[r] == k - prefix);
    }
    return weight / batch->loss.weight_sum;
}

TEST(rows_predict_the_events_of_diverse_ar)
{
    for (int variant = 0; variant < 64; ++variant) {
        const int64_t s = 2 + variant % 4, t = 1 + variant / 4 % 4;
        const bool begins = variant / 16 % 2, mask = variant / 32 % 2;
        cs_task task = batch_task("diverse-ar:t=2");
        cs_model_config config = batch_config(CS_FORM_SINGLE);
        const cs_example example = {.token = batch_text, .length = s};
        task.objective.t = t;
        task.objective.empty_prefix = begins ? CS_PREFIX_SHARED : CS_PREFIX_NONE;
        task.objective.event_weight = mask ? CS_EVENT_MASK : CS_EVENT_TOKEN;
        config.head.offsets = 4;
        AUTO_OK(cs_batch, batch,
                cs_batch_build(&(cs_batch_order){&task, &config, 1, 1, NULL}, &example, 1, &batch));
        AUTO_OK(cs_pairs, pairs, cs_pairs_of(&task.objective, s, &pairs));
        double sum = 0;
        assert_int_equal(batch.events, pairs.events);
        for (int64_t e = 0; e < pairs.events; ++e) {
            const double found =
                share_of(&batch, begins, cs_pairs_set_of(&pairs, e).size, pairs.target[e]);
            assert_true(fabs(found - pairs.weight[e]) < 1e-14);
            sum += found;
        }
        assert_true(fabs(sum - 1) < 1e-14);
        assert_true(fabs(batch.loss.weight_sum - (mask ? 1 : (double)(s - !begins))) < 1e-14);
        assert_each(r, 0, batch.events, batch.loss.target[r] == TEXT + batch.loss.place[r]);
        assert_each(
            r, 0, batch.events,
            (batch_sees(&batch, &config, r) >> (batch.loss.place[r] - batch.loss.head[r])) == 0);
    }
}

/* --- heads ------------------------------------------------------------------------------------ */

typedef struct {
    training t;
    cs_backend *backend;
    cs_model model; /* in double */
    cs_pass pass;
    double *logits;
} world;

static void world_open(const recipe *r, world *w)
{
    cs_network_options sizes = {.loss = CS_LOSS_CROSS_ENTROPY};
    memset(w, 0, sizeof *w);
    w->t = make_training(r, "");
    OK(cs_backend_ref64(&w->backend));
    OK(cs_model_init(&w->t.model.config, w->backend, false, &w->model));
    OK(cs_model_randomise(&w->model, 3));
    OK(cs_task_sizes(&w->t.options.task, &w->model.config, 1, LENGTH, &sizes));
    OK(cs_pass_open(&w->model, &sizes, &w->pass));
    w->logits = test_zeros(sizes.predictions * w->model.config.shape.vocab, sizeof *w->logits);
}

static void world_close(world *w)
{
    cs_pass_close(&w->pass);
    cs_model_free(&w->model);
    cs_backend_free(&w->backend);
    free_training(&w->t);
}

static void ask(world *w, const int32_t *token)
{
    const cs_example example = {.token = token, .length = LENGTH};
    cs_batch_free(&w->pass.batch);
    OK(cs_batch_build(&(cs_batch_order){&w->t.options.task, &w->model.config, 3, 1, NULL}, &example,
                      1, &w->pass.batch));
    OK(cs_batch_load(&w->pass.batch, &w->pass.network, 1, NULL, (cs_run_key){0}, w->pass.run));
    OK(cs_run_forward(w->pass.run));
    OK(cs_run_get(w->pass.run, w->pass.network.loss.logits, w->logits));
}

/* The parameters of `from` in `to`, its last layer from the head of offset k (1: its own). */
static void take_head(const world *from, int64_t k, world *to)
{
    for (int64_t i = 0; i < to->model.params.count; ++i) {
        const cs_param *p = &to->model.params.param[i];
        char name[128];
        const bool last = strncmp(p->name, "layer.1.", 8) == 0 && k > 1;
        (void)snprintf(name, sizeof name, "offset.%lld.%s", (long long)k, p->name + (last ? 8 : 0));
        const int64_t at = cs_params_find(&from->model.params, last ? name : p->name);
        double *value = test_zeros(p->rows * p->cols, sizeof *value);
        assert_true(at >= 0);
        OK(cs_params_get64(&from->model.params, at, CS_PARAM_VALUE, value));
        OK(cs_params_set64(&to->model.params, i, CS_PARAM_VALUE, value));
    }
}

static const int32_t some_text[LENGTH] = {7, 11, 8, 20, 9, 13};

/* The same operations on the same numbers, in double, but that sums of rows are in another order:
 * 2 layers of width 16 give logits of order one to some 1e-14. */
TEST(every_head_is_the_last_layer_of_a_plain_network)
{
    const cs_arch arch[] = {CS_ARCH_GPT2, CS_ARCH_ROBERTA, CS_ARCH_LLAMA};
    for (int a = 0; a < 3; ++a) {
        recipe r = ahead, next = {.kind = CS_OBJ_AR, .arch = arch[a]};
        CS_AUTO_BY(world_close, world) w = {0}, plain = {0};
        r.arch = arch[a];
        world_open(&r, &w);
        world_open(&next, &plain);
        ask(&w, some_text);
        const cs_batch *batch = &w.pass.batch;
        const int64_t vocab = w.model.config.shape.vocab;
        double loss = 0, by_hand = 0;
        int compared = 0;
        for (int64_t k = 1; k <= HEADS; ++k) {
            take_head(&w, k, &plain);
            ask(&plain, some_text);
            assert_int_equal(plain.pass.batch.events, LENGTH - 1);
            for (int64_t e = 0; e < batch->events; ++e) {
                const double *own = w.logits + e * vocab,
                             *other = plain.logits + batch->loss.predict[e] * vocab;
                double sum = 0;
                for (int64_t v = 0; v < vocab && batch->loss.head[e] + 1 == k; ++v) {
                    assert_true(fabs(own[v] - other[v]) < 1e-12);
                    sum += exp(other[v]);
                }
                if (batch->loss.head[e] + 1 == k) {
                    by_hand +=
                        batch->loss.weight[e] * (log(sum) - other[some_text[batch->loss.place[e]]]);
                    ++compared;
                }
            }
        }
        assert_int_equal(compared, 5 + 4 + 3);
        OK(cs_run_sum(w.pass.run, w.pass.network.loss.value, &loss));
        assert_true(fabs(loss - by_hand) < 1e-12);
    }
}

TEST(a_prediction_sees_its_prefix_alone)
{
    CS_AUTO_BY(world_close, world) w = {0};
    world_open(&ahead, &w);
    const int64_t vocab = w.model.config.shape.vocab;
    ask(&w, some_text);
    const int64_t events = w.pass.batch.events;
    double *own = test_zeros(events * vocab, sizeof *own);
    memcpy(own, w.logits, (size_t)(events * vocab) * sizeof *own);
    for (int64_t i = 0; i < LENGTH; ++i) {
        int32_t token[LENGTH];
        memcpy(token, some_text, sizeof token);
        token[i] = 10;
        ask(&w, token);
        for (int64_t e = 0; e < events; ++e) {
            const bool same =
                memcmp(own + e * vocab, w.logits + e * vocab, (size_t)vocab * sizeof *own) == 0;
            assert_int_equal(same, w.pass.batch.loss.predict[e] < i);
        }
    }
}

/* --- training --------------------------------------------------------------------------------- */

/* Of texts of their own words the next three are known from any prefix but the empty one. */
TEST_IN_DIR(heads_learn)
{
    recipe r = ahead;
    r.distinct = true;
    r.documents = 4;
    CS_AUTO_BY(free_training, training) t = make_training(&r, in_dir(state, "long"));
    t.options.steps = 300;
    t.options.rate.learning_rate = 1e-2;
    t.options.intervals.eval_every = t.options.intervals.save_every = 0;
    assert_true(trained(&t).loss < 0.1);
}

TEST_IN_DIR(one_offset_is_ar)
{
    const recipe one = {.kind = CS_OBJ_DIVERSE_AR, .arch = CS_ARCH_GPT2, .ahead = 1},
                 next = {.kind = CS_OBJ_AR, .arch = CS_ARCH_GPT2};
    char folder[512];
    for (int i = 0; i < 2; ++i) {
        CS_AUTO_BY(free_training, training) t =
            make_training(i ? &one : &next, in_dir(state, i ? "one" : "ar"));
        (void)trained(&t);
    }
    (void)snprintf(folder, sizeof folder, "%s", in_dir(state, "ar"));
    assert_same_file(folder, in_dir(state, "one"), "model.safetensors");
}

TEST_IN_DIR(threads_change_no_byte)
{
    char one[512];
    for (int threads = 1; threads <= 3; threads += 2) {
        recipe r = ahead;
        r.threads = threads;
        CS_AUTO_BY(free_training, training) t =
            make_training(&r, in_dir(state, threads == 1 ? "one" : "three"));
        t.options.data.accumulate = 2;
        (void)trained(&t);
    }
    (void)snprintf(one, sizeof one, "%s", in_dir(state, "one"));
    assert_same_file(one, in_dir(state, "three"), "model.safetensors");
}

/* Without its other heads a model predicts the next token as with them. */
TEST(the_first_head_is_the_model)
{
    CS_AUTO_BY(world_close, world) w = {0}, plain = {0};
    const recipe next = {.kind = CS_OBJ_AR, .arch = CS_ARCH_GPT2};
    const cs_perplexity_options o = {.kind = CS_KIND_CAUSAL, .split = true};
    world_open(&ahead, &w);
    world_open(&next, &plain);
    OK(cs_model_randomise(&w.t.model, 4));
    OK(cs_model_take_encoder(&w.t.model, 4, &plain.t.model));
    CS_AUTO(cs_perplexity) a = perplexity_of(&w.t, &o), b = perplexity_of(&plain.t, &o);
    assert_true(a.tokens > 50 && a.nll == b.nll);
}

TEST(its_kind_is_causal)
{
    cs_task task = batch_task("diverse-ar:t=2");
    cs_model_config config = batch_config(CS_FORM_SINGLE);
    for (int heads = 0; heads <= 2; heads += 2) {
        config.head.offsets = heads;
        AUTO_OK(cs_model_kind, kind,
                cs_model_kind_of(&task, &config, CS_LOSS_CROSS_ENTROPY, 1, &kind));
        assert_int_equal(kind.kind, heads ? CS_KIND_CAUSAL : CS_KIND_TWO_STREAM);
        assert_int_equal(kind.attention, heads ? CS_ATTENTION_CAUSAL : CS_ATTENTION_PLAN);
    }
}

TEST(what_it_cannot_be_is_refused)
{
    cs_task task = batch_task("diverse-ar:t=3");
    cs_model_config config = batch_config(CS_FORM_SINGLE);
    cs_network_options sizes = {0};
    config.head.offsets = 2;
    assert_fails(cs_task_sizes(&task, &config, 1, 6, &sizes), CS_ERR_USAGE,
                 "diverse-ar has t = 3, but the model has heads for 2 offsets");
    config.head.offsets = 17;
    assert_fails(cs_model_config_check(&config), CS_ERR_USAGE, "offset heads 17");
    config = cs_model_config_classifier(&config, 3, CS_READ_LAST);
    assert_int_equal(config.head.offsets, 0);
    config.head.offsets = 2;
    assert_fails(cs_model_config_check(&config), CS_ERR_USAGE,
                 "cannot be combined with heads for offsets");
}
