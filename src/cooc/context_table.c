/* The tables of one length: what a mode needs from the pair distribution, how contributions are
 * numbered, and the common denominator of the weights.
 *
 * Denominators: the pair distribution names a D for which every event's weight x predicted x D is
 * an integer. A contribution's weight is a sum of events (nearest, document) or an event's share
 * 1/c of c places (each: D times lcm(1..c)), or its count f(d) of a pair. The multiple found so is reduced by the greatest
 * common divisor of the integers that occur. Where a weight is not within rounding of an integer,
 * or the integers pass 2^46 (where doubles no longer distinguish them), no denominator is claimed.
 *
 * Nearness in the plane: sequences that lie along rows of C columns, such as patches of a picture.
 *
 * The offsets (dy, dx) of a grid are sorted once, by dy^2 + dx^2 and then by position, and each target
 * takes those that stay within the grid: O(s^2) a length, 4 s^2 bytes. A last row may be shorter. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/mem.h"
#include "cooc/context_private.h"
#include "plan/count.h"

enum { LONGEST = 4096 }; /* 64 MiB */

typedef struct {
    int64_t distance, across, step;
} offset;

static bool in_plane(const cs_context_plan *plan)
{
    return plan->kind->plane && plan->context.columns > 1;
}

cs_status cs_context_plane_check(const cs_context_plan *plan)
{
    double bytes = 0;
    if (!in_plane(plan)) {
        return CS_OK;
    }
    if (plan->longest > LONGEST) {
        return cs_fail(CS_ERR_USAGE,
                       "nearest:%lld@%lld at length %lld: distance in the plane supports lengths "
                       "up to %d; give a smaller --max-length or --window",
                       (long long)plan->context.n, (long long)plan->context.columns,
                       (long long)plan->longest, LONGEST);
    }
    for (int64_t s = 0; s <= plan->longest; ++s) {
        bytes += plan->table_of[s] >= 0 ? 4.0 * (double)s * (double)s : 0;
    }
    return cs_mem_check(bytes, NULL, "distances in the plane of %lld lengths take",
                        (long long)plan->tables);
}

static int by_distance(const void *x, const void *y)
{
    const offset *a = x, *b = y;
    int order = (a->distance > b->distance) - (a->distance < b->distance);
    return order != 0 ? order : (a->step > b->step) - (a->step < b->step);
}

/* All offsets except (0, 0) of a grid of this size, the nearest first; returns their number. */
static int64_t sort_offsets(int64_t rows, int64_t width, int64_t columns, offset *out)
{
    int64_t n = 0;
    for (int64_t dy = 1 - rows; dy < rows; ++dy) {
        for (int64_t dx = 1 - width; dx < width; ++dx) {
            out[n] = (offset){dy * dy + dx * dx, dx, dy * columns + dx};
            n += dy != 0 || dx != 0;
        }
    }
    qsort(out, (size_t)n, sizeof *out, by_distance);
    return n;
}

static cs_status context_plane_table(const cs_context_plan *plan, int64_t s, cs_context_table *t)
{
    if (!in_plane(plan) || s == 0) {
        return CS_OK;
    }
    const int64_t columns = plan->context.columns, rows = (s + columns - 1) / columns;
    const int64_t width = columns < s ? columns : s;
    CS_AUTO_FREE offset *from = cs_alloc((2 * rows - 1) * (2 * width - 1), sizeof *from);
    t->near_position = cs_pool_take(&t->pool, s * s, sizeof *t->near_position);
    t->near_rank = cs_pool_take(&t->pool, s * s, sizeof *t->near_rank);
    const bool allocated = from && t->pool.status == CS_OK;
    const int64_t n = allocated ? sort_offsets(rows, width, columns, from) : 0;
    for (int64_t k = 0; allocated && k < s; ++k) {
        uint16_t *position = t->near_position + k * s, *rank = t->near_rank + k * s, last = 0;
        position[0] = (uint16_t)k;
        rank[k] = 0;
        for (int64_t i = 0; i < n; ++i) {
            const int64_t p = k + from[i].step, x = k % columns + from[i].across;
            if (x >= 0 && x < columns && p >= 0 && p < s) {
                position[++last] = (uint16_t)p;
                rank[p] = last;
            }
        }
    }
    return allocated ? CS_OK : CS_ERR_MEMORY;
}

