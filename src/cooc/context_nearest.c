/* Contexts `nearest:n` and `nearest:n@c`: the n conditioning positions nearest to the target
 * (spectra.md).
 *
 * Order the s-1 positions other than k by nearness. Under a permutation-invariant objective S is a
 * uniform m-subset of them with probability q(m), so a given set of n positions whose farthest has
 * rank i is exactly the n nearest with probability
 *
 *     h(i) = sum_m q(m) C(s-1-i, m-n) / C(s-1, m),    i >= n, m >= n,
 *
 * the same for every target, and in whatever way positions are ordered (in the plane:
 * context_table.c); there are C(i-1, n-1) such sets. A set with m < n positions keeps all of them,
 * wherever they are, with probability q(m) / C(s-1, m). Both are computed by recurrences of
 * positive terms in i (no differences of log-gammas): h(i+1)/h(i) has the factor (s-1-i-(m-n)) /
 * (s-1-i), and the probability r_j(i) that the first i ranks hold j positions of S follows from
 * drawing without replacement. sum_{j<n} r_j(i) is the weight beyond rank i; the enumeration stops
 * once it is below plan->tail of a target's share of the distribution, and the rest is dropped.
 *
 * Limits: n a handful. The patterns of one target, about (ln tail / ln rho)^n / n! for mask ratio
 * rho, are bounded by max_events, and those of a corpus by 2^36 (context.c), because objectives
 * with few unmasked tokens at long lengths have a context everywhere. Sampling is no way out: few
 * draws leave far patterns unique. A larger tail is, whose dropped weight is counted, or shorter
 * pieces. */
#include "cooc/context_private.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "plan/count.h"

enum { MARK = -1 };

static const double MAX_WORK = 0x1p33; /* ranks x sizes of one table: seconds */

/* --- weights of a permutation-invariant objective --------------------------------------------- */

/* The sizes m >= n with q(m) > 0: what is known of each after i ranks. */
typedef struct {
    int64_t count, n;
    int64_t *size;   /* count */
    double *held;    /* count x n: r_j(i) */
    double *pattern; /* count: q(m) C(s-1-i, m-n) / C(s-1, m) */
    cs_pool pool;
} drawing;

static cs_status drawing_init(const cs_context_table *t, int64_t n, drawing *d)
{
    int64_t s = t->pairs.length;
    *d = (drawing){.n = n};
    for (int64_t m = n; m < s; ++m) {
        d->count += t->pairs.q[m] > 0;
    }
    d->size = cs_pool_take(&d->pool, d->count, sizeof *d->size);
    d->held = cs_pool_take(&d->pool, d->count * n, sizeof *d->held);
    d->pattern = cs_pool_take(&d->pool, d->count, sizeof *d->pattern);
    int64_t a = 0;
    for (int64_t m = n; m < s && d->pool.status == CS_OK; ++m) {
        if (t->pairs.q[m] > 0) {
            double p = t->pairs.q[m] / (double)s;
            d->held[a * n] = p;
            for (int64_t j = 0; j < n; ++j) {
                p *= (double)(m - j) / (double)(s - 1 - j);
            }
            d->pattern[a] = p; /* i = n: the n nearest positions are all in S */
            d->size[a++] = m;
        }
    }
    return d->pool.status;
}

/* From i-1 ranks to i; returns the weight beyond rank i and sets *pattern to h(i) / s. */
static double drawing_advance(drawing *d, int64_t s, int64_t i, double *pattern)
{
    double beyond = 0, sum = 0;
    int64_t n = d->n, left = s - i; /* positions not yet seen, the i-th included */
    for (int64_t a = 0; a < d->count; ++a) {
        double *held = d->held + a * n;
        for (int64_t j = n - 1; j >= 0; --j) {
            int64_t due = d->size[a] - j; /* positions of S still to come */
            double stays = fmax(0, (double)(left - due) / (double)left);
            double comes = j > 0 ? (double)(due + 1) / (double)left : 0;
            held[j] = held[j] * stays + (j > 0 ? held[j - 1] * comes : 0);
            beyond += held[j];
        }
        if (i >= n) {
            sum += d->pattern[a];
            int64_t rest = s - 1 - i, missing = rest - (d->size[a] - n);
            d->pattern[a] *= missing > 0 ? (double)missing / (double)rest : 0;
        }
    }
    *pattern = sum;
    return beyond;
}

