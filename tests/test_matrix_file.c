/* matrix_file: every format read and written, every way a file can be bad. */
#include "io/file.h"
#include "io/npy.h"
#include "io/npz.h"
#include "io_support.h"
#include "linalg/matrix_file.h"
#include "linalg_support.h"

/* --- Matrix Market ---------------------------------------------------------------------------- */

TEST_IN_DIR(mtx_coordinate)
{
    const double real[] = {0, 2.5, 0, -1e-3, 0, 7};
    reads_as_matrix(put(state, "a.mtx",
                        "%%MatrixMarket matrix coordinate real general\n"
                        "% a comment\n"
                        "\n"
                        "  2 3 4\n"
                        "2 3 3\n"
                        "1 2 2.5\n"
                        "2\t1   -1E-3\r\n"
                        "2 3 4\n\n"),
                    2, 3, real); /* (2, 3) twice: added */
    const double symmetric[] = {1, 5, 5, 0};
    reads_as_matrix(put(state, "a.mtx",
                        "%%MatrixMarket MATRIX Coordinate Integer Symmetric\n"
                        "2 2 2\n1 1 1\n2 1 5"),
                    2, 2, symmetric);
    const double skew[] = {0, -5, 5, 0};
    reads_as_matrix(put(state, "a.mtx",
                        "%%MatrixMarket matrix coordinate real skew-symmetric\n"
                        "2 2 1\n2 1 5\n"),
                    2, 2, skew);
    const double pattern[] = {0, 1, 1, 1};
    reads_as_matrix(put(state, "a.mtx",
                        "%%MatrixMarket matrix coordinate pattern symmetric\n"
                        "2 2 2\n2 1\n2 2\n"),
                    2, 2, pattern);
    reads_as_matrix(put(state, "a.mtx", "%%MatrixMarket matrix coordinate real general\n0 3 0\n"),
                    0, 3, real);
}

TEST_IN_DIR(mtx_array)
{
    const double general[] = {1, 3, 5, 2, 4, 0};
    reads_as_matrix(put(state, "a.mtx",
                        "%%MatrixMarket matrix array real general\n"
                        "2 3\n1\n2\n3\n4\n5\n0\n"),
                    2, 3, general);
    const double symmetric[] = {1, 2, 3, 2, 4, 5, 3, 5, 6};
    reads_as_matrix(put(state, "a.mtx",
                        "%%MatrixMarket matrix array integer symmetric\n"
                        "3 3\n1\n2\n3\n4\n5\n6\n"),
                    3, 3, symmetric);
    const double skew[] = {0, -1, -2, 1, 0, -3, 2, 3, 0};
    reads_as_matrix(put(state, "a.mtx",
                        "%%MatrixMarket matrix array real skew-symmetric\n"
                        "3 3\n1\n2\n3\n"),
                    3, 3, skew);
}

