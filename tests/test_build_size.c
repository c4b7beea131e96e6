/* cooc/build_size: what --dry-run says, where every contribution is a row and an entry of its own:
 * then nothing is estimated, bytes of files are those of the files but for headers, and memory and
 * scratch files have closed forms. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "cooc/builder.h"
#include "cooc/store.h"
#include "io_support.h"
#include "plan/spec.h"
#include "small_corpus.h"
#include "test.h"

enum {
    DOCUMENTS = 12000, /* a byte too many or too few for each is more than all headers */
    ARCHIVE = 1300,    /* headers of one, at most */
    HEADERS = 6000,    /* of all other files */
    RECORD = 48,       /* key, column, class, units, witness */
    ENTRY = 12,        /* column, value */
    ROW = 48           /* key, witness; where its entries and classes end */
};

/* Documents of so many tokens, all of them different; `shared`: but the first of each, which is 0. */
static cs_corpus distinct(int64_t each, int64_t labels, bool shared)
{
    int64_t *length = test_room(DOCUMENTS, sizeof *length);
    for (int64_t d = 0; d < DOCUMENTS; ++d) {
        length[d] = each;
    }
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

TEST_IN_DIR(files_are_foreseen_but_for_their_headers)
{
    for (int i = 0; i < 4; ++i) { /* with classes or without; every row its own, or one row */
        const int64_t labels = i % 2 ? 3 : 0;
        cs_corpus corpus = distinct(2, labels, i > 1);
        const cs_cooc_options o = options_of(1, INT64_C(1) << 28);
        cs_cooc m = {0};
        cs_cooc_size size = {0};
        double files = 0;
        OK(cs_cooc_build(&corpus, &o, &m));
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
        cs_cooc_free(&m);
        cs_corpus_free(&corpus);
    }
}

/* Records wait for the merge in a quarter more room than they take; the result, and the parts of it
 * that workers make; a number a word for each class, and where its entries begin, and its sum. Beyond
 * the budget the result goes to files, with what it has to spare; so do records beyond 7 of 8 bytes
 * of a worker's share, and twice where their runs are too many for one merge. */
TEST(memory_and_scratch_have_closed_forms)
{
    enum { EACH = 10 };
    const double contributions = DOCUMENTS * (EACH - 1), mib = 1 << 20;
    for (int64_t labels = 0; labels < 3; labels += 2) {
        cs_corpus corpus = distinct(EACH, labels, false);
        const double entries = labels > 0 ? 2 * contributions : contributions; /* and of classes */
        const double records = contributions * RECORD,
                     matrix = entries * ENTRY + contributions * ROW;
        const double sums = ((double)labels + 2) * 8 * (double)corpus.vocab;
        const struct {
            int workers;
            double budget;  /* MiB */
            double spilled; /* times the records */
        } cases[] = {
            {1, 1, 1},  {12, 1, 1}, /* 12 / (7/8 MiB) of records, and 12: 80 runs, and room for 85 */
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
        cs_corpus_free(&corpus);
    }
}

/* `unique` has no records: a place of 8 bytes for each token. */
TEST(pairs_take_places)
{
    cs_corpus corpus = distinct(3, 0, false);
    cs_cooc_options o = options_of(1, INT64_C(1) << 30);
    cs_cooc_size size = {0};
    OK(cs_context_parse("unique", &o.context));
    OK(cs_cooc_estimate(&corpus, &o, &size));
    const double matrix = size.entries * ENTRY + size.rows * ROW, words = 3.0 * DOCUMENTS;
    const double memory = 8 * words + matrix + matrix / 64 + 2 * 8 * words;
    assert_true(fabs(size.memory - memory) <= 1e-12 * memory);
    assert_true(size.scratch == 0);
    cs_corpus_free(&corpus);
}

/* The least of the tails under which the matrix is a tenth, by trying all of them. */
TEST(the_least_tail_that_makes_a_tenth)
{
    static const double tails[] = {1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.05, 0.1};
    int64_t length[] = {300, 200};
    cs_corpus corpus = small_corpus(2, length, 400, 0, 3);
    for (int i = 0; i < 3; ++i) {
        cs_cooc_options o = options_of(1, INT64_C(1) << 28);
        cs_cooc_size whole = {0}, cut = {0}, tried = {0};
        double tail = -1, least = 0;
        OK(cs_objective_parse("masked:mask-ratio=0.5", &o.objective));
        OK(cs_context_parse("nearest:2", &o.context));
        o.tail = i > 0 ? tails[2 * i] : 0;
        OK(cs_cooc_estimate(&corpus, &o, &whole));
        OK(cs_cooc_smaller_tail(&corpus, &o, &whole, &tail, &cut));
        for (size_t t = 0; t < sizeof tails / sizeof *tails && least == 0; ++t) {
            cs_cooc_options other = o;
            other.tail = tails[t];
            OK(cs_cooc_estimate(&corpus, &other, &tried));
            least = tails[t] > o.tail && 10 * tried.matrix <= whole.matrix ? tails[t] : 0;
        }
        print_message("tail %g: %g, %g entries, %g then\n", o.tail, tail, whole.entries,
                      cut.entries);
        assert_true(tail == least);
        assert_true(tail == 0 || cut.matrix == tried.matrix);
    }
    cs_corpus_free(&corpus);
}
