/* Contributions of a population, spread over words. */
#include "base/auto.h"
#include "cooc/synthetic_spread_private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/threads.h"

static const double MOST = 0x1p32; /* contributions: a quarter of an hour */

/* --- places ----------------------------------------------------------------------------------- */

/* The number that an item's key has for its place (context_private.h). */
static int32_t where_of(const cs_context_plan *plan, const cs_contribution *c, int64_t i)
{
    return plan->kind->tokens && !plan->context.given ? 0 : c->position[i];
}

/* The places of a contribution in order, how many. */
static int64_t lay_places(cs_synthetic_spreader *s, const cs_contribution *c)
{
    int64_t n = 0;
    for (int64_t i = -1; i < c->items; ++i) {
        const int32_t place = i < 0 ? c->target : c->content[i];
        int64_t at = n;
        while (at > 0 && s->place[at - 1] > place) {
            --at;
        }
        if (place >= 0 && at > 0 && s->place[at - 1] == place) { /* unique: the target itself */
            s->item[at - 1] = 1;
        } else if (place >= 0) { /* no boundary mark */
            const size_t behind = (size_t)(n++ - at);
            memmove(s->place + at + 1, s->place + at, behind * sizeof *s->place);
            memmove(s->where + at + 1, s->where + at, behind * sizeof *s->where);
            memmove(s->item + at + 1, s->item + at, behind * sizeof *s->item);
            s->place[at] = place;
            s->where[at] = i < 0 ? 0 : where_of(s->spread->plan, c, i);
            s->item[at] = i >= 0;
        }
    }
    return n;
}

/* The key without the tokens that are places. */
static cs_hash128 bare_key(const cs_context_plan *plan, const cs_contribution *c)
{
    cs_hash128 key = c->key;
    for (int64_t i = 0; i < c->items; ++i) {
        if (c->content[i] >= 0) {
            const cs_hash128 item = cs_key_of(CS_KEY_ITEM, where_of(plan, c, i), c->content[i]);
            const uint64_t low = key.low - item.low;
            key = (cs_hash128){.high = key.high - item.high - (low > key.low), .low = low};
        }
    }
    return key;
}

/* --- contributions ---------------------------------------------------------------------------- */

static int64_t class_of(const cs_synthetic_spread *s, int64_t document)
{
    return s->corpus->label[document] < 0 ? 0 : s->corpus->label[document];
}

/* out = a next^gap */
static void go_on(const cs_synthetic_spread *s, int64_t class, int64_t gap, const double *a,
                  double *out)
{
    const int64_t h = s->population->language.states;
    if (gap == 0) {
        memcpy(out, a, (size_t)h * sizeof *out);
    } else {
        cs_synthetic_step(h, a, s->power + (class * s->reach + gap - 1) * h * h, out);
    }
}

/* The probabilities of the states after word v at the current position, into s->after; returns the
 * probability of v with the words before it. */
static double read_word(cs_synthetic_spreader *s, int64_t class, int64_t v, const double *before)
{
    const cs_synthetic_spread *d = s->spread;
    const int64_t of = class * d->population->language.words + v;
    double p = 0;
    memset(s->after, 0, (size_t)d->population->language.states * sizeof *s->after);
    for (int64_t e = d->ptr[of]; e < d->ptr[of + 1]; ++e) {
        s->after[d->state[e]] = before[d->state[e]] * d->emit[e];
        p += s->after[d->state[e]];
    }
    return p;
}

