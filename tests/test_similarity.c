/* analysis: similarity of representations and dimension of a cloud of rows, against closed forms
 * and the definitions. */
#include <cblas.h>

#include "analysis/measures/dimension.h"
#include "analysis/measures/similarity.h"
#include "io_support.h"
#include "linalg/nearest.h"
#include "linalg_support.h"

static const double PI = 3.14159265358979323846;

static double *normal_rows(int64_t n, int64_t d, uint64_t index)
{
    cs_rng rng = cs_rng_at(17, CS_STREAM_TEST, index);
    ARRAY(double, x, (n * d), i, cs_rng_normal(&rng));
    return x;
}

static cs_similarity compare(const double *a, int64_t p, const double *b, int64_t q, int64_t n,
                             int64_t k)
{
    cs_similarity s = {0};
    cs_rows ra = cs_rows_of_f64(n, p, a, "a"), rb = cs_rows_of_f64(n, q, b, "b");
    const cs_similarity_options options = {.angles = k, .threads = 2};
    OK(cs_similarity_of(&ra, &rb, &options, &s));
    return s;
}

/* Turned, scaled and shifted: the same representation to every measure. */
TEST(rotations_change_nothing)
{
    enum { N = 90, P = 12 };
    double *a = normal_rows(N, P, 1), *b = test_zeros((int64_t)N * P, sizeof *b);
    AUTO_OK(cs_dense, turn, cs_dense_init(&turn, P, P));
    fill_normal(&turn, 2);
    OK(cs_dense_orthonormalise(&turn));
    for (int i = 0; i < N; ++i) {
        for (int j = 0; j < P; ++j) {
            double sum = 7;
            sum += SUM(k, 0, P, 0.3 * a[i * P + k] * turn.data[k + j * turn.ld]);
            b[i * P + j] = sum;
        }
    }
    CS_AUTO(cs_similarity) s = compare(a, P, b, P, N, 4);
    assert_true(fabs(s.cka - 1) < 1e-12 && fabs(s.cka_unbiased - 1) < 1e-12);
    assert_true(fabs(s.procrustes) < 1e-12 && fabs(s.procrustes_similarity - 1) < 1e-12);
    assert_int_equal(s.angles, 4);
    assert_each(k, 0, 4, s.angle[k] < 1e-10);
}

/* Columns +-1 of a Hadamard matrix: orthogonal, of mean 0. Disjoint ones have nothing in common; c
 * of p and q shared give CKA c / sqrt(p q), nuclear norm c N and c angles of 0. */
TEST(orthogonal_columns)
{
    enum { N = 16, P = 4, Q = 6 };
    double a[N * P], b[N * Q];
    for (int shared = 0; shared <= P; ++shared) {
        for (int i = 0; i < N; ++i) {
            for (int j = 0; j < P; ++j) {
                a[i * P + j] = __builtin_parity((unsigned)i & (unsigned)(j + 1)) ? -1 : 1;
            }
            for (int j = 0; j < Q; ++j) {
                int column = j < shared ? j + 1 : P + 1 + j;
                b[i * Q + j] = __builtin_parity((unsigned)i & (unsigned)column) ? -1 : 1;
            }
        }
        CS_AUTO(cs_similarity) s = compare(a, P, b, Q, N, P);
        double root = sqrt((double)(P * Q));
        assert_true(fabs(s.cka - shared / root) < 1e-13);
        assert_true(fabs(s.procrustes_similarity - shared / root) < 1e-13);
        assert_true(fabs(s.procrustes - (2 - 2 * shared / root)) < 1e-13);
        if (shared == 0) { /* else the components of equal variance are not unique */
            assert_each(k, 0, P, fabs(s.angle[k] - PI / 2) < 1e-7);
        }
    }
}

