/* The block solver's filters for many copies, the capacity of its basis and its scale: degrees,
 * counts and bytes by their formulas. */
#include "linalg/space.h"
#include "linalg/svd_block_private.h"
#include "linalg_support.h"

enum { B = CS_BLOCK };

/* T_d(x), |x| > 1. */
static double chebyshev(double d, double x)
{
    return cosh(d * acosh(x));
}

/* A filter's degree is the least that raises the copies over what lies at the cut by the gain, and
 * takes one product a degree and one to look; contaminated, it is cut into stages. */
TEST(a_filter_has_the_degree_it_needs)
{
    enum { N = 400, COPIES = 40 };
    static const struct {
        double copies, cut, gain;
        int64_t degree, steps, found;
    } cases[] = {
        {1, 0.9, 1e8, 1000, 1000, B},   {1, 0.5, 1e8, 1000, 1000, B},
        {1, 0.99, 1e10, 1000, 1000, B}, {1, 0.9, 1e8, 12, 1000, 0}, /* a degree that does not pay */
        {1, 0.9, 1e8, 1000, 12, 0},                                 /* no products left */
    };
    for (size_t t = 0; t < sizeof cases / sizeof *cases; ++t) {
        double found_value[B];
        CS_AUTO_BY(operator_free, csr_operator) f = {0};
        CS_AUTO_BY(cs_space_cpu_free, cs_space) s = {0};
        int found = -1;
        ARRAY(double, value, N, j, j < COPIES ? cases[t].copies : cases[t].cut * (N - j) / N);
        operator_of(&f, diagonal_matrix(N, value), 1);
        OK(cs_space_cpu(&f.op, 1, &s));
        AUTO_OK(cs_krylov, k, cs_krylov_open(&s, false, 6, 5, &k));
        cs_copies c = {.value = cases[t].copies * cases[t].copies,
                       .cut = cases[t].cut * cases[t].cut,
                       .largest = cases[t].copies * cases[t].copies,
                       .width = 2e-6,
                       .bound = 1e-6,
                       .gain = cases[t].gain,
                       .most_degree = cases[t].degree,
                       .most_steps = cases[t].steps};
        const double x = 2 * c.value / c.cut - 1;
        int64_t degree = 1;
        while (chebyshev((double)degree, x) < cases[t].gain) {
            ++degree;
        }
        OK(cs_krylov_copies(&k, &c, found_value, &found));
        assert_int_equal(found, cases[t].found);
        assert_int_equal(k.v.panels, found > 0);
        if (found > 0) {
            assert_int_equal(c.steps, degree + 1);
            assert_int_equal(k.applications, 2 * B * (degree + 1));
            assert_each(j, 0, B, fabs(found_value[j] - c.value) < 1e-12);
            assert_each(j, 0, B, fabs(k.m[j + j * k.ld] - c.value) < 1e-12);
            /* The next block's gain is what this one's residuals allow, a thousandth at least. */
            assert_true(c.gain < cases[t].gain && c.gain >= 1e-3 * cases[t].gain * (1 - 1e-12));
            AUTO_OK(cs_dense, x1, cs_dense_init(&x1, N, B));
            OK(s.get(&s, k.v.panel[0], B, 0, &x1));
            assert_true(orthonormality(&x1) < 1e-13);
            for (int64_t e = 0; e < N * B; ++e) { /* residual: A^T A x - value x */
                const double sigma = value[e % N];
                assert_true(fabs((sigma * sigma - c.value) * x1.data[e]) <= c.bound);
            }
        } else {
            assert_int_equal(c.steps, 0);
            assert_true(c.gain == cases[t].gain);
        }
    }
}

/* A larger value, deflated, would come back from rounding: no stage is longer than lets it grow by
 * 1e8 over the copies, and they are found all the same. */
TEST(a_filter_is_cut_where_larger_values_would_return)
{
    enum { N = 300, COPIES = 30 };
    double found_value[B], ten[B];
    CS_AUTO_BY(operator_free, csr_operator) f = {0};
    CS_AUTO_BY(cs_space_cpu_free, cs_space) s = {0};
    int found = 0;
    ARRAY(double, value, N, j, j < B ? 1.6 : j < B + COPIES ? 1 : 0.9 * (N - j) / N);
    operator_of(&f, diagonal_matrix(N, value), 1);
    OK(cs_space_cpu(&f.op, 1, &s));
    AUTO_OK(cs_krylov, k, cs_krylov_open(&s, false, 6, 5, &k));
    cs_panel *panel = NULL;
    AUTO_OK(cs_dense, first, cs_dense_init(&first, N, B));
    for (int64_t j = 0; j < B; ++j) {
        first.data[j + j * N] = 1;
        ten[j] = 2.56;
    }
    OK(s.create(&s, CS_RIGHT, &panel));
    OK(s.put(&s, &first, 0, B, panel));
    cs_krylov_lock(&k, &panel, B, ten);
    cs_copies c = {.value = 1,
                   .cut = 0.81,
                   .largest = 2.56,
                   .width = 2e-6,
                   .bound = 1e-6,
                   .gain = 1e8,
                   .most_degree = 1000,
                   .most_steps = 1000};
    const double x = 2 / 0.81 - 1, above = 2 * 2.56 / 0.81 - 1;
    int64_t stage = 1, whole = 1;
    while (exp((double)(stage + 1) * (acosh(above) - acosh(x))) <= 1e8) {
        ++stage;
    }
    while (chebyshev((double)whole, x) < 1e8) {
        ++whole;
    }
    assert_true(stage < whole);
    OK(cs_krylov_copies(&k, &c, found_value, &found));
    assert_int_equal(found, B);
    assert_true(c.steps > stage + 1 && c.steps <= whole + 3); /* two stages, each with a look */
    assert_true(c.gain == 1e8);                               /* learnt from whole filters only */
    CS_AUTO(cs_dense) v = {0};
    OK(cs_dense_init(&v, N, k.v.panels * B));
    for (int64_t q = 0; q < k.v.panels; ++q) {
        OK(s.get(&s, k.v.panel[q], B, q * B, &v));
    }
    for (int64_t j = B; j < B + found; ++j) {
        assert_each(i, 0, B, fabs(v.data[i + j * N]) < 1e-13); /* orthogonal to what was there */
    }
}