TEST_IN_DIR(mtx_malformed)
{
    static const test_refusal bad[] = {
        {"", "the file is empty"},
        {"1 1 1\n", "line 1: does not begin with %%MatrixMarket"},
        {"\n", "line 1: does not begin"},
        {"%%MatrixMarket matrix coordinate real\n", "FORMAT FIELD SYMMETRY"},
        {"%%MatrixMarket vector coordinate real general\n", "FORMAT FIELD SYMMETRY"},
        {"%%MatrixMarket matrix sparse real general\n", "format 'sparse'"},
        {"%%MatrixMarket matrix coordinate complex general\n", "field 'complex'"},
        {"%%MatrixMarket matrix array pattern general\n", "field 'pattern' of an array"},
        {"%%MatrixMarket matrix coordinate real hermitian\n", "symmetry 'hermitian'"},
        {"%%MatrixMarket matrix coordinate pattern skew-symmetric\n", "symmetry 'skew-symmetric'"},
        {"version https://git-lfs.github.com/spec/v1\noid sha256:1\n", "LFS"},
        {"%%MatrixMarket matrix coordinate real general\n%\n", "ends before its size line"},
        {"%%MatrixMarket matrix coordinate real general\n2 2\n", "line 2: the size line"},
        {"%%MatrixMarket matrix coordinate real general\n2 2 1 1\n", "must hold 3 integers"},
        {"%%MatrixMarket matrix array real general\n2 2 4\n", "must hold 2 integers"},
        {"%%MatrixMarket matrix coordinate real general\n2 x 1\n", "line 2: 'x'"},
        {"%%MatrixMarket matrix coordinate real general\n2 -2 1\n", "size -2 is negative"},
        {"%%MatrixMarket matrix coordinate real symmetric\n2 3 1\n",
         "symmetric matrix must be square, not 2 x 3"},
        {"%%MatrixMarket matrix array real general\n5000000000 5000000000\n", "too large"},
        {"%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1\n",
         "line 3: the file ends after 1 of 2"},
        {"%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 1\n2 2 1\n",
         "line 4: more than 1 entry"},
        {"%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 1\njunk\n",
         "line 4: more than"},
        {"%%MatrixMarket matrix coordinate real general\n2 2 1\n3 1 1\n",
         "line 3: row 3 is not in 1..2"},
        {"%%MatrixMarket matrix coordinate real general\n2 2 1\n0 1 1\n", "row 0 is not in 1..2"},
        {"%%MatrixMarket matrix coordinate real general\n2 2 1\n1 5 1\n",
         "column 5 is not in 1..2"},
        {"%%MatrixMarket matrix coordinate real general\n2 2 1\n1.5 1 1\n", "line 3: '1.5'"},
        {"%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1\n", "ROW COLUMN VALUE"},
        {"%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 1 1\n", "ROW COLUMN VALUE"},
        {"%%MatrixMarket matrix coordinate pattern general\n2 2 1\n1 1 1\n", "must be ROW COLUMN"},
        {"%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 1x\n", "line 3: '1x'"},
        {"%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 nan\n", "value nan"},
        {"%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 -inf\n", "value -inf"},
        {"%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 1e999\n", "'1e999'"},
        {"%%MatrixMarket matrix coordinate integer general\n2 2 1\n1 1 1.5\n", "line 3: '1.5'"},
        {"%%MatrixMarket matrix coordinate real symmetric\n2 2 3\n1 1 1\n1 2 1\n2 1 1\n",
         "row 2, column 1 has an entry in both triangles"},
        {"%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 2\n2 1 1\n1 2 1\n",
         "row 2, column 1 has an entry in both triangles"},
        {"%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 1\n1 1 1\n",
         "row 1, column 1 is on the diagonal of a skew-symmetric matrix"},
        {"%%MatrixMarket matrix coordinate unsigned-integer general\n1 1 1\n1 1 -1\n",
         "'-1' is not an unsigned integer"},
        {"%%MatrixMarket matrix coordinate unsigned-integer general\n1 1 1\n1 1 1.5\n",
         "'1.5' is not an unsigned integer"},
        {"%%MatrixMarket matrix array real general\n2 2\n1 2\n3 4\n", "line 3: a line of an array"},
        {"%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n", "after 3 of 4"},
        {"%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n4\n5\n", "more than 4"},
        {"%%MatrixMarket matrix coordinate real general\n1 3000000000 0\n", "3000000000 columns"},
        {"%%MatrixMarket matrix coordinate real general\n9000000000000000000 1 0\n",
         "9000000000000000000 rows"},
    };
    for (size_t b = 0; b < sizeof bad / sizeof *bad; ++b) {
        cs_csr a;
        const char *path = put(state, "a.mtx", bad[b].text);
        cs_status status = cs_matrix_read(path, &a);
        if ((status != CS_ERR_INPUT && status != CS_ERR_MEMORY) ||
            !strstr(cs_reason(), bad[b].reason) || !strstr(cs_reason(), "a.mtx: ")) {
            fail_msg("%s\ngives %d '%s'", bad[b].text, (int)status, cs_reason());
        }
        assert_null(a.ptr);
        cs_reason_clear();
    }
    const char nul[] = "%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 1\0 9\n";
    OK(cs_file_write(in_dir(state, "nul.mtx"), nul, sizeof nul - 1));
    refused_matrix(in_dir(state, "nul.mtx"), CS_ERR_INPUT, "line 3: contains a NUL");
    refused_matrix(in_dir(state, "none.mtx"), CS_ERR_IO, "none.mtx: cannot read: No such file");
}

