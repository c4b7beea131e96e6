/* Order of learning on a corpus: a network whose predictions are built from the singular directions
 * with known shares has these shares; one that predicts the same everywhere has learned none. */
#include "analysis/trained/learned_order.h"
#include "base/vector_ops.h"
#include "test.h"

enum { WORDS = 6, DOCUMENTS = 40, LENGTH = 12, WIDTH = 2 * WORDS };

typedef struct {
    cs_cooc_store store;
    cs_learned_corpus corpus;
    int32_t word[WORDS + 1]; /* of each row */
    cs_backend *backend;
    cs_model model;
    cs_model_kind kind;
} world;

/* Walks that stay in one half of the words most of the time. */
static void make_corpus(cs_corpus *c)
{
    cs_rng rng = cs_rng_at(3, CS_STREAM_TEST, 0);
    *c = (cs_corpus){.documents = DOCUMENTS,
                     .tokens = DOCUMENTS * LENGTH,
                     .vocab = WORDS,
                     .unknown = -1,
                     .doc_ptr = cs_alloc(DOCUMENTS + 1, sizeof *c->doc_ptr),
                     .token = cs_alloc(DOCUMENTS * LENGTH, sizeof *c->token),
                     .label = cs_calloc(DOCUMENTS, sizeof *c->label),
                     .held_out = cs_calloc(DOCUMENTS, 1)};
    assert_true(c->doc_ptr && c->token && c->label && c->held_out);
    int32_t word = 0;
    for (int64_t i = 0; i < c->tokens; ++i) {
        const bool stays = cs_rng_uniform(&rng) < 0.8;
        const int32_t half = stays ? word / 3 : 1 - word / 3;
        word = half * 3 + (int32_t)cs_rng_below(&rng, 3);
        c->token[i] = word;
    }
    for (int64_t d = 0; d <= DOCUMENTS; ++d) {
        c->doc_ptr[d] = d * LENGTH;
    }
}

static cs_status note_row(void *ctx, const cs_contribution *c)
{
    world *w = ctx;
    w->word[cs_cooc_row_of(&w->store.cooc, c->key)] = c->content[0];
    return CS_OK;
}

/* A network whose final state depends on the token alone: e_v has 100 at v and -100 at WORDS + v. */
static void make_model(cs_objective_kind objective, world *w)
{
    cs_model_config config = {.shape.vocab = WORDS,
                              .shape.positions = LENGTH,
                              .shape.width = WIDTH,
                              .shape.layers = 1,
                              .shape.heads = 2,
                              .shape.inner = WIDTH};
    cs_model_config_default(CS_ARCH_GPT2, &config);
    config.head.tied = false;
    OK(cs_model_config_check(&config));
    OK(cs_backend_cpu(1, &w->backend));
    OK(cs_model_init(&config, w->backend, false, &w->model));
    cs_params *p = &w->model.params;
    double embed[WORDS * WIDTH] = {0}, ones[WIDTH];
    for (int v = 0; v < WORDS; ++v) {
        embed[v * WIDTH + v] = 100; /* far above eps of the norm */
        embed[v * WIDTH + WORDS + v] = -100;
    }
    for (int i = 0; i < WIDTH; ++i) {
        ones[i] = 1;
    }
    OK(cs_params_set64(p, cs_params_find(p, "embed.token"), CS_PARAM_VALUE, embed));
    OK(cs_params_set64(p, cs_params_find(p, "final_norm.gain"), CS_PARAM_VALUE, ones));
    const cs_task task = {.objective = cs_objective_default(objective)};
    OK(cs_model_kind_of(&task, &w->model.config, CS_LOSS_CROSS_ENTROPY, 2, &w->kind));
}

/* Predicts P(y | v) = sum_k share_k sigma_k u_k(v) v_k(y) sqrt(q(y) / p(v)). */
static void set_shares(world *w, const double *share)
{
    const cs_learned_target *t = &w->corpus.target;
    const cs_spectrum *s = &t->spectrum;
    cs_params *p = &w->model.params;
    double output[WORDS * WIDTH] = {0};
    for (int64_t row = 0; row < s->u.rows; ++row) {
        for (int y = 0; y < WORDS; ++y) {
            double sum = 0;
            for (int64_t k = 0; k < s->k; ++k) {
                sum += share[k] * s->sigma[k] * s->u.data[row + k * s->u.ld] *
                       s->v.data[y + k * s->v.ld];
            }
            sum *= t->problem.root_col[y] / t->problem.root_row[row];
            assert_true(sum > 0);
            output[y * WIDTH + w->word[row]] = log(sum) / sqrt(WORDS); /* the norm's 1 is this */
        }
    }
    OK(cs_params_set64(p, cs_params_find(p, "output.weight"), CS_PARAM_VALUE, output));
}

