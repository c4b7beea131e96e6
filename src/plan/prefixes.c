/* Objectives of a fixed order whose contexts are prefixes (objectives.md): ar, diverse-ar, offset-ar,
 * group-ar and prefix-lm.
 *
 * ar is offset-ar with a window of 1 and diverse-ar with one of t, so one loop over (prefix,
 * distance) serves all three; group-ar counts, for each prefix, the first group sizes that end a
 * group there. A plan that predicts nothing (group-ar with a first group of s) has no events: it
 * lowers `predicted` and is left out of the normalisation under `mask`. Sums run in long double. */
#include "base/auto.h"
#include "plan/count.h"
#include "plan/distributions_private.h"
#include "plan/offsets.h"

/* --- one target a prefix: ar, diverse-ar, offset-ar --- */

/* One target from a prefix: groups 0 | 1, weight 1 on the target only. */
static void put_target(cs_plan *plan, int64_t prefix, int64_t target)
{
    plan->groups = 1;
    for (int64_t i = 0; i < plan->length; ++i) {
        plan->group[i] = i >= prefix;
        plan->weight[i] = i == target;
    }
}

static cs_status count_offsets(const cs_objective *o, int64_t s, double *count)
{
    int64_t window = cs_distance_of(o, s).window;
    *count = 0;
    for (int64_t i = o->empty_prefix == CS_PREFIX_NONE; i < s; ++i) {
        *count += (double)(s - i < window ? s - i : window);
    }
    return CS_OK;
}

static cs_status visit_offsets(cs_enumeration *e)
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
            put_target(&e->plan, i, i + d - 1);
            status = e->visit(e->ctx, &e->plan, (double)p);
        }
    }
    return status;
}

static cs_status sample_offset(const cs_objective *objective, cs_rng *rng, cs_plan *plan)
{
    int64_t s = plan->length, first = objective->empty_prefix == CS_PREFIX_NONE ? 1 : 0;
    const cs_offsets offsets = {.distribution = cs_distance_of(objective, s), .longest = s};
    int64_t prefix = first + cs_rng_below(rng, s - first);
    int64_t d = cs_offsets_draw(&offsets, s - prefix, rng);
    put_target(plan, prefix, prefix + d - 1);
    return CS_OK;
}

int64_t cs_plan_diverse_firsts(const cs_objective *objective, int64_t s)
{
    int64_t prefixes = objective->empty_prefix == CS_PREFIX_NONE ? s - 1 : s;
    return objective->t < prefixes ? objective->t : prefixes;
}

void cs_plan_diverse(const cs_objective *objective, int64_t choice, cs_plan *plan)
{
    int64_t s = plan->length, t = objective->t;
    int64_t none = objective->empty_prefix == CS_PREFIX_NONE; /* no prefix of length 0 */
    double group_weight = (double)cs_plan_diverse_firsts(objective, s);
    if (objective->event_weight == CS_EVENT_MASK) {
        group_weight /= (double)(s - none);
    }
    for (int64_t i = 0, first = choice + none; i < s; ++i) {
        int64_t before = i < first ? 0 : (i - first) / t; /* full groups before that of i */
        int64_t left = s - first - before * t;
        plan->group[i] = (int32_t)(i < first ? 0 : before + 1);
        plan->weight[i] = i < first ? 0 : group_weight / (double)(left < t ? left : t);
    }
    plan->groups = plan->group[s - 1];
}

static cs_status train_diverse(const cs_objective *objective, cs_rng *rng, cs_plan *plan)
{
    cs_plan_diverse(objective, cs_rng_below(rng, cs_plan_diverse_firsts(objective, plan->length)),
                    plan);
    return CS_OK;
}

static cs_status pairs_of_offsets(const cs_objective *o, int64_t s, cs_pairs *pairs)
{
    cs_distance distribution = cs_distance_of(o, s);
    bool power = distribution.kind == CS_OFFSET_POWER;
    int64_t first = o->empty_prefix == CS_PREFIX_NONE ? 1 : 0;
    int64_t prefixes = s - first;
    int64_t window = distribution.window < prefixes ? distribution.window : prefixes;
    cs_status status = cs_pairs_prefix_alloc(pairs, s, (double)prefixes * (double)window);
    /* d^-a and its running sum: the same for every prefix. */
    CS_AUTO_FREE long double *raw = status == CS_OK ? cs_calloc(2 * (s + 1), sizeof *raw) : NULL;
    if (!raw) {
        return status == CS_OK ? CS_ERR_MEMORY : status;
    }
    long double *sum = raw + s + 1;
    for (int64_t d = 1; power && d <= s; ++d) {
        raw[d] = cs_distance_raw(&distribution, s, d);
        sum[d] = sum[d - 1] + raw[d];
    }
    for (int64_t i = first; i < s; ++i) {
        int64_t left = s - i, reach = left < window ? left : window;
        for (int64_t d = 1; d <= reach; ++d) {
            long double w = power ? raw[d] / sum[left]
                                  : cs_distance_raw(&distribution, left, d) / (long double)reach;
            cs_pairs_add(pairs, (cs_pairs_set){0, i}, i + d - 1,
                         (double)(w / (long double)prefixes));
        }
    }
    pairs->predicted = (double)prefixes;
    pairs->denominator = distribution.kind == CS_OFFSET_UNIFORM ? cs_small_lcm_to(window) : 0;
    return CS_OK;
}

