/* Every plan of an objective with its probability, by brute force: the definition that the closed
 * sums of pairs.c are tested against.
 *
 * A permutation-invariant objective is a distribution over label sequences in order of z (0..0 1..1
 * 2..2); given one, all distinct arrangements of its labels over the positions are equally likely.
 * They are visited in lexicographic order by the usual next-permutation step.
 */
#include <inttypes.h>
#include <math.h>

#include "base/auto.h"
#include "base/mem.h"
#include "plan/count.h"
#include "plan/distributions_private.h"
#include "plan/gvp.h"
#include "plan/offsets.h"
#include "plan/plan_file.h"

/* --- how many --- */

/* Ordered partitions of s positions into n non-empty groups: f(s, n) = n (f(s-1, n) + f(s-1, n-1)).
 */
static cs_status ordered_partitions(int64_t s, int64_t n, double *count)
{
    CS_AUTO_FREE double *f = cs_calloc(n + 1, sizeof *f);
    if (!f) return CS_ERR_MEMORY;
    f[0] = 1;
    for (int64_t row = 1; row <= s; ++row) {
        for (int64_t k = n; k >= 1; --k) {
            f[k] = (double)k * (f[k] + f[k - 1]);
        }
        f[0] = 0;
    }
    *count = f[n];
    return CS_OK;
}

/* s! / prod sizes!, from the group sizes of a plan's labels. */
static double arrangements(const cs_plan *plan)
{
    double count = 1;
    for (int64_t i = 0, run = 0; i < plan->length; ++i) {
        run = i > 0 && plan->group[i] == plan->group[i - 1] ? run + 1 : 1;
        count = count * (double)(i + 1) / (double)run;
    }
    return count;
}

cs_status cs_count_groups(const cs_objective *o, int64_t s, double *count)
{
    *count = o->kind == CS_OBJ_AR ? 1 : (double)(o->t < s ? o->t : s);
    return CS_OK;
}

cs_status cs_count_offsets(const cs_objective *o, int64_t s, double *count)
{
    int64_t window = cs_distance_of(o, s).window;
    *count = 0;
    for (int64_t i = o->empty_prefix == CS_PREFIX_NONE; i < s; ++i) {
        *count += (double)(s - i < window ? s - i : window);
    }
    return CS_OK;
}

cs_status cs_count_masks(const cs_objective *o, int64_t s, double *count)
{
    int64_t lo, hi;
    cs_status status = cs_objective_unmasked(o, s, &lo, &hi);
    *count = 0;
    for (int64_t m = lo; status == CS_OK && m <= hi; ++m) {
        *count += cs_binomial(s, m);
    }
    return status;
}

cs_status cs_count_subsets(const cs_objective *o, int64_t s, double *count)
{
    (void)o;
    *count = exp2((double)s);
    return CS_OK;
}

cs_status cs_count_orders(const cs_objective *o, int64_t s, double *count)
{
    (void)o;
    *count = tgamma((double)s + 1);
    return CS_OK;
}

cs_status cs_count_gvp(const cs_objective *o, int64_t s, double *count)
{
    if (o->permutation == CS_PERMUTE_NONE) {
        *count = o->segmentation == CS_SEGMENT_FIXED ? 1 : cs_binomial(s - 1, o->groups);
        return CS_OK;
    }
    return ordered_partitions(s, o->groups + 1, count);
}

cs_status cs_count_file(const cs_objective *o, int64_t s, double *count)
{
    *count = 0;
    for (int64_t p = 0; p < o->file->plans; ++p) {
        *count += o->file->plan[p].length == s;
    }
    return CS_OK;
}

/* --- one after another --- */

cs_status cs_visit_arrangements(cs_enumeration *e, double probability)
{
    double each = probability / arrangements(&e->plan);
    cs_status status = CS_OK;
    do {
        cs_plan_weigh(e->objective, &e->plan);
        status = e->visit(e->ctx, &e->plan, each);
    } while (status == CS_OK && cs_next_arrangement(e->plan.length, e->plan.group));
    return status;
}