/* Rounded up to one significant digit. */
static double round_up(double x)
{
    double digit = pow(10, floor(log10(x)));
    return ceil(x / digit) * digit;
}

/* The longest sequence whose every choice of at most n positions stays within the limit, where the
 * objective exists; 0: none. */
static int64_t affordable_length(const cs_context_plan *plan, double limit)
{
    int64_t n = plan->context.n, s = 1;
    for (;; ++s) {
        double choices = 0;
        for (int64_t m = 0; m <= n && choices <= limit; ++m) {
            /* of the s positions other than the target, at length s + 1 */
            choices += cs_binomial(s, m);
        }
        if (choices > limit) {
            break;
        }
    }
    if (s < 2 || cs_objective_check_length(&plan->objective, s) != CS_OK) {
        cs_reason_clear();
        return 0;
    }
    return s;
}

/* `tail`: what lies beyond the ranks that are within the limit, as a share of an event. */
static cs_status too_many(const cs_context_plan *plan, int64_t s, double patterns, double tail)
{
    static const double LARGEST_TAIL = 0.5; /* dropping more is no approximation */
    char by_tail[48] = "", by_length[48] = "";
    int64_t length = affordable_length(plan, patterns);
    tail = tail > 0 ? round_up(tail) : 1;
    if (tail <= LARGEST_TAIL) {
        (void)snprintf(by_tail, sizeof by_tail, "--tail %g", tail);
    }
    if (length > 0 && length < s) {
        (void)snprintf(by_length, sizeof by_length, "--max-length %lld", (long long)length);
    }
    return cs_fail(
        CS_ERR_USAGE,
        "nearest:%lld under %s at length %lld has more than %.3g contexts per target: give %s%s%s",
        (long long)plan->context.n, cs_objective_name(plan->objective.kind), (long long)s, patterns,
        by_tail, *by_tail && *by_length ? " or " : "",
        *by_tail || *by_length ? by_length : "a smaller N");
}

/* Sets of fewer than n positions, kept whole: their number and weights. */
static double padded_weights(const cs_context_table *t, int64_t n, double *padded)
{
    int64_t s = t->pairs.length;
    double sets = 1, count = 0; /* sets = C(s-1, m) */
    for (int64_t m = 0; m < n; ++m) {
        padded[m] = m < s ? t->pairs.q[m] / (double)s / sets : 0;
        count += padded[m] > 0 ? sets : 0;
        sets = m < s - 1 ? sets * (double)(s - 1 - m) / (double)(m + 1) : 1;
    }
    return count;
}

static cs_status make_table(const cs_context_plan *plan, cs_context_table *t)
{
    int64_t s = t->pairs.length, n = plan->context.n, capacity = 64;
    double limit = plan->max_patterns, distribution = t->pairs.invariant;
    drawing d = {0};
    t->padded = cs_pool_take(&t->pool, n, sizeof *t->padded);
    t->pattern = cs_calloc(capacity, sizeof *t->pattern);
    if (!t->padded || !t->pattern) return CS_ERR_MEMORY;
    double count = padded_weights(t, n, t->padded);
    if (count > limit) {
        return too_many(plan, s, limit, 0);
    }
    cs_status status = drawing_init(t, n, &d);
    double beyond = d.count > 0 ? 1 : 0, sets = 1; /* sets = C(i-1, n-1) */
    for (int64_t i = 1; i < s && beyond > plan->tail * distribution / (double)s && status == CS_OK;
         ++i) {
        status = cs_reserve(&t->pattern, &capacity, i + 1, sizeof *t->pattern);
        if (status != CS_OK) break;
        double before = beyond;
        beyond = drawing_advance(&d, s, i, &t->pattern[i]);
        if (i >= n) {
            count += sets;
            sets *= (double)i / (double)(i - n + 1);
        }
        t->ranks = i;
        if (count > limit) {
            status = too_many(plan, s, limit, before * (double)s / distribution);
        } else if ((double)i * (double)d.count > MAX_WORK) {
            status = too_many(plan, s, (double)i, before * (double)s / distribution);
        }
    }
    t->tail = beyond;
    t->patterns = (int64_t)count;
    cs_pool_free(&d.pool);
    return status;
}

