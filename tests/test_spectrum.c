/* cooc/spectrum against dense SVDs of the whole matrix, closed forms, and matrices built to fool
 * solvers (many copies of sigma = 1). Its certificates: test_certificates.c. */
#include <stdlib.h>

#include "base/threads.h"
#include "cooc_matrices.h"
#include "spectrum_support.h"
#include "test.h"

/* Every singular value of Abar by one dense SVD; min(rows, cols) values to free. */
static double *dense_values(const cs_csr *abar)
{
    int64_t p = abar->rows < abar->cols ? abar->rows : abar->cols;
    double *sigma = malloc((size_t)p * sizeof *sigma);
    assert_non_null(sigma);
    AUTO_OK(cs_dense, d, cs_csr_to_dense(abar, &d));
    OK(cs_dense_svd(&d, sigma, NULL, NULL));
    return sigma;
}

static void assert_orthonormal(const cs_dense *q)
{
    AUTO_OK(cs_dense, g, cs_dense_init(&g, q->cols, q->cols));
    OK(cs_gemm(true, false, 1, q, q, 0, &g));
    for (int64_t i = 0; i < q->cols; ++i) {
        assert_each(j, 0, q->cols, fabs(g.data[i + j * g.ld] - (i == j)) < CLOSE);
    }
}

/* ||Abar - U diag(sigma) V^T||_max: with orthonormal vectors it proves every triplet at once. */
static double reconstruction_error(const cs_csr *abar, const cs_spectrum *s)
{
    double worst = 0;
    AUTO_OK(cs_dense, d, cs_csr_to_dense(abar, &d));
    for (int64_t i = 0; i < d.rows; ++i) {
        for (int64_t j = 0; j < d.cols; ++j) {
            double x = d.data[i + j * d.ld];
            for (int64_t t = 0; t < s->k; ++t) {
                x -= s->sigma[t] * s->u.data[i + t * s->u.ld] * s->v.data[j + t * s->v.ld];
            }
            worst = fmax(worst, fabs(x));
        }
    }
    return worst;
}

/* All values of a spectrum taken with k = all against the dense ones. */
static void assert_all_values(const cs_spectrum *s, const double *expected, int64_t p)
{
    assert_true(s->solution.converged);
    assert_int_equal(s->rank, s->k);
    assert_int_equal(s->zeros, p - s->k);
    assert_each(j, 0, p, fabs((j < s->k ? s->sigma[j] : 0) - expected[j]) < CLOSE);
    assert_int_equal(s->cert.components.state, CS_CERT_PASSED);
    assert_int_equal(s->cert.moments.state, CS_CERT_PASSED);
    assert_int_equal(s->cert.residual.state, CS_CERT_PASSED);
    assert_int_equal(s->cert.probe.state, CS_CERT_NOT_RUN);
}

TEST(full_spectra_match_dense_svd)
{
    for (uint64_t seed = 1; seed <= 6; ++seed) {
        CS_AUTO(cs_csr) a =
            untidy_matrix((int64_t)seed, seed % 2 ? 90 : 50, seed % 2 ? 50 : 90, seed);
        CS_AUTO(cs_csr) abar = normalised(&a);
        CS_AUTO_FREE double *expected = dense_values(&abar);
        CS_AUTO(cs_spectrum) s =
            spectrum_of(&a, (cs_spectrum_options){.moment4 = true, .certify = CS_CERTIFY_USUAL});
        assert_all_values(&s, expected, 50);
        assert_orthonormal(&s.u);
        assert_orthonormal(&s.v);
        assert_true(reconstruction_error(&abar, &s) < CLOSE);
        assert_true(s.input.lumped_rows < a.rows - s.input.zero_rows); /* the twins were found */
        assert_true(s.input.lumped_cols < a.cols - s.input.zero_cols);
        double sum4 = SUM(j, 0, 50, pow(expected[j], 4));
        assert_true(fabs(s.moments.sum_sigma4 - sum4) < CLOSE && s.moments.sum_sigma4_error == 0);
        CS_AUTO(cs_spectrum) plain = spectrum_of(&a, (cs_spectrum_options){.no_reduction = true});
        assert_all_values(&plain, expected, 50);
        assert_true(isnan(plain.moments.sum_sigma4));
        CS_AUTO(cs_spectrum) given = spectrum_of(&abar, (cs_spectrum_options){.normalised = true});
        assert_all_values(&given, expected, 50);
        assert_int_equal(given.input.lumped_rows, s.input.lumped_rows);
        assert_int_equal(given.input.lumped_cols, s.input.lumped_cols);
        assert_null(given.input.row_mass);
        assert_true(reconstruction_error(&abar, &given) < CLOSE);
        CS_AUTO(cs_csr) shares = {
            0}; /* probabilities in place of counts: compared to a tolerance */
        OK(cs_csr_select(&a, a.rows, NULL, NULL, a.cols, &shares));
        for (int64_t e = 0; e < cs_csr_nnz(&shares); ++e) {
            shares.val[e] *= 1.0 / 7001;
        }
        CS_AUTO(cs_spectrum) scaled = spectrum_of(&shares, (cs_spectrum_options){0});
        assert_all_values(&scaled, expected, 50);
        assert_int_equal(scaled.input.lumped_rows, s.input.lumped_rows);
        assert_int_equal(scaled.input.lumped_cols, s.input.lumped_cols);
        CS_AUTO(cs_spectrum) values = spectrum_of(&a, (cs_spectrum_options){.values_only = true});
        assert_all_values(&values, expected, 50);
        assert_null(values.u.data);
        assert_null(values.v.data);
    }
}

