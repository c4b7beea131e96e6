/* analysis/measures/language: eigenpairs, sums, tails and errors against all pairs of events of a tiny
 * corpus, the density against its eigenvalues, and whether a corpus is large enough for them. */
#include "analysis/measures/estimable.h"
#include "analysis/measures/language.h"
#include "document_pairs.h"
#include "io/json.h"
#include "plan/spec.h"
#include "small_corpus.h"
#include "stats/jackknife.h"
#include "stats/moderated.h"
#include "test.h"

enum { DOCUMENTS = 40, VOCAB = 9, BLOCKS = 4, K = 3 };

static cs_corpus corpus_of(void)
{
    cs_rng rng = cs_rng_at(4, CS_STREAM_TEST, 3);
    ARRAY(int64_t, length, DOCUMENTS, d, 3 + cs_rng_below(&rng, 7));
    return small_corpus(DOCUMENTS, length, VOCAB, 2, 12);
}

static cs_cooc_options build_of(const char *context)
{
    cs_cooc_options o = {.threads = 1, .max_length = 3, .stride = 1};
    OK(cs_objective_parse("ar", &o.objective));
    OK(cs_context_parse(context, &o.context));
    return o;
}

/* The r-th document of the order is in fold r mod 8 and block r mod B
 * (analysis/measures/population_rows.h). All documents have events. */
static void choose(uint64_t seed, int block, uint8_t *part)
{
    int32_t order[DOCUMENTS];
    cs_rng rng = cs_rng_at(seed, CS_STREAM_SPLIT, 0);
    cs_rng_permutation(&rng, DOCUMENTS, order);
    for (int d = 0; d < DOCUMENTS; ++d) {
        const int of = order[d] / (DOCUMENTS >= 8 * BLOCKS ? 8 : 1) % BLOCKS;
        part[d] = of == block ? CS_LEFT_OUT : (uint8_t)(order[d] % 8);
    }
}

/* Q as a mean over the six pairs of quarters, each by all pairs of events. */
static void mean_of_quarters(const document_events *e, const uint8_t *part, const double *scale,
                             double *q)
{
    double pairs[VOCAB * VOCAB];
    memset(q, 0, sizeof pairs);
    ARRAY(uint8_t, quarter, DOCUMENTS, d, part[d] == CS_LEFT_OUT ? CS_LEFT_OUT : part[d] / 2);
    for (int f = 0; f < 4; ++f) {
        for (int g = f + 1; g < 4; ++g) {
            const cs_pair_options o = {.part = quarter,
                                       .between = CS_PAIRS_OF_PARTS,
                                       .chosen = 1u << f | 1u << g,
                                       .weight = 8,
                                       .scale = scale};
            (void)pairs_by_events(e, &o, VOCAB, pairs);
            for (int i = 0; i < VOCAB * VOCAB; ++i) {
                q[i] += pairs[i] / 6;
            }
        }
    }
}

/* M / m or Q by all pairs of events, and its eigenvalues, descending; returns m. */
static double spectrum_of(cs_population_estimate estimate, const document_events *e,
                          const uint8_t *part, cs_dense *m, double *value)
{
    double p[VOCAB] = {0}, all = 0, pairs[VOCAB * VOCAB], up[VOCAB];
    for (int64_t i = 0; i < e->count; ++i) {
        const double w = part[e->document[i]] == CS_LEFT_OUT ? 0 : e->weight[i];
        p[e->token[i]] += w;
        all += w;
    }
    ARRAY(double, scale, VOCAB, v, p[v] > 0 ? sqrt(all / p[v]) : 0);
    const cs_pair_options o = {.part = part, .chosen = 0xff, .scale = scale};
    const double seen = estimate == CS_DISTINCT_DOCUMENT ? pairs_by_events(e, &o, VOCAB, pairs) : 1;
    if (estimate == CS_CROSS_FIT) mean_of_quarters(e, part, scale, pairs);
    OK(cs_dense_init(m, VOCAB, VOCAB));
    AUTO_OK(cs_dense, copy, cs_dense_init(&copy, VOCAB, VOCAB));
    for (int i = 0; i < VOCAB * VOCAB; ++i) {
        m->data[i % VOCAB + i / VOCAB * m->ld] = pairs[i] / seen;
        copy.data[i % VOCAB + i / VOCAB * copy.ld] = pairs[i] / seen;
    }
    OK(cs_dense_eigh(&copy, up, true));
    for (int j = 0; j < VOCAB; ++j) {
        value[j] = up[VOCAB - 1 - j];
    }
    return seen;
}

