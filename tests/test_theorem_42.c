/* Theorem 4.2: the corrected statements hold on toys of many sizes and objectives, the printed ones
 * get the verdict that the mathematics gives, values are those of theorem-4-2.md. */
#include "analysis/theorems/theorem_42_private.h"
#include "model_support.h"
#include "statement_support.h"

static cs_toy toy_of(int64_t r, int64_t s, int64_t t, int64_t m)
{
    cs_toy toy = {.classes = r, .length = s, .tokens = t};
    toy.objective = cs_objective_default(CS_OBJ_MASKED);
    toy.objective.unmasked_lo = toy.objective.unmasked_hi = m;
    return toy;
}

static void expect(const cs_statements *list, const char *id, cs_statement_form form,
                   cs_verdict verdict)
{
    const cs_statement *s = statement_of(list, id, form);
    if (s->verdict != verdict) {
        fail_msg("%s: %s, wanted %s (%.17g against %.17g, error %g)", id,
                 cs_verdict_name(s->verdict), cs_verdict_name(verdict), s->lhs, s->rhs, s->error);
    }
}

/* `formulas`: sides may come from a formula each, which then agree and verify nothing. */
static void corrected_hold(const cs_statements *list, bool formulas)
{
    for (int64_t i = 0; i < list->count; ++i) {
        const cs_statement *s = &list->item[i];
        const bool same =
            formulas && s->verdict == CS_UNSPECIFIED && fabs(s->lhs - s->rhs) <= s->error;
        if (s->form == CS_CORRECTED && s->verdict != CS_PASS && !same) {
            fail_msg("%s on %s: %s, %.17g against %.17g, error %g", s->id, s->input,
                     cs_verdict_name(s->verdict), s->lhs, s->rhs, s->error);
        }
        assert_true(s->error < 1e-9);
    }
}

