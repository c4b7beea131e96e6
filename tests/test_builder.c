/* cooc/builder: the matrix against a reference in plain loops, labels, witnesses, full disks,
 * interrupts, bad input; on large corpora see test_builder_large.c. */
#include <signal.h>
#include <sys/resource.h>

#include "base/threads.h"
#include "cooc/merge_private.h"
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

/* Bigrams counted by hand. */
TEST(bigrams_are_counted)
{
    int64_t length[] = {5, 1, 4, 2};
    CS_AUTO(cs_corpus) corpus = small_corpus(4, length, 3, 2, 8);
    cs_cooc_options o = options_of("ar", "nearest:1");
    AUTO_OK(cs_cooc, m, cs_cooc_build(&corpus, &o, &m));
    assert_consistent(&m);
    assert_true(m.exact && m.unit == 1);
    assert_int_equal(m.sequences, 3);
    assert_int_equal(m.skipped_sequences, 1);
    assert_int_equal(m.contributions, 4 + 3 + 1);
    assert_true(m.mass == 8 && m.dropped_mass == 0);
    double count[3][3] = {{0}};
    for (int64_t d = 0; d < 4; ++d) {
        for (int64_t i = corpus.doc_ptr[d] + 1; i < corpus.doc_ptr[d + 1]; ++i) {
            count[corpus.token[i - 1]][corpus.token[i]] += 1;
        }
    }
    for (int64_t i = 0; i < m.matrix.a.rows; ++i) {
        /* The witness is a (sequence, event): the event's prefix ends at the row's token. */
        static const int64_t document[] = {0, 2, 3};
        int64_t d = document[m.witness_sequence[i]];
        int32_t left = corpus.token[corpus.doc_ptr[d] + m.witness_ordinal[i]];
        for (int64_t e = m.matrix.a.ptr[i]; e < m.matrix.a.ptr[i + 1]; ++e) {
            assert_true(m.matrix.a.val[e] == count[left][m.matrix.a.col[e]]);
            count[left][m.matrix.a.col[e]] = 0;
        }
    }
    assert_each(i, 0, 9, count[i / 3][i % 3] == 0);
}

/* GloVe's view, in plain loops: each token within 2 of a masked one shares its weight. */
TEST(windows_are_counted)
{
    CS_AUTO(cs_corpus) corpus = random_corpus(40, 9, 6, 3);
    cs_cooc_options o = options_of("masked:unmasked=1", "each:2");
    AUTO_OK(cs_cooc, m, cs_cooc_build(&corpus, &o, &m));
    assert_consistent(&m);
    double mass = 0, dropped = 0, col[6] = {0};
    for (int64_t d = 0; d < corpus.documents; ++d) {
        int64_t s = corpus.doc_ptr[d + 1] - corpus.doc_ptr[d];
        for (int64_t k = 0; s > 1 && k < s; ++k) {
            for (int64_t j = 0; j < s; ++j) { /* S = {j}, k: weight (s-1) / (s (s-1)) */
                bool near = llabs(j - k) <= 2;
                mass += j != k && near ? 1 / (double)s : 0;
                dropped += j != k && !near ? 1 / (double)s : 0;
                col[corpus.token[corpus.doc_ptr[d] + k]] += j != k && near ? 1 / (double)s : 0;
            }
        }
    }
    assert_true(fabs(m.mass - mass) < 1e-10 && fabs(m.dropped_mass - dropped) < 1e-10);
    double got[6];
    cs_csr_sums(&m.matrix.a, NULL, got);
    assert_each(j, 0, 6, fabs(got[j] * (m.exact ? m.unit : 1) - col[j]) < 1e-10);
}

/* More runs than the budget has buffers for: merged in several passes. */
TEST(many_runs_are_merged_in_passes)
{
    enum { RUNS = 700, EACH = 50 };
    CS_AUTO(cs_runs) runs = {0};
    cs_runs_init(&runs, NULL);
    int64_t units = 0;
    for (int64_t i = 0; i < RUNS; ++i) {
        cs_record r[EACH] = {{.units = 0}};
        for (int64_t j = 0; j < EACH; ++j) {
            r[j] = (cs_record){.key = {(uint64_t)(i % 7 + j * 7), 1},
                               .col = (int32_t)i % 3,
                               .units = 1 + i,
                               .sequence = RUNS - i,
                               .ordinal = j};
            units += 1 + i;
        }
        OK(cs_runs_append(&runs, r, EACH));
    }
    cs_corpus corpus = {.vocab = 3};
    AUTO_OK(cs_assembler, *assembler, cs_assembler_new(&corpus, true, 1, 0, NULL, &assembler));
    OK(cs_runs_merge(&runs, 1 << 17, cs_assembler_take, assembler));
    AUTO_OK(cs_cooc, m, cs_assembler_finish(assembler, &m));
    assert_int_equal(m.matrix.a.rows, 7 * EACH);
    assert_int_equal(cs_csr_nnz(&m.matrix.a), 21 * EACH);
    assert_true(m.mass == (double)units);
    for (int64_t i = 0; i < m.matrix.a.rows; ++i) {
        int64_t last = RUNS - 1; /* the lowest witness comes from the last run of the row's class */
        while (last % 7 != (int64_t)m.key[i].high % 7) {
            --last;
        }
        assert_int_equal(m.witness_sequence[i], RUNS - last);
    }
}

