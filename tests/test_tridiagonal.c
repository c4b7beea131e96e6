/* linalg: eigenvalues by counts of signs, against closed forms, against counts in long double, and against
 * LAPACK's on spectra that are hard for it. */
#include <lapacke.h>

#include "base/threads.h"
#include "linalg/tridiagonal.h"
#include "linalg/tridiagonal_private.h"
#include "test.h"

enum { N = 257 };

/* N of the header, and the bound that it states. */
static double norm_of(int64_t n, const double *d, const double *e)
{
    double norm =
        LARGEST(i, 0, n, (i > 0 ? fabs(e[i - 1]) : 0) + fabs(d[i]) + (i + 1 < n ? fabs(e[i]) : 0));
    return norm;
}

static double bound_of(int64_t n, const double *d, const double *e)
{
    int power = 0;
    (void)frexp(norm_of(n, d, e), &power);
    return ldexp(16 * 0x1p-53, power);
}

/* Eigenvalues below x by quotients of minors, to 64 bits. */
static int64_t count_below(int64_t n, const double *d, const double *e, long double x)
{
    int64_t below = 0;
    long double q = 1;
    for (int64_t i = 0; i < n; ++i) {
        const long double off = i > 0 ? e[i - 1] : 0;
        q = d[i] - x - (off == 0 ? 0 : off * off / q);
        q = q == 0 ? LDBL_MIN : q; /* counts as positive, as the header has it */
        below += q < 0;
    }
    return below;
}

/* Every value within the bound of its eigenvalue, which the counts at both ends verify;
 * ascending. */
static void check_values(int64_t n, const double *d, const double *e)
{
    double *values = test_zeros(n, sizeof *values);
    const double bound = bound_of(n, d, e) * (1 + 0x1p-20);
    OK(cs_tridiagonal_values(n, d, e, values));
    assert_each(k, 0, n, count_below(n, d, e, (long double)values[k] - bound) <= k);
    assert_each(k, 0, n, count_below(n, d, e, (long double)values[k] + bound) > k);
    assert_each(k, 0, n, k == 0 || values[k] >= values[k - 1]);
}

TEST(second_differences)
{
    double values[N];
    ARRAY(double, d, N, i, 2);
    ARRAY(double, e, N, i, -1);
    for (int n = 1; n <= N;
         n += n < 70 ? 1 : 11) { /* around every multiple of the steps between scalings */
        OK(cs_tridiagonal_values(n, d, e, values));
        for (int k = 0; k < n; ++k) {
            const double want = 2 - 2 * cos(M_PI * (k + 1) / (n + 1));
            assert_true(fabs(values[k] - want) <= bound_of(n, d, e) + 4 * DBL_EPSILON);
        }
    }
}

/* Clustered, graded, split, repeated, of rank 1 and of rank 0. */
static void fill(int form, double *d, double *e)
{
    cs_rng rng = cs_rng_at(17, CS_STREAM_TEST, (uint64_t)form);
    for (int i = 0; i < N; ++i) {
        const double x = cs_rng_normal(&rng), y = cs_rng_normal(&rng);
        switch (form) {
        case 0: /* as drawn */
            d[i] = x;
            e[i] = y;
            break;
        case 1: /* Wilkinson's W21+, glued: pairs closer than rounding */
            d[i] = abs(i % 21 - 10);
            e[i] = i % 21 == 20 ? 1e-9 : 1;
            break;
        case 2: /* a cluster about 1 and one value far away */
            d[i] = i == 40 ? 1e6 : 1 + 1e-13 * x;
            e[i] = 1e-14 * y;
            break;
        case 3: /* graded over 200 powers of ten */
            d[i] = pow(10, -200.0 * i / N);
            e[i] = 0.3 * d[i];
            break;
        case 4: /* graded upwards */
            d[i] = pow(10, 100 * (double)i / N);
            e[i] = 0.3 * d[i];
            break;
        case 5: /* split, with 0 over and over */
            d[i] = i % 9 == 0 ? x : 0;
            e[i] = 0;
            break;
        case 6: /* no value but +-1, +-1/2 */
            d[i] = 0;
            e[i] = i % 2 == 0 ? (i % 4 == 0 ? 1 : 0.5) : 0;
            break;
        case 7: /* at the ends of the range */
            d[i] = 1e308 * sin(i);
            e[i] = 6e307 * cos(i);
            break;
        case 8:
            d[i] = 1e-300 * x;
            e[i] = 1e-300 * y;
            break;
        case 9: /* one separate value among zeros */
            d[i] = i == 100 ? 3 : 0;
            e[i] = 0;
            break;
        default: /* all equal */
            d[i] = -7;
            e[i] = 0;
        }
    }
}

