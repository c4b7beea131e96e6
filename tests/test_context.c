/* cooc/context: exact weights against enumeration of every conditioning set, keys, denominators,
 * sampled plans, bad input. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "cooc/context_private.h"
#include "plan/pairs.h"
#include "plan/spec.h"
#include "small_corpus.h"

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
    qsort(t->entry, (size_t)t->count, sizeof *t->entry, by_row);
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

static cs_sequences one_sequence(int64_t *start, int32_t *length, int64_t *document)
{
    return (cs_sequences){.count = 1, .start = start, .length = length, .document = document};
}

static void check_against_enumeration(const char *spec, const char *mode, bool given, int64_t s,
                                      int64_t vocab)
{
    cs_objective objective;
    cs_context context;
    cs_pairs pairs = {0}, expanded = {0};
    assert_int_equal(cs_objective_parse(spec, &objective), CS_OK);
    assert_int_equal(cs_context_parse(mode, &context), CS_OK);
    context.given = given;
    assert_int_equal(cs_pairs_of(&objective, s, &pairs), CS_OK);
    assert_int_equal(cs_pairs_expand(&pairs, 1 << 20, &expanded), CS_OK);
    cs_corpus corpus = small_corpus(1, &s, vocab, 1, (uint64_t)s);

    table want = {.given = given, .mode = context.mode};
    double want_dropped = 0, dropped = -1;
    for (int64_t e = 0; e < expanded.events; ++e) {
        bool in[16] = {false};
        for (int64_t i = expanded.set_ptr[expanded.set[e]];
             i < expanded.set_ptr[expanded.set[e] + 1]; ++i) {
            in[expanded.set_pos[i]] = true;
        }
        reference_event(&want, &corpus, &context, s, in, expanded.target[e], expanded.weight[e],
                        &want_dropped);
    }
    int64_t start = 0, document = 0;
    int32_t length = (int32_t)s;
    cs_sequences sequences = one_sequence(&start, &length, &document);
    cs_context_options options = {.objective = &objective, .context = context};
    cs_context_plan *plan = NULL;
    assert_int_equal(cs_context_prepare(&sequences, &options, &plan), CS_OK);
    table got = {.given = given, .mode = context.mode, .last_ordinal = -1};
    assert_int_equal(cs_context_visit(plan, &corpus, &sequences, 0, collect, &got, &dropped),
                     CS_OK);
    /* The enumeration adds up to 6000 events one by one: n / 2 units of rounding, 7e-13. What
     * nearest drops is below 2^-50. */
    const double tolerance = 1e-12;
    assert_true(fabs(got.sum + dropped - 1) < 10 * tolerance);
    assert_true(fabs(dropped - want_dropped) < tolerance);
    int64_t d = cs_context_denominator(plan);
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
    cs_pairs_free(&pairs);
    cs_pairs_free(&expanded);
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

static void masked_weights_are_exact(void **state)
{
    (void)state;
    check_objective("masked:unmasked=1", 2, 8);
    check_objective("masked:unmasked=4", 5, 10);
    check_objective("masked:mask-ratio=0.15", 2, 10);
    check_objective("variable-masked:unmasked=1:4", 5, 8);
    check_objective("variable-masked:unmasked=1:4,event-weight=mask", 5, 8);
    check_objective("bernoulli-masked:mask-ratio=0.4", 2, 7);
    check_objective("bernoulli-masked:mask-ratio=0.4,empty-prefix=shared,event-weight=mask", 2, 6);
}

static void permuted_weights_are_exact(void **state)
{
    (void)state;
    check_objective("permuted-ar", 2, 8);
    check_objective("permuted-ar:empty-prefix=class", 2, 6);
    check_objective("gvp:segmentation=fixed,groups=2", 3, 8);
    check_objective("gvp:segmentation=random,groups=2", 3, 8);
    check_objective("gvp:segmentation=random,groups=3,event-weight=mask", 4, 8);
    check_objective("gvp:segmentation=mixed,groups=2", 4, 8);
}

static void prefix_weights_are_exact(void **state)
{
    (void)state;
    check_objective("ar", 2, 10);
    check_objective("ar:empty-prefix=shared", 2, 6);
    check_objective("diverse-ar:t=3", 2, 9);
    check_objective("offset-ar:offset-weights=power:1", 2, 7);
    check_objective("group-ar:t=2", 3, 7);
}

