/* The SVD over a group of threads, against that of one process. */
#include "comm_threads.h"
#include "cooc/compensated_private.h"
#include "cooc/ranked.h"
#include "cooc/reduce.h"
#include "cooc_matrices.h"
#include "io_support.h"
#include "linalg/matrix_file.h"
#include "spectrum_support.h"

/* Values of two runs of a solver with tolerance 1e-12, sigma_1 = 1. */
static const double SAME = 1e-10;

enum { ALL = CS_CERTIFY_USUAL | CS_CERTIFY_INERTIA };

typedef struct {
    const char *path;
    cs_spectrum_options options;
    cs_spectrum *result; /* of each rank */
} svd_job;

static cs_status svd_rank(cs_comm *c, void *ctx)
{
    const svd_job *job = ctx;
    CS_AUTO(cs_shard) shard = {0};
    cs_status status = cs_shard_read(c, job->path, !job->options.normalised, &shard);
    status = status ? status : cs_ranked_spectrum(&shard, &job->options, &job->result[c->rank]);
    if (status != CS_OK && c->ranks > 1 && !c->agreed) {
        c->end(c, 1); /* the others would wait */
    }
    return status;
}

static void run_svd(int ranks, svd_job *job)
{
    cs_status status[MOST_RANKS];
    char reason[MOST_RANKS][1024];
    (void)run_ranks(ranks, svd_rank, job, status, reason);
    for (int r = 0; r < ranks; ++r) {
        if (status[r] != CS_OK) {
            fail_msg("rank %d of %d: %s", r, ranks, reason[r]);
        }
    }
}

static const char *stored(void **state, const cs_csr *a)
{
    const char *path = in_dir(state, "m.npz");
    OK(cs_matrix_write_npz(path, a, true));
    return path;
}

static void assert_alike(const cs_spectrum *one, const cs_spectrum *many)
{
    assert_true(many->solution.converged);
    assert_int_equal(one->input.rows, many->input.rows);
    assert_int_equal(one->input.cols, many->input.cols);
    assert_int_equal(one->input.nnz, many->input.nnz);
    assert_int_equal(one->input.zero_rows, many->input.zero_rows);
    assert_int_equal(one->input.zero_cols, many->input.zero_cols);
    assert_int_equal(one->input.components, many->input.components);
    assert_int_equal(one->k, many->k);
    assert_int_equal(one->zeros, many->zeros);
    assert_true(fabs(one->input.mass - many->input.mass) <= 1e-12 * one->input.mass);
    assert_true(fabs(one->moments.sum_sigma2 - many->moments.sum_sigma2) <=
                1e-12 * one->moments.sum_sigma2);
    assert_each(j, 0, one->k, fabs(one->sigma[j] - many->sigma[j]) <= SAME);
    assert_each(j, 0, one->k, many->residual[j] <= 1e-12);
    assert_int_equal(one->cert.components.state, many->cert.components.state);
    assert_int_equal(one->cert.probe.state, many->cert.probe.state);
    assert_int_equal(many->cert.residual.state, CS_CERT_PASSED);
    const cs_certificate *counted = &many->cert.inertia;
    assert_int_equal(one->cert.inertia.state, counted->state);
    assert_true(one->cert.inertia.bound == counted->bound);
    if (counted->state == CS_CERT_PASSED) {
        assert_true(counted->value == one->cert.inertia.value);
        assert_true(counted->reach == 0 || counted->reach < many->sigma[many->k - 1]);
    }
}

/* The vectors of rank 0 solve the problem: residuals by the plain matrix, columns of norm 1. */
static void assert_vectors(const cs_csr *a, const cs_spectrum *s)
{
    CS_AUTO(cs_csr) abar = normalised(a), at = {0};
    cs_linop_csr_ctx ctx;
    OK(cs_csr_transpose(&abar, &at));
    cs_linop op = cs_linop_csr(&ctx, &abar, &at, 1);
    double *residual = test_zeros(s->k, sizeof *residual);
    OK(cs_svd_residuals(&op, s->k, s->sigma, &s->u, &s->v, residual));
    for (int64_t j = 0; j < s->k; ++j) {
        assert_true(residual[j] <= 1e-12);
        double square =
            SUM(i, 0, s->u.rows, s->u.data[i + j * s->u.ld] * s->u.data[i + j * s->u.ld]);
        assert_true(fabs(square - 1) <= 1e-12);
    }
}

