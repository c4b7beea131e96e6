/* Lists of exact events. Permutation-invariant objectives reduce to c(m), the expected number of tokens
 * of one plan predicted from m others (sizes.c): q(m) = c(m) / sum c. Sums run in long double.
 *
 * Sets are ordered by size, then lexicographically by their ascending positions. Events of several
 * sources are collected with their sets, sorted by (S, k), and equal ones added in the order of the
 * sources.
 *
 * Uniform target weights: the weights of the events that predict position k are multiplied by
 *
 *     u(k) = (1 / n) / w(k),      w(k) = sum_S w(S, k),  n positions with w(k) > 0
 *
 * so that every position that is ever a target has the same weight. What an event is and how likely
 * its context is among those of its target stay as they are. u is exactly 1 where all w(k) are one
 * number already, up to rounding: ar, permutation-invariant objectives. */
#include "plan/pairs.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/vector_ops.h"
#include "plan/count.h"
#include "plan/distributions_private.h"
#include "plan/plan_file.h"

enum { PREFIX_EVENTS_LIMIT = 1 << 28, EVENT_BYTES = 20, SMALL_BYTES = 1 << 26 };

void cs_pairs_free(cs_pairs *pairs)
{
    cs_pool_free(&pairs->pool);
    memset(pairs, 0, sizeof *pairs);
}

/* Before an allocation that grows with the length: CS_ERR_MEMORY above half of the free memory,
 * since the caller needs the rest. Small allocations are not checked. */
static cs_status check_memory(int64_t s, double bytes)
{
    double available = bytes > SMALL_BYTES ? (double)cs_mem_available() : 0;
    if (available > 0 && bytes > available / 2) {
        return cs_fail(CS_ERR_MEMORY,
                       "length %" PRId64 " needs %.4g bytes for its pair distribution, more than "
                       "half of the %.4g bytes of free memory",
                       s, bytes, available);
    }
    return CS_OK;
}

static cs_status alloc_events(cs_pairs *pairs, int64_t sets, int64_t positions, int64_t events)
{
    pairs->conditioning = cs_pool_take(&pairs->pool, sets, sizeof *pairs->conditioning);
    pairs->position = cs_pool_take(&pairs->pool, positions, sizeof *pairs->position);
    CS_POOL_FIELDS(&pairs->pool, events, pairs, set, target, weight);
    return pairs->pool.status;
}

/* The first `length` positions are those of all prefixes. */
static void put_prefixes(cs_pairs *pairs)
{
    for (int64_t i = 0; i < pairs->length; ++i) {
        pairs->position[i] = (int32_t)i;
    }
}

cs_status cs_pairs_prefix_alloc(cs_pairs *pairs, int64_t s, double events)
{
    if (events > PREFIX_EVENTS_LIMIT) {
        return cs_fail(CS_ERR_USAGE,
                       "length %" PRId64 " needs %.3g events, but at most %d are supported", s,
                       events, PREFIX_EVENTS_LIMIT);
    }
    cs_status status = check_memory(s, (events + (double)s) * EVENT_BYTES);
    if (status == CS_OK) status = alloc_events(pairs, s, s, (int64_t)events);
    if (status == CS_OK) {
        put_prefixes(pairs);
        pairs->prefixes = true;
    }
    return status;
}

void cs_pairs_add(cs_pairs *pairs, cs_pairs_set set, int64_t target, double weight)
{
    const cs_pairs_set *last = pairs->sets > 0 ? &pairs->conditioning[pairs->sets - 1] : NULL;
    if (weight > 0) {
        if (!last || last->at != set.at || last->size != set.size) {
            pairs->conditioning[pairs->sets++] = set;
        }
        pairs->set[pairs->events] = pairs->sets - 1;
        pairs->target[pairs->events] = (int32_t)target;
        pairs->weight[pairs->events] = weight;
        ++pairs->events;
    }
}

void cs_pairs_targets(const cs_pairs *pairs, double scale, double *p)
{
    cs_fill(pairs->length, scale * pairs->invariant / (double)pairs->length, p);
    for (int64_t e = 0; e < pairs->events; ++e) {
        p[pairs->target[e]] += scale * pairs->weight[e];
    }
}

/* --- permutation-invariant objectives --- */

typedef struct {
    double *q;
    long double sum;
} size_table;

