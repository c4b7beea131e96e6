/* Explicit conditioning sets: plan files, and the expansion of the other two forms.
 *
 * Sets are ordered by size, then lexicographically by their ascending positions. Events of a plan
 * file are collected with their set written out, sorted by (S, k), and equal ones added in the
 * order of the file.
 */

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "plan/count.h"
#include "plan/laws_private.h"
#include "plan/plan_file.h"

double cs_pairs_expand_count(const cs_pairs *pairs)
{
    if (pairs->form != CS_PAIRS_INVARIANT) {
        return (double)pairs->events;
    }
    double events = 0;
    for (int64_t m = 0; m < pairs->length; ++m) {
        if (pairs->q[m] > 0) {
            events += cs_binomial(pairs->length, m) * (double)(pairs->length - m);
        }
    }
    return events;
}

/* --- expansion --- */

static cs_status sets_room(cs_pairs *out, int64_t sets, int64_t positions, int64_t events)
{
    out->form = CS_PAIRS_SETS;
    out->set_ptr = cs_calloc(sets + 1, sizeof *out->set_ptr);
    out->set_pos = cs_alloc(positions, sizeof *out->set_pos);
    if (!out->set_ptr || !out->set_pos) return CS_ERR_MEMORY;
    return cs_pairs_events_init(out, events);
}

/* Closes the set whose m positions were just written behind the last one. */
static void close_set(cs_pairs *out, int64_t m)
{
    out->set_ptr[out->sets + 1] = out->set_ptr[out->sets] + m;
    ++out->sets;
}

static void add_event(cs_pairs *out, int64_t set, int32_t target, double weight)
{
    out->set[out->events] = set;
    out->target[out->events] = target;
    out->weight[out->events] = weight;
    ++out->events;
}

static cs_status expand_prefix(const cs_pairs *pairs, cs_pairs *out)
{
    int64_t sets = 0, positions = 0;
    for (int64_t e = 0; e < pairs->events; ++e) {
        if (e == 0 || pairs->set[e] != pairs->set[e - 1]) {
            ++sets;
            positions += pairs->set[e];
        }
    }
    cs_status status = sets_room(out, sets, positions, pairs->events);
    for (int64_t e = 0; status == CS_OK && e < pairs->events; ++e) {
        if (e == 0 || pairs->set[e] != pairs->set[e - 1]) {
            int32_t *position = out->set_pos + out->set_ptr[out->sets];
            for (int64_t i = 0; i < pairs->set[e]; ++i) {
                position[i] = (int32_t)i;
            }
            close_set(out, pairs->set[e]);
        }
        add_event(out, out->sets - 1, pairs->target[e], pairs->weight[e]);
    }
    return status;
}

/* All sets of size m, each with its s - m targets. */
static void expand_size(const cs_pairs *pairs, int64_t m, cs_pairs *out)
{
    int64_t s = pairs->length;
    double weight = pairs->q[m] / (cs_binomial(s, m) * (double)(s - m));
    int32_t *subset = out->set_pos + out->set_ptr[out->sets];
    for (int64_t i = 0; i < m; ++i) {
        subset[i] = (int32_t)i;
    }
    for (bool more = true; more;) {
        int64_t set = out->sets;
        close_set(out, m);
        for (int64_t k = 0, inside = 0; k < s; ++k) {
            if (inside < m && subset[inside] == k) {
                ++inside;
            } else {
                add_event(out, set, (int32_t)k, weight);
            }
        }
        int32_t *next = out->set_pos + out->set_ptr[out->sets];
        /* The room ends with the last set of the last size: write a successor only if there is one.
         */
        more = m > 0 && subset[0] < s - m;
        if (more) {
            memcpy(next, subset, (size_t)m * sizeof *next);
            more = cs_next_subset(s, m, next);
        }
        subset = next;
    }
}

