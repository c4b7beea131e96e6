/* nearest in the plane (context_table.c): against every conditioning set, and what has none. */
#include "context_support.h"
#include "cooc/build_sequences.h"
#include "cooc/builder.h"
#include "plan/spec.h"
#include "small_corpus.h"
#include "test.h"

/* Grids of 2 x 3 and 3 x 3, 4 x 2, and one whose last row is short. */
TEST(weights_in_the_plane_are_exact)
{
    static const char *const specs[] = {"masked:mask-ratio=0.5",
                                        "masked:unmasked=2",
                                        "bernoulli-masked:mask-ratio=0.4,empty-prefix=shared",
                                        "gvp:segmentation=random,groups=2",
                                        "permuted-ar",
                                        "ar",
                                        "diverse-ar:t=2",
                                        "group-ar:t=2",
                                        "block-masked:mask-ratio=0.4,columns=3",
                                        "square-ar:t=2,columns=3",
                                        "mix:0.5*ar+0.5*masked(mask-ratio=0.5)"};
    static const struct {
        int64_t s;
        const char *context;
    } grid[] = {{6, "nearest:1@3"}, {6, "nearest:2@3"}, {6, "nearest:3@2"}, {8, "nearest:2@2"},
                {9, "nearest:1@3"}, {9, "nearest:2@3"}, {9, "nearest:4@3"}, {8, "nearest:2@3"}};
    for (size_t i = 0; i < sizeof specs / sizeof *specs; ++i) {
        for (size_t j = 0; j < sizeof grid / sizeof *grid; ++j) {
            context_check_mode(specs[i], grid[j].context, true, grid[j].s, 2);
            context_check_mode(specs[i], grid[j].context, true, grid[j].s, 1000);
        }
    }
}

/* Drawn plans have theirs in no order. */
static cs_status collect(void *ctx, const cs_contribution *c)
{
    ((context_table *)ctx)->last_ordinal = -1;
    return context_collect(ctx, c);
}

static void gather(const char *spec, const char *mode, int64_t draws, const cs_corpus *corpus,
                   context_table *t)
{
    cs_objective objective;
    cs_context_options options = {.objective = &objective, .draws = draws, .seed = 3};
    OK(cs_objective_parse(spec, &objective));
    OK(cs_context_parse(mode, &options.context));
    int64_t start = 0, document = 0;
    int32_t length = (int32_t)corpus->doc_ptr[1];
    cs_sequences sequences = one_sequence(&start, &length, &document);
    *t = (context_table){.mode = CS_CONTEXT_NEAREST, .last_ordinal = -1};
    AUTO_OK(cs_context_plan, *plan, cs_context_prepare(&sequences, &options, &plan));
    OK(cs_context_visit(plan, corpus, &sequences, 0, collect, t, NULL));
}

/* One row, or columns of one, are the sequence: the same rows under the same keys. */
TEST(a_single_row_is_the_sequence)
{
    static const char *const specs[] = {"masked:unmasked=3", "ar",
                                        "gvp:segmentation=fixed,groups=2", "diverse-ar:t=2"};
    static const char *const planes[] = {"nearest:2@1", "nearest:2@7", "nearest:2@1000"};
    int64_t s = 7;
    CS_AUTO(cs_corpus) corpus = small_corpus(1, &s, 5, 0, 9);
    for (size_t i = 0; i < sizeof specs / sizeof *specs; ++i) {
        for (size_t j = 0; j < sizeof planes / sizeof *planes; ++j) {
            for (int64_t draws = 0; draws <= 20; draws += 20) {
                context_table want, got;
                gather(specs[i], "nearest:2", draws, &corpus, &want);
                gather(specs[i], planes[j], draws, &corpus, &got);
                assert_int_equal(got.count, want.count);
                assert_each(e, 0, got.count,
                            cs_hash_compare(got.entry[e].key, want.entry[e].key) == 0);
                assert_each(e, 0, got.count, strcmp(got.entry[e].row, want.entry[e].row) == 0);
                assert_each(e, 0, got.count,
                            fabs(got.entry[e].weight - want.entry[e].weight) < 1e-15);
                free(want.entry);
                free(got.entry);
            }
        }
    }
}

/* In rows of 3, (0, 2) from 0 and (1, -1) from 1 are both two positions on. */
TEST(offsets_know_rows_and_columns)
{
    for (int64_t columns = 2; columns <= 5; ++columns) {
        const cs_context c = {CS_CONTEXT_NEAREST, 1, true, columns, CS_PAIRS_SHARED};
        for (int64_t k = 0; k < 4 * columns; ++k) {
            int64_t before = INT64_MIN;
            for (int64_t p = 0; p < 4 * columns; ++p) {
                const int64_t offset = cs_near_offset(&c, k, p);
                int64_t down = 0, across = 0;
                cs_near_steps(&c, offset, &down, &across);
                assert_int_equal(down, p / columns - k / columns);
                assert_int_equal(across, p % columns - k % columns);
                assert_true(offset > before && (offset > 0) == (p > k));
                before = offset;
            }
        }
    }
    /* All patches alike: a row is an offset, of 5 x 5 - 1 in the plane and 2 x 8 in the sequence. */
    int64_t s = 9;
    CS_AUTO(cs_corpus) corpus = small_corpus(1, &s, 1, 0, 1);
    cs_cooc_options o = {.threads = 1};
    OK(cs_objective_parse("masked:unmasked=1", &o.objective));
    static const struct {
        const char *context;
        int64_t rows;
    } of[] = {{"nearest:1@3", 24}, {"nearest:1", 16}};
    for (int i = 0; i < 2; ++i) {
        OK(cs_context_parse(of[i].context, &o.context));
        AUTO_OK(cs_cooc, built, cs_cooc_build(&corpus, &o, &built));
        assert_int_equal(built.matrix.a.rows, of[i].rows);
    }
}

