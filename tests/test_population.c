/* analysis/measures/population: both estimates against all pairs of events of tiny corpora, bits
 * for any number of threads, and languages whose matrix is known: independent words and a Markov
 * chain. */
#include "analysis/measures/population.h"
#include "document_pairs.h"
#include "plan/spec.h"
#include "small_corpus.h"
#include "test.h"

static cs_cooc_options options_of(const char *spec, const char *context, bool given,
                                  int64_t max_length)
{
    cs_cooc_options o = {.threads = 1, .max_length = max_length, .stride = max_length > 0};
    OK(cs_objective_parse(spec, &o.objective));
    OK(cs_context_parse(context, &o.context));
    o.context.given = given;
    return o;
}

/* --- all pairs of events ---------------------------------------------------------------------- */

enum { DOCUMENTS = 31, VOCAB = 6 };

static cs_corpus tiny_corpus(void)
{
    cs_rng rng = cs_rng_at(4, CS_STREAM_TEST, 1);
    ARRAY(int64_t, length, DOCUMENTS, d, 1 + cs_rng_below(&rng, 7));
    return small_corpus(DOCUMENTS, length, VOCAB, 2, 12);
}

/* P_G of the documents that are not left out, and what `corrected` multiplies its square by. */
static void marginals(const document_events *e, const uint8_t *part, double *p, double *ratio)
{
    double all = 0, apart = 0, pairs[VOCAB] = {0};
    memset(p, 0, VOCAB * sizeof *p);
    for (int64_t i = 0; i < e->count; ++i) {
        if (part[e->document[i]] != CS_LEFT_OUT) {
            p[e->token[i]] += e->weight[i];
            all += e->weight[i];
        }
    }
    for (int64_t i = 0; i < e->count; ++i) {
        for (int64_t j = 0; j < e->count; ++j) {
            const bool kept = part[e->document[i]] != CS_LEFT_OUT &&
                              part[e->document[j]] != CS_LEFT_OUT &&
                              e->document[i] != e->document[j];
            apart += kept ? e->weight[i] * e->weight[j] : 0;
            pairs[e->token[i]] +=
                kept && e->token[i] == e->token[j] ? e->weight[i] * e->weight[j] : 0;
        }
    }
    for (int v = 0; v < VOCAB; ++v) {
        p[v] /= all;
        ratio[v] = pairs[v] > 0 ? p[v] * p[v] / (pairs[v] / apart) : 0;
    }
}

static double product(const double *a, const double *b, const double *f)
{
    return SUM(e, 0, VOCAB * VOCAB, (f ? f[e / VOCAB] * f[e % VOCAB] : 1) * a[e] * b[e]);
}

static double trace(const double *a, const double *f)
{
    return SUM(v, 0, VOCAB, (f ? f[v] : 1) * a[v * VOCAB + v]);
}

static void assert_close(double got, double want, double size)
{
    if (!(fabs(got - want) <= 1e-11 * fmax(size, fabs(want)))) {
        print_error("got %.17g, want %.17g\n", got, want);
    }
    assert_true(fabs(got - want) <= 1e-11 * fmax(size, fabs(want)));
}

static void assert_eigenvalues(const double *symmetric, double divisor, const double *got)
{
    double value[VOCAB];
    AUTO_OK(cs_dense, a, cs_dense_init(&a, VOCAB, VOCAB));
    for (int e = 0; e < VOCAB * VOCAB; ++e) {
        a.data[e % VOCAB + e / VOCAB * a.ld] = symmetric[e] / divisor;
    }
    OK(cs_dense_eigh(&a, value, true));
    assert_each(j, 0, CS_LEADING,
                j < VOCAB ? fabs(got[j] - value[VOCAB - 1 - j]) < 1e-8 : isnan(got[j]));
}