static const double LARGEST_DENOMINATOR = 0x1p40;
static const double LARGEST_INTEGER = 0x1p46;

/* lcm(1..n), or 0 when it passes 2^40. */
static int64_t lcm_up_to(int64_t n)
{
    int64_t result = 1;
    for (int64_t i = 2; i <= n; ++i) {
        int64_t factor = i / cs_gcd(result, i);
        if ((double)result * (double)factor > LARGEST_DENOMINATOR) {
            return 0;
        }
        result *= factor;
    }
    return result;
}

static bool is_integer(double x)
{
    return x < LARGEST_INTEGER && fabs(x - rint(x)) <= 1e-6 + x * 0x1p-50;
}

void cs_divisors_take(cs_divisors *d, double weight)
{
    double x = weight * d->scale;
    if (!d->ok || !is_integer(x)) {
        d->ok = false;
        return;
    }
    if (d->divisor != 1) {
        d->divisor = cs_gcd((int64_t)llrint(x), d->divisor);
    }
}

static void take_weights(const cs_context_plan *plan, const cs_context_table *t, cs_divisors *d)
{
    if (t->pairs.q) {
        plan->kind->weights(plan, t, d);
    }
    for (int64_t a = 0; a < t->pairs.events && d->ok; ++a) {
        cs_divisors_take(d, t->pairs.weight[a]);
    }
}

static int64_t places(const cs_context_plan *plan, int64_t s, bool one_sided)
{
    return plan->kind->places ? plan->kind->places(plan, s, one_sided) : 1;
}

/* Each share of an event with this number of places is an integer over it; 0: none is known. */
static int64_t parts_of(const cs_context_plan *plan, int64_t most)
{
    switch (plan->context.pairs) {
    case CS_PAIRS_FLAT:
        return 1;
    case CS_PAIRS_LINEAR:
        return plan->context.n;
    case CS_PAIRS_HARMONIC:
        return lcm_up_to(plan->context.n);
    default:
        return lcm_up_to(most);
    }
}

/* The D of the pair distribution, or of the pairs of positions that `each` counts: all have one
 * weight then, which is 1/2 in predicted tokens under permuted-ar and a multiple of 1 / (s (s - 1))
 * for a fixed number of masks. */
static int64_t base_of(const cs_context_plan *plan, const cs_context_table *t)
{
    const int64_t s = t->pairs.length;
    if (!plan->context.pairs || !t->pairs.q || t->pairs.events > 0 || s < 2) {
        return t->pairs.denominator;
    }
    return is_integer(2 * t->place[1] * t->predicted) ? 2 : s < 1 << 20 ? s * (s - 1) : 0;
}

static void set_denominators(const cs_context_plan *plan, cs_context_table *t)
{
    int64_t base = base_of(plan, t);
    bool sums = t->pairs.q;
    int64_t split = parts_of(plan, places(plan, t->pairs.length, t->pairs.prefixes));
    if (base <= 0 || split == 0 || (double)base * (double)split > LARGEST_DENOMINATOR) {
        return;
    }
    /* Sums over sets carry the shares already; single events are split afterwards. */
    int64_t whole = sums ? base * split : base;
    double total = t->predicted * (double)whole;
    cs_divisors d = {.scale = total, .ok = is_integer(total)};
    take_weights(plan, t, &d);
    if (!d.ok) {
        return;
    }
    int64_t rest = sums ? 1 : split, units = (int64_t)llrint(total);
    t->denominator = whole / cs_gcd(d.divisor, whole) * rest;
    t->document_denominator = units / cs_gcd(d.divisor, units) * rest;
}

