/* cooc/windows: which builds are counted row by row, within which memory, in how many passes; rows in
 * groups; and weights that round to nothing. What is counted is in test_builder, test_unique and
 * test_checkpoint. */
#include "base/ints.h"
#include "comm_threads.h"
#include "cooc/build_sequences.h"
#include "cooc/windows_units_private.h"
#include "cooc_compare.h"
#include "io_support.h"
#include "plan/spec.h"
#include "plan_support.h"
#include "small_corpus.h"

/* A build as its row-by-row count sees it. */
typedef struct {
    cs_corpus corpus;
    cs_cooc_options options;
    cs_cooc_prepared prepared; /* the next two are its */
    cs_sequences sequences;
    cs_context_plan *plan;
    cs_windows_job job;
} build;

static void build_of(cs_corpus corpus, const char *spec, const char *context, int64_t max_length,
                     int64_t stride, build *out)
{
    *out = (build){.corpus = corpus,
                   .options = {.threads = 2, .max_length = max_length, .stride = stride}};
    OK(cs_objective_parse(spec, &out->options.objective));
    OK(cs_context_parse(context, &out->options.context));
    OK(cs_cooc_prepare(&out->corpus, &out->options, &out->prepared));
    OK(cs_cooc_plan(&out->prepared));
    const cs_build_units units = cs_build_units_of(&out->prepared);
    out->sequences = out->prepared.sequences;
    out->plan = out->prepared.plan;
    out->job = (cs_windows_job){.corpus = &out->corpus,
                                .sequences = &out->sequences,
                                .plan = out->plan,
                                .options = &out->options,
                                .scale = units.scale,
                                .exponent = units.exponent,
                                .workers = 2,
                                .budget = INT64_C(1) << 40};
}

static void release(build *b)
{
    cs_cooc_prepared_free(&b->prepared);
    cs_corpus_free(&b->corpus);
}

static cs_corpus corpus_of(void)
{
    static const int64_t length[] = {5, 9, 2, 5, 12, 9, 3};
    return small_corpus(7, length, 50, 2, 3);
}

static bool applies(const cs_windows_job *job)
{
    double lacking = -1;
    const bool yes = cs_windows_apply(job, &lacking);
    assert_true(lacking == 0 || (!yes && lacking > (double)job->budget));
    return yes;
}

static bool applies_within(build *b, double bytes)
{
    b->job.budget = (int64_t)bytes;
    return applies(&b->job);
}

/* A cell takes a token and a place of two numbers, 4 bytes each, w cells lie between sequences and at
 * both ends; a sequence takes 32 bytes; each position of each length, with w at both ends, 8; and a
 * word 40 bytes for each thread, and 40 more. */
TEST(streams_fit_in_the_budget)
{
    static const char *const specs[] = {"ar", "masked:unmasked=1", "permuted-ar"};
    for (int i = 0; i < 9; ++i) {
        const int64_t width = 1 + i / 3 * 2;
        char context[16];
        CS_AUTO_BY(release, build) b = {0};
        (void)snprintf(context, sizeof context, "each:%d", (int)width);
        build_of(corpus_of(), specs[i % 3], context, 0, 0, &b);
        const double cells = 45 + 8 * (double)width,
                     positions = 5 + 9 + 2 + 12 + 3 + 10 * (double)width;
        for (b.job.workers = 1; b.job.workers < 5; b.job.workers += 3) {
            const double bytes =
                12 * cells + 32 * 7 + 8 * positions + 40.0 * 50 * (b.job.workers + 1);
            assert_true(applies_within(&b, bytes));
            assert_false(applies_within(&b, bytes - 1));
        }
    }
}

/* Tokens must be rows whose targets have the same weight at every place. No build with draws,
 * documents kept apart or weights by document is counted by row. */
