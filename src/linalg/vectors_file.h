/* Vectors over the rows of a matrix in a file: NPY, rows x k, a vector in each column. */
#pragma once

#include "base/status.h"
#include "linalg/csr.h"

/* a: the entries of the kept rows; the others are zeros, which take no memory. Fortran order,
 * doubles, atomic. CS_ERR_IO, CS_ERR_MEMORY. */
cs_status cs_vectors_write(const char *path, const cs_kept_rows *rows,
                           const cs_dense *a) CS_MUST_CHECK;

/* Floats in either order: *out, rows->count x k. Takes the memory of the file. CS_ERR_INPUT if it
 * does not have rows->rows rows and at least one column, or a value of the kept rows is not finite.
 */
cs_status cs_vectors_read(const char *path, const cs_kept_rows *rows, cs_dense *out) CS_MUST_CHECK;
