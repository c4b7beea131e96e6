/* Matrices from files, dense or sparse, in the forms users have: scipy.sparse .npz (csr, csc, coo),
 * .npy (2-D), .mtx (Matrix Market coordinate or array; real, integer, pattern; general, symmetric,
 * skew-symmetric). A directory stands for its matrix.npz. Errors name the file and the place (line,
 * member and item, row and column).
 */
#pragma once

#include "base/status.h"
#include "linalg/csr.h"

/* Reads any of the above, told apart by suffix, into CSR: columns sorted, zeros dropped, repeats
 * added. CS_ERR_USAGE for another suffix; CS_ERR_INPUT for what is malformed, out of range, NaN or
 * infinite, and for sparse formats (bsr, dia), dimensions and fields (complex) that are not read;
 * CS_ERR_IO; CS_ERR_MEMORY. */
cs_status cs_matrix_read(const char *path, cs_csr *out) CS_MUST_CHECK;

/* The same without the rows that store nothing, which take neither memory nor, but for those of a
 * .npz of format csr and of a .npy, time: row i of *out is row cs_kept_rows_at(rows, i) of the file. */
cs_status cs_matrix_read_filled(const char *path, cs_kept_rows *rows, cs_csr *out) CS_MUST_CHECK;

/* scipy.sparse.load_npz reads it back: csr, int32 indices, int64 indptr, compressed, atomic.
 * integers: write int64 data when every value is an integer below 2^53 (else doubles all the same).
 * A Gram form has a member `gram` as well. */
cs_status cs_matrix_write_npz(const char *path, const cs_csr *a, bool integers) CS_MUST_CHECK;

/* Matrix Market coordinate real general (or integer, on the same condition); 1-based, 17 digits,
 * '.' in every locale, atomic. A comment line marks a Gram form. */
cs_status cs_matrix_write_mtx(const char *path, const cs_csr *a, bool integers) CS_MUST_CHECK;
