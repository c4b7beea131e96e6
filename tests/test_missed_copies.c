/* Certificates against correct results from which a triplet was taken, doubled or bent: what each
 * of them must catch, and that none of them passes over what it says is not missing. */
#include "cooc/spectrum_stages_private.h"
#include "cooc_matrices.h"
#include "spectrum_support.h"
#include "test.h"

enum { ALL = CS_CERTIFY_USUAL | CS_CERTIFY_INERTIA };

/* Three copies of one block of random counts, and a larger block of another: four values are 1, and
 * each value of the small block is there three times. */
enum { COPIES = 3, M = 30, N = 18, M_OTHER = 50, N_OTHER = 40 };

static cs_csr planted(void)
{
    enum { ROWS = COPIES * M + M_OTHER, COLS = COPIES * N + N_OTHER };
    static double values[ROWS * COLS];
    memset(values, 0, sizeof values);
    cs_rng rng = cs_rng_at(4, CS_STREAM_TEST, 31);
    for (int i = 0; i < M; ++i) {
        for (int j = 0; j < N; ++j) {
            double x = (double)(cs_rng_below(&rng, 4) == 0 ? 1 + cs_rng_below(&rng, 9) : 0);
            x += i == 0 || j == 0;
            for (int c = 0; c < COPIES; ++c) {
                values[(c * M + i) * COLS + c * N + j] = x;
            }
        }
    }
    for (int i = COPIES * M; i < ROWS; ++i) {
        for (int j = COPIES * N; j < COLS; ++j) {
            double x = (double)(cs_rng_below(&rng, 5) == 0 ? 1 + cs_rng_below(&rng, 9) : 0);
            values[i * COLS + j] = x + (i == COPIES * M || j == COPIES * N);
        }
    }
    return matrix_of(ROWS, COLS, values);
}

typedef struct {
    cs_csr a;
    cs_spectrum_options o;
    cs_system system;
    cs_certificate_facts claims;
    cs_spectrum s;
} result;

/* The stages of cs_spectrum_of by hand; certified by the caller. */
static void solve(result *r, cs_csr a, cs_spectrum_options o)
{
    *r = (result){.a = a, .o = o, .s = {.input.rows = a.rows, .input.cols = a.cols}};
    int64_t wanted = o.k > 0 ? o.k : a.rows < a.cols ? a.rows : a.cols;
    OK(cs_system_of(&r->a, &o, false, &r->system));
    r->s.input.components = r->system.components;
    AUTO_OK(cs_parts, parts, cs_parts_solve(&r->system, &o, wanted, &parts));
    OK(cs_spectrum_merge(&r->system, &parts, &o, true, &r->s));
    r->claims = cs_certificate_facts_of(&r->system, &o, &parts, &r->s);
}

static void certify(result *r)
{
    OK(cs_spectrum_certify(&r->system, &r->o, &r->claims, &r->s));
}

static void forget_all(result *r)
{
    cs_spectrum_free(&r->s);
    cs_system_free(&r->system);
    cs_csr_free(&r->a);
}

/* No certificate may say that what is missing is not. */
static void assert_no_false_reach(const cs_spectrum *s, double missing)
{
    const cs_certificate *c[] = {&s->cert.moments, &s->cert.probe, &s->cert.inertia};
    for (int i = 0; i < 3; ++i) {
        bool says = c[i]->state == CS_CERT_PASSED || c[i]->state == CS_CERT_INCONCLUSIVE;
        assert_false(says && c[i]->reach < missing * (1 - 1e-12));
    }
}

/* Every triplet in turn is taken from a truncated result: copies of 1, of a value below 1, simple
 * ones. */
