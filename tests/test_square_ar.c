/* square-ar: every group of every plan is one square of the grid; its events against a sum by hand,
 * all plans and drawn ones.
 */
#include "plan/spec.h"
#include "plan_support.h"
#include "test.h"

TEST(events_are_those_of_all_plans)
{
    const char *const specs[] = {"square-ar(t=2,columns=6)", "square-ar(t=2,columns=3)",
                                 "square-ar(t=1)"};
    for (int i = 0; i < 3; ++i) {
        plan_compare_variants(plan_objective(specs[i]), i < 2 ? 3 : 2, (const double[]){1, 1});
    }
    plan_compare_kernel("square-ar(t=2,columns=3)");
}

/* Three squares of two in a row, six orders: a token is predicted from either one of the others alone
 * in one order, from both in two, and is in the first square in two. */
TEST(events_by_hand)
{
    static double table[PLAN_CELLS], wanted[PLAN_CELLS];
    for (int prefix = 0; prefix < 2; ++prefix) {
        cs_objective o = plan_objective("square-ar(t=2,columns=6)");
        o.empty_prefix = prefix ? CS_PREFIX_SHARED : CS_PREFIX_NONE;
        memset(wanted, 0, sizeof wanted);
        for (unsigned k = 0; k < 6; ++k) {
            const unsigned own = 3U << k / 2 * 2;
            for (unsigned other = 0; other < 3; ++other) {
                const unsigned set = 3U << 2 * other;
                wanted[set * PLAN_LONGEST + k] += set == own ? 0 : 1.0 / 6;
            }
            wanted[(63 & ~own) * PLAN_LONGEST + k] = 1.0 / 3;
            wanted[k] = prefix ? 1.0 / 3 : 0;
        }
        plan_normalise(wanted);
        plan_table_of(&o, 6, table);
        plan_assert_same_table(table, wanted, "three squares");
    }
}

/* 2 x 3 patches: a square of four and one of two that is cut off; six events of two plans. */
TEST(squares_that_are_cut_off)
{
    static double table[PLAN_CELLS], wanted[PLAN_CELLS];
    static const unsigned square[] = {1 | 2 | 8 | 16, 4 | 32};
    for (int weight = 0; weight < 2; ++weight) {
        cs_objective o = plan_objective("square-ar(t=2,columns=3)");
        o.event_weight = (cs_event_weight)weight;
        memset(wanted, 0, sizeof wanted);
        for (unsigned k = 0; k < 6; ++k) {
            const int own = square[1] >> k & 1;
            wanted[square[1 - own] * PLAN_LONGEST + k] = weight ? (own ? 0.25 : 0.125) : 1.0 / 6;
        }
        plan_table_of(&o, 6, table);
        plan_assert_same_table(table, wanted, "a square that is cut off");
        double predicted = 0;
        OK(cs_objective_predicted(&o, 6, &predicted));
        assert_true(predicted == 3); /* 2 or 4 */
    }
}

/* The squares of a grid, painted one by one: the number of each patch's, and how many there are. */
static int paint(int rows, int columns, int side, int *square)
{
    int count = 0;
    for (int top = 0; top < rows; top += side) {
        for (int left = 0; left < columns; left += side) {
            for (int cell = 0; cell < side * side; ++cell) {
                const int y = top + cell / side, x = left + cell % side;
                if (y < rows && x < columns) {
                    square[y * columns + x] = count;
                }
            }
            ++count;
        }
    }
    return count;
}

/* As pictures set the grid, and as training draws: squares and groups are one to one in every plan,
 * each square comes first as often (five standard errors), and each is before each other in half. */
TEST(every_group_is_one_square)
{
    enum { MOST = 256, DRAWS = 4000 };
    static const int grid[][3] = {{8, 8, 2}, {7, 7, 2}, {4, 10, 3}, {16, 16, 4}};
    for (int c = 0; c < 4; ++c) {
        const int rows = grid[c][0], columns = grid[c][1], patches = rows * columns;
        static int square[MOST], group_of[MOST], first[MOST];
        const int squares = paint(rows, columns, grid[c][2], square);
        int64_t before = 0;
        const char *planar = NULL;
        cs_objective o = plan_objective("randsac(t=2)");
        o.t = grid[c][2];
        OK(cs_objective_grid(&o, columns, &planar));
        assert_string_equal(planar, "square-ar");
        memset(first, 0, sizeof first);
        AUTO_OK(cs_plan, plan, cs_plan_init(&plan, patches));
        cs_rng rng = cs_rng_at(3, CS_STREAM_TEST, (uint64_t)c);
        for (int draw = 0; draw < DRAWS; ++draw) {
            unsigned char seen[MOST] = {0};
            OK(cs_plan_sample_training(&o, &rng, &plan));
            assert_int_equal(plan.groups, squares - 1);
            for (int q = 0; q < squares; ++q) {
                group_of[q] = -1;
            }
            for (int i = 0; i < patches; ++i) {
                int *group = &group_of[square[i]];
                if (*group < 0) {
                    *group = plan.group[i];
                    assert_true(*group >= 0 && *group < squares && !seen[*group]++);
                }
                assert_int_equal(plan.group[i], *group);
                assert_true(plan.weight[i] == (*group > 0 ? 1 : 0));
            }
            for (int q = 0; q < squares; ++q) {
                first[q] += group_of[q] == 0;
            }
            before += group_of[0] < group_of[1];
        }
        const double p = 1.0 / squares, sd = sqrt(DRAWS * p * (1 - p));
        assert_each(q, 0, squares, fabs(first[q] - DRAWS * p) < 5 * sd);
        assert_true(fabs((double)before - DRAWS / 2.0) < 5 * sqrt(DRAWS) / 2);
    }
}

/* Squares of one patch are the tokens of permuted-ar. */
TEST(squares_of_one_are_tokens)
{
    for (int variant = 0; variant < 6; ++variant) {
        cs_objective o = plan_objective("square-ar(t=1)");
        o.event_weight = (cs_event_weight)(variant % 2);
        o.empty_prefix = (cs_empty_prefix)(variant / 2);
        plan_assert_as_by_hand(&o, 5, "permuted-ar");
    }
}

TEST(what_does_not_exist)
{
    CS_AUTO(cs_pairs) pairs = {0};
    cs_objective o = plan_objective("square-ar(t=2)");
    assert_fails(
        cs_pairs_of(&o, 4, &pairs), CS_ERR_USAGE,
        "length 4 in rows of 2 is a single square of 2 x 2, but at least two squares are needed");
    assert_fails(cs_pairs_of(&o, 64, &pairs), CS_ERR_USAGE,
                 "square-ar at length 64 has 20922789888000 plans");
    o.empty_prefix = CS_PREFIX_SHARED;
    OK(cs_pairs_of(&o, 4, &pairs));
    assert_fails(cs_objective_parse("square-ar", &o), CS_ERR_USAGE,
                 "square-ar needs a number of tokens (t), for example square-ar(t=2)");
}
