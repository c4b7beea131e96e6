/* analysis/measures/population_rows: values, intervals and sizes against corpora chosen by hand, the
 * null against a corpus shuffled by hand. */
#include "analysis/measures/population_rows.h"
#include "plan/spec.h"
#include "small_corpus.h"
#include "stats/jackknife.h"
#include "stats/moderated.h"
#include "test.h"

enum { DOCUMENTS = 60, VOCAB = 12, BLOCKS = 5 };

/* Two of the documents are too short for an event. */
static cs_corpus corpus_of(void)
{
    cs_rng rng = cs_rng_at(4, CS_STREAM_TEST, 1);
    ARRAY(int64_t, length, DOCUMENTS, d, d == 7 || d == 30 ? 1 : 4 + cs_rng_below(&rng, 9));
    return small_corpus(DOCUMENTS, length, VOCAB, 2, 12);
}

static cs_population_plan plan_of(int64_t blocks)
{
    cs_population_plan p = {.build = {.threads = 1, .max_length = 3, .stride = 1},
                            .spectrum = {.k = 8},
                            .blocks = blocks,
                            .seed = 9};
    OK(cs_objective_parse("ar", &p.build.objective));
    OK(cs_context_parse("all", &p.build.context));
    return p;
}

/* The one row. */
static const cs_population_row *row_of(const cs_population_rows *rows, const char *metric,
                                       const char *estimate, int64_t documents)
{
    const cs_population_row *found = NULL;
    for (int64_t i = 0; i < rows->count; ++i) {
        const cs_population_row *r = &rows->row[i];
        if (strcmp(r->metric, metric) == 0 && strcmp(r->estimate, estimate) == 0 &&
            r->documents == documents) {
            assert_null(found);
            found = r;
        }
    }
    if (!found) {
        print_error("no row %s of %s\n", metric, estimate);
    }
    assert_non_null(found);
    return found;
}

/* Ranks of documents, as the header says. */
static void ranks(uint64_t seed, int64_t *rank)
{
    int32_t order[DOCUMENTS];
    cs_rng rng = cs_rng_at(seed, CS_STREAM_SPLIT, 0);
    cs_rng_permutation(&rng, DOCUMENTS, order);
    for (int64_t d = 0; d < DOCUMENTS; ++d) {
        rank[d] = order[d];
    }
}

static void fold(const int64_t *rank, int64_t first, int64_t size, int block, uint8_t *part)
{
    for (int d = 0; d < DOCUMENTS; ++d) {
        const bool in = rank[d] >= first && rank[d] < first + size &&
                        (block < 0 || rank[d] / (size < 8 * BLOCKS ? 1 : 8) % BLOCKS != block);
        part[d] = in ? (uint8_t)(rank[d] % 8) : CS_LEFT_OUT;
    }
}

static void assert_close(double got, double want)
{
    if (!(fabs(got - want) <= 1e-10 * fmax(1, fabs(want)))) {
        print_error("got %.17g, want %.17g\n", got, want);
    }
    assert_true(fabs(got - want) <= 1e-10 * fmax(1, fabs(want)));
}

enum { SUM4, CORRECTED2, CORRECTED4, SUM2, SEEN, CROSS4, PLUG2, GAP, DRIFT2, DRIFT4, LEFT, COUNT };

/* Numbers of the documents with events that part[] keeps; those of the matrix from a corpus of them.
 */
static void numbers(const cs_corpus *corpus, const cs_population_plan *plan,
                    const cs_population_counts *counts, const uint8_t *part, double *out)
{
    cs_population p = {0};
    CS_AUTO(cs_corpus) selected = {0};
    CS_AUTO(cs_cooc) built = {0};
    CS_AUTO(cs_connectivity) c = {0};
    uint8_t keep[DOCUMENTS];
    const cs_population_options o = {.threads = 1};
    const cs_population_options held = {.threads = 1, .least = 4};
    OK(cs_population_of(counts, part, &held, &p));
    out[DRIFT2] = p.corrected2;
    out[DRIFT4] = p.corrected4;
    out[LEFT] = p.seen;
    OK(cs_population_of(counts, part, &o, &p));
    out[DRIFT2] -= p.corrected2;
    out[DRIFT4] -= p.corrected4;
    for (int d = 0; d < DOCUMENTS; ++d) {
        keep[d] = part[d] != CS_LEFT_OUT;
    }
    OK(cs_corpus_select(corpus, keep, &selected));
    OK(cs_cooc_build(&selected, &plan->build, &built));
    OK(cs_connectivity_of(&built.matrix.a, &plan->spectrum, &c));
    out[SUM2] = p.distinct.sum_sigma2;
    out[SUM4] = p.distinct.sum_sigma4;
    out[CORRECTED2] = p.corrected2;
    out[CORRECTED4] = p.corrected4;
    out[SEEN] = p.seen_halves;
    out[CROSS4] = p.cross_fit.sum_sigma4;
    out[PLUG2] = c.spectrum.moments.sum_sigma2;
    out[GAP] = c.gap;
}

