/* Empty rows: what is read without them, and that a spectrum is the same with and without them. */
#include "cooc/spectrum.h"
#include "cooc/spectrum_density.h"
#include "cooc_matrices.h"
#include "io/file.h"
#include "io_support.h"
#include "linalg/matrix_file.h"
#include "linalg_support.h"

/* --- numbers ---------------------------------------------------------------------------------- */

/* By the definition: a row's number is that of the smaller ones that occur. */
static void numbered(int64_t rows, int64_t n, const int64_t *row)
{
    int64_t *number = test_zeros(n + 1, sizeof *number);
    memcpy(number, row, (size_t)n * sizeof *number);
    AUTO_OK(cs_nonempty_rows, kept, cs_nonempty_rows_number(rows, n, number, &kept));
    assert_int_equal(kept.rows, rows);
    assert_each(i, 1, kept.count, kept.row[i] > kept.row[i - 1]);
    bool *seen = test_zeros(kept.count + 1, sizeof *seen);
    for (int64_t e = 0; e < n; ++e) {
        assert_true(number[e] >= 0 && number[e] < kept.count);
        assert_int_equal(kept.row[number[e]], row[e]);
        seen[number[e]] = true;
    }
    assert_each(i, 0, kept.count, seen[i]);
}

TEST(rows_are_numbered)
{
    enum { N = 500 };
    int64_t row[N];
    const int64_t rows[] = {1, 7, N, 2 * N, 2 * N + 2, 100 * N, INT64_C(1) << 62, INT64_MAX - 1};
    for (size_t r = 0; r < sizeof rows / sizeof *rows; ++r) {
        for (int spread = 0; spread < 2; ++spread) { /* over all, or all in the last few */
            int64_t among = spread || rows[r] < 9 ? rows[r] : 9;
            cs_rng rng = cs_rng_at(5, CS_STREAM_TEST, r);
            for (int e = 0; e < N; ++e) {
                row[e] = rows[r] - 1 - cs_rng_below(&rng, among);
            }
            numbered(rows[r], N, row);
        }
        numbered(rows[r], 0, row);
    }
    numbered(0, 0, row);
}

/* --- files ------------------------------------------------------------------------------------ */

/* Rows 3 and `last` of `rows` are not empty: {0, 5, 0} and {7, 0, -2}. */
static void holds_two_rows(const char *path, int64_t rows, int64_t last)
{
    CS_AUTO(cs_nonempty_rows) kept = {0};
    AUTO_OK(cs_csr, a, cs_matrix_read_filled(path, &kept, &a));
    OK(cs_csr_check(&a, false));
    assert_int_equal(kept.rows, rows);
    assert_int_equal(kept.count, 2);
    assert_int_equal(a.rows, 2);
    assert_int_equal(a.cols, 3);
    assert_int_equal(kept.row[0], 3);
    assert_int_equal(kept.row[1], last);
    assert_memory_equal(a.ptr, ((int64_t[]){0, 1, 3}), 3 * sizeof *a.ptr);
    assert_memory_equal(a.col, ((int32_t[]){1, 0, 2}), 3 * sizeof *a.col);
    assert_memory_equal(a.val, ((double[]){5, 7, -2}), 3 * sizeof *a.val);
}

/* More rows than any memory has; one whose entries add up to nothing, and one of a stored zero. */
TEST_IN_DIR(rows_without_entries_cost_nothing)
{
    const int64_t rows = INT64_C(9000000000000000000);
    holds_two_rows(put(state, "a.mtx",
                       "%%MatrixMarket matrix coordinate real general\n"
                       "9000000000000000000 3 7\n"
                       "9000000000000000000 3 -2\n4 2 2\n11 1 4\n4 2 3\n11 1 -4\n"
                       "9000000000000000000 1 7\n12 2 0\n"),
                   rows, rows - 1);

    const int64_t shape[] = {rows, 3}, row[] = {rows - 1, 3, 10, 3, 10, rows - 1},
                  col[] = {2, 1, 0, 1, 0, 0};
    const double val[] = {-2, 2, 4, 3, -4, 7};
    const sparse_part coo[] = {
        {"row", CS_I64, 6, row}, {"col", CS_I64, 6, col}, {"data", CS_F64, 6, val}};
    sparse_archive(in_dir(state, "coo.npz"), "coo", shape, coo);
    holds_two_rows(in_dir(state, "coo.npz"), rows, rows - 1);

    /* The last item is behind the last pointer. */
    const int64_t ptr[] = {0, 3, 5, 6}, index[] = {10, rows - 1, 10, 3, 3, rows - 1, -1};
    const double by_column[] = {4, 7, -4, 2, 3, -2, NAN};
    const sparse_part csc[] = {
        {"indptr", CS_I64, 4, ptr}, {"indices", CS_I64, 7, index}, {"data", CS_F64, 7, by_column}};
    sparse_archive(in_dir(state, "csc.npz"), "csc", shape, csc);
    holds_two_rows(in_dir(state, "csc.npz"), rows, rows - 1);

    cs_csr none;
    assert_fails(cs_matrix_read(in_dir(state, "csc.npz"), &none), CS_ERR_MEMORY,
                 "csc.npz: a matrix of 9000000000000000000 rows and 3 columns takes");
}