static void compare(void **state, const cs_csr *a, int64_t k, bool wide)
{
    CS_AUTO(cs_csr) turned = {0};
    if (wide) {
        OK(cs_csr_transpose(a, &turned));
        a = &turned;
    }
    cs_spectrum all[MOST_RANKS] = {0};
    svd_job job = {.path = stored(state, a),
                   .options = {.k = k, .certify = ALL, .moment4 = true, .seed = 3, .threads = 1},
                   .result = all};
    CS_AUTO(cs_spectrum) one = spectrum_of(a, job.options);
    for (int ranks = 1; ranks <= 4; ++ranks) {
        run_svd(ranks, &job);
        for (int r = 0; r < ranks; ++r) {
            assert_alike(&one, &all[r]);
            assert_memory_equal(all[r].sigma, all[0].sigma, (size_t)one.k * sizeof(double));
            assert_true(r == 0 || all[r].u.rows == 0);
            assert_true(fabs(one.moments.sum_sigma4 - all[r].moments.sum_sigma4) <=
                        1e-11 * one.moments.sum_sigma4);
        }
        assert_vectors(a, &all[0]);
        for (int r = 0; r < ranks; ++r) {
            cs_spectrum_free(&all[r]);
        }
    }
}

TEST_IN_DIR(values_are_those_of_one_process)
{
    for (int wide = 0; wide < 2; ++wide) {
        CS_AUTO(cs_csr) a = untidy_matrix(3, 300, 90, 5), b = untidy_matrix(1, 700, 200, 6);
        compare(state, &a, 20, wide != 0);
        compare(state, &b, 12, wide != 0);
        compare(state, &b, 1, wide != 0);
    }
}

/* The entries of Hilbert's matrix: values fall by a digit or more from each to the next. Vectors of
 * small ones hold rounding along those of 1, which leaves them at an angle to each other when it is
 * taken out. */
TEST_IN_DIR(vectors_of_small_values_are_orthonormal)
{
    enum { M = 200, N = 60, K = 16 };
    CS_AUTO(cs_csr) a = {0};
    AUTO_OK(cs_dense, dense, cs_dense_init(&dense, M, N));
    for (int64_t e = 0; e < M * N; ++e) {
        dense.data[e % M + e / M * dense.ld] = 1 / (double)(e % M + e / M + 1);
    }
    a = csr_of(&dense);
    cs_spectrum all[MOST_RANKS] = {0};
    svd_job job = {
        .path = stored(state, &a), .options = {.k = K, .seed = 3, .threads = 1}, .result = all};
    for (int ranks = 1; ranks <= 3; ++ranks) {
        run_svd(ranks, &job);
        assert_int_equal(all[0].k, K);
        assert_true(all[0].sigma[K - 1] < 1e-9);
        const cs_dense *sides[] = {&all[0].u, &all[0].v};
        for (int64_t e = 0; e < 2 * K * K; ++e) {
            const cs_dense *x = sides[e % 2];
            const double *y = x->data + e / 2 % K * x->ld, *z = x->data + e / 2 / K * x->ld;
            double sum = SUM(i, 0, x->rows, y[i] * z[i]);
            /* M roundings of products whose sum is 1 */
            assert_true(fabs(sum - (y == z)) <= M * 2.3e-16);
        }
        for (int r = 0; r < ranks; ++r) {
            cs_spectrum_free(&all[r]);
        }
    }
}

/* More components than values wanted, and double values below 1. */
TEST_IN_DIR(copies_are_found)
{
    CS_AUTO(cs_csr) blocks = multiplicity_matrix(false, 12, 4), ring = cycle(60);
    compare(state, &blocks, 8, false);
    compare(state, &blocks, 30, false);
    compare(state, &ring, 21, false);
}