static bool store_size(void *ctx, int64_t m, long double c)
{
    size_table *table = ctx;
    table->q[m] = (double)c;
    table->sum += c;
    return true;
}

cs_status cs_sizes_visit(const cs_objective *o, int64_t s, cs_size_fn visit, void *ctx,
                         cs_size_facts *facts)
{
    cs_size_visitor v = {visit, ctx};
    cs_size_facts local = {0};
    cs_status status = cs_objective_table(o->kind)->sizes(o, s, &v, &local);
    if (status == CS_OK && facts) *facts = local;
    return status;
}

cs_status cs_pairs_of_sizes(const cs_objective *o, int64_t s, cs_pairs *pairs)
{
    cs_size_facts facts = {0};
    cs_status status = check_memory(s, (double)(s + 1) * sizeof *pairs->q);
    if (status != CS_OK) return status;
    pairs->q = cs_pool_take(&pairs->pool, s + 1, sizeof *pairs->q);
    size_table table = {.q = pairs->q};
    status = pairs->q ? cs_sizes_visit(o, s, store_size, &table, &facts) : CS_ERR_MEMORY;
    for (int64_t m = 0; m < s && status == CS_OK; ++m) {
        pairs->q[m] = (double)((long double)pairs->q[m] / table.sum);
    }
    pairs->invariant = 1;
    pairs->predicted = facts.predicted;
    pairs->denominator = facts.denominator;
    pairs->clamped = facts.clamped;
    return status;
}

/* The expected number of predicted tokens where the row has it or the number of given tokens is
 * constant; else *out is unchanged. The share is not applied. */
static cs_status predicted_by_row(const cs_objective *objective, int64_t s, double *out)
{
    int64_t lo, hi;
    const cs_objective_row *row = cs_objective_table(objective->kind);
    if (row->predicted) {
        return row->predicted(objective, s, out);
    }
    if (cs_objective_given(objective, s, &lo, &hi) && lo == hi) *out = (double)(s - lo);
    return CS_OK;
}

/* --- explicit conditioning sets --- */

enum { MOST_EVENTS = 1 << 20 };

double cs_pairs_expand_count(const cs_pairs *pairs)
{
    double events = 0;
    for (int64_t m = 0; pairs->q && m < pairs->length; ++m) {
        if (pairs->q[m] > 0) {
            events += cs_binomial(pairs->length, m) * (double)(pairs->length - m);
        }
    }
    for (int64_t e = 0; e < pairs->events; ++e) {
        events += !pairs->q || !(pairs->q[cs_pairs_set_of(pairs, e).size] > 0);
    }
    return events;
}

/* --- events of several sources --- */

/* One predicted token; its set is the m positions at `position`. */
typedef struct {
    const int32_t *position;
    int64_t m;
    int64_t number; /* order of the list: keeps sums independent of the sort */
    int32_t target;
    double weight;
} set_event;

static bool is_prefix(const set_event *e)
{
    return e->m == 0 || e->position[e->m - 1] == e->m - 1;
}

static int compare_sets(const set_event *a, const set_event *b)
{
    if (a->m != b->m) {
        return a->m < b->m ? -1 : 1;
    }
    bool same = a->position == b->position || (is_prefix(a) && is_prefix(b));
    for (int64_t i = 0; i < a->m && !same; ++i) {
        if (a->position[i] != b->position[i]) {
            return a->position[i] < b->position[i] ? -1 : 1;
        }
    }
    return 0;
}

static int compare_events(const void *x, const void *y)
{
    const set_event *a = x, *b = y;
    int order = compare_sets(a, b);
    if (order == 0 && a->target != b->target) {
        order = a->target < b->target ? -1 : 1;
    }
    return order != 0 ? order : (a->number > b->number) - (a->number < b->number);
}

