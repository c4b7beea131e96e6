/* cooc/by_document: rows by (context, document), their sums, and pairs of tokens of two documents,
 * against plain loops over all pairs of events. */
#include "cooc/fold_products.h"
#include "cooc_compare.h"
#include "document_pairs.h"
#include "plan/spec.h"
#include "small_corpus.h"
#include "test.h"

enum { DOCUMENTS = 23, VOCAB = 7 };

static const struct {
    const char *spec, *context;
    int64_t max_length, stride;
    bool by_document;
} kinds[] = {{"ar", "all", 4, 1, false},
             {"masked:unmasked=2", "all", 4, 1, false},
             {"group-ar:t=2", "nearest:2", 6, 2, false},
             {"masked:mask-ratio=0.4", "each:3", 0, 0, false},
             {"permuted-ar", "all", 4, 2, true},
             {"diffusion", "document", 0, 0, true}};
enum { KINDS = sizeof kinds / sizeof *kinds };

static cs_cooc_options options_of(int kind, bool given)
{
    cs_cooc_options o = {.threads = 1,
                         .max_length = kinds[kind].max_length,
                         .stride = kinds[kind].stride,
                         .weight_by_document = kinds[kind].by_document};
    OK(cs_objective_parse(kinds[kind].spec, &o.objective));
    OK(cs_context_parse(kinds[kind].context, &o.context));
    o.context.given = given;
    return o;
}

static cs_corpus corpus_of(int64_t documents, int64_t longest)
{
    cs_rng rng = cs_rng_at(4, CS_STREAM_TEST, 1);
    ARRAY(int64_t, length, documents, d, 1 + cs_rng_below(&rng, longest));
    return small_corpus(documents, length, VOCAB, 3, 2);
}

/* Documents 0, 1, ... in folds 0 .. 3, some left out. */
static void deal(uint8_t *part, int64_t documents)
{
    for (int64_t d = 0; d < documents; ++d) {
        part[d] = d % 9 == 5 ? CS_LEFT_OUT : (uint8_t)(d * 7 % 4);
    }
}

/* The rows of all documents add up to the matrix of a build without documents, bit for bit, and
 * those of some to that of the corpus of these, however they were counted. */
TEST(rows_add_up_to_the_matrix)
{
    CS_AUTO(cs_corpus) corpus = corpus_of(DOCUMENTS, 12);
    uint8_t all[DOCUMENTS] = {0}, some[DOCUMENTS];
    deal(some, DOCUMENTS);
    ARRAY(uint8_t, keep, DOCUMENTS, d, some[d] != CS_LEFT_OUT);
    for (int k = 0; k < KINDS; ++k) {
        cs_cooc_options o = options_of(k, true), by = o;
        by.by_document = true;
        AUTO_OK(cs_corpus, selected, cs_corpus_select(&corpus, keep, &selected));
        AUTO_OK(cs_cooc, whole, cs_cooc_build(&corpus, &o, &whole));
        AUTO_OK(cs_cooc, part, cs_cooc_build(&selected, &o, &part));
        AUTO_OK(cs_cooc, rows, cs_cooc_build(&corpus, &by, &rows));
        assert_true(rows.exact == whole.exact && rows.mass == whole.mass);
        AUTO_OK(cs_csr, sums, cs_contexts_of(&rows, all, &sums));
        if (whole.exact) {
            assert_same_csr(&sums, &whole.matrix.a);
        }
        assert_int_equal(sums.rows, whole.matrix.a.rows);
        cs_csr_free(&sums);
        OK(cs_contexts_of(&rows, some, &sums));
        if (whole.exact && o.context.mode != CS_CONTEXT_DOCUMENT) { /* numbers change with them */
            assert_same_csr(&sums, &part.matrix.a);
        }
    }
}

