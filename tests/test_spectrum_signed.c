/* Eigenvalues of symmetric matrices from singular triplets, over several panels of the basis: equal
 * values of either sign, and triplets whose right vectors do not span the space. */
#include "base/vector_ops.h"
#include "cooc/spectrum_stages_private.h"
#include "cooc_matrices.h"
#include "linalg_support.h"
#include "spectrum_support.h"

enum { N = 240, PAIRS = N / 2 };

/* Orthonormal columns. */
static cs_dense rotation(uint64_t index)
{
    cs_dense q = {0};
    double sigma[N];
    AUTO_OK(cs_dense, a, cs_dense_init(&a, N, N));
    AUTO_OK(cs_dense, vt, cs_dense_init(&vt, N, N));
    fill_normal(&a, index);
    OK(cs_dense_init(&q, N, N));
    OK(cs_dense_svd(&a, sigma, &q, &vt));
    return q;
}

/* Q diag(value) Q^T, exactly symmetric. */
static cs_csr symmetric_of(const cs_dense *q, const double *value)
{
    CS_AUTO(cs_dense) scaled = {0}, m = {0};
    OK(cs_dense_init(&scaled, N, N));
    OK(cs_dense_init(&m, N, N));
    cs_dense_copy(q, &scaled);
    for (int64_t j = 0; j < N; ++j) {
        cs_divide(N, 1 / value[j], scaled.data + j * scaled.ld);
    }
    OK(cs_gemm(false, true, 1, &scaled, q, 0, &m));
    for (int64_t j = 0; j < N; ++j) {
        for (int64_t i = 0; i < j; ++i) {
            m.data[j + i * m.ld] = m.data[i + j * m.ld];
        }
    }
    return csr_of(&m);
}

/* Orthonormal eigenvectors x with u = sign(lambda) x; each eigenvalue has `copies` of each sign,
 * except at the end of the k. */
static void check(const cs_csr *m, const double *value, int64_t copies, const cs_spectrum *s)
{
    assert_non_null(s->eigenvalue);
    AUTO_OK(cs_dense, y, cs_dense_init(&y, N, s->k));
    assert_true(orthonormality(&s->v) < CLOSE);
    OK(cs_csr_apply(m, &s->v, &y, 1));
    for (int64_t j = 0; j < s->k; ++j) {
        const double lambda = s->eigenvalue[j];
        const double *x = s->v.data + j * s->v.ld, *u = s->u.data + j * s->u.ld;
        assert_near(s->sigma[j], fabs(value[j]), CLOSE);
        assert_each(i, 0, N, u[i] == (lambda < 0 ? -x[i] : x[i]));
        assert_each(i, 0, N, fabs(y.data[i + j * y.ld] - lambda * x[i]) < CLOSE);
        const int64_t here = COUNT(t, 0, s->k, fabs(s->eigenvalue[t] - lambda) < 1e-9);
        const bool last = s->sigma[j] < s->sigma[s->k - 1] + 1e-9;
        assert_true(last ? here <= copies : here == copies);
    }
}

/* 8 moduli, each 15 times as +lambda and 15 times as -lambda; k cuts the groups at every place of a
 * panel, and inside a group of one sign. */
TEST(equal_values_of_both_signs)
{
    double value[N];
    CS_AUTO(cs_dense) q = rotation(1);
    for (int64_t j = 0; j < N; ++j) {
        value[j] = (j % 2 ? -1 : 1) * (1 - 0.1 * (double)(j / 30));
    }
    CS_AUTO(cs_csr) m = symmetric_of(&q, value);
    const int64_t asked[] = {0, 63, 64, 65, 100, 128, 130, 193, N - 1};
    for (size_t i = 0; i < sizeof asked / sizeof *asked; ++i) {
        CS_AUTO(cs_spectrum)
        s = spectrum_of(
            &m, (cs_spectrum_options){.normalised = true, .k = asked[i], .eigenvalues = true});
        assert_int_equal(s.k, asked[i] ? asked[i] : N);
        check(&m, value, 15, &s);
    }
}

