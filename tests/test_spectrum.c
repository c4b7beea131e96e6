/* cooc/spectrum against dense SVDs of the whole matrix, closed forms, and matrices built to fool
 * solvers (many copies of sigma = 1); certificates against planted faults. */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/status.h"
#include "base/threads.h"
#include "cooc/moments.h"
#include "cooc/spectrum.h"
#include "cooc/spectrum_stages.h"
#include "cooc_matrices.h"

/* Backward-stable algorithms on matrices of norm 1 and side <= 1000: errors of a few hundred units
 * of 1e-16; four digits of room. */
static const double CLOSE = 1e-12;

static cs_spectrum spectrum_of(const cs_csr *a, cs_spectrum_options options)
{
    cs_spectrum s = {0};
    cs_status status = cs_spectrum_of(a, &options, &s);
    if (status != CS_OK) {
        fail_msg("%s", cs_reason());
    }
    return s;
}

static cs_csr normalised(const cs_csr *a)
{
    cs_csr abar = {0};
    assert_int_equal(cs_normalise(a, &abar, NULL, NULL), CS_OK);
    return abar;
}

/* Every singular value of Abar by one dense SVD; min(rows, cols) values to free. */
static double *dense_values(const cs_csr *abar)
{
    cs_dense d = {0};
    int64_t p = abar->rows < abar->cols ? abar->rows : abar->cols;
    double *sigma = malloc((size_t)p * sizeof *sigma);
    assert_non_null(sigma);
    assert_int_equal(cs_csr_to_dense(abar, &d), CS_OK);
    assert_int_equal(cs_dense_svd(&d, sigma, NULL, NULL), CS_OK);
    cs_dense_free(&d);
    return sigma;
}

static void assert_orthonormal(const cs_dense *q)
{
    cs_dense g = {0};
    assert_int_equal(cs_dense_init(&g, q->cols, q->cols), CS_OK);
    assert_int_equal(cs_gemm(true, false, 1, q, q, 0, &g), CS_OK);
    for (int64_t i = 0; i < q->cols; ++i) {
        for (int64_t j = 0; j < q->cols; ++j) {
            assert_true(fabs(g.data[i + j * g.ld] - (i == j)) < CLOSE);
        }
    }
    cs_dense_free(&g);
}

/* ||Abar - U diag(sigma) V^T||_max: with orthonormal vectors it proves every triplet at once. */
static double reconstruction_error(const cs_csr *abar, const cs_spectrum *s)
{
    cs_dense d = {0};
    double worst = 0;
    assert_int_equal(cs_csr_to_dense(abar, &d), CS_OK);
    for (int64_t i = 0; i < d.rows; ++i) {
        for (int64_t j = 0; j < d.cols; ++j) {
            double x = d.data[i + j * d.ld];
            for (int64_t t = 0; t < s->k; ++t) {
                x -= s->sigma[t] * s->u.data[i + t * s->u.ld] * s->v.data[j + t * s->v.ld];
            }
            worst = fmax(worst, fabs(x));
        }
    }
    cs_dense_free(&d);
    return worst;
}

/* All values of a spectrum taken with k = all against the dense ones. */
static void assert_all_values(const cs_spectrum *s, const double *expected, int64_t p)
{
    assert_true(s->converged);
    assert_int_equal(s->rank, s->k);
    assert_int_equal(s->zeros, p - s->k);
    for (int64_t j = 0; j < p; ++j) {
        assert_true(fabs((j < s->k ? s->sigma[j] : 0) - expected[j]) < CLOSE);
    }
    assert_int_equal(s->cert_components.state, CS_CERT_PASSED);
    assert_int_equal(s->cert_moments.state, CS_CERT_PASSED);
    assert_int_equal(s->cert_residual.state, CS_CERT_PASSED);
    assert_int_equal(s->cert_probe.state, CS_CERT_NOT_RUN);
}