static void compare(const cs_corpus *corpus, cs_cooc_options o, const uint8_t *part)
{
    /* folds 0 .. 7, all seven balanced halves (a Hadamard matrix), and pairs of quarters */
    static const unsigned half[7] = {0x55, 0x33, 0x99, 0x0f, 0xa5, 0xc3, 0x69};
    static const unsigned quarters[3][2] = {{3, 12}, {5, 10}, {9, 6}};
    uint8_t quarter[DOCUMENTS];
    const document_events e = events_of(corpus, &o);
    double p[VOCAB], ratio[VOCAB], scale[VOCAB], a[VOCAB * VOCAB], b[VOCAB * VOCAB],
        q[VOCAB * VOCAB];
    double sum4 = 0, corrected4 = 0, halves = 0, folds2 = 0, folds4 = 0;
    CS_AUTO(cs_population_counts) counts = {0};
    cs_population got = {0};
    marginals(&e, part, p, ratio);
    for (int v = 0; v < VOCAB; ++v) {
        scale[v] = p[v] > 0 ? 1 / sqrt(p[v]) : 0;
    }
    for (int d = 0; d < DOCUMENTS; ++d) {
        quarter[d] = part[d] == CS_LEFT_OUT ? CS_LEFT_OUT : part[d] / 2;
    }
    cs_pair_options pairs = {.part = part, .scale = scale};
    for (int i = 0; i < 7; ++i) {
        pairs.chosen = half[i];
        double seen_a = pairs_by_events(&e, &pairs, VOCAB, a);
        pairs.chosen = 0xff & ~half[i];
        double seen_b = pairs_by_events(&e, &pairs, VOCAB, b);
        sum4 += product(a, b, NULL) / (seen_a * seen_b) / 7;
        corrected4 += product(a, b, ratio) / (seen_a * seen_b) / 7;
        halves += (seen_a + seen_b) / 14;
    }
    memset(q, 0, sizeof q);
    for (int i = 0; i < 3; ++i) {
        const cs_pair_options of = {.part = quarter,
                                    .between = CS_PAIRS_OF_PARTS,
                                    .chosen = quarters[i][0],
                                    .weight = 8,
                                    .scale = scale};
        cs_pair_options other = of;
        other.chosen = quarters[i][1];
        (void)pairs_by_events(&e, &of, VOCAB, a);
        (void)pairs_by_events(&e, &other, VOCAB, b);
        folds2 += (trace(a, NULL) + trace(b, NULL)) / 6;
        folds4 += product(a, b, NULL) / 3;
        for (int j = 0; j < VOCAB * VOCAB; ++j) {
            q[j] += (a[j] + b[j]) / 6;
        }
    }
    const cs_population_options measured = {.leading = true, .threads = 1};
    OK(cs_population_count(corpus, &o, &counts));
    OK(cs_population_of(&counts, part, &measured, &got));
    pairs.chosen = 0xff;
    const double seen = pairs_by_events(&e, &pairs, VOCAB, a);
    assert_close(got.seen, seen, 1);
    assert_close(got.seen_halves, halves, 1);
    assert_close(got.distinct.sum_sigma2, trace(a, NULL) / seen, 1);
    assert_close(got.corrected2, trace(a, ratio) / seen, 1);
    assert_close(got.distinct.sum_sigma4, sum4, 1);
    assert_close(got.corrected4, corrected4, 1);
    assert_close(got.cross_fit.sum_sigma2, folds2, 1);
    assert_close(got.cross_fit.sum_sigma4, folds4, 1);
    assert_eigenvalues(a, seen, got.distinct.lambda);
    assert_eigenvalues(q, 1, got.cross_fit.lambda);
}

TEST(estimates_are_those_of_all_pairs_of_events)
{
    CS_AUTO(cs_corpus) corpus = tiny_corpus();
    ARRAY(uint8_t, part, DOCUMENTS, d, d % 8 == 5 ? CS_LEFT_OUT : (uint8_t)(d * 3 % 8));
    compare(&corpus, options_of("ar", "all", false, 3), part);
    compare(&corpus, options_of("masked:unmasked=2", "all", false, 3), part);
    compare(&corpus, options_of("masked:unmasked=2", "all", true, 3), part);
    compare(&corpus, options_of("diverse-ar:t=2", "nearest:1", true, 0), part);
}

/* --- synthetic languages --- */

enum { STATES = 4, WINDOW = 3, WINDOWS = STATES * STATES * STATES };

/* A chain of STATES states, the start from its stationary distribution. */
typedef struct {
    double start[STATES], next[STATES][STATES];
} language;

static int draw(cs_rng *rng, const double *p)
{
    double left = cs_rng_uniform(rng);
    int s = 0;
    for (; s + 1 < STATES && left >= p[s]; ++s) {
        left -= p[s];
    }
    return s;
}

