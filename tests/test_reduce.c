/* cooc/reduce, cooc/labelled: components against breadth-first search, lumping against brute-force
 * pairwise comparison and against the Gram matrix it must leave unchanged. */
#include "cooc/labelled.h"
#include "cooc/reduce.h"
#include "cooc_matrices.h"
#include "test.h"

/* Components by flooding a dense copy of the matrix. */
static int64_t flood(const cs_dense *d, int64_t *row, int64_t *col)
{
    int64_t count = 0;
    for (int64_t i = 0; i < d->rows; ++i) {
        row[i] = -1;
    }
    for (int64_t j = 0; j < d->cols; ++j) {
        col[j] = -1;
    }
    for (int64_t start = 0; start < d->rows; ++start) {
        bool any = ANY(j, 0, d->cols, d->data[start + j * d->ld] != 0);
        if (!any || row[start] >= 0) {
            continue;
        }
        row[start] = count;
        for (bool grew = true; grew;) {
            grew = false;
            for (int64_t i = 0; i < d->rows; ++i) {
                for (int64_t j = 0; j < d->cols; ++j) {
                    bool edge = d->data[i + j * d->ld] != 0;
                    if (edge && (row[i] == count) != (col[j] == count)) {
                        row[i] = col[j] = count;
                        grew = true;
                    }
                }
            }
        }
        ++count;
    }
    return count;
}

TEST(components_match_flooding)
{
    for (uint64_t seed = 1; seed <= 12; ++seed) {
        CS_AUTO(cs_csr) a = untidy_matrix((int64_t)seed, 48, 40, seed);
        int64_t row[48], col[40];
        AUTO_OK(cs_dense, d, cs_csr_to_dense(&a, &d));
        AUTO_OK(cs_components, c, cs_components_of(&a, &c));
        int64_t number = -1;
        assert_int_equal(c.count, flood(&d, row, col));
        OK(cs_components_number(&a, &number));
        assert_int_equal(number, c.count);
        assert_each(i, 0, a.rows, c.row[i] == row[i]);
        int64_t rows = COUNT(i, 0, a.rows, c.row[i] >= 0);
        assert_each(j, 0, a.cols, c.col[j] == col[j]);
        int64_t cols = COUNT(j, 0, a.cols, c.col[j] >= 0);
        for (int64_t p = 0; p < c.count; ++p) {
            rows -= c.rows[p];
            cols -= c.cols[p];
        }
        assert_int_equal(rows, 0);
        assert_int_equal(cols, 0);
    }
}

/* A path r0 - c0 - r1 - c1 - ... joined from its far end, the longest chain a forest can meet. */
TEST(components_of_a_long_path)
{
    enum { N = 100000 };
    AUTO_OK(cs_csr, a, cs_csr_init(&a, N, N + 1, 2 * N));
    for (int64_t i = 0; i < N; ++i) {
        a.col[2 * i] = (int32_t)(N - 1 - i);
        a.col[2 * i + 1] = (int32_t)(N - i);
        a.val[2 * i] = a.val[2 * i + 1] = 1;
        a.ptr[i + 1] = 2 * (i + 1);
    }
    AUTO_OK(cs_components, c, cs_components_of(&a, &c));
    assert_int_equal(c.count, 1);
    assert_int_equal(c.rows[0], N);
    assert_int_equal(c.cols[0], N + 1);
}

TEST(stored_zeros_are_no_edges)
{
    CS_AUTO(cs_csr) a = matrix_of(2, 2, (double[]){1, 5, 7, 2});
    a.val[1] = a.val[2] = 0;
    AUTO_OK(cs_components, c, cs_components_of(&a, &c));
    assert_int_equal(c.count, 2);
    AUTO_OK(cs_lumping, l, cs_lump(&a, 0, &l));
    assert_int_equal(cs_csr_nnz(&l.a), 2);
}

/* Rows i and j of d are proportional, by exact cross products of small integers. */
static bool proportional(const cs_dense *d, int64_t i, int64_t j, bool columns)
{
    int64_t n = columns ? d->rows : d->cols;
    int64_t step = columns ? 1 : d->ld, lead = columns ? d->ld : 1;
    double sum_i = SUM(k, 0, n, d->data[i * lead + k * step]);
    double sum_j = SUM(k, 0, n, d->data[j * lead + k * step]);
    for (int64_t k = 0; k < n; ++k) {
        if (d->data[i * lead + k * step] * sum_j != d->data[j * lead + k * step] * sum_i) {
            return false;
        }
    }
    return sum_i > 0 && sum_j > 0;
}

static void check_lumps(const cs_dense *d, const int32_t *lump, int64_t n, bool columns)
{
    int64_t next = 0;
    for (int64_t i = 0; i < n; ++i) {
        assert_true(lump[i] <= next); /* numbered by first appearance */
        next += lump[i] == next;
        for (int64_t j = 0; j < i; ++j) {
            bool same = lump[i] >= 0 && lump[i] == lump[j];
            assert_int_equal(same, proportional(d, i, j, columns));
        }
    }
}