/* --- scipy archives --------------------------------------------------------------------------- */

/* A member to put into an archive; dtype CS_BYTES: text. */
typedef struct {
    const char *name;
    cs_dtype dtype;
    int64_t size;
    const void *data;
} member;

static const char *archive(void **state, int count, const member *m)
{
    const char *path = in_dir(state, "a.npz");
    cs_npz_writer *w = NULL;
    OK(cs_npz_create(path, &w));
    for (int i = 0; i < count; ++i) {
        if (m[i].dtype == CS_BYTES) {
            OK(cs_npz_add_text(w, m[i].name, m[i].data));
        } else if (m[i].size < 0) { /* one row, to have two dimensions */
            OK(cs_npz_add(w, m[i].name, m[i].dtype, 2, (const int64_t[]){1, -m[i].size},
                          m[i].data));
        } else {
            OK(cs_npz_add(w, m[i].name, m[i].dtype, 1, &m[i].size, m[i].data));
        }
    }
    OK(cs_npz_commit(&w));
    return path;
}

/* 2 x 3: {0, 2, 0; 4, 0, 1}. */
static const double small[] = {0, 2, 0, 4, 0, 1};
static const int64_t small_shape[] = {2, 3};

TEST_IN_DIR(npz_formats_and_types)
{
    /* csr, rows unsorted with a repeat (3 + 1 = 4), an explicit zero, an entry behind the last
     * pointer. */
    const int64_t ptr[] = {0, 2, 5};
    const int32_t col[] = {1, 2, 2, 0, 0, 2};
    const float val[] = {2, 0, 1, 3, 1, 9};
    const member csr[] = {{"format", CS_BYTES, 1, "csr"},
                          {"shape", CS_I64, 2, small_shape},
                          {"indptr", CS_I64, 3, ptr},
                          {"indices", CS_I32, 6, col},
                          {"data", CS_F32, 6, val}};
    reads_as_matrix(archive(state, 5, csr), 2, 3, small);

    const int32_t csc_ptr[] = {0, 1, 2, 3};
    const uint8_t row[] = {1, 0, 1};
    const int16_t short_val[] = {4, 2, 1};
    const member csc[] = {{"format", CS_BYTES, 1, "csc"},
                          {"shape", CS_I64, 2, small_shape},
                          {"indptr", CS_I32, 4, csc_ptr},
                          {"indices", CS_U8, 3, row},
                          {"data", CS_I16, 3, short_val}};
    reads_as_matrix(archive(state, 5, csc), 2, 3, small);

    const int64_t coo_row[] = {1, 0, 1, 1}, coo_col[] = {0, 1, 2, 0};
    const double coo_val[] = {5, 2, 1, -1};
    const member coo[] = {{"format", CS_BYTES, 1, "coo"},
                          {"shape", CS_I64, 2, small_shape},
                          {"row", CS_I64, 4, coo_row},
                          {"col", CS_I64, 4, coo_col},
                          {"data", CS_F64, 4, coo_val}};
    reads_as_matrix(archive(state, 5, coo), 2, 3, small);

    const uint8_t yes[] = {1, 1, 1};
    const member boolean[] = {{"format", CS_BYTES, 1, "csc"},
                              {"shape", CS_I64, 2, small_shape},
                              {"indptr", CS_I32, 4, csc_ptr},
                              {"indices", CS_U8, 3, row},
                              {"data", CS_BOOL, 3, yes}};
    const double ones[] = {0, 1, 0, 1, 0, 1};
    reads_as_matrix(archive(state, 5, boolean), 2, 3, ones);

    /* A directory stands for its matrix.npz. */
    OK(cs_dir_make(in_dir(state, "result")));
    assert_int_equal(rename(in_dir(state, "a.npz"), in_dir(state, "result/matrix.npz")), 0);
    reads_as_matrix(in_dir(state, "result"), 2, 3, ones);
}

