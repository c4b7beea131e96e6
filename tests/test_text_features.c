/* analysis/text_features: pairs against their single texts, layers in place, texts without a token.
 */
#include "corpus_support.h"
#include "infer/text_features.h"
#include "io_support.h"
#include "model_support.h"

static const char DIR[] = "tests/golden/models/gpt2";
static const int64_t ALL[] = {0, 1, 2}, LAST[] = {2};

typedef struct {
    cs_backend *backend;
    cs_model model;
    cs_tokenizer *tokenizer;
} world;

/* A tokenizer of the words a b c d for the tiny GPT-2, with ids below its vocabulary. */
static void open_world(void **state, world *w)
{
    const cs_corpus_options words = {.splitter = CS_SPLITTER_WORD, .label_column = -1};
    CS_AUTO(cs_corpus) corpus = loaded(put(state, "words.txt", "a a a a b b b c c d\n"), &words);
    OK(cs_backend_cpu(1, &w->backend));
    OK(cs_model_read(DIR, w->backend, false, &w->model));
    OK(cs_tokenizer_of_corpus(&corpus, CS_SPLITTER_WORD, &w->tokenizer));
}

static void close_world(world *w)
{
    cs_tokenizer_free(&w->tokenizer);
    cs_model_free(&w->model);
    cs_backend_free(&w->backend);
}

static float *features_of(world *w, const char *path, const cs_labelled_options *columns,
                          const cs_hidden_options *options, int64_t *count)
{
    float *x = NULL;
    AUTO_OK(cs_labelled_text, t, cs_labelled_text_read(path, columns, NULL, &t));
    OK(cs_text_features(&w->model, w->tokenizer, &t, options, &x));
    *count = t.count;
    return x;
}

TEST_IN_DIR(pairs_are_made_of_single_texts)
{
    CS_AUTO_BY(close_world, world) w = {0};
    int64_t n = 0, width;
    open_world(state, &w);
    width = w.model.config.shape.width;
    const char *path = put(state, "p.tsv", "0\ta b\tc d a\n1\tc\td\n0\tb b a c\tb\n");
    const cs_labelled_options first = {.corpus.text_column = 2}, second = {.corpus.text_column = 3},
                              both = {.corpus.pair_column = 3};
    const cs_hidden_options all = {.layer = ALL,
                                   .layers = 3,
                                   .pooling = CS_POOL_MEAN,
                                   .masks.attention = CS_ATTENTION_CAUSAL},
                            last = {.layer = LAST,
                                    .layers = 1,
                                    .pooling = CS_POOL_MEAN,
                                    .masks.attention = CS_ATTENTION_CAUSAL};
    CS_AUTO_FREE float *u = features_of(&w, path, &first, &all, &n),
                       *v = features_of(&w, path, &second, &all, &n),
                       *pair = features_of(&w, path, &both, &all, &n),
                       *end = features_of(&w, path, &both, &last, &n);
    assert_int_equal(n, 3);
    for (int64_t i = 0; i < 3 * n; ++i) { /* rows of all layers */
        for (int64_t j = 0; j < width; ++j) {
            float a = u[i * width + j], b = v[i * width + j], *row = pair + i * 4 * width;
            assert_true(row[j] == a && row[width + j] == b);
            assert_true(row[2 * width + j] == fabsf(a - b) && row[3 * width + j] == a * b);
        }
    }
    assert_memory_equal(end, pair + 2 * n * 4 * width, sizeof(float) * (size_t)(n * 4 * width));
    assert_true(memcmp(u, v, sizeof(float) * (size_t)(n * width)) != 0);
}

/* "42" has no word: it is read as the unknown one, and keeps its row. */
TEST_IN_DIR(texts_without_a_token)
{
    CS_AUTO_BY(close_world, world) w = {0};
    int64_t n = 0, width;
    open_world(state, &w);
    width = w.model.config.shape.width;
    const cs_labelled_options plain = {0};
    cs_hidden_options o = {.layer = LAST,
                           .layers = 1,
                           .pooling = CS_POOL_LAST,
                           .masks.attention = CS_ATTENTION_CAUSAL};
    float *x =
        features_of(&w, put(state, "t.tsv", "0\ta b\n1\t42\n0\tzebra\n1\tb\n"), &plain, &o, &n);
    assert_int_equal(n, 4);
    assert_memory_equal(x + width, x + 2 * width, sizeof(float) * (size_t)width);
    assert_true(memcmp(x + width, x + 3 * width, sizeof(float) * (size_t)width) != 0);
    cs_free(x);
    CS_AUTO(cs_labelled_text) t = {0};
    OK(cs_labelled_text_read(in_dir(state, "t.tsv"), &plain, NULL, &t));
    o.pooling = CS_POOL_NONE;
    assert_fails(cs_text_features(&w.model, w.tokenizer, &t, &o, &x), CS_ERR_USAGE, "need exactly");
    o.pooling = CS_POOL_MEAN;
    o.max_length = 100000;
    assert_fails(cs_text_features(&w.model, w.tokenizer, &t, &o, &x), CS_ERR_USAGE, "t.tsv");
}

/* Of the text's own tokens: "a b a" has 2/3 of a; what has none is the unknown one. */
TEST_IN_DIR(shares_of_tokens)
{
    CS_AUTO_BY(close_world, world) w = {0};
    CS_AUTO(cs_labelled_text) t = {0};
    const cs_labelled_options plain = {0}, both = {.corpus.pair_column = 3};
    float *x = NULL;
    open_world(state, &w);
    const int64_t vocab = cs_tokenizer_vocab(w.tokenizer);
    const int32_t a = cs_tokenizer_id(w.tokenizer, "a"), b = cs_tokenizer_id(w.tokenizer, "b");
    const int32_t unknown = cs_tokenizer_special(w.tokenizer, CS_TOKEN_UNK);
    OK(cs_labelled_text_read(put(state, "t.tsv", "0\ta b a\n1\t42\n0\tb zebra\n"), &plain, NULL,
                             &t));
    OK(cs_text_frequencies(w.tokenizer, &t, &x));
    assert_each(v, 0, vocab, fabs(x[v] - (v == a ? 2 / 3.0 : v == b ? 1 / 3.0 : 0)) < 1e-7);
    assert_each(v, 0, vocab, x[vocab + v] == (v == unknown ? 1 : 0));
    assert_each(v, 0, vocab, x[2 * vocab + v] == (v == unknown || v == b ? 0.5F : 0));
    cs_free(x);
    cs_labelled_text_free(&t);
    OK(cs_labelled_text_read(put(state, "p.tsv", "0\ta\tb\n1\tb\ta\n"), &both, NULL, &t));
    assert_fails(cs_text_frequencies(w.tokenizer, &t, &x), CS_ERR_USAGE, "not pairs");
}