/* Sampled plans: an event has its plan's weight over the expected weight of all draws. */
static void set_draws(const cs_context_plan *plan, cs_context_table *t)
{
    const cs_objective *o = &plan->objective;
    cs_plan_weighting weighting = cs_objective_table(o->kind)->weighting;
    bool one = weighting == CS_WEIGHTS_ONE, token = o->event_weight == CS_EVENT_TOKEN;
    /* The expected sum of a drawn plan's weights; thinning keeps a single event with probability share. */
    double weight = one     ? o->share
                    : token ? t->predicted
                            : cs_objective_predict_probability(o, t->pairs.length);
    t->draw_weight = (double)plan->draws * weight;
    t->outer = plan->draws;
    t->inner = places(plan, t->pairs.length, false);
    t->contributions = (double)plan->draws * t->predicted * (double)t->inner;
    int64_t split = parts_of(plan, t->inner);
    bool units = one || weighting == CS_WEIGHTS_EQUAL || (weighting == CS_WEIGHTS_TOKENS && token);
    /* Where every event is one unit of a draw. */
    if (units && !t->factor && split > 0 && (!one || (o->share == 1 && is_integer(t->predicted))) &&
        (double)plan->draws * (double)split <= LARGEST_DENOMINATOR) {
        double total = t->predicted * (double)plan->draws;
        t->denominator = plan->draws * split;
        t->document_denominator = is_integer(total) ? (int64_t)llrint(total) * split : 0;
    }
}

static cs_status out_of_reach(const cs_context_plan *plan, int64_t s, double events)
{
    return cs_fail(CS_ERR_USAGE,
                   "all under %s at length %lld has %.3g contexts, but at most %.3g are supported: "
                   "give shorter sequences, or sample the plans with cospec cooc --draws N",
                   cs_objective_name(plan->objective.kind), (long long)s, events,
                   (double)plan->max_events);
}

static cs_status enumerate(const cs_context_plan *plan, cs_context_table *t)
{
    double events = cs_pairs_expand_count(&t->pairs);
    return events > (double)plan->max_events ? out_of_reach(plan, t->pairs.length, events)
                                             : cs_pairs_expand(&t->pairs, plan->max_events);
}

static void number_contributions(const cs_context_plan *plan, cs_context_table *t)
{
    int64_t s = t->pairs.length, events = t->pairs.events, targets = t->pairs.q ? s : 0;
    int64_t of_event = events > 0 ? places(plan, s, t->pairs.prefixes) : 0, of_target = 0;
    if (targets > 0) {
        of_target = t->patterns > 0 ? t->patterns : places(plan, s, false);
    }
    t->outer = events + targets;
    t->inner = of_event > of_target ? of_event : of_target;
    t->contributions = (double)events * (double)of_event + (double)targets * (double)of_target;
}

cs_status cs_context_table_init(const cs_context_plan *plan, int64_t length, cs_context_table *t)
{
    memset(t, 0, sizeof *t);
    if (plan->draws > 0) {
        cs_status drawn = cs_objective_predicted(&plan->objective, length, &t->predicted);
        if (drawn == CS_OK) drawn = cs_target_factors(&plan->objective, length, &t->factor);
        if (drawn == CS_OK) drawn = cs_plan_sampler_init(&plan->objective, length, &t->sampler);
        t->pairs.length = length;
        set_draws(plan, t);
        return drawn == CS_OK ? context_plane_table(plan, length, t) : drawn;
    }
    cs_status status = cs_pairs_of(&plan->objective, length, &t->pairs);
    if (status != CS_OK) return status;
    t->predicted = t->pairs.predicted;
    if (plan->kind->gram) {
        status = plan->kind->table(plan, t);
        cs_pairs_free(&t->pairs);
        t->pairs.length = length;
    } else if (t->pairs.q && (plan->kind->whole || plan->listed)) {
        status = enumerate(plan, t);
    } else if (t->pairs.q && plan->kind->table) {
        status = plan->kind->table(plan, t);
    }
    if (status == CS_OK) status = context_plane_table(plan, length, t);
    if (status == CS_OK && !plan->kind->gram) {
        number_contributions(plan, t);
        set_denominators(plan, t);
    } else if (status != CS_OK) {
        cs_context_table_free(t);
    }
    return status;
}

void cs_context_table_free(cs_context_table *t)
{
    cs_pairs_free(&t->pairs);
    cs_free(t->pattern);
    cs_pool_free(&t->pool);
    cs_free(t->factor);
    cs_plan_sampler_free(&t->sampler);
    memset(t, 0, sizeof *t);
}