/* Under ar and nearest:2 the rows are trigram histories, each with the same weight. */
static void ar_nearest_is_an_ngram(void **state)
{
    (void)state;
    int64_t s = 5, start = 0, document = 0;
    int32_t length = 5;
    cs_corpus corpus = small_corpus(1, &s, 1000, 0, 1);
    cs_objective ar = cs_objective_default(CS_OBJ_AR);
    cs_sequences sequences = one_sequence(&start, &length, &document);
    cs_context_options options = {.objective = &ar, .context = {CS_CONTEXT_NEAREST, 2, false}};
    cs_context_plan *plan = NULL;
    table t = {.mode = CS_CONTEXT_NEAREST, .last_ordinal = -1};
    assert_int_equal(cs_context_prepare(&sequences, &options, &plan), CS_OK);
    assert_int_equal(cs_context_denominator(plan), 1);
    assert_int_equal(cs_context_visit(plan, &corpus, &sequences, 0, collect, &t, NULL), CS_OK);
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
    assert_int_equal(cs_objective_parse(spec, &objective), CS_OK);
    assert_int_equal(cs_context_parse(mode, &context), CS_OK);
    int64_t start = 0, document = 0;
    int32_t length = (int32_t)s;
    cs_sequences sequences = one_sequence(&start, &length, &document);
    cs_context_options options = {
        .objective = &objective, .context = context, .draws = draws, .seed = seed};
    cs_context_plan *plan = NULL;
    *t = (table){.mode = context.mode, .last_ordinal = -1};
    assert_int_equal(cs_context_prepare(&sequences, &options, &plan), CS_OK);
    assert_int_equal(cs_context_visit(plan, corpus, &sequences, 0, collect, t, dropped), CS_OK);
    cs_context_plan_free(&plan);
}