/* Every value, a matrix that came normalised, and no reduction. */
TEST_IN_DIR(ways_of_asking)
{
    CS_AUTO(cs_csr) a = untidy_matrix(2, 120, 40, 8), abar = normalised(&a);
    for (int way = 0; way < 3; ++way) {
        cs_spectrum all[MOST_RANKS] = {0};
        svd_job job = {
            .path = stored(state, way == 1 ? &abar : &a),
            .options = {.k = way == 0 ? 0 : 6,
                        .normalised = way == 1,
                        .no_reduction = way == 2,
                        .values_only = true,
                        .certify = CS_CERTIFY_COMPONENTS | CS_CERTIFY_MOMENTS | CS_CERTIFY_INERTIA,
                        .seed = 1,
                        .threads = 1},
            .result = all};
        CS_AUTO(cs_spectrum) one = spectrum_of(way == 1 ? &abar : &a, job.options);
        for (int ranks = 1; ranks <= 3; ++ranks) {
            run_svd(ranks, &job);
            assert_true(all[0].solution.converged);
            assert_int_equal(one.k, all[0].k);
            assert_each(j, 0, one.k, fabs(one.sigma[j] - all[0].sigma[j]) <= SAME);
            assert_int_equal(one.cert.components.state, all[0].cert.components.state);
            assert_int_equal(one.cert.inertia.state, all[0].cert.inertia.state);
            assert_int_equal(all[0].cert.inertia.state, CS_CERT_PASSED);
            assert_true(one.cert.perron == all[0].cert.perron);
            assert_true(way != 0 || all[0].cert.moments.state == CS_CERT_PASSED);
            assert_true(way != 0 || all[0].rank == one.rank);
            for (int r = 0; r < ranks; ++r) {
                assert_null(all[r].u.data);
                cs_spectrum_free(&all[r]);
            }
        }
    }
}

/* A matrix that came normalised: the theorem of the components holds where each has a value 1, and
 * one component that has none, or a sign, takes it away, as in one process. */
TEST_IN_DIR(the_theorem_is_put_to_the_test)
{
    static const double scale[] = {1, 0.5, 1 + 1e-6, -1, 1};
    for (int way = 0; way < 5; ++way) {
        CS_AUTO(cs_csr) a = untidy_matrix(5, 80, 30, 4), abar = normalised(&a);
        int64_t last = abar.rows - 1;
        while (abar.ptr[last] == abar.ptr[last + 1]) {
            --last;
        }
        for (int64_t e = abar.ptr[last]; e < abar.ptr[last + 1] && way == 3; ++e) {
            abar.val[e] = -abar.val[e];
        }
        for (int64_t i = 0; i < abar.rows && (way == 1 || way == 2); ++i) {
            bool with = false; /* the component of the last row */
            AUTO_OK(cs_components, c, cs_components_of(&abar, &c));
            with = c.row[i] == c.row[last];
            for (int64_t e = abar.ptr[i]; e < abar.ptr[i + 1] && with; ++e) {
                abar.val[e] *= scale[way];
            }
        }
        cs_spectrum all[MOST_RANKS] = {0};
        svd_job job = {.path = stored(state, &abar),
                       .options = {.k = way == 4 ? 3 : 12,
                                   .normalised = true,
                                   .certify = ALL,
                                   .values_only = true,
                                   .seed = 4,
                                   .threads = 1},
                       .result = all};
        CS_AUTO(cs_spectrum) one = spectrum_of(&abar, job.options);
        assert_true(one.cert.perron == (way == 0 || way == 4));
        for (int ranks = 1; ranks <= 3; ++ranks) {
            run_svd(ranks, &job);
            for (int r = 0; r < ranks; ++r) {
                assert_alike(&one, &all[r]);
                assert_true(all[r].cert.perron == one.cert.perron);
                assert_true(all[r].cert.near_ones == one.cert.near_ones);
                cs_spectrum_free(&all[r]);
            }
        }
    }
}