/* --- rows ------------------------------------------------------------------------------------- */

/* Completes a row of `items` items in w->row_position/row_content with marks; the sum of their
 * hashes, or that of the empty row, added to `sum`. */
static cs_hash128 pad(cs_context_walker *w, int64_t items, cs_hash128 sum)
{
    if (items == 0) {
        sum = cs_key_empty(w);
    }
    for (int64_t j = items; j < w->plan->context.n; ++j) {
        w->row_position[j] = 0;
        w->row_content[j] = MARK;
        sum = cs_key_add(sum, cs_key_of(CS_KEY_BOUNDARY, j, 0));
    }
    return sum;
}

static cs_hash128 put(cs_context_walker *w, int64_t target, int64_t position, int64_t slot)
{
    const int64_t offset = cs_near_offset(&w->plan->context, target, position);
    w->row_position[slot] = (int32_t)offset;
    w->row_content[slot] = w->token[position];
    return cs_key_of(CS_KEY_ITEM, offset, w->token[position]);
}

static bool holds(const cs_context_event *e, int64_t position)
{
    return e->prefix >= 0 ? position < e->prefix : e->rank[position] < e->limit;
}

static cs_status event(cs_context_walker *w, const cs_context_event *e)
{
    int64_t n = w->plan->context.n, s = w->length, k = e->target, found = 0;
    cs_hash128 sum = {0, 0};
    if (e->prefix >= 0 && !w->table->near_position) { /* its end is the nearest */
        for (int64_t p = e->prefix - 1; p >= 0 && found < n; --p) {
            sum = cs_key_add(sum, put(w, k, p, found++));
        }
    } else {
        int64_t want = e->size < n ? e->size : n;
        for (int64_t r = 1; r < s && found < want; ++r) {
            int64_t p = cs_near_position(w->table, k, r);
            if (holds(e, p)) {
                sum = cs_key_add(sum, put(w, k, p, found++));
            }
        }
    }
    cs_contribution c = cs_contribution_of(w, k, pad(w, found, sum), e->weight, e->ordinal, n);
    return w->visit(w->ctx, &c);
}

/* Puts the position of this nearness rank into the row. */
static inline void lay(cs_context_walker *w, int64_t slot, int64_t rank)
{
    w->row_position[slot] = w->near_offset[rank];
    w->row_content[slot] = w->near_token[rank];
}

/* All ways to choose `size` of the ranks 1..top, the last one fixed to `top` when `fixed`; ranks in
 * w->chosen ascend. Patterns are visited in a fixed order; *ordinal counts them. A pattern differs
 * from the one before in its last ranks, most often in one: the key grows from the partial sum of
 * those that stay. */
static cs_status visit_patterns(cs_context_walker *w, int64_t target, int64_t size, int64_t top,
                                bool fixed, double weight, int64_t *ordinal)
{
    int64_t *chosen = w->chosen, free = size - fixed, span = top - fixed;
    if (span < free) {
        return CS_OK;
    }
    for (int64_t j = 0; j < free; ++j) {
        chosen[j] = j + 1;
    }
    w->partial[0] = pad(w, size, (cs_hash128){0, 0});
    if (fixed) {
        lay(w, free, top);
        w->partial[0] = cs_key_add(w->partial[0], w->hash[top]);
    }
    cs_contribution c =
        cs_contribution_of(w, target, w->partial[0], weight, *ordinal, w->plan->context.n);
    for (int64_t changed = 0;;) {
        for (int64_t l = changed; l < free; ++l) {
            lay(w, l, chosen[l]);
            w->partial[l + 1] = cs_key_add(w->partial[l], w->hash[chosen[l]]);
        }
        c.key = w->partial[free];
        c.ordinal = (*ordinal)++;
        cs_status status = w->visit(w->ctx, &c);
        if (status != CS_OK) return status;
        int64_t j = free - 1; /* next combination, in lexicographic order */
        while (j >= 0 && chosen[j] == span - free + 1 + j) {
            --j;
        }
        if (j < 0) {
            return CS_OK;
        }
        ++chosen[j];
        for (int64_t l = j + 1; l < free; ++l) {
            chosen[l] = chosen[l - 1] + 1;
        }
        changed = j;
    }
}

