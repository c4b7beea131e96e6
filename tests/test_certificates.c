/* The certificates of cooc/spectrum against planted faults, and where their theorems do not apply.
 */
#include "cooc/moments.h"
#include "cooc/spectrum_stages_private.h"
#include "cooc_matrices.h"
#include "linalg_support.h"
#include "spectrum_support.h"

TEST(a_solver_that_stops_early_says_so)
{
    CS_AUTO(cs_csr) a = cycle(700); /* clustered values: no hope in one iteration */
    CS_AUTO(cs_spectrum) s = spectrum_of(
        &a, (cs_spectrum_options){.k = 10, .solver = CS_SOLVER_ARPACK, .max_iterations = 1});
    assert_false(s.solution.converged);
    assert_true(s.k >= 1 && s.k < 10);
    assert_true(s.sigma[0] == 1); /* the closed form does not depend on the solver */
    assert_int_equal(s.zeros, 0);
    assert_int_equal(s.rank, -1);
    assert_int_equal(s.cert.components.state, CS_CERT_PASSED);
    assert_int_equal(s.cert.residual.state, CS_CERT_PASSED); /* what there is, is good */
    assert_fails(cs_spectrum_require(&s), CS_ERR_CONVERGE, "did not converge");
    cs_spectrum_free(&s);
    s = spectrum_of(&a, (cs_spectrum_options){.k = 10, .solver = CS_SOLVER_ARPACK});
    OK(cs_spectrum_require(&s));
}

TEST(a_missed_copy_is_caught)
{
    CS_AUTO(cs_csr) a = multiplicity_matrix(false, 16, 2);
    for (int full = 0; full < 2; ++full) {
        cs_spectrum_options o = {.k = full ? 0 : 24, .certify = CS_CERTIFY_USUAL, .moment4 = true};
        CS_AUTO(cs_spectrum) s = {
            .input.rows = a.rows, .input.cols = a.cols, .input.components = 16};
        AUTO_OK(cs_system, system, cs_system_of(&a, &o, false, &system));
        int64_t wanted = full ? a.cols : 24;
        AUTO_OK(cs_parts, parts, cs_parts_solve(&system, &o, wanted, &parts));
        OK(cs_spectrum_merge(&system, &parts, &o, true, &s));
        cs_certificate_facts claims = cs_certificate_facts_of(&system, &o, &parts, &s);
        assert_int_equal(claims.complete, full);
        OK(cs_spectrum_certify(&system, &o, &claims, &s));
        assert_int_equal(s.cert.components.state, CS_CERT_PASSED);
        assert_int_equal(s.cert.moments.state, full ? CS_CERT_PASSED : CS_CERT_INCONCLUSIVE);
        assert_int_equal(s.cert.probe.state, full ? CS_CERT_NOT_RUN : CS_CERT_PASSED);

        forget_triplet(&s, 5); /* one of the 16 copies of 1 */
        OK(cs_spectrum_certify(&system, &o, &claims, &s));
        assert_int_equal(s.cert.components.state, CS_CERT_FAILED);
        assert_true(s.cert.components.value == 15 && s.cert.components.bound == 16);
        if (full) {
            assert_int_equal(s.cert.moments.state, CS_CERT_FAILED);
            assert_true(fabs(s.cert.moments.value - 1) < CLOSE);
        } else {
            assert_int_not_equal(s.cert.moments.state, CS_CERT_PASSED);
            assert_true(s.cert.moments.value >= 1 - CLOSE);
            assert_int_equal(s.cert.probe.state, CS_CERT_FAILED);
            assert_true(s.cert.probe.value > 0.999);
        }
        forget_triplet(&s, 18); /* an ordinary value, with the ones whole or not */
        OK(cs_spectrum_certify(&system, &o, &claims, &s));
        assert_int_not_equal(s.cert.moments.state, CS_CERT_PASSED);

        memcpy(s.v.data, s.v.data + s.v.ld, (size_t)s.v.rows * sizeof(double)); /* one twice */
        claims.complete = false;
        OK(cs_spectrum_certify(&system, &o, &claims, &s));
        assert_int_equal(s.cert.probe.state, CS_CERT_FAILED);
    }
}

