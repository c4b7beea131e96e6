/* gvp along the sequence (permutation=none): the closed sum of its events against all plans and drawn
 * ones, and against what it is by hand where it is another objective.
 */
#include "plan/spec.h"
#include "plan_support.h"
#include "test.h"

TEST(events_are_those_of_all_plans)
{
    static const struct {
        const char *spec;
        int64_t shortest;
        double largest[2];
    } cases[] = {
        {"gvp(segmentation=fixed,groups=1,permutation=none)", 2, {1, 1}},
        {"gvp(segmentation=fixed,groups=3,permutation=none)", 4, {1, 1}},
        {"gvp(segmentation=random,groups=1,permutation=none)", 2, {1, 1}},
        {"gvp(segmentation=random,groups=2,permutation=none)", 3, {1, 1}},
        {"gvp(segmentation=random,groups=5,permutation=none)", 6, {1, 1}},
        {"gvp(segmentation=mixed,groups=1,permutation=none)", 2, {1, 1}},
        {"gvp(segmentation=mixed,groups=3,permutation=none)", 4, {1, 1}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        plan_compare_variants(plan_objective(cases[i].spec), cases[i].shortest, cases[i].largest);
        plan_compare_kernel(cases[i].spec);
    }
}

/* Groups of one in the sequence's order are ar, whatever cuts them. */
TEST(single_tokens_are_ar)
{
    static double table[PLAN_CELLS], wanted[PLAN_CELLS];
    static const char *const specs[] = {"gvp(segmentation=fixed,groups=5,permutation=none)",
                                        "gvp(segmentation=random,groups=5,permutation=none)"};
    const cs_objective ar = plan_objective("ar");
    plan_table_of(&ar, 6, wanted);
    for (int i = 0; i < 2; ++i) {
        const cs_objective o = plan_objective(specs[i]);
        plan_table_of(&o, 6, table);
        plan_assert_same_table(table, wanted, specs[i]);
    }
}

/* The sizes of conditioning sets do not depend on the order: sums over targets are q(m) of the
 * permuted plans, at a length where no enumeration is. */
TEST(sizes_are_those_of_permuted_plans)
{
    static const char *const pairs[][2] = {
        {"gvp(segmentation=mixed,groups=20)", "gvp(segmentation=mixed,groups=20,permutation=none)"},
        {"gvp(segmentation=random,groups=6)", "gvp(segmentation=random,groups=6,permutation=none)"},
        {"gvp(segmentation=fixed,groups=7)", "gvp(segmentation=fixed,groups=7,permutation=none)"},
    };
    enum { S = 196 };
    for (int i = 0; i < 3; ++i) {
        double of_size[S] = {0};
        const cs_objective p = plan_objective(pairs[i][0]), a = plan_objective(pairs[i][1]);
        AUTO_OK(cs_pairs, permuted, cs_pairs_of(&p, S, &permuted));
        AUTO_OK(cs_pairs, along, cs_pairs_of(&a, S, &along));
        assert_true(!along.q && along.prefixes);
        for (int64_t e = 0; e < along.events; ++e) {
            of_size[cs_pairs_set_of(&along, e).size] += along.weight[e];
        }
        assert_each(m, 0, S, fabs(of_size[m] - permuted.q[m]) <= 1e-13);
        assert_true(fabs(along.predicted - permuted.predicted) <= 1e-9);
        assert_true(fabs(along.clamped - permuted.clamped) <= 1e-15);
    }
}

/* Its text and JSON, read again. */
TEST(descriptions)
{
    CS_AUTO_FREE char *said = NULL, *usual = NULL;
    const cs_objective o = plan_objective("gvp:segmentation=mixed,groups=3,permutation=none"),
                       u = plan_objective("gvp:segmentation=mixed,groups=3,permutation=uniform");
    assert_non_null(said = cs_objective_describe(&o));
    assert_non_null(usual = cs_objective_describe(&u));
    assert_string_equal(said, "gvp(segmentation=mixed,groups=3,permutation=none)");
    assert_string_equal(usual, "gvp(segmentation=mixed,groups=3)");
    cs_objective again;
    OK(cs_objective_parse(said, &again));
    assert_int_equal(again.permutation, CS_PERMUTE_NONE);
}
