/* cooc/context: long documents, bad input, denominators, keys of all kinds, failed
 * allocations. */
#include "cooc/context_private.h"
#include "plan/spec.h"
#include "small_corpus.h"
#include "test.h"

static cs_status sum_up(void *ctx, const cs_contribution *c)
{
    *(double *)ctx += c->weight;
    return CS_OK;
}

/* A long document: nearness decays geometrically, so few patterns hold all but 2^-50. */
TEST(long_documents_are_within_reach)
{
    int64_t s = 20000;
    CS_AUTO(cs_corpus) corpus = small_corpus(1, &s, 100, 0, 9);
    int64_t start = 0, document = 0;
    int32_t length = (int32_t)s;
    cs_sequences sequences = one_sequence(&start, &length, &document);
    const char *const specs[] = {"ar", "masked:mask-ratio=0.15",
                                 "variable-masked:mask-ratio=0.1:0.2"};
    const char *const modes[] = {"nearest:2", "each:5"};
    for (int i = 0; i < 6; ++i) {
        cs_objective objective;
        cs_context_options options = {.objective = &objective};
        double sum = 0, dropped = 0;
        OK(cs_objective_parse(specs[i / 2], &objective));
        OK(cs_context_parse(modes[i % 2], &options.context));
        AUTO_OK(cs_context_plan, *plan, cs_context_prepare(&sequences, &options, &plan));
        OK(cs_context_visit(plan, &corpus, &sequences, 0, sum_up, &sum, &dropped));
        /* Up to 4e6 terms, n / 2 units of rounding: 4.5e-10. */
        assert_true(fabs(sum + dropped - 1) < 5e-10);
        assert_true(i % 2 == 1 || dropped < 0x1p-49);
    }
}

static void expect_failure(const char *spec, cs_context context, int64_t draws, int64_t s,
                           const char *words)
{
    cs_objective objective;
    cs_reason_clear();
    OK(cs_objective_parse(spec, &objective));
    int64_t start = 0, document = 0;
    int32_t length = (int32_t)s;
    cs_sequences sequences = one_sequence(&start, &length, &document);
    cs_context_options options = {.objective = &objective, .context = context, .draws = draws};
    cs_context_plan *plan = NULL;
    assert_int_equal(cs_context_prepare(&sequences, &options, &plan), CS_ERR_USAGE);
    assert_null(plan);
    expect_reason(words);
}

/* The limits that refusals suggest are accepted, and nothing below 2^20 patterns a target is
 * refused. */
