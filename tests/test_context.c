/* cooc/context: exact weights against enumeration of every conditioning set, keys and
 * sampled plans. */
#include "context_support.h"
#include "plan/spec.h"
#include "small_corpus.h"
#include "test.h"

TEST(masked_weights_are_exact)
{
    context_check("masked:unmasked=1", 2, 8);
    context_check("masked:unmasked=4", 5, 10);
    context_check("masked:mask-ratio=0.15", 2, 10);
    context_check("variable-masked:unmasked=1:4", 5, 8);
    context_check("variable-masked:unmasked=1:4,event-weight=mask", 5, 8);
    context_check("bernoulli-masked:mask-ratio=0.4", 2, 7);
    context_check("bernoulli-masked:mask-ratio=0.4,empty-prefix=shared,event-weight=mask", 2, 6);
}

TEST(permuted_weights_are_exact)
{
    context_check("permuted-ar", 2, 8);
    context_check("permuted-ar:empty-prefix=class", 2, 6);
    context_check("gvp:segmentation=fixed,groups=2", 3, 8);
    context_check("gvp:segmentation=random,groups=2", 3, 8);
    context_check("gvp:segmentation=random,groups=3,event-weight=mask", 4, 8);
    context_check("gvp:segmentation=mixed,groups=2", 4, 8);
}

TEST(prefix_weights_are_exact)
{
    context_check("ar", 2, 10);
    context_check("ar:empty-prefix=shared", 2, 6);
    context_check("diverse-ar:t=3", 2, 9);
    context_check("offset-ar:offset-weights=power:1", 2, 7);
    context_check("group-ar:t=2", 3, 7);
}

TEST(mixed_weights_are_exact)
{
    context_check("mix:0.5*ar+0.5*masked(mask-ratio=0.15)", 2, 9);
    context_check("mix:1*ar+2*permuted-ar,empty-prefix=shared,event-weight=mask", 1, 7);
    context_check("mix:1*group-ar(t=2)+1*gvp(groups=2)", 3, 7);
    context_check("mix:1*diverse-ar(t=2)+1*bernoulli-masked(mask-ratio=0.4),empty-prefix=class", 2,
                  6);
}

/* Under ar and nearest:2 the rows are trigram histories, each with the same weight. */
TEST(ar_nearest_is_an_ngram)
{
    int64_t s = 5, start = 0, document = 0;
    int32_t length = 5;
    CS_AUTO(cs_corpus) corpus = small_corpus(1, &s, 1000, 0, 1);
    cs_objective ar = cs_objective_default(CS_OBJ_AR);
    cs_sequences sequences = one_sequence(&start, &length, &document);
    cs_context_options options = {.objective = &ar,
                                  .context = {.mode = CS_CONTEXT_NEAREST, .n = 2}};
    context_table t = {.mode = CS_CONTEXT_NEAREST, .last_ordinal = -1};
    AUTO_OK(cs_context_plan, *plan, cs_context_prepare(&sequences, &options, &plan));
    assert_int_equal(cs_context_denominator(plan, false), 1);
    OK(cs_context_visit(plan, &corpus, &sequences, 0, context_collect, &t, NULL));
    assert_int_equal(t.count, 4);
    for (int64_t k = 1; k < 5; ++k) {
        char row[CONTEXT_ROW_TEXT];
        if (k == 1) {
            (void)snprintf(row, sizeof row, "-1:%d #", corpus.token[0]);
        } else {
            (void)snprintf(row, sizeof row, "-2:%d -1:%d ", corpus.token[k - 2],
                           corpus.token[k - 1]);
        }
        assert_string_equal(t.entry[k - 1].row, row);
        assert_int_equal(t.entry[k - 1].token, corpus.token[k]);
        assert_true(fabs(t.entry[k - 1].weight - 0.25) < 1e-15);
    }
    free(t.entry);
}