/* HSIC of Song et al. from n x n kernels, by the definition. */
static double hsic(const double *x, int p, const double *y, int q, int n)
{
    CS_AUTO_FREE double *k = cs_calloc((int64_t)n * n, sizeof *k),
                        *l = cs_calloc((int64_t)n * n, sizeof *l);
    double trace = 0, sk = 0, sl = 0, cross = 0;
    for (int i = 0; i < n; ++i) {
        for (int j = 0; j < n; ++j) {
            for (int c = 0; c < p && i != j; ++c) {
                k[i * n + j] += x[i * p + c] * x[j * p + c];
            }
            for (int c = 0; c < q && i != j; ++c) {
                l[i * n + j] += y[i * q + c] * y[j * q + c];
            }
        }
    }
    for (int i = 0; i < n; ++i) {
        trace += SUM(j, 0, n, k[i * n + j] * l[j * n + i]);
        double ki = SUM(j, 0, n, k[i * n + j]);
        double li = SUM(j, 0, n, l[i * n + j]);
        sk += ki;
        sl += li;
        cross += ki * li;
    }
    double m = n;
    return (trace + sk * sl / ((m - 1) * (m - 2)) - 2 / (m - 2) * cross) / (m * (m - 3));
}

TEST(unbiased_cka_by_the_kernels)
{
    static const int size[][3] = {{4, 2, 3}, {15, 30, 20}, {60, 5, 9}};
    for (int c = 0; c < 3; ++c) {
        int n = size[c][0], p = size[c][1], q = size[c][2];
        double *a = normal_rows(n, p, 3), *b = normal_rows(n, q, 4);
        for (int i = 0; i < n * p; ++i) {
            a[i] += 3; /* a constant: the estimator does not see it */
        }
        for (int i = 0; i < n; ++i) {
            b[i * q] += a[i * p];
        }
        CS_AUTO(cs_similarity) s = compare(a, p, b, q, n, 1);
        double own = hsic(a, p, a, p, n) * hsic(b, q, b, q, n);
        double want = own > 0 ? hsic(a, p, b, q, n) / sqrt(own) : NAN;
        assert_true(fabs(s.cka_unbiased - want) < 1e-9 * (1 + fabs(want)));
        assert_true(s.cka > s.cka_unbiased);
    }
}

/* se^2 = (B - 1) / B sum (theta_b - mean)^2, theta_b the whole measure of the other rows. */
TEST(errors_of_cka_leave_blocks_out)
{
    enum { ROWS = 23, P = 5, Q = 3, BLOCKS = 4 };
    double *a = normal_rows(ROWS, P, 7), *b = normal_rows(ROWS, Q, 8), part[2][ROWS * P];
    for (int i = 0; i < ROWS; ++i) {
        b[i * Q] += 2 * a[i * P] + 5;
    }
    const cs_rows ra = cs_rows_of_f64(ROWS, P, a, "a"), rb = cs_rows_of_f64(ROWS, Q, b, "b");
    for (int blocks = 0; blocks <= 2 * ROWS; blocks += BLOCKS) {
        const int count = blocks < ROWS ? blocks : ROWS;
        const cs_similarity_options o = {.angles = 1, .threads = 2, .blocks = blocks};
        double theta[2][ROWS], mean[2] = {0}, want[2] = {0};
        AUTO_OK(cs_similarity, s, cs_similarity_of(&ra, &rb, &o, &s));
        for (int k = 0; k < count; ++k) {
            int n = 0;
            for (int i = 0; i < ROWS; ++i) {
                if (i < ROWS * k / count || i >= ROWS * (k + 1) / count) {
                    memcpy(part[0] + (size_t)(n * P), a + (size_t)(i * P), P * sizeof *a);
                    memcpy(part[1] + (size_t)(n * Q), b + (size_t)(i * Q), Q * sizeof *b);
                    ++n;
                }
            }
            CS_AUTO(cs_similarity) without = compare(part[0], P, part[1], Q, n, 1);
            theta[0][k] = without.cka;
            theta[1][k] = without.cka_unbiased;
            for (int m = 0; m < 2; ++m) {
                mean[m] += theta[m][k] / count;
            }
        }
        for (int k = 0; k < count; ++k) {
            for (int m = 0; m < 2; ++m) {
                want[m] += (theta[m][k] - mean[m]) * (theta[m][k] - mean[m]) * (count - 1) / count;
            }
        }
        assert_true(blocks == 0
                        ? isnan(s.cka_se) && isnan(s.cka_unbiased_se)
                        : fabs(s.cka_se - sqrt(want[0])) < 1e-12 &&
                              fabs(s.cka_unbiased_se - sqrt(want[1])) < 1e-12 && s.cka_se > 1e-3);
    }
}

