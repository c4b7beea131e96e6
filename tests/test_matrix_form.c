/* Forms of a matrix of counts against their dense definitions: entries, spectra, sums of powers,
 * solvers, certificates, and the texts that make no form. */
#include "cooc/matrix_form.h"
#include "cooc/spectrum_density.h"
#include "cooc_matrices.h"
#include "linalg_support.h"
#include "spectrum_support.h"

/* The definitions, by hand. */
static double definition(int form, double a, double p, double q, double n, double d, double v,
                         double s)
{
    const double r = a / (p * q);
    switch (form) {
    case 0:
        return a / sqrt(p * q);
    case 1:
        return (a - p * q) / sqrt(p * q);
    case 2:
        return a / sqrt(p);
    case 3:
        return a > 0 ? fmax(0, log(r)) : 0;
    case 4:
        return a > 0 ? fmax(0, log(r) - log(1.5)) : 0;
    case 5:
        return (a - p * q) / (0.5 * (a + p * q));
    case 6:
        return (a > 0) - d / v;
    case 7:
        return log1p(n * a);
    case 8:
        return a - p * q;
    case 9:
        return (a > 0) * sqrt(q) - 3 * p;
    case 10:
        return a - p * s;
    default:
        return a > 0 ? fmax(0, log(a / (p * s))) : 0;
    }
}

static const char *const TEXT[] = {
    "normalised", "centred", "conditional",           "ppmi",    "sppmi:1.5",    "qwem", "support",
    "log",        "a - p*q", "ceil(a)*sqrt(q) - 3*p", "a - p*s", "ppmi-smoothed"};
enum { FORMS = sizeof TEXT / sizeof *TEXT, TRIALS = 1000, SIDE = 24 };

/* Counts with empty rows and columns, proportional rows, and several components. */
static cs_csr counts(uint64_t trial)
{
    cs_rng rng = cs_rng_at(7, CS_STREAM_TEST, trial);
    const int64_t rows = 1 + cs_rng_below(&rng, SIDE), cols = 1 + cs_rng_below(&rng, SIDE);
    const double share = 0.05 + 0.9 * cs_rng_uniform(&rng),
                 blocks = 1 + (double)cs_rng_below(&rng, 3);
    AUTO_OK(cs_dense, d, cs_dense_init(&d, rows, cols));
    for (int64_t i = 0; i < rows; ++i) {
        const int64_t like = i > 0 && cs_rng_uniform(&rng) < 0.2 ? i - 1 : i;
        for (int64_t j = 0; j < cols; ++j) {
            const bool apart = i * (int64_t)blocks / rows != j * (int64_t)blocks / cols;
            const bool seen = !apart && cs_rng_uniform(&rng) < share;
            d.data[i + j * rows] = like < i ? 3 * d.data[like + j * rows]
                                   : seen   ? (double)(1 + cs_rng_below(&rng, 9))
                                            : 0;
        }
    }
    d.data[0] += 1; /* not empty */
    return csr_of(&d);
}

/* The dense form by its definition; pairs without mass are 0. */
static cs_dense dense_form(const cs_csr *a, int form)
{
    cs_dense m = {0};
    OK(cs_csr_to_dense(a, &m));
    ARRAY(double, p, m.rows, i, SUM(j, 0, m.cols, m.data[i + j * m.ld]));
    ARRAY(double, q, m.cols, j, SUM(i, 0, m.rows, m.data[i + j * m.ld]));
    const double n = SUM(i, 0, m.rows, p[i]), v = (double)COUNT(j, 0, m.cols, q[j] > 0);
    const double powers = SUM(j, 0, m.cols, pow(q[j], 0.75));
    for (int64_t i = 0; i < m.rows; ++i) {
        const double d = (double)COUNT(j, 0, m.cols, m.data[i + j * m.ld] > 0);
        for (int64_t j = 0; j < m.cols; ++j) {
            double *x = &m.data[i + j * m.ld];
            *x = p[i] * q[j] > 0 ? definition(form, *x / n, p[i] / n, q[j] / n, n, d, v,
                                              pow(q[j], 0.75) / powers)
                                 : 0;
        }
    }
    return m;
}

static cs_matrix_form *form_of(int form)
{
    cs_matrix_form *f = NULL;
    OK(cs_matrix_form_parse(TEXT[form], &f));
    return f;
}

