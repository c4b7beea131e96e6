/* The population of a synthetic language: its matrices against those of a corpus that has each text
 * in proportion to its probability, closed forms, and the limits of sampled matrices. */
#include "analysis/measures/population_rows.h"
#include "cooc/store.h"
#include "cooc_compare.h"
#include "corpus_support.h"
#include "io_support.h"
#include "plan/spec.h"
#include "synthetic_support.h"

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
    cs_cooc cooc = {0};
    AUTO_OK(cs_corpus, population,
            cs_synthetic_population_of(source, options->max_length, options->stride, &population));
    OK(cs_cooc_build(&population, options, &cooc));
    return cooc;
}

/* A text of four tokens has a multiple of 2^-9 for its probability: of its class 2^-1, of its start at
 * least 2^-1, of a step 2^-1 and of a word 2^-1. */
enum { LENGTH = 4, COPIES = 512 };
static const char dyadic[] = "{\"classes\": [{\"initial\": [1, 0], \"transition\": [[0.5, 0.5], "
                             "[1, 0]], \"emission\": [[0.5, 0.5, 0], [0, 0, 1]]},{\"initial\": "
                             "[0.5, 0.5], \"transition\": [[0, 1], [0.5, 0.5]], \"emission\": [[1, "
                             "0, 0], [0, 0.5, 0.5]]}]}";

static const char *dyadic_source(void **state)
{
    static char source[256];
    (void)snprintf(source, sizeof source, "hmm:length=%d,file=%s", LENGTH,
                   put(state, "dyadic.json", dyadic));
    return source;
}

/* Every text COPIES times its probability. */
static cs_corpus in_proportion(const char *source)
{
    cs_corpus c = {.documents = COPIES, .tokens = COPIES * LENGTH, .vocab = 4, .labels = 2};
    AUTO_OK(cs_synthetic, language, cs_synthetic_parse(source, &language));
    c.doc_ptr = test_zeros(COPIES + 1, sizeof *c.doc_ptr);
    c.token = test_zeros(COPIES * LENGTH, sizeof *c.token);
    c.label = test_zeros(COPIES, sizeof *c.label);
    int64_t at = 0;
    for (int32_t t = 0; t < 2 * 81; ++t) {
        const int32_t word[] = {t % 3, t / 3 % 3, t / 9 % 3, t / 27 % 3}, label = t / 81;
        const double copies = path_probability(&language, label, 0, LENGTH, word) / 2 * COPIES;
        assert_true(copies == floor(copies));
        for (int i = 0; i < (int)copies; ++i, ++at) {
            c.label[at] = label;
            c.doc_ptr[at + 1] = (at + 1) * LENGTH;
            for (int k = 0; k < LENGTH; ++k) {
                c.token[at * LENGTH + k] = word[k] + 1;
            }
        }
    }
    assert_int_equal(at, COPIES);
    return c;
}

static void assert_proportional(const cs_csr *a, const cs_csr *b)
{
    assert_true(a->rows == b->rows && a->cols == b->cols && cs_csr_nnz(a) == cs_csr_nnz(b));
    double of_a = SUM(e, 0, cs_csr_nnz(a), a->val[e]);
    double of_b = SUM(e, 0, cs_csr_nnz(a), b->val[e]);
    assert_each(i, 0, a->rows, a->ptr[i + 1] == b->ptr[i + 1]);
    assert_each(e, 0, cs_csr_nnz(a), a->col[e] == b->col[e]);
    assert_each(e, 0, cs_csr_nnz(a), fabs(a->val[e] / of_a - (b->val[e] / of_b)) <= 1e-15);
}

/* The same rows, entries and class masses. A unit is 2^-61 of the whole, and an entry takes fewer
 * than a thousand units. */
static void assert_population(const char *source, const cs_corpus *corpus, const cs_cooc_options *o)
{
    CS_AUTO(cs_cooc) a = population_of(source, o), b = {0};
    OK(cs_cooc_build(corpus, o, &b));
    assert_proportional(&a.matrix.a, &b.matrix.a);
    assert_proportional(&a.matrix.row_label, &b.matrix.row_label);
    assert_proportional(&a.matrix.col_label, &b.matrix.col_label);
    assert_memory_equal(a.key, b.key, (size_t)a.matrix.a.rows * sizeof *a.key);
    assert_true(!a.exact);
    assert_near(a.mass + a.dropped_mass,
                (b.mass + b.dropped_mass) / (double)(b.sequences + b.skipped_sequences), 1e-14);
}

