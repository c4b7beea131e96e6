/* svd: solvers against closed-form spectra, multiplicities, floors, partial results, residuals. */
#include <stdlib.h>

#include "base/threads.h"
#include "linalg/svd.h"
#include "linalg_support.h"

/* Triplets gathered one by one. */
typedef struct {
    int64_t n, row[200000], col[200000];
    double val[200000];
} triplets;

static triplets held;

static void put(int64_t row, int64_t col, double val)
{
    assert_true(held.n < 200000);
    held.row[held.n] = row;
    held.col[held.n] = col;
    held.val[held.n++] = val;
}

static void made_of_held(csr_operator *f, int64_t rows, int64_t cols)
{
    OK(cs_csr_from_triplets(rows, cols, held.n, held.row, held.col, held.val, &f->a));
    held.n = 0;
    operator_of(f, f->a, 1);
}

static int descending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x < y) - (x > y);
}

/* The solver's k triplets against the wanted values: values, residuals, orthonormality. A value is
 * as good as its residual (Weyl), which is below tol sigma_1 = 1e-12 sigma_1. */
static void agrees(const cs_linop *op, cs_solver solver, int64_t k, const double *want)
{
    cs_svd_options o = {.k = k, .solver = solver, .seed = 5};
    AUTO_OK(cs_svd, s, cs_svd_compute(op, &o, &s));
    assert_int_equal(s.solver, solver);
    assert_true(s.converged);
    assert_int_equal(s.k, k);
    assert_int_equal(s.u.rows, op->rows);
    assert_int_equal(s.v.rows, op->cols);
    assert_int_equal(s.u.cols, k);
    assert_int_equal(s.v.cols, k);
    for (int64_t j = 0; j < k; ++j) {
        if (!(fabs(s.sigma[j] - want[j]) <= 1e-12 * want[0])) {
            fail_msg("%s: sigma_%lld is %.17g, not %.17g", cs_solver_name(solver), (long long)j + 1,
                     s.sigma[j], want[j]);
        }
        assert_true(s.residual[j] <= 1e-12 * want[0]);
    }
    double rounding = 20 * (double)(op->rows + op->cols) * DBL_EPSILON;
    assert_true(orthonormality(&s.u) < rounding);
    assert_true(orthonormality(&s.v) < rounding);
}

/* Adjacency of the cycle: |2 cos(2 pi j / n)|, in pairs and fours. */
TEST(cycle)
{
    enum { N = 300 };
    double want[N];
    for (int i = 0; i < N; ++i) {
        put(i, (i + 1) % N, 1);
        put((i + 1) % N, i, 1);
        want[i] = fabs(2 * cos(2 * M_PI * i / N));
    }
    qsort(want, N, sizeof *want, descending);
    CS_AUTO_BY(operator_free, csr_operator) f = {0};
    made_of_held(&f, N, N);
    agrees(&f.op, CS_SOLVER_LAPACK, 296, want); /* the last four are zero */
    agrees(&f.op, CS_SOLVER_ARPACK, 12, want);
    agrees(&f.op, CS_SOLVER_BLOCK, 12, want);
    agrees(&f.op, CS_SOLVER_ARPACK, 100, want);
    agrees(&f.op, CS_SOLVER_BLOCK, 100, want);
}

/* Adjacency of the d-cube: |d - 2 i| with multiplicity C(d, i). */
TEST(hypercube)
{
    enum { D = 9, N = 1 << D };
    double want[N];
    for (int x = 0; x < N; ++x) {
        for (int bit = 0; bit < D; ++bit) {
            put(x, x ^ (1 << bit), 1);
        }
        want[x] = abs(D - 2 * __builtin_popcount((unsigned)x));
    }
    qsort(want, N, sizeof *want, descending);
    CS_AUTO_BY(operator_free, csr_operator) f = {0};
    made_of_held(&f, N, N);
    agrees(&f.op, CS_SOLVER_LAPACK, N, want);
    agrees(&f.op, CS_SOLVER_ARPACK, 20, want); /* 9 twice, 7 in eighteen copies */
    agrees(&f.op, CS_SOLVER_BLOCK, 20, want);
    agrees(&f.op, CS_SOLVER_ARPACK, 92, want); /* 5 in 72 copies */
    agrees(&f.op, CS_SOLVER_BLOCK, 92, want);
}