TEST(suggested_limits_are_enough)
{
    static const struct {
        const char *spec;
        int64_t n, length;
        double tail;
    } cases[] = {
        {"masked:mask-ratio=0.9", 4, 72, 0},
        {"masked:mask-ratio=0.9", 4, 300, 0.04},
        {"masked:unmasked=4", 5, 43, 0},
        {"masked:mask-ratio=0.5", 4, 67, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        cs_objective objective;
        OK(cs_objective_parse(cases[i].spec, &objective));
        int64_t start = 0, document = 0;
        int32_t length = (int32_t)cases[i].length;
        cs_sequences sequences = one_sequence(&start, &length, &document);
        cs_context_options options = {
            .objective = &objective,
            .context = {.mode = CS_CONTEXT_NEAREST, .n = cases[i].n, .given = true},
            .tail = cases[i].tail};
        AUTO_OK(cs_context_plan, *plan, cs_context_prepare(&sequences, &options, &plan));
    }
}

/* A corpus may be too large where each of its targets is not. */
TEST(too_many_in_all_is_named)
{
    enum { COUNT = 20000 };
    static int64_t start[COUNT], document[COUNT];
    ARRAY(int32_t, length, COUNT, i, 67);
    cs_sequences sequences = {
        .count = COUNT, .start = start, .length = length, .document = document};
    cs_objective objective;
    OK(cs_objective_parse("masked:mask-ratio=0.5", &objective));
    cs_context_options options = {.objective = &objective,
                                  .context = {.mode = CS_CONTEXT_NEAREST, .n = 4, .given = true}};
    CS_AUTO(cs_context_plan) *plan = NULL;
    cs_reason_clear();
    assert_int_equal(cs_context_prepare(&sequences, &options, &plan), CS_ERR_USAGE);
    assert_non_null(strstr(cs_reason(), "but at most 6.87e+10"));
    const char *tail = strstr(cs_reason(), "--tail ");
    assert_non_null(tail);
    assert_null(strstr(cs_reason(), "--draws"));
    options.tail = strtod(tail + strlen("--tail "), NULL);
    assert_true(options.tail > 0 && options.tail < 1e-3);
    cs_reason_clear();
    OK(cs_context_prepare(&sequences, &options, &plan));
}

TEST(bad_input_is_named)
{
    const cs_context all = {.mode = CS_CONTEXT_ALL, .n = 1};
    expect_failure(
        "masked:mask-ratio=0.5", all, 0, 64,
        "all under masked at length 64 has 5.86e+19 contexts, but at most 1.05e+06 are supported: "
        "give shorter sequences, or sample the plans with cospec cooc --draws N");
    expect_failure("masked:unmasked=2", all, -3, 4, "the number of draws, -3");
    const cs_context nearest = {.mode = CS_CONTEXT_NEAREST, .n = 4, .given = true};
    const cs_context nearest5 = {.mode = CS_CONTEXT_NEAREST, .n = 5, .given = true};
    expect_failure("masked:mask-ratio=0.9", nearest, 0, 300,
                   "nearest:4 under masked at length 300 has more than 1.05e+06 contexts per "
                   "target: give --tail 0.04 or --max-length 72");
    /* Fewer than n positions are kept whole, whatever the tail. */
    expect_failure("masked:unmasked=4", nearest5, 0, 300, "per target: give --max-length 43");
    expect_failure("ar", (cs_context){.mode = CS_CONTEXT_NEAREST}, 0, 4, "nearest:0");
    expect_failure("ar", (cs_context){.mode = CS_CONTEXT_EACH, .n = -1}, 0, 4, "each:-1");
    expect_failure("permuted-ar", (cs_context){.mode = CS_CONTEXT_NEAREST, .n = 3}, 0, 2000,
                   "nearest:3 under permuted-ar at length 2000");
    expect_failure("masked:unmasked=5", all, 0, 4, "5 unmasked");

    const char *const bad[] = {"nearest",  "nearest:", "nearest:0",  "nearest:-1", "nearest:2x",
                               "each:1e3", "all:2",    "document:1", "sometimes",  ""};
    cs_context context;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
        assert_fails(cs_context_parse(bad[i], &context), CS_ERR_USAGE, bad[i]);
    }
    cs_reason_clear();
}

/* Denominators that can be counted by hand. */
TEST(denominators_are_the_least)
{
    static const struct {
        const char *spec, *mode;
        int64_t length, expected;
    } cases[] = {
        {"ar", "all", 7, 1},
        {"diverse-ar:t=3", "all", 7, 6},
        {"ar", "each:4", 7, 12},
        {"masked:unmasked=2", "all", 4, 6},      /* C(4,2) sets, 2 targets each */
        {"masked:unmasked=1", "nearest:1", 4, 4} /* 3 targets of 4 sets, all nearest */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        cs_objective objective;
        cs_context_options options = {.objective = &objective};
        int64_t start = 0, document = 0;
        int32_t length = (int32_t)cases[i].length;
        cs_sequences sequences = one_sequence(&start, &length, &document);
        OK(cs_objective_parse(cases[i].spec, &objective));
        OK(cs_context_parse(cases[i].mode, &options.context));
        AUTO_OK(cs_context_plan, *plan, cs_context_prepare(&sequences, &options, &plan));
        assert_int_equal(cs_context_denominator(plan, false), cases[i].expected);
    }
}

