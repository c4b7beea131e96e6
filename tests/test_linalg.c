/* linalg: dense LAPACK wrappers, sparse matrices, their product. */
#include <cblas.h>

#include "base/threads.h"
#include "cooc_matrices.h"
#include "linalg_support.h"

TEST(sizes_are_checked)
{
    cs_dense d;
    cs_csr a;
    int narrow;
    assert_fails(cs_dense_init(&d, -1, 2), CS_ERR_USAGE, "-1 x 2");
    assert_fails(cs_dense_init(&d, INT64_MAX, 2), CS_ERR_MEMORY, "too large");
    assert_fails(cs_blas_int(3000000000, "number of rows", &narrow), CS_ERR_INPUT,
                 "number of rows 3000000000");
    assert_fails(cs_csr_init(&a, 1, 3000000000, 0), CS_ERR_INPUT, "3000000000 columns");
    assert_fails(cs_csr_init(&a, 1, 1, -2), CS_ERR_USAGE, "-2 entries");
    assert_null(a.ptr);
    cs_csr tall = {.rows = 3000000000};
    assert_fails(cs_csr_transpose(&tall, &a), CS_ERR_INPUT, "3000000000 rows");
    cs_dense nothing = {.rows = 3000000000, .ld = 3000000000};
    OK(cs_dense_svd(&nothing, NULL, NULL, NULL)); /* no values: LAPACK is not asked */
}

TEST(gemm_agrees_with_the_definition)
{
    for (int form = 0; form < 4; ++form) {
        bool ta = form & 1, tb = form & 2;
        AUTO_OK(cs_dense, a, cs_dense_init(&a, ta ? 4 : 3, ta ? 3 : 4));
        AUTO_OK(cs_dense, b, cs_dense_init(&b, tb ? 5 : 4, tb ? 4 : 5));
        AUTO_OK(cs_dense, c, cs_dense_init(&c, 3, 5));
        AUTO_OK(cs_dense, want, cs_dense_init(&want, 3, 5));
        fill_normal(&a, 1);
        fill_normal(&b, 2);
        fill_normal(&c, 3);
        for (int64_t i = 0; i < 3; ++i) {
            for (int64_t j = 0; j < 5; ++j) {
                double sum = SUM(l, 0, 4,
                                 (ta ? a.data[l + i * a.ld] : a.data[i + l * a.ld]) *
                                     (tb ? b.data[j + l * b.ld] : b.data[l + j * b.ld]));
                want.data[i + j * 3] = 2 * sum - 0.5 * c.data[i + j * 3];
            }
        }
        OK(cs_gemm(ta, tb, 2, &a, &b, -0.5, &c));
        /* Sums of four products of numbers below 5: far below 100 eps. */
        assert_true(max_abs_difference(&c, &want) < 1000 * DBL_EPSILON);
        cs_dense_free(&c);
        OK(cs_dense_init(&c, 4, 5));
        assert_fails(cs_gemm(ta, tb, 1, &a, &b, 0, &c), CS_ERR_USAGE, "does not give 4 x 5");
    }
}

static void svd_of_shape(int64_t m, int64_t n)
{
    int64_t p = m < n ? m : n;
    double *sigma = test_zeros(p, sizeof *sigma), *alone = test_zeros(p, sizeof *alone);
    AUTO_OK(cs_dense, a, cs_dense_init(&a, m, n));
    AUTO_OK(cs_dense, kept, cs_dense_init(&kept, m, n));
    AUTO_OK(cs_dense, u, cs_dense_init(&u, m, p));
    AUTO_OK(cs_dense, vt, cs_dense_init(&vt, p, n));
    fill_normal(&a, 4);
    memcpy(kept.data, a.data, (size_t)(m * n) * sizeof *a.data);
    OK(cs_dense_svd(&a, sigma, &u, &vt));
    memcpy(a.data, kept.data, (size_t)(m * n) * sizeof *a.data);
    OK(cs_dense_svd(&a, alone, NULL, NULL));
    double scale = p > 0 ? sigma[0] : 0, tolerance = 10 * (double)(m + n) * DBL_EPSILON;
    assert_each(j, 0, p, fabs(sigma[j] - alone[j]) <= tolerance * scale);
    assert_each(j, 0, p, j == 0 || sigma[j] <= sigma[j - 1]);
    assert_true(p == 0 || orthonormality(&u) < tolerance);
    for (int64_t j = 0; j < p; ++j) {
        for (int64_t i = 0; i < m; ++i) {
            u.data[i + j * u.ld] *= sigma[j];
        }
    }
    OK(cs_gemm(false, false, -1, &u, &vt, 1, &kept));
    assert_each(i, 0, m * n, fabs(kept.data[i]) <= tolerance * scale);
}

