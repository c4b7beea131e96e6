/* Tokens that a prediction must not see do not change it by one bit, and tokens that it may see do:
 * through real networks of every form, objective and backend.
 *
 * Which tokens a target may see is worked out here from the plan's definition (earlier groups), not
 * from the masks. The test knows only the draws' keys (seed, stream, step * 2^20 + row) and draws
 * the plan once more. Then each token in turn is changed, the batch is built again and run: rows
 * that may see the token must change, all others must keep their bits. */
#include "backend_ref.h"
#include "batch_support.h"
#include "plan_support.h"
#include "tensor/backend.h"

enum { FIRST = 7, SECOND = 5, MOST = 8, SEQUENCES = 3, SEED = 21 };

/* --- a network to run batches through --------------------------------------------------------- */

typedef struct {
    cs_model model;
    cs_network net;
    cs_run *run;
    cs_network_options sizes;
} rig;

static void rig_open(const cs_task *task, const cs_model_config *config, cs_backend *backend,
                     rig *out)
{
    memset(out, 0, sizeof *out);
    OK(cs_model_config_check(config));
    OK(cs_task_sizes(task, config, SEQUENCES, MOST, &out->sizes));
    out->sizes.loss = CS_LOSS_CROSS_ENTROPY;
    OK(cs_model_init(config, backend, false, &out->model));
    OK(cs_model_randomise(&out->model, 4));
    OK(cs_network_build(&out->model, &out->sizes, &out->net));
    OK(cs_run_init(&out->net.graph, &out->model.params, &out->run));
}

static void rig_close(rig *r)
{
    cs_run_free(&r->run);
    cs_network_free(&r->net);
    cs_model_free(&r->model);
}

/* P x cols logits of a batch, in fresh memory. */
static double *logits(rig *r, const cs_batch *batch)
{
    int64_t cols = r->net.graph.tensor[r->net.loss.logits].cols;
    double *z = test_zeros(batch->predictions * cols, sizeof *z);
    OK(cs_batch_load(batch, &r->net, 1, NULL, (cs_run_key){0}, r->run));
    OK(cs_run_forward(r->run));
    OK(cs_run_get(r->run, r->net.loss.logits, z));
    return z;
}

/* --- what may be seen ------------------------------------------------------------------------- */

/* Masked places that show their own token: as they are drawn, by the shares of the task. */
static uint64_t revealed(const cs_task *task, const cs_model_config *config, const cs_plan *plan,
                         uint64_t key)
{
    cs_rng keep = cs_rng_at(SEED, CS_STREAM_KEPT, key);
    cs_rng replace = cs_rng_at(SEED, CS_STREAM_REPLACE, key);
    uint64_t shown = 0;
    int64_t stay;
    int64_t left = COUNT(i, 0, plan->length, plan->weight[i] > 0);
    stay = config->decoder.layers == 0 ? left : (int64_t)(task->delta * (double)left + 0.5);
    for (int64_t i = 0; i < plan->length; ++i) {
        if (!(plan->weight[i] > 0)) {
            continue;
        }
        bool stays = stay == left || (stay > 0 && cs_rng_below(&keep, left) < stay);
        --left;
        stay -= stays;
        if (stays && task->keep + task->random > 0) {
            double u = cs_rng_uniform(&replace);
            shown |= u < task->keep ? UINT64_C(1) << i : 0;
            if (u >= task->keep && u < task->keep + task->random) {
                (void)cs_rng_below(&replace, VOCAB - TEXT);
            }
        }
    }
    return shown;
}

/* Places that loss row `nth` of a sequence of s tokens, which predicts place k, may see. */
static uint64_t may_see(const cs_task *task, const cs_model_config *config, int64_t s, uint64_t key,
                        int64_t nth, int64_t k)
{
    const cs_objective *o = &task->objective;
    uint64_t set = 0, one = 1;
    if (o->kind == CS_OBJ_OFFSET_AR) { /* one row a prefix, in order */
        return (one << (nth + (o->empty_prefix == CS_PREFIX_NONE))) - 1;
    }
    cs_rng rng = cs_rng_at(SEED, CS_STREAM_PLAN, key);
    AUTO_OK(cs_plan, plan, cs_plan_init(&plan, s));
    OK(cs_plan_sample_training(o, &rng, &plan));
    bool mae = cs_form_of(task, config) == CS_FORM_MAE;
    bool causal = mae && config->decoder.attention == CS_DECODER_CAUSAL_CROSS;
    for (int64_t i = 0; i < s; ++i) {
        bool earlier = causal ? plan.group[i] == 0 || i < k : plan.group[i] < plan.group[k];
        set |= earlier ? one << i : 0;
    }
    if (config->arch != CS_ARCH_LINEAR) {
        set |= revealed(task, config, &plan, key);
    }
    return set;
}