static void compare(cs_population_estimate estimate)
{
    CS_AUTO(cs_corpus) corpus = corpus_of();
    const cs_cooc_options build = build_of("all");
    const bool distinct = estimate == CS_DISTINCT_DOCUMENT;
    const cs_language_options o = {
        .estimate = estimate, .k = K, .blocks = BLOCKS, .seed = 7, .threads = 1};
    const document_events e = events_of(&corpus, &build);
    double value[VOCAB], one[VOCAB], lambda2[BLOCKS], tail1[BLOCKS], low, high;
    uint8_t part[DOCUMENTS];
    CS_AUTO(cs_dense) m = {0};
    const cs_population_options sums = {.threads = 1};
    cs_population p = {0};
    AUTO_OK(cs_language, l, cs_language_of(&corpus, &build, &o, &l));
    AUTO_OK(cs_population_counts, counts, cs_population_count(&corpus, &build, &counts));
    choose(7, -1, part);
    const double seen = spectrum_of(estimate, &e, part, &m, value);
    OK(cs_population_of(&counts, part, &sums, &p));
    const double *sum4 = distinct ? &p.distinct.sum_sigma4 : &p.cross_fit.sum_sigma4;
    double trace = SUM(v, 0, VOCAB, value[v]);
    assert_int_equal(l.documents, DOCUMENTS);
    assert_true(!distinct || fabs(l.seen.value - seen) < 1e-12);
    assert_true(l.seen.value > 0 && l.seen.value <= 1);
    assert_true(fabs(l.sum4.value - *sum4) < 1e-11 && fabs(l.sum2.value - trace) < 1e-9);
    for (int j = 0; j < K; ++j) {
        double square = 0, norm = 0;
        assert_true(fabs(l.lambda[j].value - value[j]) < 1e-8);
        for (int i = 0; i < VOCAB; ++i) {
            double product = SUM(u, 0, VOCAB, m.data[i + u * m.ld] * l.v.data[u + j * l.v.ld]);
            const double off = product - value[j] * l.v.data[i + j * l.v.ld];
            square += off * off;
            norm += l.v.data[i + j * l.v.ld] * l.v.data[i + j * l.v.ld];
        }
        assert_true(sqrt(square) < 1e-7 && l.residual[j] < 1e-7 && fabs(norm - 1) < 1e-10);
    }
    assert_true(fabs(l.tail[2].value - (*sum4 - value[0] * value[0] - value[1] * value[1])) < 1e-7);
    for (int b = 0; b < BLOCKS; ++b) {
        CS_AUTO(cs_dense) part_m = {0};
        choose(7, b, part);
        (void)spectrum_of(estimate, &e, part, &part_m, one);
        OK(cs_population_of(&counts, part, &sums, &p));
        lambda2[b] = one[1];
        tail1[b] = *sum4 - one[0] * one[0];
    }
    assert_true(fabs(l.lambda[1].se - cs_jackknife_error(BLOCKS, lambda2, 1)) < 1e-7);
    assert_true(fabs(l.tail[1].se - cs_jackknife_error(BLOCKS, tail1, 1)) < 1e-7);
    /* Plain and corrected by hand; of the lower end what noise up to less the last eigenvalue leaves. */
    double mean = 0, noise = fmax(0, -value[VOCAB - 1]);
    mean += SUM(b, 0, BLOCKS, lambda2[b] / BLOCKS);
    const double width = l.lambda[1].se * cs_student_width(0.95, BLOCKS - 1),
                 center = BLOCKS * value[1] - (BLOCKS - 1) * mean;
    low = fmin(center, value[1]) - width;
    high = fmax(center, value[1]) + width;
    low = low <= noise ? 0 : (low + sqrt(low * low - noise * noise)) / 2;
    if (distinct) {
        assert_true(fabs(l.lambda[1].low - low) < 1e-6 && fabs(l.lambda[1].high - high) < 1e-6);
        assert_true(l.tail[2].low >= 0 && l.tail[2].low <= fmax(0, l.tail[2].value) &&
                    l.tail[2].high >= l.tail[2].value + value[1] * value[1] - low * low - 1e-6);
    } else {
        assert_true(isnan(l.lambda[1].low) && isnan(l.tail[2].high) && l.lambda[1].se > 0);
    }
}

TEST(eigenpairs_and_errors_are_those_of_all_pairs)
{
    compare(CS_DISTINCT_DOCUMENT);
    compare(CS_CROSS_FIT);
}

/* With more steps than there are eigenvalues every sample's measure is exact, so that the bounds of
 * counts meet up to sampling; each interval (99.99%) holds the count of the eigenvalues. */
