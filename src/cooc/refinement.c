/* Refinement: contributions of each context by event, rows numbered by sorting their keys, and for
 * each pair one pass over the events. */
#include "cooc/refinement.h"

#include <math.h>
#include <stdlib.h>

#include "base/auto.h"
#include "base/mem.h"
#include "base/threads.h"
#include "cooc/build_sequences.h"
#include "cooc/context_private.h"

typedef struct {
    cs_hash128 key;
    int64_t at;
} keyed;

/* The partition of the events by one context. */
typedef struct {
    int64_t *first;  /* events + 1: its contributions */
    int32_t *row;    /* contributions */
    int32_t *bundle; /* events: its list of rows */
    int64_t rows;
    double least;
    cs_pool pool;
} view;

typedef struct {
    const cs_corpus *corpus;
    const cs_sequences *sequences;
    const cs_cooc_options *options;
    const cs_context *context;
    int64_t count, events;
    int64_t *base; /* sequences + 1: their first events */
    view *view;
} study;

/* --- one context ------------------------------------------------------------------------------ */

typedef struct {
    view *v;
    keyed *key;         /* contributions */
    cs_hash128 *bundle; /* events: sums of the keys */
    int64_t base, inner, made;
    double scale;   /* of the sequence */
    cs_hash128 tag; /* added to every key */
} collector;

static cs_status collect(void *ctx, const cs_contribution *c)
{
    collector *k = ctx;
    const int64_t event = k->base + c->ordinal / k->inner;
    const cs_hash128 key = cs_key_add(c->key, k->tag);
    k->key[k->made] = (keyed){key, k->made};
    k->bundle[event] = cs_key_add(k->bundle[event], key);
    k->v->first[event + 1] = ++k->made;
    k->v->least = fmin(k->v->least, c->weight * k->scale);
    return CS_OK;
}

static int by_key(const void *x, const void *y)
{
    const keyed *a = x, *b = y;
    return cs_hash_compare(a->key, b->key);
}

/* Numbers different keys; returns how many there are. */
static int64_t number(keyed *key, int64_t count, int32_t *out)
{
    int64_t numbers = 0;
    if (count > 0) qsort(key, (size_t)count, sizeof *key, by_key);
    for (int64_t i = 0; i < count; ++i) {
        numbers += i == 0 || cs_hash_compare(key[i - 1].key, key[i].key) != 0;
        out[key[i].at] = (int32_t)(numbers - 1);
    }
    return numbers;
}

static cs_status visit_all(const study *s, const cs_context_plan *plan, bool apart, collector *k)
{
    cs_status status = CS_OK;
    for (int64_t i = 0; i < s->sequences->count && status == CS_OK; ++i) {
        k->base = s->base[i];
        k->inner = cs_context_table_of(plan, s->sequences->length[i])->inner;
        k->scale = s->options->weight_by_document
                       ? 1
                       : cs_context_predicted(plan, s->sequences->length[i]);
        k->tag = apart ? cs_key_of(CS_KEY_SEQUENCE, i, 0) : (cs_hash128){0};
        if (s->base[i + 1] > s->base[i]) {
            status = cs_context_visit(plan, s->corpus, s->sequences, i, collect, k, NULL);
        }
        if (status == CS_OK) status = cs_interrupt_check();
    }
    /* Events without a row end where the one before them does. */
    for (int64_t e = 1; e <= s->events; ++e) {
        k->v->first[e] = k->v->first[e] > k->v->first[e - 1] ? k->v->first[e] : k->v->first[e - 1];
    }
    return status;
}

static cs_status plan_of(const study *s, int64_t c, cs_context_plan **out)
{
    cs_context_options options = {
        .objective = &s->options->objective, .context = s->context[c], .listed = true};
    if (cs_context_gram(&s->context[c])) {
        options.context.mode = CS_CONTEXT_ALL;
    }
    return cs_context_prepare(s->sequences, &options, out);
}

static int64_t contributions_of(const study *s, const cs_context_plan *plan)
{
    double all = 0;
    for (int64_t i = 0; i < s->sequences->count; ++i) {
        all += cs_context_contributions(plan, s->sequences->length[i]);
    }
    return (int64_t)all;
}

static cs_status look(void *ctx, int64_t c)
{
    study *s = ctx;
    view *v = &s->view[c];
    CS_AUTO(cs_context_plan) *plan = NULL;
    CS_AUTO(cs_pool) scratch = {0};
    cs_status status = plan_of(s, c, &plan);
    if (status == CS_OK) {
        const int64_t most = contributions_of(s, plan),
                      larger = most > s->events ? most : s->events;
        collector k = {.v = v,
                       .key = cs_pool_take(&scratch, larger, sizeof *k.key),
                       .bundle = cs_pool_take(&scratch, s->events, sizeof *k.bundle)};
        v->least = INFINITY;
        v->first = cs_pool_take(&v->pool, s->events + 1, sizeof *v->first);
        v->row = cs_pool_take(&v->pool, most, sizeof *v->row);
        v->bundle = cs_pool_take(&v->pool, s->events, sizeof *v->bundle);
        status = scratch.status == CS_OK ? v->pool.status : scratch.status;
        if (status == CS_OK) status = visit_all(s, plan, cs_context_gram(&s->context[c]), &k);
        if (status == CS_OK) {
            v->rows = number(k.key, k.made, v->row);
            for (int64_t e = 0; e < s->events; ++e) {
                k.key[e] = (keyed){k.bundle[e], e};
            }
            (void)number(k.key, s->events, v->bundle);
        }
    }
    return status;
}

