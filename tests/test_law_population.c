/* The population of a law: the matrices of weighted texts against those of a corpus that has each
 * text as often as its probability says, closed forms, and what sampled matrices come to. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis/measures/population_truth.h"
#include "base/mem.h"
#include "cooc/store.h"
#include "cooc_compare.h"
#include "corpus_support.h"
#include "io_support.h"
#include "plan/spec.h"
#include "text/law.h"

static void assert_near(double x, double y, double tolerance)
{
    if (!(fabs(x - y) <= tolerance)) {
        fail_msg("%.17g is not %.17g within %g", x, y, tolerance);
    }
}

static cs_cooc_options options_of(const char *spec, const char *context, bool given)
{
    cs_cooc_options o = {.threads = 1};
    OK(cs_objective_parse(spec, &o.objective));
    OK(cs_context_parse(context, &o.context));
    o.context.given = o.context.given || given;
    return o;
}

static cs_cooc population_of(const char *source, const cs_cooc_options *options)
{
    cs_corpus texts = {0};
    cs_cooc cooc = {0};
    OK(cs_population_texts(source, options, &texts));
    OK(cs_cooc_build(&texts, options, &cooc));
    cs_corpus_free(&texts);
    return cooc;
}

/* A text of four tokens has a multiple of 2^-8 for its probability: of its class 2^-1, of its start at
 * least 2^-1, of a step 2^-2. */
enum { LENGTH = 4, COPIES = 256 };
static const char dyadic[] =
    "{\"classes\": ["
    "{\"initial\": [0.5, 0.5], \"transition\": [[0.25, 0.75], [0.5, 0.5]]},"
    "{\"initial\": [0, 1], \"transition\": [[0.5, 0.5], [0.75, 0.25]]}]}";

static const char *dyadic_source(void **state)
{
    static char source[256];
    (void)snprintf(source, sizeof source, "markov:length=%d,file=%s", LENGTH,
                   put(state, "dyadic.json", dyadic));
    return source;
}

/* Every text COPIES times its probability. */
static cs_corpus in_proportion(const char *source)
{
    cs_law law = {0};
    cs_corpus texts = {0}, c = {.documents = COPIES, .tokens = COPIES * LENGTH};
    OK(cs_law_parse(source, &law));
    OK(cs_law_texts(&law, source, 0, 0, &texts));
    c.doc_ptr = test_room(COPIES + 1, sizeof *c.doc_ptr);
    c.token = test_room(COPIES * LENGTH, sizeof *c.token);
    c.label = test_room(COPIES, sizeof *c.label);
    c.vocab = texts.vocab;
    c.labels = texts.labels;
    for (int64_t d = 0, at = 0; d < texts.documents; ++d) {
        const double copies = texts.weight[d] * COPIES;
        assert_true(copies == floor(copies));
        for (int i = 0; i < (int)copies; ++i, ++at) {
            c.label[at] = texts.label[d];
            c.doc_ptr[at + 1] = (at + 1) * LENGTH;
            memcpy(c.token + at * LENGTH, texts.token + d * LENGTH, LENGTH * sizeof *c.token);
        }
    }
    assert_int_equal(c.doc_ptr[COPIES], c.tokens);
    cs_corpus_free(&texts);
    cs_law_free(&law);
    return c;
}

static void assert_proportional(const cs_csr *a, const cs_csr *b)
{
    double of_a = 0, of_b = 0;
    assert_true(a->rows == b->rows && a->cols == b->cols && cs_csr_nnz(a) == cs_csr_nnz(b));
    for (int64_t e = 0; e < cs_csr_nnz(a); ++e) {
        of_a += a->val[e];
        of_b += b->val[e];
    }
    for (int64_t i = 0; i < a->rows; ++i) {
        assert_int_equal(a->ptr[i + 1], b->ptr[i + 1]);
    }
    for (int64_t e = 0; e < cs_csr_nnz(a); ++e) {
        assert_int_equal(a->col[e], b->col[e]);
        assert_near(a->val[e] / of_a, b->val[e] / of_b, 1e-15);
    }
}

/* Objectives and contexts in every way that builds go, windows and weights: the same rows, entries and
 * class masses. A unit is 2^-61 of the whole, of which an entry takes fewer than a thousand. */
