/* Geometry of next-token prediction: the statements of the built-in example, and inputs on which the
 * two candidate forms agree. */
#include <math.h>
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

/* Without a gap in the support form its directions are not compared, and the rest is: the three
 * classes of the example are two equal singular values, and a cycle has 14. */
TEST(no_gap_in_the_support_form)
{
    enum { N = 15 };
    cs_theorem_report report = {0};
    OK(cs_entry_ntp.run[CS_ON_NOTHING](&(cs_theorem_input){.features = 1}, &report));
    const cs_statement *s = statement_of(&report.statements, "ntp-support", CS_PRINTED);
    assert_true(s->verdict == CS_INCONCLUSIVE && detail_of(s, "support_vectors") == 0);
    assert_true(statement_of(&report.statements, "ntp-balanced", CS_PRINTED)->verdict == CS_PASS);
    assert_true(statement_of(&report.statements, "ntp-order", CS_CORRECTED)->verdict == CS_PASS);
    assert_non_null(strstr(report.note, "ntp-support is undetermined: no gap after the leading"));
    cs_statements_free(&report.statements);
    AUTO_OK(cs_csr, a, cs_csr_init(&a, N, N, N));
    for (int i = 0; i < N; ++i) {
        a.ptr[i + 1] = i + 1;
        a.col[i] = (i + 1) % N;
        a.val[i] = 1;
    }
    const cs_labelled m = {.a = a};
    report = (cs_theorem_report){0};
    OK(cs_entry_ntp.run[CS_ON_MATRIX](&(cs_theorem_input){.matrix = &m, .name = "m"}, &report));
    assert_int_equal(report.statements.count, 2);
    s = statement_of(&report.statements, "ntp-support", CS_PRINTED);
    assert_true(s->verdict == CS_INCONCLUSIVE && isnan(s->lhs) && detail_of(s, "rank") > 0);
    cs_statements_free(&report.statements);
}

/* All tokens are seen in all contexts: the support form is 0, and has no directions. With one token
 * the logits are 0 too. */
TEST(full_support)
{
    enum { N = 4 };
    for (int columns = 1; columns <= 3; columns += 2) {
        AUTO_OK(cs_csr, a, cs_csr_init(&a, N, columns, (int64_t)N * columns));
        for (int e = 0; e < N * columns; ++e) {
            a.ptr[e / columns + 1] = e + 1;
            a.col[e] = e % columns;
            a.val[e] = 1 + e * 3 % 7;
        }
        const cs_labelled m = {.a = a};
        const cs_theorem_input in = {.matrix = &m, .name = "m"};
        cs_theorem_report report = {0};
        OK(cs_entry_ntp.run[CS_ON_MATRIX](&in, &report));
        assert_int_equal(report.statements.count, 2);
        assert_int_equal(statement_of(&report.statements, "ntp-support", CS_PRINTED)->verdict,
                         CS_INCONCLUSIVE);
        assert_int_equal(statement_of(&report.statements, "ntp-balanced", CS_PRINTED)->verdict,
                         columns == 1 ? CS_INCONCLUSIVE : CS_PASS);
        assert_string_equal(report.note,
                            "m: ntp-support is undetermined: the support form is 0 everywhere");
        cs_statements_free(&report.statements);
    }
}

/* Three blocks of 4 contexts and tokens with different probabilities: the leading direction of a - p / V
 * lies among the two equal ones of the support form, so none of them comes before the other. */
TEST(no_order_of_directions_that_are_the_same)
{
    enum { SIZE = 4, N = 3 * SIZE, SEEDS = 4 };
    static const double weight[] = {100, 88, 30};
    AUTO_OK(cs_csr, a, cs_csr_init(&a, N, N, (int64_t)N * SIZE));
    for (int e = 0; e < N * SIZE; ++e) {
        const int block = e / SIZE / SIZE;
        a.ptr[e / SIZE + 1] = e + 1;
        a.col[e] = block * SIZE + e % SIZE;
        a.val[e] = weight[block];
    }
    const cs_labelled m = {.a = a};
    for (uint64_t seed = 0; seed < SEEDS; ++seed) {
        cs_theorem_report report = {0};
        const cs_theorem_input in = {.matrix = &m, .name = "m", .seed = seed};
        OK(cs_entry_ntp.run[CS_ON_MATRIX](&in, &report));
        assert_false(has_statement(&report.statements, "ntp-order", CS_PRINTED));
        assert_false(has_statement(&report.statements, "ntp-order", CS_CORRECTED));
        cs_statements_free(&report.statements);
    }
}

