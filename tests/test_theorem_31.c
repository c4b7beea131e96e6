/* Theorem 3.1: the corrected identities hold on random matrices of many shapes, the printed ones
 * are found false, bad matrices are refused. */
#include "analysis/theorems/theorems.h"
#include "cooc_matrices.h"
#include "io_support.h"
#include "model_support.h"
#include "statement_support.h"

/* A random non-negative matrix; density in (0, 1]. */
static void random_matrix(uint64_t seed, int64_t rows, int64_t cols, double density, cs_csr *out)
{
    cs_rng rng = cs_rng_at(seed, CS_STREAM_TEST, 0);
    AUTO_OK(cs_dense, d, cs_dense_init(&d, rows, cols));
    for (int64_t j = 0; j < cols; ++j) {
        for (int64_t i = 0; i < rows; ++i) {
            bool keep = cs_rng_uniform(&rng) < density || (i == 0 && j == 0);
            d.data[i + j * d.ld] = keep ? exp(3 * cs_rng_uniform(&rng)) : 0;
        }
    }
    *out = csr_of(&d);
}

TEST(corrected_holds_printed_fails)
{
    for (uint64_t n = 0; n < 60; ++n) {
        cs_rng rng = cs_rng_at(7, CS_STREAM_TEST, n);
        int64_t rows = 1 + cs_rng_below(&rng, 40), cols = 1 + cs_rng_below(&rng, 40);
        CS_AUTO(cs_csr) a = {0};
        random_matrix(n + 100, rows, cols, 0.05 + 0.95 * cs_rng_uniform(&rng), &a);
        cs_theorem_input o = {.features = 1 + cs_rng_below(&rng, 6), .seed = n, .threads = 2};
        AUTO_OK(cs_statements, list, cs_theorem_31(&a, "random", &o, &list));
        for (int64_t i = 0; i < list.count; ++i) {
            const cs_statement *s = &list.item[i];
            if (s->form == CS_CORRECTED && s->verdict != CS_PASS) {
                fail_msg("case %d (%d x %d): %s %s, %.17g %.17g error %g", (int)n, (int)rows,
                         (int)cols, s->id, cs_verdict_name(s->verdict), s->lhs, s->rhs, s->error);
            }
            /* The bound on the numerical error is of use only when it is small. */
            assert_true(s->error < 1e-6 * (1 + fabs(s->lhs)));
        }
        assert_int_equal(statement_of(&list, "3.1", CS_PRINTED)->verdict, CS_FAIL);
        assert_non_null(statement_of(&list, "3.1", CS_PRINTED)->counterexample);
        assert_int_equal(statement_of(&list, "3.1-eq7-factor", CS_PRINTED)->verdict, CS_FAIL);
        if (rows > 1) { /* one context has P_C = 1: dividing is multiplying */
            assert_int_equal(statement_of(&list, "3.1-eq7", CS_PRINTED)->verdict, CS_FAIL);
        }
    }
}

/* The optimal factors come from the chosen solver, and its failure is reported. */
TEST(solver_options_reach_the_optimum)
{
    CS_AUTO(cs_csr) a = {0};
    random_matrix(3, 150, 120, 0.3, &a);
    cs_spectrum_options so = {
        .solver = CS_SOLVER_ARPACK, .no_reduction = true, .max_iterations = 1, .seed = 1};
    cs_theorem_input o = {.features = 40, .trials = 2, .seed = 1, .spectrum = &so};
    for (int i = 0; i < 2; ++i) {
        AUTO_OK(cs_statements, list, cs_theorem_31(&a, "random", &o, &list));
        const cs_verdict verdict = i == 0 ? CS_INCONCLUSIVE : CS_PASS;
        assert_int_equal(statement_of(&list, "3.1-optimum", CS_CORRECTED)->verdict, verdict);
        assert_int_equal(statement_of(&list, "3.1-minimum", CS_CORRECTED)->verdict, verdict);
        assert_int_equal(statement_of(&list, "3.1", CS_CORRECTED)->verdict, CS_PASS);
        assert_true((cs_statements_inconclusive(&list) != NULL) == (i == 0));
        so.max_iterations = 0;
    }
    so.solver = CS_SOLVER_ARPACK; /* all triplets are more than ARPACK finds */
    o.features = 120;
    CS_AUTO(cs_statements) list = {0};
    assert_fails(cs_theorem_31(&a, "random", &o, &list), CS_ERR_USAGE, "ARPACK");
}

/* On a 1 x 1 matrix everything is known: Abar = 1, L_1 = -fw + (fw)^2,
 * ||1 - fw||^2 = 1 - 2 fw + (fw)^2, so the printed constant is fw - 1. */
