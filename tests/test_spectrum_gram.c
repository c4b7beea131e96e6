/* Spectra of Gram forms against those of the matrices they are of; files that keep the mark. */
#include "analysis/measures/connectivity.h"
#include "cooc/spectrum_density.h"
#include "cooc_matrices.h"
#include "io_support.h"
#include "linalg/matrix_file.h"
#include "linalg/shard.h"
#include "spectrum_support.h"

/* sum_X A(X, u) A(X, v) / P_C(X), by its definition; rows and columns without mass are empty. */
static cs_csr gram_of(const cs_csr *a)
{
    cs_csr out = {0};
    AUTO_OK(cs_dense, d, cs_csr_to_dense(a, &d));
    AUTO_OK(cs_dense, g, cs_dense_init(&g, a->cols, a->cols));
    for (int64_t i = 0; i < a->rows; ++i) {
        double sum = SUM(u, 0, a->cols, d.data[i + u * d.ld]);
        for (int64_t u = 0; u < a->cols && sum > 0; ++u) {
            for (int64_t v = 0; v < a->cols; ++v) {
                g.data[u + v * g.ld] += d.data[i + u * d.ld] * d.data[i + v * d.ld] / sum;
            }
        }
    }
    out = csr_of(&g);
    out.gram = true;
    return out;
}

/* Eigenvalues of M are good to a few hundred units of rounding, so sigma to that over sigma. */
static void assert_same_values(const cs_spectrum *s, const cs_spectrum *expected)
{
    const double seen = 1e-6; /* the root of the floor */
    for (int64_t j = 0; j < s->k || j < expected->k; ++j) {
        double x = j < s->k ? s->sigma[j] : 0, y = j < expected->k ? expected->sigma[j] : 0;
        assert_true(fabs(x * x - y * y) < CLOSE);
        assert_true(y < seen || fabs(x - y) < CLOSE / y);
        assert_true(j >= s->k || s->residual[j] <= CLOSE / s->sigma[j]);
    }
}

static double largest_difference(int64_t n, const double *x, const double *y)
{
    double most = LARGEST(i, 0, n, fabs(x[i] - y[i]));
    return most;
}

/* max |sum_j sigma_j^2 v_j v_j^T - the same of another|: vectors and values at once. */
static double gram_difference(const cs_spectrum *s, const cs_spectrum *t)
{
    double most = 0;
    for (int64_t a = 0; a < s->input.cols; ++a) {
        for (int64_t b = 0; b < s->input.cols; ++b) {
            double x = SUM(j, 0, s->k,
                           s->sigma[j] * s->sigma[j] * s->v.data[a + j * s->v.ld] *
                               s->v.data[b + j * s->v.ld]);
            for (int64_t j = 0; j < t->k; ++j) {
                x -= t->sigma[j] * t->sigma[j] * t->v.data[a + j * t->v.ld] *
                     t->v.data[b + j * t->v.ld];
            }
            most = fmax(most, fabs(x));
        }
    }
    return most;
}

TEST(all_values_are_those_of_the_matrix)
{
    const cs_spectrum_options o = {
        .moment4 = true, .moment4_budget = 1e-9, .certify = CS_CERTIFY_USUAL | CS_CERTIFY_INERTIA};
    for (uint64_t seed = 1; seed <= 4; ++seed) {
        CS_AUTO(cs_csr) a = untidy_matrix((int64_t)seed, 120, 60, seed), g = gram_of(&a);
        CS_AUTO(cs_spectrum) whole = spectrum_of(&a, (cs_spectrum_options){.moment4 = true});
        CS_AUTO(cs_spectrum) s = spectrum_of(&g, o);
        assert_true(s.input.gram && !whole.input.gram);
        assert_true(s.solution.converged);
        assert_null(s.u.data);
        assert_same_values(&s, &whole);
        assert_true(gram_difference(&s, &whole) < CLOSE);
        assert_true(largest_difference(a.cols, s.input.col_mass, whole.input.col_mass) < CLOSE);
        assert_int_equal(s.input.components, whole.input.components);
        assert_int_equal(cs_spectrum_ones(&s), whole.input.components);
        assert_true(fabs(s.moments.sum_sigma2 - whole.moments.sum_sigma2) < CLOSE);
        /* Exact though the budget is nothing: no walk is needed. */
        assert_true(fabs(s.moments.sum_sigma4 - whole.moments.sum_sigma4) < CLOSE &&
                    s.moments.sum_sigma4_error == 0);
        assert_int_equal(s.cert.components.state, CS_CERT_PASSED);
        assert_int_equal(s.cert.moments.state, CS_CERT_PASSED);
        assert_int_equal(s.cert.residual.state, CS_CERT_PASSED);
        assert_int_not_equal(s.cert.inertia.state, CS_CERT_FAILED);
        CS_AUTO(cs_spectrum) plain = spectrum_of(&g, (cs_spectrum_options){.no_reduction = true});
        assert_same_values(&plain, &whole);
    }
}

