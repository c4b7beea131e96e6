/* text/synthetic_grammar.c: a grammar's chain against the grammar itself, the inside recursion over spans of a
 * tree, which knows of no chain. */
#include "corpus_support.h"
#include "io_support.h"
#include "synthetic_support.h"

enum { S = 2, V = 3, DEPTH = 3, LEAVES = 8 };

/* Not symmetric in anything: rules, words and root differ by symbol, and one rule is impossible. */
static const double rule[S][S][S] = {{{0.5, 0.125}, {0.25, 0.125}}, {{0, 0.3}, {0.6, 0.1}}},
                    word[S][V] = {{0.7, 0.2, 0.1}, {0.05, 0.15, 0.8}}, root[S] = {0.3, 0.7};
static const char text[] =
    "{\"classes\": [{\"rules\": [[0.5, 0.125, 0.25, 0.125], [0, 0.3, 0.6, 0.1]],"
    " \"emission\": [[0.7, 0.2, 0.1], [0.05, 0.15, 0.8]], \"initial\": [0.3, 0.7]}]}";

static cs_synthetic distribution_of(const char *source)
{
    cs_synthetic language = {0};
    OK(cs_synthetic_parse(source, &language));
    return language;
}

static cs_synthetic own_distribution(void **state, const char *more)
{
    char source[512];
    (void)snprintf(source, sizeof source, "grammar:depth=%d,file=%s%s", DEPTH,
                   put(state, "grammar.json", text), more);
    return distribution_of(source);
}

/* P(words | symbol) of a subtree of n leaves; a word of -1 is any. */
static double inside(int symbol, int n, const int32_t *w)
{
    if (n == 1) return w[0] < 0 ? 1 : word[symbol][w[0]];
    return SUM(
        b, 0, S,
        SUM(c, 0, S, rule[symbol][b][c] * inside(b, n / 2, w) * inside(c, n / 2, w + n / 2)));
}

static double sentence(const int32_t *w)
{
    return root[0] * inside(0, LEAVES, w) + root[1] * inside(1, LEAVES, w);
}

/* The forward algorithm; a word of -1 is any. */
static double forward(const cs_synthetic *language, int64_t label, int64_t n, const int32_t *w)
{
    const int64_t h = language->states;
    double sum = 0, a[64], b[64];
    assert_true(h <= 64);
    memcpy(a, language->start + label * h, (size_t)h * sizeof *a);
    for (int64_t i = 0; i < n; ++i) {
        for (int64_t z = 0; z < h && w[i] >= 0; ++z) {
            a[z] *= language->emit[(label * h + z) * language->words + w[i]];
        }
        sum = 0;
        memset(b, 0, sizeof b);
        for (int64_t z = 0; z < h; ++z) {
            sum += a[z];
            for (int64_t y = 0; y < h; ++y) {
                b[y] += a[z] * language->next[(label * h + z) * h + y];
            }
        }
        memcpy(a, b, (size_t)h * sizeof *a);
    }
    return sum;
}

/* All 3^8 sentences. Products of 15 factors at most, 64 terms a symbol: far below 1e-13 of each. */
TEST_IN_DIR(a_chain_says_what_its_grammar_says)
{
    CS_AUTO(cs_synthetic) language = own_distribution(state, "");
    double total = 0;
    assert_int_equal(language.states, S * (1 + S) * (1 + S) * (1 + S));
    assert_true(language.length == LEAVES && language.words == V && language.classes == 1);
    for (int64_t i = 0; i < 6561; ++i) {
        int32_t w[LEAVES];
        for (int64_t k = 0, left = i; k < LEAVES; ++k, left /= V) {
            w[k] = (int32_t)(left % V);
        }
        const double p = sentence(w);
        assert_near(forward(&language, 0, LEAVES, w), p, 1e-13 * p);
        total += p;
    }
    assert_near(total, 1, 1e-12);
}

/* Sentences follow each other and know nothing of each other; two words of one do, whatever is between
 * them. */