TEST(records_are_sorted)
{
    enum { N = 20000 };
    CS_AUTO_FREE cs_record *r = malloc(N * sizeof *r);
    assert_non_null(r);
    cs_rng rng = cs_rng_at(1, CS_STREAM_TEST, 2);
    for (int kind = 0; kind < 4; ++kind) {
        uint64_t check = 0;
        for (int64_t i = 0; i < N; ++i) { /* few keys, many columns; and the reverse */
            uint64_t key = (uint64_t)cs_rng_below(&rng, kind % 2 ? 5 : 1 << 30);
            r[i] = (cs_record){.key = {kind < 2 ? key : 7, key << 33},
                               .col = (int32_t)cs_rng_below(&rng, 5000),
                               .label = (int32_t)cs_rng_below(&rng, 3) - 1,
                               .units = 1,
                               .sequence = i};
            check += (uint64_t)i * r[i].key.low;
        }
        OK(cs_records_sort(r, N, false));
        for (int64_t i = 0; i < N; ++i) {
            assert_true(i == 0 || cs_record_compare(&r[i - 1], &r[i]) <= 0);
            check -= (uint64_t)r[i].sequence * r[i].key.low;
        }
        assert_true(check == 0);
    }
}

TEST(splits_and_weights)
{
    CS_AUTO(cs_corpus) corpus = random_corpus(50, 12, 10, 2);
    cs_cooc_options o = options_of("ar", "nearest:1");
    double mass[3];
    int64_t sequences[3];
    for (int split = CS_SPLIT_ALL; split <= CS_SPLIT_TEST; ++split) {
        o.split = (cs_split)split;
        AUTO_OK(cs_cooc, m, cs_cooc_build(&corpus, &o, &m));
        mass[split] = m.mass;
        sequences[split] = m.sequences;
    }
    assert_true(mass[0] == mass[1] + mass[2] && mass[2] > 0 && mass[1] > mass[2]);
    assert_true(sequences[0] == sequences[1] + sequences[2]);
    o.split = CS_SPLIT_ALL;
    o.weight_by_document = true;
    AUTO_OK(cs_cooc, m, cs_cooc_build(&corpus, &o, &m));
    assert_consistent(&m);
    assert_true(fabs(m.mass - (double)m.sequences) < 1e-9);
    assert_true(m.exact); /* lcm(1..11) = 27720 */
}

/* A class-tagged empty prefix gives a row a class, a shared one a single row. */
TEST(empty_prefixes_are_shared_or_tagged)
{
    CS_AUTO(cs_corpus) corpus = random_corpus(30, 6, 100, 3);
    const char *const specs[] = {"ar", "ar:empty-prefix=shared", "ar:empty-prefix=class"};
    int64_t rows[3];
    for (int i = 0; i < 3; ++i) {
        cs_cooc_options o = options_of(specs[i], "all");
        o.max_length = 2;
        AUTO_OK(cs_cooc, m, cs_cooc_build(&corpus, &o, &m));
        assert_consistent(&m);
        rows[i] = m.matrix.a.rows;
    }
    assert_int_equal(rows[1], rows[0] + 1);
    assert_int_equal(rows[2], rows[0] + 3);
}

TEST(unlabelled_corpora_have_no_label_columns)
{
    CS_AUTO(cs_corpus) corpus = random_corpus(10, 6, 10, 0);
    cs_cooc_options o = options_of("ar", "document");
    AUTO_OK(cs_cooc, m, cs_cooc_build(&corpus, &o, &m));
    assert_consistent(&m);
    assert_int_equal(m.matrix.labels, 0);
    assert_int_equal(m.matrix.row_label.rows, m.matrix.a.rows);
    assert_int_equal(m.matrix.row_label.cols, 0);
    assert_int_equal(m.matrix.col_label.rows, 10);
    assert_int_equal(m.matrix.a.rows, m.sequences); /* a row a document */
}