TEST(bad_pairs_are_refused)
{
    double x[12] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3}, same[4] = {1, 1, 1, 1};
    cs_rows a = cs_rows_of_f64(4, 3, x, "a.npy"), b = cs_rows_of_f64(3, 4, x, "b.npy");
    cs_rows c = cs_rows_of_f64(4, 1, same, "c.npy");
    cs_similarity_options options = {.angles = 2};
    cs_similarity s = {0};
    assert_fails(cs_similarity_of(&a, &b, &options, &s), CS_ERR_INPUT,
                 "a.npy has 4 rows, but b.npy has 3");
    assert_fails(cs_similarity_of(&a, &c, &options, &s), CS_ERR_INPUT, "c.npy: all rows are equal");
    assert_fails(cs_similarity_of(&c, &a, &options, &s), CS_ERR_INPUT, "c.npy: all rows are equal");
    x[7] = INFINITY;
    assert_fails(cs_similarity_of(&a, &c, &options, &s), CS_ERR_INPUT,
                 "a.npy: row 2, column 1: value inf");
    options.angles = 0;
    assert_fails(cs_similarity_of(&a, &a, &options, &s), CS_ERR_USAGE,
                 "the number of principal angles");
}

/* --- dimension -------------------------------------------------------------------------------- */

TEST(decay_is_a_slope)
{
    double lambda[600], r2;
    for (int k = 1; k <= 600; ++k) {
        lambda[k - 1] = k < 11 ? 50 : k <= 500 ? 3 * pow(k, -1.7) : 0;
    }
    assert_true(fabs(cs_spectral_decay(600, lambda, 11, 500, &r2) - 1.7) < 1e-12);
    assert_true(fabs(r2 - 1) < 1e-12);
    assert_true(fabs(cs_spectral_decay(600, lambda, 11, 600, NULL) - 1.7) <
                1e-12); /* zeros end it */
    assert_true(cs_spectral_decay(600, lambda, 1, 10, &r2) == 0);
    assert_true(isnan(cs_spectral_decay(600, lambda, 500, 600, &r2)) && isnan(r2));
    assert_true(isnan(cs_spectral_decay(3, lambda, 11, 500, NULL)));
}

/* Points 0, 3, 4, 10 of a line: as few as there may be. */
TEST(nearest_of_few_rows)
{
    const double x[] = {0, 3, 4, 10}, near[][4] = {{3, 1, 1, 0}, {3, 1, 1, 6}},
                 next[][4] = {{4, 3, 4, 0}, {4, 3, 4, 7}};
    double first[4], second[4];
    for (int n = 3; n <= 4; ++n) {
        cs_rows rows = cs_rows_of_f64(n, 1, x, "x");
        OK(cs_nearest_two(&rows, 1, NULL, first, second));
        assert_each(i, 0, n, first[i] == near[n - 3][i] && second[i] == next[n - 3][i]);
    }
}

/* Distances by the definition, ties and repeated rows included. */
TEST(nearest_rows)
{
    enum { N = 150, D = 200 };
    double *x = normal_rows(N, D, 5), first[N], second[N];
    memcpy(x + 9 * D, x + 100 * D, D * sizeof *x);
    for (int i = 0; i < N * D; ++i) {
        x[i] += 100; /* far from the origin */
    }
    cs_rows rows = cs_rows_of_f64(N, D, x, "x");
    for (int threads = 1; threads < 4; threads += 2) {
        OK(cs_nearest_two(&rows, threads, NULL, first, second));
        for (int i = 0; i < N; ++i) {
            double a = INFINITY, b = INFINITY;
            for (int j = 0; j < N; ++j) {
                double s =
                    SUM(k, 0, D, (x[i * D + k] - x[j * D + k]) * (x[i * D + k] - x[j * D + k]));
                if (j != i && s < a) {
                    b = a;
                    a = s;
                } else if (j != i && s < b) {
                    b = s;
                }
            }
            assert_true(fabs(first[i] - sqrt(a)) <= 1e-12 && fabs(second[i] - sqrt(b)) <= 1e-12);
        }
        assert_true(first[9] == 0 && first[100] == 0);
    }
}

/* Uniform on a curved surface of dimension d in many coordinates: the fit's error is about d /
 * sqrt(N) (one parameter of an exponential), five times that is allowed, and a bias of the
 * curvature. */
