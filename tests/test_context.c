/* cooc/context: exact weights against enumeration of every conditioning set, keys and
 * sampled plans. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cooc/context_private.h"
#include "plan/pairs.h"
#include "plan/plan_file.h"
#include "plan/spec.h"
#include "plan_support.h"
#include "small_corpus.h"
#include "test.h"

enum { ROW_TEXT = 160 };

/* A row written out, so that the reference shares nothing with keys. */
typedef struct {
    char row[ROW_TEXT];
    cs_hash128 key;
    int32_t token;
    double weight;
} entry;

typedef struct {
    entry *entry;
    int64_t count, room;
    bool given;
    cs_context_mode mode;
    int64_t last_ordinal;
    double sum;
} table;

static void put(table *t, const entry *e)
{
    if (t->count == t->room) {
        t->room = 2 * t->room + 256;
        t->entry = realloc(t->entry, (size_t)t->room * sizeof *t->entry);
        assert_non_null(t->entry);
    }
    t->entry[t->count++] = *e;
    t->sum += e->weight;
}

typedef struct {
    int32_t position, token;
} item;

static int by_position(const void *x, const void *y)
{
    const item *a = x, *b = y;
    return (a->position > b->position) - (a->position < b->position);
}

/* Items in order of position, "2:7 3:0 @5"; marks (token -1) are "#". */
static void write_row(item *items, int64_t n, int64_t target, char *out)
{
    qsort(items, (size_t)n, sizeof *items, by_position);
    size_t used = 0;
    out[0] = '\0';
    for (int64_t i = 0; i < n; ++i) {
        if (items[i].token >= 0) {
            used += (size_t)snprintf(out + used, ROW_TEXT - used, "%d:%d ", items[i].position,
                                     items[i].token);
        }
        assert_true(used < ROW_TEXT);
    }
    for (int64_t i = 0; i < n; ++i) {
        used += (size_t)snprintf(out + used, ROW_TEXT - used, "%s", items[i].token < 0 ? "#" : "");
    }
    if (target >= 0) {
        (void)snprintf(out + used, ROW_TEXT - used, "@%lld", (long long)target);
    }
}

static cs_status collect(void *ctx, const cs_contribution *c)
{
    table *t = ctx;
    item items[16];
    entry e = {.key = c->key, .token = c->token, .weight = c->weight};
    assert_true(c->items <= 16);
    assert_true(c->weight > 0);
    assert_true(c->ordinal > t->last_ordinal);
    t->last_ordinal = c->ordinal;
    for (int64_t i = 0; i < c->items; ++i) {
        bool blind = t->mode == CS_CONTEXT_EACH && !t->given;
        items[i] = (item){blind ? 0 : c->position[i], c->content[i]};
    }
    bool tells = t->given && (t->mode == CS_CONTEXT_ALL || t->mode == CS_CONTEXT_DOCUMENT);
    write_row(items, c->items, tells ? c->target : -1, e.row);
    put(t, &e);
    return CS_OK;
}

/* The rows of one event, straight from the definition. */
static void reference_event(table *t, const cs_corpus *corpus, const cs_context *context, int64_t s,
                            const bool *in, int64_t k, double weight, double *dropped)
{
    item items[16];
    entry e = {.token = corpus->token[k], .weight = weight};
    int64_t n = 0;
    if (context->mode == CS_CONTEXT_ALL || context->mode == CS_CONTEXT_DOCUMENT) {
        for (int32_t i = 0; i < s && context->mode == CS_CONTEXT_ALL; ++i) {
            if (in[i]) {
                items[n++] = (item){i, corpus->token[i]};
            }
        }
        write_row(items, n, context->given ? k : -1, e.row);
        put(t, &e);
        return;
    }
    if (context->mode == CS_CONTEXT_NEAREST) {
        for (int64_t d = 1; d < s && n < context->n; ++d) {
            for (int64_t sign = -1; sign <= 1 && n < context->n; sign += 2) {
                int64_t p = k + sign * d;
                if (p >= 0 && p < s && in[p]) {
                    items[n++] = (item){(int32_t)(p - k), corpus->token[p]};
                }
            }
        }
        while (n < context->n) {
            items[n++] = (item){0, -1};
        }
        write_row(items, n, -1, e.row);
        put(t, &e);
        return;
    }
    for (int64_t p = 0; p < s; ++p) {
        n += in[p] && llabs(p - k) <= context->n;
    }
    if (n == 0) {
        *dropped += weight;
        return;
    }
    e.weight = weight / (double)n;
    for (int64_t p = 0; p < s; ++p) {
        if (in[p] && llabs(p - k) <= context->n) {
            items[0] = (item){context->given ? (int32_t)(p - k) : 0, corpus->token[p]};
            write_row(items, 1, -1, e.row);
            put(t, &e);
        }
    }
}

