/* The rows of a matrix file one after the other, and damaged archives. */
#include "base/threads.h"
#include "cooc_matrices.h"
#include "io_support.h"
#include "linalg/matrix_file.h"
#include "linalg/matrix_stream_private.h"
#include "linalg_support.h"

static const char *stored(void **state, const cs_csr *a)
{
    const char *path = in_dir(state, "m.npz");
    OK(cs_matrix_write_npz(path, a, true));
    return path;
}

typedef struct {
    cs_csr a;
    int64_t next, nnz;
    bool same;
} seen;

static cs_status begin(void *ctx, int64_t rows, int64_t cols, int64_t entries)
{
    seen *s = ctx;
    s->same = rows == s->a.rows && cols == s->a.cols && entries == cs_csr_nnz(&s->a);
    return CS_OK;
}

static cs_status row(void *ctx, int64_t number, int64_t n, const int32_t *col, const double *val)
{
    seen *s = ctx;
    int64_t at = s->a.ptr[number];
    s->next += s->next % 17 == 0; /* an empty one, which does not come */
    s->same = s->same && number == s->next++ && n == s->a.ptr[number + 1] - at;
    for (int64_t e = 0; s->same && e < n; ++e) {
        s->same = col[e] == s->a.col[at + e] && val[e] == s->a.val[at + e];
    }
    s->nnz += n;
    return CS_OK;
}

/* 40,000 rows and more entries than a piece, and the forms that are read whole. */
TEST_IN_DIR(files_are_streamed)
{
    static const char *const names[] = {"s.npz", "s.mtx"};
    AUTO_OK(cs_csr, a, cs_csr_init(&a, 40000, 50, 40000 * 8));
    for (int64_t i = 0; i < a.rows; ++i) {
        int64_t n = i % 17;
        for (int64_t e = 0; e < n && e < 8; ++e) {
            a.col[a.ptr[i] + e] = (int32_t)(e * 5 + i % 5);
            a.val[a.ptr[i] + e] = (double)(i + e + 1);
        }
        a.ptr[i + 1] = a.ptr[i] + (n < 8 ? n : 8);
    }
    for (int f = 0; f < 2; ++f) {
        const char *path = in_dir(state, names[f]);
        OK(f == 0 ? cs_matrix_write_npz(path, &a, true) : cs_matrix_write_mtx(path, &a, true));
        seen s = {.a = a};
        const cs_row_visitor visitor = {&s, begin, row};
        OK(cs_matrix_stream(path, &visitor));
        assert_true(s.same && s.next == a.rows && s.nnz == cs_csr_nnz(&a));
    }
}

static cs_status begin_any(void *ctx, int64_t rows, int64_t cols, int64_t entries)
{
    (void)ctx;
    (void)entries;
    return rows > 0 && cols > 0 ? CS_OK : CS_ERR_USAGE;
}

static cs_status row_any(void *ctx, int64_t number, int64_t n, const int32_t *col,
                         const double *val)
{
    double *sum = ctx;
    for (int64_t e = 0; e < n; ++e) {
        *sum += val[e] * (double)(col[e] + number);
    }
    return CS_OK;
}

/* A csr archive of 3 x 4 with these members. */
static const char *archive(void **state, int64_t pointers, const int64_t *indptr, int64_t entries,
                           const int32_t *indices, int64_t values, const double *data)
{
    const char *path = in_dir(state, "a.npz");
    const sparse_part part[] = {{"indptr", CS_I64, pointers, indptr},
                                {"indices", CS_I32, entries, indices},
                                {"data", CS_F64, values, data}};
    sparse_archive(path, "csr", (int64_t[]){3, 4}, part);
    return path;
}

TEST_IN_DIR(damaged_archives_are_named)
{
    double sum = 0;
    const cs_row_visitor any = {&sum, begin_any, row_any};
    const int64_t good[] = {0, 1, 1, 3}, falls[] = {0, 2, 1, 3}, beyond[] = {0, 1, 1, 9},
                  late[] = {1, 1, 1, 3};
    const int32_t col[] = {3, 0, 1}, outside[] = {3, 0, 4}, negative[] = {3, -1, 0};
    const double val[] = {1, 2, 3}, bad[] = {1, NAN, 3};
    OK(cs_matrix_stream(archive(state, 4, good, 3, col, 3, val), &any));
    assert_true(sum == 1 * 3 + 2 * 2 + 3 * 3);
    assert_fails(cs_matrix_stream(archive(state, 4, falls, 3, col, 3, val), &any), CS_ERR_INPUT,
                 "a.npz: member indptr.npy: item 2 is 1, not in 2..3");
    assert_fails(cs_matrix_stream(archive(state, 4, beyond, 3, col, 3, val), &any), CS_ERR_INPUT,
                 "item 3 is 9, not in 1..3");
    assert_fails(cs_matrix_stream(archive(state, 4, late, 3, col, 3, val), &any), CS_ERR_INPUT,
                 "indptr.npy: item 0 is 1, not in 0..0");
    assert_fails(cs_matrix_stream(archive(state, 3, good, 3, col, 3, val), &any), CS_ERR_INPUT,
                 "has 3 items for 3 rows");
    assert_fails(cs_matrix_stream(archive(state, 4, good, 3, col, 2, val), &any), CS_ERR_INPUT,
                 "indices.npy has 3 items, but data.npy has 2");
    assert_fails(cs_matrix_stream(archive(state, 4, good, 3, outside, 3, val), &any), CS_ERR_INPUT,
                 "indices.npy: item 2 is 4, not in 0..3");
    assert_fails(cs_matrix_stream(archive(state, 4, good, 3, negative, 3, val), &any), CS_ERR_INPUT,
                 "indices.npy: item 1 is -1, not in 0..3");
    assert_fails(cs_matrix_stream(archive(state, 4, good, 3, col, 3, bad), &any), CS_ERR_INPUT,
                 "row 2, column 0: value nan is not finite");
}

