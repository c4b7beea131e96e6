/* plan: objectives and their parameters, exact pair distributions against enumeration of all plans
 * and against sampling, denominators, rank masks, plan files. */
#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "plan/count.h"
#include "plan/pairs.h"
#include "plan/plan.h"
#include "plan/plan_file.h"
#include "plan/spec.h"

enum { LONGEST = 6, CELLS = (1 << LONGEST) * LONGEST };

/* Objectives that exist at every length from 2 (prefix: from 1) to LONGEST, or say so. */
static const char *const specs[] = {
    "ar",
    "masked:unmasked=1",
    "masked:unmasked=3",
    "masked:mask-ratio=0.4",
    "variable-masked:unmasked=1:3",
    "variable-masked:mask-ratio=0.15:0.7",
    "bernoulli-masked:mask-ratio=0.3",
    "bernoulli-masked:mask-ratio=0.8",
    "diverse-ar:t=1",
    "diverse-ar:t=2",
    "diverse-ar:t=4",
    "diverse-ar:t=9",
    "offset-ar:offset-weights=uniform:2",
    "offset-ar:offset-weights=power:0",
    "offset-ar:offset-weights=power:1",
    "offset-ar:offset-weights=power:0.5",
    "offset-ar:offset-weights=mix:0",
    "offset-ar:offset-weights=mix:0.25",
    "offset-ar:offset-weights=mix:1",
    "group-ar:t=1",
    "group-ar:t=2",
    "group-ar:t=3",
    "group-ar:t=8",
    "permuted-ar",
    "gvp:segmentation=fixed,groups=1",
    "gvp:segmentation=fixed,groups=2",
    "gvp:segmentation=fixed,groups=5",
    "gvp:segmentation=random,groups=1",
    "gvp:segmentation=random,groups=2",
    "gvp:segmentation=random,groups=3",
    "gvp:segmentation=random,groups=5",
    "gvp:segmentation=mixed,groups=1",
    "gvp:segmentation=mixed,groups=2",
    "gvp:segmentation=mixed,groups=4",
};
enum { SPECS = sizeof specs / sizeof specs[0] };

static cs_objective parse(const char *spec)
{
    cs_objective objective;
    cs_reason_clear();
    assert_int_equal(cs_objective_parse(spec, &objective), CS_OK);
    return objective;
}

static void assert_reason(const char *part)
{
    if (!strstr(cs_reason(), part)) {
        fail_msg("reason \"%s\" does not name \"%s\"", cs_reason(), part);
    }
    cs_reason_clear();
}

static bool exists(const cs_objective *objective, int64_t s)
{
    bool ok = cs_objective_check_length(objective, s) == CS_OK;
    cs_reason_clear();
    return ok;
}

/* --- tables: the weight of (S, k) at [bitmask of S][k] ---------------------------------------- */

static void table_of_pairs(const cs_pairs *pairs, double table[CELLS])
{
    cs_pairs sets;
    assert_int_equal(cs_pairs_expand(pairs, 1 << 20, &sets), CS_OK);
    assert_int_equal(sets.form, CS_PAIRS_SETS);
    assert_true((double)sets.events == cs_pairs_expand_count(pairs));
    memset(table, 0, CELLS * sizeof *table);
    int64_t before = -1;
    for (int64_t e = 0; e < sets.events; ++e) {
        unsigned mask = 0;
        for (int64_t i = sets.set_ptr[sets.set[e]]; i < sets.set_ptr[sets.set[e] + 1]; ++i) {
            assert_true(i == sets.set_ptr[sets.set[e]] || sets.set_pos[i - 1] < sets.set_pos[i]);
            mask |= 1u << sets.set_pos[i];
        }
        double *cell = &table[mask * LONGEST + (unsigned)sets.target[e]];
        assert_true(sets.weight[e] > 0);
        assert_true(*cell == 0); /* pairs are distinct */
        assert_true((mask >> sets.target[e] & 1) == 0);
        int64_t key = sets.set[e] * sets.length + sets.target[e];
        assert_true(key > before); /* and sorted */
        before = key;
        *cell = sets.weight[e];
    }
    cs_pairs_free(&sets);
}

typedef struct {
    double table[CELLS];
    double probability, predicted;
    int64_t plans;
    const double *start; /* probability of the plan whose first group ends at j; NULL: as given */
} tally;

static cs_status add_plan(void *ctx, const cs_plan *plan, double probability)
{
    tally *t = ctx;
    double used = t->start ? t->start[t->plans] : probability;
    t->probability += used;
    ++t->plans;
    for (int64_t k = 0; k < plan->length; ++k) {
        unsigned mask = 0;
        for (int64_t i = 0; i < plan->length; ++i) {
            mask |= plan->group[i] < plan->group[k] ? 1u << i : 0;
        }
        assert_true(plan->group[k] >= 0 && plan->group[k] <= plan->groups);
        assert_true(plan->group[k] > 0 || plan->weight[k] == 0);
        t->table[mask * LONGEST + (unsigned)k] += used * plan->weight[k];
        t->predicted += used * (plan->weight[k] > 0);
    }
    return CS_OK;
}

static void normalise(double table[CELLS])
{
    double sum = 0;
    for (int i = 0; i < CELLS; ++i) {
        sum += table[i];
    }
    for (int i = 0; i < CELLS; ++i) {
        table[i] /= sum;
    }
}

/* Weights are at most 1 and built from a few dozen rounded operations each. */
static void assert_same_table(const double a[CELLS], const double b[CELLS], const char *what)
{
    for (int i = 0; i < CELLS; ++i) {
        if (!(fabs(a[i] - b[i]) <= 1e-14)) {
            fail_msg("%s: S %d, k %d: %.17g against %.17g", what, i / LONGEST, i % LONGEST, a[i],
                     b[i]);
        }
    }
}