TEST(one_by_one_by_hand)
{
    CS_AUTO(cs_csr) a = {0};
    random_matrix(1, 1, 1, 1, &a);
    cs_theorem_input o = {.features = 1, .trials = 2, .seed = 5};
    AUTO_OK(cs_statements, list, cs_theorem_31(&a, "1 x 1", &o, &list));
    double c[2];
    for (uint64_t i = 0; i < 2; ++i) {
        cs_rng f = cs_rng_at(5, CS_STREAM_AUDIT, 2 * i),
               w = cs_rng_at(5, CS_STREAM_AUDIT, 2 * i + 1);
        c[i] = cs_rng_normal(&f) * cs_rng_normal(&w) - 1;
    }
    const cs_statement *s = statement_of(&list, "3.1", CS_PRINTED);
    assert_true(fabs(s->lhs - fmax(c[0], c[1])) < 1e-14);
    assert_true(fabs(s->rhs - fmin(c[0], c[1])) < 1e-14);
    assert_true(fabs(statement_of(&list, "3.1-optimum", CS_CORRECTED)->lhs + 1) < 1e-14);
}

/* Empty rows and columns have no probability and change nothing. */
TEST(empty_rows_and_columns_do_not_matter)
{
    const int64_t row[] = {1, 1, 3}, col[] = {0, 4, 4};
    const double val[] = {1, 2, 5};
    AUTO_OK(cs_csr, a, cs_csr_from_triplets(5, 6, 3, row, col, val, &a));
    cs_theorem_input o = {.seed = 1};
    AUTO_OK(cs_statements, list, cs_theorem_31(&a, "holes", &o, &list));
    assert_false(cs_statements_failed(&list));
    assert_null(cs_statements_inconclusive(&list));
}

/* The same bits for any number of threads. */
TEST(threads_do_not_matter)
{
    CS_AUTO(cs_csr) a = {0};
    random_matrix(3, 300, 50, 0.2, &a);
    cs_statements list[2] = {{0}, {0}};
    for (int i = 0; i < 2; ++i) {
        cs_theorem_input o = {.seed = 9, .threads = 1 + 3 * i};
        OK(cs_theorem_31(&a, "x", &o, &list[i]));
    }
    const cs_statement *one = statement_of(&list[0], "3.1", CS_CORRECTED);
    const cs_statement *four = statement_of(&list[1], "3.1", CS_CORRECTED);
    assert_true(one->lhs == four->lhs && one->rhs == four->rhs);
    cs_statements_free(&list[0]);
    cs_statements_free(&list[1]);
}

/* Above 2^29 entries the norm comes from nonzeros and a Gram matrix, and the statement says so. */
TEST(large_matrices)
{
    enum { ROWS = 30000, COLS = 20000 };
    int64_t *row = test_zeros(ROWS, sizeof *row), *col = test_zeros(ROWS, sizeof *col);
    double *val = test_zeros(ROWS, sizeof *val);
    cs_rng rng = cs_rng_at(5, CS_STREAM_TEST, 0);
    for (int64_t i = 0; i < ROWS; ++i) {
        row[i] = i;
        col[i] = i % COLS;
        val[i] = 1 + cs_rng_uniform(&rng);
    }
    AUTO_OK(cs_csr, a, cs_csr_from_triplets(ROWS, COLS, ROWS, row, col, val, &a));
    cs_theorem_input o = {.trials = 2, .seed = 1};
    AUTO_OK(cs_statements, list, cs_theorem_31(&a, "large", &o, &list));
    assert_false(cs_statements_failed(&list));
    const cs_statement *s = statement_of(&list, "3.1", CS_PRINTED);
    assert_int_equal(s->verdict, CS_FAIL);
    assert_string_equal(json_string_value(json_object_get(s->details, "norm")), "nonzeros + Gram");
    assert_non_null(json_object_get(s->details, "eq7"));
}

TEST(bad_matrices_are_refused)
{
    const int64_t row[] = {0, 1}, col[] = {0, 1};
    const double negative[] = {1, -2};
    CS_AUTO(cs_statements) list = {0};
    cs_theorem_input o = {.seed = 1};
    AUTO_OK(cs_csr, a, cs_csr_from_triplets(2, 2, 2, row, col, negative, &a));
    assert_fails(cs_theorem_31(&a, "x", &o, &list), CS_ERR_INPUT, "-2");
    cs_csr_free(&a);
    OK(cs_csr_from_triplets(2, 2, 0, row, col, negative, &a));
    assert_fails(cs_theorem_31(&a, "x", &o, &list), CS_ERR_INPUT, "no mass (2 x 2)");
}

static cs_csr held;

static cs_status audit_once(const char *path)
{
    (void)path;
    CS_AUTO(cs_statements) list = {0};
    const cs_theorem_input o = {.features = 2, .trials = 2, .seed = 1, .threads = 1};
    cs_status status = cs_theorem_31(&held, "x", &o, &list);
    return status;
}

TEST(every_allocation_may_fail)
{
    random_matrix(4, 6, 5, 0.6, &held);
    fail_each_allocation(audit_once, "");
    cs_csr_free(&held);
}
