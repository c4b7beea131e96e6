/* statement: verdicts follow from numbers, JSON and table carry every field, memory failures leave
 * nothing behind. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/statement.h"
#include "base/mem.h"
#include "io/json.h"

typedef struct {
    cs_relation relation;
    double lhs, rhs, error, trivial;
    cs_verdict verdict;
} verdict_case;

static void verdicts_follow_from_numbers(void **state)
{
    (void)state;
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
        cs_statement_judge(s, cases[i].lhs, cases[i].rhs, cases[i].error);
        assert_string_equal(cs_verdict_name(s->verdict), cs_verdict_name(cases[i].verdict));
    }
    assert_true(list.count == (int64_t)(sizeof cases / sizeof *cases));
    assert_true(cs_statements_failed(&list));
    assert_non_null(cs_statements_inconclusive(&list));
    cs_statements_free(&list);
    assert_null(list.item);
}

/* Only an `at most` whose sides agree to rounding is attained, and it fails no run. */
static void an_attained_bound_is_inconclusive_and_harmless(void **state)
{
    (void)state;
    const struct {
        cs_relation relation;
        double lhs, rhs, error;
        bool attained;
    } cases[] = {
        {CS_RELATION_AT_MOST, 0.25, 0.25, 1e-9, true},
        {CS_RELATION_AT_MOST, 0.25, 0.25 - 1e-10, 1e-9, true},
        {CS_RELATION_AT_MOST, 0.25, 0.25, 1e-6, false}, /* too coarse to tell */
        {CS_RELATION_AT_MOST, 0.25, 0.25, NAN, false},
        {CS_RELATION_LESS, 0.25, 0.25, 1e-12, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        cs_statements list = {0};
        cs_statement *s =
            cs_statements_add(&list, "x", CS_CORRECTED, cases[i].relation, "a <= b", NULL);
        assert_non_null(s);
        cs_statement_judge(s, cases[i].lhs, cases[i].rhs, cases[i].error);
        assert_int_equal(s->verdict, CS_INCONCLUSIVE);
        assert_true(s->attained == cases[i].attained);
        assert_true((cs_statements_inconclusive(&list) == NULL) == cases[i].attained);
        cs_statement_withhold(s);
        assert_non_null(cs_statements_inconclusive(&list));
        cs_statement_judge(s, 0, 1, 0);
        assert_false(s->attained || cs_statements_inconclusive(&list));
        cs_statements_free(&list);
    }
}

/* What a statement rests on failed: neither a verdict nor a counterexample. */
static void a_withheld_statement_has_no_verdict(void **state)
{
    (void)state;
    cs_statements list = {0};
    cs_statement *s = cs_statements_add(&list, "x", CS_CORRECTED, CS_RELATION_EQUAL, "a = b", NULL);
    cs_statement_judge(s, 1, 2, 0);
    assert_int_equal(s->verdict, CS_FAIL);
    assert_int_equal(cs_statement_counterexample(s, "1 is not 2"), CS_OK);
    cs_statement_withhold(s);
    assert_int_equal(s->verdict, CS_INCONCLUSIVE);
    assert_null(s->counterexample);
    assert_false(cs_statements_failed(&list));
    cs_statements_free(&list);
}

/* A false printed statement is a finding, not an error. */
static void only_corrected_statements_count(void **state)
{
    (void)state;
    cs_statements list = {0};
    cs_statement *s = cs_statements_add(&list, "p", CS_PRINTED, CS_RELATION_EQUAL, "1 = 2", "");
    cs_statement_judge(s, 1, 2, 0);
    assert_int_equal(s->verdict, CS_FAIL);
    assert_false(cs_statements_failed(&list));
    assert_null(cs_statements_inconclusive(&list));
    cs_statements_free(&list);
}

static cs_status fill(cs_statements *list)
{
    cs_statement *s =
        cs_statements_add(list, "3.1", CS_PRINTED, CS_RELATION_EQUAL, "L = x", "a matrix");
    if (!s) {
        return CS_ERR_MEMORY;
    }
    cs_statement_judge(s, 1, 2, 1e-12);
    cs_status status = cs_statement_assume(s, "A is non-negative", true, NAN);
    if (status == CS_OK) {
        status = cs_statement_detail(s, "trials", json_integer(5));
    }
    if (status == CS_OK) {
        status = cs_statement_counterexample(s, "pair %d: %g", 3, 0.5);
    }
    return status;
}

static void json_and_table_carry_every_field(void **state)
{
    (void)state;
    cs_statements list = {0};
    assert_int_equal(fill(&list), CS_OK);
    json_t *root = cs_statements_json(&list);
    assert_non_null(root);
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
    json_decref(root);

    cs_table table = {0};
    assert_int_equal(cs_statements_table(&list, false, &table), CS_OK);
    assert_true(table.rows == 1);
    assert_string_equal(table.cell[cs_table_column(&table, "verdict")], "FAIL");
    assert_string_equal(table.cell[cs_table_column(&table, "counterexample")], "pair 3: 0.5");
    cs_table_free(&table);
    assert_int_equal(cs_statements_table(&list, true, &table), CS_OK);
    assert_int_equal(cs_table_column(&table, "counterexample"), -1);
    assert_string_equal(table.cell[cs_table_column(&table, "statement")], "L = x");
    cs_table_free(&table);
    cs_statements_free(&list);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    for (int64_t n = 1;; ++n) {
        cs_statements list = {0};
        cs_table table = {0};
        (void)cs_mem_fail_at(n);
        cs_status status = fill(&list);
        if (status == CS_OK) {
            status = cs_statements_table(&list, false, &table);
        }
        int64_t made = cs_mem_fail_at(0);
        cs_table_free(&table);
        cs_statements_free(&list);
        if (made < n) {
            assert_int_equal(status, CS_OK);
            break;
        }
        assert_int_equal(status, CS_ERR_MEMORY);
        assert_true(strlen(cs_reason()) > 0);
        cs_reason_clear();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(verdicts_follow_from_numbers),
        cmocka_unit_test(an_attained_bound_is_inconclusive_and_harmless),
        cmocka_unit_test(a_withheld_statement_has_no_verdict),
        cmocka_unit_test(only_corrected_statements_count),
        cmocka_unit_test(json_and_table_carry_every_field),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