/* A wrong vector shows in its own residual and in the certificate, and nowhere else. */
TEST(a_wrong_vector_is_caught)
{
    CS_AUTO(cs_csr) a = multiplicity_matrix(false, 6, 2);
    cs_spectrum_options o = {.k = 30};
    CS_AUTO(cs_spectrum) s = {.input.rows = a.rows, .input.cols = a.cols, .input.components = 6};
    AUTO_OK(cs_system, system, cs_system_of(&a, &o, false, &system));
    AUTO_OK(cs_parts, parts, cs_parts_solve(&system, &o, 30, &parts));
    parts.part[3].svd.v.data[0] += 1e-3;
    OK(cs_spectrum_merge(&system, &parts, &o, false, &s));
    int64_t bad = COUNT(j, 0, s.k, s.residual[j] > 1e-5);
    assert_each(j, 0, s.k, s.residual[j] > 1e-5 || s.residual[j] < 1e-12);
    assert_int_equal(bad, 1);
    assert_int_equal(s.cert.residual.state, CS_CERT_FAILED);
    assert_false(s.solution.converged);
}

/* diag(1, 0.9, 0.5, ..., 0.5) with the first vector known: the probe sees 0.9 and no more, and its
 * Krylov space ends after two steps, so nothing can escape. On a spread spectrum the largest value
 * is seen to 1% (in fact far closer) for every seed, with the failure probability of the formula.
 */
TEST(the_probe_sees_what_is_left)
{
    enum { N = 1000 };
    ARRAY(double, entry, N, i, i == 0 ? 1 : i == 1 ? 0.9 : 0.5);
    CS_AUTO(cs_csr) d = diagonal_matrix(N, entry);
    AUTO_OK(cs_dense, v, cs_dense_init(&v, N, 1));
    v.data[0] = 1;
    cs_linop_csr_ctx ctx;
    cs_linop op = cs_linop_csr(&ctx, &d, &d, 1);
    cs_probe probe;
    OK(cs_svd_probe(&op, &v, 0, 1, 0, &probe));
    assert_true(fabs(probe.value - 0.9) < 1e-12);
    assert_true(probe.failure == 0);
    for (int64_t i = 1; i < N; ++i) {
        d.val[i] = 0.8 * (double)(N - i) / (N - 1);
    }
    for (uint64_t seed = 1; seed <= 10; ++seed) {
        OK(cs_svd_probe(&op, &v, 0, seed, 0, &probe));
        assert_true(probe.value <= 0.8 + 1e-14 && probe.value > 0.8 / 1.01);
        assert_true(probe.failure > 0 && probe.failure <= 1e-6);
    }
}

/* With the leading vectors taken out, the estimate of sum sigma^4 keeps its mean and loses most of
 * its error. */
TEST(known_triplets_sharpen_the_fourth_moment)
{
    CS_AUTO(cs_csr) a = multiplicity_matrix(false, 8, 5), abar = normalised(&a), abar_t = {0};
    OK(cs_csr_transpose(&abar, &abar_t));
    CS_AUTO(cs_spectrum) s = spectrum_of(&a, (cs_spectrum_options){.k = 40, .moment4 = true});
    const cs_moment4_sampling blind = {.samples = 64, .seed = 3};
    cs_moment4_sampling knowing = blind;
    knowing.v = &s.v;
    knowing.sigma = s.sigma;
    cs_sum4 plain = {0}, sharp = {0};
    OK(cs_moment4_estimate(&abar, &abar_t, &knowing, &sharp));
    OK(cs_moment4_estimate(&abar, &abar_t, &blind, &plain));
    assert_true(fabs(sharp.value - s.moments.sum_sigma4) < 5 * sharp.error);
    assert_true(fabs(plain.value - s.moments.sum_sigma4) < 5 * plain.error);
    assert_true(sharp.error < 0.5 * plain.error);
}