/* Spilled runs and threads, the bits of one in memory. */
TEST(bits_do_not_depend_on_budget_or_threads)
{
    CS_AUTO(cs_corpus) corpus = corpus_of(4000, 30);
    cs_cooc_options o = options_of(0, false);
    o.by_document = true;
    o.max_length = 0;
    o.stride = 0;
    AUTO_OK(cs_cooc, one, cs_cooc_build(&corpus, &o, &one));
    o.threads = 4;
    o.memory_budget = 1 << 20;
    AUTO_OK(cs_cooc, other, cs_cooc_build(&corpus, &o, &other));
    assert_true(one.runs == 0 && other.runs > 4);
    assert_same_cooc(&one, &other);
    for (int64_t r = 0; r < one.matrix.a.rows; ++r) {
        assert_true(cs_row_document(&one.key[r]) < corpus.documents);
        if (one.matrix.labels > 0) {
            const cs_csr *l = &one.matrix.row_label;
            assert_true(l->ptr[r + 1] - l->ptr[r] == 1 && /* a document has one class */
                        l->col[l->ptr[r]] == corpus.label[cs_row_document(&one.key[r])]);
        }
    }
}

static void assert_pairs(const cs_signed_gram *p, const double *want)
{
    AUTO_OK(cs_dense, unit, cs_dense_init(&unit, VOCAB, VOCAB));
    AUTO_OK(cs_dense, got, cs_dense_init(&got, VOCAB, VOCAB));
    for (int j = 0; j < VOCAB; ++j) {
        unit.data[j + j * unit.ld] = 1;
    }
    OK(cs_signed_gram_apply(p, &unit, 1, &got));
    double largest = LARGEST(e, 0, VOCAB * VOCAB, fabs(want[e]));
    for (int e = 0; e < VOCAB * VOCAB; ++e) {
        /* some hundred terms each, on either side */
        assert_true(fabs(got.data[e % VOCAB + e / VOCAB * got.ld] - want[e]) <= 1e-12 * largest);
    }
}

TEST(pairs_are_those_of_all_events)
{
    CS_AUTO(cs_corpus) corpus = corpus_of(DOCUMENTS, 6);
    uint8_t part[DOCUMENTS];
    double want[VOCAB * VOCAB];
    deal(part, DOCUMENTS);
    ARRAY(double, scale, VOCAB, v, v == 4 ? 0 : 1 + v / 8.0);
    for (int k = 0; k < KINDS; ++k) {
        static const unsigned chosen[] = {3, 15, 12};
        cs_cooc_options o = options_of(k, k % 2 == 0);
        const document_events events = events_of(&corpus, &o);
        o.by_document = true;
        AUTO_OK(cs_cooc, rows, cs_cooc_build(&corpus, &o, &rows));
        AUTO_OK(cs_context_index, index, cs_context_index_of(&rows, &index));
        /* masses are in units of the build, which cancel but from the weight of parts */
        for (int c = 0; c < 8; ++c) {
            const cs_pair_options pairs = {.part = part,
                                           .chosen = chosen[c / 2 % 3],
                                           .least = c < 6 || c % 2 ? 0 : 4,
                                           .weight = 8,
                                           .scale = scale,
                                           .between =
                                               c % 2 ? CS_PAIRS_OF_PARTS : CS_PAIRS_OF_DOCUMENTS};
            const double seen = pairs_by_events(&events, &pairs, VOCAB, want);
            double got = NAN;
            AUTO_OK(cs_signed_gram, gram, cs_pairs_of_contexts(&rows, &index, &pairs, &gram, &got));
            if (!(c % 2)) {
                assert_true(fabs(got - seen) <= 1e-12);
            }
            assert_true(c == 6 || (got > 0) == (k < KINDS - 1)); /* of `document`, two share none */
            assert_pairs(&gram, want);
        }
    }
}