/* 64 equal blocks of 6 x 4 ones: sigma = sqrt(24) 64 times, rank 64. Both orientations. */
TEST(equal_blocks_give_every_copy)
{
    enum { BLOCKS = 64 };
    double want[BLOCKS];
    for (int b = 0; b < BLOCKS; ++b) {
        for (int i = 0; i < 24; ++i) {
            put(6 * b + i / 4, 4 * b + i % 4, 1);
        }
        want[b] = sqrt(24);
    }
    CS_AUTO_BY(operator_free, csr_operator) f = {0};
    made_of_held(&f, 6 * BLOCKS, 4 * BLOCKS);
    cs_linop t = cs_linop_transposed(&f.op);
    agrees(&f.op, CS_SOLVER_LAPACK, BLOCKS, want);
    agrees(&f.op, CS_SOLVER_ARPACK, BLOCKS, want);
    agrees(&f.op, CS_SOLVER_BLOCK, BLOCKS, want);
    agrees(&t, CS_SOLVER_LAPACK, BLOCKS, want);
    agrees(&t, CS_SOLVER_ARPACK, BLOCKS, want);
    agrees(&t, CS_SOLVER_BLOCK, BLOCKS, want);
    /* More than the rank: zeros are not triplets. */
    for (cs_solver solver = CS_SOLVER_LAPACK; solver <= CS_SOLVER_BLOCK; ++solver) {
        cs_svd_options o = {.k = 100, .solver = solver};
        AUTO_OK(cs_svd, s, cs_svd_compute(&f.op, &o, &s));
        assert_int_equal(s.k, BLOCKS);
        assert_int_equal(s.u.cols, BLOCKS);
        assert_true(s.converged);
    }
}

/* Values 1, 1 - 1e-9, 1 - 2e-9, ... and a bulk: a cluster far below any gap a Krylov method sees.
 */
TEST(cluster)
{
    enum { N = 400, CLOSE = 12 };
    double want[N];
    for (int j = 0; j < N; ++j) {
        want[j] = j < CLOSE ? 1 - 1e-9 * j : 0.9 * (N - j) / N;
        put((j * 7) % N, (j * 11) % N,
            want[j]); /* a permuted diagonal: 7 and 11 do not divide 400 */
    }
    CS_AUTO_BY(operator_free, csr_operator) f = {0};
    made_of_held(&f, N, N);
    agrees(&f.op, CS_SOLVER_ARPACK, CLOSE, want);
    agrees(&f.op, CS_SOLVER_BLOCK, CLOSE, want);
    agrees(&f.op, CS_SOLVER_ARPACK, CLOSE + 10, want);
    agrees(&f.op, CS_SOLVER_BLOCK, CLOSE + 10, want);
    agrees(&f.op, CS_SOLVER_ARPACK, CLOSE / 2, want);
    agrees(&f.op, CS_SOLVER_BLOCK, CLOSE / 2, want);
    agrees(&f.op, CS_SOLVER_LAPACK, N, want);
}

/* Scale: ARPACK's stopping rule must not depend on it. */
TEST(scale_does_not_matter)
{
    static const double scale[] = {1e-100, 1e-9, 1e9, 1e100};
    for (size_t s = 0; s < sizeof scale / sizeof *scale; ++s) {
        double want[60];
        for (int j = 0; j < 60; ++j) {
            want[j] = scale[s] / (j + 1);
            put(j, 59 - j, want[j]);
        }
        CS_AUTO_BY(operator_free, csr_operator) f = {0};
        made_of_held(&f, 60, 60);
        agrees(&f.op, CS_SOLVER_ARPACK, 10, want);
        agrees(&f.op, CS_SOLVER_BLOCK, 10, want);
        agrees(&f.op, CS_SOLVER_LAPACK, 60, want);
    }
}