/* Sorts n events and adds equal ones into the listed part. */
static cs_status merge_events(set_event *event, int64_t n, double total, cs_pairs *pairs)
{
    int64_t sets = 0, positions = pairs->length;
    qsort(event, (size_t)n, sizeof *event, compare_events);
    for (int64_t e = 0; e < n; ++e) {
        if (e == 0 || compare_sets(&event[e], &event[e - 1]) != 0) {
            ++sets;
            positions += is_prefix(&event[e]) ? 0 : event[e].m;
        }
    }
    cs_status status = alloc_events(pairs, sets, positions, n);
    if (status != CS_OK) return status;
    put_prefixes(pairs);
    cs_pairs_set set = {0};
    for (int64_t e = 0, next, used = pairs->length; e < n; e = next) {
        const set_event *first = &event[e];
        if (is_prefix(first)) {
            set = (cs_pairs_set){0, first->m};
        } else if (e == 0 || compare_sets(first, first - 1) != 0) {
            set = (cs_pairs_set){used, first->m};
            memcpy(pairs->position + used, first->position, (size_t)first->m * sizeof(int32_t));
            used += first->m;
        }
        double weight = 0;
        for (next = e; next < n && event[next].target == first->target &&
                       compare_sets(&event[next], first) == 0;
             ++next) {
            weight += event[next].weight / total;
        }
        cs_pairs_add(pairs, set, first->target, weight);
    }
    return CS_OK;
}

/* The listed events of distributions, times weight / total. */
static cs_status add_listed(const cs_pairs *list, const double *weight, int64_t count, double total,
                            cs_pairs *out)
{
    int64_t events = 0, n = 0;
    bool prefixes = true;
    for (int64_t j = 0; j < count; ++j) {
        events += list[j].events;
        prefixes = prefixes && (list[j].prefixes || list[j].events == 0);
    }
    cs_status status = check_memory(out->length, (double)events * 2 * sizeof(set_event));
    if (status != CS_OK) return status;
    CS_AUTO_FREE set_event *event = cs_alloc(events, sizeof *event);
    if (!event) return CS_ERR_MEMORY;
    for (int64_t j = 0; j < count; ++j) {
        for (int64_t e = 0; e < list[j].events; ++e, ++n) {
            const cs_pairs_set set = cs_pairs_set_of(&list[j], e);
            event[n] = (set_event){cs_pairs_positions(&list[j], set), set.size, n,
                                   list[j].target[e], weight[j] * list[j].weight[e]};
        }
    }
    status = merge_events(event, n, total, out);
    out->prefixes = prefixes;
    return status;
}

cs_status cs_pairs_mix(const cs_pairs *list, const double *weight, int64_t count, cs_pairs *out)
{
    double total = 0, sized = 0;
    for (int64_t j = 0; j < count; ++j) {
        total += weight[j];
        sized += list[j].q ? weight[j] * list[j].invariant : 0;
    }
    if (sized > 0) {
        out->q = cs_pool_take(&out->pool, out->length + 1, sizeof *out->q);
        if (!out->q) return CS_ERR_MEMORY;
    }
    for (int64_t j = 0; j < count; ++j) {
        for (int64_t m = 0; list[j].q && m < out->length; ++m) {
            out->q[m] += weight[j] / total * list[j].q[m];
        }
    }
    out->invariant = sized / total;
    return add_listed(list, weight, count, total, out);
}

/* --- expansion --- */

/* All sets of size m, each with its s - m targets; *used positions are taken. */
static void expand_size(const cs_pairs *pairs, int64_t m, int64_t *used, cs_pairs *out)
{
    int64_t s = pairs->length;
    double weight = pairs->q[m] / (cs_binomial(s, m) * (double)(s - m));
    int32_t *subset = out->position + *used;
    cs_first_subset(m, subset);
    for (bool more = true; more;) {
        const cs_pairs_set set = {*used, m};
        for (int64_t k = 0, inside = 0; k < s; ++k) {
            if (inside < m && subset[inside] == k) {
                ++inside;
            } else {
                cs_pairs_add(out, set, k, weight);
            }
        }
        *used += m;
        int32_t *next = out->position + *used;
        /* The buffer ends with the last set of the last size: write a successor only if there is
         * one. */
        more = m > 0 && subset[0] < s - m;
        if (more) {
            memcpy(next, subset, (size_t)m * sizeof *next);
            more = cs_next_subset(s, m, next);
        }
        subset = next;
    }
}

static cs_status expand_sizes(const cs_pairs *pairs, cs_pairs *out)
{
    int64_t sets = 0, positions = 0, events = 0;
    for (int64_t m = 0; m < pairs->length; ++m) {
        int64_t count = pairs->q[m] > 0 ? (int64_t)cs_binomial(pairs->length, m) : 0;
        sets += count;
        positions += count * m;
        events += count * (pairs->length - m);
    }
    cs_status status = alloc_events(out, sets, positions, events);
    for (int64_t m = 0, used = 0; status == CS_OK && m < pairs->length; ++m) {
        if (pairs->q[m] > 0) {
            expand_size(pairs, m, &used, out);
        }
    }
    return status;
}