static int by_key(const void *x, const void *y)
{
    return cs_hash_compare(*(const cs_hash128 *)x, *(const cs_hash128 *)y);
}

/* XXH3 mixes short inputs with the seed by an exclusive or, so small seeds and small numbers can
 * cancel: no two keys of any kinds may be equal. */
TEST(keys_of_all_kinds_differ)
{
    enum { KINDS = 5, WHERE = 64, WHAT = 64, KEYS = KINDS * 2 * WHERE * WHAT };
    CS_AUTO_FREE cs_hash128 *key = malloc(KEYS * sizeof *key);
    assert_non_null(key);
    int64_t n = 0;
    for (uint64_t kind = CS_KEY_ITEM; kind <= CS_KEY_DOCUMENT; ++kind) {
        for (int64_t where = -WHERE; where < WHERE; ++where) {
            for (int64_t what = 0; what < WHAT; ++what) {
                key[n++] = cs_key_of(kind, where, what);
            }
        }
    }
    assert_int_equal(n, KEYS);
    qsort(key, KEYS, sizeof *key, by_key);
    assert_each(i, 1, n, cs_hash_compare(key[i - 1], key[i]) != 0);
}

TEST(every_allocation_may_fail)
{
    int64_t s = 6;
    CS_AUTO(cs_corpus) corpus = small_corpus(1, &s, 5, 0, 1);
    const char *const specs[] = {"ar", "masked:unmasked=2", "masked:unmasked=2", "diverse-ar:t=2"};
    const char *const modes[] = {"all", "all", "nearest:2@3", "unique"};
    for (int i = 0; i < 7; ++i) { /* unique is not drawn */
        cs_objective objective;
        cs_context_options options = {.objective = &objective, .draws = i / 4};
        int64_t start = 0, document = 0;
        int32_t length = (int32_t)s;
        cs_sequences sequences = one_sequence(&start, &length, &document);
        OK(cs_objective_parse(specs[i % 4], &objective));
        OK(cs_context_parse(modes[i % 4], &options.context));
        EACH_ALLOCATION_FAILS(n) {
            CS_AUTO(cs_context_plan) *plan = NULL;
            double sum = 0;
            cs_status status = cs_context_prepare(&sequences, &options, &plan);
            if (status == CS_OK)
                status = cs_context_visit(plan, &corpus, &sequences, 0, sum_up, &sum, NULL);
            (void)out_of_memory(status);
        }
    }
}

/* Visits that succeed before one fails, after which none may be made. */
typedef struct {
    int64_t left;
    bool failed;
} visits;

static cs_status visit_some(void *ctx, const cs_contribution *c)
{
    visits *v = ctx;
    (void)c;
    assert_false(v->failed);
    v->failed = v->left-- == 0;
    return v->failed ? CS_ERR_IO : CS_OK;
}

/* Wherever a visit fails, the walk ends there, with its status. */
TEST(a_visit_that_fails_is_the_last)
{
    static const char *const specs[] = {"ar", "masked:unmasked=2", "permuted-ar", "diverse-ar:t=2"};
    static const char *const modes[] = {"all", "nearest:2", "each:2", "document", "unique"};
    int64_t s = 5, start = 0, document = 0;
    int32_t length = (int32_t)s;
    CS_AUTO(cs_corpus) corpus = small_corpus(1, &s, 1000, 0, 1);
    cs_sequences sequences = one_sequence(&start, &length, &document);
    for (int i = 0; i < 40; ++i) {
        cs_objective objective;
        cs_context_options options = {.objective = &objective, .draws = i < 20 ? 0 : 3};
        cs_context_plan *plan = NULL;
        OK(cs_objective_parse(specs[i % 4], &objective));
        OK(cs_context_parse(modes[i / 4 % 5], &options.context));
        if (options.draws > 0 && options.context.mode == CS_CONTEXT_UNIQUE) continue;
        OK(cs_context_prepare(&sequences, &options, &plan));
        cs_status status = CS_ERR_IO;
        for (int64_t n = 0; status != CS_OK; ++n) {
            visits v = {.left = n};
            status = cs_context_visit(plan, &corpus, &sequences, 0, visit_some, &v, NULL);
            assert_int_equal(status, v.failed ? CS_ERR_IO : CS_OK);
            assert_true(v.failed || n > 1);
        }
        cs_context_plan_free(&plan);
        assert_null(plan);
    }
}