/* Panels for 6 k columns, or k and a fresh block's run, at most those of the smaller side; four to
 * spare, and no more than the memory holds. */
TEST(capacity_follows_k_and_the_memory)
{
    static const struct {
        int64_t rows, cols, k;
    } cases[] = {
        {200000, 100000, 1}, {200000, 100000, 60}, {5000, 3000, 100}, {700, 600, 500}, {90, 30, 3}};
    for (size_t t = 0; t < sizeof cases / sizeof *cases; ++t) {
        for (int bidiagonal = 0; bidiagonal < 2; ++bidiagonal) {
            const cs_space s = {.rows = cases[t].rows, .cols = cases[t].cols, .block = B};
            const int64_t k = cases[t].k, n = s.cols, steps = cs_probe_steps(n, false);
            const int64_t run = k + 8 * (steps + 2), want = run > 6 * k ? run : 6 * k;
            const int64_t panels = ((want < n ? want : n) + 7) / 8 + 4, least = (k + 7) / 8 + 4;
            const int64_t panel = (bidiagonal ? s.rows + n : n) * 8 * 8;
            cs_svd_options o = {.k = k, .memory = INT64_MAX};
            int64_t capacity = 0;
            char part[80];
            OK(cs_krylov_capacity(&s, &o, bidiagonal, &capacity));
            assert_int_equal(capacity, panels);
            o.memory = panels * panel - 1;
            OK(cs_krylov_capacity(&s, &o, bidiagonal, &capacity));
            assert_int_equal(capacity, panels - 1);
            o.memory = least * panel;
            OK(cs_krylov_capacity(&s, &o, bidiagonal, &capacity));
            assert_int_equal(capacity, least);
            o.memory = least * panel - 1;
            (void)snprintf(part, sizeof part, "needs %lld bytes, but the limit is %lld",
                           (long long)(least * panel), (long long)o.memory);
            assert_fails(cs_krylov_capacity(&s, &o, bidiagonal, &capacity), CS_ERR_MEMORY, part);
        }
    }
}

/* Powers of two far from 1 are divided out; a block of zeros is reported. */
TEST(scales_are_powers_of_two)
{
    static const double factor[] = {1, 0x1p190, 0x1p-190, 0x1p210, 0x1p-210, 0x1p600, 0x1p-600, 0};
    for (size_t t = 0; t < sizeof factor / sizeof *factor; ++t) {
        double mantissa;
        CS_AUTO_BY(operator_free, csr_operator) f = {0};
        CS_AUTO_BY(cs_space_cpu_free, cs_space) s = {0};
        bool zero = false;
        int power;
        ARRAY(double, value, 40, j, factor[t] * (1 + j / 40.0));
        operator_of(&f, diagonal_matrix(40, value), 1);
        OK(cs_space_cpu(&f.op, 1, &s));
        AUTO_OK(cs_krylov, k, cs_krylov_open(&s, false, 4, 5, &k));
        OK(cs_krylov_first(&k, NULL));
        OK(cs_krylov_find_scale(&k, &zero));
        assert_true(zero == (factor[t] == 0));
        mantissa = frexp(k.scale, &power);
        assert_true(mantissa == 0.5);
        const bool far = fabs(log2(fmax(factor[t], 1e-300))) > 200 && factor[t] > 0;
        assert_true(far ? fabs(log2(k.scale) - log2(factor[t])) <= 2 : k.scale == 1);
        if (factor[t] > 0) {
            AUTO_OK(cs_dense, before, cs_dense_init(&before, 40, B));
            AUTO_OK(cs_dense, after, cs_dense_init(&after, 40, B));
            OK(s.get(&s, k.next, B, 0, &before));
            OK(cs_krylov_apply(&k, k.next, k.half));
            OK(s.get(&s, k.half, B, 0, &after));
            assert_each(e, 0, 40 * B, after.data[e] == before.data[e] * value[e % 40] / k.scale);
            /* One product, or a second with squares that do not overflow or vanish. */
            const int64_t tries = fabs(log2(factor[t])) > 500 ? factor[t] < 1 ? 3 : 2 : 1;
            assert_int_equal(k.applications, (tries + 1) * B);
        }
    }
}
