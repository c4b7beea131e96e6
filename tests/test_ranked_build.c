/* The build over a group of threads, against that of one process. */
#include "comm_threads.h"
#include "cooc_compare.h"
#include "plan/spec.h"
#include "small_corpus.h"
#include "test.h"

/* Every context mode, exact and fixed-point weights, with and without spilling: the same bits. */
TEST(builds_are_those_of_one_process)
{
    static const struct {
        const char *objective, *context;
        int64_t max_length, stride, draws;
    } kinds[] = {{"ar", "nearest:2", 0, 0, 0},
                 {"ar", "each:4", 0, 0, 0},
                 {"ar", "document", 0, 0, 0},
                 {"ar", "each:4:linear", 9, 0, 0},
                 {"masked:mask-ratio=0.3", "each:5", 0, 0, 0},
                 {"masked:mask-ratio=0.3", "nearest:2", 0, 0, 0},
                 {"ar", "all", 4, 1, 0},
                 {"masked:mask-ratio=0.3", "unique", 16, 3, 0},
                 {"masked:mask-ratio=0.3", "all", 0, 0, 3}};
    ARRAY(int64_t, length, 600, d, 2 + (d * 37) % 60);
    CS_AUTO(cs_corpus) corpus = small_corpus(600, length, 200, 3, 5);
    for (size_t t = 0; t < sizeof kinds / sizeof *kinds; ++t) {
        cs_cooc one = {0}, all[MOST_RANKS] = {0};
        build_job job = {
            .corpus = &corpus, .options = {.threads = 1, .memory_budget = 1 << 20}, .result = all};
        job.options.max_length = kinds[t].max_length;
        job.options.stride = kinds[t].stride;
        job.options.draws = kinds[t].draws;
        OK(cs_objective_parse(kinds[t].objective, &job.options.objective));
        OK(cs_context_parse(kinds[t].context, &job.options.context));
        OK(cs_cooc_build(&corpus, &job.options, &one));
        for (int i = 0; i < 8; ++i) {
            const int ranks = i / 2 + 1;
            job.parts = i % 2;
            job.options.memory_budget = i % 3 == 1 ? 1 << 20 : 1 << 26; /* records on disk or not */
            job.options.threads = i % 4 == 2 ? 3 : 1;
            cs_status status[MOST_RANKS];
            char reason[MOST_RANKS][1024];
            (void)run_ranks(ranks, build_rank, &job, status, reason);
            for (int r = 0; r < ranks; ++r) {
                if (status[r] != CS_OK) {
                    fail_msg("rank %d of %d: %s", r, ranks, reason[r]);
                }
            }
            join_ranks(all, ranks);
            all[0].runs = one.runs;
            assert_same_cooc(&one, &all[0]);
            assert_memory_equal(&one.label_noise, &all[0].label_noise, sizeof(double));
            cs_cooc_free(&all[0]);
        }
        cs_cooc_free(&one);
    }
}

/* Whatever number of records fills the memory, so also where the first run is written last, when all
 * sequences are counted. */
TEST(the_last_records_may_be_the_first_on_disk)
{
    enum { FEW = 240, STEP = 4, SIZES = 12 };
    bool held = false, spilled = false;
    ARRAY(int64_t, length, FEW + STEP * SIZES, d, 8 + d % 3);
    for (int i = 0; i < SIZES; ++i) {
        CS_AUTO(cs_corpus) corpus = small_corpus(FEW + STEP * i, length, 200, 3, 5);
        cs_comm alone = {.ranks = 1, .neighbours = 1};
        cs_cooc_options o = {.threads = 1, .memory_budget = 1 << 20};
        OK(cs_objective_parse("masked:mask-ratio=0.3", &o.objective));
        OK(cs_context_parse("nearest:3", &o.context));
        AUTO_OK(cs_cooc, one, cs_cooc_build(&corpus, &o, &one));
        o.comm = &alone;
        AUTO_OK(cs_cooc, of_ranks, cs_cooc_build(&corpus, &o, &of_ranks));
        held = held || of_ranks.runs == 0;
        spilled = spilled || of_ranks.runs > 0;
        of_ranks.runs = one.runs;
        assert_same_cooc(&one, &of_ranks);
    }
    assert_true(held && spilled);
}

/* The messages of docs/results/scaling.md: of records, 48 bytes to the owners of their rows; of sums,
 * a few words from rank to rank. Each rank sends its share of what it has, and no more. */
