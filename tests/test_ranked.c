/* The SVD and the build over a group of threads, against those of one process. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "comm_threads.h"
#include "cooc/builder.h"
#include "cooc_compare.h"
#include "cooc_matrices.h"
#include "io/npz.h"
#include "io_support.h"
#include "linalg/matrix_file.h"
#include "linalg/matrix_stream.h"
#include "mpi/ranked.h"
#include "plan/spec.h"
#include "small_corpus.h"
#include "spectrum_support.h"

/* Values of two runs of a solver told 1e-12, sigma_1 = 1. */
static const double SAME = 1e-10;

typedef struct {
    const char *path;
    cs_spectrum_options options;
    cs_spectrum *result; /* of each rank */
} svd_job;

static cs_status svd_rank(cs_comm *c, void *ctx)
{
    const svd_job *job = ctx;
    cs_shard shard = {0};
    cs_status status = cs_shard_read(c, job->path, !job->options.normalised, &shard);
    status = status ? status : cs_ranked_spectrum(&shard, &job->options, &job->result[c->rank]);
    cs_shard_free(&shard);
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
    assert_int_equal(cs_matrix_write_npz(path, a, true), CS_OK);
    return path;
}

static void assert_alike(const cs_spectrum *one, const cs_spectrum *many)
{
    assert_true(many->converged);
    assert_int_equal(one->rows, many->rows);
    assert_int_equal(one->cols, many->cols);
    assert_int_equal(one->nnz, many->nnz);
    assert_int_equal(one->zero_rows, many->zero_rows);
    assert_int_equal(one->zero_cols, many->zero_cols);
    assert_int_equal(one->components, many->components);
    assert_int_equal(one->k, many->k);
    assert_int_equal(one->zeros, many->zeros);
    assert_true(fabs(one->mass - many->mass) <= 1e-12 * one->mass);
    assert_true(fabs(one->sum_sigma2 - many->sum_sigma2) <= 1e-12 * one->sum_sigma2);
    for (int64_t j = 0; j < one->k; ++j) {
        assert_true(fabs(one->sigma[j] - many->sigma[j]) <= SAME);
        assert_true(many->residual[j] <= 1e-12);
    }
    assert_int_equal(one->cert_components.state, many->cert_components.state);
    assert_int_equal(one->cert_probe.state, many->cert_probe.state);
    assert_int_equal(many->cert_residual.state, CS_CERT_PASSED);
}

/* The vectors of rank 0 solve the problem: residuals by the plain matrix, columns of norm 1. */
static void assert_vectors(const cs_csr *a, const cs_spectrum *s)
{
    cs_csr abar = normalised(a), at = {0};
    cs_linop_csr_ctx ctx;
    assert_int_equal(cs_csr_transpose(&abar, &at), CS_OK);
    cs_linop op = cs_linop_csr(&ctx, &abar, &at, 1);
    double *residual = cs_alloc(s->k, sizeof *residual);
    assert_int_equal(cs_svd_residuals(&op, s->k, s->sigma, &s->u, &s->v, residual), CS_OK);
    for (int64_t j = 0; j < s->k; ++j) {
        double square = 0;
        assert_true(residual[j] <= 1e-12);
        for (int64_t i = 0; i < s->u.rows; ++i) {
            square += s->u.data[i + j * s->u.ld] * s->u.data[i + j * s->u.ld];
        }
        assert_true(fabs(square - 1) <= 1e-12);
    }
    cs_free(residual);
    cs_csr_free(&abar);
    cs_csr_free(&at);
}