TEST(entries_are_those_of_the_definition)
{
    for (int form = 0; form < FORMS; ++form) {
        CS_AUTO(cs_matrix_form) *f = form_of(form);
        double worst = 0;
        for (uint64_t trial = 0; trial < TRIALS; ++trial) {
            CS_AUTO(cs_csr) a = counts(trial);
            CS_AUTO(cs_dense) want = dense_form(&a, form);
            double left[SIDE], right[SIDE];
            bool term = false;
            OK(cs_matrix_form_apply(f, &a, left, right, &term));
            assert_int_equal(term, form == 1 || form == 5 || form == 6 || (form > 7 && form < 11));
            AUTO_OK(cs_dense, s, cs_csr_to_dense(&a, &s));
            for (int64_t i = 0; i < s.rows; ++i) {
                for (int64_t j = 0; j < s.cols; ++j) {
                    const double x = s.data[i + j * s.ld] - left[i] * right[j];
                    worst = fmax(worst, fabs(x - want.data[i + j * want.ld]));
                }
            }
        }
        assert_true(worst <= 1e-13);
    }
}

/* n is the mass, whatever the unit of what is stored: with a unit of 1/3, three times the counts are the
 * same matrix. */
TEST(the_unit_of_counts_does_not_matter)
{
    for (int form = 0; form < FORMS; ++form) {
        CS_AUTO(cs_matrix_form) *f = form_of(form), *third = form_of(form);
        cs_matrix_form_set_unit(third, 1.0 / 3);
        for (uint64_t trial = 0; trial < 20; ++trial) {
            CS_AUTO(cs_csr) a = counts(trial), b = counts(trial);
            double left[2][SIDE], right[2][SIDE];
            bool term = false;
            for (int64_t e = 0; e < b.ptr[b.rows]; ++e) {
                b.val[e] *= 3;
            }
            OK(cs_matrix_form_apply(f, &a, left[0], right[0], &term));
            OK(cs_matrix_form_apply(third, &b, left[1], right[1], &term));
            assert_each(e, 0, a.ptr[a.rows],
                        fabs(a.val[e] - b.val[e]) <= 1e-13 * fmax(1, fabs(a.val[e])));
        }
    }
}

/* max |U S V^T - M|. */
static double reconstruction(const cs_spectrum *s, const cs_dense *m)
{
    double worst = 0;
    for (int64_t i = 0; i < m->rows; ++i) {
        for (int64_t j = 0; j < m->cols; ++j) {
            const double x = SUM(
                t, 0, s->k, s->sigma[t] * s->u.data[i + t * s->u.ld] * s->v.data[j + t * s->v.ld]);
            worst = fmax(worst, fabs(x - m->data[i + j * m->ld]));
        }
    }
    return worst;
}

/* Everything that a spectrum says of all triplets, against the dense matrix. */
static void check_spectrum(const cs_csr *a, int form, cs_spectrum_options o)
{
    CS_AUTO(cs_dense) m = dense_form(a, form), copy = dense_form(a, form);
    if (LARGEST(e, 0, m.rows * m.cols, fabs(m.data[e])) < 1e-13) {
        return; /* all of it is rounding */
    }
    const int64_t rank = m.rows < m.cols ? m.rows : m.cols;
    double sigma[SIDE];
    AUTO_OK(cs_dense, u, cs_dense_init(&u, m.rows, rank));
    AUTO_OK(cs_dense, vt, cs_dense_init(&vt, rank, m.cols));
    OK(cs_dense_svd(&copy, sigma, &u, &vt));
    const double top = sigma[0], size = fmax(1, top);
    CS_AUTO(cs_spectrum) s = spectrum_of(a, o);
    assert_true(s.solution.converged && !cs_spectrum_failed(&s));
    assert_each(j, 0, rank, fabs((j < s.k ? s.sigma[j] : 0) - sigma[j]) <= CLOSE * size);
    assert_true(reconstruction(&s, &m) <= CLOSE * size);
    assert_each(j, 0, s.k, s.residual[j] <= CLOSE * size);
    const double sum2 = SUM(j, 0, rank, sigma[j] * sigma[j]);
    const double sum4 = SUM(j, 0, rank, pow(sigma[j], 4));
    const double magnitude = fmax(size * size * (double)(rank * rank), 1);
    assert_near(s.moments.sum_sigma2, sum2, CLOSE * magnitude);
    assert_near(s.moments.sum_sigma4, sum4, CLOSE * magnitude * magnitude);
    assert_int_equal(s.cert.components.state, form == 0 ? CS_CERT_PASSED : CS_CERT_NOT_RUN);
    assert_int_equal(s.cert.residual.state, CS_CERT_PASSED);
}

