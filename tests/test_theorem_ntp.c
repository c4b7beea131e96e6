/* Geometry of next-token prediction: the statements of the built-in example, and inputs on which the
 * two candidate forms agree. */
#include "analysis/theorems/registry.h"
#include "statement_support.h"

TEST(example)
{
    for (uint64_t seed = 0; seed < 3; ++seed) {
        cs_theorem_report report = {0};
        OK(cs_entry_ntp.run[CS_ON_NOTHING](&(cs_theorem_input){.seed = seed}, &report));
        const cs_statement *s = statement_of(&report.statements, "ntp-support", CS_PRINTED);
        assert_true(s->verdict == CS_PASS && s->lhs < 0.05 && detail_of(s, "cosine") > 0.95);
        assert_int_equal(statement_of(&report.statements, "ntp-balanced", CS_PRINTED)->verdict,
                         CS_PASS);
        s = statement_of(&report.statements, "ntp-order", CS_PRINTED);
        assert_true(s->verdict == CS_FAIL && s->counterexample && s->example);
        s = statement_of(&report.statements, "ntp-order", CS_CORRECTED);
        assert_true(s->verdict == CS_PASS && s->lhs < 0.01);
        cs_statements_free(&report.statements);
    }
}

/* 4 contexts that see 2 of 4 tokens each, all alike: a - p / V is a multiple of the support form. */
TEST(no_order_between_equal_forms)
{
    int64_t ptr[] = {0, 2, 4, 6, 8};
    int32_t col[] = {0, 1, 0, 1, 2, 3, 2, 3};
    double val[] = {1, 1, 1, 1, 1, 1, 1, 1};
    const cs_labelled m = {.a = {4, 4, ptr, col, val, true, false}};
    cs_theorem_report report = {0};
    OK(cs_entry_ntp.run[CS_ON_MATRIX](&(cs_theorem_input){.matrix = &m, .name = "m"}, &report));
    assert_false(has_statement(&report.statements, "ntp-order", CS_PRINTED));
    const cs_statement *s = statement_of(&report.statements, "ntp-support", CS_PRINTED);
    assert_true(s->verdict != CS_FAIL && s->lhs < 1e-4 && detail_of(s, "cosine") > 1 - 1e-8);
    cs_statements_free(&report.statements);
}

/* With two tokens there is one centred direction. */
TEST(no_order_of_one_direction)
{
    int64_t ptr[] = {0, 1, 2};
    int32_t col[] = {0, 1};
    double val[] = {3, 1};
    const cs_labelled m = {.a = {2, 2, ptr, col, val, true, false}};
    cs_theorem_report report = {0};
    OK(cs_entry_ntp.run[CS_ON_MATRIX](&(cs_theorem_input){.matrix = &m, .name = "m"}, &report));
    assert_int_equal(report.statements.count, 2);
    cs_statements_free(&report.statements);
}