/* Forms that store rows: csr and dense. The whole comes back from the rows that are kept. */
TEST_IN_DIR(stored_rows_are_left_out)
{
    enum { ROWS = 20000, LAST = 17001 };
    const int64_t shape[] = {ROWS, 3}, pointers = ROWS + 1;
    const int32_t col[] = {1, 1, 0, 2, 0, 2};
    int64_t *ptr = test_zeros(pointers, sizeof *ptr);
    for (int64_t i = 0; i <= ROWS; ++i) { /* row 10 stores two zeros */
        ptr[i] = i <= 3 ? 0 : i <= 10 ? 2 : i <= LAST ? 4 : 6;
    }
    const double val[] = {2, 3, 0, 0, 7, -2};
    const sparse_part csr[] = {
        {"indptr", CS_I64, pointers, ptr}, {"indices", CS_I32, 6, col}, {"data", CS_F64, 6, val}};
    sparse_archive(in_dir(state, "csr.npz"), "csr", shape, csr);
    holds_two_rows(in_dir(state, "csr.npz"), ROWS, LAST);

    double *dense = test_zeros((int64_t)ROWS * 3, sizeof *dense);
    dense[3 * 3 + 1] = 5;
    dense[LAST * 3] = 7;
    dense[LAST * 3 + 2] = -2;
    OK(cs_npy_write(in_dir(state, "d.npy"), CS_F64, 2, shape, dense));
    holds_two_rows(in_dir(state, "d.npy"), ROWS, LAST);

    AUTO_OK(cs_csr, whole, cs_matrix_read(in_dir(state, "csr.npz"), &whole));
    assert_int_equal(whole.rows, ROWS);
    for (int64_t i = 0; i <= ROWS; ++i) {
        assert_int_equal(whole.ptr[i], i <= 3 ? 0 : i <= LAST ? 1 : 3);
    }
    cs_csr_free(&whole);

    /* An array without columns has no rows, however many it claims. */
    CS_AUTO_FREE char *header = NULL;
    int64_t size = 0;
    OK(cs_npy_header(CS_F64, false, 2, (const int64_t[]){INT64_C(1) << 50, 0}, &header, &size));
    OK(cs_file_write(in_dir(state, "none.npy"), header, size));
    AUTO_OK(cs_nonempty_rows, kept,
            cs_matrix_read_filled(in_dir(state, "none.npy"), &kept, &whole));
    assert_int_equal(kept.rows, INT64_C(1) << 50);
    assert_int_equal(kept.count, 0);
    assert_int_equal(whole.rows, 0);
}

/* --- spectra ---------------------------------------------------------------------------------- */

/* A matrix without empty rows, and the same among `gap` times as many empty ones. */
typedef struct {
    cs_csr filled, whole;
    cs_nonempty_rows kept;
} pair;

static pair pair_of(int64_t gap)
{
    pair p = {0};
    cs_rng rng = cs_rng_at(3, CS_STREAM_TEST, 0);
    cs_csr a = untidy_matrix(3, 150, 60, 11);
    CS_AUTO(cs_nonempty_rows) some = cs_nonempty_rows_all(a.rows);
    OK(cs_csr_drop_empty(&a, &some));
    p.filled = a;
    p.kept = (cs_nonempty_rows){.count = a.rows, .row = cs_alloc(a.rows, sizeof *p.kept.row)};
    for (int64_t i = 0; i < a.rows; ++i) {
        p.kept.rows += cs_rng_below(&rng, 2 * gap + 1);
        p.kept.row[i] = p.kept.rows++;
    }
    p.kept.rows += gap;
    cs_nonempty_rows copy = p.kept;
    copy.row = cs_alloc(a.rows, sizeof *copy.row);
    assert_non_null(copy.row);
    memcpy(copy.row, p.kept.row, (size_t)a.rows * sizeof *copy.row);
    OK(cs_csr_copy(&a, &p.whole));
    OK(cs_csr_spread(&p.whole, &copy));
    OK(cs_csr_check(&p.whole, true));
    assert_int_equal(p.whole.rows, p.kept.rows);
    return p;
}