/* One process's triplets, certified over the ranks: all of them, then without one. */
typedef struct {
    const char *path;
    cs_spectrum_options options;
    const cs_spectrum *known;
    cs_spectrum *result; /* of each rank */
} certify_job;

static cs_status certify_rank(cs_comm *c, void *ctx)
{
    const certify_job *job = ctx;
    const cs_spectrum *known = job->known;
    CS_AUTO(cs_shard) shard = {0};
    CS_AUTO(cs_ranked) r = {0};
    cs_certificate_facts facts = {0};
    cs_spectrum s = {.k = known->k,
                     .rank = -1,
                     .input.rows = known->input.rows,
                     .input.cols = known->input.cols,
                     .input.components = known->input.components,
                     .solution.floor = known->solution.floor,
                     .sigma = known->sigma,
                     .residual = known->residual};
    cs_status status = cs_shard_read(c, job->path, true, &shard);
    status = status ? status : cs_ranked_open(&shard, &job->options, &r);
    cs_dense whole = shard.transposed ? known->u : known->v, part = whole;
    part.rows = r.slice;
    part.data = whole.data + r.first;
    s.v = part;
    status = status ? status : cs_ranked_certify(&r, &job->options, &facts, &s);
    s.u = known->u;
    s.v = known->v;
    if (status == CS_OK && cs_ranked_has_memory(&r, &s)) {
        status = cs_ranked_inertia(&r, &shard, &job->options, &facts, &s);
    }
    s.u = s.v = (cs_dense){0};
    s.sigma = s.residual = NULL;
    job->result[c->rank] = s;
    return status;
}

/* Copies of 1, of values below 1 and simple ones are missed in turn; the certificates say so on
 * every rank. */
TEST_IN_DIR(a_missed_copy_is_caught)
{
    enum { K = 14 };
    int ones = 0, below = 0;
    for (int wide = 0; wide < 2; ++wide) {
        cs_csr blocks = multiplicity_matrix(false, 4, 3), a = blocks;
        if (wide) {
            OK(cs_csr_transpose(&blocks, &a));
            cs_csr_free(&blocks);
        }
        for (int64_t j = -1; j < K - 1; ++j) {
            cs_spectrum all[MOST_RANKS] = {0};
            certify_job job = {.path = stored(state, &a),
                               .options = {.k = K, .certify = ALL, .moment4 = true, .threads = 1},
                               .result = all};
            CS_AUTO(cs_spectrum) one = spectrum_of(&a, job.options);
            double missing = j >= 0 ? one.sigma[j] : 0, least = one.sigma[K - 1];
            if (j >= 0) {
                forget_triplet(&one, j);
            }
            job.known = &one;
            cs_status status[MOST_RANKS];
            char reason[MOST_RANKS][1024];
            (void)run_ranks(3, certify_rank, &job, status, reason);
            for (int r = 0; r < 3; ++r) {
                const cs_spectrum *s = &all[r];
                OK(status[r]);
                assert_int_equal(s->cert.inertia.state == CS_CERT_PASSED, j < 0);
                assert_true(j >= 0 || s->cert.probe.state == CS_CERT_PASSED);
                assert_true(!(missing > 1.01 * s->cert.probe.bound) ||
                            s->cert.probe.state == CS_CERT_FAILED);
                assert_int_equal(s->cert.components.state,
                                 missing > 1 - 1e-9 ? CS_CERT_FAILED : CS_CERT_PASSED);
                assert_true(j < 0 || s->cert.moments.state != CS_CERT_PASSED);
                if (missing > least * (1 + 1e-8)) {
                    assert_int_equal(s->cert.inertia.state, CS_CERT_FAILED);
                    assert_true(s->cert.inertia.value == s->cert.inertia.bound + 1);
                    ones += missing > 1 - 1e-9;
                    below += missing < 1 - 1e-9;
                }
            }
        }
        cs_csr_free(&a);
    }
    assert_true(ones > 0 && below > 0);
}

/* The estimate of the fourth moment is that of one process, whether triplets are known or vectors
 * are sketched, and brackets the exact sum; the same number of ranks gives the same bits. */
