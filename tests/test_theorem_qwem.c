/* QWEM: the gradient flow against its closed forms, on matrices with known eigenvectors, and the
 * statements of the built-in example. */
#include "analysis/theorems/qwem_flow.h"
#include "analysis/theorems/registry.h"
#include "base/vector_ops.h"
#include "statement_support.h"

enum { N = 5, R = 3 };

/* M = Q diag(lambda) Q^T with the first R columns of a random orthogonal Q: two values 0, one < 0. */
typedef struct {
    cs_pool pool;
    cs_dense q, m, vectors, start;
    cs_qwem_problem problem;
} fixture;

static const double lambda[R] = {3, 1.5, -40};

static void fixture_of(int64_t width, fixture *f)
{
    *f = (fixture){0};
    f->q = cs_dense_in(&f->pool, N, N);
    f->m = cs_dense_in(&f->pool, N, N);
    f->start = cs_dense_in(&f->pool, N, width);
    OK(f->pool.status);
    cs_rng rng = cs_rng_at(5, CS_STREAM_TEST, 0);
    for (int i = 0; i < N * N; ++i) {
        f->q.data[i] = cs_rng_normal(&rng);
    }
    OK(cs_dense_orthonormalise(&f->q));
    for (int i = 0; i < N; ++i) {
        for (int j = 0; j < N; ++j) {
            for (int k = 0; k < R; ++k) {
                f->m.data[i + j * N] += lambda[k] * f->q.data[i + k * N] * f->q.data[j + k * N];
            }
        }
    }
    for (int64_t i = 0; i < N * width; ++i) {
        f->start.data[i] = 0.02 * cs_rng_normal(&rng);
    }
    f->vectors = cs_dense_columns(&f->q, 0, R);
    f->problem = (cs_qwem_problem){&f->m, &f->vectors, lambda, width, 24, 1.0 / 3};
}

/* The range of a random start is found, X converges, the negative mode and those of 0 are not learned. */
TEST(flow_has_the_closed_form)
{
    for (int64_t width = 1; width <= 2; ++width) {
        fixture f;
        fixture_of(width, &f);
        cs_qwem_path flow = cs_qwem_path_in(&f.pool, &f.problem);
        cs_qwem_path form = cs_qwem_path_in(&f.pool, &f.problem);
        OK(f.pool.status);
        OK(cs_qwem_flow(&f.problem, &f.start, 400, &flow));
        OK(cs_qwem_solution(&f.problem, &f.start, &form));
        assert_each(i, 0, 25 * width, fabs(flow.share[i] - form.share[i]) < 1e-8);
        const double rate = lambda[width - 1] - (width == 1 ? lambda[1] : 0);
        assert_each(t, 1, 25,
                    flow.tangent[t] <=
                        flow.tangent[0] * exp(-rate * (double)t / 3) * (1 + 1e-6) + 1e-9);
        assert_true(flow.distance < 1e-3 && flow.share[width - 1] < 0.01);
        cs_pool_free(&f.pool);
    }
}

/* Eigenvalues of X from an aligned start are sigmoids, which pass their half at t_k. */
TEST(aligned_start_gives_sigmoids)
{
    fixture f;
    fixture_of(2, &f);
    const double s = 1e-3;
    for (int i = 0; i < 2 * N; ++i) {
        f.start.data[i] = sqrt(s) * f.q.data[i];
    }
    cs_qwem_path flow = cs_qwem_path_in(&f.pool, &f.problem);
    OK(f.pool.status);
    OK(cs_qwem_flow(&f.problem, &f.start, 400, &flow));
    assert_each(i, 0, 50,
                fabs(flow.share[i] - cs_qwem_sigmoid(lambda[i % 2], s, (double)(i / 2) / 3)) <
                    1e-8);
    for (int k = 0; k < 2; ++k) {
        assert_near(cs_qwem_sigmoid(lambda[k], s, cs_qwem_half_time(lambda[k], s)), lambda[k] / 2,
                    1e-12);
    }
    cs_pool_free(&f.pool);
}

/* Above CS_QWEM_ORDERED s a larger eigenvalue is learned earlier; well below it is not. */
TEST(half_times_fall_above_the_threshold)
{
    for (double x = CS_QWEM_ORDERED; x < 1e6; x *= 1.01) {
        assert_true(cs_qwem_half_time(1.01 * x, 1) < cs_qwem_half_time(x, 1));
    }
    assert_true(cs_qwem_half_time(4.5, 1) > cs_qwem_half_time(4.4, 1));
}

TEST(example_holds)
{
    cs_theorem_report report = {0};
    OK(cs_entry_qwem.run[CS_ON_NOTHING](&(cs_theorem_input){0}, &report));
    assert_int_equal(report.statements.count, 6);
    assert_each(i, 0, 6, report.statements.item[i].verdict == CS_PASS);
    const cs_statement *s = statement_of(&report.statements, "qwem-order", CS_PRINTED);
    assert_near(detail_of(s, "ordered_start"), 1e-4, 1e-18);
    assert_true(s->lhs > 0.5 && s->rhs < 3);
    cs_statements_free(&report.statements);
}

/* Equal eigenvalues: M* of three tokens without a common neighbour is 3, 3 and -3. */
TEST(equal_eigenvalues)
{
    int64_t ptr[] = {0, 1, 2, 3};
    int32_t col[] = {0, 1, 2};
    double val[] = {1, 1, 1};
    const cs_labelled m = {.a = {3, 3, ptr, col, val, true, false}};
    cs_theorem_report report = {0};
    OK(cs_entry_qwem.run[CS_ON_MATRIX](&(cs_theorem_input){.matrix = &m, .name = "m"}, &report));
    assert_int_equal(report.statements.count, 4); /* there is no order */
    assert_each(i, 0, 4,
                report.statements.item[i].verdict == CS_PASS &&
                    isfinite(report.statements.item[i].error));
    cs_statements_free(&report.statements);
}