/* Documents 0, 1, ... in folds 0 .. 7, some left out. */
static void deal_folds(uint8_t *part, uint8_t *quarter, int64_t documents)
{
    for (int64_t d = 0; d < documents; ++d) {
        part[d] = d % 9 == 5 ? CS_LEFT_OUT : (uint8_t)(d * 5 % CS_FOLDS);
        quarter[d] = part[d] == CS_LEFT_OUT ? CS_LEFT_OUT : part[d] / 2;
    }
}

/* The products of two sums, each made by itself. */
static void inner_of(const cs_cooc *rows, const cs_context_index *index,
                     const cs_pair_options *pairs, const double *f, double *plain, double *scaled,
                     double *trace, double *seen)
{
    cs_signed_gram gram[2] = {{.diagonal = NULL}, {.diagonal = NULL}};
    for (int i = 0; i < 2; ++i) {
        OK(cs_pairs_of_contexts(rows, index, &pairs[i], &gram[i], &seen[i]));
        *trace += cs_signed_gram_trace(&gram[i], NULL);
    }
    OK(cs_signed_gram_inner(&gram[0], &gram[1], f, 1, plain, scaled));
    cs_signed_gram_free(&gram[0]);
    cs_signed_gram_free(&gram[1]);
}

static void assert_products(const cs_cooc *rows, const cs_context_index *index,
                            const cs_fold_options *o, const uint8_t *quarter,
                            const cs_fold_products *got)
{
    static const unsigned of[CS_PAIRINGS][2] = {{3, 12}, {5, 10}, {9, 6}};
    double trace = 0, plain, scaled, unused = 0, seen[2];
    for (int s = 1; s < CS_FOLDS; ++s) {
        cs_pair_options pairs[2];
        for (int i = 0; i < 2; ++i) {
            const unsigned half = cs_half_of_folds(s);
            pairs[i] = (cs_pair_options){.part = o->part,
                                         .chosen = i ? CS_ALL_FOLDS & ~half : half,
                                         .least = o->least,
                                         .scale = o->scale};
        }
        inner_of(rows, index, pairs, o->f, &plain, &scaled, &unused, seen);
        assert_true(fabs(got->plain[s] - plain) <= 1e-12 * fabs(plain));
        assert_true(fabs(got->scaled[s] - scaled) <= 1e-12 * fabs(scaled));
        assert_true(fabs(got->seen[s][0] - seen[0]) <= 1e-14);
        assert_true(fabs(got->seen[s][1] - seen[1]) <= 1e-14);
    }
    for (int p = 0; p < CS_PAIRINGS; ++p) {
        cs_pair_options pairs[2];
        for (int i = 0; i < 2; ++i) {
            pairs[i] = (cs_pair_options){.part = quarter,
                                         .chosen = of[p][i],
                                         .between = CS_PAIRS_OF_PARTS,
                                         .weight = 8,
                                         .scale = o->scale};
        }
        inner_of(rows, index, pairs, o->f, &plain, &scaled, &trace, seen);
        assert_true(fabs(got->pairing[p] - (o->quarters ? plain : 0)) <= 1e-12 * fabs(plain));
    }
    assert_true(fabs(got->trace - (o->quarters ? trace : 0)) <= 1e-12 * trace);
}

TEST(products_of_folds_are_those_of_their_sums)
{
    enum { MANY = 90 };
    CS_AUTO(cs_corpus) corpus = corpus_of(MANY, 9);
    uint8_t part[MANY], quarter[MANY];
    deal_folds(part, quarter, MANY);
    ARRAY(double, scale, VOCAB, v, v == 4 ? 0 : 1 + v / 8.0);
    ARRAY(double, f, VOCAB, v, v == 2 ? 0 : 1 - v / 50.0);
    for (int k = 0; k < KINDS; ++k) {
        cs_cooc_options o = options_of(k, k % 2 == 0);
        o.by_document = true;
        AUTO_OK(cs_cooc, rows, cs_cooc_build(&corpus, &o, &rows));
        AUTO_OK(cs_context_index, index, cs_context_index_of(&rows, &index));
        for (int c = 0; c < 3; ++c) {
            cs_fold_options products = {.part = part,
                                        .least = c == 1 ? 4 : 0,
                                        .quarters = c < 2,
                                        .scale = scale,
                                        .f = f,
                                        .threads = 1};
            cs_fold_products one = {0}, other = {0};
            OK(cs_fold_products_of(&rows, &index, &products, &one));
            assert_true(c == 1 || (one.plain[1] > 0) == (k < KINDS - 1));
            assert_products(&rows, &index, &products, quarter, &one);
            products.threads = 3;
            OK(cs_fold_products_of(&rows, &index, &products, &other));
            assert_memory_equal(&one, &other, sizeof one);
        }
    }
}