static void compare_with_enumeration(const cs_objective *objective, int64_t s)
{
    static double exact[CELLS];
    static tally t;
    memset(&t, 0, sizeof t);
    cs_pairs pairs;
    char *name = cs_objective_describe(objective);
    assert_int_equal(cs_pairs_of(objective, s, &pairs), CS_OK);
    assert_int_equal(cs_plan_enumerate(objective, s, 1 << 20, add_plan, &t), CS_OK);
    table_of_pairs(&pairs, exact);
    normalise(t.table);
    assert_true(fabs(t.probability - 1) < 1e-14 * (double)(t.plans + 8));
    assert_same_table(exact, t.table, name);
    bool one = objective->kind == CS_OBJ_OFFSET_AR || objective->kind == CS_OBJ_DIVERSE_AR;
    double scale = one ? pairs.predicted : 1; /* one target of each prefix is drawn */
    if (objective->kind != CS_OBJ_FILE) {
        assert_true(fabs(pairs.predicted - scale * t.predicted) < 1e-12);
    }
    cs_free(name);
    cs_pairs_free(&pairs);
}

static void pairs_equal_the_sum_over_all_plans(void **state)
{
    (void)state;
    int compared = 0;
    for (int i = 0; i < SPECS; ++i) {
        cs_objective objective = parse(specs[i]);
        for (int weight = 0; weight < 2; ++weight) {
            for (int prefix = 0; prefix < 3; ++prefix) {
                objective.event_weight = (cs_event_weight)weight;
                objective.empty_prefix = (cs_empty_prefix)prefix;
                for (int64_t s = 1; s <= LONGEST; ++s) {
                    if (exists(&objective, s)) {
                        compare_with_enumeration(&objective, s);
                        ++compared;
                    }
                }
            }
        }
    }
    assert_true(compared > SPECS * 6 * 2);
}

/* unmasked=0 exists with an empty prefix only. */
static void nothing_unmasked_is_the_empty_set(void **state)
{
    (void)state;
    cs_objective objective = cs_objective_default(CS_OBJ_VARIABLE_MASKED);
    objective.unmasked_lo = 0;
    objective.unmasked_hi = 2;
    assert_int_equal(cs_objective_check(&objective), CS_ERR_USAGE);
    assert_reason("unmasked 0 needs an empty prefix");
    objective.empty_prefix = CS_PREFIX_SHARED;
    for (int weight = 0; weight < 2; ++weight) {
        objective.event_weight = (cs_event_weight)weight;
        compare_with_enumeration(&objective, 3);
        compare_with_enumeration(&objective, 5);
    }
}

/* theory.md 1: diverse-ar is the group plan with later groups of size t and first-group size j
 * weighted 1 / min(t, s-j) - [j > t] / t. */
static void diverse_ar_is_a_signed_group_plan(void **state)
{
    (void)state;
    static double exact[CELLS];
    for (int64_t s = 2; s <= LONGEST; ++s) {
        for (int64_t t = 1; t <= s; ++t) {
            static tally sum;
            memset(&sum, 0, sizeof sum);
            for (int64_t j = 1; j < s; ++j) {
                cs_plan plan;
                assert_int_equal(cs_plan_init(&plan, s), CS_OK);
                for (int64_t i = 0; i < s; ++i) {
                    plan.group[i] = (int32_t)(i < j ? 0 : 1 + (i - j) / t);
                    plan.weight[i] = i >= j;
                }
                plan.groups = plan.group[s - 1];
                double weight = 1 / (double)(t < s - j ? t : s - j) - (j > t ? 1 / (double)t : 0);
                assert_int_equal(add_plan(&sum, &plan, weight), CS_OK);
                cs_plan_free(&plan);
            }
            cs_objective objective = cs_objective_default(CS_OBJ_DIVERSE_AR);
            objective.t = t;
            cs_pairs pairs;
            assert_int_equal(cs_pairs_of(&objective, s, &pairs), CS_OK);
            table_of_pairs(&pairs, exact);
            normalise(sum.table);
            assert_same_table(exact, sum.table, "diverse-ar");
            cs_pairs_free(&pairs);
        }
    }
}

/* --- sampling --- */

/* One event of one plan, drawn so that accepted events are independent with the law of the pairs:
 * a uniform position, accepted with its weight. */
static bool draw_event(const cs_objective *objective, cs_rng *rng, double largest, cs_plan *plan,
                       int64_t *cell)
{
    assert_int_equal(cs_plan_sample(objective, rng, plan), CS_OK);
    int64_t k = cs_rng_below(rng, plan->length), mask = 0;
    if (!(cs_rng_uniform(rng) * largest < plan->weight[k])) {
        return false;
    }
    for (int64_t i = 0; i < plan->length; ++i) {
        mask |= plan->group[i] < plan->group[k] ? (int64_t)1 << i : 0;
    }
    *cell = mask * LONGEST + k;
    return true;
}

/* Pearson's statistic of `draws` events has about d = cells - 1 degrees of freedom; a chi-square
 * exceeds d + 2 sqrt(d x) + 2 x with probability below e^-x (Laurent, Massart 2000). x = 20: one
 * false alarm in 5e8. */