TEST(any_missed_triplet_is_caught)
{
    enum { K = 40 };
    int copies = 0, simple = 0, ones = 0, last = 0;
    for (int64_t j = 0; j < K; ++j) {
        CS_AUTO_BY(forget_all, result) r = {0};
        solve(&r, planted(), (cs_spectrum_options){.k = K, .certify = ALL, .moment4 = true});
        cs_spectrum *s = &r.s;
        certify(&r);
        assert_int_equal(s->cert.components.state, CS_CERT_PASSED);
        assert_int_not_equal(s->cert.moments.state, CS_CERT_FAILED);
        assert_int_equal(s->cert.probe.state, CS_CERT_PASSED);
        assert_int_equal(s->cert.inertia.state, CS_CERT_PASSED);
        assert_true(s->cert.inertia.value == K && s->cert.inertia.reach < s->sigma[K - 1]);
        double missing = s->sigma[j];
        bool copy = (j > 0 && s->sigma[j - 1] - missing < 1e-12) ||
                    (j + 1 < K && missing - s->sigma[j + 1] < 1e-12);
        forget_triplet(s, j);
        certify(&r);
        double least = s->sigma[K - 2];
        assert_no_false_reach(s, missing);
        assert_int_equal(s->cert.components.state,
                         missing > 1 - 1e-9 ? CS_CERT_FAILED : CS_CERT_PASSED);
        if (missing > least * (1 + 1e-8)) {
            assert_int_not_equal(s->cert.moments.state, CS_CERT_PASSED);
            assert_int_equal(s->cert.inertia.state, CS_CERT_FAILED);
            assert_true(s->cert.inertia.value == s->cert.inertia.bound + 1);
            ones += missing > 1 - 1e-9;
            copies += copy && missing < 1 - 1e-9;
            simple += !copy;
        } else if (j < K - 1) { /* a copy of the last: no more than a shorter list */
            assert_int_equal(s->cert.inertia.state, CS_CERT_INCONCLUSIVE);
            assert_non_null(strstr(s->cert.inertia.why, "request 40"));
            ++last;
        }
        if (missing > 1.01 * s->cert.probe.bound) {
            assert_int_equal(s->cert.probe.state, CS_CERT_FAILED);
            assert_true(fabs(s->cert.probe.value - missing) < 1e-6);
        }
    }
    assert_true(ones == 4 && copies > 10 && simple > 10 && last <= 2);
}

/* Of all triplets none can be taken unseen: the sums and the count are both off. */
TEST(any_missed_triplet_of_all_is_caught)
{
    result r;
    solve(&r, planted(), (cs_spectrum_options){.certify = ALL});
    int64_t k = r.s.k;
    assert_true(r.claims.complete && k == COPIES * N + N_OTHER);
    certify(&r);
    assert_int_equal(r.s.cert.moments.state, CS_CERT_PASSED);
    assert_int_equal(r.s.cert.inertia.state, CS_CERT_PASSED);
    assert_true(r.s.cert.inertia.value == (double)k);
    assert_non_null(strstr(r.s.cert.inertia.why, "only 94"));
    assert_int_equal(r.s.cert.probe.state, CS_CERT_NOT_RUN);
    assert_non_null(strstr(r.s.cert.probe.why, "all triplets"));
    forget_all(&r);
    for (int64_t j = 0; j < k; j += 3) {
        solve(&r, planted(), (cs_spectrum_options){.certify = ALL});
        double missing = r.s.sigma[j];
        forget_triplet(&r.s, j);
        certify(&r);
        assert_no_false_reach(&r.s, missing);
        assert_int_equal(r.s.cert.moments.state, CS_CERT_FAILED); /* 94 values of 1e-3 or more */
        assert_int_equal(r.s.cert.inertia.state, CS_CERT_FAILED);
        assert_true(r.s.cert.inertia.value == (double)k);
        forget_all(&r);
    }
}

static void copy_triplet(cs_spectrum *s, int64_t from, int64_t to)
{
    s->sigma[to] = s->sigma[from];
    memcpy(s->u.data + to * s->u.ld, s->u.data + from * s->u.ld,
           (size_t)s->u.rows * sizeof(double));
    memcpy(s->v.data + to * s->v.ld, s->v.data + from * s->v.ld,
           (size_t)s->v.rows * sizeof(double));
}

/* One triplet twice in the place of the next: the number of values is right, and their vectors are
 * not independent. Values that the residuals do not bear out: more of them than there are. */
TEST(wrong_triplets_are_caught)
{
    CS_AUTO_BY(forget_all, result) r = {0};
    solve(&r, planted(), (cs_spectrum_options){.k = 40, .certify = CS_CERTIFY_INERTIA});
    copy_triplet(&r.s, 12, 13);
    certify(&r);
    assert_int_equal(r.s.cert.inertia.state, CS_CERT_FAILED);
    assert_non_null(strstr(r.s.cert.inertia.why, "not orthonormal"));
    assert_fails(cs_spectrum_require(&r.s), CS_ERR_CONVERGE, "the certificate inertia");
    assert_int_equal(r.s.cert.components.state, CS_CERT_NOT_RUN);
    assert_string_equal(r.s.cert.components.why, "not requested");
    forget_all(&r);
    solve(&r, planted(), (cs_spectrum_options){.k = 40, .certify = CS_CERTIFY_INERTIA});
    for (int j = 0; j < 40; ++j) {
        r.s.sigma[j] = fmax(r.s.sigma[j], 0.9);
    }
    certify(&r);
    assert_int_equal(r.s.cert.inertia.state, CS_CERT_FAILED);
    assert_true(r.s.cert.inertia.value < 40);
    r.s.residual[0] = 2; /* and what proves nothing proves nothing */
    certify(&r);
    assert_int_equal(r.s.cert.inertia.state, CS_CERT_INCONCLUSIVE);
    assert_non_null(strstr(r.s.cert.inertia.why, "rounding hides"));
    r.s.residual[0] = NAN;
    certify(&r);
    assert_int_equal(r.s.cert.inertia.state, CS_CERT_INCONCLUSIVE);
}

