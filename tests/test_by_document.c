/* cooc/by_document: rows by (context, document), their sums, and pairs of tokens of two documents,
 * against plain loops over all pairs of events. */
#include "cooc/by_document.h"
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
    for (int what = 0; what < 2; ++what) {
        EACH_ALLOCATION_FAILS(n) {
            cs_status status;
            CS_AUTO(cs_signed_gram) gram = {0};
            CS_AUTO(cs_csr) sums = {0};
            CS_AUTO(cs_context_index) index = {0};
            if (what) {
                status = cs_context_index_of(&rows, &index);
                if (status == CS_OK)
                    status = cs_pairs_of_contexts(&rows, &index, &pairs, &gram, &seen);
            } else {
                status = cs_contexts_of(&rows, part, &sums);
            }
            failures += out_of_memory(status);
        }
    }
    assert_true(failures > 20);
}