/* Lauchli: a row of ones over mu I; sqrt(n + mu^2), then mu n - 1 times. B^T B in double loses
 * mu = 1e-10; the dense solver keeps it, the others must state a floor above it and drop it. */
TEST(lauchli)
{
    enum { N = 30 };
    const double mu = 1e-10;
    for (int j = 0; j < N; ++j) {
        put(0, j, 1);
        put(j + 1, j, mu);
    }
    CS_AUTO_BY(operator_free, csr_operator) f = {0};
    made_of_held(&f, N + 1, N);
    cs_svd_options o = {.k = N, .solver = CS_SOLVER_LAPACK};
    AUTO_OK(cs_svd, s, cs_svd_compute(&f.op, &o, &s));
    assert_int_equal(s.k, N);
    assert_true(s.floor < mu && s.converged);
    assert_each(j, 1, N, fabs(s.sigma[j] - mu) < s.floor);
    cs_svd_free(&s);

    o.dense_limit = 1; /* forces the Gram matrix */
    OK(cs_svd_compute(&f.op, &o, &s));
    assert_int_equal(s.k, 1);
    assert_true(s.floor > mu && fabs(s.sigma[0] - sqrt(N + mu * mu)) < 1e-12);
    cs_svd_free(&s);

    o = (cs_svd_options){.k = 5, .solver = CS_SOLVER_ARPACK};
    OK(cs_svd_compute(&f.op, &o, &s));
    assert_int_equal(s.k, 1);
    assert_true(s.floor > mu && fabs(s.sigma[0] - sqrt(N + mu * mu)) < 1e-12);
}

/* The Gram path agrees with the dense one above its floor. */
TEST(gram_agrees_with_dense)
{
    cs_rng rng = cs_rng_at(3, CS_STREAM_TEST, 0);
    for (int e = 0; e < 3000; ++e) {
        put(cs_rng_below(&rng, 150), cs_rng_below(&rng, 90), cs_rng_uniform(&rng));
    }
    CS_AUTO_BY(operator_free, csr_operator) f = {0};
    made_of_held(&f, 150, 90);
    cs_linop t = cs_linop_transposed(&f.op);
    cs_svd_options o = {.k = 60, .solver = CS_SOLVER_LAPACK, .tol = 1e-10};
    cs_svd dense, gram;
    OK(cs_svd_compute(&f.op, &o, &dense));
    o.dense_limit = 1;
    o.solver = CS_SOLVER_AUTO;
    for (int turn = 0; turn < 2; ++turn) {
        OK(cs_svd_compute(turn ? &t : &f.op, &o, &gram));
        assert_int_equal(gram.solver, CS_SOLVER_LAPACK);
        assert_int_equal(gram.k, 60);
        assert_true(gram.converged);
        assert_true(gram.floor > 1e6 * dense.floor);
        assert_each(j, 0, 60, fabs(gram.sigma[j] - dense.sigma[j]) <= 1e-12 * dense.sigma[0]);
        assert_true(orthonormality(&gram.u) < 1e-13 && orthonormality(&gram.v) < 1e-13);
        cs_svd_free(&gram);
    }
    cs_svd_free(&dense);
}

TEST(small_shapes)
{
    CS_AUTO_BY(operator_free, csr_operator) f = {0};
    put(0, 0, -3);
    made_of_held(&f, 1, 1);
    agrees(&f.op, CS_SOLVER_LAPACK, 1, (const double[]){3});
    operator_free(&f);
    put(0, 1, 3);
    put(0, 4, 4);
    made_of_held(&f, 1, 6);
    cs_linop t = cs_linop_transposed(&f.op);
    agrees(&f.op, CS_SOLVER_LAPACK, 1, (const double[]){5});
    agrees(&t, CS_SOLVER_LAPACK, 1, (const double[]){5});
    operator_free(&f);
    put(0, 0, 2);
    put(1, 1, 1);
    made_of_held(&f, 2, 3);
    agrees(&f.op, CS_SOLVER_ARPACK, 1,
           (const double[]){2}); /* n = 2, k = 1: the least ARPACK takes */
    agrees(&f.op, CS_SOLVER_BLOCK, 1, (const double[]){2});
}

