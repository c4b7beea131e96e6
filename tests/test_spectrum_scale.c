/* Spectra of 2^e A against those of A: the same bits, times 2^e, and the same certificates, for as
 * far as doubles reach. Powers of two are exact, so nothing but an absolute constant, an overflow
 * or an underflow can make a difference. */
#include <stdlib.h>

#include "cooc/spectrum_density.h"
#include "cooc_matrices.h"
#include "linalg_support.h"
#include "spectrum_support.h"

static const int EXPONENTS[] = {-400, -137, -41, -30, -1, 1, 30, 39, 60, 251, 400};
enum { COUNT = sizeof EXPONENTS / sizeof *EXPONENTS };

static cs_csr times_power(const cs_csr *a, int e)
{
    cs_csr b = {0};
    OK(cs_csr_select(a, a->rows, NULL, NULL, a->cols, &b));
    for (int64_t i = 0; i < cs_csr_nnz(&b); ++i) {
        b.val[i] = ldexp(b.val[i], e);
    }
    return b;
}

/* x 2^e and y are the same bits, or both NaN. */
static void assert_power(double x, int e, double y)
{
    if (isnan(x) ? !isnan(y) : ldexp(x, e) != y) {
        fail_msg("%.17g times 2^%d is not %.17g", x, e, y);
    }
}

static void assert_certificate(const cs_certificate *x, int e, int reach, const cs_certificate *y)
{
    assert_int_equal(x->state, y->state);
    if (x->state != CS_CERT_NOT_RUN) {
        assert_power(x->value, e, y->value);
        assert_power(x->bound, e, y->bound);
        assert_power(x->reach, reach, y->reach);
    }
}

static void assert_scaled(const cs_spectrum *x, int e, const cs_spectrum *y)
{
    assert_int_equal(x->k, y->k);
    assert_int_equal(x->zeros, y->zeros);
    assert_int_equal(x->rank, y->rank);
    assert_int_equal(x->solution.converged, y->solution.converged);
    assert_int_equal(x->input.lumped_rows, y->input.lumped_rows);
    assert_int_equal(x->input.lumped_cols, y->input.lumped_cols);
    assert_int_equal(y->solution.exponent, 0);
    for (int64_t j = 0; j < x->k; ++j) {
        assert_power(x->sigma[j], e, y->sigma[j]);
        assert_power(x->residual[j], e, y->residual[j]);
    }
    size_t u = (size_t)(x->input.rows * x->k), v = (size_t)(x->input.cols * x->k);
    assert_memory_equal(x->u.data, y->u.data, u * sizeof(double));
    assert_memory_equal(x->v.data, y->v.data, v * sizeof(double));
    assert_power(x->solution.floor, e, y->solution.floor);
    assert_power(x->moments.sum_sigma2, 2 * e, y->moments.sum_sigma2); /* 800: within range */
    assert_power(x->solution.departure, 0, y->solution.departure);
    assert_certificate(&x->cert.components, 0, 0, &y->cert.components);
    assert_certificate(&x->cert.moments, x->rank >= 0 ? 2 * e : e, e, &y->cert.moments);
    assert_certificate(&x->cert.probe, e, e, &y->cert.probe);
    assert_certificate(&x->cert.inertia, 0, e, &y->cert.inertia);
    assert_certificate(&x->cert.residual, e, e, &y->cert.residual);
    double sum4 = ldexp(x->moments.sum_sigma4, 4 * e);
    bool in_range = sum4 >= DBL_MIN && sum4 <= DBL_MAX;
    assert_int_equal(y->moments.sum4.out_of_range, !in_range);
    CS_AUTO_FREE cs_interval *p = malloc((size_t)(x->k + 1) * sizeof *p),
                             *q = malloc((size_t)(x->k + 1) * sizeof *q);
    cs_spectrum_tails(x, 0, p);
    cs_spectrum_tails(y, 0, q);
    if (in_range) {
        assert_power(x->moments.sum_sigma4, 4 * e, y->moments.sum_sigma4);
        assert_power(x->moments.sum_sigma4_error, 4 * e, y->moments.sum_sigma4_error);
        assert_power(x->moments.sum4.high, 4 * e, y->moments.sum4.high);
        assert_power(p[0].value, 4 * e, q[0].value);
    } else { /* neither 0 nor infinite */
        assert_true(isnan(y->moments.sum_sigma4) && isnan(y->moments.sum4.low) &&
                    isnan(q[0].value));
    }
}

static void check(const cs_csr *a, cs_spectrum_options o)
{
    o.normalised = o.moment4 = true;
    o.certify = CS_CERTIFY_USUAL | CS_CERTIFY_INERTIA;
    CS_AUTO(cs_spectrum) base = spectrum_of(a, o);
    assert_true(base.k > 0 && base.solution.converged);
    for (int i = 0; i < COUNT; ++i) {
        CS_AUTO(cs_csr) b = times_power(a, EXPONENTS[i]);
        CS_AUTO(cs_spectrum) s = spectrum_of(&b, o);
        assert_scaled(&base, EXPONENTS[i], &s);
    }
}

