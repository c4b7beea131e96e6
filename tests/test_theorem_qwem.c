/* QWEM: the gradient flow against its closed forms, on matrices with known eigenvectors, and the
 * statements of the built-in example. */
#include "analysis/measures/similarity.h"
#include "analysis/theorems/qwem_train.h"
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

/* A mode that is never half learned comes after all that are, also where it is the first; modes with
 * equal eigenvalues have no order, but both are before the next. */
TEST(order_has_modes_that_are_never_learned)
{
    static const double lambda3[] = {3, 2, 1}, twice[] = {2, 2, 1};
    /* half times, between samples 0..4: infinite, 2.5, infinite; then 3.5, 0.5, 2.5 */
    static const double late[] = {0, .5, 0, 0, .5, 0, 0, .5, 0, 0, 1.5, 0, 0, 1.5, 0};
    static const double swapped[] = {.5,  .5, .25, .5,  1.5, .25, .5, 1.5,
                                     .25, .5, 1.5, .75, 1.5, 1.5, .75};
    static const double none[15] = {0};
    cs_qwem_problem p = {.lambda = lambda3, .width = 3, .samples = 4, .interval = 1};
    cs_qwem_pair pair = cs_qwem_nearest(&p, late);
    assert_true(pair.first == 0 && pair.second == 1 && isinf(pair.before));
    assert_near(pair.after, 2.5, 1e-12);
    pair = cs_qwem_nearest(&p, none);
    assert_true(pair.first == 0 && isinf(pair.before) && isinf(pair.after));
    p.lambda = twice;
    pair = cs_qwem_nearest(&p, swapped);
    assert_true(pair.first == 0 && pair.second == 2);
    assert_near(pair.before, 3.5, 1e-12);
    assert_near(pair.after, 2.5, 1e-12);
    p.width = 2; /* equal ones alone */
    assert_true(cs_qwem_nearest(&p, none).first == -1);
}

/* Half times between samples are near those from samples sixteen times as dense, within their
 * error. */
TEST(half_times_are_within_their_error)
{
    enum { STARTS = 200, FINE = 16 };
    for (int start = 0; start < STARTS; ++start) {
        fixture f;
        fixture_of(2, &f);
        cs_rng rng = cs_rng_at(11, CS_STREAM_TEST, (uint64_t)start);
        for (int i = 0; i < 2 * N; ++i) {
            f.start.data[i] = 0.02 * cs_rng_normal(&rng);
        }
        cs_qwem_problem dense = f.problem;
        dense.samples *= FINE;
        dense.interval /= FINE;
        cs_qwem_path coarse = cs_qwem_path_in(&f.pool, &f.problem);
        cs_qwem_path fine = cs_qwem_path_in(&f.pool, &dense);
        OK(f.pool.status);
        OK(cs_qwem_solution(&f.problem, &f.start, &coarse));
        OK(cs_qwem_solution(&dense, &f.start, &fine));
        for (int k = 0; k < 2; ++k) {
            const double x = cs_qwem_half(&f.problem, coarse.share, k);
            const double y = cs_qwem_half(&dense, fine.share, k);
            const double error = cs_qwem_half_error(&f.problem, coarse.share, k);
            assert_true(error <= f.problem.interval);
            assert_true(isinf(x) || fabs(x - y) <= error + 1e-6);
        }
        cs_pool_free(&f.pool);
    }
}

TEST(example_holds)
{
    cs_theorem_report report = {0};
    OK(cs_entry_qwem.run[CS_ON_NOTHING](&(cs_theorem_input){0}, &report));
    assert_int_equal(report.statements.count, 16);
    /* of training only the two with word2vec's weights have another solution */
    assert_each(i, 0, 16,
                report.statements.item[i].verdict ==
                    (i == 13 || i == 15 ? CS_UNSPECIFIED : CS_PASS));
    assert_true(strstr(report.statements.item[13].text, "counts") &&
                strstr(report.statements.item[15].text, "skip-gram"));
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
    assert_int_equal(report.statements.count, 10); /* there is no order */
    assert_each(i, 0, 4,
                report.statements.item[i].verdict == CS_PASS &&
                    isfinite(report.statements.item[i].error));
    cs_statements_free(&report.statements);
}

/* --- training --------------------------------------------------------------------------------- */

enum { TOKENS = 6 };

/* Counts of pairs whose tokens are unequally frequent, M* and the eigenvectors of both. */
typedef struct {
    cs_pool pool;
    cs_csr a;
    cs_dense m, vectors, of_counts, start;
    double value[TOKENS];
    cs_qwem_problem problem;
} counted;

static double joint(int i, int j)
{
    const double common = 4.0 / (1 + i) / (1 + j);
    return common + (i / 2 == j / 2 ? 0.3 : 0);
}

static void eigenvectors(const cs_dense *m, cs_dense *vectors, double *value)
{
    double ascending[TOKENS];
    cs_dense all = cs_dense_columns(m, 0, TOKENS);
    AUTO_OK(cs_dense, work, cs_dense_init(&work, TOKENS, TOKENS));
    cs_dense_copy(&all, &work);
    OK(cs_dense_eigh(&work, ascending, false));
    for (int k = 0; k < TOKENS; ++k) {
        value[k] = ascending[TOKENS - 1 - k];
        memcpy(vectors->data + k * vectors->ld, work.data + (TOKENS - 1 - k) * work.ld,
               TOKENS * sizeof(double));
    }
}