/* The cycle's values are double except the first: an even k cuts a pair, an odd one does not. */
TEST(a_cut_through_equal_values_is_reported)
{
    CS_AUTO(cs_csr) a = cycle(64);
    for (int64_t k = 1; k <= 20; ++k) {
        for (int plain = 0; plain < 2; ++plain) {
            CS_AUTO(cs_spectrum) s =
                spectrum_of(&a, (cs_spectrum_options){.k = k,
                                                      .no_reduction = plain,
                                                      .certify = CS_CERTIFY_INERTIA,
                                                      .values_only = true});
            assert_int_equal(s.cert.inertia.state, k % 2 ? CS_CERT_PASSED : CS_CERT_INCONCLUSIVE);
            assert_true(s.cert.inertia.value == (double)(k + (k + 1) % 2));
            assert_true(s.cert.inertia.bound == (double)k);
            double last = s.sigma[k - 1];
            assert_true(fabs(s.cert.inertia.reach - last) < 1e-9);
            assert_int_equal(s.cert.inertia.reach < last, k % 2);
            if (k == 6) {
                assert_non_null(strstr(s.cert.inertia.why, "request 7"));
            }
            assert_null(s.u.data);
        }
    }
}

/* U diag(value) V^T of order n with Householder U and V: entries of both signs. */
static cs_csr turned(int n, const double *value)
{
    static double entry[64 * 64];
    double uu = SUM(i, 0, n, (i + 1.0) * (i + 1.0));
    double vv = SUM(i, 0, n, (2.0 + i % 5) * (2.0 + i % 5));
    for (int i = 0; i < n; ++i) {
        for (int j = 0; j < n; ++j) {
            entry[i * n + j] = 0;
            for (int t = 0; t < n; ++t) {
                double u = (i == t) - 2 * (i + 1.0) * (t + 1.0) / uu;
                double v = (j == t) - 2 * (2.0 + j % 5) * (2.0 + t % 5) / vv;
                entry[i * n + j] += u * value[t] * v;
            }
        }
    }
    return matrix_of(n, n, entry);
}

/* Values whose squares drown in rounding are counted without squares, down to where those drown
 * too.
 */
TEST(small_values_are_counted_without_squares)
{
    enum { SIZE = 12, SEEN = 8 };
    double value[SIZE] = {1, 0.9, 0.9, 0.3, 1e-3, 1e-7, 1e-7, 2e-9, 1e-16};
    for (int64_t k = 1; k <= SEEN; ++k) {
        CS_AUTO_BY(forget_all, result) r = {0};
        solve(&r, turned(SIZE, value),
              (cs_spectrum_options){.k = k, .normalised = true, .certify = ALL});
        r.claims.complete = false; /* LAPACK gives them all: only k are taken as known */
        certify(&r);
        bool cut = k == 2 || k == 6;
        assert_int_equal(r.s.cert.inertia.state, cut ? CS_CERT_INCONCLUSIVE : CS_CERT_PASSED);
        assert_true(r.s.cert.inertia.value == (double)(k + cut));
        assert_true(fabs(r.s.cert.inertia.reach - value[k - 1]) < 1e-2 * value[k - 1]);
        for (int64_t j = 0; j + 1 < k; ++j) { /* one of them missed */
            double missing = r.s.sigma[j], least = r.s.sigma[k - 1];
            CS_AUTO_BY(forget_all, result) less = {0};
            solve(&less, turned(SIZE, value),
                  (cs_spectrum_options){.k = k, .normalised = true, .certify = ALL});
            less.claims.complete = false;
            forget_triplet(&less.s, j);
            certify(&less);
            assert_no_false_reach(&less.s, missing);
            assert_int_equal(less.s.cert.inertia.state,
                             missing > 1.5 * least || missing > least + 1e-3
                                 ? CS_CERT_FAILED
                                 : CS_CERT_INCONCLUSIVE);
        }
    }
    value[SEEN - 1] = 3e-14; /* above the floor of the solver, 2.7e-15, and below what is counted */
    CS_AUTO_BY(forget_all, result) r = {0};
    solve(&r, turned(SIZE, value),
          (cs_spectrum_options){.k = SEEN, .normalised = true, .certify = ALL});
    assert_int_equal(r.s.k, SEEN);
    certify(&r);
    assert_int_equal(r.s.cert.inertia.state, CS_CERT_INCONCLUSIVE);
    assert_true(isnan(r.s.cert.inertia.reach));
    assert_int_not_equal(r.s.cert.moments.state, CS_CERT_PASSED); /* another 3e-14 would not show */
}