TEST(truncated_spectra_are_prefixes)
{
    CS_AUTO(cs_csr) a = untidy_matrix(3, 120, 80, 9);
    CS_AUTO(cs_csr) abar = normalised(&a);
    CS_AUTO_FREE double *expected = dense_values(&abar);
    for (int64_t k = 1; k <= 80; k += 7) {
        CS_AUTO(cs_spectrum) s = spectrum_of(
            &a, (cs_spectrum_options){.k = k, .certify = CS_CERTIFY_USUAL, .moment4 = true});
        assert_int_equal(s.k + s.zeros, k);
        assert_each(j, 0, k, fabs((j < s.k ? s.sigma[j] : 0) - expected[j]) < CLOSE);
        assert_orthonormal(&s.v);
        assert_int_not_equal(s.cert.moments.state, CS_CERT_FAILED);
        /* The bound on what is left holds. */
        if (s.zeros == 0 && s.rank < 0) {
            assert_true(s.cert.moments.value >= expected[k] - CLOSE);
            assert_int_equal(s.cert.probe.state, CS_CERT_PASSED);
            assert_true(s.cert.probe.value <= expected[k] + CLOSE);
            assert_true(s.cert.probe_failure <= 1e-6);
        }
    }
}

TEST(cycles_have_their_cosines)
{
    const double pi = acos(-1);
    const int64_t sizes[] = {9, 64, 700};
    for (int i = 0; i < 3; ++i) {
        for (int sparse = 0; sparse < 2; ++sparse) {
            int64_t n = sizes[i], k = n < 10 ? n : 10;
            CS_AUTO(cs_csr) a = cycle(n);
            CS_AUTO(cs_spectrum) s = spectrum_of(
                &a, (cs_spectrum_options){.k = k,
                                          .solver = sparse ? CS_SOLVER_ARPACK : CS_SOLVER_AUTO,
                                          .certify = CS_CERTIFY_USUAL});
            assert_true(s.solution.converged);
            assert_int_equal(s.input.components, 1);
            assert_int_equal(s.k, k);
            for (int64_t j = 0; j < k; ++j) { /* 0, then pairs j and n - j */
                double expected = fabs(cos(pi * (double)((j + 1) / 2) / (double)n));
                assert_true(fabs(s.sigma[j] - expected) < CLOSE);
            }
            if (k < n) {
                assert_int_equal(s.cert.probe.state, CS_CERT_PASSED);
                assert_int_equal(s.solution.solver,
                                 sparse && n > 600 ? CS_SOLVER_ARPACK : CS_SOLVER_LAPACK);
            }
        }
    }
}

