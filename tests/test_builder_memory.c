/* cooc/builder: what it holds in memory. Records that are mostly new are appended and not hashed,
 * rows of many columns are read out in order, and a build stays within its budget. */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cooc/builder.h"
#include "cooc/merge_private.h"
#include "cooc_compare.h"
#include "plan/spec.h"
#include "small_corpus.h"
#include "test.h"

/* GCC says so by a macro, clang by a feature. */
#if defined(__SANITIZE_ADDRESS__)
enum { SANITIZED = 1 };
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
enum { SANITIZED = 1 };
#else
enum { SANITIZED = 0 };
#endif
#else
enum { SANITIZED = 0 };
#endif

static cs_corpus corpus_of(int64_t documents, int64_t each, int64_t vocab, int64_t labels)
{
    int64_t *length = malloc((size_t)documents * sizeof *length);
    assert_non_null(length);
    for (int64_t d = 0; d < documents; ++d) {
        length[d] = each;
    }
    cs_corpus c = small_corpus(documents, length, vocab, labels, 5);
    free(length);
    return c;
}

static cs_cooc_options options_of(const char *spec, const char *context, int64_t budget)
{
    cs_cooc_options o = {.threads = 2, .memory_budget = budget};
    OK(cs_objective_parse(spec, &o.objective));
    OK(cs_context_parse(context, &o.context));
    return o;
}

/* First: it forks, before there is any thread. */
static int64_t peak(void)
{
    struct rusage usage;
    assert_int_equal(getrusage(RUSAGE_SELF, &usage), 0);
    return (int64_t)usage.ru_maxrss * 1024;
}

/* In a child, so that what other tests have held does not hide it: 0 when the resident size grew
 * by no more than the budget for records, that for the matrix, and 8 MiB for tables, stacks and
 * what the allocator keeps. The matrix is larger. */
static int build_within(const cs_corpus *corpus, int64_t budget)
{
    cs_cooc m = {0};
    cs_cooc_options o = options_of("ar", "nearest:3", budget);
    (void)mallopt(M_MMAP_THRESHOLD, 1 << 18); /* fixed: what is freed goes back */
    int64_t before = peak();
    if (cs_cooc_build(corpus, &o, &m) != CS_OK || m.runs == 0) {
        return 2;
    }
    int64_t rows = m.matrix.a.rows, grown = peak() - before;
    int64_t result = cs_csr_nnz(&m.matrix.a) * (int64_t)(sizeof(double) + sizeof(int32_t)) +
                     rows * (int64_t)(sizeof *m.key + 4 * sizeof(int64_t));
    bool in_files = m.files != NULL;
    (void)fprintf(stderr, "grown by %lld bytes: budget %lld, result %lld\n", (long long)grown,
                  (long long)budget, (long long)result);
    cs_cooc_free(&m);
    const int64_t allowed = 2 * budget + (8 << 20);
    return in_files && result > allowed && grown <= allowed ? 0 : 1;
}

TEST(memory_stays_within_the_budget)
{
    if (SANITIZED) {
        print_message("skipped: AddressSanitizer keeps what is freed\n");
        skip();
    }
    const int64_t budget = 4 << 20;
    cs_corpus corpus = corpus_of(1000, 500, 2000, 0);
    /* Held in memory, the records alone would pass the bound. */
    assert_true(500000 * (int64_t)sizeof(cs_record) > budget + (8 << 20));
    (void)fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        _exit(build_within(&corpus, budget));
    }
    int code = -1;
    assert_int_equal(waitpid(child, &code, 0), child);
    assert_true(WIFEXITED(code));
    assert_int_equal(WEXITSTATUS(code), 0);
    cs_corpus_free(&corpus);
}

typedef struct {
    int64_t records, units;
    cs_record last;
} tally;