static void open_world(world *w)
{
    *w = (world){.store.options = {.objective = cs_objective_default(CS_OBJ_AR),
                                   .context = {.mode = CS_CONTEXT_NEAREST, .n = 1, .given = true}}};
    make_corpus(&w->store.corpus);
    OK(cs_cooc_build(&w->store.corpus, &w->store.options, &w->store.cooc));
    OK(cs_learned_corpus_of(&w->store, &(cs_spectrum_options){0}, 7, &w->corpus));
    for (int64_t i = 0; i < w->corpus.sequences.count; ++i) {
        OK(cs_context_visit(w->corpus.plan, &w->store.corpus, &w->corpus.sequences, i, note_row, w,
                            NULL));
    }
    make_model(CS_OBJ_AR, w);
}

static void close_world(world *w)
{
    cs_learned_corpus_free(&w->corpus);
    cs_cooc_store_free(&w->store);
    cs_model_kind_free(&w->kind);
    cs_model_free(&w->model);
    cs_backend_free(&w->backend);
}

static void directions_of(world *w, cs_learned_direction *out, int64_t *count)
{
    const cs_learned_model model = {.name = "m", .model = &w->model, .kind = &w->kind};
    OK(cs_learned_directions(&w->corpus, &model, 7, out, count));
}

/* Direction 1 is the marginals; the others have the shares that were put in. */
TEST(shares_are_those_of_the_network)
{
    CS_AUTO_BY(close_world, world) w;
    open_world(&w);
    const double share[][WORDS] = {
        {1, 0.7, 0.2, 0, 0, 0}, {1, 1, 1, 1, 1, 1}, {1, 0.1, 0.9, 0.3, 0, 0.5}};
    cs_learned_direction found[WORDS];
    int64_t count = 0;
    assert_true(w.corpus.target.spectrum.sigma[1] > 0.4);
    for (int i = 0; i < 3; ++i) {
        set_shares(&w, share[i]);
        directions_of(&w, found, &count);
        assert_int_equal(count, WORDS);
        for (int k = 0; k < WORDS; ++k) {
            assert_near(found[k].mode.share, share[i][k], 1e-4);
            assert_near(found[k].observed, 1, 1e-9); /* every event of ar is read */
        }
    }
    double whole = 0;
    for (int k = 0; k < WORDS; ++k) {
        whole += found[k].mode.energy;
    }
    assert_near(whole, 1, 1e-9); /* all directions are there */
}

/* The untrained network predicts each of the words alike. */
TEST(equal_predictions_are_no_direction)
{
    CS_AUTO_BY(close_world, world) w;
    open_world(&w);
    cs_learned_direction found[WORDS];
    int64_t count = 0;
    directions_of(&w, found, &count);
    assert_near(found[0].mode.share, 1, 1e-6);
    assert_each(k, 1, count, fabs(found[k].mode.share) < 1e-6);
    /* the marginals: u^2 is that of contexts and v^2 that of tokens, counted here */
    double context[WORDS] = {0}, token[WORDS] = {0}, p2 = 0, q2 = 0;
    const int64_t events = DOCUMENTS * (LENGTH - 1);
    for (int64_t i = 0; i + 1 < DOCUMENTS * LENGTH; ++i) {
        if (i % LENGTH < LENGTH - 1) {
            context[w.store.corpus.token[i]] += 1.0 / (double)events;
            token[w.store.corpus.token[i + 1]] += 1.0 / (double)events;
        }
    }
    for (int v = 0; v < WORDS; ++v) {
        p2 += context[v] * context[v];
        q2 += token[v] * token[v];
    }
    assert_near(found[0].frequency, sqrt(p2 * q2), 1e-12);
}

TEST(what_does_not_fit)
{
    CS_AUTO_BY(close_world, world) w;
    open_world(&w);
    cs_learned_direction found[WORDS];
    int64_t count = 0;
    cs_model_kind other = {0};
    const cs_task task = {.objective = cs_objective_default(CS_OBJ_PERMUTED_AR)};
    OK(cs_model_kind_of(&task, &w.model.config, CS_LOSS_CROSS_ENTROPY, 2, &other));
    const cs_learned_model model = {.name = "m", .model = &w.model, .kind = &other};
    assert_int_equal(cs_learned_directions(&w.corpus, &model, 7, found, &count), CS_ERR_USAGE);
    assert_true(strstr(cs_reason(), "was trained with the objective permuted-ar"));
    cs_model_kind_free(&other);
    cs_learned_corpus corpus = {0};
    w.store.options.context = (cs_context){.mode = CS_CONTEXT_UNIQUE, .n = 1};
    assert_int_equal(cs_learned_corpus_of(&w.store, &(cs_spectrum_options){0}, 7, &corpus),
                     CS_ERR_USAGE);
}