/* The block solver's few, with every certificate; what a missed value does to them. */
TEST(leading_values_are_certified)
{
    CS_AUTO(cs_csr) a = multiplicity_matrix(false, 3, 5), g = gram_of(&a);
    cs_spectrum_options o = {.k = 12,
                             .moment4 = true,
                             .solver = CS_SOLVER_BLOCK,
                             .certify = CS_CERTIFY_USUAL | CS_CERTIFY_INERTIA};
    CS_AUTO(cs_spectrum) whole = spectrum_of(&a, (cs_spectrum_options){.k = 12, .moment4 = true});
    CS_AUTO(cs_spectrum) s = spectrum_of(&g, o);
    assert_same_values(&s, &whole);
    assert_int_equal(s.cert.probe.state, CS_CERT_PASSED);
    assert_int_equal(s.cert.inertia.state, CS_CERT_PASSED);
    assert_true(s.cert.probe.reach >= s.sigma[11] && s.cert.probe.reach < 1.02 * s.sigma[11]);
    assert_true(s.cert.inertia.reach < s.sigma[11] && s.cert.inertia.reach > 0.99 * s.sigma[11]);
    assert_true(fabs(s.cert.moments.reach - whole.cert.moments.reach) < 1e-9);
    cs_interval tail[13], expected[13];
    cs_spectrum_tails(&s, 0, tail);
    cs_spectrum_tails(&whole, 0, expected);
    assert_each(t, 0, 13, fabs(tail[t].value - expected[t].value) < CLOSE);
    assert_each(t, 0, 13, tail[t].low <= tail[t].value && tail[t].high - tail[t].low < 1e-9);
}

/* M itself, at scales whose powers leave the range of doubles. */
TEST(a_gram_form_may_come_normalised)
{
    cs_csr a = untidy_matrix(2, 60, 30, 9), abar = normalised(&a), g = {0};
    AUTO_OK(cs_dense, d, cs_csr_to_dense(&abar, &d));
    AUTO_OK(cs_dense, m, cs_dense_init(&m, a.cols, a.cols));
    OK(cs_gemm(true, false, 1, &d, &d, 0, &m));
    CS_AUTO(cs_spectrum) whole = spectrum_of(&a, (cs_spectrum_options){.moment4 = true});
    for (int e = -501; e <= 501; e += 167) { /* even and odd */
        g = csr_of(&m);
        for (int64_t p = 0; p < cs_csr_nnz(&g); ++p) {
            g.val[p] = ldexp(g.val[p], e);
        }
        g.gram = true;
        CS_AUTO(cs_spectrum) s =
            spectrum_of(&g, (cs_spectrum_options){.normalised = true, .moment4 = true});
        double unit = sqrt(ldexp(1, e));
        assert_true(s.solution.converged);
        for (int64_t j = 0; j < s.k; ++j) {
            s.sigma[j] /= unit;
            s.residual[j] /= unit;
        }
        assert_same_values(&s, &whole);
        assert_true(fabs(ldexp(s.moments.sum_sigma2, -e) - whole.moments.sum_sigma2) < CLOSE);
        assert_true(fabs(ldexp(s.moments.sum_sigma4, -2 * e) - whole.moments.sum_sigma4) < CLOSE);
        assert_int_equal(s.cert.moments.state, CS_CERT_PASSED);
        assert_true(fabs(s.cert.moments.value) < 1e-9 * unit * unit);
        cs_csr_free(&g);
    }
    cs_csr_free(&abar);
    cs_csr_free(&a);
}

static void assert_same_interval(const cs_interval *a, const cs_interval *b, double slack)
{
    assert_true(fabs(a->value - b->value) <= slack && fabs(a->low - b->low) <= slack &&
                fabs(a->high - b->high) <= slack);
}

/* One sample is the same on either, up to rounding and to the order of the columns' signs: with all
 * distinct values within the degree the quadrature is exact. */
TEST(densities_are_those_of_the_matrix)
{
    CS_AUTO(cs_csr) a = untidy_matrix(1, 80, 24, 3), g = gram_of(&a);
    const cs_spectrum_density_options o = {
        .spectrum = {.k = 4, .seed = 1}, .samples = 16, .degree = 40, .bins = 10};
    cs_spectrum_density_options plain = o;
    plain.spectrum.no_reduction = true; /* lumping would change what the signs meet */
    AUTO_OK(cs_spectrum_density, d, cs_spectrum_density_of(&a, &plain, &d));
    AUTO_OK(cs_spectrum_density, e, cs_spectrum_density_of(&g, &plain, &e));
    assert_true(fabs(d.sum_sigma2 - e.sum_sigma2) < CLOSE);
    assert_true(fabs(d.sum_sigma4 - e.sum_sigma4) < CLOSE);
    assert_int_equal(d.k, e.k);
    assert_true(largest_difference(d.k, d.sigma, e.sigma) < CLOSE);
    for (int64_t i = 0; i < d.density.points; ++i) {
        assert_same_interval(&d.density.above[i], &e.density.above[i], 1e-9);
        assert_same_interval(&d.density.fourth_below[i], &e.density.fourth_below[i], 1e-9);
        assert_same_interval(&d.density.density[i], &e.density.density[i], 1e-9);
    }
    for (int64_t t = 0; t <= d.k; ++t) {
        assert_same_interval(&d.tail[t], &e.tail[t], 1e-9);
        assert_true(fabs(d.tail_exact[t] - e.tail_exact[t]) < CLOSE);
    }
}

