/* plan: exact pair distributions against enumeration of all plans and against sampling, rank masks,
 * plan files. */
#include "plan_support.h"
#include "test.h"

TEST(pairs_equal_the_sum_over_all_plans)
{
    int compared = 0;
    for (int i = 0; i < plan_spec_count(); ++i) {
        cs_objective objective = plan_objective(plan_spec(i));
        for (int weight = 0; weight < 2; ++weight) {
            for (int prefix = 0; prefix < 3; ++prefix) {
                objective.event_weight = (cs_event_weight)weight;
                objective.empty_prefix = (cs_empty_prefix)prefix;
                for (int64_t s = 1; s <= PLAN_LONGEST; ++s) {
                    if (plan_exists(&objective, s)) {
                        plan_compare_with_enumeration(&objective, s);
                        ++compared;
                    }
                }
            }
        }
    }
    assert_true(compared > plan_spec_count() * 6 * 2);
}

/* unmasked=0 exists with an empty prefix only. */
TEST(nothing_unmasked_is_the_empty_set)
{
    cs_objective objective = cs_objective_default(CS_OBJ_VARIABLE_MASKED);
    objective.unmasked_lo = 0;
    objective.unmasked_hi = 2;
    assert_fails(cs_objective_check(&objective), CS_ERR_USAGE, "unmasked 0 needs an empty prefix");
    objective.empty_prefix = CS_PREFIX_SHARED;
    for (int weight = 0; weight < 2; ++weight) {
        objective.event_weight = (cs_event_weight)weight;
        plan_compare_with_enumeration(&objective, 3);
        plan_compare_with_enumeration(&objective, 5);
    }
}

/* diverse-ar is the group plan with later groups of size t and first-group size j
 * weighted 1 / min(t, s-j) - [j > t] / t. */
TEST(diverse_ar_is_a_signed_group_plan)
{
    static double exact[PLAN_CELLS];
    for (int64_t s = 2; s <= PLAN_LONGEST; ++s) {
        for (int64_t t = 1; t <= s; ++t) {
            static plan_tally sum;
            memset(&sum, 0, sizeof sum);
            for (int64_t j = 1; j < s; ++j) {
                AUTO_OK(cs_plan, plan, cs_plan_init(&plan, s));
                for (int64_t i = 0; i < s; ++i) {
                    plan.group[i] = (int32_t)(i < j ? 0 : 1 + (i - j) / t);
                    plan.weight[i] = i >= j;
                }
                plan.groups = plan.group[s - 1];
                double weight = 1 / (double)(t < s - j ? t : s - j) - (j > t ? 1 / (double)t : 0);
                OK(plan_tally_add(&sum, &plan, weight));
            }
            cs_objective objective = cs_objective_default(CS_OBJ_DIVERSE_AR);
            objective.t = t;
            AUTO_OK(cs_pairs, pairs, cs_pairs_of(&objective, s, &pairs));
            plan_table_of_pairs(&pairs, exact);
            plan_normalise(sum.table);
            plan_assert_same_table(exact, sum.table, "diverse-ar");
        }
    }
}

/* --- sampling --- */

TEST(samples_have_the_exact_frequencies)
{
    for (int i = 0; i < plan_spec_count(); ++i) {
        cs_objective objective = plan_objective(plan_spec(i));
        for (int weight = 0; weight < 2; ++weight) {
            objective.event_weight = (cs_event_weight)weight;
            objective.empty_prefix = weight == 0 ? CS_PREFIX_NONE : CS_PREFIX_SHARED;
            if (plan_exists(&objective, 6)) {
                double (*own)(int64_t, int64_t) = cs_objective_table(objective.kind)->token_weight;
                const double largest = own && weight == 0 ? own(6, 1) : 1;
                plan_compare_with_samples(&objective, 6, largest, (uint64_t)i);
            }
        }
    }
}

