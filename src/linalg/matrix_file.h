/* Matrices from files, dense or sparse, in the forms users have: scipy.sparse .npz (csr, csc, coo),
 * .npy (2-D), .mtx (Matrix Market coordinate or array; real, integer, pattern; general, symmetric).
 * A directory stands for its matrix.npz. Errors name the file and the place (line, member, byte).
 */
#ifndef CS_LINALG_MATRIX_FILE_H
#define CS_LINALG_MATRIX_FILE_H

#include "base/status.h"
#include "linalg/csr.h"

/* Reads any of the above into CSR (zeros dropped, repeats added). NaN and infinite entries are
 * refused. */
cs_status cs_matrix_read(const char *path, cs_csr *out) CS_MUST_CHECK;

/* scipy.sparse.load_npz reads it back. integers: write int64 data when every value is an integer
 * below 2^53. */
cs_status cs_matrix_write_npz(const char *path, const cs_csr *a, bool integers) CS_MUST_CHECK;

/* Matrix Market coordinate real general (or integer); 1-based, 17 digits. */
cs_status cs_matrix_write_mtx(const char *path, const cs_csr *a, bool integers) CS_MUST_CHECK;

#endif