/* All but what takes the contexts, which are not known. */
TEST(connectivity_is_that_of_the_matrix)
{
    static const char *const of_contexts[] = {"rows", "nnz", "sweep_cut", "sweep_volume",
                                              "conditional_entropy"};
    CS_AUTO(cs_csr) a = untidy_matrix(2, 90, 40, 4), g = gram_of(&a);
    const cs_connectivity_options o = {.k = 5};
    double expected[CS_CONNECTIVITY_VALUES], value[CS_CONNECTIVITY_VALUES];
    AUTO_OK(cs_connectivity, whole, cs_connectivity_of(&a, &o, &whole));
    AUTO_OK(cs_connectivity, c, cs_connectivity_of(&g, &o, &c));
    cs_connectivity_values(&whole, expected, false);
    cs_connectivity_values(&c, value, false);
    for (int i = 0; i < CS_CONNECTIVITY_VALUES; ++i) {
        bool unknown = false;
        for (int n = 0; n < 5 && i < CS_CONNECTIVITY_METRICS; ++n) {
            unknown = unknown || strcmp(cs_connectivity_metric[i].name, of_contexts[n]) == 0;
        }
        assert_true(unknown ? isnan(value[i]) && !isnan(expected[i])
                            : (isnan(value[i]) && isnan(expected[i])) ||
                                  fabs(value[i] - expected[i]) < 1e-10);
    }
}

TEST(what_is_not_symmetric_is_refused)
{
    const double values[] = {2, 1, 0, 1, 3, 1, 0, 2, 3}, rows[] = {2, 1, 0, 1, 3, 1};
    CS_AUTO(cs_csr) a = matrix_of(3, 3, values), b = matrix_of(2, 3, rows);
    cs_spectrum s = {0};
    const cs_spectrum_options o = {0};
    a.gram = b.gram = true;
    assert_fails(cs_spectrum_of(&a, &o, &s), CS_ERR_INPUT, "is not");
    assert_fails(cs_spectrum_of(&b, &o, &s), CS_ERR_INPUT,
                 "be symmetric, but without its empty rows");
}

TEST_IN_DIR(files_keep_the_mark)
{
    CS_AUTO(cs_csr) a = untidy_matrix(1, 20, 8, 3), g = gram_of(&a);
    const char *const names[] = {"gram.npz", "gram.mtx"};
    for (int i = 0; i < 2; ++i) {
        const char *path = in_dir(state, names[i]);
        OK(i == 0 ? cs_matrix_write_npz(path, &g, false) : cs_matrix_write_mtx(path, &g, false));
        AUTO_OK(cs_csr, back, cs_matrix_read(path, &back));
        assert_true(back.gram);
        assert_int_equal(cs_csr_nnz(&back), cs_csr_nnz(&g));
        assert_memory_equal(back.val, g.val, (size_t)cs_csr_nnz(&g) * sizeof *g.val);
        cs_comm one = {.ranks = 1, .neighbours = 1};
        cs_shard shard = {0};
        assert_fails(cs_shard_read(&one, path, true, &shard), CS_ERR_USAGE, "Gram form");
        OK(i == 0 ? cs_matrix_write_npz(path, &a, false) : cs_matrix_write_mtx(path, &a, false));
        AUTO_OK(cs_csr, plain, cs_matrix_read(path, &plain));
        assert_false(plain.gram);
    }
}

TEST(every_allocation_may_fail)
{
    CS_AUTO(cs_csr) whole = multiplicity_matrix(true, 2, 4), a = gram_of(&whole);
    CS_AUTO(cs_csr) b = untidy_matrix(2, 40, 16, 2),
                    g = gram_of(&b); /* with empty rows and columns */
    const cs_spectrum_options o = {
        .k = 4, .moment4 = true, .certify = CS_CERTIFY_USUAL | CS_CERTIFY_INERTIA};
    const cs_spectrum_density_options d = {
        .spectrum = {.k = 2, .seed = 1}, .samples = 8, .degree = 6, .bins = 4};
    for (int kind = 0; kind < 4; ++kind) {
        const cs_csr *m = kind % 2 ? &a : &g;
        EACH_ALLOCATION_FAILS(n) {
            CS_AUTO(cs_spectrum) s = {0};
            CS_AUTO(cs_spectrum_density) density = {0};
            (void)out_of_memory(kind < 2 ? cs_spectrum_of(m, &o, &s)
                                         : cs_spectrum_density_of(m, &d, &density));
        }
    }
}
