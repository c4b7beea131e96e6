/* matrix_file: what scipy and other programs write: further forms of Matrix Market, gzip, and
 * archives of blocks and diagonals. */
#include <zlib.h>

#include "io/file.h"
#include "io/npz.h"
#include "io_support.h"
#include "linalg/matrix_file.h"
#include "linalg_support.h"

/* Forms beyond the standard that scipy and other programs write. */
TEST_IN_DIR(mtx_of_other_programs)
{
    const double whole[] = {0, 18446744073709551615., 3, 0};
    reads_as_matrix(
        put(state, "a.mtx",
            "%%MatrixMarket matrix coordinate unsigned-integer general\n  % indented\n\t%\n"
            "2 2 2\n1 2 18446744073709551615\n2 1 3\n"),
        2, 2, whole);
    reads_as_matrix(put(state, "a.mtx",
                        "%%MatrixMarket matrix array unsigned-integer general\n"
                        "2 2\n0\n3\n18446744073709551615\n0\n"),
                    2, 2, whole);
    const double symmetric[] = {1, 5, 5, 0};
    reads_as_matrix(put(state, "a.mtx",
                        "%%MatrixMarket matrix coordinate real symmetric\n2 2 2\n1 1 1\n1 2 5\n"),
                    2, 2, symmetric);
    const double skew[] = {0, 5, -5, 0};
    reads_as_matrix(
        put(state, "a.mtx", "%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 1\n1 2 5\n"),
        2, 2, skew);
}

static const char *packed_mtx(void **state, const char *name, const char *text)
{
    const char *path = in_dir(state, name);
    gzFile f = gzopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(gzwrite(f, text, (unsigned)strlen(text)), strlen(text));
    assert_int_equal(gzclose(f), Z_OK);
    return path;
}

TEST_IN_DIR(mtx_compressed)
{
    static const char text[] = "%%MatrixMarket matrix coordinate real general\n2 2 1\n2 1 7\n";
    const double a[] = {0, 0, 7, 0};
    CS_AUTO_FREE char *bytes = NULL;
    int64_t size = 0;
    reads_as_matrix(packed_mtx(state, "a.mtx", text), 2, 2, a);
    reads_as_matrix(packed_mtx(state, "a.mtx.gz", text), 2, 2, a);
    reads_as_matrix(put(state, "plain.mtx.gz", text), 2, 2, a);
    OK(cs_file_read(in_dir(state, "a.mtx"), 1 << 20, &bytes, &size));
    OK(cs_file_write(in_dir(state, "cut.mtx"), bytes, size - 9));
    refused_matrix(in_dir(state, "cut.mtx"), CS_ERR_INPUT, "damaged gzip");
    bytes[size / 2] ^= 0x55;
    OK(cs_file_write(in_dir(state, "bad.mtx.gz"), bytes, size));
    refused_matrix(in_dir(state, "bad.mtx.gz"), CS_ERR_INPUT, "damaged gzip");
}

/* Blocks of 1 x 2 of a 2 x 4 matrix, one place given twice and one zero in them; `at` replaced. */
static const char *blocks_with(void **state, int at, int64_t count, const void *data)
{
    static const int64_t shape[] = {2, 4}, block_shape[] = {3, 1, 2};
    static const int32_t ptr[] = {0, 2, 3}, col[] = {1, 1, 0};
    static const double val[] = {1, 2, 3, 0, 5, 6};
    const char *path = in_dir(state, "bsr.npz");
    cs_npz_writer *w = NULL;
    OK(cs_npz_create(path, &w));
    OK(cs_npz_add_text(w, "format", "bsr"));
    OK(cs_npz_add(w, "shape", CS_I64, 1, (const int64_t[]){2}, at == 0 ? data : shape));
    OK(cs_npz_add(w, "indptr", CS_I32, 1, at == 1 ? &count : (const int64_t[]){3},
                  at == 1 ? data : ptr));
    OK(cs_npz_add(w, "indices", CS_I32, 1, at == 2 ? &count : (const int64_t[]){3},
                  at == 2 ? data : col));
    OK(cs_npz_add(w, "data", CS_F64, 3, block_shape, at == 3 ? data : val));
    OK(cs_npz_commit(&w));
    return path;
}