TEST(two_nn_finds_the_dimension)
{
    enum { N = 2500, D = 12 };
    cs_rng rng = cs_rng_at(19, CS_STREAM_TEST, 0);
    for (int dim = 1; dim <= 3; ++dim) {
        double *x = test_zeros((int64_t)N * D, sizeof *x);
        for (int i = 0; i < N; ++i) {
            for (int k = 0; k < dim; ++k) { /* a torus: no edge */
                double t = 2 * PI * cs_rng_uniform(&rng);
                x[i * D + 4 * k] = cos(t);
                x[i * D + 4 * k + 1] = sin(t);
            }
        }
        cs_rows rows = cs_rows_of_f64(N, D, x, "x");
        cs_two_nn two = {0};
        OK(cs_two_nn_of(&rows, 0.1, 2, NULL, &two));
        assert_true(fabs(two.dimension - dim) < 5 * dim / sqrt(N));
        assert_int_equal(two.used, (int)(0.9 * N));
        memcpy(x + 5 * D, x + 6 * D, D * sizeof *x);
        OK(cs_two_nn_of(&rows, 0.1, 1, NULL, &two));
        assert_true(two.duplicates == 1 && two.used == (int)(0.9 * (N - 1)));
    }
    const double line[4] = {0, 0, 0, 0};
    cs_rows same = cs_rows_of_f64(4, 1, line, "same.npy"), two = cs_rows_of_f64(2, 2, line, "two");
    cs_two_nn out;
    OK(cs_two_nn_of(&same, 0.1, 1, NULL, &out));
    assert_true(isnan(out.dimension) && out.duplicates == 3);
    assert_fails(cs_two_nn_of(&two, 0.1, 1, NULL, &out), CS_ERR_INPUT,
                 "2 rows; the intrinsic dimension needs at least 3 rows");
    assert_fails(cs_two_nn_of(&same, 1, 1, NULL, &out), CS_ERR_USAGE, "share 1 is not in");
}

/* Copies are no neighbours: the dimension is that of the distinct rows, bit by bit. */
TEST(copies_leave_the_dimension)
{
    enum { N = 300, COPIED = 250, D = 5 };
    double *x = test_zeros((int64_t)(N + 2 * COPIED) * D, sizeof *x);
    memcpy(x, normal_rows(N, D, 23), (size_t)N * D * sizeof *x);
    for (int k = 0; k < 2; ++k) {
        memcpy(x + (N + k * COPIED) * D, x + (N - COPIED) * D, (size_t)COPIED * D * sizeof *x);
    }
    cs_rows once = cs_rows_of_f64(N, D, x, "once"),
            often = cs_rows_of_f64(N + 2 * COPIED, D, x, "often");
    cs_two_nn a = {0}, b = {0};
    OK(cs_two_nn_of(&once, 0.1, 1, NULL, &a));
    OK(cs_two_nn_of(&often, 0.1, 2, NULL, &b));
    assert_true(fabs(a.dimension - D) < 5 * D / sqrt(N) && a.duplicates == 0);
    assert_memory_equal(&a.dimension, &b.dimension, sizeof a.dimension);
    assert_true(b.used == a.used && b.duplicates == 2 * COPIED);
    const cs_shape_options o = {.discard = 0.1, .sample = 10000, .blocks = 1, .threads = 1};
    AUTO_OK(cs_shape, shape, cs_shape_of(&often, &o, &shape));
    assert_true(shape.rows[CS_SHAPE_DIMENSION] == N && shape.rows[CS_SHAPE_COSINE] == often.rows);
}

/* Sizes at which BLAS uses two threads where it may, and then rounds differently. */
TEST(threads_of_blas_change_nothing)
{
    enum { N = 300, P = 20 };
    double *a = normal_rows(N, P, 41), *b = normal_rows(N, P, 42);
    cs_rows rows = cs_rows_of_f64(N, P, a, "a");
    const int before = openblas_get_num_threads();
    cs_similarity s[2];
    cs_isotropy iso[2];
    for (int k = 0; k < 2; ++k) {
        openblas_set_num_threads(k + 1);
        s[k] = compare(a, P, b, P, N, 10);
        OK(cs_isotropy_of(&rows, false, k + 1, &iso[k]));
        assert_int_equal(openblas_get_num_threads(), k + 1); /* restored */
    }
    openblas_set_num_threads(before);
    assert_memory_equal(&iso[0], &iso[1], sizeof iso[0]);
    assert_memory_equal(s[0].angle, s[1].angle, 10 * sizeof(double));
    assert_true(memcmp(&s[0].cka, &s[1].cka, sizeof(double)) == 0 &&
                memcmp(&s[0].procrustes, &s[1].procrustes, sizeof(double)) == 0);
    cs_similarity_free(&s[0]);
    cs_similarity_free(&s[1]);
}