static void stationary(language *l)
{
    for (int step = 0; step < 2000; ++step) {
        double next[STATES] = {0};
        for (int e = 0; e < STATES * STATES; ++e) {
            next[e % STATES] += l->start[e / STATES] * l->next[e / STATES][e % STATES];
        }
        memcpy(l->start, next, sizeof next);
    }
}

static cs_corpus corpus_of(const language *l, int64_t documents, int64_t tokens, uint64_t seed)
{
    ARRAY(int64_t, length, documents, d, tokens);
    cs_corpus c = small_corpus(documents, length, STATES, 0, 1);
    for (int64_t d = 0; d < documents; ++d) {
        cs_rng rng = cs_rng_at(seed, CS_STREAM_TEST, (uint64_t)d);
        for (int64_t i = c.doc_ptr[d]; i < c.doc_ptr[d + 1]; ++i) {
            c.token[i] = draw(&rng, i == c.doc_ptr[d] ? l->start : l->next[c.token[i - 1]]);
        }
    }
    return c;
}

/* sum sigma^2 and sum sigma^4 of the language's own matrix: every window, its probability, and the
 * events of one half-masked objective (one of three tokens shown) or of `ar`, by hand. */
static void truth(const language *l, bool masked, bool given, double *sum2, double *sum4)
{
    /* a row: which positions are shown, their tokens, the target; a column: its token */
    enum { ROWS = 8 * WINDOWS * 4 };
    double *a = test_zeros((int64_t)ROWS * STATES, sizeof *a), column[STATES] = {0};
    double gram[STATES][STATES] = {{0}};
    *sum2 = *sum4 = 0;
    for (int w = 0; w < WINDOWS; ++w) {
        const int x[WINDOW] = {w % STATES, w / STATES % STATES, w / STATES / STATES};
        const double p = l->start[x[0]] * l->next[x[0]][x[1]] * l->next[x[1]][x[2]];
        for (int shown = 1; shown < 8; ++shown) {
            for (int k = 0; k < WINDOW; ++k) {
                const bool event =
                    masked ? (shown == 1 || shown == 2 || shown == 4) && !(shown >> k & 1)
                           : k > 0 && shown == (1 << k) - 1;
                int row = shown;
                for (int i = 0; i < WINDOW; ++i) {
                    row = row * STATES + (shown >> i & 1 ? x[i] : 0);
                }
                row = row * 4 + (given ? k : 0);
                a[row * STATES + x[k]] += event ? p / (masked ? 6 : 2) : 0;
            }
        }
    }
    for (int e = 0; e < ROWS * STATES; ++e) {
        column[e % STATES] += a[e];
    }
    for (int r = 0; r < ROWS; ++r) {
        double mass = SUM(u, 0, STATES, a[r * STATES + u]);
        for (int e = 0; e < STATES * STATES && mass > 0; ++e) {
            const int u = e / STATES, v = e % STATES;
            gram[u][v] +=
                a[r * STATES + u] * a[r * STATES + v] / mass / sqrt(column[u] * column[v]);
        }
    }
    *sum2 +=
        SUM(e, 0, STATES * STATES, e / STATES == e % STATES ? gram[e / STATES][e % STATES] : 0);
    *sum4 +=
        SUM(e, 0, STATES * STATES, gram[e / STATES][e % STATES] * gram[e / STATES][e % STATES]);
}

/* Means over corpora lie within four of their standard errors of the truth, the cross-fit below it.
 */
static void assert_unbiased(const language *l, const char *spec, bool given, int64_t documents)
{
    enum { CORPORA = 60 };
    double sum2, sum4, mean[4] = {0}, square[4] = {0};
    cs_cooc_options o = options_of(spec, "all", given, WINDOW);
    truth(l, spec[0] == 'm', given, &sum2, &sum4);
    for (uint64_t i = 0; i < CORPORA; ++i) {
        CS_AUTO(cs_corpus) corpus = corpus_of(l, documents, 5, 100 + i);
        uint8_t *part = test_zeros(documents, 1);
        cs_population got = {0};
        const cs_population_options measured = {.threads = 1};
        for (int64_t d = 0; d < documents; ++d) {
            part[d] = (uint8_t)(d % CS_FOLDS);
        }
        AUTO_OK(cs_population_counts, counts, cs_population_count(&corpus, &o, &counts));
        OK(cs_population_of(&counts, part, &measured, &got));
        const double value[4] = {got.corrected2, got.corrected4, got.cross_fit.sum_sigma4,
                                 got.seen};
        for (int j = 0; j < 4; ++j) {
            mean[j] += value[j] / CORPORA;
            square[j] += value[j] * value[j] / CORPORA;
        }
    }
    for (int j = 0; j < 2; ++j) {
        const double error = sqrt((square[j] - mean[j] * mean[j]) / CORPORA);
        assert_true(error < 0.02);
        if (!(fabs(mean[j] - (j ? sum4 : sum2)) < 4 * error)) {
            print_error("%s: mean %g +- %g, truth %g, seen %g\n", spec, mean[j], error,
                        j ? sum4 : sum2, mean[3]);
        }
        assert_true(fabs(mean[j] - (j ? sum4 : sum2)) < 4 * error);
    }
    assert_true(mean[2] < sum4 && mean[3] > 0.9);
}