/* The csr file above, sorted, with member `at` replaced. */
static void spoilt(void **state, int at, member by, const char *part)
{
    static const int64_t ptr[] = {0, 1, 3};
    static const int32_t col[] = {1, 0, 2};
    static const double val[] = {2, 4, 1};
    member m[] = {{"format", CS_BYTES, 1, "csr"},
                  {"shape", CS_I64, 2, small_shape},
                  {"indptr", CS_I64, 3, ptr},
                  {"indices", CS_I32, 3, col},
                  {"data", CS_F64, 3, val}};
    int count = 5;
    reads_as_matrix(archive(state, count, m), 2, 3, small);
    if (by.name) {
        m[at] = by;
    } else {
        m[at] = m[--count]; /* left out */
    }
    const char *path = archive(state, count, m);
    refused_matrix(path, CS_ERR_INPUT, part);
    refused_matrix(path, CS_ERR_INPUT, "a.npz");
}

TEST_IN_DIR(npz_malformed)
{
    enum { FORMAT, SHAPE, INDPTR, INDICES, DATA };
    const member absent = {0};
    spoilt(state, FORMAT, absent, "no member format.npy");
    spoilt(state, FORMAT, (member){"format", CS_BYTES, 1, "dok"}, "format 'dok'");
    spoilt(state, FORMAT, (member){"format", CS_BYTES, 1, "bsr"}, "data.npy: not numbers in 3");
    spoilt(state, FORMAT, (member){"format", CS_BYTES, 1, "dia"}, "data.npy: not numbers in 2");
    spoilt(state, FORMAT, (member){"format", CS_I64, 1, small_shape}, "format.npy");
    spoilt(state, FORMAT, (member){"format", CS_I64, 2, small_shape}, "format.npy has 2 items");
    spoilt(state, SHAPE, absent, "'shape.npy'");
    spoilt(state, SHAPE, (member){"shape", CS_I64, 1, small_shape}, "1 dimension;");
    const int64_t negative[] = {-2, 3}, thin[] = {2, 2}, wide[] = {2, 3000000000};
    const int64_t tall[] = {3, 3};
    spoilt(state, SHAPE, (member){"shape", CS_I64, 2, negative}, "shape.npy: item 0 is -2");
    spoilt(state, SHAPE, (member){"shape", CS_I64, 2, thin},
           "indices.npy: item 2 is 2, not in 0..1");
    spoilt(state, SHAPE, (member){"shape", CS_I64, 2, wide}, "3000000000 columns");
    spoilt(state, SHAPE, (member){"shape", CS_I64, 2, tall}, "indptr.npy has 3 items for 3 rows");
    const int64_t falls[] = {0, 3, 1}, late[] = {1, 1, 3}, beyond[] = {0, 1, 4};
    spoilt(state, INDPTR, absent, "'indptr.npy'");
    spoilt(state, INDPTR, (member){"indptr", CS_I64, 3, falls},
           "indptr.npy: item 2 is 1, not in 3..3");
    spoilt(state, INDPTR, (member){"indptr", CS_I64, 3, late}, "indptr.npy: item 0 is 1");
    spoilt(state, INDPTR, (member){"indptr", CS_I64, 3, beyond}, "indptr.npy: item 2 is 4");
    const double broken[] = {0, 1.5, 3};
    spoilt(state, INDPTR, (member){"indptr", CS_F64, 3, broken}, "indptr.npy");
    const int32_t low[] = {1, -1, 2}, high[] = {1, 0, 3};
    spoilt(state, INDICES, absent, "'indices.npy'");
    spoilt(state, INDICES, (member){"indices", CS_I32, 3, low}, "indices.npy: item 1 is -1");
    spoilt(state, INDICES, (member){"indices", CS_I32, 3, high}, "indices.npy: item 2 is 3");
    spoilt(state, INDICES, (member){"indices", CS_I32, 2, high}, "indices.npy has 2 items");
    spoilt(state, INDICES, (member){"indices", CS_I32, -3, high}, "not one-dimensional");
    const double nan_value[] = {2, 4, NAN}, inf_value[] = {2, INFINITY, 1};
    spoilt(state, DATA, absent, "'data.npy'");
    spoilt(state, DATA, (member){"data", CS_F64, 3, nan_value}, "row 1, column 2: value nan");
    spoilt(state, DATA, (member){"data", CS_F64, 3, inf_value}, "row 1, column 0: value inf");
    spoilt(state, DATA, (member){"data", CS_BYTES, 1, "txt"}, "data.npy");

    const int64_t row[] = {0, 2}, col[] = {0, 1};
    const double val[] = {1, NAN};
    member coo[] = {{"format", CS_BYTES, 1, "coo"},
                    {"shape", CS_I64, 2, small_shape},
                    {"row", CS_I64, 2, row},
                    {"col", CS_I64, 2, col},
                    {"data", CS_F64, 2, val}};
    refused_matrix(archive(state, 5, coo), CS_ERR_INPUT, "row.npy: item 1 is 2, not in 0..1");
    coo[2].data = col;
    refused_matrix(archive(state, 5, coo), CS_ERR_INPUT, "row 1, column 1: value nan");
    coo[4].size = 1;
    refused_matrix(archive(state, 5, coo), CS_ERR_INPUT, "row.npy has 2 items, but data.npy has 1");
    coo[4].size = -2;
    refused_matrix(archive(state, 5, coo), CS_ERR_INPUT, "member data.npy: is not one-dimensional");
    coo[4] = (member){"data", CS_F64, 2, small};
    coo[1].data = wide;
    refused_matrix(archive(state, 5, coo), CS_ERR_INPUT, "3000000000 columns");
    const int64_t column[] = {0, 2, 2, 2}, half[] = {0, 1, 2, 2};
    member csc[] = {{"format", CS_BYTES, 1, "csc"},
                    {"shape", CS_I64, 2, small_shape},
                    {"indptr", CS_I64, 3, column},
                    {"indices", CS_I64, 2, col},
                    {"data", CS_F64, 2, small}};
    refused_matrix(archive(state, 5, csc), CS_ERR_INPUT, "indptr.npy has 3 items for 3 columns");
    csc[2].size = 4;
    csc[4].data = val;
    refused_matrix(archive(state, 5, csc), CS_ERR_INPUT, "row 1, column 0: value nan");
    csc[2].data = half;
    refused_matrix(archive(state, 5, csc), CS_ERR_INPUT, "row 1, column 1: value nan");

    const char junk[] = "PK not really";
    OK(cs_file_write(in_dir(state, "junk.npz"), junk, sizeof junk));
    refused_matrix(in_dir(state, "junk.npz"), CS_ERR_INPUT, "junk.npz");
    refused_matrix(in_dir(state, "none.npz"), CS_ERR_IO, "none.npz");
    OK(cs_dir_make(in_dir(state, "empty")));
    refused_matrix(in_dir(state, "empty"), CS_ERR_IO, "empty/matrix.npz");
    refused_matrix(in_dir(state, "a.csv"), CS_ERR_USAGE, "a.csv: not a .npz, .npy or .mtx");
}