static void compare_with_samples(const cs_objective *objective, int64_t s, double largest,
                                 uint64_t seed)
{
    enum { DRAWS = 20000 };
    static double exact[CELLS];
    static int64_t seen[CELLS];
    memset(seen, 0, sizeof seen);
    cs_pairs pairs;
    cs_plan plan;
    assert_int_equal(cs_pairs_of(objective, s, &pairs), CS_OK);
    assert_int_equal(cs_plan_init(&plan, s), CS_OK);
    table_of_pairs(&pairs, exact);
    cs_rng rng = cs_rng_at(seed, CS_STREAM_TEST, 0);
    for (int64_t n = 0; n < DRAWS;) {
        int64_t cell;
        if (draw_event(objective, &rng, largest, &plan, &cell)) {
            /* Under no empty prefix a Bernoulli mask of everything has no weight, so every event
             * drawn has a place. */
            assert_true(exact[cell] > 0);
            ++seen[cell];
            ++n;
        }
    }
    /* Cells of fewer than 10 expected events are put together, as Pearson's approximation asks. */
    double statistic = 0, cells = 0, rare = 0, rare_seen = 0;
    for (int i = 0; i < CELLS; ++i) {
        double expected = exact[i] * DRAWS;
        if (expected >= 10) {
            statistic += pow((double)seen[i] - expected, 2) / expected;
            ++cells;
        } else {
            rare += expected;
            rare_seen += (double)seen[i];
        }
    }
    if (rare >= 10) {
        statistic += pow(rare_seen - rare, 2) / rare;
        ++cells;
    }
    double d = cells - 1, x = 20;
    if (!(statistic <= d + 2 * sqrt(d * x) + 2 * x)) {
        char *name = cs_objective_describe(objective);
        fail_msg("%s: chi-square %g with %g degrees of freedom", name, statistic, d);
    }
    cs_plan_free(&plan);
    cs_pairs_free(&pairs);
}

static void samples_have_the_exact_frequencies(void **state)
{
    (void)state;
    for (int i = 0; i < SPECS; ++i) {
        cs_objective objective = parse(specs[i]);
        for (int weight = 0; weight < 2; ++weight) {
            objective.event_weight = (cs_event_weight)weight;
            objective.empty_prefix = weight == 0 ? CS_PREFIX_NONE : CS_PREFIX_SHARED;
            if (exists(&objective, 6)) {
                compare_with_samples(&objective, 6, 1, (uint64_t)i);
            }
        }
    }
}

/* A drawn plan's weights: 1 each under token, sum 1 under mask. */
static void drawn_weights_follow_the_event_weight(void **state)
{
    (void)state;
    for (int i = 0; i < SPECS; ++i) {
        cs_objective objective = parse(specs[i]);
        cs_plan plan;
        assert_int_equal(cs_plan_init(&plan, 6), CS_OK);
        for (uint64_t n = 0; n < 50 && exists(&objective, 6); ++n) {
            cs_rng rng = cs_rng_at(7, CS_STREAM_PLAN, n);
            double sum = 0;
            objective.event_weight = n % 2 ? CS_EVENT_MASK : CS_EVENT_TOKEN;
            assert_int_equal(cs_plan_sample(&objective, &rng, &plan), CS_OK);
            for (int64_t k = 0; k < 6; ++k) {
                sum += plan.weight[k];
                assert_true(n % 2 || plan.weight[k] == 0 || plan.weight[k] == 1);
            }
            assert_true(n % 2 == 0 || sum == 0 || fabs(sum - 1) < 1e-15);
        }
        cs_plan_free(&plan);
    }
}

/* --- denominators, predicted tokens, large lengths --- */

static void denominators_make_integers(void **state)
{
    (void)state;
    int known = 0;
    for (int i = 0; i < SPECS; ++i) {
        cs_objective objective = parse(specs[i]);
        for (int variant = 0; variant < 4; ++variant) {
            objective.event_weight = (cs_event_weight)(variant & 1);
            objective.empty_prefix = (cs_empty_prefix)(variant >> 1);
            cs_pairs pairs, sets;
            if (!exists(&objective, 6)) {
                continue;
            }
            assert_int_equal(cs_pairs_of(&objective, 6, &pairs), CS_OK);
            assert_int_equal(cs_pairs_expand(&pairs, 1 << 20, &sets), CS_OK);
            for (int64_t e = 0; e < sets.events && pairs.denominator > 0; ++e) {
                double n = sets.weight[e] * pairs.predicted * (double)pairs.denominator;
                /* A handful of rounded factors. */
                assert_true(n > 0.5 && fabs(n - round(n)) < 16 * 0x1p-53 * n);
            }
            known += pairs.denominator > 0;
            cs_pairs_free(&pairs);
            cs_pairs_free(&sets);
        }
    }
    assert_true(known > 60);
    const struct {
        const char *spec;
        int64_t s, denominator;
        double predicted;
    } cases[] = {
        {"ar", 9, 1, 8},
        {"masked:unmasked=2", 5, 10, 3},
        {"masked:unmasked=20", 60, 0, 40}, /* C(60, 20) > 2^40 */
        {"variable-masked:unmasked=1:2", 4, 24, 2.5},
        {"diverse-ar:t=4", 20, 12, 19},
        {"diverse-ar:t=100", 4, 6, 3},
        {"group-ar:t=3", 9, 3, 7},
        {"group-ar:t=9", 3, 3, 1},
        {"group-ar:t=2,empty-prefix=class", 9, 2, 9},
        {"permuted-ar", 6, 60, 5},
        {"gvp:segmentation=fixed,groups=1", 4, 6, 2},
        {"gvp:segmentation=fixed,groups=3", 10, 2520, 8},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        cs_objective objective = parse(cases[i].spec);
        cs_pairs pairs;
        assert_int_equal(cs_pairs_of(&objective, cases[i].s, &pairs), CS_OK);
        if (pairs.denominator != cases[i].denominator) {
            fail_msg("%s: denominator %" PRId64, cases[i].spec, pairs.denominator);
        }
        assert_true(pairs.predicted == cases[i].predicted);
        cs_pairs_free(&pairs);
    }
}