/* All, truncated, every solver, sampled fourth moment; with signs and without. */
TEST(powers_of_two_change_no_bit)
{
    for (int with_signs = 0; with_signs < 2; ++with_signs) {
        CS_AUTO(cs_csr) a = untidy_matrix(3, 90, 60, 5);
        for (int64_t e = 0; with_signs && e < cs_csr_nnz(&a); e += 3) {
            a.val[e] = -a.val[e];
        }
        check(&a, (cs_spectrum_options){0});
        check(&a, (cs_spectrum_options){.k = 7});
        check(&a, (cs_spectrum_options){.k = 7, .moment4_budget = 1});
        check(&a, (cs_spectrum_options){.k = 5, .no_reduction = true, .solver = CS_SOLVER_LAPACK});
        check(&a, (cs_spectrum_options){.k = 5, .no_reduction = true, .solver = CS_SOLVER_BLOCK});
        check(&a, (cs_spectrum_options){.k = 5, .no_reduction = true, .solver = CS_SOLVER_ARPACK});
    }
}

/* Twelve equal entries of a diagonal: a Krylov space holds one copy, and what probes for the others
 * must not take small squares for rounding. */
TEST(copies_are_found_at_any_size)
{
    ARRAY(double, entry, 64, i, i < 12 ? 3 : 3.0 / i);
    CS_AUTO(cs_csr) a = diagonal_matrix(64, entry);
    check(&a, (cs_spectrum_options){.k = 10, .no_reduction = true, .solver = CS_SOLVER_BLOCK});
    /* ARPACK draws new starts from numbers that go on from run to run: no bits to compare. */
    cs_spectrum_options o = {
        .k = 10, .normalised = true, .no_reduction = true, .solver = CS_SOLVER_ARPACK};
    for (int i = 0; i < COUNT; ++i) {
        CS_AUTO(cs_csr) b = times_power(&a, EXPONENTS[i]);
        CS_AUTO(cs_spectrum) s = spectrum_of(&b, o);
        assert_true(s.solution.converged);
        assert_each(j, 0, 10, fabs(ldexp(s.sigma[j], -EXPONENTS[i]) - 3) < CLOSE * 3);
    }
}

/* Values below eps, all of them small: none is zero. */
TEST(small_values_are_values)
{
    const double d[] = {3e-17, 2e-17, 1e-17};
    CS_AUTO(cs_csr) a = diagonal_matrix(3, d);
    for (int whole = 0; whole < 2; ++whole) {
        CS_AUTO(cs_spectrum) s =
            spectrum_of(&a, (cs_spectrum_options){.normalised = true, .no_reduction = whole});
        assert_int_equal(s.k, 3);
        assert_int_equal(s.rank, 3);
        assert_each(j, 0, 3, fabs(s.sigma[j] - d[j]) <= 4 * DBL_EPSILON * d[0]);
        assert_true(s.solution.floor > 0 && s.solution.floor < 1e-30);
    }
}

/* diag(3, 3, 3, 1) 10^e with one value requested: two equal values are missing, and whatever the
 * size, no certificate says otherwise; inertia counts them. */
TEST(a_missed_copy_is_seen_at_any_size)
{
    for (int e = -300; e <= 300; e += 50) {
        double x = pow(10, e), d[] = {3 * x, 3 * x, 3 * x, x};
        CS_AUTO(cs_csr) a = diagonal_matrix(4, d);
        CS_AUTO(cs_spectrum) s = spectrum_of(
            &a, (cs_spectrum_options){.k = 1,
                                      .normalised = true,
                                      .no_reduction = true,
                                      .moment4 = true,
                                      .certify = CS_CERTIFY_MOMENTS | CS_CERTIFY_INERTIA});
        assert_int_equal(s.cert.moments.state, CS_CERT_INCONCLUSIVE);
        assert_true(s.cert.moments.reach >= 3 * x);
        assert_int_equal(s.cert.inertia.state, CS_CERT_INCONCLUSIVE);
        double said = 0; /* in the units of the matrix */
        const char *at = strstr(s.cert.inertia.why, "exceed ");
        assert_non_null(at);
        assert_int_equal(sscanf(at, "exceed %lg", &said), 1);
        assert_true(fabs(said / x - 3) < 1e-4);
    }
}

/* Estimates: QL iterations call hypot, whose last bit may depend on the size. They are good to
 * 1e-12 of a sample's mass (linalg/density.h). */
static void assert_close(double x, int e, double y, double mass)
{
    if (!(fabs(x - ldexp(y, -e)) <= 1e-12 * mass)) {
        fail_msg("%.17g times 2^%d is not %.17g", x, e, y);
    }
}

