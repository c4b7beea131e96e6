/* cooc/build_size: the estimates of --dry-run where every contribution is a separate row and entry.
 * Then nothing is estimated, bytes of files are those of the files without headers, and memory and
 * scratch files have closed forms. */
#include <sys/stat.h>

#include "base/threads.h"
#include "cooc/build_private.h"
#include "cooc/build_sequences.h"
#include "cooc/builder.h"
#include "cooc/context_private.h"
#include "cooc/store.h"
#include "io_support.h"
#include "plan/spec.h"
#include "small_corpus.h"

enum {
    DOCUMENTS = 12000, /* a byte too many or too few for each is more than all headers */
    ARCHIVE = 1300,    /* headers of one, at most */
    HEADERS = 6000,    /* of all other files */
    RECORD = 48,       /* key, column, class, units, witness */
    ENTRY = 12,        /* column, value */
    ROW = 48           /* key, witness; where its entries and classes end */
};

/* Documents of `each` tokens, all different; `shared`: the first of each is 0. */
static cs_corpus distinct(int64_t each, int64_t labels, bool shared)
{
    ARRAY(int64_t, length, DOCUMENTS, d, each);
    cs_corpus c = small_corpus(DOCUMENTS, length, DOCUMENTS * each, labels, 1);
    for (int64_t i = 0; i < c.tokens; ++i) {
        c.token[i] = shared && i % each == 0 ? 0 : (int32_t)i;
    }
    return c;
}

static cs_cooc_options options_of(int threads, int64_t budget)
{
    cs_cooc_options o = {.threads = threads, .memory_budget = budget};
    OK(cs_objective_parse("ar", &o.objective));
    OK(cs_context_parse("nearest:1", &o.context));
    return o;
}

static double bytes_of(void **state, const char *name)
{
    struct stat file;
    char path[64];
    (void)snprintf(path, sizeof path, "store/%s", name);
    return stat(in_dir(state, path), &file) == 0 ? (double)file.st_size : 0;
}

static cs_status smaller_tail(const cs_corpus *corpus, const cs_cooc_options *o,
                              const cs_cooc_size *whole, double *tail, cs_cooc_size *size)
{
    CS_AUTO(cs_cooc_prepared) p = {0};
    cs_status status = cs_cooc_prepare(corpus, o, &p);
    if (status == CS_OK) status = cs_cooc_smaller_tail(&p, whole, tail, size);
    return status;
}

TEST(columns_without_memory_are_refused)
{
    const int64_t length[] = {3};
    CS_AUTO(cs_corpus) c = small_corpus(1, length, 1 << 20, 0, 1);
    cs_cooc_options o = options_of(1, 1 << 20);
    cs_cooc out = {0};
    c.token[1] = (1 << 20) - 1;
    cs_mem_available_at_most(1 << 20);
    assert_fails(cs_cooc_build(&c, &o, &out), CS_ERR_MEMORY,
                 "small: a matrix of 1048576 columns takes 0.0168 GB, but only");
    cs_mem_available_at_most(INT64_MAX);
}

TEST_IN_DIR(files_are_foreseen_but_for_their_headers)
{
    for (int i = 0; i < 4; ++i) { /* with classes or without; every row its own, or one row */
        const int64_t labels = i % 2 ? 3 : 0;
        CS_AUTO(cs_corpus) corpus = distinct(2, labels, i > 1);
        const cs_cooc_options o = options_of(1, INT64_C(1) << 28);
        cs_cooc_size size = {0};
        double files = 0;
        AUTO_OK(cs_cooc, m, cs_cooc_build(&corpus, &o, &m));
        OK(cs_cooc_estimate(&corpus, &o, &size));
        assert_true(size.contributions == DOCUMENTS && size.entries == DOCUMENTS);
        /* A sketch of one row; its share for errors. */
        assert_true(i > 1 ? size.rows > 1 && size.rows < 1.06 : size.rows == DOCUMENTS);
        OK(cs_cooc_write(in_dir(state, "store"), &corpus, &o, &m, false, true));
        for (int f = 0; cs_cooc_file(f); ++f) {
            files += bytes_of(state, cs_cooc_file(f));
        }
        const double matrix = bytes_of(state, "matrix.npz");
        const int archives = labels > 0 ? 3 : 1;
        assert_true(size.matrix >= matrix && size.matrix <= matrix + ARCHIVE);
        assert_true(size.stored >= files && size.stored <= files + archives * ARCHIVE + HEADERS);
    }
}

/* Records wait for the merge in a quarter more memory than they take; the result, and the parts of
 * it that workers make; a number a word for each class, and where its entries begin, and its sum.
 * Beyond the budget the result goes to files, with what it has to spare; so do records beyond 7 of
 * 8 bytes of a worker's share, and twice where their runs are too many for one merge. */