/* The same context has the same key whichever objective it comes from. */
static void keys_agree_between_objectives(void **state)
{
    (void)state;
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
static void draws_approach_exact_weights(void **state)
{
    (void)state;
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
            assert_int_equal(cs_objective_parse(specs[o], &objective), CS_OK);
            assert_int_equal(cs_context_parse(MODES[m], &context), CS_OK);
            table exact, got = {.mode = context.mode};
            double exact_dropped, dropped;
            gather(specs[o], MODES[m], 0, 0, &corpus, s, &exact, &exact_dropped);
            int64_t start = 0, document = 0;
            int32_t length = (int32_t)s;
            cs_sequences sequences = one_sequence(&start, &length, &document);
            cs_context_options options = {
                .objective = &objective, .context = context, .draws = DRAWS, .seed = 5};
            cs_context_plan *plan = NULL;
            assert_int_equal(cs_context_prepare(&sequences, &options, &plan), CS_OK);
            assert_int_equal(
                cs_context_visit(plan, &corpus, &sequences, 0, collect_any_order, &got, &dropped),
                CS_OK);
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

static cs_status sum_up(void *ctx, const cs_contribution *c)
{
    *(double *)ctx += c->weight;
    return CS_OK;
}

/* A long document: nearness decays geometrically, so few patterns hold all but 2^-50. */
static void long_documents_are_within_reach(void **state)
{
    (void)state;
    int64_t s = 20000;
    cs_corpus corpus = small_corpus(1, &s, 100, 0, 9);
    int64_t start = 0, document = 0;
    int32_t length = (int32_t)s;
    cs_sequences sequences = one_sequence(&start, &length, &document);
    const char *const specs[] = {"ar", "masked:mask-ratio=0.15",
                                 "variable-masked:mask-ratio=0.1:0.2"};
    const char *const modes[] = {"nearest:2", "each:5"};
    for (int i = 0; i < 6; ++i) {
        cs_objective objective;
        cs_context_options options = {.objective = &objective};
        cs_context_plan *plan = NULL;
        double sum = 0, dropped = 0;
        assert_int_equal(cs_objective_parse(specs[i / 2], &objective), CS_OK);
        assert_int_equal(cs_context_parse(modes[i % 2], &options.context), CS_OK);
        assert_int_equal(cs_context_prepare(&sequences, &options, &plan), CS_OK);
        assert_int_equal(cs_context_visit(plan, &corpus, &sequences, 0, sum_up, &sum, &dropped),
                         CS_OK);
        /* Up to 4e6 terms, n / 2 units of rounding: 4.5e-10. */
        assert_true(fabs(sum + dropped - 1) < 5e-10);
        assert_true(i % 2 == 1 || dropped < 0x1p-49);
        cs_context_plan_free(&plan);
    }
    cs_corpus_free(&corpus);
}

static void expect_failure(const char *spec, cs_context context, int64_t draws, int64_t s,
                           const char *words)
{
    cs_objective objective;
    cs_reason_clear();
    assert_int_equal(cs_objective_parse(spec, &objective), CS_OK);
    int64_t start = 0, document = 0;
    int32_t length = (int32_t)s;
    cs_sequences sequences = one_sequence(&start, &length, &document);
    cs_context_options options = {.objective = &objective, .context = context, .draws = draws};
    cs_context_plan *plan = NULL;
    assert_int_equal(cs_context_prepare(&sequences, &options, &plan), CS_ERR_USAGE);
    assert_null(plan);
    if (!strstr(cs_reason(), words)) {
        fail_msg("'%s' does not hold '%s'", cs_reason(), words);
    }
    cs_reason_clear();
}

/* What the refusals suggest is accepted, and nothing below 2^20 patterns a target is refused. */
static void suggested_limits_are_enough(void **state)
{
    (void)state;
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
        assert_int_equal(cs_objective_parse(cases[i].spec, &objective), CS_OK);
        int64_t start = 0, document = 0;
        int32_t length = (int32_t)cases[i].length;
        cs_sequences sequences = one_sequence(&start, &length, &document);
        cs_context_options options = {.objective = &objective,
                                      .context = {CS_CONTEXT_NEAREST, cases[i].n, true},
                                      .tail = cases[i].tail};
        cs_context_plan *plan = NULL;
        assert_int_equal(cs_context_prepare(&sequences, &options, &plan), CS_OK);
        cs_context_plan_free(&plan);
    }
}

/* A corpus may be too large where each of its targets is not. */
static void too_many_in_all_is_named(void **state)
{
    (void)state;
    enum { COUNT = 20000 };
    static int64_t start[COUNT], document[COUNT];
    static int32_t length[COUNT];
    for (int i = 0; i < COUNT; ++i) {
        length[i] = 67;
    }
    cs_sequences sequences = {
        .count = COUNT, .start = start, .length = length, .document = document};
    cs_objective objective;
    assert_int_equal(cs_objective_parse("masked:mask-ratio=0.5", &objective), CS_OK);
    cs_context_options options = {.objective = &objective,
                                  .context = {CS_CONTEXT_NEAREST, 4, true}};
    cs_context_plan *plan = NULL;
    cs_reason_clear();
    assert_int_equal(cs_context_prepare(&sequences, &options, &plan), CS_ERR_USAGE);
    assert_non_null(strstr(cs_reason(), "contexts in the corpus, more than 6.87e+10"));
    const char *tail = strstr(cs_reason(), "--tail ");
    assert_non_null(tail);
    assert_null(strstr(cs_reason(), "--draws"));
    options.tail = strtod(tail + strlen("--tail "), NULL);
    assert_true(options.tail > 0 && options.tail < 1e-3);
    cs_reason_clear();
    assert_int_equal(cs_context_prepare(&sequences, &options, &plan), CS_OK);
    cs_context_plan_free(&plan);
}

static void bad_input_is_named(void **state)
{
    (void)state;
    const cs_context all = {CS_CONTEXT_ALL, 1, false};
    expect_failure("masked:mask-ratio=0.5", all, 0, 64,
                   "all under masked at length 64 has 5.86e+19 contexts: give --draws or "
                   "--max-length");
    expect_failure("masked:unmasked=2", all, -3, 4, "-3 draws");
    const cs_context nearest = {CS_CONTEXT_NEAREST, 4, true};
    const cs_context nearest5 = {CS_CONTEXT_NEAREST, 5, true};
    expect_failure("masked:mask-ratio=0.9", nearest, 0, 300,
                   "nearest:4 under masked at length 300 has more than 1.05e+06 contexts a target: "
                   "give --tail 0.04 or --max-length 72");
    /* Fewer than n positions are kept whole, whatever the tail. */
    expect_failure("masked:unmasked=4", nearest5, 0, 300, "a target: give --max-length 43");
    expect_failure("ar", (cs_context){CS_CONTEXT_NEAREST, 0, false}, 0, 4, "nearest:0");
    expect_failure("ar", (cs_context){CS_CONTEXT_EACH, -1, false}, 0, 4, "each:-1");
    expect_failure("permuted-ar", (cs_context){CS_CONTEXT_NEAREST, 3, false}, 0, 2000,
                   "nearest:3 under permuted-ar at length 2000");
    expect_failure("masked:unmasked=5", all, 0, 4, "5 unmasked");

    const char *const bad[] = {"nearest",  "nearest:", "nearest:0",  "nearest:-1", "nearest:2x",
                               "each:1e3", "all:2",    "document:1", "sometimes",  ""};
    cs_context context;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
        cs_reason_clear();
        assert_int_equal(cs_context_parse(bad[i], &context), CS_ERR_USAGE);
        assert_non_null(strstr(cs_reason(), bad[i]));
    }
    cs_reason_clear();
}