static void compare(void **state, const cs_csr *a, int64_t k, bool wide)
{
    cs_csr turned = {0};
    if (wide) {
        assert_int_equal(cs_csr_transpose(a, &turned), CS_OK);
        a = &turned;
    }
    cs_spectrum all[MOST_RANKS] = {0};
    svd_job job = {
        .path = stored(state, a),
        .options = {.k = k, .certify = CS_CERTIFY_USUAL, .moment4 = true, .seed = 3, .threads = 1},
        .result = all};
    cs_spectrum one = spectrum_of(a, job.options);
    for (int ranks = 1; ranks <= 4; ++ranks) {
        run_svd(ranks, &job);
        for (int r = 0; r < ranks; ++r) {
            assert_alike(&one, &all[r]);
            assert_memory_equal(all[r].sigma, all[0].sigma, (size_t)one.k * sizeof(double));
            assert_true(r == 0 || all[r].u.rows == 0);
            assert_true(fabs(one.sum_sigma4 - all[r].sum_sigma4) <= 1e-11 * one.sum_sigma4);
        }
        assert_vectors(a, &all[0]);
        for (int r = 0; r < ranks; ++r) {
            cs_spectrum_free(&all[r]);
        }
    }
    cs_spectrum_free(&one);
    cs_csr_free(&turned);
}

static void values_are_those_of_one_process(void **state)
{
    for (int wide = 0; wide < 2; ++wide) {
        cs_csr a = untidy_matrix(3, 300, 90, 5), b = untidy_matrix(1, 700, 200, 6);
        compare(state, &a, 20, wide != 0);
        compare(state, &b, 12, wide != 0);
        compare(state, &b, 1, wide != 0);
        cs_csr_free(&a);
        cs_csr_free(&b);
    }
}

/* More components than values wanted, and double values below 1. */
static void copies_are_found(void **state)
{
    cs_csr blocks = multiplicity_matrix(false, 12, 4), ring = cycle(60);
    compare(state, &blocks, 8, false);
    compare(state, &blocks, 30, false);
    compare(state, &ring, 21, false);
    cs_csr_free(&blocks);
    cs_csr_free(&ring);
}

/* Every value, a matrix that came normalised, and no reduction. */
static void ways_of_asking(void **state)
{
    cs_csr a = untidy_matrix(2, 120, 40, 8), abar = normalised(&a);
    for (int way = 0; way < 3; ++way) {
        cs_spectrum all[MOST_RANKS] = {0};
        svd_job job = {.path = stored(state, way == 1 ? &abar : &a),
                       .options = {.k = way == 0 ? 0 : 6,
                                   .normalised = way == 1,
                                   .no_reduction = way == 2,
                                   .values_only = true,
                                   .seed = 1,
                                   .threads = 1},
                       .result = all};
        cs_spectrum one = spectrum_of(way == 1 ? &abar : &a, job.options);
        for (int ranks = 1; ranks <= 3; ++ranks) {
            run_svd(ranks, &job);
            assert_true(all[0].converged);
            assert_int_equal(one.k, all[0].k);
            for (int64_t j = 0; j < one.k; ++j) {
                assert_true(fabs(one.sigma[j] - all[0].sigma[j]) <= SAME);
            }
            assert_true(way == 1 || one.cert_components.state == all[0].cert_components.state);
            assert_true(way != 0 || all[0].cert_moments.state == CS_CERT_PASSED);
            assert_true(way != 0 || all[0].rank == one.rank);
            for (int r = 0; r < ranks; ++r) {
                assert_null(all[r].u.data);
                cs_spectrum_free(&all[r]);
            }
        }
        cs_spectrum_free(&one);
    }
    cs_csr_free(&a);
    cs_csr_free(&abar);
}

/* The estimate of the fourth moment brackets the exact sum; the same number of ranks gives the same
 * bits. */
static void estimates_and_bits(void **state)
{
    cs_csr a = untidy_matrix(2, 500, 120, 9);
    cs_spectrum all[2][MOST_RANKS] = {0};
    svd_job job = {.path = stored(state, &a),
                   .options = {.k = 10,
                               .moment4 = true,
                               .moment4_budget = 0.5,
                               .values_only = true,
                               .seed = 2,
                               .threads = 1}};
    cs_spectrum_options exact = job.options;
    exact.moment4_budget = 0;
    cs_spectrum one = spectrum_of(&a, exact);
    for (int t = 0; t < 2; ++t) {
        job.result = all[t];
        run_svd(3, &job);
        assert_true(all[t][0].sum_sigma4_error > 0);
        assert_true(fabs(all[t][0].sum_sigma4 - one.sum_sigma4) <= 5 * all[t][0].sum_sigma4_error);
    }
    assert_memory_equal(all[0][0].sigma, all[1][0].sigma, (size_t)one.k * sizeof(double));
    assert_true(all[0][0].sum_sigma4 == all[1][0].sum_sigma4);
    for (int r = 0; r < 3; ++r) {
        cs_spectrum_free(&all[0][r]);
        cs_spectrum_free(&all[1][r]);
    }
    cs_spectrum_free(&one);
    cs_csr_free(&a);
}

