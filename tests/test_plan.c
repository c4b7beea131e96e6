/* plan: exact pair distributions against enumeration of all plans and against sampling, rank masks,
 * plan files. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "linalg_support.h"
#include "plan/pairs.h"
#include "plan/plan.h"
#include "plan/plan_file.h"
#include "plan_support.h"

enum { LONGEST = 6, CELLS = (1 << LONGEST) * LONGEST };

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
    for (int i = 0; i < PLAN_SPECS; ++i) {
        cs_objective objective = plan_objective(plan_specs[i]);
        for (int weight = 0; weight < 2; ++weight) {
            for (int prefix = 0; prefix < 3; ++prefix) {
                objective.event_weight = (cs_event_weight)weight;
                objective.empty_prefix = (cs_empty_prefix)prefix;
                for (int64_t s = 1; s <= LONGEST; ++s) {
                    if (plan_exists(&objective, s)) {
                        compare_with_enumeration(&objective, s);
                        ++compared;
                    }
                }
            }
        }
    }
    assert_true(compared > PLAN_SPECS * 6 * 2);
}

/* unmasked=0 exists with an empty prefix only. */
static void nothing_unmasked_is_the_empty_set(void **state)
{
    (void)state;
    cs_objective objective = cs_objective_default(CS_OBJ_VARIABLE_MASKED);
    objective.unmasked_lo = 0;
    objective.unmasked_hi = 2;
    assert_int_equal(cs_objective_check(&objective), CS_ERR_USAGE);
    expect_reason("unmasked 0 needs an empty prefix");
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
    for (int i = 0; i < PLAN_SPECS; ++i) {
        cs_objective objective = plan_objective(plan_specs[i]);
        for (int weight = 0; weight < 2; ++weight) {
            objective.event_weight = (cs_event_weight)weight;
            objective.empty_prefix = weight == 0 ? CS_PREFIX_NONE : CS_PREFIX_SHARED;
            if (plan_exists(&objective, 6)) {
                compare_with_samples(&objective, 6, 1, (uint64_t)i);
            }
        }
    }
}

/* A drawn plan's weights: 1 each under token, sum 1 under mask. */
static void drawn_weights_follow_the_event_weight(void **state)
{
    (void)state;
    for (int i = 0; i < PLAN_SPECS; ++i) {
        cs_objective objective = plan_objective(plan_specs[i]);
        cs_plan plan;
        assert_int_equal(cs_plan_init(&plan, 6), CS_OK);
        for (uint64_t n = 0; n < 50 && plan_exists(&objective, 6); ++n) {
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

/* --- masks --- */

/* LA Eq. 24: a query row sees exactly the conditioning set of its event, a content row also its own
 * group. */
static void query_rows_see_their_conditioning_set(void **state)
{
    (void)state;
    for (int n = 0; n < PLAN_SPECS; ++n) {
        cs_objective objective = plan_objective(plan_specs[n]);
        cs_plan plan;
        int32_t vis[6], content[6], query[6];
        assert_int_equal(cs_plan_init(&plan, 6), CS_OK);
        for (uint64_t draw = 0; draw < 20 && plan_exists(&objective, 6); ++draw) {
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

/* --- plan files --- */

static const char three_plans[] =
    "{\"plans\": [{\"probability\": 1, \"groups\": [0, 2, 1, 1]},\n"
    " {\"probability\": 3, \"groups\": [0, 1, 2, 2], \"weights\": [0, 0.5, 0, 2]},\n"
    " {\"probability\": 2, \"groups\": [1, 0, 2]}]}\n";

static void plan_files_are_objectives(void **state)
{
    (void)state;
    char path[64];
    plan_temporary(path);
    plan_write(path, three_plans);
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
    expect_reason("has no plan of length 5");
    cs_plan_file_free(&file);
    cs_plan_file_free(&file); /* accepts a zeroed object */

    plan_write(path, "{\"plans\": [{\"probability\": 1, \"groups\": [1, 2]}]}");
    assert_int_equal(cs_plan_file_read(path, &file), CS_OK);
    objective.file = &file;
    assert_int_equal(cs_objective_check(&objective), CS_ERR_USAGE);
    expect_reason("plan 1: group 0 is empty, which needs an empty prefix");
    objective.empty_prefix = CS_PREFIX_SHARED;
    compare_with_enumeration(&objective, 2);
    cs_plan_file_free(&file);
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
        cmocka_unit_test(query_rows_see_their_conditioning_set),
        cmocka_unit_test(plan_files_are_objectives),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