/* --- the test --------------------------------------------------------------------------------- */

typedef struct {
    const cs_task *task;
    const cs_model_config *config;
    const char *name;
    int64_t step, hidden, seen; /* pairs of a token and a prediction */
} probe;

static void build(const probe *p, const rig *r, const cs_example *example, cs_batch *out)
{
    OK(cs_batch_build(&(cs_batch_order){p->task, p->config, SEED, p->step, &r->sizes}, example, 2,
                      out));
}

static bool same_row(const double *x, const double *y, int64_t row, int64_t cols)
{
    return memcmp(x + row * cols, y + row * cols, (size_t)cols * sizeof *x) == 0;
}

/* Changes the token at `place` of the first sequence. */
static void change_token(probe *p, rig *r, const cs_batch *base, const double *z, int64_t place)
{
    int32_t text[FIRST];
    memcpy(text, batch_text, sizeof text);
    text[place] = TEXT + 30;
    const cs_example example[] = {{text, FIRST, 3, NULL, NULL},
                                  {batch_text + 2, SECOND, 4, NULL, NULL}};
    int64_t cols = r->net.graph.tensor[r->net.loss.logits].cols, nth = 0;
    uint64_t key = (uint64_t)p->step << 20 | 3;
    CS_AUTO(cs_batch) changed = {0};
    build(p, r, example, &changed);
    double *y = logits(r, &changed);
    assert_int_equal(changed.events, base->events);
    for (int64_t e = 0; e < base->events; ++e) {
        bool same = same_row(z, y, e, cols), sees = false;
        if (base->loss.example[e] == 0) {
            uint64_t set = may_see(p->task, p->config, FIRST, key, nth++, base->loss.place[e]);
            sees = set >> place & 1;
        }
        if (same == sees) {
            fail_msg("%s, form %d, step %d: place %d %s the prediction of place %d of sequence %d",
                     p->name, (int)base->form, (int)p->step, (int)place,
                     sees ? "does not reach" : "leaks into", base->loss.place[e],
                     base->loss.example[e]);
        }
        p->seen += sees;
        p->hidden += !sees;
    }
}

/* Padding rows are given tokens and places of their own. */
static void change_padding(rig *r, cs_batch *b, const double *z)
{
    int64_t cols = r->net.graph.tensor[r->net.loss.logits].cols, changed = 0;
    for (int64_t i = 0; i < b->batch * b->length; ++i) {
        if (b->vis[i] == INT32_MAX) {
            b->token[i] = TEXT + 9;
            b->position[i] = b->position[i] == -1 && r->model.config.shape.positions > 0 ? 5 : -1;
            ++changed;
        }
    }
    for (int64_t i = 0; i < b->batch * b->decoder_length; ++i) {
        if (b->decoder.vis[i] == INT32_MAX) {
            b->decoder.token[i] = 0;
            ++changed;
        }
    }
    assert_true(changed > 0);
    double *y = logits(r, b);
    assert_each(e, 0, b->events, same_row(z, y, e, cols));
}

static void probe_task(const cs_task *task, const cs_model_config *config, const char *name,
                       cs_backend *backend)
{
    const cs_example example[] = {{batch_text, FIRST, 3, NULL, NULL},
                                  {batch_text + 2, SECOND, 4, NULL, NULL}};
    probe p = {.task = task, .config = config, .name = name};
    CS_AUTO_BY(rig_close, rig) r = {0};
    rig_open(task, config, backend, &r);
    for (p.step = 0; p.step < 3; ++p.step) {
        CS_AUTO(cs_batch) base = {0};
        build(&p, &r, example, &base);
        double *z = logits(&r, &base);
        for (int64_t place = 0; place < FIRST; ++place) {
            change_token(&p, &r, &base, z, place);
        }
        change_padding(&r, &base, z);
    }
    assert_true(p.seen > 0 && p.hidden > 0);
}

static void each_backend(const cs_task *task, const cs_model_config *config, const char *name)
{
    cs_backend *backend[2] = {NULL, NULL};
    OK(cs_backend_ref(&backend[0]));
    OK(cs_backend_cpu(2, &backend[1]));
    for (int i = 0; i < 2; ++i) {
        probe_task(task, config, name, backend[i]);
        cs_backend_free(&backend[i]);
    }
}

/* --- every objective and form ----------------------------------------------------------------- */

