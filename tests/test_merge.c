/* cooc/merge and cooc/assemble: the merge by ranges of keys on several threads against the same
 * records taken one by one; the capacity of the result. */

#include "base/threads.h"
#include "cooc/merge_private.h"
#include "cooc_compare.h"
#include "io_support.h"

enum { VOCAB = 500, LABELS = 3, SPANS = 5, EACH = 4000 };

/* --- the merge -------------------------------------------------------------------------------- */

typedef struct {
    cs_record *record, *made, *held; /* made: before they were sorted and added up; held: of cut */
    int64_t count[SPANS];            /* made */
    cs_span span[SPANS];
    cs_cut cut[SPANS];
} input;

enum {
    UNIFORM,    /* many small rows */
    GIANT,      /* one row with every column and class, among small ones */
    ONE_KEY,    /* one row */
    ONE_RECORD, /* one entry of one class */
    EDGES,      /* the first and last key of some ranges; the others are empty */
    LATE,       /* nearly all in the last range: the result outgrows what was foreseen */
    EMPTY,
    KINDS
};

static cs_hash128 key_of(int kind, int64_t i, cs_rng *rng)
{
    uint64_t range = (uint64_t)(i % 4 * 21); /* 0, 21, 42, 63 */
    cs_hash128 key = {cs_rng_u64(rng) >> 53 << 53, 5};
    switch (kind) {
    case GIANT:
        return i % 3 ? (cs_hash128){UINT64_C(1) << 63, 1} : key;
    case ONE_KEY:
    case ONE_RECORD:
        return (cs_hash128){77, 1};
    case EDGES:
        return (cs_hash128){(range << 58) + (i % 8 < 4 ? 0 : (UINT64_C(1) << 58) - 1), 0};
    case LATE:
        return i % 50 ? (cs_hash128){UINT64_C(63) << 58 | key.high >> 6, 5} : key;
    default:
        return key;
    }
}

/* The input in the form of collectors. A merge sorts it in place, so it is made anew for each. */
static void hold(input *in)
{
    memcpy(in->held, in->made, SPANS * EACH * sizeof *in->held);
    for (ptrdiff_t s = 0; s < SPANS; ++s) {
        cs_collector c = {.slot = in->held + s * EACH, .used = in->count[s]};
        cs_collector_cut(&c, &in->cut[s]);
        assert_true(in->cut[s].record == c.slot && in->cut[s].begin[0] == 0);
        assert_int_equal(in->cut[s].begin[CS_RANGES], c.used);
        for (int64_t range = 0; range < CS_RANGES; ++range) {
            assert_each(i, in->cut[s].begin[range], in->cut[s].begin[range + 1],
                        cs_range_of(c.slot + i) == range);
        }
    }
}

static void free_input(input *in)
{
    free(in->record);
    free(in->made);
    free(in->held);
}

static input make_input(int kind)
{
    input in = {.record = NULL};
    const size_t places = SPANS * EACH;
    in.record = malloc(places * sizeof *in.record);
    in.made = calloc(places, sizeof *in.made);
    in.held = malloc(places * sizeof *in.held);
    assert_true(in.record && in.made && in.held);
    cs_rng rng = cs_rng_at(9, CS_STREAM_TEST, (uint64_t)kind);
    for (int s = 0; s < SPANS; ++s) {
        cs_record *r = in.record + s * EACH;
        int64_t count = kind == EMPTY || s == 2 ? 0 : EACH - s; /* one span is always empty */
        for (int64_t i = 0; i < count; ++i) {
            bool one = kind == ONE_RECORD;
            r[i] = (cs_record){.key = key_of(kind, i, &rng),
                               .col = one ? 3 : (int32_t)cs_rng_below(&rng, VOCAB),
                               .label = one ? 1 : (int32_t)cs_rng_below(&rng, LABELS),
                               .units = 1 + cs_rng_below(&rng, 9),
                               .sequence = cs_rng_below(&rng, 1000),
                               .ordinal = i};
        }
        in.count[s] = count;
        memcpy(in.made + s * EACH, r, (size_t)count * sizeof *r);
        OK(cs_records_sort(r, count, false));
        int64_t kept = 0;
        for (int64_t i = 0; i < count; ++i) {
            if (kept > 0 && cs_record_compare(&r[kept - 1], &r[i]) == 0) {
                cs_record_add(&r[kept - 1], &r[i]);
            } else {
                r[kept++] = r[i];
            }
        }
        in.span[s] = (cs_span){r, kept};
    }
    return in;
}

