/* cooc/builder on corpora that pass the least budget: the same bits for any budget and any number
 * of threads; and estimates against the built matrix. */
#include "cooc/build_sequences.h"
#include "cooc_compare.h"
#include "plan/spec.h"
#include "small_corpus.h"
#include "test.h"

static cs_cooc_options options_of(const char *spec, const char *context)
{
    cs_cooc_options o = {.threads = 1};
    OK(cs_objective_parse(spec, &o.objective));
    OK(cs_context_parse(context, &o.context));
    return o;
}

/* Whatever the budget, the threads (one, an odd number, an even one) and the runs: the same bits.
 * 1 MiB for 4 threads spills often. */
TEST(bits_do_not_depend_on_budget_or_threads)
{
    static const struct {
        const char *spec, *context;
        int64_t max_length, stride, draws;
        bool exact;
        int64_t documents; /* 1500: 128 runs, merged in two passes */
    } cases[] = {
        {"ar", "nearest:3", 0, 0, 0, true, 5000},
        {"masked:unmasked=2", "all", 4, 1, 0, true, 5000},
        {"masked:mask-ratio=0.3", "nearest:2", 0, 0, 0, false, 1500},
        {"permuted-ar", "each:3", 0, 0, 0, false, 5000}, /* within 32 MiB: row by row */
        {"ar", "each:4", 0, 0, 0, true, 5000},
        {"ar:empty-prefix=shared", "each:1", 0, 0, 0, true, 5000},
        {"masked:unmasked=1", "each:2", 5, 1, 0, true, 5000},
        {"bernoulli-masked:mask-ratio=0.9", "each:40", 0, 0, 0, false, 5000},
        {"diverse-ar:t=3", "each:4", 0, 0, 0, true, 5000},
        {"permuted-ar", "each:5:harmonic", 0, 0, 0, true, 5000},
        {"ar", "each:4:linear", 0, 0, 0, true, 5000},
        {"variable-masked:mask-ratio=0.2:0.5", "all", 0, 0, 3, true, 5000},
        {"variable-masked:mask-ratio=0.2:0.5,event-weight=mask", "nearest:2", 0, 0, 3, false, 5000},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        CS_AUTO(cs_corpus) corpus = random_corpus(cases[i].documents, 30, 200, 4);
        cs_cooc_options o = options_of(cases[i].spec, cases[i].context);
        o.max_length = cases[i].max_length;
        o.stride = cases[i].stride;
        o.draws = cases[i].draws;
        o.tail = 1e-6;
        CS_AUTO(cs_cooc) first = {0};
        int64_t runs = 0;
        for (int threads = 1; threads <= 4; threads += threads == 1 ? 2 : 1) {
            for (int64_t budget = 1 << 20; budget <= INT64_C(1) << 30; budget <<= 5) {
                cs_cooc m = {0};
                o.threads = threads;
                o.memory_budget = budget;
                OK(cs_cooc_build(&corpus, &o, &m));
                runs += m.runs;
                assert_true(budget < 1 << 30 || m.runs == 0);
                if (first.key) {
                    assert_same_cooc(&first, &m);
                    cs_cooc_free(&m);
                } else {
                    first = m;
                    assert_consistent(&first);
                }
            }
        }
        assert_int_equal(first.exact, cases[i].exact);
        assert_true(runs > 4);
    }
}

/* Few words make contributions fall together: rows and entries are foreseen all the same, within a
 * factor 2, and so is what a tail would leave. */
TEST(estimates_come_near_the_build)
{
    CS_AUTO(cs_corpus) corpus = random_corpus(200, 80, 500, 2);
    const char *const specs[] = {"ar", "masked:mask-ratio=0.15", "masked:mask-ratio=0.5",
                                 "permuted-ar"};
    const char *const contexts[] = {"nearest:1", "nearest:2", "all", "document"};
    int tails = 0;
    for (int i = 0; i < 16; ++i) {
        cs_cooc_options o = options_of(specs[i / 4], contexts[i % 4]);
        if (i % 4 == 2) {
            o.max_length = 4;
        }
        cs_cooc_size size = {0}, cut = {0};
        double tail = 0;
        AUTO_OK(cs_cooc, m, cs_cooc_build(&corpus, &o, &m));
        OK(cs_cooc_estimate(&corpus, &o, &size));
        const double rows = (double)m.matrix.a.rows, nnz = (double)cs_csr_nnz(&m.matrix.a);
        assert_true(size.rows >= rows && size.rows <= 2 * rows);
        assert_true(size.entries >= nnz && size.entries <= 2 * nnz);
        AUTO_OK(cs_cooc_prepared, p, cs_cooc_prepare(&corpus, &o, &p));
        OK(cs_cooc_smaller_tail(&p, &size, &tail, &cut));
        cs_cooc_free(&m);
        if (tail > 0) {
            assert_true(10 * cut.matrix <= size.matrix);
            o.tail = tail;
            OK(cs_cooc_build(&corpus, &o, &m));
            assert_true(cut.rows >= (double)m.matrix.a.rows);
            assert_true(cut.rows <= 2 * (double)m.matrix.a.rows);
        }
        tails += tail > 0;
    }
    assert_true(tails > 0);
}

/* Row by row (a large budget) as by records (a small one): rows of few of the columns, which are
 * many words of the bitmap and more than 64 of them, and rows of many; windows inside a sequence,
 * whose places have the same units, across its ends, and longer than it. */
TEST(rows_of_many_columns_come_in_order)
{
    static const struct {
        const char *spec, *context;
        int64_t longest, vocab;
    } cases[] = {{"ar", "each:2", 100, 3000},
                 {"permuted-ar", "each:2", 100, 3000},
                 {"ar", "each:60", 100, 3000},
                 {"permuted-ar", "each:5", 100, 9001},
                 {"ar", "each:10", 60, 4096},
                 {"masked:unmasked=1", "each:1", 100, 4095},
                 {"permuted-ar", "each:3", 100, 40},
                 {"ar", "each:10:harmonic", 60, 4096},
                 {"permuted-ar", "each:30:linear", 100, 3000},
                 {"masked:mask-ratio=0.3", "each:5:flat", 100, 3000}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        CS_AUTO(cs_corpus) corpus = random_corpus(1200, 2 * cases[i].longest, cases[i].vocab, 3);
        cs_cooc_options o = options_of(cases[i].spec, cases[i].context);
        o.memory_budget = INT64_C(1) << 28;
        o.subsample = o.context.pairs ? 1e-4 : 0;
        o.threads = 1 + (int)i % 3;
        AUTO_OK(cs_cooc, rows, cs_cooc_build(&corpus, &o, &rows));
        o.memory_budget = 1 << 20;
        AUTO_OK(cs_cooc, records, cs_cooc_build(&corpus, &o, &records));
        assert_true(rows.runs == 0 && (records.runs > 0 || cases[i].vocab == 40));
        assert_true(!rows.files && (records.files || cases[i].vocab == 40));
        records.runs = 0;
        assert_same_cooc(&rows, &records);
    }
}
