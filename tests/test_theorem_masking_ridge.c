/* Masking is a ridge: both sides agree on every example, for any seed; penalties and ratios by hand. */
#include "analysis/theorems/registry.h"
#include "statement_support.h"

TEST(examples)
{
    for (uint64_t seed = 0; seed < 20; ++seed) {
        cs_theorem_report report = {0};
        OK(cs_entry_masking_ridge.run[CS_ON_NOTHING](&(cs_theorem_input){.seed = seed}, &report));
        assert_int_equal(report.statements.count, 4 + 5 + 3 + 1);
        assert_each(i, 0, report.statements.count,
                    report.statements.item[i].verdict == CS_PASS &&
                        report.statements.item[i].form == CS_CORRECTED &&
                        report.statements.item[i].example &&
                        (report.statements.item[i].error < 1e-6));
        const cs_statement *s = statement_of(&report.statements, "masking-ridge", CS_CORRECTED);
        assert_near(detail_of(s, "mask_ratio"), 4.0 / 6, 1e-15);
        assert_near(detail_of(s, "penalty"), 4, 1e-15);
        s = nth_statement_of(&report.statements, "masking-ridge-entries", CS_CORRECTED, 3);
        assert_near(detail_of(s, "penalty"), 3, 1e-12); /* .75 / .25 */
        /* uniform on [0, 1]: E q = 1/2, E q^2 = 1/3 */
        s = nth_statement_of(&report.statements, "masking-ridge-random", CS_CORRECTED, 2);
        assert_near(detail_of(s, "fixed_ratio"), 1.0 / 3, 1e-12);
        s = nth_statement_of(&report.statements, "masking-ridge-random", CS_CORRECTED, 1);
        assert_near(detail_of(s, "fixed_ratio"), 1 - 0.124 / 1.2 / 0.3, 1e-12);
        /* the bound of the limit is not idle */
        s = statement_of(&report.statements, "masking-ridge-limit", CS_CORRECTED);
        assert_true(s->lhs > 1e-6 && s->rhs < 0.05);
        cs_statements_free(&report.statements);
    }
}