TEST(spectra_are_those_of_the_dense_matrices)
{
    for (int form = 0; form < FORMS; ++form) {
        CS_AUTO(cs_matrix_form) *f = form_of(form);
        for (uint64_t trial = 0; trial < TRIALS; ++trial) {
            CS_AUTO(cs_csr) a = counts(trial);
            check_spectrum(&a, form,
                           (cs_spectrum_options){.form = f,
                                                 .moment4 = true,
                                                 .no_reduction = trial % 4 == 1,
                                                 .threads = 1,
                                                 .certify = CS_CERTIFY_USUAL | CS_CERTIFY_INERTIA});
        }
    }
}

/* Counts of nearly independent rows and columns: the form is a million times smaller than its parts. */
TEST(forms_of_full_counts_keep_their_digits)
{
    enum { M = 20, N = 15 };
    AUTO_OK(cs_dense, d, cs_dense_init(&d, M, N));
    for (int64_t j = 0; j < N; ++j) {
        for (int64_t i = 0; i < M; ++i) {
            d.data[i + j * M] =
                round(1e12 * (double)((i + 1) * (j + 2)) * (1 + 1e-6 * sin((double)(3 + i * j))));
        }
    }
    CS_AUTO(cs_csr) a = csr_of(&d);
    const int forms[] = {1, 5};
    for (int f = 0; f < 2; ++f) {
        CS_AUTO(cs_matrix_form) *form = form_of(forms[f]);
        CS_AUTO(cs_dense) m = dense_form(&a, forms[f]);
        double sigma[N];
        AUTO_OK(cs_dense, u, cs_dense_init(&u, M, N));
        AUTO_OK(cs_dense, vt, cs_dense_init(&vt, N, N));
        OK(cs_dense_svd(&m, sigma, &u, &vt));
        CS_AUTO(cs_spectrum) s = spectrum_of(&a, (cs_spectrum_options){.form = form, .k = 6});
        assert_true(s.k == 6 && s.solution.converged && sigma[0] < 1e-5);
        assert_each(j, 0, 6, fabs(s.sigma[j] - sigma[j]) < 1e-8 * sigma[0]);
    }
}

/* Symmetric counts: a graph of two parts, which has -lambda with every lambda, with or without some
 * edges inside. */
static cs_csr symmetric_counts(uint64_t trial, bool bipartite)
{
    cs_rng rng = cs_rng_at(8, CS_STREAM_TEST, trial);
    const int64_t n = 3 + cs_rng_below(&rng, SIDE - 3);
    AUTO_OK(cs_dense, d, cs_dense_init(&d, n, n));
    for (int64_t j = 0; j < n; ++j) {
        for (int64_t i = 0; i <= j; ++i) {
            const bool across = (i < n / 2) != (j < n / 2);
            if ((across || !bipartite) && cs_rng_uniform(&rng) < 0.5) {
                d.data[i + j * n] = d.data[j + i * n] = (double)(1 + cs_rng_below(&rng, 5));
            }
        }
    }
    d.data[n - 1] = d.data[(n - 1) * n] = 1;
    return csr_of(&d);
}

/* M x = lambda x, and u = sign(lambda) v, for the k largest moduli. */
static void check_eigenpairs(const cs_csr *a, int form, const cs_spectrum *s)
{
    CS_AUTO(cs_dense) m = dense_form(a, form), copy = dense_form(a, form);
    double value[SIDE];
    assert_non_null(s->eigenvalue);
    OK(cs_dense_eigh(&copy, value, true));
    const double size = fmax(1, s->sigma[0]);
    for (int64_t j = 0; j < s->k; ++j) {
        const double lambda = s->eigenvalue[j];
        const double *u = s->u.data + j * s->u.ld, *v = s->v.data + j * s->v.ld;
        assert_near(fabs(lambda), s->sigma[j], 0);
        assert_each(i, 0, m.rows, u[i] == (lambda < 0 ? -v[i] : v[i]));
        assert_each(i, 0, m.rows,
                    fabs(SUM(t, 0, m.cols, m.data[i + t * m.ld] * v[t]) - lambda * v[i]) <=
                        CLOSE * size);
        /* as often as among the true ones, unless it is cut off */
        const int64_t here = COUNT(t, 0, s->k, fabs(s->eigenvalue[t] - lambda) < 1e-9 * size);
        const int64_t all = COUNT(t, 0, m.rows, fabs(value[t] - lambda) < 1e-9 * size);
        const bool last = s->sigma[s->k - 1] > s->sigma[j] - 1e-9 * size;
        assert_true(last ? here <= all : here == all);
    }
}