/* All triplets of a matrix with lambda and -lambda for each of the moduli: v_j = (x + y) / sqrt(2)
 * and u_j = (x - y) / sqrt(2) with eigenvectors x and y. The other half of the v are those of the
 * first half turned towards the u by an angle, 0 or more; its u are the same. So the v alone span
 * half of the space, or the other half up to rounding over the angle. */
static void deficient(const cs_dense *q, const double *value, double angle, cs_spectrum *s)
{
    *s = (cs_spectrum){.k = N};
    OK(cs_dense_init(&s->u, N, N));
    OK(cs_dense_init(&s->v, N, N));
    s->sigma = cs_calloc(N, sizeof *s->sigma);
    s->residual = cs_calloc(N, sizeof *s->residual);
    assert_true(s->sigma && s->residual);
    for (int64_t j = 0; j < N; ++j) {
        const int64_t pair = j % PAIRS;
        s->sigma[j] = fabs(value[2 * pair]);
        for (int64_t i = 0; i < N; ++i) {
            const double x = q->data[i + 2 * pair * N], y = q->data[i + (2 * pair + 1) * N];
            const double turn = j < PAIRS ? 0 : angle, v = (x + y) * M_SQRT1_2;
            s->u.data[i + j * N] = (x - y) * M_SQRT1_2;
            s->v.data[i + j * N] = cos(turn) * v + sin(turn) * s->u.data[i + j * N];
        }
    }
}

TEST(right_vectors_may_be_dependent)
{
    double value[N];
    CS_AUTO(cs_dense) q = rotation(2);
    for (int64_t j = 0; j < N; ++j) {
        value[j] = (j % 2 ? -1 : 1) * (1 - 0.008 * (double)(j / 2));
    }
    CS_AUTO(cs_csr) m = symmetric_of(&q, value);
    CS_AUTO(cs_system) system = {0};
    const cs_nonempty_rows rows = cs_nonempty_rows_all(N);
    const cs_spectrum_options options = {.normalised = true, .rows = &rows, .threads = 1};
    OK(cs_system_of(&m, &options, true, &system));
    const double angle[] = {1, 1e-4, 1e-8};
    for (size_t i = 0; i < sizeof angle / sizeof *angle; ++i) {
        CS_AUTO(cs_spectrum) s = {0};
        deficient(&q, value, angle[i], &s);
        OK(cs_spectrum_signed(&system, &options, &s));
        check(&m, value, 1, &s);
    }
    /* the same v twice, and nothing to add */
    CS_AUTO(cs_spectrum) s = {0}, same = {0};
    deficient(&q, value, 0, &s);
    s.k = PAIRS + 64;
    OK(cs_spectrum_signed(&system, &options, &s));
    check(&m, value, 1, &s);
    deficient(&q, value, 0, &same);
    cs_dense_copy(&same.v, &same.u);
    OK(cs_spectrum_signed(&system, &options, &same));
    assert_null(same.eigenvalue);
}

/* Of two entries that cancel, rounding may leave one. */
TEST(an_entry_of_rounding_has_no_mirror)
{
    const double above[] = {1e-17, 1e-3};
    for (size_t i = 0; i < sizeof above / sizeof *above; ++i) {
        AUTO_OK(cs_dense, a, cs_dense_init(&a, 2, 2));
        memcpy(a.data, (double[]){2, 0, above[i], -1}, 4 * sizeof *a.data);
        CS_AUTO(cs_csr) m = csr_of(&a);
        assert_int_equal(cs_csr_nnz(&m), 3);
        CS_AUTO(cs_spectrum)
        s = spectrum_of(&m, (cs_spectrum_options){.normalised = true, .k = 2, .eigenvalues = true});
        assert_int_equal(s.eigenvalue != NULL, above[i] < 1e-12);
    }
}