TEST_IN_DIR(texts_with_weights_are_texts_that_often)
{
    static const char *const specs[] = {
        "ar",          "masked:unmasked=1", "variable-masked:unmasked=1:2", "diverse-ar:t=2",
        "permuted-ar", "group-ar:t=2"};
    static const char *const contexts[] = {"all", "nearest:1", "nearest:2", "each:2", "unique"};
    const char *source = dyadic_source(state);
    cs_corpus corpus = in_proportion(source);
    for (int i = 0; i < 6 * 5 * 2 * 3; ++i) {
        cs_cooc_options o = options_of(specs[i % 6], contexts[i / 6 % 5], i / 30 % 2);
        o.max_length = i / 60 == 0 ? 0 : 3;
        o.stride = i / 60 == 1;
        o.weight_by_document = i / 60 == 2;
        cs_cooc a = population_of(source, &o), b = {0};
        OK(cs_cooc_build(&corpus, &o, &b));
        assert_proportional(&a.matrix.a, &b.matrix.a);
        assert_proportional(&a.matrix.row_label, &b.matrix.row_label);
        assert_proportional(&a.matrix.col_label, &b.matrix.col_label);
        assert_memory_equal(a.key, b.key, (size_t)a.matrix.a.rows * sizeof *a.key);
        assert_true(!a.exact && b.sequences > a.sequences);
        assert_near(a.mass + a.dropped_mass,
                    (b.mass + b.dropped_mass) / (double)(b.sequences + b.skipped_sequences), 1e-14);
        cs_cooc_free(&a);
        cs_cooc_free(&b);
    }
}

/* --- measured --------------------------------------------------------------------------------- */

static double metric_of(const cs_population_rows *rows, const char *metric, const char *estimate)
{
    for (int64_t i = 0; i < rows->count; ++i) {
        if (strcmp(rows->row[i].metric, metric) == 0 &&
            strcmp(rows->row[i].estimate, estimate) == 0) {
            return rows->row[i].value;
        }
    }
    fail();
    return NAN;
}

static double measured(const char *source, const cs_cooc_options *o, const char *metric)
{
    const cs_connectivity_options spectrum = {.threads = 1};
    cs_population_rows rows = {0};
    cs_cooc cooc = population_of(source, o);
    OK(cs_population_rows_of_matrix(&cooc.matrix.a, &spectrum, &rows));
    const double value = metric_of(&rows, metric, "plug-in");
    cs_population_rows_free(&rows);
    cs_cooc_free(&cooc);
    return value;
}

/* Independent words: one singular value, and H(X+ | X) = H(X+). */
TEST(independent_words_have_one_singular_value)
{
    static const char *const specs[] = {"ar", "masked:unmasked=2", "permuted-ar"};
    const char *source = "markov:order=0,concentration=inf,states=5";
    double p[5], sum = 0, entropy = 0;
    for (int v = 0; v < 5; ++v) {
        p[v] = 1 / (v + 2.0);
        sum += p[v];
    }
    for (int v = 0; v < 5; ++v) {
        entropy -= p[v] / sum * log(p[v] / sum);
    }
    for (int i = 0; i < 6; ++i) {
        cs_cooc_options o = options_of(specs[i % 3], "all", i / 3);
        o.max_length = 4;
        o.stride = 1;
        assert_near(measured(source, &o, "sum_sigma2"), 1, 1e-12);
        assert_near(measured(source, &o, "sum_sigma4"), 1, 1e-12);
        assert_near(measured(source, &o, "conditional_entropy"), entropy, 1e-12);
    }
}

static const char *symmetric(void **state, double stay)
{
    static char source[256];
    char file[256];
    (void)snprintf(file, sizeof file,
                   "{\"classes\": [{\"transition\": [[%.17g, %.17g], "
                   "[%.17g, %.17g]]}]}",
                   stay, 1 - stay, 1 - stay, stay);
    (void)snprintf(source, sizeof source, "markov:file=%s", put(state, "two.json", file));
    return source;
}

/* Two states that stay with probability q: lambda = 2q - 1, P(k steps) has the eigenvalues 1 and
 * lambda^k. `ar` sees the last word, however much of the past its rows have; each:2 given a row at
 * distance 1 with weight 1/2 + 1/4 and one at distance 2 with 1/4. The entropy is that of a step. */