/* All triplets, with values whose squares the sums cannot hold: the moments say so, with one missed
 * or not, and the count is exact. */
TEST(sums_do_not_prove_what_they_cannot_hold)
{
    const double value[12] = {1, 0.9, 0.5, 1e-9, 1e-9};
    for (int missed = 0; missed < 2; ++missed) {
        CS_AUTO_BY(forget_all, result) r = {0};
        solve(&r, turned(12, value), (cs_spectrum_options){.normalised = true, .certify = ALL});
        assert_true(r.claims.complete && r.s.k == 5);
        if (missed) {
            forget_triplet(&r.s, 4);
        }
        certify(&r);
        assert_int_equal(r.s.cert.moments.state, CS_CERT_INCONCLUSIVE);
        assert_true(r.s.cert.moments.reach > 1e-9 && r.s.cert.moments.reach < 1e-6);
        assert_non_null(strstr(r.s.cert.moments.why, "would not be detected"));
        assert_int_equal(r.s.cert.inertia.state, missed ? CS_CERT_FAILED : CS_CERT_PASSED);
        assert_true(r.s.cert.inertia.value == 5);
        assert_true(missed || r.s.cert.inertia.reach < 1e-10);
    }
}

/* Beyond the limits nothing runs, and the reason names size and limit. */
TEST(limits_are_named)
{
    CS_AUTO(cs_csr) a = cycle(9000);
    CS_AUTO(cs_spectrum) s =
        spectrum_of(&a, (cs_spectrum_options){.k = 1, .certify = ALL, .values_only = true});
    assert_int_equal(s.cert.inertia.state, CS_CERT_NOT_RUN);
    assert_non_null(strstr(s.cert.inertia.why, "a component of 9000 x 9000"));
    assert_non_null(strstr(s.cert.inertia.why, "above the limit of 8192"));
    OK(cs_spectrum_require(&s)); /* what does not run does not fail */
    cs_spectrum_free(&s);
    cs_csr_free(&a);
    a = cycle(20);
    s = spectrum_of(&a, (cs_spectrum_options){.k = 3, .certify = CS_CERTIFY_NONE});
    assert_int_equal(s.cert.components.state, CS_CERT_NOT_RUN);
    assert_int_equal(s.cert.moments.state, CS_CERT_NOT_RUN);
    assert_int_equal(s.cert.probe.state, CS_CERT_NOT_RUN);
    assert_int_equal(s.cert.inertia.state, CS_CERT_NOT_RUN);
    assert_int_equal(s.cert.residual.state, CS_CERT_PASSED);
}

TEST(threads_do_not_change_the_count)
{
    CS_AUTO(cs_csr) a = multiplicity_matrix(false, 6, 2);
    double reach = 0;
    for (int threads = 1; threads <= 3; ++threads) {
        CS_AUTO(cs_spectrum) s = spectrum_of(
            &a, (cs_spectrum_options){.k = 30, .threads = threads, .certify = CS_CERTIFY_INERTIA});
        assert_int_equal(s.cert.inertia.state, CS_CERT_PASSED);
        assert_true(threads == 1 || s.cert.inertia.reach == reach);
        reach = s.cert.inertia.reach;
    }
}

TEST(every_failed_allocation_is_reported)
{
    double value[12] = {1, 0.5, 1e-7, 2e-9};
    for (int small = 0; small < 2; ++small) {
        CS_AUTO_BY(forget_all, result) r = {0};
        if (small) {
            solve(&r, turned(12, value),
                  (cs_spectrum_options){.k = 3, .normalised = true, .threads = 1});
        } else {
            solve(&r, cycle(24), (cs_spectrum_options){.k = 6, .threads = 1});
        }
        cs_status status = CS_ERR_MEMORY;
        int64_t n = 0;
        while (status != CS_OK) {
            (void)cs_mem_fail_at(++n);
            status = cs_spectrum_inertia(&r.system, &r.o, &r.claims, &r.s);
            assert_true(status == CS_OK || status == CS_ERR_MEMORY);
            assert_true(n < 200);
            cs_reason_clear();
        }
        (void)cs_mem_fail_at(0);
        assert_true(n > 10);
    }
}