static void counted_of(int64_t width, counted *c)
{
    double sum = 0, p[TOKENS] = {0}, ignored[TOKENS];
    *c = (counted){0};
    c->m = cs_dense_in(&c->pool, TOKENS, TOKENS);
    c->vectors = cs_dense_in(&c->pool, TOKENS, TOKENS);
    c->of_counts = cs_dense_in(&c->pool, TOKENS, TOKENS);
    c->start = cs_dense_in(&c->pool, TOKENS, width);
    cs_dense d = cs_dense_in(&c->pool, TOKENS, TOKENS);
    OK(c->pool.status);
    OK(cs_csr_init(&c->a, TOKENS, TOKENS, TOKENS * TOKENS));
    for (int e = 0; e < TOKENS * TOKENS; ++e) {
        c->a.col[e] = e % TOKENS;
        c->a.val[e] = joint(e / TOKENS, e % TOKENS);
        c->a.ptr[e / TOKENS + 1] = e + 1;
        p[e / TOKENS] += c->a.val[e];
        sum += c->a.val[e];
    }
    for (int e = 0; e < TOKENS * TOKENS; ++e) {
        const double a = c->a.val[e] / sum;
        const double pp = p[e / TOKENS] * p[e % TOKENS] / sum / sum;
        c->m.data[e] = 2 * (a - pp) / (a + pp);
        d.data[e] = TOKENS * TOKENS * (a - pp);
    }
    eigenvectors(&c->m, &c->vectors, c->value);
    eigenvectors(&d, &c->of_counts, ignored);
    cs_rng rng = cs_rng_at(9, CS_STREAM_TEST, 0);
    for (int64_t i = 0; i < TOKENS * width; ++i) {
        c->start.data[i] = 1e-3 * cs_rng_normal(&rng);
    }
    c->problem = (cs_qwem_problem){.m = &c->m,
                                   .vectors = &c->vectors,
                                   .lambda = c->value,
                                   .width = width,
                                   .samples = 20,
                                   .interval = 1 / c->value[0]};
}

static void counted_free(counted *c)
{
    cs_csr_free(&c->a);
    cs_pool_free(&c->pool);
}

/* The largest angle between W and the first eigenvector. */
static double first_angle(const cs_dense *w, const cs_dense *vectors)
{
    double angle = 0;
    const cs_dense first = cs_dense_columns(vectors, 0, 1);
    OK(cs_principal_angles(w, &first, &angle));
    return angle;
}

/* Steps of all pairs are the flow up to their length; drawn pairs come near. */
TEST(training_with_equal_weights_follows_the_flow)
{
    counted c;
    counted_of(1, &c);
    cs_qwem_path flow = cs_qwem_path_in(&c.pool, &c.problem);
    cs_qwem_path path = cs_qwem_path_in(&c.pool, &c.problem);
    cs_dense end = cs_dense_in(&c.pool, TOKENS, 1);
    OK(c.pool.status);
    OK(cs_qwem_flow(&c.problem, &c.start, 100, &flow));
    const double want = cs_qwem_half(&c.problem, flow.share, 0);
    for (int t = CS_QWEM_FULL; t <= CS_QWEM_UNIFORM; ++t) {
        const cs_qwem_recipe recipe = {.a = &c.a, .training = (cs_qwem_training)t, .seed = 1};
        const double slack = t == CS_QWEM_FULL ? 0.03 : 0.1;
        OK(cs_qwem_train(&c.problem, &recipe, &c.start, &path, &end));
        assert_near(cs_qwem_half(&c.problem, path.share, 0), want, slack * want);
        assert_true(first_angle(&end, &c.vectors) < slack && path.distance < slack * c.value[0]);
        assert_true(t == CS_QWEM_FULL || path.distance > 1e-4); /* it is noisy */
    }
    counted_free(&c);
}

/* With word2vec's weights the first direction is that of a - p p, not that of M*. */
TEST(weights_of_counts_learn_another_direction_first)
{
    counted c;
    counted_of(1, &c);
    const cs_dense other = cs_dense_columns(&c.of_counts, 0, 1);
    const double apart = first_angle(&other, &c.vectors);
    cs_qwem_path path = cs_qwem_path_in(&c.pool, &c.problem);
    cs_dense end = cs_dense_in(&c.pool, TOKENS, 1);
    OK(c.pool.status);
    assert_true(apart > 0.3);
    for (int i = 0; i < TOKENS; ++i) {
        c.start.data[i] /= 1000;
    }
    for (int t = CS_QWEM_COUNTS; t <= CS_QWEM_SKIP_GRAM; ++t) {
        const cs_qwem_recipe recipe = {.a = &c.a, .training = (cs_qwem_training)t, .seed = 1};
        cs_qwem_problem p = c.problem;
        OK(cs_qwem_interval(&c.problem, &recipe, &p.interval));
        p.samples = 10; /* about e^10 times the start, which stays small */
        OK(cs_qwem_train(&p, &recipe, &c.start, &path, &end));
        assert_true(first_angle(&end, &c.of_counts) < apart / 3);
    }
    counted_free(&c);
}
