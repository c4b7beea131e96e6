/* Geometry of next-token prediction: the statements of the built-in example, and inputs on which the
 * two candidate forms agree. */
#include <string.h>

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
        /* the three classes of tokens are three orthants of two directions */
        s = statement_of(&report.statements, "ntp-orthants", CS_PRINTED);
        assert_true(s->verdict == CS_PASS && detail_of(s, "orthants") == 3);
        assert_near(s->rhs, 1, 1e-12);
        assert_near(detail_of(s, "purity"), 1, 1e-12);
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

/* Tokens of two classes with the same neighbours: no verdict, whatever their number; without labels no
 * statement. */
TEST(orthants_without_classes)
{
    enum { N = 130 };
    AUTO_OK(cs_csr, a, cs_csr_init(&a, N, N, 2 * N));
    AUTO_OK(cs_csr, classes, cs_csr_init(&classes, N, 2, N));
    for (int i = 0; i < N; ++i) {
        a.col[2 * i] = i < N - 1 ? i : 0;
        a.col[2 * i + 1] = i < N - 1 ? i + 1 : i;
        a.val[2 * i] = 1 + i * 7 % 5;
        a.val[2 * i + 1] = 1 + i * 3 % 4;
        a.ptr[i + 1] = 2 * i + 2;
        classes.col[i] = i * 11 % 13 % 2;
        classes.val[i] = 1;
        classes.ptr[i + 1] = i + 1;
    }
    const cs_labelled m = {.a = a, .labels = 2, .col_label = classes}, none = {.a = a};
    cs_theorem_report report = {0};
    /* too large for the minimisation, which is left out */
    OK(cs_entry_ntp.run[CS_ON_MATRIX](&(cs_theorem_input){.matrix = &m, .name = "m"}, &report));
    assert_int_equal(report.statements.count, 1);
    assert_non_null(
        strstr(report.note, "m has 130 contexts and 130 tokens: minimising takes about"));
    assert_non_null(strstr(report.note, "Only orthants are compared"));
    const cs_statement *s = statement_of(&report.statements, "ntp-orthants", CS_PRINTED);
    assert_true(s->verdict == CS_INCONCLUSIVE && s->rhs < detail_of(s, "detectable"));
    cs_statements_free(&report.statements);
    report = (cs_theorem_report){0};
    assert_int_equal(
        cs_entry_ntp.run[CS_ON_MATRIX](&(cs_theorem_input){.matrix = &none, .name = "m"}, &report),
        CS_ERR_INPUT);
    assert_non_null(strstr(cs_reason(), "about 0.014 GB and up to 0.29 minutes"));
    assert_string_equal(report.note, "");
    cs_statements_free(&report.statements);
}
