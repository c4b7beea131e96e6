/* probe and ridge: leave-one-out against refits, the fold-in against a row's own features,
 * baselines by hand, held-out documents that resemble their class are found, bad input. */
#include "analysis/measures/ridge_private.h"
#include "analysis/measures/spectral_probe.h"
#include "analysis/measures/spectral_probe_private.h"
#include "io/json.h"
#include "small_corpus.h"
#include "test.h"

enum { ROWS = 24, FEATURES = 3, CLASSES = 3 };

static void random_rows(uint64_t seed, int64_t rows, cs_dense *x, int32_t *label)
{
    cs_rng rng = cs_rng_at(seed, CS_STREAM_TEST, 0);
    OK(cs_dense_init(x, rows, FEATURES));
    for (int64_t i = 0; i < rows; ++i) {
        label[i] = (int32_t)(i % CLASSES);
        for (int64_t j = 0; j < FEATURES; ++j) {
            x->data[i + j * x->ld] = cs_rng_normal(&rng) + (label[i] == j ? 1.5 : 0) + 10;
        }
    }
}

/* The normal equations of ridge at a given penalty on given z, solved by elimination. */
static void solve(double a[FEATURES][FEATURES + 1])
{
    for (int p = 0; p < FEATURES; ++p) {
        for (int i = 0; i < FEATURES; ++i) {
            double factor = i == p ? 0 : a[i][p] / a[p][p];
            for (int j = p; j <= FEATURES; ++j) {
                a[i][j] -= factor * a[p][j];
            }
        }
    }
    for (int p = 0; p < FEATURES; ++p) {
        a[p][FEATURES] /= a[p][p];
    }
}

/* Squared error on row `out` of the fit without it: standardised features kept as they are, the
 * intercept fitted anew and unpenalised, as the closed form assumes. */
static double refit_error(const cs_ridge *r, const cs_dense *x, const int32_t *label, int64_t rows,
                          int64_t out)
{
    double error = 0, mean[FEATURES] = {0};
    const double n = (double)rows - 1;
    for (int64_t i = 0; i < rows; ++i) {
        for (int j = 0; j < FEATURES; ++j) {
            mean[j] += i == out ? 0 : (x->data[i + j * x->ld] - r->mean[j]) * r->scale[j] / n;
        }
    }
    for (int32_t c = 0; c < CLASSES; ++c) {
        double a[FEATURES][FEATURES + 1] = {{0}}, bar = 0;
        bar += SUM(i, 0, rows, i != out && label[i] == c ? 1 / n : 0);
        for (int64_t i = 0; i < rows; ++i) {
            for (int j = 0; i != out && j < FEATURES; ++j) {
                double z = (x->data[i + j * x->ld] - r->mean[j]) * r->scale[j] - mean[j];
                for (int k = 0; k < FEATURES; ++k) {
                    a[j][k] += z * ((x->data[i + k * x->ld] - r->mean[k]) * r->scale[k] - mean[k]);
                }
                a[j][FEATURES] += z * ((label[i] == c) - bar);
            }
        }
        for (int j = 0; j < FEATURES; ++j) {
            a[j][j] += r->penalty;
        }
        solve(a);
        double guess = bar;
        for (int j = 0; j < FEATURES; ++j) {
            double z = (x->data[out + j * x->ld] - r->mean[j]) * r->scale[j] - mean[j];
            guess += z * a[j][FEATURES];
        }
        error += ((label[out] == c) - guess) * ((label[out] == c) - guess);
    }
    return error;
}

TEST(leave_one_out_is_that_of_refits)
{
    int32_t label[ROWS];
    CS_AUTO(cs_dense) x = {0};
    random_rows(3, ROWS, &x, label);
    AUTO_OK(cs_ridge, r, cs_ridge_fit(&x, label, CLASSES, &r));
    double sum = SUM(i, 0, ROWS, refit_error(&r, &x, label, ROWS, i) / ROWS);
    assert_true(fabs(sum - r.loo) < 1e-10 * r.loo);
}

/* Shifting and scaling features changes no prediction; a constant and a missing row do no harm. */
TEST(features_may_be_shifted_constant_or_missing)
{
    int32_t label[ROWS];
    CS_AUTO(cs_dense) x = {0}, y = {0};
    random_rows(4, ROWS, &x, label);
    OK(cs_dense_init(&y, ROWS, FEATURES + 1));
    for (int64_t i = 0; i < ROWS; ++i) {
        for (int64_t j = 0; j < FEATURES; ++j) {
            y.data[i + j * y.ld] = 1e3 * x.data[i + j * x.ld] - 7;
        }
        y.data[i + FEATURES * y.ld] = 42;
    }
    AUTO_OK(cs_ridge, a, cs_ridge_fit(&x, label, CLASSES, &a));
    AUTO_OK(cs_ridge, b, cs_ridge_fit(&y, label, CLASSES, &b));
    assert_true(fabs(a.loo - b.loo) < 1e-9);
    assert_each(i, 0, ROWS, cs_ridge_predict(&a, &x, i) == cs_ridge_predict(&b, &y, i));
    y.data[0] = NAN;
    cs_ridge_free(&b);
    OK(cs_ridge_fit(&y, label, CLASSES, &b));
    assert_in_range(cs_ridge_predict(&b, &y, 0), 0, CLASSES - 1);
}

