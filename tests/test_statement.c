/* statement: verdicts follow from numbers, JSON and table carry every field, memory failures leave
 * nothing behind. */
#include "analysis/theorems/statement.h"
#include "io/json.h"
#include "io_support.h"
#include "model_support.h"

typedef struct {
    cs_relation relation;
    double lhs, rhs, error, trivial;
    cs_verdict verdict;
} verdict_case;

TEST(verdicts_follow_from_numbers)
{
    const verdict_case cases[] = {
        {CS_RELATION_EQUAL, 1, 1, 0, NAN, CS_PASS},
        {CS_RELATION_EQUAL, 1, 1.5, 0.5, NAN, CS_PASS},
        {CS_RELATION_EQUAL, 1, 1.5, 0.4, NAN, CS_FAIL},
        {CS_RELATION_EQUAL, NAN, 1, 0.4, NAN, CS_INCONCLUSIVE},
        {CS_RELATION_AT_MOST, 1, 2, 0.5, NAN, CS_PASS},
        {CS_RELATION_AT_MOST, 1, 2, 0.5, 2, CS_VACUOUS},
        {CS_RELATION_AT_MOST, 1, 2, 0.5, 2.5, CS_PASS},
        {CS_RELATION_AT_MOST, 1, 1.25, 0.5, NAN, CS_INCONCLUSIVE},
        {CS_RELATION_AT_MOST, 1.25, 1, 0.5, NAN, CS_INCONCLUSIVE},
        {CS_RELATION_AT_MOST, 2, 1, 0.5, 0.5, CS_FAIL},
        {CS_RELATION_AT_MOST, 0, 0, 0, 0.5, CS_PASS},
        {CS_RELATION_AT_MOST, 1, INFINITY, 0.1, 0.5, CS_VACUOUS},
        {CS_RELATION_AT_MOST, INFINITY, INFINITY, 0, NAN, CS_PASS},
        {CS_RELATION_AT_MOST, 1, 2, NAN, NAN, CS_INCONCLUSIVE},
        {CS_RELATION_LESS, 1, 2, 0.5, NAN, CS_PASS},
        {CS_RELATION_LESS, 1, 1, 0, NAN, CS_FAIL},
        {CS_RELATION_LESS, 1, 1, 1e-12, NAN, CS_INCONCLUSIVE},
        {CS_RELATION_LESS, 2, 1, 0.5, NAN, CS_FAIL},
    };
    cs_statements list = {0};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        cs_statement *s =
            cs_statements_add(&list, "x", CS_CORRECTED, cases[i].relation, "a <= b", NULL);
        assert_non_null(s);
        s->trivial = cases[i].trivial;
        cs_statement_evaluate(s, cases[i].lhs, cases[i].rhs, cases[i].error);
        assert_string_equal(cs_verdict_name(s->verdict), cs_verdict_name(cases[i].verdict));
    }
    assert_true(list.count == (int64_t)(sizeof cases / sizeof *cases));
    assert_true(cs_statements_failed(&list));
    assert_non_null(cs_statements_inconclusive(&list));
    cs_statements_free(&list);
    assert_null(list.item);
}

