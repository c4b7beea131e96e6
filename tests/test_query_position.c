/* Two streams whose queries are given the position that they fill, or are blind: queries of one
 * conditioning set coincide, every objective has the form, and what a model converges to is the
 * matrix of a blind or of a given context. */
#include "batch_support.h"
#include "cooc/builder.h"
#include "model/pass.h"
#include "model_support.h"
#include "plan_support.h"
#include "small_corpus.h"
#include "train/specials.h"
#include "train/trainer.h"

/* --- networks --------------------------------------------------------------------------------- */

enum { QUERIES = 6, LOGITS = 16 };

/* Whether two queries see the same rows: none, or those of one sequence. */
static bool one_set(const model_data *d, int64_t r, int64_t q)
{
    int64_t seen[2] = {0, 0}, both = 0;
    for (int64_t i = 0; i < d->length; ++i) {
        bool r_sees = d->vis[r / QUERIES * d->length + i] <= d->query_lim[r];
        bool q_sees = d->vis[q / QUERIES * d->length + i] <= d->query_lim[q];
        seen[0] += r_sees;
        seen[1] += q_sees;
        both += r_sees && q_sees;
    }
    return seen[0] == both && seen[1] == both && (both == 0 || r / QUERIES == q / QUERIES);
}

/* Logits of one loss row a query of two sequences, whatever places are given. */
static void ask(backend_open open, const cs_model_config *config, int32_t place, model_data *d,
                float *logits)
{
    const model_case what = {"queries", CS_FORM_TWO_STREAM, config->arch, CS_LOSS_CROSS_ENTROPY,
                             NULL};
    cs_network_options options = case_options(&what, false);
    CS_AUTO_BY(world_close, model_world) w = {0};
    options.queries = QUERIES;
    options.predictions = 2 * QUERIES;
    world_open(&w, open, config, &options);
    data_fill(d, &w, 5);
    for (int32_t r = 0; r < 2 * QUERIES; ++r) {
        d->predict[r] = r;
        d->query_lim[r] = r % 4 - 1; /* -1 sees nothing */
        d->query_position[r] = place < 0 ? -1 : (place + r) % 5 + (int32_t)config->position.offset;
    }
    world_load(&w, d);
    world_logits(&w, logits);
}

/* Bit for bit, on every backend: two queries of one set have one row of logits, whichever positions
 * are predicted; given queries differ. Without relative positions a blind network is the given one
 * whose queries sit nowhere. */
TEST(blind_queries_of_one_set_coincide)
{
    const cs_arch arch[] = {CS_ARCH_GPT2, CS_ARCH_ROBERTA_PRELAYERNORM, CS_ARCH_BERT};
    for (int v = 0; v < 6; ++v) {
        for (const backend_open *open = model_backends; *open; ++open) {
            const model_case what = {"", CS_FORM_TWO_STREAM, arch[v % 3], CS_LOSS_NONE, NULL};
            cs_model_config config = case_config(&what, false);
            float given[2][2 * QUERIES * LOGITS], blind[2][2 * QUERIES * LOGITS];
            float nowhere[2 * QUERIES * LOGITS];
            model_data d;
            config.position.relative_buckets = v < 3 ? 0 : 8;
            config.position.relative_distance = v < 3 ? 0 : 4;
            for (int turn = 0; turn < 2; ++turn) {
                config.attention.blind_queries = false;
                ask(*open, &config, turn, &d, given[turn]);
                config.attention.blind_queries = true;
                ask(*open, &config, turn, &d, blind[turn]);
            }
            const int64_t cols = config.shape.vocab;
            const size_t size = (size_t)(2 * QUERIES * cols) * sizeof(float);
            assert_memory_equal(blind[0], blind[1], size);
            assert_memory_not_equal(given[0], given[1], size);
            for (int64_t r = 0; r < 2 * QUERIES; ++r) {
                for (int64_t q = 0; q < r; ++q) {
                    bool same = memcmp(blind[0] + r * cols, blind[0] + q * cols,
                                       (size_t)cols * sizeof(float)) == 0;
                    assert_int_equal(same, one_set(&d, r, q));
                }
            }
            config.attention.blind_queries = false;
            ask(*open, &config, -1, &d, nowhere);
            assert_true(v >= 3 || memcmp(nowhere, blind[0], size) == 0);
        }
    }
}

/* --- batches ---------------------------------------------------------------------------------- */

enum { LENGTH = 7 };

static cs_batch drawn(const cs_task *task, bool blind, int64_t step)
{
    cs_model_config config = batch_config(CS_FORM_TWO_STREAM);
    config.attention.blind_queries = blind;
    cs_batch b;
    OK(cs_batch_build(&(cs_batch_order){task, &config, 1, step, NULL},
                      &(cs_example){batch_text, LENGTH, 0, NULL, NULL}, 1, &b));
    return b;
}