static void check_multiplicity(const cs_csr *a, bool rank1, int64_t blocks, bool is_normalised)
{
    const int64_t wanted[] = {blocks / 2, blocks, blocks + 40};
    for (int i = 0; i < 3; ++i) {
        int64_t k = wanted[i], ones = k < blocks ? k : blocks;
        CS_AUTO(cs_spectrum) s = spectrum_of(a, (cs_spectrum_options){.k = k,
                                                                      .normalised = is_normalised,
                                                                      .certify = CS_CERTIFY_USUAL,
                                                                      .moment4 = true});
        assert_true(s.solution.converged);
        assert_int_equal(s.input.components, blocks);
        assert_each(j, 0, s.k, (j < ones) == (fabs(s.sigma[j] - 1) < CLOSE));
        assert_int_equal(s.cert.components.state, CS_CERT_PASSED);
        assert_int_equal(s.cert.residual.state, CS_CERT_PASSED);
        assert_true(s.cert.components.value == (double)ones);
        assert_orthonormal(&s.u);
        if (rank1) { /* every other value is 0 */
            assert_int_equal(s.k, ones);
            assert_int_equal(s.zeros, k - ones);
            assert_int_equal(s.rank, k < blocks ? -1 : blocks);
            assert_int_equal(s.input.lumped_rows, blocks);
            assert_int_equal(s.input.lumped_cols, blocks);
            assert_true(fabs(s.moments.sum_sigma4 - (double)blocks) < 1e-9);
            assert_int_equal(s.cert.moments.state, CS_CERT_PASSED);
        } else {
            assert_int_equal(s.k, k);
            assert_int_equal(s.rank, -1);
            assert_int_equal(s.cert.probe.state, CS_CERT_PASSED);
        }
    }
}

TEST(every_copy_of_one_is_found)
{
    for (int rank1 = 0; rank1 < 2; ++rank1) {
        for (int64_t blocks = 64; blocks <= 256; blocks *= 4) {
            CS_AUTO(cs_csr) a = multiplicity_matrix(rank1, blocks, 7);
            CS_AUTO(cs_csr) abar = normalised(&a);
            check_multiplicity(&a, rank1, blocks, false);
            check_multiplicity(&abar, rank1, blocks, true);
        }
    }
}

/* All triplets of 64 blocks: the multiplicity, the rank and the moments agree with nothing missing.
 */
TEST(full_rank_of_many_blocks)
{
    CS_AUTO(cs_csr) a = multiplicity_matrix(false, 64, 3);
    CS_AUTO(cs_spectrum) s = spectrum_of(&a, (cs_spectrum_options){.values_only = true});
    assert_int_equal(s.rank, s.k);
    assert_int_equal(s.cert.moments.state, CS_CERT_PASSED);
    assert_int_equal(s.cert.components.state, CS_CERT_PASSED);
    assert_true(s.cert.components.value == 64);
}

/* Many rows, few columns, most rows of one entry: the shape of a real corpus, several large blocks.
 */
TEST(sparse_solver_serves_large_blocks)
{
    CS_AUTO(cs_csr) a = untidy_matrix(2, 2400, 2200, 4);
    CS_AUTO(cs_spectrum) dense = spectrum_of(
        &a,
        (cs_spectrum_options){.k = 12, .solver = CS_SOLVER_LAPACK, .certify = CS_CERTIFY_USUAL});
    CS_AUTO(cs_spectrum) sparse = spectrum_of(
        &a,
        (cs_spectrum_options){.k = 12, .solver = CS_SOLVER_ARPACK, .certify = CS_CERTIFY_USUAL});
    assert_int_equal(dense.solution.solver, CS_SOLVER_LAPACK);
    assert_int_equal(sparse.solution.solver, CS_SOLVER_ARPACK);
    assert_true(sparse.solution.converged);
    assert_each(j, 0, 12, fabs(dense.sigma[j] - sparse.sigma[j]) < CLOSE);
    assert_each(j, 0, 12, sparse.residual[j] < 1e-12);
    assert_int_equal(sparse.cert.probe.state, CS_CERT_PASSED);
    assert_orthonormal(&sparse.u);
}

/* A named sparse solver serves the large components only: small ones, and one that is wanted
 * completely, are dense, so that no component refuses the whole matrix. */