static cs_status interrupts_itself(void *ctx, int64_t number, int64_t n, const int32_t *col,
                                   const double *val)
{
    (void)n;
    (void)col;
    (void)val;
    *(int64_t *)ctx = number;
    if (number == 3) cs_interrupt_set();
    return CS_OK;
}

static cs_status nothing_begins(void *ctx, int64_t rows, int64_t cols, int64_t entries)
{
    (void)ctx;
    (void)rows;
    (void)cols;
    (void)entries;
    return CS_OK;
}

/* The current rows are delivered, no more are read: fewer than 2^14. */
static cs_status interrupted(const char *path)
{
    int64_t last = -1;
    const cs_row_visitor visitor = {&last, nothing_begins, interrupts_itself};
    cs_status status = cs_matrix_stream(path, &visitor);
    return last < 1 << 14 ? status : CS_ERR_USAGE;
}

TEST_IN_DIR(an_interrupt_ends_the_stream)
{
    enum { ROWS = 40000 };
    AUTO_OK(cs_csr, a, cs_csr_init(&a, ROWS, 2, ROWS));
    for (int64_t i = 0; i < ROWS; ++i) {
        a.col[i] = (int32_t)(i % 2);
        a.val[i] = 1;
        a.ptr[i + 1] = i + 1;
    }
    const char *path = stored(state, &a);
    assert_int_equal(in_child(interrupted, path, "interrupted"), CS_ERR_INTERRUPT);
}

static cs_status reads_interrupted(const char *path)
{
    CS_AUTO(cs_csr) a = {0};
    cs_interrupt_set();
    cs_status status = cs_matrix_read(path, &a);
    return status;
}

/* Lines of text are many: reading looks at the flag on its way. */
TEST_IN_DIR(an_interrupt_ends_the_reading_of_lines)
{
    enum { ROWS = 70000 };
    ARRAY(double, value, ROWS, i, i + 1);
    CS_AUTO(cs_csr) a = diagonal_matrix(ROWS, value);
    OK(cs_matrix_write_mtx(in_dir(state, "d.mtx"), &a, true));
    assert_int_equal(in_child(reads_interrupted, in_dir(state, "d.mtx"), "interrupted"),
                     CS_ERR_INTERRUPT);
}

/* By columns: read whole, its rows in order all the same. */
TEST_IN_DIR(a_matrix_by_columns_comes_by_rows)
{
    const char *path = in_dir(state, "c.npz");
    const sparse_part part[] = {{"indptr", CS_I64, 5, (int64_t[]){0, 1, 1, 3, 4}},
                                {"indices", CS_I32, 4, (int32_t[]){2, 0, 1, 0}},
                                {"data", CS_F64, 4, (double[]){1, 2, 3, 5}}};
    sparse_archive(path, "csc", (int64_t[]){3, 4}, part);
    double sum = 0;
    const cs_row_visitor any = {&sum, begin_any, row_any};
    OK(cs_matrix_stream(path, &any));
    assert_true(sum == 1 * 2 + 2 * 2 + 3 * 3 + 5 * 3);
}

/* A changed byte of the last member: its checksum detects it. */
TEST_IN_DIR(a_turned_byte_is_seen)
{
    CS_AUTO(cs_csr) a = untidy_matrix(1, 200, 50, 3);
    const char *path = stored(state, &a);
    double sum = 0;
    const cs_row_visitor any = {&sum, begin_any, row_any};
    FILE *f = fopen(path, "r+b");
    assert_non_null(f);
    long at = -1;
    char text[4096];
    for (long from = 0; at < 0; from += (long)sizeof text - 16) { /* the data of data.npy */
        assert_int_equal(fseek(f, from, SEEK_SET), 0);
        size_t got = fread(text, 1, sizeof text, f);
        assert_true(got > 8);
        const char *name = memmem(text, got, "data.npy", 8);
        at = name ? from + (long)(name - text) + 500 : -1;
    }
    assert_int_equal(fseek(f, at, SEEK_SET), 0);
    int byte = fgetc(f);
    assert_int_equal(fseek(f, at, SEEK_SET), 0);
    assert_int_equal(fputc(byte ^ 1, f), byte ^ 1);
    assert_int_equal(fclose(f), 0);
    assert_fails(cs_matrix_stream(path, &any), CS_ERR_INPUT, "data.npy: cannot decompress");
}