cs_status cs_pairs_expand(cs_pairs *pairs, int64_t limit)
{
    double needed = cs_pairs_expand_count(pairs);
    if (needed > (double)limit) {
        return cs_fail(CS_ERR_USAGE,
                       "length %" PRId64 " expands to %.15g events, but at most %" PRId64
                       " are supported",
                       pairs->length, needed, limit);
    }
    if (!pairs->q) {
        return CS_OK;
    }
    const cs_pairs distribution = {.length = pairs->length,
                                   .predicted = pairs->predicted,
                                   .denominator = pairs->denominator,
                                   .clamped = pairs->clamped};
    CS_AUTO(cs_pairs) sized = distribution, both = distribution;
    cs_pairs *done = pairs->events > 0 ? &both : &sized;
    cs_status status = expand_sizes(pairs, &sized);
    if (status == CS_OK && done == &both)
        status = add_listed((const cs_pairs[]){*pairs, sized}, (const double[]){1, 1}, 2, 1, &both);
    if (status == CS_OK) {
        const cs_pairs before = *pairs;
        *pairs = *done;
        *done = before;
    }
    return status;
}

/* --- plan files --- */

static double plan_weight(const cs_plan *plan)
{
    return cs_total(plan->length, plan->weight);
}

/* Writes the events of one plan; returns their number. `work` receives the sets, one row of s a
 * group. */
static int64_t plan_events(const cs_plan *plan, double scale, int64_t first, int32_t *work,
                           set_event *event)
{
    int64_t s = plan->length, count = 0;
    for (int32_t g = 0; g <= plan->groups; ++g) {
        int32_t *row = work + (int64_t)g * s;
        int64_t m = 0;
        for (int32_t i = 0; i < s; ++i) {
            if (plan->group[i] < g) {
                row[m++] = i;
            }
        }
        for (int32_t k = 0; k < s; ++k) {
            if (plan->group[k] == g && plan->weight[k] > 0) {
                event[count] = (set_event){row, m, first + count, k, scale * plan->weight[k]};
                ++count;
            }
        }
    }
    return count;
}

cs_status cs_pairs_of_file(const cs_objective *objective, int64_t s, cs_pairs *pairs)
{
    const cs_plan_file *file = objective->file;
    bool mask = objective->event_weight == CS_EVENT_MASK;
    int64_t rows = 0, plans = 0, n = 0;
    double total = 0;
    for (int64_t p = 0; p < file->plans; ++p) {
        if (file->plan[p].length == s) {
            rows += file->plan[p].groups + 1;
            ++plans;
        }
    }
    CS_AUTO_FREE int32_t *work = cs_alloc(rows * s, sizeof *work);
    CS_AUTO_FREE set_event *event = cs_alloc(plans * s, sizeof *event);
    cs_status status = work && event ? CS_OK : CS_ERR_MEMORY;
    int32_t *next = work;
    for (int64_t p = 0; status == CS_OK && p < file->plans; ++p) {
        const cs_plan *plan = &file->plan[p];
        if (plan->length == s) {
            double weight = plan_weight(plan);
            pairs->predicted += file->probability[p] * weight;
            total += file->probability[p] * (mask ? 1 : weight);
            n += plan_events(plan, file->probability[p] / (mask ? weight : 1), n, next, event + n);
            next += (plan->groups + 1) * s;
        }
    }
    return status == CS_OK ? merge_events(event, n, total, pairs) : status;
}

/* --- all plans of an objective --- */

typedef struct {
    int64_t rows, events; /* counted, then written */
    double total, predicted;
    bool mask; /* plans have weight 1 each */
    int32_t *work;
    set_event *event; /* NULL: plans are counted */
} listing;

static cs_status list_plan(void *ctx, const cs_plan *plan, double probability)
{
    listing *list = ctx;
    if (!list->event) {
        list->events += plan->length;
    } else {
        const double weight = plan_weight(plan);
        const int64_t events =
            plan_events(plan, probability, list->events, list->work + list->rows * plan->length,
                        list->event + list->events);
        list->total += probability * weight;
        list->predicted += probability * (list->mask ? (double)events : weight);
        list->events += events;
    }
    list->rows += plan->groups + 1;
    return CS_OK;
}