TEST(every_value_within_its_bound)
{
    double d[N], e[N];
    for (int form = 0; form <= 10; ++form) {
        fill(form, d, e);
        if (form == 7) { /* the counts in long double reach, the sum of a row does not */
            double values[N];
            OK(cs_tridiagonal_values(N, d, e, values));
            assert_each(k, 0, N, count_below(N, d, e, values[k] - 1e294L) <= k);
            assert_each(k, 0, N, count_below(N, d, e, values[k] + 1e294L) > k);
        } else {
            check_values(N, d, e);
        }
    }
    for (int i = 0; i < N; ++i) {
        d[i] = e[i] = 0;
    }
    double values[N];
    OK(cs_tridiagonal_values(N, d, e, values));
    assert_each(i, 0, N, values[i] == 0);
    OK(cs_tridiagonal_values(0, d, e, values));
}

/* A count may be off by eigenvalues that lie within rounding of the point, in every set of vectors. */
TEST(counts_of_every_set)
{
    const cs_sturm_kernels *const all[] = CS_SIMD_TABLES(cs_sturm_kernels);
    double d[N], e[N], e2[N];
    for (int form = 0; form < 2; ++form) {
        fill(form, d, e);
        const double norm = norm_of(N, d, e), near = 12 * 0x1p-53;
        for (int i = 0; i < N; ++i) {
            d[i] /= norm;
            e[i] /= norm;
            e2[i] = i > 0 ? e[i - 1] * e[i - 1] : 0;
        }
        cs_sturm_batch b = {0};
        for (int i = 0; i < CS_STURM_POINTS; ++i) {
            b.x[i] = i < 4 ? d[i] : -1 + 2.0 * i / (CS_STURM_POINTS - 1);
        }
        for (int set = 0; set < cs_simd_sets(); ++set) {
            all[set]->count(N, d, e2, &b);
            for (int i = 0; i < CS_STURM_POINTS; ++i) {
                assert_true(b.below[i] >= count_below(N, d, e, (long double)b.x[i] - near));
                assert_true(b.below[i] <= count_below(N, d, e, (long double)b.x[i] + near));
                assert_true((b.value[i] < 0) ==
                            (b.below[i] % 2 == 1)); /* the sign of the last minor */
            }
        }
    }
}

/* All steps from a symmetric matrix; its other triangle is not read. */
TEST(symmetric_matrices)
{
    enum { D = 150 };
    for (int form = 0; form < 4; ++form) {
        cs_rng rng = cs_rng_at(19, CS_STREAM_TEST, (uint64_t)form);
        double ours[D], theirs[D], squares = 0;
        AUTO_OK(cs_dense, a, cs_dense_init(&a, D, D));
        AUTO_OK(cs_dense, full, cs_dense_init(&full, D, D));
        for (int j = 0; j < D; ++j) {
            for (int i = j; i < D; ++i) {
                double x = cs_rng_normal(&rng);
                x = form == 1 ? x / ((i + 1) * (j + 1.0)) : form == 2 ? (double)(i < 2) : x;
                full.data[i + j * D] = full.data[j + i * D] = a.data[i + j * D] =
                    form == 3 ? (double)(i == j) : x;
                a.data[j + i * D] = i == j ? a.data[j + i * D] : NAN;
            }
        }
        squares = sqrt(cs_dense_squares(&full));
        cs_threads_blas_hold(true);
        OK(cs_dense_eigh(&full, theirs, true));
        OK(cs_symmetric_values(&a, ours));
        cs_threads_blas_hold(false);
        assert_each(k, 0, D, fabs(ours[k] - theirs[k]) <= 1e-14 * squares);
    }
    double value[2];
    AUTO_OK(cs_dense, a, cs_dense_init(&a, 2, 1));
    assert_fails(cs_symmetric_values(&a, value), CS_ERR_USAGE, "2 x 1: not square");
    cs_dense_free(&a);
    OK(cs_dense_init(&a, 2, 2));
    a.data[1] = INFINITY;
    assert_fails(cs_symmetric_values(&a, value), CS_ERR_INPUT, "row 1, column 0: value inf");
    cs_dense_free(&a);
    OK(cs_dense_init(&a, 0, 0));
    OK(cs_symmetric_values(&a, value));
}