TEST(the_default_toy)
{
    cs_toy toy = toy_of(3, 4, 2, 2);
    CS_AUTO(cs_result) *result = cs_result_new();
    AUTO_OK(cs_statements, list, cs_theorem_42(&toy, &list, rows_of(result)));
    corrected_hold(&list, false);
    assert_true(rows_in(result) > 0);
    expect(&list, "4.2-ar-ones-none", CS_PRINTED, CS_FAIL);
    expect(&list, "4.2-ar-ones-shared", CS_PRINTED, CS_FAIL);
    expect(&list, "4.2-ar-ones-class", CS_PRINTED, CS_PASS);
    assert_true(statement_of(&list, "4.2-ar-ones-none", CS_PRINTED)->lhs == 9);
    assert_true(statement_of(&list, "4.2-ar-ones-shared", CS_PRINTED)->lhs == 10);
    expect(&list, "4.2-masked", CS_PRINTED, CS_PASS);
    expect(&list, "4.2-strict-none", CS_PRINTED, CS_FAIL);
    expect(&list, "4.2-strict-shared", CS_PRINTED, CS_FAIL);
    expect(&list, "4.2-strict-class", CS_PRINTED, CS_PASS);
    expect(&list, "4.2-ratio", CS_PRINTED, CS_PASS);
    expect(&list, "4.2-sets-ar", CS_PRINTED, CS_FAIL);
    expect(&list, "4.2-sets-masked", CS_PRINTED, CS_FAIL);
    expect(&list, "4.2-masked-given", CS_PRINTED, CS_FAIL);
    expect(&list, "4.2-own-known", CS_CORRECTED, CS_PASS);
    expect(&list, "4.2-diffusion", CS_CORRECTED, CS_PASS);
    expect(&list, "4.2-own-floor", CS_CORRECTED, CS_PASS); /* 4 / 2 = 2, met by masks */
    assert_int_equal(statement_of(&list, "4.2-own-floor", CS_CORRECTED)->relation,
                     CS_RELATION_EQUAL);
    assert_true(fabs(statement_of(&list, "4.2-own-floor", CS_CORRECTED)->lhs - 2) < 1e-14);
    assert_int_equal(statement_of(&list, "4.2-group-ar-floor", CS_CORRECTED)->relation,
                     CS_RELATION_LESS);
    expect(&list, "4.2-proof-ar-rows", CS_PRINTED, CS_PASS);
    expect(&list, "4.2-proof-ar-columns", CS_PRINTED, CS_FAIL);
    expect(&list, "4.2-proof-ar-entry", CS_PRINTED, CS_FAIL);
    expect(&list, "4.2-proof-ar-normalised", CS_PRINTED, CS_PASS);
    expect(&list, "4.2-proof-ar-block", CS_PRINTED, CS_FAIL);
    expect(&list, "4.2-proof-rows", CS_PRINTED, CS_PASS);
    expect(&list, "4.2-proof-columns", CS_PRINTED, CS_PASS);
    expect(&list, "4.2-proof-zeros", CS_PRINTED, CS_FAIL);
    expect(&list, "4.2-proof-entry", CS_PRINTED, CS_PASS);
    expect(&list, "4.2-proof-gram-same", CS_PRINTED, CS_PASS);
    expect(&list, "4.2-proof-gram-other", CS_PRINTED, CS_PASS);
    expect(&list, "4.2-proof-gram-row", CS_PRINTED, CS_FAIL);
    expect(&list, "4.2-proof-gram-classes", CS_PRINTED, CS_PASS);
    /* LA A.3: s blocks a class, the last of 1 / sqrt(T^{s+1}); 12 and 2^-2.5 against 9 and 2^-2. */
    expect(&list, "4.2-proof-ar-blocks", CS_PRINTED, CS_FAIL);
    assert_true(statement_of(&list, "4.2-proof-ar-blocks", CS_PRINTED)->rhs == 12);
    expect(&list, "4.2-proof-ar-blocks", CS_CORRECTED, CS_PASS);
    assert_true(statement_of(&list, "4.2-proof-ar-blocks", CS_CORRECTED)->lhs == 9);
    expect(&list, "4.2-proof-ar-last", CS_PRINTED, CS_FAIL);
    assert_true(fabs(statement_of(&list, "4.2-proof-ar-last", CS_PRINTED)->lhs - 0.25) < 1e-15);
    expect(&list, "4.2-proof-ar-block-rows", CS_PRINTED, CS_PASS);
    expect(&list, "4.2-lemma-first", CS_PRINTED, CS_PASS);
    expect(&list, "4.2-lemma-rest", CS_PRINTED, CS_PASS);
    expect(&list, "4.2-lemma-zeros", CS_PRINTED, CS_FAIL);
    /* 4.62 printed, 0.144 true. */
    const cs_statement *s = statement_of(&list, "4.2-proof-normalised", CS_PRINTED);
    assert_int_equal(s->verdict, CS_FAIL);
    assert_true(fabs(s->rhs - sqrt(192) / 3) < 1e-12 && fabs(s->lhs - 1 / sqrt(48)) < 1e-12);
}

/* Too large to be enumerated: where both sides are the same formula nothing is verified, neither by
 * itself nor by the printed one; where a matrix was solved the verdict stays. */
TEST(one_formula_verifies_nothing)
{
    cs_toy toy = toy_of(100, 20, 50, 10);
    AUTO_OK(cs_statements, list, cs_theorem_42(&toy, &list, NULL));
    static const char *const id[] = {"4.2-masked", "4.2-masked-given", "4.2-permuted-ar-given",
                                     "4.2-permuted-ar-closed", "4.2-diverse-ar-given"};
    for (size_t i = 0; i < sizeof id / sizeof *id; ++i) {
        expect(&list, id[i], CS_CORRECTED, CS_UNSPECIFIED);
        assert_non_null(statement_of(&list, id[i], CS_CORRECTED)->assumptions);
    }
    expect(&list, "4.2-ar-ones-none", CS_CORRECTED, CS_PASS);
    expect(&list, "4.2-ar-ones-none", CS_PRINTED, CS_FAIL);
    expect(&list, "4.2-strict-none", CS_CORRECTED, CS_PASS);
}

