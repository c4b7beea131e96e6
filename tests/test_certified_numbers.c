/* cooc/spectrum_certify: states and numbers of certificates, of spectra and sums that are made up so
 * that every one has a closed form. */
#include "cooc/spectrum_stages_private.h"
#include "test.h"

typedef struct {
    int64_t k;
    double sigma[4], residual[4];
    cs_spectrum s;
} made;

/* k values and residuals of a 50 x 40 matrix with these sums. */
static void make(made *m, int64_t k, const double *sigma, const double *residual, double sum2,
                 double sum4)
{
    memset(m, 0, sizeof *m);
    for (int64_t j = 0; j < k; ++j) {
        m->sigma[j] = sigma[j];
        m->residual[j] = residual ? residual[j] : 0;
    }
    m->s = (cs_spectrum){.input.rows = 50,
                         .input.cols = 40,
                         .k = k,
                         .rank = -1,
                         .input.components = 1,
                         .sigma = m->sigma,
                         .residual = m->residual,
                         .moments.sum_sigma2 = sum2,
                         .moments.sum_sigma4 = sum4};
}

static const cs_spectrum_options UNSCALED = {.normalised = true, .certify = CS_CERTIFY_MOMENTS};

/* All triplets of a rank of k + `capacity`: the squares of the missing values sum to no more than the
 * remainder of the sums and their error: residuals, values below the floor, and (k + 32) eps of the
 * sum. */
TEST(the_sums_of_all_triplets)
{
    static const double sigma[] = {1, 0.5}, residual[] = {0x1p-10, 0x1p-12};
    static const struct {
        int64_t k, margin;
        double floor, off;
        cs_cert_state state;
    } cases[] = {{2, 0, 0, 0, CS_CERT_PASSED},
                 {2, 2, 0x1p-6, 1e-3, CS_CERT_PASSED},
                 {2, 1, 0x1p-6, -1e-3, CS_CERT_PASSED},
                 {2, 2, 0x1p-6, 4e-3, CS_CERT_FAILED},
                 {1, 3, 0x1p-6, 1e-3, CS_CERT_PASSED},
                 {0, 3, 0.25, 1e-3, CS_CERT_INCONCLUSIVE}, /* nothing is less than no value */
                 {0, 0, 0, 0, CS_CERT_PASSED},
                 {2, 1, 0.5, 0, CS_CERT_INCONCLUSIVE},
                 {2, 0, 0.5, 0, CS_CERT_PASSED}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        double sum = 0, error = 0;
        made m;
        for (int64_t j = 0; j < cases[i].k; ++j) {
            const double most = sigma[j] + residual[j];
            sum += sigma[j] * sigma[j];
            error += most * most - sigma[j] * sigma[j]; /* exact: powers of two */
        }
        make(&m, cases[i].k, sigma, residual, sum + cases[i].off, NAN);
        m.s.rank = m.s.k;
        m.s.solution.floor = cases[i].floor;
        const cs_certificate_facts facts = {.complete = true, .rank = cases[i].k + cases[i].margin};
        cs_certificates_of(&UNSCALED, &facts, &m.s);
        error += (double)cases[i].margin * cases[i].floor * cases[i].floor;
        const cs_certificate *c = &m.s.cert.moments;
        const double rounding = ((double)m.s.k + 32) * DBL_EPSILON * m.s.moments.sum_sigma2;
        assert_int_equal(c->state, cases[i].state);
        assert_true(c->value == fabs(m.s.moments.sum_sigma2 - sum));
        assert_true(fabs(c->bound - error - rounding) <= 0.1 * DBL_EPSILON);
        if (cases[i].state == CS_CERT_FAILED) {
            assert_true(isnan(c->reach));
        } else {
            assert_true(fabs(c->reach * c->reach - c->value - c->bound) <= 1e-15);
        }
        assert_int_equal(strstr(c->why, "a missing value as small as") != NULL,
                         cases[i].state == CS_CERT_INCONCLUSIVE);
    }
}

/* Of n others with mean square m and a standard deviation of squares d, none exceeds
 * m + d sqrt(n - 1) (Samuelson 1968), nor the root of the sum of their fourth powers, nor the sum. */
