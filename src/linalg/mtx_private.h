/* Matrix Market, reading; writing is cs_matrix_write_mtx. Private to src/linalg. */
#pragma once

#include "base/status.h"
#include "linalg/csr.h"

/* Coordinate or array; real, integer or pattern; general, symmetric or skew-symmetric. Repeats are
 * added. CS_ERR_INPUT names file and line; complex and hermitian matrices are refused. */
cs_status cs_mtx_read(const char *path, cs_kept_rows *rows, cs_csr *out) CS_MUST_CHECK;