/* Events, or draws of targets, or targets, times the places of one. */
TEST(contributions_are_bounded_in_closed_form)
{
    static const struct {
        const char *spec, *mode;
        int64_t draws, expected; /* at 7 positions */
    } cases[] = {
        {"ar", "all", 0, 6},
        {"ar", "document", 0, 6},
        {"ar", "each:2", 0, 6 * 2},
        {"ar", "each:9", 0, 6 * 6}, /* all positions other than the target */
        {"permuted-ar", "each:2", 0, 7 * 4},
        {"permuted-ar", "each:3", 0, 7 * 6},
        {"permuted-ar", "each:4", 0, 7 * 6},
        {"permuted-ar", "document", 0, 7},
        {"permuted-ar", "each:4", 5, 5 * 6 * 6},
        {"permuted-ar", "nearest:2", 5, 5 * 6},
        {"masked:unmasked=2", "all", 0, 21 * 5},
        {"ar", "unique", 0, 7},
    };
    int64_t start = 0, document = 0;
    int32_t length = 7;
    cs_sequences sequences = one_sequence(&start, &length, &document);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        cs_objective objective;
        cs_context_options options = {.objective = &objective, .draws = cases[i].draws};
        OK(cs_objective_parse(cases[i].spec, &objective));
        OK(cs_context_parse(cases[i].mode, &options.context));
        AUTO_OK(cs_context_plan, *plan, cs_context_prepare(&sequences, &options, &plan));
        assert_true(cs_context_contributions(plan, length) == (double)cases[i].expected);
    }
}