static cs_pairs pairs_at(const char *spec, int64_t s)
{
    cs_objective objective = parse(spec);
    cs_pairs pairs;
    assert_int_equal(cs_pairs_of(&objective, s, &pairs), CS_OK);
    double sum = 0;
    for (int64_t m = 0; m <= s; ++m) {
        assert_true(pairs.q[m] >= 0 && pairs.q[m] <= 1);
        sum += pairs.q[m];
    }
    assert_true(pairs.q[s] == 0);
    assert_true(fabs(sum - 1) < 1e-10); /* naive sum of 10^6 rounded doubles */
    return pairs;
}

/* s = 10^6: means in closed form, and single values where there is one, to 1e-12. */
static void long_sequences_keep_their_accuracy(void **state)
{
    (void)state;
    const int64_t s = 1000000;
    cs_pairs pairs = pairs_at("bernoulli-masked:mask-ratio=0.15,empty-prefix=class", s);
    /* A masked token's others are masked independently: m is Binomial(s - 1, 0.85). */
    long double mean = 0, square = 0, centre = 0.85L * (s - 1);
    for (int64_t m = 0; m < s; ++m) {
        mean += (long double)pairs.q[m] * (m - centre);
        square += (long double)pairs.q[m] * (m - centre) * (m - centre);
    }
    /* rho is the double next to 0.15: its rounding moves the mean by s eps. */
    assert_true(fabsl(mean) < 1e-9);
    assert_true(fabsl(square / (0.15L * 0.85L * (s - 1)) - 1) < 1e-12);
    assert_true(fabs(pairs.predicted - 0.15 * (double)s) < 1e-12 * (double)s);
    cs_pairs_free(&pairs);

    const int64_t groups = 3;
    pairs = pairs_at("gvp:segmentation=random,groups=3", s);
    /* E n_0 = s / (K+1); c(m) = 1 - C(m-1, K) / C(s-1, K), here as a sum of positive terms:
     * 1 - x^3 = (1 - x)(1 + x + x^2) for falling factorials, from above. */
    long double predicted = (long double)s * groups / (groups + 1);
    assert_true(fabsl((long double)pairs.predicted / predicted - 1) < 1e-12);
    for (int64_t m = 1; m < s; m += m < s - 10 ? 99991 % (s - m) + 1 : 1) {
        long double miss = 0, all = 1;
        for (int64_t i = 1; i <= groups; ++i) { /* first draw >= m is the i-th */
            miss += all * (long double)(s - m) / (long double)(s - i);
            all *= (long double)(m - i) / (long double)(s - i);
            if (m <= i) {
                break;
            }
        }
        assert_true(fabsl((long double)pairs.q[m] * predicted / miss - 1) < 1e-12);
    }
    cs_pairs_free(&pairs);

    pairs = pairs_at("gvp:segmentation=mixed,groups=20", s);
    /* E n_{K-1} = s/2 up to the clamp (symmetric but for 0.5), E n_0 = E n_{K-1} / K. */
    assert_true(fabs(pairs.predicted - (double)s * (1 - 0.5 / 20)) < 1);
    /* Phi(-5) on either side. */
    assert_true(fabs(pairs.clamped - 5.7330e-7) < 1e-9);
    cs_pairs_free(&pairs);

    pairs = pairs_at("permuted-ar", s);
    assert_true(pairs.q[0] == 0 && pairs.q[1] == pairs.q[s - 1]);
    cs_pairs_free(&pairs);
}