/* Denominators that can be counted by hand. */
static void denominators_are_the_least(void **state)
{
    (void)state;
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
        cs_context_plan *plan = NULL;
        int64_t start = 0, document = 0;
        int32_t length = (int32_t)cases[i].length;
        cs_sequences sequences = one_sequence(&start, &length, &document);
        assert_int_equal(cs_objective_parse(cases[i].spec, &objective), CS_OK);
        assert_int_equal(cs_context_parse(cases[i].mode, &options.context), CS_OK);
        assert_int_equal(cs_context_prepare(&sequences, &options, &plan), CS_OK);
        assert_int_equal(cs_context_denominator(plan), cases[i].expected);
        cs_context_plan_free(&plan);
    }
}

static int by_key(const void *x, const void *y)
{
    return cs_hash_compare(*(const cs_hash128 *)x, *(const cs_hash128 *)y);
}

/* XXH3 mixes short inputs with the seed by an exclusive or, so small seeds and small numbers can
 * cancel: no two keys of any kinds may be equal. */
static void keys_of_all_kinds_differ(void **state)
{
    (void)state;
    enum { KINDS = 5, WHERE = 64, WHAT = 64, KEYS = KINDS * 2 * WHERE * WHAT };
    cs_hash128 *key = malloc(KEYS * sizeof *key);
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
    for (int64_t i = 1; i < n; ++i) {
        assert_int_not_equal(cs_hash_compare(key[i - 1], key[i]), 0);
    }
    free(key);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    int64_t s = 6;
    cs_corpus corpus = small_corpus(1, &s, 5, 0, 1);
    const char *const specs[] = {"ar", "masked:unmasked=2", "masked:unmasked=2"};
    const char *const modes[] = {"all", "all", "nearest:2"};
    for (int i = 0; i < 6; ++i) {
        cs_objective objective;
        cs_context_options options = {.objective = &objective, .draws = i / 3};
        int64_t start = 0, document = 0;
        int32_t length = (int32_t)s;
        cs_sequences sequences = one_sequence(&start, &length, &document);
        assert_int_equal(cs_objective_parse(specs[i % 3], &objective), CS_OK);
        assert_int_equal(cs_context_parse(modes[i % 3], &options.context), CS_OK);
        for (int64_t n = 1;; ++n) {
            cs_context_plan *plan = NULL;
            double sum = 0;
            (void)cs_mem_fail_at(n);
            cs_status status = cs_context_prepare(&sequences, &options, &plan);
            if (status == CS_OK) {
                status = cs_context_visit(plan, &corpus, &sequences, 0, sum_up, &sum, NULL);
            }
            int64_t made = cs_mem_fail_at(0);
            cs_context_plan_free(&plan);
            cs_reason_clear();
            if (status == CS_OK) {
                assert_true(made < n);
                break;
            }
            assert_int_equal(status, CS_ERR_MEMORY);
        }
    }
    cs_corpus_free(&corpus);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(masked_weights_are_exact),
        cmocka_unit_test(permuted_weights_are_exact),
        cmocka_unit_test(prefix_weights_are_exact),
        cmocka_unit_test(ar_nearest_is_an_ngram),
        cmocka_unit_test(keys_agree_between_objectives),
        cmocka_unit_test(draws_approach_exact_weights),
        cmocka_unit_test(long_documents_are_within_reach),
        cmocka_unit_test(suggested_limits_are_enough),
        cmocka_unit_test(too_many_in_all_is_named),
        cmocka_unit_test(bad_input_is_named),
        cmocka_unit_test(denominators_are_the_least),
        cmocka_unit_test(keys_of_all_kinds_differ),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
