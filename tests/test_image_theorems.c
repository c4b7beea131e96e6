/* The audits of statements on pictures: feeding back means (LA, Table 8) and queries without a position
 * (GVP 4.1), against sums by hand. */
#include "analysis/theorems/registry.h"
#include "statement_support.h"

static void evaluate(const cs_theorem *entry, uint64_t seed, cs_theorem_report *report)
{
    *report = (cs_theorem_report){0};
    OK(entry->run[CS_ON_NOTHING](&(cs_theorem_input){.seed = seed}, report));
}

/* E(x | values seen) by Bayes over the two classes, value by value; a guess g stands for its two
 * values in the geometric mean, whose log odds are linear. */
static double bayes(const double *seen, int n)
{
    double weight[2] = {0.5, 0.5};
    for (int c = 0; c < 2; ++c) {
        const double one = c ? 0.2 : 0.8;
        for (int i = 0; i < n; ++i) {
            weight[c] *= pow(one, seen[i]) * pow(1 - one, 1 - seen[i]);
        }
    }
    return (0.8 * weight[0] + 0.2 * weight[1]) / (weight[0] + weight[1]);
}

TEST(two_classes_by_hand)
{
    double at_once = 0, fed_back = 0, given = 0;
    for (int class = 0; class < 2; ++class) {
        for (int bits = 0; bits < 64; ++bits) {
            double x[6], p = 0.5, seen[5];
            for (int i = 0; i < 6; ++i) {
                x[i] = bits >> i & 1;
                p *= (x[i] > 0) == (class == 0) ? 0.8 : 0.2;
            }
            memcpy(seen, x, 4 * sizeof *x);
            const double once = bayes(seen, 4);
            seen[4] = once;
            const double back = bayes(seen, 5);
            seen[4] = x[4];
            at_once += p * pow(x[5] - once, 2);
            fed_back += p * pow(x[5] - back, 2);
            given += p * pow(x[5] - bayes(seen, 5), 2);
        }
    }
    cs_theorem_report report;
    evaluate(&cs_entry_feedback, 0, &report);
    const cs_statement *s = statement_of(&report.statements, "feedback", CS_PRINTED);
    assert_true(s->verdict == CS_FAIL && s->counterexample);
    assert_true(fabs(s->lhs - fed_back) < 1e-14 && fabs(s->rhs - at_once) < 1e-14);
    s = statement_of(&report.statements, "feedback", CS_CORRECTED);
    assert_true(s->verdict == CS_PASS && s->lhs < s->rhs);
    s = statement_of(&report.statements, "feedback-truth", CS_CORRECTED);
    assert_true(s->verdict == CS_PASS && fabs(s->lhs - given) < 1e-14);
    cs_statements_free(&report.statements);
}

/* The two sides agree to rounding for every seed, far within what would be a finding. */
TEST(gaussian_fields)
{
    for (uint64_t seed = 0; seed < 4; ++seed) {
        cs_theorem_report report;
        evaluate(&cs_entry_feedback, seed, &report);
        const cs_statement *s = statement_of(&report.statements, "feedback-gaussian", CS_CORRECTED);
        assert_true(s->verdict == CS_PASS && s->rhs > 0.01 && s->rhs < 1);
        assert_true(fabs(s->lhs - s->rhs) < 1e-12 && s->error < 1e-6);
        cs_statements_free(&report.statements);
    }
}

/* gvp of one group of fixed length at 5: two of five are given, and one of three is filled: ln 3.
 * Groups of one: in random order one of 4, 3, 2 and 1 places, along the sequence none is lost. */
TEST(queries_without_a_position)
{
    cs_theorem_report report;
    evaluate(&cs_entry_query_position, 0, &report);
    const cs_statement *s = nth_statement_of(&report.statements, "query-position", CS_PRINTED, 0);
    assert_true(s->verdict == CS_FAIL && fabs(s->lhs - s->rhs - log(3)) < 1e-12);
    s = nth_statement_of(&report.statements, "query-position", CS_CORRECTED, 0);
    assert_true(s->verdict == CS_PASS && fabs(s->rhs - log(3)) < 1e-12);
    s = nth_statement_of(&report.statements, "query-position", CS_CORRECTED, 1);
    assert_true(s->verdict == CS_PASS && s->rhs > 0.1);
    s = nth_statement_of(&report.statements, "query-position", CS_CORRECTED, 2);
    assert_true(s->verdict == CS_PASS && fabs(s->lhs - (log(4) + log(3) + log(2)) / 4) < 1e-12);
    s = nth_statement_of(&report.statements, "query-position", CS_PRINTED, 3);
    assert_true(s->verdict == CS_PASS && fabs(s->lhs - log(2)) < 1e-12);
    cs_statements_free(&report.statements);
}