typedef struct {
    const char *good, *bad;
    int which; /* the rank that reads the bad one; -1: all */
    cs_spectrum_options options;
} bad_job;

static cs_status bad_rank(cs_comm *c, void *ctx)
{
    const bad_job *job = ctx;
    cs_shard shard = {0};
    cs_spectrum s = {0};
    bool bad = job->which < 0 || c->rank == job->which;
    cs_status status = cs_shard_read(c, bad ? job->bad : job->good, true, &shard);
    status = status ? status : cs_ranked_spectrum(&shard, &job->options, &s);
    cs_shard_free(&shard);
    cs_spectrum_free(&s);
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

static void all_ranks_learn_of_a_failure(void **state)
{
    cs_csr a = untidy_matrix(1, 60, 20, 2), tiny = cycle(2), empty = {0};
    bad_job job = {.good = stored(state, &a), .which = 1, .options = {.k = 2, .threads = 1}};
    job.bad = in_dir(state, "missing.npz");
    expect_bad(job, CS_ERR_IO, "rank 1 of 3: ");
    job.which = -1;
    expect_bad(job, CS_ERR_IO, "missing.npz: ");
    job.bad = in_dir(state, "negative.npz");
    a.val[3] = -1;
    assert_int_equal(cs_matrix_write_npz(job.bad, &a, true), CS_OK);
    expect_bad(job, CS_ERR_INPUT, "value -1 is negative");
    job.bad = in_dir(state, "tiny.npz");
    assert_int_equal(cs_matrix_write_npz(job.bad, &tiny, true), CS_OK);
    expect_bad(job, CS_ERR_USAGE, "shorter than the 3 ranks");
    job.bad = in_dir(state, "empty.npz");
    assert_int_equal(cs_csr_init(&empty, 5, 4, 0), CS_OK);
    assert_int_equal(cs_matrix_write_npz(job.bad, &empty, true), CS_OK);
    expect_bad(job, CS_ERR_INPUT, "no nonzero entry");
    job.bad = job.good;
    job.options.k = 21;
    expect_bad(job, CS_ERR_USAGE, "21 singular triplets wanted");
    job.options = (cs_spectrum_options){.k = 2, .threads = 1, .solver = CS_SOLVER_LAPACK};
    expect_bad(job, CS_ERR_USAGE, "solver lapack works in one process");
    job.options.solver = CS_SOLVER_ARPACK;
    expect_bad(job, CS_ERR_DEVICE, "no PARPACK");
    cs_csr_free(&a);
    cs_csr_free(&tiny);
    cs_csr_free(&empty);
}

/* Alone, no rank waits for another: any allocation may fail. */
static void every_allocation_may_fail(void **state)
{
    cs_csr a = untidy_matrix(2, 40, 15, 3);
    const char *path = stored(state, &a);
    cs_comm alone = {.ranks = 1, .neighbours = 1};
    cs_spectrum_options o = {.k = 4, .certify = CS_CERTIFY_USUAL, .moment4 = true, .threads = 1};
    for (int way = 0; way < 2; ++way) {
        o.moment4_budget = way == 0 ? 0 : 0.5;
        for (int64_t n = 1;; ++n) {
            cs_shard shard = {0};
            cs_spectrum s = {0};
            (void)cs_mem_fail_at(n);
            cs_status status = cs_shard_read(&alone, path, true, &shard);
            status = status ? status : cs_ranked_spectrum(&shard, &o, &s);
            int64_t made = cs_mem_fail_at(0);
            cs_shard_free(&shard);
            cs_reason_clear();
            if (status == CS_OK) {
                assert_true(made < n);
                cs_spectrum_free(&s);
                break;
            }
            assert_int_equal(status, CS_ERR_MEMORY);
            assert_null(s.sigma);
        }
    }
    cs_csr_free(&a);
}

/* --- the build -------------------------------------------------------------------------------- */

typedef struct {
    const cs_corpus *corpus;
    cs_cooc_options options;
    cs_cooc *result;
} build_job;

static cs_status build_rank(cs_comm *c, void *ctx)
{
    const build_job *job = ctx;
    cs_cooc_options o = job->options;
    o.comm = c;
    return cs_cooc_build(job->corpus, &o, &job->result[c->rank]);
}

/* Every context mode, exact and fixed-point weights, with and without spilling: the same bits. */
static void builds_are_those_of_one_process(void **state)
{
    (void)state;
    static const struct {
        const char *objective, *context;
        int64_t max_length, stride, draws;
    } kinds[] = {{"ar", "nearest:2", 0, 0, 0},
                 {"ar", "each:4", 0, 0, 0},
                 {"ar", "document", 0, 0, 0},
                 {"masked:mask-ratio=0.3", "each:5", 0, 0, 0},
                 {"masked:mask-ratio=0.3", "nearest:2", 0, 0, 0},
                 {"ar", "all", 4, 1, 0},
                 {"masked:mask-ratio=0.3", "all", 0, 0, 3}};
    int64_t length[600];
    for (int d = 0; d < 600; ++d) {
        length[d] = 2 + (d * 37) % 60;
    }
    cs_corpus corpus = small_corpus(600, length, 200, 3, 5);
    for (size_t t = 0; t < sizeof kinds / sizeof *kinds; ++t) {
        cs_cooc one = {0}, all[MOST_RANKS] = {0};
        build_job job = {&corpus, {.threads = 1, .memory_budget = 1 << 20}, all};
        job.options.max_length = kinds[t].max_length;
        job.options.stride = kinds[t].stride;
        job.options.draws = kinds[t].draws;
        assert_int_equal(cs_objective_parse(kinds[t].objective, &job.options.objective), CS_OK);
        assert_int_equal(cs_context_parse(kinds[t].context, &job.options.context), CS_OK);
        assert_int_equal(cs_cooc_build(&corpus, &job.options, &one), CS_OK);
        for (int ranks = 1; ranks <= 4; ++ranks) {
            cs_status status[MOST_RANKS];
            char reason[MOST_RANKS][1024];
            (void)run_ranks(ranks, build_rank, &job, status, reason);
            for (int r = 0; r < ranks; ++r) {
                if (status[r] != CS_OK) {
                    fail_msg("rank %d of %d: %s", r, ranks, reason[r]);
                }
                assert_true(r == 0 || all[r].matrix.a.rows == 0);
            }
            assert_same_cooc(&one, &all[0]);
            for (int r = 0; r < ranks; ++r) {
                cs_cooc_free(&all[r]);
            }
        }
        cs_cooc_free(&one);
    }
    cs_corpus_free(&corpus);
}

static void a_build_that_cannot_be_fails_on_all_ranks(void **state)
{
    (void)state;
    int64_t length[] = {1, 1, 1};
    cs_corpus corpus = small_corpus(3, length, 4, 0, 5);
    cs_cooc all[MOST_RANKS] = {0};
    build_job job = {&corpus, {.threads = 1, .memory_budget = 1 << 20}, all};
    cs_status status[MOST_RANKS];
    char reason[MOST_RANKS][1024];
    assert_int_equal(cs_objective_parse("ar", &job.options.objective), CS_OK);
    assert_int_equal(cs_context_parse("nearest:1", &job.options.context), CS_OK);
    cs_status one = cs_cooc_build(&corpus, &job.options, &all[0]);
    assert_int_not_equal(one, CS_OK);
    (void)run_ranks(3, build_rank, &job, status, reason);
    for (int r = 0; r < 3; ++r) {
        assert_int_equal(status[r], one);
        assert_string_equal(reason[r], cs_reason());
    }
    cs_reason_clear();
    cs_corpus_free(&corpus);
}

/* --- rows from a file ------------------------------------------------------------------------- */

typedef struct {
    cs_csr a;
    int64_t next, nnz;
    bool same;
} seen;

static cs_status begin(void *ctx, int64_t rows, int64_t cols)
{
    seen *s = ctx;
    s->same = rows == s->a.rows && cols == s->a.cols;
    return CS_OK;
}

static cs_status row(void *ctx, int64_t number, int64_t n, const int32_t *col, const double *val)
{
    seen *s = ctx;
    int64_t at = s->a.ptr[number];
    s->same = s->same && number == s->next++ && n == s->a.ptr[number + 1] - at;
    for (int64_t e = 0; s->same && e < n; ++e) {
        s->same = col[e] == s->a.col[at + e] && val[e] == s->a.val[at + e];
    }
    s->nnz += n;
    return CS_OK;
}

/* 40,000 rows and more entries than a piece, and the forms that are read whole. */
static void files_are_streamed(void **state)
{
    static const char *const names[] = {"s.npz", "s.mtx"};
    cs_csr a = {0};
    assert_int_equal(cs_csr_init(&a, 40000, 50, 40000 * 8), CS_OK);
    for (int64_t i = 0; i < a.rows; ++i) {
        int64_t n = i % 17;
        for (int64_t e = 0; e < n && e < 8; ++e) {
            a.col[a.ptr[i] + e] = (int32_t)(e * 5 + i % 5);
            a.val[a.ptr[i] + e] = (double)(i + e + 1);
        }
        a.ptr[i + 1] = a.ptr[i] + (n < 8 ? n : 8);
    }
    for (int f = 0; f < 2; ++f) {
        const char *path = in_dir(state, names[f]);
        assert_int_equal(f == 0 ? cs_matrix_write_npz(path, &a, true)
                                : cs_matrix_write_mtx(path, &a, true),
                         CS_OK);
        seen s = {.a = a};
        const cs_row_visitor visitor = {&s, begin, row};
        assert_int_equal(cs_matrix_stream(path, &visitor), CS_OK);
        assert_true(s.same && s.next == a.rows && s.nnz == cs_csr_nnz(&a));
    }
    cs_csr_free(&a);
}

static cs_status begin_any(void *ctx, int64_t rows, int64_t cols)
{
    (void)ctx;
    return rows > 0 && cols > 0 ? CS_OK : CS_ERR_USAGE;
}

static cs_status row_any(void *ctx, int64_t number, int64_t n, const int32_t *col,
                         const double *val)
{
    double *sum = ctx;
    for (int64_t e = 0; e < n; ++e) {
        *sum += val[e] * (double)(col[e] + number);
    }
    return CS_OK;
}

/* A csr archive of 3 x 4 with these members. */
static const char *archive(void **state, int64_t pointers, const int64_t *indptr, int64_t entries,
                           const int32_t *indices, int64_t values, const double *data)
{
    const char *path = in_dir(state, "a.npz");
    const int64_t shape[] = {3, 4}, two = 2;
    cs_npz_writer *w = NULL;
    assert_int_equal(cs_npz_create(path, false, &w), CS_OK);
    assert_int_equal(cs_npz_add_text(w, "format", "csr"), CS_OK);
    assert_int_equal(cs_npz_add(w, "shape", CS_I64, 1, &two, shape), CS_OK);
    assert_int_equal(cs_npz_add(w, "indptr", CS_I64, 1, &pointers, indptr), CS_OK);
    assert_int_equal(cs_npz_add(w, "indices", CS_I32, 1, &entries, indices), CS_OK);
    assert_int_equal(cs_npz_add(w, "data", CS_F64, 1, &values, data), CS_OK);
    assert_int_equal(cs_npz_commit(&w), CS_OK);
    return path;
}

static void damaged_archives_are_named(void **state)
{
    double sum = 0;
    const cs_row_visitor any = {&sum, begin_any, row_any};
    const int64_t good[] = {0, 1, 1, 3}, falls[] = {0, 2, 1, 3}, beyond[] = {0, 1, 1, 9},
                  late[] = {1, 1, 1, 3};
    const int32_t col[] = {3, 0, 1}, outside[] = {3, 0, 4};
    const double val[] = {1, 2, 3}, bad[] = {1, NAN, 3};
    assert_int_equal(cs_matrix_stream(archive(state, 4, good, 3, col, 3, val), &any), CS_OK);
    assert_true(sum == 1 * 3 + 2 * 2 + 3 * 3);
    assert_fails(cs_matrix_stream(archive(state, 4, falls, 3, col, 3, val), &any), CS_ERR_INPUT,
                 "a.npz: member indptr.npy: item 2 is 1, not in 2..3");
    assert_fails(cs_matrix_stream(archive(state, 4, beyond, 3, col, 3, val), &any), CS_ERR_INPUT,
                 "item 3 is 9, not in 1..3");
    assert_fails(cs_matrix_stream(archive(state, 4, late, 3, col, 3, val), &any), CS_ERR_INPUT,
                 "begins with 1");
    assert_fails(cs_matrix_stream(archive(state, 3, good, 3, col, 3, val), &any), CS_ERR_INPUT,
                 "has 3 items for 3 rows");
    assert_fails(cs_matrix_stream(archive(state, 4, good, 3, col, 2, val), &any), CS_ERR_INPUT,
                 "indices.npy has 3 items, data.npy 2");
    assert_fails(cs_matrix_stream(archive(state, 4, good, 3, outside, 3, val), &any), CS_ERR_INPUT,
                 "4 in row 0 or after is not in 0..3");
    assert_fails(cs_matrix_stream(archive(state, 4, good, 3, col, 3, bad), &any), CS_ERR_INPUT,
                 "column 0: value nan is not finite");
}

/* A byte of the last member turned: its checksum tells. */
static void a_turned_byte_is_seen(void **state)
{
    cs_csr a = untidy_matrix(1, 200, 50, 3);
    const char *path = stored(state, &a);
    double sum = 0;
    const cs_row_visitor any = {&sum, begin_any, row_any};
    FILE *f = fopen(path, "r+b");
    assert_non_null(f);
    long at = -1;
    char text[4096];
    for (long from = 0; at < 0; from += (long)sizeof text - 16) { /* the data of data.npy */
        assert_int_equal(fseek(f, from, SEEK_SET), 0);
        size_t got = fread(text, 1, sizeof text, f);
        assert_true(got > 8);
        const char *name = memmem(text, got, "data.npy", 8);
        at = name ? from + (long)(name - text) + 500 : -1;
    }
    assert_int_equal(fseek(f, at, SEEK_SET), 0);
    int byte = fgetc(f);
    assert_int_equal(fseek(f, at, SEEK_SET), 0);
    assert_int_equal(fputc(byte ^ 1, f), byte ^ 1);
    assert_int_equal(fclose(f), 0);
    assert_fails(cs_matrix_stream(path, &any), CS_ERR_INPUT, "data.npy: cannot unpack");
    cs_csr_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_IN_DIR(values_are_those_of_one_process),
        TEST_IN_DIR(copies_are_found),
        TEST_IN_DIR(ways_of_asking),
        TEST_IN_DIR(estimates_and_bits),
        TEST_IN_DIR(all_ranks_learn_of_a_failure),
        TEST_IN_DIR(every_allocation_may_fail),
        cmocka_unit_test(builds_are_those_of_one_process),
        cmocka_unit_test(a_build_that_cannot_be_fails_on_all_ranks),
        TEST_IN_DIR(files_are_streamed),
        TEST_IN_DIR(damaged_archives_are_named),
        TEST_IN_DIR(a_turned_byte_is_seen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