TEST(zero_matrix_has_no_triplets)
{
    CS_AUTO_BY(operator_free, csr_operator) f = {0};
    made_of_held(&f, 40, 30);
    for (cs_solver solver = CS_SOLVER_AUTO; solver <= CS_SOLVER_BLOCK; ++solver) {
        cs_svd_options o = {.k = 4, .solver = solver};
        AUTO_OK(cs_svd, s, cs_svd_compute(&f.op, &o, &s));
        assert_int_equal(s.k, 0);
        assert_true(s.converged && s.floor == 0);
        assert_int_equal(s.u.rows, 40);
        assert_int_equal(s.v.rows, 30);
    }
}

/* A flat spectrum and one restart: a partial result, said to be one. */
TEST(partial_result)
{
    enum { N = 1000 };
    for (int j = 0; j < N; ++j) {
        put(j, j, 1 - 1e-4 * j);
    }
    CS_AUTO_BY(operator_free, csr_operator) f = {0};
    made_of_held(&f, N, N);
    cs_svd_options o = {.k = 10, .solver = CS_SOLVER_ARPACK, .max_iterations = 1};
    AUTO_OK(cs_svd, s, cs_svd_compute(&f.op, &o, &s));
    assert_false(s.converged);
    assert_true(s.k < 10);
    assert_true(s.iterations >= 1 && s.applications > 0);
}

/* Same seed, same bits; another seed, the same values. */
TEST(seed_fixes_the_bits)
{
    cs_rng rng = cs_rng_at(4, CS_STREAM_TEST, 0);
    for (int e = 0; e < 20000; ++e) {
        put(cs_rng_below(&rng, 500), cs_rng_below(&rng, 400), cs_rng_uniform(&rng));
    }
    CS_AUTO_BY(operator_free, csr_operator) f = {0};
    made_of_held(&f, 500, 400);
    cs_svd_options o = {.k = 8, .solver = CS_SOLVER_ARPACK, .seed = 1};
    AUTO_OK(cs_svd, first, cs_svd_compute(&f.op, &o, &first));
    AUTO_OK(cs_svd, again, cs_svd_compute(&f.op, &o, &again));
    o.seed = 2;
    AUTO_OK(cs_svd, other, cs_svd_compute(&f.op, &o, &other));
    assert_memory_equal(first.sigma, again.sigma, 8 * sizeof *first.sigma);
    assert_memory_equal(first.u.data, again.u.data, 8 * 500 * sizeof(double));
    assert_memory_equal(first.v.data, again.v.data, 8 * 400 * sizeof(double));
    assert_each(j, 0, 8, fabs(first.sigma[j] - other.sigma[j]) <= 1e-12 * first.sigma[0]);
}

/* diag(3, 1), u = v = e_1 turned by a small angle: both one-sided residuals by hand; then different
 * errors on the two sides, so that the larger one must be taken. */
TEST(residual_is_two_sided)
{
    put(0, 0, 3);
    put(1, 1, 1);
    CS_AUTO_BY(operator_free, csr_operator) f = {0};
    made_of_held(&f, 2, 2);
    double u[] = {1, 0, 0, 1}, v[] = {0.6, 0.8, 0, 1}, sigma[] = {3, 1}, residual[2];
    cs_dense du = {.rows = 2, .cols = 2, .ld = 2, .data = u};
    cs_dense dv = {.rows = 2, .cols = 2, .ld = 2, .data = v};
    OK(cs_svd_residuals(&f.op, 2, sigma, &du, &dv, residual));
    /* A v - 3 u = (1.8 - 3, 0.8); A^T u - 3 v = (3 - 1.8, -2.4). */
    assert_true(fabs(residual[0] - hypot(1.2, 2.4)) < 1e-15);
    assert_true(residual[1] == 0);
    OK(cs_svd_residuals(&f.op, 2, sigma, &dv, &du, residual));
    assert_true(fabs(residual[0] - hypot(1.2, 2.4)) < 1e-15);
    v[0] = NAN;
    OK(cs_svd_residuals(&f.op, 1, sigma, &du, &dv, residual));
    assert_true(isnan(residual[0]));
    assert_fails(cs_svd_residuals(&f.op, 3, sigma, &du, &dv, residual), CS_ERR_USAGE,
                 "residuals of 3 triplets of 2 x 2");
}