/* Rows of a corpus, and its numbers from all documents and without each block. */
typedef struct {
    cs_population_rows rows;
    double all[COUNT], without[BLOCKS][COUNT];
} blocked;

static void blocked_of(bool hold_back, blocked *out)
{
    CS_AUTO(cs_corpus) corpus = corpus_of();
    cs_population_plan plan = plan_of(BLOCKS);
    int64_t rank[DOCUMENTS];
    uint8_t part[DOCUMENTS];
    *out = (blocked){0};
    plan.hold_back = hold_back;
    OK(cs_population_rows_of(&corpus, &plan, &out->rows));
    AUTO_OK(cs_population_counts, counts, cs_population_count(&corpus, &plan.build, &counts));
    ranks(plan.seed, rank);
    for (int b = -1; b < BLOCKS; ++b) {
        fold(rank, 0, DOCUMENTS, b, part);
        numbers(&corpus, &plan, &counts, part, b < 0 ? out->all : out->without[b]);
    }
}

TEST(intervals_leave_blocks_out)
{
    blocked s;
    blocked_of(false, &s);
    const double *all = s.all;
    const int64_t n = DOCUMENTS;
    double low, high;
    const cs_population_row *r = row_of(&s.rows, "sum_sigma4", "distinct-document", n);
    assert_close(r->value, all[SUM4]);
    assert_close(r->se, cs_jackknife_error(BLOCKS, &s.without[0][SUM4], COUNT));
    cs_jackknife_interval(BLOCKS, all[CORRECTED4], &s.without[0][CORRECTED4], COUNT, true, &low,
                          &high);
    assert_close(r->low, low);
    assert_close(r->high, high);
    assert_int_equal(r->blocks, BLOCKS);
    r = row_of(&s.rows, "sum_sigma2", "distinct-document", n);
    assert_close(r->value, all[SUM2]);
    cs_jackknife_interval(BLOCKS, all[CORRECTED2], &s.without[0][CORRECTED2], COUNT, true, &low,
                          &high);
    assert_close(r->low, low);
    r = row_of(&s.rows, "mass_seen_halves", "distinct-document", n);
    assert_close(r->value, all[SEEN]);
    const char *const metric[] = {"sum_sigma4", "sum_sigma2", "gap"};
    const char *const estimate[] = {"cross-fit", "plug-in", "plug-in"};
    const int number[] = {CROSS4, PLUG2, GAP};
    for (int i = 0; i < 3; ++i) {
        r = row_of(&s.rows, metric[i], estimate[i], n);
        const double se = cs_jackknife_error(BLOCKS, &s.without[0][number[i]], COUNT);
        assert_close(r->value, all[number[i]]);
        assert_close(r->se, se);
        assert_close(r->high - r->low, 2 * cs_student_width(0.95, BLOCKS - 1) * se);
        assert_close(r->high + r->low, 2 * all[number[i]]);
    }
    r = row_of(&s.rows, "components", "plug-in", n);
    assert_true(r->value >= 1 && isnan(r->se) && isnan(r->low) && r->blocks == 0);
    cs_population_rows_free(&s.rows);
}

/* Drifts are differences, with blocks; a corrected number has its own interval and blocks. */
TEST(rows_with_the_number_without_each_block)
{
    blocked s;
    blocked_of(true, &s);
    const double *all = s.all;
    const int64_t n = DOCUMENTS;
    double left_out[BLOCKS];
    static const char *const metric[] = {"sum_sigma2_drift_4", "sum_sigma4_drift_4", "mass_seen_4",
                                         "sum_sigma4"};
    const int number[] = {DRIFT2, DRIFT4, LEFT, SUM4};
    for (int i = 0; i < 4; ++i) {
        const cs_population_row *r = row_of(&s.rows, metric[i], "distinct-document", n);
        assert_close(r->value, all[number[i]]);
        assert_close(r->se, cs_jackknife_error(BLOCKS, &s.without[0][number[i]], COUNT));
        for (int b = 0; b < BLOCKS; ++b) {
            assert_close(r->left_out[b], s.without[b][number[i]]);
        }
    }
    assert_true(all[DRIFT2] != 0 && all[LEFT] < 0.95);
    const cs_population_row *sum = row_of(&s.rows, "sum_sigma4", "distinct-document", n),
                            *r = row_of(&s.rows, "sum_sigma4_corrected", "distinct-document", n);
    assert_close(r->value,
                 cs_jackknife_corrected(BLOCKS, all[CORRECTED4], &s.without[0][CORRECTED4], COUNT,
                                        true, left_out));
    assert_close(r->value * r->value, sum->low * sum->high);
    assert_true(r->low == sum->low && r->high == sum->high);
    for (int b = 0; b < BLOCKS; ++b) {
        assert_close(r->left_out[b], left_out[b]);
    }
    assert_close(r->se, cs_jackknife_error(BLOCKS, left_out, 1));
    cs_population_rows_free(&s.rows);
}