static void ratios_resolve_with_half_away_from_zero(void **state)
{
    (void)state;
    const struct {
        double ratio;
        int64_t s, unmasked;
    } cases[] = {{0.5, 5, 2},   {0.15, 128, 109}, {0.25, 2, 1}, {0.01, 10, 9},
                 {0.99, 10, 1}, {0.3, 5, 3},      {0.5, 2, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        cs_objective objective = cs_objective_default(CS_OBJ_MASKED);
        objective.mask_ratio_lo = objective.mask_ratio_hi = cases[i].ratio;
        int64_t lo, hi;
        assert_int_equal(cs_objective_unmasked(&objective, cases[i].s, &lo, &hi), CS_OK);
        assert_true(lo == cases[i].unmasked && hi == lo);
    }
    /* Halves of the decimal that was typed, whose double or product lies below them; exact binary
     * halves; and decimals that are truly below a half. */
    const struct {
        const char *spec;
        int64_t s, unmasked;
        bool clamped;
    } typed[] = {{"masked:mask-ratio=0.29", 50, 35, false},
                 {"masked:mask-ratio=0.145", 100, 85, false},
                 {"masked:mask-ratio=0.285", 100, 71, false},
                 {"masked:mask-ratio=0.5", 7, 3, false},
                 {"masked:mask-ratio=0.125", 4, 3, false},
                 {"masked:mask-ratio=0.375", 12, 7, false},
                 {"masked:mask-ratio=0.28999999999999", 50, 36, false},
                 {"masked:mask-ratio=0.05", 5, 4, true},
                 {"masked:mask-ratio=0.1", 5, 4, false},
                 {"masked:mask-ratio=0.9", 5, 1, true},
                 {"masked:mask-ratio=0.89", 5, 1, false},
                 {"variable-masked:mask-ratio=0.2:0.9", 5, 1, true},
                 {"masked:unmasked=3", 5, 3, false}};
    for (size_t i = 0; i < sizeof typed / sizeof typed[0]; ++i) {
        cs_objective objective = parse(typed[i].spec);
        int64_t lo, hi;
        assert_int_equal(cs_objective_unmasked(&objective, typed[i].s, &lo, &hi), CS_OK);
        assert_int_equal(lo, typed[i].unmasked);
        assert_int_equal(cs_objective_clamps(&objective, typed[i].s), typed[i].clamped);
    }
    /* Every ratio of three decimals at every length to 2,000 against whole numbers. */
    for (int64_t thousandths = 1; thousandths < 1000; ++thousandths) {
        cs_objective objective = cs_objective_default(CS_OBJ_MASKED);
        objective.mask_ratio_lo = objective.mask_ratio_hi = (double)thousandths / 1000;
        for (int64_t s = 2; s <= 2000; ++s) {
            int64_t lo, hi, want = s - (thousandths * s + 500) / 1000;
            want = want < 1 ? 1 : want > s - 1 ? s - 1 : want;
            assert_int_equal(cs_objective_unmasked(&objective, s, &lo, &hi), CS_OK);
            assert_true(lo == want && hi == want);
        }
    }
    cs_objective objective = parse("variable-masked:mask-ratio=0.15:0.3");
    int64_t lo, hi;
    assert_int_equal(cs_objective_unmasked(&objective, 20, &lo, &hi), CS_OK);
    assert_true(lo == 14 && hi == 17);
}

/* --- masks --- */

/* LA Eq. 24: a query row sees exactly the conditioning set of its event, a content row also its own
 * group. */
static void query_rows_see_their_conditioning_set(void **state)
{
    (void)state;
    for (int n = 0; n < SPECS; ++n) {
        cs_objective objective = parse(specs[n]);
        cs_plan plan;
        int32_t vis[6], content[6], query[6];
        assert_int_equal(cs_plan_init(&plan, 6), CS_OK);
        for (uint64_t draw = 0; draw < 20 && exists(&objective, 6); ++draw) {
            cs_rng rng = cs_rng_at(3, CS_STREAM_PLAN, draw);
            assert_int_equal(cs_plan_sample(&objective, &rng, &plan), CS_OK);
            cs_plan_rank_masks(&plan, vis, content, query);
            for (int i = 0; i < 6; ++i) {
                for (int j = 0; j < 6; ++j) {
                    assert_true((vis[j] <= query[i]) == (plan.group[j] < plan.group[i]));
                    assert_true((vis[j] <= content[i]) == (plan.group[j] <= plan.group[i]));
                    assert_true(plan.group[i] > 0 || vis[j] > query[i]);
                }
            }
        }
        cs_plan_free(&plan);
    }
}

/* The check comes before the allocation: no memory is touched. */
static void too_long_for_memory_is_said_before(void **state)
{
    (void)state;
    const int64_t s = INT32_MAX;
    cs_objective objective = parse("permuted-ar");
    cs_pairs pairs = {0};
    int64_t available = cs_mem_available();
    if (available == 0 || (double)s * 8 <= (double)available / 2 + 0x1p30) {
        skip(); /* such a machine has room for it */
    }
    (void)cs_mem_fail_at(0);
    assert_int_equal(cs_pairs_of(&objective, s, &pairs), CS_ERR_MEMORY);
    assert_int_equal(cs_mem_fail_at(0), 0);
    assert_reason("length 2147483647 needs 1.718e+10 bytes for its pair distribution");
    assert_null(pairs.q);
}

/* --- bad parameters --- */

static void bad_specifications_are_named(void **state)
{
    (void)state;
    const char *const cases[][2] = {
        {"arr", "unknown objective \"arr\"; known: ar, masked, variable-masked, bernoulli-masked, "
                "diverse-ar, offset-ar, group-ar, permuted-ar, gvp, file"},
        {"masked", "masked needs a number of unmasked tokens or a mask ratio"},
        {"masked:unmasked=1:2", "takes one number of unmasked tokens, got 1:2"},
        {"masked:unmasked=0", "unmasked 0 needs an empty prefix"},
        {"masked:unmasked=x", "\"x\" is not M or LO:HI"},
        {"masked:unmasked=-1", "\"-1\" is not M or LO:HI"},
        {"masked:unmasked=99999999999999999999", "is not M or LO:HI"},
        {"variable-masked:unmasked=3:1", "3 exceeds 1"},
        {"variable-masked:unmasked=1:", "is not M or LO:HI"},
        {"masked:mask-ratio=1.2", "mask ratio 1.2 not in (0, 1)"},
        {"masked:mask-ratio=0", "mask ratio 0 not in (0, 1)"},
        {"masked:mask-ratio=nan", "mask ratio nan not in (0, 1)"},
        {"masked:mask-ratio=abc", "\"abc\" is not RHO or LO:HI"},
        {"masked:mask-ratio=0.1:0.2", "takes one mask ratio, got 0.1:0.2"},
        {"variable-masked:mask-ratio=0.3:0.1", "0.3 exceeds 0.1"},
        {"masked:unmasked=1,mask-ratio=0.5", "both unmasked 1 and mask ratio 0.5"},
        {"bernoulli-masked:unmasked=2", "takes a mask ratio, not unmasked 2"},
        {"bernoulli-masked", "bernoulli-masked needs a mask ratio"},
        {"diverse-ar", "diverse-ar needs t"},
        {"group-ar:t=0", "t 0 is not a whole number >= 1"},
        {"offset-ar", "offset-ar needs offset weights"},
        {"offset-ar:offset-weights=uniform:0", "uniform:0"},
        {"offset-ar:offset-weights=uniform:1.5", "uniform:1.5"},
        {"offset-ar:offset-weights=power:-1", "power:-1"},
        {"offset-ar:offset-weights=power:inf", "power:inf"},
        {"offset-ar:offset-weights=mix:1.5", "mix:1.5"},
        {"offset-ar:offset-weights=mix:nan", "mix:nan"},
        {"offset-ar:offset-weights=flat:1", "\"flat:1\" are not uniform:T, power:A or mix:L"},
        {"gvp:segmentation=fixed", "gvp needs a number of groups"},
        {"gvp:segmentation=even,groups=2", "even is not one of fixed|random|mixed"},
        {"file", "needs a plan file"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        cs_objective objective;
        cs_reason_clear();
        assert_int_equal(cs_objective_parse(cases[i][0], &objective), CS_ERR_USAGE);
        assert_reason(cases[i][1]);
    }
    cs_objective objective = cs_objective_default(CS_OBJ_GROUP_AR);
    objective.t = 0;
    assert_int_equal(cs_objective_check(&objective), CS_ERR_USAGE);
    assert_reason("t 0 is below 1");
    objective = cs_objective_default(CS_OBJ_GVP);
    objective.groups = -3;
    assert_int_equal(cs_objective_check(&objective), CS_ERR_USAGE);
    assert_reason("groups -3 is below 1");
    objective = cs_objective_default(CS_OBJ_AR);
    objective.empty_prefix = (cs_empty_prefix)9;
    assert_int_equal(cs_objective_check(&objective), CS_ERR_USAGE);
    assert_reason("empty prefix 9");
    objective = cs_objective_default(CS_OBJ_VARIABLE_MASKED);
    objective.unmasked_hi = 3;
    assert_int_equal(cs_objective_check(&objective), CS_ERR_USAGE);
    assert_reason("unmasked -1:3 is not a range");
}

static void bad_lengths_are_named(void **state)
{
    (void)state;
    const struct {
        const char *spec;
        int64_t s;
        const char *reason;
    } cases[] = {
        {"ar", 1, "ar needs length >= 2, got 1"},
        {"ar", 0, "got 0"},
        {"ar", -5, "got -5"},
        {"ar:empty-prefix=shared", 0, "ar needs length >= 1, got 0"},
        {"masked:unmasked=5", 4, "masked with 5 unmasked needs length >= 6, got 4"},
        {"masked:mask-ratio=0.5", 1, "masked needs length >= 2, got 1"},
        {"gvp:segmentation=random,groups=4", 4, "gvp with 4 groups needs length >= 5, got 4"},
        {"gvp:segmentation=random,groups=4,event-weight=mask", 20000, "length 20000 exceeds 10000"},
        {"permuted-ar", 3000000000, "length 3000000000 exceeds"},
        {"offset-ar:offset-weights=power:1", 1000000, "events, more than"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        cs_objective objective = parse(cases[i].spec);
        cs_pairs pairs;
        assert_int_equal(cs_pairs_of(&objective, cases[i].s, &pairs), CS_ERR_USAGE);
        assert_reason(cases[i].reason);
    }
    cs_objective ar = parse("ar"), permuted = parse("permuted-ar");
    int64_t lo, hi;
    assert_int_equal(cs_objective_unmasked(&ar, 5, &lo, &hi), CS_ERR_USAGE);
    assert_reason("ar has no range of unmasked tokens");
    cs_plan plan = {0};
    assert_int_equal(cs_plan_init(&plan, 0), CS_ERR_USAGE);
    assert_reason("plan length 0");
    assert_int_equal(cs_plan_init(&plan, 1), CS_OK);
    cs_rng rng = cs_rng_at(1, CS_STREAM_TEST, 0);
    assert_int_equal(cs_plan_sample(&ar, &rng, &plan), CS_ERR_USAGE);
    assert_reason("ar needs length >= 2, got 1");
    cs_plan_free(&plan);
    static tally t;
    assert_int_equal(cs_plan_enumerate(&permuted, 30, 1000000, add_plan, &t), CS_ERR_USAGE);
    assert_reason("permuted-ar at length 30 has 2.6525285981219");
    assert_int_equal(cs_plan_enumerate(&ar, 1, 10, add_plan, &t), CS_ERR_USAGE);
    assert_reason("got 1");
    cs_pairs pairs, sets;
    assert_int_equal(cs_pairs_of(&permuted, 2000, &pairs), CS_OK);
    assert_int_equal(cs_pairs_expand(&pairs, 1000000, &sets), CS_ERR_USAGE);
    assert_reason("length 2000 expands to inf events, more than 1000000");
    cs_pairs_free(&pairs);
}

static void objectives_describe_themselves(void **state)
{
    (void)state;
    const char *const cases[][2] = {
        {"masked:unmasked=2", "masked unmasked=2 event-weight=token"},
        {"variable-masked:unmasked=1:3,event-weight=mask",
         "variable-masked unmasked=1:3 event-weight=mask"},
        {"variable-masked:mask-ratio=0.15:0.3",
         "variable-masked mask-ratio=0.15:0.3 event-weight=token"},
        {"bernoulli-masked:mask-ratio=0.5", "bernoulli-masked mask-ratio=0.5 event-weight=token"},
        {"offset-ar:offset-weights=mix:0.5,empty-prefix=class",
         "offset-ar offset-weights=mix:0.5 event-weight=token empty-prefix=class"},
        {"gvp:segmentation=mixed,groups=20", "gvp segmentation=mixed groups=20 event-weight=token"},
        {"group-ar:t=2", "group-ar t=2 event-weight=token"},
        {"ar", "ar event-weight=token"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        cs_objective objective = parse(cases[i][0]);
        char *text = cs_objective_describe(&objective);
        assert_string_equal(text, cases[i][1]);
        cs_free(text);
    }
    for (int kind = 0; kind < CS_OBJ_COUNT; ++kind) {
        const cs_objective_info *info = cs_objective_table((cs_objective_kind)kind);
        cs_objective_kind found;
        assert_int_equal(cs_objective_by_name(info->name, &found), CS_OK);
        assert_int_equal(found, kind);
        assert_true(strlen(info->summary) > 10);
        assert_false(info->fixed_order && info->permutation_invariant);
    }
}

static void binomials_are_exact(void **state)
{
    (void)state;
    double row[61] = {1};
    for (int64_t n = 1; n <= 60; ++n) {
        for (int64_t k = n; k >= 1; --k) {
            row[k] += row[k - 1];
        }
        for (int64_t k = 0; k <= n && n <= 56; ++k) { /* below 2^53 */
            assert_true(cs_binomial(n, k) == row[k]);
        }
    }
    assert_true(cs_binomial(5, -1) == 0 && cs_binomial(5, 6) == 0);
    assert_true(isinf(cs_binomial(5000, 2500)));
    assert_true(cs_small_lcm_to(10) == 2520 && cs_small_lcm_to(100) == 0);
    assert_true(cs_small_product((int64_t)1 << 20, (int64_t)1 << 20) == 0);
    assert_true(cs_small_product((int64_t)1 << 20, ((int64_t)1 << 20) - 1) > 0);
}

/* --- plan files --- */

static void write_text(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static void temporary(char path[64])
{
    (void)snprintf(path, 64, "/tmp/cospec_plan_XXXXXX");
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(close(fd), 0);
}

static const char three_plans[] =
    "{\"plans\": [{\"probability\": 1, \"groups\": [0, 2, 1, 1]},\n"
    " {\"probability\": 3, \"groups\": [0, 1, 2, 2], \"weights\": [0, 0.5, 0, 2]},\n"
    " {\"probability\": 2, \"groups\": [1, 0, 2]}]}\n";

static void plan_files_are_objectives(void **state)
{
    (void)state;
    char path[64];
    temporary(path);
    write_text(path, three_plans);
    cs_plan_file file;
    assert_int_equal(cs_plan_file_read(path, &file), CS_OK);
    assert_int_equal(file.plans, 3);
    assert_true(file.probability[0] == 0.25 && file.probability[1] == 0.75);
    assert_true(file.probability[2] == 1);
    cs_objective objective = cs_objective_default(CS_OBJ_FILE);
    objective.file = &file;
    assert_int_equal(cs_objective_check(&objective), CS_OK);
    char *text = cs_objective_describe(&objective);
    assert_non_null(strstr(text, path));
    cs_free(text);
    for (int weight = 0; weight < 2; ++weight) {
        objective.event_weight = (cs_event_weight)weight;
        compare_with_enumeration(&objective, 4);
        compare_with_enumeration(&objective, 3);
        compare_with_samples(&objective, 4, 2, 11);
    }
    cs_pairs pairs;
    objective.event_weight = CS_EVENT_TOKEN;
    assert_int_equal(cs_pairs_of(&objective, 4, &pairs), CS_OK);
    /* 0.25 x 3 tokens + 0.75 x 2.5; the pairs ({0}, 1), ({0}, 2), ({0}, 3), ({0,1}, 3),
     * ({0,2,3}, 1). */
    assert_true(fabs(pairs.predicted - 2.625) < 1e-15);
    assert_int_equal(pairs.events, 5);
    assert_int_equal(pairs.sets, 3);
    assert_true(fabs(pairs.weight[3] - 1.5 / 2.625) < 1e-15);
    cs_pairs_free(&pairs);
    assert_int_equal(cs_pairs_of(&objective, 5, &pairs), CS_ERR_USAGE);
    assert_reason("has no plan of length 5");
    cs_plan_file_free(&file);
    cs_plan_file_free(&file); /* accepts a zeroed object */

    write_text(path, "{\"plans\": [{\"probability\": 1, \"groups\": [1, 2]}]}");
    assert_int_equal(cs_plan_file_read(path, &file), CS_OK);
    objective.file = &file;
    assert_int_equal(cs_objective_check(&objective), CS_ERR_USAGE);
    assert_reason("plan 1: group 0 is empty, which needs an empty prefix");
    objective.empty_prefix = CS_PREFIX_SHARED;
    compare_with_enumeration(&objective, 2);
    cs_plan_file_free(&file);
    assert_int_equal(unlink(path), 0);
}

static void defects_of_plan_files_are_named(void **state)
{
    (void)state;
    const char *const cases[][2] = {
        {"[]", "not an object with an array \"plans\""},
        {"{}", "not an object with an array"},
        {"{\"plans\": 3}", "not an object with an array"},
        {"{\"plans\": []}", "\"plans\" is empty"},
        {"{\"plans\": [], \"extra\": 1}", "unknown key \"extra\""},
        {"{\"plans\": [7]}", "plan 1: not an object"},
        {"{\"plans\": [{\"groups\": [0, 1]}]}", "plan 1: probability is missing"},
        {"{\"plans\": [{\"probability\": \"1\", \"groups\": [0, 1]}]}", "is not a number"},
        {"{\"plans\": [{\"probability\": 0, \"groups\": [0, 1]}]}",
         "probability 0 is not positive"},
        {"{\"plans\": [{\"probability\": -0.5, \"groups\": [0, 1]}]}", "probability -0.5"},
        {"{\"plans\": [{\"probability\": 1}]}", "plan 1: groups is missing"},
        {"{\"plans\": [{\"probability\": 1, \"groups\": []}]}", "groups is not an array"},
        {"{\"plans\": [{\"probability\": 1, \"groups\": 4}]}", "groups is not an array"},
        {"{\"plans\": [{\"probability\": 1, \"groups\": [0, 1.5]}]}",
         "group of position 1 is not an integer"},
        {"{\"plans\": [{\"probability\": 1, \"groups\": [0, -1]}]}", "group -1 of position 1"},
        {"{\"plans\": [{\"probability\": 1, \"groups\": [0, 9]}]}", "group 9 of position 1"},
        {"{\"plans\": [{\"probability\": 1, \"groups\": [0, 1]}, {\"probability\": 1, \"groups\": "
         "[0, 2]}]}",
         "plan 2: group 1 is empty, but group 2 is used"},
        {"{\"plans\": [{\"probability\": 1, \"groups\": [0, 1], \"weights\": [0]}]}",
         "weights is not an array of 2 numbers"},
        {"{\"plans\": [{\"probability\": 1, \"groups\": [0, 1], \"weights\": [0, null]}]}",
         "weight of position 1 is not a number"},
        {"{\"plans\": [{\"probability\": 1, \"groups\": [0, 1], \"weights\": [0, -1]}]}",
         "weight -1 of position 1 is negative"},
        {"{\"plans\": [{\"probability\": 1, \"groups\": [0, 1], \"weights\": [1, 1]}]}",
         "weight 1 of position 0 in group 0"},
        {"{\"plans\": [{\"probability\": 1, \"groups\": [0, 1], \"weights\": [0, 0]}]}",
         "weights sum to 0"},
        {"{\"plans\": [{\"probability\": 1, \"groups\": [0, 0]}]}", "weights sum to 0"},
        {"{\"plans\": [{\"probability\": 1e308, \"groups\": [0, 1]}, {\"probability\": 1e308, "
         "\"groups\": [0, 1]}]}",
         "probabilities of length 2 sum to inf"},
        {"{\"plans\": [{\"probability\": 1, \"group\": [0, 1]}]}", "unknown key \"group\""},
        {"{\"plans\": [", "1:"},
    };
    char path[64];
    temporary(path);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        cs_plan_file file = {0};
        write_text(path, cases[i][0]);
        cs_reason_clear();
        assert_int_equal(cs_plan_file_read(path, &file), CS_ERR_INPUT);
        assert_null(file.plan);
        assert_non_null(strstr(cs_reason(), path));
        assert_reason(cases[i][1]);
    }
    cs_plan_file file;
    assert_int_equal(unlink(path), 0);
    assert_int_not_equal(cs_plan_file_read(path, &file), CS_OK);
    assert_reason(path);
}

/* --- memory --- */

/* Every allocation of pairs, expansion and enumeration failed in turn; leaks are the sanitizer's.
 */
static cs_status everything(const cs_objective *objective)
{
    cs_pairs pairs = {0}, sets = {0};
    static tally t;
    cs_status status = cs_pairs_of(objective, 5, &pairs);
    if (status == CS_OK) {
        status = cs_pairs_expand(&pairs, 10000, &sets);
    }
    if (status == CS_OK) {
        status = cs_plan_enumerate(objective, 5, 10000, add_plan, &t);
    }
    cs_pairs_free(&pairs);
    cs_pairs_free(&sets);
    return status;
}

static void fail_each_allocation(const cs_objective *objective)
{
    (void)cs_mem_fail_at(0);
    assert_int_equal(everything(objective), CS_OK);
    int64_t made = cs_mem_fail_at(0);
    for (int64_t n = 1; n <= made; ++n) {
        cs_reason_clear();
        (void)cs_mem_fail_at(n);
        assert_int_equal(everything(objective), CS_ERR_MEMORY);
        assert_reason("out of memory");
    }
    (void)cs_mem_fail_at(0);
}

static void failed_allocations_are_reported(void **state)
{
    (void)state;
    for (int i = 0; i < SPECS; ++i) {
        cs_objective objective = parse(specs[i]);
        objective.event_weight = i % 2 ? CS_EVENT_MASK : CS_EVENT_TOKEN;
        if (exists(&objective, 5)) {
            fail_each_allocation(&objective);
        }
    }
    char path[64];
    temporary(path);
    write_text(path, "{\"plans\": [{\"probability\": 1, \"groups\": [0, 1, 1, 2, 2]}]}");
    cs_plan_file file = {0};
    (void)cs_mem_fail_at(0);
    assert_int_equal(cs_plan_file_read(path, &file), CS_OK);
    int64_t made = cs_mem_fail_at(0);
    cs_objective objective = cs_objective_default(CS_OBJ_FILE);
    objective.file = &file;
    fail_each_allocation(&objective);
    cs_plan_file_free(&file);
    for (int64_t n = 1; n <= made; ++n) {
        (void)cs_mem_fail_at(n);
        assert_int_equal(cs_plan_file_read(path, &file), CS_ERR_MEMORY);
        assert_null(file.plan);
        assert_reason("out of memory");
    }
    (void)cs_mem_fail_at(0);
    assert_int_equal(unlink(path), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pairs_equal_the_sum_over_all_plans),
        cmocka_unit_test(nothing_unmasked_is_the_empty_set),
        cmocka_unit_test(diverse_ar_is_a_signed_group_plan),
        cmocka_unit_test(samples_have_the_exact_frequencies),
        cmocka_unit_test(drawn_weights_follow_the_event_weight),
        cmocka_unit_test(denominators_make_integers),
        cmocka_unit_test(long_sequences_keep_their_accuracy),
        cmocka_unit_test(too_long_for_memory_is_said_before),
        cmocka_unit_test(ratios_resolve_with_half_away_from_zero),
        cmocka_unit_test(query_rows_see_their_conditioning_set),
        cmocka_unit_test(bad_specifications_are_named),
        cmocka_unit_test(bad_lengths_are_named),
        cmocka_unit_test(objectives_describe_themselves),
        cmocka_unit_test(binomials_are_exact),
        cmocka_unit_test(plan_files_are_objectives),
        cmocka_unit_test(defects_of_plan_files_are_named),
        cmocka_unit_test(failed_allocations_are_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