TEST(symmetric_matrices_have_signed_eigenvalues)
{
    int64_t both = 0;
    for (int form = 0; form < 9; ++form) {
        if (form == 2 || form == 6) continue; /* not symmetric */
        CS_AUTO(cs_matrix_form) *f = form_of(form);
        for (uint64_t trial = 0; trial < 100; ++trial) {
            CS_AUTO(cs_csr) a = symmetric_counts(trial, trial % 2 == 0);
            const int64_t k = trial % 3 == 0 ? 0 : 1 + (int64_t)trial % 3;
            CS_AUTO(cs_spectrum) s = spectrum_of(
                &a, (cs_spectrum_options){
                        .form = f, .k = k, .eigenvalues = true, .certify = CS_CERTIFY_USUAL});
            assert_null(cs_spectrum_failed(&s));
            check_eigenpairs(&a, form, &s);
            both += ANY(j, 1, s.k, fabs(s.eigenvalue[j] + s.eigenvalue[j - 1]) < 1e-12);
        }
    }
    assert_true(both > 100);
    CS_AUTO(cs_csr) a = counts(3);
    CS_AUTO(cs_spectrum) s = spectrum_of(&a, (cs_spectrum_options){.eigenvalues = true});
    assert_null(s.eigenvalue);
}

/* Words of a ring occur with themselves and with both neighbours. `more`: the following neighbour
 * a billionth more often, so that the form is not symmetric. */
TEST(symmetry_does_not_depend_on_the_unit)
{
    enum { WORDS = 40 };
    CS_AUTO(cs_matrix_form) *f = form_of(5); /* qwem, with a rank-one part */
    for (int power = -30; power <= 30; power += 10) {
        for (int more = 0; more < 2; ++more) {
            AUTO_OK(cs_dense, d, cs_dense_init(&d, WORDS, WORDS));
            for (int64_t j = 0; j < WORDS; ++j) {
                const int64_t next = (j + 1) % WORDS;
                d.data[j + j * WORDS] = ldexp((double)(1 + j % 3), power);
                d.data[next + j * WORDS] = ldexp(1 + (double)more * 0x1p-30, power);
                d.data[j + next * WORDS] = ldexp(1, power);
            }
            CS_AUTO(cs_csr) a = csr_of(&d);
            CS_AUTO(cs_spectrum) s =
                spectrum_of(&a, (cs_spectrum_options){.form = f, .k = 5, .eigenvalues = true});
            assert_int_equal(s.input.symmetric, !more);
            assert_int_equal(s.eigenvalue != NULL, !more);
        }
    }
}

/* The solvers of large blocks against LAPACK, with probe and estimated fourth moment. */
TEST(solvers_agree_on_forms)
{
    CS_AUTO(cs_csr) a = untidy_matrix(3, 300, 120, 5), at = {0};
    OK(cs_csr_transpose(&a, &at));
    for (int form = 1; form < FORMS; ++form) {
        CS_AUTO(cs_matrix_form) *f = form_of(form);
        for (int wide = 0; wide < 2; ++wide) {
            const cs_csr *m = wide ? &at : &a;
            cs_spectrum_options o = {.form = f,
                                     .k = 7,
                                     .no_reduction = true,
                                     .solver = CS_SOLVER_LAPACK,
                                     .moment4 = true,
                                     .certify = CS_CERTIFY_USUAL | CS_CERTIFY_INERTIA};
            CS_AUTO(cs_spectrum) exact = spectrum_of(m, o);
            assert_int_equal(exact.cert.probe.state, CS_CERT_PASSED);
            assert_int_equal(exact.cert.inertia.state, CS_CERT_PASSED);
            o.moment4_budget = 0.5;
            for (cs_solver solver = CS_SOLVER_ARPACK; solver <= CS_SOLVER_BLOCK; ++solver) {
                o.solver = solver;
                CS_AUTO(cs_spectrum) s = spectrum_of(m, o);
                assert_true(s.solution.converged && s.k == 7 && !cs_spectrum_failed(&s));
                assert_each(j, 0, 7, fabs(s.sigma[j] - exact.sigma[j]) <= CLOSE * s.sigma[0]);
                const cs_sum4 *sum = &s.moments.sum4;
                assert_true(sum->samples > 0 && fabs(sum->value - exact.moments.sum_sigma4) <=
                                                    5 * sum->error + 1e-9 * sum->value);
            }
        }
    }
}