static void weights(const cs_context_plan *plan, const cs_context_table *t, cs_divisors *d)
{
    for (int64_t m = 0; m < plan->context.n; ++m) {
        cs_divisors_take(d, t->padded[m]);
    }
    for (int64_t i = plan->context.n; i <= t->ranks; ++i) {
        cs_divisors_take(d, t->pattern[i]);
    }
}

static cs_status targets(cs_context_walker *w, int64_t first, int64_t last)
{
    const cs_context_table *t = w->table;
    int64_t n = w->plan->context.n, s = w->length;
    bool pads = false;
    for (int64_t m = 1; m < n; ++m) {
        pads = pads || t->padded[m] > 0;
    }
    int64_t reach = pads ? s - 1 : t->ranks;
    cs_status status = CS_OK;
    for (int64_t k = first; k < last && status == CS_OK; ++k) {
        int64_t ordinal = cs_context_ordinal(t, k);
        for (int64_t r = 1; r <= reach; ++r) {
            int64_t p = cs_near_position(t, k, r), offset = cs_near_offset(&w->plan->context, k, p);
            w->near_offset[r] = (int32_t)offset;
            w->near_token[r] = w->token[p];
            w->hash[r] = cs_key_of(CS_KEY_ITEM, offset, w->token[p]);
        }
        for (int64_t m = 0; m < n && status == CS_OK; ++m) {
            if (t->padded[m] > 0) {
                status = visit_patterns(w, k, m, s - 1, false, t->padded[m], &ordinal);
            }
        }
        for (int64_t i = n; i <= t->ranks && status == CS_OK; ++i) {
            if (t->pattern[i] > 0) {
                status = visit_patterns(w, k, n, i, true, t->pattern[i], &ordinal);
            }
        }
        w->dropped += t->tail;
    }
    return status;
}

/* Behind a word: its offset, of rows and columns in the plane. `close`: the offset of a word
 * that has only words between it and the target. */
static void put_offset(const cs_context_walker *w, int64_t offset, int64_t close, FILE *to)
{
    int64_t down = 0, across = 0;
    if (w->plan->context.columns > 1) {
        cs_near_steps(&w->plan->context, offset, &down, &across);
        (void)fprintf(to, "[%+d,%+d]", (int)down, (int)across);
    } else if (offset != close) {
        (void)fprintf(to, "[%+d]", (int)offset);
    }
}

/* Marks first, then words; a word carries its offset unless there are only words between it and the
 * target, and in the plane always. */
static void text(const cs_context_walker *w, const cs_contribution *c, const cs_context_item *item,
                 FILE *to)
{
    const int64_t n = c->items;
    const char *separator = "";
    int64_t marks = 0, left = 0;
    for (int64_t i = 0; i < n; ++i) {
        marks += item[i].token < 0;
        left += item[i].token >= 0 && item[i].position < 0;
    }
    for (int64_t i = 0; i < marks; ++i) {
        (void)fprintf(to, "%s#", separator);
        separator = " ";
    }
    int64_t seen = 0; /* words written */
    bool target = false;
    for (int64_t i = 0; i <= n; ++i) {
        if (!target && (i == n || item[i].position > 0)) {
            (void)fprintf(to, "%s*", separator);
            separator = " ";
            target = true;
        }
        if (i == n || item[i].token < 0) {
            continue;
        }
        int64_t close = target ? seen - left + 1 : seen - left;
        cs_context_put_word(w, separator, item[i].token, to);
        put_offset(w, item[i].position, close, to);
        separator = " ";
        ++seen;
    }
}

const cs_context_kind cs_context_nearest = {.given = true,
                                            .plane = true,
                                            .event = event,
                                            .table = make_table,
                                            .weights = weights,
                                            .targets = targets,
                                            .text = text};
