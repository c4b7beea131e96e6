/* Sequences of real vectors from source to batch to network: rows made by hand, where an id names
 * what the row's vector is, so that a model can learn to predict them. */
#include "infer/hidden_states.h"
#include "infer/perplexity.h"
#include "io_support.h"
#include "model_support.h"
#include "train/examples.h"
#include "train_support.h"

enum { R = 4 };

/* The vector of an id: three coordinates of its bits, one of noise. */
static void vector_of(int32_t id, cs_rng *rng, float *out)
{
    for (int j = 0; j < R - 1; ++j) {
        out[j] = id >> j & 1 ? 1 : -1;
    }
    out[R - 1] = (float)cs_rng_normal(rng);
}

/* A run whose corpus has a vector at every place, and whose model reads them. */
static training of_vectors(cs_objective_kind kind, const char *dir)
{
    training t = make_training(&(recipe){.kind = kind, .arch = CS_ARCH_GPT2}, dir);
    cs_rng rng = cs_rng_at(3, CS_STREAM_TEST, 0);
    t.corpus.real_width = R;
    t.corpus.real = cs_alloc(t.corpus.tokens * R, sizeof *t.corpus.real);
    assert_non_null(t.corpus.real);
    for (int64_t i = 0; i < t.corpus.tokens; ++i) {
        vector_of(t.corpus.token[i], &rng, t.corpus.real + i * R);
    }
    cs_model_config config = t.model.config;
    config.shape.real_width = R;
    cs_model_free(&t.model);
    OK(cs_model_init(&config, t.backend, true, &t.model));
    OK(cs_model_randomise(&t.model, t.options.seed));
    return t;
}

static cs_batch batch_of(const training *t, int64_t step)
{
    const int64_t n = t->corpus.doc_ptr[1];
    const cs_example example = {t->corpus.token, n, 0, t->corpus.real, NULL};
    cs_batch b = {0};
    OK(cs_batch_build(&(cs_batch_order){&t->options.task, &t->model.config, 5, step, NULL},
                      &example, 1, &b));
    return b;
}

/* A row reads the vector, a masked one [MASK]; targets are ids. */
TEST(rows_of_a_batch)
{
    CS_AUTO_BY(free_training, training) t = of_vectors(CS_OBJ_MASKED, "");
    int64_t masked = 0;
    CS_AUTO(cs_batch) b = batch_of(&t, 1);
    for (int64_t i = 0; i < b.length; ++i) {
        if (b.token[i] < 0) {
            assert_int_equal(b.real.row[i], i);
            assert_memory_equal(b.real.values + i * R, t.corpus.real + i * R, R * sizeof(float));
        } else {
            ++masked;
            assert_int_equal(b.token[i], t.model.config.ids.mask);
            assert_int_equal(b.real.row[i], -1);
        }
    }
    assert_true(masked > 0 && masked == b.events && b.events < b.length);
    assert_each(r, 0, b.events, b.loss.target[r] == t.corpus.token[b.loss.place[r]]);
}

/* The place before it says nothing of a random token, and the vectors nothing either: ar stays near
 * the unigram; but a two-stream or masked model would, too. So the loss must fall by what can be
 * learned: a repeated sequence. */
TEST_IN_DIR(training_on_vectors)
{
    CS_AUTO_BY(free_training, training) t = of_vectors(CS_OBJ_AR, in_dir(state, "run"));
    for (int64_t i = 0; i < t.corpus.tokens; ++i) { /* the vector of the next token */
        cs_rng rng = cs_rng_at(4, CS_STREAM_TEST, (uint64_t)i);
        vector_of(t.corpus.token[i + 1 < t.corpus.tokens ? i + 1 : i] & 7, &rng,
                  t.corpus.real + i * R);
    }
    t.options.steps = 150;
    t.options.rate.learning_rate = 1e-2;
    t.options.intervals.save_every = 0;
    cs_train_result vectors = trained(&t);
    assert_true(vectors.finished &&
                vectors.loss < 2.0); /* chance: log 19 = 2.9; of 8 classes 2.1 */
    /* The trained model is written and read, and its states depend on the vectors. */
    AUTO_OK(cs_model, again, cs_model_read(in_dir(state, "run"), t.backend, false, &again));
    assert_int_equal(again.config.shape.real_width, R);
    assert_true(cs_params_find(&again.params, "embed.real.weight") >= 0);
}

typedef struct {
    int64_t rows;
    float state[512][16];
} kept;

static cs_status keep(void *ctx, const cs_hidden_block *b)
{
    kept *k = ctx;
    memcpy(k->state[k->rows], b->state[0], (size_t)(b->rows * b->width) * sizeof(float));
    k->rows += b->rows;
    return CS_OK;
}

/* A vector changes the states that see it and no others. */
TEST(states_of_vectors)
{
    const int64_t last = 2;
    CS_AUTO_BY(free_training, training) t = of_vectors(CS_OBJ_AR, "");
    const cs_hidden_options o = {
        .layer = &last, .layers = 1, .batch = 4, .masks.attention = CS_ATTENTION_CAUSAL};
    kept *before = test_zeros(1, sizeof *before), *after = test_zeros(1, sizeof *after);
    OK(cs_hidden_states(&t.model, &t.corpus, &o, keep, before));
    const int64_t changed = t.corpus.doc_ptr[2] + 1;
    t.corpus.real[changed * R] += 1;
    OK(cs_hidden_states(&t.model, &t.corpus, &o, keep, after));
    for (int64_t i = 0; i < before->rows; ++i) {
        bool sees = i >= changed && i < t.corpus.doc_ptr[3];
        assert_true(sees ==
                    (memcmp(before->state[i], after->state[i], sizeof before->state[i]) != 0));
    }
}

TEST(what_does_not_fit)
{
    CS_AUTO_BY(free_training, training) t = of_vectors(CS_OBJ_AR, "");
    const int64_t last = 2;
    const cs_hidden_options o = {.layer = &last, .layers = 1};
    const cs_perplexity_options p = {.kind = CS_KIND_CAUSAL};
    cs_examples examples = {0};
    cs_perplexity perplexity;
    cs_train_result result;
    cs_batch batch = {0};
    const cs_example ids = {t.corpus.token, 3, 0, NULL, NULL};
    cs_corpus of_ids = t.corpus;
    of_ids.real = NULL;
    of_ids.real_width = 0;
    assert_fails(cs_batch_build(&(cs_batch_order){&t.options.task, &t.model.config, 5, 1, NULL},
                                &ids, 1, &batch),
                 CS_ERR_USAGE, "ids, but the model reads real rows");
    assert_fails(cs_perplexity_of(&t.model, &of_ids, &p, &perplexity), CS_ERR_USAGE,
                 "0 real values");
    assert_fails(cs_examples_of(&t.corpus,
                                &(cs_examples_options){.objective = &t.options.task.objective,
                                                       .length = 8,
                                                       .pack = true,
                                                       .end_token = 1},
                                &examples),
                 CS_ERR_USAGE, "packed");
    t.corpus.real_width = R + 1;
    t.options.dir = NULL;
    assert_fails(cs_train(&t.model, &t.corpus, t.tokenizer, &t.options, &result), CS_ERR_USAGE,
                 "rows have 5 real values, but the model reads 4");
    assert_fails(cs_hidden_states(&t.model, &t.corpus, &o, keep, NULL), CS_ERR_USAGE,
                 "rows have 5 real values");
}
