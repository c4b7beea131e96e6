/* The sources of events: the walk through one sequence (context_private.h).
 *
 * Listed sets are handed on without being copied; a sampled plan is walked group by group, so the
 * sum of its earlier groups' hashes grows by one addition a position.
 */
#include "cooc/context_private.h"

#include <string.h>

#include "base/auto.h"
#include "base/ints.h"
#include "base/mem.h"

cs_status cs_context_walker_init(cs_context_walker *w, const cs_context_plan *plan,
                                 const cs_corpus *corpus, cs_contribution_visit visit, void *ctx)
{
    const int64_t n = plan->context.n, near = plan->near ? plan->hash_capacity : 0;
    cs_pool pool = {0};
    *w = (cs_context_walker){
        .plan = plan,
        .corpus = corpus,
        .visit = visit,
        .ctx = ctx,
        .hash = cs_pool_take(&pool, plan->hash_capacity, sizeof *w->hash),
        .near_offset = cs_pool_take(&pool, near, sizeof *w->near_offset),
        .near_token = cs_pool_take(&pool, near, sizeof *w->near_token),
        .rank = cs_pool_take(&pool, plan->set_capacity, sizeof *w->rank),
        .position = cs_pool_take(&pool, plan->set_capacity, sizeof *w->position),
        .content = cs_pool_take(&pool, plan->set_capacity, sizeof *w->content),
        .row_position = cs_pool_take(&pool, n, sizeof *w->row_position),
        .row_content = cs_pool_take(&pool, n, sizeof *w->row_content),
        .chosen = cs_pool_take(&pool, n, sizeof *w->chosen),
        .partial = cs_pool_take(&pool, n + 1, sizeof *w->partial),
    };
    w->pool = pool;
    if (pool.status != CS_OK) cs_context_walker_free(w);
    return pool.status;
}

void cs_context_walker_free(cs_context_walker *w)
{
    cs_pool_free(&w->pool);
    cs_plan_free(&w->sample);
    memset(w, 0, sizeof *w);
}

static void hash_items(cs_context_walker *w)
{
    for (int64_t i = 0; w->plan->kind->whole && i < w->length; ++i) {
        w->hash[i] = cs_key_of(CS_KEY_ITEM, i, w->token[i]);
    }
}

/* The tokens of a listed set's members and the sum of their hashes, or their marks. */
static void take_set(cs_context_walker *w, const int32_t *member, cs_context_event *e)
{
    if (w->plan->kind->whole) {
        e->sum = (cs_hash128){0, 0};
        for (int64_t j = 0; j < e->size; ++j) {
            w->content[j] = w->token[member[j]];
            e->sum = cs_key_add(e->sum, w->hash[member[j]]);
        }
        e->content = w->content;
    } else {
        for (int64_t i = 0; i < w->length; ++i) {
            w->rank[i] = 1;
        }
        for (int64_t j = 0; j < e->size; ++j) {
            w->rank[member[j]] = 0;
        }
        e->rank = w->rank;
        e->limit = 1;
    }
}

/* Prefixes come in order of their lengths, so the sum of the hashes of the longest so far grows. */
static void take_prefix(cs_context_walker *w, cs_hash128 *sum, int64_t *summed, cs_context_event *e)
{
    for (; w->plan->kind->whole && *summed < e->size; ++*summed) {
        *sum = cs_key_add(*sum, cs_key_of(CS_KEY_ITEM, *summed, w->token[*summed]));
    }
    e->sum = *sum;
    e->content = w->token;
}

static cs_status walk_listed(cs_context_walker *w, int64_t first, int64_t last)
{
    const cs_pairs *p = &w->table->pairs;
    cs_context_event e = {0};
    cs_hash128 sum = {0, 0};
    int64_t summed = 0;
    cs_status status = CS_OK;
    if (!p->prefixes) {
        hash_items(w);
    }
    for (int64_t a = first; a < last && status == CS_OK; ++a) {
        if (a == first || p->set[a] != p->set[a - 1]) {
            const cs_pairs_set set = cs_pairs_set_of(p, a);
            bool prefix = cs_pairs_is_prefix(p, set);
            e.size = set.size;
            e.prefix = prefix ? set.size : -1;
            e.position = cs_pairs_positions(p, set);
            if (prefix) {
                take_prefix(w, &sum, &summed, &e);
            } else {
                take_set(w, e.position, &e);
            }
        }
        e.target = p->target[a];
        e.weight = p->weight[a];
        e.ordinal = a * w->table->inner;
        status = w->plan->kind->event(w, &e);
    }
    return status;
}

/* Positions by group, ascending within one, into w->position: a counting sort; w->rank is scratch
 * for the groups' ends. */