/* A mistyped mode gets a suggestion, with its number; each has another name. */
TEST(modes_have_names)
{
    static const test_refusal wrong[] = {
        {"neares:2", "unknown context 'neares:2' (all, nearest:N, each:W, document, unique); did "
                     "you mean nearest:2?"},
        {"documnet:2", "did you mean document?"},
        {"eahc:5", "did you mean each:5?"},
        {"sentence", "unknown context 'sentence' (all, nearest:N, each:W, document, unique)"},
        {"nearest", "context 'nearest': nearest:N needs an integer N in 1..1048576"},
        {"window:x", "context 'window:x': each:W needs an integer W in 1..1048576"},
        {"nearest:2@0",
         "needs an integer N in 1..1048576, optionally followed by @C, the columns of a"},
        {"nearest:2@", "context 'nearest:2@': nearest:N needs"},
        {"nearest:@2", "context 'nearest:@2': nearest:N needs"},
        {"nearest:2@3@4", "context 'nearest:2@3@4': nearest:N needs"},
        {"nearest:2@1048577", "@C, the columns of a plane, in the same"},
        {"nearest:0000000000000000000000001", "nearest:N needs an integer N in 1..1048576"},
        {"each:2@3", "context 'each:2@3': each:W needs an integer W in 1..1048576"},
        {"each:2:", "context 'each:2:': unknown counts of pairs '' (flat, linear, harmonic)"},
        {"each:2:cubic", "unknown counts of pairs 'cubic' (flat, linear, harmonic)"},
        {"each:x:flat", "context 'each:x:flat': each:W needs an integer W in 1..1048576"},
        {"nearest:2:flat", "context 'nearest:2:flat': nearest:N needs an integer"},
        {"all:3", "context 'all:3': all does not accept a number"}};
    static const struct {
        const char *text;
        cs_context context;
        bool tokens;
    } right[] = {{"full", {CS_CONTEXT_ALL, 1, false, 0, 0}, false},
                 {"nearest:2@3", {CS_CONTEXT_NEAREST, 2, true, 3, 0}, false},
                 {"closest:3", {CS_CONTEXT_NEAREST, 3, true, 0, 0}, false},
                 {"window:5", {CS_CONTEXT_EACH, 5, false, 0, 0}, true},
                 {"each:5:linear", {CS_CONTEXT_EACH, 5, false, 0, CS_PAIRS_LINEAR}, true},
                 {"each:2:flat", {CS_CONTEXT_EACH, 2, false, 0, CS_PAIRS_FLAT}, true},
                 {"doc", {CS_CONTEXT_DOCUMENT, 1, false, 0, 0}, false},
                 {"limit", {CS_CONTEXT_UNIQUE, 1, false, 0, 0}, true}};
    cs_context context;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; ++i) {
        cs_reason_clear();
        assert_int_equal(cs_context_parse(wrong[i].text, &context), CS_ERR_USAGE);
        assert_non_null(strstr(cs_reason(), wrong[i].reason));
    }
    cs_reason_clear();
    for (size_t i = 0; i < sizeof right / sizeof *right; ++i) {
        OK(cs_context_parse(right[i].text, &context));
        assert_int_equal(context.mode, right[i].context.mode);
        assert_int_equal(context.n, right[i].context.n);
        assert_int_equal(context.columns, right[i].context.columns);
        assert_int_equal(context.pairs, right[i].context.pairs);
        if (context.columns > 0 || context.pairs) {
            CS_AUTO_FREE char *again = cs_context_describe(&context);
            assert_string_equal(again, right[i].text);
        }
        assert_int_equal(cs_context_given(&context), right[i].context.given);
        assert_int_equal(cs_context_rows_are_tokens(&context), right[i].tokens);
    }
}

static cs_status count_positive(void *ctx, const cs_contribution *c)
{
    assert_true(c->weight > 0);
    *(int64_t *)ctx += 1;
    return CS_OK;
}

/* Where the mask covers all no place of a window holds anything: nothing is visited, all is dropped;
 * and no contribution of any objective weighs nothing. */
TEST(nothing_is_visited_without_weight)
{
    static const char *const specs[] = {"masked:unmasked=0,empty-prefix=shared",
                                        "variable-masked:unmasked=0:1,empty-prefix=shared",
                                        "bernoulli-masked:mask-ratio=0.5,empty-prefix=class",
                                        "masked:unmasked=2",
                                        "permuted-ar",
                                        "ar:empty-prefix=shared",
                                        "group-ar:t=2"};
    static const char *const modes[] = {"all",    "nearest:1", "nearest:3", "each:1",
                                        "each:9", "document",  "unique"};
    int64_t s = 6, start = 0, document = 0;
    int32_t length = (int32_t)s;
    CS_AUTO(cs_corpus) corpus = small_corpus(1, &s, 5, 1, 1);
    cs_sequences sequences = one_sequence(&start, &length, &document);
    for (size_t i = 0; i < sizeof specs / sizeof *specs * 7; ++i) {
        cs_objective objective;
        cs_context_options options = {.objective = &objective};
        int64_t made = 0;
        double dropped = 0;
        OK(cs_objective_parse(specs[i / 7], &objective));
        OK(cs_context_parse(modes[i % 7], &options.context));
        AUTO_OK(cs_context_plan, *plan, cs_context_prepare(&sequences, &options, &plan));
        OK(cs_context_visit(plan, &corpus, &sequences, 0, count_positive, &made, &dropped));
        assert_true((double)made <= cs_context_contributions(plan, s));
        const bool each = options.context.mode == CS_CONTEXT_EACH;
        assert_true((made == 0) == (i / 7 == 0 && each));
        assert_true(i / 7 > 0 || !each || fabs(dropped - 1) < 1e-15);
    }
}
