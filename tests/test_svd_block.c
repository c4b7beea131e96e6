/* The block solver: bits, Golub-Kahan, multiplicities and the probe, warm start, budget, partial
 * results. Its space is in test_space.c, what it shares with the other solvers in test_svd.c. */
#include "base/threads.h"
#include "linalg/space.h"
#include "linalg/svd.h"
#include "linalg_support.h"

enum { B = CS_PANEL };

static void check_triplets(const cs_svd *s, double tol)
{
    assert_true(s->converged && !s->interrupted);
    assert_each(j, 0, s->k, s->residual[j] <= tol * s->sigma[0]);
    assert_each(j, 0, s->k, j == 0 || s->sigma[j] <= s->sigma[j - 1]);
    double rounding = 20 * (double)(s->u.rows + s->v.rows) * DBL_EPSILON;
    assert_true(orthonormality(&s->u) < rounding);
    assert_true(orthonormality(&s->v) < rounding);
}

TEST(threads_do_not_change_bits)
{
    AUTO_OPERATOR(f, random_sparse(9000, 4000, 0.001, 4), 0);
    CS_AUTO(cs_svd) first = {0};
    for (int threads = 1; threads <= 5; ++threads) {
        f.ctx.threads = threads;
        cs_threads_set(threads);
        cs_svd_options o = {
            .k = 10, .solver = CS_SOLVER_BLOCK, .tol = 1e-10, .seed = 3, .threads = threads};
        AUTO_OK(cs_svd, s, cs_svd_compute(&f.op, &o, &s));
        check_triplets(&s, 1e-10);
        if (threads == 1) {
            first = s;
            s = (cs_svd){0};
            continue;
        }
        assert_int_equal(s.iterations, first.iterations);
        assert_memory_equal(s.sigma, first.sigma, 10 * sizeof *s.sigma);
        assert_memory_equal(s.u.data, first.u.data, 10 * 9000 * sizeof(double));
        assert_memory_equal(s.v.data, first.v.data, 10 * 4000 * sizeof(double));
    }
    cs_threads_set(0);
}

/* An operator that has no panel products: the same values. */
TEST(panel_products_are_optional)
{
    AUTO_OPERATOR(f, random_sparse(150, 320, 0.05, 5), 0);
    cs_linop bare = f.op;
    bare.panel = NULL;
    cs_svd_options o = {.k = 12, .solver = CS_SOLVER_BLOCK};
    AUTO_OK(cs_svd, with, cs_svd_compute(&f.op, &o, &with));
    AUTO_OK(cs_svd, without, cs_svd_compute(&bare, &o, &without));
    check_triplets(&with, 1e-12);
    check_triplets(&without, 1e-12);
    assert_each(j, 0, 12, fabs(with.sigma[j] - without.sigma[j]) <= 2e-12 * with.sigma[0]);
}

/* 10^0 .. 10^-12: the Gram form would lose the lower half, so that Golub-Kahan must have run. Each
 * value to its residual, which is below 1e-12 sigma_1, and the small ones to the floor. */
TEST(small_values_by_golub_kahan)
{
    enum { N = 61 };
    ARRAY(double, value, N, j, pow(10, -0.2 * j));
    AUTO_OPERATOR(f, scattered(240, 130, N, value), 0);
    cs_linop t = cs_linop_transposed(&f.op);
    for (int turn = 0; turn < 2; ++turn) {
        cs_svd_options o = {.k = N, .solver = CS_SOLVER_BLOCK};
        AUTO_OK(cs_svd, s, cs_svd_compute(turn ? &t : &f.op, &o, &s));
        assert_int_equal(s.k, N);
        check_triplets(&s, 1e-12);
        assert_true(s.floor < 1e-13);
        assert_each(j, 0, N, fabs(s.sigma[j] - value[j]) <= s.floor);
        cs_svd_free(&s);
        o.k = 20; /* down to 10^-3.8: the Gram form is enough for 1e-10, and says its floor */
        o.tol = 1e-10;
        OK(cs_svd_compute(turn ? &t : &f.op, &o, &s));
        assert_int_equal(s.k, 20);
        check_triplets(&s, 1e-10);
        assert_true(s.floor > 1e-8);
    }
}