TEST_IN_DIR(npy_dense)
{
    const char *path = in_dir(state, "a.npy");
    const int32_t ints[] = {0, 2, 0, 4, 0, 1};
    OK(cs_npy_write(path, CS_I32, 2, small_shape, ints));
    reads_as_matrix(path, 2, 3, small);
    OK(cs_npy_write(path, CS_F64, 2, small_shape, small));
    reads_as_matrix(path, 2, 3, small);
    const int64_t six = 6;
    OK(cs_npy_write(path, CS_F64, 1, &six, small));
    refused_matrix(path, CS_ERR_INPUT, "a.npy: has 1 dimension");
    const double bad[] = {0, 2, 0, 4, NAN, 1};
    OK(cs_npy_write(path, CS_F64, 2, small_shape, bad));
    refused_matrix(path, CS_ERR_INPUT, "row 1, column 1: value nan");
    static const char text[] = "\x93NUMPY\x01\x00\x39\x00"
                               "{'descr': '|S1', 'fortran_order': False, 'shape': (1,2)}\nab";
    OK(cs_file_write(path, text, sizeof text - 1));
    refused_matrix(path, CS_ERR_INPUT, "a.npy: contains text, not numbers");
    refused_matrix(in_dir(state, "none.npy"), CS_ERR_IO, "none.npy");
    const int64_t no_columns[] = {2, 0};
    OK(cs_npy_write(path, CS_F64, 2, no_columns, small));
    reads_as_matrix(path, 2, 0, small);
}