/* A drawn plan's weights: 1 each (or that of its row) under token, sum 1 under mask. */
TEST(drawn_weights_follow_the_event_weight)
{
    for (int i = 0; i < plan_spec_count(); ++i) {
        cs_objective objective = plan_objective(plan_spec(i));
        AUTO_OK(cs_plan, plan, cs_plan_init(&plan, 6));
        for (uint64_t n = 0; n < 50 && plan_exists(&objective, 6); ++n) {
            cs_rng rng = cs_rng_at(7, CS_STREAM_PLAN, n);
            double each = 1;
            objective.event_weight = n % 2 ? CS_EVENT_MASK : CS_EVENT_TOKEN;
            OK(cs_plan_sample(&objective, &rng, &plan));
            int64_t predicted = COUNT(k, 0, 6, plan.weight[k] > 0);
            if (cs_objective_table(objective.kind)->token_weight) {
                each = cs_objective_table(objective.kind)->token_weight(6, predicted);
            }
            double sum = SUM(k, 0, 6, plan.weight[k]);
            assert_each(k, 0, 6, n % 2 || plan.weight[k] == 0 || plan.weight[k] == each);
            assert_true(n % 2 == 0 || sum == 0 || fabs(sum - 1) < 1e-15);
        }
    }
}

/* --- plan files --- */

static const char three_plans[] =
    "{\"plans\": [{\"probability\": 1, \"groups\": [0, 2, 1, 1]},\n"
    " {\"probability\": 3, \"groups\": [0, 1, 2, 2], \"weights\": [0, 0.5, 0, 2]},\n"
    " {\"probability\": 2, \"groups\": [1, 0, 2]}]}\n";

TEST(plan_files_are_objectives)
{
    char path[64];
    plan_temporary(path);
    plan_write(path, three_plans);
    AUTO_OK(cs_plan_file, file, cs_plan_file_read(path, &file));
    assert_int_equal(file.plans, 3);
    assert_true(file.probability[0] == 0.25 && file.probability[1] == 0.75);
    assert_true(file.probability[2] == 1);
    cs_objective objective = cs_objective_default(CS_OBJ_FILE);
    objective.file = &file;
    OK(cs_objective_check(&objective));
    CS_AUTO_FREE char *text = cs_objective_describe(&objective);
    assert_non_null(strstr(text, path));
    for (int weight = 0; weight < 2; ++weight) {
        objective.event_weight = (cs_event_weight)weight;
        plan_compare_with_enumeration(&objective, 4);
        plan_compare_with_enumeration(&objective, 3);
        plan_compare_with_samples(&objective, 4, 2, 11);
    }
    cs_pairs pairs;
    objective.event_weight = CS_EVENT_TOKEN;
    OK(cs_pairs_of(&objective, 4, &pairs));
    /* 0.25 x 3 tokens + 0.75 x 2.5; the pairs ({0}, 1), ({0}, 2), ({0}, 3), ({0,1}, 3),
     * ({0,2,3}, 1). */
    assert_true(fabs(pairs.predicted - 2.625) < 1e-15);
    assert_int_equal(pairs.events, 5);
    assert_int_equal(pairs.sets, 3);
    assert_true(fabs(pairs.weight[3] - 1.5 / 2.625) < 1e-15);
    cs_pairs_free(&pairs);
    assert_fails(cs_pairs_of(&objective, 5, &pairs), CS_ERR_USAGE, "has no plan of length 5");
    cs_plan_file_free(&file);
    cs_plan_file_free(&file); /* accepts a zeroed object */

    plan_write(path, "{\"plans\": [{\"probability\": 1, \"groups\": [1, 2]}]}");
    OK(cs_plan_file_read(path, &file));
    objective.file = &file;
    assert_fails(cs_objective_check(&objective), CS_ERR_USAGE,
                 "plan 1: group 0 is empty, which needs an empty prefix");
    objective.empty_prefix = CS_PREFIX_SHARED;
    plan_compare_with_enumeration(&objective, 2);
    assert_int_equal(unlink(path), 0);
}