static language independent(void)
{
    language l = {.start = {0.4, 0.3, 0.2, 0.1}};
    for (int s = 0; s < STATES; ++s) {
        memcpy(l.next[s], l.start, sizeof l.start);
    }
    return l;
}

TEST(independent_words_have_1)
{
    const language l = independent();
    double sum2, sum4;
    truth(&l, false, false, &sum2, &sum4);
    assert_true(fabs(sum2 - 1) < 1e-12 && fabs(sum4 - 1) < 1e-12);
    assert_unbiased(&l, "ar", false, 60);
    assert_unbiased(&l, "masked:unmasked=1", true, 60);
}

TEST(a_chain_has_its_own_matrix)
{
    language l = {.start = {0.25, 0.25, 0.25, 0.25},
                  .next = {{0.7, 0.1, 0.1, 0.1},
                           {0.1, 0.1, 0.7, 0.1},
                           {0.2, 0.2, 0.2, 0.4},
                           {0.25, 0.5, 0.15, 0.1}}};
    stationary(&l);
    assert_unbiased(&l, "ar", false, 400);
    assert_unbiased(&l, "masked:unmasked=1", false, 400);
    assert_unbiased(&l, "masked:unmasked=1", true, 400);
}

/* --- the rest --------------------------------------------------------------------------------- */

TEST(bits_do_not_depend_on_threads)
{
    language l = independent();
    CS_AUTO(cs_corpus) corpus = corpus_of(&l, 200, 12, 5);
    cs_cooc_options o = options_of("masked:unmasked=2", "all", false, 4);
    cs_population one = {0}, other = {0};
    ARRAY(uint8_t, part, 200, d, d % CS_FOLDS);
    for (int threads = 1; threads < 4; threads += 2) {
        const cs_population_options measured = {.threads = threads};
        o.threads = threads;
        AUTO_OK(cs_population_counts, counts, cs_population_count(&corpus, &o, &counts));
        OK(cs_population_of(&counts, part, &measured, threads == 1 ? &one : &other));
    }
    for (int j = 0; j < CS_LEADING; ++j) { /* not requested */
        assert_true(isnan(one.distinct.lambda[j]) && isnan(other.cross_fit.lambda[j]));
    }
    assert_true(one.corrected4 == other.corrected4 && one.corrected2 == other.corrected2);
    assert_true(one.distinct.sum_sigma4 == other.distinct.sum_sigma4 &&
                one.cross_fit.sum_sigma4 == other.cross_fit.sum_sigma4);
}

/* No context is in two documents: nothing is seen, and nothing is said. */
TEST(contexts_of_one_document_say_nothing)
{
    CS_AUTO(cs_corpus) corpus = tiny_corpus();
    cs_cooc_options o = options_of("ar", "document", false, 0);
    cs_population got = {0};
    ARRAY(uint8_t, part, DOCUMENTS, d, d % CS_FOLDS);
    const cs_population_options measured = {.leading = true, .threads = 1};
    AUTO_OK(cs_population_counts, counts, cs_population_count(&corpus, &o, &counts));
    OK(cs_population_of(&counts, part, &measured, &got));
    assert_true(got.seen == 0 && got.seen_halves == 0 && isnan(got.distinct.sum_sigma2) &&
                isnan(got.distinct.sum_sigma4) && isnan(got.corrected4) &&
                isnan(got.distinct.lambda[0]));
    assert_true(got.cross_fit.sum_sigma2 == 0 && got.cross_fit.sum_sigma4 == 0);
}