TEST_IN_DIR(estimates_and_bits)
{
    for (int wide = 0; wide < 2; ++wide) {
        cs_csr tall = untidy_matrix(2, 500, 120, 9), a = tall;
        if (wide) {
            OK(cs_csr_transpose(&tall, &a));
            cs_csr_free(&tall);
        }
        for (int64_t k = 10; k <= 40; k += 30) {
            cs_spectrum all[2][MOST_RANKS] = {0};
            svd_job job = {
                .path = stored(state, &a),
                .options = {.k = k, .moment4 = true, .moment4_budget = 1, .seed = 2, .threads = 1}};
            cs_spectrum_options exact = job.options;
            exact.moment4_budget = 0;
            CS_AUTO(cs_spectrum) sum = spectrum_of(&a, exact), one = spectrum_of(&a, job.options);
            for (int t = 0; t < 2; ++t) {
                job.result = all[t];
                run_svd(3, &job);
                const cs_sum4 *mine = &all[t][0].moments.sum4;
                assert_true(mine->error > 0);
                assert_true(all[t][0].moments.sum_sigma4_error == mine->error);
                assert_int_equal(all[t][0].cert.probe.state, CS_CERT_NOT_RUN); /* not requested */
                assert_true(fabs(mine->value - sum.moments.sum_sigma4) <= 5 * mine->error);
                assert_int_equal(mine->samples, one.moments.sum4.samples);
                assert_int_equal(mine->sketch, one.moments.sum4.sketch);
                assert_int_equal(mine->known, one.moments.sum4.known);
                assert_true(mine->spent == one.moments.sum4.spent &&
                            mine->seed == one.moments.sum4.seed);
                assert_true(fabs(mine->value - one.moments.sum4.value) <=
                            SAME * one.moments.sum4.value);
                assert_true(fabs(mine->low - one.moments.sum4.low) <=
                            SAME * one.moments.sum4.value);
                assert_true(fabs(mine->high - one.moments.sum4.high) <=
                            SAME * one.moments.sum4.value);
            }
            assert_memory_equal(all[0][0].sigma, all[1][0].sigma, (size_t)k * sizeof(double));
            assert_each(r, 0, 3, all[1][r].moments.sum_sigma4 == all[0][0].moments.sum_sigma4);
            for (int r = 0; r < 3; ++r) {
                cs_spectrum_free(&all[0][r]);
                cs_spectrum_free(&all[1][r]);
            }
        }
        cs_csr_free(&a);
    }
}

/* A million entries: sums of that many squares must not lose the last digits. */
TEST_IN_DIR(projected_columns_have_norm_1)
{
    enum { ROWS = 1000000, COLS = 8 };
    cs_comm alone = {.ranks = 1, .neighbours = 1};
    const cs_spectrum_options o = {.threads = 1};
    double square = 0, lost = 0;
    AUTO_OK(cs_csr, a, cs_csr_init(&a, ROWS, COLS, 2 * ROWS));
    for (int64_t i = 0; i < ROWS; ++i) {
        int32_t first = (int32_t)(i % (COLS - 1));
        a.col[2 * i] = first;
        a.col[2 * i + 1] = first + 1;
        a.val[2 * i] = (double)(1 + i % 5);
        a.val[2 * i + 1] = (double)(1 + i % 3);
        a.ptr[i + 1] = 2 * i + 2;
    }
    AUTO_OK(cs_shard, shard, cs_shard_read(&alone, stored(state, &a), true, &shard));
    AUTO_OK(cs_ranked, r, cs_ranked_open(&shard, &o, &r));
    AUTO_OK(cs_dense, x, cs_dense_init(&x, ROWS, 1));
    for (int64_t i = 0; i < ROWS; ++i) {
        x.data[i] = 1 + (double)(i % 7) / 8;
    }
    OK(cs_ranked_project(&r, CS_LEFT, &x));
    for (int64_t i = 0; i < ROWS; ++i) {
        cs_add_compensated(&square, &lost, x.data[i] * x.data[i]);
    }
    /* The sum, its root, the division, squares and their sum: half an eps each, the sums two. */
    assert_true(fabs(square + lost - 1) <= 8 * DBL_EPSILON);
}

