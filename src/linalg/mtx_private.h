/* Matrix Market, reading; writing is cs_matrix_write_mtx. Private to src/linalg. */
#pragma once

#include "base/status.h"
#include "linalg/csr.h"

/* Coordinate or array; real, integer or pattern; general, symmetric or skew-symmetric. Repeats are
 * added. CS_ERR_INPUT names file and line; complex and hermitian matrices are refused. */
cs_status cs_mtx_read(const char *path, cs_csr *out) CS_MUST_CHECK;

/* Before memory is taken for a matrix of these sizes: CS_ERR_MEMORY where what works on it could
 * not hold even its empty rows and columns. */
cs_status cs_matrix_admit(const char *path, int64_t rows, int64_t cols) CS_MUST_CHECK;