/* --- pairs ------------------------------------------------------------------------------------ */

static bool place_by_place(const view *a, const view *b, int64_t events)
{
    int64_t e = 0;
    while (e < events && a->first[e + 1] - a->first[e] == b->first[e + 1] - b->first[e]) {
        ++e;
    }
    return e == events;
}

/* image: a buffer of one number for each row of `fine`. */
static bool is_function(const view *coarse, const view *fine, int64_t events, int32_t *image)
{
    const bool paired = place_by_place(coarse, fine, events);
    for (int64_t r = 0; r < fine->rows; ++r) {
        image[r] = -1;
    }
    for (int64_t e = 0; e < events; ++e) {
        for (int64_t i = fine->first[e]; i < fine->first[e + 1]; ++i) {
            const int32_t value = paired ? coarse->row[i] : coarse->bundle[e];
            int32_t *known = &image[fine->row[i]];
            if (*known >= 0 && *known != value) {
                return false;
            }
            *known = value;
        }
    }
    return true;
}

static cs_status compare(const study *s, cs_refinement *r)
{
    int64_t most = 1;
    for (int64_t c = 0; c < s->count; ++c) {
        r->rows[c] = s->view[c].rows;
        r->least[c] = s->view[c].least;
        most = r->rows[c] > most ? r->rows[c] : most;
    }
    CS_AUTO_FREE int32_t *image = cs_alloc(most, sizeof *image);
    cs_status status = image ? CS_OK : CS_ERR_MEMORY;
    for (int64_t p = 0; p < s->count * s->count && status == CS_OK; ++p) {
        const view *coarse = &s->view[p / s->count], *fine = &s->view[p % s->count];
        r->refines[p] = is_function(coarse, fine, s->events, image);
        status = cs_interrupt_check();
    }
    return status;
}

/* --- all -------------------------------------------------------------------------------------- */

/* Events of each sequence, and what all contexts take. */
static cs_status measure(study *s)
{
    double bytes = 0;
    cs_status status = CS_OK;
    for (int64_t c = 0; c < s->count && status == CS_OK; ++c) {
        CS_AUTO(cs_context_plan) *plan = NULL;
        status = plan_of(s, c, &plan);
        for (int64_t i = 0; i < s->sequences->count && status == CS_OK && c == 0; ++i) {
            s->base[i + 1] = s->base[i] + cs_context_outer(plan, s->sequences->length[i]);
        }
        if (status == CS_OK) bytes += 56.0 * (double)contributions_of(s, plan);
    }
    s->events = s->base[s->sequences->count];
    if (status == CS_OK)
        status = cs_mem_check(bytes, "give a smaller --max-length or --limit",
                              "the rows of %lld events under %lld contexts take",
                              (long long)s->events, (long long)s->count);
    return status;
}

cs_status cs_refinement_of(const cs_corpus *corpus, const cs_cooc_options *options, int64_t count,
                           const cs_context *context, cs_refinement *out)
{
    cs_refinement r = {.count = count};
    CS_POOL_FIELDS(&r.pool, count, &r, rows, least);
    r.refines = cs_pool_take(&r.pool, count * count, sizeof *r.refines);
    CS_AUTO(cs_sequences) sequences = {0};
    cs_cooc_options whole = *options;
    CS_AUTO(cs_pool) pool = {0};
    study s = {.corpus = corpus,
               .sequences = &sequences,
               .options = options,
               .context = context,
               .count = count};
    whole.context = (cs_context){.mode = CS_CONTEXT_ALL, .n = 1};
    cs_status status = r.pool.status;
    if (status == CS_OK) status = cs_cooc_sequences(corpus, &whole, &sequences, NULL);
    if (status == CS_OK) {
        s.base = cs_pool_take(&pool, sequences.count + 1, sizeof *s.base);
        s.view = cs_pool_take(&pool, count, sizeof *s.view);
        status = pool.status;
    }
    if (status == CS_OK) status = measure(&s);
    if (status == CS_OK) status = cs_parallel(count, options->threads, look, &s);
    if (status == CS_OK) status = compare(&s, &r);
    r.events = s.events;
    for (int64_t c = 0; s.view && c < count; ++c) {
        cs_pool_free(&s.view[c].pool);
    }
    return CS_DELIVER(status, out, r, cs_refinement_free);
}

void cs_refinement_free(cs_refinement *r)
{
    cs_pool_free(&r->pool);
    *r = (cs_refinement){0};
}