/* More in the triplets than in the matrix cannot be. */
TEST(invented_values_fail_the_moments)
{
    CS_AUTO(cs_csr) a = multiplicity_matrix(false, 4, 2);
    cs_spectrum_options o = {.k = 20};
    CS_AUTO(cs_spectrum) s = {.input.rows = a.rows, .input.cols = a.cols, .input.components = 4};
    AUTO_OK(cs_system, system, cs_system_of(&a, &o, false, &system));
    AUTO_OK(cs_parts, parts, cs_parts_solve(&system, &o, 20, &parts));
    OK(cs_spectrum_merge(&system, &parts, &o, true, &s));
    cs_certificate_facts claims = cs_certificate_facts_of(&system, &o, &parts, &s);
    for (int64_t j = 0; j < s.k; ++j) {
        s.sigma[j] = 2;
    }
    OK(cs_spectrum_certify(&system, &o, &claims, &s));
    assert_int_equal(s.cert.moments.state, CS_CERT_FAILED);
}

/* When one solver call on the whole matrix misses copies, the component count says so; here it does
 * not (LAPACK), and the certificate passes without any reduction. */
TEST(unreduced_results_are_certified_by_components)
{
    CS_AUTO(cs_csr) a = multiplicity_matrix(false, 12, 2);
    CS_AUTO(cs_spectrum) s = spectrum_of(
        &a, (cs_spectrum_options){.k = 20, .no_reduction = true, .certify = CS_CERTIFY_USUAL});
    assert_int_equal(s.input.components, 12);
    assert_int_equal(s.cert.components.state, CS_CERT_PASSED);
    assert_true(s.cert.components.value == 12);
    cs_spectrum_free(&s);
    CS_AUTO(cs_csr) abar = normalised(&a);
    s = spectrum_of(&abar,
                    (cs_spectrum_options){.k = 20, .no_reduction = true, .normalised = true});
    assert_int_equal(s.cert.components.state, CS_CERT_NOT_RUN);
    cs_spectrum_free(&s);
    for (int64_t e = 0; e < cs_csr_nnz(&abar); ++e) {
        abar.val[e] *= 0.5; /* not a normalised co-occurrence matrix */
    }
    s = spectrum_of(&abar, (cs_spectrum_options){.k = 20, .normalised = true});
    assert_int_equal(s.cert.components.state, CS_CERT_NOT_RUN);
    assert_true(fabs(s.sigma[11] - 0.5) < CLOSE);
}

/* U diag(1, 1, 1, 0.5, 0.4) V^T with Householder U and V has entries of both signs: three values
 * are 1 in one component, and the theorem on components says nothing of it. */
TEST(signed_matrices_have_no_components_certificate)
{
    enum { N = 5 };
    const double sigma[N] = {1, 1, 1, 0.5, 0.4}, x[N] = {1, 2, 3, 4, 5}, y[N] = {3, 1, 4, 1, 5};
    double values[N * N];
    for (int i = 0; i < N; ++i) {
        for (int j = 0; j < N; ++j) {
            values[i * N + j] = 0;
            for (int t = 0; t < N; ++t) { /* ||x||^2 = 55, ||y||^2 = 52 */
                double u = (i == t) - 2 * x[i] * x[t] / 55, v = (j == t) - 2 * y[j] * y[t] / 52;
                values[i * N + j] += u * sigma[t] * v;
            }
        }
    }
    CS_AUTO(cs_csr) a = matrix_of(N, N, values);
    CS_AUTO(cs_spectrum) s = spectrum_of(&a, (cs_spectrum_options){.normalised = true});
    assert_int_equal(s.input.components, 1);
    assert_each(t, 0, N, fabs(s.sigma[t] - sigma[t]) < CLOSE);
    assert_int_equal(s.cert.components.state, CS_CERT_NOT_RUN);
    assert_int_equal(s.cert.near_ones, 0);
}

/* Two blocks (3 1; 1 3) joined by an entry of 1e-11 are one component with one sigma = 1; the
 * second value is 1 - O(1e-11), which no solver distinguishes from 1: reported, and no proof. */
