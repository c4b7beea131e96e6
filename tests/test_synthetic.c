/* text/synthetic.c: the rows of a source, documents drawn from it, its population and the probabilities of
 * documents in the language, against sums over all paths of states. */
#include "corpus_support.h"
#include "io_support.h"
#include "synthetic_support.h"

static cs_synthetic distribution_of(const char *source)
{
    cs_synthetic language = {0};
    OK(cs_synthetic_parse(source, &language));
    return language;
}

/* Two classes of three hidden states and two words, the first not started in its stationary
 * distribution, with zeros in both. */
static const char hidden[] =
    "{\"classes\": [\n"
    " {\"weight\": 3, \"initial\": [1, 0, 0], \"transition\": [[0.5, 0.5, 0], [0, 0.25, 0.75],"
    " [1, 0, 0]], \"emission\": [[1, 0], [0.5, 0.5], [0, 1]]},\n"
    " {\"weight\": 1, \"transition\": [[0.2, 0.3, 0.5], [0.6, 0.2, 0.2], [0.1, 0.1, 0.8]],"
    " \"emission\": [[1, 0], [0.3, 0.7], [0.4, 0.6]]}]}";

static const char *hidden_source(void **state, const char *more)
{
    static char source[512];
    (void)snprintf(source, sizeof source, "hmm:file=%s%s", put(state, "law.json", hidden), more);
    return source;
}

/* Rows and starts sum to 1, and the start stays what it is. */
TEST(rows_are_distributions_and_starts_are_stationary)
{
    static const char *const sources[] = {"markov:states=7,concentration=0.2,classes=3",
                                          "markov:states=4,order=3,seed=5",
                                          "markov:states=5,order=0,concentration=3",
                                          "hmm:states=6,words=9,emission=0.3,classes=2,seed=2"};
    for (int i = 0; i < 4; ++i) {
        CS_AUTO(cs_synthetic) language = distribution_of(sources[i]);
        const int64_t h = language.states;
        assert_int_equal(h, i == 1 ? 64 : i == 0 ? 7 : i == 2 ? 5 : 6);
        for (int64_t c = 0; c < language.classes; ++c) {
            double total = 0;
            for (int64_t j = 0; j < h; ++j) {
                double row = SUM(k, 0, h, language.next[(c * h + j) * h + k]);
                double to =
                    SUM(k, 0, h, language.start[c * h + k] * language.next[(c * h + k) * h + j]);
                double word =
                    SUM(v, 0, language.words, language.emit[(c * h + j) * language.words + v]);
                assert_near(row, 1, 1e-13);
                assert_near(word, 1, 1e-13);
                assert_near(to, language.start[c * h + j], 1e-13);
                total += language.start[c * h + j];
            }
            assert_near(total, 1, 1e-13);
            assert_near(language.weight[c], 1.0 / (double)language.classes, 1e-15);
        }
    }
}

/* Of order 2 the next word depends on two, of order 0 on none; an infinite concentration is Zipf's
 * law itself. */
TEST(orders_and_concentrations)
{
    CS_AUTO(cs_synthetic) two = distribution_of("markov:states=3,order=2"),
                          none = distribution_of("markov:states=3,order=0"),
                          zipf = distribution_of("markov:states=3,concentration=inf,zipf=2");
    const double p[] = {1 / 4.0, 1 / 9.0, 1 / 16.0}, total = p[0] + p[1] + p[2];
    for (int i = 0; i < 9; ++i) {
        assert_each(j, 0, 9, (two.next[i * 9 + j] > 0) == (i % 3 == j / 3));
        assert_true(two.emit[i * 3 + i % 3] == 1);
        assert_near(none.next[i], none.next[i % 3], 0);
        assert_near(zipf.next[i], p[i % 3] / total, 1e-14);
    }
    assert_true(two.next[1 * 9 + 3] != two.next[4 * 9 + 3]);
    assert_true(none.next[0] != zipf.next[0]);
    assert_each(v, 0, 3, fabs(none.start[v] - none.next[v]) <= 1e-14);
}