/* Rows of an objective with the target position given; as_blind: `blind`, contexts of the blind one, says
 * all. */
static bool given_rows(const cs_corpus *corpus, const char *objective, int64_t blind,
                       cs_population_rows *out)
{
    cs_population_plan plan = plan_of(BLOCKS);
    OK(cs_objective_parse(objective, &plan.build.objective));
    plan.build.context.given = true;
    plan.blind = blind;
    OK(cs_population_rows_of(corpus, &plan, out));
    return out->as_blind;
}

static int64_t blind_rows(const cs_corpus *corpus, const char *objective, cs_population_rows *out)
{
    cs_population_plan plan = plan_of(BLOCKS);
    OK(cs_objective_parse(objective, &plan.build.objective));
    OK(cs_population_rows_of(corpus, &plan, out));
    assert_false(out->as_blind);
    return (int64_t)row_of(out, "rows", "plug-in", DOCUMENTS)->value;
}

/* Where a blind context has one target position all numbers are those with it given; where not, even
 * one context more is measured. */
TEST(given_positions_that_blind_contexts_have)
{
    CS_AUTO(cs_corpus) corpus = corpus_of();
    CS_AUTO(cs_population_rows) blind = {0}, given = {0}, none = {0}, other = {0};
    const int64_t contexts = blind_rows(&corpus, "ar", &blind);
    assert_false(given_rows(&corpus, "ar", 0, &given));
    assert_true(given_rows(&corpus, "ar", contexts, &none));
    assert_int_equal(none.count, 0);
    assert_int_equal(given.count, blind.count);
    for (int64_t i = 0; i < blind.count; ++i) {
        const cs_population_row *x = &blind.row[i], *y = &given.row[i];
        assert_string_equal(x->metric, y->metric);
        assert_true(isnan(x->value) == isnan(y->value) && isnan(x->low) == isnan(y->low));
        if (!isnan(x->value)) assert_close(y->value, x->value);
        if (!isnan(x->low)) assert_close(y->low, x->low);
        if (!isnan(x->high)) assert_close(y->high, x->high);
    }
    cs_population_rows_free(&blind);
    cs_population_rows_free(&given);
    const int64_t divided = blind_rows(&corpus, "diverse-ar(t=2)", &blind);
    assert_false(given_rows(&corpus, "diverse-ar(t=2)", divided, &given));
    assert_true(row_of(&given, "rows", "plug-in", DOCUMENTS)->value > (double)divided);
    assert_false(given_rows(&corpus, "ar", contexts - 1, &other));
}

TEST(sizes_are_means_over_disjoint_corpora)
{
    CS_AUTO(cs_corpus) corpus = corpus_of();
    cs_population_plan plan = plan_of(BLOCKS);
    int64_t rank[DOCUMENTS];
    uint8_t part[DOCUMENTS];
    double half[2][COUNT], all[COUNT];
    const int64_t n = DOCUMENTS;
    plan.sizes = 6;
    AUTO_OK(cs_population_rows, rows, cs_population_rows_of(&corpus, &plan, &rows));
    AUTO_OK(cs_population_counts, counts, cs_population_count(&corpus, &plan.build, &counts));
    ranks(plan.seed, rank);
    for (int i = 0; i < 2; ++i) {
        fold(rank, i * (n / 2), n / 2, -1, part);
        numbers(&corpus, &plan, &counts, part, half[i]);
    }
    fold(rank, 0, n, -1, part);
    numbers(&corpus, &plan, &counts, part, all);
    assert_close(row_of(&rows, "sum_sigma4", "distinct-document", n / 2)->value,
                 (half[0][SUM4] + half[1][SUM4]) / 2);
    assert_close(row_of(&rows, "sum_sigma2", "plug-in", n / 2)->value,
                 (half[0][PLUG2] + half[1][PLUG2]) / 2);
    const double seen = (half[0][SEEN] + half[1][SEEN]) / 2,
                 value = (half[0][CORRECTED4] + half[1][CORRECTED4]) / 2;
    const cs_population_row *r = row_of(&rows, "sum_sigma4_extrapolated", "distinct-document", n);
    /* what is beyond adds to the sum m x as what came with the second half */
    const double slope = (all[SEEN] * all[CORRECTED4] - seen * value) / (all[SEEN] - seen);
    assert_close(r->value, all[SEEN] * all[CORRECTED4] + slope * (1 - all[SEEN]));
    assert_true(r->se > 0 && r->low < r->value && r->value < r->high);
    for (int64_t i = 0; i < rows.count; ++i) { /* 60, 30, 15, 7: of 3 there are fewer than blocks */
        assert_true(rows.row[i].documents >= 7);
    }
    (void)row_of(&rows, "mass_seen", "distinct-document", 7);
}