TEST(objectives_do_not_leak)
{
    for (int i = 0; i < plan_spec_count(); ++i) {
        for (int prefix = 0; prefix < 2; ++prefix) {
            cs_task task = batch_task(plan_spec(i));
            task.objective.empty_prefix = prefix ? CS_PREFIX_SHARED : CS_PREFIX_NONE;
            if (cs_objective_check(&task.objective) != CS_OK ||
                !plan_exists(&task.objective, SECOND)) {
                cs_reason_clear();
                continue;
            }
            cs_model_config config = batch_config(batch_form_of(&task));
            each_backend(&task, &config, plan_spec(i));
            config = batch_config(CS_FORM_LINEAR);
            each_backend(&task, &config, plan_spec(i));
            config = batch_config(CS_FORM_TWO_STREAM);
            config.attention.blind_queries = prefix == 0;
            task.two_stream = true;
            each_backend(&task, &config, plan_spec(i));
        }
    }
}

/* Norms behind the sublayers, relative positions, untied outputs: other networks, the same rule. */
TEST(architectures_do_not_leak)
{
    const char *const specs[] = {"ar", "masked:unmasked=3", "diverse-ar:t=2", "permuted-ar",
                                 "offset-ar:offset-weights=power:1"};
    for (size_t i = 0; i < sizeof specs / sizeof *specs; ++i) {
        for (int v = 0; v < 4; ++v) {
            cs_task task = batch_task(specs[i]);
            cs_model_config config = batch_config(batch_form_of(&task));
            if (v == 3) { /* blind, with relative positions of the content alone */
                task.two_stream = true;
                config.attention.query_vector = config.attention.blind_queries = true;
            }
            config.shape.layers = 1 + v;
            config.arch = CS_ARCH_ROBERTA;
            config.layer.post_norm = v == 1;
            config.layer.embed_norm = config.head.transform = v == 1;
            config.shape.token_types = v;
            config.position.offset = 1;
            config.head.tied = v != 2;
            config.position.relative_buckets = v >= 2 ? 8 : 0;
            config.position.relative_distance = v >= 2 ? 16 : 0;
            config.shape.positions = v == 2 ? 0 : PLACES;
            each_backend(&task, &config, specs[i]);
        }
    }
}

TEST(replaced_tokens_do_not_leak)
{
    for (int v = 0; v < 2; ++v) {
        cs_task task = batch_task("masked:unmasked=2");
        task.keep = v ? 0.1 : 0.4;
        task.random = v ? 0.9 : 0.3;
        cs_model_config config = batch_config(CS_FORM_SINGLE);
        each_backend(&task, &config, "masked, 80/10/10");
    }
}

/* Every decoder, with none, some and all [MASK]s in the encoder, shown and replaced. */
TEST(encoders_do_not_see_masked_tokens)
{
    const char *const specs[] = {"masked:unmasked=3", "variable-masked:unmasked=1:3",
                                 "bernoulli-masked:mask-ratio=0.5"};
    for (int v = 0; v < 3 * 4 * 3; ++v) {
        cs_task task = batch_task(specs[v % 3]);
        cs_model_config config = batch_config(CS_FORM_MAE);
        config.decoder.attention = (cs_decoder_attention)(v / 3 % 4);
        config.decoder.width = v % 2 ? 8 : 6;
        config.decoder.heads = 2;
        task.delta = (double)(v / 12) / 2;
        task.keep = task.delta > 0 && v % 3 == 0 ? 0.3 : 0;
        task.random = task.keep;
        task.decoder_resets = v % 5 == 0;
        task.misaligned = v % 7 == 0;
        each_backend(&task, &config, specs[v % 3]);
    }
}

/* --- loading ---------------------------------------------------------------------------------- */

TEST(batches_load_into_networks_of_their_form)
{
    cs_task task = batch_task("ar"), other = batch_task("permuted-ar");
    cs_model_config config = batch_config(CS_FORM_TWO_STREAM);
    AUTO_OK(cs_backend, *backend, cs_backend_ref(&backend));
    CS_AUTO_BY(rig_close, rig) r = {0};
    rig_open(&task, &config, backend, &r);
    const cs_example example[] = {{batch_text, MOST + 1, 0, NULL, NULL}};
    cs_run_key key = {0};
    AUTO_OK(cs_batch, b,
            cs_batch_build(&(cs_batch_order){&other, &config, 0, 0, NULL}, example, 1, &b));
    assert_fails(cs_batch_load(&b, &r.net, 1, NULL, key, r.run), CS_ERR_USAGE, "form");
    cs_batch_free(&b);
    OK(cs_batch_build(&(cs_batch_order){&task, &config, 0, 0, NULL}, example, 1, &b));
    assert_fails(cs_batch_load(&b, &r.net, 1, NULL, key, r.run), CS_ERR_USAGE,
                 "9 rows exceed the capacity of");
}