TEST_IN_DIR(two_states_have_one_eigenvalue)
{
    static const double stays[] = {0.9, 0.3, 0.55};
    for (int i = 0; i < 3; ++i) {
        const double q = stays[i], lambda = 2 * q - 1, step = -q * log(q) - (1 - q) * log(1 - q);
        const char *source = symmetric(state, q);
        static const char *const contexts[] = {"nearest:1", "all", "nearest:2"};
        for (int k = 0; k < 3; ++k) {
            cs_cooc_options o = options_of("ar", contexts[k], false);
            o.max_length = 5;
            assert_near(measured(source, &o, "sum_sigma2"), 1 + lambda * lambda, 1e-12);
            assert_near(measured(source, &o, "sum_sigma4"), 1 + pow(lambda, 4), 1e-12);
            assert_near(measured(source, &o, "sigma_2"), fabs(lambda), 1e-10);
            assert_near(measured(source, &o, "conditional_entropy"), step, 1e-12);
        }
        cs_cooc_options each = options_of("ar", "each:2", true);
        each.max_length = 3;
        each.stride = 1;
        assert_near(measured(source, &each, "sum_sigma2"),
                    1 + 0.75 * pow(lambda, 2) + 0.25 * pow(lambda, 4), 1e-12);
    }
}

/* H(X+ | X) of whole prefixes is what the law says of the documents, in the mean over all of them. */
TEST(entropy_is_the_mean_score)
{
    const char *source = "hmm:states=3,words=3,classes=2,concentration=0.5,length=4";
    cs_cooc_options o = options_of("ar", "all", false);
    cs_law law = {0};
    cs_corpus texts = {0};
    double mean = 0;
    OK(cs_law_parse(source, &law));
    OK(cs_law_texts(&law, source, 0, 0, &texts));
    for (int64_t d = 0; d < texts.documents; ++d) {
        int64_t ptr[] = {0, LENGTH};
        cs_corpus one = texts;
        cs_law_score score = {0};
        one.documents = 1;
        one.tokens = LENGTH;
        one.doc_ptr = ptr;
        one.token = texts.token + d * LENGTH;
        one.label = texts.label + d;
        OK(cs_law_score_of(&law, &one, false, &score));
        mean += texts.weight[d] * score.next;
    }
    assert_near(measured(source, &o, "conditional_entropy"), mean, 1e-12);
    cs_corpus_free(&texts);
    cs_law_free(&law);
}

/* Rows that are documents: as many as texts and classes where these are whole documents. */
TEST_IN_DIR(documents_are_whole_texts)
{
    const char *source = dyadic_source(state);
    const cs_connectivity_options spectrum = {.threads = 1};
    cs_cooc_options o = options_of("ar", "document", false);
    cs_corpus corpus = in_proportion(source), texts = {0};
    cs_cooc b = {0};
    cs_population_rows rows = {0};
    OK(cs_cooc_build(&corpus, &o, &b));
    OK(cs_population_rows_of_matrix(&b.matrix.a, &spectrum, &rows));
    assert_near(measured(source, &o, "sum_sigma4"), metric_of(&rows, "sum_sigma4", "plug-in"),
                1e-12);
    o.max_length = 2;
    assert_fails(cs_population_texts(source, &o, &texts), CS_ERR_USAGE,
                 "has no documents of which");
    assert_fails(cs_population_texts("wordnet", &o, &texts), CS_ERR_USAGE, "wordnet: a population");
    cs_population_rows_free(&rows);
    cs_cooc_free(&b);
}

/* --- samples ---------------------------------------------------------------------------------- */

/* The mass of A in N documents is the mean of N independent matrices with n - 1 cells of 1 / (n - 1), so
 * that the mean of N ||A_N - A||^2 is 1 / (n - 1) - ||A||^2. Over 40 samples its standard error is
 * within a few per cent: the squares of hundreds of cells add up. */