/* By the build, and before it. */
static void refused(const cs_corpus *corpus, const cs_cooc_options *o, cs_status expected,
                    const char *words)
{
    assert_build_fails(corpus, o, expected, words);
    assert_fails(cs_cooc_check(corpus, o), expected, words);
}

TEST(bad_input_is_named)
{
    CS_AUTO(cs_corpus) corpus = random_corpus(20, 4, 10, 2);
    cs_cooc_options o = options_of("ar", "nearest:1");
    OK(cs_cooc_check(&corpus, &o));
    o = options_of("masked:unmasked=7", "nearest:1");
    refused(&corpus, &o, CS_ERR_INPUT, "the longest has 4 tokens");
    refused(&corpus, &o, CS_ERR_INPUT, "length >= 8");
    o = options_of("ar", "nearest:1");
    o.memory_budget = 1000;
    refused(&corpus, &o, CS_ERR_USAGE, "memory budget of 1000 bytes");
    o = options_of("ar", "nearest:1");
    o.context.n = 0;
    refused(&corpus, &o, CS_ERR_USAGE, "nearest:0");
    o = options_of("ar", "nearest:1");
    o.draws = -1;
    refused(&corpus, &o, CS_ERR_USAGE, "the number of draws, -1");
    o = options_of("ar", "nearest:1");
    o.max_length = -2;
    refused(&corpus, &o, CS_ERR_USAGE, "-2");
    o = options_of("ar", "nearest:1");
    o.tail = 1.5;
    refused(&corpus, &o, CS_ERR_USAGE, "tail 1.5");
    o = options_of("masked:unmasked=1", "unique");
    o.by_document = true;
    refused(&corpus, &o, CS_ERR_INPUT, "rows by document need a context with rows");
    cs_corpus empty = {.vocab = 3, .documents = (INT64_C(1) << 32) + 1};
    o = options_of("ar", "nearest:1");
    o.by_document = true;
    refused(&empty, &o, CS_ERR_INPUT, "not 4294967297");
    empty.documents = 0;
    o.by_document = false;
    refused(&empty, &o, CS_ERR_INPUT, "no documents");
    memset(corpus.held_out, 0, (size_t)corpus.documents);
    o = options_of("ar", "nearest:1");
    o.split = CS_SPLIT_TEST;
    refused(&corpus, &o, CS_ERR_INPUT, "no documents in the test split");
}

static int64_t open_files(void)
{
    return COUNT(fd, 0, 256, lseek(fd, 0, SEEK_CUR) >= 0);
}

/* A full disk, in a child whose files may not grow: CS_ERR_IO names the scratch directory. */
TEST(full_disk_is_named)
{
    CS_AUTO(cs_corpus) corpus = random_corpus(3000, 30, 1000, 2);
    cs_cooc_options o = options_of("ar", "nearest:4");
    o.memory_budget = 1 << 20;
    o.scratch = "/tmp";
    pid_t child = test_fork();
    if (child == 0) {
        struct rlimit limit = {100000, 100000};
        cs_cooc m = {0};
        bool ok = setrlimit(RLIMIT_FSIZE, &limit) == 0 && signal(SIGXFSZ, SIG_IGN) != SIG_ERR;
        int64_t files = open_files();
        ok = ok && cs_cooc_build(&corpus, &o, &m) == CS_ERR_IO;
        ok = ok && strstr(cs_reason(), "scratch directory /tmp") && !m.key;
        _exit(ok && open_files() == files ? 0 : 1);
    }
    assert_int_equal(exit_code(child), 0);
    o.scratch = "/nowhere/at/all";
    assert_build_fails(&corpus, &o, CS_ERR_IO, "scratch directory /nowhere/at/all");
}

static void stop_at_third(void *ctx, const char *stage, int64_t done, int64_t total)
{
    (void)stage;
    (void)total;
    int64_t *calls = ctx;
    *calls += 1;
    if (done == 3) {
        cs_interrupt_set();
    }
}

/* The flag cannot be lowered, so a child raises it. */
TEST(interrupts_are_obeyed)
{
    CS_AUTO(cs_corpus) corpus = random_corpus(20000, 30, 1000, 2);
    cs_cooc_options o = options_of("ar", "nearest:4");
    int64_t calls = 0;
    cs_progress progress = {stop_at_third, &calls};
    o.progress = &progress;
    pid_t child = test_fork();
    if (child == 0) {
        cs_cooc m = {0};
        bool ok = cs_cooc_build(&corpus, &o, &m) == CS_ERR_INTERRUPT && !m.key;
        _exit(ok && calls == 3 ? 0 : 1);
    }
    assert_int_equal(exit_code(child), 0);
}