TEST(a_named_solver_refuses_no_component)
{
    CS_AUTO(cs_csr) a = multiplicity_matrix(false, 64, 3), abar = normalised(&a);
    for (int given = 0; given < 2; ++given) {
        cs_spectrum_options o = {.k = 80, .normalised = given};
        CS_AUTO(cs_spectrum) dense = spectrum_of(given ? &abar : &a, o);
        o.solver = CS_SOLVER_ARPACK;
        CS_AUTO(cs_spectrum) sparse = spectrum_of(given ? &abar : &a, o);
        assert_true(sparse.solution.converged);
        assert_int_equal(sparse.k, 80);
        assert_each(j, 0, 80, fabs(sparse.sigma[j] - dense.sigma[j]) < CLOSE);
        assert_int_equal(sparse.cert.components.state, CS_CERT_PASSED);
    }
}

/* diag(cycle of 601, cycle of 640), given as normalised: of the smaller, 601 of 605 values wanted
 * are all there are, which ARPACK refuses; the larger has more than are wanted. */
TEST(a_large_component_wanted_whole_is_dense)
{
    enum { N = 601, M = 640 };
    cs_csr part[] = {cycle(N), cycle(M)}, a = {0};
    OK(cs_csr_init(&a, N + M, N + M, 2 * (N + M)));
    for (int64_t i = 0; i < N + M; ++i) {
        a.ptr[i + 1] = 2 * (i + 1);
    }
    for (int64_t e = 0; e < 2 * (N + M); ++e) {
        a.col[e] = e < 2 * N ? part[0].col[e] : N + part[1].col[e - 2 * N];
        a.val[e] = 0.5;
    }
    cs_spectrum_options o = {
        .k = 605, .normalised = true, .values_only = true, .solver = CS_SOLVER_LAPACK};
    CS_AUTO(cs_spectrum) dense = spectrum_of(&a, o);
    o.solver = CS_SOLVER_ARPACK;
    CS_AUTO(cs_spectrum) sparse = spectrum_of(&a, o);
    assert_true(sparse.solution.converged);
    assert_int_equal(sparse.solution.solver, CS_SOLVER_ARPACK);
    assert_each(j, 0, 605, fabs(sparse.sigma[j] - dense.sigma[j]) < CLOSE);
    cs_csr_free(&a);
    cs_csr_free(&part[0]);
    cs_csr_free(&part[1]);
}

/* Signed matrices are allowed as given, and are no co-occurrence matrices. */
TEST(signed_matrices_have_their_svd)
{
    CS_AUTO(cs_csr) a = untidy_matrix(3, 40, 60, 5);
    for (int64_t e = 0; e < cs_csr_nnz(&a); e += 3) {
        a.val[e] = -a.val[e];
    }
    CS_AUTO_FREE double *expected = dense_values(&a);
    CS_AUTO(cs_spectrum) s = spectrum_of(&a, (cs_spectrum_options){.normalised = true});
    assert_true(s.solution.converged);
    assert_int_equal(s.input.components, 3);
    assert_each(j, 0, s.k, fabs(s.sigma[j] - expected[j]) < CLOSE * expected[0]);
    assert_each(j, s.k, 40, expected[j] < CLOSE * expected[0]);
    assert_int_equal(s.cert.components.state, CS_CERT_NOT_RUN);
    assert_int_equal(s.cert.moments.state, CS_CERT_PASSED);
    assert_true(reconstruction_error(&a, &s) < CLOSE * expected[0]);
}

TEST(marginals_are_probabilities)
{
    /* Row and column 1 are empty; total 10. */
    cs_csr a = matrix_of(3, 3, (double[]){1, 0, 2, 0, 0, 0, 3, 0, 4});
    cs_spectrum s = spectrum_of(&a, (cs_spectrum_options){0});
    const double row[] = {0.3, 0, 0.7}, col[] = {0.4, 0, 0.6};
    assert_each(i, 0, 3, fabs(s.input.row_mass[i] - row[i]) < 1e-15);
    assert_each(i, 0, 3, fabs(s.input.col_mass[i] - col[i]) < 1e-15);
    assert_each(i, 0, 3, fabs(fabs(s.u.data[i]) - sqrt(row[i])) < 1e-15);
    assert_each(i, 0, 3, fabs(fabs(s.v.data[i]) - sqrt(col[i])) < 1e-15);
    assert_int_equal(s.input.zero_rows, 1);
    assert_int_equal(s.input.zero_cols, 1);
    assert_int_equal(s.input.nnz, 4);
    assert_true(s.input.mass == 10);
    assert_int_equal(s.k, 2);
    assert_int_equal(s.zeros, 1);
    /* det Abar / 1 of the 2 x 2 core: |1 * 4 - 2 * 3| / sqrt(3 * 7 * 4 * 6). */
    assert_true(fabs(s.sigma[1] - 2 / sqrt(504)) < 1e-15);
    cs_spectrum_free(&s);
    cs_csr_free(&a);
    /* Scale does not matter, also where products of masses would leave the range of doubles. */
    for (int i = 0; i < 2; ++i) {
        double x = i ? 1e-200 : 1e200;
        a = matrix_of(2, 2, (double[]){x, 2 * x, 3 * x, 4 * x});
        s = spectrum_of(&a, (cs_spectrum_options){0});
        assert_true(fabs(s.sigma[1] - 2 / sqrt(504)) < 1e-15);
        cs_spectrum_free(&s);
        cs_csr_free(&a);
    }
}