cs_status cs_synthetic_spread_visit(void *spreader, const cs_contribution *c)
{
    cs_synthetic_spreader *s = spreader;
    const cs_synthetic_spread *d = s->spread;
    const cs_synthetic *language = &d->population->language;
    const int64_t n = lay_places(s, c), h = language->states, class = class_of(d, s->document);
    const bool gram = d->plan->kind->gram;
    int64_t depth = 0, target = 0;
    cs_status status = CS_OK;
    s->key[0] = gram ? (cs_hash128){0, 0} : bare_key(d->plan, c);
    s->code[0] = 0;
    s->word[0] = 0;
    go_on(d, class, s->place[0], d->population->start + s->document * h, s->before);
    while (s->place[target] != c->target) {
        ++target;
    }
    while (depth >= 0 && status == CS_OK) {
        const int32_t v = s->word[depth]++;
        if (v == language->words) {
            --depth;
            continue;
        }
        const double p = read_word(s, class, v, s->before + depth * h);
        if (!(p > 0)) {
            continue;
        }
        s->key[depth + 1] = s->key[depth];
        s->code[depth + 1] = s->code[depth];
        if (s->item[depth]) {
            s->code[depth + 1] = s->code[depth] * language->words + v;
            s->key[depth + 1] =
                gram ? cs_key_in_order(v + 1, d->corpus->vocab)
                     : cs_key_add(s->key[depth], cs_key_of(CS_KEY_ITEM, s->where[depth], v + 1));
        }
        if (depth + 1 == n) {
            cs_contribution own = *c;
            own.key = s->key[n];
            own.token = s->word[target];
            own.weight = c->weight * p;
            status = s->take(s->ctx, &own, s->code[n]);
        } else {
            go_on(d, class, s->place[depth + 1] - s->place[depth], s->after,
                  s->before + (depth + 1) * h);
            s->word[++depth] = 0;
        }
    }
    return status;
}

/* --- what workers share ----------------------------------------------------------------------- */

static cs_status count_one(void *ctx, const cs_contribution *c)
{
    cs_synthetic_spreader *s = ctx;
    double *contributions = s->ctx;
    *contributions += pow((double)s->spread->population->language.words, (double)lay_places(s, c));
    return CS_OK;
}

static cs_status count_contributions(cs_synthetic_spread *s, const cs_sequences *sequences)
{
    CS_AUTO(cs_synthetic_spreader) counter = {0};
    cs_status status = cs_synthetic_spreader_init(s, NULL, &s->contributions, &counter);
    for (int64_t i = 0; i < sequences->count && status == CS_OK; ++i) {
        status = cs_context_visit(s->plan, s->corpus, sequences, i, count_one, &counter, NULL);
    }
    return status == CS_OK && s->contributions > MOST
               ? cs_fail(
                     CS_ERR_INPUT,
                     "%s: %.4g contributions from all words, but at most %.2g are supported: give "
                     "a smaller --max-length with --stride 1, a nearer context or fewer words",
                     s->corpus->name, s->contributions, MOST)
               : status;
}

static void take_emissions(cs_synthetic_spread *s)
{
    const cs_synthetic *language = &s->population->language;
    const int64_t all = language->classes * language->states * language->words;
    int64_t count = 0;
    s->ptr = cs_pool_take(&s->pool, language->classes * language->words + 1, sizeof *s->ptr);
    for (int64_t i = 0; i < all; ++i) {
        count += language->emit[i] > 0;
    }
    CS_POOL_FIELDS(&s->pool, count, s, state, emit);
    count = 0;
    for (int64_t i = 0; i < language->classes * language->words && s->pool.status == CS_OK; ++i) {
        const double *of = language->emit +
                           i / language->words * language->states * language->words +
                           i % language->words;
        for (int64_t z = 0; z < language->states; ++z) {
            if (of[z * language->words] > 0) {
                s->state[count] = z;
                s->emit[count++] = of[z * language->words];
            }
        }
        s->ptr[i + 1] = count;
    }
}