/* Two formulas can differ. Given: rs ones by ours, sqrt(m / ((s-m)(s-1))) from j = r + 1 on by the
 * paper's, which is 1 at m = s - 1 alone. AR beyond the reduction's length: r (s-1) against rs. */
TEST(formulas_that_differ_fail)
{
    for (int64_t m = 18; m <= 19; ++m) {
        cs_toy toy = toy_of(100, 20, 50, m);
        AUTO_OK(cs_statements, list, cs_theorem_42(&toy, &list, NULL));
        const cs_statement *s = statement_of(&list, "4.2-masked-given", CS_PRINTED);
        assert_int_equal(s->verdict, m == 19 ? CS_PASS : CS_FAIL);
        assert_true((s->counterexample != NULL) == (m < 19) && s->lhs == 1);
        assert_true(fabs(s->rhs - sqrt((double)m / (19 * (20 - (double)m)))) < 1e-12);
        assert_true(m == 19 || detail_of(s, "j") == 101);
    }
    cs_toy toy = toy_of(2, 2001, 3, 1000);
    toy.objective = cs_objective_default(CS_OBJ_AR);
    CS_AUTO(cs_statements) list = {0};
    AUTO_OK(cs_42_case, c, cs_42_case_of(&toy, &c));
    assert_true(c.best->formula);
    cs_42_state_ones(&c, "printed", CS_PRINTED, "rs ones", 4002, &list);
    cs_42_state_ones(&c, "corrected", CS_CORRECTED, "r (s-1) ones", 4000, &list);
    expect(&list, "printed", CS_PRINTED, CS_FAIL);
    expect(&list, "corrected", CS_CORRECTED, CS_UNSPECIFIED);
}

/* objectives.md: s = 3, t = 2: second sigma 0.5 against 0.577. */
TEST(group_and_diverse_differ)
{
    cs_toy toy = toy_of(2, 3, 2, 1);
    AUTO_OK(cs_statements, list, cs_theorem_42(&toy, &list, NULL));
    const cs_statement *s = statement_of(&list, "5.1-equivalence", CS_PRINTED);
    assert_int_equal(s->verdict, CS_FAIL);
    assert_non_null(s->counterexample);
    assert_true(fabs(s->lhs - 0.5) < 1e-12 && fabs(s->rhs - 1 / sqrt(3)) < 1e-12);
    cs_statements_free(&list);

    toy = toy_of(2, 2, 2, 1); /* nothing to differ in at s = 2 */
    OK(cs_theorem_42(&toy, &list, NULL));
    expect(&list, "5.1-equivalence", CS_PRINTED, CS_PASS);
    corrected_hold(&list, false);
}

TEST(corrected_statements_hold_on_many_toys)
{
    for (int64_t r = 1; r <= 3; ++r) {
        for (int64_t s = 2; s <= 5; ++s) {
            for (int64_t t = 1; t <= 2; ++t) {
                cs_toy toy = toy_of(r, s, t, 1 + (r + s + t) % (s - 1));
                AUTO_OK(cs_statements, list, cs_theorem_42(&toy, &list, NULL));
                corrected_hold(&list, false);
            }
        }
    }
}

/* Objectives of the caller's own, prefixes included. */
TEST(own_objectives)
{
    for (int prefix = CS_PREFIX_NONE; prefix <= CS_PREFIX_CLASS; ++prefix) {
        cs_toy toy = toy_of(2, 5, 2, 2);
        toy.objective = cs_objective_default(CS_OBJ_GVP);
        toy.objective.segmentation = CS_SEGMENT_RANDOM;
        toy.objective.groups = 2;
        toy.objective.empty_prefix = (cs_empty_prefix)prefix;
        AUTO_OK(cs_statements, list, cs_theorem_42(&toy, &list, NULL));
        corrected_hold(&list, false);
        (void)statement_of(&list, "4.2-own-reduction", CS_CORRECTED);
    }
}