/* Two components, of the first row and of the third, with an empty row and column between, as counts and
 * as Abar; a third has one column, and no second triplet. */
TEST(the_second_triplet_of_a_component)
{
    CS_AUTO(cs_csr) a =
        matrix_of(6, 6, (double[]){5, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3, 2, 0,
                                   1, 2, 0, 0, 0, 0, 0, 0, 0, 1, 4, 0, 0, 0, 0, 0, 0, 7});
    CS_AUTO(cs_csr) abar = normalised(&a);
    for (int given = 0; given < 2; ++given) {
        const cs_csr *m = given ? &abar : &a;
        CS_AUTO(cs_spectrum) all = spectrum_of(m, (cs_spectrum_options){.normalised = given});
        assert_int_equal(all.input.components, 3);
        assert_int_equal(all.k, 5);
        assert_int_equal(all.second.index, -1);
        for (int64_t c = 1; c <= 3; ++c) {
            CS_AUTO(cs_spectrum) s = spectrum_of(
                m, (cs_spectrum_options){.normalised = given, .values_only = true, .second = c});
            assert_null(s.u.data);
            assert_null(s.v.data);
            assert_true((s.second.index < 0) == (c == 3) && (s.second.v.data == NULL) == (c == 3));
            /* det / sqrt(product of the sums): 9 / sqrt(6 3 6 3), 10 / sqrt(5 5 4 6) */
            assert_true(c == 3 || fabs(s.sigma[s.second.index] -
                                       (c == 1 ? 9.0 / 18 : 10 / sqrt(600))) < CLOSE);
            for (int64_t i = 0; i < 6 && c < 3; ++i) {
                const int64_t t = s.second.index;
                assert_true(s.second.u.data[i] == all.u.data[i + t * all.u.ld]);
                assert_true(s.second.v.data[i] == all.v.data[i + t * all.v.ld]);
            }
        }
    }
}

TEST(threads_do_not_change_the_answer)
{
    CS_AUTO(cs_csr) a = multiplicity_matrix(false, 40, 11);
    CS_AUTO(cs_spectrum) one =
        spectrum_of(&a, (cs_spectrum_options){.k = 90, .threads = 1, .moment4 = true});
    for (int threads = 2; threads <= 5; ++threads) {
        CS_AUTO(cs_spectrum) s =
            spectrum_of(&a, (cs_spectrum_options){.k = 90, .threads = threads, .moment4 = true});
        assert_int_equal(s.k, one.k);
        assert_each(j, 0, s.k, fabs(s.sigma[j] - one.sigma[j]) < CLOSE);
        assert_true(s.moments.sum_sigma4 == one.moments.sum_sigma4 &&
                    s.moments.sum_sigma2 == one.moments.sum_sigma2);
    }
}

static void refuse(const cs_csr *a, cs_spectrum_options o, cs_status expected, const char *part)
{
    cs_spectrum s = {0};
    assert_fails(cs_spectrum_of(a, &o, &s), expected, part);
    assert_null(s.sigma);
    assert_null(s.u.data);
}