TEST(every_allocation_may_fail)
{
    CS_AUTO(cs_corpus) corpus = random_corpus(900, 25, 300, 3);
    static const char *const contexts[] = {"nearest:3", "nearest:3", "each:3", "unique"};
    for (int way = 0; way < 4; ++way) { /* in memory, spilled, row by row, pairs */
        bool spill = way == 1;
        cs_cooc_options o = options_of("ar", contexts[way]);
        o.memory_budget = spill ? 1 << 20 : 1 << 26;
        o.threads = 2;
        EACH_ALLOCATION_FAILS(n) {
            CS_AUTO(cs_cooc) m = {0};
            if (out_of_memory(cs_cooc_build(&corpus, &o, &m)))
                assert_null(m.key);
            else
                assert_true((m.runs > 0) == spill && (m.files != NULL) == spill);
        }
    }
}

TEST(estimates_bound_the_build)
{
    CS_AUTO(cs_corpus) corpus = random_corpus(300, 20, 50, 2);
    const char *const specs[] = {"ar", "masked:mask-ratio=0.3"};
    for (int i = 0; i < 4; ++i) {
        cs_cooc_options o = options_of(specs[i / 2], i % 2 ? "each:4" : "nearest:2");
        cs_cooc_size size = {0};
        AUTO_OK(cs_cooc, m, cs_cooc_build(&corpus, &o, &m));
        OK(cs_cooc_estimate(&corpus, &o, &size));
        assert_true(size.contributions >= (double)m.contributions);
        assert_true(size.contributions <= 2 * (double)m.contributions);
        assert_true(size.matrix >= (double)cs_csr_nnz(&m.matrix.a) * 12);
        assert_true(size.memory >= size.matrix && size.scratch == 0);
        o.memory_budget = 1 << 20; /* spilled, and in files as far as it is large */
        AUTO_OK(cs_cooc, spilled, cs_cooc_build(&corpus, &o, &spilled));
        OK(cs_cooc_estimate(&corpus, &o, &size));
        double files = 0;
        for (int f = 0; spilled.files && f < CS_COOC_ARRAYS; ++f) {
            files += (double)spilled.files->array[f].bytes;
        }
        assert_true(spilled.runs == 0 || size.scratch >= files + (double)m.matrix.a.rows);
        assert_true(size.scratch >= files);
        assert_true(spilled.runs == 0 || size.scratch > 0);
    }
    /* Columns without a token cost their sums and pointers too. */
    cs_cooc_options o = options_of("ar", "nearest:2");
    cs_cooc_size narrow = {0}, wide = {0};
    int64_t labels = corpus.labels;
    char **word = corpus.word;
    corpus.labels = 0;
    corpus.word = NULL;
    OK(cs_cooc_estimate(&corpus, &o, &narrow));
    corpus.vocab += 1 << 24;
    OK(cs_cooc_estimate(&corpus, &o, &wide));
    assert_true(wide.memory - narrow.memory >= 16.0 * (1 << 24));
    corpus.vocab -= 1 << 24;
    corpus.labels = labels;
    corpus.word = word;
}

/* group-ar t = 4: a window of 3 has plans that predict 2, 1 and 0 tokens, hence weighs 1; one of 5
 * predicts 4, 3, 2 and 1: 2.5. */
TEST(silent_plans_count_as_no_tokens)
{
    const int64_t length[] = {3, 5};
    for (int draws = 0; draws <= 1; ++draws) {
        CS_AUTO(cs_corpus) corpus = small_corpus(2, length, 4, 0, 3);
        cs_cooc_options o = options_of("group-ar:t=4", "document");
        o.draws = draws * 200000;
        AUTO_OK(cs_cooc, m, cs_cooc_build(&corpus, &o, &m));
        double row[2] = {0};
        assert_int_equal(m.matrix.a.rows, 2);
        for (int64_t i = 0; i < 2; ++i) {
            row[i] += SUM(e, m.matrix.a.ptr[i], m.matrix.a.ptr[i + 1], m.matrix.a.val[e]);
        }
        double ratio = row[0] < row[1] ? row[1] / row[0] : row[0] / row[1];
        /* drawn: at most 2 and 1.2 of a token of standard deviation a plan, 10 of them of the mean */
        assert_true(fabs(ratio - 2.5) <
                    (draws ? 2.5 * 10 * (2 / 2.5 + 1.2) / sqrt(200000) : 1e-14));
    }
}