static void full_spectra_match_dense_svd(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 6; ++seed) {
        cs_csr a = untidy_matrix((int64_t)seed, seed % 2 ? 90 : 50, seed % 2 ? 50 : 90, seed);
        cs_csr abar = normalised(&a);
        double *expected = dense_values(&abar);
        cs_spectrum s = spectrum_of(&a, (cs_spectrum_options){.moment4 = true, .probe = true});
        assert_all_values(&s, expected, 50);
        assert_orthonormal(&s.u);
        assert_orthonormal(&s.v);
        assert_true(reconstruction_error(&abar, &s) < CLOSE);
        assert_true(s.lumped_rows < a.rows - s.zero_rows); /* the twins were found */
        assert_true(s.lumped_cols < a.cols - s.zero_cols);
        double sum4 = 0;
        for (int64_t j = 0; j < 50; ++j) {
            sum4 += pow(expected[j], 4);
        }
        assert_true(fabs(s.sum_sigma4 - sum4) < CLOSE && s.sum_sigma4_error == 0);
        cs_spectrum plain = spectrum_of(&a, (cs_spectrum_options){.no_reduction = true});
        assert_all_values(&plain, expected, 50);
        assert_true(isnan(plain.sum_sigma4));
        cs_spectrum given = spectrum_of(&abar, (cs_spectrum_options){.normalised = true});
        assert_all_values(&given, expected, 50);
        assert_int_equal(given.lumped_rows, s.lumped_rows);
        assert_int_equal(given.lumped_cols, s.lumped_cols);
        assert_null(given.row_mass);
        assert_true(reconstruction_error(&abar, &given) < CLOSE);
        cs_csr shares = {0}; /* probabilities in place of counts: compared to a tolerance */
        assert_int_equal(cs_csr_select(&a, a.rows, NULL, NULL, a.cols, &shares), CS_OK);
        for (int64_t e = 0; e < cs_csr_nnz(&shares); ++e) {
            shares.val[e] *= 1.0 / 7001;
        }
        cs_spectrum scaled = spectrum_of(&shares, (cs_spectrum_options){0});
        assert_all_values(&scaled, expected, 50);
        assert_int_equal(scaled.lumped_rows, s.lumped_rows);
        assert_int_equal(scaled.lumped_cols, s.lumped_cols);
        cs_spectrum_free(&scaled);
        cs_csr_free(&shares);
        cs_spectrum values = spectrum_of(&a, (cs_spectrum_options){.values_only = true});
        assert_all_values(&values, expected, 50);
        assert_null(values.u.data);
        assert_null(values.v.data);
        cs_spectrum_free(&values);
        cs_spectrum_free(&given);
        cs_spectrum_free(&plain);
        cs_spectrum_free(&s);
        free(expected);
        cs_csr_free(&abar);
        cs_csr_free(&a);
    }
}

static void truncated_spectra_are_prefixes(void **state)
{
    (void)state;
    cs_csr a = untidy_matrix(3, 120, 80, 9);
    cs_csr abar = normalised(&a);
    double *expected = dense_values(&abar);
    for (int64_t k = 1; k <= 80; k += 7) {
        cs_spectrum s =
            spectrum_of(&a, (cs_spectrum_options){.k = k, .probe = true, .moment4 = true});
        assert_int_equal(s.k + s.zeros, k);
        for (int64_t j = 0; j < k; ++j) {
            assert_true(fabs((j < s.k ? s.sigma[j] : 0) - expected[j]) < CLOSE);
        }
        assert_orthonormal(&s.v);
        assert_int_not_equal(s.cert_moments.state, CS_CERT_FAILED);
        /* The bound on what is left holds. */
        if (s.zeros == 0 && s.rank < 0) {
            assert_true(s.cert_moments.value >= expected[k] - CLOSE);
            assert_int_equal(s.cert_probe.state, CS_CERT_PASSED);
            assert_true(s.cert_probe.value <= expected[k] + CLOSE);
            assert_true(s.probe_failure <= 1e-6);
        }
        cs_spectrum_free(&s);
    }
    free(expected);
    cs_csr_free(&abar);
    cs_csr_free(&a);
}

/* Row i holds columns i and i + 1 of n: the cycle of 2n nodes. sigma = |cos(pi j / n)|, j = 0..n-1:
 * all but the first (and 0) are double, which a Krylov space of one vector cannot hold. */
static cs_csr cycle(int64_t n)
{
    cs_csr a = {0};
    assert_int_equal(cs_csr_init(&a, n, n, 2 * n), CS_OK);
    for (int64_t i = 0; i < n; ++i) {
        int64_t low = i + 1 < n ? i : 0, high = i + 1 < n ? i + 1 : n - 1;
        a.col[2 * i] = (int32_t)low;
        a.col[2 * i + 1] = (int32_t)high;
        a.val[2 * i] = a.val[2 * i + 1] = 3;
        a.ptr[i + 1] = 2 * (i + 1);
    }
    return a;
}