cs_status cs_visit_offsets(cs_enumeration *e)
{
    int64_t s = e->plan.length, first = e->objective->empty_prefix == CS_PREFIX_NONE ? 1 : 0;
    cs_distance distribution = cs_distance_of(e->objective, s);
    cs_status status = CS_OK;
    for (int64_t i = first; i < s; ++i) {
        int64_t left = s - i, reach = left < distribution.window ? left : distribution.window;
        long double sum = 0;
        for (int64_t d = 1; d <= reach; ++d) {
            sum += cs_distance_raw(&distribution, left, d);
        }
        for (int64_t d = 1; d <= reach && status == CS_OK; ++d) {
            long double p =
                cs_distance_raw(&distribution, left, d) / sum / (long double)(s - first);
            cs_plan_one_target(&e->plan, i, i + d - 1);
            status = e->visit(e->ctx, &e->plan, (double)p);
        }
    }
    return status;
}

cs_status cs_visit_groups(cs_enumeration *e)
{
    int64_t s = e->plan.length;
    int64_t size = e->objective->kind == CS_OBJ_AR ? 1 : e->objective->t;
    int64_t firsts = size < s ? size : s;
    cs_status status = CS_OK;
    for (int64_t j = 1; j <= firsts && status == CS_OK; ++j) {
        cs_plan_fixed_groups(e->objective, j, size, &e->plan);
        cs_plan_weigh(e->objective, &e->plan);
        status = e->visit(e->ctx, &e->plan, 1 / (double)firsts);
    }
    return status;
}

/* Sets of m given positions, of total probability p. */
static cs_status visit_sets(cs_enumeration *e, int64_t m, double p)
{
    e->plan.groups = 1;
    for (int64_t i = 0; i < e->plan.length; ++i) {
        e->plan.group[i] = i >= m;
    }
    return cs_visit_arrangements(e, p);
}

cs_status cs_visit_masks(cs_enumeration *e)
{
    int64_t lo, hi;
    cs_status status = cs_objective_unmasked(e->objective, e->plan.length, &lo, &hi);
    for (int64_t m = lo; status == CS_OK && m <= hi; ++m) {
        status = visit_sets(e, m, 1 / (double)(hi - lo + 1));
    }
    return status;
}

cs_status cs_visit_bernoulli(cs_enumeration *e)
{
    int64_t s = e->plan.length;
    double rho = e->objective->mask_ratio_lo;
    cs_status status = CS_OK;
    for (int64_t m = 0; m <= s && status == CS_OK; ++m) {
        double p = cs_binomial(s, m) * pow(rho, (double)(s - m)) * pow(1 - rho, (double)m);
        status = visit_sets(e, m, p);
    }
    return status;
}

cs_status cs_visit_orders(cs_enumeration *e)
{
    cs_plan_fixed_groups(e->objective, 1, 1, &e->plan);
    return cs_visit_arrangements(e, 1);
}

/* Labels from the ascending boundaries n_0 < ... < n_{K-1}, each one above the stored value. */
static void labels_from(const int32_t *boundary, int64_t groups, cs_plan *plan)
{
    int32_t label = 0;
    for (int64_t j = 0; j < plan->length; ++j) {
        label += label < groups && boundary[label] + 1 == j;
        plan->group[j] = label;
    }
    plan->groups = groups;
}

cs_status cs_visit_gvp(cs_enumeration *e)
{
    const cs_objective *o = e->objective;
    int64_t s = e->plan.length, groups = o->groups;
    double clamped;
    CS_AUTO_FREE int32_t *boundary =
        cs_alloc(groups, sizeof *boundary); /* n_i - 1, a K-subset of 0..s-2 */
    CS_AUTO_FREE long double *last = cs_alloc(s + 1, sizeof *last);
    cs_status status = boundary && last ? CS_OK : CS_ERR_MEMORY;
    bool fixed = o->segmentation == CS_SEGMENT_FIXED;
    for (int64_t i = 0; status == CS_OK && i < groups; ++i) {
        boundary[i] = (int32_t)(fixed ? cs_gvp_fixed(s, groups, i) - 1 : i);
    }
    if (status == CS_OK && !fixed) cs_gvp_last(o, s, last, &clamped);
    for (bool more = status == CS_OK; more && status == CS_OK;) {
        int64_t n = (int64_t)boundary[groups - 1] + 1;
        double p = fixed ? 1 : (double)last[n] / cs_binomial(n - 1, groups - 1);
        labels_from(boundary, groups, &e->plan);
        if (o->permutation == CS_PERMUTE_NONE) {
            cs_plan_weigh(o, &e->plan);
            status = e->visit(e->ctx, &e->plan, p);
        } else {
            status = cs_visit_arrangements(e, p);
        }
        more = !fixed && cs_next_subset(s - 1, groups, boundary);
    }
    return status;
}