/* Of every objective: the same content and the same events of the same weights, and one blind query
 * for each set that predicts. Of masks the content is what they show. */
TEST(blind_batches_predict_each_set_once)
{
    cs_model_config config = batch_config(CS_FORM_TWO_STREAM);
    for (int p = 0; p < plan_spec_count(); ++p) {
        for (int64_t step = 0; step < 10; ++step) {
            cs_task task = batch_task(plan_spec(p));
            bool masks = cs_objective_reads(&task.objective) == CS_ROWS_MASKED;
            task.two_stream = true;
            if (!plan_exists(&task.objective, LENGTH)) {
                continue;
            }
            CS_AUTO(cs_batch) given = drawn(&task, false, step), blind = drawn(&task, true, step);
            uint64_t set[LENGTH];
            int64_t sets = 0;
            assert_int_equal(given.events, blind.events);
            assert_int_equal(given.length, blind.length);
            assert_memory_equal(given.token, blind.token, (size_t)given.length * sizeof(int32_t));
            for (int64_t r = 0; r < given.events; ++r) {
                set[r] = batch_sees(&blind, &config, r);
                assert_true(set[r] == batch_sees(&given, &config, r));
                bool first = true;
                for (int64_t q = 0; q < r; ++q) {
                    bool same = set[q] == set[r];
                    first = first && !same;
                    assert_int_equal(blind.loss.predict[q] == blind.loss.predict[r], same);
                }
                sets += first;
                assert_true(given.loss.place[r] == blind.loss.place[r] &&
                            given.loss.target[r] == blind.loss.target[r] &&
                            given.loss.weight[r] == blind.loss.weight[r]);
                assert_int_equal(given.query.position[given.loss.predict[r]], given.loss.place[r]);
                assert_int_equal(blind.query.position[blind.loss.predict[r]], -1);
            }
            assert_true(blind.events == 0 || blind.queries == sets);
            for (int64_t i = 0; masks && given.events > 0 && i < given.length; ++i) {
                assert_int_equal(given.position[i], given.token[i] - TEXT);
                assert_true(set[0] >> given.position[i] & 1);
            }
        }
    }
}

TEST(two_streams_are_refused_elsewhere)
{
    cs_task task = batch_task("masked:unmasked=3");
    cs_model_config config = batch_config(CS_FORM_MAE);
    task.two_stream = true;
    assert_fails(cs_task_check(&task, &config), CS_ERR_USAGE, "decoder");
    config = batch_config(CS_FORM_LINEAR);
    assert_fails(cs_task_check(&task, &config), CS_ERR_USAGE, "linear attention");
    config = batch_config(CS_FORM_TWO_STREAM);
    task.keep = 0.5;
    assert_fails(cs_task_check(&task, &config), CS_ERR_USAGE, "reads no masked token");
    config.attention.blind_queries = true;
    OK(cs_model_config_check(&config));
    config.attention.query_vector = false;
    assert_fails(cs_model_config_check(&config), CS_ERR_USAGE, "blind queries");
}

/* --- what training converges to ---------------------------------------------------------------- */

enum { TEXTS = 12, TEXT_LENGTH = 4, WORDS = 3, MOST_PLANS = 8 };

/* H(X+ | X) of the corpus's matrix with all contexts, which any model's cross-entropy over its
 * events bounds from above (Gibbs), and which a model that may say anything of each X reaches. */
static double entropy_of(const cs_corpus *corpus, const char *spec, bool given)
{
    const cs_cooc_options options = {.objective = plan_objective(spec),
                                     .context = {.mode = CS_CONTEXT_ALL, .given = given},
                                     .max_length = TEXT_LENGTH,
                                     .stride = TEXT_LENGTH,
                                     .split = CS_SPLIT_ALL,
                                     .threads = 1};
    double entropy = 0, mass = 0;
    AUTO_OK(cs_cooc, cooc, cs_cooc_build(corpus, &options, &cooc));
    const cs_csr *a = &cooc.matrix.a;
    for (int64_t i = 0; i < a->rows; ++i) {
        double row = SUM(e, a->ptr[i], a->ptr[i + 1], a->val[e]);
        for (int64_t e = a->ptr[i]; e < a->ptr[i + 1]; ++e) {
            entropy -= a->val[e] * log(a->val[e] / row);
        }
        mass += row;
    }
    return entropy / mass;
}

/* The places that a batch of one text predicts, each with the last place it sees. */
static uint64_t plan_of(const cs_batch *b)
{
    uint64_t key = 0;
    for (int64_t r = 0; r < b->events; ++r) {
        key = key << 6 | (uint64_t)(b->loss.place[r] << 3 | (b->query.lim[b->loss.predict[r]] + 1));
    }
    return key;
}