TEST(other_builds_are_not_counted_by_row)
{
    static const struct {
        const char *spec, *context;
        bool counted;
    } cases[] = {{"ar", "each:2", true},
                 {"masked:mask-ratio=0.3", "each:2", true},
                 {"ar", "each:2:linear", true},
                 {"permuted-ar", "each:2:harmonic", true},
                 {"diverse-ar:t=2", "each:2:flat", false},
                 {"diverse-ar:t=2", "each:2", false},
                 {"ar", "nearest:2", false},
                 {"ar", "all", false},
                 {"ar", "document", false},
                 {"ar", "unique", true},
                 {"diverse-ar:t=2", "unique", true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        CS_AUTO_BY(release, build) b = {0};
        double weight[7] = {1, 1, 1, 1, 1, 1, 1};
        build_of(corpus_of(), cases[i].spec, cases[i].context, 0, 0, &b);
        const bool gram = cs_context_gram(&b.options.context);
        assert_int_equal(applies(&b.job), cases[i].counted);
        b.corpus.weight = weight;
        assert_false(applies(&b.job));
        b.corpus.weight = NULL;
        b.options.draws = 1;
        assert_int_equal(applies(&b.job), cases[i].counted && gram);
        b.options.draws = 0;
        b.options.by_document = true;
        assert_int_equal(applies(&b.job), cases[i].counted && gram);
        b.options.by_document = false;
        b.options.context.given = true;
        assert_int_equal(applies(&b.job), cases[i].counted && gram);
    }
}

/* Subsampled pairs are counted by row unless the rarest may round to nothing. */
TEST(subsampled_pairs_are_counted_by_row)
{
    static const char *const specs[] = {"ar", "permuted-ar"};
    for (int i = 0; i < 2; ++i) {
        CS_AUTO_BY(release, build) b = {0};
        build_of(corpus_of(), specs[i], "each:2:linear", 0, 0, &b);
        ARRAY(double, keep, 50, v, v == 7 ? 0.1 : 1);
        b.job.keep = keep;
        b.job.scale = 0x1p20;
        assert_true(applies(&b.job));
        keep[7] = 1e-4;
        assert_false(applies(&b.job));
    }
}

/* --- unique ----------------------------------------------------------------------------------- */

/* Lists of 2 reach + 1 numbers and three more, 8 bytes each: of runs 2 s - 1, of a sequence alone s, or
 * one where all positions are alike. Together a quarter of what rows leave of the budget, at most. */
TEST(lists_take_a_quarter_of_what_rows_leave)
{
    static const struct {
        const char *spec;
        int64_t max_length, stride;
    } cases[] = {{"permuted-ar", 0, 0},
                 {"offset-ar:offset-weights=power:1", 0, 0},
                 {"offset-ar:offset-weights=power:1", 4, 1},
                 {"masked:mask-ratio=0.3", 5, 2}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        CS_AUTO_BY(release, build) b = {0};
        double all = 0;
        build_of(corpus_of(), cases[i].spec, "unique", cases[i].max_length, cases[i].stride, &b);
        for (int64_t t = 0; t < b.plan->tables; ++t) {
            const cs_context_table *of = &b.plan->table[t];
            const int64_t s = of->pairs.length;
            const int64_t lists = (s == b.plan->window ? 2 * s - 1 : 0) + (of->sum ? s : 1);
            all += 8 * (double)lists * (2 * (double)of->reach + 1 + 3);
        }
        const double rows = 40.0 * 50 * 3;
        double before = 0;
        for (double budget = rows; budget < rows + 5 * all; budget += 8) {
            b.job.budget = (int64_t)budget;
            const double bytes = cs_unit_lists_bytes(&b.job);
            assert_true(bytes <= (budget - rows) / 4 && bytes <= all);
            assert_true(budget < rows + 4 * all || bytes == all);
            before = fmax(before, bytes);
        }
        assert_true(before == all && all > 0);
        b.job.budget = (int64_t)(rows + 4 * all);
        assert_true(cs_unit_lists_bytes(&b.job) == all);
        b.job.budget -= 1;
        assert_true(cs_unit_lists_bytes(&b.job) < all);
    }
}

typedef struct {
    int64_t passes, last, groups;
} pass_count;

static void count_passes(void *ctx, const char *stage, int64_t done, int64_t total)
{
    pass_count *p = ctx;
    if (strcmp(stage, "rows") == 0) {
        assert_true(p->passes == 0 ? done == 0 : done > p->last);
        assert_true(done < total && (p->groups == 0 || p->groups == total));
        p->last = done;
        p->groups = total;
        ++p->passes;
    }
}

/* The places that are listed at a time, 8 bytes each, are within what is left of the budget, and no
 * more passes are made than that takes: a group of rows, of a thousandth of the places and one word
 * more at most, is not cut. */
TEST(places_fill_the_budget_pass_by_pass)
{
    enum { DOCUMENTS = 1500, EACH = 60, WORDS = 3000 };
    static const char *const specs[] = {"offset-ar:offset-weights=power:1", "permuted-ar"};
    ARRAY(int64_t, length, DOCUMENTS, d, EACH);
    for (int i = 0; i < 2; ++i) {
        CS_AUTO_BY(release, build) b = {0};
        build_of(small_corpus(DOCUMENTS, length, WORDS, 2, 7), specs[i], "unique", 0, 0, &b);
        int64_t *count = test_zeros(WORDS, sizeof *count), most = 0;
        for (int64_t t = 0; t < b.corpus.tokens; ++t) {
            most = ++count[b.corpus.token[t]] > most ? count[b.corpus.token[t]] : most;
        }
        for (int64_t budget = 1 << 20; budget <= 3 << 20; budget += 1 << 19) {
            pass_count seen = {0};
            cs_progress progress = {count_passes, &seen};
            b.options.memory_budget = b.job.budget = budget;
            b.options.progress = &progress;
            assert_true(applies(&b.job));
            const double around = 8 * (2 * (double)cs_unique_reach(b.plan) + 1) * 2;
            double left = (double)budget - cs_unit_lists_bytes(&b.job) - around - 40.0 * WORDS * 3;
            const double types = 8.0 * DOCUMENTS * EACH + 8.0 * DOCUMENTS;
            if (i == 1 && left - types >= 1 << 17) { /* as lists of their different tokens */
                left -= types;
            }
            AUTO_OK(cs_cooc, m, cs_cooc_build(&b.corpus, &b.options, &m));
            double all = 8.0 * DOCUMENTS * EACH;
            if (i == 1) { /* different tokens of a document are fewer than its tokens */
                assert_true((double)seen.passes <=
                            all / (left - all / 1024 - 8.0 * (double)most) + 1);
            } else {
                assert_true((double)seen.passes * left >= all);
                assert_true((double)(seen.passes - 1) * (left - all / 1024 - 8.0 * (double)most) <=
                            all);
            }
            assert_true(seen.passes > 1 || budget > 1 << 20 || i == 1);
        }
        b.options.progress = NULL;
    }
}

/* --- rows ------------------------------------------------------------------------------------- */

/* Keys ascend, each word has one row; groups follow each other, with a thousandth of the occurrences
 * each, to within one word's. */
TEST(rows_are_in_groups_of_equal_size)
{
    enum { WORDS = 5000 };
    for (int kind = 0; kind < 4; ++kind) {
        CS_AUTO_BY(release, build) b = {0};
        build_of(corpus_of(), "ar", kind % 2 ? "unique" : "each:2", 0, 0, &b);
        cs_window_counter c = {.job = &b.job, .vocab = WORDS};
        c.ptr = test_zeros(WORDS + 1, sizeof *c.ptr);
        bool *seen = test_zeros(WORDS, sizeof *seen);
        int64_t most = 0;
        for (int64_t v = 0; v < WORDS; ++v) {
            const int64_t count = kind < 2 ? 3 : v * v % 17 + (v == 777 ? 40000 : 0);
            c.ptr[v + 1] = c.ptr[v] + count;
            most = count > most ? count : most;
        }
        OK(cs_window_order_rows(&c));
        OK(cs_window_group_rows(&c));
        for (int64_t r = 0; r < WORDS; ++r) {
            const int32_t v = c.by_key[r];
            assert_false(seen[v]);
            seen[v] = true;
            assert_true(r == 0 || cs_hash_compare(c.key[c.by_key[r - 1]], c.key[v]) < 0);
            assert_true(kind % 2 == 0 || v == r); /* of pairs: in the order of the words */
        }
        assert_true(c.groups == 1024 && c.group[0] == 0 && c.group[c.groups] == WORDS);
        for (int64_t g = 0; g < c.groups; ++g) {
            int64_t held = 0;
            assert_true(c.group[g] <= c.group[g + 1]);
            for (int64_t r = c.group[g]; r < c.group[g + 1]; ++r) {
                held += c.ptr[c.by_key[r] + 1] - c.ptr[c.by_key[r]];
            }
            assert_true((double)held <= (double)c.ptr[WORDS] / 1024 + (double)most);
        }
        cs_pool_free(&c.pool);
    }
}

static int by_number(const void *x, const void *y)
{
    return CS_ORDER(*(const int32_t *)x, *(const int32_t *)y);
}

/* A row of any columns: they come in order, with their values, and the row is empty again; nothing
 * but the columns and the slack behind them is written. */
TEST(rows_are_taken_in_order)
{
    static const int64_t vocabs[] = {1, 63, 64, 65, 4095, 4096, 5000, 9000};
    cs_rng rng = cs_rng_at(5, CS_STREAM_TEST, 3);
    for (size_t i = 0; i < sizeof vocabs / sizeof *vocabs; ++i) {
        const int64_t vocab = vocabs[i], words = CS_WINDOW_WORDS(vocab);
        cs_window_tally y = {.row = test_zeros(64 * words, sizeof *y.row),
                             .touched = test_zeros(vocab + 1, sizeof *y.touched),
                             .bits = test_zeros(words, sizeof *y.bits),
                             .used = test_zeros(words, sizeof *y.used),
                             .word = test_zeros(words + CS_WINDOW_SLACK, sizeof *y.word)};
        int32_t *col = test_zeros(vocab + CS_WINDOW_SLACK, sizeof *col);
        int32_t *want = test_zeros(vocab, sizeof *want);
        double *val = test_zeros(vocab + CS_WINDOW_SLACK, sizeof *val);
        for (int round = 0; round < 40; ++round) {
            int64_t touched = 0;
            const int64_t one_in = 1 + cs_rng_below(&rng, round % 4 == 0 ? 1 : vocab);
            for (int64_t v = vocab - 1; v >= 0; --v) {
                if (cs_rng_below(&rng, one_in) == 0) {
                    y.row[v] = (INT64_C(1) << 40) * (v % 3) + 1 + v;
                    want[touched] = y.touched[touched] = (int32_t)v;
                    ++touched;
                }
            }
            qsort(want, (size_t)touched, sizeof *want, by_number);
            const int64_t taken = round % 2
                                      ? cs_window_take_all(&y, vocab, 0.5, col, val)
                                      : cs_window_take_touched(&y, vocab, touched, 0.5, col, val);
            assert_int_equal(taken, touched);
            for (int64_t e = 0; e < taken; ++e) {
                const int64_t v = want[e];
                assert_int_equal(col[e], v);
                assert_true(val[e] == 0.5 * (double)((INT64_C(1) << 40) * (v % 3) + 1 + v));
            }
            assert_each(w, 0, words, y.bits[w] == 0 && y.used[w] == 0);
            assert_each(v, 0, 64 * words, y.row[v] == 0);
        }
    }
}

/* --- rounding --------------------------------------------------------------------------------- */

/* Of 1, 2 given 0 with weights 1e-25 and 1 the pair of both weighs 1e-25 either way round, which is
 * less than half a unit: it is dropped, and so is that of 1 with itself, 1e-50. */
TEST_IN_DIR(pairs_that_round_to_nothing_are_dropped)
{
    enum { DOCUMENTS = 40 };
    const char *path = in_dir(state, "plans.json");
    plan_write(path, "{\"plans\": [{\"probability\": 1, \"groups\": [0, 1, 1], "
                     "\"weights\": [0, 1e-25, 1]}]}");
    ARRAY(int64_t, length, DOCUMENTS, d, 3);
    CS_AUTO(cs_corpus) corpus = small_corpus(DOCUMENTS, length, 9, 2, 5);
    CS_AUTO(cs_cooc) by_row = {0}, by_record = {0};
    build_job job = {.corpus = &corpus, .options = {.threads = 2}, .result = &by_record};
    char reason[1][1024];
    cs_status status[1];
    job.options.objective = cs_objective_default(CS_OBJ_FILE);
    AUTO_OK(cs_plan_file, file, cs_objective_of_file(path, &file, &job.options.objective));
    OK(cs_context_parse("unique", &job.options.context));
    OK(cs_cooc_build(&corpus, &job.options, &by_row));
    (void)run_ranks(1, build_rank, &job, status, reason);
    OK(status[0]);
    const double dropped = DOCUMENTS * 2e-25;
    assert_true(fabs(by_row.mass - DOCUMENTS) < 1e-12 * DOCUMENTS);
    assert_true(fabs(by_row.dropped_mass - dropped) < 1e-12 * dropped);
    assert_true(fabs(by_record.dropped_mass - dropped) < 1e-12 * dropped);
    assert_int_equal(by_row.contributions, DOCUMENTS * 4);
    assert_same_csr(&by_row.matrix.a, &by_record.matrix.a);
    for (int64_t r = 0; r < by_row.matrix.a.rows; ++r) { /* each word with itself */
        assert_int_equal(by_row.matrix.a.ptr[r + 1] - by_row.matrix.a.ptr[r], 1);
    }
}

/* A mask that leaves a word with probability 2^-53 alone: a place of a window weighs less than half a
 * unit in a corpus of a thousand words and more. All is dropped, by row as by record. */
TEST(windows_that_round_to_nothing_are_dropped)
{
    ARRAY(int64_t, length, 400, d, 2 + d % 29);
    CS_AUTO(cs_corpus) corpus = small_corpus(400, length, 30, 2, 5);
    for (int i = 0; i < 4; ++i) {
        CS_AUTO(cs_cooc) by_row = {0}, by_record = {0};
        build_job job = {.corpus = &corpus,
                         .options = {.threads = 2, .weight_by_document = i / 2},
                         .result = &by_record};
        char reason[1][1024];
        cs_status status[1];
        OK(cs_objective_parse("bernoulli-masked:mask-ratio=0.99999999999999989,empty-prefix=shared",
                              &job.options.objective));
        OK(cs_context_parse(i % 2 ? "each:3" : "each:40", &job.options.context));
        OK(cs_cooc_build(&corpus, &job.options, &by_row));
        (void)run_ranks(1, build_rank, &job, status, reason);
        OK(status[0]);
        by_record.runs = 0;
        assert_true(by_row.mass == 0 && by_row.dropped_mass > 0 && by_row.contributions > 0);
        assert_same_cooc(&by_row, &by_record);
    }
}