TEST(auto_chooses_by_size)
{
    CS_AUTO_BY(operator_free, csr_operator) f = {0};
    for (int j = 0; j < 200; ++j) {
        put(j, j, 200 - j);
    }
    made_of_held(&f, 200, 200);
    cs_svd_options o = {.k = 5};
    AUTO_OK(cs_svd, s, cs_svd_compute(&f.op, &o, &s));
    assert_int_equal(s.solver, CS_SOLVER_LAPACK);
    cs_svd_free(&s);
    o.dense_limit = 200 * 200 - 1;
    OK(cs_svd_compute(&f.op, &o, &s));
    assert_int_equal(s.solver, CS_SOLVER_BLOCK);
    cs_svd_free(&s);
    o.k = 51;
    OK(cs_svd_compute(&f.op, &o, &s));
    assert_int_equal(s.solver, CS_SOLVER_LAPACK); /* by the Gram matrix */
    assert_int_equal(s.k, 51);
}

static cs_status gives_nan(void *ctx, bool turn, const cs_dense *x, cs_dense *y)
{
    (void)ctx;
    (void)turn;
    (void)x;
    for (int64_t j = 0; j < y->cols; ++j) {
        y->data[j * y->ld] = NAN;
    }
    return CS_OK;
}

static cs_status gives_up(void *ctx, bool turn, const cs_dense *x, cs_dense *y)
{
    (void)ctx;
    (void)turn;
    (void)x;
    (void)y;
    return cs_fail(CS_ERR_IO, "block 7 is lost");
}

TEST(bad_requests_are_named)
{
    CS_AUTO_BY(operator_free, csr_operator) f = {0};
    put(0, 0, 1);
    made_of_held(&f, 8, 5);
    cs_svd s;
    cs_svd_options o = {.k = 6};
    assert_fails(cs_svd_compute(&f.op, &o, &s), CS_ERR_USAGE,
                 "6 singular triplets of 8 x 5 requested, which is not in 1..5");
    o.k = 0;
    assert_fails(cs_svd_compute(&f.op, &o, &s), CS_ERR_USAGE, "0 singular triplets");
    o = (cs_svd_options){.k = 1, .tol = NAN};
    assert_fails(cs_svd_compute(&f.op, &o, &s), CS_ERR_USAGE, "tolerance nan");
    o = (cs_svd_options){.k = 1, .max_iterations = -3};
    assert_fails(cs_svd_compute(&f.op, &o, &s), CS_ERR_USAGE, "iteration limit -3");
    o = (cs_svd_options){.k = 1, .dense_limit = -3};
    assert_fails(cs_svd_compute(&f.op, &o, &s), CS_ERR_USAGE, "dense limit -3");
    o = (cs_svd_options){.k = 5, .solver = CS_SOLVER_ARPACK};
    assert_fails(cs_svd_compute(&f.op, &o, &s), CS_ERR_USAGE, "use the solver lapack");
    cs_linop big = {.rows = 100000, .cols = 90000};
    o = (cs_svd_options){.k = 5, .solver = CS_SOLVER_LAPACK};
    assert_fails(cs_svd_compute(&big, &o, &s), CS_ERR_MEMORY, "100000 x 90000 exceeds the limit");
    cs_linop broken = {.rows = 60, .cols = 50, .apply = gives_nan};
    o = (cs_svd_options){.k = 5, .solver = CS_SOLVER_ARPACK};
    assert_fails(cs_svd_compute(&broken, &o, &s), CS_ERR_INPUT, "vector of norm nan");
    o.solver = CS_SOLVER_BLOCK;
    assert_fails(cs_svd_compute(&broken, &o, &s), CS_ERR_INPUT, "vector of norm nan");
    o.solver = CS_SOLVER_LAPACK;
    assert_fails(cs_svd_compute(&broken, &o, &s), CS_ERR_INPUT, "value nan is not finite");
    broken.apply = gives_up;
    for (cs_solver solver = CS_SOLVER_LAPACK; solver <= CS_SOLVER_BLOCK; ++solver) {
        o.solver = solver;
        assert_fails(cs_svd_compute(&broken, &o, &s), CS_ERR_IO, "block 7 is lost");
    }
    assert_null(s.sigma);
    cs_solver solver;
    for (int i = CS_SOLVER_AUTO; i <= CS_SOLVER_BLOCK; ++i) {
        OK(cs_solver_by_name(cs_solver_name((cs_solver)i), &solver));
        assert_int_equal(solver, i);
    }
    assert_fails(cs_solver_by_name("slepc", &solver), CS_ERR_USAGE, "unknown solver 'slepc'");
}