/* --- round trips ------------------------------------------------------------------------------ */

static cs_csr sample(bool integers)
{
    cs_rng rng = cs_rng_at(21, CS_STREAM_TEST, 0);
    int64_t row[300], col[300];
    double val[300];
    for (int t = 0; t < 300; ++t) {
        row[t] = cs_rng_below(&rng, 40);
        col[t] = cs_rng_below(&rng, 25);
        val[t] = integers ? (double)cs_rng_below(&rng, 1000000) : cs_rng_normal(&rng);
    }
    cs_csr a;
    OK(cs_csr_from_triplets(40, 25, 300, row, col, val, &a));
    return a;
}

static void assert_same(const cs_csr *a, const cs_csr *b)
{
    size_t nnz = (size_t)cs_csr_nnz(a);
    assert_int_equal(a->rows, b->rows);
    assert_int_equal(a->cols, b->cols);
    assert_memory_equal(a->ptr, b->ptr, (size_t)(a->rows + 1) * sizeof *a->ptr);
    assert_memory_equal(a->col, b->col, nnz * sizeof *a->col);
    assert_memory_equal(a->val, b->val, nnz * sizeof *a->val);
}

TEST_IN_DIR(what_is_written_reads_back)
{
    static cs_status (*const write[])(const char *, const cs_csr *, bool) = {cs_matrix_write_npz,
                                                                             cs_matrix_write_mtx};
    static const char *const name[] = {"w.npz", "w.mtx"};
    for (int format = 0; format < 2; ++format) {
        for (int integers = 0; integers < 4; ++integers) {
            /* Real values are written as reals even when integers are requested. */
            CS_AUTO(cs_csr) a = sample(integers & 1), b = {0};
            OK(write[format](in_dir(state, name[format]), &a, integers & 2));
            OK(cs_matrix_read(in_dir(state, name[format]), &b));
            assert_same(&a, &b);
        }
        AUTO_OK(cs_csr, empty, cs_csr_init(&empty, 3, 4, 0));
        OK(write[format](in_dir(state, name[format]), &empty, true));
        reads_as_matrix(in_dir(state, name[format]), 3, 4, (const double[12]){0});
        assert_fails(write[format](in_dir(state, "no/such/file"), &empty, false), CS_ERR_IO,
                     "no/such");
    }
}