TEST(the_largest_of_the_others)
{
    static const double known[] = {1, 0.75};
    static const struct {
        int64_t n;
        double other[3];
    } cases[] = {{1, {0.5}},  {2, {0.5, 0.25}},      {2, {0.5, 0.5}},        {3, {0.5, 0.25}},
                 {40, {0.5}}, {3, {0.5, 0.5, 0.25}}, {7, {0.125, 0.5, 0.5}}, {0, {0}}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        for (int of = 0; of < 3; ++of) { /* both sums; the first alone; the second an estimate */
            const double n = (double)cases[i].n, error = of == 2 ? 1e-4 : 0;
            double most;
            double sum2 = SUM(j, 0, 3, pow(cases[i].other[j], 2));
            double sum4 = SUM(j, 0, 3, pow(cases[i].other[j], 4));
            made m;
            make(&m, 2, known, NULL, 1.5625 + sum2, of == 1 ? NAN : 1 + 0.31640625 + sum4);
            m.s.moments.sum_sigma4_error = error;
            const double by_sum = sum2, fourth = sum4 + 3 * error;
            most = by_sum;
            if (of != 1) {
                const double spread = sqrt(fmax(0, fourth / n - pow(sum2 / n, 2)));
                most = fmin(fmin(most, sqrt(fourth)), sum2 / n + spread * sqrt(n - 1));
            }
            const cs_certificate_facts facts = {.rank = 2 + cases[i].n};
            cs_certificates_of(&UNSCALED, &facts, &m.s);
            const cs_certificate *c = &m.s.cert.moments;
            const double value = n > 0 ? sqrt(most) : 0, reach = of == 2 ? sqrt(by_sum) : value;
            assert_true(fabs(c->value - value) < 1e-6); /* the root of eps where d = 0 */
            assert_true(c->value >= value);
            assert_true(fabs(c->reach - (n > 0 ? reach : 0)) < 1e-6);
            assert_true(fabs(c->bound - 0.75 * (1 + 1e-9)) < 1e-15);
            assert_int_equal(c->state,
                             c->reach <= c->bound ? CS_CERT_PASSED : CS_CERT_INCONCLUSIVE);
            assert_int_equal(strstr(c->why, "estimate") != NULL,
                             c->value <= c->bound && c->reach > c->bound);
        }
    }
}

/* Errors of the fourth powers: 4 e (sigma + e)^3 of each value, 3 standard errors, and
 * (k + longest + 64) eps, with lumping 4 CS_LUMPED, of their sum, or of the squared second sum where
 * signs may cancel. With sum sigma^2 far off only they decide. */
TEST(errors_of_fourth_powers)
{
    static const double sigma[] = {1, 0.5}, residual[] = {0x1p-8, 0x1p-6};
    for (int way = 0; way < 8; ++way) {
        const bool perron = way & 1, lumped = way & 2, exact = way & 4;
        const double sum2 = 30, sum4 = 1.0625;
        made m;
        make(&m, 2, sigma, exact ? NULL : residual, sum2, sum4);
        m.s.solution.exponent = -10; /* 1 is 2^10 here: no cap */
        m.s.moments.sum_sigma4_error = exact ? 0 : 0x1p-20;
        const cs_certificate_facts facts = {
            .perron = perron, .lumped = lumped, .rank = 3, .longest = 100};
        cs_certificates_of(&UNSCALED, &facts, &m.s);
        double error = ((2.0 + 100 + 64) * DBL_EPSILON + (lumped ? 4 * CS_LUMPED : 0)) *
                       (perron ? sum4 : sum2 * sum2);
        error += exact ? 0 : 3 * 0x1p-20;
        for (int j = 0; j < 2 && !exact; ++j) {
            error += 4 * residual[j] * pow(sigma[j] + residual[j], 3);
        }
        /* value^2 = sqrt of the fourth sum's error */
        assert_true(fabs(pow(m.s.cert.moments.value, 4) / error - 1) < 1e-12);
    }
}

/* No value of joint probabilities is above 1, in the units of the stages. */
TEST(no_value_is_above_one)
{
    static const double sigma[] = {0.25};
    for (int exponent = -2; exponent <= 2; ++exponent) {
        made m;
        make(&m, 1, sigma, NULL, 1000, NAN);
        m.s.solution.exponent = exponent;
        const cs_certificate_facts facts = {.perron = true, .rank = 20};
        cs_certificates_of(&UNSCALED, &facts, &m.s);
        assert_true(m.s.cert.moments.value == ldexp(1, -exponent));
        assert_true(m.s.cert.moments.reach == ldexp(1, -exponent));
        assert_int_equal(m.s.cert.moments.state,
                         exponent >= 2 ? CS_CERT_PASSED : CS_CERT_INCONCLUSIVE);
    }
    made m; /* fewer than were found */
    make(&m, 1, sigma, NULL, 0.06, NAN);
    const cs_certificate_facts facts = {.rank = 20};
    cs_certificates_of(&UNSCALED, &facts, &m.s);
    assert_int_equal(m.s.cert.moments.state, CS_CERT_FAILED);
    assert_true(isnan(m.s.cert.moments.reach));
}