TEST(a_value_near_one_is_no_proof)
{
    CS_AUTO(cs_csr) a =
        matrix_of(4, 4, (double[]){3, 1, 1e-11, 0, 1, 3, 0, 0, 0, 0, 3, 1, 0, 0, 1, 3});
    CS_AUTO(cs_csr) abar = normalised(&a);
    for (int given = 0; given < 2; ++given) {
        CS_AUTO(cs_spectrum) s =
            spectrum_of(given ? &abar : &a, (cs_spectrum_options){.normalised = given});
        assert_int_equal(s.input.components, 1);
        assert_int_equal(s.cert.components.state, CS_CERT_INCONCLUSIVE);
        assert_true(s.cert.components.value == 2 && s.cert.components.bound == 1);
        assert_int_equal(s.cert.near_ones, 1);
        cs_spectrum_free(&s);
        /* With one value wanted the nearby one is not computed. */
        s = spectrum_of(given ? &abar : &a, (cs_spectrum_options){.k = 1, .normalised = given});
        assert_int_equal(s.cert.components.state, CS_CERT_PASSED);
        assert_int_equal(s.cert.near_ones, 0);
    }
}

/* The bound of a certificate holds its slack: state and numbers cannot disagree. The cycle's values
 * are double, so cutting a pair in two leaves a value equal to sigma_k, seen above it by rounding.
 */
TEST(bounds_include_their_slack)
{
    CS_AUTO(cs_csr) a = cycle(64);
    for (int64_t k = 2; k <= 12; ++k) {
        CS_AUTO(cs_spectrum) s = spectrum_of(
            &a, (cs_spectrum_options){.k = k, .certify = CS_CERTIFY_USUAL, .moment4 = true});
        double last = s.sigma[k - 1];
        assert_true(fabs(s.cert.probe.bound - sqrt(last * last * (1 + 2e-9) + 64 * DBL_EPSILON)) <
                    1e-15);
        assert_int_equal(s.cert.probe.state, CS_CERT_PASSED);
        assert_true(s.cert.probe.value <= s.cert.probe.bound);
        assert_true(s.cert.moments.bound > last && s.cert.moments.bound < last * (1 + 2e-9));
        assert_int_equal(s.cert.moments.state == CS_CERT_PASSED,
                         s.cert.moments.value <= s.cert.moments.bound);
    }
}

/* 20 values, one known: the others are at most 1/2 if sum sigma^4 is what it is said to be, and up
 * to sqrt(19)/2 by sum sigma^2 alone. */
TEST(an_estimate_is_no_proof)
{
    double sigma = 1, residual = 0;
    const cs_certificate_facts facts = {.rank = 20, .longest = 20};
    const cs_spectrum_options o = {.k = 1, .normalised = true};
    for (int estimated = 0; estimated < 2; ++estimated) {
        cs_spectrum s = {.input.rows = 20,
                         .input.cols = 20,
                         .k = 1,
                         .rank = -1,
                         .input.components = 1,
                         .sigma = &sigma,
                         .residual = &residual,
                         .moments.sum_sigma2 = 1 + 19 * 0.25,
                         .moments.sum_sigma4 = 1 + 19 * 0.0625,
                         .moments.sum_sigma4_error = estimated ? 1e-6 : 0};
        cs_certificates_of(&o, &facts, &s);
        assert_true(s.cert.moments.value > 0.499 && s.cert.moments.value < 0.51);
        if (estimated) {
            assert_int_equal(s.cert.moments.state, CS_CERT_INCONCLUSIVE);
            assert_true(s.cert.moments.reach >= sqrt(19) / 2 && s.cert.moments.reach < 2.2);
            assert_non_null(strstr(s.cert.moments.why, "estimate"));
        } else {
            assert_int_equal(s.cert.moments.state, CS_CERT_PASSED);
            assert_true(s.cert.moments.reach == s.cert.moments.value);
        }
    }
}

/* The Hadamard matrix over sqrt 2: connected, and both values are 1. With a sign no theorem forbids
 * that. */