static cs_status expand_invariant(const cs_pairs *pairs, cs_pairs *out)
{
    int64_t sets = 0, positions = 0, events = 0;
    for (int64_t m = 0; m < pairs->length; ++m) {
        int64_t count = pairs->q[m] > 0 ? (int64_t)cs_binomial(pairs->length, m) : 0;
        sets += count;
        positions += count * m;
        events += count * (pairs->length - m);
    }
    cs_status status = sets_room(out, sets, positions, events);
    for (int64_t m = 0; status == CS_OK && m < pairs->length; ++m) {
        if (pairs->q[m] > 0) {
            expand_size(pairs, m, out);
        }
    }
    return status;
}

static cs_status copy_sets(const cs_pairs *pairs, cs_pairs *out)
{
    int64_t positions = pairs->set_ptr[pairs->sets];
    cs_status status = sets_room(out, pairs->sets, positions, pairs->events);
    if (status == CS_OK) {
        size_t events = (size_t)pairs->events;
        memcpy(out->set_ptr, pairs->set_ptr, ((size_t)pairs->sets + 1) * sizeof *out->set_ptr);
        memcpy(out->set_pos, pairs->set_pos, (size_t)positions * sizeof *out->set_pos);
        memcpy(out->set, pairs->set, events * sizeof *out->set);
        memcpy(out->target, pairs->target, events * sizeof *out->target);
        memcpy(out->weight, pairs->weight, events * sizeof *out->weight);
        out->sets = pairs->sets;
        out->events = pairs->events;
    }
    return status;
}

cs_status cs_pairs_expand(const cs_pairs *pairs, int64_t limit, cs_pairs *out)
{
    double needed = cs_pairs_expand_count(pairs);
    if (needed > (double)limit) {
        return cs_fail(CS_ERR_USAGE,
                       "length %" PRId64 " expands to %.15g events, more than %" PRId64,
                       pairs->length, needed, limit);
    }
    cs_pairs local = {.length = pairs->length,
                      .predicted = pairs->predicted,
                      .denominator = pairs->denominator,
                      .clamped = pairs->clamped};
    cs_status status = pairs->form == CS_PAIRS_PREFIX      ? expand_prefix(pairs, &local)
                       : pairs->form == CS_PAIRS_INVARIANT ? expand_invariant(pairs, &local)
                                                           : copy_sets(pairs, &local);
    if (status != CS_OK) {
        cs_pairs_free(&local);
        return status;
    }
    *out = local;
    return CS_OK;
}

/* --- plan files --- */

/* One predicted token; its set is the m positions at `position`. */
typedef struct {
    const int32_t *position;
    int64_t m;
    int64_t number; /* order of the list: keeps sums independent of the sort */
    int32_t target;
    double weight;
} set_event;