static void cycles_have_their_cosines(void **state)
{
    (void)state;
    const double pi = acos(-1);
    const int64_t sizes[] = {9, 64, 700};
    for (int i = 0; i < 3; ++i) {
        for (int sparse = 0; sparse < 2; ++sparse) {
            int64_t n = sizes[i], k = n < 10 ? n : 10;
            cs_csr a = cycle(n);
            cs_spectrum s = spectrum_of(
                &a, (cs_spectrum_options){.k = k,
                                          .solver = sparse ? CS_SOLVER_ARPACK : CS_SOLVER_AUTO,
                                          .probe = true});
            assert_true(s.converged);
            assert_int_equal(s.components, 1);
            assert_int_equal(s.k, k);
            for (int64_t j = 0; j < k; ++j) { /* 0, then pairs j and n - j */
                double expected = fabs(cos(pi * (double)((j + 1) / 2) / (double)n));
                assert_true(fabs(s.sigma[j] - expected) < CLOSE);
            }
            if (k < n) {
                assert_int_equal(s.cert_probe.state, CS_CERT_PASSED);
                assert_int_equal(s.solver, sparse && n > 32 ? CS_SOLVER_ARPACK : CS_SOLVER_LAPACK);
            }
            cs_spectrum_free(&s);
            cs_csr_free(&a);
        }
    }
}

static void check_multiplicity(const cs_csr *a, bool rank1, int64_t blocks, bool is_normalised)
{
    const int64_t wanted[] = {blocks / 2, blocks, blocks + 40};
    for (int i = 0; i < 3; ++i) {
        int64_t k = wanted[i], ones = k < blocks ? k : blocks;
        cs_spectrum s = spectrum_of(
            a, (cs_spectrum_options){
                   .k = k, .normalised = is_normalised, .probe = true, .moment4 = true});
        assert_true(s.converged);
        assert_int_equal(s.components, blocks);
        for (int64_t j = 0; j < s.k; ++j) {
            assert_int_equal(j < ones, fabs(s.sigma[j] - 1) < CLOSE);
        }
        assert_int_equal(s.cert_components.state, CS_CERT_PASSED);
        assert_int_equal(s.cert_residual.state, CS_CERT_PASSED);
        assert_true(s.cert_components.value == (double)ones);
        assert_orthonormal(&s.u);
        if (rank1) { /* every other value is 0 */
            assert_int_equal(s.k, ones);
            assert_int_equal(s.zeros, k - ones);
            assert_int_equal(s.rank, k < blocks ? -1 : blocks);
            assert_int_equal(s.lumped_rows, blocks);
            assert_int_equal(s.lumped_cols, blocks);
            assert_true(fabs(s.sum_sigma4 - (double)blocks) < 1e-9);
            assert_int_equal(s.cert_moments.state, CS_CERT_PASSED);
        } else {
            assert_int_equal(s.k, k);
            assert_int_equal(s.rank, -1);
            assert_int_equal(s.cert_probe.state, CS_CERT_PASSED);
        }
        cs_spectrum_free(&s);
    }
}

static void every_copy_of_one_is_found(void **state)
{
    (void)state;
    for (int rank1 = 0; rank1 < 2; ++rank1) {
        for (int64_t blocks = 64; blocks <= 256; blocks *= 4) {
            cs_csr a = multiplicity_matrix(rank1, blocks, 7);
            cs_csr abar = normalised(&a);
            check_multiplicity(&a, rank1, blocks, false);
            check_multiplicity(&abar, rank1, blocks, true);
            cs_csr_free(&abar);
            cs_csr_free(&a);
        }
    }
}

/* All triplets of 64 blocks: the multiplicity, the rank and the moments agree with nothing missing.
 */
static void full_rank_of_many_blocks(void **state)
{
    (void)state;
    cs_csr a = multiplicity_matrix(false, 64, 3);
    cs_spectrum s = spectrum_of(&a, (cs_spectrum_options){.values_only = true});
    assert_int_equal(s.rank, s.k);
    assert_int_equal(s.cert_moments.state, CS_CERT_PASSED);
    assert_int_equal(s.cert_components.state, CS_CERT_PASSED);
    assert_true(s.cert_components.value == 64);
    double value[4096];
    int64_t multiplicity[4096];
    assert_true(s.k <= 4096);
    assert_true(cs_spectrum_group(s.k, s.sigma, value, multiplicity) > 1);
    assert_true(fabs(value[0] - 1) < CLOSE);
    assert_int_equal(multiplicity[0], 64);
    cs_spectrum_free(&s);
    cs_csr_free(&a);
}