static void gather(const char *spec, const char *mode, const cs_corpus *corpus, int64_t s,
                   context_table *t, double *dropped)
{
    cs_objective objective;
    cs_context context;
    OK(cs_objective_parse(spec, &objective));
    OK(cs_context_parse(mode, &context));
    int64_t start = 0, document = 0;
    int32_t length = (int32_t)s;
    cs_sequences sequences = one_sequence(&start, &length, &document);
    cs_context_options options = {.objective = &objective, .context = context};
    *t = (context_table){.mode = context.mode, .last_ordinal = -1};
    AUTO_OK(cs_context_plan, *plan, cs_context_prepare(&sequences, &options, &plan));
    OK(cs_context_visit(plan, corpus, &sequences, 0, context_collect, t, dropped));
}

/* The same context has the same key whichever objective it comes from. */
TEST(keys_agree_between_objectives)
{
    int64_t s = 6;
    double dropped;
    CS_AUTO(cs_corpus) corpus = small_corpus(1, &s, 50, 0, 7);
    const char *const specs[] = {"ar", "masked:unmasked=3", "permuted-ar", "diverse-ar:t=2"};
    const char *const modes[] = {"all", "nearest:2", "each:3"};
    for (size_t m = 0; m < 3; ++m) {
        context_table all = {0};
        for (size_t o = 0; o < 4; ++o) {
            context_table t;
            gather(specs[o], modes[m], &corpus, s, &t, &dropped);
            for (int64_t i = 0; i < t.count; ++i) {
                context_put(&all, &t.entry[i]);
            }
            free(t.entry);
        }
        context_add_up(&all, true); /* asserts key equality within a row, inequality between */
        free(all.entry);
    }
}

static cs_status collect_any_order(void *ctx, const cs_contribution *c)
{
    ((context_table *)ctx)->last_ordinal = -1;
    return context_collect(ctx, c);
}

/* Sampled plans approach the exact weights: with d draws an entry of weight w has a standard error
 * below sqrt(w s / d) (at most one event of weight <= 1 hits it per draw of mean weight 1). */
TEST(draws_approach_exact_weights)
{
    enum { DRAWS = 20000 };
    int64_t s = 6;
    CS_AUTO(cs_corpus) corpus = small_corpus(1, &s, 1000, 0, 3);
    const char *const specs[] = {"masked:unmasked=3",
                                 "variable-masked:unmasked=1:4",
                                 "variable-masked:unmasked=1:4,event-weight=mask",
                                 "permuted-ar",
                                 "ar",
                                 "diverse-ar:t=3",
                                 "group-ar:t=9,event-weight=mask",
                                 "bernoulli-masked:mask-ratio=0.5,event-weight=mask",
                                 "bernoulli-masked:mask-ratio=0.5"};
    for (size_t o = 0; o < sizeof specs / sizeof *specs; ++o) {
        for (size_t m = 0; m < CONTEXT_MODES; ++m) {
            cs_objective objective;
            cs_context context;
            OK(cs_objective_parse(specs[o], &objective));
            OK(cs_context_parse(context_modes[m], &context));
            context_table exact, got = {.mode = context.mode};
            double exact_dropped, dropped;
            gather(specs[o], context_modes[m], &corpus, s, &exact, &exact_dropped);
            int64_t start = 0, document = 0;
            int32_t length = (int32_t)s;
            cs_sequences sequences = one_sequence(&start, &length, &document);
            cs_context_options options = {
                .objective = &objective, .context = context, .draws = DRAWS, .seed = 5};
            AUTO_OK(cs_context_plan, *plan, cs_context_prepare(&sequences, &options, &plan));
            OK(cs_context_visit(plan, &corpus, &sequences, 0, collect_any_order, &got, &dropped));
            /* The total is 1 in expectation, with a standard error below 1/sqrt(draws). */
            assert_true(context.pairs || fabs(got.sum + dropped - 1) < 5 / sqrt(DRAWS));
            context_add_up(&exact, true);
            context_add_up(&got, true);
            assert_true(got.count <= exact.count);
            for (int64_t i = 0, j = 0; i < exact.count; ++i) {
                double w = exact.entry[i].weight, v = 0;
                if (j < got.count && context_by_row(&got.entry[j], &exact.entry[i]) == 0) {
                    v = got.entry[j++].weight;
                }
                assert_true(fabs(v - w) < 6 * sqrt(w * (double)s / DRAWS));
            }
            free(exact.entry);
            free(got.entry);
        }
    }
}