/* The sizes of --dry-run are not below those of the build, and not far above. */
TEST(sizes_are_foreseen)
{
    enum { TEXTS = 60 };
    ARRAY(int64_t, length, TEXTS, i, i % 3 ? 36 : 30);
    CS_AUTO(cs_corpus) corpus = small_corpus(TEXTS, length, 4, 0, 2);
    static const char *const contexts[] = {"nearest:1@6", "nearest:2@6", "nearest:3@5"};
    for (int i = 0; i < 3; ++i) {
        cs_cooc_options o = {.threads = 2};
        cs_cooc_size size = {0};
        OK(cs_objective_parse("masked:mask-ratio=0.4", &o.objective));
        OK(cs_context_parse(contexts[i], &o.context));
        AUTO_OK(cs_cooc, built, cs_cooc_build(&corpus, &o, &built));
        OK(cs_cooc_estimate(&corpus, &o, &size));
        const double rows = (double)built.matrix.a.rows;
        const double entries = (double)cs_csr_nnz(&built.matrix.a);
        assert_true(size.rows >= 0.95 * rows && size.rows <= 2.5 * rows);
        assert_true(size.entries >= 0.95 * entries && size.entries <= 2.5 * entries);
    }
}

TEST(planes_that_are_none)
{
    int64_t start = 0, document = 0;
    int32_t length = 4097;
    cs_objective ar = cs_objective_default(CS_OBJ_AR);
    cs_sequences sequences = one_sequence(&start, &length, &document);
    cs_context_plan *plan = NULL;
    const struct {
        cs_context context;
        const char *says;
    } bad[] = {
        {{CS_CONTEXT_NEAREST, 2, true, 3, CS_PAIRS_SHARED}, "nearest:2@3 at length 4097:"},
        {{CS_CONTEXT_NEAREST, 2, true, -1, CS_PAIRS_SHARED}, "in a plane of -1 columns"},
        {{CS_CONTEXT_EACH, 2, true, 3, CS_PAIRS_SHARED}, "context each in a plane of 3 columns"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
        const cs_context_options o = {.objective = &ar, .context = bad[i].context};
        assert_fails(cs_context_prepare(&sequences, &o, &plan), CS_ERR_USAGE, bad[i].says);
    }
}

/* Documents of three windows of 2 x 2 patches. */
TEST(pictures_give_their_plane)
{
    int64_t s[2] = {12, 12};
    CS_AUTO(cs_corpus) corpus = small_corpus(2, s, 5, 0, 1);
    static const struct {
        int64_t length, stride;
        bool rows, within; /* of windows; within one */
    } cut[] = {{4, 0, true, true},   {2, 0, true, true},   {4, 4, true, true},
               {2, 2, true, true},   {4, 8, true, true},   {0, 0, true, true},
               {3, 0, false, false}, {4, 1, false, false}, {8, 0, false, false},
               {4, 2, false, false}, {3, 4, false, true},  {1, 0, false, true}};
    static const cs_context contexts[] = {{CS_CONTEXT_NEAREST, 1, true, 0, CS_PAIRS_SHARED},
                                          {CS_CONTEXT_EACH, 1, true, 0, CS_PAIRS_SHARED},
                                          {CS_CONTEXT_NEAREST, 1, true, 1, CS_PAIRS_SHARED}};
    for (size_t i = 0; i < sizeof cut / sizeof *cut; ++i) {
        for (size_t c = 0; c < sizeof contexts / sizeof *contexts; ++c) {
            const bool near = c == 0;
            cs_cooc_options o = {
                .max_length = cut[i].length, .stride = cut[i].stride, .context = contexts[c]};
            corpus.columns = corpus.window = 0;
            OK(cs_cooc_in_plane(&corpus, &o));
            assert_true(o.context.columns == contexts[c].columns && o.max_length == cut[i].length);
            corpus.columns = 2;
            corpus.window = 4;
            if (near ? cut[i].rows : cut[i].within) {
                OK(cs_cooc_in_plane(&corpus, &o));
                assert_int_equal(o.context.columns, near ? 2 : contexts[c].columns);
                assert_int_equal(o.max_length, cut[i].length > 0 ? cut[i].length : 4);
            } else {
                assert_fails(cs_cooc_in_plane(&corpus, &o), CS_ERR_USAGE,
                             near ? "2 x 2 patches into whole rows: give --max-length 4 alone"
                                  : "across overlapping windows of 2 x 2 patches: give "
                                    "--max-length 4, or leave it out");
            }
        }
    }
}