TEST(svd_rebuilds_its_matrix)
{
    static const int64_t shape[][2] = {{1, 1},   {1, 7},   {7, 1},   {6, 4}, {4, 6},
                                       {300, 3}, {3, 300}, {40, 40}, {0, 3}, {3, 0}};
    for (size_t s = 0; s < sizeof shape / sizeof *shape; ++s) {
        svd_of_shape(shape[s][0], shape[s][1]);
    }
}

TEST(bad_dense_input_is_named)
{
    double sigma[3];
    AUTO_OK(cs_dense, a, cs_dense_init(&a, 3, 4));
    AUTO_OK(cs_dense, u, cs_dense_init(&u, 3, 3));
    AUTO_OK(cs_dense, vt, cs_dense_init(&vt, 4, 4));
    assert_fails(cs_dense_svd(&a, sigma, &u, &vt), CS_ERR_USAGE, "3 x 3 and 4 x 4");
    assert_fails(cs_dense_svd(&a, sigma, &u, NULL), CS_ERR_USAGE, "together");
    a.data[2 + 1 * 3] = NAN;
    assert_fails(cs_dense_svd(&a, sigma, NULL, NULL), CS_ERR_INPUT, "row 2, column 1");
    assert_fails(cs_dense_eigh(&a, sigma, false), CS_ERR_USAGE, "3 x 4");
    assert_fails(cs_dense_orthonormalise(&a), CS_ERR_USAGE, "4 columns of 3 rows");
    u.data[0] = INFINITY;
    assert_fails(cs_dense_eigh(&u, sigma, false), CS_ERR_INPUT, "row 0, column 0: value inf");
    assert_fails(cs_dense_orthonormalise(&u), CS_ERR_INPUT, "not finite");
    cs_dense huge = {.rows = 30000, .cols = 30000, .ld = 30000};
    assert_fails(cs_dense_svd(&huge, sigma, NULL, NULL), CS_ERR_INPUT, "gesdd workspace");
    /* The first side whose workspace, 4 p^2 + 7 p doubles, an int does not count. */
    huge.rows = huge.cols = huge.ld = 23170;
    assert_fails(cs_dense_svd(&huge, sigma, NULL, NULL), CS_ERR_INPUT, "workspace 2147557790");
    huge.rows = huge.cols = huge.ld = 40000;
    assert_fails(cs_dense_eigh(&huge, sigma, true), CS_ERR_INPUT, "syevd workspace");
}

/* The path graph's second difference: eigenvalues 2 - 2 cos(j pi / (n + 1)). */
TEST(eigh_of_the_second_difference)
{
    enum { N = 25 };
    double values[N], alone[N];
    AUTO_OK(cs_dense, a, cs_dense_init(&a, N, N));
    AUTO_OK(cs_dense, b, cs_dense_init(&b, N, N));
    for (int i = 0; i < N; ++i) {
        a.data[i + i * N] = b.data[i + i * N] = 2;
        if (i + 1 < N) {
            a.data[i + 1 + i * N] = a.data[i + (i + 1) * N] = -1;
            b.data[i + 1 + i * N] = b.data[i + (i + 1) * N] = -1;
        }
    }
    OK(cs_dense_eigh(&a, values, false));
    OK(cs_dense_eigh(&b, alone, true));
    for (int j = 0; j < N; ++j) {
        double want = 2 - 2 * cos((j + 1) * M_PI / (N + 1));
        assert_true(fabs(values[j] - want) < 100 * DBL_EPSILON);
        assert_true(fabs(alone[j] - want) < 100 * DBL_EPSILON);
    }
    assert_true(orthonormality(&a) < 100 * DBL_EPSILON);
}

TEST(orthonormalise_survives_low_rank)
{
    AUTO_OK(cs_dense, a, cs_dense_init(&a, 50, 6));
    fill_normal(&a, 5);
    memcpy(a.data + 3 * 50, a.data, 50 * sizeof *a.data); /* column 3 = column 0 */
    memset(a.data + 4 * 50, 0, 2 * 50 * sizeof *a.data);  /* columns 4 and 5 = 0 */
    OK(cs_dense_orthonormalise(&a));
    assert_true(orthonormality(&a) < 100 * DBL_EPSILON);
    AUTO_OK(cs_dense, empty, cs_dense_init(&empty, 5, 0));
    OK(cs_dense_orthonormalise(&empty));
}