static void pair_free(pair *p)
{
    cs_csr_free(&p->filled);
    cs_csr_free(&p->whole);
    cs_nonempty_rows_free(&p->kept);
}

static void same_values(const cs_spectrum *a, const cs_spectrum *b)
{
    assert_int_equal(a->k, b->k);
    assert_int_equal(a->input.components, b->input.components);
    assert_memory_equal(a->sigma, b->sigma, (size_t)a->k * sizeof *a->sigma);
    assert_memory_equal(a->residual, b->residual, (size_t)a->k * sizeof *a->residual);
    assert_memory_equal(&a->moments.sum_sigma2, &b->moments.sum_sigma2,
                        sizeof a->moments.sum_sigma2);
    assert_memory_equal(&a->moments.sum_sigma4, &b->moments.sum_sigma4,
                        sizeof a->moments.sum_sigma4);
    assert_int_equal(a->cert.probe.state, b->cert.probe.state);
    assert_memory_equal(&a->cert.probe.value, &b->cert.probe.value, sizeof a->moments.sum_sigma2);
}

/* The bits of the matrix without them; what has a row each is 0 in theirs. */
TEST(a_spectrum_is_that_of_the_rows_with_entries)
{
    CS_AUTO(pair) p = pair_of(4);
    for (int turn = 0; turn < 4; ++turn) {
        cs_spectrum_options o = {.k = turn == 3 ? 0 : 12,
                                 .normalised = turn == 1,
                                 .certify = CS_CERTIFY_USUAL,
                                 .moment4 = true,
                                 .solver = turn == 2 ? CS_SOLVER_BLOCK : CS_SOLVER_AUTO};
        CS_AUTO(cs_spectrum) filled = {0}, whole = {0}, kept = {0};
        OK(cs_spectrum_of(&p.filled, &o, &filled));
        if (turn == 2) { /* from a guess */
            o.start_u = &filled.u;
            o.start_v = &filled.v;
        }
        cs_spectrum_options of_kept = o, of_whole = o;
        CS_AUTO(cs_dense) guess = {0};
        of_kept.rows = &p.kept;
        if (turn == 2) {
            OK(cs_dense_init(&guess, filled.u.rows, filled.u.cols));
            cs_dense_copy(&filled.u, &guess);
            OK(cs_nonempty_rows_spread(&p.kept, &guess));
            of_whole.start_u = &guess;
        }
        OK(cs_spectrum_of(&p.filled, &of_kept, &kept));
        OK(cs_spectrum_of(&p.whole, &of_whole, &whole));
        same_values(&kept, &whole);
        if (turn != 2) {
            same_values(&filled, &whole);
        }
        assert_int_equal(whole.input.rows, p.whole.rows);
        assert_int_equal(kept.input.rows, p.whole.rows);
        assert_int_equal(whole.input.zero_rows, p.kept.rows - p.kept.count);
        assert_int_equal(kept.input.zero_rows, p.kept.rows - p.kept.count);
        assert_int_equal(whole.u.rows, p.whole.rows);
        assert_int_equal(kept.u.rows, p.kept.count);
        assert_memory_equal(&kept.solution.departure, &whole.solution.departure,
                            sizeof kept.solution.departure);
        for (int64_t i = 0, at = 0; i < p.whole.rows; ++i) {
            const bool is = at < p.kept.count && p.kept.row[at] == i;
            assert_each(j, 0, whole.k,
                        whole.u.data[i + j * whole.u.ld] ==
                            (is ? kept.u.data[at + j * kept.u.ld] : 0));
            assert_true(turn == 1 || whole.input.row_mass[i] == (is ? kept.input.row_mass[at] : 0));
            at += is;
        }
    }
}