/* The floor of the Gram form is sqrt(rows eps) sigma_1, that of Golub-Kahan rows eps sigma_1: which
 * of them ran. 2.5 times the former is the Gram form's, half of it is not. */
TEST(the_gram_form_ends_at_its_floor)
{
    enum { ROWS = 4003, COLS = 130, K = 20 };
    const double deep = sqrt(ROWS * DBL_EPSILON);
    assert_true(2 * deep > 1e-6); /* rows decide, not the least limit, 1e-6 */
    for (int small = 0; small < 2; ++small) {
        ARRAY(double, value, K, j, j < K - 1 ? 1 - 0.05 * j : small ? 0.5 * deep : 2.5 * deep);
        AUTO_OPERATOR(f, scattered(ROWS, COLS, K, value), 0);
        cs_svd_options o = {.k = K, .solver = CS_SOLVER_BLOCK, .tol = 1e-9};
        AUTO_OK(cs_svd, s, cs_svd_compute(&f.op, &o, &s));
        check_triplets(&s, 1e-9);
        assert_int_equal(s.k, K);
        assert_each(j, 0, K, fabs(s.sigma[j] - value[j]) <= s.residual[j] + 1e-14);
        const double floor = (small ? deep : 1) * deep;
        assert_true(fabs(s.floor / floor - 1) < 1e-9);
    }
}

/* Without a negative eigenvalue A itself is applied, once a step where A^T A takes two products,
 * and its values have A's own floor, rows eps sigma_1, not the square root's. */
TEST(a_semidefinite_matrix_is_applied_itself)
{
    enum { N = 700, K = 6 };
    CS_AUTO_BY(operator_free, csr_operator) f = {0};
    falling_operator(&f, N);
    int64_t applications[2];
    for (int direct = 0; direct < 2; ++direct) {
        f.op.semidefinite = direct;
        cs_svd_options o = {.k = K, .solver = CS_SOLVER_BLOCK, .tol = 1e-10};
        AUTO_OK(cs_svd, s, cs_svd_compute(&f.op, &o, &s));
        check_triplets(&s, 1e-10);
        assert_int_equal(s.k, K);
        assert_each(j, 0, K, fabs(s.sigma[j] - (double)(N - j)) <= 1e-10 * N);
        const double floor = N * DBL_EPSILON;
        assert_true(fabs(s.floor / (N * (direct ? floor : sqrt(floor))) - 1) < 1e-9);
        applications[direct] = s.applications;
    }
    assert_true(applications[1] < applications[0]);
}

/* Lauchli's matrix: sqrt(n + mu^2), then mu n - 1 times, mu = 1e-10. */
TEST(lauchli_is_not_lost)
{
    enum { N = 30 };
    const double mu = 1e-10;
    int64_t row[2 * N], col[2 * N];
    double val[2 * N];
    for (int j = 0; j < N; ++j) {
        row[2 * j] = 0;
        row[2 * j + 1] = j + 1;
        col[2 * j] = col[2 * j + 1] = j;
        val[2 * j] = 1;
        val[2 * j + 1] = mu;
    }
    cs_csr a;
    OK(cs_csr_from_triplets(N + 1, N, 2 * (int64_t)N, row, col, val, &a));
    AUTO_OPERATOR(f, a, 0);
    for (int64_t k = 5; k <= N; k += 25) {
        cs_svd_options o = {.k = k, .solver = CS_SOLVER_BLOCK};
        AUTO_OK(cs_svd, s, cs_svd_compute(&f.op, &o, &s));
        assert_int_equal(s.k, k);
        check_triplets(&s, 1e-12);
        assert_true(fabs(s.sigma[0] - sqrt(N + mu * mu)) < 1e-12);
        assert_each(j, 1, k, fabs(s.sigma[j] - mu) < s.floor);
    }
}