/* A model whose matrix has 10^12 rows: reduction against closed form. */
TEST(a_large_toy)
{
    cs_toy toy = toy_of(100000, 12, 5000, 6);
    AUTO_OK(cs_statements, list, cs_theorem_42(&toy, &list, NULL));
    corrected_hold(&list, true);
    assert_true(statement_of(&list, "4.2-ar-ones-none", CS_PRINTED)->lhs == 1100000);
    (void)statement_of(&list, "4.2-diverse-ar-closed", CS_CORRECTED);
}

/* AR has r (s-1) ones, one more with a shared empty prefix: at the next j it has 0, masked more. */
TEST(the_printed_comparison_fails_where_ar_has_ended)
{
    for (int64_t r = 1; r <= 3; ++r) {
        for (int64_t s = 3; s <= 5; ++s) {
            for (int64_t m = 1; m < s; ++m) {
                const double rs1 = (double)(r * (s - 1));
                const double second = sqrt((double)m / (double)((s - m) * (s - 1)));
                const struct {
                    const char *id;
                    double ones;
                } prefix[] = {{"4.2-strict-none", rs1},
                              {"4.2-strict-shared", rs1 + 1},
                              {"4.2-strict-class", rs1 + (double)r}};
                cs_toy toy = toy_of(r, s, 2, m);
                AUTO_OK(cs_statements, list, cs_theorem_42(&toy, &list, NULL));
                for (size_t i = 0; s - m > 1 && i < 3; ++i) {
                    const cs_statement *p = statement_of(&list, prefix[i].id, CS_PRINTED);
                    const bool fails = prefix[i].ones < (double)(r * s);
                    assert_int_equal(p->verdict, fails ? CS_FAIL : CS_PASS);
                    assert_true((p->counterexample != NULL) == fails);
                    assert_true(fabs(p->lhs - second) < 1e-12);
                    assert_true(fabs(p->rhs - (fails ? 0 : 1)) < 1e-12);
                    assert_true(!fails || detail_of(p, "j") == prefix[i].ones + 1);
                    p = statement_of(&list, prefix[i].id, CS_CORRECTED);
                    assert_true(p->verdict == CS_PASS && fabs(p->rhs - 1) < 1e-12);
                }
                for (int64_t i = 0; s - m == 1 && i < list.count; ++i) {
                    assert_false(strncmp(list.item[i].id, "4.2-strict-none", 15) == 0);
                }
            }
        }
    }
}

/* r (T - T^s) / (1 - T) is 0/0 at T = 1: no side, no verdict; the sum has one. */
TEST(one_token_leaves_the_printed_rows_undefined)
{
    cs_toy toy = toy_of(2, 4, 1, 2);
    AUTO_OK(cs_statements, list, cs_theorem_42(&toy, &list, NULL));
    const cs_statement *s = statement_of(&list, "4.2-proof-ar-rows", CS_PRINTED);
    assert_true(s->verdict == CS_INCONCLUSIVE && isnan(s->rhs) && s->lhs == 6);
    assert_non_null(strstr(s->text, "0/0"));
    s = statement_of(&list, "4.2-proof-ar-rows", CS_CORRECTED);
    assert_true(s->verdict == CS_PASS && s->rhs == 6);
}

/* The sides of a proof line are those of the entry that is farthest off: the printed block of
 * length s - 1, T^3 columns where there are T. */
TEST(proof_lines_look_at_every_block)
{
    cs_toy toy = toy_of(2, 4, 3, 1);
    AUTO_OK(cs_statements, list, cs_theorem_42(&toy, &list, NULL));
    const cs_statement *s = statement_of(&list, "4.2-proof-ar-block", CS_PRINTED);
    assert_true(s->verdict == CS_FAIL && s->lhs == 3 && s->rhs == 27);
    expect(&list, "4.2-proof-ar-entry", CS_CORRECTED, CS_PASS);
    expect(&list, "4.2-proof-ar-normalised", CS_PRINTED, CS_PASS);
    cs_statements_free(&list);
    toy = toy_of(2, 4, 2, 3); /* one masked token: no two positions meet, all those entries are 0 */
    OK(cs_theorem_42(&toy, &list, NULL));
    s = statement_of(&list, "4.2-proof-gram-other", CS_PRINTED);
    assert_true(s->verdict == CS_PASS && s->lhs == 0 && s->rhs == 0);
    expect(&list, "4.2-proof-gram-classes", CS_PRINTED, CS_PASS);
}