static void order_by_group(cs_context_walker *w, const cs_plan *plan)
{
    int32_t *end = w->rank;
    memset(end, 0, (size_t)(plan->groups + 1) * sizeof *end);
    for (int64_t i = 0; i < plan->length; ++i) {
        ++end[plan->group[i]];
    }
    for (int64_t g = 1; g <= plan->groups; ++g) {
        end[g] += end[g - 1];
    }
    for (int64_t i = plan->length - 1; i >= 0; --i) {
        w->position[--end[plan->group[i]]] = (int32_t)i;
    }
}

/* The events of one sampled plan; its weights count weight / draw_weight each. */
static cs_status walk_plan(cs_context_walker *w, int64_t draw)
{
    const cs_plan *plan = &w->sample;
    const cs_context_table *t = w->table;
    bool all = w->plan->kind->whole;
    bool empty = w->plan->objective.empty_prefix != CS_PREFIX_NONE;
    cs_context_event e = {.prefix = -1, .rank = plan->group};
    order_by_group(w, plan);
    for (int64_t i = 0; i < w->length; ++i) {
        w->content[i] = w->token[w->position[i]];
    }
    e.position = w->position;
    e.content = w->content;
    cs_status status = CS_OK;
    for (int64_t a = 0; a < w->length && status == CS_OK; ++a) {
        int64_t k = w->position[a];
        if (a == 0 || plan->group[k] != e.limit) {
            e.limit = plan->group[k];
            for (int64_t b = e.size; all && b < a; ++b) {
                e.sum = cs_key_add(e.sum, w->hash[w->position[b]]);
            }
            e.size = a;
        }
        if (plan->weight[k] > 0 && (e.size > 0 || empty)) {
            e.target = k;
            e.weight = plan->weight[k] / t->draw_weight;
            e.ordinal = (draw * w->length + k) * t->inner;
            status = w->plan->kind->event(w, &e);
        }
    }
    return status;
}

static cs_status walk_draws(cs_context_walker *w, int64_t first, int64_t last)
{
    cs_status status = CS_OK;
    if (w->sample.length != w->length) {
        cs_plan_free(&w->sample);
        status = cs_plan_init(&w->sample, w->length);
    }
    w->sample.factor = w->table->factor;
    hash_items(w);
    for (int64_t d = first; d < last && status == CS_OK; ++d) {
        cs_rng rng = cs_rng_at(w->plan->seed, CS_STREAM_PLAN,
                               (uint64_t)w->sequence * (uint64_t)w->plan->draws + (uint64_t)d);
        status = cs_plan_draw(&w->table->sampler, &rng, &w->sample);
        if (status == CS_OK) status = walk_plan(w, d);
    }
    return status;
}

cs_status cs_context_walk(cs_context_walker *w, int64_t sequence, int64_t start, int64_t length,
                          int64_t document, int64_t first, int64_t last)
{
    w->table = cs_context_table_of(w->plan, length);
    w->token = w->corpus->token + start;
    w->length = length;
    w->document = document;
    w->sequence = sequence;
    if (w->plan->draws > 0) {
        return walk_draws(w, first, last);
    }
    if (w->plan->kind->gram) {
        return w->plan->kind->walk(w, first, last);
    }
    const int64_t events = w->table->pairs.events;
    cs_status status = walk_listed(w, first, cs_least(last, events));
    if (status == CS_OK && last > events)
        status = w->plan->kind->targets(w, first > events ? first - events : 0, last - events);
    return status;
}

cs_status cs_context_visit(const cs_context_plan *plan, const cs_corpus *corpus,
                           const cs_sequences *sequences, int64_t sequence,
                           cs_contribution_visit visit, void *ctx, double *dropped)
{
    CS_AUTO(cs_context_walker) w = {0};
    cs_status status = cs_context_walker_init(&w, plan, corpus, visit, ctx);
    if (status != CS_OK) return status;
    int64_t length = sequences->length[sequence];
    status = cs_context_walk(&w, sequence, sequences->start[sequence], length,
                             sequences->document[sequence], 0, cs_context_outer(plan, length));
    if (status == CS_OK && dropped) *dropped = w.dropped;
    return status;
}

void cs_context_put_word(const cs_context_walker *w, const char *separator, int32_t token, FILE *to)
{
    char number[24];
    (void)fprintf(to, "%s%s", separator, cs_corpus_word(w->corpus, token, number));
}

void cs_context_put_target(const cs_context_walker *w, const cs_contribution *c, FILE *to)
{
    if (w->plan->context.given) {
        (void)fprintf(to, " [%d]", (int)c->target + 1);
    }
}