/* Loss of a batch that predicts nothing is 0; weights are multiplied by the scale. */
TEST(weights_are_scaled)
{
    cs_task task = batch_task("ar");
    cs_model_config config = batch_config(CS_FORM_SINGLE);
    AUTO_OK(cs_backend, *backend, cs_backend_ref64(&backend));
    CS_AUTO_BY(rig_close, rig) r = {0};
    rig_open(&task, &config, backend, &r);
    const cs_example example[] = {{batch_text, FIRST, 0, NULL, NULL},
                                  {batch_text, 1, 0, NULL, NULL}};
    double loss[2], none;
    AUTO_OK(cs_batch, b,
            cs_batch_build(&(cs_batch_order){&task, &config, 0, 0, NULL}, example, 2, &b));
    for (int i = 0; i < 2; ++i) {
        OK(cs_batch_load(&b, &r.net, i ? 1 / b.loss.weight_sum : 1, NULL, (cs_run_key){0}, r.run));
        OK(cs_run_forward(r.run));
        OK(cs_run_sum(r.run, r.net.loss.value, &loss[i]));
    }
    assert_true(loss[0] > 0);
    assert_true(loss[1] * b.loss.weight_sum > loss[0] * (1 - 1e-12));
    assert_true(loss[1] * b.loss.weight_sum < loss[0] * (1 + 1e-12));
    cs_batch_free(&b);
    OK(cs_batch_build(&(cs_batch_order){&task, &config, 0, 0, NULL}, example + 1, 1, &b));
    OK(cs_batch_load(&b, &r.net, 1, NULL, (cs_run_key){0}, r.run));
    OK(cs_run_forward(r.run));
    OK(cs_run_sum(r.run, r.net.loss.value, &none));
    assert_true(none == 0);
}

TEST(the_spectral_loss_wants_masses)
{
    cs_task task = batch_task("ar");
    cs_model_config config = batch_config(CS_FORM_LINEAR);
    AUTO_OK(cs_backend, *backend, cs_backend_ref64(&backend));
    CS_AUTO_BY(rig_close, rig) r = {0};
    OK(cs_task_sizes(&task, &config, SEQUENCES, MOST, &r.sizes));
    r.sizes.loss = CS_LOSS_SPECTRAL;
    r.sizes.spectral_factor = 2;
    OK(cs_model_init(&config, backend, false, &r.model));
    OK(cs_model_randomise(&r.model, 4));
    OK(cs_network_build(&r.model, &r.sizes, &r.net));
    OK(cs_run_init(&r.net.graph, &r.model.params, &r.run));
    const cs_example example = {batch_text, FIRST, 0, NULL, NULL};
    AUTO_OK(cs_batch, b,
            cs_batch_build(&(cs_batch_order){&task, &config, 0, 0, NULL}, &example, 1, &b));
    assert_fails(cs_batch_load(&b, &r.net, 1, NULL, (cs_run_key){0}, r.run), CS_ERR_USAGE,
                 "probabilities of the targets");
    /* sum_r -2 z_r[target] + sum_j mass_j z_rj^2 */
    double z[FIRST * VOCAB], expected = 0, loss;
    ARRAY(double, mass, VOCAB, j, (double)(j + 1) / (VOCAB * (VOCAB + 1) / 2.0));
    OK(cs_batch_load(&b, &r.net, 1, mass, (cs_run_key){0}, r.run));
    OK(cs_run_forward(r.run));
    OK(cs_run_sum(r.run, r.net.loss.value, &loss));
    OK(cs_run_get(r.run, r.net.loss.logits, z));
    double size = 0; /* of the terms, for the rounding of their sum */
    for (int64_t e = 0; e < b.events; ++e) {
        expected -= 2 * z[e * VOCAB + b.loss.target[e]];
        size +=
            2 * (z[e * VOCAB + b.loss.target[e]] < 0 ? -1 : 1) * z[e * VOCAB + b.loss.target[e]];
        expected += SUM(j, 0, VOCAB, mass[j] * z[e * VOCAB + j] * z[e * VOCAB + j]);
        size += SUM(j, 0, VOCAB, mass[j] * z[e * VOCAB + j] * z[e * VOCAB + j]);
    }
    assert_true(loss - expected < 1e-13 * size && expected - loss < 1e-13 * size);
}