/* Gamma variables of shape a have mean and variance a, so that a share of Dirichlet's rows with n
 * parameters a has mean 1 / n and variance (n - 1) / (n^2 (n a + 1)). 20,000 shares: four standard
 * errors of the mean, and of the variance with a kurtosis below 30, that of the smallest shape. */
TEST(shares_have_the_moments_of_dirichlet)
{
    static const double shape[] = {0.05, 1, 7};
    for (int k = 0; k < 3; ++k) {
        char source[96];
        enum { N = 10, CLASSES = 200 };
        double sum = 0, square = 0;
        const int64_t count = N * N * CLASSES;
        (void)snprintf(source, sizeof source, "hmm:states=%d,words=1,classes=%d,concentration=%g",
                       N, CLASSES, shape[k]);
        CS_AUTO(cs_synthetic) language = distribution_of(source);
        for (int64_t i = 0; i < count; ++i) {
            const double off = language.next[i] - 1.0 / N;
            sum += off / (double)count;
            square += off * off / (double)count;
        }
        const double variance = (N - 1.0) / (N * N * (N * shape[k] + 1));
        assert_true(fabs(sum) < 1e-14);
        assert_true(fabs(square / variance - 1) < 4 * sqrt(30 / (double)count));
    }
}

TEST(words_count_in_letters)
{
    static const struct {
        int64_t v;
        const char *word;
    } some[] = {{0, "a"}, {25, "z"}, {26, "ba"}, {51, "bz"}, {675, "zz"}, {676, "baa"}};
    for (size_t i = 0; i < sizeof some / sizeof *some; ++i) {
        char word[16];
        cs_synthetic_word(some[i].v, word);
        assert_string_equal(word, some[i].word);
    }
}

/* Pieces of two of five tokens begin at 0 and 2, a last of one at 4; windows begin everywhere. The
 * first class is not stationary, so that these have their own distributions: P(word) of their first
 * places. */
TEST_IN_DIR(populations_have_the_mean_of_their_places)
{
    const char *source = hidden_source(state, ",length=5");
    static const struct {
        int64_t stride, documents, length[2];
        double share[2];
        int64_t count[2], start[2][4];
    } cut[] = {{0, 4, {2, 1}, {2.0 / 3, 1.0 / 3}, {2, 1}, {{0, 2}, {4}}},
               {1, 2, {2, 0}, {1, 0}, {4, 0}, {{0, 1, 2, 3}}}};
    for (int k = 0; k < 2; ++k) {
        AUTO_OK(cs_corpus, c, cs_synthetic_population_of(source, 2, cut[k].stride, &c));
        const cs_synthetic *language = &c.population->language;
        const int64_t lengths = cut[k].documents / 2;
        assert_int_equal(c.documents, cut[k].documents);
        assert_true(c.vocab == 3 && c.labels == 2);
        for (int64_t d = 0; d < c.documents; ++d) {
            const int64_t label = d / lengths, which = d % lengths;
            assert_int_equal(c.label[d], label);
            assert_int_equal(c.doc_ptr[d + 1] - c.doc_ptr[d], cut[k].length[which]);
            assert_int_equal(c.token[c.doc_ptr[d + 1] - 1], cut[k].length[which] - 1);
            assert_near(c.weight[d], (label ? 0.25 : 0.75) * cut[k].share[which], 1e-15);
            for (int32_t v = 0; v < 2; ++v) {
                double p = SUM(i, 0, cut[k].count[which],
                               path_probability(language, label, cut[k].start[which][i], 1, &v) /
                                   (double)cut[k].count[which]);
                double mine =
                    SUM(z, 0, 3,
                        c.population->start[d * 3 + z] * language->emit[(label * 3 + z) * 2 + v]);
                assert_near(mine, p, 1e-15);
            }
        }
    }
}

/* Frequencies of (class, first word, second word) over documents: chi-squared, 5 degrees of freedom, is
 * below 25.7 with probability 1 - 1e-4. */