/* Every triplet, of square, tall, wide and rank-deficient matrices, against the dense solver. */
TEST(all_triplets_of_small_matrices)
{
    static const int64_t shape[][2] = {{1, 1},   {1, 9},   {9, 1},  {3, 40},
                                       {17, 16}, {30, 70}, {64, 64}};
    for (size_t t = 0; t < sizeof shape / sizeof *shape; ++t) {
        int64_t m = shape[t][0], n = shape[t][1], p = m < n ? m : n;
        AUTO_OPERATOR(f, random_sparse(m, n, 0.5, 40 + t), 0);
        cs_svd_options o = {.k = p, .solver = CS_SOLVER_LAPACK};
        cs_svd want, got;
        OK(cs_svd_compute(&f.op, &o, &want));
        for (o.k = 1; o.k <= p; o.k = o.k < p && 3 * o.k > p ? p : 3 * o.k) {
            o.solver = CS_SOLVER_BLOCK;
            OK(cs_svd_compute(&f.op, &o, &got));
            assert_int_equal(got.k, o.k < want.k ? o.k : want.k);
            check_triplets(&got, 1e-12);
            assert_each(j, 0, got.k, fabs(got.sigma[j] - want.sigma[j]) <= 1e-12 * want.sigma[0]);
            cs_svd_free(&got);
        }
        cs_svd_free(&want);
    }
}

/* Rank 3 of 50 x 40; the identity, one value 600 times; one value 40 times among others. */
TEST(rank_deficient_and_flat)
{
    double value[600];
    CS_AUTO_BY(operator_free, csr_operator) f = {0};
    CS_AUTO(cs_svd) s = {0};
    for (int j = 0; j < 3; ++j) {
        value[j] = 3 - j;
    }
    operator_of(&f, scattered(50, 40, 3, value), 0);
    for (int64_t k = 3; k <= 40; k += 37) {
        cs_svd_options o = {.k = k, .solver = CS_SOLVER_BLOCK};
        OK(cs_svd_compute(&f.op, &o, &s));
        assert_int_equal(s.k, 3);
        check_triplets(&s, 1e-12);
        cs_svd_free(&s);
    }
    operator_free(&f);
    for (int j = 0; j < 600; ++j) {
        value[j] = 1;
    }
    operator_of(&f, scattered(610, 601, 600, value), 0);
    for (int64_t k = 10; k <= 100; k += 90) {
        cs_svd_options o = {.k = k, .solver = CS_SOLVER_BLOCK};
        OK(cs_svd_compute(&f.op, &o, &s));
        assert_int_equal(s.k, k);
        check_triplets(&s, 1e-12);
        assert_true(fabs(s.sigma[k - 1] - 1) < 1e-13);
        cs_svd_free(&s);
    }
    operator_free(&f);
    for (int j = 0; j < 600; ++j) {
        value[j] = j < 5 ? 2 - 0.1 * j : j < 45 ? 1 : 0.9 * (600 - j) / 600;
    }
    operator_of(&f, scattered(610, 601, 600, value), 0);
    cs_svd_options o = {.k = 50, .solver = CS_SOLVER_BLOCK};
    OK(cs_svd_compute(&f.op, &o, &s));
    assert_int_equal(s.k, 50);
    check_triplets(&s, 1e-12);
    assert_each(j, 0, 50, fabs(s.sigma[j] - value[j]) < 1e-12);
}

/* One copy of a value with 20 of them left out of what is known: the probe finds it, and nothing
 * when all are known. */