TEST(memory_and_scratch_have_closed_forms)
{
    enum { EACH = 10 };
    const double contributions = DOCUMENTS * (EACH - 1), mib = 1 << 20;
    for (int64_t labels = 0; labels < 3; labels += 2) {
        CS_AUTO(cs_corpus) corpus = distinct(EACH, labels, false);
        const double entries = labels > 0 ? 2 * contributions : contributions; /* and of classes */
        const double records = contributions * RECORD,
                     matrix = entries * ENTRY + contributions * ROW;
        const double sums = ((double)labels + 2) * 8 * (double)corpus.vocab;
        const struct {
            int workers;
            double budget;  /* MiB */
            double spilled; /* times the records */
        } cases[] = {
            {1, 1, 1},  {12, 1, 1}, /* 12 / (7/8 MiB) of records, and 12: 80 runs of at most 85 */
            {13, 1, 2},             /* 86 */
            {1, 5, 1},  {1, 6, 0},  {3, 16, 1}, {3, 17, 0}, {2, 1024, 0}};
        for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
            const double budget = cases[i].budget * mib;
            const cs_cooc_options o = options_of(cases[i].workers, (int64_t)budget);
            const bool in_files = 1.25 * matrix > budget;
            cs_cooc_size size = {0};
            OK(cs_cooc_estimate(&corpus, &o, &size));
            const double memory = fmin(1.25 * records, budget) + (in_files ? budget : matrix) +
                                  matrix * cases[i].workers / 64 + sums;
            const double scratch = cases[i].spilled * records + (in_files ? 1.25 * matrix : 0);
            assert_true(fabs(size.memory - memory) <= 1e-12 * memory);
            assert_true(fabs(size.scratch - scratch) <= 1e-12 * scratch);
        }
    }
}

/* `unique` has no records: a place of 8 bytes for each token. */
TEST(pairs_take_places)
{
    CS_AUTO(cs_corpus) corpus = distinct(3, 0, false);
    cs_cooc_options o = options_of(1, INT64_C(1) << 30);
    cs_cooc_size size = {0};
    OK(cs_context_parse("unique", &o.context));
    OK(cs_cooc_estimate(&corpus, &o, &size));
    const double matrix = size.entries * ENTRY + size.rows * ROW, words = 3.0 * DOCUMENTS;
    const double memory = 8 * words + matrix + matrix / 64 + 2 * 8 * words;
    assert_true(fabs(size.memory - memory) <= 1e-12 * memory);
    assert_true(size.scratch == 0);
}

/* More contributions than are walked, here the beginning of one sequence and one sequence of two: a
 * bound from them. Two words make two rows of the word before, and four entries. */
TEST(sizes_of_long_walks_are_bounded_by_a_sample)
{
    enum { EACH = 300 };
    for (int64_t texts = 1; texts < 3; ++texts) {
        int64_t length[] = {EACH, EACH};
        CS_AUTO(cs_corpus) corpus = small_corpus(texts, length, 2, 0, 3);
        cs_cooc_options o = options_of(1, INT64_C(1) << 28);
        cs_cooc_size size = {0};
        OK(cs_objective_parse("ar", &o.objective));
        OK(cs_context_parse("nearest:1", &o.context));
        o.draws = (1 << 19) / texts;
        OK(cs_cooc_estimate(&corpus, &o, &size));
        assert_true(size.contributions > 0x1p27);
        assert_true(size.rows >= 2 && size.rows <= 3.0 * (double)texts);
        assert_true(size.entries >= 4 && size.entries <= 6.0 * (double)texts);
    }
}

/* The least of the tails under which the matrix is a tenth, by trying all of them. */
TEST(the_least_tail_that_makes_a_tenth)
{
    static const double tails[] = {1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.05, 0.1};
    int64_t length[] = {300, 200};
    CS_AUTO(cs_corpus) corpus = small_corpus(2, length, 400, 0, 3);
    for (int i = 0; i < 3; ++i) {
        cs_cooc_options o = options_of(1, INT64_C(1) << 28);
        cs_cooc_size whole = {0}, cut = {0}, tried = {0};
        double tail = -1, least = 0;
        OK(cs_objective_parse("masked:mask-ratio=0.5", &o.objective));
        OK(cs_context_parse("nearest:2", &o.context));
        o.tail = i > 0 ? tails[2 * i] : 0;
        OK(cs_cooc_estimate(&corpus, &o, &whole));
        OK(smaller_tail(&corpus, &o, &whole, &tail, &cut));
        for (size_t t = 0; t < sizeof tails / sizeof *tails && least == 0; ++t) {
            cs_cooc_options other = o;
            other.tail = tails[t];
            OK(cs_cooc_estimate(&corpus, &other, &tried));
            least = tails[t] > o.tail && 10 * tried.matrix <= whole.matrix ? tails[t] : 0;
        }
        assert_true(tail == least);
        assert_true((tail > 0) == (i == 0));
        assert_true(tail == 0 || cut.matrix == tried.matrix);
    }
}