/* Only an `at most` whose sides agree to rounding is attained, and it fails no run. */
TEST(an_attained_bound_is_inconclusive_and_harmless)
{
    const struct {
        cs_relation relation;
        double lhs, rhs, error;
        bool attained;
    } cases[] = {
        {CS_RELATION_AT_MOST, 0.25, 0.25, 1e-9, true},
        {CS_RELATION_AT_MOST, 0.25, 0.25 - 1e-10, 1e-9, true},
        {CS_RELATION_AT_MOST, 0.25, 0.25, 1e-6, false}, /* too coarse to decide */
        {CS_RELATION_AT_MOST, 0.25, 0.25, NAN, false},
        {CS_RELATION_LESS, 0.25, 0.25, 1e-12, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        CS_AUTO(cs_statements) list = {0};
        cs_statement *s =
            cs_statements_add(&list, "x", CS_CORRECTED, cases[i].relation, "a <= b", NULL);
        assert_non_null(s);
        cs_statement_evaluate(s, cases[i].lhs, cases[i].rhs, cases[i].error);
        assert_int_equal(s->verdict, CS_INCONCLUSIVE);
        assert_true(s->attained == cases[i].attained);
        assert_true((cs_statements_inconclusive(&list) == NULL) == cases[i].attained);
        cs_statement_withhold(s);
        assert_non_null(cs_statements_inconclusive(&list));
        cs_statement_evaluate(s, 0, 1, 0);
        assert_false(s->attained || cs_statements_inconclusive(&list));
    }
}

/* A premise of a statement failed: neither a verdict nor a counterexample. */
TEST(a_withheld_statement_has_no_verdict)
{
    CS_AUTO(cs_statements) list = {0};
    cs_statement *s = cs_statements_add(&list, "x", CS_CORRECTED, CS_RELATION_EQUAL, "a = b", NULL);
    cs_statement_evaluate(s, 1, 2, 0);
    assert_int_equal(s->verdict, CS_FAIL);
    cs_statement_counterexample(s, "1 is not 2");
    assert_string_equal(s->counterexample, "1 is not 2");
    cs_statement_withhold(s);
    assert_int_equal(s->verdict, CS_INCONCLUSIVE);
    assert_null(s->counterexample);
    assert_false(cs_statements_failed(&list));
}

/* A false printed statement is a finding, not an error. */
TEST(only_corrected_statements_count)
{
    CS_AUTO(cs_statements) list = {0};
    cs_statement *s = cs_statements_add(&list, "p", CS_PRINTED, CS_RELATION_EQUAL, "1 = 2", "");
    cs_statement_evaluate(s, 1, 2, 0);
    assert_int_equal(s->verdict, CS_FAIL);
    assert_false(cs_statements_failed(&list));
    assert_null(cs_statements_inconclusive(&list));
}

static cs_status fill(cs_statements *list)
{
    cs_statement *s = cs_statements_claim(list, &(cs_claim){.id = "3.1",
                                                            .form = CS_PRINTED,
                                                            .relation = CS_RELATION_EQUAL,
                                                            .text = "L = x",
                                                            .input = "a matrix",
                                                            .lhs = 1,
                                                            .rhs = 2,
                                                            .error = 1e-12});
    cs_statement_assume(s, "A is non-negative", true, NAN);
    cs_statement_int(s, "trials", 5);
    cs_statement_counterexample(s, "pair %d: %g", 3, 0.5);
    cs_statements_mark(list, 0);
    return cs_statements_status(list);
}

/* The numbers that a failing claim fails on are its counterexample by default; a claim that holds
 * has none. */
TEST(a_claim_has_its_counterexample)
{
    CS_AUTO(cs_statements) list = {0};
    cs_claim claim = {"x", CS_PRINTED, CS_RELATION_AT_MOST, "a <= b", "this", 2, 1, 0};
    assert_string_equal(cs_statements_claim(&list, &claim)->counterexample, "this: 2 against 1");
    claim.rhs = 3;
    assert_null(cs_statements_claim(&list, &claim)->counterexample);
    assert_int_equal(list.item[1].verdict, CS_PASS);
    cs_statement_unspecify(&list.item[0], "two formulas", 0);
    assert_int_equal(list.item[0].verdict, CS_UNSPECIFIED);
    assert_null(list.item[0].counterexample);
    OK(cs_statements_status(&list));
}

TEST(json_and_table_carry_every_field)
{
    AUTO_OK(cs_statements, list, fill(&list));
    CS_AUTO(cs_result) *result = cs_result_new();
    json_auto_t *root = NULL;
    cs_statements_record(&list, cs_result_root(result));
    OK(cs_result_json(result, &root));
    json_t *item = json_array_get(json_object_get(root, "statements"), 0);
    assert_string_equal(json_string_value(json_object_get(item, "id")), "3.1");
    assert_string_equal(json_string_value(json_object_get(item, "form")), "printed");
    assert_string_equal(json_string_value(json_object_get(item, "relation")), "=");
    assert_string_equal(json_string_value(json_object_get(item, "verdict")), "FAIL");
    assert_string_equal(json_string_value(json_object_get(item, "statement")), "L = x");
    assert_string_equal(json_string_value(json_object_get(item, "input")), "a matrix");
    assert_true(json_real_value(json_object_get(item, "margin")) == -1);
    assert_true(json_is_null(json_object_get(item, "trivial")));
    assert_true(json_is_false(json_object_get(item, "attained")));
    assert_string_equal(json_string_value(json_object_get(item, "counterexample")), "pair 3: 0.5");
    json_t *assumption = json_array_get(json_object_get(item, "assumptions"), 0);
    assert_true(json_is_true(json_object_get(assumption, "holds")));
    assert_true(json_is_null(json_object_get(assumption, "value")));
    assert_true(json_integer_value(json_object_get(json_object_get(item, "details"), "trials")) ==
                5);
    assert_true(json_is_true(json_object_get(item, "example")));

    AUTO_OK(cs_table, table, cs_result_table(result, &cs_statements_view, &table));
    assert_true(table.rows == 1);
    assert_string_equal(table.cell[cs_table_column(&table, "verdict")], "FAIL");
    assert_string_equal(table.cell[cs_table_column(&table, "counterexample")], "pair 3: 0.5");
}

static cs_status fill_once(const char *path)
{
    (void)path;
    CS_AUTO(cs_statements) list = {0};
    CS_AUTO(cs_result) *result = cs_result_new();
    cs_status status = fill(&list);
    cs_statements_record(&list, cs_result_root(result));
    if (status == CS_OK) status = cs_result_status(result);
    return status;
}

TEST(every_allocation_may_fail)
{
    fail_each_allocation(fill_once, "");
}