TEST(bad_input_is_named)
{
    CS_AUTO(cs_csr) a = matrix_of(2, 3, (double[]){1, 2, 3, 4, 5, 6});
    refuse(&a, (cs_spectrum_options){.k = 3}, CS_ERR_USAGE, "3 singular triplets");
    refuse(&a, (cs_spectrum_options){.k = 3}, CS_ERR_USAGE, "2 x 3");
    refuse(&a, (cs_spectrum_options){.k = -1}, CS_ERR_USAGE, "-1");
    refuse(&a, (cs_spectrum_options){.tol = -0.5}, CS_ERR_USAGE, "-0.5");
    refuse(&a, (cs_spectrum_options){.tol = NAN}, CS_ERR_USAGE, "nan");
    refuse(&a, (cs_spectrum_options){.max_iterations = -7}, CS_ERR_USAGE, "-7");
    a.val[4] = -5;
    refuse(&a, (cs_spectrum_options){0}, CS_ERR_INPUT, "row 1, column 1");
    a.val[4] = NAN;
    refuse(&a, (cs_spectrum_options){0}, CS_ERR_INPUT, "row 1, column 1");
    refuse(&a, (cs_spectrum_options){.normalised = true}, CS_ERR_INPUT, "row 1, column 1");
    a.val[4] = INFINITY;
    refuse(&a, (cs_spectrum_options){0}, CS_ERR_INPUT, "row 1, column 1");
    a.val[3] = a.val[4] = 1.7e308;
    refuse(&a, (cs_spectrum_options){0}, CS_ERR_INPUT, "overflows");
    memset(a.val, 0, 6 * sizeof *a.val);
    refuse(&a, (cs_spectrum_options){0}, CS_ERR_INPUT, "(2 x 3) has no nonzero entry");
    cs_csr_free(&a);
    OK(cs_csr_init(&a, 2, 3, 0));
    refuse(&a, (cs_spectrum_options){0}, CS_ERR_INPUT, "no nonzero entry");
    cs_csr_free(&a);
    cs_csr abar = {0};
    a = matrix_of(1, 1, (double[]){-1});
    assert_int_equal(cs_normalise(&a, &abar, NULL, NULL), CS_ERR_INPUT);
    assert_null(abar.ptr);
    cs_reason_clear();
}

TEST(one_by_one_is_one)
{
    CS_AUTO(cs_csr) a = matrix_of(1, 1, (double[]){5});
    CS_AUTO(cs_spectrum) s =
        spectrum_of(&a, (cs_spectrum_options){.certify = CS_CERTIFY_USUAL, .moment4 = true});
    assert_int_equal(s.k, 1);
    assert_true(s.sigma[0] == 1 && s.u.data[0] == 1 && s.v.data[0] == 1);
    assert_int_equal(s.rank, 1);
    cs_spectrum_free(&s);
    s = spectrum_of(&a, (cs_spectrum_options){.normalised = true});
    assert_true(fabs(s.sigma[0] - 5) < 1e-14);
}

TEST(every_failed_allocation_is_reported)
{
    CS_AUTO(cs_csr) counts = untidy_matrix(2, 40, 36, 8), abar = normalised(&counts);
    for (int variant = 0; variant < 4; ++variant) {
        cs_spectrum_options o = {.k = 6,
                                 .threads = 1,
                                 .certify = CS_CERTIFY_USUAL,
                                 .moment4 = true,
                                 .normalised = variant == 1,
                                 .no_reduction = variant == 2,
                                 .values_only = variant == 3};
        EACH_ALLOCATION_FAILS(n) {
            CS_AUTO(cs_spectrum) s = {0};
            if (out_of_memory(cs_spectrum_of(variant == 1 ? &abar : &counts, &o, &s)))
                assert_null(s.sigma);
        }
    }
}

/* Masses of 319,600 rows that are no binary fractions: sums that drift with the number of terms
 * would put 1e-12 between the norms of u and v. Compensated sums leave a few eps. */
TEST(many_rows_keep_their_digits)
{
    enum { COLS = 800, ROWS = COLS * (COLS - 1) / 2 };
    AUTO_OK(cs_csr, a, cs_csr_init(&a, ROWS, COLS, 2 * (int64_t)ROWS));
    int64_t row = 0;
    for (int32_t first = 0; first < COLS;
         ++first) { /* a row for every pair: none are proportional */
        for (int32_t second = first + 1; second < COLS; ++second, ++row) {
            a.ptr[row + 1] = 2 * (row + 1);
            a.col[2 * row] = first;
            a.col[2 * row + 1] = second;
            a.val[2 * row] = a.val[2 * row + 1] = 0.1 / ROWS;
        }
    }
    cs_spectrum_options options = {.k = 1};
    AUTO_OK(cs_spectrum, s, cs_spectrum_of(&a, &options, &s));
    assert_true(s.solution.converged);
    assert_true(s.residual[0] < 1e-13);
}