TEST_IN_DIR(npz_data_type_follows_the_values)
{
    double values[] = {1, 0x1p53};
    int64_t ptr[] = {0, 2};
    int32_t col[] = {0, 1};
    cs_csr a = {.rows = 1, .cols = 2, .ptr = ptr, .col = col, .val = values};
    static const cs_dtype want[] = {CS_F64, CS_I64, CS_F64, CS_F64};
    for (int turn = 0; turn < 4; ++turn) {
        values[1] = turn == 1 ? -0x1p53 + 1 : turn == 2 ? 0.5 : 0x1p53;
        cs_npz *npz;
        CS_AUTO(cs_array) data = {0};
        OK(cs_matrix_write_npz(in_dir(state, "t.npz"), &a, turn > 0));
        OK(cs_npz_open(in_dir(state, "t.npz"), 0, &npz));
        OK(cs_npz_read(npz, "data", &data));
        assert_int_equal(data.dtype, want[turn]);
        assert_true(cs_array_f64(&data, 1) == values[1]);
        cs_npz_close(npz);
    }
}

static cs_status write_npz(const char *path)
{
    CS_AUTO(cs_csr) a = sample(true);
    cs_status status = cs_matrix_write_npz(path, &a, true);
    return status;
}

static cs_status write_mtx(const char *path)
{
    CS_AUTO(cs_csr) a = sample(false);
    cs_status status = cs_matrix_write_mtx(path, &a, false);
    return status;
}

TEST_IN_DIR(a_full_disk_leaves_nothing)
{
    assert_int_equal(on_full_disk(write_npz, in_dir(state, "full.npz"), "full.npz"), CS_ERR_IO);
    assert_int_equal(on_full_disk(write_mtx, in_dir(state, "full.mtx"), "full.mtx"), CS_ERR_IO);
    assert_int_equal(entries(state), 0);
}

static cs_status read_file(const char *path)
{
    CS_AUTO(cs_csr) a = {0};
    cs_status status = cs_matrix_read(path, &a);
    return status;
}

static cs_csr written;

static cs_status write_again_npz(const char *path)
{
    return cs_matrix_write_npz(path, &written, true);
}

static cs_status write_again_mtx(const char *path)
{
    return cs_matrix_write_mtx(path, &written, false);
}

TEST_IN_DIR(every_allocation_may_fail)
{
    written = sample(true);
    fail_each_allocation(write_again_npz, in_dir(state, "f.npz"));
    fail_each_allocation(write_again_mtx, in_dir(state, "f.mtx"));
    fail_each_allocation(read_file, in_dir(state, "f.npz"));
    fail_each_allocation(read_file, in_dir(state, "f.mtx"));
    cs_csr_free(&written);
    OK(cs_npy_write(in_dir(state, "f.npy"), CS_F64, 2, small_shape, small));
    fail_each_allocation(read_file, in_dir(state, "f.npy"));
    const int64_t row[] = {1, 0}, col[] = {2, 1};
    const double val[] = {1, 2};
    const member coo[] = {{"format", CS_BYTES, 1, "coo"},
                          {"shape", CS_I64, 2, small_shape},
                          {"row", CS_I64, 2, row},
                          {"col", CS_I64, 2, col},
                          {"data", CS_F64, 2, val}};
    fail_each_allocation(read_file, archive(state, 5, coo));
    const member csc[] = {{"format", CS_BYTES, 1, "csc"},
                          {"shape", CS_I64, 2, (const int64_t[]){3, 1}},
                          {"indptr", CS_I64, 2, (const int64_t[]){0, 2}},
                          {"indices", CS_I64, 2, row},
                          {"data", CS_F64, 2, val}};
    fail_each_allocation(read_file, archive(state, 5, csc));
}

/* Last: it sets the locale. */
TEST_IN_DIR(mtx_ignores_the_locale)
{
    CS_AUTO(cs_csr) a = sample(false), b = {0};
    bool comma = comma_locale(state);
    OK(cs_matrix_write_mtx(in_dir(state, "l.mtx"), &a, false));
    OK(cs_matrix_read(in_dir(state, "l.mtx"), &b));
    assert_same(&a, &b);
    if (!comma) {
        skip();
    }
    char after[8];
    (void)snprintf(after, sizeof after, "%.1f", 0.5);
    assert_string_equal(after, "0,5");
}