TEST(counts_of_the_density_hold_the_eigenvalues)
{
    CS_AUTO(cs_corpus) corpus = corpus_of();
    const cs_cooc_options build = build_of("nearest:1");
    const cs_language_options o = {.k = 1, .seed = 7, .threads = 1};
    const cs_spectrum_density_options d = {.samples = 400,
                                           .degree = 12,
                                           .bins = 40,
                                           .level = 0.9999,
                                           .spectrum = {.seed = 1, .threads = 1}};
    uint8_t part[DOCUMENTS];
    double value[VOCAB], sum = 0, square = 0, negative = 0;
    CS_AUTO(cs_dense) m = {0};
    json_t *json = NULL, *point;
    size_t i;
    AUTO_OK(cs_language, l, cs_language_of(&corpus, &build, &o, &l));
    const document_events e = events_of(&corpus, &build);
    choose(7, -1, part);
    (void)spectrum_of(CS_DISTINCT_DOCUMENT, &e, part, &m, value);
    cs_result *result = cs_result_new();
    OK(cs_language_density(&l, &d, cs_result_root(result)));
    OK(cs_result_json(result, &json));
    cs_result_free(&result);
    for (int j = 0; j < VOCAB; ++j) {
        sum += value[j];
        square += value[j] * value[j];
        negative = fmin(negative, value[j]);
    }
    assert_true(fabs(json_real_value(json_object_get(json, "sum_lambda")) - sum) < 1e-10);
    assert_true(fabs(json_real_value(json_object_get(json, "sum_lambda2")) - square) < 1e-10);
    assert_true(negative < -1e-3 && -json_real_value(json_object_get(json, "shift")) <= negative);
    json_array_foreach(json_object_get(json, "curve"), i, point)
    {
        const double x = json_number_value(json_object_get(point, "lambda")),
                     low = json_number_value(json_object_get(point, "above_low")),
                     high = json_number_value(json_object_get(point, "above_high"));
        int above = 0;
        bool near = false; /* to an eigenvalue, where the count is not defined to rounding */
        for (int j = 0; j < VOCAB; ++j) {
            above += value[j] > x;
            near = near || fabs(value[j] - x) < 1e-6;
        }
        if (!near && !(low - 1e-6 <= above && above <= high + 1e-6)) {
            print_error("above %g: %d, %g .. %g\n", x, above, low, high);
        }
        assert_true(near || (low - 1e-6 <= above && above <= high + 1e-6));
    }
    assert_int_equal(i, 41);
    json_decref(json);
}

TEST(what_says_nothing_is_refused)
{
    CS_AUTO(cs_corpus) corpus = corpus_of();
    cs_language l = {0};
    cs_cooc_options build = build_of("unique");
    cs_language_options o = {.k = 2, .threads = 1};
    assert_fails(cs_language_of(&corpus, &build, &o, &l), CS_ERR_USAGE, "all different");
    build = build_of("all");
    o.k = 1000;
    assert_fails(cs_language_of(&corpus, &build, &o, &l), CS_ERR_USAGE, "1000 eigenvalues");
    o.k = 2;
    o.blocks = 1;
    assert_fails(cs_language_of(&corpus, &build, &o, &l), CS_ERR_USAGE, "1 jackknife block:");
    o.blocks = 0;
    build = build_of("document");
    build.max_length = build.stride = 0;
    assert_fails(cs_language_of(&corpus, &build, &o, &l), CS_ERR_INPUT, "two documents");
}

/* A corpus that passes every check. */
static cs_estimable_input good(void)
{
    return (cs_estimable_input){.documents = 1000,
                                .seen = 0.8,
                                .seen_halves = 0.7,
                                .sigma_1 = 1.02,
                                .low = 3,
                                .high = 5,
                                .cross_fit = 2,
                                .plug_in = 9};
}

TEST(each_check_fails_alone)
{
    cs_estimable_input in = good();
    cs_estimable e = cs_estimable_of(&in);
    assert_true(e.all && e.seen && e.leading && e.interval && e.order && e.documents == 1000);
    in.seen = 0.125, in.seen_halves = 0.0625; /* proportional: four times as many */
    e = cs_estimable_of(&in);
    assert_true(!e.all && !e.seen && e.leading && e.interval && e.order);
    assert_float_equal(e.documents, 4000, 1e-9);
    in = good(), in.sigma_1 = 2; /* an excess of 3 falls to 1 */
    e = cs_estimable_of(&in);
    assert_true(!e.all && !e.leading && e.seen);
    assert_float_equal(e.documents, 3000, 1e-9);
    in = good(), in.low = 1, in.high = 16; /* a factor of 4 around the middle, and 2 is wanted */
    e = cs_estimable_of(&in);
    assert_true(!e.all && !e.interval && e.leading);
    assert_float_equal(e.documents, 4000, 1e-9);
    in = good(), in.cross_fit = 6;
    e = cs_estimable_of(&in);
    assert_true(!e.all && !e.order && isnan(e.documents));
    in = good(), in.plug_in = 2;
    e = cs_estimable_of(&in);
    assert_true(!e.all && !e.order && isnan(e.documents));
}

TEST(what_is_not_known_contradicts_nothing)
{
    cs_estimable_input in = good();
    in.sigma_1 = in.low = in.high = in.cross_fit = in.plug_in = NAN;
    assert_true(cs_estimable_of(&in).all);
    in.seen = NAN; /* except the mass seen, which is always counted */
    assert_false(cs_estimable_of(&in).all);
    in.seen = in.seen_halves = 0;
    assert_true(!cs_estimable_of(&in).all && isnan(cs_estimable_of(&in).documents));
    in.seen = in.seen_halves = 0.3; /* it does not grow */
    assert_true(isnan(cs_estimable_of(&in).documents));
}