/* All dense problems of side n, one result after the other. */
static void solve_all(int64_t n, double *out)
{
    cs_dense a[5], u, vt;
    double *value = out + 7 * n * n;
    int pivot[64];
    for (int i = 0; i < 5; ++i) {
        a[i] = (cs_dense){n, n, n, out + i * n * n};
        fill_normal(&a[i], 70 + (uint64_t)i);
    }
    u = (cs_dense){n, n, n, out + 5 * n * n};
    vt = (cs_dense){n, n, n, out + 6 * n * n};
    OK(cs_gemm(false, true, 1, &a[0], &a[0], 0, &a[1]));
    cs_dense_copy(&a[1], &a[2]);
    OK(cs_dense_eigh(&a[2], value, false));
    OK(cs_dense_svd(&a[0], value + n, &u, &vt));
    OK(cs_dense_ldl(&a[3], value + 2 * n, pivot));
    OK(cs_dense_orthonormalise(&a[4]));
}

/* Products that OpenBLAS shares among threads round by their number. */
TEST(small_problems_have_the_same_bits_for_any_threads_of_blas)
{
    const int before = openblas_get_num_threads();
    for (int64_t n = 8; n <= 64; n += n) {
        const int64_t count = 7 * n * n + 3 * n;
        CS_AUTO_FREE double *one = cs_calloc(2 * count, sizeof *one);
        assert_non_null(one);
        openblas_set_num_threads(1);
        solve_all(n, one);
        openblas_set_num_threads(3);
        solve_all(n, one + count);
        assert_int_equal(openblas_get_num_threads(), 3);
        assert_memory_equal(one, one + count, (size_t)count * sizeof *one);
    }
    openblas_set_num_threads(before);
}

TEST(triplets_become_rows)
{
    const int64_t row[] = {2, 0, 2, 0, 2, 1, 1}, col[] = {1, 3, 0, 3, 1, 2, 2};
    const double val[] = {5, 1, 4, 2, 0.5, 3, -3};
    AUTO_OK(cs_csr, a, cs_csr_from_triplets(3, 4, 7, row, col, val, &a));
    /* (1, 2) adds to zero and is kept out. */
    assert_int_equal(cs_csr_nnz(&a), 3);
    assert_int_equal(a.ptr[1], 1);
    assert_int_equal(a.ptr[2], 1);
    assert_int_equal(a.col[0], 3);
    assert_true(a.val[0] == 3);
    assert_int_equal(a.col[1], 0);
    assert_true(a.val[1] == 4);
    assert_int_equal(a.col[2], 1);
    assert_true(a.val[2] == 5.5);
    OK(cs_csr_check(&a, true));
    cs_csr_free(&a);

    const int64_t bad_row[] = {0, 3}, bad_col[] = {0, -1};
    assert_fails(cs_csr_from_triplets(3, 4, 2, bad_row, row, val, &a), CS_ERR_INPUT,
                 "entry 1: row 3");
    assert_fails(cs_csr_from_triplets(3, 4, 2, row, bad_col, val, &a), CS_ERR_INPUT, "column -1");
    OK(cs_csr_from_triplets(0, 0, 0, row, col, val, &a));
    assert_int_equal(cs_csr_nnz(&a), 0);
}