TEST(bad_rows_are_refused)
{
    int32_t label[ROWS];
    CS_AUTO(cs_dense) x = {0};
    cs_ridge r = {0};
    random_rows(5, ROWS, &x, label);
    label[7] = CLASSES;
    assert_int_equal(cs_ridge_fit(&x, label, CLASSES, &r), CS_ERR_INPUT);
    assert_string_equal(cs_reason(), "row 7: label 3 is not in 0..2");
    cs_reason_clear();
    label[7] = 0;
    for (int64_t i = 1; i < ROWS; ++i) {
        x.data[i] = NAN;
    }
    assert_fails(cs_ridge_fit(&x, label, CLASSES, &r), CS_ERR_INPUT, "1 training row has");
}

/* --- documents ------------------------------------------------------------------------------ */

enum { DOCUMENTS = 150, VOCAB = 30 };

typedef struct {
    cs_corpus corpus;
    cs_cooc_options options;
    cs_cooc cooc;
    cs_spectrum spectrum;
} setting;

/* Documents whose tokens come from their class' third of the vocabulary with probability `own`. */
static void set_up(double own, cs_split split, const char *context, setting *s)
{
    ARRAY(int64_t, length, DOCUMENTS, d, 4 + d % 6);
    *s = (setting){.corpus = small_corpus(DOCUMENTS, length, VOCAB, CLASSES, 1)};
    cs_rng rng = cs_rng_at(2, CS_STREAM_TEST, 0);
    for (int64_t d = 0; d < DOCUMENTS; ++d) {
        for (int64_t p = s->corpus.doc_ptr[d]; p < s->corpus.doc_ptr[d + 1]; ++p) {
            int64_t block =
                cs_rng_uniform(&rng) < own ? s->corpus.label[d] : cs_rng_below(&rng, CLASSES);
            s->corpus.token[p] =
                (int32_t)(block * VOCAB / CLASSES + cs_rng_below(&rng, VOCAB / CLASSES));
        }
    }
    s->options = (cs_cooc_options){.objective = cs_objective_default(CS_OBJ_MASKED),
                                   .split = split,
                                   .memory_budget = 1 << 24,
                                   .threads = 1};
    s->options.objective.mask_ratio_lo = s->options.objective.mask_ratio_hi = 0.5;
    OK(cs_context_parse(context, &s->options.context));
    OK(cs_cooc_build(&s->corpus, &s->options, &s->cooc));
    cs_spectrum_options o = {.k = 8, .seed = 1, .threads = 1};
    OK(cs_spectrum_of(&s->cooc.matrix.a, &o, &s->spectrum));
}

static void tear_down(setting *s)
{
    cs_spectrum_free(&s->spectrum);
    cs_cooc_free(&s->cooc);
    cs_corpus_free(&s->corpus);
}

static cs_status probe(const setting *s, int threads, cs_spectral_probe_result *r)
{
    return cs_spectral_probe(&s->corpus, &s->options, &s->cooc, &s->spectrum, 0, threads, r);
}

TEST(held_out_documents_are_classified)
{
    CS_AUTO_BY(tear_down, setting) s = {0};
    cs_spectral_probe_result r;
    set_up(0.8, CS_SPLIT_TRAIN, "each:3", &s);
    OK(probe(&s, 1, &r));
    assert_true(r.test_documents == DOCUMENTS / 5);
    assert_true(r.train_documents == DOCUMENTS - DOCUMENTS / 5);
    assert_true(r.majority.accuracy < 0.5);
    assert_true(r.bayes.accuracy > 0.8);
    assert_true(r.tokens.accuracy > 0.8);
    assert_true(r.contexts.accuracy > 0.8);
    assert_true(r.unknown_tokens == 0 && r.featureless == 0);
    double p = r.tokens.accuracy;
    assert_true(fabs(r.tokens.se - sqrt(p * (1 - p) / (double)r.test_documents)) < 1e-15);

    cs_result *result = cs_result_new();
    json_t *json = NULL, *probe = NULL;
    cs_spectral_probe_record(&r, cs_result_root(result));
    OK(cs_result_json(result, &json));
    probe = json_object_get(json, "probe");
    assert_true(json_real_value(json_object_get(json_object_get(probe, "tokens"), "accuracy")) ==
                p);
    json_decref(json);
    AUTO_OK(cs_table, table, cs_result_table(result, &cs_spectral_probe_view, &table));
    cs_result_free(&result);
    assert_string_equal(table.cell[0], "majority");
}