cs_status cs_pairs_of_plans(const cs_objective *objective, int64_t s, cs_pairs *pairs)
{
    enum { MOST_PLANS = 1 << 18 };
    listing list = {0};
    cs_status status = cs_plan_enumerate(objective, s, MOST_PLANS, list_plan, &list);
    if (status != CS_OK)
        return cs_blame(status, "exact events sum over all plans; give shorter sequences, or "
                                "sample the plans with cospec cooc --draws N");
    CS_AUTO_FREE int32_t *work = cs_alloc(list.rows * s, sizeof *work);
    CS_AUTO_FREE set_event *event = cs_alloc(list.events, sizeof *event);
    list =
        (listing){.work = work, .event = event, .mask = objective->event_weight == CS_EVENT_MASK};
    status = work && event ? cs_plan_enumerate(objective, s, MOST_PLANS, list_plan, &list)
                           : CS_ERR_MEMORY;
    if (status == CS_OK) status = merge_events(event, list.events, list.total, pairs);
    pairs->predicted = list.predicted;
    return status == CS_OK ? predicted_by_row(objective, s, &pairs->predicted) : status;
}

/* --- the exact distribution of any objective --- */

static cs_status level(cs_pairs *pairs)
{
    CS_AUTO_FREE double *factor = cs_alloc(pairs->length, sizeof *factor);
    cs_status status = factor ? CS_OK : CS_ERR_MEMORY;
    if (status == CS_OK) cs_pairs_targets(pairs, 1, factor);
    if (status == CS_OK && cs_target_level(pairs->length, factor)) {
        status = cs_blame(cs_pairs_expand(pairs, MOST_EVENTS),
                          "target-weight=uniform must list the sets of each part");
        for (int64_t e = 0; status == CS_OK && e < pairs->events; ++e) {
            pairs->weight[e] *= factor[pairs->target[e]];
        }
        pairs->denominator = 0;
    }
    return status;
}

cs_status cs_pairs_of(const cs_objective *objective, int64_t s, cs_pairs *out)
{
    cs_status status = cs_objective_check(objective);
    if (status == CS_OK) status = cs_objective_check_length(objective, s);
    if (status != CS_OK) return status;
    cs_pairs pairs = {.length = s};
    const cs_objective_row *row = cs_objective_table(objective->kind);
    status = row->pairs   ? row->pairs(objective, s, &pairs)
             : row->sizes ? cs_pairs_of_sizes(objective, s, &pairs)
                          : cs_pairs_of_plans(objective, s, &pairs);
    if (status == CS_OK && objective->target_weight == CS_TARGETS_UNIFORM) status = level(&pairs);
    return CS_DELIVER(status, out, pairs, cs_pairs_free);
}

cs_status cs_objective_predicted(const cs_objective *objective, int64_t s, double *out)
{
    cs_status status = cs_objective_check_length(objective, s);
    *out = -1;
    if (status == CS_OK) status = predicted_by_row(objective, s, out);
    if (status == CS_OK && *out < 0) {
        CS_AUTO(cs_pairs) pairs = {0};
        status = cs_pairs_of(objective, s, &pairs);
        *out = pairs.predicted;
    }
    if (status == CS_OK) *out *= objective->share;
    return status;
}

cs_status cs_target_factors(const cs_objective *objective, int64_t s, double **out)
{
    cs_objective plain = *objective;
    CS_AUTO(cs_pairs) pairs = {0};
    *out = NULL;
    plain.target_weight = CS_TARGETS_PLAN;
    if (objective->target_weight == CS_TARGETS_PLAN) {
        return CS_OK;
    }
    cs_status status = cs_blame(cs_pairs_of(&plain, s, &pairs), "target-weight=uniform");
    double *factor = status == CS_OK ? cs_alloc(s, sizeof *factor) : NULL;
    if (status == CS_OK && !factor) status = CS_ERR_MEMORY;
    if (status == CS_OK) {
        cs_pairs_targets(&pairs, 1, factor);
        (void)cs_target_level(s, factor);
    }
    *out = factor;
    return status;
}