static cs_status take_powers(cs_synthetic_spread *s)
{
    const cs_synthetic *language = &s->population->language;
    const int64_t h = language->states, square = h * h;
    cs_status status =
        cs_mem_check(sizeof(double) * (double)language->classes * (double)s->reach * (double)square,
                     "give a smaller --max-length", "%s: %lld steps of %lld states take",
                     s->corpus->name, (long long)s->reach, (long long)h);
    if (status != CS_OK) return status;
    s->power = cs_pool_take(&s->pool, language->classes * s->reach * square, sizeof *s->power);
    status = s->pool.status;
    for (int64_t i = 0; i < language->classes * s->reach && status == CS_OK; ++i) {
        const double *next = language->next + i / s->reach * square;
        double *to = s->power + i * square;
        for (int64_t z = 0; z < h && i % s->reach > 0; ++z) {
            cs_synthetic_step(h, to - square + z * h, next, to + z * h);
        }
        if (i % s->reach == 0) {
            memcpy(to, next, (size_t)square * sizeof *to);
        }
        status = cs_interrupt_check();
    }
    return status;
}

cs_status cs_synthetic_spread_init(const cs_context_plan *plan, const cs_corpus *corpus,
                                   const cs_sequences *sequences, cs_synthetic_spread *out)
{
    cs_synthetic_spread s = {.population = corpus->population, .corpus = corpus, .plan = plan};
    *out = (cs_synthetic_spread){0};
    if (!s.population) {
        return CS_OK;
    }
    if (plan->context.mode == CS_CONTEXT_DOCUMENT) {
        return cs_fail(CS_ERR_USAGE, "%s: a population has no documents that could be rows",
                       corpus->name);
    }
    for (int64_t i = 0; i < sequences->count; ++i) {
        s.reach = sequences->length[i] - 1 > s.reach ? sequences->length[i] - 1 : s.reach;
    }
    cs_status status = count_contributions(&s, sequences);
    if (status == CS_OK) status = take_powers(&s);
    if (status == CS_OK) take_emissions(&s);
    status = status ? status : s.pool.status;
    return CS_DELIVER(status, out, s, cs_synthetic_spread_free);
}

void cs_synthetic_spread_free(cs_synthetic_spread *spread)
{
    cs_pool_free(&spread->pool);
    memset(spread, 0, sizeof *spread);
}

cs_status cs_synthetic_spreader_init(const cs_synthetic_spread *spread, cs_synthetic_take take,
                                     void *ctx, cs_synthetic_spreader *out)
{
    const int64_t n = spread->reach + 2, h = spread->population->language.states;
    cs_pool pool = {0};
    *out = (cs_synthetic_spreader){.spread = spread, .take = take, .ctx = ctx};
    CS_POOL_FIELDS(&pool, n, out, place, where, item, word, code, key);
    out->before = cs_pool_take(&pool, n * h, sizeof *out->before);
    out->after = cs_pool_take(&pool, h, sizeof *out->after);
    out->pool = pool;
    return pool.status;
}

void cs_synthetic_spreader_free(cs_synthetic_spreader *spreader)
{
    cs_pool_free(&spreader->pool);
    memset(spreader, 0, sizeof *spreader);
}

/* --- witnesses -------------------------------------------------------------------------------- */

/* A contribution, and the places of its row. */
typedef struct {
    int64_t ordinal, first, count; /* of `place` */
} pattern;

typedef struct {
    cs_synthetic_spreader spreader;
    pattern *list;
    int32_t *place;
    int64_t patterns, capacity, places, place_capacity;
} pattern_list;

static cs_status add_pattern(void *ctx, const cs_contribution *c)
{
    pattern_list *l = ctx;
    const int64_t n = lay_places(&l->spreader, c);
    cs_status status = cs_reserve(&l->list, &l->capacity, l->patterns + 1, sizeof *l->list);
    if (status == CS_OK)
        status = cs_reserve(&l->place, &l->place_capacity, l->places + n, sizeof *l->place);
    if (status != CS_OK) return status;
    pattern p = {.ordinal = c->ordinal, .first = l->places};
    for (int64_t i = 0; i < n; ++i) {
        if (l->spreader.item[i]) {
            l->place[l->places++] = l->spreader.place[i];
        }
    }
    p.count = l->places - p.first;
    l->list[l->patterns++] = p;
    return CS_OK;
}