/* Tokens that say nothing of the class: chance, within five standard errors. */
TEST(noise_is_not_classified)
{
    CS_AUTO_BY(tear_down, setting) s = {0};
    cs_spectral_probe_result r;
    set_up(0, CS_SPLIT_TRAIN, "each:3", &s);
    OK(probe(&s, 1, &r));
    double se = sqrt(2.0 / 9 / (double)r.test_documents);
    assert_true(fabs(r.tokens.accuracy - 1.0 / 3) < 5 * se);
    assert_true(fabs(r.contexts.accuracy - 1.0 / 3) < 5 * se);
}

/* Whole contexts with positions hardly ever recur: the share of unknown ones says so. */
TEST(unknown_contexts_are_counted)
{
    CS_AUTO_BY(tear_down, setting) s = {0};
    cs_spectral_probe_result r;
    set_up(0.5, CS_SPLIT_TRAIN, "nearest:3", &s);
    OK(probe(&s, 1, &r));
    assert_true(r.unknown_contexts > 0.5 && r.unknown_contexts <= 1);
    tear_down(&s);
    set_up(0.5, CS_SPLIT_TRAIN, "document", &s); /* no held-out document is a row */
    OK(probe(&s, 1, &r));
    assert_true(r.unknown_contexts == 1);
    assert_true(r.featureless == r.test_documents);
}

/* Under `document` the row of X holds P(token | X) of the predicted tokens; a mask that takes every
 * position alike predicts each token in proportion, so folding in by tokens gives the row's own
 * feature: Abar v / (sigma sqrt(P_C)) = u / sqrt(P_C). */
TEST(folding_in_a_training_document_gives_its_row)
{
    CS_AUTO_BY(tear_down, setting) s = {0};
    set_up(0.5, CS_SPLIT_TRAIN, "document", &s);
    cs_spectral_source source = {&s.corpus, &s.options, &s.cooc, &s.spectrum, s.spectrum.k, 1};
    const int64_t document[] = {0, 1, 2, 3, 5, 6};
    enum { COUNT = sizeof document / sizeof *document };
    double unknown;
    int64_t none;
    AUTO_OK(cs_dense, x, cs_spectral_token_features(&source, COUNT, document, &x, &unknown));
    assert_true(unknown == 0);
    AUTO_OK(cs_dense, y,
            cs_spectral_context_features(&source, CS_SPLIT_TRAIN, COUNT, document, &y, &unknown,
                                         &none));
    assert_true(fabs(unknown) < 1e-12 && none == 0);
    for (int64_t i = 0; i < COUNT; ++i) {
        assert_each(j, 0, s.spectrum.k, fabs(x.data[i + j * x.ld] - y.data[i + j * y.ld]) < 1e-8);
    }
}

TEST(threads_do_not_matter)
{
    CS_AUTO_BY(tear_down, setting) s = {0};
    cs_spectral_probe_result a, b;
    set_up(0.6, CS_SPLIT_TRAIN, "each:2", &s);
    OK(probe(&s, 1, &a));
    OK(probe(&s, 4, &b));
    assert_true(a.tokens.loo == b.tokens.loo && a.contexts.loo == b.contexts.loo);
    assert_true(a.unknown_contexts == b.unknown_contexts);
}

TEST(bad_input_is_refused)
{
    CS_AUTO_BY(tear_down, setting) s = {0};
    cs_spectral_probe_result r;
    set_up(0.5, CS_SPLIT_ALL, "each:2", &s);
    assert_fails(probe(&s, 1, &r), CS_ERR_USAGE, "--split train");
    tear_down(&s);

    set_up(0.5, CS_SPLIT_TRAIN, "each:2", &s);
    assert_fails(cs_spectral_probe(&s.corpus, &s.options, &s.cooc, &s.spectrum, 99, 1, &r),
                 CS_ERR_USAGE, "99 features are not possible with 8 triplets");
    memset(s.corpus.held_out, 0, DOCUMENTS);
    assert_fails(probe(&s, 1, &r), CS_ERR_INPUT,
                 "small has no labelled documents in its test split");
    int64_t labels = s.corpus.labels;
    s.corpus.labels = 0;
    assert_fails(probe(&s, 1, &r), CS_ERR_INPUT, "has no labels");
    s.corpus.labels = labels;
    s.spectrum.input.rows += 1;
    assert_int_equal(probe(&s, 1, &r), CS_ERR_USAGE);
    cs_reason_clear();
    s.spectrum.input.rows -= 1;
}

TEST(every_allocation_may_fail)
{
    CS_AUTO_BY(tear_down, setting) s = {0};
    set_up(0.5, CS_SPLIT_TRAIN, "each:2", &s);
    cs_spectral_probe_result r;
    EACH_ALLOCATION_FAILS(n)
        (void)out_of_memory(probe(&s, 1, &r));
}