static int by_row(const void *x, const void *y)
{
    const entry *a = x, *b = y;
    int order = strcmp(a->row, b->row);
    return order != 0 ? order : (a->token > b->token) - (a->token < b->token);
}

/* Sorts and adds equal rows; keys of one row must agree. */
static void add_up(table *t, bool keys)
{
    if (t->count > 0) qsort(t->entry, (size_t)t->count, sizeof *t->entry, by_row);
    int64_t kept = 0;
    for (int64_t i = 0; i < t->count; ++i) {
        entry *last = kept > 0 ? &t->entry[kept - 1] : NULL;
        bool same_row = last && strcmp(last->row, t->entry[i].row) == 0;
        if (keys && last) {
            assert_int_equal(cs_hash_compare(last->key, t->entry[i].key) == 0, same_row);
        }
        if (same_row && last->token == t->entry[i].token) {
            last->weight += t->entry[i].weight;
        } else {
            t->entry[kept++] = t->entry[i];
        }
    }
    t->count = kept;
}

static void check_against_enumeration(const char *spec, const char *mode, bool given, int64_t s,
                                      int64_t vocab)
{
    cs_objective objective;
    cs_context context;
    cs_pairs expanded = {0};
    cs_plan_file file = {0};
    OK(cs_objective_parse_held(spec, &file, &objective));
    OK(cs_context_parse(mode, &context));
    context.given = given;
    OK(cs_pairs_of(&objective, s, &expanded));
    OK(cs_pairs_expand(&expanded, 1 << 20));
    cs_corpus corpus = small_corpus(1, &s, vocab, 1, (uint64_t)s);

    table want = {.given = given, .mode = context.mode};
    double want_dropped = 0, dropped = -1;
    for (int64_t e = 0; e < expanded.events; ++e) {
        bool in[16] = {false};
        const unsigned mask = plan_mask(&expanded, e);
        for (int64_t i = 0; i < s; ++i) {
            in[i] = mask >> i & 1;
        }
        reference_event(&want, &corpus, &context, s, in, expanded.target[e], expanded.weight[e],
                        &want_dropped);
    }
    int64_t start = 0, document = 0;
    int32_t length = (int32_t)s;
    cs_sequences sequences = one_sequence(&start, &length, &document);
    cs_context_options options = {.objective = &objective, .context = context};
    cs_context_plan *plan = NULL;
    OK(cs_context_prepare(&sequences, &options, &plan));
    table got = {.given = given, .mode = context.mode, .last_ordinal = -1};
    OK(cs_context_visit(plan, &corpus, &sequences, 0, collect, &got, &dropped));
    /* The enumeration adds up to 6000 events one by one: n / 2 units of rounding, 7e-13. What
     * nearest drops is below 2^-50. */
    const double tolerance = 1e-12;
    assert_true(fabs(got.sum + dropped - 1) < 10 * tolerance);
    assert_true(fabs(dropped - want_dropped) < tolerance);
    int64_t d = cs_context_denominator(plan, false);
    for (int64_t i = 0; i < got.count && d > 0; ++i) {
        double units = got.entry[i].weight * cs_context_predicted(plan, s) * (double)d;
        assert_true(fabs(units - rint(units)) < 1e-6 && rint(units) >= 1);
    }
    add_up(&want, false);
    add_up(&got, true);
    assert_int_equal(got.count, want.count);
    for (int64_t i = 0; i < got.count; ++i) {
        assert_string_equal(got.entry[i].row, want.entry[i].row);
        assert_int_equal(got.entry[i].token, want.entry[i].token);
        assert_true(fabs(got.entry[i].weight - want.entry[i].weight) < tolerance);
    }
    free(want.entry);
    free(got.entry);
    cs_context_plan_free(&plan);
    cs_pairs_free(&expanded);
    cs_plan_file_free(&file);
    cs_corpus_free(&corpus);
}