TEST(messages_are_as_stated)
{
    enum { LABELS = 3, WORDS = 400, PIECE = 1 << 14, SUMS = 16, SUM_BYTES = 1500 };
    ARRAY(int64_t, length, 900, d, 20 + (d * 37) % 60);
    CS_AUTO(cs_corpus) corpus = small_corpus(900, length, WORDS, LABELS, 5);
    static const char *const contexts[] = {"nearest:2", "each:6", "unique"};
    for (int t = 0; t < 3; ++t) {
        for (int ranks = 2; ranks <= 4; ranks += 2) {
            cs_cooc all[MOST_RANKS] = {0};
            build_job job = {.corpus = &corpus,
                             .options = {.threads = 1, .memory_budget = 1 << 24, .max_length = 8},
                             .result = all,
                             .parts = true};
            cs_status status[MOST_RANKS];
            OK(cs_objective_parse(t == 2 ? "masked:mask-ratio=0.3" : "ar", &job.options.objective));
            OK(cs_context_parse(contexts[t], &job.options.context));
            const int64_t sent = run_ranks(ranks, build_rank, &job, status, NULL);
            assert_each(r, 0, ranks, status[r] == CS_OK);
            const double records = 48.0 * (double)all[0].exchanged;
            const double classes = 8.0 * (double)(corpus.vocab * corpus.labels * (ranks - 1));
            const double model = records + 2 * classes;
            assert_true(all[0].exchanged > 10000 && fabs((double)sent - model) < 0.1 * model);
            for (int r = 0; r < ranks; ++r) {
                const int64_t most = all[0].exchanged; /* of one rank: less than all */
                assert_true(job.sent[r] <
                            48 * most + 16 * corpus.vocab * corpus.labels + ranks * SUM_BYTES);
                assert_true(job.messages[r] <= ranks * (SUMS + 2) + most / PIECE + ranks);
            }
            join_ranks(all, ranks);
            cs_cooc_free(&all[0]);
        }
    }
}

/* So few rows that most ranks own none, without classes, several threads a rank. */
TEST(ranks_without_rows)
{
    for (int64_t labels = 0; labels < 3; labels += 2) {
        int64_t length[] = {3, 2};
        CS_AUTO(cs_corpus) corpus = small_corpus(2, length, 2, labels, 5);
        cs_cooc one = {0}, all[MOST_RANKS] = {0};
        build_job job = {
            .corpus = &corpus, .options = {.threads = 2, .memory_budget = 1 << 20}, .result = all};
        cs_status status[MOST_RANKS];
        char reason[MOST_RANKS][1024];
        OK(cs_objective_parse("ar", &job.options.objective));
        OK(cs_context_parse("nearest:1", &job.options.context));
        OK(cs_cooc_build(&corpus, &job.options, &one));
        assert_true(one.matrix.a.rows > 0 && one.matrix.a.rows < 6);
        for (int i = 10; i <= 17; ++i) {
            const int ranks = i / 2;
            job.parts = i % 2;
            (void)run_ranks(ranks, build_rank, &job, status, reason);
            for (int r = 0; r < ranks; ++r) {
                OK(status[r]);
            }
            join_ranks(all, ranks);
            assert_same_cooc(&one, &all[0]);
            cs_cooc_free(&all[0]);
        }
        cs_cooc_free(&one);
    }
}

/* Alone, no rank waits for another: any allocation may fail. */
TEST(every_allocation_may_fail)
{
    int64_t length[] = {5, 9, 4};
    CS_AUTO(cs_corpus) corpus = small_corpus(3, length, 6, 2, 5);
    cs_comm alone = {.ranks = 1, .neighbours = 1};
    cs_cooc_options o = {.threads = 1, .memory_budget = 1 << 20, .comm = &alone};
    OK(cs_objective_parse("ar", &o.objective));
    OK(cs_context_parse("nearest:1", &o.context));
    EACH_ALLOCATION_FAILS(n) {
        CS_AUTO(cs_cooc) cooc = {0};
        (void)out_of_memory(cs_cooc_build(&corpus, &o, &cooc));
    }
}

TEST(a_build_that_cannot_be_fails_on_all_ranks)
{
    int64_t length[] = {1, 1, 1};
    CS_AUTO(cs_corpus) corpus = small_corpus(3, length, 4, 0, 5);
    cs_cooc all[MOST_RANKS] = {0};
    build_job job = {
        .corpus = &corpus, .options = {.threads = 1, .memory_budget = 1 << 20}, .result = all};
    cs_status status[MOST_RANKS];
    char reason[MOST_RANKS][1024];
    OK(cs_objective_parse("ar", &job.options.objective));
    OK(cs_context_parse("nearest:1", &job.options.context));
    cs_status one = cs_cooc_build(&corpus, &job.options, &all[0]);
    assert_int_not_equal(one, CS_OK);
    (void)run_ranks(3, build_rank, &job, status, reason);
    assert_each(r, 0, 3, status[r] == one);
    assert_each(r, 0, 3, strcmp(reason[r], cs_reason()) == 0);
    cs_reason_clear();
}