TEST_IN_DIR(documents_follow_the_language)
{
    const char *source = hidden_source(state, ",length=2,documents=20000,sample=3");
    CS_AUTO(cs_synthetic) language = distribution_of(source);
    CS_AUTO(cs_corpus) corpus = loaded(source, NULL);
    double chi2 = 0;
    int cells = 0;
    for (int32_t t = 0; t < 8; ++t) {
        const int32_t word[] = {t & 1, t >> 1 & 1}, label = t >> 2;
        int64_t seen = 0;
        for (int64_t d = 0; d < corpus.documents; ++d) {
            seen += corpus.label[d] == label && corpus.token[2 * d] == word[0] + 1 &&
                    corpus.token[2 * d + 1] == word[1] + 1;
        }
        const double expected =
            path_probability(&language, label, 0, 2, word) * (label ? 0.25 : 0.75) * 20000;
        assert_true(expected > 0 || seen == 0);
        if (expected > 0) {
            chi2 += ((double)seen - expected) * ((double)seen - expected) / expected;
            ++cells;
        }
    }
    assert_int_equal(cells, 6);
    assert_true(chi2 > 0.1 && chi2 < 25.7);
}

/* The vocabulary is that of the language whatever is drawn, ids stay under a smaller one, and every
 * splitter reads the same text. */
TEST(corpora_have_the_words_of_the_language)
{
    const char *source = "markov:states=30,length=6,documents=4,classes=11";
    cs_corpus_options small = {.test_share = -1, .vocab_size = 2},
                      chars = {.test_share = -1, .splitter = CS_SPLITTER_CHAR};
    CS_AUTO(cs_synthetic) language = distribution_of(source);
    CS_AUTO(cs_corpus) whole = loaded(source, NULL), again = loaded(source, NULL),
                       cut = loaded(source, &small), letters = loaded(source, &chars);
    assert_true(cs_synthetic_generates(&language, &whole) &&
                !cs_synthetic_generates(&language, &cut) &&
                !cs_synthetic_generates(&language, &letters));
    assert_int_equal(whole.vocab, 31);
    assert_int_equal(cut.vocab, 3);
    assert_string_equal(whole.word[30], "bd");
    assert_string_equal(whole.name, source);
    assert_memory_equal(whole.token, again.token, 24 * sizeof *whole.token);
    for (int64_t d = 0; d < 4; ++d) {
        int64_t label = 0;
        int32_t word[6];
        char name[8];
        cs_synthetic_draw(&language, d, &label, word);
        (void)snprintf(name, sizeof name, "%02d", (int)label);
        assert_string_equal(cs_corpus_label(&whole, d), name);
        assert_each(i, 0, 6, whole.token[6 * d + i] == word[i] + 1);
        assert_each(i, 0, 6, cut.token[6 * d + i] == (word[i] < 2 ? word[i] + 1 : 0));
    }
}

/* -ln P(x), and what is left of it behind the first token; the classes' posterior. */
TEST_IN_DIR(scores_are_those_of_all_paths)
{
    const char *source = hidden_source(state, ",length=4,documents=400");
    CS_AUTO(cs_synthetic) language = distribution_of(source);
    CS_AUTO(cs_corpus) corpus = loaded(source, NULL);
    for (int out = 0; out < 2; ++out) {
        cs_synthetic_score score, mine = {0};
        OK(cs_synthetic_score_of(&language, &corpus, out == 1, &score));
        for (int64_t d = 0; d < corpus.documents; ++d) {
            double p[2][2];
            ARRAY(int32_t, word, 4, i, corpus.token[4 * d + i] - 1);
            for (int c = 0; c < 2; ++c) {
                p[c][0] = path_probability(&language, c, 0, 1, word) * (c ? 0.25 : 0.75);
                p[c][1] = path_probability(&language, c, 0, 4, word) * (c ? 0.25 : 0.75);
            }
            if (corpus.held_out[d] != out) {
                continue;
            }
            mine.documents += 1;
            mine.first -= log(p[0][0] + p[1][0]);
            mine.next -= log((p[0][1] + p[1][1]) / (p[0][0] + p[1][0]));
            mine.bayes_error += p[corpus.label[d]][1] < p[1 - corpus.label[d]][1];
            mine.bayes_risk += fmin(p[0][1], p[1][1]) / (p[0][1] + p[1][1]);
        }
        const double n = (double)mine.documents;
        assert_int_equal(score.documents, mine.documents);
        assert_true(mine.documents > 0 && mine.bayes_error > 0 && mine.bayes_error < n);
        assert_near(score.first, mine.first / n, 1e-13);
        assert_near(score.next, mine.next / (3 * n), 1e-13);
        assert_near(score.bayes_error, mine.bayes_error / n, 1e-15);
        assert_near(score.bayes_risk, mine.bayes_risk / n, 1e-13);
    }
}