/* Two columns of 3 and many of 1, a row for every pair: after 1 the largest value is sqrt(3/4),
 * once, with left entries +-1/sqrt(rows), whose squares add up with one-sided rounding, 6e-12 for
 * this number. */
TEST(norms_of_long_vectors_are_exact)
{
    enum { MANY = 126000, ROWS = 2 * MANY };
    AUTO_OK(cs_csr, a, cs_csr_init(&a, ROWS, 2 + MANY, 2 * (int64_t)ROWS));
    for (int64_t i = 0; i < ROWS; ++i) {
        a.ptr[i + 1] = 2 * i + 2;
        a.col[2 * i] = (int32_t)(i % 2);
        a.val[2 * i] = 3;
        a.col[2 * i + 1] = (int32_t)(2 + i / 2);
        a.val[2 * i + 1] = 1;
    }
    cs_spectrum_options o = {.k = 2, .values_only = true};
    AUTO_OK(cs_spectrum, s, cs_spectrum_of(&a, &o, &s));
    assert_true(s.solution.converged);
    assert_true(fabs(s.sigma[1] - sqrt(0.75)) < 1e-14);
    assert_true(s.residual[0] < 1e-13 && s.residual[1] < 1e-13);
    /* A column of 126,000 nonzeros goes through as many additions in one pass, or through 256 and
     * the number of its runs of 256: the default depends on which, and a given tolerance is
     * kept. */
    assert_true(s.solution.tol >= 1e-12 && s.solution.tol < 4 * (MANY + 40) * 0x1p-53);
    assert_true(s.cert.residual.bound == s.solution.tol * s.sigma[0]);
    cs_spectrum_free(&s);
    o.tol = 1e-13;
    OK(cs_spectrum_of(&a, &o, &s));
    assert_true(s.solution.converged && s.solution.tol == 1e-13);
}

/* A guess changes when the solver ends, not what it finds, whichever side is the smaller; one of
 * other sizes is refused. */
TEST(guesses_are_of_the_size_of_the_matrix)
{
    for (int wide = 0; wide < 2; ++wide) {
        CS_AUTO(cs_csr) a = untidy_matrix(1, wide ? 300 : 500, wide ? 500 : 300, 7);
        cs_spectrum_options o = {
            .k = 6, .solver = CS_SOLVER_BLOCK, .no_reduction = true, .seed = 3};
        cs_spectrum first = spectrum_of(&a, o), none = {0};
        o.start_u = &first.u;
        o.start_v = &first.v;
        CS_AUTO(cs_spectrum) warm = spectrum_of(&a, o);
        assert_true(warm.solution.converged && warm.k == o.k);
        assert_each(j, 0, o.k, fabs(warm.sigma[j] - first.sigma[j]) < CLOSE);
        o.start_v = NULL;
        assert_fails(cs_spectrum_of(&a, &o, &none), CS_ERR_USAGE, "start vectors are");
        o.start_v = &first.u; /* the sides changed */
        o.start_u = &first.v;
        assert_fails(cs_spectrum_of(&a, &o, &none), CS_ERR_USAGE,
                     wide ? "the matrix is 300 x 500" : "the matrix is 500 x 300");
        const cs_dense none_u = {.rows = a.rows}, none_v = {.rows = a.cols};
        o.start_u = &none_u;
        o.start_v = &none_v;
        assert_fails(cs_spectrum_of(&a, &o, &none), CS_ERR_USAGE, "x 0 and ");
        o.start_u = &first.u; /* one side without vectors */
        assert_fails(cs_spectrum_of(&a, &o, &none), CS_ERR_USAGE, "x 6 and ");
        o.start_u = &none_u;
        o.start_v = &first.v;
        assert_fails(cs_spectrum_of(&a, &o, &none), CS_ERR_USAGE, "x 0 and ");
        cs_spectrum_free(&first);
    }
}