TEST(samples_come_to_the_population)
{
    enum { N = 300, SAMPLES = 40 };
    cs_cooc_options o = options_of("ar", "all", false);
    char source[128];
    double mean = 0, squares = 0;
    cs_cooc truth = population_of("markov:states=4,classes=2,length=4,concentration=0.5", &o);
    for (int64_t e = 0; e < cs_csr_nnz(&truth.matrix.a); ++e) {
        squares += pow(truth.matrix.a.val[e] / truth.mass, 2);
    }
    for (int i = 0; i < SAMPLES; ++i) {
        (void)snprintf(
            source, sizeof source,
            "markov:states=4,classes=2,length=4,concentration=0.5,documents=%d,sample=%d", N, i);
        cs_corpus corpus = loaded(source, NULL);
        cs_cooc cooc = {0};
        OK(cs_cooc_build(&corpus, &o, &cooc));
        double off = squares;
        for (int64_t r = 0; r < cooc.matrix.a.rows; ++r) {
            const int64_t t = cs_cooc_row_of(&truth, cooc.key[r]);
            const cs_csr *a = &truth.matrix.a;
            assert_true(t >= 0);
            for (int64_t e = cooc.matrix.a.ptr[r]; e < cooc.matrix.a.ptr[r + 1]; ++e) {
                int64_t f = a->ptr[t];
                while (a->col[f] != cooc.matrix.a.col[e]) {
                    assert_true(++f < a->ptr[t + 1]);
                }
                const double p = a->val[f] / truth.mass,
                             seen = cooc.matrix.a.val[e] * cooc.unit / cooc.mass;
                off += (seen - p) * (seen - p) - p * p;
            }
        }
        mean += N * off / SAMPLES;
        cs_cooc_free(&cooc);
        cs_corpus_free(&corpus);
    }
    assert_near(mean / (1.0 / 3 - squares), 1, 0.1);
    cs_cooc_free(&truth);
}

/* Documents of a law have rows of the truth behind their own, unless its texts are too many. */
TEST(estimates_stand_beside_the_truth)
{
    static const char *const source = "markov:states=6,length=8,documents=60,concentration=0.3";
    cs_population_plan plan = {
        .build = options_of("ar", "all", false), .spectrum = {.threads = 1}, .seed = 1};
    cs_corpus corpus = loaded(source, NULL);
    cs_population_rows rows = {0};
    char *why = NULL;
    plan.build.max_length = 4;
    plan.build.stride = 1;
    plan.build.split = CS_SPLIT_TRAIN;
    OK(cs_population_rows_of(&corpus, &plan, &rows));
    const int64_t before = rows.count;
    OK(cs_population_truth(&corpus, &plan, &rows, &why));
    plan.build.split = CS_SPLIT_ALL;
    assert_true(!why && rows.count > before);
    assert_true(metric_of(&rows, "sum_sigma4", "population") ==
                measured(source, &plan.build, "sum_sigma4"));
    assert_true(metric_of(&rows, "sum_sigma4", "plug-in") >
                metric_of(&rows, "sum_sigma4", "population"));
    cs_free(corpus.word[2]);
    corpus.word[2] = cs_strdup("other");
    OK(cs_population_truth(&corpus, &plan, &rows, &why));
    assert_non_null(strstr(why, "its words are not those of the law"));
    cs_free(why);
    cs_population_rows_free(&rows);
    cs_corpus_free(&corpus);
}

/* Stored and read again, weights and all; a row says its text. */
TEST_IN_DIR(a_stored_population_is_read_again)
{
    const char *source = dyadic_source(state);
    cs_cooc_options o = options_of("masked:unmasked=2", "all", true);
    cs_corpus texts = {0};
    cs_cooc cooc = {0};
    cs_cooc_store store = {0};
    char *text = NULL;
    OK(cs_population_texts(source, &o, &texts));
    OK(cs_cooc_build(&texts, &o, &cooc));
    OK(cs_cooc_write(in_dir(state, "m"), &texts, &o, &cooc, false, false));
    OK(cs_cooc_read(in_dir(state, "m"), &store));
    assert_same_csr(&store.cooc.matrix.a, &cooc.matrix.a);
    assert_int_equal(store.corpus.documents, texts.documents);
    assert_memory_equal(store.corpus.weight, texts.weight,
                        (size_t)texts.documents * sizeof *texts.weight);
    OK(cs_cooc_row_text(&store, 0, &text));
    assert_non_null(strchr(text, '_'));
    cs_free(text);
    cs_cooc_store_free(&store);
    cs_cooc_free(&cooc);
    cs_corpus_free(&texts);
}