/* Objectives and contexts in every way that builds go, windows and weights. */
TEST_IN_DIR(populations_are_texts_in_proportion)
{
    enum { SPECS = 9, CONTEXTS = 5 };
    static const char *const specs[SPECS] = {"ar",
                                             "masked:unmasked=1",
                                             "variable-masked:unmasked=1:2",
                                             "diverse-ar:t=2",
                                             "permuted-ar",
                                             "group-ar:t=2",
                                             "ar:empty-prefix=class",
                                             "permuted-ar:empty-prefix=shared",
                                             "mix:0.25*ar+0.75*masked(unmasked=2)"};
    static const char *const contexts[CONTEXTS] = {"all", "nearest:1", "nearest:2", "each:2",
                                                   "unique"};
    const char *source = dyadic_source(state);
    cs_corpus corpus = in_proportion(source);
    for (int i = 0; i < SPECS * CONTEXTS * 2 * 3; ++i) {
        const int way = i / (2 * SPECS * CONTEXTS);
        cs_cooc_options o =
            options_of("ar", contexts[i / SPECS % CONTEXTS], i / (SPECS * CONTEXTS) % 2);
        AUTO_OK(cs_plan_file, parts,
                cs_objective_parse_held(specs[i % SPECS], &parts, &o.objective));
        o.max_length = way == 0 ? 0 : 3;
        o.stride = way == 1;
        o.weight_by_document = way == 2;
        assert_population(source, &corpus, &o);
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
    CS_AUTO(cs_cooc) cooc = population_of(source, o);
    AUTO_OK(cs_population_rows, rows,
            cs_population_rows_of_matrix(&cooc.matrix.a, &spectrum, &rows));
    const double value = metric_of(&rows, metric, "plug-in");
    return value;
}

/* Independent words: one singular value, and H(X+ | X) = H(X+). */
TEST(independent_words_have_one_singular_value)
{
    static const char *const specs[] = {"ar", "masked:unmasked=2", "permuted-ar"};
    const char *source = "markov:order=0,concentration=inf,states=5";
    double sum = 0, entropy = 0;
    ARRAY(double, p, 5, v, 1 / (v + 2.0));
    sum += SUM(v, 0, 5, p[v]);
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
                   "{\"classes\": [{\"transition\": [[%.17g, %.17g], [%.17g, %.17g]]}]}", stay,
                   1 - stay, 1 - stay, stay);
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

/* H(X+ | X) of whole prefixes is the language's entropy of the documents, in the mean over all of
 * them. */
TEST(entropy_is_the_mean_score)
{
    const char *source = "hmm:states=3,words=3,classes=2,concentration=0.5,length=4";
    cs_cooc_options o = options_of("ar", "all", false);
    CS_AUTO(cs_corpus) one = loaded("hmm:states=3,words=3,length=4,documents=1,classes=2", NULL);
    double mean = 0;
    AUTO_OK(cs_synthetic, language, cs_synthetic_parse(source, &language));
    one.held_out[0] = 0;
    for (int32_t t = 0; t < 2 * 81; ++t) {
        const int32_t word[] = {t % 3, t / 3 % 3, t / 9 % 3, t / 27 % 3};
        cs_synthetic_score score = {0};
        for (int k = 0; k < LENGTH; ++k) {
            one.token[k] = word[k] + 1;
        }
        OK(cs_synthetic_score_of(&language, &one, false, &score));
        mean += path_probability(&language, t / 81, 0, LENGTH, word) / 2 * score.next;
    }
    assert_near(measured(source, &o, "conditional_entropy"), mean, 1e-12);
}

/* Every context seen once, at a length that no text is listed of: sigma^2 = kappa + (1 - kappa) c with
 * kappa = 1 / n of n masked tokens and c the mean of lambda^|k - l| over pairs (refinement-and-kernel.md). */
TEST_IN_DIR(long_documents_need_no_texts)
{
    enum { S = 40, SHOWN = 30 };
    const double q = 0.8, lambda = 2 * q - 1, kappa = 1.0 / (S - SHOWN);
    char source[300];
    (void)snprintf(source, sizeof source, "%s,length=%d", symmetric(state, q), S);
    double c = SUM(d, 1, S, 2.0 * (S - d) / (S * (S - 1.0)) * pow(lambda, d));
    const double sigma2 = kappa + (1 - kappa) * c;
    cs_cooc_options o = options_of("masked:unmasked=30", "unique", false);
    assert_near(measured(source, &o, "sum_sigma2"), 1 + sigma2, 1e-12);
    assert_near(measured(source, &o, "sigma_2"), sqrt(sigma2), 1e-10);
    cs_cooc_options ar = options_of("ar", "nearest:1", false);
    assert_near(measured(source, &ar, "sum_sigma4"), 1 + pow(lambda, 4), 1e-12);
}

TEST(what_is_no_matrix_is_refused)
{
    CS_AUTO(cs_corpus) c = {0};
    cs_cooc cooc = {0};
    cs_cooc_options document = options_of("ar", "document", false),
                    all = options_of("ar", "all", false);
    assert_fails(cs_synthetic_population_of("wordnet", 0, 0, &c), CS_ERR_USAGE,
                 "wordnet: expected a synthetic");
    OK(cs_synthetic_population_of("markov:states=40,length=7", 0, 0, &c));
    assert_fails(cs_cooc_build(&c, &document, &cooc), CS_ERR_USAGE,
                 "no documents that could be rows");
    assert_fails(
        cs_cooc_build(&c, &all, &cooc), CS_ERR_INPUT,
        "length=7: 1.68e+11 contributions from all words, but at most 4.3e+09 are supported");
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
    double mean = 0;
    CS_AUTO(cs_cooc) truth =
        population_of("markov:states=4,classes=2,length=4,concentration=0.5", &o);
    double squares =
        SUM(e, 0, cs_csr_nnz(&truth.matrix.a), pow(truth.matrix.a.val[e] / truth.mass, 2));
    for (int i = 0; i < SAMPLES; ++i) {
        (void)snprintf(
            source, sizeof source,
            "markov:states=4,classes=2,length=4,concentration=0.5,documents=%d,sample=%d", N, i);
        CS_AUTO(cs_corpus) corpus = loaded(source, NULL);
        AUTO_OK(cs_cooc, cooc, cs_cooc_build(&corpus, &o, &cooc));
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
    }
    assert_near(mean / (1.0 / 3 - squares), 1, 0.1);
}

/* Documents of a synthetic language have rows of the truth after their own, unless its texts are
 * too many. */
TEST(estimates_are_listed_with_the_truth)
{
    static const char *const source = "markov:states=6,length=8,documents=60,concentration=0.3";
    cs_population_plan plan = {
        .build = options_of("ar", "all", false), .spectrum = {.threads = 1}, .seed = 1};
    CS_AUTO(cs_corpus) corpus = loaded(source, NULL);
    CS_AUTO_FREE char *why = NULL;
    plan.build.max_length = 4;
    plan.build.stride = 1;
    plan.build.split = CS_SPLIT_TRAIN;
    AUTO_OK(cs_population_rows, rows, cs_population_rows_of(&corpus, &plan, &rows));
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
    assert_non_null(strstr(why, "its words are not those of the synthetic language"));
}

/* Any threads and any memory make the same bits. */
TEST(threads_and_memory_change_nothing)
{
    const char *source = "hmm:states=5,words=12,classes=2,length=5";
    cs_cooc_options one = options_of("masked:unmasked=2", "all", true), two = one;
    two.threads = 3;
    two.memory_budget = 1 << 20;
    CS_AUTO(cs_cooc) a = population_of(source, &one), b = population_of(source, &two);
    assert_true(b.runs > a.runs);
    b.runs = a.runs;
    assert_same_cooc(&a, &b);
}

/* Stored and read again, a text for each row, which its witness leads to: a row that did not lead to
 * its key would be refused. */
TEST_IN_DIR(a_stored_population_is_read_again)
{
    static const struct {
        const char *spec, *context;
        bool given;
    } kinds[] = {{"masked:unmasked=2", "all", true},
                 {"masked:unmasked=2", "all", false},
                 {"ar", "nearest:3", false},
                 {"variable-masked:unmasked=1:3", "nearest:2", false},
                 {"permuted-ar", "each:2", true},
                 {"masked:unmasked=1", "each:1", false},
                 {"ar", "unique", false}};
    const char *source = dyadic_source(state);
    for (int i = 0; i < 7; ++i) {
        cs_cooc_options o = options_of(kinds[i].spec, kinds[i].context, kinds[i].given);
        AUTO_OK(cs_corpus, population, cs_synthetic_population_of(source, 0, 0, &population));
        AUTO_OK(cs_cooc, cooc, cs_cooc_build(&population, &o, &cooc));
        OK(cs_cooc_write(in_dir(state, "m"), &population, &o, &cooc, false, true));
        AUTO_OK(cs_cooc_store, store, cs_cooc_read(in_dir(state, "m"), &store));
        assert_same_csr(&store.cooc.matrix.a, &cooc.matrix.a);
        assert_int_equal(store.corpus.documents, cooc.matrix.a.rows);
        for (int64_t r = 0; r < cooc.matrix.a.rows; ++r) {
            CS_AUTO_FREE char *text = NULL;
            OK(cs_cooc_row_text(&store, r, &text));
            assert_true(text[0] != '\0');
        }
    }
}

static cs_cooc_options small_build;

static cs_status build_small(const char *path)
{
    CS_AUTO(cs_corpus) population = {0};
    CS_AUTO(cs_cooc) cooc = {0};
    cs_status status = cs_synthetic_population_of(path, 0, 0, &population);
    if (status == CS_OK) status = cs_cooc_build(&population, &small_build, &cooc);
    return status;
}

TEST(memory_that_fails_is_reported)
{
    small_build = options_of("masked:unmasked=1", "all", false);
    small_build.memory_budget = 1 << 20;
    fail_each_allocation(build_small, "markov:states=2,classes=2,length=3");
}