TEST(reshaping_agrees_with_dense)
{
    CS_AUTO(cs_csr) a = random_sparse(13, 9, 0.3, 1), b = {0}, t = {0}, s = {0};
    CS_AUTO(cs_dense) d = {0}, dt = {0}, ds = {0};
    OK(cs_csr_to_dense(&a, &d));
    b = csr_of(&d);
    assert_int_equal(cs_csr_nnz(&b), cs_csr_nnz(&a));
    assert_memory_equal(a.col, b.col, (size_t)cs_csr_nnz(&a) * sizeof *a.col);
    assert_memory_equal(a.val, b.val, (size_t)cs_csr_nnz(&a) * sizeof *a.val);
    OK(cs_csr_transpose(&a, &t));
    OK(cs_csr_check(&t, false));
    OK(cs_csr_to_dense(&t, &dt));
    /* Column j goes to 8 - j, odd ones away: a map that reverses the order. */
    ARRAY(int32_t, map, 9, j, j % 2 ? -1 : 8 - j);
    const int64_t rows[] = {5, 0, 12};
    OK(cs_csr_select(&a, 3, rows, map, 9, &s));
    OK(cs_csr_check(&s, false));
    OK(cs_csr_to_dense(&s, &ds));
    double row_sum[13], col_sum[9];
    cs_csr_sums(&a, row_sum, col_sum);
    for (int64_t j = 0; j < 9; ++j) {
        assert_each(i, 0, 13, d.data[i + j * d.ld] == dt.data[j + i * dt.ld]);
        double sum = SUM(i, 0, 13, d.data[i + j * d.ld]);
        assert_true(fabs(sum - col_sum[j]) < 100 * DBL_EPSILON);
        for (int64_t r = 0; r < 3; ++r) {
            double want = (8 - j) % 2 ? 0 : d.data[rows[r] + (8 - j) * d.ld];
            assert_true(ds.data[r + j * ds.ld] == want);
        }
    }
    for (int64_t i = 0; i < 13; ++i) {
        double sum = SUM(j, 0, 9, d.data[i + j * d.ld]);
        assert_true(fabs(sum - row_sum[i]) < 100 * DBL_EPSILON);
    }
    cs_csr_free(&s);
    OK(cs_csr_select(&a, 13, NULL, NULL, 9, &s));
    assert_memory_equal(a.val, s.val, (size_t)cs_csr_nnz(&a) * sizeof *a.val);
}

TEST(check_names_the_entry)
{
    int64_t ptr[] = {0, 2, 3};
    int32_t col[] = {0, 2, 1};
    double val[] = {1, -1, 2};
    cs_csr a = {.rows = 2, .cols = 3, .ptr = ptr, .col = col, .val = val};
    OK(cs_csr_check(&a, false));
    assert_fails(cs_csr_check(&a, true), CS_ERR_INPUT, "row 0, column 2: value -1 is negative");
    val[2] = NAN;
    assert_fails(cs_csr_check(&a, false), CS_ERR_INPUT, "row 1, column 1: value nan");
    col[1] = 3;
    assert_fails(cs_csr_check(&a, false), CS_ERR_INPUT, "row 0: column 3 is not in 0..2");
    col[1] = 0;
    assert_fails(cs_csr_check(&a, false), CS_ERR_INPUT, "column 0 does not follow column 0");
    ptr[1] = 4;
    assert_fails(cs_csr_check(&a, false), CS_ERR_INPUT, "row 1 ends at 3 before its start 4");
    ptr[0] = 1;
    assert_fails(cs_csr_check(&a, false), CS_ERR_INPUT, "start at 1");
}

/* Matrix Market files of integers are written by it: each entry counts, the first and the last. */
TEST(integers_are_distinguished_from_reals)
{
    int64_t ptr[] = {0, 3};
    int32_t col[] = {0, 1, 2};
    double val[] = {1, -2, 0x1p53 - 1};
    const double other[] = {0.5, 0x1p53, -0x1p53, NAN, INFINITY};
    const cs_csr a = {.rows = 1, .cols = 3, .ptr = ptr, .col = col, .val = val};
    assert_true(cs_csr_is_integer(&a));
    for (int i = 0; i < 15; ++i) {
        const double was = val[i % 3];
        val[i % 3] = other[i / 3];
        assert_false(cs_csr_is_integer(&a));
        val[i % 3] = was;
    }
}

static void product_with(const cs_csr *a, const cs_dense *d, int64_t k)
{
    AUTO_OK(cs_dense, x, cs_dense_init(&x, a->cols, k));
    AUTO_OK(cs_dense, y, cs_dense_init(&y, a->rows, k));
    AUTO_OK(cs_dense, again, cs_dense_init(&again, a->rows, k));
    AUTO_OK(cs_dense, want, cs_dense_init(&want, a->rows, k));
    fill_normal(&x, 6);
    for (int64_t i = 0; i < a->rows * k; ++i) {
        y.data[i] = NAN; /* must be overwritten, not added to */
    }
    OK(cs_csr_apply(a, &x, &y, 1));
    OK(cs_csr_apply(a, &x, &again, 2));
    assert_memory_equal(y.data, again.data, (size_t)(a->rows * k) * sizeof *y.data);
    OK(cs_csr_apply(a, &x, &again, 5));
    assert_memory_equal(y.data, again.data, (size_t)(a->rows * k) * sizeof *y.data);
    if (d) {
        OK(cs_gemm(false, false, 1, d, &x, 0, &want));
        /* n terms below 5 * 5 each: n * 25 eps, n <= 60 here. */
        assert_true(max_abs_difference(&y, &want) < 60 * 25 * DBL_EPSILON);
    }
}