TEST(signs_void_the_theorem)
{
    const double h = sqrt(0.5);
    CS_AUTO(cs_csr) a = matrix_of(2, 2, (double[]){h, h, h, -h});
    CS_AUTO(cs_spectrum) s = spectrum_of(&a, (cs_spectrum_options){.normalised = true});
    assert_int_equal(s.k, 2);
    assert_int_equal(s.input.components, 1);
    assert_true(fabs(s.sigma[1] - 1) < CLOSE);
    assert_false(s.cert.perron);
    assert_int_equal(s.cert.components.state, CS_CERT_NOT_RUN);
    assert_int_equal(s.cert.near_ones, 0);
}

/* sigma = 1 with a residual of 1e-3 may be 1.0005 in truth, whose square is 1e-3 more: no failure.
 * Without a residual it is one. */
TEST(residuals_widen_the_moments)
{
    for (int complete = 0; complete < 2; ++complete) {
        for (int exact = 0; exact < 2; ++exact) {
            double sigma = 1, residual = exact ? 0 : 1e-3;
            const cs_certificate_facts facts = {.complete = complete, .rank = 1, .longest = 1};
            const cs_spectrum_options o = {.k = 1, .normalised = true};
            cs_spectrum s = {.input.rows = 1,
                             .input.cols = 1,
                             .k = 1,
                             .rank = complete ? 1 : -1,
                             .input.components = 1,
                             .sigma = &sigma,
                             .residual = &residual,
                             .moments.sum_sigma2 = 1 - 1e-3,
                             .moments.sum_sigma4 = NAN};
            cs_certificates_of(&o, &facts, &s);
            assert_int_equal(s.cert.moments.state, exact ? CS_CERT_FAILED : CS_CERT_PASSED);
        }
    }
}

/* All triplets of (1 0 1; 0 1 1; 1 1 2) / 4, which has the values 3/4, 1/4 and 0, or of the same
 * with its first row cut into four halves, which lumping joins again; inertia counts at tau = 1/8,
 * twice the given floor. */
static cs_spectrum counted_at_an_eighth(bool cut)
{
    const double whole[] = {.25, 0, .25, 0, .25, .25, .25, .25, .5};
    const double halves[] = {.125, 0, .125, .125, 0,   .125, .125, 0,   .125,
                             .125, 0, .125, 0,    .25, .25,  .25,  .25, .5};
    CS_AUTO(cs_csr) a = matrix_of(cut ? 6 : 3, 3, cut ? halves : whole);
    cs_spectrum_options o = {.normalised = true, .certify = CS_CERTIFY_INERTIA};
    cs_spectrum s = {.input.rows = a.rows, .input.cols = 3, .input.components = 1};
    AUTO_OK(cs_system, system, cs_system_of(&a, &o, false, &system));
    assert_int_equal(system.reduced.shared, !cut);
    assert_int_equal(system.reduced.a.rows, 3);
    AUTO_OK(cs_parts, parts, cs_parts_solve(&system, &o, 3, &parts));
    OK(cs_spectrum_merge(&system, &parts, &o, true, &s));
    cs_certificate_facts claims = cs_certificate_facts_of(&system, &o, &parts, &s);
    assert_true(claims.complete && s.k == 2);
    s.solution.floor = 0.0625;
    OK(cs_spectrum_certify(&system, &o, &claims, &s));
    assert_int_equal(s.cert.inertia.state, CS_CERT_PASSED);
    return s;
}

/* A count proves no more than its backward error, and the error of lumping, allow. G - tau^2 I has
 * norm 9/16 - 1/64, so the error of the factorisation alone is (4 n + 400) u of that
 * (linalg/inertia.h). */
TEST(inertia_keeps_its_margins)
{
    CS_AUTO(cs_spectrum) whole = counted_at_an_eighth(false), cut = counted_at_an_eighth(true);
    double error = 412 * (DBL_EPSILON / 2) * 35 / 64;
    assert_true(whole.cert.inertia.reach >= sqrt(1.0 / 64 + error));
    assert_true(whole.cert.inertia.reach < 0.125 + 1e-9);
    /* The matrix that is factored is the same: the difference is CS_LUMPED times a bound on 3/4. */
    double difference = cut.cert.inertia.reach - whole.cert.inertia.reach;
    assert_true(difference >= 0.99 * 0.75 * CS_LUMPED && difference < CS_LUMPED);
}