static int compare_sets(const set_event *a, const set_event *b)
{
    if (a->m != b->m) {
        return a->m < b->m ? -1 : 1;
    }
    for (int64_t i = 0; i < a->m; ++i) {
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

static double plan_weight(const cs_plan *plan)
{
    double sum = 0;
    for (int64_t i = 0; i < plan->length; ++i) {
        sum += plan->weight[i];
    }
    return sum;
}

/* Writes the events of one plan; returns their number. `room` receives the sets, one row of s a
 * group. */
static int64_t plan_events(const cs_plan *plan, double scale, int64_t first, int32_t *room,
                           set_event *event)
{
    int64_t s = plan->length, count = 0;
    for (int32_t g = 0; g <= plan->groups; ++g) {
        int32_t *row = room + (int64_t)g * s;
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

/* Merges n sorted events into the sets form. */
static cs_status merge_events(const set_event *event, int64_t n, double total, cs_pairs *pairs)
{
    int64_t sets = 0, positions = 0;
    for (int64_t e = 0; e < n; ++e) {
        if (e == 0 || compare_sets(&event[e], &event[e - 1]) != 0) {
            ++sets;
            positions += event[e].m;
        }
    }
    cs_status status = sets_room(pairs, sets, positions, n);
    for (int64_t e = 0; status == CS_OK && e < n; ++e) {
        bool new_set = e == 0 || compare_sets(&event[e], &event[e - 1]) != 0;
        if (new_set) {
            memcpy(pairs->set_pos + pairs->set_ptr[pairs->sets], event[e].position,
                   (size_t)event[e].m * sizeof *pairs->set_pos);
            close_set(pairs, event[e].m);
        }
        if (new_set || event[e].target != event[e - 1].target) {
            add_event(pairs, pairs->sets - 1, event[e].target, 0);
        }
        pairs->weight[pairs->events - 1] += event[e].weight / total;
    }
    return status;
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
    int32_t *room = cs_alloc(rows * s, sizeof *room);
    set_event *event = cs_alloc(plans * s, sizeof *event);
    cs_status status = room && event ? CS_OK : CS_ERR_MEMORY;
    int32_t *next = room;
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
    if (status == CS_OK) {
        qsort(event, (size_t)n, sizeof *event, compare_events);
        status = merge_events(event, n, total, pairs);
    }
    cs_free(room);
    cs_free(event);
    return status;
}

/* --- all plans of an objective --- */

typedef struct {
    int64_t rows, events; /* counted, then written */
    double total;
    int32_t *room;
    set_event *event; /* NULL: plans are counted */
} listing;

static cs_status list_plan(void *ctx, const cs_plan *plan, double probability)
{
    listing *list = ctx;
    if (!list->event) {
        list->events += plan->length;
    } else {
        list->total += probability * plan_weight(plan);
        list->events +=
            plan_events(plan, probability, list->events, list->room + list->rows * plan->length,
                        list->event + list->events);
    }
    list->rows += plan->groups + 1;
    return CS_OK;
}

cs_status cs_pairs_of_plans(const cs_objective *objective, int64_t s, cs_pairs *pairs)
{
    enum { MOST_PLANS = 1 << 18 };
    listing list = {0};
    cs_status status = cs_plan_enumerate(objective, s, MOST_PLANS, list_plan, &list);
    if (status != CS_OK) {
        return cs_blame(status, "exact events are sums over all plans (--draws N samples them, "
                                "--max-length L makes them few)");
    }
    int32_t *room = cs_alloc(list.rows * s, sizeof *room);
    set_event *event = cs_alloc(list.events, sizeof *event);
    list = (listing){.room = room, .event = event};
    status = room && event ? cs_plan_enumerate(objective, s, MOST_PLANS, list_plan, &list)
                           : CS_ERR_MEMORY;
    if (status == CS_OK) {
        qsort(event, (size_t)list.events, sizeof *event, compare_events);
        status = merge_events(event, list.events, list.total, pairs);
    }
    if (status == CS_OK) status = cs_objective_predicted(objective, s, &pairs->predicted);
    cs_free(room);
    cs_free(event);
    return status;
}

cs_status cs_pairs_merge(const cs_pairs *list, const double *weight, int64_t count, cs_pairs *out)
{
    int64_t events = 0, n = 0;
    double total = 0;
    for (int64_t j = 0; j < count; ++j) {
        events += list[j].events;
        total += weight[j];
    }
    set_event *event = cs_alloc(events, sizeof *event);
    if (!event) return CS_ERR_MEMORY;
    for (int64_t j = 0; j < count; ++j) {
        for (int64_t e = 0; e < list[j].events; ++e, ++n) {
            const int64_t *ptr = list[j].set_ptr + list[j].set[e];
            event[n] = (set_event){list[j].set_pos + ptr[0], ptr[1] - ptr[0], n, list[j].target[e],
                                   weight[j] * list[j].weight[e]};
        }
    }
    qsort(event, (size_t)n, sizeof *event, compare_events);
    cs_status status = merge_events(event, n, total, out);
    cs_free(event);
    return status;
}