TEST(product_is_right_for_every_width)
{
    CS_AUTO(cs_csr) a = random_sparse(70, 60, 0.2, 2), empty = random_sparse(5, 4, 0, 3);
    AUTO_OK(cs_dense, d, cs_csr_to_dense(&a, &d));
    for (int64_t k = 0; k <= 19; ++k) {
        product_with(&a, &d, k);
    }
    memset(empty.ptr, 0, 6 * sizeof *empty.ptr);
    product_with(&empty, NULL, 3);
    AUTO_OK(cs_dense, x, cs_dense_init(&x, 60, 2));
    AUTO_OK(cs_dense, y, cs_dense_init(&y, 70, 3));
    assert_fails(cs_csr_apply(&a, &x, &y, 1), CS_ERR_USAGE,
                 "70 x 60 times 60 x 2 does not give 70 x 3");
}

/* Large enough for many chunks; skewed rows, so that chunks differ in their number of rows. */
TEST(product_has_the_same_bits_for_any_threads)
{
    CS_AUTO(cs_csr) a = random_sparse(5000, 3000, 0.04, 4), t = {0}, long_row = {0};
    OK(cs_csr_transpose(&a, &t));
    static const int64_t width[] = {1, 2, 7, 8, 15};
    for (size_t w = 0; w < sizeof width / sizeof *width; ++w) {
        product_with(&a, NULL, width[w]);
        product_with(&t, NULL, width[w]);
    }
    /* All the work in 400 rows in the middle. */
    static double ones[1000 * 3000];
    for (int64_t j = 0; j < 3000; ++j) {
        for (int64_t i = 300; i < 700; ++i) {
            ones[i + j * 1000] = 1.0 / (double)(j + 1);
        }
    }
    cs_dense skewed = {.rows = 1000, .cols = 3000, .ld = 1000, .data = ones};
    long_row = csr_of(&skewed);
    product_with(&long_row, NULL, 8);
}

/* Enough columns that a tile of eight and one of six are packed in several parts; small integers,
 * whose sums are exact. */
TEST(long_vectors_are_packed_whole)
{
    enum { ROWS = 3, COLS = 140000, APART = 7, N = COLS / APART, WIDTH = 15 };
    ARRAY(int64_t, row, N, e, e % ROWS);
    ARRAY(int64_t, col, N, e, (int64_t)APART * e + e % APART);
    ARRAY(double, val, N, e, e % 9 - 3);
    AUTO_OK(cs_csr, a, cs_csr_from_triplets(ROWS, COLS, N, row, col, val, &a));
    AUTO_OK(cs_dense, x, cs_dense_init(&x, COLS, WIDTH));
    AUTO_OK(cs_dense, y, cs_dense_init(&y, ROWS, WIDTH));
    AUTO_OK(cs_dense, want, cs_dense_init(&want, ROWS, WIDTH));
    for (int64_t j = 0; j < WIDTH; ++j) {
        for (int64_t i = 0; i < COLS; ++i) {
            x.data[i + j * COLS] = (double)((i + 3 * j) % 101 - 20);
        }
        for (int e = 0; e < N; ++e) {
            want.data[row[e] + j * ROWS] += val[e] * x.data[col[e] + j * COLS];
        }
    }
    for (int threads = 1; threads <= 3; ++threads) {
        OK(cs_csr_apply(&a, &x, &y, threads));
        assert_memory_equal(y.data, want.data, ROWS * WIDTH * sizeof(double));
    }
}

/* n terms are added in any order with an error of at most (n - 1) eps / 2 of their sizes: of a long
 * column as of a long row, a column in a pass over rows. */