/* Mean negative log-likelihood over the events of all plans, each once, of every text. */
static double loss_over_plans(cs_model *model, const cs_task *task, const cs_corpus *corpus)
{
    cs_network_options sizes = {.loss = CS_LOSS_CROSS_ENTROPY};
    CS_AUTO_BY(cs_pass_close, cs_pass) pass = {0};
    double loss = 0, weight = 0;
    OK(cs_task_sizes(task, &model->config, 1, TEXT_LENGTH, &sizes));
    OK(cs_pass_open(model, &sizes, &pass));
    for (int64_t d = 0; d < corpus->documents; ++d) {
        const cs_example example = {corpus->token + corpus->doc_ptr[d], TEXT_LENGTH, d, NULL, NULL};
        uint64_t seen[MOST_PLANS];
        int plans = 0;
        for (int64_t step = 0; step < 200; ++step) {
            cs_batch_free(&pass.batch);
            OK(cs_batch_build(&(cs_batch_order){task, &model->config, 3, step, NULL}, &example, 1,
                              &pass.batch));
            uint64_t plan = plan_of(&pass.batch);
            bool before = ANY(i, 0, plans, seen[i] == plan);
            if (before) {
                continue;
            }
            double sum = 0;
            assert_true(plans < MOST_PLANS);
            seen[plans++] = plan;
            OK(cs_pass_forward(&pass, 1, (cs_run_key){0}));
            OK(cs_run_sum(pass.run, pass.network.loss.value, &sum));
            loss += sum;
            weight += pass.batch.loss.weight_sum;
        }
    }
    return loss / weight;
}

/* A network of 32 dimensions that has trained to the end. */
static double converged(const cs_corpus *text, const char *spec, bool blind)
{
    cs_corpus corpus = *text;
    AUTO_OK(cs_backend, *backend, cs_backend_cpu(1, &backend));
    AUTO_OK(cs_tokenizer, *tokenizer,
            cs_tokenizer_of_corpus(&corpus, CS_SPLITTER_WHITESPACE, &tokenizer));
    CS_AUTO(cs_model) model = {0};
    cs_train_options o = cs_train_defaults();
    cs_train_result result;
    o.task = (cs_task){.objective = plan_objective(spec), .two_stream = true};
    o.steps = 800;
    o.data.batch = 4 * TEXTS;
    o.data.accumulate = 1;
    o.data.length = TEXT_LENGTH;
    o.rate.learning_rate = 1e-2;
    o.seed = 1;
    cs_model_config config = {.shape.vocab = cs_tokenizer_vocab(tokenizer),
                              .shape.positions = TEXT_LENGTH,
                              .shape.width = 32,
                              .shape.layers = 2,
                              .shape.heads = 2,
                              .shape.inner = 64};
    cs_model_config_default(CS_ARCH_GPT2, &config);
    cs_model_config_ids(&config, cs_special_ids_of(tokenizer));
    config.attention.query_vector = true;
    config.attention.blind_queries = blind;
    OK(cs_model_init(&config, backend, true, &model));
    OK(cs_model_randomise(&model, 1));
    OK(cs_train(&model, &corpus, tokenizer, &o, &result));
    double loss = loss_over_plans(&model, &o.task, &corpus);
    return loss;
}

/* Masks of two in four, and groups of two: on twelve texts of three words contexts repeat, so that
 * neither entropy is 0. No model is below its own matrix's entropy; both come within 0.02 nats of
 * it (what is left after 800 steps), where the two matrices are 0.2 and more apart. */
TEST(models_reach_the_entropy_of_their_matrix)
{
    const char *const spec[] = {"masked:unmasked=2", "group-ar:t=2"};
    ARRAY(int64_t, length, TEXTS, d, TEXT_LENGTH);
    CS_AUTO(cs_corpus) corpus = small_corpus(TEXTS, length, WORDS, 0, 9);
    memset(corpus.held_out, 0, TEXTS);
    OK(cs_corpus_specials_first(&corpus));
    for (size_t i = 0; i < sizeof spec / sizeof *spec; ++i) {
        double entropy[2], loss[2];
        for (int given = 0; given < 2; ++given) {
            entropy[given] = entropy_of(&corpus, spec[i], given);
            loss[given] = converged(&corpus, spec[i], !given);
            print_message("%s: %g %g\n", spec[i], entropy[given], loss[given]);
            assert_true(loss[given] > entropy[given] - 1e-6);
            assert_true(loss[given] < entropy[given] + 0.02);
        }
        assert_true(entropy[1] > 0.05 && entropy[0] > entropy[1] + 0.2);
    }
}