/* How many there are is a matter of the whole: what the rows with entries lack are zeros. */
TEST(sizes_are_those_of_the_whole)
{
    double val[] = {1, 2, 8, 4};
    int32_t col[] = {0, 1, 0, 1};
    int64_t ptr[] = {0, 2, 4};
    int64_t row[] = {5, INT64_C(1) << 60};
    const cs_csr a = {.rows = 2, .cols = 4, .ptr = ptr, .col = col, .val = val};
    const cs_nonempty_rows kept = {.rows = INT64_C(1) << 61, .count = 2, .row = row};
    cs_spectrum_options o = {.k = 4, .rows = &kept};
    cs_spectrum s = {0};
    OK(cs_spectrum_of(&a, &o, &s));
    assert_int_equal(s.input.rows, INT64_C(1) << 61);
    assert_int_equal(s.k, 2);
    assert_int_equal(s.zeros, 2);
    assert_int_equal(s.input.zero_cols, 2);
    cs_spectrum_free(&s);
    o.k = 5;
    assert_fails(
        cs_spectrum_of(&a, &o, &s), CS_ERR_USAGE,
        "5 singular triplets requested, but the matrix (2305843009213693952 x 4) has only 4");
    o.k = 1;
    val[3] = -4;
    assert_fails(cs_spectrum_of(&a, &o, &s), CS_ERR_INPUT,
                 "row 1152921504606846976, column 1: value -4 is negative");
    cs_spectrum_density_options d = {.spectrum = o, .samples = 4, .degree = 4, .bins = 2};
    CS_AUTO(cs_spectrum_density) density = {0};
    assert_fails(cs_spectrum_density_of(&a, &d, &density), CS_ERR_INPUT, "row 1152921504606846976");
    val[3] = 4;
    OK(cs_spectrum_density_of(&a, &d, &density));
    assert_int_equal(density.rows, INT64_C(1) << 61);

    /* Of a matrix in memory the row is that of the caller, and damaged pointers are seen. */
    int64_t gaps[] = {0, 0, 2, 2, 4};
    const cs_csr whole = {.rows = 4, .cols = 4, .ptr = gaps, .col = col, .val = val};
    o.rows = NULL;
    val[2] = -8;
    assert_fails(cs_spectrum_of(&whole, &o, &s), CS_ERR_INPUT, "row 3, column 0: value -8");
    val[2] = 8;
    gaps[2] = 5;
    assert_fails(cs_spectrum_of(&whole, &o, &s), CS_ERR_INPUT, "row 2 ends at 2 before its start");
}

TEST(a_density_is_that_of_the_rows_with_entries)
{
    CS_AUTO(pair) p = pair_of(2);
    const cs_spectrum_density_options o = {
        .spectrum = {.k = 3, .seed = 2}, .samples = 8, .degree = 12, .bins = 10};
    CS_AUTO(cs_spectrum_density) filled = {0}, whole = {0};
    OK(cs_spectrum_density_of(&p.filled, &o, &filled));
    OK(cs_spectrum_density_of(&p.whole, &o, &whole));
    assert_int_equal(whole.rows, p.whole.rows);
    assert_int_equal(filled.density.points, whole.density.points);
    assert_memory_equal(filled.density.density, whole.density.density,
                        (size_t)whole.density.points * sizeof *whole.density.density);
    assert_memory_equal(filled.tail, whole.tail, 4 * sizeof *whole.tail);
}

/* --- vectors ---------------------------------------------------------------------------------- */