static cs_status take(void *ctx, const cs_record *r)
{
    tally *t = ctx;
    assert_true(t->records == 0 || cs_record_compare(&t->last, r) < 0);
    t->last = *r;
    ++t->records;
    t->units += r->units;
    return CS_OK;
}

/* Keys 0..distinct-1 over and over. */
static void add(cs_collector *c, int64_t records, int64_t distinct)
{
    for (int64_t i = 0; i < records; ++i) {
        int64_t item = i % distinct;
        cs_record r = {.key = cs_hash(&item, sizeof item, 7), .units = 1, .sequence = i};
        OK(cs_collector_add(c, &r));
    }
}

/* The first million is new and makes the collector append; then a thousand come back again and
 * again, which a spill finds out. Nothing is lost or counted twice. */
TEST(records_mostly_new_are_appended)
{
    const int64_t many = 1000000, few = 1000;
    cs_runs runs;
    cs_collector c;
    cs_runs_init(&runs, NULL);
    OK(cs_collector_init(&c, &runs, INT64_C(40) << 20));
    assert_false(c.append);
    add(&c, many, many);
    assert_true(c.append && runs.count > 0);
    int64_t before = runs.count;
    add(&c, 2 * many, few);
    assert_true(!c.append && runs.count == before + 1);
    assert_true(c.used <= few);
    OK(cs_collector_finish(&c));
    OK(cs_runs_append(&runs, c.slot, c.used));
    tally t = {0};
    OK(cs_runs_merge(&runs, INT64_C(1) << 20, take, &t));
    assert_int_equal(t.records, many);
    assert_int_equal(t.units, 3 * many);
    cs_collector_free(&c);
    cs_runs_free(&runs);
}

/* Row by row (a large budget) as by records (a small one): rows of few of the columns, which are
 * many words of the bitmap and more than 64 of them, and rows of many; windows inside a sequence,
 * whose places have the same units, across its ends, and longer than it. */
TEST(rows_of_many_columns_come_in_order)
{
    static const struct {
        const char *spec, *context;
        int64_t longest, vocab;
    } cases[] = {{"ar", "each:2", 100, 3000},       {"permuted-ar", "each:2", 100, 3000},
                 {"ar", "each:60", 100, 3000},      {"permuted-ar", "each:5", 100, 9001},
                 {"ar", "each:10", 60, 4096},       {"masked:unmasked=1", "each:1", 100, 4095},
                 {"permuted-ar", "each:3", 100, 40}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        cs_corpus corpus = corpus_of(1200, cases[i].longest, cases[i].vocab, 3);
        cs_cooc rows = {0}, records = {0};
        cs_cooc_options o = options_of(cases[i].spec, cases[i].context, INT64_C(1) << 28);
        o.threads = 1 + (int)i % 3;
        OK(cs_cooc_build(&corpus, &o, &rows));
        o.memory_budget = 1 << 20;
        OK(cs_cooc_build(&corpus, &o, &records));
        assert_true(rows.runs == 0 && (records.runs > 0 || cases[i].vocab == 40));
        assert_true(!rows.files && (records.files || cases[i].vocab == 40));
        assert_same_csr(&rows.matrix.a, &records.matrix.a);
        assert_same_csr(&rows.matrix.row_label, &records.matrix.row_label);
        assert_same_csr(&rows.matrix.col_label, &records.matrix.col_label);
        size_t count = (size_t)rows.matrix.a.rows;
        assert_memory_equal(rows.key, records.key, count * sizeof *rows.key);
        assert_memory_equal(rows.witness_sequence, records.witness_sequence,
                            count * sizeof(int64_t));
        assert_memory_equal(rows.witness_ordinal, records.witness_ordinal, count * sizeof(int64_t));
        assert_true(rows.mass == records.mass && rows.dropped_mass == records.dropped_mass);
        assert_true(rows.contributions == records.contributions);
        cs_cooc_free(&rows);
        cs_cooc_free(&records);
        cs_corpus_free(&corpus);
    }
}