/* As many values within 1e-9 of 1 as components, or as were wanted. */
TEST(ones_are_counted)
{
    static const double near[] = {1 + 9e-10, 1 - 9e-10, 1 - 1.1e-9, 0.5};
    static const struct {
        int64_t wanted, components;
        cs_cert_state state;
        int64_t near_ones;
    } cases[] = {{4, 2, CS_CERT_PASSED, 0},       {4, 3, CS_CERT_FAILED, 0},
                 {4, 1, CS_CERT_INCONCLUSIVE, 1}, {2, 9, CS_CERT_PASSED, 0},
                 {3, 9, CS_CERT_FAILED, 0},       {0, 2, CS_CERT_PASSED, 0},
                 {0, 41, CS_CERT_FAILED, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        for (int exponent = -1; exponent <= 1; ++exponent) {
            ARRAY(double, scaled, 4, j, ldexp(near[j], -exponent));
            const cs_spectrum_options o = {.k = cases[i].wanted, .certify = CS_CERTIFY_COMPONENTS};
            cs_certificate_facts facts = {.perron = true};
            made m;
            make(&m, 4, scaled, NULL, 4, NAN);
            m.s.input.components = cases[i].components;
            m.s.solution.exponent = exponent;
            cs_certificates_of(&o, &facts, &m.s);
            const cs_certificate *c = &m.s.cert.components;
            assert_int_equal(c->state, cases[i].state);
            assert_true(c->value == 2 && c->bound == (double)cases[i].components);
            assert_int_equal(m.s.cert.near_ones, cases[i].near_ones);
            assert_int_equal(strstr(c->why, "1 more within 1e-9") != NULL, cases[i].near_ones);
            assert_true(m.s.cert.perron && isnan(m.s.solution.departure) && isnan(c->reach));
            facts.perron = false;
            cs_certificates_of(&o, &facts, &m.s);
            assert_int_equal(c->state, CS_CERT_NOT_RUN);
            assert_true(m.s.cert.near_ones == 0 && !m.s.cert.perron);
            assert_non_null(strstr(c->why, "no theorem"));
            assert_string_equal(m.s.cert.moments.why, "not requested");
            assert_int_equal(m.s.cert.moments.state, CS_CERT_NOT_RUN);
        }
    }
}

/* The probe found a value: it is among those known, or it is not. */
TEST(what_a_probe_says)
{
    static const double sigma[] = {1, 0.5};
    const cs_spectrum_options o = {.certify = CS_CERTIFY_PROBE};
    cs_certificate_facts facts = {.probed = true, .probe = {.value = 0.5, .reach = 0.75}};
    const cs_certificate *c;
    double v = 1;
    made m;
    make(&m, 2, sigma, NULL, 1.25, NAN);
    c = &m.s.cert.probe;
    cs_certificates_of(&o, &facts, &m.s);
    assert_int_equal(c->state, CS_CERT_PASSED);
    assert_true(c->value == 0.5);
    assert_true(fabs(c->bound * c->bound - 0.25 * (1 + 2e-9) - 64 * DBL_EPSILON) < DBL_EPSILON);
    const double slack = CS_PROBE_RATIO * CS_PROBE_RATIO * 64 * DBL_EPSILON;
    assert_true(fabs(c->reach * c->reach - 0.5625 - slack) < DBL_EPSILON);
    facts.probe.value = 0.5 * (1 + 2e-9);
    cs_certificates_of(&o, &facts, &m.s);
    assert_int_equal(c->state, CS_CERT_FAILED);
    assert_true(isnan(c->reach));
    static const char *const idle[] = {"all triplets were computed", "no triplet was computed",
                                       "half of the free memory", "not available"};
    facts.probed = false;
    for (int i = 0; i < 4; ++i) {
        facts.complete = i == 0;
        m.s.k = i == 1 ? 0 : 2;
        m.s.v.data = i == 3 ? &v : NULL;
        cs_certificates_of(&o, &facts, &m.s);
        assert_int_equal(c->state, CS_CERT_NOT_RUN);
        assert_non_null(strstr(c->why, idle[i]));
    }
    m.s.solution.interrupted = true;
    cs_certificates_of(&o, &facts, &m.s);
    assert_string_equal(m.s.cert.moments.why, "interrupted");
}

/* The largest residual against the tolerance, of the largest value. */
TEST(the_worst_residual_counts)
{
    static const double sigma[] = {4, 2, 1};
    for (int i = 0; i < 6; ++i) {
        double residual[] = {1e-9, 1e-9, 1e-9};
        made m;
        residual[i % 3] = i < 3 ? 4e-8 : (double)NAN;
        make(&m, 3, sigma, residual, 21, NAN);
        m.s.solution.converged = true;
        cs_certificate_residual(1e-8, &m.s);
        assert_int_equal(m.s.cert.residual.state, i < 3 ? CS_CERT_PASSED : CS_CERT_FAILED);
        assert_true(m.s.solution.converged == (i < 3) && m.s.cert.residual.bound == 4e-8);
        assert_true(i < 3 ? m.s.cert.residual.value == 4e-8 : isnan(m.s.cert.residual.value));
        assert_true(m.s.solution.tol == 1e-8);
        m.s.solution.converged = false;
        cs_certificate_residual(1e-9, &m.s);
        assert_int_equal(m.s.cert.residual.state, CS_CERT_FAILED);
        m.s.k = 0;
        cs_certificate_residual(1e-9, &m.s);
        assert_int_equal(m.s.cert.residual.state, CS_CERT_PASSED);
        assert_true(m.s.cert.residual.bound == 1e-9 && !m.s.solution.converged);
    }
}

/* Multiply-adds of a count: n^3 / 6 for each component of n on its smaller side, and of its Gram
 * matrix d (d + 1) / 2 for each line of d entries on the other. Only lengths matter. */
TEST(counts_beyond_their_limit_are_not_run)
{
    enum { LINES = 1000, SMALL = 3, DEGREE = 30000, BLOCKS = 3, ORDER = 8192 };
    static int64_t rows[LINES + 1], cols[SMALL + 1];
    int64_t many[] = {0, LINES}, few[] = {0, SMALL}, square[BLOCKS + 1];
    double x = 1, residual = 0;
    for (int64_t i = 0; i <= LINES; ++i) {
        rows[i] = i * DEGREE;
    }
    for (int64_t b = 0; b <= BLOCKS; ++b) {
        square[b] = b * ORDER;
    }
    const cs_spectrum_options o = {.threads = 1};
    const cs_certificate_facts facts = {.rank = SMALL};
    cs_spectrum s = {.k = 1, .sigma = &x, .residual = &residual};
    s.u.data = s.v.data = &x;
    for (int wide = 0; wide < 2; ++wide) {
        cs_system system = {.reduced = {.count = 1}};
        cs_reduction *r = &system.reduced;
        r->side[wide ? CS_RIGHT : CS_LEFT].start = many;
        r->side[wide ? CS_LEFT : CS_RIGHT].start = few;
        (wide ? &r->at : &r->a)->ptr = rows;
        (wide ? &r->a : &r->at)->ptr = cols;
        OK(cs_spectrum_inertia(&system, &o, &facts, &s));
        assert_int_equal(s.cert.inertia.state, CS_CERT_NOT_RUN);
        assert_non_null(strstr(s.cert.inertia.why, "a count needs 4.5e+11 multiply-adds"));
    }
    cs_system system = {.reduced = {.count = BLOCKS}};
    int64_t *empty = test_zeros(BLOCKS * ORDER + 1, sizeof *empty);
    system.reduced.side[CS_LEFT].start = system.reduced.side[CS_RIGHT].start = square;
    system.reduced.a.ptr = system.reduced.at.ptr = empty;
    OK(cs_spectrum_inertia(&system, &o, &facts, &s));
    assert_int_equal(s.cert.inertia.state, CS_CERT_NOT_RUN);
    assert_non_null(strstr(s.cert.inertia.why, "a count needs 2.7e+11 multiply-adds"));
    for (int missing = 0; missing < 3; ++missing) { /* triplets, left vectors, right vectors */
        s.k = missing > 0;
        s.u.data = missing == 1 ? NULL : &x;
        s.v.data = missing == 2 ? NULL : &x;
        OK(cs_spectrum_inertia(&system, &o, &facts, &s));
        assert_int_equal(s.cert.inertia.state, CS_CERT_NOT_RUN);
        assert_non_null(strstr(s.cert.inertia.why, missing ? "vectors exceed" : "no triplet"));
        assert_true(s.cert.inertia.bound == (double)s.k && isnan(s.cert.inertia.reach));
    }
}