TEST(a_density_of_a_form_agrees_with_its_values)
{
    CS_AUTO(cs_csr) a = untidy_matrix(2, 200, 80, 6);
    for (int form = 1; form < FORMS; ++form) {
        CS_AUTO(cs_matrix_form) *f = form_of(form);
        CS_AUTO(cs_spectrum) s = spectrum_of(&a, (cs_spectrum_options){.form = f, .moment4 = true});
        const cs_spectrum_density_options o = {
            .spectrum = {.form = f, .k = 5}, .samples = 40, .degree = 40, .bins = 20};
        AUTO_OK(cs_spectrum_density, d, cs_spectrum_density_of(&a, &o, &d));
        assert_near(d.sum_sigma2, s.moments.sum_sigma2, 1e-11 * d.sum_sigma2);
        assert_near(d.sum_sigma4, s.moments.sum_sigma4, 1e-11 * d.sum_sigma4);
        assert_each(j, 0, 5, fabs(d.sigma[j] - s.sigma[j]) <= CLOSE * s.sigma[0]);
        assert_true(d.top * (1 + 1e-12) >= s.sigma[0]);
        assert_true(fabs(d.sum4.value - d.sum_sigma4) <= 3 * (d.sum4.high - d.sum4.low) / 2);
        for (int64_t i = 0; i <= 20; ++i) {
            const double above = (double)COUNT(j, 0, s.k, s.sigma[j] > d.x[i]);
            const cs_interval *x = &d.density.above[i];
            assert_true(above >= x->low - (x->high - x->low) - 1 &&
                        above <= x->high + (x->high - x->low) + 1);
        }
    }
}

TEST(texts_that_make_no_form_are_refused)
{
    const struct {
        const char *text, *part;
    } cases[] = {
        {"pmi", "nor an expression in a, p, q, n, d, v and s; did you mean ppmi?"},
        {"nope:3", "unknown form nope:3: it is neither one of normalised, centred,"},
        {"a*t", "unknown name t (the variables are a, p, q, n, d, v, s)"},
        {"sppmi", "form sppmi needs a positive number K: sppmi:5"},
        {"sppmi:0", "form sppmi needs a positive number"},
        {"sppmi:x", "form sppmi needs a positive number"},
        {"qwem:2", "form qwem has no parameter"},
        {"", "form: \"\": column 1"},
        {"a +", "form: \"a +\": column 4"},
        {"a + p + q", "where a = 0 it must be a function of p and d times a function of q"},
        {"log(a/(p*q) + p*q)", "or the matrix would be dense"},
    };
    cs_matrix_form *f = NULL;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        assert_fails(cs_matrix_form_parse(cases[i].text, &f), CS_ERR_USAGE, cases[i].part);
    }
    CS_AUTO(cs_csr) a = counts(1);
    cs_spectrum s = {0};
    const char *const infinite[] = {"log(a/(p*q))", "a/(a-a)", "1/(p-p) + 0*a"};
    for (int i = 0; i < 3; ++i) {
        CS_AUTO(cs_matrix_form) *g = NULL;
        OK(cs_matrix_form_parse(infinite[i], &g));
        assert_fails(cs_spectrum_of(&a, &(cs_spectrum_options){.form = g}, &s), CS_ERR_INPUT,
                     "where a = ");
    }
    CS_AUTO(cs_matrix_form) *g = form_of(5);
    cs_spectrum_options o = {.form = g, .normalised = true};
    assert_fails(cs_spectrum_of(&a, &o, &s), CS_ERR_USAGE, "form qwem: the matrix was given");
    a.gram = true;
    o.normalised = false;
    assert_fails(cs_spectrum_of(&a, &o, &s), CS_ERR_USAGE, "form qwem: a Gram form has only");
}

TEST(memory_that_runs_out_is_an_error)
{
    CS_AUTO(cs_csr) a = symmetric_counts(4, false);
    EACH_ALLOCATION_FAILS(n) {
        CS_AUTO(cs_matrix_form) *f = NULL;
        CS_AUTO(cs_spectrum) s = {0};
        cs_status status = cs_matrix_form_parse("qwem", &f);
        const cs_spectrum_options o = {.form = f,
                                       .threads = 1,
                                       .eigenvalues = true,
                                       .moment4 = true,
                                       .certify = CS_CERTIFY_INERTIA};
        if (status == CS_OK) status = cs_spectrum_of(&a, &o, &s);
        if (out_of_memory(status)) assert_null(s.sigma);
    }
}