/* Three words, each in all documents: half of these have met every context of one word, and masses
 * seen differ from 1 and from each other by rounding alone, whatever their quotient. */
TEST(nothing_unseen_leaves_nothing_to_extrapolate)
{
    ARRAY(int64_t, length, DOCUMENTS, d, 60 + d);
    CS_AUTO(cs_corpus) corpus = small_corpus(DOCUMENTS, length, 3, 2, 12);
    cs_population_plan plan = plan_of(BLOCKS);
    plan.build.max_length = 2;
    plan.sizes = 1;
    AUTO_OK(cs_population_rows, rows, cs_population_rows_of(&corpus, &plan, &rows));
    assert_close(row_of(&rows, "mass_seen", "distinct-document", DOCUMENTS / 2)->value, 1);
    static const char *const sum[] = {"sum_sigma2", "sum_sigma4"};
    for (int i = 0; i < 2; ++i) {
        char corrected[32], extrapolated[32];
        (void)snprintf(corrected, sizeof corrected, "%s_corrected", sum[i]);
        (void)snprintf(extrapolated, sizeof extrapolated, "%s_extrapolated", sum[i]);
        const cs_population_row *r = row_of(&rows, extrapolated, "distinct-document", DOCUMENTS);
        assert_true(
            fabs(r->value / row_of(&rows, corrected, "distinct-document", DOCUMENTS)->value - 1) <
            0.05);
        assert_true(r->low < r->value && r->value < r->high && r->high - r->low < 1);
    }
}

/* The tokens of all documents are shuffled by (seed, i); without intervals the values are those of
 * the corpus that this gives. */
TEST(the_null_is_a_shuffled_corpus)
{
    cs_corpus corpus = corpus_of(), shuffled = corpus;
    cs_population_plan plan = plan_of(0);
    double sum[3] = {0}, corrected[3], mean = 0, square = 0;
    plan.shuffles = 3;
    AUTO_OK(cs_population_rows, null, cs_population_null(&corpus, &plan, &null));
    int32_t *token = test_zeros(corpus.tokens, sizeof *token);
    shuffled.token = token;
    for (uint64_t i = 0; i < 3; ++i) {
        cs_rng rng = cs_rng_at(plan.seed, CS_STREAM_NULL, i);
        int64_t rank[DOCUMENTS];
        uint8_t part[DOCUMENTS];
        double got[COUNT];
        memcpy(token, corpus.token, (size_t)corpus.tokens * sizeof *token);
        cs_rng_shuffle(&rng, corpus.tokens, token);
        AUTO_OK(cs_population_counts, counts, cs_population_count(&shuffled, &plan.build, &counts));
        ranks(plan.seed, rank);
        fold(rank, 0, DOCUMENTS, -1, part);
        numbers(&shuffled, &plan, &counts, part, got);
        sum[0] += got[SUM4] / 3;
        sum[1] += got[PLUG2] / 3;
        corrected[i] = got[CORRECTED4];
        mean += got[CORRECTED4] / 3;
    }
    square += SUM(i, 0, 3, (corrected[i] - mean) * (corrected[i] - mean));
    const cs_population_row *r = row_of(&null, "sum_sigma4", "distinct-document", DOCUMENTS);
    assert_close(r->value, sum[0]);
    assert_close((r->high + r->low) / 2, mean);
    assert_close((r->high - r->low) / 2,
                 cs_student_width(0.95, 2) * sqrt(square / 2) * sqrt(1 + 1.0 / 3));
    assert_close(row_of(&null, "sum_sigma2", "plug-in", DOCUMENTS)->value, sum[1]);
    assert_null(null.plug_in.spectrum.sigma);
    cs_corpus_free(&corpus);
}

TEST(numbers_of_blocks_that_do_not_exist)
{
    CS_AUTO(cs_corpus) corpus = corpus_of();
    CS_AUTO(cs_population_rows) rows = {0};
    cs_population_plan plan = plan_of(1);
    assert_fails(cs_population_rows_of(&corpus, &plan, &rows), CS_ERR_USAGE, "1 jackknife block:");
    plan.blocks = DOCUMENTS - 1;
    assert_fails(cs_population_rows_of(&corpus, &plan, &rows), CS_ERR_USAGE, "sequences, 58");
    plan.blocks = 0;
    OK(cs_population_rows_of(&corpus, &plan, &rows));
    assert_each(i, 0, rows.count,
                isnan(rows.row[i].se) && isnan(rows.row[i].low) && isnan(rows.row[i].high));
}