TEST_IN_DIR(vectors_are_written_in_their_rows)
{
    enum { ROWS = 30000, K = 2 };
    int64_t row[] = {0, 1, 2, 9000, 9001, 29998};
    const cs_nonempty_rows some = {.rows = ROWS, .count = 6, .row = row},
                           ends = {.rows = 6, .count = 6},
                           none = {.rows = 40, .count = 0, .row = row};
    double data[6 * K];
    for (int e = 0; e < 6 * K; ++e) {
        data[e] = 0.25 + e;
    }
    const cs_dense a = {.rows = 6, .cols = K, .ld = 6, .data = data};
    const cs_dense nothing = {.rows = 0, .cols = K, .ld = 1, .data = data};
    const char *path = in_dir(state, "u.npy");
    cs_dense back;
    OK(cs_vectors_write(path, &some, &a));
    AUTO_OK(cs_array, x, cs_npy_read(path, 0, &x));
    assert_int_equal(x.shape[0], ROWS);
    assert_int_equal(x.shape[1], K);
    for (int64_t i = 0, at = 0; i < ROWS; ++i) {
        const bool is = at < 6 && row[at] == i;
        assert_each(j, 0, K, cs_array_f64(&x, i * K + j) == (is ? data[at + j * 6] : 0));
        at += is;
    }
    OK(cs_vectors_read(path, &some, &back));
    assert_memory_equal(back.data, data, sizeof data);
    cs_dense_free(&back);
    OK(cs_vectors_write(path, &ends, &a));
    OK(cs_vectors_read(path, &ends, &back));
    assert_memory_equal(back.data, data, sizeof data);
    cs_dense_free(&back);
    OK(cs_vectors_write(path, &none, &nothing));
    assert_fails(cs_vectors_read(path, &some, &back), CS_ERR_INPUT,
                 "expected vectors of 30000 floats");
    data[7] = NAN;
    OK(cs_vectors_write(path, &some, &a));
    assert_fails(cs_vectors_read(path, &some, &back), CS_ERR_INPUT,
                 "row 1, column 1 is not finite: nan");
    const float single[] = {1, 2, 3, 4, 5, 6};
    const int64_t integer[6] = {0};
    OK(cs_npy_write(path, CS_F32, 2, (int64_t[]){6, 1}, single));
    OK(cs_vectors_read(path, &ends, &back));
    assert_true(back.rows == 6 && back.cols == 1 && back.data[5] == 6);
    cs_dense_free(&back);
    static const char *const wanted = "expected vectors of 6 floats, one per column";
    OK(cs_npy_write(path, CS_I64, 2, (int64_t[]){6, 1}, integer));
    assert_fails(cs_vectors_read(path, &ends, &back), CS_ERR_INPUT, wanted);
    OK(cs_npy_write(path, CS_F32, 2, (int64_t[]){6, 0}, single));
    assert_fails(cs_vectors_read(path, &ends, &back), CS_ERR_INPUT, wanted);
    OK(cs_npy_write(path, CS_F32, 2, (int64_t[]){5, 1}, single));
    assert_fails(cs_vectors_read(path, &ends, &back), CS_ERR_INPUT, wanted);
    OK(cs_npy_write(path, CS_F32, 1, (int64_t[]){6}, single));
    assert_fails(cs_vectors_read(path, &ends, &back), CS_ERR_INPUT, wanted);
}

/* A left vector has an entry a row, empty or not, of a matrix that the caller holds: here 24 TB. */
TEST(vectors_are_refused_beforehand)
{
    enum { ROWS = 2000000, SIDE = 1000000 };
    AUTO_OK(cs_csr, a, cs_csr_init(&a, ROWS, SIDE, SIDE));
    for (int64_t i = 0; i < SIDE; ++i) {
        a.col[i] = (int32_t)i;
        a.val[i] = 1;
    }
    for (int64_t i = 0; i <= ROWS; ++i) {
        a.ptr[i] = i < SIDE ? i : SIDE;
    }
    const cs_spectrum_options all = {.k = 0};
    cs_spectrum s = {0};
    assert_fails(cs_spectrum_of(&a, &all, &s), CS_ERR_MEMORY,
                 "1000000 triplets, 2000000 and 1000000 entries each, take 2.4e+04 GB, but");
}

TEST(a_file_larger_than_the_disk_is_refused)
{
    OK(cs_disk_check(".", 1, NULL, "u.npy"));
    assert_fails(cs_disk_check(".", 1e30, NULL, "u.npy"), CS_ERR_IO, ".: u.npy take 1e+21 GB, but");
    assert_fails(cs_disk_check("/yet/to/be/made", 1e30, NULL, "u.npy"), CS_ERR_IO,
                 "/yet/to/be/made: u.npy take 1e+21 GB, but");
}

static cs_status read_filled(const char *path)
{
    CS_AUTO(cs_nonempty_rows) kept = {0};
    CS_AUTO(cs_csr) a = {0};
    cs_status status = cs_matrix_read_filled(path, &kept, &a);
    return status;
}

static cs_status spectrum_of_whole(const char *path)
{
    CS_AUTO(cs_csr) a = {0};
    CS_AUTO(cs_spectrum) s = {0};
    const cs_spectrum_options o = {.k = 3};
    cs_status status = cs_matrix_read(path, &a);
    if (status == CS_OK) status = cs_spectrum_of(&a, &o, &s);
    return status;
}

TEST_IN_DIR(every_allocation_may_fail)
{
    CS_AUTO(pair) p = pair_of(1);
    OK(cs_matrix_write_npz(in_dir(state, "w.npz"), &p.whole, true));
    OK(cs_matrix_write_mtx(in_dir(state, "w.mtx"), &p.whole, true));
    fail_each_allocation(read_filled, in_dir(state, "w.npz"));
    fail_each_allocation(read_filled, in_dir(state, "w.mtx"));
    fail_each_allocation(spectrum_of_whole, in_dir(state, "w.npz"));
}