TEST_IN_DIR(sentences_are_independent)
{
    CS_AUTO(cs_synthetic) language = own_distribution(state, ",length=19");
    const int32_t w[19] = {0, 2, 1, -1, -1, 2, 0, 0, 1, 1, -1, 2, 2, 0, -1, 1, 2, -1, 0},
                  third[LEAVES] = {2, -1, 0, -1, -1, -1, -1, -1};
    const double p = sentence(w) * sentence(w + LEAVES) * sentence(third);
    assert_int_equal(language.length, 19);
    assert_near(forward(&language, 0, 19, w), p, 1e-13 * p);
    const int32_t ends[LEAVES] = {2, -1, -1, -1, -1, -1, -1, 2},
                  head[LEAVES] = {2, -1, -1, -1, -1, -1, -1, -1},
                  tail[LEAVES] = {-1, -1, -1, -1, -1, -1, -1, 2};
    assert_true(fabs(sentence(ends) - sentence(head) * sentence(tail)) > 1e-5);
    assert_near(forward(&language, 0, LEAVES, ends), sentence(ends), 1e-14);
}

/* Rows sum to 1, a state's first leaf to the last, and classes are roots of one grammar. */
TEST(drawn_grammars_have_roots_for_classes)
{
    CS_AUTO(cs_synthetic)
    language =
        distribution_of("grammar:symbols=3,depth=2,words=5,classes=3,concentration=0.3,seed=4"),
    one = distribution_of("grammar:symbols=3,depth=2,words=5,concentration=0.3,seed=4");
    const int64_t h = language.states;
    const int32_t w[] = {1, 0, 4, 2};
    assert_int_equal(h, 48);
    for (int64_t i = 0; i < 3 * h; ++i) {
        double row = SUM(j, 0, h, language.next[i * h + j]);
        double emitted = SUM(v, 0, 5, language.emit[i * 5 + v]);
        assert_near(row, 1, 1e-13);
        assert_near(emitted, 1, 1e-13);
    }
    assert_each(c, 0, 3, forward(&language, c, 4, w) != forward(&language, (c + 1) % 3, 4, w));
    double mean = SUM(c, 0, 3, forward(&language, c, 4, w) / 3);
    assert_near(mean, forward(&one, 0, 4, w), 1e-14);
}

TEST_IN_DIR(what_is_no_grammar_is_refused)
{
    static const char *const bad[][2] = {
        {"grammar:states=3", "grammar has no 'states'"},
        {"grammar:order=3", "grammar has no 'order'"},
        {"grammar:depth=0", "depth: 0 is not in 1..12"},
        {"grammar:symbols=5,depth=5", "5 symbols of depth 5 need more than 4096 states"},
        {"grammar:symbols=3,classes=4",
         "4 classes need as many root symbols, but there are only 3 symbols"},
        {"grammar:symbols=4096,depth=12", "more than 4096 states"},
    };
    static const char *const files[][2] = {
        {"{\"classes\": [{\"transition\": [[1]], \"emission\": [[1]]}]}",
         "with \"rules\" and \"emission\""},
        {"{\"classes\": [{\"rules\": [[1, 0], [0, 1]], \"emission\": [[1], [1]]}]}",
         "rules[0]: expected an array of 4"},
        {"{\"classes\": [{\"rules\": [[0.5, 0, 0, 0.4], [0, 1, 0, 0]], \"emission\": [[1], [1]]}]}",
         "rules[0]: the probabilities sum to 0.9"},
        {"{\"classes\": [{\"rules\": [[1]], \"emission\": [[1]], \"initial\": [1, 0]}]}",
         "initial: expected an array of 1"},
        {"{\"classes\": [{\"rules\": [[1]], \"emission\": [[1]], \"transition\": [[1]]}]}",
         "transition"},
    };
    cs_synthetic language = {0};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
        assert_fails(cs_synthetic_parse(bad[i][0], &language), CS_ERR_USAGE, bad[i][1]);
    }
    for (size_t i = 0; i < sizeof files / sizeof *files; ++i) {
        char source[512];
        (void)snprintf(source, sizeof source, "grammar:file=%s",
                       put(state, "bad.json", files[i][0]));
        assert_fails(cs_synthetic_parse(source, &language), CS_ERR_INPUT, files[i][1]);
    }
}

static cs_status read_distribution(const char *source)
{
    CS_AUTO(cs_synthetic) language = {0};
    cs_status status = cs_synthetic_parse(source, &language);
    return status;
}

TEST_IN_DIR(memory_that_fails_is_reported)
{
    char source[512];
    (void)snprintf(source, sizeof source, "grammar:depth=2,file=%s",
                   put(state, "grammar.json", text));
    fail_each_allocation(read_distribution, source);
    fail_each_allocation(read_distribution, "grammar:symbols=2,depth=2,classes=2");
}