static void spill(const input *in, cs_runs *runs)
{
    cs_runs_init(runs, NULL);
    for (int s = 0; s < SPANS; ++s) {
        OK(cs_runs_append(runs, in->span[s].record, in->span[s].count));
    }
}

static cs_assembler *new_assembler(void)
{
    const cs_corpus corpus = {.vocab = VOCAB, .labels = LABELS};
    cs_assembler *a = NULL;
    OK(cs_assembler_new(&corpus, true, 1, 0, NULL, &a));
    return a;
}

/* Finishes both assemblers and holds the results against each other. */
static void assert_same(cs_assembler **mine, cs_assembler **reference)
{
    AUTO_OK(cs_cooc, a, cs_assembler_finish(*mine, &a));
    AUTO_OK(cs_cooc, b, cs_assembler_finish(*reference, &b));
    assert_same_csr(&a.matrix.a, &b.matrix.a);
    assert_same_csr(&a.matrix.row_label, &b.matrix.row_label);
    assert_same_csr(&a.matrix.col_label, &b.matrix.col_label);
    size_t rows = (size_t)a.matrix.a.rows;
    assert_true(rows == 0 || memcmp(a.key, b.key, rows * sizeof *a.key) == 0);
    assert_true(rows == 0 ||
                memcmp(a.witness_sequence, b.witness_sequence, rows * sizeof(int64_t)) == 0);
    assert_true(rows == 0 ||
                memcmp(a.witness_ordinal, b.witness_ordinal, rows * sizeof(int64_t)) == 0);
    assert_true(a.mass == b.mass);
    cs_assembler_free(mine);
    cs_assembler_free(reference);
}

/* Small rows, a giant one, one key, one record, edges and empty ranges; 1 to 7 threads, in memory
 * and from the file, in one pass and in several: the bits of a serial merge. */
TEST(ranges_merge_as_the_whole)
{
    for (int kind = 0; kind < KINDS; ++kind) {
        CS_AUTO_BY(free_input, input) in = make_input(kind);
        for (int workers = 1; workers <= 7; workers += 2) {
            for (int way = 0; way < 3; ++way) { /* in memory, large and small budget */
                cs_assembler *reference = new_assembler(), *mine = new_assembler();
                OK(cs_spans_merge(in.span, SPANS, cs_assembler_take, reference));
                CS_AUTO(cs_runs) runs = {0};
                spill(&in, &runs);
                hold(&in);
                const cs_sorted sorted = {.cut = in.cut,
                                          .cuts = SPANS,
                                          .runs = way > 0 ? &runs : NULL,
                                          .budget = way == 2 ? 40000 : 1 << 24,
                                          .workers = workers};
                OK(cs_merge(&sorted, mine));
                assert_true(way == 2 ? runs.count < SPANS : runs.count == SPANS);
                assert_same(&mine, &reference);
            }
        }
    }
}

TEST(every_allocation_may_fail)
{
    CS_AUTO_BY(free_input, input) in = make_input(LATE);
    for (int way = 0; way < 4; ++way) {
        int64_t failures = 0;
        EACH_ALLOCATION_FAILS(n) {
            (void)cs_mem_fail_at(0); /* what is merged is there */
            CS_AUTO(cs_assembler) *a = new_assembler();
            CS_AUTO(cs_runs) runs = {0};
            spill(&in, &runs);
            hold(&in);
            const cs_sorted sorted = {.cut = in.cut,
                                      .cuts = SPANS,
                                      .runs = way < 2 ? NULL : &runs,
                                      .budget = 1 << 22,
                                      .workers = way % 2 ? 4 : 1};
            (void)cs_mem_fail_at(n);
            failures += out_of_memory(cs_merge(&sorted, a));
        }
        assert_true(failures > 64); /* some in each range */
    }
}