typedef struct {
    const char *good, *bad;
    int which; /* the rank that reads the bad one; -1: all */
    cs_spectrum_options options;
} bad_job;

static cs_status bad_rank(cs_comm *c, void *ctx)
{
    const bad_job *job = ctx;
    CS_AUTO(cs_shard) shard = {0};
    CS_AUTO(cs_spectrum) s = {0};
    bool bad = job->which < 0 || c->rank == job->which;
    cs_status status = cs_shard_read(c, bad ? job->bad : job->good, true, &shard);
    status = status ? status : cs_ranked_spectrum(&shard, &job->options, &s);
    return status;
}

static void expect_bad(bad_job job, cs_status code, const char *part)
{
    cs_status status[MOST_RANKS];
    char reason[MOST_RANKS][1024];
    (void)run_ranks(3, bad_rank, &job, status, reason);
    for (int r = 0; r < 3; ++r) {
        assert_int_equal(status[r], code);
        if (!strstr(reason[r], part)) {
            fail_msg("'%s' lacks '%s'", reason[r], part);
        }
    }
}

TEST_IN_DIR(all_ranks_learn_of_a_failure)
{
    CS_AUTO(cs_csr) a = untidy_matrix(1, 60, 20, 2), tiny = cycle(2), empty = {0};
    bad_job job = {.good = stored(state, &a), .which = 1, .options = {.k = 2, .threads = 1}};
    job.bad = in_dir(state, "missing.npz");
    expect_bad(job, CS_ERR_IO, "rank 1 of 3: ");
    job.which = -1;
    expect_bad(job, CS_ERR_IO, "missing.npz: ");
    job.bad = in_dir(state, "negative.npz");
    a.val[3] = -1;
    OK(cs_matrix_write_npz(job.bad, &a, true));
    expect_bad(job, CS_ERR_INPUT, "value -1 is negative");
    job.bad = in_dir(state, "tiny.npz");
    OK(cs_matrix_write_npz(job.bad, &tiny, true));
    expect_bad(job, CS_ERR_USAGE, "less than the 3 ranks");
    job.bad = in_dir(state, "empty.npz");
    OK(cs_csr_init(&empty, 5, 4, 0));
    OK(cs_matrix_write_npz(job.bad, &empty, true));
    expect_bad(job, CS_ERR_INPUT, "no nonzero entry");
    job.bad = job.good;
    job.options.k = 21;
    expect_bad(job, CS_ERR_USAGE, "21 singular triplets requested");
    job.options = (cs_spectrum_options){.k = 2, .threads = 1, .solver = CS_SOLVER_LAPACK};
    expect_bad(job, CS_ERR_USAGE, "solver lapack works in a single process");
    job.options.solver = CS_SOLVER_ARPACK;
    expect_bad(job, CS_ERR_DEVICE, "no PARPACK");
}

/* Alone, no rank waits for another: any allocation may fail. */
TEST_IN_DIR(every_allocation_may_fail)
{
    CS_AUTO(cs_csr) a = untidy_matrix(2, 40, 15, 3);
    const char *path = stored(state, &a);
    cs_comm alone = {.ranks = 1, .neighbours = 1};
    cs_spectrum_options o = {.k = 4, .certify = ALL, .moment4 = true, .threads = 1};
    for (int way = 0; way < 3; ++way) {
        o.moment4_budget = way == 0 ? 0 : 0.5;
        o.normalised = way == 2;
        EACH_ALLOCATION_FAILS(n) {
            CS_AUTO(cs_shard) shard = {0};
            CS_AUTO(cs_spectrum) s = {0};
            cs_status status = cs_shard_read(&alone, path, true, &shard);
            status = status ? status : cs_ranked_spectrum(&shard, &o, &s);
            if (out_of_memory(status)) assert_null(s.sigma);
        }
    }
}