/* Contexts of class c see its tokens, and no others; classes have 6 to 2 contexts and tokens, and the
 * probabilities are almost all of the largest two. Weight decay 1e-2 removes the other classes from the
 * logits, so that the support form has more leading directions than they have: their further vectors
 * are arbitrary, and differ between seeds. */
TEST(vectors_beyond_the_rank)
{
    enum { LARGEST = 6, SMALLEST = 2, N = 20, SEEDS = 4 };
    AUTO_OK(cs_csr, a, cs_csr_init(&a, N, N, N * LARGEST));
    for (int size = LARGEST, first = 0; size >= SMALLEST; first += size--) {
        for (int i = first; i < first + size; ++i) {
            a.ptr[i + 1] = a.ptr[i];
            for (int j = first; j < first + size; ++j) {
                a.col[a.ptr[i + 1]] = j;
                a.val[a.ptr[i + 1]++] = (size > 4 ? 1000 : 1) + (i + 2 * j) % 3;
            }
        }
    }
    const cs_labelled m = {.a = a};
    double left = 0, right = 0, error = 0; /* of the first seed */
    for (uint64_t seed = 0; seed < SEEDS; ++seed) {
        cs_theorem_report report = {0};
        const cs_theorem_input in = {.matrix = &m, .name = "m", .seed = seed};
        OK(cs_entry_ntp.run[CS_ON_MATRIX](&in, &report));
        const cs_statement *s = statement_of(&report.statements, "ntp-support", CS_PRINTED);
        assert_true(s->verdict == CS_PASS && detail_of(s, "support_vectors") == 4);
        assert_true(detail_of(s, "rank") == 2 && detail_of(s, "vectors") == 2);
        left = seed ? left : s->lhs;
        right = seed ? right : s->rhs;
        error = seed ? error : s->error;
        assert_true(error < 0.01 && s->error < 0.01);
        assert_near(s->lhs, left, error + s->error);
        assert_near(s->rhs, right, error + s->error);
        cs_statements_free(&report.statements);
    }
}

/* Two classes of 4 contexts and tokens and one of 6, with the probabilities that make the leading two
 * singular values of the logits equal at weight decay 1e-2: no single direction can be compared. */
TEST(no_gap_in_the_logits)
{
    enum { N = 14 };
    AUTO_OK(cs_csr, a, cs_csr_init(&a, N, N, 68));
    for (int i = 0; i < N; ++i) {
        const int first = i < 8 ? i / 4 * 4 : 8, end = i < 8 ? first + 4 : N;
        a.ptr[i + 1] = a.ptr[i];
        for (int j = first; j < end; ++j) {
            a.col[a.ptr[i + 1]] = j;
            a.val[a.ptr[i + 1]++] = i < 8 ? 20 : 7;
        }
    }
    const cs_labelled m = {.a = a};
    const cs_theorem_input in = {.matrix = &m, .name = "m", .features = 1};
    cs_theorem_report report = {0};
    OK(cs_entry_ntp.run[CS_ON_MATRIX](&in, &report));
    const cs_statement *s = statement_of(&report.statements, "ntp-support", CS_PRINTED);
    assert_true(s->verdict == CS_INCONCLUSIVE && detail_of(s, "support_vectors") == 1);
    assert_true(detail_of(s, "rank") == 2 && detail_of(s, "vectors") == 0);
    cs_statements_free(&report.statements);
}

/* Two contexts that see all of 60 tokens except one each: the least logits at weight decay 1e-2 are 0,
 * since no singular value of a - p / V exceeds .0084. */
TEST(no_direction_of_zero_logits)
{
    enum { V = 60 };
    AUTO_OK(cs_csr, a, cs_csr_init(&a, 2, V, 2 * V - 2));
    for (int i = 0; i < 2; ++i) {
        a.ptr[i + 1] = a.ptr[i];
        for (int j = 0; j < V; ++j) {
            if (j != i) {
                a.col[a.ptr[i + 1]] = j;
                a.val[a.ptr[i + 1]++] = 1;
            }
        }
    }
    const cs_labelled m = {.a = a};
    cs_theorem_report report = {0};
    OK(cs_entry_ntp.run[CS_ON_MATRIX](&(cs_theorem_input){.matrix = &m, .name = "m"}, &report));
    const cs_statement *s = statement_of(&report.statements, "ntp-support", CS_PRINTED);
    assert_true(s->verdict == CS_INCONCLUSIVE && detail_of(s, "support_vectors") == 2);
    assert_true(detail_of(s, "rank") == 0 && detail_of(s, "vectors") == 0);
    assert_true(isnan(s->lhs) && isnan(s->rhs));
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
    assert_non_null(strstr(cs_reason(), "about 0.014 GB and up to 0.59 minutes"));
    assert_string_equal(report.note, "");
    cs_statements_free(&report.statements);
}