/* --- groups: ar, group-ar --- */

static cs_status count_groups(const cs_objective *o, int64_t s, double *count)
{
    *count = o->kind == CS_OBJ_AR ? 1 : (double)(o->t < s ? o->t : s);
    return CS_OK;
}

static cs_status visit_groups(cs_enumeration *e)
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

/* ar: groups of one after a first of one; group-ar: groups of t after a first of 1..t. */
static cs_status sample_groups(const cs_objective *objective, cs_rng *rng, cs_plan *plan)
{
    if (objective->kind == CS_OBJ_AR) {
        cs_plan_fixed_groups(objective, 1, 1, plan);
        return CS_OK;
    }
    int64_t firsts = objective->t < plan->length ? objective->t : plan->length;
    cs_plan_fixed_groups(objective, 1 + cs_rng_below(rng, firsts), objective->t, plan);
    return CS_OK;
}

static cs_status pairs_of_groups(const cs_objective *o, int64_t s, cs_pairs *pairs)
{
    bool empty = o->empty_prefix != CS_PREFIX_NONE, mask = o->event_weight == CS_EVENT_MASK;
    int64_t firsts = o->t < s ? o->t : s; /* first-group sizes 1..firsts */
    cs_status status = cs_pairs_prefix_alloc(pairs, s, (double)s * (double)firsts);
    if (status != CS_OK) return status;
    /* Without an empty prefix the plan of first group j predicts s - j tokens, else all s. */
    double targets = 0;
    int64_t plans = 0, lcm = 1;
    for (int64_t j = 1; j <= firsts; ++j) {
        int64_t predicted = empty ? s : s - j;
        targets += (double)predicted;
        plans += predicted > 0;
        lcm = predicted > 0 ? cs_small_lcm(lcm, predicted) : lcm;
    }
    for (int64_t k = 0; empty && k < firsts; ++k) {
        /* The first group is longer than k in firsts - k plans of s tokens each. */
        cs_pairs_add(pairs, (cs_pairs_set){0}, k, (double)(firsts - k) / targets);
    }
    for (int64_t i = 1; i < s; ++i) {
        int64_t j = (i - 1) % o->t + 1; /* the one first group after which a group ends at i */
        double share = 1 / targets;
        if (mask && !empty) {
            share = 1 / ((double)(s - j) * (double)plans);
        }
        for (int64_t k = i; k < s && k - i < o->t; ++k) {
            cs_pairs_add(pairs, (cs_pairs_set){0, i}, k, share);
        }
    }
    pairs->predicted = targets / (double)firsts;
    pairs->denominator =
        mask && !empty ? cs_small_product(cs_small_product(firsts, plans), lcm) : firsts;
    return CS_OK;
}

static double group_predict_probability(const cs_objective *o, int64_t s)
{
    /* a first group of s leaves nothing to predict */
    bool silent = o->t >= s && o->empty_prefix == CS_PREFIX_NONE;
    return silent ? (double)(s - 1) / (double)s : 1;
}

/* --- prefix-lm --- */

/* prefix-lm: a prefix of n_0 tokens is given and read in both directions, the rest is predicted one
 * token after another; n_0 is uniform in 1..s-1 (with an empty prefix in 0..s-1: F values).
 *
 * Token i is predicted from the i tokens before it wherever the prefix ends at or before i: under
 * `token` weights P(S = {0..i-1}, k = i) is proportional to the number of such n_0, under `mask` to
 * the sum of 1 / (s - n_0) over them.
 */
static void fill_prefix(int64_t given, cs_plan *plan)
{
    for (int64_t i = 0; i < plan->length; ++i) {
        plan->group[i] = (int32_t)(i < given ? 0 : i - given + 1);
    }
    plan->groups = plan->length - given;
}

static cs_status count_given(const cs_objective *o, int64_t s, double *count)
{
    *count = (double)(s - cs_least_given(o));
    return CS_OK;
}

static cs_status visit_given(cs_enumeration *e)
{
    int64_t s = e->plan.length, first = cs_least_given(e->objective);
    cs_status status = CS_OK;
    for (int64_t given = first; given < s && status == CS_OK; ++given) {
        fill_prefix(given, &e->plan);
        cs_plan_weigh(e->objective, &e->plan);
        status = e->visit(e->ctx, &e->plan, 1 / (double)(s - first));
    }
    return status;
}