TEST_IN_DIR(npz_blocks)
{
    enum { NONE = -1, SHAPE, INDPTR, INDICES, DATA };
    const double want[] = {0, 0, 4, 2, 5, 6, 0, 0};
    reads_as_matrix(blocks_with(state, NONE, 0, NULL), 2, 4, want);
    const int64_t odd[] = {2, 5}, tall[] = {3, 4}, huge[] = {2, 3000000000};
    refused_matrix(blocks_with(state, SHAPE, 0, odd), CS_ERR_INPUT, "do not match");
    refused_matrix(blocks_with(state, SHAPE, 0, tall), CS_ERR_INPUT, "do not match");
    refused_matrix(blocks_with(state, SHAPE, 0, huge), CS_ERR_INPUT, "3000000000 columns");
    const int32_t late[] = {1, 2, 3}, beyond[] = {0, 2, 4}, falls[] = {0, 2, 1};
    refused_matrix(blocks_with(state, INDPTR, 3, late), CS_ERR_INPUT, "indptr.npy: item 0 is 1");
    refused_matrix(blocks_with(state, INDPTR, 3, beyond), CS_ERR_INPUT, "indptr.npy: item 2 is 4");
    refused_matrix(blocks_with(state, INDPTR, 3, falls), CS_ERR_INPUT, "indptr.npy: item 2 is 1");
    refused_matrix(blocks_with(state, INDPTR, 2, late), CS_ERR_INPUT, "do not match");
    const int32_t high[] = {1, 2, 0}, low[] = {1, -1, 0};
    refused_matrix(blocks_with(state, INDICES, 3, high), CS_ERR_INPUT, "indices.npy: item 1 is 2");
    refused_matrix(blocks_with(state, INDICES, 3, low), CS_ERR_INPUT, "indices.npy: item 1 is -1");
    refused_matrix(blocks_with(state, INDICES, 2, high), CS_ERR_INPUT, "do not match");
    const double nan_value[] = {1, 2, 3, 0, NAN, 6};
    refused_matrix(blocks_with(state, DATA, 0, nan_value), CS_ERR_INPUT,
                   "row 1, column 0: value nan");
}

/* Diagonals of a matrix of this shape, as scipy stores them. */
static const char *diagonals_of(void **state, const int64_t shape[2], int64_t offsets,
                                const int64_t *offset, const double *val)
{
    const char *path = in_dir(state, "dia.npz");
    cs_npz_writer *w = NULL;
    OK(cs_npz_create(path, &w));
    OK(cs_npz_add_text(w, "format", "dia"));
    OK(cs_npz_add(w, "shape", CS_I64, 1, (const int64_t[]){2}, shape));
    OK(cs_npz_add(w, "offsets", CS_I64, 1, &offsets, offset));
    OK(cs_npz_add(w, "data", CS_F64, 2, (const int64_t[]){3, 4}, val));
    OK(cs_npz_commit(&w));
    return path;
}

TEST_IN_DIR(npz_diagonals)
{
    const double val[] = {1, 2, 3, NAN, 4, 5, 6, NAN, 7, 8, 9, 10};
    const double inside[] = {1, 2, 3, 0, 4, 5, 6, 0, 7, 8, 9, 10};
    /* column j of diagonal k has data[k, j]; what lies outside of the matrix is no part of it */
    const double want[] = {0, 8, 0, 4, 0, 9, 0, 5, 0};
    reads_as_matrix(
        diagonals_of(state, (const int64_t[]){3, 3}, 3, (const int64_t[]){7, -1, 1}, val), 3, 3,
        want);
    const double wide[] = {1, 0, 9, 0, 0, 0, 2, 0, 10, 0};
    reads_as_matrix(
        diagonals_of(state, (const int64_t[]){2, 5}, 3, (const int64_t[]){0, -9, 2}, inside), 2, 5,
        wide);
    refused_matrix(diagonals_of(state, (const int64_t[]){3, 4}, 3, (const int64_t[]){0, 1, 2}, val),
                   CS_ERR_INPUT, "row 2, column 3: value nan");
    refused_matrix(diagonals_of(state, (const int64_t[]){2, 3}, 2, (const int64_t[]){0, 1}, inside),
                   CS_ERR_INPUT, "data.npy, offsets.npy and shape.npy do not match");
    (void)diagonals_of(state, (const int64_t[]){3, 4}, 3,
                       (const int64_t[]){INT64_MIN, INT64_MAX, -INT64_MAX}, inside);
    refused_matrix(in_dir(state, "dia.npz"), CS_ERR_INPUT, "offsets.npy: item 0");
    const double none[12] = {0};
    reads_as_matrix(diagonals_of(state, (const int64_t[]){1, 1}, 3,
                                 (const int64_t[]){INT64_MAX, -INT64_MAX, 9}, inside),
                    1, 1, none);
}

static cs_status read_file(const char *path)
{
    cs_csr a = {0};
    cs_status status = cs_matrix_read(path, &a);
    cs_csr_free(&a);
    return status;
}

TEST_IN_DIR(every_allocation_may_fail)
{
    const double val[12] = {1, 2, 3, 0, 4, 5, 6, 0, 7, 8, 9, 10};
    fail_each_allocation(read_file, blocks_with(state, -1, 0, NULL));
    fail_each_allocation(read_file, diagonals_of(state, (const int64_t[]){3, 3}, 3,
                                                 (const int64_t[]){7, -1, 1}, val));
    fail_each_allocation(
        read_file, packed_mtx(state, "a.mtx.gz",
                              "%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 2\n"));
}