TEST(every_allocation_may_fail)
{
    CS_AUTO_BY(operator_free, csr_operator) f = {0};
    for (int b = 0; b < 40; ++b) {
        put(2 * b, b, 1); /* one value 40 times: ARPACK's merging is on the path */
        put(2 * b + 1, b, 1);
    }
    made_of_held(&f, 80, 40);
    static const struct {
        cs_solver solver;
        int64_t dense_limit;
    } way[] = {
        {CS_SOLVER_LAPACK, 0}, {CS_SOLVER_LAPACK, 1}, {CS_SOLVER_ARPACK, 0}, {CS_SOLVER_BLOCK, 0}};
    for (size_t w = 0; w < sizeof way / sizeof *way; ++w) {
        cs_svd_options o = {.k = 12, .solver = way[w].solver, .dense_limit = way[w].dense_limit};
        cs_svd s;
        (void)cs_mem_fail_at(0);
        OK(cs_svd_compute(&f.op, &o, &s));
        assert_int_equal(s.k, 12);
        cs_svd_free(&s);
        int64_t count = cs_mem_fail_at(0);
        for (int64_t n = 1; n <= count; ++n) {
            (void)cs_mem_fail_at(n);
            cs_status status = cs_svd_compute(&f.op, &o, &s);
            if (status != CS_ERR_MEMORY) {
                /* ARPACK's own random restarts may shorten a later run by an allocation or two. */
                assert_true(way[w].solver == CS_SOLVER_ARPACK && n > count / 2);
                OK(status);
                cs_svd_free(&s);
            } else {
                expect_reason("out of memory");
                assert_null(s.sigma);
            }
        }
        (void)cs_mem_fail_at(0);
    }
}

static void count_reports(void *ctx, const char *stage, int64_t done, int64_t total)
{
    (void)stage;
    (void)done;
    (void)total;
    if (++*(int *)ctx == 25) {
        cs_interrupt_set();
    }
}

/* Last: the flag cannot be taken back. */
TEST(interrupt_stops_the_iteration)
{
    CS_AUTO_BY(operator_free, csr_operator) f = {0};
    for (int j = 0; j < 1000; ++j) {
        put(j, j, 1 - 1e-4 * j);
    }
    made_of_held(&f, 1000, 1000);
    int reports = 0;
    cs_progress progress = {count_reports, &reports};
    cs_svd_options o = {.k = 10, .solver = CS_SOLVER_ARPACK, .progress = &progress};
    cs_svd s;
    assert_fails(cs_svd_compute(&f.op, &o, &s), CS_ERR_INTERRUPT, "interrupted");
    assert_in_range(reports, 25, 26);
}