/* Many rows, few columns, most rows of one entry: the shape of a real corpus, several large blocks.
 */
static void sparse_solver_serves_large_blocks(void **state)
{
    (void)state;
    cs_csr a = untidy_matrix(2, 1600, 1500, 4);
    cs_spectrum dense =
        spectrum_of(&a, (cs_spectrum_options){.k = 12, .solver = CS_SOLVER_LAPACK, .probe = true});
    cs_spectrum sparse =
        spectrum_of(&a, (cs_spectrum_options){.k = 12, .solver = CS_SOLVER_ARPACK, .probe = true});
    assert_int_equal(dense.solver, CS_SOLVER_LAPACK);
    assert_int_equal(sparse.solver, CS_SOLVER_ARPACK);
    assert_true(sparse.converged);
    for (int64_t j = 0; j < 12; ++j) {
        assert_true(fabs(dense.sigma[j] - sparse.sigma[j]) < CLOSE);
        assert_true(sparse.residual[j] < 1e-12);
    }
    assert_int_equal(sparse.cert_probe.state, CS_CERT_PASSED);
    assert_orthonormal(&sparse.u);
    cs_spectrum_free(&dense);
    cs_spectrum_free(&sparse);
    cs_csr_free(&a);
}

static void a_solver_that_stops_early_says_so(void **state)
{
    (void)state;
    cs_csr a = cycle(700); /* clustered values: no hope in one iteration */
    cs_spectrum s = spectrum_of(
        &a, (cs_spectrum_options){.k = 10, .solver = CS_SOLVER_ARPACK, .max_iterations = 1});
    assert_false(s.converged);
    assert_true(s.k >= 1 && s.k < 10);
    assert_true(s.sigma[0] == 1); /* the closed form does not depend on the solver */
    assert_int_equal(s.zeros, 0);
    assert_int_equal(s.rank, -1);
    assert_int_equal(s.cert_components.state, CS_CERT_PASSED);
    assert_int_equal(s.cert_residual.state, CS_CERT_PASSED); /* what there is, is good */
    cs_spectrum_free(&s);
    cs_csr_free(&a);
}

/* Signed matrices are allowed as given, and are no co-occurrence matrices. */
static void signed_matrices_have_their_svd(void **state)
{
    (void)state;
    cs_csr a = untidy_matrix(3, 40, 60, 5);
    for (int64_t e = 0; e < cs_csr_nnz(&a); e += 3) {
        a.val[e] = -a.val[e];
    }
    double *expected = dense_values(&a);
    cs_spectrum s = spectrum_of(&a, (cs_spectrum_options){.normalised = true});
    assert_true(s.converged);
    assert_int_equal(s.components, 3);
    for (int64_t j = 0; j < s.k; ++j) {
        assert_true(fabs(s.sigma[j] - expected[j]) < CLOSE * expected[0]);
    }
    for (int64_t j = s.k; j < 40; ++j) {
        assert_true(expected[j] < CLOSE * expected[0]);
    }
    assert_int_equal(s.cert_components.state, CS_CERT_NOT_RUN);
    assert_int_equal(s.cert_moments.state, CS_CERT_PASSED);
    assert_true(reconstruction_error(&a, &s) < CLOSE * expected[0]);
    cs_spectrum_free(&s);
    free(expected);
    cs_csr_free(&a);
}