static const char *const MODES[] = {"all",    "nearest:1", "nearest:2", "nearest:3",
                                    "each:1", "each:2",    "each:9",    "document"};

static void check_objective(const char *spec, int64_t shortest, int64_t longest)
{
    for (int64_t s = shortest; s <= longest; ++s) {
        for (size_t m = 0; m < sizeof MODES / sizeof *MODES; ++m) {
            for (int given = 0; given < 2; ++given) {
                check_against_enumeration(spec, MODES[m], given, s, 3);
                check_against_enumeration(spec, MODES[m], given, s, 1000);
            }
        }
    }
}

TEST(masked_weights_are_exact)
{
    check_objective("masked:unmasked=1", 2, 8);
    check_objective("masked:unmasked=4", 5, 10);
    check_objective("masked:mask-ratio=0.15", 2, 10);
    check_objective("variable-masked:unmasked=1:4", 5, 8);
    check_objective("variable-masked:unmasked=1:4,event-weight=mask", 5, 8);
    check_objective("bernoulli-masked:mask-ratio=0.4", 2, 7);
    check_objective("bernoulli-masked:mask-ratio=0.4,empty-prefix=shared,event-weight=mask", 2, 6);
}

TEST(permuted_weights_are_exact)
{
    check_objective("permuted-ar", 2, 8);
    check_objective("permuted-ar:empty-prefix=class", 2, 6);
    check_objective("gvp:segmentation=fixed,groups=2", 3, 8);
    check_objective("gvp:segmentation=random,groups=2", 3, 8);
    check_objective("gvp:segmentation=random,groups=3,event-weight=mask", 4, 8);
    check_objective("gvp:segmentation=mixed,groups=2", 4, 8);
}

TEST(prefix_weights_are_exact)
{
    check_objective("ar", 2, 10);
    check_objective("ar:empty-prefix=shared", 2, 6);
    check_objective("diverse-ar:t=3", 2, 9);
    check_objective("offset-ar:offset-weights=power:1", 2, 7);
    check_objective("group-ar:t=2", 3, 7);
}

TEST(mixed_weights_are_exact)
{
    check_objective("mix:0.5*ar+0.5*masked(mask-ratio=0.15)", 2, 9);
    check_objective("mix:1*ar+2*permuted-ar,empty-prefix=shared,event-weight=mask", 1, 7);
    check_objective("mix:1*group-ar(t=2)+1*span-masked(mask-ratio=0.5,t=2)", 3, 7);
    check_objective("mix:1*diverse-ar(t=2)+1*bernoulli-masked(mask-ratio=0.4),empty-prefix=class",
                    2, 6);
}

