/** \file
 * Matrices from files: scipy.sparse .npz (csr, csc, coo), .npy (2-D), .mtx (Matrix Market
 * coordinate or array; real, integer, pattern; general, symmetric, skew-symmetric). A directory
 * stands for its matrix.npz. Errors name the file and the place: line, member and item, row and
 * column.
 */
#pragma once

#include "base/status.h"
#include "io/npz.h"
#include "linalg/csr.h"

/** Whether a file is a matrix by its first bytes, after decompression: Matrix Market or NPY under any
 * name. False where they cannot be read.
 */
bool cs_matrix_begins(const char *path);

/** Reads a matrix, by its suffix, else by its first bytes. Columns are sorted, zeros dropped and repeats added.
 *
 * \param path file or directory
 * \param out receives the matrix; free it with cs_csr_free
 * \retval CS_ERR_USAGE neither is that of a matrix
 * \retval CS_ERR_INPUT malformed, out of range, NaN or infinite; or a format (bsr, dia), dimension
 *     or field (complex) that is not supported
 * \retval CS_ERR_IO the file cannot be read
 * \retval CS_ERR_MEMORY memory is exhausted
 */
cs_status cs_matrix_read(const char *path, cs_csr *out) CS_MUST_CHECK;

/** As cs_matrix_read without the empty rows, which take no memory: row i of the result is row
 * cs_nonempty_rows_at(rows, i) of the file. Free the set with cs_nonempty_rows_free.
 */
cs_status cs_matrix_read_filled(const char *path, cs_nonempty_rows *rows,
                                cs_csr *out) CS_MUST_CHECK;

/** Checks the sizes of a matrix with `held` stored rows before memory is allocated for it.
 *
 * \retval CS_ERR_MEMORY its users could not even hold empty rows and columns; names `path`
 */
cs_status cs_matrix_admit(const char *path, int64_t rows, int64_t cols, int64_t held) CS_MUST_CHECK;

/** Writes a matrix as scipy.sparse.save_npz does: csr, int32 indices, int64 indptr, compressed,
 * atomically. A Gram form has a member `gram` as well.
 *
 * \param integers write int64 values if every value is an integer below 2^53
 * \retval CS_ERR_IO the file cannot be written
 */
cs_status cs_matrix_write_npz(const char *path, const cs_csr *a, bool integers) CS_MUST_CHECK;

/** Entries that are computed while they are written. */
typedef struct {
    /** int32 columns. */
    cs_npz_fill columns;
    /** Values, as int64 or double. */
    cs_npz_fill values;
    /** Learn what is written, or NULL. */
    cs_npz_written columns_written, values_written;
    /** Argument of all, which count entries from the first one that is written. */
    const void *ctx;
} cs_made_entries;

/** As cs_matrix_write_npz for rows from .. to - 1 alone, as int64 if `integers`, else as doubles.
 *
 * \param made the entries of these rows; a->col and a->val are then not read. NULL: those of `a`
 */
cs_status cs_matrix_write_rows(const char *path, const cs_csr *a, int64_t from, int64_t to,
                               bool integers, const cs_made_entries *made) CS_MUST_CHECK;

/** As cs_matrix_write_npz in Matrix Market coordinate real (or integer) general form: from 1, 17
 * digits, '.' in every locale. A comment line marks a Gram form.
 */
cs_status cs_matrix_write_mtx(const char *path, const cs_csr *a, bool integers) CS_MUST_CHECK;

/** Writes vectors over the rows of a matrix, a vector in each column: NPY, rows x k, Fortran order,
 * doubles, atomic.
 *
 * \param a the entries of the kept rows; the others are zeros, which take no memory
 * \retval CS_ERR_IO the file cannot be written
 * \retval CS_ERR_MEMORY memory is exhausted
 */
cs_status cs_vectors_write(const char *path, const cs_nonempty_rows *rows,
                           const cs_dense *a) CS_MUST_CHECK;

/** Reads such a file, floats in either order. Takes the memory of the file.
 *
 * \param out receives rows->count x k entries; free them with cs_dense_free
 * \retval CS_ERR_INPUT the file does not have rows->rows rows and at least one column, or a value
 *     of the kept rows is not finite
 */
cs_status cs_vectors_read(const char *path, const cs_nonempty_rows *rows,
                          cs_dense *out) CS_MUST_CHECK;