TEST(densities_scale_too)
{
    CS_AUTO(cs_csr) a = untidy_matrix(3, 90, 60, 5);
    cs_spectrum_density_options o = {.spectrum = {.k = 4, .normalised = true, .seed = 3},
                                     .samples = 8,
                                     .degree = 12,
                                     .bins = 10};
    AUTO_OK(cs_spectrum_density, base, cs_spectrum_density_of(&a, &o, &base));
    for (int fixed = 0; fixed < 2; ++fixed) { /* the width left to the tool, or given */
        for (int i = 0; i < COUNT; ++i) {
            int e = EXPONENTS[i];
            CS_AUTO(cs_csr) b = times_power(&a, e);
            o.width = fixed ? ldexp(base.density.width, e) : 0;
            AUTO_OK(cs_spectrum_density, d, cs_spectrum_density_of(&b, &o, &d));
            assert_int_equal(d.k, base.k);
            assert_power(base.top, e, d.top);
            assert_power(base.residual, e, d.residual);
            assert_power(base.density.width, e, d.density.width);
            assert_power(base.sum_sigma2, 2 * e, d.sum_sigma2);
            assert_close(base.sum2.high, 2 * e, d.sum2.high, base.sum2.high);
            for (int64_t j = 0; j < d.k; ++j) {
                assert_power(base.sigma[j], e, d.sigma[j]);
            }
            for (int64_t p = 0; p < d.density.points; ++p) {
                assert_power(base.x[p], e, d.x[p]);
                assert_close(base.density.above[p].value, 0, d.density.above[p].value, 60);
                assert_close(base.density.density[p].high, -e, d.density.density[p].high,
                             60 / base.density.width);
            }
            if (e > -250 && e < 250) {
                assert_power(base.sum_sigma4, 4 * e, d.sum_sigma4);
                assert_close(base.tail[2].low, 4 * e, d.tail[2].low, base.sum4.high);
                assert_close(base.density.rest4_error, 4 * e, d.density.rest4_error,
                             base.sum4.high);
                assert_close(base.density.rest4.low, 4 * e, d.density.rest4.low, base.sum4.high);
            }
        }
    }
}

TEST(every_failed_allocation_is_reported)
{
    const double d[] = {3e-100, 2e-100, 1e-100};
    CS_AUTO(cs_csr) a = diagonal_matrix(3, d);
    cs_spectrum_options o = {.normalised = true, .threads = 1};
    EACH_ALLOCATION_FAILS(n) {
        CS_AUTO(cs_spectrum) s = {0};
        if (out_of_memory(cs_spectrum_of(&a, &o, &s))) assert_null(s.sigma);
    }
}

/* 1 / (i + j + 1), counts: values from 1 to below 1e-14 together with a closed form; the vectors of
 * the smallest ones have components of eps / sigma along it. */
TEST(small_vectors_are_orthonormal)
{
    enum { ROWS = 26, COLS = 25 };
    double entry[ROWS * COLS];
    for (int i = 0; i < ROWS; ++i) {
        for (int j = 0; j < COLS; ++j) {
            entry[i * COLS + j] = 1.0 / (i + j + 1);
        }
    }
    CS_AUTO(cs_csr) a = matrix_of(ROWS, COLS, entry);
    CS_AUTO(cs_spectrum) s = spectrum_of(&a, (cs_spectrum_options){0});
    assert_true(s.sigma[s.k - 1] < 1e-13);
    const cs_dense *side[] = {&s.u, &s.v};
    for (int t = 0; t < 2; ++t) {
        AUTO_OK(cs_dense, g, cs_dense_init(&g, s.k, s.k));
        OK(cs_gemm(true, false, 1, side[t], side[t], 0, &g));
        for (int64_t e = 0; e < s.k * s.k; ++e) { /* sums of 26 terms: 26 eps at the most */
            assert_true(fabs(g.data[e] - (e % (s.k + 1) == 0)) < 26 * DBL_EPSILON);
        }
    }
    assert_true(s.solution.departure > 0 && s.solution.departure < 1e-12);
    for (int64_t j = 0; j < s.k; ++j) { /* no worse for it */
        assert_true(s.residual[j] < 26 * DBL_EPSILON);
    }
}

/* A pair of vectors is one up to its sign: the first entry of v within 1e-6 of its largest modulus is
 * positive, whatever the solver and the scale. */
TEST(pairs_have_one_sign)
{
    for (int way = 0; way < 12; ++way) {
        CS_AUTO(cs_csr) a = untidy_matrix(1 + way % 2, 90, 40, (uint64_t)way + 1);
        for (int64_t e = 0; way % 3 == 2 && e < cs_csr_nnz(&a); ++e) {
            a.val[e] = ldexp(a.val[e], 200);
        }
        CS_AUTO(cs_spectrum) s = spectrum_of(
            &a, (cs_spectrum_options){.k = way % 4 < 2 ? 0 : 5, .normalised = way % 3 > 0});
        assert_true(s.k > 0);
        for (int64_t j = 0; j < s.k; ++j) {
            const double *x = s.v.data + j * s.v.ld;
            int64_t i = 0;
            double largest = LARGEST(n, 0, s.v.rows, fabs(x[n]));
            while (fabs(x[i]) < (1 - 1e-6) * largest) {
                ++i;
            }
            assert_true(x[i] > 0);
        }
    }
}