/* Under ar and nearest:2 the rows are trigram histories, each with the same weight. */
TEST(ar_nearest_is_an_ngram)
{
    int64_t s = 5, start = 0, document = 0;
    int32_t length = 5;
    cs_corpus corpus = small_corpus(1, &s, 1000, 0, 1);
    cs_objective ar = cs_objective_default(CS_OBJ_AR);
    cs_sequences sequences = one_sequence(&start, &length, &document);
    cs_context_options options = {.objective = &ar, .context = {CS_CONTEXT_NEAREST, 2, false}};
    cs_context_plan *plan = NULL;
    table t = {.mode = CS_CONTEXT_NEAREST, .last_ordinal = -1};
    OK(cs_context_prepare(&sequences, &options, &plan));
    assert_int_equal(cs_context_denominator(plan, false), 1);
    OK(cs_context_visit(plan, &corpus, &sequences, 0, collect, &t, NULL));
    assert_int_equal(t.count, 4);
    for (int64_t k = 1; k < 5; ++k) {
        char row[ROW_TEXT];
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
    cs_context_plan_free(&plan);
    cs_corpus_free(&corpus);
}

static void gather(const char *spec, const char *mode, int64_t draws, uint64_t seed,
                   const cs_corpus *corpus, int64_t s, table *t, double *dropped)
{
    cs_objective objective;
    cs_context context;
    OK(cs_objective_parse(spec, &objective));
    OK(cs_context_parse(mode, &context));
    int64_t start = 0, document = 0;
    int32_t length = (int32_t)s;
    cs_sequences sequences = one_sequence(&start, &length, &document);
    cs_context_options options = {
        .objective = &objective, .context = context, .draws = draws, .seed = seed};
    cs_context_plan *plan = NULL;
    *t = (table){.mode = context.mode, .last_ordinal = -1};
    OK(cs_context_prepare(&sequences, &options, &plan));
    OK(cs_context_visit(plan, corpus, &sequences, 0, collect, t, dropped));
    cs_context_plan_free(&plan);
}

/* The same context has the same key whichever objective it comes from. */
TEST(keys_agree_between_objectives)
{
    int64_t s = 6;
    double dropped;
    cs_corpus corpus = small_corpus(1, &s, 50, 0, 7);
    const char *const specs[] = {"ar", "masked:unmasked=3", "permuted-ar", "diverse-ar:t=2"};
    const char *const modes[] = {"all", "nearest:2", "each:3"};
    for (size_t m = 0; m < 3; ++m) {
        table all = {0};
        for (size_t o = 0; o < 4; ++o) {
            table t;
            gather(specs[o], modes[m], 0, 0, &corpus, s, &t, &dropped);
            for (int64_t i = 0; i < t.count; ++i) {
                put(&all, &t.entry[i]);
            }
            free(t.entry);
        }
        add_up(&all, true); /* asserts key equality within a row, inequality between */
        free(all.entry);
    }
    cs_corpus_free(&corpus);
}

static cs_status collect_any_order(void *ctx, const cs_contribution *c)
{
    ((table *)ctx)->last_ordinal = -1;
    return collect(ctx, c);
}

/* Sampled plans approach the exact weights: with d draws an entry of weight w has a standard error
 * below sqrt(w s / d) (at most one event of weight <= 1 hits it per draw of mean weight 1). */
TEST(draws_approach_exact_weights)
{
    enum { DRAWS = 20000 };
    int64_t s = 6;
    cs_corpus corpus = small_corpus(1, &s, 1000, 0, 3);
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
        for (size_t m = 0; m < sizeof MODES / sizeof *MODES; ++m) {
            cs_objective objective;
            cs_context context;
            OK(cs_objective_parse(specs[o], &objective));
            OK(cs_context_parse(MODES[m], &context));
            table exact, got = {.mode = context.mode};
            double exact_dropped, dropped;
            gather(specs[o], MODES[m], 0, 0, &corpus, s, &exact, &exact_dropped);
            int64_t start = 0, document = 0;
            int32_t length = (int32_t)s;
            cs_sequences sequences = one_sequence(&start, &length, &document);
            cs_context_options options = {
                .objective = &objective, .context = context, .draws = DRAWS, .seed = 5};
            cs_context_plan *plan = NULL;
            OK(cs_context_prepare(&sequences, &options, &plan));
            OK(cs_context_visit(plan, &corpus, &sequences, 0, collect_any_order, &got, &dropped));
            cs_context_plan_free(&plan);
            /* The total is 1 in expectation, with a standard error below 1/sqrt(draws). */
            assert_true(fabs(got.sum + dropped - 1) < 5 / sqrt(DRAWS));
            add_up(&exact, true);
            add_up(&got, true);
            assert_true(got.count <= exact.count);
            for (int64_t i = 0, j = 0; i < exact.count; ++i) {
                double w = exact.entry[i].weight, v = 0;
                if (j < got.count && by_row(&got.entry[j], &exact.entry[i]) == 0) {
                    v = got.entry[j++].weight;
                }
                assert_true(fabs(v - w) < 6 * sqrt(w * (double)s / DRAWS));
            }
            free(exact.entry);
            free(got.entry);
        }
    }
    cs_corpus_free(&corpus);
}