static void refused(const char *source, cs_status code, const char *part)
{
    cs_synthetic language = {0};
    assert_fails(cs_synthetic_parse(source, &language), code, part);
}

TEST(bad_sources_are_named)
{
    static const char *const bad[][2] = {
        {"markov:states=0", "states: 0 is not in 1..4096"},
        {"markov:states=x", "states: 'x' is not an integer"},
        {"markov:states", "\"states\" is not KEY=VALUE"},
        {"markov:sates=4", "markov has no 'sates'; did you mean states?"},
        {"markov:words=4", "markov has no 'words'"},
        {"hmm:order=2", "hmm has no 'order'"},
        {"markov:length=3,length=4", "length is given twice"},
        {"markov:concentration=0", "concentration: 0 is not in (0, "},
        {"markov:zipf=inf", "zipf: 'inf' is not a number"},
        {"markov:states=30,order=3", "30 words to the power 3 exceed 4096"},
        {"hmm:file=x.json,seed=3", "seed cannot be given with file=x.json"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
        refused(bad[i][0], CS_ERR_USAGE, bad[i][1]);
        refused(bad[i][0], CS_ERR_USAGE, bad[i][0]); /* the whole source */
    }
}

TEST_IN_DIR(bad_files_are_named_with_their_place)
{
    static const char *const bad[][2] = {
        {"{\"classes\": []}", "must be an array of objects"},
        {"{\"clases\": 1}", "did you mean classes?"},
        {"{\"classes\": [{\"transition\": [[1, 0]]}]}",
         "classes[0]: transition[0]: expected an array of 1 prob"},
        {"{\"classes\": [{\"transition\": [[0.5, 0.4], [0, 1]]}]}",
         "classes[0]: transition[0]: the probabilities sum to 0.9, not 1"},
        {"{\"classes\": [{\"transition\": [[2, -1], [0, 1]]}]}",
         "transition[0]: [1] is not a probability"},
        {"{\"classes\": [{\"transition\": [[0, 1], [0, 1]]}]}", "the states before state 1 cannot"},
        {"{\"classes\": [{\"transition\": [[1]], \"weight\": 0}]}",
         "weight: expected a number above 0"},
        {"{\"classes\": [{\"transition\": [[1]], \"emission\": [[1]]}]}", "\"emission\""},
        {"{\"classes\": [{\"transition\": [[1]], \"initial\": [1, 0]}]}",
         "initial: expected an array of 1"},
        {"{\"classes\": [{\"transition\": [[1]]}, {\"transition\": [[0, 1], [1, 0]]}]}",
         "classes[1]: transition: expected 1 row"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
        char source[256];
        const char *path = put(state, "bad.json", bad[i][0]);
        (void)snprintf(source, sizeof source, "markov:file=%s", path);
        refused(source, CS_ERR_INPUT, bad[i][1]);
        refused(source, CS_ERR_INPUT, path);
    }
    refused("markov:file=absent.json", CS_ERR_IO, "absent.json");
}

static cs_status read_and_list(const char *path)
{
    CS_AUTO(cs_corpus) corpus = {0}, texts = {0};
    cs_status status = cs_synthetic_population_of(path, 2, 1, &texts);
    if (status == CS_OK) status = cs_corpus_load(path, NULL, &corpus);
    return status;
}

TEST_IN_DIR(memory_that_fails_is_reported)
{
    fail_or_spare_each_allocation(read_and_list, "markov:states=2,classes=2,documents=3,length=3");
    fail_or_spare_each_allocation(read_and_list, hidden_source(state, ",length=3,documents=2"));
}