cs_status cs_visit_file(cs_enumeration *e)
{
    const cs_plan_file *file = e->objective->file;
    cs_status status = CS_OK;
    for (int64_t p = 0; p < file->plans && status == CS_OK; ++p) {
        if (file->plan[p].length == e->plan.length) {
            cs_plan_copy_weighted(e->objective, &file->plan[p], &e->plan);
            status = e->visit(e->ctx, &e->plan, file->probability[p]);
        }
    }
    return status;
}

/* --- uniform target weights: sums over all plans --- */

bool cs_target_level(int64_t s, double *w)
{
    const double rounding = 1e-12;
    double sum = 0, low = INFINITY, high = 0;
    int64_t n = 0;
    for (int64_t k = 0; k < s; ++k) {
        sum += w[k];
        n += w[k] > 0;
        low = w[k] > 0 ? fmin(low, w[k]) : low;
        high = fmax(high, w[k]);
    }
    bool level = high - low <= rounding * high;
    for (int64_t k = 0; k < s; ++k) {
        w[k] = level ? 1 : w[k] > 0 ? sum / (double)n / w[k] : 0;
    }
    return !level;
}

typedef struct {
    double *factor;
    double *weight; /* of the current plan, which is filled anew each time */
    cs_plan_visit visit;
    void *ctx;
} leveling;

static cs_status add_targets(void *ctx, const cs_plan *plan, double probability)
{
    const leveling *level = ctx;
    for (int64_t k = 0; k < plan->length; ++k) {
        level->factor[k] += probability * plan->weight[k];
    }
    return CS_OK;
}

static cs_status visit_leveled(void *ctx, const cs_plan *plan, double probability)
{
    const leveling *level = ctx;
    for (int64_t k = 0; k < plan->length; ++k) {
        level->weight[k] *= level->factor[k];
    }
    return level->visit(level->ctx, plan, probability);
}

static cs_status visit_all_leveled(cs_enumeration *e)
{
    const cs_objective_row *row = cs_objective_table(e->objective->kind);
    cs_objective plain = *e->objective;
    CS_AUTO_FREE double *factor = cs_calloc(e->plan.length, sizeof *factor);
    leveling level = {factor, e->plan.weight, e->visit, e->ctx};
    cs_enumeration inner = {
        .objective = &plain, .plan = e->plan, .visit = add_targets, .ctx = &level};
    plain.target_weight = CS_TARGETS_PLAN;
    cs_status status = factor ? row->visit(&inner) : CS_ERR_MEMORY;
    if (status == CS_OK) {
        (void)cs_target_level(e->plan.length, factor);
        inner.visit = visit_leveled;
        inner.plan = e->plan;
        status = row->visit(&inner);
    }
    return status;
}

cs_status cs_plan_enumerate(const cs_objective *objective, int64_t length, int64_t limit,
                            cs_plan_visit visit, void *ctx)
{
    const cs_objective_row *row;
    double count = 0;
    cs_enumeration e = {.objective = objective, .visit = visit, .ctx = ctx};
    cs_status status = cs_objective_check(objective);
    if (status == CS_OK) status = cs_objective_check_length(objective, length);
    if (status != CS_OK) return status;
    row = cs_objective_table(objective->kind);
    status = row->count(objective, length, &count);
    if (status == CS_OK && count > (double)limit)
        status = cs_fail(CS_ERR_USAGE,
                         "%s at length %" PRId64 " has %.15g plans, but at most %" PRId64
                         " can be enumerated",
                         cs_objective_name(objective->kind), length, count, limit);
    if (status == CS_OK && (status = cs_plan_init(&e.plan, length)) == CS_OK) {
        status =
            objective->target_weight == CS_TARGETS_UNIFORM ? visit_all_leveled(&e) : row->visit(&e);
        cs_plan_free(&e.plan);
    }
    return status;
}