TEST(the_probe_catches_a_missed_copy)
{
    enum { N = 800, COPIES = 20 };
    ARRAY(double, value, N, j, j < COPIES ? 1 : 0.7 * (N - j) / N);
    AUTO_OPERATOR(f, scattered(810, 801, N, value), 0);
    cs_svd_options o = {.k = COPIES, .solver = CS_SOLVER_BLOCK};
    AUTO_OK(cs_svd, s, cs_svd_compute(&f.op, &o, &s));
    assert_int_equal(s.k, COPIES);
    for (uint64_t seed = 0; seed < 4; ++seed) {
        cs_probe probe;
        OK(cs_svd_probe(&f.op, &s.v, 0, seed, 2, &probe));
        assert_true(probe.value < 0.7 && probe.value > 0.7 * (N - COPIES) / N / 1.01);
        assert_true(probe.failure < 1e-6);
        cs_dense but_one = s.v;
        but_one.cols -= 1;
        OK(cs_svd_probe(&f.op, &but_one, 0, seed, 2, &probe));
        assert_true(fabs(probe.value - 1) < 1e-9);
        /* With its bound it ends early, and no less surely. */
        OK(cs_svd_probe(&f.op, &s.v, 1, seed, 2, &probe));
        assert_true(probe.value < 0.7 && probe.value > 0.5);
        assert_true(probe.reach > 0.7 * (N - COPIES) / N && probe.reach <= 1.01);
        assert_true(probe.failure > 0 && probe.failure <= 1e-6);
        OK(cs_svd_probe(&f.op, &but_one, 0.9, seed, 2, &probe));
        assert_true(fabs(probe.value - 1) < 1e-9 && probe.reach >= 1.01 * (1 - 1e-9));
    }
}

TEST(extreme_scales)
{
    static const double scale[] = {1e-250, 1e-160, 1e160, 1e250};
    for (size_t t = 0; t < sizeof scale / sizeof *scale; ++t) {
        ARRAY(double, value, 90, j, scale[t] / (1 + 0.1 * j));
        AUTO_OPERATOR(f, scattered(101, 90, 90, value), 0);
        cs_svd_options o = {.k = 9, .solver = CS_SOLVER_BLOCK};
        AUTO_OK(cs_svd, s, cs_svd_compute(&f.op, &o, &s));
        assert_int_equal(s.k, 9);
        check_triplets(&s, 1e-12);
        assert_each(j, 0, 9, fabs(s.sigma[j] - value[j]) <= 1e-12 * value[0]);
    }
}

/* From the vectors themselves, blurred: the same values in fewer steps. */
TEST(warm_start)
{
    AUTO_OPERATOR(f, random_sparse(3000, 2000, 0.003, 6), 0);
    cs_svd_options o = {.k = 6, .solver = CS_SOLVER_BLOCK, .tol = 1e-9};
    cs_svd cold, warm;
    OK(cs_svd_compute(&f.op, &o, &cold));
    AUTO_OK(cs_dense, noise, cs_dense_init(&noise, 2000, 6));
    fill_normal(&noise, 50);
    for (int64_t e = 0; e < 6 * 2000; ++e) {
        noise.data[e] = cold.v.data[e] + 1e-5 * noise.data[e];
    }
    o.start = &noise;
    OK(cs_svd_compute(&f.op, &o, &warm));
    check_triplets(&warm, 1e-9);
    assert_true(warm.iterations < cold.iterations);
    assert_each(j, 0, 6, fabs(warm.sigma[j] - cold.sigma[j]) <= 1e-9 * cold.sigma[0]);
    cs_svd_free(&warm);
    memset(noise.data, 0, 6 * 2000 * sizeof(double)); /* a guess that says nothing */
    OK(cs_svd_compute(&f.op, &o, &warm));
    check_triplets(&warm, 1e-9);
    cs_svd_free(&warm);
    noise.data[2001] = NAN;
    assert_fails(cs_svd_compute(&f.op, &o, &warm), CS_ERR_INPUT, "start vector 1 has norm nan");
    noise.rows = 1999;
    assert_fails(cs_svd_compute(&f.op, &o, &warm), CS_ERR_USAGE,
                 "start vectors are 1999 x 6, not 2000");
    cs_svd_free(&cold);
}