static void marginals_are_probabilities(void **state)
{
    (void)state;
    /* Row and column 1 are empty; total 10. */
    cs_csr a = matrix_of(3, 3, (double[]){1, 0, 2, 0, 0, 0, 3, 0, 4});
    cs_spectrum s = spectrum_of(&a, (cs_spectrum_options){0});
    const double row[] = {0.3, 0, 0.7}, col[] = {0.4, 0, 0.6};
    for (int i = 0; i < 3; ++i) {
        assert_true(fabs(s.row_mass[i] - row[i]) < 1e-15);
        assert_true(fabs(s.col_mass[i] - col[i]) < 1e-15);
        assert_true(fabs(fabs(s.u.data[i]) - sqrt(row[i])) < 1e-15);
        assert_true(fabs(fabs(s.v.data[i]) - sqrt(col[i])) < 1e-15);
    }
    assert_int_equal(s.zero_rows, 1);
    assert_int_equal(s.zero_cols, 1);
    assert_int_equal(s.nnz, 4);
    assert_true(s.mass == 10);
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

static void threads_do_not_change_the_answer(void **state)
{
    (void)state;
    cs_csr a = multiplicity_matrix(false, 40, 11);
    cs_spectrum one =
        spectrum_of(&a, (cs_spectrum_options){.k = 90, .threads = 1, .moment4 = true});
    for (int threads = 2; threads <= 5; ++threads) {
        cs_spectrum s =
            spectrum_of(&a, (cs_spectrum_options){.k = 90, .threads = threads, .moment4 = true});
        assert_int_equal(s.k, one.k);
        for (int64_t j = 0; j < s.k; ++j) {
            assert_true(fabs(s.sigma[j] - one.sigma[j]) < CLOSE);
        }
        assert_true(s.sum_sigma4 == one.sum_sigma4 && s.sum_sigma2 == one.sum_sigma2);
        cs_spectrum_free(&s);
    }
    cs_spectrum_free(&one);
    cs_csr_free(&a);
}

/* --- planted faults ------------------------------------------------------------------------------
 */

/* Removes triplet j from a result, as if the solver had missed it. */
static void forget_triplet(cs_spectrum *s, int64_t j)
{
    for (int64_t t = j; t + 1 < s->k; ++t) {
        s->sigma[t] = s->sigma[t + 1];
        s->residual[t] = s->residual[t + 1];
        memcpy(s->u.data + t * s->u.ld, s->u.data + (t + 1) * s->u.ld,
               (size_t)s->u.rows * sizeof(double));
        memcpy(s->v.data + t * s->v.ld, s->v.data + (t + 1) * s->v.ld,
               (size_t)s->v.rows * sizeof(double));
    }
    s->u.cols = s->v.cols = --s->k;
}

static void a_missed_copy_is_caught(void **state)
{
    (void)state;
    cs_csr a = multiplicity_matrix(false, 16, 2);
    for (int full = 0; full < 2; ++full) {
        cs_spectrum_options o = {.k = full ? 0 : 24, .probe = true, .moment4 = true};
        cs_system system = {0};
        cs_parts parts = {0};
        cs_spectrum s = {.rows = a.rows, .cols = a.cols, .components = 16};
        assert_int_equal(cs_system_of(&a, &o, &system), CS_OK);
        int64_t wanted = full ? a.cols : 24;
        assert_int_equal(cs_parts_solve(&system, &o, wanted, &parts), CS_OK);
        assert_int_equal(cs_spectrum_merge(&system, &parts, &o, true, &s), CS_OK);
        cs_claims claims = cs_claims_of(&system, &o, &parts, &s);
        assert_int_equal(claims.complete, full);
        assert_int_equal(cs_spectrum_certify(&system, &o, &claims, &s), CS_OK);
        assert_int_equal(s.cert_components.state, CS_CERT_PASSED);
        assert_int_equal(s.cert_moments.state, full ? CS_CERT_PASSED : CS_CERT_INCONCLUSIVE);
        assert_int_equal(s.cert_probe.state, full ? CS_CERT_NOT_RUN : CS_CERT_PASSED);

        forget_triplet(&s, 5); /* one of the 16 copies of 1 */
        assert_int_equal(cs_spectrum_certify(&system, &o, &claims, &s), CS_OK);
        assert_int_equal(s.cert_components.state, CS_CERT_FAILED);
        assert_true(s.cert_components.value == 15 && s.cert_components.bound == 16);
        if (full) {
            assert_int_equal(s.cert_moments.state, CS_CERT_FAILED);
            assert_true(fabs(s.cert_moments.value - 1) < CLOSE);
        } else {
            assert_int_not_equal(s.cert_moments.state, CS_CERT_PASSED);
            assert_true(s.cert_moments.value >= 1 - CLOSE);
            assert_int_equal(s.cert_probe.state, CS_CERT_FAILED);
            assert_true(s.cert_probe.value > 0.999);
        }
        forget_triplet(&s, 18); /* an ordinary value, with the ones whole or not */
        assert_int_equal(cs_spectrum_certify(&system, &o, &claims, &s), CS_OK);
        assert_int_not_equal(s.cert_moments.state, CS_CERT_PASSED);

        memcpy(s.v.data, s.v.data + s.v.ld, (size_t)s.v.rows * sizeof(double)); /* one twice */
        claims.complete = false;
        assert_int_equal(cs_spectrum_certify(&system, &o, &claims, &s), CS_OK);
        assert_int_equal(s.cert_probe.state, CS_CERT_FAILED);
        cs_spectrum_free(&s);
        cs_parts_free(&parts);
        cs_system_free(&system);
    }
    cs_csr_free(&a);
}

/* A wrong vector shows in its own residual and in the certificate, and nowhere else. */
static void a_wrong_vector_is_caught(void **state)
{
    (void)state;
    cs_csr a = multiplicity_matrix(false, 6, 2);
    cs_spectrum_options o = {.k = 30};
    cs_system system = {0};
    cs_parts parts = {0};
    cs_spectrum s = {.rows = a.rows, .cols = a.cols, .components = 6};
    assert_int_equal(cs_system_of(&a, &o, &system), CS_OK);
    assert_int_equal(cs_parts_solve(&system, &o, 30, &parts), CS_OK);
    parts.part[3].v.data[0] += 1e-3;
    assert_int_equal(cs_spectrum_merge(&system, &parts, &o, false, &s), CS_OK);
    int64_t bad = 0;
    for (int64_t j = 0; j < s.k; ++j) {
        bad += s.residual[j] > 1e-5;
        assert_true(s.residual[j] > 1e-5 || s.residual[j] < 1e-12);
    }
    assert_int_equal(bad, 1);
    assert_int_equal(s.cert_residual.state, CS_CERT_FAILED);
    assert_false(s.converged);
    cs_spectrum_free(&s);
    cs_parts_free(&parts);
    cs_system_free(&system);
    cs_csr_free(&a);
}

/* diag(1, 0.9, 0.5, ..., 0.5) with the first vector known: the probe sees 0.9 and no more, and its
 * Krylov space ends after two steps, so nothing can escape. On a spread spectrum the largest value
 * is seen to 1% (in fact far closer) for every seed, with the failure probability of the formula.
 */
static void the_probe_sees_what_is_left(void **state)
{
    (void)state;
    enum { N = 1000 };
    cs_csr d = {0};
    assert_int_equal(cs_csr_init(&d, N, N, N), CS_OK);
    for (int64_t i = 0; i < N; ++i) {
        d.col[i] = (int32_t)i;
        d.val[i] = i == 0 ? 1 : i == 1 ? 0.9 : 0.5;
        d.ptr[i + 1] = i + 1;
    }
    cs_dense v = {0};
    assert_int_equal(cs_dense_init(&v, N, 1), CS_OK);
    v.data[0] = 1;
    cs_linop_csr_ctx ctx;
    cs_linop op = cs_linop_csr(&ctx, &d, &d, 1);
    double value = 0, failure = 1;
    assert_int_equal(cs_spectrum_probe(&op, &v, 1, &value, &failure), CS_OK);
    assert_true(fabs(value - 0.9) < 1e-12);
    assert_true(failure == 0);
    for (int64_t i = 1; i < N; ++i) {
        d.val[i] = 0.8 * (double)(N - i) / (N - 1);
    }
    for (uint64_t seed = 1; seed <= 10; ++seed) {
        assert_int_equal(cs_spectrum_probe(&op, &v, seed, &value, &failure), CS_OK);
        assert_true(value <= 0.8 + 1e-14 && value > 0.8 / 1.01);
        assert_true(failure > 0 && failure <= 1e-6);
    }
    cs_dense_free(&v);
    cs_csr_free(&d);
}

/* With the leading vectors taken out, the estimate of sum sigma^4 keeps its mean and loses most of
 * its error. */
static void known_triplets_sharpen_the_fourth_moment(void **state)
{
    (void)state;
    cs_csr a = multiplicity_matrix(false, 8, 5), abar = normalised(&a), abar_t = {0};
    assert_int_equal(cs_csr_transpose(&abar, &abar_t), CS_OK);
    cs_spectrum s = spectrum_of(&a, (cs_spectrum_options){.k = 40, .moment4 = true});
    double mean = 0, error = 0, plain = 0, plain_error = 0;
    assert_int_equal(cs_moment4_estimate(&abar, &abar_t,
                                         &(cs_moment4_sampling){64, 3, 0, &s.v, s.sigma}, &mean,
                                         &error),
                     CS_OK);
    assert_int_equal(
        cs_moment4_estimate(&abar, &abar_t,
                            &(cs_moment4_sampling){.samples = 64, .seed = 3, .threads = 0}, &plain,
                            &plain_error),
        CS_OK);
    assert_true(fabs(mean - s.sum_sigma4) < 5 * error);
    assert_true(fabs(plain - s.sum_sigma4) < 5 * plain_error);
    assert_true(error < 0.5 * plain_error);
    cs_spectrum_free(&s);
    cs_csr_free(&abar);
    cs_csr_free(&abar_t);
    cs_csr_free(&a);
}

/* More in the triplets than in the matrix cannot be. */
static void invented_values_fail_the_moments(void **state)
{
    (void)state;
    cs_csr a = multiplicity_matrix(false, 4, 2);
    cs_spectrum_options o = {.k = 20};
    cs_system system = {0};
    cs_parts parts = {0};
    cs_spectrum s = {.rows = a.rows, .cols = a.cols, .components = 4};
    assert_int_equal(cs_system_of(&a, &o, &system), CS_OK);
    assert_int_equal(cs_parts_solve(&system, &o, 20, &parts), CS_OK);
    assert_int_equal(cs_spectrum_merge(&system, &parts, &o, true, &s), CS_OK);
    cs_claims claims = cs_claims_of(&system, &o, &parts, &s);
    for (int64_t j = 0; j < s.k; ++j) {
        s.sigma[j] = 2;
    }
    assert_int_equal(cs_spectrum_certify(&system, &o, &claims, &s), CS_OK);
    assert_int_equal(s.cert_moments.state, CS_CERT_FAILED);
    cs_spectrum_free(&s);
    cs_parts_free(&parts);
    cs_system_free(&system);
    cs_csr_free(&a);
}

/* When one solver call on the whole matrix misses copies, the component count says so; here it does
 * not (LAPACK), and the certificate passes without any reduction. */
static void unreduced_results_are_certified_by_components(void **state)
{
    (void)state;
    cs_csr a = multiplicity_matrix(false, 12, 2);
    cs_spectrum s =
        spectrum_of(&a, (cs_spectrum_options){.k = 20, .no_reduction = true, .probe = true});
    assert_int_equal(s.components, 12);
    assert_int_equal(s.cert_components.state, CS_CERT_PASSED);
    assert_true(s.cert_components.value == 12);
    cs_spectrum_free(&s);
    cs_csr abar = normalised(&a);
    s = spectrum_of(&abar,
                    (cs_spectrum_options){.k = 20, .no_reduction = true, .normalised = true});
    assert_int_equal(s.cert_components.state, CS_CERT_NOT_RUN);
    cs_spectrum_free(&s);
    for (int64_t e = 0; e < cs_csr_nnz(&abar); ++e) {
        abar.val[e] *= 0.5; /* not a normalised co-occurrence matrix */
    }
    s = spectrum_of(&abar, (cs_spectrum_options){.k = 20, .normalised = true});
    assert_int_equal(s.cert_components.state, CS_CERT_NOT_RUN);
    assert_true(fabs(s.sigma[11] - 0.5) < CLOSE);
    cs_spectrum_free(&s);
    cs_csr_free(&abar);
    cs_csr_free(&a);
}

static void groups_count_multiplicities(void **state)
{
    (void)state;
    const double sigma[] = {1, 1 - 1e-12, 1 - 1e-8, 0.5, 0.5, 0.5 - 1e-10};
    double value[6];
    int64_t multiplicity[6];
    assert_int_equal(cs_spectrum_group(6, sigma, value, multiplicity), 3);
    assert_true(value[0] == 1 && value[1] == 1 - 1e-8 && value[2] == 0.5);
    assert_int_equal(multiplicity[0], 2);
    assert_int_equal(multiplicity[1], 1);
    assert_int_equal(multiplicity[2], 3);
    assert_int_equal(cs_spectrum_group(0, sigma, value, multiplicity), 0);
}

static void refuse(const cs_csr *a, cs_spectrum_options o, cs_status expected, const char *part)
{
    cs_spectrum s = {0};
    cs_reason_clear();
    assert_int_equal(cs_spectrum_of(a, &o, &s), expected);
    if (!strstr(cs_reason(), part)) {
        fail_msg("\"%s\" does not name \"%s\"", cs_reason(), part);
    }
    assert_null(s.sigma);
    assert_null(s.u.data);
    cs_reason_clear();
}

static void bad_input_is_named(void **state)
{
    (void)state;
    cs_csr a = matrix_of(2, 3, (double[]){1, 2, 3, 4, 5, 6});
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
    assert_int_equal(cs_csr_init(&a, 2, 3, 0), CS_OK);
    refuse(&a, (cs_spectrum_options){0}, CS_ERR_INPUT, "no nonzero entry");
    cs_csr_free(&a);
    cs_csr abar = {0};
    a = matrix_of(1, 1, (double[]){-1});
    assert_int_equal(cs_normalise(&a, &abar, NULL, NULL), CS_ERR_INPUT);
    assert_null(abar.ptr);
    cs_reason_clear();
    cs_csr_free(&a);
}

static void one_by_one_is_one(void **state)
{
    (void)state;
    cs_csr a = matrix_of(1, 1, (double[]){5});
    cs_spectrum s = spectrum_of(&a, (cs_spectrum_options){.probe = true, .moment4 = true});
    assert_int_equal(s.k, 1);
    assert_true(s.sigma[0] == 1 && s.u.data[0] == 1 && s.v.data[0] == 1);
    assert_int_equal(s.rank, 1);
    cs_spectrum_free(&s);
    s = spectrum_of(&a, (cs_spectrum_options){.normalised = true});
    assert_true(fabs(s.sigma[0] - 5) < 1e-14);
    cs_spectrum_free(&s);
    cs_csr_free(&a);
}

static void every_failed_allocation_is_reported(void **state)
{
    (void)state;
    cs_csr counts = untidy_matrix(2, 40, 36, 8), abar = normalised(&counts);
    for (int variant = 0; variant < 4; ++variant) {
        cs_spectrum_options o = {.k = 6,
                                 .threads = 1,
                                 .probe = true,
                                 .moment4 = true,
                                 .normalised = variant == 1,
                                 .no_reduction = variant == 2,
                                 .values_only = variant == 3};
        cs_status status = CS_ERR_MEMORY;
        for (int64_t n = 1; status != CS_OK; ++n) {
            cs_spectrum s = {0};
            (void)cs_mem_fail_at(n);
            status = cs_spectrum_of(variant == 1 ? &abar : &counts, &o, &s);
            assert_true(n < 2000);
            if (status != CS_OK) {
                assert_int_equal(status, CS_ERR_MEMORY);
                assert_null(s.sigma);
                cs_reason_clear();
            }
            cs_spectrum_free(&s);
        }
        (void)cs_mem_fail_at(0);
    }
    cs_csr_free(&abar);
    cs_csr_free(&counts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(full_spectra_match_dense_svd),
        cmocka_unit_test(truncated_spectra_are_prefixes),
        cmocka_unit_test(cycles_have_their_cosines),
        cmocka_unit_test(every_copy_of_one_is_found),
        cmocka_unit_test(full_rank_of_many_blocks),
        cmocka_unit_test(sparse_solver_serves_large_blocks),
        cmocka_unit_test(a_solver_that_stops_early_says_so),
        cmocka_unit_test(signed_matrices_have_their_svd),
        cmocka_unit_test(marginals_are_probabilities),
        cmocka_unit_test(threads_do_not_change_the_answer),
        cmocka_unit_test(a_missed_copy_is_caught),
        cmocka_unit_test(a_wrong_vector_is_caught),
        cmocka_unit_test(the_probe_sees_what_is_left),
        cmocka_unit_test(known_triplets_sharpen_the_fourth_moment),
        cmocka_unit_test(invented_values_fail_the_moments),
        cmocka_unit_test(unreduced_results_are_certified_by_components),
        cmocka_unit_test(groups_count_multiplicities),
        cmocka_unit_test(bad_input_is_named),
        cmocka_unit_test(one_by_one_is_one),
        cmocka_unit_test(every_failed_allocation_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