static cs_status sample_given(const cs_objective *o, cs_rng *rng, cs_plan *plan)
{
    int64_t first = cs_least_given(o);
    fill_prefix(first + cs_rng_below(rng, plan->length - first), plan);
    return CS_OK;
}

static cs_status pairs_of_given(const cs_objective *o, int64_t s, cs_pairs *pairs)
{
    bool mask = o->event_weight == CS_EVENT_MASK;
    int64_t first = cs_least_given(o);
    double plans = (double)(s - first);
    cs_status status = cs_pairs_prefix_alloc(pairs, s, plans);
    long double share = 0;
    for (int64_t i = first; i < s && status == CS_OK; ++i) {
        share += mask ? 1 / (long double)(s - i) : 1;
        /* Sum of the shares: each prefix adds 1 (mask), or its s - n_0 tokens. */
        long double total = mask ? plans : plans * (plans + 1) / 2;
        cs_pairs_add(pairs, (cs_pairs_set){0, i}, i, (double)(share / total));
    }
    pairs->predicted = (plans + 1) / 2;
    pairs->denominator = mask ? 0 : s - first;
    return status;
}

/* --- rows --- */

const cs_objective_row cs_row_AR = {
    .aliases = "gpt clm causal",
    .summary = "each token from all before it (GPT; LA 3.1)",
    .plans = "identity order, singletons",
    .source = "LA 3.1",
    .shape = CS_PAIRS_PREFIX,
    .reads = CS_ROWS_SHIFTED,
    .weighting = CS_WEIGHTS_EQUAL,
    .count = count_groups,
    .visit = visit_groups,
    .sample = sample_groups,
    .pairs = pairs_of_offsets,
    .examples = "ar",
};

const cs_objective_row cs_row_DIVERSE_AR = {
    .summary = "one of the next t tokens, uniformly, from each prefix (LA Eq. 3)",
    .plans = "one of the next t tokens of every prefix",
    .source = "LA Eq. 3",
    .takes = "t",
    .trained = "t=2",
    .shape = CS_PAIRS_PREFIX,
    .reads = CS_ROWS_GROUPS,
    .weighting = CS_WEIGHTS_ONE,
    .check = cs_check_t,
    .count = count_offsets,
    .visit = visit_offsets,
    .sample = sample_offset,
    .train = train_diverse,
    .pairs = pairs_of_offsets,
    .examples = "diverse-ar:t=1 diverse-ar:t=2 diverse-ar:t=4 diverse-ar:t=9",
};

const cs_objective_row cs_row_OFFSET_AR = {
    .summary = "one later token from each prefix, by a distribution of its distance",
    .plans = "the token at offset d of every prefix with weight w(d)",
    .source = "ours",
    .takes = "offset-weights",
    .trained = "offset-weights=uniform:2",
    .shape = CS_PAIRS_PREFIX,
    .reads = CS_ROWS_PREFIXES,
    .weighting = CS_WEIGHTS_ONE,
    .check = cs_check_offset,
    .count = count_offsets,
    .visit = visit_offsets,
    .sample = sample_offset,
    .pairs = pairs_of_offsets,
    .examples = "offset-ar:offset-weights=uniform:2 offset-ar:offset-weights=power:0 "
                "offset-ar:offset-weights=power:1 offset-ar:offset-weights=power:0.5 "
                "offset-ar:offset-weights=mix:0 offset-ar:offset-weights=mix:0.25 "
                "offset-ar:offset-weights=mix:1",
};

const cs_objective_row cs_row_GROUP_AR = {
    .summary = "groups of t tokens at once, the first group 1..t (LA Eq. 6)",
    .plans = "identity order, groups of t, first group uniform in 1..t",
    .source = "LA Eq. 6",
    .takes = "t",
    .trained = "t=2",
    .shape = CS_PAIRS_PREFIX,
    .reads = CS_ROWS_GROUPS,
    .weighting = CS_WEIGHTS_TOKENS,
    .check = cs_check_t,
    .count = count_groups,
    .visit = visit_groups,
    .sample = sample_groups,
    .pairs = pairs_of_groups,
    .predict_probability = group_predict_probability,
    .examples = "group-ar:t=1 group-ar:t=2 group-ar:t=3 group-ar:t=8",
};

const cs_objective_row cs_row_PREFIX_LM = {
    .summary = "a prefix read in both directions, the rest autoregressively (UniLM, T5)",
    .plans = "identity order, a prefix of n_0 tokens, n_0 uniform in 1..s-1, then singletons",
    .note = "With --event-weight token the event S = {0..i-1}, k = i has weight proportional to i. "
            "On the toy model the spectrum equals the one of `ar`.",
    .source = "Dong et al. 2019",
    .shape = CS_PAIRS_PREFIX,
    .reads = CS_ROWS_SHIFTED,
    .weighting = CS_WEIGHTS_TOKENS,
    .count = count_given,
    .visit = visit_given,
    .sample = sample_given,
    .pairs = pairs_of_given,
    .examples = "prefix-lm",
};