/* The file is cut off in its middle: the ranges that fail wake those that wait for them. */
TEST(short_files_are_named)
{
    CS_AUTO_BY(free_input, input) in = make_input(UNIFORM);
    for (int workers = 1; workers <= 4; ++workers) {
        CS_AUTO(cs_assembler) *a = new_assembler();
        CS_AUTO(cs_runs) runs = {0};
        spill(&in, &runs);
        assert_int_equal(ftruncate(runs.fd, runs.end * (int64_t)sizeof(cs_record) / 2), 0);
        const cs_sorted sorted = {.runs = &runs, .budget = 1 << 22, .workers = workers};
        assert_fails(cs_merge(&sorted, a), CS_ERR_IO, "cannot read a sorted run");
    }
}

/* The flag cannot be lowered, so a child raises it. */
TEST(interrupts_wake_all)
{
    CS_AUTO_BY(free_input, input) in = make_input(UNIFORM);
    hold(&in);
    pid_t child = test_fork();
    if (child == 0) {
        cs_assembler *a = new_assembler();
        const cs_sorted sorted = {.cut = in.cut, .cuts = SPANS, .budget = 1 << 22, .workers = 4};
        (void)alarm(60);
        cs_interrupt_set();
        _exit(cs_merge(&sorted, a) == CS_ERR_INTERRUPT ? 0 : 1);
    }
    assert_int_equal(exit_code(child), 0);
}

/* --- how many threads, how soon ----------------------------------------------------------------- */

static int64_t allocations(input *in, bool from_file, int64_t budget, int workers)
{
    CS_AUTO(cs_assembler) *a = new_assembler();
    CS_AUTO(cs_runs) runs = {0};
    spill(in, &runs);
    hold(in);
    const cs_sorted sorted = {.cut = in->cut,
                              .cuts = SPANS,
                              .runs = from_file ? &runs : NULL,
                              .budget = budget,
                              .workers = workers};
    (void)cs_mem_fail_at(0);
    OK(cs_merge(&sorted, a));
    const int64_t made = cs_mem_fail_at(0);
    return made;
}

/* From the second thread on each has class masses of columns, in half of the budget; from a file each
 * has buffers for all runs. A single record leaves what each thread allocates as all there is to
 * count. */
TEST(threads_are_those_that_the_budget_holds)
{
    enum { MANY = 8, AMPLE = 1 << 28 };
    const int64_t sums = 2 * LABELS * VOCAB * (int64_t)sizeof(double);
    CS_AUTO_BY(free_input, input) in = make_input(ONE_RECORD);
    CS_AUTO(cs_runs) runs = {0};
    spill(&in, &runs);
    const int64_t buffers = cs_runs_least(&runs);
    assert_true(buffers > sums);
    for (int from_file = 0; from_file < 2; ++from_file) {
        int64_t before = 0;
        for (int n = 1; n < MANY; ++n) {
            const int64_t made = allocations(&in, from_file, AMPLE, n);
            const int64_t least = from_file ? n * buffers : (n - 1) * sums;
            const int64_t next = from_file ? (n + 1) * buffers : n * sums;
            assert_true(made > before);
            assert_int_equal(allocations(&in, from_file, least, MANY), made);
            assert_int_equal(allocations(&in, from_file, next - 2, MANY), made);
            before = made;
        }
    }
}

static cs_status interrupt_at_tenth(void *ctx, const cs_record *record)
{
    int64_t *seen = ctx;
    (void)record;
    *seen += 1;
    if (*seen == 10) cs_interrupt_set();
    return CS_OK;
}

enum { LONG = 1 << 18 };

static cs_status merge_long(const char *path)
{
    static cs_record record[LONG];
    const cs_span span = {record, LONG};
    int64_t seen = 0;
    (void)path;
    for (int64_t i = 0; i < LONG; ++i) {
        record[i] = (cs_record){.key = {(uint64_t)i, 0}, .units = 1};
    }
    cs_status status = cs_spans_merge(&span, 1, interrupt_at_tenth, &seen);
    return seen < LONG / 2 ? status : CS_OK;
}

