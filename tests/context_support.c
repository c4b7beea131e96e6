/* Contexts against their definition: every conditioning set, listed. */
#include "context_support.h"

#include "plan/spec.h"
#include "plan_support.h"
#include "small_corpus.h"
#include "test.h"

void context_put(context_table *t, const context_entry *e)
{
    if (t->count == t->capacity) {
        t->capacity = 2 * t->capacity + 256;
        t->entry = realloc(t->entry, (size_t)t->capacity * sizeof *t->entry);
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

/* Writes a number at `to`; returns its end. (printf takes most of the time of these tests.) */
static char *write_number(int64_t x, char *to)
{
    char digit[20];
    int n = 0;
    if (x < 0) *to++ = '-';
    for (int64_t rest = llabs(x); rest > 0 || n == 0; rest /= 10) {
        digit[n++] = (char)('0' + rest % 10);
    }
    while (n > 0) {
        *to++ = digit[--n];
    }
    return to;
}

/* Items in order of position, "2:7 3:0 @5"; marks (token -1) are "#". */
static void write_row(item *items, int64_t n, int64_t target, char *out)
{
    enum { LONGEST = 23 }; /* of an item: two 32-bit numbers, a colon and a blank */
    char *at = out;
    qsort(items, (size_t)n, sizeof *items, by_position);
    for (int64_t i = 0; i < n; ++i) {
        assert_true(at - out < CONTEXT_ROW_TEXT - 2 * LONGEST);
        if (items[i].token >= 0) {
            at = write_number(items[i].position, at);
            *at++ = ':';
            at = write_number(items[i].token, at);
            *at++ = ' ';
        }
    }
    for (int64_t i = 0; i < n; ++i) {
        if (items[i].token < 0) *at++ = '#';
    }
    if (target >= 0) {
        *at++ = '@';
        at = write_number(target, at);
    }
    *at = '\0';
}

cs_status context_collect(void *ctx, const cs_contribution *c)
{
    context_table *t = ctx;
    item items[16];
    context_entry e = {.key = c->key, .token = c->token, .weight = c->weight};
    assert_true(c->items <= 16);
    assert_true(c->weight > 0);
    assert_true(c->ordinal > t->last_ordinal);
    t->last_ordinal = c->ordinal;
    for (int64_t i = 0; i < c->items; ++i) {
        bool blind = t->mode == CS_CONTEXT_EACH && !t->given;
        items[i] = (item){blind ? 0 : c->position[i], c->content[i]};
    }
    bool known = t->given && (t->mode == CS_CONTEXT_ALL || t->mode == CS_CONTEXT_DOCUMENT);
    write_row(items, c->items, known ? c->target : -1, e.row);
    context_put(t, &e);
    return CS_OK;
}

static int64_t near_in_sequence(const cs_corpus *corpus, const cs_context *context, const bool *in,
                                int64_t k, item *items)
{
    const int64_t s = corpus->doc_ptr[1];
    int64_t n = 0;
    for (int64_t d = 1; d < s && n < context->n; ++d) {
        for (int64_t sign = -1; sign <= 1 && n < context->n; sign += 2) {
            int64_t p = k + sign * d;
            if (p >= 0 && p < s && in[p]) {
                items[n++] = (item){(int32_t)(p - k), corpus->token[p]};
            }
        }
    }
    return n;
}

/* By squared distance, in each by position; an offset (dy, dx) is dy (2C - 1) + dx. */
static int64_t near_in_plane(const cs_corpus *corpus, const cs_context *context, const bool *in,
                             int64_t k, item *items)
{
    const int64_t s = corpus->doc_ptr[1], c = context->columns;
    int64_t n = 0;
    for (int64_t d = 1; d <= 2 * s * s; ++d) {
        for (int64_t p = 0; p < s; ++p) {
            const int64_t dy = p / c - k / c, dx = p % c - k % c;
            if (n < context->n && in[p] && dy * dy + dx * dx == d) {
                items[n++] = (item){(int32_t)(dy * (2 * c - 1) + dx), corpus->token[p]};
            }
        }
    }
    return n;
}

/* The rows of one event of a corpus of one text, straight from the definition. */
static void reference_event(context_table *t, const cs_corpus *corpus, const cs_context *context,
                            const bool *in, int64_t k, double weight, double *dropped)
{
    const int64_t s = corpus->doc_ptr[1];
    item items[16];
    context_entry e = {.token = corpus->token[k], .weight = weight};
    int64_t n = 0;
    if (context->mode == CS_CONTEXT_ALL || context->mode == CS_CONTEXT_DOCUMENT) {
        for (int32_t i = 0; i < s && context->mode == CS_CONTEXT_ALL; ++i) {
            if (in[i]) {
                items[n++] = (item){i, corpus->token[i]};
            }
        }
        write_row(items, n, context->given ? k : -1, e.row);
        context_put(t, &e);
        return;
    }
    if (context->mode == CS_CONTEXT_NEAREST) {
        n = context->columns > 0 ? near_in_plane(corpus, context, in, k, items)
                                 : near_in_sequence(corpus, context, in, k, items);
        while (n < context->n) {
            items[n++] = (item){0, -1};
        }
        write_row(items, n, -1, e.row);
        context_put(t, &e);
        return;
    }
    for (int64_t p = 0; p < s; ++p) {
        n += in[p] && llabs(p - k) <= context->n;
    }
    if (n == 0) {
        *dropped += context->pairs ? 0 : weight;
        return;
    }
    for (int64_t p = 0; p < s; ++p) {
        if (in[p] && llabs(p - k) <= context->n) {
            const double d = (double)llabs(p - k), w = (double)context->n;
            const double count[] = {1 / (double)n, 1, (w - d + 1) / w, 1 / d};
            e.weight = weight * count[context->pairs];
            items[0] = (item){context->given ? (int32_t)(p - k) : 0, corpus->token[p]};
            write_row(items, 1, -1, e.row);
            context_put(t, &e);
        }
    }
}

int context_by_row(const void *x, const void *y)
{
    const context_entry *a = x, *b = y;
    int order = strcmp(a->row, b->row);
    return order != 0 ? order : (a->token > b->token) - (a->token < b->token);
}

void context_add_up(context_table *t, bool keys)
{
    if (t->count > 0) qsort(t->entry, (size_t)t->count, sizeof *t->entry, context_by_row);
    int64_t kept = 0;
    for (int64_t i = 0; i < t->count; ++i) {
        context_entry *last = kept > 0 ? &t->entry[kept - 1] : NULL;
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

void context_check_mode(const char *spec, const char *mode, bool given, int64_t s, int64_t vocab)
{
    cs_objective objective;
    cs_context context;
    AUTO_OK(cs_plan_file, file, cs_objective_parse_held(spec, &file, &objective));
    OK(cs_context_parse(mode, &context));
    context.given = given;
    AUTO_OK(cs_pairs, expanded, cs_pairs_of(&objective, s, &expanded));
    OK(cs_pairs_expand(&expanded, 1 << 20));
    CS_AUTO(cs_corpus) corpus = small_corpus(1, &s, vocab, 1, (uint64_t)s);

    context_table want = {.given = given, .mode = context.mode};
    double want_dropped = 0, dropped = -1;
    for (int64_t e = 0; e < expanded.events; ++e) {
        bool in[16] = {false};
        const unsigned mask = plan_mask(&expanded, e);
        for (int64_t i = 0; i < s; ++i) {
            in[i] = mask >> i & 1;
        }
        reference_event(&want, &corpus, &context, in, expanded.target[e], expanded.weight[e],
                        &want_dropped);
    }
    int64_t start = 0, document = 0;
    int32_t length = (int32_t)s;
    cs_sequences sequences = one_sequence(&start, &length, &document);
    cs_context_options options = {.objective = &objective, .context = context};
    AUTO_OK(cs_context_plan, *plan, cs_context_prepare(&sequences, &options, &plan));
    context_table got = {.given = given, .mode = context.mode, .last_ordinal = -1};
    OK(cs_context_visit(plan, &corpus, &sequences, 0, context_collect, &got, &dropped));
    /* The enumeration adds up to 6000 events one by one: n / 2 units of rounding, 7e-13. What
     * nearest drops is below 2^-50. */
    const double tolerance = 1e-12;
    assert_true(context.pairs || fabs(got.sum + dropped - 1) < 10 * tolerance);
    assert_true(got.sum <= cs_context_event_mass(&context) + 10 * tolerance);
    assert_true(fabs(dropped - want_dropped) < tolerance);
    int64_t d = cs_context_denominator(plan, false);
    for (int64_t i = 0; i < got.count && d > 0; ++i) {
        double units = got.entry[i].weight * cs_context_predicted(plan, s) * (double)d;
        assert_true(fabs(units - rint(units)) < 1e-6 && rint(units) >= 1);
    }
    context_add_up(&want, false);
    context_add_up(&got, true);
    assert_int_equal(got.count, want.count);
    assert_each(i, 0, got.count, strcmp(got.entry[i].row, want.entry[i].row) == 0);
    assert_each(i, 0, got.count, got.entry[i].token == want.entry[i].token);
    assert_each(i, 0, got.count, fabs(got.entry[i].weight - want.entry[i].weight) < tolerance);
    free(want.entry);
    free(got.entry);
}

const char *const context_modes[CONTEXT_MODES] = {
    "all",    "nearest:1",   "nearest:2",     "nearest:3",       "each:1",  "each:2",
    "each:9", "each:2:flat", "each:3:linear", "each:9:harmonic", "document"};

void context_check(const char *spec, int64_t shortest, int64_t longest)
{
    for (int64_t s = shortest; s <= longest; ++s) {
        for (size_t m = 0; m < CONTEXT_MODES; ++m) {
            for (int given = 0; given < 2; ++given) {
                context_check_mode(spec, context_modes[m], given, s, 3);
                context_check_mode(spec, context_modes[m], given, s, 1000);
            }
        }
    }
}