/* A small budget restarts more often and finds the same; one too small is refused. */
TEST(memory_budget)
{
    AUTO_OPERATOR(f, random_sparse(3000, 2000, 0.003, 7), 0);
    cs_svd_options o = {.k = 8, .solver = CS_SOLVER_BLOCK, .tol = 1e-9};
    cs_svd large, small;
    OK(cs_svd_compute(&f.op, &o, &large));
    o.memory = 2000 * 8 * 8 * 7;
    OK(cs_svd_compute(&f.op, &o, &small));
    check_triplets(&small, 1e-9);
    assert_true(small.iterations > large.iterations);
    assert_each(j, 0, 8, fabs(small.sigma[j] - large.sigma[j]) <= 1e-9 * large.sigma[0]);
    cs_svd_free(&small);
    o.memory = 2000 * 8 * 8 * 4;
    assert_fails(
        cs_svd_compute(&f.op, &o, &small), CS_ERR_MEMORY,
        "a basis for 8 triplets of 3000 x 2000 needs 640000 bytes, but the limit is 512000");
    o.memory = -1;
    assert_fails(cs_svd_compute(&f.op, &o, &small), CS_ERR_USAGE,
                 "memory limit of -1 bytes is negative");
    cs_svd_free(&large);
}

TEST(every_allocation_may_fail)
{
    cs_probe probe;
    ARRAY(double, value, 40, j, pow(10, -0.25 * j));
    CS_AUTO_BY(operator_free, csr_operator) f = {0};
    operator_of(&f, scattered(50, 45, 40, value), 0); /* Golub-Kahan is on the path */
    AUTO_OK(cs_dense, start, cs_dense_init(&start, 45, 3));
    fill_normal(&start, 51);
    cs_svd_options o = {.k = 36, .solver = CS_SOLVER_BLOCK, .start = &start};
    CS_AUTO(cs_svd) s = {0};
    EACH_ALLOCATION_FAILS(n)
        (void)out_of_memory(cs_svd_compute(&f.op, &o, &s));
    OK(cs_dense_orthonormalise(&start));
    EACH_ALLOCATION_FAILS(n)
        (void)out_of_memory(cs_svd_probe(&f.op, &start, 0, 1, 1, &probe));
}

/* A slowly falling spectrum: what had converged when it was stopped is right, and said to be
 * partial. */
static void check_partial(const cs_svd *s, const double *value, int64_t wanted)
{
    assert_false(s->converged);
    assert_true(s->k < wanted);
    for (int64_t j = 0; j < s->k; ++j) {
        double nearest = INFINITY;
        for (int i = 0; i < 2000; ++i) {
            nearest = fmin(nearest, fabs(s->sigma[j] - value[i]));
        }
        assert_true(nearest <= 1e-12);
        assert_true(s->residual[j] <= 1e-12);
    }
}

static void stop_at(void *ctx, const char *stage, int64_t done, int64_t total)
{
    assert_non_null(strstr(stage, "triplets converged"));
    assert_int_equal(total, 30);
    assert_true(done >= 0 && done < total);
    if (--*(int *)ctx == 0) {
        cs_interrupt_set();
    }
}

/* Last: the flag cannot be taken back. */
TEST(partial_results)
{
    enum { N = 2000 };
    ARRAY(double, value, N, j, j < 10 ? 1 - 0.05 * j : 0.5 - 1e-4 * j);
    AUTO_OPERATOR(f, scattered(2003, N + 1, N, value), 0);
    cs_svd_options o = {.k = 30, .solver = CS_SOLVER_BLOCK, .max_iterations = 40};
    AUTO_OK(cs_svd, s, cs_svd_compute(&f.op, &o, &s));
    check_partial(&s, value, 30);
    assert_false(s.interrupted);
    assert_int_equal(s.iterations, 40);
    assert_true(s.k >= 10); /* the ten separate ones */
    cs_svd_free(&s);
    int left = 40;
    cs_progress progress = {stop_at, &left};
    o = (cs_svd_options){.k = 30, .solver = CS_SOLVER_BLOCK, .progress = &progress};
    OK(cs_svd_compute(&f.op, &o, &s));
    check_partial(&s, value, 30);
    assert_true(s.interrupted);
    assert_int_equal(s.iterations, 40);
    assert_true(s.k >= 10);
    assert_string_equal(cs_reason(), "");
}