TEST(interrupts_end_a_merge_in_its_midst)
{
    assert_int_equal(in_child(merge_long, "", "interrupted"), CS_ERR_INTERRUPT);
}

/* --- capacity --- */

static bool fits(const cs_assembler *a, int64_t rows, int64_t entries, int64_t labels)
{
    const cs_assembler_size more = {.rows = rows, .entries = entries, .labels = labels};
    return cs_assembler_fits(a, &more);
}

/* Capacity that was made for a share holds the whole, each of rows, entries and class masses; more
 * than that does not fit. */
TEST(capacity_for_a_share_holds_the_whole)
{
    static const cs_assembler_size sizes[] = {{.rows = 1, .entries = 1, .labels = 1},
                                              {.rows = 1000, .entries = 5000, .labels = 2000},
                                              {.rows = 7, .entries = 90000},
                                              {.rows = 5000, .entries = 1, .labels = 1}};
    static const double shares[] = {1, 0.5, 0.01};
    for (size_t i = 0; i < 12; ++i) {
        CS_AUTO(cs_assembler) *a = new_assembler();
        const cs_assembler_size *n = &sizes[i / 3];
        const double share = shares[i % 3];
        assert_false(fits(a, 0, 0, 0)); /* there is no capacity before */
        OK(cs_assembler_reserve(a, n, share));
        assert_true(cs_assembler_fits(a, n));
        const int64_t times = (int64_t)(1 / share);
        assert_true(fits(a, times * n->rows, times * n->entries, times * n->labels));
        const int64_t rows = a->key_capacity, entries = a->matrix.capacity,
                      labels = a->row_label.capacity;
        assert_true(fits(a, rows, entries, labels));
        assert_false(fits(a, rows + 1, entries, labels));
        assert_false(fits(a, rows, entries + 1, labels));
        assert_false(fits(a, rows, entries, labels + 1));
        const cs_assembler_size at = cs_assembler_give(a, n);
        assert_true(at.rows == 0 && at.entries == 0 && at.labels == 0);
        assert_true(fits(a, rows - n->rows, entries - n->entries, labels - n->labels));
        assert_false(fits(a, rows - n->rows + 1, 0, 0));
        assert_false(fits(a, 0, entries - n->entries + 1, 0));
        assert_false(fits(a, 0, 0, labels - n->labels + 1));
        a->matrix.rows = a->row_label.rows = 0;
        a->matrix.nnz = a->row_label.nnz = 0;
    }
}

/* Bytes of the capacity: beyond the limit, and only then, the result moves to files, with its
 * contents. */
TEST(results_beyond_their_limit_move_to_files)
{
    CS_AUTO_BY(free_input, input) in = make_input(UNIFORM);
    CS_AUTO(cs_assembler) *reference = new_assembler();
    OK(cs_spans_merge(in.span, SPANS, cs_assembler_take, reference));
    AUTO_OK(cs_cooc, whole, cs_assembler_finish(reference, &whole));
    const double rows = (double)whole.matrix.a.rows, entries = (double)cs_csr_nnz(&whole.matrix.a);
    const double least = 12 * entries + 48 * rows; /* and class masses */
    for (int i = 0; i < 3; ++i) {
        const cs_corpus corpus = {.vocab = VOCAB, .labels = LABELS};
        const double limits[] = {0, least, 100 * least};
        CS_AUTO(cs_runs) runs = {0};
        spill(&in, &runs);
        AUTO_OK(cs_assembler, *a, cs_assembler_new(&corpus, true, 1, limits[i], NULL, &a));
        const cs_sorted sorted = {.runs = &runs, .budget = 1 << 22, .workers = 1 + i};
        OK(cs_merge(&sorted, a));
        assert_int_equal(a->files != NULL, i == 1);
        AUTO_OK(cs_cooc, m, cs_assembler_finish(a, &m));
        assert_int_equal(m.files != NULL, i == 1);
        assert_same_csr(&m.matrix.a, &whole.matrix.a);
        assert_same_csr(&m.matrix.row_label, &whole.matrix.row_label);
        assert_same_csr(&m.matrix.col_label, &whole.matrix.col_label);
    }
}