/* Few tokens of many documents have counts of many patterns, so that the table of these grows; many
 * tokens of few, columns that one context touches. */
TEST(products_of_many_patterns_and_of_many_columns)
{
    static const struct {
        int64_t documents, longest, words;
        const char *context;
    } of[] = {{3000, 30, 40, "each:1"}, {1500, 4, 900, "all"}};
    for (int i = 0; i < 2; ++i) {
        const int64_t n = of[i].documents;
        uint8_t *part = test_zeros(n, 1), *quarter = test_zeros(n, 1);
        ARRAY(int64_t, length, n, d, 2 + d % of[i].longest);
        ARRAY(double, scale, of[i].words, v, 1 + (double)(v % 5));
        deal_folds(part, quarter, n);
        CS_AUTO(cs_corpus) corpus = small_corpus(n, length, of[i].words, 5, 2);
        cs_cooc_options o = {.threads = 1, .max_length = 4, .stride = 1, .by_document = true};
        cs_fold_products got = {0};
        OK(cs_objective_parse("masked:unmasked=1", &o.objective));
        OK(cs_context_parse(of[i].context, &o.context));
        AUTO_OK(cs_cooc, rows, cs_cooc_build(&corpus, &o, &rows));
        AUTO_OK(cs_context_index, index, cs_context_index_of(&rows, &index));
        const cs_fold_options products = {
            .part = part, .quarters = true, .scale = scale, .f = scale, .threads = 2};
        OK(cs_fold_products_of(&rows, &index, &products, &got));
        assert_true(got.plain[1] > 0);
        assert_products(&rows, &index, &products, quarter, &got);
    }
}

TEST(every_allocation_fails_in_turn)
{
    CS_AUTO(cs_corpus) corpus = corpus_of(DOCUMENTS, 6);
    uint8_t part[DOCUMENTS];
    double scale[VOCAB] = {1, 1, 1, 1, 1, 1, 1}, seen = 0;
    cs_cooc_options o = options_of(0, false);
    int failures = 0;
    deal(part, DOCUMENTS);
    o.by_document = true;
    AUTO_OK(cs_cooc, rows, cs_cooc_build(&corpus, &o, &rows));
    const cs_pair_options pairs = {.part = part, .chosen = 3, .scale = scale};
    const cs_fold_options folds = {
        .part = part, .quarters = true, .scale = scale, .f = scale, .threads = 1};
    for (int what = 0; what < 3; ++what) {
        EACH_ALLOCATION_FAILS(n) {
            cs_status status;
            CS_AUTO(cs_signed_gram) gram = {0};
            CS_AUTO(cs_csr) sums = {0};
            CS_AUTO(cs_context_index) index = {0};
            cs_fold_products products = {0};
            if (what) {
                status = cs_context_index_of(&rows, &index);
                if (status == CS_OK && what == 2)
                    status = cs_fold_products_of(&rows, &index, &folds, &products);
                if (status == CS_OK && what == 1)
                    status = cs_pairs_of_contexts(&rows, &index, &pairs, &gram, &seen);
            } else {
                status = cs_contexts_of(&rows, part, &sums);
            }
            failures += out_of_memory(status);
        }
    }
    assert_true(failures > 20);
}