/* scale != 1 makes the counts non-integer, which takes the tolerance path; the answer is the same.
 */
static void check_lumping(cs_csr *a, double scale)
{
    AUTO_OK(cs_dense, d, cs_csr_to_dense(a, &d));
    for (int64_t i = 0; i < a->rows; ++i) {
        for (int64_t e = a->ptr[i]; e < a->ptr[i + 1]; ++e) {
            a->val[e] *= scale * (scale == 1 ? 1 : 1 + 0.37 * (double)i);
        }
    }
    AUTO_OK(cs_lumping, l, cs_lump(a, 0, &l));
    assert_int_equal(l.size[CS_LEFT], a->rows);
    assert_int_equal(l.size[CS_RIGHT], a->cols);
    check_lumps(&d, l.lump[CS_LEFT], a->rows, false);
    check_lumps(&d, l.lump[CS_RIGHT], a->cols, true);
    double mass = SUM(e, 0, cs_csr_nnz(a), a->val[e]);
    double lumped = SUM(e, 0, cs_csr_nnz(&l.a), l.a.val[e]);
    assert_true(fabs(mass - lumped) <= 1e-12 * mass);
    OK(cs_csr_check(&l.a, true));
}

TEST(lumping_finds_exactly_the_proportional_rows)
{
    for (uint64_t seed = 1; seed <= 8; ++seed) {
        CS_AUTO(cs_csr) a = untidy_matrix(1 + (int64_t)seed / 3, 40, 36, seed);
        check_lumping(&a, 1);
        cs_csr_free(&a);
        a = untidy_matrix(1 + (int64_t)seed / 3, 40, 36, seed);
        /* A factor a row changes no row's distribution, and twin columns stay twins. */
        check_lumping(&a, 1.0 / 3);
    }
}

/* Entries near 2^53 differ in their last unit: cross products in double could not distinguish
 * them. */
TEST(large_counts_compare_exactly)
{
    double big = 9007199254740990.0;
    CS_AUTO(cs_csr) a = matrix_of(3, 2, (double[]){big, 2, big / 2, 1, big - 1, 2});
    AUTO_OK(cs_lumping, l, cs_lump(&a, 0, &l));
    assert_int_equal(l.lump[CS_LEFT][0], 0);
    assert_int_equal(l.lump[CS_LEFT][1], 0);
    assert_int_equal(l.lump[CS_LEFT][2], 1);
}

/* Values whose leading digits straddle a decimal or binary boundary agree all the same. */
TEST(no_bucket_boundary_parts_rows)
{
    double up = nextafter(0.1, 1), down = nextafter(0.1, 0);
    CS_AUTO(cs_csr) a = matrix_of(4, 3,
                                  (double[]){0.1, 0.3, 0.6, up, 0.3, 0.6, down, 0.3, 0.6, //
                                             0.1 * (1 + 1e-9), 0.3, 0.6});
    AUTO_OK(cs_lumping, l, cs_lump(&a, 0, &l));
    assert_int_equal(l.lump[CS_LEFT][1], 0);
    assert_int_equal(l.lump[CS_LEFT][2], 0);
    assert_int_equal(l.lump[CS_LEFT][3], 1); /* 1e-9 apart is another distribution */
    cs_lumping_free(&l);
    OK(cs_lump(&a, 1e-6, &l));
    assert_int_equal(l.lump[CS_LEFT][3], 0); /* unless the caller says so */
}

/* 200,000 rows of one entry each lump into one row a column, in linear time. */
TEST(single_entry_rows_lump)
{
    enum { ROWS = 200000, COLS = 10 };
    for (int real = 0; real < 2; ++real) {
        AUTO_OK(cs_csr, a, cs_csr_init(&a, ROWS, COLS, ROWS));
        for (int64_t i = 0; i < ROWS; ++i) {
            a.col[i] = (int32_t)(i % COLS);
            a.val[i] = (double)(i % 77 + 1) * (real ? 0.1 : 1);
            a.ptr[i + 1] = i + 1;
        }
        AUTO_OK(cs_lumping, l, cs_lump(&a, 0, &l));
        assert_int_equal(l.a.rows, COLS);
        assert_int_equal(l.a.cols, COLS);
    }
}

TEST(bad_matrices_are_refused)
{
    cs_lumping l = {0};
    CS_AUTO(cs_csr) a = matrix_of(2, 2, (double[]){1, 2, 3, 4});
    assert_fails(cs_lump(&a, -1, &l), CS_ERR_USAGE, "-1");
    assert_int_equal(cs_lump(&a, NAN, &l), CS_ERR_USAGE);
    cs_reason_clear();
    a.val[3] = -4;
    assert_fails(cs_lump(&a, 0, &l), CS_ERR_INPUT, "-4");
    a.val[2] = a.val[3] = 1.7e308;
    assert_fails(cs_lump(&a, 0, &l), CS_ERR_INPUT, "row 1");
    assert_null(l.lump[CS_LEFT]);
}