TEST(rounding_is_that_of_the_longest_sum)
{
    enum { N = 100 };
    double of_column = 0, of_rows = 0, known = 0;
    AUTO_OK(cs_csr, column, cs_csr_init(&column, N, 1, N));
    for (int64_t i = 0; i < N; ++i) {
        column.col[i] = 0;
        column.val[i] = 1;
        column.ptr[i + 1] = i + 1;
    }
    AUTO_OK(cs_csr, row, cs_csr_transpose(&column, &row));
    OK(cs_csr_rounding(&column, NULL, &of_column));
    OK(cs_csr_rounding(&row, NULL, &of_rows));
    OK(cs_csr_rounding(&column, &row, &known));
    assert_true(of_column == (N + 2) * (DBL_EPSILON / 2)); /* that of the pass, and the product */
    assert_true(of_rows == (N + 1) * (DBL_EPSILON / 2) && known == of_rows);
}

static cs_status all_sparse_steps(void)
{
    const int64_t row[] = {1, 1, 0}, col[] = {2, 0, 1};
    const double val[] = {1, 2, 3};
    CS_AUTO(cs_csr) a = {0}, t = {0}, s = {0};
    CS_AUTO(cs_dense) d = {0}, x = {0}, y = {0};
    cs_status status = cs_csr_from_triplets(2, 3, 3, row, col, val, &a);
    status = status ? status : cs_csr_transpose(&a, &t);
    status = status ? status : cs_csr_select(&a, 2, NULL, NULL, 3, &s);
    status = status ? status : cs_csr_to_dense(&a, &d);
    status = status ? status : cs_dense_init(&x, 3, 8);
    status = status ? status : cs_dense_init(&y, 2, 8);
    status = status ? status : cs_csr_apply(&a, &x, &y, 1);
    double sigma[2], rounding;
    status = status ? status : cs_csr_rounding(&a, NULL, &rounding);
    status = status ? status : cs_dense_svd(&d, sigma, NULL, NULL);
    cs_dense two = {.rows = 3, .cols = 2, .ld = 3, .data = x.data};
    status = status ? status : cs_dense_orthonormalise(&two);
    return status;
}

TEST(every_allocation_may_fail)
{
    int failures = 0;
    EACH_ALLOCATION_FAILS(n)
        failures += out_of_memory(all_sparse_steps());
    assert_true(failures > 10);
}

/* Large enough for several runs of rows: entry by entry against the definition, and the same for
 * any number of threads. */
TEST(large_transposes)
{
    CS_AUTO(cs_csr) a = random_sparse(4000, 900, 0.25, 13), first = {0};
    assert_true(cs_csr_nnz(&a) > 700000);
    for (int threads = 1; threads <= 3; ++threads) {
        cs_threads_set(threads);
        AUTO_OK(cs_csr, t, cs_csr_transpose(&a, &t));
        OK(cs_csr_check(&t, false));
        AUTO_OK(cs_csr, back, cs_csr_transpose(&t, &back));
        assert_memory_equal(back.ptr, a.ptr, 4001 * sizeof *a.ptr);
        assert_memory_equal(back.col, a.col, (size_t)cs_csr_nnz(&a) * sizeof *a.col);
        assert_memory_equal(back.val, a.val, (size_t)cs_csr_nnz(&a) * sizeof *a.val);
        if (threads == 1) {
            first = t;
            t = (cs_csr){0};
            continue;
        }
        assert_memory_equal(t.ptr, first.ptr, 901 * sizeof *t.ptr);
        assert_memory_equal(t.col, first.col, (size_t)cs_csr_nnz(&a) * sizeof *t.col);
        assert_memory_equal(t.val, first.val, (size_t)cs_csr_nnz(&a) * sizeof *t.val);
    }
    cs_threads_set(0);
    for (int64_t j = 0; j < 900; j += 37) { /* each entry of a row of A^T is one of A */
        for (int64_t p = first.ptr[j]; p < first.ptr[j + 1]; ++p) {
            int64_t i = first.col[p], q = a.ptr[i];
            while (q < a.ptr[i + 1] && a.col[q] != j) {
                ++q;
            }
            assert_true(q < a.ptr[i + 1] && a.val[q] == first.val[p]);
        }
    }
}

/* Last: the flag cannot be taken back. */
TEST(an_interrupted_product_says_so)
{
    CS_AUTO(cs_csr) a = random_sparse(30, 20, 0.2, 5);
    AUTO_OK(cs_dense, x, cs_dense_init(&x, 20, 3));
    AUTO_OK(cs_dense, y, cs_dense_init(&y, 30, 3));
    OK(cs_csr_apply(&a, &x, &y, 1));
    cs_interrupt_set();
    assert_fails(cs_csr_apply(&a, &x, &y, 1), CS_ERR_INTERRUPT, "interrupted");
}