/* Estimated by a walk over contributions, over patterns and over pairs: two workers. */
TEST(every_allocation_may_fail)
{
    static const char *const specs[][2] = {
        {"ar", "nearest:1"}, {"masked:mask-ratio=0.5", "nearest:2"}, {"permuted-ar", "unique"}};
    int64_t length[] = {9, 5, 7};
    CS_AUTO(cs_corpus) corpus = small_corpus(3, length, 8, 2, 3);
    for (int i = 0; i < 3; ++i) {
        cs_cooc_options o = options_of(2, INT64_C(1) << 28);
        cs_cooc_size whole = {0}, cut = {0};
        double tail = 0;
        OK(cs_objective_parse(specs[i][0], &o.objective));
        OK(cs_context_parse(specs[i][1], &o.context));
        EACH_ALLOCATION_FAILS(n) {
            cs_status status = cs_cooc_estimate(&corpus, &o, &whole);
            if (status == CS_OK) status = smaller_tail(&corpus, &o, &whole, &tail, &cut);
            (void)out_of_memory(status);
        }
    }
}

/* At most 256 threads, as many as there are where none is said; a budget of 1 MiB at least, a quarter
 * of what is free and twice as much for the matrix where none is given. */
TEST(resources_are_clamped)
{
    const int64_t mib = 1 << 20;
    static const int threads[][2] = {{1, 1},     {7, 7},     {255, 255},
                                     {256, 256}, {257, 256}, {9999, 256}};
    cs_build_resources use = {0};
    for (size_t i = 0; i < sizeof threads / sizeof *threads; ++i) {
        cs_cooc_options o = options_of(threads[i][0], mib);
        OK(cs_build_resources_of(&o, &use));
        assert_int_equal(use.workers, threads[i][1]);
        assert_true(use.budget == mib && use.limit == (double)mib);
    }
    cs_cooc_options o = options_of(0, mib - 1);
    assert_fails(cs_build_resources_of(&o, &use), CS_ERR_USAGE, "memory budget of 1048575 bytes");
    o.memory_budget = -1;
    assert_fails(cs_build_resources_of(&o, &use), CS_ERR_USAGE, "memory budget of -1 bytes");
    o.memory_budget = 0;
    OK(cs_build_resources_of(&o, &use));
    const double free = (double)cs_mem_available() / 4;
    assert_int_equal(use.workers, cs_threads() < 256 ? cs_threads() : 256);
    assert_true(use.limit == 2 * (double)use.budget);
    assert_true(free == 0 || ((double)use.budget > free / 2 && (double)use.budget < 2 * free));
}

/* Where weights have no denominator a unit is 2^-e, as small as keeps what is expected, or eight times
 * as much of a sample, below 2^61 units. */
TEST(units_are_as_small_as_fits)
{
    static const struct {
        const char *spec, *context;
        int64_t draws;
    } cases[] = {{"masked:mask-ratio=0.37", "nearest:2", 0},
                 {"permuted-ar", "unique", 0},
                 {"variable-masked:mask-ratio=0.2:0.5,event-weight=mask", "nearest:2", 3}};
    int64_t length[] = {37, 53, 52, 53};
    CS_AUTO(cs_corpus) corpus = small_corpus(4, length, 8, 2, 3);
    for (int i = 0; i < 6; ++i) {
        cs_cooc_options o = options_of(1, INT64_C(1) << 28);
        OK(cs_objective_parse(cases[i / 2].spec, &o.objective));
        OK(cs_context_parse(cases[i / 2].context, &o.context));
        o.draws = cases[i / 2].draws;
        o.weight_by_document = i % 2;
        AUTO_OK(cs_cooc_prepared, p, cs_cooc_prepare(&corpus, &o, &p));
        OK(cs_cooc_plan(&p));
        const cs_build_units u = cs_build_units_of(&p);
        double all = SUM(q, 0, p.sequences.count,
                         i % 2 ? 1 : cs_context_predicted(p.plan, p.sequences.length[q]));
        const double units = all * u.scale * (o.draws > 0 ? 8 : 1);
        assert_true(!u.exact && u.scale == exp2(rint(log2(u.scale))));
        assert_true(units <= 0x1p61 && units > 0x1p60);
    }
}