TEST(an_empty_matrix_reduces_to_nothing)
{
    AUTO_OK(cs_csr, a, cs_csr_init(&a, 3, 2, 0));
    AUTO_OK(cs_components, c, cs_components_of(&a, &c));
    assert_int_equal(c.count, 0);
    assert_int_equal(c.row[2], -1);
    assert_int_equal(c.col[1], -1);
    AUTO_OK(cs_lumping, l, cs_lump(&a, 0, &l));
    assert_int_equal(l.a.rows, 0);
    assert_int_equal(l.a.cols, 0);
    assert_int_equal(l.lump[CS_LEFT][0], -1);
}

TEST(every_failed_allocation_is_reported)
{
    for (int real = 0; real < 2; ++real) {
        CS_AUTO(cs_csr) a = untidy_matrix(2, 24, 20, 5);
        a.val[0] += real ? 0.5 : 0;
        EACH_ALLOCATION_FAILS(n) {
            CS_AUTO(cs_components) c = {0};
            CS_AUTO(cs_lumping) l = {0};
            cs_status status = cs_components_of(&a, &c);
            if (status == CS_OK) status = cs_lump(&a, 0, &l);
            if (out_of_memory(status)) assert_null(l.lump[CS_LEFT]);
        }
    }
}

TEST(majority_takes_the_lowest_class_on_ties)
{
    CS_AUTO(cs_labelled) m = {.labels = 3};
    m.row_label = matrix_of(4, 3, (double[]){1, 2, 2, 0, 0, 0, 5, 4, 5, 0, 0, 1});
    int32_t label[4];
    cs_majority(&m.row_label, label);
    assert_int_equal(label[0], 1);
    assert_int_equal(label[1], -1);
    assert_int_equal(label[2], 0);
    assert_int_equal(label[3], 2);
    cs_labelled_free(&m);
}

/* Of 3 + 2 + 4 in two rows, 3 and 4 are of the most of their row; an empty one says nothing. */
TEST(the_best_guess_of_a_class_errs)
{
    double val[] = {3, 2, 4};
    int64_t ptr[] = {0, 2, 2, 3};
    int32_t col[] = {0, 1, 1};
    cs_labelled m = {.labels = 2,
                     .row_label = {.rows = 3, .cols = 2, .ptr = ptr, .col = col, .val = val}};
    int64_t mass = 0, majority = 0;
    cs_label_masses(&m, 0.25, &mass, &majority);
    assert_int_equal(mass, 36);
    assert_int_equal(majority, 28);
    assert_true(fabs(cs_label_noise(mass, majority) - 2.0 / 9) < 1e-15);
    m.row_label.rows = 0;
    cs_label_masses(&m, 0.25, &mass, &majority);
    assert_true(isnan(cs_label_noise(mass, majority)));
}

/* Proportional rows far apart among many, whose hashes several threads make a few thousand at a time:
 * row i and the one half the matrix further are multiples of each other, and of no other row. */
TEST(lumps_are_found_among_many_rows)
{
    enum { HALF = 4500 };
    AUTO_OK(cs_csr, a, cs_csr_init(&a, 2 * HALF, HALF + 2, 4 * HALF));
    for (int64_t i = 0; i < 2 * HALF; ++i) {
        const int32_t c = (int32_t)(i % HALF);
        a.ptr[i + 1] = 2 * (i + 1);
        a.col[2 * i] = c;
        a.col[2 * i + 1] = c + 1 + c % 2;
        a.val[2 * i] = (double)((1 + c % 5) * (i < HALF ? 1 : 3));
        a.val[2 * i + 1] = i < HALF ? 2 : 6;
    }
    AUTO_OK(cs_lumping, l, cs_lump(&a, 0, &l));
    assert_each(i, 0, HALF, l.lump[CS_LEFT][i] == i);
    assert_each(i, 0, HALF, l.lump[CS_LEFT][i + HALF] == i);
    assert_int_equal(l.a.rows, HALF);
}

/* Rows of one pattern are divided by their sums, which must be numbers; a row that no other one is
 * like is not. */
TEST(sums_that_overflow_are_named)
{
    CS_AUTO(cs_csr) a = matrix_of(3, 3, (double[]){0, 1, 1.5, 1, 1e308, 0, 2, 1e308, 0});
    AUTO_OK(cs_lumping, l, cs_lump(&a, 0, &l));
    assert_int_equal(l.a.rows, 3);
    cs_lumping_free(&l);
    a.val[2] = a.val[4] = 1.5e308;
    assert_fails(cs_lump(&a, 0, &l), CS_ERR_INPUT, "row 1: its sum overflows");
    assert_null(l.a.ptr);
    a.col[4] = 1; /* now half of row 0 */
    a.col[5] = 2;
    a.val[4] = 0.5;
    a.val[5] = 0.75;
    OK(cs_lump(&a, 0, &l));
    assert_true(l.a.rows == 2 && l.lump[CS_LEFT][2] == 0 && l.lump[CS_LEFT][1] == 1);
}