/* A long sequence is sampled, and its input says so. */
TEST(sampled_ratios_say_so)
{
    cs_toy toy = toy_of(2, 100, 2, 50);
    AUTO_OK(cs_statements, list, cs_theorem_42(&toy, &list, NULL));
    assert_non_null(
        strstr(statement_of(&list, "4.2-ratio", CS_PRINTED)->input, "m = 1..99 in steps of 2"));
    cs_statements_free(&list);
    toy = toy_of(2, 5, 2, 2);
    OK(cs_theorem_42(&toy, &list, NULL));
    assert_null(strstr(statement_of(&list, "4.2-ratio", CS_PRINTED)->input, "steps"));
}

TEST(spectra_are_compared_by_multiplicity)
{
    double x[] = {1, 0.5}, y[] = {1, 0.5, 0.25};
    int64_t a[] = {2, 3}, b[] = {2, 2, 2};
    cs_toy_spectrum one = {.values = 2, .sigma = x, .multiplicity = a};
    cs_toy_spectrum two = {.values = 3, .sigma = y, .multiplicity = b};
    cs_42_difference d = cs_42_compare(&one, &two);
    assert_true(d.a == 0.5 && d.b == 0.25 && d.index == 5);
    d = cs_42_compare(&two, &one);
    assert_true(d.a == 0.25 && d.b == 0.5 && d.index == 5);
    two.multiplicity[2] = 5; /* j = 5: 0.5 against 0.25, j > 5: 0 against 0.25 */
    d = cs_42_compare(&one, &two);
    assert_true(fabs(d.a - d.b) == 0.25);
    d = cs_42_least_margin(&one, &two, 0, 6);
    assert_true(d.index == 5 && d.a == 0.5 && d.b == 0.25);
    d = cs_42_least_margin(&one, &two, 5, 7);
    assert_true(d.index == 6 && d.a == 0 && d.b == 0.25);
    d = cs_42_least_margin(&two, &one, 4, 6);
    assert_true(d.index == 6 && d.a == 0.25 && d.b == 0);
    d = cs_42_compare(&one, &one);
    assert_true(d.a == d.b);
    assert_true(cs_42_ones(&one) == 2 && cs_42_sigma(&one, 3) == 0.5 && cs_42_sigma(&one, 6) == 0);
}

TEST(bad_toys_are_refused)
{
    CS_AUTO(cs_statements) list = {0};
    cs_toy toy = toy_of(0, 4, 2, 2);
    assert_int_equal(cs_theorem_42(&toy, &list, NULL), CS_ERR_USAGE);
    assert_true(strlen(cs_reason()) > 0);
    cs_reason_clear();
    toy = toy_of(2, 4, 2, 4);
    assert_fails(cs_theorem_42(&toy, &list, NULL), CS_ERR_USAGE, "4");
}

TEST(every_allocation_may_fail)
{
    cs_toy toy = toy_of(1, 2, 1, 1);
    for (int64_t n = 1;; n += 1 + n / 40) { /* every one of the first, then ever sparser */
        CS_AUTO(cs_statements) list = {0};
        cs_result *result = cs_result_new();
        (void)cs_mem_fail_at(n);
        cs_status status = cs_theorem_42(&toy, &list, rows_of(result));
        if (status == CS_OK) status = cs_result_status(result);
        int64_t made = cs_mem_fail_at(0);
        cs_result_free(&result);
        if (made < n) {
            OK(status);
            break;
        }
        assert_int_equal(status, CS_ERR_MEMORY);
        cs_reason_clear();
    }
}