static int by_ordinal(const void *x, const void *y)
{
    const pattern *a = x, *b = y;
    return (a->ordinal > b->ordinal) - (a->ordinal < b->ordinal);
}

/* The texts of the rows that sequence i of the population has witnessed. */
static cs_status fill_texts(pattern_list *l, const cs_sequences *s, int64_t i, cs_cooc *cooc)
{
    const int64_t words = l->spreader.spread->population->language.words;
    l->patterns = l->places = 0;
    cs_status status = cs_context_visit(l->spreader.spread->plan, l->spreader.spread->corpus, s, i,
                                        add_pattern, l, NULL);
    if (status != CS_OK) return status;
    qsort(l->list, (size_t)l->patterns, sizeof *l->list, by_ordinal);
    for (int64_t r = 0; r < cooc->matrix.a.rows; ++r) {
        if (cooc->witness_sequence[r] % s->count != i) {
            continue;
        }
        const pattern wanted = {.ordinal = cooc->witness_ordinal[r]},
                      *p =
                          bsearch(&wanted, l->list, (size_t)l->patterns, sizeof wanted, by_ordinal);
        int64_t code = cooc->witness_sequence[r] / s->count;
        int32_t *token = cooc->texts.token + cooc->texts.doc_ptr[r];
        for (int64_t j = p->count - 1; j >= 0; --j, code /= words) {
            token[l->place[p->first + j]] = (int32_t)(code % words) + 1;
        }
    }
    return CS_OK;
}

cs_status cs_synthetic_witnesses(const cs_synthetic_spread *spread, const cs_sequences *sequences,
                                 cs_cooc *cooc)
{
    const cs_corpus *corpus = spread->corpus;
    const int64_t rows = cooc->matrix.a.rows;
    pattern_list l = {0};
    cs_corpus *texts = &cooc->texts;
    CS_AUTO_FREE uint8_t *all = cs_alloc(corpus->documents, 1);
    if (!all) return CS_ERR_MEMORY;
    memset(all, 1, (size_t)corpus->documents);
    cs_status status = cs_corpus_select(corpus, all, texts); /* for names and words */
    if (status != CS_OK) return status;
    CS_FREE_FIELDS(texts, doc_ptr, token, label, held_out);
    texts->documents = rows;
    texts->tokens = 0;
    texts->doc_ptr = cs_calloc(rows + 1, sizeof *texts->doc_ptr);
    for (int64_t r = 0; r < rows && texts->doc_ptr; ++r) {
        texts->tokens += sequences->length[cooc->witness_sequence[r] % sequences->count];
        texts->doc_ptr[r + 1] = texts->tokens;
    }
    texts->token = cs_alloc(texts->tokens, sizeof *texts->token);
    texts->label = cs_alloc(rows, sizeof *texts->label);
    texts->held_out = cs_calloc(rows, sizeof *texts->held_out);
    if (!texts->doc_ptr || !texts->token || !texts->label || !texts->held_out) {
        return CS_ERR_MEMORY;
    }
    for (int64_t i = 0; i < texts->tokens; ++i) {
        texts->token[i] = 1; /* at places that are not of the row: any word */
    }
    status = cs_synthetic_spreader_init(spread, NULL, NULL, &l.spreader);
    for (int64_t i = 0; i < sequences->count && status == CS_OK; ++i) {
        status = fill_texts(&l, sequences, i, cooc);
    }
    for (int64_t r = 0; r < rows && status == CS_OK; ++r) {
        const int64_t of = cooc->witness_sequence[r] % sequences->count;
        texts->label[r] = corpus->label[sequences->document[of]];
        cooc->witness_sequence[r] = r;
    }
    cs_synthetic_spreader_free(&l.spreader);
    CS_FREE_FIELDS(&l, list, place);
    return status;
}