/* A cross +-e_k: mean cosine -1/(2D-1), Z equal for all c. One direction more: both by hand. */
TEST(isotropy_of_a_cross)
{
    enum { D = 5 };
    double x[(2 * D + 1) * D] = {0};
    for (int k = 0; k < D; ++k) {
        x[2 * k * D + k] = 3;
        x[(2 * k + 1) * D + k] = -3;
    }
    cs_isotropy iso = {0};
    cs_rows rows = cs_rows_of_f64((int64_t)2 * D, D, x, "x");
    OK(cs_isotropy_of(&rows, false, 2, &iso));
    assert_true(fabs(iso.mean_cosine + 1.0 / (2 * D - 1)) < 1e-14);
    assert_true(fabs(iso.partition - 1) < 1e-14 && fabs(iso.scale - 3) < 1e-14);
    x[2 * D * D] = 6; /* 2 e_1 once scaled; eigenvectors stay the axes */
    rows.rows = 2 * D + 1;
    OK(cs_isotropy_of(&rows, true, 2, &iso));
    double high = exp(3) + exp(-3) + 2 * D - 2 + exp(6), other = exp(3) + exp(-3) + 2 * D - 2 + 1;
    double low = exp(3) + exp(-3) + 2 * D - 2 + exp(-6);
    assert_true(fabs(iso.partition - fmin(low, other) / high) < 1e-13);
    memset(x + 2 * D * D, 0, D * sizeof *x); /* a row of zeros has no direction */
    OK(cs_isotropy_of(&rows, false, 1, &iso));
    assert_true(fabs(iso.mean_cosine + 1.0 / (2 * D - 1)) < 1e-14);
}

/* The rounded mean of equal values differs from them for some numbers of rows: no variance comes of that. */
TEST(constant_rows_have_no_similarity)
{
    enum { N = 40, P = 3 };
    double *a = normal_rows(N, P, 5), c[N * P];
    for (int i = 0; i < N * P; ++i) {
        c[i] = (double[]){.1, .3, .7}[i % P];
    }
    cs_similarity_options options = {.angles = 2, .threads = 1};
    CS_AUTO(cs_similarity) s = {0};
    for (int n = 2; n <= N; ++n) {
        cs_rows x = cs_rows_of_f64(n, P, a, "x"), y = cs_rows_of_f64(n, P, c, "y");
        assert_fails(cs_similarity_of(&x, &y, &options, &s), CS_ERR_INPUT, "y: all rows are equal");
    }
    c[0] = 2; /* without the first block all rows are equal again: no error can be given */
    options.blocks = 4;
    cs_rows x = cs_rows_of_f64(N, P, a, "x"), y = cs_rows_of_f64(N, P, c, "y");
    OK(cs_similarity_of(&x, &y, &options, &s));
    assert_true(s.cka > 0 && isnan(s.cka_se) && isnan(s.cka_unbiased_se));
}

static cs_status all_of_it(const char *path)
{
    (void)path;
    ARRAY(double, x, 60, i, i * 7 % 23);
    cs_rows a = cs_rows_of_f64(20, 3, x, "a"), b = cs_rows_of_f64(20, 2, x + 7, "b");
    const cs_similarity_options options = {.angles = 2, .blocks = 3, .threads = 1};
    CS_AUTO(cs_similarity) s = {0};
    cs_two_nn two;
    cs_isotropy iso;
    cs_status status = cs_similarity_of(&a, &b, &options, &s);
    if (status == CS_OK && (status = cs_two_nn_of(&a, 0, 1, NULL, &two)) == CS_OK) {
        status = cs_isotropy_of(&a, false, 1, &iso);
    }
    return status;
}

TEST(every_allocation_may_fail)
{
    fail_each_allocation(all_of_it, "");
}
